/* Programs of tests/data with the inputs of their stored calls, for tests that run many of them.
 *
 *     saved_calls calls;
 *     saved_calls_open(&calls, "decoder.train.pt2", NULL);
 *     saved_calls_run(&calls, calls.context, calls.state, 0);   call 0's inputs
 *     saved_calls_close(&calls); */
#ifndef SAVED_CALLS_H
#define SAVED_CALLS_H

#include "unit_test.h"

#include "engine/engine.h"

#include <dirent.h>
#include <insitu/insitu.h>
#include <stdlib.h>

#define DATA TEST_SOURCE_DIR "/data/"

enum { MAX_INPUTS = 16, MAX_PROGRAMS = 256 };

typedef struct saved_calls {
    const char *name;
    insitu_program *program;
    insitu_engine *engine;
    insitu_state *state;
    insitu_context *context;
    insitu_diag diag;
    file_map_t *map; /* of the stored values */
    arena_t arena;
    safetensors_t values;
    uint32_t call_count;
} saved_calls_t;

static inline void saved_must(saved_calls_t *calls, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s: %s", calls->name, insitu_status_name(status), calls->diag.message);
}

static inline const safetensor_t *saved_input(const saved_calls_t *calls, uint32_t call, const char *input) {
    char key[512];
    snprintf(key, sizeof(key), "call%u.in.%s", call, input);
    uint32_t index = map_find(&calls->values.names, key);
    return index == NONE ? NULL : &calls->values.tensors[index];
}

static inline void saved_calls_count(saved_calls_t *calls) {
    for (uint32_t i = 0; i < calls->values.count; i++) {
        unsigned call;
        if (sscanf(calls->values.tensors[i].name, "call%u.in.", &call) == 1 && call >= calls->call_count)
            calls->call_count = call + 1;
    }
}

/* file: "decoder.train.pt2". False: the program is one that can't be compiled, or has no stored calls. */
static inline bool saved_calls_open(saved_calls_t *calls, const char *file, const insitu_compile_options *options) {
    char path[512];
    *calls = (saved_calls_t){.name = file};
    insitu_diag_init(&calls->diag);
    arena_init(&calls->arena);
    snprintf(path, sizeof(path), DATA "%.*s.io.safetensors", (int)strcspn(file, "."), file);
    if (file_map_open(path, &calls->map, NULL) != INSITU_OK) return false;
    saved_must(calls, safetensors_read(calls->map, "values", &calls->arena, &calls->values, &calls->diag));
    saved_calls_count(calls);
    snprintf(path, sizeof(path), DATA "%s", file);
    saved_must(calls, insitu_program_load(path, &calls->program, &calls->diag));
    saved_must(calls, insitu_program_compile(calls->program, options, &calls->engine, &calls->diag));
    saved_must(calls, insitu_state_create(calls->engine, &calls->state, &calls->diag));
    saved_must(calls, insitu_context_create(calls->engine, &calls->context, &calls->diag));
    return true;
}

static inline void saved_calls_close(saved_calls_t *calls) {
    insitu_context_destroy(calls->context);
    insitu_state_destroy(calls->state);
    insitu_engine_destroy(calls->engine);
    insitu_program_destroy(calls->program);
    arena_release(&calls->arena);
    file_map_release(calls->map);
    insitu_diag_release(&calls->diag);
}

/* Runs with copies of the stored inputs of the call, since some programs write them. */
static inline insitu_status saved_calls_run(saved_calls_t *calls, insitu_context *context, insitu_state *state,
                                            uint32_t call) {
    void *copies[MAX_INPUTS] = {0};
    int32_t count = insitu_engine_input_count(calls->engine);
    insitu_status status = INSITU_OK;
    assert_in_range(count, 0, MAX_INPUTS);
    for (int32_t i = 0; i < count && status == INSITU_OK; i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        saved_must(calls, insitu_engine_input(calls->engine, i, &info, &calls->diag));
        const safetensor_t *value = saved_input(calls, call, info.name);
        if (!value) continue; /* None */
        copies[i] = aligned_alloc(64, (value->size / 64 + 1) * 64);
        assert_non_null(copies[i]);
        memcpy(copies[i], value->data, value->size);
        insitu_tensor tensor = {.data = copies[i],
                                .device = {INSITU_DEVICE_CPU, 0},
                                .ndim = (int32_t)value->rank,
                                .dtype = info.dtype,
                                .shape = (int64_t *)(uintptr_t)value->sizes};
        status = insitu_context_set_input(context, i, &tensor, &calls->diag);
    }
    if (status == INSITU_OK) status = insitu_context_run(context, state, NULL, &calls->diag);
    for (int32_t i = 0; i < count; i++) free(copies[i]);
    return status;
}

/* The bytes of all tensors of two states of the engine are equal. */
static inline bool states_are_equal(const insitu_state *a, const insitu_state *b) {
    for (int32_t i = 0; i < insitu_state_count(a); i++) {
        insitu_tensor one, other;
        int64_t bytes = 1;
        if (insitu_state_tensor(a, i, &one, NULL) || insitu_state_tensor(b, i, &other, NULL)) return false;
        for (int32_t dim = 0; dim < one.ndim; dim++) bytes *= one.shape[dim];
        bytes *= one.dtype.bits / 8;
        /* a permuted tensor is dense too: the same bytes in another order */
        for (int64_t at = 0; at < bytes; at++)
            if (((const uint8_t *)one.data)[at] != ((const uint8_t *)other.data)[at]) return false;
    }
    return true;
}

/* Names of the programs of tests/data, sorted; ended by NULL, freed by saved_programs_release. */
static inline int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static inline char **saved_programs(void) {
    char **names = calloc(MAX_PROGRAMS + 1, sizeof(*names));
    DIR *folder = opendir(DATA);
    size_t count = 0;
    assert_non_null(names);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t size = strlen(entry->d_name);
        if (size < 4 || strcmp(entry->d_name + size - 4, ".pt2") != 0) continue;
        assert_true(count < MAX_PROGRAMS);
        names[count++] = strdup(entry->d_name);
    }
    closedir(folder);
    qsort(names, count, sizeof(*names), compare_names);
    return names;
}

static inline void saved_programs_release(char **names) {
    for (char **name = names; *name; name++) free(*name);
    free(names);
}

#endif
