/* Products of rows with one matrix a group: _grouped_mm, transformers.grouped_mm_fallback.
 *
 * x (S, K), weight (E, K, N), offs (E) cumulative: rows offs[e - 1] to offs[e] times weight[e]; rows behind the last are 0.
 * The bounds are read first; each group is a slice of as many rows as it gets, so no row is multiplied twice. */
#include "convert/convert_int.h"

/* The bound as a number of the program. */
static insitu_status emit_bound(converter_t *c, tensor_id_t offs, uint32_t index, sym_t *out) {
    tensor_id_t bound;
    shape_t none = {0};
    TRY(emit_slice(c, offs, 0, sym_int(c->pool, index), sym_int(c->pool, (int64_t)index + 1), 1, &bound));
    TRY(emit_reshape(c, bound, &none, &bound));
    return emit_read(c, bound, 0, INT64_MAX, out);
}

static insitu_status emit_group(converter_t *c, tensor_id_t x, tensor_id_t weight, uint32_t index, sym_t start,
                                sym_t end, tensor_id_t *out) {
    tensor_id_t rows, matrix;
    TRY(emit_slice(c, x, 0, start, end, 1, &rows));
    TRY(emit_slice(c, weight, 0, sym_int(c->pool, index), sym_int(c->pool, (int64_t)index + 1), 1, &matrix));
    TRY(emit_squeeze(c, matrix, 0, &matrix));
    return emit_matmul(c, rows, matrix, NO_TENSOR, out);
}

static insitu_status emit_groups(converter_t *c, tensor_id_t x, tensor_id_t weight, tensor_id_t offs, uint32_t count,
                                 tensor_id_t *out) {
    tensor_id_t *parts;
    sym_t *bounds, zero = sym_int(c->pool, 0);
    TRY(arena_array(&c->scratch, (size_t)count + 1, sizeof(tensor_id_t), &parts));
    TRY(arena_array(&c->scratch, (size_t)count + 1, sizeof(sym_t), &bounds));
    bounds[0] = zero;
    for (uint32_t i = 0; i < count; i++) TRY(emit_bound(c, offs, i, &bounds[i + 1]));
    for (uint32_t i = 0; i < count; i++) TRY(emit_group(c, x, weight, i, bounds[i], bounds[i + 1], &parts[i]));
    shape_t rest = {.rank = 2, .sizes = {sym_sub(c->pool, size_of(c, x, 0), bounds[count]), size_of(c, weight, 2)}};
    TRY(emit_fill(c, dtype_of(c, x), &rest, zero, &parts[count]));
    return emit_concat(c, parts, count + 1, 0, out);
}

insitu_status convert_grouped_mm(converter_t *c) {
    tensor_id_t x, weight, offs, bias, result;
    int64_t count;
    bool own = has_arg(c, "weight");
    TRY(take_tensor(c, own ? "input" : "self", &x));
    TRY(take_tensor(c, own ? "weight" : "mat2", &weight));
    TRY(take_optional_tensor(c, "offs", &offs));
    TRY(take_optional_tensor(c, "bias", &bias));
    dtype_t type;
    TRY(take_dtype(c, "out_dtype", dtype_of(c, x), &type));
    if (rank_of(c, weight) != 3 || rank_of(c, x) != (offs.index == NONE ? 3u : 2u) || bias.index != NONE)
        return convert_unsupported(c, "groups of columns");
    if (offs.index == NONE) {
        TRY(emit_matmul(c, x, weight, NO_TENSOR, &result));
        return finish_wide(c, result, type);
    }
    if (!sym_constant(c->pool, size_of(c, weight, 0), &count) || count < 0 || count > INT32_MAX)
        return convert_unsupported(c, "a number of groups that is not constant");
    if (rank_of(c, offs) != 1) return convert_fail(c, INSITU_FORMAT, "the bounds are no vector");
    TRY(emit_groups(c, x, weight, offs, (uint32_t)count, &result));
    return finish_wide(c, result, type);
}
