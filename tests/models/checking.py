"""Compiles and runs the programs of an architecture: a list of rows, one for each variant and form.

A row has name, library, variant, form, nodes, bytes (of the file), verdict ("equal", "refused", "wrong" or "unexported"), why (in words, of all
verdicts but the first), strict ("in place", "stateless" or what is copied) and compile_ms (of `insitu compile`, processor time).
"""
import pathlib
import resource
import tempfile

import torch

import tensors
from agreement import REFUSED, Agreement
from command import insitu
from fixtures.exporting import FORMS, record, stored_tensor
from making import first_line, make, values

COMPILE_SECONDS = 60
SLOW_MS, SLOW_MS_PER_NODE, SLOW_MS_PER_MB = 200, 1, 20  # compiling may take this long


def check(architecture, folder, options):
    """options.static, options.train: the static programs alone, those as exported alone."""
    variants = architecture.variants[:1] if options.static else architecture.variants
    forms = tuple(FORMS)[:1] if options.train else tuple(FORMS)
    rows = []
    for variant, about in make(architecture, folder, variants, forms).items():
        stem = folder / f"{architecture.name}.{variant}"
        for form in forms:
            facts = about["forms"][form]
            row = {"name": architecture.name, "library": architecture.library, "variant": variant, "form": form,
                   "nodes": facts.get("nodes", 0), "bytes": 0, "why": "", "strict": "", "compile_ms": 0}
            rows.append(row)
            if "unexported" in facts:
                row.update(verdict="unexported", why=facts["unexported"])
            else:
                check_program(architecture, stem, about, row)
    return rows


def check_program(architecture, stem, about, row):
    program = stem.with_name(f"{stem.name}.{row['form']}.pt2")
    row["bytes"] = program.stat().st_size
    io = tensors.read(stem.with_name(f"{stem.name}.io.safetensors"))
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = compile_strictly(program, pathlib.Path(folder), row)
            agreement = Agreement(program, io, pathlib.Path(folder), same_bits=False)
            row["strict"] = strict_verdict(agreement.report)
            if agreement.report and (done.returncode == REFUSED) != row["strict"].startswith("copies"):
                agreement.wrong.append(f"--strict: exit {done.returncode} where the report says: {row['strict']}")
            row.update(verdict="refused" if agreement.refused else "wrong" if agreement.wrong else "equal",
                       why=agreement.refused or "\n".join(agreement.wrong))
        except Exception as error:  # a crash or a time limit: one program is not to end the run
            row.update(verdict="wrong", why=first_line(error))
    judge_again(program, architecture, about, io, row)


def judge_again(program, architecture, about, io, row):
    """What is no fault is not counted."""
    is_dynamic = row["variant"] == "dynamic"
    if row["verdict"] in ("refused", "wrong") and exports_otherwise(program, architecture, about, io, is_dynamic):
        row.update(verdict="unexported", why="PyTorch's own module differs from eager")
    elif "elements differ" in row["why"] and depends_on_rounding(architecture, about, io, is_dynamic):
        row.update(verdict="unexported", why="eager PyTorch gives other values in double precision")


def compile_strictly(program, folder, row):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = insitu("compile", program, "--strict", "-o", folder / "strict.insitu", timeout=COMPILE_SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    row["compile_ms"] = round(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return done


def strict_verdict(report):
    copied = [row for row in report if row["bytes_copied"]]
    if not report:
        return "stateless"
    return "; ".join(f"copies {row['bytes_copied']} bytes of {row['name']}: {row['reason']}" for row in copied) or "in place"


def exports_otherwise(program, architecture, about, io, is_dynamic):
    """Whether PyTorch's own run of the saved program gives other values than eager, too."""
    try:
        got = values(torch.export.load(program).module(), architecture.calls(is_dynamic), about["names"], about["mutated"])
    except Exception:  # whatever its guards and operators raise
        return True
    return any(name in got and tensors.difference(tensor, got[name]) for name, tensor in io.items())


def doubled(value):
    return value.double() if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value


def depends_on_rounding(architecture, about, io, is_dynamic):
    """Whether results computed in double precision are others: the best of nearly equal scores, a sampled position."""
    calls = [tuple(map(doubled, call)) for call in architecture.calls(is_dynamic)]
    try:
        got = record(architecture.module().double(), calls, about["names"], about["mutated"])
    except (RuntimeError, ValueError, TypeError):  # a model that is made for single precision
        return False
    single = {name: stored_tensor(tensor.float() if tensor.dtype == torch.float64 else tensor) for name, tensor in got.items()}
    return any(tensors.difference(io[name], tensor) for name, tensor in single.items() if ".output." in name and name in io)


def is_slow(row):
    return row["compile_ms"] > SLOW_MS + SLOW_MS_PER_NODE * row["nodes"] + SLOW_MS_PER_MB * row["bytes"] / 1e6
