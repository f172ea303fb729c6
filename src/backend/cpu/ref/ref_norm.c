/* layer_norm and rms_norm, over the last dimensions; sums in double. */
#include "backend/cpu/cpu_int.h"

#include <math.h>

bool ref_norm_can_run(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *from = &step->operands[0];
    int64_t count = attr_int(step, ATTR_COUNT, 0);
    if (!dtype_is_float(from->dtype)) return decline(why, "it is defined on floats alone");
    if (count < 1 || count > from->rank) return decline(why, "it has no %d last dimensions", (int)count);
    for (uint32_t k = 1; k < step->operand_count; k++) {
        const bound_operand_t *row = &step->operands[k];
        if (row->rank != count) return decline(why, "operand %u does not have the normalised dimensions", k);
        for (uint32_t i = 0; i < row->rank; i++)
            if (row->sizes[i] != from->sizes[from->rank - count + i])
                return decline(why, "operand %u does not have the normalised sizes", k);
    }
    if (step->results[0].dtype != from->dtype) return decline(why, "the result's dtype differs");
    return require_result_sizes(step, 0, why);
}

/* Sum of (x - mean)^2 and of x over the inner elements. */
static void sums(const walk_t *inner, dtype_t type, double mean, double *out_sum, double *out_squares) {
    walk_t walk = *inner;
    double sum = 0, squares = 0;
    if (walk_start(&walk, 0, walk_total(&walk))) {
        do {
            for (int64_t done = 0; done < walk.run; done += TILE) {
                int64_t count = walk.run - done < TILE ? walk.run - done : TILE;
                double values[TILE];
                tile_load_double(type, walk.data[0] + done * walk.step[0], walk.step[0], count, values);
                for (int64_t i = 0; i < count; i++) {
                    double off = values[i] - mean;
                    sum += values[i];
                    squares += off * off;
                }
            }
        } while (walk_next(&walk));
    }
    *out_sum = sum;
    *out_squares = squares;
}

static void norm_row(const kernel_call_t *call, walk_t *inner) {
    const bound_step_t *step = call->step;
    dtype_t type = step->operands[0].dtype;
    bool layer = step->step->layer == LAYER_LAYER_NORM;
    double total = (double)walk_total(inner), mean = 0, sum, squares;
    sums(inner, type, 0, &sum, &squares);
    if (layer) {
        mean = sum / total;
        sums(inner, type, mean, &sum, &squares);
    }
    double scale = 1 / sqrt(squares / total + attr_real(step, ATTR_EPS, 0));
    if (!walk_start(inner, 0, walk_total(inner))) return;
    do {
        for (int64_t i = 0; i < inner->run; i++) {
            double value = (element_double(type, inner->data[0] + i * inner->step[0]) - mean) * scale;
            for (uint32_t k = 1; k < step->operand_count; k++) {
                double other = element_double(step->operands[k].dtype, inner->data[k + 1] + i * inner->step[k + 1]);
                value = k == 1 ? value * other : value + other;
            }
            element_store_double(type, inner->data[1] + i * inner->step[1], value);
        }
    } while (walk_next(inner));
}

void ref_norm(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *from = &step->operands[0], *to = &step->results[0];
    uint32_t count = (uint32_t)attr_int(step, ATTR_COUNT, 0), outer_rank = from->rank - count;
    int64_t begin, end, size = (int64_t)dtype_size(from->dtype);
    walk_t outer;
    walk_init(&outer, outer_rank, from->sizes);
    walk_add_operand(&outer, call, from);
    walk_add_operand(&outer, call, to);
    call_share(call, walk_total(&outer), 1, &begin, &end);
    if (!walk_start(&outer, begin, end)) return;
    do {
        for (int64_t i = 0; i < outer.run; i++) {
            walk_t inner;
            walk_init(&inner, count, from->sizes + outer_rank);
            walk_add(&inner, outer.data[0] + i * outer.step[0], from->strides + outer_rank, size);
            walk_add(&inner, outer.data[1] + i * outer.step[1], to->strides + outer_rank, size);
            for (uint32_t k = 1; k < step->operand_count; k++) walk_add_operand(&inner, call, &step->operands[k]);
            walk_merge(&inner);
            norm_row(call, &inner);
        }
    } while (walk_next(&outer));
}
