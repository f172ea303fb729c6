/* States in the caller's memory: the same bytes as in the state's own, what is refused, and the way back. */
#include "runtime_fixture.h"
#include "saved_calls.h"
#include "small_plans.h"

enum { CALLS = 20, MAX_STATES = 16 };

/* ---- equal bytes ---- */

/* The caller's memory for each state that has a block of its own; NULL for others. */
static void bind_all(saved_calls_t *calls, insitu_state *state, insitu_contents contents, void **out_memory) {
    int32_t count = insitu_state_count(state);
    assert_in_range(count, 0, MAX_STATES);
    for (int32_t i = 0; i < count; i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        insitu_tensor tensor;
        saved_must(calls, insitu_engine_state(calls->engine, i, &info, &calls->diag));
        saved_must(calls, insitu_state_tensor(state, i, &tensor, &calls->diag));
        size_t bytes = tensor.dtype.bits / 8;
        for (int32_t dim = 0; dim < tensor.ndim; dim++) bytes *= (size_t)tensor.shape[dim];
        const void *before = tensor.data;
        tensor.data = out_memory[i] = malloc(bytes + 1);
        assert_non_null(tensor.data);
        if (contents == INSITU_CONTENTS_OF_MEMORY) memcpy(tensor.data, before, bytes);
        insitu_status status = insitu_state_bind(state, info.name, &tensor, contents, NULL, &calls->diag);
        if (status == INSITU_OK) {
            saved_must(calls, insitu_state_tensor(state, i, &tensor, &calls->diag));
            if (bytes) assert_ptr_equal(tensor.data, out_memory[i]);
            continue;
        }
        assert_int_equal(status, INSITU_ARG); /* part of a block */
        assert_non_null(strstr(calls->diag.message, "it can't lie alone"));
        free(out_memory[i]);
        out_memory[i] = NULL;
    }
}

static void unbind_all(saved_calls_t *calls, insitu_state *state, void **memory) {
    for (int32_t i = 0; i < insitu_state_count(state); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        saved_must(calls, insitu_engine_state(calls->engine, i, &info, &calls->diag));
        saved_must(calls, insitu_state_unbind(state, info.name, NULL, &calls->diag));
        free(memory[i]);
    }
}

static int check_program(const char *name) {
    saved_calls_t calls;
    insitu_state *other;
    void *memory[MAX_STATES] = {0};
    if (!saved_calls_open(&calls, name, NULL)) fail_msg("%s has no stored values", name);
    saved_must(&calls, insitu_state_create(calls.engine, &other, &calls.diag));
    bind_all(&calls, other, strlen(name) % 2 ? INSITU_CONTENTS_OF_STATE : INSITU_CONTENTS_OF_MEMORY, memory);
    int bound = 0;
    for (size_t i = 0; i < MAX_STATES; i++) bound += memory[i] != NULL;
    for (uint32_t i = 0; i < CALLS && calls.call_count; i++) {
        uint32_t call = i % calls.call_count;
        insitu_status status = saved_calls_run(&calls, calls.context, calls.state, call);
        assert_int_equal(saved_calls_run(&calls, calls.context, other, call), status);
        if (!states_are_equal(calls.state, other)) fail_msg("%s: other bytes in the caller's memory", name);
    }
    unbind_all(&calls, other, memory);
    if (!states_are_equal(calls.state, other)) fail_msg("%s: other bytes after unbinding", name);
    if (calls.call_count) {
        insitu_status status = saved_calls_run(&calls, calls.context, calls.state, 0);
        assert_int_equal(saved_calls_run(&calls, calls.context, other, 0), status);
    }
    if (!states_are_equal(calls.state, other)) fail_msg("%s: other bytes in a call after unbinding", name);
    insitu_state_destroy(other);
    saved_calls_close(&calls);
    return bound > 0;
}

static void bound_and_own_memory_get_equal_bytes(void **state) {
    (void)state;
    char **names = saved_programs();
    int checked = 0;
    for (char **name = names; *name; name++)
        if (strncmp(*name, "unsupported.", 12) != 0) checked += check_program(*name);
    assert_true(checked >= 20);
    saved_programs_release(names);
}

/* ---- verbs on bound memory ---- */

static void verbs_work_on_bound_memory(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_small_plan());
    float memory[CACHE_WIDTH] = {3, 3}, ones[CACHE_WIDTH] = {1, 1}, read[CACHE_WIDTH];
    int64_t sizes[] = {CACHE_WIDTH};
    insitu_tensor tensor = dense_tensor(memory, INSITU_DTYPE_F32, sizes, 1), own;
    insitu_state *fork;
    must_run(&r, insitu_state_bind(r.state, "history", &tensor, INSITU_CONTENTS_OF_MEMORY, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "history", read, sizeof(read), &r.diag));
    assert_true(read[0] == 3);
    must_run(&r, insitu_state_reset(r.state, NULL, &r.diag));
    assert_memory_equal(memory, small_initial, sizeof(memory));
    must_run(&r, insitu_state_fork(r.state, NULL, &fork, &r.diag));
    must_run(&r, insitu_state_write(r.state, "history", ones, sizeof(ones), &r.diag));
    assert_memory_equal(memory, ones, sizeof(memory));
    must_run(&r, insitu_state_read(fork, "history", read, sizeof(read), &r.diag));
    assert_memory_equal(read, small_initial, sizeof(read));
    insitu_state_destroy(fork);
    /* Other memory, with the state's contents; then back. */
    float second[CACHE_WIDTH] = {0};
    tensor.data = second;
    must_run(&r, insitu_state_bind(r.state, "history", &tensor, INSITU_CONTENTS_OF_STATE, NULL, &r.diag));
    assert_memory_equal(second, ones, sizeof(second));
    must_run(&r, insitu_state_unbind(r.state, "history", NULL, &r.diag));
    must_run(&r, insitu_state_unbind(r.state, "history", NULL, &r.diag));
    must_run(&r, insitu_state_tensor(r.state, 1, &own, &r.diag));
    assert_ptr_not_equal(own.data, second);
    assert_memory_equal(own.data, ones, sizeof(ones));
    assert_int_equal((uintptr_t)own.data % 64, 0);
    must_run(&r, insitu_state_bind(r.state, "history", &tensor, INSITU_CONTENTS_OF_STATE, NULL, &r.diag));
    running_stop(&r); /* leaves the caller's memory alone */
    assert_memory_equal(second, ones, sizeof(second));
}

/* ---- refusals ---- */

static void memory_that_does_not_fit_is_refused(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_small_plan());
    float memory[2 * CACHE_WIDTH] = {0};
    int64_t sizes[] = {CACHE_WIDTH}, short_sizes[] = {CACHE_WIDTH - 1}, strides[] = {2};
    insitu_tensor good = dense_tensor(memory, INSITU_DTYPE_F32, sizes, 1), own, cache, bad[8];
    for (size_t i = 0; i < COUNT_OF(bad); i++) bad[i] = good;
    bad[0].dtype = INSITU_DTYPE_I32;
    bad[1].shape = short_sizes;
    bad[2].ndim = 0;
    bad[3].strides = strides;
    bad[4].data = NULL;
    bad[5].byte_offset = 1;
    bad[6].device.device_type = INSITU_DEVICE_CUDA;
    must_run(&r, insitu_state_tensor(r.state, 2, &cache, &r.diag));
    bad[7].data = cache.data;
    const struct {
        insitu_status status;
        const char *words;
    } expected[] = {
        {INSITU_ARG, "state 'history' has dtype i32 where f32 was expected"},
        {INSITU_SHAPE, "state 'history' has size 8 in dimension 0 where 7 was given"},
        {INSITU_SHAPE, "state 'history' has 1 dimensions where 0 were given"},
        {INSITU_SHAPE, "state 'history' was given other strides"},
        {INSITU_ARG, "state 'history' has no data"},
        {INSITU_ARG, "state 'history' is not aligned"},
        {INSITU_ARG, "state 'history' is not in CPU memory"},
        {INSITU_ARG, "the memory given to state 'history' overlaps that of state 'cache'"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        must_fail(&r, insitu_state_bind(r.state, "history", &bad[i], INSITU_CONTENTS_OF_STATE, NULL, &r.diag),
                  expected[i].status, expected[i].words);
    must_fail(&r, insitu_state_bind(r.state, "story", &good, INSITU_CONTENTS_OF_STATE, NULL, &r.diag), INSITU_ARG,
              "the engine has no state 'story'");
    must_run(&r, insitu_state_tensor(r.state, 1, &own, &r.diag));
    must_fail(&r, insitu_state_bind(r.state, "history", &own, INSITU_CONTENTS_OF_MEMORY, NULL, &r.diag), INSITU_ARG,
              "the memory given to state 'history' overlaps that of state 'history'");
    must_fail(&r, insitu_state_unbind(r.state, "story", NULL, &r.diag), INSITU_ARG, "the engine has no state 'story'");
    must_fail(&r, insitu_state_bind(r.state, "history", &good, (insitu_contents)7, NULL, &r.diag), INSITU_ARG,
              "7 does not say whose contents");
    int32_t snapshot;
    must_run(&r, insitu_state_snapshot(r.state, NULL, &snapshot, &r.diag));
    must_fail(&r, insitu_state_bind(r.state, "history", &good, INSITU_CONTENTS_OF_STATE, NULL, &r.diag), INSITU_ARG,
              "can't move while a snapshot is open");
    must_run(&r, insitu_state_tensor(r.state, 1, &own, &r.diag));
    assert_memory_equal(own.data, small_initial, sizeof(small_initial));
    running_stop(&r);
}

/* An input that lies in the memory of a state that the call writes. */
static void bound_memory_is_no_input_of_the_call(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_small_plan());
    float memory[CACHE_WIDTH] = {0}, x[CACHE_WIDTH] = {0}, row[CACHE_WIDTH] = {0};
    int64_t sizes[] = {1, CACHE_WIDTH}, position = 0;
    insitu_tensor tensor = dense_tensor(memory, INSITU_DTYPE_F32, sizes + 1, 1);
    running_input(&r, "x", x, INSITU_DTYPE_F32, sizes, 2);
    running_input(&r, "row", row, INSITU_DTYPE_F32, sizes, 2);
    running_input(&r, "pos", &position, INSITU_DTYPE_I64, sizes, 1);
    running_input(&r, "bias", memory, INSITU_DTYPE_F32, sizes + 1, 1);
    must_run(&r, running_call(&r));
    must_run(&r, insitu_state_bind(r.state, "history", &tensor, INSITU_CONTENTS_OF_STATE, NULL, &r.diag));
    must_fail(&r, running_call(&r), INSITU_ARG, "input 'bias' shares memory with state 'history'");
    running_stop(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_and_own_memory_get_equal_bytes),
        cmocka_unit_test(verbs_work_on_bound_memory),
        cmocka_unit_test(memory_that_does_not_fit_is_refused),
        cmocka_unit_test(bound_memory_is_no_input_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
