"""A call that must fail, made through the C library, which shows what became of the inputs."""
import ctypes
import math
import os
import pathlib

CODES = {"F": 2, "I": 0, "U": 1, "B": 6}  # by the first letter of the dtypes that these programs take


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


def bound(tensor):
    """(Tensor, its memory) of one as tests/conformance/tensors.py has it, on the CPU."""
    dtype, shape, raw = tensor
    memory = ctypes.create_string_buffer(raw + bytes(64))
    count = max(1, math.prod(shape))
    made = Tensor(ctypes.addressof(memory), 1, 0, len(shape), CODES[dtype[0]], 8 * len(raw) // count, 1,
                  (ctypes.c_int64 * len(shape))(*shape), None, 0)
    return made, memory


class Library:
    def __init__(self):
        self.functions = ctypes.CDLL(str(pathlib.Path(os.environ["INSITU"]).resolve().parents[1] / "libinsitu.so"))
        self.functions.insitu_engine_find_input.argtypes = [ctypes.c_void_p, ctypes.c_char_p]

    def must(self, name, *arguments):
        status = getattr(self.functions, name)(*arguments)
        assert status == 0, f"{name}: status {status}"

    def inputs_after(self, engine_path, inputs):
        """(status of one call, name: bytes of each input after it). The engine's inputs are all tensors."""
        engine, module = ctypes.c_void_p(), ctypes.c_void_p()
        self.must("insitu_engine_load", str(engine_path).encode(), None, ctypes.byref(engine), None)
        self.must("insitu_module_create", engine, ctypes.byref(module), None)
        given, memories = (Tensor * len(inputs))(), {}
        for name, tensor in inputs.items():
            index = self.functions.insitu_engine_find_input(engine, name.encode())
            given[index], memories[name] = bound(tensor)
        outputs = (Tensor * max(1, self.functions.insitu_engine_output_count(engine)))()
        status = self.functions.insitu_module_call(module, given, outputs, None)
        self.functions.insitu_module_destroy(module)
        self.functions.insitu_engine_destroy(engine)
        return status, {name: memory.raw[:len(inputs[name][2])] for name, memory in memories.items()}


def changed_inputs(engine_path, inputs):
    """What a call that must fail did to its inputs, in words."""
    status, after = Library().inputs_after(engine_path, inputs)
    if status == 0:
        return ["through the library: a call succeeds that had to fail"]
    return [f"through the library: the failed call changed input '{name}'" for name, raw in after.items() if raw != inputs[name][2]]
