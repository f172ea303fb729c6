/* The engine file's names: what plan_json.c, write.c and read.c agree on.
 *
 * The file is a safetensors file: 8 bytes of header length, a JSON header padded with spaces to a multiple of 64, data.
 * The header's __metadata__ holds the strings below. The plan is a U8 tensor of JSON text: tables as arrays of rows,
 * expressions as numbers of rows of "nodes", in which a row's arguments come before it. docs/engine-format.md has more. */
#ifndef ENGINE_FORMAT_H
#define ENGINE_FORMAT_H

#include "engine/engine.h"

enum { PLAN_VERSION = 4, DATA_ALIGNMENT = 64, HASH_DIGITS = 16 };
#define METADATA_FORMAT "format"             /* "insitu" */
#define METADATA_PLAN_VERSION "plan_version" /* a number */
#define METADATA_RECORD "record"             /* engine/record.h */
#define METADATA_CACHE_KEY "cache_key"       /* of an entry of the compile cache */
#define METADATA_HASH "header_hash" /* xxh64 of the header, these digits being zeros, and of the plan's bytes */
#define PLAN_TENSOR "insitu.plan"
#define HASH_KEY "\"" METADATA_HASH "\":\""

/* Names of enums in the plan's JSON; NULL beyond the last. plan/plan_fields.h has the others. */
const char *format_op_group(uint32_t group);
const char *format_sym_op(uint32_t op); /* "+", "max"; "" for constants and symbols */

/* xxh64 of the plan's bytes, seeded by that of the header (safetensors.header) with the digits at digits_at as zeros. */
MUST_CHECK insitu_status format_hash(const uint8_t *header, size_t header_size, size_t digits_at, const void *plan,
                                     size_t plan_size, uint64_t *out_hash);
/* Where the hash's digits begin in the header. False: there is not exactly one such place. */
bool format_find_hash(const uint8_t *header, size_t header_size, size_t *out_digits_at);

/* What the plan's JSON says about where a weight's bytes are. */
typedef struct weight_source {
    const char *tensor; /* NULL: all of them are zero, and not in the file */
    uint64_t hash;      /* of a tensor */
} weight_source_t;
/* Reads a plan from its JSON. Its tables are filled, its weights not attached; plan_verify comes next. out_sources has a
 * row for each weight, in the plan's arena. Errors: FORMAT, NOMEM. */
MUST_CHECK insitu_status plan_read_json(const char *json, size_t size, plan_t **out_plan, weight_source_t **out_sources,
                                        insitu_diag *diag);

#endif
