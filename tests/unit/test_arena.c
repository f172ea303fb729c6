#include "unit_test.h"

#include "base/base.h"

static void items_are_zeroed_and_aligned(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    for (size_t count = 0; count < 300; count += 7) {
        uint8_t *bytes;
        assert_int_equal(arena_array(&arena, count, 3, &bytes), INSITU_OK);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < count * 3; i++) assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, count * 3);
    }
    arena_release(&arena);
}

static void blocks_reused_after_release_are_zeroed(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    for (int round = 0; round < 3; round++) {
        uint32_t *words;
        assert_int_equal(arena_array(&arena, 100000, sizeof(*words), &words), INSITU_OK);
        for (size_t i = 0; i < 100000; i++) assert_int_equal(words[i], 0);
        memset(words, 0x5a, 100000 * sizeof(*words));
        arena_release(&arena);
    }
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    void *data = &arena;
    assert_int_equal(arena_array(&arena, SIZE_MAX / 2, 3, &data), INSITU_NOMEM);
    assert_null(data);
    assert_int_equal(arena_array(&arena, SIZE_MAX, 1, &data), INSITU_NOMEM);
    assert_null(data);
    uint32_t capacity = 0;
    assert_int_equal(arena_grow(&arena, &data, &capacity, (size_t)UINT32_MAX + 1, 1), INSITU_NOMEM);
    assert_int_equal(capacity, 0);
    arena_release(&arena);
}

static void growing_keeps_items(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    uint32_t *items = NULL, capacity = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(arena_grow(&arena, &items, &capacity, i + 1, sizeof(*items)), INSITU_OK);
        assert_int_equal(items[i], 0);
        items[i] = i * 3;
    }
    for (uint32_t i = 0; i < 5000; i++) assert_int_equal(items[i], i * 3);
    arena_release(&arena);
}

static void strings_end_with_nul(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    const char *part, *empty, *printed, *copy;
    assert_int_equal(arena_string(&arena, "cache_k.weight", 7, &part), INSITU_OK);
    assert_string_equal(part, "cache_k");
    assert_int_equal(arena_string(&arena, NULL, 0, &empty), INSITU_OK);
    assert_string_equal(empty, "");
    assert_int_equal(arena_printf(&arena, &printed, "%s[%d]", part, -3), INSITU_OK);
    assert_string_equal(printed, "cache_k[-3]");
    assert_int_equal(arena_copy(&arena, "abc", 4, &copy), INSITU_OK);
    assert_string_equal(copy, "abc");
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_zeroed_and_aligned),
        cmocka_unit_test(blocks_reused_after_release_are_zeroed),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(growing_keeps_items),
        cmocka_unit_test(strings_end_with_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
