"""Compiles and runs the programs of an architecture: a list of rows, one for each variant and form.

A row has name, library, variant, form, nodes, verdict ("equal", "refused", "wrong" or "unexported"), why (in words, of all
verdicts but the first), strict ("in place", "stateless" or what is copied) and compile_ms (of `insitu compile`, processor time).
"""
import pathlib
import resource
import tempfile

import torch

import tensors
from agreement import Agreement
from command import insitu
from fixtures.exporting import FORMS
from making import first_line, make, values

COMPILE_SECONDS = 60
SLOW_MS, SLOW_MS_PER_NODE = 200, 1.0  # compiling may take this long


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
                   "nodes": facts.get("nodes", 0), "why": "", "strict": "", "compile_ms": 0}
            rows.append(row)
            if "unexported" in facts:
                row.update(verdict="unexported", why=facts["unexported"])
            else:
                check_program(architecture, stem, about, row)
    return rows


def check_program(architecture, stem, about, row):
    program = stem.with_name(f"{stem.name}.{row['form']}.pt2")
    io = tensors.read(stem.with_name(f"{stem.name}.io.safetensors"))
    with tempfile.TemporaryDirectory() as folder:
        try:
            compile_strictly(program, pathlib.Path(folder), row)
            agreement = Agreement(program, io, pathlib.Path(folder))
            row.update(verdict="refused" if agreement.refused else "wrong" if agreement.wrong else "equal",
                       why=agreement.refused or "\n".join(agreement.wrong))
            row["strict"] = strict_verdict(agreement.report)
        except Exception as error:  # a crash or a time limit: one program is not to end the run
            row.update(verdict="wrong", why=first_line(error))
    if row["verdict"] in ("refused", "wrong") and exports_otherwise(program, architecture, about, io, row["variant"] == "dynamic"):
        row.update(verdict="unexported", why="PyTorch's own module differs from eager")


def compile_strictly(program, folder, row):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = insitu("compile", program, "--strict", "-o", folder / "strict.insitu", timeout=COMPILE_SECONDS)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    row["compile_ms"] = round(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    row["exit"] = done.returncode


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


def is_slow(row):
    return row["compile_ms"] > SLOW_MS + SLOW_MS_PER_NODE * row["nodes"]
