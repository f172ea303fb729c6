#include "unit_test.h"

#include "base/base.h"

#include <insitu/log.h>

static void prints_are_joined(void **state) {
    (void)state;
    text text;
    text_init(&text);
    text_printf(&text, "%%%d: ", 7);
    text_add(&text, "f32[2,3]xyz", 8);
    for (int i = 0; i < 1000; i++) text_printf(&text, ",%d", i);
    assert_int_equal(text_status(&text, NULL), INSITU_OK);
    assert_int_equal(text.size, strlen(text.data));
    assert_memory_equal(text.data, "%7: f32[2,3],0,1,2", 18);
    assert_string_equal(text.data + text.size - 8, ",998,999");
    text_release(&text);
    assert_null(text.data);
}

static void *refuse(void *user, size_t size) {
    (void)user, (void)size;
    return NULL;
}

static void ignore(void *user, void *data) { (void)user, (void)data; }

static void failure_is_remembered(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    text text;
    text_init(&text);
    memory_set_hooks(&(memory_hooks){refuse, ignore, NULL});
    text_printf(&text, "first");
    memory_set_hooks(NULL);
    text_printf(&text, "second");
    assert_null(text.data);
    assert_int_equal(text_status(&text, &diag), INSITU_NOMEM);
    assert_int_equal(diag.status, INSITU_NOMEM);
    text_release(&text);
    text_printf(&text, "third");
    assert_int_equal(text_status(&text, &diag), INSITU_OK);
    assert_string_equal(text.data, "third");
    text_release(&text);
}

static void keep_line(void *user, int level, const char *line) {
    assert_int_equal(level, 2);
    text_printf(user, "[%s]", line);
}

static void log_goes_to_the_installed_sink_alone(void **state) {
    (void)state;
    text lines;
    text_init(&lines);
    log_printf(2, "nobody listens");
    insitu_log_set(keep_line, &lines);
    log_printf(2, "%s %d", "pass", 3);
    insitu_log_set(NULL, NULL);
    log_printf(2, "nobody listens again");
    assert_string_equal(lines.data, "[pass 3]");
    text_release(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_are_joined),
        cmocka_unit_test(failure_is_remembered),
        cmocka_unit_test(log_goes_to_the_installed_sink_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
