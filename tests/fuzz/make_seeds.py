#!/usr/bin/env python3
"""Makes the first inputs of the fuzz targets from the test programs and golden texts, and their dictionaries.

    make_seeds.py --tool build/fuzz/bin/insitu --out build/fuzz/seeds

writes OUT/TARGET/..., and OUT/TARGET.dict where words help.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import torch_files

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))
import operator_table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LARGEST = 30000  # bytes of a program: larger ones are slow, and add little
WORD = re.compile(r"[A-Za-z_][\w.]*")
# What expressions are made of that the sources' tables don't list.
SREPR = ["Symbol('s0', integer=True)", "Symbol('u0', positive=True, integer=True)", "Add(", "Mul(", "Integer(", "Float('1.5', ",
         "precision=53)", "Rational(1, 2)", "Pow(", "true", "false", "oo", "Piecewise(", "Eq(", "Ne(", "Lt(", "Mod("]
INFIX = ["s0 + 1", "2*s77 - 3", "s77 // 4", "(s77 + 3) % s0", "max(1, u0)", "min(s77, s0*s0)", "where(s0 < 4, s0, 2*u0)",
         "not s0 == 4 or s77 >= 7 and b0", "float(s0)/3.0", "zf0*1e300", "pow(s0, 3)", "s77 << 2", "u0 >> 1", "abs(u0)",
         "bitand(s0, 7)", "trunc(sqrt(float(s77)))", "round(2.5)", "-(s0 - s77)*(s0 + s77)", "new_symbol + 1", "inf", "nan"]


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def small_programs():
    return [path for path in sorted((ROOT / "tests/data").glob("*.pt2")) if path.stat().st_size <= LARGEST]


def compile_program(tool, path, folder):
    """(engine file or None, {form: text} of its graph, network and plan)"""
    engine = pathlib.Path(folder) / "engine"
    engine.unlink(missing_ok=True)
    environment = {**os.environ, "INSITU_DUMP": "graph,network,plan"}
    done = subprocess.run([tool, "compile", path, "-o", engine], env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{path}: {done.stderr}")
    forms = {"graph": "", "network": "", "plan": ""}
    for part in re.split(r"^(?=# (?:graph|graph after passes|network|plan)\n)", done.stderr, flags=re.M):
        head, _, text = part.partition("\n")
        if head[2:] in forms:
            forms[head[2:]] = text
    return engine.read_bytes() if engine.exists() else None, forms


def golden_cases():
    """(name, text before the '# ---') of every case of the golden files."""
    for path in sorted((ROOT / "tests/golden").rglob("*")):
        if path.suffix in (".graph", ".network"):
            for number, case in enumerate(path.read_text().split("# =====\n")):
                text = "".join(line for line in case.split("# ---\n")[0].splitlines(True) if not line.startswith("# "))
                yield f"{path.stem}_{number}", text


def write_dictionary(path, words):
    lines = ['"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in sorted(set(words)) if len(word) < 60]
    write(path, "\n".join(lines) + "\n")


def table_words(*paths):
    """The strings of .def tables."""
    return [word for path in paths for word in re.findall(r'"([^"\s]+)"', (ROOT / "src" / path).read_text())]


def every_argument(path, without=()):
    """The archive with a node that has every kind of argument but some: all are read, and what can't be used is refused."""
    arguments = {
        "as_tensors": [{"name": "x"}], "as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": True}],
        "as_optional_tensor": {"as_tensor": {"name": "x"}}, "as_none": True, "as_int": -3, "as_ints": [1, 2], "as_float": 0.5,
        "as_floats": [1.5, "Infinity"], "as_bool": True, "as_bools": [True, False], "as_string": "text", "as_strings": ["a", "b"],
        "as_sym_int": {"as_int": 4}, "as_sym_ints": [{"as_int": 4}], "as_sym_float": {"as_float": 0.5},
        "as_sym_floats": [{"as_float": 0.5}], "as_sym_bool": {"as_bool": True}, "as_sym_bools": [{"as_bool": False}],
        "as_scalar_type": 7, "as_memory_format": 1, "as_layout": 7, "as_device": {"type": "cuda", "index": 1},
        "as_complex": {"real": 1.0, "imag": -2.0}, "as_operator": "torch.ops.aten.add.Tensor",
        "as_nested_tensors": [[{"name": "x"}], []], "as_int_lists": [[1, 2], []], "as_float_lists": [[0.5]],
        "as_string_to_argument": {"key": {"as_int": 1}}}

    def change(model):
        graph = model["graph_module"]["graph"]
        inner = {**json.loads(json.dumps(graph)), "nodes": []}
        inner["outputs"] = inner["inputs"]
        x = next(i["as_tensor"]["name"] for i in graph["inputs"] if "as_tensor" in i)
        values = json.loads(json.dumps(arguments).replace('{"name": "x"}', json.dumps({"name": x})))
        values["as_graph"] = {"name": "inner", "graph": inner}
        inputs = [{"name": f"argument_{key}", "arg": {key: value}, "kind": 1} for key, value in values.items()
                  if key not in without]
        node = {**graph["nodes"][0], "target": "torch.ops.custom.every.default", "inputs": inputs, "name": "every",
                "outputs": [{"as_none": True}]}
        branch = {**node, "target": "torch.ops.higher_order.cond", "name": "branch",
                  "inputs": [{"name": "", "arg": {key: values[key]}, "kind": 1}
                             for key in ("as_bool", "as_graph", "as_tensors")]}
        graph["nodes"] += [node, branch]

    with zipfile.ZipFile(path) as archive:
        records = [(name, archive.read(name)) for name in archive.namelist()]
    for number, (name, data) in enumerate(records):
        if "/models/" in name:
            model = json.loads(data)
            change(model)
            records[number] = (name, json.dumps(model))
    return torch_files.stored_zip(records)


def make_archives(out):
    program = ROOT / "tests/data/swapped.train.pt2"
    write(out / "archive/every_argument", every_argument(program))
    write(out / "archive/every_usable_argument", every_argument(program, ("as_string_to_argument", "as_operator")))
    for number, path in enumerate(small_programs()):
        flat, middle, pickle_bytes = torch_files.older_containers(path, 2 if number % 3 else 4, number % 4)
        write(out / "archive" / path.name, path.read_bytes())
        if path.stat().st_size < LARGEST // 2:
            write(out / "archive" / f"{path.stem}.{'flat' if number % 2 else 'pickled'}", flat if number % 2 else middle)
        write(out / "unpickle" / path.stem, pickle_bytes)
    for number, value in enumerate(([1, 2.5, "text", None, True, (1, 2, 3, 4), {"a": [-1, 1 << 40]}], {}, -300, [[], ()])):
        write(out / "unpickle" / f"plain_{number}", torch_files.pickled(value, 2 + number % 3))


def make_compiled(tool, out):
    with tempfile.TemporaryDirectory() as folder:
        for path in small_programs():
            engine, forms = compile_program(tool, path, folder)
            if engine:
                write(out / "engine" / path.stem, engine)
            for form, text in forms.items():
                if text:
                    write(out / form / path.stem, text)
    for name, text in golden_cases():
        write(out / ("graph" if text.lstrip().startswith("graph") else "network") / name, text)


def make_files(out):
    for path in sorted((ROOT / "tests/data").glob("*.safetensors")):
        if path.stat().st_size < 4096:
            write(out / "safetensors" / path.stem, path.read_bytes())
    header = (b'{"sum":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"count":{"dtype":"I64","shape":[],"data_offsets":'
              b'[24,32]},"turned":{"dtype":"F16","shape":[4,2],"data_offsets":[32,48]},"flag":{"dtype":"BOOL","shape":[5],'
              b'"data_offsets":[48,53]},"kept":{"dtype":"F32","shape":[2,2],"data_offsets":[53,69]}}')
    kept = b"".join(value.to_bytes(4, "little") for value in (0x3f800000, 0x40000000, 0x40400000, 0x40800000))
    write(out / "safetensors/state", len(header).to_bytes(8, "little") + header + bytes(53) + kept)
    for number, text in enumerate(INFIX):
        write(out / "expression" / f"infix_{number}", text)
    saved = set()
    for path in small_programs():
        for text in re.findall(rb'"expr_str":\s*"((?:[^"\\]|\\.)*)"', path.read_bytes()):
            saved.add(text.decode())
    for number, text in enumerate(sorted(saved)):
        write(out / "expression" / f"srepr_{number}", text)


def make_scripts(out):
    """Scripts of builder calls (tests/fuzz/builder_script.h): each call with good arguments, alone, and all after each other."""
    calls = [bytes([number]) + bytes(15) for number in range(64)]
    for number, call in enumerate(calls):
        write(out / "builder" / f"call_{number}", bytes([number]) + call + bytes(32))
    for first in range(0, 64, 8):
        write(out / "builder" / f"calls_{first}", bytes([first]) + b"".join(calls[first:first + 20]))


def make_dictionaries(out):
    operators = sorted(operator_table.facts())
    layers = table_words("core/layers.def", "core/attrs.def", "core/ops.def", "core/dtypes.def")
    symbols = table_words("core/sym_ops.def")
    schema_words = set()
    for folder in ("graph", "network"):
        for path in (out / folder).iterdir():
            schema_words.update(WORD.findall(path.read_text()))
    write_dictionary(out / "graph.dict", operators + table_words("core/dtypes.def") + list(schema_words))
    write_dictionary(out / "network.dict", layers + list(schema_words))
    plan_words = re.findall(r'FIELD\(.*?"(\w+)"', (ROOT / "src/plan/plan_fields.def").read_text())
    write_dictionary(out / "plan.dict", layers + plan_words + table_words("plan/counters.def"))
    write_dictionary(out / "expression.dict", symbols + SREPR)
    json_words = ["as_tensor", "as_tensors", "as_int", "as_ints", "as_none", "as_sym_int", "as_sym_bool", "as_expr", "as_name",
                  "as_graph", "as_float", "as_string", "as_optional_tensors", "as_scalar_type", "buffer_mutation",
                  "user_input_mutation", "user_output", "loss_output", "token", "PK\\x03\\x04", "PK\\x01\\x02", "PK\\x05\\x06"]
    write_dictionary(out / "archive.dict", ["torch.ops." + name for name in operators])
    with open(out / "archive.dict", "a") as file:
        file.writelines(f'"{word}"\n' for word in json_words)
    write_dictionary(out / "engine.dict", layers + symbols)
    write_dictionary(out / "safetensors.dict", table_words("core/dtypes.def") + ["data_offsets", "shape", "__metadata__"])
    globals_table = (ROOT / "src/archive/unpickle_globals.c").read_text()
    words = [f"c{module}\\x0a{name}\\x0a" for module, name in re.findall(r'\{"([\w.]+)", "(\w+)"', globals_table)]
    write(out / "unpickle.dict", "".join(f'"{word}"\n' for word in words + ["storage", "cpu", "\\x80\\x02", "tQ", "tR", "\\x85R"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    make_archives(options.out)
    make_compiled(options.tool.resolve(), options.out)
    make_files(options.out)
    make_scripts(options.out)
    make_dictionaries(options.out)


if __name__ == "__main__":
    main()
