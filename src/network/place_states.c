/* Who owns a program's states, when it is not the engine's state: the caller, who passes them as inputs, or nobody, and
 * each call finds the initial values. */
#include "network/network_int.h"

static bool same_view(const network *network, const network_state *a, const network_state *b) {
    const network_tensor *first = network_tensor_of(network, a->tensor),
                         *second = network_tensor_of(network, b->tensor);
    if (a->record == NONE || a->record != b->record || first->dtype != second->dtype) return false;
    if (!shape_same(&first->shape, &second->shape) || !sym_same(a->offset, b->offset)) return false;
    for (uint32_t i = 0; i < first->shape.rank; i++)
        if (!sym_same(a->strides[i], b->strides[i])) return false;
    return true;
}

/* Another name of a state that is written: no layer reads through it. */
static bool is_second_name(const network *network, uint32_t index) {
    const network_state *state = &network->states[index];
    for (uint32_t i = 0; i < network->state_count && state->next.index == NONE; i++)
        if (network->states[i].next.index != NONE && same_view(network, state, &network->states[i])) return true;
    return false;
}

static insitu_status add_buffer(network *network, const network_state *state, const char *name) {
    const network_tensor *tensor = network_tensor_of(network, state->tensor);
    network_buffer *buffer;
    TRY(network_add_buffer(network, &buffer));
    *buffer = (network_buffer){.name = name,
                               .record = state->record,
                               .type = {.dtype = tensor->dtype, .shape = tensor->shape, .offset = state->offset}};
    memcpy(buffer->type.strides, state->strides, sizeof(state->strides));
    return INSITU_OK;
}

static insitu_status make_constant(network *network, const network_state *state) {
    network_constant *constant;
    TRY(network_add_constant(network, &constant));
    *constant = (network_constant){.tensor = state->tensor, .record = state->record, .offset = state->offset};
    memcpy(constant->strides, state->strides, sizeof(state->strides));
    network_tensor *tensor = &network->tensors[state->tensor.index];
    tensor->role = TENSOR_CONSTANT;
    tensor->index = network->constant_count - 1;
    return INSITU_OK;
}

insitu_status network_freeze_states(network *network) {
    for (uint32_t i = 0; i < network->state_count; i++) {
        TRY(make_constant(network, &network->states[i]));
        TRY(add_buffer(network, &network->states[i], network->states[i].name));
    }
    network->state_count = 0;
    return INSITU_OK;
}

/* "buf_layers_0_cache", with a suffix if an input or a buffer is called so. */
static insitu_status name_input(network *network, const map *taken, const char *state, const char **out_name) {
    const char *stem;
    TRY(arena_printf(&network->arena, &stem, "buf_%s", state));
    for (char *c = (char *)(uintptr_t)stem; *c; c++)
        if (*c == '.') *c = '_';
    *out_name = stem;
    for (uint32_t suffix = 1; map_find(taken, *out_name) != NONE; suffix++)
        TRY(arena_printf(&network->arena, out_name, "%s_%u", stem, suffix));
    return INSITU_OK;
}

/* The input is written, and a buffer of its name has the initial value. */
static insitu_status make_input(network *network, map *taken, const network_state *state) {
    network_input *input;
    network_mutation *mutation;
    TRY(network_add_input(network, &input));
    TRY(name_input(network, taken, state->name, &input->name));
    TRY(map_set(taken, &network->arena, input->name, 0));
    input->tensor = state->tensor;
    memcpy(input->strides, state->strides, sizeof(state->strides));
    network_tensor *tensor = &network->tensors[state->tensor.index];
    tensor->role = TENSOR_INPUT;
    tensor->index = network->input_count - 1;
    TRY(network_add_mutation(network, &mutation));
    *mutation = (network_mutation){.input = network->input_count - 1, .next = state->next};
    return add_buffer(network, state, input->name);
}

insitu_status network_lift_states(network *network) {
    map taken = {0};
    for (uint32_t i = 0; i < network->input_count; i++)
        TRY(map_set(&taken, &network->arena, network->inputs[i].name, i));
    for (uint32_t i = 0; i < network->buffer_count; i++)
        TRY(map_set(&taken, &network->arena, network->buffers[i].name, i));
    for (uint32_t i = 0; i < network->state_count; i++) {
        const network_state *state = &network->states[i];
        if (state->next.index != NONE) {
            TRY(make_input(network, &taken, state));
        } else {
            TRY(make_constant(network, state));
            if (!is_second_name(network, i)) TRY(add_buffer(network, state, state->name));
        }
    }
    network->state_count = 0;
    return INSITU_OK;
}
