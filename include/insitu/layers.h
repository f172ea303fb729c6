/* The layers of a network: one function a kind of layer, insitu_network_add_KIND. Needs libinsitu.
 *
 * Each function adds a layer and gives out its result; a kind with two results gives out two. Operands are tensors of the
 * same network; an operand that may be left out is passed as insitu_no_value(). Nothing is broadcast or converted on the
 * way: expand and cast are layers. Dimensions count from 0, and are never negative. x (A,B) below says that x has two
 * dimensions of sizes A and B; r is the result. "Floats" are f16, bf16, f32, f64 and, where it is said, complex numbers;
 * but no kernel computes with those yet, nor with floats of 8 bits, so that a network that does is refused when it is
 * compiled. They are moved, indexed, updated, and seen as other dtypes; floats of 8 bits are cast, too.
 *
 * What each can fail with, beside what it says itself: ARG (a value that is none of the network's, a dtype that the layer
 * does not take, two dtypes where one is needed, an attribute out of its range, an op that is not there), SHAPE (a rank or
 * sizes that do not fit, a result of over 2^56 bytes, where a size 0 counts as 1), UNSUPPORTED (more than INSITU_MAX_RANK
 * dimensions, sizes whose expressions grow too long), NOMEM. The sentence names the kind of layer and its operands' types. A
 * call that fails changes nothing.
 *
 * A value, and a number that is an expression, is a place in its network, and does not say which network that is. One that
 * another network gave out is refused where this one has nothing at that place, else it is what this one has there: a
 * caller with several networks keeps them apart.
 *
 * Sizes that depend on symbols and are not known to fit are checked when the network runs, before anything is written: where
 * they do not, the call fails with ASSERT, and where a slice's start or end lies outside with BOUNDS.
 */
#ifndef INSITU_LAYERS_H
#define INSITU_LAYERS_H

#include <insitu/status.h>
#include <insitu/tensor.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct insitu_network insitu_network;

/* A tensor of a network. {0} is none. */
typedef struct insitu_value {
    uint32_t id;
} insitu_value;

typedef enum insitu_number_kind {
    INSITU_NUMBER_INT = 0,
    INSITU_NUMBER_FLOAT = 1,
    INSITU_NUMBER_BOOL = 2,
    INSITU_NUMBER_EXPRESSION = 3 /* of the network that gave it out */
} insitu_number_kind;
/* A number: a size, a position, a scalar. Made by the functions below, or given out by a network. */
typedef struct insitu_number {
    insitu_number_kind kind;
    union {
        int64_t integer; /* INT, BOOL; EXPRESSION: its id */
        double real;     /* FLOAT */
    } of;
} insitu_number;

static inline insitu_number insitu_int(int64_t value) {
    insitu_number number;
    number.kind = INSITU_NUMBER_INT;
    number.of.integer = value;
    return number;
}
static inline insitu_number insitu_float(double value) {
    insitu_number number;
    number.kind = INSITU_NUMBER_FLOAT;
    number.of.real = value;
    return number;
}
static inline insitu_number insitu_bool(bool value) {
    insitu_number number;
    number.kind = INSITU_NUMBER_BOOL;
    number.of.integer = value ? 1 : 0;
    return number;
}
static inline insitu_value insitu_no_value(void) {
    insitu_value value;
    value.id = 0;
    return value;
}

/* ---- sources ---- */

/* r (sizes), every element = value. Errors: ARG (a float value for a dtype of integers). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_fill(insitu_network *network, insitu_dtype dtype,
                                                                   int32_t ndim, const insitu_number *sizes,
                                                                   insitu_number value, insitu_value *out_value,
                                                                   insitu_diag *diag);
/* r (size), r[i] = start + i*step, of an integer or float dtype. Errors: ARG (the last of integers is known to be beyond 64
 * bits). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_iota(insitu_network *network, insitu_dtype dtype,
                                                                   insitu_number size, insitu_number start,
                                                                   insitu_number step, insitu_value *out_value,
                                                                   insitu_diag *diag);
/* r (sizes), whose elements are undefined until an update writes them. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_empty(insitu_network *network, insitu_dtype dtype,
                                                                    int32_t ndim, const insitu_number *sizes,
                                                                    insitu_value *out_value, insitu_diag *diag);

/* ---- views: the same elements, seen otherwise; no bytes move ---- */

/* r (sizes), the same elements in row-major order. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_reshape(insitu_network *network, insitu_value x,
                                                                      int32_t ndim, const insitu_number *sizes,
                                                                      insitu_value *out_value, insitu_diag *diag);
/* r's dimension i is x's dimension axes[i]; axes holds each of x's `count` dimensions once. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_permute(insitu_network *network, insitu_value x,
                                                                      int32_t count, const int32_t *axes,
                                                                      insitu_value *out_value, insitu_diag *diag);
/* x[start:end:step] along dim; 0 <= start <= end <= size and step >= 1: nothing is clamped. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_slice(insitu_network *network, insitu_value x,
                                                                    int32_t dim, insitu_number start, insitu_number end,
                                                                    int64_t step, insitu_value *out_value,
                                                                    insitu_diag *diag);
/* r (sizes), of x's rank: dimensions of size 1 repeat, the others keep their size. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_expand(insitu_network *network, insitu_value x,
                                                                     int32_t ndim, const insitu_number *sizes,
                                                                     insitu_value *out_value, insitu_diag *diag);
/* The diagonal of dimensions dim1 and dim2, as r's last dimension; offset > 0: above the main one. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_diagonal(insitu_network *network, insitu_value x,
                                                                       int64_t offset, int32_t dim1, int32_t dim2,
                                                                       insitu_value *out_value, insitu_diag *diag);
/* Windows of size elements along dim, step apart: r has x's sizes, the number of windows in dim, and a last dimension more
 * that goes through a window. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_unfold(insitu_network *network, insitu_value x,
                                                                     int32_t dim, int64_t size, int64_t step,
                                                                     insitu_value *out_value, insitu_diag *diag);
/* x (N): r (sizes), r[i...] = x[offset + sum of i * strides]; strides >= 0, and all lies in x. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_as_strided(insitu_network *network, insitu_value x,
                                                                         int32_t ndim, const insitu_number *sizes,
                                                                         const insitu_number *strides,
                                                                         insitu_number offset, insitu_value *out_value,
                                                                         insitu_diag *diag);
/* The bytes as elements of another dtype; where its size differs, the last dimension grows or shrinks. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_bitcast(insitu_network *network, insitu_value x,
                                                                      insitu_dtype dtype, insitu_value *out_value,
                                                                      insitu_diag *diag);

/* ---- elementwise: operands of one dtype and of r's sizes ---- */

/* op: abs neg sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh
 * acosh atanh erf erfc ceil floor round (half to even) trunc frac sigmoid relu silu gelu gelu_tanh softplus mish hardswish
 * hardsigmoid; logical_not isnan isinf isfinite (r is bool); bitwise_not (integers and bool). abs neg sign ceil floor round
 * trunc relu take integers too, the others floats and complex numbers. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_unary(insitu_network *network, const char *op,
                                                                    insitu_value x, insitu_value *out_value,
                                                                    insitu_diag *diag);
/* op: add sub mul div (floats) div_floor div_trunc remainder (the divisor's sign) fmod (the dividend's) pow maximum minimum
 * (NaN wins) fmax fmin (NaN loses) atan2 (floats); bitwise_and bitwise_or bitwise_xor shift_left shift_right (integers); eq
 * ne lt le gt ge, and of bool logical_and logical_or logical_xor (r is bool). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_binary(insitu_network *network, const char *op,
                                                                     insitu_value a, insitu_value b,
                                                                     insitu_value *out_value, insitu_diag *diag);
/* The same of x and a number, which is the first operand if scalar_first. Errors: ARG (a float for a dtype of integers). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_binary_scalar(insitu_network *network, const char *op,
                                                                            insitu_value x, insitu_number scalar,
                                                                            bool scalar_first, insitu_value *out_value,
                                                                            insitu_diag *diag);
/* r = a + scale*b, rounded once. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_scaled_sum(insitu_network *network, insitu_value a,
                                                                         insitu_value b, insitu_number scale,
                                                                         insitu_value *out_value, insitu_diag *diag);
/* r = condition (bool) ? a : b */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_where(insitu_network *network, insitu_value condition,
                                                                    insitu_value a, insitu_value b,
                                                                    insitu_value *out_value, insitu_diag *diag);
/* x converted to another dtype, as PyTorch's to(dtype). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_cast(insitu_network *network, insitu_value x,
                                                                   insitu_dtype dtype, insitu_value *out_value,
                                                                   insitu_diag *diag);
/* x's value in memory of its own. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_copy(insitu_network *network, insitu_value x,
                                                                   insitu_value *out_value, insitu_diag *diag);

/* ---- reductions and rows ---- */

/* Over `count` axes, which r keeps with size 1 if keepdim, and loses else. op: sum prod (no bool), mean var (floats; var
 * divides by n - correction, which the other ops ignore), amax amin (NaN wins; no empty axis), any all (r is bool), argmax
 * argmin (one axis; r is i64, the first of equals). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_reduce(insitu_network *network, const char *op,
                                                                     insitu_value x, int32_t count, const int32_t *axes,
                                                                     bool keepdim, double correction,
                                                                     insitu_value *out_value, insitu_diag *diag);
/* op amax or amin over one axis: the values, and where they are (i64). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_reduce_index(insitu_network *network, const char *op,
                                                                           insitu_value x, int32_t dim, bool keepdim,
                                                                           insitu_value *out_values,
                                                                           insitu_value *out_indices,
                                                                           insitu_diag *diag);
/* op cumsum or cumprod along dim; no bool. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_scan(insitu_network *network, const char *op,
                                                                   insitu_value x, int32_t dim, insitu_value *out_value,
                                                                   insitu_diag *diag);
/* Softmax along dim, or its logarithm; floats. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_softmax(insitu_network *network, insitu_value x,
                                                                      int32_t dim, bool log, insitu_value *out_value,
                                                                      insitu_diag *diag);
/* Over the last `count` dimensions; weight and bias, of those dimensions' sizes, may be left out, weight only with bias. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_layer_norm(insitu_network *network, insitu_value x,
                                                                         insitu_value weight, insitu_value bias,
                                                                         int32_t count, double eps,
                                                                         insitu_value *out_value, insitu_diag *diag);
/* x * rsqrt(mean(x*x) + eps) over the last `count` dimensions, times weight, which may be left out. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_rms_norm(insitu_network *network, insitu_value x,
                                                                       insitu_value weight, int32_t count, double eps,
                                                                       insitu_value *out_value, insitu_diag *diag);
/* Along dim, stable: the values, and where they were (i64). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_sort(insitu_network *network, insitu_value x, int32_t dim,
                                                                   bool descending, insitu_value *out_values,
                                                                   insitu_value *out_indices, insitu_diag *diag);
/* The first `count` of sort. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_topk(insitu_network *network, insitu_value x,
                                                                   insitu_number count, int32_t dim, bool descending,
                                                                   insitu_value *out_values, insitu_value *out_indices,
                                                                   insitu_diag *diag);

/* ---- products ---- */

/* a (B...,M,K), b (B...,K,N), bias (N) or none: r (B...,M,N). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_matmul(insitu_network *network, insitu_value a,
                                                                     insitu_value b, insitu_value bias,
                                                                     insitu_value *out_value, insitu_diag *diag);

/* How a window moves. Zero-initialise, set struct_size, then what differs. The arrays have one number for each dimension of
 * x but its first two, and are read during the call alone. */
typedef struct insitu_window {
    size_t struct_size;
    const int64_t *kernel;         /* pool: the window's sizes; must be given there, and NULL in conv */
    const int64_t *stride;         /* NULL: 1 in conv, the kernel in pool */
    const int64_t *padding;        /* NULL: 0 */
    const int64_t *dilation;       /* NULL: 1 */
    const int64_t *output_padding; /* conv, transposed; NULL: 0 */
    int64_t groups;                /* conv; 0: 1 */
    bool transposed;               /* conv */
    bool ceil_mode;                /* pool: a last window may hang over the end */
    bool count_pad;                /* pool avg: padding counts as elements */
    int64_t divisor;               /* pool avg: what the sum is divided by; 0: the number of elements */
} insitu_window;
/* x (N,C,spatial...), weight (O,C/groups,kernel...), bias (O) or none: r (N,O,spatial...). transposed: weight
 * (C,O/groups,kernel...). window NULL means defaults. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_conv(insitu_network *network, insitu_value x,
                                                                   insitu_value weight, insitu_value bias,
                                                                   const insitu_window *window, insitu_value *out_value,
                                                                   insitu_diag *diag);
/* op max or avg; x (N,C,spatial...). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_pool(insitu_network *network, const char *op,
                                                                   insitu_value x, const insitu_window *window,
                                                                   insitu_value *out_value, insitu_diag *diag);
/* q (B,H,T,D), k (B,G,S,D), v (B,G,S,E): r (B,H,T,E) = softmax(scale q k^T + mask) v, where G divides H. mask (B,H,T,S) of
 * bool (false: not seen) or of q's dtype, or none. causal: row t sees columns up to t. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_attention(insitu_network *network, insitu_value q,
                                                                        insitu_value k, insitu_value v,
                                                                        insitu_value mask, double scale, bool causal,
                                                                        insitu_value *out_value, insitu_diag *diag);

/* ---- assembly and movement ---- */

/* `count` tensors one after the other along dim; their other sizes are equal. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_concat(insitu_network *network, int32_t count,
                                                                     const insitu_value *parts, int32_t dim,
                                                                     insitu_value *out_value, insitu_diag *diag);
/* before[i] and after[i] elements are added to dimension i of `count`. op: constant (value), reflect, replicate, circular
 * (value is ignored). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_pad(insitu_network *network, const char *op,
                                                                  insitu_value x, int32_t count,
                                                                  const insitu_number *before,
                                                                  const insitu_number *after, insitu_number value,
                                                                  insitu_value *out_value, insitu_diag *diag);
/* x with the order of `count` dimensions reversed. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_flip(insitu_network *network, insitu_value x,
                                                                   int32_t count, const int32_t *dims,
                                                                   insitu_value *out_value, insitu_diag *diag);
/* op lower or upper: the other triangle of the last two dimensions is 0; offset as in diagonal. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_triangle(insitu_network *network, const char *op,
                                                                       insitu_value x, int64_t offset,
                                                                       insitu_value *out_value, insitu_diag *diag);

/* ---- indexing: index tensors are of i64 or i32. An index outside its extent makes the call fail with BOUNDS, before
 * anything is written; with wrap, -1 is the last. ---- */

/* x[indices]: one index tensor for each of the `count` dimensions of dims, which ascend; the index tensors have equal sizes,
 * which stand in r where dims were if those are neighbours, else first. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_index(insitu_network *network, insitu_value x,
                                                                    int32_t count, const int32_t *dims,
                                                                    const insitu_value *indices, bool wrap,
                                                                    insitu_value *out_value, insitu_diag *diag);
/* r has index's sizes: r[i,j] = x[index[i,j],j] for dim 0. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_gather(insitu_network *network, insitu_value x,
                                                                     insitu_value index, int32_t dim,
                                                                     insitu_value *out_value, insitu_diag *diag);

/* ---- updates: r is x with some elements replaced. Where x is a state, a written input or a value that is needed no more,
 * only those elements are written. src has x's dtype. ---- */

/* r[start:end:step] = src along dim; src has exactly the slice's sizes. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_slice_update(insitu_network *network, insitu_value x,
                                                                           insitu_value src, int32_t dim,
                                                                           insitu_number start, insitu_number end,
                                                                           int64_t step, insitu_value *out_value,
                                                                           insitu_diag *diag);
/* The diagonal of r is src, which has diagonal's sizes. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_diagonal_update(insitu_network *network, insitu_value x,
                                                                              insitu_value src, int64_t offset,
                                                                              int32_t dim1, int32_t dim2,
                                                                              insitu_value *out_value,
                                                                              insitu_diag *diag);
/* x (N): as_strided of r is src, which has `ndim` sizes. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_as_strided_update(
    insitu_network *network, insitu_value x, insitu_value src, int32_t ndim, const insitu_number *sizes,
    const insitu_number *strides, insitu_number offset, insitu_value *out_value, insitu_diag *diag);
/* r[indices] = src, or += if accumulate; src has index's sizes. Of equal indices the last one wins. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_index_update(
    insitu_network *network, insitu_value x, insitu_value src, int32_t count, const int32_t *dims,
    const insitu_value *indices, bool accumulate, bool wrap, insitu_value *out_value, insitu_diag *diag);
/* r[index[i,j],j] = src[i,j] for dim 0, as torch.scatter; op: assign, add, mul, amax, amin. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_scatter_update(insitu_network *network, const char *op,
                                                                             insitu_value x, insitu_value src,
                                                                             insitu_value index, int32_t dim,
                                                                             insitu_value *out_value,
                                                                             insitu_diag *diag);
/* The last elements of concat(x, src) along dim, as many as x has; front: the first ones of concat(src, x). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_shift_update(insitu_network *network, insitu_value x,
                                                                           insitu_value src, int32_t dim, bool front,
                                                                           insitu_value *out_value, insitu_diag *diag);
/* r = mask (bool) ? src : x; all three have x's sizes. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_mask_update(insitu_network *network, insitu_value x,
                                                                          insitu_value src, insitu_value mask,
                                                                          insitu_value *out_value, insitu_diag *diag);

typedef enum insitu_cache_layout {
    INSITU_CACHE_BHSD = 0, /* cache (B,H,S_MAX,D), update (B,H,S,D) */
    INSITU_CACHE_BSHD = 1  /* cache (B,S_MAX,H,D), update (B,S,H,D) */
} insitu_cache_layout;
/* Rows of a key-value cache: r[i,:,write_indices[i]+t,:] = update[i,:,t,:] for every t < S (of layout BHSD). Any dtype, the
 * same for cache and update; write_indices (B) of i64 or i32, a position for each row of the batch. A position outside
 * [0, S_MAX) makes the call fail with BOUNDS, and nothing is written. Made of other layers, that end in an index_update; an
 * input of constant sizes written so is an alias of kind INSITU_ALIAS_KV_CACHE_UPDATE, one of open sizes of kind USER. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_kv_cache_update(
    insitu_network *network, insitu_value cache, insitu_value update, insitu_value write_indices,
    insitu_cache_layout layout, insitu_value *out_value, insitu_diag *diag);

/* ---- numbers out of tensors ---- */

/* The one element of x, an integer in [min, max] (max -1: without a limit), a float or a bool, as a symbol of that name
 * (insitu_network_add_symbol). A call in which it lies outside of the range fails. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_item(insitu_network *network, insitu_value x,
                                                                   const char *name, int64_t min, int64_t max,
                                                                   insitu_number *out_number, insitu_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
