"""Inputs that don't fit, and positions out of range: a sentence, exit 1, and the state as the last good call left it."""
import pathlib
import tempfile
import unittest

import tensors
from command import Run, forms, inputs_of, insitu, is_sentence, must, program, stored


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fails(self, name, calls, *words, form="train"):
        """The last of the calls fails; those before it count. Returns the run."""
        run = Run(program(name, form), calls, self.folder / "run")
        self.assertEqual(run.done.returncode, 1, run.done.stderr)
        self.assertTrue(is_sentence(run.done.stderr), run.done.stderr)
        for word in words:
            self.assertIn(word, run.done.stderr)
        self.assertIsNone(run.outputs[-1])
        self.assertEqual(len(run.stats), len(calls) - 1)
        if len(calls) > 1:
            good = Run(program(name, form), calls[:-1], self.folder / "good").must()
            self.assertEqual(run.outputs[:-1], good.outputs)
            self.assertEqual(run.state, good.state)
        return run


class Tensors(Case):
    def check(self, *words, **changes):
        """The second call of buffer_slice with some inputs changed (None: left out)."""
        io = stored("buffer_slice")
        second = {**inputs_of(io, 1), **changes}
        second = {name: tensor for name, tensor in second.items() if tensor}
        self.fails("buffer_slice", [inputs_of(io, 0), second], "call 1", *words)

    def test_missing(self):
        self.check("'row'", row=None)

    def test_unknown(self):
        self.check("'rows'", rows=tensors.make("F32", (1,), [0]))

    def test_dtype(self):
        self.check("'row'", "f64", "f32", row=tensors.make("F64", (1, 2, 1, 4), [0] * 8))
        self.check("'row'", "i32", "f32", row=tensors.make("I32", (1, 2, 1, 4), [0] * 8))

    def test_rank(self):
        self.check("'row'", "3", "4", row=tensors.make("F32", (1, 2, 4), [0] * 8))
        self.check("'row'", "0", "4", row=tensors.make("F32", (), [0]))
        self.check("'row'", "20", row=tensors.make("F32", (1,) * 20, [0]))

    def test_size(self):
        self.check("'row'", "dimension 3", "5", "4", row=tensors.make("F32", (1, 2, 1, 5), [0] * 10))
        self.check("'row'", "dimension 2", row=tensors.make("F32", (1, 2, 0, 4), []))


class Sizes(Case):
    def sizes(self, batch, length, lengths=None):
        count = lengths or batch
        return {"x": tensors.make("F32", (batch, length, 4), [1] * (batch * length * 4)),
                "lengths": tensors.make("I64", (count,), [1] * count)}

    def test_ranges(self):
        """Sizes vary within the range that the program was exported with, and together."""
        Run(program("sizes"), [self.sizes(3, 9), self.sizes(64, 32)], self.folder / "good").must()
        self.fails("sizes", [self.sizes(65, 4)], "'x'", "65", "64")
        self.fails("sizes", [self.sizes(2, 4), self.sizes(2, 33)], "'x'", "33", "32")
        self.fails("sizes", [self.sizes(2, 4, lengths=3)], "'lengths'", "3")

    def test_numbers(self):
        io = stored("numbers")
        good = inputs_of(io, 0)
        self.fails("numbers", [good, {**good, "scale": tensors.make("F64", (), [0.25])}], "'scale'", "0.25", "0.5")
        self.fails("numbers", [good, {**good, "count": tensors.make("I64", (), [4])}], "'count'", "4", "3")
        self.fails("numbers", [good, {**good, "length": tensors.make("F64", (), [4])}], "'length'")
        self.fails("numbers", [good, {**good, "length": tensors.make("I64", (1,), [4])}], "'length'")


class Positions(Case):
    def test_past_the_end(self):
        io = stored("two_caches")
        good = [inputs_of(io, 0), inputs_of(io, 1)]
        for form in ("train", "aten"):
            for name, position in (("first", 8), ("second", 8), ("second", -1), ("first", 2**40), ("second", -2**63)):
                bad = {**inputs_of(io, 2), name: tensors.make("I64", (1,), [position])}
                with self.subTest(name=name, position=position, form=form):
                    self.fails("two_caches", good + [bad], str(position), "8", form=form)

    def test_of_a_caller_s_cache(self):
        """A call that fails writes no input either."""
        io = stored("input_caches")
        self.fails("input_caches", [inputs_of(io, 0), {**inputs_of(io, 1), "position": tensors.make("I64", (1,), [6])}], "6")

    def test_index_put(self):
        """index_put wraps negative positions; beyond that it fails."""
        io = stored("position_cache")
        good = [inputs_of(io, 0)]
        second = inputs_of(io, 1)
        Run(program("position_cache"), good + [{**second, "cache_position": tensors.make("I64", (2,), [-16, 15])}],
            self.folder / "wrapped").must()
        for values in ([0, 16], [-17, 0]):
            bad = {**second, "cache_position": tensors.make("I64", (2,), values)}
            self.fails("position_cache", good + [bad], "16")

    def test_of_a_new_value(self):
        """The position is computed from the state's new value: the check comes before its write all the same."""
        io = stored("late_check")
        good = inputs_of(io, 0)
        for values in ([4, 0, 0, 0], [-3, 0, 0, 0]):
            for form in ("train", "aten"):
                self.fails("late_check", [good, {**good, "scores": tensors.make("F32", (4,), values)}], form=form)

    def test_read_from_a_tensor(self):
        """item() positions: of a buffer and of a caller's tensor, and one that a state holds."""
        io = stored("item_write")
        good = inputs_of(io, 0)
        for form in ("train", "aten"):
            for value in (8, -1, 2 ** 31 - 1):
                self.fails("item_write", [good, {**inputs_of(io, 1), "at": tensors.make("I32", (), [value])}], str(value),
                           "from 0 to 7", "items.py", form=form)
            calls = [inputs_of(stored("item_length"), i % 3) for i in range(9)]
            self.fails("item_length", calls, "call 8", "8 where from 0 to 7", form=form)

    def test_after_writes(self):
        """Where a position is computed from what the call wrote: of four updates the second or third fails."""
        io = stored("late_updates")
        good = [inputs_of(io, i) for i in range(2)]
        second = {**good[0], "step": tensors.make("I64", (1,), [3])}
        third = {**good[0], "row": tensors.make("F32", (1, 3), [4, 0, 0])}
        for name, sentence in (("late_updates", "index 6"), ("late_item", "read 6 where from 0 to 3")):
            for form in [path.name.split(".")[1] for path in forms(name)]:
                self.fails(name, good + [second], "index 6", form=form)
                run = self.fails(name, good + [third], sentence, form=form)
                self.assertEqual([row["state_bytes_saved"] for row in run.stats], [8 + 12] * 2)
                self.fails(name, [good[0], {**good[0], "row": tensors.make("F32", (1, 3), [-9, 0, 0])}], form=form)

    def test_lookups(self):
        io = stored("lookup")
        good = inputs_of(io, 0)
        for values in ([0, 10, 0], [-1, 0, 0]):
            self.fails("lookup", [good, {**good, "tokens": tensors.make("I64", (1, 3), values)}])
        for values in ([3, 0], [0, -4], [-1, 0]):
            self.fails("lookup", [good, {**good, "index": tensors.make("I64", (2,), values)}])


class Files(Case):
    """A wrong file gets one sentence, whether the command reads it (inputs) or the library does (states)."""

    def said(self, option, data):
        path = self.folder / "bad"
        path.write_bytes(data)
        tensors.write(self.folder / "good", inputs_of(stored("rolled"), 0))
        others = [] if option == "--input" else ["--input", self.folder / "good"]
        done = insitu("run", program("rolled"), option, path, *others)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(is_sentence(done.stderr), done.stderr)
        return done.stderr

    def refused(self, data, words, is_a_state_s_too=True):
        sentence = self.said("--input", data)
        self.assertIn("bad: not a valid safetensors file: ", sentence)
        self.assertIn(words, sentence)
        if is_a_state_s_too:
            self.assertEqual(self.said("--load-state", data).replace("valid state file", "valid safetensors file"), sentence)

    def header(self, text, body=b""):
        return len(text).to_bytes(8, "little") + text + body

    def entry(self, dtype, shape, offsets, body=b"\0" * 8):
        return self.header(b'{"x":{"dtype":"%s","shape":%s,"data_offsets":%s}}' % (dtype, shape, offsets), body)

    def test_malformed(self):
        self.refused((1000).to_bytes(8, "little") + b"{", "its header is longer than the file, which is cut off or of another kind")
        self.refused(self.header(b"{"), "its header is not JSON")
        self.refused(self.header(b" []"), "its header is not a JSON object")
        self.refused(self.header(b" " + b"[" * 5000), "its header is not JSON")
        self.refused(self.header(b'{"__metadata__":1}'), "its __metadata__ is not an object")
        self.refused(self.header(b'{"__metadata__":{"a":1}}'), "its __metadata__ holds more than strings")
        self.refused(self.header(b'{"x":1}'), "tensor 'x' has no string 'dtype'")
        self.refused(self.header(b'{"x":{}}'), "tensor 'x' has no string 'dtype'")
        entry = b'"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
        self.refused(self.header(b"{%s,%s}" % (entry, entry), b"\0" * 8), "its header is not JSON (duplicate object key")

    def test_tensors(self):
        for shape in b"2", b'"2"', b"{}":
            self.refused(self.entry(b"F32", shape, b"[0,8]"), "tensor 'x' has no array 'shape'")
        for size in b"-2", b"2.0", b"null":
            self.refused(self.entry(b"F32", b"[%s]" % size, b"[0,8]"), "tensor 'x' has a size that is no count")
        for offsets in b"[0]", b"8", b'["0","8"]', b"[-8,0]", b"[0,8,8]":
            self.refused(self.entry(b"F32", b"[2]", offsets), "tensor 'x' has no pair of counts 'data_offsets'")
        for offsets in b"[8,0]", b"[4,12]":
            self.refused(self.entry(b"F32", b"[2]", offsets), "tensor 'x' lies outside the file")
        for shape in b"[1]", b"[9223372036854775807,0,2]":
            self.refused(self.entry(b"F32", shape, b"[0,8]"), "tensor 'x' ")
        self.refused(self.entry(b"F32", b"[4611686018427387904,8]", b"[0,8]"), "tensor 'x' is too large")

    def test_bytes_of_no_tensor(self):
        self.refused(self.entry(b"F32", b"[2]", b"[0,8]", b"\0" * 9), "its last 1 bytes belong to no tensor")
        self.refused(self.entry(b"F32", b"[2]", b"[8,16]", b"\0" * 16), "tensor 'x' comes after bytes that belong to no tensor")
        text = b'{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}'
        self.refused(self.header(text, b"\0" * 12), "tensor 'y' shares bytes with another one")

    def test_values(self):
        """Of inputs alone: a state's dtype must be the engine's."""
        self.refused(self.entry(b"F31", b"[2]", b"[0,8]"), "tensor 'x' has an unknown dtype", is_a_state_s_too=False)
        self.refused(self.entry(b"BOOL", b"[8]", b"[0,8]", b"\2" * 8), "tensor 'x' holds a BOOL that is neither 0 nor 1",
                     is_a_state_s_too=False)

    def test_metadata_is_skipped(self):
        text = b'{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
        path = self.folder / "good"
        path.write_bytes(self.header(text, b"\0" * 8))
        must("run", program("rolled"), "--input", path)

    def test_not_there(self):
        done = insitu("run", program("rolled"), "--input", self.folder / "nothing")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(is_sentence(done.stderr), done.stderr)
        done = insitu("run", program("rolled"), "--input", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(is_sentence(done.stderr), done.stderr)

    def test_output_that_cannot_be_written(self):
        """The call was good, so the state counts it."""
        inputs = inputs_of(stored("rolled"), 0)
        good = Run(program("rolled"), [inputs], self.folder / "run").must()
        tensors.write(self.folder / "in", inputs)
        done = insitu("run", program("rolled"), "--input", self.folder / "in", "--output", self.folder / "no" / "out",
                      "--save-state", self.folder / "state")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(is_sentence(done.stderr), done.stderr)
        self.assertEqual(tensors.read(self.folder / "state"), good.state)
