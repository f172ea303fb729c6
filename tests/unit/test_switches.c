#include "unit_test.h"

#include "base/base.h"

#include <insitu/log.h>
#include <sys/wait.h>
#include <unistd.h>

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

static char said[1024];

static void keep_log(void *user, int level, const char *text) {
    (void)user, (void)level;
    size_t used = strlen(said);
    snprintf(said + used, sizeof(said) - used, "%s", text);
}

/* Each in a process of its own, as switches are read once. */
static void values_that_are_not_known_are_told(void **state) {
    (void)state;
    static const struct {
        const char *name, *value, *said;
    } cases[] = {
        {"INSITU_DUMP", "foo", "INSITU_DUMP: 'foo' is not known; the values are graph,network,plan\n"},
        {"INSITU_DUMP", "graph,foo,plan", "INSITU_DUMP: 'foo' is not known; the values are graph,network,plan\n"},
        {"INSITU_CHECK", "1", "INSITU_CHECK: '1' is not known; the values are roundtrip\n"},
        {"INSITU_WHY", "off", "INSITU_WHY: 'off' is not known and taken for 1; the values are 0,1\n"},
        {"INSITU_TRACE", "1", ""},
        {"INSITU_POISON", "0", ""},
        {"INSITU_FORCE_REF", "", ""},
        {"INSITU_DUMP", "network,plan", ""},
        {"INSITU_DUMP_PASS", "all", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            setenv(cases[i].name, cases[i].value, 1);
            insitu_log_set(keep_log, NULL);
            (void)switch_value(SWITCH_TRACE);
            if (strcmp(said, cases[i].said) != 0) fprintf(stderr, "%s=%s: %s", cases[i].name, cases[i].value, said);
            _exit(strcmp(said, cases[i].said) != 0);
        }
        int result = 0;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_that_are_not_known_are_told),
                                       cmocka_unit_test(switches_are_read_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
