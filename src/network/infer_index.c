/* Inference of assembly, movement and indexing: concat, pad, flip, triangle, index, gather. */
#include "network/network_int.h"

insitu_status infer_CONCAT(const infer_call_t *call) {
    uint32_t dim;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_same_dtypes(call, 0, call->operand_count));
    infer_as_operand(call, 0);
    shape_t *result = &call->results[0].shape;
    for (uint32_t i = 1; i < call->operand_count; i++) {
        const shape_t *part = &infer_operand(call, i)->shape;
        TRY(infer_rank(call, i, result->rank));
        for (uint32_t j = 0; j < part->rank; j++) {
            if (j != dim) TRY(infer_equal(call, part->sizes[j], result->sizes[j], "size of a part"));
        }
        result->sizes[dim] = sym_add(call->pool, result->sizes[dim], part->sizes[dim]);
    }
    return INSITU_OK;
}

insitu_status infer_PAD(const infer_call_t *call) {
    attr_t before = infer_attr(call, ATTR_BEFORE), after = infer_attr(call, ATTR_AFTER);
    op_kind_t op = infer_attr(call, ATTR_OP).op;
    infer_as_operand(call, 0);
    shape_t *result = &call->results[0].shape;
    if (before.list.count != result->rank || after.list.count != result->rank) {
        return infer_fail(call, INSITU_ARG, "before and after must have %u items", result->rank);
    }
    if (op != OP_CONSTANT_PAD && op != OP_REFLECT_PAD && op != OP_REPLICATE_PAD && op != OP_CIRCULAR_PAD) {
        return infer_fail(call, INSITU_ARG, "op %s is no way of padding", op_name(op));
    }
    if (op == OP_CONSTANT_PAD && infer_attr(call, ATTR_VALUE).kind != ATTR_KIND_SYM) {
        return infer_fail(call, INSITU_ARG, "value is missing");
    }
    for (uint32_t i = 0; i < result->rank; i++) {
        sym_t left = before.list.items[i], right = after.list.items[i], size = result->sizes[i];
        TRY(infer_size(call, left, 0, "before"));
        TRY(infer_size(call, right, 0, "after"));
        sym_t zero = sym_int(call->pool, 0);
        bool padded = !sym_same(left, zero) || !sym_same(right, zero);
        if (padded && op != OP_CONSTANT_PAD) {
            sym_t limit = op == OP_REFLECT_PAD ? sym_sub(call->pool, size, sym_int(call->pool, 1)) : size;
            if (op == OP_REPLICATE_PAD) {
                TRY(infer_size(call, size, 1, "padded size"));
            } else {
                TRY(infer_at_most(call, left, limit, "before"));
                TRY(infer_at_most(call, right, limit, "after"));
            }
        }
        result->sizes[i] = sym_add(call->pool, sym_add(call->pool, left, size), right);
    }
    return INSITU_OK;
}

insitu_status infer_FLIP(const infer_call_t *call) {
    uint32_t set, dims[MAX_RANK], count;
    TRY(infer_dims(call, ATTR_DIMS, &set, dims, &count));
    infer_as_operand(call, 0);
    return INSITU_OK;
}

insitu_status infer_TRIANGLE(const infer_call_t *call) {
    if (sym_kind_of(call->pool, infer_attr(call, ATTR_OFFSET).value) != SYM_KIND_INT)
        return infer_fail(call, INSITU_ARG, "offset must be an integer");
    op_kind_t op = infer_attr(call, ATTR_OP).op;
    if (op != OP_LOWER && op != OP_UPPER) return infer_fail(call, INSITU_ARG, "op must be lower or upper");
    if (infer_operand(call, 0)->shape.rank < 2) return infer_fail(call, INSITU_SHAPE, "rank 2 or more was expected");
    infer_as_operand(call, 0);
    return INSITU_OK;
}

static insitu_status need_indices(const infer_call_t *call, uint32_t operand) {
    dtype_t type = infer_operand(call, operand)->dtype;
    if (type == DTYPE_I64 || type == DTYPE_I32) return INSITU_OK;
    return infer_fail(call, INSITU_ARG, "operand %u must be of i64 or i32", operand);
}

/* The index tensors' dimensions take the place of the indexed ones if those are neighbours, else they come first. */
insitu_status infer_index_shape(const infer_call_t *call, uint32_t first, shape_t *out) {
    const shape_t *x = &infer_operand(call, 0)->shape;
    uint32_t set, dims[MAX_RANK], count;
    bool wrap;
    TRY(infer_dims(call, ATTR_DIMS, &set, dims, &count));
    TRY(infer_flag(call, ATTR_WRAP, &wrap));
    if (count == 0 || call->operand_count != first + count) {
        return infer_fail(call, INSITU_ARG, "%u index operands for %u dims", call->operand_count - first, count);
    }
    const shape_t *index = &infer_operand(call, first)->shape;
    bool neighbours = true;
    for (uint32_t i = 0; i < count; i++) {
        TRY(need_indices(call, first + i));
        TRY(infer_same_shape(call, index, &infer_operand(call, first + i)->shape, "size of an index"));
        if (i == 0) continue;
        if (dims[i] < dims[i - 1]) return infer_fail(call, INSITU_ARG, "dims must ascend");
        neighbours = neighbours && dims[i] == dims[i - 1] + 1;
    }
    if (x->rank - count + index->rank > MAX_RANK) {
        return infer_fail(call, INSITU_UNSUPPORTED, "the result has over %d dimensions", MAX_RANK);
    }
    uint32_t place = neighbours ? dims[0] : 0;
    *out = (shape_t){0};
    for (uint32_t i = 0; i < x->rank; i++) {
        for (uint32_t j = 0; i == place && j < index->rank; j++) out->sizes[out->rank++] = index->sizes[j];
        if (!((set >> i) & 1)) out->sizes[out->rank++] = x->sizes[i];
    }
    return INSITU_OK;
}

insitu_status infer_INDEX(const infer_call_t *call) {
    call->results[0].dtype = infer_operand(call, 0)->dtype;
    return infer_index_shape(call, 1, &call->results[0].shape);
}

insitu_status infer_GATHER(const infer_call_t *call) {
    const shape_t *x = &infer_operand(call, 0)->shape, *index = &infer_operand(call, 1)->shape;
    uint32_t dim;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(need_indices(call, 1));
    TRY(infer_rank(call, 1, x->rank));
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != dim) TRY(infer_at_most(call, index->sizes[i], x->sizes[i], "size of the index"));
    }
    call->results[0].dtype = infer_operand(call, 0)->dtype;
    call->results[0].shape = *index;
    return INSITU_OK;
}
