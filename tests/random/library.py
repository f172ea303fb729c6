"""libinsitu, called from Python: compiles .pt2 bytes and runs them on PyTorch's tensors, whose memory is used as it is."""
import ctypes
import os

import torch

STATUS = ["OK", "ARG", "UNSUPPORTED", "FORMAT", "VERSION", "SHAPE", "BOUNDS", "ASSERT", "NOMEM", "IO", "DEVICE", "INTERNAL"]
CODES = {torch.float64: (2, 64), torch.float32: (2, 32), torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.int64: (0, 64),
         torch.int32: (0, 32), torch.int16: (0, 16), torch.int8: (0, 8), torch.uint8: (1, 8), torch.bool: (6, 8)}
DTYPES = {code: dtype for dtype, code in CODES.items()}


class Failure(Exception):
    """A call that did not return OK."""

    def __init__(self, status, message):
        super().__init__(f"{STATUS[status]}: {message}")
        self.status = STATUS[status]


class Diag(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("status", ctypes.c_int), ("message", ctypes.c_char * 1024),
                ("row_count", ctypes.c_size_t), ("rows", ctypes.c_void_p)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("strict", ctypes.c_bool), ("no_inplace", ctypes.c_bool), ("keep_values", ctypes.c_bool)]


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", DType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class ValueInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("dtype", DType), ("ndim", ctypes.c_int32),
                ("sizes", ctypes.c_void_p), ("min_sizes", ctypes.c_void_p), ("max_sizes", ctypes.c_void_p),
                ("is_written", ctypes.c_bool), ("is_scalar", ctypes.c_bool), ("aliased", ctypes.c_char_p)]


class ReportRow(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("type", ctypes.c_char_p), ("update", ctypes.c_char_p),
                ("verdict", ctypes.c_char_p), ("written", ctypes.c_char_p), ("bytes_written", ctypes.c_int64),
                ("bytes_moved", ctypes.c_int64), ("bytes_copied", ctypes.c_int64), ("in_place", ctypes.c_bool),
                ("bytes_saved", ctypes.c_int64), ("reason", ctypes.c_char_p)]


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(os.fspath(path))

    def call(self, name, *arguments):
        """Calls a function that returns a status; its diagnostic is added."""
        diag = Diag(struct_size=ctypes.sizeof(Diag))
        status = self.functions[f"insitu_{name}"](*arguments, ctypes.byref(diag))
        if status:
            failure = Failure(status, diag.message.decode(errors="replace"))
            self.functions.insitu_diag_release(ctypes.byref(diag))
            raise failure

    def made(self, name, *arguments):
        """The handle that a function gives out."""
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def compile(self, pt2, in_place=True):
        """An engine of the bytes of a .pt2 file."""
        program = self.made("program_load_memory", pt2, ctypes.c_size_t(len(pt2)))
        try:
            options = Options(ctypes.sizeof(Options), False, not in_place, False)
            return Engine(self, self.made("program_compile", program, ctypes.byref(options)), pt2)
        finally:
            self.functions.insitu_program_destroy(program)


class Engine:
    def __init__(self, library, handle, kept=None):
        self.library, self.handle, self.kept = library, handle, kept

    def __del__(self):
        self.library.functions.insitu_engine_destroy(self.handle)

    def reloaded(self, path):
        """The engine, written to a file and loaded from there."""
        self.library.call("engine_save", self.handle, os.fsencode(path))
        return Engine(self.library, self.library.made("engine_load", os.fsencode(path), None))

    def names(self, what):
        result = []
        for index in range(self.library.functions[f"insitu_engine_{what}_count"](self.handle)):
            info = ValueInfo(struct_size=ctypes.sizeof(ValueInfo))
            self.library.call(f"engine_{what}", self.handle, index, ctypes.byref(info))
            result.append(info.name.decode())
        return result

    def verdicts(self):
        """What the in-place report says of each state: {name: (bytes copied, verdict)}."""
        rows = {}
        for index in range(self.library.functions.insitu_engine_report_count(self.handle)):
            row = ReportRow(struct_size=ctypes.sizeof(ReportRow))
            self.library.call("engine_report", self.handle, index, ctypes.byref(row))
            rows[row.name.decode()] = (row.bytes_copied, row.verdict.decode())
        return rows


class Runner:
    """An engine's context and state: one sequence of calls."""

    def __init__(self, engine):
        self.engine, self.library = engine, engine.library
        self.context = self.library.made("context_create", engine.handle)
        self.state = self.library.made("state_create", engine.handle)

    def __del__(self):
        self.library.functions.insitu_context_destroy(self.context)
        self.library.functions.insitu_state_destroy(self.state)

    def call(self, arguments):
        """Runs on {name: tensor}; returns the outputs by position."""
        for index, name in enumerate(self.engine.names("input")):
            self.library.call("context_set_input", self.context, index, ctypes.byref(described(arguments[name])))
        self.library.call("context_run", self.context, self.state, None)
        outputs = {}
        for index, name in enumerate(self.engine.names("output")):
            tensor = Tensor()
            self.library.call("context_output", self.context, index, ctypes.byref(tensor))
            outputs[int(name.rsplit(".", 1)[1])] = copied(tensor)
        return outputs

    def states(self):
        """The state tensors by name."""
        result = {}
        for index, name in enumerate(self.engine.names("state")):
            tensor = Tensor()
            self.library.call("state_tensor", self.state, index, ctypes.byref(tensor))
            result[name] = copied(tensor)
        return result


def described(tensor):
    numbers = ctypes.c_int64 * max(tensor.dim(), 1)
    return Tensor(tensor.data_ptr(), 1, 0, tensor.dim(), DType(*CODES[tensor.dtype], 1), numbers(*tensor.shape), numbers(*tensor.stride()), 0)


def copied(described_tensor):
    """A dense copy of a tensor that the library owns."""
    t = described_tensor
    shape = t.shape[:t.ndim]
    dtype = DTYPES[t.dtype.code, t.dtype.bits]
    if 0 in shape:
        return torch.empty(shape, dtype=dtype)
    strides = t.strides[:t.ndim] if t.strides else torch.empty(shape, device="meta").stride()
    count = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
    memory = (ctypes.c_ubyte * (count * t.dtype.bits // 8)).from_address(t.data + t.byte_offset)
    return torch.frombuffer(memory, dtype=dtype).as_strided(shape, strides).clone(memory_format=torch.contiguous_format)
