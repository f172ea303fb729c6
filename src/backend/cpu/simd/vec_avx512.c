/* The vector kernels for AVX-512. */
#define VEC_SUFFIX avx512
#define VEC_WIDTH 16
#include "backend/cpu/simd/vec_attention_tmpl.h"
#include "backend/cpu/simd/vec_elementwise_tmpl.h"
#include "backend/cpu/simd/vec_gemm_tmpl.h"
#include "backend/cpu/simd/vec_product_tmpl.h"
#include "backend/cpu/simd/vec_rows_tmpl.h"
