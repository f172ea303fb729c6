/* engine: a compiled program with its weights: a plan, and the maps that hold what it points to. Immutable once made.
 * As a file: engine/format.h. */
#ifndef ENGINE_ROOM_H
#define ENGINE_ROOM_H

#include "plan/device.h"

#include <insitu/engine.h>

typedef struct engine_text_row { /* what a public report row points to */
    const char *type, *verdict, *written;
    int64_t bytes_written, bytes_moved, bytes_copied, bytes_saved;
} engine_text_row_t;

typedef struct engine_alias { /* an input that the program writes, and the output that is its new value */
    const char *output;       /* its name; "mutated.NAME" if it is none of the program's outputs */
    uint32_t output_index;    /* NONE: none of them */
    uint32_t input;
} engine_alias_t;

enum { WEIGHT_ALIGNMENT = 64 };

struct insitu_engine {
    plan_t *plan;
    const device_t *device;
    void **weights;    /* addresses of the plan's weights in the device's memory; NULL before engine_place_weights */
    file_map_t **maps; /* retained */
    uint32_t map_count;
    bool is_cached;          /* found in the compile cache */
    uint8_t *copied_weights; /* bytes that lay in no map */
    arena_t arena;           /* of the tables below */
    insitu_value_info *inputs, *outputs, *states;
    engine_alias_t *aliases; /* in the order of the inputs */
    uint32_t alias_count;
    insitu_tensor *buffers; /* one for each of the plan's; data in a map or in copied_weights */
    engine_text_row_t *report;
    map_t input_names, output_names, state_names, buffer_names;
    map_t alias_names; /* of the aliases' outputs */
};

/* Makes an engine of a verified plan, which it owns from now on, also if this fails, for a device. Each weight's bytes lie in one of
 * the maps (retained here) or are copied. Errors: NOMEM, INTERNAL (a weight without bytes). */
MUST_CHECK insitu_status engine_create(plan_t *plan, const device_t *device, file_map_t *const *maps,
                                       uint32_t map_count, insitu_engine **out_engine, insitu_diag *diag);
/* ---- engine_weights.c ---- */
MUST_CHECK insitu_status engine_find_weights(insitu_engine *engine);
/* Before a context is made: the weights are in the device's memory. Any thread. Errors: NOMEM, DEVICE. */
MUST_CHECK insitu_status engine_place_weights(const insitu_engine *engine, insitu_diag *diag);
void engine_free_weights(const insitu_engine *engine);

/* ---- engine files ---- */
typedef struct engine_read_options {
    bool verify_weights;
    const char *cache_key; /* the file must be the cache's entry for this key, and have the record that would be written
                              today; NULL: any engine file */
} engine_read_options_t;
/* Errors: FORMAT, VERSION, UNSUPPORTED, NOMEM. */
MUST_CHECK insitu_status engine_read(file_map_t *map, const engine_read_options_t *options, insitu_engine **out_engine,
                                     insitu_diag *diag);
/* cache_key NULL: none. In the compiler's library alone. Errors: IO, NOMEM. */
MUST_CHECK insitu_status engine_write(const insitu_engine *engine, const char *path, const char *cache_key,
                                      insitu_diag *diag);

/* ---- aliases.c ---- */
/* Fills the engine's table of aliases. */
MUST_CHECK insitu_status aliases_find(insitu_engine *engine);
void aliases_print(const insitu_engine *engine, text_t *out);      /* lines for people */
void aliases_print_json(const insitu_engine *engine, text_t *out); /* "aliases":[...], */

/* A plan as one JSON object (docs/engine-format.md). tensor_names[w]: what the file calls weight w; hashes[w]: of its
 * bytes. Either may be NULL: left out. */
/* tensor_names: of the weights' tensors, NULL for one that is zeros and has none; NULL: not told. */
void plan_print_json(const plan_t *plan, const char *const *tensor_names, const uint64_t *hashes, text_t *out);

/* ---- safetensors files ---- */
#define PAD_PREFIX "__pad." /* of the names of tensors that are padding */
typedef struct safetensor {
    const char *name;
    bool has_dtype; /* false: a dtype that is not known here */
    dtype_t dtype;
    uint32_t rank;
    int64_t sizes[MAX_RANK];
    const uint8_t *data; /* in the map; not aligned */
    size_t size;
} safetensor_t;
typedef struct safetensors {
    safetensor_t *tensors;
    uint32_t count;
    map_t names;    /* tensor name -> index */
    map_t metadata; /* key -> index in metadata_values */
    const char **metadata_values;
    const uint8_t *header; /* JSON text in the map */
    size_t header_size;
} safetensors_t;
/* Reads the header; every offset and size is checked. What it makes lives in the arena and points into the map.
 * what: how sentences call the file, "engine file". Errors: FORMAT, NOMEM. */
MUST_CHECK insitu_status safetensors_read(const file_map_t *map, const char *what, arena_t *arena, safetensors_t *out,
                                          insitu_diag *diag);
/* A key of __metadata__, NULL if it is absent. */
const char *safetensors_metadata(const safetensors_t *file, const char *key);

/* A tensor to write; dtype is the format's name. */
typedef struct safetensor_source {
    const char *name, *dtype;
    uint32_t rank;
    int64_t sizes[MAX_RANK + 1];
    const void *data;
    size_t size;
} safetensor_source_t;
/* The header (its length, JSON, spaces up to a multiple of 64) and the file's parts. Tensors lie in the given order,
 * each at a multiple of alignment (1: no padding); padding is made of U8 tensors named __pad.N. metadata: count pairs.
 * parts live in the arena, the first one is the header's text. Errors: UNSUPPORTED (a tensor called __metadata__), NOMEM. */
MUST_CHECK insitu_status safetensors_layout(const safetensor_source_t *tensors, uint32_t count,
                                            const char *const (*metadata)[2], uint32_t metadata_count, size_t alignment,
                                            arena_t *arena, text_t *out_header, file_part_t **out_parts,
                                            size_t *out_part_count, insitu_diag *diag);

#endif
