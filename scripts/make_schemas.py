#!/usr/bin/env python3
"""Writes src/graph/schemas.inc: the signature of every aten and prims operator of the installed PyTorch.

    make_schemas.py > src/graph/schemas.inc

An exported program holds operators of PyTorch's dispatcher only, so TorchScript's own language operators are left out.
Rows are sorted by the bytes of their target, which schema_find relies on. Each begins with the operator's identifier, by
which a row of operators.def is joined to it.
"""
import re
import sys

import torch

TYPES = {"Tensor": "TENSOR", "int": "INT", "SymInt": "INT", "float": "FLOAT", "SymFloat": "FLOAT", "bool": "BOOL", "SymBool": "BOOL",
         "Scalar": "SCALAR", "str": "STRING", "ScalarType": "DTYPE", "Layout": "LAYOUT", "Device": "DEVICE",
         "MemoryFormat": "MEMORY_FORMAT", "Generator": "GENERATOR"}
# PyTorch's own numbers -> those of the .pt2 format
DTYPES = {0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 11: 12, 15: 13}
MEMORY_FORMATS = {0: 1, 1: 4, 2: 2, 3: 3}
TYPE = re.compile(r"(?P<base>[\w.]+)(?:\((?P<alias>[^)]*)\))?(?P<suffix>[\[\]0-9?]*)$")


def split(text):
    """The parts between commas outside brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"' and (i == 0 or text[i - 1] != "\\"):
            quoted = not quoted
        elif not quoted and c in "([":
            depth += 1
        elif not quoted and c in ")]":
            depth -= 1
        elif not quoted and c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return parts + [last] if last else parts


def close(text):
    """Index of the parenthesis that closes the one at 0."""
    depth, quoted = 0, False
    for i, c in enumerate(text):
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        if not quoted:
            depth += (c == "(") - (c == ")")
            if depth == 0:
                return i
    raise ValueError(text)


def type_fields(text):
    """(type, flags, fixed size, alias letter) of a type such as 'SymInt[2]?' or 'Tensor(a!)[]'."""
    m = TYPE.match(text)
    if not m or m["base"] not in TYPES:
        return "OBJECT", [], 0, ""
    flags, alias, suffix = [], m["alias"] or "", m["suffix"]
    size = re.search(r"\[(\d+)\]", suffix)
    if "[" in suffix:
        flags.append("LIST")
        if suffix.startswith("?"):
            flags.append("OPTIONAL_ITEMS")
        if suffix.endswith("?"):
            flags.append("OPTIONAL")
    elif suffix == "?":
        flags.append("OPTIONAL")
    if "!" in alias:
        flags.append("WRITES")
    return TYPES[m["base"]], flags, int(size[1]) if size else 0, alias[:1]


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def default(argument, kind):
    value = argument.default_value
    if value is None:
        return "NO_VALUE"
    if kind == "DTYPE":
        return f"NUMBER({DTYPES[value]})"
    if kind == "MEMORY_FORMAT":
        return f"NUMBER({MEMORY_FORMATS[value]})"
    if isinstance(value, bool):
        return f"BOOLEAN({str(value).lower()})"
    if isinstance(value, int):
        return f"INTEGER({value})"
    if isinstance(value, float):
        return f"REAL({value!r})"
    if isinstance(value, str):
        return f"TEXT({quote(value)})"
    if isinstance(value, list) and all(type(v) is int for v in value):
        return f"INTEGERS({', '.join(map(str, value))})" if value else "NO_INTEGERS"
    raise ValueError(f"{argument.name}: default {value!r}")


def fields(name, kind, flags, size, alias, value):
    parts = [quote(name), kind] if name is not None else [kind]
    if flags:
        parts.append(".flags = " + " | ".join(flags))
    if size:
        parts.append(f".size = {size}")
    if alias:
        parts.append(f".alias = '{alias}'")
    if value:
        parts.append(value)
    return f"{'ARG' if name is not None else 'RETURN'}({', '.join(parts)})"


def identifier(target):
    """The operator's name in src/graph/operators.def."""
    return target.replace(".", "_")


def row(schema):
    text = str(schema)
    body = text[text.index("("):]
    end = close(body)
    texts = [t for t in split(body[1:end]) if t != "*"]
    assert len(texts) == len(schema.arguments), text
    arguments = []
    for argument, item in zip(schema.arguments, texts):
        # the type ends at the last space before the name and its default
        type_text = item[:item.index(" " + argument.name + ("=" if argument.has_default_value() else ""))] \
            if not item.endswith(" " + argument.name) else item[:-len(argument.name) - 1]
        kind, flags, size, alias = type_fields(type_text)
        if argument.kwarg_only:
            flags = flags + ["KEYWORD"]
        arguments.append(fields(argument.name, kind, flags, size, alias,
                                default(argument, kind) if argument.has_default_value() else ""))
    result = body[end + 1:].removeprefix(" -> ")
    results = split(result[1:-1]) if result.startswith("(") else [result]
    # results may be named: "Tensor values"
    results = [fields(None, *type_fields(re.sub(r"(\)|\]|\?|\w) \w+$", r"\1", r)), "") for r in results]
    name = schema.name.replace("::", ".") + "." + (schema.overload_name or "default")
    writes = any("WRITES" in a for a in arguments)
    return name, f"SCHEMA({identifier(name)}, {quote(name)}, {str(writes).lower()},\n       " \
                 f"{'ARGS(' + ', '.join(arguments) + ')' if arguments else 'NO_ARGS'},\n       " \
                 f"{'RETURNS(' + ', '.join(results) + ')' if results else 'NO_RETURNS'})"


def main():
    known = set(torch._C._dispatch_get_all_op_names())
    rows = []
    for schema in torch._C._jit_get_all_schemas():
        full = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        namespace, name = schema.name.split("::", 1)
        if namespace in ("aten", "prims") and full in known and not name.startswith("_test_"):
            rows.append(row(schema))
    rows.sort(key=lambda r: r[0].encode())
    if len({identifier(name) for name, _ in rows}) != len(rows):
        return "two operators have one identifier"
    print(f"/* Written by scripts/make_schemas.py from PyTorch {torch.__version__.split('+')[0]}: {len(rows)} operators. */")
    for _, text in rows:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
