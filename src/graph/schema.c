/* The table of schemas, and its search: both parts are sorted by target. */
#include "graph/schema.h"

#include "graph/schema_ids.h"
#include <math.h>

/* The words of the tables. */
enum {
    LIST = SCHEMA_LIST,
    OPTIONAL = SCHEMA_OPTIONAL,
    OPTIONAL_ITEMS = SCHEMA_OPTIONAL_ITEMS,
    WRITES = SCHEMA_WRITES,
    KEYWORD = SCHEMA_KEYWORD
};
/* clang-format off */
#define ARG(arg_name, arg_type, ...) {.name = arg_name, .type = SCHEMA_##arg_type, __VA_ARGS__}
#define RETURN(return_type, ...)     {.type = SCHEMA_##return_type, __VA_ARGS__}
#define NO_VALUE        .default_kind = DEFAULT_NONE
#define INTEGER(value)  .default_kind = DEFAULT_INT, .i = value
#define REAL(value)     .default_kind = DEFAULT_FLOAT, .f = value
#define BOOLEAN(value)  .default_kind = DEFAULT_BOOL, .i = value
#define TEXT(value)     .default_kind = DEFAULT_STRING, .string = value
#define NUMBER(value)   .default_kind = DEFAULT_NUMBER, .i = value
#define NO_INTEGERS     .default_kind = DEFAULT_INTS, .int_count = 0, .ints = NULL
#define INTEGERS(...)   .default_kind = DEFAULT_INTS, .int_count = COUNT_OF(((const int64_t[]){__VA_ARGS__})), \
                        .ints = (const int64_t[]){__VA_ARGS__}
#define ARGS(...)    .args = (const schema_arg_t[]){__VA_ARGS__}, .arg_count = COUNT_OF(((const schema_arg_t[]){__VA_ARGS__}))
#define RETURNS(...) .returns = (const schema_return_t[]){__VA_ARGS__}, \
                     .return_count = COUNT_OF(((const schema_return_t[]){__VA_ARGS__}))
#define NO_ARGS      .args = NULL
#define NO_RETURNS   .returns = NULL
#define UNARY        ARGS(ARG("a", SCALAR)), RETURNS(RETURN(SCALAR))
#define BINARY       ARGS(ARG("a", SCALAR), ARG("b", SCALAR)), RETURNS(RETURN(SCALAR))
#define COMPARISON   ARGS(ARG("a", SCALAR), ARG("b", SCALAR)), RETURNS(RETURN(BOOL))
#define SCHEMA(id, schema_target, schema_writes, ...) [SCHEMA_##id] = {.target = schema_target, .writes = schema_writes, __VA_ARGS__},
/* clang-format on */

static const op_schema_t rows[SCHEMA_COUNT] = {
#include "graph/schemas.inc"
#include "graph/symbolic_schemas.inc"
};
#undef SCHEMA
enum {
    SYMBOLIC_COUNT = 0
#define SCHEMA(...) +1
#include "graph/symbolic_schemas.inc"
#undef SCHEMA
    ,
    FIRST_SYMBOLIC = SCHEMA_COUNT - SYMBOLIC_COUNT
};

static int compare_target(const void *key, const void *row) { return strcmp(key, ((const op_schema_t *)row)->target); }

const op_schema_t *schema_find(const char *target) {
    const op_schema_t *found = bsearch(target, rows, FIRST_SYMBOLIC, sizeof(op_schema_t), compare_target);
    if (found) return found;
    return bsearch(target, rows + FIRST_SYMBOLIC, SYMBOLIC_COUNT, sizeof(op_schema_t), compare_target);
}

const op_schema_t *schema_row(uint32_t index) { return index < SCHEMA_COUNT ? &rows[index] : NULL; }

uint32_t schema_number(const op_schema_t *schema) { return (uint32_t)(schema - rows); }

uint32_t schema_first(const char *prefix) {
    uint32_t low = 0, high = FIRST_SYMBOLIC;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(rows[middle].target, prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t schema_arg_index(const op_schema_t *schema, const char *name) {
    for (uint32_t i = 0; i < schema->arg_count; i++)
        if (strcmp(schema->args[i].name, name) == 0) return i;
    return NONE;
}

const char *schema_type_name(schema_type_t type) {
    switch (type) {
    case SCHEMA_TENSOR: return "Tensor";
    case SCHEMA_INT: return "int";
    case SCHEMA_FLOAT: return "float";
    case SCHEMA_BOOL: return "bool";
    case SCHEMA_SCALAR: return "Scalar";
    case SCHEMA_STRING: return "str";
    case SCHEMA_DTYPE: return "ScalarType";
    case SCHEMA_LAYOUT: return "Layout";
    case SCHEMA_DEVICE: return "Device";
    case SCHEMA_MEMORY_FORMAT: return "MemoryFormat";
    case SCHEMA_GENERATOR: return "Generator";
    case SCHEMA_OBJECT: return "object";
    }
    return "";
}
