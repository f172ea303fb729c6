/* Fourier transforms as products: of a size n, X_k is the sum over j of x_j e^(-2 pi i jk / n), a product with a matrix of n^2 roots
 * of unity. A larger size is split in two factors (Cooley and Tukey 1965), each a product with the matrix of its own size, between
 * which each number is turned; one without factors is a convolution, that is, transforms of a larger size that has them (Bluestein
 * 1970). So a transform needs no kernel of its own, on any device; the matrices are constants of the engine, unless a size is
 * known in the call only. */
#include "convert/convert_int.h"

#include <math.h>

enum {
    DIRECT_COMPLEX = 256, /* from this size on, factors are faster, if there are any */
    DIRECT_REAL = 512,
    DIRECT_MOST = 512 /* of a size without factors */
};
static const double two_pi = 6.283185307179586476925286766559;

typedef struct transform {
    sym_t size;
    bool backward; /* e^(+2 pi i jk / n) */
    sym_t scale;   /* a factor of the results */
} transform_t;

static bool is_one(const converter_t *c, sym_t number) {
    double known;
    return sym_constant_float(c->pool, number, &known) && known == 1;
}

/* cos and sin, negated but backward, of 2 pi times as many parts of the round as integers tell; f64 */
static insitu_status emit_roots(converter_t *c, tensor_id_t parts, sym_t round, bool backward, tensor_id_t out[2]) {
    tensor_id_t angle;
    TRY(emit_scalar(c, OP_REMAINDER, parts, round, false, &angle)); /* so that large angles are exact */
    TRY(emit_cast(c, angle, DTYPE_F64, &angle));
    TRY(emit_scalar(c, OP_MUL, angle, quotient_of(c, sym_float(c->pool, two_pi), round), false, &angle));
    TRY(emit_unary(c, OP_COS, angle, &out[0]));
    TRY(emit_unary(c, OP_SIN, angle, &out[1]));
    return backward ? INSITU_OK : emit_unary(c, OP_NEG, out[1], &out[1]);
}

/* The roots of jk parts of the size, for j < rows and k < columns, times scale */
static insitu_status emit_waves(converter_t *c, const transform_t *t, sym_t rows, sym_t columns, tensor_id_t out[2]) {
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    tensor_id_t j, k, parts;
    TRY(emit_iota(c, DTYPE_I64, rows, zero, one, &j));
    TRY(emit_iota(c, DTYPE_I64, columns, zero, one, &k));
    TRY(emit_unsqueeze(c, j, 1, &j));
    TRY(emit_binary(c, OP_MUL, j, k, &parts));
    TRY(emit_roots(c, parts, t->size, t->backward, out));
    for (uint32_t i = 0; i < 2 && !is_one(c, t->scale); i++)
        TRY(emit_scalar(c, OP_MUL, out[i], t->scale, false, &out[i]));
    return INSITU_OK;
}

/* Both side by side in a new dimension. */
static insitu_status emit_beside(converter_t *c, tensor_id_t a, tensor_id_t b, uint32_t dim, tensor_id_t *out) {
    tensor_id_t both[2];
    TRY(emit_unsqueeze(c, a, dim, &both[0]));
    TRY(emit_unsqueeze(c, b, dim, &both[1]));
    return emit_concat(c, both, 2, dim, out);
}

/* x (..., rows) times matrix (rows, columns) */
static insitu_status emit_lines_product(converter_t *c, tensor_id_t x, tensor_id_t matrix, tensor_id_t *out) {
    TRY(emit_cast(c, matrix, dtype_of(c, x), &matrix));
    return emit_product(c, x, matrix, out);
}

static insitu_status emit_matrix(converter_t *c, tensor_id_t x, sym_t rows, sym_t columns, tensor_id_t *out) {
    return emit_reshape(c, x, &(shape_t){.rank = 2, .sizes = {rows, columns}}, out);
}

static sym_t twice(converter_t *c, sym_t size) { return sym_mul(c->pool, sym_int(c->pool, 2), size); }

/* The last dimension, of which 2 columns were made, as that many complex numbers. */
static insitu_status emit_as_complex(converter_t *c, tensor_id_t x, sym_t columns, tensor_id_t *out) {
    shape_t shape = tensor_of(c, x)->shape;
    if (shape.rank == MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    shape.sizes[shape.rank - 1] = columns;
    shape.sizes[shape.rank++] = sym_int(c->pool, 2);
    TRY(emit_reshape(c, x, &shape, &x));
    return emit_from_real_pairs(c, x, out);
}

/* The parts of each complex number side by side in the last dimension. */
static insitu_status emit_as_real(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    shape_t shape = tensor_of(c, x)->shape;
    TRY(emit_to_real_pairs(c, x, out));
    shape.sizes[shape.rank - 1] = twice(c, shape.sizes[shape.rank - 1]);
    return emit_reshape(c, *out, &shape, out);
}

/* (a + bi)(cos + i sin) by one matrix: rows (cos, sin) of each a, (-sin, cos) of each b */
static insitu_status emit_direct(converter_t *c, tensor_id_t x, const transform_t *t, tensor_id_t *out) {
    tensor_id_t waves[2], negative, of_a, of_b, matrix;
    TRY(emit_waves(c, t, t->size, t->size, waves));
    TRY(emit_unary(c, OP_NEG, waves[1], &negative));
    TRY(emit_beside(c, waves[0], waves[1], 2, &of_a));
    TRY(emit_beside(c, negative, waves[0], 2, &of_b));
    TRY(emit_beside(c, of_a, of_b, 1, &matrix));
    TRY(emit_matrix(c, matrix, twice(c, t->size), twice(c, t->size), &matrix));
    TRY(emit_as_real(c, x, &x));
    TRY(emit_lines_product(c, x, matrix, out));
    return emit_as_complex(c, *out, t->size, out);
}

/* How a size is transformed: directly, or by two factors, of which out_factor is the smaller, or as a convolution. */
typedef enum way { BY_MATRIX, BY_FACTORS, BY_CONVOLUTION } way_t;

static way_t way_of(const converter_t *c, sym_t size, int64_t limit, int64_t *out_factor) {
    int64_t n;
    *out_factor = 1;
    if (!sym_constant(c->pool, size, &n) || n <= limit) return BY_MATRIX;
    for (int64_t factor = 2; factor <= n / factor; factor++) {
        if (n % factor == 0) *out_factor = factor;
    }
    return *out_factor > 1 ? BY_FACTORS : n <= DIRECT_MOST ? BY_MATRIX : BY_CONVOLUTION;
}

static insitu_status emit_transform(converter_t *c, tensor_id_t x, const transform_t *t, tensor_id_t *out);

/* j = j1 b + j2, k = k1 + a k2 of the size a b: transforms over j1, turns by j2 k1, transforms over j2. */
static insitu_status emit_split(converter_t *c, tensor_id_t x, const transform_t *t, int64_t factor, tensor_id_t *out) {
    sym_t a = sym_int(c->pool, factor), b = sym_floordiv(c->pool, t->size, a), one = sym_float(c->pool, 1);
    shape_t shape = tensor_of(c, x)->shape, split = shape;
    uint32_t last = shape.rank - 1;
    tensor_id_t turns[2], turn;
    if (shape.rank == MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    split.sizes[last] = a;
    split.sizes[split.rank++] = b;
    TRY(emit_reshape(c, x, &split, &x));
    TRY(emit_swap(c, x, last, last + 1, &x));
    TRY(emit_transform(c, x, &(transform_t){a, t->backward, one}, &x));
    TRY(emit_waves(c, t, b, a, turns));
    for (uint32_t i = 0; i < 2; i++) TRY(emit_cast(c, turns[i], part_of(dtype_of(c, x)), &turns[i]));
    TRY(emit_from_parts(c, turns, &turn));
    TRY(emit_binary(c, OP_MUL, x, turn, &x));
    TRY(emit_swap(c, x, last, last + 1, &x));
    TRY(emit_transform(c, x, &(transform_t){b, t->backward, one}, &x));
    TRY(emit_swap(c, x, last, last + 1, &x));
    return emit_reshape(c, x, &shape, out);
}

/* e^(-pi i j^2 / n) for j < n, with + if backward; complex numbers of those parts */
static insitu_status emit_chirp(converter_t *c, const transform_t *t, dtype_t part, tensor_id_t *out) {
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    tensor_id_t j, parts[2];
    TRY(emit_iota(c, DTYPE_I64, t->size, zero, one, &j));
    TRY(emit_binary(c, OP_MUL, j, j, &j));
    TRY(emit_roots(c, j, twice(c, t->size), t->backward, parts));
    for (uint32_t i = 0; i < 2; i++) TRY(emit_cast(c, parts[i], part, &parts[i]));
    return emit_from_parts(c, parts, out);
}

/* jk = (j^2 + k^2 - (k - j)^2) / 2: with a chirp w, X_k = w_k times the convolution of x_j w_j with the conjugate of w, here one of
 * numbers that go round in twice the size at least. */
static insitu_status emit_convolved(converter_t *c, tensor_id_t x, const transform_t *t, tensor_id_t *out) {
    tensor_id_t chirp, ends, parts[2], filter;
    uint32_t last = rank_of(c, x) - 1;
    int64_t n, size = 1;
    if (!sym_constant(c->pool, t->size, &n)) return convert_unsupported(c, "a size that is not constant");
    while (size < 2 * n - 1) size *= 2;
    sym_t round = sym_int(c->pool, size), one = sym_float(c->pool, 1);
    TRY(emit_chirp(c, t, part_of(dtype_of(c, x)), &chirp));
    TRY(emit_binary(c, OP_MUL, x, chirp, &x));
    TRY(emit_resized(c, x, last, round, &x));
    TRY(emit_transform(c, x, &(transform_t){round, false, one}, &x));
    TRY(emit_conjugate(c, chirp, &ends));
    TRY(emit_resized(c, ends, 0, sym_int(c->pool, size - n + 1), &parts[0]));
    TRY(emit_slice(c, ends, 0, sym_int(c->pool, 1), t->size, 1, &parts[1]));
    TRY(emit_flip(c, parts[1], 0, &parts[1]));
    TRY(emit_concat(c, parts, 2, 0, &filter));
    TRY(emit_transform(c, filter, &(transform_t){round, false, one}, &filter));
    TRY(emit_binary(c, OP_MUL, x, filter, &x));
    TRY(emit_transform(c, x, &(transform_t){round, true, sym_float(c->pool, 1 / (double)size)}, &x));
    TRY(emit_resized(c, x, last, t->size, &x));
    if (!is_one(c, t->scale)) TRY(emit_scalar(c, OP_MUL, chirp, t->scale, false, &chirp));
    return emit_binary(c, OP_MUL, x, chirp, out);
}

/* Of complex x, over the last dimension. */
static insitu_status emit_transform(converter_t *c, tensor_id_t x, const transform_t *t, tensor_id_t *out) {
    int64_t factor;
    switch (way_of(c, t->size, DIRECT_COMPLEX, &factor)) {
    case BY_FACTORS: return emit_split(c, x, t, factor, out);
    case BY_CONVOLUTION: return emit_convolved(c, x, t, out);
    case BY_MATRIX: break;
    }
    return emit_direct(c, x, t, out);
}

static sym_t half_of(converter_t *c, sym_t size) { /* how many numbers tell a real transform */
    return sym_add(c->pool, sym_floordiv(c->pool, size, sym_int(c->pool, 2)), sym_int(c->pool, 1));
}

/* Of real x: the first count numbers. */
static insitu_status emit_of_real(converter_t *c, tensor_id_t x, const transform_t *t, sym_t count, tensor_id_t *out) {
    tensor_id_t waves[2], matrix;
    int64_t factor;
    if (way_of(c, t->size, DIRECT_REAL, &factor) != BY_MATRIX) {
        TRY(emit_cast(c, x, dtype_of(c, x) == DTYPE_F64 ? DTYPE_C128 : DTYPE_C64, &x));
        TRY(emit_transform(c, x, t, &x));
        return emit_slice(c, x, rank_of(c, x) - 1, sym_int(c->pool, 0), count, 1, out);
    }
    TRY(emit_waves(c, t, t->size, count, waves));
    TRY(emit_beside(c, waves[0], waves[1], 2, &matrix));
    TRY(emit_matrix(c, matrix, t->size, twice(c, count), &matrix));
    TRY(emit_lines_product(c, x, matrix, out));
    return emit_as_complex(c, *out, count, out);
}

/* The numbers behind the first half of a real signal's transform: their conjugates in reverse order, but the first and, of an
 * even size, the last. */
static insitu_status emit_whole(converter_t *c, tensor_id_t x, sym_t size, tensor_id_t *out) {
    uint32_t last = rank_of(c, x) - 1;
    sym_t end = sym_add(c->pool, sym_sub(c->pool, size, half_of(c, size)), sym_int(c->pool, 1));
    tensor_id_t parts[2] = {x, NO_TENSOR};
    TRY(emit_slice(c, x, last, sym_int(c->pool, 1), end, 1, &parts[1]));
    TRY(emit_flip(c, parts[1], last, &parts[1]));
    TRY(emit_conjugate(c, parts[1], &parts[1]));
    return emit_concat(c, parts, 2, last, out);
}

/* 2 (a cos - b sin) for each number, once only for the first and, of an even size, the last */
static insitu_status emit_to_real(converter_t *c, tensor_id_t x, const transform_t *t, tensor_id_t *out) {
    tensor_id_t waves[2], negative, times, place, matrix, one;
    sym_t half = half_of(c, t->size), two = sym_int(c->pool, 2);
    int64_t factor;
    if (way_of(c, t->size, DIRECT_REAL, &factor) != BY_MATRIX) {
        tensor_id_t parts[2];
        TRY(emit_whole(c, x, t->size, &x));
        TRY(emit_transform(c, x, t, &x));
        TRY(emit_to_parts(c, x, parts));
        *out = parts[0];
        return INSITU_OK;
    }
    TRY(emit_waves(c, t, half, t->size, waves));
    TRY(emit_unary(c, OP_NEG, waves[1], &negative));
    TRY(emit_beside(c, waves[0], negative, 1, &matrix));
    TRY(emit_iota(c, DTYPE_I64, half, sym_int(c->pool, 0), two, &place)); /* 2k is 0 or the size, or neither */
    TRY(emit_scalar(c, OP_REMAINDER, place, t->size, false, &place));
    TRY(emit_scalar(c, OP_EQ, place, sym_int(c->pool, 0), false, &place));
    TRY(emit_number(c, DTYPE_F64, &tensor_of(c, place)->shape, two, &times));
    TRY(emit_number(c, DTYPE_F64, &tensor_of(c, place)->shape, sym_int(c->pool, 1), &one));
    TRY(emit_where(c, place, one, times, &times));
    TRY(emit_along(c, times, 3, 0, &times));
    TRY(emit_binary(c, OP_MUL, matrix, times, &matrix));
    TRY(emit_matrix(c, matrix, twice(c, half), t->size, &matrix));
    TRY(emit_as_real(c, x, &x));
    return emit_lines_product(c, x, matrix, out);
}

/* ---- operators ---- */
static sym_t scale_of(converter_t *c, const fourier_t *how) {
    sym_t size = sym_int(c->pool, 1), one = sym_float(c->pool, 1);
    int64_t known;
    for (uint32_t i = 0; i < how->count; i++) size = sym_mul(c->pool, size, how->sizes[i]);
    if (how->scale == FFT_PLAIN) return one;
    if (sym_constant(c->pool, size, &known)) {
        double number = how->scale == FFT_BY_ROOT ? sqrt((double)known) : (double)known;
        return sym_float(c->pool, 1 / number);
    }
    return quotient_of(c, one, how->scale == FFT_BY_ROOT ? sym_make(c->pool, SYM_SQRT, &size, 1) : size);
}

static insitu_status emit_one_dim(converter_t *c, tensor_id_t x, int kind, uint32_t dim, const transform_t *t,
                                  tensor_id_t *out) {
    uint32_t last = rank_of(c, x) - 1;
    TRY(emit_swap(c, x, dim, last, &x));
    if (kind == FFT_C2R) {
        TRY(emit_to_real(c, x, t, &x));
    } else if (kind == FFT_C2C) {
        TRY(emit_transform(c, x, t, &x));
    } else {
        TRY(emit_of_real(c, x, t, kind == FFT_R2C ? half_of(c, t->size) : t->size, &x));
    }
    return emit_swap(c, x, dim, last, out);
}

insitu_status emit_fourier(converter_t *c, tensor_id_t x, const fourier_t *how, tensor_id_t *out) {
    sym_t scale = scale_of(c, how);
    *out = x;
    for (uint32_t i = 0; i < how->count; i++) {
        uint32_t at = how->kind == FFT_C2R ? i : how->count - 1 - i;
        bool is_last = at == how->count - 1;
        transform_t t = {how->sizes[at], how->backward, i == 0 ? scale : sym_float(c->pool, 1)};
        TRY(emit_one_dim(c, *out, is_last ? how->kind : FFT_C2C, how->dims[at], &t, out));
    }
    return INSITU_OK;
}

static insitu_status take_dim_list(converter_t *c, uint32_t rank, fourier_t *out) {
    int64_t dims[MAX_RANK];
    TRY(take_ints(c, "dim", dims, &out->count));
    for (uint32_t i = 0; i < out->count; i++) TRY(normal_dim(c, dims[i], rank, &out->dims[i]));
    return INSITU_OK;
}

/* _fft_c2c, _fft_r2c, _fft_c2r, which decomposed programs have */
insitu_status convert_fft_plain(converter_t *c) {
    tensor_id_t x, result;
    fourier_t how = {.kind = c->param};
    int64_t scale;
    bool forward = how.kind != FFT_C2R, half;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dim_list(c, rank_of(c, x), &how));
    TRY(take_int(c, "normalization", FFT_PLAIN, &scale));
    if (how.kind == FFT_C2C) TRY(take_flag(c, "forward", true, &forward));
    if (how.kind == FFT_R2C) {
        TRY(take_flag(c, "onesided", true, &half));
        if (!half) how.kind = FFT_R2C_WHOLE;
    }
    how.backward = !forward;
    how.scale = (int)scale;
    for (uint32_t i = 0; i < how.count; i++) how.sizes[i] = size_of(c, x, how.dims[i]);
    if (how.kind == FFT_C2R && how.count) TRY(take_sym(c, "last_dim_size", &how.sizes[how.count - 1]));
    TRY(emit_fourier(c, x, &how, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Of fft_fft and the like: one dimension and its size; of fft_fftn several, all or as many as there are sizes. */
static insitu_status take_transform_dims(converter_t *c, tensor_id_t x, fourier_t *out, sym_t *sizes,
                                         uint32_t *out_sizes) {
    uint32_t rank = rank_of(c, x);
    *out_sizes = 0;
    if (c->param & FFT_MANY) {
        if (has_arg(c, "s")) TRY(take_syms(c, "s", sizes, out_sizes));
        if (has_arg(c, "dim")) return take_dim_list(c, rank, out);
        out->count = *out_sizes ? *out_sizes : rank;
        for (uint32_t i = 0; i < out->count; i++) out->dims[i] = rank - out->count + i;
        return INSITU_OK;
    }
    out->count = 1;
    if (has_arg(c, "n")) {
        *out_sizes = 1;
        TRY(take_sym(c, "n", &sizes[0]));
    }
    return take_dim(c, "dim", -1, rank, &out->dims[0]);
}

static int scale_by_name(const char *norm, bool backward) {
    if (strcmp(norm, "ortho") == 0) return FFT_BY_ROOT;
    return (strcmp(norm, "forward") == 0) != backward ? FFT_BY_SIZE : FFT_PLAIN;
}

/* x with the sizes that are asked for; a real result of n numbers is made of n / 2 + 1. */
static insitu_status emit_asked_sizes(converter_t *c, tensor_id_t x, const sym_t *sizes, uint32_t count, fourier_t *how,
                                      tensor_id_t *out) {
    *out = x;
    if (count && count != how->count)
        return convert_fail(c, INSITU_FORMAT, "%u sizes of %u dimensions", count, how->count);
    for (uint32_t i = 0; i < how->count; i++) {
        sym_t has = size_of(c, x, how->dims[i]);
        bool is_asked = count && !is_int_constant(c, sizes[i], -1);
        bool is_half = how->kind == FFT_C2R && i == how->count - 1;
        sym_t usual = is_half ? twice(c, sym_sub(c->pool, has, sym_int(c->pool, 1))) : has;
        how->sizes[i] = is_asked ? sizes[i] : usual;
        TRY(emit_resized(c, *out, how->dims[i], is_half ? half_of(c, how->sizes[i]) : how->sizes[i], out));
    }
    return INSITU_OK;
}

/* fft, rfft, hfft, their inverses, in one and more dimensions; param: FFT_... */
insitu_status convert_fft(converter_t *c) {
    tensor_id_t x, result;
    sym_t sizes[MAX_RANK];
    uint32_t count;
    bool is_inverse = (c->param & FFT_INVERSE) != 0, is_real = (c->param & FFT_REAL) != 0;
    /* hfft is irfft of the conjugate, ihfft the conjugate of rfft, both scaled as they are named */
    bool turns = (c->param & FFT_HERMITIAN) != 0;
    fourier_t how = {.backward = is_inverse != turns};
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    dtype_t type = dtype_of(c, x);
    if (wide_dtype(type) != type) return convert_unsupported(c, "a transform of %s", dtype_name(type));
    how.kind = !is_real ? FFT_C2C : how.backward ? FFT_C2R : FFT_R2C;
    how.scale = scale_by_name(take_string(c, "norm"), is_inverse);
    TRY(take_transform_dims(c, x, &how, sizes, &count));
    if (how.kind == FFT_C2C && !dtype_is_complex(type) && how.count) how.kind = FFT_R2C_WHOLE;
    if (how.kind == FFT_C2R) TRY(emit_cast(c, x, type == DTYPE_F64 || type == DTYPE_C128 ? DTYPE_C128 : DTYPE_C64, &x));
    TRY(emit_asked_sizes(c, x, sizes, count, &how, &x));
    if (turns && how.kind == FFT_C2R) TRY(emit_conjugate(c, x, &x));
    TRY(emit_fourier(c, x, &how, &result));
    if (turns && how.kind == FFT_R2C) TRY(emit_conjugate(c, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* fftfreq: 0 ... up to half of n, then what is negative, over n d; rfftfreq (param): n / 2 + 1 numbers from 0 */
insitu_status convert_fftfreq(converter_t *c) {
    sym_t n, d, zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1), two = sym_int(c->pool, 2);
    tensor_id_t parts[2], result;
    dtype_t type;
    TRY(take_sym(c, "n", &n));
    TRY(take_real(c, "d", 1, &d));
    TRY(take_dtype(c, "dtype", DTYPE_F32, &type));
    if (c->param) {
        TRY(emit_iota(c, type, half_of(c, n), zero, one, &result));
    } else {
        sym_t below = sym_floordiv(c->pool, n, two);
        TRY(emit_iota(c, type, sym_sub(c->pool, n, below), zero, one, &parts[0]));
        TRY(emit_iota(c, type, below, negative_of(c, below), one, &parts[1]));
        TRY(emit_concat(c, parts, 2, 0, &result));
    }
    sym_t scale = quotient_of(c, sym_float(c->pool, 1), sym_mul(c->pool, n, d));
    TRY(emit_scalar(c, OP_MUL, result, scale, false, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Rolls the middle to the front: by half of each size, rounded down to shift (param 0), up to shift back. */
insitu_status convert_fftshift(converter_t *c) {
    tensor_id_t x;
    uint32_t axes;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dims(c, "dim", rank_of(c, x), &axes));
    for (uint32_t i = 0; i < rank_of(c, x); i++) {
        sym_t size = sym_add(c->pool, size_of(c, x, i), sym_int(c->pool, c->param));
        if ((axes >> i) & 1) TRY(emit_roll(c, x, i, sym_floordiv(c->pool, size, sym_int(c->pool, 2)), &x));
    }
    set_only_result(c, x);
    return INSITU_OK;
}
