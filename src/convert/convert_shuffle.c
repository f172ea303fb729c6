/* Elements of images that change places: pixel_shuffle, pixel_unshuffle, channel_shuffle, and windows as columns: im2col,
 * col2im. */
#include "convert/convert_int.h"

/* The dimensions from first on, as sizes says, permuted by axes (counted from first), as the last sizes say. */
static insitu_status regroup(converter_t *c, tensor_id_t x, uint32_t first, const shape_t *split, const uint32_t *axes,
                             const shape_t *joined, tensor_id_t *out) {
    shape_t parts = {.rank = first + split->rank}, whole = {.rank = first + joined->rank};
    uint32_t order[MAX_RANK];
    if (parts.rank > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    for (uint32_t i = 0; i < first; i++) {
        parts.sizes[i] = whole.sizes[i] = size_of(c, x, i);
        order[i] = i;
    }
    for (uint32_t i = 0; i < split->rank; i++) {
        parts.sizes[first + i] = split->sizes[i];
        order[first + i] = first + axes[i];
    }
    for (uint32_t i = 0; i < joined->rank; i++) whole.sizes[first + i] = joined->sizes[i];
    TRY(emit_reshape(c, x, &parts, &x));
    TRY(emit_permute(c, x, order, &x));
    return emit_reshape(c, x, &whole, out);
}

/* pixel_shuffle: (C r r, H, W) to (C, H r, W r); pixel_unshuffle (param 1): back */
insitu_status convert_pixel_shuffle(converter_t *c) {
    tensor_id_t x, result;
    sym_t r;
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym(c, c->param ? "downscale_factor" : "upscale_factor", &r));
    uint32_t rank = rank_of(c, x);
    if (rank < 3) return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", rank);
    sym_t channels = size_of(c, x, rank - 3), height = size_of(c, x, rank - 2), width = size_of(c, x, rank - 1);
    sym_t square = sym_mul(c->pool, r, r);
    if (c->param) {
        height = sym_floordiv(c->pool, height, r);
        width = sym_floordiv(c->pool, width, r);
        shape_t split = {.rank = 5, .sizes = {channels, height, r, width, r}};
        shape_t joined = {.rank = 3, .sizes = {sym_mul(c->pool, channels, square), height, width}};
        TRY(regroup(c, x, rank - 3, &split, (uint32_t[]){0, 2, 4, 1, 3}, &joined, &result));
    } else {
        channels = sym_floordiv(c->pool, channels, square);
        shape_t split = {.rank = 5, .sizes = {channels, r, r, height, width}};
        shape_t joined = {.rank = 3, .sizes = {channels, sym_mul(c->pool, height, r), sym_mul(c->pool, width, r)}};
        TRY(regroup(c, x, rank - 3, &split, (uint32_t[]){0, 3, 1, 4, 2}, &joined, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

/* (N, groups n, ...) to (N, n groups, ...) */
insitu_status convert_channel_shuffle(converter_t *c) {
    tensor_id_t x, result;
    sym_t groups;
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym(c, "groups", &groups));
    const shape_t from = tensor_of(c, x)->shape;
    if (from.rank < 3) return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", from.rank);
    shape_t split = {.rank = from.rank, .sizes = {groups, sym_floordiv(c->pool, from.sizes[1], groups)}};
    shape_t joined = {.rank = from.rank - 1};
    uint32_t axes[MAX_RANK] = {1, 0};
    for (uint32_t i = 2; i < from.rank; i++) {
        split.sizes[i] = from.sizes[i];
        axes[i] = i;
    }
    for (uint32_t i = 1; i < from.rank; i++) joined.sizes[i - 1] = from.sizes[i];
    TRY(regroup(c, x, 1, &split, axes, &joined, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

typedef struct window { /* of height and width */
    int64_t kernel[2], dilation[2], padding[2], stride[2];
} window_t;

static insitu_status take_window(converter_t *c, window_t *out) {
    static const char *const names[] = {"kernel_size", "dilation", "padding", "stride"};
    int64_t *const lists[] = {out->kernel, out->dilation, out->padding, out->stride};
    for (uint32_t i = 0; i < 4; i++) {
        int64_t items[MAX_RANK];
        uint32_t count;
        TRY(take_ints(c, names[i], items, &count));
        if (count != 1 && count != 2)
            return convert_fail(c, INSITU_FORMAT, "argument '%s' has %u items", names[i], count);
        for (uint32_t k = 0; k < 2; k++) {
            lists[i][k] = items[count == 2 ? k : 0];
            if (lists[i][k] < (i == 2 ? 0 : 1)) return convert_fail(c, INSITU_FORMAT, "'%s' is too small", names[i]);
        }
    }
    return INSITU_OK;
}

/* The windows along a dimension of space, dilated, as a new last dimension. */
static insitu_status emit_dilated_windows(converter_t *c, tensor_id_t x, const window_t *at, uint32_t k,
                                          tensor_id_t *out) {
    int64_t reach = (at->kernel[k] - 1) * at->dilation[k] + 1;
    TRY(emit_windows(c, x, 2 + k, reach, at->stride[k], out));
    return emit_slice(c, *out, rank_of(c, *out) - 1, sym_int(c->pool, 0), sym_int(c->pool, reach), at->dilation[k],
                      out);
}

/* im2col: (N, C, H, W) to (N, C kh kw, windows), or without N */
insitu_status convert_im2col(converter_t *c) {
    tensor_id_t x;
    window_t at;
    sym_t zero = sym_int(c->pool, 0), before[4] = {zero, zero};
    TRY(take_tensor(c, "self", &x));
    TRY(take_window(c, &at));
    bool single = rank_of(c, x) == 3;
    if (single) TRY(emit_unsqueeze(c, x, 0, &x));
    if (rank_of(c, x) != 4) return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", rank_of(c, x));
    for (uint32_t k = 0; k < 2; k++) before[2 + k] = sym_int(c->pool, at.padding[k]);
    if (at.padding[0] || at.padding[1]) {
        layer_draft_t pad = draft_of(LAYER_PAD);
        draft_list(&pad, ATTR_BEFORE, before, 4);
        draft_list(&pad, ATTR_AFTER, before, 4);
        draft_op(&pad, OP_CONSTANT_PAD);
        draft_sym(&pad, ATTR_VALUE, zero);
        TRY(emit_on(c, &pad, x, &x));
    }
    for (uint32_t k = 0; k < 2; k++) TRY(emit_dilated_windows(c, x, &at, k, &x));
    const shape_t parts = tensor_of(c, x)->shape; /* N, C, rows, columns, kh, kw */
    sym_t rows = sym_mul(c->pool, parts.sizes[1], sym_mul(c->pool, parts.sizes[4], parts.sizes[5]));
    shape_t joined = {.rank = 3, .sizes = {parts.sizes[0], rows, sym_mul(c->pool, parts.sizes[2], parts.sizes[3])}};
    TRY(emit_permute(c, x, (uint32_t[]){0, 1, 4, 5, 2, 3}, &x));
    TRY(emit_reshape(c, x, &joined, &x));
    if (single) TRY(emit_squeeze(c, x, 0, &x));
    set_only_result(c, x);
    return INSITU_OK;
}

/* Adds what one place of the kernel holds of all windows (N, C, rows, columns). */
static insitu_status add_place(converter_t *c, tensor_id_t *image, tensor_id_t values, const window_t *at, int64_t i,
                               int64_t j) {
    tensor_id_t lines, cells;
    sym_t start[2], end[2];
    const int64_t place[2] = {i * at->dilation[0], j * at->dilation[1]};
    for (uint32_t k = 0; k < 2; k++) {
        sym_t steps = sym_sub(c->pool, size_of(c, values, 2 + k), sym_int(c->pool, 1));
        start[k] = sym_int(c->pool, place[k]);
        end[k] =
            sym_add(c->pool, sym_mul(c->pool, steps, sym_int(c->pool, at->stride[k])), sym_int(c->pool, place[k] + 1));
    }
    TRY(emit_slice(c, *image, 2, start[0], end[0], at->stride[0], &lines));
    TRY(emit_slice(c, lines, 3, start[1], end[1], at->stride[1], &cells));
    TRY(emit_binary(c, OP_ADD, cells, values, &cells));
    TRY(emit_slice_update(c, lines, cells, 3, start[1], end[1], at->stride[1], &lines));
    return emit_slice_update(c, *image, lines, 2, start[0], end[0], at->stride[0], image);
}

/* Windows of that dimension. */
static sym_t window_count(converter_t *c, const window_t *at, sym_t size, uint32_t k) {
    int64_t reach = (at->kernel[k] - 1) * at->dilation[k] + 1;
    sym_t room = sym_add(c->pool, size, sym_int(c->pool, 2 * at->padding[k] - reach));
    return sym_add(c->pool, sym_floordiv(c->pool, room, sym_int(c->pool, at->stride[k])), sym_int(c->pool, 1));
}

static insitu_status emit_image(converter_t *c, tensor_id_t x, const window_t *at, const sym_t *sizes,
                                tensor_id_t *out) {
    sym_t area = sym_int(c->pool, at->kernel[0] * at->kernel[1]), zero = sym_int(c->pool, 0);
    sym_t channels = sym_floordiv(c->pool, size_of(c, x, 1), area);
    shape_t parts = {.rank = 5,
                     .sizes = {size_of(c, x, 0), channels, area, window_count(c, at, sizes[0], 0),
                               window_count(c, at, sizes[1], 1)}};
    shape_t padded = {.rank = 4, .sizes = {parts.sizes[0], channels}};
    for (uint32_t k = 0; k < 2; k++)
        padded.sizes[2 + k] = sym_add(c->pool, sizes[k], sym_int(c->pool, 2 * at->padding[k]));
    TRY(emit_reshape(c, x, &parts, &x));
    TRY(emit_fill(c, dtype_of(c, x), &padded, zero, out));
    for (int64_t place = 0; place < at->kernel[0] * at->kernel[1]; place++) {
        tensor_id_t values;
        TRY(emit_slice(c, x, 2, sym_int(c->pool, place), sym_int(c->pool, place + 1), 1, &values));
        TRY(emit_squeeze(c, values, 2, &values));
        TRY(add_place(c, out, values, at, place / at->kernel[1], place % at->kernel[1]));
    }
    for (uint32_t k = 0; k < 2; k++) {
        sym_t start = sym_int(c->pool, at->padding[k]);
        TRY(emit_slice(c, *out, 2 + k, start, sym_add(c->pool, start, sizes[k]), 1, out));
    }
    return INSITU_OK;
}

/* col2im: (N, C kh kw, windows) to (N, C, H, W), what windows share added up */
insitu_status convert_col2im(converter_t *c) {
    enum { MOST_PLACES = 1024 }; /* each is a few layers */
    tensor_id_t x, result;
    window_t at;
    sym_t sizes[MAX_RANK];
    uint32_t count;
    TRY(take_tensor(c, "self", &x));
    TRY(take_window(c, &at));
    TRY(take_syms(c, "output_size", sizes, &count));
    bool single = rank_of(c, x) == 2;
    if (single) TRY(emit_unsqueeze(c, x, 0, &x));
    if (rank_of(c, x) != 3 || count != 2) return convert_fail(c, INSITU_FORMAT, "operands of other ranks");
    if (at.kernel[0] * at.kernel[1] > MOST_PLACES)
        return convert_unsupported(c, "a kernel of over %d places", MOST_PLACES);
    TRY(emit_image(c, x, &at, sizes, &result));
    if (single) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
