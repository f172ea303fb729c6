"""Writes the fenced blocks of one language of a Markdown page, in order, as one file.

usage: extract_blocks.py PAGE LANGUAGE FILE
"""
import pathlib
import re
import sys


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


if __name__ == "__main__":
    page, language, target = sys.argv[1:]
    pathlib.Path(target).write_text("\n".join(blocks(pathlib.Path(page).read_text(), language)))
