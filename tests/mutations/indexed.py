"""Writes at positions that tensors hold."""
from case import bf16, boolean, case, each, f16, f32, f64, form, i8, i16, i32, i64, u8

rows = each([0, 2], [3, 1], [2, 0])
long = i64(2, 3, low=0, high=3)

form("`index_copy_`",
     case("state.index_copy_(0, i, x)", state=f32(4, 6), i=rows, x=f32(2, 6)),
     case("state.index_copy_(-1, i, x)", state=f32(4, 6), i=each([5], [0], [2]), x=f32(4, 1)),
     case("state.index_copy_(2, i, x)", state=bf16(1, 2, 8, 4), i=each([3], [4], [5]), x=bf16(1, 2, 1, 4)),
     case("state.index_copy_(0, i, x)", state=f32(4), i=each([1], [2], [3]), x=f32()),
     case("state.index_copy_(1, i, x)", state=u8(3, 5), i=each([1, 4, 0], [0, 1, 2], [2, 4, 3]), x=u8(3, 3)),
     case("state.index_copy_(0, i, x)", state=f32(4, 2), i=i64(0), x=f32(0, 2)))

form("`index_put_`",
     case("state[i] = x", state=f32(4, 6), i=rows, x=f32(2, 6)),
     case("state[i] = 1.5", state=f32(4, 6), i=each([-1], [-4], [2])),
     case("state[:, i] = x", state=f32(4, 6), i=each([0, 5], [3, 1], [2, 0]), x=f32(4, 2)),
     case("state[i, j] = x", state=f32(4, 6), i=rows, j=each([5, 1], [-1, 0], [2, 2]), x=f32(2)),
     case("state[i, :, j] = x", state=f32(4, 3, 6), i=rows, j=each([5, 1], [-1, 0], [2, 2]), x=f32(2, 3)),
     case("state[:, i, :, j] = x", state=f32(2, 4, 3, 6), i=rows, j=each([5, 1], [-1, 0], [2, 2]), x=f32(2, 2, 3)),
     case("state[:, :, i] = x", state=f32(1, 2, 8, 4), i=each([2], [3], [4]), x=f32(1, 2, 1, 4)),
     case("state[i] = x", state=f32(4, 6), i=each([[0], [2]], [[3], [1]], [[2], [0]]), x=f32(2, 1, 6)),
     case("state[i[:, None], j] = x", state=f32(4, 6), i=rows, j=each([5, 1, 0], [0, 1, 2], [3, 4, 5]), x=f32(2, 3)),
     case("state[i] = x", state=f32(4, 6), i=rows, x=f32(6)),
     case("state[i] = x", state=f32(4, 6), i=i64(0), x=f32(0, 6)),
     case("state[i] = x", state=i64(5), i=rows, x=i64(2)),
     case("state[i] = x", state=boolean(5), i=rows, x=boolean(2)),
     case("torch.ops.aten.index_put_(state, [None, i], x)", state=f32(4, 6), i=rows, x=f32(4, 2)),
     case("state[1, i] = x", state=f32(4, 6), i=rows, x=f32(2)),
     case("state[1:3, i] = x", state=f32(4, 6), i=rows, x=f32(2, 2)),
     case("state[..., i, None] = x", state=f32(4, 6), i=rows, x=f32(4, 2, 1)),
     case("state[i.to(torch.int32)] = x", state=f32(4, 6), i=rows, x=f32(2, 6)))

form("`index_put_` by a mask",
     case("state[m] = 0.5", state=f32(4, 6), m=boolean(4, 6)),
     case("state[m] = 0.5", state=f32(4, 6), m=boolean(4)),
     case("state[m] = x", state=f32(4, 6), m=boolean(4), x=f32(6)),
     case("state[:, m] = 7", state=i64(2, 5), m=boolean(5)),
     case("state[state > 0] = 0", state=f32(4, 6)),
     case("state[m, 1:3] = 2.0", state=f32(4, 6), m=boolean(4)))

form("`index_put_` by a mask and a value for each element",
     case("state[m] = x", state=f32(5), m=each([True, False, True, False, True], [False, True, True, True, False], [True, True, False, False, True]),
          x=f32(3)),
     case("state[m] = x", state=f32(3, 2), m=each([True, False, True], [False, True, True], [True, True, False]), x=f32(2, 2)),
     case("state.masked_scatter_(m, x * 2)", state=i64(5), m=boolean(5), x=i64(5)))

form("`index_put_` with accumulate",
     case("state.index_put_((i,), x, accumulate=True)", state=f32(4, 6), i=each([1, 1], [0, 3], [2, 2]), x=f32(2, 6)),
     case("state.index_put_((i, j), x, accumulate=True)", state=f32(4, 6), i=rows, j=rows, x=f32(2)),
     case("state.index_put_((i,), x, accumulate=True)", state=i64(4), i=each([1, 1, -1], [0, 3, 3], [2, 2, 2]), x=i64(3)),
     case("state.index_put_((i,), x, accumulate=True)", state=i32(4), i=each([1, 1], [0, 3], [2, 2]), x=i32()),
     case("state.index_put_((m,), x, accumulate=True)", state=f32(4, 2), m=boolean(4), x=f32(2)))

form("`scatter_`",
     case("state.scatter_(0, i, x)", state=f32(4, 3), i=each([[0, 1, 2]], [[3, 3, 0]], [[1, 1, 1]]), x=f32(1, 3)),
     case("state.scatter_(1, i, x)", state=f32(2, 5), i=each([[0, 1], [4, 2]], [[3, 0], [1, 2]], [[1, 2], [3, 4]]), x=f32(3, 4)),
     case("state.scatter_(-1, i, 2.5)", state=f32(2, 5), i=each([[0], [4]], [[3], [3]], [[1], [2]])),
     case("state.scatter_(2, i, x)", state=f16(1, 2, 5), i=each([[[0, 1]]], [[[3, 4]]], [[[1, 2]]]), x=f16(1, 2, 2)),
     case("state.scatter_(0, i, x)", state=i64(6), i=rows, x=i64(2)),
     case("state.scatter_(1, i, x)", state=f32(2, 5), i=i64(0, 2), x=f32(2, 2)))

form("`scatter_add_`",
     case("state.scatter_add_(0, i, x)", state=f32(4, 3), i=long, x=f32(2, 3), close=True),
     case("state.scatter_add_(1, i, x)", state=f64(2, 4), i=long, x=f64(2, 3), close=True),
     case("state.scatter_add_(0, i, x)", state=i64(4), i=each([1, 1, 1], [0, 3, 0], [2, 2, 3]), x=i64(3)),
     case("state.scatter_add_(0, i, x)", state=i8(4), i=each([1, 1, 1], [0, 3, 0], [2, 2, 3]), x=i8(3)))

form("`scatter_reduce_`",
     *(case(f"state.scatter_reduce_(0, i, x, '{reduce}')", state=f32(4, 3), i=long, x=f32(2, 3), close=True)
       for reduce in ("sum", "prod", "mean", "amax", "amin")),
     case("state.scatter_reduce_(1, i, x, 'amax', include_self=False)", state=f32(2, 4), i=long, x=f32(2, 3), close=True),
     case("state.scatter_reduce_(1, i, x, 'mean', include_self=False)", state=f32(2, 4), i=long, x=f32(2, 3), close=True),
     case("state.scatter_reduce_(0, i, x, 'sum')", state=i64(4), i=each([1, 1, 1], [0, 3, 0], [2, 2, 3]), x=i64(3)),
     case("state.scatter_(0, i, x, reduce='multiply')", state=f32(4, 3), i=long, x=f32(2, 3), close=True),
     case("state.scatter_(1, i, x, reduce='add')", state=f32(2, 4), i=long, x=f32(2, 3), close=True))

form("`index_add_`",
     case("state.index_add_(0, i, x)", state=f32(4, 6), i=each([1, 1], [0, 3], [2, 2]), x=f32(2, 6)),
     case("state.index_add_(1, i, x, alpha=2)", state=f32(4, 6), i=rows, x=f32(4, 2)),
     case("state.index_add_(-1, i, x)", state=i32(2, 4), i=rows, x=i32(2, 2)),
     case("state.index_add_(0, i, x, alpha=-1)", state=i64(4), i=each([1, 1], [0, 3], [2, 2]), x=i64(2)),
     case("state.index_add_(0, i, x)", state=bf16(4, 6), i=rows, x=bf16(2, 6)))

form("`index_reduce_`",
     *(case(f"state.index_reduce_(0, i, x, '{reduce}')", state=f32(4, 3), i=each([1, 1], [0, 3], [2, 2]), x=f32(2, 3), close=True)
       for reduce in ("prod", "mean", "amax", "amin")),
     case("state.index_reduce_(1, i, x, 'amin', include_self=False)", state=f32(2, 4), i=rows, x=f32(2, 2), close=True))

form("`index_fill_`",
     case("state.index_fill_(0, i, 2.5)", state=f32(4, 6), i=rows),
     case("state.index_fill_(-1, i, -1)", state=i64(2, 6), i=each([-1, 0], [2, 2], [5, -6])),
     case("state.index_fill_(1, i, v)", state=f32(4, 6), i=rows, v=f32()))

form("`masked_fill_`",
     case("state.masked_fill_(m, 1.5)", state=f32(4, 6), m=boolean(4, 6)),
     case("state.masked_fill_(m, float('-inf'))", state=f16(4, 6), m=boolean(6)),
     case("state.masked_fill_(m, 0)", state=u8(4, 6), m=boolean(4, 1)),
     case("state.masked_fill_(m, v)", state=f32(4, 6), m=boolean(4, 6), v=f32()),
     case("state[:, 2:].masked_fill_(m, True)", state=boolean(4, 6), m=boolean(4, 4)))

form("`masked_scatter_`",
     case("state.masked_scatter_(m, x)", state=f32(4, 6), m=boolean(4, 6), x=f32(24)),
     case("state.masked_scatter_(m, x)", state=i64(4, 3), m=boolean(3), x=i64(4, 3)),
     case("state[1:].masked_scatter_(m, x)", state=f32(4, 3), m=boolean(3, 3), x=f32(9)))

form("`put_`",
     case("state.put_(i, x)", state=f32(4, 6), i=each([0, 23], [-1, 3], [7, 8]), x=f32(2)),
     case("state.put_(i, x, accumulate=True)", state=f32(4, 6), i=each([5, 5], [-1, 3], [7, 7]), x=f32(2)),
     case("state.t().put_(i, x)", state=i64(4, 6), i=each([0, 23], [-1, 3], [7, 8]), x=i64(2)))

form("filled by position: `fill_diagonal_`, `index_put_` of a scalar tensor",
     case("state.fill_diagonal_(3)", state=f32(4, 6)),
     case("state[i, j] = state[j, i]", state=f32(5, 5), i=rows, j=each([1, 3], [0, 2], [4, 3])),
     case("state[i] = state[j] * 2", state=f32(5, 5), i=rows, j=each([1, 3], [0, 2], [4, 3])))
