#include "item_plans.h"

#include "plan/device.h"

static void the_small_plan_is_valid(void **state) {
    (void)state;
    plan_t *plan = make_small_plan();
    insitu_diag diag = {.struct_size = sizeof(diag)};
    if (finish_plan(plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    plan_destroy(plan);
}

/* Each fault is found, and named. */
typedef struct fault_case {
    void (*damage)(plan_t *plan);
    const char *words;
} fault_case_t;

static plan_operand_t *result_of(plan_t *plan, uint32_t step) {
    return (plan_operand_t *)(uintptr_t)plan->steps[step].results;
}

static void lose_storage(plan_t *plan) { result_of(plan, 1)->storage = 99; }
static void break_rank(plan_t *plan) { result_of(plan, 1)->type.shape.rank = MAX_RANK + 1; }
static void break_dtype(plan_t *plan) { result_of(plan, 1)->type.dtype = DTYPE_COUNT; }
static void break_sym(plan_t *plan) { result_of(plan, 1)->type.shape.sizes[0].id = 1u << 30; }
static void grow_operand(plan_t *plan) { result_of(plan, 4)->type.shape.sizes[0] = sym_int(&plan->symbols, 9); }
static void write_weight(plan_t *plan) { result_of(plan, 2)->storage = 4; }
static void write_input(plan_t *plan) { result_of(plan, 2)->storage = 0; }
static void write_early(plan_t *plan) { plan->first_write = 5; }
static void check_late(plan_t *plan) {
    plan->steps[plan->step_count] = plan->steps[0];
    plan->segments[0].end_step = ++plan->step_count;
}
static void lose_segment(plan_t *plan) { plan->segment_count = 0; }
static void short_segment(plan_t *plan) { plan->segments[0].end_step--; }
static void lose_symbol(plan_t *plan) { plan->symbol_sources[0].source = SYMBOL_UNUSED; }
static void name_symbol(plan_t *plan) { plan->symbols.symbols[0].name = "s["; }
static void wrong_symbol_input(plan_t *plan) { plan->symbol_sources[0].input = 17; }
static void wrong_symbol_dim(plan_t *plan) { plan->symbol_sources[0].dim = 2; }
static void move_update(plan_t *plan) { result_of(plan, 5)->type.offset = sym_int(&plan->symbols, 8); }
static void lose_operand(plan_t *plan) { plan->steps[5].operand_count = 1; }
static void lose_attr(plan_t *plan) { step_attr(&plan->steps[1], ATTR_OP)->kind = ATTR_KIND_NONE; }
static void wrong_attr(plan_t *plan) { step_attr(&plan->steps[1], ATTR_OP)->kind = ATTR_KIND_DTYPE; }
static void wrong_layer(plan_t *plan) { plan->steps[1].layer = LAYER_KIND_COUNT; }
static void dead_storage(plan_t *plan) { plan->storages[9].last_step = 1; }
static void wrong_life(plan_t *plan) { plan->storages[9].last_step = 1000; }
static void small_state(plan_t *plan) { plan->state_storages[2].bytes = sym_int(&plan->symbols, 8); }
static void same_name(plan_t *plan) { plan->inputs[1].name = "x"; }
static void no_name(plan_t *plan) { plan->outputs[0].name = NULL; }
static void wrong_alias(plan_t *plan) { plan->outputs[1].alias_index = 0; }
static void no_alias(plan_t *plan) { plan->outputs[1].alias = ALIAS_NONE; }
static void wrong_alias_input(plan_t *plan) { plan->outputs[2].alias_index = 1; }
static void wrong_initial(plan_t *plan) { plan->state_storages[2].initial = 0; }
static void lose_weight(plan_t *plan) { plan->buffers[0].weight = 2; }
static void grow_buffer(plan_t *plan) { plan->buffers[0].type.shape.sizes[0] = sym_int(&plan->symbols, 5); }
static void varying_buffer(plan_t *plan) { plan->buffers[0].type.shape.sizes[0] = plan->outputs[3].value; }
static void endless_buffer(plan_t *plan) {
    plan->buffers[0].type.shape.sizes[0] = sym_int(&plan->symbols, INT64_MAX);
    plan->buffers[0].type.strides[0] = sym_int(&plan->symbols, 0);
}
static void same_buffer_name(plan_t *plan) { plan->buffers[0].name = "cache"; }
static void float_check(plan_t *plan) {
    ((plan_operand_t *)(uintptr_t)plan->steps[0].operands)->type.dtype = DTYPE_F32;
}
static void negative_size(plan_t *plan) { plan->storages[9].bytes = sym_int(&plan->symbols, -8); }

static void faults_are_named(void **state) {
    (void)state;
    const fault_case_t cases[] = {
        {lose_storage, "step 1 'double': a result has no storage"},
        {break_rank, "a rank over 12"},
        {break_dtype, "unknown dtype"},
        {break_sym, "is no expression of the plan"},
        {grow_operand, "reaches beyond its storage of 32 bytes"},
        {write_weight, "it writes a weight"},
        {write_input, "not declared written"},
        {write_early, "before the plan's first write"},
        {check_late, "step 3 'count': it writes a state or an input that is not saved, and step 7 may still fail"},
        {lose_segment, "its segments are not its steps in order"},
        {short_segment, "its segments are not its steps in order"},
        {lose_symbol, "depends on a symbol that has no source"},
        {name_symbol, "symbol 's[': an expression's text could not name it"},
        {wrong_symbol_input, "symbol 's0': it comes from an input that does not exist"},
        {wrong_symbol_dim, "a size that its input does not have"},
        {move_update, "index_update does not update its operand in place"},
        {lose_operand, "index_update does not take 1 operands"},
        {lose_attr, "attribute op is missing"},
        {wrong_attr, "attribute op is of the wrong kind"},
        {wrong_layer, "its layer is unknown"},
        {dead_storage, "which does not live then"},
        {wrong_life, "storage 9: it lives from step 1 to step 1000 of 7"},
        {small_state, "within its storage"},
        {same_name, "input 1 'x': another one has the same name"},
        {no_name, "output 0 '?': it has no name"},
        {wrong_alias, "said to be state 0"},
        {no_alias, "it has no storage of its own"},
        {wrong_alias_input, "said to be input 1"},
        {wrong_initial, "its initial value is too small"},
        {lose_weight, "buffer 0 'scale': its weight does not exist"},
        {grow_buffer, "buffer 0 'scale': its sizes are not constants within its weight"},
        {varying_buffer, "its sizes are not constants within its weight"},
        {endless_buffer, "its sizes are not constants within its weight"},
        {same_buffer_name, "buffer 0 'cache': another one has the same name"},
        {float_check, "an index check takes integers"},
        {negative_size, "bytes is -8"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        plan_t *plan = make_small_plan();
        insitu_diag diag = {.struct_size = sizeof(diag)};
        cases[i].damage(plan);
        insitu_status status = plan_verify(plan, &diag);
        if (status != INSITU_FORMAT || !strstr(diag.message, cases[i].words))
            fail_msg("case %zu: status %s, '%s' is not in '%s'", i, insitu_status_name(status), cases[i].words,
                     diag.message);
        plan_destroy(plan);
    }
}

static void wrong_undo(plan_t *plan) { plan->facts.writes[2].undo = UNDO_WHOLE; }
static void wrong_positions(plan_t *plan) { plan->facts.writes[2].positions = 1; }
static void wrong_dim(plan_t *plan) { plan->facts.writes[2].dims[0] = 1; }
static void save_late(plan_t *plan) { plan->facts.writes[2].save++; }
static void lose_write(plan_t *plan) { plan->facts.write_count--; }
static void lose_stop(plan_t *plan) { plan->facts.stop_count--; }
static void move_stop(plan_t *plan) { plan->facts.stops[0].step++; }
static void wrong_check(plan_t *plan) { plan->facts.last_check = NONE; }
static void known_early(plan_t *plan) { plan->facts.ready[plan->outputs[3].value.id] = 1; }
static void new_expression(plan_t *plan) { (void)sym_int(&plan->symbols, 123456); }

/* What follows from the rows is checked too. */
static void facts_are_those_of_the_rows(void **state) {
    (void)state;
    void (*const damages[])(plan_t *) = {wrong_undo, wrong_positions, wrong_dim,   save_late,   lose_write,
                                         lose_stop,  move_stop,       wrong_check, known_early, new_expression};
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        plan_t *plan = make_small_plan();
        insitu_diag diag = {.struct_size = sizeof(diag)};
        assert_int_equal(plan_verify(plan, NULL), INSITU_OK);
        damages[i](plan);
        assert_int_equal(plan_verify(plan, &diag), INSITU_FORMAT);
        if (!strstr(diag.message, "plan: its facts are not those of its rows"))
            fail_msg("case %zu: '%s'", i, diag.message);
        plan_destroy(plan);
    }
}

typedef struct expected_stop {
    stop_kind_t kind;
    uint32_t step;
} expected_stop_t;

static void assert_stops(plan_t *plan, const expected_stop_t *stops, uint32_t count) {
    assert_int_equal(plan->facts.stop_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(plan->facts.stops[i].kind, stops[i].kind);
        assert_int_equal(plan->facts.stops[i].step, stops[i].step);
    }
    plan_destroy(plan);
}

static void stops_are_found(void **state) {
    (void)state;
    plan_t *plan = make_small_plan();
    assert_int_equal(plan->facts.last_check, 0);
    assert_int_equal(plan->facts.write_count, 3); /* bias is an input */
    assert_int_equal(plan->facts.writes[0].undo, UNDO_WHOLE);
    assert_int_equal(plan->facts.writes[2].undo, UNDO_ROWS);
    assert_int_equal(plan->facts.writes[2].positions, 2);
    assert_int_equal(plan->facts.writes[2].save, 0); /* its position is an input's */
    assert_stops(plan, (expected_stop_t[]){{STOP_SEGMENT, 0}, {STOP_SAVE, 0}, {STOP_CHECKED, 1}}, 3);
    assert_stops(
        make_item_size_plan(),
        (expected_stop_t[]){{STOP_SEGMENT, 0}, {STOP_SAVE, 0}, {STOP_ITEM, 2}, {STOP_SEGMENT, 3}, {STOP_CHECKED, 3}},
        5);
    /* the row's position is what the call makes of the counter: it can only be saved after that */
    assert_stops(make_deferred_check_plan(),
                 (expected_stop_t[]){{STOP_SEGMENT, 0}, {STOP_SAVE, 0}, {STOP_SAVE, 3}, {STOP_CHECKED, 5}}, 4);
}

/* What a loop may write is saved before it; no group of steps reaches across where its regions begin or end. */
static void stops_of_regions_are_found(void **state) {
    (void)state;
    plan_t *plan = make_control_plan();
    assert_int_equal(plan->facts.last_check, 6); /* of the last round */
    assert_int_equal(plan->facts.write_count, 2);
    assert_int_equal(plan->facts.writes[0].undo, UNDO_STORAGE);
    assert_int_equal(plan->facts.writes[0].save, 2);
    assert_int_equal(plan->facts.writes[1].undo, UNDO_WHOLE);
    assert_int_equal(plan->facts.writes[1].save, 2);
    assert_stops(plan,
                 (expected_stop_t[]){{STOP_SEGMENT, 0},
                                     {STOP_SAVE, 2},
                                     {STOP_CONTROL, 2},
                                     {STOP_REGION, 4},
                                     {STOP_ITEM, 4},
                                     {STOP_CHECKED, 7},
                                     {STOP_REGION, 7}},
                 7);
}

static void many_faults_are_counted(void **state) {
    (void)state;
    plan_t *plan = make_small_plan();
    insitu_diag diag = {.struct_size = sizeof(diag)};
    for (uint32_t i = 0; i < plan->step_count; i++) plan->steps[i].name = plan->steps[i].source = NULL;
    for (uint32_t i = 0; i < plan->output_count; i++) plan->outputs[i].name = NULL;
    assert_int_equal(plan_verify(plan, &diag), INSITU_FORMAT);
    assert_non_null(strstr(diag.message, "; and 9 more"));
    plan_destroy(plan);
}

static void the_report_is_a_table(void **state) {
    (void)state;
    plan_t *plan = make_small_plan();
    text_t out;
    text_init(&out);
    plan_print_report(plan, &out);
    assert_string_equal(
        out.data, "state     shape      update               bytes written/call   verdict\n"
                  "cache     f32[4,8]   index_update dim 0   32                   in place\n"
                  "history   f32[8]     elementwise          32                   in place (moves 16)\n"
                  "bias      f32[8]     slice_update         8*s0                 COPIED 16 KiB: mul_3 (model.py:41) "
                  "reads the old value after the write\n"
                  "bias (model.py:40): to avoid the copy, let mul_3 (model.py:41) read the new value\n");
    text_release(&out);
    plan_destroy(plan);
}

static void printed_plans_name_everything(void **state) {
    (void)state;
    plan_t *plan = make_small_plan();
    text_t out;
    text_init(&out);
    plan_print(plan, &out);
    const char *const lines[] = {
        "plan: first_write 3\n",
        "symbol 0 \"s0\": size, min 1, max 6, of 0, dim 0\n",
        "input 3 \"bias\": type f32[8], storage 3, written\n",
        "output 1 \"output.1\": tensor, place @8 f32[4,8], is state, number 2\n",
        "output 3 \"output.3\": number, value s0\n",
        "output 4 \"output.4\": none\n",
        "block 1: bytes 32, initial 1\n",
        "storage 8: block, number 2, bytes 128  # cache\n",
        "storage 9: arena, first 1, last 2, bytes 32*s0\n",
        "assert 0 \"five is too odd\": condition s0 != 5, source \"model.py:9\"\n",
        "step 0 \"check\": check_index, index_update(@1 i64[1]), extent 4, source \"model.py:1\"\n",
        "# nothing can fail from here on\nstep 1 \"double\": @9 f32[s0,8] = binary(@0 f32[s0,8], @0 f32[s0,8]) "
        "{op=add}",
        "# an open snapshot saves what is replaced by step 3, 4, 5 (rows)\nstep 0",
        "# first write to a state or an input\nstep 3",
        "step 5 \"update\": @8 f32[4,8] = index_update(@8 f32[4,8], @2 f32[1,8], @1 i64[1]) {accumulate=false, "
        "dims=[0], "
        "wrap=false}, state_written 32, source \"model.py:1\"\n",
        "report 0 \"cache\": type f32[4,8], update \"index_update dim 0\", written 32, in_place, source "
        "\"model.py:8\"\n",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(out.data, lines[i])) fail_msg("'%s' is not in\n%s", lines[i], out.data);
    text_release(&out);
    plan_destroy(plan);
}

static void binding_evaluates_sizes_and_places_memory(void **state) {
    (void)state;
    plan_t *plan = make_small_plan();
    arena_t arena;
    bound_plan_t bound;
    size_t arena_bytes;
    arena_init(&arena);
    bool known = true;
    sym_value_t three = {.kind = SYM_KIND_INT, .i = 3};
    assert_int_equal(plan_bind(plan, 0, NULL, &three, &known, &arena, &bound, NULL), INSITU_OK);
    assert_int_equal(plan_lay_out(&bound, 0, NULL, 0, &arena, &arena_bytes, NULL), INSITU_OK);
    assert_int_equal(arena_bytes, 128);
    assert_int_equal(bound.storage_bytes[9], 96);
    assert_int_equal(bound.steps[1].results[0].sizes[0], 3);
    assert_int_equal(bound.steps[1].results[0].strides[0], 8);
    assert_int_equal(bound.steps[0].extent, 4);
    assert_int_equal(bound.steps[5].attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_DIMS)].count, 1);
    arena_release(&arena);
    plan_destroy(plan);
}

static void an_operand_outside_its_storage_is_found_when_sizes_are_known(void **state) {
    (void)state;
    plan_t *plan = make_small_plan();
    insitu_diag diag = {.struct_size = sizeof(diag)};
    arena_t arena;
    bound_plan_t bound;
    arena_init(&arena);
    plan->storages[9].bytes = sym_int(&plan->symbols, 64); /* enough for two rows */
    assert_int_equal(finish_plan(plan, NULL), INSITU_OK);
    bool known = true;
    sym_value_t rows = {.kind = SYM_KIND_INT, .i = 2};
    assert_int_equal(plan_bind(plan, 0, NULL, &rows, &known, &arena, &bound, &diag), INSITU_OK);
    rows.i = 3;
    assert_int_equal(plan_bind(plan, 0, NULL, &rows, &known, &arena, &bound, &diag), INSITU_FORMAT);
    assert_non_null(strstr(diag.message, "an operand of 'double' reaches beyond its storage 9 of 64 bytes"));
    arena_release(&arena);
    plan_destroy(plan);
}

static void extents_are_checked_for_overflow(void **state) {
    (void)state;
    size_t bytes;
    assert_true(extent_bytes(DTYPE_F32, 2, (int64_t[]){2, 3}, (int64_t[]){10, 1}, 5, &bytes));
    assert_int_equal(bytes, (5 + 10 + 2 + 1) * 4);
    assert_true(extent_bytes(DTYPE_F32, 2, (int64_t[]){0, 3}, (int64_t[]){10, 1}, 5, &bytes));
    assert_int_equal(bytes, 0);
    assert_false(extent_bytes(DTYPE_F32, 1, (int64_t[]){-1}, (int64_t[]){1}, 0, &bytes));
    assert_false(extent_bytes(DTYPE_F32, 1, (int64_t[]){2}, (int64_t[]){-1}, 0, &bytes));
    assert_false(extent_bytes(DTYPE_F32, 1, (int64_t[]){2}, (int64_t[]){1}, -1, &bytes));
    assert_false(extent_bytes(DTYPE_F32, 2, (int64_t[]){INT64_MAX, 3}, (int64_t[]){2, 1}, 0, &bytes));
    assert_false(extent_bytes(DTYPE_F64, 1, (int64_t[]){INT64_MAX / 4}, (int64_t[]){1}, 0, &bytes));
    assert_false(
        extent_bytes(DTYPE_F32, 2, (int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40}, (int64_t[]){0, 0}, 0, &bytes));
}

static void strided_copies_agree_with_loops(void **state) {
    (void)state;
    const int64_t sizes[] = {2, 3, 1, 4}, dense[] = {12, 4, 4, 1}, turned[] = {1, 8, 99, 2};
    int32_t source[32], target[32], back[24];
    for (int32_t i = 0; i < 32; i++) source[i] = i;
    memset(target, 0xFF, sizeof(target));
    strided_copy(DTYPE_I32, 4, sizes, target, turned, source, dense);
    for (int64_t a = 0; a < 2; a++)
        for (int64_t b = 0; b < 3; b++)
            for (int64_t c = 0; c < 4; c++) assert_int_equal(target[a + 8 * b + 2 * c], a * 12 + b * 4 + c);
    for (int32_t i = 24; i < 32; i++) assert_int_equal(target[i], -1);
    strided_copy(DTYPE_I32, 4, sizes, back, dense, target, turned);
    assert_memory_equal(back, source, sizeof(back));
    int32_t scalar = 0;
    strided_copy(DTYPE_I32, 0, NULL, &scalar, NULL, &source[7], NULL);
    assert_int_equal(scalar, 7);
    strided_copy(DTYPE_I32, 2, (int64_t[]){3, 0}, NULL, (int64_t[]){1, 1}, NULL, (int64_t[]){1, 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_small_plan_is_valid),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(facts_are_those_of_the_rows),
        cmocka_unit_test(stops_are_found),
        cmocka_unit_test(stops_of_regions_are_found),
        cmocka_unit_test(many_faults_are_counted),
        cmocka_unit_test(the_report_is_a_table),
        cmocka_unit_test(printed_plans_name_everything),
        cmocka_unit_test(binding_evaluates_sizes_and_places_memory),
        cmocka_unit_test(an_operand_outside_its_storage_is_found_when_sizes_are_known),
        cmocka_unit_test(extents_are_checked_for_overflow),
        cmocka_unit_test(strided_copies_agree_with_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
