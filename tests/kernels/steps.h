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
    arena arena;
    plan plan;
    bound_plan bound;
    plan_storage storages[STEPS_STORAGES];
    size_t storage_bytes[STEPS_STORAGES], arena_offsets[STEPS_STORAGES];
    char *memory[STEPS_STORAGES]; /* of each storage, guard bytes in front and behind */
    void *bases[STEPS_STORAGES];
    plan_step plan_steps[STEPS_STEPS];
    bound_step bound_steps[STEPS_STEPS];
    void *prepared, *workspace;
} steps;

void steps_init(steps *steps);
void steps_release(steps *steps);
/* A storage of the kind with `bytes` bytes, filled with 0xa5. */
uint32_t steps_storage(steps *steps, storage_kind kind, size_t bytes);
/* A dense operand in a new storage of its own. */
bound_operand steps_tensor(steps *steps, storage_kind kind, dtype type, uint32_t rank, const int64_t *sizes);
/* The same; its memory is filled with `count` numbers, cast to the dtype. */
bound_operand steps_values(steps *steps, storage_kind kind, dtype type, uint32_t rank, const int64_t *sizes,
                           const double *values);
void *steps_data(steps *steps, const bound_operand *operand);
/* Reads an element by row-major position. */
double steps_get(steps *steps, const bound_operand *operand, int64_t position);

/* Appends a step; attributes are added to it next. */
bound_step *steps_add(steps *steps, layer_kind layer, const bound_operand *results, uint32_t result_count,
                      const bound_operand *operands, uint32_t operand_count);
bound_step *steps_check(steps *steps, bound_operand index, int64_t extent, bool wrap);
void step_int(bound_step *step, attr_id id, int64_t value);
void step_real(bound_step *step, attr_id id, double value);
void step_op(bound_step *step, op_kind op);
void step_dtype(bound_step *step, dtype type);
void step_list(steps *steps, bound_step *step, attr_id id, uint32_t count, const int64_t *items);

/* Prepares for so many threads; run runs the prepared steps. */
insitu_status steps_prepare(steps *steps, uint32_t threads, insitu_diag *diag);
insitu_status steps_run(steps *steps, insitu_diag *diag);
/* Calls one row on one step as so many threads would, one after another. False: its library declines the step. */
bool step_run_row(steps *steps, const bound_step *step, const kernel_row *row, uint32_t threads);
/* The reference row that takes the step; fails the test if none does. */
const kernel_row *step_reference(const bound_step *step);
/* Runs the last step by its reference row on one thread. */
void steps_run_reference(steps *steps);
void steps_assert_guards(const steps *steps);

/* Asserts the elements of operand, in row-major order; NaN equals NaN. */
void steps_assert_values(steps *steps, const bound_operand *operand, const double *expected, int64_t count,
                         double tolerance);

#define SIZES(...) ((const int64_t[]){__VA_ARGS__})
#define VALUES(...) ((const double[]){__VA_ARGS__})
#define ASSERT_VALUES(steps, operand, ...)                                                                             \
    steps_assert_values(steps, &(operand), VALUES(__VA_ARGS__), COUNT_OF(VALUES(__VA_ARGS__)), 1e-6)

#endif
