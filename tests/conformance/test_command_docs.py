"""Every example of docs/command-line.md and docs/in-place.md runs."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tensors
from command import DATA, HERE, INSITU, inputs_of, program, stored


class Examples(unittest.TestCase):
    def test_examples(self):
        texts = [(HERE.parent.parent / "docs" / page).read_text() for page in ("command-line.md", "in-place.md")]
        lines = [line for text in texts for line in re.findall(r"^\$ (.*)$", text, re.M)]
        self.assertGreater(len(lines), 10)
        io = stored("decoder")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copy(program("decoder"), folder / "decoder.pt2")
            shutil.copy(program("paired_caches"), folder / "paired_caches.pt2")
            for call in range(2):
                tensors.write(folder / f"step{call}.safetensors", inputs_of(io, call))
            for call in range(2):
                shutil.copy(DATA / f"decoder.train.values{call}.safetensors", folder / f"values{call}.safetensors")
            (folder / "bin").mkdir()
            (folder / "bin" / "insitu").symlink_to(pathlib.Path(INSITU).resolve())
            path = f"{folder / 'bin'}:{os.environ['PATH']}"
            for line in lines:
                done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path})
                self.assertEqual(done.returncode, 0, f"{line}\n{done.stderr}")
            for call in range(2):
                self.assertIsNone(tensors.difference(io[f"call{call}.output.0"],
                                                     tensors.read(folder / f"out{call}.safetensors")["output.0"]))


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
