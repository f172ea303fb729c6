/* slice(concat(x, s), dim, its last size(x) elements) -> shift_update(x, s): one overlapping move instead of a value
 * built elsewhere.
 *   %c: f32[4,10] = concat(%x, %s) {dim=1}
 *   %r: f32[4,8] = slice(%c) {dim=1, end=10, start=2, step=1}     ->  %r: f32[4,8] = shift_update(%x, %s) {dim=1}
 * Needs size(s) <= size(x) along dim, proved. The concat stays for its other readers, else it is dead. */
#include "network/network_int.h"

static bool attr_is(network *network, const layer *layer, attr_id id, sym value) {
    return sym_is_eq(&network->symbols, layer_attr(layer, id).value, value) == TRUTH_TRUE;
}

static bool is_shift(network *network, const layer *slice, const layer **out_concat) {
    if (slice->kind != LAYER_SLICE) return false;
    const network_tensor *whole = network_tensor_of(network, slice->operands[0]);
    if (whole->role != TENSOR_RESULT) return false;
    const layer *concat = network_layer_of(network, whole->producer);
    if (concat->kind != LAYER_CONCAT || concat->operand_count != 2) return false;
    int64_t dim = layer_attr_int(network, slice, ATTR_DIM);
    if (layer_attr_int(network, concat, ATTR_DIM) != dim || layer_attr_int(network, slice, ATTR_STEP) != 1)
        return false;
    sym kept = network_tensor_of(network, concat->operands[0])->shape.sizes[dim];
    sym added = network_tensor_of(network, concat->operands[1])->shape.sizes[dim];
    *out_concat = concat;
    return sym_is_le(&network->symbols, added, kept) == TRUTH_TRUE && attr_is(network, slice, ATTR_START, added) &&
           attr_is(network, slice, ATTR_END, whole->shape.sizes[dim]);
}

insitu_status network_recognise_shifts(network *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->order_count; i++) {
        layer *slice = network_layer_of(network, network->order[i]);
        const layer *concat;
        if (!is_shift(network, slice, &concat)) continue;
        attr dim = layer_attr(slice, ATTR_DIM);
        inferred type;
        TRY(network_infer(network, LAYER_SHIFT_UPDATE, concat->operands, 2, &dim, &type, diag));
        network->tensors[slice->results[0].index].shape = type.shape;
        slice->kind = LAYER_SHIFT_UPDATE;
        slice->operands = concat->operands;
        slice->operand_count = 2;
        slice->attrs[0] = dim;
    }
    return sym_pool_status(&network->symbols, diag);
}
