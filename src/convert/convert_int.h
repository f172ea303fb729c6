/* Graph -> network: what the converters share. convert.c walks the graph and looks each operator up in graph/operators.def; a
 * converter reads the node's arguments (convert_args.c), adds layers (convert_emit.c) and sets the node's results. */
#ifndef CONVERT_INT_H
#define CONVERT_INT_H

#include "convert/convert.h"
#include "graph/graph.h"
#include "network/network_edit.h"

typedef struct counted_mask { /* whose true elements a symbol counts */
    tensor_id mask, places;   /* NO_TENSOR: none yet */
} counted_mask;

typedef struct converter {
    const graph *graph;
    network *network;
    sym_pool *pool;        /* the network's; the graph's expressions have the same ids in it */
    tensor_id *tensors;    /* of each value of the graph; NO_TENSOR: none yet */
    counted_mask *counted; /* of each symbol of the graph */
    bool *read;            /* each symbol of the graph: an input or an item gives it */
    uint32_t symbol_count; /* of the graph: rows of counted and read */
    uint32_t *inputs;      /* network input of each graph input; NONE */
    uint32_t *states;      /* network state of each graph input; NONE */
    const graph_node *node;
    int32_t param;             /* of the node's row of operators.def */
    struct refusals *refusals; /* of all graphs */
    bool strict_bounds;
    arena scratch;    /* emptied after each node */
    char reason[256]; /* of the last UNSUPPORTED; "" where the operator as such is */
    insitu_diag *diag;
} converter;
typedef insitu_status (*convert_fn)(converter *c);

/* Has the region filled by a converter of the subgraph (convert.c), whose expressions are those of the graph around it. */
typedef insitu_status (*region_fn)(converter *inner, void *user);
MUST_CHECK insitu_status convert_subgraph(converter *outer, const graph *graph, network *region, region_fn body,
                                          void *user);
MUST_CHECK insitu_status convert_nodes(converter *c);
/* Of the operators that have no schema, and so no row of operators.def (convert_region.c). */
MUST_CHECK insitu_status convert_cond(converter *c);
MUST_CHECK insitu_status convert_while(converter *c);

/* ---- errors ---- */
/* "aten.view.default (model.py:41): ..." */
insitu_status convert_fail(converter *c, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The operator is known, these arguments are not handled: the reason is listed with the operator. */
insitu_status convert_unsupported(converter *c, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- arguments, by the names of the operator's schema ---- */
/* Never NULL: an argument that is absent or that the operator lacks reads as None. */
const graph_arg *take_arg(const converter *c, const char *name);
bool has_arg(const converter *c, const char *name); /* given, and not None */
MUST_CHECK insitu_status take_tensor(converter *c, const char *name, tensor_id *out);
MUST_CHECK insitu_status take_optional_tensor(converter *c, const char *name, tensor_id *out); /* NO_TENSOR */
/* Items that are None are NO_TENSOR. The list is in scratch. */
MUST_CHECK insitu_status take_tensors(converter *c, const char *name, tensor_id **out, uint32_t *out_count);
MUST_CHECK insitu_status take_sym(converter *c, const char *name, sym *out);
MUST_CHECK insitu_status take_sym_or(converter *c, const char *name, sym fallback, sym *out);
MUST_CHECK insitu_status take_int(converter *c, const char *name, int64_t fallback, int64_t *out);
MUST_CHECK insitu_status take_float(converter *c, const char *name, double fallback, double *out);
/* A number that may be known when the program runs only. */
MUST_CHECK insitu_status take_real(converter *c, const char *name, double fallback, sym *out);
static inline sym negative_of(converter *c, sym number) { return sym_mul(c->pool, sym_int(c->pool, -1), number); }
static inline sym quotient_of(converter *c, sym a, sym b) { return sym_make(c->pool, SYM_TRUEDIV, (sym[]){a, b}, 2); }
MUST_CHECK insitu_status take_flag(converter *c, const char *name, bool fallback, bool *out);
MUST_CHECK insitu_status take_dtype(converter *c, const char *name, dtype fallback, dtype *out);
/* A number stands for a list of one. None: no items. */
MUST_CHECK insitu_status take_syms(converter *c, const char *name, sym out[MAX_RANK], uint32_t *out_count);
MUST_CHECK insitu_status take_ints(converter *c, const char *name, int64_t out[MAX_RANK], uint32_t *out_count);
const char *take_string(const converter *c, const char *name); /* "" if none */
/* A dimension of a tensor of that rank, counted from the end if negative. A tensor without dimensions has dimension 0. */
MUST_CHECK insitu_status normal_dim(converter *c, int64_t dim, uint32_t rank, uint32_t *out);
MUST_CHECK insitu_status take_dim(converter *c, const char *name, int64_t fallback, uint32_t rank, uint32_t *out);
/* A set of dimensions as bits; none given: all. */
MUST_CHECK insitu_status take_dims(converter *c, const char *name, uint32_t rank, uint32_t *out_set);

/* A tensor or a Python number. */
typedef struct operand {
    bool is_number;
    tensor_id tensor;
    sym number;
    dtype dtype;
    operand_class class;
} operand;
MUST_CHECK insitu_status take_operand(converter *c, const char *name, operand *out);
operand operand_of_tensor(const converter *c, tensor_id tensor);
operand operand_of_number(const converter *c, sym number);
/* torch.result_type. */
MUST_CHECK insitu_status promote(converter *c, const operand *operands, uint32_t count, dtype *out);

/* ---- layers ---- */
static inline const network_tensor *tensor_of(const converter *c, tensor_id tensor) {
    return network_tensor_of(c->network, tensor);
}
static inline uint32_t rank_of(const converter *c, tensor_id tensor) { return tensor_of(c, tensor)->shape.rank; }
static inline sym size_of(const converter *c, tensor_id tensor, uint32_t dim) {
    return tensor_of(c, tensor)->shape.sizes[dim];
}
static inline dtype dtype_of(const converter *c, tensor_id tensor) { return tensor_of(c, tensor)->dtype; }
static inline bool is_int_constant(const converter *c, sym value, int64_t number) {
    int64_t constant;
    return sym_constant(c->pool, value, &constant) && constant == number;
}

/* Adds the layer, named after the node. Refused operands: UNSUPPORTED (dtypes), FORMAT (sizes). */
MUST_CHECK insitu_status emit(converter *c, const layer_draft *draft, const tensor_id *operands, uint32_t operand_count,
                              tensor_id *out_results);
MUST_CHECK insitu_status emit_on(converter *c, const layer_draft *draft, tensor_id x, tensor_id *out);
/* The layer that makes a tensor; NULL: an input or the like, or a result of a node that was refused. */
const layer *producer_of(const converter *c, tensor_id x);
/* These give x itself where nothing would change. */
MUST_CHECK insitu_status emit_cast(converter *c, tensor_id x, dtype type, tensor_id *out);
MUST_CHECK insitu_status emit_reshape(converter *c, tensor_id x, const shape *shape, tensor_id *out);
MUST_CHECK insitu_status emit_permute(converter *c, tensor_id x, const uint32_t *axes, tensor_id *out);
MUST_CHECK insitu_status emit_swap(converter *c, tensor_id x, uint32_t dim1, uint32_t dim2, tensor_id *out);
MUST_CHECK insitu_status emit_expand(converter *c, tensor_id x, const shape *shape, tensor_id *out); /* broadcasts */
MUST_CHECK insitu_status emit_slice(converter *c, tensor_id x, uint32_t dim, sym start, sym end, int64_t step,
                                    tensor_id *out);
/* x with that part of it replaced by source, of x's dtype and the part's sizes (convert_update.c). */
MUST_CHECK insitu_status emit_slice_update(converter *c, tensor_id x, tensor_id source, uint32_t dim, sym start,
                                           sym end, int64_t step, tensor_id *out);
MUST_CHECK insitu_status emit_unsqueeze(converter *c, tensor_id x, uint32_t dim, tensor_id *out);
MUST_CHECK insitu_status emit_squeeze(converter *c, tensor_id x, uint32_t dim, tensor_id *out); /* of size 1 */
/* At least one dimension. */
MUST_CHECK insitu_status emit_at_least_1d(converter *c, tensor_id x, tensor_id *out);
MUST_CHECK insitu_status emit_copy(converter *c, tensor_id x, tensor_id *out);
MUST_CHECK insitu_status emit_unary(converter *c, op_kind op, tensor_id x, tensor_id *out);
/* Both of one dtype; they are broadcast. */
MUST_CHECK insitu_status emit_binary(converter *c, op_kind op, tensor_id a, tensor_id b, tensor_id *out);
/* A number as arithmetic in the dtype takes it: True is 1. */
sym plain_number(converter *c, sym number, dtype type);
/* (sum over the axes of |x|^p)^(1/p); orders 0 and infinity: how many are not 0, the largest or the smallest */
MUST_CHECK insitu_status emit_norm_of(converter *c, tensor_id x, double order, uint32_t axes, bool keepdim,
                                      tensor_id *out);
MUST_CHECK insitu_status emit_scalar(converter *c, op_kind op, tensor_id x, sym number, bool first, tensor_id *out);
MUST_CHECK insitu_status emit_scalar_float(converter *c, op_kind op, tensor_id x, double number, bool first,
                                           tensor_id *out);
/* op on operands that are converted to the dtype, broadcast, and may be a number (not both). */
MUST_CHECK insitu_status emit_operation(converter *c, op_kind op, operand a, operand b, dtype type, tensor_id *out);
MUST_CHECK insitu_status emit_where(converter *c, tensor_id condition, tensor_id a, tensor_id b, tensor_id *out);
/* condition ? number : other */
MUST_CHECK insitu_status emit_number_where(converter *c, tensor_id condition, sym number, tensor_id other,
                                           tensor_id *out);
MUST_CHECK insitu_status emit_fill(converter *c, dtype type, const shape *shape, sym value, tensor_id *out);
/* A number as a tensor of that shape: one element, expanded. */
MUST_CHECK insitu_status emit_number(converter *c, dtype type, const shape *shape, sym value, tensor_id *out);
MUST_CHECK insitu_status emit_bitcast(converter *c, tensor_id x, dtype type, tensor_id *out);
/* (..., n) of complex numbers as (..., n, 2) of floats, and back (convert_bits.c). */
MUST_CHECK insitu_status emit_to_real_pairs(converter *c, tensor_id x, tensor_id *out);
MUST_CHECK insitu_status emit_from_real_pairs(converter *c, tensor_id pairs, tensor_id *out);
/* emit_fill and emit_cast where a dtype is complex (convert_bits.c). */
MUST_CHECK insitu_status emit_complex_fill(converter *c, dtype type, const shape *shape, sym value, tensor_id *out);
MUST_CHECK insitu_status emit_complex_cast(converter *c, tensor_id x, dtype type, tensor_id *out);
/* The operand as a tensor of that dtype, broadcast to the shape. */
MUST_CHECK insitu_status emit_operand(converter *c, operand operand, dtype type, const shape *shape, tensor_id *out);
MUST_CHECK insitu_status emit_iota(converter *c, dtype type, sym size, sym start, sym step, tensor_id *out);
MUST_CHECK insitu_status emit_concat(converter *c, const tensor_id *parts, uint32_t count, uint32_t dim,
                                     tensor_id *out);
MUST_CHECK insitu_status emit_reduce(converter *c, op_kind op, tensor_id x, uint32_t axes, bool keepdim,
                                     tensor_id *out);
/* By given statistics of channels, with the node's weight and bias; in the wide dtype. */
MUST_CHECK insitu_status emit_batch_norm(converter *c, tensor_id x, tensor_id mean, tensor_id variance, sym eps,
                                         tensor_id *out);
MUST_CHECK insitu_status emit_matmul(converter *c, tensor_id a, tensor_id b, tensor_id bias, tensor_id *out);
/* The shape that both broadcast to. A size that is not known to be equal is taken from the constant or from a. */
MUST_CHECK insitu_status broadcast_shapes(converter *c, const shape *a, const shape *b, shape *out);

/* ---- requirements (convert_assert.c) ---- */
/* The one element of x, an integer or a bool, as a number of the program in that range. */
MUST_CHECK insitu_status emit_read(converter *c, tensor_id x, int64_t min, int64_t max, sym *out);
/* No element of the bools is true: checked before the call writes, or its writes are taken back. */
MUST_CHECK insitu_status require_none(converter *c, tensor_id bools, const char *message);

/* ---- results ---- */
void set_result(converter *c, uint32_t index, tensor_id tensor);
/* The only result: op of self (convert_unary.c). */
MUST_CHECK insitu_status finish_unary(converter *c, op_kind op);
static inline void set_only_result(converter *c, tensor_id tensor) { set_result(c, 0, tensor); }

/* ---- helpers of several families ---- */
/* Python's clamping of slice bounds: 0 <= start <= end <= size. */
void clamp_slice(converter *c, sym size, sym *start, sym *end);
MUST_CHECK insitu_status take_slice(converter *c, tensor_id x, uint32_t *out_dim, sym *out_start, sym *out_end,
                                    int64_t *out_step);
/* Whether all rows that the slice asks for exist, before its bounds are clamped: start <= rows < end, every step-th. */
MUST_CHECK insitu_status take_asked_rows(converter *c, tensor_id x, uint32_t dim, int64_t step, sym *out_exist);
/* A position in the dimension, counted from the end if negative. Errors: BOUNDS. */
MUST_CHECK insitu_status take_position(converter *c, const char *name, tensor_id x, uint32_t dim, sym *out);
/* max(min(x, high), low) with NaN passing; NULL bounds are absent. */
MUST_CHECK insitu_status emit_clamp(converter *c, tensor_id x, const sym *low, const sym *high, tensor_id *out);
/* "tensors", all in their common dtype; one at least. */
MUST_CHECK insitu_status take_parts(converter *c, tensor_id **out, uint32_t *out_count);
/* x[..., index, ...] in dimension dim; indices count from the front. */
MUST_CHECK insitu_status emit_index_dim(converter *c, tensor_id x, tensor_id index, uint32_t dim, tensor_id *out);
/* x[..., mask, ...], the mask's dimensions from dim on; the node's result has the count as its size there
 * (convert_nonzero.c). */
/* Reads x's one element, which the program takes to be the number: a symbol, which then has its value, or an expression, which
 * is checked when it is read. The expression's own symbols must be known, but one that it gives. */
MUST_CHECK insitu_status emit_item(converter *c, tensor_id x, sym number);
MUST_CHECK insitu_status emit_masked(converter *c, tensor_id x, tensor_id mask, uint32_t dim, tensor_id *out);
MUST_CHECK insitu_status emit_diagonal(converter *c, tensor_id x, uint32_t dim1, uint32_t dim2, int64_t offset,
                                       tensor_id *out);
/* Of the places -1, 0, 1 and 2, for a fraction from 0 to 1 (convert_resize.c). */
MUST_CHECK insitu_status emit_cubic_weights(converter *c, tensor_id part, tensor_id out[4]);
/* Floats stay, integers become f32. */
MUST_CHECK insitu_status emit_float(converter *c, tensor_id x, tensor_id *out);
/* The dtype that PyTorch computes one operator in: an operator of several layers rounds to f16 or bf16 once, at its end. */
dtype wide_dtype(dtype type);
MUST_CHECK insitu_status emit_wide(converter *c, tensor_id x, tensor_id *out);
/* The only result, cast back. */
MUST_CHECK insitu_status finish_wide(converter *c, tensor_id result, dtype type);

/* The only result, beta self + alpha product (convert_matmul.c). */
MUST_CHECK insitu_status finish_scaled_sum(converter *c, tensor_id product);

/* What convert_variance gives: the root of the variance; the mean as a second result. */
enum { SPREAD_ROOT = 1, SPREAD_MEAN = 2 };

/* Recurrent cells. */
enum { CELL_GRU, CELL_LSTM, CELL_TANH, CELL_RELU };

/* Refuses a source that lacks the part's rank or provably its sizes (convert_update.c). */
MUST_CHECK insitu_status check_source(converter *c, const shape *part, tensor_id source);

/* Index tensors of index and index_put: one a dimension of x from the first on, NO_TENSOR where all is taken. */
typedef struct indexing {
    tensor_id indices[MAX_RANK]; /* of equal sizes, i64 or i32 */
    sym dims[MAX_RANK];
    uint32_t count;
    tensor_id mask; /* one bool mask and nothing else: its dimensions begin at mask_dim */
    uint32_t mask_dim;
} indexing;
MUST_CHECK insitu_status take_indexing(converter *c, tensor_id x, indexing *out);
/* The node's result: x[mask] = values, or += values (convert_mask.c). */
MUST_CHECK insitu_status emit_put_masked(converter *c, tensor_id x, tensor_id values, const indexing *at,
                                         bool accumulate);

/* ---- the program's face (convert_signature.c) ---- */
MUST_CHECK insitu_status convert_inputs(converter *c);
MUST_CHECK insitu_status convert_outputs(converter *c);

#define CONVERT(function, parameter) MUST_CHECK insitu_status function(converter *c);
#define OPERATOR(id, facts) facts
#include "graph/operators.def"

#endif
