/* Losses of a prediction and a target of the same sizes: a value an element, then the reduction. Computed wide, rounded once. */
#include "convert/convert_int.h"

insitu_status finish_loss(converter_t *c, tensor_id_t values, dtype_t type) {
    int64_t reduction;
    TRY(take_int(c, "reduction", REDUCTION_MEAN, &reduction));
    uint32_t all = (1u << rank_of(c, values)) - 1;
    if (reduction == REDUCTION_MEAN) TRY(emit_reduce(c, OP_MEAN, values, all, false, &values));
    if (reduction == REDUCTION_SUM) TRY(emit_reduce(c, OP_SUM, values, all, false, &values));
    return finish_wide(c, values, type);
}

insitu_status take_loss_operands(converter_t *c, const char *const *names, uint32_t count, tensor_id_t *out,
                                 dtype_t *out_type) {
    operand_t operands[3] = {{0}};
    for (uint32_t i = 0; i < count; i++) TRY(take_operand(c, names[i], &operands[i]));
    TRY(promote(c, operands, count, out_type));
    for (uint32_t i = 0; i < count; i++) TRY(emit_cast(c, operands[i].tensor, wide_dtype(*out_type), &out[i]));
    return INSITU_OK;
}

/* self and target */
static insitu_status take_pair(converter_t *c, tensor_id_t *out_x, tensor_id_t *out_target, dtype_t *out_type) {
    static const char *const names[2] = {"self", "target"};
    tensor_id_t both[2] = {NO_TENSOR, NO_TENSOR};
    TRY(take_loss_operands(c, names, 2, both, out_type));
    *out_x = both[0];
    *out_target = both[1];
    return INSITU_OK;
}

static insitu_status take_error(converter_t *c, tensor_id_t *out, dtype_t *out_type) {
    tensor_id_t x, target;
    TRY(take_pair(c, &x, &target, out_type));
    return emit_binary(c, OP_SUB, x, target, out);
}

/* |self - target|; a sum of integers is an i64 */
insitu_status convert_l1_loss(converter_t *c) {
    tensor_id_t error;
    dtype_t type;
    int64_t reduction;
    TRY(take_error(c, &error, &type));
    TRY(emit_unary(c, OP_ABS, error, &error));
    TRY(take_int(c, "reduction", REDUCTION_MEAN, &reduction));
    if (reduction == REDUCTION_SUM && dtype_is_integral(type)) type = DTYPE_I64;
    TRY(emit_cast(c, error, wide_dtype(type), &error));
    return finish_loss(c, error, type);
}

/* (self - target)^2 */
insitu_status convert_mse_loss(converter_t *c) {
    tensor_id_t error;
    dtype_t type;
    TRY(take_error(c, &error, &type));
    TRY(emit_binary(c, OP_MUL, error, error, &error));
    return finish_loss(c, error, type);
}

/* smooth_l1_loss: e^2 / (2 beta) where the error e = |self - target| is below beta, else e - beta / 2. huber_loss (param 1):
 * beta times that, beta being its delta. */
insitu_status convert_smooth_l1_loss(converter_t *c) {
    tensor_id_t error, near, square, line;
    dtype_t type;
    double bound;
    TRY(take_float(c, c->param ? "delta" : "beta", 1, &bound));
    if (bound == 0 && !c->param) return convert_l1_loss(c);
    TRY(take_error(c, &error, &type));
    TRY(emit_unary(c, OP_ABS, error, &error));
    TRY(emit_scalar_float(c, OP_LT, error, bound, false, &near));
    TRY(emit_scalar_float(c, OP_MUL, error, 0.5, false, &square));
    TRY(emit_binary(c, OP_MUL, square, error, &square));
    TRY(emit_scalar_float(c, OP_SUB, error, 0.5 * bound, false, &line));
    if (c->param) {
        TRY(emit_scalar_float(c, OP_MUL, line, bound, false, &line));
    } else {
        TRY(emit_scalar_float(c, OP_DIV, square, bound, false, &square));
    }
    TRY(emit_where(c, near, square, line, &error));
    return finish_loss(c, error, type);
}

/* By "weight", where it is given; then the reduction. */
static insitu_status finish_weighted(converter_t *c, tensor_id_t values, dtype_t type) {
    tensor_id_t weight;
    TRY(take_optional_tensor(c, "weight", &weight));
    if (weight.index != NONE) {
        TRY(emit_cast(c, weight, dtype_of(c, values), &weight));
        TRY(emit_binary(c, OP_MUL, values, weight, &values));
    }
    return finish_loss(c, values, type);
}

/* PyTorch raises where a probability is not from 0 to 1. */
static insitu_status require_probabilities(converter_t *c, tensor_id_t x) {
    tensor_id_t low, high, outside;
    TRY(emit_scalar_float(c, OP_GE, x, 0, false, &low));
    TRY(emit_scalar_float(c, OP_LE, x, 1, false, &high));
    TRY(emit_binary(c, OP_LOGICAL_AND, low, high, &outside));
    TRY(emit_unary(c, OP_LOGICAL_NOT, outside, &outside));
    return require_none(c, outside, "a probability is not from 0 to 1");
}

/* (target - 1) log(1 - self) - target log(self), the logarithms -100 at least */
insitu_status convert_binary_cross_entropy(converter_t *c) {
    tensor_id_t x, target, hit, miss, rest;
    dtype_t type;
    sym_t least = sym_int(c->pool, -100);
    TRY(take_pair(c, &x, &target, &type));
    TRY(require_probabilities(c, x));
    TRY(emit_unary(c, OP_LOG, x, &hit));
    TRY(emit_clamp(c, hit, &least, NULL, &hit));
    TRY(emit_binary(c, OP_MUL, target, hit, &hit));
    TRY(emit_unary(c, OP_NEG, x, &miss));
    TRY(emit_unary(c, OP_LOG1P, miss, &miss));
    TRY(emit_clamp(c, miss, &least, NULL, &miss));
    TRY(emit_scalar_float(c, OP_SUB, target, 1, false, &rest));
    TRY(emit_binary(c, OP_MUL, rest, miss, &miss));
    TRY(emit_binary(c, OP_SUB, miss, hit, &x));
    return finish_weighted(c, x, type);
}

/* (1 - target) self - w log(sigmoid(self)), w = 1 + (pos_weight - 1) target */
insitu_status convert_binary_cross_entropy_with_logits(converter_t *c) {
    tensor_id_t x, target, positive, hit, miss;
    dtype_t type;
    TRY(take_pair(c, &x, &target, &type));
    TRY(take_optional_tensor(c, "pos_weight", &positive));
    TRY(emit_scalar_float(c, OP_SUB, target, 1, true, &miss));
    TRY(emit_binary(c, OP_MUL, miss, x, &miss));
    TRY(emit_log_sigmoid(c, x, &hit));
    if (positive.index != NONE) {
        TRY(emit_cast(c, positive, dtype_of(c, x), &positive));
        TRY(emit_scalar_float(c, OP_SUB, positive, 1, false, &positive));
        TRY(emit_binary(c, OP_MUL, positive, target, &positive));
        TRY(emit_scalar_float(c, OP_ADD, positive, 1, false, &positive));
        TRY(emit_binary(c, OP_MUL, positive, hit, &hit));
    }
    TRY(emit_binary(c, OP_SUB, miss, hit, &x));
    return finish_weighted(c, x, type);
}

/* target (log(target) - self), or of a logarithm exp(target) (target - self) */
insitu_status convert_kl_div(converter_t *c) {
    tensor_id_t x, target, share, product;
    dtype_t type;
    bool logarithm;
    TRY(take_pair(c, &x, &target, &type));
    TRY(take_flag(c, "log_target", false, &logarithm));
    if (logarithm) {
        TRY(emit_unary(c, OP_EXP, target, &share));
        TRY(emit_binary(c, OP_SUB, target, x, &x));
        TRY(emit_binary(c, OP_MUL, share, x, &x));
    } else {
        TRY(emit_xlogy(c, target, target, &share));
        TRY(emit_binary(c, OP_MUL, target, x, &product));
        TRY(emit_binary(c, OP_SUB, share, product, &x));
    }
    return finish_loss(c, x, type);
}

/* log(1 + exp(-target self)) */
insitu_status convert_soft_margin_loss(converter_t *c) {
    tensor_id_t x, target;
    dtype_t type;
    TRY(take_pair(c, &x, &target, &type));
    TRY(emit_unary(c, OP_NEG, x, &x));
    TRY(emit_binary(c, OP_MUL, x, target, &x));
    TRY(emit_unary(c, OP_EXP, x, &x));
    TRY(emit_unary(c, OP_LOG1P, x, &x));
    return finish_loss(c, x, type);
}

/* Stirling's term for log(target!), 0 where the target is not above 1 */
static insitu_status emit_stirling(converter_t *c, tensor_id_t target, tensor_id_t *out) {
    tensor_id_t circle, small;
    TRY(emit_scalar_float(c, OP_MUL, target, 6.28318530717958647693, false, &circle));
    TRY(emit_unary(c, OP_LOG, circle, &circle));
    TRY(emit_scalar_float(c, OP_MUL, circle, 0.5, false, &circle));
    TRY(emit_unary(c, OP_LOG, target, out));
    TRY(emit_binary(c, OP_MUL, target, *out, out));
    TRY(emit_binary(c, OP_SUB, *out, target, out));
    TRY(emit_binary(c, OP_ADD, *out, circle, out));
    TRY(emit_scalar_float(c, OP_LE, target, 1, false, &small));
    return emit_number_where(c, small, sym_float(c->pool, 0), *out, out);
}

/* exp(input) - target input, or of a mean that is no logarithm input - target log(input + eps) */
insitu_status convert_poisson_nll_loss(converter_t *c) {
    static const char *const names[2] = {"input", "target"};
    tensor_id_t both[2], product, values;
    dtype_t type;
    bool logarithm, full;
    sym_t eps;
    TRY(take_loss_operands(c, names, 2, both, &type));
    TRY(take_flag(c, "log_input", true, &logarithm));
    TRY(take_flag(c, "full", false, &full));
    TRY(take_real(c, "eps", 1e-8, &eps));
    for (uint32_t i = 0; i < 2; i++) TRY(emit_float(c, both[i], &both[i]));
    if (dtype_is_integral(type)) type = DTYPE_F32;
    values = product = both[0];
    if (logarithm) {
        TRY(emit_unary(c, OP_EXP, values, &values));
    } else {
        TRY(emit_scalar(c, OP_ADD, product, eps, false, &product));
        TRY(emit_unary(c, OP_LOG, product, &product));
    }
    TRY(emit_binary(c, OP_MUL, both[1], product, &product));
    TRY(emit_binary(c, OP_SUB, values, product, &values));
    if (full) {
        TRY(emit_stirling(c, both[1], &product));
        TRY(emit_binary(c, OP_ADD, values, product, &values));
    }
    return finish_loss(c, values, type);
}
