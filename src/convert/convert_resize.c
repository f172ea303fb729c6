/* Interpolation: upsample_nearest, _upsample_nearest_exact, upsample_linear1d, _bilinear2d, _trilinear3d, _bicubic2d. Each spatial
 * dimension alone: the places that an output reads, and their weights, are computed by layers from iota, so that constant
 * sizes fold away, and read by index layers. */
#include "convert/convert_int.h"

typedef struct axis { /* one spatial dimension */
    uint32_t dim;
    sym_t in, out;
    bool has_factor;
    double factor; /* given by the program */
} axis_t;

static const char *input_name(const converter_t *c) { return has_arg(c, "input") ? "input" : "self"; }

/* Sizes and factors: output_size, or floor(in * scale_factors); scales_h and scales_w go with an output_size. */
static insitu_status take_axes(converter_t *c, tensor_id_t x, uint32_t spatial, axis_t *out) {
    static const char *const scales[3][3] = {
        {"scales"}, {"scales_h", "scales_w"}, {"scales_d", "scales_h", "scales_w"}};
    sym_t sizes[MAX_RANK], factors[MAX_RANK];
    uint32_t size_count, factor_count;
    if (rank_of(c, x) != spatial + 2) return convert_fail(c, INSITU_FORMAT, "an input of rank %u", rank_of(c, x));
    TRY(take_syms(c, "output_size", sizes, &size_count));
    TRY(take_syms(c, "scale_factors", factors, &factor_count));
    if ((size_count && size_count != spatial) || (factor_count && factor_count != spatial) ||
        (!size_count && !factor_count)) {
        return convert_fail(c, INSITU_FORMAT, "it needs %u sizes or factors", spatial);
    }
    for (uint32_t i = 0; i < spatial; i++) {
        axis_t *axis = &out[i];
        *axis = (axis_t){.dim = 2 + i, .in = size_of(c, x, 2 + i)};
        const char *name = scales[spatial - 1][i];
        axis->has_factor = factor_count || has_arg(c, name);
        if (factor_count && !sym_constant_float(c->pool, factors[i], &axis->factor)) {
            return convert_unsupported(c, "a scale factor that is not constant");
        }
        if (!factor_count && axis->has_factor) TRY(take_float(c, name, 1, &axis->factor));
        if (axis->has_factor && !(axis->factor > 0)) {
            return convert_fail(c, INSITU_FORMAT, "a scale factor of %g", axis->factor);
        }
        int64_t size;
        if (size_count) {
            axis->out = sizes[i];
        } else if (sym_constant(c->pool, axis->in, &size)) {
            axis->out = sym_int(c->pool, (int64_t)((double)size * axis->factor));
        } else {
            axis->out = graph_value_of(c->graph, c->node->results[0])->type.shape.sizes[2 + i];
        }
    }
    return INSITU_OK;
}

/* Distance between the places that neighbouring outputs read. */
static sym_t axis_scale(converter_t *c, const axis_t *axis, bool align) {
    sym_t one = sym_int(c->pool, 1), parts[2] = {axis->in, axis->out};
    if (align) {
        int64_t size;
        parts[0] = sym_sub(c->pool, axis->in, one);
        parts[1] = sym_sub(c->pool, axis->out, one);
        if (sym_constant(c->pool, axis->out, &size) && size <= 1) return sym_float(c->pool, 0);
        parts[1] = sym_max(c->pool, one, parts[1]);
    } else if (axis->has_factor) {
        return sym_float(c->pool, 1 / axis->factor);
    }
    return sym_make(c->pool, SYM_TRUEDIV, parts, 2);
}

/* Where each output of the axis reads, as a float: i * scale, or (i + 0.5) * scale for centres. */
static insitu_status emit_source(converter_t *c, const axis_t *axis, dtype_t type, bool align, bool centres,
                                 tensor_id_t *out) {
    TRY(emit_iota(c, type, axis->out, sym_int(c->pool, 0), sym_int(c->pool, 1), out));
    if (centres && !align) TRY(emit_scalar_float(c, OP_ADD, *out, 0.5, false, out));
    return emit_scalar(c, OP_MUL, *out, axis_scale(c, axis, align), false, out);
}

/* The whole part, at most the last place. */
static insitu_status emit_place(converter_t *c, const axis_t *axis, tensor_id_t source, tensor_id_t *out) {
    sym_t last = sym_sub(c->pool, axis->in, sym_int(c->pool, 1));
    TRY(emit_cast(c, source, DTYPE_I64, out));
    return emit_scalar(c, OP_MINIMUM, *out, last, false, out);
}

/* param: spatial dimensions, negative for the exact form */
insitu_status convert_nearest(converter_t *c) {
    uint32_t spatial = (uint32_t)(c->param < 0 ? -c->param : c->param);
    axis_t axes[3];
    tensor_id_t x, place;
    TRY(take_tensor(c, input_name(c), &x));
    TRY(take_axes(c, x, spatial, axes));
    for (uint32_t i = 0; i < spatial; i++) {
        TRY(emit_source(c, &axes[i], DTYPE_F32, false, c->param < 0, &place));
        TRY(emit_place(c, &axes[i], place, &place));
        TRY(emit_index_dim(c, x, place, axes[i].dim, &x));
    }
    set_only_result(c, x);
    return INSITU_OK;
}

/* x[place] (1 - part) + x[place + 1] part, part the fraction of the source's place */
static insitu_status resize_axis(converter_t *c, const axis_t *axis, bool align, tensor_id_t x, tensor_id_t *out) {
    sym_t last = sym_sub(c->pool, axis->in, sym_int(c->pool, 1));
    tensor_id_t source, place, next, part, rest, first, second;
    uint32_t rank = rank_of(c, x);
    TRY(emit_source(c, axis, dtype_of(c, x), align, true, &source));
    if (!align) {
        TRY(emit_scalar_float(c, OP_SUB, source, 0.5, false, &source));
        TRY(emit_scalar_float(c, OP_MAXIMUM, source, 0, false, &source));
    }
    TRY(emit_place(c, axis, source, &place));
    TRY(emit_scalar(c, OP_ADD, place, sym_int(c->pool, 1), false, &next));
    TRY(emit_scalar(c, OP_MINIMUM, next, last, false, &next));
    TRY(emit_cast(c, place, dtype_of(c, x), &part));
    TRY(emit_binary(c, OP_SUB, source, part, &part));
    TRY(emit_scalar_float(c, OP_MINIMUM, part, 1, false, &part));
    TRY(emit_scalar_float(c, OP_SUB, part, 1, true, &rest));
    TRY(emit_along(c, part, rank, axis->dim, &part));
    TRY(emit_along(c, rest, rank, axis->dim, &rest));
    TRY(emit_index_dim(c, x, place, axis->dim, &first));
    TRY(emit_index_dim(c, x, next, axis->dim, &second));
    TRY(emit_binary(c, OP_MUL, first, rest, &first));
    TRY(emit_binary(c, OP_MUL, second, part, &second));
    return emit_binary(c, OP_ADD, first, second, out);
}

/* Along one axis. */
typedef insitu_status resize_one_t(converter_t *c, const axis_t *axis, bool align, tensor_id_t x, tensor_id_t *out);

/* Innermost first, as PyTorch sums. */
static insitu_status resize_axes(converter_t *c, uint32_t spatial, resize_one_t *resize) {
    axis_t axes[3];
    tensor_id_t x;
    bool align;
    TRY(take_tensor(c, input_name(c), &x));
    dtype_t type = dtype_of(c, x);
    if (!dtype_is_float(type)) return convert_unsupported(c, "dtype %s", dtype_name(type));
    TRY(take_axes(c, x, spatial, axes));
    TRY(take_flag(c, "align_corners", false, &align));
    TRY(emit_wide(c, x, &x));
    for (uint32_t i = spatial; i-- > 0;) TRY(resize(c, &axes[i], align, x, &x));
    return finish_wide(c, x, type);
}

/* param: spatial dimensions. */
insitu_status convert_linear_resize(converter_t *c) { return resize_axes(c, (uint32_t)c->param, resize_axis); }

/* (third x^3 + second x^2 + first x) + constant */
static insitu_status emit_cubic(converter_t *c, tensor_id_t x, const double factors[4], tensor_id_t *out) {
    TRY(emit_scalar_float(c, OP_MUL, x, factors[0], false, out));
    for (uint32_t i = 1; i < 4; i++) {
        TRY(emit_scalar_float(c, OP_ADD, *out, factors[i], false, out));
        if (i < 3) TRY(emit_binary(c, OP_MUL, *out, x, out));
    }
    return INSITU_OK;
}

insitu_status emit_cubic_weights(converter_t *c, tensor_id_t part, tensor_id_t out[4]) {
    static const double a = -0.75, near[4] = {-0.75 + 2, -(-0.75 + 3), 0, 1};
    const double far[4] = {a, -5 * a, 8 * a, -4 * a};
    tensor_id_t distance;
    for (uint32_t i = 0; i < 4; i++) {
        if (i < 2) {
            TRY(emit_scalar_float(c, OP_ADD, part, i == 0, false, &distance));
        } else {
            TRY(emit_scalar_float(c, OP_SUB, part, i == 2 ? 1 : 2, true, &distance));
        }
        TRY(emit_cubic(c, distance, i == 1 || i == 2 ? near : far, &out[i]));
    }
    return INSITU_OK;
}

/* The four places around the source, those outside are the nearest inside, by a cubic function of their distances. */
static insitu_status resize_cubic(converter_t *c, const axis_t *axis, bool align, tensor_id_t x, tensor_id_t *out) {
    sym_t last = sym_sub(c->pool, axis->in, sym_int(c->pool, 1));
    tensor_id_t source, place, part, weights[4], tap, value;
    uint32_t rank = rank_of(c, x);
    TRY(emit_source(c, axis, dtype_of(c, x), align, true, &source));
    if (!align) TRY(emit_scalar_float(c, OP_SUB, source, 0.5, false, &source));
    TRY(emit_unary(c, OP_FLOOR, source, &place));
    TRY(emit_scalar(c, OP_MINIMUM, place, last, false, &place));
    TRY(emit_binary(c, OP_SUB, source, place, &part));
    TRY(emit_scalar_float(c, OP_MAXIMUM, part, 0, false, &part));
    TRY(emit_scalar_float(c, OP_MINIMUM, part, 1, false, &part));
    TRY(emit_cubic_weights(c, part, weights));
    TRY(emit_cast(c, place, DTYPE_I64, &place));
    *out = NO_TENSOR;
    for (uint32_t i = 0; i < 4; i++) {
        TRY(emit_scalar(c, OP_ADD, place, sym_int(c->pool, (int64_t)i - 1), false, &tap));
        TRY(emit_scalar(c, OP_MAXIMUM, tap, sym_int(c->pool, 0), false, &tap));
        TRY(emit_scalar(c, OP_MINIMUM, tap, last, false, &tap));
        TRY(emit_index_dim(c, x, tap, axis->dim, &value));
        TRY(emit_along(c, weights[i], rank, axis->dim, &weights[i]));
        TRY(emit_binary(c, OP_MUL, value, weights[i], &value));
        if (i > 0) TRY(emit_binary(c, OP_ADD, *out, value, &value));
        *out = value;
    }
    return INSITU_OK;
}

insitu_status convert_cubic_resize(converter_t *c) { return resize_axes(c, 2, resize_cubic); }
