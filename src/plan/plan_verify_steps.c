/* The plan verifier: steps, what they may use by then, and the undo log. */
#include "plan/plan_checker.h"

#include <inttypes.h>

static void check_attr(plan_checker_t *checker, layer_kind_t layer, const attr_row_t *row, const attr_t *attr) {
    const char *name = attr_name(row->id);
    if (attr->kind == ATTR_KIND_NONE) {
        if (!row->optional) fault(checker, "attribute %s is missing", name);
        return;
    }
    if (attr->kind != attr_kind_of(row->id)) {
        fault(checker, "attribute %s is of the wrong kind", name);
        return;
    }
    switch (attr->kind) {
    case ATTR_KIND_NONE: break;
    case ATTR_KIND_SYM: check_sym(checker, attr->value, name); break;
    case ATTR_KIND_SYMS:
        if (attr->list.count > MAX_NODES) fault(checker, "attribute %s is too long", name);
        for (uint32_t i = 0; i < attr->list.count && i <= MAX_NODES; i++)
            check_int(checker, attr->list.items[i], INT64_MIN, name);
        break;
    case ATTR_KIND_DTYPE:
        if ((uint32_t)attr->dtype >= DTYPE_COUNT) fault(checker, "attribute %s is unknown", name);
        break;
    case ATTR_KIND_OP:
        if ((uint32_t)attr->op >= OP_COUNT || !layer_takes_op(layer, attr->op))
            fault(checker, "attribute %s is none of the layer's", name);
        break;
    }
}

static bool same_place(const plan_operand_t *a, const plan_operand_t *b) {
    return a->storage == b->storage && type_same(&a->type, &b->type);
}

static void check_layer_step(plan_checker_t *checker, const plan_step_t *step) {
    const layer_info_t *info = layer_info_of(step->layer);
    if (step->operand_count < info->min_operands ||
        (info->max_operands != NONE && step->operand_count > info->max_operands))
        fault(checker, "%s does not take %u operands", info->name, step->operand_count);
    if (step->result_count != info->results)
        fault(checker, "%s does not give %u results", info->name, step->result_count);
    if (info->attr_count && !step->attrs) {
        fault(checker, "its attributes are missing");
        return;
    }
    for (uint32_t i = 0; i < info->attr_count; i++) check_attr(checker, step->layer, &info->attrs[i], &step->attrs[i]);
    if ((info->traits & TRAIT_UPDATE) && step->result_count && step->operand_count &&
        !same_place(&step->results[0], &step->operands[0]))
        fault(checker, "%s does not update its operand in place", info->name);
}

static void check_index_step(plan_checker_t *checker, const plan_step_t *step) {
    if (step->operand_count != 1 || step->result_count != 0)
        fault(checker, "an index check takes one operand");
    else if ((uint32_t)step->operands[0].type.dtype < DTYPE_COUNT &&
             dtype_kind_of(step->operands[0].type.dtype) != KIND_SIGNED &&
             dtype_kind_of(step->operands[0].type.dtype) != KIND_UNSIGNED)
        fault(checker, "an index check takes integers");
}

static void check_condition(plan_checker_t *checker, const plan_step_t *step) {
    bool is_one = step->operand_count == 1 && step->result_count == 0;
    const tensor_type_t *type = is_one ? &step->operands[0].type : NULL;
    if (!is_one || type->shape.rank != 0 || type->dtype != DTYPE_BOOL)
        fault(checker, "it has not one bool as its condition");
    if (step->layer != (step->kind == STEP_COND ? LAYER_COND : LAYER_LOOP)) fault(checker, "it is of another layer");
}

/* The symbol's own row was checked; that it comes from this step is checked here. */
static void check_item_step(plan_checker_t *checker, uint32_t index) {
    const plan_t *plan = checker->plan;
    const plan_step_t *step = &plan->steps[index];
    if (step->operand_count != 1 || step->result_count != 0 || !step->attrs) return;
    const attr_t *symbol = &step->attrs[layer_attr_index(LAYER_ITEM, ATTR_SYMBOL)];
    uint32_t id = NONE;
    if (symbol->kind == ATTR_KIND_SYM && symbol->value.id < plan->symbols.node_count)
        id = sym_symbol_index(&plan->symbols, symbol->value);
    if (id == NONE || plan->symbol_sources[id].source != SYMBOL_STEP || plan->symbol_sources[id].step != index) {
        fault(checker, "it reads no symbol, or one that comes from elsewhere");
        return;
    }
    const tensor_type_t *type = &step->operands[0].type;
    for (uint32_t i = 0; i < type->shape.rank && i < MAX_RANK; i++)
        if (!sym_same(type->shape.sizes[i], sym_int(&checker->plan->symbols, 1)))
            fault(checker, "it reads a tensor of more than one element");
    if ((uint32_t)type->dtype >= DTYPE_COUNT || dtype_is_complex(type->dtype) ||
        (plan->symbols.symbols[id].kind != SYM_KIND_FLOAT && !dtype_is_integral(type->dtype)))
        fault(checker, "its tensor's dtype does not fit its symbol");
}

/* ---- when things are known, and live ---- */

typedef struct moment { /* sizes must be known when the segment starts, positions and numbers at the step */
    uint32_t segment_start, step;
} moment_t;

static void check_operand_known(plan_checker_t *checker, moment_t moment, const plan_operand_t *operand) {
    const tensor_type_t *type = &operand->type;
    const plan_t *plan = checker->plan;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        check_known(checker, checker->size_ready, type->shape.sizes[i], moment.segment_start, "a size");
        check_known(checker, checker->size_ready, type->strides[i], moment.segment_start, "a stride");
    }
    check_known(checker, checker->facts.ready, type->offset, moment.step, "an offset");
    check_known(checker, checker->size_ready, plan->storages[operand->storage].bytes, moment.segment_start,
                "the size of a storage");
}

/* All its expressions have passed check_sym. */
static void check_step_known(plan_checker_t *checker, moment_t moment, const plan_step_t *step) {
    for (uint32_t i = 0; i < step->operand_count; i++) check_operand_known(checker, moment, &step->operands[i]);
    for (uint32_t i = 0; i < step->result_count; i++) check_operand_known(checker, moment, &step->results[i]);
    if (step->kind == STEP_CHECK_INDEX)
        check_known(checker, checker->facts.ready, step->extent, moment.step, "its extent");
    uint32_t attr_count = step->kind == STEP_LAYER && !step_is_item(step) ? layer_info_of(step->layer)->attr_count : 0;
    for (uint32_t i = 0; i < attr_count; i++) {
        const attr_t *attr = &step->attrs[i];
        if (attr->kind == ATTR_KIND_SYM)
            check_known(checker, checker->facts.ready, attr->value, moment.step, "a number");
        for (uint32_t k = 0; attr->kind == ATTR_KIND_SYMS && k < attr->list.count; k++)
            check_known(checker, checker->size_ready, attr->list.items[k], moment.segment_start, "a number of a list");
    }
    for (uint32_t i = 0; i < COUNTER_COUNT; i++)
        check_known(checker, checker->size_ready, step->counters[i], moment.segment_start, counter_name(i));
}

/* The operand's storage is alive in the steps [first, last]. */
static void check_lives(plan_checker_t *checker, uint32_t first, uint32_t last, const plan_operand_t *operand) {
    const plan_storage_t *storage = &checker->plan->storages[operand->storage];
    if (storage->kind == STORAGE_ARENA && (first < storage->first_step || last > storage->last_step))
        fault(checker, "it uses storage %u, which does not live then", operand->storage);
}

static bool outlives_call(const plan_storage_t *storage) {
    return storage->kind == STORAGE_STATE || storage->kind == STORAGE_INPUT;
}

static void check_writable(plan_checker_t *checker, const plan_operand_t *operand) {
    const plan_t *plan = checker->plan;
    const plan_storage_t *storage = &plan->storages[operand->storage];
    if (storage->kind == STORAGE_WEIGHT) fault(checker, "it writes a weight");
    if (storage->kind == STORAGE_INPUT && !plan->inputs[storage->index].is_written)
        fault(checker, "it writes an input that is not declared written");
}

static void check_uses(plan_checker_t *checker, uint32_t index) {
    const plan_t *plan = checker->plan;
    const plan_step_t *step = &plan->steps[index];
    for (uint32_t i = 0; i < step->operand_count; i++) check_lives(checker, index, index, &step->operands[i]);
    for (uint32_t i = 0; i < step->result_count; i++) {
        check_lives(checker, index, index, &step->results[i]);
        check_writable(checker, &step->results[i]);
        if (outlives_call(&plan->storages[step->results[i].storage]) && index < plan->first_write)
            fault(checker, "it writes a state or an input before the plan's first write");
    }
}

/* ---- steps ---- */

/* False: an operand has no storage, or an expression is none of the plan: nothing more can be said. */
static bool check_parts(plan_checker_t *checker, const plan_step_t *step) {
    uint32_t before = checker->fault_count;
    if ((uint32_t)step->layer >= LAYER_KIND_COUNT || step->operand_count > MAX_NODES ||
        step->result_count > MAX_NODES) {
        fault(checker, "its layer is unknown, or it has too many operands");
        return false;
    }
    for (uint32_t i = 0; i < step->operand_count; i++) check_operand(checker, &step->operands[i], "an operand");
    for (uint32_t i = 0; i < step->result_count; i++) check_operand(checker, &step->results[i], "a result");
    if (step->kind == STEP_LAYER)
        check_layer_step(checker, step);
    else if (step_is_control(step))
        check_condition(checker, step);
    else
        check_index_step(checker, step);
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (step->operands[i].storage < checker->plan->storage_count &&
            !checker->storage_is_good[step->operands[i].storage])
            return false;
    for (uint32_t i = 0; i < step->result_count; i++)
        if (step->results[i].storage < checker->plan->storage_count &&
            !checker->storage_is_good[step->results[i].storage])
            return false;
    return checker->fault_count == before;
}

static moment_t moment_of(const plan_t *plan, uint32_t step) {
    return (moment_t){plan->segments[plan_segment_of(plan, step)].first_step, step};
}

static void check_step(plan_checker_t *checker, uint32_t index) {
    const plan_step_t *step = &checker->plan->steps[index];
    fault_at(checker, "step %u '%s'", index, shown(step->name));
    if (!check_parts(checker, step)) return;
    if (step_is_item(step)) check_item_step(checker, index);
    check_step_known(checker, moment_of(checker->plan, index), step);
    check_uses(checker, index);
}

/* ---- the undo log ---- */

/* The rows of a save step are put back by a step that writes the state, or input, that they came from. */
static void check_restore(plan_checker_t *checker, uint32_t index) {
    const plan_t *plan = checker->plan;
    const plan_restore_t *restore = &plan->restores[index];
    const plan_step_t *step = &restore->step;
    fault_at(checker, "restore %u '%s'", index, shown(step->name));
    if (plan->steps[restore->save_step].kind != STEP_LAYER ||
        (index && restore->save_step > plan->restores[index - 1].save_step)) {
        fault(checker, "its save is a check, or the saves do not fall");
        return;
    }
    if (!check_parts(checker, step)) return;
    if (step->kind != STEP_LAYER || step->result_count != 1 ||
        !outlives_call(&plan->storages[step->results[0].storage])) {
        fault(checker, "it does not restore one state or input");
        return;
    }
    check_step_known(checker, moment_of(plan, restore->save_step), step);
    check_writable(checker, &step->results[0]);
    uint32_t last = checker->facts.last_check == NONE ? restore->save_step : checker->facts.last_check;
    for (uint32_t i = 0; i < step->operand_count; i++)
        check_lives(checker, restore->save_step, last, &step->operands[i]);
}

/* Whatever is written before a check is saved before it is written. */
static insitu_status check_saves(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    uint32_t *first_saves;
    TRY(arena_array(&checker->scratch, plan->storage_count, sizeof(*first_saves), &first_saves));
    for (uint32_t i = 0; i < plan->storage_count; i++) first_saves[i] = NONE;
    for (uint32_t i = 0; i < plan->restore_count; i++)
        first_saves[plan->restores[i].step.results[0].storage] = plan->restores[i].save_step;
    for (uint32_t i = 0; checker->facts.last_check != NONE && i < checker->facts.last_check; i++) {
        const plan_step_t *step = &plan->steps[i];
        for (uint32_t r = 0; r < step->result_count; r++) {
            uint32_t storage = step->results[r].storage;
            if (!outlives_call(&plan->storages[storage])) continue;
            if (first_saves[storage] != NONE && first_saves[storage] < i) continue;
            const uint32_t check = plan_check_after(plan, i);
            if (check == NONE) continue;
            fault_at(checker, "step %u '%s'", i, step->name);
            fault(checker, "it writes a state or an input that is not saved, and step %u may still fail", check);
        }
    }
    return INSITU_OK;
}

insitu_status check_steps(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    for (uint32_t i = 0; i < plan->step_count; i++) check_step(checker, i);
    if (checker->fault_count == 0) TRY(check_control(checker));
    for (uint32_t i = 0; i < plan->restore_count; i++) check_restore(checker, i);
    return checker->fault_count ? INSITU_OK : check_saves(checker);
}
