/* Vectors of f32 for one ISA. Included by vec_base.c, vec_avx2.c and vec_avx512.c, which define VEC_SUFFIX and VEC_WIDTH
 * and are compiled with that ISA's flags. Arithmetic is the compiler's vector extension; here is what it lacks.
 *
 * A part of a vector (a tail) goes through the same operations as a whole one, its other lanes zero, so that an
 * element's bits do not depend on where in a run it lies. */
#ifndef VEC_H
#define VEC_H

#include "backend/cpu/cpu_int.h"

#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define VEC_JOIN_(name, suffix) name##_##suffix
#define VEC_JOIN(name, suffix) VEC_JOIN_(name, suffix)
#define VEC(name) VEC_JOIN(name, VEC_SUFFIX)

typedef float vf __attribute__((vector_size(VEC_WIDTH * 4)));
typedef int32_t vi __attribute__((vector_size(VEC_WIDTH * 4)));

/* Minus zero keeps its sign when zero is subtracted, not when it is added. */
static inline vf vec_set(float value) { return value - (vf){0}; }

static inline vf vec_load(const float *from) {
    vf value;
    memcpy(&value, from, sizeof(value));
    return value;
}
static inline void vec_store(float *to, vf value) { memcpy(to, &value, sizeof(value)); }

/* The first count < VEC_WIDTH lanes; the others are zero. */
static inline vf vec_load_part(const float *from, int64_t count) {
#if VEC_WIDTH == 16
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1U << count) - 1), from);
#else
    vf value = {0};
    memcpy(&value, from, (size_t)count * sizeof(float));
    return value;
#endif
}
static inline void vec_store_part(float *to, vf value, int64_t count) {
    memcpy(to, &value, (size_t)count * sizeof(float));
}

/* a * b + c in one rounding, where the ISA has it. */
static inline vf vec_fma(vf a, vf b, vf c) {
#if VEC_WIDTH == 16
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VEC_WIDTH == 8
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

static inline vf vec_sqrt(vf a) {
#if VEC_WIDTH == 16
    return (vf)_mm512_sqrt_ps((__m512)a);
#elif VEC_WIDTH == 8
    return (vf)_mm256_sqrt_ps((__m256)a);
#elif defined(__x86_64__)
    return (vf)_mm_sqrt_ps((__m128)a);
#elif defined(__aarch64__)
    return (vf)vsqrtq_f32((float32x4_t)a);
#else
    for (int32_t i = 0; i < VEC_WIDTH; i++) a[i] = sqrtf(a[i]);
    return a;
#endif
}

/* Lanes of mask are all ones or zero, as comparisons give them. */
static inline vf vec_select(vi mask, vf yes, vf no) { return (vf)(((vi)yes & mask) | ((vi)no & ~mask)); }
/* NaN in b wins; NaN in a loses. */
static inline vf vec_larger(vf a, vf b) { return vec_select(a > b, a, b); }

/* Sums and maxima across a vector: halves are folded, a fixed order for each width. */
static inline float vec_sum(vf a) {
    float lanes[VEC_WIDTH];
    vec_store(lanes, a);
    for (int32_t half = VEC_WIDTH / 2; half > 0; half /= 2)
        for (int32_t i = 0; i < half; i++) lanes[i] += lanes[i + half];
    return lanes[0];
}
static inline float vec_largest(vf a) {
    float largest = a[0];
    for (int32_t i = 1; i < VEC_WIDTH; i++)
        if (a[i] > largest) largest = a[i];
    return largest;
}

/* e^x to about one unit in the last place: x = n ln 2 + r, a polynomial of degree 7 in r, and 2^n in two factors so that
 * results beyond the normal range come out as infinity, subnormal or zero. */
static inline vf vec_exp(vf x) {
    x = vec_select(x > 89, vec_set(89), x);
    x = vec_select(x < -105, vec_set(-105), x);
    const float magic = 12582912; /* 1.5 * 2^23: adding it rounds to a whole number */
    vf n = (x * 1.44269504F + magic) - magic;
    vf r = vec_fma(n, vec_set(-0.693359375F), x);
    r = vec_fma(n, vec_set(2.12194440e-4F), r);
    vf p = vec_set(1.0F / 5040);
    p = vec_fma(p, r, vec_set(1.0F / 720));
    p = vec_fma(p, r, vec_set(1.0F / 120));
    p = vec_fma(p, r, vec_set(1.0F / 24));
    p = vec_fma(p, r, vec_set(1.0F / 6));
    p = vec_fma(p, r, vec_set(0.5F));
    p = vec_fma(p, r * r, r) + 1;
    vi whole = __builtin_convertvector(n, vi);
    whole = (vi)vec_select(x == x, (vf)whole, (vf){0}); /* NaN: any scale does */
    vi first = whole >> 1, second = whole - first;
    return p * (vf)((first + 127) << 23) * (vf)((second + 127) << 23);
}

/* tanh: an odd polynomial near zero, 1 - 2 / (e^2|x| + 1) elsewhere. */
static inline vf vec_tanh(vf x) {
    vf size = (vf)((vi)x & 0x7fffffff), square = x * x;
    vf p = vec_set(-0.005590251F);
    p = vec_fma(p, square, vec_set(0.020537706F));
    p = vec_fma(p, square, vec_set(-0.053709097F));
    p = vec_fma(p, square, vec_set(0.13331081F));
    p = vec_fma(p, square, vec_set(-0.3333327F));
    vf small = vec_fma(p * square, size, size);
    vf large = 1 - 2 / (vec_exp(size + size) + 1);
    return (vf)((vi)vec_select(size < 0.625F, small, large) | ((vi)x & INT32_MIN));
}

#endif
