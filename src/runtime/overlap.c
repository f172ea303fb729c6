/* Which parts of a call share memory. Two regions may meet only if neither is written, or if an output is bound to the
 * very tensor that the program says it is. */
#include "runtime/runtime_int.h"

uint32_t context_region_limit(const plan_t *plan) {
    return plan->input_count + 2 * plan->output_count + plan->state_storage_count + plan->segment_count + 1;
}

/* Where an output that is an input or a state lies. */
static const uint8_t *alias_address(const insitu_context *context, const insitu_state *state, uint32_t index) {
    const plan_t *plan = context->engine->plan;
    const plan_output_t *output = &plan->outputs[index];
    const uint8_t *start = NULL;
    if (output->alias == ALIAS_INPUT) start = context->inputs[output->alias_index].address;
    if (output->alias == ALIAS_STATE) start = state->storages[plan->states[output->alias_index].state_storage];
    return start ? start + context->outputs[index].row->layout.offset : NULL;
}

/* Where an output lies that is only known during the call is no excuse: it is not known before. */
bool output_is_its_alias(const insitu_context *context, const insitu_state *state, uint32_t index) {
    const plan_output_t *output = &context->engine->plan->outputs[index];
    const bound_tensor_t *target = &context->outputs[index].target;
    const binding_output_t *row = context->outputs[index].row;
    if (output->kind != OUTPUT_TENSOR || output->alias == ALIAS_NONE || !target->is_bound || !row) return false;
    const layout_t *layout = &row->layout;
    if (layout->bytes == 0) return true;
    return target->address == alias_address(context, state, index) &&
           same_strides(layout->rank, layout->sizes, target->strides, layout->strides);
}

static memory_region_t tensor_region(const bound_tensor_t *tensor, const char *what, const char *name, dtype_t type) {
    return (memory_region_t){.start = tensor->address,
                             .size = tensor->bytes,
                             .what = what,
                             .name = name,
                             .tensor = tensor,
                             .state_storage = NONE,
                             .item = dtype_size(type)};
}

static memory_region_t written_region(const void *start, size_t size, const char *what) {
    return (memory_region_t){
        .start = start, .size = size, .what = what, .name = "", .is_written = true, .state_storage = NONE};
}

static uint32_t list_regions(insitu_context *context, const insitu_state *state) {
    static const char outputs[] = "the context's memory for outputs";
    const plan_t *plan = context->engine->plan;
    memory_region_t *regions = context->regions;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const plan_input_t *input = &plan->inputs[i];
        if (!context->inputs[i].is_bound) continue;
        regions[count] = tensor_region(&context->inputs[i], "input", input->name, input->type.dtype);
        regions[count++].is_written = input->is_written;
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const plan_output_t *output = &plan->outputs[i];
        const bound_tensor_t *target = &context->outputs[i].target;
        if (!target->is_bound || output_is_its_alias(context, state, i)) continue;
        regions[count] = tensor_region(target, "output", output->name, output_dtype(plan, output));
        regions[count++].is_written = true;
    }
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        regions[count] = written_region(state->storages[i], state->bytes[i], "state");
        regions[count].state_storage = i;
        regions[count++].is_written = context->state_is_written[i];
    }
    for (uint32_t i = 0; i < plan->segment_count; i++) {
        const growable_buffer_t *memory = &context->segments[i].intermediate;
        regions[count++] = written_region(memory->data, memory->size, "the context's memory");
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const growable_buffer_t *memory = &context->outputs[i].memory;
        if (memory->data) regions[count++] = written_region(memory->data, memory->size, outputs);
    }
    regions[count++] = written_region(context->output.data, context->output.size, outputs);
    return count;
}

static element_set_t elements_of(const memory_region_t *region) {
    const bound_tensor_t *tensor = region->tensor;
    return (element_set_t){(uintptr_t)tensor->address, tensor->rank, tensor->sizes, tensor->strides, region->item};
}

static bool meet(const memory_region_t *a, const memory_region_t *b) {
    if (a->size == 0 || b->size == 0) return false;
    uintptr_t first = (uintptr_t)a->start, second = (uintptr_t)b->start;
    if (first < second ? second - first >= a->size : first - second >= b->size) return false;
    if (!a->tensor || !b->tensor) return true;
    element_set_t one = elements_of(a), other = elements_of(b);
    return elements_meet(&one, &other);
}

/* "input 'x'", "state 'keys', 'values'": those that lie in one block. */
static void name_region(const plan_t *plan, const memory_region_t *region, text_t *out) {
    text_printf(out, "%s", region->what);
    if (region->name[0]) text_printf(out, " '%s'", region->name);
    const char *between = " ";
    for (uint32_t i = 0; i < plan->state_count && region->state_storage != NONE; i++) {
        if (plan->states[i].state_storage != region->state_storage) continue;
        text_printf(out, "%s'%s'", between, plan->states[i].name);
        between = ", ";
    }
}

static insitu_status refuse(const plan_t *plan, const memory_region_t *a, const memory_region_t *b, insitu_diag *diag) {
    text_t sentence;
    text_init(&sentence);
    name_region(plan, a, &sentence);
    text_printf(&sentence, " shares memory with ");
    name_region(plan, b, &sentence);
    insitu_status status = text_status(&sentence, diag);
    if (status == INSITU_OK) status = diag_set(diag, INSITU_ARG, "%s, and one of them is written", sentence.data);
    text_release(&sentence);
    return status;
}

insitu_status context_check_overlap(insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    uint32_t count = list_regions(context, state);
    const memory_region_t *regions = context->regions;
    for (uint32_t i = 0; i < count; i++) {
        if (!regions[i].is_written) continue;
        for (uint32_t j = 0; j < count; j++) {
            if (i == j || (regions[j].is_written && j < i)) continue;
            if (meet(&regions[i], &regions[j]))
                return refuse(context->engine->plan, &regions[i < j ? i : j], &regions[i < j ? j : i], diag);
        }
    }
    return INSITU_OK;
}
