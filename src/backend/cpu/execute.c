/* Runs a prepared program: its regions one after another, each walked by all its threads.
 *
 * Everything that changes during a call lies in the call's workspace, so that one program may run in several threads at
 * once. Nothing is allocated. */
#include "backend/cpu/program.h"

#include <omp.h>
#include <time.h>

typedef struct running {
    const program *program;
    const backend_call *call;
    call_state *state;
} running;

static kernel_call call_of(const running *running, const program_step *step, uint32_t thread, uint32_t threads) {
    char *workspace = (char *)running->call->workspace + running->program->workspace_offset;
    return (kernel_call){.step = step->step,
                         .bases = running->call->bases,
                         .data = step->data,
                         .workspace = workspace + thread * running->program->thread_workspace,
                         .thread = step->alone ? 0 : thread,
                         .threads = step->alone ? 1 : threads,
                         .failed = &running->state->library_failed};
}

static void run_step(const running *running, uint32_t index, uint32_t thread, uint32_t threads) {
    const program_step *step = &running->program->steps[index];
    if (step->alone && thread) return;
    kernel_call call = call_of(running, step, thread, threads);
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
static void trace_step(const running *running, uint32_t index, uint32_t thread, uint32_t threads) {
    barrier_wait(&running->state->barrier, threads);
    int64_t begin = now();
    run_step(running, index, thread, threads);
    barrier_wait(&running->state->barrier, threads);
    if (thread) return;
    const program_step *step = &running->program->steps[index];
    double microseconds = (double)(now() - begin) / 1e3;
    text described;
    text_init(&described);
    step_describe(step->step, &described);
    log_printf(3, "step %u '%s' %s by %s on %u threads: %.1f us", index, step->step->step->name,
               described.data ? described.data : "", step->row ? step->row->name : "check", step->alone ? 1 : threads,
               microseconds);
    text_release(&described);
}

static bool has_failed_before(const call_state *state, uint32_t step) {
    return atomic_load_explicit(&((call_state *)(uintptr_t)state)->failed_step, memory_order_relaxed) < step;
}

/* One thread's walk through a region. All threads leave at the same step: a test looks only at checks before it, which
 * the barrier has completed. */
static void walk_region(const running *running, const program_region *region, uint32_t thread, uint32_t threads) {
    for (uint32_t i = region->first; i < region->end; i++) {
        const program_step *step = &running->program->steps[i];
        if (step->wait) barrier_wait(&running->state->barrier, threads);
        if (step->test && has_failed_before(running->state, i)) return;
        if (running->program->trace)
            trace_step(running, i, thread, threads);
        else
            run_step(running, i, thread, threads);
    }
}

static void run_region(const running *running, const program_region *region) {
    if (region->threads == 1) {
        walk_region(running, region, 0, 1);
        return;
    }
#pragma omp parallel num_threads((int)region->threads) default(none) shared(running, region)
    walk_region(running, region, (uint32_t)omp_get_thread_num(), (uint32_t)omp_get_num_threads());
}

insitu_status cpu_run(const void *prepared, const backend_call *call, insitu_diag *diag) {
    const program *program = prepared;
    call_state *state = call->workspace;
    memset(state, 0, sizeof(*state));
    atomic_store(&state->failed_step, NONE);
    for (uint32_t i = 0; i < program->threads; i++) state->failures[i].step = NONE;
    running running = {program, call, state};
    for (uint32_t i = 0; i < program->region_count; i++) {
        const program_region *region = &program->regions[i];
        run_region(&running, region);
        if (atomic_load(&state->failed_step) != NONE) return check_report(program, state, diag);
        if (state->library_failed) {
            const plan_step *step = program->steps[region->first].step->step;
            FAIL(diag, INSITU_INTERNAL, "oneDNN failed to run %s of node '%s'", layer_info_of(step->layer)->name,
                 step->name ? step->name : "");
        }
    }
    return INSITU_OK;
}

const backend *backend_cpu(void) {
    static const backend cpu = {"cpu", cpu_prepare, cpu_run, cpu_release};
    return &cpu;
}
