/* A plan: what is left of a program after compilation. A schedule of steps over storages; the engine file holds it, the
 * runtime binds its symbols, a backend runs it. Everything lives in the plan's arena; weight bytes are spans owned by
 * whoever made the plan (a mapped archive or engine file).
 *
 * Storages are blocks of memory; an operand is a strided view of one. Every kernel takes strided operands, so views cost
 * nothing. Update steps work in place: results[0] is operands[0]'s memory, and only the changed elements are written
 * (where an update can't be in place, the planner has put a copy step before it). slice_update and concat never reach a
 * plan: they are copy steps into a part, or nothing at all where the producer writes that part itself. */
#ifndef PLAN_STRUCTURES_H
#define PLAN_STRUCTURES_H

#include "core/core.h"

typedef enum storage_kind {
    STORAGE_WEIGHT, /* index: weight record; never written */
    STORAGE_STATE,  /* index: state storage */
    STORAGE_INPUT,  /* index: input; written only if the input's is_written */
    STORAGE_OUTPUT, /* index: output; memory of the caller's or of the context's */
    STORAGE_ARENA   /* the context's memory for intermediate values */
} storage_kind_t;

typedef struct plan_storage {
    storage_kind_t kind;
    uint32_t index;
    sym_t bytes;
    uint32_t first_step, last_step; /* ARENA: the steps between which it is live (inclusive) */
} plan_storage_t;

typedef struct plan_operand {
    uint32_t storage;
    tensor_type_t type; /* strides and offset in elements, from the storage's start */
} plan_operand_t;

typedef enum counter { /* counters.def */
#define COUNTER(id, name, stat) COUNTER_##id,
#include "plan/counters.def"
#undef COUNTER
                       COUNTER_COUNT
} counter_t;
const char *counter_name(counter_t counter);

typedef enum step_kind {
    STEP_LAYER,       /* results = layer(operands) */
    STEP_CHECK_INDEX, /* operands[0]: integers that must lie in [0, extent), or [-extent, extent) if wrap; else BOUNDS */
    STEP_COND, /* step n; operands[0], one bool: the steps [n + 1, middle) run, or if it is false [middle, end) */
    STEP_LOOP  /* step n: the steps [n + 1, middle), and while operands[0] is then true [middle, end) and again */
} step_kind_t;

typedef struct plan_step {
    step_kind_t kind;
    layer_kind_t layer;  /* LAYER; CHECK_INDEX: the layer that is guarded */
    const attr_t *attrs; /* as in layers: one for each attribute row of the kind */
    const plan_operand_t *results, *operands;
    uint32_t result_count, operand_count;
    uint32_t middle, end;          /* COND, LOOP; the runtime goes on at end */
    sym_t extent;                  /* CHECK_INDEX */
    bool wrap;                     /* CHECK_INDEX */
    const char *name;              /* of the node that it came from */
    const char *source;            /* "model.py:41" or "" */
    sym_t counters[COUNTER_COUNT]; /* bytes; constants or expressions */
} plan_step_t;

typedef struct plan_symbol { /* where a symbol's value comes from, index = symbol index in the pool */
    enum {
        SYMBOL_UNUSED,
        SYMBOL_INPUT_SIZE,
        SYMBOL_INPUT_VALUE,
        SYMBOL_STATE_SIZE, /* chosen when the state is created */
        SYMBOL_STEP        /* an item step reads it during the call */
    } source;
    uint32_t input; /* INPUT_SIZE, INPUT_VALUE; STATE_SIZE: the state */
    uint32_t dim;   /* INPUT_SIZE, STATE_SIZE */
    uint32_t step;  /* STEP: the item step; operands[0] is the tensor's one element */
    bool in_sizes;  /* some size, stride or count of bytes uses it; else positions and numbers alone do */
} plan_symbol_t;

/* The plan is cut after each item step whose symbol is used in a size: a segment's sizes are known when it starts. A
 * symbol that positions and numbers alone use cuts nothing. A storage belongs to the segment of its first step. */
typedef struct plan_segment {
    uint32_t first_step, end_step;
} plan_segment_t;

/* The undo log. A step that writes a state or an input before a check that can only be decided later is preceded by a
 * save step, an ordinary step that copies the bytes to be replaced into the arena, where they stay until the last check.
 * A call that fails at step n runs the restores whose save_step < n, in the order of the array: save steps fall. */
typedef struct plan_restore {
    plan_step_t step;
    uint32_t save_step;
} plan_restore_t;

typedef struct plan_input {
    const char *name;
    tensor_type_t type; /* sizes, and the strides that the program was compiled for; scalars: rank 0 */
    bool is_scalar;     /* a Python number: symbol or constant; bound as a 0-d tensor */
    bool is_constant;   /* specialised: the number given must equal value */
    bool is_none;       /* a None or string leaf: nothing to bind */
    sym_t value;        /* is_scalar */
    bool is_written;
    update_kind_t update; /* is_written */
    uint32_t storage;     /* NONE if no step uses it */
} plan_input_t;

typedef struct plan_output {
    const char *name; /* "output.N", N = position in the flattened result */
    output_kind_t kind;
    plan_operand_t operand;                              /* TENSOR: where the value lies after the last step */
    sym_t value;                                         /* NUMBER */
    enum { ALIAS_NONE, ALIAS_INPUT, ALIAS_STATE } alias; /* TENSOR: the value is (a view of) this input or state */
    uint32_t alias_index;                                /* input or state */
} plan_output_t;

typedef struct plan_state_storage { /* one block of state memory */
    sym_t bytes;                    /* a constant, or of symbols that state sizes give: then it begins with zeros */
    uint32_t initial;               /* weight record that holds the initial bytes; NONE: zeros */
} plan_state_storage_t;
typedef struct plan_state { /* one name; several may view one storage */
    const char *name;
    uint32_t state_storage;
    tensor_type_t type; /* of constants and symbols that state sizes give; its offset is a constant */
    uint32_t rows;      /* 1 + the axis whose rows are positions; 0: there is none */
} plan_state_t;

typedef struct plan_buffer { /* a buffer that the program does not write, whether steps read it or not */
    const char *name;
    uint32_t weight;    /* weight record */
    tensor_type_t type; /* constant sizes, strides, offset */
} plan_buffer_t;

typedef struct report_row { /* the in-place report */
    const char *name;       /* state or input */
    tensor_type_t type;
    const char *update;                  /* "index_update dim 2" */
    sym_t written, moved, copied, saved; /* bytes a call */
    bool in_place;
    const char *source; /* "model.py:41, model.py:52": where the model updates it; "" */
    const char *reason; /* of a copy: one clause that names the reader or the conflict, with its source; else "" */
    const char *advice; /* of a copy: the smallest change of the model that avoids it, where one is known; else "" */
} report_row_t;

/* ---- what follows from the rows above (plan_derive.c) ---- */

typedef enum undo_kind {               /* bytes of a state that a write replaces */
                         UNDO_WHOLE,   /* all of the result */
                         UNDO_STORAGE, /* all of the memory that it lies in: inside a region, where it moves */
                         UNDO_ROWS,    /* what lies at the positions of the dims */
                         UNDO_ELEMENTS /* single elements: at the positions along dims[0], each at its own place else */
} undo_kind_t;
typedef struct plan_write { /* a result that a step stores into a state */
    uint32_t step, result;
    undo_kind_t undo;
    uint32_t positions;      /* ROWS, ELEMENTS: the first operand of positions; there is one for each dim */
    uint32_t dim_count;      /* 0: WHOLE, STORAGE */
    uint32_t dims[MAX_RANK]; /* of the result */
    uint32_t save;           /* what it replaces is known, and can be saved, before this step */
} plan_write_t;

typedef enum stop_kind {
    STOP_SEGMENT, /* a segment begins: what its sizes decide follows now */
    STOP_CHECKED, /* from here on the call can't fail */
    STOP_SAVE,    /* while a snapshot is open: what writes replace is saved */
    STOP_REGION, /* the second run of a control step begins, or what it runs has ended: other steps may have run just before */
    STOP_ITEM,   /* the step is an item: its element is read */
    STOP_CONTROL /* the step is a control step: its condition is read, and says what runs of the steps behind it */
} stop_kind_t;
typedef struct plan_stop { /* before the step, which may be the end */
    stop_kind_t kind;
    uint32_t step;
} plan_stop_t;
/* The step is the runtime's: no device runs it. */
static inline bool stop_is_host(const plan_stop_t *stop) {
    return stop->kind == STOP_ITEM || stop->kind == STOP_CONTROL;
}

typedef struct plan_facts {
    uint32_t *ready; /* of each expression: 0 known before the call, n + 1 after item step n, NONE never */
    plan_write_t *writes;
    plan_stop_t *stops; /* steps rise; those of one step in the order of the enum */
    uint32_t ready_count, write_count, stop_count;
    uint32_t last_check; /* the last step that can fail the call, of a loop that can its last; NONE */
} plan_facts_t;

typedef struct plan {
    arena_t arena;
    sym_pool_t symbols;
    plan_symbol_t *symbol_sources; /* symbols.symbol_count rows */
    weight_record_t *weights;
    plan_storage_t *storages;
    plan_step_t *steps; /* checks (CHECK_INDEX steps, item steps) come before the first step that writes a state or an
                         input, or what is written before them is saved */
    plan_segment_t *segments; /* at least one; together all steps */
    plan_restore_t *restores;
    plan_input_t *inputs;
    plan_output_t *outputs;
    plan_state_storage_t *state_storages;
    plan_state_t *states;
    plan_buffer_t *buffers;
    sym_assert_t *asserts;
    report_row_t *report;
    uint32_t weight_count, storage_count, step_count, input_count, output_count, state_storage_count, state_count;
    uint32_t buffer_count, assert_count, report_count, segment_count, restore_count;
    uint32_t first_write; /* first step that writes a state or an input; step_count if none */
    uint64_t fingerprint; /* of the program that it was compiled from, whose saved states it takes; 0: not known */
    plan_facts_t facts;   /* plan_derive fills them when the rows are complete */
} plan_t;

static inline bool step_is_item(const plan_step_t *step) {
    return step->kind == STEP_LAYER && step->layer == LAYER_ITEM;
}
static inline bool step_is_control(const plan_step_t *step) {
    return step->kind == STEP_COND || step->kind == STEP_LOOP;
}
/* The runtime acts there: no backend runs it. */
static inline bool step_is_host(const plan_step_t *step) { return step_is_item(step) || step_is_control(step); }
/* It can fail the call. */
static inline bool step_is_check(const plan_step_t *step) {
    return step->kind == STEP_CHECK_INDEX || step_is_item(step);
}
/* Such a step that may run after this one (of a verified plan, or one that the planner has made); NONE. */
uint32_t plan_check_after(const plan_t *plan, uint32_t step);
uint32_t plan_segment_of(const plan_t *plan, uint32_t step); /* the segment that the step lies in */

/* The first of the plan's stops that does not stand before the step; the number of stops if there is none. */
uint32_t plan_stop_from(const plan_t *plan, uint32_t step);

/* Bytes a call copies, of all states and written inputs; INT64_MAX if that depends on symbols. */
int64_t plan_copied_bytes(const plan_t *plan);
/* Of each state's block whose initial bytes are all zero, that it begins with zeros. */
void plan_find_zero_states(plan_t *plan);
MUST_CHECK insitu_status plan_create(plan_t **out_plan); /* arena and pool ready, all else zero */
void plan_destroy(plan_t *plan);                         /* NULL allowed */
/* The facts of the rows, which need not be verified yet: into the arena, and into the plan. Errors: NOMEM. */
MUST_CHECK insitu_status plan_find_facts(const plan_t *plan, arena_t *arena, plan_facts_t *out_facts);
MUST_CHECK insitu_status plan_derive(plan_t *plan);
/* a may know of more expressions. */
bool plan_facts_same(const plan_facts_t *a, const plan_facts_t *b);
/* Every id, range, size and fact; reports the first ten faults in one sentence. An engine reader calls it on untrusted data.
 * Errors: FORMAT. */
MUST_CHECK insitu_status plan_verify(plan_t *plan, insitu_diag *diag);
void plan_print(const plan_t *plan, text_t *out); /* deterministic, one row a line (docs/ir.md) */
/* Reads such text: printed again it is the same. Its weights have no bytes. Errors: FORMAT, NOMEM. */
MUST_CHECK insitu_status plan_parse(const char *source, plan_t **out_plan, insitu_diag *diag);
void plan_print_report(const plan_t *plan, text_t *out); /* the in-place report as people read it */
/* "in place (moves 384, saves 16)", "COPIED 16 KiB: mul_3 (model.py:41) reads ..." */
void plan_print_verdict(const plan_t *plan, const report_row_t *row, text_t *out);

/* Offsets for live blocks that overlap in time: out_offsets[i] for blocks[i], each a multiple of alignment; returns the
 * bytes needed in all. Best fit in order of falling size; deterministic. Errors: NOMEM on overflow. */
typedef struct memory_block {
    size_t size;
    uint32_t first, last; /* closed interval of steps */
} memory_block_t;
MUST_CHECK insitu_status memory_assign(const memory_block_t *blocks, uint32_t count, size_t alignment, arena_t *scratch,
                                       size_t *out_offsets, size_t *out_total);

#endif
