/* The network's structure: tensors, layers and rows are added at the end of arrays in the network's arena. */
#include "network/network_int.h"

insitu_status network_create(network_t **out_network) {
    *out_network = NULL;
    network_t *created = memory_alloc(sizeof(network_t));
    if (!created) return INSITU_NOMEM;
    *created = (network_t){0};
    arena_init(&created->arena);
    insitu_status status = sym_pool_init(&created->symbols);
    if (status != INSITU_OK) {
        memory_free(created);
        return status;
    }
    *out_network = created;
    return INSITU_OK;
}

void network_destroy(network_t *network) {
    if (!network) return;
    for (uint32_t i = 0; i < network->region_count; i++) network_destroy(network->regions[i]);
    sym_pool_release(&network->symbols);
    arena_release(&network->arena);
    memory_free(network);
}

/* A free name: name itself, or with the first free of a few suffixes, else one with the count of tensors, so that many
 * tensors of one name don't take quadratic time. */
static insitu_status unique_name(network_t *network, const char *name, const char **out_name) {
    if (map_find(&network->names, name) == NONE) return arena_string(&network->arena, name, strlen(name), out_name);
    for (uint32_t suffix = 1; suffix != 0; suffix++) {
        if (suffix == 16) suffix = network->tensor_count + 16;
        char text[MAX_NAME + 16];
        int length = snprintf(text, sizeof(text), "%.*s_%u", MAX_NAME, name, suffix);
        if (length > 0 && map_find(&network->names, text) == NONE) {
            return arena_string(&network->arena, text, (size_t)length, out_name);
        }
    }
    return INSITU_NOMEM;
}

insitu_status network_add_tensor(network_t *network, const char *name, tensor_role_t role, dtype_t type,
                                 const shape_t *shape, uint32_t index, tensor_id_t *out_tensor) {
    *out_tensor = NO_TENSOR;
    if (network->tensor_count >= MAX_VALUES) return INSITU_NOMEM;
    TRY(arena_grow(&network->arena, &network->tensors, &network->tensor_capacity, (size_t)network->tensor_count + 1,
                   sizeof(network_tensor_t)));
    const char *unique;
    TRY(unique_name(network, name, &unique));
    TRY(map_set(&network->names, &network->arena, unique, network->tensor_count));
    network->tensors[network->tensor_count] = (network_tensor_t){
        .name = unique, .role = role, .dtype = type, .shape = *shape, .producer = NO_LAYER, .index = index};
    *out_tensor = (tensor_id_t){network->tensor_count++};
    return INSITU_OK;
}

insitu_status network_check_bytes(const network_t *network, const char *what, dtype_t type, const shape_t *shape,
                                  insitu_diag *diag) {
    if (shape_fits(&network->symbols, shape, type)) return INSITU_OK;
    text_t sizes;
    text_init(&sizes);
    shape_print(&network->symbols, shape, &sizes);
    insitu_status status = text_status(&sizes, diag);
    if (status == INSITU_OK)
        status = diag_set(diag, INSITU_SHAPE, "%s: %s%s has more bytes than the 2^%d of the largest tensor", what,
                          dtype_name(type), sizes.data, MAX_TENSOR_POWER);
    text_release(&sizes);
    return status;
}

network_mark_t network_mark_end(const network_t *network) {
    return (network_mark_t){network->tensor_count, network->layer_count, network->order_count, network->assert_count,
                            network->fingerprint};
}

void network_undo(network_t *network, network_mark_t mark) {
    bool is_named = network->tensor_count > mark.tensors;
    network->tensor_count = mark.tensors;
    network->layer_count = mark.layers;
    network->order_count = mark.order;
    network->assert_count = mark.asserts;
    network->fingerprint = mark.fingerprint;
    if (!is_named) return;
    memset(network->names.entries, 0, network->names.capacity * sizeof *network->names.entries);
    network->names.count = 0;
    for (uint32_t i = 0; i < mark.tensors; i++) /* there is room: the map held more */
        if (map_set(&network->names, &network->arena, network->tensors[i].name, i) != INSITU_OK) return;
}

insitu_status network_swap_name(network_t *network, tensor_id_t tensor, const char *name) {
    network_tensor_t *renamed = &network->tensors[tensor.index];
    uint32_t holder = map_find(&network->names, name);
    if (holder == tensor.index) return INSITU_OK;
    const char *taken = renamed->name;
    if (holder == NONE) {
        TRY(arena_string(&network->arena, name, strlen(name), &renamed->name));
        TRY(map_set(&network->names, &network->arena, renamed->name, tensor.index));
        return map_set(&network->names, &network->arena, taken, NONE);
    }
    renamed->name = network->tensors[holder].name;
    network->tensors[holder].name = taken;
    TRY(map_set(&network->names, &network->arena, renamed->name, tensor.index));
    return map_set(&network->names, &network->arena, taken, holder);
}

insitu_status network_add_input(network_t *network, network_input_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->inputs, &network->input_capacity, (size_t)network->input_count + 1,
                   sizeof(network_input_t)));
    *out = &network->inputs[network->input_count++];
    **out = (network_input_t){.name = "", .tensor = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_state(network_t *network, network_state_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->states, &network->state_capacity, (size_t)network->state_count + 1,
                   sizeof(network_state_t)));
    *out = &network->states[network->state_count++];
    **out = (network_state_t){.name = "", .tensor = NO_TENSOR, .record = NONE, .next = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_constant(network_t *network, network_constant_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->constants, &network->constant_capacity,
                   (size_t)network->constant_count + 1, sizeof(network_constant_t)));
    *out = &network->constants[network->constant_count++];
    **out = (network_constant_t){.tensor = NO_TENSOR, .record = NONE};
    return INSITU_OK;
}

insitu_status network_add_buffer(network_t *network, network_buffer_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->buffers, &network->buffer_capacity, (size_t)network->buffer_count + 1,
                   sizeof(network_buffer_t)));
    *out = &network->buffers[network->buffer_count++];
    **out = (network_buffer_t){.name = "", .record = NONE};
    return INSITU_OK;
}

insitu_status network_add_mutation(network_t *network, network_mutation_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->mutations, &network->mutation_capacity,
                   (size_t)network->mutation_count + 1, sizeof(network_mutation_t)));
    *out = &network->mutations[network->mutation_count++];
    **out = (network_mutation_t){.input = NONE, .next = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_output(network_t *network, network_output_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->outputs, &network->output_capacity, (size_t)network->output_count + 1,
                   sizeof(network_output_t)));
    *out = &network->outputs[network->output_count++];
    **out = (network_output_t){.name = "", .kind = OUTPUT_NONE, .tensor = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_assert(network_t *network, sym_assert_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->asserts, &network->assert_capacity, (size_t)network->assert_count + 1,
                   sizeof(sym_assert_t)));
    *out = &network->asserts[network->assert_count++];
    **out = (sym_assert_t){.message = "", .source = ""};
    return INSITU_OK;
}

insitu_status network_add_record(network_t *network, weight_record_t **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->records, &network->record_capacity, (size_t)network->record_count + 1,
                   sizeof(weight_record_t)));
    *out = &network->records[network->record_count++];
    **out = (weight_record_t){.name = ""};
    return INSITU_OK;
}

insitu_status network_require_bounds(network_t *network, sym_t condition, const char *message, const char *source) {
    uint32_t before = network->assert_count;
    TRY(network_require(network, condition, message, source));
    if (network->assert_count > before) network->asserts[before].is_bounds = true;
    return INSITU_OK;
}

insitu_status network_require(network_t *network, sym_t condition, const char *message, const char *source) {
    if (sym_truth(&network->symbols, condition) == TRUTH_TRUE) return INSITU_OK;
    for (uint32_t i = 0; i < network->assert_count; i++) {
        if (sym_same(network->asserts[i].condition, condition)) return INSITU_OK;
    }
    sym_assert_t *row;
    TRY(network_add_assert(network, &row));
    row->condition = condition;
    TRY(arena_string(&network->arena, message, strlen(message), &row->message));
    return arena_string(&network->arena, source, strlen(source), &row->source);
}

/* Attributes with their lists copied. */
insitu_status network_copy_attrs(network_t *network, const layer_draft_t *draft, attr_t **out_attrs) {
    const attr_t *attrs = draft->attrs;
    uint32_t count = layer_info_of(draft->kind)->attr_count;
    TRY(arena_array(&network->arena, count, sizeof(attr_t), out_attrs));
    for (uint32_t i = 0; i < count; i++) {
        (*out_attrs)[i] = attrs[i];
        if (attrs[i].kind != ATTR_KIND_SYMS) continue;
        (*out_attrs)[i].list.items = NULL;
        if (attrs[i].list.count == 0) continue;
        TRY(arena_copy(&network->arena, attrs[i].list.items, attrs[i].list.count * sizeof(sym_t),
                       &(*out_attrs)[i].list.items));
    }
    return INSITU_OK;
}

insitu_status network_add_layer(network_t *network, const layer_draft_t *draft, const tensor_id_t *operands,
                                uint32_t operand_count, const char *name, const char *source, tensor_id_t *out_results,
                                insitu_diag *diag) {
    const layer_info_t *info = layer_info_of(draft->kind);
    const uint32_t count = layer_result_count(network, draft->kind, draft->attrs);
    for (uint32_t i = 0; i < count && i < MAX_RESULTS; i++) out_results[i] = NO_TENSOR;
    if (network->layer_count >= MAX_NODES) FAIL(diag, INSITU_UNSUPPORTED, "the network has over %d layers", MAX_NODES);
    inferred_t types[MAX_RESULTS];
    TRY(network_infer(network, draft->kind, operands, operand_count, draft->attrs, types, diag));
    if (!name[0]) name = info->name;
    layer_t added = {.kind = draft->kind, .operand_count = operand_count, .result_count = count};
    TRY(network_copy_attrs(network, draft, &added.attrs));
    TRY(arena_string(&network->arena, name, strlen(name), &added.name));
    TRY(arena_string(&network->arena, source, strlen(source), &added.source));
    if (operand_count) {
        TRY(arena_copy(&network->arena, operands, operand_count * sizeof(tensor_id_t), &added.operands));
    }
    layer_id_t id = {network->layer_count};
    for (uint32_t i = 0; i < count; i++) {
        TRY(network_add_tensor(network, name, TENSOR_RESULT, types[i].dtype, &types[i].shape, i, &out_results[i]));
        network->tensors[out_results[i].index].producer = id;
    }
    if (count) {
        TRY(arena_copy(&network->arena, out_results, count * sizeof(tensor_id_t), &added.results));
    }
    TRY(arena_grow(&network->arena, &network->layers, &network->layer_capacity, (size_t)network->layer_count + 1,
                   sizeof(layer_t)));
    TRY(arena_grow(&network->arena, &network->order, &network->order_capacity, (size_t)network->order_count + 1,
                   sizeof(layer_id_t)));
    network->layers[network->layer_count++] = added;
    network->order[network->order_count++] = id;
    return INSITU_OK;
}

int64_t network_index_at(const uint8_t *data, dtype_t type, int64_t index) {
    int64_t wide;
    int32_t narrow;
    if (type == DTYPE_I64) {
        memcpy(&wide, data + (size_t)index * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, data + (size_t)index * sizeof narrow, sizeof narrow);
    return narrow;
}

attr_t layer_attr(const layer_t *layer, attr_id_t id) {
    uint32_t index = layer_attr_index(layer->kind, id);
    return index == NONE ? (attr_t){.kind = ATTR_KIND_NONE} : layer->attrs[index];
}

int64_t layer_attr_int(const network_t *network, const layer_t *layer, attr_id_t id) {
    attr_t value = layer_attr(layer, id);
    int64_t number = 0;
    if (value.kind == ATTR_KIND_SYM) (void)sym_constant(&network->symbols, value.value, &number);
    return number;
}
