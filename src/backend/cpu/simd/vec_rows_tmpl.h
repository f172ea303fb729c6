/* rms_norm, layer_norm and softmax of f32 rows; rows that lie apart go through buffers. Sums run in two vectors, folded at the end: one order for each row
 * length. */
#ifndef VEC_ROWS_TMPL_H
#define VEC_ROWS_TMPL_H

#include "backend/cpu/simd/vec.h"
#include "backend/cpu/simd/vec_int.h"

/* Sum of (x - mean), or of its squares. */
static float row_sum(const float *x, int64_t count, float mean, bool squares) {
    vf sums[2] = {{0}, {0}};
    int64_t i = 0;
    for (; i + VEC_WIDTH <= count; i += VEC_WIDTH) {
        vf off = vec_load(x + i) - mean;
        vf *sum = &sums[i / VEC_WIDTH & 1];
        *sum = squares ? vec_fma(off, off, *sum) : *sum + off;
    }
    float total = vec_sum(sums[0] + sums[1]);
    for (; i < count; i++) {
        float off = x[i] - mean;
        total += squares ? off * off : off;
    }
    return total;
}

static void norm_row_f32(const bound_step_t *step, const float *x, const float *weight, const float *bias, float *to,
                         int64_t count) {
    float mean = 0;
    if (step->step->layer == LAYER_LAYER_NORM) {
        mean = row_sum(x, count, 0, false) / (float)count;
        mean += row_sum(x, count, mean, false) / (float)count;
    }
    float squares = row_sum(x, count, mean, true) / (float)count;
    float scale = (float)(1 / sqrt((double)squares + attr_real(step, ATTR_EPS, 0)));
    for (int64_t i = 0; i < count; i++) {
        float value = (x[i] - mean) * scale;
        if (weight) value *= weight[i];
        to[i] = bias ? value + bias[i] : value;
    }
}

/* The rows of a step: where they lie apart, each has a buffer in the workspace. */
typedef struct row_spaces {
    float *from, *to; /* NULL: rows are dense */
    const float *weights[3];
} row_spaces_t;

static row_spaces_t spaces_of(const kernel_call_t *call, uint32_t dims, int64_t count) {
    const bound_step_t *step = call->step;
    float *next = (float *)(void *)call->workspace;
    row_spaces_t spaces = {0};
    if (!row_is_dense(&step->operands[0], dims)) spaces.from = next, next += count;
    if (!row_is_dense(&step->results[0], dims)) spaces.to = next, next += count;
    for (uint32_t i = 1; i < step->operand_count; i++) {
        const char *data = operand_data(call, &step->operands[i]);
        if (row_is_dense(&step->operands[i], dims)) {
            spaces.weights[i] = (const float *)(const void *)data;
        } else {
            spaces.weights[i] = row_gather(&step->operands[i], dims, data, next);
            next += count;
        }
    }
    return spaces;
}

typedef void (*row_function_t)(const bound_step_t *step, const row_spaces_t *spaces, const float *x, float *to,
                               int64_t count);

static void norm_row(const bound_step_t *step, const row_spaces_t *spaces, const float *x, float *to, int64_t count) {
    norm_row_f32(step, x, spaces->weights[1], spaces->weights[2], to, count);
}

/* The function on every row of the last dims dimensions. */
static void each_row(const kernel_call_t *call, uint32_t dims, row_function_t function) {
    const bound_step_t *step = call->step;
    const bound_operand_t *from = &step->operands[0], *to = &step->results[0];
    int64_t count = 1, begin, end;
    for (uint32_t i = from->rank - dims; i < from->rank; i++) count *= from->sizes[i];
    walk_t walk;
    walk_init(&walk, from->rank - dims, from->sizes);
    walk_add_operand(&walk, call, from);
    walk_add_operand(&walk, call, to);
    call_share(call, walk_total(&walk), 1, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    row_spaces_t spaces = spaces_of(call, dims, count);
    do {
        for (int64_t i = 0; i < walk.run; i++) {
            const char *source = walk.data[0] + i * walk.step[0];
            char *target = walk.data[1] + i * walk.step[1];
            const float *x = (const float *)(const void *)source;
            if (spaces.from) x = row_gather(from, dims, source, spaces.from);
            function(step, &spaces, x, spaces.to ? spaces.to : (float *)(void *)target, count);
            if (spaces.to) row_scatter(to, dims, target, spaces.to);
        }
    } while (walk_next(&walk));
}

void VEC(vec_norm)(const kernel_call_t *call) {
    each_row(call, (uint32_t)attr_int(call->step, ATTR_COUNT, 0), norm_row);
}

/* ---- softmax ---- */
static float row_largest(const float *x, int64_t count) {
    vf largest = vec_set(-INFINITY);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= count; i += VEC_WIDTH) largest = vec_larger(largest, vec_load(x + i));
    float result = vec_largest(largest);
    for (; i < count; i++)
        if (x[i] > result) result = x[i];
    return result;
}

/* to[i] = e^(x[i] - largest); returns their sum. NaN spreads through it. */
static float row_exp(const float *x, float largest, float *to, int64_t count) {
    vf sum = {0};
    int64_t i = 0;
    for (; i + VEC_WIDTH <= count; i += VEC_WIDTH) {
        vf value = vec_exp(vec_load(x + i) - largest);
        vec_store(to + i, value);
        sum += value;
    }
    float total = vec_sum(sum);
    if (i < count) {
        vf value = vec_exp(vec_load_part(x + i, count - i) - largest);
        vec_store_part(to + i, value, count - i);
        for (int64_t k = 0; k < count - i; k++) total += value[k];
    }
    return total;
}

static void softmax_row(const bound_step_t *step, const row_spaces_t *spaces, const float *x, float *to,
                        int64_t count) {
    (void)step, (void)spaces;
    float total = row_exp(x, row_largest(x, count), to, count);
    for (int64_t i = 0; i < count; i++) to[i] /= total;
}

void VEC(vec_softmax)(const kernel_call_t *call) { each_row(call, 1, softmax_row); }

#endif
