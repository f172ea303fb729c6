"""Writes through views."""
from case import bf16, boolean, c64, case, each, f16, f32, f64, form, i8, i16, i32, i64, u8

form("permuted, transposed",
     case("state.permute(2, 0, 1)[1] = x", state=f32(2, 3, 4), x=f32(2, 3)),
     case("state.t()[1:3] = x", state=f32(4, 6), x=f32(2, 4)),
     case("state.transpose(0, -1).copy_(x)", state=f32(2, 3, 4), x=f32(4, 3, 2)),
     case("state.mT.add_(x)", state=f32(2, 3, 4), x=f32(2, 4, 3)),
     case("state.movedim(0, 2)[..., 1] = x", state=f32(2, 3, 4), x=f32(3, 4)),
     case("state.permute(1, 0).index_copy_(0, i, x)", state=f32(4, 6), i=each([0, 2], [3, 1], [2, 0]), x=f32(2, 4)))

form("viewed, reshaped, flattened",
     case("state.view(-1)[5:9] = x", state=f32(4, 6), x=f32(4)),
     case("state.view(2, 2, 6)[:, 1] = x", state=f32(4, 6), x=f32(2, 6)),
     case("state.reshape(24)[::5] = x", state=f32(4, 6), x=f32(5)),
     case("state.flatten(1).mul_(2)", state=f32(4, 2, 3)),
     case("state.unflatten(1, (2, 3))[:, :, 1] = x", state=f32(4, 6), x=f32(4, 2)),
     case("state.view(3, 8).t()[2] = x", state=f32(4, 6), x=f32(3)),
     case("state.view_as(x).add_(x)", state=f32(4, 6), x=f32(2, 12)),
     case("state.t().reshape(-1)[:3] = 9.0\nreturn state + 1", state=f32(4, 6)),
     case("state.contiguous()[1] = x", state=f32(4, 6), x=f32(6)))

form("squeezed, unsqueezed",
     case("state.squeeze()[1] = x", state=f32(1, 4, 1, 2), x=f32(2)),
     case("state.squeeze(1)[1:3] = x", state=f32(4, 1, 2), x=f32(2, 2)),
     case("state.unsqueeze(0)[:, 1] = x", state=f32(4, 2), x=f32(1, 2)),
     case("state[None, :, None].copy_(x)", state=f32(4), x=f32(1, 4, 1)))

form("unbound, split, chunked",
     case("a, b, c, d = state.unbind(0)\nb.copy_(x)\nd += 1", state=f32(4, 6), x=f32(6)),
     case("a, b = state.chunk(2, 1)\na.copy_(x)\nb.zero_()", state=f32(4, 6), x=f32(4, 3)),
     case("a, b, c = state.split([1, 2, 3], dim=-1)\nb.mul_(2)\nc.add_(x)", state=f32(4, 6), x=f32(3)),
     case("a, b, c = state.split(2, 1)\na.copy_(x)\nc.copy_(x)", state=f32(4, 5), x=f32(4, 1), where=("buffer", "input")),
     case("for i, row in enumerate(state.unbind(1)):\n    row += i", state=i64(2, 3)),
     case("a, b = state.tensor_split(2, 1)\na.copy_(b)", state=f32(2, 6)))

UNFOLD = "what is unfolded is added to zeros"

form("unfolded, diagonal",
     case("state.unfold(0, 2, 2)[1] = x", state=f32(6, 3), x=f32(3, 2), core=UNFOLD),
     case("state.unfold(1, 3, 3).add_(x)", state=f32(2, 6), x=f32(2, 2, 3), core=UNFOLD),
     case("state.unfold(0, 2, 3)[:, 0] = x", state=f32(8), x=f32(3)),
     case("state.diagonal().copy_(x)", state=f32(4, 6), x=f32(4)),
     case("state.diagonal(1, 0, 2).add_(x)", state=f32(3, 2, 5), x=f32(3)),
     case("state.diagonal(-1)[1:].zero_()", state=f32(5, 5)),
     case("torch.diagonal(state, 2, -2, -1)[:, 0] = x", state=f32(2, 3, 5), x=f32(2)))

form("`as_strided`",
     case("state.as_strided((2, 3), (8, 1), 1).copy_(x)", state=f32(4, 6), x=f32(2, 3)),
     case("state.as_strided((3,), (7,)).add_(1)", state=f32(4, 6)),
     case("state[1:].as_strided((2, 2), (6, 2), 7).mul_(x)", state=f32(4, 6), x=f32(2, 2)),
     case("state.t().as_strided((4, 6), (6, 1)).add_(x)", state=f32(4, 6), x=f32(4, 6)),
     case("state.as_strided((2, 2), (1, 4))[0] = x\nreturn state.as_strided((2,), (3,))", state=f32(12), x=f32(2)))

form("real of complex",
     case("torch.view_as_real(state)[..., 0] = x", state=c64(4), x=f32(4)),
     case("state.real.copy_(x)", state=c64(2, 3), x=f32(2, 3)),
     case("state.imag.zero_()", state=c64(2, 3)),
     case("state.real[1:] += x", state=c64(4), x=f32(3)),
     case("torch.view_as_complex(state)[1] = x", state=f32(3, 2), x=c64()),
     case("torch.view_as_complex(state).imag.neg_()", state=f32(2, 3, 2)))

form("complex arithmetic",
     case("state.mul_(x)", state=c64(2, 3), x=c64(2, 3), close=True),
     case("state.mul_(x).add_(1j)", state=c64(4), x=c64(), close=True),
     case("state[1:] += x", state=c64(4), x=c64(3)),
     case("state[0].mul_(0.5)\nreturn state.abs()", state=c64(3, 2), close=True),
     case("state.t()[1].copy_(x * state[:, 0])", state=c64(2, 3), x=c64(2), close=True),
     case("torch.view_as_complex(state).mul_(x)", state=f32(3, 2), x=c64(3), close=True),
     case("state.real.mul_(state.imag)", state=c64(2, 3)),
     case("state.index_add_(0, i, x)", state=c64(4, 2), i=each([2, 0], [1, 1], [3, 0]), x=c64(2, 2)),
     case("state.copy_(state.conj())", state=c64(3)),
     case("state.conj_physical_()", state=c64(3)),
     case("old = state * 2\nstate.copy_(x)\nreturn old + state", state=c64(3), x=c64(3)))

form("dtype view",
     case("state.view(torch.int32)[1] = x", state=f32(4, 6), x=i32(6)),
     case("state.view(torch.int16)[:, 3:5] = x", state=f32(4, 6), x=i16(4, 2)),
     case("state.view(torch.uint8)[0, :4] = x", state=f32(2, 3), x=u8(4)),
     case("state.view(torch.float64)[:, 1] = x", state=f32(3, 4), x=f64(3)),
     case("state.view(torch.bfloat16).copy_(x)", state=i16(3, 4), x=bf16(3, 4)),
     case("state[1].view(torch.int8).bitwise_and_(x)", state=u8(3, 4), x=i8(4)),
     case("state.view(torch.int32).bitwise_xor_(1)", state=f32(3, 4)))

form("view of a view",
     case("state[1:][:, 2:4][0] = x", state=f32(4, 6), x=f32(2)),
     case("state.t()[1:3].t()[2:] = x", state=f32(4, 6), x=f32(2, 2)),
     case("state.view(2, 12)[1].view(3, 4)[:, 1:3] = x", state=f32(4, 6), x=f32(3, 2)),
     case("state[::2][1:].unsqueeze(0)[..., -1] = 3.0", state=f32(6, 4)),
     case("v = state[1:3]\nw = v[:, 1:5]\nw += x\nv *= 2\nreturn w", state=f32(4, 6), x=f32(4)),
     case("state[1].diagonal()[1:].add_(x)", state=f32(2, 4, 4), x=f32(3)),
     case("state.permute(1, 2, 0).select(-1, 1).transpose(0, 1)[2].copy_(x)", state=f32(2, 3, 4), x=f32(3)))

form("two views of one tensor",
     case("a = state[:2]\nb = state[1:]\na += x\nb *= 2", state=f32(4, 6), x=f32(6)),
     case("a = state[0]\nb = state[1]\na.copy_(b)\nb.copy_(x)\nreturn a + b", state=f32(4, 6), x=f32(6)),
     case("a = state.view(-1)\nb = state.t()\na[3:7] = x\nb[0] += 1\nreturn a[5:9] * 2", state=f32(4, 6), x=f32(4)),
     case("a = state[:, :3]\nb = state[:, 3:]\nnew = a * 2\na.copy_(b)\nb.copy_(new)", state=f32(4, 6)),
     case("v = state[1:3]\nstate[2] = x\nreturn v + 0", state=f32(4, 6), x=f32(6)),
     case("v = state[1:3]\nold = v * 1\nv[1] = x\nreturn old, v", state=f32(4, 6), x=f32(6)))

form("states of other layouts",
     case("state[:, 1:3] = x", state=f32(6, 4).via(lambda t: t.t()), x=f32(4, 2)),
     case("state += x", state=f32(2, 4, 5, 3).via(lambda t: t.permute(0, 3, 1, 2)), x=f32(3, 1, 1)),
     case("state.copy_(x)", state=f32(2, 5, 3).via(lambda t: t.transpose(1, 2)), x=f32(2, 3, 5)),
     case("state.index_copy_(1, i, x)", state=f32(6, 4).via(lambda t: t.t()), i=each([0, 2], [3, 1], [2, 0]), x=f32(4, 2)),
     case("state.roll(1, 0)\nstate[1] = x", state=f32(4, 6).via(lambda t: t[:, ::2]), x=f32(3)),
     case("state.mul_(2)", state=f32(4, 6).via(lambda t: t[1:, 2:])),
     case("state.view(torch.int32)[1] = x", state=f32(6, 4).via(lambda t: t.t()), x=i32(6)))
