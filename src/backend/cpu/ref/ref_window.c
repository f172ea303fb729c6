/* Layers that look through a window: conv (transposed or not, grouped) and pool, in one to three spatial dimensions. */
#include "backend/cpu/cpu_int.h"

#include <math.h>

enum { MAX_SPATIAL = 3 };
typedef struct window {
    uint32_t rank; /* spatial dimensions */
    int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], padding[MAX_SPATIAL], dilation[MAX_SPATIAL];
    int64_t taps; /* positions of the kernel */
} window_t;

static bool read_window(const bound_step_t *step, uint32_t rank, const int64_t *kernel, window_t *out, reason_t *why) {
    if (rank < 1 || rank > MAX_SPATIAL) return decline(why, "it has %u spatial dimensions", rank);
    *out = (window_t){.rank = rank, .taps = 1};
    for (uint32_t i = 0; i < rank; i++) {
        out->kernel[i] = kernel[i];
        out->stride[i] = attr_item(step, ATTR_STRIDE, i, 1);
        out->padding[i] = attr_item(step, ATTR_PADDING, i, 0);
        out->dilation[i] = attr_item(step, ATTR_DILATION, i, 1);
        if (out->kernel[i] < 0 || out->stride[i] < 1 || out->dilation[i] < 1)
            return decline(why, "its kernel, stride or dilation is not positive");
        out->taps *= kernel[i];
    }
    return true;
}

/* Coordinates of a flat position. */
static void unflatten(int64_t position, uint32_t rank, const int64_t *sizes, int64_t *out) {
    for (uint32_t i = rank; i-- > 0;) {
        out[i] = position % sizes[i];
        position /= sizes[i];
    }
}

/* ---- conv ---- */
bool conv_fits(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *x = &step->operands[0], *w = &step->operands[1], *r = &step->results[0];
    window_t window;
    if (x->rank < 3 || w->rank != x->rank || r->rank != x->rank) return decline(why, "the ranks do not fit");
    if (!read_window(step, x->rank - 2, w->sizes + 2, &window, why)) return false;
    int64_t groups = attr_int(step, ATTR_GROUPS, 1);
    bool transposed = attr_int(step, ATTR_TRANSPOSED, 0) != 0;
    if (groups < 1 || x->sizes[1] % groups || r->sizes[1] % groups) return decline(why, "the groups do not fit");
    int64_t in = x->sizes[1], out = r->sizes[1];
    if (r->sizes[0] != x->sizes[0] || w->sizes[0] != (transposed ? in : out) ||
        w->sizes[1] != (transposed ? out : in) / groups)
        return decline(why, "the sizes do not fit");
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (step->operands[i].dtype != r->dtype) return decline(why, "the dtypes differ");
    if (step->operand_count == 3 && (step->operands[2].rank != 1 || step->operands[2].sizes[0] != out))
        return decline(why, "the bias is not one row");
    return true;
}

bool ref_conv_can_run(const bound_step_t *step, reason_t *why) {
    if (step->results[0].dtype == DTYPE_BOOL) return decline(why, "products of bool are not defined");
    return conv_fits(step, why);
}

/* Where in x the tap reads for the output coordinate; false: in the padding, or between strides. */
static bool tap_source(const window_t *window, bool transposed, const int64_t *at, const int64_t *tap,
                       const int64_t *sizes, int64_t *out) {
    for (uint32_t i = 0; i < window->rank; i++) {
        if (transposed) {
            int64_t position = at[i] + window->padding[i] - tap[i] * window->dilation[i];
            if (position < 0 || position % window->stride[i]) return false;
            out[i] = position / window->stride[i];
        } else {
            out[i] = at[i] * window->stride[i] - window->padding[i] + tap[i] * window->dilation[i];
        }
        if (out[i] < 0 || out[i] >= sizes[i]) return false;
    }
    return true;
}

typedef struct conv_bounds {
    const bound_operand_t *x, *w;
    const char *x_data, *w_data;
    window_t window;
    bool transposed;
    int64_t groups, group_in, group_out;
} conv_bounds_t;

typedef struct conv_sum {
    double real;
    uint64_t whole;
} conv_sum_t;

static conv_sum_t conv_element(const conv_bounds_t *conv, const int64_t *at) {
    const bound_operand_t *x = conv->x, *w = conv->w;
    int64_t size = (int64_t)dtype_size(x->dtype), group = at[1] / conv->group_out;
    conv_sum_t sum = {0, 0};
    bool real = dtype_is_float(x->dtype);
    for (int64_t k = 0; k < conv->window.taps; k++) {
        int64_t tap[MAX_SPATIAL], from[MAX_SPATIAL];
        unflatten(k, conv->window.rank, conv->window.kernel, tap);
        if (!tap_source(&conv->window, conv->transposed, at + 2, tap, x->sizes + 2, from)) continue;
        int64_t x_at = at[0] * x->strides[0] + group * conv->group_in * x->strides[1], w_at, w_step;
        if (conv->transposed) {
            w_at = group * conv->group_in * w->strides[0] + (at[1] - group * conv->group_out) * w->strides[1];
            w_step = w->strides[0];
        } else {
            w_at = at[1] * w->strides[0];
            w_step = w->strides[1];
        }
        for (uint32_t i = 0; i < conv->window.rank; i++) {
            x_at += from[i] * x->strides[i + 2];
            w_at += tap[i] * w->strides[i + 2];
        }
        for (int64_t c = 0; c < conv->group_in; c++) {
            const char *left = conv->x_data + (x_at + c * x->strides[1]) * size;
            const char *right = conv->w_data + (w_at + c * w_step) * size;
            if (real)
                sum.real += element_double(x->dtype, left) * element_double(x->dtype, right);
            else
                sum.whole += (uint64_t)element_int(x->dtype, left) * (uint64_t)element_int(x->dtype, right);
        }
    }
    return sum;
}

void ref_conv(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *x = &step->operands[0], *w = &step->operands[1], *r = &step->results[0];
    int64_t groups = attr_int(step, ATTR_GROUPS, 1);
    conv_bounds_t conv = {.x = x,
                          .w = w,
                          .x_data = operand_data(call, x),
                          .w_data = operand_data(call, w),
                          .transposed = attr_int(step, ATTR_TRANSPOSED, 0) != 0,
                          .groups = groups,
                          .group_in = x->sizes[1] / groups,
                          .group_out = r->sizes[1] / groups};
    reason_t why;
    if (!read_window(step, x->rank - 2, w->sizes + 2, &conv.window, &why)) return;
    int64_t begin, end, size = (int64_t)dtype_size(r->dtype);
    call_share(call, operand_numel(r), 16, &begin, &end);
    char *to = operand_data(call, r);
    for (int64_t position = begin; position < end; position++) {
        int64_t at[MAX_RANK], offset = 0;
        unflatten(position, r->rank, r->sizes, at);
        for (uint32_t i = 0; i < r->rank; i++) offset += at[i] * r->strides[i];
        conv_sum_t sum = conv_element(&conv, at);
        if (step->operand_count == 3) {
            const bound_operand_t *bias = &step->operands[2];
            const char *from = operand_data(call, bias) + at[1] * bias->strides[0] * size;
            if (dtype_is_float(r->dtype))
                sum.real += element_double(r->dtype, from);
            else
                sum.whole += (uint64_t)element_int(r->dtype, from);
        }
        if (dtype_is_float(r->dtype))
            element_store_double(r->dtype, to + offset * size, sum.real);
        else
            element_store_int(r->dtype, to + offset * size, (int64_t)sum.whole);
    }
}

/* ---- pool ---- */
static bool read_pool(const bound_step_t *step, window_t *out, reason_t *why) {
    const bound_attr_t *kernel = attr_of(step, ATTR_KERNEL);
    if (!kernel) return decline(why, "it has no kernel");
    return read_window(step, kernel->count, kernel->items, out, why);
}

bool ref_pool_can_run(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *x = &step->operands[0], *r = &step->results[0];
    window_t window;
    if (!read_pool(step, &window, why)) return false;
    if (x->rank < window.rank || x->rank != r->rank) return decline(why, "the ranks do not fit");
    for (uint32_t i = 0; i < x->rank - window.rank; i++)
        if (x->sizes[i] != r->sizes[i]) return decline(why, "the leading sizes differ");
    if (x->dtype != r->dtype) return decline(why, "the dtypes differ");
    if (attr_op(step) == OP_AVG_POOL && !dtype_is_float(x->dtype))
        return decline(why, "averages are defined on floats alone");
    return true;
}

/* Elements that an average divides by: those of the window inside the padded input, or inside the input alone. */
static double average_divisor(const bound_step_t *step, const window_t *window, const int64_t *at,
                              const int64_t *sizes) {
    const bound_attr_t *divisor = attr_of(step, ATTR_DIVISOR);
    if (divisor) return attr_real(step, ATTR_DIVISOR, 1);
    bool with_padding = attr_int(step, ATTR_COUNT_PAD, 1) != 0;
    double count = 1;
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t begin = at[i] * window->stride[i] - window->padding[i], end = begin + window->kernel[i];
        int64_t low = with_padding ? begin : 0, high = sizes[i] + (with_padding ? window->padding[i] : 0);
        if (begin < low) begin = low;
        if (end > high) end = high;
        count *= (double)(end - begin);
    }
    return count;
}

static double pool_element(const bound_step_t *step, const window_t *window, const char *from, const int64_t *at) {
    const bound_operand_t *x = &step->operands[0];
    const int64_t *sizes = x->sizes + x->rank - window->rank, *strides = x->strides + x->rank - window->rank;
    bool largest = attr_op(step) == OP_MAX_POOL;
    double sum = 0, best = -INFINITY;
    for (int64_t k = 0; k < window->taps; k++) {
        int64_t tap[MAX_SPATIAL], source[MAX_SPATIAL], offset = 0;
        unflatten(k, window->rank, window->kernel, tap);
        if (!tap_source(window, false, at, tap, sizes, source)) continue;
        for (uint32_t i = 0; i < window->rank; i++) offset += source[i] * strides[i];
        double value = element_double(x->dtype, from + offset * (int64_t)dtype_size(x->dtype));
        sum += value;
        if (value > best || isnan(value)) best = value;
    }
    return largest ? best : sum / average_divisor(step, window, at, sizes);
}

void ref_pool(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *x = &step->operands[0], *r = &step->results[0];
    window_t window;
    reason_t why;
    if (!read_pool(step, &window, &why)) return;
    uint32_t lead = x->rank - window.rank;
    int64_t begin, end, size = (int64_t)dtype_size(r->dtype);
    call_share(call, operand_numel(r), 16, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        int64_t at[MAX_RANK], to = 0, from = 0;
        unflatten(position, r->rank, r->sizes, at);
        for (uint32_t i = 0; i < r->rank; i++) to += at[i] * r->strides[i];
        for (uint32_t i = 0; i < lead; i++) from += at[i] * x->strides[i];
        element_store_double(r->dtype, operand_data(call, r) + to * size,
                             pool_element(step, &window, operand_data(call, x) + from * size, at + lead));
    }
}
