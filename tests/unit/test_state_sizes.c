/* States of different capacities from one engine: a network whose caches' length is a symbol. */
#include "network/network.h"
#include "rewrite/rewrite.h"
#include "runtime_fixture.h"

#include "counting_allocator.h"
#include <unistd.h>

/* keys[position] = row, values[position] = row + row; total = the sum over all keys' rows */
static const char caches[] =
    "network\n"
    "symbol capacity: int in 2..1000\n"
    "input \"row\" = %row: f32[1,4]\n"
    "input \"position\" = %position: i64[1]\n"
    "state \"keys\" = %keys: f32[capacity,4] of zeros\n"
    "state \"values\" = %values: f32[capacity,4] of zeros\n"
    "state \"calls\" = %calls: i64[1] of zeros\n"
    "%twice: f32[1,4] = binary(%row, %row) {op=add}\n"
    "%keys2: f32[capacity,4] = index_update(%keys, %row, %position) {accumulate=false, dims=[0], wrap=false}\n"
    "%values2: f32[capacity,4] = index_update(%values, %twice, %position) {accumulate=false, dims=[0], wrap=false}\n"
    "%calls2: i64[1] = binary(%calls) {op=add, scalar=1, scalar_first=false}\n"
    "%total: f32[4] = reduce(%keys2) {axes=[0], keepdim=false, op=sum}\n"
    "output \"total\" = %total\n"
    "output \"keys\" = %keys2\n"
    "next \"keys\" = %keys2\n"
    "next \"values\" = %values2\n"
    "next \"calls\" = %calls2\n";

static insitu_engine *engine_of(const char *text) {
    network_t *network;
    plan_t *plan;
    insitu_engine *engine;
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (network_parse(text, &network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (network_verify(network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (plan_build(network, &(plan_options_t){0}, &plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (plan_require_in_place(plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (plan_verify(plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    assert_int_equal(engine_create(plan, device_cpu(), NULL, 0, &engine, &diag), INSITU_OK);
    network_destroy(network);
    return engine;
}

static void start(running_t *r, insitu_engine *engine) {
    *r = (running_t){.engine = engine};
    insitu_diag_init(&r->diag);
    must_run(r, insitu_context_create(engine, &r->context, &r->diag));
}

static insitu_state *state_of(running_t *r, int64_t capacity) {
    insitu_state *state;
    must_run(r, insitu_state_create_sized(r->engine, &(insitu_state_size){"values", 0, capacity}, 1, &state, &r->diag));
    return state;
}

static insitu_status write_row(running_t *r, insitu_state *state, float number, int64_t position) {
    float row[4] = {number, number, number, number};
    int64_t sizes[] = {1, 4};
    running_input(r, "row", row, INSITU_DTYPE_F32, sizes, 2);
    running_input(r, "position", &position, INSITU_DTYPE_I64, sizes, 1);
    return insitu_context_run(r->context, state, NULL, &r->diag);
}

static float total_of(running_t *r) {
    insitu_tensor total = running_output(r, 0);
    return *(const float *)tensor_data(&total);
}

static void capacities_differ_and_take_turns(void **state) {
    (void)state;
    running_t r;
    start(&r, engine_of(caches));
    insitu_state *small = state_of(&r, 3), *large = state_of(&r, 700), *fork;
    insitu_tensor keys;
    must_run(&r, insitu_state_tensor(small, 0, &keys, &r.diag));
    assert_int_equal(keys.shape[0], 3);
    must_run(&r, insitu_state_tensor(large, 0, &keys, &r.diag));
    assert_int_equal(keys.shape[0], 700);
    for (int i = 0; i < 3; i++) {
        must_run(&r, write_row(&r, small, 1, i));
        assert_true(total_of(&r) == (float)(i + 1));
        assert_int_equal(running_stats(&r).state_bytes_written, 2 * 16 + 8);
        must_run(&r, write_row(&r, large, 10, 699 - i));
        assert_true(total_of(&r) == (float)(10 * (i + 1)));
        assert_int_equal(running_stats(&r).state_bytes_written, 2 * 16 + 8);
        keys = running_output(&r, 1);
        assert_int_equal(keys.shape[0], 700);
    }
    must_fail(&r, write_row(&r, small, 1, 3), INSITU_BOUNDS, "3");
    must_run(&r, insitu_state_fork(large, NULL, &fork, &r.diag));
    must_run(&r, write_row(&r, fork, 5, 0));
    assert_true(total_of(&r) == 35);
    must_run(&r, insitu_state_truncate(fork, NULL, 1, NULL, &r.diag));
    must_run(&r, write_row(&r, fork, 6, 1));
    assert_true(total_of(&r) == 11);
    must_run(&r, write_row(&r, large, 1, 0));
    assert_true(total_of(&r) == 31);
    insitu_state_destroy(fork);
    insitu_state_destroy(small);
    insitu_state_destroy(large);
    running_stop(&r);
}

/* A batch that inputs and states share tells the output's sizes before there is a call; a capacity does not. */
static void sizes_are_told_before_the_call(void **state) {
    (void)state;
    running_t r;
    int32_t ndim;
    int64_t sizes[12], shape[2] = {3, 4};
    float x[12] = {0};
    insitu_state *kept;
    start(&r, engine_of("network\n"
                        "symbol b: int in 1..8\n"
                        "symbol n: int in 1..8\n"
                        "input \"x\" = %x: f32[b,4]\n"
                        "state \"sum\" = %sum: f32[b,4] of zeros\n"
                        "state \"rows\" = %rows: f32[n,4] of zeros\n"
                        "%more: f32[b,4] = binary(%sum, %x) {op=add}\n"
                        "%next: f32[n,4] = binary(%rows) {op=add, scalar=1, scalar_first=false}\n"
                        "output \"more\" = %more\n"
                        "output \"rows\" = %next\n"
                        "next \"sum\" = %more\n"
                        "next \"rows\" = %next\n"));
    must_fail(&r, insitu_context_output_shape(r.context, 0, &ndim, sizes, &r.diag), INSITU_SHAPE,
              "size 0 of output 'more' is decided by the size of state 'sum', which no bound input has");
    running_input(&r, "x", x, INSITU_DTYPE_F32, shape, 2);
    must_run(&r, insitu_context_output_shape(r.context, 0, &ndim, sizes, &r.diag));
    assert_true(ndim == 2 && sizes[0] == 3 && sizes[1] == 4);
    must_fail(&r, insitu_context_output_shape(r.context, 1, &ndim, sizes, &r.diag), INSITU_SHAPE, "of state 'rows'");
    insitu_state_size two[] = {{"sum", 0, 2}, {"rows", 0, 5}};
    must_run(&r, insitu_state_create_sized(r.engine, two, 2, &kept, &r.diag));
    must_fail(&r, insitu_context_run(r.context, kept, NULL, &r.diag), INSITU_SHAPE, "has size 3 in dimension 0 where");
    insitu_state_destroy(kept);
    running_stop(&r);
}

static void turns_allocate_nothing(void **state) {
    (void)state;
    running_t r;
    allocation_count_t count = {0};
    start(&r, engine_of(caches));
    insitu_state *small = state_of(&r, 3), *large = state_of(&r, 700);
    for (int round = 0; round < 4; round++) {
        if (round == 1) count_allocations(&count);
        must_run(&r, write_row(&r, small, 1, 0));
        must_run(&r, write_row(&r, large, 1, 0));
    }
    memory_set_hooks(NULL);
    assert_int_equal(count.calls, 0);
    insitu_state_destroy(small);
    insitu_state_destroy(large);
    running_stop(&r);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    running_t r;
    insitu_state *made;
    insitu_value_info info = {.struct_size = sizeof(info)};
    start(&r, engine_of(caches));
    must_run(&r, insitu_engine_state(r.engine, 1, &info, &r.diag));
    assert_true(info.sizes[0] == -1 && info.min_sizes[0] == 2 && info.max_sizes[0] == 1000 && info.sizes[1] == 4);
    must_fail(&r, insitu_state_create(r.engine, &made, &r.diag), INSITU_ARG,
              "state 'keys' needs a size for dimension 0, from 2 to 1000: insitu_state_create_sized");
    assert_null(made);
    static const struct {
        insitu_state_size sizes[2];
        insitu_status status;
        const char *words;
    } cases[] = {
        {{{"keys", 0, 1}, {"keys", 0, 1}}, INSITU_SHAPE, "dimension 0 of state 'keys' can't be 1: from 2 to 1000"},
        {{{"keys", 0, 1001}, {"keys", 0, 1}}, INSITU_SHAPE, "can't be 1001"},
        {{{"keys", 0, 5}, {"values", 0, 6}}, INSITU_SHAPE, "dimension 0 of state 'values' is given as 6 where it is 5"},
        {{{"keys", 0, 5}, {"keys", 1, 5}}, INSITU_SHAPE, "dimension 1 of state 'keys' is given as 5 where it is 4"},
        {{{"keys", 0, 5}, {"keys", 2, 5}}, INSITU_ARG, "state 'keys' has 2 dimensions"},
        {{{"keys", 0, 5}, {"queries", 0, 5}}, INSITU_ARG, "no state 'queries'"},
        {{{"keys", 1, 4}, {"calls", 0, 1}}, INSITU_ARG, "state 'keys' needs a size"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        must_fail(&r, insitu_state_create_sized(r.engine, cases[i].sizes, 2, &made, &r.diag), cases[i].status,
                  cases[i].words);
    running_stop(&r);
}

static void files_have_capacities(void **state) {
    (void)state;
    char path[64], engine_path[80];
    running_t r;
    insitu_engine *loaded;
    snprintf(path, sizeof(path), "/tmp/insitu_state_sizes_%ld", (long)getpid());
    snprintf(engine_path, sizeof(engine_path), "%s.insitu", path);
    start(&r, engine_of(caches));
    insitu_state *one = state_of(&r, 9), *other = state_of(&r, 9), *larger = state_of(&r, 10);
    must_run(&r, write_row(&r, one, 3, 8));
    must_run(&r, insitu_state_save(one, path, &r.diag));
    must_run(&r, insitu_state_load(other, path, &r.diag));
    must_run(&r, write_row(&r, other, 1, 0));
    assert_true(total_of(&r) == 4);
    must_fail(&r, insitu_state_load(larger, path, &r.diag), INSITU_SHAPE,
              "state 'keys' of the file has size 9 in dimension 0 where 10 was expected");
    insitu_state_destroy(other);
    insitu_state_destroy(larger);
    insitu_state_destroy(one);
    must_run(&r, insitu_engine_save(r.engine, engine_path, &r.diag));
    must_run(&r, insitu_engine_load(engine_path, NULL, &loaded, &r.diag));
    running_stop(&r);
    start(&r, loaded);
    one = state_of(&r, 9);
    must_run(&r, insitu_state_load(one, path, &r.diag));
    must_run(&r, write_row(&r, one, 1, 0));
    assert_true(total_of(&r) == 4);
    insitu_state_destroy(one);
    running_stop(&r);
    unlink(path);
    unlink(engine_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacities_differ_and_take_turns),
        cmocka_unit_test(sizes_are_told_before_the_call),
        cmocka_unit_test(turns_allocate_nothing),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(files_have_capacities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
