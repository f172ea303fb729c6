/* Writes of a part, functional: slice_scatter, select_scatter, diagonal_scatter, and unfold_backward, which adds windows
 * to zeros. The source is cast to x's dtype and must have the part's sizes. */
#include "convert/convert_int.h"

insitu_status emit_slice_update(converter_t *c, tensor_id_t x, tensor_id_t source, uint32_t dim, sym_t start, sym_t end,
                                int64_t step, tensor_id_t *out) {
    tensor_id_t operands[2] = {x, source};
    if (step == 1 && is_int_constant(c, start, 0) && sym_same(end, size_of(c, x, dim))) {
        *out = source;
        return INSITU_OK;
    }
    if (sym_same(start, end)) {
        *out = x;
        return INSITU_OK;
    }
    layer_draft_t update = draft_of(LAYER_SLICE_UPDATE);
    draft_int(c->pool, &update, ATTR_DIM, dim);
    draft_sym(&update, ATTR_START, start);
    draft_sym(&update, ATTR_END, end);
    draft_int(c->pool, &update, ATTR_STEP, step);
    return emit(c, &update, operands, 2, out);
}

static insitu_status finish_slice_update(converter_t *c, tensor_id_t x, tensor_id_t source, uint32_t dim, sym_t start,
                                         sym_t end, int64_t step) {
    tensor_id_t result;
    TRY(emit_slice_update(c, x, source, dim, start, end, step, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status check_source(converter_t *c, const shape_t *part, tensor_id_t source) {
    const shape_t *given = &tensor_of(c, source)->shape;
    if (shape_equal(c->pool, part, given) != TRUTH_FALSE) return INSITU_OK;
    text_t sentence;
    text_init(&sentence);
    text_printf(&sentence, "a source of sizes ");
    shape_print(c->pool, given, &sentence);
    text_printf(&sentence, " for a part of sizes ");
    shape_print(c->pool, part, &sentence);
    insitu_status status = text_status(&sentence, c->diag);
    if (status == INSITU_OK) status = convert_fail(c, INSITU_SHAPE, "%s", sentence.data);
    text_release(&sentence);
    return status;
}

static sym_t slice_size(converter_t *c, sym_t start, sym_t end, int64_t step) {
    sym_t span = sym_sub(c->pool, end, start), one = sym_int(c->pool, 1);
    if (step == 1) return span;
    return sym_add(c->pool, sym_floordiv(c->pool, sym_sub(c->pool, span, one), sym_int(c->pool, step)), one);
}

/* A slice that asks for rows which its tensor does not have is cut short, and what the program writes there is lost,
 * whatever it comes from: a number, a row that is repeated, something computed of the rows themselves. */
static insitu_status require_rows(converter_t *c, tensor_id_t x, uint32_t dim, int64_t step) {
    sym_t exist;
    const char *message;
    if (!c->strict_bounds) return INSITU_OK;
    TRY(take_asked_rows(c, x, dim, step, &exist));
    if (sym_truth(c->pool, exist) == TRUTH_FALSE)
        return convert_fail(c, INSITU_BOUNDS, "a slice write lies outside of dimension %u, and its row would be lost",
                            dim);
    TRY(arena_printf(&c->network->arena, &message,
                     "the slice write '%s' lies outside of dimension %u, and its row would be lost", c->node->name,
                     dim));
    return network_require_bounds(c->network, exist, message, c->node->source);
}

insitu_status convert_slice_scatter(converter_t *c) {
    tensor_id_t x, source;
    uint32_t dim;
    sym_t start, end;
    int64_t step;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "src", &source));
    TRY(take_slice(c, x, &dim, &start, &end, &step));
    shape_t part = tensor_of(c, x)->shape;
    part.sizes[dim] = slice_size(c, start, end, step);
    TRY(check_source(c, &part, source));
    TRY(require_rows(c, x, dim, step));
    TRY(emit_cast(c, source, dtype_of(c, x), &source));
    return finish_slice_update(c, x, source, dim, start, end, step);
}

insitu_status convert_select_scatter(converter_t *c) {
    tensor_id_t x, source;
    uint32_t dim;
    sym_t index;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "src", &source));
    TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    if (rank_of(c, x) == 0) return convert_fail(c, INSITU_FORMAT, "an element of a tensor without dimensions");
    TRY(take_position(c, "index", x, dim, &index));
    shape_t part = {.rank = rank_of(c, x) - 1};
    for (uint32_t i = 0; i < part.rank; i++) part.sizes[i] = size_of(c, x, i < dim ? i : i + 1);
    TRY(check_source(c, &part, source));
    TRY(emit_cast(c, source, dtype_of(c, x), &source));
    TRY(emit_unsqueeze(c, source, dim, &source));
    return finish_slice_update(c, x, source, dim, index, sym_add(c->pool, index, sym_int(c->pool, 1)), 1);
}

insitu_status convert_diagonal_scatter(converter_t *c) {
    tensor_id_t operands[2], result;
    uint32_t dim1, dim2;
    int64_t offset;
    TRY(take_tensor(c, "self", &operands[0]));
    TRY(take_tensor(c, "src", &operands[1]));
    TRY(take_int(c, "offset", 0, &offset));
    TRY(take_dim(c, "dim1", 0, rank_of(c, operands[0]), &dim1));
    TRY(take_dim(c, "dim2", 1, rank_of(c, operands[0]), &dim2));
    TRY(emit_cast(c, operands[1], dtype_of(c, operands[0]), &operands[1]));
    layer_draft_t update = draft_of(LAYER_DIAGONAL_UPDATE);
    draft_int(c->pool, &update, ATTR_DIM1, dim1);
    draft_int(c->pool, &update, ATTR_DIM2, dim2);
    draft_int(c->pool, &update, ATTR_OFFSET, offset);
    TRY(emit(c, &update, operands, 2, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
