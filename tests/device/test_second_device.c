/* What plan/device.h promises of a device with memory of its own, asynchronous, and with groups: seen through the public
 * functions on the tests' second device. */
#include "second_device.h"
#include "unit_test.h"

#include <insitu/insitu.h>

/* cache[position] = row after marks += 1; total = 2 * row + 1 through an elementwise chain */
static const char source[] = "network\n"
                             "input \"row\" = %row: f32[4]\n"
                             "input \"position\" = %position: i64[1]\n"
                             "state \"marks\" = %marks: f32[4] of zeros\n"
                             "state \"cache\" = %cache: f32[8,4] of zeros\n"
                             "%one: f32[4] = binary(%marks) {op=add, scalar=1}\n"
                             "%line: f32[1,4] = reshape(%row) {sizes=[1,4]}\n"
                             "%new: f32[8,4] = index_update(%cache, %line, %position) "
                             "{accumulate=false, dims=[0], wrap=false}\n"
                             "%twice: f32[4] = binary(%row) {op=mul, scalar=2.0}\n"
                             "%more: f32[4] = binary(%twice) {op=add, scalar=1}\n"
                             "%total: f32[4] = binary(%more) {op=mul, scalar=1.0}\n"
                             "next \"marks\" = %one\n"
                             "next \"cache\" = %new\n"
                             "output \"output.0\" = %total\n";

typedef struct fixture {
    insitu_diag diag;
    insitu_network *network;
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *state;
    float row[4];
    int64_t position;
} fixture_t;

static void must(fixture_t *f, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), f->diag.message);
}

static void open_fixture(fixture_t *f, bool no_inplace) {
    memset(f, 0, sizeof(*f));
    insitu_diag_init(&f->diag);
    insitu_compile_options options;
    insitu_compile_options_init(&options);
    options.device = "second";
    options.no_inplace = no_inplace;
    must(f, insitu_network_parse(source, &f->network, &f->diag));
    must(f, insitu_network_compile(f->network, &options, &f->engine, &f->diag));
    must(f, insitu_context_create(f->engine, &f->context, &f->diag));
    must(f, insitu_state_create(f->engine, &f->state, &f->diag));
    static const int64_t four = 4, one = 1;
    insitu_tensor row = {.data = f->row, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = INSITU_DTYPE_F32};
    insitu_tensor position = {
        .data = &f->position, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = INSITU_DTYPE_I64};
    row.shape = (int64_t *)(uintptr_t)&four;
    position.shape = (int64_t *)(uintptr_t)&one;
    must(f, insitu_context_set_input(f->context, 0, &row, &f->diag));
    must(f, insitu_context_set_input(f->context, 1, &position, &f->diag));
}

static void close_fixture(fixture_t *f) {
    insitu_context_destroy(f->context);
    insitu_state_destroy(f->state);
    insitu_engine_destroy(f->engine);
    insitu_network_destroy(f->network);
    insitu_diag_release(&f->diag);
}

static insitu_status call(fixture_t *f, int64_t position, float value) {
    f->position = position;
    for (int i = 0; i < 4; i++) f->row[i] = value;
    return insitu_context_run(f->context, f->state, NULL, &f->diag);
}

static void expect_state(fixture_t *f, float marks, const float *rows) {
    float got_marks[4], cache[8][4];
    must(f, insitu_state_read(f->state, "marks", got_marks, sizeof(got_marks), &f->diag));
    must(f, insitu_state_read(f->state, "cache", cache, sizeof(cache), &f->diag));
    for (int i = 0; i < 4; i++) assert_true(got_marks[i] == marks);
    for (int r = 0; r < 8; r++)
        for (int i = 0; i < 4; i++) assert_true(cache[r][i] == rows[r]);
}

static void results_lie_on_the_device_and_are_read_from_there(void **state) {
    for (int no_inplace = 0; no_inplace < 2; no_inplace++) {
        fixture_t f;
        insitu_tensor total;
        float values[4];
        uint32_t groups = second_device_groups();
        (void)state;
        open_fixture(&f, no_inplace);
        assert_string_equal(insitu_engine_device(f.engine), "second");
        must(&f, call(&f, 2, 3));
        must(&f, insitu_context_output(f.context, 0, &total, &f.diag));
        assert_int_equal(total.device.device_type, SECOND_DEVICE_TYPE);
        must(&f, insitu_context_read_output(f.context, 0, values, sizeof(values), &f.diag));
        for (int i = 0; i < 4; i++) assert_true(values[i] == 7);
        assert_int_equal(insitu_context_read_output(f.context, 0, values, 8, &f.diag), INSITU_SHAPE);
        expect_state(&f, 1, (float[8]){0, 0, 3});
        assert_true(second_device_groups() > groups);
        close_fixture(&f);
    }
}

static void a_call_that_fails_later_has_written_nothing_and_neither_have_those_behind_it(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, false);
    must(&f, call(&f, 0, 1));
    second_device_hold(true);
    must(&f, call(&f, 8, 2)); /* outside: nobody knows yet */
    must(&f, call(&f, 1, 3));
    second_device_hold(false);
    assert_int_equal(insitu_context_synchronize(f.context, f.state, &f.diag), INSITU_BOUNDS);
    must(&f, insitu_context_synchronize(f.context, f.state, &f.diag)); /* it is told once */
    expect_state(&f, 1, (float[8]){1});
    must(&f, call(&f, 1, 3));
    expect_state(&f, 2, (float[8]){1, 3});
    close_fixture(&f);
}

static void verbs_wait_and_tell(void **state) {
    (void)state;
    fixture_t f;
    float marks[4];
    open_fixture(&f, false);
    must(&f, call(&f, 9, 2));
    assert_int_equal(insitu_state_read(f.state, "marks", marks, sizeof(marks), &f.diag), INSITU_BOUNDS);
    must(&f, call(&f, 9, 2));
    assert_int_equal(insitu_state_reset(f.state, NULL, &f.diag), INSITU_BOUNDS);
    must(&f, insitu_state_reset(f.state, NULL, &f.diag));
    expect_state(&f, 0, (float[8]){0});
    close_fixture(&f);
}

static void snapshots_forks_and_truncation_work_there(void **state) {
    (void)state;
    fixture_t f;
    int32_t snapshot;
    insitu_state *fork;
    open_fixture(&f, false);
    must(&f, call(&f, 0, 1));
    must(&f, insitu_state_snapshot(f.state, NULL, &snapshot, &f.diag));
    must(&f, call(&f, 1, 2));
    must(&f, call(&f, 0, 5));
    must(&f, call(&f, 8, 6)); /* fails later, and the log still tells the old values */
    assert_int_equal(insitu_context_synchronize(f.context, f.state, &f.diag), INSITU_BOUNDS);
    expect_state(&f, 3, (float[8]){5, 2});
    must(&f, insitu_state_fork(f.state, NULL, &fork, &f.diag));
    must(&f, insitu_state_restore(f.state, snapshot, NULL, &f.diag));
    expect_state(&f, 1, (float[8]){1});
    insitu_state_destroy(f.state);
    f.state = fork;
    expect_state(&f, 3, (float[8]){5, 2});
    must(&f, insitu_state_truncate(f.state, "cache", 1, NULL, &f.diag));
    expect_state(&f, 3, (float[8]){5});
    close_fixture(&f);
}

static void host_memory_for_outputs_is_filled_when_the_call_returns(void **state) {
    (void)state;
    fixture_t f;
    float values[8] = {0};
    static const int64_t four = 4, two = 2;
    open_fixture(&f, false);
    insitu_tensor target = {.data = values, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = INSITU_DTYPE_F32};
    target.shape = (int64_t *)(uintptr_t)&four;
    target.strides = (int64_t *)(uintptr_t)&two;
    must(&f, insitu_context_set_output(f.context, 0, &target, &f.diag));
    must(&f, call(&f, 0, 1));
    for (int i = 0; i < 8; i++) assert_true(values[i] == (i % 2 ? 0 : 3));
    assert_int_equal(call(&f, 8, 9), INSITU_BOUNDS); /* it waits, so it knows */
    assert_true(values[0] == 3);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_lie_on_the_device_and_are_read_from_there),
        cmocka_unit_test(a_call_that_fails_later_has_written_nothing_and_neither_have_those_behind_it),
        cmocka_unit_test(verbs_wait_and_tell),
        cmocka_unit_test(snapshots_forks_and_truncation_work_there),
        cmocka_unit_test(host_memory_for_outputs_is_filled_when_the_call_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
