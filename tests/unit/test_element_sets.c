/* Strided tensors that share memory, or only its range: against every byte marked. */
#include "unit_test.h"

#include "runtime/runtime_int.h"
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 4096 };

static uint32_t next_random(uint32_t *random, uint32_t limit) {
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % limit;
}

static uint8_t memory[MEMORY];

static bool random_tensor(uint32_t *random, bound_tensor *out, size_t *out_item) {
    *out_item = (size_t)1 << next_random(random, 4);
    *out = (bound_tensor){.is_bound = true, .rank = next_random(random, 4)};
    size_t first = next_random(random, 512), last = 0;
    for (uint32_t i = 0; i < out->rank; i++) {
        out->sizes[i] = next_random(random, 12) == 0 ? 0 : 1 + next_random(random, 5);
        out->strides[i] = next_random(random, 4) == 0 ? 0 : next_random(random, 20);
        last += (size_t)(out->sizes[i] ? out->sizes[i] - 1 : 0) * (size_t)out->strides[i];
    }
    first *= *out_item;
    out->bytes = (last + 1) * *out_item;
    for (uint32_t i = 0; i < out->rank; i++)
        if (out->sizes[i] == 0) out->bytes = 0;
    out->address = memory + first;
    return first + out->bytes <= MEMORY;
}

static void mark(const bound_tensor *tensor, size_t item, uint8_t *marks) {
    int64_t index[4] = {0};
    memset(marks, 0, MEMORY);
    if (tensor->bytes == 0) return;
    for (;;) {
        size_t at = (size_t)(tensor->address - memory);
        for (uint32_t i = 0; i < tensor->rank; i++) at += (size_t)(index[i] * tensor->strides[i]) * item;
        memset(marks + at, 1, item);
        uint32_t dim = 0;
        while (dim < tensor->rank && ++index[dim] == tensor->sizes[dim]) index[dim++] = 0;
        if (dim == tensor->rank) return;
    }
}

static void answers_are_those_of_marked_bytes(void **state) {
    (void)state;
    static uint8_t first[MEMORY], second[MEMORY];
    uint32_t random = 3, apart = 0, met = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        bound_tensor a, b;
        size_t a_item, b_item;
        if (!random_tensor(&random, &a, &a_item) || !random_tensor(&random, &b, &b_item)) continue;
        mark(&a, a_item, first);
        mark(&b, b_item, second);
        bool expected = false;
        for (size_t k = 0; k < MEMORY && !expected; k++) expected = first[k] && second[k];
        if (elements_meet(&a, a_item, &b, b_item) != expected) fail_msg("pair %u: %d was expected", i, expected);
        bool in_range = a.address < b.address + b.bytes && b.address < a.address + a.bytes;
        apart += in_range && !expected;
        met += expected;
    }
    assert_true(apart > 1000 && met > 1000);
}

/* What would take long to look at is said to meet. */
static void large_tensors_take_bounded_work(void **state) {
    (void)state;
    bound_tensor a = {
        .is_bound = true, .address = memory, .rank = 3, .sizes = {4000, 4000, 4000}, .strides = {997 * 4001, 997, 2}};
    bound_tensor b = a;
    a.bytes = b.bytes = (size_t)1 << 40;
    b.strides[1] = 991;
    b.address++;
    (void)elements_meet(&a, 1, &b, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_marked_bytes),
        cmocka_unit_test(large_tensors_take_bounded_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
