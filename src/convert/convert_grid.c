/* grid_sampler, grid_sampler_2d: an image read at places that a grid holds.
 *
 * input (N, C, H, W), grid (N, P, Q, 2) with x and y from -1 to 1. The image becomes rows of channels (N H W, C); a tap is
 * a row's number, its weight, and whether it lies in the image. */
#include "convert/convert_int.h"

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct sampler {
    tensor_id_t rows, first; /* first: of each image, i64 (N, 1, 1) */
    sym_t sizes[2];          /* W, H */
    int64_t padding;
    bool align;
    dtype_t type;
} sampler_t;

/* From -1 ... 1 to places of pixels. */
static insitu_status emit_places(converter_t *c, const sampler_t *at, tensor_id_t x, uint32_t axis, tensor_id_t *out) {
    TRY(emit_scalar_float(c, OP_ADD, x, 1, false, out));
    if (at->align) {
        TRY(emit_scalar_float(c, OP_DIV, *out, 2, false, out));
        return emit_scalar(c, OP_MUL, *out, sym_sub(c->pool, at->sizes[axis], sym_int(c->pool, 1)), false, out);
    }
    TRY(emit_scalar(c, OP_MUL, *out, at->sizes[axis], false, out));
    TRY(emit_scalar_float(c, OP_SUB, *out, 1, false, out));
    return emit_scalar_float(c, OP_DIV, *out, 2, false, out);
}

/* Thrown back at low and at low + span. */
static insitu_status emit_reflected(converter_t *c, tensor_id_t x, double low, sym_t span, tensor_id_t *out) {
    tensor_id_t turns, odd, back;
    TRY(emit_scalar_float(c, OP_SUB, x, low, false, out));
    TRY(emit_unary(c, OP_ABS, *out, out));
    TRY(emit_scalar(c, OP_DIV, *out, span, false, &turns));
    TRY(emit_unary(c, OP_FLOOR, turns, &turns));
    TRY(emit_scalar_float(c, OP_FMOD, turns, 2, false, &odd));
    TRY(emit_scalar_float(c, OP_NE, odd, 0, false, &odd));
    TRY(emit_scalar(c, OP_FMOD, *out, span, false, out));
    TRY(emit_scalar(c, OP_SUB, *out, span, true, &back));
    TRY(emit_where(c, odd, back, *out, out));
    return emit_scalar_float(c, OP_ADD, *out, low, false, out);
}

/* Places outside the image, by the padding. */
static insitu_status emit_padded(converter_t *c, const sampler_t *at, tensor_id_t x, uint32_t axis, tensor_id_t *out) {
    sym_t zero = sym_int(c->pool, 0), last = sym_sub(c->pool, at->sizes[axis], sym_int(c->pool, 1));
    *out = x;
    if (at->padding == ZEROS) return INSITU_OK;
    if (at->padding == REFLECTION) {
        bool point = at->align && is_int_constant(c, last, 0);
        if (point)
            TRY(emit_scalar_float(c, OP_MUL, x, 0, false, out));
        else
            TRY(emit_reflected(c, x, at->align ? 0 : -0.5, at->align ? last : at->sizes[axis], out));
    }
    TRY(emit_scalar(c, OP_MAXIMUM, *out, zero, false, out));
    return emit_scalar(c, OP_MINIMUM, *out, last, false, out);
}

/* 0 <= x < size */
static insitu_status emit_inside(converter_t *c, const sampler_t *at, tensor_id_t x, uint32_t axis, tensor_id_t *out) {
    tensor_id_t below;
    TRY(emit_scalar_float(c, OP_GE, x, 0, false, out));
    TRY(emit_scalar(c, OP_LT, x, at->sizes[axis], false, &below));
    return emit_binary(c, OP_LOGICAL_AND, *out, below, out);
}

/* A whole place as a number of a pixel in its line; one outside is that of the nearest inside. */
static insitu_status emit_number_of(converter_t *c, const sampler_t *at, tensor_id_t x, uint32_t axis,
                                    tensor_id_t *out) {
    TRY(emit_scalar_float(c, OP_MAXIMUM, x, 0, false, out));
    TRY(emit_scalar(c, OP_MINIMUM, *out, sym_sub(c->pool, at->sizes[axis], sym_int(c->pool, 1)), false, out));
    return emit_cast(c, *out, DTYPE_I64, out);
}

/* *sum += weight image[y, x], nothing where that is outside. x, y: whole places; weight NO_TENSOR: 1 */
static insitu_status add_tap(converter_t *c, const sampler_t *at, tensor_id_t x, tensor_id_t y, tensor_id_t weight,
                             tensor_id_t *sum) {
    tensor_id_t inside, other, place, value, zero;
    shape_t none = {0};
    TRY(emit_inside(c, at, x, 0, &inside));
    TRY(emit_inside(c, at, y, 1, &other));
    TRY(emit_binary(c, OP_LOGICAL_AND, inside, other, &inside));
    TRY(emit_number_of(c, at, y, 1, &place));
    TRY(emit_scalar(c, OP_MUL, place, at->sizes[0], false, &place));
    TRY(emit_number_of(c, at, x, 0, &other));
    TRY(emit_binary(c, OP_ADD, place, other, &place));
    TRY(emit_binary(c, OP_ADD, place, at->first, &place));
    TRY(emit_index_dim(c, at->rows, place, 0, &value));
    if (weight.index != NONE) {
        TRY(emit_unsqueeze(c, weight, 3, &weight));
        TRY(emit_binary(c, OP_MUL, value, weight, &value));
    }
    TRY(emit_unsqueeze(c, inside, 3, &inside));
    TRY(emit_number(c, at->type, &none, sym_int(c->pool, 0), &zero));
    TRY(emit_where(c, inside, value, zero, &value));
    if (sum->index == NONE) {
        *sum = value;
        return INSITU_OK;
    }
    return emit_binary(c, OP_ADD, *sum, value, sum);
}

/* The two neighbours' whole places, and the weight of each. */
static insitu_status emit_neighbours(converter_t *c, tensor_id_t x, tensor_id_t places[2], tensor_id_t weights[2]) {
    TRY(emit_unary(c, OP_FLOOR, x, &places[0]));
    TRY(emit_scalar_float(c, OP_ADD, places[0], 1, false, &places[1]));
    TRY(emit_binary(c, OP_SUB, places[1], x, &weights[0]));
    return emit_binary(c, OP_SUB, x, places[0], &weights[1]);
}

static insitu_status sample_bilinear(converter_t *c, const sampler_t *at, const tensor_id_t places[2],
                                     tensor_id_t *out) {
    tensor_id_t x[2], y[2], along[2], down[2], weight;
    TRY(emit_neighbours(c, places[0], x, along));
    TRY(emit_neighbours(c, places[1], y, down));
    for (uint32_t i = 0; i < 4; i++) {
        TRY(emit_binary(c, OP_MUL, along[i & 1], down[i >> 1], &weight));
        TRY(add_tap(c, at, x[i & 1], y[i >> 1], weight, out));
    }
    return INSITU_OK;
}

static insitu_status sample_bicubic(converter_t *c, const sampler_t *at, const tensor_id_t places[2],
                                    tensor_id_t *out) {
    tensor_id_t taps[2][4], weights[2][4], weight;
    for (uint32_t axis = 0; axis < 2; axis++) {
        tensor_id_t whole, part;
        TRY(emit_unary(c, OP_FLOOR, places[axis], &whole));
        TRY(emit_binary(c, OP_SUB, places[axis], whole, &part));
        TRY(emit_cubic_weights(c, part, weights[axis]));
        for (uint32_t i = 0; i < 4; i++) {
            TRY(emit_scalar_float(c, OP_ADD, whole, (double)i - 1, false, &taps[axis][i]));
            TRY(emit_padded(c, at, taps[axis][i], axis, &taps[axis][i]));
            TRY(emit_unary(c, OP_TRUNC, taps[axis][i], &taps[axis][i]));
        }
    }
    for (uint32_t i = 0; i < 16; i++) {
        TRY(emit_binary(c, OP_MUL, weights[0][i & 3], weights[1][i >> 2], &weight));
        TRY(add_tap(c, at, taps[0][i & 3], taps[1][i >> 2], weight, out));
    }
    return INSITU_OK;
}

static insitu_status prepare(converter_t *c, tensor_id_t x, sampler_t *out) {
    const shape_t from = tensor_of(c, x)->shape;
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    sym_t pixels = sym_mul(c->pool, from.sizes[2], from.sizes[3]);
    out->sizes[0] = from.sizes[3];
    out->sizes[1] = from.sizes[2];
    shape_t rows = {.rank = 2, .sizes = {sym_mul(c->pool, from.sizes[0], pixels), from.sizes[1]}};
    shape_t lifted = {.rank = 3, .sizes = {from.sizes[0], one, one}};
    TRY(emit_permute(c, x, (uint32_t[]){0, 2, 3, 1}, &x));
    TRY(emit_reshape(c, x, &rows, &out->rows));
    TRY(emit_iota(c, DTYPE_I64, from.sizes[0], zero, pixels, &out->first));
    return emit_reshape(c, out->first, &lifted, &out->first);
}

insitu_status convert_grid_sampler(converter_t *c) {
    tensor_id_t x, grid, places[2], result = NO_TENSOR;
    int64_t mode;
    sampler_t at = {0};
    TRY(take_tensor(c, "input", &x));
    TRY(take_tensor(c, "grid", &grid));
    TRY(take_int(c, "interpolation_mode", 0, &mode));
    TRY(take_int(c, "padding_mode", 0, &at.padding));
    TRY(take_flag(c, "align_corners", false, &at.align));
    dtype_t type = dtype_of(c, x);
    if (rank_of(c, x) != 4 || rank_of(c, grid) != 4) return convert_unsupported(c, "images of three dimensions");
    if (!dtype_is_float(type) || dtype_of(c, grid) != type)
        return convert_unsupported(c, "operands that are no floats");
    at.type = type; /* f16 and bf16 too are rounded at each step */
    TRY(prepare(c, x, &at));
    for (uint32_t axis = 0; axis < 2; axis++) {
        sym_t index = sym_int(c->pool, axis);
        TRY(emit_slice(c, grid, 3, index, sym_int(c->pool, (int64_t)axis + 1), 1, &places[axis]));
        TRY(emit_squeeze(c, places[axis], 3, &places[axis]));
        TRY(emit_places(c, &at, places[axis], axis, &places[axis]));
        if (mode != BICUBIC) TRY(emit_padded(c, &at, places[axis], axis, &places[axis]));
        if (mode == NEAREST) TRY(emit_unary(c, OP_ROUND, places[axis], &places[axis]));
    }
    if (mode == NEAREST)
        TRY(add_tap(c, &at, places[0], places[1], NO_TENSOR, &result));
    else
        TRY(mode == BICUBIC ? sample_bicubic(c, &at, places, &result) : sample_bilinear(c, &at, places, &result));
    TRY(emit_permute(c, result, (uint32_t[]){0, 3, 1, 2}, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
