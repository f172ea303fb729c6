/* The undo of a step that stores into a state: what to save before it, and what puts that back.
 *
 * An index update replaces the rows at its positions, so those are gathered and put back by the same positions; a
 * scatter likewise; anything else replaces the whole of its result. */
#include "planner/planner_int.h"

static insitu_status add_log(planner_t *planner, tensor_type_t *type, plan_operand_t *out_log) {
    tensor_type_t dense;
    layout_dense(planner->pool, type->dtype, &type->shape, &dense);
    out_log->type = dense;
    return planner_add_storage(planner, STORAGE_ARENA, 0, layout_bytes(planner->pool, &dense), &out_log->storage);
}

static insitu_status set_operands(planner_t *planner, plan_step_t *step, const plan_operand_t *result,
                                  const plan_operand_t *operands, uint32_t count) {
    arena_t *arena = &planner->plan->arena;
    step->result_count = 1;
    step->operand_count = count;
    TRY(arena_copy(arena, result, sizeof *result, &step->results));
    return arena_copy(arena, operands, count * sizeof *operands, &step->operands);
}

static attr_t attr_in(const plan_step_t *step, attr_id_t id) { return step->attrs[layer_attr_index(step->layer, id)]; }

static insitu_status new_attrs(planner_t *planner, plan_step_t *step, attr_t **out_attrs) {
    TRY(arena_array(&planner->plan->arena, layer_info_of(step->layer)->attr_count + 1, sizeof **out_attrs, out_attrs));
    step->attrs = *out_attrs;
    return INSITU_OK;
}

/* save: log = index(x, positions...)     restore: x = index_update(x, log, positions...)
 * and likewise gather and scatter_update, which stores as it is what was saved */
static insitu_status undo_positions(planner_t *planner, const plan_step_t *step, undo_t *undo) {
    const layer_info_t *info = layer_info_of(step->layer), *reader = layer_info_of(info->reader);
    const uint32_t positions = step->operand_count - info->first_position;
    plan_operand_t log, *operands;
    attr_t *attrs;
    tensor_type_t elements = step->operands[info->counted].type;
    elements.dtype = step->results[0].type.dtype;
    TRY(add_log(planner, &elements, &log));
    TRY(arena_array(&planner->scratch, step->operand_count, sizeof *operands, &operands));
    undo->save.layer = info->reader;
    TRY(new_attrs(planner, &undo->save, &attrs));
    for (uint32_t i = 0; i < reader->attr_count; i++) attrs[i] = attr_in(step, reader->attrs[i].id);
    operands[0] = step->results[0];
    for (uint32_t i = 0; i < positions; i++)
        operands[reader->first_position + i] = step->operands[info->first_position + i];
    TRY(set_operands(planner, &undo->save, &log, operands, reader->first_position + positions));
    undo->restore.layer = step->layer;
    TRY(new_attrs(planner, &undo->restore, &attrs));
    for (uint32_t i = 0; i < info->attr_count; i++) {
        attrs[i] = step->attrs[i];
        if (info->attrs[i].id == ATTR_ACCUMULATE) attrs[i] = attr_of_sym(sym_bool(planner->pool, false));
        if (info->attrs[i].id == ATTR_OP) attrs[i] = attr_of_op(OP_ASSIGN);
    }
    for (uint32_t i = 0; i < step->operand_count; i++) operands[i] = step->operands[i];
    operands[0] = step->results[0];
    operands[1] = log;
    return set_operands(planner, &undo->restore, &step->results[0], operands, step->operand_count);
}

static insitu_status undo_whole(planner_t *planner, plan_operand_t stored, undo_t *undo) {
    plan_operand_t log;
    TRY(add_log(planner, &stored.type, &log));
    TRY(set_operands(planner, &undo->save, &log, &stored, 1));
    return set_operands(planner, &undo->restore, &stored, &log, 1);
}

insitu_status undo_make(planner_t *planner, const plan_step_t *step, uint32_t result, undo_t *out_undo) {
    plan_step_t blank = step_new(planner, LAYER_COPY, step->name, step->source);
    *out_undo = (undo_t){blank, blank};
    if (kind_has(step->layer, TRAIT_UPDATE) && kind_has(step->layer, TRAIT_INDEXED))
        TRY(undo_positions(planner, step, out_undo));
    else
        TRY(undo_whole(planner, step->results[result], out_undo));
    out_undo->save.counters[COUNTER_STATE_SAVED] = layout_bytes(planner->pool, &out_undo->save.results[0].type);
    return INSITU_OK;
}
