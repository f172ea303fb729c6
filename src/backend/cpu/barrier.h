/* A spinning barrier for the threads of one region. A thread that has waited long lets others run. */
#ifndef BARRIER_H
#define BARRIER_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct barrier {
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint phase;
} barrier_t;

static inline void barrier_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void barrier_wait(barrier_t *barrier, uint32_t threads) {
    if (threads == 1) return;
    unsigned phase = atomic_load_explicit(&barrier->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel) + 1 == threads) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&barrier->phase, phase + 1, memory_order_release);
        return;
    }
    for (uint32_t spins = 0; atomic_load_explicit(&barrier->phase, memory_order_acquire) == phase; spins++) {
        if (spins < 4000)
            barrier_pause();
        else
            (void)sched_yield();
    }
}

#endif
