/* Mutations that know the form of an input, for libFuzzer. Each returns the new size, at most limit; 0: no luck. */
#ifndef MUTATE_H
#define MUTATE_H

#include "base/base.h"

/* libFuzzer's own. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t limit);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed);

static inline uint32_t mutate_random(uint32_t *state, uint32_t below) { /* xorshift; below > 0 */
    uint32_t x = *state ? *state : 1;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x % below;
}

/* JSON: parts are moved, doubled, removed, or get values of other parts. Its bytes where it is not JSON. */
size_t mutate_json(uint8_t *data, size_t size, size_t limit, uint32_t *random);

#endif
