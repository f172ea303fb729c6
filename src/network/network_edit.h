/* network, for the rooms that change one: convert/, builder/ and rewrite/. */
#ifndef NETWORK_EDIT_H
#define NETWORK_EDIT_H

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
/* ---- definitions and their order (network_edit.c) ---- */
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
/* A network as it was, for passes on trial. What they added stays in its arena. */
typedef struct network_snapshot {
    arena arena;
    network network; /* its arrays are copies */
} network_snapshot;
MUST_CHECK insitu_status network_save(const network *network, network_snapshot *out);
void network_restore(network *network, const network_snapshot *snapshot);
void network_snapshot_release(network_snapshot *snapshot);

#endif
