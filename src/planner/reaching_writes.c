/* Content: which layers make a value that lies in one memory with what it is made of.
 *
 *     %u = slice_update(slice(%1), %v);  %2 = slice_update(%1, %u)      in place: %1 is in the content of %u and of %2
 *
 * Walked down from a value, or up from what it takes over; each root once, whichever ways lead to it. */
#include "planner/reaching_writes.h"

insitu_status reaching_writes_init(planner_t *planner, reaching_writes_t *out_set) {
    const uint32_t count = planner->network->tensor_count + 1;
    *out_set = (reaching_writes_t){.stamp = 1};
    TRY(arena_array(&planner->scratch, count, sizeof *out_set->roots, &out_set->roots));
    return arena_array(&planner->scratch, count, sizeof *out_set->seen, &out_set->seen);
}

static bool is_known(const planner_t *planner, const reaching_writes_t *set, uint32_t root, uint32_t held) {
    return set->count > 0 && set->of == root && set->held == held && set->check == planner->work->check;
}

static void begin(planner_t *planner, reaching_writes_t *set, uint32_t root, uint32_t held) {
    set->of = root;
    set->held = held;
    set->check = planner->work->check;
    set->count = 0;
    set->stamp++;
    set->base = BASE_MADE;
}

static void add(planner_t *planner, reaching_writes_t *set, uint32_t root) {
    planner->steps++;
    if (reaching_writes_has(set, root)) return;
    set->seen[root] = set->stamp;
    set->roots[set->count++] = root;
}

static uint32_t root_of(const planner_t *planner, tensor_id_t tensor) {
    return planner->tensors[tensor.index].root.index;
}

void reaching_writes_find(planner_t *planner, reaching_writes_t *set, uint32_t root) {
    if (is_known(planner, set, root, NONE)) return;
    begin(planner, set, root, NONE);
    add(planner, set, root);
    for (uint32_t at = 0; at < set->count; at++) {
        if (planner->tensors[set->roots[at]].fixed) {
            set->base = BASE_INITIAL;
            continue;
        }
        uint32_t index = planner->network->tensors[set->roots[at]].producer.index;
        const layer_t *layer = planner_layer(planner, index);
        const layer_plan_t *decided = &planner->layers[index];
        if (decided->takes_operand) add(planner, set, root_of(planner, layer->operands[0]));
        for (uint32_t i = 0; i < layer->operand_count; i++)
            if (decided->in_part[i]) add(planner, set, root_of(planner, layer->operands[i]));
    }
}

void reaching_writes_find_takers(planner_t *planner, reaching_writes_t *set, uint32_t root, uint32_t held) {
    if (is_known(planner, set, root, held)) return;
    begin(planner, set, root, held);
    add(planner, set, root);
    for (uint32_t at = 0; at < set->count; at++)
        for (uint32_t t = set->roots[at]; t != NONE; t = planner->tensors[t].view_tree_next)
            for (uint32_t i = planner->use_start[t]; i < planner->use_start[t + 1]; i++) {
                const use_t *use = &planner->uses[i];
                const layer_t *layer = planner_layer(planner, use->layer.index);
                const layer_plan_t *decided = &planner->layers[use->layer.index];
                planner->steps++;
                if (decided->makes_view) continue;
                bool in_part = decided->in_part[use->operand], taken = use->operand == 0 && decided->takes_operand;
                if (!in_part && !taken) continue;
                bool holds = in_part && held != NONE && decided->takes_operand && use->operand != 0 &&
                             reaching_writes_lead_to(planner, root_of(planner, layer->operands[0]), held);
                if (!holds) add(planner, set, layer->results[0].index);
            }
}

bool reaching_writes_lead_to(planner_t *planner, uint32_t from, uint32_t to) {
    for (uint32_t at = from; at != to;) {
        planner->steps++;
        if (planner->tensors[at].fixed) return false;
        uint32_t index = planner->network->tensors[at].producer.index;
        if (!planner->layers[index].takes_operand) return false;
        at = root_of(planner, planner_layer(planner, index)->operands[0]);
    }
    return true;
}
