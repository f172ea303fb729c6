/* Dependencies between steps, by byte ranges.
 *
 * An operand's range is the interval from its first to its last byte: conservative for strided views; the whole storage
 * where the operand moves. All ARENA storages of one segment are one space, at their arena offsets, because storages
 * whose lifetimes do not meet share bytes; any other storage is found by its kind and index, because two storages of a
 * plan may name the same memory. Two accesses conflict if they
 * overlap, one writes, and they are not both of thread 0 alone. */
#include "backend/cpu/hazards.h"

bool operand_interval(const bound_operand_t *operand, int64_t *out_begin, int64_t *out_end) {
    int64_t low = 0, high = 0, size = (int64_t)dtype_size(operand->dtype);
    *out_begin = *out_end = 0;
    for (uint32_t i = 0; i < operand->rank; i++)
        if (operand->sizes[i] == 0) return true;
    for (uint32_t i = 0; i < operand->rank; i++) {
        int64_t reach;
        if (operand->sizes[i] < 0 || !checked_mul(operand->sizes[i] - 1, operand->strides[i], &reach)) return false;
        if (!checked_add(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return false;
    }
    return checked_mul(low, size, &low) && checked_mul(high, size, &high) && checked_add(high, size, &high) &&
           checked_add(low, operand->offset, out_begin) && checked_add(high, operand->offset, out_end);
}

static access_t access_of(const bound_plan_t *bound, const bound_operand_t *operand, bool writes, bool alone) {
    const plan_storage_t *storage = &bound->plan->storages[operand->storage];
    access_t access = {.writes = writes, .alone = alone};
    if (operand->moves) {
        access.end = (int64_t)bound->storage_bytes[operand->storage];
    } else if (!operand_interval(operand, &access.begin, &access.end)) {
        access.end = INT64_MAX;
    }
    if (storage->kind == STORAGE_ARENA) {
        int64_t base = (int64_t)bound->arena_offsets[operand->storage];
        access.space = (uint64_t)STORAGE_ARENA << 32 | plan_segment_of(bound->plan, storage->first_step);
        if (access.end > access.begin) access.begin += base, access.end += base;
    } else {
        access.space = (uint64_t)storage->kind << 32 | storage->index;
    }
    return access;
}

static bool conflicts(const hazards_t *hazards, const access_t *other) {
    for (uint32_t i = 0; i < hazards->count; i++) {
        const access_t *old = &hazards->accesses[i];
        if (old->space == other->space && old->begin < other->end && other->begin < old->end &&
            (old->writes || other->writes) && !(old->alone && other->alone))
            return true;
    }
    return false;
}

void hazards_clear(hazards_t *hazards) { hazards->count = 0; }

insitu_status hazards_add_step(hazards_t *hazards, const bound_step_t *step, bool alone, bool *wait) {
    uint32_t total = step->result_count + step->operand_count;
    for (uint32_t i = 0; i < total && !*wait; i++) {
        bool writes = i < step->result_count;
        const bound_operand_t *operand = writes ? &step->results[i] : &step->operands[i - step->result_count];
        access_t access = access_of(hazards->bound, operand, writes, alone);
        if (conflicts(hazards, &access)) *wait = true;
    }
    if (*wait) hazards_clear(hazards);
    TRY(arena_grow(hazards->arena, &hazards->accesses, &hazards->capacity, (size_t)hazards->count + total,
                   sizeof(access_t)));
    for (uint32_t i = 0; i < total; i++) {
        bool writes = i < step->result_count;
        const bound_operand_t *operand = writes ? &step->results[i] : &step->operands[i - step->result_count];
        hazards->accesses[hazards->count++] = access_of(hazards->bound, operand, writes, alone);
    }
    return INSITU_OK;
}
