/* passes: graph -> graph. One pass a file, the order in passes.def alone. */
#ifndef PASSES_H
#define PASSES_H

#include "graph/graph.h"

/* insitu.refused("aten.op", "why", %operand...): what a pass can't handle. network_convert lists these with the operators
 * that have no converter. */
#define REFUSED_TARGET "insitu.refused"

typedef struct pass_context {
    graph_t *graph;
    arena_t *scratch; /* emptied after each pass */
    insitu_diag *diag;
} pass_context_t;
typedef insitu_status (*pass_fn)(pass_context_t *context, bool *out_changed);

#define PASS(name, needs_functional, optional, help)                                                                   \
    MUST_CHECK insitu_status pass_##name(pass_context_t *context, bool *out_changed);
#include "passes/passes.def"
#undef PASS

/* Runs the whole pipeline, optional passes left out: prints, verifies and round-trips each step as the switches ask;
 * verifies always. */
MUST_CHECK insitu_status passes_run(graph_t *graph, insitu_diag *diag);
/* Runs one pass by name. Errors: ARG (no such pass). */
MUST_CHECK insitu_status passes_run_one(graph_t *graph, const char *name, insitu_diag *diag);

#endif
