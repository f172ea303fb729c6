"""docs/operators.md: what of PyTorch's table of operators is equal, refused or not exported, as a run has found it."""
import pathlib
import re

import selection
from conformance import KINDS
from samples import VARIANTS

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators.md"
WORDS = {"equal": "equal", "refused": "refused", "unexported": "not exported", "wrong": "wrong"}
HEAD = """# Operators

Every operator of PyTorch's own table of operators (`op_db` of `torch.testing`, torch 2.13), on PyTorch's own samples of its
arguments, compared with eager PyTorch. Written by `tests/operators/run --update`; [testing.md](testing.md) says what it does.

Each operator is run in two dtypes: f32 and i64, or what there is instead of them, on up to six samples of arguments each. An
operator is computed, written in place into an input (`x.add_(y)`), and written into a buffer (in place, or by `copy_` where
it has no such form and the result has the buffer's type). Every case is saved as exported and after
`run_decompositions({})`; it is *equal* if both give eager's values, *refused* if one is refused with a sentence when it is
compiled, *not exported* if PyTorch does not save it or if its own run of the saved program differs from eager.
"""
RANDOM = """Numbers of these operators are random, or were never written. They are compared by dtype and sizes alone, in each sample in which
two eager runs differ:"""
ROW = re.compile(r"\| (`[^|]*`) \| ([^|]*) \|((?: [^|]* \|)+)")


def worst(kinds):
    return max(kinds, key=KINDS.index)


def by_case(outcomes):
    """{place: kind}, of all forms together."""
    kinds = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.place, []).append(outcome.kind)
    return {place: worst(found) for place, found in kinds.items()}


def cell(kinds):
    """One kind in a word, several with their numbers, the best first."""
    counts = {kind: kinds.count(kind) for kind in KINDS if kind in kinds}
    if len(counts) == 1:
        return WORDS[kinds[0]]
    return ", ".join(f"{count} {WORDS[kind]}" for kind, count in counts.items()) or "-"


def row(outcomes):
    """(dtypes, cells): of one operator."""
    cases = by_case(outcomes)
    dtypes = sorted({place.dtype for place in cases}, key=lambda dtype: ("f32", "i64", "bool", dtype).index(dtype))
    cells = [cell([kind for place, kind in cases.items() if (place.dtype, place.variant) == (dtype, variant)])
             for dtype in dtypes for variant in VARIANTS]
    return ", ".join(dtypes), cells + ["-"] * (2 * len(VARIANTS) - len(cells))


def quoted(names):
    return ", ".join(f"`{name}`" for name in names)


def table(found):
    """Operators of the same cells share a row; what is equal throughout comes first."""
    rows = {}
    for name, outcomes in found.items():
        dtypes, cells = row(outcomes)
        rows.setdefault((dtypes, *cells), []).append(name)
    is_equal = lambda cells: all(text in ("equal", "-") for text in cells[1:])
    ordered = sorted(rows.items(), key=lambda item: (not is_equal(item[0]), -len(item[1]), item[1][0]))
    columns = ["operators", "dtypes", *(f"{order}: {variant}" for order in ("first", "second") for variant in VARIANTS)]
    lines = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    return lines + [f"| {quoted(sorted(names))} | {' | '.join(cells)} |" for cells, names in ordered]


def rows_of_page(text):
    """{operator: (dtypes, cells)}: what the page says."""
    found = {}
    for line in text.splitlines():
        match = ROW.fullmatch(line)
        if match:
            cells = [part.strip() for part in match[3].split("|")[:-1]]
            found.update((name, (match[2], cells)) for name in re.findall(r"`([^`]+)`", match[1]))
    return found


def totals(found):
    cases = [kind for outcomes in found.values() for kind in by_case(outcomes).values()]
    operators = [worst(by_case(outcomes).values()) for outcomes in found.values() if outcomes]
    lines = ["| | " + " | ".join(WORDS.values()) + " | all |", "|" + " --- |" * (len(KINDS) + 2)]
    for title, kinds in (("cases", cases), ("operators, by their worst case", operators)):
        lines.append(f"| {title} | " + " | ".join(str(kinds.count(kind)) for kind in KINDS) + f" | {len(kinds)} |")
    return lines


def grouped(found, kind):
    """{why: {operator: None}}, what concerns most operators first."""
    reasons = {}
    for name, outcomes in found.items():
        for outcome in outcomes:
            if outcome.kind == kind:
                reasons.setdefault(outcome.text, {})[name] = None
    return dict(sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])))


def listed(title, about, found, kind):
    reasons = grouped(found, kind)
    if not reasons:
        return []
    lines = [f"- `{why}`: {quoted(names)}" if why.startswith("aten.") and ":" not in why else f"- {why}: {quoted(names)}"
             for why, names in reasons.items()]
    return ["", f"## {title}", "", about, "", *lines]


def left_out(names):
    lines = ["", "## Left out", ""]
    for family, (why, _) in selection.LEFT_OUT.items():
        lines.append(f"- {family[0].upper()}{family[1:]}: {why}: {quoted(name for name in names if selection.family_left_out(name) == family)}.")
    return lines


def text_of(found, names):
    """The page. names: all of PyTorch's table."""
    count = len([name for name in names if selection.family_left_out(name) is None])
    part = [] if len(found) == count else [f"This page is of {len(found)} of the {count} operators so far.", ""]
    free = [name for name, outcomes in found.items() if any(outcome.free for outcome in outcomes)]
    return "\n".join([
        HEAD, *part, *totals(found), "", "## Table", "", *table(found), "", "## Random and unwritten numbers", "", RANDOM, "", f"{quoted(free)}.",
        *listed("Refused", "By reason, which names the operator of the saved program.", found, "refused"),
        *listed("Not exported", "What PyTorch says of the cases that it does not save.", found, "unexported"),
        *listed("Wrong", "Faults of Insitu.", found, "wrong"), *left_out(names), ""])


def stale(found):
    """{operator: what the page says otherwise}."""
    told, changed = rows_of_page(PAGE.read_text() if PAGE.exists() else ""), {}
    for name, outcomes in found.items():
        if told.get(name) != row(outcomes):
            changed[name] = f"docs/operators.md says of {name}: {told.get(name)}; found: {row(outcomes)}"
    return changed
