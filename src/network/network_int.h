/* What the files of this room share. */
#ifndef NETWORK_INT_H
#define NETWORK_INT_H

#include "network/network.h"

/* ---- structure (network.c) ---- */
MUST_CHECK insitu_status network_copy_attrs(network *network, layer_kind kind, const attr *attrs, attr **out_attrs);
/* An element of an index tensor's bytes: i64, or i32. */
int64_t network_index_at(const uint8_t *data, dtype type, int64_t index);
/* The condition holds whenever the network runs: nothing is added where it is proved or already there. A condition that
 * is provably false is the caller's to find. */
MUST_CHECK insitu_status network_require(network *network, sym condition, const char *message, const char *source);
/* The same of a write that would lose rows: its failure is BOUNDS. */
MUST_CHECK insitu_status network_require_bounds(network *network, sym condition, const char *message,
                                                const char *source);
/* The size depends on a number that an item layer reads. */
bool network_reads_size(const network *network, sym size);
/* Gives a tensor the name; the tensor that has it takes the other's. */
MUST_CHECK insitu_status network_swap_name(network *network, tensor_id tensor, const char *name);
/* How much there is of what layers are added to; network_undo takes back what was added since. Expressions stay. */
typedef struct network_mark {
    uint32_t tensors, layers, order, asserts;
    uint64_t identity;
} network_mark;
network_mark network_mark_end(const network *network);
void network_undo(network *network, network_mark mark);
/* "binary(f32[2,4], f32[2])" */
void layer_print_call(const network *network, layer_kind kind, const tensor_id *operands, uint32_t operand_count,
                      text *out);
void tensor_print_type(const network *network, const network_tensor *tensor, text *out); /* "f32[2,4]" */
/* Operators that the attribute "op" of a layer kind may hold. */
bool layer_takes_op(layer_kind kind, op_kind op);
bool layer_parse_op(layer_kind kind, const char *name, op_kind *out);
/* Elements that the layer reads, computes with and writes, at most; not finite where a size is no constant
 * (layer_work.c). */
double layer_work(const network *network, const layer *layer);

/* What is known of an index tensor (index_form.c): element [i,j...] is base + i*steps[0] + j*steps[1] ... + an unknown number
 * if is_unknown, which changes along the dimensions of varies alone. Dimensions of size 1 have step 0. */
typedef struct index_form {
    int64_t base, steps[MAX_RANK];
    uint32_t varies;
    bool is_unknown;
} index_form;
index_form network_index_form(const network *network, tensor_id tensor);

/* ---- what passes change (rewrite.c) ---- */
/* The layer's only result becomes that of another layer; its dtype stays. */
MUST_CHECK insitu_status network_redefine(network *network, layer_id id, layer_kind kind, const tensor_id *operands,
                                          uint32_t operand_count, const attr *attrs, insitu_diag *diag);
/* Layers added at the end, from order[first_added] on, come to stand before order[position]. */
void network_move_added(network *network, uint32_t first_added, uint32_t position);
/* At the end of the order; named after another layer. */
MUST_CHECK insitu_status network_add_slice(network *network, const layer *like, tensor_id x, uint32_t dim, sym start,
                                           sym end, int64_t step, tensor_id *out, insitu_diag *diag);
/* The layer that makes the tensor, if it is of this kind; NULL. */
const layer *network_maker_of(const network *network, tensor_id tensor, layer_kind kind);
/* The tensor of the same elements that reshapes have begun with. */
tensor_id network_before_reshapes(const network *network, tensor_id tensor);
/* The bytes of a dense constant of constant sizes, none of them 0; NULL: it is none, or its bytes are not known. */
const uint8_t *network_constant_elements(const network *network, tensor_id tensor, int64_t *out_count);

/* ---- inference (infer.c, infer_*.c): one function a layer kind ---- */
typedef struct infer_call {
    network *network;
    sym_pool *pool;
    layer_kind kind;
    const tensor_id *operands;
    uint32_t operand_count;
    const attr *attrs;
    inferred *results;
    insitu_diag *diag;
} infer_call;
typedef insitu_status (*infer_fn)(const infer_call *call);

const network_tensor *infer_operand(const infer_call *call, uint32_t index);
attr infer_attr(const infer_call *call, attr_id id);
/* "slice_update(f32[2,4], f32[3]): ..." */
insitu_status infer_fail(const infer_call *call, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
/* A constant in [min, max]. */
MUST_CHECK insitu_status infer_int(const infer_call *call, attr_id id, int64_t min, int64_t max, int64_t *out);
/* A dimension of operand 0. */
MUST_CHECK insitu_status infer_dim(const infer_call *call, attr_id id, uint32_t *out);
MUST_CHECK insitu_status infer_flag(const infer_call *call, attr_id id, bool *out);
/* A list of distinct dimensions of operand 0; *out_set has their bits. */
MUST_CHECK insitu_status infer_dims(const infer_call *call, attr_id id, uint32_t *out_set, uint32_t out_dims[MAX_RANK],
                                    uint32_t *out_count);
/* An integer expression that may not be below min. */
MUST_CHECK insitu_status infer_size(const infer_call *call, sym value, int64_t min, const char *what);
/* The result's sizes and dtype are those of a tensor that can be (SHAPE). */
MUST_CHECK insitu_status infer_bytes(const infer_call *call, uint32_t result);
/* Proved, disproved (SHAPE), or required at run time. what: "size of dimension 2". */
MUST_CHECK insitu_status infer_equal(const infer_call *call, sym a, sym b, const char *what);
MUST_CHECK insitu_status infer_at_most(const infer_call *call, sym a, sym b, const char *what);
MUST_CHECK insitu_status infer_same_shape(const infer_call *call, const shape *a, const shape *b, const char *what);
MUST_CHECK insitu_status infer_same_dtypes(const infer_call *call, uint32_t first, uint32_t end);
MUST_CHECK insitu_status infer_rank(const infer_call *call, uint32_t operand, uint32_t rank);
/* The result is of operand 0's type. */
void infer_as_operand(const infer_call *call, uint32_t result);
/* Sizes of x[:, start:end:step] along dim, from the attributes of that name. */
MUST_CHECK insitu_status infer_slice_shape(const infer_call *call, shape *out);
MUST_CHECK insitu_status infer_diagonal_shape(const infer_call *call, shape *out);
MUST_CHECK insitu_status infer_strided_shape(const infer_call *call, shape *out);
/* Sizes of x[indices], from the attribute dims and the index operands, which begin at operand first. */
MUST_CHECK insitu_status infer_index_shape(const infer_call *call, uint32_t first, shape *out);

#define LAYER(id, name, min_operands, max_operands, results, traits)                                                   \
    MUST_CHECK insitu_status infer_##id(const infer_call *call);
#include "core/layers.def"
#undef LAYER

#endif
