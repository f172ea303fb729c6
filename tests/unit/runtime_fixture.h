/* An engine made from a plan, with one context and one state, and what tests do with them. */
#ifndef RUNTIME_FIXTURE_H
#define RUNTIME_FIXTURE_H

#include "unit_test.h"

#include "engine/engine.h"
#include <insitu/context.h>

typedef struct running {
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *state;
    insitu_diag diag;
} running_t;

static inline void must_run(running_t *r, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), r->diag.message);
}

static inline void must_fail(running_t *r, insitu_status status, insitu_status expected, const char *words) {
    if (status != expected || !strstr(r->diag.message, words))
        fail_msg("%s: '%s' where %s with '%s' was expected", insitu_status_name(status), r->diag.message,
                 insitu_status_name(expected), words);
}

static inline void running_start(running_t *r, insitu_engine *engine) {
    *r = (running_t){.engine = engine};
    insitu_diag_init(&r->diag);
    must_run(r, insitu_context_create(engine, &r->context, &r->diag));
    must_run(r, insitu_state_create(engine, &r->state, &r->diag));
}

static inline void running_of_plan(running_t *r, plan_t *plan) {
    insitu_engine *engine;
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(plan_derive(plan), INSITU_OK);
    if (plan_verify(plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    assert_int_equal(engine_create(plan, device_cpu(), NULL, 0, &engine, &diag), INSITU_OK);
    running_start(r, engine);
}

static inline void running_stop(running_t *r) {
    insitu_context_destroy(r->context);
    insitu_state_destroy(r->state);
    insitu_engine_destroy(r->engine);
    insitu_diag_release(&r->diag);
}

/* A dense tensor of one or two dimensions (columns 0: one). */
static inline insitu_tensor dense_tensor(void *data, insitu_dtype type, int64_t *sizes, int32_t rank) {
    return (insitu_tensor){.data = data, .device = {INSITU_DEVICE_CPU, 0}, .ndim = rank, .dtype = type, .shape = sizes};
}

static inline void running_input(running_t *r, const char *name, void *data, insitu_dtype type, int64_t *sizes,
                                 int32_t rank) {
    insitu_tensor tensor = dense_tensor(data, type, sizes, rank);
    must_run(r, insitu_context_set_input(r->context, insitu_engine_find_input(r->engine, name), &tensor, &r->diag));
}

static inline insitu_status running_call(running_t *r) {
    return insitu_context_run(r->context, r->state, NULL, &r->diag);
}

static inline insitu_tensor running_output(running_t *r, int32_t index) {
    insitu_tensor tensor;
    must_run(r, insitu_context_output(r->context, index, &tensor, &r->diag));
    return tensor;
}

static inline const void *tensor_data(const insitu_tensor *tensor) {
    return (const uint8_t *)tensor->data + tensor->byte_offset;
}

static inline insitu_run_stats running_stats(running_t *r) {
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    must_run(r, insitu_context_stats(r->context, &stats, &r->diag));
    return stats;
}

#endif
