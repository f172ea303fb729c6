"""The command's options, help, exit codes and outputs."""
import array
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import tensors
from command import HERE, Run, calls_of, inputs_of, insitu, is_sentence, must, program, stored

COMMANDS = ("compile", "run", "explain", "inspect", "compare")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def engine(self, name, *options):
        path = self.folder / f"{name}.insitu"
        must("compile", program(name), "-o", path, *options)
        return path

    def calls(self, name):
        io = stored(name)
        return [inputs_of(io, call) for call in calls_of(io)]


class Help(Case):
    def test_texts(self):
        self.assertEqual(must("--help").stdout, (HERE / "help" / "insitu.txt").read_text())
        self.assertRegex(must("--version").stdout, r"\Ainsitu \d+\.\d+\.\d+\n\Z")
        for name in COMMANDS:
            done = must(name, "--help")
            self.assertEqual(done.stdout, (HERE / "help" / f"{name}.txt").read_text())
            self.assertEqual(done.stderr, "")
            self.assertEqual(must(name, "whatever", "--help").stdout, done.stdout)

    def test_every_option_is_documented(self):
        text = (HERE.parent.parent / "docs" / "command-line.md").read_text()
        for name in COMMANDS:
            for line in (HERE / "help" / f"{name}.txt").read_text().splitlines():
                if line.startswith("  -"):
                    option = line.split("  ")[1].split(" ")[0]
                    self.assertIn(f"`{option}", text, f"{name} {option}")


class Usage(Case):
    def wrong(self, *arguments, word=""):
        done = insitu(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stderr))
        self.assertEqual(done.stdout, "")
        self.assertIn(word, done.stderr)
        return done.stderr

    def test_usage_errors(self):
        source, engine = program("rolled"), self.engine("rolled")
        self.assertIn("usage: insitu COMMAND", self.wrong())
        cases = [
            ("nonsense",), ("-x",), ("--versions",), ("help", "nonsense"), ("run", source, "--", "--zeros"), ("run", source, "--size", "a=1", "--input", "x"),
            ("run", source, "--zeros", "--size", "a"), ("run", source, "--random=x"), ("run", source, "--zeros", "--output", "-", "--stats"), ("bench", source),
            ("compile",), ("compile", source), ("compile", source, "-o"), ("compile", source, engine, "-o", "x"),
            ("compile", source, "-o", "x", "-o", "y"), ("compile", source, "-o", "x", "--strict=1"),
            ("compile", source, "-o", "x", "--strict", "--strict"), ("compile", source, "-o", "x", "--json"),
            ("compile", source, "-o", "x", "--device", "cuda"), ("compile", source, "-o", "x", "--device", "cuda:0"),
            ("compile", source, "-o", "x", "--device"), ("compile", source, "-o", "x", "--mutated-input", "a"),
            ("compile", source, "-o", "x", "--mutated-input", "=b"), ("compile", source, "-o", "x", "--mutated-input", "a="),
            ("compile", source, "-o", "x", "--state", "mine"), ("compile", source, "-o", "x", "--bounds", "loose"),
            ("run", engine, "--input", "x", "--state", "caller"), ("run", engine, "--input", "x", "--bounds", "strict"),
            ("run", engine, "--input", "x", "--mutated-input", "a=b"),
            ("compile", source, "-o", "x", "--no-fuse"),
            ("run",), ("run", source), ("run", source, "--input"), ("run", source, "--output", "x", "--input", "y"),
            ("run", source, "--input", "x", "--output", "y", "--output", "z"), ("run", source, "--input", "x", "--save-state"),
            ("run", engine, "--input", "x", "--strict"), ("run", engine, "--input", "x", "--no-inplace"),
            ("run", source, "--input", "x", "--device", "gpu"), ("run", source, "--input", "x", "--load-state", "a", "--load-state", "b"),
            ("explain",), ("explain", source, engine), ("explain", source, "--strict"), ("explain", source, "--html"),
            ("inspect",), ("inspect", source, "--verify"), ("inspect", source, "--what"), ("inspect", source, "--values"),
            ("run", engine, "--input", "x", "--keep-values"),
            ("compare",), ("compare", source), ("compare", engine, "--reference", "x"), ("compare", source, "--reference", "x", "--strict"),
            ("compare", source, "--reference", "x", "--rtol", "much"), ("compare", source, "--reference", "x", "--atol=-1"),
            ("compare", source, "--reference", "x", "--atol", "inf"), ("compare", source, "--reference", "x", "--rtol", ""),
            ("inspect", engine, "--hashes"), ("inspect", source, "--plan", "--json", "--values"),
        ]
        for case in cases:
            with self.subTest(case):
                text = self.wrong(*case)
                if case[0] in COMMANDS:
                    self.assertTrue(is_sentence(text), text)
        self.assertFalse(pathlib.Path("x").exists())

    def test_words(self):
        source = program("rolled")
        self.wrong("compile", source, "-o", "x", "--device", "cuda:1", word="cuda:1")
        self.wrong("run", source, "--output", "here", "--input", "x", word="here")
        self.wrong("run", source, "--bounds=loose", word="--bounds loose")

    def test_forms_of_options(self):
        """Before or after the file, with = or without."""
        must("compile", "--strict", "-o", self.folder / "a", "--device=cpu", program("history"))
        must("compile", program("history"), f"-o={self.folder / 'b'}", "--device", "cpu")
        self.assertEqual((self.folder / "a").read_bytes(), (self.folder / "b").read_bytes())


class Compile(Case):
    def test_quiet(self):
        done = must("compile", program("history"), "-o", self.folder / "x")
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_strict(self):
        done = insitu("compile", program("swapped"), "-o", self.folder / "x", "--strict")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "first|second")
        self.assertFalse((self.folder / "x").exists())
        must("compile", program("history"), "-o", self.folder / "x", "--strict")

    def test_no_inplace(self):
        report = json.loads(must("explain", self.engine("history", "--no-inplace"), "--json").stdout)["report"]
        self.assertEqual([row["in_place"] for row in report], [False])
        report = json.loads(must("explain", self.engine("history"), "--json").stdout)["report"]
        self.assertEqual([row["in_place"] for row in report], [True])

    def test_place_that_cannot_be_written(self):
        """The sentence is about the place, not about the program or the temporary file."""
        for place, why in ((self.folder / "no" / "x", "No such file or directory"), (self.folder, "Is a directory")):
            done = insitu("compile", program("history"), "-o", place)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, f"insitu: cannot write '{place}': {why}\n")

    def test_program_that_cannot_be_read(self):
        """A file is named once."""
        done = insitu("compile", self.folder / "no.pt2", "-o", self.folder / "x")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"insitu: cannot open '{self.folder / 'no.pt2'}': No such file or directory\n")

    def test_its_own_program(self):
        """Neither by its name nor by another one of the same file is the program overwritten."""
        copy = self.folder / "copy.pt2"
        copy.write_bytes(program("history").read_bytes())
        (self.folder / "link").symlink_to(copy)
        (self.folder / "second").hardlink_to(copy)
        for place in (copy, self.folder / "." / "copy.pt2", self.folder / "link", self.folder / "second"):
            done = insitu("compile", copy, "-o", place)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"insitu compile: '-o {place}' is the program itself", done.stderr)
        tensors.write(self.folder / "in", inputs_of(stored("history"), 0))
        for option in ("--output", "--save-state"):
            done = insitu("run", copy, "--input", self.folder / "in", option, self.folder / "link")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("is the program itself", done.stderr)
        self.assertEqual(copy.read_bytes(), program("history").read_bytes())


class Aliases(Case):
    def shown(self, name, *options):
        return json.loads(must("inspect", "--json", self.engine(name, *options)).stdout)

    def test_mutated_inputs(self):
        engine = self.shown("paired_caches", "--mutated-input", "values=new_values", "--mutated-input=0=1")
        self.assertEqual([row["name"] for row in engine["outputs"]], ["new_values", "mutated.keys", "output.0"])
        self.assertEqual([(row["output"], row["input"], row["kind"], row["returned"]) for row in engine["aliases"]],
                         [("mutated.keys", "keys", "kv_cache_update", True), ("new_values", "values", "kv_cache_update", True)])
        self.assertEqual(engine["record"][12], "mutated.keys@keys@kv_cache_update%new_values@values@kv_cache_update")
        done = insitu("compile", program("paired_caches"), "-o", self.folder / "x", "--mutated-input", "cache=out")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no input 'cache', which output 'out' was to be", done.stderr)

    def test_outputs_of_mutated_inputs_are_written(self):
        """A new output and mutated.NAME are one tensor."""
        io = stored("paired_caches")
        tensors.write(self.folder / "in", inputs_of(io, 0))
        must("run", program("paired_caches"), "--mutated-input", "keys=new", "--input", self.folder / "in", "--output", self.folder / "out")
        out = tensors.read(self.folder / "out")
        self.assertEqual(set(out), {"new", "output.0", "mutated.keys", "mutated.values"})
        self.assertEqual(out["new"], out["mutated.keys"])
        self.assertIsNone(tensors.difference(io["call0.mutated.keys"], out["new"]))

    def test_owners(self):
        engine = self.shown("two_caches", "--state", "caller")
        self.assertEqual([row["name"] for row in engine["inputs"]], ["row", "first", "second", "buf_keys", "buf_values"])
        self.assertEqual((len(engine["states"]), len(engine["aliases"])), (0, 2))
        engine = self.shown("two_caches", "--state=frozen")
        self.assertEqual((len(engine["inputs"]), len(engine["states"]), len(engine["aliases"])), (3, 0, 0))

    def test_caller_runs_like_owned(self):
        io = stored("two_caches")
        held = {f"buf_{name}": ("F32", (8, 3), bytes(96)) for name in ("keys", "values")}
        for call in range(3):
            tensors.write(self.folder / "in", {**inputs_of(io, call), **held})
            must("run", program("two_caches"), "--state", "caller", "--input", self.folder / "in", "--output", self.folder / "out")
            out = tensors.read(self.folder / "out")
            held = {name: out[f"mutated.{name}"] for name in held}
            self.assertIsNone(tensors.difference(io[f"call{call}.output.0"], out["output.0"]))
        for name in ("keys", "values"):
            self.assertIsNone(tensors.difference(io[f"state.{name}"], held[f"buf_{name}"]))

    def test_bounds(self):
        done = insitu("compile", program("past_end"), "-o", self.folder / "x", "--bounds", "strict")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lies outside of dimension 2, and its row would be lost", done.stderr)
        must("compile", program("past_end"), "-o", self.folder / "x", "--bounds", "eager")

    def test_device_without_aliases(self):
        done = insitu("compile", program("input_slice"), "-o", self.folder / "x", "--device", "dla")
        self.assertEqual(done.returncode, 3)
        self.assertIn("can't let an input and an output share memory, so 'cache'", done.stderr)

    def test_cache(self):
        for name in "ab":
            must("compile", program("decoder"), "-o", self.folder / name, "--cache", self.folder / "cache")
        self.assertEqual(len(list((self.folder / "cache").iterdir())), 1)
        self.assertEqual((self.folder / "a").read_bytes(), (self.folder / "b").read_bytes())
        must("compile", program("decoder"), "-o", self.folder / "c")
        self.assertEqual((self.folder / "a").read_bytes(), (self.folder / "c").read_bytes())


class RunCommand(Case):
    def test_stats(self):
        run = Run(program("decoder"), self.calls("decoder"), self.folder / "run").must()
        keys = ["call", "seconds", "weight_bytes_read", "state_bytes_written", "state_bytes_moved", "state_bytes_copied",
                "state_bytes_saved", "output_bytes_copied", "arena_bytes", "bindings_made", "bindings_dropped"]
        self.assertEqual([list(row) for row in run.stats], [keys] * 3)
        self.assertEqual([row["call"] for row in run.stats], [0, 1, 2])
        for row in run.stats:
            self.assertGreater(row["seconds"], 0)
            self.assertGreater(row["weight_bytes_read"], 10000)
            self.assertGreater(row["arena_bytes"], 0)
            self.assertEqual(row["state_bytes_saved"], 0)
            self.assertEqual((row["bindings_made"], row["bindings_dropped"]), (1, 0))

    def test_without_outputs(self):
        for i, inputs in enumerate(self.calls("rolled")):
            tensors.write(self.folder / f"in{i}", inputs)
        done = must("run", program("rolled"), "--input", self.folder / "in0", "--input", self.folder / "in1", "--output",
                    self.folder / "out1")
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        both = Run(program("rolled"), self.calls("rolled")[:2], self.folder / "run").must()
        self.assertEqual(tensors.read(self.folder / "out1"), both.outputs[1])

    def test_numbers_of_one_value_may_be_left_out(self):
        described = json.loads(must("inspect", self.engine("numbers"), "--json").stdout)["inputs"]
        fixed = {row["name"] for row in described if row.get("fixed")}
        self.assertTrue(fixed)
        calls = self.calls("numbers")
        whole = Run(program("numbers"), calls, self.folder / "whole").must()
        short = [{name: value for name, value in call.items() if name not in fixed} for call in calls]
        self.assertLess(len(short[0]), len(calls[0]))
        self.assertEqual(Run(program("numbers"), short, self.folder / "short").must().outputs, whole.outputs)

    def test_open_sizes_of_states(self):
        """Of a network's engine whose state has the size n, which the command line chooses."""
        network = ('network\nsymbol n: int in 1..4\ninput "x" = %x: f32[1]\nstate "a.b=c" = %s: f32[n] of zeros\n'
                   '%more: f32[1] = expand(%x) {sizes=[1]}\n%wide: f32[n] = expand(%more) {sizes=[n]}\n'
                   '%next: f32[n] = binary(%s, %wide) {op=add}\nnext "a.b=c" = %next\noutput "sum" = %next\n')
        engine, out, state = self.folder / "engine", self.folder / "out", self.folder / "state"
        done = subprocess.run([os.environ["INSITU_TEXT"], "network-save", engine], input=network, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        tensors.write(self.folder / "in", {"x": ("F32", (1,), array.array("f", [1.5]).tobytes())})
        call = ("run", engine, "--input", self.folder / "in", "--output", out)
        done = insitu(*call)
        self.assertEqual((done.returncode, out.exists()), (1, False))
        self.assertIn("state 'a.b=c' needs a size for dimension 0, from 1 to 4", done.stderr)
        must(*call, "--state-size", "a.b=c.0=3", "--save-state", state)
        self.assertEqual(tensors.read(out), {"sum": ("F32", (3,), array.array("f", [1.5] * 3).tobytes())})
        must(*call, "--state-size=a.b=c.0=3", "--load-state", state)
        self.assertEqual(tensors.read(out), {"sum": ("F32", (3,), array.array("f", [3] * 3).tobytes())})
        self.assertEqual(insitu(*call, "--state-size", "a.b=c.0=2", "--load-state", state).returncode, 1)
        for wrong, code in (("a.b=c.0=5", 1), ("a.b=c.1=1", 1), ("b.0=1", 1), ("a.b=c.0=-1", 2), ("a=3", 2), (".0=3", 2),
                            ("a.0=", 2), ("a.=1", 2), ("a", 2)):
            done = insitu(*call, "--state-size", wrong)
            self.assertEqual(done.returncode, code, wrong)
            self.assertTrue(is_sentence(done.stderr), done.stderr)

    def test_bytes_written_do_not_depend_on_capacity(self):
        for name in ("cached_64", "cached_512"):
            run = Run(program(name, "aten"), self.calls(name), self.folder / name).must()
            self.assertEqual([row["state_bytes_written"] for row in run.stats], [16] * 3)

    def test_results_that_are_states_and_inputs(self):
        """A state, an input and a view are written dense, whatever their strides."""
        run = Run(program("results"), self.calls("results"), self.folder / "run").must()
        self.assertNotIn("output.3", run.outputs[0])
        self.assertEqual(tensors.values(run.outputs[0]["output.7"]), [5])
        self.assertEqual(run.outputs[2]["output.6"], run.state["total"])

    def test_state_file(self):
        """All buffers, a later run goes on from them, and one that the program does not write must be its own."""
        calls, name = self.calls("kept_buffers"), "kept_buffers"
        whole = Run(program(name), calls, self.folder / "whole").must()
        first = Run(program(name), calls[:1], self.folder / "first").must()
        path = first.folder / "state"
        rest = Run(self.engine(name), calls[1:], self.folder / "rest", "--load-state", path).must()
        self.assertEqual(rest.outputs, whole.outputs[1:])
        self.assertEqual(rest.state, whole.state)
        tensors.write(path, {"total": first.state["total"]})
        rest = Run(program(name), calls[1:], self.folder / "rest", "--load-state", path).must()
        self.assertEqual(rest.state, whole.state)
        other = tensors.make("F32", (2, 2), [1, 2, 3, 4])
        tensors.write(path, {**first.state, "unused": other})
        run = Run(program(name), calls[1:], self.folder / "rest", "--load-state", path)
        self.assertEqual(run.done.returncode, 1)
        self.assertTrue(is_sentence(run.done.stderr), run.done.stderr)
        self.assertIn("buffer 'unused' of the file has other values", run.done.stderr)

    def test_state_file_replaces_another(self):
        """Nothing but the file is left in its folder; a place that can't be written is one sentence."""
        inputs = self.folder / "in"
        tensors.write(inputs, self.calls("kept_buffers")[0])
        for _ in range(2):
            must("run", program("kept_buffers"), "--input", inputs, "--save-state", self.folder / "state")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in", "state"])
        done = insitu("run", program("kept_buffers"), "--input", inputs, "--save-state", self.folder / "no" / "state")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(is_sentence(done.stderr), done.stderr)

    def test_failed_call(self):
        """Earlier outputs are there, and the state is that of the last good call."""
        calls = self.calls("two_caches")
        bad = {**calls[1], "second": tensors.make("I64", (1,), [8])}
        run = Run(program("two_caches"), [calls[0], bad, calls[2]], self.folder / "run")
        self.assertEqual(run.done.returncode, 1)
        self.assertTrue(is_sentence(run.done.stderr), run.done.stderr)
        self.assertIn("call 1", run.done.stderr)
        good = Run(program("two_caches"), calls[:1], self.folder / "good").must()
        self.assertEqual(run.outputs, [good.outputs[0], None, None])
        self.assertEqual(run.state, good.state)
        self.assertEqual(len(run.stats), 1)


class Print(Case):
    def test_explain(self):
        for source in (program("history"), program("history", "aten"), self.engine("history")):
            text = must("explain", source).stdout.splitlines()
            self.assertRegex(text[0], r"^state +shape +update +bytes written/call +verdict$")
            self.assertRegex(text[1], r"^history +f32\[1,4,12\] +shift_update.* +in place \(moves 160\)$")
            self.assertEqual(len(text), 2)
            row, = json.loads(must("explain", source, "--json").stdout)["report"]
            self.assertEqual((row["name"], row["type"], row["in_place"]), ("history", "f32[1,4,12]", True))
            self.assertEqual((row["bytes_moved"], row["bytes_copied"]), (160, 0))

    def test_explain_and_inspect_agree(self):
        """Row by row and key by key; a copy's reason is there."""
        for name in ("history", "swapped", "decoder"):
            rows = json.loads(must("explain", program(name), "--json").stdout)["report"]
            self.assertEqual(rows, json.loads(must("inspect", program(name), "--plan", "--json").stdout)["report"])
            for row in rows:
                self.assertEqual(row["reason"] == "", row["bytes_copied"] == 0, row)
                self.assertTrue(row["verdict"].endswith(row["reason"]), row)

    def test_explain_names_the_reader(self):
        text = must("explain", program("swapped")).stdout
        self.assertIn("COPIED 24 bytes: ", text)

    def test_all_caches_in_place(self):
        for form in ("train", "aten", "core"):
            report = json.loads(must("explain", program("decoder", form), "--json").stdout)["report"]
            self.assertEqual([row["name"] for row in report],
                             [f"layers.{i}.attention.{kind}_cache" for i in range(2) for kind in ("key", "value")])
            self.assertEqual([(row["in_place"], row["bytes_written"]) for row in report], [(True, 32)] * 4)

    def test_inspect(self):
        for source in (program("sizes"), self.engine("sizes")):
            text = must("inspect", "--plan", source).stdout
            for word in ("inputs\n", "outputs\n", "states\n", "plan\n", "lengths: i64", "output.2: number", "step 0 "):
                self.assertIn(word, text)
            parsed = json.loads(must("inspect", "--plan", source, "--json").stdout)
            self.assertEqual([row["name"] for row in parsed["inputs"]], ["x", "lengths"])
            self.assertEqual(parsed["inputs"][0]["min_sizes"], [1, 2, 4])
            self.assertEqual(parsed["inputs"][0]["max_sizes"], [64, 32, 4])
            self.assertTrue(parsed["plan"]["steps"])

    def test_inspect_buffers(self):
        names = ["whole", "turned", "column", "repeated", "unused", "hidden", "steps", "nothing"]
        for source in (program("kept_buffers"), self.engine("kept_buffers")):
            text = must("inspect", "--plan", source).stdout
            self.assertIn("buffers\n", text)
            self.assertIn("  turned: f32[3,4]\n", text)
            rows = json.loads(must("inspect", "--plan", source, "--json").stdout)["buffers"]
            self.assertEqual(sorted(row["name"] for row in rows), sorted(names))
            self.assertEqual({row["name"]: row["sizes"] for row in rows}["nothing"], [0, 3])

    def test_inspect_aliases(self):
        text = must("inspect", "--plan", program("input_caches")).stdout
        self.assertIn("written in place", text)
        self.assertIn("is input 'keys'", text)

    def test_log_goes_to_stderr(self):
        import os
        import subprocess

        from command import INSITU
        done = subprocess.run([INSITU, "explain", program("history"), "--json"], capture_output=True, text=True,
                              env={**os.environ, "INSITU_DUMP": "network"})
        self.assertIn("shift_update", done.stderr)
        json.loads(done.stdout)
