/* The documented rules for threads, for the thread sanitizer to watch: one engine for all; states and contexts that each
 * thread makes, forks, saves and ends by itself while others do; states that wander from thread to thread; and two calls
 * at once on one state, of which one is refused. */
#include "saved_calls.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 12 };

typedef struct shared {
    saved_calls_t *calls;
    insitu_state *expected; /* after one call on a new state */
    insitu_state *contended;
    insitu_module *module;
    int refused, made; /* calls on the contended state */
    insitu_state *handed[THREADS];
    pthread_barrier_t barrier;
} shared_t;

typedef struct worker {
    shared_t *shared;
    int number;
    pthread_t thread;
    saved_calls_t own; /* the shared engine and values with a diagnostic of one's own */
} worker_t;

static void must(const worker_t *w, insitu_status status) {
    if (status == INSITU_OK) return;
    printf("%s: %s: %s\n", w->own.name, insitu_status_name(status), w->own.diag.message);
    abort(); /* cmocka's failures are the main thread's alone */
}

static void expect(const worker_t *w, bool is_good, const char *what) {
    if (is_good) return;
    printf("%s: thread %d: %s\n", w->own.name, w->number, what);
    abort();
}

/* A state from its making to its end. */
static void live_alone(worker_t *w, insitu_context *context, int round) {
    insitu_diag *diag = &w->own.diag;
    insitu_state *state, *fork;
    int32_t snapshot;
    char path[96];
    snprintf(path, sizeof(path), "/tmp/insitu_threads_%ld_%d", (long)getpid(), w->number);
    must(w, insitu_state_create(w->own.engine, &state, diag));
    must(w, saved_calls_run(&w->own, context, state, 0));
    expect(w, states_are_equal(state, w->shared->expected), "another state after a call");
    must(w, insitu_state_snapshot(state, NULL, &snapshot, diag));
    (void)saved_calls_run(&w->own, context, state, 1);
    must(w, insitu_state_fork(state, NULL, &fork, diag));
    must(w, insitu_state_restore(state, snapshot, NULL, diag));
    expect(w, states_are_equal(state, w->shared->expected), "another state after a snapshot");
    if (round % 4 == 0) {
        must(w, insitu_state_save(state, path, diag));
        must(w, insitu_state_load(fork, path, diag));
        expect(w, states_are_equal(fork, w->shared->expected), "another state from a file");
        (void)unlink(path);
    }
    must(w, insitu_state_reset(fork, NULL, diag));
    must(w, saved_calls_run(&w->own, context, fork, 0));
    expect(w, states_are_equal(fork, w->shared->expected), "another state after a reset");
    insitu_state_destroy(fork);
    insitu_state_destroy(state);
}

/* Any of the verbs, at any moment, on the state that all threads use. */
static void contend(worker_t *w, insitu_context *context, int round) {
    insitu_state *state = w->shared->contended, *fork = NULL;
    insitu_status status;
    switch ((round + w->number) % 4) {
    case 0: status = insitu_state_fork(state, NULL, &fork, &w->own.diag); break;
    case 1: status = insitu_state_reset(state, NULL, &w->own.diag); break;
    default: status = saved_calls_run(&w->own, context, state, 0); break;
    }
    if (status == INSITU_ARG) {
        expect(w, strstr(w->own.diag.message, "another call is running on this state") != NULL, "another sentence");
        __atomic_add_fetch(&w->shared->refused, 1, __ATOMIC_RELAXED);
    } else {
        if (status != INSITU_BOUNDS) must(w, status); /* calls on a state that is full fail */
        __atomic_add_fetch(&w->shared->made, 1, __ATOMIC_RELAXED);
    }
    insitu_state_destroy(fork);
}

/* All threads call one module with no input, so that a call that is taken fails at once. */
static void share_module(worker_t *w) {
    insitu_tensor outputs[64], inputs[MAX_INPUTS] = {{0}};
    insitu_status status = insitu_module_call(w->shared->module, inputs, outputs, &w->own.diag);
    expect(w, status == INSITU_ARG || status == INSITU_SHAPE, "a module's call without inputs");
}

/* The state that the neighbour has made and called; the barrier is the caller's way of handing it over. */
static void take_over(worker_t *w, insitu_context *context) {
    insitu_diag *diag = &w->own.diag;
    insitu_state **own = &w->shared->handed[w->number], **other = &w->shared->handed[(w->number + 1) % THREADS];
    must(w, insitu_state_create(w->own.engine, own, diag));
    pthread_barrier_wait(&w->shared->barrier);
    must(w, saved_calls_run(&w->own, context, *other, 0));
    expect(w, states_are_equal(*other, w->shared->expected), "another state in the neighbour's hands");
    insitu_state_destroy(*other);
    pthread_barrier_wait(&w->shared->barrier);
}

static void *work(void *argument) {
    worker_t *w = argument;
    insitu_context *context;
    must(w, insitu_context_create(w->own.engine, &context, &w->own.diag));
    for (int round = 0; round < ROUNDS; round++) {
        live_alone(w, context, round);
        contend(w, context, round);
        share_module(w);
        if (round % 3) continue;
        insitu_context_destroy(context);
        must(w, insitu_context_create(w->own.engine, &context, &w->own.diag));
        take_over(w, context);
    }
    insitu_context_destroy(context);
    return NULL;
}

static void check_program(const char *name) {
    saved_calls_t calls;
    worker_t workers[THREADS];
    assert_true(saved_calls_open(&calls, name, NULL));
    shared_t shared = {.calls = &calls, .contended = calls.state};
    saved_must(&calls, insitu_state_create(calls.engine, &shared.expected, &calls.diag));
    saved_must(&calls, saved_calls_run(&calls, calls.context, shared.expected, 0));
    saved_must(&calls, insitu_module_create(calls.engine, &shared.module, &calls.diag));
    assert_int_equal(pthread_barrier_init(&shared.barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.shared = &shared, .number = i, .own = calls};
        insitu_diag_init(&workers[i].own.diag);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        insitu_diag_release(&workers[i].own.diag);
    }
    assert_int_equal(shared.made + shared.refused, THREADS * ROUNDS);
    assert_true(shared.made > 0);
    (void)pthread_barrier_destroy(&shared.barrier);
    insitu_module_destroy(shared.module);
    insitu_state_destroy(shared.expected);
    saved_calls_close(&calls);
}

static void states_live_side_by_side(void **state) {
    (void)state;
    check_program("decoder.train.pt2");
    check_program("late_updates.train.pt2");
    check_program("streaming.train.pt2");
    check_program("decoder_dynamic.train.pt2");
}

/* Programs are read and compiled by several threads, too. */
static void *compile(void *argument) {
    saved_calls_t calls;
    worker_t *w = argument;
    if (!saved_calls_open(&calls, "ring_counter.train.pt2", NULL)) abort();
    for (uint32_t call = 0; call < calls.call_count; call++)
        must(w, saved_calls_run(&calls, calls.context, calls.state, call));
    saved_calls_close(&calls);
    return NULL;
}

static void programs_are_compiled_side_by_side(void **state) {
    (void)state;
    worker_t workers[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, compile, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_live_side_by_side),
        cmocka_unit_test(programs_are_compiled_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
