/* How long a step takes on one core, roughly: decides how many threads are worth waking. */
#include "backend/cpu/cpu_int.h"

static double numel(const bound_operand_t *operand) {
    double count = 1;
    for (uint32_t i = 0; i < operand->rank; i++) count *= (double)operand->sizes[i];
    return count;
}

static double largest_numel(const bound_step_t *step) {
    double most = 0;
    for (uint32_t i = 0; i < step->operand_count + step->result_count; i++) {
        double count = numel(i < step->operand_count ? &step->operands[i] : &step->results[i - step->operand_count]);
        if (count > most) most = count;
    }
    return most;
}

static double updated_numel(const bound_step_t *step) {
    return step->operand_count > 1 ? numel(&step->operands[1]) : 0;
}

/* In nanoseconds: a product's multiply-add takes about 1/8 when its numbers are in cache, and a weight read once 1/4. */
static double estimate(const bound_step_t *step) {
    const bound_operand_t *first = step->operand_count ? &step->operands[0] : &step->results[0];
    switch ((int)step->step->layer) {
    case LAYER_MATMUL: {
        double depth = first->rank ? (double)first->sizes[first->rank - 1] : 1;
        return numel(&step->results[0]) * depth / 8 + numel(&step->operands[1]) / 4;
    }
    case LAYER_CONV: { /* each element of the result, or of a transposed one's operand, meets one output of the weights */
        const bound_operand_t *weights = &step->operands[1];
        bool transposed = attr_int(step, ATTR_TRANSPOSED, 0) != 0;
        double outputs = weights->sizes[0] > 0 ? (double)weights->sizes[0] : 1;
        return numel(transposed ? first : &step->results[0]) * numel(weights) / outputs / 8;
    }
    case LAYER_ATTENTION: {
        double keys = first->rank == 4 ? (double)step->operands[1].sizes[2] : 1;
        return numel(first) * keys / 4;
    }
    case LAYER_SORT:
    case LAYER_TOPK: return numel(first) * 100;
    case LAYER_INDEX:
    case LAYER_GATHER:
    case LAYER_COPY:
    case LAYER_FILL: return numel(&step->results[0]) / 4;
    case LAYER_INDEX_UPDATE:
    case LAYER_SCATTER_UPDATE: return updated_numel(step) / 4;
    case LAYER_EMPTY: return 0;
    default: return largest_numel(step);
    }
}

int64_t step_cost(const bound_step_t *step) {
    double work = estimate(step);
    return work < 1e18 ? (int64_t)work : INT64_C(1000000000000000000);
}
