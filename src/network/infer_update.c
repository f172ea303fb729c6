/* Inference of updates: the result is operand 0's type; the source must have exactly the sizes of what it replaces. */
#include "network/network_int.h"

static insitu_status infer_part_update(const infer_call_t *call,
                                       insitu_status (*part_shape)(const infer_call_t *, shape_t *)) {
    shape_t part;
    TRY(infer_same_dtypes(call, 0, 2));
    TRY(part_shape(call, &part));
    infer_as_operand(call, 0);
    return infer_same_shape(call, &part, &infer_operand(call, 1)->shape, "size of the source");
}

insitu_status infer_SLICE_UPDATE(const infer_call_t *call) { return infer_part_update(call, infer_slice_shape); }

insitu_status infer_DIAGONAL_UPDATE(const infer_call_t *call) { return infer_part_update(call, infer_diagonal_shape); }

insitu_status infer_AS_STRIDED_UPDATE(const infer_call_t *call) { return infer_part_update(call, infer_strided_shape); }

insitu_status infer_INDEX_UPDATE(const infer_call_t *call) {
    shape_t part;
    bool accumulate;
    TRY(infer_same_dtypes(call, 0, 2));
    TRY(infer_flag(call, ATTR_ACCUMULATE, &accumulate));
    TRY(infer_index_shape(call, 2, &part));
    infer_as_operand(call, 0);
    return infer_same_shape(call, &part, &infer_operand(call, 1)->shape, "size of the source");
}

insitu_status infer_SCATTER_UPDATE(const infer_call_t *call) {
    const shape_t *x = &infer_operand(call, 0)->shape, *source = &infer_operand(call, 1)->shape,
                  *index = &infer_operand(call, 2)->shape;
    uint32_t dim;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_same_dtypes(call, 0, 2));
    dtype_t type = infer_operand(call, 2)->dtype;
    if (type != DTYPE_I64 && type != DTYPE_I32) return infer_fail(call, INSITU_ARG, "the index must be of i64 or i32");
    TRY(infer_rank(call, 1, x->rank));
    TRY(infer_rank(call, 2, x->rank));
    for (uint32_t i = 0; i < x->rank; i++) {
        TRY(infer_at_most(call, index->sizes[i], source->sizes[i], "size of the index"));
        if (i != dim) TRY(infer_at_most(call, index->sizes[i], x->sizes[i], "size of the index"));
    }
    infer_as_operand(call, 0);
    return INSITU_OK;
}

insitu_status infer_SHIFT_UPDATE(const infer_call_t *call) {
    const shape_t *x = &infer_operand(call, 0)->shape, *source = &infer_operand(call, 1)->shape;
    uint32_t dim;
    TRY(infer_dim(call, ATTR_DIM, &dim));
    TRY(infer_same_dtypes(call, 0, 2));
    TRY(infer_rank(call, 1, x->rank));
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != dim) TRY(infer_equal(call, source->sizes[i], x->sizes[i], "size of the source"));
    }
    infer_as_operand(call, 0);
    return INSITU_OK;
}

insitu_status infer_MASK_UPDATE(const infer_call_t *call) {
    const shape_t *x = &infer_operand(call, 0)->shape;
    TRY(infer_same_dtypes(call, 0, 2));
    if (infer_operand(call, 2)->dtype != DTYPE_BOOL) return infer_fail(call, INSITU_ARG, "the mask must be bool");
    TRY(infer_same_shape(call, x, &infer_operand(call, 1)->shape, "size of the source"));
    TRY(infer_same_shape(call, x, &infer_operand(call, 2)->shape, "size of the mask"));
    infer_as_operand(call, 0);
    return INSITU_OK;
}
