/* network -> plan: sets up the planner's tables, lets placement decide, emits steps and the report. */
#include "planner/planner_int.h"
#include <string.h>

enum { STEPS_A_LAYER = 1 << 10 }; /* what a plan costs beside the search */

/* ---- tables ---- */

static insitu_status build_uses(planner_t *planner) {
    const network_t *network = planner->network;
    uint32_t total = 0;
    TRY(arena_array(&planner->scratch, network->tensor_count + 2, sizeof *planner->use_start, &planner->use_start));
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = planner_layer(planner, network->order[i].index);
        for (uint32_t k = 0; k < layer->operand_count; k++) planner->use_start[layer->operands[k].index + 2]++;
        total += layer->operand_count;
    }
    TRY(arena_array(&planner->scratch, total + 1, sizeof *planner->uses, &planner->uses));
    for (uint32_t t = 2; t < network->tensor_count + 2; t++) planner->use_start[t] += planner->use_start[t - 1];
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = planner_layer(planner, network->order[i].index);
        for (uint32_t k = 0; k < layer->operand_count; k++)
            planner->uses[planner->use_start[layer->operands[k].index + 1]++] = (use_t){network->order[i], k};
    }
    return INSITU_OK;
}

static insitu_status find_starts(planner_t *planner, uint32_t index) {
    const layer_t *layer = planner_layer(planner, index);
    if (layer->kind != LAYER_CONCAT) return INSITU_OK;
    const uint32_t dim = (uint32_t)layer_attr_int(planner->network, layer, ATTR_DIM);
    sym_t start = sym_int(planner->pool, 0), *starts;
    TRY(arena_array(&planner->scratch, layer->operand_count, sizeof *starts, &starts));
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        starts[i] = start;
        start =
            sym_add(planner->pool, start, network_tensor_of(planner->network, layer->operands[i])->shape.sizes[dim]);
    }
    planner->layers[index].starts = starts;
    return INSITU_OK;
}

static insitu_status init_layers(planner_t *planner) {
    const network_t *network = planner->network;
    TRY(arena_array(&planner->scratch, network->layer_count + 1, sizeof *planner->layers, &planner->layers));
    for (uint32_t i = 0; i < network->layer_count; i++) {
        layer_plan_t *decided = &planner->layers[i];
        uint32_t count = network->layers[i].operand_count;
        TRY(arena_array(&planner->scratch, count + 1, sizeof *decided->in_part, &decided->in_part));
        TRY(arena_array(&planner->scratch, count + 1, sizeof *decided->spill, &decided->spill));
        for (uint32_t k = 0; k < count; k++) decided->spill[k] = NONE;
        TRY(find_starts(planner, i));
    }
    return INSITU_OK;
}

static void make_member(planner_t *planner, tensor_id_t tensor, uint32_t storage) {
    tensor_plan_t *placed = planner_tensor(planner, tensor);
    placed->storage = storage;
    placed->span = span_of(planner->pool, &placed->type);
    placed->member_next = planner->storages[storage].members;
    planner->storages[storage].members = tensor.index;
}

static void fix_tensor(planner_t *planner, tensor_id_t tensor, uint32_t storage, const sym_t *strides, sym_t offset) {
    const network_tensor_t *source = network_tensor_of(planner->network, tensor);
    tensor_plan_t *placed = planner_tensor(planner, tensor);
    placed->fixed = true;
    placed->type = (tensor_type_t){.dtype = source->dtype, .shape = source->shape, .offset = offset};
    memcpy(placed->type.strides, strides, source->shape.rank * sizeof *strides);
    for (uint32_t i = 0; i < source->shape.rank; i++) {
        int64_t stride, size;
        bool one = sym_constant(planner->pool, source->shape.sizes[i], &size) && size == 1;
        if (!one && sym_constant(planner->pool, strides[i], &stride) && stride == 0) placed->repeats = true;
    }
    make_member(planner, tensor, storage);
}

static bool view_repeats(planner_t *planner, const layer_t *layer, const tensor_type_t *view) {
    const network_t *network = planner->network;
    if (layer->kind == LAYER_UNFOLD)
        return layer_attr_int(network, layer, ATTR_SIZE) > layer_attr_int(network, layer, ATTR_STEP);
    if (layer->kind == LAYER_AS_STRIDED) return !layout_is_apart(planner->pool, view);
    if (layer->kind != LAYER_EXPAND) return false;
    return !shape_same(&network_tensor_of(network, layer->operands[0])->shape,
                       &network_tensor_of(network, layer->results[0])->shape);
}

/* Roots and views, in program order. A view layer whose result can't be a view of its operand's layout is a copy. */
static void find_families(planner_t *planner) {
    const network_t *network = planner->network;
    for (uint32_t i = 0; i < network->order_count; i++) {
        uint32_t index = network->order[i].index;
        const layer_t *layer = planner_layer(planner, index);
        for (uint32_t r = 0; r < layer->result_count; r++) {
            tensor_id_t id = layer->results[r];
            tensor_plan_t *tensor = planner_tensor(planner, id);
            const network_tensor_t *result = network_tensor_of(network, id);
            layout_dense(planner->pool, result->dtype, &result->shape, &tensor->type);
            if (kind_has(layer->kind, TRAIT_VIEW)) {
                const tensor_plan_t *operand = planner_tensor(planner, layer->operands[0]);
                tensor_type_t view;
                if (layout_view(planner->pool, network, layer, &operand->type, &view)) {
                    planner->layers[index].makes_view = true;
                    tensor->type = view;
                    tensor->root = operand->root;
                    tensor->view = network->order[i];
                    tensor->repeats = operand->repeats || view_repeats(planner, layer, &view);
                    tensor_plan_t *root = planner_tensor(planner, tensor->root);
                    planner->tensors[root->view_tree_last].view_tree_next = id.index;
                    root->view_tree_last = id.index;
                    if (operand->storage != NONE) make_member(planner, id, operand->storage);
                }
            }
            tensor->unplaced = tensor->type;
        }
    }
}

/* ---- storages of what exists before the call ---- */

/* All tensors without elements share one empty record, the last. */
static uint32_t empty_weight(planner_t *planner) {
    plan_t *plan = planner->plan;
    uint32_t record = planner->network->record_count;
    plan->weights[record] = (weight_record_t){.name = "empty", .dtype = DTYPE_U8};
    plan->weight_count = record + 1;
    return record;
}

static insitu_status add_weights(planner_t *planner) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    uint32_t *storages;
    TRY(arena_array(&plan->arena, network->record_count + 1, sizeof *plan->weights, &plan->weights));
    TRY(arena_array(&planner->scratch, network->record_count + 1, sizeof *storages, &storages));
    plan->weight_count = network->record_count;
    for (uint32_t i = 0; i < network->record_count; i++) {
        plan->weights[i] = network->records[i];
        TRY(arena_string(&plan->arena, network->records[i].name, strlen(network->records[i].name),
                         &plan->weights[i].name));
        storages[i] = NONE;
    }
    storages[network->record_count] = NONE;
    for (uint32_t i = 0; i < network->constant_count; i++) {
        const network_constant_t *constant = &network->constants[i];
        uint32_t record = constant->record;
        if (record == NONE) record = empty_weight(planner);
        if (storages[record] == NONE)
            TRY(planner_add_storage(planner, STORAGE_WEIGHT, record,
                                    sym_int(planner->pool, (int64_t)plan->weights[record].size), &storages[record]));
        fix_tensor(planner, constant->tensor, storages[record], constant->strides, constant->offset);
    }
    return INSITU_OK;
}

static insitu_status add_buffers(planner_t *planner) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    TRY(arena_array(&plan->arena, network->buffer_count + 1, sizeof *plan->buffers, &plan->buffers));
    for (uint32_t i = 0; i < network->buffer_count; i++) {
        const network_buffer_t *buffer = &network->buffers[i];
        plan_buffer_t *planned = &plan->buffers[plan->buffer_count++];
        planned->weight = buffer->record == NONE ? empty_weight(planner) : buffer->record;
        planned->type = buffer->type;
        TRY(arena_string(&plan->arena, buffer->name, strlen(buffer->name), &planned->name));
    }
    return INSITU_OK;
}

/* States that are views of one record share one block of memory. */
static insitu_status state_storage(planner_t *planner, uint32_t index, uint32_t *storages, uint32_t *out_storage) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    const network_state_t *state = &network->states[index];
    for (uint32_t i = 0; i < index; i++)
        if (state->record != NONE && network->states[i].record == state->record) {
            *out_storage = storages[i];
            return INSITU_OK;
        }
    tensor_type_t type = {.dtype = network_tensor_of(network, state->tensor)->dtype,
                          .shape = network_tensor_of(network, state->tensor)->shape};
    sym_t bytes = layout_bytes(planner->pool, &type);
    if (state->record != NONE) bytes = sym_int(planner->pool, (int64_t)network->records[state->record].size);
    uint32_t number = plan->state_storage_count++;
    plan->state_storages[number] = (plan_state_storage_t){.bytes = bytes, .initial = state->record};
    TRY(planner_add_storage(planner, STORAGE_STATE, number, bytes, out_storage));
    planner->storages[*out_storage].written = true;
    return INSITU_OK;
}

static insitu_status add_states(planner_t *planner) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    uint32_t *storages;
    TRY(arena_array(&plan->arena, network->state_count + 1, sizeof *plan->states, &plan->states));
    TRY(arena_array(&plan->arena, network->state_count + 1, sizeof *plan->state_storages, &plan->state_storages));
    TRY(arena_array(&planner->scratch, network->state_count + 1, sizeof *storages, &storages));
    for (uint32_t i = 0; i < network->state_count; i++) {
        const network_state_t *state = &network->states[i];
        TRY(state_storage(planner, i, storages, &storages[i]));
        fix_tensor(planner, state->tensor, storages[i], state->strides, state->offset);
        plan_state_t *planned = &plan->states[plan->state_count++];
        planned->state_storage = plan->storages[storages[i]].index;
        planned->type = planner_tensor(planner, state->tensor)->type;
        planned->rows = network_position_axis(network, i) + 1; /* 0 of NONE */
        TRY(arena_string(&plan->arena, state->name, strlen(state->name), &planned->name));
    }
    return INSITU_OK;
}

/* Bytes from the first element to the last: none if there are no elements. */
static sym_t reach_bytes(sym_pool_t *pool, const tensor_type_t *type) {
    sym_t one = sym_int(pool, 1), last = one, some = one;
    for (uint32_t d = 0; d < type->shape.rank; d++) {
        sym_t size = type->shape.sizes[d];
        last = sym_add(pool, last, sym_mul(pool, sym_sub(pool, size, one), type->strides[d]));
        some = sym_mul(pool, some, sym_min(pool, size, one));
    }
    sym_t elements = sym_mul(pool, some, sym_max(pool, last, sym_int(pool, 0)));
    return sym_mul(pool, elements, sym_int(pool, dtype_size(type->dtype)));
}

static insitu_status add_inputs(planner_t *planner) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    TRY(arena_array(&plan->arena, network->input_count + 1, sizeof *plan->inputs, &plan->inputs));
    plan->input_count = network->input_count;
    for (uint32_t i = 0; i < network->input_count; i++) {
        const network_input_t *input = &network->inputs[i];
        plan_input_t *planned = &plan->inputs[i];
        *planned = (plan_input_t){.is_scalar = input->is_scalar,
                                  .is_constant = input->is_constant,
                                  .is_none = input->is_none,
                                  .value = input->value,
                                  .storage = NONE};
        TRY(arena_string(&plan->arena, input->name, strlen(input->name), &planned->name));
        planned->type.dtype = input->dtype;
        if (input->tensor.index == NONE) continue;
        const network_tensor_t *tensor = network_tensor_of(network, input->tensor);
        tensor_type_t type = {.dtype = tensor->dtype, .shape = tensor->shape};
        memcpy(type.strides, input->strides, tensor->shape.rank * sizeof *type.strides);
        type.offset = sym_int(planner->pool, 0);
        TRY(planner_add_storage(planner, STORAGE_INPUT, i, reach_bytes(planner->pool, &type), &planned->storage));
        fix_tensor(planner, input->tensor, planned->storage, type.strides, type.offset);
        planned->type = type;
    }
    for (uint32_t i = 0; i < network->mutation_count; i++) {
        plan_input_t *written = &plan->inputs[network->mutations[i].input];
        written->is_written = true;
        written->update = network_update_kind(network, network->inputs[network->mutations[i].input].tensor,
                                              network->mutations[i].next);
        planner->storages[written->storage].written = true;
    }
    return INSITU_OK;
}

static insitu_status add_finals(planner_t *planner) {
    const network_t *network = planner->network;
    TRY(arena_array(&planner->scratch, network->state_count + network->mutation_count + 1, sizeof *planner->finals,
                    &planner->finals));
    for (uint32_t i = 0; i < network->state_count + network->mutation_count; i++) {
        bool is_input = i >= network->state_count;
        uint32_t index = is_input ? network->mutations[i - network->state_count].input : i;
        tensor_id_t next = is_input ? network->mutations[i - network->state_count].next : network->states[i].next;
        if (next.index == NONE) continue;
        state_target_t *final = &planner->finals[planner->final_count++];
        final->is_input = is_input;
        final->index = index;
        final->name = is_input ? planner->plan->inputs[index].name : planner->plan->states[index].name;
        final->start = is_input ? network->inputs[index].tensor : network->states[index].tensor;
        final->next = next;
        final->place = planner_place(planner, final->start);
        if (!sym_constant(planner->pool, layout_bytes(planner->pool, &final->place.type), &final->bytes))
            final->bytes = INT64_MAX;
    }
    return INSITU_OK;
}

/* ---- nodes and their natural order ---- */

/* A layer, and its checks, come after the items whose symbols they use. */
static insitu_status order_after_items(planner_t *planner, const layer_t *layer, uint32_t node, uint32_t first_check) {
    bool possible;
    uint32_t attrs = planner->has_items ? layer_info_of(layer->kind)->attr_count : 0;
    for (uint32_t at = first_check; at <= node; at++) {
        for (uint32_t i = 0; i < attrs; i++) {
            const attr_t *attr = &layer->attrs[i];
            if (attr->kind == ATTR_KIND_SYM) TRY(order_after_symbols(planner, attr->value, at, &possible));
            for (uint32_t k = 0; attr->kind == ATTR_KIND_SYMS && k < attr->list.count; k++)
                TRY(order_after_symbols(planner, attr->list.items[k], at, &possible));
        }
        for (uint32_t i = 0; i < layer->operand_count; i++)
            TRY(order_after_layout(planner, &planner_tensor(planner, layer->operands[i])->type, at, &possible));
        for (uint32_t i = 0; i < layer->result_count; i++)
            TRY(order_after_layout(planner, &planner_tensor(planner, layer->results[i])->type, at, &possible));
    }
    if (layer->kind != LAYER_ITEM) return INSITU_OK;
    uint32_t symbol = sym_symbol_index(planner->pool, layer_attr(layer, ATTR_SYMBOL).value);
    if (symbol == NONE || planner->item_nodes[symbol] != NONE)
        FAIL(planner->diag, INSITU_FORMAT, "'%s' gives a symbol a second value", layer->name);
    planner->item_nodes[symbol] = node;
    planner->has_items = true;
    return INSITU_OK;
}

static insitu_status add_layer_node(planner_t *planner, uint32_t position) {
    uint32_t index = planner->network->order[position].index;
    const layer_t *layer = planner_layer(planner, index);
    layer_plan_t *decided = &planner->layers[index];
    index_operand_t indexed[MAX_RANK];
    uint32_t checks = 0;
    bool possible;
    if (kind_has(layer->kind, TRAIT_INDEXED))
        checks = layer_index_operands(planner->pool, layer->kind, layer->attrs, layer->operand_count, indexed);
    uint32_t first_check = planner->order.node_count;
    for (uint32_t i = 0; i < checks; i++) {
        uint32_t check, maker = tensor_node(planner, layer->operands[indexed[i].operand]);
        TRY(planner_add_node(planner, NODE_CHECK, index, 2 * position, &check));
        planner->nodes[check].operand = indexed[i].operand;
        if (maker != NONE) TRY(order_add(&planner->order, maker, check, &possible));
    }
    TRY(planner_add_node(planner, NODE_LAYER, index, 2 * position + 1, &decided->node));
    for (uint32_t i = 0; i < checks; i++) TRY(order_add(&planner->order, first_check + i, decided->node, &possible));
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        uint32_t maker = tensor_node(planner, layer->operands[i]);
        if (maker != NONE) TRY(order_add(&planner->order, maker, decided->node, &possible));
    }
    return order_after_items(planner, layer, decided->node, first_check);
}

static insitu_status count_nodes(planner_t *planner, uint32_t *out_count) {
    const network_t *network = planner->network;
    uint64_t count = (uint64_t)network->order_count + network->tensor_count + 2 * (uint64_t)network->state_count +
                     2 * (uint64_t)network->mutation_count + 2 * (uint64_t)network->output_count + 3;
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = planner_layer(planner, network->order[i].index);
        if (kind_has(layer->kind, TRAIT_INDEXED)) count += layer->operand_count;
    }
    if (count > MAX_NODES) FAIL(planner->diag, INSITU_UNSUPPORTED, "the program has too many layers");
    *out_count = (uint32_t)count;
    return INSITU_OK;
}

static insitu_status add_nodes(planner_t *planner) {
    TRY(count_nodes(planner, &planner->node_capacity));
    TRY(order_init(&planner->order, &planner->scratch, planner->node_capacity));
    TRY(arena_array(&planner->scratch, planner->node_capacity, sizeof *planner->nodes, &planner->nodes));
    TRY(arena_array(&planner->scratch, planner->pool->symbol_count + 1, sizeof *planner->item_nodes,
                    &planner->item_nodes));
    for (uint32_t i = 0; i < planner->pool->symbol_count; i++) planner->item_nodes[i] = NONE;
    for (uint32_t i = 0; i < planner->network->order_count; i++) TRY(add_layer_node(planner, i));
    uint32_t count = planner->order.node_count, last = 2 * planner->network->order_count + 2;
    bool possible;
    TRY(planner_add_node(planner, NODE_COMMIT_POINT, 0, 0, &planner->commit_point));
    TRY(planner_add_node(planner, NODE_END, 0, last, &planner->end));
    TRY(order_add(&planner->order, planner->commit_point, planner->end, &possible));
    for (uint32_t i = 0; i < count; i++) TRY(order_add(&planner->order, i, planner->end, &possible));
    TRY(deferred_checks_find(planner));
    planner->order.is_logged = true;
    return INSITU_OK;
}

/* ---- results ---- */

static insitu_status add_outputs(planner_t *planner) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    TRY(arena_array(&plan->arena, network->output_count + 1, sizeof *plan->outputs, &plan->outputs));
    TRY(arena_array(&planner->scratch, network->output_count + 1, sizeof *planner->output_copies,
                    &planner->output_copies));
    plan->output_count = network->output_count;
    for (uint32_t i = 0; i < network->output_count; i++) {
        const network_output_t *output = &network->outputs[i];
        plan->outputs[i] = (plan_output_t){.kind = output->kind, .value = output->value};
        TRY(arena_string(&plan->arena, output->name, strlen(output->name), &plan->outputs[i].name));
        planner->output_copies[i] = NONE;
    }
    return INSITU_OK;
}

static void name_aliases(planner_t *planner) {
    plan_t *plan = planner->plan;
    for (uint32_t i = 0; i < plan->output_count; i++) {
        plan_output_t *output = &plan->outputs[i];
        if (output->kind != OUTPUT_TENSOR) continue;
        const plan_storage_t *storage = &plan->storages[output->operand.storage];
        if (storage->kind == STORAGE_INPUT) {
            output->alias = ALIAS_INPUT;
            output->alias_index = storage->index;
        } else if (storage->kind == STORAGE_STATE) {
            output->alias = ALIAS_STATE;
            for (uint32_t s = 0; s < plan->state_count; s++)
                if (plan->states[s].state_storage == storage->index) {
                    output->alias_index = s;
                    break;
                }
        }
    }
}

static insitu_status add_asserts(planner_t *planner) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    planner->assert_capacity = network->assert_count + 1;
    TRY(arena_array(&plan->arena, planner->assert_capacity, sizeof *plan->asserts, &plan->asserts));
    plan->assert_count = network->assert_count;
    for (uint32_t i = 0; i < network->assert_count; i++) {
        sym_assert_t *assertion = &plan->asserts[i];
        *assertion = network->asserts[i];
        const char *message = assertion->message ? assertion->message : "";
        const char *source = assertion->source ? assertion->source : "";
        TRY(arena_string(&plan->arena, message, strlen(message), &assertion->message));
        TRY(arena_string(&plan->arena, source, strlen(source), &assertion->source));
    }
    return INSITU_OK;
}

/* ---- the whole ---- */

static insitu_status copy_step_names(plan_t *plan) {
    for (uint32_t i = 0; i < plan->step_count + plan->restore_count; i++) {
        plan_step_t *step = i < plan->step_count ? &plan->steps[i] : &plan->restores[i - plan->step_count].step;
        TRY(arena_string(&plan->arena, step->name, strlen(step->name), &step->name));
        TRY(arena_string(&plan->arena, step->source, strlen(step->source), &step->source));
    }
    return INSITU_OK;
}

static insitu_status build(planner_t *planner) {
    const network_t *network = planner->network;
    plan_t *plan = planner->plan;
    uint32_t capacity = 2 * network->tensor_count + network->record_count + 2 * network->state_count +
                        network->mutation_count + network->input_count + network->output_count + network->layer_count +
                        8;
    planner->storage_capacity = planner->plan_storage_capacity = capacity; /* more only where regions are emitted */
    TRY(arena_array(&plan->arena, capacity, sizeof *plan->storages, &plan->storages));
    TRY(arena_array(&planner->scratch, capacity, sizeof *planner->storages, &planner->storages));
    TRY(arena_array(&planner->scratch, network->tensor_count + 1, sizeof *planner->tensors, &planner->tensors));
    for (uint32_t t = 0; t < network->tensor_count; t++)
        planner->tensors[t] = (tensor_plan_t){.root = {t},
                                              .view = NO_LAYER,
                                              .storage = NONE,
                                              .member_next = NONE,
                                              .root_next = NONE,
                                              .old_storage = NONE,
                                              .placed = NONE,
                                              .copies = NONE,
                                              .end_reads = NONE,
                                              .view_tree_next = NONE,
                                              .view_tree_last = t};
    TRY(init_layers(planner));
    TRY(build_uses(planner));
    TRY(add_weights(planner));
    TRY(add_buffers(planner));
    TRY(add_states(planner));
    TRY(add_inputs(planner));
    find_families(planner);
    TRY(add_finals(planner));
    TRY(def_chain_find(planner, &planner->chain));
    TRY(def_chain_find_updates(planner, &planner->updates));
    TRY(add_nodes(planner));
    TRY(conflicts_init(planner));
    TRY(add_outputs(planner));
    TRY(place_readers(planner));
    TRY(place_finals(planner));
    TRY(place_outputs(planner));
    TRY(place_rest(planner));
    TRY(deferred_checks_order(planner));
    TRY(add_asserts(planner));
    TRY(emit_steps(planner));
    name_aliases(planner);
    TRY(report_build(planner));
    TRY(copy_step_names(plan));
    TRY(drop_unused_storages(planner));
    TRY(segments_build(planner));
    TRY(plan_derive(plan));
    return sym_pool_status(planner->pool, planner->diag);
}

insitu_status plan_network(network_t *network, const plan_options_t *options, plan_t **out_plan, insitu_diag *diag) {
    plan_t *plan;
    *out_plan = NULL;
    TRY(plan_create(&plan));
    sym_pool_release(&plan->symbols);
    insitu_status status = sym_pool_clone(&network->symbols, &plan->symbols);
    planner_t planner = {.network = network,
                         .plan = plan,
                         .pool = &plan->symbols,
                         .options = *options,
                         .most_steps = options->search->most - options->search->spent,
                         .diag = diag};
    if (options->search->spent > options->search->most) planner.most_steps = 0;
    arena_init(&planner.scratch);
    if (switch_on(SWITCH_NO_INPLACE)) planner.options.no_inplace = true;
    if (status == INSITU_OK) status = build(&planner);
    options->search->last = planner.steps + planner.order.steps + (uint64_t)STEPS_A_LAYER * network->order_count;
    options->search->spent += options->search->last;
    options->search->is_cut |= planner.is_cut;
    arena_release(&planner.scratch);
    if (status == INSITU_OK && !options->region) status = plan_verify(plan, diag); /* else with the plan around it */
    if (status == INSITU_OK)
        *out_plan = plan;
    else
        plan_destroy(plan);
    return status == INSITU_NOMEM ? diag_set(diag, INSITU_NOMEM, "out of memory") : status;
}
