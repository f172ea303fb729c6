/* What a call replaces in its state, saved while a snapshot is open.
 *
 * Of an index update that is the rows at its positions, of a scatter its elements, of any other step the whole of its
 * result. Positions are read from memory, so a save stands where they have been computed: a call is cut there, and a cut
 * saves for as many later writes as it can. What a control step may run, how often is not known: all that it may write is
 * saved before it. */
#include "runtime/runtime_int.h"

enum { FIRST_POSITION = 2 }; /* operand: x, src, positions... */

static bool has_positions(const plan_step *step) {
    return step->layer == LAYER_INDEX_UPDATE || step->layer == LAYER_SCATTER_UPDATE;
}

/* ---- which bytes ---- */

/* What one position replaces, from the result's start. */
static byte_region region_of_position(const bound_step *step, const bound_operand *result) {
    int64_t sizes[MAX_RANK];
    if (step->step->layer == LAYER_SCATTER_UPDATE) return region_of(result->dtype, 0, NULL, NULL, 0);
    const bound_attr *dims = &step->attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_DIMS)];
    memcpy(sizes, result->sizes, sizeof(sizes));
    for (uint32_t i = 0; i < dims->count; i++) sizes[dims->items[i]] = 1;
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
static bool find_place(const bound_step *step, const bound_operand *result, const int64_t *at, void *const *bases,
                       int64_t *out_elements) {
    int64_t position;
    *out_elements = 0;
    if (step->step->layer == LAYER_INDEX_UPDATE) {
        const bound_attr *dims = &step->attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_DIMS)];
        for (uint32_t i = 0; i < dims->count; i++) {
            const int64_t dim = dims->items[i];
            if (!read_position(&step->operands[FIRST_POSITION + i], at, bases, result->sizes[dim], &position))
                return false;
            *out_elements += position * result->strides[dim];
        }
        return true;
    }
    const int64_t dim = step->attrs[layer_attr_index(LAYER_SCATTER_UPDATE, ATTR_DIM)].value.i;
    for (uint32_t i = 0; i < result->rank; i++) *out_elements += i == dim ? 0 : at[i] * result->strides[i];
    if (!read_position(&step->operands[FIRST_POSITION], at, bases, result->sizes[dim], &position)) return false;
    *out_elements += position * result->strides[dim];
    return true;
}

static size_t save_positions(const state_write *write, void *const *bases, insitu_state *state, uint32_t storage) {
    const bound_step *step = write->step;
    const bound_operand *result = &step->results[write->result], *positions = &step->operands[FIRST_POSITION];
    byte_region region = region_of_position(step, result);
    int64_t at[MAX_RANK] = {0}, elements;
    size_t saved = 0;
    for (uint32_t i = 0; i < positions->rank; i++)
        if (positions->sizes[i] == 0) return 0;
    for (;;) {
        if (find_place(step, result, at, bases, &elements)) {
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

/* All that a write may replace whose position is not read; of one that moves inside a region all of the storage. */
static byte_region region_of_whole(const state_write *write, const size_t *storage_bytes) {
    const bound_operand *result = &write->step->results[write->result];
    if (!write->is_inside || !result->moves) return region_of_operand(result);
    const int64_t size = (int64_t)storage_bytes[result->storage], one = 1;
    return region_of(DTYPE_U8, 1, &size, &one, 0);
}

static bool saves_positions(const state_write *write) { return !write->is_inside && has_positions(write->step->step); }

/* ---- when ---- */

/* The first step before which the write's place is known; writers[s]: 1 + the last step that has written storage s. */
static uint32_t known_from(const insitu_context *context, const state_write *write, const uint32_t *writers) {
    const plan_step *step = write->step->step;
    uint32_t known = context->ready[step->results[write->result].type.offset.id];
    for (uint32_t i = FIRST_POSITION; has_positions(step) && i < step->operand_count; i++) {
        const plan_operand *positions = &step->operands[i];
        if (writers[positions->storage] > known) known = writers[positions->storage];
        if (context->ready[positions->type.offset.id] > known) known = context->ready[positions->type.offset.id];
    }
    return known;
}

static insitu_status count_log_bytes(state_write *write, const size_t *storage_bytes) {
    const bound_step *step = write->step;
    const bound_operand *result = &step->results[write->result];
    if (!saves_positions(write)) {
        byte_region region = region_of_whole(write, storage_bytes);
        write->log_bytes = undo_entry_bytes(&region);
        return INSITU_OK;
    }
    byte_region region = region_of_position(step, result);
    write->log_bytes = undo_entry_bytes(&region);
    for (uint32_t i = 0; i < step->operands[FIRST_POSITION].rank; i++)
        if (!checked_size_mul(write->log_bytes, (size_t)step->operands[FIRST_POSITION].sizes[i], &write->log_bytes))
            return INSITU_NOMEM;
    return INSITU_OK;
}

static insitu_status add_write(const insitu_context *context, const uint32_t *writers, const size_t *storage_bytes,
                               state_write write, state_writes *writes) {
    TRY(count_log_bytes(&write, storage_bytes));
    if (!checked_size_add(writes->log_bytes, write.log_bytes, &writes->log_bytes)) return INSITU_NOMEM;
    uint32_t known = known_from(context, &write, writers);
    bool is_served = !write.is_inside && writes->count && writes->rows[writes->count - 1].cut >= known;
    if (is_served) write.cut = writes->rows[writes->count - 1].cut;
    writes->rows[writes->count++] = write;
    return INSITU_OK;
}

insitu_status state_writes_find(const insitu_context *context, const bound_plan *bound, arena *arena,
                                state_writes *out_writes) {
    const plan *plan = bound->plan;
    uint32_t *writers, count = 0;
    *out_writes = (state_writes){.storage_bytes = bound->storage_bytes};
    for (uint32_t i = 0; i < bound->step_count; i++) count += bound->steps[i].result_count;
    TRY(arena_array(arena, plan->storage_count, sizeof(*writers), &writers));
    TRY(arena_array(arena, count, sizeof(*out_writes->rows), &out_writes->rows));
    uint32_t control = 0, inside = 0; /* up to step inside, control runs the steps */
    for (uint32_t i = 0; i < bound->step_count; i++) {
        const bound_step *step = &bound->steps[i];
        uint32_t number = bound->first_step + i;
        bool is_inside = number < inside;
        if (!is_inside && step_is_control(step->step)) inside = step->step->end;
        if (!is_inside) control = number;
        for (uint32_t r = 0; r < step->result_count; r++) {
            const state_write write = {.step = step, .result = r, .cut = control, .is_inside = is_inside};
            if (plan->storages[step->results[r].storage].kind == STORAGE_STATE)
                TRY(add_write(context, writers, bound->storage_bytes, write, out_writes));
        }
        for (uint32_t r = 0; r < step->result_count; r++) writers[step->results[r].storage] = number + 1;
    }
    return INSITU_OK;
}

/* ---- during the call ---- */

size_t state_writes_save(const state_writes *writes, const plan *plan, uint32_t cut, void *const *bases,
                         insitu_state *state) {
    size_t saved = 0;
    for (uint32_t i = 0; i < writes->count; i++) {
        const state_write *write = &writes->rows[i];
        if (write->cut != cut) continue;
        const bound_operand *result = &write->step->results[write->result];
        uint32_t storage = plan->storages[result->storage].index;
        if (saves_positions(write)) {
            saved += save_positions(write, bases, state, storage);
            continue;
        }
        byte_region region = region_of_whole(write, writes->storage_bytes);
        saved += undo_log_save(&state->log, state->storages, storage, &region);
    }
    return saved;
}

uint32_t state_writes_next_cut(const state_writes *writes, uint32_t from, uint32_t end) {
    for (uint32_t i = 0; i < writes->count; i++)
        if (writes->rows[i].cut >= from) return writes->rows[i].cut < end ? writes->rows[i].cut : end;
    return end;
}
