/* Deep copies. Ids of values, nodes, records and expressions are the same in the copy; weight bytes stay where they are. */
#include "graph/graph.h"

static insitu_status clone_graph(const graph *source, graph *copy, uint32_t depth);

static insitu_status clone_string(arena *arena, const char **text) {
    return *text ? arena_string(arena, *text, strlen(*text), text) : INSITU_OK;
}

/* Replaces what the argument points at by copies in the arena of owner. */
static insitu_status clone_arg(graph *owner, graph_arg *arg, uint32_t depth) {
    if (depth == MAX_NESTING) return INSITU_FORMAT;
    switch (arg->kind) {
    case ARG_STRING:
    case ARG_DEVICE: return clone_string(graph_arena(owner), &arg->string);
    case ARG_LIST:
        TRY(arena_copy(graph_arena(owner), arg->list.items, arg->list.count * sizeof(graph_arg), &arg->list.items));
        for (uint32_t i = 0; i < arg->list.count; i++) TRY(clone_arg(owner, &arg->list.items[i], depth + 1));
        return INSITU_OK;
    case ARG_GRAPH: {
        const graph *source = arg->graph;
        TRY(graph_create_subgraph(owner, &arg->graph));
        return clone_graph(source, arg->graph, depth + 1);
    }
    case ARG_ABSENT:
    case ARG_NONE:
    case ARG_VALUE:
    case ARG_SYM:
    case ARG_COMPLEX:
    case ARG_DTYPE:
    case ARG_LAYOUT:
    case ARG_MEMORY_FORMAT: return INSITU_OK;
    }
    return INSITU_INTERNAL;
}

static insitu_status clone_values(const graph *source, graph *copy) {
    arena *arena = graph_arena(copy);
    copy->value_count = copy->value_capacity = source->value_count;
    TRY(arena_copy(arena, source->values, source->value_count * sizeof(graph_value), &copy->values));
    for (uint32_t i = 0; i < copy->value_count; i++) {
        TRY(clone_string(arena, &copy->values[i].name));
        TRY(map_set(&copy->names, arena, copy->values[i].name, i));
    }
    return INSITU_OK;
}

static insitu_status clone_nodes(const graph *source, graph *copy, uint32_t depth) {
    arena *arena = graph_arena(copy);
    copy->node_count = copy->node_capacity = source->node_count;
    TRY(arena_copy(arena, source->nodes, source->node_count * sizeof(graph_node), &copy->nodes));
    for (uint32_t i = 0; i < copy->node_count; i++) {
        graph_node *node = &copy->nodes[i];
        TRY(clone_string(arena, &node->target));
        TRY(clone_string(arena, &node->name));
        TRY(clone_string(arena, &node->source));
        TRY(arena_copy(arena, node->results, node->result_count * sizeof(value_id), &node->results));
        TRY(arena_copy(arena, node->args, node->arg_count * sizeof(graph_arg), &node->args));
        for (uint32_t k = 0; k < node->arg_count; k++) TRY(clone_arg(copy, &node->args[k], depth));
        if (!node->arg_names) continue;
        TRY(arena_copy(arena, node->arg_names, node->arg_count * sizeof(char *), &node->arg_names));
        for (uint32_t k = 0; k < node->arg_count; k++) TRY(clone_string(arena, &node->arg_names[k]));
    }
    copy->order_count = copy->order_capacity = source->order_count;
    return arena_copy(arena, source->order, source->order_count * sizeof(node_id), &copy->order);
}

static insitu_status clone_interface(const graph *source, graph *copy, uint32_t depth) {
    arena *arena = graph_arena(copy);
    copy->input_count = source->input_count;
    TRY(arena_copy(arena, source->inputs, source->input_count * sizeof(graph_input), &copy->inputs));
    for (uint32_t i = 0; i < copy->input_count; i++) {
        TRY(clone_string(arena, &copy->inputs[i].name));
        TRY(clone_string(arena, &copy->inputs[i].fqn));
        TRY(clone_arg(copy, &copy->inputs[i].constant, depth));
    }
    copy->output_count = copy->output_capacity = source->output_count;
    TRY(arena_copy(arena, source->outputs, source->output_count * sizeof(graph_output), &copy->outputs));
    for (uint32_t i = 0; i < copy->output_count; i++) {
        TRY(clone_arg(copy, &copy->outputs[i].arg, depth));
        if (copy->outputs[i].name) TRY(clone_string(arena, &copy->outputs[i].name));
    }
    copy->assert_count = source->assert_count;
    TRY(arena_copy(arena, source->asserts, source->assert_count * sizeof(graph_assert), &copy->asserts));
    for (uint32_t i = 0; i < copy->assert_count; i++) TRY(clone_string(arena, &copy->asserts[i].message));
    return INSITU_OK;
}

static insitu_status clone_weights(const graph *source, graph *copy) {
    arena *arena = graph_arena(copy);
    copy->weight_count = source->weight_count;
    TRY(arena_copy(arena, source->weights, source->weight_count * sizeof(graph_weight), &copy->weights));
    for (uint32_t i = 0; i < copy->weight_count; i++) TRY(clone_string(arena, &copy->weights[i].name));
    copy->record_count = source->record_count;
    TRY(arena_copy(arena, source->records, source->record_count * sizeof(weight_record), &copy->records));
    for (uint32_t i = 0; i < copy->record_count; i++) TRY(clone_string(arena, &copy->records[i].name));
    return INSITU_OK;
}

static insitu_status clone_graph(const graph *source, graph *copy, uint32_t depth) {
    copy->functional = source->functional;
    copy->device = source->device;
    TRY(clone_values(source, copy));
    TRY(clone_nodes(source, copy, depth));
    TRY(clone_interface(source, copy, depth));
    return clone_weights(source, copy);
}

static insitu_status clone_symbols(const graph *source, graph *copy) {
    sym_pool_release(copy->symbols);
    return sym_pool_clone(source->symbols, copy->symbols);
}

insitu_status graph_clone(const graph *source, graph **out_graph) {
    graph *copy;
    *out_graph = NULL;
    TRY(graph_create(&copy));
    insitu_status status = clone_symbols(source, copy);
    if (status == INSITU_OK) status = clone_graph(source, copy, 0);
    if (status != INSITU_OK) {
        graph_destroy(copy);
        return status;
    }
    *out_graph = copy;
    return INSITU_OK;
}
