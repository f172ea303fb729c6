/* A prepared program (prepare.c) and how a call of it looks while it runs (execute.c). */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "backend/cpu/barrier.h"
#include "backend/cpu/cpu_int.h"

typedef struct program_step {
    const bound_step_t *step;
    const kernel_row_t *row; /* NULL: CHECK_INDEX, or an item, which the runtime reads */
    void *data;              /* of the row's maker */
    bool alone;              /* thread 0 runs it alone */
    bool wait;               /* a barrier comes first */
    bool test;               /* then the call ends if a check has failed */
} program_step_t;

typedef struct program_region { /* steps [first, end) */
    uint32_t first, end, threads;
    bool whole; /* one step of a library that has threads of its own */
    bool item;  /* one item step: nothing to do, but runs may end here */
} program_region_t;

typedef struct program { /* immutable */
    program_step_t *steps;
    program_region_t *regions;
    uint32_t step_count, region_count;
    uint32_t first_step;     /* what the plan calls steps[0] */
    uint32_t threads;        /* at most, in any region */
    uint32_t team_step;      /* the first step of a library that relies on its number of threads; NONE */
    size_t thread_workspace; /* bytes of each thread */
    size_t workspace_offset; /* of thread 0's in the call's workspace */
    bool trace;
} program_t;

typedef struct check_failure { /* the first that a thread met */
    _Alignas(64) uint32_t step;
    int64_t position, value;
} check_failure_t;

typedef struct call_state { /* at the start of the call's workspace, followed by a check_failure for each thread */
    barrier_t barrier;
    _Alignas(64) atomic_uint failed_step; /* lowest step whose check failed; NONE */
    bool library_failed;
    uint32_t library_step;
    check_failure_t failures[];
} call_state_t;

/* Records the first element in this thread's share that lies outside the step's extent. */
void check_index(const kernel_call_t *call, uint32_t step, call_state_t *state);
insitu_status check_report(const program_t *program, const call_state_t *state, insitu_diag *diag);

insitu_status cpu_prepare(const device_t *device, const bound_plan_t *bound, uint32_t threads, arena_t *arena,
                          void **out_prepared, size_t *out_workspace_bytes, insitu_diag *diag);
bool cpu_has_threads(const device_t *device, const void *prepared);
insitu_status cpu_run(const device_t *device, void *stream, const void *prepared, const device_call_t *call,
                      insitu_diag *diag);
void cpu_release(const device_t *device, void *prepared);

#endif
