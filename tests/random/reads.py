"""Lines that compute something new: (expression, operands, rule, factor) each, or None."""
import torch

from oracle import elements


def is_number(tensor):
    return tensor.dtype != torch.bool


def is_float(tensor):
    return tensor.dtype.is_floating_point


def taken_view(draft):
    name = draft.pick(views=0.0)
    text = name and draft.view(name)
    return text and (text, (name,), "copy", 1)


def unary(draft):
    name = draft.pick(is_number)
    if name is None:
        return None
    form = draft.choose(".abs()", ".neg()", ".clone()", ".relu()", " * 2", " + 1", "- 3", ".clamp(-3, 3)", ".square()", ".contiguous()")
    return name + form, (name,), "mul" if form == ".square()" else "add", 1


def number(draft):
    """A float that each right implementation rounds alike."""
    name = draft.pick(is_float)
    if name is None:
        return None
    form = draft.choose(("{} * 0.5", "copy"), ("{} / 3", "add"), ("{} / 2", "copy"), ("0.25 - {}", "add"), ("{}.abs().sqrt()", "root"),
                        ("1 / ({}.abs() + 1)", "once"), ("{}.floor()", "strict"), ("{}.round()", "strict"), ("{}.remainder(3)", "strict"),
                        ("torch.where({0} > 0, {0}, {0} * 0.25)", "strict"), ("torch.nn.functional.leaky_relu({}, 0.25)", "add"),
                        ("torch.nn.functional.hardtanh({})", "copy"))
    return form[0].format(name), (name,), form[1], 1


def integer(draft):
    name = draft.pick(lambda tensor: not tensor.dtype.is_floating_point)
    if name is None:
        return None
    if draft.value(name).dtype == torch.bool:
        form = draft.choose("~{}", "{}.logical_not()", "{}.sum()", "{}.any()", "{}.all()", "{}.to(torch.float32)", "{}.int()")
    else:
        form = draft.choose("{} % 3", "{} // 2", "{} & 3", "{} ^ 1", "{}.bool()", "{}.float()", "{}.remainder(4)", "~{}", "{} << 1", "{}.sum()")
    return form.format(name), (name,), "strict", 1


def binary(draft):
    name = draft.pick(is_number)
    other = name and draft.operand(draft.value(name).shape, is_number)
    if other is None:
        return None
    form, rule = draft.choose(("{} + {}", "add"), ("{} - {}", "add"), ("{} * {}", "mul"), ("torch.maximum({}, {})", "add"),
                              ("torch.minimum({}, {})", "add"), ("torch.add({}, {}, alpha=2)", "accumulate"), ("{} / ({}.abs() + 1)", "once"))
    return form.format(name, other), (name, other), rule, 1


def compared(draft):
    name = draft.pick(is_number)
    other = name and draft.operand(draft.value(name).shape, is_number)
    if other is None:
        return None
    return f"{name} {draft.choose('>', '<', '<=', '==', '!=')} {other}", (name, other), "strict", 1


def chosen(draft):
    name = draft.pick(is_number)
    other = name and draft.operand(draft.value(name).shape, lambda tensor: tensor.dtype == draft.value(name).dtype)
    mask = other and draft.mask(draft.value(name).shape)
    if mask is None:
        return None
    form = draft.choose("torch.where({2}, {0}, {1})", "{0}.masked_fill({2}, 1)", "torch.where({2}, {1}, {0})")
    return form.format(name, other, mask), (name, other), "add", 1


def cast(draft):
    name = draft.pick()
    if name is None:
        return None
    dtype = draft.choose(torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.bool)
    is_rounded = draft.value(name).dtype.is_floating_point and not dtype.is_floating_point
    return f"{name}.to({dtype})", (name,), "strict" if is_rounded else "copy", 1


def reduced(draft):
    name = draft.pick(lambda tensor: is_number(tensor) and tensor.numel() > 0)
    if name is None:
        return None
    tensor = draft.value(name)
    dim = draft.random.randrange(tensor.dim()) if tensor.dim() else -1
    keep = draft.choose("", ", keepdim=True")
    form = draft.choose((f".sum({dim}{keep})", "sum"), (f".sum({dim}{keep})", "sum"), (".sum()", "sum"), (f".amax({dim}{keep})", "strict"),
                        (f".amin({dim}{keep})", "strict"), (".max()", "strict"), (f".cumsum({dim})", "sum"), (f".argmax({dim}{keep})", "strict"),
                        (f".max({dim}{keep})[0]", "strict"), (f".sort({dim})[0]", "strict"), (f".cummax({dim})[0]", "strict"),
                        (f".topk(1, {dim})[0]", "strict"), (f".count_nonzero({dim})", "strict"), (f".sort({dim}, stable=True)[1]", "strict"))
    if "argmax" in form[0] and has_ties(draft, tensor):
        return None
    if is_float(tensor) and draft.chance(0.25):
        form = draft.choose((f".mean({dim}{keep})", "mean"), (".mean()", "mean"), (f".softmax({dim})", "smooth"), (f".norm(dim={dim})", "mean"))
    return name + form[0], (name,), form[1], 1


def has_ties(draft, tensor):
    return tensor.numel() != tensor.unique().numel()


def smooth(draft):
    name = draft.pick(is_float)
    if name is None:
        return None
    form, factor = draft.choose(("{}.tanh()", 1), ("{}.sigmoid()", 1), ("{}.sin()", 1), ("torch.nn.functional.silu({})", 1.2),
                                ("torch.nn.functional.gelu({})", 1.2), ("{}.clamp(max=2).exp()", 8), ("torch.nn.functional.softplus({})", 1))
    return form.format(name), (name,), "smooth", factor


def product(draft):
    first = draft.pick(lambda tensor: is_float(tensor) and tensor.dim() > 0)
    if first is None:
        return None
    tensor = draft.value(first)
    inner = tensor.shape[-1]
    second = draft.pick(lambda t: t.dtype == tensor.dtype and t.dim() > 0 and inner in (t.shape[-1], t.shape[-2:][0]))
    if second is None:
        return None
    other = draft.value(second)
    if other.shape[-2:][0] != inner:
        if other.dim() < 2:
            return None
        text = draft.choose(f"torch.nn.functional.linear({first}, {second})" if other.dim() == 2 else f"{first} @ {second}.mT", f"{first} @ {second}.mT")
        return text, (first, second), "product", 1
    return f"torch.matmul({first}, {second})", (first, second), "product", 1


def joined(draft):
    name = draft.pick(lambda tensor: tensor.dim() > 0)
    if name is None:
        return None
    tensor = draft.value(name)
    dim = draft.random.randrange(tensor.dim())
    matches = lambda t: t.dim() == tensor.dim() and all(a == b or k == dim for k, (a, b) in enumerate(zip(t.shape, tensor.shape)))
    other = draft.pick(lambda t: matches(t) and (t.dtype == tensor.dtype or draft.chance(0.1)))
    if other is None:
        return None
    if draft.value(other).shape == tensor.shape and draft.chance(0.4):
        return f"torch.stack([{name}, {other}], {dim - draft.choose(0, tensor.dim() + 1)})", (name, other), "add", 1
    parts = draft.choose([name, other], [other, name], [name, other, name])
    return f"torch.cat([{', '.join(parts)}], {dim})", (name, other), "add", 1


def moved(draft):
    name = draft.pick(lambda tensor: tensor.dim() > 0)
    if name is None:
        return None
    tensor = draft.value(name)
    dim = draft.random.randrange(tensor.dim())
    forms = [f"torch.roll({name}, {draft.choose(1, -1, 2)}, {dim})", f"{name}.flip({dim})", f"{name}.repeat({(2,) + (1,) * (tensor.dim() - 1)})",
             f"torch.nn.functional.pad({name}, (1, {draft.choose(0, 1, -1)}))", f"{name}.repeat_interleave(2, {dim})",
             f"{name}.reshape(-1)", f"torch.roll({name}, 1)"]
    if tensor.dim() > 1:
        forms += [f"{name}.{draft.choose('tril', 'triu')}({draft.diagonal()})", f"torch.rot90({name})"]
    return draft.random.choice(forms), (name,), "copy", 1


def looked_up(draft):
    name = draft.pick(lambda tensor: tensor.dim() > 0)
    if name is None:
        return None
    tensor = draft.value(name)
    dims = [dim for dim, n in enumerate(tensor.shape) if draft.is_fixed(n) and n]
    if not dims:
        return None
    dim = draft.random.choice(dims)
    found = draft.positions(tensor.shape[dim], None)
    if found is None:
        return None
    ones = [1] * tensor.dim()
    ones[dim] = found[1]
    text = draft.choose(f"{name}.index_select({dim}, {found[0]})", f"{name}[{':, ' * dim}{found[0]}]",
                        f"torch.take_along_dim({name}, {found[0]}.view({tuple(ones)}), {dim})")
    return text, (name,), "copy", 1


def filled(draft):
    name = draft.pick()
    if name is None:
        return None
    tensor = draft.value(name)
    text = draft.choose(f"torch.zeros_like({name})", f"torch.ones({draft.sizes(tensor.shape)}, dtype={tensor.dtype})",
                        f"torch.full({draft.sizes(tensor.shape)}, {draft.number(tensor.dtype)}, dtype={tensor.dtype})", f"torch.full_like({name}, 2)",
                        f"{name}.new_zeros({draft.sizes(tensor.shape)})", f"torch.arange({draft.size(tensor.shape[0])})" if tensor.dim() else "torch.arange(3)")
    return text, (), "strict", 1


def numbered(draft):
    """With a number that is known in each call only."""
    name = draft.pick(is_number)
    found = name and draft.known_in_a_call(draft.value(name).dtype)
    other = found and draft.operand(draft.value(name).shape, lambda t: t.dtype == draft.value(name).dtype)
    if other is None:
        return None
    number, element = found
    form, rule = draft.choose((f"{name} * {number}", "mul"), (f"{name} + {number}", "add"), (f"torch.add({name}, {other}, alpha={number})", "fused"),
                              (f"torch.sub({name}, {other}, alpha={number})", "fused"), (f"{name}.clamp(min={number})", "add"),
                              (f"{name}.clamp(max={number})", "add"), (f"torch.full_like({name}, {number})", "copy"), (f"{name} > {number}", "strict"),
                              (f"torch.where({name} > 0, {name}, {number})", "strict"), (f"{name}.masked_fill({name} > 1, {number})", "strict"),
                              (f"{name}.new_full((2, 3), {number})", "copy"))
    return form, (name, other, element), rule, 1


def written_copy(draft):
    """The functional twins of writes."""
    name = draft.pick(lambda tensor: tensor.dim() > 0 and tensor.numel() > 0)
    if name is None:
        return None
    tensor = draft.value(name)
    dim = draft.random.randrange(tensor.dim())
    n = tensor.shape[dim]
    if not draft.is_fixed(n) or len(elements(tensor).unique()) != tensor.numel():
        return None
    if draft.chance(0.4):
        at = draft.random.randrange(n)
        part = draft.operand([m for k, m in enumerate(tensor.shape) if k != dim], lambda t: t.dtype == tensor.dtype)
        if part is None:
            return None
        part += f".expand({draft.sizes(s for k, s in enumerate(tensor.shape) if k != dim)})"
        return f"torch.select_scatter({name}, {part}, {dim}, {at})", (name, part), "add", 1
    start = draft.random.randrange(n)
    shape = list(tensor.shape)
    shape[dim] = n - start
    part = draft.operand(shape, lambda t: t.dtype == tensor.dtype)
    if part is None:
        return None
    part += f".expand({draft.sizes(shape)})"
    return f"torch.slice_scatter({name}, {part}, {dim}, {start})", (name, part), "add", 1


READS = {taken_view: 10, unary: 4, number: 3, integer: 2, binary: 5, compared: 1, chosen: 3, cast: 3, reduced: 4, smooth: 1,
         product: 2, joined: 3, moved: 3, looked_up: 3, filled: 2, written_copy: 2, numbered: 2}
