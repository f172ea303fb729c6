"""Views of a tensor, as expressions."""
import torch


def view(draft, expression, is_written):
    """A random view of what the expression gives; None if none came out. is_written: no element may show twice."""
    tensor = draft.value(expression)
    for _ in range(4):
        make = draft.random.choices(MAKERS, WEIGHTS)[0]
        text = make(draft, expression, tensor, is_written)
        if text is None:
            continue
        try:
            made = draft.value(text)
        except (RuntimeError, IndexError, ValueError):
            continue
        if made.untyped_storage()._cdata == tensor.untyped_storage()._cdata:
            return text
    return None


def bounds(draft, n):
    """The text of a slice of n elements."""
    if not draft.is_fixed(n):
        return draft.choose("1:", ":-1", ":2", "-2:", "0:1", ":")
    start, stop = sorted((draft.random.randint(0, n), draft.random.randint(0, n)))
    if start == stop and not draft.chance(0.1):
        start, stop = 0, max(n - draft.random.randint(0, 1), 1)
    if draft.chance(0.2):
        return f"{start - n if start - n < 0 else ''}:{stop - n if stop < n else n + 3}"
    step = f":{draft.random.randint(2, 3)}" if draft.chance(0.2) else ""
    return f"{start or ''}:{stop if stop < n or draft.chance(0.2) else ''}{step}"


def sliced(draft, expression, tensor, is_written):
    if not tensor.dim():
        return None
    dims = draft.random.sample(range(tensor.dim()), draft.choose(1, 1, min(2, tensor.dim())))
    parts = [bounds(draft, n) if dim in dims else ":" for dim, n in enumerate(tensor.shape)]
    while parts and parts[-1] == ":":
        parts.pop()
    if parts and draft.chance(0.2):
        last = max(dims)
        return f"{expression}[..., {bounds(draft, tensor.shape[last])}{', :' * (tensor.dim() - 1 - last)}]"
    return f"{expression}[{', '.join(parts) or ':'}]"


def position(draft, n):
    return draft.choose(0, 1, -1) if not draft.is_fixed(n) else draft.random.randint(-n, n - 1)


def selected(draft, expression, tensor, is_written):
    if not tensor.numel() or not tensor.dim():
        return None
    dim = draft.random.randrange(tensor.dim())
    at = position(draft, tensor.shape[dim])
    if draft.chance(0.3):
        return f"{expression}.select({dim - draft.choose(0, tensor.dim())}, {at})"
    return f"{expression}[{':, ' * dim}{at}]"


def narrowed(draft, expression, tensor, is_written):
    dims = [dim for dim, n in enumerate(tensor.shape) if draft.is_fixed(n) and n]
    if not dims:
        return None
    dim = draft.random.choice(dims)
    length = draft.random.randint(1, tensor.shape[dim])
    return f"{expression}.narrow({dim}, {draft.random.randint(0, tensor.shape[dim] - length)}, {length})"


def permuted(draft, expression, tensor, is_written):
    if tensor.dim() < 2:
        return None
    order = draft.random.sample(range(tensor.dim()), tensor.dim())
    first, second = order[0], order[1]
    return expression + draft.choose(f".permute{tuple(order)}", f".transpose({first}, {second})", f".movedim({first}, {second})",
                                     ".mT", f".swapaxes({first - tensor.dim()}, {second})")


def unsqueezed(draft, expression, tensor, is_written):
    if tensor.dim() > 4:
        return None
    return draft.choose(f"{expression}.unsqueeze({draft.random.randint(-tensor.dim() - 1, tensor.dim())})", f"{expression}[None]")


def squeezed(draft, expression, tensor, is_written):
    dims = [dim for dim, n in enumerate(tensor.shape) if n == 1]
    return draft.choose(f"{expression}.squeeze({draft.random.choice(dims)})", f"{expression}.squeeze()") if dims else None


def reshaped(draft, expression, tensor, is_written):
    if tensor.dim() > 1 and draft.chance(0.4):
        dim = draft.random.randrange(tensor.dim() - 1)
        return f"{expression}.flatten({dim}, {dim + 1})"
    dims = [dim for dim, n in enumerate(tensor.shape) if draft.is_fixed(n) and n in (4, 6)]
    if dims and draft.chance(0.5):
        dim = draft.random.choice(dims)
        return f"{expression}.unflatten({dim}, {draft.choose((2, -1), (-1, 2), (tensor.shape[dim] // 2, 2))})"
    return f"{expression}.{draft.choose('view', 'reshape')}({draft.choose('-1', draft.sizes(tensor.shape[::-1]))})"


def diagonal(draft, expression, tensor, is_written):
    if tensor.dim() < 2:
        return None
    first, second = draft.random.sample(range(tensor.dim()), 2)
    return f"{expression}.diagonal({draft.choose(0, 0, 1, -1)}, {first}, {second})"


def unfolded(draft, expression, tensor, is_written):
    dims = [dim for dim, n in enumerate(tensor.shape) if draft.is_fixed(n) and n > 1]
    if not dims:
        return None
    dim = draft.random.choice(dims)
    size = draft.random.randint(1, min(3, tensor.shape[dim]))
    step = size + draft.choose(0, 1) if is_written else draft.random.randint(1, 3)
    return f"{expression}.unfold({dim}, {size}, {step})"


def strided(draft, expression, tensor, is_written):
    if not all(map(draft.is_fixed, tensor.shape)) or tensor.dim() == 0 or not tensor.is_contiguous():
        return None
    if ".view(torch." in expression or ".view_as_complex" in expression or not draft.oracle.has_one_dtype(tensor):
        return None
    shape = [draft.random.randint(1, 3) for _ in range(draft.random.randint(1, 3))]
    strides = [draft.choose(1, 2, 3, 4, tensor.shape[-1]) for _ in shape]
    offset = tensor.storage_offset() + draft.choose(0, 0, 1, 2)
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides))
    if last >= tensor.storage_offset() + tensor.numel():
        return None
    reached = sorted(zip(strides, shape))  # no element twice, if each stride is beyond what the smaller ones reach
    if is_written and any(b < a * n for (a, n), (b, _) in zip(reached, reached[1:])):
        return None
    return f"{expression}.as_strided({tuple(shape)}, {tuple(strides)}, {offset})"


def expanded(draft, expression, tensor, is_written):
    if is_written or 1 not in tensor.shape:
        return None
    shape = [draft.random.choice(draft.extents) if n == 1 else n for n in tensor.shape]
    return f"{expression}.expand({draft.choose(draft.sizes(shape), tuple(n if have == 1 else -1 for n, have in zip(shape, tensor.shape)))})"


def one_part(draft, expression, tensor, is_written):
    dims = [dim for dim, n in enumerate(tensor.shape) if draft.is_fixed(n) and n > 1]
    if not dims:
        return None
    dim = draft.random.choice(dims)
    cut = draft.choose(f".unbind({dim})", f".split({draft.random.randint(1, 2)}, {dim})", f".chunk({draft.choose(2, 3)}, {dim})",
                       f".tensor_split({draft.choose(2, 3)}, {dim})")
    return f"{expression}{cut}[{draft.choose(0, 1, -1)}]"


def same(draft, expression, tensor, is_written):
    return expression + draft.choose(".detach()", ".view_as(" + expression + ")", ".contiguous()", f".to({tensor.dtype})", "[...]")


BITS = {torch.float32: torch.int32, torch.int32: torch.float32, torch.float16: torch.int16, torch.int16: torch.bfloat16,
        torch.bfloat16: torch.float16, torch.uint8: torch.int8, torch.int8: torch.uint8}


def as_bits(draft, expression, tensor, is_written):
    """The same bytes as another dtype; or the parts of complex numbers."""
    if tensor.dim() and tensor.shape[-1] == 2 and tensor.dtype == torch.float32 and draft.chance(0.7):
        return f"torch.view_as_complex({expression}){draft.choose('.real', '.imag')}"
    return f"{expression}.view({BITS[tensor.dtype]})" if tensor.dtype in BITS and draft.chance(0.3) else None


MAKERS, WEIGHTS = zip((sliced, 8), (selected, 5), (narrowed, 2), (permuted, 4), (unsqueezed, 2), (squeezed, 2), (reshaped, 3),
                      (diagonal, 2), (unfolded, 2), (strided, 2), (expanded, 1), (one_part, 3), (same, 1), (as_bits, 1))
