/* Elements as numbers. */
#include "core/core.h"

#include <math.h>

static double small_float(uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
    uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
    uint32_t exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
    double value = exponent ? ldexp(1 + ldexp(mantissa, -mantissa_bits), (int)exponent - bias)
                            : ldexp(mantissa, 1 - bias - mantissa_bits);
    return bits >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

/* With infinities and NaN in the highest exponent. */
static double ieee_float(uint32_t bits, int exponent_bits, int mantissa_bits) {
    uint32_t magnitude = bits & ((1u << (exponent_bits + mantissa_bits)) - 1);
    uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
    if (magnitude > infinity) return (double)NAN;
    if (magnitude == infinity) return magnitude == bits ? (double)INFINITY : -(double)INFINITY;
    return small_float(bits, exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1);
}

static bool float_value(dtype_t type, const void *data, double *out) {
    uint16_t half;
    uint8_t byte;
    float single;
    memcpy(&byte, data, sizeof(byte));
    switch ((int)type) {
    case DTYPE_F64: memcpy(out, data, sizeof(*out)); return true;
    case DTYPE_F32:
        memcpy(&single, data, sizeof(single));
        *out = (double)single;
        return true;
    case DTYPE_F16:
    case DTYPE_BF16:
        memcpy(&half, data, sizeof(half));
        *out = type == DTYPE_F16 ? ieee_float(half, 5, 10) : ieee_float(half, 8, 7);
        return true;
    case DTYPE_E5M2: *out = ieee_float(byte, 5, 2); return true;
    case DTYPE_E4M3FN: *out = (byte & 0x7f) == 0x7f ? (double)NAN : small_float(byte, 4, 3, 7); return true;
    case DTYPE_E4M3FNUZ: *out = byte == 0x80 ? (double)NAN : small_float(byte, 4, 3, 8); return true;
    case DTYPE_E5M2FNUZ: *out = byte == 0x80 ? (double)NAN : small_float(byte, 5, 2, 16); return true;
    case DTYPE_E8M0: *out = byte == 0xff ? (double)NAN : ldexp(1, byte - 127); return true;
    default: return false;
    }
}

static bool whole_value(dtype_t type, const void *data, int64_t *out) {
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
    } number;
    memcpy(&number, data, dtype_size(type));
    switch ((int)type) {
    case DTYPE_BOOL: *out = number.u8 != 0; return true;
    case DTYPE_U8: *out = number.u8; return true;
    case DTYPE_I8: *out = number.i8; return true;
    case DTYPE_U16: *out = number.u16; return true;
    case DTYPE_I16: *out = number.i16; return true;
    case DTYPE_U32: *out = number.u32; return true;
    case DTYPE_I32: *out = number.i32; return true;
    default: *out = (int64_t)number.u64; return type == DTYPE_I64 || number.u64 <= INT64_MAX;
    }
}

bool element_value(dtype_t type, const void *data, sym_value_t *out) {
    *out = (sym_value_t){.kind = SYM_KIND_INT};
    if (dtype_is_complex(type) || dtype_size(type) == 0) return false;
    if (dtype_is_float(type)) {
        out->kind = SYM_KIND_FLOAT;
        return float_value(type, data, &out->f);
    }
    if (type == DTYPE_BOOL) out->kind = SYM_KIND_BOOL;
    return whole_value(type, data, &out->i);
}
