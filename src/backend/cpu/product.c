/* A matrix product in its simplest equal form: batch dimensions that lie together are fused, and those over which the
 * right side does not move become rows of the left side, so that (B,T,K) x (K,N) is one product of B*T rows. */
#include "backend/cpu/cpu_int.h"

void product_of(const bound_step_t *step, product_t *out) {
    const bound_operand_t *a = &step->operands[0], *b = &step->operands[1], *r = &step->results[0];
    uint32_t m = a->rank - 2, n = a->rank - 1;
    walk_t walk;
    walk_init(&walk, n, a->sizes); /* the batch dimensions and the rows */
    int64_t b_strides[MAX_RANK] = {0};
    for (uint32_t i = 0; i < m; i++) b_strides[i] = b->strides[i];
    walk_add(&walk, NULL, a->strides, 1);
    walk_add(&walk, NULL, b_strides, 1);
    walk_add(&walk, NULL, r->strides, 1);
    walk_merge(&walk);
    *out = (product_t){.rows = 1,
                       .columns = r->sizes[n],
                       .depth = a->sizes[n],
                       .a_column = a->strides[n],
                       .b_row = b->strides[m],
                       .b_column = b->strides[n],
                       .r_column = r->strides[n],
                       .batches = 1};
    if (walk.rank && walk.strides[1][walk.rank - 1] == 0) {
        uint32_t last = --walk.rank;
        out->rows = walk.sizes[last];
        out->a_row = walk.strides[0][last];
        out->r_row = walk.strides[2][last];
    }
    out->batch_rank = walk.rank;
    for (uint32_t i = 0; i < walk.rank; i++) {
        out->batches *= walk.sizes[i];
        out->batch_sizes[i] = walk.sizes[i];
        out->a_batch[i] = walk.strides[0][i];
        out->b_batch[i] = walk.strides[1][i];
        out->r_batch[i] = walk.strides[2][i];
    }
    if (step->operand_count == 3) out->bias_column = step->operands[2].strides[0];
}

product_data_t product_at(const kernel_call_t *call, const product_t *product, int64_t batch) {
    const bound_step_t *step = call->step;
    product_data_t data = {(const float *)(const void *)operand_data(call, &step->operands[0]),
                           (const float *)(const void *)operand_data(call, &step->operands[1]), NULL,
                           (float *)(void *)operand_data(call, &step->results[0])};
    if (step->operand_count == 3) data.bias = (const float *)(const void *)operand_data(call, &step->operands[2]);
    for (uint32_t i = product->batch_rank; i-- > 0; batch /= product->batch_sizes[i]) {
        int64_t at = batch % product->batch_sizes[i];
        data.a += at * product->a_batch[i];
        data.b += at * product->b_batch[i];
        data.r += at * product->r_batch[i];
    }
    return data;
}
