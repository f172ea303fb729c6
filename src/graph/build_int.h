/* The builder of graphs from the records of a .pt2 file: what its files share. */
#ifndef BUILD_INT_H
#define BUILD_INT_H

#include "archive/archive.h"
#include "graph/graph_int.h"

typedef struct builder {
    const archive_program *program;
    arena scratch;
    map expressions; /* saved text -> id of the expression */
    bool has_device; /* the graph's has been set */
    insitu_diag *diag;
} builder;

/* One graph of the file and what has become of its values. Arrays are indexed by saved value id. */
typedef struct scope {
    builder *builder;
    const archive_graph *saved;
    graph *graph;
    value_id *values; /* NO_VALUE until defined */
    sym *numbers;     /* of the symbolic values: their expressions */
    uint32_t depth;
} scope;

/* build_symbols.c */
MUST_CHECK insitu_status build_symbols(builder *builder, graph *graph);

/* build_values.c */
MUST_CHECK insitu_status build_sym(builder *builder, sym_pool *symbols, const archive_sym *saved, sym *out);
MUST_CHECK insitu_status build_type(builder *builder, sym_pool *symbols, const char *name,
                                    const archive_tensor_meta *saved, tensor_type *out);
MUST_CHECK insitu_status scope_open(builder *builder, const archive_graph *saved, graph *graph, uint32_t depth,
                                    scope *out_scope);
MUST_CHECK insitu_status define_value(scope *scope, uint32_t saved, value_id *out_value); /* adds it to the graph */

/* build_args.c. where is what faults call the argument: node, operator and argument. */
typedef struct arg_place {
    const archive_node *node; /* NULL: an output of the graph */
    const char *name;
} arg_place;
MUST_CHECK insitu_status build_arg(scope *scope, const arg_place *place, const archive_argument *saved,
                                   graph_arg *out_arg);
/* As the schema's type wants it: numbers converted, single numbers for lists repeated. Errors: FORMAT. */
MUST_CHECK insitu_status fit_arg(scope *scope, const arg_place *place, const schema_arg *wanted, graph_arg *arg);

/* build_nodes.c */
MUST_CHECK insitu_status build_nodes(scope *scope);
MUST_CHECK insitu_status build_subgraph(scope *outer, const char *name, const archive_graph *saved, graph **out_graph);

/* build_signature.c */
MUST_CHECK insitu_status build_weights(builder *builder, graph *graph);
MUST_CHECK insitu_status build_inputs(scope *scope);
MUST_CHECK insitu_status build_outputs(scope *scope);

/* build_guards.c */
MUST_CHECK insitu_status build_guards(builder *builder, graph *graph);

#endif
