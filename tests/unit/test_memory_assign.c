#include "unit_test.h"

#include "plan/plan.h"

enum { MAX_BLOCKS = 200 };

static insitu_status assign(const memory_block_t *blocks, uint32_t count, size_t alignment, size_t *offsets,
                            size_t *total) {
    arena_t scratch;
    arena_init(&scratch);
    insitu_status status = memory_assign(blocks, count, alignment, &scratch, offsets, total);
    arena_release(&scratch);
    return status;
}

/* Blocks that live at once lie apart, all are aligned and inside the total. */
static void check_placement(const memory_block_t *blocks, uint32_t count, size_t alignment, const size_t *offsets,
                            size_t total) {
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(offsets[i] % alignment, 0);
        assert_true(offsets[i] + blocks[i].size <= total);
        for (uint32_t j = 0; j < i; j++) {
            bool live_at_once = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
            bool apart = offsets[i] + blocks[i].size <= offsets[j] || offsets[j] + blocks[j].size <= offsets[i];
            assert_true(!live_at_once || apart || blocks[i].size == 0 || blocks[j].size == 0);
        }
    }
}

static void memory_is_reused_after_a_lifetime(void **state) {
    (void)state;
    const memory_block_t blocks[] = {{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {100, 3, 4}};
    size_t offsets[4], total;
    assert_int_equal(assign(blocks, 4, 64, offsets, &total), INSITU_OK);
    check_placement(blocks, 4, 64, offsets, total);
    assert_int_equal(total, 256);
    assert_int_equal(offsets[0], offsets[2]);
    assert_int_equal(offsets[1], offsets[3]);
}

static void the_smallest_gap_that_holds_a_block_is_taken(void **state) {
    (void)state;
    /* Gaps of 256 and 128 remain around the blocks that live in step 5. */
    const memory_block_t blocks[] = {{1024, 0, 1}, {512, 2, 9}, {384, 0, 1}, {256, 2, 9}, {128, 5, 5}, {64, 5, 5}};
    size_t offsets[6], total;
    assert_int_equal(assign(blocks, 6, 64, offsets, &total), INSITU_OK);
    check_placement(blocks, 6, 64, offsets, total);
    assert_int_equal(total, 1408);
}

static void nothing_needs_nothing(void **state) {
    (void)state;
    size_t offsets[2] = {7, 7}, total = 7;
    assert_int_equal(assign(NULL, 0, 64, offsets, &total), INSITU_OK);
    assert_int_equal(total, 0);
    const memory_block_t empty[] = {{0, 0, 5}, {0, 0, 5}};
    assert_int_equal(assign(empty, 2, 64, offsets, &total), INSITU_OK);
    assert_int_equal(total, 0);
    assert_int_equal(offsets[0], 0);
}

static void overflow_is_no_memory(void **state) {
    (void)state;
    size_t offsets[2], total;
    const memory_block_t rounded[] = {{SIZE_MAX - 1, 0, 0}};
    assert_int_equal(assign(rounded, 1, 64, offsets, &total), INSITU_NOMEM);
    const memory_block_t both[] = {{SIZE_MAX / 2 + 1, 0, 0}, {SIZE_MAX / 2 + 1, 0, 0}};
    assert_int_equal(assign(both, 2, 64, offsets, &total), INSITU_NOMEM);
}

static void random_blocks_never_collide(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int round = 0; round < 50; round++) {
        memory_block_t blocks[MAX_BLOCKS];
        size_t offsets[MAX_BLOCKS], again[MAX_BLOCKS], total, total_again, sum = 0;
        for (uint32_t i = 0; i < MAX_BLOCKS; i++) {
            random = random * 1664525u + 1013904223u;
            blocks[i].size = (random >> 8) % 5000;
            blocks[i].first = (random >> 4) % 60;
            blocks[i].last = blocks[i].first + (random >> 20) % 8;
            sum += (blocks[i].size + 63) / 64 * 64;
        }
        assert_int_equal(assign(blocks, MAX_BLOCKS, 64, offsets, &total), INSITU_OK);
        check_placement(blocks, MAX_BLOCKS, 64, offsets, total);
        assert_true(total < sum / 3);
        assert_int_equal(assign(blocks, MAX_BLOCKS, 64, again, &total_again), INSITU_OK);
        assert_int_equal(total, total_again);
        assert_memory_equal(offsets, again, sizeof(offsets));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_reused_after_a_lifetime),
        cmocka_unit_test(the_smallest_gap_that_holds_a_block_is_taken),
        cmocka_unit_test(nothing_needs_nothing),
        cmocka_unit_test(overflow_is_no_memory),
        cmocka_unit_test(random_blocks_never_collide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
