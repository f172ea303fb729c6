"""What a run found, as docs/models.md and as a JUnit file. Standard library alone."""
import collections
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "models.md"
VERDICTS = ("equal", "refused", "wrong", "unexported")
HEAD = """# Real architectures

Written by `tests/models/run --update`; [testing.md](testing.md) says what is run, and how. Each architecture has tiny random
weights and is exported static and, where PyTorch can, with an open size, in three forms: as exported, after
`run_decompositions({})`, and after `run_decompositions()`. *Equal* is a program whose three calls give what eager PyTorch gives,
in place, copied and from an engine file. What PyTorch does not export, or exports so that its own module gives other values, is
*not counted*. *Strict* says what `insitu compile --strict` says of the static program as exported: nothing of a state is copied (in
place), or what is. A dash is what there is none of, or what was not run; a run may leave out open sizes and decomposed forms. Nodes and milliseconds of processor time are those of the largest program, compiled on one core."""


def count(rows):
    return collections.Counter(row["verdict"] for row in rows)


def verdicts(rows):
    counts = count(rows)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def totals(rows):
    counts, names = count(rows), collections.defaultdict(set)
    for row in rows:
        names[row["name"]].add(row["verdict"])
    counted = [found - {"unexported"} for found in names.values()]
    whole = sum(found == {"equal"} for found in counted)
    return (f"{len(names)} architectures, of which {whole} are equal in all that PyTorch exports; {len(rows) - counts['unexported']} "
            f"programs: {counts['equal']} equal, {counts['refused']} refused, {counts['wrong']} wrong; {counts['unexported']} not counted")


def cell(rows):
    return verdicts([row for row in rows if row["verdict"] != "unexported"]) or ("not exported" if rows else "-")


def strict(rows):
    texts = [row["strict"] for row in rows if row["verdict"] == "equal" and row["variant"] == "static"]
    return texts[0].replace("|", "\\|") if texts else "-"


def table(rows):
    by_name = collections.defaultdict(list)
    for row in rows:
        by_name[row["library"], row["name"]].append(row)
    lines = ["| model | library | static | dynamic | strict | nodes | compile ms |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for (library, name), found in by_name.items():
        part = lambda variant: cell([row for row in found if row["variant"] == variant])
        largest = max(found, key=lambda row: (row["compile_ms"], row["nodes"]))
        lines.append(f"| {name} | {library} | {part('static')} | {part('dynamic')} | {strict(found)} | {largest['nodes']} | {largest['compile_ms']} |")
    return lines


def one_reason(text):
    """A refusal's sentence without the names of this program's nodes and its numbers' places."""
    sentence = text.strip().splitlines()[0].removeprefix("insitu: ")
    sentence = re.sub(r"^\S*\.pt2: ", "", sentence)
    sentence = re.sub(r"%?\b\w+ \([\w./<>-]+\.py:\d+\)", "a node", sentence)
    return re.sub(r"%\w+", "%…", sentence)


def reasons(text):
    """Each operator that is not supported is a reason."""
    operators = re.findall(r"^\s+(\S+), \d+ times?", text, re.M)
    return operators or [one_reason(text)]


def by_reason(rows, verdict):
    found = collections.defaultdict(list)
    for row in rows:
        if row["verdict"] == verdict:
            for reason in reasons(row["why"]):
                found[reason].append(row)
    return sorted(found.items(), key=lambda item: (-len({row["name"] for row in item[1]}), item[0]))


def models_of(rows):
    forms = collections.defaultdict(dict)
    for row in rows:
        forms[row["name"]].setdefault(row["form"], None)
    return ", ".join(f"{name} ({', '.join(found)})" if len(found) < 3 else name for name, found in forms.items())


def text(rows, listed):
    lines = [HEAD, "", f"Of the list's {listed} architectures these have been run: {totals(rows)}.", ""]
    for verdict in ("wrong", "refused"):
        lines += [f"## {verdict.capitalize()}, by reason", ""]
        lines += [f"- `{reason}`: {models_of(found)}" for reason, found in by_reason(rows, verdict)] or ["None."]
        lines.append("")
    lines += ["## Architectures", "", *table(rows)]
    return "\n".join(lines) + "\n"


def update(rows, listed):
    """listed: how many architectures there are, whether they were run or not."""
    PAGE.write_text(text(rows, listed))
