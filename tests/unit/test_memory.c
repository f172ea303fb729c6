#include "unit_test.h"

#include "counting_allocator.h"

static void blocks_are_aligned_and_writable(void **state) {
    (void)state;
    allocation_count_t count = {0};
    count_allocations(&count);
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (size_t size = 0; size < 5000; size = size * 3 + 1) {
            uint8_t *data = memory_alloc_aligned(size, alignment);
            assert_non_null(data);
            assert_int_equal((uintptr_t)data % alignment, 0);
            memset(data, 0xa5, size);
            memory_free(data);
        }
    }
    memory_free(NULL);
    memory_set_hooks(NULL);
    assert_int_equal(count.live, 0);
    assert_true(count.calls > 0);
}

/* With hooks that know no zeros, and without hooks; what was written is zero again after it is set. */
static void zeros_are_zeros(void **state) {
    (void)state;
    allocation_count_t count = {0};
    for (int hooked = 0; hooked < 2; hooked++) {
        if (hooked) count_allocations(&count);
        for (size_t size = 1; size < (size_t)5 << 20; size = size * 7 + 3) {
            uint8_t *dirty = memory_alloc_aligned(size, 64);
            memset(dirty, 0xa5, size);
            memory_free(dirty);
            uint8_t *data = memory_alloc_zeros(size + 2, 64);
            assert_non_null(data);
            assert_int_equal((uintptr_t)data % 64, 0);
            for (size_t i = 0; i < size + 2; i++) assert_int_equal(data[i], 0);
            memset(data, 0xa5, size + 2);
            memory_set_zeros(data + 1, size);
            for (size_t i = 0; i < size; i++) assert_int_equal(data[i + 1], 0);
            assert_int_equal(data[0], 0xa5);
            assert_int_equal(data[size + 1], 0xa5);
            memory_free(data);
        }
    }
    memory_set_hooks(NULL);
    assert_int_equal(count.live, 0);
}

static void impossible_sizes_give_null(void **state) {
    (void)state;
    assert_null(memory_alloc(SIZE_MAX));
    assert_null(memory_alloc_aligned(SIZE_MAX - 4096, 4096));
}

/* Uses every allocating part of base once. */
static insitu_status use_everything(insitu_diag *diag) {
    arena_t arena;
    arena_init(&arena);
    map_t map = {0};
    text_t text;
    text_init(&text);
    insitu_status status = INSITU_OK;
    for (uint32_t i = 0; i < 200 && status == INSITU_OK; i++) {
        const char *key;
        status = arena_printf(&arena, &key, "a rather long name of a buffer, number %u", i);
        if (status == INSITU_OK) status = map_set(&map, &arena, key, i);
        text_printf(&text, "%u ", i);
    }
    if (status == INSITU_OK) status = text_status(&text, diag);
    file_map_t *wrapped = NULL;
    if (status == INSITU_OK) status = file_map_wrap("abc", 3, &wrapped, diag);
    file_map_release(wrapped);
    diag_add_row(diag, "aten.foo.default", 1, "model.py:1");
    text_release(&text);
    arena_release(&arena);
    return diag_complete(diag, status);
}

static void every_failed_allocation_is_a_status_and_leaks_nothing(void **state) {
    (void)state;
    insitu_status status;
    uint32_t failures = 0;
    allocation_count_t count = {0};
    do {
        count = (allocation_count_t){.fail_at = count.fail_at + 1};
        insitu_diag diag;
        insitu_diag_init(&diag);
        count_allocations(&count);
        status = use_everything(&diag);
        assert_true(status == INSITU_OK || (status == INSITU_NOMEM && diag.message[0]));
        failures += status == INSITU_NOMEM;
        insitu_diag_release(&diag);
        memory_set_hooks(NULL);
        assert_int_equal(count.live, 0);
    } while (count.calls >= count.fail_at);
    assert_int_equal(status, INSITU_OK);
    assert_true(failures >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_writable),
        cmocka_unit_test(zeros_are_zeros),
        cmocka_unit_test(impossible_sizes_give_null),
        cmocka_unit_test(every_failed_allocation_is_a_status_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
