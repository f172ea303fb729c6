/* Graph -> network: what the converters share. convert.c walks the graph and looks each operator up in graph/operators.def; a
 * converter reads the node's arguments (convert_args.c), adds layers (convert_emit.c) and sets the node's results. */
#ifndef CONVERT_INT_H
#define CONVERT_INT_H

#include "convert/convert.h"
#include "graph/graph.h"
#include "network/network_edit.h"

typedef struct counted_mask { /* whose true elements a symbol counts */
    tensor_id_t mask, places; /* NO_TENSOR: none yet */
} counted_mask_t;

typedef struct converter {
    const graph_t *graph;
    network_t *network;
    sym_pool_t *pool;        /* the network's; the graph's expressions have the same ids in it */
    tensor_id_t *tensors;    /* of each value of the graph; NO_TENSOR: none yet */
    counted_mask_t *counted; /* of each symbol of the graph */
    bool *read;              /* each symbol of the graph: an input or an item gives it */
    uint32_t symbol_count;   /* of the graph: rows of counted and read */
    uint32_t *inputs;        /* network input of each graph input; NONE */
    uint32_t *states;        /* network state of each graph input; NONE */
    const graph_node_t *node;
    int32_t param;             /* of the node's row of operators.def */
    struct refusals *refusals; /* of all graphs */
    bool strict_bounds;
    arena_t scratch;  /* emptied after each node */
    char reason[256]; /* of the last UNSUPPORTED; "" where the operator as such is */
    insitu_diag *diag;
} converter_t;
typedef insitu_status (*convert_fn)(converter_t *c);

/* Has the region filled by a converter of the subgraph (convert.c), whose expressions are those of the graph around it. */
typedef insitu_status (*region_fn)(converter_t *inner, void *user);
MUST_CHECK insitu_status convert_subgraph(converter_t *outer, const graph_t *graph, network_t *region, region_fn body,
                                          void *user);
MUST_CHECK insitu_status convert_nodes(converter_t *c);
/* Of the operators that have no schema, and so no row of operators.def (convert_region.c). */
MUST_CHECK insitu_status convert_cond(converter_t *c);
MUST_CHECK insitu_status convert_while(converter_t *c);

/* ---- errors ---- */
/* "aten.view.default (model.py:41): ..." */
insitu_status convert_fail(converter_t *c, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The operator is known, these arguments are not handled: the reason is listed with the operator. */
insitu_status convert_unsupported(converter_t *c, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- arguments, by the names of the operator's schema ---- */
/* Never NULL: an argument that is absent or that the operator lacks reads as None. */
const graph_arg_t *take_arg(const converter_t *c, const char *name);
bool has_arg(const converter_t *c, const char *name); /* given, and not None */
MUST_CHECK insitu_status take_tensor(converter_t *c, const char *name, tensor_id_t *out);
MUST_CHECK insitu_status take_optional_tensor(converter_t *c, const char *name, tensor_id_t *out); /* NO_TENSOR */
/* Items that are None are NO_TENSOR. The list is in scratch. */
MUST_CHECK insitu_status take_tensors(converter_t *c, const char *name, tensor_id_t **out, uint32_t *out_count);
MUST_CHECK insitu_status take_sym(converter_t *c, const char *name, sym_t *out);
MUST_CHECK insitu_status take_sym_or(converter_t *c, const char *name, sym_t fallback, sym_t *out);
MUST_CHECK insitu_status take_int(converter_t *c, const char *name, int64_t fallback, int64_t *out);
MUST_CHECK insitu_status take_float(converter_t *c, const char *name, double fallback, double *out);
/* A number that may be known when the program runs only. */
MUST_CHECK insitu_status take_real(converter_t *c, const char *name, double fallback, sym_t *out);
static inline sym_t negative_of(converter_t *c, sym_t number) { return sym_mul(c->pool, sym_int(c->pool, -1), number); }
static inline sym_t quotient_of(converter_t *c, sym_t a, sym_t b) {
    return sym_make(c->pool, SYM_TRUEDIV, (sym_t[]){a, b}, 2);
}
MUST_CHECK insitu_status take_flag(converter_t *c, const char *name, bool fallback, bool *out);
MUST_CHECK insitu_status take_dtype(converter_t *c, const char *name, dtype_t fallback, dtype_t *out);
/* A number stands for a list of one. None: no items. */
MUST_CHECK insitu_status take_syms(converter_t *c, const char *name, sym_t out[MAX_RANK], uint32_t *out_count);
MUST_CHECK insitu_status take_ints(converter_t *c, const char *name, int64_t out[MAX_RANK], uint32_t *out_count);
const char *take_string(const converter_t *c, const char *name); /* "" if none */
/* A dimension of a tensor of that rank, counted from the end if negative. A tensor without dimensions has dimension 0. */
MUST_CHECK insitu_status normal_dim(converter_t *c, int64_t dim, uint32_t rank, uint32_t *out);
MUST_CHECK insitu_status take_dim(converter_t *c, const char *name, int64_t fallback, uint32_t rank, uint32_t *out);
/* A set of dimensions as bits; none given: all. */
MUST_CHECK insitu_status take_dims(converter_t *c, const char *name, uint32_t rank, uint32_t *out_set);

/* A tensor or a Python number. */
typedef struct operand {
    bool is_number;
    tensor_id_t tensor;
    sym_t number;
    dtype_t dtype;
    operand_class_t class;
} operand_t;
MUST_CHECK insitu_status take_operand(converter_t *c, const char *name, operand_t *out);
operand_t operand_of_tensor(const converter_t *c, tensor_id_t tensor);
operand_t operand_of_number(const converter_t *c, sym_t number);
/* torch.result_type. */
MUST_CHECK insitu_status promote(converter_t *c, const operand_t *operands, uint32_t count, dtype_t *out);

/* ---- layers ---- */
static inline const network_tensor_t *tensor_of(const converter_t *c, tensor_id_t tensor) {
    return network_tensor_of(c->network, tensor);
}
static inline uint32_t rank_of(const converter_t *c, tensor_id_t tensor) { return tensor_of(c, tensor)->shape.rank; }
static inline sym_t size_of(const converter_t *c, tensor_id_t tensor, uint32_t dim) {
    return tensor_of(c, tensor)->shape.sizes[dim];
}
static inline dtype_t dtype_of(const converter_t *c, tensor_id_t tensor) { return tensor_of(c, tensor)->dtype; }
static inline bool is_int_constant(const converter_t *c, sym_t value, int64_t number) {
    int64_t constant;
    return sym_constant(c->pool, value, &constant) && constant == number;
}

/* Adds the layer, named after the node. Refused operands: UNSUPPORTED (dtypes), FORMAT (sizes). */
MUST_CHECK insitu_status emit(converter_t *c, const layer_draft_t *draft, const tensor_id_t *operands,
                              uint32_t operand_count, tensor_id_t *out_results);
MUST_CHECK insitu_status emit_on(converter_t *c, const layer_draft_t *draft, tensor_id_t x, tensor_id_t *out);
/* The layer that makes a tensor; NULL: an input or the like, or a result of a node that was refused. */
const layer_t *producer_of(const converter_t *c, tensor_id_t x);
/* These give x itself where nothing would change. */
MUST_CHECK insitu_status emit_cast(converter_t *c, tensor_id_t x, dtype_t type, tensor_id_t *out);
MUST_CHECK insitu_status emit_reshape(converter_t *c, tensor_id_t x, const shape_t *shape, tensor_id_t *out);
MUST_CHECK insitu_status emit_permute(converter_t *c, tensor_id_t x, const uint32_t *axes, tensor_id_t *out);
MUST_CHECK insitu_status emit_swap(converter_t *c, tensor_id_t x, uint32_t dim1, uint32_t dim2, tensor_id_t *out);
MUST_CHECK insitu_status emit_expand(converter_t *c, tensor_id_t x, const shape_t *shape,
                                     tensor_id_t *out); /* broadcasts */
MUST_CHECK insitu_status emit_slice(converter_t *c, tensor_id_t x, uint32_t dim, sym_t start, sym_t end, int64_t step,
                                    tensor_id_t *out);
/* x with that part of it replaced by source, of x's dtype and the part's sizes (convert_update.c). */
MUST_CHECK insitu_status emit_slice_update(converter_t *c, tensor_id_t x, tensor_id_t source, uint32_t dim, sym_t start,
                                           sym_t end, int64_t step, tensor_id_t *out);
MUST_CHECK insitu_status emit_unsqueeze(converter_t *c, tensor_id_t x, uint32_t dim, tensor_id_t *out);
MUST_CHECK insitu_status emit_squeeze(converter_t *c, tensor_id_t x, uint32_t dim, tensor_id_t *out); /* of size 1 */
/* At least one dimension. */
MUST_CHECK insitu_status emit_at_least_1d(converter_t *c, tensor_id_t x, tensor_id_t *out);
MUST_CHECK insitu_status emit_copy(converter_t *c, tensor_id_t x, tensor_id_t *out);
MUST_CHECK insitu_status emit_unary(converter_t *c, op_kind_t op, tensor_id_t x, tensor_id_t *out);
/* Both of one dtype; they are broadcast. */
MUST_CHECK insitu_status emit_binary(converter_t *c, op_kind_t op, tensor_id_t a, tensor_id_t b, tensor_id_t *out);
/* A number as arithmetic in the dtype takes it: True is 1. */
sym_t plain_number(converter_t *c, sym_t number, dtype_t type);
/* (sum over the axes of |x|^p)^(1/p); orders 0 and infinity: how many are not 0, the largest or the smallest */
MUST_CHECK insitu_status emit_norm_of(converter_t *c, tensor_id_t x, double order, uint32_t axes, bool keepdim,
                                      tensor_id_t *out);
MUST_CHECK insitu_status emit_scalar(converter_t *c, op_kind_t op, tensor_id_t x, sym_t number, bool first,
                                     tensor_id_t *out);
MUST_CHECK insitu_status emit_scalar_float(converter_t *c, op_kind_t op, tensor_id_t x, double number, bool first,
                                           tensor_id_t *out);
/* op on operands that are converted to the dtype, broadcast, and may be a number (not both). */
MUST_CHECK insitu_status emit_operation(converter_t *c, op_kind_t op, operand_t a, operand_t b, dtype_t type,
                                        tensor_id_t *out);
MUST_CHECK insitu_status emit_where(converter_t *c, tensor_id_t condition, tensor_id_t a, tensor_id_t b,
                                    tensor_id_t *out);
/* condition ? number : other */
MUST_CHECK insitu_status emit_number_where(converter_t *c, tensor_id_t condition, sym_t number, tensor_id_t other,
                                           tensor_id_t *out);
MUST_CHECK insitu_status emit_fill(converter_t *c, dtype_t type, const shape_t *shape, sym_t value, tensor_id_t *out);
/* A vector along one dimension of a tensor of that rank, the others of size 1. */
MUST_CHECK insitu_status emit_along(converter_t *c, tensor_id_t vector, uint32_t rank, uint32_t dim, tensor_id_t *out);
/* A number as a tensor of that shape: one element, expanded. */
MUST_CHECK insitu_status emit_number(converter_t *c, dtype_t type, const shape_t *shape, sym_t value, tensor_id_t *out);
MUST_CHECK insitu_status emit_bitcast(converter_t *c, tensor_id_t x, dtype_t type, tensor_id_t *out);
/* (..., n) of complex numbers as (..., n, 2) of floats, and back (convert_bits.c). */
MUST_CHECK insitu_status emit_to_real_pairs(converter_t *c, tensor_id_t x, tensor_id_t *out);
MUST_CHECK insitu_status emit_from_real_pairs(converter_t *c, tensor_id_t pairs, tensor_id_t *out);
dtype_t part_of(dtype_t type); /* of a complex dtype: that of its parts */
/* The real and the imaginary part, and back; two of one dtype, which are broadcast (convert_bits.c). */
MUST_CHECK insitu_status emit_to_parts(converter_t *c, tensor_id_t x, tensor_id_t out[2]);
MUST_CHECK insitu_status emit_from_parts(converter_t *c, const tensor_id_t parts[2], tensor_id_t *out);
/* The imaginary part negated; a real tensor itself. */
MUST_CHECK insitu_status emit_conjugate(converter_t *c, tensor_id_t x, tensor_id_t *out);
/* emit_fill and emit_cast where a dtype is complex (convert_bits.c); so the others (convert_complex.c). */
MUST_CHECK insitu_status emit_complex_fill(converter_t *c, dtype_t type, const shape_t *shape, sym_t value,
                                           tensor_id_t *out);
MUST_CHECK insitu_status emit_complex_cast(converter_t *c, tensor_id_t x, dtype_t type, tensor_id_t *out);
MUST_CHECK insitu_status emit_complex_unary(converter_t *c, op_kind_t op, tensor_id_t x, tensor_id_t *out);
MUST_CHECK insitu_status emit_complex_binary(converter_t *c, op_kind_t op, tensor_id_t a, tensor_id_t b,
                                             tensor_id_t *out);
MUST_CHECK insitu_status emit_complex_scalar(converter_t *c, op_kind_t op, tensor_id_t x, sym_t number, bool first,
                                             tensor_id_t *out);
MUST_CHECK insitu_status emit_complex_reduce(converter_t *c, op_kind_t op, tensor_id_t x, uint32_t axes, bool keepdim,
                                             tensor_id_t *out);
MUST_CHECK insitu_status emit_complex_matmul(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t bias,
                                             tensor_id_t *out);
/* A complex number of the program, of rank 0, in c128. */
MUST_CHECK insitu_status emit_complex_number(converter_t *c, double real, double imaginary, tensor_id_t *out);
/* sqrt(a^2 + b^2), which doesn't overflow (convert_distance.c) */
MUST_CHECK insitu_status emit_hypot(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out);
/* The operand as a tensor of that dtype, broadcast to the shape. */
MUST_CHECK insitu_status emit_operand(converter_t *c, operand_t operand, dtype_t type, const shape_t *shape,
                                      tensor_id_t *out);
MUST_CHECK insitu_status emit_iota(converter_t *c, dtype_t type, sym_t size, sym_t start, sym_t step, tensor_id_t *out);
MUST_CHECK insitu_status emit_concat(converter_t *c, const tensor_id_t *parts, uint32_t count, uint32_t dim,
                                     tensor_id_t *out);
MUST_CHECK insitu_status emit_reduce(converter_t *c, op_kind_t op, tensor_id_t x, uint32_t axes, bool keepdim,
                                     tensor_id_t *out);
/* By given statistics of channels, with the node's weight and bias; in the wide dtype. */
MUST_CHECK insitu_status emit_batch_norm(converter_t *c, tensor_id_t x, tensor_id_t mean, tensor_id_t variance,
                                         sym_t eps, tensor_id_t *out);
/* Results from first on, before end, that hold nothing, in the dtypes that the program has for them (convert_batch_norm.c). */
MUST_CHECK insitu_status set_empty_results(converter_t *c, uint32_t first, uint32_t end);
MUST_CHECK insitu_status emit_matmul(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t bias, tensor_id_t *out);
/* The shape that both broadcast to. A size that is not known to be equal is taken from the constant or from a. */
MUST_CHECK insitu_status broadcast_shapes(converter_t *c, const shape_t *a, const shape_t *b, shape_t *out);

/* ---- requirements (convert_assert.c) ---- */
/* The one element of x, an integer or a bool, as a number of the program in that range. */
MUST_CHECK insitu_status emit_read(converter_t *c, tensor_id_t x, int64_t min, int64_t max, sym_t *out);
/* No element of the bools is true: checked before the call writes, or its writes are taken back. */
MUST_CHECK insitu_status require_none(converter_t *c, tensor_id_t bools, const char *message);

/* ---- results ---- */
void set_result(converter_t *c, uint32_t index, tensor_id_t tensor);
/* The only result: op of self (convert_unary.c). */
MUST_CHECK insitu_status finish_unary(converter_t *c, op_kind_t op);
static inline void set_only_result(converter_t *c, tensor_id_t tensor) { set_result(c, 0, tensor); }

/* ---- helpers of several families ---- */
/* Python's clamping of slice bounds: 0 <= start <= end <= size. */
void clamp_slice(converter_t *c, sym_t size, sym_t *start, sym_t *end);
/* The first size elements of the dimension, zeros behind them if there are fewer (convert_slice.c). */
MUST_CHECK insitu_status emit_resized(converter_t *c, tensor_id_t x, uint32_t dim, sym_t size, tensor_id_t *out);
/* The windows of x (..., n, ...) along a dimension as a new last one; zeros of that many elements to which windows
 * (..., count, ..., size) are added (convert_overlap.c). */
MUST_CHECK insitu_status emit_windows(converter_t *c, tensor_id_t x, uint32_t dim, int64_t size, int64_t step,
                                      tensor_id_t *out);
MUST_CHECK insitu_status emit_overlap_add(converter_t *c, tensor_id_t windows, uint32_t dim, int64_t step, sym_t whole,
                                          tensor_id_t *out);
MUST_CHECK insitu_status take_slice(converter_t *c, tensor_id_t x, uint32_t *out_dim, sym_t *out_start, sym_t *out_end,
                                    int64_t *out_step);
/* Whether all rows that the slice asks for exist, before its bounds are clamped: start <= rows < end, every step-th. */
MUST_CHECK insitu_status take_asked_rows(converter_t *c, tensor_id_t x, uint32_t dim, int64_t step, sym_t *out_exist);
/* A position in the dimension, counted from the end if negative. Errors: BOUNDS. */
MUST_CHECK insitu_status take_position(converter_t *c, const char *name, tensor_id_t x, uint32_t dim, sym_t *out);
/* max(min(x, high), low) with NaN passing; NULL bounds are absent. */
MUST_CHECK insitu_status emit_clamp(converter_t *c, tensor_id_t x, const sym_t *low, const sym_t *high,
                                    tensor_id_t *out);
/* "tensors", all in their common dtype; one at least. */
MUST_CHECK insitu_status take_parts(converter_t *c, tensor_id_t **out, uint32_t *out_count);
/* x[..., index, ...] in dimension dim; indices count from the front. */
MUST_CHECK insitu_status emit_index_dim(converter_t *c, tensor_id_t x, tensor_id_t index, uint32_t dim,
                                        tensor_id_t *out);
/* x[..., mask, ...], the mask's dimensions from dim on; the node's result has the count as its size there
 * (convert_nonzero.c). */
/* Reads x's one element, which the program takes to be the number: a symbol, which then has its value, or an expression, which
 * is checked when it is read. The expression's own symbols must be known, but one that it gives. */
MUST_CHECK insitu_status emit_item(converter_t *c, tensor_id_t x, sym_t number);
MUST_CHECK insitu_status emit_masked(converter_t *c, tensor_id_t x, tensor_id_t mask, uint32_t dim, tensor_id_t *out);
MUST_CHECK insitu_status emit_diagonal(converter_t *c, tensor_id_t x, uint32_t dim1, uint32_t dim2, int64_t offset,
                                       tensor_id_t *out);
/* Of the places -1, 0, 1 and 2, for a fraction from 0 to 1 (convert_resize.c). */
MUST_CHECK insitu_status emit_cubic_weights(converter_t *c, tensor_id_t part, tensor_id_t out[4]);
/* Floats stay, integers become f32. */
MUST_CHECK insitu_status emit_float(converter_t *c, tensor_id_t x, tensor_id_t *out);
/* The dtype that PyTorch computes one operator in: an operator of several layers rounds to f16 or bf16 once, at its end. */
dtype_t wide_dtype(dtype_t type);
MUST_CHECK insitu_status emit_wide(converter_t *c, tensor_id_t x, tensor_id_t *out);
/* The only result, cast back. */
MUST_CHECK insitu_status finish_wide(converter_t *c, tensor_id_t result, dtype_t type);

enum { REDUCTION_NONE, REDUCTION_MEAN, REDUCTION_SUM }; /* of a loss */
/* Losses (convert_loss.c): the operands in their common dtype, wide; the only result, by the node's reduction, cast back. */
MUST_CHECK insitu_status take_loss_operands(converter_t *c, const char *const *names, uint32_t count, tensor_id_t *out,
                                            dtype_t *out_type);
MUST_CHECK insitu_status finish_loss(converter_t *c, tensor_id_t values, dtype_t type);
/* a log(b) (convert_log.c); min(0, x) - log1p(exp(-|x|)) (convert_activation.c); both of wide floats */
MUST_CHECK insitu_status emit_xlogy(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out);
MUST_CHECK insitu_status emit_log_sigmoid(converter_t *c, tensor_id_t x, tensor_id_t *out);
/* Back to front; the last shift elements come first; op of each element's successor and itself, one fewer (convert_turn.c) */
MUST_CHECK insitu_status emit_flip(converter_t *c, tensor_id_t x, uint32_t dim, tensor_id_t *out);
MUST_CHECK insitu_status emit_roll(converter_t *c, tensor_id_t x, uint32_t dim, sym_t shift, tensor_id_t *out);
MUST_CHECK insitu_status emit_of_neighbours(converter_t *c, op_kind_t op, tensor_id_t x, uint32_t dim,
                                            tensor_id_t *out);
/* The norm of a - b + eps over the last dimension (convert_distance.c) */
MUST_CHECK insitu_status emit_row_distance(converter_t *c, tensor_id_t a, tensor_id_t b, double order, sym_t eps,
                                           bool keepdim, tensor_id_t *out);

/* matmul of vectors, matrices and batches of them (convert_matmul.c) */
MUST_CHECK insitu_status emit_product(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out);
/* By a tensor of weights, below 0.5 self + weight span, else end + (weight - 1) span; span = end - self (convert_arithmetic.c) */
MUST_CHECK insitu_status emit_lerp(converter_t *c, tensor_id_t self, tensor_id_t end, tensor_id_t span,
                                   tensor_id_t weight, tensor_id_t *out);
/* x at the index's positions along dim (convert_index.c); values and their places along dim, stable (convert_sort.c) */
MUST_CHECK insitu_status emit_gather(converter_t *c, tensor_id_t x, tensor_id_t index, uint32_t dim, tensor_id_t *out);
MUST_CHECK insitu_status emit_sort(converter_t *c, tensor_id_t x, uint32_t dim, bool descending, tensor_id_t out[2]);
/* Ones where the row is the column (convert_diag.c) */
MUST_CHECK insitu_status emit_eye(converter_t *c, dtype_t type, sym_t rows, sym_t columns, tensor_id_t *out);
/* The only result, beta self + alpha product (convert_matmul.c). */
MUST_CHECK insitu_status finish_scaled_sum(converter_t *c, tensor_id_t product);

/* What convert_variance gives: the root of the variance; the mean as a second result. */
enum { SPREAD_ROOT = 1, SPREAD_MEAN = 2 };

/* Fourier transforms (convert_fourier.c): what becomes what, what scales the results (of PyTorch's _fft operators, too), flags of
 * convert_fft */
enum { FFT_C2C, FFT_R2C, FFT_R2C_WHOLE, FFT_C2R };
enum { FFT_PLAIN, FFT_BY_ROOT, FFT_BY_SIZE };
enum { FFT_INVERSE = 1, FFT_REAL = 2, FFT_HERMITIAN = 4, FFT_MANY = 8 };
typedef struct fourier {
    int kind;      /* of the last of the dimensions; the others are FFT_C2C */
    bool backward; /* e^(+2 pi i jk / n) */
    uint32_t dims[MAX_RANK], count;
    sym_t sizes[MAX_RANK]; /* of the transforms, in the order of dims */
    int scale;             /* by the product of the sizes */
} fourier_t;
/* Real numbers become complex in the last dimension first, complex ones real there last. */
MUST_CHECK insitu_status emit_fourier(converter_t *c, tensor_id_t x, const fourier_t *how, tensor_id_t *out);
enum { WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN, WINDOW_BARTLETT };

/* Recurrent cells. */
enum { CELL_GRU, CELL_LSTM, CELL_TANH, CELL_RELU };

/* Refuses a source that lacks the part's rank or provably its sizes (convert_update.c). */
MUST_CHECK insitu_status check_source(converter_t *c, const shape_t *part, tensor_id_t source);

/* Index tensors of index and index_put: one a dimension of x from the first on, NO_TENSOR where all is taken. */
typedef struct indexing {
    tensor_id_t indices[MAX_RANK]; /* of equal sizes, i64 or i32 */
    sym_t dims[MAX_RANK];
    uint32_t count;
    tensor_id_t mask; /* one bool mask and nothing else: its dimensions begin at mask_dim */
    uint32_t mask_dim;
} indexing_t;
MUST_CHECK insitu_status take_indexing(converter_t *c, tensor_id_t x, indexing_t *out);
/* The node's result: x[mask] = values, or += values (convert_mask.c). */
MUST_CHECK insitu_status emit_put_masked(converter_t *c, tensor_id_t x, tensor_id_t values, const indexing_t *at,
                                         bool accumulate);

/* ---- the program's face (convert_signature.c) ---- */
MUST_CHECK insitu_status convert_inputs(converter_t *c);
MUST_CHECK insitu_status convert_outputs(converter_t *c);

#define CONVERT(function, parameter) MUST_CHECK insitu_status function(converter_t *c);
#define OPERATOR(id, facts) facts
#include "graph/operators.def"

#endif
