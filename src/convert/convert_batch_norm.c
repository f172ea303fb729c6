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

/* Results: normalised, batch mean, 1 / sqrt(batch variance + eps), new running mean, new running variance (the last two
 * where the operator has running statistics). */
insitu_status convert_batch_norm_training(converter_t *c) {
    tensor_id_t x, running_mean = NO_TENSOR, running_variance = NO_TENSOR, result;
    sym_t eps, momentum;
    batch_t batch;
    TRY(take_tensor(c, "input", &x));
    TRY(take_real(c, "momentum", 0.1, &momentum));
    TRY(take_real(c, "eps", 1e-5, &eps));
    if (c->node->result_count == 5) {
        bool training;
        TRY(take_flag(c, "training", false, &training));
        TRY(take_optional_tensor(c, "running_mean", &running_mean));
        TRY(take_optional_tensor(c, "running_var", &running_variance));
        if (!training) return convert_unsupported(c, "with the running statistics");
        if (running_mean.index == NONE || running_variance.index == NONE)
            return convert_unsupported(c, "without running statistics");
    }
    if (rank_of(c, x) < 2) return convert_fail(c, INSITU_FORMAT, "rank below 2");
    TRY(emit_batch(c, x, &batch));
    TRY(emit_batch_norm(c, x, batch.mean, batch.variance, eps, &result));
    TRY(emit_cast(c, result, dtype_of(c, x), &result));
    set_result(c, 0, result);
    set_result(c, 1, batch.mean);
    TRY(emit_scalar(c, OP_ADD, batch.variance, eps, false, &result));
    TRY(emit_unary(c, OP_RSQRT, result, &result));
    set_result(c, 2, result);
    if (running_mean.index == NONE) return INSITU_OK;
    TRY(emit_blend(c, running_mean, batch.mean, momentum, &result));
    set_result(c, 3, result);
    TRY(emit_blend(c, running_variance, batch.unbiased, momentum, &result));
    set_result(c, 4, result);
    return INSITU_OK;
}
