"""What a comparison is made of, and the values that operands have."""
import itertools
import math
from dataclasses import dataclass
from typing import Any, Callable

import torch

F64, F32, F16, BF16 = torch.float64, torch.float32, torch.float16, torch.bfloat16
I64, I32, I16, I8, U8, BOOL = torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool
U16, U32, U64 = torch.uint16, torch.uint32, torch.uint64
FLOATS = [F32, F64, F16, BF16]
INTS = [I64, I32, I16, I8, U8]
MAIN = FLOATS + INTS + [BOOL]
WIDE = [U16, U32, U64]
NAMES = {F64: "f64", F32: "f32", F16: "f16", BF16: "bf16", I64: "i64", I32: "i32", I16: "i16", I8: "i8", U8: "u8", BOOL: "bool",
         U16: "u16", U32: "u32", U64: "u64"}


@dataclass
class Case:
    """fn(*args) is exported and called; its results may be any nest of tensors, numbers and None.

    ulp: results may differ by so many units in the last place of their dtype (0: same bits, but for NaN's).
    scale: of what the units are: None, each number's own; a number, at least that; "max", the largest of the result.
    zeros: the sign of a zero counts.
    train_only: run_decompositions({}) gives a program that computes something else.
    writes: fn writes the first of args, which is what this says: "input", or "buffer", one of the module.
    free: the numbers of the results are anyone's (random, or never written): dtypes and sizes alone are compared.
    """
    name: str              # operator and form; dtypes follow after "/"
    fn: Callable[..., Any]
    args: tuple = ()
    ulp: float = 0
    scale: Any = None
    zeros: bool = True
    train_only: bool = False
    writes: str = ""
    free: bool = False


    def is_on_buffer(self):
        return self.writes == "buffer"


def named(operator, *dtypes):
    return operator + "/" + ",".join(NAMES[dtype] for dtype in dtypes)


def ulps(dtype, wide, narrow=None):
    """Units for f32 and f64, and for f16 and bf16 (one unless given: computed in f32, rounded once)."""
    return (1 if narrow is None else narrow) if dtype in (F16, BF16) else wide if dtype.is_floating_point else 0


def tensor(values, dtype):
    return torch.tensor(values, dtype=dtype)


def special(dtype):
    """Every kind of number of the dtype: zeros, small and large, halves, limits, infinities, NaN. 36 of them."""
    if dtype == BOOL:
        return tensor([False, True, True, False] * 9, BOOL)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        ordinary = [0, 1, 2, 3, 5, 7, 11, 31, 32, 63, 64, 100, 127, 128, 255, 256, 1000, 32767, 32768, 65535, 1 << 20, (1 << 31) - 1,
                    1 << 31, (1 << 24) + 1, (1 << 53) + 1]
        values = [v for v in ordinary if v <= info.max] + [info.max, info.max - 1]
        if info.min < 0:
            values += [-v for v in (1, 2, 3, 5, 7, 9, 31, 100, 1000, 40000) if -v >= info.min] + [info.min, info.min + 1]
        return tensor(list(itertools.islice(itertools.cycle(values), 36)), dtype)
    info = torch.finfo(dtype)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 2.0, -2.0, 3.0, -3.0, 0.1, -0.1, 0.75, 7.3, -7.3, 13.0, -41.0, 88.0,
              -104.0, 250.0, -1000.0, 1e-3, 20.5, info.max, info.min, info.tiny, -info.tiny, info.smallest_normal / 4, math.inf,
              -math.inf, math.nan, info.eps]
    return tensor(values, dtype)


def wide_floats(dtype):
    """Floats around and outside the ranges of the integer dtypes."""
    values = [0.0, -0.0, 0.4, -0.4, 0.9, -0.9, 1.5, -1.5, 127.0, 128.5, -128.9, -129.0, 255.0, 255.9, 256.0, 300.0, -1.0, -300.0, 32767.0,
              32768.0, -32769.0, 65535.0, 65536.0, -65536.0, 7e4, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0,
              4294967040.0, 4294967296.0, 5e9, -5e9, 9.2233715e18, 9.223372e18, -9.223372e18, -9.3e18, 1.8446743e19, 1.9e19, 1e20, -1e20,
              3e38, -3e38, math.inf, -math.inf, math.nan]
    return tensor(values, F64).to(dtype)


def some(shape, dtype, low=-3.0, high=3.0, seed=0):
    """Ordinary numbers in [low, high), cut to the dtype's range."""
    generator = torch.Generator().manual_seed(seed + 17 * sum(shape) + len(shape))
    if dtype == BOOL:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype.is_floating_point:
        return (torch.rand(shape, generator=generator, dtype=F64) * (high - low) + low).to(dtype)
    low = max(int(math.floor(low)), torch.iinfo(dtype).min)
    return torch.randint(low, max(int(high), low) + 1, shape, generator=generator).to(dtype)


def with_holes(shape, dtype, seed=0):
    """Ordinary numbers, among them NaN, infinities and equal ones."""
    x = some(shape, dtype, -4, 4, seed)
    if dtype.is_floating_point:
        flat = x.view(-1)
        for i, value in enumerate((math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1.0, math.nan)):
            if flat.numel() > i:
                flat[(i * 7 + 3) % flat.numel()] = value
    return x


_seen = {}


def forget():
    """To be called before each trace: layouts() makes each tensor's views once a trace."""
    _seen.clear()


def layouts(x):
    """A vector in other layouts: as it is, a matrix turned, every third, one element, none, a row repeated."""
    if id(x) not in _seen:
        matrix = x[: x.numel() // 4 * 4].view(4, -1)
        _seen[id(x)] = x, (x, matrix.t(), x[::3], x[14], x[:0], matrix[:1].expand(3, -1))
    return _seen[id(x)][1]
