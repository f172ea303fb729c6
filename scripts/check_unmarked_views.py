#!/usr/bin/env python3
"""Compares the rows of src/graph/operators.def that have ALIAS(UNKNOWN) with the operators of the installed PyTorch whose
results may share memory with their operands although their schemas don't say so.

    check_unmarked_views.py [--tries N] [--only REGEX]

Every operator that writes nothing is called in eager on random arguments that fit its schema; a result whose storage is
an operand's is a view. Those whose row has another rule are left out. Each operator runs in a process
of its own, since some crash on arguments that PyTorch's Python layer never gives them. On stderr: the operators of the
table of converters that no arguments were found for, and those that change an operand; they have to be looked at by hand.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import signal
import sys
import time
import warnings

import torch

import operator_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHAPES = [(4, 4), (4,), (1, 4), (2, 2, 4), (1, 4, 2, 2), (), (1,), (0, 4), (1, 2, 2, 2, 2), (2, 3, 4, 4)]
DTYPES = [torch.float32] * 8 + [torch.int64, torch.bool] * 2 + [torch.complex64, torch.uint8, torch.int8, torch.int16, torch.int32, torch.float16,
                                                             torch.bfloat16, torch.float64]
STRINGS = ["ij->ji", "ii->i", "i->i", "ij->ij", "ijk->kji", "...ij->...ji", "i,j->ij", "ij,jk->ik", "ij,ij->ij", ",ij->ij", "constant", "ij", "xy",
           "reflect", "replicate", "circular", "mean", "sum", "none", "tanh", "floor", "trunc", "linear", "bilinear", "nearest", "valid",
           "same", "fro", "nuc", "L", "U", "reduced", "amax", "left", "right"]
SECONDS = 3


def make_tensor(shape, dtype):
    count = torch.Size(shape).numel()
    values = torch.arange(1, 1 + count).reshape(shape)
    return (values % 2).bool() if dtype == torch.bool else values.to(dtype)


class Guess:
    """Random arguments for one call."""

    def __init__(self, random_source):
        self.random = random_source
        self.shape = self.random.choice(SHAPES)
        self.dtype = self.random.choice(DTYPES)
        self.tensors = []

    def tensor(self):
        usual = self.random.random() < 0.75
        shape = self.shape if usual else self.random.choice(SHAPES)
        made = make_tensor(shape, self.dtype if usual else self.random.choice(DTYPES + [self.dtype] * 3))
        if made.dim() >= 2 and self.random.random() < 0.15:
            made = made.transpose(-1, -2)
        self.tensors.append(made)
        return made

    def items(self, argument, kind):
        if "Tensor" in str(kind):
            return [self.value(argument, kind) for _ in range(self.random.choice([1, 1, 2, 3]))]
        if str(kind) in ("int", "SymInt"):
            sizes, rank = list(self.shape), len(self.shape)
            return self.random.choice([sizes, sizes, [0], [1], [], [0, 1], [1, 1], [2, 2], [1, 0], [0, 0], [0] * 4, [-1], [1] * rank, [0] * rank,
                                       [1, 3], [2], list(range(rank))])
        if str(kind) == "float":
            return self.random.choice([[1.0], [1.0, 1.0], []])
        return [True] * self.random.choice([1, 2, 3]) if str(kind) == "bool" else []

    def value(self, argument, kind):
        if isinstance(kind, torch.OptionalType):
            if self.random.random() < 0.55:
                return argument.default_value if argument.has_default_value() and self.random.random() < 0.5 else None
            return self.value(argument, kind.getElementType())
        if argument.has_default_value() and argument.default_value is not None and self.random.random() < 0.4:
            return argument.default_value
        if isinstance(kind, torch.ListType):
            return self.items(argument, kind.getElementType())
        name = str(kind)
        if name == "Tensor":
            return self.tensor()
        choices = {"int": [0, 1, 1, -1, 2, 3], "bool": [True, False], "float": [0.0, 0.5, 1.0], "str": STRINGS, "Device": [torch.device("cpu")]}
        numbers = [0, 1, 2, 1.0] if name in ("number", "Scalar", "Union[complex, float, int]") else [None]
        return self.random.choice(choices.get(name.removeprefix("Sym").lower() if name.startswith("Sym") else name, numbers))

    def argument(self, argument):
        special = {"dtype": [self.dtype, self.dtype, None, torch.float64], "layout": [None, torch.strided],
                   "memory_format": [None, torch.preserve_format, torch.contiguous_format], "device": [None, torch.device("cpu")],
                   "pin_memory": [None], "generator": [None]}
        if argument.name in special:
            return self.random.choice(special[argument.name])
        return self.value(argument, argument.type)


def flatten(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in flatten(item)] if isinstance(value, (list, tuple)) else []


def try_operator(operator, tries):
    """(calls that succeeded, results that share memory, whether an operand changed)"""
    schema, source, end = operator._schema, random.Random(0), time.process_time() + SECONDS
    calls, views, changes = 0, False, False
    for _ in range(tries):
        if time.process_time() > end:
            break
        guess = Guess(source)
        try:
            values = [(a, guess.argument(a)) for a in schema.arguments]
            before = [t.clone() for t in guess.tensors]
            with torch.no_grad():
                result = operator(*[v for a, v in values if not a.kwarg_only], **{a.name: v for a, v in values if a.kwarg_only})
        except Exception:  # these arguments don't fit
            continue
        calls += 1
        changes = changes or any(not torch.equal(a, b) for a, b in zip(before, guess.tensors))
        memory = {t.untyped_storage().data_ptr() for t in guess.tensors if t.untyped_storage().nbytes()}
        results = result if isinstance(result, tuple) else (result,)
        for returned, value in zip(schema.returns, results):
            if returned.alias_info is None:
                views = views or any(t.layout == torch.strided and t.untyped_storage().data_ptr() in memory for t in flatten(value))
    return calls, views, changes


def run_apart(operator, tries):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(30)
        resource.setrlimit(resource.RLIMIT_CPU, (2 * SECONDS, 2 * SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        os.write(writer, json.dumps(try_operator(operator, tries)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return json.loads(data) if data else (0, False, False)


def operators():
    for schema in torch._C._jit_get_all_schemas():
        namespace, name = schema.name.split("::", 1)
        types = [str(a.type) for a in schema.arguments]
        if namespace != "aten" or name.startswith("_test_") or not any("Tensor" in t for t in types):
            continue
        if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
            continue
        if not any("Tensor" in str(r.type) and r.alias_info is None for r in schema.returns):
            continue
        packet = getattr(torch.ops.aten, name, None)
        operator = getattr(packet, schema.overload_name or "default", None)
        if operator is not None:
            yield f"aten.{name}.{schema.overload_name or 'default'}", operator


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    facts, identifiers = operator_table.facts(), {target: name for name, target in operator_table.targets().items()}
    converted = operator_table.converted()
    known = {target for target, text in facts.items() if re.search(r"ALIAS\((?!UNKNOWN)", text)}
    found = set()
    for target, operator in operators():
        if target not in identifiers or not re.search(options.only, target):
            continue
        calls, views, changes = run_apart(operator, options.tries * (10 if target in converted else 1))
        if views and target not in known:
            found.add(target)
        if target in converted and calls == 0:
            print(f"{target}: no arguments found", file=sys.stderr)
        if target in converted and changes:
            print(f"{target}: changes an operand", file=sys.stderr)
    listed = {target for target, text in facts.items() if "ALIAS(UNKNOWN)" in text and re.search(options.only, target)}
    for target in sorted(found - listed):
        print(f"{target}: its row {identifiers[target]} of operators.def lacks ALIAS(UNKNOWN)")
    for target in sorted(listed - found):
        print(f"{target}: its row has ALIAS(UNKNOWN), and no view was found")


if __name__ == "__main__":
    main()
