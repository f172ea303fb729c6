/* Checks that can only be decided late.
 *
 * A check of positions, or an item whose symbol has a range, comes before all that stores into states (the barrier), so
 * that a call that fails changes nothing. One that needs a value which the call gives to a state can't:
 *
 *     %n = binary(%pos) {op=add, scalar=1}      next "pos" = %n, in place
 *     %r = index_update(%cache, %x, %n)         its position is checked after pos has changed
 *
 * Such a check is put before every store that does not itself lead to it; the stores that do are marked: the bytes that
 * they replace are saved first, and restored if the check fails. */
#include "plan/plan_int.h"

static bool is_check(const planner *planner, uint32_t node) {
    const plan_node *n = &planner->nodes[node];
    if (n->kind == NODE_CHECK) return true;
    return n->kind == NODE_LAYER && planner_layer(planner, n->index)->kind == LAYER_ITEM;
}

/* Marks the layers that will store into states if all goes well: what makes the final values, down to the states. */
static void mark_makers(const planner *planner, tensor_id tensor, bitset *makers) {
    for (uint32_t depth = 0; depth <= planner->network->layer_count; depth++) {
        tensor_id root = planner_tensor(planner, tensor)->root;
        if (planner_tensor(planner, root)->fixed) return;
        uint32_t index = network_tensor_of(planner->network, root)->producer.index;
        const layer *layer = planner_layer(planner, index);
        if (bitset_has(makers, planner->layers[index].node)) return;
        bitset_add(makers, planner->layers[index].node);
        if (kind_has(layer->kind, TRAIT_PART)) {
            tensor_id source = planner_tensor(planner, layer->operands[1])->root;
            if (!planner_tensor(planner, source)->fixed) bitset_add(makers, tensor_node(planner, source));
        }
        for (uint32_t i = 0; layer->kind == LAYER_CONCAT && i < layer->operand_count; i++) {
            tensor_id part = planner_tensor(planner, layer->operands[i])->root;
            if (!planner_tensor(planner, part)->fixed) bitset_add(makers, tensor_node(planner, part));
        }
        if (!kind_has(layer->kind, TRAIT_UPDATE) && !layer_is_copy(planner, index)) return;
        tensor = layer->operands[0];
    }
}

static bool needs_any(const planner *planner, uint32_t node, const bitset *makers) {
    for (uint32_t i = 0; i < planner->order.node_count; i++)
        if (bitset_has(makers, i) && (i == node || order_is_before(&planner->order, i, node))) return true;
    return false;
}

insitu_status late_find(planner *planner) {
    bitset makers;
    bool possible;
    TRY(bitset_create(&planner->scratch, planner->node_capacity, &makers));
    for (uint32_t i = 0; i < planner->final_count && !planner->options.no_inplace; i++)
        if (planner->finals[i].next.index != planner->finals[i].start.index)
            mark_makers(planner, planner->finals[i].next, &makers);
    for (uint32_t node = 0; node < planner->order.node_count; node++) {
        if (!is_check(planner, node)) continue;
        planner->nodes[node].late = needs_any(planner, node, &makers);
        planner->has_late |= planner->nodes[node].late;
        if (!planner->nodes[node].late) TRY(order_add(&planner->order, node, planner->barrier, &possible));
    }
    return INSITU_OK;
}

static insitu_status guard(planner *planner, uint32_t writer) {
    for (uint32_t node = 0; node < planner->order.node_count; node++) {
        bool possible;
        if (!planner->nodes[node].late) continue;
        TRY(order_add(&planner->order, node, writer, &possible));
        if (!possible) planner->nodes[writer].saves = true;
    }
    return INSITU_OK;
}

insitu_status late_order(planner *planner) {
    for (uint32_t i = 0; planner->has_late && i < planner->plan->storage_count; i++)
        if (planner->storages[i].written) TRY(conflicts_visit_writers(planner, i, guard));
    return INSITU_OK;
}
