"""Runs a program line by line with eager PyTorch, and bounds how far another exact order of sums may lie from the result.

Each memory that a tensor lies in has a bound on the error of its elements, 0 where every right implementation gives the
same bits. Operators that round each element once keep 0; sums keep it if their operands are integers so small that every
order gives the same sum; the others, and what follows from them, get a bound. A line whose result a bounded error could
turn into another one (a comparison, a rounding, a position), whose numbers are not finite, or that PyTorch leaves undefined
is no test: Invalid.
"""
import types

import torch

from program import NAME

# Integers up to here, and sums of them, are exact: in what PyTorch adds in, and where each partial sum is stored.
ADDED = {torch.float64: 2.0 ** 50}
STORED = {torch.float64: 2.0 ** 50, torch.float32: 2.0 ** 23, torch.float16: 2.0 ** 11, torch.bfloat16: 2.0 ** 8}
LIMIT = 0.02  # the largest relative error bound that still tests something


class Invalid(Exception):
    """The line or, if that is None, the output of these numbers can't be part of a test."""

    def __init__(self, line, reason, output=None):
        super().__init__(f"line {line}, output {output}: {reason}")
        self.line, self.output = line, output


def epsilon(dtype):
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


def largest(tensor):
    return float(tensor.detach().abs().max()) if tensor.numel() and tensor.dtype != torch.bool else 1.0


def is_whole(tensor):
    if not tensor.dtype.is_floating_point:
        return True
    return bool((tensor == tensor.round()).all())


def elements(tensor):
    """Where each element lies, as one-dimensional byte offsets."""
    offsets = torch.tensor(tensor.storage_offset())
    for n, stride in zip(tensor.shape, tensor.stride()):
        offsets = offsets.unsqueeze(-1) + torch.arange(n) * stride
    return offsets.reshape(-1) * tensor.element_size()


def storage(tensor):
    return tensor.untyped_storage()._cdata


class Oracle:
    """Runs one call after the other. After each: outputs, inputs and buffers, each as (value, bound)."""

    def __init__(self, program):
        self.program = program
        self.model = types.SimpleNamespace(**program.initial())
        self.errors = {}
        self.dtypes = {}  # of each memory; None: it is read in several
        self.kept = []  # memories that errors name

    def begin(self, call):
        self.arguments = self.program.arguments(call)
        self.scope = {"torch": torch, "self": self.model}
        self.scope.update((tensor.name, value) for tensor, value in zip(self.program.inputs, self.arguments))

    def call(self, call):
        self.begin(call)
        for number, line in enumerate(self.program.lines):
            self.run_line(number, line)
        outputs = [self.output(number, name) for number, name in enumerate(self.program.outputs)]
        pair = lambda value: (value.detach().clone(memory_format=torch.contiguous_format), self.error(value))
        return {"output": [pair(value) for value in outputs], "input": [pair(value) for value in self.arguments],
                "state": {name: pair(getattr(self.model, name)) for name in self.program.initial()}}

    def output(self, number, expression):
        try:
            value = self.value(expression)
            self.check_result(None, value)
        except Exception as failure:
            raise Invalid(None, str(failure), number) from failure
        return value

    def value(self, expression):
        return eval(expression, self.scope)

    def error(self, tensor):
        return self.errors.get(storage(tensor), 0.0)

    def error_of(self, expression):
        """The bound of what the expression gives, which moves elements of what it names."""
        named = [self.value(name) for name in NAME.findall(str(expression))]
        return max((self.error(tensor) for tensor in named if isinstance(tensor, torch.Tensor)), default=0.0)

    def run_line(self, number, line):
        try:
            operands = [value for value in map(self.value, line.operands) if isinstance(value, torch.Tensor)]
            target = self.value(line.target) if line.target else None
            if target is not None:
                self.check_overlap(number, line, target, operands)
                if any(operand.dtype.is_floating_point for operand in operands) and not target.dtype.is_floating_point:
                    self.check_cast(number, operands, target.dtype)
            for tensor in operands + [target] * (target is not None):
                self.note_dtype(number, tensor)
            magnitudes = [largest(operand) for operand in operands]
            errors = [self.error_of(expression) for expression in line.operands]
            whole = all(map(is_whole, operands))
            exec(line.code, self.scope)
        except Invalid:
            raise
        except Exception as failure:
            raise Invalid(number, f"{type(failure).__name__}: {failure}") from failure
        results = [self.value(line.target)] if line.target else [self.value(name) for name in line.defines]
        for result in (result for result in results if isinstance(result, torch.Tensor)):
            self.check_result(number, result)
            self.note_dtype(number, result)
            if target is None and any(storage(result) == storage(operand) for operand in operands):
                continue
            self.set_error(number, line, result, operands, magnitudes, errors, whole)

    def set_error(self, number, line, result, operands, magnitudes, errors, whole):
        counts = [operand.numel() for operand in operands] or [1]
        bound = spread(line, result, magnitudes, errors, max(counts), whole)
        if bound is None:
            raise Invalid(number, "depends on a rounding")
        if bound > LIMIT * max(largest(result), 1e-3) and bound:
            raise Invalid(number, "the error is too large")
        if bound and self.dtypes[storage(result)] is None:
            raise Invalid(number, "the bits of a number with an error are read")
        self.errors[storage(result)] = max(self.error(result), bound)

    def has_one_dtype(self, tensor):
        return self.dtypes.get(storage(tensor), tensor.dtype) == tensor.dtype

    def note_dtype(self, number, tensor):
        self.kept.append(tensor)
        if self.dtypes.setdefault(storage(tensor), tensor.dtype) != tensor.dtype:
            self.dtypes[storage(tensor)] = None
            if self.error(tensor):
                raise Invalid(number, "the bits of a number with an error are read")

    def check_result(self, number, result):
        if result.dtype.is_floating_point:
            if not bool(result.isfinite().all()):
                raise Invalid(number, "not finite")
            if largest(result) > 2.0 ** 14:
                raise Invalid(number, "too large")
        elif result.dtype == torch.int64 and largest(result) > 2.0 ** 31:
            raise Invalid(number, "too large")

    def check_overlap(self, number, line, target, operands):
        """PyTorch leaves undefined what a write reads of its own target, unless it is the same view."""
        written = elements(target)
        if len(written.unique()) != len(written):
            raise Invalid(number, "an element is written twice")
        for operand in operands:
            if storage(operand) == storage(target) and torch.isin(elements(operand), written).any():
                same = operand.shape == target.shape and operand.stride() == target.stride()
                if not same or operand.storage_offset() != target.storage_offset() or line.is_apart:
                    raise Invalid(number, "overlap")

    def check_cast(self, number, operands, dtype):
        low, high = (0, 1) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        for operand in operands:
            if dtype != torch.bool and operand.dtype.is_floating_point and operand.numel():
                if float(operand.min()) < low or float(operand.max()) > high:
                    raise Invalid(number, "a cast of what the dtype does not hold")


def spread(line, result, magnitudes, errors, count, whole):
    """The bound of the result's error; None if there is none."""
    rounding = epsilon(result.dtype) * largest(result)
    given, most = max(errors, default=0.0), max(magnitudes, default=0.0)
    bounds = {
        "copy": given + (rounding if given else 0.0),
        "add": sum(errors) + (rounding if given else 0.0),
        "mul": (sum(errors) * max(most, 1.0) * 2 + rounding) if given else 0.0,
        "smooth": line.factor * given + 8 * epsilon(result.dtype) * max(largest(result), 1.0),
        "once": None if given else 0.0,
        "root": None if given else 4 * rounding,  # some of PyTorch's square roots are not rounded exactly
    }
    if line.rule in bounds:
        return bounds[line.rule]
    if line.rule == "fused":
        total = 4 * most * most + 2 * most
        return 0.0 if whole and not given and total < STORED.get(result.dtype, 2.0 ** 62) else given * (4 * most + 2) + 4 * epsilon(result.dtype) * total
    if line.rule not in ("sum", "mean", "product", "accumulate"):
        return None if given else 0.0  # "strict"
    total = count * most * (most if line.rule == "product" else 1.0)
    limit = STORED if line.rule == "accumulate" else ADDED
    if whole and not given and total < limit.get(result.dtype, 2.0 ** 23):
        return 2 * rounding if line.rule == "mean" else 0.0
    if not result.dtype.is_floating_point:
        return None if given else 0.0
    steep = 2 * max(most, 1.0) if line.rule == "product" else 1.0
    return count * steep * given + 2 * epsilon(result.dtype) * total + 2 * rounding
