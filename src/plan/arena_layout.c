/* Where the intermediate values of a segment lie: blocks that live at the same time lie apart, and what only the steps of one
 * group use takes no memory, for one kernel runs them. */
#include "plan/bound_plan.h"

plan_group_t plan_group_of(const bound_plan_t *bound, uint32_t step) {
    uint32_t low = 0, high = bound->group_count;
    while (low < high) { /* the first group that ends behind the step */
        uint32_t middle = low + (high - low) / 2;
        if (bound->groups[middle].end <= step)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < bound->group_count && bound->groups[low].first <= step) return bound->groups[low];
    return (plan_group_t){step, step + 1};
}

/* The runtime never stops inside a group. */
static bool has_stop_inside(const plan_t *plan, plan_group_t group) {
    for (uint32_t i = plan_stop_from(plan, group.first); i < plan->facts.stop_count; i++) {
        const plan_stop_t *stop = &plan->facts.stops[i];
        if (stop->step >= group.end) break;
        if (stop->kind == STOP_CHECKED) continue; /* nothing is done there */
        if (stop->step > group.first || stop_is_host(stop)) return true;
    }
    return false;
}

static insitu_status check_groups(const bound_plan_t *bound, const plan_group_t *groups, uint32_t count,
                                  insitu_diag *diag) {
    uint32_t from = bound->first_step;
    for (uint32_t i = 0; i < count; i++) {
        bool is_good = groups[i].first >= from && groups[i].end > groups[i].first + 1 &&
                       groups[i].end <= bound->first_step + bound->step_count;
        if (!is_good || has_stop_inside(bound->plan, groups[i]))
            FAIL(diag, INSITU_INTERNAL, "the device has grouped steps %u to %u, which one kernel can't run",
                 groups[i].first, groups[i].end);
        from = groups[i].end;
    }
    return INSITU_OK;
}

static bool is_of_segment(const plan_t *plan, const plan_storage_t *storage, uint32_t segment) {
    return storage->kind == STORAGE_ARENA && plan_segment_of(plan, storage->first_step) == segment;
}

insitu_status plan_lay_out(bound_plan_t *bound, uint32_t segment, const plan_group_t *groups, uint32_t count,
                           arena_t *arena, size_t *out_arena_bytes, insitu_diag *diag) {
    const plan_t *plan = bound->plan;
    memory_block_t *blocks;
    size_t *places, *offsets;
    uint32_t *storages, block_count = 0;
    *out_arena_bytes = 0;
    TRY(check_groups(bound, groups, count, diag));
    bound->groups = groups;
    bound->group_count = count;
    TRY(arena_array(arena, plan->storage_count, sizeof(*blocks), &blocks));
    TRY(arena_array(arena, plan->storage_count, sizeof(*places), &places));
    TRY(arena_array(arena, plan->storage_count, sizeof(*storages), &storages));
    TRY(arena_copy(arena, bound->arena_offsets, plan->storage_count * sizeof(*offsets), &offsets));
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage_t *storage = &plan->storages[i];
        if (!is_of_segment(plan, storage, segment)) continue;
        plan_group_t group = plan_group_of(bound, storage->first_step);
        offsets[i] = NO_PLACE;
        if (group.end > group.first + 1 && storage->last_step < group.end) continue;
        blocks[block_count] =
            (memory_block_t){bound->storage_bytes[i], group.first, plan_group_of(bound, storage->last_step).end - 1};
        storages[block_count++] = i;
    }
    TRY(memory_assign(blocks, block_count, ARENA_ALIGNMENT, arena, places, out_arena_bytes));
    for (uint32_t i = 0; i < block_count; i++) offsets[storages[i]] = places[i];
    bound->arena_offsets = offsets;
    return INSITU_OK;
}
