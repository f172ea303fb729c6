#!/usr/bin/env python3
"""Compares operators with eager PyTorch: many small programs, exported, run by the insitu command. A maintainer's tool.

    scripts/setup --oracle && build/venv/bin/python scripts/compare_operators.py [--command build/release/bin/insitu] [PATTERN...]

PATTERN is a regular expression on a case's name, "operator:form/dtypes". Integers, bools, casts and moved data must be equal;
floats within the few units in the last place that each case states; NaN and infinities in the same places. Every program is run
as exported and after run_decompositions({}), with the vector kernels and with the reference, on one thread and on all, which
must give the same bits. A case that PyTorch itself refuses is not counted. Exits 1 if anything differs or fails; what insitu
refuses is listed.
"""
import argparse
import importlib
import pathlib
import re
import sys
import time
import warnings

import torch

import operator_table
from operators.pack import Comparison

FAMILIES = ["elementwise", "reductions", "products", "indexing", "shapes", "images", "autocast"]
ROOT = pathlib.Path(__file__).resolve().parent.parent


def all_cases(families, patterns):
    for family in families:
        for case in importlib.import_module(f"operators.{family}").cases():
            if not patterns or any(re.search(pattern, case.name) for pattern in patterns):
                yield case


def known_operators():
    return operator_table.converted()


def show(title, table):
    if not table:
        return
    print(f"\n{title}:")
    for text, names in sorted(table.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):4} {text}\n       {' '.join(names[:8])}{' ...' if len(names) > 8 else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--command", default=ROOT / "build/release/bin/insitu", help="the insitu command")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only cases of that family; may be given again")
    parser.add_argument("--form", action="append", choices=["train", "aten", "core"], help="default: train and aten")
    parser.add_argument("--pack", type=int, default=60, help="cases in one program")
    parser.add_argument("--verbose", action="store_true", help="print each difference as it is found")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    comparison = Comparison(options.command, options.form or ["train", "aten"], known_operators(), options.verbose)
    begin, pack = time.time(), []
    for case in all_cases(options.family or FAMILIES, options.patterns):
        pack.append(case)
        if len(pack) == options.pack:
            comparison.compare(pack)
            pack = []
    comparison.compare(pack)
    show("Not exported by PyTorch", comparison.unexported)
    show("Refused", comparison.refused)
    show("Failed", comparison.failed)
    show("Different", comparison.differs)
    combinations = {re.sub(r":[^/]*", "", name) for name in comparison.names}
    count = lambda table: sum(len(names) for names in table.values())
    print(f"\n{len(comparison.names)} cases of {len(combinations)} operators and dtypes compared, {comparison.outputs} outputs, agreed: "
          f"{dict(comparison.agreed)}; different {count(comparison.differs)}, failed {count(comparison.failed)}, refused "
          f"{count(comparison.refused)}; {time.time() - begin:.0f} s")
    sys.exit(1 if comparison.differs or comparison.failed else 0)


if __name__ == "__main__":
    main()
