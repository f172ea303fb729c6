/* Views of a part: slice, select, narrow, split, chunk, unbind. Bounds are clamped as Python's; an index is not. */
#include "convert/convert_int.h"

/* v < 0 ? v + size : v */
static sym_t from_end(converter_t *c, sym_t value, sym_t size) {
    sym_t negative = sym_compare(c->pool, SYM_LT, value, sym_int(c->pool, 0));
    truth_t known = sym_truth(c->pool, negative);
    if (known == TRUTH_FALSE) return value;
    sym_t wrapped = sym_add(c->pool, value, size);
    if (known == TRUTH_TRUE) return wrapped;
    sym_t choice[3] = {negative, wrapped, value};
    return sym_make(c->pool, SYM_WHERE, choice, 3);
}

/* max(low, min(value, high)), without the parts that are decided. */
static sym_t clamped(converter_t *c, sym_t value, sym_t low, sym_t high) {
    if (sym_is_le(c->pool, high, value) == TRUTH_TRUE) return high;
    if (sym_is_le(c->pool, value, high) != TRUTH_TRUE) value = sym_min(c->pool, value, high);
    return sym_is_le(c->pool, low, value) == TRUTH_TRUE ? value : sym_max(c->pool, low, value);
}

void clamp_slice(converter_t *c, sym_t size, sym_t *start, sym_t *end) {
    *start = clamped(c, from_end(c, *start, size), sym_int(c->pool, 0), size);
    *end = clamped(c, from_end(c, *end, size), *start, size);
}

insitu_status take_slice(converter_t *c, tensor_id_t x, uint32_t *out_dim, sym_t *out_start, sym_t *out_end,
                         int64_t *out_step) {
    TRY(take_dim(c, "dim", 0, rank_of(c, x), out_dim));
    if (rank_of(c, x) == 0) return convert_fail(c, INSITU_FORMAT, "a slice of a tensor without dimensions");
    TRY(take_sym_or(c, "start", sym_int(c->pool, 0), out_start));
    TRY(take_sym_or(c, "end", sym_int(c->pool, INT64_MAX), out_end));
    TRY(take_int(c, "step", 1, out_step));
    if (*out_step < 1) return convert_fail(c, INSITU_FORMAT, "step %lld", (long long)*out_step);
    clamp_slice(c, size_of(c, x, *out_dim), out_start, out_end);
    return INSITU_OK;
}

insitu_status take_asked_rows(converter_t *c, tensor_id_t x, uint32_t dim, int64_t step, sym_t *out_exist) {
    sym_pool_t *pool = c->pool;
    sym_t size = size_of(c, x, dim), start, end, zero = sym_int(pool, 0);
    int64_t number;
    TRY(take_sym_or(c, "start", zero, &start));
    TRY(take_sym_or(c, "end", sym_int(pool, INT64_MAX), &end));
    bool is_open = sym_constant(pool, end, &number) && number == INT64_MAX;
    start = from_end(c, start, size);
    end = is_open ? size : from_end(c, end, size);
    sym_t last = sym_sub(pool, end, sym_int(pool, 1));
    if (step > 1)
        last = sym_add(
            pool, start,
            sym_mul(pool, sym_floordiv(pool, sym_sub(pool, last, start), sym_int(pool, step)), sym_int(pool, step)));
    sym_t inside[2] = {sym_compare(pool, SYM_GE, start, zero), sym_compare(pool, SYM_LT, last, size)};
    if (is_open) inside[1] = sym_compare(pool, SYM_LE, start, size);
    sym_t either[2] = {sym_compare(pool, SYM_GE, start, end), sym_make(pool, SYM_AND, inside, 2)};
    *out_exist = is_open ? either[1] : sym_make(pool, SYM_OR, either, 2);
    return sym_pool_status(pool, c->diag);
}

insitu_status convert_slice(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim;
    sym_t start, end;
    int64_t step;
    TRY(take_tensor(c, "self", &x));
    TRY(take_slice(c, x, &dim, &start, &end, &step));
    TRY(emit_slice(c, x, dim, start, end, step, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status take_position(converter_t *c, const char *name, tensor_id_t x, uint32_t dim, sym_t *out) {
    TRY(take_sym(c, name, out));
    sym_t size = size_of(c, x, dim), given = *out;
    *out = from_end(c, given, size);
    sym_t zero = sym_int(c->pool, 0);
    if (sym_truth(c->pool, sym_compare(c->pool, SYM_LT, *out, zero)) != TRUTH_TRUE &&
        sym_truth(c->pool, sym_compare(c->pool, SYM_GE, *out, size)) != TRUTH_TRUE) {
        return INSITU_OK;
    }
    text_t sentence;
    text_init(&sentence);
    text_printf(&sentence, "index ");
    sym_print(c->pool, given, &sentence);
    text_printf(&sentence, " lies outside dimension %u of size ", dim);
    sym_print(c->pool, size, &sentence);
    insitu_status status = text_status(&sentence, c->diag);
    if (status == INSITU_OK) status = convert_fail(c, INSITU_BOUNDS, "%s", sentence.data);
    text_release(&sentence);
    return status;
}

/* The tensor, and the dimension of it in which parts are taken. */
static insitu_status take_cut(converter_t *c, tensor_id_t *out_tensor, uint32_t *out_dim) {
    TRY(take_tensor(c, "self", out_tensor));
    TRY(take_dim(c, "dim", 0, rank_of(c, *out_tensor), out_dim));
    if (rank_of(c, *out_tensor) == 0) return convert_fail(c, INSITU_FORMAT, "a part of a tensor without dimensions");
    return INSITU_OK;
}

insitu_status convert_select(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim;
    sym_t index;
    TRY(take_cut(c, &x, &dim));
    TRY(take_position(c, "index", x, dim, &index));
    TRY(emit_slice(c, x, dim, index, sym_add(c->pool, index, sym_int(c->pool, 1)), 1, &result));
    TRY(emit_squeeze(c, result, dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_narrow(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim;
    sym_t start, length;
    TRY(take_cut(c, &x, &dim));
    TRY(take_sym(c, "start", &start));
    TRY(take_sym(c, "length", &length));
    start = from_end(c, start, size_of(c, x, dim));
    TRY(emit_slice(c, x, dim, start, sym_add(c->pool, start, length), 1, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* The results are parts of equal size, save a smaller last one. */
static insitu_status split_evenly(converter_t *c, tensor_id_t x, uint32_t dim, sym_t part) {
    sym_t size = size_of(c, x, dim), start = sym_int(c->pool, 0);
    for (uint32_t i = 0; i < c->node->result_count; i++) {
        tensor_id_t result;
        bool last = i + 1 == c->node->result_count;
        sym_t end = last ? size : clamped(c, sym_add(c->pool, start, part), start, size);
        TRY(emit_slice(c, x, dim, start, end, 1, &result));
        set_result(c, i, result);
        start = end;
    }
    return INSITU_OK;
}

insitu_status convert_split(converter_t *c) {
    tensor_id_t x;
    uint32_t dim;
    sym_t part;
    TRY(take_cut(c, &x, &dim));
    TRY(take_sym(c, "split_size", &part));
    return split_evenly(c, x, dim, part);
}

insitu_status convert_chunk(converter_t *c) {
    tensor_id_t x;
    uint32_t dim;
    int64_t chunks;
    TRY(take_cut(c, &x, &dim));
    TRY(take_int(c, "chunks", 1, &chunks));
    if (chunks < 1) return convert_fail(c, INSITU_FORMAT, "%lld chunks", (long long)chunks);
    sym_t rounded = sym_add(c->pool, size_of(c, x, dim), sym_int(c->pool, chunks - 1));
    return split_evenly(c, x, dim, sym_floordiv(c->pool, rounded, sym_int(c->pool, chunks)));
}

/* split_with_sizes, split.sizes */
insitu_status convert_split_sizes(converter_t *c) {
    tensor_id_t x;
    uint32_t dim;
    const graph_arg_t *sizes = take_arg(c, has_arg(c, "split_sizes") ? "split_sizes" : "split_size");
    TRY(take_cut(c, &x, &dim));
    if (sizes->kind != ARG_LIST || sizes->list.count != c->node->result_count) {
        return convert_fail(c, INSITU_FORMAT, "one size a result was expected");
    }
    sym_t start = sym_int(c->pool, 0);
    for (uint32_t i = 0; i < sizes->list.count; i++) {
        tensor_id_t result;
        if (sizes->list.items[i].kind != ARG_SYM) return convert_fail(c, INSITU_FORMAT, "sizes must be numbers");
        sym_t end = sym_add(c->pool, start, sizes->list.items[i].sym);
        TRY(emit_slice(c, x, dim, start, end, 1, &result));
        set_result(c, i, result);
        start = end;
    }
    return INSITU_OK;
}

insitu_status convert_unbind(converter_t *c) {
    tensor_id_t x;
    uint32_t dim;
    TRY(take_cut(c, &x, &dim));
    if (sym_is_eq(c->pool, size_of(c, x, dim), sym_int(c->pool, c->node->result_count)) == TRUTH_FALSE) {
        return convert_fail(c, INSITU_FORMAT, "one result for each element was expected");
    }
    for (uint32_t i = 0; i < c->node->result_count; i++) {
        tensor_id_t result;
        TRY(emit_slice(c, x, dim, sym_int(c->pool, i), sym_int(c->pool, (int64_t)i + 1), 1, &result));
        TRY(emit_squeeze(c, result, dim, &result));
        set_result(c, i, result);
    }
    return INSITU_OK;
}

insitu_status emit_resized(converter_t *c, tensor_id_t x, uint32_t dim, sym_t size, tensor_id_t *out) {
    sym_t has = size_of(c, x, dim), kept = sym_min(c->pool, has, size), zero = sym_int(c->pool, 0);
    shape_t rest = tensor_of(c, x)->shape;
    tensor_id_t parts[2];
    *out = x;
    if (sym_same(has, size)) return INSITU_OK;
    TRY(emit_slice(c, x, dim, zero, kept, 1, out));
    if (sym_same(kept, size)) return INSITU_OK;
    parts[0] = *out;
    rest.sizes[dim] = sym_sub(c->pool, size, kept);
    TRY(emit_fill(c, dtype_of(c, x), &rest, zero, &parts[1]));
    return emit_concat(c, parts, 2, dim, out);
}
