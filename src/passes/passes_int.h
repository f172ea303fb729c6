/* passes, inside: making nodes and comparing arguments (emit.c, node_facts.c), and the tracking of aliases that
 * functionalize is made of (alias_sets.c, view_steps.c, view_shapes.c, view_inverse.c, unfold_inverse.c,
 * functional_variants.c). */
#ifndef PASSES_INT_H
#define PASSES_INT_H

#include "passes/passes.h"

#include <string.h>

/* ---- making nodes (emit.c) ---- */
typedef struct named_arg {
    const char *name;
    graph_arg_t arg;
} named_arg_t;
enum { MAX_EMIT_ARGS = 6 };
typedef struct emission { /* a node with one tensor result; arguments that are not named take their defaults */
    const char *target;
    const tensor_type_t *type; /* of the result, if that is made; else not read */
    const char *source;
    uint32_t arg_count;
    named_arg_t args[MAX_EMIT_ARGS];
} emission_t;
/* Appends the node to the order. *value is its result: an existing value whose producer it becomes, or NO_VALUE and a
 * value named after the operator is made. */
MUST_CHECK insitu_status emit_node(graph_t *graph, const emission_t *emission, insitu_diag *diag, value_id_t *value);
MUST_CHECK insitu_status arg_of_sizes(graph_t *graph, const shape_t *shape, graph_arg_t *out_arg);
MUST_CHECK insitu_status arg_of_numbers(graph_t *graph, const int64_t *numbers, uint32_t count, graph_arg_t *out_arg);
graph_arg_t arg_of_int(graph_t *graph, int64_t number);
graph_arg_t arg_of_dtype(dtype_t type);
/* Casts value (of type from) to dtype and broadcasts it to sizes, by nodes if there is anything to do. Errors: SHAPE. */
typedef struct conform_request {
    value_id_t value;
    tensor_type_t from;
    dtype_t dtype;
    const shape_t *sizes;
    const char *source;
} conform_request_t;
MUST_CHECK insitu_status emit_conformed(graph_t *graph, const conform_request_t *request, insitu_diag *diag,
                                        value_id_t *out_value);
/* Gives a node's absent arguments their defaults (fill_defaults.c). Errors: FORMAT. */
MUST_CHECK insitu_status fill_node(graph_t *graph, node_id_t node, insitu_diag *diag);

/* ---- what is not handled (refuse.c) ---- */
/* UNSUPPORTED with a reason that follows an operator's name in a sentence: "writes a list of tensors". */
insitu_status refuse(insitu_diag *diag, const char *format, ...) PRINTF_LIKE(2, 3);
typedef struct refusal {
    const graph_node_t *node; /* the operator, its name and source line */
    const char *reason;
    const value_id_t *results, *operands; /* results that nothing else gives a value; what the operator reads */
    uint32_t result_count, operand_count;
} refusal_t;
MUST_CHECK insitu_status emit_refused(graph_t *graph, const refusal_t *refusal);

/* ---- autocast (autocast.c) ---- */
typedef struct autocast { /* what holds where a node stands */
    bool enabled;
    dtype_t low; /* the region's dtype */
} autocast_t;
/* Makes *state what holds in a region (a wrap_with_autocast node) that stands where *state held. A region that can't be
 * followed is refused. Errors: FORMAT. */
MUST_CHECK insitu_status autocast_enter(graph_t *graph, const graph_node_t *region, insitu_diag *diag,
                                        autocast_t *state);
/* Casts the operands of a node that isn't in the order yet; an operator that can't be followed is refused. */
MUST_CHECK insitu_status autocast_operands(graph_t *graph, node_id_t node, const autocast_t *state, insitu_diag *diag);

/* ---- facts about nodes (node_facts.c) ---- */
bool target_is(const graph_node_t *node, const char *target);
static inline const operator_facts_t *facts_of(const graph_node_t *node) { return operator_facts_of(node->schema); }
/* The operator's name without namespace and overload ("slice" of "aten.slice.Tensor"), written to buffer. */
void target_stem(const char *target, char *buffer, size_t size);
bool arg_same(const graph_arg_t *a, const graph_arg_t *b);
bool arg_is_none(const graph_arg_t *arg); /* NULL, absent or None */
bool arg_bool(const graph_t *graph, const graph_arg_t *arg, bool fallback);
bool arg_constant(const graph_t *graph, const graph_arg_t *arg, int64_t *out); /* an integer that is known */
bool node_is_random(const graph_t *graph, const graph_node_t *node);           /* or reads uninitialised memory */
bool node_has_effect(const graph_t *graph, const graph_node_t *node); /* must stay though nobody uses its results */
/* Reads numbers from a tensor: an element, or how many elements are not zero. What is recorded of its results is then
 * either what other nodes take from it, or to be checked. */
bool node_reads_number(const graph_t *graph, const graph_node_t *node);
bool type_same_layout(const tensor_type_t *a, const tensor_type_t *b); /* strides and offset */
/* "add_ (aten.add_.Tensor, model.py:41)", for sentences. */
const char *node_text(const graph_node_t *node, char *buffer, size_t size);
enum { NODE_TEXT_SIZE = 256 };
/* Calls work for every subgraph of the nodes in order. Depth is counted by the caller. */
typedef insitu_status (*subgraph_fn)(graph_t *subgraph, uint32_t depth, pass_context_t *context, bool *out_changed);
MUST_CHECK insitu_status for_each_subgraph(graph_t *graph, uint32_t depth, pass_context_t *context, subgraph_fn work,
                                           bool *out_changed);

/* ---- views (view_steps.c): what a node's results are to its first argument ---- */
typedef struct view_step { /* one operator that makes a view of its first argument */
    const op_schema_t *schema;
    const graph_arg_t *args; /* by the schema; the first is not read */
    uint32_t arg_count;
    tensor_type_t type; /* of the view */
} view_step_t;
typedef enum alias_verdict {
    ALIAS_FRESH,   /* a tensor of its own */
    ALIAS_SELF,    /* the argument itself, the same object */
    ALIAS_VIEW,    /* a new object: the argument's view followed by steps (none: an alias) */
    ALIAS_UNKNOWN, /* may be a view of any tensor argument */
    ALIAS_COPY     /* a tensor of its own that copy makes, the canonical form of the operator */
} alias_verdict_t;
enum { MAX_STEPS = 2 };
typedef struct alias_plan { /* of one result */
    alias_verdict_t verdict;
    view_step_t steps[MAX_STEPS];
    uint32_t step_count;
    emission_t copy;   /* its argument self is left to the caller */
    bool clones_first; /* COPY: of a contiguous clone of the argument */
} alias_plan_t;
/* The tensor that a result may be a view of: the first argument, or an item of it. False: it is a view of none. */
bool view_operand(const graph_node_t *node, uint32_t result, value_id_t *out_value);
/* Whether the results may be views of any of the tensors that the node reads. */
bool alias_is_unknown(const graph_node_t *node);
/* Whether the results may be views at all. */
bool alias_is_view(const graph_node_t *node);
/* operand: the recorded memory layout of view_operand's tensor. */
MUST_CHECK insitu_status view_plan(graph_t *graph, const graph_node_t *node, uint32_t result,
                                   const tensor_type_t *operand, insitu_diag *diag, alias_plan_t *out_plan);
/* Whether a tensor of that layout can be seen with other sizes without a copy (PyTorch's rule) (view_shapes.c). */
bool view_is_possible(sym_pool_t *pool, const tensor_type_t *operand, const tensor_type_t *result);
/* The dimension that dim means, for a given rank. False: no such dimension. */
bool wrap_dim(int64_t dim, uint32_t rank, uint32_t *out_dim);

/* ---- alias sets (alias_sets.c) ---- */
typedef struct view { /* a node of the tree of views of one base */
    uint32_t base;
    uint32_t parent;      /* view; NONE: this is the base itself */
    uint32_t first_child; /* view or NONE */
    uint32_t next_sibling;
    view_step_t step; /* from the parent; of the base itself only step.type holds */
    value_id_t value; /* the view as a value ... */
    uint32_t version; /* ... of the base at this version */
    const char *source;
} view_t;
typedef struct alias_base {
    value_id_t value;    /* whose memory it is */
    uint32_t root;       /* its view */
    uint32_t version;    /* grows with each write */
    graph_node_t writer; /* the last one, if version > 0 */
    uint32_t clobber;    /* the base whose write may have changed this one too: its content is not known; NONE */
} alias_base_t;
typedef struct alias_tie { /* two bases that may be views of one memory */
    uint32_t a, b;
} alias_tie_t;
typedef struct alias_sets {
    graph_t *graph;
    arena_t *scratch;
    insitu_diag *diag;
    view_t *views;
    uint32_t view_count, view_capacity;
    alias_base_t *bases;
    uint32_t base_count, base_capacity;
    alias_tie_t *ties;
    uint32_t tie_count, tie_capacity;
    uint32_t *object_of;  /* by value: the tensor object that it names, itself a value's index; NONE: not a tensor */
    uint32_t *view_of;    /* by object */
    uint32_t value_count; /* of the graph before the pass: values made later are not tracked */
} alias_sets_t;
MUST_CHECK insitu_status alias_sets_init(alias_sets_t *sets, graph_t *graph, arena_t *scratch, insitu_diag *diag);
/* value is a tensor with memory of its own; content holds it now. */
MUST_CHECK insitu_status alias_add_base(alias_sets_t *sets, value_id_t value, value_id_t content);
/* The bases of both may share memory, it is not known how: what one holds is not known once the other is written. */
MUST_CHECK insitu_status alias_tie_bases(alias_sets_t *sets, uint32_t a, uint32_t b);
/* The view that step makes of parent (found or made). value: its content now, or NO_VALUE. */
MUST_CHECK insitu_status alias_add_view(alias_sets_t *sets, uint32_t parent, const view_step_t *step,
                                        const char *source, uint32_t *out_view);
static inline view_t *alias_view_of(const alias_sets_t *sets, value_id_t value) {
    return &sets->views[sets->view_of[sets->object_of[value.index]]];
}
static inline uint32_t alias_view_index(const alias_sets_t *sets, value_id_t value) {
    return sets->view_of[sets->object_of[value.index]];
}
/* The newest content of a view, derived again from its base if that was written since; refused (UNSUPPORTED) if that is
 * not known. wanted: the value to derive into
 * if something must be derived, or NO_VALUE. */
MUST_CHECK insitu_status alias_read(alias_sets_t *sets, uint32_t view, value_id_t wanted, const char *source,
                                    value_id_t *out_value);
/* as_strided and its kin count from the storage's start in the recorded layout, so their operand must have it: a whole
 * write may have put a value of another layout there. value, the view's content, is copied into that layout if need be. */
MUST_CHECK insitu_status alias_with_layout(alias_sets_t *sets, uint32_t view, value_id_t *value);
/* Makes value (the view's sizes and dtype) the view's content: a new version of its base. */
MUST_CHECK insitu_status alias_write(alias_sets_t *sets, uint32_t view, value_id_t value, const graph_node_t *writer);
/* The view is written with what it holds: its base counts as written, and is what it was. */
MUST_CHECK insitu_status alias_write_same(alias_sets_t *sets, uint32_t view, const graph_node_t *writer);
/* What the parent becomes when its view becomes value (view_inverse.c). before: the parent's content. */
typedef struct inverse_request {
    const view_step_t *step;
    const tensor_type_t *parent;
    value_id_t before, value;
    const graph_node_t *writer;
} inverse_request_t;
MUST_CHECK insitu_status view_inverse(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                      value_id_t *out_value);
/* The same of unfold (unfold_inverse.c). */
MUST_CHECK insitu_status unfold_inverse(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                        value_id_t *out_value);
bool view_inverse_needs_parent(const view_step_t *step); /* whether before is read */

/* ---- functionalize (functionalize.c, mutation_outputs.c) ---- */
typedef struct functionalizer {
    alias_sets_t sets; /* its diag takes refusals' reasons */
    graph_t *graph;
    uint32_t *input_of_base; /* by base: the graph input; bases past base_inputs are none */
    uint32_t base_inputs;
    bool changed;
} functionalizer_t;
/* Gives the node's arguments the newest content. Their views must be known before: node->args is changed. */
MUST_CHECK insitu_status read_arguments(functionalizer_t *state, const graph_node_t *node);
/* The first input that names the same stored tensor as input number index, or index. */
uint32_t stored_first_name(const graph_t *graph, uint32_t index);
/* order: the nodes as they were before. */
MUST_CHECK insitu_status finish_outputs(functionalizer_t *state, const node_id_t *order, uint32_t order_count,
                                        bool is_subgraph);

/* ---- in-place operators (functional_variants.c) ---- */
typedef enum mutation_kind {
    MUTATION_NONE,
    MUTATION_COPY,     /* copy_ */
    MUTATION_DIAGONAL, /* fill_diagonal_ */
    MUTATION_NOTHING,  /* returns its argument: detach_, requires_grad_ */
    MUTATION_METADATA, /* changes which view the object is: t_, squeeze_ */
    MUTATION_VARIANT,  /* has a functional variant */
    MUTATION_HIDDEN,   /* writes arguments that its schema doesn't mark; has a functional variant */
    MUTATION_REFUSED   /* resize_, set_, and operators without a variant */
} mutation_kind_t;
typedef struct mutation {
    mutation_kind_t kind;
    const op_schema_t *variant; /* VARIANT, HIDDEN; METADATA: the view operator */
    uint32_t written_count;     /* arguments written, and the results of the variant that hold what is written */
    uint32_t written[4], results[4];
    const char *why; /* REFUSED */
} mutation_t;
mutation_t mutation_of(const graph_t *graph, const graph_node_t *node);
/* The operator that computes what schema's writes, by name and signature; NULL: there is none. */
const op_schema_t *functional_variant(const op_schema_t *schema);
/* What a variant's argument is given of a node that has a variant. */
graph_arg_t variant_argument(const graph_node_t *node, const schema_arg_t *taken);
/* The dtype that the variant computes in, where self is written with operands of the node's other arguments. */
dtype_t mutation_result_dtype(const graph_t *graph, const graph_node_t *node, const mutation_t *mutation,
                              dtype_t written);

#endif
