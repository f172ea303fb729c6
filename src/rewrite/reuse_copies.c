/* Where the program copies a state for itself, later readers of the state may read that copy: the state can then be stored
 * over sooner.
 *     %t = copy(%h), output %t;  %y = concat(%z, %h)   ->   %y = concat(%z, %t) */
#include "rewrite/rewrite.h"

static bool is_returned(const network_t *network, tensor_id_t tensor) {
    for (uint32_t i = 0; i < network->output_count; i++)
        if (network->outputs[i].kind == OUTPUT_TENSOR && network->outputs[i].tensor.index == tensor.index) return true;
    return false;
}

static insitu_status read_instead(network_t *network, uint32_t position, tensor_id_t old, tensor_id_t copy,
                                  bool *out_changed) {
    for (uint32_t i = position + 1; i < network->order_count; i++) {
        layer_t *layer = network_layer_of(network, network->order[i]);
        for (uint32_t k = 0; k < layer->operand_count; k++) {
            tensor_id_t *operands;
            bool works_in = k == 0 && kind_has(layer->kind, TRAIT_UPDATE | TRAIT_VIEW);
            if (layer->operands[k].index != old.index || works_in) continue;
            TRY(arena_copy(&network->arena, layer->operands, layer->operand_count * sizeof *operands, &operands));
            operands[k] = copy;
            layer->operands = operands;
            *out_changed = true;
        }
    }
    return INSITU_OK;
}

insitu_status network_reuse_copies(network_t *network, bool *out_changed, insitu_diag *diag) {
    (void)diag;
    *out_changed = false;
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = network_layer_of(network, network->order[i]);
        if (layer->kind != LAYER_COPY || !is_returned(network, layer->results[0])) continue;
        tensor_role_t role = network_tensor_of(network, layer->operands[0])->role;
        if (role == TENSOR_STATE || role == TENSOR_INPUT)
            TRY(read_instead(network, i, layer->operands[0], layer->results[0], out_changed));
    }
    return INSITU_OK;
}
