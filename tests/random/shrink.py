"""Makes a program that shows a fault smaller, as long as it shows the same fault."""
from dataclasses import replace

from differential import NotExported, check
from generate import valid
from oracle import Invalid
from program import SIZE, without


def shows(library, program, kind, path):
    """Whether the program is a test and finds that kind of fault."""
    try:
        if not program.outputs or valid(program) != program:
            return False
        finding = check(library, program, path)[0]
    except (NotExported, Invalid, IndexError, RuntimeError):
        return False
    return finding is not None and finding.kind == kind


def shrink(library, program, kind, path):
    while True:
        smaller = next((candidate for candidate in candidates(program) if shows(library, candidate, kind, path)), None)
        if smaller is None:
            return program
        program = smaller


def candidates(program):
    """Smaller programs, those that drop most first."""
    count = len(program.lines)
    width = max(count // 2, 1)
    while count and width:
        for start in range(0, count, width):
            yield without(program, set(range(start, min(start + width, count))))
        width //= 2
    for n in range(len(program.outputs)):
        yield replace(program, outputs=program.outputs[:n] + program.outputs[n + 1:])
    yield from simpler_operands(program)
    yield from unused(program)
    if program.is_dynamic:
        yield replace(program, is_dynamic=False, sizes=(SIZE,) * 3)
    for n in sorted({n for tensor in program.inputs + program.buffers for n in tensor.shape if n > 1}, reverse=True):
        if n != SIZE or not program.is_dynamic:
            for m in dict.fromkeys((1, 2, n - 1)):
                if m < n:
                    yield resized(program, n, m)


def simpler_operands(program):
    """A line that defines a name is replaced by one that takes an operand as it is."""
    for number, line in enumerate(program.lines):
        if len(line.defines) == 1 and line.target is None:
            for operand in line.operands:
                if line.code != f"{line.defines[0]} = {operand}":
                    simple = replace(line, code=f"{line.defines[0]} = {operand}", operands=(operand,), rule="copy")
                    yield replace(program, lines=program.lines[:number] + (simple,) + program.lines[number + 1:])


def unused(program):
    used = set().union(*(line.uses() for line in program.lines), *({name} for name in program.outputs))
    text = " ".join(list(program.outputs) + [line.code for line in program.lines])
    for tensor in program.inputs:
        if len(program.inputs) > 1 and tensor.name not in used and tensor.name not in text:
            yield replace(program, inputs=tuple(t for t in program.inputs if t != tensor))
    if program.second_name:
        yield replace(program, second_name="")
    if program.between:
        yield replace(program, between=())
    for tensor in program.buffers:
        if f"self.{tensor.name}" not in text and not program.second_name and not program.between:
            yield replace(program, buffers=tuple(t for t in program.buffers if t != tensor))


def resized(program, n, m):
    change = lambda tensors: tuple(replace(t, shape=tuple(m if k == n else k for k in t.shape)) for t in tensors)
    return replace(program, inputs=change(program.inputs), buffers=change(program.buffers))
