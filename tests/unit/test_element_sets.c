/* Strided tensors that share memory, or only its range: against every byte marked. */
#include "unit_test.h"

#include "core/core.h"
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 4096 };

static uint32_t next_random(uint32_t *random, uint32_t limit) {
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % limit;
}

typedef struct tensor {
    element_set_t set;
    int64_t sizes[MAX_RANK], strides[MAX_RANK];
    size_t bytes; /* from the first element to the end of the last */
} tensor_t;

static bool random_tensor(uint32_t *random, tensor_t *out) {
    size_t item = (size_t)1 << next_random(random, 4);
    *out = (tensor_t){.set = {.rank = next_random(random, 4), .item = item}};
    out->set.sizes = out->sizes;
    out->set.strides = out->strides;
    size_t first = next_random(random, 512), last = 0;
    for (uint32_t i = 0; i < out->set.rank; i++) {
        out->sizes[i] = next_random(random, 12) == 0 ? 0 : 1 + next_random(random, 5);
        out->strides[i] = next_random(random, 4) == 0 ? 0 : next_random(random, 20);
        last += (size_t)(out->sizes[i] ? out->sizes[i] - 1 : 0) * (size_t)out->strides[i];
    }
    out->set.start = first * item;
    out->bytes = (last + 1) * item;
    for (uint32_t i = 0; i < out->set.rank; i++)
        if (out->sizes[i] == 0) out->bytes = 0;
    return out->set.start + out->bytes <= MEMORY;
}

static void mark(const tensor_t *tensor, uint8_t *marks) {
    const element_set_t *set = &tensor->set;
    int64_t index[4] = {0};
    memset(marks, 0, MEMORY);
    if (tensor->bytes == 0) return;
    for (;;) {
        size_t at = set->start;
        for (uint32_t i = 0; i < set->rank; i++) at += (size_t)(index[i] * set->strides[i]) * set->item;
        memset(marks + at, 1, set->item);
        uint32_t dim = 0;
        while (dim < set->rank && ++index[dim] == set->sizes[dim]) index[dim++] = 0;
        if (dim == set->rank) return;
    }
}

static void answers_are_those_of_marked_bytes(void **state) {
    (void)state;
    static uint8_t first[MEMORY], second[MEMORY];
    uint32_t random = 3, apart = 0, met = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        tensor_t a, b;
        if (!random_tensor(&random, &a) || !random_tensor(&random, &b)) continue;
        mark(&a, first);
        mark(&b, second);
        bool expected = false;
        for (size_t k = 0; k < MEMORY && !expected; k++) expected = first[k] && second[k];
        if (elements_meet(&a.set, &b.set) != expected) fail_msg("pair %u: %d was expected", i, expected);
        bool in_range = a.set.start < b.set.start + b.bytes && b.set.start < a.set.start + a.bytes;
        apart += in_range && !expected;
        met += expected;
    }
    assert_true(apart > 1000 && met > 1000);
}

/* What would take long to look at is said to meet. */
static void large_tensors_take_bounded_work(void **state) {
    (void)state;
    const int64_t sizes[] = {4000, 4000, 4000}, strides[] = {997 * 4001, 997, 2}, others[] = {997 * 4001, 991, 2};
    element_set_t a = {0, 3, sizes, strides, 1}, b = {1, 3, sizes, others, 1};
    (void)elements_meet(&a, &b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_marked_bytes),
        cmocka_unit_test(large_tensors_take_bounded_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
