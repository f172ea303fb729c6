/* Symbols get their values from the bound inputs; for each set of values a binding holds all that follows from it:
 * checked sizes, the evaluated plan, and what the backend prepared. At most MAX_SYMBOL_BINDINGS are kept. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

/* ---- symbols ---- */

static sym_value read_number(const bound_tensor *tensor, dtype type) {
    sym_value value = {.kind = SYM_KIND_INT};
    if (type == DTYPE_F64) {
        value.kind = SYM_KIND_FLOAT;
        memcpy(&value.f, tensor->address, sizeof(value.f));
    } else if (type == DTYPE_BOOL) {
        value.kind = SYM_KIND_BOOL;
        value.i = *tensor->address != 0;
    } else {
        memcpy(&value.i, tensor->address, sizeof(value.i));
    }
    return value;
}

static insitu_status check_range(const insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    const symbol *symbol = &plan->symbols.symbols[index];
    const plan_symbol *source = &plan->symbol_sources[index];
    int64_t value = context->values[index].i;
    if (symbol->kind != SYM_KIND_INT || (value >= symbol->min && value <= symbol->max)) return INSITU_OK;
    text range;
    text_init(&range);
    if (symbol->min != INT64_MIN && symbol->max != INT64_MAX)
        text_printf(&range, "from %" PRId64 " to %" PRId64, symbol->min, symbol->max);
    else if (symbol->min != INT64_MIN)
        text_printf(&range, "at least %" PRId64, symbol->min);
    else
        text_printf(&range, "at most %" PRId64, symbol->max);
    const char *name = plan->inputs[source->input].name, *words = range.data ? range.data : "another range";
    insitu_status status;
    if (source->source == SYMBOL_INPUT_SIZE)
        status = diag_set(diag, INSITU_SHAPE, "input '%s' has size %" PRId64 " in dimension %u where %s is allowed",
                          name, value, source->dim, words);
    else
        status = diag_set(diag, INSITU_SHAPE, "input '%s' is %" PRId64 " where %s is allowed", name, value, words);
    text_release(&range);
    return status;
}

insitu_status context_read_symbols(insitu_context *context, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol *source = &plan->symbol_sources[i];
        bool is_given = source->source == SYMBOL_INPUT_SIZE || source->source == SYMBOL_INPUT_VALUE;
        context->known[i] = is_given && context->inputs[source->input].is_bound;
        if (!context->known[i]) continue;
        const bound_tensor *input = &context->inputs[source->input];
        if (source->source == SYMBOL_INPUT_SIZE)
            context->values[i] = (sym_value){.kind = SYM_KIND_INT, .i = input->sizes[source->dim]};
        else
            context->values[i] = read_number(input, plan->inputs[source->input].type.dtype);
        TRY(check_range(context, i, diag));
    }
    return INSITU_OK;
}

static bool same_values(const plan *plan, const sym_value *a, const sym_value *b) {
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        if (plan->symbol_sources[i].source == SYMBOL_UNUSED) continue;
        if (a[i].kind == SYM_KIND_FLOAT ? memcmp(&a[i].f, &b[i].f, sizeof(a[i].f)) != 0 : a[i].i != b[i].i)
            return false;
    }
    return true;
}

/* ---- inputs ---- */

static insitu_status wrong_size(const plan *plan, const plan_input *input, uint32_t dim, int64_t got, int64_t expected,
                                insitu_diag *diag) {
    sym size = input->type.shape.sizes[dim];
    int64_t constant;
    if (sym_constant(&plan->symbols, size, &constant))
        FAIL(diag, INSITU_SHAPE, "input '%s' has size %" PRId64 " in dimension %u where %" PRId64 " was expected",
             input->name, got, dim, expected);
    text printed;
    text_init(&printed);
    sym_print(&plan->symbols, size, &printed);
    insitu_status status = diag_set(
        diag, INSITU_SHAPE, "input '%s' has size %" PRId64 " in dimension %u where %s = %" PRId64 " was expected",
        input->name, got, dim, printed.data ? printed.data : "?", expected);
    text_release(&printed);
    return status;
}

/* A tensor that the program writes keeps the strides that it was compiled for; a number has the value of its symbol. */
static insitu_status check_input(const insitu_context *context, const binding *binding, uint32_t index,
                                 insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    const plan_input *input = &plan->inputs[index];
    const bound_tensor *given = &context->inputs[index];
    const layout *expected = &binding->inputs[index].layout;
    if (input->is_none || input->is_scalar) return INSITU_OK;
    for (uint32_t dim = 0; dim < expected->rank; dim++)
        if (given->sizes[dim] != expected->sizes[dim])
            return wrong_size(plan, input, dim, given->sizes[dim], expected->sizes[dim], diag);
    if (input->is_written && !same_strides(expected->rank, expected->sizes, given->strides, expected->strides))
        FAIL(diag, INSITU_SHAPE,
             "input '%s' is written by the program, so its strides must be those that it was exported with",
             input->name);
    return INSITU_OK;
}

static insitu_status check_number(const insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    const plan_input *input = &plan->inputs[index];
    if (!input->is_scalar) return INSITU_OK;
    sym_value given = read_number(&context->inputs[index], input->type.dtype), expected = {0};
    uint32_t missing;
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

/* ---- making a binding ---- */

static insitu_status evaluate_int(const insitu_context *context, sym expression, int64_t *out_value,
                                  insitu_diag *diag) {
    sym_value value = {0};
    uint32_t missing;
    *out_value = 0;
    if (!sym_evaluate(&context->engine->plan->symbols, expression, context->values, context->known, &value, &missing))
        FAIL(diag, INSITU_SHAPE, "a size or a count of bytes can't be evaluated with these inputs");
    *out_value = value.i;
    return INSITU_OK;
}

static insitu_status evaluate_layout(const insitu_context *context, const tensor_type *type, const char *what,
                                     const char *name, layout *out_layout, insitu_diag *diag) {
    int64_t offset, count = 1;
    out_layout->dtype = type->dtype;
    out_layout->rank = type->shape.rank;
    TRY(evaluate_int(context, type->offset, &offset, diag));
    bool is_good = true;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        TRY(evaluate_int(context, type->shape.sizes[i], &out_layout->sizes[i], diag));
        TRY(evaluate_int(context, type->strides[i], &out_layout->strides[i], diag));
        is_good = is_good && checked_mul(count, out_layout->sizes[i], &count);
    }
    is_good = is_good &&
              extent_bytes(type->dtype, type->shape.rank, out_layout->sizes, out_layout->strides, offset,
                           &out_layout->extent) &&
              checked_size_mul((size_t)count, dtype_size(type->dtype), &out_layout->bytes);
    if (!is_good) FAIL(diag, INSITU_SHAPE, "%s '%s' would have a negative or too large size", what, name);
    out_layout->offset = out_layout->extent ? (size_t)offset * dtype_size(type->dtype) : 0;
    return INSITU_OK;
}

static insitu_status bind_inputs(const insitu_context *context, binding *binding, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    TRY(arena_array(&binding->arena, plan->input_count, sizeof(*binding->inputs), &binding->inputs));
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const plan_input *input = &plan->inputs[i];
        if (input->is_none || input->is_scalar) continue;
        TRY(evaluate_layout(context, &input->type, "input", input->name, &binding->inputs[i].layout, diag));
    }
    return INSITU_OK;
}

static insitu_status check_asserts(const insitu_context *context, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->assert_count; i++) {
        const plan_assert *assertion = &plan->asserts[i];
        sym_value value = {0};
        uint32_t missing;
        bool has_value =
            sym_evaluate(&plan->symbols, assertion->condition, context->values, context->known, &value, &missing);
        if (has_value && (value.kind == SYM_KIND_FLOAT ? value.f != 0 : value.i != 0)) continue;
        bool has_source = assertion->source[0] != 0;
        FAIL(diag, INSITU_ASSERT, "an assertion of the program failed: %s%s%s%s", assertion->message,
             has_source ? " (" : "", assertion->source, has_source ? ")" : "");
    }
    return INSITU_OK;
}

static insitu_status place_output(binding *binding, size_t bytes, size_t *out_place) {
    size_t place = binding->output_bytes, rounded;
    if (!checked_size_add(bytes, ARENA_ALIGNMENT, &rounded)) return INSITU_NOMEM;
    rounded -= bytes % ARENA_ALIGNMENT;
    *out_place = place;
    return checked_size_add(place, rounded, &binding->output_bytes) ? INSITU_OK : INSITU_NOMEM;
}

static insitu_status bind_outputs(const insitu_context *context, binding *binding, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    TRY(arena_array(&binding->arena, plan->output_count, sizeof(*binding->outputs), &binding->outputs));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const plan_output *output = &plan->outputs[i];
        binding_output *row = &binding->outputs[i];
        size_t bytes = sizeof(row->number.i);
        uint32_t missing;
        if (output->kind == OUTPUT_NUMBER &&
            !sym_evaluate(&plan->symbols, output->value, context->values, context->known, &row->number, &missing))
            FAIL(diag, INSITU_SHAPE, "the number '%s' can't be evaluated with these inputs", output->name);
        if (output->kind == OUTPUT_TENSOR) {
            uint32_t storage = output->operand.storage;
            TRY(evaluate_layout(context, &output->operand.type, "output", output->name, &row->layout, diag));
            if (row->layout.extent > binding->bound.storage_bytes[storage])
                FAIL(diag, INSITU_FORMAT, "output '%s' reaches beyond its storage", output->name);
            const plan_storage *own = &plan->storages[storage];
            bool is_own = own->kind == STORAGE_OUTPUT && own->index == i;
            bytes = is_own ? binding->bound.storage_bytes[storage] : row->layout.bytes;
        }
        TRY(place_output(binding, bytes, &row->place));
    }
    return INSITU_OK;
}

/* An input's storage holds the tensor's elements, from its first on, and no more. */
static insitu_status check_input_storages(const insitu_context *context, const binding *binding, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        uint32_t storage = plan->inputs[i].storage;
        if (storage != NONE && binding->bound.storage_bytes[storage] > binding->inputs[i].layout.extent)
            FAIL(diag, INSITU_FORMAT, "input '%s' is used beyond its last element", plan->inputs[i].name);
    }
    return INSITU_OK;
}

static insitu_status sum_counters(const insitu_context *context, binding *binding, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    insitu_run_stats *totals = &binding->totals;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step *step = &plan->steps[i];
        const struct {
            sym value;
            int64_t *total;
        } counters[] = {{step->state_written, &totals->state_bytes_written},
                        {step->state_moved, &totals->state_bytes_moved},
                        {step->state_copied, &totals->state_bytes_copied},
                        {step->weight_read, &totals->weight_bytes_read},
                        {step->output_copied, &totals->output_bytes_copied}};
        for (size_t c = 0; c < COUNT_OF(counters); c++) {
            int64_t bytes;
            TRY(evaluate_int(context, counters[c].value, &bytes, diag));
            if (!checked_add(*counters[c].total, bytes, counters[c].total))
                FAIL(diag, INSITU_SHAPE, "the bytes that '%s' counts are too many", step->name);
        }
    }
    totals->arena_bytes = (int64_t)binding->arena_bytes;
    return INSITU_OK;
}

static insitu_status fill_binding(insitu_context *context, binding *binding, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    TRY(arena_copy(&binding->arena, context->values, plan->symbols.symbol_count * sizeof(sym_value), &binding->values));
    TRY(bind_inputs(context, binding, diag));
    for (uint32_t i = 0; i < plan->input_count; i++) TRY(check_input(context, binding, i, diag));
    TRY(check_asserts(context, diag));
    TRY(plan_bind(plan, 0, NULL, context->values, context->known, &binding->arena, &binding->bound,
                  &binding->arena_bytes, diag));
    TRY(check_input_storages(context, binding, diag));
    TRY(bind_outputs(context, binding, diag));
    TRY(sum_counters(context, binding, diag));
    return context->backend->prepare(&binding->bound, &binding->arena, &binding->prepared, &binding->workspace_bytes,
                                     diag);
}

void binding_destroy(const insitu_context *context, binding *binding) {
    if (!binding) return;
    if (binding->inputs)
        for (uint32_t i = 0; i < context->engine->plan->input_count; i++) memory_free(binding->inputs[i].staged);
    if (context->backend->release) context->backend->release(binding->prepared);
    arena_release(&binding->arena);
    memory_free(binding);
}

/* A free place among the bindings, or that of the least recently used one. */
static uint32_t find_place(insitu_context *context) {
    if (context->binding_count < MAX_SYMBOL_BINDINGS) return context->binding_count++;
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < context->binding_count; i++)
        if (context->bindings[i]->last_used < context->bindings[oldest]->last_used) oldest = i;
    binding_destroy(context, context->bindings[oldest]);
    return oldest;
}

static insitu_status make_binding(insitu_context *context, binding **out_binding, insitu_diag *diag) {
    binding *binding = memory_alloc(sizeof(*binding));
    if (!binding) return INSITU_NOMEM;
    memset(binding, 0, sizeof(*binding));
    arena_init(&binding->arena);
    insitu_status status = fill_binding(context, binding, diag);
    if (status != INSITU_OK) {
        binding_destroy(context, binding);
        return status;
    }
    context->bindings[find_place(context)] = binding;
    *out_binding = binding;
    return INSITU_OK;
}

insitu_status context_find_binding(insitu_context *context, binding **out_binding, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    *out_binding = NULL;
    for (uint32_t i = 0; i < plan->input_count; i++) TRY(check_number(context, i, diag));
    for (uint32_t i = 0; i < context->binding_count && !*out_binding; i++)
        if (same_values(plan, context->bindings[i]->values, context->values)) *out_binding = context->bindings[i];
    if (*out_binding)
        for (uint32_t i = 0; i < plan->input_count; i++) TRY(check_input(context, *out_binding, i, diag));
    else
        TRY(make_binding(context, out_binding, diag));
    (*out_binding)->last_used = ++context->clock;
    return INSITU_OK;
}
