"""Compares one program with eager PyTorch: in each saved form, in place, copied and through an engine file. The forms: as
exported, after run_decompositions({}), and after run_decompositions() with PyTorch's own table."""
import contextlib
import io
import os
from dataclasses import dataclass

import torch

from library import Failure, Runner
from oracle import Oracle


@dataclass
class Finding:
    kind: str      # what is wrong, in words that stay the same while the program is made smaller
    detail: str    # with the numbers of this program


class NotExported(Exception):
    """PyTorch does not export the program."""


class WrongInTorch(Exception):
    """PyTorch's own exported program computes otherwise than eager."""


def exported(program):
    """{form: .pt2 bytes}."""
    result = {}
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            with torch.no_grad():
                ep = torch.export.export(program.module(), tuple(program.arguments(0)), dynamic_shapes=program.dynamic_shapes(), strict=False)
            result["train"] = saved(ep)
        except Exception as failure:
            raise NotExported(f"{type(failure).__name__}: {str(failure).strip()[:300]}") from failure
        for form, tables in (("aten", ({},)), ("core", ())):
            try:
                result[form] = saved(ep.run_decompositions(*tables))
            except Exception:
                pass  # counted as one form less
    return result


def saved(ep):
    file = io.BytesIO()
    torch.export.save(ep, file)
    return file.getvalue()


def expected(program):
    oracle = Oracle(program)
    return [oracle.call(call) for call in range(3)]


def is_equal(want, bound, got):
    """Equal but for the bound; zeros of both signs are equal, and NaN is NaN."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    if torch.equal(want, got):
        return True
    if not want.dtype.is_floating_point or not bound:
        return False
    return bool(((want.double() - got.double()).abs() <= bound).all())


def shown(tensor):
    return "nothing" if tensor is None else f"{tensor.dtype} {tensor.tolist()}"


def compare(what, want, call, outputs, mutated, states):
    """A Finding of what differs in one call, or None. outputs: {position: tensor}, mutated: [tensor], states: {name: tensor}."""
    pairs = [("an output", f"output {n}", value, outputs.get(n)) for n, value in enumerate(want["output"])]
    pairs += [("an input", f"input {n}", value, mutated[n]) for n, value in enumerate(want["input"])]
    pairs += [("a state", f"state {name}", value, states[name]) for name, value in want["state"].items() if name in states]
    for kind, name, (value, bound), got_value in pairs:
        if got_value is None or not is_equal(value, bound, got_value):
            return Finding(f"{what}: {kind} differs", f"call {call}: {name}: {shown(got_value)} where {shown(value)} was expected, "
                           f"within {bound}")
    return None


def run(engine, program, want, what):
    """(results of all calls, Finding or None)."""
    runner, results = Runner(engine), []
    for call in range(3):
        arguments = program.arguments(call)
        outputs = runner.call({tensor.name: value for tensor, value in zip(program.inputs, arguments)})
        states = runner.states()
        results.append((outputs, [value.clone() for value in arguments], states))
        finding = compare(what, want[call], call, outputs, arguments, states)
        if finding is not None:
            return results, finding
    return results, None


def same_bits(first, second):
    """Whether two runs gave the same bits."""
    flat = lambda results: [t for outputs, inputs, states in results for t in [*outputs.values(), *inputs, *states.values()]]
    a, b = flat(first), flat(second)
    return len(a) == len(b) and all(x.shape == y.shape and torch.equal(x.contiguous().reshape(-1).view(torch.uint8),
                                                                       y.contiguous().reshape(-1).view(torch.uint8)) for x, y in zip(a, b))


def is_right_in_torch(pt2, program, want):
    """Whether PyTorch's own module of the exported program computes what eager does."""
    try:
        module = torch.export.load(io.BytesIO(pt2)).module()
        for call in range(3):
            arguments = program.arguments(call)
            with torch.no_grad():
                outputs = module(*arguments)
            states = {name: value for name, value in module.named_buffers() if name in want[call]["state"]}
            if compare("torch", want[call], call, dict(enumerate(outputs)), arguments, states) is not None:
                return False
    except Exception:
        return False
    return True


def is_lost_cast(form, finding):
    """Whether the decomposed program contradicts itself, because PyTorch has lost the cast of a write
    (docs/differences.md). Its module may still compute what eager does, by chance."""
    return form != "train" and finding.kind == f"{form}: refused (FORMAT)" and ": the program records %" in finding.detail


def check_form(library, form, pt2, program, want, path):
    """A Finding, or None; and the in-place report."""
    try:
        engine = library.compile(pt2)
    except Failure as failure:
        return Finding(f"{form}: refused ({failure.status})", str(failure)), {}
    try:
        in_place, finding = run(engine, program, want, form)
        if finding is None:
            copied, finding = run(library.compile(pt2, in_place=False), program, want, f"{form}, --no-inplace")
        if finding is None and not same_bits(in_place, copied):
            finding = Finding(f"{form}: in place and copied differ", "")
        if finding is None:
            loaded, finding = run(engine.reloaded(path), program, want, f"{form}, engine file")
            if finding is None and not same_bits(in_place, loaded):
                finding = Finding(f"{form}: an engine file gives other bits", "")
    except Failure as failure:
        finding = Finding(f"{form}: a call fails ({failure.status})", str(failure))
    return finding, engine.verdicts()


def check(library, program, path):
    """(Finding or None, forms checked, forms wrong in PyTorch, {form: report}). Raises NotExported."""
    want = expected(program)
    wrong, checked, reports = 0, 0, {}
    for form, pt2 in exported(program).items():
        finding, reports[form] = check_form(library, form, pt2, program, want, path)
        if finding is None:
            checked += 1
        elif is_lost_cast(form, finding) or not is_right_in_torch(pt2, program, want):
            wrong += 1
        else:
            return finding, checked, wrong, reports
    return None, checked, wrong, reports
