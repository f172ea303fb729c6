"""Every example of docs/command-line.md, docs/in-place.md and docs/examples.md runs."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

import tensors
from command import DATA, HERE, INSITU

ROOT = HERE.parent.parent


def save_file(named, path):
    """What the page's recipe gets for safetensors.torch, where that is not installed: whole numbers alone."""
    def shape_of(value):
        return (len(value), *shape_of(value[0])) if isinstance(value, list) else ()

    def flat(value):
        return [number for item in value for number in flat(item)] if isinstance(value, list) else [value]

    tensors.write(pathlib.Path(path), {name: tensors.make("I64", shape_of(value), flat(value)) for name, value in named.items()})


def run_python(text):
    stubs = {"torch": types.SimpleNamespace(tensor=lambda values: values), "safetensors": types.ModuleType("safetensors"),
             "safetensors.torch": types.SimpleNamespace(save_file=save_file)}
    kept = {name: sys.modules.get(name) for name in stubs}
    sys.modules.update(stubs)
    try:
        exec(text, {})
    finally:
        for name, module in kept.items():
            sys.modules.pop(name)
            if module:
                sys.modules[name] = module


class Examples(unittest.TestCase):
    def run_pages(self, folder, *pages):
        """The pages' commands and Python blocks in order, in a folder that has the tree's files and nothing else."""
        (folder / "tests").symlink_to(ROOT / "tests")
        (folder / "bin").mkdir()
        for name, path in (("insitu", INSITU), ("streaming", os.environ.get("INSITU_STREAMING"))):
            if path:
                (folder / "bin" / name).symlink_to(pathlib.Path(path).resolve())
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        before, count = os.getcwd(), 0
        os.chdir(folder)
        self.addCleanup(os.chdir, before)
        for page in pages:
            text = (ROOT / "docs" / page).read_text()
            for line, block in re.findall(r"^\$ ([^\n]*)$|^```python\n((?:import|from) .*?)^```$", text, re.M | re.S):
                count += 1
                if block:
                    run_python(block)
                    continue
                done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path})
                self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")
        os.chdir(before)
        return count

    def test_commands(self):
        io = tensors.read(DATA / "decoder.io.safetensors")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.assertGreater(self.run_pages(folder, "command-line.md", "in-place.md"), 20)
            for call in range(2):
                self.assertEqual(tensors.read(folder / f"out{call}.safetensors")["output.0"][1], io["call0.output.0"][1])

    @unittest.skipUnless("INSITU_STREAMING" in os.environ, "the examples are not built")
    def test_examples(self):
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(self.run_pages(pathlib.Path(name), "examples.md"), 3)


class Paths(unittest.TestCase):
    def test_every_file_that_a_page_names_is_there(self):
        root = HERE.parent.parent
        pages = [root / "README.md", root / "HACKING.md", *sorted((root / "docs").glob("*.md"))]
        self.assertGreater(len(pages), 8)
        for page in pages:
            text = page.read_text()
            named = re.findall(r"(?<![\w/.<-])((?:src|docs|scripts|tests|include|examples|tools)/[\w./*-]*\w)(?![\w/<*]|\.\w)", text)
            linked = [str((page.parent / link).relative_to(root)) for link in re.findall(r"\]\(([\w.-]+\.md)\)", text)]
            for name in named + linked:
                if not re.search(r"[A-Z]{3}", name):
                    self.assertTrue(list(root.glob(name)), f"{page.name} names {name}")
