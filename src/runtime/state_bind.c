/* States in the caller's memory: a block of the state is replaced by the caller's tensor and freed, and made again when
 * the tensor is unbound. All names that view the block go along. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

static insitu_status find_state(const insitu_state *state, const char *name, uint32_t *out_index, insitu_diag *diag) {
    int32_t index = insitu_engine_find_state(state->engine, name);
    if (index < 0) FAIL(diag, INSITU_ARG, "the engine has no state '%s'", name);
    *out_index = (uint32_t)index;
    return INSITU_OK;
}

/* The tensor is laid out as the state is, whose block is that tensor and no more. */
static insitu_status read_bound(const insitu_state *state, uint32_t index, const insitu_tensor *tensor,
                                bound_tensor_t *out, insitu_diag *diag) {
    const plan_state_t *declared = &state->engine->plan->states[index];
    const insitu_tensor *own = &state->tensors[index];
    const expected_tensor_t expected = {.what = "state",
                                        .name = declared->name,
                                        .dtype = declared->type.dtype,
                                        .shape = &declared->type.shape,
                                        .device = state->device};
    TRY(expect_dtype(&expected, tensor, diag));
    if (tensor->ndim != own->ndim)
        FAIL(diag, INSITU_SHAPE, "state '%s' has %d dimensions where %d were given", declared->name, (int)own->ndim,
             (int)tensor->ndim);
    if (tensor->ndim && !tensor->shape) FAIL(diag, INSITU_ARG, "state '%s' was given no shape", declared->name);
    for (int32_t i = 0; i < own->ndim; i++)
        if (tensor->shape[i] != own->shape[i])
            FAIL(diag, INSITU_SHAPE, "state '%s' has size %" PRId64 " in dimension %d where %" PRId64 " was given",
                 declared->name, own->shape[i], (int)i, tensor->shape[i]);
    TRY(tensor_read(&expected, tensor, out, diag));
    if (!same_strides(out->rank, out->sizes, out->strides, own->strides))
        FAIL(diag, INSITU_SHAPE, "state '%s' was given other strides than those that the program has for it",
             declared->name);
    size_t bytes = state->bytes[declared->state_storage];
    if (own->data != state->storages[declared->state_storage] || out->bytes != bytes)
        FAIL(diag, INSITU_ARG,
             "state '%s' is a part of a block of %zu bytes that other names use too: it can't lie alone",
             declared->name, bytes);
    return INSITU_OK;
}

/* The memory is none that a block of the state uses; a block that is bound already may be bound there again. */
static insitu_status check_apart(const insitu_state *state, uint32_t index, const bound_tensor_t *tensor,
                                 insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    uintptr_t first = (uintptr_t)tensor->address;
    for (uint32_t i = 0; i < plan->state_count; i++) {
        uint32_t storage = plan->states[i].state_storage;
        uintptr_t other = (uintptr_t)state->storages[storage];
        if (storage == plan->states[index].state_storage && state->is_bound[storage]) continue;
        if (first < other ? other - first < tensor->bytes : first - other < state->bytes[storage])
            FAIL(diag, INSITU_ARG, "the memory given to state '%s' overlaps that of state '%s'",
                 plan->states[index].name, plan->states[i].name);
    }
    return INSITU_OK;
}

static insitu_status check_unwatched(const insitu_state *state, const char *name, insitu_diag *diag) {
    if (!undo_log_is_open(&state->log)) return INSITU_OK;
    FAIL(diag, INSITU_ARG, "state '%s' can't move while a snapshot is open", name);
}

static void move_block(insitu_state *state, uint32_t storage, void *data, bool is_bound) {
    if (!state->is_bound[storage]) state->device->free(state->device, state->storages[storage]);
    state->storages[storage] = data;
    state->is_bound[storage] = is_bound;
    state_place_tensors(state, storage);
}

static insitu_status bind_locked(insitu_state *state, const char *name, const insitu_tensor *tensor,
                                 insitu_contents contents, void *stream, insitu_diag *diag) {
    uint32_t index = 0;
    bound_tensor_t given = {0};
    TRY(find_state(state, name, &index, diag));
    TRY(check_unwatched(state, name, diag));
    TRY(read_bound(state, index, tensor, &given, diag));
    if (given.bytes == 0) return INSITU_OK;
    TRY(check_apart(state, index, &given, diag));
    uint32_t storage = state->engine->plan->states[index].state_storage;
    if (contents == INSITU_CONTENTS_OF_STATE)
        TRY(state->device->copy_within(state->device, stream, given.address, state->storages[storage], given.bytes,
                                       diag));
    move_block(state, storage, given.address, true);
    return INSITU_OK;
}

insitu_status insitu_state_bind(insitu_state *state, const char *name, const insitu_tensor *tensor,
                                insitu_contents contents, insitu_stream stream, insitu_diag *diag) {
    if (!state || !name || !tensor) FAIL(diag, INSITU_ARG, "insitu_state_bind needs a state, a name and a tensor");
    if (contents != INSITU_CONTENTS_OF_STATE && contents != INSITU_CONTENTS_OF_MEMORY)
        FAIL(diag, INSITU_ARG, "%d does not say whose contents state '%s' keeps", (int)contents, name);
    TRY(state_lock_settled(state, diag));
    insitu_status status = bind_locked(state, name, tensor, contents, stream, diag);
    state_unlock(state);
    return status;
}

static insitu_status unbind_locked(insitu_state *state, const char *name, void *stream, insitu_diag *diag) {
    uint32_t index = 0;
    TRY(find_state(state, name, &index, diag));
    uint32_t storage = state->engine->plan->states[index].state_storage;
    if (!state->is_bound[storage]) return INSITU_OK;
    TRY(check_unwatched(state, name, diag));
    size_t bytes = state->bytes[storage];
    void *data = state_allocate(state->device, bytes, false);
    if (!data) FAIL(diag, INSITU_NOMEM, "out of memory for the %zu bytes of state '%s'", bytes, name);
    insitu_status status =
        state->device->copy_within(state->device, stream, data, state->storages[storage], bytes, diag);
    if (status == INSITU_OK)
        move_block(state, storage, data, false);
    else
        state->device->free(state->device, data);
    return status;
}

insitu_status insitu_state_unbind(insitu_state *state, const char *name, insitu_stream stream, insitu_diag *diag) {
    if (!state || !name) FAIL(diag, INSITU_ARG, "insitu_state_unbind needs a state and a name");
    TRY(state_lock_settled(state, diag));
    insitu_status status = unbind_locked(state, name, stream, diag);
    state_unlock(state);
    return status;
}
