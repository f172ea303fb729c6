/* The undo of a step that stores into a state: what to save before it, and what puts that back.
 *
 * An index update replaces the rows at its positions, so those are gathered and put back by the same positions; a
 * scatter likewise; anything else replaces the whole of its result. */
#include "planner/planner_int.h"

static insitu_status add_log(planner *planner, tensor_type *type, plan_operand *out_log) {
    tensor_type dense;
    layout_dense(planner->pool, type->dtype, &type->shape, &dense);
    out_log->type = dense;
    return planner_add_storage(planner, STORAGE_ARENA, 0, layout_bytes(planner->pool, &dense), &out_log->storage);
}

static insitu_status set_operands(planner *planner, plan_step *step, const plan_operand *result,
                                  const plan_operand *operands, uint32_t count) {
    arena *arena = &planner->plan->arena;
    step->result_count = 1;
    step->operand_count = count;
    TRY(arena_copy(arena, result, sizeof *result, &step->results));
    return arena_copy(arena, operands, count * sizeof *operands, &step->operands);
}

static attr attr_in(const plan_step *step, attr_id id) { return step->attrs[layer_attr_index(step->layer, id)]; }

static insitu_status new_attrs(planner *planner, plan_step *step, attr **out_attrs) {
    TRY(arena_array(&planner->plan->arena, layer_info_of(step->layer)->attr_count + 1, sizeof **out_attrs, out_attrs));
    step->attrs = *out_attrs;
    return INSITU_OK;
}

/* save: log = index(x, positions...)     restore: x = index_update(x, log, positions...) */
static insitu_status undo_index(planner *planner, const plan_step *step, undo *undo) {
    plan_operand log, *operands;
    attr *attrs;
    uint32_t positions = step->operand_count - 2;
    tensor_type rows = step->operands[1].type;
    rows.dtype = step->results[0].type.dtype;
    TRY(add_log(planner, &rows, &log));
    TRY(arena_array(&planner->scratch, step->operand_count, sizeof *operands, &operands));
    undo->save.layer = LAYER_INDEX;
    TRY(new_attrs(planner, &undo->save, &attrs));
    attrs[layer_attr_index(LAYER_INDEX, ATTR_DIMS)] = attr_in(step, ATTR_DIMS);
    attrs[layer_attr_index(LAYER_INDEX, ATTR_WRAP)] = attr_in(step, ATTR_WRAP);
    operands[0] = step->results[0];
    for (uint32_t i = 0; i < positions; i++) operands[1 + i] = step->operands[2 + i];
    TRY(set_operands(planner, &undo->save, &log, operands, positions + 1));
    undo->restore.layer = LAYER_INDEX_UPDATE;
    TRY(new_attrs(planner, &undo->restore, &attrs));
    attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_ACCUMULATE)] = attr_of_sym(sym_bool(planner->pool, false));
    attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_DIMS)] = attr_in(step, ATTR_DIMS);
    attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_WRAP)] = attr_in(step, ATTR_WRAP);
    operands[1] = log;
    for (uint32_t i = 0; i < positions; i++) operands[2 + i] = step->operands[2 + i];
    return set_operands(planner, &undo->restore, &step->results[0], operands, positions + 2);
}

/* save: log = gather(x, index)     restore: x = scatter_update(x, log, index) */
static insitu_status undo_scatter(planner *planner, const plan_step *step, undo *undo) {
    plan_operand log;
    attr *attrs;
    tensor_type elements = step->operands[2].type;
    elements.dtype = step->results[0].type.dtype;
    TRY(add_log(planner, &elements, &log));
    undo->save.layer = LAYER_GATHER;
    TRY(new_attrs(planner, &undo->save, &attrs));
    attrs[layer_attr_index(LAYER_GATHER, ATTR_DIM)] = attr_in(step, ATTR_DIM);
    plan_operand gathered[] = {step->results[0], step->operands[2]};
    TRY(set_operands(planner, &undo->save, &log, gathered, 2));
    undo->restore.layer = LAYER_SCATTER_UPDATE;
    TRY(new_attrs(planner, &undo->restore, &attrs));
    attrs[layer_attr_index(LAYER_SCATTER_UPDATE, ATTR_DIM)] = attr_in(step, ATTR_DIM);
    attrs[layer_attr_index(LAYER_SCATTER_UPDATE, ATTR_OP)] = attr_of_op(OP_ASSIGN);
    plan_operand scattered[] = {step->results[0], log, step->operands[2]};
    return set_operands(planner, &undo->restore, &step->results[0], scattered, 3);
}

static insitu_status undo_whole(planner *planner, plan_operand stored, undo *undo) {
    plan_operand log;
    TRY(add_log(planner, &stored.type, &log));
    TRY(set_operands(planner, &undo->save, &log, &stored, 1));
    return set_operands(planner, &undo->restore, &stored, &log, 1);
}

insitu_status undo_make(planner *planner, const plan_step *step, uint32_t result, undo *out_undo) {
    plan_step blank = step_new(planner, LAYER_COPY, step->name, step->source);
    *out_undo = (undo){blank, blank};
    if (step->layer == LAYER_INDEX_UPDATE)
        TRY(undo_index(planner, step, out_undo));
    else if (step->layer == LAYER_SCATTER_UPDATE)
        TRY(undo_scatter(planner, step, out_undo));
    else
        TRY(undo_whole(planner, step->results[result], out_undo));
    out_undo->save.counters[COUNTER_STATE_SAVED] = layout_bytes(planner->pool, &out_undo->save.results[0].type);
    return INSITU_OK;
}
