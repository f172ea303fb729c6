/* Placement of final values (state tensors and mutated inputs) and of results.
 *
 * A final value is first tried in the tensor's own memory, where old values that are needed later are set aside: copied
 * into the arena before they are stored over. If that is impossible, or moves more bytes than the tensor has, the value
 * is built elsewhere and written back by a copy after the last reader of the old value. */
#include "planner/planner_int.h"
#include <stdlib.h>

/* ---- setting old values aside ---- */

/* Old values that are set aside; returned: and those that are stored from results which hold them. */
static spills_t sum_old(planner_t *planner, bool returned) {
    spills_t sum = {0, 0};
    for (uint32_t i = 0; i < planner->copy_count; i++) {
        const planned_copy_t *copy = planner->copies[i];
        planner->steps++;
        bool stored = returned && copy->purpose == COPY_WRITE_BACK && returns_old(planner, copy->spill);
        if (!copy->active || (copy->purpose != COPY_SET_ASIDE && !stored)) continue;
        sum.count++;
        if (copy->bytes == INT64_MAX || !checked_add(sum.bytes, copy->bytes, &sum.bytes)) sum.bytes = INT64_MAX;
    }
    return sum;
}

spills_t planner_spills(planner_t *planner) { return sum_old(planner, false); }

int64_t planner_spilled_since(planner_t *planner, spills_t before) {
    spills_t now = sum_old(planner, false);
    if (now.count == before.count) return 0;
    return now.bytes == INT64_MAX ? INT64_MAX : now.bytes - before.bytes;
}

static uint32_t find_spill(const planner_t *planner, uint32_t tensor) {
    for (uint32_t i = 0; i < planner->copy_count; i++)
        if (planner->copies[i]->active && planner->copies[i]->purpose == COPY_SET_ASIDE &&
            planner->copies[i]->source.index == tensor)
            return i;
    return NONE;
}

/* A copy that the program needs anyway, in which the tensor's elements lie: a result, or another state's new value, which
 * stays where it is. */
static bool stands_for(planner_t *planner, uint32_t index, uint32_t tensor, uint32_t reader) {
    const planned_copy_t *copy = planner->copies[index];
    if (!copy->active || copy->node == reader || copy->spill != NONE) return false;
    if (!planner_tensor(planner, planner->tensors[tensor].root)->fixed) return false;
    plan_operand_t ignored;
    return planner_aside(planner, index, (tensor_id_t){tensor}, &ignored) &&
           !order_is_before(&planner->order, reader, copy->node);
}

static insitu_status find_standing(planner_t *planner, uint32_t tensor, uint32_t reader, uint32_t *out_copy) {
    *out_copy = NONE;
    static const copy_purpose_t purposes[] = {COPY_WRITE_BACK, COPY_OUTPUT};
    for (uint32_t k = 0; k < COUNT_OF(purposes); k++)
        for (uint32_t i = 0; i < planner->copy_count && *out_copy == NONE; i++)
            if (planner->copies[i]->purpose == purposes[k] && stands_for(planner, i, tensor, reader)) *out_copy = i;
    return *out_copy == NONE ? INSITU_OK : planner_set(planner, &planner->copies[*out_copy]->is_read, true);
}

/* The reader reads a copy of the tensor that is made before it is stored over. *out_done false: it can't. */
static insitu_status spill(planner_t *planner, const conflict_t *conflict, bool *out_done) {
    const plan_node_t *reader = &planner->nodes[conflict->reader];
    *out_done = false;
    if (conflict->tensor == NONE || (reader->kind != NODE_LAYER && reader->kind != NODE_COPY)) return INSITU_OK;
    if (reader->kind == NODE_COPY && planner->copies[reader->index]->purpose == COPY_SET_ASIDE) return INSITU_OK;
    tensor_id_t tensor = {conflict->tensor};
    uint32_t copy = find_spill(planner, conflict->tensor);
    if (copy == NONE) TRY(find_standing(planner, conflict->tensor, conflict->reader, &copy));
    if (copy == NONE) {
        plan_operand_t target;
        layout_dense(planner->pool, planner->network->tensors[tensor.index].dtype,
                     &planner->network->tensors[tensor.index].shape, &target.type);
        TRY(planner_add_storage(planner, STORAGE_ARENA, 0, layout_bytes(planner->pool, &target.type), &target.storage));
        TRY(planner_add_copy(planner, COPY_SET_ASIDE, tensor, &target, NONE, &copy));
    }
    TRY(order_add(&planner->order, planner->copies[copy]->node, conflict->reader, out_done));
    if (!*out_done) return INSITU_OK;
    if (reader->kind == NODE_COPY) return planner_set(planner, &planner->copies[reader->index]->spill, copy);
    const layer_t *layer = planner_layer(planner, reader->index);
    *out_done = false;
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        const layer_plan_t *decided = &planner->layers[reader->index];
        bool taken = i == 0 && decided->takes_operand && kind_has(layer->kind, TRAIT_UPDATE);
        if (layer->operands[i].index != conflict->tensor || taken || decided->in_part[i] || decided->spill[i] != NONE)
            continue;
        TRY(planner_set(planner, &decided->spill[i], copy));
        *out_done = true;
    }
    return INSITU_OK;
}

/* One more set-aside a round; every reader is redirected at most once, which bounds the rounds. */
static insitu_status settle(planner_t *planner, uint32_t storage, bool is_trial, bool *out_ok,
                            conflict_t *out_conflict) {
    for (;;) {
        plan_mark_t mark = planner_mark(planner);
        TRY(conflicts_check(planner, storage, out_ok, out_conflict));
        if (*out_ok || !planner->storages[storage].written) return INSITU_OK;
        if (is_trial && planner_is_spent(planner)) return INSITU_OK;
        planner_undo(planner, mark);
        bool done;
        TRY(spill(planner, out_conflict, &done));
        if (!done) return INSITU_OK;
    }
}

insitu_status place_resolve_conflicts(planner_t *planner, uint32_t storage, bool *out_ok, conflict_t *out_conflict) {
    return settle(planner, storage, true, out_ok, out_conflict);
}

/* ---- final values ---- */

/* Where a cycle of readers and writers is cut depends on whether the copy's target or its source is looked at first. */
static insitu_status try_write_back(planner_t *planner, uint32_t index, bool source_first, bool *out_ok) {
    state_target_t *final = &planner->finals[index];
    uint32_t copy, source = planner_tensor(planner, final->next)->storage;
    conflict_t conflict;
    *out_ok = true;
    TRY(planner_add_copy(planner, COPY_WRITE_BACK, final->next, &final->place, index, &copy));
    TRY(planner_add_end_read(planner, NONE, copy));
    if (source_first && source != NONE) TRY(settle(planner, source, false, out_ok, &conflict));
    if (*out_ok) TRY(settle(planner, final->place.storage, false, out_ok, &conflict));
    if (*out_ok && source != NONE) TRY(settle(planner, source, false, out_ok, &conflict));
    return INSITU_OK;
}

static insitu_status write_back(planner_t *planner, uint32_t index) {
    plan_mark_t mark = planner_mark(planner);
    int64_t before = sum_old(planner, true).bytes, cost = INT64_MAX;
    bool ok;
    TRY(try_write_back(planner, index, false, &ok));
    if (ok) cost = sum_old(planner, true).bytes;
    if (ok && cost <= before) return INSITU_OK;
    planner_undo(planner, mark);
    TRY(try_write_back(planner, index, true, &ok));
    if (ok && sum_old(planner, true).bytes < cost) return INSITU_OK;
    planner_undo(planner, mark);
    TRY(try_write_back(planner, index, false, &ok));
    if (!ok)
        FAIL(planner->diag, INSITU_UNSUPPORTED, "no schedule writes the new value of '%s' back",
             planner->finals[index].name);
    return INSITU_OK;
}

static insitu_status place_final(planner_t *planner, uint32_t index) {
    state_target_t *final = &planner->finals[index];
    const spills_t before = planner_spills(planner);
    plan_mark_t mark = planner_mark(planner);
    conflict_t conflict = {NONE, NONE, NONE};
    bool in_place = !planner->options.no_inplace || final->next.index == final->start.index;
    TRY(planner_set(planner, &planner->copies[final->reader]->active, false));
    TRY(planner_add_end_read(planner, final->next.index, NONE));
    if (in_place) TRY(place_at(planner, final->next, &final->place, &in_place, &conflict));
    if (in_place) TRY(place_resolve_conflicts(planner, final->place.storage, &in_place, &conflict));
    if (in_place && planner_spilled_since(planner, before) <= final->bytes) {
        final->in_place = true;
        return explain_spills(planner);
    }
    planner_undo(planner, mark);
    if (planner->options.no_inplace)
        final->reason = "in-place updates are switched off";
    else
        TRY(explain_write_back(planner, final, &conflict));
    TRY(write_back(planner, index));
    TRY(planner_set(planner, &planner->copies[final->reader]->active, false));
    return explain_spills(planner);
}

static int by_bytes(const void *a, const void *b) {
    const state_target_t *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->is_input != y->is_input ? (x->is_input < y->is_input ? -1 : 1) : (x->index < y->index ? -1 : 1);
}

/* Another state that has elements of this one gets a new value. */
static bool shares_written(const planner_t *planner, uint32_t index) {
    const network_state_t *states = planner->network->states;
    const tensor_type_t *type = &planner_tensor(planner, states[index].tensor)->type;
    for (uint32_t i = 0; states[index].record != NONE && i < planner->network->state_count; i++)
        if (states[i].record == states[index].record && states[i].next.index != NONE &&
            region_overlaps(planner->pool, type, &planner_tensor(planner, states[i].tensor)->type))
            return true;
    return false;
}

/* A state that is given no new value has its own when the call ends. */
static insitu_status keep_states(planner_t *planner) {
    const network_t *network = planner->network;
    for (uint32_t i = 0; i < network->state_count; i++)
        if (network->states[i].next.index == NONE && !shares_written(planner, i))
            TRY(planner_add_end_read(planner, network->states[i].tensor.index, NONE));
    return INSITU_OK;
}

insitu_status place_finals(planner_t *planner) {
    TRY(keep_states(planner));
    qsort(planner->finals, planner->final_count, sizeof *planner->finals, by_bytes);
    order_finals(planner);
    for (uint32_t i = 0; i < planner->final_count; i++) TRY(place_final(planner, i));
    return INSITU_OK;
}

/* ---- results ---- */

/* A state tensor, a mutated input, or a view of one is returned as itself, if it is intact at the end. */
static insitu_status return_alias(planner_t *planner, tensor_id_t tensor, bool *out_done) {
    plan_operand_t place = planner_place(planner, tensor);
    conflict_t ignored;
    *out_done = place.storage != NONE && planner->storages[place.storage].written;
    if (!*out_done) return INSITU_OK;
    plan_mark_t mark = planner_mark(planner);
    TRY(planner_add_end_read(planner, tensor.index, NONE));
    TRY(conflicts_check(planner, place.storage, out_done, &ignored));
    if (!*out_done) planner_undo(planner, mark);
    return INSITU_OK;
}

/* A final value that was written back lies in its state as well as elsewhere. */
static const state_target_t *written_back(const planner_t *planner, tensor_id_t tensor) {
    for (uint32_t i = 0; i < planner->final_count; i++)
        if (!planner->finals[i].in_place && planner->finals[i].next.index == tensor.index) return &planner->finals[i];
    return NULL;
}

/* The place of the input that the caller wants the output to be; NULL. */
static const plan_operand_t *wanted_place(const planner_t *planner, const network_output_t *output) {
    for (uint32_t i = 0; output->is_input && i < planner->final_count; i++)
        if (planner->finals[i].is_input && planner->finals[i].index == output->input) return &planner->finals[i].place;
    return NULL;
}

insitu_status place_readers(planner_t *planner) {
    for (uint32_t i = 0; i < planner->final_count; i++) {
        state_target_t *final = &planner->finals[i];
        plan_operand_t nowhere = {.type = final->place.type};
        TRY(planner_add_storage(planner, STORAGE_ARENA, 0, sym_int(planner->pool, 0), &nowhere.storage));
        TRY(planner_add_copy(planner, COPY_READER, final->next, &nowhere, NONE, &final->reader));
    }
    for (uint32_t i = 0; i < planner->network->output_count; i++) {
        const network_output_t *output = &planner->network->outputs[i];
        plan_operand_t *place = &planner->plan->outputs[i].operand;
        if (output->kind != OUTPUT_TENSOR) continue;
        const plan_operand_t *wanted = wanted_place(planner, output);
        if (wanted) {
            *place = *wanted; /* which holds the value when the call ends */
            continue;
        }
        const network_tensor_t *tensor = network_tensor_of(planner->network, output->tensor);
        layout_dense(planner->pool, tensor->dtype, &tensor->shape, &place->type);
        TRY(planner_add_storage(planner, STORAGE_OUTPUT, i, layout_bytes(planner->pool, &place->type),
                                &place->storage));
        TRY(planner_add_copy(planner, COPY_OUTPUT, output->tensor, place, NONE, &planner->output_copies[i]));
    }
    return INSITU_OK;
}

/* A result that can neither be its state or input nor be made in its own memory is copied there. */
static insitu_status place_output(planner_t *planner, uint32_t index) {
    const network_output_t *output = &planner->network->outputs[index];
    plan_output_t *planned = &planner->plan->outputs[index];
    planned_copy_t *copy = planner->copies[planner->output_copies[index]];
    conflict_t conflict;
    bool done;
    if (copy->is_read) return INSITU_OK; /* what it copies is read there */
    const state_target_t *final = written_back(planner, output->tensor);
    if (final) {
        planned->operand = final->place;
        return planner_set(planner, &copy->active, false);
    }
    plan_mark_t mark = planner_mark(planner);
    TRY(planner_set(planner, &copy->active, false));
    TRY(return_alias(planner, output->tensor, &done));
    if (done) {
        planned->operand = planner_place(planner, output->tensor);
        return INSITU_OK;
    }
    if (planner_tensor(planner, output->tensor)->storage == NONE) {
        TRY(planner_add_end_read(planner, output->tensor.index, NONE));
        TRY(place_at(planner, output->tensor, &planned->operand, &done, &conflict));
        if (done) return INSITU_OK;
    }
    planner_undo(planner, mark);
    return INSITU_OK;
}

insitu_status place_outputs(planner_t *planner) {
    for (uint32_t i = 0; i < planner->network->output_count; i++)
        if (planner->output_copies[i] != NONE) TRY(place_output(planner, i));
    return INSITU_OK;
}
