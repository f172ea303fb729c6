/* Products with few rows (matrix-vector): weights are read once, where they lie.
 *
 * b dense along K, as saved linear weights (N,K) are:  dot products, four columns at a time, each in two sums.
 * b dense along N:                                     rows of b scaled and added, four vectors of columns at a time.
 * The order of an element's sum depends on K and the layout alone, so any split over columns gives the same bits. */
#ifndef VEC_PRODUCT_TMPL_H
#define VEC_PRODUCT_TMPL_H

#include "backend/cpu/simd/vec.h"
#include "backend/cpu/simd/vec_int.h"

/* out[row][column] = sum over k of a[row * a_stride + k] * b[column * b_stride + k]. */
static inline __attribute__((always_inline)) void dot_block(const float *a, int64_t a_stride, const float *b,
                                                            int64_t b_stride, int64_t depth, const int32_t rows,
                                                            const int32_t columns, float out[4][4]) {
    vf even[2][4], odd[2][4];
    for (int32_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < columns; c++) even[r][c] = odd[r][c] = (vf){0};
    int64_t k = 0;
    for (; k + 2 * VEC_WIDTH <= depth; k += 2 * VEC_WIDTH) {
        for (int32_t r = 0; r < rows; r++) {
            vf first = vec_load(a + r * a_stride + k), second = vec_load(a + r * a_stride + k + VEC_WIDTH);
            for (int32_t c = 0; c < columns; c++) {
                even[r][c] = vec_fma(first, vec_load(b + c * b_stride + k), even[r][c]);
                odd[r][c] = vec_fma(second, vec_load(b + c * b_stride + k + VEC_WIDTH), odd[r][c]);
            }
        }
    }
    for (; k < depth; k += VEC_WIDTH) {
        int64_t count = depth - k;
        for (int32_t r = 0; r < rows; r++) {
            const float *left = a + r * a_stride + k;
            vf first = count < VEC_WIDTH ? vec_load_part(left, count) : vec_load(left);
            for (int32_t c = 0; c < columns; c++) {
                const float *right = b + c * b_stride + k;
                vf second = count < VEC_WIDTH ? vec_load_part(right, count) : vec_load(right);
                even[r][c] = vec_fma(first, second, even[r][c]);
            }
        }
    }
    for (int32_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < columns; c++) out[r][c] = vec_sum(even[r][c] + odd[r][c]);
}

/* Constant sizes let the compiler keep the sums in registers. */
static void dot_any(const float *a, int64_t a_stride, const float *b, int64_t b_stride, int64_t depth, int32_t rows,
                    int32_t columns, float out[4][4]) {
    if (rows == 2 && columns == 4)
        dot_block(a, a_stride, b, b_stride, depth, 2, 4, out);
    else if (rows == 1 && columns == 4)
        dot_block(a, a_stride, b, b_stride, depth, 1, 4, out);
    else
        for (int32_t r = 0; r < rows; r++)
            for (int32_t c = 0; c < columns; c++) {
                float one[4][4];
                dot_block(a + r * a_stride, a_stride, b + c * b_stride, b_stride, depth, 1, 1, one);
                out[r][c] = one[0][0];
            }
}

/* out[column] = sum over k of a[k] * b[k * b_stride + column], for columns up to 4 vectors; added to what is there if
 * add. */
static void row_block(const float *a, const float *b, int64_t b_stride, int64_t depth, int64_t columns, float *out,
                      bool add) {
    vf sums[4];
    int32_t full = (int32_t)(columns / VEC_WIDTH), whole = full + (columns % VEC_WIDTH != 0);
    int64_t tail = columns % VEC_WIDTH;
    for (int32_t v = 0; v < whole; v++) {
        sums[v] = (vf){0};
        if (add) sums[v] = v < full ? vec_load(out + v * VEC_WIDTH) : vec_load_part(out + v * VEC_WIDTH, tail);
    }
    if (full == 4) {
        vf s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
        for (int64_t k = 0; k < depth; k++) {
            vf scale = vec_set(a[k]);
            const float *row = b + k * b_stride;
            s0 = vec_fma(scale, vec_load(row), s0);
            s1 = vec_fma(scale, vec_load(row + VEC_WIDTH), s1);
            s2 = vec_fma(scale, vec_load(row + 2 * VEC_WIDTH), s2);
            s3 = vec_fma(scale, vec_load(row + 3 * VEC_WIDTH), s3);
        }
        sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
    } else {
        for (int64_t k = 0; k < depth; k++) {
            vf scale = vec_set(a[k]);
            const float *row = b + k * b_stride;
            for (int32_t v = 0; v < full; v++) sums[v] = vec_fma(scale, vec_load(row + v * VEC_WIDTH), sums[v]);
            if (tail) sums[full] = vec_fma(scale, vec_load_part(row + full * VEC_WIDTH, tail), sums[full]);
        }
    }
    for (int32_t v = 0; v < full; v++) vec_store(out + v * VEC_WIDTH, sums[v]);
    if (tail) vec_store_part(out + full * VEC_WIDTH, sums[full], tail);
}

/* Columns [begin, end) of one batch. */
static void matvec_dots(const product_t *product, product_data_t data, int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; n += 4) {
        int32_t columns = end - n < 4 ? (int32_t)(end - n) : 4;
        for (int64_t m = 0; m < product->rows; m += 2) {
            int32_t rows = product->rows - m < 2 ? 1 : 2;
            float out[4][4];
            dot_any(data.a + m * product->a_row, product->a_row, data.b + n * product->b_column, product->b_column,
                    product->depth, rows, columns, out);
            for (int32_t r = 0; r < rows; r++)
                for (int32_t c = 0; c < columns; c++)
                    data.r[(m + r) * product->r_row + (n + c) * product->r_column] =
                        data.bias ? out[r][c] + data.bias[(n + c) * product->bias_column] : out[r][c];
        }
    }
}

static void matvec_rows(const product_t *product, product_data_t data, int64_t begin, int64_t end) {
    float sums[4 * VEC_WIDTH];
    for (int64_t n = begin; n < end; n += 4 * VEC_WIDTH) {
        int64_t columns = end - n < 4 * VEC_WIDTH ? end - n : 4 * VEC_WIDTH;
        for (int64_t m = 0; m < product->rows; m++) {
            float *to = data.r + m * product->r_row + n * product->r_column;
            row_block(data.a + m * product->a_row, data.b + n, product->b_row, product->depth, columns, sums, false);
            for (int64_t c = 0; c < columns; c++)
                to[c * product->r_column] = data.bias ? sums[c] + data.bias[(n + c) * product->bias_column] : sums[c];
        }
    }
}

/* The left side's rows with elements side by side, in the workspace. */
static const float *gather_left(const kernel_call_t *call, const product_t *product, const float *a) {
    float *to = (float *)(void *)call->workspace;
    const int64_t size = (int64_t)sizeof(float);
    for (int64_t m = 0; m < product->rows; m++)
        element_copy(sizeof(float), (char *)(to + m * product->depth), size, (const char *)(a + m * product->a_row),
                     product->a_column * size, product->depth);
    return to;
}

void VEC(vec_matvec)(const kernel_call_t *call) {
    product_t product;
    product_of(call->step, &product);
    int64_t units = (product.columns + MATVEC_GRAIN - 1) / MATVEC_GRAIN, begin, end;
    bool dots = product.b_row == 1 || product.depth <= 1, apart = product.a_column != 1 && product.depth > 1;
    call_share(call, product.batches * units, 1, &begin, &end);
    while (begin < end) {
        int64_t batch = begin / units, first = begin % units, last = end - batch * units;
        if (last > units) last = units;
        int64_t stop = last * MATVEC_GRAIN < product.columns ? last * MATVEC_GRAIN : product.columns;
        product_data_t data = product_at(call, &product, batch);
        struct product gathered = product;
        if (apart) {
            data.a = gather_left(call, &product, data.a);
            gathered.a_row = product.depth;
        }
        (dots ? matvec_dots : matvec_rows)(&gathered, data, first * MATVEC_GRAIN, stop);
        begin += last - first;
    }
}

#endif
