/* Matrix products of any strides: blocks of both sides are packed into panels that the inner kernel reads in order.
 *
 *   packed a: panels of PANEL_ROWS rows,    [panel][k][row]       packed b: panels of two vectors, [panel][k][column]
 *
 * A thread takes whole blocks of the result; each is summed over K in one order. */
#include "backend/cpu/simd/vec_int.h"
#include "backend/cpu/simd/vec.h"

enum { PANEL_ROWS = VEC_WIDTH == 16 ? 8 : 6, PANEL_COLUMNS = 2 * VEC_WIDTH };
_Static_assert(GEMM_ROWS % PANEL_ROWS == 0 && GEMM_COLUMNS % PANEL_COLUMNS == 0, "blocks are whole panels");

typedef struct matrix { /* of one batch */
    const float *data;
    int64_t row, column; /* strides */
} matrix;

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
} gemm_block;

static void block_product(const gemm_block *block, matrix a, matrix b) {
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

void VEC(vec_gemm)(const kernel_call *call) {
    const bound_step *step = call->step;
    const bound_operand *a = &step->operands[0], *b = &step->operands[1], *r = &step->results[0];
    const bound_operand *bias = step->operand_count == 3 ? &step->operands[2] : NULL;
    uint32_t m = r->rank - 2, n = r->rank - 1;
    int64_t row_blocks = (r->sizes[m] + GEMM_ROWS - 1) / GEMM_ROWS, batches = 1, begin, end;
    int64_t column_blocks = (r->sizes[n] + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
    for (uint32_t i = 0; i < m; i++) batches *= r->sizes[i];
    gemm_block block = {.depth = a->sizes[n], .packed_a = (float *)(void *)call->workspace};
    block.packed_b = block.packed_a + GEMM_ROWS * GEMM_DEPTH;
    block.sums = block.packed_b + GEMM_COLUMNS * GEMM_DEPTH;
    call_share(call, batches * row_blocks * column_blocks, 1, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i % row_blocks * GEMM_ROWS, column = i / row_blocks % column_blocks * GEMM_COLUMNS;
        matrix left = {(const float *)(const void *)operand_data(call, a) + row * a->strides[m], a->strides[m],
                       a->strides[n]};
        matrix right = {(const float *)(const void *)operand_data(call, b) + column * b->strides[n], b->strides[m],
                        b->strides[n]};
        float *to = (float *)(void *)operand_data(call, r) + row * r->strides[m] + column * r->strides[n];
        int64_t rest = i / row_blocks / column_blocks;
        for (uint32_t k = m; k-- > 0; rest /= r->sizes[k]) {
            int64_t at = rest % r->sizes[k];
            left.data += at * a->strides[k];
            right.data += at * b->strides[k];
            to += at * r->strides[k];
        }
        block.rows = r->sizes[m] - row < GEMM_ROWS ? r->sizes[m] - row : GEMM_ROWS;
        block.columns = r->sizes[n] - column < GEMM_COLUMNS ? r->sizes[n] - column : GEMM_COLUMNS;
        block_product(&block, left, right);
        for (int64_t x = 0; x < block.rows; x++) {
            for (int64_t y = 0; y < block.columns; y++) {
                float value = block.sums[x * GEMM_COLUMNS + y];
                if (bias)
                    value += ((const float *)(const void *)operand_data(call, bias))[(column + y) * bias->strides[0]];
                to[x * r->strides[m] + y * r->strides[n]] = value;
            }
        }
    }
}
