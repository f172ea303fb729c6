/* Tensors joined or split along a dimension that the operator names: hstack and its kin, hsplit and its kin; in a
 * matrix: block_diag, cartesian_prod. */
#include "convert/convert_int.h"

static insitu_status lift_to(converter_t *c, tensor_id_t x, uint32_t rank, tensor_id_t *out) {
    *out = x;
    while (rank_of(c, *out) < rank) TRY(emit_unsqueeze(c, *out, rank == 3 && rank_of(c, *out) == 2 ? 2 : 0, out));
    return INSITU_OK;
}

/* param: 1 hstack, 2 vstack, 3 dstack, 0 column_stack */
insitu_status convert_stack_along(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count, dim = c->param == 2 ? 0 : c->param == 3 ? 2 : 1;
    TRY(take_parts(c, &parts, &count));
    for (uint32_t i = 0; i < count; i++) {
        TRY(lift_to(c, parts[i], c->param ? (uint32_t)c->param : 1, &parts[i]));
        if (c->param == 0 && rank_of(c, parts[i]) == 1) TRY(emit_unsqueeze(c, parts[i], 1, &parts[i]));
    }
    if (c->param == 1 && rank_of(c, parts[0]) == 1) dim = 0;
    TRY(emit_concat(c, parts, count, dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* hsplit, vsplit, dsplit into equal parts or at indices; param: the dimension, 1 standing for 0 of a vector */
insitu_status convert_split_along(converter_t *c) {
    tensor_id_t x, result;
    sym_t at[MAX_RANK], start = sym_int(c->pool, 0), end;
    TRY(take_tensor(c, "self", &x));
    uint32_t dim = (uint32_t)c->param, parts = c->node->result_count;
    if (dim == 1 && rank_of(c, x) == 1) dim = 0;
    if (dim >= rank_of(c, x)) return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", rank_of(c, x));
    const graph_arg_t *list = take_arg(c, "indices");
    if (list->kind == ARG_LIST && list->list.count + 1 != parts) return convert_fail(c, INSITU_FORMAT, "wrong parts");
    for (uint32_t i = 0; i < parts; i++) {
        sym_t size = size_of(c, x, dim);
        if (list->kind != ARG_LIST) {
            end = sym_floordiv(c->pool, sym_mul(c->pool, size, sym_int(c->pool, i + 1)), sym_int(c->pool, parts));
        } else if (i + 1 == parts) {
            end = size;
        } else {
            if (list->list.items[i].kind != ARG_SYM) return convert_fail(c, INSITU_FORMAT, "an index is no number");
            end = list->list.items[i].sym;
        }
        at[0] = start;
        at[1] = end;
        clamp_slice(c, size, &at[0], &at[1]);
        TRY(emit_slice(c, x, dim, at[0], at[1], 1, &result));
        set_result(c, i, result);
        start = end;
    }
    return INSITU_OK;
}

/* block_diag: matrices along the diagonal, 0 elsewhere; a vector is a row */
insitu_status convert_block_diag(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count;
    sym_t zero = sym_int(c->pool, 0), width = zero, start = zero;
    TRY(take_parts(c, &parts, &count));
    for (uint32_t i = 0; i < count; i++) {
        TRY(lift_to(c, parts[i], 2, &parts[i]));
        width = sym_add(c->pool, width, size_of(c, parts[i], 1));
    }
    for (uint32_t i = 0; i < count; i++) {
        sym_t end = sym_add(c->pool, start, size_of(c, parts[i], 1));
        sym_t before[2] = {zero, start}, after[2] = {zero, sym_sub(c->pool, width, end)};
        layer_draft_t pad = draft_of(LAYER_PAD);
        draft_list(&pad, ATTR_BEFORE, before, 2);
        draft_list(&pad, ATTR_AFTER, after, 2);
        draft_op(&pad, OP_CONSTANT_PAD);
        draft_sym(&pad, ATTR_VALUE, zero);
        if (count > 1) TRY(emit_on(c, &pad, parts[i], &parts[i]));
        start = end;
    }
    TRY(emit_concat(c, parts, count, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* cartesian_prod: a row for each choice of one element of each vector, the last changing first; of one vector itself */
insitu_status convert_cartesian_prod(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count;
    shape_t grid = {0};
    TRY(take_parts(c, &parts, &count));
    if (count > MAX_RANK) return convert_unsupported(c, "over %d vectors", MAX_RANK);
    for (uint32_t i = 0; i < count; i++) {
        if (rank_of(c, parts[i]) != 1) return convert_fail(c, INSITU_FORMAT, "a tensor that is no vector");
        grid.sizes[grid.rank++] = size_of(c, parts[i], 0);
    }
    shape_t column = {.rank = 2, .sizes = {shape_numel(c->pool, &grid), sym_int(c->pool, 1)}};
    for (uint32_t i = 0; i < count && count > 1; i++) {
        shape_t line = {.rank = count};
        for (uint32_t j = 0; j < count; j++) line.sizes[j] = i == j ? grid.sizes[i] : sym_int(c->pool, 1);
        TRY(emit_reshape(c, parts[i], &line, &parts[i]));
        TRY(emit_expand(c, parts[i], &grid, &parts[i]));
        TRY(emit_reshape(c, parts[i], &column, &parts[i]));
    }
    TRY(emit_concat(c, parts, count, 1, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
