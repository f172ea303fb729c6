/* planner: network -> plan. Schedule, alias analysis, bufferization, memory. */
#ifndef PLANNER_H
#define PLANNER_H

#include "network/network.h"
#include "plan/plan.h"

/* What the search for a plan may cost, in steps of its own, so that a plan is the same on every machine. It is linear in the
 * size of the network; once it is spent, the best plan so far stands. */
typedef struct plan_search {
    uint64_t most, spent, last; /* last: what the last plan cost */
    bool is_cut;                /* something was not tried for it */
} plan_search_t;
plan_search_t plan_search_for(const network_t *network);
typedef enum region_rule { /* steps that another plan's control step runs, which undoes what they have written */
                           REGION_NONE,
                           REGION_CHECKS_FIRST, /* but checks come before writes where they can */
                           REGION_CHECKS_ANYWHERE
} region_rule_t;
typedef struct plan_options {
    bool no_inplace; /* every update copies */
    region_rule_t region;
    uint32_t order;        /* in which the states' new values are placed: less than plan_order_count; 0: by bytes */
    plan_search_t *search; /* shared by several plans */
} plan_options_t;
/* The plan in that order. What search allows is spent there. Errors: UNSUPPORTED (a value can't be placed), NOMEM. */
MUST_CHECK insitu_status plan_network(network_t *network, const plan_options_t *options, plan_t **out_plan,
                                      insitu_diag *diag);
/* Orders that are worth a plan (final_order.c). */
uint32_t plan_order_count(const network_t *network, const plan_options_t *options);
/* Says in the report that what is copied might be avoidable: the search was cut. */
MUST_CHECK insitu_status plan_note_cut(plan_t *plan);
/* Errors: UNSUPPORTED where state is copied, with the state and the reason. */
MUST_CHECK insitu_status plan_require_in_place(const plan_t *plan, insitu_diag *diag);

#endif
