#include "unit_test.h"

#include "base/base.h"

#include <insitu/log.h>
#include <math.h>

static void prints_are_joined(void **state) {
    (void)state;
    text_t text;
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

static void expect_form(text_t *text, const char *expected) {
    assert_string_equal(text->data, expected);
    text_release(text);
}

static void json_forms(void **state) {
    (void)state;
    text_t text;
    text_init(&text);
    json_print_string(&text, "a\"\\\n\x7f\xc3\xa9\xf0\x9f\x98\x80");
    expect_form(&text, "\"a\\\"\\\\\\u000a\x7f\xc3\xa9\xf0\x9f\x98\x80\"");
    json_print_string(&text, "\xff \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82"); /* none is UTF-8 */
    expect_form(&text, "\"\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"");
    const double numbers[] = {1, 0.1, 1e300, -(double)NAN, INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        json_print_double(&text, numbers[i], 9);
        text_add(&text, " ", 1);
    }
    expect_form(&text, "1.0 0.1 1e+300 \"NaN\" \"Infinity\" \"-Infinity\" ");
    json_print_double(&text, 0.1, 17);
    expect_form(&text, "0.10000000000000001");
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
    text_t text;
    text_init(&text);
    memory_set_hooks(&(memory_hooks_t){.alloc = refuse, .free = ignore});
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
    text_t lines;
    text_init(&lines);
    log_printf(2, "nobody listens");
    insitu_log_set(keep_line, &lines);
    log_printf(2, "%s %d", "pass", 3);
    log_printf(2, "%s", "two\nlines\n");
    insitu_log_set(NULL, NULL);
    log_printf(2, "nobody listens again");
    assert_string_equal(lines.data, "[pass 3\n][two\nlines\n]");
    text_release(&lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_are_joined),
        cmocka_unit_test(json_forms),
        cmocka_unit_test(failure_is_remembered),
        cmocka_unit_test(log_goes_to_the_installed_sink_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
