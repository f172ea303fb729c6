/* schema: the signatures of operators: names, types, defaults and aliasing of arguments and results. A constant table
 * (schemas.inc, written by scripts/make_schemas.py from PyTorch's own; symbolic_schemas.inc by hand), so that a schema
 * may be pointed at from anywhere. What more is known of an operator is a row of operators.def. */
#ifndef SCHEMA_H
#define SCHEMA_H

#include "base/base.h"

typedef enum schema_type {
    SCHEMA_TENSOR,
    SCHEMA_INT,    /* int, SymInt */
    SCHEMA_FLOAT,  /* float, SymFloat */
    SCHEMA_BOOL,   /* bool, SymBool */
    SCHEMA_SCALAR, /* int, float, bool or complex */
    SCHEMA_STRING,
    SCHEMA_DTYPE,
    SCHEMA_LAYOUT,
    SCHEMA_DEVICE,
    SCHEMA_MEMORY_FORMAT,
    SCHEMA_GENERATOR,
    SCHEMA_OBJECT /* storages, streams and the like: never in an exported program */
} schema_type_t;
const char *schema_type_name(schema_type_t type); /* "Tensor", "int" */

enum schema_flags {
    SCHEMA_LIST = 1 << 0,           /* Tensor[], int[2] */
    SCHEMA_OPTIONAL = 1 << 1,       /* None is allowed: Tensor?, int[]? */
    SCHEMA_OPTIONAL_ITEMS = 1 << 2, /* items may be None: Tensor?[] */
    SCHEMA_WRITES = 1 << 3,         /* Tensor(a!): the operator writes it */
    SCHEMA_KEYWORD = 1 << 4         /* keyword-only */
};

typedef enum default_kind {
    DEFAULT_NONE_GIVEN, /* the argument must be passed */
    DEFAULT_NONE,       /* Python None */
    DEFAULT_INT,        /* i; of a list: that many as size copies */
    DEFAULT_FLOAT,      /* f */
    DEFAULT_BOOL,       /* i */
    DEFAULT_STRING,     /* string */
    DEFAULT_INTS,       /* ints, int_count */
    DEFAULT_NUMBER      /* i: of a DTYPE, LAYOUT or MEMORY_FORMAT: its number in the .pt2 format */
} default_kind_t;

typedef struct schema_arg {
    const char *name;
    uint8_t type;  /* schema_type */
    uint8_t flags; /* schema_flags */
    uint8_t size;  /* LIST: the fixed length, for which a single number stands for that many copies; else 0 */
    char alias;    /* the alias set's letter, 'a'; 0: none */
    uint8_t default_kind;
    uint8_t int_count;
    union {
        int64_t i;
        double f;
        const char *string;
        const int64_t *ints;
    };
} schema_arg_t;

typedef struct schema_return {
    uint8_t type;  /* schema_type */
    uint8_t flags; /* LIST, OPTIONAL, WRITES */
    char alias;    /* 'a': the result is, or (without WRITES) may be a view of, the argument of that letter */
} schema_return_t;

typedef struct op_schema {
    const char *target; /* "aten.add.Tensor", "aten.relu.default", "_operator.mul", "torch.sym_max" */
    const schema_arg_t *args;
    const schema_return_t *returns;
    uint8_t arg_count, return_count;
    bool writes; /* an argument has WRITES. batch_norm in training mode writes without saying so */
} op_schema_t;

/* NULL: no such operator. The target as the graph has it: a saved one without a leading "torch.ops.". */
const op_schema_t *schema_find(const char *target);
/* Position of the argument, NONE if there is none of that name. */
uint32_t schema_arg_index(const op_schema_t *schema, const char *name);
/* Rows in two sorted runs (PyTorch's, then the symbolic operators); NULL past the last. */
const op_schema_t *schema_row(uint32_t index);
uint32_t schema_number(const op_schema_t *schema); /* its row */
/* The first of PyTorch's rows that doesn't come before prefix: operators whose target begins with it follow one another. */
uint32_t schema_first(const char *prefix);

#endif
