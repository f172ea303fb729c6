#!/usr/bin/env python3
"""Runs the golden text tests: text in, text out, compared exactly.

A file holds cases split by a line "# =====". A case is input and expected output, split by a line "# ---". The first
lines of a file are "# run: COMMAND [NAME]" (a command of insitu_text) and a comment that says what is tested; a later
case may have a run line of its own, else it has the last one.

    run_golden.py --tool build/debug/tests/insitu_text [--update] [FILE or FOLDER ...]
"""
import argparse
import difflib
import pathlib
import subprocess
import sys

CASE = "# =====\n"
OUTPUT = "# ---\n"
RUN = "# run: "
SUFFIXES = (".graph", ".network", ".plan")


class BadFile(Exception):
    pass


def split_lines(text, separator):
    """The parts of text between lines that are the separator."""
    parts = [""]
    for line in text.splitlines(keepends=True):
        if line == separator:
            parts.append("")
        else:
            parts[-1] += line
    return parts


def read_cases(path):
    """[(command words, input text, expected text)] of a file."""
    cases, command = [], None
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].startswith(RUN) or not lines[1].startswith("# "):
        raise BadFile("the first two lines must be '# run: COMMAND' and a comment with the purpose")
    for number, case in enumerate(split_lines(text, CASE), 1):
        parts = split_lines(case, OUTPUT)
        if len(parts) > 2:
            raise BadFile(f"case {number} has more than one '# ---'")
        for line in parts[0].splitlines():
            if line.startswith(RUN):
                command = line[len(RUN):].split()
        cases.append((command, parts[0], parts[1] if len(parts) == 2 else None))
    return cases


def run_case(tool, command, source):
    """What the tool prints. A tool that crashes, or is used wrongly, fails the test whatever it printed."""
    done = subprocess.run([tool, *command], input=source, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        return f"{tool} {' '.join(command)}: exit status {done.returncode}\n{done.stderr}", False
    if done.stderr:
        return f"{tool} {' '.join(command)}: wrote to stderr\n{done.stderr}", False
    return done.stdout, True


def check_file(tool, path, update):
    """The number of cases that fail, and of all cases."""
    failed, texts, cases = 0, [], read_cases(path)
    for number, (command, source, expected) in enumerate(cases, 1):
        got, ran = run_case(tool, command, source)
        texts.append(source + OUTPUT + (got if ran else expected or ""))
        if ran and (got == expected or update):
            continue
        failed += 1
        print(f"{path}: case {number}: {'differs' if ran else 'did not run'}")
        if not ran:
            print(got)
            continue
        diff = difflib.unified_diff((expected or "").splitlines(), got.splitlines(), "expected", "got", lineterm="")
        print("\n".join(diff))
    new = CASE.join(texts)
    if update and new != path.read_text(encoding="utf-8"):
        path.write_text(new, encoding="utf-8")
        print(f"{path}: rewritten")
    return failed, len(cases)


def main():
    here = pathlib.Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, help="the built insitu_text")
    parser.add_argument("--update", action="store_true", help="rewrite the expected text; review the difference")
    parser.add_argument("paths", nargs="*", type=pathlib.Path, default=[here])
    options = parser.parse_args()
    files = []
    for path in options.paths:
        files += sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES) if path.is_dir() else [path]
    failed = total = 0
    for path in files:
        try:
            bad, count = check_file(options.tool, path, options.update)
        except BadFile as error:
            print(f"{path}: {error}")
            bad, count = 1, 1
        failed += bad
        total += count
    print(f"{total - failed} of {total} cases in {len(files)} files pass")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
