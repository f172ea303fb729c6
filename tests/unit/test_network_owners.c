/* States of a network that begin with zeros, of fixed and of open sizes, whoever owns them: the engine, the caller, nobody. */
#include "network_fixture.h"

typedef struct step {
    float history[3][2], counter[2], silence, level;
} step_t;

/* x (n,2): history[0:n] += x, counter += 1; history, counter and silence, which is never written, come out, and
 * level, a single zero. history has the size n of x, or one of its own, in which case it is only added to. */
static void build(built_t *b, bool is_open, bool is_told) {
    insitu_network *network = b->network;
    insitu_number rows = insitu_int(3), all[2];
    insitu_value x, history, counter, silence, none, level, added, counted, heard;
    if (is_open) must(b, insitu_network_add_symbol(network, "n", 1, 3, &rows, &b->diag));
    all[0] = rows;
    all[1] = insitu_int(2);
    insitu_number told[2] = {is_told ? rows : insitu_int(3), insitu_int(2)}, no_rows[2] = {insitu_int(0), rows};
    must(b, insitu_network_add_input(network, "x", F32, 2, told, &x, &b->diag));
    must(b, insitu_network_add_state(network, "history", F32, 2, all, NULL, 0, &history, &b->diag));
    must(b, insitu_network_add_state(network, "counter", F32, 1, &all[1], NULL, 0, &counter, &b->diag));
    must(b, insitu_network_add_state(network, "silence", F32, 2, all, NULL, 0, &silence, &b->diag));
    must(b, insitu_network_add_state(network, "none", F32, 2, no_rows, NULL, 0, &none, &b->diag));
    must(b, insitu_network_add_state(network, "level", F32, 0, NULL, NULL, 0, &level, &b->diag));
    must(b, insitu_network_assign(network, none, none, &b->diag));
    if (is_told)
        must(b, insitu_network_add_binary(network, "add", history, x, &added, &b->diag));
    else
        must(b, insitu_network_add_binary_scalar(network, "add", history, insitu_int(1), false, &added, &b->diag));
    must(b, insitu_network_add_binary_scalar(network, "add", counter, insitu_int(1), false, &counted, &b->diag));
    must(b, insitu_network_add_binary_scalar(network, "add", silence, insitu_int(0), false, &heard, &b->diag));
    must(b, insitu_network_assign(network, history, added, &b->diag));
    must(b, insitu_network_assign(network, counter, counted, &b->diag));
    must(b, insitu_network_mark_output(network, added, "history", &b->diag));
    must(b, insitu_network_mark_output(network, counted, "counter", &b->diag));
    must(b, insitu_network_mark_output(network, heard, "silence", &b->diag));
    must(b, insitu_network_mark_output(network, level, "level", &b->diag));
}

static insitu_engine *compile_for(built_t *b, insitu_state_owner owner) {
    insitu_compile_options options;
    insitu_engine *engine;
    insitu_compile_options_init(&options);
    options.state = owner;
    must(b, insitu_network_compile(b->network, &options, &engine, &b->diag));
    return engine;
}

static void bind(built_t *b, insitu_context *context, const char *name, const insitu_engine *engine, float *data,
                 int32_t ndim, int64_t rows) {
    int64_t sizes[2] = {rows, 2};
    insitu_tensor tensor = {.data = data, .device = {INSITU_DEVICE_CPU, 0}, .ndim = ndim, .dtype = F32, .shape = sizes};
    if (ndim == 1) sizes[0] = 2;
    if (rows == 0) sizes[1] = 3;
    must(b, insitu_context_set_input(context, insitu_engine_find_input(engine, name), &tensor, &b->diag));
}

static void fetch(built_t *b, const insitu_context *context, int32_t output, float *out, size_t size) {
    insitu_tensor tensor;
    must(b, insitu_context_output(context, output, &tensor, &b->diag));
    memcpy(out, tensor.data, size);
}

/* Two calls, with x = 1 and x = 2. */
static void run_twice(built_t *b, insitu_state_owner owner, bool is_open, step_t out[2]) {
    insitu_engine *engine = compile_for(b, owner);
    insitu_context *context;
    insitu_state *state = NULL;
    float history[3][2] = {{0}}, counter[2] = {0};
    must(b, insitu_context_create(engine, &context, &b->diag));
    if (owner == INSITU_STATE_OWNED)
        must(b, insitu_state_create_sized(engine, &(insitu_state_size){"history", 0, 3}, is_open, &state, &b->diag));
    for (int call = 0; call < 2; call++) {
        float x[3][2], silence[3][2];
        for (int i = 0; i < 6; i++) x[i / 2][i % 2] = (float)(call + 1);
        bind(b, context, "x", engine, x[0], 2, 3);
        if (owner == INSITU_STATE_CALLER) {
            bind(b, context, "buf_history", engine, history[0], 2, 3);
            bind(b, context, "buf_counter", engine, counter, 1, 2);
            bind(b, context, "buf_none", engine, NULL, 2, 0);
        }
        must(b, insitu_context_run(context, state, NULL, &b->diag));
        fetch(b, context, 0, out[call].history[0], sizeof(history));
        fetch(b, context, 1, out[call].counter, sizeof(counter));
        fetch(b, context, 2, silence[0], sizeof(silence));
        out[call].silence = silence[2][1];
        fetch(b, context, 3, &out[call].level, sizeof(float));
    }
    insitu_state_destroy(state);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
}

static void check_owners(built_t *b, bool is_open) {
    step_t owned[2], caller[2], frozen[2];
    build(b, is_open, true);
    run_twice(b, INSITU_STATE_OWNED, is_open, owned);
    run_twice(b, INSITU_STATE_CALLER, is_open, caller);
    run_twice(b, INSITU_STATE_FROZEN, is_open, frozen);
    assert_memory_equal(owned, caller, sizeof(owned));
    assert_true(owned[1].history[2][1] == 3 && owned[1].counter[1] == 2 && owned[1].silence == 0);
    assert_true(frozen[1].history[2][1] == 2 && frozen[1].counter[1] == 1 && frozen[1].silence == 0 &&
                frozen[1].level == 0);
}

static void zeros_of_fixed_sizes(void **state) { check_owners(*state, false); }
static void zeros_of_open_sizes(void **state) { check_owners(*state, true); }

/* No buffer says what zeros are. */
static void zeros_have_no_buffer(void **state) {
    built_t *b = *state;
    build(b, true, true);
    insitu_engine *engine = compile_for(b, INSITU_STATE_CALLER);
    for (int32_t i = 0; i < insitu_engine_buffer_count(engine); i++) {
        const char *name;
        insitu_tensor tensor;
        must(b, insitu_engine_buffer(engine, i, &name, &tensor, &b->diag));
        fail_msg("a buffer '%s'", name);
    }
    insitu_engine_destroy(engine);
}

static void expect_names(built_t *b, insitu_state_owner owner, int32_t states, int32_t count,
                         const char *const *buffers) {
    insitu_engine *engine = compile_for(b, owner);
    assert_int_equal(insitu_engine_state_count(engine), states);
    assert_int_equal(insitu_engine_buffer_count(engine), count);
    for (int32_t i = 0; i < count; i++) {
        const char *name;
        insitu_tensor tensor;
        must(b, insitu_engine_buffer(engine, i, &name, &tensor, &b->diag));
        assert_string_equal(name, buffers[i]);
        assert_true(((float *)tensor.data)[1] == 7);
    }
    insitu_engine_destroy(engine);
}

/* Two names of one memory, which is written by one of them: in the caller's hands it is one tensor, and nothing says that
 * the other name still has its initial value. */
static void a_second_name_goes_with_the_first(void **state) {
    static const char text[] = "network\n"
                               "record \"r\": f32, 8 bytes\n"
                               "input \"x\" = %x: f32[2]\n"
                               "state \"first\" = %first: f32[2] of record 0\n"
                               "state \"second\" = %second: f32[2] of record 0\n"
                               "%y: f32[2] = binary(%first, %x) {op=add}\n"
                               "output \"y\" = %y\n"
                               "next \"first\" = %y\n";
    static const float values[] = {3, 7};
    static const char *const lifted[] = {"buf_first"}, *const frozen[] = {"first", "second"};
    built_t *b = *state;
    close_network(b);
    must(b, insitu_network_parse(text, &b->network, &b->diag));
    must(b, insitu_network_set_record(b->network, 0, values, sizeof(values), &b->diag));
    expect_names(b, INSITU_STATE_OWNED, 2, 0, NULL);
    expect_names(b, INSITU_STATE_CALLER, 0, 1, lifted);
    expect_names(b, INSITU_STATE_FROZEN, 0, 2, frozen);
}

/* The caller's tensor tells a size that nobody tells in a frozen engine. */
static void a_size_must_be_told(void **state) {
    built_t *b = *state;
    insitu_engine *engine;
    insitu_compile_options options;
    step_t caller[2];
    build(b, true, false);
    run_twice(b, INSITU_STATE_CALLER, true, caller);
    assert_true(caller[1].history[2][1] == 2);
    insitu_compile_options_init(&options);
    options.state = INSITU_STATE_FROZEN;
    REFUSED(insitu_network_compile(b->network, &options, &engine, &b->diag), INSITU_ARG,
            "uses the symbol 'n', which has no value");
    assert_null(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(zeros_of_fixed_sizes), CASE(zeros_of_open_sizes),
        CASE(zeros_have_no_buffer), CASE(a_second_name_goes_with_the_first),
        CASE(a_size_must_be_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
