"""The table of docs/in-place.md: each form of mutation, on a buffer and on a caller's input, with verdict and reason."""
import pathlib
import re

import case

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "in-place.md"
BEGIN, END = "<!-- table: written by tests/mutations/check_mutations.py --update -->", "<!-- end of table -->"
HEAD = "| mutation | buffer | caller's input | how, or why not |\n| --- | --- | --- | --- |"


def verdict(result):
    """(verdict, how): of one program as exported, all of its states together."""
    rows = result.report
    copied = sum(row["bytes_copied"] for row in rows)
    if not all(row["in_place"] for row in rows):
        reasons = dict.fromkeys(f"{row['name']}: {row['reason']}" for row in rows if row["reason"])
        return f"copies {copied if copied >= 0 else 'some'} bytes", "; ".join(reasons)
    kinds = dict.fromkeys(re.sub(r" dims? [-\d, ]+", "", part) for row in rows for part in row["update"].split(", "))
    notes = [f"{word} {what}" for word, what in (("moves", "bytes_moved"), ("saves", "bytes_saved"))
             if any(row[what] for row in rows)]
    return "in place", ", ".join([*(f"`{kind}`" for kind in kinds), *(note.split()[0] for note in notes)])


def reason_in_words(text, program):
    """Names of nodes become the line of the model that they stand for."""
    lines = program.text().splitlines()
    return re.sub(r"\w+ \([^()]*?\.py:(\d+)\)", lambda found: f"`{lines[int(found[1]) - 1].strip()}`", text)


def cell(verdicts):
    counts = {}
    for text in verdicts:
        counts[text] = counts.get(text, 0) + 1
    return "; ".join(f"{text} ({count})" for text, count in counts.items()) or "-"


def rows_of(name, cases, found):
    """One row for what is in place, and one for each case that copies."""
    columns, ways, copying = {where: [] for where in case.EVERYWHERE}, {}, []
    for item in cases:
        results = {where: found.get((item.name, where)) for where in case.EVERYWHERE}
        verdicts = {where: verdict(result) for where, result in results.items() if result and result.report}
        if all(text == "in place" for text, _ in verdicts.values()):
            for where, (text, how) in verdicts.items():
                columns[where].append(text)
                ways.update(dict.fromkeys(how.split(", ")))
        elif verdicts:
            reasons = dict.fromkeys(reason_in_words(why, case.Program(item, where)) for where, (text, why) in verdicts.items()
                                    if text != "in place")
            code = "; ".join(line for line in item.code.splitlines()).replace("|", "\\|")
            cells = " | ".join(verdicts[where][0] if where in verdicts else "-" for where in case.EVERYWHERE)
            copying.append(f"| `{code}` | {cells} | {'; '.join(reasons)} |".replace("\\\\|", "\\|"))
    if not any(columns.values()):
        return copying
    cells = " | ".join(cell(columns[where]) for where in case.EVERYWHERE)
    return [f"| {name} | {cells} | {', '.join(way for way in ways if way)} |", *copying]


def table(results):
    found = {(result.case, result.where): result for result in results
             if result.form == "train" and not result.unexported and not result.fault}
    rows = [row for name, cases in case.FORMS.items() for row in rows_of(name, cases, found)]
    return "\n".join([BEGIN, "", HEAD, *rows, "", END])


def check_table(results, update):
    """What is wrong with the page's table, in words; None if nothing is."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    new = before + table(results) + after
    if update:
        PAGE.write_text(new)
    elif new != page:
        changed = [line for line in new.splitlines() if line not in page.splitlines()]
        return f"the table of docs/in-place.md is not what the programs give (--update writes it): {changed[:3]}"
    return None
