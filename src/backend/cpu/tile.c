/* Tiles: strided elements of any real dtype to contiguous numbers and back, with PyTorch's conversions.
 *
 * A float outside an integer type's range becomes what x86's conversion instructions give (the smallest number of the
 * type that the instruction makes: 32 bits for i8, i16 and i32, 64 bits for the others), then is cut to the width. */
#include "backend/cpu/cpu_int.h"

compute_t compute_of(dtype_t type) {
    if (type == DTYPE_F64) return COMPUTE_F64;
    return dtype_is_float(type) ? COMPUTE_F32 : COMPUTE_I64;
}

float half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff, word;
    if (magnitude >= 0x7c00) { /* infinity, NaN */
        word = sign | 0x7f800000 | (magnitude & 0x3ff) << 13;
    } else if (magnitude >= 0x400) {
        word = sign | ((magnitude << 13) + (112U << 23));
    } else { /* a multiple of 2^-24 */
        float value = (float)magnitude * 0x1p-24F;
        memcpy(&word, &value, sizeof(word));
        word |= sign;
    }
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

uint16_t float_to_half(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    uint32_t sign = word >> 16 & 0x8000, magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and above round to infinity */
    if (magnitude < 0x38800000) {                                  /* below 2^-14: adding 0.5 rounds to 2^-24 */
        float shifted, absolute;
        memcpy(&absolute, &magnitude, sizeof(absolute));
        shifted = absolute + 0.5F;
        uint32_t rounded;
        memcpy(&rounded, &shifted, sizeof(rounded));
        return (uint16_t)(sign | (rounded - 0x3f000000));
    }
    uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | ((magnitude - (112U << 23) + 0xfff + odd) >> 13));
}

float bfloat_to_float(uint16_t bits) {
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

uint16_t float_to_bfloat(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    if ((word & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static int64_t double_to_i64(double value) { return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN; }
static uint64_t double_to_u64(double value) { /* the upper half by a conversion of what lies over 2^63 */
    if (value >= 0x1p63) return (uint64_t)double_to_i64(value - 0x1p63) ^ (uint64_t)1 << 63;
    return (uint64_t)double_to_i64(value);
}
static int64_t double_to_i32(double value) {
    return value > -0x1p31 - 1 && value < 0x1p31 ? (int64_t)(int32_t)value : INT32_MIN;
}

/* The halves of its range by two conversions, as vector code does. */
static uint32_t double_to_u32(double value) {
    if (value >= 0x1p31) return (uint32_t)double_to_i32(value - 0x1p31) ^ (uint32_t)1 << 31;
    return (uint32_t)double_to_i32(value);
}

/* ---- loads ---- */
/* Of elements of the type, if the dtype is id. */
#define LOAD_IF(id, ctype, to, expression)                                                                             \
    if (type == DTYPE_##id) {                                                                                          \
        LOAD_LOOP(ctype, to, expression)                                                                               \
        return;                                                                                                        \
    }
#define LOAD_LOOP(ctype, to, expression)                                                                               \
    for (int64_t i = 0; i < count; i++, data += stride) {                                                              \
        ctype value;                                                                                                   \
        memcpy(&value, data, sizeof(value));                                                                           \
        (to)[i] = (expression);                                                                                        \
    }

/* The integer types but i64, by dtype id and C type. */
#define INTEGER_TYPES(X) X(U8, uint8_t) X(I8, int8_t) X(I16, int16_t) X(I32, int32_t) X(U16, uint16_t) X(U32, uint32_t)

void tile_load_int(dtype_t type, const char *data, int64_t stride, int64_t count, int64_t *out) {
    LOAD_IF(BOOL, uint8_t, out, value != 0)
    LOAD_IF(I64, int64_t, out, value)
    LOAD_IF(U64, uint64_t, out, (int64_t)value)
#define X(id, ctype) LOAD_IF(id, ctype, out, (int64_t)value)
    INTEGER_TYPES(X)
#undef X
}

static void load_float(dtype_t type, const char *data, int64_t stride, int64_t count, float *out) {
    LOAD_IF(F16, uint16_t, out, half_to_float(value))
    LOAD_IF(BF16, uint16_t, out, bfloat_to_float(value))
    if (dtype_size(type) == 1) {
        LOAD_LOOP(uint8_t, out, float8_to_float(type, value))
        return;
    }
    if (stride == (int64_t)sizeof(float)) {
        memcpy(out, data, (size_t)count * sizeof(float));
        return;
    }
    LOAD_LOOP(float, out, value)
}

void tile_load(dtype_t type, const char *data, int64_t stride, int64_t count, tile_t *out) {
    switch (compute_of(type)) {
    case COMPUTE_F32: load_float(type, data, stride, count, out->f); return;
    case COMPUTE_F64: tile_load_double(type, data, stride, count, out->d); return;
    case COMPUTE_I64: tile_load_int(type, data, stride, count, out->i); return;
    }
}

void tile_load_double(dtype_t type, const char *data, int64_t stride, int64_t count, double *out) {
    LOAD_IF(F64, double, out, value)
    LOAD_IF(F32, float, out, (double)value)
    LOAD_IF(F16, uint16_t, out, (double)half_to_float(value))
    LOAD_IF(BF16, uint16_t, out, (double)bfloat_to_float(value))
    if (dtype_is_float(type) && dtype_size(type) == 1) {
        LOAD_LOOP(uint8_t, out, (double)float8_to_float(type, value))
        return;
    }
    LOAD_IF(BOOL, uint8_t, out, (double)(value != 0))
    LOAD_IF(I64, int64_t, out, (double)value)
    LOAD_IF(U64, uint64_t, out, (double)value)
#define X(id, ctype) LOAD_IF(id, ctype, out, (double)value)
    INTEGER_TYPES(X)
#undef X
}

/* ---- stores ---- */
#define STORE_IF(id, ctype, expression)                                                                                \
    if (type == DTYPE_##id) {                                                                                          \
        STORE_LOOP(ctype, expression)                                                                                  \
        return;                                                                                                        \
    }
#define STORE_LOOP(ctype, expression)                                                                                  \
    for (int64_t i = 0; i < count; i++, data += stride) {                                                              \
        ctype value = (expression);                                                                                    \
        memcpy(data, &value, sizeof(value));                                                                           \
    }

#define STORE_FLOAT8(number)                                                                                           \
    if (dtype_is_float(type) && dtype_size(type) == 1) {                                                               \
        STORE_LOOP(uint8_t, float_to_float8(type, number))                                                             \
        return;                                                                                                        \
    }

static void store_ints(dtype_t type, char *data, int64_t stride, int64_t count, const int64_t *from) {
    STORE_IF(BOOL, uint8_t, from[i] != 0)
    STORE_IF(I64, int64_t, from[i])
    STORE_IF(U64, uint64_t, (uint64_t)from[i])
    STORE_IF(F64, double, (double)from[i])
    STORE_IF(F32, float, (float)from[i])
    STORE_IF(F16, uint16_t, float_to_half((float)from[i]))
    STORE_IF(BF16, uint16_t, float_to_bfloat((float)from[i]))
    STORE_FLOAT8((float)from[i])
#define X(id, ctype) STORE_IF(id, ctype, (ctype)(uint64_t)from[i])
    INTEGER_TYPES(X)
#undef X
}

static void store_floats(dtype_t type, char *data, int64_t stride, int64_t count, const float *from) {
    STORE_IF(F32, float, from[i])
    STORE_IF(F64, double, (double)from[i])
    STORE_IF(F16, uint16_t, float_to_half(from[i]))
    STORE_IF(BF16, uint16_t, float_to_bfloat(from[i]))
    STORE_FLOAT8(from[i])
    STORE_IF(BOOL, uint8_t, from[i] != 0)
    STORE_IF(I8, int8_t, (int8_t)double_to_i32((double)from[i]))
    STORE_IF(I16, int16_t, (int16_t)double_to_i32((double)from[i]))
    STORE_IF(I32, int32_t, (int32_t)double_to_i32((double)from[i]))
    STORE_IF(I64, int64_t, double_to_i64((double)from[i]))
    STORE_IF(U64, uint64_t, double_to_u64((double)from[i]))
    STORE_IF(U8, uint8_t, (uint8_t)double_to_i64((double)from[i]))
    STORE_IF(U16, uint16_t, (uint16_t)double_to_i32((double)from[i]))
    STORE_IF(U32, uint32_t, double_to_u32((double)from[i]))
}

static void store_doubles(dtype_t type, char *data, int64_t stride, int64_t count, const double *from) {
    STORE_IF(F32, float, (float)from[i])
    STORE_IF(F64, double, from[i])
    STORE_IF(F16, uint16_t, float_to_half((float)from[i]))
    STORE_IF(BF16, uint16_t, float_to_bfloat((float)from[i]))
    STORE_FLOAT8((float)from[i])
    STORE_IF(BOOL, uint8_t, from[i] != 0)
    STORE_IF(I8, int8_t, (int8_t)double_to_i32(from[i]))
    STORE_IF(I16, int16_t, (int16_t)double_to_i32(from[i]))
    STORE_IF(I32, int32_t, (int32_t)double_to_i32(from[i]))
    STORE_IF(I64, int64_t, double_to_i64(from[i]))
    STORE_IF(U64, uint64_t, double_to_u64(from[i]))
    STORE_IF(U8, uint8_t, (uint8_t)double_to_i64(from[i]))
    STORE_IF(U16, uint16_t, (uint16_t)double_to_i32(from[i]))
    STORE_IF(U32, uint32_t, double_to_u32(from[i]))
}

void tile_store(dtype_t type, char *data, int64_t stride, int64_t count, compute_t kind, const void *numbers) {
    switch (kind) {
    case COMPUTE_F32: store_floats(type, data, stride, count, numbers); return;
    case COMPUTE_F64: store_doubles(type, data, stride, count, numbers); return;
    case COMPUTE_I64: store_ints(type, data, stride, count, numbers); return;
    }
}

void element_store_double(dtype_t type, char *data, double value) { store_doubles(type, data, 0, 1, &value); }
void element_store_int(dtype_t type, char *data, int64_t value) { store_ints(type, data, 0, 1, &value); }

double element_double(dtype_t type, const char *data) {
    double value = 0;
    tile_load_double(type, data, 0, 1, &value);
    return value;
}

int64_t element_int(dtype_t type, const char *data) {
    int64_t value = 0;
    tile_load_int(type, data, 0, 1, &value);
    return value;
}

bool fits_i64(dtype_t type, op_kind_t op, reason_t *why) {
    static const op_kind_t ops[] = {
        OP_ADD,         OP_SUB,         OP_MUL,        OP_EQ,          OP_NE,          OP_LOGICAL_AND, OP_LOGICAL_OR,
        OP_LOGICAL_XOR, OP_BITWISE_AND, OP_BITWISE_OR, OP_BITWISE_XOR, OP_BITWISE_NOT, OP_LOGICAL_NOT, OP_ISNAN,
        OP_ISINF,       OP_ISFINITE,    OP_ANY,        OP_ALL,         OP_ASSIGN,      OP_UPDATE_ADD,  OP_UPDATE_MUL};
    if (type != DTYPE_U64) return true;
    for (uint32_t i = 0; i < COUNT_OF(ops); i++)
        if (ops[i] == op) return true;
    return decline(why, "%s is not computed on u64", op_name(op));
}

void element_copy(uint32_t size, char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count) {
    if (to_stride == (int64_t)size && from_stride == (int64_t)size) {
        memmove(to, from, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++, to += to_stride, from += from_stride) {
        switch (size) { /* constant sizes become single moves */
        case 1: *to = *from; break;
        case 2: memmove(to, from, 2); break;
        case 4: memmove(to, from, 4); break;
        case 8: memmove(to, from, 8); break;
        default: memmove(to, from, size); break;
        }
    }
}

int64_t index_value(const bound_operand_t *operand, const char *data, int64_t position) {
    for (uint32_t i = operand->rank; i-- > 0;) {
        data += position % operand->sizes[i] * operand->strides[i] * (int64_t)dtype_size(operand->dtype);
        position /= operand->sizes[i];
    }
    return element_int(operand->dtype, data);
}
