/* The engine file's names: what plan_json.c, write.c and read.c agree on.
 *
 * The file is a safetensors file: 8 bytes of header length, a JSON header padded with spaces to a multiple of 64, data.
 * The header's __metadata__ holds the strings below. The plan is a U8 tensor of JSON text: tables as arrays of rows,
 * expressions as numbers of rows of "nodes", in which a row's arguments come before it. docs/engine-format.md has more. */
#ifndef ENGINE_FORMAT_H
#define ENGINE_FORMAT_H

#include "core/plan.h"

enum { PLAN_VERSION = 1, DATA_ALIGNMENT = 64, HASH_DIGITS = 16 };
#define METADATA_FORMAT "format"             /* "insitu" */
#define METADATA_PLAN_VERSION "plan_version" /* a number */
#define METADATA_PLAN "plan"                 /* the name of the plan's tensor */
#define METADATA_HASH "header_hash"          /* xxh64 of the header, these digits being zeros, and of the plan's bytes */
#define PLAN_TENSOR "insitu.plan"
#define HASH_KEY "\"" METADATA_HASH "\":\""

/* Names of enums in the plan's JSON; NULL beyond the last. */
const char *format_symbol_kind(uint32_t kind);    /* sym_kind */
const char *format_symbol_source(uint32_t source); /* of plan_symbol */
const char *format_storage_kind(uint32_t kind);
const char *format_step_kind(uint32_t kind);
const char *format_output_kind(uint32_t kind);
const char *format_alias_kind(uint32_t kind);
const char *format_op_group(uint32_t group);
const char *format_sym_op(uint32_t op); /* "+", "max"; "" for constants and symbols */

#endif
