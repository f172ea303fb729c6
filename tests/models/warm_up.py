"""Imports what all processes need before they part, and exports a program, since the first one takes seconds.

torchvision and torchaudio bring compiled parts that fit one build of PyTorch. Where they don't fit this one, the models, which are
written in Python, are used without: only what needs those parts can't be exported.
"""
import gc
import pathlib
from importlib.util import find_spec

import torch

from fixtures.exporting import export


def folder_of(package):
    return pathlib.Path(find_spec(package).submodule_search_locations[0])


def loads(path):
    try:
        torch.ops.load_library(path)
    except OSError:
        return False
    return True


def name_torchvision_operators():
    """torchvision's Python can't be imported unless these operators have names. Returns what keeps them."""
    if loads(folder_of("torchvision") / "_C.so"):
        return None
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


def drop_torchaudio_libraries():
    """torchaudio does without its libraries if their files are not there."""
    for path in (folder_of("torchaudio") / "lib").glob("*.so"):
        if not loads(path):
            path.unlink()


KEPT = name_torchvision_operators()
drop_torchaudio_libraries()


def warm_up():
    import torchvision  # noqa: F401
    import transformers.models.auto.modeling_auto  # noqa: F401
    import transformers.models.llama.modeling_llama  # noqa: F401
    export(torch.nn.Linear(2, 2), (torch.ones(2, 2),), None, ("train", "aten", "core"))
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000)  # exporting makes many objects, of which few are garbage
