/* Rows of floats that lie apart, brought together for a vector kernel and put back: what a kernel computes must not depend
 * on where its operands and results lie. */
#include "backend/cpu/simd/vec_int.h"

bool row_is_dense(const bound_operand_t *operand, uint32_t dims) {
    int64_t expected = 1;
    for (uint32_t i = operand->rank; i-- > operand->rank - dims;) {
        if (operand->sizes[i] != 1 && operand->strides[i] != expected) return false;
        expected *= operand->sizes[i];
    }
    return true;
}

static bool start_row(walk_t *walk, const bound_operand_t *operand, uint32_t dims, char *data) {
    uint32_t first = operand->rank - dims;
    walk_init(walk, dims, operand->sizes + first);
    walk_add(walk, data, operand->strides + first, (int64_t)sizeof(float));
    walk_merge(walk);
    return walk_start(walk, 0, walk_total(walk));
}

const float *row_gather(const bound_operand_t *operand, uint32_t dims, const char *data, float *buffer) {
    walk_t walk;
    float *out = buffer;
    if (!start_row(&walk, operand, dims, (char *)(uintptr_t)data)) return buffer;
    do {
        element_copy(sizeof(float), (char *)out, (int64_t)sizeof(float), walk.data[0], walk.step[0], walk.run);
        out += walk.run;
    } while (walk_next(&walk));
    return buffer;
}

void row_scatter(const bound_operand_t *operand, uint32_t dims, char *data, const float *buffer) {
    walk_t walk;
    if (!start_row(&walk, operand, dims, data)) return;
    do {
        element_copy(sizeof(float), walk.data[0], walk.step[0], (const char *)buffer, (int64_t)sizeof(float), walk.run);
        buffer += walk.run;
    } while (walk_next(&walk));
}

size_t row_buffers(const bound_step_t *step, uint32_t dims) {
    const bound_operand_t *from = &step->operands[0];
    size_t bytes = sizeof(float), buffers = !row_is_dense(&step->results[0], dims);
    for (uint32_t i = 0; i < step->operand_count; i++) buffers += !row_is_dense(&step->operands[i], dims);
    for (uint32_t i = from->rank - dims; i < from->rank; i++)
        if (!checked_size_mul(bytes, (size_t)from->sizes[i], &bytes)) return SIZE_MAX;
    return checked_size_mul(bytes, buffers, &bytes) ? bytes : SIZE_MAX;
}
