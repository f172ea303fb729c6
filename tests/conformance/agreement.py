"""Whether a program that the command runs agrees with eager PyTorch: in place, copied, and through an engine file.

Values are those of an io file (scripts/make_fixtures.py says which keys it has), as tensors.py has them. Standard library
alone. What is wrong is a list of sentences, empty if nothing is.
"""
import json
import re

import tensors
from command import Run, calls_of, inputs_of, insitu

REFUSED = 3  # the exit code


def different_values(got, want, what, compare):
    if got is None:
        return [f"{what}: nothing was written"]
    if got.keys() != want.keys():
        return [f"{what}: {sorted(got)} where {sorted(want)} was expected"]
    found = ((name, compare(tensor, got[name])) for name, tensor in want.items())
    return [f"{what}: {name}: {text}" for name, text in found if text]


def different_from_eager(run, io, compare=tensors.difference):
    """What of a run's outputs, mutated inputs and states is not as stored."""
    wrong = []
    for call in range(len(run.outputs)):
        want = {name.split(".", 1)[1]: tensor for name, tensor in io.items()
                if re.match(rf"call{call}\.(output|mutated)\.", name)}
        if want or run.outputs[call] is not None:
            wrong += different_values(run.outputs[call], want, f"call {call}", compare)
    want = {name[len("state."):]: tensor for name, tensor in io.items() if name.startswith("state.")}
    return wrong + different_values(run.state, want, "state", compare)


class Agreement:
    """One program, run in every way. wrong: what is; refused: the command's words if it does not take the program.

    same_bits: copied states give the bits of states in place; else they too agree with eager, which is all that can be asked of
    convolutions, for which oneDNN may choose by where the result lies. count: of calls; unless given, those of io. fails: the number of the call that must fail, as it does in eager; io holds
    what was before it and its inputs.
    """

    def __init__(self, program, io, folder, compare=tensors.difference, fails=None, count=None, same_bits=True):
        self.program, self.io, self.folder, self.compare, self.fails = program, io, folder, compare, fails
        self.same_bits = same_bits
        self.calls = [inputs_of(io, call) for call in (calls_of(io) if count is None else range(count))]
        self.wrong, self.refused, self.report = [], None, []
        self.in_place = Run(program, self.calls, folder)
        if self.in_place.done.returncode == REFUSED:
            self.refused = self.in_place.done.stderr.strip()
            return
        self.check(self.in_place, "in place")
        self.check_copied()
        self.check_engine()
        self.read_report()

    def check(self, run, way):
        stopped = re.search(r"call (\d+):", run.done.stderr)
        if self.fails is None and run.done.returncode != 0:
            self.wrong.append(f"{way}: exit {run.done.returncode}: {run.done.stderr.strip()}")
        elif self.fails is not None and (run.done.returncode != 1 or not stopped or int(stopped[1]) != self.fails):
            self.wrong.append(f"{way}: exit {run.done.returncode} where call {self.fails} had to fail: {run.done.stderr.strip()}")
        else:
            self.wrong += [f"{way}: {text}" for text in different_from_eager(run, self.io, self.compare)]

    def check_same(self, run, way):
        """Bit for bit what was computed in place."""
        if run.done.returncode != self.in_place.done.returncode or run.results() != self.in_place.results():
            self.wrong.append(f"{way}: other bits than in place: {run.done.stderr.strip()}")

    def check_copied(self):
        self.copied = Run(self.program, self.calls, self.folder, "--no-inplace")
        check = self.check_same if self.same_bits else self.check
        check(self.copied, "--no-inplace")

    def check_engine(self):
        self.engine = self.folder / f"{self.program.name}.insitu"
        done = insitu("compile", self.program, "-o", self.engine)
        if done.returncode != 0:
            self.wrong.append(f"compile: exit {done.returncode}: {done.stderr.strip()}")
            return
        self.check_same(Run(self.engine, self.calls, self.folder), "through an engine")

    def read_report(self):
        """The in-place report, and that the counters of the calls agree with it."""
        done = insitu("explain", self.program, "--json")
        if done.returncode != 0:
            self.wrong.append(f"explain: exit {done.returncode}: {done.stderr.strip()}")
            return
        self.report = json.loads(done.stdout)["report"]
        for counter in ("bytes_copied", "bytes_saved"):
            told = [row[counter] for row in self.report]
            counted = [row[f"state_{counter}"] for row in self.in_place.stats]
            if all(count >= 0 for count in told) and counted != [sum(told)] * len(counted):
                self.wrong.append(f"explain: {sum(told)} {counter} where the calls count {counted}")
