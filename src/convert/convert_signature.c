/* The program's face: user inputs, states (stored tensors that the program writes, and those that share storage with
 * one), constants, buffers, results and write-backs. */
#include "convert/convert_int.h"

static insitu_status copy_string(converter_t *c, const char *string, const char **out) {
    return arena_string(&c->network->arena, string, strlen(string), out);
}

static insitu_status add_user_number(converter_t *c, network_input_t *row, sym_t value, bool is_constant) {
    sym_kind_t kind = sym_kind_of(c->pool, value);
    row->is_scalar = true;
    row->is_constant = is_constant;
    row->value = value;
    row->dtype = kind == SYM_KIND_FLOAT ? DTYPE_F64 : kind == SYM_KIND_BOOL ? DTYPE_BOOL : DTYPE_I64;
    return INSITU_OK;
}

static insitu_status add_user_input(converter_t *c, const graph_input_t *input, uint32_t index) {
    network_input_t *row = &c->network->inputs[index];
    TRY(copy_string(c, input->name, &row->name));
    if (input->value.index == NONE) {
        int64_t constant;
        double number;
        if (input->constant.kind != ARG_SYM) {
            row->is_none = true;
            return INSITU_OK;
        }
        bool known = sym_constant(c->pool, input->constant.sym, &constant) ||
                     sym_constant_float(c->pool, input->constant.sym, &number);
        return add_user_number(c, row, input->constant.sym, known);
    }
    const graph_value_t *value = graph_value_of(c->graph, input->value);
    if (value->kind == VALUE_SYM) {
        double number;
        return add_user_number(c, row, value->expr, sym_constant_float(c->pool, value->expr, &number));
    }
    if (value->kind == VALUE_NONE) {
        row->is_none = true;
        return INSITU_OK;
    }
    for (uint32_t i = 0; i < value->type.shape.rank; i++) row->strides[i] = value->type.strides[i];
    TRY(network_check_bytes(c->network, value->name, value->type.dtype, &value->type.shape, c->diag));
    TRY(network_add_tensor(c->network, value->name, TENSOR_INPUT, value->type.dtype, &value->type.shape, index,
                           &row->tensor));
    c->tensors[input->value.index] = row->tensor;
    return INSITU_OK;
}

/* Rows by user index. */
static insitu_status add_user_inputs(converter_t *c) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->graph->input_count; i++) count += c->graph->inputs[i].kind == INPUT_USER;
    for (uint32_t i = 0; i < count; i++) {
        network_input_t *row;
        TRY(network_add_input(c->network, &row));
    }
    for (uint32_t i = 0; i < c->graph->input_count; i++) {
        const graph_input_t *input = &c->graph->inputs[i];
        c->inputs[i] = NONE;
        if (input->kind != INPUT_USER) continue;
        if (input->user_index < 0 || (uint32_t)input->user_index >= count) {
            FAIL(c->diag, INSITU_FORMAT, "input '%s' is user input %d of %u", input->name, (int)input->user_index,
                 count);
        }
        c->inputs[i] = (uint32_t)input->user_index;
        TRY(add_user_input(c, input, c->inputs[i]));
    }
    return INSITU_OK;
}

static const graph_weight_t *weight_of(const converter_t *c, const graph_input_t *input) {
    return input->kind == INPUT_USER ? NULL : &c->graph->weights[input->weight];
}

static bool is_written(const converter_t *c, uint32_t input) {
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        if (c->graph->outputs[i].kind == RESULT_MUTATION && c->graph->outputs[i].target == input) return true;
    }
    return false;
}

static bool share_record(const graph_weight_t *a, const graph_weight_t *b) {
    return a->record != NONE && a->record == b->record;
}

/* The written input whose storage this one shares: itself first; NONE. */
static uint32_t writer_of(const converter_t *c, uint32_t input, const bitset_t *written) {
    if (bitset_has(written, input)) return input;
    const graph_weight_t *weight = weight_of(c, &c->graph->inputs[input]);
    for (uint32_t i = 0; i < c->graph->input_count; i++) {
        const graph_weight_t *other = weight_of(c, &c->graph->inputs[i]);
        if (other && bitset_has(written, i) && share_record(weight, other)) return i;
    }
    return NONE;
}

static insitu_status add_stored_tensor(converter_t *c, const graph_input_t *input, tensor_role_t role, uint32_t index,
                                       tensor_id_t *out_tensor) {
    const tensor_type_t *type = &weight_of(c, input)->type;
    if (input->value.index == NONE) {
        FAIL(c->diag, INSITU_FORMAT, "'%s' is stored and has no value in the graph", input->fqn);
    }
    const graph_value_t *value = graph_value_of(c->graph, input->value);
    if (value->kind != VALUE_TENSOR || value->type.dtype != type->dtype ||
        shape_equal(c->pool, &value->type.shape, &type->shape) == TRUTH_FALSE) {
        FAIL(c->diag, INSITU_FORMAT, "'%s' is stored with another type than the graph has", input->fqn);
    }
    TRY(network_check_bytes(c->network, input->name, type->dtype, &type->shape, c->diag));
    TRY(network_add_tensor(c->network, input->name, role, type->dtype, &type->shape, index, out_tensor));
    c->tensors[input->value.index] = *out_tensor;
    return INSITU_OK;
}

static insitu_status add_state(converter_t *c, uint32_t input_index) {
    const graph_input_t *input = &c->graph->inputs[input_index];
    const graph_weight_t *weight = weight_of(c, input);
    network_state_t *state;
    TRY(network_add_state(c->network, &state));
    uint32_t index = c->network->state_count - 1;
    TRY(copy_string(c, input->fqn, &state->name));
    state->record = weight->record;
    state->offset = weight->type.offset;
    for (uint32_t i = 0; i < weight->type.shape.rank; i++) state->strides[i] = weight->type.strides[i];
    TRY(add_stored_tensor(c, input, TENSOR_STATE, index, &state->tensor));
    c->states[input_index] = index;
    return INSITU_OK;
}

static insitu_status add_constant(converter_t *c, const graph_input_t *input) {
    const graph_weight_t *weight = weight_of(c, input);
    network_constant_t *constant;
    TRY(network_add_constant(c->network, &constant));
    constant->record = weight->record;
    constant->offset = weight->type.offset;
    for (uint32_t i = 0; i < weight->type.shape.rank; i++) constant->strides[i] = weight->type.strides[i];
    return add_stored_tensor(c, input, TENSOR_CONSTANT, c->network->constant_count - 1, &constant->tensor);
}

/* A buffer that is no state keeps its name beside the constant: it is part of what the module holds after a call. */
static insitu_status add_buffer(converter_t *c, const graph_input_t *input) {
    const graph_weight_t *weight = weight_of(c, input);
    network_buffer_t *buffer;
    TRY(network_add_buffer(c->network, &buffer));
    buffer->record = weight->record;
    buffer->type = weight->type;
    return copy_string(c, input->fqn, &buffer->name);
}

/* Names of one storage: views without a common element are apart; of one view, reads go through the name that is written, which
 * must be one. */
static insitu_status share_state(converter_t *c, uint32_t input, uint32_t writer, const bitset_t *written) {
    const graph_input_t *alias = &c->graph->inputs[input], *source = &c->graph->inputs[writer];
    if (!types_meet(c->pool, &weight_of(c, alias)->type, &weight_of(c, source)->type)) return INSITU_OK;
    if (!type_same(&weight_of(c, alias)->type, &weight_of(c, source)->type)) {
        FAIL(c->diag, INSITU_UNSUPPORTED,
             "'%s' and '%s' are overlapping views of one storage, and the program writes it", alias->fqn, source->fqn);
    }
    if (bitset_has(written, input)) {
        FAIL(c->diag, INSITU_UNSUPPORTED, "'%s' and '%s' are one tensor, and the program writes it by both names",
             alias->fqn, source->fqn);
    }
    c->tensors[alias->value.index] = c->tensors[source->value.index];
    return INSITU_OK;
}

static insitu_status add_stored(converter_t *c) {
    arena_t *arena = &c->scratch;
    bitset_t written;
    TRY(bitset_create(arena, c->graph->input_count, &written));
    for (uint32_t i = 0; i < c->graph->input_count; i++) {
        if (is_written(c, i)) bitset_add(&written, i);
    }
    for (uint32_t i = 0; i < c->graph->input_count; i++) {
        const graph_input_t *input = &c->graph->inputs[i];
        c->states[i] = NONE;
        if (input->kind == INPUT_USER) continue;
        if (input->weight >= c->graph->weight_count) {
            FAIL(c->diag, INSITU_FORMAT, "'%s' has no stored tensor", input->fqn);
        }
    }
    for (uint32_t i = 0; i < c->graph->input_count; i++) {
        const graph_input_t *input = &c->graph->inputs[i];
        if (input->kind == INPUT_USER) continue;
        if (writer_of(c, i, &written) == NONE) {
            TRY(add_constant(c, input));
            if (input->kind == INPUT_BUFFER) TRY(add_buffer(c, input));
        } else {
            TRY(add_state(c, i));
        }
    }
    for (uint32_t i = 0; i < c->graph->input_count; i++) {
        if (c->states[i] == NONE) continue;
        for (uint32_t j = 0; j < c->graph->input_count; j++) {
            bool other = j != i && c->states[j] != NONE && bitset_has(&written, j);
            if (other && share_record(weight_of(c, &c->graph->inputs[i]), weight_of(c, &c->graph->inputs[j]))) {
                TRY(share_state(c, i, j, &written));
            }
        }
    }
    arena_release(arena);
    return INSITU_OK;
}

insitu_status convert_inputs(converter_t *c) {
    for (uint32_t i = 0; i < c->graph->record_count; i++) {
        weight_record_t *record;
        TRY(network_add_record(c->network, &record));
        *record = c->graph->records[i];
        TRY(copy_string(c, c->graph->records[i].name, &record->name));
    }
    TRY(add_user_inputs(c));
    TRY(add_stored(c));
    for (uint32_t i = 0; i < c->graph->assert_count; i++) {
        TRY(network_require(c->network, c->graph->asserts[i].condition, c->graph->asserts[i].message, ""));
    }
    return INSITU_OK;
}

static insitu_status result_tensor(converter_t *c, const graph_arg_t *arg, tensor_id_t *out) {
    const graph_value_t *value = graph_value_of(c->graph, arg->value);
    *out = c->tensors[arg->value.index];
    if (out->index != NONE || value->kind != VALUE_TENSOR) return INSITU_OK;
    FAIL(c->diag, INSITU_UNSUPPORTED, "the program returns '%s', a result that is not computed", value->name);
}

/* A node stands for the write-back in names and sentences. */
static insitu_status write_back(converter_t *c, const graph_output_t *output) {
    const graph_input_t *target = &c->graph->inputs[output->target];
    if (output->arg.kind != ARG_VALUE) {
        FAIL(c->diag, INSITU_UNSUPPORTED, "the new value of '%s' is not a tensor", target->name);
    }
    tensor_id_t next;
    TRY(result_tensor(c, &output->arg, &next));
    tensor_id_t old = target->value.index == NONE ? NO_TENSOR : c->tensors[target->value.index];
    if (next.index == NONE || old.index == NONE) {
        FAIL(c->diag, INSITU_FORMAT, "'%s' is written and is not a tensor", target->name);
    }
    graph_node_t node = {.target = "write", .name = target->name, .source = ""};
    c->node = &node;
    TRY(emit_cast(c, next, dtype_of(c, old), &next));
    TRY(emit_expand(c, next, &tensor_of(c, old)->shape, &next));
    if (target->kind != INPUT_USER) {
        c->network->states[c->states[output->target]].next = next;
        return INSITU_OK;
    }
    network_mutation_t *mutation;
    TRY(network_add_mutation(c->network, &mutation));
    mutation->input = c->inputs[output->target];
    mutation->next = next;
    return INSITU_OK;
}

static tensor_id_t new_value(const converter_t *c, uint32_t input) {
    if (c->states[input] != NONE) return c->network->states[c->states[input]].next;
    for (uint32_t i = 0; i < c->network->mutation_count; i++) {
        if (c->network->mutations[i].input == c->inputs[input]) return c->network->mutations[i].next;
    }
    return NO_TENSOR;
}

/* A node that is a result and a tensor's new value is, as a result, that tensor: of its dtype and shape, which may differ
 * from the node's. Of several tensors, the last one. */
static tensor_id_t written_as(const converter_t *c, const graph_arg_t *result) {
    tensor_id_t tensor = NO_TENSOR;
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        const graph_output_t *output = &c->graph->outputs[i];
        bool same = output->kind == RESULT_MUTATION && output->arg.kind == ARG_VALUE &&
                    output->arg.value.index == result->value.index;
        if (same) tensor = new_value(c, output->target);
    }
    return tensor;
}

static insitu_status add_result(converter_t *c, const graph_output_t *output, uint32_t count) {
    if (output->user_index < 0 || (uint32_t)output->user_index >= count) {
        FAIL(c->diag, INSITU_FORMAT, "a result has position %d of %u", (int)output->user_index, count);
    }
    network_output_t *row = &c->network->outputs[output->user_index];
    if (output->name) TRY(copy_string(c, output->name, &row->name));
    if (output->arg.kind == ARG_SYM) {
        row->kind = OUTPUT_NUMBER;
        row->value = output->arg.sym;
    }
    if (output->arg.kind != ARG_VALUE) return INSITU_OK;
    const graph_value_t *value = graph_value_of(c->graph, output->arg.value);
    if (value->kind == VALUE_SYM) {
        row->kind = OUTPUT_NUMBER;
        row->value = value->expr;
        return INSITU_OK;
    }
    row->tensor = written_as(c, &output->arg);
    if (row->tensor.index == NONE) TRY(result_tensor(c, &output->arg, &row->tensor));
    if (row->tensor.index != NONE) row->kind = OUTPUT_TENSOR;
    return INSITU_OK;
}

insitu_status convert_outputs(converter_t *c) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->graph->output_count; i++) count += c->graph->outputs[i].kind == RESULT_USER;
    for (uint32_t i = 0; i < count; i++) {
        network_output_t *row;
        TRY(network_add_output(c->network, &row));
        TRY(arena_printf(&c->network->arena, &row->name, "output.%u", i));
    }
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        if (c->graph->outputs[i].kind == RESULT_MUTATION) TRY(write_back(c, &c->graph->outputs[i]));
    }
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        if (c->graph->outputs[i].kind == RESULT_USER) TRY(add_result(c, &c->graph->outputs[i], count));
    }
    return INSITU_OK;
}
