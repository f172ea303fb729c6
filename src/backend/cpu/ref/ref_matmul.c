/* matmul: (B...,M,K) x (B...,K,N) + bias (N), one dot product for each result element; floats are summed in double. */
#include "backend/cpu/cpu_int.h"

bool matmul_shapes_fit(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *a = &step->operands[0], *b = &step->operands[1], *r = &step->results[0];
    if (a->rank < 2 || a->rank != b->rank || a->rank != r->rank) return decline(why, "the ranks do not fit a product");
    uint32_t m = a->rank - 2, n = a->rank - 1;
    for (uint32_t i = 0; i < m; i++)
        if (a->sizes[i] != b->sizes[i] || a->sizes[i] != r->sizes[i]) return decline(why, "the batch sizes differ");
    if (a->sizes[n] != b->sizes[m] || r->sizes[m] != a->sizes[m] || r->sizes[n] != b->sizes[n])
        return decline(why, "the sizes do not fit a product");
    if (step->operand_count == 3) {
        const bound_operand_t *bias = &step->operands[2];
        if (bias->rank != 1 || bias->sizes[0] != r->sizes[n]) return decline(why, "the bias is not one row");
    }
    return true;
}

bool ref_matmul_can_run(const bound_step_t *step, reason_t *why) {
    dtype_t type = step->results[0].dtype;
    if (type == DTYPE_BOOL) return decline(why, "products of bool are not defined");
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (step->operands[i].dtype != type) return decline(why, "the dtypes differ");
    return matmul_shapes_fit(step, why);
}

typedef struct line { /* elements of a dot product's side */
    const char *data;
    int64_t stride;
} line_t;

#define DOT(name, type, sum_type)                                                                                      \
    static sum_type name(line_t a, line_t b, int64_t count) {                                                          \
        sum_type sum = 0;                                                                                              \
        for (int64_t i = 0; i < count; i++, a.data += a.stride, b.data += b.stride) {                                  \
            type left, right;                                                                                          \
            memcpy(&left, a.data, sizeof(left));                                                                       \
            memcpy(&right, b.data, sizeof(right));                                                                     \
            sum += (sum_type)left * (sum_type)right;                                                                   \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
DOT(dot_f32, float, double)
DOT(dot_f64, double, double)
DOT(dot_i64, uint64_t, uint64_t)
DOT(dot_i32, int32_t, uint64_t)

static double dot_real(dtype_t type, line_t a, line_t b, int64_t count) {
    if (type == DTYPE_F32) return dot_f32(a, b, count);
    if (type == DTYPE_F64) return dot_f64(a, b, count);
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += element_double(type, a.data + i * a.stride) * element_double(type, b.data + i * b.stride);
    return sum;
}

static uint64_t dot_int(dtype_t type, line_t a, line_t b, int64_t count) {
    if (type == DTYPE_I64) return dot_i64(a, b, count);
    if (type == DTYPE_I32) return dot_i32(a, b, count);
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (uint64_t)element_int(type, a.data + i * a.stride) * (uint64_t)element_int(type, b.data + i * b.stride);
    return sum;
}

void ref_matmul(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *a = &step->operands[0], *b = &step->operands[1], *r = &step->results[0];
    uint32_t m = r->rank - 2, n = r->rank - 1;
    dtype_t type = r->dtype;
    int64_t size = (int64_t)dtype_size(type), a_strides[MAX_RANK], b_strides[MAX_RANK], bias_strides[MAX_RANK] = {0};
    memcpy(a_strides, a->strides, sizeof(a_strides));
    memcpy(b_strides, b->strides, sizeof(b_strides));
    a_strides[n] = 0;
    b_strides[m] = 0;
    b_strides[n] = b->strides[n];
    walk_t walk;
    walk_init(&walk, r->rank, r->sizes);
    walk_add_operand(&walk, call, r);
    walk_add(&walk, operand_data(call, a), a_strides, size);
    walk_add(&walk, operand_data(call, b), b_strides, size);
    if (step->operand_count == 3) {
        bias_strides[n] = step->operands[2].strides[0];
        walk_add(&walk, operand_data(call, &step->operands[2]), bias_strides, size);
    }
    int64_t begin, end, depth = a->sizes[n];
    call_share(call, walk_total(&walk), 16, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++) {
            line_t left = {walk.data[1], a->strides[n] * size};
            line_t right = {walk.data[2] + i * walk.step[2], b->strides[m] * size};
            char *to = walk.data[0] + i * walk.step[0];
            const char *bias = step->operand_count == 3 ? walk.data[3] + i * walk.step[3] : NULL;
            if (dtype_is_float(type)) {
                double sum = dot_real(type, left, right, depth);
                element_store_double(type, to, bias ? sum + element_double(type, bias) : sum);
            } else {
                uint64_t sum = dot_int(type, left, right, depth);
                element_store_int(type, to, (int64_t)(bias ? sum + (uint64_t)element_int(type, bias) : sum));
            }
        }
    } while (walk_next(&walk));
}
