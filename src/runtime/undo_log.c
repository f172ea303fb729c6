/* The undo log of a state. An entry is its bytes, padded to 8, then a count and a step for each dimension, then an
 * entry_end: the log is only read from its end. */
#include "runtime/undo_log.h"

typedef struct entry_end {
    uint32_t storage, rank;
    size_t offset, run, total; /* total: bytes of the whole entry */
} entry_end;

enum { FIRST_CAPACITY = 4096, ENTRY_ALIGNMENT = 8, FIRST_MARKS = 8 };

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
    region_gather(region, storages[storage], place);
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
        region_scatter(&region, storages[end.storage], log->data + log->used);
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
