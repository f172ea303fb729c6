"""Reads and writes by index, and by mask."""
import torch
from torch.nn import functional

from .case import BF16, BOOL, F16, F32, F64, FLOATS, I32, I64, INTS, MAIN, U8, WIDE, Case, named, some, ulps, with_holes

aten = torch.ops.aten


def reads():
    for dtype in MAIN + WIDE:
        x = some((4, 5, 6), dtype)
        i, j, grid = torch.tensor([0, -1, 2, 2]), torch.tensor([1, 4, -5, 0]), torch.tensor([[0, 3], [-2, 1]])
        mine = lambda name, fn, *args: Case(named(name, dtype), fn, args)
        yield mine("index", lambda x, i, j, g: (x[i], x[:, i], x[:, :, j], x[i, j], x[:, i, j], x[i, :, j], x[g], x[:, g], x[g[0], :, g], x[i[:0]], x[i[0]], x[:, i[1], j], x[None, i], x[i, 1:3], x[..., j], x[0, i], x[i[:, None], j[None, :]]), x, i, j, grid)
        yield mine("index:i32", lambda x, i: (x[i], x[:, i]), x, i.to(I32))
        yield mine("index:layouts", lambda x, i: (x.permute(2, 0, 1)[i], x[::2][i[:1]], x[..., ::3][:, i]), x, i)
        mask, rows = some((4, 5), BOOL), torch.tensor([True, False, True, True])
        yield mine("index:mask", lambda x, m, r: (x[m], x[r], x[:, m[0]]), x, mask, rows)
        yield mine("index:u8", lambda x, m: x[m], x, rows.to(U8))
        yield mine("embedding", lambda x, i, g: (functional.embedding(i.abs(), x[0]), functional.embedding(g.abs(), x[0]), functional.embedding(i.abs(), x[0], 1), functional.embedding(i[:0], x[0]), functional.embedding(i[0], x[0])), x, i, grid)
        yield mine("embedding:i32", lambda x, i: functional.embedding(i, x[0]), x, i.abs().to(I32))
        yield mine("index_select", lambda x, i: (torch.index_select(x, 0, i), torch.index_select(x, -1, i), torch.index_select(x[0, 0, 0], 0, i[:1]), torch.index_select(x, 1, i[0])), x, i.abs())
        yield mine("index_select:i32", lambda x, i: torch.index_select(x, 1, i), x, i.abs().to(I32))
        wide = torch.randint(0, 4, (4, 3, 6), generator=torch.Generator().manual_seed(5))
        yield mine("gather", lambda x, w, i: (torch.gather(x, 0, w), torch.gather(x, 1, w), torch.gather(x, -1, w[:2]), torch.gather(x[0, 0], 0, i.abs()), torch.gather(x[0, 0, 0], 0, i[0]), torch.gather(x, 0, w[:0])), x, wide, i)
        yield mine("take", lambda x, i, g: (torch.take(x, i), torch.take(x, g), torch.take(x.t() if x.dim() == 2 else x, i)), x, i, grid)
        yield mine("take_along_dim", lambda x, w: (torch.take_along_dim(x, w[:, :1], 1), torch.take_along_dim(x, w[0, 0])), x, wide)
        yield mine("masked_select", lambda x, m: torch.masked_select(x, m[:, :, None]), x, mask)
        yield mine("nonzero", lambda x: torch.nonzero(x[0]), x)
        yield mine("argwhere", lambda x: torch.argwhere(x[0]), x)
        yield mine("where_indices", lambda x: torch.where(x[0] > 0), x)
        yield mine("unsafe_index", lambda x, i: aten._unsafe_index.Tensor(x, [None, i]), x, i)


def writes():
    for dtype in MAIN + WIDE:
        x, part, row = some((4, 5, 6), dtype), some((3, 5, 6), dtype, seed=1), some((6,), dtype, seed=2)
        i, j = torch.tensor([2, 0, 1]), torch.tensor([-1, 0, 3])
        twice = torch.tensor([1, 3, 1])
        mine = lambda name, fn, *args: Case(named(name, dtype), fn, args, ulps(dtype, 1, 1), 4.0)
        yield mine("index_put", lambda x, p, r, i, j: (torch.index_put(x, (i,), p), torch.index_put(x, (i, j), r), torch.index_put(x, (i,), r), torch.index_put(x, (None, i) if False else (i[0],), r), torch.index_put(x, (j,), p), torch.index_put(x, (i[:0],), p[:0]), torch.index_put(x, (i, j, j), r[:3]), torch.index_put(x, (i, j), r[0])), x, part, row, i, j)
        yield mine("index_put:accumulate", lambda x, p, r, i: (torch.index_put(x, (i,), p, True), torch.index_put(x, (i, i), r, True)), x, part, row, twice)
        mask = some((4, 5), BOOL)
        yield mine("index_put:mask", lambda x, r, m: (torch.index_put(x, (m,), r), torch.index_put(x, (m,), r[0]), torch.index_put(x, (m[:, 0],), r[:1])), x, row, mask)
        yield mine("setitem", lambda x, p, r, i: setitems(x, p, r, i), x, part, row, i)
        yield mine("index_copy", lambda x, p, r, i: (torch.index_copy(x, 0, i, p), torch.index_copy(x, 1, i[:1], p[:1, :1].expand(4, 1, 6)), torch.index_copy(r, 0, i[0], r[1]), torch.index_copy(x, 0, i[:0], p[:0])), x, part, row, i)
        yield mine("index_add", lambda x, p, r, i: (torch.index_add(x, 0, i, p), torch.index_add(x, 0, i, p, alpha=2), torch.index_add(r, 0, i, r[:3])), x, part, row, twice)
        yield mine("index_fill", lambda x, r, i, j: (torch.index_fill(x, 0, i, 3), torch.index_fill(x, -1, j, 1), torch.index_fill(x, 1, i, r[0])), x, row, i, j)
        wide = torch.randint(0, 3, (3, 5, 4), generator=torch.Generator().manual_seed(6))
        apart = torch.argsort(some((3, 5, 4), F32, seed=3), 0)
        yield mine("scatter", lambda x, p, w: (torch.scatter(x, 0, w, p), torch.scatter(x, 0, w, 2), torch.scatter(x[0], 0, w[:, 0], p[:, 0]), torch.scatter(x[0, 0], 0, w[:1, 0, 0], p[0, 0])), x, part, apart)
        yield mine("scatter_add", lambda x, p, w: (torch.scatter_add(x, 0, w, p), torch.scatter_add(x, 1, w, p), torch.scatter_add(x, -1, w, p)), x, part, wide)
        yield mine("scatter:reduce", lambda x, p, w: (torch.scatter(x, 0, w, p, reduce="add"), torch.scatter(x, 1, w, p, reduce="multiply"), torch.scatter(x, 0, w, 2, reduce="add")), x, part, wide)
        for reduce in ("sum", "prod", "amax", "amin", "mean"):
            for own in (True, False):
                yield Case(named(f"scatter_reduce:{reduce},{own}", dtype), lambda x, p, w, r=reduce, o=own: torch.scatter_reduce(x, 0, w, p, r, include_self=o), (x, part, wide), ulps(dtype, 2, 2), 4.0)
                yield Case(named(f"index_reduce:{reduce},{own}", dtype), lambda x, p, i, r="mean" if reduce == "sum" else reduce, o=own: torch.index_reduce(x, 0, i, p, r, include_self=o), (x, part, twice), ulps(dtype, 2, 2), 4.0)
        yield mine("slice_scatter", lambda x, p: (torch.slice_scatter(x, p, 0, 1), torch.slice_scatter(x, p[:2], 0, 0, 4, 2), torch.slice_scatter(x, p[:1], 0, -1)), x, part)
        yield mine("select_scatter", lambda x, p: (torch.select_scatter(x, p[0], 0, 2), torch.select_scatter(x, p[0, 0].expand(4, 6), 1, -1)), x, part)
        yield mine("diagonal_scatter", lambda x, p: torch.diagonal_scatter(x[0], p[0, 0, :5]), x, part)
        yield mine("masked_scatter", lambda x, p, m: torch.masked_scatter(x, m[:, :, None], p.reshape(-1).repeat(2)), x, part, mask)
        yield mine("masked_fill", lambda x, r, m: (x.masked_fill(m[:, :, None], 2), x.masked_fill(m[:, :, None], r[0]), x[0].masked_fill(m[:1].t(), 1)), x, row, mask)
        yield mine("put", lambda x, r, i: torch.put(x, i, r[:3]), x, row, j)
        if dtype.is_floating_point:
            holes = with_holes((3, 5, 6), dtype)
            yield mine("scatter_reduce:nan", lambda x, p, w: (torch.scatter_reduce(x, 0, w, p, "amax"), torch.scatter_reduce(x, 0, w, p, "amin"), torch.scatter_add(x, 0, w, p)), x, holes, wide)
    for dtype, other in ((F32, I64), (I32, F32), (BF16, F32), (BOOL, I64)):
        x, y = some((4, 5), dtype), some((4, 5), other, seed=1)
        yield Case(named("copy", dtype, other), lambda x, y: (torch.slice_copy(x), aten.copy.default(x, y), aten.copy.default(x, y[:1])), (x, y))


def setitems(x, part, row, index):
    results = []
    for write in (lambda y: y.__setitem__(1, part[0]), lambda y: y.__setitem__((slice(None), 2), row), lambda y: y.__setitem__(index, part),
                  lambda y: y.__setitem__((slice(None, None, 2), slice(1, 3)), row), lambda y: y[1:, :, 2].add_(row[0]), lambda y: y.t_() if False else y[0].mul_(2),
                  lambda y: y.__setitem__((Ellipsis, -1), 1)):
        y = x.clone()
        write(y)
        results.append(y)
    return results


def searches():
    for dtype in FLOATS + INTS:
        edges, x = some((6,), dtype, -4, 4).sort().values, some((3, 5), dtype, -5, 5, 1)
        yield Case(named("bucketize", dtype), lambda x, e: (torch.bucketize(x, e), torch.bucketize(x, e, right=True), torch.bucketize(x[0, 0], e), torch.bucketize(x, e, out_int32=True)), (x, edges))
        yield Case(named("searchsorted", dtype), lambda x, e: (torch.searchsorted(e, x), torch.searchsorted(e, x, right=True)), (x, edges))
        yield Case(named("isin", dtype), lambda x, e: torch.isin(x, e), (x, edges))
        yield Case(named("histc", dtype), lambda x: (torch.histc(x, 4, -2, 2), torch.histc(x, 10)), (x,))
        yield Case(named("bincount", dtype), lambda x: torch.bincount(x.view(-1).abs()), (x,))
        yield Case(named("unique", dtype), lambda x: torch.unique(x), (x,))
        yield Case(named("one_hot", dtype), lambda x: functional.one_hot(x.abs(), 6), (x,))


def cases():
    yield from reads()
    yield from writes()
    yield from searches()
