#include "unit_test.h"

#include "base/base.h"

static void overflow_is_found(void **state) {
    (void)state;
    int64_t result;
    assert_true(checked_add(INT64_MAX - 1, 1, &result) && result == INT64_MAX);
    assert_false(checked_add(INT64_MAX, 1, &result));
    assert_true(checked_sub(INT64_MIN + 1, 1, &result) && result == INT64_MIN);
    assert_false(checked_sub(INT64_MIN, 1, &result));
    assert_true(checked_mul(-3, 7, &result) && result == -21);
    assert_false(checked_mul(INT64_MIN, -1, &result));
    size_t size;
    assert_true(checked_size_mul(SIZE_MAX, 1, &size) && size == SIZE_MAX);
    assert_false(checked_size_mul(SIZE_MAX / 2 + 1, 2, &size));
    assert_false(checked_size_add(SIZE_MAX, 1, &size));
}

static void division_rounds_down_as_in_python(void **state) {
    (void)state;
    static const int64_t cases[][4] = {
        {7, 2, 3, 1},
        {-7, 2, -4, 1},
        {7, -2, -4, -1},
        {-7, -2, 3, -1},
        {6, 3, 2, 0},
        {-6, 3, -2, 0},
        {0, -5, 0, 0},
        {INT64_MIN, 2, INT64_MIN / 2, 0},
        {1, -4, -1, -3},
        {-1, 4, -1, 3},
        {INT64_MAX, -1, -INT64_MAX, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_true(floor_div(cases[i][0], cases[i][1]) == cases[i][2]);
        assert_true(floor_mod(cases[i][0], cases[i][1]) == cases[i][3]);
    }
    assert_true(floor_mod(INT64_MIN, -1) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflow_is_found),
        cmocka_unit_test(division_rounds_down_as_in_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
