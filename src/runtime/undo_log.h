/* The undo log of a state: while a snapshot is open, the bytes that each write replaces.
 *
 * An entry is saved before its bytes are written, so going back through the log from its end to a snapshot's mark gives
 * the state that the snapshot saw, in time proportional to what was saved. Snapshots nest: each is a mark in one log. */
#ifndef UNDO_LOG_H
#define UNDO_LOG_H

#include "runtime/byte_region.h"

typedef struct undo_log {
    uint8_t *data; /* entries, the oldest first */
    size_t used, capacity;
    size_t *marks; /* of each open snapshot: the log's length when it was taken */
    uint32_t mark_count, mark_capacity;
} undo_log;

static inline bool undo_log_is_open(const undo_log *log) { return log->mark_count > 0; }
void undo_log_release(undo_log *log);
/* What an entry of such a region takes of the log. */
size_t undo_entry_bytes(const byte_region *region);
/* Makes room for so many bytes of entries. Errors: NOMEM; the log is as before. */
MUST_CHECK insitu_status undo_log_reserve(undo_log *log, size_t bytes, insitu_diag *diag);
/* Saves the region's bytes, for which there is room. Returns how many. */
size_t undo_log_save(undo_log *log, void *const *storages, uint32_t storage, const byte_region *region);
/* Puts back what was saved since the log had this length, and forgets it. */
void undo_log_roll_back(undo_log *log, void *const *storages, size_t length);
/* Opens a snapshot. Errors: NOMEM. */
MUST_CHECK insitu_status undo_log_mark(undo_log *log, insitu_diag *diag);
/* Closes the snapshot and all after it; the log is kept as far as an earlier one needs it. */
void undo_log_forget(undo_log *log, uint32_t mark);

#endif
