/* keep_values: the value of every tensor, as it is when its node has run, becomes a result named "node.NAME".
 *
 * In: a graph as saved. Out: after each node a clone of each of its tensor results, dense, and a user result that is the
 * clone: whatever is written later, the result is the value of that moment. Values in subgraphs are left out; what the
 * operator around them returns is kept. The program's own results stay first.
 *
 *     %copy_: f32[4] = aten.copy_.default(%b, %x)
 *     -> %copy_: f32[4] = aten.copy_.default(%b, %x)
 *        %node.copy_: f32[4] = aten.clone.default(%copy_, memory_format=contiguous_format)
 *        output %node.copy_ user 1 as "node.copy_"
 *
 * Needs to be the first pass, since others change names and drop nodes; keeps everything. */
#include "archive/archive.h"
#include "passes/passes_int.h"

static insitu_status keep_value(pass_context_t *context, value_id_t value, const char *source, int32_t *next) {
    graph_t *graph = context->graph;
    const graph_value_t *kept = graph_value_of(graph, value);
    tensor_type_t type = kept->type;
    type.offset = sym_int(graph->symbols, 0);
    shape_dense_strides(graph->symbols, &type.shape, type.strides);
    const graph_arg_t format = {.kind = ARG_MEMORY_FORMAT, .number = MEMORY_FORMAT_CONTIGUOUS};
    const emission_t clone = {.target = "aten.clone.default",
                              .type = &type,
                              .source = source,
                              .arg_count = 2,
                              .args = {{"self", arg_value(value)}, {"memory_format", format}}};
    value_id_t result;
    graph_output_t output = {.kind = RESULT_USER, .target = NONE, .user_index = (*next)++};
    TRY(arena_printf(graph_arena(graph), &output.name, "node.%s", kept->name));
    TRY(graph_add_tensor(graph, output.name, &type, &result));
    TRY(emit_node(graph, &clone, context->diag, &result));
    output.arg = arg_value(result);
    return graph_add_output(graph, &output);
}

static insitu_status keep_results(pass_context_t *context, node_id_t id, int32_t *next) {
    const graph_node_t node = *graph_node_of(context->graph, id); /* nodes move where others are made */
    for (uint32_t i = 0; i < node.result_count; i++)
        if (graph_value_of(context->graph, node.results[i])->kind == VALUE_TENSOR)
            TRY(keep_value(context, node.results[i], node.source, next));
    return INSITU_OK;
}

insitu_status pass_keep_values(pass_context_t *context, bool *out_changed) {
    graph_t *graph = context->graph;
    const node_id_t *order = graph->order;
    uint32_t count = graph->order_count;
    int32_t next = 0;
    for (uint32_t i = 0; i < graph->output_count; i++) next += graph->outputs[i].kind == RESULT_USER;
    graph->order = NULL;
    graph->order_count = graph->order_capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        TRY(graph_append(graph, order[i]));
        TRY(keep_results(context, order[i], &next));
    }
    *out_changed = count > 0;
    return sym_pool_status(graph->symbols, context->diag);
}
