/* Plans that read numbers from tensors during the call: the files of plans/ say what they compute. */
#ifndef ITEM_PLANS_H
#define ITEM_PLANS_H

#include "small_plans.h"

/* A step that reads the operand's one element into the symbol. */
static inline plan_step_t *add_item(plan_t *plan, const char *name, plan_operand_t operand, uint32_t symbol,
                                    bool in_sizes) {
    plan_step_t *step = add_step(plan, LAYER_ITEM, name, NULL, 0, &operand, 1);
    set_value(step, ATTR_SYMBOL, sym_of_symbol(&plan->symbols, symbol));
    plan->symbol_sources[symbol] =
        (plan_symbol_t){.source = SYMBOL_STEP, .step = plan->step_count - 1, .in_sizes = in_sizes};
    return step;
}

static inline plan_operand_t row_at(plan_t *plan, uint32_t storage, tensor_type_t row, sym_t position) {
    row.offset = sym_mul(&plan->symbols, position, sym_int(&plan->symbols, CACHE_WIDTH));
    return (plan_operand_t){storage, row};
}

static inline plan_step_t *add_number(plan_t *plan, const char *name, plan_operand_t target, sym_t number) {
    plan_step_t *step = add_step(plan, LAYER_BINARY, name, &target, 1, &target, 1);
    set_op(step, OP_ADD);
    set_value(step, ATTR_SCALAR, number);
    set_value(step, ATTR_SCALAR_FIRST, sym_bool(&plan->symbols, false));
    step->counters[COUNTER_STATE_WRITTEN] = type_bytes(plan, &target.type);
    return step;
}

enum { LONG_ROWS = 16 };

/* cache (state, f32[16,8])[pos.item()] = row + pos.item(); 0 <= pos < 16; output.0 = the row in the cache, output.1 =
 * pos.item(), output.2 = cache */
static inline plan_t *make_item_position_plan(dtype_t position_type, bool is_bounded) {
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    sym_t one = sym_int(pool, 1), width = sym_int(pool, CACHE_WIDTH), rows = sym_int(pool, LONG_ROWS);
    uint32_t symbol = is_bounded ? sym_add_symbol(pool, "u0", SYM_KIND_INT, 0, LONG_ROWS - 1)
                                 : sym_add_symbol(pool, "u0", SYM_KIND_INT, INT64_MIN, INT64_MAX);
    sym_t position = sym_of_symbol(pool, symbol);
    tensor_type_t number = dense_type(plan, position_type, 1, &one);
    tensor_type_t row = dense_type(plan, DTYPE_F32, 2, (sym_t[]){one, width});
    tensor_type_t table = dense_type(plan, DTYPE_F32, 2, (sym_t[]){rows, width});
    uint32_t pos = add_input(plan, "pos", number, false), source = add_input(plan, "row", row, false);
    uint32_t cache = add_state(plan, "cache", table, NONE);
    plan_operand_t target = row_at(plan, cache, row, position);
    plan->outputs[plan->output_count++] = (plan_output_t){
        .name = "output.0", .kind = OUTPUT_TENSOR, .operand = target, .alias = ALIAS_STATE, .alias_index = 0};
    plan->outputs[plan->output_count++] = (plan_output_t){.name = "output.1", .kind = OUTPUT_NUMBER, .value = position};
    plan->outputs[plan->output_count++] = (plan_output_t){
        .name = "output.2", .kind = OUTPUT_TENSOR, .operand = {cache, table}, .alias = ALIAS_STATE, .alias_index = 0};
    add_item(plan, "item", (plan_operand_t){pos, number}, symbol, false);
    plan->first_write = 1;
    add_step(plan, LAYER_COPY, "write", &target, 1, &(plan_operand_t){source, row}, 1)
        ->counters[COUNTER_STATE_WRITTEN] = type_bytes(plan, &row);
    add_number(plan, "shift", target, position);
    plan->asserts[plan->assert_count++] =
        (sym_assert_t){.condition = sym_compare(pool, SYM_NE, position, sym_int(pool, 13)),
                       .message = "thirteen is unlucky",
                       .source = "model.py:9"};
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_OK);
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan;
}

static inline plan_t *make_open_size_plan(void) { return read_plan("open_size"); }

static inline plan_t *make_item_view_plan(void) { return read_plan("item_view"); }

static inline plan_t *make_item_size_plan(void) { return read_plan("item_size"); }

static inline plan_t *make_deferred_check_plan(void) { return read_plan("late_check"); }
static inline plan_t *make_control_plan(void) { return read_plan("control"); }

#endif
