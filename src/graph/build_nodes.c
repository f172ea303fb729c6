/* Nodes and subgraphs. */
#include "graph/build_int.h"

/* ---- results ---- */

typedef struct result_list {
    value_id_t *items;
    uint32_t count, capacity;
} result_list_t;

static insitu_status add_result(scope_t *scope, result_list_t *results, value_id_t value) {
    TRY(arena_grow(&scope->builder->scratch, &results->items, &results->capacity, (size_t)results->count + 1,
                   sizeof(value_id_t)));
    results->items[results->count++] = value;
    return INSITU_OK;
}

/* A result that is None or a number known at compile time has no name of its own. */
static insitu_status add_nameless(scope_t *scope, const archive_node_t *node, result_list_t *results,
                                  const sym_t *expr) {
    const char *name;
    value_id_t value;
    TRY(arena_printf(&scope->builder->scratch, &name, "%s_result_%u", node->name, results->count));
    if (expr)
        TRY(graph_add_sym(scope->graph, name, *expr, &value));
    else
        TRY(graph_add_none(scope->graph, name, &value));
    return add_result(scope, results, value);
}

static insitu_status define_result(scope_t *scope, const archive_node_t *node, uint32_t saved, result_list_t *results) {
    value_id_t value;
    if (saved == NONE) return add_nameless(scope, node, results, NULL);
    TRY(define_value(scope, saved, &value));
    return add_result(scope, results, value);
}

static insitu_status define_results(scope_t *scope, const archive_node_t *node, const archive_argument_t *saved,
                                    result_list_t *results) {
    switch ((int)saved->kind) {
    case ARGUMENT_NONE: return add_nameless(scope, node, results, NULL);
    case ARGUMENT_TENSOR:
    case ARGUMENT_OBJECT: return define_result(scope, node, saved->value, results);
    case ARGUMENT_INT:
    case ARGUMENT_FLOAT:
    case ARGUMENT_BOOL:
        if (saved->number.value == NONE) {
            archive_sym_t literal = {.value = saved->number.literal};
            sym_t expr;
            TRY(build_sym(scope->builder, scope->graph->symbols, &literal, &expr));
            return add_nameless(scope, node, results, &expr);
        }
        return define_result(scope, node, saved->number.value, results);
    case ARGUMENT_TENSORS:
        for (uint32_t i = 0; i < saved->count; i++) TRY(define_result(scope, node, saved->values[i], results));
        return INSITU_OK;
    case ARGUMENT_NESTED_TENSORS:
        for (uint32_t i = 0; i < saved->count; i++)
            for (uint32_t k = 0; k < saved->items[i].count; k++)
                TRY(define_result(scope, node, saved->items[i].values[k], results));
        return INSITU_OK;
    default:
        FAIL(scope->builder->diag, INSITU_UNSUPPORTED, "node '%s' (%s) has a result that is no tensor and no number",
             node->name, node->op);
    }
}

/* ---- arguments ---- */

static insitu_status args_by_schema(scope_t *scope, const archive_node_t *saved, graph_node_t *node) {
    for (uint32_t i = 0; i < saved->input_count; i++) {
        const archive_named_argument_t *input = &saved->inputs[i];
        arg_place_t place = {.node = saved, .name = input->name};
        uint32_t position = schema_arg_index(node->schema, input->name);
        if (position == NONE)
            FAIL(scope->builder->diag, INSITU_FORMAT, "node '%s': operator %s has no argument '%s'%s%s", saved->name,
                 saved->op, input->name, *saved->source ? ", at " : "", saved->source);
        if (node->args[position].kind != ARG_ABSENT)
            FAIL(scope->builder->diag, INSITU_FORMAT, "node '%s' (%s) has argument '%s' twice", saved->name, saved->op,
                 input->name);
        graph_arg_t arg;
        TRY(build_arg(scope, &place, &input->argument, &arg));
        TRY(fit_arg(scope, &place, &node->schema->args[position], &arg));
        node->args[position] = arg;
    }
    return INSITU_OK;
}

static insitu_status args_as_saved(scope_t *scope, const archive_node_t *saved, graph_node_t *node) {
    arena_t *arena = graph_arena(scope->graph);
    node->arg_count = saved->input_count;
    TRY(arena_array(arena, saved->input_count, sizeof(graph_arg_t), &node->args));
    TRY(arena_array(arena, saved->input_count, sizeof(char *), &node->arg_names));
    for (uint32_t i = 0; i < saved->input_count; i++) {
        const char *name = saved->inputs[i].name;
        arg_place_t place = {.node = saved, .name = name};
        TRY(arena_string(arena, name, strlen(name), &node->arg_names[i]));
        TRY(build_arg(scope, &place, &saved->inputs[i].argument, &node->args[i]));
    }
    return INSITU_OK;
}

static insitu_status build_node(scope_t *scope, const archive_node_t *saved) {
    result_list_t results = {0};
    node_id_t id;
    graph_node_t node;
    TRY(graph_add_node(scope->graph, saved->op, NULL, 0, saved->source, &id));
    node = *graph_node_of(scope->graph, id);
    if (node.schema)
        TRY(args_by_schema(scope, saved, &node));
    else
        TRY(args_as_saved(scope, saved, &node));
    for (uint32_t i = 0; i < saved->output_count; i++) TRY(define_results(scope, saved, &saved->outputs[i], &results));
    TRY(arena_copy(graph_arena(scope->graph), results.items, results.count * sizeof(value_id_t), &node.results));
    node.result_count = results.count;
    for (uint32_t i = 0; i < results.count; i++) {
        graph_value_t *value = graph_value_of(scope->graph, results.items[i]);
        value->producer = id;
        value->result = i;
    }
    if (*saved->name)
        TRY(arena_string(graph_arena(scope->graph), saved->name, strlen(saved->name), &node.name));
    else if (results.count)
        node.name = graph_value_of(scope->graph, results.items[0])->name;
    *graph_node_of(scope->graph, id) = node;
    return graph_append(scope->graph, id);
}

insitu_status build_nodes(scope_t *scope) {
    for (uint32_t i = 0; i < scope->saved->node_count; i++) TRY(build_node(scope, &scope->saved->nodes[i]));
    return INSITU_OK;
}

/* ---- subgraphs ---- */

static insitu_status subgraph_inputs(scope_t *scope, const char *name) {
    const archive_graph_t *saved = scope->saved;
    result_list_t values = {0};
    archive_node_t place = {.name = name, .op = "subgraph"};
    for (uint32_t i = 0; i < saved->input_count; i++) TRY(define_results(scope, &place, &saved->inputs[i], &values));
    graph_t *graph = scope->graph;
    graph->input_count = values.count;
    TRY(arena_array(graph_arena(graph), values.count, sizeof(graph_input_t), &graph->inputs));
    for (uint32_t i = 0; i < values.count; i++)
        graph->inputs[i] = (graph_input_t){.name = graph_value_of(graph, values.items[i])->name,
                                           .kind = INPUT_USER,
                                           .fqn = "",
                                           .value = values.items[i],
                                           .weight = NONE,
                                           .user_index = (int32_t)i};
    return INSITU_OK;
}

static insitu_status subgraph_outputs(scope_t *scope) {
    const archive_graph_t *saved = scope->saved;
    const arg_place_t place = {0};
    for (uint32_t i = 0; i < saved->output_count; i++) {
        graph_arg_t arg;
        TRY(build_arg(scope, &place, &saved->outputs[i], &arg));
        uint32_t count = arg.kind == ARG_LIST ? arg.list.count : 1;
        const graph_arg_t *items = arg.kind == ARG_LIST ? arg.list.items : &arg;
        for (uint32_t k = 0; k < count; k++) {
            graph_output_t output = {.kind = RESULT_USER,
                                     .arg = items[k],
                                     .target = NONE,
                                     .user_index = (int32_t)scope->graph->output_count};
            TRY(graph_add_output(scope->graph, &output));
        }
    }
    return INSITU_OK;
}

insitu_status build_subgraph(scope_t *outer, const char *name, const archive_graph_t *saved, graph_t **out_graph) {
    scope_t scope;
    *out_graph = NULL;
    if (outer->depth + 1 >= MAX_NESTING)
        FAIL(outer->builder->diag, INSITU_FORMAT, "subgraph '%s' is nested deeper than %d", name, MAX_NESTING);
    TRY(graph_create_subgraph(outer->graph, out_graph));
    TRY(scope_open(outer->builder, saved, *out_graph, outer->depth + 1, &scope));
    TRY(subgraph_inputs(&scope, name));
    TRY(build_nodes(&scope));
    return subgraph_outputs(&scope);
}
