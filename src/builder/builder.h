/* builder: the public functions that make networks (insitu/network.h, insitu/layers.h). */
#ifndef BUILDER_H
#define BUILDER_H

#include "network/network.h"

/* The public builder's handle. */
struct insitu_network {
    network_t *network;
    file_map_t *map; /* in which records of an imported program lie; NULL: none */
};
/* Takes the network over, also if this fails; the map is retained. */
MUST_CHECK insitu_status builder_wrap(network_t *network, file_map_t *map, struct insitu_network **out_network);

#endif
