"""Runs the insitu command on test programs."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

import tensors

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data"
INSITU = os.environ.get("INSITU", "insitu")


DEVICE = ["--device", os.environ["INSITU_DEVICE"]] if "INSITU_DEVICE" in os.environ else []


def insitu(*arguments, folder=None, timeout=120):
    if arguments and arguments[0] in ("compile", "run", "compare"):
        arguments = (*arguments[:2], *DEVICE, *arguments[2:])
    done = subprocess.run([INSITU, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=timeout)
    assert done.returncode >= 0, f"{arguments}: signal {-done.returncode}\n{done.stderr}"
    assert "Sanitizer" not in done.stderr and "runtime error:" not in done.stderr, done.stderr
    return done


def must(*arguments, **options):
    done = insitu(*arguments, **options)
    assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stderr}"
    return done


def inputs_of(io, call):
    """The tensors that one call of a test program takes, of its stored values."""
    prefix = f"call{call}.in."
    return {name[len(prefix):]: tensor for name, tensor in io.items() if name.startswith(prefix)}


def calls_of(io):
    return sorted({int(name[4:name.index(".")]) for name in io if name.startswith("call")})


class Run:
    """What a run wrote: outputs of each call, the final state, and the counters of each call."""

    def __init__(self, program, calls, folder, *options):
        folder.mkdir(exist_ok=True)
        folder = self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        arguments = []
        for i, inputs in enumerate(calls):
            tensors.write(folder / f"in{i}", inputs)
            arguments += ["--input", folder / f"in{i}", "--output", folder / f"out{i}"]
        self.done = insitu("run", program, *arguments, "--save-state", folder / "state", "--stats", *options)
        read = lambda path: tensors.read(path) if path.exists() else None
        self.outputs = [read(folder / f"out{i}") for i in range(len(calls))]
        self.state = read(folder / "state")
        self.stats = [json.loads(line) for line in self.done.stdout.splitlines()]

    def must(self):
        assert self.done.returncode == 0, f"exit {self.done.returncode}: {self.done.stderr}"
        return self

    def total(self, counter):
        return sum(row[counter] for row in self.stats)

    def results(self):
        """Everything that a call can change, to be compared bit for bit."""
        return self.outputs, self.state


def forms(name):
    return sorted(DATA.glob(f"{name}.*.pt2"))


def program(name, form="train"):
    return DATA / f"{name}.{form}.pt2"


def stored(name):
    return tensors.read(DATA / f"{name}.io.safetensors")


def is_sentence(text):
    """One line that begins with the command's name and says something."""
    return re.fullmatch(r"insitu( \w+)?: [^\n]{8,}\n", text) is not None
