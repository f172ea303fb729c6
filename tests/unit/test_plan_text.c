/* The text of plans: what is printed reads back as the same plan, whatever made it, and what is wrong is named. */
#include "item_plans.h"

#include "rewrite/rewrite.h"

#include <dirent.h>
#include <insitu/engine.h>
#include <insitu/program.h>

#define DATA TEST_SOURCE_DIR "/data/"
#define GOLDEN TEST_SOURCE_DIR "/golden/"

static void expect_same(const char *printed, const char *what) {
    insitu_diag diag = {.struct_size = sizeof(diag)};
    plan_t *again;
    text_t second;
    if (plan_parse(printed, &again, &diag) != INSITU_OK) fail_msg("%s: %s\n%s", what, diag.message, printed);
    text_init(&second);
    plan_print(again, &second);
    if (strcmp(printed, second.data) != 0) fail_msg("%s:\n%s\nthen\n%s", what, printed, second.data);
    text_release(&second);
    plan_destroy(again);
}

static text_t text_of(const plan_t *plan) {
    text_t printed;
    text_init(&printed);
    plan_print(plan, &printed);
    assert_int_equal(text_status(&printed, NULL), INSITU_OK);
    return printed;
}

static void small_plans_read_back(void **state) {
    (void)state;
    plan_t *(*const makers[])(void) = {make_small_plan,     make_open_size_plan,      make_item_view_plan,
                                       make_item_size_plan, make_deferred_check_plan, make_control_plan};
    for (size_t i = 0; i < COUNT_OF(makers); i++) {
        plan_t *plan = makers[i]();
        text_t printed = text_of(plan);
        expect_same(printed.data, "a small plan");
        text_release(&printed);
        plan_destroy(plan);
    }
}

/* Every program of tests/data that can be compiled. */
static void plans_of_programs_read_back(void **state) {
    (void)state;
    int count = 0;
    char path[512];
    DIR *folder = opendir(DATA);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        size_t size = strlen(entry->d_name);
        insitu_diag diag = {.struct_size = sizeof(diag)};
        insitu_program *program;
        insitu_engine *engine;
        char *printed;
        if (size < 4 || strcmp(entry->d_name + size - 4, ".pt2") != 0) continue;
        snprintf(path, sizeof(path), DATA "%s", entry->d_name);
        assert_int_equal(insitu_program_load(path, &program, &diag), INSITU_OK);
        insitu_status status = insitu_program_compile(program, NULL, &engine, &diag);
        insitu_program_destroy(program);
        insitu_diag_release(&diag);
        if (status != INSITU_OK) continue;
        assert_int_equal(insitu_engine_print(engine, "plan", &printed, &diag), INSITU_OK);
        expect_same(printed, entry->d_name);
        insitu_text_free(printed);
        insitu_engine_destroy(engine);
        count++;
    }
    closedir(folder);
    assert_true(count >= 70);
}

/* The plan of a golden case that is a network, in place and not. */
static int read_back_network(const char *source, const char *name) {
    int count = 0;
    for (int no_inplace = 0; no_inplace < 2; no_inplace++) {
        network_t *network;
        plan_t *plan;
        if (network_parse(source, &network, NULL) != INSITU_OK) return count;
        if (network_verify(network, NULL) == INSITU_OK &&
            plan_build(network, &(plan_options_t){.no_inplace = no_inplace}, &plan, NULL) == INSITU_OK) {
            text_t printed = text_of(plan);
            expect_same(printed.data, name);
            text_release(&printed);
            plan_destroy(plan);
            count++;
        }
        network_destroy(network);
    }
    return count;
}

static int read_back_file(const char *path) {
    int count = 0;
    file_map_t *map;
    assert_int_equal(file_map_open(path, &map, NULL), INSITU_OK);
    char *source = calloc(1, map->size + 1);
    assert_non_null(source);
    memcpy(source, map->data, map->size);
    file_map_release(map);
    for (char *at = source, *next; at; at = next) {
        next = strstr(at, "# =====\n");
        if (next) *next = 0, next += strlen("# =====\n");
        char *end = strstr(at, "# ---\n");
        if (end) *end = 0;
        count += read_back_network(at, path);
    }
    free(source);
    return count;
}

static void plans_of_golden_networks_read_back(void **state) {
    (void)state;
    static const char *const folders[] = {GOLDEN "plan/", GOLDEN "network/", GOLDEN "text/"};
    int count = 0;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        DIR *folder = opendir(folders[i]);
        assert_non_null(folder);
        for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
            char path[512];
            if (!strstr(entry->d_name, ".network")) continue;
            snprintf(path, sizeof(path), "%s%s", folders[i], entry->d_name);
            count += read_back_file(path);
        }
        closedir(folder);
    }
    assert_true(count >= 100);
}

#define SMALL                                                                                                          \
    "plan: first_write 0\n"                                                                                            \
    "input 0 \"x\": type f32[4], storage 0\n"                                                                          \
    "output 0 \"y\": tensor, place @1 f32[4]\n"                                                                        \
    "storage 0: input, number 0, bytes 16\n"                                                                           \
    "storage 1: output, number 0, bytes 16\n"                                                                          \
    "segment 0: first 0, end 1\n"

static void what_is_wrong_is_named(void **state) {
    (void)state;
    const struct {
        const char *source, *words;
    } cases[] = {
        {"", "line 1: plan was expected"},
        {"network\n", "line 1: plan was expected at 'network'"},
        {"plan: first_write x\n", "line 1: an integer was expected"},
        {"plan: first_write 0, program 12\n", "a hexadecimal digit was expected at ''"},
        {SMALL "stop 0\n", "line 7: a row of the plan was expected at 'stop 0'"},
        {SMALL "step 1 \"a\": @1 f32[4] = unary(@0 f32[4]) {op=exp}\n", "line 7: the row's number before this"},
        {SMALL "step 0 \"a: @1", "line 7: the end of a string"},
        {SMALL "step 0 \"a\\q\": @1", "line 7: an escape before this"},
        {SMALL "step 0 \"a\\x00\": @1", "a byte that is not 0"},
        {SMALL "step 0 \"a\": @1 f32[4] = unari(@0 f32[4]) {op=exp}\n", "a layer before this was expected"},
        {SMALL "step 0 \"a\": @1 f32[4] = unary(@0 f32[4]) {op=add}\n", "an operator of the layer before this"},
        {SMALL "step 0 \"a\": @1 f32[4] = unary(@0 f32[4]) {ox=exp}\n", "an attribute of the layer was expected"},
        {SMALL "step 0 \"a\": @1 f32[4] = unary(@0 f32[4]), state_write 4\n", "a field of the row was expected"},
        {SMALL "step 0 \"a\": @1 f32[4] = unary(@0 f32[4]) state_written 4\n", "the end of the line was expected"},
        {SMALL "step 0 \"a\": @1 f32[4] = unary(@0 f32[4]) {op=exp}, state_written n\n", "symbol 'n' is not declared"},
        {SMALL "step 0 \"a\": @1 f32[n] = unary(@0 f32[4]) {op=exp}\n", "line 7: symbol 'n' is not declared"},
        {SMALL "step 0 \"a\": @1 f32[4] = unary(@0 f32[4])\n", "not valid: step 0 'a': attribute op is missing"},
        {SMALL "step 0 \"a\": @2 f32[4] = unary(@0 f32[4]) {op=exp}\n",
         "not valid: step 0 'a': a result has no storage"},
        {SMALL "segment 1: first 0\n", "line 7: end was expected at ''"},
        {SMALL "storage 2: disk, bytes 3\n", "kind was expected at 'disk"},
        {"plan: first_write 0\nsymbol 0 \"max\": unused\n", "the new name of a symbol before this"},
        {"plan: first_write 0\nsymbol 0 \"s\": unused, min 5, max 4\n", "a min that is no more than max"},
        {"plan: first_write 0\nweight 0 \"w\": f32, bytes -1\n", "a number in its range"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        insitu_diag diag = {.struct_size = sizeof(diag)};
        plan_t *plan;
        assert_int_equal(plan_parse(cases[i].source, &plan, &diag), INSITU_FORMAT);
        assert_null(plan);
        if (!strstr(diag.message, cases[i].words))
            fail_msg("case %zu: '%s' is not in '%s'", i, cases[i].words, diag.message);
    }
}

/* Comments, blanks and empty lines don't matter. */
static void a_plan_can_be_written_by_hand(void **state) {
    (void)state;
    plan_t *plan;
    assert_int_equal(plan_parse("# a plan\n\nplan:first_write 1\n"
                                " input 0 \"x\":type f32[4],storage 0 # read\n"
                                "output 0 \"y\": tensor, place @1 f32[4]\n"
                                "storage 0: input, number 0, bytes 16\r\n"
                                "storage 1: output, number 0, bytes 16\n"
                                "segment 0: first 0, end 1\n"
                                "step 0 \"a\":@1 f32[4]=unary( @0 f32[4] ){op = exp}",
                                &plan, NULL),
                     INSITU_OK);
    assert_int_equal(plan->step_count, 1);
    assert_int_equal(plan->outputs[0].alias, ALIAS_NONE);
    plan_destroy(plan);
}

/* Any part of a text is a plan or is refused. */
static void cut_texts_are_refused(void **state) {
    (void)state;
    plan_t *made = make_deferred_check_plan();
    text_t printed = text_of(made);
    for (size_t size = 0; size < printed.size; size++) {
        plan_t *plan;
        char *part = strndup(printed.data, size);
        if (plan_parse(part, &plan, NULL) == INSITU_OK) plan_destroy(plan);
        free(part);
    }
    text_release(&printed);
    plan_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_plans_read_back),  cmocka_unit_test(plans_of_programs_read_back),
        cmocka_unit_test(what_is_wrong_is_named), cmocka_unit_test(plans_of_golden_networks_read_back),
        cmocka_unit_test(cut_texts_are_refused),  cmocka_unit_test(a_plan_can_be_written_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
