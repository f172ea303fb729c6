/* Small plans, from text or built by hand, for tests of plans, engines and the runtime. */
#ifndef SMALL_PLANS_H
#define SMALL_PLANS_H

#include "unit_test.h"

#include "plan/plan_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room in each table for rows that a test adds. */
static inline void make_room(plan_t *plan) {
    enum { ROWS = 32 };
    for (size_t i = 0; i < PLAN_TABLES; i++) {
        const plan_table_t *table = &plan_tables[i];
        void *rows;
        size_t used = table_count(table, plan) * table->row->size;
        assert_int_equal(arena_array(&plan->arena, ROWS, table->row->size, &rows), INSITU_OK);
        if (used) memcpy(rows, table_rows(table, plan), used);
        memcpy((char *)plan + table->rows, &rows, sizeof(rows));
    }
}

static inline plan_t *new_plan(void) {
    plan_t *made = NULL;
    assert_int_equal(plan_create(&made), INSITU_OK);
    enum { SYMBOLS = 32 };
    assert_int_equal(arena_array(&made->arena, SYMBOLS, sizeof(plan_symbol_t), &made->symbol_sources), INSITU_OK);
    make_room(made);
    made->segment_count = 1;
    return made;
}

/* The rows are complete. */
static inline insitu_status finish_plan(plan_t *plan, insitu_diag *diag) {
    assert_int_equal(plan_derive(plan), INSITU_OK);
    return plan_verify(plan, diag);
}

static inline tensor_type_t dense_type(plan_t *plan, dtype_t type, uint32_t rank, const sym_t *sizes) {
    tensor_type_t made = {.dtype = type, .shape = {.rank = rank}};
    for (uint32_t i = 0; i < rank; i++) made.shape.sizes[i] = sizes[i];
    shape_dense_strides(&plan->symbols, &made.shape, made.strides);
    made.offset = sym_int(&plan->symbols, 0);
    return made;
}

static inline sym_t type_bytes(plan_t *plan, const tensor_type_t *type) {
    return sym_mul(&plan->symbols, shape_numel(&plan->symbols, &type->shape),
                   sym_int(&plan->symbols, dtype_size(type->dtype)));
}

static inline uint32_t add_storage(plan_t *plan, storage_kind_t kind, uint32_t index, sym_t bytes) {
    plan->storages[plan->storage_count] = (plan_storage_t){.kind = kind, .index = index, .bytes = bytes};
    return plan->storage_count++;
}

/* A tensor input with a storage of its own. */
static inline uint32_t add_input(plan_t *plan, const char *name, tensor_type_t type, bool is_written) {
    uint32_t index = plan->input_count++;
    uint32_t storage = add_storage(plan, STORAGE_INPUT, index, type_bytes(plan, &type));
    plan->inputs[index] = (plan_input_t){.name = name, .type = type, .is_written = is_written, .storage = storage};
    return storage;
}

static inline uint32_t add_state(plan_t *plan, const char *name, tensor_type_t type, uint32_t initial) {
    uint32_t index = plan->state_storage_count++;
    plan->state_storages[index] = (plan_state_storage_t){.bytes = type_bytes(plan, &type), .initial = initial};
    plan->states[plan->state_count++] = (plan_state_t){.name = name, .state_storage = index, .type = type};
    return add_storage(plan, STORAGE_STATE, index, type_bytes(plan, &type));
}

static inline uint32_t add_weight(plan_t *plan, const char *name, tensor_type_t type, const void *data) {
    int64_t bytes = 0;
    assert_true(sym_constant(&plan->symbols, type_bytes(plan, &type), &bytes));
    uint32_t index = plan->weight_count++;
    plan->weights[index] = (weight_record_t){.name = name, .data = data, .size = (size_t)bytes, .dtype = type.dtype};
    return add_storage(plan, STORAGE_WEIGHT, index, type_bytes(plan, &type));
}

static inline uint32_t add_output(plan_t *plan, const char *name, tensor_type_t type) {
    uint32_t index = plan->output_count++;
    uint32_t storage = add_storage(plan, STORAGE_OUTPUT, index, type_bytes(plan, &type));
    plan->outputs[index] = (plan_output_t){.name = name, .kind = OUTPUT_TENSOR, .operand = {storage, type}};
    return storage;
}

static inline plan_operand_t operand_of(plan_t *plan, uint32_t storage, tensor_type_t type) {
    (void)plan;
    return (plan_operand_t){storage, type};
}

static inline plan_step_t *add_step(plan_t *plan, layer_kind_t layer, const char *name, const plan_operand_t *results,
                                    uint32_t result_count, const plan_operand_t *operands, uint32_t operand_count) {
    plan_step_t *step = &plan->steps[plan->step_count++];
    attr_t *attrs;
    sym_t zero = sym_int(&plan->symbols, 0);
    *step = (plan_step_t){.kind = STEP_LAYER, .layer = layer, .name = name, .source = "model.py:1"};
    assert_int_equal(arena_copy(&plan->arena, results, result_count * sizeof(*results), &step->results), INSITU_OK);
    assert_int_equal(arena_copy(&plan->arena, operands, operand_count * sizeof(*operands), &step->operands), INSITU_OK);
    assert_int_equal(arena_array(&plan->arena, layer_info_of(layer)->attr_count, sizeof(attr_t), &attrs), INSITU_OK);
    step->attrs = attrs;
    step->result_count = result_count;
    step->operand_count = operand_count;
    step->extent = zero;
    for (uint32_t i = 0; i < COUNTER_COUNT; i++) step->counters[i] = zero;
    plan->segments[plan->segment_count - 1].end_step = plan->step_count;
    return step;
}

static inline attr_t *step_attr(plan_step_t *step, attr_id_t id) {
    uint32_t index = layer_attr_index(step->layer, id);
    assert_int_not_equal(index, NONE);
    return &((attr_t *)(uintptr_t)step->attrs)[index];
}

static inline void set_op(plan_step_t *step, op_kind_t op) {
    *step_attr(step, ATTR_OP) = (attr_t){.kind = ATTR_KIND_OP, .op = op};
}

static inline void set_value(plan_step_t *step, attr_id_t id, sym_t value) {
    *step_attr(step, id) = (attr_t){.kind = ATTR_KIND_SYM, .value = value};
}

static inline void set_list(plan_t *plan, plan_step_t *step, attr_id_t id, const sym_t *items, uint32_t count) {
    const sym_t *copy = NULL;
    assert_int_equal(arena_copy(&plan->arena, items, count * sizeof(*items), &copy), INSITU_OK);
    attr_t *target = step_attr(step, id);
    target->kind = ATTR_KIND_SYMS;
    target->list.items = copy;
    target->list.count = count;
}

enum { CACHE_ROWS = 4, CACHE_WIDTH = 8 };
static const float small_weight[CACHE_WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8};
static const float small_initial[CACHE_WIDTH] = {10, 20, 30, 40, 50, 60, 70, 80};

/* The plan whose text is plans/NAME.plan. */
static inline plan_t *read_plan(const char *name) {
    insitu_diag diag = {.struct_size = sizeof(diag)};
    char path[512];
    file_map_t *map;
    plan_t *plan = NULL;
    snprintf(path, sizeof(path), TEST_SOURCE_DIR "/unit/plans/%s.plan", name);
    assert_int_equal(file_map_open(path, &map, NULL), INSITU_OK);
    char *source = strndup((const char *)map->data, map->size);
    file_map_release(map);
    if (plan_parse(source, &plan, &diag) != INSITU_OK) fail_msg("%s: %s", name, diag.message);
    free(source);
    make_room(plan);
    return plan;
}

static inline plan_t *make_small_plan(void) {
    plan_t *plan = read_plan("small");
    plan->weights[0].data = (const uint8_t *)small_weight;
    plan->weights[1].data = (const uint8_t *)small_initial;
    return plan;
}

#endif
