/* Drops the storages that neither a step nor a result uses: trials and values that turned out to lie elsewhere leave
 * them behind. */
#include "planner/planner_int.h"

static void number_operands(const plan_operand_t *operands, uint32_t count, const uint32_t *numbers) {
    plan_operand_t *changed = (plan_operand_t *)operands; /* made by finish_step in the plan's arena */
    for (uint32_t i = 0; i < count; i++) changed[i].storage = numbers[changed[i].storage];
}

static void mark_operands(const plan_operand_t *operands, uint32_t count, uint32_t *numbers) {
    for (uint32_t i = 0; i < count; i++) numbers[operands[i].storage] = 1;
}

insitu_status drop_unused_storages(planner_t *planner) {
    plan_t *plan = planner->plan;
    uint32_t *numbers, kept = 0;
    TRY(arena_array(&planner->scratch, plan->storage_count + 1, sizeof *numbers, &numbers));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        mark_operands(plan->steps[i].results, plan->steps[i].result_count, numbers);
        mark_operands(plan->steps[i].operands, plan->steps[i].operand_count, numbers);
    }
    for (uint32_t i = 0; i < plan->restore_count; i++) {
        mark_operands(plan->restores[i].step.results, plan->restores[i].step.result_count, numbers);
        mark_operands(plan->restores[i].step.operands, plan->restores[i].step.operand_count, numbers);
    }
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].kind == OUTPUT_TENSOR) mark_operands(&plan->outputs[i].operand, 1, numbers);
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        bool used = numbers[i] != 0 || (plan->storages[i].kind == STORAGE_INPUT && planner->storages[i].written);
        numbers[i] = used ? kept : NONE;
        if (used) plan->storages[kept++] = plan->storages[i];
    }
    plan->storage_count = kept;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        number_operands(plan->steps[i].results, plan->steps[i].result_count, numbers);
        number_operands(plan->steps[i].operands, plan->steps[i].operand_count, numbers);
    }
    for (uint32_t i = 0; i < plan->restore_count; i++) {
        number_operands(plan->restores[i].step.results, plan->restores[i].step.result_count, numbers);
        number_operands(plan->restores[i].step.operands, plan->restores[i].step.operand_count, numbers);
    }
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].kind == OUTPUT_TENSOR) number_operands(&plan->outputs[i].operand, 1, numbers);
    for (uint32_t i = 0; i < plan->input_count; i++)
        if (plan->inputs[i].storage != NONE) plan->inputs[i].storage = numbers[plan->inputs[i].storage];
    return INSITU_OK;
}
