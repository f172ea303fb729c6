/* Plans: life cycle, names of counters, states that begin with zeros, and which segment a step lies in. */
#include "plan/plan.h"

insitu_status plan_create(plan_t **out_plan) {
    *out_plan = NULL;
    plan_t *plan = memory_alloc(sizeof(*plan));
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

void plan_destroy(plan_t *plan) {
    if (!plan) return;
    sym_pool_release(&plan->symbols);
    arena_release(&plan->arena);
    memory_free(plan);
}

const char *counter_name(counter_t counter) {
    static const char *const names[] = {
#define COUNTER(id, name, stat) name,
#include "plan/counters.def"
#undef COUNTER
    };
    return names[counter];
}

uint32_t plan_segment_of(const plan_t *plan, uint32_t step) {
    uint32_t low = 0, high = plan->segment_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->segments[middle].end_step <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t plan_stop_from(const plan_t *plan, uint32_t step) {
    const plan_facts_t *facts = &plan->facts;
    uint32_t low = 0, high = facts->stop_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (facts->stops[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t plan_copied_bytes(const plan_t *plan) {
    int64_t sum = 0, bytes;
    for (uint32_t i = 0; i < plan->report_count; i++)
        if (!sym_constant(&plan->symbols, plan->report[i].copied, &bytes) || !checked_add(sum, bytes, &sum))
            return INT64_MAX;
    return sum;
}

void plan_find_zero_states(plan_t *plan) {
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        plan_state_storage_t *block = &plan->state_storages[i];
        int64_t bytes;
        if (block->initial == NONE || !sym_constant(&plan->symbols, block->bytes, &bytes)) continue;
        const uint8_t *data = plan->weights[block->initial].data;
        if (data && bytes > 0 && data[0] == 0 && memcmp(data, data + 1, (size_t)bytes - 1) == 0) block->initial = NONE;
    }
}
