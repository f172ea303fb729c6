/* For each set of values of the symbols that a segment's sizes may use, and each number of threads that calls have had, a
 * binding holds all that follows from them: checked sizes, the evaluated steps, and what the backend prepared. At most
 * MAX_SYMBOL_BINDINGS of each segment are kept. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

/* The symbols that the segment's sizes may use: those of inputs, and items that earlier segments have read. */
static void find_fixed(insitu_context *context, uint32_t segment) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol_t *source = &plan->symbol_sources[i];
        bool is_early = source->source == SYMBOL_STEP && source->step < plan->segments[segment].first_step;
        context->fixed[i] = context->known[i] && (source->source != SYMBOL_STEP || (is_early && source->in_sizes));
    }
}

static bool is_of_call(const insitu_context *context, const binding_t *binding) {
    const sym_value_t *a = binding->values, *b = context->values;
    if (binding->threads != context->threads) return false;
    for (uint32_t i = 0; i < context->engine->plan->symbols.symbol_count; i++) {
        if (!context->fixed[i]) continue;
        if (a[i].kind == SYM_KIND_FLOAT ? memcmp(&a[i].f, &b[i].f, sizeof(a[i].f)) != 0 : a[i].i != b[i].i)
            return false;
    }
    return true;
}

/* ---- inputs ---- */

static insitu_status wrong_size(const plan_t *plan, const plan_input_t *input, uint32_t dim, int64_t got,
                                int64_t expected, insitu_diag *diag) {
    sym_t size = input->type.shape.sizes[dim];
    int64_t constant;
    if (sym_constant(&plan->symbols, size, &constant))
        FAIL(diag, INSITU_SHAPE, "input '%s' has size %" PRId64 " in dimension %u where %" PRId64 " was expected",
             input->name, got, dim, expected);
    text_t printed;
    text_init(&printed);
    sym_print(&plan->symbols, size, &printed);
    insitu_status status = diag_set(
        diag, INSITU_SHAPE, "input '%s' has size %" PRId64 " in dimension %u where %s = %" PRId64 " was expected",
        input->name, got, dim, printed.data ? printed.data : "?", expected);
    text_release(&printed);
    return status;
}

/* A tensor that the program writes keeps the strides that it was compiled for; a number has the value of its symbol. */
static insitu_status check_input(const insitu_context *context, const binding_t *binding, uint32_t index,
                                 insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const plan_input_t *input = &plan->inputs[index];
    const bound_tensor_t *given = &context->inputs[index];
    const layout_t *expected = &binding->inputs[index].layout;
    if (input->is_none || input->is_scalar) return INSITU_OK;
    for (uint32_t dim = 0; dim < expected->rank; dim++)
        if (given->sizes[dim] != expected->sizes[dim])
            return wrong_size(plan, input, dim, given->sizes[dim], expected->sizes[dim], diag);
    return input->is_written ? check_written_strides(input->name, given, expected->strides, diag) : INSITU_OK;
}

/* ---- making a binding ---- */

insitu_status context_evaluate(const insitu_context *context, sym_t expression, int64_t *out_value, insitu_diag *diag) {
    sym_value_t value = {0};
    uint32_t missing;
    *out_value = 0;
    if (!sym_evaluate(&context->engine->plan->symbols, expression, context->values, context->known, &value, &missing))
        FAIL(diag, INSITU_SHAPE, "a size or a count of bytes can't be evaluated with these inputs");
    *out_value = value.i;
    return INSITU_OK;
}

insitu_status context_evaluate_layout(const insitu_context *context, const tensor_type_t *type, const char *what,
                                      const char *name, layout_t *out_layout, insitu_diag *diag) {
    int64_t offset, count = 1;
    out_layout->dtype = type->dtype;
    out_layout->rank = type->shape.rank;
    TRY(context_evaluate(context, type->offset, &offset, diag));
    bool is_good = true;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        TRY(context_evaluate(context, type->shape.sizes[i], &out_layout->sizes[i], diag));
        TRY(context_evaluate(context, type->strides[i], &out_layout->strides[i], diag));
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

static insitu_status bind_inputs(const insitu_context *context, binding_t *binding, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    TRY(arena_array(&binding->arena, plan->input_count, sizeof(*binding->inputs), &binding->inputs));
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const plan_input_t *input = &plan->inputs[i];
        if (input->is_none || input->is_scalar) continue;
        TRY(context_evaluate_layout(context, &input->type, "input", input->name, &binding->inputs[i].layout, diag));
    }
    return INSITU_OK;
}

static insitu_status bind_outputs(const insitu_context *context, binding_t *binding, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    TRY(arena_array(&binding->arena, plan->output_count, sizeof(*binding->outputs), &binding->outputs));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        binding_output_t *row = &binding->outputs[i];
        if (context->outputs[i].item != NONE) continue;
        TRY(context_evaluate_output(context, i, row, diag));
    }
    return INSITU_OK;
}

/* An input's storage holds the tensor's elements, from its first on, and no more. */
static insitu_status check_input_storages(const insitu_context *context, const binding_t *binding, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        uint32_t storage = plan->inputs[i].storage;
        if (storage != NONE && binding->bound.storage_bytes[storage] > binding->inputs[i].layout.extent)
            FAIL(diag, INSITU_FORMAT, "input '%s' is used beyond its last element", plan->inputs[i].name);
    }
    return INSITU_OK;
}

int64_t *stats_counter(insitu_run_stats *stats, counter_t counter) {
    static const size_t places[] = {
#define COUNTER(id, name, stat) offsetof(insitu_run_stats, stat),
#include "plan/counters.def"
#undef COUNTER
    };
    return (int64_t *)(void *)((char *)stats + places[counter]);
}

bool stats_add(insitu_run_stats *stats, counter_t counter, int64_t bytes) {
    int64_t *total = stats_counter(stats, counter);
    bool is_exact = checked_add(*total, bytes, total);
    if (!is_exact) *total = INT64_MAX;
    return is_exact;
}

static insitu_status count_step(const insitu_context *context, const plan_step_t *step, step_counts_t *out_counts,
                                insitu_diag *diag) {
    for (uint32_t c = 0; c < COUNTER_COUNT; c++)
        TRY(context_evaluate(context, step->counters[c], &out_counts->bytes[c], diag));
    return INSITU_OK;
}

static bool add_counts(insitu_run_stats *totals, const step_counts_t *counts) {
    bool is_exact = true;
    for (uint32_t c = 0; c < COUNTER_COUNT; c++) is_exact &= stats_add(totals, c, counts->bytes[c]);
    return is_exact;
}

void context_count(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end) {
    const plan_t *plan = context->engine->plan;
    const step_counts_t *counts = context->segments[segment].current->counts;
    for (uint32_t i = first; i < end; i = step_is_control(&plan->steps[i]) ? plan->steps[i].end : i + 1)
        (void)add_counts(&context->stats, &counts[i - plan->segments[segment].first_step]);
}

static insitu_status sum_counters(const insitu_context *context, uint32_t segment, binding_t *binding,
                                  insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const uint32_t first = plan->segments[segment].first_step, end = plan->segments[segment].end_step;
    uint32_t inside = first; /* up to here control steps run the steps */
    for (uint32_t i = first; i < end; i++) {
        const plan_step_t *step = &plan->steps[i];
        step_counts_t counts;
        TRY(count_step(context, step, &counts, diag));
        if (step_is_control(step) && !binding->counts)
            TRY(arena_array(&binding->arena, end - first, sizeof(*binding->counts), &binding->counts));
        if (binding->counts) binding->counts[i - first] = counts;
        if (i >= inside && !add_counts(&binding->totals, &counts))
            FAIL(diag, INSITU_SHAPE, "the bytes that '%s' counts are too many", step->name);
        if (step_is_control(step) && step->end > inside) inside = step->end;
    }
    binding->totals.arena_bytes = (int64_t)binding->arena_bytes;
    return INSITU_OK;
}

static insitu_status prepare(const insitu_context *context, uint32_t segment, binding_t *binding, insitu_diag *diag) {
    const device_t *device = context->device;
    size_t restore_bytes = 0;
    binding->threads = context->threads;
    TRY(device->prepare(device, &binding->bound, context->threads, &binding->arena, &binding->prepared,
                        &binding->workspace_bytes, diag));
    TRY(state_writes_find(&binding->bound, &binding->arena, &binding->writes));
    TRY(plan_bind_restores(context->engine->plan, segment, &binding->bound, context->values, context->fixed,
                           &binding->arena, &binding->restores, diag));
    if (binding->restores.step_count == 0) return INSITU_OK;
    TRY(device->prepare(device, &binding->restores, context->threads, &binding->arena, &binding->prepared_restores,
                        &restore_bytes, diag));
    if (restore_bytes > binding->workspace_bytes) binding->workspace_bytes = restore_bytes;
    return INSITU_OK;
}

/* Which steps one kernel runs, and memory for the rest. */
static insitu_status group(const device_t *device, uint32_t segment, binding_t *binding, insitu_diag *diag) {
    plan_group_t *groups = NULL;
    uint32_t count = 0;
    if (device->group) TRY(device->group(device, &binding->bound, &binding->arena, &groups, &count, diag));
    return plan_lay_out(&binding->bound, segment, groups, count, &binding->arena, &binding->arena_bytes, diag);
}

/* is_ahead: no input is bound yet. */
static insitu_status fill_binding(const insitu_context *context, uint32_t segment, bool is_ahead, binding_t *binding,
                                  insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    TRY(arena_copy(&binding->arena, context->values, plan->symbols.symbol_count * sizeof(sym_value_t),
                   &binding->values));
    if (segment == 0) {
        TRY(bind_inputs(context, binding, diag));
        for (uint32_t i = 0; i < plan->input_count && !is_ahead; i++) TRY(check_input(context, binding, i, diag));
        TRY(context_check_asserts(context, NONE, diag));
    }
    TRY(plan_bind(plan, segment, context->bounds, context->values, context->fixed, &binding->arena, &binding->bound,
                  diag));
    TRY(group(context->device, segment, binding, diag));
    if (segment == 0) {
        TRY(check_input_storages(context, binding, diag));
        TRY(bind_outputs(context, binding, diag));
    }
    TRY(sum_counters(context, segment, binding, diag));
    return prepare(context, segment, binding, diag);
}

void binding_destroy(const insitu_context *context, binding_t *binding) {
    if (!binding) return;
    const device_t *device = context->device;
    context_await(context);
    if (binding->inputs)
        for (uint32_t i = 0; i < context->engine->plan->input_count; i++)
            device->free(device, binding->inputs[i].staged);
    device->release(device, binding->prepared);
    device->release(device, binding->prepared_restores);
    arena_release(&binding->arena);
    memory_free(binding);
}

/* A free place among the bindings, or that of the least recently used one. */
static uint32_t find_place(insitu_context *context, context_segment_t *segment) {
    if (segment->binding_count < MAX_SYMBOL_BINDINGS) return segment->binding_count++;
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < segment->binding_count; i++)
        if (segment->bindings[i]->last_used < segment->bindings[oldest]->last_used) oldest = i;
    binding_destroy(context, segment->bindings[oldest]);
    context->bindings_dropped++;
    return oldest;
}

static insitu_status make_binding(insitu_context *context, uint32_t segment, bool is_ahead, binding_t **out_binding,
                                  insitu_diag *diag) {
    binding_t *binding = memory_alloc(sizeof(*binding));
    if (!binding) return INSITU_NOMEM;
    memset(binding, 0, sizeof(*binding));
    arena_init(&binding->arena);
    insitu_status status = fill_binding(context, segment, is_ahead, binding, diag);
    if (status != INSITU_OK) {
        binding_destroy(context, binding);
        return status;
    }
    context_segment_t *home = &context->segments[segment];
    home->bindings[find_place(context, home)] = binding;
    context->bindings_made++;
    *out_binding = binding;
    return INSITU_OK;
}

insitu_status context_prebind(insitu_context *context) {
    const plan_t *plan = context->engine->plan;
    binding_t *made;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++)
        if (plan->symbol_sources[i].source != SYMBOL_STEP && plan->symbol_sources[i].source != SYMBOL_UNUSED)
            return INSITU_OK;
    find_fixed(context, 0);
    context->threads = context->device->threads(context->device, context->thread_limit);
    return make_binding(context, 0, true, &made, NULL) == INSITU_NOMEM ? INSITU_NOMEM : INSITU_OK;
}

insitu_status context_find_binding(insitu_context *context, uint32_t segment, binding_t **out_binding,
                                   insitu_diag *diag) {
    uint32_t input_count = segment == 0 ? context->engine->plan->input_count : 0;
    const context_segment_t *home = &context->segments[segment];
    *out_binding = NULL;
    find_fixed(context, segment);
    for (uint32_t i = 0; i < input_count; i++) TRY(context_check_number(context, i, diag));
    for (uint32_t i = 0; i < home->binding_count && !*out_binding; i++)
        if (is_of_call(context, home->bindings[i])) *out_binding = home->bindings[i];
    if (*out_binding)
        for (uint32_t i = 0; i < input_count; i++) TRY(check_input(context, *out_binding, i, diag));
    else
        TRY(make_binding(context, segment, false, out_binding, diag));
    (*out_binding)->last_used = ++context->clock;
    return INSITU_OK;
}
