/* Convolutions and pools. A tensor without a batch dimension gets one of size 1. */
#include "convert/convert_int.h"

/* count items; one stands for all, none for the fallback. */
static insitu_status take_window(converter_t *c, const char *name, uint32_t count, int64_t fallback,
                                 sym_t out[MAX_RANK]) {
    uint32_t given;
    TRY(take_syms(c, name, out, &given));
    if (given == 0) out[0] = sym_int(c->pool, fallback);
    if (given > 1 && given != count) return convert_fail(c, INSITU_FORMAT, "%s has %u items", name, given);
    for (uint32_t i = 1; i < count && given <= 1; i++) out[i] = out[0];
    return INSITU_OK;
}

static insitu_status add_batch(converter_t *c, tensor_id_t x, uint32_t spatial, tensor_id_t *out, bool *out_added) {
    *out = x;
    *out_added = rank_of(c, x) == spatial + 1;
    if (*out_added) return emit_unsqueeze(c, x, 0, out);
    if (rank_of(c, x) == spatial + 2) return INSITU_OK;
    return convert_fail(c, INSITU_FORMAT, "an input of rank %u for %u spatial dimensions", rank_of(c, x), spatial);
}

static insitu_status finish_window(converter_t *c, const layer_draft_t *draft, const tensor_id_t *operands,
                                   uint32_t count, bool added) {
    tensor_id_t result;
    TRY(emit(c, draft, operands, count, &result));
    if (added) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* padding "same": dilation (kernel - 1) in all, the odd one after: a pad layer where the two sides differ. */
static insitu_status pad_same(converter_t *c, tensor_id_t *x, tensor_id_t weight, const sym_t *dilation,
                              uint32_t spatial, sym_t *padding) {
    sym_t zero = sym_int(c->pool, 0), before[MAX_RANK], after[MAX_RANK];
    bool uneven = false;
    before[0] = before[1] = after[0] = after[1] = zero;
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t kernel, step;
        if (!sym_constant(c->pool, size_of(c, weight, 2 + i), &kernel) || !sym_constant(c->pool, dilation[i], &step)) {
            return convert_unsupported(c, "padding 'same' of a kernel that is not constant");
        }
        int64_t total = step * (kernel - 1);
        before[2 + i] = sym_int(c->pool, total / 2);
        after[2 + i] = sym_int(c->pool, total - total / 2);
        uneven = uneven || total % 2;
    }
    for (uint32_t i = 0; i < spatial; i++) padding[i] = uneven ? zero : before[2 + i];
    if (!uneven) return INSITU_OK;
    layer_draft_t pad = draft_of(LAYER_PAD);
    draft_list(&pad, ATTR_BEFORE, before, spatial + 2);
    draft_list(&pad, ATTR_AFTER, after, spatial + 2);
    draft_op(&pad, OP_CONSTANT_PAD);
    draft_sym(&pad, ATTR_VALUE, zero);
    return emit_on(c, &pad, *x, x);
}

/* conv1d, conv2d, conv3d (also with padding as a word), conv_transpose (param 1), convolution */
insitu_status convert_conv(converter_t *c) {
    tensor_id_t operands[3];
    bool transposed = c->param != 0, added;
    int64_t groups;
    sym_t stride[MAX_RANK], padding[MAX_RANK], dilation[MAX_RANK], output_padding[MAX_RANK];
    TRY(take_tensor(c, "input", &operands[0]));
    TRY(take_tensor(c, "weight", &operands[1]));
    TRY(take_optional_tensor(c, "bias", &operands[2]));
    TRY(take_flag(c, "transposed", transposed, &transposed));
    if (rank_of(c, operands[1]) < 3) return convert_fail(c, INSITU_FORMAT, "a weight of rank below 3");
    uint32_t spatial = rank_of(c, operands[1]) - 2;
    TRY(add_batch(c, operands[0], spatial, &operands[0], &added));
    TRY(take_window(c, "stride", spatial, 1, stride));
    TRY(take_window(c, "dilation", spatial, 1, dilation));
    TRY(take_window(c, "output_padding", spatial, 0, output_padding));
    TRY(take_int(c, "groups", 1, &groups));
    const char *word = take_string(c, "padding");
    if (strcmp(word, "same") == 0) {
        TRY(pad_same(c, &operands[0], operands[1], dilation, spatial, padding));
    } else if (word[0]) {
        for (uint32_t i = 0; i < spatial; i++) padding[i] = sym_int(c->pool, 0);
    } else {
        TRY(take_window(c, "padding", spatial, 0, padding));
    }
    layer_draft_t conv = draft_of(LAYER_CONV);
    draft_list(&conv, ATTR_STRIDE, stride, spatial);
    draft_list(&conv, ATTR_PADDING, padding, spatial);
    draft_list(&conv, ATTR_DILATION, dilation, spatial);
    draft_list(&conv, ATTR_OUTPUT_PADDING, output_padding, spatial);
    draft_int(c->pool, &conv, ATTR_GROUPS, groups);
    draft_flag(c->pool, &conv, ATTR_TRANSPOSED, transposed);
    return finish_window(c, &conv, operands, operands[2].index == NONE ? 2 : 3, added);
}

static insitu_status start_pool(converter_t *c, op_kind_t op, uint32_t spatial, tensor_id_t *out_x, layer_draft_t *pool,
                                bool *out_added) {
    TRY(take_tensor(c, "self", out_x));
    *pool = draft_of(LAYER_POOL);
    draft_op(pool, op);
    return add_batch(c, *out_x, spatial, out_x, out_added);
}

/* max_poolNd, avg_poolNd; param: spatial dimensions, negative for averages */
insitu_status convert_pool(converter_t *c) {
    uint32_t spatial = (uint32_t)(c->param < 0 ? -c->param : c->param), kernel_count;
    tensor_id_t x;
    layer_draft_t pool;
    bool added, ceil_mode, count_pad;
    sym_t kernel[MAX_RANK], stride[MAX_RANK], padding[MAX_RANK], dilation[MAX_RANK];
    TRY(start_pool(c, c->param < 0 ? OP_AVG_POOL : OP_MAX_POOL, spatial, &x, &pool, &added));
    TRY(take_window(c, "kernel_size", spatial, 1, kernel));
    TRY(take_syms(c, "stride", stride, &kernel_count));
    if (kernel_count) {
        TRY(take_window(c, "stride", spatial, 1, stride));
    } else {
        for (uint32_t i = 0; i < spatial; i++) stride[i] = kernel[i];
    }
    TRY(take_window(c, "padding", spatial, 0, padding));
    TRY(take_window(c, "dilation", spatial, 1, dilation));
    TRY(take_flag(c, "ceil_mode", false, &ceil_mode));
    TRY(take_flag(c, "count_include_pad", true, &count_pad));
    draft_list(&pool, ATTR_KERNEL, kernel, spatial);
    draft_list(&pool, ATTR_STRIDE, stride, spatial);
    draft_list(&pool, ATTR_PADDING, padding, spatial);
    draft_list(&pool, ATTR_DILATION, dilation, spatial);
    draft_flag(c->pool, &pool, ATTR_CEIL_MODE, ceil_mode);
    draft_flag(c->pool, &pool, ATTR_COUNT_PAD, count_pad);
    if (has_arg(c, "divisor_override")) {
        sym_t divisor;
        TRY(take_sym(c, "divisor_override", &divisor));
        draft_sym(&pool, ATTR_DIVISOR, divisor);
    }
    return finish_window(c, &pool, &x, 1, added);
}

enum { MAX_WINDOWS = 1024 };

/* One dimension of an adaptive pool: window i of count begins at floor(i size / count) and ends at
 * ceil((i + 1) size / count). */
static insitu_status pool_dim(converter_t *c, tensor_id_t x, op_kind_t op, uint32_t dim, sym_t wanted,
                              tensor_id_t *out) {
    int64_t size, count, end;
    tensor_id_t *windows;
    *out = x;
    if (is_int_constant(c, wanted, 1)) return emit_reduce(c, op, x, 1u << dim, true, out);
    if (!sym_constant(c->pool, size_of(c, x, dim), &size) || !sym_constant(c->pool, wanted, &count)) {
        return convert_unsupported(c, "windows whose sizes are not constant");
    }
    if (count == size) return INSITU_OK;
    if (count < 1 || size < 1) return convert_fail(c, INSITU_FORMAT, "%lld windows", (long long)count);
    if (count > MAX_WINDOWS || !checked_mul(count, size, &end)) return convert_unsupported(c, "so many windows");
    TRY(arena_array(&c->scratch, (size_t)count, sizeof(tensor_id_t), &windows));
    for (int64_t i = 0; i < count; i++) {
        end = ((i + 1) * size + count - 1) / count;
        TRY(emit_slice(c, x, dim, sym_int(c->pool, i * size / count), sym_int(c->pool, end), 1, &windows[i]));
        TRY(emit_reduce(c, op, windows[i], 1u << dim, true, &windows[i]));
    }
    return emit_concat(c, windows, (uint32_t)count, dim, out);
}

/* Windows of unequal size, one dimension after the other. */
static insitu_status pool_unequal(converter_t *c, tensor_id_t x, bool is_mean, uint32_t spatial, const sym_t *wanted,
                                  bool added) {
    dtype_t type = dtype_of(c, x);
    if (is_mean) TRY(emit_wide(c, x, &x));
    for (uint32_t i = spatial; i-- > 0;) {
        TRY(pool_dim(c, x, is_mean ? OP_MEAN : OP_AMAX, 2 + i, wanted[i], &x));
    }
    if (added) TRY(emit_squeeze(c, x, 0, &x));
    return finish_wide(c, x, type);
}

/* adaptive_avg_poolNd, adaptive_max_poolNd; param: spatial dimensions, negative for averages */
insitu_status convert_adaptive_pool(converter_t *c) {
    uint32_t spatial = (uint32_t)(c->param < 0 ? -c->param : c->param);
    tensor_id_t x;
    layer_draft_t pool;
    bool added, equal = true;
    sym_t wanted[MAX_RANK], kernel[MAX_RANK], zeros[MAX_RANK], ones[MAX_RANK];
    TRY(start_pool(c, c->param < 0 ? OP_AVG_POOL : OP_MAX_POOL, spatial, &x, &pool, &added));
    TRY(take_window(c, "output_size", spatial, 1, wanted));
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t size, count;
        bool divides = sym_constant(c->pool, size_of(c, x, 2 + i), &size) && sym_constant(c->pool, wanted[i], &count) &&
                       count > 0 && size > 0 && size % count == 0;
        equal = equal && divides;
        kernel[i] = sym_int(c->pool, divides ? size / count : 1);
        zeros[i] = sym_int(c->pool, 0);
        ones[i] = sym_int(c->pool, 1);
    }
    if (!equal) return pool_unequal(c, x, c->param < 0, spatial, wanted, added);
    draft_list(&pool, ATTR_KERNEL, kernel, spatial);
    draft_list(&pool, ATTR_STRIDE, kernel, spatial);
    draft_list(&pool, ATTR_PADDING, zeros, spatial);
    draft_list(&pool, ATTR_DILATION, ones, spatial);
    draft_flag(c->pool, &pool, ATTR_CEIL_MODE, false);
    draft_flag(c->pool, &pool, ATTR_COUNT_PAD, true);
    return finish_window(c, &pool, &x, 1, added);
}
