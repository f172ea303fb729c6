/* Orders: topk, sort, argsort, median. */
#include "convert/convert_int.h"

insitu_status emit_sort(converter_t *c, tensor_id_t x, uint32_t dim, bool descending, tensor_id_t out[2]) {
    layer_draft_t sort = draft_of(LAYER_SORT);
    draft_flag(c->pool, &sort, ATTR_DESCENDING, descending);
    draft_int(c->pool, &sort, ATTR_DIM, dim);
    return emit_on(c, &sort, x, out);
}

/* Values and indices, in the shape of x where that has no dimensions. */
static insitu_status finish_order(converter_t *c, const layer_draft_t *draft, tensor_id_t x, bool indices_only) {
    tensor_id_t results[2], lifted;
    TRY(emit_at_least_1d(c, x, &lifted));
    TRY(emit_on(c, draft, lifted, results));
    for (uint32_t i = 0; i < 2; i++) {
        if (rank_of(c, x) == 0) TRY(emit_squeeze(c, results[i], 0, &results[i]));
    }
    if (indices_only) {
        set_only_result(c, results[1]);
        return INSITU_OK;
    }
    set_result(c, 0, results[0]);
    set_result(c, 1, results[1]);
    return INSITU_OK;
}

insitu_status convert_topk(converter_t *c) {
    tensor_id_t x;
    uint32_t dim;
    bool largest;
    sym_t count;
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym(c, "k", &count));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_flag(c, "largest", true, &largest));
    if (rank_of(c, x) == 0 && !is_int_constant(c, count, 1)) return convert_unsupported(c, "k of a number");
    layer_draft_t topk = draft_of(LAYER_TOPK);
    draft_sym(&topk, ATTR_COUNT, count);
    draft_flag(c->pool, &topk, ATTR_DESCENDING, largest);
    draft_int(c->pool, &topk, ATTR_DIM, dim);
    return finish_order(c, &topk, x, false);
}

/* sort, argsort (param 1) */
insitu_status convert_sort(converter_t *c) {
    tensor_id_t x;
    uint32_t dim;
    bool descending;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_flag(c, "descending", false, &descending));
    layer_draft_t sort = draft_of(LAYER_SORT);
    draft_flag(c->pool, &sort, ATTR_DESCENDING, descending);
    draft_int(c->pool, &sort, ATTR_DIM, dim);
    return finish_order(c, &sort, x, c->param != 0);
}

/* The place of the lower median among the sorted (NaN is last): (n - 1) / 2, of nanmedian without NaN; else that of the
 * first NaN where there is one. With a last dimension of 1. */
static insitu_status emit_median_place(converter_t *c, tensor_id_t sorted, uint32_t dim, bool skips, tensor_id_t *out) {
    sym_t size = size_of(c, sorted, dim), one = sym_int(c->pool, 1), two = sym_int(c->pool, 2);
    tensor_id_t nan, count, place, none;
    TRY(emit_unary(c, OP_ISNAN, sorted, &nan));
    TRY(emit_cast(c, nan, DTYPE_I64, &nan));
    TRY(emit_reduce(c, OP_SUM, nan, 1u << dim, true, &count));
    TRY(emit_scalar(c, OP_SUB, count, size, true, &count)); /* what is no NaN */
    if (skips) {
        TRY(emit_scalar(c, OP_SUB, count, one, false, &count));
        TRY(emit_scalar(c, OP_MAXIMUM, count, sym_int(c->pool, 0), false, &count));
        return emit_scalar(c, OP_DIV_FLOOR, count, two, false, out);
    }
    sym_t middle = sym_floordiv(c->pool, sym_sub(c->pool, size, one), two);
    TRY(emit_number(c, DTYPE_I64, &tensor_of(c, count)->shape, middle, &place));
    TRY(emit_scalar(c, OP_EQ, count, size, false, &none));
    return emit_where(c, none, place, count, out);
}

/* median, nanmedian (param 1): of all, or of one dimension with the positions of the first of equals */
insitu_status convert_median(converter_t *c) {
    tensor_id_t x, sorted[2], place, result;
    uint32_t dim = 0;
    bool keepdim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    bool whole = !has_arg(c, "dim"), flat = rank_of(c, x) == 0;
    if (whole) {
        shape_t line = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
        TRY(emit_reshape(c, x, &line, &x));
    } else {
        TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
        TRY(emit_at_least_1d(c, x, &x));
    }
    TRY(emit_sort(c, x, dim, false, sorted));
    TRY(emit_median_place(c, sorted[0], dim, c->param != 0, &place));
    for (uint32_t i = 0; i < (whole ? 1u : 2u); i++) {
        TRY(emit_gather(c, sorted[i], place, dim, &result));
        if (whole || !keepdim || flat) TRY(emit_squeeze(c, result, dim, &result));
        set_result(c, i, result);
    }
    return INSITU_OK;
}
