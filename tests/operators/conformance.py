"""What becomes of each case of an operator in each form: equal to eager PyTorch, refused, not exported, or wrong."""
import contextlib
import copy
import io
import os
import pathlib
import re
from dataclasses import dataclass

import torch
from operators.pack import FORMS, Comparison, Work, as_tensor, case_of, difference, evaluate, halves, leaves_of
from safetensors.torch import save_file

import samples

KINDS = ("equal", "refused", "unexported", "wrong")
# "aten.foo.default 'foo' (at, why)" or "aten.foo.default (2 times, first 'foo' at ..., why)"
ROW = re.compile(r"(\w+\.\w+\.\w+) (?:'\w*'(?: \((?:case\.py:\d+)?(?:, )?(?P<why>.*?)\))?"
                 r"|\(\d+ times, first '\w*'(?: at case\.py:\d+)?(?:, (?P<whys>.*?))?\))(?=, \w+\.\w+\.\w+ |$| and \d+ more)")
LISTED = re.compile(r"  (\S+), (\d+) times?(?:, first at case\.py:(\d+))?")


@dataclass
class Outcome:
    place: samples.Place
    form: str
    kind: str      # one of KINDS
    text: str      # why, unless it is equal
    arguments: str
    free: bool     # compared by dtype and sizes alone


def reasons(sentence):
    """{operator: why it is refused} of those that the first line of a refusal names."""
    found = {}
    for row in ROW.finditer(sentence.split("not supported: ", 1)[-1]):
        why = row["why"] or row["whys"]
        found.setdefault(row[1], []).append(f"{row[1]}: {why}" if why else row[1])
    return {target: texts[0] for target, texts in found.items() if len(texts) == 1}


def stored(tensor):
    """A dense copy; complex numbers, of which safetensors lacks a dtype, as pairs of numbers."""
    tensor = tensor.resolve_conj()
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).contiguous().clone()


def is_called(node, target):
    """Whether the node is of that operator, or is what writes its result."""
    return str(node.target).replace("_.", ".") == target.replace("_.", ".")


class Conformance(Comparison):
    """keep: a folder for the programs, inputs and expected values of cases that are wrong."""

    def __init__(self, command, forms, keep=None):
        super().__init__(command, forms, set())
        self.ways = {"the reference": ({"INSITU_FORCE_REF": "1"}, False), "copying states": ({"INSITU_NO_INPLACE": "1"}, True)}
        self.keep, self.outcomes, self.about = keep, [], {}

    def run_operator(self, info):
        self.about = {case.name: (place, case, sample) for place, case, sample in samples.cases(info)}
        self.compare([case for _, case, _ in self.about.values()])
        return self.outcomes

    def export(self, works):
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            return super().export(works)

    # ---- outcomes ----

    def add(self, work, form, kind, text=""):
        place, case, sample = self.about[work.case.name]
        self.outcomes.append(Outcome(place, form, kind, text, str(sample), case.free))

    def agree(self, work, form):
        self.add(work, form, "equal")

    def note(self, table, work, form, text):
        kind = "refused" if table is self.refused else "unexported" if table is self.unexported else "wrong"
        if kind == "wrong" and self.is_wrong_in_torch(work, form):
            kind, text = "unexported", "PyTorch's own module differs from eager"
        elif kind == "wrong" and self.keep:
            self.save(work, form, text)
        self.add(work, form, kind, text)

    def is_wrong_in_torch(self, work, form):
        """Whether PyTorch's own run of the saved form gives other values than eager, too."""
        file = io.BytesIO()
        try:
            pack, ep = self.export([work])
            torch.export.save(FORMS[form](ep), file)
            file.seek(0)
            module = torch.export.load(file).module()
            tensors = [tensor.clone() for tensor in pack.tensors]
            with torch.no_grad():
                got = [as_tensor(leaf) for leaf in leaves_of(module(tensors))]
        except Exception:  # it does not run at all
            return True
        pairs = list(zip((work.leaves[i] for i in work.kept), got))
        for i, want in work.after.items():
            place = pack.input_of(0, i)
            pairs.append((want, dict(module.named_buffers())["steps.0.state"] if place is None else tensors[place]))
        return any(difference(want, found, work.case) for want, found in pairs)

    def save(self, work, form, text):
        """The case alone, as a program with its inputs and what eager gives; and what was wrong."""
        name = re.sub(r"[^\w.]", "_", f"{work.case.name}.{form}")
        pack, ep = self.export([work])
        program = FORMS[form](copy.deepcopy(ep))
        names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        torch.export.save(program, self.keep / f"{name}.pt2")
        save_file({name: tensor for name, tensor in zip(names, pack.tensors)}, self.keep / f"{name}.in.safetensors")
        expected = {f"output.{n}": work.leaves[i] for n, i in enumerate(work.kept)}
        expected.update((f"written.{i}", tensor) for i, tensor in work.after.items())
        save_file({key: stored(tensor) for key, tensor in expected.items()}, self.keep / f"{name}.want.safetensors")
        (self.keep / f"{name}.txt").write_text(f"{text}\n{self.about[work.case.name][2]}\n{program.graph}\n")

    # ---- refusals ----

    def without_refused(self, form, works, ep, done):
        """Takes out the cases that certainly have what the command refuses; the others are tried again."""
        nodes = [node for node in ep.graph.nodes if node.op == "call_function"]
        table = self.refused if done.returncode == 3 else self.failed
        lines = (done.stderr.strip() or f"signal {-done.returncode}").splitlines()
        certain, doubtful = self.causes(nodes, list(ep.graph.nodes), lines)
        certain = {number: general(cause, ep) for number, cause in certain.items()}
        if len(works) == 1:
            self.note(table, works[0], form, certain.get(0) or general(lines[0], ep))
            return []
        if not certain:
            return halves(works)
        for number, cause in certain.items():
            self.note(table, works[number], form, cause)
        rest = [(number, work) for number, work in enumerate(works) if number not in certain]
        unsure = [work for number, work in rest if number in doubtful]
        return [[work for number, work in rest if number not in doubtful], *(halves(unsure) if len(unsure) > 1 else [unsure])]

    def causes(self, nodes, numbered, lines):
        """{case: why} of the cases that certainly are refused or fail, and the set of those that may be."""
        why, rows = reasons(lines[0]), [LISTED.fullmatch(line) for line in lines[1:]]
        certain, doubtful = {}, set()
        targets = [row[1] for row in rows if row]
        for row in filter(None, rows):
            same = [case_of(node) for node in nodes if is_called(node, row[1]) and case_of(node) is not None]
            if targets.count(row[1]) == 1 and row[1] in why and int(row[2]) == len(same):
                certain.update((case, why[row[1]]) for case in same if case not in certain)
                continue
            doubtful.update(same)
            if row[3] and row[1] in why:
                certain.setdefault(case_of(numbered[int(row[3])]), why[row[1]])
        if not targets:
            certain[first_named(numbered, lines[0])] = lines[0]
        certain.pop(None, None)
        return certain, doubtful


def first_named(nodes, line):
    """The case of the first node that the line tells, by its place or by its name; None if it tells none."""
    found = re.search(r"case\.py:(\d+)", line)
    if found:
        return case_of(nodes[int(found[1])])
    quoted = re.findall(r"'(\w+)'", line)
    return next((case_of(node) for node in nodes if node.name in quoted), None)


def general(line, ep):
    """Of an error, what is not this program's: places, sizes, and names of nodes."""
    names = {node.name for node in ep.graph.nodes}
    line = re.sub(r" '(\w+)'", lambda found: "" if found[1] in names else found[0], line)
    return re.sub(r"insitu( \w+)?: |\S+/program\.pt2: |\s*\(?(at )?case\.py:\d+\)?|\[[\d, ]*\]", "", line)
