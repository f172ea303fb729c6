/* The network's structure: tensors, layers and rows are added at the end of arrays in the network's arena. */
#include "network/network_int.h"

insitu_status network_create(network **out_network) {
    *out_network = NULL;
    network *created = memory_alloc(sizeof(network));
    if (!created) return INSITU_NOMEM;
    *created = (network){0};
    arena_init(&created->arena);
    insitu_status status = sym_pool_init(&created->symbols);
    if (status != INSITU_OK) {
        memory_free(created);
        return status;
    }
    *out_network = created;
    return INSITU_OK;
}

void network_destroy(network *network) {
    if (!network) return;
    for (uint32_t i = 0; i < network->region_count; i++) network_destroy(network->regions[i]);
    sym_pool_release(&network->symbols);
    arena_release(&network->arena);
    memory_free(network);
}

/* A free name: name itself, or with the first free of a few suffixes, else one with the count of tensors, so that many
 * tensors of one name don't take quadratic time. */
static insitu_status unique_name(network *network, const char *name, const char **out_name) {
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

insitu_status network_add_tensor(network *network, const char *name, tensor_role role, dtype type, const shape *shape,
                                 uint32_t index, tensor_id *out_tensor) {
    *out_tensor = NO_TENSOR;
    if (network->tensor_count >= MAX_VALUES) return INSITU_NOMEM;
    TRY(arena_grow(&network->arena, &network->tensors, &network->tensor_capacity, (size_t)network->tensor_count + 1,
                   sizeof(network_tensor)));
    const char *unique;
    TRY(unique_name(network, name, &unique));
    TRY(map_set(&network->names, &network->arena, unique, network->tensor_count));
    network->tensors[network->tensor_count] = (network_tensor){
        .name = unique, .role = role, .dtype = type, .shape = *shape, .producer = NO_LAYER, .index = index};
    *out_tensor = (tensor_id){network->tensor_count++};
    return INSITU_OK;
}

insitu_status network_check_bytes(const network *network, const char *what, dtype type, const shape *shape,
                                  insitu_diag *diag) {
    if (shape_fits(&network->symbols, shape, type)) return INSITU_OK;
    text sizes;
    text_init(&sizes);
    shape_print(&network->symbols, shape, &sizes);
    insitu_status status = text_status(&sizes, diag);
    if (status == INSITU_OK)
        status = diag_set(diag, INSITU_SHAPE, "%s: %s%s has more bytes than the 2^%d of the largest tensor", what,
                          dtype_name(type), sizes.data, MAX_TENSOR_POWER);
    text_release(&sizes);
    return status;
}

network_mark network_mark_end(const network *network) {
    return (network_mark){network->tensor_count, network->layer_count, network->order_count, network->assert_count,
                          network->identity};
}

void network_undo(network *network, network_mark mark) {
    bool is_named = network->tensor_count > mark.tensors;
    network->tensor_count = mark.tensors;
    network->layer_count = mark.layers;
    network->order_count = mark.order;
    network->assert_count = mark.asserts;
    network->identity = mark.identity;
    if (!is_named) return;
    memset(network->names.entries, 0, network->names.capacity * sizeof *network->names.entries);
    network->names.count = 0;
    for (uint32_t i = 0; i < mark.tensors; i++) /* there is room: the map held more */
        if (map_set(&network->names, &network->arena, network->tensors[i].name, i) != INSITU_OK) return;
}

insitu_status network_swap_name(network *network, tensor_id tensor, const char *name) {
    network_tensor *renamed = &network->tensors[tensor.index];
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

insitu_status network_add_input(network *network, network_input **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->inputs, &network->input_capacity, (size_t)network->input_count + 1,
                   sizeof(network_input)));
    *out = &network->inputs[network->input_count++];
    **out = (network_input){.name = "", .tensor = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_state(network *network, network_state **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->states, &network->state_capacity, (size_t)network->state_count + 1,
                   sizeof(network_state)));
    *out = &network->states[network->state_count++];
    **out = (network_state){.name = "", .tensor = NO_TENSOR, .record = NONE, .next = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_constant(network *network, network_constant **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->constants, &network->constant_capacity,
                   (size_t)network->constant_count + 1, sizeof(network_constant)));
    *out = &network->constants[network->constant_count++];
    **out = (network_constant){.tensor = NO_TENSOR, .record = NONE};
    return INSITU_OK;
}

insitu_status network_add_buffer(network *network, network_buffer **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->buffers, &network->buffer_capacity, (size_t)network->buffer_count + 1,
                   sizeof(network_buffer)));
    *out = &network->buffers[network->buffer_count++];
    **out = (network_buffer){.name = "", .record = NONE};
    return INSITU_OK;
}

insitu_status network_add_mutation(network *network, network_mutation **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->mutations, &network->mutation_capacity,
                   (size_t)network->mutation_count + 1, sizeof(network_mutation)));
    *out = &network->mutations[network->mutation_count++];
    **out = (network_mutation){.input = NONE, .next = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_output(network *network, network_output **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->outputs, &network->output_capacity, (size_t)network->output_count + 1,
                   sizeof(network_output)));
    *out = &network->outputs[network->output_count++];
    **out = (network_output){.name = "", .kind = OUTPUT_NONE, .tensor = NO_TENSOR};
    return INSITU_OK;
}

insitu_status network_add_assert(network *network, sym_assert **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->asserts, &network->assert_capacity, (size_t)network->assert_count + 1,
                   sizeof(sym_assert)));
    *out = &network->asserts[network->assert_count++];
    **out = (sym_assert){.message = "", .source = ""};
    return INSITU_OK;
}

insitu_status network_add_record(network *network, weight_record **out) {
    *out = NULL;
    TRY(arena_grow(&network->arena, &network->records, &network->record_capacity, (size_t)network->record_count + 1,
                   sizeof(weight_record)));
    *out = &network->records[network->record_count++];
    **out = (weight_record){.name = ""};
    return INSITU_OK;
}

insitu_status network_require_bounds(network *network, sym condition, const char *message, const char *source) {
    uint32_t before = network->assert_count;
    TRY(network_require(network, condition, message, source));
    if (network->assert_count > before) network->asserts[before].is_bounds = true;
    return INSITU_OK;
}

insitu_status network_require(network *network, sym condition, const char *message, const char *source) {
    if (sym_truth(&network->symbols, condition) == TRUTH_TRUE) return INSITU_OK;
    for (uint32_t i = 0; i < network->assert_count; i++) {
        if (sym_same(network->asserts[i].condition, condition)) return INSITU_OK;
    }
    sym_assert *row;
    TRY(network_add_assert(network, &row));
    row->condition = condition;
    TRY(arena_string(&network->arena, message, strlen(message), &row->message));
    return arena_string(&network->arena, source, strlen(source), &row->source);
}

/* Attributes with their lists copied. */
insitu_status network_copy_attrs(network *network, const layer_draft *draft, attr **out_attrs) {
    const attr *attrs = draft->attrs;
    uint32_t count = layer_info_of(draft->kind)->attr_count;
    TRY(arena_array(&network->arena, count, sizeof(attr), out_attrs));
    for (uint32_t i = 0; i < count; i++) {
        (*out_attrs)[i] = attrs[i];
        if (attrs[i].kind != ATTR_KIND_SYMS) continue;
        (*out_attrs)[i].list.items = NULL;
        if (attrs[i].list.count == 0) continue;
        TRY(arena_copy(&network->arena, attrs[i].list.items, attrs[i].list.count * sizeof(sym),
                       &(*out_attrs)[i].list.items));
    }
    return INSITU_OK;
}

insitu_status network_add_layer(network *network, const layer_draft *draft, const tensor_id *operands,
                                uint32_t operand_count, const char *name, const char *source, tensor_id *out_results,
                                insitu_diag *diag) {
    const layer_info *info = layer_info_of(draft->kind);
    const uint32_t count = layer_result_count(network, draft->kind, draft->attrs);
    for (uint32_t i = 0; i < count && i < MAX_RESULTS; i++) out_results[i] = NO_TENSOR;
    if (network->layer_count >= MAX_NODES) FAIL(diag, INSITU_UNSUPPORTED, "the network has over %d layers", MAX_NODES);
    inferred types[MAX_RESULTS];
    TRY(network_infer(network, draft->kind, operands, operand_count, draft->attrs, types, diag));
    if (!name[0]) name = info->name;
    layer added = {.kind = draft->kind, .operand_count = operand_count, .result_count = count};
    TRY(network_copy_attrs(network, draft, &added.attrs));
    TRY(arena_string(&network->arena, name, strlen(name), &added.name));
    TRY(arena_string(&network->arena, source, strlen(source), &added.source));
    if (operand_count) {
        TRY(arena_copy(&network->arena, operands, operand_count * sizeof(tensor_id), &added.operands));
    }
    layer_id id = {network->layer_count};
    for (uint32_t i = 0; i < count; i++) {
        TRY(network_add_tensor(network, name, TENSOR_RESULT, types[i].dtype, &types[i].shape, i, &out_results[i]));
        network->tensors[out_results[i].index].producer = id;
    }
    if (count) {
        TRY(arena_copy(&network->arena, out_results, count * sizeof(tensor_id), &added.results));
    }
    TRY(arena_grow(&network->arena, &network->layers, &network->layer_capacity, (size_t)network->layer_count + 1,
                   sizeof(layer)));
    TRY(arena_grow(&network->arena, &network->order, &network->order_capacity, (size_t)network->order_count + 1,
                   sizeof(layer_id)));
    network->layers[network->layer_count++] = added;
    network->order[network->order_count++] = id;
    return INSITU_OK;
}

int64_t network_index_at(const uint8_t *data, dtype type, int64_t index) {
    int64_t wide;
    int32_t narrow;
    if (type == DTYPE_I64) {
        memcpy(&wide, data + (size_t)index * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, data + (size_t)index * sizeof narrow, sizeof narrow);
    return narrow;
}

attr layer_attr(const layer *layer, attr_id id) {
    uint32_t index = layer_attr_index(layer->kind, id);
    return index == NONE ? (attr){.kind = ATTR_KIND_NONE} : layer->attrs[index];
}

int64_t layer_attr_int(const network *network, const layer *layer, attr_id id) {
    attr value = layer_attr(layer, id);
    int64_t number = 0;
    if (value.kind == ATTR_KIND_SYM) (void)sym_constant(&network->symbols, value.value, &number);
    return number;
}
