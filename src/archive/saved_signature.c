/* The signature: what each placeholder and each result of the graph is. Position is the only link between the two. */
#include "archive/archive_int.h"

/* ---- inputs ---- */

/* The spec's {"name": ...} must be the placeholder at its position. */
static insitu_status read_placeholder(reader_t *reader, const json_cursor_t *spec,
                                      const archive_argument_t *placeholder, archive_input_t *out) {
    json_cursor_t argument;
    uint32_t value;
    const archive_graph_t *graph = reader->program->graph;
    TRY(json_member(spec, "arg", &argument));
    TRY(read_reference(graph, NULL, &argument, &value));
    if (placeholder->kind != ARGUMENT_TENSOR || placeholder->value != value ||
        graph->values[value].kind != ARCHIVE_TENSOR)
        return json_fail(&argument, INSITU_FORMAT, "'%s' is not the tensor that the graph has at this position",
                         graph->values[value].name);
    out->value = value;
    out->name = graph->values[value].name;
    return INSITU_OK;
}

static insitu_status read_stored(reader_t *reader, const json_cursor_t *spec, const archive_argument_t *placeholder,
                                 const char *name_key, archive_input_t *out) {
    json_cursor_t member;
    TRY(read_placeholder(reader, spec, placeholder, out));
    TRY(json_member(spec, name_key, &member));
    TRY(reader_text(reader, &member, &out->fqn));
    out->is_persistent = true;
    if (json_optional(spec, "persistent", &member)) TRY(json_bool(&member, &out->is_persistent));
    return INSITU_OK;
}

static uint32_t value_of(const archive_argument_t *argument) {
    switch (argument->kind) {
    case ARGUMENT_TENSOR:
    case ARGUMENT_OBJECT: return argument->value;
    case ARGUMENT_INT:
    case ARGUMENT_FLOAT:
    case ARGUMENT_BOOL: return argument->number.value;
    case ARGUMENT_NONE:
    case ARGUMENT_TENSORS:
    case ARGUMENT_NESTED_TENSORS:
    case ARGUMENT_COMPLEX:
    case ARGUMENT_INTS:
    case ARGUMENT_FLOATS:
    case ARGUMENT_BOOLS:
    case ARGUMENT_INT_LISTS:
    case ARGUMENT_FLOAT_LISTS:
    case ARGUMENT_STRING:
    case ARGUMENT_STRINGS:
    case ARGUMENT_DTYPE:
    case ARGUMENT_MEMORY_FORMAT:
    case ARGUMENT_LAYOUT:
    case ARGUMENT_DEVICE:
    case ARGUMENT_GRAPH:
    case ARGUMENT_OPERATOR:
    case ARGUMENT_MAP: break;
    }
    return NONE;
}

static insitu_status read_user_input(reader_t *reader, const json_cursor_t *spec, const archive_argument_t *placeholder,
                                     archive_input_t *out) {
    const archive_graph_t *graph = reader->program->graph;
    json_cursor_t member;
    archive_argument_t argument;
    TRY(json_member(spec, "arg", &member));
    TRY(read_argument(reader, graph, NULL, &member, &argument));
    out->value = value_of(&argument);
    if (argument.kind != placeholder->kind || out->value != value_of(placeholder))
        return json_fail(&member, INSITU_FORMAT, "this is not the input that the graph has at this position");
    if (argument.kind == ARGUMENT_OBJECT)
        return json_fail(spec, INSITU_UNSUPPORTED,
                         "the input '%s' is an object of class %s; inputs must be tensors or numbers",
                         graph->values[argument.value].name, argument.string);
    if (out->value == NONE) {
        out->kind = ARCHIVE_INPUT_CONSTANT;
        out->name = "";
    } else {
        out->name = graph->values[out->value].name;
    }
    return INSITU_OK;
}

static insitu_status read_constant_input(reader_t *reader, const json_cursor_t *spec,
                                         const archive_argument_t *placeholder, archive_input_t *out) {
    json_cursor_t member;
    TRY(json_member(spec, "name", &member));
    TRY(reader_text(reader, &member, &out->name));
    if (value_of(placeholder) != NONE)
        return json_fail(spec, INSITU_FORMAT, "the constant '%s' is a value of the graph", out->name);
    return INSITU_OK;
}

static insitu_status read_input(reader_t *reader, const json_cursor_t *at, const archive_argument_t *placeholder,
                                archive_input_t *out) {
    *out = (archive_input_t){.value = NONE, .payload = NONE};
    json_cursor_t spec, member;
    const char *name = "";
    TRY(json_union(at, &spec));
    if (strcmp(spec.key, "user_input") == 0) return read_user_input(reader, &spec, placeholder, out);
    if (strcmp(spec.key, "parameter") == 0) {
        out->kind = ARCHIVE_INPUT_PARAMETER;
        return read_stored(reader, &spec, placeholder, "parameter_name", out);
    }
    if (strcmp(spec.key, "buffer") == 0) {
        out->kind = ARCHIVE_INPUT_BUFFER;
        return read_stored(reader, &spec, placeholder, "buffer_name", out);
    }
    if (strcmp(spec.key, "tensor_constant") == 0) {
        out->kind = ARCHIVE_INPUT_TENSOR_CONSTANT;
        return read_stored(reader, &spec, placeholder, "tensor_constant_name", out);
    }
    if (strcmp(spec.key, "constant_input") == 0) {
        out->kind = ARCHIVE_INPUT_CONSTANT;
        return read_constant_input(reader, &spec, placeholder, out);
    }
    if (strcmp(spec.key, "custom_obj") == 0) {
        TRY(json_member(&spec, "custom_obj_name", &member));
        TRY(json_text(&member, &name));
        return json_fail(&spec, INSITU_UNSUPPORTED,
                         "the program needs the stored object '%s'; only tensors are handled", name);
    }
    return json_fail(at, INSITU_UNSUPPORTED, "an input of the kind '%s' is not handled", spec.key);
}

static insitu_status read_inputs(reader_t *reader, const json_cursor_t *at) {
    archive_program_t *program = reader->program;
    uint32_t count;
    TRY(json_count(at, &count));
    if (count != program->graph->input_count)
        return json_fail(at, INSITU_FORMAT, "%u specs for the graph's %u inputs", count, program->graph->input_count);
    archive_input_t *inputs;
    uint32_t *user_inputs;
    TRY(arena_array(reader->arena, count, sizeof(*inputs), &inputs));
    TRY(arena_array(reader->arena, count, sizeof(*user_inputs), &user_inputs));
    for (uint32_t i = 0; i < count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_input(reader, &item, &program->graph->inputs[i], &inputs[i]));
        if (inputs[i].kind == ARCHIVE_INPUT_USER || inputs[i].kind == ARCHIVE_INPUT_CONSTANT)
            user_inputs[program->user_input_count++] = i;
    }
    program->inputs = inputs;
    program->user_inputs = user_inputs;
    return INSITU_OK;
}

/* ---- outputs ---- */

static const struct output_variant {
    const char *key, *target_key;
    archive_output_kind_t kind;
    archive_input_kind_t target_kind;
} output_variants[] = {
    {"buffer_mutation", "buffer_name", OUTPUT_BUFFER_MUTATION, ARCHIVE_INPUT_BUFFER},
    {"parameter_mutation", "parameter_name", OUTPUT_PARAMETER_MUTATION, ARCHIVE_INPUT_PARAMETER},
    {"user_input_mutation", "user_input_name", OUTPUT_INPUT_MUTATION, ARCHIVE_INPUT_USER},
};

/* Targets of mutations, by kind and name; the first input of a name wins. */
typedef struct target_index {
    map_t names[ARCHIVE_INPUT_TENSOR_CONSTANT + 1];
} target_index_t;

static insitu_status index_targets(reader_t *reader, target_index_t *index) {
    const archive_program_t *program = reader->program;
    for (uint32_t i = 0; i < program->graph->input_count; i++) {
        const archive_input_t *input = &program->inputs[i];
        const char *name = input->kind == ARCHIVE_INPUT_USER ? input->name : input->fqn;
        if (!name || map_find(&index->names[input->kind], name) != NONE) continue;
        TRY(map_set(&index->names[input->kind], &reader->scratch, name, i));
    }
    return INSITU_OK;
}

static insitu_status read_mutation(reader_t *reader, const target_index_t *index, const json_cursor_t *spec,
                                   const struct output_variant *variant, const archive_argument_t *result,
                                   archive_output_t *out) {
    json_cursor_t member;
    uint32_t value;
    const archive_graph_t *graph = reader->program->graph;
    out->kind = variant->kind;
    TRY(json_member(spec, "arg", &member));
    TRY(read_reference(graph, NULL, &member, &value));
    if (result->kind != ARGUMENT_TENSOR || result->value != value || graph->values[value].kind != ARCHIVE_TENSOR)
        return json_fail(&member, INSITU_FORMAT, "'%s' is not the tensor that the graph has at this position",
                         graph->values[value].name);
    TRY(json_member(spec, variant->target_key, &member));
    TRY(reader_text(reader, &member, &out->target));
    out->target_input = map_find(&index->names[variant->target_kind], out->target);
    if (out->target_input == NONE) return json_fail(&member, INSITU_FORMAT, "no input is called '%s'", out->target);
    return INSITU_OK;
}

static insitu_status read_output(reader_t *reader, const target_index_t *index, const json_cursor_t *at,
                                 const archive_argument_t *result, archive_output_t *out) {
    *out = (archive_output_t){.target_input = NONE};
    json_cursor_t spec, member;
    archive_argument_t argument;
    TRY(json_union(at, &spec));
    for (size_t i = 0; i < COUNT_OF(output_variants); i++)
        if (strcmp(spec.key, output_variants[i].key) == 0)
            return read_mutation(reader, index, &spec, &output_variants[i], result, out);
    if (strcmp(spec.key, "user_output") != 0)
        return json_fail(at, INSITU_UNSUPPORTED, "an output of the kind '%s' is not handled", spec.key);
    TRY(json_member(&spec, "arg", &member));
    TRY(read_argument(reader, reader->program->graph, NULL, &member, &argument));
    if (argument.kind != result->kind || value_of(&argument) != value_of(result))
        return json_fail(&member, INSITU_FORMAT, "this is not the result that the graph has at this position");
    return INSITU_OK;
}

static insitu_status read_outputs(reader_t *reader, const json_cursor_t *at) {
    archive_program_t *program = reader->program;
    const archive_graph_t *graph = program->graph;
    target_index_t index = {0};
    uint32_t count;
    TRY(index_targets(reader, &index));
    TRY(json_count(at, &count));
    if (count != graph->output_count)
        return json_fail(at, INSITU_FORMAT, "%u specs for the graph's %u outputs", count, graph->output_count);
    archive_output_t *outputs;
    uint32_t *user_outputs;
    TRY(arena_array(reader->arena, count, sizeof(*outputs), &outputs));
    TRY(arena_array(reader->arena, count, sizeof(*user_outputs), &user_outputs));
    for (uint32_t i = 0; i < count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_output(reader, &index, &item, &graph->outputs[i], &outputs[i]));
        if (outputs[i].kind == OUTPUT_USER) user_outputs[program->user_output_count++] = i;
    }
    program->outputs = outputs;
    program->user_outputs = user_outputs;
    return INSITU_OK;
}

insitu_status read_signature(reader_t *reader, const json_cursor_t *at) {
    json_cursor_t member;
    TRY(json_member(at, "input_specs", &member));
    TRY(read_inputs(reader, &member));
    TRY(json_member(at, "output_specs", &member));
    return read_outputs(reader, &member);
}
