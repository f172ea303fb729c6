/* Small random networks of views, updates, copies, concats and elementwise layers over f32 states and inputs, some of which
 * the network mutates. A seed gives the same network everywhere. Not thread-safe. */
#ifndef RANDOM_NETWORK_H
#define RANDOM_NETWORK_H

#include "network/network_edit.h"

enum { RANDOM_MAX_ELEMENTS = 256 }; /* tensors grow beyond that only by a few concats */

void random_seed(uint64_t seed);
uint32_t random_below(uint32_t limit); /* the next number, in [0, limit) */
/* Seeds the numbers and makes a network of them: 1 to 3 states, 1 or 2 inputs, 2 to 11 layers and what those ask for. The
 * caller destroys it. Layers that nothing reads are not removed. */
network_t *random_network(uint64_t seed);
/* The same with tensors of one shape, old and new values read late, parts of one tensor stored into another, reductions over
 * all elements, and final values that are each other's: much of what they copy can't be avoided. */
network_t *random_crossed_network(uint64_t seed);
/* Sizes of a tensor, all of which are constant in such a network. */
int64_t size_of(const network_t *network, tensor_id_t tensor, uint32_t dim);
uint32_t rank_of(const network_t *network, tensor_id_t tensor);
int64_t numel_of(const network_t *network, tensor_id_t tensor);

#endif
