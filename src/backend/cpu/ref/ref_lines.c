/* Layers that work along the lines of one dimension: scan, softmax, sort, topk. */
#include "backend/cpu/cpu_int.h"

#include <math.h>

/* Visits the first element of every line along dim: slot 0 is operand 0, then the results. */
static bool start_lines(walk_t *walk, const kernel_call_t *call, int64_t dim) {
    const bound_step_t *step = call->step;
    walk_init(walk, step->operands[0].rank, step->operands[0].sizes);
    if (walk->rank) walk->sizes[dim] = 1;
    walk_add_operand(walk, call, &step->operands[0]);
    for (uint32_t i = 0; i < step->result_count; i++) walk_add_operand(walk, call, &step->results[i]);
    walk_merge(walk);
    int64_t begin, end;
    call_share(call, walk_total(walk), 1, &begin, &end);
    return walk_start(walk, begin, end);
}

static int64_t line_size(const bound_operand_t *operand, int64_t dim) {
    return operand->rank ? operand->sizes[dim] : 1;
}
static int64_t line_stride(const bound_operand_t *operand, int64_t dim) {
    return operand->rank ? operand->strides[dim] * (int64_t)dtype_size(operand->dtype) : 0;
}

static bool lines_fit(const bound_step_t *step, bool same_dtype, reason_t *why) {
    if (attr_dim(step, ATTR_DIM) < 0) return decline(why, "the dimension is out of range");
    if (same_dtype && step->results[0].dtype != step->operands[0].dtype)
        return decline(why, "the result's dtype differs");
    return require_result_sizes(step, 0, why);
}

/* ---- scan ---- */
bool ref_scan_can_run(const bound_step_t *step, reason_t *why) {
    op_kind_t op = attr_op(step);
    if (op_group_of(op) != OPS_SCAN) return decline(why, "the operator is not a scan");
    if (dtype_is_float(step->operands[0].dtype) != dtype_is_float(step->results[0].dtype))
        return decline(why, "it scans %s into %s", dtype_name(step->operands[0].dtype),
                       dtype_name(step->results[0].dtype));
    return lines_fit(step, false, why);
}

/* log(exp(a) + exp(b)) */
static double log_sum(double a, double b) {
    if (isnan(a) || isnan(b)) return a + b;
    double low = a < b ? a : b, high = a < b ? b : a;
    return low == high && isinf(high) ? high : high + log1p(exp(low - high));
}

static double scanned(op_kind_t op, double total, double value) {
    if (op == OP_LOGCUMSUMEXP) return log_sum(total, value);
    if (op == OP_CUMSUM) return total + value;
    if (op == OP_CUMPROD) return total * value;
    if (isnan(value)) return value;
    if (op == OP_CUMMAX) return value >= total ? value : total;
    return value <= total ? value : total;
}

static int64_t scanned_int(op_kind_t op, int64_t total, int64_t value) {
    if (op == OP_CUMSUM) return (int64_t)((uint64_t)total + (uint64_t)value);
    if (op == OP_CUMPROD) return (int64_t)((uint64_t)total * (uint64_t)value);
    if (op == OP_CUMMAX) return value >= total ? value : total;
    return value <= total ? value : total;
}

static void scan_line(const bound_step_t *step, int64_t dim, const char *from, char *to) {
    const bound_operand_t *source = &step->operands[0], *target = &step->results[0];
    int64_t size = line_size(source, dim), from_stride = line_stride(source, dim), to_stride = line_stride(target, dim);
    op_kind_t op = attr_op(step);
    double total = 0;
    int64_t int_total = 0;
    for (int64_t i = 0; i < size; i++, from += from_stride, to += to_stride) {
        if (dtype_is_float(source->dtype)) {
            double value = element_double(source->dtype, from);
            total = i == 0 ? value : scanned(op, total, value);
            element_store_double(target->dtype, to, total);
        } else {
            int64_t value = element_int(source->dtype, from);
            int_total = i == 0 ? value : scanned_int(op, int_total, value);
            element_store_int(target->dtype, to, int_total);
        }
    }
}

void ref_scan(const kernel_call_t *call) {
    int64_t dim = attr_dim(call->step, ATTR_DIM);
    walk_t walk;
    if (!start_lines(&walk, call, dim)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++)
            scan_line(call->step, dim, walk.data[0] + i * walk.step[0], walk.data[1] + i * walk.step[1]);
    } while (walk_next(&walk));
}

/* ---- softmax ---- */
bool ref_softmax_can_run(const bound_step_t *step, reason_t *why) {
    if (!dtype_is_float(step->operands[0].dtype)) return decline(why, "it is defined on floats alone");
    return lines_fit(step, true, why);
}

/* A line of -inf alone gives NaN, as in PyTorch. */
static void softmax_line(const bound_step_t *step, int64_t dim, const char *from, char *to) {
    const bound_operand_t *source = &step->operands[0], *target = &step->results[0];
    int64_t size = line_size(source, dim), from_stride = line_stride(source, dim), to_stride = line_stride(target, dim);
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < size; i++) {
        double value = element_double(source->dtype, from + i * from_stride);
        if (value > largest || isnan(value)) largest = value;
    }
    for (int64_t i = 0; i < size; i++) sum += exp(element_double(source->dtype, from + i * from_stride) - largest);
    bool logarithm = attr_int(step, ATTR_LOG, 0) != 0;
    double log_sum = log(sum);
    for (int64_t i = 0; i < size; i++) {
        double value = element_double(source->dtype, from + i * from_stride) - largest;
        element_store_double(target->dtype, to + i * to_stride, logarithm ? value - log_sum : exp(value) / sum);
    }
}

void ref_softmax(const kernel_call_t *call) {
    int64_t dim = attr_dim(call->step, ATTR_DIM);
    walk_t walk;
    if (!start_lines(&walk, call, dim)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++)
            softmax_line(call->step, dim, walk.data[0] + i * walk.step[0], walk.data[1] + i * walk.step[1]);
    } while (walk_next(&walk));
}

/* ---- sort, topk ---- */
/* The workspace holds a line's keys (doubles or i64) and two arrays of positions. */
size_t ref_sort_workspace(const bound_step_t *step) {
    int64_t dim = attr_dim(step, ATTR_DIM);
    size_t bytes;
    if (!checked_size_mul((size_t)line_size(&step->operands[0], dim), 3 * sizeof(int64_t), &bytes)) return SIZE_MAX;
    return bytes;
}

typedef struct line_keys {
    const double *reals; /* NULL: integers */
    const int64_t *ints;
    bool descending;
} line_keys_t;

/* True if the element at b must come before the one at a. NaN is the largest. */
static bool comes_before(const line_keys_t *keys, int64_t b, int64_t a) {
    if (!keys->reals) return keys->descending ? keys->ints[b] > keys->ints[a] : keys->ints[b] < keys->ints[a];
    double first = keys->reals[a], second = keys->reals[b];
    if (keys->descending) return second > first || (isnan(second) && !isnan(first));
    return second < first || (isnan(first) && !isnan(second));
}

/* Bottom-up merge sort of positions; stable. Returns the array that holds the result. */
static int64_t *sort_positions(const line_keys_t *keys, int64_t count, int64_t *positions, int64_t *other) {
    for (int64_t i = 0; i < count; i++) positions[i] = i;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t begin = 0; begin < count; begin += 2 * width) {
            int64_t middle = begin + width < count ? begin + width : count;
            int64_t end = middle + width < count ? middle + width : count;
            int64_t a = begin, b = middle;
            for (int64_t i = begin; i < end; i++) {
                bool take_b = a == middle || (b < end && comes_before(keys, positions[b], positions[a]));
                other[i] = take_b ? positions[b++] : positions[a++];
            }
        }
        int64_t *swap = positions;
        positions = other;
        other = swap;
    }
    return positions;
}

static void sort_line(const kernel_call_t *call, int64_t dim, const char *from, char *values, char *indices) {
    const bound_step_t *step = call->step;
    const bound_operand_t *source = &step->operands[0], *target = &step->results[0];
    int64_t size = line_size(source, dim), stride = line_stride(source, dim);
    double *reals = (double *)(void *)call->workspace;
    int64_t *ints = (int64_t *)(void *)call->workspace, *positions = ints + size;
    bool floats = dtype_is_float(source->dtype);
    if (floats)
        tile_load_double(source->dtype, from, stride, size, reals);
    else
        tile_load_int(source->dtype, from, stride, size, ints);
    line_keys_t keys = {floats ? reals : NULL, ints, attr_int(step, ATTR_DESCENDING, 0) != 0};
    const int64_t *order = sort_positions(&keys, size, positions, positions + size);
    int64_t kept = line_size(target, dim), value_stride = line_stride(target, dim);
    int64_t index_stride = line_stride(&step->results[1], dim);
    for (int64_t i = 0; i < kept; i++) {
        if (floats)
            element_store_double(target->dtype, values + i * value_stride, reals[order[i]]);
        else
            element_store_int(target->dtype, values + i * value_stride, ints[order[i]]);
        element_store_int(DTYPE_I64, indices + i * index_stride, order[i]);
    }
}

/* Both are a full stable sort of each line, of which topk keeps the first elements. */
bool ref_sort_can_run(const bound_step_t *step, reason_t *why) {
    int64_t dim = attr_dim(step, ATTR_DIM);
    if (dim < 0) return decline(why, "the dimension is out of range");
    const bound_operand_t *from = &step->operands[0];
    if (step->results[0].dtype != from->dtype || step->results[1].dtype != DTYPE_I64)
        return decline(why, "the results' dtypes do not fit");
    for (uint32_t k = 0; k < 2; k++) {
        const bound_operand_t *to = &step->results[k];
        if (to->rank != from->rank) return decline(why, "the results' ranks differ from the operand's");
        for (uint32_t i = 0; i < to->rank; i++)
            if (i == dim ? to->sizes[i] > from->sizes[i] : to->sizes[i] != from->sizes[i])
                return decline(why, "the results' sizes do not fit the operand's");
    }
    return true;
}

void ref_sort(const kernel_call_t *call) {
    int64_t dim = attr_dim(call->step, ATTR_DIM);
    walk_t walk;
    if (!start_lines(&walk, call, dim)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++)
            sort_line(call, dim, walk.data[0] + i * walk.step[0], walk.data[1] + i * walk.step[1],
                      walk.data[2] + i * walk.step[2]);
    } while (walk_next(&walk));
}
