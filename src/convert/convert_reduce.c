/* Reductions: sums, means, extremes, norms, variances, running sums. */
#include "convert/convert_int.h"

#include <math.h>

static insitu_status finish_sum(converter_t *c, op_kind_t op) {
    tensor_id_t x, result;
    dtype_t type;
    uint32_t axes;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    bool widen = op != OP_MEAN && dtype_is_integral(dtype_of(c, x));
    TRY(take_dtype(c, "dtype", widen ? DTYPE_I64 : dtype_of(c, x), &type));
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    TRY(emit_cast(c, x, type, &x));
    TRY(emit_reduce(c, op, x, axes, keepdim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* sum, prod: integers and bool in i64 unless a dtype is given; mean: floats */
insitu_status convert_sum(converter_t *c) { return finish_sum(c, (op_kind_t)c->param); }

/* of what is not zero, NaN included; without a dim over all elements */
insitu_status convert_count_nonzero(converter_t *c) {
    tensor_id_t x, result;
    uint32_t axes;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    TRY(emit_cast(c, x, DTYPE_BOOL, &x));
    TRY(emit_cast(c, x, DTYPE_I64, &x));
    TRY(emit_reduce(c, OP_SUM, x, axes, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* amax, amin, any, all; max and min of all elements */
insitu_status convert_reduce(converter_t *c) {
    tensor_id_t x, result;
    uint32_t axes;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    const graph_arg_t *dims = take_arg(c, "dim");
    if ((c->param == OP_ANY || c->param == OP_ALL) && dims->kind == ARG_LIST && dims->list.count == 0) axes = 0;
    TRY(take_flag(c, "keepdim", false, &keepdim));
    TRY(emit_reduce(c, (op_kind_t)c->param, x, axes, keepdim, &result));
    if (dtype_of(c, x) == DTYPE_U8) TRY(emit_cast(c, result, DTYPE_U8, &result)); /* of bytes any and all give bytes */
    set_only_result(c, result);
    return INSITU_OK;
}

/* max.dim, min.dim: values and indices */
insitu_status convert_reduce_index(converter_t *c) {
    tensor_id_t x, results[MAX_RESULTS];
    uint32_t dim;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    if (rank_of(c, x) == 0) keepdim = false;
    TRY(emit_at_least_1d(c, x, &x));
    layer_draft_t reduce = draft_of(LAYER_REDUCE_INDEX);
    draft_int(c->pool, &reduce, ATTR_DIM, dim);
    draft_flag(c->pool, &reduce, ATTR_KEEPDIM, keepdim);
    draft_op(&reduce, (op_kind_t)c->param);
    TRY(emit_on(c, &reduce, x, results));
    set_result(c, 0, results[0]);
    set_result(c, 1, results[1]);
    return INSITU_OK;
}

/* The least and the greatest, over one dimension or all. */
insitu_status convert_aminmax(converter_t *c) {
    tensor_id_t x, result;
    uint32_t rank, dim = 0;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    rank = rank_of(c, x);
    uint32_t axes = (1u << rank) - 1;
    if (has_arg(c, "dim")) {
        TRY(take_dim(c, "dim", 0, rank, &dim));
        axes = rank ? 1u << dim : 0;
    }
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_reduce(c, i ? OP_AMAX : OP_AMIN, x, axes, keepdim, &result));
        set_result(c, i, result);
    }
    return INSITU_OK;
}

/* nansum: NaN counts as 0; nanmean (param 1): by how many are none */
insitu_status convert_nansum(converter_t *c) {
    tensor_id_t x, zero, nan, count, result;
    dtype_t type;
    uint32_t axes;
    bool keepdim;
    shape_t none = {0};
    TRY(take_tensor(c, "self", &x));
    const graph_arg_t *dims = take_arg(c, "dim");
    if (dims->kind == ARG_LIST && dims->list.count == 0)
        return convert_unsupported(c, "over no dimensions, where PyTorch records other sizes than it gives");
    if (dtype_is_integral(dtype_of(c, x))) return finish_sum(c, c->param ? OP_MEAN : OP_SUM);
    TRY(take_dtype(c, "dtype", dtype_of(c, x), &type));
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    TRY(emit_unary(c, OP_ISNAN, x, &nan));
    TRY(emit_number(c, dtype_of(c, x), &none, sym_int(c->pool, 0), &zero));
    TRY(emit_where(c, nan, zero, x, &x));
    TRY(emit_cast(c, x, type, &x));
    TRY(emit_reduce(c, OP_SUM, x, axes, keepdim, &result));
    if (c->param) {
        TRY(emit_unary(c, OP_LOGICAL_NOT, nan, &count));
        TRY(emit_cast(c, count, DTYPE_I64, &count));
        TRY(emit_reduce(c, OP_SUM, count, axes, keepdim, &count));
        TRY(emit_cast(c, count, type, &count));
        TRY(emit_binary(c, OP_DIV, result, count, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

/* argmax, argmin: without a dim over all elements */
insitu_status convert_arg_extreme(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim = 0;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    uint32_t rank = rank_of(c, x);
    bool whole = !has_arg(c, "dim");
    if (whole) {
        shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
        TRY(emit_reshape(c, x, &flat, &x));
    } else {
        TRY(take_dim(c, "dim", 0, rank, &dim));
        TRY(emit_at_least_1d(c, x, &x));
    }
    TRY(emit_reduce(c, (op_kind_t)c->param, x, 1u << dim, keepdim && !whole && rank, &result));
    if (whole && keepdim) {
        shape_t ones = {.rank = rank};
        for (uint32_t i = 0; i < rank; i++) ones.sizes[i] = sym_int(c->pool, 1);
        TRY(emit_reshape(c, result, &ones, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

static insitu_status emit_variance(converter_t *c, tensor_id_t x, uint32_t axes, bool keepdim, tensor_id_t *out) {
    double correction = 1;
    if (has_arg(c, "correction")) TRY(take_float(c, "correction", 1, &correction));
    if (has_arg(c, "unbiased")) {
        bool unbiased;
        TRY(take_flag(c, "unbiased", true, &unbiased));
        correction = unbiased;
    }
    sym_t items[MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank_of(c, x); i++) {
        if ((axes >> i) & 1) items[count++] = sym_int(c->pool, i);
    }
    layer_draft_t reduce = draft_of(LAYER_REDUCE);
    draft_list(&reduce, ATTR_AXES, items, count);
    draft_float(c->pool, &reduce, ATTR_CORRECTION, correction);
    draft_flag(c->pool, &reduce, ATTR_KEEPDIM, keepdim);
    draft_op(&reduce, OP_VAR);
    return emit_on(c, &reduce, x, out);
}

insitu_status convert_variance(converter_t *c) {
    tensor_id_t x, result, mean;
    uint32_t axes;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    if (c->param & SPREAD_ROOT) {
        tensor_id_t wide;
        TRY(emit_wide(c, x, &wide));
        TRY(emit_variance(c, wide, axes, keepdim, &result));
        TRY(emit_unary(c, OP_SQRT, result, &result));
        TRY(emit_cast(c, result, dtype_of(c, x), &result));
    } else {
        TRY(emit_variance(c, x, axes, keepdim, &result));
    }
    set_only_result(c, result);
    if (!(c->param & SPREAD_MEAN)) return INSITU_OK;
    TRY(emit_reduce(c, OP_MEAN, x, axes, keepdim, &mean));
    set_result(c, 1, mean);
    return INSITU_OK;
}

/* norm, linalg_vector_norm */
insitu_status convert_vector_norm(converter_t *c) {
    tensor_id_t x, result;
    uint32_t axes;
    bool keepdim;
    double order;
    dtype_t type;
    TRY(take_tensor(c, "self", &x));
    if (dtype_is_complex(dtype_of(c, x))) TRY(emit_unary(c, OP_ABS, x, &x));
    TRY(take_dtype(c, "dtype", dtype_of(c, x), &type));
    if (dtype_is_complex(type)) type = part_of(type);
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    TRY(take_float(c, has_arg(c, "ord") ? "ord" : "p", 2, &order));
    if (!dtype_is_float(type)) return convert_unsupported(c, "dtype %s", dtype_name(type));
    TRY(emit_cast(c, x, wide_dtype(type), &x));
    TRY(emit_norm_of(c, x, order, axes, keepdim, &result));
    return finish_wide(c, result, type);
}

/* One element of value behind those of each reduced dimension that may have none. */
static insitu_status emit_elements(converter_t *c, tensor_id_t x, uint32_t axes, double value, tensor_id_t *out) {
    sym_t one = sym_int(c->pool, 1);
    *out = x;
    for (uint32_t i = 0; i < rank_of(c, x); i++) {
        if (!((axes >> i) & 1) || sym_is_le(c->pool, one, size_of(c, *out, i)) == TRUTH_TRUE) continue;
        shape_t line = tensor_of(c, *out)->shape;
        tensor_id_t parts[2] = {*out, NO_TENSOR};
        line.sizes[i] = one;
        TRY(emit_number(c, dtype_of(c, x), &line, sym_float(c->pool, value), &parts[1]));
        TRY(emit_concat(c, parts, 2, i, out));
    }
    return INSITU_OK;
}

/* log(sum(exp(x - m))) + m, m the maximum, 0 where that is infinite; of no elements -inf */
insitu_status convert_logsumexp(converter_t *c) {
    tensor_id_t x, peak, infinite, zero, result;
    uint32_t axes;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    dtype_t type = dtype_of(c, x);
    TRY(emit_wide(c, x, &x));
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    TRY(emit_elements(c, x, axes, -(double)INFINITY, &x));
    TRY(emit_reduce(c, OP_AMAX, x, axes, true, &peak));
    TRY(emit_unary(c, OP_ISINF, peak, &infinite));
    TRY(emit_number(c, dtype_of(c, x), &tensor_of(c, peak)->shape, sym_int(c->pool, 0), &zero));
    TRY(emit_where(c, infinite, zero, peak, &peak));
    TRY(emit_binary(c, OP_SUB, x, peak, &result));
    TRY(emit_unary(c, OP_EXP, result, &result));
    TRY(emit_reduce(c, OP_SUM, result, axes, keepdim, &result));
    TRY(emit_unary(c, OP_LOG, result, &result));
    TRY(emit_reshape(c, peak, &tensor_of(c, result)->shape, &peak));
    TRY(emit_binary(c, OP_ADD, result, peak, &result));
    return finish_wide(c, result, type);
}

static insitu_status emit_scan(converter_t *c, op_kind_t op, tensor_id_t x, uint32_t dim, tensor_id_t *out) {
    if (dtype_is_complex(dtype_of(c, x)) && op == OP_CUMSUM) { /* of each part */
        TRY(emit_to_real_pairs(c, x, &x));
        TRY(emit_scan(c, op, x, dim, out));
        return emit_from_real_pairs(c, *out, out);
    }
    layer_draft_t scan = draft_of(LAYER_SCAN);
    draft_int(c->pool, &scan, ATTR_DIM, dim);
    draft_op(&scan, op);
    return emit_on(c, &scan, x, out);
}

/* cumsum, cumprod: integers in i64 unless a dtype is given */
insitu_status convert_scan(converter_t *c) {
    tensor_id_t x, result;
    dtype_t type;
    uint32_t dim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dtype(c, "dtype", dtype_is_integral(dtype_of(c, x)) ? DTYPE_I64 : dtype_of(c, x), &type));
    TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    shape_t shape = tensor_of(c, x)->shape;
    TRY(emit_cast(c, x, type, &x));
    TRY(emit_at_least_1d(c, x, &x));
    TRY(emit_scan(c, (op_kind_t)c->param, x, dim, &result));
    TRY(emit_reshape(c, result, &shape, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Where the running extreme is the element itself, its position, else 0: the greatest so far is the last one's. */
static insitu_status emit_extreme_positions(converter_t *c, tensor_id_t x, tensor_id_t values, uint32_t dim,
                                            tensor_id_t *out) {
    const shape_t shape_of_x = tensor_of(c, x)->shape;
    tensor_id_t here, nan, positions, zeros;
    TRY(emit_binary(c, OP_EQ, x, values, &here));
    if (dtype_is_float(dtype_of(c, x))) {
        TRY(emit_unary(c, OP_ISNAN, x, &nan));
        TRY(emit_binary(c, OP_LOGICAL_OR, here, nan, &here));
    }
    TRY(emit_iota(c, DTYPE_I64, shape_of_x.sizes[dim], sym_int(c->pool, 0), sym_int(c->pool, 1), &positions));
    TRY(emit_along(c, positions, shape_of_x.rank, dim, &positions));
    TRY(emit_expand(c, positions, &shape_of_x, &positions));
    TRY(emit_fill(c, DTYPE_I64, &shape_of_x, sym_int(c->pool, 0), &zeros));
    TRY(emit_where(c, here, positions, zeros, &positions));
    return emit_scan(c, OP_CUMMAX, positions, dim, out);
}

/* cummax, cummin: values and the positions of the last of equals */
insitu_status convert_running_extreme(converter_t *c) {
    tensor_id_t x, values, positions;
    uint32_t dim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    dtype_t type = dtype_of(c, x);
    shape_t shape = tensor_of(c, x)->shape;
    if (type == DTYPE_U64) return convert_unsupported(c, "an order of u64");
    if (type == DTYPE_BOOL) TRY(emit_cast(c, x, DTYPE_U8, &x));
    TRY(emit_at_least_1d(c, x, &x));
    TRY(emit_scan(c, (op_kind_t)c->param, x, dim, &values));
    TRY(emit_extreme_positions(c, x, values, dim, &positions));
    TRY(emit_cast(c, values, type, &values));
    TRY(emit_reshape(c, values, &shape, &values));
    TRY(emit_reshape(c, positions, &shape, &positions));
    set_result(c, 0, values);
    set_result(c, 1, positions);
    return INSITU_OK;
}
