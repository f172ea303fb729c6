"""The command's options, help, exit codes and outputs."""
import array
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import unittest

import tensors
from command import HERE, INSITU, Run, calls_of, inputs_of, insitu, is_sentence, must, program, stored

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
            ("compile", source, "-o", "x", "--device"), ("compile", source, "-o", "x", "--mutated-input", "a"),
            ("compile", source, "-o", "x", "--mutated-input", "=b"), ("compile", source, "-o", "x", "--mutated-input", "a="),
            ("compile", source, "-o", "x", "--state", "mine"), ("compile", source, "-o", "x", "--bounds", "loose"),
            ("run", engine, "--input", "x", "--state", "caller"), ("run", engine, "--input", "x", "--bounds", "strict"),
            ("run", engine, "--input", "x", "--mutated-input", "a=b"),
            ("compile", source, "-o", "x", "--no-fuse"),
            ("run",), ("run", source), ("run", source, "--input"), ("run", source, "--output", "x", "--input", "y"),
            ("run", source, "--input", "x", "--output", "y", "--output", "z"), ("run", source, "--input", "x", "--save-state"),
            ("run", source, "--input", "x", "--load-state", "a", "--load-state", "b"), ("run", source, "--input", "x", "--device", "gpu"),
            ("run", engine, "--input", "x", "--strict"), ("run", engine, "--input", "x", "--no-inplace"),
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
        self.wrong("compile", source, "-o", "x", "--device", "abacus", word="abacus")
        absent = insitu("compile", source, "-o", "x", "--device", "cuda:1")
        self.assertEqual(absent.returncode, 3)
        self.assertIn("this library does not compile for device 'cuda'", absent.stderr)
        self.wrong("run", source, "--output", "here", "--input", "x", word="here")
        self.wrong("run", source, "--bounds=loose", word="--bounds loose")

    def test_forms_of_options(self):
        """Before or after the file, with = or without."""
        must("compile", "--strict", "-o", self.folder / "a", "--device=cpu", program("history"))
        must("compile", program("history"), f"-o={self.folder / 'b'}", "--device", "cpu")
        self.assertEqual((self.folder / "a").read_bytes(), (self.folder / "b").read_bytes())


    def test_other_forms_of_help(self):
        text = must("--help").stdout
        for words in (("-h",), ("help",), ("help", "help")):
            self.assertEqual(must(*words).stdout, text)
        self.assertEqual(must("-V").stdout, must("--version").stdout)
        for name in COMMANDS:
            for words in (("help", name), (name, "-h"), (name, "x", "-h")):
                self.assertEqual(must(*words).stdout, must(name, "--help").stdout)

    def test_suggestions(self):
        source = program("rolled")
        for wrong, meant in (("complie", "compile"), ("rn", "run"), ("explian", "explain"), ("inspct", "inspect"), ("--verison", "--version"),
                             ("comp", "compile"), ("hlep", "help")):
            self.assertIn(f"unknown command '{wrong}'; did you mean '{meant}'?", self.wrong(wrong))
        for name, wrong, meant in (("run", "--inptu", "--input"), ("run", "--save-sate", "--save-state"), ("compile", "--no-in-place", "--no-inplace"),
                                   ("explain", "--jsn", "--json"), ("inspect", "--hash", "--hashes"), ("compare", "--refernce=x", "--reference")):
            self.assertIn(f"unknown option '{wrong.split('=')[0]}'; did you mean '{meant}'?", self.wrong(name, source, wrong))
        self.assertNotIn("did you mean", self.wrong("xyzzy"))
        self.assertNotIn("did you mean", self.wrong("run", source, "--xyzzy"))

    def test_end_of_options(self):
        copy = self.folder / "--json"
        copy.write_bytes(program("rolled").read_bytes())
        self.assertEqual(must("explain", "--", "--json", folder=self.folder).stdout, must("explain", copy).stdout)

    def test_two_files_that_are_one(self):
        """By different spellings, links and hard links, whether the file is there or would be made; nothing is run or written."""
        source, engine = program("rolled"), self.engine("rolled")
        inputs, there = self.folder / "in", self.folder / "there"
        tensors.write(inputs, self.calls("rolled")[0])
        tensors.write(there, {})
        (self.folder / "second").hardlink_to(there)
        (self.folder / "link").symlink_to(there)
        (self.folder / "in_link").symlink_to("in")
        (self.folder / "to_new").symlink_to("new")
        (self.folder / "folder").symlink_to(self.folder)
        new = self.folder / "new"
        same = [(new, new), (new, self.folder / "." / "new"), (new, self.folder / "folder" / "new"), (new, self.folder / "to_new"),
                (there, self.folder / "second"), (there, self.folder / "link"), (self.folder / "link", self.folder / "second"),
                (there, self.folder / "folder" / "there"), ("-", "-")]
        before = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        for first, second in same:
            for pair in ((first, second), (second, first)):
                for calls in (("--zeros", "--output", pair[0], "--zeros", "--output", pair[1]),
                              ("--zeros", "--output", pair[0], "--save-state", pair[1])):
                    self.wrong("run", engine, *calls, word="are one file, which would be overwritten")
        for path in (inputs, self.folder / "in_link", self.folder / "." / "in"):
            for calls in (("--input", inputs, "--output", path), ("--zeros", "--output", path, "--input", inputs), ("--input", inputs, "--save-state", path)):
                self.wrong("run", engine, *calls, word="are one file, which would be overwritten")
        self.wrong("run", engine, "--zeros", "--output", there, "--load-state", there, word="are one file")
        self.wrong("run", engine, "--zeros", "--output", engine, word="is the program itself")
        self.wrong("compile", source, "-o", source, word="is the program itself")
        self.assertEqual({path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}, before)
        must("run", engine, "--zeros", "--save-state", new)
        must("run", engine, "--zeros", "--load-state", new, "--save-state", new)
        must("run", engine, "--zeros", "--output", "/dev/null", "--zeros", "--output", "/dev/null")


class Pipes(Case):
    """`-` and pipes, as input and as output of each command that reads or writes a file."""

    def piped(self, *arguments, data=b""):
        done = subprocess.run([INSITU, *map(str, arguments)], input=data, capture_output=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout

    def test_closed_descriptors(self):
        """No file that is opened gets the number of a standard descriptor, and what is told on that."""
        source, engine = program("rolled"), self.engine("rolled")
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            close = lambda: [os.close(descriptor) for descriptor in closed]
            run = lambda *arguments: subprocess.run([INSITU, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                                                    preexec_fn=close, timeout=120)
            out = self.folder / "out"
            self.assertEqual(run("compile", source, "-o", out).returncode, 0)
            self.assertEqual(out.read_bytes(), engine.read_bytes())
            done = run("run", engine, "--zeros", "--output", out, "--stats")
            self.assertEqual(done.returncode, 1 if 1 in closed else 0, done)
            tensors.read(out)
            if 0 in closed:
                done = run("explain", "-")
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"" if 2 in closed else b"cannot read the standard input", done.stderr)
            if 1 in closed:
                self.assertEqual(run("compile", source, "-o", "-").returncode, 1)

    def test_programs_and_engines(self):
        source, engine = program("rolled"), self.engine("rolled")
        for path in ("-", "/dev/stdin"):
            self.assertEqual(self.piped("compile", path, "-o", "-", data=source.read_bytes()), engine.read_bytes())
            for file in (source, engine):
                for verb in (("explain",), ("inspect", "--json"), ("inspect",)):
                    self.assertEqual(self.piped(*verb, path, data=file.read_bytes()).decode(), must(*verb, file).stdout)
        values = HERE.parent / "data" / "rolled.train.values0.safetensors"
        for file, reference in ((source, "-"), ("-", values)):
            data = values.read_bytes() if reference == "-" else source.read_bytes()
            self.assertIn(b"values are equal", self.piped("compare", file, "--reference", reference, data=data))

    def test_a_named_pipe(self):
        engine, fifo = self.engine("rolled"), self.folder / "fifo"
        os.mkfifo(fifo)
        with subprocess.Popen(["sh", "-c", 'cat "$1" >"$2"', "sh", engine, fifo]):
            self.assertEqual(must("explain", fifo).stdout, must("explain", engine).stdout)

    def test_inputs_outputs_and_states(self):
        engine, inputs, out, state = self.engine("rolled"), *(self.folder / name for name in ("in", "out", "state"))
        tensors.write(inputs, self.calls("rolled")[0])
        must("run", engine, "--input", inputs, "--output", out, "--save-state", state)
        data = inputs.read_bytes()
        self.assertEqual(self.piped("run", engine, "--input", "-", "--output", "-", data=data), out.read_bytes())
        self.assertEqual(self.piped("run", engine, "--input", "-", "--save-state", "-", data=data), state.read_bytes())
        must("run", engine, "--load-state", state, "--input", inputs, "--output", out)
        self.assertEqual(self.piped("run", engine, "--load-state", "-", "--input", inputs, "--output", "-", data=state.read_bytes()), out.read_bytes())
        with open(self.folder / "redirected", "wb") as file:
            file.write(b"before")
            file.flush()
            subprocess.run([INSITU, "run", engine, "--load-state", state, "--input", inputs, "--output", "-"], stdout=file, check=True)
        self.assertEqual((self.folder / "redirected").read_bytes(), b"before" + out.read_bytes())
        self.assertFalse(pathlib.Path("-").exists())


class Kinds(Case):
    """What is neither program nor engine nor tensors: the sentence says what it is, and what was expected."""

    def test_kinds(self):
        import zipfile
        engine, source = self.engine("rolled"), program("rolled")
        inputs = self.folder / "tensors"
        tensors.write(inputs, self.calls("rolled")[0])
        files = {"empty": b"", "text": b"hello\n", "text.pt2": b"import torch\n" * 50, "other": bytes(range(256)), "short": b"\0\1",
                 "cut.insitu": engine.read_bytes()[:-100], "cut_head.insitu": engine.read_bytes()[:200], "cut.pt2": source.read_bytes()[:2000]}
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        with zipfile.ZipFile(self.folder / "archive.zip", "w") as archive:
            archive.writestr("a.txt", "hi")
        (self.folder / "sub").mkdir()
        names = {"empty": "an empty file", "text": "a text file", "text.pt2": "a text file", "other": "a file of another kind",
                 "short": "a file of another kind", "sub": "a folder", "tensors": "a safetensors file", "archive.zip": "a zip file",
                 "cut.pt2": "a zip file", "cut.insitu": "an engine file", "cut_head.insitu": "an engine file"}
        x = self.folder / "x"
        uses = [(("compile", None, "-o", x), ".pt2 program"), (("compare", None, "--reference", inputs), ".pt2 program"),
                (("explain", None), "engine file (insitu compile) is expected"), (("inspect", None), "is expected"),
                (("run", None, "--zeros"), "engine file (insitu compile) is expected"),
                (("run", engine, "--input", None), "safetensors file of tensors"), (("run", engine, "--zeros", "--load-state", None), "safetensors file of tensors"),
                (("compare", source, "--reference", None), "safetensors file of tensors")]
        for name, kind in names.items():
            for words, expected in uses:
                if name == "tensors" and expected.startswith("safetensors"):
                    continue
                with self.subTest(file=name, use=words):
                    path = self.folder / name
                    done = insitu(*[path if word is None else word for word in words])
                    self.assertIn(done.returncode, (1, 2), done.stderr)
                    self.assertTrue(is_sentence(done.stderr), done.stderr)
                    self.assertIn(name, done.stderr)
                    is_near = ".zip" in name or "cut" in name or name == "tensors"
                    if not is_near:
                        self.assertIn(f"is {kind}; ", done.stderr)
                        self.assertIn(expected, done.stderr)
        self.assertFalse(x.exists())

    def test_an_engine_of_a_programs_name(self):
        engine, path = self.engine("rolled"), self.folder / "engine.pt2"
        path.write_bytes(engine.read_bytes())
        self.assertEqual(must("explain", path).stdout, must("explain", engine).stdout)

    def test_long_paths(self):
        """The reason is there, and the end of the path."""
        for path in ("dir/" * 300 + "x", "d" * 300, "dir/" * 1000 + "x"):
            for words in (("explain", path), ("compile", path, "-o", "x"), ("run", program("rolled"), "--input", path), ("run", program("rolled"), "--zeros", "--load-state", path),
                          ("compile", program("rolled"), "-o", path), ("run", program("rolled"), "--zeros", "--output", path), ("run", program("rolled"), "--zeros", "--save-state", path)):
                done = insitu(*words, folder=self.folder)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"No such file or directory|File name too long", words)
                self.assertIn(path[-40:], done.stderr)


class Killed(Case):
    """A command that dies while it writes leaves nothing, and its names may be as long as any."""

    def test_killed_while_writing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        for old in (False, True):
            out = self.folder / "out"
            if old:
                out.write_bytes(b"old")
            for words in (("compile", program("decoder"), "-o", out), ("run", program("decoder"), "--zeros", "--output", out, "--keep-values"),
                          ("run", program("decoder"), "--zeros", "--save-state", out), ("compile", program("decoder"), "-o", "/dev/null", "--cache", self.folder / "cache")):
                done = subprocess.run([INSITU, *map(str, words)], capture_output=True, preexec_fn=limit)
                self.assertEqual(done.returncode, -signal.SIGXFSZ, words)
                self.assertEqual([path.name for path in self.folder.rglob("*") if path.is_file()], ["out"] * old)
                self.assertTrue(not old or out.read_bytes() == b"old")

    def test_long_names(self):
        for size in (243, 250, 255):
            for words in (("compile", program("rolled"), "-o"), ("run", program("rolled"), "--zeros", "--output"), ("run", program("rolled"), "--zeros", "--save-state")):
                path = self.folder / ("n" * size)
                for _ in range(2):
                    must(*words, path)
                self.assertEqual(list(self.folder.iterdir()), [path])
                path.unlink()


class MadeInputs(Case):
    def out(self, name, *options):
        must("run", program(name), *options, "--output", self.folder / "out")
        return tensors.read(self.folder / "out")

    def test_every_program_runs(self):
        """With zeros and random inputs of its dtypes and sizes, or says in a sentence why its checks refuse them."""
        for name in ("rolled", "decoder", "numbers", "sizes", "two_caches", "decoder_dynamic", "kept_buffers"):
            for option in ("--zeros", "--random", "--random=7"):
                self.out(name, option)

    def test_zeros_are_what_a_file_of_zeros_gives(self):
        zeros = {name: (dtype, shape, bytes(len(data))) for name, (dtype, shape, data) in self.calls("rolled")[0].items()}
        tensors.write(self.folder / "in", zeros)
        self.assertEqual(self.out("rolled", "--zeros"), self.out("rolled", "--input", self.folder / "in"))

    def test_seeds(self):
        first = self.out("rolled", "--random=1")
        self.assertEqual(first, self.out("rolled", "--random=1"))
        self.assertNotEqual(first, self.out("rolled", "--random=2"))

    def test_sizes(self):
        self.assertEqual(self.out("sizes", "--zeros")["output.1"][1], (1, 3))
        out = self.out("sizes", "--zeros", "--size", "s2=5", "--size=s27=4")
        self.assertEqual((out["output.1"][1], out["output.3"][1]), ((5, 3), (4, 2)))
        done = insitu("run", program("sizes"), "--zeros", "--size", "n=5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no input has an open size 'n': there are s2, s27", done.stderr)
        self.assertEqual(insitu("run", program("sizes"), "--zeros", "--size", "s2=65").returncode, 1)


class Switches(Case):
    def log(self, name, value, *words):
        done = subprocess.run([INSITU, *map(str, words)], capture_output=True, text=True, env={**os.environ, name: value})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_values_that_are_not_known(self):
        source = program("swapped")
        self.assertIn("INSITU_DUMP: 'foo' is not known; the values are graph,network,plan", self.log("INSITU_DUMP", "foo", "explain", source))
        self.assertRegex(self.log("INSITU_DUMP_PASS", "foo", "explain", source), "INSITU_DUMP_PASS: 'foo' is not known; the values are all,.*functionalize")
        self.assertEqual(self.log("INSITU_DUMP", "", "explain", source), "")

    def test_why(self):
        """The reasons of copies, as explain has them."""
        log = self.log("INSITU_WHY", "1", "compile", program("swapped"), "-o", self.folder / "x")
        rows = json.loads(must("explain", program("swapped"), "--json").stdout)["report"]
        copied = [row for row in rows if row["reason"]]
        self.assertTrue(copied)
        for row in copied:
            self.assertIn(f"state '{row['name']}': {row['verdict']}", log)


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
        self.assertIn("there is no input 'cache', which output 'out' was to be: the program has 4: 'keys', 'values', 'key', 'value'", done.stderr)

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
