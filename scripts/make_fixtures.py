#!/usr/bin/env python3
"""Writes the test programs in tests/data: NAME.FORM.pt2 and NAME.io.safetensors. Run by a maintainer; needs PyTorch.

    scripts/setup --oracle && build/venv/bin/python scripts/make_fixtures.py [NAME...]

Forms: train, as torch.export saves it; aten, after run_decompositions({}); core, after run_decompositions().
The values are those of eager PyTorch over three calls on one module; each form is also run through ep.module() and must
agree before it is kept (but for the forms that a fixture names as wrong there). Keys of NAME.io.safetensors:

    callI.in.NAME        user input NAME before call I (a number is a 0-d tensor)
    callI.output.N       leaf N of the flattened result
    callI.mutated.NAME   user input NAME after call I, if the program mutates it
    state.FQN            buffer, mutated or not, after the last call

NAME.FORM.valuesI.safetensors, of some: what scripts/record_values.py records of call I.
"""
import copy
import pathlib
import re
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch.utils import _pytree as pytree

import record_values
from fixtures import decoder, items, programs, streaming, views

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
LIMIT = 2 << 20
FORMS = {"train": lambda ep: ep, "aten": lambda ep: ep.run_decompositions({}), "core": lambda ep: ep.run_decompositions()}
KEPT_METADATA = {"val", "stack_trace"}


def as_tensor(value):
    """A dense copy of a leaf; None for what is not stored."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.contiguous_format)
    if isinstance(value, (bool, int, float)):
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    return None


def user_inputs(ep):
    return [spec.arg.name for spec in ep.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]


def record(module, calls, names, mutated):
    """Runs the calls; returns the tensors of the io file, states excepted."""
    tensors = {}
    for i, call in enumerate(calls):
        leaves = pytree.tree_leaves((call, {}))
        assert len(leaves) == len(names), (names, leaves)
        for name, leaf in zip(names, leaves):
            if (tensor := as_tensor(leaf)) is not None:
                tensors[f"call{i}.in.{name}"] = tensor
        with torch.no_grad():
            result = module(*call)
        for n, leaf in enumerate(pytree.tree_leaves(result, is_leaf=lambda leaf: leaf is None)):
            if (tensor := as_tensor(leaf)) is not None:
                tensors[f"call{i}.output.{n}"] = tensor
        for name, leaf in zip(names, leaves):
            if name in mutated:
                tensors[f"call{i}.mutated.{name}"] = as_tensor(leaf)
    return tensors


def shorten(ep):
    """Of the metadata only the model's last frame of each stack trace stays, without its folder: files differ by content
    alone."""
    for part in ep.graph_module.modules():
        for node in part.graph.nodes:
            for key in set(node.meta) - KEPT_METADATA:
                del node.meta[key]
            frames = re.findall(r'File "([^"]*)", (line \d+, in \S+\n[^\n]*)', node.meta.get("stack_trace") or "")
            if frames:
                path, rest = ([frame for frame in frames if "/torch/" not in frame[0]] or frames)[-1]
                node.meta["stack_trace"] = f'File "{path.rsplit("/", 1)[-1]}", {rest}'
    ep.example_inputs = None


def check_form(name, form, ep, calls, names, mutated, expected):
    got = record(ep.module(), calls, names, mutated)
    assert got.keys() == expected.keys(), (name, form, got.keys() ^ expected.keys())
    for key, value in expected.items():
        torch.testing.assert_close(got[key], value, rtol=1e-5, atol=1e-5, equal_nan=True, msg=lambda m: f"{name}.{form} {key}: {m}")


def write(fixture):
    with torch.no_grad():
        ep = torch.export.export(fixture.module, fixture.make_calls()[0], dynamic_shapes=fixture.dynamic, strict=False)
    forms = {form: FORMS[form](copy.deepcopy(ep)) for form in fixture.forms}
    signature = (forms.get("aten") or FORMS["aten"](copy.deepcopy(ep))).graph_signature
    mutated = set(signature.user_inputs_to_mutate.values())
    eager = copy.deepcopy(fixture.module)
    names = user_inputs(ep)
    tensors = {}
    if fixture.is_run:
        tensors = record(eager, fixture.make_calls(), names, mutated)
        for form in set(forms) - set(fixture.differs):
            check_form(fixture.name, form, copy.deepcopy(forms[form]), fixture.make_calls(), names, mutated, tensors)
        for fqn, buffer in eager.named_buffers(remove_duplicate=False):
            tensors[f"state.{fqn}"] = as_tensor(buffer)
    for form, exported in forms.items():
        shorten(exported)
        torch.export.save(exported, DATA / f"{fixture.name}.{form}.pt2")
    if tensors:
        save_file(tensors, DATA / f"{fixture.name}.io.safetensors")
    for form in fixture.recorded:
        write_values(fixture, form, tensors)


def write_values(fixture, form, tensors):
    program = record_values.Program(torch.export.load(DATA / f"{fixture.name}.{form}.pt2"))
    for i in range(2):
        prefix = f"call{i}.in."
        inputs = {name[len(prefix):]: tensor.clone() for name, tensor in tensors.items() if name.startswith(prefix)}
        save_file(program.record(inputs), DATA / f"{fixture.name}.{form}.values{i}.safetensors")


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    DATA.mkdir(exist_ok=True)
    wanted = set(sys.argv[1:])
    for make in decoder.FIXTURES + programs.FIXTURES + items.FIXTURES + streaming.FIXTURES + views.FIXTURES:
        name = make.__name__
        if wanted and name not in wanted:
            continue
        torch.manual_seed(sum(name.encode()))
        fixture = make()
        fixture.name = name
        write(fixture)
        for file_name, extra in fixture.extra.items():
            save_file(extra, DATA / file_name)
        print(name, sum(p.stat().st_size for p in DATA.glob(f"{name}.*")))
    total = sum(p.stat().st_size for p in DATA.iterdir())
    print(f"{total} bytes in all")
    assert total < LIMIT, "the test programs have grown too large"


if __name__ == "__main__":
    main()
