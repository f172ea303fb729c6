/* fill_defaults: omitted arguments take their schema's defaults.
 *
 * In: a graph as built, whose arguments fit their schemas. Out: no argument of an operator with a schema is absent, in
 * subgraphs neither. A default of one number for a list of a fixed length becomes that many.
 *
 *     %2: f32[4] = aten.add.Tensor(%0, %1)   ->   %2: f32[4] = aten.add.Tensor(%0, %1, alpha=1)
 *
 * Needs nothing; keeps everything. */
#include "passes/passes_int.h"

static insitu_status default_list(graph_t *graph, const schema_arg_t *schema, graph_arg_t *out_arg) {
    if (schema->default_kind == DEFAULT_INTS) return arg_of_numbers(graph, schema->ints, schema->int_count, out_arg);
    uint32_t count = schema->size ? schema->size : 1;
    *out_arg = (graph_arg_t){.kind = ARG_LIST, .list.count = count};
    TRY(arena_array(graph_arena(graph), count, sizeof(graph_arg_t), &out_arg->list.items));
    for (uint32_t i = 0; i < count; i++)
        out_arg->list.items[i] = schema->default_kind == DEFAULT_FLOAT ? arg_sym(sym_float(graph->symbols, schema->f))
                                                                       : arg_of_int(graph, schema->i);
    return INSITU_OK;
}

static insitu_status default_number(const schema_arg_t *schema, graph_arg_t *out_arg) {
    if (schema->type == SCHEMA_DTYPE) {
        dtype_t type;
        if (!dtype_from_pt2(schema->i, &type)) return INSITU_INTERNAL;
        *out_arg = arg_of_dtype(type);
        return INSITU_OK;
    }
    *out_arg = (graph_arg_t){.kind = schema->type == SCHEMA_LAYOUT ? ARG_LAYOUT : ARG_MEMORY_FORMAT,
                             .number = (int32_t)schema->i};
    return INSITU_OK;
}

static insitu_status default_of(graph_t *graph, const schema_arg_t *schema, graph_arg_t *out_arg) {
    bool is_list = schema->flags & SCHEMA_LIST;
    switch ((default_kind_t)schema->default_kind) {
    case DEFAULT_NONE_GIVEN:
    case DEFAULT_NONE: *out_arg = (graph_arg_t){.kind = ARG_NONE}; return INSITU_OK;
    case DEFAULT_INT:
        if (is_list) return default_list(graph, schema, out_arg);
        *out_arg = schema->type == SCHEMA_FLOAT ? arg_sym(sym_float(graph->symbols, (double)schema->i))
                                                : arg_of_int(graph, schema->i);
        return INSITU_OK;
    case DEFAULT_FLOAT:
        if (is_list) return default_list(graph, schema, out_arg);
        *out_arg = arg_sym(sym_float(graph->symbols, schema->f));
        return INSITU_OK;
    case DEFAULT_BOOL: *out_arg = arg_sym(sym_bool(graph->symbols, schema->i != 0)); return INSITU_OK;
    case DEFAULT_STRING: *out_arg = (graph_arg_t){.kind = ARG_STRING, .string = schema->string}; return INSITU_OK;
    case DEFAULT_INTS: return default_list(graph, schema, out_arg);
    case DEFAULT_NUMBER: return default_number(schema, out_arg);
    }
    return INSITU_INTERNAL;
}

insitu_status fill_node(graph_t *graph, node_id_t node, insitu_diag *diag) {
    const graph_node_t *filled = graph_node_of(graph, node);
    if (!filled->schema) return INSITU_OK;
    char text[NODE_TEXT_SIZE];
    for (uint32_t i = 0; i < filled->arg_count; i++) {
        const schema_arg_t *schema = &filled->schema->args[i];
        graph_arg_t *arg = &filled->args[i];
        if (arg->kind != ARG_ABSENT) continue;
        if (schema->default_kind == DEFAULT_NONE_GIVEN)
            FAIL(diag, INSITU_FORMAT, "%s lacks its argument '%s', which has no default",
                 node_text(filled, text, sizeof(text)), schema->name);
        TRY(default_of(graph, schema, arg));
    }
    return INSITU_OK;
}

static insitu_status fill_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const graph_node_t *node = graph_node_of(graph, graph->order[i]);
        for (uint32_t j = 0; j < node->arg_count; j++)
            if (node->schema && node->args[j].kind == ARG_ABSENT) *out_changed = true;
        TRY(fill_node(graph, graph->order[i], context->diag));
    }
    return for_each_subgraph(graph, depth, context, fill_graph, out_changed);
}

insitu_status pass_fill_defaults(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    TRY(fill_graph(context->graph, 0, context, out_changed));
    return sym_pool_status(context->graph->symbols, context->diag);
}
