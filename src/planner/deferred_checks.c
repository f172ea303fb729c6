/* Checks that can only be decided late.
 *
 * A check of positions, or an item whose symbol has a range, comes before all that stores into states (the commit point), so
 * that a call that fails changes nothing. One that needs a value which the call gives to a state can't:
 *
 *     %n = binary(%pos) {op=add, scalar=1}      next "pos" = %n, in place
 *     %r = index_update(%cache, %x, %n)         its position is checked after pos has changed
 *
 * A layer that runs regions which check something is a check too, one that may itself store into states. What fails a region
 * is undone by the plan around it, so a region saves nothing. A loop's checks stand where they may; those of a condition's
 * branch come first where they can, and if all of them can, nothing has to be undone.
 *
 * Such a check is put before every store that does not itself lead to it; the stores that do are marked: the bytes that
 * they replace are saved first, and restored if the check fails. */
#include "planner/planner_int.h"

static bool is_check(const planner_t *planner, uint32_t node) {
    const plan_node_t *n = &planner->nodes[node];
    if (n->kind == NODE_CHECK) return true;
    if (n->kind != NODE_LAYER) return false;
    const layer_t *layer = planner_layer(planner, n->index);
    return layer->kind == LAYER_ITEM ||
           (kind_has(layer->kind, TRAIT_REGIONS) && layer_may_fail(planner->network, layer));
}

/* The nodes of the layers that will store into states. */
static insitu_status find_storing(planner_t *planner, bitset_t *out_nodes) {
    TRY(bitset_create(&planner->scratch, planner->node_capacity, out_nodes));
    for (uint32_t i = 0; i < planner->network->order_count; i++) {
        uint32_t index = planner->network->order[i].index;
        if (bitset_has(&planner->chain, index)) bitset_add(out_nodes, planner->layers[index].node);
    }
    return INSITU_OK;
}

insitu_status deferred_checks_find(planner_t *planner) {
    bool possible;
    bitset_t storing;
    if (planner->options.region == REGION_CHECKS_ANYWHERE) return INSITU_OK;
    TRY(find_storing(planner, &storing));
    for (uint32_t node = 0; node < planner->order.node_count; node++) {
        if (!is_check(planner, node)) continue;
        bool needs = bitset_has(&storing, node) || order_follows_any(&planner->order, node, &storing);
        planner->nodes[node].deferred = !planner->options.no_inplace && needs;
        planner->has_deferred |= planner->nodes[node].deferred;
        if (!planner->nodes[node].deferred) TRY(order_add(&planner->order, node, planner->commit_point, &possible));
    }
    return INSITU_OK;
}

static insitu_status guard(planner_t *planner, uint32_t writer) {
    for (uint32_t node = 0; node < planner->order.node_count; node++) {
        bool possible;
        if (!planner->nodes[node].deferred) continue;
        TRY(order_add(&planner->order, node, writer, &possible));
        if (!possible && node == writer) planner->nodes[writer].saves_own = true;
        if (!possible && node != writer) planner->nodes[writer].saves = true;
    }
    return INSITU_OK;
}

insitu_status deferred_checks_order(planner_t *planner) {
    const bool is_region = planner->options.region != REGION_NONE;
    for (uint32_t i = 0; planner->has_deferred && !is_region && i < planner->plan->storage_count; i++)
        if (planner->storages[i].written) TRY(conflicts_visit_writers(planner, i, guard));
    return INSITU_OK;
}
