/* A saved program that is ready to run through the public interface, for tests of aliased inputs and outputs. */
#ifndef ALIAS_FIXTURE_H
#define ALIAS_FIXTURE_H

#include "unit_test.h"

#include <insitu/insitu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA TEST_SOURCE_DIR "/data/"
#define ROW(words, test) {words, test, NULL, NULL, NULL} /* "row 3: what is promised": docs/aliased-io.md */

typedef struct fixture {
    insitu_program *program;
    insitu_engine *engine;
    insitu_state *state;
    insitu_context *context;
    insitu_diag diag;
} fixture_t;

static inline void must(fixture_t *f, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), f->diag.message);
}

static inline void must_fail(const fixture_t *f, insitu_status status, insitu_status expected, const char *words) {
    if (status != expected || !strstr(f->diag.message, words))
        fail_msg("%s: '%s' where %s with '%s' was expected", insitu_status_name(status), f->diag.message,
                 insitu_status_name(expected), words);
}

static inline insitu_compile_options new_options(void) {
    insitu_compile_options options;
    insitu_compile_options_init(&options);
    return options;
}

/* Compiles a program of tests/data; options NULL: defaults. */
static inline insitu_status compile_fixture(fixture_t *f, const char *file, const insitu_compile_options *options) {
    char path[512];
    *f = (fixture_t){0};
    insitu_diag_init(&f->diag);
    snprintf(path, sizeof(path), DATA "%s", file);
    must(f, insitu_program_load(path, &f->program, &f->diag));
    return insitu_program_compile(f->program, options, &f->engine, &f->diag);
}

static inline void open_fixture(fixture_t *f, const char *file, const insitu_compile_options *options) {
    must(f, compile_fixture(f, file, options));
    must(f, insitu_state_create(f->engine, &f->state, &f->diag));
    must(f, insitu_context_create(f->engine, &f->context, &f->diag));
}

static inline void open_mutated(fixture_t *f, const char *file, const insitu_mutated_input *rows, int32_t count) {
    insitu_compile_options options = new_options();
    options.mutated_inputs = rows;
    options.mutated_input_count = count;
    open_fixture(f, file, &options);
}

/* A program as text, without states. */
static inline void open_text(fixture_t *f, const char *source) {
    insitu_network *network;
    *f = (fixture_t){0};
    insitu_diag_init(&f->diag);
    must(f, insitu_network_parse(source, &network, &f->diag));
    must(f, insitu_network_compile(network, NULL, &f->engine, &f->diag));
    insitu_network_destroy(network);
    must(f, insitu_context_create(f->engine, &f->context, &f->diag));
}

static inline void close_fixture(fixture_t *f) {
    insitu_context_destroy(f->context);
    insitu_state_destroy(f->state);
    insitu_engine_destroy(f->engine);
    insitu_program_destroy(f->program);
    insitu_diag_release(&f->diag);
}

static inline void expect_refusal(const char *file, const insitu_compile_options *options, insitu_status expected,
                                  const char *words) {
    fixture_t f;
    must_fail(&f, compile_fixture(&f, file, options), expected, words);
    assert_null(f.engine);
    close_fixture(&f);
}

static inline void refuse_rows(const char *file, const insitu_mutated_input *rows, int32_t count,
                               insitu_status expected, const char *words) {
    insitu_compile_options options = new_options();
    options.mutated_inputs = rows;
    options.mutated_input_count = count;
    expect_refusal(file, &options, expected, words);
}

#define BY_NAME(in, out) {.input = in, .output = out}
#define REFUSE(file, expected, words, ...)                                                                             \
    do {                                                                                                               \
        const insitu_mutated_input rows[] = {__VA_ARGS__};                                                             \
        refuse_rows(file, rows, (int32_t)(sizeof(rows) / sizeof(rows[0])), expected, words);                           \
    } while (0)

/* ---- tensors ---- */

static inline insitu_tensor tensor_of(void *data, insitu_dtype type, int32_t ndim, int64_t *shape) {
    return (insitu_tensor){.data = data, .device = {INSITU_DEVICE_CPU, 0}, .ndim = ndim, .dtype = type, .shape = shape};
}

static inline insitu_status try_set(fixture_t *f, const char *name, const insitu_tensor *tensor) {
    return insitu_context_set_input(f->context, insitu_engine_find_input(f->engine, name), tensor, &f->diag);
}

/* A dense tensor of the sizes that the engine declares, which are constants. */
static inline void set(fixture_t *f, const char *name, void *data) {
    insitu_value_info info = {.struct_size = sizeof(info)};
    must(f, insitu_engine_input(f->engine, insitu_engine_find_input(f->engine, name), &info, &f->diag));
    insitu_tensor tensor = tensor_of(data, info.dtype, info.ndim, (int64_t *)(uintptr_t)info.sizes);
    must(f, try_set(f, name, &tensor));
}

static inline insitu_status try_run(fixture_t *f) { return insitu_context_run(f->context, f->state, NULL, &f->diag); }
static inline void run(fixture_t *f) { must(f, try_run(f)); }

static inline insitu_tensor output_of(fixture_t *f, int32_t index) {
    insitu_tensor tensor;
    must(f, insitu_context_output(f->context, index, &tensor, &f->diag));
    return tensor;
}

static inline void *data_of(const insitu_tensor *tensor) { return (char *)tensor->data + tensor->byte_offset; }

static inline float number_of(fixture_t *f, int32_t index) {
    insitu_tensor tensor = output_of(f, index);
    float number;
    memcpy(&number, data_of(&tensor), sizeof(number));
    return number;
}

static inline insitu_run_stats stats_of(fixture_t *f) {
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    must(f, insitu_context_stats(f->context, &stats, &f->diag));
    return stats;
}

static inline insitu_alias alias_of(fixture_t *f, int32_t index) {
    insitu_alias alias = {.struct_size = sizeof(alias)};
    must(f, insitu_engine_alias(f->engine, index, &alias, &f->diag));
    return alias;
}

static inline void fill(float *data, size_t count, float value) {
    for (size_t i = 0; i < count; i++) data[i] = value;
}

/* The text of insitu_engine_print has the words. */
static inline bool prints(fixture_t *f, const char *what, const char *words) {
    char *text;
    must(f, insitu_engine_print(f->engine, what, &text, &f->diag));
    bool has_words = strstr(text, words) != NULL;
    insitu_text_free(text);
    return has_words;
}

/* ---- a fresh process ---- */

/* The test program is run again, with the path as its one argument, and succeeds. */
static inline void run_again_with(const char *path) {
    int result;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "again", path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

/* What the second process has of the first: the engine file. */
static inline void open_saved(fixture_t *f, const char *path) {
    *f = (fixture_t){0};
    insitu_diag_init(&f->diag);
    must(f, insitu_engine_load(path, NULL, &f->engine, &f->diag));
    must(f, insitu_state_create(f->engine, &f->state, &f->diag));
    must(f, insitu_context_create(f->engine, &f->context, &f->diag));
}

/* ---- the log ---- */

typedef struct kept_log {
    char text[2048];
    int count; /* of warnings */
} kept_log_t;

static inline void keep_warning(void *user, int level, const char *text) {
    kept_log_t *log = user;
    size_t used = strlen(log->text);
    if (level != 1) return;
    log->count++;
    snprintf(log->text + used, sizeof(log->text) - used, "%s", text);
}

#endif
