"""Writes the program of a seed."""
from dataclasses import replace

from draft import Draft
from oracle import Invalid, Oracle
from program import Line, without
from reads import READS
from writes import WRITES, dynamic_write


def generate(seed):
    """A program that eager PyTorch runs three times, and whose results are known but for bounded errors."""
    draft = Draft(seed)
    wanted = draft.random.choice([4, 6, 8, 8, 12, 12, 16, 24])
    for _ in range(4 * wanted):
        if len(draft.lines) >= wanted:
            break
        if draft.chance(0.5):
            write(draft)
        else:
            read(draft)
    outputs = []
    for _ in range(draft.choose(1, 2, 2, 3, 4)):
        name = draft.pick(views=0.25)
        outputs.append(name)
    program = replace(draft.program, lines=tuple(draft.lines), outputs=tuple(outputs))
    return valid(program)


def valid(program):
    """The program without what the oracle refuses in any of the calls."""
    while True:
        try:
            oracle = Oracle(program)
            for call in range(3):
                oracle.call(call)
            return program
        except Invalid as invalid:
            if invalid.line is None:
                kept = program.outputs[:invalid.output] + program.outputs[invalid.output + 1:]
                program = replace(program, outputs=kept or ("self.b0",))
            else:
                program = without(program, {invalid.line})


def write(draft):
    make = draft.random.choices(list(WRITES), WRITES.values())[0]
    if draft.program.is_dynamic and draft.chance(0.2):
        make = dynamic_write
    line = make(draft)
    if line is not None and draft.add(line):
        tame(draft, line.target, line.target)


def read(draft):
    make = draft.random.choices(list(READS), READS.values())[0]
    made = make(draft)
    name = made and draft.define(*made)
    if name:
        tame(draft, name, None)


def tame(draft, expression, target):
    """Keeps numbers small, so that sums stay exact in the calls to come."""
    tensor = draft.value(expression)
    if not tensor.numel() or float(tensor.abs().max() if str(tensor.dtype) != "torch.bool" else 0) <= 24 or not draft.chance(0.9):
        return
    if target is not None or draft.chance(0.3):
        draft.add(Line(f"{expression}.clamp_(-5, 5)", (), expression, (expression,), "copy"))
    else:
        draft.define(f"{expression}.clamp(-8, 7)", (expression,), "copy")
