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

insitu_status memory_grow(grown_memory *memory, size_t size, insitu_diag *diag) {
    if (size == 0) size = ARENA_ALIGNMENT;
    if (size <= memory->size) return INSITU_OK;
    size_t wanted = memory->size <= SIZE_MAX / 2 && memory->size * 2 > size ? memory->size * 2 : size;
    uint8_t *data = memory_alloc_aligned(wanted, ARENA_ALIGNMENT);
    if (!data) FAIL(diag, INSITU_NOMEM, "out of memory: the call needs %zu bytes", size);
    memory_free(memory->data);
    *memory = (grown_memory){data, wanted};
    return INSITU_OK;
}

static bool needs_staging(const insitu_context *context, const binding *binding, uint32_t index) {
    const plan_input *input = &context->engine->plan->inputs[index];
    const layout *layout = &binding->inputs[index].layout;
    return input->storage != NONE &&
           !same_strides(layout->rank, layout->sizes, context->inputs[index].strides, layout->strides);
}

static insitu_status reserve_inputs(const insitu_context *context, binding *binding, insitu_diag *diag) {
    for (uint32_t i = 0; i < context->engine->plan->input_count; i++) {
        binding_input *input = &binding->inputs[i];
        if (input->staged || !needs_staging(context, binding, i)) continue;
        input->staged = memory_alloc_aligned(input->layout.extent, ARENA_ALIGNMENT);
        if (!input->staged) FAIL(diag, INSITU_NOMEM, "out of memory for an input of %zu bytes", input->layout.extent);
    }
    return INSITU_OK;
}

/* ---- addresses ---- */

static void *input_base(const insitu_context *context, const binding *binding, uint32_t index) {
    if (needs_staging(context, binding, index)) return binding->inputs[index].staged;
    uint8_t *address = context->inputs[index].address;
    return address ? address : context->output.data; /* without elements any address will do */
}

/* Of all that is known before the call, intermediate values excepted. */
static void set_bases(insitu_context *context, const binding *binding, const insitu_state *state) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage *storage = &plan->storages[i];
        switch (storage->kind) {
        case STORAGE_WEIGHT: context->bases[i] = (void *)(uintptr_t)plan->weights[storage->index].data; break;
        case STORAGE_STATE: context->bases[i] = state->storages[storage->index]; break;
        case STORAGE_INPUT: context->bases[i] = input_base(context, binding, storage->index); break;
        case STORAGE_OUTPUT:
            if (context->outputs[storage->index].row) context->bases[i] = context_output_base(context, storage->index);
            break;
        case STORAGE_ARENA: break;
        }
    }
}

static void set_arena_bases(insitu_context *context, uint32_t segment) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage *storage = &plan->storages[i];
        if (storage->kind == STORAGE_ARENA && plan_segment_of(plan, storage->first_step) == segment)
            context->bases[i] =
                context->segments[segment].intermediate.data + context->bounds[segment].arena_offsets[i];
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

static void poison_outputs(const insitu_context *context) {
    const plan *plan = context->engine->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const binding_output *row =
            plan->storages[i].kind == STORAGE_OUTPUT ? context->outputs[plan->storages[i].index].row : NULL;
        if (row) memset(context->bases[i], 0xFF, row->storage_bytes);
    }
}

/* ---- the call ---- */

static insitu_status check_bound(const insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
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
    context_segment *home = &context->segments[segment];
    TRY(context_find_binding(context, segment, &home->current, diag));
    if (!context->backend->has_threads(home->current->prepared)) {
        context->threads = 1;
        TRY(context_find_binding(context, segment, &home->current, diag));
    }
    context->bounds[segment] = home->current->bound;
    return INSITU_OK;
}

/* Memory for what the segment computes. */
static insitu_status reserve_segment(insitu_context *context, uint32_t segment, insitu_diag *diag) {
    context_segment *home = &context->segments[segment];
    TRY(memory_grow(&home->intermediate, home->current->arena_bytes, diag));
    return memory_grow(&context->workspace, home->current->workspace_bytes, diag);
}

static insitu_status patch(const insitu_context *context, uint32_t segment, insitu_diag *diag) {
    const binding *binding = context->segments[segment].current;
    TRY(plan_patch(&binding->bound, context->values, context->known, diag));
    return plan_patch(&binding->restores, context->values, context->known, diag);
}

static insitu_status start_segment(insitu_context *context, uint32_t segment, insitu_diag *diag) {
    if (segment) TRY(bind_segment(context, segment, diag));
    if (segment) TRY(reserve_segment(context, segment, diag));
    if (context->logged)
        TRY(undo_log_reserve(&context->logged->log, context->segments[segment].current->writes.log_bytes, diag));
    set_arena_bases(context, segment);
    if (switch_on(SWITCH_POISON)) {
        const grown_memory *intermediate = &context->segments[segment].intermediate;
        memset(intermediate->data, 0xFF, intermediate->size);
        memset(context->workspace.data, 0xFF, context->workspace.size);
    }
    return segment ? patch(context, segment, diag) : INSITU_OK;
}

static insitu_status run_uncut(const insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                               uint32_t *out_failed, insitu_diag *diag) {
    if (first == end) return INSITU_OK;
    backend_call call = {.bases = context->bases,
                         .workspace = context->workspace.data,
                         .first = first,
                         .end = end,
                         .out_failed = out_failed};
    return context->backend->run(context->segments[segment].current->prepared, &call, diag);
}

/* For an open snapshot: what the writes that stand there replace. */
static void save_cut(insitu_context *context, uint32_t segment, uint32_t cut) {
    const state_writes *writes = &context->segments[segment].current->writes;
    context->stats.snapshot_bytes_saved +=
        (int64_t)state_writes_save(writes, context->engine->plan, cut, context->bases, context->logged);
}

/* Runs the steps [first, end) of the segment, all of which are the backend's. For an open snapshot what they replace is saved
 * in between. */
static insitu_status run_steps(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                               uint32_t *out_failed, insitu_diag *diag) {
    const state_writes *writes = &context->segments[segment].current->writes;
    if (!context->logged) return run_uncut(context, segment, first, end, out_failed, diag);
    for (uint32_t cut = state_writes_next_cut(writes, first, end); cut < end;
         cut = state_writes_next_cut(writes, first + 1, end)) {
        TRY(run_uncut(context, segment, first, cut, out_failed, diag));
        save_cut(context, segment, cut);
        first = cut;
    }
    return run_uncut(context, segment, first, end, out_failed, diag);
}

static insitu_status run_range(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                               uint32_t *out_failed, insitu_diag *diag);

static insitu_status run_item(insitu_context *context, uint32_t segment, uint32_t item, insitu_diag *diag) {
    TRY(context_read_item(context, item, diag));
    TRY(patch(context, segment, diag));
    return context_decide_outputs(context, item, diag);
}

static insitu_status run_region(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                                uint32_t *out_failed, insitu_diag *diag) {
    context_count(context, segment, first, end);
    return run_range(context, segment, first, end, out_failed, diag);
}

static insitu_status count_round(insitu_context *context, const plan_step *loop, insitu_diag *diag) {
    const char *most = switch_value(SWITCH_MAX_ROUNDS);
    context->rounds++;
    if (!most || context->rounds <= strtoull(most, NULL, 10)) return INSITU_OK;
    FAIL(diag, INSITU_ASSERT, "'%s' has not ended after %s rounds, which INSITU_MAX_ROUNDS allows", loop->name, most);
}

static insitu_status run_control(insitu_context *context, uint32_t segment, uint32_t index, uint32_t *out_failed,
                                 insitu_diag *diag) {
    const plan_step *step = &context->engine->plan->steps[index];
    const uint8_t *condition = context_element(context, index);
    if (context->logged) save_cut(context, segment, index);
    if (step->kind == STEP_COND)
        return *condition ? run_region(context, segment, index + 1, step->middle, out_failed, diag)
                          : run_region(context, segment, step->middle, step->end, out_failed, diag);
    for (;;) {
        TRY(run_region(context, segment, index + 1, step->middle, out_failed, diag));
        if (!*condition) return INSITU_OK;
        TRY(count_round(context, step, diag));
        TRY(run_region(context, segment, step->middle, step->end, out_failed, diag));
    }
}

/* The backend's steps, from one of the runtime's to the next. */
static insitu_status run_range(insitu_context *context, uint32_t segment, uint32_t first, uint32_t end,
                               uint32_t *out_failed, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    for (uint32_t at = first; at < end;) {
        const uint32_t stop = context->next_host[at] < end ? context->next_host[at] : end;
        TRY(run_steps(context, segment, at, stop, out_failed, diag));
        if (stop == end) break;
        *out_failed = stop;
        if (step_is_control(&plan->steps[stop])) {
            TRY(run_control(context, segment, stop, out_failed, diag));
            at = plan->steps[stop].end;
        } else {
            TRY(run_item(context, segment, stop, diag));
            at = stop + 1;
        }
    }
    return INSITU_OK;
}

static insitu_status run_segment(insitu_context *context, uint32_t segment, uint32_t *out_failed, insitu_diag *diag) {
    const plan_segment *part = &context->engine->plan->segments[segment];
    TRY(start_segment(context, segment, diag));
    return run_range(context, segment, part->first_step, part->end_step, out_failed, diag);
}

/* Puts back what was written before step failed, from the last save to the first. Saves are kept until the last check. */
static void restore(const insitu_context *context, uint32_t failed) {
    const plan *plan = context->engine->plan;
    if (context->last_check == NONE || failed > context->last_check) return;
    for (uint32_t i = plan->segment_count; i-- > 0;) {
        const binding *binding = context->segments[i].current;
        if (!binding || binding->restores.step_count == 0) continue;
        uint32_t first = binding->restores.first_step, end = first + binding->restores.step_count;
        while (first < end && plan->restores[first].save_step >= failed) first++;
        backend_call call = {.bases = context->bases, .workspace = context->workspace.data, .first = first, .end = end};
        if (first < end) (void)context->backend->run(binding->prepared_restores, &call, NULL);
    }
}

/* Each segment in turn; a failure leaves states and inputs as they were. */
static insitu_status run_segments(insitu_context *context, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    size_t log_length = context->logged ? context->logged->log.used : 0;
    uint32_t failed = 0;
    context->rounds = 0;
    for (uint32_t i = 0; i < plan->segment_count; i++) {
        insitu_status status = run_segment(context, i, &failed, diag);
        if (status == INSITU_OK) continue;
        restore(context, failed);
        if (context->logged) undo_log_roll_back(&context->logged->log, context->logged->storages, log_length);
        return status;
    }
    return INSITU_OK;
}

static insitu_status execute(insitu_context *context, const insitu_state *state, insitu_diag *diag) {
    const plan *plan = context->engine->plan;
    const binding *first = context->segments[0].current;
    set_bases(context, first, state);
    stage_inputs(context, first);
    if (switch_on(SWITCH_POISON)) poison_outputs(context);
    context->stats = first->totals;
    TRY(run_segments(context, diag));
    for (uint32_t i = 1; i < plan->segment_count; i++) {
        const insitu_run_stats *more = &context->segments[i].current->totals;
        context->stats.state_bytes_written += more->state_bytes_written;
        context->stats.state_bytes_moved += more->state_bytes_moved;
        context->stats.state_bytes_copied += more->state_bytes_copied;
        context->stats.state_bytes_saved += more->state_bytes_saved;
        context->stats.weight_bytes_read += more->weight_bytes_read;
        context->stats.output_bytes_copied += more->output_bytes_copied;
        context->stats.arena_bytes += more->arena_bytes;
    }
    for (uint32_t i = 0; i < plan->output_count; i++) context_finish_output(context, state, i);
    return INSITU_OK;
}

/* What can be known of the outputs before the call. */
static insitu_status start_outputs(insitu_context *context, insitu_diag *diag) {
    const binding *binding = context->segments[0].current;
    for (uint32_t i = 0; i < context->engine->plan->output_count; i++) {
        context_output *output = &context->outputs[i];
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
    binding *first = context->segments[0].current;
    TRY(reserve_segment(context, 0, diag));
    TRY(context_reserve_outputs(context, diag));
    TRY(context_decide_outputs(context, NONE, diag));
    TRY(reserve_inputs(context, first, diag));
    return execute(context, state, diag);
}

static insitu_status run(insitu_context *context, insitu_state *state, insitu_diag *diag) {
    for (uint32_t i = 0; i < context->engine->plan->segment_count; i++) context->segments[i].current = NULL;
    TRY(check_bound(context, state, diag));
    context->threads = context->backend->threads(context->thread_limit);
    if (!state) return run_locked(context, state, diag);
    TRY(state_lock(state, diag));
    insitu_status status = run_locked(context, state, diag);
    state_unlock(state);
    return status;
}

insitu_status insitu_context_run(insitu_context *context, insitu_state *state, insitu_stream stream,
                                 insitu_diag *diag) {
    if (!context) FAIL(diag, INSITU_ARG, "insitu_context_run needs a context");
    (void)stream;
    double start = now();
    float_mode mode;
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
