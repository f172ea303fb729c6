/* A network that is built, compiled and run once, for tests of the public builder. */
#ifndef NETWORK_FIXTURE_H
#define NETWORK_FIXTURE_H

#include "unit_test.h"

#include <insitu/insitu.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BOUND = 8 };

typedef struct bound_data {
    void *data;
    insitu_dtype type;
    int32_t ndim;
    int64_t sizes[INSITU_MAX_RANK];
} bound_data_t;

typedef struct built {
    insitu_network *network;
    bound_data_t inputs[MAX_BOUND];
    int32_t input_count;
    insitu_diag diag;
} built_t;

#define LIST(type, ...)                                                                                                \
    (int32_t)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)), (type[]) { __VA_ARGS__ }
#define SIZES(...) LIST(int64_t, __VA_ARGS__)
#define DIMS(...) LIST(int32_t, __VA_ARGS__)
#define NUMBERS(...) LIST(insitu_number, __VA_ARGS__)
#define FLOATS(...) ((float[]){__VA_ARGS__})
#define INTS(...) ((int64_t[]){__VA_ARGS__})
#define BOOLS(...) ((uint8_t[]){__VA_ARGS__})
#define F32 INSITU_DTYPE_F32
#define I64 INSITU_DTYPE_I64
#define BOOL INSITU_DTYPE_BOOL

static inline void must(built_t *b, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), b->diag.message);
}

/* The call fails with the status, and a sentence that holds the words. */
static inline void refused_at(built_t *b, insitu_status status, insitu_status expected, const char *words,
                              const char *call) {
    if (status != expected || !strstr(b->diag.message, words))
        fail_msg("%s: %s '%s' where %s '%s' was expected", call, insitu_status_name(status), b->diag.message,
                 insitu_status_name(expected), words);
}
#define REFUSED(call, expected, words) refused_at(b, call, expected, words, #call)

static inline void open_network(built_t *b) {
    memset(b, 0, sizeof(*b));
    insitu_diag_init(&b->diag);
    must(b, insitu_network_create(&b->network, &b->diag));
}

static inline void close_network(built_t *b) {
    insitu_network_destroy(b->network);
    insitu_diag_release(&b->diag);
}

static inline size_t bytes_of(insitu_dtype type, int32_t ndim, const int64_t *sizes) {
    size_t bytes = type.bits / 8;
    for (int32_t i = 0; i < ndim; i++) bytes *= (size_t)sizes[i];
    return bytes;
}

/* One more input "x0", "x1", ..., which the run finds at data. */
static inline insitu_value given(built_t *b, insitu_dtype type, int32_t ndim, const int64_t *sizes, void *data) {
    insitu_number numbers[INSITU_MAX_RANK];
    insitu_value value;
    char name[8];
    assert_true(b->input_count < MAX_BOUND);
    bound_data_t *input = &b->inputs[b->input_count];
    *input = (bound_data_t){.data = data, .type = type, .ndim = ndim};
    for (int32_t i = 0; i < ndim; i++) {
        numbers[i] = insitu_int(sizes[i]);
        input->sizes[i] = sizes[i];
    }
    snprintf(name, sizeof(name), "x%d", (int)b->input_count++);
    must(b, insitu_network_add_input(b->network, name, type, ndim, numbers, &value, &b->diag));
    return value;
}

static inline void expect_near(const void *found, const void *expected, insitu_dtype type, size_t bytes) {
    if (type.code != INSITU_CODE_FLOAT || type.bits != 32) {
        assert_memory_equal(found, expected, bytes);
        return;
    }
    const float *a = found, *e = expected;
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        if (!(fabsf(a[i] - e[i]) <= 1e-6f * (1 + fabsf(e[i]))))
            fail_msg("[%zu] %g instead of %g", i, (double)a[i], (double)e[i]);
}

/* Compiles what was built, runs it, and compares the value with what is expected. Then the network is empty again. */
static inline void expect(built_t *b, insitu_value value, insitu_dtype type, int32_t ndim, const int64_t *sizes,
                          const void *expected) {
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *state;
    insitu_tensor output;
    must(b, insitu_network_mark_output(b->network, value, "result", &b->diag));
    must(b, insitu_network_compile(b->network, NULL, &engine, &b->diag));
    must(b, insitu_context_create(engine, &context, &b->diag));
    must(b, insitu_state_create(engine, &state, &b->diag));
    for (int32_t i = 0; i < b->input_count; i++) {
        bound_data_t *input = &b->inputs[i];
        insitu_tensor tensor = {.data = input->data,
                                .device = {INSITU_DEVICE_CPU, 0},
                                .ndim = input->ndim,
                                .dtype = input->type,
                                .shape = input->sizes};
        must(b, insitu_context_set_input(context, i, &tensor, &b->diag));
    }
    must(b, insitu_context_run(context, state, NULL, &b->diag));
    must(b, insitu_context_output(context, 0, &output, &b->diag));
    assert_int_equal(output.ndim, ndim);
    assert_memory_equal(output.shape, sizes, (size_t)ndim * sizeof(*sizes));
    assert_true(output.dtype.code == type.code && output.dtype.bits == type.bits);
    expect_near((const char *)output.data + output.byte_offset, expected, type, bytes_of(type, ndim, sizes));
    insitu_state_destroy(state);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
    close_network(b);
    open_network(b);
}

/* A test with a network of its own, which is its state. */
static built_t shared;

static inline int open_shared(void **state) {
    *state = &shared;
    open_network(&shared);
    return 0;
}

static inline int close_shared(void **state) {
    close_network(*state);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_shared, close_shared)

#endif
