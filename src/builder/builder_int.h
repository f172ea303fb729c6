/* What the files of the public network builder share: the handle's parts, and layers put together argument by argument. */
#ifndef BUILDER_INT_H
#define BUILDER_INT_H

#include "builder/builder.h"
#include "network/network_edit.h"

#include <insitu/network.h>

static inline insitu_value value_of(tensor_id_t tensor) { return (insitu_value){tensor.index + 1}; }
static inline insitu_number number_of(sym_t value) {
    insitu_number number = {.kind = INSITU_NUMBER_EXPRESSION};
    number.of.integer = value.id;
    return number;
}
/* NO_TENSOR: none of the network's. */
tensor_id_t builder_tensor(const insitu_network *network, insitu_value value);
/* what: "dim of slice". Errors: ARG. */
MUST_CHECK insitu_status builder_sym(insitu_network *network, insitu_number number, const char *what, sym_t *out,
                                     insitu_diag *diag);
/* ndim sizes of a tensor that can be. what: "input 'x'". Errors: ARG, SHAPE. */
MUST_CHECK insitu_status builder_shape(insitu_network *network, dtype_t type, int32_t ndim, const insitu_number *sizes,
                                       const char *what, shape_t *out, insitu_diag *diag);
MUST_CHECK insitu_status builder_dtype(insitu_dtype given, const char *what, dtype_t *out, insitu_diag *diag);
/* A name for a symbol: an identifier that no symbol has. */
MUST_CHECK insitu_status builder_symbol(insitu_network *network, const char *name, sym_kind_t kind, int64_t min,
                                        int64_t max, sym_t *out, insitu_diag *diag);

/* ---- one layer ---- */
typedef struct layer_build {
    insitu_network *network;
    layer_draft_t draft;
    const char *function; /* the public one */
    insitu_value *out[MAX_OWN_RESULTS];
    insitu_diag *diag;
    insitu_status status; /* of the first thing that went wrong */
    tensor_id_t *operands;
    uint32_t operand_count, operand_capacity;
    sym_t lists[MAX_LAYER_LISTS][MAX_RANK];
    uint32_t list_count;
} layer_build_t;
/* As many outs as the layer has results, which are made none; NULL is an error. */
void build_open(layer_build_t *build, insitu_network *network, layer_kind_t kind, const char *function,
                insitu_value *out_first, insitu_value *out_second, insitu_diag *diag);
void build_needs_place(layer_build_t *build); /* something that the function gives out is NULL */
void build_operand(layer_build_t *build, insitu_value value);
void build_operands(layer_build_t *build, int32_t count, const insitu_value *values, const char *what);
/* Nothing if the value is none. */
void build_optional(layer_build_t *build, insitu_value value);
void build_number(layer_build_t *build, attr_id_t id, insitu_number number);
void build_int(layer_build_t *build, attr_id_t id, int64_t value);
void build_flag(layer_build_t *build, attr_id_t id, bool value);
void build_float(layer_build_t *build, attr_id_t id, double value);
void build_dtype(layer_build_t *build, insitu_dtype type);
void build_op(layer_build_t *build, const char *op);
void build_numbers(layer_build_t *build, attr_id_t id, int32_t count, const insitu_number *numbers);
void build_dims(layer_build_t *build, attr_id_t id, int32_t count, const int32_t *dims);
/* values NULL: count times the number `otherwise`. */
void build_ints(layer_build_t *build, attr_id_t id, uint32_t count, const int64_t *values, int64_t otherwise);
void build_fail(layer_build_t *build, insitu_status status, const char *format, ...) PRINTF_LIKE(3, 4);
/* Adds the layer, and gives out its results. */
MUST_CHECK insitu_status build_close(layer_build_t *build);

#endif
