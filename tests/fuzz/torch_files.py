"""torch.save files and older .pt2 containers, written without PyTorch from the archives of tests/data."""
import collections
import io
import json
import pickle
import sys
import types
import zipfile

# ScalarType of the format: class of storages, dtype, bytes of an element.
DTYPES = {1: ("ByteStorage", "uint8", 1), 2: ("CharStorage", "int8", 1), 3: ("ShortStorage", "int16", 2),
          4: ("IntStorage", "int32", 4), 5: ("LongStorage", "int64", 8), 6: ("HalfStorage", "float16", 2),
          7: ("FloatStorage", "float32", 4), 8: ("DoubleStorage", "float64", 8),
          10: ("ComplexFloatStorage", "complex64", 8), 11: ("ComplexDoubleStorage", "complex128", 16),
          12: ("BoolStorage", "bool", 1), 13: ("BFloat16Storage", "bfloat16", 2)}


def _global(module, name):
    """Something that is pickled as the global of that name; calling it is never needed."""
    if module not in sys.modules:
        sys.modules[module] = types.ModuleType(module)
    home = sys.modules[module]
    if not hasattr(home, name):
        setattr(home, name, type(name, (), {"__module__": module, "__qualname__": name}))
    return getattr(home, name)


class Storage:
    def __init__(self, kind, key, count):
        self.id = ("storage", kind, key, "cpu", count)


class Call:
    """Pickled as the call of a function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


class _Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return value.id if isinstance(value, Storage) else None


def pickled(value, protocol=2):
    out = io.BytesIO()
    _Pickler(out, protocol).dump(value)
    return out.getvalue()


def _tensor(meta, key, size, form):
    """The tensor as form 0: _rebuild_tensor_v2, 1: a parameter, 2: _rebuild_tensor_v3, 3: with Python attributes."""
    kind, name, width = DTYPES[meta["dtype"]]
    dims = [tuple(item["as_int"] for item in meta[key]) for key in ("sizes", "strides")]
    offset = meta["storage_offset"]["as_int"]
    hooks = collections.OrderedDict()
    old = _global("torch._utils", "_rebuild_tensor_v2")
    view = (Storage(_global("torch", kind), key, size // width), offset, *dims, False, hooks)
    if form == 1:
        return Call(_global("torch._utils", "_rebuild_parameter"), Call(old, *view), True, hooks)
    if form == 2:
        untyped = Storage(_global("torch.storage", "UntypedStorage"), key, size)
        return Call(_global("torch._utils", "_rebuild_tensor_v3"), untyped, *view[1:], _global("torch", name), {})
    if form == 3:
        from_type = _global("torch._tensor", "_rebuild_from_type_v2")
        return Call(from_type, old, _global("torch", "Tensor"), view, {"_is_buffer": True})
    return Call(old, *view)


def stored_zip(records):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in records:
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def _torch_save(archive, folder, config, protocol, form):
    """(the torch.save file, its pickle) of the tensors in a raw folder's table."""
    keys, records, tensors = {}, [], collections.OrderedDict()
    for name, row in config.items():
        path = row["path_name"]
        data = archive.read(folder + path)
        if path not in keys:
            keys[path] = str(len(keys))
            records.append((f"archive/data/{keys[path]}", data))
        tensors[name] = _tensor(row["tensor_meta"], keys[path], len(data), form)
    pickle_bytes = pickled(tensors, protocol)
    head = [("archive/data.pkl", pickle_bytes), ("archive/byteorder", b"little")]
    return stored_zip(head + records + [("archive/version", b"3\n")]), pickle_bytes


def older_containers(path, protocol=2, form=0):
    """(flat container of torch <= 2.7, pickled container of 2.8, the pickle of the weights) of a raw archive."""
    with zipfile.ZipFile(path) as archive:
        root = archive.namelist()[0].split("/")[0] + "/"
        model = archive.read(root + "models/model.json")
        saved, pickles = {}, []
        for kind in ("weights", "constants"):
            folder = f"{root}data/{kind}/"
            table = json.loads(archive.read(f"{folder}model_{kind}_config.json"))["config"]
            saved[kind], pickle_bytes = _torch_save(archive, folder, table, protocol, form)
            pickles.append(pickle_bytes)
    flat = stored_zip([("serialized_exported_program.json", model), ("serialized_state_dict.pt", saved["weights"]),
                       ("serialized_constants.pt", saved["constants"]), ("version", b"8.8")])
    middle = stored_zip([(root + "models/model.json", model), (root + "data/weights/model.pt", saved["weights"]),
                         (root + "data/constants/model.pt", saved["constants"]), (root + "archive_format", b"pt2"),
                         (root + "archive_version", b"0"), (root + "byteorder", b"little")])
    return flat, middle, pickles[0]
