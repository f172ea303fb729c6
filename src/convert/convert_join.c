/* Operators that are a few views and assemblies: hstack and its kin, hsplit, diag_embed, meshgrid, kron, rot90, diff. */
#include "convert/convert_int.h"

#include <stdlib.h>

static insitu_status lift_to(converter *c, tensor_id x, uint32_t rank, tensor_id *out) {
    *out = x;
    while (rank_of(c, *out) < rank) TRY(emit_unsqueeze(c, *out, rank == 3 && rank_of(c, *out) == 2 ? 2 : 0, out));
    return INSITU_OK;
}

/* param: 1 hstack, 2 vstack, 3 dstack, 0 column_stack */
insitu_status convert_stack_along(converter *c) {
    tensor_id *parts, result;
    uint32_t count, dim = c->param == 2 ? 0 : c->param == 3 ? 2 : 1;
    TRY(take_parts(c, &parts, &count));
    for (uint32_t i = 0; i < count; i++) {
        TRY(lift_to(c, parts[i], c->param ? (uint32_t)c->param : 1, &parts[i]));
        if (c->param == 0 && rank_of(c, parts[i]) == 1) TRY(emit_unsqueeze(c, parts[i], 1, &parts[i]));
    }
    if (c->param == 1 && rank_of(c, parts[0]) == 1) dim = 0;
    TRY(emit_concat(c, parts, count, dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* hsplit, vsplit, dsplit into equal parts or at indices; param: the dimension, 1 standing for 0 of a vector */
insitu_status convert_split_along(converter *c) {
    tensor_id x, result;
    sym at[MAX_RANK], start = sym_int(c->pool, 0), end;
    TRY(take_tensor(c, "self", &x));
    uint32_t dim = (uint32_t)c->param, parts = c->node->result_count;
    if (dim == 1 && rank_of(c, x) == 1) dim = 0;
    if (dim >= rank_of(c, x)) return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", rank_of(c, x));
    const graph_arg *list = take_arg(c, "indices");
    if (list->kind == ARG_LIST && list->list.count + 1 != parts) return convert_fail(c, INSITU_FORMAT, "wrong parts");
    for (uint32_t i = 0; i < parts; i++) {
        sym size = size_of(c, x, dim);
        if (list->kind != ARG_LIST) {
            end = sym_floordiv(c->pool, sym_mul(c->pool, size, sym_int(c->pool, i + 1)), sym_int(c->pool, parts));
        } else if (i + 1 == parts) {
            end = size;
        } else {
            if (list->list.items[i].kind != ARG_SYM) return convert_fail(c, INSITU_FORMAT, "an index is no number");
            end = list->list.items[i].sym;
        }
        at[0] = start;
        at[1] = end;
        clamp_slice(c, size, &at[0], &at[1]);
        TRY(emit_slice(c, x, dim, at[0], at[1], 1, &result));
        set_result(c, i, result);
        start = end;
    }
    return INSITU_OK;
}

/* A tensor of zeros but for the diagonal of two of its dimensions, which is source. */
static insitu_status emit_embedded(converter *c, tensor_id source, const shape *whole, uint32_t dim1, uint32_t dim2,
                                   int64_t offset, tensor_id *out) {
    tensor_id operands[2] = {NO_TENSOR, source};
    TRY(emit_fill(c, dtype_of(c, source), whole, sym_int(c->pool, 0), &operands[0]));
    layer_draft update = draft_of(LAYER_DIAGONAL_UPDATE);
    draft_int(c->pool, &update, ATTR_DIM1, dim1);
    draft_int(c->pool, &update, ATTR_DIM2, dim2);
    draft_int(c->pool, &update, ATTR_OFFSET, offset);
    return emit(c, &update, operands, 2, out);
}

/* The last dimension of x as a diagonal. */
static insitu_status embed_last(converter *c, tensor_id x, int64_t offset, int64_t first, int64_t second,
                                tensor_id *out) {
    shape whole = {.rank = rank_of(c, x) + 1};
    uint32_t dim1, dim2, from = 0;
    if (whole.rank > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    TRY(normal_dim(c, first, whole.rank, &dim1));
    TRY(normal_dim(c, second, whole.rank, &dim2));
    if (dim1 == dim2) return convert_fail(c, INSITU_FORMAT, "one dimension twice");
    sym size = sym_add(c->pool, size_of(c, x, rank_of(c, x) - 1), sym_int(c->pool, llabs(offset)));
    for (uint32_t i = 0; i < whole.rank; i++) whole.sizes[i] = i == dim1 || i == dim2 ? size : size_of(c, x, from++);
    return emit_embedded(c, x, &whole, dim1, dim2, offset, out);
}

insitu_status convert_diag_embed(converter *c) {
    tensor_id x, result;
    int64_t offset, dim1, dim2;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "offset", 0, &offset));
    TRY(take_int(c, "dim1", -2, &dim1));
    TRY(take_int(c, "dim2", -1, &dim2));
    if (rank_of(c, x) == 0) return convert_fail(c, INSITU_FORMAT, "a tensor without dimensions");
    TRY(embed_last(c, x, offset, dim1, dim2, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* diag: a vector as a diagonal, or the diagonal of a matrix; diagflat (param 1): all elements as a diagonal */
insitu_status convert_diag(converter *c) {
    tensor_id x, result;
    int64_t offset;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, c->param ? "offset" : "diagonal", 0, &offset));
    if (c->param) {
        shape flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
        TRY(emit_reshape(c, x, &flat, &x));
    }
    if (rank_of(c, x) == 1) {
        TRY(embed_last(c, x, offset, 0, 1, &result));
    } else {
        TRY(emit_diagonal(c, x, 0, 1, offset, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

/* The sum of a matrix's diagonal. */
insitu_status convert_trace(converter *c) {
    tensor_id x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_diagonal(c, x, 0, 1, 0, &result));
    if (dtype_is_integral(dtype_of(c, x))) TRY(emit_cast(c, result, DTYPE_I64, &result));
    TRY(emit_reduce(c, OP_SUM, result, 1, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* eye: ones where the row is the column */
insitu_status convert_eye(converter *c) {
    sym rows, columns, zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    tensor_id row, column, result;
    dtype type;
    TRY(take_sym(c, "n", &rows));
    TRY(take_sym_or(c, "m", rows, &columns));
    TRY(take_dtype(c, "dtype", DTYPE_F32, &type));
    TRY(emit_iota(c, DTYPE_I64, rows, zero, one, &row));
    TRY(emit_iota(c, DTYPE_I64, columns, zero, one, &column));
    TRY(emit_unsqueeze(c, row, 1, &row));
    TRY(emit_binary(c, OP_EQ, row, column, &result));
    TRY(emit_cast(c, result, type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* meshgrid: vector i along dimension i; with indexing "xy" the first two change places */
insitu_status convert_meshgrid(converter *c) {
    tensor_id *parts, result;
    uint32_t count;
    bool swaps = strcmp(take_string(c, "indexing"), "xy") == 0;
    TRY(take_tensors(c, "tensors", &parts, &count));
    if (count > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    shape whole = {.rank = count}, one = {.rank = count};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = swaps && count > 1 && i < 2 ? 1 - i : i;
        whole.sizes[dim] = shape_numel(c->pool, &tensor_of(c, parts[i])->shape);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = swaps && count > 1 && i < 2 ? 1 - i : i;
        for (uint32_t j = 0; j < count; j++) one.sizes[j] = j == dim ? whole.sizes[j] : sym_int(c->pool, 1);
        TRY(emit_reshape(c, parts[i], &one, &result));
        TRY(emit_expand(c, result, &whole, &result));
        set_result(c, i, result);
    }
    return INSITU_OK;
}

insitu_status convert_broadcast_tensors(converter *c) {
    tensor_id *parts, result;
    uint32_t count;
    shape whole = {0};
    TRY(take_tensors(c, "tensors", &parts, &count));
    for (uint32_t i = 0; i < count; i++) TRY(broadcast_shapes(c, &whole, &tensor_of(c, parts[i])->shape, &whole));
    for (uint32_t i = 0; i < count; i++) {
        TRY(emit_expand(c, parts[i], &whole, &result));
        set_result(c, i, result);
    }
    return INSITU_OK;
}

/* Every element of self times the whole of other: sizes are multiplied. */
insitu_status convert_kron(converter *c) {
    operand both[2];
    dtype type;
    tensor_id result;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    tensor_id a = both[0].tensor, b = both[1].tensor;
    while (rank_of(c, a) < rank_of(c, b)) TRY(emit_unsqueeze(c, a, 0, &a));
    while (rank_of(c, b) < rank_of(c, a)) TRY(emit_unsqueeze(c, b, 0, &b));
    uint32_t rank = rank_of(c, a);
    if (2 * rank > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    shape left = {.rank = 2 * rank}, right = {.rank = 2 * rank}, joined = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        const size_t pair = (size_t)2 * i;
        left.sizes[pair] = size_of(c, a, i);
        right.sizes[pair + 1] = size_of(c, b, i);
        left.sizes[pair + 1] = right.sizes[pair] = sym_int(c->pool, 1);
        joined.sizes[i] = sym_mul(c->pool, size_of(c, a, i), size_of(c, b, i));
    }
    TRY(emit_reshape(c, a, &left, &a));
    TRY(emit_reshape(c, b, &right, &b));
    TRY(emit_operation(c, OP_MUL, operand_of_tensor(c, a), operand_of_tensor(c, b), type, &result));
    TRY(emit_reshape(c, result, &joined, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* k quarter turns from the first of dims towards the second */
insitu_status convert_rot90(converter *c) {
    tensor_id x;
    int64_t turns, dims[MAX_RANK];
    uint32_t count, at[2];
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "k", 1, &turns));
    TRY(take_ints(c, "dims", dims, &count));
    if (count != 2) return convert_fail(c, INSITU_FORMAT, "%u dims", count);
    for (uint32_t i = 0; i < 2; i++) TRY(normal_dim(c, dims[i], rank_of(c, x), &at[i]));
    turns = (turns % 4 + 4) % 4;
    for (uint32_t i = 0; i < 2; i++) { /* the second is flipped before a turn, the first after three or half a turn */
        if (!(turns == 2 || (turns == 1 && i == 1) || (turns == 3 && i == 0))) continue;
        sym dim = sym_int(c->pool, at[i]);
        layer_draft flip = draft_of(LAYER_FLIP);
        draft_list(&flip, ATTR_DIMS, &dim, 1);
        TRY(emit_on(c, &flip, x, &x));
    }
    if (turns % 2) TRY(emit_swap(c, x, at[0], at[1], &x));
    set_only_result(c, x);
    return INSITU_OK;
}

/* x[1:] - x[:-1] along dim, n times, after prepend and before append; of bools whether they differ */
insitu_status convert_diff(converter *c) {
    tensor_id x, extra, parts[3], first, second;
    int64_t times;
    uint32_t dim, count = 0;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "n", 1, &times));
    TRY(take_dim(c, "dim", -1, rank_of(c, x), &dim));
    TRY(take_optional_tensor(c, "prepend", &extra));
    if (extra.index != NONE) parts[count++] = extra;
    parts[count++] = x;
    TRY(take_optional_tensor(c, "append", &extra));
    if (extra.index != NONE) parts[count++] = extra;
    for (uint32_t i = 0; i < count; i++) {
        if (dtype_of(c, parts[i]) != dtype_of(c, x)) return convert_unsupported(c, "operands of two dtypes");
    }
    if (rank_of(c, x) == 0 || times < 0) return convert_fail(c, INSITU_FORMAT, "no differences");
    TRY(emit_concat(c, parts, count, dim, &x));
    op_kind op = dtype_of(c, x) == DTYPE_BOOL ? OP_LOGICAL_XOR : OP_SUB;
    sym zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    for (int64_t i = 0; i < times; i++) {
        sym size = size_of(c, x, dim), less = sym_max(c->pool, zero, sym_sub(c->pool, size, one));
        TRY(emit_slice(c, x, dim, sym_min(c->pool, one, size), size, 1, &second));
        TRY(emit_slice(c, x, dim, zero, less, 1, &first));
        TRY(emit_binary(c, op, second, first, &x));
    }
    set_only_result(c, x);
    return INSITU_OK;
}
