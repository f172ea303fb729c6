"""A program while it is being written: names with the tensors that they have in the first call, and what new lines need:
tensors of a wanted shape, positions, masks, numbers, views."""
import random
from dataclasses import replace

import torch

from oracle import Invalid, Oracle
from program import SIZE, WIDE, Line, Program, Tensor
from views import view

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = FLOATS[:1] * 8 + FLOATS[1:] * 2 + INTEGERS + INTEGERS[:2] * 2 + (torch.bool,)


class Draft:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.is_dynamic = self.random.random() < 0.3
        self.extents = self.random.sample([1, 2, 3, 4, 6], 3)
        self.main = self.random.choice(DTYPES)
        derived = self.random.choice([(1, 0)] * 3 + [(2, 1), (3, -1), (2, -1), (1, 1), (1, -2)])
        least = 0 if derived == (1, 0) and self.random.random() < 0.3 else 4
        lengths = [n for n in range(least, 10) if (n - derived[1]) % derived[0] == 0] + [0] * (least == 0)
        sizes = (SIZE,) + tuple(self.random.choice(lengths) for _ in range(2)) if self.is_dynamic else (SIZE,) * 3
        inputs = tuple(self.new_tensor(f"x{i}", 0.4) for i in range(self.random.randint(1, 3)))
        self.has_positions = self.random.random() < 0.6
        if self.has_positions:
            limit = self.random.choice([n for n in self.extents if n > 1])
            shape = self.random.choice([(), (), (1,), (2,), (limit,)])
            dtype = self.random.choice([torch.int64, torch.int64, torch.int32])
            inputs += (Tensor("k0", shape, dtype, tuple(range(len(shape))), ("positions", limit)),)
        buffers = tuple(self.new_tensor(f"b{i}", 0.0) for i in range(self.random.randint(1, 4)))
        wide = [tensor for tensor in inputs if tensor.is_dynamic()]
        if wide and self.chance(0.6):
            shape = tuple(WIDE if n == SIZE else n for n in wide[0].shape)
            buffers += (replace(wide[0], name=f"b{len(buffers)}", shape=shape, order=tuple(range(len(shape)))),)
        name = f"b{len(buffers)}"
        second = name if self.chance(0.04) else ""
        between = (name, self.random.randint(0, len(buffers[0].shape))) if not second and self.chance(0.08) else ()
        self.program = Program(seed, inputs, buffers, (), (), sizes, bool(wide), derived, second, between)
        self.oracle = Oracle(self.program)
        self.oracle.begin(0)
        self.lines, self.variables, self.count = [], [], 0
        self.read_only = set()  # variables that may show an element several times
        self.states = [f"self.{name}" for name in self.program.buffer_names()]
        self.inputs = [tensor.name for tensor in inputs if tensor.values == "numbers"]
        if self.program.is_dynamic:
            first = next(tensor for tensor in inputs if tensor.is_dynamic())
            self.add(Line(f"n = {first.name}.shape[{first.order.index(first.shape.index(SIZE))}]", ("n",)))

    def new_tensor(self, name, dynamic):
        rank = self.random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
        shape = [self.random.choice(self.extents) for _ in range(rank)]
        if rank and self.is_dynamic and self.random.random() < dynamic * 2:
            shape[self.random.randrange(rank)] = SIZE
        elif rank and self.random.random() < 0.02:
            shape[self.random.randrange(rank)] = 0
        order = list(range(rank))
        if self.random.random() < 0.15:
            self.random.shuffle(order)
        dtype = self.random.choice(DTYPES) if self.random.random() < 0.5 else self.main
        return Tensor(name, tuple(shape), dtype, tuple(order), "mask" if dtype == torch.bool else "numbers")

    # Lines

    def add(self, line):
        """Adds the line if PyTorch runs it and the oracle can judge it; returns whether."""
        try:
            target = self.value(line.target) if line.target else None
        except Exception:
            return False
        saved = target.untyped_storage().clone() if target is not None else None
        try:
            self.oracle.run_line(len(self.lines), line)
        except Invalid:
            if target is not None:
                target.untyped_storage().copy_(saved)
            return False
        self.lines.append(line)
        self.variables += [name for name in line.defines if name[0] == "v"]
        return True

    def define(self, expression, operands, rule="strict", factor=1.0):
        """A new variable; its name, or None."""
        name = f"v{self.count}"
        if not self.add(Line(f"{name} = {expression}", (name,), None, tuple(operands), rule, factor)):
            return None
        self.count += 1
        repeats = any(word in expression for word in (".expand", ".unfold", ".as_strided"))
        if repeats or any(other in expression for other in self.read_only):
            self.read_only.add(name)
        return name

    def value(self, expression):
        return self.oracle.value(expression)

    def error(self, expression):
        return self.oracle.error_of(expression)

    # Choices

    def chance(self, probability):
        return self.random.random() < probability

    def choose(self, *options):
        return self.random.choice(options)

    def pick(self, wanted=lambda tensor: True, views=0.3):
        """An expression of a tensor that there is, maybe a view of one; None if none is wanted."""
        weighted = self.variables[-6:] * 2 + self.variables + self.inputs * 3 + self.states * 3
        fit = [name for name in weighted if wanted(self.value(name))]
        if not fit:
            return None
        name = self.random.choice(fit)
        if self.chance(views):
            view = self.view(name)
            if view and wanted(self.value(view)):
                return view
        return name

    def size(self, n):
        return "n" if self.program.is_dynamic and n == SIZE else str(n)

    def sizes(self, shape):
        return "(" + "".join(self.size(n) + ", " for n in shape) + ")"

    def is_fixed(self, n):
        return not self.program.is_dynamic or n != SIZE

    def number(self, dtype):
        if dtype == torch.bool:
            return self.choose("True", "False")
        if dtype.is_floating_point:
            return self.choose("0.5", "-1.0", "2.0", "-0.25", "3", "-2", "1")
        return self.choose("0", "1", "2", "3") if dtype == torch.uint8 else self.choose("-2", "-1", "1", "2", "3")

    def known_in_a_call(self, dtype):
        """(a number for tensors of the dtype that the program reads out of a tensor, that element of it), or None."""
        kinds = (torch.uint8,) if dtype == torch.uint8 else INTEGERS + FLOATS * dtype.is_floating_point
        name = self.pick(lambda tensor: tensor.dtype in kinds and tensor.numel() and all(map(self.is_fixed, tensor.shape)), views=0.0)
        if name is None or not self.is_exact(name):
            return None
        element = f"{name}.reshape(-1)[{self.choose(0, -1)}]"
        return f"{element}.item()", element

    def diagonal(self):
        """The number of a diagonal: a constant, of a size, or read out of a tensor."""
        forms = ["0", "1", "-1"] + ["n - 4", "2 - n"] * self.program.is_dynamic
        given = [tensor.name for tensor in self.program.inputs if tensor.name == "k0" and not tensor.shape]
        return self.choose(*forms, *(form.format(name) for name in given for form in ("{}.item() - 1", "-{}.item()")))

    # Tensors for a purpose

    def fitted(self, expression, shape):
        """The expression, cut so that it broadcasts to the shape."""
        tensor = self.value(expression)
        if tensor.dim() > len(shape):
            expression += "[" + ", ".join("0" for _ in range(tensor.dim() - len(shape))) + "]"
            tensor = tensor[(0,) * (tensor.dim() - len(shape))]
        cuts, is_cut = [], False
        for have, want in zip(tensor.shape, shape[len(shape) - tensor.dim():]):
            if have == want or have == 1:
                cuts.append(":")
                continue
            is_cut = True
            if self.is_fixed(have) and self.is_fixed(want) and have > want and want:
                start = self.random.randint(0, have - want)
                cuts.append(f"{start}:{start + want}" if start else f":{want}")
            else:
                cuts.append(self.choose("0:1", "-1:", ":1"))
        return f"{expression}[{', '.join(cuts)}]" if is_cut else expression

    def operand(self, shape, wanted=lambda tensor: True, near=None):
        """An expression of a tensor that broadcasts to the shape; near: a name whose memory it had better not be."""
        for _ in range(8):
            name = self.pick(lambda tensor: wanted(tensor) and 0 not in tensor.shape)
            if name is None:
                break
            try:
                expression = self.fitted(name, shape)
                torch.broadcast_to(self.value(expression), shape)
            except (RuntimeError, IndexError):
                continue
            if near is not None and self.shares(expression, near) and self.chance(0.8):
                expression += ".clone()"
            return expression
        return None

    def shares(self, first, second):
        return self.value(first).untyped_storage()._cdata == self.value(second).untyped_storage()._cdata

    def is_exact(self, expression):
        return self.error(expression) == 0

    def mask(self, shape):
        name = self.operand(shape, lambda tensor: tensor.dtype == torch.bool)
        if name is not None and self.chance(0.5):
            return name
        name = self.operand(shape, lambda tensor: tensor.dtype != torch.bool)
        if name is None or not self.is_exact(name):
            return None
        return f"({name} {self.choose('>', '<', '>=', '==', '!=')} {self.choose('0', '1', '2')})"

    def positions(self, limit, length=None, wraps=False):
        """(expression of int64 positions in [0, limit), distinct; their number), or None."""
        given = [tensor for tensor in self.program.inputs if tensor.values not in ("numbers", "mask")]
        given = [tensor for tensor in given if tensor.values[1] <= limit and (length is None or tensor.shape in ((), (length,)))]
        if given and self.chance(0.7) and (given[0].shape or length in (None, 1)):
            tensor = given[0]
            text = tensor.name if tensor.dtype == torch.int64 else f"{tensor.name}.to(torch.int64)"
            text = text if tensor.shape else f"{text}.{self.choose('reshape(1)', 'unsqueeze(0)', 'view(-1)')}"
            if tensor.values[1] < limit and self.chance(0.3):
                text = f"({text} + {limit - tensor.values[1]})"
            if wraps and self.chance(0.2):
                text = f"({text} - {limit})"
            return text, tensor.shape[0] if tensor.shape else 1
        count = length if length is not None else self.random.randint(1, limit) if limit else 0
        if count > limit:
            return None
        if self.chance(0.3):
            return f"torch.arange({count})", count
        chosen = self.random.sample(range(limit), count)
        if wraps and self.chance(0.3):
            chosen = [n - limit for n in chosen]
        return f"torch.tensor({chosen}, dtype=torch.int64)", count

    def computed_position(self, limit):
        """One position made of a number of the program, maybe one that a state holds; None."""
        name = self.pick(lambda tensor: tensor.dtype in INTEGERS and tensor.numel() > 0)
        return name and f"({name}.reshape(-1)[:1].to(torch.int64) % {limit})"

    def view(self, expression, is_written=False):
        return view(self, expression, is_written)
