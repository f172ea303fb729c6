/* Emission of layers that run regions: a control step, and behind it the steps of both regions.
 *
 *     %r = cond(%p, %x) {regions=[0,1]}      step 4: cond(p) then 5 to 7, else 7 to 9
 *                                            steps 5, 6: region 0, from x's place to r's
 *                                            steps 7, 8: region 1, likewise
 *     %r = loop(%i, %y) {regions=[0,1]}      copies of i and y to r's places, where they don't lie there
 *                                            step 4: loop(q) while 5 to 6 do 6 to 9
 *                                            step 5: region 0, from r's places to q, a bool of its own
 *                                            steps 6 to 8: region 1, from r's places to r's places
 *
 * A region is planned as a program whose inputs lie at the operands' places and are replaced by its outputs where those lie
 * there, so a carried value is updated where it lies as a state is. What regions store into states is saved whole before the
 * control step if a round can fail, or a branch after it has written. */
#include "planner/planner_int.h"

static bool region_may_fail(const network_t *region) {
    for (uint32_t i = 0; i < region->order_count; i++) {
        const layer_t *layer = network_layer_of(region, region->order[i]);
        if (kind_has(layer->kind, TRAIT_INDEXED | TRAIT_HOST)) return true;
        if (kind_has(layer->kind, TRAIT_REGIONS) && layer_may_fail(region, layer)) return true;
    }
    return false;
}

bool layer_may_fail(const network_t *network, const layer_t *layer) {
    for (uint32_t i = 0; i < 2; i++) {
        const network_t *region = network_region(network, layer->attrs, i);
        if (!region || region_may_fail(region)) return true;
    }
    return false;
}

static insitu_status save_results(emitter_t *emitter, const layer_t *layer, const plan_operand_t *results) {
    planner_t *planner = emitter->planner;
    plan_step_t stored = step_new(planner, layer->kind, layer->name, layer->source);
    stored.results = results;
    for (uint32_t i = 0; i < layer->result_count; i++)
        if (planner->storages[results[i].storage].written) TRY(emit_save(emitter, &stored, i));
    return INSITU_OK;
}

static insitu_status emit_control_step(emitter_t *emitter, const layer_t *layer, step_kind_t kind,
                                       plan_operand_t condition, uint32_t *out_step) {
    planner_t *planner = emitter->planner;
    plan_step_t step = step_new(planner, layer->kind, layer->name, layer->source);
    step.kind = kind;
    *out_step = planner->plan->step_count;
    return emit_with(emitter, step, NULL, 0, &condition, 1);
}

void storage_keep(planner_t *planner, uint32_t storage, uint32_t first, uint32_t last) {
    plan_storage_t *kept = &planner->plan->storages[storage];
    if (kept->last_step == NONE || kept->first_step > first) kept->first_step = first;
    if (kept->last_step == NONE || kept->last_step < last) kept->last_step = last;
}

static insitu_status add_condition(planner_t *planner, plan_operand_t *out) {
    const shape_t one = {.rank = 0};
    layout_dense(planner->pool, DTYPE_BOOL, &one, &out->type);
    return planner_add_storage(planner, STORAGE_ARENA, 0, layout_bytes(planner->pool, &out->type), &out->storage);
}

/* A bool of one element, whatever its rank. */
static plan_operand_t condition_of(const plan_operand_t *place) {
    plan_operand_t condition = *place;
    condition.type.shape.rank = 0;
    return condition;
}

static void finish_control(emitter_t *emitter, const layer_t *layer, uint32_t step, uint32_t middle) {
    plan_t *plan = emitter->planner->plan;
    plan->steps[step].middle = middle;
    plan->steps[step].end = plan->step_count;
    if (layer_may_fail(emitter->planner->network, layer)) emitter->check_step = plan->step_count - 1;
}

static insitu_status emit_branches(emitter_t *emitter, const layer_t *layer, const plan_operand_t *operands,
                                   const plan_operand_t *results, inner_plan_t *branches[2]) {
    planner_t *planner = emitter->planner;
    const region_places_t places = {.inputs = operands + 1, .outputs = results};
    const region_rule_t rule =
        planner->options.region == REGION_CHECKS_ANYWHERE ? REGION_CHECKS_ANYWHERE : REGION_CHECKS_FIRST;
    bool saves = emitter->saves;
    uint32_t step, middle;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(inner_plan_make(planner, network_region(planner->network, layer->attrs, i), &places, rule, layer->name,
                            &branches[i]));
        saves |= emitter->saves_own && inner_plan_has_deferred(branches[i]);
    }
    if (saves) TRY(save_results(emitter, layer, results));
    TRY(emit_control_step(emitter, layer, STEP_COND, condition_of(&operands[0]), &step));
    TRY(inner_plan_emit(branches[0], emitter));
    middle = planner->plan->step_count;
    TRY(inner_plan_emit(branches[1], emitter));
    finish_control(emitter, layer, step, middle);
    return INSITU_OK;
}

static insitu_status emit_cond(emitter_t *emitter, const layer_t *layer, const plan_operand_t *operands,
                               const plan_operand_t *results) {
    inner_plan_t *branches[2] = {NULL, NULL};
    insitu_status status = emit_branches(emitter, layer, operands, results, branches);
    for (uint32_t i = 0; i < 2; i++) inner_plan_destroy(branches[i]);
    return status;
}

static insitu_status emit_round(emitter_t *emitter, const layer_t *layer, uint32_t region,
                                const region_places_t *places) {
    planner_t *planner = emitter->planner;
    inner_plan_t *inner;
    insitu_status status = inner_plan_make(planner, network_region(planner->network, layer->attrs, region), places,
                                           REGION_CHECKS_ANYWHERE, layer->name, &inner);
    if (status == INSITU_OK) status = inner_plan_emit(inner, emitter);
    inner_plan_destroy(inner);
    return status;
}

static insitu_status emit_loop(emitter_t *emitter, uint32_t index, plan_operand_t *operands,
                               const plan_operand_t *results) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, index);
    const uint32_t begin = planner->plan->step_count;
    const bool saves = emitter->saves;
    uint32_t step, middle;
    plan_operand_t condition;
    if (saves || emitter->saves_own) TRY(save_results(emitter, layer, results));
    emitter->saves = false; /* they are */
    for (uint32_t i = 0; i < layer->result_count; i++) {
        if (!is_same_place(&operands[i], &results[i])) TRY(emit_layer_copy(emitter, index, i, results[i]));
        operands[i] = results[i];
    }
    TRY(add_condition(planner, &condition));
    TRY(emit_control_step(emitter, layer, STEP_LOOP, condition, &step));
    const region_places_t tests = {.inputs = operands, .outputs = &condition};
    const region_places_t rounds = {.inputs = operands, .outputs = results};
    TRY(emit_round(emitter, layer, 0, &tests));
    middle = planner->plan->step_count;
    TRY(emit_round(emitter, layer, 1, &rounds));
    finish_control(emitter, layer, step, middle);
    emitter->saves = saves;
    for (uint32_t i = 0; i < layer->operand_count; i++) /* what rounds hand on lives as long as the loop */
        storage_keep(planner, operands[i].storage, begin, planner->plan->step_count - 1);
    storage_keep(planner, condition.storage, begin, planner->plan->step_count - 1);
    return INSITU_OK;
}

insitu_status emit_control(emitter_t *emitter, uint32_t index, const plan_operand_t *results) {
    planner_t *planner = emitter->planner;
    const layer_t *layer = planner_layer(planner, index);
    plan_operand_t *operands;
    TRY(arena_array(&planner->scratch, layer->operand_count + 1, sizeof *operands, &operands));
    for (uint32_t i = 0; i < layer->operand_count; i++) operands[i] = layer_operand_place(planner, index, i);
    if (layer->kind == LAYER_LOOP) return emit_loop(emitter, index, operands, results);
    return emit_cond(emitter, layer, operands, results);
}
