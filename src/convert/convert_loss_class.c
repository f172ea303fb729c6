/* Losses of classes: nll_loss and cross_entropy_loss, whose classes are dimension 1, or the only one. A target is an index, or
 * a probability of each class. */
#include "convert/convert_int.h"

/* What the node has, with the logarithms of the probabilities; computed wide. */
typedef struct classes {
    tensor_id_t logs, weight; /* weight: one a class, of the sizes 1 but for the classes; NO_TENSOR: none */
    tensor_id_t target;       /* an index, 0 where it is ignored; of size 1 in the classes' dimension */
    tensor_id_t ignored;      /* bools of those sizes */
    uint32_t dim, all;        /* the classes' dimension; a set of all */
    int64_t reduction;
    dtype_t type; /* of the result */
} classes_t;

static insitu_status take_classes(converter_t *c, classes_t *out) {
    TRY(take_tensor(c, "self", &out->logs));
    TRY(take_optional_tensor(c, "weight", &out->weight));
    TRY(take_int(c, "reduction", REDUCTION_MEAN, &out->reduction));
    uint32_t rank = rank_of(c, out->logs);
    if (rank == 0) return convert_fail(c, INSITU_FORMAT, "a tensor without dimensions");
    out->type = dtype_of(c, out->logs);
    out->dim = rank > 1;
    out->all = (1u << rank) - 1;
    TRY(emit_wide(c, out->logs, &out->logs));
    if (out->weight.index == NONE) return INSITU_OK;
    TRY(emit_cast(c, out->weight, dtype_of(c, out->logs), &out->weight));
    return emit_along(c, out->weight, rank, out->dim, &out->weight);
}

/* The target as indices of classes. */
static insitu_status take_indices(converter_t *c, classes_t *at) {
    sym_t ignore;
    shape_t shape = tensor_of(c, at->logs)->shape;
    TRY(take_tensor(c, "target", &at->target));
    TRY(take_sym_or(c, "ignore_index", sym_int(c->pool, -100), &ignore));
    if (!dtype_is_integral(dtype_of(c, at->target))) return convert_fail(c, INSITU_FORMAT, "a target of floats");
    shape.sizes[at->dim] = sym_int(c->pool, 1);
    TRY(emit_cast(c, at->target, DTYPE_I64, &at->target));
    TRY(emit_reshape(c, at->target, &shape, &at->target));
    TRY(emit_scalar(c, OP_EQ, at->target, ignore, false, &at->ignored));
    return emit_number_where(c, at->ignored, sym_int(c->pool, 0), at->target, &at->target);
}

/* Of each target's class in x, 0 where the target is ignored. */
static insitu_status emit_chosen(converter_t *c, const classes_t *at, tensor_id_t x, tensor_id_t *out) {
    TRY(emit_gather(c, x, at->target, at->dim, out));
    return emit_number_where(c, at->ignored, sym_int(c->pool, 0), *out, out);
}

/* The weight of each target, 0 where it is ignored. */
static insitu_status emit_target_weights(converter_t *c, const classes_t *at, tensor_id_t *out) {
    shape_t shape = tensor_of(c, at->logs)->shape;
    tensor_id_t weight = at->weight;
    if (weight.index == NONE) {
        TRY(emit_unary(c, OP_LOGICAL_NOT, at->ignored, out));
        return emit_cast(c, *out, dtype_of(c, at->logs), out);
    }
    TRY(emit_expand(c, weight, &shape, &weight));
    return emit_chosen(c, at, weight, out);
}

/* The reduction of the values, of size 1 in the classes' dimension: a mean divides by the weights' sum. */
static insitu_status emit_reduced(converter_t *c, const classes_t *at, tensor_id_t values, tensor_id_t total,
                                  tensor_id_t *out) {
    if (at->reduction == REDUCTION_NONE) return emit_squeeze(c, values, at->dim, out);
    TRY(emit_reduce(c, OP_SUM, values, at->all, false, out));
    return at->reduction == REDUCTION_MEAN ? emit_binary(c, OP_DIV, *out, total, out) : INSITU_OK;
}

/* -w logs[target]; the sum of the weights w */
static insitu_status emit_nll(converter_t *c, const classes_t *at, tensor_id_t *out, tensor_id_t *out_total) {
    tensor_id_t weights, values;
    TRY(emit_target_weights(c, at, &weights));
    TRY(emit_reduce(c, OP_SUM, weights, at->all, false, out_total));
    TRY(emit_chosen(c, at, at->logs, &values));
    TRY(emit_unary(c, OP_NEG, values, &values));
    if (at->weight.index != NONE) TRY(emit_binary(c, OP_MUL, values, weights, &values));
    return emit_reduced(c, at, values, *out_total, out);
}

/* nll_loss, nll_loss2d, nll_loss_nd; the _forward ones have the sum of the weights as a second result, 0 of no reduction */
insitu_status convert_nll_loss(converter_t *c) {
    classes_t at;
    tensor_id_t result, total;
    shape_t none = {0};
    TRY(take_classes(c, &at));
    TRY(take_indices(c, &at));
    TRY(emit_nll(c, &at, &result, &total));
    if (c->node->result_count > 1) {
        TRY(emit_cast(c, total, at.type, &total));
        if (at.reduction == REDUCTION_NONE) TRY(emit_fill(c, at.type, &none, sym_int(c->pool, 0), &total));
        set_result(c, 1, total);
    }
    return finish_wide(c, result, at.type);
}

/* part a + rest b */
static insitu_status emit_mix(converter_t *c, tensor_id_t a, double part, tensor_id_t b, sym_t rest, tensor_id_t *out) {
    TRY(emit_scalar_float(c, OP_MUL, a, part, false, &a));
    TRY(emit_scalar(c, OP_MUL, b, rest, false, &b));
    return emit_binary(c, OP_ADD, a, b, out);
}

/* smoothing / the number of classes */
static sym_t smoothing_of_class(converter_t *c, const classes_t *at, double smoothing) {
    return quotient_of(c, sym_float(c->pool, smoothing), size_of(c, at->logs, at->dim));
}

/* The target's class has 1 - smoothing of the probability, and all classes have equal shares of the rest. */
static insitu_status finish_indices(converter_t *c, classes_t *at, double smoothing) {
    tensor_id_t result, total, spread;
    TRY(take_indices(c, at));
    TRY(emit_nll(c, at, &result, &total));
    if (smoothing > 0) {
        spread = at->logs;
        if (at->weight.index != NONE) TRY(emit_binary(c, OP_MUL, spread, at->weight, &spread));
        TRY(emit_reduce(c, OP_SUM, spread, 1u << at->dim, true, &spread));
        TRY(emit_unary(c, OP_NEG, spread, &spread));
        TRY(emit_number_where(c, at->ignored, sym_int(c->pool, 0), spread, &spread));
        TRY(emit_reduced(c, at, spread, total, &spread));
        TRY(emit_mix(c, result, 1 - smoothing, spread, smoothing_of_class(c, at, smoothing), &result));
    }
    return finish_wide(c, result, at->type);
}

/* -w target logs, summed over the classes; the mean is of the rows */
static insitu_status finish_probabilities(converter_t *c, const classes_t *at, double smoothing) {
    tensor_id_t values;
    TRY(take_tensor(c, "target", &values));
    if (!dtype_is_float(dtype_of(c, values))) return convert_fail(c, INSITU_FORMAT, "probabilities of integers");
    TRY(emit_cast(c, values, dtype_of(c, at->logs), &values));
    if (smoothing > 0) {
        TRY(emit_scalar_float(c, OP_MUL, values, 1 - smoothing, false, &values));
        TRY(emit_scalar(c, OP_ADD, values, smoothing_of_class(c, at, smoothing), false, &values));
    }
    TRY(emit_binary(c, OP_MUL, at->logs, values, &values));
    if (at->weight.index != NONE) TRY(emit_binary(c, OP_MUL, values, at->weight, &values));
    TRY(emit_unary(c, OP_NEG, values, &values));
    TRY(emit_reduce(c, OP_SUM, values, 1u << at->dim, false, &values));
    return finish_loss(c, values, at->type);
}

/* Of unnormalised logarithms. A target of the same sizes is one of probabilities. */
insitu_status convert_cross_entropy_loss(converter_t *c) {
    classes_t at;
    tensor_id_t target;
    double smoothing;
    TRY(take_classes(c, &at));
    TRY(take_tensor(c, "target", &target));
    TRY(take_float(c, "label_smoothing", 0, &smoothing));
    layer_draft_t softmax = draft_of(LAYER_SOFTMAX);
    draft_int(c->pool, &softmax, ATTR_DIM, at.dim);
    draft_flag(c->pool, &softmax, ATTR_LOG, true);
    TRY(emit_on(c, &softmax, at.logs, &at.logs));
    bool shares = rank_of(c, target) == rank_of(c, at.logs) && dtype_is_float(dtype_of(c, target));
    return shares ? finish_probabilities(c, &at, smoothing) : finish_indices(c, &at, smoothing);
}
