"""A program as text: what it is given, its buffers, the lines of its forward(), what it returns. The text is what is run,
exported and printed; nothing else describes a program."""
import re
from dataclasses import dataclass, field, replace

import torch

NAME = re.compile(r"\bself\.b\d+|\b[xvkn]\d*\b")
WIDE = 12  # an extent that a dynamic size, at most 11, fits in
SIZE = 5  # the example's value of the dynamic size: no other size is 5


@dataclass(frozen=True)
class Tensor:
    """An input or a buffer. shape is as it lies in memory; the tensor is permuted by order. values: "numbers", "mask", or
    ("positions", limit): distinct if they fit."""
    name: str
    shape: tuple
    dtype: torch.dtype
    order: tuple
    values: object = "numbers"

    def is_dynamic(self):
        return self.name.startswith("x") and SIZE in self.shape

    def make(self, seed, size):
        """The tensor: other numbers for each seed; size stands for the dynamic size."""
        generator = torch.Generator().manual_seed(seed * 7919 + sum(self.name.encode()))
        shape = [size if n == SIZE else n for n in self.shape]
        if self.values == "mask":
            made = torch.rand(shape, generator=generator) < (0.5 if seed % 4 else 0.0)  # of some calls none is set
        elif self.values == "numbers":
            low = 0 if self.dtype == torch.uint8 else -4
            made = torch.randint(low, 5, shape, generator=generator).to(self.dtype)
        else:
            made = positions(self.values[1], shape, generator).to(self.dtype)
        return made.permute(self.order)


def positions(limit, shape, generator):
    """Integers in [0, limit), distinct along the last dimension if they fit."""
    if not shape or limit < shape[-1]:
        return torch.randint(0, limit, shape, generator=generator)
    rows = torch.Size(shape[:-1]).numel()
    drawn = [torch.randperm(limit, generator=generator)[:shape[-1]] for _ in range(rows)]
    return torch.stack(drawn).reshape(shape) if drawn else torch.empty(shape, dtype=torch.int64)


@dataclass(frozen=True)
class Line:
    """One line of forward(). defines: the names that it gives; target: the expression of what it writes, or None;
    operands: the expressions that it reads; rule: how errors spread (oracle.py); factor: of the rule "smooth"."""
    code: str
    defines: tuple = ()
    target: str = None
    operands: tuple = ()
    rule: str = "strict"
    factor: float = 1.0
    is_apart: bool = False  # operands may not share elements with the target at all

    def uses(self):
        return set(NAME.findall(self.code)) - set(self.defines)


@dataclass(frozen=True)
class Program:
    seed: int
    inputs: tuple
    buffers: tuple
    lines: tuple
    outputs: tuple
    sizes: tuple = (SIZE, SIZE, SIZE)  # the dynamic size in each call
    is_dynamic: bool = False
    derived: tuple = (1, 0)  # the dynamic size is this factor times a Dim, plus this number
    second_name: str = ""  # a buffer of that name is the first buffer
    between: tuple = ()  # (name, dim): a buffer of that name lies between the elements of the first, as if both were unstacked at dim

    def arguments(self, call):
        return [tensor.make(self.seed * 10 + call, self.sizes[call]) for tensor in self.inputs]

    def initial(self):
        made = {buffer.name: buffer.make(self.seed, SIZE) for buffer in self.buffers}
        if self.between:
            made |= dict(zip(self.unstacked(), self.stacked().unbind(self.between[1])))
        return made | {self.second_name: made[self.buffers[0].name]} if self.second_name else made

    def unstacked(self):
        """The names of the two buffers that lie between each other; none."""
        return (self.buffers[0].name, self.between[0]) if self.between else ()

    def stacked(self):
        return torch.stack([replace(self.buffers[0], name=name).make(self.seed, SIZE) for name in self.unstacked()], self.between[1])

    def source(self):
        text = ["class Model(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
        if self.between:
            text.append(f"        both = {literal(self.stacked())}.unbind({self.between[1]})")
        for name, value in self.initial().items():
            made = f"self.{self.buffers[0].name}" if name == self.second_name else literal(value)
            made = f"both[{self.unstacked().index(name)}]" if name in self.unstacked() else made
            text.append(f'        self.register_buffer("{name}", {made})')
        text += ["", f"    def forward({', '.join(['self'] + [tensor.name for tensor in self.inputs])}):"]
        text += [f"        {line.code}" for line in self.lines]
        text.append(f"        return ({''.join(name + ', ' for name in self.outputs)})")
        return "\n".join(text)

    def module(self):
        scope = {"torch": torch}
        exec(self.source(), scope)
        return scope["Model"]()

    def buffer_names(self):
        return [buffer.name for buffer in self.buffers] + [self.second_name] * bool(self.second_name) + list(self.unstacked()[1:])

    def dynamic_shapes(self):
        if not self.is_dynamic:
            return None
        size = eval(self.size(), {"torch": torch})
        return {tensor.name: {tensor.order.index(dim): size for dim, n in enumerate(tensor.shape) if n == SIZE}
                for tensor in self.inputs}

    def size(self):
        """The text of the dynamic size."""
        factor, more = self.derived
        least, most = (min(*self.sizes, 4) - more) // factor, (11 - more) // factor
        return f'{factor} * torch.export.Dim("size", min={least}, max={most}) + {more}'.removeprefix("1 * ").removesuffix(" + 0")

    def snippet(self):
        """A script of its own that makes the program and runs it with PyTorch."""
        shapes = ", ".join(f'"{name}": {{{", ".join(f"{dim}: size" for dim in dims)}}}'
                           for name, dims in (self.dynamic_shapes() or {}).items())
        calls = ",\n         ".join(f"({''.join(literal(value) + ', ' for value in self.arguments(call))})" for call in range(3))
        dynamic = f', dynamic_shapes={{{shapes}}}' if self.is_dynamic else ""
        size = f"size = {self.size()}\n" if self.is_dynamic else ""
        return (f"import copy, torch\n\n{self.source()}\n\ncalls = [{calls}]\n{size}with torch.no_grad():\n"
                f"    program = torch.export.export(Model(), copy.deepcopy(calls[0]){dynamic}, strict=False)\n"
                'torch.export.save(program, "train.pt2")\n'
                'torch.export.save(program.run_decompositions({}), "aten.pt2")\nmodel = Model()\n'
                "for call in calls:\n    print(model(*call), call, dict(model.named_buffers()))\n")


def literal(value):
    """The text of a tensor, with its strides."""
    order = sorted(range(value.dim()), key=lambda dim: -value.stride(dim))
    stored = value.permute(order)
    text = f"torch.tensor({stored.tolist()}, dtype={value.dtype})"
    if not value.numel():
        text = f"torch.zeros({tuple(stored.shape)}, dtype={value.dtype})"
    inverse = [order.index(dim) for dim in range(value.dim())]
    return text if inverse == sorted(inverse) else f"{text}.permute({tuple(inverse)})"


def without(program, dropped):
    """The program without these lines, and without those that need what they define. Outputs that are left without
    a value go too."""
    known = {tensor.name for tensor in program.inputs} | {f"self.{name}" for name in program.buffer_names()}
    kept = []
    for number, line in enumerate(program.lines):
        if number not in dropped and line.uses() <= known:
            kept.append(line)
            known |= set(line.defines)
    outputs = tuple(name for name in program.outputs if set(NAME.findall(name)) <= known)
    return replace(program, lines=tuple(kept), outputs=outputs)
