/* What the vector kernels take: f32. Where their bits may differ from the reference's they take any layout, for a value must
 * not depend on where it is put; else runs along the innermost dimension must be dense. */
#include "backend/cpu/simd/vec_int.h"

/* Along the innermost dimension left after merging: the result is dense, operands are dense or repeat one element. */
static bool runs_fit(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *to = &step->results[0];
    walk_t walk;
    walk_init(&walk, to->rank, to->sizes);
    walk_add(&walk, NULL, to->strides, (int64_t)dtype_size(to->dtype));
    for (uint32_t i = 0; i < step->operand_count; i++) {
        if (!require_result_sizes(step, i, why)) return false;
        walk_add(&walk, NULL, step->operands[i].strides, (int64_t)dtype_size(step->operands[i].dtype));
    }
    walk_merge(&walk);
    if (walk.rank == 0) return true;
    if (walk.strides[0][walk.rank - 1] != (int64_t)sizeof(float)) return decline(why, "the result is not dense");
    for (uint32_t i = 0; i < step->operand_count; i++) {
        int64_t stride = walk.strides[i + 1][walk.rank - 1];
        if (step->operands[i].dtype == DTYPE_F32 && stride != 0 && stride != (int64_t)sizeof(float))
            return decline(why, "operand %u is strided", i);
    }
    return true;
}

bool vec_unary_can_run(const bound_step_t *step, reason_t *why) {
    static const op_kind_t ops[] = {OP_ABS,  OP_NEG,     OP_EXP,  OP_SQRT, OP_RSQRT,    OP_RECIPROCAL,
                                    OP_TANH, OP_SIGMOID, OP_RELU, OP_SILU, OP_GELU_TANH};
    bool known = false;
    for (uint32_t i = 0; i < COUNT_OF(ops); i++) known |= attr_op(step) == ops[i];
    if (!known) return decline(why, "it has no vector form of %s", op_name(attr_op(step)));
    return require_result_sizes(step, 0, why);
}

bool vec_binary_can_run(const bound_step_t *step, reason_t *why) {
    static const op_kind_t ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAXIMUM, OP_MINIMUM};
    bool known = false;
    for (uint32_t i = 0; i < COUNT_OF(ops); i++) known |= attr_op(step) == ops[i];
    bool squares = attr_op(step) == OP_POW && step->operand_count == 1 && attr_real(step, ATTR_SCALAR, 0) == 2 &&
                   !attr_int(step, ATTR_SCALAR_FIRST, 0);
    if (step->operand_count == 2 && attr_of(step, ATTR_SCALAR)) return decline(why, "it scales an operand");
    if (!known && !squares) return decline(why, "it has no vector form of %s", op_name(attr_op(step)));
    return runs_fit(step, why);
}

bool vec_where_can_run(const bound_step_t *step, reason_t *why) {
    if (step->operands[0].dtype != DTYPE_BOOL || step->operands[1].dtype != DTYPE_F32 ||
        step->operands[2].dtype != DTYPE_F32 || step->results[0].dtype != DTYPE_F32)
        return decline(why, "the operands are not bool, f32, f32");
    return runs_fit(step, why);
}

/* ---- rows ---- */
bool vec_norm_can_run(const bound_step_t *step, reason_t *why) { return ref_norm_can_run(step, why); }

size_t vec_norm_workspace(const bound_step_t *step) {
    return row_buffers(step, (uint32_t)attr_int(step, ATTR_COUNT, 0));
}

bool vec_softmax_can_run(const bound_step_t *step, reason_t *why) {
    if (!ref_softmax_can_run(step, why)) return false;
    uint32_t rank = step->operands[0].rank;
    if (attr_int(step, ATTR_LOG, 0)) return decline(why, "it has no logarithm");
    if (rank == 0 || attr_dim(step, ATTR_DIM) != (int64_t)rank - 1)
        return decline(why, "it is not over the last dimension");
    return true;
}

size_t vec_softmax_workspace(const bound_step_t *step) { return row_buffers(step, 1); }

/* ---- products ---- */
bool vec_matvec_can_run(const bound_step_t *step, reason_t *why) {
    if (!matmul_shapes_fit(step, why)) return false;
    product_t product;
    product_of(step, &product);
    if (product.rows > MATVEC_ROWS) return decline(why, "it takes up to %d rows", (int)MATVEC_ROWS);
    bool by_columns = product.b_row == 1 || product.depth <= 1;
    bool by_rows = product.b_column == 1 || product.columns <= 1;
    if (!by_columns && !by_rows) return decline(why, "operand 1 is dense along neither dimension");
    return true;
}

/* The rows of the left side, where their elements lie apart. */
size_t vec_matvec_workspace(const bound_step_t *step) {
    product_t product;
    size_t bytes;
    product_of(step, &product);
    if (product.a_column == 1) return 0;
    if (!checked_size_mul((size_t)product.rows, (size_t)product.depth, &bytes)) return SIZE_MAX;
    return checked_size_mul(bytes, sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

bool vec_gemm_can_run(const bound_step_t *step, reason_t *why) { return matmul_shapes_fit(step, why); }

bool vec_attention_can_run(const bound_step_t *step, reason_t *why) { return attention_fits(step, why); }

size_t vec_gemm_workspace(const bound_step_t *step) {
    (void)step;
    return sizeof(float) * (GEMM_DEPTH * (GEMM_ROWS + GEMM_COLUMNS) + GEMM_ROWS * GEMM_COLUMNS);
}
