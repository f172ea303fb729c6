/* Arithmetic of complex numbers, which layers do with their parts: what emit_unary, emit_binary and their kin give where a dtype
 * is complex. A product is (a c - b d, a d + b c); the functions are those of ISO C11, annex G, away from its special cases. */
#include "convert/convert_int.h"

static insitu_status refuse(converter_t *c, op_kind_t op, dtype_t type) {
    return convert_unsupported(c, "%s in %s", op_name(op), dtype_name(type));
}

/* The parts as floats that are computed with: of c32 those of c64. */
static insitu_status take_apart(converter_t *c, tensor_id_t x, tensor_id_t out[2]) {
    TRY(emit_cast(c, x, wide_dtype(dtype_of(c, x)), &x));
    return emit_to_parts(c, x, out);
}

static insitu_status put_together(converter_t *c, const tensor_id_t parts[2], dtype_t type, tensor_id_t *out) {
    TRY(emit_from_parts(c, parts, out));
    return emit_cast(c, *out, type, out);
}

insitu_status emit_complex_number(converter_t *c, double real, double imaginary, tensor_id_t *out) {
    const double numbers[2] = {real, imaginary};
    tensor_id_t parts[2];
    for (uint32_t i = 0; i < 2; i++)
        TRY(emit_fill(c, DTYPE_F64, &(shape_t){0}, sym_float(c->pool, numbers[i]), &parts[i]));
    return emit_from_parts(c, parts, out);
}

/* (length cos(angle), length sin(angle)) */
static insitu_status emit_polar(converter_t *c, tensor_id_t length, tensor_id_t angle, tensor_id_t out[2]) {
    const op_kind_t ops[2] = {OP_COS, OP_SIN};
    for (uint32_t i = 0; i < 2; i++) {
        tensor_id_t direction;
        TRY(emit_unary(c, ops[i], angle, &direction));
        TRY(emit_binary(c, OP_MUL, length, direction, &out[i]));
    }
    return INSITU_OK;
}

insitu_status convert_polar(converter_t *c) {
    tensor_id_t length, angle, parts[2], result;
    TRY(take_tensor(c, "abs", &length));
    TRY(take_tensor(c, "angle", &angle));
    TRY(emit_polar(c, length, angle, parts));
    TRY(emit_from_parts(c, parts, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* a cosh(b) of the real part, c sinh(b) of the imaginary one, where a and c are functions of the real part */
static insitu_status emit_wave(converter_t *c, const op_kind_t of_real[2], const tensor_id_t x[2], tensor_id_t out[2]) {
    const op_kind_t of_imaginary[2] = {OP_COSH, OP_SINH};
    for (uint32_t i = 0; i < 2; i++) {
        tensor_id_t factors[2];
        TRY(emit_unary(c, of_real[i], x[0], &factors[0]));
        TRY(emit_unary(c, of_imaginary[i], x[1], &factors[1]));
        TRY(emit_binary(c, OP_MUL, factors[0], factors[1], &out[i]));
    }
    return INSITU_OK;
}

static insitu_status emit_sine(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]) {
    return emit_wave(c, (const op_kind_t[]){OP_SIN, OP_COS}, x, out);
}

static insitu_status emit_cosine(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]) {
    TRY(emit_wave(c, (const op_kind_t[]){OP_COS, OP_SIN}, x, out));
    return emit_unary(c, OP_NEG, out[1], &out[1]);
}

/* The root in the right half plane: with t = sqrt((|a| + |x|) / 2), (t, b / 2t) where a >= 0, else (|b| / 2t, t with b's sign). */
static insitu_status emit_root(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]) {
    tensor_id_t length, root, low, is_zero, is_right, is_below, other[2], negative;
    TRY(emit_hypot(c, x[0], x[1], &length));
    TRY(emit_unary(c, OP_ABS, x[0], &root));
    TRY(emit_scalar_float(c, OP_MUL, root, 0.5, false, &root));
    TRY(emit_scalar_float(c, OP_MUL, length, 0.5, false, &length));
    TRY(emit_binary(c, OP_ADD, root, length, &root));
    TRY(emit_unary(c, OP_SQRT, root, &root));
    TRY(emit_scalar_float(c, OP_MUL, root, 2, false, &low));
    TRY(emit_binary(c, OP_DIV, x[1], low, &low));
    TRY(emit_scalar_float(c, OP_EQ, root, 0, false, &is_zero));
    TRY(emit_where(c, is_zero, x[1], low, &low));
    TRY(emit_unary(c, OP_ABS, low, &other[0]));
    TRY(emit_scalar_float(c, OP_LT, x[1], 0, false, &is_below));
    TRY(emit_unary(c, OP_NEG, root, &negative));
    TRY(emit_where(c, is_below, negative, root, &other[1]));
    TRY(emit_scalar_float(c, OP_GE, x[0], 0, false, &is_right));
    TRY(emit_where(c, is_right, root, other[0], &out[0]));
    return emit_where(c, is_right, low, other[1], &out[1]);
}

/* x / |x|, and 0 of 0 */
static insitu_status emit_direction(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]) {
    tensor_id_t length, is_zero;
    TRY(emit_hypot(c, x[0], x[1], &length));
    TRY(emit_scalar_float(c, OP_EQ, length, 0, false, &is_zero));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_binary(c, OP_DIV, x[i], length, &out[i]));
        TRY(emit_where(c, is_zero, x[i], out[i], &out[i]));
    }
    return INSITU_OK;
}

static insitu_status emit_negative(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]) {
    TRY(emit_unary(c, OP_NEG, x[0], &out[0]));
    return emit_unary(c, OP_NEG, x[1], &out[1]);
}

static insitu_status emit_exponential(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]) {
    tensor_id_t length;
    TRY(emit_unary(c, OP_EXP, x[0], &length));
    return emit_polar(c, length, x[1], out);
}

static insitu_status emit_logarithm(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]) {
    tensor_id_t length;
    TRY(emit_hypot(c, x[0], x[1], &length));
    TRY(emit_unary(c, OP_LOG, length, &out[0]));
    return emit_binary(c, OP_ATAN2, x[1], x[0], &out[1]);
}

/* Those whose result is complex. */
static const struct {
    op_kind_t op;
    insitu_status (*emit)(converter_t *c, const tensor_id_t x[2], tensor_id_t out[2]);
} functions[] = {
    {OP_NEG, emit_negative}, {OP_EXP, emit_exponential}, {OP_LOG, emit_logarithm},  {OP_SIN, emit_sine},
    {OP_COS, emit_cosine},   {OP_SQRT, emit_root},       {OP_SIGN, emit_direction},
};

/* Those whose result is bool, by the answers for both parts. */
static bool joins_answers(op_kind_t op, op_kind_t *out_join) {
    bool is_any = op == OP_ISNAN || op == OP_ISINF || op == OP_NE;
    bool is_all = op == OP_ISFINITE || op == OP_LOGICAL_NOT || op == OP_EQ;
    *out_join = is_any ? OP_LOGICAL_OR : OP_LOGICAL_AND;
    return is_any || is_all;
}

/* 1 / x, 1 / sqrt(x), 1 / (1 + exp(-x)) */
static insitu_status emit_composed(converter_t *c, op_kind_t op, tensor_id_t x, tensor_id_t *out) {
    if (op == OP_RSQRT) {
        TRY(emit_unary(c, OP_SQRT, x, &x));
    } else if (op == OP_SIGMOID) {
        TRY(emit_unary(c, OP_NEG, x, &x));
        TRY(emit_unary(c, OP_EXP, x, &x));
        TRY(emit_scalar(c, OP_ADD, x, sym_int(c->pool, 1), false, &x));
    }
    return emit_complex_scalar(c, OP_DIV, x, sym_int(c->pool, 1), true, out);
}

insitu_status emit_complex_unary(converter_t *c, op_kind_t op, tensor_id_t x, tensor_id_t *out) {
    dtype_t type = dtype_of(c, x);
    tensor_id_t parts[2], results[2];
    op_kind_t join;
    if (op == OP_RECIPROCAL || op == OP_RSQRT || op == OP_SIGMOID) return emit_composed(c, op, x, out);
    TRY(take_apart(c, x, parts));
    if (op == OP_ABS) {
        TRY(emit_hypot(c, parts[0], parts[1], out));
        return emit_cast(c, *out, part_of(type), out);
    }
    if (joins_answers(op, &join)) {
        for (uint32_t i = 0; i < 2; i++) TRY(emit_unary(c, op, parts[i], &results[i]));
        return emit_binary(c, join, results[0], results[1], out);
    }
    for (uint32_t i = 0; i < COUNT_OF(functions); i++) {
        if (functions[i].op != op) continue;
        TRY(functions[i].emit(c, parts, results));
        return put_together(c, results, type, out);
    }
    return refuse(c, op, type);
}

/* x0 y0 + sign x1 y1 */
static insitu_status emit_product_pair(converter_t *c, const tensor_id_t x[2], tensor_id_t y0, tensor_id_t y1,
                                       op_kind_t join, tensor_id_t *out) {
    tensor_id_t products[2];
    TRY(emit_binary(c, OP_MUL, x[0], y0, &products[0]));
    TRY(emit_binary(c, OP_MUL, x[1], y1, &products[1]));
    return emit_binary(c, join, products[0], products[1], out);
}

/* x / y = x conj(y) / |y|^2, both divided by the larger part of y first; by 0 the quotients of the parts. As PyTorch does it. */
static insitu_status emit_quotient(converter_t *c, const tensor_id_t x[2], const tensor_id_t y[2], tensor_id_t out[2]) {
    tensor_id_t largest, other, is_zero, scale, a[2], b[2], square;
    TRY(emit_unary(c, OP_ABS, y[0], &largest));
    TRY(emit_unary(c, OP_ABS, y[1], &other));
    TRY(emit_binary(c, OP_MAXIMUM, largest, other, &largest));
    TRY(emit_scalar_float(c, OP_EQ, largest, 0, false, &is_zero));
    TRY(emit_scalar_float(c, OP_DIV, largest, 1, true, &scale));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_binary(c, OP_MUL, x[i], scale, &a[i]));
        TRY(emit_binary(c, OP_MUL, y[i], scale, &b[i]));
    }
    TRY(emit_product_pair(c, b, b[0], b[1], OP_ADD, &square));
    TRY(emit_product_pair(c, a, b[0], b[1], OP_ADD, &out[0]));
    const tensor_id_t turned[2] = {a[1], a[0]};
    TRY(emit_product_pair(c, turned, b[0], b[1], OP_SUB, &out[1]));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_binary(c, OP_DIV, out[i], square, &out[i]));
        TRY(emit_binary(c, OP_DIV, x[i], largest, &other));
        TRY(emit_where(c, is_zero, other, out[i], &out[i]));
    }
    return INSITU_OK;
}

/* The parts of a power whose angle is not finite, as that of 0 is: a length of 0 or infinity is the real part, the rest is NaN
 * but 0 where the length is. */
static insitu_status emit_lost_angle(converter_t *c, tensor_id_t length, tensor_id_t angle, tensor_id_t out[2]) {
    tensor_id_t is_zero, is_endless, nan;
    TRY(emit_binary(c, OP_SUB, angle, angle, &nan));
    TRY(emit_scalar_float(c, OP_EQ, length, 0, false, &is_zero));
    TRY(emit_unary(c, OP_ISINF, length, &is_endless));
    TRY(emit_where(c, is_zero, length, nan, &out[1]));
    return emit_where(c, is_endless, length, out[1], &out[0]);
}

/* x^y = exp(y log x) */
static insitu_status emit_power(converter_t *c, tensor_id_t x, tensor_id_t y, tensor_id_t *out) {
    tensor_id_t product, exponent[2], length, is_finite, parts[2], lost[2];
    dtype_t type = dtype_of(c, x);
    TRY(emit_cast(c, x, wide_dtype(type), &x));
    TRY(emit_cast(c, y, wide_dtype(type), &y));
    TRY(emit_unary(c, OP_LOG, x, &product));
    TRY(emit_binary(c, OP_MUL, y, product, &product));
    TRY(take_apart(c, product, exponent));
    TRY(emit_unary(c, OP_EXP, exponent[0], &length));
    TRY(emit_polar(c, length, exponent[1], parts));
    TRY(emit_lost_angle(c, length, exponent[1], lost));
    TRY(emit_unary(c, OP_ISFINITE, exponent[1], &is_finite));
    for (uint32_t i = 0; i < 2; i++) TRY(emit_where(c, is_finite, parts[i], lost[i], &parts[i]));
    return put_together(c, parts, type, out);
}

insitu_status emit_complex_binary(converter_t *c, op_kind_t op, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    dtype_t type = dtype_of(c, a);
    tensor_id_t x[2], y[2], results[2];
    op_kind_t join;
    if (op == OP_POW) return emit_power(c, a, b, out);
    TRY(take_apart(c, a, x));
    TRY(take_apart(c, b, y));
    if (joins_answers(op, &join) || op == OP_ADD || op == OP_SUB) {
        for (uint32_t i = 0; i < 2; i++) TRY(emit_binary(c, op, x[i], y[i], &results[i]));
        if (op == OP_EQ || op == OP_NE) return emit_binary(c, join, results[0], results[1], out);
    } else if (op == OP_MUL) {
        TRY(emit_product_pair(c, x, y[0], y[1], OP_SUB, &results[0]));
        TRY(emit_product_pair(c, x, y[1], y[0], OP_ADD, &results[1]));
    } else if (op == OP_DIV) {
        TRY(emit_quotient(c, x, y, results));
    } else if (op == OP_LOGICAL_AND || op == OP_LOGICAL_OR || op == OP_LOGICAL_XOR) {
        TRY(emit_cast(c, a, DTYPE_BOOL, &a));
        TRY(emit_cast(c, b, DTYPE_BOOL, &b));
        return emit_binary(c, op, a, b, out);
    } else {
        return refuse(c, op, type);
    }
    return put_together(c, results, type, out);
}

/* A whole power of a few factors, as PyTorch multiplies them. */
static bool is_product(const converter_t *c, op_kind_t op, sym_t number, bool first, int64_t *out_factors) {
    double power;
    *out_factors = 0;
    if (op != OP_POW || first || !sym_constant_float(c->pool, number, &power) || !(power == 2 || power == 3))
        return false;
    *out_factors = (int64_t)power;
    return true;
}

insitu_status emit_complex_scalar(converter_t *c, op_kind_t op, tensor_id_t x, sym_t number, bool first,
                                  tensor_id_t *out) {
    dtype_t type = dtype_of(c, x);
    tensor_id_t value = x;
    int64_t factors;
    number = plain_number(c, number, type);
    if (is_product(c, op, number, first, &factors)) {
        TRY(emit_complex_binary(c, OP_MUL, x, x, &value));
        if (factors == 3) TRY(emit_complex_binary(c, OP_MUL, value, x, &value));
        *out = value;
        return INSITU_OK;
    }
    if (op == OP_MUL || (op == OP_DIV && !first)) { /* of both parts */
        tensor_id_t pairs;
        TRY(emit_cast(c, x, wide_dtype(type), &x));
        TRY(emit_to_real_pairs(c, x, &pairs));
        TRY(emit_scalar(c, op, pairs, number, false, &pairs));
        TRY(emit_from_real_pairs(c, pairs, out));
        return emit_cast(c, *out, type, out);
    }
    TRY(emit_fill(c, type, &(shape_t){0}, number, &value));
    return first ? emit_complex_binary(c, op, value, x, out) : emit_complex_binary(c, op, x, value, out);
}

insitu_status emit_complex_reduce(converter_t *c, op_kind_t op, tensor_id_t x, uint32_t axes, bool keepdim,
                                  tensor_id_t *out) {
    dtype_t type = dtype_of(c, x);
    if (op == OP_ANY || op == OP_ALL) {
        TRY(emit_cast(c, x, DTYPE_BOOL, &x));
        return emit_reduce(c, op, x, axes, keepdim, out);
    }
    if (op != OP_SUM && op != OP_MEAN) return refuse(c, op, type);
    TRY(emit_to_real_pairs(c, x, out));
    TRY(emit_reduce(c, op, *out, axes, keepdim, out));
    return emit_from_real_pairs(c, *out, out);
}

insitu_status emit_complex_matmul(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t bias, tensor_id_t *out) {
    dtype_t type = dtype_of(c, a);
    tensor_id_t x[2], y[2], products[4], results[2];
    TRY(take_apart(c, a, x));
    TRY(take_apart(c, b, y));
    for (uint32_t i = 0; i < 4; i++) TRY(emit_matmul(c, x[i / 2], y[i % 2], NO_TENSOR, &products[i]));
    TRY(emit_binary(c, OP_SUB, products[0], products[3], &results[0]));
    TRY(emit_binary(c, OP_ADD, products[1], products[2], &results[1]));
    TRY(put_together(c, results, type, out));
    return bias.index == NONE ? INSITU_OK : emit_binary(c, OP_ADD, *out, bias, out);
}
