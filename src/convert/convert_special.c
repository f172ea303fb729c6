/* Functions of one or two numbers that are a few elementwise layers: signs, replacements of NaN, shrinking, logarithms. */
#include "convert/convert_int.h"

#include <float.h>
#include <math.h>

/* condition ? number : other */
static insitu_status number_where(converter *c, tensor_id condition, sym number, tensor_id other, tensor_id *out) {
    tensor_id value;
    TRY(emit_number(c, dtype_of(c, other), &tensor_of(c, condition)->shape, number, &value));
    return emit_where(c, condition, value, other, out);
}

/* True where the sign bit is set: of -0 and of NaN too. */
static insitu_status emit_sign_bit(converter *c, tensor_id x, tensor_id *out) {
    dtype type = dtype_of(c, x);
    *out = x;
    if (dtype_is_float(type)) {
        layer_draft bits = draft_of(LAYER_BITCAST);
        uint32_t size = dtype_size(type);
        draft_dtype(&bits, size == 2 ? DTYPE_I16 : size == 4 ? DTYPE_I32 : DTYPE_I64);
        if (rank_of(c, x) == 0) {
            TRY(emit_unsqueeze(c, x, 0, out));
            TRY(emit_on(c, &bits, *out, out));
            TRY(emit_squeeze(c, *out, 0, out));
        } else {
            TRY(emit_on(c, &bits, x, out));
        }
    }
    if (type == DTYPE_BOOL) TRY(emit_cast(c, *out, DTYPE_U8, out));
    return emit_scalar(c, OP_LT, *out, sym_int(c->pool, 0), false, out);
}

insitu_status convert_signbit(converter *c) {
    tensor_id x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_sign_bit(c, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* |self| with the sign of other */
insitu_status convert_copysign(converter *c) {
    operand both[2];
    dtype type;
    tensor_id size, sign, negative, result;
    shape shape;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    if (dtype_is_integral(type)) type = DTYPE_F32;
    shape = tensor_of(c, both[0].tensor)->shape;
    if (!both[1].is_number) TRY(broadcast_shapes(c, &shape, &tensor_of(c, both[1].tensor)->shape, &shape));
    TRY(emit_operand(c, both[0], type, &shape, &size));
    TRY(emit_operand(c, both[1], type, &shape, &sign));
    TRY(emit_sign_bit(c, sign, &sign));
    TRY(emit_unary(c, OP_ABS, size, &size));
    TRY(emit_unary(c, OP_NEG, size, &negative));
    TRY(emit_where(c, sign, negative, size, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* isposinf (param 0), isneginf (param 1) */
insitu_status convert_one_infinity(converter *c) {
    tensor_id x, result;
    TRY(take_tensor(c, "self", &x));
    if (dtype_is_integral(dtype_of(c, x))) {
        TRY(emit_fill(c, DTYPE_BOOL, &tensor_of(c, x)->shape, sym_bool(c->pool, false), &result));
    } else {
        TRY(emit_scalar_float(c, OP_EQ, x, c->param ? -(double)INFINITY : (double)INFINITY, false, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

static double largest_of(dtype type) {
    if (type == DTYPE_F64) return DBL_MAX;
    return type == DTYPE_F16 ? 65504.0 : type == DTYPE_BF16 ? ldexp(255.0, 120) : (double)FLT_MAX;
}

/* NaN to a number, 0 unless given; infinities to numbers, the largest of the dtype unless given */
insitu_status convert_nan_to_num(converter *c) {
    tensor_id x, place, result;
    sym nan, high, low;
    TRY(take_tensor(c, "self", &x));
    dtype type = dtype_of(c, x);
    if (dtype_is_integral(type)) return convert_clone(c);
    TRY(take_real(c, "nan", 0, &nan));
    TRY(take_real(c, "posinf", largest_of(type), &high));
    TRY(take_real(c, "neginf", -largest_of(type), &low));
    TRY(emit_unary(c, OP_ISNAN, x, &place));
    TRY(number_where(c, place, nan, x, &result));
    TRY(emit_scalar_float(c, OP_EQ, x, (double)INFINITY, false, &place));
    TRY(number_where(c, place, high, result, &result));
    TRY(emit_scalar_float(c, OP_EQ, x, -(double)INFINITY, false, &place));
    TRY(number_where(c, place, low, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* deg2rad (param 0), rad2deg (param 1) */
insitu_status convert_degrees(converter *c) {
    tensor_id x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    TRY(emit_scalar_float(c, OP_MUL, x, c->param ? 57.295779513082320876798 : 0.017453292519943295769, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* -lambda <= x <= lambda ? 0 : x */
insitu_status convert_hardshrink(converter *c) {
    tensor_id x, low, high, result;
    sym bound;
    TRY(take_tensor(c, "self", &x));
    TRY(take_real(c, has_arg(c, "lambd") ? "lambd" : "lambda", 0.5, &bound));
    TRY(emit_scalar(c, OP_GE, x, negative_of(c, bound), false, &low));
    TRY(emit_scalar(c, OP_LE, x, bound, false, &high));
    TRY(emit_binary(c, OP_LOGICAL_AND, low, high, &low));
    TRY(number_where(c, low, sym_float(c->pool, 0), x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* x > lambda ? x - lambda : x < -lambda ? x + lambda : x 0 */
insitu_status convert_softshrink(converter *c) {
    tensor_id x, above, below, lowered, raised, result;
    sym bound;
    TRY(take_tensor(c, "self", &x));
    dtype type = dtype_of(c, x);
    TRY(take_real(c, has_arg(c, "lambd") ? "lambd" : "lambda", 0.5, &bound));
    TRY(emit_wide(c, x, &x));
    TRY(emit_scalar(c, OP_GT, x, bound, false, &above));
    TRY(emit_scalar(c, OP_LT, x, negative_of(c, bound), false, &below));
    TRY(emit_scalar(c, OP_SUB, x, bound, false, &lowered));
    TRY(emit_scalar(c, OP_ADD, x, bound, false, &raised));
    TRY(emit_binary(c, OP_SUB, x, x, &result)); /* 0, or NaN */
    TRY(emit_where(c, below, raised, result, &result));
    TRY(emit_where(c, above, lowered, result, &result));
    return finish_wide(c, result, type);
}

/* log(x / (1 - x)), x kept between eps and 1 - eps if that is given; in f16 and bf16 PyTorch rounds each step */
insitu_status convert_logit(converter *c) {
    tensor_id x, rest, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    if (has_arg(c, "eps")) {
        sym low, high;
        TRY(take_real(c, "eps", 0, &low));
        high = sym_sub(c->pool, sym_float(c->pool, 1), low);
        TRY(emit_clamp(c, x, &low, &high, &x));
    }
    TRY(emit_scalar_float(c, OP_SUB, x, 1, true, &rest));
    TRY(emit_binary(c, OP_DIV, x, rest, &result));
    TRY(emit_unary(c, OP_LOG, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* sin(pi x) / (pi x), 1 at 0 */
insitu_status convert_sinc(converter *c) {
    tensor_id x, angle, zero, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    dtype type = dtype_of(c, x);
    TRY(emit_wide(c, x, &x));
    TRY(emit_scalar_float(c, OP_MUL, x, 3.14159265358979323846, false, &angle));
    TRY(emit_unary(c, OP_SIN, angle, &result));
    TRY(emit_binary(c, OP_DIV, result, angle, &result));
    TRY(emit_scalar_float(c, OP_EQ, x, 0, false, &zero));
    TRY(number_where(c, zero, sym_float(c->pool, 1), result, &result));
    return finish_wide(c, result, type);
}

/* Both operands as tensors of their float dtype, of the common sizes and wide. */
static insitu_status take_two_floats(converter *c, tensor_id *out_a, tensor_id *out_b, dtype *out_type) {
    operand both[2];
    shape shape = {0};
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, out_type));
    if (dtype_is_integral(*out_type)) *out_type = DTYPE_F32;
    for (uint32_t i = 0; i < 2; i++) {
        if (!both[i].is_number) TRY(broadcast_shapes(c, &shape, &tensor_of(c, both[i].tensor)->shape, &shape));
    }
    TRY(emit_operand(c, both[0], *out_type, &shape, out_a));
    TRY(emit_operand(c, both[1], *out_type, &shape, out_b));
    TRY(emit_wide(c, *out_a, out_a));
    return emit_wide(c, *out_b, out_b);
}

/* a log(b), 0 where a is 0 and b is not NaN */
insitu_status convert_xlogy(converter *c) {
    tensor_id a, b, zero, defined, result;
    dtype type;
    TRY(take_two_floats(c, &a, &b, &type));
    TRY(emit_unary(c, OP_LOG, b, &result));
    TRY(emit_binary(c, OP_MUL, a, result, &result));
    TRY(emit_scalar_float(c, OP_EQ, a, 0, false, &zero));
    TRY(emit_binary(c, OP_EQ, b, b, &defined));
    TRY(emit_binary(c, OP_LOGICAL_AND, zero, defined, &zero));
    TRY(number_where(c, zero, sym_float(c->pool, 0), result, &result));
    return finish_wide(c, result, type);
}

/* max(a, b) + log1p(exp(-|a - b|)), a itself where both are one infinity */
insitu_status convert_logaddexp(converter *c) {
    tensor_id a, b, same, endless, peak, result;
    dtype type;
    TRY(take_two_floats(c, &a, &b, &type));
    TRY(emit_unary(c, OP_ISINF, a, &endless));
    TRY(emit_binary(c, OP_EQ, a, b, &same));
    TRY(emit_binary(c, OP_LOGICAL_AND, endless, same, &same));
    TRY(emit_binary(c, OP_MAXIMUM, a, b, &peak));
    TRY(emit_binary(c, OP_SUB, a, b, &result));
    TRY(emit_unary(c, OP_ABS, result, &result));
    TRY(emit_unary(c, OP_NEG, result, &result));
    TRY(emit_unary(c, OP_EXP, result, &result));
    TRY(emit_unary(c, OP_LOG1P, result, &result));
    TRY(emit_binary(c, OP_ADD, peak, result, &result));
    TRY(emit_where(c, same, a, result, &result));
    return finish_wide(c, result, type);
}

/* 0 below zero, 1 above it, values at it */
insitu_status convert_heaviside(converter *c) {
    tensor_id x, values, above, zero, result;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "values", &values));
    if (dtype_of(c, x) != dtype_of(c, values)) return convert_unsupported(c, "operands of two dtypes");
    sym none = sym_int(c->pool, 0);
    dtype type = dtype_of(c, x);
    if (type == DTYPE_BOOL) TRY(emit_cast(c, x, DTYPE_U8, &x));
    TRY(emit_scalar(c, OP_GT, x, none, false, &above));
    TRY(emit_scalar(c, OP_EQ, x, none, false, &zero));
    TRY(emit_cast(c, above, type, &above));
    TRY(emit_where(c, zero, values, above, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
