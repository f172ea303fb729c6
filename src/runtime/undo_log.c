/* The undo log of a state. An entry's bytes lie in the device's memory, padded to 8; what they are is told on the host. */
#include "runtime/undo_log.h"

enum { FIRST_CAPACITY = 4096, FIRST_ROWS = 8, ENTRY_ALIGNMENT = 8 };

/* ---- entries ---- */

bool undo_room_add(undo_room_t *room, const byte_region_t *region, size_t count) {
    size_t bytes = region_bytes(region), all;
    if (bytes == 0) return true;
    return checked_size_add(bytes, ENTRY_ALIGNMENT - 1, &bytes) &&
           checked_size_mul(bytes / ENTRY_ALIGNMENT * ENTRY_ALIGNMENT, count, &all) &&
           checked_size_add(room->bytes, all, &room->bytes) && checked_size_add(room->entries, count, &room->entries) &&
           checked_size_add(room->shapes, 1, &room->shapes);
}

/* At least needed, twice as much as before if that is more. */
static size_t grown(size_t capacity, size_t needed, size_t least) {
    size_t size = capacity <= SIZE_MAX / 2 && capacity * 2 > needed ? capacity * 2 : needed;
    return size < least ? least : size;
}

/* Room for so many rows, of which count are kept. */
static insitu_status reserve_rows(void *rows, size_t count, size_t *capacity, size_t needed, size_t size) {
    void *old, *data;
    size_t more = grown(*capacity, needed, FIRST_ROWS), bytes;
    if (needed <= *capacity) return INSITU_OK;
    data = checked_size_mul(more, size, &bytes) ? memory_alloc(bytes) : NULL;
    if (!data) return INSITU_NOMEM;
    memcpy(&old, rows, sizeof(old));
    if (count) memcpy(data, old, count * size);
    memory_free(old);
    memcpy(rows, &data, sizeof(data));
    *capacity = more;
    return INSITU_OK;
}

static insitu_status reserve_bytes(undo_log_t *log, size_t needed, insitu_diag *diag) {
    if (needed <= log->capacity) return INSITU_OK;
    const device_t *device = log->device;
    size_t capacity = grown(log->capacity, needed, FIRST_CAPACITY);
    void *data = device->allocate(device, capacity, ARENA_ALIGNMENT, false);
    if (!data) return INSITU_NOMEM;
    insitu_status status = device->copy_within(device, NULL, data, log->data, log->used, diag);
    device->free(device, status == INSITU_OK ? log->data : data);
    if (status != INSITU_OK) return status;
    log->data = data;
    log->capacity = capacity;
    return INSITU_OK;
}

insitu_status undo_log_reserve(undo_log_t *log, undo_room_t room, insitu_diag *diag) {
    size_t entries, shapes, bytes;
    insitu_status status = INSITU_NOMEM;
    if (checked_size_add(log->count, room.entries, &entries) &&
        checked_size_add(log->shape_count, room.shapes, &shapes) && checked_size_add(log->used, room.bytes, &bytes)) {
        status = reserve_rows(&log->entries, log->count, &log->entry_capacity, entries, sizeof(*log->entries));
        if (status == INSITU_OK)
            status = reserve_rows(&log->shapes, log->shape_count, &log->shape_capacity, shapes, sizeof(*log->shapes));
        if (status == INSITU_OK) status = reserve_bytes(log, bytes, diag);
    }
    if (status != INSITU_NOMEM) return status;
    FAIL(diag, INSITU_NOMEM, "out of memory: an open snapshot needs %zu more bytes for what would be replaced",
         room.bytes);
}

static bool same_shape(const byte_region_t *a, const byte_region_t *b) {
    size_t bytes = a->rank * sizeof(*a->counts);
    return a->rank == b->rank && a->run == b->run && memcmp(a->counts, b->counts, bytes) == 0 &&
           memcmp(a->steps, b->steps, bytes) == 0;
}

insitu_status undo_log_save(undo_log_t *log, void *stream, void *const *storages, uint32_t storage,
                            const byte_region_t *region, int64_t *bytes, insitu_diag *diag) {
    size_t size = region_bytes(region);
    if (size == 0) return INSITU_OK;
    TRY(region_gather(region, log->device, stream, storages[storage], log->data + log->used, diag));
    if (log->shape_count == 0 || !same_shape(&log->shapes[log->shape_count - 1], region))
        log->shapes[log->shape_count++] = *region;
    log->entries[log->count++] = (undo_entry_t){storage, (uint32_t)log->shape_count - 1, region->offset, log->used};
    log->used += (size + ENTRY_ALIGNMENT - 1) / ENTRY_ALIGNMENT * ENTRY_ALIGNMENT;
    *bytes += (int64_t)size;
    return INSITU_OK;
}

insitu_status undo_log_roll_back(undo_log_t *log, void *stream, void *const *storages, size_t count,
                                 insitu_diag *diag) {
    while (log->count > count) {
        const undo_entry_t *entry = &log->entries[log->count - 1];
        byte_region_t region = log->shapes[entry->shape];
        region.offset = entry->offset;
        TRY(region_scatter(&region, log->device, stream, storages[entry->storage], log->data + entry->place, diag));
        log->used = entry->place;
        log->count--;
        log->shape_count = log->count ? log->entries[log->count - 1].shape + 1 : 0;
    }
    return INSITU_OK;
}

/* ---- snapshots ---- */

insitu_status undo_log_mark(undo_log_t *log, insitu_diag *diag) {
    if (reserve_rows(&log->marks, log->mark_count, &log->mark_capacity, (size_t)log->mark_count + 1,
                     sizeof(*log->marks)) != INSITU_OK)
        FAIL(diag, INSITU_NOMEM, "out of memory for snapshot %u", log->mark_count);
    log->marks[log->mark_count++] = log->count;
    return INSITU_OK;
}

void undo_log_forget(undo_log_t *log, uint32_t mark) {
    log->mark_count = mark;
    if (mark == 0) log->used = log->count = log->shape_count = 0;
}

void undo_log_release(undo_log_t *log) {
    if (log->data) log->device->free(log->device, log->data);
    memory_free(log->entries);
    memory_free(log->shapes);
    memory_free(log->marks);
    *log = (undo_log_t){0};
}
