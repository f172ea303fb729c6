/* Runs a prepared program: its regions one after another, each walked by all its threads.
 *
 * Everything that changes during a call lies in the call's workspace, so that one program may run in several threads at
 * once. Nothing is allocated. */
#include "backend/cpu/program.h"

#include <omp.h>
#include <time.h>

typedef struct running {
    const program_t *program;
    const device_call_t *call;
    call_state_t *state;
} running_t;

static kernel_call_t call_of(const running_t *running, const program_step_t *step, uint32_t thread, uint32_t threads) {
    char *workspace = (char *)running->call->workspace + running->program->workspace_offset;
    return (kernel_call_t){.step = step->step,
                           .bases = running->call->bases,
                           .data = step->data,
                           .workspace = workspace + thread * running->program->thread_workspace,
                           .thread = step->alone ? 0 : thread,
                           .threads = step->alone ? 1 : threads,
                           .failed = &running->state->library_failed};
}

static void run_step(const running_t *running, uint32_t index, uint32_t thread, uint32_t threads) {
    const program_step_t *step = &running->program->steps[index];
    if (step->alone && thread) return;
    kernel_call_t call = call_of(running, step, thread, threads);
    if (step->row)
        step->row->run(&call);
    else
        check_index(&call, index, running->state);
}

static int64_t now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A step between barriers, with its time in the log. */
static void trace_step(const running_t *running, uint32_t index, uint32_t thread, uint32_t threads) {
    barrier_wait(&running->state->barrier, threads);
    int64_t begin = now();
    run_step(running, index, thread, threads);
    barrier_wait(&running->state->barrier, threads);
    if (thread) return;
    const program_step_t *step = &running->program->steps[index];
    double microseconds = (double)(now() - begin) / 1e3;
    text_t described;
    text_init(&described);
    step_describe(step->step, &described);
    log_printf(3, "step %u '%s' %s by %s on %u threads: %.1f us", running->program->first_step + index,
               step->step->step->name, described.data ? described.data : "", step->row ? step->row->name : "check",
               step->alone ? 1 : threads, microseconds);
    text_release(&described);
}

static bool has_failed_before(const call_state_t *state, uint32_t step) {
    return atomic_load_explicit(&((call_state_t *)(uintptr_t)state)->failed_step, memory_order_relaxed) < step;
}

/* One thread's walk through a region. All threads leave at the same step: a test looks only at checks before it, which
 * the barrier has completed. */
static void walk_region(const running_t *running, const program_region_t *region, uint32_t thread, uint32_t threads) {
    for (uint32_t i = region->first; i < region->end; i++) {
        const program_step_t *step = &running->program->steps[i];
        if (step->wait) barrier_wait(&running->state->barrier, threads);
        if (step->test && has_failed_before(running->state, i)) return;
        if (running->program->trace)
            trace_step(running, i, thread, threads);
        else
            run_step(running, i, thread, threads);
    }
}

static void run_region(const running_t *running, const program_region_t *region) {
    if (region->threads == 1) {
        walk_region(running, region, 0, 1);
        return;
    }
#pragma omp parallel num_threads((int)region->threads) default(none) shared(running, region)
    {
        float_mode_t mode; /* of a thread that the caller's regions use too */
        float_mode_enter(&mode);
        walk_region(running, region, (uint32_t)omp_get_thread_num(), (uint32_t)omp_get_num_threads());
        float_mode_leave(&mode);
    }
}

static insitu_status library_report(const program_t *program, uint32_t step, insitu_diag *diag) {
    const plan_step_t *failed = program->steps[step].step->step;
    FAIL(diag, INSITU_INTERNAL, "oneDNN failed to run %s of node '%s'", layer_info_of(failed->layer)->name,
         failed->name ? failed->name : "");
}

static insitu_status run_regions(const running_t *running, uint32_t first, uint32_t end, uint32_t *out_failed,
                                 insitu_diag *diag) {
    const program_t *program = running->program;
    call_state_t *state = running->state;
    for (uint32_t i = 0; i < program->region_count; i++) {
        program_region_t part = program->regions[i];
        if (part.item || part.end <= first || part.first >= end) continue;
        if (part.first < first) part.first = first;
        if (part.end > end) part.end = end;
        run_region(running, &part);
        *out_failed = atomic_load(&state->failed_step);
        if (*out_failed != NONE) return check_report(program, state, diag);
        if (!state->library_failed) continue;
        *out_failed = part.first;
        return library_report(program, part.first, diag);
    }
    return INSITU_OK;
}

insitu_status cpu_run(const device_t *device, void *stream, const void *prepared, const device_call_t *call,
                      insitu_diag *diag) {
    (void)device, (void)stream;
    const program_t *program = prepared;
    call_state_t *state = call->workspace;
    memset(state, 0, sizeof(*state));
    atomic_store(&state->failed_step, NONE);
    for (uint32_t i = 0; i < program->threads; i++) state->failures[i].step = NONE;
    running_t running = {program, call, state};
    uint32_t failed = NONE;
    insitu_status status =
        run_regions(&running, call->first - program->first_step, call->end - program->first_step, &failed, diag);
    if (status != INSITU_OK && call->out_failed) *call->out_failed = program->first_step + failed;
    return status;
}
