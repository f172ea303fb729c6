/* Inference of products and windows: matmul, conv, pool, attention. */
#include "network/network_int.h"

insitu_status infer_MATMUL(const infer_call_t *call) {
    const network_tensor_t *a = infer_operand(call, 0), *b = infer_operand(call, 1);
    uint32_t rank = a->shape.rank;
    if (rank < 2 || b->shape.rank != rank) return infer_fail(call, INSITU_SHAPE, "equal ranks from 2 up were expected");
    TRY(infer_same_dtypes(call, 0, call->operand_count));
    for (uint32_t i = 0; i + 2 < rank; i++) TRY(infer_equal(call, b->shape.sizes[i], a->shape.sizes[i], "batch size"));
    TRY(infer_equal(call, b->shape.sizes[rank - 2], a->shape.sizes[rank - 1], "inner size"));
    infer_as_operand(call, 0);
    call->results[0].shape.sizes[rank - 1] = b->shape.sizes[rank - 1];
    if (call->operand_count < 3) return INSITU_OK;
    TRY(infer_rank(call, 2, 1));
    return infer_equal(call, infer_operand(call, 2)->shape.sizes[0], b->shape.sizes[rank - 1], "size of the bias");
}

/* A list of count constants that are at least min. */
static insitu_status window_list(const infer_call_t *call, attr_id_t id, uint32_t count, int64_t min, int64_t *out) {
    attr_t list = infer_attr(call, id);
    if (list.list.count != count) {
        return infer_fail(call, INSITU_ARG, "%s must have %u items", attr_name(id), count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!sym_constant(call->pool, list.list.items[i], &out[i]) || out[i] < min || out[i] > INT32_MAX) {
            return infer_fail(call, INSITU_ARG, "%s must hold constants of at least %lld", attr_name(id),
                              (long long)min);
        }
    }
    return INSITU_OK;
}

typedef struct window {
    int64_t stride[MAX_RANK], padding[MAX_RANK], dilation[MAX_RANK];
} window_t;

static insitu_status window_of(const infer_call_t *call, uint32_t count, window_t *out) {
    TRY(window_list(call, ATTR_STRIDE, count, 1, out->stride));
    TRY(window_list(call, ATTR_PADDING, count, 0, out->padding));
    return window_list(call, ATTR_DILATION, count, 1, out->dilation);
}

/* What is left for a window of kernel elements to move over: size + 2 padding - dilation (kernel - 1) - 1. */
static insitu_status window_room(const infer_call_t *call, const window_t *window, uint32_t i, sym_t size, sym_t kernel,
                                 sym_t *out_room) {
    sym_t one = sym_int(call->pool, 1);
    sym_t reach = sym_mul(call->pool, sym_int(call->pool, window->dilation[i]), sym_sub(call->pool, kernel, one));
    reach = sym_add(call->pool, reach, one);
    sym_t padded = sym_add(call->pool, size, sym_int(call->pool, 2 * window->padding[i]));
    *out_room = sym_sub(call->pool, padded, reach);
    return infer_at_most(call, reach, padded, "kernel");
}

static sym_t windows_in(const infer_call_t *call, sym_t room, int64_t stride) {
    sym_t steps = sym_floordiv(call->pool, room, sym_int(call->pool, stride));
    return sym_add(call->pool, steps, sym_int(call->pool, 1));
}

/* (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 */
static sym_t transposed_size(const infer_call_t *call, const window_t *window, uint32_t i, sym_t size, sym_t kernel,
                             int64_t output_padding) {
    sym_t one = sym_int(call->pool, 1);
    sym_t span = sym_mul(call->pool, sym_sub(call->pool, size, one), sym_int(call->pool, window->stride[i]));
    sym_t reach = sym_mul(call->pool, sym_sub(call->pool, kernel, one), sym_int(call->pool, window->dilation[i]));
    sym_t rest = sym_int(call->pool, output_padding + 1 - 2 * window->padding[i]);
    return sym_add(call->pool, sym_add(call->pool, span, reach), rest);
}

insitu_status infer_CONV(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0), *weight = infer_operand(call, 1);
    uint32_t rank = x->shape.rank;
    if (rank < 3 || weight->shape.rank != rank) {
        return infer_fail(call, INSITU_SHAPE, "x and weight of equal rank from 3 up were expected");
    }
    TRY(infer_same_dtypes(call, 0, call->operand_count));
    int64_t groups, output_padding[MAX_RANK];
    bool transposed;
    window_t window;
    TRY(infer_int(call, ATTR_GROUPS, 1, INT32_MAX, &groups));
    TRY(infer_flag(call, ATTR_TRANSPOSED, &transposed));
    TRY(window_of(call, rank - 2, &window));
    TRY(window_list(call, ATTR_OUTPUT_PADDING, rank - 2, 0, output_padding));
    sym_t group_count = sym_int(call->pool, groups);
    sym_t in = transposed ? weight->shape.sizes[0] : sym_mul(call->pool, weight->shape.sizes[1], group_count);
    sym_t channels = transposed ? sym_mul(call->pool, weight->shape.sizes[1], group_count) : weight->shape.sizes[0];
    TRY(infer_equal(call, in, x->shape.sizes[1], "input channels"));
    sym_t divided = transposed ? in : channels;
    TRY(infer_equal(call, sym_mod(call->pool, divided, group_count), sym_int(call->pool, 0), "channels over groups"));
    infer_as_operand(call, 0);
    call->results[0].shape.sizes[1] = channels;
    for (uint32_t i = 0; i < rank - 2; i++) {
        sym_t size = x->shape.sizes[2 + i], kernel = weight->shape.sizes[2 + i], room;
        if (transposed) {
            size = transposed_size(call, &window, i, size, kernel, output_padding[i]);
        } else {
            TRY(window_room(call, &window, i, size, kernel, &room));
            size = windows_in(call, room, window.stride[i]);
        }
        TRY(infer_size(call, size, 0, "size of the result"));
        call->results[0].shape.sizes[2 + i] = size;
    }
    if (call->operand_count < 3) return INSITU_OK;
    TRY(infer_rank(call, 2, 1));
    return infer_equal(call, infer_operand(call, 2)->shape.sizes[0], channels, "size of the bias");
}

/* With ceil_mode a last window may hang over the end, if it begins inside the input or its left padding. */
static sym_t pooled_size(const infer_call_t *call, const window_t *window, uint32_t i, sym_t size, sym_t room,
                         bool ceil_mode) {
    sym_pool_t *pool = call->pool;
    if (!ceil_mode) return windows_in(call, room, window->stride[i]);
    sym_t windows = windows_in(call, sym_add(pool, room, sym_int(pool, window->stride[i] - 1)), window->stride[i]);
    sym_t one = sym_int(pool, 1);
    sym_t start = sym_mul(pool, sym_sub(pool, windows, one), sym_int(pool, window->stride[i]));
    sym_t limit = sym_add(pool, size, sym_int(pool, window->padding[i]));
    sym_t choice[3] = {sym_compare(pool, SYM_GE, start, limit), sym_sub(pool, windows, one), windows};
    return sym_make(pool, SYM_WHERE, choice, 3);
}

insitu_status infer_POOL(const infer_call_t *call) {
    const network_tensor_t *x = infer_operand(call, 0);
    uint32_t count = infer_attr(call, ATTR_KERNEL).list.count;
    if (count < 1 || count > MAX_RANK - 2) return infer_fail(call, INSITU_ARG, "kernel must have an item a dimension");
    TRY(infer_rank(call, 0, count + 2));
    int64_t kernel[MAX_RANK];
    window_t window;
    bool ceil_mode, count_pad;
    TRY(window_list(call, ATTR_KERNEL, count, 1, kernel));
    TRY(window_of(call, count, &window));
    TRY(infer_flag(call, ATTR_CEIL_MODE, &ceil_mode));
    TRY(infer_flag(call, ATTR_COUNT_PAD, &count_pad));
    op_kind_t op = infer_attr(call, ATTR_OP).op;
    if (op != OP_MAX_POOL && op != OP_AVG_POOL) return infer_fail(call, INSITU_ARG, "op must be max or avg");
    if (op == OP_AVG_POOL && !dtype_is_float(x->dtype))
        return infer_fail(call, INSITU_UNSUPPORTED, "averages of %s", dtype_name(x->dtype));
    infer_as_operand(call, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (window.padding[i] > kernel[i] / 2) {
            return infer_fail(call, INSITU_ARG, "padding must be at most half of the kernel");
        }
        sym_t size = x->shape.sizes[2 + i], room;
        TRY(window_room(call, &window, i, size, sym_int(call->pool, kernel[i]), &room));
        call->results[0].shape.sizes[2 + i] = pooled_size(call, &window, i, size, room, ceil_mode);
    }
    return INSITU_OK;
}

insitu_status infer_ATTENTION(const infer_call_t *call) {
    for (uint32_t i = 0; i < call->operand_count; i++) TRY(infer_rank(call, i, 4));
    TRY(infer_same_dtypes(call, 0, 3));
    const sym_t *q = infer_operand(call, 0)->shape.sizes, *k = infer_operand(call, 1)->shape.sizes,
                *v = infer_operand(call, 2)->shape.sizes;
    dtype_t type = infer_operand(call, 0)->dtype;
    if (!dtype_is_float(type)) return infer_fail(call, INSITU_ARG, "operands must be of floats");
    bool causal;
    TRY(infer_flag(call, ATTR_CAUSAL, &causal));
    TRY(infer_equal(call, k[0], q[0], "batch size of k"));
    TRY(infer_equal(call, v[0], q[0], "batch size of v"));
    TRY(infer_equal(call, v[1], k[1], "heads of v"));
    TRY(infer_equal(call, v[2], k[2], "rows of v"));
    TRY(infer_equal(call, k[3], q[3], "head size of k"));
    TRY(infer_equal(call, sym_mod(call->pool, q[1], k[1]), sym_int(call->pool, 0), "heads of q over heads of k"));
    infer_as_operand(call, 0);
    call->results[0].shape.sizes[3] = v[3];
    if (call->operand_count < 4) return INSITU_OK;
    const network_tensor_t *mask = infer_operand(call, 3);
    if (mask->dtype != DTYPE_BOOL && mask->dtype != type) {
        return infer_fail(call, INSITU_ARG, "the mask must be of bool or %s", dtype_name(type));
    }
    shape_t expected = {.rank = 4, .sizes = {q[0], q[1], q[2], k[2]}};
    return infer_same_shape(call, &expected, &mask->shape, "size of the mask");
}
