/* The undo log of a state: while a snapshot is open, the bytes that each write replaces.
 *
 * An entry is saved before its bytes are written, so going back through the log from its end to a snapshot's mark gives
 * the state that the snapshot saw, in time proportional to what was saved. Snapshots nest: each is a mark in one log. */
#ifndef UNDO_LOG_H
#define UNDO_LOG_H

#include "runtime/byte_region.h"

typedef struct undo_entry {
    uint32_t storage, shape; /* shape: of the log's, whose offset is not used */
    size_t offset;           /* of the region in the storage */
    size_t place;            /* of its bytes in the log's data */
} undo_entry_t;

typedef struct undo_log {
    const device_t *device; /* whose memory holds the data */
    undo_entry_t *entries;  /* the oldest first */
    byte_region_t *shapes;  /* entries one after another share one that is the same */
    uint8_t *data;
    size_t count, entry_capacity, shape_count, shape_capacity;
    size_t used, capacity; /* bytes of data */
    size_t *marks;         /* of each open snapshot: how many entries there were when it was taken */
    size_t mark_capacity;
    uint32_t mark_count;
} undo_log_t;

/* Room in a log. */
typedef struct undo_room {
    size_t entries, shapes, bytes;
} undo_room_t;

static inline bool undo_log_is_open(const undo_log_t *log) { return log->mark_count > 0; }
void undo_log_release(undo_log_t *log);
/* What `count` entries of such a region take of the log is added. False on overflow. */
MUST_CHECK bool undo_room_add(undo_room_t *room, const byte_region_t *region, size_t count);
/* Errors: NOMEM, DEVICE; the log is as before. */
MUST_CHECK insitu_status undo_log_reserve(undo_log_t *log, undo_room_t room, insitu_diag *diag);
/* Saves the region's bytes, for which there is room; *bytes counts them. Errors: DEVICE. */
MUST_CHECK insitu_status undo_log_save(undo_log_t *log, void *stream, void *const *storages, uint32_t storage,
                                       const byte_region_t *region, int64_t *bytes, insitu_diag *diag);
/* Puts back what was saved since the log had so many entries, and forgets it. Errors: DEVICE. */
MUST_CHECK insitu_status undo_log_roll_back(undo_log_t *log, void *stream, void *const *storages, size_t count,
                                            insitu_diag *diag);
/* Opens a snapshot. Errors: NOMEM. */
MUST_CHECK insitu_status undo_log_mark(undo_log_t *log, insitu_diag *diag);
/* Closes the snapshot and all after it; the log is kept as far as an earlier one needs it. */
void undo_log_forget(undo_log_t *log, uint32_t mark);

#endif
