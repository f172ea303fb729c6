/* Mutated buffers: in the engine's states, in the caller's hands, or frozen; and that all three are the same program. */
#include "alias_fixture.h"

#include "saved_calls.h"
#include <math.h>
#include <pthread.h>
#include <unistd.h>

enum { HEADS = 2, LENGTH = 8, WIDTH = 4, CACHE = HEADS * LENGTH * WIDTH, LINE = HEADS * WIDTH };

static insitu_compile_options owned_by(insitu_state_owner owner) {
    insitu_compile_options options = new_options();
    options.state = owner;
    return options;
}

static void read_state(fixture_t *f, const char *name, void *data, size_t size) {
    must(f, insitu_state_read(f->state, name, data, size, &f->diag));
}

static void *address_of(fixture_t *f, const char *name) {
    insitu_tensor tensor;
    must(f, insitu_state_tensor(f->state, insitu_engine_find_state(f->engine, name), &tensor, &f->diag));
    return data_of(&tensor);
}

static void run_slice(fixture_t *f, float value) {
    static float line[LINE];
    fill(line, LINE, value);
    set(f, "row", line);
    run(f);
}

/* ---- owned ---- */

static void states_have_the_names_of_buffers(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "buffer_slice.train.pt2", NULL);
    float cache[CACHE], zeros[CACHE] = {0};
    assert_int_equal(insitu_engine_find_state(f.engine, "cache"), 0);
    must(&f, insitu_state_write(f.state, "cache", zeros, sizeof(zeros), &f.diag));
    run_slice(&f, 3);
    read_state(&f, "cache", cache, sizeof(cache));
    for (int i = 0; i < CACHE; i++) {
        int head = i / (LENGTH * WIDTH), row = i / WIDTH % LENGTH;
        assert_true(cache[i] == (row == 3 ? 3 : head == 1 && row >= 6 ? 6 : 0));
    }
    insitu_tensor tensor;
    must(&f, insitu_state_tensor(f.state, 0, &tensor, &f.diag));
    assert_memory_equal(data_of(&tensor), cache, sizeof(cache));
    close_fixture(&f);
}

static void states_keep_their_address(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "buffer_slice.train.pt2", NULL);
    float zeros[CACHE] = {0};
    void *address = address_of(&f, "cache");
    must(&f, insitu_state_write(f.state, "cache", zeros, sizeof(zeros), &f.diag));
    assert_ptr_equal(address_of(&f, "cache"), address);
    run_slice(&f, 1);
    must(&f, insitu_state_reset(f.state, NULL, &f.diag));
    assert_ptr_equal(address_of(&f, "cache"), address);
    close_fixture(&f);
}

static void two_states_are_two_sequences(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "buffer_slice.train.pt2", NULL);
    insitu_state *other;
    float before[CACHE], after[CACHE];
    must(&f, insitu_state_create(f.engine, &other, &f.diag));
    must(&f, insitu_state_read(other, "cache", before, sizeof(before), &f.diag));
    run_slice(&f, 9);
    must(&f, insitu_state_read(other, "cache", after, sizeof(after), &f.diag));
    assert_memory_equal(before, after, sizeof(before));
    insitu_state_destroy(other);
    close_fixture(&f);
}

static void the_programs_own_value_stays(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "buffer_slice.train.pt2", NULL);
    insitu_engine *again;
    insitu_state *fresh;
    float first[CACHE], second[CACHE];
    read_state(&f, "cache", first, sizeof(first));
    run_slice(&f, 9);
    must(&f, insitu_program_compile(f.program, NULL, &again, &f.diag));
    must(&f, insitu_state_create(again, &fresh, &f.diag));
    must(&f, insitu_state_read(fresh, "cache", second, sizeof(second), &f.diag));
    assert_memory_equal(first, second, sizeof(first));
    insitu_state_destroy(fresh);
    insitu_engine_destroy(again);
    close_fixture(&f);
}

static void states_begin_as_saved(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "name_clash.train.pt2", NULL);
    float input[6] = {0}, values[6];
    static const float expected[6] = {2, 4, 6, 8, 10, 12}; /* (0..5) * 2 + 1 * 2 */
    set(&f, "buf_a_cache", input);
    for (int round = 0; round < 2; round++) {
        read_state(&f, "a.cache", values, sizeof(values));
        for (int i = 0; i < 6; i++) assert_true(values[i] == (float)i);
        run(&f);
        insitu_tensor out = output_of(&f, 0);
        assert_memory_equal(data_of(&out), expected, sizeof(expected));
        must(&f, insitu_state_reset(f.state, NULL, &f.diag));
    }
    close_fixture(&f);
}

static void read_buffers_are_no_states(void **state) {
    (void)state;
    for (int owner = INSITU_STATE_OWNED; owner <= INSITU_STATE_CALLER; owner++) {
        insitu_compile_options options = owned_by((insitu_state_owner)owner);
        fixture_t f;
        open_fixture(&f, "name_clash.train.pt2", &options);
        assert_int_equal(insitu_engine_find_state(f.engine, "scale"), -1);
        assert_int_equal(insitu_engine_find_input(f.engine, "buf_scale"), -1);
        assert_int_equal(insitu_engine_alias_count(f.engine), owner == INSITU_STATE_CALLER ? 2 : 0);
        close_fixture(&f);
    }
}

/* ---- frozen and the caller's ---- */

static void frozen_states_begin_anew(void **state) {
    (void)state;
    insitu_compile_options options = owned_by(INSITU_STATE_FROZEN);
    fixture_t f;
    open_fixture(&f, "ring_counter.train.pt2", &options);
    assert_int_equal(insitu_engine_input_count(f.engine), 1);
    assert_int_equal(insitu_engine_output_count(f.engine), 2);
    assert_int_equal(insitu_engine_state_count(f.engine), 0);
    assert_int_equal(insitu_engine_alias_count(f.engine), 0);
    float line[LINE];
    for (int call = 0; call < 3; call++) {
        fill(line, LINE, (float)call + 1);
        set(&f, "x", line);
        run(&f);
        assert_true(number_of(&f, 0) == (float)call + 1);
        insitu_tensor position = output_of(&f, 1);
        assert_true(*(int64_t *)data_of(&position) == 2);
    }
    close_fixture(&f);
}

static void lifted_states_are_inputs(void **state) {
    (void)state;
    insitu_compile_options options = owned_by(INSITU_STATE_CALLER);
    fixture_t f;
    open_fixture(&f, "buffer_slice.train.pt2", &options);
    assert_int_equal(insitu_engine_state_count(f.engine), 0);
    assert_int_equal(insitu_engine_input_count(f.engine), 2);
    assert_int_equal(insitu_engine_find_input(f.engine, "row"), 0);
    assert_int_equal(insitu_engine_find_input(f.engine, "buf_cache"), 1);
    assert_int_equal(insitu_engine_alias_count(f.engine), 1);
    assert_string_equal(alias_of(&f, 0).input, "buf_cache");
    assert_true(prints(&f, "json", "\"row%buf_cache\",\"mutated.buf_cache%output.0\""));
    close_fixture(&f);
    const insitu_mutated_input named = {.input = "buf_cache", .output = "cache"};
    options.mutated_inputs = &named;
    options.mutated_input_count = 1;
    open_fixture(&f, "buffer_slice.aten.pt2", &options);
    assert_int_equal(insitu_engine_output_count(f.engine), 2);
    assert_string_equal(insitu_engine_aliased_input(f.engine, "cache"), "buf_cache");
    close_fixture(&f);
}

static void lifted_states_are_threaded(void **state) {
    (void)state;
    insitu_compile_options options = owned_by(INSITU_STATE_CALLER);
    fixture_t f, owned;
    open_fixture(&f, "buffer_slice.train.pt2", &options);
    open_fixture(&owned, "buffer_slice.train.pt2", NULL);
    static const float values[] = {1, 5, 0};
    float cache[CACHE], held[CACHE];
    insitu_tensor initial;
    const char *name;
    must(&f, insitu_engine_buffer(f.engine, 0, &name, &initial, &f.diag));
    assert_string_equal(name, "buf_cache");
    memcpy(cache, data_of(&initial), sizeof(cache));
    set(&f, "buf_cache", cache);
    for (size_t i = 0; i < 3; i++) {
        run_slice(&f, values[i]);
        run_slice(&owned, values[i]);
        read_state(&owned, "cache", held, sizeof(held));
        assert_memory_equal(cache, held, sizeof(cache));
        assert_true(cache[3 * WIDTH] == values[i]);
    }
    close_fixture(&owned);
    close_fixture(&f);
}

static void a_buffer_written_twice_is_one_alias(void **state) {
    (void)state;
    insitu_compile_options options = owned_by(INSITU_STATE_CALLER);
    fixture_t f;
    open_fixture(&f, "buffer_slice.train.pt2", &options);
    assert_int_equal(insitu_engine_alias_count(f.engine), 1);
    assert_int_equal(insitu_engine_report_count(f.engine), 1);
    close_fixture(&f);
    open_fixture(&f, "buffer_slice.train.pt2", NULL);
    assert_int_equal(insitu_engine_report_count(f.engine), 1);
    close_fixture(&f);
}

static void lifted_names_never_clash(void **state) {
    (void)state;
    insitu_compile_options options = owned_by(INSITU_STATE_CALLER);
    fixture_t f;
    open_fixture(&f, "name_clash.train.pt2", &options);
    static const char *const names[] = {"buf_a_cache", "buf_a_cache_1", "buf_a_cache_2"};
    assert_int_equal(insitu_engine_input_count(f.engine), 3);
    for (int32_t i = 0; i < 3; i++) assert_int_equal(insitu_engine_find_input(f.engine, names[i]), i);
    float input[6] = {0}, ones[6] = {1, 1, 1, 1, 1, 1}, counted[6] = {0, 1, 2, 3, 4, 5};
    set(&f, "buf_a_cache", input); /* a_cache comes first in the program, then a.cache */
    set(&f, "buf_a_cache_1", ones);
    set(&f, "buf_a_cache_2", counted);
    run(&f);
    assert_true(number_of(&f, 0) == 2 && ones[5] == 2 && counted[5] == 5);
    close_fixture(&f);
}

static void names_of(fixture_t *f, char *out, size_t size) {
    size_t used = 0;
    for (int32_t i = 0; i < insitu_engine_input_count(f->engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        must(f, insitu_engine_input(f->engine, i, &info, &f->diag));
        used += (size_t)snprintf(out + used, size - used, "%s ", info.name);
    }
}

static void user_inputs_keep_their_order(void **state) {
    (void)state;
    static const struct {
        const char *file, *names, *lifted;
    } cases[] = {{"returned_twice.train.pt2", "x y ", ""},
                 {"buffer_slice.train.pt2", "row ", "buf_cache "},
                 {"two_caches.train.pt2", "row first second ", "buf_keys buf_values "}};
    for (size_t i = 0; i < 9; i++) {
        insitu_state_owner owner = (insitu_state_owner)(i % 3);
        insitu_compile_options options = owned_by(owner);
        fixture_t f;
        char names[256], expected[256];
        open_fixture(&f, cases[i / 3].file, &options);
        names_of(&f, names, sizeof(names));
        snprintf(expected, sizeof(expected), "%s%s", cases[i / 3].names,
                 owner == INSITU_STATE_CALLER ? cases[i / 3].lifted : "");
        assert_string_equal(names, expected);
        close_fixture(&f);
    }
}

static void lifted_states_keep_their_order(void **state) {
    (void)state;
    static const char *const files[] = {"two_caches.train.pt2", "two_caches.train.pt2", "two_caches.aten.pt2"};
    char first[256] = "", names[256];
    for (size_t i = 0; i < 3; i++) {
        insitu_compile_options options = owned_by(INSITU_STATE_CALLER);
        fixture_t f;
        open_fixture(&f, files[i], &options);
        names_of(&f, names, sizeof(names));
        if (i == 0) memcpy(first, names, sizeof(names));
        assert_string_equal(names, first);
        close_fixture(&f);
    }
}

/* ---- all owners are one program ---- */

enum { CALLS = 20, MAX_STATES = 8 };

typedef struct held_states { /* the caller's tensors for what the engine would own */
    void *data[MAX_STATES];
    size_t size[MAX_STATES];
    int32_t count;
} held_states_t;

static void hold_states(saved_calls_t *calls, held_states_t *held) {
    for (int32_t i = 0; i < insitu_engine_buffer_count(calls->engine); i++) {
        const char *name;
        insitu_tensor initial;
        saved_must(calls, insitu_engine_buffer(calls->engine, i, &name, &initial, &calls->diag));
        int32_t input = insitu_engine_find_input(calls->engine, name);
        if (input < 0) continue;
        assert_true(held->count < MAX_STATES);
        size_t size = initial.dtype.bits / 8;
        for (int32_t d = 0; d < initial.ndim; d++) size *= (size_t)initial.shape[d];
        void *copy = malloc(size + 1);
        assert_non_null(copy);
        memcpy(copy, data_of(&initial), size);
        held->data[held->count] = initial.data = copy;
        held->size[held->count++] = size;
        saved_must(calls, insitu_context_set_input(calls->context, input, &initial, &calls->diag));
    }
}

static void expect_equal_outputs(saved_calls_t *owned, saved_calls_t *lifted) {
    for (int32_t i = 0; i < insitu_engine_output_count(owned->engine); i++) {
        insitu_tensor one, other;
        saved_must(owned, insitu_context_output(owned->context, i, &one, &owned->diag));
        saved_must(lifted, insitu_context_output(lifted->context, i, &other, &lifted->diag));
        size_t size = one.dtype.bits / 8;
        for (int32_t d = 0; d < one.ndim; d++) size *= (size_t)one.shape[d];
        if (size) assert_memory_equal(data_of(&one), data_of(&other), size);
    }
}

static void compare_owners(const char *file) {
    insitu_compile_options options = owned_by(INSITU_STATE_CALLER);
    saved_calls_t owned, lifted;
    held_states_t held = {0};
    assert_true(saved_calls_open(&owned, file, NULL));
    assert_true(saved_calls_open(&lifted, file, &options));
    assert_int_equal(insitu_engine_state_count(lifted.engine), 0);
    hold_states(&lifted, &held);
    assert_int_equal(held.count, insitu_engine_state_count(owned.engine));
    for (uint32_t call = 0; call < CALLS; call++) {
        saved_must(&owned, saved_calls_run(&owned, owned.context, owned.state, call % owned.call_count));
        saved_must(&lifted, saved_calls_run(&lifted, lifted.context, lifted.state, call % owned.call_count));
        expect_equal_outputs(&owned, &lifted);
        for (int32_t i = 0; i < held.count; i++) {
            insitu_tensor tensor;
            saved_must(&owned, insitu_state_tensor(owned.state, i, &tensor, &owned.diag));
            assert_memory_equal(data_of(&tensor), held.data[i], held.size[i]);
        }
    }
    for (int32_t i = 0; i < held.count; i++) free(held.data[i]);
    saved_calls_close(&lifted);
    saved_calls_close(&owned);
}

static void owners_give_equal_bytes(void **state) {
    (void)state;
    static const char *const files[] = {"decoder.train.pt2",      "buffer_slice.aten.pt2",  "history.train.pt2",
                                        "ring_counter.train.pt2", "delay.train.pt2",        "averages.train.pt2",
                                        "cached_64.train.pt2",    "two_caches.train.pt2",   "streaming.train.pt2",
                                        "static_cache.train.pt2", "position_cache.aten.pt2"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) compare_owners(files[i]);
}

/* ---- sequences, files, threads ---- */

static void attend(fixture_t *f, insitu_state *sequence, int64_t position, float *out) {
    static float query[4], row[2], value[2];
    for (int i = 0; i < 4; i++) query[i] = (float)(i + 1);
    row[0] = value[1] = (float)position + 1;
    row[1] = value[0] = 0.5f - (float)position;
    set(f, "query", query);
    set(f, "key", row);
    set(f, "value", value);
    set(f, "position", &position);
    must(f, insitu_context_run(f->context, sequence, NULL, &f->diag));
    insitu_tensor result = output_of(f, 0);
    memcpy(out, data_of(&result), 4 * sizeof(float));
}

static void fresh_states_know_nothing(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "cached_64.train.pt2", NULL);
    insitu_state *other;
    float alone[4], after[4], largest = 0;
    must(&f, insitu_state_create(f.engine, &other, &f.diag));
    attend(&f, f.state, 1, alone);
    attend(&f, other, 0, after);
    attend(&f, other, 1, after);
    for (int i = 0; i < 4; i++) {
        assert_false(isnan(alone[i]) || isnan(after[i]));
        largest = fmaxf(largest, fabsf(alone[i] - after[i]));
    }
    assert_true(largest > 1e-3f);
    insitu_state_destroy(other);
    close_fixture(&f);
}

static const char *saved_path; /* of the process that is run again */
static const float streamed[] = {1, 5, 0};

/* Where the second process leaves its state after each call, the first one looks for it. */
static void state_path(const char *engine_path, size_t call, char *out, size_t size) {
    snprintf(out, size, "%s.%zu", engine_path, call);
}

static void states_go_on_as_they_were_saved(void **state) {
    (void)state;
    fixture_t f;
    char path[128];
    open_saved(&f, saved_path);
    assert_int_equal(insitu_engine_state_count(f.engine), 1);
    insitu_value_info info = {.struct_size = sizeof(info)};
    must(&f, insitu_engine_state(f.engine, 0, &info, &f.diag));
    assert_string_equal(info.name, "cache");
    assert_true(info.ndim == 4 && info.sizes[1] == HEADS && info.sizes[2] == LENGTH && info.sizes[3] == WIDTH);
    for (size_t i = 0; i < 3; i++) {
        run_slice(&f, streamed[i]);
        state_path(saved_path, i, path, sizeof(path));
        must(&f, insitu_state_save(f.state, path, &f.diag));
    }
    close_fixture(&f);
}

static void saved_engines_keep_states(void **state) {
    (void)state;
    fixture_t f;
    insitu_state *other;
    char path[] = "/tmp/insitu_test_XXXXXX", saved[128];
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    open_fixture(&f, "buffer_slice.train.pt2", NULL);
    must(&f, insitu_engine_save(f.engine, path, &f.diag));
    run_again_with(path);
    must(&f, insitu_state_create(f.engine, &other, &f.diag));
    for (size_t i = 0; i < 3; i++) {
        float cache[CACHE];
        run_slice(&f, streamed[i]);
        state_path(path, i, saved, sizeof(saved));
        must(&f, insitu_state_load(other, saved, &f.diag));
        assert_true(states_are_equal(f.state, other));
        read_state(&f, "cache", cache, sizeof(cache));
        assert_true(cache[3 * WIDTH] == streamed[i]);
        remove(saved);
    }
    insitu_state_destroy(other);
    close_fixture(&f);
    remove(path);
}

typedef struct caller {
    const insitu_engine *engine;
    insitu_state *state;
    int done, refused, wrong;
} caller_t;

static void *call_often(void *argument) {
    caller_t *caller = argument;
    insitu_context *context;
    float line[LINE] = {0};
    int64_t shape[3] = {2, 1, 4};
    insitu_tensor x = tensor_of(line, INSITU_DTYPE_F32, 3, shape);
    if (insitu_context_create(caller->engine, &context, NULL) != INSITU_OK ||
        insitu_context_set_input(context, 0, &x, NULL) != INSITU_OK) {
        caller->wrong++;
        return NULL;
    }
    for (int i = 0; i < 500; i++) {
        insitu_status status = insitu_context_run(context, caller->state, NULL, NULL);
        caller->done += status == INSITU_OK;
        caller->refused += status == INSITU_ARG;
        caller->wrong += status != INSITU_OK && status != INSITU_ARG;
    }
    insitu_context_destroy(context);
    return NULL;
}

/* The number of calls that a counter in the state has seen is that of the calls that were not refused. */
static void threads_share_engines_not_states(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "ring_counter.train.pt2", NULL);
    for (int shared = 0; shared < 2; shared++) {
        pthread_t threads[2];
        insitu_state *states[2];
        caller_t callers[2];
        must(&f, insitu_state_create(f.engine, &states[0], &f.diag));
        must(&f, insitu_state_create(f.engine, &states[1], &f.diag));
        for (int i = 0; i < 2; i++) {
            callers[i] = (caller_t){.engine = f.engine, .state = states[shared ? 0 : i]};
            assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
        }
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
        int64_t seen[2];
        for (int i = 0; i < 2; i++) {
            assert_int_equal(callers[i].wrong, 0);
            if (!shared) assert_int_equal(callers[i].refused, 0);
            must(&f, insitu_state_read(states[i], "position", &seen[i], sizeof(seen[i]), &f.diag));
            insitu_state_destroy(states[i]);
        }
        assert_int_equal(seen[0] + seen[1] - 2, callers[0].done + callers[1].done);
    }
    close_fixture(&f);
}

/* Caches that a plain object holds are saved as constants; eager PyTorch's results are stored beside the program. */
static void caches_of_plain_objects_are_states(void **state) {
    (void)state;
    saved_calls_t calls;
    assert_true(saved_calls_open(&calls, "static_cache.train.pt2", NULL));
    assert_int_equal(insitu_engine_state_count(calls.engine), 2);
    for (uint32_t call = 0; call < calls.call_count; call++) {
        char key[64];
        insitu_tensor out;
        saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, call));
        saved_must(&calls, insitu_context_output(calls.context, 0, &out, &calls.diag));
        snprintf(key, sizeof(key), "call%u.output.0", call);
        uint32_t index = map_find(&calls.values.names, key);
        assert_true(index != NONE);
        for (size_t i = 0; i < calls.values.tensors[index].size / sizeof(float); i++) {
            float expected;
            memcpy(&expected, calls.values.tensors[index].data + i * sizeof(float), sizeof(expected));
            assert_true(fabsf(((float *)data_of(&out))[i] - expected) < 1e-5f);
        }
        insitu_run_stats stats = {.struct_size = sizeof(stats)};
        saved_must(&calls, insitu_context_stats(calls.context, &stats, &calls.diag));
        assert_int_equal(stats.state_bytes_copied, 0);
    }
    saved_calls_close(&calls);
}

int main(int argc, char **argv) {
    const struct CMUnitTest again[] = {cmocka_unit_test(states_go_on_as_they_were_saved)};
    saved_path = argc > 1 ? argv[1] : NULL;
    if (saved_path) return cmocka_run_group_tests(again, NULL, NULL);
    const struct CMUnitTest tests[] = {
        ROW("row 19: a buffer that is written twice is one row of the report and one alias",
            a_buffer_written_twice_is_one_alias),
        ROW("row 21: a mutated buffer is read and written by its own name between calls",
            states_have_the_names_of_buffers),
        ROW("row 22: setting a state or resetting it keeps its address", states_keep_their_address),
        ROW("row 23: two states of an engine know nothing of each other", two_states_are_two_sequences),
        ROW("row 24: running changes neither the program nor its initial values", the_programs_own_value_stays),
        ROW("row 25: frozen: no states, no aliases, and no call sees another", frozen_states_begin_anew),
        ROW("row 26: caller: buf_NAME is an input after the program's own, with its alias", lifted_states_are_inputs),
        ROW("row 27: caller: calls on one tensor carry the state on, as an owned state does",
            lifted_states_are_threaded),
        ROW("row 28: names of lifted buffers never clash with each other or with an input", lifted_names_never_clash),
        ROW("row 29: a buffer that is only read is no state and no input", read_buffers_are_no_states),
        ROW("row 30: the program's inputs keep their names and order, whatever is lifted",
            user_inputs_keep_their_order),
        ROW("row 31: lifted buffers have one order in each compilation and form", lifted_states_keep_their_order),
        ROW("row 32: a state begins as the program was saved, and is so again after a reset", states_begin_as_saved),
        cmocka_unit_test(threads_share_engines_not_states),
        ROW("row 53: states of an engine that another process loads go on in the same way", saved_engines_keep_states),
        ROW("row 84: a fresh state is not one that has been run: position 1 alone differs from 0 and 1",
            fresh_states_know_nothing),
        ROW("row 87: caches held by plain objects, saved as constants, are states, equal to eager PyTorch",
            caches_of_plain_objects_are_states),
        cmocka_unit_test(owners_give_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
