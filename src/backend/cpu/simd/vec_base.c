/* The vector kernels for any processor: vectors of four. */
#define VEC_SUFFIX base
#define VEC_WIDTH 4
#include "backend/cpu/simd/vec_attention_tmpl.h"
#include "backend/cpu/simd/vec_elementwise_tmpl.h"
#include "backend/cpu/simd/vec_gemm_tmpl.h"
#include "backend/cpu/simd/vec_product_tmpl.h"
#include "backend/cpu/simd/vec_rows_tmpl.h"
