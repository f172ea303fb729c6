/* Searches and counts: bucketize, searchsorted, isin, histc. By comparing all with all: boundaries are few. */
#include "convert/convert_int.h"

/* Of an i64 count: out_int32 asks for i32. */
static insitu_status finish_count(converter_t *c, tensor_id_t count) {
    bool narrow;
    TRY(take_flag(c, "out_int32", false, &narrow));
    TRY(emit_cast(c, count, narrow ? DTYPE_I32 : DTYPE_I64, &count));
    set_only_result(c, count);
    return INSITU_OK;
}

/* The place of each x among the boundaries: how many of them are not at or above it (right: not above it). NaN, which
 * no boundary reaches, comes last. edges has one more dimension than x, or is a vector. */
static insitu_status emit_place_among(converter_t *c, tensor_id_t x, tensor_id_t edges, bool right, tensor_id_t *out) {
    operand_t both[2] = {operand_of_tensor(c, x), operand_of_tensor(c, edges)};
    dtype_t type;
    TRY(promote(c, both, 2, &type));
    TRY(emit_cast(c, x, type, &x));
    TRY(emit_cast(c, edges, type, &edges));
    TRY(emit_unsqueeze(c, x, rank_of(c, x), &x));
    TRY(emit_binary(c, right ? OP_GT : OP_GE, edges, x, out));
    TRY(emit_unary(c, OP_LOGICAL_NOT, *out, out));
    TRY(emit_cast(c, *out, DTYPE_I64, out));
    return emit_reduce(c, OP_SUM, *out, 1u << (rank_of(c, *out) - 1), false, out);
}

static insitu_status take_right(converter_t *c, bool *out) {
    TRY(take_flag(c, "right", false, out));
    if (has_arg(c, "sorter")) return convert_unsupported(c, "a sorter");
    if (strcmp(take_string(c, "side"), "right") == 0) *out = true;
    return INSITU_OK;
}

/* bucketize: boundaries are a vector */
insitu_status convert_bucketize(converter_t *c) {
    tensor_id_t x, edges, result;
    bool right;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "boundaries", &edges));
    TRY(take_right(c, &right));
    if (rank_of(c, edges) != 1) return convert_fail(c, INSITU_FORMAT, "the boundaries are not a vector");
    TRY(emit_place_among(c, x, edges, right, &result));
    return finish_count(c, result);
}

/* searchsorted: a vector, or one a line of x */
insitu_status convert_searchsorted(converter_t *c) {
    tensor_id_t x, edges, result;
    bool right;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "sorted_sequence", &edges));
    TRY(take_right(c, &right));
    uint32_t rank = rank_of(c, edges);
    if (rank == 0 || (rank > 1 && rank != rank_of(c, x))) return convert_fail(c, INSITU_FORMAT, "the ranks do not fit");
    if (rank > 1) TRY(emit_unsqueeze(c, edges, rank - 1, &edges));
    TRY(emit_place_among(c, x, edges, right, &result));
    return finish_count(c, result);
}

/* any(elements == tests), or none of them if invert is set */
insitu_status convert_isin(converter_t *c) {
    tensor_id_t x, tests, result;
    bool invert;
    TRY(take_tensor(c, "elements", &x));
    TRY(take_tensor(c, "test_elements", &tests));
    TRY(take_flag(c, "invert", false, &invert));
    operand_t both[2] = {operand_of_tensor(c, x), operand_of_tensor(c, tests)};
    dtype_t type;
    TRY(promote(c, both, 2, &type));
    shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, tests)->shape)}};
    TRY(emit_cast(c, x, type, &x));
    TRY(emit_cast(c, tests, type, &tests));
    TRY(emit_reshape(c, tests, &flat, &tests));
    TRY(emit_unsqueeze(c, x, rank_of(c, x), &x));
    TRY(emit_binary(c, OP_EQ, x, tests, &result));
    TRY(emit_reduce(c, OP_ANY, result, 1u << (rank_of(c, result) - 1), false, &result));
    if (invert) TRY(emit_unary(c, OP_LOGICAL_NOT, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* The bin of each x: trunc((x - low) bins / (high - low)), high itself in the last. */
static insitu_status emit_bin(converter_t *c, tensor_id_t x, sym_t low, sym_t high, int64_t bins, tensor_id_t *out) {
    TRY(emit_scalar(c, OP_SUB, x, low, false, out));
    TRY(emit_scalar_float(c, OP_MUL, *out, (double)bins, false, out));
    TRY(emit_scalar(c, OP_DIV, *out, sym_sub(c->pool, high, low), false, out));
    TRY(emit_cast(c, *out, DTYPE_I64, out));
    TRY(emit_scalar(c, OP_MINIMUM, *out, sym_int(c->pool, bins - 1), false, out));
    return emit_scalar(c, OP_MAXIMUM, *out, sym_int(c->pool, 0), false, out);
}

/* histc: bins of equal width between two given bounds; what lies outside is not counted */
insitu_status convert_histc(converter_t *c) {
    tensor_id_t x, inside, above, bin, result;
    int64_t bins;
    sym_t low, high;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "bins", 100, &bins));
    TRY(take_real(c, "min", 0, &low));
    TRY(take_real(c, "max", 0, &high));
    dtype_t type = dtype_of(c, x);
    if (bins < 1) return convert_fail(c, INSITU_FORMAT, "%lld bins", (long long)bins);
    sym_t have_width = sym_compare(c->pool, SYM_LT, low, high);
    if (sym_truth(c->pool, have_width) == TRUTH_FALSE) return convert_unsupported(c, "without bounds");
    TRY(network_require(c->network, have_width, "the bounds of histc", c->node->source));
    shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
    TRY(emit_reshape(c, x, &flat, &x));
    if (!dtype_is_float(type)) TRY(emit_cast(c, x, DTYPE_F64, &x));
    TRY(emit_bin(c, x, low, high, bins, &bin)); /* rounded in x's dtype each time, as PyTorch does it */
    TRY(emit_wide(c, x, &x));
    TRY(emit_scalar(c, OP_GE, x, low, false, &inside));
    TRY(emit_scalar(c, OP_LE, x, high, false, &above));
    TRY(emit_binary(c, OP_LOGICAL_AND, inside, above, &inside));
    TRY(emit_cast(c, inside, DTYPE_I64, &inside));
    shape_t row = {.rank = 1, .sizes = {sym_int(c->pool, bins)}};
    TRY(emit_fill(c, DTYPE_I64, &row, sym_int(c->pool, 0), &result));
    tensor_id_t operands[3] = {result, inside, bin};
    layer_draft_t scatter = draft_of(LAYER_SCATTER_UPDATE);
    draft_int(c->pool, &scatter, ATTR_DIM, 0);
    draft_op(&scatter, OP_UPDATE_ADD);
    TRY(emit(c, &scatter, operands, 3, &result));
    return finish_wide(c, result, type);
}
