/* The graph's structure and its builder.
 *
 * Values, nodes and the order of nodes are arrays that grow in the outermost graph's arena; ids are indices and never
 * change. Names are unique in a graph: the builder adds "_1", "_2" ... to a name that is taken. */
#include "graph/graph.h"

static void graph_setup(graph_t *graph, graph_t *root, sym_pool_t *symbols) {
    graph->root = root;
    graph->symbols = symbols;
}

insitu_status graph_create(graph_t **out_graph) {
    *out_graph = NULL;
    graph_t *created = memory_alloc(sizeof(graph_t));
    if (!created) return INSITU_NOMEM;
    memset(created, 0, sizeof(*created));
    arena_init(&created->arena);
    sym_pool_t *symbols;
    insitu_status status = arena_array(&created->arena, 1, sizeof(sym_pool_t), &symbols);
    if (status == INSITU_OK) {
        graph_setup(created, created, symbols);
        status = sym_pool_init(symbols);
    }
    if (status != INSITU_OK) {
        graph_destroy(created);
        return status;
    }
    *out_graph = created;
    return INSITU_OK;
}

void graph_destroy(graph_t *graph) {
    if (!graph) return;
    if (graph->symbols) sym_pool_release(graph->symbols);
    arena_release(&graph->arena);
    memory_free(graph);
}

insitu_status graph_create_subgraph(graph_t *outer, graph_t **out_graph) {
    graph_t *created;
    *out_graph = NULL;
    TRY(arena_array(graph_arena(outer), 1, sizeof(graph_t), &created));
    arena_init(&created->arena);
    graph_setup(created, outer->root, outer->symbols);
    *out_graph = created;
    return INSITU_OK;
}

/* A copy of name, or of name with the first free suffix. */
static insitu_status suffixed(const graph_t *graph, arena_t *scratch, const char *name, uint64_t suffix,
                              const char **out_name, bool *out_taken) {
    TRY(arena_printf(scratch, out_name, "%s_%llu", name, (unsigned long long)suffix));
    *out_taken = map_find(&graph->names, *out_name) != NONE;
    return INSITU_OK;
}

/* A free suffix behind a taken one, in few steps though thousands may be taken: doubles, then halves the gap. Suffixes
 * that were given in turn have no holes, so that the next one is found. */
static insitu_status free_suffix(const graph_t *graph, arena_t *scratch, const char *name, uint64_t *out_suffix) {
    uint64_t low = 0, high = 1;
    const char *candidate;
    bool taken;
    for (;; low = high, high *= 2) {
        TRY(suffixed(graph, scratch, name, high, &candidate, &taken));
        if (!taken) break;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        TRY(suffixed(graph, scratch, name, middle, &candidate, &taken));
        if (taken)
            low = middle;
        else
            high = middle;
    }
    *out_suffix = high;
    return INSITU_OK;
}

static insitu_status unique_name(graph_t *graph, const char *name, const char **out_name) {
    if (map_find(&graph->names, name) == NONE) return arena_string(graph_arena(graph), name, strlen(name), out_name);
    arena_t scratch;
    arena_init(&scratch);
    uint64_t suffix = 0;
    insitu_status status = free_suffix(graph, &scratch, name, &suffix);
    arena_release(&scratch);
    TRY(status);
    return arena_printf(graph_arena(graph), out_name, "%s_%llu", name, (unsigned long long)suffix);
}

static insitu_status add_value(graph_t *graph, const graph_value_t *value, value_id_t *out_value) {
    *out_value = NO_VALUE;
    if (graph->value_count >= MAX_VALUES) return INSITU_NOMEM;
    TRY(arena_grow(graph_arena(graph), &graph->values, &graph->value_capacity, (size_t)graph->value_count + 1,
                   sizeof(graph_value_t)));
    graph_value_t *added = &graph->values[graph->value_count];
    *added = *value;
    added->producer = NO_NODE;
    TRY(unique_name(graph, value->name, &added->name));
    TRY(map_set(&graph->names, graph_arena(graph), added->name, graph->value_count));
    out_value->index = graph->value_count++;
    return INSITU_OK;
}

insitu_status graph_add_tensor(graph_t *graph, const char *name, const tensor_type_t *type, value_id_t *out_value) {
    return add_value(graph, &(graph_value_t){.name = name, .kind = VALUE_TENSOR, .type = *type}, out_value);
}

insitu_status graph_add_sym(graph_t *graph, const char *name, sym_t expr, value_id_t *out_value) {
    return add_value(graph, &(graph_value_t){.name = name, .kind = VALUE_SYM, .expr = expr}, out_value);
}

insitu_status graph_add_none(graph_t *graph, const char *name, value_id_t *out_value) {
    return add_value(graph, &(graph_value_t){.name = name, .kind = VALUE_NONE}, out_value);
}

insitu_status graph_add_node(graph_t *graph, const char *target, const value_id_t *results, uint32_t result_count,
                             const char *source, node_id_t *out_node) {
    *out_node = NO_NODE;
    if (graph->node_count >= MAX_NODES) return INSITU_NOMEM;
    arena_t *arena = graph_arena(graph);
    TRY(arena_grow(arena, &graph->nodes, &graph->node_capacity, (size_t)graph->node_count + 1, sizeof(graph_node_t)));
    graph_node_t node = {.schema = schema_find(target), .result_count = result_count};
    TRY(arena_string(arena, target, strlen(target), &node.target));
    TRY(arena_string(arena, source, strlen(source), &node.source));
    if (node.schema) {
        node.arg_count = node.schema->arg_count;
        TRY(arena_array(arena, node.arg_count, sizeof(graph_arg_t), &node.args));
    }
    TRY(arena_copy(arena, results, result_count * sizeof(value_id_t), &node.results));
    node.name = result_count ? graph->values[results[0].index].name : node.target;
    out_node->index = graph->node_count++;
    graph->nodes[out_node->index] = node;
    for (uint32_t i = 0; i < result_count; i++) {
        graph_value_t *value = graph_value_of(graph, results[i]);
        value->producer = *out_node;
        value->result = i;
    }
    return INSITU_OK;
}

insitu_status graph_append(graph_t *graph, node_id_t node) {
    TRY(arena_grow(graph_arena(graph), &graph->order, &graph->order_capacity, (size_t)graph->order_count + 1,
                   sizeof(node_id_t)));
    graph->order[graph->order_count++] = node;
    return INSITU_OK;
}

insitu_status graph_add_output(graph_t *graph, const graph_output_t *output) {
    TRY(arena_grow(graph_arena(graph), &graph->outputs, &graph->output_capacity, (size_t)graph->output_count + 1,
                   sizeof(graph_output_t)));
    graph->outputs[graph->output_count++] = *output;
    return INSITU_OK;
}
