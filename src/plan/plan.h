/* plan: network -> plan. Schedule, alias analysis, bufferization, memory. */
#ifndef PLAN_ROOM_H
#define PLAN_ROOM_H

#include "network/network.h"

typedef struct plan_options {
    bool no_inplace; /* every update copies */
} plan_options;
MUST_CHECK insitu_status plan_build(network *network, const plan_options *options, plan **out_plan, insitu_diag *diag);
/* Of all states; INT64_MAX if that depends on symbols. */
int64_t plan_copied_bytes(const plan *plan);
/* Errors: UNSUPPORTED where state is copied, with the state and the reason. */
MUST_CHECK insitu_status plan_require_in_place(const plan *plan, insitu_diag *diag);

#endif
