"""Reductions, running reductions, orders, softmax and norms."""
import itertools
import math

import torch
from torch.nn import functional

from .case import BF16, BOOL, F16, F32, F64, FLOATS, I32, I64, MAIN, U8, WIDE, Case, named, some, ulps, with_holes

# operator: whether its units are of the largest result
FOLDS = {
    "sum": (torch.sum, 3), "mean": (torch.mean, 3), "prod": (torch.prod, 8), "amax": (torch.amax, 0), "amin": (torch.amin, 0),
    "any": (torch.any, 0), "all": (torch.all, 0), "nansum": (torch.nansum, 3), "nanmean": (torch.nanmean, 3), "count_nonzero": (torch.count_nonzero, 0),
    "var": (torch.var, 8), "std": (torch.std, 8), "logsumexp": (torch.logsumexp, 4), "argmax": (torch.argmax, 0), "argmin": (torch.argmin, 0),
    "aminmax": (lambda x, dim=None, keepdim=False: torch.aminmax(x, dim=dim, keepdim=keepdim), 0),
    "var_mean": (torch.var_mean, 8), "std_mean": (torch.std_mean, 8),
    "vector_norm": (torch.linalg.vector_norm, 4), "norm": (torch.norm, 4),
    "vector_norm_1": (lambda x, **o: torch.linalg.vector_norm(x, 1, **o), 4), "vector_norm_inf": (lambda x, **o: torch.linalg.vector_norm(x, math.inf, **o), 1),
    "vector_norm_ninf": (lambda x, **o: torch.linalg.vector_norm(x, -math.inf, **o), 1), "vector_norm_0": (lambda x, **o: torch.linalg.vector_norm(x, 0, **o), 1),
    "vector_norm_3": (lambda x, **o: torch.linalg.vector_norm(x, 3, **o), 8), "vector_norm_0.5": (lambda x, **o: torch.linalg.vector_norm(x, 0.5, **o), 12),
}
ONE_DIM = {"argmax", "argmin", "aminmax", "prod"}


def tries(fn, *arguments):
    """fn's result for each argument set that PyTorch takes."""
    def call(*tensors):
        results = []
        for options in arguments:
            try:
                results.append(fn(*tensors, **options))
            except (RuntimeError, TypeError, IndexError, NotImplementedError, ValueError):
                pass
        return results
    return call


def folds():
    whole = [{}, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}]
    lists = [{"dim": (0, 2)}, {"dim": (1, -1), "keepdim": True}, {"dim": (0, 1, 2)}, {"dim": ()}]
    for dtype in MAIN + WIDE:
        for name, (fn, units) in FOLDS.items():
            if name == "count_nonzero" and dtype in WIDE:
                continue  # exported, but not run by PyTorch
            arguments = whole if name in ONE_DIM else whole + lists
            low, high = (0.3, 1.6) if name in ("prod", "vector_norm_0.5") else (-3, 3)
            x = some((3, 5, 7), dtype, low, high)
            kind = dtype if dtype.is_floating_point else F32
            for suffix, at in (("", lambda x: x), (":turned", lambda x: x.permute(2, 0, 1)), (":step", lambda x: x[:, ::2, 1:6])):
                yield Case(named(name + suffix, dtype), tries(lambda x, fn=fn, at=at, **o: fn(at(x), **o), *arguments), (x,),
                           ulps(kind, units, min(units, 2)), "max" if units else None)
            yield Case(named(name + ":0d", dtype), tries(fn, {}, {"dim": 0}, {"dim": -1, "keepdim": True}), (some((), dtype),),
                       ulps(kind, units, min(units, 1)))
            yield Case(named(name + ":empty", dtype), tries(fn, {}, {"dim": 1}, {"dim": 0}, {"dim": 0, "keepdim": True}), (some((0, 3), dtype),),
                       ulps(kind, units, min(units, 1)))
            if dtype.is_floating_point:
                holes = with_holes((6, 9), dtype)
                yield Case(named(name + ":nan", dtype), tries(fn, {}, {"dim": 0}, {"dim": 1}), (holes,), ulps(kind, units, min(units, 2)),
                           "max" if units else None)
            yield Case(named(name + ":long", dtype), tries(fn, {}, {"dim": 0}, {"dim": 1}), (some((33, 300), dtype, *((0.97, 1.03) if name == "prod" else (low, high))),),
                       ulps(kind, max(units, 8) if units else 0, min(units, 2)), "max" if units else None)
        for name, options in (("var", {"correction": 0}), ("var", {"correction": 2}), ("std", {"unbiased": False}), ("var_mean", {"dim": [1], "correction": 0}),
                              ("std_mean", {"dim": [0, 2]}), ("var", {"correction": 7, "dim": 2}), ("var", {"correction": 9, "dim": 2})):
            yield Case(named(f"{name}:{options}", dtype).replace(" ", ""), lambda x, n=name, o=options: getattr(torch, n)(x, **o),
                       (some((3, 5, 7), dtype),), ulps(dtype, 8, 2), "max")
        for target in (F32, F64, I64, I32, F16, BF16, U8, BOOL):
            for name in ("sum", "mean", "prod", "cumsum", "cumprod", "nansum"):
                fn = getattr(torch, name)
                x = some((4, 6), dtype, -3, 3) if name != "prod" else some((4, 6), dtype, 1, 2)
                both = lambda x, fn=fn, t=target: fn(x, dim=1, dtype=t)
                yield Case(named(name + ":dtype", dtype, target), both, (x,), ulps(target, 4, 1), "max")


def indices():
    for dtype in MAIN + WIDE:
        inputs = [some((5, 9), dtype, -3, 3)] + ([with_holes((5, 9), dtype)] if dtype.is_floating_point else [])
        for n, x in enumerate(inputs):
            suffix = ":nan" if n else ""
            for name in ("max", "min", "median", "mode", "cummax", "cummin", "nanmedian", "argmax", "argmin"):
                fn = getattr(torch, name)
                yield Case(named(name + ".dim" + suffix, dtype), tries(fn, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}), (x,))
                yield Case(named(name + ".turned" + suffix, dtype), tries(lambda x, fn=fn, **o: fn(x.t(), **o), {"dim": 0}, {"dim": 1}), (x,))
            for name in ("max", "min", "median"):
                yield Case(named(name + suffix, dtype), lambda x, fn=getattr(torch, name): fn(x), (x,))
            yield Case(named("kthvalue" + suffix, dtype), lambda x: torch.kthvalue(x, 3, 1).values, (x,))
            for name in ("sort", "argsort", "msort"):
                fn = getattr(torch, name)
                if name == "msort":
                    yield Case(named(name + suffix, dtype), fn, (x,))
                    continue
                stable = [{"dim": d, "descending": up, "stable": True} for d in (0, -1) for up in (False, True)]
                yield Case(named(name + ".stable" + suffix, dtype), tries(fn, *stable), (x,))
                unique = x if n == 0 else x
                values = (lambda r: r[0]) if name == "sort" else (lambda r: r)
                if name == "sort":
                    yield Case(named(name + suffix, dtype), tries(lambda x, **o: torch.sort(x, **o).values, {}, {"dim": 0}, {"descending": True}), (x,))
            for options in ({}, {"dim": 0}, {"largest": False}, {"sorted": False}, {"dim": 0, "largest": False}):
                yield Case(named(f"topk:{options}{suffix}", dtype).replace(" ", ""), lambda x, o=options: torch.topk(x, 3, **o).values.sort(o.get("dim", -1)).values if not o.get("sorted", True) else torch.topk(x, 3, **o).values, (x,))
        zero = some((), dtype)
        yield Case(named("orders:0d", dtype), lambda x: (torch.sort(x), torch.topk(x, 1), torch.max(x, 0), torch.min(x, -1), torch.argmax(x), torch.argsort(x), torch.max(x)), (zero,))
        yield Case(named("orders:empty", dtype), lambda x: (torch.sort(x), torch.topk(x, 2, 1), torch.max(x, 1), torch.argmax(x, 1), torch.amin(x, 1)), (some((0, 4), dtype),))
        distinct = torch.arange(24).flip(0).mul(7).remainder(24).to(dtype).view(4, 6) if dtype != BOOL else None
        if distinct is not None:
            yield Case(named("topk:distinct", dtype), lambda x: (torch.topk(x, 3), torch.topk(x, 2, 0, largest=False), torch.sort(x, 0, True), torch.argsort(x)), (distinct,))
    for dtype in FLOATS + [I32]:
        long = torch.randperm(5000, generator=torch.Generator().manual_seed(3)).to(dtype if dtype in (F32, F64, I32) else F32).view(5, 1000)
        yield Case(named("topk:long", dtype), lambda x: (torch.topk(x, 50), torch.sort(x), torch.argsort(x, descending=True)), (long,))


def scans():
    for dtype in MAIN + WIDE:
        for name, units in (("cumsum", 4), ("cumprod", 8), ("logcumsumexp", 8)):
            fn = getattr(torch, name)
            x = some((4, 11), dtype, -2, 2) if name != "cumprod" else some((4, 11), dtype, 0.5, 1.5)
            kind = dtype if dtype.is_floating_point else F32
            yield Case(named(name, dtype), lambda x, fn=fn: (fn(x, 0), fn(x, -1), fn(x.t(), 0), fn(x[:, ::2], 1), fn(x[:0], 1), fn(x[0, 0], 0)), (x,),
                       ulps(kind, units, 1), "max")
            if dtype.is_floating_point:
                yield Case(named(name + ":nan", dtype), lambda x, fn=fn: (fn(x, 0), fn(x, 1)), (with_holes((5, 9), dtype),), ulps(kind, units, 1), "max")
        for name in ("cummax", "cummin") if dtype not in WIDE else ():
            fn = getattr(torch, name)
            values = [some((4, 11), dtype, -2, 2), some((3,), dtype)] + ([with_holes((5, 9), dtype)] if dtype.is_floating_point else [])
            yield Case(named(name, dtype), lambda x, y, *z, fn=fn: (fn(x, 0), fn(x.t(), 0), fn(x[:0], 1), fn(y[0], 0), [fn(v, 1) for v in z]), tuple(values))
        yield Case(named("diff", dtype), lambda x: (torch.diff(x), torch.diff(x, dim=0), torch.diff(x, n=2), torch.diff(x, prepend=x[:, :1]), torch.diff(x, append=x[:, :2])), (some((4, 11), dtype),))


def softmaxes():
    for dtype in FLOATS:
        x = some((3, 5, 7), dtype, -6, 6)
        masked = x.clone()
        masked[0, 1], masked[1, :, 2], masked[2, 3, 3:], masked[1, 0, 0] = -math.inf, -math.inf, -math.inf, math.inf
        masked[2, 0, 0] = math.nan
        for name in ("softmax", "log_softmax", "softmin"):
            fn = getattr(functional, name)
            units = 4 if name != "log_softmax" else 8
            for suffix, value in (("", x), (":inf", masked)):
                yield Case(named(name + suffix, dtype), lambda x, fn=fn: (fn(x, -1), fn(x, 0), fn(x, 1), fn(x.permute(2, 0, 1), -1), fn(x[..., ::2], -1), fn(x[0, 0, 0], 0), fn(x[:0], 1), fn(x, -1).log() * 0 + 1),
                           (value,), ulps(dtype, units, 1), 1.0 if name == "log_softmax" else None)
            for target in FLOATS:
                yield Case(named(name + ":dtype", dtype, target), lambda x, fn=fn, t=target: fn(x, 1, dtype=t), (x,), ulps(target, units, 1), 1.0 if name == "log_softmax" else None)
        yield Case(named("safe_softmax", dtype), lambda x: torch.ops.aten._safe_softmax.default(x, -1), (masked,), ulps(dtype, 4, 1))
        wide = some((4, 1000), dtype, -6, 6)
        yield Case(named("softmax:long", dtype), lambda x: (functional.softmax(x, -1), functional.log_softmax(x, -1)), (wide,), ulps(dtype, 8, 1), 1e-2)
    yield Case(named("softmax:int", I64), lambda x: functional.softmax(x, -1, dtype=F32), (some((3, 4), I64),), 4)


def norms():
    for dtype in FLOATS:
        x, weight, bias = some((2, 6, 5, 4), dtype, -2, 2, 1), some((6,), dtype, 0.5, 2, 2), some((6,), dtype, -1, 1, 3)
        row, shift = some((4,), dtype, 0.5, 2, 4), some((4,), dtype, -1, 1, 5)
        plane, plane_shift = some((5, 4), dtype, 0.5, 2, 4), some((5, 4), dtype, -1, 1, 5)
        options = dict(ulp=ulps(dtype, 16, 2), scale="max")
        layer = functional.layer_norm
        yield Case(named("layer_norm", dtype), lambda x, w, b, p, q: (layer(x, (4,), w, b), layer(x, (4,)), layer(x, (4,), w), layer(x, (4,), None, b, 1e-3),
                   layer(x, (5, 4), p, q), layer(x.transpose(1, 3), (6,)), layer(x[..., ::2], (2,)), layer(x[:0], (4,), w, b)), (x, row, shift, plane, plane_shift), **options)
        yield Case(named("native_layer_norm", dtype), lambda x, w, b: torch.native_layer_norm(x, (4,), w, b, 1e-5), (x, row, shift), **options)
        rms = functional.rms_norm
        yield Case(named("rms_norm", dtype), lambda x, w, p: (rms(x, (4,), w), rms(x, (4,)), rms(x, (5, 4), p, 1e-5), rms(x.transpose(1, 3), (6,))), (x, row, plane), **options)
        group = functional.group_norm
        yield Case(named("group_norm", dtype), lambda x, w, b: (group(x, 2, w, b), group(x, 3), group(x, 6, w), group(x, 1, None, b, 1e-3), group(x[:, :, 0], 2, w, b), group(x[:, :, 0, 0], 2, w, b), group(x.transpose(2, 3), 2, w, b)), (x, weight, bias), **options)
        yield Case(named("native_group_norm", dtype), lambda x, w, b: torch.native_group_norm(x, w, b, 2, 6, 20, 2, 1e-5), (x, weight, bias), **options)
        mean, var = some((6,), dtype, -1, 1, 6), some((6,), dtype, 0.2, 2, 7)
        batch = functional.batch_norm
        yield Case(named("batch_norm", dtype), lambda x, m, v, w, b: (batch(x, m, v, w, b), batch(x, m, v), batch(x, m, v, w, None, False, 0.1, 1e-3), batch(x[:, :, 0, 0], m, v, w, b), batch(x[:, :, 0], m, v, None, b), batch(x.transpose(2, 3), m, v, w, b)), (x, mean, var, weight, bias), **options)
        yield Case(named("batch_norm:training", dtype), lambda x, w, b: batch(x, None, None, w, b, True), (x, weight, bias), **options)
        yield Case(named("instance_norm", dtype), lambda x, m, v, w, b: (functional.instance_norm(x, weight=w, bias=b), functional.instance_norm(x), functional.instance_norm(x, m, v, w, b, False)), (x, mean, var, weight, bias), **options)
        yield Case(named("local_response_norm", dtype), lambda x: functional.local_response_norm(x, 3), (x,), **options)
        yield Case(named("normalize", dtype), lambda x: (functional.normalize(x), functional.normalize(x, 1, -1), functional.normalize(x, 3.0, 2)), (x,), **options)
        yield Case(named("weight_norm", dtype), lambda v, g: torch._weight_norm(v, g, 0), (x[:, :, 0].contiguous(), some((2, 1, 1), dtype, 0.5, 2)), **options)
        yield Case(named("cosine_similarity", dtype), lambda a: (functional.cosine_similarity(a, a.flip(1)), functional.pairwise_distance(a[0], a[1])), (x,), **options)
    for weight_dtype, dtype in ((F32, BF16), (F32, F16)):
        x, mixed, shift = some((3, 8), dtype), some((8,), weight_dtype, 0.5, 2), some((8,), weight_dtype, -1, 1)
        yield Case(named("layer_norm:mixed", dtype, weight_dtype), lambda x, w, b: functional.layer_norm(x, (8,), w, b), (x, mixed, shift), 2, "max")
        image = some((2, 8, 3, 3), dtype)
        yield Case(named("batch_norm:mixed", dtype, weight_dtype), lambda x, w, b: functional.batch_norm(x, b, w, w, b), (image, mixed, shift), 2, "max")
        yield Case(named("group_norm:mixed", dtype, weight_dtype), lambda x, w, b: functional.group_norm(x, 2, w, b), (image, mixed, shift), 2, "max")


def cases():
    yield from folds()
    yield from indices()
    yield from scans()
    yield from softmaxes()
    yield from norms()
