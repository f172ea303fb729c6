/* Bound plans built by hand: storages with guard bytes around them, steps, attributes; for tests of kernels and of the
 * executor. */
#ifndef STEPS_H
#define STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/cpu/program.h"

enum { STEPS_STORAGES = 64, STEPS_STEPS = 64, STEPS_OPERANDS = 6, STEPS_GUARD = 64 };

typedef struct steps {
    arena_t arena;
    plan_t plan;
    bound_plan_t bound;
    plan_storage_t storages[STEPS_STORAGES];
    size_t storage_bytes[STEPS_STORAGES], arena_offsets[STEPS_STORAGES];
    char *memory[STEPS_STORAGES]; /* of each storage, guard bytes in front and behind */
    void *bases[STEPS_STORAGES];
    plan_step_t plan_steps[STEPS_STEPS];
    bound_step_t bound_steps[STEPS_STEPS];
    void *prepared, *workspace;
} steps_t;

void steps_init(steps_t *steps);
void steps_release(steps_t *steps);
/* A storage of the kind with `bytes` bytes, filled with 0xa5. */
uint32_t steps_storage(steps_t *steps, storage_kind_t kind, size_t bytes);
/* A dense operand in a new storage of its own. */
bound_operand_t steps_tensor(steps_t *steps, storage_kind_t kind, dtype_t type, uint32_t rank, const int64_t *sizes);
/* The same; its memory is filled with `count` numbers, cast to the dtype. */
bound_operand_t steps_values(steps_t *steps, storage_kind_t kind, dtype_t type, uint32_t rank, const int64_t *sizes,
                             const double *values);
void *steps_data(steps_t *steps, const bound_operand_t *operand);
/* Reads an element by row-major position. */
double steps_get(steps_t *steps, const bound_operand_t *operand, int64_t position);

/* Appends a step; attributes are added to it next. */
bound_step_t *steps_add(steps_t *steps, layer_kind_t layer, const bound_operand_t *results, uint32_t result_count,
                        const bound_operand_t *operands, uint32_t operand_count);
bound_step_t *steps_check(steps_t *steps, bound_operand_t index, int64_t extent, bool wrap);
void step_int(bound_step_t *step, attr_id_t id, int64_t value);
void step_real(bound_step_t *step, attr_id_t id, double value);
void step_op(bound_step_t *step, op_kind_t op);
void step_dtype(bound_step_t *step, dtype_t type);
void step_list(steps_t *steps, bound_step_t *step, attr_id_t id, uint32_t count, const int64_t *items);

/* Prepares for so many threads; run runs the prepared steps. */
insitu_status steps_prepare(steps_t *steps, uint32_t threads, insitu_diag *diag);
insitu_status steps_run(steps_t *steps, insitu_diag *diag);
/* Calls one row on one step as so many threads would, one after another. False: its library declines the step. */
bool step_run_row(steps_t *steps, const bound_step_t *step, const kernel_row_t *row, uint32_t threads);
/* The reference row that takes the step; fails the test if none does. */
const kernel_row_t *step_reference(const bound_step_t *step);
/* Runs the last step by its reference row on one thread. */
void steps_run_reference(steps_t *steps);
void steps_assert_guards(const steps_t *steps);

/* Asserts the elements of operand, in row-major order; NaN equals NaN. */
void steps_assert_values(steps_t *steps, const bound_operand_t *operand, const double *expected, int64_t count,
                         double tolerance);

#define SIZES(...) ((const int64_t[]){__VA_ARGS__})
#define VALUES(...) ((const double[]){__VA_ARGS__})
#define ASSERT_VALUES(steps, operand, ...)                                                                             \
    steps_assert_values(steps, &(operand), VALUES(__VA_ARGS__), COUNT_OF(VALUES(__VA_ARGS__)), 1e-6)

#endif
