/* Writes where a mask is true: index_put of a bool mask, masked_scatter. */
#include "convert/convert_int.h"

/* Where true elements take theirs from: rows along a dimension, in order. */
typedef struct taken {
    tensor_id_t rows; /* with one more row if there may be none, so that the false ones have a row too */
    sym_t given;      /* how many there are */
    uint32_t dim;
} taken_t;

static insitu_status take_rows(converter_t *c, tensor_id_t x, uint32_t dim, taken_t *out) {
    shape_t extra = tensor_of(c, x)->shape;
    int64_t least, most;
    *out = (taken_t){.rows = x, .given = extra.sizes[dim], .dim = dim};
    sym_range(c->pool, out->given, &least, &most);
    if (least > 0) return INSITU_OK;
    tensor_id_t parts[2] = {x};
    extra.sizes[dim] = sym_int(c->pool, 1);
    TRY(emit_fill(c, dtype_of(c, x), &extra, sym_int(c->pool, 0), &parts[1]));
    return emit_concat(c, parts, 2, dim, &out->rows);
}

/* 0 where one row is for all true elements, else 1. */
static sym_t moves_on(converter_t *c, const taken_t *from) {
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    sym_t is_one = sym_compare(c->pool, SYM_EQ, from->given, one);
    return sym_make(c->pool, SYM_WHERE, (sym_t[]){is_one, zero, one}, 3);
}

/* The row for each place of the mask: the k-th true one has row k, and a false one some row. A mask whose number of true
 * elements stands in the wrong relation to the number of rows has places that are no rows, times factor. */
static insitu_status emit_taken(converter_t *c, tensor_id_t mask, const taken_t *from, op_kind_t wrong, sym_t factor,
                                tensor_id_t *out) {
    tensor_id_t flat, places, total, operands[2] = {from->rows};
    const shape_t sizes = tensor_of(c, mask)->shape;
    sym_t zero = sym_int(c->pool, 0), dim = sym_int(c->pool, from->dim);
    shape_t line = {.rank = 1, .sizes = {shape_numel(c->pool, &sizes)}};
    TRY(emit_reshape(c, mask, &line, &flat));
    TRY(emit_cast(c, flat, DTYPE_I64, &flat));
    layer_draft_t scan = draft_of(LAYER_SCAN);
    draft_int(c->pool, &scan, ATTR_DIM, 0);
    draft_op(&scan, OP_CUMSUM);
    TRY(emit_on(c, &scan, flat, &places));
    TRY(emit_scalar(c, OP_SUB, places, sym_int(c->pool, 1), false, &places));
    TRY(emit_clamp(c, places, &zero, NULL, &places));
    /* too many true elements have places behind the rows anyway, if no row was added */
    if (wrong != OP_GT || !sym_same(size_of(c, from->rows, from->dim), from->given)) {
        TRY(emit_reduce(c, OP_SUM, flat, 1, true, &total));
        TRY(emit_scalar(c, wrong, total, from->given, false, &total));
        TRY(emit_cast(c, total, DTYPE_I64, &total));
        TRY(emit_scalar(c, OP_MUL, total, size_of(c, from->rows, from->dim), false, &total));
        TRY(emit_expand(c, total, &line, &total));
        TRY(emit_binary(c, OP_ADD, places, total, &places));
    }
    if (!is_int_constant(c, factor, 1)) TRY(emit_scalar(c, OP_MUL, places, factor, false, &places));
    TRY(emit_reshape(c, places, &sizes, &operands[1]));
    layer_draft_t index = draft_of(LAYER_INDEX);
    draft_list(&index, ATTR_DIMS, &dim, 1);
    draft_flag(c->pool, &index, ATTR_WRAP, false);
    return emit(c, &index, operands, 2, out);
}

/* x[mask] has one dimension in place of the mask's. The values, broadcast to that rank, become one for each place of x
 * that is chosen, in x's rank: if they are the same all along that dimension, with a 1 for each of the mask's; else they
 * are as many as the mask has true elements, which an index out of range tells otherwise. */
static insitu_status spread_values(converter_t *c, tensor_id_t x, const indexing_t *at, tensor_id_t *values) {
    uint32_t rank = rank_of(c, x), mask_rank = rank_of(c, at->mask), given = rank_of(c, *values);
    uint32_t chosen = rank - mask_rank + 1; /* rank of x[mask] */
    shape_t lifted = {.rank = chosen}, spread = {.rank = rank};
    if (given > chosen) return convert_fail(c, INSITU_FORMAT, "a value with too many dimensions");
    for (uint32_t i = 0; i < chosen; i++)
        lifted.sizes[i] = i < chosen - given ? sym_int(c->pool, 1) : size_of(c, *values, i - (chosen - given));
    TRY(emit_reshape(c, *values, &lifted, values));
    sym_t count = lifted.sizes[at->mask_dim];
    if (!is_int_constant(c, count, 1)) {
        taken_t from;
        TRY(take_rows(c, *values, at->mask_dim, &from));
        return emit_taken(c, at->mask, &from, OP_NE, moves_on(c, &from), values);
    }
    for (uint32_t i = 0; i < rank; i++) {
        bool is_masked = i >= at->mask_dim && i < at->mask_dim + mask_rank;
        uint32_t from = i < at->mask_dim ? i : i + 1 - mask_rank;
        spread.sizes[i] = is_masked ? sym_int(c->pool, 1) : lifted.sizes[from];
    }
    return emit_reshape(c, *values, &spread, values);
}

insitu_status emit_put_masked(converter_t *c, tensor_id_t x, tensor_id_t values, const indexing_t *at,
                              bool accumulate) {
    uint32_t rank = rank_of(c, x), mask_rank = rank_of(c, at->mask);
    const shape_t whole = tensor_of(c, x)->shape;
    if (mask_rank == 0 || at->mask_dim + mask_rank > rank) return convert_unsupported(c, "such a bool mask");
    shape_t lifted = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        bool is_masked = i >= at->mask_dim && i < at->mask_dim + mask_rank;
        lifted.sizes[i] = is_masked ? size_of(c, at->mask, i - at->mask_dim) : sym_int(c->pool, 1);
    }
    tensor_id_t operands[3] = {x, values, at->mask}, result;
    TRY(spread_values(c, x, at, &operands[1]));
    TRY(emit_expand(c, operands[1], &whole, &operands[1]));
    if (accumulate) TRY(emit_binary(c, OP_ADD, x, operands[1], &operands[1]));
    TRY(emit_reshape(c, at->mask, &lifted, &operands[2]));
    TRY(emit_expand(c, operands[2], &whole, &operands[2]));
    layer_draft_t update = draft_of(LAYER_MASK_UPDATE);
    TRY(emit(c, &update, operands, 3, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* The elements of source, in order, where the mask is true: the k-th true place takes element k, so that a source with
 * too few is an index outside it. */
insitu_status convert_masked_scatter(converter_t *c) {
    tensor_id_t x, mask, source, operands[3], result;
    taken_t from;
    shape_t whole;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "mask", &mask));
    TRY(take_tensor(c, "source", &source));
    if (dtype_of(c, mask) != DTYPE_BOOL) return convert_unsupported(c, "a mask of %s", dtype_name(dtype_of(c, mask)));
    shape_t line = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, source)->shape)}};
    TRY(broadcast_shapes(c, &tensor_of(c, x)->shape, &tensor_of(c, mask)->shape, &whole));
    TRY(emit_expand(c, x, &whole, &operands[0]));
    TRY(emit_expand(c, mask, &whole, &operands[2]));
    TRY(emit_reshape(c, source, &line, &source));
    TRY(take_rows(c, source, 0, &from));
    TRY(emit_taken(c, operands[2], &from, OP_GT, sym_int(c->pool, 1), &operands[1]));
    layer_draft_t update = draft_of(LAYER_MASK_UPDATE);
    TRY(emit(c, &update, operands, 3, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
