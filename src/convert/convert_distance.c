/* Lengths and distances: hypot, cosine_similarity, pairwise_distance, dist, renorm, cdist. */
#include "convert/convert_int.h"

#include <math.h>

static insitu_status emit_square(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    return emit_binary(c, OP_MUL, x, x, out);
}

/* sqrt of the sum of squares over the axes; in f64 where x is f32, so that it neither overflows nor rounds twice. */
static insitu_status emit_length(converter_t *c, tensor_id_t x, uint32_t axes, bool keepdim, tensor_id_t *out) {
    dtype_t type = dtype_of(c, x);
    TRY(emit_cast(c, x, DTYPE_F64, out));
    TRY(emit_square(c, *out, out));
    TRY(emit_reduce(c, OP_SUM, *out, axes, keepdim, out));
    TRY(emit_unary(c, OP_SQRT, *out, out));
    return emit_cast(c, *out, type, out);
}

/* high sqrt(1 + (low / high)^2) */
insitu_status emit_hypot(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    tensor_id_t low, high, zero, endless, ratio;
    TRY(emit_unary(c, OP_ABS, a, &a));
    TRY(emit_unary(c, OP_ABS, b, &b));
    TRY(emit_binary(c, OP_MINIMUM, a, b, &low));
    TRY(emit_binary(c, OP_MAXIMUM, a, b, &high));
    TRY(emit_binary(c, OP_DIV, low, high, &ratio));
    TRY(emit_square(c, ratio, &ratio));
    TRY(emit_scalar_float(c, OP_ADD, ratio, 1, false, &ratio));
    TRY(emit_unary(c, OP_SQRT, ratio, &ratio));
    TRY(emit_binary(c, OP_MUL, high, ratio, out));
    TRY(emit_scalar_float(c, OP_EQ, high, 0, false, &zero));
    TRY(emit_where(c, zero, high, *out, out));
    TRY(emit_binary(c, OP_FMAX, a, b, &high)); /* an infinity is the length, whatever the other is */
    TRY(emit_unary(c, OP_ISINF, high, &endless));
    return emit_where(c, endless, high, *out, out);
}

insitu_status convert_hypot(converter_t *c) {
    operand_t both[2];
    tensor_id_t result;
    dtype_t type;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_cast(c, both[i].tensor, type, &both[i].tensor));
        TRY(emit_cast(c, both[i].tensor, DTYPE_F64, &both[i].tensor));
    }
    TRY(emit_hypot(c, both[0].tensor, both[1].tensor, &result));
    return finish_wide(c, result, type);
}

/* x1 / max(|x1|, eps) times x2 / max(|x2|, eps), summed over dim */
insitu_status convert_cosine_similarity(converter_t *c) {
    static const char *const names[2] = {"x1", "x2"};
    operand_t both[2];
    tensor_id_t parts[2], result;
    dtype_t type;
    sym_t eps;
    int64_t dim;
    uint32_t axis;
    shape_t shape;
    for (uint32_t i = 0; i < 2; i++) TRY(take_operand(c, names[i], &both[i]));
    TRY(promote(c, both, 2, &type));
    TRY(take_int(c, "dim", 1, &dim));
    TRY(take_real(c, "eps", 1e-8, &eps));
    if (!dtype_is_float(type)) return convert_unsupported(c, "operands of %s", dtype_name(type));
    TRY(broadcast_shapes(c, &tensor_of(c, both[0].tensor)->shape, &tensor_of(c, both[1].tensor)->shape, &shape));
    TRY(normal_dim(c, dim, shape.rank, &axis));
    for (uint32_t i = 0; i < 2; i++) {
        tensor_id_t length;
        TRY(emit_operand(c, both[i], type, &shape, &parts[i]));
        TRY(emit_at_least_1d(c, parts[i], &parts[i]));
        TRY(emit_length(c, parts[i], 1u << axis, true, &length));
        TRY(emit_scalar(c, OP_MAXIMUM, length, eps, true, &length));
        TRY(emit_binary(c, OP_DIV, parts[i], length, &parts[i]));
    }
    TRY(emit_binary(c, OP_MUL, parts[0], parts[1], &result));
    TRY(emit_reduce(c, OP_SUM, result, 1u << axis, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status emit_norm_of(converter_t *c, tensor_id_t x, double order, uint32_t axes, bool keepdim, tensor_id_t *out) {
    if (order == 2) return emit_length(c, x, axes, keepdim, out);
    TRY(emit_unary(c, OP_ABS, x, out));
    if (order == INFINITY) return emit_reduce(c, OP_AMAX, *out, axes, keepdim, out);
    if (order == -INFINITY) return emit_reduce(c, OP_AMIN, *out, axes, keepdim, out);
    if (order == 0) {
        dtype_t type = dtype_of(c, x);
        TRY(emit_scalar_float(c, OP_NE, *out, 0, false, out));
        TRY(emit_cast(c, *out, type, out));
    } else if (order != 1) {
        TRY(emit_scalar_float(c, OP_POW, *out, order, false, out));
    }
    TRY(emit_reduce(c, OP_SUM, *out, axes, keepdim, out));
    if (order == 0 || order == 1) return INSITU_OK;
    return emit_scalar_float(c, OP_POW, *out, 1 / order, false, out);
}

insitu_status emit_row_distance(converter_t *c, tensor_id_t a, tensor_id_t b, double order, sym_t eps, bool keepdim,
                                tensor_id_t *out) {
    TRY(emit_binary(c, OP_SUB, a, b, out));
    TRY(emit_float(c, *out, out));
    TRY(emit_scalar(c, OP_ADD, *out, eps, false, out));
    if (rank_of(c, *out) == 0) return convert_unsupported(c, "tensors without dimensions");
    TRY(emit_wide(c, *out, out));
    return emit_norm_of(c, *out, order, 1u << (rank_of(c, *out) - 1), keepdim, out);
}

insitu_status convert_pairwise_distance(converter_t *c) {
    operand_t both[2];
    tensor_id_t result;
    dtype_t type;
    double order;
    bool keepdim;
    sym_t eps;
    TRY(take_operand(c, "x1", &both[0]));
    TRY(take_operand(c, "x2", &both[1]));
    TRY(take_float(c, "p", 2, &order));
    TRY(take_real(c, "eps", 1e-6, &eps));
    TRY(take_flag(c, "keepdim", false, &keepdim));
    TRY(promote(c, both, 2, &type));
    for (uint32_t i = 0; i < 2; i++) TRY(emit_cast(c, both[i].tensor, type, &both[i].tensor));
    TRY(emit_row_distance(c, both[0].tensor, both[1].tensor, order, eps, keepdim, &result));
    return finish_wide(c, result, dtype_is_integral(type) ? DTYPE_F32 : type);
}

/* dist: the norm of self - other over all elements */
insitu_status convert_dist(converter_t *c) {
    operand_t both[2];
    tensor_id_t result;
    dtype_t type;
    double order;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(take_float(c, "p", 2, &order));
    TRY(promote(c, both, 2, &type));
    if (!dtype_is_float(type)) return convert_unsupported(c, "dtype %s", dtype_name(type));
    TRY(emit_operation(c, OP_SUB, both[0], both[1], type, &result));
    TRY(emit_wide(c, result, &result));
    TRY(emit_norm_of(c, result, order, (1u << rank_of(c, result)) - 1, false, &result));
    return finish_wide(c, result, type);
}

/* Each slice of dim whose norm is above maxnorm times maxnorm / (norm + 1e-7) */
insitu_status convert_renorm(converter_t *c) {
    tensor_id_t x, wide, norm, above, factor, one, result;
    double order;
    sym_t most;
    uint32_t dim;
    TRY(take_tensor(c, "self", &x));
    TRY(take_float(c, "p", 2, &order));
    TRY(take_sym(c, "maxnorm", &most));
    uint32_t rank = rank_of(c, x);
    if (rank < 2) return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", rank);
    TRY(take_dim(c, "dim", 0, rank, &dim));
    dtype_t type = dtype_of(c, x);
    TRY(emit_wide(c, x, &wide));
    TRY(emit_norm_of(c, wide, order, ((1u << rank) - 1) & ~(1u << dim), true, &norm));
    TRY(emit_scalar(c, OP_GT, norm, most, false, &above));
    TRY(emit_scalar_float(c, OP_ADD, norm, 1e-7, false, &factor));
    TRY(emit_scalar(c, OP_DIV, factor, most, true, &factor));
    TRY(emit_number(c, dtype_of(c, wide), &tensor_of(c, factor)->shape, sym_int(c->pool, 1), &one));
    TRY(emit_where(c, above, factor, one, &factor));
    TRY(emit_binary(c, OP_MUL, wide, factor, &result));
    return finish_wide(c, result, type);
}

/* By products, as PyTorch does for many rows: sqrt(|a|^2 - 2 a b + |b|^2) */
static insitu_status emit_by_products(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    uint32_t rank = rank_of(c, a);
    tensor_id_t squares[2], turned;
    tensor_id_t *const both[2] = {&a, &b};
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_square(c, *both[i], &squares[i]));
        TRY(emit_reduce(c, OP_SUM, squares[i], 1u << (rank - 1), true, &squares[i]));
    }
    TRY(emit_swap(c, b, rank - 2, rank - 1, &turned));
    TRY(emit_matmul(c, a, turned, NO_TENSOR, out));
    TRY(emit_scalar_float(c, OP_MUL, *out, -2, false, out));
    TRY(emit_binary(c, OP_ADD, *out, squares[0], out));
    TRY(emit_swap(c, squares[1], rank - 2, rank - 1, &squares[1]));
    TRY(emit_binary(c, OP_ADD, *out, squares[1], out));
    TRY(emit_scalar_float(c, OP_MAXIMUM, *out, 0, true, out));
    return emit_unary(c, OP_SQRT, *out, out);
}

static bool is_many(const converter_t *c, sym_t rows) {
    int64_t count;
    return sym_constant(c->pool, rows, &count) && count > 25;
}

/* cdist, _cdist_forward: of each row of x1 (..., P, M) to each of x2 (..., R, M) */
insitu_status convert_cdist(converter_t *c) {
    tensor_id_t a, b, result;
    double order;
    int64_t mode;
    shape_t sizes;
    TRY(take_tensor(c, "x1", &a));
    TRY(take_tensor(c, "x2", &b));
    TRY(take_float(c, "p", 2, &order));
    TRY(take_int(c, "compute_mode", 0, &mode));
    uint32_t rank = rank_of(c, a) > rank_of(c, b) ? rank_of(c, a) : rank_of(c, b);
    if (rank_of(c, a) < 2 || rank_of(c, b) < 2) return convert_fail(c, INSITU_FORMAT, "rank below 2");
    sym_t rows[2] = {size_of(c, a, rank_of(c, a) - 2), size_of(c, b, rank_of(c, b) - 2)};
    bool products = order == 2 && (mode == 1 || (mode == 0 && (is_many(c, rows[0]) || is_many(c, rows[1]))));
    if (products) {
        shape_t from[2] = {tensor_of(c, a)->shape, tensor_of(c, b)->shape};
        for (uint32_t i = 0; i < 2; i++) from[i].sizes[from[i].rank - 2] = sym_int(c->pool, 1);
        TRY(broadcast_shapes(c, &from[0], &from[1], &sizes));
        sizes.sizes[rank - 2] = rows[0];
        TRY(emit_expand(c, a, &sizes, &a));
        sizes.sizes[rank - 2] = rows[1];
        TRY(emit_expand(c, b, &sizes, &b));
        TRY(emit_by_products(c, a, b, &result));
    } else {
        TRY(emit_unsqueeze(c, a, rank_of(c, a) - 1, &a));
        TRY(emit_unsqueeze(c, b, rank_of(c, b) - 2, &b));
        TRY(emit_binary(c, OP_SUB, a, b, &result));
        TRY(emit_norm_of(c, result, order, 1u << rank, false, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}
