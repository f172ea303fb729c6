#!/usr/bin/env python3
"""Compares one test program, in each form that it was saved in, with the stored values of eager PyTorch.

usage: INSITU=PATH conformance.py NAME

Each form is run in place, with --no-inplace, and through an engine file. All must agree bit for bit with each other, and
within the dtype's tolerance with the stored outputs, mutated inputs and states. Nothing is copied in place (but for the
programs below), and something is with --no-inplace. Both forms give one in-place report.
"""
import json
import pathlib
import sys
import tempfile

from agreement import different_from_eager
from command import Run, calls_of, forms, inputs_of, must, stored

# Programs that copy state bytes: one of two states is set aside; a computed value that is also read elsewhere is stored;
# a value must be known before anything may be written; rounds of a loop exchange states (of each call: how often they do).
COPIED = {"swapped": 24, "lookup": 16, "nested_control": [0, 120, 0]}
# Programs that build nothing new: there is nothing for --no-inplace to copy.
NOTHING_BUILT = {"delay"}
# Bytes written to states, per call, where the program leaves no choice.
WRITTEN = {
    "decoder": [128] * 3,             # 2 layers * 2 caches * 2 heads * 4 numbers of 4 bytes
    "decoder_dynamic": [640, 256, 1152],
    "cached_64": [16] * 3,
    "cached_512": [16] * 3,
    "input_slice": [32] * 3,
    "buffer_slice": [64] * 3,
    "read_around": [24] * 3,
    "ring_counter": [2 * 4 * 4 + 8] * 3,
    "delay": [48] * 3,
    "averages": [48] * 3,
    "position_cache": [264, 136, 584],
    "input_caches": [2 * 2 * 4 * 4] * 3,
    "two_caches": [24] * 3,
    "page_rows": [8192] * 2,
    "streaming": [4 * (4 + 32 + 8 + 8)] * 3,
    "streaming_dynamic": [4 * (4 + 32 + 8 + 8)] * 3,
    "item_write": [2 * 4 * 4 + 4 * 4] * 3,
    "item_length": [2 * 2 * 4 * 4 + 8] * 3,
    "late_updates": [8 + 3 * 12] * 3,
    "late_item": [8 + 3 * 12] * 3,
    "rounds": [6 * (12 + 12), 0, 12 + 12],  # 6, 0 and 1 rounds
}
# Of two contexts of 4 samples, 1 and 8 channels, a chunk of 2 samples leaves 2; longer ones leave none.
MOVED = {"history": [4 * 10 * 4] * 3, "streaming": [0] * 3, "streaming_dynamic": [0, 4 * 2 * 9, 0]}


def check_counters(what, name, run):
    copied = [row["state_bytes_copied"] for row in run.stats]
    allowed = COPIED.get(name, 0)
    assert copied == (allowed if isinstance(allowed, list) else [allowed] * len(copied)), f"{what}: {copied} state bytes copied"
    for counter, expected in (("state_bytes_written", WRITTEN), ("state_bytes_moved", MOVED)):
        got = [row[counter] for row in run.stats]
        assert name not in expected or got == expected[name], f"{what}: {counter} {got}, not {expected[name]}"


def report_of(program):
    """The in-place report as facts: rows without what names a form's own nodes."""
    rows = json.loads(must("explain", program, "--json").stdout)["report"]
    kept = ("name", "type", "update", "written", "bytes_written", "bytes_moved", "bytes_copied", "bytes_saved",
            "in_place")
    return [{key: row[key] for key in kept} for row in rows]


def check_form(name, program, io, folder):
    what = program.name
    calls = [inputs_of(io, call) for call in calls_of(io)]
    strict = [] if name in COPIED else ["--strict"]
    in_place = Run(program, calls, folder / "in_place", *strict).must()
    wrong = different_from_eager(in_place, io)
    assert not wrong, f"{what}: {wrong[0]}"
    check_counters(what, name, in_place)
    rows = json.loads(must("explain", program, "--json").stdout)["report"]
    saved = [row["state_bytes_saved"] for row in in_place.stats]
    if all(row["bytes_saved"] >= 0 for row in rows):
        expected = sum(row["bytes_saved"] for row in rows)
        assert saved == [expected] * len(saved), f"{what}: {saved} bytes saved where the report says {expected}"

    copied = Run(program, calls, folder / "copied", "--no-inplace").must()
    assert copied.results() == in_place.results(), f"{what}: --no-inplace gives other bits"
    if name not in NOTHING_BUILT:
        assert (copied.total("state_bytes_copied") > 0) == bool(rows), f"{what}: --no-inplace reports no copied bytes"

    engine = folder / "program.insitu"
    must("compile", program, "-o", engine, *strict)
    loaded = Run(engine, calls, folder / "loaded").must()
    assert loaded.results() == in_place.results(), f"{what}: the engine file gives other bits"
    check_counters(f"{what} as an engine", name, loaded)


def main():
    name = sys.argv[1]
    io = stored(name)
    programs = forms(name)
    assert programs, f"no program {name}"
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            check_form(name, program, io, pathlib.Path(folder))
    reports = {program.name: report_of(program) for program in programs if ".core." not in program.name}
    first = next(iter(reports.values()))
    assert all(report == first for report in reports.values()), f"the forms' reports differ: {reports}"
    print(f"{name}: {len(programs)} forms agree")


if __name__ == "__main__":
    main()
