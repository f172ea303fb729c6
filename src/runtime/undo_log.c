/* The undo log of a state. An entry is its bytes, padded to 8, then a count and a step for each dimension, then an
 * entry_end: the log is only read from its end. */
#include "runtime/undo_log.h"

typedef struct entry_end {
    uint32_t storage, rank;
    size_t offset, run, total; /* total: bytes of the whole entry */
} entry_end;

enum { FIRST_CAPACITY = 4096, ENTRY_ALIGNMENT = 8, FIRST_MARKS = 8 };

/* ---- regions ---- */

/* Steps fall; what has no step, or goes on where the dimension inside it ends, is no dimension of its own. */
static void add_dimension(byte_region *region, int64_t count, int64_t step) {
    uint32_t at = region->rank++;
    for (; at > 0 && region->steps[at - 1] < step; at--) {
        region->counts[at] = region->counts[at - 1];
        region->steps[at] = region->steps[at - 1];
    }
    region->counts[at] = count;
    region->steps[at] = step;
}

static void join_dimensions(byte_region *region) {
    while (region->rank && region->steps[region->rank - 1] == (int64_t)region->run)
        region->run *= (size_t)region->counts[--region->rank];
    uint32_t kept = 0;
    for (uint32_t i = 1; i < region->rank; i++) {
        if (region->steps[kept] == region->steps[i] * region->counts[i]) {
            region->counts[kept] *= region->counts[i];
            region->steps[kept] = region->steps[i];
            continue;
        }
        kept++;
        region->counts[kept] = region->counts[i];
        region->steps[kept] = region->steps[i];
    }
    if (region->rank) region->rank = kept + 1;
}

byte_region region_of(dtype type, uint32_t rank, const int64_t *sizes, const int64_t *strides, size_t offset) {
    byte_region region = {.offset = offset, .run = dtype_size(type)};
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] == 0) return (byte_region){.offset = offset};
        if (sizes[i] > 1 && strides[i] > 0) add_dimension(&region, sizes[i], strides[i] * (int64_t)region.run);
    }
    join_dimensions(&region);
    return region;
}

size_t region_bytes(const byte_region *region) {
    size_t bytes = region->run;
    for (uint32_t i = 0; i < region->rank; i++) bytes *= (size_t)region->counts[i];
    return bytes;
}

/* Copies between the region's runs in a storage and dense bytes. */
static void copy_runs(const byte_region *region, uint8_t *storage, uint8_t *dense, bool is_saved) {
    int64_t at[MAX_RANK] = {0};
    uint8_t *place = storage + region->offset;
    for (;;) {
        if (is_saved)
            memcpy(dense, place, region->run);
        else
            memcpy(place, dense, region->run);
        dense += region->run;
        uint32_t dim = region->rank;
        for (;;) {
            if (dim == 0) return;
            dim--;
            place += region->steps[dim];
            if (++at[dim] < region->counts[dim]) break;
            place -= region->steps[dim] * region->counts[dim];
            at[dim] = 0;
        }
    }
}

/* ---- entries ---- */

static size_t padded(size_t bytes) { return (bytes + ENTRY_ALIGNMENT - 1) / ENTRY_ALIGNMENT * ENTRY_ALIGNMENT; }

size_t undo_entry_bytes(const byte_region *region) {
    size_t bytes = region_bytes(region);
    return bytes ? padded(bytes) + region->rank * 2 * sizeof(int64_t) + sizeof(entry_end) : 0;
}

/* A larger block with the old one's first used bytes; NULL if memory is short. */
static void *grow(void *old, size_t used, size_t size) {
    void *data = memory_alloc(size);
    if (!data) return NULL;
    if (used) memcpy(data, old, used);
    memory_free(old);
    return data;
}

insitu_status undo_log_reserve(undo_log *log, size_t bytes, insitu_diag *diag) {
    size_t needed;
    if (checked_size_add(log->used, bytes, &needed)) {
        if (needed <= log->capacity) return INSITU_OK;
        size_t size = log->capacity <= SIZE_MAX / 2 && log->capacity * 2 > needed ? log->capacity * 2 : needed;
        if (size < FIRST_CAPACITY) size = FIRST_CAPACITY;
        void *data = grow(log->data, log->used, size);
        if (data) {
            log->data = data;
            log->capacity = size;
            return INSITU_OK;
        }
    }
    FAIL(diag, INSITU_NOMEM, "out of memory: an open snapshot needs %zu more bytes for what would be replaced", bytes);
}

size_t undo_log_save(undo_log *log, void *const *storages, uint32_t storage, const byte_region *region) {
    size_t bytes = region_bytes(region), dims = region->rank * sizeof(int64_t);
    if (bytes == 0) return 0;
    entry_end end = {storage, region->rank, region->offset, region->run, undo_entry_bytes(region)};
    uint8_t *place = log->data + log->used;
    copy_runs(region, storages[storage], place, true);
    place += padded(bytes);
    memcpy(place, region->counts, dims);
    memcpy(place + dims, region->steps, dims);
    memcpy(place + 2 * dims, &end, sizeof(end));
    log->used += end.total;
    return bytes;
}

void undo_log_roll_back(undo_log *log, void *const *storages, size_t length) {
    while (log->used > length) {
        entry_end end;
        memcpy(&end, log->data + log->used - sizeof(end), sizeof(end));
        byte_region region = {.offset = end.offset, .run = end.run, .rank = end.rank};
        size_t dims = end.rank * sizeof(int64_t);
        const uint8_t *place = log->data + log->used - sizeof(end) - 2 * dims;
        memcpy(region.counts, place, dims);
        memcpy(region.steps, place + dims, dims);
        log->used -= end.total;
        copy_runs(&region, storages[end.storage], log->data + log->used, false);
    }
}

/* ---- snapshots ---- */

insitu_status undo_log_mark(undo_log *log, insitu_diag *diag) {
    if (log->mark_count == log->mark_capacity) {
        uint32_t capacity = log->mark_capacity ? 2 * log->mark_capacity : FIRST_MARKS;
        size_t *marks = grow(log->marks, log->mark_count * sizeof(*marks), capacity * sizeof(*marks));
        if (!marks) FAIL(diag, INSITU_NOMEM, "out of memory for snapshot %u", log->mark_count);
        log->marks = marks;
        log->mark_capacity = capacity;
    }
    log->marks[log->mark_count++] = log->used;
    return INSITU_OK;
}

void undo_log_forget(undo_log *log, uint32_t mark) {
    log->mark_count = mark;
    if (mark == 0) log->used = 0;
}

void undo_log_release(undo_log *log) {
    memory_free(log->data);
    memory_free(log->marks);
    *log = (undo_log){0};
}
