/* Short-time Fourier transforms: windows of a signal times a function of their length, each transformed; and back. Window functions. */
#include "convert/convert_int.h"

#include <math.h>

typedef struct frames {
    int64_t size, step;
    tensor_id_t window; /* of that size, real or complex; NO_TENSOR: ones */
    bool normalized;
} frames_t;

/* The window function, which may be shorter than a frame: in its middle then. */
static insitu_status take_frames(converter_t *c, dtype_t type, frames_t *out) {
    int64_t length;
    TRY(take_int(c, "n_fft", 0, &out->size));
    TRY(take_int(c, "hop_length", out->size / 4, &out->step));
    TRY(take_int(c, "win_length", out->size, &length));
    TRY(take_optional_tensor(c, "window", &out->window));
    TRY(take_flag(c, "normalized", false, &out->normalized));
    if (out->size < 1 || out->step < 1 || length < 1 || length > out->size)
        return convert_fail(c, INSITU_FORMAT, "frames of %lld elements, a step of %lld, a window of %lld",
                            (long long)out->size, (long long)out->step, (long long)length);
    if (out->window.index == NONE && length == out->size) return INSITU_OK;
    if (out->window.index == NONE)
        TRY(emit_fill(c, type, &(shape_t){.rank = 1, .sizes = {sym_int(c->pool, length)}}, sym_int(c->pool, 1),
                      &out->window));
    if (dtype_is_complex(dtype_of(c, out->window))) type = type == DTYPE_F64 ? DTYPE_C128 : DTYPE_C64;
    TRY(emit_cast(c, out->window, type, &out->window));
    int64_t before = (out->size - length) / 2, after = out->size - length - before;
    tensor_id_t parts[3] = {NO_TENSOR, out->window, NO_TENSOR};
    const int64_t zeros[3] = {before, 0, after};
    for (uint32_t i = 0; i < 3; i += 2)
        TRY(emit_fill(c, type, &(shape_t){.rank = 1, .sizes = {sym_int(c->pool, zeros[i])}}, sym_int(c->pool, 0),
                      &parts[i]));
    return length == out->size ? INSITU_OK : emit_concat(c, parts, 3, 0, &out->window);
}

static dtype_t real_of(dtype_t type) { return dtype_is_complex(type) ? part_of(type) : type; }

/* frames times the window, complex if one of them is */
static insitu_status emit_windowed(converter_t *c, tensor_id_t x, const frames_t *frames, tensor_id_t *out) {
    *out = x;
    if (frames->window.index == NONE) return INSITU_OK;
    const operand_t both[2] = {operand_of_tensor(c, x), operand_of_tensor(c, frames->window)};
    dtype_t type;
    TRY(promote(c, both, 2, &type));
    return emit_operation(c, OP_MUL, both[0], both[1], type, out);
}

/* (time) or (batch, time) to (frequency, frame) or (batch, frequency, frame) */
insitu_status convert_stft(converter_t *c) {
    tensor_id_t x, result;
    frames_t frames;
    bool onesided, as_complex;
    TRY(take_tensor(c, "self", &x));
    uint32_t rank = rank_of(c, x);
    dtype_t type = dtype_of(c, x);
    if (rank != 1 && rank != 2) return convert_fail(c, INSITU_FORMAT, "a signal of rank %u", rank);
    if ((!dtype_is_complex(type) && !dtype_is_float(type)) || wide_dtype(type) != type)
        return convert_unsupported(c, "a transform of %s", dtype_name(type));
    TRY(take_frames(c, real_of(type), &frames));
    TRY(emit_windows(c, x, rank - 1, frames.size, frames.step, &result));
    TRY(emit_windowed(c, result, &frames, &result));
    bool is_complex = dtype_is_complex(dtype_of(c, result));
    TRY(take_flag(c, "onesided", !is_complex, &onesided));
    TRY(take_flag(c, "return_complex", is_complex, &as_complex));
    fourier_t how = {.kind = is_complex ? FFT_C2C : onesided ? FFT_R2C : FFT_R2C_WHOLE, .dims = {rank}, .count = 1};
    how.sizes[0] = sym_int(c->pool, frames.size);
    how.scale = frames.normalized ? FFT_BY_ROOT : FFT_PLAIN;
    TRY(emit_fourier(c, result, &how, &result));
    TRY(emit_swap(c, result, rank - 1, rank, &result));
    if (!as_complex) TRY(emit_to_real_pairs(c, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* The frames (batch, frame, time) of a transform (batch, frequency, frame), times the window. */
static insitu_status emit_frames(converter_t *c, tensor_id_t x, const frames_t *frames, bool onesided, bool as_complex,
                                 tensor_id_t *out) {
    sym_t half = sym_int(c->pool, frames->size / 2 + 1);
    fourier_t how = {.kind = as_complex ? FFT_C2C : FFT_C2R, .backward = true, .dims = {2}, .count = 1};
    TRY(emit_swap(c, x, 1, 2, &x));
    if (!onesided && !as_complex) TRY(emit_resized(c, x, 2, half, &x));
    how.sizes[0] = sym_int(c->pool, frames->size);
    how.scale = frames->normalized ? FFT_BY_ROOT : FFT_BY_SIZE;
    TRY(emit_fourier(c, x, &how, out));
    return emit_windowed(c, *out, frames, out);
}

/* The sum of the squared windows at each element of the signal, (1, time) */
static insitu_status emit_envelope(converter_t *c, const frames_t *frames, dtype_t type, sym_t count, sym_t whole,
                                   tensor_id_t *out) {
    sym_t one = sym_int(c->pool, 1);
    shape_t shape = {.rank = 3, .sizes = {one, count, sym_int(c->pool, frames->size)}};
    if (frames->window.index == NONE) {
        TRY(emit_number(c, type, &shape, one, out));
    } else {
        TRY(emit_binary(c, OP_MUL, frames->window, frames->window, out));
        TRY(emit_expand(c, *out, &shape, out));
    }
    return emit_overlap_add(c, *out, 1, frames->step, whole, out);
}

/* Frames are added where they lie, and divided by the windows' envelope, which must not vanish. */
insitu_status convert_istft(converter_t *c) {
    tensor_id_t x, result, envelope, low;
    frames_t frames;
    bool center, onesided, as_complex;
    TRY(take_tensor(c, "self", &x));
    if (!dtype_is_complex(dtype_of(c, x))) return convert_unsupported(c, "a transform that is not complex");
    bool has_batch = rank_of(c, x) == 3;
    if (!has_batch && rank_of(c, x) != 2)
        return convert_fail(c, INSITU_FORMAT, "a transform of rank %u", rank_of(c, x));
    if (!has_batch) TRY(emit_unsqueeze(c, x, 0, &x));
    dtype_t type = part_of(dtype_of(c, x));
    sym_t count = size_of(c, x, 2);
    TRY(take_frames(c, type, &frames));
    TRY(take_flag(c, "center", true, &center));
    TRY(take_flag(c, "onesided", !is_int_constant(c, size_of(c, x, 1), frames.size), &onesided));
    TRY(take_flag(c, "return_complex", false, &as_complex));
    sym_t last = sym_mul(c->pool, sym_sub(c->pool, count, sym_int(c->pool, 1)), sym_int(c->pool, frames.step));
    sym_t whole = sym_add(c->pool, last, sym_int(c->pool, frames.size)),
          edge = sym_int(c->pool, center ? frames.size / 2 : 0);
    sym_t end = sym_sub(c->pool, whole, edge), length;
    TRY(take_sym_or(c, "length", sym_sub(c->pool, end, edge), &length));
    end = sym_min(c->pool, sym_add(c->pool, edge, length), whole);
    TRY(emit_frames(c, x, &frames, onesided, as_complex, &result));
    TRY(emit_overlap_add(c, result, 1, frames.step, whole, &result));
    TRY(emit_envelope(c, &frames, type, count, whole, &envelope));
    TRY(emit_slice(c, result, 1, edge, end, 1, &result));
    TRY(emit_slice(c, envelope, 1, edge, end, 1, &envelope));
    TRY(emit_unary(c, OP_ABS, envelope, &low));
    TRY(emit_scalar_float(c, OP_LE, low, 1e-11, false, &low));
    TRY(require_none(c, low, "the windows of istft don't cover the signal"));
    TRY(emit_cast(c, envelope, dtype_of(c, result), &envelope));
    TRY(emit_binary(c, OP_DIV, result, envelope, &result));
    TRY(emit_resized(c, result, 1, length, &result));
    if (!has_batch) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* ---- window functions ---- */

/* alpha - beta cos(2 pi k / n) + gamma cos(4 pi k / n) */
static insitu_status emit_cosines(converter_t *c, tensor_id_t k, sym_t n, double alpha, double beta, double gamma,
                                  tensor_id_t *out) {
    tensor_id_t angle, second;
    TRY(emit_scalar(c, OP_MUL, k, quotient_of(c, sym_float(c->pool, 2 * 3.14159265358979323846), n), false, &angle));
    TRY(emit_unary(c, OP_COS, angle, out));
    TRY(emit_scalar_float(c, OP_MUL, *out, -beta, false, out));
    TRY(emit_scalar_float(c, OP_ADD, *out, alpha, false, out));
    if (gamma == 0) return INSITU_OK;
    TRY(emit_scalar_float(c, OP_MUL, angle, 2, false, &second));
    TRY(emit_unary(c, OP_COS, second, &second));
    TRY(emit_scalar_float(c, OP_MUL, second, gamma, false, &second));
    return emit_binary(c, OP_ADD, *out, second, out);
}

/* 1 - |2k / n - 1| */
static insitu_status emit_tent(converter_t *c, tensor_id_t k, sym_t n, tensor_id_t *out) {
    TRY(emit_scalar(c, OP_MUL, k, quotient_of(c, sym_float(c->pool, 2), n), false, out));
    TRY(emit_scalar_float(c, OP_SUB, *out, 1, false, out));
    TRY(emit_unary(c, OP_ABS, *out, out));
    return emit_scalar_float(c, OP_SUB, *out, 1, true, out);
}

/* hann_window and its kin, param: which; periodic ones are those of one element more, without the last */
insitu_status convert_window(converter_t *c) {
    tensor_id_t k, result;
    dtype_t type;
    sym_t length, one = sym_int(c->pool, 1);
    bool periodic;
    double alpha, beta;
    TRY(take_sym(c, "window_length", &length));
    TRY(take_flag(c, "periodic", true, &periodic));
    TRY(take_dtype(c, "dtype", DTYPE_F32, &type));
    TRY(take_float(c, "alpha", 0.54, &alpha));
    TRY(take_float(c, "beta", 0.46, &beta));
    if (!dtype_is_float(type)) return convert_unsupported(c, "a window of %s", dtype_name(type));
    if (is_int_constant(c, length, 1)) {
        TRY(emit_fill(c, type, &(shape_t){.rank = 1, .sizes = {one}}, one, &result));
        set_only_result(c, result);
        return INSITU_OK;
    }
    TRY(emit_iota(c, wide_dtype(type), length, sym_int(c->pool, 0), one, &k));
    sym_t n = periodic ? length : sym_sub(c->pool, length, one);
    switch (c->param) {
    case WINDOW_HANN: TRY(emit_cosines(c, k, n, 0.5, 0.5, 0, &result)); break;
    case WINDOW_HAMMING: TRY(emit_cosines(c, k, n, alpha, beta, 0, &result)); break;
    case WINDOW_BLACKMAN: TRY(emit_cosines(c, k, n, 0.42, 0.5, 0.08, &result)); break;
    default: TRY(emit_tent(c, k, n, &result)); break;
    }
    return finish_wide(c, result, type);
}
