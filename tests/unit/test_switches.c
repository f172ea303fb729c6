#include "unit_test.h"

#include "base/base.h"

static void switches_are_read_once(void **state) {
    (void)state;
    setenv("INSITU_DUMP", "graph,plan", 1);
    setenv("INSITU_WHY", "0", 1);
    setenv("INSITU_POISON", "", 1);
    setenv("INSITU_FORCE_REF", "1", 1);
    unsetenv("INSITU_TRACE");
    assert_string_equal(switch_value(SWITCH_DUMP), "graph,plan");
    assert_true(switch_on(SWITCH_DUMP));
    assert_true(switch_on(SWITCH_FORCE_REF));
    assert_false(switch_on(SWITCH_WHY));
    assert_false(switch_on(SWITCH_POISON));
    assert_string_equal(switch_value(SWITCH_POISON), "");
    assert_null(switch_value(SWITCH_TRACE));
    setenv("INSITU_DUMP", "network", 1);
    setenv("INSITU_TRACE", "1", 1);
    assert_string_equal(switch_value(SWITCH_DUMP), "graph,plan");
    assert_false(switch_on(SWITCH_TRACE));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(switches_are_read_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
