/* Signs, infinities and NaN: signbit, copysign, isposinf, nan_to_num, heaviside, angle. */
#include "convert/convert_int.h"

#include <float.h>
#include <math.h>

/* True where the sign bit is set: of -0 and of NaN too. */
static insitu_status emit_sign_bit(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    dtype_t type = dtype_of(c, x);
    *out = x;
    if (dtype_is_float(type)) {
        layer_draft_t bits = draft_of(LAYER_BITCAST);
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

insitu_status convert_signbit(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_sign_bit(c, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* |self| with the sign of other */
insitu_status convert_copysign(converter_t *c) {
    operand_t both[2];
    dtype_t type;
    tensor_id_t size, sign, negative, result;
    shape_t shape;
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
insitu_status convert_one_infinity(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    if (dtype_is_integral(dtype_of(c, x))) {
        TRY(emit_fill(c, DTYPE_BOOL, &tensor_of(c, x)->shape, sym_bool(c->pool, false), &result));
    } else {
        TRY(emit_scalar_float(c, OP_EQ, x, c->param ? -(double)INFINITY : (double)INFINITY, false, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

static double largest_of(dtype_t type) {
    if (type == DTYPE_F64) return DBL_MAX;
    return type == DTYPE_F16 ? 65504.0 : type == DTYPE_BF16 ? ldexp(255.0, 120) : (double)FLT_MAX;
}

/* NaN to a number, 0 unless given; infinities to numbers, the largest of the dtype unless given */
insitu_status convert_nan_to_num(converter_t *c) {
    tensor_id_t x, place, result;
    sym_t nan, high, low;
    TRY(take_tensor(c, "self", &x));
    dtype_t type = dtype_of(c, x);
    if (dtype_is_integral(type)) return convert_clone(c);
    TRY(take_real(c, "nan", 0, &nan));
    TRY(take_real(c, "posinf", largest_of(type), &high));
    TRY(take_real(c, "neginf", -largest_of(type), &low));
    TRY(emit_unary(c, OP_ISNAN, x, &place));
    TRY(emit_number_where(c, place, nan, x, &result));
    TRY(emit_scalar_float(c, OP_EQ, x, (double)INFINITY, false, &place));
    TRY(emit_number_where(c, place, high, result, &result));
    TRY(emit_scalar_float(c, OP_EQ, x, -(double)INFINITY, false, &place));
    TRY(emit_number_where(c, place, low, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* 0 below zero, 1 above it, values at it */
insitu_status convert_heaviside(converter_t *c) {
    tensor_id_t x, values, above, zero, result;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "values", &values));
    if (dtype_of(c, x) != dtype_of(c, values)) return convert_unsupported(c, "operands of two dtypes");
    sym_t none = sym_int(c->pool, 0);
    dtype_t type = dtype_of(c, x);
    if (type == DTYPE_BOOL) TRY(emit_cast(c, x, DTYPE_U8, &x));
    TRY(emit_scalar(c, OP_GT, x, none, false, &above));
    TRY(emit_scalar(c, OP_EQ, x, none, false, &zero));
    TRY(emit_cast(c, above, type, &above));
    TRY(emit_where(c, zero, values, above, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Of real numbers: pi below zero, else 0; of NaN NaN */
insitu_status convert_angle(converter_t *c) {
    tensor_id_t x, place, zero, result;
    TRY(take_tensor(c, "self", &x));
    if (dtype_is_complex(dtype_of(c, x))) {
        tensor_id_t parts[2];
        TRY(emit_to_parts(c, x, parts));
        TRY(emit_binary(c, OP_ATAN2, parts[1], parts[0], &result));
        set_only_result(c, result);
        return INSITU_OK;
    }
    TRY(emit_float(c, x, &x));
    TRY(emit_scalar_float(c, OP_LT, x, 0, false, &place));
    TRY(emit_number(c, dtype_of(c, x), &tensor_of(c, x)->shape, sym_int(c->pool, 0), &zero));
    TRY(emit_number_where(c, place, sym_float(c->pool, 3.14159265358979323846), zero, &result));
    TRY(emit_unary(c, OP_ISNAN, x, &place));
    TRY(emit_where(c, place, x, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
