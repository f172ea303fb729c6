/* Linear algebra that is sums and products: norms of vectors and matrices, dot products of rows, chains and powers of matrices. */
#include "convert/convert_int.h"

#include <math.h>

/* Of the two dimensions rows and columns: orders 1 and infinity are the largest sum of a column or of a row, negative ones the
 * smallest. */
static insitu_status emit_matrix_norm(converter_t *c, tensor_id_t x, double order, uint32_t rows, uint32_t columns,
                                      bool keepdim, tensor_id_t *out) {
    bool of_rows = isinf(order), is_known = of_rows || fabs(order) == 1;
    if (!is_known) return convert_unsupported(c, "a matrix norm that takes singular values");
    uint32_t summed = of_rows ? columns : rows, compared = of_rows ? rows : columns;
    TRY(emit_unary(c, OP_ABS, x, out));
    TRY(emit_reduce(c, OP_SUM, *out, 1u << summed, true, out));
    if (order > 0) { /* the largest of no sums is 0 */
        sym_t most = sym_max(c->pool, size_of(c, x, compared), sym_int(c->pool, 1));
        TRY(emit_resized(c, *out, compared, most, out));
    }
    TRY(emit_reduce(c, order < 0 ? OP_AMIN : OP_AMAX, *out, 1u << compared, true, out));
    if (keepdim) return INSITU_OK;
    TRY(emit_squeeze(c, *out, rows > columns ? rows : columns, out));
    return emit_squeeze(c, *out, rows > columns ? columns : rows, out);
}

/* linalg_norm, linalg_matrix_norm. Without an order the root of all squares; else of one dimension that of a vector, of two that
 * of a matrix. */
insitu_status convert_linalg_norm(converter_t *c) {
    tensor_id_t x, result;
    int64_t dims[MAX_RANK];
    uint32_t count, axes, at[2] = {0, 1};
    double order = 2;
    bool keepdim, is_frobenius = !has_arg(c, "ord");
    dtype_t type;
    TRY(take_tensor(c, "self", &x));
    uint32_t rank = rank_of(c, x);
    if (dtype_is_complex(dtype_of(c, x))) TRY(emit_unary(c, OP_ABS, x, &x));
    TRY(take_dtype(c, "dtype", dtype_of(c, x), &type));
    if (!dtype_is_float(type)) return convert_unsupported(c, "dtype %s", dtype_name(type));
    TRY(take_ints(c, "dim", dims, &count));
    TRY(take_dims(c, "dim", rank, &axes));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    if (take_arg(c, "ord")->kind == ARG_STRING) {
        is_frobenius = strcmp(take_string(c, "ord"), "fro") == 0;
        if (!is_frobenius) return convert_unsupported(c, "a matrix norm that takes singular values");
    } else if (!is_frobenius) {
        TRY(take_float(c, "ord", 2, &order));
    }
    for (uint32_t i = 0; i < count && i < 2; i++) TRY(normal_dim(c, dims[i], rank, &at[i]));
    if (count == 0) count = rank;
    TRY(emit_cast(c, x, wide_dtype(type), &x));
    if (is_frobenius || count == 1) {
        TRY(emit_norm_of(c, x, order, axes, keepdim, &result));
    } else {
        if (count != 2) return convert_fail(c, INSITU_FORMAT, "a matrix norm of %u dimensions", count);
        TRY(emit_matrix_norm(c, x, order, at[0], at[1], keepdim, &result));
    }
    return finish_wide(c, result, type);
}

/* The sum over dim of conj(x) y. */
insitu_status convert_vecdot(converter_t *c) {
    tensor_id_t x, y, result;
    uint32_t dim;
    TRY(take_tensor(c, "x", &x));
    TRY(take_tensor(c, "y", &y));
    TRY(emit_conjugate(c, x, &x));
    TRY(emit_binary(c, OP_MUL, x, y, &result));
    TRY(take_dim(c, "dim", -1, rank_of(c, result), &dim));
    TRY(emit_reduce(c, OP_SUM, result, 1u << dim, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* linalg_multi_dot: from the left; the ends may be vectors. */
insitu_status convert_chain(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count;
    TRY(take_tensors(c, "tensors", &parts, &count));
    if (count < 2) return convert_fail(c, INSITU_FORMAT, "a product of %u tensors", count);
    result = parts[0];
    for (uint32_t i = 1; i < count; i++) TRY(emit_product(c, result, parts[i], &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* x^n of square matrices, by squares; n >= 0 */
insitu_status convert_matrix_power(converter_t *c) {
    tensor_id_t x, result = NO_TENSOR;
    int64_t power;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "n", 1, &power));
    uint32_t rank = rank_of(c, x);
    if (power < 0) return convert_unsupported(c, "the inverse of a matrix");
    if (rank < 2) return convert_fail(c, INSITU_FORMAT, "a matrix of rank %u", rank);
    if (power == 0) {
        sym_t size = size_of(c, x, rank - 1);
        TRY(emit_eye(c, dtype_of(c, x), size, size, &result));
        TRY(emit_expand(c, result, &tensor_of(c, x)->shape, &result));
    }
    for (; power > 0; power /= 2) {
        if (power % 2 && result.index == NONE)
            result = x;
        else if (power % 2)
            TRY(emit_product(c, result, x, &result));
        if (power > 1) TRY(emit_product(c, x, x, &x));
    }
    set_only_result(c, result);
    return INSITU_OK;
}
