/* The arithmetic of constant folding. */
#ifndef EVALUATE_LAYER_H
#define EVALUATE_LAYER_H

#include "rewrite/rewrite.h"

/* A network_evaluate_fn: runs one layer whose operands are constants on the CPU, by a plan of its own. */
insitu_status evaluate_layer(void *user, const network_t *network, layer_id_t layer, void *out_bytes, size_t size,
                             insitu_diag *diag);

#endif
