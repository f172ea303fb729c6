/* Plans that read numbers from tensors during the call, built by hand. */
#ifndef ITEM_PLANS_H
#define ITEM_PLANS_H

#include "small_plans.h"

/* A step that reads the operand's one element into the symbol. */
static inline plan_step *add_item(plan *plan, const char *name, plan_operand operand, uint32_t symbol, bool in_sizes) {
    plan_step *step = add_step(plan, LAYER_ITEM, name, NULL, 0, &operand, 1);
    set_value(step, ATTR_SYMBOL, sym_of_symbol(&plan->symbols, symbol));
    plan->symbol_sources[symbol] =
        (plan_symbol){.source = SYMBOL_STEP, .step = plan->step_count - 1, .in_sizes = in_sizes};
    return step;
}

/* The steps that follow are another segment's. */
static inline void cut_plan(plan *plan) {
    plan->segments[plan->segment_count++] = (plan_segment){plan->step_count, plan->step_count};
}

static inline plan_operand row_at(plan *plan, uint32_t storage, tensor_type row, sym position) {
    row.offset = sym_mul(&plan->symbols, position, sym_int(&plan->symbols, CACHE_WIDTH));
    return (plan_operand){storage, row};
}

/* Before a write: log = copy(value); a restore puts it back. */
static inline void add_save(plan *plan, const char *name, plan_operand value) {
    tensor_type dense = dense_type(plan, value.type.dtype, value.type.shape.rank, value.type.shape.sizes);
    plan_operand log = {add_storage(plan, STORAGE_ARENA, 0, type_bytes(plan, &dense)), dense};
    plan->storages[log.storage].first_step = plan->step_count;
    plan->storages[log.storage].last_step = plan->step_count; /* until the last check: the caller's to set */
    plan_step *save = add_step(plan, LAYER_COPY, name, &log, 1, &value, 1);
    save->counters[COUNTER_STATE_SAVED] = type_bytes(plan, &dense);
    for (uint32_t i = plan->restore_count++; i > 0; i--) plan->restores[i] = plan->restores[i - 1];
    uint32_t step_count = plan->step_count;
    plan_step *restore = add_step(plan, LAYER_COPY, name, &value, 1, &log, 1);
    plan->restores[0] = (plan_restore){.step = *restore, .save_step = step_count - 1};
    plan->segments[plan->segment_count - 1].end_step = plan->step_count = step_count;
}

static inline plan_step *add_number(plan *plan, const char *name, plan_operand target, sym number) {
    plan_step *step = add_step(plan, LAYER_BINARY, name, &target, 1, &target, 1);
    set_op(step, OP_ADD);
    set_value(step, ATTR_SCALAR, number);
    set_value(step, ATTR_SCALAR_FIRST, sym_bool(&plan->symbols, false));
    step->counters[COUNTER_STATE_WRITTEN] = type_bytes(plan, &target.type);
    return step;
}

enum { LONG_ROWS = 16 };

/* cache (state, f32[16,8])[pos.item()] = row + pos.item(); 0 <= pos < 16; output.0 = the row in the cache, output.1 =
 * pos.item(), output.2 = cache */
static inline plan *make_item_position_plan(dtype position_type, bool is_bounded) {
    plan *plan = new_plan();
    sym_pool *pool = &plan->symbols;
    sym one = sym_int(pool, 1), width = sym_int(pool, CACHE_WIDTH), rows = sym_int(pool, LONG_ROWS);
    uint32_t symbol = is_bounded ? sym_add_symbol(pool, "u0", SYM_KIND_INT, 0, LONG_ROWS - 1)
                                 : sym_add_symbol(pool, "u0", SYM_KIND_INT, INT64_MIN, INT64_MAX);
    sym position = sym_of_symbol(pool, symbol);
    tensor_type number = dense_type(plan, position_type, 1, &one);
    tensor_type row = dense_type(plan, DTYPE_F32, 2, (sym[]){one, width});
    tensor_type table = dense_type(plan, DTYPE_F32, 2, (sym[]){rows, width});
    uint32_t pos = add_input(plan, "pos", number, false), source = add_input(plan, "row", row, false);
    uint32_t cache = add_state(plan, "cache", table, NONE);
    plan_operand target = row_at(plan, cache, row, position);
    plan->outputs[plan->output_count++] = (plan_output){
        .name = "output.0", .kind = OUTPUT_TENSOR, .operand = target, .alias = ALIAS_STATE, .alias_index = 0};
    plan->outputs[plan->output_count++] = (plan_output){.name = "output.1", .kind = OUTPUT_NUMBER, .value = position};
    plan->outputs[plan->output_count++] = (plan_output){
        .name = "output.2", .kind = OUTPUT_TENSOR, .operand = {cache, table}, .alias = ALIAS_STATE, .alias_index = 0};
    add_item(plan, "item", (plan_operand){pos, number}, symbol, false);
    plan->first_write = 1;
    add_step(plan, LAYER_COPY, "write", &target, 1, &(plan_operand){source, row}, 1)->counters[COUNTER_STATE_WRITTEN] =
        type_bytes(plan, &row);
    add_number(plan, "shift", target, position);
    plan->asserts[plan->assert_count++] =
        (sym_assert){.condition = sym_compare(pool, SYM_NE, position, sym_int(pool, 13)),
                     .message = "thirteen is unlucky",
                     .source = "model.py:9"};
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_OK);
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan;
}

/* cache (state, f32[c,8])[pos] = row, 2 <= c <= 9; output.0 = cache */
static inline plan *make_open_size_plan(void) {
    plan *plan = new_plan();
    sym_pool *pool = &plan->symbols;
    uint32_t symbol = sym_add_symbol(pool, "c", SYM_KIND_INT, 2, 9);
    sym capacity = sym_of_symbol(pool, symbol), one = sym_int(pool, 1), width = sym_int(pool, CACHE_WIDTH);
    plan->symbol_sources[symbol].source = SYMBOL_STATE_SIZE;
    tensor_type position = dense_type(plan, DTYPE_I64, 1, &one);
    tensor_type row = dense_type(plan, DTYPE_F32, 2, (sym[]){one, width});
    tensor_type table = dense_type(plan, DTYPE_F32, 2, (sym[]){capacity, width});
    plan_operand pos = {add_input(plan, "pos", position, false), position};
    plan_operand source = {add_input(plan, "row", row, false), row},
                 cache = {add_state(plan, "cache", table, NONE), table};
    plan->outputs[plan->output_count++] = (plan_output){
        .name = "output.0", .kind = OUTPUT_TENSOR, .operand = cache, .alias = ALIAS_STATE, .alias_index = 0};
    plan_step *step = add_step(plan, LAYER_INDEX_UPDATE, "check", NULL, 0, &pos, 1);
    step->kind = STEP_CHECK_INDEX;
    step->extent = capacity;
    plan->first_write = 1;
    step = add_step(plan, LAYER_INDEX_UPDATE, "update", &cache, 1, (plan_operand[]){cache, source, pos}, 3);
    set_value(step, ATTR_ACCUMULATE, sym_bool(pool, false));
    set_value(step, ATTR_WRAP, sym_bool(pool, false));
    set_list(plan, step, ATTR_DIMS, (sym[]){sym_int(pool, 0)}, 1);
    step->counters[COUNTER_STATE_WRITTEN] = type_bytes(plan, &row);
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_OK);
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan;
}

/* t = table + 1 (f32[4,8]), in output.0's storage; output.0 = t[pos.item()]: where it starts is known after t is made. */
static inline plan *make_item_view_plan(void) {
    plan *plan = new_plan();
    sym_pool *pool = &plan->symbols;
    sym one = sym_int(pool, 1), width = sym_int(pool, CACHE_WIDTH), rows = sym_int(pool, CACHE_ROWS);
    uint32_t symbol = sym_add_symbol(pool, "u0", SYM_KIND_INT, 0, CACHE_ROWS - 1);
    tensor_type number = dense_type(plan, DTYPE_I64, 1, &one), row = dense_type(plan, DTYPE_F32, 1, &width);
    tensor_type table = dense_type(plan, DTYPE_F32, 2, (sym[]){rows, width});
    uint32_t pos = add_input(plan, "pos", number, false), x = add_input(plan, "table", table, false);
    uint32_t output = add_output(plan, "output.0", table);
    plan->outputs[0].operand = row_at(plan, output, row, sym_of_symbol(pool, symbol));
    plan_step *step =
        add_step(plan, LAYER_BINARY, "add", &(plan_operand){output, table}, 1, &(plan_operand){x, table}, 1);
    set_op(step, OP_ADD);
    set_value(step, ATTR_SCALAR, one);
    set_value(step, ATTR_SCALAR_FIRST, sym_bool(pool, false));
    add_item(plan, "item", (plan_operand){pos, number}, symbol, false);
    plan->first_write = plan->step_count;
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan;
}

/* total (state, f32[8]) += 1; u = n.item(), 1 <= u <= 8; t = x[:u] + x[:u]; output.0 = t * x[:u] (f32[u]);
 * output.1 = u + 1; output.2 = total[:u]; x: f32[8]. total is written, and saved, before the size is known. */
static inline plan *make_item_size_plan(void) {
    plan *plan = new_plan();
    sym_pool *pool = &plan->symbols;
    sym one = sym_int(pool, 1), width = sym_int(pool, CACHE_WIDTH);
    uint32_t symbol = sym_add_symbol(pool, "u0", SYM_KIND_INT, 1, CACHE_WIDTH);
    sym size = sym_of_symbol(pool, symbol);
    tensor_type number = dense_type(plan, DTYPE_I64, 1, &one), line = dense_type(plan, DTYPE_F32, 1, &width);
    tensor_type part = dense_type(plan, DTYPE_F32, 1, &size);
    uint32_t n = add_input(plan, "n", number, false), x = add_input(plan, "x", line, false);
    uint32_t total = add_state(plan, "total", line, NONE);
    uint32_t sum = add_storage(plan, STORAGE_ARENA, 0, type_bytes(plan, &part));
    uint32_t output = add_output(plan, "output.0", part);
    plan->outputs[plan->output_count++] =
        (plan_output){.name = "output.1", .kind = OUTPUT_NUMBER, .value = sym_add(pool, size, one)};
    plan->outputs[plan->output_count++] = (plan_output){
        .name = "output.2", .kind = OUTPUT_TENSOR, .operand = {total, part}, .alias = ALIAS_STATE, .alias_index = 0};
    add_save(plan, "count", (plan_operand){total, line});
    plan->first_write = 1;
    add_number(plan, "count", (plan_operand){total, line}, one);
    add_item(plan, "length", (plan_operand){n, number}, symbol, true);
    plan->storages[plan->steps[0].results[0].storage].last_step = 2;
    cut_plan(plan);
    plan_operand part_of_x = {x, part};
    plan->storages[sum].first_step = 3;
    plan->storages[sum].last_step = 4;
    set_op(
        add_step(plan, LAYER_BINARY, "twice", &(plan_operand){sum, part}, 1, (plan_operand[]){part_of_x, part_of_x}, 2),
        OP_ADD);
    set_op(add_step(plan, LAYER_BINARY, "product", &(plan_operand){output, part}, 1,
                    (plan_operand[]){{sum, part}, part_of_x}, 2),
           OP_MUL);
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_OK);
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan;
}

/* counter (state, i64[1]) += 1; marks (state, f32[8]) += 1; cache (state, f32[4,8])[counter] = row, which is only checked
 * after counter and marks were written; written (input f32[8]) += 1 follows. The first call writes row 1. */
static inline plan *make_late_check_plan(void) {
    plan *plan = new_plan();
    sym_pool *pool = &plan->symbols;
    sym one = sym_int(pool, 1), width = sym_int(pool, CACHE_WIDTH), rows = sym_int(pool, CACHE_ROWS);
    tensor_type number = dense_type(plan, DTYPE_I64, 1, &one), line = dense_type(plan, DTYPE_F32, 1, &width);
    tensor_type row = dense_type(plan, DTYPE_F32, 2, (sym[]){one, width});
    tensor_type table = dense_type(plan, DTYPE_F32, 2, (sym[]){rows, width});
    uint32_t source = add_input(plan, "row", row, false), written = add_input(plan, "written", line, true);
    plan_operand counter = {add_state(plan, "counter", number, NONE), number};
    plan_operand marks = {add_state(plan, "marks", line, NONE), line};
    plan_operand cache = {add_state(plan, "cache", table, NONE), table};
    add_save(plan, "count", counter);
    add_save(plan, "mark", marks);
    plan->first_write = plan->step_count;
    add_number(plan, "count", counter, one);
    add_number(plan, "mark", marks, one);
    plan_step *check = add_step(plan, LAYER_INDEX_UPDATE, "update", NULL, 0, &counter, 1);
    check->kind = STEP_CHECK_INDEX;
    check->extent = rows;
    for (uint32_t i = 0; i < 2; i++) plan->storages[plan->steps[i].results[0].storage].last_step = plan->step_count - 1;
    plan_step *update =
        add_step(plan, LAYER_INDEX_UPDATE, "update", &cache, 1, (plan_operand[]){cache, {source, row}, counter}, 3);
    set_value(update, ATTR_ACCUMULATE, sym_bool(pool, false));
    set_value(update, ATTR_WRAP, sym_bool(pool, false));
    set_list(plan, update, ATTR_DIMS, (sym[]){sym_int(pool, 0)}, 1);
    update->counters[COUNTER_STATE_WRITTEN] = type_bytes(plan, &row);
    add_number(plan, "written", (plan_operand){written, line}, one);
    sym zero = sym_int(pool, 0);
    plan->report[plan->report_count++] = (report_row){
        "counter", number, "elementwise", sym_int(pool, 8), zero, zero, sym_int(pool, 8), true, "", "", ""};
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_OK);
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan;
}

#endif
