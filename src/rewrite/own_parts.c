/* Where a concat joins a state with other values, and the state is then given one of these, its old value has to be read
 * before it is stored over, and the other value after it is made there. So the state's part is copied by a layer of its own:
 *     %y = concat(%c, %g), next "c" = %g   ->   %old = copy(%c), %y = concat(%old, %g)
 * which may run first, in its part of the concat's memory. For trials. */
#include "rewrite/rewrite.h"

/* Is it a state, an input, or a view of one? */
static bool is_kept(const network_t *network, tensor_id_t tensor) {
    for (uint32_t links = 0; links <= network->layer_count; links++) {
        const network_tensor_t *made = network_tensor_of(network, tensor);
        if (made->role != TENSOR_RESULT) return made->role == TENSOR_STATE || made->role == TENSOR_INPUT;
        const layer_t *layer = network_layer_of(network, made->producer);
        if (!kind_has(layer->kind, TRAIT_VIEW)) return false;
        tensor = layer->operands[0];
    }
    return false;
}

insitu_status network_own_parts(network_t *network, bool *out_changed, insitu_diag *diag) {
    *out_changed = false;
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_id_t id = network->order[i];
        const layer_t concat = *network_layer_of(network, id);
        const uint32_t first_added = network->order_count;
        const layer_draft_t copy = draft_of(LAYER_COPY);
        tensor_id_t *operands;
        if (concat.kind != LAYER_CONCAT) continue;
        TRY(arena_copy(&network->arena, concat.operands, concat.operand_count * sizeof *operands, &operands));
        for (uint32_t k = 0; k < concat.operand_count; k++)
            if (is_kept(network, concat.operands[k]))
                TRY(network_add_layer(network, &copy, &concat.operands[k], 1, concat.name, concat.source, &operands[k],
                                      diag));
        if (network->order_count == first_added) continue;
        *out_changed = true;
        network_layer_of(network, id)->operands = operands;
        network_move_added(network, first_added, i);
        i += network->order_count - first_added;
    }
    return INSITU_OK;
}
