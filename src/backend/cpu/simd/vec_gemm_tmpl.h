/* Matrix products of any strides: blocks of both sides are packed into panels that the inner kernel reads in order.
 *
 *   packed a: panels of PANEL_ROWS rows,    [panel][k][row]       packed b: panels of two vectors, [panel][k][column]
 *
 * A thread takes whole blocks of the result; each is summed over K in one order. */
#ifndef VEC_GEMM_TMPL_H
#define VEC_GEMM_TMPL_H

#include "backend/cpu/simd/vec.h"
#include "backend/cpu/simd/vec_int.h"

enum { PANEL_ROWS = VEC_WIDTH == 16 ? 8 : 6, PANEL_COLUMNS = 2 * VEC_WIDTH };
_Static_assert(GEMM_ROWS % PANEL_ROWS == 0 && GEMM_COLUMNS % PANEL_COLUMNS == 0, "blocks are whole panels");

typedef struct matrix { /* of one batch */
    const float *data;
    int64_t row, column; /* strides */
} matrix_t;

/* lines x depth elements into panels of `panel` lines, the last one filled up with zeros. */
static void pack(const float *from, int64_t line_stride, int64_t depth_stride, int64_t lines, int64_t depth,
                 int64_t panel, float *to) {
    for (int64_t first = 0; first < lines; first += panel, to += panel * depth) {
        int64_t count = lines - first < panel ? lines - first : panel;
        const float *source = from + first * line_stride;
        for (int64_t k = 0; k < depth; k++, source += depth_stride) {
            float *target = to + k * panel;
            int64_t i = 0;
            if (line_stride == 1)
                for (; i < count; i++) target[i] = source[i];
            for (; i < count; i++) target[i] = source[i * line_stride];
            for (; i < panel; i++) target[i] = 0;
        }
    }
}

/* to (PANEL_ROWS x PANEL_COLUMNS, row stride GEMM_COLUMNS) += a panel times a panel. */
static void panel_product(const float *a, const float *b, int64_t depth, float *to) {
    vf sums[PANEL_ROWS][2];
    for (int32_t r = 0; r < PANEL_ROWS; r++) {
        sums[r][0] = vec_load(to + r * GEMM_COLUMNS);
        sums[r][1] = vec_load(to + r * GEMM_COLUMNS + VEC_WIDTH);
    }
    for (int64_t k = 0; k < depth; k++, a += PANEL_ROWS, b += PANEL_COLUMNS) {
        vf b0 = vec_load(b), b1 = vec_load(b + VEC_WIDTH);
        for (int32_t r = 0; r < PANEL_ROWS; r++) {
            vf scale = vec_set(a[r]);
            sums[r][0] = vec_fma(scale, b0, sums[r][0]);
            sums[r][1] = vec_fma(scale, b1, sums[r][1]);
        }
    }
    for (int32_t r = 0; r < PANEL_ROWS; r++) {
        vec_store(to + r * GEMM_COLUMNS, sums[r][0]);
        vec_store(to + r * GEMM_COLUMNS + VEC_WIDTH, sums[r][1]);
    }
}

typedef struct gemm_block {
    int64_t rows, columns, depth;
    float *packed_a, *packed_b, *sums;
} gemm_block_t;

static void block_product(const gemm_block_t *block, matrix_t a, matrix_t b) {
    memset(block->sums, 0, sizeof(float) * GEMM_ROWS * GEMM_COLUMNS);
    for (int64_t k = 0; k < block->depth; k += GEMM_DEPTH) {
        int64_t depth = block->depth - k < GEMM_DEPTH ? block->depth - k : GEMM_DEPTH;
        pack(a.data + k * a.column, a.row, a.column, block->rows, depth, PANEL_ROWS, block->packed_a);
        pack(b.data + k * b.row, b.column, b.row, block->columns, depth, PANEL_COLUMNS, block->packed_b);
        for (int64_t n = 0; n < block->columns; n += PANEL_COLUMNS)
            for (int64_t m = 0; m < block->rows; m += PANEL_ROWS)
                panel_product(block->packed_a + m * depth, block->packed_b + n * depth, depth,
                              block->sums + m * GEMM_COLUMNS + n);
    }
}

static void store_block(const gemm_block_t *block, const product_t *product, product_data_t data, int64_t row,
                        int64_t column) {
    float *to = data.r + row * product->r_row + column * product->r_column;
    for (int64_t x = 0; x < block->rows; x++) {
        for (int64_t y = 0; y < block->columns; y++) {
            float value = block->sums[x * GEMM_COLUMNS + y];
            if (data.bias) value += data.bias[(column + y) * product->bias_column];
            to[x * product->r_row + y * product->r_column] = value;
        }
    }
}

void VEC(vec_gemm)(const kernel_call_t *call) {
    product_t product;
    product_of(call->step, &product);
    int64_t row_blocks = (product.rows + GEMM_ROWS - 1) / GEMM_ROWS, begin, end;
    int64_t column_blocks = (product.columns + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
    gemm_block_t block = {.depth = product.depth, .packed_a = (float *)(void *)call->workspace};
    block.packed_b = block.packed_a + GEMM_ROWS * GEMM_DEPTH;
    block.sums = block.packed_b + GEMM_COLUMNS * GEMM_DEPTH;
    call_share(call, product.batches * row_blocks * column_blocks, 1, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i % row_blocks * GEMM_ROWS, column = i / row_blocks % column_blocks * GEMM_COLUMNS;
        product_data_t data = product_at(call, &product, i / row_blocks / column_blocks);
        block.rows = product.rows - row < GEMM_ROWS ? product.rows - row : GEMM_ROWS;
        block.columns = product.columns - column < GEMM_COLUMNS ? product.columns - column : GEMM_COLUMNS;
        matrix_t left = {data.a + row * product.a_row, product.a_row, product.a_column};
        matrix_t right = {data.b + column * product.b_column, product.b_row, product.b_column};
        block_product(&block, left, right);
        store_block(&block, &product, data, row, column);
    }
}

#endif
