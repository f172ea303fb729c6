"""What stands around a mutation: reads of old and new values, outputs, names, failures, sizes."""
import torch
from torch.export import Dim

from case import bf16, boolean, c64, case, each, f16, f32, f64, form, i8, i16, i32, i64, u8, value, zeros

form("old value read after the write",
     case("old = state[1:3] * 1\nstate[1:3] = x\nreturn old", state=f32(4, 6), x=f32(2, 6)),
     case("old = state.clone()\nstate[1:3] = x\nreturn old", state=f32(4, 6), x=f32(2, 6)),
     case("old = state.clone()\nstate[1:3] = x\nreturn old - state", state=f32(4, 6), x=f32(2, 6)),
     case("old = state[3] + 0\nstate[1] = x\nreturn old", state=f32(4, 6), x=f32(6)),
     case("old = state.sum()\nstate.add_(old)\nreturn old", state=i64(4)),
     case("old = state[0].clone()\nstate[0] = state[1]\nstate[1] = old", state=f32(2, 3)))

form("mutated tensor returned",
     case("state[1] = x\nreturn state", state=f32(4, 6), x=f32(6)),
     case("state[1] = x\nreturn state, state", state=f32(4, 6), x=f32(6)),
     case("state[1] = x\nreturn state[1:3]", state=f32(4, 6), x=f32(6)),
     case("state[1] = x\nreturn state.t(), state.view(-1), state[0]", state=f32(4, 6), x=f32(6)),
     case("return state.add_(x)", state=f32(4, 6), x=f32(4, 6)),
     case("v = state[1]\nstate.mul_(2)\nreturn v", state=f32(4, 6)),
     case("state[1] = x\nreturn [state, {'new': state[1], 'twice': state * 2}]", state=f32(4, 6), x=f32(6)))

form("input returned unmodified",
     case("state[1] = x\nreturn x", state=f32(4, 6), x=f32(6)),
     case("state.add_(1)\nreturn x, x", state=f32(4, 6), x=f32(6)),
     case("state.add_(1)\nreturn x.view(2, 3)", state=f32(4, 6), x=f32(6)),
     case("state.add_(1)\nreturn x, state, 3, None", state=f32(4, 6), x=f32(6)))

form("outputs that alias each other",
     case("state += 1\ny = state * x\nreturn y, y", state=f32(4), x=f32(4)),
     case("state += 1\ny = state * x\nreturn y, y[1:3]", state=f32(4), x=f32(4)),
     case("state += 1\ny = state * x\nreturn y.view(2, 2), y, y.view(2, 2).t()", state=f32(4), x=f32(4)))

form("one buffer under two names",
     case("self.state[1] = x\nreturn self.other * 2", state=f32(4, 6), x=f32(6), tied={"other": "state"}, where="buffer"),
     case("self.state[1] = x\nself.other.mul_(2)\nreturn self.state", state=f32(4, 6), x=f32(6), tied={"other": "state"},
          where="buffer"),
     case("self.a.other[1:3] = x", states={"a.state": f32(4, 6)}, x=f32(2, 6), tied={"a.other": "a.state"}, where="buffer"),
     case("self.other.add_(x)\nreturn self.state", state=f32(4), x=f32(4), tied={"other": "state", "third": "state"}, where="buffer"))

form("nested names",
     case("self.layers.cache[1] = x\nself.layers.deep.cache += 1", states={"layers.cache": f32(4, 6), "layers.deep.cache": f32(3)},
          x=f32(6), where="buffer"),
     case("self.a.b.c.d.mul_(x)", states={"a.b.c.d": f32(3)}, x=f32(3), where="buffer"),
     case("for i, part in enumerate((self.l0, self.l1)):\n    part.k[i] = x\nreturn self.l0.k + self.l1.k",
          states={"l0.k": f32(2, 3), "l1.k": f32(2, 3)}, x=f32(3), where="buffer"))

form("0 elements",
     case("state.add_(1)", state=f32(0)),
     case("state[1:3] = x\nreturn state", state=f32(4, 0), x=f32(2, 0)),
     case("state.copy_(x)\nreturn state.sum()", state=f32(2, 0, 3), x=f32(2, 0, 3)),
     case("state.index_copy_(0, i, x)", state=f32(4, 0), i=i64(0), x=f32(0, 0)),
     case("state.zero_()\nother.add_(1)", states={"state": i64(0), "other": i64(2)}))

form("8-bit cache with scales",
     case("""
          s = x.abs().amax(-1, keepdim=True) / 127
          scale[:, pos] = s
          cache[:, pos] = torch.round(x / s).to(torch.int8)
          return (cache * scale).sum(-1)
          """.replace("          ", ""), states={"cache": i8(2, 6, 4), "scale": f32(2, 6, 1)}, x=f32(2, 1, 4),
          pos=each([0], [1], [2]), close=True),
     case("cache[:, 1:2] = (x * 10).clamp(0, 255).to(torch.uint8)\nreturn cache.float() * 0.1", states={"cache": u8(2, 4)},
          x=f32(2, 1, low=0, high=9), close=True),
     case("cache.index_copy_(0, i, (x / scale).round().to(torch.int8))\nreturn cache.to(torch.float32) @ x.t() * scale",
          states={"cache": i8(6, 4)}, x=f32(1, 4), i=each([0], [5], [2]), scale=value(0.05, torch.float32), close=True))

form("symbolic bounds and steps",
     case("state[:x.shape[0]] = x", state=f32(8, 3), x=each(f32(3, 3), f32(2, 3), f32(8, 3)), dynamic={"x": {0: Dim("n", min=2, max=8)}}),
     case("state[-x.shape[0]:] = x", state=f32(8, 3), x=each(f32(3, 3), f32(2, 3), f32(7, 3)), dynamic={"x": {0: Dim("n", min=2, max=8)}}),
     case("state[:, 1:x.shape[1] + 1] += x", state=f32(2, 9), x=each(f32(2, 3), f32(2, 2), f32(2, 8)),
          dynamic={"x": {1: Dim("n", min=2, max=8)}}),
     case("state.copy_(torch.cat([state, x])[-5:])", state=f32(5, 2), x=each(f32(3, 2), f32(2, 2), f32(7, 2)),
          dynamic={"x": {0: Dim("n", min=2, max=8)}}),
     case("state[:x.shape[0] * 2:2] = x", state=f32(16), x=each(f32(3), f32(2), f32(8)), dynamic={"x": {0: Dim("n", min=2, max=8)}}),
     case("state.narrow(0, 1, x.shape[0]).copy_(x)", state=f32(9), x=each(f32(3), f32(2), f32(8)),
          dynamic={"x": {0: Dim("n", min=2, max=8)}}),
     case("p = pos.item()\ntorch._check(p >= 0)\ntorch._check(p + 2 <= 8)\nstate[p:p + 2] = x\nreturn state.sum(1)", state=f32(8, 3),
          x=f32(2, 3), pos=each(1, 5, 6, dtype=torch.int64)),
     case("p = pos.item()\ntorch._check_is_size(p)\ntorch._check(p <= 8)\nstate.narrow(0, p, 0 + 1).copy_(x)", state=f32(9, 3), x=f32(1, 3),
          pos=each(1, 5, 7, dtype=torch.int64)),
     case("pos = torch.arange(x.shape[0]) + start\nstate.index_copy_(0, pos, x)", state=f32(9, 2), x=each(f32(3, 2), f32(2, 2), f32(4, 2)),
          start=each(0, 3, 5, dtype=torch.int64), dynamic={"x": {0: Dim("n", min=2, max=8)}}))

form("constant parts of symbolic sizes",
     case("state.copy_(x.unsqueeze(0).amin(0)[0, 0])", state=i64(), x=each(i64(1, 3), i64(1, 2), i64(1, 8)), dynamic={"x": {1: Dim("n", min=2, max=8)}}),
     case("state.copy_(x.unsqueeze(0)[0, 1])", state=f32(), x=each(f32(3), f32(2), f32(8)), dynamic={"x": {0: Dim("n", min=2, max=8)}}),
     case("state.copy_(x.reshape(x.shape[1], 2)[:2].t())", state=f32(2, 2), x=each(f32(2, 3), f32(2, 4), f32(2, 8)),
          dynamic={"x": {1: Dim("n", min=3, max=8)}}),
     case("state.copy_(x.reshape(-1)[1:5].view(2, 2))", state=f32(2, 2), x=each(f32(3, 2), f32(5, 2), f32(8, 2)),
          dynamic={"x": {0: Dim("n", min=3, max=8)}}),
     case("state.copy_(x.t().reshape(1, 2, x.shape[0])[0, 1, 1:3])", state=f32(2), x=each(f32(3, 2), f32(4, 2), f32(8, 2)),
          dynamic={"x": {0: Dim("n", min=3, max=8)}}),
     case("state.copy_(torch.cat([x.flatten()[2:4], state[:2]]))", state=f32(4), x=each(f32(3, 2), f32(4, 2), f32(8, 2)),
          dynamic={"x": {0: Dim("n", min=3, max=8)}}),
     case("state.copy_(x.diagonal(1)[1:3])", state=f32(2), x=each(f32(4, 5), f32(6, 5), f32(8, 5)), dynamic={"x": {0: Dim("n", min=4, max=8)}}),
     case("state.copy_(x.unfold(0, 2, 2)[1].reshape(-1)[:3])", state=f32(3), x=each(f32(4, 2), f32(6, 2), f32(8, 2)),
          dynamic={"x": {0: Dim("n", min=4, max=8)}}),
     case("y = x.clone()\ny[1:3] = state\nstate.copy_(y[2:4])", state=f32(2, 2), x=each(f32(4, 2), f32(6, 2), f32(8, 2)),
          dynamic={"x": {0: Dim("n", min=4, max=8)}}),
     case("state.copy_(torch.cat([x, state])[1:4])", state=f32(3, 2), x=each(f32(4, 2), f32(6, 2), f32(8, 2)),
          dynamic={"x": {0: Dim("n", min=4, max=8)}}))

form("an activation's own mutation",
     case("y = state.clone()\ny[1] = x\nstate[0] = y[1]\nreturn y", state=f32(4), x=f32()),
     case("y = x * 2\ny[1] = 0\ny.add_(state)\nstate += 1\nreturn y", state=f32(4), x=f32(4)),
     case("y = torch.zeros(4)\ny.copy_(x)\ny[2:] = state[2:]\nstate.copy_(y)", state=f32(4), x=f32(4)),
     case("y = x.view(2, 2).clone()\ny.t()[0] += 1\nstate.copy_(y)", state=f32(2, 2), x=f32(4)))

form("write-backs at once",
     case("t = a.clone()\na.copy_(b)\nb.copy_(t)", states={"a": f32(4), "b": f32(4)}),
     case("x0, x1, x2 = a + 0, b + 0, c + 0\na.copy_(x1)\nb.copy_(x2)\nc.copy_(x0)", states={"a": f32(4), "b": f32(4), "c": f32(4)}),
     case("c.copy_(b)\nb.copy_(a)\na.copy_(x)\nreturn c", states={"a": f32(4), "b": f32(4), "c": f32(4)}, x=f32(4)),
     case("t = a[:2].clone()\na.copy_(x)\nb.copy_(t)", states={"a": f32(4), "b": f32(2)}, x=f32(4)),
     case("t = a.t().clone()\na.copy_(b)\nb.copy_(t)", states={"a": f32(3, 3), "b": f32(3, 3)}),
     case("t = a.clone()\na.copy_(b)\nb.copy_(t)", states={"a": f16(4), "b": f32(4)}),
     case("t = a.clone()\na.copy_(b + x)\nb.copy_(t[0])", states={"a": f32(4), "b": f32(4)}, x=f32(4)),
     case("self.a, self.b = b * 1, a * 1", states={"a": f32(4), "b": f32(4)}, where="buffer"),
     case("self.c, self.b, self.a = b + 0, a + 0, x * 1", states={"a": f32(4), "b": f32(4), "c": f32(4)}, x=f32(4), where="buffer"),
     case("old = a.view(4) * 1\nself.a = x * 2\nb.copy_(old)", states={"a": f32(2, 2), "b": f32(4)}, x=f32(2, 2), where="buffer"),
     case("a += b\nb += a\na += b", states={"a": i64(4), "b": i64(4)}))

form("updates onto identical views",
     case("state[1:3] = state[1:3]", state=f32(4, 6)),
     case("state.copy_(state)", state=f32(4, 6)),
     case("state[:].copy_(state.view(4, 6))\nstate[0] = x", state=f32(4, 6), x=f32(6)),
     case("state[1:3] = state[1:3] * 2", state=f32(4, 6)),
     case("state.t().copy_(state.t())", state=f32(4, 6)),
     case("state.view(-1)[:6] = state[0]", state=f32(4, 6)))

form("several updates of one tensor",
     case("state[0] = x\nstate[1] = x * 2\nstate[2:] += state[:2]", state=f32(4, 6), x=f32(6)),
     case("state[1] = state[0]\nstate[2] = state[1]\nstate[0] = x", state=f32(4, 6), x=f32(6)),
     case("state.copy_(x)\nstate.mul_(2)\nstate[1] = 0", state=f32(4), x=f32(4)),
     case("state[:2] = x\nstate[1:3] = x", state=f32(4, 6), x=f32(2, 6)),
     case("state[i] = x\nstate[j] = x + 1\nreturn state[i]", state=f32(4, 6), i=each([0], [1], [2]), j=each([1], [1], [0]), x=f32(1, 6)),
     case("state[0] = state[3] + 1\nstate[3] = state[0] * x", state=f32(4, 6), x=f32(6)))

form("parts permuted within a tensor",
     case("state.copy_(state.flip(0))", state=f32(5, 3)),
     case("state.copy_(torch.cat([state[2:], state[:2]]))", state=f32(4, 3)),
     case("state.copy_(torch.cat([state[2:], state[:2]]))", state=f32(5, 3)),
     case("state.copy_(torch.stack([state[1], state[2], state[0]]))", state=f32(3, 3)),
     case("state.copy_(state.t())", state=f32(4, 4)),
     case("state.copy_(state[i])", state=f32(4, 3), i=each([1, 0, 3, 2], [0, 1, 2, 3], [3, 3, 0, 0])),
     case("a, b = state.chunk(2, -1)\nstate.copy_(torch.cat([-b, a], -1))", state=f32(3, 6)))

form("assembled part by part",
     case("a, b = x.chunk(2, -1)\nstate.copy_(torch.cat([a * c - b * s, b * c + a * s], -1))", state=f32(3, 6), x=f32(3, 6), c=f32(3),
          s=f32(3), close=True),
     case("state.copy_(torch.stack([x + 1, x * 2, -x]))", state=f32(3, 4), x=f32(4)),
     case("state.copy_(F.pad(x, (1, 2), value=3.0))", state=f32(2, 6), x=f32(2, 3)),
     case("state.copy_(torch.cat([x, state[1:2] * 2, x]))", state=f32(3, 4), x=f32(1, 4)),
     case("state[1:3] = torch.cat([x, x * 2])", state=f32(4, 6), x=f32(1, 6)),
     case("state.copy_(torch.stack([x, y], -1).flatten(1))", state=f32(2, 6), x=f32(2, 3), y=f32(2, 3)))

form("rearranged: flips, triangles, scans, sorts",
     case("state[1:] = state.flip(0)[1:]", state=f32(5, 3)),
     case("state[:-2] = state.flip(0)[:-2]\nreturn state.sum(0)", state=i64(6, 2), close=True),
     case("state[:, :4] = state[:, 1:].flip(1)", state=f16(3, 5)),
     case("state.copy_(state.flip(0, 2))", state=u8(3, 2, 4)),
     case("state[1].copy_(state[1].flip(-1))", state=boolean(3, 7)),
     case("state.copy_(torch.cat([state[:1], state.flip(0)[1:]]))", state=bf16(5, 2)),
     case("state[1:].triu_(1)\nstate[:, 1].tril_(-1)", state=f32(3, 4, 4)),
     case("state[1:] = state.tril()[1:]\nstate[:, 2:] = state.triu()[:, 2:]", state=i32(4, 5)),
     case("state[1:].cumsum_(1)", state=f64(3, 4), close=True),
     case("state[:, 1:] = state.cumprod(0)[:, 1:]", state=f32(3, 4, low=-1, high=1), close=True),
     case("state.copy_(state.cummax(1)[0])", state=i64(3, 5)),
     case("state.copy_(state.sort(0, descending=True)[0])", state=f32(5, 3)),
     case("state.copy_(state.argsort(dim=1, stable=True))", state=i64(2, 6)),
     case("state.copy_(state.softmax(-1))", state=f32(2, 3, 5), close=True),
     case("state.t().cumsum_(0)", state=f32(3, 4), close=True),
     case("state.flip(0)[0].add_(x)\nstate.copy_(state.flip(0) + x)", state=f32(4, 3), x=f32(3)))

form("parts of a stack",
     case("state[0].index_copy_(0, p, x)\nstate[1].index_copy_(0, p, x * 2)", state=f32(3, 6, 4), p=each([2], [0], [5]), x=f32(1, 4)),
     case("state[0][1:].mul_(x)\nstate[1][1:].mul_(x + 1)\nreturn state.sum(-1)", state=f32(3, 3, 5), x=f32(2, 5), close=True),
     case("state[0, 0][:, p] = x\nstate[1, 0][:, p] = x * 2\nstate[1, 1][:, p] += x", state=f32(2, 2, 3, 6, 2), p=each([1], [-1], [4]),
          x=f32(3, 1, 2)),
     case("for i in range(2):\n    state[i, :, 2:4] = x + state[i, :, :2]", state=f32(3, 2, 6, 4), x=f32(2, 2, 4)),
     case("for i in range(2):\n    state[i][:, :-1] = state[i][:, 1:].clone()\n    state[i][:, -1] = x\n    x = torch.tanh(state[i].sum(-1))",
          state=f32(2, 3, 4), x=f32(3), close=True),
     case("state[0].add_(1)\nstate[-1][::7].mul_(x)", state=f16(4, 21), x=f16(3), close=True),
     case("state[1].select(1, 0).copy_(x)\nstate[0].t()[1].fill_(2)\nstate[1][:, 1] = state[0][:, 0]", state=f32(2, 3, 4), x=f32(3)))

form("moved after it was computed",
     case("state.add_(x)\nstate.copy_(torch.cat([state[1:], torch.zeros(1, 3)]))", state=f32(5, 3), x=f32(5, 3)),
     case("state.mul_(2).add_(x)\ny = state[0] + 1\nstate.copy_(torch.cat([state[2:], x[:2]]))\nreturn y", state=f32(5, 3), x=f32(5, 3)))

form("joined with what it becomes",
     case("y = torch.cat([state, F.glu(x, 1)], -1)\nstate.copy_(y[..., -4:])\nreturn F.conv1d(y, w, groups=8)",
          state=f32(1, 8, 4), x=f32(1, 16, 4), w=f32(8, 1, 5), close=True),
     case("y = torch.cat([state, x * 2])\nstate.copy_(y[-3:])\nreturn y.unfold(0, 4, 1).sum(-1)", state=f32(3, 2), x=f32(3, 2), close=True))

form("hidden mutations",
     case("y = self.norm(x)\nreturn y, state.add_(1)", state=i64(), modules={"norm": lambda: torch.nn.BatchNorm1d(2).train()}, x=f32(4, 2),
          where="buffer", close=True),
     case("F.relu_(state[1])\nreturn state", state=f32(3, 4)),
     case("torch.nn.init.zeros_(state[0])", state=f32(3, 4)),
     case("y = F.hardtanh(state, -1, 1, inplace=True)\nreturn y + x", state=f32(4), x=f32(4)))

form("position out of range",
     case("state.index_copy_(0, i, x)", state=f32(4, 6), i=each([0, 2], [3, 4], [2, 0]), x=f32(2, 6), fails=1),
     case("state[i] = x", state=f32(4, 6), i=each([0, 2], [1, -4], [-5, 0]), x=f32(2, 6), fails=2),
     case("state[:, i] += 1\nother.add_(1)", states={"state": f32(4, 6), "other": i64()}, i=each([0], [6], [1]), fails=1),
     case("state.scatter_(0, i, x)", state=f32(4, 3), i=each([[0, 1, 2]], [[3, 3, 4]], [[1, 1, 1]]), x=f32(1, 3), fails=1),
     case("state.index_add_(0, i, x)", state=f32(4), i=each([1, 2], [0, 7], [0, 1]), x=f32(2), fails=1),
     case("state.index_fill_(0, i, 1)", state=f32(4), i=each([1], [0], [4]), fails=2),
     case("state.put_(i, x)", state=f32(4, 2), i=each([7], [-9], [0]), x=f32(1), fails=1),
     case("state[m] = x", state=f32(4), m=each([True, False, True, False], [True, False, False, False], [True, True, False, False]),
          x=f32(2), fails=1),
     case("state[m] = x", state=f32(4), m=each([True, False, True, False], [False, True, True, False], [True, True, False, True]),
          x=f32(2), fails=2),
     case("a.add_(1)\nb[0] = x\nc[i] = x\nd.mul_(2)", states={"a": f32(4), "b": f32(4), "c": f32(4), "d": f32(4)},
          i=each([1], [3], [4]), x=f32(), fails=2),
     case("a.add_(1)\nb[0] = x\nc[a] = x\nd.mul_(2)", states={"a": zeros(1, dtype=torch.int64), "b": f32(4), "c": f32(2), "d": f32(4)},
          x=f32(), fails=1),
     case("p = pos.item()\ntorch._check(p >= 0)\ntorch._check(p + 2 <= 8)\nother += 1\nstate[p:p + 2] = x",
          states={"state": f32(8, 3), "other": i64()}, x=f32(2, 3), pos=each(1, 5, 7, dtype=torch.int64), fails=2))
