"""Runs the architectures, each in a process of its own that is stopped when it takes too long or too much memory."""
import json
import logging
import multiprocessing
import os
import pathlib
import re
import resource
import sys
import time
import warnings
from multiprocessing import connection

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "conformance")]
FOLDER = ROOT / "build/models"
ROWS = FOLDER / "rows.json"
SECONDS = 1200  # of one architecture; its parts have limits of their own
MEMORY = 12 << 30

import torch

import page
from checking import check, is_slow
from lists import ALL
from making import first_line
from results import write_results
from warm_up import warm_up


def architectures(options):
    chosen = [item for item in ALL if re.search(options.only, item.name) or re.search(options.only, item.library)]
    return [item for item in chosen if item.smoke or not options.smoke]


def fault_of(architecture, reason):
    return [{"name": architecture.name, "library": architecture.library, "variant": "static", "form": "train", "nodes": 0, "bytes": 0,
             "verdict": "wrong", "why": reason, "strict": "", "compile_ms": 0}]


def work(architecture, options, pipe):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what exporters print
    os.dup2(nowhere, 2)
    try:
        pipe.send(check(architecture, FOLDER, options))
    except Exception as error:  # of the suite itself
        pipe.send(fault_of(architecture, first_line(error)))


class Worker:
    """The process of one architecture."""

    def __init__(self, architecture, options):
        self.architecture, self.begin = architecture, time.time()
        self.pipe, end = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=work, args=(architecture, options, end))
        self.process.start()
        end.close()

    def is_late(self):
        return time.time() - self.begin > SECONDS

    def results(self):
        """The rows, once there are some or there is no hope of them."""
        if self.is_late() and not self.pipe.poll():
            self.process.kill()
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            return fault_of(self.architecture, f"more than {SECONDS} s" if self.is_late() else f"exit code {self.process.exitcode}")


def kept_rows():
    """{architecture: what its last run found}."""
    return json.loads(ROWS.read_text()) if ROWS.exists() else {}


def keep(rows):
    kept = {**kept_rows(), rows[0]["name"]: rows}
    ROWS.write_text(json.dumps(kept, indent=1, sort_keys=True))


def run_all(waiting, options):
    waiting, running, rows = list(waiting), [], []
    while waiting or running:
        while waiting and len(running) < options.jobs:
            running.append(Worker(waiting.pop(0), options))
        ready = connection.wait([worker.pipe for worker in running], 5)
        for worker in [worker for worker in running if worker.pipe in ready or worker.is_late()]:
            found = show(worker.results(), time.time() - worker.begin)
            keep(found)
            rows += found
            worker.process.join()
            running.remove(worker)
    return rows


def show(rows, seconds):
    print(f"{rows[0]['name']} ({seconds:.0f} s): {page.verdicts(rows)}", flush=True)
    for row in rows:
        if row["verdict"] in ("wrong", "refused", "unexported"):
            print(f"    {row['verdict']}: {row['variant']} {row['form']}: {row['why']}", flush=True)
        if is_slow(row):
            print(f"    slow: {row['variant']} {row['form']}: {row['nodes']} nodes in {row['compile_ms']} ms", flush=True)
        if row["strict"].startswith("copies"):
            print(f"    copies: {row['variant']} {row['form']}: {row['strict']}", flush=True)
    return rows


def run(options):
    warnings.filterwarnings("ignore")
    logging.disable()
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    chosen = architectures(options)
    if chosen:
        warm_up()
    rows = run_all(chosen, options)
    print(f"{page.totals(rows)}; {time.time() - begin:.0f} s")
    if options.results:
        cases = {f"{row['name']}.{row['variant']}.{row['form']}": row["verdict"] != "equal" and f"{row['verdict']}: {row['why']}"
                 for row in rows if row["verdict"] != "unexported"}
        write_results(options.results, "models", cases, time.time() - begin)
    if options.update:
        kept = kept_rows()
        page.update([row for item in sorted(ALL, key=lambda item: (item.library, item.name)) for row in kept.get(item.name, ())], len(ALL))
    faults = ("wrong", "refused") if options.smoke else ("wrong",)
    return int(any(row["verdict"] in faults for row in rows))
