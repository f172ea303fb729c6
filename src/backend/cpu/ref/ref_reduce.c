/* reduce, over any axes, and reduce_index, over one. Each result element folds its operands' elements in row-major
 * order of the reduced axes: floats in double (sums in eight lanes), integers in wrapping i64. A sum of fewer than eight
 * floats is rounded after each addition, in the order in which PyTorch adds dense operands, which for so few is the same on
 * every processor. Nothing depends on how the operand lies in memory. */
#include "backend/cpu/cpu_int.h"

#include <math.h>

enum { LANES = 8, SHORT_SUM = 8, SHORT_LANES = 4 };
typedef struct fold {
    op_kind_t op;
    compute_t kind;
    double lanes[LANES], product, mean, best;
    int64_t sum, int_product, int_best;
    int64_t position, best_position; /* elements seen; where the best was */
    bool any, all;
    int64_t laned; /* short sums: so many elements go to four lanes in turn, the rest to the first; -1: no short sum */
} fold_t;

static void fold_start(fold_t *fold, op_kind_t op, compute_t kind, double mean) {
    *fold = (fold_t){.op = op, .kind = kind, .product = 1, .int_product = 1, .mean = mean, .all = true, .laned = -1};
}

static void fold_best(fold_t *fold, double value, bool larger) {
    bool better = larger ? value > fold->best : value < fold->best;
    if (fold->position == 0 || (!isnan(fold->best) && (better || isnan(value)))) {
        fold->best = value;
        fold->best_position = fold->position;
    }
    fold->position++;
}

static void fold_int_best(fold_t *fold, int64_t value, bool larger) {
    if (fold->position == 0 || (larger ? value > fold->int_best : value < fold->int_best)) {
        fold->int_best = value;
        fold->best_position = fold->position;
    }
    fold->position++;
}

static void fold_doubles(fold_t *fold, const double *values, int64_t count) {
    op_kind_t op = fold->op;
    if (fold->laned >= 0) {
        for (int64_t i = 0; i < count; i++, fold->position++) {
            double *lane = &fold->lanes[fold->position < fold->laned ? fold->position % SHORT_LANES : 0];
            *lane = fold->kind == COMPUTE_F32 ? (double)((float)*lane + (float)values[i]) : *lane + values[i];
        }
    } else if (op == OP_SUM || op == OP_MEAN) {
        for (int64_t i = 0; i < count; i++) fold->lanes[(fold->position + i) % LANES] += values[i];
        fold->position += count;
    } else if (op == OP_VAR) {
        for (int64_t i = 0; i < count; i++) {
            double off = values[i] - fold->mean;
            fold->lanes[(fold->position + i) % LANES] += off * off;
        }
        fold->position += count;
    } else if (op == OP_PROD) {
        for (int64_t i = 0; i < count; i++) fold->product *= values[i];
    } else if (op == OP_ANY || op == OP_ALL) {
        for (int64_t i = 0; i < count; i++) fold->any |= values[i] != 0, fold->all &= values[i] != 0;
    } else {
        for (int64_t i = 0; i < count; i++) fold_best(fold, values[i], op == OP_AMAX || op == OP_ARGMAX);
    }
}

static void fold_ints(fold_t *fold, const int64_t *values, int64_t count) {
    op_kind_t op = fold->op;
    if (op == OP_SUM) {
        for (int64_t i = 0; i < count; i++) fold->sum = (int64_t)((uint64_t)fold->sum + (uint64_t)values[i]);
    } else if (op == OP_PROD) {
        for (int64_t i = 0; i < count; i++)
            fold->int_product = (int64_t)((uint64_t)fold->int_product * (uint64_t)values[i]);
    } else if (op == OP_ANY || op == OP_ALL) {
        for (int64_t i = 0; i < count; i++) fold->any |= values[i] != 0, fold->all &= values[i] != 0;
    } else {
        for (int64_t i = 0; i < count; i++) fold_int_best(fold, values[i], op == OP_AMAX || op == OP_ARGMAX);
    }
}

/* Folds every element that inner visits; data is the first one's address. */
static void fold_elements(fold_t *fold, dtype_t type, const walk_t *inner, char *data) {
    walk_t walk = *inner;
    walk.data[0] = data;
    if (!walk_start(&walk, 0, walk_total(&walk))) return;
    do {
        for (int64_t done = 0; done < walk.run; done += TILE) {
            int64_t count = walk.run - done < TILE ? walk.run - done : TILE;
            const char *from = walk.data[0] + done * walk.step[0];
            tile_t numbers;
            if (fold->kind == COMPUTE_I64) {
                tile_load_int(type, from, walk.step[0], count, numbers.i);
                fold_ints(fold, numbers.i, count);
            } else {
                tile_load_double(type, from, walk.step[0], count, numbers.d);
                fold_doubles(fold, numbers.d, count);
            }
        }
    } while (walk_next(&walk));
}

static double fold_sum(const fold_t *fold) {
    const double *lanes = fold->lanes;
    if (fold->laned >= 0) {
        double sum = lanes[0];
        for (uint32_t i = 1; i < SHORT_LANES; i++)
            sum = fold->kind == COMPUTE_F32 ? (double)((float)sum + (float)lanes[i]) : sum + lanes[i];
        return sum;
    }
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static void fold_store(const fold_t *fold, dtype_t type, char *data, int64_t total, double correction) {
    bool ints = fold->kind == COMPUTE_I64;
    switch ((int)fold->op) {
    case OP_SUM:
        if (ints)
            element_store_int(type, data, fold->sum);
        else
            element_store_double(type, data, fold_sum(fold));
        break;
    case OP_PROD:
        if (ints)
            element_store_int(type, data, fold->int_product);
        else
            element_store_double(type, data, fold->product);
        break;
    case OP_MEAN: { /* of the sum as a float, as PyTorch rounds it */
        double sum = type == DTYPE_F64 ? fold_sum(fold) : (double)(float)fold_sum(fold);
        element_store_double(type, data, sum / (double)total);
        break;
    }
    case OP_VAR: {
        double divisor = (double)total - correction;
        element_store_double(type, data, fold_sum(fold) / (divisor > 0 ? divisor : 0));
        break;
    }
    case OP_ANY: element_store_int(type, data, fold->any); break;
    case OP_ALL: element_store_int(type, data, fold->all); break;
    case OP_ARGMAX:
    case OP_ARGMIN: element_store_int(type, data, fold->best_position); break;
    default: /* amax, amin */
        if (ints)
            element_store_int(type, data, fold->int_best);
        else
            element_store_double(type, data, fold->best);
    }
}

/* ---- reduce ---- */
static bool is_reduced(const bound_step_t *step, uint32_t dim) {
    for (uint32_t i = 0; i < attr_count(step, ATTR_AXES); i++) {
        int64_t axis = attr_item(step, ATTR_AXES, i, 0);
        if ((axis < 0 ? axis + step->operands[0].rank : axis) == (int64_t)dim) return true;
    }
    return false;
}

/* Checks that result is operand 0 without the reduced dimensions (or with size 1 there). */
static bool result_fits(const bound_step_t *step, const bound_operand_t *result, bool keep, const bool *reduced) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < step->operands[0].rank; i++) {
        if (reduced[i] && !keep) continue;
        if (at >= result->rank || result->sizes[at] != (reduced[i] ? 1 : step->operands[0].sizes[i])) return false;
        at++;
    }
    return at == result->rank;
}

/* outer visits the result's elements (slot 0: operand, then results), inner the elements that one of them folds. */
static void make_walks(const kernel_call_t *call, const bool *reduced, bool keep, walk_t *outer, walk_t *inner) {
    const bound_step_t *step = call->step;
    const bound_operand_t *from = &step->operands[0];
    int64_t sizes[2][MAX_RANK], strides[2][MAX_RANK], result_strides[2][MAX_RANK];
    uint32_t counts[2] = {0, 0}, at = 0;
    for (uint32_t i = 0; i < from->rank; i++) {
        uint32_t set = reduced[i], to = counts[set]++;
        sizes[set][to] = from->sizes[i];
        strides[set][to] = from->strides[i];
        if (!set)
            for (uint32_t k = 0; k < step->result_count; k++) result_strides[k][to] = step->results[k].strides[at];
        if (!set || keep) at++;
    }
    walk_init(outer, counts[0], sizes[0]);
    walk_init(inner, counts[1], sizes[1]);
    walk_add(outer, operand_data(call, from), strides[0], (int64_t)dtype_size(from->dtype));
    walk_add(inner, NULL, strides[1], (int64_t)dtype_size(from->dtype));
    for (uint32_t k = 0; k < step->result_count; k++)
        walk_add(outer, operand_data(call, &step->results[k]), result_strides[k],
                 (int64_t)dtype_size(step->results[k].dtype));
    walk_merge(outer);
    walk_merge(inner);
}

/* PyTorch adds in four lanes where the reduced elements are neighbours in memory, else one after another: here those of
 * the last dimension. */
static bool sums_in_lanes(const bound_operand_t *from, const bool *reduced) {
    uint32_t last = from->rank;
    while (last && from->sizes[last - 1] == 1) last--;
    if (!last) return false;
    bool gap = false;
    for (uint32_t i = last; i-- > 0;) {
        if (from->sizes[i] == 1) continue;
        if (gap && reduced[i]) return false;
        gap |= !reduced[i];
    }
    return reduced[last - 1];
}

bool ref_reduce_can_run(const bound_step_t *step, reason_t *why) {
    bool reduced[MAX_RANK];
    for (uint32_t i = 0; i < step->operands[0].rank; i++) reduced[i] = is_reduced(step, i);
    op_kind_t op = attr_op(step);
    if (op >= OP_COUNT || op_group_of(op) != OPS_REDUCE) return decline(why, "the operator is not a reduction");
    if (!fits_i64(step->operands[0].dtype, op, why)) return false;
    bool floats = dtype_is_float(step->operands[0].dtype);
    if (!floats && (op == OP_MEAN || op == OP_VAR))
        return decline(why, "%s is not defined on %s", op_name(op), dtype_name(step->operands[0].dtype));
    bool selects = op == OP_AMAX || op == OP_AMIN || op == OP_ARGMAX || op == OP_ARGMIN;
    if (selects && operand_numel(&step->operands[0]) == 0 && operand_numel(&step->results[0]) != 0)
        return decline(why, "%s of no elements is not defined", op_name(op));
    if (result_fits(step, &step->results[0], attr_int(step, ATTR_KEEPDIM, 0) != 0, reduced)) return true;
    return decline(why, "the result does not have the sizes that are left");
}

void ref_reduce(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    dtype_t type = step->operands[0].dtype;
    bool reduced[MAX_RANK];
    for (uint32_t i = 0; i < step->operands[0].rank; i++) reduced[i] = is_reduced(step, i);
    walk_t outer, inner;
    make_walks(call, reduced, attr_int(step, ATTR_KEEPDIM, 0) != 0, &outer, &inner);
    int64_t begin, end, total = walk_total(&inner);
    call_share(call, walk_total(&outer), 1, &begin, &end);
    if (!walk_start(&outer, begin, end)) return;
    op_kind_t op = attr_op(step);
    double correction = attr_real(step, ATTR_CORRECTION, 1);
    int64_t laned = sums_in_lanes(&step->operands[0], reduced) ? total - total % SHORT_LANES : 0;
    do {
        for (int64_t i = 0; i < outer.run; i++) {
            char *data = outer.data[0] + i * outer.step[0];
            fold_t fold;
            double mean = 0;
            if (op == OP_VAR) {
                fold_start(&fold, OP_SUM, COMPUTE_F64, 0);
                fold_elements(&fold, type, &inner, data);
                mean = fold_sum(&fold) / (double)total;
            }
            fold_start(&fold, op, compute_of(type), mean);
            if (dtype_is_float(type) && (op == OP_SUM || op == OP_MEAN) && total < SHORT_SUM) fold.laned = laned;
            fold_elements(&fold, type, &inner, data);
            fold_store(&fold, step->results[0].dtype, outer.data[1] + i * outer.step[1], total, correction);
        }
    } while (walk_next(&outer));
}

/* ---- reduce_index ---- */
bool ref_reduce_index_can_run(const bound_step_t *step, reason_t *why) {
    bool reduced[MAX_RANK] = {false};
    int64_t dim = attr_dim(step, ATTR_DIM);
    if (dim < 0) return decline(why, "the dimension is out of range");
    op_kind_t op = attr_op(step);
    if (op != OP_AMAX && op != OP_AMIN) return decline(why, "the operator is neither amax nor amin");
    if (step->operands[0].rank) reduced[dim] = true;
    if (step->results[0].dtype != step->operands[0].dtype || step->results[1].dtype != DTYPE_I64)
        return decline(why, "the results' dtypes do not fit");
    if (operand_numel(&step->operands[0]) == 0 && operand_numel(&step->results[0]) != 0)
        return decline(why, "%s of no elements is not defined", op_name(op));
    bool keep = attr_int(step, ATTR_KEEPDIM, 0) != 0;
    if (result_fits(step, &step->results[0], keep, reduced) && result_fits(step, &step->results[1], keep, reduced))
        return true;
    return decline(why, "the results do not have the sizes that are left");
}

void ref_reduce_index(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    dtype_t type = step->operands[0].dtype;
    bool reduced[MAX_RANK] = {false};
    if (step->operands[0].rank) reduced[attr_dim(step, ATTR_DIM)] = true;
    walk_t outer, inner;
    make_walks(call, reduced, attr_int(step, ATTR_KEEPDIM, 0) != 0, &outer, &inner);
    int64_t begin, end;
    call_share(call, walk_total(&outer), 1, &begin, &end);
    if (!walk_start(&outer, begin, end)) return;
    do {
        for (int64_t i = 0; i < outer.run; i++) {
            fold_t fold;
            fold_start(&fold, attr_op(step), compute_of(type), 0);
            fold_elements(&fold, type, &inner, outer.data[0] + i * outer.step[0]);
            fold_store(&fold, type, outer.data[1] + i * outer.step[1], 0, 0);
            element_store_int(DTYPE_I64, outer.data[2] + i * outer.step[2], fold.best_position);
        }
    } while (walk_next(&outer));
}
