/* Snapshots of a state: marks in its undo log. Calls save what they replace (state_writes.c); so do the verbs that write
 * a state, with the functions here. */
#include "runtime/runtime_int.h"

static insitu_status find_snapshot(const insitu_state *state, int32_t snapshot, insitu_diag *diag) {
    if (snapshot >= 0 && (uint32_t)snapshot < state->log.mark_count) return INSITU_OK;
    FAIL(diag, INSITU_ARG, "snapshot %d is not open: the state has %u", (int)snapshot, state->log.mark_count);
}

insitu_status insitu_state_snapshot(insitu_state *state, insitu_stream stream, int32_t *out_snapshot,
                                    insitu_diag *diag) {
    if (out_snapshot) *out_snapshot = -1;
    if (!state || !out_snapshot) FAIL(diag, INSITU_ARG, "insitu_state_snapshot needs a state and out_snapshot");
    (void)stream; /* nothing is queued */
    TRY(state_lock_settled(state, diag));
    insitu_status status = undo_log_mark(&state->log, diag);
    if (status == INSITU_OK) *out_snapshot = (int32_t)state->log.mark_count - 1;
    state_unlock(state);
    return status;
}

insitu_status insitu_state_restore(insitu_state *state, int32_t snapshot, insitu_stream stream, insitu_diag *diag) {
    if (!state) FAIL(diag, INSITU_ARG, "insitu_state_restore needs a state");
    TRY(state_lock_settled(state, diag));
    insitu_status status = find_snapshot(state, snapshot, diag);
    if (status == INSITU_OK)
        status = undo_log_roll_back(&state->log, stream, state->storages, state->log.marks[snapshot], diag);
    if (status == INSITU_OK) undo_log_forget(&state->log, (uint32_t)snapshot);
    state_unlock(state);
    return status;
}

insitu_status insitu_state_discard(insitu_state *state, int32_t snapshot, insitu_diag *diag) {
    if (!state) FAIL(diag, INSITU_ARG, "insitu_state_discard needs a state");
    TRY(state_lock_settled(state, diag));
    insitu_status status = find_snapshot(state, snapshot, diag);
    if (status == INSITU_OK) undo_log_forget(&state->log, (uint32_t)snapshot);
    state_unlock(state);
    return status;
}

/* ---- before a verb writes ---- */

insitu_status state_save_storages(insitu_state *state, void *stream, insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    undo_room_t room = {0};
    int64_t saved = 0;
    if (!undo_log_is_open(&state->log)) return INSITU_OK;
    for (uint32_t i = 0; i < plan->state_storage_count; i++)
        if (!undo_room_add(&room, &(byte_region_t){.run = state->bytes[i]}, 1)) return INSITU_NOMEM;
    TRY(undo_log_reserve(&state->log, room, diag));
    for (uint32_t i = 0; i < plan->state_storage_count; i++)
        TRY(undo_log_save(&state->log, stream, state->storages, i, &(byte_region_t){.run = state->bytes[i]}, &saved,
                          diag));
    return INSITU_OK;
}

insitu_status state_save_tensor(insitu_state *state, uint32_t index, insitu_diag *diag) {
    if (!undo_log_is_open(&state->log)) return INSITU_OK;
    const plan_state_t *declared = &state->engine->plan->states[index];
    const insitu_tensor *tensor = &state->tensors[index];
    size_t offset = (size_t)((uint8_t *)tensor->data - (uint8_t *)state->storages[declared->state_storage]);
    byte_region_t region =
        region_of(declared->type.dtype, (uint32_t)tensor->ndim, tensor->shape, tensor->strides, offset);
    undo_room_t room = {0};
    int64_t saved = 0;
    if (!undo_room_add(&room, &region, 1)) return INSITU_NOMEM;
    TRY(undo_log_reserve(&state->log, room, diag));
    return undo_log_save(&state->log, NULL, state->storages, declared->state_storage, &region, &saved, diag);
}
