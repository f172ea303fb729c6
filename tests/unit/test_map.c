#include "unit_test.h"

#include "base/base.h"

static void an_empty_map_finds_nothing(void **state) {
    (void)state;
    map_t map = {0};
    assert_int_equal(map_find(&map, "x"), NONE);
    assert_int_equal(map_find(&map, ""), NONE);
}

static void many_keys_are_kept_apart(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    map_t map = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        const char *key;
        assert_int_equal(arena_printf(&arena, &key, "layers.%u.weight", i), INSITU_OK);
        assert_int_equal(map_find(&map, key), NONE);
        assert_int_equal(map_set(&map, &arena, key, i), INSITU_OK);
    }
    assert_int_equal(map.count, 10000);
    for (uint32_t i = 0; i < 10000; i++) {
        const char *key;
        assert_int_equal(arena_printf(&arena, &key, "layers.%u.weight", i), INSITU_OK);
        assert_int_equal(map_find(&map, key), i);
    }
    assert_int_equal(map_find(&map, "layers.10000.weight"), NONE);
    arena_release(&arena);
}

static void setting_again_replaces(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    map_t map = {0};
    assert_int_equal(map_set(&map, &arena, "pos", 1), INSITU_OK);
    assert_int_equal(map_set(&map, &arena, "", 2), INSITU_OK);
    assert_int_equal(map_set(&map, &arena, "pos", 3), INSITU_OK);
    assert_int_equal(map.count, 2);
    assert_int_equal(map_find(&map, "pos"), 3);
    assert_int_equal(map_find(&map, ""), 2);
    arena_release(&arena);
}

static void hashes_are_xxh64(void **state) {
    (void)state;
    assert_true(hash_bytes("", 0, 0) == UINT64_C(0xEF46DB3751D8E999));
    assert_true(hash_bytes("", 0, 1) != hash_bytes("", 0, 0));
}

static void bits_are_set_and_removed(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    bitset_t set, other;
    assert_int_equal(bitset_create(&arena, 130, &set), INSITU_OK);
    assert_int_equal(bitset_create(&arena, 130, &other), INSITU_OK);
    bitset_add(&set, 0);
    bitset_add(&set, 63);
    bitset_add(&set, 129);
    assert_true(bitset_has(&set, 129) && bitset_has(&set, 63) && !bitset_has(&set, 64));
    bitset_remove(&set, 63);
    assert_false(bitset_has(&set, 63));
    assert_false(bitset_has(&other, 0) || bitset_has(&other, 129));
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_finds_nothing), cmocka_unit_test(many_keys_are_kept_apart),
        cmocka_unit_test(setting_again_replaces),     cmocka_unit_test(hashes_are_xxh64),
        cmocka_unit_test(bits_are_set_and_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
