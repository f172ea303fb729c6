/* Emission: nodes in their final order -> steps of the plan, with the bytes that the counters count. */
#include "planner/planner_int.h"

static sym_t zero(planner_t *planner) { return sym_int(planner->pool, 0); }

/* Bytes of distinct elements: dimensions of stride 0 repeat. */
static sym_t distinct_bytes(planner_t *planner, const tensor_type_t *type) {
    sym_t bytes = sym_int(planner->pool, dtype_size(type->dtype));
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        int64_t stride;
        bool repeats = sym_constant(planner->pool, type->strides[i], &stride) && stride == 0;
        if (!repeats) bytes = sym_mul(planner->pool, bytes, type->shape.sizes[i]);
    }
    return bytes;
}

static storage_kind_t kind_of(const planner_t *planner, const plan_operand_t *operand) {
    return planner->plan->storages[operand->storage].kind;
}

static bool is_written(const planner_t *planner, const plan_operand_t *operand) {
    return planner->storages[operand->storage].written;
}

static void use_storage(planner_t *planner, const plan_operand_t *operand) {
    plan_storage_t *storage = &planner->plan->storages[operand->storage];
    uint32_t step = planner->plan->step_count;
    if (storage->last_step == NONE) storage->first_step = step;
    storage->last_step = step;
}

plan_step_t step_new(planner_t *planner, layer_kind_t layer, const char *name, const char *source) {
    plan_step_t step = {.layer = layer, .name = name, .source = source, .extent = zero(planner)};
    for (uint32_t i = 0; i < COUNTER_COUNT; i++) step.counters[i] = zero(planner);
    return step;
}

/* Appends the step: notes the storages' lifetimes and counts weights. */
insitu_status emit_step(emitter_t *emitter, plan_step_t step) {
    planner_t *planner = emitter->planner;
    plan_t *plan = planner->plan;
    bool gathers = kind_has(step.layer, TRAIT_INDEXED) && !kind_has(step.layer, TRAIT_UPDATE);
    bool writes = false;
    for (uint32_t i = 0; i < step.result_count; i++) {
        use_storage(planner, &step.results[i]);
        writes |= is_written(planner, &step.results[i]);
    }
    for (uint32_t i = 0; i < step.operand_count; i++) {
        use_storage(planner, &step.operands[i]);
        if (kind_of(planner, &step.operands[i]) != STORAGE_WEIGHT) continue;
        bool rows = gathers && i == 0 && step.result_count == 1;
        sym_t bytes =
            rows ? layout_bytes(planner->pool, &step.results[0].type) : distinct_bytes(planner, &step.operands[i].type);
        step.counters[COUNTER_WEIGHT_READ] = sym_add(planner->pool, step.counters[COUNTER_WEIGHT_READ], bytes);
    }
    if (writes && plan->first_write == NONE) plan->first_write = plan->step_count;
    TRY(arena_grow(&plan->arena, &plan->steps, &emitter->step_capacity, plan->step_count + 1, sizeof *plan->steps));
    plan->steps[plan->step_count++] = step;
    return INSITU_OK;
}

insitu_status emit_save(emitter_t *emitter, const plan_step_t *step, uint32_t result) {
    plan_t *plan = emitter->planner->plan;
    undo_t undo;
    TRY(undo_make(emitter->planner, step, result, &undo));
    TRY(arena_grow(&plan->arena, &plan->restores, &emitter->restore_capacity, plan->restore_count + 1,
                   sizeof *plan->restores));
    plan->restores[plan->restore_count++] = (plan_restore_t){undo.restore, plan->step_count};
    return emit_step(emitter, undo.save);
}

insitu_status emit_with(emitter_t *emitter, plan_step_t step, const plan_operand_t *results, uint32_t result_count,
                        const plan_operand_t *operands, uint32_t operand_count) {
    planner_t *planner = emitter->planner;
    plan_t *plan = planner->plan;
    TRY(arena_copy(&plan->arena, results, result_count * sizeof *results, &step.results));
    TRY(arena_copy(&plan->arena, operands, operand_count * sizeof *operands, &step.operands));
    step.result_count = result_count;
    step.operand_count = operand_count;
    for (uint32_t i = 0; emitter->saves && i < result_count; i++)
        if (is_written(planner, &results[i])) TRY(emit_save(emitter, &step, i));
    return emit_step(emitter, step);
}

/* A copy step; sizes may differ (reshape), then one side is viewed with the other's sizes where that is possible. */
static insitu_status emit_copy(emitter_t *emitter, plan_operand_t target, plan_operand_t source, const char *name,
                               const char *where, sym_t copied, sym_t output_copied) {
    planner_t *planner = emitter->planner;
    plan_step_t step = step_new(planner, LAYER_COPY, name, where);
    step.counters[COUNTER_STATE_COPIED] = copied;
    step.counters[COUNTER_OUTPUT_COPIED] = output_copied;
    tensor_type_t view;
    if (!shape_same(&target.type.shape, &source.type.shape)) {
        if (layout_reshape(planner->pool, &target.type, &source.type.shape, &view))
            target.type = view;
        else if (layout_reshape(planner->pool, &source.type, &target.type.shape, &view))
            source.type = view;
    }
    if (is_written(planner, &target)) {
        step.counters[COUNTER_STATE_WRITTEN] = layout_bytes(planner->pool, &target.type);
        if (target.storage == source.storage) {
            int64_t held;
            TRY(layout_held_bytes(planner, &source.type, &target.type, &held));
            step.counters[COUNTER_STATE_MOVED] = step.counters[COUNTER_STATE_WRITTEN];
            step.counters[COUNTER_STATE_COPIED] =
                sym_add(planner->pool, step.counters[COUNTER_STATE_COPIED], sym_int(planner->pool, held));
        }
    }
    return emit_with(emitter, step, &target, 1, &source, 1);
}

/* A tensor's place, or that of the copy which is read in its stead. */
static plan_operand_t place_of(planner_t *planner, tensor_id_t tensor, uint32_t aside) {
    plan_operand_t place = planner_place(planner, tensor), copy;
    bool lies_there = aside != NONE && planner_aside(planner, aside, tensor, &copy);
    return lies_there ? copy : place; /* spill has found that it does */
}

plan_operand_t layer_operand_place(planner_t *planner, uint32_t layer, uint32_t operand) {
    return place_of(planner, planner_layer(planner, layer)->operands[operand], planner->layers[layer].spill[operand]);
}

/* Is a value that is stored one that the program computes, and that lies in no other state? */
static bool is_computed(const planner_t *planner, tensor_id_t tensor, const plan_operand_t *place) {
    return !planner_tensor(planner, planner_tensor(planner, tensor)->root)->fixed && !is_written(planner, place);
}

/* Is what is stored here a computed value that lies elsewhere, or such an old one? */
static bool stores_copy(const planner_t *planner, const plan_operand_t *target, tensor_id_t tensor,
                        const plan_operand_t *source, uint32_t aside) {
    return is_written(planner, target) && (is_computed(planner, tensor, source) || returns_old(planner, aside));
}

/* The copy of its operand that an update makes which can't take it over. It counts where the update serves a state: else
 * the program makes a tensor for itself, as it does where a result of the call goes. */
static insitu_status emit_whole(emitter_t *emitter, uint32_t index, const plan_operand_t *result) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, index);
    plan_operand_t operand = layer_operand_place(planner, index, 0);
    bool stored = stores_copy(planner, result, layer->operands[0], &operand, planner->layers[index].spill[0]);
    bool aside =
        !is_written(planner, result) && is_written(planner, &operand) && kind_of(planner, result) != STORAGE_OUTPUT;
    bool copied = planner_serves(planner, index) && (stored || aside);
    sym_t bytes = copied ? layout_bytes(planner->pool, &result->type) : zero(planner);
    return emit_copy(emitter, *result, operand, layer->name, layer->source, bytes, zero(planner));
}

static insitu_status emit_parts(emitter_t *emitter, uint32_t index, const plan_operand_t *result, uint32_t first) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, index);
    for (uint32_t i = first; i < layer->operand_count; i++) {
        plan_operand_t part = {.storage = result->storage};
        if (planner->layers[index].in_part[i]) continue;
        if (!planner_part(planner, index, i, &result->type, &part.type))
            FAIL(planner->diag, INSITU_INTERNAL, "'%s' has no part %u", layer->name, i);
        plan_operand_t source = layer_operand_place(planner, index, i);
        bool whole = layer->kind == LAYER_CONCAT || layer->assembles;
        bool copied = stores_copy(planner, result, layer->operands[i], &source, planner->layers[index].spill[i]);
        sym_t bytes = zero(planner);
        if (copied && whole) bytes = layout_bytes(planner->pool, &part.type);
        if (copied && !whole) {
            bytes = old_part_bytes(planner, index, i, result->storage);
            TRY(explain_stored_back(planner, index, result->storage, bytes));
        }
        TRY(emit_copy(emitter, part, source, layer->name, layer->source, bytes, zero(planner)));
    }
    return INSITU_OK;
}

sym_t update_bytes(planner_t *planner, uint32_t index) {
    const layer_t *layer = planner_layer(planner, index);
    const tensor_id_t counted = layer->operands[layer_info_of(layer->kind)->counted];
    const network_tensor_t *elements = network_tensor_of(planner->network, counted);
    dtype_t type = network_tensor_of(planner->network, layer->results[0])->dtype;
    return sym_mul(planner->pool, shape_numel(planner->pool, &elements->shape),
                   sym_int(planner->pool, dtype_size(type)));
}

static insitu_status copy_attrs(planner_t *planner, const layer_t *layer, const attr_t **out_attrs) {
    uint32_t count = layer_info_of(layer->kind)->attr_count;
    attr_t *attrs;
    TRY(arena_array(&planner->plan->arena, count, sizeof *attrs, &attrs));
    for (uint32_t i = 0; i < count; i++) {
        attrs[i] = layer->attrs[i];
        if (attrs[i].kind != ATTR_KIND_SYMS) continue;
        TRY(arena_copy(&planner->plan->arena, layer->attrs[i].list.items,
                       layer->attrs[i].list.count * sizeof *layer->attrs[i].list.items, &attrs[i].list.items));
    }
    *out_attrs = attrs;
    return INSITU_OK;
}

/* Old elements of the state that an update puts at positions, or where a mask is true, out of other memory. */
static insitu_status count_stored_back(planner_t *planner, uint32_t index, const plan_operand_t *result,
                                       const plan_operand_t *source, plan_step_t *step) {
    const layer_t *layer = planner_layer(planner, index);
    const network_t *network = planner->network;
    bool puts = layer->kind == LAYER_MASK_UPDATE ||
                (layer->kind == LAYER_INDEX_UPDATE && layer_attr_int(network, layer, ATTR_ACCUMULATE) == 0) ||
                (layer->kind == LAYER_SCATTER_UPDATE && layer_attr(layer, ATTR_OP).op == OP_ASSIGN);
    if (!puts || !stores_copy(planner, result, layer->operands[1], source, planner->layers[index].spill[1]))
        return INSITU_OK;
    step->counters[COUNTER_STATE_COPIED] = old_part_bytes(planner, index, 1, result->storage);
    return explain_stored_back(planner, index, result->storage, step->counters[COUNTER_STATE_COPIED]);
}

static insitu_status emit_layer_step(emitter_t *emitter, uint32_t index, const plan_operand_t *results) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, index);
    plan_operand_t *operands;
    TRY(arena_array(&planner->scratch, layer->operand_count + 1, sizeof *operands, &operands));
    for (uint32_t i = 0; i < layer->operand_count; i++) operands[i] = layer_operand_place(planner, index, i);
    plan_step_t step = step_new(planner, layer->kind, layer->name, layer->source);
    TRY(copy_attrs(planner, layer, &step.attrs));
    bool update = kind_has(layer->kind, TRAIT_UPDATE);
    if (update) operands[0] = results[0];
    for (uint32_t i = 0; i < layer->result_count; i++) {
        if (!is_written(planner, &results[i])) continue;
        sym_t bytes = update ? update_bytes(planner, index) : layout_bytes(planner->pool, &results[i].type);
        step.counters[COUNTER_STATE_WRITTEN] = sym_add(planner->pool, step.counters[COUNTER_STATE_WRITTEN], bytes);
    }
    if (update) TRY(count_stored_back(planner, index, &results[0], &operands[1], &step));
    if (layer->kind == LAYER_SHIFT_UPDATE && is_written(planner, &results[0])) {
        sym_t added = shape_numel(planner->pool, &network_tensor_of(planner->network, layer->operands[1])->shape);
        sym_t size = sym_int(planner->pool, dtype_size(results[0].type.dtype));
        sym_t moved = sym_sub(planner->pool, step.counters[COUNTER_STATE_WRITTEN], sym_mul(planner->pool, added, size));
        step.counters[COUNTER_STATE_MOVED] = sym_max(planner->pool, moved, zero(planner));
    }
    if (layer->kind == LAYER_ITEM) emitter->check_step = planner->plan->step_count;
    return emit_with(emitter, step, results, layer->result_count, operands, layer->operand_count);
}

insitu_status emit_layer_copy(emitter_t *emitter, uint32_t index, uint32_t operand, plan_operand_t target) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, index);
    plan_operand_t source = layer_operand_place(planner, index, operand);
    bool copied =
        stores_copy(planner, &target, layer->operands[operand], &source, planner->layers[index].spill[operand]);
    return emit_copy(emitter, target, source, layer->name, layer->source,
                     copied ? layout_bytes(planner->pool, &target.type) : zero(planner), zero(planner));
}

static insitu_status emit_layer(emitter_t *emitter, uint32_t index) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, index);
    const layer_plan_t *decided = &planner->layers[index];
    if (decided->makes_view || layer->kind == LAYER_EMPTY) return INSITU_OK;
    plan_operand_t *results;
    TRY(arena_array(&planner->scratch, layer->result_count + 1, sizeof *results, &results));
    for (uint32_t i = 0; i < layer->result_count; i++) results[i] = planner_place(planner, layer->results[i]);
    if (layer_is_copy(planner, index)) {
        return decided->takes_operand ? INSITU_OK : emit_layer_copy(emitter, index, 0, results[0]);
    }
    if (kind_has(layer->kind, TRAIT_REGIONS)) return emit_control(emitter, index, results);
    if (layer->kind == LAYER_CONCAT) return emit_parts(emitter, index, &results[0], 0);
    if (kind_has(layer->kind, TRAIT_UPDATE) && !decided->takes_operand) TRY(emit_whole(emitter, index, &results[0]));
    if (kind_has(layer->kind, TRAIT_PART)) return emit_parts(emitter, index, &results[0], 1);
    return emit_layer_step(emitter, index, results);
}

static insitu_status emit_planned_copy(emitter_t *emitter, const planned_copy_t *copy) {
    planner_t *planner = emitter->planner;
    plan_operand_t source = place_of(planner, copy->source, copy->spill);
    sym_t bytes = layout_bytes(planner->pool, &copy->target.type), none = zero(planner);
    const network_tensor_t *tensor = network_tensor_of(planner->network, copy->source);
    bool from_caller = !is_computed(planner, copy->source, &source);
    bool copied = copy->purpose == COPY_SET_ASIDE || (copy->purpose == COPY_WRITE_BACK && !from_caller) ||
                  (copy->purpose == COPY_WRITE_BACK && returns_old(planner, copy->spill));
    bool output = copy->purpose == COPY_OUTPUT && from_caller;
    return emit_copy(emitter, copy->target, source, tensor->name, "", copied ? bytes : none, output ? bytes : none);
}

static insitu_status emit_check(emitter_t *emitter, const plan_node_t *node) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, node->index);
    index_operand_t indexed[MAX_RANK];
    uint32_t count = layer_index_operands(planner->pool, layer->kind, layer->attrs, layer->operand_count, indexed);
    for (uint32_t i = 0; i < count; i++) {
        if (indexed[i].operand != node->operand) continue;
        plan_operand_t operand = planner_place(planner, layer->operands[node->operand]);
        plan_step_t step = step_new(planner, layer->kind, layer->name, layer->source);
        step.kind = STEP_CHECK_INDEX;
        step.extent = network_tensor_of(planner->network, layer->operands[0])->shape.sizes[indexed[i].dim];
        step.wrap = indexed[i].wrap;
        emitter->check_step = planner->plan->step_count;
        TRY(emit_with(emitter, step, NULL, 0, &operand, 1));
    }
    return INSITU_OK;
}

/* A backend may go on behind a check that fails, to the first step that reads through an index, writes a state or
 * is the runtime's. */
static uint32_t find_stop(const planner_t *planner, uint32_t check) {
    const plan_t *plan = planner->plan;
    for (uint32_t i = check + 1; i < plan->step_count; i++) {
        const plan_step_t *step = &plan->steps[i];
        if (step_is_host(step)) return i - 1;
        if (step->kind == STEP_LAYER && kind_has(step->layer, TRAIT_INDEXED)) return i;
        for (uint32_t r = 0; r < step->result_count; r++)
            if (is_written(planner, &step->results[r])) return i;
    }
    return plan->step_count - 1;
}

/* The last save is undone first; what a restore reads lives until a call that fails at the last check has ended. */
static void finish_restores(const emitter_t *emitter) {
    plan_t *plan = emitter->planner->plan;
    const uint32_t stop = plan->restore_count ? find_stop(emitter->planner, emitter->check_step) : 0;
    for (uint32_t i = 0; i < plan->restore_count / 2; i++) {
        plan_restore_t swap = plan->restores[i];
        plan->restores[i] = plan->restores[plan->restore_count - 1 - i];
        plan->restores[plan->restore_count - 1 - i] = swap;
    }
    for (uint32_t i = 0; i < plan->restore_count; i++)
        for (uint32_t k = 0; k < plan->restores[i].step.operand_count; k++) {
            plan_storage_t *storage = &plan->storages[plan->restores[i].step.operands[k].storage];
            if (storage->last_step < stop) storage->last_step = stop;
        }
}

insitu_status emit_steps(planner_t *planner) {
    emitter_t emitter = {.planner = planner};
    plan_t *plan = planner->plan;
    uint32_t count = planner->order.node_count;
    uint32_t *keys, *nodes;
    TRY(arena_array(&planner->scratch, count + 1, sizeof *keys, &keys));
    TRY(arena_array(&planner->scratch, count + 1, sizeof *nodes, &nodes));
    for (uint32_t i = 0; i < count; i++) keys[i] = planner->nodes[i].key;
    TRY(order_sort(&planner->order, keys, &planner->scratch, nodes));
    plan->first_write = NONE;
    for (uint32_t i = 0; i < count; i++) {
        const plan_node_t *node = &planner->nodes[nodes[i]];
        emitter.saves = node->saves;
        emitter.saves_own = node->saves_own;
        if (node->kind == NODE_LAYER) TRY(emit_layer(&emitter, node->index));
        if (node->kind == NODE_CHECK) TRY(emit_check(&emitter, node));
        if (node->kind == NODE_COPY && planner->copies[node->index]->active)
            TRY(emit_planned_copy(&emitter, planner->copies[node->index]));
    }
    if (plan->first_write == NONE) plan->first_write = plan->step_count;
    finish_restores(&emitter);
    return INSITU_OK;
}
