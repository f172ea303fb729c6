/* Functions with a logarithm or an angle in them, which are defined by hand where the formula is not: logit, xlogy, logaddexp; sinc,
 * deg2rad, rad2deg. */
#include "convert/convert_int.h"

#include <math.h>

/* log(x / (1 - x)), x kept between eps and 1 - eps if that is given; in f16 and bf16 PyTorch rounds each step */
insitu_status convert_logit(converter_t *c) {
    tensor_id_t x, rest, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    if (has_arg(c, "eps")) {
        sym_t low, high;
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

/* Both operands as tensors of their float dtype, of the common sizes and wide. */
static insitu_status take_two_floats(converter_t *c, tensor_id_t *out_a, tensor_id_t *out_b, dtype_t *out_type) {
    operand_t both[2];
    shape_t shape = {0};
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

/* 0 where a is 0 and b is not NaN */
insitu_status emit_xlogy(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    tensor_id_t zero, defined;
    TRY(emit_scalar_float(c, OP_EQ, a, 0, false, &zero));
    TRY(emit_binary(c, OP_EQ, b, b, &defined));
    TRY(emit_binary(c, OP_LOGICAL_AND, zero, defined, &zero));
    TRY(emit_unary(c, OP_LOG, b, out));
    TRY(emit_binary(c, OP_MUL, a, *out, out));
    return emit_number_where(c, zero, sym_float(c->pool, 0), *out, out);
}

insitu_status convert_xlogy(converter_t *c) {
    tensor_id_t a, b, result;
    dtype_t type;
    TRY(take_two_floats(c, &a, &b, &type));
    TRY(emit_xlogy(c, a, b, &result));
    return finish_wide(c, result, type);
}

/* max(a, b) + log1p(exp(-|a - b|)), a itself where both are one infinity */
insitu_status convert_logaddexp(converter_t *c) {
    tensor_id_t a, b, same, endless, peak, result;
    dtype_t type;
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

/* sin(pi x) / (pi x), 1 at 0 */
insitu_status convert_sinc(converter_t *c) {
    tensor_id_t x, angle, zero, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    dtype_t type = dtype_of(c, x);
    TRY(emit_wide(c, x, &x));
    TRY(emit_scalar_float(c, OP_MUL, x, 3.14159265358979323846, false, &angle));
    TRY(emit_unary(c, OP_SIN, angle, &result));
    TRY(emit_binary(c, OP_DIV, result, angle, &result));
    TRY(emit_scalar_float(c, OP_EQ, x, 0, false, &zero));
    TRY(emit_number_where(c, zero, sym_float(c->pool, 1), result, &result));
    return finish_wide(c, result, type);
}

/* deg2rad (param 0), rad2deg (param 1) */
insitu_status convert_degrees(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    TRY(emit_scalar_float(c, OP_MUL, x, c->param ? 57.295779513082320876798 : 0.017453292519943295769, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
