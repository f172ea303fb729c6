/* Which states are indexed by position, and what truncating them gives: the state of the shorter sequence. */
#include "runtime_fixture.h"
#include "saved_calls.h"
#include "small_plans.h"

/* ---- which ---- */

static void states_tell_how_they_are_written(void **state) {
    (void)state;
    static const struct {
        const char *program, *name;
        int32_t axis;
        size_t bytes;
    } expected[] = {
        {"decoder.train.pt2", "layers.1.attention.value_cache", 2, 4 * 2 * 128 * 4},
        {"decoder_dynamic.train.pt2", "layers.0.attention.key_cache", 2, 4 * 2 * 128 * 4},
        {"page_rows.train.pt2", NULL, 2, 4096 * 8},
        {"cached_64.aten.pt2", NULL, 2, 64 * 2 * 4},
        {"item_write.train.pt2", NULL, 1, 0},
        {"history.train.pt2", NULL, -1, 0},
        {"averages.train.pt2", NULL, -1, 0},
        {"rolled.train.pt2", NULL, -1, 0},
        {"buffer_slice.train.pt2", NULL, -1, 0}, /* always the same rows */
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        saved_calls calls;
        insitu_state_info info = {.struct_size = sizeof(info)};
        assert_true(saved_calls_open(&calls, expected[i].program, NULL));
        int32_t index = expected[i].name ? insitu_engine_find_state(calls.engine, expected[i].name) : 0;
        saved_must(&calls, insitu_state_describe(calls.state, index, &info, &calls.diag));
        if (expected[i].name) assert_string_equal(info.name, expected[i].name);
        if (info.position_axis != expected[i].axis)
            fail_msg("%s: %s (%s) has axis %d", calls.name, info.name, info.update, (int)info.position_axis);
        if (expected[i].bytes) assert_int_equal(info.bytes, expected[i].bytes);
        assert_false(info.is_bound);
        assert_true(info.update[0] && info.dtype.bits && info.ndim > 0 && info.sizes[0] > 0);
        saved_calls_close(&calls);
    }
}

/* ---- what ---- */

static insitu_status decode(saved_calls *calls, insitu_state *state, int64_t token, int64_t position) {
    int64_t sizes[] = {1, 1};
    insitu_tensor tokens = dense_tensor(&token, INSITU_DTYPE_I64, sizes, 2);
    insitu_tensor positions = dense_tensor(&position, INSITU_DTYPE_I64, sizes, 1);
    saved_must(calls, insitu_context_set_input(calls->context, 0, &tokens, &calls->diag));
    saved_must(calls, insitu_context_set_input(calls->context, 1, &positions, &calls->diag));
    return insitu_context_run(calls->context, state, NULL, &calls->diag);
}

static void a_truncated_sequence_is_the_shorter_one(void **state) {
    (void)state;
    enum { LENGTH = 9 };
    saved_calls calls;
    insitu_state *forks[LENGTH + 1];
    int32_t snapshot;
    assert_true(saved_calls_open(&calls, "decoder.train.pt2", NULL));
    for (int i = 0; i <= LENGTH; i++) {
        saved_must(&calls, insitu_state_fork(calls.state, NULL, &forks[i], &calls.diag));
        if (i < LENGTH) saved_must(&calls, decode(&calls, calls.state, 11 + 3 * i, i));
    }
    saved_must(&calls, insitu_state_snapshot(calls.state, NULL, &snapshot, &calls.diag));
    for (int rows = LENGTH; rows >= 0; rows--) {
        saved_must(&calls, insitu_state_truncate(calls.state, NULL, rows, NULL, &calls.diag));
        if (!states_are_equal(calls.state, forks[rows])) fail_msg("another state of %d rows", rows);
    }
    saved_must(&calls, insitu_state_restore(calls.state, snapshot, NULL, &calls.diag));
    assert_true(states_are_equal(calls.state, forks[LENGTH]));
    saved_must(&calls, insitu_state_truncate(calls.state, NULL, 1000, NULL, &calls.diag));
    assert_true(states_are_equal(calls.state, forks[LENGTH]));
    /* Goes on as the shorter one would. */
    saved_must(&calls, insitu_state_truncate(calls.state, NULL, 4, NULL, &calls.diag));
    saved_must(&calls, decode(&calls, calls.state, 7, 4));
    saved_must(&calls, decode(&calls, forks[4], 7, 4));
    assert_true(states_are_equal(calls.state, forks[4]));
    for (int i = 0; i <= LENGTH; i++) insitu_state_destroy(forks[i]);
    saved_calls_close(&calls);
}

/* Of one tensor, with initial values that are not zeros; the others stay. */
static plan *make_started_plan(void) {
    static const float start[CACHE_ROWS][CACHE_WIDTH] = {{1}, {2, 2}, {3, 3, 3}, {4, 4, 4, 4}};
    plan *plan = make_small_plan();
    tensor_type table = plan->states[2].type;
    (void)add_weight(plan, "cache", table, start);
    plan->state_storages[2].initial = plan->weight_count - 1;
    plan->states[2].rows = 1; /* axis 0 */
    return plan;
}

static void rows_get_their_initial_values(void **state) {
    (void)state;
    running r;
    float cache[CACHE_ROWS][CACHE_WIDTH];
    int64_t five = 5, counter;
    running_of_plan(&r, make_started_plan());
    for (size_t i = 0; i < COUNT_OF(cache); i++)
        for (size_t j = 0; j < CACHE_WIDTH; j++) cache[i][j] = 9;
    must_run(&r, insitu_state_write(r.state, "cache", cache, sizeof(cache), &r.diag));
    must_run(&r, insitu_state_write(r.state, "counter", &five, sizeof(five), &r.diag));
    must_run(&r, insitu_state_truncate(r.state, "cache", 2, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "cache", cache, sizeof(cache), &r.diag));
    assert_true(cache[1][7] == 9 && cache[2][2] == 3 && cache[2][3] == 0 && cache[3][3] == 4 && cache[3][4] == 0);
    must_fail(&r, insitu_state_truncate(r.state, NULL, 0, NULL, &r.diag), INSITU_ARG,
              "is not indexed by position: its update is 'none'; nothing is cut");
    must_run(&r, insitu_state_truncate(r.state, "cache", 0, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "cache", cache, sizeof(cache), &r.diag));
    must_run(&r, insitu_state_read(r.state, "counter", &counter, sizeof(counter), &r.diag));
    assert_true(cache[0][0] == 1 && cache[0][1] == 0 && counter == 5);
    must_fail(&r, insitu_state_truncate(r.state, "counter", 0, NULL, &r.diag), INSITU_ARG,
              "state 'counter' is not indexed by position");
    must_fail(&r, insitu_state_truncate(r.state, "cash", 0, NULL, &r.diag), INSITU_ARG, "no state 'cash'");
    must_fail(&r, insitu_state_truncate(r.state, "cache", -1, NULL, &r.diag), INSITU_ARG, "can't be cut to -1 rows");
    running_stop(&r);
    saved_calls calls;
    assert_true(saved_calls_open(&calls, "history.train.pt2", NULL));
    assert_int_equal(insitu_state_truncate(calls.state, NULL, 0, NULL, &calls.diag), INSITU_ARG);
    assert_non_null(strstr(calls.diag.message, "no state that is indexed by position"));
    saved_calls_close(&calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_tell_how_they_are_written),
        cmocka_unit_test(a_truncated_sequence_is_the_shorter_one),
        cmocka_unit_test(rows_get_their_initial_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
