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
} attention_head_t;

typedef struct attention_keys {
    const float *k, *v; /* of one key head */
    int64_t k_stride, v_stride, mask_stride, to_step, depth, width;
    int64_t k_step, v_step;   /* from one element of a row to the next */
    float *k_block, *v_block; /* where rows of elements that lie apart are gathered */
    float scale;
    bool bool_mask;
} attention_keys_t;

typedef struct key_block { /* rows whose elements lie side by side */
    const float *k, *v;
    int64_t k_stride, v_stride;
} key_block_t;

static const float *gather_rows(const float *from, int64_t stride, int64_t step, int64_t rows, int64_t count,
                                float *to) {
    const int64_t size = (int64_t)sizeof(float);
    for (int64_t i = 0; i < rows; i++)
        element_copy(sizeof(float), (char *)(to + i * count), size, (const char *)(from + i * stride), step * size,
                     count);
    return to;
}

static key_block_t block_of(const attention_keys_t *keys, int64_t first, int64_t count) {
    key_block_t block = {keys->k + first * keys->k_stride, keys->v + first * keys->v_stride, keys->k_stride,
                         keys->v_stride};
    if (keys->k_block) {
        block.k = gather_rows(block.k, keys->k_stride, keys->k_step, count, keys->depth, keys->k_block);
        block.k_stride = keys->depth;
    }
    if (keys->v_block) {
        block.v = gather_rows(block.v, keys->v_stride, keys->v_step, count, keys->width, keys->v_block);
        block.v_stride = keys->width;
    }
    return block;
}

/* What the mask adds to each score of a block; false: nothing in the block counts. */
static bool mask_block(const attention_keys_t *keys, const attention_head_t *head, int64_t first, int64_t count,
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

static void score_block(const attention_keys_t *keys, const attention_head_t *head, const key_block_t *block,
                        int64_t count, const float *added, float *scores) {
    for (int64_t i = 0; i < count; i += 4) {
        int32_t columns = count - i < 4 ? (int32_t)(count - i) : 4;
        float out[4][4];
        dot_any(head->q, 0, block->k + i * block->k_stride, block->k_stride, keys->depth, 1, columns, out);
        for (int32_t c = 0; c < columns; c++) {
            float score = out[0][c] * keys->scale;
            scores[i + c] = added ? score + added[i + c] : score;
        }
    }
}

static void attend_block(const attention_keys_t *keys, attention_head_t *head, const key_block_t *block, int64_t first,
                         int64_t count, float *scores) {
    float added[ATTENTION_BLOCK];
    if (head->mask && !mask_block(keys, head, first, count, added)) return;
    score_block(keys, head, block, count, head->mask ? added : NULL, scores);
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
        row_block(scores, block->v + e, block->v_stride, count, columns, head->sums + e, true);
    }
}

/* One query position of all query heads of one key head. */
static void attend(const attention_keys_t *keys, attention_head_t *heads, int64_t group, int64_t length,
                   float *scores) {
    for (int64_t h = 0; h < group; h++) {
        memset(heads[h].sums, 0, (size_t)keys->width * sizeof(float));
        heads[h].largest = -INFINITY;
        heads[h].total = 0;
    }
    for (int64_t first = 0; first < length; first += ATTENTION_BLOCK) {
        int64_t count = length - first < ATTENTION_BLOCK ? length - first : ATTENTION_BLOCK;
        key_block_t block = block_of(keys, first, count);
        for (int64_t h = 0; h < group; h++) attend_block(keys, &heads[h], &block, first, count, scores);
    }
    for (int64_t h = 0; h < group; h++)
        for (int64_t e = 0; e < keys->width; e++)
            heads[h].to[e * keys->to_step] = heads[h].total == 0 ? 0 : heads[h].sums[e] / heads[h].total;
}

void VEC(vec_attention)(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *q = &step->operands[0], *k = &step->operands[1], *v = &step->operands[2];
    const bound_operand_t *r = &step->results[0], *mask = step->operand_count == 4 ? &step->operands[3] : NULL;
    int64_t group = q->sizes[1] / k->sizes[1], rows = q->sizes[2], begin, end;
    attention_head_t *heads = (attention_head_t *)(void *)call->workspace;
    float *scores = (float *)(void *)(heads + group), *sums = scores + ATTENTION_BLOCK;
    float *queries = sums + group * v->sizes[3], *spare = queries + group * q->sizes[3];
    int64_t mask_size = mask ? (int64_t)dtype_size(mask->dtype) : 0;
    bool causal = attr_int(step, ATTR_CAUSAL, 0) != 0;
    attention_keys_t keys = {.k_stride = k->strides[2],
                             .v_stride = v->strides[2],
                             .to_step = r->strides[3],
                             .k_step = k->strides[3],
                             .v_step = v->strides[3],
                             .depth = q->sizes[3],
                             .width = v->sizes[3],
                             .scale = (float)attr_real(step, ATTR_SCALE, 1)};
    if (mask) keys.mask_stride = mask->strides[3] * mask_size, keys.bool_mask = mask->dtype == DTYPE_BOOL;
    if (!row_is_dense(k, 1)) keys.k_block = spare;
    if (!row_is_dense(v, 1)) keys.v_block = spare + ATTENTION_BLOCK * keys.depth;
    bool apart = !row_is_dense(q, 1);
    call_share(call, q->sizes[0] * k->sizes[1] * rows, 1, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t t = i % rows, g = i / rows % k->sizes[1], b = i / rows / k->sizes[1];
        keys.k = (const float *)(const void *)operand_data(call, k) + b * k->strides[0] + g * k->strides[1];
        keys.v = (const float *)(const void *)operand_data(call, v) + b * v->strides[0] + g * v->strides[1];
        for (int64_t h = 0; h < group; h++) {
            int64_t at = g * group + h;
            const float *from = (const float *)(const void *)operand_data(call, q);
            float *to = (float *)(void *)operand_data(call, r);
            heads[h] = (attention_head_t){
                .q = from + b * q->strides[0] + at * q->strides[1] + t * q->strides[2],
                .to = to + b * r->strides[0] + at * r->strides[1] + t * r->strides[2],
                .sums = sums + h * keys.width,
            };
            if (apart) heads[h].q = gather_rows(heads[h].q, 0, q->strides[3], 1, keys.depth, queries + h * keys.depth);
            if (mask)
                heads[h].mask = operand_data(call, mask) +
                                (b * mask->strides[0] + at * mask->strides[1] + t * mask->strides[2]) * mask_size;
        }
        int64_t length = causal && t + 1 < k->sizes[2] ? t + 1 : k->sizes[2];
        attend(&keys, heads, group, length, scores);
    }
}

/* The heads; scores of a block; sums and, where elements lie apart, queries of a group, and a block of keys and values. */
size_t VEC(vec_attention_workspace)(const bound_step_t *step) {
    const bound_operand_t *q = &step->operands[0], *k = &step->operands[1], *v = &step->operands[2];
    size_t group = (size_t)(q->sizes[1] / k->sizes[1]), row, rows = group, floats, bytes;
    if (!row_is_dense(k, 1) || !row_is_dense(v, 1)) rows += ATTENTION_BLOCK;
    if (!checked_size_add((size_t)v->sizes[3], (size_t)q->sizes[3], &row) || !checked_size_mul(row, rows, &floats) ||
        !checked_size_add(floats, ATTENTION_BLOCK, &floats) || !checked_size_mul(floats, sizeof(float), &floats) ||
        !checked_size_mul(group, sizeof(attention_head_t), &bytes) || !checked_size_add(bytes, floats, &bytes))
        return SIZE_MAX;
    return bytes;
}

#endif
