/* Diagonals of matrices: diag_embed, diag, trace, eye. */
#include "convert/convert_int.h"

#include <stdlib.h>

/* A tensor of zeros but for the diagonal of two of its dimensions, which is source. */
static insitu_status emit_embedded(converter_t *c, tensor_id_t source, const shape_t *whole, uint32_t dim1,
                                   uint32_t dim2, int64_t offset, tensor_id_t *out) {
    tensor_id_t operands[2] = {NO_TENSOR, source};
    TRY(emit_fill(c, dtype_of(c, source), whole, sym_int(c->pool, 0), &operands[0]));
    layer_draft_t update = draft_of(LAYER_DIAGONAL_UPDATE);
    draft_int(c->pool, &update, ATTR_DIM1, dim1);
    draft_int(c->pool, &update, ATTR_DIM2, dim2);
    draft_int(c->pool, &update, ATTR_OFFSET, offset);
    return emit(c, &update, operands, 2, out);
}

/* The last dimension of x as a diagonal. */
static insitu_status embed_last(converter_t *c, tensor_id_t x, int64_t offset, int64_t first, int64_t second,
                                tensor_id_t *out) {
    shape_t whole = {.rank = rank_of(c, x) + 1};
    uint32_t dim1, dim2, from = 0;
    if (whole.rank > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    TRY(normal_dim(c, first, whole.rank, &dim1));
    TRY(normal_dim(c, second, whole.rank, &dim2));
    if (dim1 == dim2) return convert_fail(c, INSITU_FORMAT, "one dimension twice");
    sym_t size = sym_add(c->pool, size_of(c, x, rank_of(c, x) - 1), sym_int(c->pool, llabs(offset)));
    for (uint32_t i = 0; i < whole.rank; i++) whole.sizes[i] = i == dim1 || i == dim2 ? size : size_of(c, x, from++);
    return emit_embedded(c, x, &whole, dim1, dim2, offset, out);
}

insitu_status convert_diag_embed(converter_t *c) {
    tensor_id_t x, result;
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
insitu_status convert_diag(converter_t *c) {
    tensor_id_t x, result;
    int64_t offset;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, c->param ? "offset" : "diagonal", 0, &offset));
    if (c->param) {
        shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
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
insitu_status convert_trace(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_diagonal(c, x, 0, 1, 0, &result));
    if (dtype_is_integral(dtype_of(c, x))) TRY(emit_cast(c, result, DTYPE_I64, &result));
    TRY(emit_reduce(c, OP_SUM, result, 1, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status emit_eye(converter_t *c, dtype_t type, sym_t rows, sym_t columns, tensor_id_t *out) {
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    tensor_id_t row, column;
    TRY(emit_iota(c, DTYPE_I64, rows, zero, one, &row));
    TRY(emit_iota(c, DTYPE_I64, columns, zero, one, &column));
    TRY(emit_unsqueeze(c, row, 1, &row));
    TRY(emit_binary(c, OP_EQ, row, column, out));
    return emit_cast(c, *out, type, out);
}

insitu_status convert_eye(converter_t *c) {
    sym_t rows, columns;
    tensor_id_t result;
    dtype_t type;
    TRY(take_sym(c, "n", &rows));
    TRY(take_sym_or(c, "m", rows, &columns));
    TRY(take_dtype(c, "dtype", DTYPE_F32, &type));
    TRY(emit_eye(c, type, rows, columns, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
