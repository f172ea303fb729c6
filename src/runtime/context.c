/* Contexts: life cycle, what the caller binds, and what it asks for. The call itself is run.c. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

/* The last item step whose value the output needs. */
static uint32_t item_of_output(const plan_t *plan, const plan_output_t *output) {
    const tensor_type_t *type = &output->operand.type;
    const uint32_t *known = plan->facts.ready;
    if (output->kind == OUTPUT_NONE) return NONE;
    if (output->kind == OUTPUT_NUMBER) return known[output->value.id] - 1;
    uint32_t ready = known[plan->storages[output->operand.storage].bytes.id];
    const uint32_t offset = known[type->offset.id];
    if (offset > ready) ready = offset;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        if (known[type->shape.sizes[i].id] > ready) ready = known[type->shape.sizes[i].id];
        if (known[type->strides[i].id] > ready) ready = known[type->strides[i].id];
    }
    return ready - 1; /* NONE from 0 */
}

static insitu_status fill(insitu_context *context) {
    const plan_t *plan = context->engine->plan;
    arena_t *arena = &context->arena;
    TRY(arena_array(arena, plan->input_count, sizeof(*context->inputs), &context->inputs));
    TRY(arena_array(arena, plan->output_count, sizeof(*context->outputs), &context->outputs));
    TRY(arena_array(arena, plan->segment_count, sizeof(*context->segments), &context->segments));
    TRY(arena_array(arena, plan->segment_count, sizeof(*context->bounds), &context->bounds));
    TRY(arena_array(arena, plan->symbols.symbol_count, sizeof(*context->values), &context->values));
    TRY(arena_array(arena, plan->symbols.symbol_count, sizeof(*context->known), &context->known));
    TRY(arena_array(arena, plan->symbols.symbol_count, sizeof(*context->fixed), &context->fixed));
    TRY(arena_array(arena, plan->storage_count, sizeof(*context->bases), &context->bases));
    TRY(arena_array(arena, plan->state_storage_count, sizeof(bool), &context->state_is_written));
    TRY(arena_array(arena, context_region_limit(plan), sizeof(*context->regions), &context->regions));
    for (uint32_t i = 0; i < plan->facts.write_count; i++) {
        const plan_write_t *write = &plan->facts.writes[i];
        context->state_is_written[plan->storages[plan->steps[write->step].results[write->result].storage].index] = true;
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        context->outputs[i].item = item_of_output(plan, &plan->outputs[i]);
        context->outputs[i].storage_item = NONE;
    }
    for (uint32_t i = 0; i < plan->storage_count; i++)
        if (plan->storages[i].kind == STORAGE_OUTPUT)
            context->outputs[plan->storages[i].index].storage_item = plan->facts.ready[plan->storages[i].bytes.id] - 1;
    return INSITU_OK;
}

insitu_status insitu_context_create(const insitu_engine *engine, insitu_context **out_context, insitu_diag *diag) {
    if (out_context) *out_context = NULL;
    if (!engine || !out_context) FAIL(diag, INSITU_ARG, "insitu_context_create needs an engine and out_context");
    insitu_context *context = memory_alloc(sizeof(*context));
    if (!context) FAIL(diag, INSITU_NOMEM, "out of memory for a context");
    memset(context, 0, sizeof(*context));
    context->engine = engine;
    context->device = engine->device;
    context->thread_limit = context->device->thread_limit(context->device);
    arena_init(&context->arena);
    insitu_status status = fill(context);
    if (status == INSITU_OK) status = engine_place_weights(engine, diag);
    if (status == INSITU_OK && context->device->is_async)
        status = context->device->fault_create(context->device, &context->own_fault, diag);
    if (status == INSITU_OK) status = context_prebind(context);
    if (status != INSITU_OK) {
        insitu_context_destroy(context);
        if (status == INSITU_NOMEM) FAIL(diag, status, "out of memory for a context");
        return diag_complete(diag, status);
    }
    *out_context = context;
    return INSITU_OK;
}

/* A device that fails here fails the next call, too. */
void context_await(const insitu_context *context) {
    const device_t *device = context->device;
    if (device->is_async && device->synchronize(device, context->stream, NULL) != INSITU_OK)
        log_printf(1, "the device failed while it was waited for");
}

void insitu_context_destroy(insitu_context *context) {
    if (!context) return;
    const plan_t *plan = context->engine->plan;
    const device_t *device = context->device;
    context_await(context);
    for (uint32_t i = 0; context->segments && i < plan->segment_count; i++) {
        context_segment_t *segment = &context->segments[i];
        for (uint32_t b = 0; b < segment->binding_count; b++) binding_destroy(context, segment->bindings[b]);
        device->free(device, segment->intermediate.data);
    }
    for (uint32_t i = 0; context->outputs && i < plan->output_count; i++)
        device->free(device, context->outputs[i].memory.data);
    device->free(device, context->workspace.data);
    device->free(device, context->output.data);
    device->event_free(device, context->event);
    if (context->own_fault) device->fault_free(device, context->own_fault);
    arena_release(&context->arena);
    memory_free(context);
}

/* ---- binding tensors ---- */

/* Sizes against what is known before the other tensors are: constants, and ranges. */
static insitu_status check_sizes(const insitu_context *context, const expected_tensor_t *expected,
                                 const insitu_tensor *tensor, insitu_diag *diag) {
    const sym_pool_t *pool = &context->engine->plan->symbols;
    if (tensor->ndim < 0 || (uint32_t)tensor->ndim != expected->shape->rank)
        FAIL(diag, INSITU_SHAPE, "%s '%s' has %d dimensions where %u were expected", expected->what, expected->name,
             (int)tensor->ndim, expected->shape->rank);
    if (tensor->ndim && !tensor->shape) FAIL(diag, INSITU_ARG, "%s '%s' has no shape", expected->what, expected->name);
    for (int32_t dim = 0; dim < tensor->ndim; dim++) {
        int64_t got = tensor->shape[dim], constant, lowest, highest;
        if (sym_constant(pool, expected->shape->sizes[dim], &constant)) {
            if (got == constant) continue;
            FAIL(diag, INSITU_SHAPE, "%s '%s' has size %" PRId64 " in dimension %d where %" PRId64 " was expected",
                 expected->what, expected->name, got, (int)dim, constant);
        }
        sym_range(pool, expected->shape->sizes[dim], &lowest, &highest);
        if (lowest < 0) lowest = 0;
        if (got >= lowest && got <= highest) continue;
        if (highest == INT64_MAX)
            FAIL(diag, INSITU_SHAPE,
                 "%s '%s' has size %" PRId64 " in dimension %d where at least %" PRId64 " is allowed", expected->what,
                 expected->name, got, (int)dim, lowest);
        FAIL(diag, INSITU_SHAPE,
             "%s '%s' has size %" PRId64 " in dimension %d where from %" PRId64 " to %" PRId64 " is allowed",
             expected->what, expected->name, got, (int)dim, lowest, highest);
    }
    return INSITU_OK;
}

/* Strides that follow from the input's own sizes; any other is checked when the call knows the other inputs. */
static insitu_status check_early_strides(insitu_context *context, uint32_t index, const bound_tensor_t *given,
                                         insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    int64_t expected[MAX_RANK];
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol_t *source = &plan->symbol_sources[i];
        context->known[i] = source->source == SYMBOL_INPUT_SIZE && source->input == index &&
                            sym_symbol_index(&plan->symbols, plan->inputs[index].type.shape.sizes[source->dim]) == i;
        if (context->known[i]) context->values[i] = (sym_value_t){.kind = SYM_KIND_INT, .i = given->sizes[source->dim]};
    }
    for (uint32_t i = 0; i < given->rank; i++) {
        sym_value_t stride = {0};
        uint32_t missing;
        bool is_known = sym_evaluate(&plan->symbols, plan->inputs[index].type.strides[i], context->values,
                                     context->known, &stride, &missing);
        expected[i] = is_known ? stride.i : given->strides[i];
    }
    return check_written_strides(plan->inputs[index].name, given, expected, diag);
}

insitu_status insitu_context_set_input(insitu_context *context, int32_t index, const insitu_tensor *tensor,
                                       insitu_diag *diag) {
    if (!context || !tensor) FAIL(diag, INSITU_ARG, "insitu_context_set_input needs a context and a tensor");
    const plan_t *plan = context->engine->plan;
    if (index < 0 || (uint32_t)index >= plan->input_count)
        FAIL(diag, INSITU_ARG, "input %d does not exist: the engine has %u", (int)index, plan->input_count);
    const plan_input_t *input = &plan->inputs[index];
    if (input->is_none) return INSITU_OK;
    static const shape_t no_sizes = {0};
    expected_tensor_t expected = {.what = "input",
                                  .device = context->device,
                                  .may_be_host = true,
                                  .name = input->name,
                                  .dtype = input->type.dtype,
                                  .shape = input->is_scalar ? &no_sizes : &input->type.shape};
    TRY(expect_dtype(&expected, tensor, diag));
    TRY(check_sizes(context, &expected, tensor, diag));
    bound_tensor_t read = {0};
    TRY(tensor_read(&expected, tensor, &read, diag));
    if (input->is_written) TRY(check_early_strides(context, (uint32_t)index, &read, diag));
    context->inputs[index] = read;
    return INSITU_OK;
}

dtype_t output_dtype(const plan_t *plan, const plan_output_t *output) {
    if (output->kind != OUTPUT_NUMBER) return output->operand.type.dtype;
    switch (sym_kind_of(&plan->symbols, output->value)) {
    case SYM_KIND_FLOAT: return DTYPE_F64;
    case SYM_KIND_BOOL: return DTYPE_BOOL;
    case SYM_KIND_INT: break;
    }
    return DTYPE_I64;
}

insitu_status insitu_context_set_output(insitu_context *context, int32_t index, const insitu_tensor *tensor,
                                        insitu_diag *diag) {
    if (!context) FAIL(diag, INSITU_ARG, "insitu_context_set_output needs a context");
    const plan_t *plan = context->engine->plan;
    if (index < 0 || (uint32_t)index >= plan->output_count)
        FAIL(diag, INSITU_ARG, "output %d does not exist: the engine has %u", (int)index, plan->output_count);
    const plan_output_t *output = &plan->outputs[index];
    bound_tensor_t *target = &context->outputs[index].target;
    if (!tensor) {
        target->is_bound = false;
        return INSITU_OK;
    }
    if (output->kind == OUTPUT_NONE) FAIL(diag, INSITU_ARG, "output '%s' is None: it takes no memory", output->name);
    static const shape_t no_sizes = {0};
    bool is_number = output->kind == OUTPUT_NUMBER;
    expected_tensor_t expected = {.what = "output",
                                  .device = context->device,
                                  .may_be_host = true,
                                  .name = output->name,
                                  .dtype = output_dtype(plan, output),
                                  .shape = is_number ? &no_sizes : &output->operand.type.shape};
    bound_tensor_t read = {0};
    TRY(expect_dtype(&expected, tensor, diag));
    TRY(check_sizes(context, &expected, tensor, diag));
    TRY(tensor_read(&expected, tensor, &read, diag));
    for (uint32_t i = 0; i < read.rank; i++)
        if (read.sizes[i] > 1 && read.strides[i] == 0)
            FAIL(diag, INSITU_SHAPE, "output '%s' has stride 0 in dimension %u: its elements would share memory",
                 output->name, i);
    *target = read;
    return INSITU_OK;
}

/* ---- asking ---- */

insitu_status insitu_context_output_shape(insitu_context *context, int32_t index, int32_t *out_ndim, int64_t *out_sizes,
                                          insitu_diag *diag) {
    if (out_ndim) *out_ndim = 0;
    if (!context || !out_ndim || !out_sizes)
        FAIL(diag, INSITU_ARG, "insitu_context_output_shape needs a context, out_ndim and out_sizes");
    const plan_t *plan = context->engine->plan;
    if (index < 0 || (uint32_t)index >= plan->output_count)
        FAIL(diag, INSITU_ARG, "output %d does not exist: the engine has %u", (int)index, plan->output_count);
    const plan_output_t *output = &plan->outputs[index];
    if (output->kind != OUTPUT_TENSOR) return INSITU_OK;
    TRY(context_read_symbols(context, NULL, diag));
    context_take_state_sizes(context);
    const shape_t *shape = &output->operand.type.shape;
    for (uint32_t i = 0; i < shape->rank; i++) {
        sym_value_t value = {0};
        uint32_t missing = NONE;
        if (sym_evaluate(&plan->symbols, shape->sizes[i], context->values, context->known, &value, &missing)) {
            out_sizes[i] = value.i;
            continue;
        }
        if (missing != NONE && plan->symbol_sources[missing].source == SYMBOL_STEP)
            FAIL(diag, INSITU_SHAPE, "size %u of output '%s' is only known during the call: '%s' decides it", i,
                 output->name, plan->steps[plan->symbol_sources[missing].step].name);
        if (missing != NONE && plan->symbol_sources[missing].source == SYMBOL_STATE_SIZE)
            FAIL(diag, INSITU_SHAPE,
                 "size %u of output '%s' is decided by the size of state '%s', which no bound input has", i,
                 output->name, plan->states[plan->symbol_sources[missing].input].name);
        if (missing != NONE && plan->symbol_sources[missing].source != SYMBOL_UNUSED)
            FAIL(diag, INSITU_ARG, "the sizes of output '%s' depend on input '%s', which is not bound", output->name,
                 plan->inputs[plan->symbol_sources[missing].input].name);
        FAIL(diag, INSITU_SHAPE, "size %u of output '%s' can't be evaluated with these inputs", i, output->name);
    }
    *out_ndim = (int32_t)shape->rank;
    return INSITU_OK;
}

insitu_status insitu_context_output(const insitu_context *context, int32_t index, insitu_tensor *out_tensor,
                                    insitu_diag *diag) {
    if (out_tensor) *out_tensor = (insitu_tensor){0};
    if (!context || !out_tensor) FAIL(diag, INSITU_ARG, "insitu_context_output needs a context and out_tensor");
    if (index < 0 || (uint32_t)index >= context->engine->plan->output_count)
        FAIL(diag, INSITU_ARG, "output %d does not exist: the engine has %u", (int)index,
             context->engine->plan->output_count);
    if (!context->has_run) FAIL(diag, INSITU_ARG, "the context has no outputs: its last call failed, or none was made");
    *out_tensor = context->outputs[index].result;
    return INSITU_OK;
}

insitu_status insitu_context_read_output(insitu_context *context, int32_t index, void *data, size_t size,
                                         insitu_diag *diag) {
    insitu_tensor tensor;
    if (!data && size) FAIL(diag, INSITU_ARG, "insitu_context_read_output needs data");
    TRY(insitu_context_output(context, index, &tensor, diag));
    const size_t expected = tensor_bytes(&tensor);
    if (size != expected)
        FAIL(diag, INSITU_SHAPE, "output '%s' has %zu bytes where %zu were given",
             context->engine->plan->outputs[index].name, expected, size);
    context_await(context);
    return size ? tensor_gather(context->device, &tensor, data, diag) : INSITU_OK;
}

insitu_status insitu_context_stats(const insitu_context *context, insitu_run_stats *stats, insitu_diag *diag) {
    if (!context || !stats || stats->struct_size < sizeof(size_t))
        FAIL(diag, INSITU_ARG, "insitu_context_stats needs a context and stats with a struct_size");
    if (!context->has_run)
        FAIL(diag, INSITU_ARG, "the context has no counters: its last call failed, or none was made");
    public_copy(stats, stats->struct_size, &context->stats, sizeof(*stats));
    return INSITU_OK;
}
