"""Packs of cases: one exported program each, run by the command, its outputs compared with eager PyTorch's.

A case that can't be exported, that is refused or that fails is taken out, and the rest is tried again. What a case writes into
its arguments is compared too.
"""
import collections
import os
import pathlib
import re
import subprocess
import tempfile

import torch
from fixtures import decomposing  # noqa: F401
from safetensors.torch import load_file, save_file
from torch.utils import _pytree as pytree

from .case import BOOL, forget

FORMS = {"train": lambda ep: ep, "aten": lambda ep: ep.run_decompositions({}), "core": lambda ep: ep.run_decompositions()}
KEPT = {"val"}
LONGEST = 300  # seconds that the command may take
REFUSALS = (RuntimeError, TypeError, NotImplementedError, IndexError, ValueError, AttributeError, ZeroDivisionError, OverflowError)


class Work:
    """A case with the leaves of its result, as tensors (numbers too), and the numbers of those that are still compared.

    after: what the case has written, by the argument's position.
    """

    def __init__(self, case, leaves, after, kept=None):
        self.case, self.leaves, self.after = case, leaves, after
        self.kept = [i for i, leaf in enumerate(leaves) if leaf is not None] if kept is None else kept

    def has_results(self):
        return bool(self.kept or self.after)


class Step(torch.nn.Module):
    """A case as a module, which has the case's buffer if there is one."""

    def __init__(self, case):
        super().__init__()
        self.fn = case.fn
        self.register_buffer("state", case.args[0].clone() if case.is_on_buffer() else None)

    def forward(self, *args):
        return self.fn(*args) if self.state is None else self.fn(self.state, *args)


class Pack(torch.nn.Module):
    """Calls case after case, each a module of its own, so that each node's module tells its case.

    Its last tensor and last result belong to no case: torch 2.13 does not save a program without outputs.
    """

    def __init__(self, works):
        super().__init__()
        self.works, self.tensors, self.places = works, [], []
        self.steps = torch.nn.ModuleList(Step(work.case) for work in works)
        for work in works:
            self.places.append([self.place(arg) for arg in work.case.args[work.case.is_on_buffer():]])
        self.tensors.append(torch.zeros(1))

    def place(self, arg):
        for i, tensor in enumerate(self.tensors):
            if tensor is arg:
                return i
        self.tensors.append(arg)
        return len(self.tensors) - 1

    def input_of(self, number, i):
        """Which of the tensors is argument i of a case; None: it is the case's buffer."""
        is_on_buffer = self.works[number].case.is_on_buffer()
        return None if i < is_on_buffer else self.places[number][i - is_on_buffer]

    def key(self, number, i, names):
        """What the command calls argument i of a case after the call. names: of the program's inputs."""
        place = self.input_of(number, i)
        return f"state.steps.{number}.state" if place is None else f"mutated.{names[place]}"

    def forward(self, tensors):
        forget()
        results = []
        for work, step, places in zip(self.works, self.steps, self.places):
            leaves = leaves_of(step(*(tensors[i] for i in places)))
            results.append([leaves[i] for i in work.kept])
        return results, tensors[-1] + 1


def mark_nodes(ep):
    """Each node's stack trace names its case and the node's number; other metadata goes."""
    for i, node in enumerate(ep.graph.nodes):
        modules = node.meta.get("nn_module_stack") or {}
        found = re.search(r"steps\W+(\d+)", " ".join(str(path) for path, _ in modules.values()))
        for key in set(node.meta) - KEPT:
            del node.meta[key]
        node.meta["case"] = int(found.group(1)) if found else None
        node.meta["stack_trace"] = f'File "case.py", line {i}, in step\n' if found else ""
    ep.example_inputs = None


def case_of(node):
    return node.meta.get("case")


def leaves_of(result):
    return pytree.tree_leaves(result, is_leaf=lambda leaf: leaf is None)


def as_tensor(leaf):
    if isinstance(leaf, (bool, int, float, complex)):
        return torch.tensor(leaf, dtype={float: torch.float64, complex: torch.complex128}.get(type(leaf)))
    return leaf


def bits(x):
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    size = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    return x.contiguous().view(size)


def evaluate(case):
    """What eager PyTorch makes of a case: its leaves as tensors, and the arguments that were written, by position."""
    forget()
    args = [arg.clone() for arg in case.args]
    with torch.no_grad():
        leaves = leaves_of(case.fn(*args))
    after = {i: arg for i, arg in enumerate(args) if (case.writes and i == 0) or is_changed(case.args[i], arg)}
    return [as_tensor(leaf) for leaf in leaves], after


def is_changed(before, after):
    return after.shape != before.shape or bool((bits(after) != bits(before)).any())


def stored_as_bytes(want, got):
    """A dtype that safetensors lacks is stored as its bytes, with one more dimension."""
    return got.dtype == torch.uint8 != want.dtype and got.shape == (*want.shape, want.element_size())


def difference(want, got, case):
    """What differs, in words; None if nothing does."""
    if got is None:
        return "no output"
    if stored_as_bytes(want, got):
        got = got.view(want.dtype).reshape(want.shape)
    if want.dtype != got.dtype or want.shape != got.shape:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.numel() == 0 or case.free:
        return None
    if want.is_complex():
        want, got = (torch.view_as_real(x.resolve_conj()) for x in (want, got))
    want = want.contiguous()
    if not want.dtype.is_floating_point:
        wrong = bits(want) != bits(got)
    else:
        a, b = want.double(), got.double()
        wrong = (a.isnan() != b.isnan()) | (~a.isnan() & ((a.isinf() | b.isinf()) & (a != b)))
        eps = torch.finfo(want.dtype).eps
        unit = torch.clamp(a.abs(), min=torch.finfo(want.dtype).smallest_normal)
        finite = a[a.isfinite()].abs()
        if case.scale == "max" and finite.numel():
            unit = torch.clamp(unit, min=finite.max().item())
        elif isinstance(case.scale, (int, float)):
            unit = torch.clamp(unit, min=case.scale)
        if case.ulp:  # the largest number and infinity are neighbours
            edge = torch.finfo(want.dtype).max * (1 - case.ulp * eps)
            wrong &= ~((a.abs() >= edge) & (b.abs() >= edge) & (a.sign() == b.sign()))
        finite = a.isfinite() & b.isfinite()
        wrong |= finite & ((a - b).abs() > case.ulp * eps * unit)
        if case.ulp == 0 and case.zeros:
            wrong |= (a == 0) & (a.signbit() != b.signbit()) & ~b.isnan()
    if not wrong.any():
        return None
    at = tuple(wrong.nonzero()[0].tolist())
    return (f"{int(wrong.sum())} of {want.numel()} differ, first {want[at].item()!r} as {got[at].item()!r} at {list(at)}"
            f" of {str(want.dtype)[6:]}{list(want.shape)}")


def halves(works):
    return works[: len(works) // 2], works[len(works) // 2:]


class Comparison:
    """Runs packs and sorts their cases: agreed, or by what is wrong in a table {words: names}."""

    def __init__(self, command, forms, known, verbose=False):
        """known: the operators that are converted in some form; others are refused wherever they are."""
        self.command, self.forms, self.known, self.verbose = command, forms, known, verbose
        self.agreed = collections.Counter()  # by form
        self.outputs = 0
        self.names, self.differs, self.refused, self.failed, self.unexported = set(), {}, {}, {}, {}
        # Other ways to run a program: environment, and whether it must give the same bits.
        self.ways = {"one thread": ({"OMP_NUM_THREADS": "1"}, True), "the reference": ({"INSITU_FORCE_REF": "1"}, False)}
        self.folder = tempfile.TemporaryDirectory()

    def note(self, table, work, form, text):
        table.setdefault(text, []).append(f"{work.case.name}[{form}]")
        if self.verbose:
            print(f"  {work.case.name} [{form}]: {text}", flush=True)

    def agree(self, work, form):
        self.agreed[form] += 1

    def compare(self, cases):
        """Of the cases, those that PyTorch itself can do."""
        works = []
        for case in cases:
            try:
                works.append(Work(case, *evaluate(case)))
            except REFUSALS:
                pass
        self.compare_works([work for work in works if not work.case.train_only], self.forms)
        self.compare_works([work for work in works if work.case.train_only and "train" in self.forms], ["train"])

    def export(self, works):
        pack = Pack(works)
        with torch.no_grad():
            return pack, torch.export.export(pack, (list(pack.tensors),), strict=False)

    def compare_works(self, works, forms):
        works = [work for work in works if work.has_results()]
        if not works:
            return
        try:
            pack, ep = self.export(works)
        except Exception as error:  # whatever the exporter raises
            return self.without_unexported(works, forms, error)
        programs = {}
        for form in forms:
            try:
                programs[form] = FORMS[form](ep)
            except Exception as error:
                self.without_unexported(works, [form], error)
        for form, program in programs.items():
            for rest in self.compare_form(form, works, pack, program):
                self.compare_works(rest, [form])

    def without_unexported(self, works, forms, error):
        """What the exporter does not take is found by halves."""
        if len(works) > 1:
            for part in halves(works):
                self.compare_works(part, forms)
            return
        for form in forms:
            self.note(self.unexported, works[0], form, (str(error).strip() or repr(error)).splitlines()[0])

    # ---- one program ----

    def run(self, program, inputs, environment):
        """The finished command, and what it wrote: outputs, mutated inputs, and states as state.NAME."""
        out, state = (pathlib.Path(self.folder.name) / name for name in ("out", "state"))
        for path in (out, state):
            path.unlink(missing_ok=True)
        command = [self.command, "run", program, "--input", inputs, "--output", out, "--save-state", state]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(command, 1, "", f"not done after {LONGEST} s")
        states = load_file(state) if state.exists() else {}
        return done, {**(load_file(out) if out.exists() else {}), **{f"state.{name}": tensor for name, tensor in states.items()}}

    def compare_form(self, form, works, pack, ep):
        """Returns lists of works, without what is refused, that are still to be compared."""
        mark_nodes(ep)
        folder = pathlib.Path(self.folder.name)
        program, inputs = folder / "program.pt2", folder / "in"
        try:
            torch.export.save(ep, program)
        except Exception as error:
            if len(works) > 1:
                return halves(works)
            self.note(self.unexported, works[0], form, repr(error)[:200])
            return []
        names = [spec.arg.name for spec in ep.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        save_file({name: t.contiguous() for name, t in zip(names, pack.tensors)}, inputs)
        done, outputs = self.run(program, inputs, {})
        if done.returncode != 0:
            return self.without_refused(form, works, ep, done)
        others = {name: (self.run(program, inputs, environment)[1], same) for name, (environment, same) in self.ways.items()}
        at = 0
        for number, work in enumerate(works):
            wrong = []
            for i in work.kept:
                wrong += self.compare_value(work.case, f"output {i}", work.leaves[i], f"output.{at}", outputs, others)
                at += 1
            for i, want in work.after.items():
                key = pack.key(number, i, names)
                if key in outputs or is_changed(work.case.args[i], want):
                    wrong += self.compare_value(work.case, f"argument {i}", want, key, outputs, others)
            self.names.add(work.case.name)
            if wrong:
                self.note(self.differs, work, form, wrong[0])
            else:
                self.agree(work, form)
        return []

    def compare_value(self, case, what, want, key, outputs, others):
        """What is wrong with one result, in words."""
        self.outputs += 1
        text = difference(want, outputs.get(key), case)
        if text:
            return [f"{what}: {text}"]
        for name, (results, same) in others.items():
            text = difference(want, results.get(key), case)
            if not text and same and not case.free and not torch.equal(bits(outputs[key]), bits(results[key])):
                text = "other bits"
            if text:
                return [f"{what} by {name}: {text}"]
        return []

    # ---- refusals ----

    def without_refused(self, form, works, ep, done):
        """Takes out the outputs that need what the command refuses or fails at; where it doesn't say, two halves."""
        table = self.refused if done.returncode == 3 else self.failed
        lines = (done.stderr.strip() or f"signal {-done.returncode}").splitlines()
        nodes = list(ep.graph.nodes)
        causes = {}  # by node
        for line in lines[1:] or lines:
            found = re.search(r"case\.py:(\d+)", line)
            if found and len(lines) > 1:
                for node in self.alike(works, nodes, nodes[int(found.group(1))]):
                    causes.setdefault(node, line.split(",")[0].strip())
            elif found:
                first = nodes[int(found.group(1))]
                text = re.sub(r"\(?case\.py:\d+\)?|/\S*/|'[^']*'|\[[\d,]*\]|%\w+", "", line)
                causes.update((node, text) for node in (self.of_dtype(nodes, first) if done.returncode == 3 else [first]))
        if not causes and len(works) > 1:
            return halves(works)
        if not causes:
            self.note(table, works[0], form, lines[0])
            return []
        return [self.without(form, works, nodes, causes, table)]

    def alike(self, works, nodes, first):
        """The nodes that are refused as the first is: all of an operator that is never taken; else those of the same dtype, or
        at the same place in cases of other dtypes of that kind."""
        same = [node for node in nodes if node.target == first.target and case_of(node) is not None]
        if str(first.target) not in self.known:
            return same
        kind = lambda node: next((arg.meta["val"].dtype for arg in node.all_input_nodes if hasattr(arg.meta.get("val"), "dtype")), BOOL)

        def place(node):
            before = [other for other in same if case_of(other) == case_of(node)]
            return works[case_of(node)].case.name.split("/")[0], before.index(node), kind(node).is_floating_point
        return [node for node in same if place(node) == place(first)]

    def of_dtype(self, nodes, first):
        dtype = first.meta["val"].dtype if hasattr(first.meta.get("val"), "dtype") else None
        return [node for node in nodes if node.target == first.target and hasattr(node.meta.get("val"), "dtype") and
                node.meta["val"].dtype == dtype] or [first]

    def without(self, form, works, nodes, causes, table):
        """The works without the outputs that depend on the nodes in causes."""
        direct, causes = causes, dict(causes)
        for node in nodes:
            cause = next((causes[arg] for arg in node.all_input_nodes if arg in causes), None)
            if cause and node.op == "call_function":
                causes.setdefault(node, cause)
        leaves = iter(pytree.tree_leaves(nodes[-1].args[0]))
        rest = []
        for work in works:
            bad = {i: causes[leaf] for i, leaf in zip(work.kept, leaves) if leaf in causes}
            for cause in set(bad.values()):
                self.note(table, work, form, cause)
            rest.append(Work(work.case, work.leaves, work.after, [i for i in work.kept if i not in bad]))
        if sum(len(work.kept) for work in rest) < sum(len(work.kept) for work in works):
            return rest
        for node, cause in direct.items():  # a mutation or an assertion, on which no output depends
            self.note(table, works[case_of(node)], form, cause)
        return [work for i, work in enumerate(works) if i not in {case_of(node) for node in direct}]
