/* runtime, inside: states, contexts, and what a context keeps for each set of sizes that it has seen. */
#ifndef RUNTIME_INT_H
#define RUNTIME_INT_H

#include "engine/engine.h"
#include "plan/backend.h"
#include "runtime/undo_log.h"

#include <insitu/context.h>
#include <insitu/module.h>
#include <insitu/state.h>

enum { STATE_ALIGNMENT = 64, PAGE = 4096 };

struct insitu_state {
    const insitu_engine *engine;
    arena arena;
    void **storages;        /* one block for each state storage of the plan */
    size_t *bytes;          /* of each block */
    sym_value *values;      /* of each symbol that a state's size gives */
    bool *is_bound;         /* of each block: it is the caller's */
    insitu_tensor *tensors; /* one for each state name; sizes and strides in the arena */
    undo_log log;           /* of the open snapshots */
    uint32_t *busy;         /* 1 while a call or a verb uses the state; touched by state_lock and state_unlock alone */
};

/* Errors: ARG (a call is running on the state). */
MUST_CHECK insitu_status state_lock(const insitu_state *state, insitu_diag *diag);
void state_unlock(const insitu_state *state);
/* Sizes and strides of the tensors, and bytes of the blocks, from chosen sizes or the values of another state.
 * Errors: ARG (an unknown one, or one is missing), SHAPE (outside its range; contradictory; too large), NOMEM. */
MUST_CHECK insitu_status state_fill_sizes(insitu_state *state, const insitu_state_size *sizes, size_t count,
                                          const sym_value *values, insitu_diag *diag);
/* A block of its own for a state storage of so many bytes, freed by memory_free; NULL if memory is short. */
void *state_allocate(size_t bytes);
/* The tensors that lie in the storage get its address. */
void state_place_tensors(insitu_state *state, uint32_t storage);
/* Before the whole storage, or the tensor, is written: saves it if a snapshot is open. Errors: NOMEM. */
MUST_CHECK insitu_status state_save_storages(insitu_state *state, insitu_diag *diag);
MUST_CHECK insitu_status state_save_tensor(insitu_state *state, uint32_t index, insitu_diag *diag);

/* A tensor that the caller bound: sizes and strides are copies. */
typedef struct bound_tensor {
    bool is_bound;
    uint8_t *address; /* of the first element; NULL only if it has no elements */
    void *data;       /* as given */
    uint64_t byte_offset;
    uint32_t rank;
    int64_t sizes[MAX_RANK], strides[MAX_RANK];
    size_t bytes; /* from address to the end of the last element */
} bound_tensor;

/* A strided tensor with numbers for its symbols. */
typedef struct layout {
    dtype dtype;
    uint32_t rank;
    int64_t sizes[MAX_RANK], strides[MAX_RANK];
    size_t offset; /* bytes from the storage's start */
    size_t bytes;  /* of the elements */
    size_t extent; /* bytes from the storage's start to the end of the last element */
} layout;

typedef struct binding_input {
    layout layout; /* what the program was compiled for */
    void *staged;  /* a dense copy of a tensor with other strides; NULL until one is needed */
} binding_input;

typedef struct binding_output {
    layout layout;
    size_t storage_bytes; /* of the storage that it lies in */
    size_t bytes;         /* of memory that it needs if the caller gives none */
    sym_value number;
} binding_output;

enum { STEP_COUNTERS = 6 }; /* of a plan_step */

/* A result that a step stores into a state. */
typedef struct state_write {
    const bound_step *step;
    uint32_t result, cut; /* what it replaces can be saved before step cut */
    bool is_inside;       /* a control step runs it: then the whole of what it may store into is saved at once */
    size_t log_bytes;     /* what that takes of an undo log */
} state_write;

typedef struct state_writes { /* of a segment, in the order of its steps */
    state_write *rows;
    uint32_t count;
    size_t log_bytes;
    const size_t *storage_bytes; /* of the plan's storages */
} state_writes;

typedef struct step_counts {
    int64_t bytes[STEP_COUNTERS];
} step_counts;

/* What depends on the values of the symbols that a segment's sizes may use, and on the number of threads: made once, then
 * found again. */
typedef struct binding {
    arena arena;
    sym_value *values;
    uint32_t threads;        /* that the backend prepared for */
    binding_input *inputs;   /* of the first segment's */
    binding_output *outputs; /* of the first segment's: those that are known before the call */
    bound_plan bound, restores;
    state_writes writes;
    void *prepared, *prepared_restores;
    size_t workspace_bytes, arena_bytes;
    insitu_run_stats totals; /* sums of the steps' counters, of those that run once */
    step_counts *counts;     /* each step's own; NULL: no control step is in the segment */
    uint64_t last_used;
} binding;

typedef struct grown_memory { /* memory of the context that grows with the largest binding */
    uint8_t *data;
    size_t size;
} grown_memory;

typedef struct context_segment {
    binding *bindings[MAX_SYMBOL_BINDINGS];
    uint32_t binding_count;
    binding *current; /* of the running call; NULL before the segment starts */
    grown_memory intermediate;
} context_segment;

typedef struct context_output {
    bound_tensor target; /* where the caller wants it */
    insitu_tensor result;
    int64_t sizes[MAX_RANK], strides[MAX_RANK]; /* of result */
    uint32_t item;                              /* the last item step whose value it needs; NONE */
    uint32_t storage_item;                      /* the same of the size of its own storage; NONE too if it has none */
    const binding_output *row;                  /* of the running call; NULL before that step */
    size_t place;                               /* in the context's memory for outputs */
    binding_output late;                        /* what row points to if there is such a step, */
    grown_memory memory;                        /* and its memory; of any output that is preallocated */
} context_output;

typedef struct memory_region { /* bytes that a call touches */
    const uint8_t *start;
    size_t size;
    const char *what, *name;
    bool is_written;
    const bound_tensor *tensor; /* its elements; NULL: all bytes */
    size_t item;                /* bytes of an element */
    uint32_t state_storage;     /* of a state's memory, which several may view; NONE */
} memory_region;

struct insitu_context {
    const insitu_engine *engine;
    const backend *backend;
    arena arena;
    bound_tensor *inputs;
    context_output *outputs;
    context_segment *segments;      /* one for each of the plan */
    bound_plan *bounds;             /* of the running call: each started segment's */
    uint32_t thread_limit, threads; /* at most; of the running call */
    uint64_t clock, rounds;         /* rounds: of loops, in the running call */
    int64_t bindings_made, bindings_dropped;
    sym_value *values;   /* of the running call */
    bool *known;         /* of each symbol: its value has been read */
    bool *fixed;         /* of each symbol: a segment that is being bound may use it in sizes */
    uint32_t *ready;     /* of each expression: 0 known before the call, n + 1 after item step n */
    uint32_t *next_host; /* of each step: the first from it on that is the runtime's; NONE */
    uint32_t last_check; /* the last step that can fail a call; NONE */
    void **bases;
    bool *state_is_written; /* of each state storage */
    memory_region *regions;
    grown_memory workspace, output;
    insitu_state *logged; /* the running call's state if a snapshot of it is open; else NULL */
    insitu_run_stats stats;
    bool has_run;
};

/* ---- context.c ---- */
/* Of the tensor, or of the 0-d tensor that a number is. */
dtype output_dtype(const plan *plan, const plan_output *output);

/* ---- symbols.c ---- */
enum { RANGE_TEXT = 64 };
/* What the range allows, in words: "from 1 to 8"; it has one end at least. */
void print_range(const symbol *symbol, char *out, size_t size);
/* Reads the symbols' values off the bound inputs and the state (NULL: none) into context->values and known; those that
 * item steps read become unknown. Errors: SHAPE (out of range). */
MUST_CHECK insitu_status context_read_symbols(insitu_context *context, const insitu_state *state, insitu_diag *diag);
/* Of the sizes that states have the choice of, those that a bound input has too. */
void context_take_state_sizes(insitu_context *context);
/* A number that was bound is the one that the program was compiled for. Errors: ARG, SHAPE. */
MUST_CHECK insitu_status context_check_number(const insitu_context *context, uint32_t input, insitu_diag *diag);
/* The assertions that became decidable with this item step, or before the call (NONE). Errors: ASSERT. */
MUST_CHECK insitu_status context_check_asserts(const insitu_context *context, uint32_t item, insitu_diag *diag);
/* Reads the item step's symbol off memory. Errors: BOUNDS (out of range). */
MUST_CHECK insitu_status context_read_item(insitu_context *context, uint32_t item, insitu_diag *diag);

/* The operand of an item or a control step, as it lies in memory. */
const uint8_t *context_element(const insitu_context *context, uint32_t step);

/* ---- binding.c ---- */
/* The segment's binding for the values that are known, made if it is new; the least recently used one makes room. For
 * the first segment all inputs are checked against it. Errors: SHAPE, ARG (a number differs), ASSERT, UNSUPPORTED,
 * NOMEM. */
MUST_CHECK insitu_status context_find_binding(insitu_context *context, uint32_t segment, binding **out_binding,
                                              insitu_diag *diag);
/* Makes the first segment's binding where its sizes depend on no input, so that the first call need not. Whatever else
 * fails is left to the call, which says it. Errors: NOMEM. */
MUST_CHECK insitu_status context_bind_ahead(insitu_context *context);
void binding_destroy(const insitu_context *context, binding *binding);
MUST_CHECK insitu_status context_evaluate(const insitu_context *context, sym expression, int64_t *out_value,
                                          insitu_diag *diag);
/* All expressions are known. Errors: SHAPE, FORMAT. */
MUST_CHECK insitu_status context_evaluate_layout(const insitu_context *context, const tensor_type *type,
                                                 const char *what, const char *name, layout *out_layout,
                                                 insitu_diag *diag);

/* Adds what the steps [first, end) count, but those that control steps in between run. */
void context_count(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end);

/* ---- run.c ---- */
/* At least size bytes, never NULL; what was there is lost, save if this fails. */
MUST_CHECK insitu_status memory_grow(grown_memory *memory, size_t size, insitu_diag *diag);

/* ---- outputs.c ---- */
MUST_CHECK insitu_status context_evaluate_output(const insitu_context *context, uint32_t index, binding_output *out_row,
                                                 insitu_diag *diag);
/* Outputs that became known with this item step, or before the call (NONE), get sizes, memory, and a base, save those that
 * the first segment's binding holds whole. Errors: SHAPE, BOUNDS, NOMEM. */
MUST_CHECK insitu_status context_decide_outputs(insitu_context *context, uint32_t item, insitu_diag *diag);
/* The sizes that a bound output must have. Errors: SHAPE. */
MUST_CHECK insitu_status context_check_target(const insitu_context *context, uint32_t index, insitu_diag *diag);
/* Where an OUTPUT storage lies in this call. */
/* Memory for the outputs that are known before the call, and that are not computed where the caller wants them. */
MUST_CHECK insitu_status context_reserve_outputs(insitu_context *context, insitu_diag *diag);
void *context_output_base(const insitu_context *context, uint32_t index);
/* After the last step. */
void context_finish_output(insitu_context *context, const insitu_state *state, uint32_t index);

/* ---- overlap.c ---- */
/* Refuses memory that one part of the call writes while another uses it. Errors: ARG. */
MUST_CHECK insitu_status context_check_overlap(insitu_context *context, const insitu_state *state, insitu_diag *diag);
/* The most regions that a call has. */
uint32_t context_region_limit(const plan *plan);
/* True if the caller bound the output to the very tensor that it is anyway. */
bool output_is_its_alias(const insitu_context *context, const insitu_state *state, uint32_t index);

/* ---- state_writes.c ---- */
/* The writes of a segment that the backend has accepted; they live in the arena. Errors: NOMEM. */
MUST_CHECK insitu_status state_writes_find(const insitu_context *context, const bound_plan *bound, arena *arena,
                                           state_writes *out_writes);
/* Where the steps [from, end) are cut first, or end. */
uint32_t state_writes_next_cut(const state_writes *writes, uint32_t from, uint32_t end);
/* Saves what the writes of this cut replace, for which the state's log has room. Returns how many bytes. */
size_t state_writes_save(const state_writes *writes, const plan *plan, uint32_t cut, void *const *bases,
                         insitu_state *state);

/* ---- tensors.c ---- */
void tensor_gather(const insitu_tensor *tensor, void *dense);        /* its elements in row-major order */
void tensor_scatter(const insitu_tensor *tensor, const void *dense); /* the way back */
/* A caller's tensor, and what it must be. */
typedef struct expected_tensor {
    const char *what, *name;
    dtype dtype;
    const shape *shape;
} expected_tensor;
/* Its dtype and device. Errors: ARG. */
MUST_CHECK insitu_status expect_dtype(const expected_tensor *expected, const insitu_tensor *tensor, insitu_diag *diag);
/* Its place and layout, of a tensor with a good rank and good sizes. Errors: ARG (no data, alignment), SHAPE. */
MUST_CHECK insitu_status tensor_read(const expected_tensor *expected, const insitu_tensor *tensor, bound_tensor *out,
                                     insitu_diag *diag);
/* Same sizes and same steps from element to element (dimensions of size 1, and empty tensors, step nowhere). */
bool same_strides(uint32_t rank, const int64_t *sizes, const int64_t *a, const int64_t *b);
/* Of an input that the program writes. Errors: SHAPE. */
MUST_CHECK insitu_status check_written_strides(const char *name, const bound_tensor *given, const int64_t *expected,
                                               insitu_diag *diag);

#endif
