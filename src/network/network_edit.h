/* network, for the rooms that change one: convert/, builder/ and rewrite/. */
#ifndef NETWORK_EDIT_H
#define NETWORK_EDIT_H

#include "network/network.h"

/* ---- a layer to be added (network_edit.c) ---- */
typedef struct layer_draft {
    layer_kind_t kind;
    attr_t attrs[MAX_LAYER_ATTRS]; /* as in the kind's row of attrs.def; set by their ids alone */
} layer_draft_t;
layer_draft_t draft_of(layer_kind_t kind);
layer_draft_t draft_like(const layer_t *layer); /* of its kind, with its attributes */
/* The one attribute "sizes": reshape and expand. */
layer_draft_t draft_sized(layer_kind_t kind, const shape_t *sizes);
/* The part of a slice, or of a slice_update. */
layer_draft_t draft_slice(sym_pool_t *pool, layer_kind_t kind, uint32_t dim, sym_t start, sym_t end, int64_t step);
void draft_attr(layer_draft_t *draft, attr_id_t id, attr_t value);
void draft_sym(layer_draft_t *draft, attr_id_t id, sym_t value);
void draft_list(layer_draft_t *draft, attr_id_t id, const sym_t *items, uint32_t count); /* items stay the caller's */
void draft_op(layer_draft_t *draft, op_kind_t op);
void draft_dtype(layer_draft_t *draft, dtype_t type);
void draft_int(sym_pool_t *pool, layer_draft_t *draft, attr_id_t id, int64_t value);
void draft_flag(sym_pool_t *pool, layer_draft_t *draft, attr_id_t id, bool value);
void draft_float(sym_pool_t *pool, layer_draft_t *draft, attr_id_t id, double value);
/* ---- structure (network.c) ---- */
/* Appends a layer at the end of order: infers its results' dtypes and shapes and checks operands and attributes. Lists are
 * copied. name: of the results (made unique; a second result gets "_1"); operands and results are layer_info's. Errors:
 * SHAPE, ARG (dtype, attribute): one sentence that names the layer, the operands' types, and what was expected. */
MUST_CHECK insitu_status network_add_layer(network_t *network, const layer_draft_t *draft, const tensor_id_t *operands,
                                           uint32_t operand_count, const char *name, const char *source,
                                           tensor_id_t *out_results, insitu_diag *diag);
MUST_CHECK insitu_status network_copy_attrs(network_t *network, const layer_draft_t *draft, attr_t **out_attrs);
/* An element of an index tensor's bytes: i64, or i32. */
int64_t network_index_at(const uint8_t *data, dtype_t type, int64_t index);
/* The condition holds whenever the network runs: nothing is added where it is proved or already there. A condition that
 * is provably false is the caller's to find. */
MUST_CHECK insitu_status network_require(network_t *network, sym_t condition, const char *message, const char *source);
/* The same of a write that would lose rows: its failure is BOUNDS. */
MUST_CHECK insitu_status network_require_bounds(network_t *network, sym_t condition, const char *message,
                                                const char *source);
/* The size depends on a number that an item layer reads. */
bool network_reads_size(const network_t *network, sym_t size);
/* Gives a tensor the name; the tensor that has it takes the other's. */
MUST_CHECK insitu_status network_swap_name(network_t *network, tensor_id_t tensor, const char *name);
/* How much there is of what layers are added to; network_undo takes back what was added since. Expressions stay. */
typedef struct network_mark {
    uint32_t tensors, layers, order, asserts;
    uint64_t fingerprint;
} network_mark_t;
network_mark_t network_mark_end(const network_t *network);
void network_undo(network_t *network, network_mark_t mark);
/* "binary(f32[2,4], f32[2])" */
void layer_print_call(const network_t *network, layer_kind_t kind, const tensor_id_t *operands, uint32_t operand_count,
                      text_t *out);
void tensor_print_type(const network_t *network, const network_tensor_t *tensor, text_t *out); /* "f32[2,4]" */
/* ---- definitions and their order (network_edit.c) ---- */
/* The layer's only result becomes that of another layer; its dtype stays. */
MUST_CHECK insitu_status network_redefine(network_t *network, layer_id_t id, const layer_draft_t *draft,
                                          const tensor_id_t *operands, uint32_t operand_count, insitu_diag *diag);
/* Layers added at the end, from order[first_added] on, come to stand before order[position]. */
void network_move_added(network_t *network, uint32_t first_added, uint32_t position);
/* At the end of the order; named after another layer. */
MUST_CHECK insitu_status network_add_slice(network_t *network, const layer_t *like, tensor_id_t x, uint32_t dim,
                                           sym_t start, sym_t end, int64_t step, tensor_id_t *out, insitu_diag *diag);
/* The layer that makes the tensor, if it is of this kind; NULL. */
const layer_t *network_producer_of(const network_t *network, tensor_id_t tensor, layer_kind_t kind);
/* The tensor of the same elements that reshapes have begun with. */
tensor_id_t network_strip_reshapes(const network_t *network, tensor_id_t tensor);
/* The bytes of a dense constant of constant sizes, none of them 0; NULL: it is none, or its bytes are not known. */
const uint8_t *network_constant_elements(const network_t *network, tensor_id_t tensor, int64_t *out_count);
/* A network as it was, for passes on trial. What they added stays in its arena. */
typedef struct network_snapshot {
    arena_t arena;
    network_t network; /* its arrays are copies */
} network_snapshot_t;
MUST_CHECK insitu_status network_save(const network_t *network, network_snapshot_t *out);
void network_restore(network_t *network, const network_snapshot_t *snapshot);
void network_snapshot_release(network_snapshot_t *snapshot);

#endif
