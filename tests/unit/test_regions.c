/* Conditions and loops: what is updated where it lies, what a call that fails leaves behind, what is counted, and what of a
 * region is refused. */
#include "runtime_fixture.h"

#include "counting_allocator.h"
#include "network/network.h"
#include <insitu/network.h>
#include <insitu/state.h>
#include <unistd.h>

enum { ROWS = 4, WIDTH = 2 };

/* A state of 4 rows of 2, whose row p[i] becomes x + i in round i of n. */
#define WRITE_ROWS                                                                                                     \
    "network\n"                                                                                                        \
    "input \"x\" = %x: f32[2]\n"                                                                                       \
    "input \"p\" = %p: i64[3]\n"                                                                                       \
    "input \"n\" = %n: i64[]\n"                                                                                        \
    "state \"s\" = %s: f32[4,2] of zeros\n"                                                                            \
    "region {\n"                                                                                                       \
    "  input \"i\" = %i: i64[1]\n"                                                                                     \
    "  input \"s\" = %s: f32[4,2]\n"                                                                                   \
    "  input \"x\" = %x: f32[2]\n"                                                                                     \
    "  input \"p\" = %p: i64[3]\n"                                                                                     \
    "  input \"n\" = %n: i64[1]\n"                                                                                     \
    "  %go: bool[1] = binary(%i, %n) {op=lt}\n"                                                                        \
    "  output \"go\" = %go\n"                                                                                          \
    "}\n"                                                                                                              \
    "region {\n"                                                                                                       \
    "  input \"i\" = %i: i64[1]\n"                                                                                     \
    "  input \"s\" = %s: f32[4,2]\n"                                                                                   \
    "  input \"x\" = %x: f32[2]\n"                                                                                     \
    "  input \"p\" = %p: i64[3]\n"                                                                                     \
    "  input \"n\" = %n: i64[1]\n"                                                                                     \
    "  %at: i64[1] = gather(%p, %i) {dim=0}\n"                                                                         \
    "  %f: f32[1] = cast(%i) {dtype=f32}\n"                                                                            \
    "  %fs: f32[2] = expand(%f) {sizes=[2]}\n"                                                                         \
    "  %y: f32[2] = binary(%x, %fs) {op=add}\n"                                                                        \
    "  %row: f32[1,2] = reshape(%y) {sizes=[1,2]}\n"                                                                   \
    "  %t: f32[4,2] = index_update(%s, %row, %at) {accumulate=false, dims=[0], wrap=false}\n"                          \
    "  %j: i64[1] = binary(%i) {op=add, scalar=1}\n"                                                                   \
    "  output \"i\" = %j\n"                                                                                            \
    "  output \"s\" = %t\n"                                                                                            \
    "}\n"                                                                                                              \
    "%zero: i64[1] = fill() {dtype=i64, sizes=[1], value=0}\n"                                                         \
    "%m: i64[1] = reshape(%n) {sizes=[1]}\n"                                                                           \
    "%c: i64[1], %t: f32[4,2] = loop(%zero, %s, %x, %p, %m) {regions=[0,1]}\n"                                         \
    "next \"s\" = %t\n"                                                                                                \
    "output \"output.0\" = %c\n"

static insitu_engine *engine_of(const char *source, bool no_inplace) {
    insitu_network *network;
    insitu_engine *engine;
    insitu_diag diag;
    insitu_compile_options options;
    insitu_diag_init(&diag);
    insitu_compile_options_init(&options);
    options.no_inplace = no_inplace;
    if (insitu_network_parse(source, &network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (insitu_network_compile(network, &options, &engine, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    insitu_network_destroy(network);
    return engine;
}

static insitu_status write_rows(running_t *r, float x, const int64_t *positions, int64_t rounds) {
    float row[WIDTH] = {x, 10 * x};
    int64_t width = WIDTH, three = 3, p[3];
    memcpy(p, positions, sizeof(p));
    running_input(r, "x", row, INSITU_DTYPE_F32, &width, 1);
    running_input(r, "p", p, INSITU_DTYPE_I64, &three, 1);
    running_input(r, "n", &rounds, INSITU_DTYPE_I64, NULL, 0);
    return running_call(r);
}

static void expect_rows(running_t *r, const float *expected) {
    float found[ROWS * WIDTH];
    must_run(r, insitu_state_read(r->state, "s", found, sizeof(found), &r->diag));
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (found[i] != expected[i])
            fail_msg("element %d of the state is %g, not %g", i, (double)found[i], (double)expected[i]);
}

static const float written[ROWS * WIDTH] = {2, 11, 0, 0, 3, 12, 1, 10}; /* rows 3, 0 and 2 */

static void a_loop_updates_a_state_where_it_lies(void **state) {
    (void)state;
    running_t r;
    running_start(&r, engine_of(WRITE_ROWS, false));
    static const float zeros[ROWS * WIDTH] = {0};
    must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, 0));
    assert_int_equal(running_stats(&r).state_bytes_written, 0);
    expect_rows(&r, zeros);
    must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, 3));
    expect_rows(&r, written);
    insitu_run_stats stats = running_stats(&r);
    assert_int_equal(stats.state_bytes_written, 3 * WIDTH * sizeof(float));
    assert_int_equal(stats.state_bytes_copied, 0);
    assert_int_equal(stats.state_bytes_saved, ROWS * WIDTH * sizeof(float));
    insitu_tensor rounds = running_output(&r, 0);
    assert_int_equal(*(const int64_t *)tensor_data(&rounds), 3);
    running_stop(&r);
}

/* The third position is wrong: two rounds have written by then. */
static void a_round_that_fails_changes_nothing(void **state) {
    (void)state;
    for (int no_inplace = 0; no_inplace < 2; no_inplace++)
        for (int round = 0; round < 3; round++) {
            running_t r;
            int64_t positions[] = {1, 2, 0};
            running_start(&r, engine_of(WRITE_ROWS, no_inplace != 0));
            must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, 3));
            positions[round] = round == 1 ? -1 : ROWS;
            must_fail(&r, write_rows(&r, 7, positions, 3), INSITU_BOUNDS, "index_update");
            expect_rows(&r, written);
            must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, 3));
            expect_rows(&r, written);
            running_stop(&r);
        }
}

static void a_snapshot_takes_rounds_back(void **state) {
    (void)state;
    running_t r;
    int32_t snapshot;
    running_start(&r, engine_of(WRITE_ROWS, false));
    must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, 3));
    must_run(&r, insitu_state_snapshot(r.state, NULL, &snapshot, &r.diag));
    must_run(&r, write_rows(&r, 5, (int64_t[]){1, 2, 3}, 3));
    must_fail(&r, write_rows(&r, 6, (int64_t[]){1, 2, 9}, 3), INSITU_BOUNDS, "index_update");
    must_run(&r, insitu_state_restore(r.state, snapshot, NULL, &r.diag));
    expect_rows(&r, written);
    running_stop(&r);
}

static void rounds_allocate_nothing(void **state) {
    (void)state;
    running_t r;
    running_start(&r, engine_of(WRITE_ROWS, false));
    must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, 1));
    allocation_count_t count = {0};
    count_allocations(&count);
    for (int64_t rounds = 0; rounds < 4; rounds++) must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, rounds));
    memory_set_hooks(NULL);
    assert_int_equal(count.calls, 0);
    running_stop(&r);
}

static void an_engine_file_holds_them(void **state) {
    (void)state;
    char path[64];
    insitu_engine *saved = engine_of(WRITE_ROWS, false), *loaded;
    snprintf(path, sizeof(path), "/tmp/insitu_test_regions_%ld", (long)getpid());
    assert_int_equal(insitu_engine_save(saved, path, NULL), INSITU_OK);
    insitu_engine_destroy(saved);
    assert_int_equal(insitu_engine_load(path, NULL, &loaded, NULL), INSITU_OK);
    unlink(path);
    running_t r;
    running_start(&r, loaded);
    must_run(&r, write_rows(&r, 1, (int64_t[]){3, 0, 2}, 3));
    expect_rows(&r, written);
    running_stop(&r);
}

/* ---- operands ---- */

/* One tensor as both carried values and as one that stays; the body exchanges and adds. */
static void one_tensor_is_several_operands(void **state) {
    (void)state;
    static const char source[] = "network\n"
                                 "state \"s\" = %s: f32[2] of zeros\n"
                                 "region {\n"
                                 "  input \"a\" = %a: f32[2]\n  input \"b\" = %b: f32[2]\n  input \"c\" = %c: f32[2]\n"
                                 "  %p: f32[1] = slice(%b) {dim=0, end=1, start=0, step=1}\n"
                                 "  %go: bool[1] = binary(%p) {op=lt, scalar=5}\n"
                                 "  output \"go\" = %go\n"
                                 "}\n"
                                 "region {\n"
                                 "  input \"a\" = %a: f32[2]\n  input \"b\" = %b: f32[2]\n  input \"c\" = %c: f32[2]\n"
                                 "  %d: f32[2] = binary(%a, %c) {op=add, scalar=1}\n"
                                 "  %e: f32[2] = binary(%d) {op=add, scalar=1}\n"
                                 "  output \"0\" = %b\n  output \"1\" = %e\n"
                                 "}\n"
                                 "%t: f32[2], %u: f32[2] = loop(%s, %s, %s) {regions=[0,1]}\n"
                                 "next \"s\" = %t\n"
                                 "output \"output.0\" = %u\noutput \"output.1\" = %u\n";
    for (int no_inplace = 0; no_inplace < 2; no_inplace++) {
        running_t r;
        float a = 0, b = 0, s[2];
        running_start(&r, engine_of(source, no_inplace != 0));
        for (int call = 0; call < 3; call++) {
            float c = a;
            b = a;
            while (b < 5) {
                float e = a + c + 1;
                a = b;
                b = e;
            }
            must_run(&r, running_call(&r));
            for (int i = 0; i < 2; i++) {
                insitu_tensor output = running_output(&r, i);
                assert_true(*(const float *)tensor_data(&output) == b);
            }
            must_run(&r, insitu_state_read(r.state, "s", s, sizeof(s), &r.diag));
            assert_true(s[0] == a && s[1] == a);
        }
        running_stop(&r);
    }
}

/* A branch that leaves a state alone writes none of it; an operand is returned unchanged, and twice. */
static void a_branch_that_leaves_a_state_writes_nothing(void **state) {
    (void)state;
    static const char source[] = "network\n"
                                 "input \"x\" = %x: f32[2]\n"
                                 "state \"s\" = %s: f32[2] of zeros\n"
                                 "region {\n"
                                 "  input \"s\" = %s: f32[2]\n  input \"x\" = %x: f32[2]\n"
                                 "  %t: f32[2] = binary(%s, %x) {op=add}\n"
                                 "  output \"0\" = %t\n  output \"1\" = %x\n  output \"2\" = %t\n"
                                 "}\n"
                                 "region {\n"
                                 "  input \"s\" = %s: f32[2]\n  input \"x\" = %x: f32[2]\n"
                                 "  output \"0\" = %s\n  output \"1\" = %x\n  output \"2\" = %x\n"
                                 "}\n"
                                 "%p: f32[1] = slice(%x) {dim=0, end=1, start=0, step=1}\n"
                                 "%if: bool[1] = binary(%p) {op=gt, scalar=0}\n"
                                 "%t: f32[2], %u: f32[2], %v: f32[2] = cond(%if, %s, %x) {regions=[0,1]}\n"
                                 "next \"s\" = %t\n"
                                 "output \"output.0\" = %u\noutput \"output.1\" = %v\n";
    running_t r;
    float x[2] = {1, 2}, s[2];
    int64_t size = 2;
    running_start(&r, engine_of(source, false));
    for (int call = 0; call < 2; call++) {
        x[0] = call ? -1 : 1;
        running_input(&r, "x", x, INSITU_DTYPE_F32, &size, 1);
        must_run(&r, running_call(&r));
        insitu_run_stats stats = running_stats(&r);
        assert_int_equal(stats.state_bytes_written, call ? 0 : sizeof(s));
        assert_int_equal(stats.state_bytes_copied, 0);
        insitu_tensor u = running_output(&r, 0), v = running_output(&r, 1);
        assert_true(((const float *)tensor_data(&u))[0] == x[0]);
        assert_true(((const float *)tensor_data(&v))[0] == (call ? x[0] : 1));
        must_run(&r, insitu_state_read(r.state, "s", s, sizeof(s), &r.diag));
        assert_true(s[0] == 1 && s[1] == 2);
    }
    running_stop(&r);
}

/* A branch whose positions are known when it begins checks them before it writes: nothing is saved for that. */
static void a_branch_checks_before_it_writes(void **state) {
    (void)state;
    static const char source[] = "network\n"
                                 "input \"p\" = %p: i64[1]\n"
                                 "state \"s\" = %s: f32[3] of zeros\n"
                                 "state \"t\" = %t: f32[3] of zeros\n"
                                 "region {\n"
                                 "  input \"s\" = %s: f32[3]\n  input \"t\" = %t: f32[3]\n  input \"p\" = %p: i64[1]\n"
                                 "  %one: f32[1] = fill() {dtype=f32, sizes=[1], value=1.0}\n"
                                 "  %u: f32[3] = binary(%s) {op=add, scalar=1}\n"
                                 "  %v: f32[3] = index_update(%t, %one, %p) {accumulate=false, dims=[0], wrap=false}\n"
                                 "  output \"0\" = %u\n  output \"1\" = %v\n"
                                 "}\n"
                                 "region {\n"
                                 "  input \"s\" = %s: f32[3]\n  input \"t\" = %t: f32[3]\n  input \"p\" = %p: i64[1]\n"
                                 "  %q: i64[1] = binary(%p) {op=add, scalar=5}\n"
                                 "  %one: f32[1] = fill() {dtype=f32, sizes=[1], value=2.0}\n"
                                 "  %u: f32[3] = index_update(%s, %one, %q) {accumulate=false, dims=[0], wrap=false}\n"
                                 "  output \"0\" = %u\n  output \"1\" = %t\n"
                                 "}\n"
                                 "%c: bool[1] = binary(%p) {op=ge, scalar=0}\n"
                                 "%u: f32[3], %v: f32[3] = cond(%c, %s, %t, %p) {regions=[0,1]}\n"
                                 "next \"s\" = %u\n"
                                 "next \"t\" = %v\n";
    static const struct {
        int64_t position;
        bool fails;
        float s[3], t[3];
    } calls[] = {{1, false, {1, 1, 1}, {0, 1, 0}},
                 {3, true, {1, 1, 1}, {0, 1, 0}},
                 {-3, false, {1, 1, 2}, {0, 1, 0}},
                 {-2, true, {1, 1, 2}, {0, 1, 0}},
                 {0, false, {2, 2, 3}, {1, 1, 0}}};
    running_t r;
    running_start(&r, engine_of(source, false));
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        int64_t one = 1, position = calls[i].position;
        float s[3], t[3];
        running_input(&r, "p", &position, INSITU_DTYPE_I64, &one, 1);
        if (calls[i].fails)
            must_fail(&r, running_call(&r), INSITU_BOUNDS, "index_update");
        else
            must_run(&r, running_call(&r));
        if (!calls[i].fails) assert_int_equal(running_stats(&r).state_bytes_saved, 0);
        must_run(&r, insitu_state_read(r.state, "s", s, sizeof(s), &r.diag));
        must_run(&r, insitu_state_read(r.state, "t", t, sizeof(t), &r.diag));
        assert_memory_equal(s, calls[i].s, sizeof(s));
        assert_memory_equal(t, calls[i].t, sizeof(t));
    }
    running_stop(&r);
}

/* ---- refusals ---- */

static void expect_refusal(const char *source, insitu_status expected, const char *words) {
    insitu_network *network = NULL;
    insitu_engine *engine = NULL;
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_status status = insitu_network_parse(source, &network, &diag);
    if (status == INSITU_OK) status = insitu_network_compile(network, NULL, &engine, &diag);
    if (status != expected || !strstr(diag.message, words))
        fail_msg("%s: '%s' where %s with '%s' was expected", insitu_status_name(status), diag.message,
                 insitu_status_name(expected), words);
    insitu_engine_destroy(engine);
    insitu_network_destroy(network);
    insitu_diag_release(&diag);
}

#define REGION(lines) "region {\n" lines "}\n"
#define SAME REGION("input \"x\" = %x: f32[2]\noutput \"0\" = %x\n")
#define HEAD "network\ninput \"x\" = %x: f32[2]\ninput \"c\" = %c: bool[]\n"

static void what_is_no_region_is_refused(void **state) {
    (void)state;
    expect_refusal(HEAD SAME SAME "%y: f32[2] = cond(%c, %x) {regions=[0,0]}\n", INSITU_ARG, "its two regions are one");
    expect_refusal(HEAD SAME "%y: f32[2] = cond(%c, %x) {regions=[0,1]}\n", INSITU_ARG, "numbers of two regions");
    expect_refusal(HEAD SAME SAME "%y: f32[2] = cond(%x, %x) {regions=[0,1]}\n", INSITU_ARG, "must be one bool");
    expect_refusal(HEAD SAME SAME "%y: f32[2] = cond(%c, %x, %x) {regions=[0,1]}\n", INSITU_ARG, "takes 1 operands");
    expect_refusal(HEAD SAME REGION("input \"x\" = %x: f32[2]\n") "%y: f32[2] = cond(%c, %x) {regions=[0,1]}\n",
                   INSITU_ARG, "one region gives 1 results, the other 0");
    expect_refusal(
        HEAD SAME REGION("input \"x\" = %x: f32[3]\noutput \"0\" = %x\n") "%y: f32[2] = cond(%c, %x) {regions=[0,1]}\n",
        INSITU_SHAPE, "x: 3 is not equal to 2");
    expect_refusal(HEAD SAME SAME "%y: f32[2] = loop(%x) {regions=[0,1]}\n", INSITU_ARG, "must give one bool");
    expect_refusal(HEAD SAME SAME "%y: f32[2] = cond(%c, %x) {regions=[0,1]}\n"
                                  "%z: f32[2] = cond(%c, %x) {regions=[0,1]}\n",
                   INSITU_FORMAT, "run twice");
    expect_refusal(HEAD REGION("state \"s\" = %s: f32[2] of zeros\ninput \"x\" = %x: f32[2]\noutput \"0\" = %x\n") SAME
                   "%y: f32[2] = cond(%c, %x) {regions=[0,1]}\n",
                   INSITU_ARG, "states, records or mutations");
    expect_refusal(HEAD "region {\ninput \"x\" = %x: f32[2]\n", INSITU_FORMAT, "} was expected");
    text_t deep;
    text_init(&deep);
    text_printf(&deep, "network\n");
    for (int i = 0; i <= MAX_REGION_DEPTH; i++) text_printf(&deep, "region {\n");
    expect_refusal(deep.data, INSITU_FORMAT, "less nesting");
    text_release(&deep);
}

/* Symbols: the outer network's of the same name, or read inside. */
static void symbols_of_regions_are_checked(void **state) {
    (void)state;
    expect_refusal(
        HEAD REGION("symbol u0: int in 1..2\ninput \"x\" = %x: f32[2]\ninput \"n\" = %n: i64[]\n"
                    "item(%n) {symbol=u0} @\"item\"\n"
                    "%y: f32[u0] = slice(%x) {dim=0, end=u0, start=0, step=1}\n"
                    "%z: f32[] = reduce(%y) {axes=[0], keepdim=false, op=sum}\noutput \"0\" = %z\n")
            REGION(
                "input \"x\" = %x: f32[2]\ninput \"n\" = %n: i64[]\n"
                "%z: f32[] = reduce(%x) {axes=[0], keepdim=false, op=sum}\noutput \"0\" = %z\n") "%n: i64[] = fill() "
                                                                                                 "{dtype=i64, "
                                                                                                 "sizes=[], value=1}\n"
                                                                                                 "%z: f32[] = cond(%c, "
                                                                                                 "%x, %n) "
                                                                                                 "{regions=[0,1]}"
                                                                                                 "\noutput "
                                                                                                 "\"output.0\" = %z\n",
        INSITU_UNSUPPORTED, "depends on a number that the region reads");
    expect_refusal(HEAD REGION("input \"x\" = %x: f32[2]\n%y: f32[2] = fill() {dtype=f32, sizes=[2], value=float(n)}\n"
                               "output \"0\" = %y\n") SAME
                   "%y: f32[2] = cond(%c, %x) {regions=[0,1]}\noutput \"output.0\" = %y\n",
                   INSITU_ARG, "uses the symbol 'n'");
    expect_refusal(
        "network\nsymbol n: int in 0..9\ninput \"n\" = number i64 n\ninput \"m\" = %m: i64[]\n"
        "input \"c\" = %c: bool[]\n" REGION("symbol n: int in 0..9\ninput \"m\" = %m: i64[]\n"
                                            "item(%m) {symbol=n} @\"item\"\noutput \"0\" = %m\n")
            REGION("input \"m\" = %m: i64[]\noutput \"0\" = %m\n") "%y: i64[] = cond(%c, %m) {regions=[0,1]}\noutput "
                                                                   "\"output.0\" = %y\n",
        INSITU_ARG, "has a value outside");
    expect_refusal("network\nsymbol n: int in 2..9\ninput \"n\" = number i64 n\n"
                   "input \"x\" = %x: f32[2]\ninput \"c\" = %c: bool[]\n" REGION(
                       "symbol n: int in 2..4\ninput \"x\" = %x: f32[2]\noutput \"0\" = %x\n") SAME
                   "%y: f32[2] = cond(%c, %x) {regions=[0,1]}\n",
                   INSITU_FORMAT, "smaller range");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_updates_a_state_where_it_lies),
        cmocka_unit_test(a_round_that_fails_changes_nothing),
        cmocka_unit_test(a_snapshot_takes_rounds_back),
        cmocka_unit_test(rounds_allocate_nothing),
        cmocka_unit_test(an_engine_file_holds_them),
        cmocka_unit_test(one_tensor_is_several_operands),
        cmocka_unit_test(a_branch_that_leaves_a_state_writes_nothing),
        cmocka_unit_test(a_branch_checks_before_it_writes),
        cmocka_unit_test(what_is_no_region_is_refused),
        cmocka_unit_test(symbols_of_regions_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
