/* The plan verifier: control steps. Their two runs of steps follow them and nest, no segment is cut inside; what is read
 * inside stays inside; memory of a loop that is used outside of it, or in both its runs, lives as long as it does. */
#include "plan/plan_checker.h"

typedef struct range {
    uint32_t first, end;
} range_t;

static bool is_within(range_t inner, range_t outer) { return inner.first >= outer.first && inner.end <= outer.end; }
static bool has_step(range_t range, uint32_t step) { return step >= range.first && step < range.end; }

/* Where the step stands: the ranges around it, outermost first; false: it does not lie in them as a whole. */
static void check_nesting(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    range_t around[MAX_REGION_DEPTH + 1] = {{0, plan->step_count}};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step_t *step = &plan->steps[i];
        while (depth && i >= around[depth].end) depth--;
        if (!step_is_control(step)) continue;
        fault_at(checker, "step %u '%s'", i, step->name);
        const plan_segment_t *segment = &plan->segments[plan_segment_of(plan, i)];
        bool is_sound = i < step->middle && step->middle <= step->end && step->end <= segment->end_step;
        /* Of the step around it, a run holds it: it does not go on behind the middle of that. */
        if (!is_sound || !is_within((range_t){i, step->end}, around[depth])) {
            fault(checker, "its steps are no two runs behind it, in its segment and in what runs it");
            return;
        }
        if (depth == MAX_REGION_DEPTH) {
            fault(checker, "it is nested deeper than %d", MAX_REGION_DEPTH);
            return;
        }
        around[++depth] = (range_t){i + 1, step->end};
    }
}

/* The innermost run that a step lies in: [0, step_count) outside of all. Control steps nest. */
static range_t run_of(const plan_t *plan, uint32_t step) {
    range_t found = {0, plan->step_count};
    for (uint32_t i = 0; i < step; i++) {
        const plan_step_t *control = &plan->steps[i];
        if (!step_is_control(control) || step >= control->end) continue;
        found = step < control->middle ? (range_t){i + 1, control->middle} : (range_t){control->middle, control->end};
    }
    return found;
}

/* A control step lies in one run of the step around it. */
static void check_runs(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (!step_is_control(&plan->steps[i])) continue;
        fault_at(checker, "step %u '%s'", i, plan->steps[i].name);
        if (!is_within((range_t){i, plan->steps[i].end}, run_of(plan, i)))
            fault(checker, "its steps reach beyond what runs it");
    }
}

static bool uses(const plan_t *plan, sym_t value, uint32_t symbol) { return sym_uses(&plan->symbols, value, symbol); }

static bool step_uses(const plan_t *plan, const plan_step_t *step, uint32_t symbol) {
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (uses(plan, step->operands[i].type.offset, symbol)) return true;
    for (uint32_t i = 0; i < step->result_count; i++)
        if (uses(plan, step->results[i].type.offset, symbol)) return true;
    if (step->kind == STEP_CHECK_INDEX) return uses(plan, step->extent, symbol);
    for (uint32_t i = 0; step->kind == STEP_LAYER && i < layer_info_of(step->layer)->attr_count; i++)
        if (step->attrs[i].kind == ATTR_KIND_SYM && uses(plan, step->attrs[i].value, symbol)) return true;
    return false;
}

/* What an item step reads in a run may be unknown outside of it. */
static void check_read_inside(plan_checker_t *checker, uint32_t symbol) {
    const plan_t *plan = checker->plan;
    const plan_symbol_t *source = &plan->symbol_sources[symbol];
    const range_t run = run_of(plan, source->step);
    if (run.first == 0 && run.end == plan->step_count) return;
    fault_at(checker, "symbol '%s'", plan->symbols.symbols[symbol].name);
    if (source->in_sizes) fault(checker, "a size depends on it, and it is read in a region");
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (!has_step(run, i) && i != source->step && step_uses(plan, &plan->steps[i], symbol))
            fault(checker, "step %u uses it outside of the region that reads it", i);
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const plan_output_t *output = &plan->outputs[i];
        if (output->kind == OUTPUT_NUMBER
                ? uses(plan, output->value, symbol)
                : output->kind == OUTPUT_TENSOR && uses(plan, output->operand.type.offset, symbol))
            fault(checker, "output %u uses it outside of the region that reads it", i);
    }
}

/* Memory that lives inside a loop and outside, or in both its runs, is handed from round to round. */
static void check_loop_memory(plan_checker_t *checker, uint32_t index) {
    const plan_t *plan = checker->plan;
    const plan_step_t *loop = &plan->steps[index];
    fault_at(checker, "step %u '%s'", index, loop->name);
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage_t *storage = &plan->storages[i];
        if (storage->kind != STORAGE_ARENA) continue;
        range_t lives = {storage->first_step, storage->last_step + 1}, all = {index, loop->end};
        bool is_apart = lives.end <= index || lives.first >= loop->end;
        bool is_of_round = is_within(lives, (range_t){index + 1, loop->middle}) ||
                           is_within(lives, (range_t){loop->middle, loop->end});
        if (!is_apart && !is_of_round && !is_within(all, lives))
            fault(checker, "storage %u does not live through all of its rounds", i);
    }
}

/* The first check in the range; NONE. */
static uint32_t find_check(const plan_t *plan, range_t range) {
    for (uint32_t i = range.first; i < range.end; i++)
        if (step_is_check(&plan->steps[i])) return i;
    return NONE;
}

/* Of the control steps around it: the rest of its run, and of a loop all of it again, but not a condition's other run. */
uint32_t plan_check_after(const plan_t *plan, uint32_t step) {
    for (range_t rest = {step + 1, run_of(plan, step).end};;) {
        uint32_t check = find_check(plan, rest), around = NONE;
        for (uint32_t i = 0; i < step; i++)
            if (step_is_control(&plan->steps[i]) && step < plan->steps[i].end) around = i;
        if (check != NONE || around == NONE) return check;
        const plan_step_t *control = &plan->steps[around];
        if (control->kind == STEP_LOOP) check = find_check(plan, (range_t){around + 1, control->end});
        if (check != NONE) return check;
        step = around;
        rest = (range_t){control->end, run_of(plan, around).end};
    }
}

static void check_restores(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    for (uint32_t i = 0; i < plan->restore_count; i++) {
        range_t run = run_of(plan, plan->restores[i].save_step);
        fault_at(checker, "restore %u", i);
        if (run.first != 0 || run.end != plan->step_count) fault(checker, "its save is in a region");
    }
}

insitu_status check_control(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    bool any = false;
    for (uint32_t i = 0; i < plan->step_count; i++) any |= step_is_control(&plan->steps[i]);
    if (!any) return INSITU_OK;
    check_nesting(checker);
    if (checker->fault_count == 0) check_runs(checker);
    if (checker->fault_count) return INSITU_OK;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++)
        if (plan->symbol_sources[i].source == SYMBOL_STEP) check_read_inside(checker, i);
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].kind == STEP_LOOP) check_loop_memory(checker, i);
    check_restores(checker);
    return INSITU_OK;
}
