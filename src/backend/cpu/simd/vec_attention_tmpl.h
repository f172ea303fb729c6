/* attention with an online softmax: keys are visited in blocks, with a running maximum m, a running sum l of e^(s - m)
 * and a running weighted sum of values, rescaled when m grows. The query heads of one key head share each block, which
 * is read from memory once. A block that is masked as a whole is not read. */
#ifndef VEC_ATTENTION_TMPL_H
#define VEC_ATTENTION_TMPL_H

#include "backend/cpu/simd/vec_product_tmpl.h"
#include "backend/cpu/simd/vec_rows_tmpl.h"

typedef struct attention_head { /* of one query row */
    const float *q;
    const char *mask; /* NULL: none */
    float *sums, *to; /* values summed so far; the result's row */
    float largest, total;
} attention_head;

typedef struct attention_keys {
    const float *k, *v; /* of one key head */
    int64_t k_stride, v_stride, mask_stride, depth, width;
    float scale;
    bool bool_mask;
} attention_keys;

/* What the mask adds to each score of a block; false: nothing in the block counts. */
static bool mask_block(const attention_keys *keys, const attention_head *head, int64_t first, int64_t count,
                       float *out) {
    bool any = false;
    for (int64_t i = 0; i < count; i++) {
        const char *from = head->mask + (first + i) * keys->mask_stride;
        if (keys->bool_mask)
            out[i] = *from ? 0 : -INFINITY;
        else
            memcpy(&out[i], from, sizeof(float));
        any |= out[i] != -INFINITY;
    }
    return any;
}

static void score_block(const attention_keys *keys, const attention_head *head, int64_t first, int64_t count,
                        const float *added, float *scores) {
    for (int64_t i = 0; i < count; i += 4) {
        int32_t columns = count - i < 4 ? (int32_t)(count - i) : 4;
        float out[4][4];
        dot_any(head->q, 0, keys->k + (first + i) * keys->k_stride, keys->k_stride, keys->depth, 1, columns, out);
        for (int32_t c = 0; c < columns; c++) {
            float score = out[0][c] * keys->scale;
            scores[i + c] = added ? score + added[i + c] : score;
        }
    }
}

static void attend_block(const attention_keys *keys, attention_head *head, int64_t first, int64_t count,
                         float *scores) {
    float added[ATTENTION_BLOCK];
    if (head->mask && !mask_block(keys, head, first, count, added)) return;
    score_block(keys, head, first, count, head->mask ? added : NULL, scores);
    float largest = row_largest(scores, count);
    if (largest == -INFINITY) {
        bool none = true; /* a NaN among them counts */
        for (int64_t i = 0; i < count; i++) none &= scores[i] == -INFINITY;
        if (none) return;
    }
    if (!(largest <= head->largest)) {
        float factor = vec_exp(vec_set(head->largest - largest))[0];
        for (int64_t e = 0; e < keys->width; e++) head->sums[e] *= factor;
        head->total *= factor;
        head->largest = largest;
    }
    head->total += row_exp(scores, head->largest, scores, count);
    for (int64_t e = 0; e < keys->width; e += 4 * VEC_WIDTH) {
        int64_t columns = keys->width - e < 4 * VEC_WIDTH ? keys->width - e : 4 * VEC_WIDTH;
        row_block(scores, keys->v + first * keys->v_stride + e, keys->v_stride, count, columns, head->sums + e, true);
    }
}

/* One query position of all query heads of one key head. */
static void attend(const attention_keys *keys, attention_head *heads, int64_t group, int64_t length, float *scores) {
    for (int64_t h = 0; h < group; h++) {
        memset(heads[h].sums, 0, (size_t)keys->width * sizeof(float));
        heads[h].largest = -INFINITY;
        heads[h].total = 0;
    }
    for (int64_t first = 0; first < length; first += ATTENTION_BLOCK) {
        int64_t count = length - first < ATTENTION_BLOCK ? length - first : ATTENTION_BLOCK;
        for (int64_t h = 0; h < group; h++) attend_block(keys, &heads[h], first, count, scores);
    }
    for (int64_t h = 0; h < group; h++)
        for (int64_t e = 0; e < keys->width; e++)
            heads[h].to[e] = heads[h].total == 0 ? 0 : heads[h].sums[e] / heads[h].total;
}

void VEC(vec_attention)(const kernel_call *call) {
    const bound_step *step = call->step;
    const bound_operand *q = &step->operands[0], *k = &step->operands[1], *v = &step->operands[2];
    const bound_operand *r = &step->results[0], *mask = step->operand_count == 4 ? &step->operands[3] : NULL;
    int64_t group = q->sizes[1] / k->sizes[1], rows = q->sizes[2], begin, end;
    attention_head *heads = (attention_head *)(void *)call->workspace;
    float *scores = (float *)(void *)(heads + group), *sums = scores + ATTENTION_BLOCK;
    int64_t mask_size = mask ? (int64_t)dtype_size(mask->dtype) : 0;
    bool causal = attr_int(step, ATTR_CAUSAL, 0) != 0;
    attention_keys keys = {.k_stride = k->strides[2],
                           .v_stride = v->strides[2],
                           .depth = q->sizes[3],
                           .width = v->sizes[3],
                           .scale = (float)attr_real(step, ATTR_SCALE, 1)};
    if (mask) keys.mask_stride = mask->strides[3] * mask_size, keys.bool_mask = mask->dtype == DTYPE_BOOL;
    call_share(call, q->sizes[0] * k->sizes[1] * rows, 1, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t t = i % rows, g = i / rows % k->sizes[1], b = i / rows / k->sizes[1];
        keys.k = (const float *)(const void *)operand_data(call, k) + b * k->strides[0] + g * k->strides[1];
        keys.v = (const float *)(const void *)operand_data(call, v) + b * v->strides[0] + g * v->strides[1];
        for (int64_t h = 0; h < group; h++) {
            int64_t at = g * group + h;
            const float *from = (const float *)(const void *)operand_data(call, q);
            float *to = (float *)(void *)operand_data(call, r);
            heads[h] = (attention_head){
                .q = from + b * q->strides[0] + at * q->strides[1] + t * q->strides[2],
                .to = to + b * r->strides[0] + at * r->strides[1] + t * r->strides[2],
                .sums = sums + h * keys.width,
            };
            if (mask)
                heads[h].mask = operand_data(call, mask) +
                                (b * mask->strides[0] + at * mask->strides[1] + t * mask->strides[2]) * mask_size;
        }
        int64_t length = causal && t + 1 < k->sizes[2] ? t + 1 : k->sizes[2];
        attend(&keys, heads, group, length, scores);
    }
}

size_t VEC(vec_attention_workspace)(const bound_step *step) {
    const bound_operand *q = &step->operands[0], *k = &step->operands[1], *v = &step->operands[2];
    size_t group = (size_t)(q->sizes[1] / k->sizes[1]), sums, bytes;
    if (!checked_size_mul(group, (size_t)v->sizes[3], &sums) || !checked_size_add(sums, ATTENTION_BLOCK, &sums) ||
        !checked_size_mul(sums, sizeof(float), &sums) || !checked_size_mul(group, sizeof(attention_head), &bytes) ||
        !checked_size_add(bytes, sums, &bytes))
        return SIZE_MAX;
    return bytes;
}

#endif
