/* The vector kernels for AVX2 and FMA. */
#define VEC_SUFFIX avx2
#define VEC_WIDTH 8
#include "backend/cpu/simd/vec_attention_tmpl.h"
#include "backend/cpu/simd/vec_elementwise_tmpl.h"
#include "backend/cpu/simd/vec_gemm_tmpl.h"
#include "backend/cpu/simd/vec_product_tmpl.h"
#include "backend/cpu/simd/vec_rows_tmpl.h"
