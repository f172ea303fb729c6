"""The rows of src/graph/operators.def, with the targets that src/graph/schemas.inc has for them."""
import pathlib
import re

GRAPH = pathlib.Path(__file__).resolve().parent.parent / "src/graph"


def targets():
    """Identifier -> target, of every operator of the tables of schemas."""
    text = (GRAPH / "symbolic_schemas.inc").read_text() + (GRAPH / "schemas.inc").read_text()
    return dict(re.findall(r'^SCHEMA\((\w+), "([^"]+)"', text, re.M))


def facts():
    """Target -> its facts, as written: 'CONVERT(convert_view, 0) NOOP(RESHAPE)'."""
    known = targets()
    rows = re.findall(r"^OPERATOR\((\w+),\s*(.*)\)(?: /\*.*\*/)?$", (GRAPH / "operators.def").read_text(), re.M)
    return {known[identifier]: text for identifier, text in rows}


def converted():
    """Targets that have a converter."""
    return {target for target, text in facts().items() if text.startswith("CONVERT(")}
