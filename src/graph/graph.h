/* graph: the ATen-level form of a program: SSA text, what was saved. Owned by one arena; points at nothing upstream save
 * weight bytes in the mapped archive. docs/ir.md has the text grammar. */
#ifndef GRAPH_H
#define GRAPH_H

#include "core/core.h"
#include "graph/operators.h"
#include "graph/schema.h"

typedef struct value_id {
    uint32_t index;
} value_id_t;
typedef struct node_id {
    uint32_t index;
} node_id_t;
#define NO_VALUE ((value_id_t){NONE})
#define NO_NODE ((node_id_t){NONE})

typedef enum value_kind {
    VALUE_TENSOR,
    VALUE_SYM, /* an int, float or bool whose value is an expression */
    VALUE_NONE /* an undefined tensor or a None result */
} value_kind_t;
typedef struct graph_value {
    const char *name; /* unique in the graph, without '%' */
    value_kind_t kind;
    tensor_type_t type; /* TENSOR: as recorded: dtype, sizes, strides, offset */
    sym_t expr;         /* SYM */
    node_id_t producer; /* NO_NODE: a graph input */
    uint32_t result;    /* its position among the producer's results */
} graph_value_t;

typedef enum arg_kind {
    ARG_ABSENT, /* omitted: takes the schema's default (none after fill_defaults) */
    ARG_NONE,   /* Python None */
    ARG_VALUE,  /* a tensor value */
    ARG_SYM, /* an int, float or bool, constant or expression; references to sym values are resolved to expressions */
    ARG_COMPLEX,
    ARG_STRING,
    ARG_DTYPE,
    ARG_LAYOUT,        /* number: pt2 Layout */
    ARG_MEMORY_FORMAT, /* number: pt2 MemoryFormat */
    ARG_DEVICE,        /* string: "cpu", "cuda:0" */
    ARG_LIST,
    ARG_GRAPH /* a subgraph of a higher-order operator */
} arg_kind_t;
typedef struct graph graph_t;
typedef struct graph_arg graph_arg_t;
struct graph_arg {
    arg_kind_t kind;
    union {
        value_id_t value;
        sym_t sym;
        struct {
            double re, im;
        } complex;
        const char *string;
        dtype_t dtype;
        int32_t number;
        struct {
            graph_arg_t *items;
            uint32_t count;
        } list;
        graph_t *graph; /* owned by the outer graph's arena and using the outer graph's symbol pool */
    };
};

typedef struct graph_node {
    const char *target;        /* "aten.add.Tensor", "_operator.mul", "higher_order.cond" */
    const op_schema_t *schema; /* NULL: an operator without one (higher-order, custom) */
    graph_arg_t *args;         /* with a schema: one for each of its arguments, in order; else positional */
    const char **arg_names;    /* without a schema: names as saved ("" allowed); else NULL */
    uint32_t arg_count;
    value_id_t *results; /* Tensor[] results are flattened */
    uint32_t result_count;
    const char *name;   /* FX node name or the first result's name */
    const char *source; /* "model.py:41" or "" */
} graph_node_t;

typedef enum graph_input_kind { INPUT_USER, INPUT_PARAMETER, INPUT_BUFFER, INPUT_CONSTANT } graph_input_kind_t;
typedef struct graph_input {
    const char *name; /* placeholder name */
    graph_input_kind_t kind;
    const char *fqn;      /* PARAMETER, BUFFER, CONSTANT: fully qualified name; else "" */
    bool persistent;      /* BUFFER */
    value_id_t value;     /* NO_VALUE: a specialised constant, None or string */
    graph_arg_t constant; /* if value is NO_VALUE */
    uint32_t weight;      /* index into weights; NONE for USER */
    int32_t user_index;   /* USER: position among the user inputs; else -1 */
} graph_input_t;

typedef enum graph_output_kind { RESULT_USER, RESULT_MUTATION } graph_output_kind_t;
typedef struct graph_output {
    graph_output_kind_t kind;
    graph_arg_t arg;    /* VALUE, SYM, NONE, STRING */
    uint32_t target;    /* MUTATION: index of the graph input that takes the value */
    int32_t user_index; /* USER: position in the flattened result; else -1 */
    const char *name;   /* USER: what the caller calls it; NULL: by its position */
} graph_output_t;

typedef struct graph_weight { /* a tensor of the file: a strided view of a record */
    const char *name;
    uint32_t record;    /* index into records; NONE: no bytes (numel 0) */
    tensor_type_t type; /* constants */
} graph_weight_t;

typedef struct graph_assert { /* from guards_code that can be read; assertions in the graph stay nodes until convert */
    sym_t condition;
    const char *message;
} graph_assert_t;

/* The kind of device that tensors were recorded on. Insitu computes the same on all. */
typedef enum graph_device {
    GRAPH_ON_CPU,
    GRAPH_ON_CUDA,
    GRAPH_ON_OTHERS /* another kind, or several */
} graph_device_t;

struct graph {
    arena_t arena;       /* empty in a subgraph: allocate with graph_arena */
    graph_t *root;       /* the outermost graph, whose arena owns its subgraphs; of that one itself */
    sym_pool_t *symbols; /* in the arena; shared with subgraphs */
    graph_value_t *values;
    uint32_t value_count, value_capacity;
    graph_node_t *nodes; /* by id; not in order */
    uint32_t node_count, node_capacity;
    node_id_t *order; /* program order; passes rewrite it */
    uint32_t order_count, order_capacity;
    graph_input_t *inputs;
    uint32_t input_count;
    graph_output_t *outputs;
    uint32_t output_count, output_capacity;
    graph_weight_t *weights;
    uint32_t weight_count;
    weight_record_t *records;
    uint32_t record_count;
    graph_assert_t *asserts;
    uint32_t assert_count;
    graph_device_t device; /* of the outermost graph */
    bool functional;       /* no node mutates: the decomposed form, or after functionalize */
    map_t names;           /* value name -> index */
};

MUST_CHECK insitu_status graph_create(graph_t **out_graph);
void graph_destroy(graph_t *graph); /* NULL allowed */
/* An empty subgraph for an ARG_GRAPH of outer's nodes. It dies with the outermost graph. */
MUST_CHECK insitu_status graph_create_subgraph(graph_t *outer, graph_t **out_graph);
static inline arena_t *graph_arena(graph_t *graph) { return &graph->root->arena; }

/* Building. Names are made unique by a suffix "_1", "_2". Strings are copied into the arena. */
MUST_CHECK insitu_status graph_add_tensor(graph_t *graph, const char *name, const tensor_type_t *type,
                                          value_id_t *out_value);
MUST_CHECK insitu_status graph_add_sym(graph_t *graph, const char *name, sym_t expr, value_id_t *out_value);
MUST_CHECK insitu_status graph_add_none(graph_t *graph, const char *name, value_id_t *out_value);
/* A node with absent arguments and the given results (their producer is set); not yet in order. target with a known
 * schema gets it. */
MUST_CHECK insitu_status graph_add_node(graph_t *graph, const char *target, const value_id_t *results,
                                        uint32_t result_count, const char *source, node_id_t *out_node);
MUST_CHECK insitu_status graph_append(graph_t *graph, node_id_t node); /* at the end of order */
MUST_CHECK insitu_status graph_add_output(graph_t *graph, const graph_output_t *output);
/* Sets an argument by its schema name. False if the schema has none of that name (a bug of the caller). */
bool graph_set_arg(graph_t *graph, node_id_t node, const char *name, graph_arg_t arg);
/* An argument by its schema name, NULL if the schema has none of that name. */
const graph_arg_t *graph_arg_of(const graph_t *graph, const graph_node_t *node, const char *name);
static inline graph_value_t *graph_value_of(const graph_t *graph, value_id_t value) {
    return &graph->values[value.index];
}
static inline graph_node_t *graph_node_of(const graph_t *graph, node_id_t node) { return &graph->nodes[node.index]; }
static inline graph_arg_t arg_value(value_id_t value) { return (graph_arg_t){.kind = ARG_VALUE, .value = value}; }
static inline graph_arg_t arg_sym(sym_t expr) { return (graph_arg_t){.kind = ARG_SYM, .sym = expr}; }
/* Calls visit for every tensor value that the node's arguments name, lists included (subgraphs excluded). */
typedef void (*graph_visit_fn)(void *user, value_id_t *value);
void graph_visit_args(graph_node_t *node, graph_visit_fn visit, void *user);
/* Replaces uses in all nodes in order and in outputs: replacement[v.index] where it is not NO_VALUE (chains followed). */
void graph_replace_uses(graph_t *graph, const value_id_t *replacement);

/* Text. parse(print(g)) gives the same graph; weight bytes are not in the text. */
MUST_CHECK insitu_status graph_print(const graph_t *graph, text_t *out, insitu_diag *diag);
MUST_CHECK insitu_status graph_parse(const char *source, graph_t **out_graph, insitu_diag *diag);
/* Structure, names, types, order of definition, schema arguments; functional graphs have no mutating node. Collects all
 * faults; the sentence names the first ten. Errors: FORMAT. */
MUST_CHECK insitu_status graph_verify(const graph_t *graph, insitu_diag *diag);

/* From the records of a .pt2 file; the graph is verified. Weight bytes stay in the file's map, which must outlive the
 * graph. Operators without a schema are kept: the converter lists them. Expressions are simplified under the symbols'
 * ranges, so that an assertion that only repeats the range of a data-dependent symbol (u0) reads _assert_scalar(true):
 * whoever binds a symbol during a call must check its range. Errors: FORMAT (contradicts itself or a schema),
 * UNSUPPORTED (custom objects, guards that can't be read). */
struct archive_program;
MUST_CHECK insitu_status graph_build(const struct archive_program *program, graph_t **out_graph, insitu_diag *diag);

#endif
