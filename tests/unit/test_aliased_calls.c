/* What a call checks before it begins, what it needs no memory for, and that two calls never meet on one state. */
#include "alias_fixture.h"

#include "counting_allocator.h"
#include "saved_calls.h"

enum { HEADS = 2, LENGTH = 8, WIDTH = 4, CACHE = HEADS * LENGTH * WIDTH, LINE = HEADS * WIDTH };

/* ---- outputs that are allocated before ---- */

static void outputs_may_be_allocated_before(void **state) {
    (void)state;
    fixture_t f;
    kept_log_t log = {0};
    insitu_log_set(keep_warning, &log);
    open_fixture(&f, "returned_twice.train.pt2", NULL);
    must(&f, insitu_context_preallocate_outputs(f.context, true, &f.diag));
    float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
    set(&f, "x", x);
    set(&f, "y", y);
    void *addresses[6];
    for (int call = 0; call < 3; call++) {
        run(&f);
        for (int32_t i = 0; i < 6; i++) {
            insitu_tensor out = output_of(&f, i);
            if (call) assert_ptr_equal(data_of(&out), addresses[i]);
            addresses[i] = data_of(&out);
        }
        assert_true(number_of(&f, 0) == 6);
    }
    must(&f, insitu_context_preallocate_outputs(f.context, false, &f.diag));
    run(&f);
    assert_true(number_of(&f, 0) == 6);
    assert_int_equal(log.count, 0);
    close_fixture(&f);
    insitu_log_set(NULL, NULL);
}

static const void *doubled(fixture_t *f, float *x, int64_t size) {
    const insitu_tensor tensor = tensor_of(x, INSITU_DTYPE_F32, 1, &size);
    must(f, try_set(f, "x", &tensor));
    run(f);
    insitu_tensor out = output_of(f, 0);
    assert_int_equal(out.shape[0], size);
    assert_true(((float *)data_of(&out))[size - 1] == 2 * x[size - 1]);
    return data_of(&out);
}

/* An output that is computed where the caller wants it takes no memory of the context's; unbound it does. */
static void bound_outputs_take_no_memory(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    fixture_t f;
    open_text(&f, "network\n"
                  "input \"x\" = %x: f32[1048576]\n"
                  "%y: f32[1048576] = binary(%x, %x) {op=add}\n"
                  "%z: f32[1] = slice(%y) {dim=0, end=1, start=0, step=1}\n"
                  "%one: f32[1] = binary(%z, %z) {op=add}\n"
                  "output \"y\" = %y\n"
                  "output \"one\" = %one\n");
    float *x = calloc(SIZE, sizeof(*x)), *y = calloc(SIZE, sizeof(*y));
    assert_true(x && y);
    x[0] = x[SIZE - 1] = 3;
    int64_t size = SIZE;
    const insitu_tensor target = tensor_of(y, INSITU_DTYPE_F32, 1, &size);
    allocation_count_t allocations = {0};
    set(&f, "x", x);
    must(&f, insitu_context_set_output(f.context, 0, &target, &f.diag));
    count_allocations(&allocations);
    run(&f);
    memory_set_hooks(NULL);
    assert_true(allocations.largest < SIZE);
    assert_true(y[0] == 6 && y[SIZE - 1] == 6 && number_of(&f, 1) == 12);
    must(&f, insitu_context_set_output(f.context, 0, NULL, &f.diag));
    run(&f);
    insitu_tensor unbound = output_of(&f, 0);
    assert_ptr_not_equal(data_of(&unbound), y);
    assert_memory_equal(data_of(&unbound), y, SIZE * sizeof(*y));
    assert_true(number_of(&f, 1) == 12);
    close_fixture(&f);
    free(x);
    free(y);
}

/* The largest size is allocated for, so a result has its address when it grows, too. */
static void the_largest_sizes_are_allocated_for(void **state) {
    (void)state;
    static const char source[] = "network\n"
                                 "symbol n: int in 1..%s\n"
                                 "input \"x\" = %%x: f32[n]\n"
                                 "%%y: f32[n] = binary(%%x, %%x) {op=add}\n"
                                 "output \"y\" = %%y\n";
    fixture_t f;
    char text[256];
    static float x[100000];
    x[0] = x[99999] = 3;
    snprintf(text, sizeof(text), source, "100000");
    open_text(&f, text);
    must(&f, insitu_context_preallocate_outputs(f.context, true, &f.diag));
    const void *address = doubled(&f, x, 1);
    assert_ptr_equal(doubled(&f, x, 100000), address);
    assert_ptr_equal(doubled(&f, x, 1), address);
    close_fixture(&f);
    snprintf(text, sizeof(text), source, "");
    open_text(&f, text);
    must_fail(&f, insitu_context_preallocate_outputs(f.context, true, &f.diag), INSITU_SHAPE,
              "output 'y' can't be allocated beforehand: its size has no limit");
    (void)doubled(&f, x, 100000);
    close_fixture(&f);
}

static void aliases_rule_that_out(void **state) {
    (void)state;
    fixture_t f;
    kept_log_t log = {0};
    insitu_log_set(keep_warning, &log);
    open_fixture(&f, "input_slice.train.pt2", NULL);
    float cache[CACHE] = {0}, line[LINE], kept = 0;
    fill(line, LINE, 1);
    insitu_tensor target = tensor_of(&kept, INSITU_DTYPE_F32, 0, NULL);
    set(&f, "cache", cache);
    set(&f, "row", line);
    must(&f, insitu_context_set_output(f.context, 0, &target, &f.diag));
    run(&f);
    must(&f, insitu_context_preallocate_outputs(f.context, true, &f.diag));
    assert_true(number_of(&f, 0) == (float)LINE); /* where it is not ignored, the results are lost */
    assert_int_equal(log.count, 1);
    assert_non_null(
        strstr(log.text, "outputs are not allocated beforehand: 'mutated.cache' is the memory of input 'cache'"));
    must(&f, insitu_context_set_output(f.context, 0, NULL, &f.diag));
    fill(line, LINE, 2);
    run(&f);
    assert_true(kept == (float)LINE && number_of(&f, 0) == 2 * (float)LINE);
    assert_int_equal(log.count, 1);
    close_fixture(&f);
    insitu_log_set(NULL, NULL);
}

/* An output whose size the call decides and an alias go together; the one can't be the other. */
static void decided_outputs_are_no_aliases(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "decided_output.train.pt2", NULL);
    float cache[CACHE] = {0}, line[LINE];
    int64_t count = 5;
    fill(line, LINE, 3);
    set(&f, "cache", cache);
    set(&f, "row", line);
    set(&f, "count", &count);
    run(&f);
    insitu_tensor out = output_of(&f, 0);
    assert_int_equal(out.shape[0], 5);
    assert_true(cache[3 * WIDTH] == 3);
    assert_true(prints(&f, "json", "\"any\",\"1\",")); /* the record: an output allocator is needed */
    close_fixture(&f);
    REFUSE("decided_output.train.pt2", INSITU_SHAPE,
           "input 'row' can't be output 'output.0': it is f32[u0,4] and the input is f32[1,2,1,4]",
           BY_NAME("row", "output.0"));
}

/* Sizes that may be the same, but need not be: one that the call decides, and one of another input. */
static void sizes_must_be_known_to_be_the_same(void **state) {
    (void)state;
    static const char source[] = "network\n"
                                 "symbol u0: int in 0..8\n"
                                 "symbol n: int in 1..8\n"
                                 "input \"x\" = %x: f32[8]\n"
                                 "input \"y\" = %y: f32[n]\n"
                                 "input \"count\" = %count: i64[1]\n"
                                 "item(%count) {symbol=u0}\n"
                                 "%part: f32[u0] = slice(%x) {dim=0, end=u0, start=0, step=1}\n"
                                 "%twice: f32[n] = binary(%y, %y) {op=add}\n"
                                 "output \"part\" = %part\n"
                                 "output \"twice\" = %twice\n";
    static const insitu_mutated_input rows[] = {BY_NAME("x", "part"), BY_NAME("x", "twice"), BY_NAME("y", "twice")};
    static const char *const words[] = {"input 'x' can't be output 'part': it is f32[u0] and the input is f32[8]",
                                        "input 'x' can't be output 'twice': it is f32[n] and the input is f32[8]", ""};
    fixture_t f = {0};
    insitu_network *network;
    insitu_diag_init(&f.diag);
    must(&f, insitu_network_parse(source, &network, &f.diag));
    for (size_t i = 0; i < 3; i++) {
        insitu_compile_options options = new_options();
        options.mutated_inputs = &rows[i];
        options.mutated_input_count = 1;
        insitu_status status = insitu_network_compile(network, &options, &f.engine, &f.diag);
        if (words[i][0])
            must_fail(&f, status, INSITU_SHAPE, words[i]);
        else
            must(&f, status);
        assert_int_equal(f.engine != NULL, !words[i][0]);
    }
    assert_string_equal(insitu_engine_aliased_input(f.engine, "twice"), "y");
    insitu_network_destroy(network);
    close_fixture(&f);
}

static void shorter_tensors_are_refused(void **state) {
    (void)state;
    fixture_t f;
    const insitu_mutated_input row = BY_NAME("cache", "cache_out");
    open_mutated(&f, "input_slice.train.pt2", &row, 1);
    float cache[CACHE] = {0}, line[LINE];
    int64_t shorter[4] = {1, HEADS, LENGTH - 1, WIDTH};
    fill(line, LINE, 3);
    set(&f, "row", line);
    insitu_tensor tensor = tensor_of(cache, INSITU_DTYPE_F32, 4, shorter);
    must_fail(&f, try_set(&f, "cache", &tensor), INSITU_SHAPE,
              "input 'cache' has size 7 in dimension 2 where 8 was expected");
    set(&f, "cache", cache);
    must_fail(&f, insitu_context_set_output(f.context, 0, &tensor, &f.diag), INSITU_SHAPE,
              "output 'cache_out' has size 7 in dimension 2 where 8 was expected");
    for (int i = 0; i < CACHE; i++) assert_true(cache[i] == 0);
    close_fixture(&f);
}

/* An output's elements have a place each; those of an input that is read may share theirs. */
static void elements_of_outputs_are_apart(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "returned_twice.train.pt2", NULL);
    float x[4] = {1, 2, 3, 4}, y = 5, kept[7] = {0};
    int64_t four = 4, none = 0, two = 2;
    insitu_tensor repeated = tensor_of(&y, INSITU_DTYPE_F32, 1, &four),
                  target = tensor_of(kept, INSITU_DTYPE_F32, 1, &four);
    repeated.strides = &none;
    target.strides = &none;
    set(&f, "x", x);
    must(&f, try_set(&f, "y", &repeated));
    must_fail(&f, insitu_context_set_output(f.context, 0, &target, &f.diag), INSITU_SHAPE,
              "output 'output.0' has stride 0 in dimension 0: its elements would share memory");
    target.strides = &two;
    must(&f, insitu_context_set_output(f.context, 0, &target, &f.diag));
    run(&f);
    for (int i = 0; i < 7; i++) assert_true(kept[i] == (i % 2 ? 0 : x[i / 2] + 5));
    close_fixture(&f);
}

static void unbound_inputs_are_named(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "input_slice.train.pt2", NULL);
    float line[LINE] = {0};
    set(&f, "row", line);
    must_fail(&f, try_run(&f), INSITU_ARG, "input 'cache' is not bound");
    close_fixture(&f);
}

static void empty_inputs_need_no_memory(void **state) {
    (void)state;
    static const char source[] = "network\n"
                                 "input \"x\" = %x: f32[0,3]\n"
                                 "input \"w\" = %w: f32[3]\n"
                                 "%sum: f32[3] = reduce(%x) {axes=[0], keepdim=false, op=sum}\n"
                                 "%y: f32[3] = binary(%sum, %w) {op=add}\n"
                                 "output \"x\" = %x\n"
                                 "mutation \"w\" = %y\n";
    fixture_t f;
    open_text(&f, source);
    float w[3] = {1, 2, 3};
    set(&f, "x", NULL);
    set(&f, "w", w);
    run(&f);
    assert_true(w[0] == 1 && w[2] == 3);
    assert_int_equal(output_of(&f, 0).shape[0], 0);
    close_fixture(&f);
}

/* ---- two calls at once ---- */

/* An allocator that tries to use what a call is using; it is asked for memory in the middle of the call. */
typedef struct intruder {
    insitu_context *context; /* another one */
    insitu_state *state;
    insitu_module *module; /* or NULL */
    const char *path;
    bool is_inside, has_snapshot;
    int looks;
    const char *let_in; /* what was not refused */
    insitu_diag diag;
} intruder_t;

static void expect_taken(intruder_t *intruder, insitu_status status, const char *what) {
    if (status != INSITU_ARG || !strstr(intruder->diag.message, "another call is running on this "))
        intruder->let_in = what;
}

#define TAKEN(call) expect_taken(intruder, call, #call)

static void try_all_verbs(intruder_t *intruder) {
    insitu_state *state = intruder->state, *fork;
    insitu_diag *diag = &intruder->diag;
    float cache[2 * 3 * 4] = {0};
    int64_t position = 0;
    int32_t snapshot;
    TAKEN(insitu_context_run(intruder->context, state, NULL, diag));
    TAKEN(insitu_state_fork(state, NULL, &fork, diag));
    TAKEN(insitu_state_reset(state, NULL, diag));
    TAKEN(insitu_state_save(state, intruder->path, diag));
    TAKEN(insitu_state_load(state, intruder->path, diag));
    TAKEN(insitu_state_read(state, "position", &position, sizeof(position), diag));
    TAKEN(insitu_state_write(state, "position", &position, sizeof(position), diag));
    TAKEN(insitu_state_snapshot(state, NULL, &snapshot, diag));
    if (intruder->has_snapshot) {
        TAKEN(insitu_state_restore(state, 0, NULL, diag));
        TAKEN(insitu_state_discard(state, 0, diag));
    } else {
        insitu_tensor tensor;
        if (insitu_state_tensor(state, 0, &tensor, diag) != INSITU_OK) intruder->let_in = "no tensor";
        tensor.data = cache;
        TAKEN(insitu_state_bind(state, "ring", &tensor, INSITU_CONTENTS_OF_STATE, NULL, diag));
        TAKEN(insitu_state_unbind(state, "ring", NULL, diag));
    }
}

static void *intruding_alloc(void *user, size_t size) {
    intruder_t *intruder = user;
    if (!intruder->is_inside) {
        insitu_tensor inputs[1] = {{0}}, outputs[2];
        intruder->is_inside = true;
        intruder->looks++;
        if (intruder->module)
            expect_taken(intruder, insitu_module_call(intruder->module, inputs, outputs, &intruder->diag),
                         "the module");
        else
            try_all_verbs(intruder);
        intruder->is_inside = false;
    }
    return malloc(size);
}

static void intruding_free(void *user, void *data) {
    (void)user;
    free(data);
}

static void look(const intruder_t *intruder) {
    memory_set_hooks(NULL);
    if (intruder->let_in) fail_msg("not refused: %s", intruder->let_in);
    assert_true(intruder->looks > 0);
}

/* The first call of a context takes memory while it runs. Nothing that is tried then happens. */
static void calls_within_calls_are_refused(void **state) {
    (void)state;
    char path[] = "/tmp/insitu_test_XXXXXX";
    close(mkstemp(path));
    for (int round = 0; round < 3; round++) {
        fixture_t f;
        intruder_t intruder = {.path = path, .has_snapshot = round == 1};
        insitu_state *expected;
        float line[LINE] = {0};
        int64_t shape[3] = {2, 1, 4};
        int32_t snapshot;
        insitu_tensor x = tensor_of(line, INSITU_DTYPE_F32, 3, shape), outputs[2];
        open_fixture(&f, "ring_counter.train.pt2", NULL);
        insitu_diag_init(&intruder.diag);
        must(&f, insitu_context_create(f.engine, &intruder.context, &f.diag));
        must(&f, insitu_context_set_input(intruder.context, 0, &x, &f.diag));
        must(&f, insitu_state_save(f.state, path, &f.diag));
        must(&f, insitu_state_fork(f.state, NULL, &expected, &f.diag));
        must(&f, insitu_context_run(intruder.context, expected, NULL, &f.diag));
        if (round == 1) must(&f, insitu_state_snapshot(f.state, NULL, &snapshot, &f.diag));
        if (round == 2) must(&f, insitu_module_create(f.engine, &intruder.module, &f.diag));
        intruder.state = round == 2 ? insitu_module_state(intruder.module) : f.state;
        must(&f, insitu_context_set_input(f.context, 0, &x, &f.diag));
        memory_set_hooks(&(memory_hooks_t){.alloc = intruding_alloc, .free = intruding_free, .user = &intruder});
        insitu_status status = round == 2 ? insitu_module_call(intruder.module, &x, outputs, &f.diag) : try_run(&f);
        look(&intruder);
        must(&f, status);
        assert_true(states_are_equal(intruder.state, expected));
        insitu_module_destroy(intruder.module);
        insitu_state_destroy(expected);
        insitu_context_destroy(intruder.context);
        insitu_diag_release(&intruder.diag);
        close_fixture(&f);
    }
    remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ROW("row 40: preallocated outputs are ignored, with one warning, where an output is an input",
            aliases_rule_that_out),
        ROW("row 41: preallocated outputs have one address in all calls where nothing is aliased",
            outputs_may_be_allocated_before),
        ROW("row 41: the largest sizes are allocated for, and a size without a limit is refused",
            the_largest_sizes_are_allocated_for),
        cmocka_unit_test(bound_outputs_take_no_memory),
        ROW("row 43: an output whose size the call decides works beside an alias, and can't be one",
            decided_outputs_are_no_aliases),
        ROW("row 43: an alias of sizes that need not be the same is refused with both",
            sizes_must_be_known_to_be_the_same),
        ROW("row 44: a tensor of other sizes than the alias needs is refused with both, and nothing is written",
            shorter_tensors_are_refused),
        cmocka_unit_test(elements_of_outputs_are_apart),
        ROW("row 45: a call without the cache is refused with its name", unbound_inputs_are_named),
        ROW("row 48: a tensor without elements needs no memory", empty_inputs_need_no_memory),
        ROW("row 51: of two calls at once on one state or module one is refused, and so is every verb",
            calls_within_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
