/* Windows along a dimension: unfold, and its inverse that adds, where they overlap. */
#include "convert/convert_int.h"

insitu_status emit_windows(converter_t *c, tensor_id_t x, uint32_t dim, int64_t size, int64_t step, tensor_id_t *out) {
    layer_draft_t unfold = draft_of(LAYER_UNFOLD);
    draft_int(c->pool, &unfold, ATTR_DIM, dim);
    draft_int(c->pool, &unfold, ATTR_SIZE, size);
    draft_int(c->pool, &unfold, ATTR_STEP, step);
    return emit_on(c, &unfold, x, out);
}

/* A number is one window of itself. */
insitu_status convert_unfold(converter_t *c) {
    tensor_id_t x, result;
    uint32_t dim;
    int64_t size, step;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim(c, "dimension", 0, rank_of(c, x), &dim));
    TRY(take_int(c, "size", 1, &size));
    TRY(take_int(c, "step", 1, &step));
    bool number = rank_of(c, x) == 0;
    TRY(emit_at_least_1d(c, x, &x));
    TRY(emit_windows(c, x, dim, size, step, &result));
    if (number) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* The windows' shape with one dimension of that size in place of those of their count and their size. */
static shape_t line_shape(const converter_t *c, tensor_id_t windows, uint32_t dim, sym_t size) {
    shape_t shape = tensor_of(c, windows)->shape;
    shape.sizes[dim] = size;
    for (uint32_t i = dim + 1; i + 1 < shape.rank; i++) shape.sizes[i] = shape.sizes[i + 1];
    shape.rank--;
    return shape;
}

/* Elements from start on, step of them, of each window (..., count, size, ...), one after the other: (..., count step, ...) */
static insitu_status emit_line(converter_t *c, tensor_id_t windows, uint32_t dim, int64_t start, int64_t step,
                               tensor_id_t *out) {
    TRY(emit_slice(c, windows, dim + 1, sym_int(c->pool, start), sym_int(c->pool, start + step), 1, out));
    sym_t size = sym_mul(c->pool, size_of(c, *out, dim), sym_int(c->pool, step));
    shape_t shape = line_shape(c, *out, dim, size);
    return emit_reshape(c, *out, &shape, out);
}

enum { MAX_LINES = 1024 };

/* The windows are cut into parts of step elements. The first parts of all windows are a line, and so are the second ones, which
 * begins step elements later. Lines are added from the last to the first, so that an element's sum goes by the windows' order. */
insitu_status emit_overlap_add(converter_t *c, tensor_id_t windows, uint32_t dim, int64_t step, sym_t whole,
                               tensor_id_t *out) {
    uint32_t rank = rank_of(c, windows), axes[MAX_RANK];
    int64_t size;
    sym_t pace = sym_int(c->pool, step);
    if (!sym_constant(c->pool, size_of(c, windows, rank - 1), &size))
        return convert_unsupported(c, "windows whose size is not a constant");
    int64_t lines = size / step + (size % step != 0);
    if (lines > MAX_LINES) return convert_unsupported(c, "windows of which over %d overlap", MAX_LINES);
    for (uint32_t i = 0, next = 0; i < rank; i++) axes[i] = i == dim + 1 ? rank - 1 : next++;
    TRY(emit_permute(c, windows, axes, &windows));
    sym_t count = size_of(c, windows, dim), span = sym_mul(c->pool, count, pace);
    TRY(emit_resized(c, windows, dim + 1, sym_int(c->pool, lines * step), &windows));
    if (lines == 1) {
        TRY(emit_line(c, windows, dim, 0, step, out));
        return emit_resized(c, *out, dim, whole, out);
    }
    sym_t length = sym_mul(c->pool, sym_add(c->pool, count, sym_int(c->pool, lines - 1)), pace);
    shape_t shape = line_shape(c, windows, dim, length);
    TRY(emit_fill(c, dtype_of(c, windows), &shape, sym_int(c->pool, 0), out));
    for (int64_t line = lines; line-- > 0;) {
        sym_t start = sym_int(c->pool, line * step), end = sym_add(c->pool, start, span);
        tensor_id_t part, before;
        TRY(emit_line(c, windows, dim, line * step, step, &part));
        TRY(emit_slice(c, *out, dim, start, end, 1, &before));
        TRY(emit_binary(c, OP_ADD, before, part, &part));
        TRY(emit_slice_update(c, *out, part, dim, start, end, 1, out));
    }
    return emit_resized(c, *out, dim, whole, out);
}

insitu_status convert_unfold_backward(converter_t *c) {
    tensor_id_t grad, result;
    shape_t whole = {0};
    uint32_t dim;
    int64_t size, step;
    TRY(take_tensor(c, "grad_in", &grad));
    TRY(take_syms(c, "input_sizes", whole.sizes, &whole.rank));
    TRY(take_dim(c, "dim", 0, whole.rank, &dim));
    TRY(take_int(c, "size", 1, &size));
    TRY(take_int(c, "step", 1, &step));
    if (whole.rank == 0) return convert_unsupported(c, "windows of a tensor without dimensions");
    if (rank_of(c, grad) != whole.rank + 1 || step < 1 || size < 0)
        return convert_fail(c, INSITU_FORMAT, "such windows");
    if (size == 0) {
        TRY(emit_fill(c, dtype_of(c, grad), &whole, sym_int(c->pool, 0), &result));
    } else {
        TRY(emit_overlap_add(c, grad, dim, step, whole.sizes[dim], &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}
