/* compile, inside. */
#ifndef COMPILE_INT_H
#define COMPILE_INT_H

#include "compile/evaluate_layer.h"
#include "engine/engine.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "rewrite/rewrite.h"

#include <insitu/program.h>

/* name NULL: the CPU. written: an input or a state that the program writes; NULL: it writes none. Errors: ARG, UNSUPPORTED. */
MUST_CHECK insitu_status target_open(const char *name, const char *written, const device_t **out_device,
                                     insitu_diag *diag);
/* Some kernel of the device computes each step. Errors: UNSUPPORTED, with a row for each kind of step that none does. */
MUST_CHECK insitu_status check_kernels(const device_t *device, const plan_t *plan, insitu_diag *diag);
/* A number that the program's engines share, and those of other programs don't. */
MUST_CHECK insitu_status fingerprint_program(const graph_t *graph, uint64_t *out_fingerprint, insitu_diag *diag);
/* The same of a network that is no program's. */
MUST_CHECK insitu_status fingerprint_network(const network_t *network, uint64_t *out_fingerprint, insitu_diag *diag);

/* ---- compile_cache.c ---- */
typedef struct cache_entry { /* of one program and one set of options */
    const char *folder;
    text_t key, path;
} cache_entry_t;
MUST_CHECK insitu_status cache_open(cache_entry_t *entry, const file_map_t *program,
                                    const insitu_compile_options *options, insitu_diag *diag);
void cache_close(cache_entry_t *entry);
/* *out_engine NULL: a miss; why is in the log. Errors: NOMEM. */
MUST_CHECK insitu_status cache_look_up(const cache_entry_t *entry, insitu_engine **out_engine);
/* A folder that can't be written to is a warning in the log. */
void cache_store(const cache_entry_t *entry, const insitu_engine *engine);

#endif
