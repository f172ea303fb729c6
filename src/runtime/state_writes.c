/* Bytes that a call replaces in its state, saved while a snapshot is open. Which they are, and before which step they are
 * known, the plan's facts say: positions are read from memory, so a save stands where they have been computed. Of what runs
 * in a region all is saved that it may replace. */
#include "runtime/runtime_int.h"

static const bound_operand_t *result_of(const state_write_t *write) {
    return &write->step->results[write->planned->result];
}

/* ---- which bytes ---- */

/* What one position replaces, from the result's start. */
static byte_region_t region_of_position(const state_write_t *write) {
    const plan_write_t *planned = write->planned;
    const bound_operand_t *result = result_of(write);
    int64_t sizes[MAX_RANK];
    if (planned->undo == UNDO_ELEMENTS) return region_of(result->dtype, 0, NULL, NULL, 0);
    memcpy(sizes, result->sizes, sizeof(sizes));
    for (uint32_t i = 0; i < planned->dim_count; i++) sizes[planned->dims[i]] = 1;
    return region_of(result->dtype, result->rank, sizes, result->strides, 0);
}

/* A position of the given operand. *out_inside false: it lies outside the dimension, in which case the call fails later. */
static insitu_status read_position(const insitu_context *context, const bound_operand_t *positions, const int64_t *at,
                                   int64_t size, int64_t *out_position, bool *out_inside, insitu_diag *diag) {
    const uint8_t *element = (const uint8_t *)context->bases[positions->storage] + positions->offset;
    int64_t step = 0;
    sym_value_t value = {0};
    for (uint32_t i = 0; i < positions->rank; i++) step += at[i] * positions->strides[i];
    element += step * (int64_t)dtype_size(positions->dtype);
    TRY(read_element(context->device, context->stream, positions->dtype, element, &value, out_inside, diag));
    *out_position = value.i < 0 ? value.i + size : value.i;
    *out_inside = *out_inside && value.kind != SYM_KIND_FLOAT && *out_position >= 0 && *out_position < size;
    return INSITU_OK;
}

/* Elements from the result's start to what the positions at `at` replace. */
static insitu_status find_place(const insitu_context *context, const state_write_t *write, const int64_t *at,
                                int64_t *out_elements, bool *out_inside, insitu_diag *diag) {
    const plan_write_t *planned = write->planned;
    const bound_operand_t *result = result_of(write), *positions = &write->step->operands[planned->positions];
    int64_t position;
    *out_elements = 0;
    *out_inside = true;
    if (planned->undo == UNDO_ELEMENTS)
        for (uint32_t i = 0; i < result->rank; i++)
            if (i != planned->dims[0]) *out_elements += at[i] * result->strides[i];
    for (uint32_t i = 0; i < planned->dim_count && *out_inside; i++) {
        const uint32_t dim = planned->dims[i];
        TRY(read_position(context, &positions[i], at, result->sizes[dim], &position, out_inside, diag));
        if (*out_inside) *out_elements += position * result->strides[dim];
    }
    return INSITU_OK;
}

static insitu_status save_positions(const insitu_context *context, const state_write_t *write, insitu_state *state,
                                    uint32_t storage, int64_t *bytes, insitu_diag *diag) {
    const bound_operand_t *result = result_of(write), *positions = &write->step->operands[write->planned->positions];
    byte_region_t region = region_of_position(write);
    int64_t at[MAX_RANK] = {0}, elements;
    for (uint32_t i = 0; i < positions->rank; i++)
        if (positions->sizes[i] == 0) return INSITU_OK;
    for (;;) {
        bool is_inside;
        TRY(find_place(context, write, at, &elements, &is_inside, diag));
        if (is_inside) {
            region.offset = (size_t)(result->offset + elements * (int64_t)dtype_size(result->dtype));
            TRY(undo_log_save(&state->log, context->stream, state->storages, storage, &region, bytes, diag));
        }
        uint32_t dim = positions->rank;
        while (dim > 0 && ++at[dim - 1] == positions->sizes[dim - 1]) at[--dim] = 0;
        if (dim == 0) return INSITU_OK;
    }
}

static byte_region_t region_of_operand(const bound_operand_t *operand) {
    return region_of(operand->dtype, operand->rank, operand->sizes, operand->strides, (size_t)operand->offset);
}

/* Of a write that does not read its positions. */
static byte_region_t region_of_all(const state_write_t *write) {
    if (write->planned->undo == UNDO_WHOLE) return region_of_operand(result_of(write));
    const int64_t size = (int64_t)write->storage_bytes, stride = 1;
    return region_of(DTYPE_U8, 1, &size, &stride, 0);
}

static bool saves_positions(const state_write_t *write) {
    return write->planned->undo == UNDO_ROWS || write->planned->undo == UNDO_ELEMENTS;
}

/* ---- the log ---- */

static insitu_status add_room(const state_write_t *write, undo_room_t *room) {
    size_t count = 1;
    bool by_position = saves_positions(write);
    byte_region_t region = by_position ? region_of_position(write) : region_of_all(write);
    const bound_operand_t *positions = &write->step->operands[write->planned->positions];
    for (uint32_t i = 0; by_position && i < positions->rank; i++)
        if (!checked_size_mul(count, (size_t)positions->sizes[i], &count)) return INSITU_NOMEM;
    return undo_room_add(room, &region, count) ? INSITU_OK : INSITU_NOMEM;
}

insitu_status state_writes_find(const bound_plan_t *bound, arena_t *arena, state_writes_t *out_writes) {
    const plan_facts_t *facts = &bound->plan->facts;
    uint32_t first = 0, end;
    *out_writes = (state_writes_t){0};
    while (first < facts->write_count && facts->writes[first].step < bound->first_step) first++;
    for (end = first; end < facts->write_count; end++)
        if (facts->writes[end].step >= bound->first_step + bound->step_count) break;
    TRY(arena_array(arena, end - first, sizeof(*out_writes->rows), &out_writes->rows));
    for (uint32_t i = first; i < end; i++) {
        const plan_write_t *planned = &facts->writes[i];
        const bound_step_t *step = &bound->steps[planned->step - bound->first_step];
        state_write_t write = {planned, step, bound->storage_bytes[step->results[planned->result].storage]};
        TRY(add_room(&write, &out_writes->room));
        out_writes->rows[out_writes->count++] = write;
    }
    return INSITU_OK;
}

insitu_status state_writes_save(const state_writes_t *writes, const insitu_context *context, uint32_t step,
                                insitu_state *state, int64_t *bytes, insitu_diag *diag) {
    for (uint32_t i = 0; i < writes->count; i++) {
        const state_write_t *write = &writes->rows[i];
        if (write->planned->save != step) continue;
        uint32_t storage = context->engine->plan->storages[result_of(write)->storage].index;
        if (saves_positions(write)) {
            TRY(save_positions(context, write, state, storage, bytes, diag));
            continue;
        }
        byte_region_t region = region_of_all(write);
        TRY(undo_log_save(&state->log, context->stream, state->storages, storage, &region, bytes, diag));
    }
    return INSITU_OK;
}
