"""Products, convolutions, pools, attention and resizing."""
import math

import torch
from torch.nn import functional

from .case import BF16, BOOL, F16, F32, F64, FLOATS, I8, I16, I32, I64, INTS, MAIN, U8, Case, named, some, ulps

aten = torch.ops.aten


def units(dtype, depth=8):
    return dict(ulp=ulps(dtype, 2 * depth, 3), scale="max")


def matmuls():
    for dtype in MAIN:
        v, m, n, b, c = some((5,), dtype), some((4, 5), dtype, seed=1), some((5, 3), dtype, seed=2), some((2, 4, 5), dtype, seed=3), some((2, 5, 3), dtype, seed=4)
        more = some((3, 1, 4, 5), dtype, seed=5)
        mine = lambda name, fn, *args: Case(named(name, dtype), fn, args, **units(dtype))
        yield mine("matmul", lambda v, m, n, b, c, d: (v @ v, m @ v, v @ n, m @ n, b @ n, b @ v, v @ c, b @ c, d @ c, d @ n, m @ c, m.t() @ m, n.t() @ m.t(), b.transpose(1, 2) @ b, m[::2] @ n, m @ n[:, ::2], m[:0] @ n, m[:, :0] @ n[:0], b[:0] @ c[:0]), v, m, n, b, c, more)
        yield mine("mm", lambda m, n: (torch.mm(m, n), torch.mm(m[:1], n), torch.mm(n.t(), m.t())), m, n)
        yield mine("bmm", lambda b, c: (torch.bmm(b, c), torch.bmm(c.transpose(1, 2), b.transpose(1, 2))), b, c)
        yield mine("mv", lambda m, v: (torch.mv(m, v), torch.mv(m[:, ::2], v[::2]), torch.mv(m[:, :0], v[:0])), m, v)
        yield mine("dot", lambda v: (torch.dot(v, v), torch.vdot(v, v.flip(0)), torch.dot(v[:0], v[:0])), v)
        yield mine("outer", lambda v, m: (torch.outer(v, m[0]), torch.outer(v[::2], m[:, 0])), v, m)
        yield mine("inner", lambda v, m, b: (torch.inner(v, v), torch.inner(m, m), torch.inner(m, v), torch.inner(b, m)), v, m, b)
        yield mine("linear", lambda x, w, b, d: (functional.linear(x, w), functional.linear(x, w, b), functional.linear(x[0], w, b), functional.linear(x[0, 0], w, b), functional.linear(d, w, b), functional.linear(x, w[0]), functional.linear(x.transpose(0, 1), w, b), functional.linear(x[:0], w, b)), b, m, some((4,), dtype, seed=7), more)
        bias, row, whole = some((4, 3), dtype, seed=8), some((3,), dtype, seed=9), some((2, 4, 3), dtype, seed=10)
        scales = ({}, {"beta": 2}, {"alpha": 3}, {"beta": 0}, {"alpha": 2, "beta": 3}) + (({"alpha": 0.5, "beta": 0.25},) if dtype.is_floating_point else ())
        for options in scales:
            text = ",".join(f"{k}={v}" for k, v in options.items())
            yield mine(f"addmm:{text}", lambda s, r, m, n, o=options: (torch.addmm(s, m, n, **o), torch.addmm(r, m, n, **o), torch.addmm(s[:1], m, n, **o), torch.addmm(r[0], m, n, **o), torch.addmm(s, m[:, :0], n[:0], **o)), bias, row, m, n)
            yield mine(f"addmv:{text}", lambda s, m, v, o=options: torch.addmv(s, m, v, **o), some((4,), dtype, seed=7), m, v)
            yield mine(f"baddbmm:{text}", lambda s, r, b, c, o=options: (torch.baddbmm(s, b, c, **o), torch.baddbmm(s[:1], b, c, **o), torch.baddbmm(r, b, c, **o)), whole, row, b, c)
            yield mine(f"addbmm:{text}", lambda s, b, c, o=options: torch.addbmm(s, b, c, **o), bias, b, c)
            yield mine(f"addr:{text}", lambda s, v, w, o=options: torch.addr(s, v, w, **o), some((5, 5), dtype), v, v)
        holes = bias.clone()
        if dtype.is_floating_point:
            holes[1, 1] = math.nan
            yield mine("addmm:nan", lambda s, m, n: (torch.addmm(s, m, n, beta=0), torch.addmm(s, m, n)), holes, m, n)
        yield mine("einsum", lambda m, n, b, c, v: (torch.einsum("ij,jk->ik", m, n), torch.einsum("bij,bjk->bik", b, c), torch.einsum("bij,bjk->ik", b, c), torch.einsum("ij->ji", m), torch.einsum("ij->", m),
                   torch.einsum("ii->i", b[:, 0, :2]), torch.einsum("bij,j->bi", b, v), torch.einsum("i,j->ij", v, v), torch.einsum("...ij,jk->...ik", b, n), torch.einsum("bij,kj->bki", b, m)), m, n, b, c, v)
        yield mine("tensordot", lambda b, c: (torch.tensordot(b, c, ([2], [1])), torch.tensordot(b, b, 2) if False else torch.tensordot(b, b, ([0, 1], [0, 1]))), b, c)
        yield mine("kron", lambda m, n: torch.kron(m, n), m, n)
        yield mine("trace", lambda m: torch.trace(m), m)
        yield mine("cross", lambda m: torch.linalg.cross(m[:, :3], m[:, 2:]), m)
        yield mine("vecdot", lambda m: torch.linalg.vecdot(m, m.flip(0)), m)
        yield mine("bilinear", lambda m, w, x: functional.bilinear(m, x, w), m, some((2, 5, 3), dtype), some((4, 3), dtype))
        yield mine("cdist", lambda m, n: torch.cdist(m, n.t()), m, n)
        large, other = some((70, 90), dtype, -1, 1, 11), some((90, 50), dtype, -1, 1, 12)
        yield Case(named("matmul:large", dtype), lambda a, b: (a @ b, a[:3] @ b, a[:1] @ b, b.t() @ a.t(), a[:20] @ b), (large, other), **units(dtype, 30))


def convolutions():
    for dtype in FLOATS + [I64, I32, I8, U8]:
        mine = lambda name, fn, *args: Case(named(name, dtype), fn, args, **units(dtype, 16))
        for rank, conv, turned in ((1, functional.conv1d, functional.conv_transpose1d), (2, functional.conv2d, functional.conv_transpose2d), (3, functional.conv3d, functional.conv_transpose3d)):
            side = (9, 8, 6)[:rank]
            x, w, b, g = some((2, 4, *side), dtype), some((6, 4, *(3, 2, 3)[:rank]), dtype, seed=1), some((6,), dtype, seed=2), some((6, 2, *(3, 3, 2)[:rank]), dtype, seed=3)
            deep, one = some((4, 1, *(3,) * rank), dtype, seed=4), some((6, 4, *(1,) * rank), dtype, seed=5)
            yield mine(f"conv{rank}d", lambda x, w, b, g, d, o, f=conv: (f(x, w), f(x, w, b), f(x, w, b, 2), f(x, w, b, 1, 1), f(x, w, None, 2, 2, 2), f(x, w, b, dilation=2), f(x, g, b, groups=2), f(x, d, None, 1, 1, 1, 4), f(x, o, b), f(x[0], w, b), f(x, w, b, padding="same"), f(x, w, b, padding="valid"), f(x, d, None, padding="same", dilation=2, groups=4), f(x[:0], w, b)), x, w, b, g, deep, one)
            yield mine(f"conv{rank}d:strided", lambda x, w, b, f=conv: (f(x[..., ::2], w[..., :2], b), f(x.transpose(-1, 1)[:, :4], w, b) if x.shape[-1] == 4 else f(x.flip(-1), w, b)), x, w, b)
            t, tb, tg = some((4, 6, *(3, 2, 3)[:rank]), dtype, seed=6), some((6,), dtype, seed=7), some((4, 3, *(3, 3, 2)[:rank]), dtype, seed=8)
            yield mine(f"conv_transpose{rank}d", lambda x, w, b, g, f=turned: (f(x, w), f(x, w, b), f(x, w, b, 2), f(x, w, b, 2, 1, 1), f(x, w, None, dilation=2), f(x, g, b, groups=2), f(x[0], w, b), f(x, g, b, 2, 1, 1, 2, 2)), x, t, tb, tg)
        x, w = some((2, 4, 9, 8), dtype), some((6, 4, 3, 2), dtype, seed=1)
        yield mine("convolution", lambda x, w: aten.convolution.default(x, w, None, [2, 1], [1, 0], [1, 2], False, [0, 0], 1), x, w)


def pools():
    for dtype in FLOATS + INTS:
        for rank in (1, 2, 3):
            x = some((2, 3, *(9, 8, 7)[:rank]), dtype, -4, 4)
            largest, average = getattr(functional, f"max_pool{rank}d"), getattr(functional, f"avg_pool{rank}d")
            yield Case(named(f"max_pool{rank}d", dtype), lambda x, f=largest: (f(x, 2), f(x, 3, 1), f(x, 3, 2, 1), f(x, 2, 2, 0, 1, True), f(x, 3, 2, 1, 2), f(x, 3, 2, 1, 1, True), f(x[0], 2), f(x.flip(-1), 2, 3, ceil_mode=True), f(x.transpose(0, 1), 2)), (x,))
            yield Case(named(f"max_pool{rank}d:indices", dtype), lambda x, f=largest: f(x, 3, 2, 1, return_indices=True), (x,))
            yield Case(named(f"avg_pool{rank}d", dtype), lambda x, f=average: (f(x, 2), f(x, 3, 1), f(x, 3, 2, 1), f(x, 2, 2, 0, True), f(x, 3, 2, 1, True, False), f(x, 3, 2, 1, False, False), f(x, 4, 3, 2, True), f(x[0], 2)), (x,), **units(dtype))
            if rank > 1:
                yield Case(named(f"avg_pool{rank}d:divisor", dtype), lambda x, f=average: (f(x, 2, divisor_override=3), f(x, 3, 2, 1, divisor_override=5)), (x,), **units(dtype))
            adaptive, adaptive_max = getattr(functional, f"adaptive_avg_pool{rank}d"), getattr(functional, f"adaptive_max_pool{rank}d")
            yield Case(named(f"adaptive_avg_pool{rank}d", dtype), lambda x, f=adaptive, r=rank: (f(x, 1), f(x, (3, 4, 7)[:r]), f(x, 2), f(x, 5), f(x[0], 1), f(x, (None,) * r) if r > 1 else f(x, 9)), (x,), **units(dtype))
            yield Case(named(f"adaptive_max_pool{rank}d", dtype), lambda x, f=adaptive_max: (f(x, 1), f(x, 2), f(x, 5)), (x,))
            yield Case(named(f"lp_pool{rank}d", dtype), lambda x, f=getattr(functional, f"lp_pool{rank}d"): f(x, 2.0, 2), (x,), **units(dtype))
            if dtype.is_floating_point:
                holes = x.clone()
                holes[0, 0, 0], holes[0, 1, 1] = math.nan, -math.inf
                holes[1] = -math.inf
                yield Case(named(f"max_pool{rank}d:nan", dtype), lambda x, f=largest: (f(x, 2), f(x, 3, 2, 1)), (holes,))


def attentions():
    attend = functional.scaled_dot_product_attention
    for dtype in FLOATS:
        q, k, v = some((2, 4, 5, 8), dtype, -1, 1, 1), some((2, 4, 7, 8), dtype, -1, 1, 2), some((2, 4, 7, 6), dtype, -1, 1, 3)
        few_k, few_v = k[:, :2].contiguous(), v[:, :2].contiguous()
        mask = some((5, 7), BOOL)
        mask[:, 0] = True
        masked = mask.clone()
        masked[2] = False
        added = torch.where(mask, 0.0, -math.inf).to(dtype)
        hidden = torch.where(masked, 0.0, -math.inf).to(dtype)
        slope = some((2, 1, 5, 7), dtype, -1, 1)
        mine = lambda name, fn, *args: Case(named(name, dtype), fn, args, ulps(dtype, 16, 3), "max")
        yield mine("attention", lambda q, k, v: (attend(q, k, v), attend(q, k, v, is_causal=True), attend(q, k, v, scale=0.3), attend(q[0], k[0], v[0]), attend(q[0, 0], k[0, 0], v[0, 0]), attend(q, q, q, is_causal=True), attend(q[:, :, :1], k, v), attend(q.transpose(1, 2), k.transpose(1, 2)[:, :5], v.transpose(1, 2)[:, :5])), q, k, v)
        yield mine("attention:mask", lambda q, k, v, m, a, s: (attend(q, k, v, m), attend(q, k, v, a), attend(q, k, v, s), attend(q, k, v, m[None, None]), attend(q[0], k[0], v[0], m), attend(q, k, v, s.expand(2, 4, 5, 7)), attend(q, k, v, m[:1])), q, k, v, mask, added, slope)
        yield mine("attention:masked_rows", lambda q, k, v, m, a: (attend(q, k, v, m), attend(q, k, v, a), attend(q, k, v, m & False)), q, k, v, masked, hidden)
        yield mine("attention:groups", lambda q, k, v, m: (attend(q, k, v, enable_gqa=True), attend(q, k, v, m, enable_gqa=True), attend(q, k[:, :1], v[:, :1], enable_gqa=True), attend(q, k, v, is_causal=True, enable_gqa=True)), q, few_k, few_v, mask)
        yield mine("attention:empty", lambda q, k, v: (attend(q[:0], k[:0], v[:0]), attend(q[:, :, :0], k, v), attend(q, k[:, :, :0], v[:, :, :0])), q, k, v)
        yield mine("attention:broadcast", lambda q, k, v: (attend(q, k[:1], v[:1]), attend(q[None], k[None], v[None])), q, k, v)
        if dtype in (BF16, F16):
            yield mine("attention:f32_mask", lambda q, k, v, m: attend(q, k, v, m), q, k, v, added.float())


def resizing():
    for dtype in FLOATS + [U8]:
        line, plane, cube = some((2, 3, 7), dtype, 0, 5), some((2, 3, 6, 7), dtype, 0, 5), some((1, 2, 4, 5, 3), dtype, 0, 5)
        resize = functional.interpolate
        whole = dict(ulp=ulps(dtype, 16, 2), scale="max")
        yield Case(named("nearest", dtype), lambda a, b, c: (resize(a, 11), resize(b, (9, 4)), resize(c, (6, 7, 5)), resize(a, scale_factor=2), resize(b, scale_factor=2), resize(b, scale_factor=(0.5, 1.7)), resize(b, scale_factor=2.5, recompute_scale_factor=True)), (line, plane, cube))
        yield Case(named("nearest_exact", dtype), lambda a, b: (resize(a, 11, mode="nearest-exact"), resize(b, (9, 4), mode="nearest-exact"), resize(b, scale_factor=1.7, mode="nearest-exact")), (line, plane))
        yield Case(named("linear", dtype), lambda a: (resize(a, 11, mode="linear"), resize(a, 4, mode="linear"), resize(a, 11, mode="linear", align_corners=True), resize(a, scale_factor=1.7, mode="linear"), resize(a, 1, mode="linear", align_corners=True)), (line,), **whole)
        yield Case(named("bilinear", dtype), lambda b: (resize(b, (9, 4), mode="bilinear"), resize(b, (11, 13), mode="bilinear", align_corners=True), resize(b, scale_factor=2, mode="bilinear"), resize(b, scale_factor=(1.7, 0.6), mode="bilinear"), resize(b, (6, 7), mode="bilinear"), resize(b.transpose(2, 3), (9, 4), mode="bilinear")), (plane,), **whole)
        yield Case(named("trilinear", dtype), lambda c: (resize(c, (6, 7, 5), mode="trilinear"), resize(c, (6, 7, 5), mode="trilinear", align_corners=True)), (cube,), **whole)
        yield Case(named("bicubic", dtype), lambda b: (resize(b, (9, 4), mode="bicubic"), resize(b, (11, 13), mode="bicubic", align_corners=True), resize(b, scale_factor=1.7, mode="bicubic")), (plane,), **whole)
        yield Case(named("area", dtype), lambda b: resize(b, (3, 4), mode="area"), (plane,), **whole)
        yield Case(named("antialias", dtype), lambda b: resize(b, (3, 4), mode="bilinear", antialias=True), (plane,), **whole)
        yield Case(named("pixel_shuffle", dtype), lambda b: (functional.pixel_shuffle(b.view(2, 3, 6, 7)[:, :1].expand(2, 4, 6, 7), 2), functional.pixel_unshuffle(b[..., :6], 2), functional.channel_shuffle(b, 3)), (plane,))
        yield Case(named("im2col", dtype), lambda b: (functional.unfold(b, 3), functional.unfold(b, (2, 3), 2, 1, 2)), (plane,))
        grid = some((2, 4, 5, 2), dtype, -1.2, 1.2, 3)
        yield Case(named("grid_sample", dtype), lambda b, g: (functional.grid_sample(b, g, align_corners=False), functional.grid_sample(b, g, mode="nearest", align_corners=True)), (plane, grid), **whole)


def losses():
    for dtype in FLOATS:
        a, b, labels = some((4, 5), dtype), some((4, 5), dtype, seed=1), torch.tensor([0, 4, 2, 2])
        yield Case(named("losses", dtype), lambda a, b, t: (functional.mse_loss(a, b), functional.l1_loss(a, b), functional.smooth_l1_loss(a, b), functional.cross_entropy(a, t), functional.nll_loss(a, t), functional.huber_loss(a, b), functional.mse_loss(a, b, reduction="none"), functional.kl_div(a, b.exp())), (a, b, labels), ulps(dtype, 16, 2), "max")


def cases():
    yield from matmuls()
    yield from convolutions()
    yield from pools()
    yield from attentions()
    yield from resizing()
    yield from losses()
