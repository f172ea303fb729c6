"""insitu inspect on .pt2 programs: what it prints is what a second reader finds in the file."""
import json
import pathlib
import re
import struct
import tempfile
import unittest

import saved_program
from archives import edit_model, rewrite, xxh64
from command import DATA, insitu, is_sentence, must, program

ALL = sorted(DATA.glob("*.pt2"))


def inspect(path, *options):
    return json.loads(must("inspect", path, "--json", *options).stdout)


def as_single(value):
    """A number of the nine digits that tell floats of 32 bits and fewer apart, as that float."""
    if isinstance(value, list):
        return [as_single(item) for item in value]
    return struct.unpack("<f", struct.pack("<f", value))[0] if isinstance(value, float) else value


class Json(unittest.TestCase):
    def check_tensors(self, printed, expected):
        self.assertEqual({row["name"] for row in printed}, set(expected))
        self.assertEqual(len(printed), len(expected))
        for row in printed:
            name = row.pop("name")
            for key in ("record", "record_position", "record_size") if not row["values"] else ("record_size",):
                row.pop(key, None)
            if row["dtype"] not in ("f64", "c128"):
                row["values"] = as_single(row["values"])
            self.assertEqual(row, expected[name], name)

    def take_sources(self, part):
        """Out of every node, those of graphs in arguments too."""
        for node in part.get("nodes", ()) if isinstance(part, dict) else ():
            self.assertRegex(node.pop("source"), r"^(\w+\.py:\d+)?$")
            node.pop("module")
        for item in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            self.take_sources(item)

    def check(self, path):
        printed = inspect(path, "--values")
        expected, records, root = saved_program.read(path)
        self.assertEqual((printed["root"], printed["container"], printed["file_size"]), (root, "raw", path.stat().st_size))
        self.assertEqual(printed["records"], records)
        self.take_sources(printed["graph"])
        for folder in ("weights", "constants"):
            self.check_tensors(printed.pop(folder), expected.pop(folder))
        for key, value in expected.items():
            self.assertEqual(printed[key], value, key)

    def test_all_programs(self):
        self.assertGreater(len(ALL), 40)
        for path in ALL:
            with self.subTest(path.name):
                self.check(path)

    def test_hashes(self):
        """Of the elements in row-major order, whatever their strides."""
        import array
        for row in inspect(program("kept_buffers"), "--values", "--hashes")["weights"]:
            code = {"f32": "f", "i64": "q"}[row["dtype"]]
            self.assertEqual(int(row["xxh64"], 16), xxh64(array.array(code, row["values"]).tobytes()), row["name"])
        self.assertNotIn("xxh64", inspect(program("kept_buffers"))["weights"][0])
        self.assertNotIn("values", inspect(program("kept_buffers"))["weights"][0])

    def test_sources(self):
        nodes = inspect(program("unsupported"))["graph"]["nodes"]
        self.assertTrue(all(node["source"].startswith("programs.py:") for node in nodes), nodes)


class Changed(unittest.TestCase):
    """Programs changed on purpose, so that every form of argument occurs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.target = pathlib.Path(folder.name) / "changed.pt2"

    def test_every_argument(self):
        arguments = [
            {"as_none": True}, {"as_tensors": []}, {"as_optional_tensors": [{"as_none": True}]}, {"as_int": -(1 << 63)},
            {"as_ints": [1, -2]}, {"as_float": 0.1}, {"as_float": float("-inf")}, {"as_floats": [1e300, float("nan"), 2.0]},
            {"as_bool": True}, {"as_bools": [True, False]}, {"as_complex": {"real": -0.5, "imag": float("inf")}},
            {"as_string": 'a "b"\n\x1b[31m'}, {"as_strings": ["\u00e9", ""]}, {"as_scalar_type": 13}, {"as_memory_format": 3},
            {"as_layout": 7}, {"as_device": {"type": "cuda", "index": 1}}, {"as_operator": "torch.ops.aten.add.Tensor"},
            {"as_int_lists": [[1], []]}, {"as_float_lists": [[0.25], [3.0]]}, {"as_nested_tensors": [[], []]},
            {"as_sym_int": {"as_int": 7}}, {"as_sym_ints": [{"as_int": 1}]}, {"as_sym_float": {"as_float": 0.5}},
            {"as_sym_bool": {"as_bool": False}}, {"as_string_to_argument": {"k": {"as_int": 1}, "l": {"as_string": "m"}}},
        ]

        def change(model):
            node = model["graph_module"]["graph"]["nodes"][0]
            node["inputs"] += [{"name": f"extra_{i}", "arg": argument, "kind": 2} for i, argument in enumerate(arguments)]
        edit_model(program("history"), self.target, change)
        expected, _, _ = saved_program.read(self.target)
        node = inspect(self.target)["graph"]["nodes"][0]
        self.assertEqual(node["inputs"], expected["graph"]["nodes"][0]["inputs"])
        text = must("inspect", self.target).stdout
        self.assertNotIn("\x1b", text)
        line, = [line for line in text.splitlines() if "extra_0" in line]
        self.assertIn('*, extra_0=none, extra_1=[], extra_2=[none], extra_3=-9223372036854775808, extra_4=[1, -2], extra_5=0.1, '
                      'extra_6=-inf, extra_7=[1e+300, nan, 2.0], extra_8=true, extra_9=[true, false], '
                      'extra_10=complex(-0.5, inf), extra_11="a \\"b\\"\\n\\x1b[31m"', line)

    def test_tensors_that_no_input_names(self):
        def edit(name, data):
            if not name.endswith("model_weights_config.json"):
                return data
            table = json.loads(data)
            row = table["config"]["history"]
            table["config"]["second.name"] = row
            table["config"]["lost"] = {**row, "path_name": "weight_77"}
            return json.dumps(table).encode()
        rewrite(program("history"), self.target, edit)
        *used, second, lost = inspect(self.target)["weights"]
        self.assertIn({**second, "name": "history"}, used)
        self.assertRegex(lost.pop("problem"), "the file has no record .*weight_77")
        self.assertEqual(lost, {"name": "lost"})
        must("compile", self.target, "-o", self.target.with_suffix(".insitu"))
        self.assertIn("  lost: not read: ", must("inspect", self.target).stdout)

    def test_strange_record_names(self):
        import zipfile
        import shutil
        shutil.copy(program("history"), self.target)
        with zipfile.ZipFile(self.target, "a") as archive:
            archive.writestr("history.train/extra/no\u00ebl", b"abc")
        data = self.target.read_bytes()
        self.target.write_bytes(data.replace("no\u00ebl".encode(), b"no\xff\xfel"))
        self.assertEqual(inspect(self.target)["records"][-1]["name"], "history.train/extra/no\ufffd\ufffdl")


class Text(unittest.TestCase):
    def test_everything_is_there(self):
        for path in ALL:
            with self.subTest(path.name):
                text, printed = must("inspect", path).stdout, inspect(path)
                graph = printed["graph"]
                self.assertIn(f"graph, {len(graph['nodes'])} nodes\n", text)
                for node in graph["nodes"]:
                    self.assertRegex(text, rf"(?m)^  \d+ (.* = )?{re.escape(node['target'].removeprefix('torch.ops.'))}\(")
                for name in graph["values"]:
                    self.assertRegex(text, rf"%{re.escape(name)}: ")
                for row in printed["weights"] + printed["constants"]:
                    self.assertIn(f"  {row['name']}: {row['dtype']}[{','.join(map(str, row['sizes']))}]", text)
                for guard in printed["guards"]:
                    self.assertIn(f"  {guard}\n", text)
                for name in printed["forward_arg_names"]:
                    self.assertRegex(text, rf"(?m)^forward arguments .*\b{name}\b")

    def test_text(self):
        text = must("inspect", program("rolled")).stdout
        golden = pathlib.Path(__file__).parent / "inspect" / "rolled.txt"
        self.assertEqual(re.sub(r"serialization_id \d+", "serialization_id N", text), golden.read_text())

    def test_programs_that_do_not_compile(self):
        for form in ("train", "aten"):
            self.assertIn("matrix_exp", must("inspect", program("unsupported", form)).stdout)
            self.assertEqual(insitu("inspect", "--plan", program("unsupported", form)).returncode, 3)

    def test_no_program(self):
        done = insitu("inspect", "/nowhere.pt2")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(is_sentence(done.stderr), done.stderr)
