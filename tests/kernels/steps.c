/* Bound plans built by hand. */
#include "steps.h"

#include <math.h>

void steps_init(steps_t *steps) {
    memset(steps, 0, sizeof(*steps));
    arena_init(&steps->arena);
    steps->plan.storages = steps->storages;
    steps->plan.steps = steps->plan_steps;
    steps->bound = (bound_plan_t){.plan = &steps->plan,
                                  .steps = steps->bound_steps,
                                  .storage_bytes = steps->storage_bytes,
                                  .arena_offsets = steps->arena_offsets};
}

void steps_release(steps_t *steps) {
    if (steps->prepared) cpu_release(device_cpu(), steps->prepared);
    memory_free(steps->workspace);
    for (uint32_t i = 0; i < steps->plan.storage_count; i++) memory_free(steps->memory[i]);
    arena_release(&steps->arena);
}

uint32_t steps_storage(steps_t *steps, storage_kind_t kind, size_t bytes) {
    uint32_t index = steps->plan.storage_count++;
    assert_true(index < STEPS_STORAGES);
    steps->storages[index] = (plan_storage_t){.kind = kind, .index = index};
    steps->storage_bytes[index] = bytes;
    /* Each arena storage has bytes of its own. */
    steps->arena_offsets[index] = kind == STORAGE_ARENA ? (size_t)index << 32 : 0;
    steps->memory[index] = memory_alloc_aligned(bytes + 2 * STEPS_GUARD, 64);
    assert_non_null(steps->memory[index]);
    memset(steps->memory[index], 0xa5, bytes + 2 * STEPS_GUARD);
    steps->bases[index] = steps->memory[index] + STEPS_GUARD;
    return index;
}

bound_operand_t steps_tensor(steps_t *steps, storage_kind_t kind, dtype_t type, uint32_t rank, const int64_t *sizes) {
    bound_operand_t operand = {.dtype = type, .rank = rank};
    int64_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        operand.sizes[i] = sizes[i];
        operand.strides[i] = stride;
        stride *= sizes[i];
    }
    operand.storage = steps_storage(steps, kind, (size_t)stride * dtype_size(type));
    return operand;
}

bound_operand_t steps_values(steps_t *steps, storage_kind_t kind, dtype_t type, uint32_t rank, const int64_t *sizes,
                             const double *values) {
    bound_operand_t operand = steps_tensor(steps, kind, type, rank, sizes);
    char *data = steps_data(steps, &operand);
    for (int64_t i = 0; i < operand_numel(&operand); i++) {
        double value = values[i];
        bool whole = dtype_is_integral(type) && value == floor(value) && fabs(value) < 1e18;
        if (whole)
            element_store_int(type, data + i * (int64_t)dtype_size(type), (int64_t)value);
        else
            element_store_double(type, data + i * (int64_t)dtype_size(type), value);
    }
    return operand;
}

void *steps_data(steps_t *steps, const bound_operand_t *operand) {
    return (char *)steps->bases[operand->storage] + operand->offset;
}

double steps_get(steps_t *steps, const bound_operand_t *operand, int64_t position) {
    const char *data = steps_data(steps, operand);
    for (uint32_t i = operand->rank; i-- > 0;) {
        data += position % operand->sizes[i] * operand->strides[i] * (int64_t)dtype_size(operand->dtype);
        position /= operand->sizes[i];
    }
    return element_double(operand->dtype, data);
}

static bound_step_t *add_step(steps_t *steps, step_kind_t kind, layer_kind_t layer) {
    uint32_t index = steps->bound.step_count++;
    assert_true(index < STEPS_STEPS);
    steps->plan.step_count = index + 1;
    steps->plan_steps[index] = (plan_step_t){.kind = kind, .layer = layer, .name = "node", .source = "model.py:7"};
    bound_step_t *step = &steps->bound_steps[index];
    step->step = &steps->plan_steps[index];
    return step;
}

static const bound_operand_t *copy_operands(steps_t *steps, const bound_operand_t *operands, uint32_t count) {
    bound_operand_t *copy;
    assert_int_equal(arena_array(&steps->arena, count + 1, sizeof(*copy), &copy), INSITU_OK);
    for (uint32_t i = 0; i < count; i++) copy[i] = operands[i];
    return copy;
}

bound_step_t *steps_add(steps_t *steps, layer_kind_t layer, const bound_operand_t *results, uint32_t result_count,
                        const bound_operand_t *operands, uint32_t operand_count) {
    bound_step_t *step = add_step(steps, STEP_LAYER, layer);
    bound_attr_t *attrs;
    assert_int_equal(arena_array(&steps->arena, layer_info_of(layer)->attr_count + 1, sizeof(*attrs), &attrs),
                     INSITU_OK);
    step->attrs = attrs;
    step->results = copy_operands(steps, results, result_count);
    step->operands = copy_operands(steps, operands, operand_count);
    step->result_count = result_count;
    step->operand_count = operand_count;
    return step;
}

bound_step_t *steps_check(steps_t *steps, bound_operand_t index, int64_t extent, bool wrap) {
    bound_step_t *step = add_step(steps, STEP_CHECK_INDEX, LAYER_INDEX_UPDATE);
    steps->plan_steps[steps->bound.step_count - 1].wrap = wrap;
    step->operands = copy_operands(steps, &index, 1);
    step->operand_count = 1;
    step->extent = extent;
    return step;
}

static bound_attr_t *attr_slot(bound_step_t *step, attr_id_t id, attr_kind_t kind) {
    uint32_t index = layer_attr_index(step->step->layer, id);
    assert_int_not_equal(index, NONE);
    bound_attr_t *attr = &((bound_attr_t *)(uintptr_t)step->attrs)[index];
    attr->kind = kind;
    return attr;
}

void step_int(bound_step_t *step, attr_id_t id, int64_t value) {
    attr_slot(step, id, ATTR_KIND_SYM)->value = (sym_value_t){.kind = SYM_KIND_INT, .i = value};
}
void step_real(bound_step_t *step, attr_id_t id, double value) {
    attr_slot(step, id, ATTR_KIND_SYM)->value = (sym_value_t){.kind = SYM_KIND_FLOAT, .f = value};
}
void step_op(bound_step_t *step, op_kind_t op) { attr_slot(step, ATTR_OP, ATTR_KIND_OP)->op = op; }
void step_dtype(bound_step_t *step, dtype_t type) { attr_slot(step, ATTR_DTYPE, ATTR_KIND_DTYPE)->dtype = type; }
void step_list(steps_t *steps, bound_step_t *step, attr_id_t id, uint32_t count, const int64_t *items) {
    bound_attr_t *attr = attr_slot(step, id, ATTR_KIND_SYMS);
    const int64_t *copy;
    assert_int_equal(arena_copy(&steps->arena, items, count * sizeof(*items), &copy), INSITU_OK);
    attr->items = copy;
    attr->count = count;
}

insitu_status steps_prepare(steps_t *steps, uint32_t threads, insitu_diag *diag) {
    size_t bytes;
    if (steps->prepared) cpu_release(device_cpu(), steps->prepared);
    memory_free(steps->workspace);
    steps->workspace = NULL;
    TRY(cpu_prepare(device_cpu(), &steps->bound, threads, &steps->arena, &steps->prepared, &bytes, diag));
    steps->workspace = memory_alloc_aligned(bytes, 64);
    assert_non_null(steps->workspace);
    return INSITU_OK;
}

insitu_status steps_run(steps_t *steps, insitu_diag *diag) {
    device_call_t call = {.bases = steps->bases, .workspace = steps->workspace, .end = steps->bound.step_count};
    return cpu_run(device_cpu(), NULL, steps->prepared, &call, diag);
}

bool step_run_row(steps_t *steps, const bound_step_t *step, const kernel_row_t *row, uint32_t threads) {
    bool failed = false;
    size_t bytes = row->workspace(step);
    void *data = NULL;
    reason_t why;
    if (row->maker->make) {
        insitu_status status = row->maker->make(step, &steps->arena, threads, &data, &bytes, &why);
        if (status == INSITU_UNSUPPORTED) return false;
        assert_int_equal(status, INSITU_OK);
        threads = 1;
    }
    char *workspace = memory_alloc_aligned(bytes + 64, 64);
    assert_non_null(workspace);
    for (uint32_t i = 0; i < threads; i++) {
        kernel_call_t call = {.step = step,
                              .bases = steps->bases,
                              .data = data,
                              .workspace = workspace,
                              .thread = i,
                              .threads = threads,
                              .failed = &failed};
        row->run(&call);
    }
    if (row->maker->release) row->maker->release(data);
    memory_free(workspace);
    assert_false(failed);
    return true;
}

const kernel_row_t *step_reference(const bound_step_t *step) {
    reason_t why = {"no row"};
    for (uint32_t i = 0; i < kernel_row_count; i++) {
        const kernel_row_t *row = &kernel_rows[i];
        if (row->layer == step->step->layer && kernel_is_reference(row) && kernel_accepts(row, step, &why)) return row;
    }
    fail_msg("no reference takes the step: %s", why.text);
    return NULL;
}

void steps_run_reference(steps_t *steps) {
    const bound_step_t *step = &steps->bound_steps[steps->bound.step_count - 1];
    assert_true(step_run_row(steps, step, step_reference(step), 1));
    steps_assert_guards(steps);
}

void steps_assert_guards(const steps_t *steps) {
    for (uint32_t i = 0; i < steps->plan.storage_count; i++) {
        const unsigned char *front = (const unsigned char *)steps->memory[i];
        const unsigned char *back = front + STEPS_GUARD + steps->storage_bytes[i];
        for (uint32_t k = 0; k < STEPS_GUARD; k++)
            if (front[k] != 0xa5 || back[k] != 0xa5) fail_msg("a byte beside storage %u was written", i);
    }
}

void steps_assert_values(steps_t *steps, const bound_operand_t *operand, const double *expected, int64_t count,
                         double tolerance) {
    assert_int_equal(operand_numel(operand), count);
    for (int64_t i = 0; i < count; i++) {
        double found = steps_get(steps, operand, i);
        if (isnan(expected[i]) ? isnan(found) : found == expected[i]) continue;
        if (!(fabs(found - expected[i]) <= tolerance * (1 + fabs(expected[i]))))
            fail_msg("element %lld is %.17g, not %.17g", (long long)i, found, expected[i]);
    }
}
