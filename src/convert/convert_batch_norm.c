/* batch_norm by the batch's own statistics: the running ones are blended with them and come out as further results. */
#include "convert/convert_int.h"

typedef struct batch { /* of the batch, by channel, in the dtype that is computed in */
    tensor_id_t mean, variance, unbiased;
} batch_t;

static insitu_status emit_batch_variance(converter_t *c, tensor_id_t x, uint32_t axes, double correction,
                                         tensor_id_t *out) {
    sym_t items[MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank_of(c, x); i++)
        if (axes >> i & 1) items[count++] = sym_int(c->pool, i);
    layer_draft_t reduce = draft_of(LAYER_REDUCE);
    draft_list(&reduce, ATTR_AXES, items, count);
    draft_flag(c->pool, &reduce, ATTR_KEEPDIM, false);
    draft_float(c->pool, &reduce, ATTR_CORRECTION, correction);
    draft_op(&reduce, OP_VAR);
    return emit_on(c, &reduce, x, out);
}

static insitu_status emit_batch(converter_t *c, tensor_id_t x, batch_t *out) {
    uint32_t axes = ((1u << rank_of(c, x)) - 1) & ~2u; /* all but the channels */
    TRY(emit_cast(c, x, wide_dtype(dtype_of(c, x)), &x));
    TRY(emit_reduce(c, OP_MEAN, x, axes, false, &out->mean));
    TRY(emit_batch_variance(c, x, axes, 0, &out->variance));
    return emit_batch_variance(c, x, axes, 1, &out->unbiased);
}

/* (1 - momentum) running + momentum batch, in the running statistics' dtype */
static insitu_status emit_blend(converter_t *c, tensor_id_t running, tensor_id_t batch, sym_t momentum,
                                tensor_id_t *out) {
    dtype_t type = dtype_of(c, running), wide = wide_dtype(type);
    tensor_id_t kept;
    TRY(emit_cast(c, running, wide, &kept));
    TRY(emit_cast(c, batch, wide, &batch));
    sym_t rest = sym_sub(c->pool, sym_float(c->pool, 1), momentum);
    TRY(emit_scalar(c, OP_MUL, kept, rest, false, &kept));
    TRY(emit_scalar(c, OP_MUL, batch, momentum, false, &batch));
    TRY(emit_binary(c, OP_ADD, batch, kept, out));
    return emit_cast(c, *out, type, out);
}

/* A statistic of the batch in the dtype that the program has for it, which differs from form to form. */
static insitu_status set_statistic(converter_t *c, uint32_t index, tensor_id_t tensor) {
    if (index >= c->node->result_count) return INSITU_OK;
    TRY(emit_cast(c, tensor, graph_value_of(c->graph, c->node->results[index])->type.dtype, &tensor));
    set_result(c, index, tensor);
    return INSITU_OK;
}

insitu_status set_empty_results(converter_t *c, uint32_t first, uint32_t end) {
    shape_t none = {.rank = 1, .sizes = {sym_int(c->pool, 0)}};
    for (uint32_t i = first; i < end && i < c->node->result_count; i++) {
        tensor_id_t empty;
        dtype_t type = graph_value_of(c->graph, c->node->results[i])->type.dtype;
        TRY(emit_fill(c, type, &none, sym_int(c->pool, 0), &empty));
        set_result(c, i, empty);
    }
    return INSITU_OK;
}

/* By the running statistics, which stay what they are: the last two results. */
static insitu_status normalise_by_running(converter_t *c, tensor_id_t x, tensor_id_t mean, tensor_id_t variance,
                                          sym_t eps) {
    tensor_id_t result;
    TRY(emit_batch_norm(c, x, mean, variance, eps, &result));
    TRY(finish_wide(c, result, dtype_of(c, x)));
    TRY(set_empty_results(c, 1, 3));
    set_result(c, 3, mean);
    set_result(c, 4, variance);
    return INSITU_OK;
}

/* By the batch's: normalised, its mean, 1 / sqrt(its variance + eps). */
static insitu_status normalise_by_batch(converter_t *c, tensor_id_t x, const batch_t *batch, sym_t eps) {
    tensor_id_t result;
    TRY(emit_batch_norm(c, x, batch->mean, batch->variance, eps, &result));
    TRY(finish_wide(c, result, dtype_of(c, x)));
    TRY(set_statistic(c, 1, batch->mean));
    TRY(emit_scalar(c, OP_ADD, batch->variance, eps, false, &result));
    TRY(emit_unary(c, OP_RSQRT, result, &result));
    return set_statistic(c, 2, result);
}

/* Where the operator has running statistics, the last two of its five results are the new ones. */
insitu_status convert_batch_norm_training(converter_t *c) {
    tensor_id_t x, mean, variance;
    sym_t eps, momentum;
    batch_t batch;
    bool training;
    uint32_t count = c->node->result_count;
    TRY(take_tensor(c, "input", &x));
    TRY(take_real(c, "momentum", 0.1, &momentum));
    TRY(take_real(c, "eps", 1e-5, &eps));
    TRY(take_flag(c, "training", true, &training));
    if (rank_of(c, x) < 2) return convert_unsupported(c, "rank below 2");
    if (count > 3) {
        TRY(take_optional_tensor(c, "running_mean", &mean));
        TRY(take_optional_tensor(c, "running_var", &variance));
        if (mean.index == NONE || variance.index == NONE) return convert_unsupported(c, "without running statistics");
        if (!training) return normalise_by_running(c, x, mean, variance, eps);
    } else if (!training) {
        return convert_unsupported(c, "without statistics");
    }
    TRY(emit_batch(c, x, &batch));
    TRY(normalise_by_batch(c, x, &batch, eps));
    if (count <= 3) return INSITU_OK;
    TRY(emit_blend(c, mean, batch.mean, momentum, &mean));
    set_result(c, 3, mean);
    TRY(emit_blend(c, variance, batch.unbiased, momentum, &variance));
    set_result(c, 4, variance);
    return INSITU_OK;
}
