/* Products: every rank of matmul, linear, addmm and its kin, as matmul layers on explicit views. */
#include "convert/convert_int.h"

/* Leading dimensions joined: (..., M, K) -> (rest, K) for keep 1, (rest, M, K) for keep 2. */
static insitu_status join_leading(converter_t *c, tensor_id_t x, uint32_t keep, tensor_id_t *out) {
    const shape_t *from = &tensor_of(c, x)->shape;
    shape_t joined = {.rank = keep + 1, .sizes = {sym_int(c->pool, 1)}};
    for (uint32_t i = 0; i + keep < from->rank; i++) {
        joined.sizes[0] = sym_mul(c->pool, joined.sizes[0], from->sizes[i]);
    }
    for (uint32_t i = 0; i < keep; i++) joined.sizes[1 + i] = from->sizes[from->rank - keep + i];
    return emit_reshape(c, x, &joined, out);
}

/* x (..., K) by a matrix (K, N), as one product of (rest, K) rows. */
static insitu_status emit_rows_product(converter_t *c, tensor_id_t x, tensor_id_t matrix, tensor_id_t bias,
                                       tensor_id_t *out) {
    shape_t shape = tensor_of(c, x)->shape;
    shape.sizes[shape.rank - 1] = size_of(c, matrix, 1);
    TRY(join_leading(c, x, 1, &x));
    TRY(emit_matmul(c, x, matrix, bias, out));
    return emit_reshape(c, *out, &shape, out);
}

/* Batch dimensions of both broadcast. */
static insitu_status emit_batched_product(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    shape_t left = tensor_of(c, a)->shape, right = tensor_of(c, b)->shape, batch;
    shape_t left_batch = left, right_batch = right;
    left_batch.rank -= 2;
    right_batch.rank -= 2;
    TRY(broadcast_shapes(c, &left_batch, &right_batch, &batch));
    shape_t wide = batch;
    wide.rank += 2;
    for (uint32_t i = 0; i < 2; i++) wide.sizes[batch.rank + i] = left.sizes[left_batch.rank + i];
    TRY(emit_expand(c, a, &wide, &a));
    for (uint32_t i = 0; i < 2; i++) wide.sizes[batch.rank + i] = right.sizes[right_batch.rank + i];
    TRY(emit_expand(c, b, &wide, &b));
    return emit_matmul(c, a, b, NO_TENSOR, out);
}

insitu_status emit_product(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    uint32_t left = rank_of(c, a), right = rank_of(c, b);
    if (left == 0 || right == 0) return convert_fail(c, INSITU_FORMAT, "an operand without dimensions");
    if (left == 1) TRY(emit_unsqueeze(c, a, 0, &a));
    if (right == 1) TRY(emit_unsqueeze(c, b, 1, &b));
    if (rank_of(c, b) == 2) {
        TRY(emit_rows_product(c, a, b, NO_TENSOR, out));
    } else {
        TRY(emit_batched_product(c, a, b, out));
    }
    if (right == 1) TRY(emit_squeeze(c, *out, rank_of(c, *out) - 1, out));
    if (left == 1) TRY(emit_squeeze(c, *out, rank_of(c, *out) - (right == 1 ? 1 : 2), out));
    return INSITU_OK;
}

static insitu_status take_either(converter_t *c, const char *name, const char *other, tensor_id_t *out) {
    return take_tensor(c, has_arg(c, name) ? name : other, out);
}

/* matmul, mm, bmm, mv, dot; param: the conjugate of self is multiplied (vdot) */
insitu_status convert_matmul(converter_t *c) {
    tensor_id_t a, b, result;
    TRY(take_tensor(c, "self", &a));
    if (c->param) TRY(emit_conjugate(c, a, &a));
    TRY(take_either(c, "other", has_arg(c, "mat2") ? "mat2" : has_arg(c, "vec") ? "vec" : "tensor", &b));
    TRY(emit_product(c, a, b, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* input weight^T + bias; weight (N, K) or (K) */
insitu_status convert_linear(converter_t *c) {
    tensor_id_t x, weight, bias, result;
    TRY(take_tensor(c, "input", &x));
    TRY(take_tensor(c, "weight", &weight));
    TRY(take_optional_tensor(c, "bias", &bias));
    if (rank_of(c, weight) != 2 || rank_of(c, x) == 0) {
        TRY(emit_product(c, x, weight, &result));
        if (bias.index != NONE) TRY(emit_binary(c, OP_ADD, result, bias, &result));
    } else {
        bool fits = bias.index != NONE && rank_of(c, bias) == 1;
        TRY(emit_swap(c, weight, 0, 1, &weight));
        TRY(emit_rows_product(c, x, weight, fits ? bias : NO_TENSOR, &result));
        if (bias.index != NONE && !fits) TRY(emit_binary(c, OP_ADD, result, bias, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

/* A factor of tensors of that dtype: 1 unless given, cut to a whole number for integers. */
static insitu_status take_factor(converter_t *c, const char *name, dtype_t type, sym_t *out_factor, bool *out_one) {
    double factor;
    TRY(take_sym_or(c, name, sym_int(c->pool, 1), out_factor));
    if (dtype_is_integral(type) && sym_kind_of(c->pool, *out_factor) == SYM_KIND_FLOAT) {
        *out_factor = sym_make(c->pool, SYM_TRUNC, out_factor, 1);
    }
    *out_one = sym_constant_float(c->pool, *out_factor, &factor) && factor == 1;
    return INSITU_OK;
}

/* beta self + alpha product */
insitu_status finish_scaled_sum(converter_t *c, tensor_id_t product) {
    tensor_id_t self, result = product;
    sym_t alpha, beta;
    bool alpha_one, beta_one;
    double factor;
    TRY(take_tensor(c, "self", &self));
    TRY(take_factor(c, "alpha", dtype_of(c, self), &alpha, &alpha_one));
    TRY(take_factor(c, "beta", dtype_of(c, self), &beta, &beta_one));
    if (!alpha_one) TRY(emit_scalar(c, OP_MUL, result, alpha, false, &result));
    if (!sym_constant_float(c->pool, beta, &factor) || factor != 0) {
        if (!beta_one) TRY(emit_scalar(c, OP_MUL, self, beta, false, &self));
        TRY(emit_binary(c, OP_ADD, result, self, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

/* beta self + alpha (a b): addmm, baddbmm, addmv. With beta 0 self is not read, NaN or not. */
insitu_status convert_addmm(converter_t *c) {
    tensor_id_t self, a, b, result;
    sym_t alpha, beta;
    bool alpha_one, beta_one;
    TRY(take_tensor(c, "self", &self));
    TRY(take_either(c, "mat1", has_arg(c, "batch1") ? "batch1" : "mat", &a));
    TRY(take_either(c, "mat2", has_arg(c, "batch2") ? "batch2" : "vec", &b));
    TRY(take_factor(c, "alpha", dtype_of(c, self), &alpha, &alpha_one));
    TRY(take_factor(c, "beta", dtype_of(c, self), &beta, &beta_one));
    bool is_bias = alpha_one && beta_one && rank_of(c, self) == 1 && rank_of(c, a) == 2 && rank_of(c, b) == 2 &&
                   sym_same(size_of(c, self, 0), size_of(c, b, 1));
    if (is_bias) {
        TRY(emit_matmul(c, a, b, self, &result));
        set_only_result(c, result);
        return INSITU_OK;
    }
    TRY(emit_product(c, a, b, &result));
    return finish_scaled_sum(c, result);
}

insitu_status convert_outer(converter_t *c) {
    tensor_id_t a, b, result;
    TRY(take_tensor(c, "self", &a));
    TRY(take_tensor(c, "vec2", &b));
    operand_t both[2] = {operand_of_tensor(c, a), operand_of_tensor(c, b)};
    dtype_t type;
    TRY(promote(c, both, 2, &type));
    TRY(emit_unsqueeze(c, a, 1, &a));
    TRY(emit_operation(c, OP_MUL, operand_of_tensor(c, a), both[1], type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
