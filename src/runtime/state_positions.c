/* States that are indexed by position, such as the caches of attention: every write of the program to such a tensor
 * replaces rows of one axis, at positions that the call gets or computes, and nothing else. Row r then holds what was
 * written at position r, so a sequence is cut to n rows by giving the rest their initial values. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

enum { NO_AXIS = -1 };

/* The dimension in which the result, a part of the state's tensor, is shorter, or which it lacks; NO_AXIS if it differs in
 * another way. A dimension is known by its stride. */
static int32_t shorter_axis(const tensor_type *state, const tensor_type *part) {
    int32_t axis = NO_AXIS;
    uint32_t at = 0;
    for (uint32_t dim = 0; dim < state->shape.rank; dim++) {
        bool is_same_step = at < part->shape.rank && sym_same(state->strides[dim], part->strides[at]);
        if (is_same_step && sym_same(state->shape.sizes[dim], part->shape.sizes[at])) {
            at++;
            continue;
        }
        if (at < part->shape.rank && sym_is_one(state->shape.sizes[dim]) && sym_is_one(part->shape.sizes[at])) {
            at++; /* steps nowhere */
            continue;
        }
        if (sym_is_one(state->shape.sizes[dim])) continue;
        if (axis != NO_AXIS) return NO_AXIS;
        axis = (int32_t)dim;
        bool keeps_dim = at < part->shape.rank && (is_same_step || sym_is_one(part->shape.sizes[at]));
        if (keeps_dim) at++;
    }
    while (at < part->shape.rank && sym_is_one(part->shape.sizes[at])) at++;
    return at == part->shape.rank ? axis : NO_AXIS;
}

static bool is_same_tensor(const tensor_type *a, const tensor_type *b) {
    if (!shape_same(&a->shape, &b->shape) || !sym_same(a->offset, b->offset)) return false;
    for (uint32_t i = 0; i < a->shape.rank; i++)
        if (!sym_same(a->strides[i], b->strides[i]) && !sym_is_one(a->shape.sizes[i])) return false;
    return true;
}

/* Rows of one dimension, or of one for each row of a batch. No backend may have seen the step. */
static int32_t axis_of_index_update(const plan *plan, const plan_step *step, const tensor_type *state) {
    const sym_pool *pool = &plan->symbols;
    const attr *dims = &step->attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_DIMS)];
    int64_t first, second;
    if (dims->list.count == 0 || step->operand_count != 2 + dims->list.count) return NO_AXIS;
    const plan_operand *positions = &step->operands[step->operand_count - 1];
    if (!is_same_tensor(&step->results[0].type, state) || !sym_constant(pool, dims->list.items[0], &first))
        return NO_AXIS;
    if (plan->storages[positions->storage].kind == STORAGE_WEIGHT) return NO_AXIS; /* always the same rows */
    if (dims->list.count == 1) return (int32_t)first;
    if (dims->list.count != 2 || first != 0 || !sym_constant(pool, dims->list.items[1], &second)) return NO_AXIS;
    return (int32_t)second;
}

static int32_t axis_of_write(const plan *plan, const plan_step *step, uint32_t result, const tensor_type *state) {
    int64_t offset;
    if (step->layer == LAYER_INDEX_UPDATE) return axis_of_index_update(plan, step, state);
    if (kind_has(step->layer, TRAIT_UPDATE)) return NO_AXIS;
    const tensor_type *part = &step->results[result].type;
    if (sym_constant(&plan->symbols, part->offset, &offset)) return NO_AXIS; /* always the same place */
    return shorter_axis(state, part);
}

/* The axis of all writes to the state; NO_AXIS if they differ, or there are none. */
static int32_t position_axis(const plan *plan, uint32_t index) {
    const plan_state *state = &plan->states[index];
    int32_t axis = NO_AXIS;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step *step = &plan->steps[i];
        for (uint32_t r = 0; r < step->result_count; r++) {
            const plan_storage *storage = &plan->storages[step->results[r].storage];
            if (storage->kind != STORAGE_STATE || storage->index != state->state_storage) continue;
            int32_t found = axis_of_write(plan, step, r, &state->type);
            if (found < 0 || (uint32_t)found >= state->type.shape.rank || (axis != NO_AXIS && found != axis))
                return NO_AXIS;
            axis = found;
        }
    }
    return axis;
}

static const char *update_of(const plan *plan, const char *name) {
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
    const plan *plan = state->engine->plan;
    const insitu_tensor *tensor = &state->tensors[index];
    insitu_state_info found = {.name = plan->states[index].name,
                               .dtype = tensor->dtype,
                               .ndim = tensor->ndim,
                               .sizes = tensor->shape,
                               .bytes = tensor->dtype.bits / 8,
                               .update = update_of(plan, plan->states[index].name),
                               .position_axis = position_axis(plan, (uint32_t)index),
                               .is_bound = state->is_bound[plan->states[index].state_storage]};
    for (int32_t i = 0; i < tensor->ndim; i++) found.bytes *= (size_t)tensor->shape[i];
    size_t size = info->struct_size < sizeof(found) ? info->struct_size : sizeof(found);
    memcpy((char *)info + sizeof(size_t), (const char *)&found + sizeof(size_t), size - sizeof(size_t));
    return INSITU_OK;
}

/* ---- truncation ---- */

/* The rows from `rows` on; no bytes if there are none. */
static byte_region region_of_rest(const insitu_state *state, uint32_t index, int32_t axis, int64_t rows) {
    const insitu_tensor *tensor = &state->tensors[index];
    const plan_state *declared = &state->engine->plan->states[index];
    int64_t sizes[MAX_RANK], first = rows < tensor->shape[axis] ? rows : tensor->shape[axis];
    memcpy(sizes, tensor->shape, (size_t)tensor->ndim * sizeof(*sizes));
    sizes[axis] -= first;
    size_t offset = (size_t)((uint8_t *)tensor->data - (uint8_t *)state->storages[declared->state_storage]);
    offset += (size_t)(first * tensor->strides[axis]) * dtype_size(declared->type.dtype);
    return region_of(declared->type.dtype, (uint32_t)tensor->ndim, sizes, tensor->strides, offset);
}

static insitu_status truncate_one(insitu_state *state, uint32_t index, int32_t axis, int64_t rows, bool is_saved,
                                  size_t *log_bytes) {
    const plan *plan = state->engine->plan;
    uint32_t storage = plan->states[index].state_storage, initial = plan->state_storages[storage].initial;
    byte_region rest = region_of_rest(state, index, axis, rows);
    if (!is_saved) return checked_size_add(*log_bytes, undo_entry_bytes(&rest), log_bytes) ? INSITU_OK : INSITU_NOMEM;
    if (undo_log_is_open(&state->log)) undo_log_save(&state->log, state->storages, storage, &rest);
    region_set(&rest, state->storages[storage], initial == NONE ? NULL : plan->weights[initial].data);
    return INSITU_OK;
}

/* First counts what an open snapshot needs, then truncates, so that want of memory changes nothing. */
static insitu_status truncate_all(insitu_state *state, uint32_t first, uint32_t end, int64_t rows, insitu_diag *diag) {
    const plan *plan = state->engine->plan;
    size_t log_bytes = 0;
    uint32_t found = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = first; i < end; i++) {
            int32_t axis = position_axis(plan, i);
            if (axis == NO_AXIS) continue;
            found++;
            TRY(truncate_one(state, i, axis, rows, pass == 1, &log_bytes));
        }
        if (pass == 0 && undo_log_is_open(&state->log)) TRY(undo_log_reserve(&state->log, log_bytes, diag));
    }
    if (found) return INSITU_OK;
    if (end - first == 1 && plan->state_count > 1)
        FAIL(diag, INSITU_ARG, "state '%s' is not indexed by position: its update is '%s'", plan->states[first].name,
             update_of(plan, plan->states[first].name));
    FAIL(diag, INSITU_ARG, "the engine has no state that is indexed by position");
}

insitu_status insitu_state_truncate(insitu_state *state, const char *name, int64_t rows, insitu_stream stream,
                                    insitu_diag *diag) {
    if (!state) FAIL(diag, INSITU_ARG, "insitu_state_truncate needs a state");
    if (rows < 0) FAIL(diag, INSITU_ARG, "a state can't be cut to %" PRId64 " rows", rows);
    (void)stream;
    uint32_t first = 0, end = state->engine->plan->state_count;
    if (name) {
        int32_t index = insitu_engine_find_state(state->engine, name);
        if (index < 0) FAIL(diag, INSITU_ARG, "the engine has no state '%s'", name);
        first = (uint32_t)index;
        end = first + 1;
    }
    TRY(state_lock(state, diag));
    insitu_status status = truncate_all(state, first, end, rows, diag);
    state_unlock(state);
    return status;
}
