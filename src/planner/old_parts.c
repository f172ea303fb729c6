/* What of a part that an update stores is the state's own: old elements that lie in other memory by then. They have been
 * copied, and are stored back.
 *
 *     %f = flip(%h) {dims=[0]}                  in the arena
 *     %r = slice_update(%h, slice(%f))          the slice is copied: its bytes were %h's
 *     %s = slice_update(%h, exp(slice(%h)))     none is: exp computes what is new
 *
 * Followed through layers that compute nothing; of a part of what they join, all counts if some of it is the state's. */
#include "planner/planner_int.h"

enum { MAX_FOLLOWED = 64 };

static sym_t old_bytes(planner_t *planner, tensor_id_t tensor, uint32_t storage, uint32_t depth);

/* The operands that a layer's first result has its elements from; false: it computes them. */
static bool moves_operands(const planner_t *planner, uint32_t index, uint32_t *out_count) {
    const layer_t *layer = planner_layer(planner, index);
    *out_count = layer->kind == LAYER_CONCAT ? layer->operand_count : 1;
    if (kind_has(layer->kind, TRAIT_PART) || layer->kind == LAYER_SHIFT_UPDATE) *out_count = 2;
    return kind_has(layer->kind, TRAIT_CARRY) || *out_count == 2 || layer_is_copy(planner, index);
}

/* Those that were set aside are counted there. */
static sym_t old_of_operand(planner_t *planner, uint32_t index, uint32_t operand, uint32_t storage, uint32_t depth) {
    const uint32_t aside = planner->layers[index].spill[operand];
    if (aside != NONE && !returns_old(planner, aside)) return sym_int(planner->pool, 0);
    return old_bytes(planner, planner_layer(planner, index)->operands[operand], storage, depth + 1);
}

/* Each root once for a storage, whichever ways lead to it. */
static sym_t old_of_root(planner_t *planner, uint32_t index, uint32_t count, tensor_plan_t *root, uint32_t storage,
                         uint32_t depth) {
    if (root->old_storage == storage) return root->old_sum;
    sym_t sum = sym_int(planner->pool, 0);
    for (uint32_t i = 0; i < count; i++)
        sum = sym_add(planner->pool, sum, old_of_operand(planner, index, i, storage, depth));
    root->old_storage = storage;
    root->old_sum = sum;
    return sum;
}

static sym_t old_bytes(planner_t *planner, tensor_id_t tensor, uint32_t storage, uint32_t depth) {
    const sym_t none = sym_int(planner->pool, 0);
    const tensor_type_t *type = &planner_tensor(planner, tensor)->type;
    const tensor_id_t root = planner_tensor(planner, tensor)->root;
    if (planner_tensor(planner, root)->storage == storage) return layout_bytes(planner->pool, type);
    if (planner_tensor(planner, root)->fixed || depth == MAX_FOLLOWED) return none;
    const network_tensor_t *made = network_tensor_of(planner->network, root);
    uint32_t count;
    if (made->index != 0 || !moves_operands(planner, made->producer.index, &count)) return none;
    sym_t sum = old_of_root(planner, made->producer.index, count, planner_tensor(planner, root), storage, depth);
    bool is_whole = count > 1 && tensor.index == root.index;
    return is_whole || sym_same(sum, none) ? sum : layout_bytes(planner->pool, type);
}

/* Decisions have been made: what is known of a root stays. */
sym_t old_part_bytes(planner_t *planner, uint32_t index, uint32_t operand, uint32_t storage) {
    return old_of_operand(planner, index, operand, storage, 0);
}
