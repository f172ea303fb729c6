/* Which steps may run without waiting for one another: byte ranges touched since the last barrier (hazards.c). */
#ifndef HAZARDS_H
#define HAZARDS_H

#include "plan/device.h"

typedef struct access {
    uint64_t space;     /* bytes of two spaces never meet */
    int64_t begin, end; /* bytes [begin, end) */
    bool writes, alone; /* alone: by thread 0 only */
} access_t;
typedef struct hazards {
    const bound_plan_t *bound;
    arena_t *arena;
    access_t *accesses; /* since the last barrier */
    uint32_t count, capacity;
} hazards_t;

/* Tells whether the step must wait for earlier ones: it touches bytes that another thread wrote, or writes bytes that
 * another thread touched. If so, or if wait is given true, the set starts anew. Then the step is added. Errors: NOMEM. */
insitu_status hazards_add_step(hazards_t *hazards, const bound_step_t *step, bool alone, bool *wait);
void hazards_clear(hazards_t *hazards);
/* The bytes that an operand's elements lie in, from its storage's start; false on overflow. Empty operands: [0, 0). */
bool operand_interval(const bound_operand_t *operand, int64_t *out_begin, int64_t *out_end);

#endif
