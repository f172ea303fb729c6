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
import sys
import warnings

import torch
from safetensors.torch import save_file

import record_values
from fixtures import (aliases, complex_numbers, control, decoder, items, programs, sizes, spectral, streaming,  # noqa: F401
                      views)
from fixtures.exporting import export, mutated_inputs, record, record_states, save, user_inputs
from fixtures.fixture import FIXTURES

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
LIMIT = 13 << 18


def check_form(name, form, ep, calls, names, mutated, expected):
    got = record(ep.module(), calls, names, mutated)
    assert got.keys() == expected.keys(), (name, form, got.keys() ^ expected.keys())
    for key, value in expected.items():
        torch.testing.assert_close(got[key], value, rtol=1e-5, atol=1e-5, equal_nan=True, msg=lambda m: f"{name}.{form} {key}: {m}")


def write(fixture):
    forms = export(fixture.module, fixture.make_calls()[0], fixture.dynamic,
                   ("train", *(("aten",) if fixture.decomposes else ()), *fixture.forms))
    mutated = mutated_inputs(forms["aten"]) if fixture.decomposes else []
    names = user_inputs(forms["train"])
    forms = {form: forms[form] for form in fixture.forms}
    eager = copy.deepcopy(fixture.module)
    tensors = {}
    if fixture.is_run:
        tensors = record(eager, fixture.make_calls(), names, mutated)
        for form in set(forms) - set(fixture.differs):
            check_form(fixture.name, form, copy.deepcopy(forms[form]), fixture.make_calls(), names, mutated, tensors)
        tensors.update(record_states(eager))
        if fixture.constants:
            tensors.update({f"state.{name}": tensor.clone() for name, tensor in fixture.constants(eager).items()})
    for form, exported in forms.items():
        save(exported, DATA / f"{fixture.name}.{form}.pt2")
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
    for make in FIXTURES:
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
