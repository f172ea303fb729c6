/* Products that are one matmul of tensors laid out anew: addbmm, addr, tensordot, inner, bilinear. */
#include "convert/convert_int.h"

/* addbmm: the products of a batch, summed: one product of the batch's matrices laid side by side. */
insitu_status convert_addbmm(converter_t *c) {
    tensor_id_t a, b, result;
    TRY(take_tensor(c, "batch1", &a));
    TRY(take_tensor(c, "batch2", &b));
    if (rank_of(c, a) != 3 || rank_of(c, b) != 3)
        return convert_fail(c, INSITU_FORMAT, "a batch of another rank than 3");
    sym_t rows = size_of(c, a, 1), columns = size_of(c, b, 2);
    sym_t depth = sym_mul(c->pool, size_of(c, a, 0), size_of(c, a, 2));
    shape_t left = {.rank = 2, .sizes = {rows, depth}}, right = {.rank = 2, .sizes = {depth, columns}};
    TRY(emit_swap(c, a, 0, 1, &a));
    TRY(emit_reshape(c, a, &left, &a));
    TRY(emit_reshape(c, b, &right, &b));
    TRY(emit_matmul(c, a, b, NO_TENSOR, &result));
    return finish_scaled_sum(c, result);
}

insitu_status convert_addr(converter_t *c) {
    tensor_id_t a, b, result;
    TRY(take_tensor(c, "vec1", &a));
    TRY(take_tensor(c, "vec2", &b));
    if (dtype_of(c, a) != dtype_of(c, b)) return convert_unsupported(c, "operands of two dtypes");
    if (dtype_of(c, a) == DTYPE_BOOL) return convert_unsupported(c, "dtype bool");
    TRY(emit_unsqueeze(c, a, 1, &a));
    TRY(emit_binary(c, OP_MUL, a, b, &result));
    return finish_scaled_sum(c, result);
}

/* x as a matrix: the dimensions that are summed joined to one, the others to another, whose sizes are added to kept. */
static insitu_status emit_matrix(converter_t *c, tensor_id_t x, const int64_t *dims, uint32_t count, bool summed_first,
                                 shape_t *kept, tensor_id_t *out) {
    uint32_t rank = rank_of(c, x), axes[MAX_RANK], rest = 0, set = 0;
    sym_t summed = sym_int(c->pool, 1), others = summed;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim;
        TRY(normal_dim(c, dims[i], rank, &dim));
        if ((set >> dim) & 1) return convert_fail(c, INSITU_FORMAT, "one dimension twice");
        set |= 1u << dim;
        axes[summed_first ? i : rank - count + i] = dim;
        summed = sym_mul(c->pool, summed, size_of(c, x, dim));
    }
    for (uint32_t i = 0; i < rank; i++) {
        if ((set >> i) & 1) continue;
        if (kept->rank == MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
        axes[summed_first ? count + rest : rest] = i;
        others = sym_mul(c->pool, others, size_of(c, x, i));
        kept->sizes[kept->rank++] = size_of(c, x, i);
        rest++;
    }
    shape_t matrix = {.rank = 2, .sizes = {summed_first ? summed : others, summed_first ? others : summed}};
    TRY(emit_permute(c, x, axes, out));
    return emit_reshape(c, *out, &matrix, out);
}

static insitu_status finish_contraction(converter_t *c, tensor_id_t a, tensor_id_t b, const int64_t *a_dims,
                                        const int64_t *b_dims, uint32_t count) {
    shape_t shape = {0};
    tensor_id_t result;
    TRY(emit_matrix(c, a, a_dims, count, false, &shape, &a));
    TRY(emit_matrix(c, b, b_dims, count, true, &shape, &b));
    TRY(emit_matmul(c, a, b, NO_TENSOR, &result));
    TRY(emit_reshape(c, result, &shape, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* A dimension of size 1 is contracted with another one's sum. */
static insitu_status sum_beside_ones(converter_t *c, tensor_id_t *a, tensor_id_t *b, const int64_t *a_dims,
                                     const int64_t *b_dims, uint32_t count) {
    uint32_t a_set = 0, b_set = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a_dim, b_dim;
        TRY(normal_dim(c, a_dims[i], rank_of(c, *a), &a_dim));
        TRY(normal_dim(c, b_dims[i], rank_of(c, *b), &b_dim));
        bool a_one = is_int_constant(c, size_of(c, *a, a_dim), 1), b_one = is_int_constant(c, size_of(c, *b, b_dim), 1);
        if (a_one && !b_one) b_set |= 1u << b_dim;
        if (b_one && !a_one) a_set |= 1u << a_dim;
    }
    if (a_set) TRY(emit_reduce(c, OP_SUM, *a, a_set, true, a));
    if (b_set) TRY(emit_reduce(c, OP_SUM, *b, b_set, true, b));
    return INSITU_OK;
}

insitu_status convert_tensordot(converter_t *c) {
    tensor_id_t a, b;
    int64_t a_dims[MAX_RANK], b_dims[MAX_RANK];
    uint32_t count, other_count;
    TRY(take_tensor(c, "self", &a));
    TRY(take_tensor(c, "other", &b));
    TRY(take_ints(c, "dims_self", a_dims, &count));
    TRY(take_ints(c, "dims_other", b_dims, &other_count));
    if (count != other_count || count > rank_of(c, a) || count > rank_of(c, b)) {
        return convert_fail(c, INSITU_FORMAT, "%u dims and %u", count, other_count);
    }
    TRY(sum_beside_ones(c, &a, &b, a_dims, b_dims, count));
    return finish_contraction(c, a, b, a_dims, b_dims, count);
}

/* inner: the sum over both last dimensions; with a number, the product */
insitu_status convert_inner(converter_t *c) {
    static const int64_t last = -1;
    tensor_id_t a, b, result;
    TRY(take_tensor(c, "self", &a));
    TRY(take_tensor(c, "other", &b));
    if (rank_of(c, a) && rank_of(c, b)) return finish_contraction(c, a, b, &last, &last, 1);
    TRY(emit_binary(c, OP_MUL, a, b, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* The sum of input1[i] weight[o, i, j] input2[j], and bias[o] */
insitu_status convert_bilinear(converter_t *c) {
    static const char *const names[3] = {"input1", "input2", "weight"};
    tensor_id_t all[3], bias, result;
    for (uint32_t i = 0; i < 3; i++) TRY(take_tensor(c, names[i], &all[i]));
    TRY(take_optional_tensor(c, "bias", &bias));
    dtype_t type = dtype_of(c, all[0]);
    if (rank_of(c, all[0]) == 0 || rank_of(c, all[1]) == 0 || rank_of(c, all[2]) != 3)
        return convert_fail(c, INSITU_FORMAT, "a weight of rank %u", rank_of(c, all[2]));
    for (uint32_t i = 0; i < 3; i++) TRY(emit_wide(c, all[i], &all[i]));
    sym_t results = size_of(c, all[2], 0), rows = size_of(c, all[2], 1), columns = size_of(c, all[2], 2);
    shape_t matrix = {.rank = 2, .sizes = {rows, sym_mul(c->pool, results, columns)}};
    shape_t shape = tensor_of(c, all[0])->shape;
    uint32_t last = shape.rank - 1;
    TRY(emit_swap(c, all[2], 0, 1, &all[2]));
    TRY(emit_reshape(c, all[2], &matrix, &all[2]));
    shape.sizes[last] = sym_int(c->pool, 1);
    shape_t flat = {.rank = 2, .sizes = {shape_numel(c->pool, &shape), rows}};
    TRY(emit_reshape(c, all[0], &flat, &all[0]));
    TRY(emit_matmul(c, all[0], all[2], NO_TENSOR, &result));
    if (last + 2 > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    shape.sizes[last] = results;
    shape.sizes[shape.rank++] = columns;
    TRY(emit_reshape(c, result, &shape, &result));
    TRY(emit_unsqueeze(c, all[1], last, &all[1]));
    TRY(emit_binary(c, OP_MUL, result, all[1], &result));
    TRY(emit_reduce(c, OP_SUM, result, 1u << (last + 1), false, &result));
    if (bias.index != NONE) {
        TRY(emit_wide(c, bias, &bias));
        TRY(emit_binary(c, OP_ADD, result, bias, &result));
    }
    return finish_wide(c, result, type);
}
