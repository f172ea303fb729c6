/* Placement of one tensor, with what it is made of; and of all that has no particular place to be.
 *
 * place_at puts the root of a tensor where the tensor then lies at the wanted place, gives its views their layouts, and
 * checks the storage. It then pulls in, each as a trial of its own: the operand that an update takes over (if that can't
 * be, the update's node first copies the operand), the source of a slice update and the parts of a concat (if not, the
 * node copies them), and the operand of a copy (if not, the node copies). */
#include "planner/planner_int.h"

enum { MAX_PULL_DEPTH = 2000 }; /* chains beyond this are copied once */

static insitu_status pull(planner_t *planner, uint32_t layer, const plan_operand_t *place, uint32_t depth, bool *out_ok,
                          conflict_t *out_conflict);
static insitu_status place_at_depth(planner_t *planner, tensor_id_t tensor, const plan_operand_t *target,
                                    uint32_t depth, bool *out_done, conflict_t *out_conflict);

/* The root's layout that puts the tensor at the wanted place. */
static bool find_root_layout(planner_t *planner, tensor_id_t tensor, tensor_type_t *layout) {
    while (!tensor_is_root(planner, tensor)) {
        const layer_t *view = planner_layer(planner, planner_tensor(planner, tensor)->view.index);
        tensor_type_t operand;
        if (!layout_unview(planner->pool, planner->network, view, layout, &operand)) return false;
        *layout = operand;
        tensor = view->operands[0];
    }
    return layout->dtype == planner->network->tensors[tensor.index].dtype;
}

/* Gives the root and its views their layouts and makes them members. *out_ok false: some view has no such layout. */
static insitu_status settle_view_tree(planner_t *planner, uint32_t root, uint32_t storage, const tensor_type_t *layout,
                                      bool *out_ok) {
    for (uint32_t t = root; t != NONE; t = planner->tensors[t].view_tree_next) {
        tensor_plan_t *member = &planner->tensors[t];
        if (t == root) {
            member->type = *layout;
            uint32_t node = tensor_node(planner, (tensor_id_t){root});
            planner->layers[planner->network->tensors[t].producer.index].parts_known = false;
            TRY(planner_set(planner, &member->root_next, planner->storages[storage].roots));
            TRY(planner_set(planner, &planner->storages[storage].roots, t));
            TRY(order_after_layout(planner, layout, node, out_ok));
            if (*out_ok) TRY(order_after_symbols(planner, planner->plan->storages[storage].bytes, node, out_ok));
            if (!*out_ok) return INSITU_OK;
        } else {
            const layer_t *view = planner_layer(planner, member->view.index);
            const tensor_type_t *operand = &planner->tensors[view->operands[0].index].type;
            *out_ok = layout_view(planner->pool, planner->network, view, operand, &member->type);
            if (!*out_ok) return INSITU_OK;
        }
        member->span = span_of(planner->pool, &member->type);
        TRY(planner_set(planner, &member->storage, storage));
        TRY(planner_set(planner, &member->member_next, planner->storages[storage].members));
        TRY(planner_set(planner, &planner->storages[storage].members, t));
        TRY(planner_set(planner, &member->placed, planner->touch_count));
        TRY(planner_touch(planner, storage, TOUCH_TENSOR, t, 0));
        planner->steps++;
    }
    *out_ok = true;
    return INSITU_OK;
}

static insitu_status set_takes(planner_t *planner, uint32_t index, bool takes, uint32_t storage) {
    TRY(planner_set(planner, &planner->layers[index].takes_operand, takes));
    return planner_touch(planner, storage, TOUCH_LAYER, index, 0);
}

static void restore_types(planner_t *planner, uint32_t root) {
    for (uint32_t t = root; t != NONE; t = planner->tensors[t].view_tree_next)
        if (planner->tensors[t].storage == NONE) planner->tensors[t].type = planner->tensors[t].unplaced;
}

/* What a loop begins with is made where the loop carries it, if no old value has to be set aside for that. */
static insitu_status pull_carried(planner_t *planner, tensor_id_t carried, const plan_operand_t *place,
                                  uint32_t depth) {
    conflict_t ignored;
    bool done;
    if (planner->options.no_inplace || planner_is_spent(planner)) return INSITU_OK;
    if (planner_tensor(planner, carried)->repeats) return INSITU_OK;
    const spills_t before = planner_spills(planner);
    plan_mark_t mark = planner_mark(planner);
    TRY(place_at_depth(planner, carried, place, depth + 1, &done, &ignored));
    if (done) TRY(place_resolve_conflicts(planner, place->storage, &done, &ignored));
    if (done) done = planner_spilled_since(planner, before) == 0;
    if (done) return INSITU_OK;
    planner_undo(planner, mark);
    restore_types(planner, planner_tensor(planner, carried)->root.index);
    return INSITU_OK;
}

static insitu_status place_root(planner_t *planner, uint32_t root, uint32_t storage, const tensor_type_t *layout,
                                uint32_t depth, bool *out_ok, conflict_t *out_conflict) {
    uint32_t index = planner->network->tensors[root].producer.index;
    const layer_t *layer = planner_layer(planner, index);
    bool takes = kind_has(layer->kind, TRAIT_UPDATE) && !planner->options.no_inplace &&
                 !planner_tensor(planner, layer->operands[0])->repeats;
    if (takes) TRY(set_takes(planner, index, true, storage));
    TRY(settle_view_tree(planner, root, storage, layout, out_ok));
    if (!*out_ok) {
        *out_conflict = (conflict_t){NONE, root, NONE};
        return INSITU_OK;
    }
    TRY(place_resolve_conflicts(planner, storage, out_ok, out_conflict));
    plan_operand_t place = {storage, *layout};
    if (*out_ok) TRY(pull(planner, index, &place, depth, out_ok, out_conflict));
    if (*out_ok && layer->kind == LAYER_LOOP)
        TRY(pull_carried(planner, layer->operands[planner->network->tensors[root].index], &place, depth));
    return INSITU_OK;
}

static insitu_status place_at_depth(planner_t *planner, tensor_id_t tensor, const plan_operand_t *target,
                                    uint32_t depth, bool *out_done, conflict_t *out_conflict) {
    tensor_id_t root = planner_tensor(planner, tensor)->root;
    const tensor_plan_t *root_plan = planner_tensor(planner, root);
    *out_conflict = (conflict_t){NONE, tensor.index, NONE};
    if (root_plan->storage != NONE) {
        *out_done = root_plan->storage == target->storage &&
                    type_same_elements(&planner_tensor(planner, tensor)->type, &target->type);
        return INSITU_OK;
    }
    tensor_type_t layout = target->type;
    *out_done = depth <= MAX_PULL_DEPTH && find_root_layout(planner, tensor, &layout);
    if (!*out_done) return INSITU_OK;
    plan_mark_t mark = planner_mark(planner);
    TRY(place_root(planner, root.index, target->storage, &layout, depth, out_done, out_conflict));
    if (!*out_done) {
        planner_undo(planner, mark);
        restore_types(planner, root.index);
    }
    return INSITU_OK;
}

insitu_status place_at(planner_t *planner, tensor_id_t tensor, const plan_operand_t *target, bool *out_done,
                       conflict_t *out_conflict) {
    return place_at_depth(planner, tensor, target, 0, out_done, out_conflict);
}

/* ---- pulling in what a tensor is made of ---- */

/* What may be set aside so that an operand is made in its part: no more than is copied if it is made elsewhere. */
static int64_t part_limit(planner_t *planner, const layer_t *layer, const tensor_type_t *part) {
    int64_t bytes;
    if (layer->kind != LAYER_CONCAT && !layer->assembles) return 0; /* an update stores what it is given */
    return sym_constant(planner->pool, layout_bytes(planner->pool, part), &bytes) ? bytes : INT64_MAX;
}

static insitu_status pull_part(planner_t *planner, uint32_t index, uint32_t operand, const plan_operand_t *place,
                               uint32_t depth) {
    const layer_t *layer = planner_layer(planner, index);
    uint32_t *in_part = &planner->layers[index].in_part[operand];
    plan_operand_t part = {.storage = place->storage};
    conflict_t ignored;
    bool done;
    if (planner_is_spent(planner)) return INSITU_OK;
    if (!planner_part(planner, index, operand, &place->type, &part.type)) return INSITU_OK;
    if (layer->kind == LAYER_AS_STRIDED_UPDATE && !layout_is_apart(planner->pool, &part.type)) return INSITU_OK;
    const spills_t before = planner_spills(planner);
    plan_mark_t mark = planner_mark(planner);
    TRY(planner_set(planner, in_part, true));
    TRY(planner_touch(planner, place->storage, TOUCH_LAYER, index, operand));
    TRY(place_at_depth(planner, layer->operands[operand], &part, depth + 1, &done, &ignored));
    /* A source that lay there before is read by nobody now: what else it takes part in must still hold. */
    if (done) TRY(conflicts_check(planner, place->storage, &done, &ignored));
    if (done) done = planner_spilled_since(planner, before) <= part_limit(planner, layer, &part.type);
    if (!done) {
        uint32_t root = planner_tensor(planner, layer->operands[operand])->root.index;
        planner_undo(planner, mark);
        restore_types(planner, root);
    }
    return INSITU_OK;
}

/* The operand that the result's memory takes over. If it can't be there the node copies it: all of the result is then
 * stored by the node, which needs another check. */
static insitu_status pull_operand(planner_t *planner, uint32_t index, const plan_operand_t *place, uint32_t depth,
                                  bool *out_ok, conflict_t *out_conflict) {
    const layer_t *layer = planner_layer(planner, index);
    conflict_t ignored;
    plan_mark_t mark = planner_mark(planner);
    if (!planner->layers[index].takes_operand) TRY(set_takes(planner, index, true, place->storage));
    *out_ok = !planner_tensor(planner, layer->operands[0])->repeats && !planner_is_spent(planner);
    if (*out_ok) TRY(place_at_depth(planner, layer->operands[0], place, depth + 1, out_ok, &ignored));
    if (*out_ok) TRY(place_resolve_conflicts(planner, place->storage, out_ok, &ignored));
    if (*out_ok) return INSITU_OK;
    planner_undo(planner, mark);
    restore_types(planner, planner_tensor(planner, layer->operands[0])->root.index);
    TRY(set_takes(planner, index, false, place->storage));
    return place_resolve_conflicts(planner, place->storage, out_ok, out_conflict);
}

static insitu_status pull(planner_t *planner, uint32_t index, const plan_operand_t *place, uint32_t depth, bool *out_ok,
                          conflict_t *out_conflict) {
    const layer_t *layer = planner_layer(planner, index);
    *out_ok = true;
    if (planner->options.no_inplace) return INSITU_OK;
    if (kind_has(layer->kind, TRAIT_UPDATE) || layer_is_copy(planner, index)) {
        plan_operand_t operand = *place;
        bool fits = layer->kind != LAYER_RESHAPE ||
                    layout_reshape(planner->pool, &place->type,
                                   &planner->network->tensors[layer->operands[0].index].shape, &operand.type);
        if (fits) TRY(pull_operand(planner, index, &operand, depth, out_ok, out_conflict));
        if (!*out_ok) return INSITU_OK;
    }
    if (kind_has(layer->kind, TRAIT_PART) && planner->layers[index].takes_operand)
        TRY(pull_part(planner, index, 1, place, depth));
    for (uint32_t i = 0; layer->kind == LAYER_CONCAT && i < layer->operand_count; i++)
        TRY(pull_part(planner, index, i, place, depth));
    return INSITU_OK;
}

/* ---- what has no particular place to be ---- */

/* The first of the tensors that updates and copies were made of which has a place; the operand if none has. */
static tensor_id_t find_placed(const planner_t *planner, tensor_id_t operand) {
    tensor_id_t found = operand;
    for (uint32_t links = 0; links < MAX_PULL_DEPTH; links++) {
        const tensor_plan_t *made = planner_tensor(planner, found);
        if (planner_tensor(planner, made->root)->storage != NONE) return found;
        const network_tensor_t *tensor = network_tensor_of(planner->network, found);
        if (made->root.index != found.index || tensor->role != TENSOR_RESULT) return operand;
        const layer_t *layer = planner_layer(planner, tensor->producer.index);
        if (!kind_has(layer->kind, TRAIT_UPDATE) && layer->kind != LAYER_COPY) return operand;
        found = layer->operands[0];
    }
    return operand;
}

/* An update whose operand already has a place, and a copy likewise, may be that place; so may a chain of them. */
static insitu_status place_on_operand(planner_t *planner, tensor_id_t tensor, bool *out_done) {
    uint32_t index = planner->network->tensors[tensor.index].producer.index;
    const layer_t *layer = planner_layer(planner, index);
    conflict_t ignored;
    *out_done = false;
    if (planner->options.no_inplace || planner_is_spent(planner)) return INSITU_OK;
    if (!kind_has(layer->kind, TRAIT_UPDATE) && layer->kind != LAYER_COPY) return INSITU_OK;
    const tensor_id_t base = find_placed(planner, layer->operands[0]);
    plan_operand_t place = planner_place(planner, base);
    if (place.storage == NONE || planner_tensor(planner, base)->repeats) return INSITU_OK;
    const plan_storage_t *storage = &planner->plan->storages[place.storage];
    bool writable =
        storage->kind == STORAGE_ARENA || storage->kind == STORAGE_OUTPUT || planner->storages[place.storage].written;
    bool writes = kind_has(layer->kind, TRAIT_UPDATE) || base.index != layer->operands[0].index;
    if (!writable && writes) return INSITU_OK;
    plan_mark_t mark = planner_mark(planner);
    const spills_t before = planner_spills(planner);
    int64_t cost, own;
    TRY(place_at(planner, tensor, &place, out_done, &ignored));
    if (!*out_done) return INSITU_OK;
    /* An update that serves a state would copy its operand; any other copy is the program's own, and no reason to set old
     * values aside. */
    cost = planner_spilled_since(planner, before);
    if (!sym_constant(planner->pool, layout_bytes(planner->pool, &place.type), &own)) own = INT64_MAX;
    bool serves =
        kind_has(layer->kind, TRAIT_UPDATE) && planner_serves(planner, index) && base.index == layer->operands[0].index;
    *out_done = cost == 0 || (serves && cost <= own);
    if (*out_done) return INSITU_OK;
    planner_undo(planner, mark);
    restore_types(planner, tensor.index);
    return INSITU_OK;
}

insitu_status place_rest(planner_t *planner) {
    const network_t *network = planner->network;
    for (uint32_t i = network->order_count; i-- > 0;) {
        uint32_t index = network->order[i].index;
        const layer_t *layer = planner_layer(planner, index);
        for (uint32_t r = 0; r < layer->result_count && !planner->layers[index].makes_view; r++) {
            tensor_id_t tensor = layer->results[r];
            if (planner_tensor(planner, tensor)->storage != NONE) continue;
            bool done;
            TRY(place_on_operand(planner, tensor, &done));
            if (done) continue;
            plan_operand_t place = {.type = planner_tensor(planner, tensor)->unplaced};
            conflict_t conflict;
            TRY(planner_add_storage(planner, STORAGE_ARENA, 0, layout_bytes(planner->pool, &place.type),
                                    &place.storage));
            TRY(place_at(planner, tensor, &place, &done, &conflict));
            if (!done)
                FAIL(planner->diag, INSITU_INTERNAL, "no place was found for '%s'",
                     network->tensors[tensor.index].name);
        }
    }
    return INSITU_OK;
}
