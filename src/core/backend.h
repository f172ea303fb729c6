/* What the runtime asks of a device. A backend gets a plan whose symbols are bound to numbers, chooses kernels for its
 * steps once (prepare), and then runs it any number of times with different base addresses (run). */
#ifndef BACKEND_H
#define BACKEND_H

#include "core/plan.h"

typedef struct bound_operand {
    uint32_t storage; /* index into the call's base pointers */
    dtype dtype;
    uint32_t rank;
    int64_t sizes[MAX_RANK];
    int64_t strides[MAX_RANK]; /* in elements */
    int64_t offset;            /* in bytes from the base */
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

typedef struct bound_plan {
    const plan *plan;
    const bound_step *steps;
    uint32_t step_count;
    const size_t *storage_bytes; /* of each storage of the plan */
    const size_t *arena_offsets; /* of each ARENA storage, from the arena's base; 0 for others: two ARENA storages may
                                    share bytes when their lifetimes do not meet, which run must order */
} bound_plan;

/* Evaluates all expressions of a verified plan for values of its symbols (plan->symbols.symbol_count of them; those without
 * a source are ignored) and lays out the arena memory. Every operand is checked to lie in its storage. What it makes lives
 * in the arena, and points into the plan. Errors: SHAPE (a number can't be evaluated, or is negative), FORMAT (an operand
 * reaches beyond its storage), NOMEM. */
MUST_CHECK insitu_status plan_bind(const plan *plan, const sym_value *values, arena *arena, bound_plan *out_bound,
                                   size_t *out_arena_bytes, insitu_diag *diag);
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
/* Row-major strides; a dimension of size 0 counts as 1. */
void dense_strides(uint32_t rank, const int64_t *sizes, int64_t *out_strides);

typedef struct backend_call {
    void *const *bases; /* address of each storage of the plan; NULL for one that no step uses */
    void *workspace;    /* as many bytes as prepare asked for, aligned to 64 */
} backend_call;

typedef struct backend {
    const char *name; /* "cpu" */
    /* Chooses kernels and lays out the run. What it makes lives in the arena and never in anything global; it keeps
     * pointers into bound, which must live as long.
     * Errors: UNSUPPORTED (no kernel takes a step: names layer, dtypes, shapes, and each refusal's reason), NOMEM. */
    insitu_status (*prepare)(const bound_plan *bound, arena *arena, void **out_prepared, size_t *out_workspace_bytes,
                             insitu_diag *diag);
    /* Runs all steps. On BOUNDS nothing was written to states or inputs. Allocates nothing. May be called by several
     * threads at once with different bases and workspaces. */
    insitu_status (*run)(const void *prepared, const backend_call *call, insitu_diag *diag);
    /* Gives back what a library made for it (oneDNN's primitives); the rest goes with the arena. NULL allowed. */
    void (*release)(void *prepared);
} backend;

const backend *backend_cpu(void);

#endif
