/* Values assembled from parts: cat, stack, repeat, tile, pad, tril, triu. */
#include "convert/convert_int.h"

/* All parts in their promoted dtype. */
static insitu_status cast_parts(converter_t *c, tensor_id_t *parts, uint32_t count) {
    dtype_t *types;
    operand_class_t *classes;
    TRY(arena_array(&c->scratch, count, sizeof(dtype_t), &types));
    TRY(arena_array(&c->scratch, count, sizeof(operand_class_t), &classes));
    for (uint32_t i = 0; i < count; i++) {
        types[i] = dtype_of(c, parts[i]);
        classes[i] = rank_of(c, parts[i]) ? OPERAND_TENSOR : OPERAND_ZERO_DIM;
    }
    dtype_t type = dtype_result(types, classes, count);
    if (type >= DTYPE_COUNT) return convert_unsupported(c, "parts whose dtypes have no common one");
    for (uint32_t i = 0; i < count; i++) TRY(emit_cast(c, parts[i], type, &parts[i]));
    return INSITU_OK;
}

insitu_status take_parts(converter_t *c, tensor_id_t **out, uint32_t *out_count) {
    TRY(take_tensors(c, "tensors", out, out_count));
    for (uint32_t i = 0; i < *out_count; i++) {
        if ((*out)[i].index == NONE) return convert_fail(c, INSITU_FORMAT, "a part is None");
    }
    if (*out_count == 0) return convert_fail(c, INSITU_FORMAT, "no parts");
    return cast_parts(c, *out, *out_count);
}

/* One-dimensional parts of no elements are left out, whatever the rank of the others. */
insitu_status convert_cat(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count, kept = 0, dim;
    TRY(take_parts(c, &parts, &count));
    tensor_id_t first = parts[0];
    for (uint32_t i = 0; i < count; i++) {
        if (rank_of(c, parts[i]) == 1 && is_int_constant(c, size_of(c, parts[i], 0), 0)) continue;
        parts[kept++] = parts[i];
    }
    if (kept == 0) parts[kept++] = first;
    TRY(take_dim(c, "dim", 0, rank_of(c, parts[0]), &dim));
    TRY(emit_concat(c, parts, kept, dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_stack(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count, dim;
    TRY(take_parts(c, &parts, &count));
    TRY(take_dim(c, "dim", 0, rank_of(c, parts[0]) + 1, &dim));
    for (uint32_t i = 0; i < count; i++) {
        if (rank_of(c, parts[i]) < dim) return convert_fail(c, INSITU_FORMAT, "parts of different rank");
        TRY(emit_unsqueeze(c, parts[i], dim, &parts[i]));
    }
    TRY(emit_concat(c, parts, count, dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Dimension dim as often as times: [.., n, ..] -> [.., times, n, ..] -> [.., times n, ..]; each: its elements repeated,
 * [.., n, times, ..]. */
static insitu_status repeat_dim(converter_t *c, tensor_id_t x, uint32_t dim, sym_t times, bool each, tensor_id_t *out) {
    *out = x;
    if (is_int_constant(c, times, 1)) return INSITU_OK;
    shape_t joined = tensor_of(c, x)->shape;
    joined.sizes[dim] = sym_mul(c->pool, joined.sizes[dim], times);
    TRY(emit_unsqueeze(c, x, each ? dim + 1 : dim, out));
    shape_t expanded = tensor_of(c, *out)->shape;
    expanded.sizes[each ? dim + 1 : dim] = times;
    TRY(emit_expand(c, *out, &expanded, out));
    return emit_reshape(c, *out, &joined, out);
}

/* repeat: at least as many numbers as dimensions; tile: missing ones are 1 */
insitu_status convert_repeat(converter_t *c) {
    tensor_id_t x;
    sym_t times[MAX_RANK];
    uint32_t count;
    TRY(take_tensor(c, "self", &x));
    TRY(take_syms(c, c->param ? "dims" : "repeats", times, &count));
    uint32_t rank = rank_of(c, x);
    if (count < rank && !c->param) return convert_fail(c, INSITU_FORMAT, "fewer repeats than dimensions");
    shape_t lifted = {.rank = count > rank ? count : rank};
    for (uint32_t i = 0; i < lifted.rank; i++) {
        lifted.sizes[i] = i < lifted.rank - rank ? sym_int(c->pool, 1) : size_of(c, x, i - (lifted.rank - rank));
    }
    TRY(emit_reshape(c, x, &lifted, &x));
    for (uint32_t i = 0; i < count; i++) TRY(repeat_dim(c, x, lifted.rank - count + i, times[i], false, &x));
    set_only_result(c, x);
    return INSITU_OK;
}

insitu_status convert_repeat_interleave(converter_t *c) {
    tensor_id_t x, result;
    sym_t times;
    uint32_t dim = 0;
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym(c, "repeats", &times));
    TRY(emit_at_least_1d(c, x, &x));
    if (has_arg(c, "dim")) {
        TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
    } else {
        shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
        TRY(emit_reshape(c, x, &flat, &x));
    }
    TRY(repeat_dim(c, x, dim, times, true, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Pairs from the last dimension backwards, of any sign. */
static insitu_status take_padding(converter_t *c, uint32_t rank, sym_t *before, sym_t *after) {
    const graph_arg_t *list = take_arg(c, has_arg(c, "pad") ? "pad" : "padding");
    uint32_t count = list->kind == ARG_LIST ? list->list.count : 0;
    if (list->kind != ARG_LIST || count % 2 || count / 2 > rank)
        return convert_fail(c, INSITU_FORMAT, "the padding must be pairs, at most one a dimension");
    for (uint32_t i = 0; i < rank; i++) before[i] = after[i] = sym_int(c->pool, 0);
    for (uint32_t i = 0; i < count; i++) {
        const graph_arg_t *item = &list->list.items[i];
        if (item->kind != ARG_SYM) return convert_fail(c, INSITU_FORMAT, "padding must be numbers");
        (i % 2 ? after : before)[rank - 1 - i / 2] = item->sym;
    }
    return INSITU_OK;
}

static insitu_status emit_padded(converter_t *c, op_kind_t op, tensor_id_t x, const sym_t *before, const sym_t *after,
                                 sym_t value, tensor_id_t *out) {
    uint32_t rank = rank_of(c, x);
    sym_t zero = sym_int(c->pool, 0), added[2][MAX_RANK];
    bool pads = false;
    for (uint32_t dim = 0; dim < rank; dim++) {
        added[0][dim] = sym_max(c->pool, before[dim], zero);
        added[1][dim] = sym_max(c->pool, after[dim], zero);
        pads = pads || !sym_same(added[0][dim], zero) || !sym_same(added[1][dim], zero);
    }
    *out = x;
    if (!pads) return INSITU_OK;
    layer_draft_t layer = draft_of(LAYER_PAD);
    draft_list(&layer, ATTR_BEFORE, added[0], rank);
    draft_list(&layer, ATTR_AFTER, added[1], rank);
    draft_op(&layer, op);
    if (op == OP_CONSTANT_PAD) draft_sym(&layer, ATTR_VALUE, value);
    return emit_on(c, &layer, x, out);
}

/* Both parts of a complex tensor are padded, the imaginary one with 0. */
static insitu_status emit_pad(converter_t *c, op_kind_t op, tensor_id_t x, const sym_t *before, const sym_t *after,
                              tensor_id_t *out) {
    sym_t values[2] = {sym_int(c->pool, 0), sym_int(c->pool, 0)};
    tensor_id_t parts[2];
    TRY(take_sym_or(c, "value", values[0], &values[0]));
    if (!dtype_is_complex(dtype_of(c, x))) return emit_padded(c, op, x, before, after, values[0], out);
    TRY(emit_to_parts(c, x, parts));
    for (uint32_t i = 0; i < 2; i++) TRY(emit_padded(c, op, parts[i], before, after, values[i], &parts[i]));
    return emit_from_parts(c, parts, out);
}

/* x without what negative amounts cut */
static insitu_status emit_cut(converter_t *c, tensor_id_t x, const sym_t *before, const sym_t *after,
                              tensor_id_t *out) {
    sym_t zero = sym_int(c->pool, 0);
    *out = x;
    for (uint32_t dim = 0; dim < rank_of(c, x); dim++) {
        sym_t start = sym_sub(c->pool, sym_max(c->pool, before[dim], zero), before[dim]);
        sym_t cut = sym_sub(c->pool, sym_max(c->pool, after[dim], zero), after[dim]);
        if (sym_same(start, zero) && sym_same(cut, zero)) continue;
        TRY(emit_slice(c, *out, dim, start, sym_sub(c->pool, size_of(c, x, dim), cut), 1, out));
    }
    return INSITU_OK;
}

/* A positive amount p adds max(0, p), a negative one cuts max(0, p) - p, which is decided in the call where the sign is
 * not known. Edges and mirror images are those of the whole tensor, and cut then; what else is padded was cut before. */
static insitu_status finish_pad(converter_t *c, op_kind_t op) {
    tensor_id_t x;
    sym_t before[MAX_RANK], after[MAX_RANK];
    bool is_whole = op == OP_REPLICATE_PAD || op == OP_REFLECT_PAD;
    TRY(take_tensor(c, "self", &x));
    TRY(take_padding(c, rank_of(c, x), before, after));
    if (!is_whole) TRY(emit_cut(c, x, before, after, &x));
    TRY(emit_pad(c, op, x, before, after, &x));
    if (is_whole) TRY(emit_cut(c, x, before, after, &x));
    set_only_result(c, x);
    return INSITU_OK;
}

/* constant_pad_nd, reflection_padNd, replication_padNd */
insitu_status convert_pad_as(converter_t *c) { return finish_pad(c, (op_kind_t)c->param); }

insitu_status convert_pad(converter_t *c) {
    static const struct {
        const char *name;
        op_kind_t op;
    } modes[] = {{"constant", OP_CONSTANT_PAD},
                 {"reflect", OP_REFLECT_PAD},
                 {"replicate", OP_REPLICATE_PAD},
                 {"circular", OP_CIRCULAR_PAD}};
    const char *mode = has_arg(c, "mode") ? take_string(c, "mode") : "constant";
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        if (strcmp(modes[i].name, mode) == 0) return finish_pad(c, modes[i].op);
    }
    return convert_unsupported(c, "mode %s", mode);
}

/* tril, triu */
insitu_status convert_triangle(converter_t *c) {
    tensor_id_t x, result;
    sym_t diagonal;
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym_or(c, "diagonal", sym_int(c->pool, 0), &diagonal));
    layer_draft_t triangle = draft_of(LAYER_TRIANGLE);
    draft_sym(&triangle, ATTR_OFFSET, diagonal);
    draft_op(&triangle, (op_kind_t)c->param);
    TRY(emit_on(c, &triangle, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
