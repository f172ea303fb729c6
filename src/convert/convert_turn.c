/* Elements in another order along dimensions: roll, flip, rot90; and the differences of neighbours. */
#include "convert/convert_int.h"

insitu_status emit_roll(converter_t *c, tensor_id_t x, uint32_t dim, sym_t shift, tensor_id_t *out) {
    sym_t size = size_of(c, x, dim), zero = sym_int(c->pool, 0);
    *out = x;
    if (sym_same(size, zero)) return INSITU_OK;
    sym_t moved = sym_mod(c->pool, shift, sym_max(c->pool, size, sym_int(c->pool, 1))); /* of no elements none moves */
    if (sym_same(moved, zero)) return INSITU_OK;
    sym_t cut = sym_sub(c->pool, size, moved);
    tensor_id_t parts[2];
    TRY(emit_slice(c, x, dim, cut, size, 1, &parts[0]));
    TRY(emit_slice(c, x, dim, zero, cut, 1, &parts[1]));
    return emit_concat(c, parts, 2, dim, out);
}

insitu_status convert_roll(converter_t *c) {
    tensor_id_t x;
    sym_t shifts[MAX_RANK];
    int64_t dims[MAX_RANK];
    uint32_t count, dim_count;
    TRY(take_tensor(c, "self", &x));
    TRY(take_syms(c, "shifts", shifts, &count));
    TRY(take_ints(c, "dims", dims, &dim_count));
    shape_t shape = tensor_of(c, x)->shape;
    if (dim_count == 0) {
        shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &shape)}};
        TRY(emit_reshape(c, x, &flat, &x));
        dims[dim_count++] = 0;
    }
    if (dim_count != count) return convert_fail(c, INSITU_FORMAT, "%u shifts for %u dims", count, dim_count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim;
        TRY(normal_dim(c, dims[i], rank_of(c, x), &dim));
        if (rank_of(c, x)) TRY(emit_roll(c, x, dim, shifts[i], &x));
    }
    TRY(emit_reshape(c, x, &shape, &x));
    set_only_result(c, x);
    return INSITU_OK;
}

insitu_status emit_flip(converter_t *c, tensor_id_t x, uint32_t dim, tensor_id_t *out) {
    sym_t item = sym_int(c->pool, dim);
    layer_draft_t flip = draft_of(LAYER_FLIP);
    draft_list(&flip, ATTR_DIMS, &item, 1);
    return emit_on(c, &flip, x, out);
}

insitu_status convert_flip(converter_t *c) {
    tensor_id_t x;
    int64_t dims[MAX_RANK];
    sym_t items[MAX_RANK];
    uint32_t count;
    TRY(take_tensor(c, "self", &x));
    TRY(take_ints(c, "dims", dims, &count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim;
        TRY(normal_dim(c, dims[i], rank_of(c, x), &dim));
        items[i] = sym_int(c->pool, dim);
    }
    if (count && rank_of(c, x)) {
        layer_draft_t flip = draft_of(LAYER_FLIP);
        draft_list(&flip, ATTR_DIMS, items, count);
        TRY(emit_on(c, &flip, x, &x));
    }
    set_only_result(c, x);
    return INSITU_OK;
}

/* flipud (param 0), fliplr (param 1): of that dimension */
insitu_status convert_flip_dim(converter_t *c) {
    tensor_id_t x;
    TRY(take_tensor(c, "self", &x));
    if (rank_of(c, x) <= (uint32_t)c->param)
        return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", rank_of(c, x));
    TRY(emit_flip(c, x, (uint32_t)c->param, &x));
    set_only_result(c, x);
    return INSITU_OK;
}

/* k quarter turns from the first of dims towards the second */
insitu_status convert_rot90(converter_t *c) {
    tensor_id_t x;
    int64_t turns, dims[MAX_RANK];
    uint32_t count, at[2];
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "k", 1, &turns));
    TRY(take_ints(c, "dims", dims, &count));
    if (count != 2) return convert_fail(c, INSITU_FORMAT, "%u dims", count);
    for (uint32_t i = 0; i < 2; i++) TRY(normal_dim(c, dims[i], rank_of(c, x), &at[i]));
    turns = (turns % 4 + 4) % 4;
    for (uint32_t i = 0; i < 2; i++) { /* the second is flipped before a turn, the first after three or half a turn */
        if (!(turns == 2 || (turns == 1 && i == 1) || (turns == 3 && i == 0))) continue;
        TRY(emit_flip(c, x, at[i], &x));
    }
    if (turns % 2) TRY(emit_swap(c, x, at[0], at[1], &x));
    set_only_result(c, x);
    return INSITU_OK;
}

insitu_status emit_of_neighbours(converter_t *c, op_kind_t op, tensor_id_t x, uint32_t dim, tensor_id_t *out) {
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1), size = size_of(c, x, dim);
    sym_t less = sym_max(c->pool, zero, sym_sub(c->pool, size, one));
    tensor_id_t later, earlier;
    TRY(emit_slice(c, x, dim, sym_min(c->pool, one, size), size, 1, &later));
    TRY(emit_slice(c, x, dim, zero, less, 1, &earlier));
    return emit_binary(c, op, later, earlier, out);
}

/* x[1:] - x[:-1] along dim, n times, after prepend and before append; of bools whether they differ */
insitu_status convert_diff(converter_t *c) {
    tensor_id_t x, extra, parts[3];
    int64_t times;
    uint32_t dim, count = 0;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "n", 1, &times));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_optional_tensor(c, "prepend", &extra));
    if (extra.index != NONE) parts[count++] = extra;
    parts[count++] = x;
    TRY(take_optional_tensor(c, "append", &extra));
    if (extra.index != NONE) parts[count++] = extra;
    for (uint32_t i = 0; i < count; i++) {
        if (dtype_of(c, parts[i]) != dtype_of(c, x)) return convert_unsupported(c, "operands of two dtypes");
    }
    if (rank_of(c, x) == 0 || times < 0) return convert_fail(c, INSITU_FORMAT, "no differences");
    TRY(emit_concat(c, parts, count, dim, &x));
    op_kind_t op = dtype_of(c, x) == DTYPE_BOOL ? OP_LOGICAL_XOR : OP_SUB;
    for (int64_t i = 0; i < times; i++) TRY(emit_of_neighbours(c, op, x, dim, &x));
    set_only_result(c, x);
    return INSITU_OK;
}
