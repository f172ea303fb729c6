/* Why something is copied for a final value, in words, and the smallest change of the model that would avoid it. */
#include "planner/planner_int.h"

/* ---- a value that is built elsewhere and written back ---- */

/* What lies between the value and what computes it. */
static insitu_status explain_layout(planner_t *planner, state_target_t *final) {
    arena_t *arena = &planner->plan->arena;
    const char *maker = "";
    tensor_id_t at = final->next;
    bool is_part = false, repeats = false;
    for (; !tensor_is_root(planner, at);
         at = planner_layer(planner, planner_tensor(planner, at)->view.index)->operands[0]) {
        layer_kind_t kind = planner_layer(planner, planner_tensor(planner, at)->view.index)->kind;
        is_part |= kind_has(kind, TRAIT_SUBSET);
        repeats |= kind_has(kind, TRAIT_REPEAT);
    }
    const char *name = network_tensor_of(planner->network, at)->name;
    if (planner_tensor(planner, at)->fixed) {
        final->advice = "let the caller exchange the tensors, or keep the state in the layout in which it is given";
        return arena_printf(arena, &final->reason, "its new value is %s of '%s'", is_part ? "a part" : "a view", name);
    }
    TRY(node_describe(planner, tensor_node(planner, at), &maker));
    if (is_part) {
        final->advice = "let the state hold all that is computed, or compute the part by an operator of its own";
        return arena_printf(arena, &final->reason, "its new value is a part of what %s computes", maker);
    }
    if (repeats) {
        final->advice = "keep the value once in the state and expand it where it is read";
        return arena_printf(arena, &final->reason, "its new value repeats what %s computes", maker);
    }
    final->advice = "keep the state in the layout in which it is computed, and permute it where it is read";
    return arena_printf(arena, &final->reason, "what %s computes also lies elsewhere, or in another layout", maker);
}

insitu_status explain_write_back(planner_t *planner, state_target_t *final, const conflict_t *conflict) {
    const char *reader = "", *writer = "";
    if (conflict->reader == NONE) return explain_layout(planner, final);
    if (conflict->reader == planner->commit_point) {
        final->reason = "a check needs the new value before anything may be written";
        final->advice = "check what the value is computed from instead of the value";
        return INSITU_OK;
    }
    final->advice = "let the caller exchange the tensors, or return the new value";
    if (conflict->reader == planner->end) {
        final->reason = "its old value is returned, or is another tensor's new value";
        return INSITU_OK;
    }
    TRY(node_describe(planner, conflict->reader, &reader));
    if (conflict->writer != NONE) TRY(node_describe(planner, conflict->writer, &writer));
    TRY(arena_printf(&planner->plan->arena, &final->advice, "let %s read the new value, or compute it before %s",
                     reader, writer));
    return arena_printf(&planner->plan->arena, &final->reason, "%s reads the old value after %s writes", reader,
                        writer);
}

/* ---- old values that are set aside ---- */

static bool reads_copy(const planner_t *planner, uint32_t node, uint32_t copy) {
    const plan_node_t *n = &planner->nodes[node];
    if (n->kind == NODE_COPY) return planner->copies[n->index]->active && planner->copies[n->index]->spill == copy;
    if (n->kind != NODE_LAYER) return false;
    for (uint32_t k = 0; k < planner_layer(planner, n->index)->operand_count; k++)
        if (planner->layers[n->index].spill[k] == copy) return true;
    return false;
}

/* The final in whose memory the tensor lies; NONE. */
static uint32_t final_of(const planner_t *planner, tensor_id_t tensor) {
    for (uint32_t i = 0; i < planner->final_count; i++)
        if (planner->finals[i].place.storage == planner_tensor(planner, tensor)->storage) return i;
    return NONE;
}

static insitu_status advise(planner_t *planner, state_target_t *final, uint32_t node, const char *reader) {
    const plan_node_t *n = &planner->nodes[node];
    if (n->kind == NODE_COPY) {
        final->advice = "let the caller exchange the two tensors from call to call";
        return INSITU_OK;
    }
    switch ((int)planner_layer(planner, n->index)->kind) {
    case LAYER_SHIFT_UPDATE:
    case LAYER_SLICE_UPDATE:
    case LAYER_AS_STRIDED_UPDATE:
    case LAYER_CONCAT:
        final->advice = "keep a position that goes round (a ring) instead of moving what the state holds";
        return INSITU_OK;
    case LAYER_INDEX:
    case LAYER_GATHER:
    case LAYER_INDEX_UPDATE:
    case LAYER_SCATTER_UPDATE:
        final->advice = "select the rows where the state is read instead of reordering it";
        return INSITU_OK;
    default:
        return arena_printf(&planner->plan->arena, &final->advice,
                            "let %s read the new value, or only the part of the old one that it needs", reader);
    }
}

/* Each is a copy for the sake of the tensor that it is the old value of. */
insitu_status explain_spills(planner_t *planner) {
    for (uint32_t i = 0; i < planner->copy_count; i++) {
        planned_copy_t *copy = planner->copies[i];
        if (!copy->active || copy->purpose != COPY_SET_ASIDE || copy->final != NONE) continue;
        copy->final = final_of(planner, copy->source);
        if (copy->final == NONE) continue;
        state_target_t *final = &planner->finals[copy->final];
        const char *reader = "a later layer";
        uint32_t node = 0;
        while (node < planner->order.node_count && !reads_copy(planner, node, i)) node++;
        if (node < planner->order.node_count) {
            TRY(node_describe(planner, node, &reader));
            TRY(advise(planner, final, node, reader));
        }
        TRY(arena_printf(&planner->plan->arena, &final->reason, "%s reads the old value after the write", reader));
    }
    return INSITU_OK;
}

/* ---- old elements that an update stores back ---- */

/* The first such update is named, where nothing else has been. */
insitu_status explain_stored_back(planner_t *planner, uint32_t layer, uint32_t storage, sym_t bytes) {
    if (sym_same(bytes, sym_int(planner->pool, 0))) return INSITU_OK;
    for (uint32_t i = 0; i < planner->final_count; i++) {
        state_target_t *final = &planner->finals[i];
        if (final->place.storage != storage || final->reason) continue;
        const char *name = planner_layer(planner, layer)->name, *source = planner_layer(planner, layer)->source;
        const char *open = *source ? " (" : "", *close = *source ? ")" : "";
        final->advice = "read the rows or elements where they lie instead of storing them again";
        TRY(arena_printf(&planner->plan->arena, &final->reason,
                         "%s%s%s%s stores back old elements of the state, which other memory held", name, open, source,
                         close));
    }
    return INSITU_OK;
}
