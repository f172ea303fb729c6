#!/usr/bin/env python3
"""Programs that mutate buffers and inputs, each form of mutation on both, made here by PyTorch and compared with it.

    scripts/setup --oracle && build/venv/bin/python tests/mutations/check_mutations.py [--command build/release/bin/insitu] [PATTERN...]

PATTERN is a regular expression on a program's name. Each program is exported as it is, after run_decompositions({}) and after
run_decompositions(), with PyTorch's default table; three calls of each, in place, with --no-inplace and through an engine file, must give the bits of eager PyTorch (where sums or
functions are computed, within the dtype's tolerance), and one another's bits. What PyTorch itself does not export, or exports
so that its own module gives other values, is not counted. --smoke, the part that scripts/check runs, takes every fifth program.
--results writes a JUnit file; --update writes the table of docs/in-place.md, which must else be as it is there where all are run.
"""
import argparse
import copy
import gc
import logging
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import warnings

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "conformance")]

import case  # noqa: E402
import forms  # noqa: E402, F401
import verdicts  # noqa: E402
from fixtures.exporting import (export, mutated_inputs, record_call, record_states, save, stored_tensor,  # noqa: E402
                                user_inputs)
from results import write_results  # noqa: E402

FORMS = ("train", "aten", "core")
SMOKE = 5  # of as many programs, --smoke takes one; odd, as most cases come in two


class Unexported(Exception):
    """PyTorch refuses the program, or what it exports computes something else."""


class Result:
    """What became of one program in one form."""

    def __init__(self, program, form):
        self.program, self.form, self.case, self.where = program.name, form, program.case.name, program.where
        self.other = program.case.core
        self.wrong, self.refused, self.unexported, self.report = [], None, None, []

    @property
    def name(self):
        return f"{self.program}.{self.form}"

    @property
    def fault(self):
        return self.refused or "\n".join(self.wrong)


def values(module, program, names, mutated):
    """The tensors of an io file. The call that has to fail fails, and leaves the states as they were before."""
    tensors, states = {}, {}
    for i, call in enumerate(program.calls()):
        states = record_states(module)
        try:
            record_call(module, i, call, names, mutated, tensors)
        except (IndexError, RuntimeError) as error:
            if program.case.fails != i:
                raise Unexported(f"eager: {error}") from error
            break
        assert program.case.fails != i, f"{program.name}: call {i} does not fail in eager PyTorch"
        states = record_states(module)
    return {name: stored_tensor(tensor) for name, tensor in {**tensors, **states}.items()}


def export_forms(program, results):
    """What PyTorch exports of the program, by form; a result of the others says why not."""
    exported = {}
    for result in results:
        module, call = program.module(), program.calls()[0]  # what fails here is a fault of the case
        try:
            exported.update(export(module, call, program.dynamic(), [result.form]))
        except Exception as error:  # whatever the exporter raises
            result.unexported = (str(error).strip() or repr(error)).splitlines()[0][:200]
    return exported


def written_inputs(program, exported):
    """Of a program that has no decomposed form, every input that is a state is taken to be written."""
    if "aten" in exported:
        return mutated_inputs(exported["aten"])
    return set(program.case.states) if program.where == "input" else set()


def exports_otherwise(exported, program, names, mutated, io, compare):
    """Whether PyTorch's own run of the form gives other values than eager, too."""
    try:
        got = values(exported.module(), program, names, mutated)
    except (Unexported, AssertionError):
        return True
    return any(name in got and compare(tensor, got[name]) for name, tensor in io.items())


def check_program(program, folder):
    from agreement import Agreement
    from failed_call import changed_inputs
    import tensors
    results = [Result(program, form) for form in FORMS]
    exported = export_forms(program, results)
    if not exported:
        return results
    names, mutated = user_inputs(next(iter(exported.values()))), written_inputs(program, exported)
    try:
        io = values(program.module(), program, names, mutated)
    except Unexported as error:
        for result in results:
            result.unexported = str(error)
        return results
    compare = tensors.difference if program.case.close else tensors.exact_difference
    for result in (result for result in results if not result.unexported):
        path = folder / f"{result.name}.pt2"
        save(copy.deepcopy(exported[result.form]), path)
        try:
            agreement = Agreement(path, io, folder, compare, program.case.fails, case.CALLS)
            result.wrong, result.refused, result.report = agreement.wrong, agreement.refused, agreement.report
            if program.case.fails is not None and program.where == "input" and not agreement.refused:
                result.wrong += changed_inputs(agreement.engine, agreement.calls[program.case.fails])
        except Exception as error:  # one program is not to end the run
            result.wrong.append(repr(error))
        if result.fault and exports_otherwise(exported[result.form], program, names, mutated, io, compare):
            result.wrong, result.refused, result.unexported = [], None, "PyTorch's own module differs from eager"
    check_reports(results)
    return results


def check_reports(results):
    """All forms give one report, save for the names of their own nodes and layers, and where decomposition makes another program."""
    kept = ("name", "type", "written", "bytes_written", "bytes_moved", "bytes_copied", "bytes_saved", "in_place")
    told = [result for result in results if not result.fault and not result.unexported]
    reports = [[{key: row[key] for key in kept} for row in result.report] for result in told]
    for result, report in zip(told, reports):
        if report != reports[0] and not (result.form == "core" and result.other):
            result.wrong.append(f"the forms' reports differ: {reports[0]} and {report}")


def check(job):
    name, folder = job
    torch.set_num_threads(1)
    program = next(program for program in case.programs() if program.name == name)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        return check_program(program, pathlib.Path(own))


def check_all(programs, processes):
    found = []
    with tempfile.TemporaryDirectory(prefix="mutations") as folder:
        jobs = [(program.name, folder) for program in programs]
        check(jobs[0])  # imports what export needs before the processes part
        gc.freeze()
        gc.set_threshold(200_000)  # exporting makes many objects, of which few are garbage
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            for results in pool.imap(check, jobs, chunksize=4):
                show(results)
                found += results
    return found


def show(results):
    for result in results:
        if result.fault:
            print(f"{result.name}: {result.fault}", flush=True)
        elif result.unexported:
            print(f"not counted: {result.name}: {result.unexported}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--command", default=ROOT / "build/release/bin/insitu", help="the insitu command")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--smoke", action="store_true", help="every fifth program")
    parser.add_argument("--results", help="a JUnit file to write")
    parser.add_argument("--update", action="store_true", help="write the table of docs/in-place.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable()
    os.environ["INSITU"] = str(pathlib.Path(options.command).resolve())
    begin = time.time()
    programs = case.programs(options.patterns)[::SMOKE if options.smoke else 1]
    results = check_all(programs, options.processes)
    stale = None if options.patterns or options.smoke else verdicts.check_table(results, options.update)
    if stale:
        print(stale)
    counted = [result for result in results if not result.unexported]
    faults = sum(bool(result.fault) for result in counted)
    agreed = {result.program for result in counted} - {result.program for result in counted if result.fault}
    print(f"{len(agreed)} programs agree with eager PyTorch, {len(counted)} forms; {faults} forms don't; "
          f"{len(results) - len(counted)} forms not counted; {time.time() - begin:.0f} s")
    if options.results:
        faults_by_name = {result.name: result.fault for result in counted}
        table = {} if options.patterns or options.smoke else {"table": stale}
        write_results(options.results, "mutations", faults_by_name | table, time.time() - begin)
    sys.exit(1 if faults or stale else 0)


if __name__ == "__main__":
    main()
