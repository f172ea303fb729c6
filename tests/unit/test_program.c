/* Programs through the public interface: printing them, and keeping the value of every tensor. */
#include "unit_test.h"

#include "counting_allocator.h"

#include <insitu/insitu.h>
#include <string.h>

#define DATA TEST_SOURCE_DIR "/data/"

static insitu_program *load(const char *name) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_program *program;
    if (insitu_program_load(name, &program, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    return program;
}

static void prints(void **state) {
    (void)state;
    insitu_program *program = load(DATA "unsupported.train.pt2");
    char *text;
    assert_int_equal(insitu_program_print(program, NULL, &text, NULL), INSITU_OK);
    assert_non_null(strstr(text, "aten.linalg_matrix_exp.default("));
    insitu_text_free(text);
    insitu_print_options options = {.struct_size = sizeof(options), .json = true, .hashes = true, .values = true};
    assert_int_equal(insitu_program_print(program, &options, &text, NULL), INSITU_OK);
    assert_int_equal(text[0], '{');
    assert_string_equal(text + strlen(text) - 2, "}\n");
    insitu_text_free(text);
    insitu_program_destroy(program);
}

static void expect_refused(const insitu_program *program, const insitu_print_options *options, const char *part) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    char *text = (char *)&diag;
    assert_int_equal(insitu_program_print(program, options, &text, &diag), INSITU_ARG);
    assert_null(text);
    if (!strstr(diag.message, part)) fail_msg("'%s' where '%s' was expected", diag.message, part);
}

static void wrong_options(void **state) {
    (void)state;
    insitu_program *program = load(DATA "rolled.train.pt2");
    expect_refused(program, &(insitu_print_options){.json = true}, "struct_size 0");
    expect_refused(program, &(insitu_print_options){.struct_size = 4096}, "struct_size 4096");
    expect_refused(program, &(insitu_print_options){.struct_size = sizeof(insitu_print_options), .values = true},
                   "JSON");
    insitu_program_destroy(program);
}

/* Whichever allocation fails while the program is printed, that is said, and nothing is lost. */
static void memory_is_short(void **state) {
    (void)state;
    insitu_program *program = load(DATA "kept_buffers.train.pt2"); /* some of its buffers are not row-major */
    for (int json = 0; json < 2; json++) {
        insitu_print_options options = {.struct_size = sizeof(options), .json = json, .hashes = true, .values = json};
        insitu_status status = INSITU_NOMEM;
        for (uint64_t fail_at = 1; status != INSITU_OK; fail_at++) {
            allocation_count_t count = {.fail_at = fail_at};
            insitu_diag diag;
            char *text;
            insitu_diag_init(&diag);
            count_allocations(&count);
            status = insitu_program_print(program, &options, &text, &diag);
            assert_true(status == INSITU_OK || status == INSITU_NOMEM);
            assert_int_equal(count.live, status == INSITU_OK);
            if (status == INSITU_NOMEM) assert_true(diag.message[0]);
            insitu_text_free(text);
            memory_set_hooks(NULL);
            assert_true(fail_at < 10000);
        }
    }
    insitu_program_destroy(program);
}

static void values_are_kept(void **state) {
    (void)state;
    static const char *const names[] = {"output.0",     "node.roll", "node.select", "node.copy_",
                                        "node.copy__1", "node.mul",  "node.sum_1"};
    insitu_program *program = load(DATA "rolled.train.pt2");
    insitu_compile_options options;
    insitu_engine *engine;
    insitu_compile_options_init(&options);
    assert_int_equal(insitu_program_compile(program, &options, &engine, NULL), INSITU_OK);
    assert_int_equal(insitu_engine_output_count(engine), 1);
    insitu_engine_destroy(engine);
    options.keep_values = true;
    assert_int_equal(insitu_program_compile(program, &options, &engine, NULL), INSITU_OK);
    insitu_program_destroy(program);
    assert_int_equal(insitu_engine_output_count(engine), COUNT_OF(names));
    for (int32_t i = 0; i < (int32_t)COUNT_OF(names); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        assert_int_equal(insitu_engine_output(engine, i, &info, NULL), INSITU_OK);
        assert_string_equal(info.name, names[i]);
        assert_int_equal(insitu_engine_find_output(engine, names[i]), i);
        assert_null(i ? info.aliased : NULL);
    }
    insitu_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(memory_is_short),
        cmocka_unit_test(values_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
