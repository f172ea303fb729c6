"""What an entry of the suite is: how its module is made, tiny and with random weights, and what its calls are given.

    Architecture("bert", "transformers", make=lambda: ..., inputs=lambda n: (numbers(1, n),), sizes=(8, 6, 11), dims=({1: N},))

The static program is called three times with the first size, the dynamic one once with each of the sizes.
"""
import hashlib
import inspect
import os
import pathlib
from dataclasses import dataclass
from typing import Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import nn
from torch.utils import _pytree as pytree

REQUIREMENTS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "requirements-models.txt"
CALLS = 3
N = "n"  # the dimension that is open in dynamic programs


class Positional(nn.Module):
    """A model called by position, whose result is the tuple of the tensors in what it returns."""

    def __init__(self, model, names=None, **always):
        super().__init__()
        self.model, self.names, self.always = model, names, always

    def forward(self, *inputs):
        if self.names is None:
            result = self.model(*inputs, **self.always)
        else:
            result = self.model(**dict(zip(self.names, inputs)), **self.always)
        return tuple(leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor))


@dataclass
class Architecture:
    name: str
    library: str
    make: Callable    # () -> module
    inputs: Callable  # size -> the arguments of a call; of a call's number too, if by_call
    sizes: tuple = (2, 3, 4)
    dims: tuple = None  # of each argument {dimension: N}; None: there is no dynamic program
    by_call: bool = False
    strict: bool = False  # exported by tracing the bytecode
    smoke: bool = False   # one of the few that scripts/check runs
    recipe: str = ""      # what make was made of, if that is not its source

    def key(self):
        """Changes with what the programs are made of."""
        parts = [REQUIREMENTS.read_text(), self.recipe, inspect.getsource(self.make), inspect.getsource(self.inputs),
                 repr((self.sizes, self.dims, self.by_call, self.strict))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def variants(self):
        return ("static", "dynamic") if self.dims else ("static",)

    def module(self):
        torch.manual_seed(sum(self.name.encode()))
        return self.make().eval()

    def calls(self, is_dynamic):
        made = []
        for i in range(CALLS):
            torch.manual_seed(100 + i)
            size = self.sizes[i if is_dynamic else 0]
            made.append(self.inputs(size, i) if self.by_call else self.inputs(size))
        return made

    def dynamic(self, module):
        """dynamic_shapes of torch.export.export."""
        dimension = torch.export.Dim(N, min=2, max=4 * max(self.sizes))
        dims = tuple({axis: dimension for axis in axes} if axes else None for axes in self.dims)
        return (dims,) if isinstance(module, Positional) else dims


def numbers(*shape, high=90):
    """Random tokens."""
    return torch.randint(3, high, shape)


def floats(*shape):
    return torch.randn(shape)


def images(size, channels=3):
    """Of a batch."""
    return lambda batch: (floats(batch, channels, size, size),)


IMAGE_DIMS = ({0: N},)
