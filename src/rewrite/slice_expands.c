/* A part of what repeats along the dimension that is cut repeats as often as the part is long; of one element it is the
 * operand itself:
 *   slice(expand(%x) {sizes=[8,4]}) {dim=0, start=2, end=5}, %x: [1,4]   ->   expand(%x) {sizes=[3,4]}
 *   slice(expand(%x) {sizes=[8,4]}) {dim=0, start=2, end=3}              ->   reshape(%x) {sizes=[1,4]}
 * So a value that PyTorch's default decompositions store by a mask is no larger than what it is stored to, and lies there. */
#include "rewrite/rewrite.h"

/* The operand of which the slice shows repetitions alone; NO_TENSOR. */
static tensor_id_t repeated_operand(network_t *network, const layer_t *slice) {
    const layer_t *expand =
        slice->kind == LAYER_SLICE ? network_producer_of(network, slice->operands[0], LAYER_EXPAND) : NULL;
    if (!expand) return NO_TENSOR;
    sym_pool_t *pool = &network->symbols;
    const uint32_t dim = (uint32_t)layer_attr_int(network, slice, ATTR_DIM);
    const sym_t size = network_tensor_of(network, expand->operands[0])->shape.sizes[dim];
    const sym_t shown = network_tensor_of(network, slice->results[0])->shape.sizes[dim];
    bool repeats = sym_is_one(size) && sym_is_le(pool, sym_int(pool, 1), shown) == TRUTH_TRUE;
    return repeats ? expand->operands[0] : NO_TENSOR;
}

insitu_status network_slice_expands(network_t *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *slice = network_layer_of(network, network->order[i]);
        const tensor_id_t operand = repeated_operand(network, slice);
        if (operand.index == NONE) continue;
        const shape_t shape = network_tensor_of(network, slice->results[0])->shape;
        bool same = shape_same(&shape, &network_tensor_of(network, operand)->shape);
        const layer_draft_t view = draft_sized(same ? LAYER_RESHAPE : LAYER_EXPAND, &shape);
        TRY(network_redefine(network, network->order[i], &view, &operand, 1, diag));
    }
    return sym_pool_status(&network->symbols, diag);
}
