#include "second_device.h"

#include "backend/cpu/program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MEMORY_BYTES ((size_t)4 << 30)
#define BIAS ((uintptr_t)1 << 62) /* such an address can't be followed */
enum { PAGE = 4096, MAX_BLOCKS = 1 << 16, PAUSE = 20000 /* nanoseconds before each run */ };

static void demand(bool is_true, const char *what) {
    if (is_true) return;
    (void)fprintf(stderr, "second device: %s\n", what);
    abort();
}

/* ---- memory: blocks of pages, behind the bias ---- */

static struct {
    pthread_mutex_t lock;
    uint8_t *data;
    size_t used; /* bytes that were ever given out */
    struct {
        size_t start, size;
        bool is_free;
    } blocks[MAX_BLOCKS];
    uint32_t count;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *host_of(const void *address, size_t bytes) {
    uintptr_t place = (uintptr_t)address - BIAS - (uintptr_t)memory.data;
    demand((uintptr_t)address >= BIAS && place <= memory.used && bytes <= memory.used - place,
           "an address that is not its own");
    return memory.data + place;
}

static void *address_of(size_t start) { return (void *)((uintptr_t)memory.data + start + BIAS); }

static uint32_t find_block(size_t size) {
    for (uint32_t i = 0; i < memory.count; i++)
        if (memory.blocks[i].is_free && memory.blocks[i].size == size) return i;
    if (memory.count == MAX_BLOCKS || size > MEMORY_BYTES - memory.used) return NONE;
    memory.blocks[memory.count].start = memory.used;
    memory.blocks[memory.count].size = size;
    memory.used += size;
    return memory.count++;
}

/* ---- work: one thread does it in order ---- */

typedef struct work {
    struct work *next;
    void (*run)(struct work *work);
    bool is_waited; /* the one who queued it waits, and owns it */
    bool is_done;
} work_t;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    work_t *first, *last;
    uint64_t queued, done;
    bool is_started, is_held;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void protect(int how) {
    if (memory.used) demand(mprotect(memory.data, memory.used, how) == 0, "mprotect failed");
}

static void do_work(work_t *work) {
    (void)pthread_mutex_lock(&memory.lock); /* what is used stays as it is */
    protect(PROT_READ | PROT_WRITE);
    work->run(work);
    protect(PROT_NONE);
    (void)pthread_mutex_unlock(&memory.lock);
}

static void *serve(void *unused) {
    (void)pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (!queue.first || queue.is_held) (void)pthread_cond_wait(&queue.changed, &queue.lock);
        work_t *work = queue.first;
        queue.first = work->next;
        (void)pthread_mutex_unlock(&queue.lock);
        bool is_waited = work->is_waited;
        do_work(work);
        if (!is_waited) free(work);
        (void)pthread_mutex_lock(&queue.lock);
        if (is_waited) work->is_done = true;
        queue.done++;
        (void)pthread_cond_broadcast(&queue.changed);
    }
    return unused;
}

static void start(void) {
    pthread_t thread;
    if (queue.is_started) return;
    memory.data = mmap(NULL, MEMORY_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    demand(memory.data != MAP_FAILED, "no memory");
    demand(pthread_create(&thread, NULL, serve, NULL) == 0, "no thread");
    (void)pthread_detach(thread);
    queue.is_started = true;
}

static void push(work_t *work) {
    (void)pthread_mutex_lock(&queue.lock);
    start();
    work->next = NULL;
    if (queue.first)
        queue.last->next = work;
    else
        queue.first = work;
    queue.last = work;
    queue.queued++;
    (void)pthread_cond_broadcast(&queue.changed);
    (void)pthread_mutex_unlock(&queue.lock);
}

static void push_and_wait(work_t *work) {
    work->is_waited = true;
    push(work);
    (void)pthread_mutex_lock(&queue.lock);
    while (!work->is_done) (void)pthread_cond_wait(&queue.changed, &queue.lock);
    (void)pthread_mutex_unlock(&queue.lock);
}

static void wait_for_all(void) {
    (void)pthread_mutex_lock(&queue.lock);
    uint64_t queued = queue.queued;
    while (queue.done < queued) (void)pthread_cond_wait(&queue.changed, &queue.lock);
    (void)pthread_mutex_unlock(&queue.lock);
}

void second_device_hold(bool is_held) {
    (void)pthread_mutex_lock(&queue.lock);
    queue.is_held = is_held;
    (void)pthread_cond_broadcast(&queue.changed);
    (void)pthread_mutex_unlock(&queue.lock);
}

static void *new_work(size_t size, void (*run)(work_t *work)) {
    work_t *made = calloc(1, size);
    demand(made != NULL, "no memory for work");
    made->run = run;
    return made;
}

/* ---- copies ---- */

typedef struct copy_work {
    work_t work;
    void *target;
    const void *source; /* NULL: fill, or the bytes behind this */
    void *host;         /* where a copy to the host goes */
    size_t bytes;
    uint8_t byte;
    uint8_t data[];
} copy_work_t;

static void run_fill(work_t *work) {
    const copy_work_t *copy = (copy_work_t *)work;
    memset(host_of(copy->target, copy->bytes), copy->byte, copy->bytes);
}

static void run_copy_to(work_t *work) {
    const copy_work_t *copy = (copy_work_t *)work;
    memcpy(host_of(copy->target, copy->bytes), copy->data, copy->bytes);
}

static void run_copy_from(work_t *work) {
    const copy_work_t *copy = (copy_work_t *)work;
    memcpy(copy->host, host_of(copy->source, copy->bytes), copy->bytes);
}

static void run_copy_within(work_t *work) {
    const copy_work_t *copy = (copy_work_t *)work;
    memmove(host_of(copy->target, copy->bytes), host_of(copy->source, copy->bytes), copy->bytes);
}

static insitu_status fill(const device_t *device, void *stream, void *target, uint8_t byte, size_t bytes,
                          insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    if (!bytes) return INSITU_OK;
    copy_work_t *copy = new_work(sizeof(*copy), run_fill);
    copy->target = target;
    copy->byte = byte;
    copy->bytes = bytes;
    push(&copy->work);
    return INSITU_OK;
}

static insitu_status clear(const device_t *device, void *stream, void *target, size_t bytes, insitu_diag *diag) {
    return fill(device, stream, target, 0, bytes, diag);
}

static insitu_status copy_to(const device_t *device, void *stream, void *target, const void *host, size_t bytes,
                             insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    if (!bytes) return INSITU_OK;
    demand((uintptr_t)host < BIAS, "its own memory where the host's is expected");
    copy_work_t *copy = new_work(sizeof(*copy) + bytes, run_copy_to);
    copy->target = target;
    copy->bytes = bytes;
    memcpy(copy->data, host, bytes);
    push(&copy->work);
    return INSITU_OK;
}

static insitu_status copy_from(const device_t *device, void *stream, void *host, const void *source, size_t bytes,
                               insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    if (!bytes) return INSITU_OK;
    demand((uintptr_t)host < BIAS, "its own memory where the host's is expected");
    copy_work_t *copy = new_work(sizeof(*copy), run_copy_from);
    copy->host = host;
    copy->source = source;
    copy->bytes = bytes;
    push_and_wait(&copy->work);
    free(copy);
    return INSITU_OK;
}

static insitu_status copy_within(const device_t *device, void *stream, void *target, const void *source, size_t bytes,
                                 insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    if (!bytes) return INSITU_OK;
    copy_work_t *copy = new_work(sizeof(*copy), run_copy_within);
    copy->target = target;
    copy->source = source;
    copy->bytes = bytes;
    push(&copy->work);
    return INSITU_OK;
}

typedef struct strided_work {
    work_t work;
    device_copy_t copy;
    int64_t sizes[MAX_RANK], target_steps[MAX_RANK], source_steps[MAX_RANK];
} strided_work_t;

static void run_strided(work_t *work) {
    const strided_work_t *strided = (strided_work_t *)work;
    const device_copy_t *copy = &strided->copy;
    strided_copy_bytes(copy->item, copy->rank, strided->sizes, host_of(copy->target, 0), strided->target_steps,
                       host_of(copy->source, 0), strided->source_steps);
}

static insitu_status copy_strided(const device_t *device, void *stream, const device_copy_t *copy, insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    strided_work_t *strided = new_work(sizeof(*strided), run_strided);
    strided->copy = *copy;
    for (uint32_t i = 0; i < copy->rank; i++) {
        strided->sizes[i] = copy->sizes[i];
        strided->target_steps[i] = copy->target_steps[i];
        strided->source_steps[i] = copy->source_steps[i];
    }
    push(&strided->work);
    return INSITU_OK;
}

static void *allocate(const device_t *device, size_t bytes, size_t alignment, bool zeroed) {
    demand(alignment <= PAGE, "an alignment of more than a page");
    size_t size = (bytes / PAGE + 1) * PAGE;
    (void)pthread_mutex_lock(&queue.lock);
    start();
    (void)pthread_mutex_unlock(&queue.lock);
    (void)pthread_mutex_lock(&memory.lock);
    uint32_t block = bytes < MEMORY_BYTES ? find_block(size) : NONE;
    if (block != NONE) memory.blocks[block].is_free = false;
    void *address = block == NONE ? NULL : address_of(memory.blocks[block].start);
    (void)pthread_mutex_unlock(&memory.lock);
    if (address) (void)fill(device, NULL, address, zeroed ? 0 : 0xA5, size, NULL);
    return address;
}

static void run_free(work_t *work) {
    const copy_work_t *copy = (copy_work_t *)work;
    for (uint32_t i = 0; i < memory.count; i++) {
        if (address_of(memory.blocks[i].start) != copy->target) continue;
        demand(!memory.blocks[i].is_free, "memory that is free is freed");
        memory.blocks[i].is_free = true;
        return;
    }
    demand(false, "memory is freed that is no block's beginning");
}

/* What is queued before may still use it. */
static void free_memory(const device_t *device, void *address) {
    (void)device;
    if (!address) return;
    copy_work_t *copy = new_work(sizeof(*copy), run_free);
    copy->target = address;
    push(&copy->work);
}

/* ---- order: one queue ---- */

static insitu_status synchronize(const device_t *device, void *stream, insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    wait_for_all();
    return INSITU_OK;
}

struct device_event {
    uint64_t queued;
};

static insitu_status record(const device_t *device, void *stream, device_event_t **event, insitu_diag *diag) {
    (void)device, (void)stream, (void)diag;
    if (!*event) *event = calloc(1, sizeof(**event));
    demand(*event != NULL, "no memory for an event");
    (void)pthread_mutex_lock(&queue.lock);
    (*event)->queued = queue.queued;
    (void)pthread_mutex_unlock(&queue.lock);
    return INSITU_OK;
}

static insitu_status wait_for(const device_t *device, void *stream, const device_event_t *event, insitu_diag *diag) {
    (void)device, (void)stream, (void)event, (void)diag;
    return INSITU_OK;
}

static void event_free(const device_t *device, device_event_t *event) {
    (void)device;
    free(event);
}

/* ---- faults ---- */

struct device_fault {
    bool is_set;
    insitu_status status;
    uint64_t number;
    uint32_t failed;
    char message[INSITU_DIAG_MESSAGE_SIZE];
};

static insitu_status fault_create(const device_t *device, device_fault_t **out_fault, insitu_diag *diag) {
    (void)device, (void)diag;
    *out_fault = calloc(1, sizeof(**out_fault));
    return *out_fault ? INSITU_OK : INSITU_NOMEM;
}

static void fault_free(const device_t *device, device_fault_t *fault) {
    (void)device;
    wait_for_all();
    free(fault);
}

static insitu_status take_fault(const device_t *device, device_fault_t *fault, uint64_t *out_number,
                                uint32_t *out_failed, insitu_diag *diag) {
    (void)device;
    wait_for_all();
    if (!fault->is_set) return INSITU_OK;
    fault->is_set = false;
    *out_number = fault->number;
    *out_failed = fault->failed;
    return diag_set(diag, fault->status, "%s", fault->message);
}

/* ---- groups ---- */

static bool is_elementwise(const bound_step_t *step) {
    return step->step->kind == STEP_LAYER && kind_has(step->step->layer, TRAIT_ELEMENTWISE);
}

static bool is_stop(const plan_t *plan, uint32_t step) {
    for (uint32_t i = plan_stop_from(plan, step); i < plan->facts.stop_count && plan->facts.stops[i].step == step; i++)
        if (plan->facts.stops[i].kind != STOP_CHECKED) return true;
    return false;
}

static uint32_t group_count;
uint32_t second_device_groups(void) { return __atomic_load_n(&group_count, __ATOMIC_RELAXED); }

static insitu_status group(const device_t *device, const bound_plan_t *bound, arena_t *arena, plan_group_t **out_groups,
                           uint32_t *out_count, insitu_diag *diag) {
    (void)device, (void)diag;
    TRY(arena_array(arena, bound->step_count + 1, sizeof(**out_groups), out_groups));
    *out_count = 0;
    for (uint32_t i = 0; i < bound->step_count;) {
        uint32_t end = i + 1;
        while (is_elementwise(&bound->steps[i]) && end < bound->step_count && is_elementwise(&bound->steps[end]) &&
               !is_stop(bound->plan, bound->first_step + end))
            end++;
        if (end > i + 1) (*out_groups)[(*out_count)++] = (plan_group_t){bound->first_step + i, bound->first_step + end};
        i = end;
    }
    (void)__atomic_add_fetch(&group_count, *out_count, __ATOMIC_RELAXED);
    return INSITU_OK;
}

/* ---- runs ---- */

typedef struct prepared {
    bound_plan_t bound; /* its inner values have places, behind the CPU's workspace */
    void *program;
    bool *is_inner; /* of each storage */
    size_t *places; /* of the inner ones, in the workspace */
    size_t workspace_bytes;
} prepared_t;

/* Inner values of groups lie one after another, each for itself. */
static insitu_status place_inner(prepared_t *made, const bound_plan_t *bound, arena_t *arena, size_t *out_bytes) {
    size_t *offsets, base = 0;
    const plan_t *plan = bound->plan;
    TRY(arena_array(arena, plan->storage_count, sizeof(*made->is_inner), &made->is_inner));
    TRY(arena_array(arena, plan->storage_count, sizeof(*made->places), &made->places));
    TRY(arena_copy(arena, bound->arena_offsets, plan->storage_count * sizeof(*offsets), &offsets));
    *out_bytes = 0;
    for (uint32_t i = 0; i < plan->storage_count; i++)
        if (plan->storages[i].kind == STORAGE_ARENA && offsets[i] != NO_PLACE &&
            offsets[i] + bound->storage_bytes[i] > base)
            base = offsets[i] + bound->storage_bytes[i];
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        if (plan->storages[i].kind != STORAGE_ARENA || offsets[i] != NO_PLACE) continue;
        made->is_inner[i] = true;
        made->places[i] = *out_bytes;
        offsets[i] = base + PAGE + *out_bytes;
        *out_bytes += (bound->storage_bytes[i] / ARENA_ALIGNMENT + 1) * ARENA_ALIGNMENT;
    }
    made->bound = *bound;
    made->bound.arena_offsets = offsets;
    return INSITU_OK;
}

static insitu_status prepare(const device_t *device, const bound_plan_t *bound, uint32_t threads, arena_t *arena,
                             void **out_prepared, size_t *out_workspace_bytes, insitu_diag *diag) {
    prepared_t *made;
    size_t inner, cpu;
    (void)device;
    *out_prepared = NULL;
    TRY(arena_array(arena, 1, sizeof(*made), &made));
    TRY(place_inner(made, bound, arena, &inner));
    TRY(cpu_prepare(device_cpu(), &made->bound, threads, arena, &made->program, &cpu, diag));
    made->workspace_bytes = (cpu / ARENA_ALIGNMENT + 1) * ARENA_ALIGNMENT;
    *out_workspace_bytes = made->workspace_bytes + inner;
    *out_prepared = made;
    return INSITU_OK;
}

static bool has_threads(const device_t *device, const void *prepared) {
    (void)device, (void)prepared;
    return true;
}

static void release(const device_t *device, void *given) {
    (void)device;
    prepared_t *made = given;
    if (made) cpu_release(device_cpu(), made->program);
}

typedef struct run_work {
    work_t work;
    const prepared_t *prepared;
    device_call_t call;
    void *bases[];
} run_work_t;

/* The restores that undo the saves before the step that failed. */
static void run_undo(run_work_t *run) {
    const device_fault_t *fault = run->call.fault;
    const plan_t *plan = run->prepared->bound.plan;
    if (!fault->is_set || fault->number != run->call.number) return;
    if (plan->facts.last_check == NONE || fault->failed > plan->facts.last_check) return;
    while (run->call.first < run->call.end && plan->restores[run->call.first].save_step >= fault->failed)
        run->call.first++;
    if (run->call.first == run->call.end) return;
    demand(cpu_run(device_cpu(), NULL, run->prepared->program, &run->call, NULL) == INSITU_OK, "a restore failed");
}

static void find_bases(run_work_t *run) {
    const bound_plan_t *bound = &run->prepared->bound;
    uint8_t *workspace = host_of(run->call.workspace, run->prepared->workspace_bytes);
    for (uint32_t i = 0; i < bound->plan->storage_count; i++) {
        if (run->bases[i]) run->bases[i] = host_of(run->bases[i], 0);
        if (run->prepared->is_inner[i])
            run->bases[i] = workspace + run->prepared->workspace_bytes + run->prepared->places[i];
    }
    run->call.bases = run->bases;
    run->call.workspace = workspace;
}

static void run_steps(work_t *work) {
    run_work_t *run = (run_work_t *)work;
    device_fault_t *fault = run->call.fault;
    uint32_t failed = NONE;
    insitu_diag diag;
    (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    find_bases(run);
    if (run->call.is_undo) {
        run_undo(run);
        return;
    }
    if (fault->is_set) return;
    insitu_diag_init(&diag);
    run->call.out_failed = &failed;
    insitu_status status = cpu_run(device_cpu(), NULL, run->prepared->program, &run->call, &diag);
    if (status != INSITU_OK) {
        *fault = (device_fault_t){.is_set = true, .status = status, .number = run->call.number, .failed = failed};
        memcpy(fault->message, diag.message, sizeof(fault->message));
    }
    insitu_diag_release(&diag);
}

static void check_ends(const bound_plan_t *bound, uint32_t first, uint32_t end) {
    demand(first == bound->first_step + bound->step_count || plan_group_of(bound, first).first == first,
           "a run begins inside a group");
    demand(end == first || plan_group_of(bound, end - 1).end == end, "a run ends inside a group");
}

static insitu_status run(const device_t *device, void *stream, const void *given, const device_call_t *call,
                         insitu_diag *diag) {
    const prepared_t *prepared = given;
    const plan_t *plan = prepared->bound.plan;
    (void)device, (void)stream, (void)diag;
    demand(call->fault != NULL, "a call without a fault");
    check_ends(&prepared->bound, call->first, call->end);
    run_work_t *queued = new_work(sizeof(*queued) + plan->storage_count * sizeof(void *), run_steps);
    queued->prepared = prepared;
    queued->call = *call;
    memcpy(queued->bases, call->bases, plan->storage_count * sizeof(void *));
    push(&queued->work);
    return INSITU_OK;
}

/* ---- the registry's row ---- */

static uint32_t one_thread(const device_t *device) {
    (void)device;
    return 1;
}
static uint32_t one_of(const device_t *device, uint32_t limit) {
    (void)device, (void)limit;
    return 1;
}

static const device_t second = {.entry = &second_device_entry,
                                .tensor_device = {SECOND_DEVICE_TYPE, 0},
                                .is_async = true,
                                .allocate = allocate,
                                .free = free_memory,
                                .copy_to = copy_to,
                                .copy_from = copy_from,
                                .copy_within = copy_within,
                                .copy_strided = copy_strided,
                                .fill = fill,
                                .clear = clear,
                                .synchronize = synchronize,
                                .record = record,
                                .wait = wait_for,
                                .event_free = event_free,
                                .fault_create = fault_create,
                                .fault_free = fault_free,
                                .take_fault = take_fault,
                                .thread_limit = one_thread,
                                .threads = one_of,
                                .group = group,
                                .prepare = prepare,
                                .has_threads = has_threads,
                                .run = run,
                                .release = release};

static insitu_status open_second(int32_t index, const device_t **out_device, insitu_diag *diag) {
    *out_device = NULL;
    if (index) FAIL(diag, INSITU_ARG, "there is no device 'second:%d'", (int)index);
    *out_device = &second;
    return INSITU_OK;
}

const device_entry_t second_device_entry = {.name = "second",
                                            .title = "second",
                                            .is_available = true,
                                            .can_alias = true,
                                            .takes = kernels_take,
                                            .open = open_second};

__attribute__((constructor)) static void add_second(void) { (void)device_register(&second_device_entry); }
