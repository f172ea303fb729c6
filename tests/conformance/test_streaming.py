"""examples/streaming.c on programs and engines: the samples that eager PyTorch makes of a sound, chunk by chunk."""
import array
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

import tensors
from command import DATA, Run, must, program

STREAMING = os.environ["INSITU_STREAMING"]
RATE = 8000
PCM, FLOAT = 1, 3
KEPT = 4                                # samples of context, of 1 and of 8 channels
STATE_BYTES = 4 * (9 * KEPT + 8 + 8)


def chunk_of(name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def format_chunk(kind, bits, channels=1, rate=RATE):
    size = channels * bits // 8
    return chunk_of(b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, rate * size, size, bits))


def riff(*chunks):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def pcm(numbers):
    return riff(format_chunk(PCM, 16), chunk_of(b"data", array.array("h", numbers).tobytes()))


def floats(numbers):
    return riff(format_chunk(FLOAT, 32), chunk_of(b"data", array.array("f", numbers).tobytes()))


class Streaming(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stored = tensors.read(DATA / "streaming.audio.safetensors")
        cls.audio = tensors.values(cls.stored["audio"])

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def stream(self, source, sound, chunk):
        """(how it ended, the file that it wrote)"""
        (self.folder / "in.wav").write_bytes(sound)
        output = self.folder / "out.wav"
        output.unlink(missing_ok=True)
        done = subprocess.run([STREAMING, source, self.folder / "in.wav", output, str(chunk)], capture_output=True, text=True)
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, "Sanitizer|runtime error:")
        return done, output.read_bytes() if output.exists() else None

    def check(self, source, chunk, key):
        done, written = self.stream(source, floats([number / 32768 for number in self.audio]), chunk)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        header = floats([0] * len(self.audio))[:44]
        self.assertEqual(written[:44], header)
        different = tensors.difference(self.stored[key], ("F32", (len(self.audio),), written[44:]))
        self.assertIsNone(different)
        lengths = [chunk] * (len(self.audio) // chunk) + [len(self.audio) % chunk or chunk]
        chunks = len(lengths)
        moved = 0 if "padded" in key else sum(4 * 9 * max(0, KEPT - length) for length in lengths) // chunks
        self.assertIn(f"{chunks} chunks of {chunk} samples: 0.125 s at 8000 Hz\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^prepared in \d+\.\d+ ms; real-time factor \d+\.\d+, slowest chunk \d+\.\d+ ms$")
        self.assertIn(f"state of {STATE_BYTES} bytes; per chunk {STATE_BYTES} written, {moved} moved, 0 copied\n", done.stdout)
        self.assertIn("fork: the same samples\nreset: the same samples\n", done.stdout)

    def engine(self, name):
        must("compile", program(name), "-o", self.folder / "engine", "--strict")
        return self.folder / "engine"

    def test_fixed_chunks(self):
        for source in (program("streaming", "train"), program("streaming", "aten"), self.engine("streaming")):
            with self.subTest(source.name):
                self.check(source, 160, "output.160.padded")

    def test_any_chunks(self):
        """Also chunks that are shorter than what the convolutions keep: the rest of it is moved."""
        for source in (program("streaming_dynamic", "train"), self.engine("streaming_dynamic")):
            for chunk in (160, 37, 3):
                with self.subTest(f"{source.name} {chunk}"):
                    self.check(source, chunk, f"output.{chunk}")

    def test_convolutions(self):
        """Cut in any way, the signal that has passed the convolutions alone is that of the whole."""
        samples = [number / 32768 for number in self.audio]
        for lengths in ([1000], [1, 2, 3, 4, 5, 985], [300, 1, 1, 698]):
            calls, start = [], 0
            for length in lengths:
                calls.append({"x": tensors.make("F32", (1, 1, length), samples[start:start + length])})
                start += length
            run = Run(program("streaming_dynamic"), calls, self.folder / "run", "--strict").must()
            bands = b"".join(output["output.1"][2] for output in run.outputs)
            self.assertIsNone(tensors.difference(self.stored["bands"], ("F32", (len(samples),), bands)), lengths)

    def test_pcm(self):
        """16-bit samples: rounded; chunks that say nothing of the samples are skipped."""
        extra = riff(chunk_of(b"LIST", b"odd"), format_chunk(PCM, 16), chunk_of(b"fact", b""),
                     chunk_of(b"data", array.array("h", self.audio).tobytes()))
        want = [round(number * 32768) for number in tensors.values(self.stored["output.37"])]
        for sound in (pcm(self.audio), extra):
            done, written = self.stream(program("streaming_dynamic"), sound, 37)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertEqual(written[:44], pcm(self.audio)[:44])
            got = array.array("h", written[44:]).tolist()
            self.assertEqual(len(got), len(want))
            self.assertLessEqual(max(abs(a - b) for a, b in zip(want, got)), 4)

    def test_one_chunk(self):
        """The only chunk is padded, or as long as the sound."""
        for source in ("streaming", "streaming_dynamic"):
            done, written = self.stream(program(source), pcm(self.audio[:7]), 160)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertEqual(len(written), 44 + 2 * 7)

    def refuse(self, pattern, source, sound, chunk=160):
        done, written = self.stream(source, sound, chunk)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, rf"\A{pattern}[^\n]*\n\Z")
        self.assertIsNone(written)

    def test_malformed_sounds(self):
        good, data = pcm(self.audio[:20]), chunk_of(b"data", bytes(40))
        cases = {
            "is no WAV file": [b"", b"RIFF", good[:11], b"RIFX" + good[4:], b"\0" * 64, self.stored["audio"][2]],
            "ends within a chunk": [good[:-1], good[:30], good[:44], good[:16] + b"\xff\xff\xff\xff" + good[20:],
                                    good[:40] + b"\xff\xff\xff\xff" + good[44:]],
            "has no data chunk": [good[:12], good[:20 + 16], good[:12] + chunk_of(b"junk", b"abc"), good[:40]],
            "has no format chunk": [riff(data), riff(data, format_chunk(PCM, 16))],
            "the format chunk is too short": [riff(chunk_of(b"fmt ", bytes(15)), data)],
            "the format chunk contradicts": [riff(format_chunk(PCM, 16, rate=0), data),
                                             riff(format_chunk(PCM, 16, rate=0xffffffff // 2), data),
                                             good[:32] + b"\3" + good[33:]],
            "the data chunk does not hold": [riff(format_chunk(PCM, 16), chunk_of(b"data", b"")),
                                             riff(format_chunk(PCM, 16), chunk_of(b"data", b"abc")),
                                             riff(format_chunk(FLOAT, 32), chunk_of(b"data", bytes(6)))],
            "holds a sample that is no number": [floats([0, float("nan")]), floats([float("-inf")])],
        }
        for sentence, sounds in cases.items():
            for i, sound in enumerate(sounds):
                with self.subTest(f"{sentence} {i}"):
                    self.refuse(f"FORMAT: .*in.wav: {sentence}", program("streaming"), sound)
        for sentence, sound in {"one channel": riff(format_chunk(PCM, 16, channels=2), data),
                                "only 16-bit": riff(format_chunk(PCM, 8), data),
                                "only 16-bit PCM": riff(format_chunk(7, 16), data)}.items():
            with self.subTest(sentence):
                self.refuse(f"UNSUPPORTED: .*{sentence}", program("streaming"), sound)

    def test_wrong_programs(self):
        sound = pcm(self.audio[:20])
        self.refuse(r"ARG: .*does not turn f32\[1,1,n\] into f32\[1,1,n\]", program("history"), sound)
        self.refuse(r"ARG: .*does not turn", program("decoder"), sound)
        self.refuse(r"SHAPE: .*takes chunks of 160 to 160 samples, not 100", program("streaming"), sound, chunk=100)
        self.refuse("IO: ", "/nowhere.pt2", sound)
        self.refuse("IO: ", "/nowhere", sound)

    def test_usage(self):
        for chunk in ("0", "-1", "x", "10x", "", "99999999999999999999"):
            done, written = self.stream(program("streaming"), pcm(self.audio), chunk)
            self.assertEqual((done.returncode, written), (2, None))
            self.assertTrue(re.match("usage: streaming ", done.stderr))
        missing = subprocess.run([STREAMING, program("streaming"), "/nowhere.wav", self.folder / "out", "160"],
                                 capture_output=True, text=True)
        self.assertEqual((missing.returncode, missing.stderr), (1, "IO: /nowhere.wav: cannot be opened\n"))
        (self.folder / "in.wav").write_bytes(pcm(self.audio[:20]))
        unwritten = subprocess.run([STREAMING, program("streaming"), self.folder / "in.wav", "/nowhere/out.wav", "160"],
                                   capture_output=True, text=True)
        self.assertEqual((unwritten.returncode, unwritten.stderr), (1, "IO: /nowhere/out.wav: cannot be written\n"))
