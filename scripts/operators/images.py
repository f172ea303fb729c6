"""Images, windows and distances; counts that decide sizes; orders' middles; groups of rows; numbers known when the program runs."""
import torch
from torch.nn import functional

from .case import BF16, F16, F32, F64, FLOATS, I32, I64, INTS, MAIN, U8, Case, named, some, tensor, ulps, with_holes

PIXELS = {
    "pixel_shuffle": lambda x: functional.pixel_shuffle(x, 2), "pixel_unshuffle": lambda x: functional.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: functional.channel_shuffle(x, 4),
    "pixel_shuffle.5d": lambda x: functional.pixel_shuffle(x[None], 2), "pixel_unshuffle.3d": lambda x: functional.pixel_unshuffle(x[0], 2),
}
WINDOWS = [((2, 3), 1, 0, 1), ((3, 3), 1, 1, 2), ((2, 2), 2, 1, (1, 2)), ((1, 1), 1, 0, 1), ((3, 2), (1, 2), (1, 0), (2, 1))]


def images():
    for dtype in MAIN:
        x = some((2, 8, 4, 6), dtype)
        for name, fn in PIXELS.items():
            yield Case(named(name, dtype), fn, (x,))
    for dtype in FLOATS:
        x = some((2, 3, 7, 6), dtype)
        for i, window in enumerate(WINDOWS):
            yield Case(named(f"im2col:{i}", dtype), lambda x, w=window: (functional.unfold(x, *w), functional.unfold(x[0], *w)), (x,))

            def fold(x, w=window):
                columns = functional.unfold(x, *w)
                return functional.fold(columns, x.shape[2:], *w), functional.fold(columns[1], x.shape[2:], *w)
            yield Case(named(f"col2im:{i}", dtype), fold, (x,), ulps(dtype, 4, 4), "max")
        for align in (False, True):
            for size in ((14, 12), (5, 3), (7, 6), (1, 1)):
                yield Case(named(f"bicubic:{size},{align}", dtype), lambda x, s=size, a=align: functional.interpolate(x, s, mode="bicubic", align_corners=a),
                           (x,), ulps(dtype, 40, 3), "max")
            yield Case(named(f"bicubic:scale,{align}", dtype), lambda x, a=align: functional.interpolate(x, scale_factor=1.7, mode="bicubic", align_corners=a),
                       (x,), ulps(dtype, 40, 3), "max")
    for dtype in (F32, F64):
        x, grid = some((2, 3, 5, 6), dtype), some((2, 4, 7, 2), dtype, -1.4, 1.4)
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                for align in (False, True):
                    yield Case(named(f"grid_sample:{mode},{padding},{align}", dtype),
                               lambda x, g, o=(mode, padding, align): functional.grid_sample(x, g, *o), (x, grid), ulps(dtype, 40), "max")
        yield Case(named("batch_norm:own", dtype), lambda x: functional.batch_norm(x, None, None, training=True), (x,), ulps(dtype, 16), "max")
        yield Case(named("batch_norm:own,weight", dtype), lambda x, w: functional.batch_norm(x, None, None, w, w, True, 0.0, 1e-6), (x, some((3,), dtype)),
                   ulps(dtype, 16), "max")


def distances():
    for dtype in FLOATS:
        a, b = some((3, 5, 6), dtype), some((3, 5, 6), dtype, seed=1)
        yield Case(named("cosine_similarity", dtype), lambda a, b: [functional.cosine_similarity(a, b, dim) for dim in (0, 1, -1)] +
                   [functional.cosine_similarity(a, b[0, 0], -1), functional.cosine_similarity(a * 0, b, 1, 1e-3)], (a, b), ulps(dtype, 16, 8), "max")
        for p in (1, 2, float("inf"), 3, 0.5):
            yield Case(named(f"renorm:{p}", dtype), lambda x, p=p: [torch.renorm(x, p, dim, 2.5) for dim in (0, 1, -1)], (a,), ulps(dtype, 32, 2), "max")
    for dtype in (F32, F64):
        a, b = some((2, 7, 6), dtype), some((2, 5, 6), dtype, seed=1)
        for p in (0, 1, 2, float("inf"), 3):
            yield Case(named(f"cdist:{p}", dtype), lambda a, b, p=p: (torch.cdist(a, b, p), torch.cdist(a[0], b, p), torch.cdist(a, b[:, :0], p)), (a, b),
                       ulps(dtype, 64), "max")
        long = some((30, 6), dtype)
        yield Case(named("cdist:many", dtype), lambda a, b: (torch.cdist(a, b[0]), torch.cdist(a, b)), (long, b), ulps(dtype, 4096), "max")


def counts():
    for dtype in INTS:
        x = some((9,), dtype, 0, 5)
        yield Case(named("bincount", dtype), lambda x: (torch.bincount(x), torch.bincount(x, minlength=9), torch.bincount(x[:0]), torch.bincount(x[:0], minlength=2)), (x,))
        for weight in (F32, F64, F16, I64):
            yield Case(named("bincount:weights", dtype, weight), lambda x, w: torch.bincount(x, w, 3), (x, some((9,), weight)), 4, "max")
    for dtype in (I64, I32):
        n = tensor([2, 0, 3, 1], dtype)
        for kind in (F32, I64, U8):
            yield Case(named("repeat_interleave:tensor", kind, dtype), lambda x, n: (torch.repeat_interleave(x, n, 0), torch.repeat_interleave(x, n, 0, output_size=6),
                       torch.repeat_interleave(x, n[:1], 1), torch.repeat_interleave(x[:, 0], n)), (some((4, 3), kind), n))
        yield Case(named("repeat_interleave:places", dtype), lambda n: (torch.repeat_interleave(n), torch.repeat_interleave(n[1:2])), (n,))
    for size in (5, 8):
        yield Case(f"one_hot:{size}", lambda x, n=size: (functional.one_hot(x, n), functional.one_hot(x[0, 0], n), functional.one_hot(x[:0], n)), (some((3, 2), I64, 0, 4),))


def middles():
    for dtype in FLOATS + INTS:
        for suffix, x in (("", some((5, 8), dtype, -90, 90)), (":nan", with_holes((5, 8), dtype))):
            for name in ("median", "nanmedian"):
                fn = getattr(torch, name)
                if suffix and not dtype.is_floating_point:
                    continue
                yield Case(named(name + suffix, dtype), lambda x, fn=fn: (fn(x), fn(x[:, :3]), fn(x, 0).values, fn(x, 1, keepdim=True).values, fn(x[0, 0])), (x,))
    for dtype in FLOATS:
        for suffix, x in (("", some((5, 9), dtype)), (":wide", some((5, 9), dtype, -300, 300)), (":nan", with_holes((5, 9), dtype))):
            yield Case(named("logcumsumexp" + suffix, dtype), lambda x: (torch.logcumsumexp(x, 0), torch.logcumsumexp(x, -1), torch.logcumsumexp(x[0, 0], 0)), (x,),
                       ulps(dtype, 4), 1.0)


def groups():
    for dtype in (F32, BF16):
        x, w = some((9, 16), dtype), some((4, 16, 8), dtype, seed=1)
        for ends in ([2, 2, 7, 9], [0, 0, 0, 9], [9, 9, 9, 9]):
            yield Case(named(f"grouped_mm:{ends}", dtype), lambda x, w, o: torch._grouped_mm(x, w, o), (x, w, tensor(ends, I32)), ulps(dtype, 16, 2), "max")


def run_time():
    """Numbers that are read from a tensor where an operator has an attribute, and the same made of sizes."""
    forms = {
        "leaky_relu": functional.leaky_relu, "elu": functional.elu, "celu": functional.celu, "hardshrink": functional.hardshrink,
        "softshrink": functional.softshrink, "softplus": lambda x, s: functional.softplus(x, s, s * 3), "lerp": lambda x, s: torch.lerp(x, x.flip(0), s),
        "add_alpha": lambda x, s: torch.add(x, x, alpha=s), "clamp": lambda x, s: x.clamp(s, s + 1), "clamp_min": lambda x, s: x.clamp_min(s),
        "pow": lambda x, s: x.abs().pow(s), "rpow": lambda x, s: torch.pow(s, x), "threshold": lambda x, s: functional.threshold(x, s, 7.0),
        "hardtanh": lambda x, s: functional.hardtanh(x, -s, s), "masked_fill": lambda x, s: x.masked_fill(x > 0, s), "where": lambda x, s: torch.where(x > 0, x, s),
        "full": lambda x, s: torch.full_like(x, s) + x, "addcmul": lambda x, s: torch.addcmul(x, x, x, value=s), "index_fill": lambda x, s: x.index_fill(0, torch.tensor([1, 3]), s),
        "div": lambda x, s: torch.div(x, s, rounding_mode="trunc"), "nan_to_num": lambda x, s: torch.nan_to_num(x, s), "mul_rsub": lambda x, s: s - x * s,
        "scatter": lambda x, s: x.scatter(0, torch.tensor([1, 3]), s), "layer_norm": lambda x, s: functional.layer_norm(x, x.shape, eps=s),
        "linspace": lambda x, s: torch.linspace(s, 5, 11, dtype=x.dtype), "dropout": lambda x, s: functional.dropout(x, 0.5, False) * s,
    }
    for dtype in FLOATS:
        for number in (0.3, 0.75, 1.5):
            for name, fn in forms.items():
                if name == "add_alpha" and dtype in (F16, BF16):
                    continue  # vector loops and their tails round differently; see differences.md
                yield Case(named(f"{name}:item,{number}", dtype), lambda x, s, fn=fn: fn(x, s.item()), (some((40,), dtype), tensor(number, F32)), ulps(dtype, 8, 1), "max")


def triangles():
    for dtype in MAIN:
        for diagonal in (0, 1, -2, 9, -9):
            n = tensor(diagonal, I64)
            yield Case(named(f"triangle:item,{diagonal}", dtype), lambda x, n: [fn(part, n.item()) for fn in (torch.tril, torch.triu) for part in (x, x[0], x[:, :0], x[0].t())],
                       (some((2, 4, 5), dtype), n))


def cases():
    yield from images()
    yield from distances()
    yield from counts()
    yield from middles()
    yield from groups()
    yield from run_time()
    yield from triangles()
