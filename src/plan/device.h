/* Devices: memory, order of work, and kernels. The runtime, states and files touch a device's memory through these functions
 * alone. A backend (src/backend/) implements them; docs/devices.md says how to add one.
 *
 * Addresses. An address of a device's memory is a pointer that host code may add to and compare, but only follow if the
 * device's memory is the host's (is_host). Memory of the device comes from allocate, or is the caller's.
 *
 * Order. Work is queued on a stream: copies, fills and runs of one stream happen in the order of the calls. NULL is the
 * device's default stream; a stream of the caller's is whatever the device's API calls one. An asynchronous device
 * (is_async) may return before the work is done; synchronize waits for it. What a function reads from host memory it has
 * read when it returns, and what it writes to host memory it has written.
 *
 * Faults. A step that fails on a device that is not asynchronous makes run fail. On one that is, run has returned by then:
 * the first failure of a fault object is kept there, and from then on no work that carries the object writes anything, until
 * take_fault has told of it. So calls that were queued behind the failed one change nothing.
 *
 * Every function may be called by several threads at once, with different objects. Errors of the ones that return a status
 * are NOMEM, and DEVICE for what the device's own API reports. */
#ifndef DEVICE_H
#define DEVICE_H

#include "plan/bound_plan.h"

typedef struct device device_t;
typedef struct device_event device_event_t; /* a point in a stream's work */
typedef struct device_fault
    device_fault_t; /* where an asynchronous device keeps the first failure of a state's calls */

/* Two strided places of as many items; an item is any number of bytes. */
typedef struct device_copy {
    size_t item;
    uint32_t rank;
    const int64_t *sizes;
    void *target;
    const int64_t *target_steps; /* bytes from item to item */
    const void *source;
    const int64_t *source_steps;
} device_copy_t;

typedef struct device_call {
    void *const *bases;    /* address of each storage of the plan; NULL for one that no step uses, or inside a group */
    void *workspace;       /* as many bytes as prepare asked for, aligned to ARENA_ALIGNMENT */
    uint32_t first, end;   /* the steps to run, numbered as bound_plan numbers them */
    uint32_t *out_failed;  /* on failure: the step that failed; NULL allowed */
    uint64_t number;       /* of the call among those with this fault: rising */
    device_fault_t *fault; /* NULL on a device that is not asynchronous */
    bool is_undo; /* the steps are restores, and only run if the call of this number has failed: those that undo the
                             saves before the step that failed, unless that is behind the plan's last check */
} device_call_t;

/* What a backend knows of a device before it is opened: a row of the registry. */
typedef struct device_entry {
    const char *name;  /* "cpu" */
    const char *title; /* "CPU", of sentences */
    bool is_available; /* else it is known by name, so that the refusal says why */
    bool can_alias;    /* an input and an output may share memory */
    /* A kernel that runs on every such device takes the step's layer with these dtypes. */
    bool (*takes)(const plan_step_t *step);
    /* The device of that number, which lasts as long as the process. Errors: ARG (there is none), DEVICE. */
    insitu_status (*open)(int32_t index, const device_t **out_device, insitu_diag *diag);
} device_entry_t;

struct device {
    const device_entry_t *entry;
    insitu_device tensor_device; /* of tensors in its memory: type and number */
    bool is_host;                /* its memory is the host's */
    bool is_async;

    /* ---- memory ---- */
    /* NULL if memory is short. Aligned to alignment, a power of two up to a page. zeroed: all bytes are 0, without being
     * touched where that can be had. */
    void *(*allocate)(const device_t *device, size_t bytes, size_t alignment, bool zeroed);
    /* Work that is queued may still use it. NULL allowed. */
    void (*free)(const device_t *device, void *memory);
    insitu_status (*copy_to)(const device_t *device, void *stream, void *target, const void *host, size_t bytes,
                             insitu_diag *diag);
    /* Waits for the stream. */
    insitu_status (*copy_from)(const device_t *device, void *stream, void *host, const void *source, size_t bytes,
                               insitu_diag *diag);
    /* The two may overlap. */
    insitu_status (*copy_within)(const device_t *device, void *stream, void *target, const void *source, size_t bytes,
                                 insitu_diag *diag);
    /* They may not. */
    insitu_status (*copy_strided)(const device_t *device, void *stream, const device_copy_t *copy, insitu_diag *diag);
    insitu_status (*fill)(const device_t *device, void *stream, void *target, uint8_t byte, size_t bytes,
                          insitu_diag *diag);

    /* Memory of allocate's, or a part of it, becomes zeros; where that can be had its pages are given back. */
    insitu_status (*clear)(const device_t *device, void *stream, void *memory, size_t bytes, insitu_diag *diag);

    /* ---- order ---- */
    /* Waits for the stream's work. */
    insitu_status (*synchronize)(const device_t *device, void *stream, insitu_diag *diag);
    /* *event NULL: makes it first. */
    insitu_status (*record)(const device_t *device, void *stream, device_event_t **event, insitu_diag *diag);
    /* Work queued on the stream from now on comes after the event's; NULL: after nothing. */
    insitu_status (*wait)(const device_t *device, void *stream, const device_event_t *event, insitu_diag *diag);
    void (*event_free)(const device_t *device, device_event_t *event); /* NULL allowed */

    /* ---- faults, of an asynchronous device (else NULL) ---- */
    insitu_status (*fault_create)(const device_t *device, device_fault_t **out_fault, insitu_diag *diag);
    void (*fault_free)(const device_t *device, device_fault_t *fault); /* NULL allowed */
    /* Waits for all work that carries the object, reports the first failure and forgets it: the number of the call that
     * failed, and the step. Errors: those of run; *out_number and *out_failed are only written then. */
    insitu_status (*take_fault)(const device_t *device, device_fault_t *fault, uint64_t *out_number,
                                uint32_t *out_failed, insitu_diag *diag);

    /* ---- kernels ---- */
    /* Threads that its owner may use, of what does not change from call to call (a quota of the CPU). */
    uint32_t (*thread_limit)(const device_t *device);
    /* How many threads a call from the calling thread can have now, at most limit; at least 1. */
    uint32_t (*threads)(const device_t *device, uint32_t limit);
    /* Which steps one kernel runs: *out_groups ascend, do not overlap, have two steps or more each, and none contains a
     * stop of the plan's facts, but at its beginning. Steps of no group are alone. It is asked before memory is laid out: an ARENA storage that
     * only steps of one group use takes none, and has no base in a call. NULL: no groups. */
    insitu_status (*group)(const device_t *device, const bound_plan_t *bound, arena_t *arena, plan_group_t **out_groups,
                           uint32_t *out_count, insitu_diag *diag);
    /* Chooses kernels for calls of so many threads, and lays out the run. What it makes lives in the arena and never in
     * anything global; it keeps pointers into bound, which must live as long.
     * Errors: UNSUPPORTED (no kernel takes a step: names layer, dtypes, shapes, and each refusal's reason), NOMEM. */
    insitu_status (*prepare)(const device_t *device, const bound_plan_t *bound, uint32_t threads, arena_t *arena,
                             void **out_prepared, size_t *out_workspace_bytes, insitu_diag *diag);
    /* True if a call from the calling thread would have the threads without which run goes wrong. It is asked before run;
     * a program that was prepared for one thread always has it. */
    bool (*has_threads)(const device_t *device, const void *prepared);
    /* Runs the call's steps, which begin and end where a group does; an item or a control step does nothing here, its value
     * is the runtime's to read between runs. After a failed check no later step has written a state or an input. Allocates nothing.
     * May be called by several threads at once with different bases and workspaces, save that plan_patch must not run
     * meanwhile; bases may change when it returns. */
    insitu_status (*run)(const device_t *device, void *stream, const void *prepared, const device_call_t *call,
                         insitu_diag *diag);
    /* Gives back what a library made for it (oneDNN's primitives); the rest goes with the arena. NULL allowed. Nothing that
     * uses it is queued. */
    void (*release)(const device_t *device, void *prepared);
};

/* ---- the registry (backend/devices.c) ---- */
/* By number, from 0 on; NULL after the last. */
const device_entry_t *device_entry_at(uint32_t number);
/* "cuda:1": the entry of that name, and the number after the colon, 0 without one. NULL: none, or no such form. */
const device_entry_t *device_entry_find(const char *name, int32_t *out_index);
/* Adds a device kind for the rest of the process; before any engine is made. False: the registry is full. */
bool device_register(const device_entry_t *entry);
/* "unknown device 'x': cpu is known". Returns ARG. */
insitu_status device_unknown(const char *name, insitu_diag *diag);
/* Errors: ARG (no such device), UNSUPPORTED (not available here), DEVICE. */
MUST_CHECK insitu_status device_open(const char *name, const device_t **out_device, insitu_diag *diag);
const device_t *device_cpu(void);

#endif
