/* runtime, inside: states, contexts, and what a context keeps for each set of sizes that it has seen. */
#ifndef RUNTIME_INT_H
#define RUNTIME_INT_H

#include "engine/engine.h"
#include "plan/device.h"
#include "runtime/transfer.h"
#include "runtime/undo_log.h"

#include <insitu/context.h>
#include <insitu/module.h>
#include <insitu/state.h>

enum { STATE_ALIGNMENT = 64, PAGE = 4096 };

struct insitu_state {
    const insitu_engine *engine;
    const device_t *device; /* the engine's, in whose memory the blocks lie */
    device_event_t *event;  /* after the last call; NULL: none */
    device_fault_t *fault;  /* of an asynchronous device: the first failure of its calls */
    uint64_t calls;         /* that were made on it */
    arena_t arena;
    void **storages;        /* one block for each state storage of the plan */
    size_t *bytes;          /* of each block */
    sym_value_t *values;    /* of each symbol that a state's size gives */
    bool *is_bound;         /* of each block: it is the caller's */
    insitu_tensor *tensors; /* one for each state name; sizes and strides in the arena */
    undo_log_t log;         /* of the open snapshots */
    uint32_t *busy;         /* 1 while a call or a verb uses the state; touched by state_lock and state_unlock alone */
};

/* Errors: ARG (a call is running on the state). */
MUST_CHECK insitu_status state_lock(const insitu_state *state, insitu_diag *diag);
/* The same for a verb, which comes after the calls: it waits for them. Errors: what a call has failed with meanwhile. */
MUST_CHECK insitu_status state_lock_settled(const insitu_state *state, insitu_diag *diag);
void state_unlock(const insitu_state *state);
/* Sizes and strides of the tensors, and bytes of the blocks, from chosen sizes or the values of another state.
 * Errors: ARG (an unknown one, or one is missing), SHAPE (outside its range; contradictory; too large), NOMEM. */
MUST_CHECK insitu_status state_fill_sizes(insitu_state *state, const insitu_state_size *sizes, size_t count,
                                          const sym_value_t *values, insitu_diag *diag);
/* A block of its own for a state storage of so many bytes; NULL if memory is short. zeroed: all are 0. */
void *state_allocate(const device_t *device, size_t bytes, bool zeroed);
/* The tensors that lie in the storage get its address. */
void state_place_tensors(insitu_state *state, uint32_t storage);
/* Before the whole storage, or the tensor, is written: saves it if a snapshot is open. Errors: NOMEM, DEVICE. */
MUST_CHECK insitu_status state_save_storages(insitu_state *state, void *stream, insitu_diag *diag);
MUST_CHECK insitu_status state_save_tensor(insitu_state *state, uint32_t index, insitu_diag *diag);

/* A tensor that the caller bound: sizes and strides are copies. */
typedef struct bound_tensor {
    bool is_bound;
    bool is_host;     /* in the host's memory, which may be the device's */
    uint8_t *address; /* of the first element; NULL only if it has no elements */
    void *data;       /* as given */
    uint64_t byte_offset;
    uint32_t rank;
    int64_t sizes[MAX_RANK], strides[MAX_RANK];
    size_t bytes;   /* from address to the end of the last element */
    bool is_staged; /* an input of the running call: a dense copy of it is used */
} bound_tensor_t;

/* A strided tensor with numbers for its symbols. */
typedef struct layout {
    dtype_t dtype;
    uint32_t rank;
    int64_t sizes[MAX_RANK], strides[MAX_RANK];
    size_t offset; /* bytes from the storage's start */
    size_t bytes;  /* of the elements */
    size_t extent; /* bytes from the storage's start to the end of the last element */
} layout_t;

typedef struct binding_input {
    layout_t layout; /* what the program was compiled for */
    void *
        staged; /* memory for a copy laid out so, of a tensor that lies elsewhere, or otherwise; NULL until one is needed */
} binding_input_t;

typedef struct binding_output {
    layout_t layout;
    size_t storage_bytes; /* of the storage that it lies in */
    size_t bytes;         /* of memory that it needs if the caller gives none */
    sym_value_t number;
} binding_output_t;

typedef struct state_write { /* a write of the plan's facts, bound */
    const plan_write_t *planned;
    const bound_step_t *step;
    size_t storage_bytes; /* of the memory that it stores into */
} state_write_t;

typedef struct state_writes { /* of a segment, in the order of its steps */
    state_write_t *rows;
    uint32_t count;
    undo_room_t room; /* what all of it takes of an undo log */
} state_writes_t;

typedef struct step_counts {
    int64_t bytes[COUNTER_COUNT];
} step_counts_t;

/* What depends on the values of the symbols that a segment's sizes may use, and on the number of threads: made once, then
 * found again. */
typedef struct binding {
    arena_t arena;
    sym_value_t *values;
    uint32_t threads;          /* that the backend prepared for */
    binding_input_t *inputs;   /* of the first segment's */
    binding_output_t *outputs; /* of the first segment's: those that are known before the call */
    bound_plan_t bound, restores;
    state_writes_t writes;
    void *prepared, *prepared_restores;
    size_t workspace_bytes, arena_bytes;
    insitu_run_stats totals; /* sums of the steps' counters, of those that run once */
    step_counts_t *counts;   /* each step's own; NULL: no control step is in the segment */
    uint64_t last_used;
} binding_t;

typedef struct growable_buffer { /* device memory of the context that grows with the largest binding */
    uint8_t *data;
    size_t size;
} growable_buffer_t;

typedef struct context_segment {
    binding_t *bindings[MAX_SYMBOL_BINDINGS];
    uint32_t binding_count;
    binding_t *current; /* of the running call; NULL before the segment starts */
    growable_buffer_t intermediate;
} context_segment_t;

typedef struct context_output {
    bound_tensor_t target; /* where the caller wants it */
    insitu_tensor result;
    sym_value_t number;                         /* what result shows of a number: host memory */
    bool truth;                                 /* ... that is a bool */
    int64_t sizes[MAX_RANK], strides[MAX_RANK]; /* of result */
    uint32_t item;                              /* the last item step whose value it needs; NONE */
    uint32_t storage_item;                      /* the same of the size of its own storage; NONE too if it has none */
    const binding_output_t *row;                /* of the running call; NULL before that step */
    size_t place;                               /* in the context's memory for outputs */
    binding_output_t late;                      /* what row points to if there is such a step, */
    growable_buffer_t memory;                   /* and its memory; of any output that is preallocated */
} context_output_t;

typedef struct memory_region { /* bytes that a call touches */
    const uint8_t *start;
    size_t size;
    const char *what, *name;
    bool is_written;
    const bound_tensor_t *tensor; /* its elements; NULL: all bytes */
    size_t item;                  /* bytes of an element */
    uint32_t state_storage;       /* of a state's memory, which several may view; NONE */
} memory_region_t;

struct insitu_context {
    const insitu_engine *engine;
    const device_t *device;            /* the engine's */
    device_event_t *event;             /* after the last call; NULL: none */
    device_fault_t *own_fault, *fault; /* of calls without a state; of the running call */
    void *stream;                      /* of the running call */
    uint64_t calls, number;            /* calls without a state; the running call's number */
    arena_t arena;
    bound_tensor_t *inputs;
    context_output_t *outputs;
    context_segment_t *segments;    /* one for each of the plan */
    bound_plan_t *bounds;           /* of the running call: each started segment's */
    uint32_t thread_limit, threads; /* at most; of the running call */
    uint64_t clock, rounds;         /* rounds: of loops, in the running call */
    int64_t bindings_made, bindings_dropped;
    sym_value_t *values; /* of the running call */
    bool *known;         /* of each symbol: its value has been read */
    bool *fixed;         /* of each symbol: a segment that is being bound may use it in sizes */
    void **bases;
    bool *state_is_written; /* of each state storage */
    memory_region_t *regions;
    growable_buffer_t workspace, output;
    insitu_state *logged; /* the running call's state if a snapshot of it is open; else NULL */
    insitu_run_stats stats;
    bool has_run;
};

/* ---- context.c ---- */
/* Until the device has done what the context has queued. */
void context_await(const insitu_context *context);
/* Of the tensor, or of the 0-d tensor that a number is. */
dtype_t output_dtype(const plan_t *plan, const plan_output_t *output);

/* ---- symbols.c ---- */
enum { RANGE_TEXT = 64 };
/* What the range allows, in words: "from 1 to 8"; it has one end at least. */
void print_range(const symbol_t *symbol, char *out, size_t size);
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

/* The operand of an item or a control step, off memory; out_is_number as in read_element. */
MUST_CHECK insitu_status context_read_element(const insitu_context *context, uint32_t step, sym_value_t *out,
                                              bool *out_is_number, insitu_diag *diag);

/* ---- binding.c ---- */
/* The counter's place in the stats. */
int64_t *stats_counter(insitu_run_stats *stats, counter_t counter);
/* False: the sum is too large, and becomes the largest number. */
bool stats_add(insitu_run_stats *stats, counter_t counter, int64_t bytes);
/* The segment's binding for the values that are known, made if it is new; the least recently used one makes room. For
 * the first segment all inputs are checked against it. Errors: SHAPE, ARG (a number differs), ASSERT, UNSUPPORTED,
 * NOMEM. */
MUST_CHECK insitu_status context_find_binding(insitu_context *context, uint32_t segment, binding_t **out_binding,
                                              insitu_diag *diag);
/* Makes the first segment's binding where its sizes depend on no input, so that the first call need not. Whatever else
 * fails is left to the call, which says it. Errors: NOMEM. */
MUST_CHECK insitu_status context_prebind(insitu_context *context);
void binding_destroy(const insitu_context *context, binding_t *binding);
MUST_CHECK insitu_status context_evaluate(const insitu_context *context, sym_t expression, int64_t *out_value,
                                          insitu_diag *diag);
/* All expressions are known. Errors: SHAPE, FORMAT. */
MUST_CHECK insitu_status context_evaluate_layout(const insitu_context *context, const tensor_type_t *type,
                                                 const char *what, const char *name, layout_t *out_layout,
                                                 insitu_diag *diag);

/* Adds what the steps [first, end) count, but those that control steps in between run. */
void context_count(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end);

/* ---- run.c ---- */
/* At least size bytes of the device's memory, never NULL; what was there is lost, save if this fails. */
MUST_CHECK insitu_status memory_grow(const device_t *device, growable_buffer_t *memory, size_t size, insitu_diag *diag);
/* Under INSITU_POISON: memory that no step has written yet. */
MUST_CHECK insitu_status poison(const insitu_context *context, void *memory, size_t size, insitu_diag *diag);

/* ---- outputs.c ---- */
MUST_CHECK insitu_status context_evaluate_output(const insitu_context *context, uint32_t index,
                                                 binding_output_t *out_row, insitu_diag *diag);
/* Outputs that became known with this item step, or before the call (NONE), get sizes, memory, and a base, save those that
 * the first segment's binding holds whole. Errors: SHAPE, BOUNDS, NOMEM. */
MUST_CHECK insitu_status context_resolve_outputs(insitu_context *context, uint32_t item, insitu_diag *diag);
/* The sizes that a bound output must have. Errors: SHAPE. */
MUST_CHECK insitu_status context_check_target(const insitu_context *context, uint32_t index, insitu_diag *diag);
/* Memory for the outputs that are known before the call, and that are not computed where the caller wants them. */
MUST_CHECK insitu_status context_reserve_outputs(insitu_context *context, insitu_diag *diag);
/* Where an OUTPUT storage lies in this call. */
void *context_output_base(const insitu_context *context, uint32_t index);
/* After the last step. Errors: NOMEM, DEVICE. */
MUST_CHECK insitu_status context_finish_output(insitu_context *context, const insitu_state *state, uint32_t index,
                                               insitu_diag *diag);
/* The caller wants some output in host memory that is not the device's. */
bool context_returns_to_host(const insitu_context *context);

/* ---- overlap.c ---- */
/* Refuses memory that one part of the call writes while another uses it. Errors: ARG. */
MUST_CHECK insitu_status context_check_overlap(insitu_context *context, const insitu_state *state, insitu_diag *diag);
/* The most regions that a call has. */
uint32_t context_region_limit(const plan_t *plan);
/* True if the caller bound the output to the very tensor that it is anyway. */
bool output_is_its_alias(const insitu_context *context, const insitu_state *state, uint32_t index);

/* ---- state_writes.c ---- */
/* The writes of a segment that the backend has accepted; they live in the arena. Errors: NOMEM. */
MUST_CHECK insitu_status state_writes_find(const bound_plan_t *bound, arena_t *arena, state_writes_t *out_writes);
/* Saves what the writes replace that can be saved before the step, for which the state's log has room; *bytes counts them.
 * Errors: DEVICE. */
MUST_CHECK insitu_status state_writes_save(const state_writes_t *writes, const insitu_context *context, uint32_t step,
                                           insitu_state *state, int64_t *bytes, insitu_diag *diag);

/* ---- tensors.c ---- */
/* A caller's tensor, and what it must be. */
typedef struct expected_tensor {
    const char *what, *name;
    dtype_t dtype;
    const shape_t *shape;
    const device_t *device; /* in whose memory it lies, */
    bool may_be_host;       /* or in the host's */
} expected_tensor_t;
/* Of its elements, of a tensor whose bytes were found to fit. */
size_t tensor_bytes(const insitu_tensor *tensor);
/* Its dtype and device. Errors: ARG. */
MUST_CHECK insitu_status expect_dtype(const expected_tensor_t *expected, const insitu_tensor *tensor,
                                      insitu_diag *diag);
/* Its place and layout, of a tensor with a good rank and good sizes. Errors: ARG (no data, alignment), SHAPE. */
MUST_CHECK insitu_status tensor_read(const expected_tensor_t *expected, const insitu_tensor *tensor,
                                     bound_tensor_t *out, insitu_diag *diag);
/* Same sizes and same steps from element to element (dimensions of size 1, and empty tensors, step nowhere). */
bool same_strides(uint32_t rank, const int64_t *sizes, const int64_t *a, const int64_t *b);
/* Of an input that the program writes. Errors: SHAPE. */
MUST_CHECK insitu_status check_written_strides(const char *name, const bound_tensor_t *given, const int64_t *expected,
                                               insitu_diag *diag);

#endif
