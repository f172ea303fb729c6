/* Plans: life cycle. */
#include "core/plan.h"

insitu_status plan_create(plan **out_plan) {
    *out_plan = NULL;
    plan *plan = memory_alloc(sizeof(*plan));
    if (!plan) return INSITU_NOMEM;
    memset(plan, 0, sizeof(*plan));
    arena_init(&plan->arena);
    insitu_status status = sym_pool_init(&plan->symbols);
    if (status != INSITU_OK) {
        plan_destroy(plan);
        return status;
    }
    *out_plan = plan;
    return INSITU_OK;
}

void plan_destroy(plan *plan) {
    if (!plan) return;
    sym_pool_release(&plan->symbols);
    arena_release(&plan->arena);
    memory_free(plan);
}
