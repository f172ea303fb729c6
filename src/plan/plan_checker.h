/* plan, inside: what the plan verifier's files share. plan_verify_rows.c checks fields by themselves, plan_verify.c the tables,
 * plan_verify_steps.c the steps, plan_verify_control.c what control steps run.
 *
 * A check reports a fault (there may be many) and goes on; the functions that return bool tell whether what they looked at
 * may be followed. */
#ifndef PLAN_CHECKER_H
#define PLAN_CHECKER_H

#include "plan/bound_plan.h"
#include "plan/plan_fields.h"

typedef struct plan_checker {
    plan_t *plan;
    arena_t scratch;
    text_t faults;
    uint32_t fault_count;
    char where[192];    /* what is being checked */
    plan_facts_t facts; /* what the plan's should be */
    /* As facts.ready, for sizes, which must not use a symbol that is not in_sizes. */
    uint32_t *size_ready;
    bool *storage_is_good; /* of each storage: its own row has no fault */
} plan_checker_t;

void fault(plan_checker_t *checker, const char *format, ...) PRINTF_LIKE(2, 3);
/* What the faults that follow are about. */
void fault_at(plan_checker_t *checker, const char *format, ...) PRINTF_LIKE(2, 3);

bool check_sym(plan_checker_t *checker, sym_t value, const char *what);
/* An integer expression; a constant one is at least lowest. */
bool check_int(plan_checker_t *checker, sym_t value, int64_t lowest, const char *what);
/* The expression has passed check_sym. limit: the first step that needs its value. */
void check_known(plan_checker_t *checker, const uint32_t *ready, sym_t value, uint32_t limit, const char *what);
bool check_type(plan_checker_t *checker, const tensor_type_t *type, const char *what);
bool check_operand(plan_checker_t *checker, const plan_operand_t *operand, const char *what);

/* Every field of every row by itself; of one row. */
void check_rows(plan_checker_t *checker);
void check_fields(plan_checker_t *checker, const plan_struct_t *fields, const void *row);
insitu_status check_steps(plan_checker_t *checker);
/* Control steps, once the steps are good by themselves (plan_verify_control.c). */
insitu_status check_control(plan_checker_t *checker);

static inline const char *shown(const char *name) { return name ? name : "?"; }

#endif
