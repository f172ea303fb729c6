"""A second reading of a .pt2 file, as what `insitu inspect --json --values` must print: standard library alone, nothing
shared with the command. Reads raw archives (torch 2.9 and later); `printed_program` takes the parts of any other."""
import json
import struct
import zipfile

DTYPES = {1: ("u8", "B"), 2: ("i8", "b"), 3: ("i16", "h"), 4: ("i32", "i"), 5: ("i64", "q"), 6: ("f16", "e"), 7: ("f32", "f"),
          8: ("f64", "d"), 9: ("c32", "ee"), 10: ("c64", "ff"), 11: ("c128", "dd"), 12: ("bool", "?"), 13: ("bf16", None),
          28: ("u16", "H"), 29: ("f8e4m3fn", None), 30: ("f8e5m2", None), 31: ("f8e4m3fnuz", None), 32: ("f8e5m2fnuz", None),
          33: ("f8e8m0", None), 34: ("u32", "I"), 35: ("u64", "Q")}
MEMORY_FORMATS = {1: "contiguous", 2: "channels_last", 3: "channels_last_3d", 4: "preserve"}
LAYOUTS = {1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 4: "sparse_bsr", 5: "sparse_bsc", 6: "mkldnn", 7: "strided"}
WIDTHS = {"bf16": 2, "f8e5m2": 1}


def only(union):
    (key, content), = union.items()
    return key, content


# ---- the program's JSON, in the words of the command's ----


def number(text):
    """JSON numbers of floats: what Python writes bare is a word in quotes."""
    if isinstance(text, float) and (text != text or abs(text) == float("inf")):
        return "NaN" if text != text else "Infinity" if text > 0 else "-Infinity"
    return text


def printed_sym(union):
    key, content = only(union)
    if key != "as_expr":
        return number(content)
    hint = content.get("hint")
    return {"expression": content["expr_str"], "hint": hint and only(hint)[1]}


def printed_device(device):
    return device["type"] + ("" if device.get("index") is None else f":{device['index']}")


def printed_tensor(meta):
    return {"dtype": DTYPES[meta["dtype"]][0], "sizes": [printed_sym(size) for size in meta["sizes"]],
            "strides": [printed_sym(stride) for stride in meta["strides"]],
            "offset": printed_sym(meta.get("storage_offset") or {"as_int": 0}), "device": printed_device(meta["device"]),
            "requires_grad": meta.get("requires_grad", False)}


def symbolic(union):
    key, content = only(union)
    return {"value": content} if key == "as_name" else number(content)


def optional(union):
    key, content = only(union)
    return None if key == "as_none" else content["name"]


def names(items):
    return [item["name"] for item in items]


def same(content):
    return content


ARGUMENTS = {
    "as_none": ("none", lambda content: None),
    "as_tensor": ("tensor", lambda content: content["name"]),
    "as_tensors": ("tensors", names),
    "as_optional_tensors": ("tensors", lambda content: [optional(item) for item in content]),
    "as_nested_tensors": ("nested_tensors", lambda content: [names(items) for items in content]),
    "as_int": ("int", same), "as_ints": ("ints", same), "as_int_lists": ("int_lists", same),
    "as_bool": ("bool", same), "as_bools": ("bools", same),
    "as_float": ("float", number), "as_floats": ("floats", lambda content: [number(item) for item in content]),
    "as_float_lists": ("float_lists", lambda content: [[number(item) for item in items] for items in content]),
    "as_sym_int": ("int", symbolic), "as_sym_ints": ("ints", lambda content: [symbolic(item) for item in content]),
    "as_sym_float": ("float", symbolic), "as_sym_floats": ("floats", lambda content: [symbolic(item) for item in content]),
    "as_sym_bool": ("bool", symbolic), "as_sym_bools": ("bools", lambda content: [symbolic(item) for item in content]),
    "as_complex": ("complex", lambda content: [number(content["real"]), number(content["imag"])]),
    "as_string": ("string", same), "as_strings": ("strings", same), "as_operator": ("operator", same),
    "as_scalar_type": ("dtype", lambda content: DTYPES[content][0]),
    "as_memory_format": ("memory_format", MEMORY_FORMATS.get),
    "as_layout": ("layout", LAYOUTS.get),
    "as_device": ("device", printed_device),
    "as_custom_obj": ("object", lambda content: {"value": content["name"], "class": content["class_fqn"]}),
    "as_graph": ("graph", lambda content: {"name": content["name"], "graph": printed_graph(content["graph"])}),
    "as_string_to_argument": ("map", lambda content: {key: printed_argument(item) for key, item in content.items()}),
}


def printed_argument(union):
    key, content = only(union)
    if key == "as_optional_tensor":
        name = optional(content)
        return {"none": None} if name is None else {"tensor": name}
    word, convert = ARGUMENTS[key]
    return {word: convert(content)}


def printed_node(node):
    """Without its source and module, which are taken from stack traces; name: None where the file has none."""
    printed = {"name": node.get("name"), "target": node["target"],
               "inputs": [{"name": item["name"], "keyword": item.get("kind") == 2, "argument": printed_argument(item["arg"])}
                          for item in node["inputs"]],
               "outputs": [printed_argument(output) for output in node["outputs"]]}
    if node.get("is_hop_single_tensor_return"):
        printed["single_tensor_return"] = True
    return printed


def printed_graph(graph):
    values = {name: {"tensor": printed_tensor(meta)} for name, meta in graph["tensor_values"].items()}
    for kind in ("int", "float", "bool"):
        values.update({name: {kind: printed_sym(sym)} for name, sym in graph.get(f"sym_{kind}_values", {}).items()})
    values.update({name: {"object": row["class_fqn"]} for name, row in graph.get("custom_obj_values", {}).items()})
    return {"inputs": [printed_argument(item) for item in graph["inputs"]], "values": values,
            "nodes": [printed_node(node) for node in graph["nodes"]],
            "outputs": [printed_argument(item) for item in graph["outputs"]],
            "single_tensor_return": graph.get("is_single_tensor_return", False)}


def printed_input(spec, argument):
    key, content = only(spec)
    printed = {"kind": key, "argument": printed_argument(argument)}
    if key in ("parameter", "buffer", "tensor_constant"):
        printed.update(name=content["arg"]["name"], fqn=content[f"{key}_name"])
    if key == "buffer":
        printed["persistent"] = content.get("persistent", True)
    if key == "user_input":
        form, content = only(content["arg"])
        name = content["name"] if form == "as_tensor" else content.get("as_name") if form.startswith("as_sym") else None
        printed.update(kind="constant" if name is None else "user", name=name or "")
    if key == "constant_input":
        printed.update(kind="constant", name=content["name"])
    return printed


def printed_output(spec, argument):
    key, content = only(spec)
    kinds = {"user_output": "user", "user_input_mutation": "input_mutation"}
    printed = {"kind": kinds.get(key, key), "argument": printed_argument(argument)}
    targets = [value for name, value in content.items() if name != "arg"]
    if targets:
        printed["target"], = targets
    return printed


def printed_program(document, weights, constants):
    """document: the program's JSON; weights, constants: name -> what stored_tensor gives."""
    module = document["graph_module"]
    graph, signature = module["graph"], module["signature"]
    call, = (row["signature"] for row in module["module_call_graph"] if row["fqn"] == "")
    schema = document["schema_version"]
    return {
        "torch_version": document.get("torch_version", ""), "schema_version": [schema["major"], schema["minor"]],
        "verifiers": document["verifiers"],
        "opset_version": {name: str(version) for name, version in document["opset_version"].items()},
        "ranges": {name: [row["min_val"], row["max_val"]] for name, row in document["range_constraints"].items()},
        "guards": document.get("guards_code", []),
        "inputs": [printed_input(*pair) for pair in zip(signature["input_specs"], graph["inputs"], strict=True)],
        "outputs": [printed_output(*pair) for pair in zip(signature["output_specs"], graph["outputs"], strict=True)],
        "in_spec": json.loads(call["in_spec"]), "out_spec": json.loads(call["out_spec"]),
        "forward_arg_names": call.get("forward_arg_names"),
        "modules": [{"fqn": row["fqn"], "signature": row.get("signature") is not None}
                    for row in module["module_call_graph"] if row["fqn"]],
        "metadata": list(module.get("metadata") or {}), "graph": printed_graph(graph),
        "weights": weights, "constants": constants,
    }


# ---- stored tensors ----


def stored_tensor(dtype, sizes, strides, offset, is_parameter, data, at, record):
    """data[at:] is the storage's record; record: its name."""
    printed = {"dtype": DTYPES[dtype][0], "sizes": sizes, "strides": strides, "offset": offset, "parameter": is_parameter,
               "values": elements(dtype, sizes, strides, offset, data, at)}
    if printed["values"]:
        printed.update(record=record, record_position=at)
    return printed


def widened(name, raw):
    """Two of the floats that struct does not know, which are the upper bytes of one that it knows."""
    return struct.unpack("<f", b"\0\0" + raw) if name == "bf16" else struct.unpack("<e", b"\0" + raw)


def elements(dtype, sizes, strides, offset, data, at):
    """Row-major numbers; pairs of a complex dtype."""
    name, form = DTYPES[dtype]
    width = struct.calcsize("<" + form) if form else WIDTHS[name]
    places = [offset]
    for size, stride in zip(sizes, strides):
        places = [place + i * stride for place in places for i in range(size)]
    cut = [data[at + place * width:at + (place + 1) * width] for place in places]
    unpacked = [struct.unpack("<" + form, raw) if form else widened(name, raw) for raw in cut]
    return [list(map(number, row)) if len(row) == 2 else number(row[0]) for row in unpacked]


def positions(archive, data):
    """Record name -> where its bytes lie."""
    found = {}
    for info in archive.infolist():
        name_size, extra_size = struct.unpack_from("<HH", data, info.header_offset + 26)
        found[info.filename] = info.header_offset + 30 + name_size + extra_size
    return found


def read(path):
    """A raw archive -> (printed_program, records as printed, root)."""
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        infos, places = archive.infolist(), positions(archive, data)
        root = infos[0].filename.split("/")[0] + "/"
        document = json.loads(archive.read(f"{root}models/model.json"))
        tables = {}
        for folder in ("weights", "constants"):
            table = json.loads(archive.read(f"{root}data/{folder}/model_{folder}_config.json"))["config"]
            tables[folder] = {}
            for name, row in table.items():
                meta = row["tensor_meta"]
                dims = [[size["as_int"] for size in meta[key]] for key in ("sizes", "strides")]
                record = f"{folder}/{row['path_name']}"
                tables[folder][name] = stored_tensor(meta["dtype"], *dims, meta["storage_offset"]["as_int"], row["is_param"], data,
                                                     places[f"{root}data/{record}"], record)
    records = [{"name": info.filename, "position": places[info.filename], "size": info.file_size, "crc32": f"{info.CRC:08x}"}
               for info in infos]
    return printed_program(document, tables["weights"], tables["constants"]), records, root
