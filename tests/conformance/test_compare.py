"""insitu compare: the first node whose value differs from PyTorch's is named; and every tensor kept as an output."""
import pathlib
import tempfile
import unittest

import tensors
from archives import edit_model
from command import DATA, Run, insitu, inputs_of, is_sentence, must, program, stored

RECORDED = {"rolled": "train", "dtypes": "aten", "decoder": "train"}


def values_of(name, call=0):
    return tensors.read(DATA / f"{name}.{RECORDED[name]}.values{call}.safetensors")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.reference = self.folder / "reference"

    def compare(self, source, values, *options):
        tensors.write(self.reference, values)
        return insitu("compare", source, "--reference", self.reference, *options)

    def differs(self, source, values, *lines, options=()):
        done = self.compare(source, values, *options)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        self.assertEqual(done.stdout.splitlines(), list(lines))

    def equal(self, source, values, *options):
        done = self.compare(source, values, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout, r"^call 0: (\d+) of \1 values are equal\n$")


class Equal(Case):
    def test_recorded_values(self):
        """Of two calls on one state."""
        for name, form in RECORDED.items():
            for options in ((), ("--no-inplace",)):
                files = [part for call in range(2)
                         for part in ("--reference", DATA / f"{name}.{form}.values{call}.safetensors")]
                text = must("compare", program(name, form), *files, *options).stdout
                count = sum(key.startswith("node.") for key in values_of(name))
                self.assertEqual(text, "".join(f"call {call}: {count} of {count} values are equal\n" for call in range(2)))

    def test_some_values(self):
        """What the reference lacks is not compared."""
        values = values_of("rolled")
        self.equal(program("rolled"), {key: values[key] for key in ("in.x", "node.mul")})

    def test_kept_values(self):
        """The same values, as outputs after the program's own; the results and the state are as without them."""
        calls = [inputs_of(stored("decoder"), call) for call in range(2)]
        kept = Run(program("decoder"), calls, self.folder / "kept", "--keep-values").must()
        plain = Run(program("decoder"), calls, self.folder / "plain").must()
        for call in range(2):
            expected = {key: value for key, value in values_of("decoder", call).items() if key.startswith("node.")}
            outputs = kept.outputs[call]
            self.assertLessEqual(set(expected), set(outputs))
            for key, value in expected.items():
                self.assertIsNone(tensors.difference(value, outputs[key]), key)
            for key, value in plain.outputs[call].items():
                self.assertIsNone(tensors.difference(value, outputs[key]), key)
        self.assertEqual(kept.state.keys(), plain.state.keys())


class Different(Case):
    def changed(self, name, key, values):
        all_values = values_of(name)
        dtype, shape, _ = all_values[key]
        return {**all_values, key: tensors.make(dtype, shape, values)}

    def test_value(self):
        values = tensors.values(values_of("rolled")["node.mul"])
        values[7] += 0.5
        self.differs(program("rolled"), self.changed("rolled", "node.mul", values),
                     "call 0: the first value that differs is %mul = aten.mul.Tensor, programs.py:151",
                     f"  f32[2,5]: 1 of 10 elements differ, by up to 0.5; the first at [1,2] is {values[7] - 0.5:.9g} where "
                     f"{values[7]:.9g} was expected", "call 0: 5 of 6 values are equal")

    def test_program(self):
        """A program that multiplies by one power more: the node that does is named, not those after it."""
        target = self.folder / "changed.pt2"

        def change(model):
            node, = (node for node in model["graph_module"]["graph"]["nodes"] if node["name"] == "mul")
            node["target"] = "torch.ops.aten.div.Tensor"
        edit_model(program("rolled"), target, change)
        done = self.compare(target, values_of("rolled"))
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "call 0: the first value that differs is %mul = aten.div.Tensor, programs.py:151")
        self.assertRegex(lines[1], r"^  f32\[2,5\]: 10 of 10 elements differ, by up to ")
        self.assertEqual(lines[2:], ["call 0: 4 of 6 values are equal"])

    def test_integers_are_exact(self):
        values = tensors.values(values_of("dtypes")["node.add_3"])
        values[2] += 1
        self.assertGreater(values[2], 2**40)
        self.differs(program("dtypes", "aten"), self.changed("dtypes", "node.add_3", values),
                     "call 0: the first value that differs is %add_3 = aten.add.Tensor, programs.py:333",
                     f"  i64[4]: 1 of 4 elements differ, by up to 1; the first at [2] is {float(values[2] - 1):.9g} where "
                     f"{float(values[2]):.9g} was expected", "call 0: 23 of 24 values are equal")

    def test_type(self):
        values = values_of("rolled")
        dtype, _, raw = values["node.sum_1"]
        self.differs(program("rolled"), {**values, "node.sum_1": (dtype, (2, 1), raw)},
                     "call 0: the first value that differs is %sum_1 = aten.sum.dim_IntList, programs.py:151",
                     "  it is f32[2] where f32[2,1] was expected", "call 0: 5 of 6 values are equal")

    def test_tolerance(self):
        values = tensors.values(values_of("rolled")["node.mul"])
        values[0] += 1e-3
        changed = self.changed("rolled", "node.mul", values)
        self.assertEqual(self.compare(program("rolled"), changed).returncode, 1)
        self.equal(program("rolled"), changed, "--atol", "2e-3")
        self.equal(program("rolled"), changed, "--rtol=1", "--atol=0")
        self.assertEqual(self.compare(program("rolled"), changed, "--rtol", "0", "--atol", "9e-4").returncode, 1)

    def test_special_numbers(self):
        """NaN is equal to NaN alone, an infinity to itself."""
        inputs = {"x": tensors.make("F32", (2,), [float("nan"), float("inf")])}
        tensors.write(self.folder / "in", inputs)
        must("run", program("rolled"), "--keep-values", "--input", self.folder / "in", "--output", self.folder / "out")
        kept = {key: value for key, value in tensors.read(self.folder / "out").items() if key.startswith("node.")}
        values = {"in.x": inputs["x"], **kept}
        self.equal(program("rolled"), values)
        rows = tensors.values(values["node.select"])
        for change in (lambda x: 0.0 if x != x else x, lambda x: 1e38 if x == float("inf") else x, lambda x: -x):
            changed = {**values, "node.copy_": tensors.make("F32", (2,), list(map(change, tensors.values(values["node.copy_"]))))}
            done = self.compare(program("rolled"), changed, "--rtol", "1e30", "--atol", "1e30")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("%copy_ = aten.copy_.default", done.stdout)
        self.assertEqual(len(rows), 2)


class Wrong(Case):
    def refused(self, source, values, word):
        done = self.compare(source, values)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertTrue(is_sentence(done.stderr), done.stderr)
        self.assertIn(word, done.stderr)

    def test_references(self):
        values = values_of("rolled")
        one = tensors.make("F32", (1,), [1])
        self.refused(program("rolled"), {**values, "node.nothing": one}, "'nothing'")
        self.refused(program("rolled"), {**values, "something": one}, "'something'")
        self.refused(program("rolled"), {**values, "in.y": one}, "'y'")
        self.refused(program("rolled"), {"in.x": values["in.x"]}, "no values")
        self.refused(program("rolled"), {"node.mul": values["node.mul"]}, "input 'x'")
        self.refused(program("rolled"), {**values, "in.x": one}, "call 0")

    def test_unsupported(self):
        self.assertEqual(self.compare(program("unsupported"), {}).returncode, 3)
