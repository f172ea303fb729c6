/* Memory for unbound outputs that is allocated once, for their largest sizes, so that each result keeps one address. */
#include "runtime/runtime_int.h"

/* The most bytes that the output's memory can need; false: there is no limit. */
static bool most_bytes(const plan_t *plan, const plan_output_t *output, int64_t *out_bytes) {
    const sym_pool_t *pool = &plan->symbols;
    int64_t lowest, highest, elements = dtype_size(output->operand.type.dtype);
    *out_bytes = sizeof(int64_t);
    if (output->kind != OUTPUT_TENSOR) return true;
    for (uint32_t i = 0; i < output->operand.type.shape.rank; i++) {
        sym_range(pool, output->operand.type.shape.sizes[i], &lowest, &highest);
        if (highest == INT64_MAX || !checked_mul(elements, highest < 0 ? 0 : highest, &elements)) return false;
    }
    sym_range(pool, plan->storages[output->operand.storage].bytes, &lowest, &highest);
    *out_bytes = elements > highest ? elements : highest;
    return *out_bytes < INT64_MAX;
}

static insitu_status allocate(insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan_output_t *output = &context->engine->plan->outputs[index];
    int64_t bytes;
    if (output->kind == OUTPUT_NONE || output->alias != ALIAS_NONE) return INSITU_OK;
    if (!most_bytes(context->engine->plan, output, &bytes))
        FAIL(diag, INSITU_SHAPE, "output '%s' can't be allocated beforehand: its size has no limit", output->name);
    return memory_grow(context->device, &context->outputs[index].memory, (size_t)bytes, diag);
}

static void release(insitu_context *context) {
    for (uint32_t i = 0; i < context->engine->plan->output_count; i++) {
        context->device->free(context->device, context->outputs[i].memory.data);
        context->outputs[i].memory = (growable_buffer_t){0};
    }
}

insitu_status insitu_context_preallocate_outputs(insitu_context *context, bool is_on, insitu_diag *diag) {
    if (!context) FAIL(diag, INSITU_ARG, "insitu_context_preallocate_outputs needs a context");
    if (is_on && context->engine->alias_count) {
        log_printf(1, "outputs are not allocated beforehand: '%s' is the memory of input '%s'",
                   context->engine->aliases[0].output,
                   context->engine->plan->inputs[context->engine->aliases[0].input].name);
        return INSITU_OK;
    }
    insitu_status status = INSITU_OK;
    context->has_run = false;
    if (!is_on) release(context);
    for (uint32_t i = 0; is_on && status == INSITU_OK && i < context->engine->plan->output_count; i++)
        status = allocate(context, i, diag);
    if (status != INSITU_OK) release(context);
    return status;
}
