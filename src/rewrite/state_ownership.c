/* Who owns a program's states, when it is not the engine's state: the caller, who passes them as inputs, or nobody, and
 * each call finds the initial values. */
#include "rewrite/rewrite.h"

#include <string.h>

static tensor_type_t type_of(const network_t *network, const network_state_t *state) {
    const network_tensor_t *tensor = network_tensor_of(network, state->tensor);
    tensor_type_t type = {.dtype = tensor->dtype, .shape = tensor->shape, .offset = state->offset};
    memcpy(type.strides, state->strides, sizeof type.strides);
    return type;
}

static bool same_view(const network_t *network, const network_state_t *a, const network_state_t *b) {
    const tensor_type_t first = type_of(network, a), second = type_of(network, b);
    return a->record != NONE && a->record == b->record && type_same(&first, &second);
}

/* Another name of a state that is written: no layer reads through it. */
static bool is_second_name(const network_t *network, uint32_t index) {
    const network_state_t *state = &network->states[index];
    for (uint32_t i = 0; i < network->state_count && state->next.index == NONE; i++)
        if (network->states[i].next.index != NONE && same_view(network, state, &network->states[i])) return true;
    return false;
}

/* A state of zeros has no record of its bytes; nor has one without elements, but that is no news. */
static bool is_of_zeros(const network_t *network, const network_state_t *state) {
    const shape_t *shape = &network_tensor_of(network, state->tensor)->shape;
    bool is_empty = false;
    int64_t size;
    if (state->record != NONE) return false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (!sym_constant(&network->symbols, shape->sizes[i], &size)) return true;
        is_empty = is_empty || size == 0;
    }
    return !is_empty;
}

/* Zeros need no buffer that says so. */
static insitu_status add_buffer(network_t *network, const network_state_t *state, const char *name) {
    if (is_of_zeros(network, state)) return INSITU_OK;
    const network_tensor_t *tensor = network_tensor_of(network, state->tensor);
    network_buffer_t *buffer;
    TRY(network_add_buffer(network, &buffer));
    *buffer = (network_buffer_t){.name = name,
                                 .record = state->record,
                                 .type = {.dtype = tensor->dtype, .shape = tensor->shape, .offset = state->offset}};
    memcpy(buffer->type.strides, state->strides, sizeof(state->strides));
    return INSITU_OK;
}

/* The state's tensor is a view of one zero. */
static insitu_status make_zeros(network_t *network, const network_state_t *state, insitu_diag *diag) {
    const network_tensor_t type = *network_tensor_of(network, state->tensor);
    shape_t one = {.rank = type.shape.rank};
    network_constant_t *constant;
    weight_record_t *record;
    tensor_id_t zero, view;
    uint8_t *bytes;
    for (uint32_t i = 0; i < one.rank; i++) one.sizes[i] = sym_int(&network->symbols, 1);
    TRY(network_add_record(network, &record));
    TRY(arena_array(&network->arena, dtype_size(type.dtype), 1, &bytes));
    *record = (weight_record_t){.name = type.name, .data = bytes, .size = dtype_size(type.dtype), .dtype = type.dtype};
    TRY(network_add_tensor(network, type.name, TENSOR_CONSTANT, type.dtype, &one, network->constant_count, &zero));
    TRY(network_add_constant(network, &constant));
    *constant = (network_constant_t){
        .tensor = zero, .record = network->record_count - 1, .offset = sym_int(&network->symbols, 0)};
    shape_dense_strides(&network->symbols, &one, constant->strides);
    const layer_draft_t repeated = draft_sized(LAYER_EXPAND, &type.shape);
    TRY(network_add_layer(network, &repeated, &zero, 1, type.name, "", &view, diag));
    network_move_added(network, network->order_count - 1, 0);
    network_tensor_t *tensor = &network->tensors[state->tensor.index];
    tensor->role = TENSOR_RESULT;
    tensor->producer = network_tensor_of(network, view)->producer;
    tensor->index = 0;
    layer_t *expand = network_layer_of(network, tensor->producer);
    return arena_copy(&network->arena, &state->tensor, sizeof(tensor_id_t), &expand->results);
}

static insitu_status make_constant(network_t *network, const network_state_t *state, insitu_diag *diag) {
    network_constant_t *constant;
    if (is_of_zeros(network, state)) return make_zeros(network, state, diag);
    TRY(network_add_constant(network, &constant));
    *constant = (network_constant_t){.tensor = state->tensor, .record = state->record, .offset = state->offset};
    memcpy(constant->strides, state->strides, sizeof(state->strides));
    network_tensor_t *tensor = &network->tensors[state->tensor.index];
    tensor->role = TENSOR_CONSTANT;
    tensor->index = network->constant_count - 1;
    return INSITU_OK;
}

static bool has_open_size(const network_t *network) {
    int64_t size;
    for (uint32_t i = 0; i < network->state_count; i++) {
        const shape_t *shape = &network_tensor_of(network, network->states[i].tensor)->shape;
        for (uint32_t dim = 0; dim < shape->rank; dim++)
            if (!sym_constant(&network->symbols, shape->sizes[dim], &size)) return true;
    }
    return false;
}

/* What a state's size told, an input must tell now. */
static insitu_status remove_states(network_t *network, insitu_diag *diag) {
    bool was_open = has_open_size(network);
    network->state_count = 0;
    return was_open ? network_check_symbols(network, INSITU_ARG, diag) : INSITU_OK;
}

insitu_status network_freeze_states(network_t *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->state_count; i++) {
        TRY(make_constant(network, &network->states[i], diag));
        TRY(add_buffer(network, &network->states[i], network->states[i].name));
    }
    return remove_states(network, diag);
}

/* "buf_layers_0_cache", with a suffix if an input or a buffer is called so. */
static insitu_status name_input(network_t *network, const map_t *taken, const char *state, const char **out_name) {
    const char *stem;
    TRY(arena_printf(&network->arena, &stem, "buf_%s", state));
    for (char *c = (char *)(uintptr_t)stem; *c; c++)
        if (*c == '.') *c = '_';
    *out_name = stem;
    for (uint32_t suffix = 1; map_find(taken, *out_name) != NONE; suffix++)
        TRY(arena_printf(&network->arena, out_name, "%s_%u", stem, suffix));
    return INSITU_OK;
}

/* The input is written, and a buffer of its name has the initial value if that isn't zeros. */
static insitu_status make_input(network_t *network, map_t *taken, const network_state_t *state) {
    network_input_t *input;
    network_mutation_t *mutation;
    TRY(network_add_input(network, &input));
    TRY(name_input(network, taken, state->name, &input->name));
    TRY(map_set(taken, &network->arena, input->name, 0));
    input->tensor = state->tensor;
    memcpy(input->strides, state->strides, sizeof(state->strides));
    network_tensor_t *tensor = &network->tensors[state->tensor.index];
    tensor->role = TENSOR_INPUT;
    tensor->index = network->input_count - 1;
    TRY(network_add_mutation(network, &mutation));
    *mutation = (network_mutation_t){.input = network->input_count - 1, .next = state->next};
    return add_buffer(network, state, input->name);
}

insitu_status network_lift_states(network_t *network, insitu_diag *diag) {
    map_t taken = {0};
    for (uint32_t i = 0; i < network->input_count; i++)
        TRY(map_set(&taken, &network->arena, network->inputs[i].name, i));
    for (uint32_t i = 0; i < network->buffer_count; i++)
        TRY(map_set(&taken, &network->arena, network->buffers[i].name, i));
    for (uint32_t i = 0; i < network->state_count; i++) {
        const network_state_t *state = &network->states[i];
        if (state->next.index != NONE) {
            TRY(make_input(network, &taken, state));
        } else {
            TRY(make_constant(network, state, diag));
            if (!is_second_name(network, i)) TRY(add_buffer(network, state, state->name));
        }
    }
    return remove_states(network, diag);
}
