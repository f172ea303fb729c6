/* core: facts that the compile half and the run half share: dtypes, symbolic expressions, shapes, the table of layers. */
#ifndef CORE_H
#define CORE_H

#include "base/base.h"
#include <insitu/tensor.h>

/* ---- dtypes (dtypes.def; order of rows = order of the enum) ---- */
typedef enum dtype {
#define DTYPE(id, name, size, kind, code, bits, pt2, safetensors) DTYPE_##id,
#include "core/dtypes.def"
#undef DTYPE
    DTYPE_COUNT
} dtype_t;
typedef enum dtype_kind { KIND_BOOL, KIND_UNSIGNED, KIND_SIGNED, KIND_FLOAT, KIND_COMPLEX } dtype_kind_t;
const char *dtype_name(dtype_t type);             /* "f32" */
bool dtype_parse(const char *name, dtype_t *out); /* by that name */
uint32_t dtype_size(dtype_t type);                /* bytes of an element */
dtype_kind_t dtype_kind_of(dtype_t type);
static inline bool dtype_is_float(dtype_t type) { return dtype_kind_of(type) == KIND_FLOAT; }
static inline bool dtype_is_complex(dtype_t type) { return dtype_kind_of(type) == KIND_COMPLEX; }
/* Integers, bool included. */
static inline bool dtype_is_integral(dtype_t type) { return dtype_kind_of(type) <= KIND_SIGNED; }
insitu_dtype dtype_public(dtype_t type);
bool dtype_from_public(insitu_dtype type, dtype_t *out);
bool dtype_from_pt2(int64_t number, dtype_t *out); /* ScalarType numbers of the .pt2 format */
const char *dtype_safetensors(dtype_t type);       /* "F32"; NULL if that format lacks it */
bool dtype_from_safetensors(const char *name, dtype_t *out);
dtype_t dtype_promote(dtype_t a, dtype_t b); /* torch.promote_types; DTYPE_COUNT where it refuses */
/* The nearest value that a float of the dtype (f16, bf16, f32, f64) holds; ties to even. */
double dtype_round(dtype_t type, double value);
typedef enum operand_class { OPERAND_TENSOR, OPERAND_ZERO_DIM, OPERAND_NUMBER } operand_class_t;
/* torch.result_type over operands: dimensioned tensors beat 0-d tensors beat Python numbers within a category. */
dtype_t dtype_result(const dtype_t *types, const operand_class_t *classes, uint32_t count);

/* ---- symbolic expressions: ints, floats and bools over symbols, hash-consed in a pool, kept canonical ----
 * Equal ids are equal values; sums of products are normalised, so that sizes that are equal as polynomials have equal
 * ids. Builders never fail visibly: after NOMEM the pool is marked and sym_pool_status tells. */
typedef struct sym {
    uint32_t id;
} sym_t;
typedef enum sym_kind { SYM_KIND_INT, SYM_KIND_FLOAT, SYM_KIND_BOOL } sym_kind_t;
typedef struct sym_value { /* a number */
    sym_kind_t kind;
    int64_t i; /* INT, BOOL */
    double f;  /* FLOAT */
} sym_value_t;
/* The number that an element is. False: a complex one, or an integer beyond int64. */
bool element_value(dtype_t type, const void *data, sym_value_t *out);
typedef enum sym_op {
#define SYM_OP(id, srepr, infix) SYM_##id,
#include "core/sym_ops.def"
#undef SYM_OP
    SYM_OP_COUNT
} sym_op_t;
typedef struct symbol {
    const char *name; /* "s77", "u0" */
    sym_kind_t kind;
    int64_t min, max; /* INT: closed range; INT64_MIN / INT64_MAX where unbounded */
} symbol_t;
typedef struct sym_node sym_node_t;
typedef struct sym_pool {
    arena_t arena;
    sym_node_t *nodes;
    uint32_t node_count, node_capacity;
    uint32_t *buckets;
    uint32_t bucket_count;
    symbol_t *symbols;
    uint32_t symbol_count, symbol_capacity;
    bool failed;    /* nothing is built any more: sym_pool_status says why */
    bool too_large; /* failed for that reason, not for want of memory */
    bool borrowed;  /* a view: nodes, buckets and symbols are another pool's until the first addition */
} sym_pool_t;
MUST_CHECK insitu_status sym_pool_init(sym_pool_t *pool); /* the constants 0 and 1 get ids 0 and 1 */
void sym_pool_release(sym_pool_t *pool);
MUST_CHECK insitu_status sym_pool_clone(const sym_pool_t *source, sym_pool_t *out_pool); /* ids stay valid */
/* A pool of the same expressions that can build more without touching source, which must outlive it; release it. */
void sym_pool_view(const sym_pool_t *source, sym_pool_t *out_view);
/* What could not be expressed is dropped by the caller; the pool goes on. A want of memory stays. */
void sym_pool_clear_error(sym_pool_t *pool);
MUST_CHECK insitu_status sym_pool_status(const sym_pool_t *pool, insitu_diag *diag);
uint32_t sym_find_symbol(const sym_pool_t *pool, const char *name); /* index, NONE */
/* Finds or adds; the range of a symbol that is found is narrowed to the one given (bounds that contradict it are ignored). */
uint32_t sym_add_symbol(sym_pool_t *pool, const char *name, sym_kind_t kind, int64_t min, int64_t max);
sym_t sym_of_symbol(sym_pool_t *pool, uint32_t index);
sym_t sym_int(sym_pool_t *pool, int64_t value);
sym_t sym_float(sym_pool_t *pool, double value);
sym_t sym_bool(sym_pool_t *pool, bool value);
sym_t sym_make(sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count); /* simplifies */
sym_t sym_add(sym_pool_t *pool, sym_t a, sym_t b);
sym_t sym_sub(sym_pool_t *pool, sym_t a, sym_t b);
sym_t sym_mul(sym_pool_t *pool, sym_t a, sym_t b);
sym_t sym_floordiv(sym_pool_t *pool, sym_t a, sym_t b);
sym_t sym_mod(sym_pool_t *pool, sym_t a, sym_t b); /* Python's sign */
sym_t sym_min(sym_pool_t *pool, sym_t a, sym_t b);
sym_t sym_max(sym_pool_t *pool, sym_t a, sym_t b);
sym_t sym_compare(sym_pool_t *pool, sym_op_t op, sym_t a,
                  sym_t b); /* SYM_EQ NE LT LE GT GE; a constant where ranges decide */
sym_kind_t sym_kind_of(const sym_pool_t *pool, sym_t a);
sym_op_t sym_op_of(const sym_pool_t *pool, sym_t a);
uint32_t sym_arg_count(const sym_pool_t *pool, sym_t a);
sym_t sym_arg(const sym_pool_t *pool, sym_t a, uint32_t index);
uint32_t sym_symbol_index(const sym_pool_t *pool, sym_t a);            /* of SYM_SYMBOL; else NONE */
bool sym_constant(const sym_pool_t *pool, sym_t a, int64_t *out);      /* INT or BOOL constant */
static inline bool sym_is_one(sym_t a) { return a.id == 1; }           /* the integer constant */
bool sym_constant_float(const sym_pool_t *pool, sym_t a, double *out); /* any numeric constant, as double */
static inline bool sym_same(sym_t a, sym_t b) { return a.id == b.id; }
void sym_range(const sym_pool_t *pool, sym_t a, int64_t *out_min, int64_t *out_max); /* conservative */
typedef enum truth { TRUTH_FALSE, TRUTH_TRUE, TRUTH_UNKNOWN } truth_t;
truth_t sym_truth(sym_pool_t *pool, sym_t condition); /* for all values in the symbols' ranges */
truth_t sym_is_le(sym_pool_t *pool, sym_t a, sym_t b);
truth_t sym_is_eq(sym_pool_t *pool, sym_t a, sym_t b);
bool sym_uses(const sym_pool_t *pool, sym_t a, uint32_t symbol_index);
/* values[symbol] for every symbol; bound[symbol] false: unknown. False if a symbol is unbound, or on overflow or
 * division by zero; *out_missing then names the unbound symbol or is NONE. Allocates nothing. */
bool sym_evaluate(const sym_pool_t *pool, sym_t a, const sym_value_t *values, const bool *bound, sym_value_t *out,
                  uint32_t *out_missing);
/* A size of this expression gives the symbol's value, if the other symbols in it are known (sym_solve.c). */
bool sym_gives(const sym_pool_t *pool, sym_t size, uint32_t symbol);
/* The only symbol of the size that is not known, if the size gives it; else NONE. */
uint32_t sym_unknown(const sym_pool_t *pool, sym_t size, const bool *known);
/* Sets values[symbol] and known[symbol] so that the size, which gives the symbol, is target. False, and the symbol unknown:
 * no value in the symbol's range does, or another symbol is unknown. Allocates nothing. */
bool sym_solve(const sym_pool_t *pool, sym_t size, uint32_t symbol, int64_t target, sym_value_t *values, bool *known);
/* The expression with by in the symbol's place. */
sym_t sym_replace(sym_pool_t *pool, sym_t a, uint32_t symbol, sym_t by);
/* The same expression in another pool; by[symbol]: what stands for each symbol of from there. */
sym_t sym_move(sym_pool_t *to, const sym_pool_t *from, sym_t a, const sym_t *by);
/* The first part of an expression that has no value whatever the symbols are: a division by 0, an overflow. */
bool sym_find_fault(const sym_pool_t *pool, sym_t a, sym_t *out_part);
/* The name of a symbol in an expression's text: an identifier that is no word of it, such as "max". */
bool sym_is_name(const char *name);
void sym_print(const sym_pool_t *pool, sym_t a,
               text_t *out); /* "2*s77 + 1", "max(1, u0)", "s0 // 2", "0.5*float(s1)" */
/* Parses such text up to the first character that can't continue an expression; *cursor is advanced. Unknown
 * identifiers become INT symbols. */
MUST_CHECK insitu_status sym_parse(sym_pool_t *pool, const char **cursor, sym_t *out, insitu_diag *diag);
/* An unsigned number in decimal notation at *cursor, which is advanced; 2^63 is INT64_MIN. False: none, or out of range. */
bool sym_parse_number(const char **cursor, sym_value_t *out);
/* SymPy's constructor notation as saved in .pt2 files (a bare identifier is a symbol). */
MUST_CHECK insitu_status sym_parse_srepr(sym_pool_t *pool, const char *srepr, sym_t *out, insitu_diag *diag);

/* ---- shapes ---- */
typedef struct shape {
    uint32_t rank;
    sym_t sizes[MAX_RANK];
} shape_t;
typedef struct tensor_type { /* a tensor as a program records it, and as a step addresses it */
    dtype_t dtype;
    shape_t shape;
    sym_t strides[MAX_RANK]; /* in elements */
    sym_t offset;            /* in elements from the storage's start */
} tensor_type_t;
sym_t shape_numel(sym_pool_t *pool, const shape_t *shape);
void shape_dense_strides(sym_pool_t *pool, const shape_t *shape,
                         sym_t *out_strides);                                  /* row-major, PyTorch's rule for 0 */
void dense_strides(uint32_t rank, const int64_t *sizes, int64_t *out_strides); /* the same of numbers */
bool shape_same(const shape_t *a, const shape_t *b);                           /* rank and ids equal */
/* The least that the sizes can be, each 0 counted as 1, needs no more bytes than MAX_TENSOR_BYTES. */
bool shape_fits(const sym_pool_t *pool, const shape_t *shape, dtype_t type);
truth_t shape_equal(sym_pool_t *pool, const shape_t *a, const shape_t *b);
/* Constant sizes alone; out_sizes, which may be NULL, takes them. */
bool shape_constant(const sym_pool_t *pool, const shape_t *shape, int64_t *out_sizes);
bool type_same(const tensor_type_t *a, const tensor_type_t *b); /* ids equal: dtype, sizes, offset, and strides */
/* ... and strides where a size is not 1: the same elements of a memory, in the same order. */
bool type_same_elements(const tensor_type_t *a, const tensor_type_t *b);
bool type_is_dense(sym_pool_t *pool, const tensor_type_t *type); /* row-major strides, ignoring dimensions of size 1 */
/* The bytes of a strided tensor (element_sets.c), whose last one can be addressed. */
typedef struct element_set {
    uint64_t start;
    uint32_t rank;
    const int64_t *sizes, *strides; /* in elements; no stride is negative */
    size_t item;                    /* bytes of an element */
} element_set_t;
/* False only if no element of the one has a byte of the other's. */
bool elements_meet(const element_set_t *a, const element_set_t *b);
/* The same of two tensors in one storage; what is not constant may meet anything. */
bool types_meet(const sym_pool_t *pool, const tensor_type_t *a, const tensor_type_t *b);
void shape_print(const sym_pool_t *pool, const shape_t *shape, text_t *out);     /* "[1,s11,32]" */
void type_print(const sym_pool_t *pool, const tensor_type_t *type, text_t *out); /* "f32[3,2]{1,3}+1" */
MUST_CHECK insitu_status shape_parse(sym_pool_t *pool, const char **cursor, shape_t *out, insitu_diag *diag);
MUST_CHECK insitu_status type_parse(sym_pool_t *pool, const char **cursor, tensor_type_t *out, insitu_diag *diag);
/* NumPy broadcasting of two shapes. Errors: SHAPE (both named). A dimension whose equality is unknown is an error
 * unless one side is 1. */
MUST_CHECK insitu_status shape_broadcast(sym_pool_t *pool, const shape_t *a, const shape_t *b, shape_t *out,
                                         insitu_diag *diag);

/* ---- layers (layers.def, attrs.def, ops.def) ---- */
typedef enum layer_kind {
#define LAYER(id, ...) LAYER_##id,
#include "core/layers.def"
#undef LAYER
    LAYER_KIND_COUNT
} layer_kind_t;
enum layer_traits {
    TRAIT_ELEMENTWISE = 1 << 0, /* result i depends on operands' element i alone; operands have the result's sizes */
    TRAIT_VIEW = 1 << 1,        /* the result may be a view of operand 0's memory */
    TRAIT_UPDATE = 1 << 2,      /* operand 0 with some elements replaced; its memory may become the result's */
    TRAIT_SOURCE = 1 << 3,      /* no operands; depends on attributes alone */
    TRAIT_INDEXED = 1 << 4,     /* has integer index operands that must lie in an extent (layer_index_operands) */
    TRAIT_ASSEMBLE = 1 << 5,    /* the result is made of whole operands, each of which may be produced in its part */
    TRAIT_PRODUCT = 1 << 6,     /* may be run by oneDNN */
    TRAIT_HOST = 1 << 7,        /* reads a tensor's value into a symbol */
    TRAIT_PART = 1 << 8,        /* an update whose source is stored into a view of the result, and nothing else */
    TRAIT_REPLACE = 1 << 9,     /* one operand, in whose very place a result of its dtype and layout may be made */
    TRAIT_MOVE = 1 << 10,       /* elements are moved and not looked at, so that any dtype will do */
    TRAIT_CARRY = 1 << 11,      /* no view, and the first result's elements are the first operand's, or all operands' */
    TRAIT_SUBSET = 1 << 12,     /* a view of some of the elements */
    TRAIT_REPEAT = 1 << 13,     /* a view that shows elements several times */
    TRAIT_REGIONS = 1 << 14     /* runs networks of its own: the plan has no such step, but theirs */
};
typedef enum op_kind {
#define OP(id, name, group) OP_##id,
#include "core/ops.def"
#undef OP
    OP_COUNT
} op_kind_t;
typedef enum op_group { OPS_UNARY, OPS_BINARY, OPS_COMPARE, OPS_REDUCE, OPS_SCAN, OPS_UPDATE, OPS_MODE } op_group_t;
const char *op_name(op_kind_t op);
op_group_t op_group_of(op_kind_t op);
bool op_parse(const char *name, op_group_t group, op_kind_t *out);

typedef enum attr_kind {
    ATTR_KIND_NONE, /* absent (only where the table marks the attribute optional) */
    ATTR_KIND_SYM,  /* an integer, float or bool expression; constants included */
    ATTR_KIND_SYMS, /* list of them */
    ATTR_KIND_DTYPE,
    ATTR_KIND_OP
} attr_kind_t;
typedef struct attr {
    attr_kind_t kind;
    union {
        sym_t value;
        struct {
            const sym_t *items;
            uint32_t count;
        } list;
        dtype_t dtype;
        op_kind_t op;
    };
} attr_t;
typedef enum attr_id { /* one id a name; a layer kind's attributes are its row of attrs.def */
#define ATTR_NAME(id, name, kind) ATTR_##id,
#include "core/attrs.def"
#undef ATTR_NAME
                       ATTR_ID_COUNT
} attr_id_t;
typedef struct attr_row {
    attr_id_t id;
    bool optional;
} attr_row_t;
typedef struct layer_info {
    const char *name;
    uint32_t min_operands, max_operands; /* max NONE: any number */
    uint32_t results;                    /* NONE: as many as its regions give */
    uint32_t traits;
    const attr_row_t *attrs; /* attr_count rows, sorted by attribute name */
    uint32_t attr_count;
    uint32_t op_groups;      /* bits 1 << op_group */
    uint32_t first_position; /* operand; 0: no operand holds positions */
    bool has_reader;
    layer_kind_t reader; /* has_reader: reads what this update replaces */
    uint32_t counted;    /* operand that has as many elements as an update writes */
} layer_info_t;
/* Widths of arrays on the stack, counted from the tables: members are one byte longer than what they count. */
union widest_results { /* of layers without regions */
#define LAYER(id, name, min_operands, max_operands, results, ...) char id[1 + ((results) == NONE ? 0 : (results))];
#include "core/layers.def"
#undef LAYER
};
enum attr_is_list {
#define ATTR_NAME(id, name, kind) ATTR_IS_LIST_##id = (kind) == ATTR_KIND_SYMS,
#include "core/attrs.def"
#undef ATTR_NAME
};
union widest_attrs {
#define ATTR(id) +1
#define OPTIONAL(id) +1
#define ATTRS(layer, rows) char layer[1 rows];
#include "core/attrs.def"
#undef ATTRS
#undef OPTIONAL
#undef ATTR
};
union most_lists {
#define ATTR(id) +ATTR_IS_LIST_##id
#define OPTIONAL(id) +ATTR_IS_LIST_##id
#define ATTRS(layer, rows) char layer[1 rows];
#include "core/attrs.def"
#undef ATTRS
#undef OPTIONAL
#undef ATTR
};
enum {                                                     /* of any layer */
       MAX_OWN_RESULTS = sizeof(union widest_results) - 1, /* of one without regions */
       MAX_LAYER_ATTRS = sizeof(union widest_attrs) - 1,
       MAX_LAYER_LISTS = sizeof(union most_lists) - 1 /* attributes that are lists */
};
const layer_info_t *layer_info_of(layer_kind_t kind);
static inline bool kind_has(layer_kind_t kind, uint32_t traits) { return (layer_info_of(kind)->traits & traits) != 0; }
bool layer_parse_kind(const char *name, layer_kind_t *out);
const char *attr_name(attr_id_t id);
attr_kind_t attr_kind_of(attr_id_t id);
uint32_t layer_attr_index(layer_kind_t kind,
                          attr_id_t id); /* position in the layer's attrs array, NONE if it has none */
/* Operators that the attribute "op" of a layer kind may hold. */
bool layer_takes_op(layer_kind_t kind, op_kind_t op);
bool layer_parse_op(layer_kind_t kind, const char *name, op_kind_t *out);
/* Operands of an INDEXED layer that hold indices: for each, its operand number and the dimension of operand 0 that it
 * indexes, and whether negative indices wrap. Returns the count (<= MAX_RANK). */
typedef struct index_operand {
    uint32_t operand, dim;
    bool wrap;
} index_operand_t;
uint32_t layer_index_operands(const sym_pool_t *pool, layer_kind_t kind, const attr_t *attrs, uint32_t operand_count,
                              index_operand_t out[MAX_RANK]);

/* ---- what a program, a network and a plan say alike ---- */
/* Bytes that a file maps: one record may hold several tensors. */
typedef struct weight_record {
    const char *name;    /* the first tensor's name */
    const uint8_t *data; /* size bytes; NULL in a plan whose weights were not attached */
    size_t size;
    dtype_t dtype; /* how the bytes are typed in the engine file */
} weight_record_t;
typedef enum update_kind { /* of an input that the program writes */
                           UPDATE_USER,
                           UPDATE_KV_CACHE /* rows that follow one another on the sequence axis of a 4-D cache of constant sizes */
} update_kind_t;
typedef enum output_kind { OUTPUT_TENSOR, OUTPUT_NUMBER, OUTPUT_NONE } output_kind_t;
typedef struct sym_assert { /* checked as soon as its symbols are known: before anything runs, or after an item step */
    sym_t condition;
    const char *message;
    const char *source;
    bool is_bounds; /* not the program's: a write that would lose rows; its failure is BOUNDS */
} sym_assert_t;

#endif
