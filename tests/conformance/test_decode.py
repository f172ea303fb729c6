"""examples/decode.c on programs and engines: the tokens that eager PyTorch decodes greedily."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import tensors
from command import DATA, must, program

DECODE = os.environ["INSITU_DECODE"]


class Decode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stored = tensors.read(DATA / "decoder.tokens.safetensors")
        cls.prompt, cls.tokens, cls.second = (tensors.values(stored[name]) for name in ("prompt", "tokens", "second"))

    def decode(self, source, folder, count=64):
        return subprocess.run([DECODE, source, folder / "state", str(count), *map(str, self.prompt)], capture_output=True, text=True)

    def check(self, source, folder):
        done = self.decode(source, folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        lines = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
        numbers = {name: list(map(int, lines[name].split())) for name in ("prompt", "tokens", "second")}
        self.assertEqual(numbers, {"prompt": self.prompt, "tokens": self.tokens, "second": self.second})
        self.assertEqual(lines["restored"], " the same tokens")
        self.assertRegex(done.stdout, r"(?m)^\d+ tokens/s, 128 bytes written to the state per token$")
        self.assertTrue((folder / "state").exists())

    def test_decode(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for source in (program("decoder", "train"), program("decoder", "aten"), program("decoder", "core"),
                           program("decoder_dynamic", "train")):
                with self.subTest(source.name):
                    self.check(source, folder)
            must("compile", program("decoder"), "-o", folder / "decoder.insitu", "--strict")
            self.check(folder / "decoder.insitu", folder)

    def test_past_the_cache(self):
        """Position 128 does not exist: a sentence, no crash."""
        with tempfile.TemporaryDirectory() as name:
            done = self.decode(program("decoder"), pathlib.Path(name), count=200)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^BOUNDS: .*128")

    def test_wrong_arguments(self):
        """A count or a token that is no number, or none of its range, is wrong usage, and nothing is run."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            good = [os.environ["INSITU_DECODE"], program("decoder"), folder / "state", "4", "11", "12"]
            for place, wrong in [(3, word) for word in ("x", "", "0", "-1", "4x", "1e3", "0x4", " 4", "1048577", "9" * 30)] + \
                                [(place, word) for place in (4, 5) for word in ("x", "", "-1", "1.5", "3x", " 3", "+", "9" * 30)]:
                words = [wrong if i == place else word for i, word in enumerate(good)]
                done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (2, ""), (place, wrong))
                self.assertRegex(done.stderr, "usage: decode|is no token")
            for wrong in ("96", "9" * 18):
                done = subprocess.run(list(map(str, [*good, wrong])), capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (1, ""), wrong)
                self.assertRegex(done.stderr, "^BOUNDS: ")
            self.assertFalse((folder / "state").exists())

    def test_wrong_programs(self):
        with tempfile.TemporaryDirectory() as name:
            for source in (program("history"), "/nowhere.pt2", "/nowhere"):
                self.assertEqual(self.decode(source, pathlib.Path(name)).returncode, 1)
