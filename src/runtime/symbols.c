/* Symbols' values: read off the bound inputs before the call, and off memory at item steps; with the assertions that they
 * decide. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

/* A number of Python's: f64, bool or i64. */
static insitu_status read_number(const insitu_context *context, const bound_tensor_t *tensor, dtype_t type,
                                 sym_value_t *out_value, insitu_diag *diag) {
    const device_t *device = tensor->is_host ? device_cpu() : context->device;
    bool is_number;
    *out_value = (sym_value_t){0};
    TRY(read_element(device, context->stream, type, tensor->address, out_value, &is_number, diag));
    if (type == DTYPE_BOOL) out_value->kind = SYM_KIND_BOOL;
    return INSITU_OK;
}

static bool is_from_input(const plan_symbol_t *source) {
    return source->source == SYMBOL_INPUT_SIZE || source->source == SYMBOL_INPUT_VALUE;
}

static bool is_in_range(const symbol_t *symbol, int64_t value) {
    return symbol->kind != SYM_KIND_INT || (value >= symbol->min && value <= symbol->max);
}

void print_range(const symbol_t *symbol, char *out, size_t size) {
    if (symbol->min != INT64_MIN && symbol->max != INT64_MAX)
        (void)snprintf(out, size, "from %" PRId64 " to %" PRId64, symbol->min, symbol->max);
    else if (symbol->min != INT64_MIN)
        (void)snprintf(out, size, "at least %" PRId64, symbol->min);
    else
        (void)snprintf(out, size, "at most %" PRId64, symbol->max);
}

static insitu_status check_range(const insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const symbol_t *symbol = &plan->symbols.symbols[index];
    const plan_symbol_t *source = &plan->symbol_sources[index];
    int64_t value = context->values[index].i;
    if (is_in_range(symbol, value)) return INSITU_OK;
    char range[RANGE_TEXT];
    print_range(symbol, range, sizeof(range));
    const char *name = plan->inputs[source->input].name;
    if (source->source == SYMBOL_INPUT_SIZE)
        FAIL(diag, INSITU_SHAPE, "input '%s' has size %" PRId64 " in dimension %u where %s is allowed", name, value,
             source->dim, range);
    FAIL(diag, INSITU_SHAPE, "input '%s' is %" PRId64 " where %s is allowed", name, value, range);
}

static bool is_bare(const plan_t *plan, const plan_symbol_t *source) {
    sym_t size = plan->inputs[source->input].type.shape.sizes[source->dim];
    return sym_symbol_index(&plan->symbols, size) != NONE;
}

static insitu_status no_such_size(const insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const plan_symbol_t *source = &plan->symbol_sources[index];
    const plan_input_t *input = &plan->inputs[source->input];
    char range[RANGE_TEXT];
    text_t printed;
    text_init(&printed);
    sym_print(&plan->symbols, input->type.shape.sizes[source->dim], &printed);
    print_range(&plan->symbols.symbols[index], range, sizeof(range));
    insitu_status status = diag_set(
        diag, INSITU_SHAPE, "input '%s' has size %" PRId64 " in dimension %u, which %.200s is for no %s that is %s",
        input->name, context->inputs[source->input].sizes[source->dim], source->dim, printed.data ? printed.data : "?",
        plan->symbols.symbols[index].name, range);
    text_release(&printed);
    return status;
}

/* Symbols that sizes give, each once the others of its size are known. */
static insitu_status solve_sizes(insitu_context *context, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
            const plan_symbol_t *source = &plan->symbol_sources[i];
            bool waits = source->source == SYMBOL_INPUT_SIZE && !context->known[i];
            if (!waits || !context->inputs[source->input].is_bound) continue;
            sym_t size = plan->inputs[source->input].type.shape.sizes[source->dim];
            if (sym_unknown(&plan->symbols, size, context->known) != i) continue;
            int64_t given = context->inputs[source->input].sizes[source->dim];
            if (!sym_solve(&plan->symbols, size, i, given, context->values, context->known))
                return no_such_size(context, i, diag);
            found = true;
        }
    }
    return INSITU_OK;
}

insitu_status context_read_symbols(insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol_t *source = &plan->symbol_sources[i];
        if (source->source == SYMBOL_STATE_SIZE && state) context->values[i] = state->values[i];
        context->known[i] = is_from_input(source) ? context->inputs[source->input].is_bound
                                                  : source->source == SYMBOL_STATE_SIZE && state;
        if (source->source == SYMBOL_INPUT_SIZE && !is_bare(plan, source)) context->known[i] = false;
        if (!context->known[i] || !is_from_input(source)) continue;
        const bound_tensor_t *input = &context->inputs[source->input];
        if (source->source == SYMBOL_INPUT_SIZE)
            context->values[i] = (sym_value_t){.kind = SYM_KIND_INT, .i = input->sizes[source->dim]};
        else
            TRY(read_number(context, input, plan->inputs[source->input].type.dtype, &context->values[i], diag));
        TRY(check_range(context, i, diag));
    }
    return solve_sizes(context, diag);
}

/* The inputs with the state's size in it may not agree; then the run refuses them. */
void context_take_state_sizes(insitu_context *context) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const bound_tensor_t *input = &context->inputs[i];
        if (!input->is_bound || plan->inputs[i].is_scalar) continue;
        for (uint32_t dim = 0; dim < input->rank; dim++) {
            uint32_t symbol = sym_symbol_index(&plan->symbols, plan->inputs[i].type.shape.sizes[dim]);
            if (symbol == NONE || context->known[symbol]) continue;
            if (plan->symbol_sources[symbol].source != SYMBOL_STATE_SIZE) continue;
            context->values[symbol] = (sym_value_t){.kind = SYM_KIND_INT, .i = input->sizes[dim]};
            context->known[symbol] = true;
        }
    }
}

insitu_status context_check_number(const insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const plan_input_t *input = &plan->inputs[index];
    if (!input->is_scalar || !context->inputs[index].is_bound) return INSITU_OK;
    sym_value_t given, expected = {0};
    uint32_t missing;
    TRY(read_number(context, &context->inputs[index], input->type.dtype, &given, diag));
    if (!sym_evaluate(&plan->symbols, input->value, context->values, context->known, &expected, &missing))
        FAIL(diag, INSITU_SHAPE, "the value of input '%s' can't be evaluated", input->name);
    double a = given.kind == SYM_KIND_FLOAT ? given.f : (double)given.i;
    double b = expected.kind == SYM_KIND_FLOAT ? expected.f : (double)expected.i;
    bool both_exact = given.kind != SYM_KIND_FLOAT && expected.kind != SYM_KIND_FLOAT;
    if (both_exact ? given.i == expected.i : (a == b || (a != a && b != b))) return INSITU_OK;
    if (both_exact)
        FAIL(diag, INSITU_ARG, "input '%s' is %" PRId64 ", but the program was exported for %" PRId64, input->name,
             given.i, expected.i);
    FAIL(diag, INSITU_ARG, "input '%s' is %.17g, but the program was exported for %.17g", input->name, a, b);
}

insitu_status context_check_asserts(const insitu_context *context, uint32_t item, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    uint32_t ready = item == NONE ? 0 : item + 1;
    for (uint32_t i = 0; i < plan->assert_count; i++) {
        const sym_assert_t *assertion = &plan->asserts[i];
        if (plan->facts.ready[assertion->condition.id] != ready) continue;
        sym_value_t value = {0};
        uint32_t missing;
        bool has_value =
            sym_evaluate(&plan->symbols, assertion->condition, context->values, context->known, &value, &missing);
        if (has_value && (value.kind == SYM_KIND_FLOAT ? value.f != 0 : value.i != 0)) continue;
        bool has_source = assertion->source[0] != 0;
        if (assertion->is_bounds)
            FAIL(diag, INSITU_BOUNDS, "%s%s%s%s", assertion->message, has_source ? " (" : "", assertion->source,
                 has_source ? ")" : "");
        FAIL(diag, INSITU_ASSERT, "an assertion of the program failed: %s%s%s%s", assertion->message,
             has_source ? " (" : "", assertion->source, has_source ? ")" : "");
    }
    return INSITU_OK;
}

/* The element as a number of the symbol's kind. */
static bool convert(sym_value_t *value, sym_kind_t kind) {
    if (kind == SYM_KIND_FLOAT && value->kind != SYM_KIND_FLOAT) value->f = (double)value->i;
    if (kind != SYM_KIND_FLOAT && value->kind == SYM_KIND_FLOAT) return false;
    if (kind == SYM_KIND_BOOL) value->i = value->i != 0;
    value->kind = kind;
    return true;
}

insitu_status context_read_element(const insitu_context *context, uint32_t step, sym_value_t *out, bool *out_is_number,
                                   insitu_diag *diag) {
    const bound_plan_t *bound = &context->bounds[plan_segment_of(context->engine->plan, step)];
    const bound_operand_t *operand = &bound->steps[step - bound->first_step].operands[0];
    const uint8_t *element = (const uint8_t *)context->bases[operand->storage] + operand->offset;
    return read_element(context->device, context->stream, operand->dtype, element, out, out_is_number, diag);
}

insitu_status context_read_item(insitu_context *context, uint32_t item, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const plan_step_t *step = &plan->steps[item];
    uint32_t index = sym_symbol_index(&plan->symbols, step->attrs[layer_attr_index(LAYER_ITEM, ATTR_SYMBOL)].value);
    const symbol_t *symbol = &plan->symbols.symbols[index];
    const char *before = step->source[0] ? " (" : "", *after = step->source[0] ? ")" : "";
    sym_value_t value;
    bool is_number;
    TRY(context_read_element(context, item, &value, &is_number, diag));
    if (!is_number || !convert(&value, symbol->kind))
        FAIL(diag, INSITU_BOUNDS, "'%s'%s%s%s read a number that an int64 can't hold", step->name, before, step->source,
             after);
    if (!is_in_range(symbol, value.i)) {
        char range[RANGE_TEXT];
        print_range(symbol, range, sizeof(range));
        FAIL(diag, INSITU_BOUNDS, "'%s'%s%s%s read %" PRId64 " where %s is allowed", step->name, before, step->source,
             after, value.i, range);
    }
    context->values[index] = value;
    context->known[index] = true;
    return context_check_asserts(context, item, diag);
}
