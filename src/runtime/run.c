/* One call: bind, check everything, take the state, run, hand out the outputs. Up to the backend's run nothing of the
 * caller's is written, and what is written before a check that is decided later is saved and put back, so a call that
 * fails has changed nothing. With sizes that were seen before, nothing is allocated, but for an output that was bound then.
 *
 * The steps run from one item step to the next: there the value is read, and the positions that depend on it are set. At a
 * control step its condition is read, and the steps of a region run, as often as it says.
 * Where a segment ends, what the next one's sizes decide follows: its binding and its memory. */
#include "runtime/runtime_int.h"

#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- memory ---- */

insitu_status memory_grow(const device_t *device, growable_buffer_t *memory, size_t size, insitu_diag *diag) {
    if (size == 0) size = ARENA_ALIGNMENT;
    if (size <= memory->size) return INSITU_OK;
    size_t wanted = memory->size <= SIZE_MAX / 2 && memory->size * 2 > size ? memory->size * 2 : size;
    uint8_t *data = device->allocate(device, wanted, ARENA_ALIGNMENT, false);
    if (!data) FAIL(diag, INSITU_NOMEM, "out of memory: the call needs %zu bytes", size);
    device->free(device, memory->data);
    *memory = (growable_buffer_t){data, wanted};
    return INSITU_OK;
}

insitu_status poison(const insitu_context *context, void *memory, size_t size, insitu_diag *diag) {
    if (!switch_on(SWITCH_POISON)) return INSITU_OK;
    return context->device->fill(context->device, context->stream, memory, 0xFF, size, diag);
}

/* It lies elsewhere, or otherwise, than the program was compiled for. */
static bool needs_staging(const insitu_context *context, const binding_t *binding, uint32_t index) {
    const plan_input_t *input = &context->engine->plan->inputs[index];
    const bound_tensor_t *given = &context->inputs[index];
    const layout_t *layout = &binding->inputs[index].layout;
    if (input->storage == NONE) return false;
    return (given->is_host && !context->device->is_host) ||
           !same_strides(layout->rank, layout->sizes, given->strides, layout->strides);
}

/* Decides which inputs are staged, and makes room for them. */
static insitu_status reserve_inputs(const insitu_context *context, binding_t *binding, insitu_diag *diag) {
    const device_t *device = context->device;
    for (uint32_t i = 0; i < context->engine->plan->input_count; i++) {
        binding_input_t *input = &binding->inputs[i];
        context->inputs[i].is_staged = needs_staging(context, binding, i);
        if (input->staged || !context->inputs[i].is_staged) continue;
        input->staged = device->allocate(device, input->layout.extent, ARENA_ALIGNMENT, false);
        if (!input->staged) FAIL(diag, INSITU_NOMEM, "out of memory for an input of %zu bytes", input->layout.extent);
    }
    return INSITU_OK;
}

/* ---- addresses ---- */

static void *input_base(const insitu_context *context, const binding_t *binding, uint32_t index) {
    if (context->inputs[index].is_staged) return binding->inputs[index].staged;
    uint8_t *address = context->inputs[index].address;
    return address ? address : context->output.data; /* without elements any address will do */
}

/* Of all that is known before the call, intermediate values excepted. */
static void set_bases(insitu_context *context, const binding_t *binding, const insitu_state *state) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage_t *storage = &plan->storages[i];
        switch (storage->kind) {
        case STORAGE_WEIGHT: context->bases[i] = context->engine->weights[storage->index]; break;
        case STORAGE_STATE: context->bases[i] = state->storages[storage->index]; break;
        case STORAGE_INPUT: context->bases[i] = input_base(context, binding, storage->index); break;
        case STORAGE_OUTPUT:
            if (context->outputs[storage->index].row) context->bases[i] = context_output_base(context, storage->index);
            break;
        case STORAGE_ARENA: break;
        }
    }
}

static void *arena_address(const insitu_context *context, uint32_t segment, uint32_t storage) {
    size_t place = context->bounds[segment].arena_offsets[storage];
    return place == NO_PLACE ? NULL : context->segments[segment].intermediate.data + place;
}

static void set_arena_bases(insitu_context *context, uint32_t segment) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage_t *storage = &plan->storages[i];
        if (storage->kind == STORAGE_ARENA && plan_segment_of(plan, storage->first_step) == segment)
            context->bases[i] = arena_address(context, segment, i);
    }
}

/* To the memory that the program reads, or, of an input that it has written, back. */
static insitu_status move_input(const insitu_context *context, const binding_t *binding, uint32_t index, bool is_back,
                                insitu_diag *diag) {
    const layout_t *layout = &binding->inputs[index].layout;
    const bound_tensor_t *input = &context->inputs[index];
    const place_t given = {input->address, input->strides, input->is_host};
    const place_t staged = {binding->inputs[index].staged, layout->strides, context->device->is_host};
    return transfer(context->device, context->stream, layout->dtype, layout->rank, layout->sizes,
                    is_back ? given : staged, is_back ? staged : given, diag);
}

static insitu_status stage_inputs(const insitu_context *context, const binding_t *binding, insitu_diag *diag) {
    for (uint32_t i = 0; i < context->engine->plan->input_count; i++)
        if (context->inputs[i].is_staged) TRY(move_input(context, binding, i, false, diag));
    return INSITU_OK;
}

static insitu_status poison_outputs(const insitu_context *context, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const binding_output_t *row =
            plan->storages[i].kind == STORAGE_OUTPUT ? context->outputs[plan->storages[i].index].row : NULL;
        if (row) TRY(poison(context, context->bases[i], row->storage_bytes, diag));
    }
    return INSITU_OK;
}

/* ---- the call ---- */

static insitu_status check_bound(const insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->input_count; i++)
        if (!plan->inputs[i].is_none && !plan->inputs[i].is_constant && !context->inputs[i].is_bound)
            FAIL(diag, INSITU_ARG, "input '%s' is not bound", plan->inputs[i].name);
    if (state && state->engine != context->engine)
        FAIL(diag, INSITU_ARG, "the state belongs to another engine than the context");
    if (!state && plan->state_storage_count)
        FAIL(diag, INSITU_ARG, "the engine has state tensors, but the call got no state");
    return INSITU_OK;
}

static insitu_status bind_segment(insitu_context *context, uint32_t segment, insitu_diag *diag) {
    context_segment_t *home = &context->segments[segment];
    TRY(context_find_binding(context, segment, &home->current, diag));
    if (!context->device->has_threads(context->device, home->current->prepared)) {
        context->threads = 1;
        TRY(context_find_binding(context, segment, &home->current, diag));
    }
    context->bounds[segment] = home->current->bound;
    return INSITU_OK;
}

/* Memory for what the segment computes. */
static insitu_status reserve_segment(insitu_context *context, uint32_t segment, insitu_diag *diag) {
    context_segment_t *home = &context->segments[segment];
    TRY(memory_grow(context->device, &home->intermediate, home->current->arena_bytes, diag));
    return memory_grow(context->device, &context->workspace, home->current->workspace_bytes, diag);
}

static insitu_status patch(const insitu_context *context, uint32_t segment, insitu_diag *diag) {
    const binding_t *binding = context->segments[segment].current;
    TRY(plan_patch(&binding->bound, context->values, context->known, diag));
    return plan_patch(&binding->restores, context->values, context->known, diag);
}

static insitu_status start_segment(insitu_context *context, uint32_t segment, insitu_diag *diag) {
    if (segment) TRY(bind_segment(context, segment, diag));
    if (segment) TRY(reserve_segment(context, segment, diag));
    if (context->logged)
        TRY(undo_log_reserve(&context->logged->log, context->segments[segment].current->writes.room, diag));
    set_arena_bases(context, segment);
    const growable_buffer_t *intermediate = &context->segments[segment].intermediate;
    TRY(poison(context, intermediate->data, intermediate->size, diag));
    TRY(poison(context, context->workspace.data, context->workspace.size, diag));
    return segment ? patch(context, segment, diag) : INSITU_OK;
}

static device_call_t call_of(const insitu_context *context, uint32_t first, uint32_t end) {
    return (device_call_t){.bases = context->bases,
                           .workspace = context->workspace.data,
                           .first = first,
                           .end = end,
                           .number = context->number,
                           .fault = context->fault};
}

static insitu_status run_steps(const insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                               uint32_t *out_failed, insitu_diag *diag) {
    if (first == end) return INSITU_OK;
    device_call_t call = call_of(context, first, end);
    call.out_failed = out_failed;
    return context->device->run(context->device, context->stream, context->segments[segment].current->prepared, &call,
                                diag);
}

/* For an open snapshot what the steps from here on replace is saved. */
static insitu_status save_writes(insitu_context *context, uint32_t segment, uint32_t step, insitu_diag *diag) {
    const state_writes_t *writes = &context->segments[segment].current->writes;
    return state_writes_save(writes, context, step, context->logged, &context->stats.snapshot_bytes_saved, diag);
}

/* What an asynchronous device has failed with so far. A failure of an earlier call has kept this one from writing, so there
 * is nothing to put back. */
static insitu_status settle(const insitu_context *context, uint32_t *out_failed, insitu_diag *diag) {
    uint64_t number = context->number;
    if (!context->fault) return INSITU_OK;
    insitu_status status = context->device->take_fault(context->device, context->fault, &number, out_failed, diag);
    if (number != context->number) *out_failed = 0;
    return status;
}

static insitu_status run_range(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                               uint32_t *out_failed, insitu_diag *diag);

static insitu_status read_item(insitu_context *context, uint32_t segment, uint32_t item, uint32_t *out_failed,
                               insitu_diag *diag) {
    TRY(settle(context, out_failed, diag));
    *out_failed = item;
    TRY(context_read_item(context, item, diag));
    TRY(patch(context, segment, diag));
    return context_resolve_outputs(context, item, diag);
}

static insitu_status run_region(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                                uint32_t *out_failed, insitu_diag *diag) {
    context_count(context, segment, first, end);
    return run_range(context, segment, first, end, out_failed, diag);
}

static insitu_status count_round(insitu_context *context, const plan_step_t *loop, insitu_diag *diag) {
    const char *most = switch_value(SWITCH_MAX_ROUNDS);
    context->rounds++;
    if (!most || context->rounds <= strtoull(most, NULL, 10)) return INSITU_OK;
    FAIL(diag, INSITU_ASSERT, "'%s' has not ended after %s rounds, which INSITU_MAX_ROUNDS allows", loop->name, most);
}

/* A bool, whatever byte it is. */
static insitu_status read_condition(const insitu_context *context, uint32_t control, bool *out, uint32_t *out_failed,
                                    insitu_diag *diag) {
    sym_value_t value = {0};
    bool is_number;
    TRY(settle(context, out_failed, diag));
    *out_failed = control;
    TRY(context_read_element(context, control, &value, &is_number, diag));
    *out = value.i != 0;
    return INSITU_OK;
}

static insitu_status run_control(insitu_context *context, uint32_t segment, uint32_t control, uint32_t *out_failed,
                                 insitu_diag *diag) {
    const plan_step_t *step = &context->engine->plan->steps[control];
    bool is_true;
    if (step->kind == STEP_COND) {
        TRY(read_condition(context, control, &is_true, out_failed, diag));
        return is_true ? run_region(context, segment, control + 1, step->middle, out_failed, diag)
                       : run_region(context, segment, step->middle, step->end, out_failed, diag);
    }
    for (;;) {
        TRY(run_region(context, segment, control + 1, step->middle, out_failed, diag));
        TRY(read_condition(context, control, &is_true, out_failed, diag));
        if (!is_true) return INSITU_OK;
        TRY(count_round(context, step, diag));
        TRY(run_region(context, segment, step->middle, step->end, out_failed, diag));
    }
}

/* The device's steps, from one stop to the next; what a control step runs lies behind when it has run. */
static insitu_status run_range(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                               uint32_t *out_failed, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    uint32_t at = first;
    for (uint32_t i = plan_stop_from(plan, first); i < plan->facts.stop_count; i++) {
        const plan_stop_t *stop = &plan->facts.stops[i];
        if (stop->step >= end) break;
        if (stop->step < at || (!stop_is_host(stop) && (stop->kind != STOP_SAVE || !context->logged))) continue;
        TRY(run_steps(context, segment, at, stop->step, out_failed, diag));
        at = stop->step + stop_is_host(stop);
        if (stop->kind == STOP_SAVE) TRY(save_writes(context, segment, stop->step, diag));
        if (stop->kind == STOP_ITEM) TRY(read_item(context, segment, stop->step, out_failed, diag));
        if (stop->kind != STOP_CONTROL) continue;
        TRY(run_control(context, segment, stop->step, out_failed, diag));
        at = plan->steps[stop->step].end;
    }
    return run_steps(context, segment, at, end, out_failed, diag);
}

static insitu_status run_segment(insitu_context *context, uint32_t segment, uint32_t *out_failed, insitu_diag *diag) {
    const plan_segment_t *part = &context->engine->plan->segments[segment];
    TRY(start_segment(context, segment, diag));
    return run_range(context, segment, part->first_step, part->end_step, out_failed, diag);
}

/* Puts back what was written before step failed, from the last save to the first. Saves are kept until the last check.
 * is_undo: the device knows whether a step has failed, and which. */
static insitu_status restore(const insitu_context *context, uint32_t failed, bool is_undo, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    if (plan->facts.last_check == NONE || failed > plan->facts.last_check) return INSITU_OK;
    for (uint32_t i = plan->segment_count; i-- > 0;) {
        const binding_t *binding = context->segments[i].current;
        if (!binding || binding->restores.step_count == 0) continue;
        uint32_t first = binding->restores.first_step, end = first + binding->restores.step_count;
        while (!is_undo && first < end && plan->restores[first].save_step >= failed) first++;
        if (first == end) continue;
        device_call_t call = call_of(context, first, end);
        call.is_undo = is_undo;
        TRY(context->device->run(context->device, context->stream, binding->prepared_restores, &call, diag));
    }
    return INSITU_OK;
}

/* The state and the inputs are as they were; its diagnostic is the failure's. */
static void take_back(insitu_context *context, uint32_t failed, size_t log_count) {
    insitu_status status = restore(context, failed, false, NULL);
    if (status == INSITU_OK && context->logged)
        status = undo_log_roll_back(&context->logged->log, context->stream, context->logged->storages, log_count, NULL);
    if (status != INSITU_OK) log_printf(0, "the device failed when a failed call was taken back");
}

/* Each segment in turn; a failure leaves states and inputs as they were. */
static insitu_status run_segments(insitu_context *context, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    size_t log_count = context->logged ? context->logged->log.count : 0;
    uint32_t failed = 0;
    context->rounds = 0;
    for (uint32_t i = 0; i < plan->segment_count; i++) {
        insitu_status status = run_segment(context, i, &failed, diag);
        if (status == INSITU_OK) continue;
        take_back(context, failed, log_count);
        return status;
    }
    return context->device->is_async ? restore(context, 0, true, diag) : INSITU_OK;
}

/* Of the steps that run once; what regions count is there already. */
static void add_totals(insitu_context *context) {
    for (uint32_t i = 0; i < context->engine->plan->segment_count; i++) {
        insitu_run_stats *more = &context->segments[i].current->totals;
        for (uint32_t c = 0; c < COUNTER_COUNT; c++) (void)stats_add(&context->stats, c, *stats_counter(more, c));
        context->stats.arena_bytes += more->arena_bytes;
    }
}

/* Some of what the program has written goes to host memory that is not the device's. */
static bool writes_host(const insitu_context *context) {
    const plan_t *plan = context->engine->plan;
    if (context->device->is_host) return false;
    for (uint32_t i = 0; i < plan->input_count; i++)
        if (plan->inputs[i].is_written && context->inputs[i].is_host) return true;
    return context_returns_to_host(context);
}

/* What is copied to host memory is copied after a call that has not failed. */
static insitu_status finish(insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    const plan_t *plan = context->engine->plan;
    const binding_t *first = context->segments[0].current;
    uint32_t failed;
    if (writes_host(context)) TRY(settle(context, &failed, diag));
    for (uint32_t i = 0; i < plan->input_count; i++)
        if (plan->inputs[i].is_written && context->inputs[i].is_staged) TRY(move_input(context, first, i, true, diag));
    for (uint32_t i = 0; i < plan->output_count; i++) TRY(context_finish_output(context, state, i, diag));
    return INSITU_OK;
}

static insitu_status execute(insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    const binding_t *first = context->segments[0].current;
    set_bases(context, first, state);
    TRY(stage_inputs(context, first, diag));
    TRY(poison_outputs(context, diag));
    context->stats = (insitu_run_stats){0};
    TRY(run_segments(context, diag));
    add_totals(context);
    return finish(context, state, diag);
}

/* What can be known of the outputs before the call. */
static insitu_status start_outputs(insitu_context *context, insitu_diag *diag) {
    const binding_t *binding = context->segments[0].current;
    for (uint32_t i = 0; i < context->engine->plan->output_count; i++) {
        context_output_t *output = &context->outputs[i];
        output->row = output->item == NONE ? &binding->outputs[i] : NULL;
        if (output->row) TRY(context_check_target(context, i, diag));
    }
    return INSITU_OK;
}

static insitu_status run_locked(insitu_context *context, insitu_state *state, insitu_diag *diag) {
    context->logged = state && undo_log_is_open(&state->log) ? state : NULL;
    TRY(context_read_symbols(context, state, diag));
    TRY(bind_segment(context, 0, diag));
    TRY(start_outputs(context, diag));
    TRY(context_check_overlap(context, state, diag));
    binding_t *first = context->segments[0].current;
    TRY(reserve_segment(context, 0, diag));
    TRY(context_reserve_outputs(context, diag));
    TRY(context_resolve_outputs(context, NONE, diag));
    TRY(reserve_inputs(context, first, diag));
    return execute(context, state, diag);
}

/* The call's work comes after that of the last calls of the context and the state, on whatever streams. */
static insitu_status run_in_order(insitu_context *context, insitu_state *state, insitu_diag *diag) {
    const device_t *device = context->device;
    context->fault = state ? state->fault : context->own_fault;
    context->number = state ? ++state->calls : ++context->calls;
    TRY(device->wait(device, context->stream, context->event, diag));
    if (state) TRY(device->wait(device, context->stream, state->event, diag));
    insitu_status status = run_locked(context, state, diag);
    insitu_status recorded = device->record(device, context->stream, &context->event, diag);
    if (recorded == INSITU_OK && state) recorded = device->record(device, context->stream, &state->event, diag);
    return status == INSITU_OK ? recorded : status;
}

static insitu_status run(insitu_context *context, insitu_state *state, insitu_diag *diag) {
    for (uint32_t i = 0; i < context->engine->plan->segment_count; i++) context->segments[i].current = NULL;
    TRY(check_bound(context, state, diag));
    context->threads = context->device->threads(context->device, context->thread_limit);
    if (!state) return run_in_order(context, state, diag);
    TRY(state_lock(state, diag));
    insitu_status status = run_in_order(context, state, diag);
    state_unlock(state);
    return status;
}

insitu_status insitu_context_run(insitu_context *context, insitu_state *state, insitu_stream stream,
                                 insitu_diag *diag) {
    if (!context) FAIL(diag, INSITU_ARG, "insitu_context_run needs a context");
    double start = now();
    float_mode_t mode;
    context->stream = stream;
    context->has_run = false;
    float_mode_enter(&mode);
    insitu_status status = run(context, state, diag);
    float_mode_leave(&mode);
    if (status != INSITU_OK) return diag_complete(diag, status);
    context->stats.struct_size = sizeof(context->stats);
    context->stats.bindings_made = context->bindings_made;
    context->stats.bindings_dropped = context->bindings_dropped;
    context->stats.seconds = now() - start;
    context->has_run = true;
    return INSITU_OK;
}

insitu_status insitu_context_synchronize(insitu_context *context, insitu_state *state, insitu_diag *diag) {
    if (!context) FAIL(diag, INSITU_ARG, "insitu_context_synchronize needs a context");
    if (state && state->engine != context->engine)
        FAIL(diag, INSITU_ARG, "the state belongs to another engine than the context");
    uint64_t number;
    uint32_t failed;
    const device_t *device = context->device;
    device_fault_t *fault = state ? state->fault : context->own_fault;
    TRY(device->synchronize(device, context->stream, diag));
    if (!fault) return INSITU_OK;
    insitu_status status = device->take_fault(device, fault, &number, &failed, diag);
    if (status != INSITU_OK) context->has_run = false;
    return status;
}
