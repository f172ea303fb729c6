/* Activations, as one unary operator where the table has it, else as a few elementwise layers in PyTorch's order. */
#include "convert/convert_int.h"

insitu_status convert_gelu(converter_t *c) {
    return finish_unary(c, strcmp(take_string(c, "approximate"), "tanh") == 0 ? OP_GELU_TANH : OP_GELU);
}

/* x > bound ? x : other */
static insitu_status emit_above(converter_t *c, tensor_id_t x, double bound, tensor_id_t other, tensor_id_t *out) {
    tensor_id_t above;
    TRY(emit_scalar_float(c, OP_GT, x, bound, false, &above));
    return emit_where(c, above, x, other, out);
}

insitu_status convert_leaky_relu(converter_t *c) {
    tensor_id_t x, scaled, result;
    sym_t slope;
    TRY(take_tensor(c, "self", &x));
    TRY(take_real(c, "negative_slope", 0.01, &slope));
    TRY(emit_scalar(c, OP_MUL, x, slope, false, &scaled));
    TRY(emit_above(c, x, 0, scaled, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

static insitu_status emit_scaled(converter_t *c, tensor_id_t x, sym_t factor, tensor_id_t *out) {
    double known;
    *out = x;
    if (sym_constant_float(c->pool, factor, &known) && known == 1) return INSITU_OK;
    return emit_scalar(c, OP_MUL, x, factor, false, out);
}

/* x > 0 ? x scale : expm1(x input_scale) alpha scale */
static insitu_status emit_elu(converter_t *c, tensor_id_t x, sym_t alpha, sym_t scale, sym_t input_scale,
                              tensor_id_t *out) {
    tensor_id_t above, positive, negative;
    TRY(emit_scalar_float(c, OP_GT, x, 0, false, &above));
    TRY(emit_scaled(c, x, scale, &positive));
    TRY(emit_scaled(c, x, input_scale, &negative));
    TRY(emit_unary(c, OP_EXPM1, negative, &negative));
    TRY(emit_scaled(c, negative, sym_mul(c->pool, alpha, scale), &negative));
    return emit_where(c, above, positive, negative, out);
}

insitu_status convert_elu(converter_t *c) {
    tensor_id_t x, result;
    sym_t alpha, scale, input_scale;
    TRY(take_tensor(c, "self", &x));
    dtype_t type = dtype_of(c, x);
    TRY(take_real(c, "alpha", 1, &alpha));
    TRY(take_real(c, "scale", 1, &scale));
    TRY(take_real(c, "input_scale", 1, &input_scale));
    TRY(emit_wide(c, x, &x));
    TRY(emit_elu(c, x, alpha, scale, input_scale, &result));
    return finish_wide(c, result, type);
}

insitu_status convert_selu(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    dtype_t type = dtype_of(c, x);
    TRY(emit_wide(c, x, &x));
    TRY(emit_elu(c, x, sym_float(c->pool, 1.6732632423543772848170429916717),
                 sym_float(c->pool, 1.0507009873554804934193349852946), sym_float(c->pool, 1), &result));
    return finish_wide(c, result, type);
}

insitu_status convert_celu(converter_t *c) {
    tensor_id_t x, result;
    sym_t alpha, one = sym_float(c->pool, 1);
    TRY(take_tensor(c, "self", &x));
    dtype_t type = dtype_of(c, x);
    TRY(take_real(c, "alpha", 1, &alpha));
    TRY(emit_wide(c, x, &x));
    TRY(emit_elu(c, x, alpha, one, quotient_of(c, one, alpha), &result));
    return finish_wide(c, result, type);
}

/* hardtanh; relu6 has no arguments of its own: 0 and 6 */
insitu_status convert_hardtanh(converter_t *c) {
    tensor_id_t x, result;
    sym_t low, high;
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym_or(c, "min_val", sym_int(c->pool, c->param ? 0 : -1), &low));
    TRY(take_sym_or(c, "max_val", sym_int(c->pool, c->param ? 6 : 1), &high));
    TRY(emit_clamp(c, x, &low, &high, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_softplus(converter_t *c) {
    tensor_id_t x, scaled, above, result;
    double known_beta, known_threshold;
    sym_t beta, threshold;
    TRY(take_tensor(c, "self", &x));
    dtype_t type = dtype_of(c, x);
    TRY(take_real(c, "beta", 1, &beta));
    TRY(take_real(c, "threshold", 20, &threshold));
    bool known =
        sym_constant_float(c->pool, beta, &known_beta) && sym_constant_float(c->pool, threshold, &known_threshold);
    if (known && known_beta == 1 && known_threshold == 20) return finish_unary(c, OP_SOFTPLUS);
    TRY(emit_wide(c, x, &x));
    TRY(emit_scalar(c, OP_MUL, x, beta, false, &scaled));
    TRY(emit_scalar(c, OP_GT, scaled, threshold, false, &above));
    TRY(emit_unary(c, OP_EXP, scaled, &result));
    TRY(emit_unary(c, OP_LOG1P, result, &result));
    TRY(emit_scalar(c, OP_DIV, result, beta, false, &result));
    TRY(emit_where(c, above, x, result, &result));
    return finish_wide(c, result, type);
}

/* x > threshold ? x : value; NaN passes as PyTorch's x <= threshold ? value : x */
insitu_status convert_threshold(converter_t *c) {
    tensor_id_t x, below, value, result;
    operand_t bound;
    sym_t number;
    TRY(take_tensor(c, "self", &x));
    TRY(take_operand(c, "threshold", &bound));
    TRY(take_sym(c, "value", &number));
    TRY(emit_operation(c, OP_LE, operand_of_tensor(c, x), bound, dtype_of(c, x), &below));
    TRY(emit_number(c, dtype_of(c, x), &tensor_of(c, x)->shape, number, &value));
    TRY(emit_where(c, below, value, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* x > 0 ? x : weight x, with one weight a channel (dimension 1) or one for all */
insitu_status convert_prelu(converter_t *c) {
    tensor_id_t x, weight, scaled, result;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "weight", &weight));
    shape_t shape = {.rank = rank_of(c, x)};
    for (uint32_t i = 0; i < shape.rank; i++) shape.sizes[i] = sym_int(c->pool, 1);
    if (shape.rank >= 2) shape.sizes[1] = shape_numel(c->pool, &tensor_of(c, weight)->shape);
    TRY(emit_reshape(c, weight, &shape, &weight));
    TRY(emit_binary(c, OP_MUL, weight, x, &scaled));
    TRY(emit_above(c, x, 0, scaled, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status emit_log_sigmoid(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    tensor_id_t low, tail;
    TRY(emit_scalar_float(c, OP_MINIMUM, x, 0, false, &low));
    TRY(emit_unary(c, OP_ABS, x, &tail));
    TRY(emit_unary(c, OP_NEG, tail, &tail));
    TRY(emit_unary(c, OP_EXP, tail, &tail));
    TRY(emit_unary(c, OP_LOG1P, tail, &tail));
    return emit_binary(c, OP_SUB, low, tail, out);
}

insitu_status convert_log_sigmoid(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    dtype_t type = dtype_of(c, x);
    TRY(emit_wide(c, x, &x));
    TRY(emit_log_sigmoid(c, x, &result));
    return finish_wide(c, result, type);
}

/* The first half of dim times the sigmoid of the second. */
insitu_status convert_glu(converter_t *c) {
    tensor_id_t x, first, second, result;
    uint32_t dim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    if (rank_of(c, x) == 0) return convert_fail(c, INSITU_FORMAT, "a tensor without dimensions");
    sym_t size = size_of(c, x, dim), half = sym_floordiv(c->pool, size, sym_int(c->pool, 2));
    TRY(emit_slice(c, x, dim, sym_int(c->pool, 0), half, 1, &first));
    TRY(emit_slice(c, x, dim, half, size, 1, &second));
    TRY(emit_wide(c, first, &first));
    TRY(emit_wide(c, second, &second));
    TRY(emit_unary(c, OP_SIGMOID, second, &second));
    TRY(emit_binary(c, OP_MUL, first, second, &result));
    return finish_wide(c, result, dtype_of(c, x));
}
