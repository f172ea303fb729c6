/* States: the memory of one sequence. */
#include "runtime/runtime_int.h"

insitu_status state_lock(const insitu_state *state, insitu_diag *diag) {
    uint32_t idle = 0;
    if (__atomic_compare_exchange_n(state->busy, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return INSITU_OK;
    FAIL(diag, INSITU_ARG, "another call is running on this state");
}

insitu_status state_lock_settled(const insitu_state *state, insitu_diag *diag) {
    const device_t *device = state->device;
    uint64_t number;
    uint32_t failed;
    TRY(state_lock(state, diag));
    if (!state->fault) return INSITU_OK;
    insitu_status status = device->take_fault(device, state->fault, &number, &failed, diag);
    if (status != INSITU_OK) state_unlock(state);
    return status;
}

void state_unlock(const insitu_state *state) { __atomic_store_n(state->busy, 0, __ATOMIC_RELEASE); }

/* Whole pages for a block of at least one page, so that nothing else lies in its pages. */
void *state_allocate(const device_t *device, size_t bytes, bool zeroed) {
    if (bytes < PAGE) return device->allocate(device, bytes ? bytes : 1, STATE_ALIGNMENT, zeroed);
    size_t rounded;
    if (!checked_size_add(bytes, PAGE - 1, &rounded)) return NULL;
    return device->allocate(device, rounded - rounded % PAGE, PAGE, zeroed);
}

static bool begins_with_zeros(const insitu_state *state, uint32_t storage) {
    return state->engine->plan->state_storages[storage].initial == NONE;
}

/* is_new: what begins with zeros was allocated as such. */
static insitu_status set_initial(insitu_state *state, void *stream, bool is_new, insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    const device_t *device = state->device;
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        void *block = state->storages[i];
        size_t bytes = state->bytes[i];
        if (bytes == 0 || (is_new && begins_with_zeros(state, i))) continue;
        if (!begins_with_zeros(state, i))
            TRY(device->copy_to(device, stream, block, plan->weights[plan->state_storages[i].initial].data, bytes,
                                diag));
        else if (state->is_bound[i])
            TRY(device->fill(device, stream, block, 0, bytes, diag));
        else
            TRY(device->clear(device, stream, block, bytes, diag));
    }
    return INSITU_OK;
}

void state_place_tensors(insitu_state *state, uint32_t storage) {
    const plan_t *plan = state->engine->plan;
    for (uint32_t i = 0; i < plan->state_count; i++) {
        const tensor_type_t *type = &plan->states[i].type;
        int64_t offset = 0;
        if (plan->states[i].state_storage != storage || !sym_constant(&plan->symbols, type->offset, &offset)) continue;
        state->tensors[i].data = (uint8_t *)state->storages[storage] + (size_t)offset * dtype_size(type->dtype);
    }
}

typedef struct chosen_sizes {
    const insitu_state_size *sizes;
    size_t count;
    const sym_value_t *values; /* of a state to be like; or NULL */
} chosen_sizes_t;

static insitu_status fill(insitu_state *state, const chosen_sizes_t *chosen, insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    TRY(arena_array(&state->arena, 1, sizeof(uint32_t), &state->busy));
    TRY(arena_array(&state->arena, plan->state_storage_count, sizeof(bool), &state->is_bound));
    TRY(arena_array(&state->arena, plan->state_storage_count, sizeof(size_t), &state->bytes));
    TRY(arena_array(&state->arena, plan->state_storage_count, sizeof(void *), &state->storages));
    TRY(arena_array(&state->arena, plan->state_count, sizeof(insitu_tensor), &state->tensors));
    TRY(state_fill_sizes(state, chosen->sizes, chosen->count, chosen->values, diag));
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        bool is_copied = chosen->values != NULL;
        state->storages[i] = state_allocate(state->device, state->bytes[i], !is_copied && begins_with_zeros(state, i));
        if (!state->storages[i]) FAIL(diag, INSITU_NOMEM, "out of memory for the state's tensors");
        state_place_tensors(state, i);
    }
    return INSITU_OK;
}

/* A state whose tensors' contents are not set yet. */
static insitu_status create_empty(const insitu_engine *engine, const chosen_sizes_t *chosen, insitu_state **out_state,
                                  insitu_diag *diag) {
    *out_state = NULL;
    insitu_state *state = memory_alloc(sizeof(*state));
    if (!state) FAIL(diag, INSITU_NOMEM, "out of memory for a state");
    *state = (insitu_state){.engine = engine, .device = engine->device, .log = {.device = engine->device}};
    arena_init(&state->arena);
    insitu_status status = fill(state, chosen, diag);
    if (status == INSITU_OK && state->device->is_async)
        status = state->device->fault_create(state->device, &state->fault, diag);
    if (status != INSITU_OK) {
        insitu_state_destroy(state);
        return diag_complete(diag, status);
    }
    *out_state = state;
    return INSITU_OK;
}

insitu_status insitu_state_create_sized(const insitu_engine *engine, const insitu_state_size *sizes, size_t count,
                                        insitu_state **out_state, insitu_diag *diag) {
    if (out_state) *out_state = NULL;
    if (!engine || !out_state || (!sizes && count))
        FAIL(diag, INSITU_ARG, "insitu_state_create_sized needs an engine, sizes and out_state");
    TRY(create_empty(engine, &(chosen_sizes_t){.sizes = sizes, .count = count}, out_state, diag));
    insitu_status status = set_initial(*out_state, NULL, true, diag);
    if (status == INSITU_OK) return INSITU_OK;
    insitu_state_destroy(*out_state);
    *out_state = NULL;
    return status;
}

insitu_status insitu_state_create(const insitu_engine *engine, insitu_state **out_state, insitu_diag *diag) {
    if (out_state) *out_state = NULL;
    if (!engine || !out_state) FAIL(diag, INSITU_ARG, "insitu_state_create needs an engine and out_state");
    return insitu_state_create_sized(engine, NULL, 0, out_state, diag);
}

void insitu_state_destroy(insitu_state *state) {
    if (!state) return;
    const device_t *device = state->device;
    if (state->storages)
        for (uint32_t i = 0; i < state->engine->plan->state_storage_count; i++)
            if (!state->is_bound[i]) device->free(device, state->storages[i]);
    device->event_free(device, state->event);
    if (state->fault) device->fault_free(device, state->fault);
    undo_log_release(&state->log);
    arena_release(&state->arena);
    memory_free(state);
}

insitu_status insitu_state_reset(insitu_state *state, insitu_stream stream, insitu_diag *diag) {
    if (!state) FAIL(diag, INSITU_ARG, "insitu_state_reset needs a state");
    TRY(state_lock_settled(state, diag));
    insitu_status status = state_save_storages(state, stream, diag);
    if (status == INSITU_OK) status = set_initial(state, stream, false, diag);
    state_unlock(state);
    return status;
}

static insitu_status copy_storages(const insitu_state *state, void *stream, insitu_state *target, insitu_diag *diag) {
    const device_t *device = state->device;
    for (uint32_t i = 0; i < state->engine->plan->state_storage_count; i++)
        TRY(device->copy_within(device, stream, target->storages[i], state->storages[i], state->bytes[i], diag));
    return INSITU_OK;
}

insitu_status insitu_state_fork(const insitu_state *state, insitu_stream stream, insitu_state **out_state,
                                insitu_diag *diag) {
    if (out_state) *out_state = NULL;
    if (!state || !out_state) FAIL(diag, INSITU_ARG, "insitu_state_fork needs a state and out_state");
    TRY(create_empty(state->engine, &(chosen_sizes_t){.values = state->values}, out_state, diag));
    insitu_status status = state_lock_settled(state, diag);
    if (status == INSITU_OK) {
        status = copy_storages(state, stream, *out_state, diag);
        state_unlock(state);
    }
    if (status == INSITU_OK) return INSITU_OK;
    insitu_state_destroy(*out_state);
    *out_state = NULL;
    return status;
}

const insitu_engine *insitu_state_engine(const insitu_state *state) { return state ? state->engine : NULL; }
int32_t insitu_state_count(const insitu_state *state) { return state ? (int32_t)state->engine->plan->state_count : 0; }

insitu_status insitu_state_tensor(const insitu_state *state, int32_t index, insitu_tensor *out_tensor,
                                  insitu_diag *diag) {
    if (out_tensor) *out_tensor = (insitu_tensor){0};
    if (!state || !out_tensor) FAIL(diag, INSITU_ARG, "insitu_state_tensor needs a state and out_tensor");
    if (index < 0 || index >= insitu_state_count(state))
        FAIL(diag, INSITU_ARG, "state %d does not exist: the engine has %d", (int)index,
             (int)insitu_state_count(state));
    *out_tensor = state->tensors[index];
    return INSITU_OK;
}

/* The named tensor, whose dense bytes must be size. */
static insitu_status find_dense(const insitu_state *state, const char *name, size_t size,
                                const insitu_tensor **out_tensor, insitu_diag *diag) {
    int32_t index = insitu_engine_find_state(state->engine, name);
    *out_tensor = NULL;
    if (index < 0) FAIL(diag, INSITU_ARG, "the engine has no state '%s'", name);
    const insitu_tensor *tensor = &state->tensors[index];
    const size_t expected = tensor_bytes(tensor);
    if (size != expected)
        FAIL(diag, INSITU_SHAPE, "state '%s' has %zu bytes where %zu were given", name, expected, size);
    *out_tensor = tensor;
    return INSITU_OK;
}

insitu_status insitu_state_read(const insitu_state *state, const char *name, void *data, size_t size,
                                insitu_diag *diag) {
    if (!state || !name || (!data && size)) FAIL(diag, INSITU_ARG, "insitu_state_read needs a state, a name and data");
    const insitu_tensor *tensor;
    TRY(find_dense(state, name, size, &tensor, diag));
    TRY(state_lock_settled(state, diag));
    insitu_status status = tensor_gather(state->device, tensor, data, diag);
    state_unlock(state);
    return status;
}

insitu_status insitu_state_write(insitu_state *state, const char *name, const void *data, size_t size,
                                 insitu_diag *diag) {
    if (!state || !name || (!data && size)) FAIL(diag, INSITU_ARG, "insitu_state_write needs a state, a name and data");
    const insitu_tensor *tensor;
    TRY(find_dense(state, name, size, &tensor, diag));
    TRY(state_lock_settled(state, diag));
    insitu_status status = state_save_tensor(state, (uint32_t)(tensor - state->tensors), diag);
    if (status == INSITU_OK) status = tensor_scatter(state->device, tensor, data, diag);
    state_unlock(state);
    return status;
}
