/* Every public function is called without what it needs: one that fails says what that is, in a sentence that begins with
 * its name; the others answer with nothing. The headers are read to find a function that this file forgets. */
#include "null_network.h"
#include "small_plans.h"

#include "engine/engine.h"

static void open_walk(walk_t *w) {
    memset(w, 0, sizeof(*w));
    insitu_diag_init(&w->diag);
    assert_int_equal(engine_create(make_small_plan(), device_cpu(), NULL, 0, &w->engine, &w->diag), INSITU_OK);
    assert_int_equal(insitu_state_create(w->engine, &w->state, &w->diag), INSITU_OK);
    assert_int_equal(insitu_context_create(w->engine, &w->context, &w->diag), INSITU_OK);
    assert_int_equal(insitu_module_create(w->engine, &w->module, &w->diag), INSITU_OK);
    assert_int_equal(insitu_program_load(TEST_SOURCE_DIR "/data/rolled.train.pt2", &w->program, &w->diag), INSITU_OK);
    assert_int_equal(insitu_network_create(&w->network, &w->diag), INSITU_OK);
}

static void close_walk(walk_t *w) {
    insitu_network_destroy(w->network);
    insitu_program_destroy(w->program);
    insitu_module_destroy(w->module);
    insitu_context_destroy(w->context);
    insitu_state_destroy(w->state);
    insitu_engine_destroy(w->engine);
    insitu_diag_release(&w->diag);
}

/* ---- one header after the other; what a failing function gives out is NULL then ---- */

static void walk_program(walk_t *w) {
    insitu_program *program = w->program;
    insitu_engine *engine = w->engine;
    char *text = (char *)w;
    refused(w, "insitu_program_load", insitu_program_load(NULL, &program, &w->diag));
    assert_null(program);
    refused(w, "insitu_program_load", insitu_program_load("x", NULL, &w->diag));
    program = w->program;
    refused(w, "insitu_program_load_memory", insitu_program_load_memory(NULL, 1, &program, &w->diag));
    assert_null(program);
    refused(w, "insitu_program_load_memory", insitu_program_load_memory("x", 1, NULL, &w->diag));
    refused(w, "insitu_program_print", insitu_program_print(NULL, NULL, &text, &w->diag));
    assert_null(text);
    refused(w, "insitu_program_print", insitu_program_print(w->program, NULL, NULL, &w->diag));
    refused(w, "insitu_program_compile", insitu_program_compile(NULL, NULL, &engine, &w->diag));
    assert_null(engine);
    refused(w, "insitu_program_compile", insitu_program_compile(w->program, NULL, NULL, &w->diag));
    insitu_program_destroy(NULL);
    saw(w, "insitu_program_destroy");
    insitu_compile_options_init(NULL);
    saw(w, "insitu_compile_options_init");
}

static void walk_engine(walk_t *w) {
    insitu_engine *engine = w->engine;
    refused(w, "insitu_engine_load", insitu_engine_load(NULL, NULL, &engine, &w->diag));
    assert_null(engine);
    refused(w, "insitu_engine_load", insitu_engine_load("x", NULL, NULL, &w->diag));
    engine = w->engine;
    refused(w, "insitu_engine_load_memory", insitu_engine_load_memory(NULL, 1, NULL, &engine, &w->diag));
    assert_null(engine);
    refused(w, "insitu_engine_load_memory", insitu_engine_load_memory("x", 1, NULL, NULL, &w->diag));
    refused(w, "insitu_engine_save", insitu_engine_save(NULL, "x", &w->diag));
    refused(w, "insitu_engine_save", insitu_engine_save(w->engine, NULL, &w->diag));
    insitu_engine_destroy(NULL);
    saw(w, "insitu_engine_destroy");
    insitu_text_free(NULL);
    saw(w, "insitu_text_free");
}

static void walk_questions(walk_t *w) {
    insitu_value_info info = {.struct_size = sizeof(info)}, no_size = {0};
    insitu_report_row row = {.struct_size = sizeof(row)}, no_row_size = {0};
    const char *name = "x";
    char *text = (char *)w;
    insitu_tensor tensor = {.data = w};
    refused(w, "insitu_engine_input", insitu_engine_input(NULL, 0, &info, &w->diag));
    refused(w, "insitu_engine_input", insitu_engine_input(w->engine, 0, NULL, &w->diag));
    refused(w, "insitu_engine_input", insitu_engine_input(w->engine, 0, &no_size, &w->diag));
    refused(w, "insitu_engine_output", insitu_engine_output(NULL, 0, &info, &w->diag));
    refused(w, "insitu_engine_output", insitu_engine_output(w->engine, 0, NULL, &w->diag));
    refused(w, "insitu_engine_state", insitu_engine_state(NULL, 0, &info, &w->diag));
    refused(w, "insitu_engine_state", insitu_engine_state(w->engine, 0, NULL, &w->diag));
    refused(w, "insitu_engine_report", insitu_engine_report(NULL, 0, &row, &w->diag));
    refused(w, "insitu_engine_report", insitu_engine_report(w->engine, 0, NULL, &w->diag));
    refused(w, "insitu_engine_report", insitu_engine_report(w->engine, 0, &no_row_size, &w->diag));
    refused(w, "insitu_engine_buffer", insitu_engine_buffer(NULL, 0, &name, &tensor, &w->diag));
    assert_true(name == NULL && tensor.data == NULL);
    refused(w, "insitu_engine_buffer", insitu_engine_buffer(w->engine, 0, NULL, &tensor, &w->diag));
    refused(w, "insitu_engine_buffer", insitu_engine_buffer(w->engine, 0, &name, NULL, &w->diag));
    insitu_alias alias = {.struct_size = sizeof(alias)}, no_alias_size = {0};
    refused(w, "insitu_engine_alias", insitu_engine_alias(NULL, 0, &alias, &w->diag));
    refused(w, "insitu_engine_alias", insitu_engine_alias(w->engine, 0, NULL, &w->diag));
    refused(w, "insitu_engine_alias", insitu_engine_alias(w->engine, 0, &no_alias_size, &w->diag));
    refused(w, "insitu_engine_print", insitu_engine_print(NULL, "plan", &text, &w->diag));
    assert_null(text);
    refused(w, "insitu_engine_print", insitu_engine_print(w->engine, NULL, &text, &w->diag));
    refused(w, "insitu_engine_print", insitu_engine_print(w->engine, "plan", NULL, &w->diag));
}

static void walk_answers(walk_t *w) {
    answered(w, "insitu_engine_input_count", insitu_engine_input_count(NULL) == 0);
    answered(w, "insitu_engine_output_count", insitu_engine_output_count(NULL) == 0);
    answered(w, "insitu_engine_state_count", insitu_engine_state_count(NULL) == 0);
    answered(w, "insitu_engine_buffer_count", insitu_engine_buffer_count(NULL) == 0);
    answered(w, "insitu_engine_report_count", insitu_engine_report_count(NULL) == 0);
    answered(w, "insitu_engine_find_input", insitu_engine_find_input(NULL, "x") == -1);
    answered(w, "insitu_engine_find_input", insitu_engine_find_input(w->engine, NULL) == -1);
    answered(w, "insitu_engine_find_output", insitu_engine_find_output(NULL, "x") == -1);
    answered(w, "insitu_engine_find_output", insitu_engine_find_output(w->engine, NULL) == -1);
    answered(w, "insitu_engine_find_state", insitu_engine_find_state(NULL, "x") == -1);
    answered(w, "insitu_engine_find_state", insitu_engine_find_state(w->engine, NULL) == -1);
    answered(w, "insitu_engine_is_cached", !insitu_engine_is_cached(NULL));
    answered(w, "insitu_device_name", !insitu_device_name(-1));
    answered(w, "insitu_engine_device", !insitu_engine_device(NULL));
    answered(w, "insitu_engine_alias_count", insitu_engine_alias_count(NULL) == 0);
    answered(w, "insitu_alias_kind_name", strcmp(insitu_alias_kind_name((insitu_alias_kind)9), "unknown") == 0);
    answered(w, "insitu_engine_aliased_input", insitu_engine_aliased_input(NULL, "x") == NULL);
    answered(w, "insitu_engine_aliased_input", insitu_engine_aliased_input(w->engine, NULL) == NULL);
    answered(w, "insitu_engine_input_is_written", !insitu_engine_input_is_written(NULL, "x"));
    answered(w, "insitu_engine_input_is_written", !insitu_engine_input_is_written(w->engine, NULL));
    answered(w, "insitu_state_count", insitu_state_count(NULL) == 0);
    answered(w, "insitu_state_engine", insitu_state_engine(NULL) == NULL);
    answered(w, "insitu_module_state", insitu_module_state(NULL) == NULL);
    answered(w, "insitu_module_context", insitu_module_context(NULL) == NULL);
    answered(w, "insitu_status_name", strcmp(insitu_status_name((insitu_status)99), "UNKNOWN") == 0);
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", INSITU_VERSION_MAJOR, INSITU_VERSION_MINOR, INSITU_VERSION_PATCH);
    answered(w, "insitu_version", strcmp(insitu_version(), version) == 0);
    insitu_log_set(NULL, NULL);
    saw(w, "insitu_log_set");
    insitu_diag_init(NULL);
    saw(w, "insitu_diag_init");
    insitu_diag_release(NULL);
    saw(w, "insitu_diag_release");
}

static void walk_state(walk_t *w) {
    insitu_state *state = w->state;
    insitu_tensor tensor = {.data = w};
    char data[8] = {0};
    refused(w, "insitu_state_create", insitu_state_create(NULL, &state, &w->diag));
    assert_null(state);
    refused(w, "insitu_state_create", insitu_state_create(w->engine, NULL, &w->diag));
    refused(w, "insitu_state_create_sized", insitu_state_create_sized(NULL, NULL, 0, &state, &w->diag));
    refused(w, "insitu_state_create_sized", insitu_state_create_sized(w->engine, NULL, 1, &state, &w->diag));
    refused(w, "insitu_state_create_sized", insitu_state_create_sized(w->engine, NULL, 0, NULL, &w->diag));
    insitu_state_destroy(NULL);
    saw(w, "insitu_state_destroy");
    refused(w, "insitu_state_reset", insitu_state_reset(NULL, NULL, &w->diag));
    state = w->state;
    refused(w, "insitu_state_fork", insitu_state_fork(NULL, NULL, &state, &w->diag));
    assert_null(state);
    refused(w, "insitu_state_fork", insitu_state_fork(w->state, NULL, NULL, &w->diag));
    refused(w, "insitu_state_save", insitu_state_save(NULL, "x", &w->diag));
    refused(w, "insitu_state_save", insitu_state_save(w->state, NULL, &w->diag));
    refused(w, "insitu_state_save_all", insitu_state_save_all(NULL, "x", &w->diag));
    refused(w, "insitu_state_save_all", insitu_state_save_all(w->state, NULL, &w->diag));
    refused(w, "insitu_state_load", insitu_state_load(NULL, "x", &w->diag));
    refused(w, "insitu_state_load", insitu_state_load(w->state, NULL, &w->diag));
    refused(w, "insitu_state_tensor", insitu_state_tensor(NULL, 0, &tensor, &w->diag));
    assert_null(tensor.data);
    refused(w, "insitu_state_tensor", insitu_state_tensor(w->state, 0, NULL, &w->diag));
    refused(w, "insitu_state_read", insitu_state_read(NULL, "counter", data, 8, &w->diag));
    refused(w, "insitu_state_read", insitu_state_read(w->state, NULL, data, 8, &w->diag));
    refused(w, "insitu_state_read", insitu_state_read(w->state, "counter", NULL, 8, &w->diag));
    refused(w, "insitu_state_write", insitu_state_write(NULL, "counter", data, 8, &w->diag));
    refused(w, "insitu_state_write", insitu_state_write(w->state, NULL, data, 8, &w->diag));
    refused(w, "insitu_state_write", insitu_state_write(w->state, "counter", NULL, 8, &w->diag));
    refused(w, "insitu_state_describe",
            insitu_state_describe(NULL, 0, &(insitu_state_info){.struct_size = 64}, &w->diag));
    refused(w, "insitu_state_describe", insitu_state_describe(w->state, 0, NULL, &w->diag));
    refused(w, "insitu_state_describe", insitu_state_describe(w->state, 0, &(insitu_state_info){0}, &w->diag));
    refused(w, "insitu_state_truncate", insitu_state_truncate(NULL, NULL, 0, NULL, &w->diag));
    const insitu_contents contents = INSITU_CONTENTS_OF_STATE;
    refused(w, "insitu_state_bind", insitu_state_bind(NULL, "counter", &tensor, contents, NULL, &w->diag));
    refused(w, "insitu_state_bind", insitu_state_bind(w->state, NULL, &tensor, contents, NULL, &w->diag));
    refused(w, "insitu_state_bind", insitu_state_bind(w->state, "counter", NULL, contents, NULL, &w->diag));
    refused(w, "insitu_state_unbind", insitu_state_unbind(NULL, "counter", NULL, &w->diag));
    refused(w, "insitu_state_unbind", insitu_state_unbind(w->state, NULL, NULL, &w->diag));
    int32_t snapshot;
    refused(w, "insitu_state_snapshot", insitu_state_snapshot(NULL, NULL, &snapshot, &w->diag));
    refused(w, "insitu_state_snapshot", insitu_state_snapshot(w->state, NULL, NULL, &w->diag));
    refused(w, "insitu_state_restore", insitu_state_restore(NULL, 0, NULL, &w->diag));
    refused(w, "insitu_state_discard", insitu_state_discard(NULL, 0, &w->diag));
}

static void walk_context(walk_t *w) {
    insitu_context *context = w->context;
    insitu_tensor tensor = {.data = w};
    insitu_run_stats stats = {.struct_size = sizeof(stats)}, no_size = {0};
    int32_t ndim = 7;
    int64_t sizes[12];
    refused(w, "insitu_context_create", insitu_context_create(NULL, &context, &w->diag));
    assert_null(context);
    refused(w, "insitu_context_create", insitu_context_create(w->engine, NULL, &w->diag));
    insitu_context_destroy(NULL);
    saw(w, "insitu_context_destroy");
    refused(w, "insitu_context_set_input", insitu_context_set_input(NULL, 0, &tensor, &w->diag));
    refused(w, "insitu_context_set_input", insitu_context_set_input(w->context, 0, NULL, &w->diag));
    refused(w, "insitu_context_set_output", insitu_context_set_output(NULL, 0, &tensor, &w->diag));
    refused(w, "insitu_context_preallocate_outputs", insitu_context_preallocate_outputs(NULL, true, &w->diag));
    refused(w, "insitu_context_output_shape", insitu_context_output_shape(NULL, 0, &ndim, sizes, &w->diag));
    assert_int_equal(ndim, 0);
    refused(w, "insitu_context_output_shape", insitu_context_output_shape(w->context, 0, NULL, sizes, &w->diag));
    refused(w, "insitu_context_output_shape", insitu_context_output_shape(w->context, 0, &ndim, NULL, &w->diag));
    refused(w, "insitu_context_run", insitu_context_run(NULL, w->state, NULL, &w->diag));
    refused(w, "insitu_context_read_output", insitu_context_read_output(w->context, 0, NULL, 4, &w->diag));
    refused(w, "insitu_context_synchronize", insitu_context_synchronize(NULL, NULL, &w->diag));
    refused(w, "insitu_context_output", insitu_context_output(NULL, 0, &tensor, &w->diag));
    assert_null(tensor.data);
    refused(w, "insitu_context_output", insitu_context_output(w->context, 0, NULL, &w->diag));
    refused(w, "insitu_context_stats", insitu_context_stats(NULL, &stats, &w->diag));
    refused(w, "insitu_context_stats", insitu_context_stats(w->context, NULL, &w->diag));
    refused(w, "insitu_context_stats", insitu_context_stats(w->context, &no_size, &w->diag));
}

static void walk_module(walk_t *w) {
    insitu_module *module = w->module;
    insitu_tensor tensors[8] = {{0}};
    refused(w, "insitu_module_create", insitu_module_create(NULL, &module, &w->diag));
    assert_null(module);
    refused(w, "insitu_module_create", insitu_module_create(w->engine, NULL, &w->diag));
    insitu_module_destroy(NULL);
    saw(w, "insitu_module_destroy");
    refused(w, "insitu_module_call", insitu_module_call(NULL, tensors, tensors, &w->diag));
    refused(w, "insitu_module_call", insitu_module_call(w->module, NULL, tensors, &w->diag));
    refused(w, "insitu_module_call", insitu_module_call(w->module, tensors, NULL, &w->diag));
}

/* ---- the headers ---- */

static bool was_seen(const walk_t *w, const char *name, size_t size) {
    for (size_t i = 0; i < w->count; i++)
        if (strlen(w->seen[i]) == size && memcmp(w->seen[i], name, size) == 0) return true;
    return false;
}

/* The function's name is the first one after INSITU_API that a parenthesis follows. Returns how many there are. */
static size_t check_header(const walk_t *w, const char *header) {
    char path[512];
    file_map_t *map;
    size_t count = 0;
    snprintf(path, sizeof(path), "%s/../include/insitu/%s", TEST_SOURCE_DIR, header);
    assert_int_equal(file_map_open(path, &map, NULL), INSITU_OK);
    const char *at = (const char *)map->data, *end = at + map->size;
    while ((at = memmem(at, (size_t)(end - at), "INSITU_API ", 11)) != NULL) {
        const char *open = memchr(at, '(', (size_t)(end - at)), *name = open;
        assert_non_null(open);
        while (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z') || (name[-1] >= '0' && name[-1] <= '9')) name--;
        at = open;
        if (strncmp(name, "insitu_", 7) != 0) continue; /* the macro's own definition */
        if (!was_seen(w, name, (size_t)(open - name))) fail_msg("%s: %.*s", header, (int)(open - name), name);
        count++;
    }
    file_map_release(map);
    return count;
}

static void every_function_says_what_it_needs(void **state) {
    (void)state;
    static const char *const headers[] = {"context.h", "engine.h", "log.h",     "module.h", "program.h",
                                          "state.h",   "status.h", "network.h", "layers.h", "version.h"};
    size_t count = 0;
    walk_t w;
    open_walk(&w);
    walk_program(&w);
    walk_engine(&w);
    walk_questions(&w);
    walk_answers(&w);
    walk_state(&w);
    walk_context(&w);
    walk_module(&w);
    walk_network(&w);
    for (size_t i = 0; i < COUNT_OF(headers); i++) count += check_header(&w, headers[i]);
    assert_true(count >= 120);
    close_walk(&w);
}

/* A diagnostic is never needed. */
static void no_diagnostic_is_needed(void **state) {
    (void)state;
    insitu_engine *engine;
    insitu_state *made;
    assert_int_equal(insitu_engine_load(NULL, NULL, &engine, NULL), INSITU_ARG);
    assert_int_equal(insitu_engine_load("/nonexistent/engine", NULL, &engine, NULL), INSITU_IO);
    assert_int_equal(insitu_state_create(NULL, &made, NULL), INSITU_ARG);
    assert_int_equal(insitu_context_run(NULL, NULL, NULL, NULL), INSITU_ARG);
}

static void options_without_a_size_are_refused(void **state) {
    (void)state;
    static const insitu_load_options load = {.verify_weights = true};
    static const insitu_compile_options compile = {.strict = true};
    walk_t w;
    insitu_engine *engine;
    open_walk(&w);
    assert_int_equal(insitu_engine_load(TEST_SOURCE_DIR "/data/rolled.train.pt2", &load, &engine, &w.diag), INSITU_ARG);
    assert_non_null(strstr(w.diag.message, "load options have struct_size 0"));
    assert_int_equal(insitu_program_compile(w.program, &compile, &engine, &w.diag), INSITU_ARG);
    assert_non_null(strstr(w.diag.message, "compile options have struct_size 0"));
    close_walk(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_says_what_it_needs),
        cmocka_unit_test(no_diagnostic_is_needed),
        cmocka_unit_test(options_without_a_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
