#!/usr/bin/env python3
"""Writes what follows from the prototypes of include/insitu/layers.h and the tables of layers.

    make_layer_functions.py            writes the files anew
    make_layer_functions.py --check    fails if one of them is not what this would write

    src/builder/add_layers.inc     the functions that only put their arguments where the layer has them: a parameter is the
                                   operand or attribute of its name. Those that do more are written by hand in add_*.c
    tests/unit/null_layers.inc     every function, called without a network and without a place for its results
    tests/tools/layer_calls.inc    every function that gives out tensors behind one signature, and which arguments count
    tests/install/insitu.symbols   every function, among the library's other symbols

A parameter's type says what it is: insitu_value is an operand (one beyond the layer's fewest may be left out),
insitu_number, int, double and bool are attributes (a flag that may be absent is absent if false), a count goes with the
pointers that follow it.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION = re.compile(r"^INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_(\w+)\(([^)]*)\);$", re.M)
PARAMETER = re.compile(r"(.*?)(\w+)$")
COUNTS = ("ndim", "count")
VALUES = {"const char *": '"add"', "insitu_value": "v", "insitu_number": "n", "int32_t": "1", "int64_t": "1", "bool": "false", "double": "0",
          "const insitu_number *": "&n", "const int32_t *": "&dim", "const insitu_value *": "&v", "const insitu_window *": "NULL",
          "insitu_dtype": "f32", "insitu_cache_layout": "INSITU_CACHE_BHSD", "insitu_diag *": "&w->diag"}


def prototypes():
    """(name, [(type, name)]) of each function, in the header's order."""
    text = (ROOT / "include/insitu/layers.h").read_text()
    for name, parameters in FUNCTION.findall(text):
        pairs = [PARAMETER.match(" ".join(parameter.split())).groups() for parameter in parameters.split(",")]
        yield name, [(kind.strip(), parameter) for kind, parameter in pairs]


def layers():
    """Name -> (identifier, fewest operands, results)."""
    rows = re.findall(r'^LAYER\((\w+),\s*"(\w+)",\s*(\d+),\s*\w+,\s*(\d+),', (ROOT / "src/core/layers.def").read_text(), re.M)
    return {name: (identifier, int(fewest), int(results)) for identifier, name, fewest, results in rows}


def attributes():
    """Identifier of a layer -> {identifier of an attribute: it may be absent}."""
    text = (ROOT / "src/core/attrs.def").read_text()
    rows = re.findall(r"^ATTRS\((\w+),\s*(.*)\)$", text, re.M)
    return {layer: {name: word == "OPTIONAL" for word, name in re.findall(r"(ATTR|OPTIONAL)\((\w+)\)", row)} for layer, row in rows}


def by_hand():
    files = (ROOT / "src/builder").glob("add_*.c")
    return {name for path in files for name in re.findall(r"^insitu_status insitu_network_add_(\w+)\(", path.read_text(), re.M)}


def statement(kind, name, count, operand, row, attrs):
    """The call that takes a parameter; its attribute, or None."""
    identifier, fewest, _ = row
    attr = name.upper()
    if kind == "insitu_value":
        return f"build_{'operand' if operand < fewest else 'optional'}(&build, {name});", None
    if kind == "const insitu_value *":
        return f'build_operands(&build, {count}, {name}, "{name}");', None
    if attr not in attrs:
        raise ValueError(f"{identifier} has no attribute {attr}")
    if kind == "const char *" and attr == "OP":
        return "build_op(&build, op);", attr
    if kind == "insitu_dtype":
        return f"build_dtype(&build, {name});", attr
    if kind == "bool" and attrs[attr]:
        return f"if ({name}) build_flag(&build, ATTR_{attr}, true);", attr
    call = {"insitu_number": "number", "int32_t": "int", "int64_t": "int", "double": "float", "bool": "flag"}.get(kind)
    if call:
        return f"build_{call}(&build, ATTR_{attr}, {name});", attr
    call = {"const insitu_number *": "numbers", "const int32_t *": "dims"}[kind]
    return f"build_{call}(&build, ATTR_{attr}, {count}, {name});", attr


def implementation(name, parameters, row, attrs):
    lines, outs, count, operand, taken = [], [], None, 0, set()
    for position, (kind, parameter) in enumerate(parameters):
        is_count = kind == "int32_t" and parameter in COUNTS and parameters[position + 1][0].endswith("*")
        if kind in ("insitu_network *", "insitu_diag *"):
            continue
        if kind == "insitu_value *":
            outs.append(parameter)
        elif is_count:
            count = parameter
        else:
            line, attr = statement(kind, parameter, count, operand, row, attrs)
            operand += kind == "insitu_value"
            taken.add(attr)
            lines.append(line)
    missing = {attr for attr, optional in attrs.items() if not optional} - taken
    if missing or len(outs) != row[2]:
        raise ValueError(f"insitu_network_add_{name} lacks {', '.join(sorted(missing)) or 'a result'}")
    signature = ", ".join(f"{kind}{'' if kind.endswith('*') else ' '}{parameter}" for kind, parameter in parameters)
    outs += ["NULL"] * (2 - len(outs))
    body = [f"layer_build_t build;", f"build_open(&build, network, LAYER_{row[0]}, __func__, {', '.join(outs)}, diag);", *lines,
            "return build_close(&build);"]
    return f"insitu_status insitu_network_add_{name}({signature}) {{\n" + "".join(f"    {line}\n" for line in body) + "}\n"


def functions():
    known, attrs, hand = layers(), attributes(), by_hand()
    texts = [implementation(name, parameters, known[name], attrs[known[name][0]])
             for name, parameters in prototypes() if name in known and name not in hand]
    return "/* Written by scripts/make_layer_functions.py from insitu/layers.h and core/layers.def. */\n\n" + "\n".join(texts)


def null_calls():
    lines = []
    for name, parameters in prototypes():
        outs = [parameter for _, parameter in parameters if parameter.startswith("out_")]
        for network, given in (("NULL", True), ("w->network", False)):
            arguments = []
            for kind, parameter in parameters[1:]:
                if parameter in outs:
                    place = "&n" if kind == "insitu_number *" else ("&v", "&u")[outs.index(parameter)]
                    arguments.append(place if given else "NULL")
                else:
                    arguments.append(VALUES[kind])
            lines.append(f"NEEDS({name}, {', '.join([network, *arguments])});\n")
    return "/* Written by scripts/make_layer_functions.py from insitu/layers.h. */\n" + "".join(lines)


PLACES = {"dim": ("g->dim", "DIM"), "dim1": ("g->dim", "DIM"), "dim2": ("g->dim2", "DIM2"), "count": ("g->count", "COUNT")}
NUMBERS = {"start": 0, "end": 1, "step": 2, "size": 1, "count": 1}  # others: 0
LIMITS = ("START", "END", "STEP")


def call_arguments(parameters):
    """The arguments of a call of layer_calls.h, and what they use."""
    arguments, uses, lists, operand, is_counted = [], [], 0, 0, False
    for position, (kind, name) in enumerate(parameters[1:-1], 1):
        argument = use = None
        if kind == "int32_t" and name in COUNTS and parameters[position + 1][0].endswith("*"):
            is_counted = True
            continue
        if kind in ("insitu_value *", "insitu_value"):
            argument = "&r->values[%d]" % (parameters[position - 1][0] == kind) if kind.endswith("*") else f"g->operands[{operand}]"
            operand += kind == "insitu_value"
        elif kind == "const insitu_number *":
            argument, use = (("g->rank, g->first", "SIZES"), ("g->second", "AFTER"))[lists]
            lists += 1
        elif kind in ("const int32_t *", "const insitu_value *"):
            argument, use = (("g->dim_count, g->dims", "DIMS") if kind == "const int32_t *" else
                             ("g->value_count, g->values" if is_counted else "g->values", "LIST"))
            is_counted = False
        elif kind == "insitu_number":
            argument, use = f"g->numbers[{NUMBERS.get(name, 0)}]", LIMITS[NUMBERS.get(name, 0)]
        elif kind == "int64_t":
            argument, use = ("g->integers[0]", "STEP") if name == "step" else ("g->integers[1]", None)
        elif kind == "bool":
            argument = f"g->flags[{int(name == 'accumulate')}]"
        elif kind == "int32_t":
            argument, use = PLACES[name]
        else:
            argument, use = {"const char *": ("g->op", "OP"), "insitu_dtype": ("g->dtype", "DTYPE"), "double": ("g->real", None),
                             "const insitu_window *": ("g->window", "WINDOW"), "insitu_cache_layout": ("g->layout", None)}[kind]
        arguments.append(argument)
        uses += [f"USES_{use}"] if use else []
    return ", ".join(arguments), " | ".join(uses) or "0"


def calls():
    rows = [(name, *call_arguments(parameters)) for name, parameters in prototypes() if parameters[-2][0] == "insitu_value *"]
    return ("/* Written by scripts/make_layer_functions.py from insitu/layers.h. */\n" +
            "".join(f"CALL({name}, {arguments})\n" for name, arguments, _ in rows) +
            "enum {\n" + "".join(f"    USES_OF_{name} = {uses},\n" for name, _, uses in rows) + "};\n")


def symbols():
    path = ROOT / "tests/install/insitu.symbols"
    names = set(path.read_text().split()) | {f"insitu_network_add_{name}" for name, _ in prototypes()}
    return "".join(f"{name}\n" for name in sorted(names))


def main():
    faults = 0
    for name, text in (("src/builder/add_layers.inc", functions()), ("tests/unit/null_layers.inc", null_calls()),
                       ("tests/tools/layer_calls.inc", calls()),
                       ("tests/install/insitu.symbols", symbols())):
        path = ROOT / name
        if sys.argv[1:] != ["--check"]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{name} is not what scripts/make_layer_functions.py writes")
            faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
