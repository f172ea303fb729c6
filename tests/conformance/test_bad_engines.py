"""Damaged and newer engine files, and saved states of other programs: each is a sentence and exit 1."""
import pathlib
import re
import struct
import tempfile
import unittest

import tensors
from archives import edit_engine
from command import Run, inputs_of, insitu, is_sentence, must, program, stored


class BadEngines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.folder = pathlib.Path(cls.kept.name)
        cls.engine = cls.folder / "history.insitu"
        must("compile", program("history"), "-o", cls.engine)
        cls.target = cls.folder / "bad.insitu"

    def refused(self, *words, options=()):
        done = insitu("inspect", self.target, *options)
        self.assertEqual(done.returncode, 1, done.stderr + done.stdout[:200])
        self.assertTrue(is_sentence(done.stderr), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_not_an_engine(self):
        for data in (b"", b"\0" * 7, b"\0" * 8, b"\xff" * 64, struct.pack("<Q", 2) + b"{}", b"text" * 50):
            self.target.write_bytes(data)
            self.refused("bad.insitu")
        tensors.write(self.target, stored("history"))
        self.refused("bad.insitu")

    def test_truncated(self):
        data = self.engine.read_bytes()
        size = struct.unpack_from("<Q", data)[0]
        for length in (4, 8, 100, size // 2, size + 8, size + 9, len(data) - 64, len(data) - 1):
            self.target.write_bytes(data[:length])
            self.refused("bad.insitu")

    def test_bytes_after_the_last_tensor(self):
        self.target.write_bytes(self.engine.read_bytes() + b"\0" * 3)
        self.refused("bad.insitu", "not a valid engine file: its last 3 bytes belong to no tensor")

    def test_flipped_header_and_plan_bytes(self):
        data = self.engine.read_bytes()
        size = struct.unpack_from("<Q", data)[0]
        plan = data.index(b'"nodes"') - 100
        places = list(range(0, 8)) + list(range(8, 8 + size, 97)) + list(range(plan, plan + 2000, 89))
        for at in places:
            with self.subTest(at):
                self.target.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1:])
                self.refused("bad.insitu")

    def test_newer(self):
        edit_engine(self.engine, self.target, b'"plan_version":"4"', b'"plan_version":"5"')
        self.refused("version 4")

    def test_edited_with_the_right_hash(self):
        """A hash alone makes nothing believed: the step now writes a storage that does not exist."""
        step = re.search(rb'"layer":"shift_update",.{,200}?"results":\[\[\d', self.engine.read_bytes()).group()
        edit_engine(self.engine, self.target, step, step[:-1] + b"9")
        self.refused("bad.insitu")

    def test_damaged_weights(self):
        """Found when asked for, by the weight's name."""
        clean = must("inspect", self.engine, "--verify")
        self.assertIn("inputs", clean.stdout)
        data = self.engine.read_bytes()
        raw = tensors.read(self.engine)
        name = next(n for n in raw if "weight" in n and not n.startswith("__pad"))
        at = data.index(raw[name][2])
        self.target.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        must("inspect", self.target)
        self.refused("damaged", options=["--verify"])

    def test_equal_programs_give_equal_engines(self):
        must("compile", program("history"), "-o", self.folder / "again.insitu")
        self.assertEqual(self.engine.read_bytes(), (self.folder / "again.insitu").read_bytes())


class BadStates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.io = stored("two_caches")
        self.calls = [inputs_of(self.io, i) for i in range(3)]

    def refused(self, *words):
        run = Run(program("two_caches"), self.calls[:1], self.folder / "run", "--load-state", self.folder / "bad")
        self.assertEqual(run.done.returncode, 1)
        self.assertTrue(is_sentence(run.done.stderr), run.done.stderr)
        self.assertEqual(run.outputs, [None])
        for word in words:
            self.assertIn(word, run.done.stderr)

    def test_bad_states(self):
        good = {name[6:]: tensor for name, tensor in self.io.items() if name.startswith("state.")}
        self.refused("bad")
        (self.folder / "bad").write_bytes(b"nonsense")
        self.refused("bad")
        cases = {
            "values": {"keys": good["keys"]},
            "other": {**good, "other": good["keys"]},
            "keys": {**good, "keys": tensors.make("F32", (8, 4), [0] * 32)},
        }
        for word, state in cases.items():
            tensors.write(self.folder / "bad", state)
            self.refused(word)
        tensors.write(self.folder / "bad", {**good, "keys": tensors.make("F64", (8, 3), [0] * 24)})
        self.refused("keys")

    def test_a_bool_of_another_byte(self):
        """A BOOL is 0 or 1; nothing of the file is taken."""
        calls = [inputs_of(stored("dtypes"), 0)]
        good = Run(program("dtypes", "aten"), calls, self.folder / "good").must()
        dtype, shape, raw = good.state["flag_state"]
        tensors.write(self.folder / "bad", {**good.state, "flag_state": (dtype, shape, raw[:-1] + b"\2")})
        run = Run(program("dtypes", "aten"), calls, self.folder / "run", "--load-state", self.folder / "bad")
        self.assertEqual(run.done.returncode, 1)
        self.assertTrue(is_sentence(run.done.stderr), run.done.stderr)
        self.assertIn("state 'flag_state' of the file holds a BOOL that is neither 0 nor 1", run.done.stderr)

    def test_continued(self):
        """Two calls, saved; then the third from the saved state: the same as three."""
        whole = Run(program("two_caches"), self.calls, self.folder / "whole").must()
        first = Run(program("two_caches"), self.calls[:2], self.folder / "first").must()
        rest = Run(program("two_caches"), self.calls[2:], self.folder / "rest", "--load-state", first.folder / "state").must()
        self.assertEqual(rest.state, whole.state)
        self.assertEqual(rest.outputs[0], whole.outputs[2])
