"""Operators of one, two and three operands, element by element."""
import itertools

import torch
from torch.nn import functional

from .case import (BF16, BOOL, F16, F32, F64, FLOATS, I8, I16, I32, I64, INTS, MAIN, U8, WIDE, Case, layouts, named, some, special,
                   tensor, ulps, wide_floats)

aten = torch.ops.aten

# operator: units for f32 and f64
UNARY = {
    "abs": 0, "neg": 0, "sign": 0, "relu": 0, "logical_not": 0, "bitwise_not": 0, "isnan": 0, "isinf": 0, "isfinite": 0, "ceil": 0,
    "floor": 0, "round": 0, "trunc": 0, "frac": 0, "sqrt": 1, "reciprocal": 0, "square": 0, "positive": 0, "signbit": 0, "isposinf": 0,
    "isneginf": 0, "deg2rad": 1, "rad2deg": 1, "sgn": 0, "nan_to_num": 0,
    "exp": 2, "exp2": 2, "expm1": 3, "log": 2, "log2": 2, "log10": 2, "log1p": 2, "rsqrt": 1, "sin": 3, "cos": 3, "tan": 3, "asin": 3,
    "acos": 3, "atan": 3, "sinh": 3, "cosh": 3, "tanh": 4, "asinh": 4, "acosh": 4, "atanh": 3, "erf": 4, "erfc": 8, "sigmoid": 4,
    "logit": 4, "erfinv": 8, "sinc": 8, "lgamma": 8, "digamma": 16, "i0": 8,
}
# scale 1: near their zeros these cancel
ACTIVATIONS = {
    "silu": (functional.silu, 5, None), "gelu": (functional.gelu, 6, 1.0), "mish": (functional.mish, 6, None),
    "gelu_tanh": (lambda x: functional.gelu(x, approximate="tanh"), 8, 1.0),
    "hardswish": (functional.hardswish, 2, None), "hardsigmoid": (functional.hardsigmoid, 2, None),
    "hardtanh": (functional.hardtanh, 0, None), "hardtanh_0_2": (lambda x: functional.hardtanh(x, 0.3, 2.2), 0, None),
    "relu6": (functional.relu6, 0, None), "leaky_relu": (functional.leaky_relu, 0, None),
    "leaky_relu_0.3": (lambda x: functional.leaky_relu(x, 0.3), 0, None), "elu": (functional.elu, 3, None),
    "elu_0.7": (lambda x: functional.elu(x, 0.7), 3, None), "selu": (functional.selu, 4, None), "celu": (functional.celu, 4, None),
    "celu_0.6": (lambda x: functional.celu(x, 0.6), 4, None), "softplus": (functional.softplus, 4, None),
    "softplus_2_5": (lambda x: functional.softplus(x, 2, 5), 4, None), "logsigmoid": (functional.logsigmoid, 5, 1.0),
    "threshold": (lambda x: functional.threshold(x, 1, 20), 0, None), "softsign": (functional.softsign, 1, None),
    "tanhshrink": (functional.tanhshrink, 5, 1.0), "hardshrink": (functional.hardshrink, 0, None),
    "softshrink": (functional.softshrink, 0, None), "dropout": (lambda x: functional.dropout(x, 0.3, False), 0, None),
    "round_0": (lambda x: torch.round(x, decimals=0), 0, None), "round_2": (lambda x: torch.round(x, decimals=2), 2, None),
    "round_-1": (lambda x: torch.round(x, decimals=-1), 2, None), "nan_to_num_1": (lambda x: torch.nan_to_num(x, 1.0, 2.0, -3.0), 0, None),
}


def each_layout(fn):
    return lambda x: [fn(part) for part in layouts(x)]


def unary():
    for dtype in MAIN + WIDE:
        x = special(dtype)
        for name, units in UNARY.items():
            operator = getattr(torch, name)
            yield Case(named(name, dtype), each_layout(operator), (x,), ulps(dtype if dtype.is_floating_point else F32, units, min(units, 1)))
        for name, (fn, units, scale) in ACTIVATIONS.items():
            yield Case(named(name, dtype), each_layout(fn), (x,), ulps(dtype, units, min(units, 1)), scale, name not in ORDERED)
        if dtype.is_floating_point:
            ordinary = some((300,), dtype, -6, 6)
            for name, units in UNARY.items():
                yield Case(named(name + ":many", dtype), getattr(torch, name), (ordinary,), ulps(dtype, units, min(units, 1)),
                           1e-3 if units else None)
            for name, (fn, units, scale) in ACTIVATIONS.items():
                yield Case(named(name + ":many", dtype), fn, (ordinary,), ulps(dtype, units, min(units, 1)), scale,
                           name not in ORDERED)


def div(mode):
    return lambda a, b: torch.div(a, b, rounding_mode=mode)


BINARY = {
    "add": (torch.add, 0), "sub": (torch.sub, 0), "mul": (torch.mul, 0), "div": (torch.div, 0), "div_floor": (div("floor"), 0),
    "div_trunc": (div("trunc"), 0), "floor_divide": (torch.floor_divide, 0), "remainder": (torch.remainder, 0), "fmod": (torch.fmod, 0),
    "maximum": (torch.maximum, 0), "minimum": (torch.minimum, 0), "fmax": (torch.fmax, 0), "fmin": (torch.fmin, 0),
    "pow": (torch.pow, 4), "atan2": (torch.atan2, 4), "eq": (torch.eq, 0), "ne": (torch.ne, 0), "lt": (torch.lt, 0), "le": (torch.le, 0),
    "gt": (torch.gt, 0), "ge": (torch.ge, 0), "logical_and": (torch.logical_and, 0), "logical_or": (torch.logical_or, 0),
    "logical_xor": (torch.logical_xor, 0), "bitwise_and": (torch.bitwise_and, 0), "bitwise_or": (torch.bitwise_or, 0),
    "bitwise_xor": (torch.bitwise_xor, 0), "lshift": (torch.bitwise_left_shift, 0), "rshift": (torch.bitwise_right_shift, 0),
    "add_alpha": (lambda a, b: torch.add(a, b, alpha=2), 0), "sub_alpha": (lambda a, b: torch.sub(a, b, alpha=3), 0),
    "rsub": (torch.rsub, 0), "copysign": (torch.copysign, 0), "hypot": (torch.hypot, 2), "xlogy": (torch.xlogy, 3),
    "logaddexp": (torch.logaddexp, 4), "heaviside": (torch.heaviside, 0), "isclose": (torch.isclose, 0), "gcd": (torch.gcd, 0), "lcm": (torch.lcm, 0), "ldexp": (torch.ldexp, 4),
    "nextafter": (torch.nextafter, 0), "floor_add": (lambda a, b: a // b + a % b, 0), "masked_fill": (lambda a, b: a.masked_fill(b > 1, 3), 0),
    "where": (lambda a, b: torch.where(a > b, a, b), 0), "clamp_min": (torch.clamp_min, 0), "clamp_max": (torch.clamp_max, 0),
    "clamp": (lambda a, b: torch.clamp(a, b, b + 2), 0), "lerp": (lambda a, b: torch.lerp(a, b, 0.3), 1),
    "lerp_far": (lambda a, b: torch.lerp(a, b, 0.8), 1), "type_as": (lambda a, b: a.type_as(b), 0),
}
DIVIDES = {"div_floor", "div_trunc", "floor_divide", "remainder", "fmod", "floor_add"}
# Which of two equal zeros they give differs between vector loops and their tails.
ORDERED = {"maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max", "clamp", "softshrink"}
PAIRS = [(F32, I64), (I32, F16), (BF16, F16), (F64, F32), (I8, U8), (BOOL, I16), (U8, BOOL), (I16, I32), (I64, U8), (BF16, F32), (F32, BOOL)]


def divisors(x):
    """Integers without zeros, at which PyTorch raises."""
    return moderate(x) if x.dtype.is_floating_point else torch.where(x == 0, torch.ones_like(x), x)


def moderate(x):
    """Floats whose quotients are not huge, for which PyTorch's vector loops have no remainder (they give NaN)."""
    size = x.abs()
    return torch.where((size == 0) | size.isnan() | size.isinf() | ((size > 1e-2) & (size < 1e3)), x, torch.full_like(x, 6.5))


def dividends(x):
    """Integers without the smallest: PyTorch traps when it is divided by -1."""
    if x.dtype.is_floating_point:
        return moderate(x)
    if not x.dtype.is_signed:
        return x
    return torch.where(x == torch.iinfo(x.dtype).min, torch.full_like(x, 5), x)


def binary():
    everywhere = {"add", "mul", "sub", "div", "eq", "lt", "where", "maximum", "pow"}
    for name, (fn, units) in BINARY.items():
        pairs = [(d, d) for d in MAIN + WIDE] + (list(itertools.permutations(MAIN, 2)) if name in everywhere else PAIRS)
        for first, second in pairs:
            a, b = special(first), special(second)
            if name in DIVIDES:
                a, b = dividends(a), divisors(b)
            if name in ("gcd", "lcm"):
                a, b = dividends(a), dividends(b)
            if name in ("lshift", "rshift"):
                b = some((36,), second, -2, 70)
            if name == "pow" and not second.is_floating_point:
                b = some((36,), second, 0, 70)
            result = torch.result_type(a, b) if {first, second}.isdisjoint(WIDE) else first
            dtype = result if result.is_floating_point else F32
            wide = lambda a, b, fn=fn: (fn(a[:, None], b[None, :]), fn(layouts(a)[1], layouts(b)[1]), fn(a[3:4], layouts(b)[4]))
            if name in ("add_alpha", "sub_alpha") and dtype in (F16, BF16):
                continue  # vector loops and their tails round differently; see differences.md
            yield Case(named(name, first, second), wide, (a, b), ulps(dtype, units, min(units, 1)),
                       1.0 if name == "logaddexp" else None, name not in ORDERED)
            yield Case(named(name + ":0d", first, second), lambda a, b, fn=fn: (fn(a, layouts(b)[3]), fn(layouts(a)[3], b), fn(layouts(a)[3], layouts(b)[3])), (a, b),
                       ulps(dtype, units, 1 if units else 0), 1.0 if name == "logaddexp" else None, name not in ORDERED)


SCALARS = [2, -3, 0, 7, 2.5, -0.75, True, 1e10, 300, -200]


def scalars():
    both = {name: fn for name, (fn, _) in BINARY.items() if name not in {"maximum", "minimum", "fmax", "fmin", "atan2", "logical_and",
            "logical_or", "logical_xor", "copysign", "hypot", "logaddexp", "heaviside", "isclose", "gcd", "lcm", "ldexp", "nextafter", "lerp", "lerp_far",
            "type_as", "masked_fill", "where", "clamp"}}
    both["clamp"] = lambda x, s: torch.clamp(x, min=s)
    both["clamp_both"] = lambda x, s: torch.clamp(x, s, s + 3)
    both["clamp_crossed"] = lambda x, s: torch.clamp(x, s, s - 3)
    both["masked_fill"] = lambda x, s: x.masked_fill(x > 1, s)
    both["where_scalar"] = lambda x, s: torch.where(x > 1, x, s)
    both["where_scalars"] = lambda x, s: torch.where(x > 1, s, 2 * s)
    both["where_first"] = lambda x, s: torch.where(x > 1, s, x)
    both["fill"] = lambda x, s: torch.fill(x, s)
    both["full_like"] = lambda x, s: torch.full_like(x, s)
    both["rpow"] = lambda x, s: torch.pow(s, x)
    both["rdiv"] = lambda x, s: s / x
    both["rfloordiv"] = lambda x, s: s // x
    both["rmod"] = lambda x, s: torch.remainder(s, x)
    both["rminus"] = lambda x, s: s - x
    both["add_alpha"] = lambda x, s: torch.add(x, s, alpha=2)
    both["rlshift"] = lambda x, s: s << x
    for dtype in MAIN + WIDE:
        for name, fn in both.items():
            x = special(dtype)
            if name in ("rfloordiv", "rmod"):
                x = divisors(x)
            if name in DIVIDES:
                x = dividends(x)
            if name in ("lshift", "rshift", "rlshift"):
                x = some((36,), dtype, -5, 70)
            if name == "rpow" and not dtype.is_floating_point:
                x = some((36,), dtype, 0, 40)
            units = 4 if name in ("pow", "rpow", "xlogy") else 0
            for scalar in SCALARS:
                if name in DIVIDES and not dtype.is_floating_point and scalar == 0:
                    continue
                kind = dtype if dtype.is_floating_point else F32
                yield Case(f"{named(name, dtype)},{scalar}", lambda x, fn=fn, s=scalar: (fn(x, s), fn(layouts(x)[1], s), fn(layouts(x)[3], s)),
                           (x,), ulps(kind, units, min(units, 1)))


def three():
    forms = {
        "addcmul": (lambda a, b, c: torch.addcmul(a, b, c), 1), "addcmul_v": (lambda a, b, c: torch.addcmul(a, b, c, value=2), 1),
        "addcmul_f": (lambda a, b, c: torch.addcmul(a, b, c, value=0.3), 1), "addcdiv": (lambda a, b, c: torch.addcdiv(a, b, c), 1),
        "addcdiv_f": (lambda a, b, c: torch.addcdiv(a, b, c, value=0.3), 1), "lerp_tensor": (lambda a, b, c: torch.lerp(a, b, c), 1),
        "clamp_tensor": (lambda a, b, c: torch.clamp(a, b, c), 0), "where3": (lambda a, b, c: torch.where(c > 0, a, b), 0),
    }
    kinds = [(d, d, d) for d in MAIN + WIDE] + [(F32, I32, I64), (F16, F32, F16), (I32, U8, I64), (BF16, BF16, F32), (I64, F32, F32)]
    for name, (fn, units) in forms.items():
        for kind in kinds:
            a, b, c = (some((6, 7), d, -3, 3, i) for i, d in enumerate(kind))
            both = lambda a, b, c, fn=fn: (fn(a, b, c), fn(a.t(), b[:, 0], c[0, 0]), fn(a, b[:1], c[:, :1]), fn(a[:0], b[:0], c[:0]))
            float_kind = next((d for d in kind if d.is_floating_point), F32)
            allowed = units * (4 if float_kind == F64 else 1)  # two roundings, where PyTorch has one; see differences.md
            yield Case(named(name, *kind), both, (a, b, c), ulps(float_kind, allowed, 1), 1.0 if units else None)


def casts():
    for source in MAIN + WIDE:
        x = torch.cat((special(source), wide_floats(source))) if source.is_floating_point else special(source)
        for target in MAIN + WIDE:
            yield Case(named("to", source, target), lambda x, t=target: [part.to(t) for part in layouts(x)] + [x.to(t, copy=True)], (x,))
        yield Case(named("clone", source), lambda x: [part.clone() for part in layouts(x)] + [x.contiguous(), torch.flip(x, (0,))], (x,))
    for base in (F16, BF16):
        x = torch.arange(0, 1 << 16).to(torch.int32).to(I16).view(base)[::5].clone()
        for target in (F32, F64, F16 if base == BF16 else BF16, I32, BOOL):
            yield Case(named("to:bits", base, target), lambda x, t=target: x.to(t), (x,))
    bits = torch.cat((torch.arange(-(1 << 31), 1 << 31, 1 << 20), torch.arange(0x33000000, 0x48000000, 40507))).to(I32).view(F32)
    for target in (F16, BF16):
        yield Case(named("to:bits", F32, target), lambda x, t=target: x.to(t), (bits,))
        yield Case(named("to:bits", F64, target), lambda x, t=target: x.to(t), (bits.double() * (1 + 2.0 ** -40),))


def chains():
    """Elementwise chains round to the saved dtype at each operator."""
    for dtype in FLOATS:
        x, y = some((5, 37), dtype, -4, 4, 1), some((37,), dtype, 0.5, 2, 2)
        yield Case(named("chain_arithmetic", dtype), lambda x, y: ((x * y + 1.5) / y - x * 3, (x - y) * (x + y) * 0.1), (x, y))
        yield Case(named("chain_swiglu", dtype), lambda x, y: functional.silu(x) * y + x, (x, y), ulps(dtype, 6, 2), "max")
        yield Case(named("chain_rotary", dtype), lambda x, y: torch.cat((-x[:, 18:], x[:, :18]), 1) * y[:36 + 1] + x * y, (x, y))
        for a, b in ((I64, dtype), (BOOL, dtype), (U8, dtype)):
            z = special(a)[:37]
            yield Case(named("chain_mixed", a, b), lambda z, x, y: (z * y, x + z, (z > 1) * x, x.masked_fill(z > 2, -1.0) + z), (z, x, y))


def cases():
    yield from unary()
    yield from binary()
    yield from scalars()
    yield from three()
    yield from casts()
    yield from chains()
