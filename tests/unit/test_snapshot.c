/* Snapshots: what they bring back, what they cost, and what fails without a trace. */
#include "item_plans.h"
#include "runtime_fixture.h"
#include "saved_calls.h"

#include "counting_allocator.h"
#include "runtime/runtime_int.h"

#include <unistd.h>

/* ---- every program ---- */

static int32_t snapshot_of(saved_calls_t *calls) {
    int32_t snapshot;
    saved_must(calls, insitu_state_snapshot(calls->state, NULL, &snapshot, &calls->diag));
    return snapshot;
}

static insitu_state *fork_of(saved_calls_t *calls) {
    insitu_state *fork;
    saved_must(calls, insitu_state_fork(calls->state, NULL, &fork, &calls->diag));
    return fork;
}

static void expect_state(saved_calls_t *calls, insitu_state *expected, const char *when) {
    if (!states_are_equal(calls->state, expected)) fail_msg("%s: another state %s", calls->name, when);
}

/* Where a program's cache is full its calls fail, which changes nothing. */
static void run_calls(saved_calls_t *calls) {
    for (uint32_t call = 0; call < calls->call_count; call++) {
        insitu_status status = saved_calls_run(calls, calls->context, calls->state, call);
        if (status != INSITU_BOUNDS) saved_must(calls, status);
    }
}

/* Three snapshots, one in the other; the middle one is restored twice, the inner one once discarded. */
static void check_program(saved_calls_t *calls) {
    saved_must(calls, saved_calls_run(calls, calls->context, calls->state, 0));
    insitu_state *first = fork_of(calls);
    assert_int_equal(snapshot_of(calls), 0);
    run_calls(calls);
    insitu_state *second = fork_of(calls);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(snapshot_of(calls), 1);
        run_calls(calls);
        assert_int_equal(snapshot_of(calls), 2);
        run_calls(calls);
        if (round) saved_must(calls, insitu_state_discard(calls->state, 2, &calls->diag));
        saved_must(calls, insitu_state_restore(calls->state, 1, NULL, &calls->diag));
        expect_state(calls, second, "after the second snapshot");
    }
    run_calls(calls);
    saved_must(calls, insitu_state_restore(calls->state, 0, NULL, &calls->diag));
    expect_state(calls, first, "after the first snapshot");
    assert_int_equal(insitu_state_restore(calls->state, 0, NULL, &calls->diag), INSITU_ARG);
    insitu_state_destroy(first);
    insitu_state_destroy(second);
}

static void restoring_gives_the_state_of_the_snapshot(void **state) {
    (void)state;
    char **names = saved_programs();
    int checked = 0;
    for (char **name = names; *name; name++) {
        if (strncmp(*name, "unsupported.", 12) == 0) continue;
        for (int copies = 0; copies < 2; copies++) {
            saved_calls_t calls;
            insitu_compile_options options;
            insitu_compile_options_init(&options);
            options.no_inplace = copies == 1;
            if (!saved_calls_open(&calls, *name, &options)) fail_msg("%s has no stored values", *name);
            if (calls.call_count) check_program(&calls);
            checked += calls.call_count && insitu_state_count(calls.state);
            saved_calls_close(&calls);
        }
    }
    assert_true(checked > 50);
    saved_programs_release(names);
}

/* ---- costs ---- */

static int64_t saved_by_call(const char *name) {
    saved_calls_t calls;
    assert_true(saved_calls_open(&calls, name, NULL));
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
    saved_must(&calls, insitu_context_stats(calls.context, &stats, &calls.diag));
    assert_int_equal(stats.snapshot_bytes_saved, 0);
    (void)snapshot_of(&calls);
    saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 1));
    saved_must(&calls, insitu_context_stats(calls.context, &stats, &calls.diag));
    saved_calls_close(&calls);
    return stats.snapshot_bytes_saved;
}

static void what_is_replaced_is_saved_and_no_more(void **state) {
    (void)state;
    assert_int_equal(saved_by_call("cached_64.aten.pt2"), 16);
    assert_int_equal(saved_by_call("cached_512.aten.pt2"), 16);
    assert_int_equal(saved_by_call("decoder.train.pt2"), 128);
    assert_int_equal(saved_by_call("page_rows.train.pt2"), 8192);
}

/* ---- verbs ---- */

static void verbs_save_what_they_replace(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_small_plan());
    int32_t snapshot;
    float line[CACHE_WIDTH] = {7, 7}, read[CACHE_WIDTH];
    int64_t five = 5, counter;
    must_run(&r, insitu_state_write(r.state, "counter", &five, sizeof(five), &r.diag));
    must_run(&r, insitu_state_snapshot(r.state, NULL, &snapshot, &r.diag));
    must_run(&r, insitu_state_write(r.state, "history", line, sizeof(line), &r.diag));
    must_run(&r, insitu_state_reset(r.state, NULL, &r.diag));
    must_run(&r, insitu_state_write(r.state, "history", line, sizeof(line), &r.diag));
    must_run(&r, insitu_state_restore(r.state, snapshot, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "counter", &counter, sizeof(counter), &r.diag));
    must_run(&r, insitu_state_read(r.state, "history", read, sizeof(read), &r.diag));
    assert_int_equal(counter, 5);
    assert_memory_equal(read, small_initial, sizeof(read));
    must_fail(&r, insitu_state_restore(r.state, snapshot, NULL, &r.diag), INSITU_ARG, "snapshot 0 is not open");
    must_fail(&r, insitu_state_discard(r.state, -1, &r.diag), INSITU_ARG, "snapshot -1 is not open");
    running_stop(&r);
}

static void snapshots_are_taken_when_they_are_loaded_over(void **state) {
    (void)state;
    char path[64];
    int32_t snapshot;
    int64_t five = 5, six = 6, counter;
    running_t r;
    running_of_plan(&r, make_small_plan());
    snprintf(path, sizeof(path), "/tmp/insitu_test_snapshot_%ld", (long)getpid());
    must_run(&r, insitu_state_write(r.state, "counter", &six, sizeof(six), &r.diag));
    must_run(&r, insitu_state_save(r.state, path, &r.diag));
    must_run(&r, insitu_state_write(r.state, "counter", &five, sizeof(five), &r.diag));
    must_run(&r, insitu_state_snapshot(r.state, NULL, &snapshot, &r.diag));
    must_run(&r, insitu_state_load(r.state, path, &r.diag));
    must_run(&r, insitu_state_read(r.state, "counter", &counter, sizeof(counter), &r.diag));
    assert_int_equal(counter, 6);
    must_run(&r, insitu_state_restore(r.state, snapshot, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "counter", &counter, sizeof(counter), &r.diag));
    assert_int_equal(counter, 5);
    unlink(path);
    running_stop(&r);
}

/* ---- failures ---- */

/* A call that fails late has changed nothing, and an open snapshot still knows its state. */
static void failed_calls_leave_snapshots_alone(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_deferred_check_plan());
    float row[CACHE_WIDTH] = {1}, written[CACHE_WIDTH] = {0};
    int64_t row_sizes[] = {1, CACHE_WIDTH}, counter;
    int32_t snapshot;
    running_input(&r, "row", row, INSITU_DTYPE_F32, row_sizes, 2);
    running_input(&r, "written", written, INSITU_DTYPE_F32, row_sizes + 1, 1);
    must_run(&r, running_call(&r));
    must_run(&r, insitu_state_snapshot(r.state, NULL, &snapshot, &r.diag));
    must_run(&r, running_call(&r));
    must_run(&r, running_call(&r));
    assert_int_equal(running_stats(&r).snapshot_bytes_saved, 8 + 2 * 32);
    const size_t logged = r.state->log.used;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(running_call(&r), INSITU_BOUNDS);
        assert_int_equal(r.state->log.used, logged);
        must_run(&r, insitu_state_read(r.state, "counter", &counter, sizeof(counter), &r.diag));
        assert_int_equal(counter, 3);
    }
    must_run(&r, insitu_state_restore(r.state, snapshot, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "counter", &counter, sizeof(counter), &r.diag));
    assert_int_equal(counter, 1);
    must_run(&r, running_call(&r));
    running_stop(&r);
}

/* Where a loop stores is known in each round only: all that it may replace is saved, once. */
static void loops_are_taken_back(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_control_plan());
    float row[CACHE_WIDTH] = {1}, cache[4 * CACHE_WIDTH];
    int64_t row_sizes[] = {1, CACHE_WIDTH};
    int32_t snapshot;
    running_input(&r, "row", row, INSITU_DTYPE_F32, row_sizes, 2);
    must_run(&r, running_call(&r));
    must_run(&r, insitu_state_snapshot(r.state, NULL, &snapshot, &r.diag));
    row[0] = 2;
    must_run(&r, running_call(&r));
    assert_int_equal(running_stats(&r).snapshot_bytes_saved, sizeof(cache) + 8);
    assert_int_equal(running_stats(&r).state_bytes_written, 3 * sizeof(row) + 8);
    must_run(&r, insitu_state_read(r.state, "cache", cache, sizeof(cache), &r.diag));
    for (int i = 0; i < 4; i++) assert_true(cache[i * CACHE_WIDTH] == (i < 3 ? 2 : 0));
    must_run(&r, insitu_state_restore(r.state, snapshot, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "cache", cache, sizeof(cache), &r.diag));
    for (int i = 0; i < 4; i++) assert_true(cache[i * CACHE_WIDTH] == (i < 3 ? 1 : 0));
    running_stop(&r);
}

/* Each allocation fails in turn: nothing happened, and it goes on as if nothing had. */
static void nothing_is_lost_when_memory_is_short(void **state) {
    (void)state;
    bool done = false;
    for (uint64_t fail_at = 1; !done; fail_at++) {
        saved_calls_t calls;
        allocation_count_t count = {0};
        int32_t snapshot = -1;
        assert_true(saved_calls_open(&calls, "late_updates.train.pt2", NULL));
        saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
        insitu_state *first = fork_of(&calls);
        count.fail_at = fail_at;
        count_allocations(&count);
        insitu_status status = insitu_state_snapshot(calls.state, NULL, &snapshot, &calls.diag);
        if (status == INSITU_OK) status = saved_calls_run(&calls, calls.context, calls.state, 1);
        if (status == INSITU_OK) status = insitu_state_reset(calls.state, NULL, &calls.diag);
        done = status == INSITU_OK && count.calls < fail_at;
        memory_set_hooks(NULL);
        assert_true(done || status == INSITU_NOMEM);
        if (snapshot >= 0) saved_must(&calls, insitu_state_restore(calls.state, snapshot, NULL, &calls.diag));
        expect_state(&calls, first, "after an allocation had failed");
        insitu_state_destroy(first);
        saved_calls_close(&calls);
    }
}

/* ---- regions ---- */

static void regions_have_few_runs(void **state) {
    (void)state;
    byte_region_t region = region_of(DTYPE_F32, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 4, 1}, 8);
    assert_true(region.rank == 0 && region.run == 96 && region.offset == 8);
    region = region_of(DTYPE_F32, 3, (int64_t[]){4, 2, 3}, (int64_t[]){1, 12, 4}, 0); /* permuted, but dense */
    assert_true(region.rank == 0 && region.run == 96);
    region = region_of(DTYPE_F16, 4, (int64_t[]){1, 8, 1, 64}, (int64_t[]){65536, 8192, 64, 1}, 128);
    assert_true(region.rank == 1 && region.run == 128 && region.counts[0] == 8 && region.steps[0] == 16384);
    region = region_of(DTYPE_F32, 3, (int64_t[]){3, 4, 2}, (int64_t[]){32, 8, 2}, 0); /* every other element */
    assert_true(region.rank == 2 && region.run == 4 && region_bytes(&region) == 96);
    region = region_of(DTYPE_F32, 2, (int64_t[]){5, 2}, (int64_t[]){0, 1}, 0); /* one row, five times */
    assert_true(region.rank == 0 && region.run == 8);
    region = region_of(DTYPE_F32, 2, (int64_t[]){5, 0}, (int64_t[]){1, 1}, 0);
    assert_int_equal(region_bytes(&region), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restoring_gives_the_state_of_the_snapshot),
        cmocka_unit_test(what_is_replaced_is_saved_and_no_more),
        cmocka_unit_test(verbs_save_what_they_replace),
        cmocka_unit_test(snapshots_are_taken_when_they_are_loaded_over),
        cmocka_unit_test(failed_calls_leave_snapshots_alone),
        cmocka_unit_test(loops_are_taken_back),
        cmocka_unit_test(nothing_is_lost_when_memory_is_short),
        cmocka_unit_test(regions_have_few_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
