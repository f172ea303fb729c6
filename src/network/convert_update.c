/* Writes of a part, functional: slice_scatter, select_scatter. The source is cast to x's dtype and must have the part's
 * sizes. */
#include "network/convert_int.h"

static insitu_status finish_slice_update(converter *c, tensor_id x, tensor_id source, uint32_t dim, sym start, sym end,
                                         int64_t step) {
    tensor_id operands[2] = {x, source}, result;
    if (step == 1 && is_int_constant(c, start, 0) && sym_same(end, size_of(c, x, dim))) {
        set_only_result(c, source);
        return INSITU_OK;
    }
    if (sym_same(start, end)) {
        set_only_result(c, x);
        return INSITU_OK;
    }
    draft update = draft_of(LAYER_SLICE_UPDATE);
    draft_int(c, &update, ATTR_DIM, dim);
    draft_attr(&update, ATTR_START, attr_of_sym(start));
    draft_attr(&update, ATTR_END, attr_of_sym(end));
    draft_int(c, &update, ATTR_STEP, step);
    TRY(emit(c, &update, operands, 2, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Refuses a source that lacks the part's rank or provably its sizes. */
static insitu_status check_source(converter *c, const shape *part, tensor_id source) {
    const shape *given = &tensor_of(c, source)->shape;
    if (shape_equal(c->pool, part, given) != TRUTH_FALSE) return INSITU_OK;
    text sentence;
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

static sym slice_size(converter *c, sym start, sym end, int64_t step) {
    sym span = sym_sub(c->pool, end, start), one = sym_int(c->pool, 1);
    if (step == 1) return span;
    return sym_add(c->pool, sym_floordiv(c->pool, sym_sub(c->pool, span, one), sym_int(c->pool, step)), one);
}

insitu_status convert_slice_scatter(converter *c, int32_t param) {
    (void)param;
    tensor_id x, source;
    uint32_t dim;
    sym start, end;
    int64_t step;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "src", &source));
    TRY(take_slice(c, x, &dim, &start, &end, &step));
    shape part = tensor_of(c, x)->shape;
    part.sizes[dim] = slice_size(c, start, end, step);
    TRY(check_source(c, &part, source));
    TRY(emit_cast(c, source, dtype_of(c, x), &source));
    return finish_slice_update(c, x, source, dim, start, end, step);
}

insitu_status convert_select_scatter(converter *c, int32_t param) {
    (void)param;
    tensor_id x, source;
    uint32_t dim;
    sym index;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "src", &source));
    TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    if (rank_of(c, x) == 0) return convert_fail(c, INSITU_FORMAT, "an element of a tensor without dimensions");
    TRY(take_position(c, "index", x, dim, &index));
    shape part = {.rank = rank_of(c, x) - 1};
    for (uint32_t i = 0; i < part.rank; i++) part.sizes[i] = size_of(c, x, i < dim ? i : i + 1);
    TRY(check_source(c, &part, source));
    TRY(emit_cast(c, source, dtype_of(c, x), &source));
    TRY(emit_unsqueeze(c, source, dim, &source));
    return finish_slice_update(c, x, source, dim, index, sym_add(c->pool, index, sym_int(c->pool, 1)), 1);
}
