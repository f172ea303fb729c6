/* operators: facts about operators beyond their signatures, from operators.def; found by the schema's number. */
#ifndef OPERATORS_H
#define OPERATORS_H

#include "core/core.h"
#include "graph/schema.h"

typedef enum alias_rule { /* what results are to the first argument */
                          RULE_BY_SCHEMA,
                          RULE_FRESH,
                          RULE_SELF,    /* returns its argument */
                          RULE_ALIAS,   /* a new tensor object over the same view */
                          RULE_AS_IS,   /* a canonical view operator */
                          RULE_RESHAPE, /* a view if the strides allow one, else a copy */
                          RULE_VIEW,    /* always a view with other sizes */
                          RULE_EXPAND,
                          RULE_CONTIGUOUS,
                          RULE_CAST,      /* the argument itself if nothing changes */
                          RULE_CAST_COPY, /* always a copy */
                          RULE_CLONE,     /* a copy in another spelling */
                          RULE_DROPOUT,   /* the argument itself outside training */
                          RULE_MOVEDIM,
                          RULE_REVERSE,    /* all dimensions reversed */
                          RULE_SWAP_LAST,  /* the last two dimensions swapped */
                          RULE_SWAP_NAMED, /* two dimensions swapped */
                          RULE_NARROW,
                          RULE_PARTS,        /* result k is a slice along dim */
                          RULE_PARTS_ACROSS, /* hsplit: along dimension 1, of a vector 0 */
                          RULE_PARTS_DOWN,   /* vsplit: along dimension 0 */
                          RULE_PARTS_DEEP,   /* dsplit: along dimension 2 */
                          RULE_UNBIND,
                          RULE_REAL_PART,
                          RULE_IMAGINARY,
                          RULE_IF_REAL, /* an alias of a real tensor, else a view of its own kind */
                          RULE_DIAGONAL,
                          RULE_SAME_SIZES,   /* the argument itself if the sizes stay */
                          RULE_ITEMS_VIEW,   /* result k is item k of a list with other sizes */
                          RULE_ITEMS_EXPAND, /* ... expanded */
                          RULE_GRID,         /* ... along a dimension of its own */
                          RULE_LONE_ITEM,    /* may be a view of a list's only item */
                          RULE_UNKNOWN       /* may be a view */
} alias_rule_t;

typedef enum view_way { /* how a canonical view is undone */
                        INVERSE_NONE,
                        INVERSE_SLICE,
                        INVERSE_SELECT,
                        INVERSE_DIAGONAL,
                        INVERSE_STRIDED,
                        INVERSE_TRANSPOSE,
                        INVERSE_T,
                        INVERSE_PERMUTE,
                        INVERSE_UNSQUEEZE,
                        INVERSE_SQUEEZE,
                        INVERSE_VIEW,
                        INVERSE_EXPAND,
                        INVERSE_VIEW_DTYPE,
                        INVERSE_AGAIN, /* it undoes itself */
                        INVERSE_AS_REAL,
                        INVERSE_AS_COMPLEX,
                        INVERSE_UNFOLD,
                        INVERSE_COUNT
} view_way_t;

typedef enum write_kind { /* how an operator that writes does */
                          WRITE_BY_SCHEMA,
                          WRITE_COPY,      /* copy_ */
                          WRITE_DIAGONAL,  /* fill_diagonal_ */
                          WRITE_NOTHING,   /* returns its argument: detach_, requires_grad_ */
                          WRITE_VIEW,      /* changes which view the object is: t_, squeeze_ */
                          WRITE_RESIZED,   /* gives its argument other sizes, and the memory for them */
                          WRITE_MEMORY,    /* gives its argument other memory */
                          WRITE_STATISTICS /* of a normalisation in training, unmarked in its schema or marked */
} write_kind_t;

typedef enum result_rule {
    RESULT_BY_WRITTEN, /* the dtype of what is written */
    RESULT_PROMOTED,   /* of all tensors together; written back, it is cast */
    RESULT_WIDENED,    /* in place integers are added up in i64, unless a dtype is given */
    RESULT_BOOL        /* whatever it compares */
} result_rule_t;

typedef enum noop_kind {
    NOOP_NONE,
    NOOP_COPY,       /* with the operand's dtype, if nobody can tell the two apart */
    NOOP_ALIAS,      /* always */
    NOOP_SAME_SIZES, /* a view with the operand's sizes */
    NOOP_RESHAPE,    /* the same; and keeps the elements' order, so that several may lead back */
    NOOP_PERMUTE,
    NOOP_TRANSPOSE,
    NOOP_T,
    NOOP_SCATTER
} noop_kind_t;

typedef enum reads_kind { READS_ELEMENTS, READS_LAYOUT, READS_NUMBER, READS_MASK } reads_kind_t;
typedef enum effect_kind { EFFECT_NONE, EFFECT_RANDOM, EFFECT_DROPOUT } effect_kind_t;

typedef enum number_kind {
    NUMBER_NONE,
    NUMBER_BINARY, /* op_numbers, op_bools */
    NUMBER_SUB,
    NUMBER_NEG,
    NUMBER_SAME, /* of an integer itself */
    NUMBER_FLOAT,
    NUMBER_NOT,
    NUMBER_SIZE,
    NUMBER_NUMEL,
    NUMBER_RECORDED, /* what is recorded is taken */
    NUMBER_ASSERT,
    NUMBER_METADATA,
    NUMBER_RANGE,
    NUMBER_SIZE_RANGE
} number_kind_t;

typedef enum cast_rule {
    CAST_NONE,
    CAST_LOW,
    CAST_F32,
    CAST_F32_DTYPE,
    CAST_WIDEST,
    CAST_WITHIN_LOW,
    CAST_WITHIN_F32,
    CAST_F32_PAD,
    CAST_EINSUM
} cast_rule_t;

typedef struct operator_facts {
    bool is_listed;               /* has a row */
    uint8_t alias;                /* alias_rule */
    uint8_t inverse;              /* view_way */
    uint8_t write;                /* write_kind */
    uint8_t result;               /* result_rule */
    uint8_t noop;                 /* noop_kind */
    uint8_t reads;                /* reads_kind */
    uint8_t effect;               /* effect_kind */
    uint8_t number;               /* number_kind */
    uint8_t op_numbers, op_bools; /* sym_op */
    uint8_t cast_cpu, cast_cuda;  /* cast_rule */
    uint16_t other; /* the variant of WRITE_STATISTICS, the view of NOOP_SCATTER: 1 + its number; 0: none is known */
} operator_facts_t;

/* Never NULL. schema NULL: an operator of which nothing is known. */
const operator_facts_t *operator_facts_of(const op_schema_t *schema);
/* The operator that the row names beside its own; NULL: none. */
const op_schema_t *operator_other(const operator_facts_t *facts);

#endif
