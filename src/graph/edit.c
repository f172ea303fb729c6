/* Reading and changing arguments and uses. */
#include "graph/graph.h"

static uint32_t schema_position(const graph_node_t *node, const char *name) {
    return node->schema ? schema_arg_index(node->schema, name) : NONE;
}

bool graph_set_arg(graph_t *graph, node_id_t node, const char *name, graph_arg_t arg) {
    graph_node_t *target = graph_node_of(graph, node);
    uint32_t position = schema_position(target, name);
    if (position == NONE) return false;
    target->args[position] = arg;
    return true;
}

const graph_arg_t *graph_arg_of(const graph_t *graph, const graph_node_t *node, const char *name) {
    (void)graph;
    uint32_t position = schema_position(node, name);
    return position == NONE ? NULL : &node->args[position];
}

/* Lists hold lists at most MAX_NESTING deep: the builder and the parser see to it. */
static void visit_arg(graph_arg_t *arg, graph_visit_fn visit, void *user, uint32_t depth) {
    if (arg->kind == ARG_VALUE) visit(user, &arg->value);
    if (arg->kind != ARG_LIST || depth == MAX_NESTING) return;
    for (uint32_t i = 0; i < arg->list.count; i++) visit_arg(&arg->list.items[i], visit, user, depth + 1);
}

void graph_visit_args(graph_node_t *node, graph_visit_fn visit, void *user) {
    for (uint32_t i = 0; i < node->arg_count; i++) visit_arg(&node->args[i], visit, user, 0);
}

static void replace_use(void *user, value_id_t *value) {
    const value_id_t *replacement = user;
    while (replacement[value->index].index != NONE) *value = replacement[value->index];
}

void graph_replace_uses(graph_t *graph, const value_id_t *replacement) {
    void *user = (void *)(uintptr_t)replacement;
    for (uint32_t i = 0; i < graph->order_count; i++)
        graph_visit_args(graph_node_of(graph, graph->order[i]), replace_use, user);
    for (uint32_t i = 0; i < graph->output_count; i++) visit_arg(&graph->outputs[i].arg, replace_use, user, 0);
}
