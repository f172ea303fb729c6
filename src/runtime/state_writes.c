/* Bytes that a call replaces in its state, saved while a snapshot is open. Which they are, and before which step they are
 * known, the plan's facts say: positions are read from memory, so a save stands where they have been computed. */
#include "runtime/runtime_int.h"

static const bound_operand *result_of(const state_write *write) {
    return &write->step->results[write->planned->result];
}

/* ---- which bytes ---- */

/* What one position replaces, from the result's start. */
static byte_region region_of_position(const state_write *write) {
    const plan_write *planned = write->planned;
    const bound_operand *result = result_of(write);
    int64_t sizes[MAX_RANK];
    if (planned->undo == UNDO_ELEMENTS) return region_of(result->dtype, 0, NULL, NULL, 0);
    memcpy(sizes, result->sizes, sizeof(sizes));
    for (uint32_t i = 0; i < planned->dim_count; i++) sizes[planned->dims[i]] = 1;
    return region_of(result->dtype, result->rank, sizes, result->strides, 0);
}

/* A position of the given operand; false if it lies outside the dimension, in which case the call fails later. */
static bool read_position(const bound_operand *positions, const int64_t *at, void *const *bases, int64_t size,
                          int64_t *out_position) {
    const uint8_t *element = (const uint8_t *)bases[positions->storage] + positions->offset;
    int64_t step = 0;
    sym_value value;
    for (uint32_t i = 0; i < positions->rank; i++) step += at[i] * positions->strides[i];
    element += step * (int64_t)dtype_size(positions->dtype);
    if (!element_value(positions->dtype, element, &value) || value.kind == SYM_KIND_FLOAT) return false;
    *out_position = value.i < 0 ? value.i + size : value.i;
    return *out_position >= 0 && *out_position < size;
}

/* Elements from the result's start to what the positions at `at` replace. */
static bool find_place(const state_write *write, const int64_t *at, void *const *bases, int64_t *out_elements) {
    const plan_write *planned = write->planned;
    const bound_operand *result = result_of(write), *positions = &write->step->operands[planned->positions];
    int64_t position;
    *out_elements = 0;
    if (planned->undo == UNDO_ELEMENTS)
        for (uint32_t i = 0; i < result->rank; i++)
            if (i != planned->dims[0]) *out_elements += at[i] * result->strides[i];
    for (uint32_t i = 0; i < planned->dim_count; i++) {
        const uint32_t dim = planned->dims[i];
        if (!read_position(&positions[i], at, bases, result->sizes[dim], &position)) return false;
        *out_elements += position * result->strides[dim];
    }
    return true;
}

static size_t save_positions(const state_write *write, void *const *bases, insitu_state *state, uint32_t storage) {
    const bound_operand *result = result_of(write), *positions = &write->step->operands[write->planned->positions];
    byte_region region = region_of_position(write);
    int64_t at[MAX_RANK] = {0}, elements;
    size_t saved = 0;
    for (uint32_t i = 0; i < positions->rank; i++)
        if (positions->sizes[i] == 0) return 0;
    for (;;) {
        if (find_place(write, at, bases, &elements)) {
            region.offset = (size_t)(result->offset + elements * (int64_t)dtype_size(result->dtype));
            saved += undo_log_save(&state->log, state->storages, storage, &region);
        }
        uint32_t dim = positions->rank;
        while (dim > 0 && ++at[dim - 1] == positions->sizes[dim - 1]) at[--dim] = 0;
        if (dim == 0) return saved;
    }
}

static byte_region region_of_operand(const bound_operand *operand) {
    return region_of(operand->dtype, operand->rank, operand->sizes, operand->strides, (size_t)operand->offset);
}

/* ---- the log ---- */

static insitu_status count_log_bytes(const state_write *write, size_t *out_bytes) {
    const plan_write *planned = write->planned;
    bool is_whole = planned->undo == UNDO_WHOLE;
    byte_region region = is_whole ? region_of_operand(result_of(write)) : region_of_position(write);
    *out_bytes = undo_entry_bytes(&region);
    if (is_whole) return INSITU_OK;
    const bound_operand *positions = &write->step->operands[planned->positions];
    for (uint32_t i = 0; i < positions->rank; i++)
        if (!checked_size_mul(*out_bytes, (size_t)positions->sizes[i], out_bytes)) return INSITU_NOMEM;
    return INSITU_OK;
}

insitu_status state_writes_find(const bound_plan *bound, arena *arena, state_writes *out_writes) {
    const plan_facts *facts = &bound->plan->facts;
    uint32_t first = 0, end;
    *out_writes = (state_writes){0};
    while (first < facts->write_count && facts->writes[first].step < bound->first_step) first++;
    for (end = first; end < facts->write_count; end++)
        if (facts->writes[end].step >= bound->first_step + bound->step_count) break;
    TRY(arena_array(arena, end - first, sizeof(*out_writes->rows), &out_writes->rows));
    for (uint32_t i = first; i < end; i++) {
        const plan_write *planned = &facts->writes[i];
        state_write write = {planned, &bound->steps[planned->step - bound->first_step]};
        size_t bytes;
        TRY(count_log_bytes(&write, &bytes));
        if (!checked_size_add(out_writes->log_bytes, bytes, &out_writes->log_bytes)) return INSITU_NOMEM;
        out_writes->rows[out_writes->count++] = write;
    }
    return INSITU_OK;
}

size_t state_writes_save(const state_writes *writes, const plan *plan, uint32_t step, void *const *bases,
                         insitu_state *state) {
    size_t saved = 0;
    for (uint32_t i = 0; i < writes->count; i++) {
        const state_write *write = &writes->rows[i];
        if (write->planned->save != step) continue;
        uint32_t storage = plan->storages[result_of(write)->storage].index;
        if (write->planned->undo != UNDO_WHOLE) {
            saved += save_positions(write, bases, state, storage);
            continue;
        }
        byte_region region = region_of_operand(result_of(write));
        saved += undo_log_save(&state->log, state->storages, storage, &region);
    }
    return saved;
}
