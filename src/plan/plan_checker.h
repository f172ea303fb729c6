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
    plan *plan;
    arena scratch;
    text faults;
    uint32_t fault_count;
    char where[192];  /* what is being checked */
    plan_facts facts; /* what the plan's should be */
    /* As facts.ready, for sizes, which must not use a symbol that is not in_sizes. */
    uint32_t *size_ready;
    bool *storage_is_good; /* of each storage: its own row has no fault */
} plan_checker;

void fault(plan_checker *checker, const char *format, ...) PRINTF_LIKE(2, 3);
/* What the faults that follow are about. */
void fault_at(plan_checker *checker, const char *format, ...) PRINTF_LIKE(2, 3);

bool check_sym(plan_checker *checker, sym value, const char *what);
/* An integer expression; a constant one is at least lowest. */
bool check_int(plan_checker *checker, sym value, int64_t lowest, const char *what);
/* The expression has passed check_sym. limit: the first step that needs its value. */
void check_known(plan_checker *checker, const uint32_t *ready, sym value, uint32_t limit, const char *what);
bool check_type(plan_checker *checker, const tensor_type *type, const char *what);
bool check_operand(plan_checker *checker, const plan_operand *operand, const char *what);

/* Every field of every row by itself; of one row. */
void check_rows(plan_checker *checker);
void check_fields(plan_checker *checker, const plan_struct *fields, const void *row);
insitu_status check_steps(plan_checker *checker);
/* Control steps, once the steps are good by themselves (plan_verify_control.c). */
insitu_status check_control(plan_checker *checker);

static inline const char *shown(const char *name) { return name ? name : "?"; }

#endif
