/* convert: graph -> network. One CONVERT of graph/operators.def an operator, one convert_*.c a family. */
#ifndef CONVERT_H
#define CONVERT_H

#include "network/network.h"

/* From a functional graph (after the passes). All unsupported operators are listed in diag's rows (UNSUPPORTED). */
struct graph;
/* strict_bounds: a slice write that asks for rows which its tensor does not have fails, here or in the call (BOUNDS). */
MUST_CHECK insitu_status network_convert(const struct graph *graph, bool strict_bounds, network_t **out_network,
                                         insitu_diag *diag);

#endif
