/* Shifts of a state tensor, or of an input that the program mutates, become one overlapping move instead of a value built
 * elsewhere:
 *   slice(concat(%x, %s), its last size(x) elements)                          ->  shift_update(%x, %s)
 *   concat(slice(%x, from k), %s)          where %s has k elements            ->  shift_update(%x, %s)
 *   slice_update(concat(slice(%x, from k), %p), %s)   where %s replaces %p    ->  shift_update(%x, %s)
 * all along one dimension, with the sizes proved. The layers in between stay for their other readers, else they are dead. */
#include "network/network_int.h"

static bool attr_is(network *network, const layer *layer, attr_id id, sym value) {
    return sym_is_eq(&network->symbols, layer_attr(layer, id).value, value) == TRUTH_TRUE;
}

static sym size_along(const network *network, tensor_id tensor, int64_t dim) {
    return network_tensor_of(network, tensor)->shape.sizes[dim];
}

/* The layer that makes the tensor, if it is of this kind. */
static const layer *maker_of(const network *network, tensor_id tensor, layer_kind kind) {
    const network_tensor *made = network_tensor_of(network, tensor);
    if (made->role != TENSOR_RESULT) return NULL;
    const layer *maker = network_layer_of(network, made->producer);
    return maker->kind == kind ? maker : NULL;
}

/* Does the tensor's memory outlive the call? Elsewhere nothing is gained. */
static bool is_kept(const network *network, tensor_id tensor) {
    const network_tensor *kept = network_tensor_of(network, tensor);
    for (uint32_t i = 0; kept->role == TENSOR_INPUT && i < network->mutation_count; i++)
        if (network->mutations[i].input == kept->index) return true;
    return kept->role == TENSOR_STATE;
}

typedef struct shift {
    int64_t dim;
    tensor_id operands[2]; /* x, s */
} shift;

/* slice(concat(x, s)) */
static bool is_tail(network *network, const layer *slice, shift *out) {
    if (slice->kind != LAYER_SLICE || layer_attr_int(network, slice, ATTR_STEP) != 1) return false;
    const layer *concat = maker_of(network, slice->operands[0], LAYER_CONCAT);
    if (!concat || concat->operand_count != 2) return false;
    *out = (shift){layer_attr_int(network, slice, ATTR_DIM), {concat->operands[0], concat->operands[1]}};
    sym kept = size_along(network, out->operands[0], out->dim), added = size_along(network, out->operands[1], out->dim);
    return layer_attr_int(network, concat, ATTR_DIM) == out->dim &&
           sym_is_le(&network->symbols, added, kept) == TRUTH_TRUE && attr_is(network, slice, ATTR_START, added) &&
           attr_is(network, slice, ATTR_END, size_along(network, slice->operands[0], out->dim));
}

/* concat(slice(x, from k), s), where s has k elements */
static bool is_moved(network *network, tensor_id part, tensor_id added, int64_t dim, shift *out) {
    const layer *slice = maker_of(network, part, LAYER_SLICE);
    if (!slice || layer_attr_int(network, slice, ATTR_DIM) != dim || layer_attr_int(network, slice, ATTR_STEP) != 1)
        return false;
    *out = (shift){dim, {slice->operands[0], added}};
    return attr_is(network, slice, ATTR_START, size_along(network, added, dim)) &&
           attr_is(network, slice, ATTR_END, size_along(network, slice->operands[0], dim));
}

static bool is_concat(network *network, const layer *concat, shift *out) {
    return concat->kind == LAYER_CONCAT && concat->operand_count == 2 &&
           is_moved(network, concat->operands[0], concat->operands[1], layer_attr_int(network, concat, ATTR_DIM), out);
}

/* slice_update(concat(slice(x, from k), p), s), where s replaces p */
static bool is_replaced(network *network, const layer *update, shift *out) {
    if (update->kind != LAYER_SLICE_UPDATE || layer_attr_int(network, update, ATTR_STEP) != 1) return false;
    int64_t dim = layer_attr_int(network, update, ATTR_DIM);
    const layer *concat = maker_of(network, update->operands[0], LAYER_CONCAT);
    if (!concat || concat->operand_count != 2 || layer_attr_int(network, concat, ATTR_DIM) != dim) return false;
    return attr_is(network, update, ATTR_START, size_along(network, concat->operands[0], dim)) &&
           attr_is(network, update, ATTR_END, size_along(network, update->operands[0], dim)) &&
           is_moved(network, concat->operands[0], update->operands[1], dim, out);
}

static insitu_status replace(network *network, layer *layer, const shift *shift, insitu_diag *diag) {
    attr dim = attr_of_sym(sym_int(&network->symbols, shift->dim));
    inferred type;
    TRY(network_infer(network, LAYER_SHIFT_UPDATE, shift->operands, 2, &dim, &type, diag));
    network->tensors[layer->results[0].index].shape = type.shape;
    layer->kind = LAYER_SHIFT_UPDATE;
    layer->operand_count = 2;
    TRY(arena_copy(&network->arena, shift->operands, sizeof shift->operands, &layer->operands));
    TRY(arena_array(&network->arena, 1, sizeof *layer->attrs, &layer->attrs));
    layer->attrs[0] = dim;
    return INSITU_OK;
}

insitu_status network_recognise_shifts(network *network, insitu_diag *diag) {
    for (uint32_t i = network->order_count; i-- > 0;) { /* the last first: it may replace what an earlier one shifts in */
        layer *layer = network_layer_of(network, network->order[i]);
        shift shift;
        bool found = is_tail(network, layer, &shift) || is_concat(network, layer, &shift) ||
                     is_replaced(network, layer, &shift);
        if (found && is_kept(network, shift.operands[0])) TRY(replace(network, layer, &shift, diag));
    }
    return sym_pool_status(&network->symbols, diag);
}
