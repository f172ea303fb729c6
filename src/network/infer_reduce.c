/* Inference of reductions and of layers over rows: reduce, reduce_index, scan, softmax, norms, sort, topk. */
#include "network/network_int.h"

static insitu_status need_float(const infer_call_t *call, uint32_t operand) {
    if (!dtype_is_integral(infer_operand(call, operand)->dtype)) return INSITU_OK;
    return infer_fail(call, INSITU_ARG, "operand %u must be of floats", operand);
}

/* Minima and maxima of no elements don't exist. */
static insitu_status need_elements(const infer_call_t *call, uint32_t dim) {
    return infer_size(call, infer_operand(call, 0)->shape.sizes[dim], 1, "size of the reduced dimension");
}

static void drop_axes(const infer_call_t *call, uint32_t set, bool keep, shape_t *out) {
    const shape_t *x = &infer_operand(call, 0)->shape;
    *out = (shape_t){0};
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = (set >> i) & 1;
        if (reduced && !keep) continue;
        out->sizes[out->rank++] = reduced ? sym_int(call->pool, 1) : x->sizes[i];
    }
}

static insitu_status infer_reduce_dtype(const infer_call_t *call, op_kind_t op, uint32_t count) {
    dtype_t type = infer_operand(call, 0)->dtype;
    call->results[0].dtype = type;
    if (op == OP_ANY || op == OP_ALL) call->results[0].dtype = DTYPE_BOOL;
    if (op == OP_ARGMAX || op == OP_ARGMIN) {
        if (count != 1) return infer_fail(call, INSITU_ARG, "op %s reduces one axis", op_name(op));
        call->results[0].dtype = DTYPE_I64;
    }
    if ((op == OP_SUM || op == OP_PROD) && type == DTYPE_BOOL) {
        return infer_fail(call, INSITU_ARG, "op %s does not take bool", op_name(op));
    }
    if (op == OP_MEAN || op == OP_VAR) TRY(need_float(call, 0));
    if (op == OP_VAR) {
        double correction;
        attr_t given = infer_attr(call, ATTR_CORRECTION);
        if (given.kind != ATTR_KIND_SYM || !sym_constant_float(call->pool, given.value, &correction)) {
            return infer_fail(call, INSITU_ARG, "op var needs a constant correction");
        }
    }
    return INSITU_OK;
}

insitu_status infer_REDUCE(const infer_call_t *call) {
    uint32_t set, axes[MAX_RANK], count;
    bool keep;
    TRY(infer_dims(call, ATTR_AXES, &set, axes, &count));
    TRY(infer_flag(call, ATTR_KEEPDIM, &keep));
    op_kind_t op = infer_attr(call, ATTR_OP).op;
    TRY(infer_reduce_dtype(call, op, count));
    if (op == OP_AMAX || op == OP_AMIN || op == OP_ARGMAX || op == OP_ARGMIN) {
        for (uint32_t i = 0; i < count; i++) TRY(need_elements(call, axes[i]));
    }
    drop_axes(call, set, keep, &call->results[0].shape);
    return INSITU_OK;
}

insitu_status infer_REDUCE_INDEX(const infer_call_t *call) {
    uint32_t dim;
    bool keep;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_flag(call, ATTR_KEEPDIM, &keep));
    op_kind_t op = infer_attr(call, ATTR_OP).op;
    if (op != OP_AMAX && op != OP_AMIN) return infer_fail(call, INSITU_ARG, "op must be amax or amin");
    TRY(need_elements(call, dim));
    call->results[0].dtype = infer_operand(call, 0)->dtype;
    call->results[1].dtype = DTYPE_I64;
    drop_axes(call, 1u << dim, keep, &call->results[0].shape);
    call->results[1].shape = call->results[0].shape;
    return INSITU_OK;
}

insitu_status infer_SCAN(const infer_call_t *call) {
    uint32_t dim;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    if (infer_operand(call, 0)->dtype == DTYPE_BOOL) return infer_fail(call, INSITU_ARG, "bool must be cast first");
    if (infer_attr(call, ATTR_OP).op == OP_LOGCUMSUMEXP) TRY(need_float(call, 0));
    infer_as_operand(call, 0);
    return INSITU_OK;
}

insitu_status infer_SOFTMAX(const infer_call_t *call) {
    uint32_t dim;
    bool is_log;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_flag(call, ATTR_LOG, &is_log));
    TRY(need_float(call, 0));
    infer_as_operand(call, 0);
    return INSITU_OK;
}

/* Weights have the sizes of operand 0's last count dimensions. */
static insitu_status infer_norm(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0);
    int64_t count;
    double eps;
    TRY(infer_int(call, ATTR_COUNT, 1, x->shape.rank, &count));
    if (!sym_constant_float(call->pool, infer_attr(call, ATTR_EPS).value, &eps)) {
        return infer_fail(call, INSITU_ARG, "eps must be a constant");
    }
    TRY(need_float(call, 0));
    TRY(infer_same_dtypes(call, 0, call->operand_count));
    shape_t row = {.rank = (uint32_t)count};
    for (uint32_t i = 0; i < row.rank; i++) row.sizes[i] = x->shape.sizes[x->shape.rank - row.rank + i];
    for (uint32_t i = 1; i < call->operand_count; i++) {
        TRY(infer_same_shape(call, &row, &infer_operand(call, i)->shape, "size of a weight"));
    }
    infer_as_operand(call, 0);
    return INSITU_OK;
}

insitu_status infer_LAYER_NORM(const infer_call_t *call) { return infer_norm(call); }

insitu_status infer_RMS_NORM(const infer_call_t *call) { return infer_norm(call); }

insitu_status infer_SORT(const infer_call_t *call) {
    uint32_t dim;
    bool descending;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_flag(call, ATTR_DESCENDING, &descending));
    infer_as_operand(call, 0);
    infer_as_operand(call, 1);
    call->results[1].dtype = DTYPE_I64;
    return INSITU_OK;
}

insitu_status infer_TOPK(const infer_call_t *call) {
    uint32_t dim;
    bool descending;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_flag(call, ATTR_DESCENDING, &descending));
    sym_t count = infer_attr(call, ATTR_COUNT).value;
    TRY(infer_size(call, count, 0, "count"));
    TRY(infer_at_most(call, count, infer_operand(call, 0)->shape.sizes[dim], "count"));
    for (uint32_t i = 0; i < 2; i++) {
        infer_as_operand(call, i);
        call->results[i].shape.sizes[dim] = count;
    }
    call->results[1].dtype = DTYPE_I64;
    return INSITU_OK;
}
