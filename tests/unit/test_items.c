/* Numbers that the program reads from tensors during the call: as positions, and as sizes. */
#include <math.h>

#include "item_plans.h"
#include "runtime_fixture.h"

#include "counting_allocator.h"
#include "plan/device.h"

#include <unistd.h>

static insitu_status write_row(running_t *r, int64_t position) {
    float row[CACHE_WIDTH];
    int64_t one = 1, row_sizes[] = {1, CACHE_WIDTH};
    for (int i = 0; i < CACHE_WIDTH; i++) row[i] = 100 * (float)position + (float)i;
    running_input(r, "pos", &position, INSITU_DTYPE_I64, &one, 1);
    running_input(r, "row", row, INSITU_DTYPE_F32, row_sizes, 2);
    return running_call(r);
}

static void check_row(running_t *r, int64_t position) {
    insitu_tensor row = running_output(r, 0), number = running_output(r, 1), cache = running_output(r, 2);
    const float *values = tensor_data(&row);
    assert_ptr_equal(values, (const float *)tensor_data(&cache) + position * CACHE_WIDTH);
    for (int i = 0; i < CACHE_WIDTH; i++) assert_true(values[i] == (float)(101 * position + i));
    assert_int_equal(*(const int64_t *)tensor_data(&number), position);
}

static void a_position_is_read_during_the_call(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_position_plan(DTYPE_I64, true));
    for (int64_t position = 0; position < LONG_ROWS; position++) {
        if (position == 13) continue;
        must_run(&r, write_row(&r, position));
        check_row(&r, position);
        assert_int_equal(running_stats(&r).state_bytes_written, 2 * CACHE_WIDTH * sizeof(float));
    }
    must_run(&r, write_row(&r, 3)); /* each position wrote its own row alone */
    insitu_tensor cache = running_output(&r, 2);
    for (int64_t row = 0; row < LONG_ROWS; row++)
        assert_true(((const float *)tensor_data(&cache))[row * CACHE_WIDTH] == (row == 13 ? 0 : (float)(101 * row)));
    running_stop(&r);
}

static void positions_that_differ_allocate_nothing(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_position_plan(DTYPE_I64, true));
    must_run(&r, write_row(&r, 5));
    allocation_count_t count = {0};
    count_allocations(&count);
    for (int64_t i = 0; i < 32; i++) {
        int64_t position = i % LONG_ROWS == 13 ? 12 : i % LONG_ROWS;
        must_run(&r, write_row(&r, position));
        check_row(&r, position);
    }
    memory_set_hooks(NULL);
    assert_int_equal(count.calls, 0);
    running_stop(&r);
}

/* Where no size depends on an input, kernels are chosen when the context is made: the first call takes memory alone. */
static void constant_sizes_are_bound_before_the_call(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_position_plan(DTYPE_I64, true));
    allocation_count_t count = {0};
    count_allocations(&count);
    must_run(&r, write_row(&r, 5));
    memory_set_hooks(NULL);
    assert_true(count.calls <= 5); /* for intermediate values, kernels and outputs */
    insitu_run_stats stats = running_stats(&r);
    assert_int_equal(stats.bindings_made, 1);
    assert_int_equal(stats.bindings_dropped, 0);
    running_stop(&r);
}

static void a_failed_item_changes_nothing(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_position_plan(DTYPE_I64, true));
    must_run(&r, write_row(&r, 2));
    float before[LONG_ROWS * CACHE_WIDTH], after[LONG_ROWS * CACHE_WIDTH];
    must_run(&r, insitu_state_read(r.state, "cache", before, sizeof(before), &r.diag));
    must_fail(&r, write_row(&r, 16), INSITU_BOUNDS, "'item' (model.py:1) read 16 where from 0 to 15 is allowed");
    must_fail(&r, write_row(&r, -1), INSITU_BOUNDS, "read -1");
    must_fail(&r, write_row(&r, 13), INSITU_ASSERT, "thirteen is unlucky (model.py:9)");
    must_run(&r, insitu_state_read(r.state, "cache", after, sizeof(after), &r.diag));
    assert_memory_equal(before, after, sizeof(before));
    must_run(&r, write_row(&r, 15));
    running_stop(&r);
}

static void a_place_outside_the_tensor_is_an_error(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_position_plan(DTYPE_I64, false));
    const int64_t positions[] = {16, -1, INT64_MAX, INT64_MIN, INT64_MAX / 32 + 1, 1000};
    must_run(&r, write_row(&r, 15));
    for (size_t i = 0; i < COUNT_OF(positions); i++) {
        insitu_status status = write_row(&r, positions[i]);
        assert_true(status == INSITU_BOUNDS || status == INSITU_SHAPE);
    }
    must_fail(&r, write_row(&r, 16), INSITU_BOUNDS,
              "'write' starts at element 128, which puts it outside its tensor of 512");
    running_stop(&r);
}

static void items_of_every_dtype_are_read(void **state) {
    (void)state;
    static const struct {
        dtype_t type;
        uint8_t bytes[8];
        int64_t position;
    } cases[] = {{DTYPE_BOOL, {1}, 1},           {DTYPE_U8, {14}, 14},     {DTYPE_I8, {7}, 7},
                 {DTYPE_I16, {9, 0}, 9},         {DTYPE_U16, {10, 0}, 10}, {DTYPE_I32, {11, 0, 0, 0}, 11},
                 {DTYPE_U32, {12, 0, 0, 0}, 12}, {DTYPE_U64, {3}, 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        running_t r;
        float row[CACHE_WIDTH] = {0};
        uint8_t bytes[8];
        int64_t one = 1, row_sizes[] = {1, CACHE_WIDTH};
        memcpy(bytes, cases[i].bytes, sizeof(bytes));
        running_of_plan(&r, make_item_position_plan(cases[i].type, true));
        running_input(&r, "pos", bytes, dtype_public(cases[i].type), &one, 1);
        running_input(&r, "row", row, INSITU_DTYPE_F32, row_sizes, 2);
        must_run(&r, running_call(&r));
        insitu_tensor number = running_output(&r, 1);
        assert_int_equal(*(const int64_t *)tensor_data(&number), cases[i].position);
        if (cases[i].type == DTYPE_U64) {
            memset(bytes, 0xff, sizeof(bytes));
            must_fail(&r, running_call(&r), INSITU_BOUNDS, "an int64 can't hold");
        }
        running_stop(&r);
    }
}

static void elements_are_numbers(void **state) {
    (void)state;
    static const struct {
        dtype_t type;
        uint64_t bits;
        double value;
    } cases[] = {{DTYPE_F16, 0x3c00, 1},
                 {DTYPE_F16, 0xc100, -2.5},
                 {DTYPE_F16, 1, 0x1p-24},
                 {DTYPE_F16, 0x7c00, INFINITY},
                 {DTYPE_BF16, 0x4049, 3.140625},
                 {DTYPE_BF16, 0xff80, -INFINITY},
                 {DTYPE_E5M2, 0x3e, 1.5},
                 {DTYPE_E4M3FN, 0x7e, 448},
                 {DTYPE_E4M3FNUZ, 0x40, 1},
                 {DTYPE_E5M2FNUZ, 0x40, 1},
                 {DTYPE_E8M0, 130, 8},
                 {DTYPE_F32, 0x3fc00000, 1.5},
                 {DTYPE_F64, 0x3ff8000000000000, 1.5}};
    sym_value_t value;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_true(element_value(cases[i].type, &cases[i].bits, &value));
        assert_int_equal(value.kind, SYM_KIND_FLOAT);
        if (value.f != cases[i].value) fail_msg("%s: %g", dtype_name(cases[i].type), value.f);
    }
    static const struct {
        dtype_t type;
        uint64_t bits;
    } nans[] = {{DTYPE_F16, 0x7c01},    {DTYPE_BF16, 0xffc0},   {DTYPE_E5M2, 0x7d}, {DTYPE_E4M3FN, 0xff},
                {DTYPE_E4M3FNUZ, 0x80}, {DTYPE_E5M2FNUZ, 0x80}, {DTYPE_E8M0, 0xff}};
    for (size_t i = 0; i < COUNT_OF(nans); i++) {
        assert_true(element_value(nans[i].type, &nans[i].bits, &value));
        assert_true(value.f != value.f);
    }
    assert_false(element_value(DTYPE_C64, &nans[0].bits, &value));
}

static void an_output_may_start_where_an_item_says(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_view_plan());
    float table[CACHE_ROWS][CACHE_WIDTH], target[CACHE_WIDTH];
    int64_t one = 1, sizes[] = {CACHE_ROWS, CACHE_WIDTH}, width = CACHE_WIDTH;
    for (int i = 0; i < CACHE_ROWS * CACHE_WIDTH; i++) table[i / CACHE_WIDTH][i % CACHE_WIDTH] = (float)i;
    for (int call = 0; call < 2 * CACHE_ROWS; call++) {
        int64_t position = call % CACHE_ROWS;
        insitu_tensor bound = dense_tensor(target, INSITU_DTYPE_F32, &width, 1);
        running_input(&r, "pos", &position, INSITU_DTYPE_I64, &one, 1);
        running_input(&r, "table", table, INSITU_DTYPE_F32, sizes, 2);
        must_run(&r, insitu_context_set_output(r.context, 0, call < CACHE_ROWS ? NULL : &bound, &r.diag));
        must_run(&r, running_call(&r));
        insitu_tensor row = running_output(&r, 0);
        if (call >= CACHE_ROWS) assert_ptr_equal(tensor_data(&row), target);
        for (int i = 0; i < CACHE_WIDTH; i++)
            assert_true(((const float *)tensor_data(&row))[i] == table[position][i] + 1);
    }
    running_stop(&r);
}

/* ---- sizes ---- */

static const float line[CACHE_WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8};

static insitu_status take(running_t *r, int64_t length) {
    int64_t one = 1, width = CACHE_WIDTH;
    running_input(r, "n", &length, INSITU_DTYPE_I64, &one, 1);
    running_input(r, "x", (void *)(uintptr_t)line, INSITU_DTYPE_F32, &width, 1);
    return running_call(r);
}

static void check_taken(running_t *r, int64_t length) {
    insitu_tensor product = running_output(r, 0), number = running_output(r, 1), part = running_output(r, 2);
    assert_int_equal(product.shape[0], length);
    assert_int_equal(part.shape[0], length);
    const float *values = tensor_data(&product);
    for (int64_t i = 0; i < length; i++) assert_true(values[i] == 2 * line[i] * line[i]);
    assert_int_equal(*(const int64_t *)tensor_data(&number), length + 1);
}

static void a_size_is_read_during_the_call(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_size_plan());
    int32_t rank;
    int64_t sizes[MAX_RANK];
    must_fail(&r, insitu_context_output_shape(r.context, 0, &rank, sizes, &r.diag), INSITU_SHAPE,
              "size 0 of output 'output.0' is only known during the call: 'length' decides it");
    for (int64_t call = 0; call < 20; call++) {
        int64_t length = 1 + call * 3 % CACHE_WIDTH;
        must_run(&r, take(&r, length));
        check_taken(&r, length);
        insitu_tensor part = running_output(&r, 2);
        assert_true(*(const float *)tensor_data(&part) == (float)(call + 1));
        insitu_run_stats stats = running_stats(&r);
        assert_int_equal(stats.state_bytes_saved, CACHE_WIDTH * sizeof(float));
        assert_int_equal(stats.arena_bytes, 128); /* each segment has 64 */
    }
    running_stop(&r);
}

static void sizes_seen_before_allocate_nothing(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_size_plan());
    for (int64_t length = 8; length > 4; length--) must_run(&r, take(&r, length));
    allocation_count_t count = {0};
    count_allocations(&count);
    for (int64_t call = 0; call < 16; call++) {
        must_run(&r, take(&r, 5 + call % 4));
        check_taken(&r, 5 + call % 4);
    }
    memory_set_hooks(NULL);
    assert_int_equal(count.calls, 0);
    running_stop(&r);
}

static float total_of(running_t *r) {
    float total[CACHE_WIDTH];
    must_run(r, insitu_state_read(r->state, "total", total, sizeof(total), &r->diag));
    for (int i = 1; i < CACHE_WIDTH; i++) assert_true(total[i] == total[0]);
    return total[0];
}

static void a_segment_that_cannot_start_undoes_the_call(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_item_size_plan());
    must_run(&r, take(&r, 3));
    assert_true(total_of(&r) == 1);
    must_fail(&r, take(&r, 9), INSITU_BOUNDS, "'length' (model.py:1) read 9 where from 1 to 8 is allowed");
    assert_true(total_of(&r) == 1);
    float target[4];
    int64_t four = 4;
    insitu_tensor bound = dense_tensor(target, INSITU_DTYPE_F32, &four, 1);
    must_run(&r, insitu_context_set_output(r.context, 0, &bound, &r.diag));
    must_fail(&r, take(&r, 3), INSITU_SHAPE, "output 'output.0' is bound with size 4 in dimension 0 where it has 3");
    assert_true(total_of(&r) == 1);
    must_run(&r, take(&r, 4)); /* the bound memory is computed in */
    assert_true(target[3] == 32);
    assert_ptr_equal(running_output(&r, 0).data, target);
    assert_true(total_of(&r) == 2);
    must_run(&r, insitu_context_set_output(r.context, 0, NULL, &r.diag));
    for (uint64_t fail_at = 1; fail_at < 40; fail_at++) { /* whichever allocation fails for a new size */
        allocation_count_t count = {.fail_at = fail_at};
        running_stop(&r);
        running_of_plan(&r, make_item_size_plan());
        must_run(&r, take(&r, 1));
        count_allocations(&count);
        insitu_status status = take(&r, 8);
        memory_set_hooks(NULL);
        assert_true(status == (count.calls >= fail_at ? INSITU_NOMEM : INSITU_OK));
        assert_true(total_of(&r) == (status == INSITU_OK ? 2 : 1));
        must_run(&r, take(&r, 8));
        check_taken(&r, 8);
    }
    running_stop(&r);
}

/* ---- checks after a write ---- */

typedef struct deferred_memory {
    float row[CACHE_WIDTH], written[CACHE_WIDTH];
} deferred_memory_t;

static insitu_status count_on(running_t *r, deferred_memory_t *memory) {
    int64_t row_sizes[] = {1, CACHE_WIDTH}, width = CACHE_WIDTH;
    running_input(r, "row", memory->row, INSITU_DTYPE_F32, row_sizes, 2);
    running_input(r, "written", memory->written, INSITU_DTYPE_F32, &width, 1);
    return running_call(r);
}

static void check_deferred_plan(running_t *r) {
    deferred_memory_t memory = {.row = {5, 5, 5, 5, 5, 5, 5, 5}};
    for (int64_t call = 1; call < CACHE_ROWS; call++) {
        must_run(r, count_on(r, &memory));
        assert_int_equal(running_stats(r).state_bytes_saved, 8 + sizeof(memory.row));
    }
    for (int repeat = 0; repeat < 2; repeat++) {
        must_fail(r, count_on(r, &memory), INSITU_BOUNDS, "index 4 of node 'update'");
        int64_t counter = 0;
        float marks[CACHE_WIDTH], cache[CACHE_ROWS][CACHE_WIDTH];
        must_run(r, insitu_state_read(r->state, "counter", &counter, sizeof(counter), &r->diag));
        must_run(r, insitu_state_read(r->state, "marks", marks, sizeof(marks), &r->diag));
        must_run(r, insitu_state_read(r->state, "cache", cache, sizeof(cache), &r->diag));
        assert_int_equal(counter, 3);
        for (int i = 0; i < CACHE_WIDTH; i++) {
            assert_true(marks[i] == 3 && memory.written[i] == 3);
            for (int row = 0; row < CACHE_ROWS; row++) assert_true(cache[row][i] == (row ? 5 : 0));
        }
    }
}

static void a_late_check_that_fails_undoes_the_call(void **state) {
    (void)state;
    running_t r;
    running_of_plan(&r, make_deferred_check_plan());
    check_deferred_plan(&r);
    insitu_report_row row = {.struct_size = sizeof(row)};
    must_run(&r, insitu_engine_report(r.engine, 0, &row, &r.diag));
    assert_int_equal(row.bytes_saved, 8);
    assert_string_equal(row.verdict, "in place (saves 8)");
    running_stop(&r);
}

/* ---- through a file ---- */

static void through_a_file(plan_t *plan, running_t *out) {
    char path[64];
    insitu_engine *engine;
    running_of_plan(out, plan);
    snprintf(path, sizeof(path), "/tmp/insitu_test_items_%ld", (long)getpid());
    must_run(out, insitu_engine_save(out->engine, path, &out->diag));
    text_t first, second;
    text_init(&first);
    text_init(&second);
    plan_print_json(out->engine->plan, NULL, NULL, &first);
    must_run(out, insitu_engine_load(path, NULL, &engine, &out->diag));
    unlink(path);
    plan_print_json(engine->plan, NULL, NULL, &second);
    assert_string_equal(first.data, second.data);
    text_release(&first);
    text_release(&second);
    running_stop(out);
    running_start(out, engine);
}

static void engine_files_hold_segments_and_restores(void **state) {
    (void)state;
    running_t r;
    through_a_file(make_item_position_plan(DTYPE_I64, true), &r);
    must_run(&r, write_row(&r, 7));
    check_row(&r, 7);
    running_stop(&r);
    through_a_file(make_item_size_plan(), &r);
    must_run(&r, take(&r, 6));
    check_taken(&r, 6);
    must_fail(&r, take(&r, 0), INSITU_BOUNDS, "read 0");
    assert_true(total_of(&r) == 1);
    running_stop(&r);
    through_a_file(make_deferred_check_plan(), &r);
    check_deferred_plan(&r);
    running_stop(&r);
}

/* ---- plans with faults ---- */

static plan_t *make_position(void) { return make_item_position_plan(DTYPE_I64, true); }
static plan_operand_t *operand_of_step(plan_t *plan, uint32_t step) {
    return (plan_operand_t *)(uintptr_t)plan->steps[step].operands;
}
static plan_operand_t *restored(plan_t *plan, uint32_t restore) {
    return (plan_operand_t *)(uintptr_t)plan->restores[restore].step.results;
}

static void other_step(plan_t *plan) { plan->symbol_sources[0].step = 1; }
static void no_step(plan_t *plan) { plan->symbol_sources[0].step = 9; }
static void many_elements(plan_t *plan) {
    operand_of_step(plan, 0)->type.shape.rank = 0;
    operand_of_step(plan, 0)->type = plan->inputs[1].type;
    operand_of_step(plan, 0)->storage = 1;
    operand_of_step(plan, 0)->type.dtype = DTYPE_I32;
}
static void float_item(plan_t *plan) { operand_of_step(plan, 0)->type.dtype = plan->inputs[0].type.dtype = DTYPE_F32; }
static void read_after_use(plan_t *plan) {
    plan_step_t item = plan->steps[0];
    plan->steps[0] = plan->steps[1];
    plan->steps[1] = item;
    plan->symbol_sources[0].step = 1;
    plan->first_write = 0;
}
static void position_as_size(plan_t *plan) { plan->symbol_sources[0].in_sizes = false; }
static void no_cut(plan_t *plan) {
    plan->segment_count = 1;
    plan->segments[0].end_step = plan->step_count;
}
static void cut_elsewhere(plan_t *plan) { plan->segments[0].end_step = plan->segments[1].first_step = 2; }
static void late_input(plan_t *plan) {
    plan->inputs[1].type.shape.sizes[0] = plan->outputs[0].operand.type.shape.sizes[0];
}
static void no_restores(plan_t *plan) { plan->restore_count = 0; }
static void wrong_restore(plan_t *plan) { restored(plan, 1)->storage = restored(plan, 0)->storage; }
static void save_after_write(plan_t *plan) { plan->restores[0].save_step = plan->restores[1].save_step = 2; }
static void restores_rise(plan_t *plan) { plan->restores[0].save_step = 0, plan->restores[1].save_step = 1; }
static void restore_of_nothing(plan_t *plan) { plan->restores[0].save_step = 99; }
static void short_log(plan_t *plan) { plan->storages[plan->steps[0].results[0].storage].last_step = 2; }
static void restore_a_value(plan_t *plan) { *restored(plan, 0) = *plan->steps[1].results; }

static void faults_are_named(void **state) {
    (void)state;
    static const struct {
        plan_t *(*make)(void);
        void (*damage)(plan_t *plan);
        const char *words;
    } cases[] = {
        {make_position, other_step, "symbol 'u0': it comes from a step that does not read it"},
        {make_position, no_step, "symbol 'u0': its step does not exist"},
        {make_position, many_elements, "it reads a tensor of more than one element"},
        {make_position, float_item, "its tensor's dtype does not fit its symbol"},
        {make_position, read_after_use, "an offset needs a value that is not known by then"},
        {make_item_size_plan, position_as_size, "a size needs a value that is not known by then"},
        {make_item_size_plan, no_cut, "a size needs a value that is not known by then"},
        {make_item_size_plan, cut_elsewhere, "cut after item steps"},
        {make_item_size_plan, late_input, "its type needs a value that is not known by then"},
        {make_item_size_plan, no_restores,
         "step 1 'count': it writes a state or an input that is not saved, and step 2"},
        {make_deferred_check_plan, no_restores, "step 2 'count': it writes a state or an input that is not saved"},
        {make_deferred_check_plan, wrong_restore, "that is not saved, and step 4 may still fail"},
        {make_deferred_check_plan, save_after_write, "that is not saved, and step 4 may still fail"},
        {make_deferred_check_plan, restores_rise, "restore 1 'count': its save is a check, or the saves do not fall"},
        {make_deferred_check_plan, restore_of_nothing, "restore 0: its save does not exist"},
        {make_deferred_check_plan, short_log, "which does not live then"},
        {make_deferred_check_plan, restore_a_value, "it does not restore one state or input"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        plan_t *plan = cases[i].make();
        insitu_diag diag = {.struct_size = sizeof(diag)};
        assert_int_equal(plan_verify(plan, NULL), INSITU_OK);
        cases[i].damage(plan);
        insitu_status status = plan_verify(plan, &diag);
        if (status != INSITU_FORMAT || !strstr(diag.message, cases[i].words))
            fail_msg("case %zu: status %s, '%s' is not in '%s'", i, insitu_status_name(status), cases[i].words,
                     diag.message);
        plan_destroy(plan);
    }
}

static void plans_print_segments_and_restores(void **state) {
    (void)state;
    static const char *const lines[] = {
        "symbol 0 \"u0\": item, min 1, max 8, step 2, in_sizes\n",
        "# first write to a state or an input\nstep 1 \"count\": ",
        "step 2 \"length\": item(@0 i64[1]) {symbol=u0}, source \"model.py:1\"\n# a segment begins: ",
        "step 4 \"product\": @4 f32[u0] = binary(@3 f32[u0], @1 f32[u0]) {op=mul}",
        "restore 0: save 0, step \"count\": @2 f32[8] = copy(@5 f32[8]), source \"model.py:1\"\n",
    };
    plan_t *plan = make_item_size_plan();
    text_t out;
    text_init(&out);
    plan_print(plan, &out);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(out.data, lines[i])) fail_msg("'%s' is not in\n%s", lines[i], out.data);
    text_release(&out);
    plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(plans_print_segments_and_restores),
        cmocka_unit_test(a_position_is_read_during_the_call),
        cmocka_unit_test(positions_that_differ_allocate_nothing),
        cmocka_unit_test(constant_sizes_are_bound_before_the_call),
        cmocka_unit_test(a_failed_item_changes_nothing),
        cmocka_unit_test(a_place_outside_the_tensor_is_an_error),
        cmocka_unit_test(items_of_every_dtype_are_read),
        cmocka_unit_test(an_output_may_start_where_an_item_says),
        cmocka_unit_test(elements_are_numbers),
        cmocka_unit_test(a_size_is_read_during_the_call),
        cmocka_unit_test(sizes_seen_before_allocate_nothing),
        cmocka_unit_test(a_segment_that_cannot_start_undoes_the_call),
        cmocka_unit_test(a_late_check_that_fails_undoes_the_call),
        cmocka_unit_test(engine_files_hold_segments_and_restores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
