/* The layers that store into states if all is in place: what makes the final values, down to the states.
 *
 *     %1 = slice_update(%cache, %k)      in the chain, as is what computes %k: it may store into its part
 *     %2 = slice_update(%1, %v)          next "cache" = %2: in the chain
 *     %3 = slice_update(%cache, %u)      read by others alone: a tensor that the program makes for itself
 *
 * And updates of states' old values that the states' new ones are computed from: the model has written its state, and
 * whoever copies it to do so copies state. Save shifts, which are what roll and cat compute.
 *
 *     %4 = slice_update(%hist, %x)       of the state
 *     %5 = matmul(%4, %w)                next "hist" = %5 */
#include "planner/planner_int.h"

static insitu_status push(planner_t *planner, tensor_id_t *stack, uint32_t *count, bitset_t *chain,
                          tensor_id_t tensor) {
    tensor_id_t root = planner_tensor(planner, tensor)->root;
    if (planner_tensor(planner, root)->fixed) return INSITU_OK;
    uint32_t index = network_tensor_of(planner->network, root)->producer.index;
    if (bitset_has(chain, index)) return INSITU_OK;
    bitset_add(chain, index);
    stack[(*count)++] = root;
    return INSITU_OK;
}

/* A part of a value is stored by what copies it; the value itself is the program's own. */
static insitu_status push_part(planner_t *planner, tensor_id_t *stack, uint32_t *count, bitset_t *chain,
                               tensor_id_t part) {
    const tensor_id_t root = planner_tensor(planner, part)->root;
    sym_t whole = shape_numel(planner->pool, &network_tensor_of(planner->network, root)->shape);
    sym_t shown = shape_numel(planner->pool, &network_tensor_of(planner->network, part)->shape);
    return sym_same(whole, shown) ? push(planner, stack, count, chain, part) : INSITU_OK;
}

insitu_status def_chain_find(planner_t *planner, bitset_t *out_chain) {
    tensor_id_t *stack;
    uint32_t count = 0;
    TRY(bitset_create(&planner->scratch, planner->network->layer_count + 1, out_chain));
    TRY(arena_array(&planner->scratch, planner->network->layer_count + 1, sizeof *stack, &stack));
    for (uint32_t i = 0; i < planner->final_count; i++) {
        const state_target_t *final = &planner->finals[i];
        if (final->next.index == final->start.index) continue;
        TRY(push(planner, stack, &count, out_chain, final->next));
        while (count > 0) {
            const network_tensor_t *made = network_tensor_of(planner->network, stack[--count]);
            const layer_t *layer = planner_layer(planner, made->producer.index);
            bool takes = kind_has(layer->kind, TRAIT_UPDATE) || layer_is_copy(planner, made->producer.index);
            if (takes) TRY(push(planner, stack, &count, out_chain, layer->operands[0]));
            if (kind_has(layer->kind, TRAIT_PART))
                TRY(push_part(planner, stack, &count, out_chain, layer->operands[1]));
            if (layer->kind == LAYER_LOOP) TRY(push(planner, stack, &count, out_chain, layer->operands[made->index]));
            for (uint32_t k = 0; layer->kind == LAYER_CONCAT && k < layer->operand_count; k++)
                TRY(push_part(planner, stack, &count, out_chain, layer->operands[k]));
        }
    }
    return INSITU_OK;
}

/* ---- updates that lead to a state's new value through what computes it ---- */

static uint32_t producer_of(const planner_t *planner, tensor_id_t tensor) {
    tensor_id_t root = planner_tensor(planner, tensor)->root;
    return planner_tensor(planner, root)->fixed ? NONE : network_tensor_of(planner->network, root)->producer.index;
}

/* Of each layer the tensor that updates and copies have begun with, up to its result. */
static insitu_status find_bases(const planner_t *planner, arena_t *arena, tensor_id_t **out_bases) {
    const network_t *network = planner->network;
    TRY(arena_array(arena, network->layer_count + 1, sizeof **out_bases, out_bases));
    for (uint32_t i = 0; i < network->order_count; i++) {
        const uint32_t index = network->order[i].index;
        const layer_t *layer = planner_layer(planner, index);
        tensor_id_t *base = &(*out_bases)[index];
        *base = (tensor_id_t){NONE};
        if (!kind_has(layer->kind, TRAIT_UPDATE) && !layer_is_copy(planner, index)) continue;
        uint32_t operand = producer_of(planner, layer->operands[0]);
        *base = operand == NONE ? planner_tensor(planner, layer->operands[0])->root : (*out_bases)[operand];
    }
    return INSITU_OK;
}

insitu_status def_chain_find_updates(planner_t *planner, bitset_t *out_updates) {
    const uint32_t capacity = planner->network->layer_count + 1;
    uint32_t *stack, *seen; /* seen: 1 + the last final value that the layer was found for */
    tensor_id_t *bases;
    TRY(bitset_create(&planner->scratch, capacity, out_updates));
    TRY(arena_array(&planner->scratch, capacity, sizeof *stack, &stack));
    TRY(arena_array(&planner->scratch, capacity, sizeof *seen, &seen));
    TRY(find_bases(planner, &planner->scratch, &bases));
    for (uint32_t f = 0; f < planner->final_count; f++) {
        uint32_t count = 0, next = producer_of(planner, planner->finals[f].next);
        if (next != NONE) stack[count++] = next;
        if (next != NONE) seen[next] = f + 1;
        while (count > 0) {
            const uint32_t index = stack[--count];
            const layer_t *layer = planner_layer(planner, index);
            bool is_update = kind_has(layer->kind, TRAIT_UPDATE) && layer->kind != LAYER_SHIFT_UPDATE;
            if (is_update && bases[index].index == planner->finals[f].start.index) bitset_add(out_updates, index);
            for (uint32_t i = 0; i < layer->operand_count; i++) {
                next = producer_of(planner, layer->operands[i]);
                if (next == NONE || seen[next] == f + 1) continue;
                seen[next] = f + 1;
                stack[count++] = next;
            }
        }
    }
    return INSITU_OK;
}
