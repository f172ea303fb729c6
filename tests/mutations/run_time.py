"""Lists of tensors, numbers that are known when the program runs, assertions, results of unusual dtypes."""
import torch
from torch.export import Dim

from case import bf16, boolean, case, each, f16, f32, f64, form, i8, i32, i64, u8

ROWS = Dim("rows", min=2, max=8)

form("lists of tensors",
     case("torch._foreach_mul_([a, b], 0.5)\ntorch._foreach_add_([a, b], [x, y], alpha=2)", states={"a": f32(4, 6), "b": f32(3)}, x=f32(4, 6),
          y=f32(3)),
     case("torch._foreach_add_([a, b], [2, 3])\ntorch._foreach_neg_([b, a])", states={"a": i64(4), "b": i32(3)}),
     case("torch._foreach_lerp_([a, b], [x, x[0]], 0.25)\nreturn torch._foreach_norm([a, b])", states={"a": f32(2, 6), "b": f32(6)},
          x=f32(2, 6), close=True),
     case("torch._foreach_addcdiv_([a[1:], b], [x, x], [y, y], [0.5, -2.0])\ntorch._foreach_zero_([c])",
          states={"a": f32(4), "b": f32(3), "c": f32(2)}, x=f32(3), y=f32(3, low=1, high=3), close=True),
     case("torch._foreach_copy_([a, b[:, 0]], [x, y])\ntorch._foreach_maximum_([a, b], 0)", states={"a": f32(3), "b": f32(3, 2)}, x=f32(3),
          y=i64(3)),
     case("new = torch._foreach_mul([a, x], [x, a])\na.copy_(new[0])\nreturn torch._foreach_sqrt(new)", states={"a": f32(3, low=1, high=4)},
          x=f32(3, low=1, high=4), close=True),
     case("a.neg_()\nreturn torch._foreach_max([a, x]), torch._foreach_pow(2.0, [a, x]), torch._foreach_clone([a, x])", states={"a": f32(2, 3)},
          x=f32(4), close=True),
     case("torch._foreach_mul_([a, b], w)\ntorch._foreach_div_([b, a], w)\ntorch._foreach_add_([a], w, alpha=2)",
          states={"a": f32(3), "b": f32(2, 2)}, w=f32(low=1, high=2), close=True),
     case("torch._foreach_lerp_([a, b], [x, y], [0.25, 0.75])\ntorch._foreach_pow_([a, b], [2, 3])", states={"a": f32(3), "b": f32(2)}, x=f32(3),
          y=f32(2), close=True),
     case("a.copy_(torch._foreach_norm([x, a], 1)[0] + torch._foreach_norm([x], float('inf'))[0] + torch._foreach_norm([x], 3)[0])",
          states={"a": f32(3)}, x=f32(4), close=True))

form("numbers that are known when the program runs",
     case("state.lerp_(x, w.item())", state=f32(6), x=f32(6), w=each(0.25, 0.75, -1.5, dtype=torch.float32), close=True),
     case("state.mul_(1 - 1 / x.shape[0]).add_(x[0], alpha=1 / x.shape[0])", state=f32(6), x=f32(4, 6), dynamic={"x": {0: ROWS}}, close=True),
     case("F.leaky_relu_(state, w.item())\nF.elu_(state, w.item())", state=f32(6), w=each(0.25, 0.5, 1.5, dtype=torch.float32), close=True),
     case("state.clamp_(w.item(), w.item() + 2)", state=f32(6), w=each(-1.0, 0.5, -0.25, dtype=torch.float32)),
     case("state.fill_(w.item())\nreturn F.softplus(x, w.item(), 3), F.hardshrink(x, w.item()), F.celu(x, w.item())", state=f32(6), x=f32(6),
          w=each(1.0, 0.5, 1.25, dtype=torch.float32), close=True),
     case("state.pow_(n.item())", state=i64(6, low=1, high=4), n=each(2, 0, 1, dtype=torch.int64)),
     case("state.copy_(torch.linspace(w.item(), 4, 7))", state=f32(7), w=each(-1.0, 0.5, 3.0, dtype=torch.float32), close=True,
          core="counts from both ends and chooses by a mask, so that the middle is written twice"),
     case("state.add_(x, alpha=w.item())", state=bf16(8, 16), x=bf16(8, 16), w=each(0.3, -1.7, 2.9, dtype=torch.float64)),
     case("state.sub_(x, alpha=w.item())", state=f16(8, 16), x=f16(8, 16),
          w=each(0.3, -1.7, 2.9, dtype=torch.float64)),
     case("state[:, 1:3].add_(x, alpha=w.item())", state=bf16(3, 4), x=bf16(3, 2), w=each(0.3, -1.7, 2.9, dtype=torch.float64)),
     case("state.add_(2.3, alpha=w.item()).add_(x, alpha=n.item())", state=bf16(32), x=bf16(32), n=each(300, -3, 1, dtype=torch.int64),
          w=each(0.3, -1.7, 2.9, dtype=torch.float64)),
     case("state.addmm_(x, x, beta=2, alpha=w.item())", state=f32(3, 3), x=f32(3, 3), w=each(0.5, 2.0, 0.25, dtype=torch.float32), close=True),
     case("state.add_(F.scaled_dot_product_attention(x, x, x).sum(3))", state=f32(1, 2, 3), x=f32(1, 2, 3, 5), dynamic={"x": {3: ROWS}},
          close=True),
     case("state.copy_(torch.histc(x, 4, w.item(), w.item() + 2))", state=f32(4), x=f32(30), w=each(-1.0, 0.0, -3.5, dtype=torch.float32)))

form("triangles whose diagonal is known when the program runs",
     case("state.tril_(x.shape[0] - 2)", state=f32(4, 6), x=f32(3), dynamic={"x": {0: ROWS}}),
     case("state.copy_(x.triu(n.item()))", state=f32(2, 3, 5), x=f32(2, 3, 5), n=each(1, -2, 9, dtype=torch.int64)),
     case("state[1:].triu_(n.item())", state=i64(4, 3), n=each(0, -9, 2, dtype=torch.int64)),
     case("state.masked_fill_(torch.ones(4, 4, dtype=torch.bool).triu(n.item()), 2)", state=f32(4, 4), n=each(1, 0, -1, dtype=torch.int64)))

form("norms of every order",
     case("state.mul_(x.norm(3)).add_(x.norm(0, 0))\nreturn x.norm(-float('inf'), 1), x.norm(float('inf')), x.norm(1, (0, 1), True)", state=f32(4),
          x=f32(3, 4), close=True),
     case("state.neg_()\nreturn x.norm(2.5, 0, True), x.norm(-1, 1), F.pairwise_distance(x, x + state, -float('inf'))", state=f32(4), x=f32(3, 4, low=1),
          close=True),
     case("state.copy_(torch.linalg.vector_norm(x, 0.5, -1)).mul_(torch.linalg.vector_norm(x, 0))", state=f16(3), x=f16(3, 2), close=True))

form("indices that wrap, sums beside ones and paddings that cut",
     case("state.copy_(torch.take_along_dim(x, i, 1))\nreturn torch.take_along_dim(x, i[:1], -1), torch.take_along_dim(x, i[:, :0], 1)",
          state=f32(3, 2), x=f32(3, 4), i=each([[-1, 3], [-4, 0], [-9, 5]], [[0, 1], [2, 3], [-1, -2]], [[7, -7], [1, 1], [-4, 4]],
                                               dtype=torch.int64)),
     case("state.copy_(torch.take_along_dim(x, i, 0)[0])", state=i64(3), x=i64(4, 3), i=i64(2, 1, low=-9, high=9)),
     case("state.copy_(torch.tensordot(x, w, dims=([1], [0])))\nreturn torch.tensordot(w, x, dims=([-2], [-1]))", state=f32(2, 4), x=f32(2, 3),
          w=f32(1, 4), close=True),
     case("state.copy_(torch.tensordot(x, w, dims=([0, 1], [1, 0])))\nreturn torch.tensordot(x[:0], w[:1], dims=([0], [0])).sum((0, 1))",
          state=i64(4), x=i64(1, 3), w=i64(3, 2, 4)),
     case("state.copy_(torch.tensordot(x, w, dims=([0], [0])))", state=i8(2, 2), x=i8(3, 2, low=-90, high=90), w=i8(1, 2)),
     case("state.copy_(F.pad(x, (-4, 5), 'replicate'))\nreturn F.pad(x, (5, -4), 'replicate'), F.pad(x, (-1, -1), 'replicate')",
          state=f32(2, 3, 5), x=f32(2, 3, 4), core="it reads rows by index where the others pad"),
     case("state.copy_(F.pad(x, (-3, 2, 2, -3), 'reflect'))\nreturn F.pad(x, (3, -4, -2, 1), 'replicate'), F.pad(x, (-4, 3, 0, 0), 'reflect')",
          state=i64(2, 3, 3), x=i64(2, 4, 4), core="it reads rows by index where the others pad"),
     case("state.copy_(F.pad(x, (-1, 3), 'circular'))\nreturn F.pad(x, (-4, 5)), F.pad(x, (1, -2), 'circular'), F.pad(x, (5, -4, -3, 2), value=2.0)",
          state=f64(2, 3, 6), x=f64(2, 3, 4), core="it copies parts where the others pad"))

form("scalars that integers cut to whole numbers",
     case("state.copy_(torch.addmm(x, x, x, beta=1.7, alpha=2.9))\nreturn torch.addmm(x, x, x, beta=-1.7, alpha=0.9)", state=i64(3, 3), x=i64(3, 3)),
     case("state.addmv_(x, y, beta=0.5, alpha=-2.9)\nreturn torch.addmv(x[:, 0], x, y, alpha=1.5)", state=i32(3), x=i32(3, 2), y=i32(2)),
     case("state.baddbmm_(x, x, beta=-1.2, alpha=2.9)\nreturn torch.addbmm(x[0], x, x, beta=2.5, alpha=0.5)", state=i8(2, 3, 3), x=i8(2, 3, 3)),
     case("state.add_(x[:, 0])\nreturn F.pairwise_distance(x, x + 1), F.pairwise_distance(x, y, 1, keepdim=True)", state=i64(3), x=i64(3, 4), y=f64(3, 4),
          close=True))

form("any and all of bytes",
     case("state |= x.any(1)", state=u8(4), x=u8(4, 3, high=2)),
     case("state.copy_(x.all(0, keepdim=True)[0])\nreturn x.any(), x.all((0, 1)), state + x.any()", state=u8(3), x=u8(4, 3)))

form("one-hot rows and assertions on tensors",
     case("state.add_(F.one_hot(x, 5).sum(0))", state=i64(5), x=i64(4, low=0, high=4)),
     case("torch._assert_async((x < 4).all(), 'too large')\nstate.copy_(x)", state=i64(2), x=each([1, 2], [3, 0], [1, 4]), fails=2),
     case("torch._assert_async((x < 6).all(), 'too large')\nstate.copy_(x)", state=i64(4), x=i64(4, low=0, high=4)))

form("copies whose cast a decomposition drops",
     case("a.copy_(x)\nb.mul_(a + a)\nreturn a.sum(), a[1:] * 2", states={"a": i64(3), "b": i64(3)}, x=i32(3)),
     case("a.copy_(x)\nb.copy_(a @ y)\nreturn a / 3", states={"a": f32(3, 3), "b": f32(3, 3)}, x=f16(3, 3), y=f32(3, 3), close=True),
     case("a.copy_(x)\nreturn a * 3, a + a", states={"a": f16(5)}, x=bf16(5), close=True),
     case("a.copy_(x)\nreturn a + a, a.logical_not()", states={"a": boolean(5)}, x=i64(5, low=0, high=2)),
     case("a.copy_(x)\nreturn a + a, a * 2", states={"a": i32(5)}, x=f32(5, low=-3, high=3)))
