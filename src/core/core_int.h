/* core, inside: expression nodes, interning, and integer polynomials, which keep expressions canonical. */
#ifndef CORE_INT_H
#define CORE_INT_H

#include "core/core.h"

/* Arguments are nodes of smaller id. Depth and size (nodes of the expression as a tree) are bounded, so that every
 * recursion over an expression is. */
struct sym_node {
    const sym_t *args;
    uint32_t arg_count;
    uint8_t op, kind;
    uint16_t depth;
    uint32_t size;
    uint32_t hash;
    union {
        int64_t i; /* CONST of INT or BOOL; SYMBOL: its index */
        double f;  /* CONST of FLOAT */
    };
};

static inline const sym_node_t *node_of(const sym_pool_t *pool, sym_t a) { return &pool->nodes[a.id]; }
static inline bool is_const(const sym_pool_t *pool, sym_t a) { return node_of(pool, a)->op == SYM_CONST; }
static inline bool is_op(const sym_pool_t *pool, sym_t a, sym_op_t op) { return node_of(pool, a)->op == op; }

/* Finds or adds a node as it is: no simplification. */
sym_t sym_intern(sym_pool_t *pool, sym_op_t op, sym_kind_t kind, const sym_t *args, uint32_t count);
sym_t sym_of_value(sym_pool_t *pool, sym_value_t value);
sym_value_t sym_value_of(const sym_pool_t *pool, sym_t constant);
/* A total order by structure alone: constants, symbols by name, then operators. 0 only for equal ids. */
int sym_order(const sym_pool_t *pool, sym_t a, sym_t b);
void sym_sort(const sym_pool_t *pool, sym_t *items, uint32_t count);

/* Applies an operator to numbers, with Python's meaning. False on overflow, division by zero or no result. */
bool sym_apply(sym_op_t op, sym_kind_t kind, const sym_value_t *args, uint32_t count, sym_value_t *out);
double value_as_double(sym_value_t value);
sym_kind_t sym_result_kind(const sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count);

/* ---- polynomials: sums of coefficient * monomial. A monomial is a sorted product of factors: the constant 1 (no
 * factor), one node, or a MUL node without a coefficient. ---- */
typedef __int128 wide_t;
enum { MAX_TERMS = 128, MAX_FACTORS = 64, MAX_DISTRIBUTED = 64 };
typedef struct poly_term {
    wide_t coefficient;
    sym_t monomial;
} poly_term_t;
typedef struct poly {
    uint32_t count;
    poly_term_t terms[MAX_TERMS];
} poly_t;
/* These return false where a limit is passed or a coefficient overflows: the caller then leaves its node unfolded. */
bool poly_add_term(poly_t *sum, sym_t monomial, wide_t coefficient);
bool poly_add_sym(sym_pool_t *pool, poly_t *sum, sym_t a, wide_t scale);
bool poly_of_difference(sym_pool_t *pool, sym_t a, sym_t b, poly_t *out); /* a - b */
bool poly_to_sym(sym_pool_t *pool, poly_t *sum, sym_t *out);              /* sorts the terms */
void poly_sort(const sym_pool_t *pool, poly_t *sum);                      /* leading term first, zero terms dropped */
bool poly_multiply(sym_pool_t *pool, const poly_t *a, const poly_t *b, poly_t *out);
uint32_t monomial_factors(const sym_pool_t *pool, const sym_t *monomial, const sym_t **out_factors);
bool monomial_divide(sym_pool_t *pool, sym_t dividend, sym_t divisor, sym_t *out);
sym_t sym_sum(sym_pool_t *pool, const sym_t *args, uint32_t count);     /* integers */
sym_t sym_product(sym_pool_t *pool, const sym_t *args, uint32_t count); /* integers */
sym_t fold_floordiv(sym_pool_t *pool, sym_t a, sym_t b);                /* integers */
sym_t fold_mod(sym_pool_t *pool, sym_t a, sym_t b);                     /* integers */

/* ---- ranges ---- */
typedef struct range {
    int64_t min, max; /* INT64_MIN, INT64_MAX: unbounded */
} range_t;
range_t range_of(const sym_pool_t *pool, sym_t a);
static inline bool range_excludes_zero(range_t r) { return r.min > 0 || r.max < 0; }
bool poly_is_nonnegative(sym_pool_t *pool, const poly_t *sum); /* true: proved for all values in the symbols' ranges */

#endif
