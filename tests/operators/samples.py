"""The cases of one operator: PyTorch's own samples of its arguments, in two dtypes, computed, in place and on a buffer."""
import random
import zlib
from dataclasses import dataclass

import numpy
import torch
from operators.case import Case, NAMES
from operators.pack import REFUSALS, bits, evaluate
from torch.utils import _pytree as pytree

import selection

SAMPLES = 6  # of one dtype, at most
VARIANTS = {"computed": "", "in place": "input", "buffer": "buffer"}  # and what they write
DTYPE_NAMES = {**NAMES, torch.complex64: "c64", torch.complex128: "c128"}
# Units in the last place by which floats may differ, of the largest number of a result.
UNITS = {torch.float16: 4, torch.bfloat16: 4}
ORDINARY_UNITS = 64


@dataclass(frozen=True)
class Place:
    """Where a case stands in the table: its operator's dtype and variant, and which sample it is."""
    operator: str
    dtype: str
    variant: str
    sample: int

    def __str__(self):
        return f"{self.operator}:{self.variant.replace(' ', '_')}_{self.sample}/{self.dtype}"


def seed(number):
    torch.default_generator.manual_seed(number)  # of the CPU alone: torch.manual_seed looks at each device there might be
    random.seed(number)
    numpy.random.seed(number)


def dtypes(info):
    """f32 and one more: i64, else bool, else a float that is chosen by the name; complex numbers where there is nothing else."""
    known = info.supported_dtypes("cpu")
    order = [torch.float32, torch.int64, torch.bool]
    floats = [dtype for dtype in (torch.bfloat16, torch.float16, torch.float64) if dtype in known]
    if floats:
        order.append(floats[zlib.crc32(info.formatted_name.encode()) % len(floats)])
    return [dtype for dtype in [*order, torch.complex64] if dtype in known][:2]


def spread(items, count):
    """So many of the items: the first, the last, and others evenly between."""
    if len(items) <= count:
        return items
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def dense(tensor):
    return tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def ranks(tensor):
    """Numbers in the same order, of which no two are equal."""
    return tensor.flatten().argsort().argsort().reshape(tensor.shape).to(tensor.dtype)


class Sample:
    """Arguments, taken apart into tensors and the rest."""

    def __init__(self, sample, is_distinct):
        first = ranks(sample.input) if is_distinct else sample.input
        self.leaves, self.tree = pytree.tree_flatten(((first, *sample.args), sample.kwargs))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.begins_with_tensor = isinstance(sample.input, torch.Tensor)
        self.broadcasts = sample.broadcasts_input

    def tensors(self):
        return tuple(dense(self.leaves[i]) for i in self.places)

    def call(self, function):
        """function as one of the sample's tensors alone."""
        def called(*tensors):
            leaves = list(self.leaves)
            for i, tensor in zip(self.places, tensors):
                leaves[i] = tensor
            args, kwargs = pytree.tree_unflatten(leaves, self.tree)
            return function(*args, **kwargs)
        return called

    def __str__(self):
        args, kwargs = pytree.tree_unflatten([shown(leaf) for leaf in self.leaves], self.tree)
        return ", ".join([*map(str, args), *(f"{name}={value}" for name, value in kwargs.items())]).replace("'", "")


def shown(leaf):
    if not isinstance(leaf, torch.Tensor):
        return str(leaf)
    return f"{DTYPE_NAMES.get(leaf.dtype, leaf.dtype)}{list(leaf.shape)}".replace(" ", "")


def written(function):
    """function, which writes into its first argument, without its result."""
    def call(target, *args):
        function(target, *args)
    return call


def copied_back(function):
    def call(target, *args):
        target.copy_(function(target, *args))
    return call


def is_same(first, second):
    """Whether two evaluations gave the same bits."""
    flat = lambda found: [*found[0], *found[1].values()]
    return all(a is b is None or (a.shape == b.shape and bool((bits(a) == bits(b)).all())) for a, b in zip(flat(first), flat(second)))


def is_random(case):
    results = []
    for number in (1, 2):
        seed(number)
        results.append(evaluate(case))
    return not is_same(*results)


def case_of(place, function, sample, dtype):
    case = Case(str(place), function, sample.tensors(), UNITS.get(dtype, ORDINARY_UNITS), "max", False, writes=VARIANTS[place.variant])
    case.free = selection.is_unwritten(place.operator) or is_random(case)
    return case


def keeps_type(case):
    """Whether the result is one tensor, which the first argument could hold."""
    result, target = case.fn(*(arg.clone() for arg in case.args)), case.args[0]
    return isinstance(result, torch.Tensor) and (result.shape, result.dtype) == (target.shape, target.dtype)


def variants(info, sample, computed):
    """The functions of the variants that write, which take the sample's tensors."""
    if not sample.begins_with_tensor or sample.broadcasts:
        return {}
    in_place = info.get_inplace()
    if in_place is not None:
        function = written(sample.call(in_place))
        return {"in place": function, "buffer": function}
    return {"buffer": copied_back(sample.call(info.op))} if keeps_type(computed) else {}


def cases(info):
    """Yields (Place, Case, the sample) of everything that eager PyTorch itself computes."""
    name = info.formatted_name
    for dtype in dtypes(info):
        seed(zlib.crc32(f"{name} {dtype}".encode()))
        distinct = selection.finds_one_of_equals(name)
        samples = [Sample(sample, distinct) for sample in spread(list(info.sample_inputs("cpu", dtype)), SAMPLES)]
        for variant in VARIANTS:
            for number, sample in enumerate(samples):
                place = Place(name, DTYPE_NAMES[dtype], variant, number)
                try:
                    case = case_of(Place(name, place.dtype, "computed", number), sample.call(info.op), sample, dtype)
                    if variant != "computed":
                        function = variants(info, sample, case).get(variant)
                        if function is None:
                            continue
                        case = case_of(place, function, sample, dtype)
                except REFUSALS:
                    continue
                yield place, case, sample
