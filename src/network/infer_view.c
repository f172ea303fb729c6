/* Inference of views: reshape, permute, slice, expand, diagonal, unfold, as_strided, bitcast. */
#include "network/network_int.h"

insitu_status infer_RESHAPE(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0);
    attr_t sizes = infer_attr(call, ATTR_SIZES);
    shape_t *result = &call->results[0].shape;
    call->results[0].dtype = x->dtype;
    result->rank = sizes.list.count;
    for (uint32_t i = 0; i < result->rank; i++) {
        TRY(infer_size(call, sizes.list.items[i], 0, "size"));
        result->sizes[i] = sizes.list.items[i];
    }
    TRY(infer_bytes(call, 0));
    return infer_equal(call, shape_numel(call->pool, result), shape_numel(call->pool, &x->shape), "number of elements");
}

insitu_status infer_PERMUTE(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0);
    uint32_t set, axes[MAX_RANK], count;
    TRY(infer_dims(call, ATTR_AXES, &set, axes, &count));
    if (count != x->shape.rank) return infer_fail(call, INSITU_ARG, "axes must name every dimension once");
    call->results[0].dtype = x->dtype;
    call->results[0].shape.rank = count;
    for (uint32_t i = 0; i < count; i++) call->results[0].shape.sizes[i] = x->shape.sizes[axes[i]];
    return INSITU_OK;
}

insitu_status infer_slice_shape(const infer_call_t *call, shape_t *out) {
    const network_tensor_t *x = infer_operand(call, 0);
    uint32_t dim;
    int64_t step;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_int(call, ATTR_STEP, 1, INT64_MAX, &step));
    sym_t start = infer_attr(call, ATTR_START).value, end = infer_attr(call, ATTR_END).value;
    TRY(infer_size(call, start, 0, "start"));
    TRY(infer_size(call, end, 0, "end"));
    TRY(infer_at_most(call, start, end, "start"));
    TRY(infer_at_most(call, end, x->shape.sizes[dim], "end"));
    sym_t span = sym_sub(call->pool, end, start);
    if (step != 1) {
        sym_t padded = sym_sub(call->pool, span, sym_int(call->pool, 1));
        span = sym_add(call->pool, sym_floordiv(call->pool, padded, sym_int(call->pool, step)), sym_int(call->pool, 1));
    }
    *out = x->shape;
    out->sizes[dim] = span;
    return INSITU_OK;
}

insitu_status infer_SLICE(const infer_call_t *call) {
    call->results[0].dtype = infer_operand(call, 0)->dtype;
    return infer_slice_shape(call, &call->results[0].shape);
}

insitu_status infer_EXPAND(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0);
    attr_t sizes = infer_attr(call, ATTR_SIZES);
    if (sizes.list.count != x->shape.rank) {
        return infer_fail(call, INSITU_SHAPE, "%u sizes where %u were expected", sizes.list.count, x->shape.rank);
    }
    infer_as_operand(call, 0);
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        int64_t size;
        TRY(infer_size(call, sizes.list.items[i], 0, "size"));
        if (!sym_constant(call->pool, x->shape.sizes[i], &size) || size != 1) {
            TRY(infer_equal(call, x->shape.sizes[i], sizes.list.items[i], "size"));
        }
        call->results[0].shape.sizes[i] = sizes.list.items[i];
    }
    return INSITU_OK;
}

insitu_status infer_diagonal_shape(const infer_call_t *call, shape_t *out) {
    const shape_t *x = &infer_operand(call, 0)->shape;
    uint32_t dim1, dim2;
    int64_t offset;
    TRY(infer_dim(call, ATTR_DIM1, &dim1));
    TRY(infer_dim(call, ATTR_DIM2, &dim2));
    TRY(infer_int(call, ATTR_OFFSET, INT32_MIN, INT32_MAX, &offset));
    if (dim1 == dim2) return infer_fail(call, INSITU_ARG, "dim1 and dim2 must differ");
    out->rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != dim1 && i != dim2) out->sizes[out->rank++] = x->sizes[i];
    }
    sym_t zero = sym_int(call->pool, 0);
    sym_t rows = sym_sub(call->pool, x->sizes[dim1], sym_int(call->pool, offset < 0 ? -offset : 0));
    sym_t columns = sym_sub(call->pool, x->sizes[dim2], sym_int(call->pool, offset > 0 ? offset : 0));
    out->sizes[out->rank++] = sym_max(call->pool, zero, sym_min(call->pool, rows, columns));
    return INSITU_OK;
}

insitu_status infer_DIAGONAL(const infer_call_t *call) {
    call->results[0].dtype = infer_operand(call, 0)->dtype;
    return infer_diagonal_shape(call, &call->results[0].shape);
}

insitu_status infer_UNFOLD(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0);
    uint32_t dim;
    int64_t size, step;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_int(call, ATTR_SIZE, 0, INT64_MAX, &size));
    TRY(infer_int(call, ATTR_STEP, 1, INT64_MAX, &step));
    TRY(infer_at_most(call, sym_int(call->pool, size), x->shape.sizes[dim], "size"));
    if (x->shape.rank >= MAX_RANK) return infer_fail(call, INSITU_UNSUPPORTED, "rank over %d", MAX_RANK);
    infer_as_operand(call, 0);
    shape_t *result = &call->results[0].shape;
    sym_t last = sym_sub(call->pool, x->shape.sizes[dim], sym_int(call->pool, size));
    sym_t windows = sym_floordiv(call->pool, last, sym_int(call->pool, step));
    result->sizes[dim] = sym_add(call->pool, windows, sym_int(call->pool, 1));
    result->sizes[result->rank++] = sym_int(call->pool, size);
    return INSITU_OK;
}

/* The last element that the view reaches lies in x. */
insitu_status infer_strided_shape(const infer_call_t *call, shape_t *out) {
    attr_t sizes = infer_attr(call, ATTR_SIZES), strides = infer_attr(call, ATTR_STRIDES);
    sym_t end = infer_attr(call, ATTR_OFFSET).value, one = sym_int(call->pool, 1);
    bool empty = false;
    TRY(infer_rank(call, 0, 1));
    if (sizes.list.count != strides.list.count) {
        return infer_fail(call, INSITU_SHAPE, "%u sizes and %u strides", sizes.list.count, strides.list.count);
    }
    TRY(infer_size(call, end, 0, "offset"));
    out->rank = sizes.list.count;
    for (uint32_t i = 0; i < out->rank; i++) {
        int64_t size;
        TRY(infer_size(call, sizes.list.items[i], 0, "size"));
        TRY(infer_size(call, strides.list.items[i], 0, "stride"));
        out->sizes[i] = sizes.list.items[i];
        empty |= sym_constant(call->pool, out->sizes[i], &size) && size == 0;
        sym_t steps = sym_sub(call->pool, out->sizes[i], one);
        end = sym_add(call->pool, end, sym_mul(call->pool, steps, strides.list.items[i]));
    }
    if (empty) return INSITU_OK;
    return infer_at_most(call, sym_add(call->pool, end, one), infer_operand(call, 0)->shape.sizes[0], "extent");
}

insitu_status infer_AS_STRIDED(const infer_call_t *call) {
    call->results[0].dtype = infer_operand(call, 0)->dtype;
    return infer_strided_shape(call, &call->results[0].shape);
}

insitu_status infer_BITCAST(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0);
    dtype_t type = infer_attr(call, ATTR_DTYPE).dtype;
    uint32_t from = dtype_size(x->dtype), to = dtype_size(type), last = x->shape.rank - 1;
    infer_as_operand(call, 0);
    call->results[0].dtype = type;
    if (from == to) return INSITU_OK;
    if (x->shape.rank == 0) return infer_fail(call, INSITU_SHAPE, "a 0-d tensor has no dimension to resize");
    sym_t *size = &call->results[0].shape.sizes[last];
    if (from > to) {
        *size = sym_mul(call->pool, *size, sym_int(call->pool, from / to));
        return INSITU_OK;
    }
    sym_t ratio = sym_int(call->pool, to / from);
    TRY(infer_equal(call, sym_mod(call->pool, *size, ratio), sym_int(call->pool, 0), "rest of the last size"));
    *size = sym_floordiv(call->pool, *size, ratio);
    return INSITU_OK;
}
