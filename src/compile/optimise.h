/* network -> plan, with all that rewriting a network can do for its states. */
#ifndef OPTIMISE_H
#define OPTIMISE_H

#include "plan/plan.h"

/* Rewrites the network and plans it. strict: an error if anything is copied. */
MUST_CHECK insitu_status compile_plan(network *network, const plan_options *options, bool strict, plan **out_plan,
                                      insitu_diag *diag);

#endif
