/* plan: the fields of its tables (plan_fields.def), for whoever writes, reads or checks all of them. */
#ifndef PLAN_FIELDS_H
#define PLAN_FIELDS_H

#include "plan/plan.h"

/* What a member is, and when it may be left out. */
typedef enum field_kind {
    FIELD_TEXT,          /* const char *; left out if empty */
    FIELD_ENUM,          /* extra: NAMES(function) */
    FIELD_OPTIONAL_ENUM, /* left out if 0 */
    FIELD_ID,          /* uint32_t; extra: LIMIT(member of plan that it is less than), or NO_LIMIT: other fields tell */
    FIELD_OPTIONAL_ID, /* left out if NONE */
    FIELD_SMALL,       /* uint32_t; left out if 0 */
    FIELD_NUMBER,      /* int64_t; left out if it is the one that extra says */
    FIELD_SIZE,        /* size_t */
    FIELD_FLAG,        /* bool; left out if false */
    FIELD_SYM,         /* left out if it is the integer 0 */
    FIELD_COUNT,       /* the same, an integer that is not negative */
    FIELD_TYPE,        /* left out if it is bool[] */
    FIELD_OPERAND,
    FIELD_LAYER, /* of a step: layer, results, operands, attributes */
    FIELD_PART   /* a struct in the struct; extra: PART_OF(struct) */
} field_kind_t;

typedef const char *(*names_fn)(uint32_t index); /* NULL beyond the last */

typedef struct plan_field {
    field_kind_t kind;
    const char *name;
    size_t offset;
    size_t limit; /* ID: offset in plan of a count; 0: none */
    names_fn names;
    int64_t standard;
    const struct plan_struct *part;
    uint32_t when; /* bits */
} plan_field_t;

typedef struct plan_struct {
    const plan_field_t *fields;
    uint32_t count;
    size_t size;
} plan_struct_t;

typedef struct plan_table {
    const char *name, *row_name; /* "steps", "step" */
    size_t rows, count;          /* offsets in plan */
    const plan_struct_t *row;
} plan_table_t;

/* A symbol of the plan's pool with its source: a row like those of the tables, of which there is no array. */
typedef struct symbol_row {
    symbol_t symbol;
    plan_symbol_t source;
} symbol_row_t;
extern const plan_struct_t symbol_row_struct;

enum { PLAN_TABLES = 12 };
extern const plan_table_t plan_tables[PLAN_TABLES];

static inline const void *table_rows(const plan_table_t *table, const plan_t *plan) {
    return *(const void *const *)(const void *)((const char *)plan + table->rows);
}
static inline uint32_t table_count(const plan_table_t *table, const plan_t *plan) {
    return *(const uint32_t *)(const void *)((const char *)plan + table->count);
}
static inline const void *table_row(const plan_table_t *table, const plan_t *plan, uint32_t index) {
    return (const char *)table_rows(table, plan) + index * table->row->size;
}
static inline const void *field_of(const plan_field_t *field, const void *row) {
    return (const char *)row + field->offset;
}
static inline uint32_t field_number(const plan_field_t *field, const void *row) { /* of an ENUM, ID or SMALL */
    return *(const uint32_t *)field_of(field, row);
}
/* The first ENUM; NULL: there is none. */
const plan_field_t *struct_selector(const plan_struct_t *fields);
/* The field exists in this row, of which the fields before it are there. */
bool field_exists(const plan_struct_t *fields, const plan_field_t *field, const void *row);
/* It has the value that is left out. */
bool field_is_left_out(const plan_field_t *field, const void *row);
/* Gives it that value. False: it can't be left out. */
bool field_leave_out(const plan_field_t *field, void *row);
/* The number of a name; NONE. */
uint32_t name_find(names_fn names, const char *name, size_t size);

const char *sym_kind_name(uint32_t kind);
const char *update_kind_name(uint32_t kind);

#endif
