/* Softmax and normalisation. */
#include "convert/convert_int.h"

#include <math.h>

/* softmax.int, _softmax, log_softmax.int, _log_softmax; param: the logarithm */
insitu_status convert_softmax(converter_t *c) {
    tensor_id_t x, lifted, result;
    uint32_t dim;
    dtype_t type;
    bool widen;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_flag(c, "half_to_float", false, &widen));
    TRY(take_dtype(c, "dtype", widen ? DTYPE_F32 : dtype_of(c, x), &type));
    TRY(emit_cast(c, x, type, &x));
    TRY(emit_at_least_1d(c, x, &lifted));
    layer_draft_t softmax = draft_of(LAYER_SOFTMAX);
    draft_int(c->pool, &softmax, ATTR_DIM, dim);
    draft_flag(c->pool, &softmax, ATTR_LOG, c->param != 0);
    TRY(emit_on(c, &softmax, lifted, &result));
    if (rank_of(c, x) == 0) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* _safe_softmax: 0 where all elements of a row are -infinity */
insitu_status convert_safe_softmax(converter_t *c) {
    tensor_id_t x, empty, result;
    uint32_t dim;
    dtype_t type;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_dtype(c, "dtype", dtype_of(c, x), &type));
    shape_t shape = tensor_of(c, x)->shape;
    TRY(emit_at_least_1d(c, x, &x));
    TRY(emit_scalar_float(c, OP_EQ, x, -(double)INFINITY, false, &empty));
    TRY(emit_reduce(c, OP_ALL, empty, 1u << dim, true, &empty));
    TRY(emit_cast(c, x, type, &x));
    layer_draft_t softmax = draft_of(LAYER_SOFTMAX);
    draft_int(c->pool, &softmax, ATTR_DIM, dim);
    draft_flag(c->pool, &softmax, ATTR_LOG, false);
    TRY(emit_on(c, &softmax, x, &result));
    TRY(emit_number_where(c, empty, sym_int(c->pool, 0), result, &result));
    TRY(emit_reshape(c, result, &shape, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

static insitu_status emit_norm(converter_t *c, layer_kind_t kind, const tensor_id_t *operands, uint32_t operand_count,
                               uint32_t count, sym_t eps, tensor_id_t *out) {
    layer_draft_t norm = draft_of(kind);
    draft_int(c->pool, &norm, ATTR_COUNT, count);
    draft_sym(&norm, ATTR_EPS, eps);
    return emit(c, &norm, operands, operand_count, out);
}

static insitu_status take_row_dims(converter_t *c, tensor_id_t x, uint32_t *out_count) {
    sym_t sizes[MAX_RANK];
    TRY(take_syms(c, "normalized_shape", sizes, out_count));
    if (*out_count == 0 || *out_count > rank_of(c, x)) {
        return convert_fail(c, INSITU_FORMAT, "normalized_shape has %u sizes", *out_count);
    }
    return INSITU_OK;
}

/* layer_norm, native_layer_norm (its first result) */
insitu_status convert_layer_norm(converter_t *c) {
    tensor_id_t operands[3], bias, result;
    uint32_t count;
    sym_t eps;
    TRY(take_tensor(c, "input", &operands[0]));
    TRY(take_optional_tensor(c, "weight", &operands[1]));
    TRY(take_optional_tensor(c, "bias", &bias));
    TRY(take_real(c, "eps", 1e-5, &eps));
    TRY(take_row_dims(c, operands[0], &count));
    bool whole = operands[1].index != NONE && bias.index != NONE;
    operands[2] = bias;
    uint32_t operand_count = whole ? 3 : operands[1].index != NONE ? 2 : 1;
    TRY(emit_norm(c, LAYER_LAYER_NORM, operands, operand_count, count, eps, &result));
    if (!whole && bias.index != NONE) TRY(emit_binary(c, OP_ADD, result, bias, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Without an eps it is the distance from 1 to the next number of the dtype. */
insitu_status convert_rms_norm(converter_t *c) {
    tensor_id_t operands[2], result;
    uint32_t count;
    sym_t eps;
    TRY(take_tensor(c, "input", &operands[0]));
    TRY(take_optional_tensor(c, "weight", &operands[1]));
    TRY(take_row_dims(c, operands[0], &count));
    dtype_t type = dtype_of(c, operands[0]);
    double gap = type == DTYPE_F64 ? 0x1p-52 : type == DTYPE_F16 ? 0x1p-10 : type == DTYPE_BF16 ? 0x1p-7 : 0x1p-23;
    TRY(take_real(c, "eps", gap, &eps));
    TRY(emit_norm(c, LAYER_RMS_NORM, operands, operands[1].index == NONE ? 1 : 2, count, eps, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* x weight + bias by channel, each optional, in x's wide dtype */
static insitu_status emit_affine(converter_t *c, tensor_id_t x, tensor_id_t weight, tensor_id_t bias,
                                 tensor_id_t *out) {
    uint32_t rank = rank_of(c, x);
    *out = x;
    if (weight.index != NONE) {
        TRY(emit_wide(c, weight, &weight));
        TRY(emit_along(c, weight, rank, 1, &weight));
        TRY(emit_binary(c, OP_MUL, *out, weight, out));
    }
    if (bias.index != NONE) {
        TRY(emit_wide(c, bias, &bias));
        TRY(emit_along(c, bias, rank, 1, &bias));
        TRY(emit_binary(c, OP_ADD, *out, bias, out));
    }
    return INSITU_OK;
}

/* (N, C, ...) as (N, groups, rest), normalised by row, then weight and bias by channel */
static insitu_status finish_grouped_norm(converter_t *c, tensor_id_t x, sym_t groups, tensor_id_t weight,
                                         tensor_id_t bias, sym_t eps) {
    dtype_t type = dtype_of(c, x);
    shape_t from = tensor_of(c, x)->shape;
    if (from.rank < 2) return convert_fail(c, INSITU_FORMAT, "rank below 2");
    sym_t rest = sym_floordiv(c->pool, from.sizes[1], groups);
    for (uint32_t i = 2; i < from.rank; i++) rest = sym_mul(c->pool, rest, from.sizes[i]);
    shape_t rows = {.rank = 3, .sizes = {from.sizes[0], groups, rest}};
    TRY(emit_wide(c, x, &x));
    TRY(emit_reshape(c, x, &rows, &x));
    TRY(emit_norm(c, LAYER_LAYER_NORM, &x, 1, 1, eps, &x));
    TRY(emit_reshape(c, x, &from, &x));
    TRY(emit_affine(c, x, weight, bias, &x));
    return finish_wide(c, x, type);
}

/* group_norm, native_group_norm (its first result) */
insitu_status convert_group_norm(converter_t *c) {
    tensor_id_t x, weight, bias;
    sym_t groups;
    sym_t eps;
    TRY(take_tensor(c, "input", &x));
    TRY(take_optional_tensor(c, "weight", &weight));
    TRY(take_optional_tensor(c, "bias", &bias));
    TRY(take_sym(c, has_arg(c, "num_groups") ? "num_groups" : "group", &groups));
    TRY(take_real(c, "eps", 1e-5, &eps));
    return finish_grouped_norm(c, x, groups, weight, bias, eps);
}

/* (x - mean) weight / sqrt(var + eps) + bias as x scale + shift, as PyTorch does on CPU */
insitu_status emit_batch_norm(converter_t *c, tensor_id_t x, tensor_id_t mean, tensor_id_t variance, sym_t eps,
                              tensor_id_t *out) {
    tensor_id_t weight, bias, scale, shift;
    TRY(take_optional_tensor(c, "weight", &weight));
    TRY(take_optional_tensor(c, "bias", &bias));
    TRY(emit_wide(c, x, &x));
    TRY(emit_wide(c, mean, &mean));
    TRY(emit_wide(c, variance, &variance));
    if (weight.index != NONE) TRY(emit_wide(c, weight, &weight));
    if (bias.index != NONE) TRY(emit_wide(c, bias, &bias));
    TRY(emit_scalar(c, OP_ADD, variance, eps, false, &scale));
    TRY(emit_unary(c, OP_SQRT, scale, &scale));
    TRY(emit_unary(c, OP_RECIPROCAL, scale, &scale));
    if (weight.index != NONE) TRY(emit_binary(c, OP_MUL, scale, weight, &scale));
    TRY(emit_binary(c, OP_MUL, mean, scale, &shift));
    if (bias.index != NONE) {
        TRY(emit_binary(c, OP_SUB, bias, shift, &shift));
    } else {
        TRY(emit_unary(c, OP_NEG, shift, &shift));
    }
    return emit_affine(c, x, scale, shift, out);
}

/* batch_norm and its kin with the running statistics, whose results after the first are empty; without any by the batch's own */
insitu_status convert_batch_norm(converter_t *c) {
    tensor_id_t x, mean, variance, result;
    bool training;
    sym_t eps;
    TRY(take_tensor(c, "input", &x));
    TRY(take_optional_tensor(c, "running_mean", &mean));
    TRY(take_optional_tensor(c, "running_var", &variance));
    TRY(take_flag(c, "training", false, &training));
    TRY(take_real(c, "eps", 1e-5, &eps));
    if (training && mean.index == NONE && variance.index == NONE) return convert_batch_norm_training(c);
    if (training || mean.index == NONE || variance.index == NONE) return convert_unsupported(c, "in training mode");
    if (rank_of(c, x) < 2) return convert_unsupported(c, "rank below 2");
    TRY(emit_batch_norm(c, x, mean, variance, eps, &result));
    TRY(finish_wide(c, result, dtype_of(c, x)));
    return set_empty_results(c, 1, c->node->result_count);
}

insitu_status convert_instance_norm(converter_t *c) {
    tensor_id_t x, weight, bias;
    bool own;
    sym_t eps;
    TRY(take_flag(c, "use_input_stats", true, &own));
    if (!own) return convert_batch_norm(c);
    if (has_arg(c, "running_mean")) return convert_unsupported(c, "in training mode");
    TRY(take_tensor(c, "input", &x));
    TRY(take_optional_tensor(c, "weight", &weight));
    TRY(take_optional_tensor(c, "bias", &bias));
    TRY(take_real(c, "eps", 1e-5, &eps));
    if (rank_of(c, x) < 2) return convert_fail(c, INSITU_FORMAT, "rank below 2");
    return finish_grouped_norm(c, x, size_of(c, x, 1), weight, bias, eps);
}

/* _weight_norm, _weight_norm_interface: v g / |v|, the norm over all dimensions but dim; dim -1: over all */
insitu_status convert_weight_norm(converter_t *c) {
    tensor_id_t v, g, norm, result;
    int64_t dim;
    TRY(take_tensor(c, "v", &v));
    TRY(take_tensor(c, "g", &g));
    TRY(take_int(c, "dim", 0, &dim));
    uint32_t rank = rank_of(c, v), axes = rank ? (2u << (rank - 1)) - 1 : 0, kept;
    dtype_t type = dtype_of(c, v);
    if (dim != -1) {
        TRY(normal_dim(c, dim, rank, &kept));
        axes &= ~(1u << kept);
    }
    TRY(emit_wide(c, v, &v));
    TRY(emit_wide(c, g, &g));
    TRY(emit_binary(c, OP_MUL, v, v, &norm));
    TRY(emit_reduce(c, OP_SUM, norm, axes, true, &norm));
    TRY(emit_unary(c, OP_SQRT, norm, &norm));
    TRY(emit_binary(c, OP_DIV, g, norm, &result));
    TRY(emit_binary(c, OP_MUL, v, result, &result));
    if (dim != -1) set_result(c, 1, norm);
    return finish_wide(c, result, type);
}
