/* What the runtime asks of a device. A backend gets a plan whose symbols are bound to numbers, chooses kernels for its
 * steps once (prepare), and then runs it any number of times with different base addresses (run). */
#ifndef BACKEND_H
#define BACKEND_H

#include "plan/plan.h"

typedef struct bound_operand {
    uint32_t storage; /* index into the call's base pointers */
    dtype dtype;
    uint32_t rank;
    int64_t sizes[MAX_RANK];
    int64_t strides[MAX_RANK]; /* in elements */
    int64_t offset;            /* in bytes from the base */
    bool moves;                /* offset is set during the call (plan_patch): any place in the storage */
} bound_operand;

typedef struct bound_attr { /* an attribute with its expressions evaluated */
    attr_kind kind;
    sym_value value;
    const int64_t *items; /* SYMS */
    uint32_t count;
    dtype dtype;
    op_kind op;
} bound_attr;

typedef struct bound_step {
    const plan_step *step;
    const bound_operand *results, *operands;
    const bound_attr *attrs; /* one for each attribute row of the layer kind */
    uint32_t result_count, operand_count;
    int64_t extent; /* CHECK_INDEX */
} bound_step;

/* A number that depends on a symbol which an item step reads, and which no size uses: evaluated during the call. */
typedef struct bound_patch {
    sym expression;
    enum { PATCH_OFFSET, PATCH_ATTR, PATCH_EXTENT } kind;
    union {
        bound_operand *operand; /* OFFSET: expression is in elements */
        sym_value *number;
        int64_t *extent;
    };
    const char *name; /* of the step, for errors */
} bound_patch;

typedef struct bound_plan { /* a segment of a plan, or its restores, with numbers for its symbols */
    const plan *plan;
    const bound_step *steps;
    uint32_t first_step,
        step_count; /* steps[i] is the plan's step first_step + i (of restores: its restore first_step + i) */
    bound_patch *patches;
    uint32_t patch_count;
    const size_t *storage_bytes; /* of each storage of the plan */
    const size_t *arena_offsets; /* of each ARENA storage, in its segment's memory; 0 for others: two ARENA storages of
                                    one segment may share bytes when their lifetimes do not meet, which run must order */
} bound_plan;

/* Evaluates the expressions of a verified plan's segment for values of its symbols (plan->symbols.symbol_count of them;
 * known[symbol] tells which) and lays out the arena memory of the storages that belong to the segment. A symbol that is not
 * known and that no size uses is left to plan_patch. Every operand is checked to lie in its storage. What it makes lives in
 * the arena, and points into the plan. earlier: the bound segments before this one, whose storages it may use (NULL for
 * segment 0). Errors: SHAPE (a number can't be evaluated, or is negative), FORMAT (an operand reaches beyond its storage),
 * NOMEM. */
MUST_CHECK insitu_status plan_bind(const plan *plan, uint32_t segment, const bound_plan *earlier,
                                   const sym_value *values, const bool *known, arena *arena, bound_plan *out_bound,
                                   size_t *out_arena_bytes, insitu_diag *diag);
/* The restores of the segment's saves in the same way; bound_segment: the segment itself, bound. */
MUST_CHECK insitu_status plan_bind_restores(const plan *plan, uint32_t segment, const bound_plan *bound_segment,
                                            const sym_value *values, const bool *known, arena *arena,
                                            bound_plan *out_bound, insitu_diag *diag);
/* Sets what depends on symbols that are known now. Errors: BOUNDS (a place outside its storage), SHAPE. */
MUST_CHECK insitu_status plan_patch(const bound_plan *bound, const sym_value *values, const bool *known,
                                    insitu_diag *diag);
/* One attribute; bound[symbol] tells whether values[symbol] is known. Errors: SHAPE, NOMEM. */
MUST_CHECK insitu_status attr_bind(const sym_pool *pool, const attr *attr, const sym_value *values, const bool *bound,
                                   arena *arena, bound_attr *out_attr, insitu_diag *diag);
/* Bytes from the storage's start to the end of a strided tensor's last element (strides and offset in elements); 0 if it
 * has no elements. False on a negative number, or on overflow of this or of the bytes of all elements. */
bool extent_bytes(dtype type, uint32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                  size_t *out_bytes);
enum { ARENA_ALIGNMENT = 64 };
/* Copies a tensor's elements between two strided places that do not overlap; strides in elements. */
void strided_copy(dtype type, uint32_t rank, const int64_t *sizes, void *target, const int64_t *target_strides,
                  const void *source, const int64_t *source_strides);

typedef struct backend_call {
    void *const *bases;   /* address of each storage of the plan; NULL for one that no step uses */
    void *workspace;      /* as many bytes as prepare asked for, aligned to 64 */
    uint32_t first, end;  /* the steps to run, numbered as bound_plan numbers them */
    uint32_t *out_failed; /* on failure: the step that failed; NULL allowed */
} backend_call;

typedef struct backend {
    const char *name; /* "cpu" */
    /* A kernel that runs on every machine takes the step's layer with these dtypes. */
    bool (*takes)(const plan_step *step);
    /* Threads that its owner may use, of what does not change from call to call (a quota of the CPU). */
    uint32_t (*thread_limit)(void);
    /* How many threads a call from the calling thread can have now, at most limit; at least 1. */
    uint32_t (*threads)(uint32_t limit);
    /* Chooses kernels for calls of so many threads, and lays out the run. What it makes lives in the arena and never in anything global; it keeps
     * pointers into bound, which must live as long.
     * Errors: UNSUPPORTED (no kernel takes a step: names layer, dtypes, shapes, and each refusal's reason), NOMEM. */
    insitu_status (*prepare)(const bound_plan *bound, uint32_t threads, arena *arena, void **out_prepared,
                             size_t *out_workspace_bytes, insitu_diag *diag);
    /* True if a call from the calling thread would have the threads without which run goes wrong. It is asked before run;
     * a program that was prepared for one thread always has it. */
    bool (*has_threads)(const void *prepared);
    /* Runs the call's steps; an item step does nothing here, its value is the runtime's to read between runs. After a
     * failed check no later step has written a state or an input. Allocates nothing. May be called by several threads at
     * once with different bases and workspaces, save that plan_patch must not run meanwhile. */
    insitu_status (*run)(const void *prepared, const backend_call *call, insitu_diag *diag);
    /* Gives back what a library made for it (oneDNN's primitives); the rest goes with the arena. NULL allowed. */
    void (*release)(void *prepared);
} backend;

const backend *backend_cpu(void);

#endif
