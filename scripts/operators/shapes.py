"""Views, assembled tensors, pads and factories."""
import math

import torch
from torch.nn import functional

from .case import BF16, BOOL, F16, F32, F64, FLOATS, I8, I16, I32, I64, INTS, MAIN, NAMES, U8, WIDE, Case, named, some, special, ulps

aten = torch.ops.aten


def views():
    for dtype in MAIN + WIDE:
        x = some((2, 3, 4), dtype)
        mine = lambda name, fn, *args: Case(named(name, dtype), fn, args or (x,))
        yield mine("view", lambda x: (x.view(6, 4), x.view(-1), x.reshape(4, -1), x.transpose(0, 2).reshape(-1), x.view(2, 1, 12), x[:0].view(0, 12), x.view_as(x), x.reshape_as(x.view(-1)), x[0, 0, 0].view(1, 1), x.transpose(0, 1).flatten(1)))
        yield mine("flatten", lambda x: (x.flatten(), x.flatten(1), x.flatten(-2), x[0, 0, 0].flatten(), x.ravel(), x.unflatten(2, (2, -1)), x.unflatten(-3, (2, 1))))
        yield mine("squeeze", lambda x: (x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(2).squeeze(2), x[:1].squeeze(), x[:1].squeeze(0), x.squeeze(1), x[:1, :, :1].squeeze((0, 2)), x[:1, :, :1].squeeze((0, 1)), x[0, 0, 0].squeeze(), x[0, 0, 0].unsqueeze(0)))
        yield mine("permute", lambda x: (x.permute(2, 0, 1), x.permute(-1, 0, -2), x.transpose(0, -1), x[0].t(), x.mT, x.swapaxes(0, 1), x.swapdims(1, 2), x.movedim(0, 2), x.movedim((0, 1), (2, 0)), x[0, 0].t(), x.moveaxis(0, 1), x[0].T, x[0].mH, x[0].H, x.adjoint()))
        yield mine("expand", lambda x: (x[:1].expand(3, 3, 4), x[:, :1].expand(-1, 5, -1), x[0, 0].expand(2, 3, 4), x[0, 0, 0].expand(2, 2), x[:1].expand_as(x), torch.broadcast_to(x[:1], (5, 3, 4)), torch.broadcast_tensors(x[:1], x[:, :1]), x[:0].expand(0, 3, 4)))
        yield mine("slice", lambda x: (x[1:], x[:, :2], x[..., ::2], x[-1:], x[:, -2:5], x[5:], x[:, 1:1], x[..., 1::3], x.narrow(1, 1, 2), x.narrow(-1, -3, 2), x[1], x[:, -1], x.select(2, 1), x[1, 2, 3]))
        yield mine("split", lambda x: (x.split(2, 1), x.split([1, 2], 1), x.chunk(2, -1), x.chunk(3, 2), x.unbind(), x.unbind(-1), torch.tensor_split(x, 2, 2), torch.tensor_split(x, (1, 3), 2), x.chunk(5, 0), torch.hsplit(x, 3), torch.vsplit(x, 2), torch.dsplit(x, 2), torch.unsafe_chunk(x, 2, 1), torch.split_with_sizes(x, [1, 0, 2], 1)))
        yield mine("diagonal", lambda x: (x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-1, 0, 2), x[0].diagonal(5), torch.diag(x[0]), torch.diag(x[0, 0]), torch.diag_embed(x[0]), torch.diagflat(x[0]), torch.diag_embed(x[0], 1, 0, 2)))
        yield mine("unfold", lambda x: (x.unfold(2, 2, 1), x.unfold(1, 2, 2), x.unfold(-1, 4, 3), x[0, 0, 0].unfold(0, 1, 1)))
        yield mine("as_strided", lambda x: (x.as_strided((2, 2), (4, 1)), x.as_strided((3, 2), (1, 2), 3), x.as_strided((2, 3), (0, 1))))
        yield mine("copies", lambda x: (aten.expand_copy.default(x[:1], (2, 3, 4)), aten.permute_copy.default(x, (1, 0, 2)), aten.squeeze_copy.default(x), aten.view_copy.default(x, (6, 4)), aten.transpose_copy.int(x, 0, 1), aten.unsqueeze_copy.default(x, 0), aten.alias_copy.default(x), torch.narrow_copy(x, 1, 0, 2)))
        yield mine("same", lambda x: (x.detach(), torch.positive(x) if x.dtype != BOOL else x.alias if False else x.detach(), aten.alias.default(x), x.real if False else x.clone(), x.contiguous(), x.transpose(0, 1).contiguous(), x.resolve_conj(), x.resolve_neg(), torch.ops.aten.lift_fresh_copy.default(x)))
        yield mine("view_dtype", lambda x: x.view({1: U8, 2: I16, 4: I32, 8: I64}[x.element_size()]))
        yield mine("atleast", lambda x: (torch.atleast_1d(x[0, 0, 0]), torch.atleast_2d(x[0, 0]), torch.atleast_3d(x[0])))


def assembled():
    for dtype in MAIN + WIDE:
        x, y = some((2, 3, 4), dtype), some((2, 3, 4), dtype, seed=1)
        mine = lambda name, fn, *args: Case(named(name, dtype), fn, args or (x,))
        yield mine("cat", lambda x, y: (torch.cat((x, y)), torch.cat((x, y), -1), torch.cat((x, y[:0])), torch.cat((x[:, :1], y, x[:, 2:]), 1), torch.cat((x, x, x), 1), torch.cat((y[0, 0, :0], x)), torch.cat((x,), 2), torch.cat((x.transpose(0, 2), y.transpose(0, 2)), 1), torch.cat((x[:0], y[:0]))), x, y)
        yield mine("stack", lambda x, y: (torch.stack((x, y)), torch.stack((x, y), -1), torch.stack((x, y), 2), torch.stack((x[0, 0, 0], y[0, 0, 0])), torch.hstack((x, y)), torch.vstack((x[0], y[0])), torch.dstack((x, y)), torch.column_stack((x[0], y[0])), torch.stack((x[0, 0, 0],))), x, y)
        yield mine("repeat", lambda x: (x.repeat(2, 1, 3), x.repeat(2, 1, 1, 2), x[0, 0, 0].repeat(3), x.tile(2), x.tile(2, 1, 1, 2), x.repeat_interleave(2), x.repeat_interleave(3, 1), x.repeat_interleave(2, -1), x.repeat(0, 1, 1), x[0, 0, 0].repeat_interleave(4), x.repeat(1, 1, 1)))
        yield mine("repeat_interleave:tensor", lambda x, n: torch.repeat_interleave(x, n, 1, output_size=6), x, torch.tensor([1, 2, 3]))
        yield mine("roll", lambda x: (x.roll(1), x.roll(-2, 1), x.roll((1, -1), (0, 2)), x.roll(7, -1), x[:0].roll(1, 0), x[0, 0, 0].roll(1), x.roll(0, 0), x.flip(0), x.flip((1, -1)), x.flip(()), torch.fliplr(x), torch.flipud(x), torch.rot90(x), torch.rot90(x, -1, (1, 2)), x.roll((1, 2), (1, 1))))
        yield mine("triangle", lambda x: (x.tril(), x.triu(), x.tril(-1), x.triu(1), x.tril(2), x.triu(-2), x[0].tril(9), x[:0].tril(), x.transpose(1, 2).triu()))
        yield mine("pad", lambda x: (functional.pad(x, (1, 2)), functional.pad(x, (1, 0, 2, 1)), functional.pad(x, (-1, 2), value=1), functional.pad(x, (0, 0, 0, 0, 1, 1), value=1), functional.pad(x, (-1, -1, -1, -1)), functional.pad(x, (0, 0)), functional.pad(x, (2, -3)), functional.pad(x[:0], (1, 1)), functional.pad(x[:0], (0, 0, 0, 0, 1, 1))))
        yield mine("constant_pad", lambda x: aten.constant_pad_nd.default(x, [1, 2, 0, 1], 2))
        for mode in ("reflect", "replicate", "circular"):
            yield mine(f"pad_{mode}", lambda x, m=mode: (functional.pad(x, (1, 2), mode=m), functional.pad(x, (3, 1), mode=m), functional.pad(x[0], (1, 1), mode=m), functional.pad(x, (-1, 2), mode=m)))
            yield mine(f"pad_{mode}:2d", lambda x, m=mode: (functional.pad(x, (1, 2, 2, 1), mode=m), functional.pad(x[None], (1, 2, 2, 0), mode=m)))
            yield mine(f"pad_{mode}:3d", lambda x, m=mode: functional.pad(x[None, None], (1, 2, 2, 0, 1, 1), mode=m))
        yield mine("meshgrid", lambda x: (torch.meshgrid(x[0, 0], x[0, 1], indexing="ij"), torch.meshgrid(x[0, 0], x[0, :, 1], indexing="xy"), torch.cartesian_prod(x[0, 0], x[0, 1])))
        yield mine("block_diag", lambda x: torch.block_diag(x[0], x[1]))
    for first, second in ((F32, I64), (BF16, F16), (BOOL, U8), (I32, F64), (I8, U8)):
        x, y = some((2, 3), first), some((2, 3), second, seed=1)
        yield Case(named("cat", first, second), lambda x, y: (torch.cat((x, y)), torch.stack((x, y)) if x.dtype == y.dtype else torch.cat((y, x), 1), torch.hstack((x, y))), (x, y))


def factories():
    for dtype in MAIN + WIDE:
        x = some((2, 3), dtype)
        mine = lambda name, fn: Case(named(name, dtype), fn, (x,))
        yield mine("full", lambda x, d=dtype: (torch.zeros(2, 3, dtype=d), torch.ones(2, 3, dtype=d), torch.full((2,), 3, dtype=d), torch.full((), True, dtype=d), torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 3), x.new_zeros(2), x.new_ones(3), x.new_full((2,), 3), torch.zeros((), dtype=d), torch.zeros(0, 3, dtype=d), torch.zeros_like(x, dtype=F32), torch.fill(x, 3), aten.zero.default(x), aten.fill.Tensor(x, x[0, 0])))
        yield mine("full:float", lambda x, d=dtype: (torch.full((2,), 2.7, dtype=d), torch.full_like(x, -2.7 if d.is_signed or d == BOOL else 2.7), torch.full_like(x, 1.5, dtype=F32)))
        yield mine("scalar_tensor", lambda x, d=dtype: (torch.scalar_tensor(2, dtype=d), torch.scalar_tensor(2.5, dtype=d), torch.scalar_tensor(True, dtype=d)))
        yield mine("arange", lambda x, d=dtype: (torch.arange(5, dtype=d), torch.arange(2, 9, dtype=d), torch.arange(1, 10, 3, dtype=d), torch.arange(0, dtype=d)))
        yield mine("arange:down", lambda x, d=dtype: (torch.arange(5, -3, -2, dtype=d), torch.arange(-4, 4, dtype=d)))
        yield mine("arange:float", lambda x, d=dtype: (torch.arange(0.5, 4.2, 0.7, dtype=d), torch.arange(3.0, dtype=d), torch.arange(0, 1, 0.1, dtype=d)))
        yield mine("linspace", lambda x, d=dtype: (torch.linspace(0, 7, 5, dtype=d), torch.linspace(1, 6, 1, dtype=d), torch.linspace(0, 1, 0, dtype=d), torch.linspace(2, 9, 8, dtype=d)))
        yield Case(named("linspace:float", dtype), lambda x, d=dtype: (torch.linspace(-3.3, 7.7, 13, dtype=d), torch.linspace(1, -1, 40, dtype=d)), (x,), ulps(dtype, 2, 1), 4.0)
        yield mine("eye", lambda x, d=dtype: (torch.eye(3, dtype=d), torch.eye(2, 4, dtype=d)))
        yield mine("empty", lambda x: (torch.empty_like(x).fill_(2), x.new_empty(2).fill_(1), torch.empty(2, 2, dtype=x.dtype).zero_()))
        yield Case(named("logspace", dtype), lambda x, d=dtype: torch.logspace(0, 2, 5, dtype=d), (x,), ulps(dtype, 4, 1))
    x = torch.zeros(1)
    yield Case("defaults/", lambda x: (torch.arange(5), torch.arange(5.0), torch.arange(1, 2.5, 0.5), torch.full((2,), 3), torch.full((2,), 3.5), torch.full((2,), True), torch.tensor(3), torch.tensor([1.5, 2]), torch.linspace(0, 1, 5), torch.ones(2), torch.tril_indices(3, 3), torch.triu_indices(3, 4, 1)), (x,))


def cases():
    yield from views()
    yield from assembled()
    yield from factories()
