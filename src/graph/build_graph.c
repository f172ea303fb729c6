/* A graph from the records of a .pt2 file.
 *
 * Symbols come first, with their ranges, so that expressions simplify under them; then weights, inputs, nodes with their
 * results, outputs, and the conditions of guards_code. Operators that the schema table lacks are kept as they are saved:
 * the converter lists all of them at once. */
#include "graph/build_int.h"

static void subgraphs(const graph_t *graph, void (*visit)(graph_t *, bool *), bool *flag) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (uint32_t k = 0; k < graph->nodes[i].arg_count; k++)
            if (graph->nodes[i].args[k].kind == ARG_GRAPH) visit(graph->nodes[i].args[k].graph, flag);
}

/* Clears the flag if a node, of a subgraph too, writes one of its arguments. */
static void find_writes(graph_t *graph, bool *functional) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].schema && graph->nodes[i].schema->writes) *functional = false;
    subgraphs(graph, find_writes, functional);
}

static void mark_functional(graph_t *graph, bool *functional) {
    graph->functional = *functional;
    subgraphs(graph, mark_functional, functional);
}

static insitu_status build_all(builder_t *builder, graph_t *graph) {
    scope_t scope;
    TRY(build_symbols(builder, graph));
    TRY(build_weights(builder, graph));
    TRY(scope_open(builder, builder->program->graph, graph, 0, &scope));
    TRY(build_inputs(&scope));
    TRY(build_nodes(&scope));
    TRY(build_outputs(&scope));
    TRY(build_guards(builder, graph));
    bool functional = !builder->program->is_training;
    find_writes(graph, &functional);
    mark_functional(graph, &functional);
    TRY(sym_pool_status(graph->symbols, builder->diag));
    return graph_verify(graph, builder->diag);
}

insitu_status graph_build(const archive_program_t *program, graph_t **out_graph, insitu_diag *diag) {
    graph_t *graph;
    builder_t builder = {.program = program, .diag = diag};
    *out_graph = NULL;
    TRY(graph_create(&graph));
    arena_init(&builder.scratch);
    insitu_status status = build_all(&builder, graph);
    arena_release(&builder.scratch);
    if (status != INSITU_OK) {
        graph_destroy(graph);
        return diag_complete(diag, status);
    }
    *out_graph = graph;
    return INSITU_OK;
}
