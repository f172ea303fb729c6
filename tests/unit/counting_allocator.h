/* An allocator for base/'s hooks that counts calls and live blocks, keeps the largest size, and fails one call on request:
 *
 *     allocation_count count = {.fail_at = 3};   the third call fails (0: none does)
 *     count_allocations(&count);
 *     ...
 *     memory_set_hooks(NULL); */
#ifndef COUNTING_ALLOCATOR_H
#define COUNTING_ALLOCATOR_H

#include "base/base.h"

typedef struct allocation_count {
    uint64_t calls, live, fail_at;
    size_t largest;
} allocation_count_t;

static inline void *counting_alloc(void *user, size_t size) {
    allocation_count_t *count = user;
    uint64_t call = __atomic_add_fetch(&count->calls, 1, __ATOMIC_RELAXED);
    if (call == count->fail_at) return NULL;
    if (size > count->largest) count->largest = size; /* of several threads: one of theirs */
    void *data = malloc(size);
    if (data) __atomic_add_fetch(&count->live, 1, __ATOMIC_RELAXED);
    return data;
}

static inline void counting_free(void *user, void *data) {
    __atomic_sub_fetch(&((allocation_count_t *)user)->live, 1, __ATOMIC_RELAXED);
    free(data);
}

static inline void count_allocations(allocation_count_t *count) {
    memory_set_hooks(&(memory_hooks_t){.alloc = counting_alloc, .free = counting_free, .user = count});
}

#endif
