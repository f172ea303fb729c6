/* What a call replaces in its state, saved while a snapshot is open.
 *
 * Of an index update that is the rows at its positions, of a scatter its elements, of any other step the whole of its
 * result. Positions are read from memory, so a save stands where they have been computed: a call is cut there, and a cut
 * saves for as many later writes as it can. */
#include "runtime/runtime_int.h"

static bool has_positions(const plan_step *step) {
    return kind_has(step->layer, TRAIT_UPDATE) && kind_has(step->layer, TRAIT_INDEXED);
}

static uint32_t first_position(const plan_step *step) { return layer_info_of(step->layer)->first_position; }

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

/* A position of the given operand. *out_inside false: it lies outside the dimension, in which case the call fails later. */
static insitu_status read_position(const insitu_context *context, const bound_operand *positions, const int64_t *at,
                                   int64_t size, int64_t *out_position, bool *out_inside, insitu_diag *diag) {
    const uint8_t *element = (const uint8_t *)context->bases[positions->storage] + positions->offset;
    int64_t step = 0;
    sym_value value = {0};
    for (uint32_t i = 0; i < positions->rank; i++) step += at[i] * positions->strides[i];
    element += step * (int64_t)dtype_size(positions->dtype);
    TRY(read_element(context->device, context->stream, positions->dtype, element, &value, out_inside, diag));
    *out_position = value.i < 0 ? value.i + size : value.i;
    *out_inside = *out_inside && value.kind != SYM_KIND_FLOAT && *out_position >= 0 && *out_position < size;
    return INSITU_OK;
}

/* Elements from the result's start to what the positions at `at` replace. */
static insitu_status find_place(const insitu_context *context, const bound_step *step, const bound_operand *result,
                                const int64_t *at, int64_t *out_elements, bool *out_inside, insitu_diag *diag) {
    int64_t position;
    *out_elements = 0;
    *out_inside = true;
    if (step->step->layer == LAYER_INDEX_UPDATE) {
        const bound_attr *dims = &step->attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_DIMS)];
        for (uint32_t i = 0; i < dims->count && *out_inside; i++) {
            const int64_t dim = dims->items[i];
            TRY(read_position(context, &step->operands[first_position(step->step) + i], at, result->sizes[dim],
                              &position, out_inside, diag));
            *out_elements += position * result->strides[dim];
        }
        return INSITU_OK;
    }
    const int64_t dim = step->attrs[layer_attr_index(LAYER_SCATTER_UPDATE, ATTR_DIM)].value.i;
    for (uint32_t i = 0; i < result->rank; i++) *out_elements += i == dim ? 0 : at[i] * result->strides[i];
    TRY(read_position(context, &step->operands[first_position(step->step)], at, result->sizes[dim], &position,
                      out_inside, diag));
    *out_elements += position * result->strides[dim];
    return INSITU_OK;
}

static insitu_status save_positions(const insitu_context *context, const state_write *write, insitu_state *state,
                                    uint32_t storage, int64_t *bytes, insitu_diag *diag) {
    const bound_step *step = write->step;
    const bound_operand *result = &step->results[write->result],
                        *positions = &step->operands[first_position(step->step)];
    byte_region region = region_of_position(step, result);
    int64_t at[MAX_RANK] = {0}, elements;
    for (uint32_t i = 0; i < positions->rank; i++)
        if (positions->sizes[i] == 0) return INSITU_OK;
    for (;;) {
        bool is_inside;
        TRY(find_place(context, step, result, at, &elements, &is_inside, diag));
        if (is_inside) {
            region.offset = (size_t)(result->offset + elements * (int64_t)dtype_size(result->dtype));
            TRY(undo_log_save(&state->log, context->stream, state->storages, storage, &region, bytes, diag));
        }
        uint32_t dim = positions->rank;
        while (dim > 0 && ++at[dim - 1] == positions->sizes[dim - 1]) at[--dim] = 0;
        if (dim == 0) return INSITU_OK;
    }
}

static byte_region region_of_operand(const bound_operand *operand) {
    return region_of(operand->dtype, operand->rank, operand->sizes, operand->strides, (size_t)operand->offset);
}

/* ---- when ---- */

/* The first step before which the write's place is known; writers[s]: 1 + the last step that has written storage s. */
static uint32_t known_from(const insitu_context *context, const state_write *write, const uint32_t *writers) {
    const plan_step *step = write->step->step;
    uint32_t known = context->ready[step->results[write->result].type.offset.id];
    for (uint32_t i = first_position(step); has_positions(step) && i < step->operand_count; i++) {
        const plan_operand *positions = &step->operands[i];
        if (writers[positions->storage] > known) known = writers[positions->storage];
        if (context->ready[positions->type.offset.id] > known) known = context->ready[positions->type.offset.id];
    }
    return known;
}

static insitu_status add_room(const state_write *write, undo_room *room) {
    const bound_step *step = write->step;
    const bound_operand *result = &step->results[write->result];
    size_t count = 1;
    byte_region region = region_of_operand(result);
    if (has_positions(step->step)) {
        region = region_of_position(step, result);
        for (uint32_t i = 0; i < step->operands[first_position(step->step)].rank; i++)
            if (!checked_size_mul(count, (size_t)step->operands[first_position(step->step)].sizes[i], &count))
                return INSITU_NOMEM;
    }
    return undo_room_add(room, &region, count) ? INSITU_OK : INSITU_NOMEM;
}

static insitu_status add_write(const insitu_context *context, const uint32_t *writers, state_write write,
                               state_writes *writes) {
    TRY(add_room(&write, &writes->room));
    uint32_t known = known_from(context, &write, writers);
    bool is_served = writes->count && writes->rows[writes->count - 1].cut >= known;
    if (is_served) write.cut = writes->rows[writes->count - 1].cut;
    writes->rows[writes->count++] = write;
    return INSITU_OK;
}

insitu_status state_writes_find(const insitu_context *context, const bound_plan *bound, arena *arena,
                                state_writes *out_writes) {
    const plan *plan = bound->plan;
    uint32_t *writers, count = 0;
    *out_writes = (state_writes){0};
    for (uint32_t i = 0; i < bound->step_count; i++) count += bound->steps[i].result_count;
    TRY(arena_array(arena, plan->storage_count, sizeof(*writers), &writers));
    TRY(arena_array(arena, count, sizeof(*out_writes->rows), &out_writes->rows));
    for (uint32_t i = 0; i < bound->step_count; i++) {
        const bound_step *step = &bound->steps[i];
        uint32_t number = bound->first_step + i;
        for (uint32_t r = 0; r < step->result_count; r++)
            if (plan->storages[step->results[r].storage].kind == STORAGE_STATE)
                TRY(add_write(context, writers,
                              (state_write){.step = step, .result = r, .cut = plan_group_of(bound, number).first},
                              out_writes));
        for (uint32_t r = 0; r < step->result_count; r++) writers[step->results[r].storage] = number + 1;
    }
    return INSITU_OK;
}

/* ---- during the call ---- */

insitu_status state_writes_save(const state_writes *writes, const insitu_context *context, uint32_t cut,
                                insitu_state *state, int64_t *bytes, insitu_diag *diag) {
    for (uint32_t i = 0; i < writes->count; i++) {
        const state_write *write = &writes->rows[i];
        if (write->cut != cut) continue;
        const bound_operand *result = &write->step->results[write->result];
        uint32_t storage = context->engine->plan->storages[result->storage].index;
        if (has_positions(write->step->step)) {
            TRY(save_positions(context, write, state, storage, bytes, diag));
            continue;
        }
        byte_region region = region_of_operand(result);
        TRY(undo_log_save(&state->log, context->stream, state->storages, storage, &region, bytes, diag));
    }
    return INSITU_OK;
}

uint32_t state_writes_next_cut(const state_writes *writes, uint32_t from, uint32_t end) {
    for (uint32_t i = 0; i < writes->count; i++)
        if (writes->rows[i].cut >= from) return writes->rows[i].cut < end ? writes->rows[i].cut : end;
    return end;
}
