"""Lines that write: into buffers, inputs, activations, and views of them."""
import torch

from program import SIZE, WIDE, Line


def target(draft, wanted=lambda tensor: True):
    """An expression to write to; None if there is none."""
    names = draft.states * 4 + draft.inputs * 2 + draft.variables[-5:]
    fit = [name for name in names if name not in draft.read_only and draft.value(name).numel() and wanted(draft.value(name))]
    if not fit:
        return None
    expression = draft.random.choice(fit)
    for _ in range(draft.choose(0, 0, 1, 1, 2)):
        made = draft.view(expression, is_written=True)
        if made and draft.value(made).numel() and wanted(draft.value(made)):
            expression = made
    return expression


def is_number(tensor):
    return tensor.dtype != torch.bool


def fits(draft, dtype):
    """Of operands in arithmetic in place: a result of that kind can be stored in dtype."""
    return lambda tensor: torch.can_cast(torch.result_type(tensor, torch.empty((1,), dtype=dtype)), dtype)


def copied(draft):
    to = target(draft)
    source = to and draft.operand(draft.value(to).shape, near=to)
    if source is None:
        return None
    if draft.chance(0.15):
        source = f"torch.tensor({draft.number(draft.value(to).dtype)})"
    if draft.value(source).dtype.is_floating_point and not draft.value(to).dtype.is_floating_point:
        source = f"{source}.abs().clamp(max=50)" if draft.value(to).dtype != torch.bool else source
        if not draft.is_exact(source):
            return None
    return Line(assigned(draft, to, source), (), to, (source,), "copy")


def assigned(draft, to, source):
    forms = [f"{to}.copy_({source})", f"{to}[...] = {source}", f"{to}[:] = {source}" if draft.value(to).dim() else f"{to}.copy_({source})"]
    if to.endswith("]"):
        forms += [f"{to} = {source}"] * 2
    return draft.random.choice(forms)


def arithmetic(draft):
    to = target(draft, is_number)
    if to is None:
        return None
    dtype = draft.value(to).dtype
    operator = draft.choose("add", "add", "sub", "mul", "mul", "maximum", "minimum")
    source = draft.operand(draft.value(to).shape, fits(draft, dtype), near=to)
    if source is None or draft.chance(0.3):
        source = draft.number(dtype) if dtype.is_floating_point else draft.choose("1", "2", "-1")
    rule = "mul" if operator == "mul" else "add"
    if operator in ("maximum", "minimum"):
        if not isinstance(draft.value(source), torch.Tensor):
            return None
        form = f"torch.{operator}({to}, {source})"
        return Line(f"{to}.copy_({form})", (), to, (to, source), "add")
    code = f"{to}.{operator}_({source})"
    if draft.chance(0.4):
        code = f"{to} {dict(add='+', sub='-', mul='*')[operator]}= {source}"
        if not to.endswith("]") and not to.startswith("self") and not to.isidentifier():
            return None
    elif operator != "mul" and draft.chance(0.15):
        code, rule = f"{to}.{operator}_({source}, alpha=2)", "accumulate"
    return Line(code, (), to, (to, source), rule)


def unary(draft):
    to = target(draft, is_number)
    if to is None:
        return None
    dtype = draft.value(to).dtype
    forms = ["abs_()", "zero_()", "fill_(2)", "clamp_(-3, 3)", "clamp_(min=0)", "square_()"]
    forms += ["neg_()", "relu_()", "sign_()"] if dtype != torch.uint8 else ["bitwise_not_()"]
    if dtype.is_floating_point:
        if draft.chance(0.25):
            function, factor = draft.choose(("tanh_", 1), ("sigmoid_", 1), ("sin_", 1), ("cos_", 1))
            return Line(f"{to}.{function}()", (), to, (to,), "smooth", factor)
        if draft.chance(0.2):
            return Line(f"{to}.{draft.choose('floor_', 'round_', 'trunc_', 'ceil_')}()", (), to, (to,), "strict")
        forms += ["mul_(0.5)", "div_(2)", "div_(3)"]
    elif draft.chance(0.3):
        form = draft.choose("remainder_(3)", "bitwise_and_(3)", "bitwise_xor_(1)", "bitwise_or_(2)", "floor_divide_(2)")
        return Line(f"{to}.{form}", (), to, (to,), "strict")
    form = draft.random.choice(forms)
    return Line(f"{to}.{form}", (), to, (to,), {"square_()": "mul", "div_(3)": "add"}.get(form, "copy"))


def masked(draft):
    to = target(draft)
    mask = to and draft.mask(draft.value(to).shape)
    if mask is None:
        return None
    tensor, source = draft.value(to), draft.operand(draft.value(to).shape, lambda t: t.dtype == draft.value(to).dtype, near=to)
    number = draft.number(tensor.dtype)
    forms = [Line(f"{to}.masked_fill_({mask}, {number})", (), to, (to, mask), "copy", is_apart=False)]
    if draft.value(mask).shape == tensor.shape and tensor.dim() or draft.chance(0.3):
        forms.append(Line(f"{to}[{mask}] = {number}", (), to, (to, mask), "copy"))
    if source is not None:
        forms.append(Line(f"{to}.copy_(torch.where({mask}, {source}, {to}))", (), to, (to, source), "add"))
        forms.append(Line(f"{to}[...] = {to}.where({mask}, {source})", (), to, (to, source), "add"))
        if draft.value(source).shape == tensor.shape:
            forms.append(Line(f"{to}.masked_scatter_({mask}, {source}.clone())", (), to, (source,), "copy"))
    chosen = draft.random.choice(forms)
    if draft.shares(mask, to) and "(" not in mask:
        return None
    return chosen


def indexed(draft):
    """index_copy_, index_add_, index_fill_, index_put_ along one dimension, or several."""
    to = target(draft, lambda tensor: tensor.dim() > 0)
    if to is None:
        return None
    tensor = draft.value(to)
    dims = [dim for dim, n in enumerate(tensor.shape) if draft.is_fixed(n) and n]
    if not dims:
        return None
    dim = draft.random.choice(dims)
    form = draft.choose("index_copy_", "index_add_", "index_fill_", "index_put_", "index_put_", "setitem", "setitem", "index_reduce_")
    found = draft.positions(tensor.shape[dim], None, wraps=form in ("index_put_", "setitem", "index_fill_"))
    if found is None:
        return None
    positions, count = found
    if form == "index_fill_":
        return Line(f"{to}.index_fill_({dim}, {positions}, {draft.number(tensor.dtype)})", (), to, (to,), "copy")
    if count == 1 and draft.chance(0.15):
        positions = draft.computed_position(tensor.shape[dim]) or positions
    shape = list(tensor.shape)
    shape[dim] = count
    source = draft.operand(shape, lambda t: t.dtype == tensor.dtype, near=to)
    if source is None:
        return None
    if form in ("index_copy_", "index_add_", "index_reduce_"):
        source = f"{source}.expand({draft.sizes(shape)})" if list(draft.value(source).shape) != shape else source
        code = f"{to}.{form}({dim}, {positions}, {source})"
        if form == "index_reduce_":
            code = f'{to}.index_reduce_({dim}, {positions}, {source}, "{draft.choose("amax", "amin", "prod")}")'
        rule = {"index_copy_": "copy", "index_add_": "accumulate"}.get(form, "strict")
        return Line(code, (), to, (to, source)[rule == "copy":], rule, is_apart=False)
    prefix = ":, " * dim
    if form == "setitem":
        return Line(f"{to}[{prefix}{positions}] = {source}", (), to, (source,), "copy", is_apart=True)
    nones = "None, " * dim
    accumulate = draft.chance(0.3)
    return Line(f"{to}.index_put_(({nones}{positions},), {source}{', accumulate=True' if accumulate else ''})", (), to,
                (to, source)[not accumulate:], "accumulate" if accumulate else "copy")


def several_positions(draft):
    """Index tensors for two dimensions."""
    to = target(draft, lambda tensor: tensor.dim() > 1)
    if to is None:
        return None
    tensor = draft.value(to)
    if not (draft.is_fixed(tensor.shape[0]) and draft.is_fixed(tensor.shape[1])):
        return None
    first = draft.positions(tensor.shape[0], wraps=True)
    second = first and draft.positions(tensor.shape[1], first[1], wraps=True)
    if second is None or not first[1]:
        return None
    source = draft.operand([first[1]] + list(tensor.shape[2:]), lambda t: t.dtype == tensor.dtype, near=to)
    if source is None:
        return None
    return Line(f"{to}[{first[0]}, {second[0]}] = {source}", (), to, (source,), "copy", is_apart=True)


def scattered(draft):
    to = target(draft, lambda tensor: tensor.dim() > 0)
    if to is None:
        return None
    tensor = draft.value(to)
    dim = draft.random.randrange(tensor.dim())
    if not draft.is_fixed(tensor.shape[dim]) or not all(map(draft.is_fixed, tensor.shape)):
        return None
    found = draft.positions(tensor.shape[dim])
    if found is None:
        return None
    shape = list(tensor.shape)
    shape[dim] = found[1]
    ones = [1] * tensor.dim()
    ones[dim] = found[1]
    index = f"{found[0]}.view({tuple(ones)}).expand({tuple(shape)})"
    form = draft.choose("scatter_", "scatter_add_", "reduce", "value")
    if form == "value":
        return Line(f"{to}.scatter_({dim}, {index}, {draft.number(tensor.dtype)})", (), to, (to,), "copy")
    source = draft.operand(shape, lambda t: t.dtype == tensor.dtype, near=to)
    if source is None:
        return None
    source = f"{source}.expand({tuple(shape)})" if list(draft.value(source).shape) != shape else source
    if form == "reduce":
        way = draft.choose("amax", "amin", "sum", "prod")
        return Line(f'{to}.scatter_reduce_({dim}, {index}, {source}, "{way}"{draft.choose("", ", include_self=False")})', (), to,
                    (to, source), "accumulate" if way == "sum" else "strict", is_apart=False)
    rule = "copy" if form == "scatter_" else "accumulate"
    return Line(f"{to}.{form}({dim}, {index}, {source})", (), to, (to, source)[rule == "copy":], rule)


def shifted(draft):
    """A state moved along one dimension, with new rows at its end or front."""
    to = target(draft, lambda tensor: tensor.dim() > 0)
    if to is None:
        return None
    tensor = draft.value(to)
    dim = draft.random.randrange(tensor.dim())
    n = tensor.shape[dim]
    if not draft.is_fixed(n):
        return None
    if draft.chance(0.3):
        rolled = f"torch.roll({to}, {draft.choose(1, -1, 2)}, {dim})"
        return Line(f"{to}.copy_({rolled})", (), to, (rolled,), "copy")
    count = draft.random.randint(1, n)
    shape = list(tensor.shape)
    shape[dim] = count
    source = draft.operand(shape, lambda t: t.dtype == tensor.dtype)
    if source is None:
        return None
    source = f"{source}.expand({draft.sizes(shape)})" if list(draft.value(source).shape) != shape else source
    before = ":, " * dim
    joined = draft.choose(f"torch.cat([{to}, {source}], {dim})[{before}-{n}:]", f"torch.cat([{source}, {to}], {dim})[{before}:{n}]",
                          f"torch.cat([{to}[{before}{count}:], {source}], {dim})")
    return Line(f"{to}.copy_({joined})", (), to, (joined,), "copy")


def reassigned(draft):
    """self.b = a new tensor."""
    name = draft.random.choice(draft.states)
    tensor = draft.value(name)
    source = draft.operand(tensor.shape, lambda t: t.dtype == tensor.dtype)
    if source is None or list(draft.value(source).shape) != list(tensor.shape):
        return None
    source = draft.choose(f"{source}.clone()", f"torch.roll({source}, 1)", f"torch.cat([{source}])" if tensor.dim() else f"{source}.clone()")
    return Line(f"{name} = {source}", (), name, (source,), "copy")


def exchanged(draft):
    """Part of one memory written with part of another of the same shape."""
    to = target(draft)
    source = to and draft.pick(lambda t: t.shape == draft.value(to).shape and t.dtype == draft.value(to).dtype, views=0.6)
    if source is None:
        return None
    source += ".clone()" if draft.shares(source, to) else ""
    return Line(assigned(draft, to, source), (), to, (source,), "copy")


def dynamic_write(draft):
    """Rows of a dynamic number written to the front of a state."""
    fit = [name for name in draft.states if WIDE in draft.value(name).shape]
    if not fit:
        return None
    name = draft.random.choice(fit)
    shape, dtype = draft.value(name).shape, draft.value(name).dtype
    source = draft.operand([SIZE if n == WIDE else n for n in shape], lambda t: t.dtype == dtype and SIZE in t.shape, near=name)
    if source is None:
        return None
    to = f"{name}[{':, ' * list(shape).index(WIDE)}{draft.choose(':n', '1:n + 1', '-n:')}]"
    return Line(assigned(draft, to, source), (), to, (source,), "copy")


def each(draft):
    """A write into each part of a dimension."""
    to = target(draft, lambda tensor: is_number(tensor) and tensor.dim() > 0)
    if to is None:
        return None
    tensor = draft.value(to)
    dim = draft.random.randrange(tensor.dim())
    if not draft.is_fixed(tensor.shape[dim]):
        return None
    source = draft.operand([n for k, n in enumerate(tensor.shape) if k != dim], fits(draft, tensor.dtype), near=to)
    if source is None or draft.shares(source, to) and not source.endswith(")"):
        return None
    cut = draft.choose("unbind(%d)", "split(1, %d)", "tensor_split(2, %d)") % dim
    if not cut.startswith("unbind"):
        source = f"{source}.unsqueeze({dim})" if draft.value(source).dim() >= dim else source
    return Line(f"for part in {to}.{cut}: part.{draft.choose('add_', 'copy_')}({source})", (), to, (to, source), "accumulate", is_apart=False)


def exchanged_parts(draft):
    """Two rows of one tensor change places; or all its elements, along cycles."""
    to = target(draft, lambda tensor: tensor.dim() > 0)
    if to is None:
        return None
    tensor = draft.value(to)
    dim = draft.random.randrange(tensor.dim())
    n = tensor.shape[dim]
    if not draft.is_fixed(n) or n < 2:
        return None
    if draft.chance(0.4):
        first, second = draft.random.sample(range(n), 2)
        a, b = f"{to}[{':, ' * dim}{first}]", f"{to}[{':, ' * dim}{second}]"
        return Line(f"{a}, {b} = {b}.clone(), {a}.clone()", (), to, (), "copy")
    forms = [f"{to}.flip({dim})", f"{to}[{':, ' * dim}torch.tensor({draft.random.sample(range(n), n)})]", f"torch.roll({to}, 1, {dim})"]
    other = draft.random.randrange(tensor.dim())
    if tensor.shape[other] == n and other != dim:
        forms += [f"{to}.transpose({dim}, {other}).clone()"] * 4
    source = draft.random.choice(forms)
    return Line(assigned(draft, to, source), (), to, (source,), "copy")


def at_item(draft):
    """A row at a position that the program reads out of a tensor."""
    given = [tensor for tensor in draft.program.inputs if tensor.values not in ("numbers", "mask") and not tensor.shape]
    to = given and target(draft, lambda tensor: tensor.dim() > 0)
    if not to:
        return None
    limit, tensor = given[0].values[1], draft.value(to)
    dims = [dim for dim, n in enumerate(tensor.shape) if draft.is_fixed(n) and n >= limit]
    if not dims:
        return None
    dim = draft.random.choice(dims)
    number = f"p{len(draft.lines)}"
    checks = f"{number} = {given[0].name}.item(); torch._check({number} >= 0); torch._check({number} < {tensor.shape[dim]})"
    part = draft.choose(f"{to}.narrow({dim}, {number}, 1)", f"{to}.select({dim}, {number})", f"{to}[{':, ' * dim}{number}]",
                        f"{to}[{':, ' * dim}{number}:{number} + 1]")
    shape = [n for k, n in enumerate(tensor.shape) if k != dim]
    if part.startswith(f"{to}.narrow") or part.endswith("+ 1]"):
        shape.insert(dim, 1)
    source = draft.operand(shape, lambda t: t.dtype == tensor.dtype, near=to)
    if source is None:
        return None
    return Line(f"{checks}; {part}.copy_({source})", (), to, (source,), "copy", is_apart=True)


def chosen_rows(draft):
    """Rows that a mask chooses, maybe none, are written where the mask, or another form of it, says."""
    to = target(draft, lambda tensor: tensor.dim() > 0 and tensor.dtype != torch.bool)
    if not to:
        return None
    tensor = draft.value(to)
    source = draft.operand(tensor.shape, lambda t: t.dtype == tensor.dtype, near=to)
    mask = draft.mask(tensor.shape[:1])
    if source is None or mask is None or draft.value(source).shape != tensor.shape:
        return None
    number = len(draft.lines)
    n, m, p, q = draft.size(tensor.shape[0]), f"m{number}", f"p{number}", f"q{number}"
    parts = f"{m} = ({mask}).expand({n}).clone(); {p} = {source}[{m}]"
    whole = f"{parts}; {q} = {source}[~{m}]; torch._check({p}.shape[0] + {q}.shape[0] == {n})"
    forms = [(f"{parts}; {to}[{m}] = {p}", "copy"), (f"{parts}; {to}.index_put_(({m},), {p}, accumulate=True)", "accumulate"),
             (f"{parts}; {to}.masked_scatter_({m}.reshape({', '.join([n] + ['1'] * (tensor.dim() - 1))}), {p})", "copy"),
             (f"{whole}; {to}.copy_(torch.cat([{p}, {q}]))", "copy"),
             (f"{whole}; {to}.copy_(torch.cat([{q} * 1, {p} + 0]))", "copy")]
    code, rule = draft.random.choice(forms)
    return Line(code, (), to, (to, source) if rule == "accumulate" else (source,), rule, is_apart=True)


def from_itself(draft):
    """A tensor written with what is computed from all of it."""
    to = target(draft, lambda tensor: is_number(tensor) and tensor.dim() > 0)
    if to is None:
        return None
    tensor = draft.value(to)
    dim = draft.random.randrange(tensor.dim())
    form, rule = draft.choose(("{}.amax({}, keepdim=True)", "strict"), ("{}.sum({}, keepdim=True)", "sum"), ("{}.cumsum({})", "sum"),
                              ("{}.sort({})[0]", "strict"), ("{}.narrow({}, 0, 1).clone()", "copy"), ("{}.cummax({})[0]", "strict"))
    source = form.format(to, dim)
    if "sum" in form and not tensor.dtype.is_floating_point and tensor.dtype != torch.int64:
        source += f".to({tensor.dtype})"
    if draft.chance(0.6) or rule == "sum":
        return Line(assigned(draft, to, source), (), to, (to, source), rule)
    return Line(f"{to}.{draft.choose('sub_', 'add_')}({source})", (), to, (to, source), rule)


def in_place_only(draft):
    """Operators that are written in place alone, or read three tensors."""
    to = target(draft, is_number)
    if to is None:
        return None
    tensor = draft.value(to)
    if tensor.dim() > 0 and draft.chance(0.3):
        dim = draft.random.randrange(tensor.dim())
        if tensor.dim() > 1 and draft.chance(0.5):
            return Line(f"{to}.{draft.choose('tril_', 'triu_')}({draft.diagonal()})", (), to, (to,), "copy")
        return Line(f"{to}.cumsum_({dim})", (), to, (to,), "sum")
    first, second = (draft.operand(tensor.shape, lambda t: t.dtype == tensor.dtype, near=to) for _ in range(2))
    if first is None or second is None:
        return None
    if tensor.dtype.is_floating_point and draft.chance(0.5):
        return Line(f"{to}.lerp_({first}.expand({draft.sizes(tensor.shape)}), 0.5)", (), to, (to, first), "fused")
    return Line(f"{to}.addcmul_({first}, {second}{draft.choose('', ', value=2')})", (), to, (to, first, second), "fused")


def numbered(draft):
    """A tensor written by a number that is known in each call only."""
    to = target(draft, is_number)
    found = to and draft.known_in_a_call(draft.value(to).dtype)
    source = found and draft.operand(draft.value(to).shape, lambda t: t.dtype == draft.value(to).dtype, near=to)
    if source is None:
        return None
    number, element = found
    forms = [(f"{to}.add_({source}, alpha={number})", "fused"), (f"{to}.sub_({source}, alpha={number})", "fused"), (f"{to}.mul_({number})", "mul"),
             (f"{to}.fill_({number})", "copy"), (f"{to}.clamp_(min={number})", "add"), (f"{to}.masked_fill_({source} > 1, {number})", "strict"),
             (f"{to}[...] = {number}", "copy")]
    if draft.value(to).dtype.is_floating_point:
        forms += [(f"{to}.lerp_({source}.expand({draft.sizes(draft.value(to).shape)}), {number})", "fused")] * 3
    code, rule = draft.random.choice(forms)
    return Line(code, (), to, (to, source, f"{element}.clone()"), rule)


WRITES = {copied: 8, arithmetic: 8, unary: 5, masked: 5, indexed: 8, several_positions: 2, scattered: 4, shifted: 4,
          reassigned: 3, exchanged: 5, each: 2, from_itself: 5, in_place_only: 2, exchanged_parts: 4, at_item: 3, chosen_rows: 4, numbered: 3}
