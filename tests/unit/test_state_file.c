/* State files that are refused leave the state as it was, and a save that is cut short leaves the old file or the new. */
#include "runtime_fixture.h"
#include "saved_calls.h"
#include "small_plans.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64], path[96];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/insitu_state_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof(path), "%s/state", folder);
    return 0;
}

/* Files of a save that was killed lie beside the good one. */
static int remove_folder(void **state) {
    (void)state;
    DIR *directory = opendir(folder);
    if (!directory) return -1;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.') (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
    return rmdir(folder);
}

/* ---- whole files ---- */

static char *read_file(size_t *out_size) {
    file_map_t *map;
    assert_int_equal(file_map_open(path, &map, NULL), INSITU_OK);
    char *bytes = malloc(map->size + 1);
    assert_non_null(bytes);
    memcpy(bytes, map->data, map->size);
    bytes[map->size] = 0;
    *out_size = map->size;
    file_map_release(map);
    return bytes;
}

static void write_file(const char *bytes, size_t size) {
    int error = 0;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (size) error = fwrite(bytes, size, 1, file) != 1;
    assert_int_equal(fclose(file) | error, 0);
}

/* Every length of a file but its own, in steps. */
static void check_truncated(saved_calls_t *calls, insitu_state *before, size_t step) {
    size_t size;
    saved_must(calls, insitu_state_save_all(calls->state, path, &calls->diag));
    char *bytes = read_file(&size);
    saved_must(calls, saved_calls_run(calls, calls->context, calls->state, 0));
    for (size_t length = 0; length < size; length += step) {
        write_file(bytes, length);
        insitu_diag_release(&calls->diag);
        insitu_status status = insitu_state_load(calls->state, path, &calls->diag);
        if (status != INSITU_FORMAT || !calls->diag.message[0])
            fail_msg("%s: %zu of %zu bytes: %s '%s'", calls->name, length, size, insitu_status_name(status),
                     calls->diag.message);
        if (!states_are_equal(calls->state, before)) fail_msg("%s: changed by %zu bytes", calls->name, length);
    }
    free(bytes);
}

static void truncated_files_are_refused_and_change_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"late_updates.train.pt2", "ring_counter.aten.pt2", "decoder.train.pt2"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        saved_calls_t calls;
        assert_true(saved_calls_open(&calls, names[i], NULL));
        saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
        insitu_state *before;
        saved_must(&calls, insitu_state_fork(calls.state, NULL, &before, &calls.diag));
        saved_must(&calls, saved_calls_run(&calls, calls.context, before, 0));
        check_truncated(&calls, before, i < 2 ? 1 : 61);
        insitu_state_destroy(before);
        saved_calls_close(&calls);
    }
}

/* ---- metadata ---- */

static void edit_file(const char *from, const char *to) {
    size_t size;
    char *bytes = read_file(&size), *place = memmem(bytes, size, from, strlen(from));
    assert_non_null(place);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(place, to, strlen(to));
    write_file(bytes, size);
    free(bytes);
}

static void other_versions_and_programs_are_refused(void **state) {
    (void)state;
    saved_calls_t calls, other;
    assert_true(saved_calls_open(&calls, "late_updates.train.pt2", NULL));
    insitu_state *before;
    saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
    saved_must(&calls, insitu_state_fork(calls.state, NULL, &before, &calls.diag));
    static const struct {
        const char *from, *to;
        insitu_status status;
        const char *words;
    } edits[] = {
        {"\"state_version\":\"1\"", "\"state_version\":\"2\"", INSITU_VERSION,
         "the state file has version 2, and this library reads version 1"},
        {"\"state_version\":\"1\"", "\"state_version\":\"0\"", INSITU_FORMAT, "does not state its state_version"},
        {"\"state_version\":\"1\"", "\"state_version\":\"x\"", INSITU_FORMAT, "does not state its state_version"},
        {"\"state_version\":\"1\"", "\"state_versiom\":\"1\"", INSITU_FORMAT, "does not state its state_version"},
        {"\"program\":\"", "\"progran\":\"", INSITU_FORMAT, "does not state its program"},
        {"\"program\":\"", "\"program\":\"", INSITU_OK, ""},
    };
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        saved_must(&calls, insitu_state_reset(calls.state, NULL, &calls.diag));
        saved_must(&calls, insitu_state_save(calls.state, path, &calls.diag));
        saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
        edit_file(edits[i].from, edits[i].to);
        insitu_status status = insitu_state_load(calls.state, path, &calls.diag);
        assert_int_equal(status, edits[i].status);
        if (status != INSITU_OK) assert_non_null(strstr(calls.diag.message, edits[i].words));
        assert_int_equal(states_are_equal(calls.state, before), status != INSITU_OK);
    }
    /* The same names and shapes, other code: the two forms of one model are two programs. */
    assert_true(saved_calls_open(&other, "late_updates.aten.pt2", NULL));
    saved_must(&other, insitu_state_save(other.state, path, &other.diag));
    saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
    assert_int_equal(insitu_state_load(calls.state, path, &calls.diag), INSITU_ARG);
    assert_non_null(strstr(calls.diag.message, "the state file belongs to another engine"));
    assert_true(states_are_equal(calls.state, before));
    saved_calls_close(&other);
    insitu_state_destroy(before);
    saved_calls_close(&calls);
}

/* Options, and the way through an engine file, make no other program of it. */
static void engines_of_one_program_share_states(void **state) {
    (void)state;
    saved_calls_t calls, other;
    insitu_compile_options options;
    insitu_compile_options_init(&options);
    options.no_inplace = true;
    assert_true(saved_calls_open(&calls, "decoder.train.pt2", NULL));
    assert_true(saved_calls_open(&other, "decoder.train.pt2", &options));
    saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
    saved_must(&calls, insitu_state_save(calls.state, path, &calls.diag));
    saved_must(&other, insitu_state_load(other.state, path, &other.diag));
    assert_true(states_are_equal(calls.state, other.state));
    insitu_engine *loaded;
    insitu_state *third;
    char engine_path[128];
    snprintf(engine_path, sizeof(engine_path), "%s/engine", folder);
    saved_must(&calls, insitu_engine_save(calls.engine, engine_path, &calls.diag));
    saved_must(&calls, insitu_engine_load(engine_path, NULL, &loaded, &calls.diag));
    saved_must(&calls, insitu_state_create(loaded, &third, &calls.diag));
    saved_must(&calls, insitu_state_load(third, path, &calls.diag));
    assert_true(states_are_equal(calls.state, third));
    insitu_state_destroy(third);
    insitu_engine_destroy(loaded);
    saved_calls_close(&other);
    saved_calls_close(&calls);
}

/* ---- kill -9 ---- */

enum { KILLS = 100, TABLE_ROWS = 64, TABLE_BYTES = TABLE_ROWS * 4096 };

static plan_t *make_table_plan(void) {
    plan_t *plan = new_plan();
    tensor_type_t table = dense_type(plan, DTYPE_U8, 1, (sym_t[]){sym_int(&plan->symbols, TABLE_BYTES)});
    (void)add_state(plan, "table", table, NONE);
    return plan;
}

/* An engine and a state of a network's text. */
static void open_network(running_t *r, const char *source) {
    insitu_network *network;
    *r = (running_t){0};
    insitu_diag_init(&r->diag);
    must_run(r, insitu_network_parse(source, &network, &r->diag));
    must_run(r, insitu_network_compile(network, NULL, &r->engine, &r->diag));
    insitu_network_destroy(network);
    must_run(r, insitu_state_create(r->engine, &r->state, &r->diag));
}

/* A caller's byte for true may be any but 0; a saved state is one that can be loaded. */
static void other_bytes_for_true_are_saved_as_1(void **state) {
    (void)state;
    static const char flags[] = "network\n"
                                "input \"x\" = %x: bool[2,2]\n"
                                "state \"flags\" = %flags: bool[2,2] of zeros\n"
                                "next \"flags\" = %x\n";
    running_t r;
    uint8_t given[] = {0, 1, 2, 255}, read[4];
    int64_t sizes[] = {2, 2};
    open_network(&r, flags);
    must_run(&r, insitu_context_create(r.engine, &r.context, &r.diag));
    const insitu_tensor x = {
        .data = given, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 2, .dtype = INSITU_DTYPE_BOOL, .shape = sizes};
    must_run(&r, insitu_context_set_input(r.context, 0, &x, &r.diag));
    must_run(&r, insitu_context_run(r.context, r.state, NULL, &r.diag));
    must_run(&r, insitu_state_save(r.state, path, &r.diag));
    must_run(&r, insitu_state_load(r.state, path, &r.diag));
    must_run(&r, insitu_state_read(r.state, "flags", read, sizeof(read), &r.diag));
    assert_memory_equal(read, ((uint8_t[]){0, 1, 1, 1}), 4);
    insitu_context_destroy(r.context);
    insitu_state_destroy(r.state);
    insitu_engine_destroy(r.engine);
    insitu_diag_release(&r.diag);
}

/* What the format can't hold is said when it is saved, and not when it is needed. */
static void reserved_names_are_refused(void **state) {
    (void)state;
    static const char reserved[] = "network\n"
                                   "input \"x\" = %x: f32[2]\n"
                                   "state \"__metadata__\" = %kept: f32[2] of zeros\n"
                                   "next \"__metadata__\" = %x\n";
    running_t r;
    open_network(&r, reserved);
    write_file("old", 3);
    must_fail(&r, insitu_state_save(r.state, path, &r.diag), INSITU_UNSUPPORTED, "'__metadata__'");
    size_t size;
    char *bytes = read_file(&size);
    assert_true(size == 3 && memcmp(bytes, "old", 3) == 0);
    free(bytes);
    insitu_state_destroy(r.state);
    insitu_engine_destroy(r.engine);
    insitu_diag_release(&r.diag);
}

static void fill_table(running_t *r, int value) {
    static uint8_t bytes[TABLE_BYTES];
    memset(bytes, value, sizeof(bytes));
    must_run(r, insitu_state_write(r->state, "table", bytes, sizeof(bytes), &r->diag));
}

/* Saves tables of ever another byte until it is killed. */
static void save_for_ever(running_t *r, int first) {
    for (int value = first;; value = value % 200 + 1) {
        fill_table(r, value);
        if (insitu_state_save(r->state, path, &r->diag) != INSITU_OK) _exit(1);
    }
}

static int64_t microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool has_temporary(void) {
    bool found = false;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) found |= strncmp(entry->d_name, ".insitu.", 8) == 0;
    (void)closedir(directory);
    return found;
}

static void killed_saves_leave_the_old_or_the_new_file(void **state) {
    (void)state;
    running_t r;
    int changes = 0, last = 0;
    running_of_plan(&r, make_table_plan());
    int64_t start = microseconds();
    for (int i = 0; i < 10; i++) must_run(&r, insitu_state_save(r.state, path, &r.diag));
    int64_t span = (microseconds() - start) / 10 * 3 / 2 + 1000; /* of one save and a half */
    for (int kill_count = 0; kill_count < KILLS; kill_count++) {
        uint8_t *table;
        insitu_tensor tensor;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) save_for_ever(&r, kill_count + 1);
        (void)usleep((useconds_t)(span * (kill_count * 37 % KILLS) / KILLS));
        int result = 0;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_true(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL);
        must_run(&r, insitu_state_load(r.state, path, &r.diag));
        must_run(&r, insitu_state_tensor(r.state, 0, &tensor, &r.diag));
        table = tensor.data;
        for (size_t i = 1; i < TABLE_BYTES; i++)
            if (table[i] != table[0]) fail_msg("kill %d: a mixed file, at byte %zu", kill_count, i);
        if (table[0] == last)
            span += span / 4; /* nothing was saved by then: saves take longer than they did, on a busy disk */
        else
            changes++;
        last = table[0];
    }
    assert_true(changes > KILLS / 10); /* it did save */
    must_run(&r, insitu_state_save(r.state, path, &r.diag));
    assert_false(has_temporary()); /* what the killed ones have left is gone with the next */
    running_stop(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_saves_leave_the_old_or_the_new_file), /* before any threads are started */
        cmocka_unit_test(truncated_files_are_refused_and_change_nothing),
        cmocka_unit_test(other_versions_and_programs_are_refused),
        cmocka_unit_test(reserved_names_are_refused),
        cmocka_unit_test(other_bytes_for_true_are_saved_as_1),
        cmocka_unit_test(engines_of_one_program_share_states),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
