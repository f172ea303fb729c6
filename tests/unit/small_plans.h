/* Small plans built by hand, for tests of plans, engines and the runtime. */
#ifndef SMALL_PLANS_H
#define SMALL_PLANS_H

#include "unit_test.h"

#include "plan/plan.h"

static inline plan *new_plan(void) {
    plan *made = NULL;
    assert_int_equal(plan_create(&made), INSITU_OK);
    arena *arena = &made->arena;
    enum { ROWS = 32 };
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_symbol), &made->symbol_sources), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(weight_record), &made->weights), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_storage), &made->storages), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_step), &made->steps), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_input), &made->inputs), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_output), &made->outputs), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_state_storage), &made->state_storages), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_state), &made->states), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_buffer), &made->buffers), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(sym_assert), &made->asserts), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(report_row), &made->report), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_segment), &made->segments), INSITU_OK);
    assert_int_equal(arena_array(arena, ROWS, sizeof(plan_restore), &made->restores), INSITU_OK);
    made->segment_count = 1;
    return made;
}

/* The rows are complete. */
static inline insitu_status finish_plan(plan *plan, insitu_diag *diag) {
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan_verify(plan, diag);
}

static inline tensor_type dense_type(plan *plan, dtype type, uint32_t rank, const sym *sizes) {
    tensor_type made = {.dtype = type, .shape = {.rank = rank}};
    for (uint32_t i = 0; i < rank; i++) made.shape.sizes[i] = sizes[i];
    shape_dense_strides(&plan->symbols, &made.shape, made.strides);
    made.offset = sym_int(&plan->symbols, 0);
    return made;
}

static inline sym type_bytes(plan *plan, const tensor_type *type) {
    return sym_mul(&plan->symbols, shape_numel(&plan->symbols, &type->shape),
                   sym_int(&plan->symbols, dtype_size(type->dtype)));
}

static inline uint32_t add_storage(plan *plan, storage_kind kind, uint32_t index, sym bytes) {
    plan->storages[plan->storage_count] = (plan_storage){.kind = kind, .index = index, .bytes = bytes};
    return plan->storage_count++;
}

/* A tensor input with a storage of its own. */
static inline uint32_t add_input(plan *plan, const char *name, tensor_type type, bool is_written) {
    uint32_t index = plan->input_count++;
    uint32_t storage = add_storage(plan, STORAGE_INPUT, index, type_bytes(plan, &type));
    plan->inputs[index] = (plan_input){.name = name, .type = type, .is_written = is_written, .storage = storage};
    return storage;
}

static inline uint32_t add_state(plan *plan, const char *name, tensor_type type, uint32_t initial) {
    uint32_t index = plan->state_storage_count++;
    plan->state_storages[index] = (plan_state_storage){.bytes = type_bytes(plan, &type), .initial = initial};
    plan->states[plan->state_count++] = (plan_state){.name = name, .state_storage = index, .type = type};
    return add_storage(plan, STORAGE_STATE, index, type_bytes(plan, &type));
}

static inline uint32_t add_weight(plan *plan, const char *name, tensor_type type, const void *data) {
    int64_t bytes = 0;
    assert_true(sym_constant(&plan->symbols, type_bytes(plan, &type), &bytes));
    uint32_t index = plan->weight_count++;
    plan->weights[index] = (weight_record){.name = name, .data = data, .size = (size_t)bytes, .dtype = type.dtype};
    return add_storage(plan, STORAGE_WEIGHT, index, type_bytes(plan, &type));
}

static inline uint32_t add_output(plan *plan, const char *name, tensor_type type) {
    uint32_t index = plan->output_count++;
    uint32_t storage = add_storage(plan, STORAGE_OUTPUT, index, type_bytes(plan, &type));
    plan->outputs[index] = (plan_output){.name = name, .kind = OUTPUT_TENSOR, .operand = {storage, type}};
    return storage;
}

static inline plan_operand operand_of(plan *plan, uint32_t storage, tensor_type type) {
    (void)plan;
    return (plan_operand){storage, type};
}

static inline plan_step *add_step(plan *plan, layer_kind layer, const char *name, const plan_operand *results,
                                  uint32_t result_count, const plan_operand *operands, uint32_t operand_count) {
    plan_step *step = &plan->steps[plan->step_count++];
    attr *attrs;
    sym zero = sym_int(&plan->symbols, 0);
    *step = (plan_step){.kind = STEP_LAYER, .layer = layer, .name = name, .source = "model.py:1"};
    assert_int_equal(arena_copy(&plan->arena, results, result_count * sizeof(*results), &step->results), INSITU_OK);
    assert_int_equal(arena_copy(&plan->arena, operands, operand_count * sizeof(*operands), &step->operands), INSITU_OK);
    assert_int_equal(arena_array(&plan->arena, layer_info_of(layer)->attr_count, sizeof(attr), &attrs), INSITU_OK);
    step->attrs = attrs;
    step->result_count = result_count;
    step->operand_count = operand_count;
    step->extent = zero;
    for (uint32_t i = 0; i < COUNTER_COUNT; i++) step->counters[i] = zero;
    plan->segments[plan->segment_count - 1].end_step = plan->step_count;
    return step;
}

static inline attr *step_attr(plan_step *step, attr_id id) {
    uint32_t index = layer_attr_index(step->layer, id);
    assert_int_not_equal(index, NONE);
    return &((attr *)(uintptr_t)step->attrs)[index];
}

static inline void set_op(plan_step *step, op_kind op) {
    *step_attr(step, ATTR_OP) = (attr){.kind = ATTR_KIND_OP, .op = op};
}

static inline void set_value(plan_step *step, attr_id id, sym value) {
    *step_attr(step, id) = (attr){.kind = ATTR_KIND_SYM, .value = value};
}

static inline void set_list(plan *plan, plan_step *step, attr_id id, const sym *items, uint32_t count) {
    const sym *copy = NULL;
    assert_int_equal(arena_copy(&plan->arena, items, count * sizeof(*items), &copy), INSITU_OK);
    attr *target = step_attr(step, id);
    target->kind = ATTR_KIND_SYMS;
    target->list.items = copy;
    target->list.count = count;
}

enum { CACHE_ROWS = 4, CACHE_WIDTH = 8 };
static const float small_weight[CACHE_WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8};
static const float small_initial[CACHE_WIDTH] = {10, 20, 30, 40, 50, 60, 70, 80};

/* A program with every kind of input, output and storage:
 *
 *     counter (state, i64[])        += 1
 *     history (state, f32[8])       += weight
 *     cache (state, f32[4,8])[pos]   = row                         (pos is checked first)
 *     bias (input f32[8], written)  += 1
 *     output.0 = (x + x) * x, x: f32[s0,8], 1 <= s0 <= 6           (through the arena)
 *     output.1 = cache   output.2 = bias   output.3 = s0   output.4 = None
 *     scale (buffer, f32[4]) = weight[1::2] */
static inline plan *make_small_plan(void) {
    plan *plan = new_plan();
    sym_pool *pool = &plan->symbols;
    uint32_t symbol = sym_add_symbol(pool, "s0", SYM_KIND_INT, 1, 6);
    sym rows = sym_of_symbol(pool, symbol), one = sym_int(pool, 1), width = sym_int(pool, CACHE_WIDTH);
    sym cache_rows = sym_int(pool, CACHE_ROWS);
    plan->symbol_sources[symbol].source = SYMBOL_INPUT_SIZE;
    tensor_type number = dense_type(plan, DTYPE_I64, 0, NULL), position = dense_type(plan, DTYPE_I64, 1, &one);
    tensor_type line = dense_type(plan, DTYPE_F32, 1, &width);
    tensor_type row = dense_type(plan, DTYPE_F32, 2, (sym[]){one, width});
    tensor_type table = dense_type(plan, DTYPE_F32, 2, (sym[]){cache_rows, width});
    tensor_type x_type = dense_type(plan, DTYPE_F32, 2, (sym[]){rows, width});

    uint32_t x = add_input(plan, "x", x_type, false), pos = add_input(plan, "pos", position, false);
    uint32_t source = add_input(plan, "row", row, false), bias = add_input(plan, "bias", line, true);
    uint32_t weight = add_weight(plan, "layer.weight", line, small_weight);
    (void)add_weight(plan, "history", line, small_initial);
    uint32_t counter = add_state(plan, "counter", number, NONE), history = add_state(plan, "history", line, 1);
    uint32_t cache = add_state(plan, "cache", table, NONE);
    tensor_type odd = dense_type(plan, DTYPE_F32, 1, (sym[]){sym_int(pool, CACHE_WIDTH / 2)});
    odd.strides[0] = sym_int(pool, 2);
    odd.offset = one;
    plan->buffers[plan->buffer_count++] = (plan_buffer){.name = "scale", .weight = 0, .type = odd};
    uint32_t temporary = add_storage(plan, STORAGE_ARENA, 0, type_bytes(plan, &x_type));
    uint32_t output = add_output(plan, "output.0", x_type);
    plan->outputs[plan->output_count++] = (plan_output){
        .name = "output.1", .kind = OUTPUT_TENSOR, .operand = {cache, table}, .alias = ALIAS_STATE, .alias_index = 2};
    plan->outputs[plan->output_count++] = (plan_output){
        .name = "output.2", .kind = OUTPUT_TENSOR, .operand = {bias, line}, .alias = ALIAS_INPUT, .alias_index = 3};
    plan->outputs[plan->output_count++] = (plan_output){.name = "output.3", .kind = OUTPUT_NUMBER, .value = rows};
    plan->outputs[plan->output_count++] = (plan_output){.name = "output.4", .kind = OUTPUT_NONE};

    plan_operand counter_operand = {counter, number}, history_operand = {history, line}, bias_operand = {bias, line};
    plan_operand x_operand = {x, x_type}, temporary_operand = {temporary, x_type}, output_operand = {output, x_type};
    plan_operand cache_operand = {cache, table}, pos_operand = {pos, position}, weight_operand = {weight, line};
    plan_operand source_operand = {source, row};

    plan_step *step = add_step(plan, LAYER_INDEX_UPDATE, "check", NULL, 0, &pos_operand, 1);
    step->kind = STEP_CHECK_INDEX;
    step->extent = cache_rows;
    step = add_step(plan, LAYER_BINARY, "double", &temporary_operand, 1, (plan_operand[]){x_operand, x_operand}, 2);
    set_op(step, OP_ADD);
    step =
        add_step(plan, LAYER_BINARY, "product", &output_operand, 1, (plan_operand[]){temporary_operand, x_operand}, 2);
    set_op(step, OP_MUL);
    plan->storages[temporary].first_step = 1;
    plan->storages[temporary].last_step = 2;
    step = add_step(plan, LAYER_BINARY, "count", &counter_operand, 1, &counter_operand, 1);
    plan->first_write = plan->step_count - 1;
    set_op(step, OP_ADD);
    set_value(step, ATTR_SCALAR, one);
    set_value(step, ATTR_SCALAR_FIRST, sym_bool(pool, false));
    step->counters[COUNTER_STATE_WRITTEN] = sym_int(pool, 8);
    step = add_step(plan, LAYER_BINARY, "accumulate", &history_operand, 1,
                    (plan_operand[]){history_operand, weight_operand}, 2);
    set_op(step, OP_ADD);
    step->counters[COUNTER_STATE_WRITTEN] = step->counters[COUNTER_WEIGHT_READ] = sym_int(pool, 32);
    step = add_step(plan, LAYER_INDEX_UPDATE, "update", &cache_operand, 1,
                    (plan_operand[]){cache_operand, source_operand, pos_operand}, 3);
    set_value(step, ATTR_ACCUMULATE, sym_bool(pool, false));
    set_value(step, ATTR_WRAP, sym_bool(pool, false));
    set_list(plan, step, ATTR_DIMS, (sym[]){sym_int(pool, 0)}, 1);
    step->counters[COUNTER_STATE_WRITTEN] = sym_int(pool, 32);
    step = add_step(plan, LAYER_BINARY, "shift_bias", &bias_operand, 1, &bias_operand, 1);
    set_op(step, OP_ADD);
    set_value(step, ATTR_SCALAR, sym_float(pool, 1));
    set_value(step, ATTR_SCALAR_FIRST, sym_bool(pool, false));
    step->counters[COUNTER_STATE_WRITTEN] = sym_int(pool, 32);

    sym zero = sym_int(pool, 0);
    plan->asserts[plan->assert_count++] = (sym_assert){.condition = sym_compare(pool, SYM_NE, rows, sym_int(pool, 5)),
                                                       .message = "five is too odd",
                                                       .source = "model.py:9"};
    plan->report[plan->report_count++] = (report_row){
        "cache", table, "index_update dim 0", sym_int(pool, 32), zero, zero, zero, true, "model.py:8", "", ""};
    plan->report[plan->report_count++] = (report_row){
        "history", line, "elementwise", sym_int(pool, 32), sym_int(pool, 16), zero, zero, true, "", "", ""};
    plan->report[plan->report_count++] = (report_row){"bias",
                                                      line,
                                                      "slice_update",
                                                      sym_mul(pool, rows, width),
                                                      zero,
                                                      sym_int(pool, 16384),
                                                      zero,
                                                      false,
                                                      "model.py:40",
                                                      "mul_3 (model.py:41) reads the old value after the write",
                                                      "let mul_3 (model.py:41) read the new value"};
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_OK);
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan;
}

#endif
