/* plan: network -> plan. Schedule, alias analysis, bufferization, memory. */
#ifndef PLAN_ROOM_H
#define PLAN_ROOM_H

#include "network/network.h"

/* What the search for a plan may cost, in steps of its own, so that a plan is the same on every machine. It is linear in the
 * size of the network; once it is spent, the best plan so far stands. */
typedef struct plan_search {
    uint64_t most, spent, last; /* last: what the last plan cost */
    bool is_cut;                /* something was not tried for it */
} plan_search;
plan_search plan_search_for(const network *network);
typedef struct plan_options {
    bool no_inplace;     /* every update copies */
    plan_search *search; /* shared by several plans; NULL: this one's own */
} plan_options;
MUST_CHECK insitu_status plan_build(network *network, const plan_options *options, plan **out_plan, insitu_diag *diag);
/* Of all states; INT64_MAX if that depends on symbols. */
int64_t plan_copied_bytes(const plan *plan);
/* Says in the report that what is copied might be avoidable: the search was cut. */
MUST_CHECK insitu_status plan_note_cut(plan *plan);
/* Errors: UNSUPPORTED where state is copied, with the state and the reason. */
MUST_CHECK insitu_status plan_require_in_place(const plan *plan, insitu_diag *diag);

#endif
