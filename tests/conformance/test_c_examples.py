"""The C programs of README.md, docs/c-api.md and docs/examples.md: they run, and print what the pages say."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tensors
from command import DATA, HERE, must, program

sys.path.insert(0, str(HERE.parent / "tools"))
from extract_blocks import blocks


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_example(self, variable, *arguments):
        return subprocess.run([os.environ[variable], *map(str, arguments)], capture_output=True, text=True, timeout=120)

    def test_aliased_io(self):
        done = self.run_example("INSITU_ALIASED_IO_EXAMPLE", program("paired_caches"), program("two_caches"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        page = (HERE.parent.parent / "docs" / "aliased-io.md").read_text()
        self.assertEqual(done.stdout, "".join(blocks(page, "text")))

    def test_c_api(self):
        done = self.run_example("INSITU_C_API_EXAMPLE", program("decoder"), self.folder / "engine", self.folder / "state",
                                self.folder / "cache")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        page = (HERE.parent.parent / "docs" / "c-api.md").read_text()
        self.assertEqual(done.stdout, "".join(blocks(page, "text")))
        self.assertEqual(len(tensors.read(self.folder / "state")), 4)

    def test_network_kv(self):
        done = self.run_example("INSITU_NETWORK_KV")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        page = (HERE.parent.parent / "docs" / "examples.md").read_text()
        self.assertEqual(done.stdout, "".join(blocks(page, "text")))

    def test_readme(self):
        """The tokens that examples/decode.c finds after the same first one."""
        engine = self.folder / "decoder.insitu"
        must("compile", program("decoder"), "-o", engine)
        done = self.run_example("INSITU_README_EXAMPLE", engine)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        decoded = self.run_example("INSITU_DECODE", engine, self.folder / "state", 5, 11).stdout
        self.assertIn(f"tokens: {' '.join(done.stdout.split())}\n", decoded)

    def test_readme_refuses_others(self):
        must("compile", program("history"), "-o", self.folder / "history.insitu")
        for engine in (self.folder / "history.insitu", DATA / "decoder.train.pt2", self.folder / "nothing"):
            done = self.run_example("INSITU_README_EXAMPLE", engine)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^[A-Z]+: [^\n]{8,}\n$")
