/* States that are indexed by position, as the compiler found them (network/positions.c): row r holds what was written at
 * position r, so a sequence is cut to n rows by giving the rest their initial values. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

enum { NO_AXIS = -1 };

static int32_t position_axis(const plan_t *plan, uint32_t index) { return (int32_t)plan->states[index].rows - 1; }

static const char *update_of(const plan_t *plan, const char *name) {
    for (uint32_t i = 0; i < plan->report_count; i++)
        if (strcmp(plan->report[i].name, name) == 0) return plan->report[i].update;
    return "none";
}

insitu_status insitu_state_describe(const insitu_state *state, int32_t index, insitu_state_info *info,
                                    insitu_diag *diag) {
    if (!state || !info || info->struct_size < sizeof(size_t))
        FAIL(diag, INSITU_ARG, "insitu_state_describe needs a state and info with a struct_size");
    if (index < 0 || index >= insitu_state_count(state))
        FAIL(diag, INSITU_ARG, "state %d does not exist: the engine has %d", (int)index,
             (int)insitu_state_count(state));
    const plan_t *plan = state->engine->plan;
    const insitu_tensor *tensor = &state->tensors[index];
    insitu_state_info found = {.name = plan->states[index].name,
                               .dtype = tensor->dtype,
                               .ndim = tensor->ndim,
                               .sizes = tensor->shape,
                               .bytes = tensor_bytes(tensor),
                               .update = update_of(plan, plan->states[index].name),
                               .position_axis = position_axis(plan, (uint32_t)index),
                               .is_bound = state->is_bound[plan->states[index].state_storage]};
    public_copy(info, info->struct_size, &found, sizeof(found));
    return INSITU_OK;
}

/* ---- truncation ---- */

/* The rows from `rows` on; no bytes if there are none. */
static byte_region_t region_of_rest(const insitu_state *state, uint32_t index, int32_t axis, int64_t rows) {
    const insitu_tensor *tensor = &state->tensors[index];
    const plan_state_t *declared = &state->engine->plan->states[index];
    int64_t sizes[MAX_RANK], first = rows < tensor->shape[axis] ? rows : tensor->shape[axis];
    memcpy(sizes, tensor->shape, (size_t)tensor->ndim * sizeof(*sizes));
    sizes[axis] -= first;
    size_t offset = (size_t)((uint8_t *)tensor->data - (uint8_t *)state->storages[declared->state_storage]);
    offset += (size_t)(first * tensor->strides[axis]) * dtype_size(declared->type.dtype);
    return region_of(declared->type.dtype, (uint32_t)tensor->ndim, sizes, tensor->strides, offset);
}

static insitu_status truncate_one(insitu_state *state, uint32_t index, int32_t axis, int64_t rows, void *stream,
                                  insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    uint32_t storage = plan->states[index].state_storage, initial = plan->state_storages[storage].initial;
    byte_region_t rest = region_of_rest(state, index, axis, rows);
    int64_t saved = 0;
    if (undo_log_is_open(&state->log))
        TRY(undo_log_save(&state->log, stream, state->storages, storage, &rest, &saved, diag));
    return region_set(&rest, state->device, stream, state->storages[storage],
                      initial == NONE ? NULL : plan->weights[initial].data, diag);
}

/* A counter, of one element, belongs to no row: the caller sets it. */
static bool holds_rows(const plan_t *plan, uint32_t index) {
    const shape_t *shape = &plan->states[index].type.shape;
    bool is_one = true;
    for (uint32_t i = 0; i < shape->rank; i++) is_one = is_one && sym_is_one(shape->sizes[i]);
    if (is_one) return false;
    for (uint32_t i = 0; i < plan->facts.write_count; i++) {
        const plan_write_t *write = &plan->facts.writes[i];
        uint32_t storage = plan->steps[write->step].results[write->result].storage;
        if (plan->storages[storage].index == plan->states[index].state_storage) return true;
    }
    return false;
}

/* All rows that the program writes are cut, or none: half of a sequence is none. */
static insitu_status check_positions(const plan_t *plan, uint32_t first, uint32_t end, insitu_diag *diag) {
    uint32_t found = 0, other = NONE;
    for (uint32_t i = first; i < end; i++) {
        if (position_axis(plan, i) != NO_AXIS)
            found++;
        else if (other == NONE && (end - first == 1 || holds_rows(plan, i)))
            other = i;
    }
    if (found && other == NONE) return INSITU_OK;
    if (!found && (other == NONE || end - first > 1 || plan->state_count == 1))
        FAIL(diag, INSITU_ARG, "the engine has no state that is indexed by position");
    FAIL(diag, INSITU_ARG, "state '%s' is not indexed by position: its update is '%s'%s", plan->states[other].name,
         update_of(plan, plan->states[other].name),
         end - first == 1 ? "" : "; nothing is cut, for the states would belong to sequences of two lengths");
}

/* First counts what an open snapshot needs, then truncates, so that want of memory changes nothing. */
static insitu_status truncate_all(insitu_state *state, uint32_t first, uint32_t end, int64_t rows, void *stream,
                                  insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    undo_room_t room = {0};
    TRY(check_positions(plan, first, end, diag));
    for (uint32_t i = first; i < end; i++) {
        int32_t axis = position_axis(plan, i);
        if (axis == NO_AXIS) continue;
        byte_region_t rest = region_of_rest(state, i, axis, rows);
        if (!undo_room_add(&room, &rest, 1)) return INSITU_NOMEM;
    }
    if (undo_log_is_open(&state->log)) TRY(undo_log_reserve(&state->log, room, diag));
    for (uint32_t i = first; i < end; i++) {
        int32_t axis = position_axis(plan, i);
        if (axis != NO_AXIS) TRY(truncate_one(state, i, axis, rows, stream, diag));
    }
    return INSITU_OK;
}

insitu_status insitu_state_truncate(insitu_state *state, const char *name, int64_t rows, insitu_stream stream,
                                    insitu_diag *diag) {
    if (!state) FAIL(diag, INSITU_ARG, "insitu_state_truncate needs a state");
    if (rows < 0) FAIL(diag, INSITU_ARG, "a state can't be cut to %" PRId64 " rows", rows);
    uint32_t first = 0, end = state->engine->plan->state_count;
    if (name) {
        int32_t index = insitu_engine_find_state(state->engine, name);
        if (index < 0) FAIL(diag, INSITU_ARG, "the engine has no state '%s'", name);
        first = (uint32_t)index;
        end = first + 1;
    }
    TRY(state_lock_settled(state, diag));
    insitu_status status = truncate_all(state, first, end, rows, stream, diag);
    state_unlock(state);
    return status;
}
