/* Where symbols get their values, which of them sizes use, and the cuts: a segment ends after the item steps whose
 * symbols the sizes of what follows need. */
#include "planner/planner_int.h"

static void mark_size(const planner_t *planner, sym_t size) {
    plan_t *plan = planner->plan;
    int64_t constant;
    if (sym_constant(planner->pool, size, &constant)) return;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++)
        if (!plan->symbol_sources[i].in_sizes && sym_uses(planner->pool, size, i))
            plan->symbol_sources[i].in_sizes = true;
}

static void mark_operands(const planner_t *planner, const plan_operand_t *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < operands[i].type.shape.rank; d++) {
            mark_size(planner, operands[i].type.shape.sizes[d]);
            mark_size(planner, operands[i].type.strides[d]);
        }
}

static void mark_step(const planner_t *planner, const plan_step_t *step) {
    mark_operands(planner, step->results, step->result_count);
    mark_operands(planner, step->operands, step->operand_count);
    uint32_t attrs = step->kind == STEP_LAYER ? layer_info_of(step->layer)->attr_count : 0;
    for (uint32_t i = 0; step->attrs && i < attrs; i++)
        for (uint32_t k = 0; step->attrs[i].kind == ATTR_KIND_SYMS && k < step->attrs[i].list.count; k++)
            mark_size(planner, step->attrs[i].list.items[k]);
}

static void mark_sizes(const planner_t *planner) {
    const plan_t *plan = planner->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) mark_size(planner, plan->storages[i].bytes);
    for (uint32_t i = 0; i < plan->step_count; i++) mark_step(planner, &plan->steps[i]);
    for (uint32_t i = 0; i < plan->restore_count; i++) mark_step(planner, &plan->restores[i].step);
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].kind == OUTPUT_TENSOR) mark_operands(planner, &plan->outputs[i].operand, 1);
    for (uint32_t i = 0; i < plan->input_count; i++) {
        plan_operand_t input = {.type = plan->inputs[i].type};
        if (!plan->inputs[i].is_scalar && !plan->inputs[i].is_none) mark_operands(planner, &input, 1);
    }
}

/* Symbols that are no size by themselves come from the first input dimension whose size gives them, once what else is in
 * it is known. */
static insitu_status solve_sizes(planner_t *planner) {
    plan_t *plan = planner->plan;
    bool *known;
    TRY(arena_array(&planner->scratch, plan->symbols.symbol_count, sizeof(bool), &known));
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++)
        known[i] = plan->symbol_sources[i].source != SYMBOL_UNUSED && plan->symbol_sources[i].source != SYMBOL_STEP;
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < plan->input_count; i++) {
            const plan_input_t *input = &plan->inputs[i];
            for (uint32_t d = 0; !input->is_scalar && !input->is_none && d < input->type.shape.rank; d++) {
                uint32_t symbol = sym_unknown(planner->pool, input->type.shape.sizes[d], known);
                if (symbol == NONE || plan->symbol_sources[symbol].source == SYMBOL_STEP) continue;
                plan->symbol_sources[symbol] = (plan_symbol_t){.source = SYMBOL_INPUT_SIZE, .input = i, .dim = d};
                known[symbol] = found = true;
            }
        }
    }
    return INSITU_OK;
}

/* Each symbol's value comes from the first state or input dimension whose size is the bare symbol, from a number, from an
 * item step, or from a size that gives it. */
static insitu_status find_sources(planner_t *planner) {
    plan_t *plan = planner->plan;
    TRY(arena_array(&plan->arena, plan->symbols.symbol_count + 1, sizeof *plan->symbol_sources, &plan->symbol_sources));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step_t *step = &plan->steps[i];
        if (step->kind != STEP_LAYER || step->layer != LAYER_ITEM) continue;
        uint32_t symbol = sym_symbol_index(planner->pool, step->attrs[layer_attr_index(LAYER_ITEM, ATTR_SYMBOL)].value);
        if (symbol != NONE) plan->symbol_sources[symbol] = (plan_symbol_t){.source = SYMBOL_STEP, .step = i};
    }
    for (uint32_t i = plan->input_count; i-- > 0;) {
        const plan_input_t *input = &plan->inputs[i];
        uint32_t symbol = NONE;
        if (input->is_scalar && !input->is_constant) symbol = sym_symbol_index(planner->pool, input->value);
        if (symbol != NONE) plan->symbol_sources[symbol] = (plan_symbol_t){.source = SYMBOL_INPUT_VALUE, .input = i};
        if (input->is_scalar || input->is_none) continue;
        for (uint32_t d = input->type.shape.rank; d-- > 0;) {
            symbol = sym_symbol_index(planner->pool, input->type.shape.sizes[d]);
            if (symbol != NONE)
                plan->symbol_sources[symbol] = (plan_symbol_t){.source = SYMBOL_INPUT_SIZE, .input = i, .dim = d};
        }
    }
    for (uint32_t i = plan->state_count; i-- > 0;)
        for (uint32_t d = plan->states[i].type.shape.rank; d-- > 0;) {
            uint32_t symbol = sym_symbol_index(planner->pool, plan->states[i].type.shape.sizes[d]);
            if (symbol != NONE)
                plan->symbol_sources[symbol] = (plan_symbol_t){.source = SYMBOL_STATE_SIZE, .input = i, .dim = d};
        }
    return solve_sizes(planner);
}

static bool is_item(const plan_step_t *step) { return step->kind == STEP_LAYER && step->layer == LAYER_ITEM; }

static bool decides_sizes(const plan_t *plan, uint32_t step) {
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++)
        if (plan->symbol_sources[i].source == SYMBOL_STEP && plan->symbol_sources[i].step == step)
            return plan->symbol_sources[i].in_sizes;
    return false;
}

insitu_status segments_build(planner_t *planner) {
    plan_t *plan = planner->plan;
    TRY(find_sources(planner));
    mark_sizes(planner);
    TRY(arena_array(&plan->arena, plan->step_count + 1, sizeof *plan->segments, &plan->segments));
    uint32_t first = 0;
    bool pending = false;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        pending |= is_item(&plan->steps[i]) && decides_sizes(plan, i);
        bool last_of_run = i + 1 < plan->step_count && !is_item(&plan->steps[i + 1]);
        if (!pending || !last_of_run) continue;
        plan->segments[plan->segment_count++] = (plan_segment_t){first, i + 1};
        first = i + 1;
        pending = false;
    }
    plan->segments[plan->segment_count++] = (plan_segment_t){first, plan->step_count};
    return INSITU_OK;
}
