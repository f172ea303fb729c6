/* Weights, inputs and outputs. Inputs of one stored tensor (tied weights) share a row of weights; tensors of one storage
 * share a record, so that a write through one name is seen through all. */
#include "graph/build_int.h"

/* ---- weights ---- */

static insitu_status build_records(builder_t *builder, graph_t *graph) {
    const archive_program_t *program = builder->program;
    graph->record_count = program->storage_count;
    TRY(arena_array(&graph->arena, program->storage_count, sizeof(weight_record_t), &graph->records));
    for (uint32_t i = 0; i < program->storage_count; i++)
        graph->records[i] =
            (weight_record_t){.name = "", .data = program->storages[i].data, .size = program->storages[i].size};
    for (uint32_t i = program->payload_count; i-- > 0;) { /* the first tensor of a record names it */
        const archive_payload_t *payload = &program->payloads[i];
        if (payload->storage == NONE) continue;
        weight_record_t *record = &graph->records[payload->storage];
        record->dtype = payload->dtype;
        TRY(arena_string(&graph->arena, payload->fqn, strlen(payload->fqn), &record->name));
    }
    return INSITU_OK;
}

insitu_status build_weights(builder_t *builder, graph_t *graph) {
    const archive_program_t *program = builder->program;
    TRY(build_records(builder, graph));
    graph->weight_count = program->payload_count;
    TRY(arena_array(&graph->arena, program->payload_count, sizeof(graph_weight_t), &graph->weights));
    for (uint32_t i = 0; i < program->payload_count; i++) {
        const archive_payload_t *payload = &program->payloads[i];
        graph_weight_t *weight = &graph->weights[i];
        TRY(arena_string(&graph->arena, payload->fqn, strlen(payload->fqn), &weight->name));
        weight->record = payload->storage;
        if (payload->rank > MAX_RANK)
            FAIL(builder->diag, INSITU_UNSUPPORTED, "the stored tensor '%s' has rank %u; at most %d is handled",
                 payload->fqn, payload->rank, MAX_RANK);
        weight->type = (tensor_type_t){.dtype = payload->dtype, .shape.rank = payload->rank};
        for (uint32_t k = 0; k < payload->rank; k++) {
            weight->type.shape.sizes[k] = sym_int(graph->symbols, payload->sizes[k]);
            weight->type.strides[k] = sym_int(graph->symbols, payload->strides[k]);
        }
        weight->type.offset = sym_int(graph->symbols, payload->offset);
    }
    return INSITU_OK;
}

/* ---- inputs ---- */

static graph_input_kind_t input_kind(archive_input_kind_t kind) {
    switch (kind) {
    case ARCHIVE_INPUT_PARAMETER: return INPUT_PARAMETER;
    case ARCHIVE_INPUT_BUFFER: return INPUT_BUFFER;
    case ARCHIVE_INPUT_TENSOR_CONSTANT: return INPUT_CONSTANT;
    case ARCHIVE_INPUT_USER:
    case ARCHIVE_INPUT_CONSTANT: break;
    }
    return INPUT_USER;
}

/* A stored tensor is where its payload says: the recorded type of its placeholder may lack the offset. */
static insitu_status adopt_weight(scope_t *scope, const archive_input_t *saved, graph_input_t *input) {
    graph_t *graph = scope->graph;
    graph_value_t *value = graph_value_of(graph, input->value);
    const tensor_type_t *stored = &graph->weights[saved->payload].type;
    if (value->kind != VALUE_TENSOR || value->type.dtype != stored->dtype ||
        !shape_same(&value->type.shape, &stored->shape))
        FAIL(scope->builder->diag, INSITU_FORMAT, "input '%s': its type is not that of the stored tensor '%s'",
             input->name, input->fqn);
    value->type = *stored;
    input->weight = saved->payload;
    return INSITU_OK;
}

static insitu_status build_input(scope_t *scope, const archive_input_t *saved, const archive_argument_t *argument,
                                 graph_input_t *input) {
    arena_t *arena = graph_arena(scope->graph);
    *input = (graph_input_t){.kind = input_kind(saved->kind),
                             .fqn = "",
                             .persistent = saved->kind == ARCHIVE_INPUT_BUFFER && saved->is_persistent,
                             .value = NO_VALUE,
                             .weight = NONE,
                             .user_index = -1};
    TRY(arena_string(arena, saved->name, strlen(saved->name), &input->name));
    if (saved->fqn) TRY(arena_string(arena, saved->fqn, strlen(saved->fqn), &input->fqn));
    if (saved->value == NONE) {
        const arg_place_t place = {0};
        return build_arg(scope, &place, argument, &input->constant);
    }
    TRY(define_value(scope, saved->value, &input->value));
    return saved->payload == NONE ? INSITU_OK : adopt_weight(scope, saved, input);
}

insitu_status build_inputs(scope_t *scope) {
    const archive_program_t *program = scope->builder->program;
    graph_t *graph = scope->graph;
    graph->input_count = scope->saved->input_count;
    TRY(arena_array(&graph->arena, graph->input_count, sizeof(graph_input_t), &graph->inputs));
    for (uint32_t i = 0; i < graph->input_count; i++)
        TRY(build_input(scope, &program->inputs[i], &scope->saved->inputs[i], &graph->inputs[i]));
    for (uint32_t i = 0; i < program->user_input_count; i++)
        graph->inputs[program->user_inputs[i]].user_index = (int32_t)i;
    return INSITU_OK;
}

/* ---- outputs ---- */

insitu_status build_outputs(scope_t *scope) {
    const archive_program_t *program = scope->builder->program;
    const arg_place_t place = {0};
    for (uint32_t i = 0; i < scope->saved->output_count; i++) {
        const archive_output_t *saved = &program->outputs[i];
        graph_output_t output = {.kind = saved->kind == OUTPUT_USER ? RESULT_USER : RESULT_MUTATION,
                                 .target = saved->target_input,
                                 .user_index = -1};
        TRY(build_arg(scope, &place, &scope->saved->outputs[i], &output.arg));
        TRY(graph_add_output(scope->graph, &output));
    }
    for (uint32_t i = 0; i < program->user_output_count; i++)
        scope->graph->outputs[program->user_outputs[i]].user_index = (int32_t)i;
    return INSITU_OK;
}
