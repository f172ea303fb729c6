/* A plan whose symbols are bound to numbers: what a device prepares and runs. */
#ifndef BOUND_PLAN_H
#define BOUND_PLAN_H

#include "plan/plan.h"

typedef struct bound_operand {
    uint32_t storage; /* index into the call's base pointers */
    dtype_t dtype;
    uint32_t rank;
    int64_t sizes[MAX_RANK];
    int64_t strides[MAX_RANK]; /* in elements */
    int64_t offset;            /* in bytes from the base */
    bool moves;                /* offset is set during the call (plan_patch): any place in the storage */
} bound_operand_t;

typedef struct bound_attr { /* an attribute with its expressions evaluated */
    attr_kind_t kind;
    sym_value_t value;
    const int64_t *items; /* SYMS */
    uint32_t count;
    dtype_t dtype;
    op_kind_t op;
} bound_attr_t;

typedef struct bound_step {
    const plan_step_t *step;
    const bound_operand_t *results, *operands;
    const bound_attr_t *attrs; /* one for each attribute row of the layer kind */
    uint32_t result_count, operand_count;
    int64_t extent; /* CHECK_INDEX */
} bound_step_t;

/* A number that depends on a symbol which an item step reads, and which no size uses: evaluated during the call. */
typedef struct bound_patch {
    sym_t expression;
    enum { PATCH_OFFSET, PATCH_ATTR, PATCH_EXTENT } kind;
    union {
        bound_operand_t *operand; /* OFFSET: expression is in elements */
        sym_value_t *number;
        int64_t *extent;
    };
    const char *name; /* of the step, for errors */
} bound_patch_t;

/* Steps [first, end) that one kernel runs. */
typedef struct plan_group {
    uint32_t first, end;
} plan_group_t;

typedef struct bound_plan { /* a segment of a plan, or its restores, with numbers for its symbols */
    const plan_t *plan;
    const bound_step_t *steps;
    uint32_t first_step,
        step_count; /* steps[i] is the plan's step first_step + i (of restores: its restore first_step + i) */
    bound_patch_t *patches;
    uint32_t patch_count;
    const size_t *storage_bytes; /* of each storage of the plan */
    const plan_group_t *groups;  /* ascending; steps of none are alone (plan_lay_out) */
    uint32_t group_count;
    const size_t
        *arena_offsets; /* of each ARENA storage, in its segment's memory; NO_PLACE if it lives inside a group; 0 for
                                    others: two ARENA storages of one segment may share bytes when their lifetimes do not
                                    meet, which run must order */
} bound_plan_t;

#define NO_PLACE SIZE_MAX

/* Evaluates the expressions of a verified plan's segment for values of its symbols (plan->symbols.symbol_count of them;
 * known[symbol] tells which). A symbol that is not known and that no size uses is left to plan_patch. Every operand is checked to lie in its storage. What it makes lives in
 * the arena, and points into the plan. earlier: the bound segments before this one, whose storages it may use (NULL for
 * segment 0). Errors: SHAPE (a number can't be evaluated, or is negative), FORMAT (an operand reaches beyond its storage),
 * NOMEM. */
MUST_CHECK insitu_status plan_bind(const plan_t *plan, uint32_t segment, const bound_plan_t *earlier,
                                   const sym_value_t *values, const bool *known, arena_t *arena,
                                   bound_plan_t *out_bound, insitu_diag *diag);
/* Lays out the arena memory of the storages that belong to the bound segment: none for one that only steps of one group use.
 * The groups, which a device has chosen, are kept. Errors: INTERNAL (groups that are none, or hold a stop), NOMEM. */
MUST_CHECK insitu_status plan_lay_out(bound_plan_t *bound, uint32_t segment, const plan_group_t *groups, uint32_t count,
                                      arena_t *arena, size_t *out_arena_bytes, insitu_diag *diag);
/* The group that the step is in; steps of none are groups of their own. */
plan_group_t plan_group_of(const bound_plan_t *bound, uint32_t step);
/* The restores of the segment's saves in the same way; bound_segment: the segment itself, bound. */
MUST_CHECK insitu_status plan_bind_restores(const plan_t *plan, uint32_t segment, const bound_plan_t *bound_segment,
                                            const sym_value_t *values, const bool *known, arena_t *arena,
                                            bound_plan_t *out_bound, insitu_diag *diag);
/* Sets what depends on symbols that are known now. Errors: BOUNDS (a place outside its storage), SHAPE. */
MUST_CHECK insitu_status plan_patch(const bound_plan_t *bound, const sym_value_t *values, const bool *known,
                                    insitu_diag *diag);
/* One attribute; bound[symbol] tells whether values[symbol] is known. Errors: SHAPE, NOMEM. */
MUST_CHECK insitu_status attr_bind(const sym_pool_t *pool, const attr_t *attr, const sym_value_t *values,
                                   const bool *bound, arena_t *arena, bound_attr_t *out_attr, insitu_diag *diag);
/* Bytes from the storage's start to the end of a strided tensor's last element (strides and offset in elements); 0 if it
 * has no elements. False on a negative number, or on overflow of this or of the bytes of all elements. */
bool extent_bytes(dtype_t type, uint32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                  size_t *out_bytes);
enum { ARENA_ALIGNMENT = 64 };
/* Copies a tensor's elements between two strided places that do not overlap; strides in elements. */
void strided_copy(dtype_t type, uint32_t rank, const int64_t *sizes, void *target, const int64_t *target_strides,
                  const void *source, const int64_t *source_strides);
/* The same of items of any size; steps in bytes. */
void strided_copy_bytes(size_t item_size, uint32_t rank, const int64_t *sizes, void *target,
                        const int64_t *target_steps, const void *source, const int64_t *source_steps);
/* Strides in bytes. */
void byte_steps(dtype_t type, uint32_t rank, const int64_t *strides, int64_t *out_steps);

#endif
