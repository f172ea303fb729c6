/* The record: what an engine file says of itself as an ordered list of strings, to be read before anything else in it.
 *
 * docs/engine-format.md has the fields. Lists of names join them with '%', aliases are output@input@kind joined with '%'.
 * In a name '%', '@' and '\' follow a '\'; "\e" is the empty name. An empty list is the empty string. */
#ifndef ENGINE_RECORD_H
#define ENGINE_RECORD_H

#include "engine/format.h"

#define RECORD_ABI "10"       /* versions the record alone */
#define RECORD_PLATFORM "any" /* an engine without machine code */

typedef enum record_field {
    RECORD_ABI_TARGET,
    RECORD_NAME,
    RECORD_DEVICE_NAME,
    RECORD_ENGINE,       /* the tensor that holds the plan */
    RECORD_INPUT_NAMES,  /* in order */
    RECORD_OUTPUT_NAMES, /* new values of inputs that are not returned, then the outputs in order */
    RECORD_HW_COMPATIBLE,
    RECORD_SERIALIZED_METADATA,
    RECORD_TARGET_PLATFORM,
    RECORD_REQUIRES_OUTPUT_ALLOCATOR, /* "1": the call decides the sizes of an output; "0" */
    RECORD_RESOURCE_ALLOCATION_STRATEGY,
    RECORD_REQUIRES_NATIVE_MULTIDEVICE,
    RECORD_ALIASED_IO,
    RECORD_LENGTH
} record_field_t;

typedef struct record {
    const char *fields[RECORD_LENGTH];
} record_t;

typedef struct record_alias {
    const char *output, *input, *kind;
} record_alias_t;

const char *record_field_name(record_field_t field); /* "ALIASED_IO" */

/* ---- lists in fields ---- */
void record_join_names(const char *const *names, uint32_t count, text_t *out);
MUST_CHECK insitu_status record_split_names(const char *joined, arena_t *arena, const char ***out_names,
                                            uint32_t *out_count, insitu_diag *diag);
void record_join_aliases(const record_alias_t *aliases, uint32_t count, text_t *out);
MUST_CHECK insitu_status record_split_aliases(const char *joined, arena_t *arena, record_alias_t **out_aliases,
                                              uint32_t *out_count, insitu_diag *diag);

/* ---- the whole ---- */
/* Its strings live in the arena. */
MUST_CHECK insitu_status record_make(const insitu_engine *engine, arena_t *arena, record_t *out_record,
                                     insitu_diag *diag);
void record_print(const record_t *record, text_t *out); /* a JSON array */
/* Errors: VERSION (another version, another number of fields; both are named), FORMAT (no list of strings). */
MUST_CHECK insitu_status record_parse(const char *json, arena_t *arena, record_t *out_record, insitu_diag *diag);
/* Compares a file's record with the engine that was read from it, which is right where they differ in what it enforces
 * itself. Errors: FORMAT (names, kinds, types, pairs), UNSUPPORTED (device, platform). */
MUST_CHECK insitu_status record_check(const record_t *record, const insitu_engine *engine, insitu_diag *diag);
/* All fields are those that record_make gives. Errors: FORMAT (names the field). */
MUST_CHECK insitu_status record_same(const record_t *record, const insitu_engine *engine, insitu_diag *diag);

#endif
