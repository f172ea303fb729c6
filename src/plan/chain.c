/* The layers that store into states if all is in place: what makes the final values, down to the states.
 *
 *     %1 = slice_update(%cache, %k)      in the chain, as is what computes %k: it may store into its part
 *     %2 = slice_update(%1, %v)          next "cache" = %2: in the chain
 *     %3 = slice_update(%cache, %u)      read by others alone: a tensor that the program makes for itself */
#include "plan/plan_int.h"

static insitu_status push(planner *planner, tensor_id *stack, uint32_t *count, bitset *chain, tensor_id tensor) {
    tensor_id root = planner_tensor(planner, tensor)->root;
    if (planner_tensor(planner, root)->fixed) return INSITU_OK;
    uint32_t index = network_tensor_of(planner->network, root)->producer.index;
    if (bitset_has(chain, index)) return INSITU_OK;
    bitset_add(chain, index);
    stack[(*count)++] = root;
    return INSITU_OK;
}

/* A part of a value is stored by what copies it; the value itself is the program's own. */
static insitu_status push_part(planner *planner, tensor_id *stack, uint32_t *count, bitset *chain, tensor_id part) {
    const tensor_id root = planner_tensor(planner, part)->root;
    sym whole = shape_numel(planner->pool, &network_tensor_of(planner->network, root)->shape);
    sym shown = shape_numel(planner->pool, &network_tensor_of(planner->network, part)->shape);
    return sym_same(whole, shown) ? push(planner, stack, count, chain, part) : INSITU_OK;
}

insitu_status chain_find(planner *planner, bitset *out_chain) {
    tensor_id *stack;
    uint32_t count = 0;
    TRY(bitset_create(&planner->scratch, planner->network->layer_count + 1, out_chain));
    TRY(arena_array(&planner->scratch, planner->network->layer_count + 1, sizeof *stack, &stack));
    for (uint32_t i = 0; i < planner->final_count; i++) {
        const final_value *final = &planner->finals[i];
        if (final->next.index == final->start.index) continue;
        TRY(push(planner, stack, &count, out_chain, final->next));
        while (count > 0) {
            const network_tensor *made = network_tensor_of(planner->network, stack[--count]);
            const layer *layer = planner_layer(planner, made->producer.index);
            bool takes = kind_has(layer->kind, TRAIT_UPDATE) || layer_is_copy(planner, made->producer.index);
            if (takes) TRY(push(planner, stack, &count, out_chain, layer->operands[0]));
            if (kind_has(layer->kind, TRAIT_PART))
                TRY(push_part(planner, stack, &count, out_chain, layer->operands[1]));
            for (uint32_t k = 0; layer->kind == LAYER_CONCAT && k < layer->operand_count; k++)
                TRY(push_part(planner, stack, &count, out_chain, layer->operands[k]));
        }
    }
    return INSITU_OK;
}
