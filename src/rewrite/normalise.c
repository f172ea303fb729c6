/* The rewritings that always help, in the order in which each finds what the ones before it leave;
 * in regions too. */
#include "rewrite/rewrite.h"

insitu_status network_normalise(network_t *network, insitu_diag *diag) {
    TRY(network_recognise_runs(network, diag));
    TRY(network_recognise_masks(network, diag));
    TRY(network_slice_expands(network, diag));
    TRY(network_view_no_op_updates(network, diag));
    TRY(network_shift_results(network, diag));
    TRY(network_sink_partial_views(network, diag));
    TRY(network_split_flips(network, diag));
    TRY(network_recognise_shifts(network, diag));
    for (uint32_t i = 0; i < network->region_count; i++) TRY(network_normalise(network->regions[i], diag));
    return network_remove_dead(network, diag);
}
