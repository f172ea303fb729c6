/* The builder of graphs from the records of a .pt2 file: what its files share. */
#ifndef BUILD_INT_H
#define BUILD_INT_H

#include "archive/archive.h"
#include "graph/graph_int.h"

typedef struct builder {
    const archive_program_t *program;
    arena_t scratch;
    map_t expressions; /* saved text -> id of the expression */
    bool has_device;   /* the graph's has been set */
    insitu_diag *diag;
} builder_t;

/* One graph of the file and what has become of its values. Arrays are indexed by saved value id. */
typedef struct scope {
    builder_t *builder;
    const archive_graph_t *saved;
    graph_t *graph;
    value_id_t *values; /* NO_VALUE until defined */
    sym_t *numbers;     /* of the symbolic values: their expressions */
    uint32_t depth;
} scope_t;

/* build_symbols.c */
MUST_CHECK insitu_status build_symbols(builder_t *builder, graph_t *graph);

/* build_values.c */
MUST_CHECK insitu_status build_sym(builder_t *builder, sym_pool_t *symbols, const archive_sym_t *saved, sym_t *out);
MUST_CHECK insitu_status build_type(builder_t *builder, sym_pool_t *symbols, const char *name,
                                    const archive_tensor_meta_t *saved, tensor_type_t *out);
MUST_CHECK insitu_status scope_open(builder_t *builder, const archive_graph_t *saved, graph_t *graph, uint32_t depth,
                                    scope_t *out_scope);
MUST_CHECK insitu_status define_value(scope_t *scope, uint32_t saved, value_id_t *out_value); /* adds it to the graph */

/* build_args.c. where is what faults call the argument: node, operator and argument. */
typedef struct arg_place {
    const archive_node_t *node; /* NULL: an output of the graph */
    const char *name;
} arg_place_t;
MUST_CHECK insitu_status build_arg(scope_t *scope, const arg_place_t *place, const archive_argument_t *saved,
                                   graph_arg_t *out_arg);
/* As the schema's type wants it: numbers converted, single numbers for lists repeated. Errors: FORMAT. */
MUST_CHECK insitu_status fit_arg(scope_t *scope, const arg_place_t *place, const schema_arg_t *wanted,
                                 graph_arg_t *arg);

/* build_nodes.c */
MUST_CHECK insitu_status build_nodes(scope_t *scope);
MUST_CHECK insitu_status build_subgraph(scope_t *outer, const char *name, const archive_graph_t *saved,
                                        graph_t **out_graph);

/* build_signature.c */
MUST_CHECK insitu_status build_weights(builder_t *builder, graph_t *graph);
MUST_CHECK insitu_status build_inputs(scope_t *scope);
MUST_CHECK insitu_status build_outputs(scope_t *scope);

/* build_guards.c */
MUST_CHECK insitu_status build_guards(builder_t *builder, graph_t *graph);

#endif
