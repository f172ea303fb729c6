/* The executor: the same bits on any number of threads, checks before writes, barriers only where bytes meet. */
#include "backend/cpu/hazards.h"
#include "steps.h"

enum { WIDE = 40000 };

static void fill_random(steps_t *steps, const bound_operand_t *operand, uint32_t seed) {
    float *data = steps_data(steps, operand);
    for (int64_t i = 0; i < operand_numel(operand); i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (float)(seed >> 8) / (float)(1 << 24) - 0.5F;
    }
}

/* x -> exp -> sum of neighbours in another order -> row sums; every step is shared and reads other threads' bytes. */
static void build_chain(steps_t *steps, bound_operand_t *out_sums) {
    bound_operand_t x = steps_tensor(steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(200, WIDE / 200));
    bound_operand_t a = steps_tensor(steps, STORAGE_ARENA, DTYPE_F32, 2, SIZES(200, WIDE / 200));
    bound_operand_t b = steps_tensor(steps, STORAGE_ARENA, DTYPE_F32, 2, SIZES(WIDE / 200, 200));
    *out_sums = steps_tensor(steps, STORAGE_OUTPUT, DTYPE_F32, 1, SIZES(WIDE / 200));
    fill_random(steps, &x, 1);
    step_op(steps_add(steps, LAYER_UNARY, &a, 1, &x, 1), OP_EXP);
    bound_operand_t turned = a;
    turned.sizes[0] = WIDE / 200, turned.sizes[1] = 200, turned.strides[0] = 1, turned.strides[1] = WIDE / 200;
    step_op(steps_add(steps, LAYER_BINARY, &b, 1, (bound_operand_t[]){turned, turned}, 2), OP_ADD);
    bound_step_t *step = steps_add(steps, LAYER_REDUCE, out_sums, 1, &b, 1);
    step_op(step, OP_SUM);
    step_int(step, ATTR_KEEPDIM, 0);
    step_list(steps, step, ATTR_AXES, 1, SIZES(1));
}

static void test_threads_give_same_bits(void **unused) {
    (void)unused;
    float first[WIDE / 200];
    for (uint32_t threads = 1; threads <= 4; threads++) {
        steps_t steps;
        steps_init(&steps);
        bound_operand_t sums;
        build_chain(&steps, &sums);
        assert_int_equal(steps_prepare(&steps, threads, NULL), INSITU_OK);
        for (uint32_t i = 0; i < 20; i++) {
            memset(steps_data(&steps, &sums), 0, sizeof(first));
            assert_int_equal(steps_run(&steps, NULL), INSITU_OK);
            if (threads == 1 && i == 0) memcpy(first, steps_data(&steps, &sums), sizeof(first));
            assert_memory_equal(first, steps_data(&steps, &sums), sizeof(first));
        }
        steps_assert_guards(&steps);
        steps_release(&steps);
    }
}

/* cache[pos] = row behind a check of pos; another state is written before it in the schedule's order of steps. */
static void build_update(steps_t *steps, bound_operand_t *cache, bound_operand_t *position, int64_t rows) {
    *cache = steps_tensor(steps, STORAGE_STATE, DTYPE_F32, 2, SIZES(8, WIDE));
    bound_operand_t row = steps_tensor(steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(rows, WIDE));
    *position = steps_tensor(steps, STORAGE_INPUT, DTYPE_I64, 1, SIZES(rows));
    fill_random(steps, &row, 2);
    steps_check(steps, *position, 8, false);
    bound_step_t *step = steps_add(steps, LAYER_INDEX_UPDATE, cache, 1, (bound_operand_t[]){*cache, row, *position}, 3);
    step_list(steps, step, ATTR_DIMS, 1, SIZES(0));
    step_int(step, ATTR_ACCUMULATE, 0);
    step_int(step, ATTR_WRAP, 0);
    step = steps_add(steps, LAYER_BINARY, cache, 1, cache, 1);
    step_op(step, OP_MUL);
    step_int(step, ATTR_SCALAR, 1);
    steps->plan.first_write = 1;
}

static void test_bounds_leave_state(void **unused) {
    (void)unused;
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        steps_t steps;
        steps_init(&steps);
        bound_operand_t cache, position;
        build_update(&steps, &cache, &position, 3);
        memset(steps_data(&steps, &cache), 0x11, 8 * WIDE * sizeof(float));
        assert_int_equal(steps_prepare(&steps, threads, NULL), INSITU_OK);
        int64_t *at = steps_data(&steps, &position);
        at[0] = 7, at[1] = 8, at[2] = -1;
        insitu_diag diag;
        insitu_diag_init(&diag);
        assert_int_equal(steps_run(&steps, &diag), INSITU_BOUNDS);
        assert_string_equal(diag.message, "index 8 of node 'node' (index_update, model.py:7) lies outside the extent 8 "
                                          "that it indexes");
        const unsigned char *bytes = steps_data(&steps, &cache);
        for (size_t i = 0; i < 8 * WIDE * sizeof(float); i++) assert_int_equal(bytes[i], 0x11);
        at[1] = 0, at[2] = 3; /* the same program runs once the positions fit */
        assert_int_equal(steps_run(&steps, &diag), INSITU_OK);
        insitu_diag_release(&diag);
        steps_release(&steps);
    }
}

static void test_lowest_check_decides(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t low = steps_tensor(&steps, STORAGE_INPUT, DTYPE_I32, 1, SIZES(WIDE));
    bound_operand_t high = steps_tensor(&steps, STORAGE_INPUT, DTYPE_I32, 1, SIZES(WIDE));
    bound_operand_t state = steps_tensor(&steps, STORAGE_STATE, DTYPE_F32, 1, SIZES(WIDE));
    int32_t *first = steps_data(&steps, &low), *second = steps_data(&steps, &high);
    for (int32_t i = 0; i < WIDE; i++) first[i] = second[i] = -4;
    first[WIDE - 2] = 77, first[WIDE - 1] = 78, second[0] = 99;
    steps_check(&steps, low, 4, true);
    steps_check(&steps, high, 4, true);
    step_op(steps_add(&steps, LAYER_UNARY, &state, 1, &state, 1), OP_EXP);
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(steps_prepare(&steps, 3, NULL), INSITU_OK);
    for (int32_t i = 0; i < 20; i++) {
        assert_int_equal(steps_run(&steps, &diag), INSITU_BOUNDS);
        assert_non_null(strstr(diag.message, "index 77 of"));
    }
    insitu_diag_release(&diag);
    steps_release(&steps);
}

static bool step_waits(steps_t *steps, uint32_t index) { return ((program_t *)steps->prepared)->steps[index].wait; }

/* Barriers: none between independent steps, one for each kind of dependency, also through shared arena bytes. */
static void test_barriers(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t t[7];
    for (uint32_t i = 0; i < 7; i++)
        t[i] = steps_tensor(&steps, i < 2 ? STORAGE_INPUT : STORAGE_ARENA, DTYPE_F32, 1, SIZES(WIDE));
    /* t[5]'s lifetime begins after t[2]'s has ended, in the same bytes. */
    steps.arena_offsets[t[5].storage] = steps.arena_offsets[t[2].storage] + 64;
    steps_add(&steps, LAYER_COPY, &t[2], 1, &t[0], 1); /* 0 */
    steps_add(&steps, LAYER_COPY, &t[3], 1, &t[1], 1); /* 1: independent */
    steps_add(&steps, LAYER_COPY, &t[4], 1, &t[2], 1); /* 2: reads what 0 wrote */
    steps_add(&steps, LAYER_COPY, &t[3], 1, &t[0], 1); /* 3: written by 1, which the barrier before 2 covers */
    steps_add(&steps, LAYER_COPY, &t[5], 1, &t[0], 1); /* 4: writes bytes that 2 reads */
    steps_add(&steps, LAYER_COPY, &t[5], 1, &t[1], 1); /* 5: writes what 4 wrote */
    bound_operand_t half = t[6];
    half.sizes[0] = WIDE / 2;
    steps_add(&steps, LAYER_COPY, &half, 1,
              (bound_operand_t[]){
                  {.storage = t[0].storage, .dtype = DTYPE_F32, .rank = 1, .sizes = {WIDE / 2}, .strides = {1}}},
              1); /* 6: independent */
    half.offset = WIDE / 2 * 4;
    steps_add(&steps, LAYER_COPY, &half, 1,
              (bound_operand_t[]){
                  {.storage = t[0].storage, .dtype = DTYPE_F32, .rank = 1, .sizes = {WIDE / 2}, .strides = {1}}},
              1); /* 7: the other half */
    assert_int_equal(steps_prepare(&steps, 2, NULL), INSITU_OK);
    const bool expected[] = {false, false, true, false, true, true, false, false};
    for (uint32_t i = 0; i < COUNT_OF(expected); i++)
        if (step_waits(&steps, i) != expected[i]) fail_msg("step %u waits: %d", i, (int)!expected[i]);
    steps_release(&steps);
}

/* Steps of thread 0 alone do not wait for one another, and a small program opens no region. */
static void test_small_steps_are_one_threads(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_tensor(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(8));
    bound_operand_t y = steps_tensor(&steps, STORAGE_ARENA, DTYPE_F32, 1, SIZES(8));
    for (uint32_t i = 0; i < 4; i++)
        step_op(steps_add(&steps, LAYER_UNARY, i % 2 ? &x : &y, 1, i % 2 ? &y : &x, 1), OP_ABS);
    assert_int_equal(steps_prepare(&steps, 4, NULL), INSITU_OK);
    const program_t *program = steps.prepared;
    assert_int_equal(program->region_count, 1);
    assert_int_equal(program->regions[0].threads, 1);
    for (uint32_t i = 0; i < 4; i++) assert_false(step_waits(&steps, i));
    steps_release(&steps);
}

static void *refuse_memory(void *user, size_t size) {
    (void)size;
    ++*(int32_t *)user;
    return NULL;
}
static void free_memory(void *user, void *data) {
    (void)user;
    free(data);
}

static void test_run_allocates_nothing(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t sums;
    build_chain(&steps, &sums);
    assert_int_equal(steps_prepare(&steps, 2, NULL), INSITU_OK);
    int32_t calls = 0;
    memory_set_hooks(&(memory_hooks_t){.alloc = refuse_memory, .free = free_memory, .user = &calls});
    insitu_status status = steps_run(&steps, NULL);
    memory_set_hooks(NULL);
    assert_int_equal(status, INSITU_OK);
    assert_int_equal(calls, 0);
    steps_release(&steps);
}

static void test_refusals(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    insitu_diag diag;
    insitu_diag_init(&diag);
    bound_operand_t x = steps_tensor(&steps, STORAGE_INPUT, DTYPE_I64, 1, SIZES(3));
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 1, SIZES(3));
    step_op(steps_add(&steps, LAYER_UNARY, &r, 1, &x, 1), OP_EXP);
    assert_int_equal(steps_prepare(&steps, 1, &diag), INSITU_UNSUPPORTED);
    assert_non_null(strstr(diag.message, "unary exp(i64[3]) -> i64[3] of node 'node' (model.py:7)"));
    assert_non_null(strstr(diag.message, "ref (any): exp is not defined on i64"));
    insitu_diag_release(&diag);
    steps_release(&steps);

    steps_init(&steps); /* an operand beyond its storage */
    x = steps_tensor(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(3));
    r = x;
    r.offset = 4;
    step_op(steps_add(&steps, LAYER_UNARY, &r, 1, &x, 1), OP_EXP);
    assert_int_equal(steps_prepare(&steps, 1, &diag), INSITU_FORMAT);
    insitu_diag_release(&diag);
    steps_release(&steps);
}

static void test_thread_limit(void **unused) {
    (void)unused;
    assert_in_range(cpu_quota(), 1, 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_give_same_bits),
        cmocka_unit_test(test_bounds_leave_state),
        cmocka_unit_test(test_lowest_check_decides),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_small_steps_are_one_threads),
        cmocka_unit_test(test_run_allocates_nothing),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_thread_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
