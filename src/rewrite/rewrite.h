/* rewrite: network -> network, for the plan's sake: what always helps (network_normalise), and what is tried. */
#ifndef REWRITE_H
#define REWRITE_H

#include "network/network_edit.h"
#include "planner/planner.h"

/* What the caller asked of inputs and states, before the network is rewritten.
 * Each of the caller's mutated inputs becomes an output, or an output is written into it. The names of new outputs are
 * copied. Errors: ARG (a name or an index; a dtype), SHAPE; sentences name the input and the output. */
struct insitu_mutated_input;
MUST_CHECK insitu_status network_alias_outputs(network_t *network, const struct insitu_mutated_input *given,
                                               uint32_t count, insitu_diag *diag);
/* States become inputs after the others, "buf_" and the name with "_" for dots; a buffer of the input's name holds the
 * initial value, if that isn't zeros. A state that is not written stays behind as a constant. Errors: ARG (a size that
 * nothing tells any more). */
MUST_CHECK insitu_status network_lift_states(network_t *network, insitu_diag *diag);
/* States become constants, and what is written to them is dropped: each call begins with the initial values. Errors: as
 * network_lift_states. */
MUST_CHECK insitu_status network_freeze_states(network_t *network, insitu_diag *diag);

/* index, index_update at known positions -> slices */
MUST_CHECK insitu_status network_recognise_runs(network_t *network, insitu_diag *diag);
/* where, by a mask that is a stretch of one dimension -> slice_update */
MUST_CHECK insitu_status network_recognise_masks(network_t *network, insitu_diag *diag);
/* slice(expand(x)), along a dimension that repeats -> expand(x), reshape(x) */
MUST_CHECK insitu_status network_slice_expands(network_t *network, insitu_diag *diag);
/* slice_update(x, slice(x)) of one part -> reshape(x) */
MUST_CHECK insitu_status network_view_no_op_updates(network_t *network, insitu_diag *diag);
/* concat(slice(x), s), where x is computed in the state's memory -> shift_update(x, s) */
MUST_CHECK insitu_status network_shift_results(network_t *network, insitu_diag *diag);
/* A state's new value that is a part of a computed one -> that part computed by itself */
MUST_CHECK insitu_status network_sink_partial_views(network_t *network, insitu_diag *diag);
/* slice_update(x, flip(slice(x))), of parts that meet -> what is exchanged, and the rest */
MUST_CHECK insitu_status network_split_flips(network_t *network, insitu_diag *diag);
/* slice(concat(x, s)) -> shift_update */
MUST_CHECK insitu_status network_recognise_shifts(network_t *network, insitu_diag *diag);
/* Layers that nothing reads -> none */
MUST_CHECK insitu_status network_remove_dead(network_t *network, insitu_diag *diag);
/* All of these: what always helps. */
MUST_CHECK insitu_status network_normalise(network_t *network, insitu_diag *diag);
/* The value that ends in place of start, from what its memory is given piece by piece. *out_changed false: some of it is not
 * known piece by piece. */
MUST_CHECK insitu_status network_rewrite_as_updates(network_t *network, tensor_id_t start, tensor_id_t next,
                                                    bool *out_changed, insitu_diag *diag);
/* Readers of a state that the program copies for a result -> readers of that copy */
MUST_CHECK insitu_status network_reuse_copies(network_t *network, bool *out_changed, insitu_diag *diag);
/* concat(state, x) -> concat(copy(state), x) */
MUST_CHECK insitu_status network_own_parts(network_t *network, bool *out_changed, insitu_diag *diag);
/* elementwise(slice_update(state, s)) -> slice_update(elementwise(state), elementwise(s)) */
MUST_CHECK insitu_status network_sink_updates(network_t *network, bool *out_changed, insitu_diag *diag);
/* Layers whose operands are constants are evaluated by run (a backend behind a function); states never are constants.
 * A layer stays as it is where its result is larger, it alone takes more work, or all take more together. */
typedef struct fold_limits {
    size_t bytes;       /* of a result */
    double work, total; /* elements read, computed with and written: of a layer, of all */
} fold_limits_t;
typedef insitu_status (*network_evaluate_fn)(void *user, const network_t *network, layer_id_t layer, void *out_bytes,
                                             size_t size, insitu_diag *diag);
MUST_CHECK insitu_status network_fold_constants(network_t *network, network_evaluate_fn run, void *user,
                                                const fold_limits_t *limits, insitu_diag *diag);
/* Elements that the layer reads, computes with and writes, at most; not finite where a size is no constant
 * (layer_cost.c). */
double layer_cost(const network_t *network, const layer_t *layer);

/* The best plan of the network as it is: over the orders of final values (search.c). options' order is not used; its search may
 * be NULL: this one's own. */
MUST_CHECK insitu_status plan_build(network_t *network, const plan_options_t *options, plan_t **out_plan,
                                    insitu_diag *diag);
/* Rewrites the network and plans it. evaluate: of one layer, by a backend. strict: an error if anything is copied. */
MUST_CHECK insitu_status rewrite_and_plan(network_t *network, network_evaluate_fn evaluate,
                                          const plan_options_t *options, bool strict, plan_t **out_plan,
                                          insitu_diag *diag);

#endif
