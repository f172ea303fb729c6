/* The CPU as a device: its memory is the host's, and work is done when a function returns. */
#include "backend/cpu/program.h"
#include "backend/devices.h"

static void *allocate(const device_t *device, size_t bytes, size_t alignment, bool zeroed) {
    (void)device;
    return zeroed ? memory_alloc_zeros(bytes, alignment) : memory_alloc_aligned(bytes, alignment);
}

static void free_memory(const device_t *device, void *memory) {
    (void)device;
    memory_free(memory);
}

/* ---- copies ---- */

static insitu_status copy(const device_t *device, void *stream, void *target, const void *source, size_t bytes,
                          insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    if (bytes) memmove(target, source, bytes);
    return INSITU_OK;
}

static insitu_status copy_strided(const device_t *device, void *stream, const device_copy_t *copy, insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    strided_copy_bytes(copy->item, copy->rank, copy->sizes, copy->target, copy->target_steps, copy->source,
                       copy->source_steps);
    return INSITU_OK;
}

static insitu_status fill(const device_t *device, void *stream, void *target, uint8_t byte, size_t bytes,
                          insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    if (bytes) memset(target, byte, bytes);
    return INSITU_OK;
}

static insitu_status clear(const device_t *device, void *stream, void *memory, size_t bytes, insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    memory_set_zeros(memory, bytes);
    return INSITU_OK;
}

/* ---- order: nothing to wait for ---- */

static insitu_status synchronize(const device_t *device, void *stream, insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    return INSITU_OK;
}

static insitu_status record(const device_t *device, void *stream, device_event_t **event, insitu_diag *diag) {
    (void)device, (void)stream, (void)event, (void)diag;
    return INSITU_OK;
}

static insitu_status wait_for(const device_t *device, void *stream, const device_event_t *event, insitu_diag *diag) {
    (void)device, (void)stream, (void)event, (void)diag;
    return INSITU_OK;
}

static void event_free(const device_t *device, device_event_t *event) { (void)device, (void)event; }

/* ---- the registry's row ---- */

static uint32_t thread_limit(const device_t *device) {
    (void)device;
    return cpu_quota();
}

static uint32_t threads(const device_t *device, uint32_t limit) {
    (void)device;
    return cpu_threads(limit);
}

const device_t *device_cpu(void) {
    static const device_t cpu = {.entry = &device_entry_cpu,
                                 .tensor_device = {INSITU_DEVICE_CPU, 0},
                                 .is_host = true,
                                 .allocate = allocate,
                                 .free = free_memory,
                                 .copy_to = copy,
                                 .copy_from = copy,
                                 .copy_within = copy,
                                 .copy_strided = copy_strided,
                                 .fill = fill,
                                 .clear = clear,
                                 .synchronize = synchronize,
                                 .record = record,
                                 .wait = wait_for,
                                 .event_free = event_free,
                                 .thread_limit = thread_limit,
                                 .threads = threads,
                                 .prepare = cpu_prepare,
                                 .has_threads = cpu_has_threads,
                                 .run = cpu_run,
                                 .release = cpu_release};
    return &cpu;
}

static insitu_status open_cpu(int32_t index, const device_t **out_device, insitu_diag *diag) {
    *out_device = NULL;
    if (index) FAIL(diag, INSITU_ARG, "there is one CPU device: 'cpu:%d' is none", (int)index);
    *out_device = device_cpu();
    return INSITU_OK;
}

const device_entry_t device_entry_cpu = {
    .name = "cpu", .title = "CPU", .is_available = true, .can_alias = true, .takes = kernels_take, .open = open_cpu};
