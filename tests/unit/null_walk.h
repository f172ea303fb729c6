/* What the walks of test_null_arguments.c share: the objects that are passed, and the functions that were called. */
#ifndef NULL_WALK_H
#define NULL_WALK_H

#include "base/base.h"
#include "unit_test.h"

#include <insitu/insitu.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct walk {
    insitu_diag diag;
    const char *seen[384];
    size_t count;
    insitu_engine *engine;
    insitu_state *state;
    insitu_context *context;
    insitu_module *module;
    insitu_program *program;
    insitu_network *network;
} walk_t;

static inline void saw(walk_t *w, const char *function) {
    assert_true(w->count < COUNT_OF(w->seen));
    w->seen[w->count++] = function;
}

/* status is the function's, called with &w->diag. */
static inline void refused(walk_t *w, const char *function, insitu_status status) {
    char start[96];
    snprintf(start, sizeof(start), "%s needs ", function);
    if (status != INSITU_ARG || strncmp(w->diag.message, start, strlen(start)) != 0 ||
        strstr(w->diag.message, "(null)"))
        fail_msg("%s: %s '%s'", function, insitu_status_name(status), w->diag.message);
    insitu_diag_release(&w->diag);
    saw(w, function);
}

static inline void answered(walk_t *w, const char *function, bool is_nothing) {
    if (!is_nothing) fail_msg("%s answers NULL with something", function);
    saw(w, function);
}

#endif
