/* Sizes that the vector kernels' can_run and workspace functions share with the kernels. */
#ifndef VEC_INT_H
#define VEC_INT_H

#include "backend/cpu/cpu_int.h"

enum {
    MATVEC_ROWS = 16,     /* rows of the left side that the matrix-vector kernel takes */
    MATVEC_GRAIN = 16,    /* columns that one thread takes at a time */
    ATTENTION_BLOCK = 64, /* keys whose scores are held at once */
    GEMM_DEPTH = 256,     /* packed panels: GEMM_DEPTH x GEMM_ROWS and GEMM_DEPTH x GEMM_COLUMNS */
    GEMM_ROWS = 96,
    GEMM_COLUMNS = 128
};

/* ---- rows that lie apart (vec_layout.c): the last dims dimensions of an operand, of f32 ---- */
bool row_is_dense(const bound_operand_t *operand, uint32_t dims);
const float *row_gather(const bound_operand_t *operand, uint32_t dims, const char *data, float *buffer); /* buffer */
void row_scatter(const bound_operand_t *operand, uint32_t dims, char *data, const float *buffer);
/* Bytes of a row for the result and for each operand whose rows lie apart. */
size_t row_buffers(const bound_step_t *step, uint32_t dims);

#endif
