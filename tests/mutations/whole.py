"""Tensors that are written as a whole: copies, fills, arithmetic, reductions, scans, statistics, shifts."""
import torch
from torch import nn

from case import bf16, boolean, c64, case, each, f16, f32, f64, form, i8, i16, i32, i64, u8, value, zeros

form("`copy_`",
     case("state.copy_(x)", state=f32(4, 6), x=f32(4, 6)),
     case("state.copy_(x)", state=f32(), x=f32()),
     case("state.copy_(x)", state=f32(4, 6), x=f32(6)),
     case("state.copy_(x)", state=f32(4, 6), x=f32(4, 1)),
     case("state.copy_(x)", state=f32(2, 3, 4), x=f32()),
     case("state.copy_(x.t())", state=f32(4, 6), x=f32(6, 4)),
     case("state.copy_(x)", state=f16(4, 6), x=f32(4, 6)),
     case("state.copy_(x)", state=f32(4, 6), x=f64(4, 6)),
     case("state.copy_(x)", state=i64(4, 6), x=f32(4, 6)),
     case("state.copy_(x)", state=f32(4, 6), x=i8(6)),
     case("state.copy_(x)", state=boolean(4, 6), x=f32(4, 6)),
     case("state.copy_(x)", state=u8(4), x=boolean(4)),
     case("state.copy_(x)", state=c64(4), x=f32(4)),
     case("state.copy_(x)", state=c64(4, 2), x=c64(2)),
     case("state.copy_(x)", state=f32(1, 1, 2, 1, 3, 1, 2, 1), x=f32(3, 1, 2, 1)),
     case("state.copy_(x + 1)", state=bf16(4), x=bf16(4)))

form("`fill_`, `zero_`",
     case("state.fill_(2.5)", state=f32(4, 6)),
     case("state.zero_()", state=f32(4, 6)),
     case("state.fill_(x)", state=f32(4, 6), x=f32()),
     case("state.fill_(3)", state=boolean(4)),
     case("state[1:3].fill_(-1)", state=i8(4, 2)),
     case("state[:, 2].zero_()", state=f64(4, 6)))

form("arithmetic in place",
     case("state.add_(x)", state=f32(4, 6), x=f32(4, 6)),
     case("state += x", state=f32(4, 6), x=f32(6)),
     case("state.sub_(x, alpha=2)", state=i64(4, 6), x=i64(4, 1)),
     case("state *= x", state=f16(4, 6), x=f16(4, 6)),
     case("state.div_(x)", state=f32(4, 6), x=f32(4, 6, low=1, high=3)),
     case("state.mul_(2).add_(1)", state=f32(4, 6)),
     case("state.add_(x)", state=f32(3), x=f64(3)),
     case("state.add_(x)", state=i8(3), x=i8(3)),
     case("state.pow_(2)", state=f32(4)),
     case("state.neg_()", state=i32(4)),
     case("state.lerp_(x, 0.25)", state=f32(4), x=f32(4), close=True),
     case("state.addcmul_(x, y, value=0.5)", state=f32(4), x=f32(4), y=f32(4), close=True),
     case("state.remainder_(3)", state=i64(5)),
     case("state.bitwise_xor_(x)", state=i64(5), x=i64(5)),
     case("state ^= x", state=boolean(5), x=boolean(5)),
     case("state.logical_not_()", state=boolean(5)),
     case("state <<= 1", state=i32(5)),
     case("state.eq_(x)", state=f32(5, low=0, high=1), x=f32(5)),
     case("state.div_(3, rounding_mode='floor')", state=i64(5)),
     case("state.baddbmm_(x, y)", state=f32(2, 3, 4), x=f32(2, 3, 5), y=f32(2, 5, 4), close=True),
     case("state.addmm_(x, y, beta=0.5)", state=f32(3, 4), x=f32(3, 5), y=f32(5, 4), close=True))

form("functions in place: `clamp_`, `exp_`, `sigmoid_` ...",
     case("state.clamp_(-1, 1)", state=f32(4, 6)),
     case("state.clamp_(min=x)", state=f32(4, 6), x=f32(6)),
     case("state.clamp_max_(2)", state=i64(4, 6)),
     case("state.relu_()", state=f32(4, 6)),
     case("state.exp_().clamp_(max=3)", state=f32(4, 6), close=True),
     case("state.sigmoid_()", state=f32(4, 6), close=True),
     case("state.tanh_()", state=bf16(4, 6), close=True),
     case("state.abs_().sqrt_()", state=f32(4, 6), close=True),
     case("state.round_()", state=f32(4, 6)),
     case("state.tril_()", state=f32(5, 5)),
     case("state.nan_to_num_(0.0)", state=value([1.0, float("nan"), float("inf")])),
     case("F.leaky_relu_(state, 0.1)", state=f32(4, 6), close=True),
     case("F.relu(state, inplace=True)", state=f32(4, 6)),
     case("torch.add(state, x, out=state)", state=f32(4, 6), x=f32(4, 6)),
     case("torch.mul(x, 2, out=state)", state=f32(4, 6), x=f32(4, 6)))

form("whole reassignment",
     case("self.state = x + 0", state=f32(4, 6), x=f32(4, 6), where="buffer"),
     case("self.state = state * 0.5 + x", state=f32(4, 6), x=f32(4, 6), where="buffer", close=True),
     case("self.state = torch.where(x > 0, x, state)", state=f32(4, 6), x=f32(4, 6), where="buffer"),
     case("self.state = torch.cat([state[1:], x])", state=f32(4, 6), x=f32(1, 6), where="buffer"),
     case("self.state = state + 1\nself.state = self.state * 2\nreturn self.state", state=i64(4), where="buffer"),
     case("state.copy_(state * 0.5 + x)", state=f32(4, 6), x=f32(4, 6)),
     case("state[:] = x.softmax(-1)", state=f32(4, 6), x=f32(4, 6), close=True),
     case("state.copy_(x @ y)", state=f32(4, 3), x=f32(4, 6), y=f32(6, 3), close=True))

form("shift: `roll`",
     case("state.copy_(state.roll(-1, 0))\nstate[-1] = x", state=f32(6, 3), x=f32(3)),
     case("state.copy_(state.roll(2, 1))", state=f32(3, 5)),
     case("state.copy_(torch.roll(state, (1, -1), (0, 1)))", state=f32(3, 5)),
     case("state.copy_(state.roll(1))", state=i64(2, 3)),
     case("self.state = state.roll(-2, -1)\nself.state[..., -2:] = x", state=f32(1, 4, 6), x=f32(1, 4, 2), where="buffer"))

form("shift: `cat` and slice",
     case("state.copy_(torch.cat([state[:, 2:], x], 1))", state=f32(3, 6), x=f32(3, 2)),
     case("state.copy_(torch.cat([x, state[:-1]]))", state=f32(4, 3), x=f32(1, 3)),
     case("new = torch.cat([state, x], -1)\nstate.copy_(new[..., -4:])\nreturn new * 2", state=f32(2, 4), x=f32(2, 3)),
     case("new = torch.cat([state, x], -1)\nstate.copy_(new[..., 3:])\nreturn new.sum(-1)", state=f32(2, 5), x=f32(2, 3), close=True),
     case("state[:-1] = state[1:].clone()\nstate[-1:] = x", state=f32(5, 3), x=f32(1, 3)),
     case("state[1:] = state[:-1].clone()\nstate[0] = x", state=i16(5, 3), x=i16(3)),
     case("new = torch.cat([state, x], 2)\nstate.copy_(new[:, :, 2:])\nreturn F.conv1d(new, w)", state=f32(1, 2, 4), x=f32(1, 2, 2),
          w=f32(3, 2, 3), close=True))

form("reductions into a state",
     case("state += x.sum(0)", state=f32(6), x=f32(4, 6), close=True),
     case("state.copy_(x.mean(-1))", state=f32(4), x=f32(4, 6), close=True),
     case("state.copy_(torch.maximum(state, x.amax(0)))", state=f32(6), x=f32(4, 6)),
     case("state += (x > 0).sum()", state=i64(), x=f32(4, 6)),
     case("state |= (x > 2).any(0)", state=boolean(6), x=f32(4, 6)),
     case("state.copy_(x.argmax(-1))", state=i64(4), x=f32(4, 6)),
     case("state[1] = x.norm()", state=f32(3), x=f32(4, 6), close=True),
     case("state.mul_(x.prod(0))", state=i64(6), x=i64(4, 6)))

form("scans into a state",
     case("state.cumsum_(0)", state=i64(4, 2)),
     case("state.copy_(x.cumsum(-1))", state=f32(4, 6), x=f32(4, 6), close=True),
     case("state.cumprod_(1)", state=f64(4, 3), close=True),
     case("state.copy_(state.flip(0).cumsum(0))", state=f32(4, 2), close=True),
     case("state[1:] = x.cumsum(0)[:-1]", state=i64(4, 2), x=i64(4, 2)),
     case("state.copy_(x.flatten().cumsum(0).view(4, 2))", state=i32(4, 2), x=i32(4, 2)))

form("running statistics",
     case("state.mul_(0.9).add_(x.mean(0), alpha=0.1)", state=f32(6), x=f32(4, 6), close=True),
     case("state.lerp_(x.var(0), 0.1)", state=f32(6), x=f32(4, 6), close=True),
     case("delta = x - mean\ncount += 1\nmean += delta / count\nm2 += delta * (x - mean)\nreturn m2 / count",
          states={"count": zeros(), "mean": zeros(5), "m2": zeros(5)}, x=f32(5), close=True),
     case("return F.batch_norm(x, mean, variance, training=True, momentum=0.2)",
          states={"mean": f32(3), "variance": f32(3, low=1, high=2)}, x=f32(4, 3, 5), close=True),
     case("return F.batch_norm(x, mean, variance, training=False)",
          states={"mean": f32(3), "variance": f32(3, low=1, high=2)}, x=f32(4, 3, 5), close=True, where="buffer"),
     case("return self.norm(x)", states={}, modules={"norm": lambda: nn.BatchNorm1d(3).train()}, x=f32(4, 3, 5), where="buffer",
          close=True),
     case("return self.norm(x)", states={}, modules={"norm": lambda: nn.BatchNorm2d(3, affine=False).train()}, x=f32(4, 3, 2, 2),
          where="buffer", close=True))

form("running statistics that the operator is said to write",
     case("return torch.ops.aten._native_batch_norm_legit(x, w, b, mean, variance, True, 0.2, 1e-5)",
          states={"mean": f32(3), "variance": f32(3, low=1, high=2)}, x=f32(4, 3, 5), w=f32(3), b=f32(3), close=True),
     case("return torch.ops.aten._native_batch_norm_legit(x, None, b, mean, variance, False, -1.0, 0.5)",
          states={"mean": f64(3), "variance": f64(3, low=1, high=2)}, x=f64(4, 3), b=f64(3), close=True),
     case("y = torch.ops.aten._native_batch_norm_legit(x, w, w, mean, variance, False, 0.2, 1e-5)\nmean.add_(1)\nreturn y[0], y[1].shape[0]",
          states={"mean": f32(2), "variance": f32(2, low=1, high=2)}, x=f32(3, 2, 4), w=f32(2), close=True))

form("`where` back into a state",
     case("state.copy_(torch.where(m, x, state))", state=f32(4, 6), m=boolean(4, 6), x=f32(4, 6)),
     case("state.copy_(torch.where(m, state, 0))", state=f32(4, 6), m=boolean(4, 1)),
     case("state.copy_(torch.where(torch.arange(6) == i, x, state))", state=f32(4, 6), i=each(1, 2, 3, dtype=torch.int64), x=f32(4, 1)),
     case("state[:, 1:4] = torch.where(state[:, 1:4] > 0, x, state[:, :3])", state=f32(4, 6), x=f32(4, 3)),
     case("state.copy_(m * x + (1 - m) * state)", state=f32(4, 6), m=each([0.0] * 6, [1.0] * 6, [0, 1.0, 0, 1, 0, 1]), x=f32(4, 6)),
     case("torch.where(m, x, state, out=state)", state=f32(4, 6), m=boolean(4, 6), x=f32(4, 6)))

form("counter",
     case("state += 1", state=zeros(1)),
     case("state.add_(1)\nreturn state * 2", state=i64()),
     case("state += 1\nreturn state, state", state=i64(1)),
     case("old = state + 0\nstate += x.shape[0]\nreturn old", state=i64(), x=f32(3)),
     case("state.copy_((state + 1) % 4)\nreturn x[state]", state=i64(), x=f32(4, 2)),
     case("pos += 1\ncache[:, pos % 4] = x", states={"cache": f32(2, 4), "pos": i64(1)}, x=f32(2, 1)))
