/* fill_defaults: omitted arguments take their schema's defaults; numbers take their schema's type.
 *
 * In: a graph as built. Out: no argument of an operator with a schema is absent; a number given for a float argument is
 * a float, a bool given for an int argument an int; a single number given for a list is a list (of the schema's fixed
 * length if it has one). Numbers given for a tensor stay numbers: they take part in type promotion as numbers.
 *
 *     %2: f32[4] = aten.add.Tensor(%0, %1)   ->   %2: f32[4] = aten.add.Tensor(%0, %1, alpha=1)
 *
 * Needs nothing; keeps everything. */
#include "passes/passes_int.h"

static insitu_status default_list(graph *graph, const schema_arg *schema, graph_arg *out_arg) {
    if (schema->default_kind == DEFAULT_INTS) return arg_of_numbers(graph, schema->ints, schema->int_count, out_arg);
    uint32_t count = schema->size ? schema->size : 1;
    *out_arg = (graph_arg){.kind = ARG_LIST, .list.count = count};
    TRY(arena_array(graph_arena(graph), count, sizeof(graph_arg), &out_arg->list.items));
    for (uint32_t i = 0; i < count; i++)
        out_arg->list.items[i] = schema->default_kind == DEFAULT_FLOAT
                                     ? arg_sym(sym_float(graph->symbols, schema->f))
                                     : arg_of_int(graph, schema->i);
    return INSITU_OK;
}

static insitu_status default_number(const schema_arg *schema, graph_arg *out_arg) {
    if (schema->type == SCHEMA_DTYPE) {
        dtype type;
        if (!dtype_from_pt2(schema->i, &type)) return INSITU_INTERNAL;
        *out_arg = arg_of_dtype(type);
        return INSITU_OK;
    }
    *out_arg = (graph_arg){.kind = schema->type == SCHEMA_LAYOUT ? ARG_LAYOUT : ARG_MEMORY_FORMAT,
                           .number = (int32_t)schema->i};
    return INSITU_OK;
}

static insitu_status default_of(graph *graph, const schema_arg *schema, graph_arg *out_arg) {
    bool is_list = schema->flags & SCHEMA_LIST;
    switch ((default_kind)schema->default_kind) {
    case DEFAULT_NONE_GIVEN:
    case DEFAULT_NONE: *out_arg = (graph_arg){.kind = ARG_NONE}; return INSITU_OK;
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
    case DEFAULT_STRING: *out_arg = (graph_arg){.kind = ARG_STRING, .string = schema->string}; return INSITU_OK;
    case DEFAULT_INTS: return default_list(graph, schema, out_arg);
    case DEFAULT_NUMBER: return default_number(schema, out_arg);
    }
    return INSITU_INTERNAL;
}

/* A number as the schema's type; expressions are cast by an operator. */
static sym convert_number(graph *graph, schema_type type, sym number) {
    sym_pool *pool = graph->symbols;
    sym_kind kind = sym_kind_of(pool, number);
    double value;
    int64_t integer;
    if (type == SCHEMA_FLOAT && kind != SYM_KIND_FLOAT)
        return sym_constant_float(pool, number, &value) ? sym_float(pool, value) : sym_make(pool, SYM_TOFLOAT, &number, 1);
    if (type == SCHEMA_INT && kind == SYM_KIND_BOOL && sym_constant(pool, number, &integer)) return sym_int(pool, integer);
    if (type == SCHEMA_BOOL && kind == SYM_KIND_INT && sym_constant(pool, number, &integer))
        return sym_bool(pool, integer != 0);
    return number;
}

static insitu_status convert_arg(graph *graph, const schema_arg *schema, graph_arg *arg) {
    if (!(schema->flags & SCHEMA_LIST)) {
        if (arg->kind == ARG_SYM) arg->sym = convert_number(graph, (schema_type)schema->type, arg->sym);
        return INSITU_OK;
    }
    if (arg->kind == ARG_SYM && schema->type != SCHEMA_TENSOR) {
        graph_arg number = *arg;
        uint32_t count = schema->size ? schema->size : 1;
        *arg = (graph_arg){.kind = ARG_LIST, .list.count = count};
        TRY(arena_array(graph_arena(graph), count, sizeof(graph_arg), &arg->list.items));
        for (uint32_t i = 0; i < count; i++) arg->list.items[i] = number;
    }
    if (arg->kind != ARG_LIST) return INSITU_OK;
    for (uint32_t i = 0; i < arg->list.count; i++) {
        graph_arg *item = &arg->list.items[i];
        if (item->kind == ARG_SYM) item->sym = convert_number(graph, (schema_type)schema->type, item->sym);
    }
    return INSITU_OK;
}

insitu_status fill_node(graph *graph, node_id node, insitu_diag *diag) {
    const graph_node *filled = graph_node_of(graph, node);
    if (!filled->schema) return INSITU_OK;
    char text[NODE_TEXT_SIZE];
    for (uint32_t i = 0; i < filled->arg_count; i++) {
        const schema_arg *schema = &filled->schema->args[i];
        graph_arg *arg = &filled->args[i];
        if (arg->kind != ARG_ABSENT) {
            TRY(convert_arg(graph, schema, arg));
            continue;
        }
        if (schema->default_kind == DEFAULT_NONE_GIVEN)
            FAIL(diag, INSITU_FORMAT, "%s lacks its argument '%s', which has no default",
                 node_text(filled, text, sizeof(text)), schema->name);
        TRY(default_of(graph, schema, arg));
    }
    return INSITU_OK;
}

static insitu_status fill_graph(graph *graph, uint32_t depth, pass_context *context, bool *out_changed) {
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const graph_node *node = graph_node_of(graph, graph->order[i]);
        for (uint32_t j = 0; j < node->arg_count; j++)
            if (node->schema && node->args[j].kind == ARG_ABSENT) *out_changed = true;
        TRY(fill_node(graph, graph->order[i], context->diag));
    }
    return for_each_subgraph(graph, depth, context, fill_graph, out_changed);
}

insitu_status pass_fill_defaults(pass_context *context, bool *out_changed) {
    *out_changed = false;
    TRY(fill_graph(context->graph, 0, context, out_changed));
    return sym_pool_status(context->graph->symbols, context->diag);
}
