"""Assignments to slices, selections and narrowed parts."""
import torch

from case import bf16, boolean, c64, case, each, f16, f32, f64, form, i8, i16, i32, i64, kind, u8

f8a, f8b = kind(torch.float8_e4m3fn), kind(torch.float8_e5m2)
u16, u32, u64 = kind(torch.uint16, 0, 9), kind(torch.uint32, 0, 9), kind(torch.uint64, 0, 9)

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

form("any rank, any dimension",
     case("state.copy_(x)", state=f32(), x=f32()),
     case("state.add_(x)\nstate[...] = state * 2", state=f32(), x=f32()),
     *(case("state[..., 1:] = x", state=f32(*[2] * rank), x=f32(*[2] * (rank - 1), 1)) for rank in range(1, 9)),
     *(case("state[1:] += x", state=f32(*[2] * rank), x=f32(*[2] * (rank - 1))) for rank in range(1, 9)),
     *(case(f"state.narrow({axis}, 1, 2).copy_(x)", state=f32(3, 4, 3, 5), x=f32(*(2 if i == axis else n for i, n in enumerate((3, 4, 3, 5)))))
       for axis in range(4)),
     *(case(f"state.select({axis}, {axis - 2}).mul_(x)", state=i64(3, 4, 3, 5), x=i64()) for axis in range(4)),
     *(case(f"state.index_copy_({axis}, i, x)", state=f32(3, 4, 3, 5), i=each([0, 2], [2, 1], [1, 0]),
            x=f32(*(2 if i == axis else n for i, n in enumerate((3, 4, 3, 5))))) for axis in range(4)),
     case("state[1, ..., 2, :, 0] = x", state=f32(2, 2, 2, 2, 3, 2, 2), x=f32(2, 2, 2, 2)),
     case("state.transpose(1, 6)[:, 2].add_(x)", state=f32(2, 2, 2, 1, 2, 2, 3, 2), x=f32()))

form("any dtype",
     *(case("state[:, 1:3] = x", state=dtype(2, 5), x=dtype(2, 2)) for dtype in (i32, u16, u32, u64, f8a, f8b)),
     *(case("state.copy_(x)", state=dtype(2, 5), x=dtype(5)) for dtype in (f64, f16, bf16, i32, i16, i8, u8, u16, u32, u64, f8a, f8b)),
     *(case("state.index_copy_(0, i, x)", state=dtype(4, 3), i=each([0, 2], [3, 1], [2, 0]), x=dtype(2, 3))
       for dtype in (f64, f16, i64, i32, i16, i8, boolean, c64)),
     *(case("state += x", state=dtype(2, 5), x=dtype(5)) for dtype in (f64, f16, bf16, i64, i32, i16, i8, u8)),
     *(case("state.masked_fill_(m, 1)", state=dtype(2, 5), m=boolean(5)) for dtype in (f64, bf16, i32, i16, i8, boolean)),
     *(case("state[i] = x", state=dtype(4), i=each([0, 2], [3, 1], [2, 0]), x=dtype(2)) for dtype in (f64, f16, bf16, i32, i16, u8, c64)))
