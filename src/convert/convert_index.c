/* Reads by index: embedding, index.Tensor, index_select, gather. */
#include "convert/convert_int.h"

/* Index tensors broadcast to common sizes; None takes all of a dimension. A bool mask takes as many dimensions as it
 * has, and stands alone. */
insitu_status take_indexing(converter_t *c, tensor_id_t x, indexing_t *out) {
    tensor_id_t *items;
    uint32_t count, dim = 0;
    shape_t common = {0};
    *out = (indexing_t){.mask = NO_TENSOR};
    TRY(take_tensors(c, "indices", &items, &count));
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].index == NONE) {
            dim++;
            continue;
        }
        dtype_t type = dtype_of(c, items[i]);
        if (out->mask.index != NONE || (type == DTYPE_BOOL && out->count)) {
            return convert_unsupported(c, "a bool mask beside another index");
        }
        if (dim >= rank_of(c, x)) return convert_fail(c, INSITU_FORMAT, "more indices than dimensions");
        if (type == DTYPE_BOOL) {
            out->mask = items[i];
            out->mask_dim = dim;
            dim += rank_of(c, items[i]);
            continue;
        }
        if (type != DTYPE_I64 && type != DTYPE_I32) return convert_unsupported(c, "an index of %s", dtype_name(type));
        TRY(broadcast_shapes(c, &common, &tensor_of(c, items[i])->shape, &common));
        out->dims[out->count] = sym_int(c->pool, dim++);
        out->indices[out->count++] = items[i];
    }
    for (uint32_t i = 0; i < out->count; i++) TRY(emit_expand(c, out->indices[i], &common, &out->indices[i]));
    if (out->count || out->mask.index != NONE) return INSITU_OK;
    return convert_fail(c, INSITU_FORMAT, "no index");
}

static insitu_status emit_index(converter_t *c, tensor_id_t x, const tensor_id_t *indices, const sym_t *dims,
                                uint32_t count, bool wrap, tensor_id_t *out) {
    tensor_id_t operands[1 + MAX_RANK] = {x};
    for (uint32_t i = 0; i < count; i++) operands[1 + i] = indices[i];
    layer_draft_t index = draft_of(LAYER_INDEX);
    draft_list(&index, ATTR_DIMS, dims, count);
    draft_flag(c->pool, &index, ATTR_WRAP, wrap);
    return emit(c, &index, operands, 1 + count, out);
}

insitu_status emit_index_dim(converter_t *c, tensor_id_t x, tensor_id_t index, uint32_t dim, tensor_id_t *out) {
    sym_t dims = sym_int(c->pool, dim);
    return emit_index(c, x, &index, &dims, 1, false, out);
}

insitu_status convert_index(converter_t *c) {
    tensor_id_t x, result;
    indexing_t at;
    TRY(take_tensor(c, "self", &x));
    TRY(take_indexing(c, x, &at));
    if (at.mask.index != NONE)
        TRY(emit_masked(c, x, at.mask, at.mask_dim, &result));
    else
        TRY(emit_index(c, x, at.indices, at.dims, at.count, true, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_embedding(converter_t *c) {
    tensor_id_t weight, indices, result;
    TRY(take_tensor(c, "weight", &weight));
    TRY(take_tensor(c, "indices", &indices));
    TRY(emit_index_dim(c, weight, indices, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_index_select(converter_t *c) {
    tensor_id_t x, lifted, index, result;
    uint32_t dim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    TRY(take_tensor(c, "index", &index));
    TRY(emit_at_least_1d(c, x, &lifted));
    TRY(emit_at_least_1d(c, index, &index));
    TRY(emit_index_dim(c, lifted, index, dim, &result));
    if (rank_of(c, x) == 0) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status emit_gather(converter_t *c, tensor_id_t x, tensor_id_t index, uint32_t dim, tensor_id_t *out) {
    tensor_id_t operands[2] = {x, index};
    layer_draft_t gather = draft_of(LAYER_GATHER);
    draft_int(c->pool, &gather, ATTR_DIM, dim);
    return emit(c, &gather, operands, 2, out);
}

insitu_status convert_gather(converter_t *c) {
    tensor_id_t x, index, operands[2], result;
    uint32_t dim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    TRY(take_tensor(c, "index", &index));
    TRY(emit_at_least_1d(c, x, &operands[0]));
    TRY(emit_at_least_1d(c, index, &operands[1]));
    TRY(emit_gather(c, operands[0], operands[1], dim, &result));
    if (rank_of(c, index) == 0) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* gather with the index broadcast to x save along dim, where it is taken modulo x's size; without a dim both are
 * flattened, and no index wraps */
insitu_status convert_take_along(converter_t *c) {
    tensor_id_t x, index, operands[2], result;
    uint32_t dim = 0;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "indices", &index));
    if (has_arg(c, "dim")) {
        TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
        shape_t around = tensor_of(c, x)->shape, wanted = tensor_of(c, index)->shape;
        if (around.rank != wanted.rank || around.rank == 0) return convert_fail(c, INSITU_FORMAT, "ranks differ");
        sym_t size = around.sizes[dim], count = wanted.sizes[dim];
        around.sizes[dim] = wanted.sizes[dim] = sym_int(c->pool, 1);
        TRY(broadcast_shapes(c, &around, &wanted, &around));
        around.sizes[dim] = size;
        TRY(emit_expand(c, x, &around, &operands[0]));
        around.sizes[dim] = count;
        TRY(emit_scalar(c, OP_REMAINDER, index, size, false, &index));
        TRY(emit_expand(c, index, &around, &operands[1]));
    } else {
        shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
        TRY(emit_reshape(c, x, &flat, &operands[0]));
        flat.sizes[0] = shape_numel(c->pool, &tensor_of(c, index)->shape);
        TRY(emit_reshape(c, index, &flat, &operands[1]));
    }
    TRY(emit_gather(c, operands[0], operands[1], dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* take: elements of the flattened tensor, in the index's sizes */
insitu_status convert_take(converter_t *c) {
    tensor_id_t x, index, result;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "index", &index));
    shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
    sym_t zero = sym_int(c->pool, 0);
    TRY(emit_reshape(c, x, &flat, &x));
    TRY(emit_index(c, x, &index, &zero, 1, true, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
