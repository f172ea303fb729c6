/* What the files that look for conflicts share: writes, and sets of roots. */
#ifndef REACHING_WRITES_H
#define REACHING_WRITES_H

#include "planner/planner_int.h"

typedef struct write_event {
    uint32_t node;
    uint32_t root; /* whose layer stores; NONE: a copy does */
    const tensor_type_t *region;
    region_span_t span;
} write_event_t;

typedef struct write_list {
    write_event_t *items;
    uint32_t count, capacity;
} write_list_t;

typedef enum base_kind {
    BASE_INITIAL, /* part of it is what the storage holds before the call */
    BASE_MADE,    /* the content covers the whole tensor, or what it does not cover is undefined */
} base_kind_t;

typedef struct reaching_writes { /* roots, in the order in which they were found */
    uint32_t *roots, count;
    uint32_t *seen, stamp; /* by tensor: the stamp of the set that it was last in */
    uint32_t of, held;     /* what was asked for, in which check: found once in each */
    uint64_t check;
    base_kind_t base;
} reaching_writes_t;

struct conflict_work {
    uint64_t check;
    bool any_rests;      /* of any tensor, at any time */
    bool is_gathered;    /* writes: all of the storage */
    write_list_t writes; /* of the storage */
    write_list_t fresh, met, firsts, seconds;
    reaching_writes_t content, other, added, takers;
};

static inline bool reaching_writes_has(const reaching_writes_t *set, uint32_t root) {
    return set->seen[root] == set->stamp;
}
MUST_CHECK insitu_status reaching_writes_init(planner_t *planner, reaching_writes_t *out_set);
/* The roots whose layers make the root's value: itself, what it takes over, what lies in its parts, and so on. */
void reaching_writes_find(planner_t *planner, reaching_writes_t *set, uint32_t root);
/* The other way: the root, and those whose content it is part of; save those that hold the root `held` without it. */
void reaching_writes_find_takers(planner_t *planner, reaching_writes_t *set, uint32_t root, uint32_t held);
/* Does the root take over the other, at once or through others that it takes over? */
bool reaching_writes_lead_to(planner_t *planner, uint32_t from, uint32_t to);

#endif
