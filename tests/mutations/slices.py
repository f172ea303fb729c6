"""Assignments to slices, selections and narrowed parts."""
from case import bf16, boolean, c64, case, each, f16, f32, f64, form, i8, i16, i64, u8, zeros

form("slice assignment",
     case("state[1:3] = x", state=f32(4, 6), x=f32(2, 6)),
     case("state[:, 1:3] = x", state=f32(4, 6), x=f32(4, 2)),
     case("state[:, :, :, 2:5] = x", state=f32(2, 3, 2, 6), x=f32(2, 3, 2, 3)),
     case("state[:, -3:-1] = x", state=f32(4, 6), x=f32(4, 2)),
     case("state[2:100] = x", state=f32(4, 6), x=f32(2, 6)),
     case("state[-100:2] = x", state=f32(4, 6), x=f32(2, 6)),
     case("state[1::2] = x", state=f32(7, 2), x=f32(3, 2)),
     case("state[:, 1:9:3] = x", state=f32(2, 10), x=f32(2, 3)),
     case("state[1:3, ::2, -1:] = x", state=f32(4, 5, 3), x=f32(2, 3, 1)),
     case("state[:] = x", state=f32(4, 6), x=f32(4, 6)),
     case("state[...] = x", state=f32(4, 6), x=f32(6)),
     case("state[3:3] = x", state=f32(4, 6), x=f32(0, 6)),
     case("state[9:12] = 1.0", state=f32(4, 6)),
     case("state[3:1] = 2.0", state=f32(4, 6)),
     case("state[1:3] = 5", state=f32(4, 6)),
     case("state[0:1, 0:1, 0:1, 0:1, 1:, :1, 0:1, 0:1] = x", state=f32(1, 2, 1, 2, 3, 2, 1, 2), x=f32(2, 1, 1, 1)),
     case("state[1:3] = x", state=i64(5), x=i64(2)),
     case("state[1:3] = x", state=i8(5), x=i8(2)),
     case("state[:, 1:3] = x", state=u8(3, 5), x=u8(3, 2)),
     case("state[:, 1:3] = x", state=i16(3, 5), x=i16(3, 2)),
     case("state[:, 1:3] = x", state=f16(3, 5), x=f16(3, 2)),
     case("state[:, 1:3] = x", state=bf16(3, 5), x=bf16(3, 2)),
     case("state[:, 1:3] = x", state=f64(3, 5), x=f64(3, 2)),
     case("state[:, 1:3] = x", state=boolean(3, 5), x=boolean(3, 2)),
     case("state[:, 1:3] = x", state=c64(3, 5), x=c64(3, 2)))

form("slice assignment of a broadcast or a cast source",
     case("state[1:3] = x", state=f32(4, 6), x=f32(6)),
     case("state[:, 1:3] = x", state=f32(4, 6), x=f32(4, 1)),
     case("state[1:3] = x", state=f32(4, 6), x=f64(2, 6)),
     case("state[1:3] = x", state=f16(4, 6), x=f32(2, 6)),
     case("state[1:3] = x", state=i64(4, 6), x=f32(2, 6)),
     case("state[1:3] = x", state=f32(4, 6), x=i64(6)),
     case("state[:, 1:3] = x", state=boolean(4, 6), x=i64(4, 2)),
     case("state[1:3] = x * 2 + 1", state=bf16(4, 6), x=f32(2, 6), close=True))

form("select",
     case("state[2] = x", state=f32(4, 6), x=f32(6)),
     case("state[:, -1] = x", state=f32(4, 6), x=f32(4)),
     case("state[1, 2] = x", state=f32(4, 6), x=f32()),
     case("state[-1, 1:3] = 4.0", state=f32(4, 6)),
     case("state.select(1, -2).copy_(x)", state=f32(4, 6), x=f32(4)),
     case("state[1, :, 2] += x", state=f32(3, 4, 5), x=f32(4)))

form("narrow",
     case("state.narrow(0, 1, 2).copy_(x)", state=f32(4, 6), x=f32(2, 6)),
     case("state.narrow(-1, -3, 2).copy_(x)", state=f32(4, 6), x=f32(4, 2)),
     case("state.narrow(1, 2, 0).zero_()", state=f32(4, 6)),
     case("state.narrow(0, 0, 4).mul_(2)", state=f32(4, 6)))

form("counter",
     case("state += 1", state=zeros(1)),
     case("state.add_(1)\nreturn state * 2", state=i64()),
     case("state += 1\nreturn state, state", state=i64(1)))
