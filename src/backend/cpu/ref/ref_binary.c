/* binary, in any real dtype: tile by tile, one function an operator (binary_ops.def). The second operand may be a number, of
 * the first's dtype. An add of two operands may have a number that scales the second: a + number b, rounded once. */
#include "backend/cpu/cpu_int.h"

#include <math.h>

typedef void (*binary_fn)(const void *first, const void *second, void *out, int64_t count, int32_t bits);

/* ---- integers ---- */
static int64_t int_divide(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t int_modulo(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t int_floor_divide(int64_t a, int64_t b) {
    int64_t quotient = int_divide(a, b);
    return int_modulo(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
static int64_t int_remainder(int64_t a, int64_t b) {
    int64_t rest = int_modulo(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
/* The size in the dtype's width, where the smallest number has none and stays. */
static int64_t int_size(int64_t a, int32_t bits) {
    bool is_smallest = a < 0 && bits < 0 && a == (int64_t)(UINT64_MAX << (-bits - 1));
    return a < 0 && !is_smallest ? -a : a;
}
static int64_t int_divisor(int64_t a, int64_t b, int32_t bits) {
    a = int_size(a, bits);
    b = int_size(b, bits);
    while (a) {
        int64_t rest = int_modulo(b, a);
        b = a;
        a = rest;
    }
    return b;
}
static int64_t int_power(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t result = 1, base = (uint64_t)a;
    for (uint64_t left = (uint64_t)b; left; left >>= 1, base *= base)
        if (left & 1) result *= base;
    return (int64_t)result;
}
/* bits: the width of the dtype, negative if it is signed. */
static int64_t int_shift_left(int64_t a, int64_t b, int32_t bits) {
    return b < 0 || b >= (bits < 0 ? -bits : bits) ? 0 : (int64_t)((uint64_t)a << b);
}
static int64_t int_shift_right(int64_t a, int64_t b, int32_t bits) {
    int64_t most = bits < 0 ? -bits - 1 : bits;
    int64_t by = b < 0 || b >= most ? most : b;
    return by > 63 ? 0 : a >> by;
}

/* ---- floats ---- */
static float f32_remainder_of(float a, float b) {
    float rest = fmodf(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static double f64_remainder_of(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static float f32_floor_divide(float a, float b) {
    if (b == 0) return a / b;
    float rest = fmodf(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysignf(0, a / b);
    float whole = floorf(quotient);
    return quotient - whole > 0.5F ? whole + 1 : whole;
}
static double f64_floor_divide(double a, double b) {
    if (b == 0) return a / b;
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

/* In f16 and bf16 PyTorch rounds each step of a quotient that is cut. */
typedef float (*round_fn)(float value);
static float round_half(float value) { return half_to_float(float_to_half(value)); }
static float round_bfloat(float value) { return bfloat_to_float(float_to_bfloat(value)); }

static float short_floor_divide(float a, float b, round_fn rounded) {
    if (b == 0) return a / b;
    float rest = fmodf(a, b), quotient = rounded(rounded(a - rest) / b);
    if (rest != 0 && (b < 0) != (rest < 0)) quotient = rounded(quotient - 1);
    if (quotient == 0) return copysignf(0, a / b);
    float whole = floorf(quotient);
    return quotient - whole > 0.5F ? whole + 1 : whole;
}

static void short_divide(op_kind_t op, dtype_t type, const float *a, const float *b, float *out, int64_t count) {
    round_fn rounded = type == DTYPE_F16 ? round_half : round_bfloat;
    for (int64_t i = 0; i < count; i++)
        out[i] = op == OP_DIV_FLOOR ? short_floor_divide(a[i], b[i], rounded) : truncf(rounded(a[i] / b[i]));
}

#define BINARY_FUNCTION(name, from, to, expression)                                                                    \
    static void name(const void *first, const void *second, void *out, int64_t count, int32_t bits) {                  \
        const from *left = first, *right = second;                                                                     \
        to *target = out;                                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            from a = left[i], b = right[i];                                                                            \
            target[i] = (to)(expression);                                                                              \
        }                                                                                                              \
        (void)bits;                                                                                                    \
    }

#define NAME(function) f32_##function
#define M(function) function##f
#define FLOAT(id, expression) BINARY_FUNCTION(f32_##id, float, float, expression)
#define FLOAT_TEST(id, expression) BINARY_FUNCTION(f32_##id, float, int64_t, expression)
#include "backend/cpu/ref/binary_ops.def"
#undef NAME
#undef M
#undef FLOAT
#undef FLOAT_TEST
#define NAME(function) f64_##function
#define M(function) function
#define FLOAT(id, expression) BINARY_FUNCTION(f64_##id, double, double, expression)
#define FLOAT_TEST(id, expression) BINARY_FUNCTION(f64_##id, double, int64_t, expression)
#include "backend/cpu/ref/binary_ops.def"
#undef NAME
#undef M
#undef FLOAT
#undef FLOAT_TEST
#define INT(id, expression) BINARY_FUNCTION(i64_##id, int64_t, int64_t, expression)
#define INT_TEST(id, expression) BINARY_FUNCTION(i64_##id, int64_t, int64_t, expression)
#include "backend/cpu/ref/binary_ops.def"
#undef INT
#undef INT_TEST

static const binary_fn functions[][OP_COUNT] = {
#define FLOAT(id, expression) [COMPUTE_F32][OP_##id] = f32_##id, [COMPUTE_F64][OP_##id] = f64_##id,
#define FLOAT_TEST(id, expression) FLOAT(id, expression)
#include "backend/cpu/ref/binary_ops.def"
#undef FLOAT
#undef FLOAT_TEST
#define INT(id, expression) [COMPUTE_I64][OP_##id] = i64_##id,
#define INT_TEST(id, expression) INT(id, expression)
#include "backend/cpu/ref/binary_ops.def"
#undef INT
#undef INT_TEST
};

bool ref_binary_can_run(const bound_step_t *step, reason_t *why) {
    op_kind_t op = attr_op(step);
    dtype_t from = step->operands[0].dtype, to = step->results[0].dtype;
    if (op >= OP_COUNT || !functions[compute_of(from)][op])
        return decline(why, "%s is not defined on %s", op < OP_COUNT ? op_name(op) : "?", dtype_name(from));
    if (!fits_i64(from, op, why)) return false;
    if (to != (op_group_of(op) == OPS_COMPARE ? DTYPE_BOOL : from))
        return decline(why, "the result's dtype is %s", dtype_name(to));
    if (step->operand_count == 1)
        return attr_of(step, ATTR_SCALAR) ? require_result_sizes(step, 0, why) : decline(why, "it has no scalar");
    if (step->operands[1].dtype != from) return decline(why, "the operands' dtypes differ");
    return require_result_sizes(step, 0, why) && require_result_sizes(step, 1, why);
}

/* a + number b */
static void scaled_sum(compute_t kind, const tile_t *a, const tile_t *b, const tile_t *number, tile_t *out,
                       int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (kind == COMPUTE_F32) out->f[i] = fmaf(number->f[0], b->f[i], a->f[i]);
        if (kind == COMPUTE_F64) out->d[i] = fma(number->d[0], b->d[i], a->d[i]);
        if (kind == COMPUTE_I64) out->i[i] = (int64_t)((uint64_t)a->i[i] + (uint64_t)number->i[0] * (uint64_t)b->i[i]);
    }
}

/* In f16 and bf16 PyTorch takes the number in f32 for a product or a quotient and rounds it to the dtype for all else. */
static float scalar_of(const bound_step_t *step) {
    float value = (float)attr_real(step, ATTR_SCALAR, 0);
    op_kind_t op = attr_op(step);
    dtype_t type = step->operands[0].dtype;
    if (op == OP_MUL || op == OP_DIV) return value;
    if (type == DTYPE_F16) return round_half(value);
    return type == DTYPE_BF16 ? round_bfloat(value) : value;
}

/* An integer is cut to the operand's width. */
static int64_t integer_of(const bound_step_t *step) {
    char element[8];
    element_store_int(step->operands[0].dtype, element, attr_int(step, ATTR_SCALAR, 0));
    return element_int(step->operands[0].dtype, element);
}

static void fill_scalar(const bound_step_t *step, compute_t kind, tile_t *out) {
    for (int64_t i = 0; i < TILE; i++) {
        if (kind == COMPUTE_F32) out->f[i] = scalar_of(step);
        if (kind == COMPUTE_F64) out->d[i] = attr_real(step, ATTR_SCALAR, 0);
        if (kind == COMPUTE_I64) out->i[i] = integer_of(step);
    }
}

typedef struct binary {
    op_kind_t op;
    dtype_t type;
    compute_t kind;
    int32_t bits;
    bool scales;
} binary_t;

static binary_t binary_of(const bound_step_t *step) {
    dtype_t type = step->operands[0].dtype;
    binary_t binary = {attr_op(step), type, compute_of(type), (int32_t)dtype_size(type) * 8,
                       step->operand_count == 2 && attr_of(step, ATTR_SCALAR)};
    if (dtype_kind_of(type) == KIND_SIGNED) binary.bits = -binary.bits;
    return binary;
}

static void compute_tile(const binary_t *binary, const tile_t in[3], tile_t *out, int64_t count) {
    bool cuts = binary->op == OP_DIV_FLOOR || binary->op == OP_DIV_TRUNC;
    if (binary->scales)
        scaled_sum(binary->kind, &in[0], &in[1], &in[2], out, count);
    else if (cuts && (binary->type == DTYPE_F16 || binary->type == DTYPE_BF16))
        short_divide(binary->op, binary->type, in[0].f, in[1].f, out->f, count);
    else
        functions[binary->kind][binary->op](&in[0], &in[1], out, count, binary->bits);
}

void ref_binary(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *to = &step->results[0];
    binary_t binary = binary_of(step);
    compute_t result_kind = op_group_of(binary.op) == OPS_COMPARE ? COMPUTE_I64 : binary.kind;
    walk_t walk;
    walk_init(&walk, to->rank, to->sizes);
    walk_add_operand(&walk, call, to);
    for (uint32_t i = 0; i < step->operand_count; i++) walk_add_operand(&walk, call, &step->operands[i]);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    tile_t in[3], out;
    uint32_t first = step->operand_count == 1 && attr_int(step, ATTR_SCALAR_FIRST, 0) ? 1 : 0;
    if (attr_of(step, ATTR_SCALAR)) fill_scalar(step, binary.kind, &in[binary.scales ? 2 : 1 - first]);
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t done = 0; done < walk.run; done += TILE) {
            int64_t count = walk.run - done < TILE ? walk.run - done : TILE;
            for (uint32_t i = 0; i < step->operand_count; i++)
                tile_load(binary.type, walk.data[i + 1] + done * walk.step[i + 1], walk.step[i + 1], count,
                          &in[i ^ first]);
            compute_tile(&binary, in, &out, count);
            tile_store(to->dtype, walk.data[0] + done * walk.step[0], walk.step[0], count, result_kind, &out);
        }
    } while (walk_next(&walk));
}
