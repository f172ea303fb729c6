/* Orders: topk, sort, argsort. */
#include "network/convert_int.h"

/* Values and indices, in the shape of x where that has no dimensions. */
static insitu_status finish_order(converter *c, const draft *draft, tensor_id x, bool indices_only) {
    tensor_id results[2], lifted;
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

insitu_status convert_topk(converter *c, int32_t param) {
    (void)param;
    tensor_id x;
    uint32_t dim;
    bool largest;
    sym count;
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym(c, "k", &count));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_flag(c, "largest", true, &largest));
    if (rank_of(c, x) == 0 && !is_int_constant(c, count, 1)) return convert_unsupported(c, "k of a number");
    draft topk = draft_of(LAYER_TOPK);
    draft_attr(&topk, ATTR_COUNT, attr_of_sym(count));
    draft_flag(c, &topk, ATTR_DESCENDING, largest);
    draft_int(c, &topk, ATTR_DIM, dim);
    return finish_order(c, &topk, x, false);
}

/* sort, argsort (param 1) */
insitu_status convert_sort(converter *c, int32_t param) {
    tensor_id x;
    uint32_t dim;
    bool descending;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_flag(c, "descending", false, &descending));
    draft sort = draft_of(LAYER_SORT);
    draft_flag(c, &sort, ATTR_DESCENDING, descending);
    draft_int(c, &sort, ATTR_DIM, dim);
    return finish_order(c, &sort, x, param != 0);
}
