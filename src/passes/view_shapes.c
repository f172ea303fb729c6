/* Whether sizes can be changed without a copy: PyTorch's rule for reshape, on sizes that may be symbolic.
 *
 * The operand's dimensions are cut into groups that lie densely one in the other; the result's dimensions must cut at
 * the same places. Where a comparison of symbolic sizes is undecided, the answer is no, unless the recorded result
 * itself shows that it is a view: it starts past its storage's beginning, or is not row-major. */
#include "passes/passes_int.h"

bool wrap_dim(int64_t dim, uint32_t rank, uint32_t *out_dim) {
    int64_t extent = rank ? (int64_t)rank : 1;
    if (dim < -extent || dim >= extent) return false;
    *out_dim = (uint32_t)(dim < 0 ? dim + extent : dim);
    return true;
}

static bool is_equal(sym_pool_t *pool, sym_t a, sym_t b) { return sym_is_eq(pool, a, b) == TRUTH_TRUE; }

/* Takes dimensions of the result, last first, until they cover numel. */
static bool cover_group(sym_pool_t *pool, const shape_t *result, uint32_t *left, sym_t numel) {
    sym_t one = sym_int(pool, 1), covered = one;
    while (*left > 0) {
        sym_t size = result->sizes[*left - 1];
        if (is_equal(pool, covered, numel) && !is_equal(pool, size, one)) break;
        covered = sym_mul(pool, covered, size);
        (*left)--;
    }
    return is_equal(pool, covered, numel);
}

static bool groups_match(sym_pool_t *pool, const tensor_type_t *operand, const shape_t *result) {
    sym_t one = sym_int(pool, 1), numel = one;
    uint32_t left = result->rank;
    if (operand->shape.rank == 0) return true;
    sym_t innermost = operand->strides[operand->shape.rank - 1];
    for (uint32_t i = operand->shape.rank; i-- > 0;) {
        numel = sym_mul(pool, numel, operand->shape.sizes[i]);
        bool ends = i == 0;
        if (!ends && !is_equal(pool, operand->shape.sizes[i - 1], one))
            ends = !is_equal(pool, operand->strides[i - 1], sym_mul(pool, numel, innermost));
        if (!ends) continue;
        if (!cover_group(pool, result, &left, numel)) return false;
        if (i > 0) innermost = operand->strides[i - 1];
        numel = one;
    }
    return left == 0;
}

bool view_is_possible(sym_pool_t *pool, const tensor_type_t *operand, const tensor_type_t *result) {
    if (type_is_dense(pool, operand)) return true;
    if (sym_is_eq(pool, shape_numel(pool, &operand->shape), sym_int(pool, 0)) == TRUTH_TRUE) return true;
    int64_t offset;
    if (!type_is_dense(pool, result) || !sym_constant(pool, result->offset, &offset) || offset != 0) return true;
    return groups_match(pool, operand, &result->shape);
}
