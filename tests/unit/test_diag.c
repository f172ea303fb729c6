#include "unit_test.h"

#include "base/base.h"

static insitu_status fail_with_shape(insitu_diag *diag) {
    FAIL(diag, INSITU_SHAPE, "input '%s' has rank %d where %d was expected", "x", 2, 3);
}

static insitu_status pass_on(insitu_diag *diag) {
    TRY(fail_with_shape(diag));
    return INSITU_OK;
}

static void a_failure_leaves_its_sentence(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(pass_on(&diag), INSITU_SHAPE);
    assert_int_equal(diag.status, INSITU_SHAPE);
    assert_string_equal(diag.message, "input 'x' has rank 2 where 3 was expected");
    assert_int_equal(pass_on(NULL), INSITU_SHAPE);
    insitu_diag_release(&diag);
    assert_int_equal(diag.status, INSITU_OK);
    assert_int_equal(diag.message[0], 0);
}

static void a_long_sentence_is_cut_visibly(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(diag_set(&diag, INSITU_FORMAT, "%2000d", 1), INSITU_FORMAT);
    assert_int_equal(strlen(diag.message), sizeof(diag.message) - 1);
    assert_string_equal(diag.message + strlen(diag.message) - 3, "...");
}

/* Whatever is long, a path or a name, what is said of it comes whole, and so do its beginning and its end. */
static void a_long_path_is_cut_in_its_middle(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    for (int size = 900; size < 5000; size += 7)
        for (int wide = 0; wide < 2; wide++) {
            char path[5001];
            for (int i = 0; i < size; i++) path[i] = wide ? (char)(i % 2 ? 0xA4 : 0xC3) : 'p';
            path[size] = 0;
            diag_set(&diag, INSITU_IO, "cannot open '/first/%s/last': no such file, says '%s'", path, "x");
            assert_true(strlen(diag.message) < sizeof(diag.message));
            assert_true(strlen(diag.message) + 4 > sizeof(diag.message) || size < 1000);
            assert_memory_equal(diag.message, "cannot open '/first/", 20);
            assert_non_null(strstr(diag.message, "/last': no such file, says 'x'"));
            const char *dots = strstr(diag.message, "...");
            assert_int_equal(dots != NULL, size + 50 > (int)sizeof(diag.message) - 1);
            if (dots && wide) assert_true((unsigned char)dots[-1] == 0xA4 && (unsigned char)dots[3] == 0xC3);
        }
}

static void rows_are_copied_and_dropped_by_the_next_failure(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    char op[] = "aten.foo.default";
    diag_set(&diag, INSITU_UNSUPPORTED, "2 operators are not supported");
    diag_add_row(&diag, op, 3, "model.py:41");
    diag_add_row(&diag, "aten.bar.out", 1, NULL);
    op[5] = 'X';
    assert_int_equal(diag.row_count, 2);
    assert_string_equal(diag.rows[0].op, "aten.foo.default");
    assert_string_equal(diag.rows[0].source, "model.py:41");
    assert_int_equal(diag.rows[0].count, 3);
    assert_string_equal(diag.rows[1].source, "");
    diag_set(&diag, INSITU_IO, "cannot open it");
    assert_int_equal(diag.row_count, 0);
    assert_null(diag.rows);
    diag_add_row(&diag, "aten.baz.default", 1, "");
    insitu_diag_release(&diag);
    assert_int_equal(diag.row_count, 0);
}

static void a_struct_of_unknown_size_is_left_alone(void **state) {
    (void)state;
    insitu_diag diag = {0};
    assert_int_equal(diag_set(&diag, INSITU_ARG, "text"), INSITU_ARG);
    assert_int_equal(diag.message[0], 0);
    assert_int_equal(diag.status, INSITU_OK);
}

static void a_failure_without_a_sentence_gets_one(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(diag_complete(&diag, INSITU_OK), INSITU_OK);
    assert_int_equal(diag.message[0], 0);
    assert_int_equal(diag_complete(&diag, INSITU_NOMEM), INSITU_NOMEM);
    assert_string_equal(diag.message, "out of memory");
    diag_set(&diag, INSITU_SHAPE, "mine");
    assert_int_equal(diag_complete(&diag, INSITU_SHAPE), INSITU_SHAPE);
    assert_string_equal(diag.message, "mine");
}

static void every_status_has_a_name(void **state) {
    (void)state;
    for (int i = INSITU_OK; i <= INSITU_INTERNAL; i++)
        assert_string_not_equal(insitu_status_name((insitu_status)i), "UNKNOWN");
    assert_string_equal(insitu_status_name(INSITU_BOUNDS), "BOUNDS");
    assert_string_equal(insitu_status_name((insitu_status)(INSITU_INTERNAL + 1)), "UNKNOWN");
    assert_string_equal(insitu_status_name((insitu_status)-1), "UNKNOWN");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_leaves_its_sentence),
        cmocka_unit_test(a_long_sentence_is_cut_visibly),
        cmocka_unit_test(a_long_path_is_cut_in_its_middle),
        cmocka_unit_test(rows_are_copied_and_dropped_by_the_next_failure),
        cmocka_unit_test(a_struct_of_unknown_size_is_left_alone),
        cmocka_unit_test(a_failure_without_a_sentence_gets_one),
        cmocka_unit_test(every_status_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
