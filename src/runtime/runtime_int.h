/* runtime, inside: states, contexts, and what a context keeps for each set of sizes that it has seen. */
#ifndef RUNTIME_INT_H
#define RUNTIME_INT_H

#include "core/backend.h"
#include "engine/engine.h"

#include <insitu/context.h>
#include <insitu/module.h>
#include <insitu/state.h>

enum { STATE_ALIGNMENT = 64, PAGE = 4096 };

struct insitu_state {
    const insitu_engine *engine;
    arena arena;
    void **storages;        /* one block for each state storage of the plan */
    insitu_tensor *tensors; /* one for each state name; sizes and strides in the arena */
    uint32_t *busy;         /* 1 while a call or a verb uses the state; touched by state_lock and state_unlock alone */
};

/* Errors: ARG (a call is running on the state). */
MUST_CHECK insitu_status state_lock(const insitu_state *state, insitu_diag *diag);
void state_unlock(const insitu_state *state);

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
    size_t place; /* in the context's output memory */
    sym_value number;
} binding_output;

/* What depends on the symbols' values alone: made once, then found again. */
typedef struct binding {
    arena arena;
    sym_value *values;
    binding_input *inputs;
    binding_output *outputs;
    bound_plan bound;
    void *prepared;
    const backend *backend;
    size_t workspace_bytes, arena_bytes, output_bytes;
    insitu_run_stats totals; /* sums of the steps' counters */
    uint64_t last_used;
} binding;

typedef struct context_output {
    bound_tensor target; /* where the caller wants it */
    insitu_tensor result;
    int64_t sizes[MAX_RANK], strides[MAX_RANK]; /* of result */
} context_output;

typedef struct grown_memory { /* memory of the context that grows with the largest binding */
    uint8_t *data;
    size_t size;
} grown_memory;

typedef struct memory_region { /* bytes that a call touches */
    const uint8_t *start;
    size_t size;
    const char *what, *name;
    bool is_written;
} memory_region;

struct insitu_context {
    const insitu_engine *engine;
    const backend *backend;
    arena arena;
    bound_tensor *inputs;
    context_output *outputs;
    binding *bindings[MAX_SYMBOL_BINDINGS];
    uint32_t binding_count;
    uint64_t clock;
    sym_value *values; /* of the call being prepared */
    bool *known;       /* of each symbol: its input is bound */
    void **bases;
    bool *state_is_written; /* of each state storage */
    memory_region *regions;
    grown_memory intermediate, workspace, output;
    insitu_run_stats stats;
    bool has_run;
};

/* ---- binding.c ---- */
/* Reads the symbols' values off the bound inputs into context->values and known. Errors: SHAPE (out of range). */
MUST_CHECK insitu_status context_read_symbols(insitu_context *context, insitu_diag *diag);
/* The binding for these values, made if it is new; the least recently used one makes room. All inputs are checked
 * against it. Errors: SHAPE, ARG (a number differs), ASSERT, UNSUPPORTED, NOMEM. */
MUST_CHECK insitu_status context_find_binding(insitu_context *context, binding **out_binding, insitu_diag *diag);
void binding_destroy(const insitu_context *context, binding *binding);

/* ---- overlap.c ---- */
/* Refuses memory that one part of the call writes while another uses it. Errors: ARG. */
MUST_CHECK insitu_status context_check_overlap(insitu_context *context, const binding *binding,
                                               const insitu_state *state, insitu_diag *diag);
/* The most regions that a call has. */
uint32_t context_region_limit(const plan *plan);
/* True if the caller bound the output to the very tensor that it is anyway. */
bool output_is_its_alias(const insitu_context *context, const binding *binding, const insitu_state *state,
                         uint32_t index);

/* ---- tensors.c ---- */
void tensor_gather(const insitu_tensor *tensor, void *dense);        /* its elements in row-major order */
void tensor_scatter(const insitu_tensor *tensor, const void *dense); /* the way back */
/* Same sizes and same steps from element to element (dimensions of size 1, and empty tensors, step nowhere). */
bool same_strides(uint32_t rank, const int64_t *sizes, const int64_t *a, const int64_t *b);

#endif
