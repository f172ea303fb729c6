/* rms_norm, layer_norm and softmax of dense f32 rows. Sums run in two vectors, folded at the end: one order for each row
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

static void norm_row_f32(const bound_step *step, const float *x, const float *weight, const float *bias, float *to,
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

void VEC(vec_norm)(const kernel_call *call) {
    const bound_step *step = call->step;
    const bound_operand *from = &step->operands[0], *to = &step->results[0];
    uint32_t outer = from->rank - (uint32_t)attr_int(step, ATTR_COUNT, 0);
    int64_t count = 1, begin, end;
    for (uint32_t i = outer; i < from->rank; i++) count *= from->sizes[i];
    const float *rows[3] = {NULL, NULL, NULL};
    for (uint32_t i = 1; i < step->operand_count; i++)
        rows[i] = (const float *)(const void *)operand_data(call, &step->operands[i]);
    walk walk;
    walk_init(&walk, outer, from->sizes);
    walk_add_operand(&walk, call, from);
    walk_add_operand(&walk, call, to);
    call_share(call, walk_total(&walk), 1, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++)
            norm_row_f32(step, (const float *)(const void *)(walk.data[0] + i * walk.step[0]), rows[1], rows[2],
                         (float *)(void *)(walk.data[1] + i * walk.step[1]), count);
    } while (walk_next(&walk));
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

void VEC(vec_softmax)(const kernel_call *call) {
    const bound_operand *from = &call->step->operands[0], *to = &call->step->results[0];
    int64_t count = from->sizes[from->rank - 1], begin, end;
    walk walk;
    walk_init(&walk, from->rank - 1, from->sizes);
    walk_add_operand(&walk, call, from);
    walk_add_operand(&walk, call, to);
    call_share(call, walk_total(&walk), 1, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++) {
            const float *x = (const float *)(const void *)(walk.data[0] + i * walk.step[0]);
            float *target = (float *)(void *)(walk.data[1] + i * walk.step[1]);
            float largest = row_largest(x, count);
            float total = row_exp(x, largest, target, count);
            for (int64_t k = 0; k < count; k++) target[k] /= total;
        }
    } while (walk_next(&walk));
}

#endif
