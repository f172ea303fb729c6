/* Order statistics: quantile, nanquantile, kthvalue. */
#include "convert/convert_int.h"

/* The ranks q (n - 1) of the sorted lines, as many as there are q, n without NaN if those are skipped; else of a line with a NaN
 * the last one, which is NaN. */
static insitu_status emit_ranks(converter_t *c, tensor_id_t sorted, tensor_id_t q, bool skips, tensor_id_t *out) {
    const uint32_t last = rank_of(c, sorted) - 1;
    const sym_t size = size_of(c, sorted, last), most = sym_sub(c->pool, size, sym_int(c->pool, 1));
    tensor_id_t nan, count, bad, highest;
    TRY(emit_unary(c, OP_ISNAN, sorted, &nan));
    if (skips) {
        TRY(emit_cast(c, nan, dtype_of(c, sorted), &nan));
        TRY(emit_reduce(c, OP_SUM, nan, 1u << last, true, &count));
        TRY(emit_scalar(c, OP_SUB, count, most, true, &count));
        TRY(emit_scalar(c, OP_MAXIMUM, count, sym_int(c->pool, 0), false, &count));
        return emit_binary(c, OP_MUL, q, count, out);
    }
    TRY(emit_reduce(c, OP_ANY, nan, 1u << last, true, &bad));
    TRY(emit_scalar(c, OP_MUL, q, most, false, out));
    TRY(emit_number(c, dtype_of(c, q), &tensor_of(c, q)->shape, most, &highest));
    return emit_where(c, bad, highest, *out, out);
}

static insitu_status emit_at_rank(converter_t *c, tensor_id_t sorted, tensor_id_t rank, tensor_id_t *out) {
    TRY(emit_cast(c, rank, DTYPE_I64, &rank));
    return emit_gather(c, sorted, rank, rank_of(c, sorted) - 1, out);
}

/* The values at ranks that lie between two. */
static insitu_status emit_interpolated(converter_t *c, tensor_id_t sorted, tensor_id_t ranks, const char *how,
                                       tensor_id_t *out) {
    tensor_id_t low, high, below, weight, span;
    bool is_linear = strcmp(how, "linear") == 0;
    if (strcmp(how, "lower") == 0 || strcmp(how, "higher") == 0 || strcmp(how, "nearest") == 0) {
        op_kind_t op = how[0] == 'l' ? OP_FLOOR : how[0] == 'h' ? OP_CEIL : OP_ROUND;
        TRY(emit_unary(c, op, ranks, &ranks));
        return emit_at_rank(c, sorted, ranks, out);
    }
    if (!is_linear && strcmp(how, "midpoint") != 0) return convert_fail(c, INSITU_FORMAT, "interpolation '%s'", how);
    TRY(emit_unary(c, OP_FLOOR, ranks, &below));
    TRY(emit_at_rank(c, sorted, below, &low));
    TRY(emit_unary(c, OP_CEIL, ranks, &high));
    TRY(emit_at_rank(c, sorted, high, &high));
    if (is_linear) {
        TRY(emit_binary(c, OP_SUB, ranks, below, &weight));
    } else {
        TRY(emit_number(c, dtype_of(c, ranks), &tensor_of(c, ranks)->shape, sym_float(c->pool, 0.5), &weight));
    }
    TRY(emit_binary(c, OP_SUB, high, low, &span));
    return emit_lerp(c, low, high, span, weight, out);
}

/* quantile, nanquantile (param 1): of all elements, or of one dimension; for several q with a first dimension of theirs */
insitu_status convert_quantile(converter_t *c) {
    tensor_id_t x, q, sorted[2], result;
    operand_t asked;
    bool keepdim;
    uint32_t dim = 0;
    TRY(take_tensor(c, "self", &x));
    TRY(take_operand(c, "q", &asked));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    const shape_t shape = tensor_of(c, x)->shape, one = {.rank = 1, .sizes = {sym_int(c->pool, 1)}};
    const bool whole = !has_arg(c, "dim"), is_flat = whole || shape.rank == 0;
    const bool is_list = !asked.is_number && rank_of(c, asked.tensor) == 1;
    if (is_flat) TRY(emit_reshape(c, x, &(shape_t){.rank = 1, .sizes = {shape_numel(c->pool, &shape)}}, &x));
    if (!whole) TRY(take_dim(c, "dim", 0, shape.rank, &dim));
    TRY(emit_unsqueeze(c, x, rank_of(c, x), &x)); /* its own place stays, with size 1 */
    TRY(emit_swap(c, x, dim, rank_of(c, x) - 1, &x));
    TRY(emit_sort(c, x, rank_of(c, x) - 1, false, sorted));
    if (asked.is_number) {
        TRY(emit_fill(c, dtype_of(c, x), &one, asked.number, &q));
    } else {
        TRY(emit_cast(c, asked.tensor, dtype_of(c, x), &q));
        TRY(emit_at_least_1d(c, q, &q));
    }
    shape_t lines = tensor_of(c, x)->shape;
    lines.sizes[lines.rank - 1] = size_of(c, q, 0);
    TRY(emit_expand(c, q, &lines, &q));
    TRY(emit_ranks(c, sorted[0], q, c->param != 0, &result));
    TRY(emit_interpolated(c, sorted[0], result, take_string(c, "interpolation"), &result));
    if (!keepdim || is_flat) TRY(emit_squeeze(c, result, dim, &result));
    uint32_t axes[MAX_RANK], last = rank_of(c, result) - 1;
    for (uint32_t i = 0; i <= last; i++) axes[i] = i ? i - 1 : last;
    TRY(emit_permute(c, result, axes, &result));
    if (is_flat && keepdim)
        for (uint32_t i = 0; i < shape.rank; i++) TRY(emit_unsqueeze(c, result, 1, &result));
    if (!is_list) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* The k-th smallest, from 1 on, and its position; NaN is the largest. */
insitu_status convert_kthvalue(converter_t *c) {
    tensor_id_t x, sorted[2];
    uint32_t dim;
    bool keepdim;
    sym_t k, zero = sym_int(c->pool, 0);
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_sym(c, "k", &k));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    bool number = rank_of(c, x) == 0;
    TRY(emit_at_least_1d(c, x, &x));
    sym_t in_range = sym_make(
        c->pool, SYM_AND,
        (sym_t[]){sym_compare(c->pool, SYM_LT, zero, k), sym_compare(c->pool, SYM_LE, k, size_of(c, x, dim))}, 2);
    if (sym_truth(c->pool, in_range) == TRUTH_FALSE)
        return convert_fail(c, INSITU_FORMAT, "k lies outside the dimension");
    TRY(network_require(c->network, in_range, "k of kthvalue lies in the dimension", c->node->source));
    TRY(emit_sort(c, x, dim, false, sorted));
    for (uint32_t i = 0; i < 2; i++) {
        tensor_id_t part;
        TRY(emit_slice(c, sorted[i], dim, sym_sub(c->pool, k, sym_int(c->pool, 1)), k, 1, &part));
        if (!keepdim || number) TRY(emit_squeeze(c, part, dim, &part));
        set_result(c, i, part);
    }
    return INSITU_OK;
}
