#include "small_plans.h"

#include "engine/engine.h"
#include <insitu/context.h>
#include <insitu/state.h>

#include <sys/mman.h>
#include <unistd.h>

typedef struct fixture {
    insitu_engine *engine;
    insitu_state *state;
    insitu_diag diag;
    char path[64];
} fixture_t;

static void open_plan(fixture_t *f, plan_t *plan) {
    memset(f, 0, sizeof(*f));
    insitu_diag_init(&f->diag);
    snprintf(f->path, sizeof(f->path), "/tmp/insitu_test_state_%ld", (long)getpid());
    assert_int_equal(finish_plan(plan, &f->diag), INSITU_OK);
    assert_int_equal(engine_create(plan, device_cpu(), NULL, 0, &f->engine, &f->diag), INSITU_OK);
    assert_int_equal(insitu_state_create(f->engine, &f->state, &f->diag), INSITU_OK);
}

static void close_fixture(fixture_t *f) {
    insitu_state_destroy(f->state);
    insitu_engine_destroy(f->engine);
    insitu_diag_release(&f->diag);
    unlink(f->path);
}

static void must(fixture_t *f, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), f->diag.message);
}

static void expect(fixture_t *f, insitu_status status, insitu_status expected, const char *words) {
    if (status != expected || !strstr(f->diag.message, words))
        fail_msg("%s: '%s' where %s with '%s' was expected", insitu_status_name(status), f->diag.message,
                 insitu_status_name(expected), words);
}

static void states_begin_with_their_initial_values(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    assert_int_equal(insitu_state_count(f.state), 3);
    float history[CACHE_WIDTH], cache[CACHE_ROWS][CACHE_WIDTH];
    must(&f, insitu_state_read(f.state, "history", history, sizeof(history), &f.diag));
    assert_memory_equal(history, small_initial, sizeof(history));
    must(&f, insitu_state_read(f.state, "cache", cache, sizeof(cache), &f.diag));
    for (int i = 0; i < CACHE_WIDTH; i++) assert_true(cache[3][i] == 0);
    memset(cache, 1, sizeof(cache));
    must(&f, insitu_state_write(f.state, "cache", cache, sizeof(cache), &f.diag));
    insitu_tensor tensor;
    must(&f, insitu_state_tensor(f.state, 2, &tensor, &f.diag));
    assert_memory_equal(tensor.data, cache, sizeof(cache));
    assert_int_equal(tensor.ndim, 2);
    assert_int_equal(tensor.strides[0], CACHE_WIDTH);
    assert_int_equal((uintptr_t)tensor.data % 64, 0);
    must(&f, insitu_state_reset(f.state, NULL, &f.diag));
    must(&f, insitu_state_read(f.state, "cache", cache, sizeof(cache), &f.diag));
    assert_true(cache[0][0] == 0);
    close_fixture(&f);
}

static void wrong_questions_are_refused(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    float history[CACHE_WIDTH];
    insitu_tensor tensor;
    expect(&f, insitu_state_read(f.state, "histories", history, sizeof(history), &f.diag), INSITU_ARG,
           "no state 'histories'");
    expect(&f, insitu_state_read(f.state, "history", history, 31, &f.diag), INSITU_SHAPE,
           "state 'history' has 32 bytes where 31 were given");
    expect(&f, insitu_state_tensor(f.state, 3, &tensor, &f.diag), INSITU_ARG,
           "state 3 does not exist: the engine has 3");
    expect(&f, insitu_state_write(f.state, NULL, history, 32, &f.diag), INSITU_ARG, "needs a state, a name and data");
    close_fixture(&f);
}

static void forks_share_nothing(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    int64_t five = 5, six = 6, read;
    must(&f, insitu_state_write(f.state, "counter", &five, sizeof(five), &f.diag));
    insitu_state *fork;
    must(&f, insitu_state_fork(f.state, NULL, &fork, &f.diag));
    must(&f, insitu_state_write(f.state, "counter", &six, sizeof(six), &f.diag));
    must(&f, insitu_state_read(fork, "counter", &read, sizeof(read), &f.diag));
    assert_int_equal(read, 5);
    insitu_state_destroy(fork);
    close_fixture(&f);
}

static void files_keep_states(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    int64_t five = 5, read;
    float cache[CACHE_ROWS][CACHE_WIDTH], again[CACHE_ROWS][CACHE_WIDTH];
    for (int i = 0; i < CACHE_ROWS * CACHE_WIDTH; i++) cache[i / CACHE_WIDTH][i % CACHE_WIDTH] = (float)i;
    must(&f, insitu_state_write(f.state, "counter", &five, sizeof(five), &f.diag));
    must(&f, insitu_state_write(f.state, "cache", cache, sizeof(cache), &f.diag));
    must(&f, insitu_state_save(f.state, f.path, &f.diag));
    must(&f, insitu_state_reset(f.state, NULL, &f.diag));
    must(&f, insitu_state_load(f.state, f.path, &f.diag));
    must(&f, insitu_state_read(f.state, "counter", &read, sizeof(read), &f.diag));
    must(&f, insitu_state_read(f.state, "cache", again, sizeof(again), &f.diag));
    assert_int_equal(read, 5);
    assert_memory_equal(cache, again, sizeof(cache));
    close_fixture(&f);
}

static void write_file(const char *path, const char *header, const void *data, size_t data_size) {
    uint8_t length[8] = {0};
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)(strlen(header) >> (8 * i));
    const file_part_t parts[] = {{length, 8}, {header, strlen(header)}, {data, data_size}};
    assert_int_equal(file_write(path, parts, 3, NULL), INSITU_OK);
}

static void files_that_do_not_fit_are_refused_and_change_nothing(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    int64_t five = 5, read;
    const uint8_t data[168] = {0};
    must(&f, insitu_state_write(f.state, "counter", &five, sizeof(five), &f.diag));
#define COUNTER "\"counter\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}"
#define HISTORY "\"history\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[8,40]}"
    const struct {
        const char *header;
        insitu_status status;
        const char *words;
    } cases[] = {
        {"{" COUNTER "," HISTORY ",\"other\":{\"dtype\":\"F32\",\"shape\":[4,8],\"data_offsets\":[40,168]}}",
         INSITU_ARG, "the engine has no state 'other'"},
        {"{" COUNTER "," HISTORY ",\"cache\":{\"dtype\":\"F16\",\"shape\":[8,8],\"data_offsets\":[40,168]}}",
         INSITU_ARG, "state 'cache' of the file has another dtype than the engine's f32"},
        {"{" COUNTER "," HISTORY ",\"cache\":{\"dtype\":\"F32\",\"shape\":[8,4],\"data_offsets\":[40,168]}}",
         INSITU_SHAPE, "state 'cache' of the file has size 8 in dimension 0 where 4 was expected"},
        {"{" COUNTER "," HISTORY ",\"cache\":{\"dtype\":\"F32\",\"shape\":[32],\"data_offsets\":[40,168]}}",
         INSITU_SHAPE, "has 1 dimensions where 2 were expected"},
        {"{" COUNTER "," HISTORY ",\"cache\":{\"dtype\":\"F32\",\"shape\":[4,8],\"data_offsets\":[140,268]}}",
         INSITU_FORMAT, "not a valid state file: tensor 'cache' lies outside the file"},
        {"{" COUNTER "," HISTORY ",\"cache\":{\"dtype\":\"F32\",\"shape\":[4,8],\"data_offsets\":[40,160]}}",
         INSITU_FORMAT, "tensor 'cache' has another number of bytes than its shape and dtype say"},
        {"{" COUNTER "," HISTORY ",\"cache\":{\"dtype\":\"F32\",\"shape\":[4,-8],\"data_offsets\":[40,168]}}",
         INSITU_FORMAT, "tensor 'cache' has a size that is no count"},
        {"{" COUNTER "," COUNTER "}", INSITU_FORMAT, "not JSON"},
        {"{\"__metadata__\":[]}", INSITU_FORMAT, "__metadata__ is not an object"},
        {"[]", INSITU_FORMAT, "not a JSON object"},
        {"", INSITU_FORMAT, "not JSON"},
        {"{" COUNTER "," HISTORY "}", INSITU_FORMAT, "its last 128 bytes belong to no tensor"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        write_file(f.path, cases[i].header, data, sizeof(data));
        expect(&f, insitu_state_load(f.state, f.path, &f.diag), cases[i].status, cases[i].words);
    }
    write_file(f.path, "{" COUNTER "," HISTORY "}", data, 40);
    expect(&f, insitu_state_load(f.state, f.path, &f.diag), INSITU_ARG, "no tensor 'cache'");
    expect(&f, insitu_state_load(f.state, "/nonexistent/state", &f.diag), INSITU_IO, "/nonexistent/state");
    must(&f, insitu_state_read(f.state, "counter", &read, sizeof(read), &f.diag));
    assert_int_equal(read, 5);
    close_fixture(&f);
}

#define CACHE "\"cache\":{\"dtype\":\"F32\",\"shape\":[4,8],\"data_offsets\":[40,168]}"
#define STATES "{" COUNTER "," HISTORY "," CACHE ","
/* A buffer that the program does not write may stand beside the states, and must be what the engine has. */
static void files_may_hold_the_engines_buffers(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_small_plan());
    const float scale[4] = {2, 4, 6, 8}, other[4] = {2, 4, 6, 9};
    const struct {
        const char *buffer;
        const float *values;
        const char *words; /* NULL: the file is loaded */
    } cases[] = {
        {"\"scale\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[168,184]}}", scale, NULL},
        {"\"scale\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[168,184]}}", other,
         "buffer 'scale' of the file has other values than the engine's"},
        {"\"scale\":{\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[168,184]}}", scale,
         "buffer 'scale' of the file has another dtype than the engine's f32"},
        {"\"scale\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[168,184]}}", scale,
         "buffer 'scale' of the file has another shape"},
        {"\"scale\":{\"dtype\":\"U8\",\"shape\":[2,8],\"data_offsets\":[168,184]}}", scale,
         "buffer 'scale' of the file has another dtype"},
        {"\"scale\":{\"dtype\":\"F32\",\"shape\":[1,4],\"data_offsets\":[168,184]}}", scale,
         "buffer 'scale' of the file has another shape"},
        {"\"layer.weight\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[168,184]}}", scale,
         "the engine has no state 'layer.weight', which the file holds"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        text_t header;
        uint8_t data[184] = {[0] = 7};
        int64_t counter = 5;
        memcpy(data + 168, cases[i].values, sizeof(scale));
        text_init(&header);
        text_printf(&header, STATES "%s", cases[i].buffer);
        write_file(f.path, header.data, data, sizeof(data));
        text_release(&header);
        must(&f, insitu_state_write(f.state, "counter", &counter, sizeof(counter), &f.diag));
        insitu_status status = insitu_state_load(f.state, f.path, &f.diag);
        if (cases[i].words) expect(&f, status, INSITU_ARG, cases[i].words);
        if (!cases[i].words) must(&f, status);
        must(&f, insitu_state_read(f.state, "counter", &counter, sizeof(counter), &f.diag));
        assert_int_equal(counter, cases[i].words ? 5 : 7);
    }
    close_fixture(&f);
}

/* Two names of one storage, one of them transposed, and a complex tensor, which safetensors lacks. */
static plan_t *make_shared_plan(void) {
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    sym_t three = sym_int(pool, 3), two = sym_int(pool, 2), one = sym_int(pool, 1);
    tensor_type_t table = dense_type(plan, DTYPE_F32, 2, (sym_t[]){two, three});
    tensor_type_t turned = dense_type(plan, DTYPE_F32, 2, (sym_t[]){three, two});
    turned.strides[0] = one;
    turned.strides[1] = three;
    tensor_type_t numbers = dense_type(plan, DTYPE_C128, 1, &two);
    (void)add_state(plan, "table", table, NONE);
    plan->states[plan->state_count++] = (plan_state_t){.name = "turned", .state_storage = 0, .type = turned};
    (void)add_state(plan, "numbers", numbers, NONE);
    tensor_type_t empty = dense_type(plan, DTYPE_F32, 1, (sym_t[]){sym_int(pool, 0)});
    (void)add_state(plan, "empty", empty, NONE);
    return plan;
}

static void names_may_share_a_storage(void **state) {
    (void)state;
    fixture_t f;
    open_plan(&f, make_shared_plan());
    const float table[2][3] = {{1, 2, 3}, {4, 5, 6}};
    float turned[3][2];
    must(&f, insitu_state_write(f.state, "table", table, sizeof(table), &f.diag));
    must(&f, insitu_state_read(f.state, "turned", turned, sizeof(turned), &f.diag));
    assert_true(turned[2][0] == 3 && turned[0][1] == 4);
    const double numbers[4] = {1, 2, 3, 4};
    double read[4];
    must(&f, insitu_state_write(f.state, "numbers", numbers, sizeof(numbers), &f.diag));
    must(&f, insitu_state_save(f.state, f.path, &f.diag));
    must(&f, insitu_state_reset(f.state, NULL, &f.diag));
    must(&f, insitu_state_load(f.state, f.path, &f.diag));
    must(&f, insitu_state_read(f.state, "numbers", read, sizeof(read), &f.diag));
    assert_memory_equal(numbers, read, sizeof(read));
    must(&f, insitu_state_read(f.state, "turned", turned, sizeof(turned), &f.diag));
    assert_true(turned[2][0] == 3 && turned[0][1] == 4);
    insitu_tensor empty;
    must(&f, insitu_state_tensor(f.state, 3, &empty, &f.diag));
    assert_non_null(empty.data);
    close_fixture(&f);
}

/* A cache whose rows are pages: a call must not even touch the pages of other rows. */
enum { PAGE_ROWS = 8, PAGE_FLOATS = 1024 };

static plan_t *make_page_plan(void) {
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    sym_t one = sym_int(pool, 1), rows = sym_int(pool, PAGE_ROWS), width = sym_int(pool, PAGE_FLOATS);
    tensor_type_t table = dense_type(plan, DTYPE_F32, 2, (sym_t[]){rows, width});
    tensor_type_t row = dense_type(plan, DTYPE_F32, 2, (sym_t[]){one, width});
    tensor_type_t position = dense_type(plan, DTYPE_I64, 1, &one);
    uint32_t pos = add_input(plan, "pos", position, false), source = add_input(plan, "row", row, false);
    uint32_t cache = add_state(plan, "cache", table, NONE);
    plan_operand_t cache_operand = {cache, table}, pos_operand = {pos, position};
    plan_step_t *step = add_step(plan, LAYER_INDEX_UPDATE, "check", NULL, 0, &pos_operand, 1);
    step->kind = STEP_CHECK_INDEX;
    step->extent = rows;
    plan->first_write = 1;
    step = add_step(plan, LAYER_INDEX_UPDATE, "update", &cache_operand, 1,
                    (plan_operand_t[]){cache_operand, {source, row}, pos_operand}, 3);
    set_value(step, ATTR_ACCUMULATE, sym_bool(pool, false));
    set_value(step, ATTR_WRAP, sym_bool(pool, false));
    set_list(plan, step, ATTR_DIMS, (sym_t[]){sym_int(pool, 0)}, 1);
    return plan;
}

static void only_the_written_page_is_touched(void **state) {
    (void)state;
    fixture_t f;
    insitu_context *context;
    open_plan(&f, make_page_plan());
    must(&f, insitu_context_create(f.engine, &context, &f.diag));
    static float row[PAGE_FLOATS];
    int64_t position = 5, one[] = {1}, row_sizes[] = {1, PAGE_FLOATS};
    insitu_tensor pos_tensor = {
        .data = &position, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = INSITU_DTYPE_I64, .shape = one};
    insitu_tensor row_tensor = {
        .data = row, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 2, .dtype = INSITU_DTYPE_F32, .shape = row_sizes};
    row[7] = 7;
    must(&f, insitu_context_set_input(context, 0, &pos_tensor, &f.diag));
    must(&f, insitu_context_set_input(context, 1, &row_tensor, &f.diag));
    insitu_tensor cache;
    must(&f, insitu_state_tensor(f.state, 0, &cache, &f.diag));
    uint8_t *pages = cache.data;
    assert_int_equal((uintptr_t)pages % 4096, 0);
    assert_int_equal(mprotect(pages, PAGE_ROWS * 4096, PROT_READ), 0);
    assert_int_equal(mprotect(pages + 5 * 4096, 4096, PROT_READ | PROT_WRITE), 0);
    must(&f, insitu_context_run(context, f.state, NULL, &f.diag));
    assert_int_equal(mprotect(pages, PAGE_ROWS * 4096, PROT_READ | PROT_WRITE), 0);
    assert_true(((const float *)cache.data)[5 * PAGE_FLOATS + 7] == 7);
    insitu_context_destroy(context);
    close_fixture(&f);
}

static void states_of_other_engines_are_refused(void **state) {
    (void)state;
    fixture_t f, other;
    insitu_context *context;
    open_plan(&f, make_shared_plan());
    open_plan(&other, make_shared_plan());
    must(&f, insitu_context_create(f.engine, &context, &f.diag));
    expect(&f, insitu_context_run(context, other.state, NULL, &f.diag), INSITU_ARG, "belongs to another engine");
    must(&f, insitu_context_run(context, f.state, NULL, &f.diag));
    insitu_context_destroy(context);
    close_fixture(&other);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_begin_with_their_initial_values),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(forks_share_nothing),
        cmocka_unit_test(files_keep_states),
        cmocka_unit_test(files_that_do_not_fit_are_refused_and_change_nothing),
        cmocka_unit_test(files_may_hold_the_engines_buffers),
        cmocka_unit_test(names_may_share_a_storage),
        cmocka_unit_test(only_the_written_page_is_touched),
        cmocka_unit_test(states_of_other_engines_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
