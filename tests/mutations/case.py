"""What a program of this folder is made of: a few lines of Python, run on tensors that are buffers or the caller's own.

    form("slice assignment",
         case("state[:, 1:3] = x", state=f32(4, 6), x=f32(4, 2)))

makes two programs: one in which `state` is a buffer, one in which it is an input that comes back at each of three calls.
"""
import linecache
import re
import textwrap
from dataclasses import dataclass, field
from types import FunctionType

import torch
from torch import nn

CALLS = 3
EVERYWHERE = ("buffer", "input")


class Spec:
    """A tensor to be made: the same one for the same seed."""

    def __init__(self, make):
        self.make = make  # torch.Generator -> tensor

    def via(self, view):
        """What view makes of the tensor, in its memory: another layout."""
        return Spec(lambda generator: view(self.make(generator)))


def random(dtype, shape, low, high):
    def make(generator):
        if dtype == torch.bool:
            return torch.rand(shape, generator=generator) < 0.5
        if dtype.is_complex:
            return torch.randn(shape, generator=generator, dtype=dtype)
        if dtype.is_floating_point:
            return (torch.rand(shape, generator=generator) * (high - low) + low).to(dtype)
        return torch.randint(int(low), int(high) + 1, shape, generator=generator).to(dtype)
    return Spec(make)


def kind(dtype, low=-4, high=4):
    return lambda *shape, low=low, high=high: random(dtype, shape, low, high)


f32, f64, f16, bf16 = kind(torch.float32), kind(torch.float64), kind(torch.float16), kind(torch.bfloat16)
i64, i32, i16, i8, u8 = kind(torch.int64), kind(torch.int32), kind(torch.int16), kind(torch.int8), kind(torch.uint8, 0, 9)
boolean, c64 = kind(torch.bool), kind(torch.complex64)


def value(content, dtype=None):
    """Always this: a number stays one, a list becomes a tensor."""
    if isinstance(content, Spec):
        return content
    return Spec(lambda generator: torch.tensor(content, dtype=dtype) if isinstance(content, list) or dtype else content)


def zeros(*shape, dtype=torch.float32):
    return Spec(lambda generator: torch.zeros(shape, dtype=dtype))


@dataclass
class Each:
    """One thing for each call."""
    specs: tuple


def each(*contents, dtype=None):
    assert len(contents) == CALLS
    return Each(tuple(value(content, dtype) for content in contents))


@dataclass
class Case:
    code: str
    states: dict
    args: dict
    where: tuple = EVERYWHERE
    close: bool = False      # sums and functions: equal within the dtype's tolerance; else bit for bit
    dynamic: dict = None     # argument: {dimension: Dim}
    fails: int = None        # the call that fails, in eager too
    core: str = ""           # why the core form is another program, whose report differs
    modules: dict = field(default_factory=dict)  # name: module, to be called as self.name
    tied: dict = field(default_factory=dict)     # another name of a buffer: its name
    form: str = ""
    name: str = ""


FORMS = {}  # name -> cases, in order


def form(name, *cases):
    assert name not in FORMS, name
    FORMS[name] = cases
    for i, item in enumerate(cases):
        item.form, item.name = name, f"{re.sub('[^a-z0-9]+', '_', name.lower()).strip('_')}_{i}"


def case(code, state=None, states=None, where=EVERYWHERE, close=False, dynamic=None, fails=None, modules=None, tied=None, core="", **args):
    return Case(textwrap.dedent(code).strip(), {"state": state} if state else states or {}, args, (where,) if isinstance(where, str) else where,
                close, dynamic, fails, core, modules or {}, tied or {})


class Holder(nn.Module):
    """Where a buffer's name has dots."""


def register(module, name, tensor):
    *path, last = name.split(".")
    for part in path:
        if not hasattr(module, part):
            module.add_module(part, Holder())
        module = getattr(module, part)
    module.register_buffer(last, tensor)


def function(name, text):
    """forward of that text, whose lines PyTorch finds."""
    path = f"{name}.py"
    linecache.cache[path] = len(text), None, text.splitlines(True), path
    scope = {"torch": torch, "F": torch.nn.functional}
    exec(compile(text, path, "exec"), scope)
    assert isinstance(scope["forward"], FunctionType)
    return scope["forward"]


@dataclass
class Program:
    """One case with its states in one place."""
    case: Case
    where: str

    @property
    def name(self):
        return f"{self.case.name}_{self.where}"

    def state_tensors(self):
        return {name: spec.make(torch.Generator().manual_seed(7 + i)) for i, (name, spec) in enumerate(self.case.states.items())}

    def text(self):
        """The source of forward."""
        code, arguments = self.case.code, list(self.case.args)
        if self.where == "buffer":
            short = [name for name in self.case.states if "." not in name]
            code = "\n".join([*(f"{name} = self.{name}" for name in short), code])
        else:
            arguments = [*self.case.states, *arguments]
        return f"def forward({', '.join(['self', *arguments])}):\n{textwrap.indent(code, '    ')}\n"

    def module(self):
        case, module = self.case, Holder()
        torch.manual_seed(11)
        for name, make in case.modules.items():
            module.add_module(name, make())
        if self.where == "buffer":
            for name, tensor in self.state_tensors().items():
                register(module, name, tensor)
            for name, other in case.tied.items():
                register(module, name, module.get_buffer(other))
        module.__class__ = type("Program", (Holder,), {"forward": function(self.name, self.text())})
        return module

    def calls(self):
        """The arguments of each call; inputs that are states are the same tensors in all."""
        states = list(self.state_tensors().values()) if self.where == "input" else []
        made = []
        for i in range(CALLS):
            generator = torch.Generator().manual_seed(100 + i)
            specs = (spec.specs[i] if isinstance(spec, Each) else spec for spec in self.case.args.values())
            made.append((*states, *(spec.make(generator) for spec in specs)))
        return made

    def dynamic(self):
        """dynamic_shapes of torch.export.export."""
        if not self.case.dynamic:
            return None
        names = [*(self.case.states if self.where == "input" else ()), *self.case.args]
        return tuple(self.case.dynamic.get(name) for name in names)


def programs(patterns=()):
    made = [Program(case, where) for cases in FORMS.values() for case in cases for where in case.where]
    return [program for program in made if not patterns or any(re.search(pattern, program.name) for pattern in patterns)]

