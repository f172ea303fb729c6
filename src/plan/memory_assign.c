/* Offsets for blocks that live for a while each: two blocks share bytes only if their lifetimes do not meet.
 *
 * Best fit in order of falling size: each block takes the smallest gap that holds it between the blocks already placed
 * that live at the same time (the lowest of equals), or lies after the last of them. Placed blocks are kept sorted by
 * offset, so that the gaps are found in one walk. */
#include "plan/plan.h"

typedef struct placed_block {
    size_t offset, size;
    uint32_t block;
} placed_block_t;

typedef struct sort_key {
    size_t size;
    uint32_t block;
} sort_key_t;

static int compare_keys(const void *left, const void *right) {
    const sort_key_t *a = left, *b = right;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static bool meet(const memory_block_t *a, const memory_block_t *b) {
    return a->first <= b->last && b->first <= a->last;
}

static size_t find_offset(const memory_block_t *blocks, const placed_block_t *placed, uint32_t placed_count,
                          const memory_block_t *block, size_t size) {
    size_t best = 0, best_gap = SIZE_MAX, end = 0;
    for (uint32_t i = 0; i < placed_count; i++) {
        if (!meet(block, &blocks[placed[i].block])) continue;
        if (placed[i].offset > end) {
            size_t gap = placed[i].offset - end;
            if (gap >= size && gap < best_gap) {
                best = end;
                best_gap = gap;
            }
        }
        size_t after = placed[i].offset + placed[i].size;
        if (after > end) end = after;
    }
    return best_gap == SIZE_MAX ? end : best;
}

static void insert(placed_block_t *placed, uint32_t placed_count, placed_block_t added) {
    uint32_t low = 0, high = placed_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (placed[middle].offset <= added.offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(placed + low + 1, placed + low, (placed_count - low) * sizeof(*placed));
    placed[low] = added;
}

insitu_status memory_assign(const memory_block_t *blocks, uint32_t count, size_t alignment, arena_t *scratch,
                            size_t *out_offsets, size_t *out_total) {
    *out_total = 0;
    sort_key_t *keys;
    placed_block_t *placed;
    TRY(arena_array(scratch, count, sizeof(*keys), &keys));
    TRY(arena_array(scratch, count, sizeof(*placed), &placed));
    for (uint32_t i = 0; i < count; i++) {
        size_t rounded;
        if (!checked_size_add(blocks[i].size, alignment - 1, &rounded)) return INSITU_NOMEM;
        keys[i] = (sort_key_t){rounded - rounded % alignment, i};
    }
    if (count) qsort(keys, count, sizeof(*keys), compare_keys);
    uint32_t placed_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = keys[i].block;
        out_offsets[index] = 0;
        if (keys[i].size == 0) continue;
        size_t offset = find_offset(blocks, placed, placed_count, &blocks[index], keys[i].size), end;
        if (!checked_size_add(offset, keys[i].size, &end)) return INSITU_NOMEM;
        out_offsets[index] = offset;
        if (end > *out_total) *out_total = end;
        insert(placed, placed_count++, (placed_block_t){offset, keys[i].size, index});
    }
    return INSITU_OK;
}
