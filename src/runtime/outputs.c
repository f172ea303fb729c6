/* Outputs: where they are computed, and how they are handed out. One that depends on a value which the call reads gets its
 * sizes and its memory when that is known. */
#include "runtime/runtime_int.h"

/* A tensor whose storage is its own, and no input's or state's. */
static bool is_own(const plan_t *plan, uint32_t index) {
    return plan->outputs[index].kind == OUTPUT_TENSOR && plan->outputs[index].alias == ALIAS_NONE;
}

insitu_status context_evaluate_output(const insitu_context *context, uint32_t index, binding_output_t *out_row,
                                      insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const plan_output_t *output = &plan->outputs[index];
    uint32_t missing;
    out_row->bytes = sizeof(out_row->number.i);
    if (output->kind == OUTPUT_NUMBER &&
        !sym_evaluate(&plan->symbols, output->value, context->values, context->known, &out_row->number, &missing))
        FAIL(diag, INSITU_SHAPE, "the number '%s' can't be evaluated with these inputs", output->name);
    if (output->kind != OUTPUT_TENSOR) return INSITU_OK;
    int64_t bytes;
    TRY(context_evaluate_layout(context, &output->operand.type, "output", output->name, &out_row->layout, diag));
    TRY(context_evaluate(context, plan->storages[output->operand.storage].bytes, &bytes, diag));
    bool is_inside = bytes >= 0 && out_row->layout.extent <= (uint64_t)bytes;
    if (!is_inside && context->outputs[index].item != NONE)
        FAIL(diag, INSITU_BOUNDS, "output '%s' would lie outside its tensor", output->name);
    if (!is_inside) FAIL(diag, INSITU_FORMAT, "output '%s' reaches beyond its storage", output->name);
    out_row->storage_bytes = (size_t)bytes;
    out_row->bytes = output->alias == ALIAS_NONE ? out_row->storage_bytes : 0; /* else it lies in an input or a state */
    return INSITU_OK;
}

insitu_status context_check_target(const insitu_context *context, uint32_t index, insitu_diag *diag) {
    const bound_tensor_t *target = &context->outputs[index].target;
    const plan_output_t *output = &context->engine->plan->outputs[index];
    if (!target->is_bound || output->kind != OUTPUT_TENSOR) return INSITU_OK;
    const layout_t *layout = &context->outputs[index].row->layout;
    for (uint32_t dim = 0; dim < layout->rank; dim++)
        if (target->sizes[dim] != layout->sizes[dim])
            FAIL(diag, INSITU_SHAPE, "output '%s' is bound with size %lld in dimension %u where it has %lld",
                 output->name, (long long)target->sizes[dim], dim, (long long)layout->sizes[dim]);
    return INSITU_OK;
}

static uint8_t *own_memory(const insitu_context *context, uint32_t index) {
    const context_output_t *output = &context->outputs[index];
    return output->memory.data ? output->memory.data : context->output.data + output->place;
}

/* An output is computed in the caller's memory if that is laid out as the program lays it out, without holes, and this is
 * known when the memory is needed. */
static bool is_direct(const insitu_context *context, uint32_t index) {
    const bound_tensor_t *target = &context->outputs[index].target;
    const binding_output_t *row = context->outputs[index].row;
    const layout_t *layout = &row->layout;
    if (context->outputs[index].item != context->outputs[index].storage_item) return false;
    if (target->is_host && !context->device->is_host) return false;
    return target->is_bound && is_own(context->engine->plan, index) && layout->offset == 0 &&
           layout->extent == layout->bytes && row->storage_bytes == layout->bytes &&
           same_strides(layout->rank, layout->sizes, target->strides, layout->strides);
}

insitu_status context_reserve_outputs(insitu_context *context, insitu_diag *diag) {
    size_t total = 0, end;
    for (uint32_t i = 0; i < context->engine->plan->output_count; i++) {
        context_output_t *output = &context->outputs[i];
        output->place = 0;
        if (!output->row || is_direct(context, i)) continue;
        output->place = total;
        if (!checked_size_add(total, output->row->bytes, &end) || !checked_size_add(end, ARENA_ALIGNMENT - 1, &end))
            FAIL(diag, INSITU_NOMEM, "out of memory: the call's outputs are too large");
        total = end - end % ARENA_ALIGNMENT;
    }
    return memory_grow(context->device, &context->output, total, diag);
}

void *context_output_base(const insitu_context *context, uint32_t index) {
    uint8_t *address = context->outputs[index].target.address;
    return is_direct(context, index) && address ? address : own_memory(context, index);
}

/* Memory for an output's storage whose size is known before the output is. */
static insitu_status decide_storage(insitu_context *context, uint32_t index, insitu_diag *diag) {
    context_output_t *output = &context->outputs[index];
    uint32_t storage = context->engine->plan->outputs[index].operand.storage;
    int64_t bytes;
    TRY(context_evaluate(context, context->engine->plan->storages[storage].bytes, &bytes, diag));
    if (bytes < 0)
        FAIL(diag, INSITU_SHAPE, "output '%s' would have a negative size", context->engine->plan->outputs[index].name);
    TRY(memory_grow(context->device, &output->memory, (size_t)bytes, diag));
    context->bases[storage] = output->memory.data;
    return poison(context, output->memory.data, (size_t)bytes, diag);
}

static insitu_status decide_output(insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    context_output_t *output = &context->outputs[index];
    TRY(context_evaluate_output(context, index, &output->late, diag));
    output->row = &output->late;
    TRY(context_check_target(context, index, diag));
    if (!is_direct(context, index)) TRY(memory_grow(context->device, &output->memory, output->late.bytes, diag));
    if (!is_own(plan, index) || output->storage_item != output->item) return INSITU_OK;
    void *base = context_output_base(context, index);
    context->bases[plan->outputs[index].operand.storage] = base;
    return poison(context, base, output->late.storage_bytes, diag);
}

insitu_status context_resolve_outputs(insitu_context *context, uint32_t item, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const context_output_t *output = &context->outputs[i];
        if (is_own(plan, i) && output->item != output->storage_item && output->storage_item == item)
            TRY(decide_storage(context, i, diag));
        if (output->item == item && item != NONE) TRY(decide_output(context, i, diag));
    }
    return INSITU_OK;
}

/* ---- after the call ---- */

/* The caller's tensor holds what the program has left there; of one that was staged and written, since it was copied back. */
static bool is_written_where_it_lies(const insitu_context *context, uint32_t input) {
    const plan_input_t *declared = &context->engine->plan->inputs[input];
    const bound_tensor_t *given = &context->inputs[input];
    return context->bases[declared->storage] == given->address || (declared->is_written && given->is_host);
}

static void set_result(context_output_t *output, insitu_device device, dtype_t type, uint32_t rank, void *data,
                       uint64_t byte_offset) {
    output->result = (insitu_tensor){.data = data,
                                     .device = device,
                                     .ndim = (int32_t)rank,
                                     .dtype = dtype_public(type),
                                     .shape = output->sizes,
                                     .strides = output->strides,
                                     .byte_offset = byte_offset};
}

static insitu_device device_of(const insitu_context *context, const bound_tensor_t *tensor) {
    return tensor->is_host ? device_cpu()->tensor_device : context->device->tensor_device;
}

static void set_result_to_target(const insitu_context *context, context_output_t *output, dtype_t type) {
    const bound_tensor_t *target = &output->target;
    memcpy(output->sizes, target->sizes, sizeof(output->sizes));
    memcpy(output->strides, target->strides, sizeof(output->strides));
    set_result(output, device_of(context, target), type, target->rank, target->data, target->byte_offset);
}

/* A number lies in the context itself, which is host memory, unless the caller has a place for it. */
static insitu_status finish_number(insitu_context *context, uint32_t index, insitu_diag *diag) {
    context_output_t *output = &context->outputs[index];
    output->number = output->row->number;
    dtype_t type = output_dtype(context->engine->plan, &context->engine->plan->outputs[index]);
    void *value = type == DTYPE_F64 ? (void *)&output->number.f : (void *)&output->number.i;
    if (type == DTYPE_BOOL) {
        output->truth = output->number.i != 0;
        value = &output->truth;
    }
    if (!output->target.is_bound) {
        set_result(output, device_cpu()->tensor_device, type, 0, value, 0);
        return INSITU_OK;
    }
    set_result_to_target(context, output, type);
    const place_t target = {output->target.address, NULL, output->target.is_host}, source = {value, NULL, true};
    return transfer(context->device, context->stream, type, 0, NULL, target, source, diag);
}

/* The tensor where the program left it. */
static void hand_out(insitu_context *context, uint32_t index) {
    const plan_output_t *declared = &context->engine->plan->outputs[index];
    context_output_t *output = &context->outputs[index];
    const layout_t *layout = &output->row->layout;
    const insitu_device device = context->device->tensor_device;
    memcpy(output->sizes, layout->sizes, sizeof(output->sizes));
    memcpy(output->strides, layout->strides, sizeof(output->strides));
    uint8_t *base = context->bases[declared->operand.storage];
    if (declared->alias == ALIAS_INPUT && is_written_where_it_lies(context, declared->alias_index)) {
        const bound_tensor_t *input = &context->inputs[declared->alias_index];
        uint8_t *data = input->data;
        set_result(output, device_of(context, input), layout->dtype, layout->rank, data ? data + layout->offset : NULL,
                   input->byte_offset);
        return;
    }
    set_result(output, device, layout->dtype, layout->rank, base + layout->offset, 0);
}

/* The tensor in the caller's memory, which it was not computed in. */
static insitu_status copy_out(insitu_context *context, uint32_t index, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const plan_operand_t *operand = &plan->outputs[index].operand;
    context_output_t *output = &context->outputs[index];
    const layout_t *layout = &output->row->layout;
    const place_t source = {(uint8_t *)context->bases[operand->storage] + layout->offset, layout->strides,
                            context->device->is_host};
    const place_t target = {output->target.address, output->target.strides, output->target.is_host};
    set_result_to_target(context, output, layout->dtype);
    if (layout->bytes == 0) return INSITU_OK;
    TRY(transfer(context->device, context->stream, layout->dtype, layout->rank, layout->sizes, target, source, diag));
    if (plan->outputs[index].alias != ALIAS_NONE) context->stats.output_bytes_copied += (int64_t)layout->bytes;
    return INSITU_OK;
}

bool context_returns_to_host(const insitu_context *context) {
    for (uint32_t i = 0; i < context->engine->plan->output_count; i++)
        if (context->outputs[i].target.is_bound && context->outputs[i].target.is_host) return true;
    return false;
}

insitu_status context_finish_output(insitu_context *context, const insitu_state *state, uint32_t index,
                                    insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const plan_output_t *declared = &plan->outputs[index];
    context_output_t *output = &context->outputs[index];
    if (declared->kind == OUTPUT_NONE) {
        output->result = (insitu_tensor){0};
        return INSITU_OK;
    }
    if (declared->kind == OUTPUT_NUMBER) return finish_number(context, index, diag);
    if (is_direct(context, index) || output_is_its_alias(context, state, index))
        set_result_to_target(context, output, output->row->layout.dtype);
    else if (!output->target.is_bound)
        hand_out(context, index);
    else
        return copy_out(context, index, diag);
    return INSITU_OK;
}
