"""safetensors files and their comparison, with Python's standard library alone.

A tensor is (dtype name, shape, bytes), elements dense and row-major.
"""
import array
import json
import math
import struct

TYPECODES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I", "U16": "H", "U8": "B",
             "BOOL": "B"}
TOLERANCES = {"F64": (1e-10, 1e-12), "F32": (1e-4, 1e-4), "C64": (1e-4, 1e-4), "F16": (4e-3, 4e-3), "BF16": (2e-2, 2e-2)}
# Floats that array does not know: their elements as bits of a wider one.
HALVES = {"F16": lambda raw: struct.unpack(f"<{len(raw) // 2}e", raw),
          "BF16": lambda raw: struct.unpack(f"<{len(raw) // 2}f", b"".join(b"\0\0" + raw[i:i + 2] for i in range(0, len(raw), 2))),
          "C64": lambda raw: struct.unpack(f"<{len(raw) // 4}f", raw)}


def read(path):
    data = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert start + end <= len(data), f"{path}: {name} lies outside the file"
        tensors[name] = (entry["dtype"], tuple(entry["shape"]), data[start + begin:start + end])
    return tensors


def write(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def make(dtype, shape, values):
    assert len(values) == math.prod(shape)
    return dtype, tuple(shape), array.array(TYPECODES[dtype], values).tobytes()


def values(tensor):
    """Numbers; of a complex dtype pairs of them."""
    dtype, shape, raw = tensor
    if dtype in HALVES:
        return list(HALVES[dtype](raw))
    numbers = array.array(TYPECODES[dtype], raw)
    assert len(numbers) == math.prod(shape), (dtype, shape, len(raw))
    return numbers.tolist()


def is_close(want, got, relative, absolute):
    if math.isnan(want) or math.isinf(want):
        return math.isnan(got) if math.isnan(want) else want == got
    return abs(want - got) <= absolute + relative * abs(want)


def difference(want, got):
    """What differs, in words; None if nothing does beyond the dtype's tolerance."""
    if want[:2] != got[:2]:
        return f"{got[0]}{list(got[1])} where {want[0]}{list(want[1])} was expected"
    relative, absolute = TOLERANCES.get(want[0], (0, 0))
    wrong = [(a, b) for a, b in zip(values(want), values(got)) if not is_close(a, b, relative, absolute)]
    if wrong:
        return f"{len(wrong)} elements differ, the first is {wrong[0][1]!r} where {wrong[0][0]!r} was expected"
    return None


def exact_difference(want, got):
    """As difference, with no tolerance: the same bits, save that one NaN is as good as another."""
    if want[:2] != got[:2] or want[2] == got[2]:
        return None if want == got else f"{got[0]}{list(got[1])} where {want[0]}{list(want[1])} was expected"
    if want[0] not in TYPECODES and want[0] not in HALVES:
        return "other bytes"
    wrong = [(a, b) for a, b in zip(values(want), values(got))
             if (a != b or math.copysign(1, a) != math.copysign(1, b)) and not (a != a and b != b)]
    return f"{len(wrong)} elements differ, the first is {wrong[0][1]!r} where {wrong[0][0]!r} was expected" if wrong else None
