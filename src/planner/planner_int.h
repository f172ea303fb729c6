/* Private to plan/: what the planner knows while it decides where each tensor lives and in which order layers run.
 *
 * Decisions are made top-down: first the state tensors' final values are placed in the states' own memory, then the
 * outputs, then every other tensor from the last layer to the first. A tensor that is placed pulls what it is made of
 * into its own memory where that is possible: the operand that an update replaces elements of, the parts of a concat,
 * the source of a slice update. Each placement is a trial: conflicts.c adds the order that it needs (a reader of an old
 * value before the writer of the new one), and the trial is undone if no order exists. */
#ifndef PLAN_INT_H
#define PLAN_INT_H

#include "planner/planner.h"

/* ---- layouts (layout.c) ---- */
void layout_dense(sym_pool_t *pool, dtype_t type, const shape_t *shape, tensor_type_t *out);
/* The layout of a view layer's result over its operand's memory; false if it can't be a view of that. */
bool layout_view(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *in,
                 tensor_type_t *out);
/* The operand's layout that gives the result this one; false if none does (slices, repeats). */
bool layout_unview(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *out,
                   tensor_type_t *in);
/* The part of a slice_update's result (and the like) that its source fills; false if the layer has no such part. */
bool layout_part(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *result,
                 tensor_type_t *out);
/* The same elements in row-major order under other sizes. */
bool layout_reshape(sym_pool_t *pool, const tensor_type_t *in, const shape_t *shape, tensor_type_t *out);
/* No two elements share memory, for certain: true only for constant layouts. */
bool layout_is_apart(const sym_pool_t *pool, const tensor_type_t *type);
/* A copy from one place to the other, in the same storage, may be made though they overlap (layout_moves.c). */
bool layout_moves(sym_pool_t *pool, const tensor_type_t *from, const tensor_type_t *to);
sym_t layout_bytes(sym_pool_t *pool, const tensor_type_t *type); /* elements times their size */

/* ---- regions (region.c) ---- */
/* False only if the two views of one storage provably have no byte in common. */
bool region_overlaps(sym_pool_t *pool, const tensor_type_t *a, const tensor_type_t *b);
typedef struct region_span { /* in bytes; all of the storage where that is not constant */
    int64_t begin, end;
} region_span_t;
region_span_t span_of(const sym_pool_t *pool, const tensor_type_t *type);
static inline bool spans_meet(region_span_t a, region_span_t b) { return a.begin < b.end && b.begin < a.end; }

/* ---- order (order.c): the partial order of nodes, with its transitive closure, and undo ---- */
typedef struct edge {
    uint32_t from, to;
} edge_t;
typedef struct order {
    arena_t *arena;
    uint64_t *before;    /* row i: the nodes that must run before node i; words words a row */
    bool *has_successor; /* each node: some node was ever put after it */
    uint32_t words, node_count, node_capacity;
    bool is_logged; /* changes are */
    uint64_t steps; /* what was done so far */
    edge_t *edges;
    uint32_t edge_count, edge_capacity;
    struct order_change {
        uint64_t *word;
        uint64_t old;
    } *changes;
    uint32_t change_count, change_capacity;
} order_t;
typedef struct order_mark {
    uint32_t edge_count, change_count;
} order_mark_t;
MUST_CHECK insitu_status order_init(order_t *order, arena_t *arena, uint32_t node_capacity);
MUST_CHECK insitu_status order_add_node(order_t *order, uint32_t *out_node);
bool order_is_before(const order_t *order, uint32_t first, uint32_t second);
bool order_follows_any(const order_t *order, uint32_t node, const bitset_t *nodes); /* of at most node_capacity bits */
/* *out_possible false, and nothing changed, if second must already run before first (or is first). */
MUST_CHECK insitu_status order_add(order_t *order, uint32_t first, uint32_t second, bool *out_possible);
order_mark_t order_position(const order_t *order);
void order_undo(order_t *order, order_mark_t mark);
/* All nodes in an order that keeps the edges, the smallest key first wherever there is a choice. */
MUST_CHECK insitu_status order_sort(const order_t *order, const uint32_t *keys, arena_t *scratch, uint32_t *out_nodes);

/* ---- the planner's state ---- */
/* Decisions are 32-bit words, changed through planner_set alone, so that a trial can be undone. */
typedef struct tensor_plan { /* what walks over a storage's members read comes first */
    tensor_id_t root;        /* the tensor whose memory it views; itself if it has memory of its own */
    uint32_t storage;        /* decision; NONE: not placed */
    uint32_t member_next;    /* decision: next tensor in the same storage; NONE */
    uint32_t root_next;      /* decision, of a root: next root in the same storage; NONE */
    region_span_t span;      /* of its layout, where it is placed */
    uint32_t placed;         /* decision: the touch that placed it; NONE */
    uint32_t rests;          /* decision, of a root: a read of it is right since a write precedes all of its content */
    uint32_t copies;         /* the first copy of it; NONE */
    uint32_t end_reads;      /* the first that keeps it; NONE */
    uint32_t view_tree_next; /* next view of the same root; NONE */
    uint32_t view_tree_last; /* of a root: the last of its family */
    layer_id_t view;         /* a view: the layer that makes it */
    bool fixed;              /* an input, state or constant */
    bool repeats;            /* some of its elements share memory (expand, unfold): nothing may be stored through it */
    tensor_type_t type;      /* its layout: dense (or a view of that) until it is placed */
    tensor_type_t unplaced;  /* the layout that it has while it is not placed */
    uint32_t old_storage;    /* of a root: the storage of whose old elements old_sum tells; NONE (old_parts.c) */
    sym_t old_sum;
} tensor_plan_t;

typedef struct use { /* one operand of one layer */
    layer_id_t layer;
    uint32_t operand;
} use_t;

typedef struct placed_part {
    tensor_type_t type;
    region_span_t span;
    bool is_known;
} placed_part_t;

typedef struct layer_plan {
    uint32_t node;
    bool makes_view;        /* its result is a view of its operand's memory: no step */
    uint32_t takes_operand; /* decision. update: works in operand 0's memory; copy: its operand already lies there */
    uint32_t *in_part;      /* decision, each operand: it already lies in its part of the result */
    uint32_t *spill;        /* decision, each operand: copy (index) that is read in its stead; NONE */
    sym_t *starts;          /* concat: where each operand begins along the dimension */
    placed_part_t *parts;   /* where operands lie in the result's layout, if they lie in it */
    bool parts_known;       /* for the layout that it has now */
} layer_plan_t;

typedef enum copy_purpose {
    COPY_SET_ASIDE,
    COPY_WRITE_BACK,
    COPY_OUTPUT,
    COPY_READER /* none: stands for a final value's read until it is known where that is stored */
} copy_purpose_t;
typedef struct planned_copy { /* a copy that the planner inserts */
    copy_purpose_t purpose;
    uint32_t active; /* decision */
    uint32_t node;
    tensor_id_t source;
    uint32_t spill;   /* decision: another copy that is read in the source's stead; NONE */
    uint32_t is_read; /* decision: it is made for its own sake, and read in the source's stead as well */
    plan_operand_t target;
    int64_t bytes;      /* INT64_MAX if symbolic */
    uint32_t final;     /* the final for whose sake it is made; NONE */
    uint32_t copy_next; /* the next of the same source; NONE */
} planned_copy_t;

typedef enum node_kind { NODE_LAYER, NODE_COPY, NODE_CHECK, NODE_COMMIT_POINT, NODE_END } node_kind_t;
typedef struct plan_node {
    node_kind_t kind;
    uint32_t index;   /* layer, copy; CHECK: the layer */
    uint32_t operand; /* CHECK: the index operand */
    uint32_t key;     /* where it stands if nothing forbids it */
    bool
        deferred; /* a check, or an item layer: it needs a value that a state is given, so it can't precede all writes */
    bool saves;   /* it stores into a state before a late check: the bytes are saved first */
    bool saves_own; /* the same where it is itself that check */
} plan_node_t;

typedef struct state_target { /* a state tensor (or mutated input) and its value when the call ends */
    const char *name;
    bool is_input;
    uint32_t index; /* state or input */
    tensor_id_t start, next;
    plan_operand_t place;
    int64_t bytes;               /* INT64_MAX if symbolic */
    bool in_place;               /* next is computed in the tensor's own memory */
    uint32_t reader;             /* a copy: COPY_READER */
    const char *reason, *advice; /* why something is copied for it, and what would avoid that; NULL */
} state_target_t;

typedef struct storage_plan {
    uint32_t members; /* decision: first tensor in it; NONE */
    uint32_t roots;   /* decision: first root in it; NONE */
    uint32_t touched; /* decision: the last touch of it; NONE */
    uint32_t checked; /* decision: the last touch of it that was looked at; NONE */
    bool written;     /* a state, or an input that the program mutates: writes wait for the commit point */
} storage_plan_t;

typedef struct end_read { /* what must be intact when the call ends */
    uint32_t active;      /* decision */
    uint32_t tensor;      /* NONE: the target of a copy */
    uint32_t copy;
    uint32_t end_next; /* the next of the same tensor; NONE */
} end_read_t;

/* What was added to a storage, and is looked at by the next check of it. */
typedef enum touch_kind {
    TOUCH_TENSOR, /* it lies there */
    TOUCH_READ,   /* it is read by one more */
    TOUCH_LAYER,  /* whether an operand is taken over, or lies in its part, was decided */
    TOUCH_COPY,   /* from there, or to there */
    TOUCH_END     /* something that a copy stores there must last */
} touch_kind_t;
typedef struct touch {
    touch_kind_t kind;
    uint32_t index, operand; /* operand: LAYER */
    uint32_t previous;       /* touch of the same storage; NONE */
} touch_t;

typedef struct plan_change {
    uint32_t *word;
    uint32_t old;
} plan_change_t;
typedef struct plan_mark {
    order_mark_t order;
    uint32_t change_count, touch_count;
} plan_mark_t;

typedef struct planner {
    network_t *network;
    plan_t *plan;
    sym_pool_t *pool; /* the plan's */
    arena_t scratch;
    plan_options_t options;
    insitu_diag *diag;
    tensor_plan_t *tensors;
    layer_plan_t *layers; /* by layer id */
    uint32_t *use_start;  /* uses of tensor t: uses[use_start[t]] .. uses[use_start[t + 1]] */
    use_t *uses;
    storage_plan_t *storages; /* beside plan->storages */
    uint32_t storage_capacity, plan_storage_capacity, assert_capacity;
    plan_node_t *nodes;
    uint32_t node_capacity;
    planned_copy_t **copies;
    uint32_t copy_count, copy_capacity;
    end_read_t **end_reads;
    uint32_t end_read_count, end_read_capacity;
    state_target_t *finals;
    uint32_t final_count;
    uint32_t *output_copies;    /* each output: its copy, or NONE */
    uint32_t commit_point, end; /* nodes */
    uint32_t *item_nodes;       /* each symbol: the node of the item layer that reads it, NONE */
    bool has_items, has_deferred;
    bitset_t chain, updates; /* layers: def_chain_find, def_chain_find_updates */
    order_t order;
    plan_change_t *changes;
    uint32_t change_count, change_capacity;
    touch_t *touches;
    uint32_t touch_count, touch_capacity;
    struct conflict_work *work; /* buffers of conflict.c, reused */
    uint64_t steps;             /* of the search: what it costs, whatever the machine; the order has its own */
    uint64_t most_steps;
    bool is_cut; /* something was not tried, since they were spent */
} planner_t;

MUST_CHECK insitu_status planner_set(planner_t *planner, uint32_t *word, uint32_t value);
MUST_CHECK insitu_status planner_touch(planner_t *planner, uint32_t storage, touch_kind_t kind, uint32_t index,
                                       uint32_t operand);
plan_mark_t planner_mark(const planner_t *planner);
void planner_undo(planner_t *planner, plan_mark_t mark);
/* Is the budget of the search spent? What then is not tried might have saved copies. */
bool planner_is_spent(planner_t *planner);
MUST_CHECK insitu_status planner_add_storage(planner_t *planner, storage_kind_t kind, uint32_t index, sym_t bytes,
                                             uint32_t *out_storage);
MUST_CHECK insitu_status planner_add_node(planner_t *planner, node_kind_t kind, uint32_t index, uint32_t key,
                                          uint32_t *out_node);
/* The copy runs after what makes its source. One that was undone is used again, under its old number. */
MUST_CHECK insitu_status planner_add_copy(planner_t *planner, copy_purpose_t purpose, tensor_id_t source,
                                          const plan_operand_t *target, uint32_t final, uint32_t *out_copy);
MUST_CHECK insitu_status planner_add_end_read(planner_t *planner, uint32_t tensor, uint32_t copy);
static inline const layer_t *planner_layer(const planner_t *planner, uint32_t index) {
    return &planner->network->layers[index];
}
static inline tensor_plan_t *planner_tensor(const planner_t *planner, tensor_id_t tensor) {
    return &planner->tensors[tensor.index];
}
/* Is an old value read from a result that holds it? Nothing else is set aside then: storing it into a state is the copy. */
static inline bool returns_old(const planner_t *planner, uint32_t aside) {
    return aside != NONE && planner->copies[aside]->purpose == COPY_OUTPUT;
}
static inline plan_operand_t planner_place(const planner_t *planner, tensor_id_t tensor) {
    return (plan_operand_t){planner->tensors[tensor.index].storage, planner->tensors[tensor.index].type};
}
static inline bool is_same_place(const plan_operand_t *a, const plan_operand_t *b) {
    return a->storage == b->storage && type_same_elements(&a->type, &b->type);
}
/* Where the tensor's elements lie in a copy of it, or of what it is a view of; false if they don't. */
bool planner_aside(planner_t *planner, uint32_t index, tensor_id_t tensor, plan_operand_t *out);
/* A layer whose result has its operand's elements, and which is no view: copy, and reshape of what has no such view. */
bool layer_is_copy(const planner_t *planner, uint32_t layer);
bool tensor_is_root(const planner_t *planner, tensor_id_t tensor);
uint32_t tensor_node(const planner_t *planner, tensor_id_t tensor); /* of the layer that makes it; NONE: fixed */
/* The part of a concat's result that an operand fills, or of an update's that its source fills. */
bool planner_part(planner_t *planner, uint32_t layer, uint32_t operand, const tensor_type_t *result,
                  tensor_type_t *out);
/* Puts the node after the items whose symbols the expression, or the layout, uses. */
MUST_CHECK insitu_status order_after_symbols(planner_t *planner, sym_t expression, uint32_t node, bool *out_possible);
MUST_CHECK insitu_status order_after_layout(planner_t *planner, const tensor_type_t *type, uint32_t node,
                                            bool *out_possible);

/* ---- what makes the final values (def_chain.c) ---- */
MUST_CHECK insitu_status def_chain_find(planner_t *planner, bitset_t *out_chain);
/* The layer makes a state's value, and not a tensor that is the program's own. */
static inline bool planner_serves(const planner_t *planner, uint32_t layer) {
    return bitset_has(&planner->chain, layer) || bitset_has(&planner->updates, layer);
}
/* Updates of states' old values that the states' new ones are computed from, in whatever way. */
MUST_CHECK insitu_status def_chain_find_updates(planner_t *planner, bitset_t *out_updates);

/* ---- checks that can only be decided late (deferred_checks.c) ---- */
/* Finds them, once the nodes are there; the others come before the commit point. */
MUST_CHECK insitu_status deferred_checks_find(planner_t *planner);
/* Puts them before what stores into states where that is possible, and marks the rest as saving. */
MUST_CHECK insitu_status deferred_checks_order(planner_t *planner);

/* ---- placement (place.c, place_final.c) ---- */
/* Puts the tensor at exactly this place, by placing its root, and pulls in what that is made of: *out_done false, and
 * nothing changed, if impossible; *out_conflict then tells why (reader NONE: the layouts do not allow it). */
typedef struct conflict { /* a read that no order saves */
    uint32_t reader;      /* node; NONE */
    uint32_t tensor;
    uint32_t writer; /* node */
} conflict_t;
MUST_CHECK insitu_status place_at(planner_t *planner, tensor_id_t tensor, const plan_operand_t *target, bool *out_done,
                                  conflict_t *out_conflict);
/* Checks a storage after something that reads or writes it was added; sets old values aside where it is a state's. */
MUST_CHECK insitu_status place_resolve_conflicts(planner_t *planner, uint32_t storage, bool *out_ok,
                                                 conflict_t *out_conflict);
/* Old values that are set aside by now. */
typedef struct spills {
    uint32_t count;
    int64_t bytes; /* INT64_MAX if symbolic */
} spills_t;
spills_t planner_spills(planner_t *planner);
/* Bytes of those that are set aside since; INT64_MAX if symbolic. */
int64_t planner_spilled_since(planner_t *planner, spills_t before);
/* Reads of final values and of results whose place is decided later, so that placements before then respect them. */
MUST_CHECK insitu_status place_readers(planner_t *planner);
MUST_CHECK insitu_status place_finals(planner_t *planner); /* state tensors and mutated inputs */
MUST_CHECK insitu_status place_outputs(planner_t *planner);
MUST_CHECK insitu_status place_rest(planner_t *planner);

/* ---- reasons (explain.c) ---- */
MUST_CHECK insitu_status explain_write_back(planner_t *planner, state_target_t *final, const conflict_t *conflict);
MUST_CHECK insitu_status explain_spills(planner_t *planner);
MUST_CHECK insitu_status explain_stored_back(planner_t *planner, uint32_t layer, uint32_t storage, sym_t bytes);

/* ---- orders (final_order.c) ---- */
void order_finals(planner_t *planner);

/* ---- conflicts (conflict.c) ---- */
/* Adds the order that what lies in a storage needs. *out_ok false: impossible; the order may then be partly extended
 * (the caller undoes it) and *out_conflict names the read and the write. */
MUST_CHECK insitu_status conflicts_check(planner_t *planner, uint32_t storage, bool *out_ok, conflict_t *out_conflict);
MUST_CHECK insitu_status conflicts_init(planner_t *planner);
/* Calls visit for each node that stores into the storage. */
typedef insitu_status (*writer_visit_fn)(planner_t *planner, uint32_t node);
MUST_CHECK insitu_status conflicts_visit_writers(planner_t *planner, uint32_t storage, writer_visit_fn visit);

/* Bytes that such a copy has in hand: an element of each cycle of a permutation; else none. */
MUST_CHECK insitu_status layout_held_bytes(planner_t *planner, const tensor_type_t *from, const tensor_type_t *to,
                                           int64_t *out_bytes);

/* ---- emission (emit_steps.c, emit_control.c, inner_plan.c, emit_save.c, segment.c, report.c, drop_unused_storages.c) ---- */
typedef struct emitter {
    planner_t *planner;
    bool saves, saves_own;                                /* of the node at hand */
    uint32_t step_capacity, restore_capacity, check_step; /* check_step: the last check or item so far */
} emitter_t;
MUST_CHECK insitu_status emit_steps(planner_t *planner);
/* A step of a layer that has no operands yet and counts nothing. */
plan_step_t step_new(planner_t *planner, layer_kind_t layer, const char *name, const char *source);
/* Appends a step that is complete. */
MUST_CHECK insitu_status emit_step(emitter_t *emitter, plan_step_t step);
/* Copies operands into the plan; the step is then complete, and follows the steps that save what it replaces. */
MUST_CHECK insitu_status emit_with(emitter_t *emitter, plan_step_t step, const plan_operand_t *results,
                                   uint32_t result_count, const plan_operand_t *operands, uint32_t operand_count);
/* A copy for a layer, whose bytes count as copied where it stores a value of the program into a state. */
MUST_CHECK insitu_status emit_layer_copy(emitter_t *emitter, uint32_t layer, uint32_t operand, plan_operand_t target);
/* A step that saves what the step's result is about to replace. */
MUST_CHECK insitu_status emit_save(emitter_t *emitter, const plan_step_t *step, uint32_t result);
/* Where a layer reads an operand. */
plan_operand_t layer_operand_place(planner_t *planner, uint32_t layer, uint32_t operand);
/* emit_control.c: a layer that runs regions, and whether these can fail a call. */
MUST_CHECK insitu_status emit_control(emitter_t *emitter, uint32_t layer, const plan_operand_t *results);
bool layer_may_fail(const network_t *network, const layer_t *layer);
/* Its memory is needed in these steps as well. */
void storage_keep(planner_t *planner, uint32_t storage, uint32_t first, uint32_t last);
/* inner_plan.c: the plan of a region, with its inputs and outputs at these places of the plan. */
typedef struct region_places {
    const plan_operand_t *inputs, *outputs;
} region_places_t;
typedef struct inner_plan inner_plan_t;
/* *out_inner is to be destroyed in any case; NULL allowed there. */
MUST_CHECK insitu_status inner_plan_make(planner_t *planner, const network_t *region, const region_places_t *places,
                                         region_rule_t rule, const char *layer_name, inner_plan_t **out_inner);
/* A check of its steps comes after a write. */
bool inner_plan_has_deferred(const inner_plan_t *inner);
MUST_CHECK insitu_status inner_plan_emit(inner_plan_t *inner, emitter_t *emitter);
void inner_plan_destroy(inner_plan_t *inner);
/* emit_save.c: what undoes a step, and what must be saved for that. */
typedef struct undo {
    plan_step_t save, restore;
} undo_t;
MUST_CHECK insitu_status undo_make(planner_t *planner, const plan_step_t *step, uint32_t result, undo_t *out_undo);
/* segment.c: where symbols come from, and the cuts. */
MUST_CHECK insitu_status segments_build(planner_t *planner);
MUST_CHECK insitu_status report_build(planner_t *planner);
MUST_CHECK insitu_status drop_unused_storages(planner_t *planner); /* the last: numbers of storages change */
/* Of what an update stores there from other memory: bytes that were the storage's own (old_parts.c). */
sym_t old_part_bytes(planner_t *planner, uint32_t layer, uint32_t operand, uint32_t storage);
/* Bytes that an update stores in place. */
sym_t update_bytes(planner_t *planner, uint32_t layer);
/* "mul_3 (model.py:41)" */
MUST_CHECK insitu_status node_describe(planner_t *planner, uint32_t node, const char **out_text);

#endif
