/* Views that keep all elements: reshapes, permutations, expansions; diagonal and unfold. */
#include "convert/convert_int.h"

/* One size of -1 is what the others leave. */
static insitu_status resolve_sizes(converter_t *c, tensor_id_t x, shape_t *shape) {
    sym_t known = sym_int(c->pool, 1);
    uint32_t open = NONE;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (!is_int_constant(c, shape->sizes[i], -1)) {
            known = sym_mul(c->pool, known, shape->sizes[i]);
        } else if (open == NONE) {
            open = i;
        } else {
            return convert_fail(c, INSITU_FORMAT, "two sizes are -1");
        }
    }
    if (open == NONE) return INSITU_OK;
    if (is_int_constant(c, known, 0)) return convert_fail(c, INSITU_FORMAT, "a size of -1 beside one of 0");
    shape->sizes[open] = sym_floordiv(c->pool, shape_numel(c->pool, &tensor_of(c, x)->shape), known);
    return INSITU_OK;
}

static insitu_status finish_reshape(converter_t *c, tensor_id_t x, shape_t *shape) {
    tensor_id_t result;
    TRY(resolve_sizes(c, x, shape));
    TRY(emit_reshape(c, x, shape, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* view, reshape, _unsafe_view; view_as, reshape_as */
insitu_status convert_reshape(converter_t *c) {
    tensor_id_t x, other;
    shape_t shape = {0};
    TRY(take_tensor(c, "self", &x));
    TRY(take_optional_tensor(c, "other", &other));
    if (other.index != NONE) {
        shape = tensor_of(c, other)->shape;
    } else {
        TRY(take_syms(c, has_arg(c, "shape") ? "shape" : "size", shape.sizes, &shape.rank));
    }
    return finish_reshape(c, x, &shape);
}

insitu_status convert_flatten(converter_t *c) {
    tensor_id_t x;
    uint32_t start, end;
    TRY(take_tensor(c, "self", &x));
    const shape_t *from = &tensor_of(c, x)->shape;
    TRY(take_dim(c, "start_dim", 0, from->rank, &start));
    TRY(take_dim(c, "end_dim", -1, from->rank, &end));
    if (start > end) return convert_fail(c, INSITU_FORMAT, "start_dim comes after end_dim");
    shape_t shape = {0};
    for (uint32_t i = 0; i < start; i++) shape.sizes[shape.rank++] = from->sizes[i];
    sym_t product = sym_int(c->pool, 1);
    for (uint32_t i = start; i <= end && i < from->rank; i++) product = sym_mul(c->pool, product, from->sizes[i]);
    shape.sizes[shape.rank++] = product;
    for (uint32_t i = end + 1; i < from->rank; i++) shape.sizes[shape.rank++] = from->sizes[i];
    return finish_reshape(c, x, &shape);
}

insitu_status convert_unflatten(converter_t *c) {
    tensor_id_t x;
    uint32_t dim, count;
    sym_t sizes[MAX_RANK];
    TRY(take_tensor(c, "self", &x));
    const shape_t *from = &tensor_of(c, x)->shape;
    TRY(take_dim(c, "dim", 0, from->rank, &dim));
    TRY(take_syms(c, "sizes", sizes, &count));
    if (from->rank == 0 || count == 0) return convert_fail(c, INSITU_FORMAT, "nothing to unflatten");
    if (from->rank - 1 + count > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    shape_t shape = {0};
    for (uint32_t i = 0; i < from->rank; i++) {
        for (uint32_t j = 0; i == dim && j < count; j++) shape.sizes[shape.rank++] = sizes[j];
        if (i != dim) shape.sizes[shape.rank++] = from->sizes[i];
    }
    return finish_reshape(c, x, &shape);
}

insitu_status convert_unsqueeze(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", 0, rank_of(c, x) + 1, &dim));
    TRY(emit_unsqueeze(c, x, dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* All dimensions of size 1, or those named. */
insitu_status convert_squeeze(converter_t *c) {
    tensor_id_t x;
    uint32_t set;
    TRY(take_tensor(c, "self", &x));
    const shape_t *from = &tensor_of(c, x)->shape;
    TRY(take_dims(c, "dim", from->rank, &set));
    const graph_arg_t *dims = take_arg(c, "dim");
    if (dims->kind == ARG_LIST && dims->list.count == 0) set = 0;
    shape_t shape = {0};
    for (uint32_t i = 0; i < from->rank; i++) {
        if (((set >> i) & 1) && is_int_constant(c, from->sizes[i], 1)) continue;
        shape.sizes[shape.rank++] = from->sizes[i];
    }
    return finish_reshape(c, x, &shape);
}

static insitu_status finish_permute(converter_t *c, tensor_id_t x, const uint32_t *axes) {
    tensor_id_t result;
    TRY(emit_permute(c, x, axes, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_permute(converter_t *c) {
    tensor_id_t x;
    int64_t dims[MAX_RANK];
    uint32_t count, axes[MAX_RANK];
    TRY(take_tensor(c, "self", &x));
    TRY(take_ints(c, "dims", dims, &count));
    if (count != rank_of(c, x))
        return convert_fail(c, INSITU_FORMAT, "%u dims of a tensor of rank %u", count, rank_of(c, x));
    for (uint32_t i = 0; i < count; i++) TRY(normal_dim(c, dims[i], count, &axes[i]));
    return finish_permute(c, x, axes);
}

/* transpose.int, swapaxes, swapdims: the two dims' names differ; t, mT: the last two */
insitu_status convert_transpose(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim1 = 0, dim2 = 0;
    TRY(take_tensor(c, "self", &x));
    uint32_t rank = rank_of(c, x);
    if (c->param) {
        dim1 = rank >= 2 ? rank - 2 : 0;
        dim2 = rank >= 2 ? rank - 1 : 0;
    } else {
        TRY(take_dim(c, has_arg(c, "dim0") ? "dim0" : "axis0", 0, rank, &dim1));
        TRY(take_dim(c, has_arg(c, "dim1") ? "dim1" : "axis1", 0, rank, &dim2));
    }
    TRY(emit_swap(c, x, dim1, dim2, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* numpy_T: all dimensions in reverse */
insitu_status convert_reverse_dims(converter_t *c) {
    tensor_id_t x;
    uint32_t axes[MAX_RANK];
    TRY(take_tensor(c, "self", &x));
    for (uint32_t i = 0; i < rank_of(c, x); i++) axes[i] = rank_of(c, x) - 1 - i;
    return finish_permute(c, x, axes);
}

insitu_status convert_movedim(converter_t *c) {
    tensor_id_t x;
    int64_t from[MAX_RANK], to[MAX_RANK];
    uint32_t count, to_count, axes[MAX_RANK], used = 0;
    TRY(take_tensor(c, "self", &x));
    uint32_t rank = rank_of(c, x);
    TRY(take_ints(c, "source", from, &count));
    TRY(take_ints(c, "destination", to, &to_count));
    if (count != to_count) return convert_fail(c, INSITU_FORMAT, "source and destination differ in length");
    for (uint32_t i = 0; i < rank; i++) axes[i] = NONE;
    for (uint32_t i = 0; i < count && rank; i++) {
        uint32_t source, destination;
        TRY(normal_dim(c, from[i], rank, &source));
        TRY(normal_dim(c, to[i], rank, &destination));
        axes[destination] = source;
        used |= 1u << source;
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (axes[i] != NONE) continue;
        while ((used >> next) & 1) next++;
        axes[i] = next++;
    }
    return finish_permute(c, x, axes);
}

/* expand, broadcast_to: -1 keeps a size; expand_as */
insitu_status convert_expand(converter_t *c) {
    tensor_id_t x, other, result;
    shape_t shape = {0};
    TRY(take_tensor(c, "self", &x));
    TRY(take_optional_tensor(c, "other", &other));
    if (other.index != NONE) {
        shape = tensor_of(c, other)->shape;
    } else {
        TRY(take_syms(c, "size", shape.sizes, &shape.rank));
    }
    uint32_t rank = rank_of(c, x);
    if (shape.rank < rank) return convert_fail(c, INSITU_FORMAT, "fewer sizes than dimensions");
    for (uint32_t i = 0; i < rank; i++) {
        sym_t *size = &shape.sizes[shape.rank - rank + i];
        if (is_int_constant(c, *size, -1)) *size = size_of(c, x, i);
    }
    TRY(emit_expand(c, x, &shape, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status emit_diagonal(converter_t *c, tensor_id_t x, uint32_t dim1, uint32_t dim2, int64_t offset,
                            tensor_id_t *out) {
    layer_draft_t diagonal = draft_of(LAYER_DIAGONAL);
    draft_int(c->pool, &diagonal, ATTR_DIM1, dim1);
    draft_int(c->pool, &diagonal, ATTR_DIM2, dim2);
    draft_int(c->pool, &diagonal, ATTR_OFFSET, offset);
    return emit_on(c, &diagonal, x, out);
}

insitu_status convert_diagonal(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim1, dim2;
    int64_t offset;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "offset", 0, &offset));
    TRY(take_dim(c, "dim1", 0, rank_of(c, x), &dim1));
    TRY(take_dim(c, "dim2", 1, rank_of(c, x), &dim2));
    TRY(emit_diagonal(c, x, dim1, dim2, offset, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
