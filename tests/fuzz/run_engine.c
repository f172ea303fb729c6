/* Runs an engine that a fuzz target made: everything that it was declared to be must hold while it runs. */
#include "engine/engine.h"
#include "fuzz.h"

#include <insitu/context.h>
#include <stdlib.h>

enum { MAX_INPUTS = 16, LARGEST_TENSOR = 1 << 14, MEMORY = 8 << 20, MAX_STEPS = 512 };

/* Elements with every symbol at the smallest value that it has; a number that can't be known counts as too many. */
static bool is_small(const plan_t *plan, const shape_t *shape, const sym_value_t *values, const bool *bound) {
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        sym_value_t size = {0};
        uint32_t missing;
        if (!sym_evaluate(&plan->symbols, shape->sizes[i], values, bound, &size, &missing)) return false;
        if (!checked_mul(count, size.i, &count) || count > LARGEST_TENSOR) return false;
    }
    return true;
}

static bool steps_are_small(const plan_t *plan, const sym_value_t *values, const bool *bound) {
    if (plan->step_count > MAX_STEPS) return false;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const plan_step_t *step = &plan->steps[s];
        for (uint32_t i = 0; i < step->operand_count; i++)
            if (!is_small(plan, &step->operands[i].type.shape, values, bound)) return false;
        for (uint32_t i = 0; i < step->result_count; i++)
            if (!is_small(plan, &step->results[i].type.shape, values, bound)) return false;
    }
    return true;
}

static bool is_quick(const plan_t *plan) {
    uint32_t count = plan->symbols.symbol_count;
    sym_value_t *values = calloc(count + 1, sizeof(*values));
    bool *bound = calloc(count + 1, sizeof(*bound));
    for (uint32_t i = 0; i < count; i++) {
        const symbol_t *symbol = &plan->symbols.symbols[i];
        values[i].kind = symbol->kind;
        bound[i] = true;
        if (symbol->kind == SYM_KIND_INT && symbol->min > 0) values[i].i = symbol->min;
        if (symbol->kind == SYM_KIND_INT && symbol->max < 0) values[i].i = symbol->max;
    }
    bool result = steps_are_small(plan, values, bound);
    free(values);
    free(bound);
    return result;
}

/* An input of the smallest size that is declared, filled with small values. False: it is too large. */
static bool bind_input(const insitu_engine *engine, insitu_context *context, int32_t index, void **out_memory) {
    insitu_value_info info = {.struct_size = sizeof(info)};
    int64_t sizes[MAX_RANK], bytes;
    fuzz_expect(insitu_engine_input(engine, index, &info, NULL) == INSITU_OK, "input %d is not told", (int)index);
    bytes = info.dtype.bits / 8;
    for (int32_t d = 0; d < info.ndim; d++) {
        sizes[d] = info.sizes[d] >= 0 ? info.sizes[d] : info.min_sizes[d];
        if (!checked_mul(bytes, sizes[d], &bytes) || bytes > 8 * LARGEST_TENSOR) return false;
    }
    *out_memory = calloc(1, (size_t)bytes + (bytes == 0));
    for (int64_t i = 0; i < bytes && info.dtype.code != INSITU_CODE_BOOL; i += 7) ((uint8_t *)*out_memory)[i] = 1;
    insitu_tensor tensor = {
        .data = *out_memory, .device = {INSITU_DEVICE_CPU, 0}, .ndim = info.ndim, .dtype = info.dtype, .shape = sizes};
    return insitu_context_set_input(context, index, &tensor, NULL) == INSITU_OK;
}

static insitu_status run_twice(const insitu_engine *engine, insitu_context *context, insitu_state *state) {
    void *inputs[MAX_INPUTS] = {NULL};
    int32_t count = insitu_engine_input_count(engine);
    bool is_ready = count <= MAX_INPUTS;
    insitu_status status = INSITU_OK;
    for (int32_t i = 0; i < count && is_ready; i++) is_ready = bind_input(engine, context, i, &inputs[i]);
    for (int call = 0; call < 2 && is_ready; call++) {
        insitu_diag diag;
        insitu_diag_init(&diag);
        status = insitu_context_run(context, state, NULL, &diag);
        is_ready = fuzz_is_ok(status, &diag);
        insitu_diag_release(&diag);
        for (int32_t i = 0; i < insitu_engine_output_count(engine) && is_ready; i++) {
            insitu_tensor output;
            fuzz_expect(insitu_context_output(context, i, &output, NULL) == INSITU_OK, "output %d is missing", (int)i);
        }
    }
    for (int32_t i = 0; i < MAX_INPUTS; i++) free(inputs[i]);
    return status;
}

/* What is told by index is found by name. */
static void look_up(const insitu_engine *engine) {
    insitu_value_info info = {.struct_size = sizeof(info)};
    for (int32_t i = 0; i < insitu_engine_input_count(engine); i++) {
        fuzz_expect(insitu_engine_input(engine, i, &info, NULL) == INSITU_OK, "input %d is not told", (int)i);
        fuzz_expect(insitu_engine_find_input(engine, info.name) >= 0, "input '%s' is not found", info.name);
        fuzz_expect(insitu_engine_input_is_written(engine, info.name) == info.is_written || !info.is_written,
                    "input '%s' is written", info.name);
    }
    for (int32_t i = 0; i < insitu_engine_output_count(engine); i++) {
        fuzz_expect(insitu_engine_output(engine, i, &info, NULL) == INSITU_OK, "output %d is not told", (int)i);
        fuzz_expect(insitu_engine_find_output(engine, info.name) >= 0, "output '%s' is not found", info.name);
        insitu_engine_aliased_input(engine, info.name);
    }
    for (int32_t i = 0; i < insitu_engine_state_count(engine); i++) {
        fuzz_expect(insitu_engine_state(engine, i, &info, NULL) == INSITU_OK, "state %d is not told", (int)i);
        fuzz_expect(insitu_engine_find_state(engine, info.name) >= 0, "state '%s' is not found", info.name);
    }
    for (int32_t i = 0; i < insitu_engine_buffer_count(engine); i++) {
        const char *name;
        insitu_tensor tensor;
        fuzz_expect(insitu_engine_buffer(engine, i, &name, &tensor, NULL) == INSITU_OK, "buffer %d is not told",
                    (int)i);
    }
    for (int32_t i = 0; i < insitu_engine_report_count(engine); i++) {
        insitu_report_row row = {.struct_size = sizeof(row)};
        fuzz_expect(insitu_engine_report(engine, i, &row, NULL) == INSITU_OK, "row %d is not told", (int)i);
    }
}

static void print_engine(const insitu_engine *engine) {
    static const char *const texts[] = {"report", "plan", "values", "json"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *printed = NULL;
        insitu_status status = insitu_engine_print(engine, texts[i], &printed, NULL);
        fuzz_expect(status == INSITU_OK || status == INSITU_NOMEM, "the engine's %s is not printed", texts[i]);
        insitu_text_free(printed);
    }
}

insitu_status fuzz_run_engine(const insitu_engine *engine) {
    insitu_status status = INSITU_OK;
    fuzz_allow(MEMORY);
    look_up(engine);
    print_engine(engine);
    if (!is_quick(engine->plan)) return INSITU_OK;
    insitu_context *context;
    insitu_state *state;
    if (insitu_context_create(engine, &context, NULL) != INSITU_OK) return INSITU_OK;
    if (insitu_state_create(engine, &state, NULL) == INSITU_OK) {
        status = run_twice(engine, context, state);
        insitu_state_destroy(state);
    }
    insitu_context_destroy(context);
    return status;
}
