/* One call: bind, check everything, take the state, run, hand out the outputs. Up to the backend's run nothing of the
 * caller's is written, so a call that fails has changed nothing. With a binding that was seen before, nothing is
 * allocated. */
#include "runtime/runtime_int.h"

#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- memory ---- */

/* At least size bytes, never NULL; what was there is lost. */
static insitu_status grow(grown_memory *memory, size_t size, insitu_diag *diag) {
    if (size == 0) size = ARENA_ALIGNMENT;
    if (size <= memory->size) return INSITU_OK;
    size_t wanted = memory->size <= SIZE_MAX / 2 && memory->size * 2 > size ? memory->size * 2 : size;
    memory_free(memory->data);
    *memory = (grown_memory){0};
    memory->data = memory_alloc_aligned(wanted, ARENA_ALIGNMENT);
    if (!memory->data) FAIL(diag, INSITU_NOMEM, "out of memory: the call needs %zu bytes", size);
    memory->size = wanted;
    return INSITU_OK;
}

static bool needs_staging(const insitu_context *context, const binding *binding, uint32_t index) {
    const plan_input *input = &context->engine->plan->inputs[index];
    const layout *layout = &binding->inputs[index].layout;
    return input->storage != NONE &&
           !same_strides(layout->rank, layout->sizes, context->inputs[index].strides, layout->strides);
}

static insitu_status reserve(insitu_context *context, binding *binding, insitu_diag *diag) {
    TRY(grow(&context->intermediate, binding->arena_bytes, diag));
    TRY(grow(&context->workspace, binding->workspace_bytes, diag));
    TRY(grow(&context->output, binding->output_bytes, diag));
    for (uint32_t i = 0; i < context->engine->plan->input_count; i++) {
        binding_input *input = &binding->inputs[i];
        if (input->staged || !needs_staging(context, binding, i)) continue;
        input->staged = memory_alloc_aligned(input->layout.extent, ARENA_ALIGNMENT);
        if (!input->staged) FAIL(diag, INSITU_NOMEM, "out of memory for an input of %zu bytes", input->layout.extent);
    }
    return INSITU_OK;
}

/* ---- addresses ---- */

/* An output is computed in the caller's memory if that is laid out as the program lays it out, without holes. */
static bool is_direct(const insitu_context *context, const binding *binding, uint32_t index) {
    const plan *plan = context->engine->plan;
    const plan_operand *operand = &plan->outputs[index].operand;
    const bound_tensor *target = &context->outputs[index].target;
    const layout *layout = &binding->outputs[index].layout;
    const plan_storage *storage = &plan->storages[operand->storage];
    return target->is_bound && storage->kind == STORAGE_OUTPUT && storage->index == index && layout->offset == 0 &&
           layout->extent == layout->bytes && binding->bound.storage_bytes[operand->storage] == layout->bytes &&
           same_strides(layout->rank, layout->sizes, target->strides, layout->strides);
}

static void *output_base(const insitu_context *context, const binding *binding, uint32_t index) {
    uint8_t *address = context->outputs[index].target.address;
    return is_direct(context, binding, index) && address ? address
                                                         : context->output.data + binding->outputs[index].place;
}

static void *input_base(const insitu_context *context, const binding *binding, uint32_t index) {
    if (needs_staging(context, binding, index)) return binding->inputs[index].staged;
    uint8_t *address = context->inputs[index].address;
    return address ? address : context->output.data; /* without elements any address will do */
}

static void set_bases(insitu_context *context, const binding *binding, const insitu_state *state) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage *storage = &plan->storages[i];
        switch (storage->kind) {
        case STORAGE_WEIGHT: context->bases[i] = (void *)(uintptr_t)plan->weights[storage->index].data; break;
        case STORAGE_STATE: context->bases[i] = state->storages[storage->index]; break;
        case STORAGE_INPUT: context->bases[i] = input_base(context, binding, storage->index); break;
        case STORAGE_OUTPUT: context->bases[i] = output_base(context, binding, storage->index); break;
        case STORAGE_ARENA: context->bases[i] = context->intermediate.data + binding->bound.arena_offsets[i]; break;
        }
    }
}

static void stage_inputs(const insitu_context *context, const binding *binding) {
    for (uint32_t i = 0; i < context->engine->plan->input_count; i++) {
        if (!needs_staging(context, binding, i)) continue;
        const layout *layout = &binding->inputs[i].layout;
        strided_copy(layout->dtype, layout->rank, layout->sizes, binding->inputs[i].staged, layout->strides,
                     context->inputs[i].address, context->inputs[i].strides);
    }
}

static void poison(const insitu_context *context, const binding *binding) {
    const plan *plan = context->engine->plan;
    memset(context->intermediate.data, 0xFF, context->intermediate.size);
    memset(context->workspace.data, 0xFF, context->workspace.size);
    for (uint32_t i = 0; i < plan->storage_count; i++)
        if (plan->storages[i].kind == STORAGE_OUTPUT) memset(context->bases[i], 0xFF, binding->bound.storage_bytes[i]);
}

/* ---- outputs ---- */

static void set_result(context_output *output, dtype type, uint32_t rank, void *data, uint64_t byte_offset) {
    output->result = (insitu_tensor){.data = data,
                                     .device = {INSITU_DEVICE_CPU, 0},
                                     .ndim = (int32_t)rank,
                                     .dtype = dtype_public(type),
                                     .shape = output->sizes,
                                     .strides = output->strides,
                                     .byte_offset = byte_offset};
}

static void set_result_to_target(context_output *output, dtype type) {
    const bound_tensor *target = &output->target;
    memcpy(output->sizes, target->sizes, sizeof(output->sizes));
    memcpy(output->strides, target->strides, sizeof(output->strides));
    set_result(output, type, target->rank, target->data, target->byte_offset);
}

static void finish_number(insitu_context *context, const binding *binding, uint32_t index) {
    context_output *output = &context->outputs[index];
    sym_value value = binding->outputs[index].number;
    uint8_t *place =
        output->target.is_bound ? output->target.address : context->output.data + binding->outputs[index].place;
    dtype type = DTYPE_I64;
    if (value.kind == SYM_KIND_FLOAT) {
        type = DTYPE_F64;
        memcpy(place, &value.f, sizeof(value.f));
    } else if (value.kind == SYM_KIND_BOOL) {
        type = DTYPE_BOOL;
        *place = value.i != 0;
    } else {
        memcpy(place, &value.i, sizeof(value.i));
    }
    if (output->target.is_bound)
        set_result_to_target(output, type);
    else
        set_result(output, type, 0, place, 0);
}

/* The tensor where the program left it. */
static void hand_out(insitu_context *context, const binding *binding, uint32_t index) {
    const plan *plan = context->engine->plan;
    const plan_output *declared = &plan->outputs[index];
    const layout *layout = &binding->outputs[index].layout;
    context_output *output = &context->outputs[index];
    memcpy(output->sizes, layout->sizes, sizeof(output->sizes));
    memcpy(output->strides, layout->strides, sizeof(output->strides));
    uint8_t *base = context->bases[declared->operand.storage];
    if (declared->alias == ALIAS_INPUT && base == context->inputs[declared->alias_index].address) {
        const bound_tensor *input = &context->inputs[declared->alias_index];
        set_result(output, layout->dtype, layout->rank, input->data, input->byte_offset + layout->offset);
        return;
    }
    set_result(output, layout->dtype, layout->rank, base + layout->offset, 0);
}

/* The tensor in memory of its own: the caller's, or a dense copy in the context's. */
static void copy_out(insitu_context *context, const binding *binding, uint32_t index) {
    const plan *plan = context->engine->plan;
    const plan_operand *operand = &plan->outputs[index].operand;
    const layout *layout = &binding->outputs[index].layout;
    context_output *output = &context->outputs[index];
    const uint8_t *source = (const uint8_t *)context->bases[operand->storage] + layout->offset;
    if (output->target.is_bound) {
        set_result_to_target(output, layout->dtype);
    } else {
        memcpy(output->sizes, layout->sizes, sizeof(output->sizes));
        dense_strides(layout->rank, layout->sizes, output->strides);
        set_result(output, layout->dtype, layout->rank, context->output.data + binding->outputs[index].place, 0);
    }
    if (layout->bytes == 0) return;
    uint8_t *target = (uint8_t *)output->result.data + output->result.byte_offset;
    strided_copy(layout->dtype, layout->rank, layout->sizes, target, output->strides, source, layout->strides);
    storage_kind kind = plan->storages[operand->storage].kind;
    if (kind == STORAGE_STATE || kind == STORAGE_INPUT) context->stats.output_bytes_copied += (int64_t)layout->bytes;
}

static void finish_output(insitu_context *context, const binding *binding, const insitu_state *state, uint32_t index) {
    const plan *plan = context->engine->plan;
    const plan_output *declared = &plan->outputs[index];
    context_output *output = &context->outputs[index];
    if (declared->kind == OUTPUT_NONE) {
        output->result = (insitu_tensor){0};
        return;
    }
    if (declared->kind == OUTPUT_NUMBER) {
        finish_number(context, binding, index);
        return;
    }
    const plan_storage *storage = &plan->storages[declared->operand.storage];
    bool is_own = storage->kind == STORAGE_OUTPUT && storage->index == index;
    if (is_direct(context, binding, index) || output_is_its_alias(context, binding, state, index))
        set_result_to_target(output, binding->outputs[index].layout.dtype);
    else if (!output->target.is_bound && (is_own || declared->alias != ALIAS_NONE))
        hand_out(context, binding, index);
    else
        copy_out(context, binding, index);
}

/* Sizes that a bound output must have, now that they are known. */
static insitu_status check_targets(const insitu_context *context, const binding *binding, insitu_diag *diag) {
    for (uint32_t i = 0; i < context->engine->plan->output_count; i++) {
        const bound_tensor *target = &context->outputs[i].target;
        const layout *layout = &binding->outputs[i].layout;
        if (!target->is_bound || context->engine->plan->outputs[i].kind != OUTPUT_TENSOR) continue;
        for (uint32_t dim = 0; dim < layout->rank; dim++)
            if (target->sizes[dim] != layout->sizes[dim])
                FAIL(diag, INSITU_SHAPE, "output '%s' is bound with size %lld in dimension %u where it has %lld",
                     context->engine->plan->outputs[i].name, (long long)target->sizes[dim], dim,
                     (long long)layout->sizes[dim]);
    }
    return INSITU_OK;
}

/* ---- the call ---- */

static insitu_status check_bound(const insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->input_count; i++)
        if (!plan->inputs[i].is_none && !context->inputs[i].is_bound)
            FAIL(diag, INSITU_ARG, "input '%s' is not bound", plan->inputs[i].name);
    if (state && state->engine != context->engine)
        FAIL(diag, INSITU_ARG, "the state belongs to another engine than the context");
    if (!state && plan->state_storage_count)
        FAIL(diag, INSITU_ARG, "the engine has state tensors, but the call got no state");
    return INSITU_OK;
}

static insitu_status run_locked(insitu_context *context, const binding *binding, const insitu_state *state,
                                insitu_diag *diag) {
    set_bases(context, binding, state);
    stage_inputs(context, binding);
    if (switch_on(SWITCH_POISON)) poison(context, binding);
    uint32_t end = context->engine->plan->step_count;
    backend_call call = {.bases = context->bases, .workspace = context->workspace.data, .end = end};
    TRY(context->backend->run(binding->prepared, &call, diag));
    context->stats = binding->totals;
    for (uint32_t i = 0; i < context->engine->plan->output_count; i++) finish_output(context, binding, state, i);
    return INSITU_OK;
}

static insitu_status run(insitu_context *context, insitu_state *state, insitu_diag *diag) {
    TRY(check_bound(context, state, diag));
    TRY(context_read_symbols(context, diag));
    binding *binding;
    TRY(context_find_binding(context, &binding, diag));
    TRY(check_targets(context, binding, diag));
    TRY(context_check_overlap(context, binding, state, diag));
    TRY(reserve(context, binding, diag));
    if (!state) return run_locked(context, binding, state, diag);
    TRY(state_lock(state, diag));
    insitu_status status = run_locked(context, binding, state, diag);
    state_unlock(state);
    return status;
}

insitu_status insitu_context_run(insitu_context *context, insitu_state *state, insitu_stream stream,
                                 insitu_diag *diag) {
    if (!context) FAIL(diag, INSITU_ARG, "insitu_context_run needs a context");
    (void)stream;
    double start = now();
    context->has_run = false;
    insitu_status status = run(context, state, diag);
    if (status != INSITU_OK) return diag_complete(diag, status);
    context->stats.struct_size = sizeof(context->stats);
    context->stats.seconds = now() - start;
    context->has_run = true;
    return INSITU_OK;
}
