/* How many threads a parallel region gets. Before a call they are counted from the calling thread's settings; before a
 * library runs that relies on their number, a region of that size is opened and those who come are counted. */
#include "backend/cpu/team.h"

#include "backend/cpu/cpu_int.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

/* In the child of a fork, the thread that called it has an OpenMP runtime whose other threads are gone: GNU's waits for
 * them for ever. Other threads of the child make their own. */
static _Thread_local bool is_orphan;
static void become_orphan(void) { is_orphan = true; }
__attribute__((constructor)) static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, become_orphan); }

static uint32_t at_most(uint32_t limit, int count) {
    if (count < 1) return 1;
    return (uint32_t)count < limit ? (uint32_t)count : limit;
}

uint32_t cpu_threads(uint32_t limit) {
    if (is_orphan || omp_in_parallel() || omp_get_max_active_levels() < 1) return 1;
    uint32_t threads = at_most(limit, omp_get_max_threads());
    threads = at_most(threads, omp_get_thread_limit());
    return threads > 1 ? at_most(threads, (int)cpu_affinity()) : 1;
}

void team_enter(const team_runtime_t *runtime, uint32_t threads, team_settings_t *out_before) {
    *out_before = (team_settings_t){runtime->get_max_threads(), runtime->get_dynamic()};
    runtime->set_dynamic(0);
    runtime->set_num_threads((int)threads);
}

void team_leave(const team_runtime_t *runtime, const team_settings_t *before) {
    runtime->set_num_threads(before->count);
    runtime->set_dynamic(before->dynamic);
}

/* A library's symbols are looked for in the program and what was linked with it first, then in what the library itself
 * was linked with. */
static void *find_function(void *program, void *library, const char *name) {
    void *found = program ? dlsym(program, name) : NULL;
    return found ? found : dlsym(library, name);
}

bool team_runtime_find(void *library, team_runtime_t *out_runtime) {
    void *program = dlopen(NULL, RTLD_LAZY);
    struct {
        const char *name;
        void *function;
    } rows[] = {
        {"omp_set_num_threads", &out_runtime->set_num_threads},
        {"omp_get_max_threads", &out_runtime->get_max_threads},
        {"omp_set_dynamic", &out_runtime->set_dynamic},
        {"omp_get_dynamic", &out_runtime->get_dynamic},
        {"GOMP_parallel", &out_runtime->parallel},
    };
    bool is_complete = true;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        void *function = find_function(program, library, rows[i].name);
        memcpy(rows[i].function, &function, sizeof(function));
        is_complete = is_complete && function;
    }
    if (program) (void)dlclose(program);
    return is_complete;
}

typedef struct muster {
    atomic_uint came, odd;
} muster_t;

static void answer(void *data) {
    muster_t *muster = data;
    float_mode_t mode;
    float_mode_enter(&mode);
    atomic_fetch_add_explicit(&muster->came, 1, memory_order_relaxed);
    if (mode.is_changed) atomic_fetch_add_explicit(&muster->odd, 1, memory_order_relaxed);
    float_mode_leave(&mode);
}

bool team_is_whole(const team_runtime_t *runtime, uint32_t threads) {
    muster_t muster = {0};
    team_settings_t before;
    team_enter(runtime, threads, &before);
    runtime->parallel(answer, &muster, threads, 0);
    team_leave(runtime, &before);
    return atomic_load(&muster.came) == threads && atomic_load(&muster.odd) == 0;
}
