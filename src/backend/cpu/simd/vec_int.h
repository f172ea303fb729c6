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

#endif
