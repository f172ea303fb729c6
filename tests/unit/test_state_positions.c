/* Which states are indexed by position, and what truncating them gives: the state of the shorter sequence. */
#include "runtime_fixture.h"
#include "saved_calls.h"
#include "small_plans.h"

#include <insitu/network.h>

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
        saved_calls_t calls;
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

/* Of "c" in the network that writes it so. */
static int32_t axis_of(const char *type, const char *lines, bool no_inplace) {
    char text[2048];
    insitu_network *network = NULL;
    insitu_engine *engine = NULL;
    insitu_state *state = NULL;
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_state_info info = {.struct_size = sizeof(info)};
    insitu_compile_options options;
    insitu_compile_options_init(&options);
    options.no_inplace = no_inplace;
    snprintf(
        text, sizeof(text),
        "network\nsymbol u0: int in 0..7\ninput \"x\" = %%x: f32[1,4]\ninput \"p\" = %%p: i64[1]\n"
        "state \"n\" = %%n: i64[1] of zeros\nstate \"b\" = %%b: u8[1] of zeros\nstate \"t\" = %%t: i64[8] of zeros\n"
        "state \"c\" = %%c: %s of zeros\nitem(%%p) {symbol=u0}\n%s",
        type, lines);
    if (insitu_network_parse(text, &network, &diag) || insitu_network_compile(network, &options, &engine, &diag) ||
        insitu_state_create(engine, &state, &diag) ||
        insitu_state_describe(state, insitu_engine_find_state(engine, "c"), &info, &diag))
        fail_msg("%s\n%s", diag.message, text);
    insitu_state_destroy(state);
    insitu_engine_destroy(engine);
    insitu_network_destroy(network);
    return info.position_axis;
}

#define UPDATE(x, index) "index_update(" x ", %x, " index ") {accumulate=false, dims=[0], wrap=false}\n"
#define ROWS_AT(index) "%r: f32[8,4] = " UPDATE("%c", index) NEXT
#define SLICE_AT(start, end) "%r: f32[8,4] = slice_update(%c, %x) {dim=0, end=" end ", start=" start ", step=1}\n" NEXT
#define NEXT "next \"c\" = %r\n"
#define COUNT "%a: i64[1] = binary(%n) {op=add, scalar=1}\n"
static const struct {
    int32_t axis;
    const char *type, *lines;
} writes[] = {
    {0, "f32[8,4]", ROWS_AT("%p")},
    {-1, "f32[8,4]", "%i: i64[1] = binary(%p) {op=remainder, scalar=8}\n" ROWS_AT("%i")},
    {-1, "f32[8,4]", "%i: i64[1] = binary(%p) {op=minimum, scalar=7}\n" ROWS_AT("%i")},
    {-1, "f32[8,4]", "%i: i64[1] = binary(%p) {op=add, scalar=1}\n" ROWS_AT("%i")},
    {-1, "f32[8,4]", "%i: i64[1] = index(%t, %p) {dims=[0], wrap=false}\n" ROWS_AT("%i")},
    {-1, "f32[8,4]", ROWS_AT("%n")}, /* always the same row */
    {0, "f32[8,4]", ROWS_AT("%n") COUNT "next \"n\" = %a\n"},
    {-1, "f32[8,4]", ROWS_AT("%n") COUNT "%m: i64[1] = binary(%a) {op=remainder, scalar=8}\nnext \"n\" = %m\n"},
    {-1, "f32[8,4]", ROWS_AT("%n") "%a: i64[1] = binary(%n) {op=add, scalar=-1}\nnext \"n\" = %a\n"},
    {-1, "f32[8,4]",
     "%s: i64[1] = cast(%b) {dtype=i64}\n" ROWS_AT(
         "%s") "%a: u8[1] = binary(%b) {op=add, scalar=1}\nnext \"b\" = %a\n"},
    {-1, "f32[8,4]", "%s: u8[1] = cast(%p) {dtype=u8}\n%i: i64[1] = cast(%s) {dtype=i64}\n" ROWS_AT("%i")},
    {-1, "f32[8,4]", "%s: i16[1] = cast(%p) {dtype=i16}\n%i: i64[1] = cast(%s) {dtype=i64}\n" ROWS_AT("%i")},
    {-1, "f32[8,4]",
     "%s: i8[1] = fill() {dtype=i8, sizes=[1], value=u0}\n%i: i64[1] = cast(%s) {dtype=i64}\n" ROWS_AT("%i")},
    {0, "f32[8,4]", "%s: i32[1] = cast(%p) {dtype=i32}\n%i: i64[1] = cast(%s) {dtype=i64}\n" ROWS_AT("%i")},
    {1, "f32[4,8]",
     "%v: f32[8,4] = permute(%c) {axes=[1,0]}\n%w: f32[8,4] = " UPDATE("%v", "%p") "%r: f32[4,8] = permute(%w) "
                                                                                   "{axes=[1,0]}\n" NEXT},
    {1, "f32[2,8,4]",
     "%s: f32[1,8,4] = slice(%c) {dim=0, end=2, start=1, step=1}\n%v: f32[8,4] = reshape(%s) {sizes=[8,4]}\n"
     "%w: f32[8,4] = " UPDATE("%v",
                              "%p") "%y: f32[1,8,4] = reshape(%w) {sizes=[1,8,4]}\n"
                                    "%r: f32[2,8,4] = slice_update(%c, %y) {dim=0, end=2, start=1, step=1}\n" NEXT},
    {0, "f32[8,4]", SLICE_AT("u0", "u0 + 1")},
    {-1, "f32[8,4]", SLICE_AT("u0 % 4", "u0 % 4 + 1")},
    {-1, "f32[8,4]", SLICE_AT("min(3, u0)", "min(3, u0) + 1")},
    {-1, "f32[8,4]", SLICE_AT("3", "4")},
};

static void only_positions_are_positions(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(writes); i++)
        for (int no_inplace = 0; no_inplace < 2; no_inplace++) {
            int32_t axis = axis_of(writes[i].type, writes[i].lines, no_inplace);
            if (axis != writes[i].axis) fail_msg("axis %d of:\n%s", (int)axis, writes[i].lines);
        }
}

/* ---- what ---- */

static insitu_status decode(saved_calls_t *calls, insitu_state *state, int64_t token, int64_t position) {
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
    saved_calls_t calls;
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
static plan_t *make_started_plan(void) {
    static const float start[CACHE_ROWS][CACHE_WIDTH] = {{1}, {2, 2}, {3, 3, 3}, {4, 4, 4, 4}};
    plan_t *plan = make_small_plan();
    tensor_type_t table = plan->states[2].type;
    (void)add_weight(plan, "cache", table, start);
    plan->state_storages[2].initial = plan->weight_count - 1;
    plan->states[2].rows = 1; /* axis 0 */
    return plan;
}

static void rows_get_their_initial_values(void **state) {
    (void)state;
    running_t r;
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
              "state 'history' is not indexed by position");
    must_run(&r, insitu_state_truncate(r.state, "cache", 0, NULL, &r.diag));
    must_run(&r, insitu_state_read(r.state, "cache", cache, sizeof(cache), &r.diag));
    must_run(&r, insitu_state_read(r.state, "counter", &counter, sizeof(counter), &r.diag));
    assert_true(cache[0][0] == 1 && cache[0][1] == 0 && counter == 5);
    must_fail(&r, insitu_state_truncate(r.state, "counter", 0, NULL, &r.diag), INSITU_ARG,
              "state 'counter' is not indexed by position");
    must_fail(&r, insitu_state_truncate(r.state, "cash", 0, NULL, &r.diag), INSITU_ARG, "no state 'cash'");
    must_fail(&r, insitu_state_truncate(r.state, "cache", -1, NULL, &r.diag), INSITU_ARG, "can't be cut to -1 rows");
    running_stop(&r);
    saved_calls_t calls;
    assert_true(saved_calls_open(&calls, "history.train.pt2", NULL));
    assert_int_equal(insitu_state_truncate(calls.state, NULL, 0, NULL, &calls.diag), INSITU_ARG);
    assert_non_null(strstr(calls.diag.message, "no state that is indexed by position"));
    saved_calls_close(&calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_tell_how_they_are_written),
        cmocka_unit_test(only_positions_are_positions),
        cmocka_unit_test(a_truncated_sequence_is_the_shorter_one),
        cmocka_unit_test(rows_get_their_initial_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
