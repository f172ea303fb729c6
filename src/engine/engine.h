/* engine: a compiled program with its weights: a plan, and the maps that hold what it points to. Immutable once made.
 * As a file: engine/format.h. */
#ifndef ENGINE_ROOM_H
#define ENGINE_ROOM_H

#include "core/backend.h"

#include <insitu/engine.h>

typedef struct engine_text_row { /* what a public report row points to */
    const char *type, *verdict, *written;
    int64_t bytes_written, bytes_moved, bytes_copied;
} engine_text_row;

struct insitu_engine {
    plan *plan;
    file_map **maps; /* retained */
    uint32_t map_count;
    uint8_t *copied_weights; /* bytes that lay in no map */
    arena arena;             /* of the tables below */
    insitu_value_info *inputs, *outputs, *states;
    engine_text_row *report;
    map input_names, output_names, state_names;
};

/* Makes an engine of a verified plan, which it owns from now on, also if this fails. Each weight's bytes lie in one of
 * the maps (retained here) or are copied. Errors: NOMEM, INTERNAL (a weight without bytes). */
MUST_CHECK insitu_status engine_create(plan *plan, file_map *const *maps, uint32_t map_count,
                                       insitu_engine **out_engine, insitu_diag *diag);

/* Text with JSON's escapes and quotes. */
void json_print_string(text *out, const char *string);
/* A plan as one JSON object (docs/engine-format.md). tensor_names[w]: what the file calls weight w; hashes[w]: of its
 * bytes. Either may be NULL: left out. */
void plan_print_json(const plan *plan, const char *const *tensor_names, const uint64_t *hashes, text *out);

#endif
