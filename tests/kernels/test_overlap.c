/* Copies between overlapping places of one storage: random boxes of ranks 0 to 4 in any order of dimensions, with steps,
 * moved either way by any number of elements, on one to four threads. */
#include "steps.h"

enum { CASES = 4000, SPACE = 8192 };

static uint32_t seed = 11;
static uint32_t below(uint32_t limit) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

/* Sizes and strides of a box whose elements lie apart; returns the elements from the first to the last. */
static int64_t random_box(bound_operand_t *box) {
    uint32_t order[4] = {0, 1, 2, 3};
    int64_t extent = 1;
    box->rank = below(5);
    for (uint32_t i = box->rank; i > 1; i--) {
        uint32_t other = below(i), swap = order[i - 1];
        order[i - 1] = order[other];
        order[other] = swap;
    }
    for (uint32_t i = 0; i < box->rank; i++) {
        box->sizes[order[i]] = below(6);
        box->strides[order[i]] = extent + below(4);
        if (box->sizes[order[i]] > 1) extent += (box->sizes[order[i]] - 1) * box->strides[order[i]];
    }
    return extent;
}

static void one_case(dtype_t type, uint32_t threads) {
    steps_t steps;
    steps_init(&steps);
    bound_operand_t space = steps_tensor(&steps, STORAGE_STATE, type, 1, SIZES(SPACE)), from = space;
    size_t size = dtype_size(type), bytes = SPACE * size;
    unsigned char *data = steps_data(&steps, &space), *old = memory_alloc(bytes), *expected = memory_alloc(bytes);
    assert_true(old && expected);
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)below(256);
    memcpy(old, data, bytes);
    memcpy(expected, data, bytes);
    int64_t extent = random_box(&from), way = (int64_t)below(41) - 20;
    assert_true(extent + 40 < SPACE);
    bound_operand_t to = from;
    int64_t first = 20 + below((uint32_t)(SPACE - extent - 40));
    from.offset = first * (int64_t)size;
    to.offset = (first + way) * (int64_t)size;
    for (int64_t i = 0; i < operand_numel(&from); i++) {
        int64_t at = first, rest = i;
        for (uint32_t d = from.rank; d-- > 0; rest /= from.sizes[d]) at += rest % from.sizes[d] * from.strides[d];
        memcpy(expected + (size_t)(at + way) * size, old + (size_t)at * size, size);
    }
    const bound_step_t *step = steps_add(&steps, LAYER_COPY, &to, 1, &from, 1);
    assert_true(step_run_row(&steps, step, step_reference(step), threads));
    assert_memory_equal(data, expected, bytes);
    steps_assert_guards(&steps);
    memory_free(old);
    memory_free(expected);
    steps_release(&steps);
}

static void test_overlapping_places(void **unused) {
    (void)unused;
    static const dtype_t types[] = {DTYPE_BOOL, DTYPE_BF16, DTYPE_F32, DTYPE_I64};
    for (uint32_t i = 0; i < CASES; i++) one_case(types[i % COUNT_OF(types)], 1 + i / 4 % 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_overlapping_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
