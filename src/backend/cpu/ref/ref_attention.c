/* attention: q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), mask (B,H,T,S) bool or added. Query head h reads key head
 * h / (H/G). A row that is masked as a whole gives zeros, as PyTorch's safe softmax. */
#include "backend/cpu/cpu_int.h"

#include <math.h>

bool attention_fits(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *q = &step->operands[0], *k = &step->operands[1], *v = &step->operands[2];
    const bound_operand_t *r = &step->results[0];
    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || r->rank != 4) return decline(why, "an operand is not 4-D");
    if (q->dtype != k->dtype || q->dtype != v->dtype || q->dtype != r->dtype || !dtype_is_float(q->dtype))
        return decline(why, "the dtypes are not one float dtype");
    if (q->sizes[0] != k->sizes[0] || q->sizes[0] != v->sizes[0] || q->sizes[0] != r->sizes[0])
        return decline(why, "the batch sizes differ");
    if (k->sizes[1] < 1 || q->sizes[1] % k->sizes[1] || v->sizes[1] != k->sizes[1] || r->sizes[1] != q->sizes[1])
        return decline(why, "the numbers of heads do not fit");
    if (q->sizes[3] != k->sizes[3] || k->sizes[2] != v->sizes[2] || r->sizes[2] != q->sizes[2] ||
        r->sizes[3] != v->sizes[3])
        return decline(why, "the sizes do not fit");
    if (step->operand_count < 4) return true;
    const bound_operand_t *mask = &step->operands[3];
    if (mask->dtype != DTYPE_BOOL && !dtype_is_float(mask->dtype)) return decline(why, "the mask is no bool or float");
    if (mask->rank != 4 || mask->sizes[0] != q->sizes[0] || mask->sizes[1] != q->sizes[1] ||
        mask->sizes[2] != q->sizes[2] || mask->sizes[3] != k->sizes[2])
        return decline(why, "the mask's sizes do not fit");
    return true;
}

bool ref_attention_can_run(const bound_step_t *step, reason_t *why) { return attention_fits(step, why); }

size_t ref_attention_workspace(const bound_step_t *step) {
    size_t bytes;
    if (!checked_size_mul((size_t)step->operands[1].sizes[2], sizeof(double), &bytes)) return SIZE_MAX;
    return bytes;
}

static double mask_value(const bound_operand_t *mask, const char *data) {
    if (mask->dtype == DTYPE_BOOL) return *data ? 0 : -INFINITY;
    return element_double(mask->dtype, data);
}

typedef struct attention_row {
    const char *q, *k, *v, *mask;
    char *to;
    int64_t t;
} attention_row_t;

static double row_scores(const bound_step_t *step, const attention_row_t *row, double *scores) {
    const bound_operand_t *q = &step->operands[0], *k = &step->operands[1];
    int64_t size = (int64_t)dtype_size(q->dtype), depth = q->sizes[3];
    double scale = attr_real(step, ATTR_SCALE, 1), largest = -INFINITY;
    bool causal = attr_int(step, ATTR_CAUSAL, 0) != 0;
    for (int64_t s = 0; s < k->sizes[2]; s++) {
        const char *key = row->k + s * k->strides[2] * size;
        double sum = 0;
        for (int64_t d = 0; d < depth; d++)
            sum += element_double(q->dtype, row->q + d * q->strides[3] * size) *
                   element_double(q->dtype, key + d * k->strides[3] * size);
        sum *= scale;
        if (step->operand_count == 4) {
            const bound_operand_t *mask = &step->operands[3];
            sum += mask_value(mask, row->mask + s * mask->strides[3] * (int64_t)dtype_size(mask->dtype));
        }
        if (causal && s > row->t) sum = -INFINITY;
        if (sum > largest || isnan(sum)) largest = sum;
        scores[s] = sum;
    }
    return largest;
}

static void attend_row(const bound_step_t *step, const attention_row_t *row, double *scores) {
    const bound_operand_t *v = &step->operands[2], *r = &step->results[0];
    int64_t size = (int64_t)dtype_size(v->dtype), length = v->sizes[2];
    double largest = row_scores(step, row, scores), total = 0;
    bool empty = largest == -INFINITY;
    for (int64_t s = 0; s < length; s++) {
        scores[s] = empty ? 0 : exp(scores[s] - largest);
        total += scores[s];
    }
    for (int64_t e = 0; e < v->sizes[3]; e++) {
        double sum = 0;
        for (int64_t s = 0; s < length; s++)
            sum += scores[s] * element_double(v->dtype, row->v + (s * v->strides[2] + e * v->strides[3]) * size);
        element_store_double(r->dtype, row->to + e * r->strides[3] * size, empty ? sum : sum / total);
    }
}

void ref_attention(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *q = &step->operands[0], *k = &step->operands[1], *v = &step->operands[2];
    const bound_operand_t *r = &step->results[0];
    int64_t size = (int64_t)dtype_size(q->dtype), heads = q->sizes[1], rows = q->sizes[2];
    int64_t group = heads / k->sizes[1], begin, end;
    call_share(call, q->sizes[0] * heads * rows, 1, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t t = i % rows, h = i / rows % heads, b = i / rows / heads, g = h / group;
        attention_row_t row = {
            .q = operand_data(call, q) + (b * q->strides[0] + h * q->strides[1] + t * q->strides[2]) * size,
            .k = operand_data(call, k) + (b * k->strides[0] + g * k->strides[1]) * size,
            .v = operand_data(call, v) + (b * v->strides[0] + g * v->strides[1]) * size,
            .to = operand_data(call, r) + (b * r->strides[0] + h * r->strides[1] + t * r->strides[2]) * size,
            .t = t,
        };
        if (step->operand_count == 4) {
            const bound_operand_t *mask = &step->operands[3];
            row.mask = operand_data(call, mask) + (b * mask->strides[0] + h * mask->strides[1] + t * mask->strides[2]) *
                                                      (int64_t)dtype_size(mask->dtype);
        }
        attend_row(step, &row, (double *)(void *)call->workspace);
    }
}
