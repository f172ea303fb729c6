#include "small_plans.h"

#include "counting_allocator.h"
#include "engine/engine.h"
#include <insitu/context.h>
#include <insitu/module.h>

/* What most tests need: the small plan's engine, one context and one state, and memory for its inputs. */
typedef struct fixture {
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *state;
    insitu_diag diag;
    float x[6][CACHE_WIDTH], row[CACHE_WIDTH], bias[CACHE_WIDTH];
    int64_t position;
} fixture_t;

static void open_plan(fixture_t *f, plan_t *plan) {
    memset(f, 0, sizeof(*f));
    insitu_diag_init(&f->diag);
    assert_int_equal(finish_plan(plan, &f->diag), INSITU_OK);
    assert_int_equal(engine_create(plan, device_cpu(), NULL, 0, &f->engine, &f->diag), INSITU_OK);
    assert_int_equal(insitu_context_create(f->engine, &f->context, &f->diag), INSITU_OK);
    assert_int_equal(insitu_state_create(f->engine, &f->state, &f->diag), INSITU_OK);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < CACHE_WIDTH; j++) f->x[i][j] = (float)(i * CACHE_WIDTH + j);
    for (int j = 0; j < CACHE_WIDTH; j++) f->row[j] = (float)(100 + j);
}

static void close_fixture(fixture_t *f) {
    insitu_context_destroy(f->context);
    insitu_state_destroy(f->state);
    insitu_engine_destroy(f->engine);
    insitu_diag_release(&f->diag);
}

static insitu_tensor tensor_of(void *data, insitu_dtype type, int32_t ndim, int64_t *shape, int64_t *strides) {
    return (insitu_tensor){.data = data,
                           .device = {INSITU_DEVICE_CPU, 0},
                           .ndim = ndim,
                           .dtype = type,
                           .shape = shape,
                           .strides = strides};
}

static insitu_status set_input(fixture_t *f, const char *name, void *data, insitu_dtype type, int32_t ndim,
                               int64_t *shape, int64_t *strides) {
    insitu_tensor tensor = tensor_of(data, type, ndim, shape, strides);
    return insitu_context_set_input(f->context, insitu_engine_find_input(f->engine, name), &tensor, &f->diag);
}

static void must(fixture_t *f, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), f->diag.message);
}

static void expect(fixture_t *f, insitu_status status, insitu_status expected, const char *words) {
    if (status != expected || !strstr(f->diag.message, words))
        fail_msg("%s: '%s' where %s with '%s' was expected", insitu_status_name(status), f->diag.message,
                 insitu_status_name(expected), words);
}

static void bind_inputs(fixture_t *f, int64_t rows) {
    must(f, set_input(f, "x", f->x, INSITU_DTYPE_F32, 2, (int64_t[]){rows, CACHE_WIDTH}, NULL));
    must(f, set_input(f, "pos", &f->position, INSITU_DTYPE_I64, 1, (int64_t[]){1}, NULL));
    must(f, set_input(f, "row", f->row, INSITU_DTYPE_F32, 2, (int64_t[]){1, CACHE_WIDTH}, NULL));
    must(f, set_input(f, "bias", f->bias, INSITU_DTYPE_F32, 1, (int64_t[]){CACHE_WIDTH}, NULL));
}

static insitu_status run(fixture_t *f) { return insitu_context_run(f->context, f->state, NULL, &f->diag); }

static insitu_tensor output(fixture_t *f, int32_t index) {
    insitu_tensor tensor;
    must(f, insitu_context_output(f->context, index, &tensor, &f->diag));
    return tensor;
}

static const float *values_of(const insitu_tensor *tensor) {
    return (const float *)(const void *)((const uint8_t *)tensor->data + tensor->byte_offset);
}

static int64_t counter_of(fixture_t *f) {
    int64_t counter;
    must(f, insitu_state_read(f->state, "counter", &counter, sizeof(counter), &f->diag));
    return counter;
}

static void calls_compute_and_update_in_place(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    for (int64_t call = 0; call < 3; call++) {
        f.position = call;
        f.row[0] = (float)(100 + call);
        bind_inputs(&f, 3);
        must(&f, run(&f));
        insitu_tensor product = output(&f, 0), cache = output(&f, 1), bias = output(&f, 2), rows = output(&f, 3);
        assert_int_equal(product.ndim, 2);
        assert_int_equal(product.shape[0], 3);
        for (int i = 0; i < 24; i++) assert_true(values_of(&product)[i] == 2 * (float)i * (float)i);
        assert_ptr_equal(values_of(&bias), f.bias);
        assert_true(f.bias[3] == (float)(call + 1));
        assert_int_equal(*(const int64_t *)rows.data, 3);
        assert_int_equal(counter_of(&f), call + 1);
        for (int64_t row = 0; row < CACHE_ROWS; row++)
            assert_true(values_of(&cache)[row * CACHE_WIDTH] == (row <= call ? (float)(100 + row) : 0));
        insitu_tensor none = output(&f, 4);
        assert_null(none.data);
    }
    float history[CACHE_WIDTH];
    must(&f, insitu_state_read(f.state, "history", history, sizeof(history), &f.diag));
    for (int i = 0; i < CACHE_WIDTH; i++) assert_true(history[i] == small_initial[i] + 3 * small_weight[i]);
    close_fixture(&f);
}

static void counters_sum_the_steps(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    expect(&f, insitu_context_stats(f.context, &stats, &f.diag), INSITU_ARG, "no counters");
    bind_inputs(&f, 2);
    must(&f, run(&f));
    must(&f, insitu_context_stats(f.context, &stats, &f.diag));
    assert_int_equal(stats.state_bytes_written, 8 + 32 + 32 + 32);
    assert_int_equal(stats.weight_bytes_read, 32);
    assert_int_equal(stats.output_bytes_copied, 0);
    assert_int_equal(stats.arena_bytes, 64);
    assert_true(stats.seconds >= 0);
    close_fixture(&f);
}

static void outputs_go_where_they_are_bound(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    bind_inputs(&f, 2);
    float product[2][CACHE_WIDTH], wide[2][16], cache[CACHE_ROWS][CACHE_WIDTH];
    int64_t sizes[] = {2, CACHE_WIDTH}, strides[] = {16, 2}, cache_sizes[] = {CACHE_ROWS, CACHE_WIDTH};
    insitu_tensor dense = tensor_of(product, INSITU_DTYPE_F32, 2, sizes, NULL);
    must(&f, insitu_context_set_output(f.context, 0, &dense, &f.diag));
    must(&f, run(&f));
    assert_ptr_equal(output(&f, 0).data, product);
    for (int i = 0; i < 16; i++) assert_true(product[i / 8][i % 8] == 2 * (float)i * (float)i);

    /* Other strides: computed elsewhere, then copied, and no byte between the elements is touched. */
    memset(wide, 0x55, sizeof(wide));
    insitu_tensor strided = tensor_of(wide, INSITU_DTYPE_F32, 2, sizes, strides);
    must(&f, insitu_context_set_output(f.context, 0, &strided, &f.diag));
    insitu_tensor elsewhere = tensor_of(cache, INSITU_DTYPE_F32, 2, cache_sizes, NULL);
    must(&f, insitu_context_set_output(f.context, 1, &elsewhere, &f.diag));
    must(&f, run(&f));
    uint32_t gap;
    memcpy(&gap, &wide[1][5], sizeof(gap));
    assert_int_equal(gap, 0x55555555);
    for (int i = 0; i < 16; i++) assert_true(wide[i / 8][i % 8 * 2] == 2 * (float)i * (float)i);
    for (int i = 0; i < CACHE_WIDTH; i++) assert_true(cache[0][i] == f.row[i]);
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    must(&f, insitu_context_stats(f.context, &stats, &f.diag));
    assert_int_equal(stats.output_bytes_copied, (int64_t)sizeof(cache)); /* a state, copied to other memory */

    /* Bound to the state's own memory, it is the state, and nothing is copied. */
    insitu_tensor own;
    must(&f, insitu_state_tensor(f.state, 2, &own, &f.diag));
    must(&f, insitu_context_set_output(f.context, 1, &own, &f.diag));
    must(&f, insitu_context_set_output(f.context, 0, NULL, &f.diag));
    must(&f, run(&f));
    assert_ptr_equal(output(&f, 1).data, own.data);
    must(&f, insitu_context_stats(f.context, &stats, &f.diag));
    assert_int_equal(stats.output_bytes_copied, 0);
    close_fixture(&f);
}

static void inputs_with_other_strides_are_staged_unless_written(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    bind_inputs(&f, 3);
    float turned[CACHE_WIDTH][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < CACHE_WIDTH; j++) turned[j][i] = f.x[i][j];
    must(&f, set_input(&f, "x", turned, INSITU_DTYPE_F32, 2, (int64_t[]){3, CACHE_WIDTH}, (int64_t[]){1, 3}));
    must(&f, run(&f));
    insitu_tensor product = output(&f, 0);
    for (int i = 0; i < 24; i++) assert_true(values_of(&product)[i] == 2 * (float)i * (float)i);
    float sparse[CACHE_WIDTH * 2] = {0};
    expect(&f, set_input(&f, "bias", sparse, INSITU_DTYPE_F32, 1, (int64_t[]){CACHE_WIDTH}, (int64_t[]){2}),
           INSITU_SHAPE, "input 'bias' is written by the program, so its strides");
    must(&f, run(&f)); /* with the tensor that was bound before */
    assert_int_equal(counter_of(&f), 2);
    close_fixture(&f);
}

static void wrong_inputs_are_named(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    expect(&f, run(&f), INSITU_ARG, "input 'x' is not bound");
    bind_inputs(&f, 2);
    int64_t sizes[] = {2, CACHE_WIDTH, 1};
    expect(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F64, 2, sizes, NULL), INSITU_ARG,
           "input 'x' has dtype f64 where f32 was expected");
    expect(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 3, sizes, NULL), INSITU_SHAPE,
           "input 'x' has 3 dimensions where 2 were expected");
    expect(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 2, (int64_t[]){2, 9}, NULL), INSITU_SHAPE,
           "input 'x' has size 9 in dimension 1 where 8 was expected");
    expect(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 2, (int64_t[]){7, 8}, NULL), INSITU_SHAPE,
           "input 'x' has size 7 in dimension 0 where from 1 to 6 is allowed");
    expect(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 2, (int64_t[]){0, 8}, NULL), INSITU_SHAPE,
           "has size 0 in dimension 0");
    expect(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 2, sizes, (int64_t[]){-8, 1}), INSITU_SHAPE,
           "has a negative stride");
    expect(&f, set_input(&f, "x", NULL, INSITU_DTYPE_F32, 2, sizes, NULL), INSITU_ARG, "input 'x' has no data");
    expect(&f, set_input(&f, "x", (uint8_t *)f.x + 1, INSITU_DTYPE_F32, 2, sizes, NULL), INSITU_ARG,
           "input 'x' is not aligned");
    expect(&f, set_input(&f, "y", f.x, INSITU_DTYPE_F32, 2, sizes, NULL), INSITU_ARG,
           "input -1 does not exist: the engine has 4");
    insitu_tensor away = tensor_of(f.x, INSITU_DTYPE_F32, 2, sizes, NULL);
    away.device.device_type = INSITU_DEVICE_CUDA;
    expect(&f, insitu_context_set_input(f.context, 0, &away, &f.diag), INSITU_ARG, "is not in CPU memory");
    must(&f, run(&f)); /* a refused tensor leaves the one before it bound */
    close_fixture(&f);
}

static void failed_calls_change_nothing(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    bind_inputs(&f, 2);
    must(&f, run(&f));
    f.position = CACHE_ROWS;
    expect(&f, run(&f), INSITU_BOUNDS, "4");
    f.position = -1; /* this update does not wrap */
    expect(&f, run(&f), INSITU_BOUNDS, "-1");
    f.position = 0;
    must(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 2, (int64_t[]){5, CACHE_WIDTH}, NULL));
    expect(&f, run(&f), INSITU_ASSERT, "five is too odd (model.py:9)");
    expect(&f, insitu_context_run(f.context, NULL, NULL, &f.diag), INSITU_ARG, "got no state");
    assert_int_equal(counter_of(&f), 1);
    assert_true(f.bias[0] == 1);
    insitu_tensor tensor;
    expect(&f, insitu_context_output(f.context, 0, &tensor, &f.diag), INSITU_ARG, "no outputs");
    close_fixture(&f);
}

static void sizes_of_outputs_are_known_before_the_call(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    int32_t ndim;
    int64_t sizes[MAX_RANK];
    expect(&f, insitu_context_output_shape(f.context, 0, &ndim, sizes, &f.diag), INSITU_ARG,
           "depend on input 'x', which is not bound");
    must(&f, insitu_context_output_shape(f.context, 1, &ndim, sizes, &f.diag));
    assert_int_equal(sizes[0], CACHE_ROWS);
    bind_inputs(&f, 4);
    must(&f, insitu_context_output_shape(f.context, 0, &ndim, sizes, &f.diag));
    assert_int_equal(ndim, 2);
    assert_int_equal(sizes[0], 4);
    float wrong[3 * CACHE_WIDTH];
    insitu_tensor tensor = tensor_of(wrong, INSITU_DTYPE_F32, 2, (int64_t[]){3, CACHE_WIDTH}, NULL);
    must(&f, insitu_context_set_output(f.context, 0, &tensor, &f.diag));
    expect(&f, run(&f), INSITU_SHAPE, "output 'output.0' is bound with size 3 in dimension 0 where it has 4");
    close_fixture(&f);
}

static void overlapping_memory_is_refused_where_it_matters(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    bind_inputs(&f, 2);
    /* Two inputs that are only read may share memory. */
    must(&f, set_input(&f, "row", f.x, INSITU_DTYPE_F32, 2, (int64_t[]){1, CACHE_WIDTH}, NULL));
    must(&f, run(&f));
    must(&f, set_input(&f, "row", f.bias, INSITU_DTYPE_F32, 2, (int64_t[]){1, CACHE_WIDTH}, NULL));
    expect(&f, run(&f), INSITU_ARG, "input 'row' shares memory with input 'bias'");
    bind_inputs(&f, 2);
    insitu_tensor over_input = tensor_of(f.x[1], INSITU_DTYPE_F32, 2, (int64_t[]){2, CACHE_WIDTH}, NULL);
    must(&f, insitu_context_set_output(f.context, 0, &over_input, &f.diag));
    expect(&f, run(&f), INSITU_ARG, "input 'x' shares memory with output 'output.0'");
    insitu_tensor beside = tensor_of(f.x[2], INSITU_DTYPE_F32, 2, (int64_t[]){2, CACHE_WIDTH}, NULL);
    must(&f, insitu_context_set_output(f.context, 0, &beside, &f.diag));
    must(&f, run(&f));
    insitu_tensor cache;
    must(&f, insitu_state_tensor(f.state, 2, &cache, &f.diag));
    must(&f, set_input(&f, "row", cache.data, INSITU_DTYPE_F32, 2, (int64_t[]){1, CACHE_WIDTH}, NULL));
    expect(&f, run(&f), INSITU_ARG, "input 'row' shares memory with state 'cache'");
    /* An output of the last call that lives in the context can't be the next call's input. */
    bind_inputs(&f, 2);
    must(&f, insitu_context_set_output(f.context, 0, NULL, &f.diag));
    must(&f, run(&f));
    insitu_tensor last = output(&f, 0);
    must(&f, insitu_context_set_input(f.context, 0, &last, &f.diag));
    expect(&f, run(&f), INSITU_ARG, "shares memory with the context's memory for outputs");
    close_fixture(&f);
}

static void bindings_are_kept_and_limited(void **state) {
    (void)state;
    fixture_t f;
    plan_t *plan = make_small_plan();
    plan->symbols.symbols[0].max = 64;
    open_plan(&f, plan);
    float x[64 * CACHE_WIDTH] = {0};
    allocation_count_t count = {0};
    for (int round = 0; round < 2; round++) {
        for (int64_t rows = 6; rows < 6 + MAX_SYMBOL_BINDINGS + 4; rows++) {
            bind_inputs(&f, 2);
            must(&f, set_input(&f, "x", x, INSITU_DTYPE_F32, 2, (int64_t[]){rows, CACHE_WIDTH}, NULL));
            must(&f, run(&f));
            assert_int_equal(output(&f, 0).shape[0], rows);
        }
    }
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    must(&f, insitu_context_stats(f.context, &stats, &f.diag));
    assert_int_equal(stats.bindings_made,
                     2 * (MAX_SYMBOL_BINDINGS + 4)); /* in turn, each is gone when it comes again */
    assert_int_equal(stats.bindings_dropped, MAX_SYMBOL_BINDINGS + 8);
    count_allocations(&count); /* the last MAX_SYMBOL_BINDINGS are still there */
    for (int64_t rows = 10; rows < 10 + MAX_SYMBOL_BINDINGS; rows++) {
        must(&f, set_input(&f, "x", x, INSITU_DTYPE_F32, 2, (int64_t[]){rows, CACHE_WIDTH}, NULL));
        must(&f, run(&f));
    }
    memory_set_hooks(NULL);
    assert_int_equal(count.calls, 0);
    close_fixture(&f);
}

static void warm_calls_allocate_nothing(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    float turned[CACHE_WIDTH * 3] = {0};
    bind_inputs(&f, 3);
    must(&f, set_input(&f, "x", turned, INSITU_DTYPE_F32, 2, (int64_t[]){3, CACHE_WIDTH}, (int64_t[]){1, 3}));
    must(&f, run(&f));
    allocation_count_t count = {0};
    count_allocations(&count);
    for (int i = 0; i < 10; i++) {
        f.position = i % CACHE_ROWS;
        bind_inputs(&f, 3);
        must(&f, set_input(&f, "x", turned, INSITU_DTYPE_F32, 2, (int64_t[]){3, CACHE_WIDTH}, (int64_t[]){1, 3}));
        must(&f, run(&f));
        (void)output(&f, 0);
    }
    memory_set_hooks(NULL);
    assert_int_equal(count.calls, 0);
    close_fixture(&f);
}

/* y = x * number, where number is a Python number given at each call. */
static plan_t *make_number_plan(bool is_constant) {
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    sym_t width = sym_int(pool, CACHE_WIDTH), value = sym_int(pool, 3);
    if (!is_constant) {
        uint32_t symbol = sym_add_symbol(pool, "n", SYM_KIND_INT, 2, 9);
        value = sym_of_symbol(pool, symbol);
        plan->symbol_sources[symbol] = (plan_symbol_t){.source = SYMBOL_INPUT_VALUE, .input = 1};
    }
    tensor_type_t line = dense_type(plan, DTYPE_F32, 1, &width);
    uint32_t x = add_input(plan, "x", line, false);
    plan->inputs[plan->input_count++] = (plan_input_t){.name = "n",
                                                       .type = {.dtype = DTYPE_I64},
                                                       .is_scalar = true,
                                                       .is_constant = is_constant,
                                                       .value = value,
                                                       .storage = NONE};
    plan->inputs[plan->input_count++] = (plan_input_t){.name = "absent", .is_none = true, .storage = NONE};
    uint32_t y = add_output(plan, "output.0", line);
    plan_step_t *step =
        add_step(plan, LAYER_BINARY, "scale", &(plan_operand_t){y, line}, 1, &(plan_operand_t){x, line}, 1);
    set_op(step, OP_MUL);
    set_value(step, ATTR_SCALAR, value);
    set_value(step, ATTR_SCALAR_FIRST, sym_bool(pool, false));
    plan->first_write = 1;
    return plan;
}

static void numbers_are_symbols_or_constants(void **state) {
    (void)state;
    fixture_t f;
    int64_t number = 5;
    open_plan(&f, make_number_plan(false));
    must(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 1, (int64_t[]){CACHE_WIDTH}, NULL));
    must(&f, set_input(&f, "n", &number, INSITU_DTYPE_I64, 0, NULL, NULL));
    must(&f, set_input(&f, "absent", NULL, INSITU_DTYPE_I64, 0, NULL, NULL));
    must(&f, insitu_context_run(f.context, NULL, NULL, &f.diag));
    insitu_tensor y = output(&f, 0);
    assert_true(values_of(&y)[3] == 15);
    number = 7; /* read by each call */
    must(&f, run(&f));
    y = output(&f, 0);
    assert_true(values_of(&y)[3] == 21);
    insitu_value_info info = {.struct_size = sizeof(info)};
    must(&f, insitu_engine_input(f.engine, 1, &info, &f.diag));
    assert_true(info.is_scalar && info.min_value == 2 && info.max_value == 9);
    char *text;
    must(&f, insitu_engine_print(f.engine, "values", &text, &f.diag));
    assert_non_null(strstr(text, "  n: number i64, n from 2 to 9\n"));
    insitu_text_free(text);
    must(&f, insitu_engine_print(f.engine, "json", &text, &f.diag));
    assert_non_null(strstr(text, "\"min_value\":2,\"max_value\":9"));
    insitu_text_free(text);
    number = 10;
    expect(&f, run(&f), INSITU_SHAPE, "input 'n' is 10 where from 2 to 9 is allowed");
    close_fixture(&f);
    open_plan(&f, make_number_plan(true));
    must(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 1, (int64_t[]){CACHE_WIDTH}, NULL));
    must(&f, insitu_engine_input(f.engine, 1, &info, &f.diag));
    assert_true(info.is_scalar && info.is_fixed);
    assert_true(info.min_value == 3 && info.max_value == 3);
    must(&f, insitu_engine_input(f.engine, 0, &info, &f.diag));
    assert_false(info.is_fixed);
    assert_true(info.min_value == 0 && info.max_value == 0);
    must(&f, run(&f)); /* a value that there is no choice of may be left out */
    y = output(&f, 0);
    assert_true(values_of(&y)[3] == 9);
    must(&f, set_input(&f, "n", &number, INSITU_DTYPE_I64, 0, NULL, NULL));
    expect(&f, run(&f), INSITU_ARG, "input 'n' is 10, but the program was exported for 3");
    number = 3;
    must(&f, run(&f));
    close_fixture(&f);
}

/* x: f32[s0], y: f32[2*s0 + 1]: the second's size follows from the first's; an unused input is checked all the same. */
static void sizes_must_fit_each_other(void **state) {
    (void)state;
    fixture_t f;
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    uint32_t symbol = sym_add_symbol(pool, "s0", SYM_KIND_INT, 0, INT64_MAX);
    sym_t size = sym_of_symbol(pool, symbol);
    sym_t longer = sym_add(pool, sym_mul(pool, sym_int(pool, 2), size), sym_int(pool, 1));
    plan->symbol_sources[symbol].source = SYMBOL_INPUT_SIZE;
    tensor_type_t first = dense_type(plan, DTYPE_F32, 1, &size), second = dense_type(plan, DTYPE_F32, 1, &longer);
    uint32_t x = add_input(plan, "x", first, false);
    plan->inputs[plan->input_count++] = (plan_input_t){.name = "y", .type = second, .storage = NONE};
    uint32_t out = add_output(plan, "output.0", first);
    set_op(add_step(plan, LAYER_UNARY, "negate", &(plan_operand_t){out, first}, 1, &(plan_operand_t){x, first}, 1),
           OP_NEG);
    plan->first_write = 1;
    open_plan(&f, plan);
    must(&f, set_input(&f, "x", f.x, INSITU_DTYPE_F32, 1, (int64_t[]){3}, NULL));
    must(&f, set_input(&f, "y", f.x, INSITU_DTYPE_F32, 1, (int64_t[]){6}, NULL));
    expect(&f, run(&f), INSITU_SHAPE, "input 'y' has size 6 in dimension 0 where 2*s0 + 1 = 7 was expected");
    must(&f, set_input(&f, "y", f.x, INSITU_DTYPE_F32, 1, (int64_t[]){7}, NULL));
    must(&f, run(&f));
    /* no elements, no memory */
    must(&f, set_input(&f, "x", NULL, INSITU_DTYPE_F32, 1, (int64_t[]){0}, NULL));
    must(&f, set_input(&f, "y", f.x, INSITU_DTYPE_F32, 1, (int64_t[]){1}, NULL));
    must(&f, run(&f));
    assert_int_equal(output(&f, 0).shape[0], 0);
    assert_non_null(output(&f, 0).data);
    close_fixture(&f);
}

static void modules_hold_a_context_and_a_state(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    insitu_module *module;
    must(&f, insitu_module_create(f.engine, &module, &f.diag));
    insitu_tensor inputs[] = {tensor_of(f.x, INSITU_DTYPE_F32, 2, (int64_t[]){2, CACHE_WIDTH}, NULL),
                              tensor_of(&f.position, INSITU_DTYPE_I64, 1, (int64_t[]){1}, NULL),
                              tensor_of(f.row, INSITU_DTYPE_F32, 2, (int64_t[]){1, CACHE_WIDTH}, NULL),
                              tensor_of(f.bias, INSITU_DTYPE_F32, 1, (int64_t[]){CACHE_WIDTH}, NULL)};
    insitu_tensor outputs[5], cache;
    must(&f, insitu_module_call(module, inputs, outputs, &f.diag));
    must(&f, insitu_module_call(module, inputs, outputs, &f.diag));
    must(&f, insitu_state_tensor(insitu_module_state(module), 2, &cache, &f.diag));
    assert_ptr_equal(outputs[1].data, cache.data);
    assert_ptr_equal(outputs[2].data, f.bias);
    assert_true(f.bias[0] == 2);
    inputs[1].ndim = 0; /* a call that fails gives nothing out */
    expect(&f, insitu_module_call(module, inputs, outputs, &f.diag), INSITU_SHAPE, "input 'pos'");
    for (size_t i = 0; i < COUNT_OF(outputs); i++) assert_true(!outputs[i].data && !outputs[i].shape);
    insitu_module_destroy(module);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_compute_and_update_in_place),
        cmocka_unit_test(counters_sum_the_steps),
        cmocka_unit_test(outputs_go_where_they_are_bound),
        cmocka_unit_test(inputs_with_other_strides_are_staged_unless_written),
        cmocka_unit_test(wrong_inputs_are_named),
        cmocka_unit_test(failed_calls_change_nothing),
        cmocka_unit_test(sizes_of_outputs_are_known_before_the_call),
        cmocka_unit_test(overlapping_memory_is_refused_where_it_matters),
        cmocka_unit_test(bindings_are_kept_and_limited),
        cmocka_unit_test(warm_calls_allocate_nothing),
        cmocka_unit_test(numbers_are_symbols_or_constants),
        cmocka_unit_test(sizes_must_fit_each_other),
        cmocka_unit_test(modules_hold_a_context_and_a_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
