"""Damaged and foreign .pt2 files: each is a sentence and exit 1, never a crash."""
import pathlib
import tempfile
import unittest

from archives import edit_model, rewrite
from command import insitu, is_sentence, must, program


class BadArchives(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source = program("buffer_slice")
        self.target = self.folder / "bad.pt2"

    def refused(self, *words, code=1):
        done = insitu("compile", self.target, "-o", self.folder / "out.insitu")
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertTrue(is_sentence(done.stderr), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "out.insitu").exists())

    def test_missing_file(self):
        self.refused("bad.pt2", "No such file")

    def test_not_a_zip(self):
        for data in (b"", b"P", b"PK\3\4", b"hello, world" * 100, b"\0" * 4096):
            self.target.write_bytes(data)
            self.refused("bad.pt2")

    def test_folder(self):
        self.target.mkdir()
        self.refused("bad.pt2")

    def test_truncated(self):
        data = self.source.read_bytes()
        for size in (10, 63, 64, len(data) // 3, len(data) // 2, len(data) - 100, len(data) - 22, len(data) - 1):
            self.target.write_bytes(data[:size])
            self.refused("bad.pt2")

    def test_missing_members(self):
        for part, word in (("models/model.json", "/models/"), ("data/weights/model_weights_config.json", "'cache'"),
                           ("data/weights/weight_0", "weight_0")):
            rewrite(self.source, self.target, lambda name, data: None if name == part else data)
            self.refused(word)

    def test_flipped_bytes(self):
        """A changed byte of the program's text fails the record's checksum."""
        data = self.source.read_bytes()
        at = data.index(b'"schema_version"') + 2
        self.target.write_bytes(data[:at] + b"X" + data[at + 1:])
        self.refused("bad.pt2")

    def test_not_json(self):
        for text in (b"", b"{", b"[1,2", b"nul", b"\xff\xfe", b'{"a":1}x', b"[" * 100000):
            rewrite(self.source, self.target, lambda name, data: text if name.startswith("models/") else data)
            self.refused("bad.pt2")

    def test_json_of_another_shape(self):
        changes = [
            lambda m: [],
            lambda m: {},
            lambda m: m.pop("graph_module") and None,
            lambda m: m.update(graph_module=3),
            lambda m: m["graph_module"].update(graph=[]),
            lambda m: m["graph_module"]["graph"].update(nodes={}),
            lambda m: m["graph_module"]["graph"].update(inputs=7),
            lambda m: m["graph_module"]["graph"].update(tensor_values=[]),
            lambda m: m["graph_module"]["graph"]["nodes"].insert(0, 5),
            lambda m: m["graph_module"]["graph"]["nodes"][0].update(target=1),
            lambda m: m["graph_module"]["graph"]["nodes"][0].update(inputs="x"),
            lambda m: m["graph_module"]["graph"]["nodes"][0].update(outputs=None),
            lambda m: m["graph_module"]["graph"]["inputs"].append({"as_tensor": {"name": "ghost"}}),
            lambda m: m["graph_module"].update(signature={}),
            lambda m: m["graph_module"]["signature"]["input_specs"].pop() and None,
            lambda m: m["graph_module"]["signature"]["output_specs"].append({}),
            lambda m: m.update(schema_version="8"),
        ]
        for number, change in enumerate(changes):
            with self.subTest(number):
                edit_model(self.source, self.target, change)
                self.refused("bad.pt2")

    def test_values_that_do_not_exist(self):
        def rename(model):
            node = model["graph_module"]["graph"]["nodes"][0]
            node["inputs"][0]["arg"] = {"as_tensor": {"name": "nobody"}}
        edit_model(self.source, self.target, rename)
        self.refused("nobody")

    def test_negative_and_huge_sizes(self):
        for size in (-1, -2**63, 2**62):
            def change(model):
                values = model["graph_module"]["graph"]["tensor_values"]
                values["b_cache"]["sizes"] = [{"as_int": size}] * 4
            edit_model(self.source, self.target, change)
            self.refused("bad.pt2")

    def test_schema_versions(self):
        edit_model(self.source, self.target, lambda m: m["schema_version"].update(major=9))
        self.refused("9")
        edit_model(self.source, self.target, lambda m: m["schema_version"].update(major=7))
        self.refused("7")
        edit_model(self.source, self.target, lambda m: m["schema_version"].update(minor=99))
        must("compile", self.target, "-o", self.folder / "newer_minor.insitu")

    def test_small_weight(self):
        rewrite(self.source, self.target, lambda name, data: data[:-4] if name.endswith("weight_0") else data)
        self.refused("cache")

    def test_weight_in_a_strange_place(self):
        def edit(name, data):
            return data.replace(b"weight_0", b"weight_9") if name.endswith("weights_config.json") else data
        rewrite(self.source, self.target, edit)
        self.refused("weight_9")

    def test_same_program_again(self):
        """What the tests change is what makes the difference: an unchanged copy compiles."""
        rewrite(self.source, self.target, lambda name, data: data)
        must("compile", self.target, "-o", self.folder / "copy.insitu")
        edit_model(self.source, self.target, lambda m: None)
        must("compile", self.target, "-o", self.folder / "copy.insitu")


class Unsupported(unittest.TestCase):
    def test_operators_are_listed(self):
        for form in ("train", "aten"):
            for command in (("explain",), ("inspect", "--plan")):
                done = insitu(*command, program("unsupported", form))
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertEqual(done.stdout, "")
                lines = done.stderr.splitlines()
                self.assertRegex(lines[0], r"^insitu: .*unsupported\.\w+\.pt2: .{10,}")
                powers = [line for line in lines[1:] if "aten.linalg_matrix_exp.default" in line]
                self.assertEqual(len(powers), 1, done.stderr)
                self.assertIn("2 times, first at programs.py:", powers[0])
                self.assertRegex(done.stderr, r"eig\w*\.default, 1 time, first at programs\.py:\d+")

    def test_strict(self):
        for form in ("train", "aten"):
            done = insitu("run", program("swapped", form), "--strict", "--input", "/nowhere")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, "first|second")
