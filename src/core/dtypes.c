/* Element types: the table, and PyTorch's promotion rules. */
#include "core/core.h"

#include <math.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;
    uint32_t size;
    dtype_kind_t kind;
    insitu_dtype public_type;
    int64_t pt2;
    const char *safetensors;
} dtype_row_t;

static const dtype_row_t ROWS[] = {
#define DTYPE(id, name, size, kind, code, bits, pt2, safetensors) {name, size, kind, {code, bits, 1}, pt2, safetensors},
#include "core/dtypes.def"
#undef DTYPE
    {"none", 0, KIND_BOOL, {0, 0, 0}, -1, NULL}, /* DTYPE_COUNT: no type */
};

static const dtype_row_t *row_of(dtype_t type) { return &ROWS[type < DTYPE_COUNT ? type : DTYPE_COUNT]; }

const char *dtype_name(dtype_t type) { return row_of(type)->name; }
uint32_t dtype_size(dtype_t type) { return row_of(type)->size; }
dtype_kind_t dtype_kind_of(dtype_t type) { return row_of(type)->kind; }
insitu_dtype dtype_public(dtype_t type) { return row_of(type)->public_type; }
const char *dtype_safetensors(dtype_t type) { return row_of(type)->safetensors; }

bool dtype_parse(const char *name, dtype_t *out) {
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(ROWS[i].name, name) != 0) continue;
        *out = (dtype_t)i;
        return true;
    }
    return false;
}

bool dtype_from_public(insitu_dtype type, dtype_t *out) {
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        const insitu_dtype row = ROWS[i].public_type;
        if (row.code != type.code || row.bits != type.bits || row.lanes != type.lanes) continue;
        *out = (dtype_t)i;
        return true;
    }
    return false;
}

bool dtype_from_pt2(int64_t number, dtype_t *out) {
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        if (ROWS[i].pt2 != number) continue;
        *out = (dtype_t)i;
        return true;
    }
    return false;
}

bool dtype_from_safetensors(const char *name, dtype_t *out) {
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        if (!ROWS[i].safetensors || strcmp(ROWS[i].safetensors, name) != 0) continue;
        *out = (dtype_t)i;
        return true;
    }
    return false;
}

/* ---- promotion ---- */

static bool is_float8(dtype_t type) { return type >= DTYPE_E4M3FN && type < DTYPE_COUNT; }
static bool is_wide_unsigned(dtype_t type) { return type == DTYPE_U16 || type == DTYPE_U32 || type == DTYPE_U64; }

static dtype_t promote_integers(dtype_t a, dtype_t b) {
    if (a == DTYPE_BOOL) return b;
    if (b == DTYPE_BOOL) return a;
    dtype_t wider = dtype_size(a) >= dtype_size(b) ? a : b;
    bool mixed = dtype_kind_of(a) != dtype_kind_of(b); /* u8 with a signed type */
    return !mixed ? wider : wider == DTYPE_U8 || wider == DTYPE_I8 ? DTYPE_I16 : wider;
}

static dtype_t promote_floats(dtype_t a, dtype_t b) {
    if (dtype_size(a) == dtype_size(b)) return DTYPE_F32; /* f16 with bf16 */
    return dtype_size(a) > dtype_size(b) ? a : b;
}

static dtype_t complex_of(dtype_t type) { /* a complex dtype whose parts hold a float dtype */
    return type == DTYPE_F64 ? DTYPE_C128 : type == DTYPE_F16 ? DTYPE_C32 : DTYPE_C64;
}

dtype_t dtype_promote(dtype_t a, dtype_t b) {
    if (a == b) return a;
    if (a >= DTYPE_COUNT || b >= DTYPE_COUNT || is_float8(a) || is_float8(b)) return DTYPE_COUNT;
    if (dtype_kind_of(a) < dtype_kind_of(b)) { /* a of the higher kind */
        dtype_t swapped = a;
        a = b;
        b = swapped;
    }
    bool refused = is_wide_unsigned(a) || is_wide_unsigned(b); /* unless the other is a float */
    if (refused && !dtype_is_float(a)) return DTYPE_COUNT;
    if (dtype_is_integral(a)) return promote_integers(a, b);
    if (dtype_is_integral(b)) return a;
    if (dtype_is_float(a)) return promote_floats(a, b);
    dtype_t other = dtype_is_complex(b) ? b : complex_of(b);
    return dtype_size(a) >= dtype_size(other) ? a : other;
}

static dtype_t promote_if_any(dtype_t a, dtype_t b) {
    if (a == DTYPE_COUNT) return b;
    return b == DTYPE_COUNT ? a : dtype_promote(a, b);
}

/* A category of operands yields to a higher one unless its kind is higher. DTYPE_COUNT: no operand. */
static dtype_t combine(dtype_t higher, dtype_t lower) {
    if (higher == DTYPE_COUNT) return lower;
    if (lower == DTYPE_COUNT || dtype_is_complex(higher)) return higher;
    if (dtype_is_float(higher)) return dtype_is_complex(lower) ? complex_of(higher) : higher;
    if (!dtype_is_integral(lower)) return lower;
    if (higher == DTYPE_BOOL) return dtype_promote(higher, lower);
    return higher;
}

dtype_t dtype_result(const dtype_t *types, const operand_class_t *classes, uint32_t count) {
    dtype_t results[3] = {DTYPE_COUNT, DTYPE_COUNT, DTYPE_COUNT};
    for (uint32_t i = 0; i < count; i++) {
        dtype_t type = types[i];
        if (classes[i] == OPERAND_NUMBER && dtype_is_complex(type)) type = DTYPE_C64;
        if (classes[i] == OPERAND_NUMBER && dtype_is_float(type)) type = DTYPE_F32;
        results[classes[i]] = promote_if_any(results[classes[i]], type);
    }
    return combine(results[OPERAND_TENSOR], combine(results[OPERAND_ZERO_DIM], results[OPERAND_NUMBER]));
}

double dtype_round(dtype_t type, double value) {
    if (type == DTYPE_F64 || !isfinite(value) || value == 0) return value;
    if (type == DTYPE_F32) return (double)(float)value;
    bool half = type == DTYPE_F16;
    int digits = half ? 11 : 8, lowest = half ? -24 : -133; /* significant bits; exponent of the smallest step */
    double largest = half ? 65504.0 : ldexp(255.0, 120);
    int exponent;
    (void)frexp(value, &exponent);
    int step = exponent - digits > lowest ? exponent - digits : lowest;
    double rounded = ldexp(rint(ldexp(value, -step)), step);
    return fabs(rounded) > largest ? copysign(INFINITY, value) : rounded;
}
