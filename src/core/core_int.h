/* core, inside: expression nodes, interning, and integer polynomials, which keep expressions canonical. */
#ifndef CORE_INT_H
#define CORE_INT_H

#include "core/core.h"

/* Arguments are nodes of smaller id. Depth and size (nodes of the expression as a tree) are bounded, so that every
 * recursion over an expression is. */
struct sym_node {
    const sym *args;
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

static inline const sym_node *node_of(const sym_pool *pool, sym a) { return &pool->nodes[a.id]; }
static inline bool is_const(const sym_pool *pool, sym a) { return node_of(pool, a)->op == SYM_CONST; }
static inline bool is_op(const sym_pool *pool, sym a, sym_op op) { return node_of(pool, a)->op == op; }

/* Finds or adds a node as it is: no simplification. */
sym sym_intern(sym_pool *pool, sym_op op, sym_kind kind, const sym *args, uint32_t count);
sym sym_of_value(sym_pool *pool, sym_value value);
sym_value sym_value_of(const sym_pool *pool, sym constant);
/* A total order by structure alone: constants, symbols by name, then operators. 0 only for equal ids. */
int sym_order(const sym_pool *pool, sym a, sym b);
void sym_sort(const sym_pool *pool, sym *items, uint32_t count);

/* Applies an operator to numbers, with Python's meaning. False on overflow, division by zero or no result. */
bool sym_apply(sym_op op, sym_kind kind, const sym_value *args, uint32_t count, sym_value *out);
double value_as_double(sym_value value);
sym_kind sym_result_kind(const sym_pool *pool, sym_op op, const sym *args, uint32_t count);

/* ---- polynomials: sums of coefficient * monomial. A monomial is a sorted product of factors: the constant 1 (no
 * factor), one node, or a MUL node without a coefficient. ---- */
typedef __int128 wide;
enum { MAX_TERMS = 128, MAX_FACTORS = 64, MAX_DISTRIBUTED = 64 };
typedef struct poly_term {
    wide coefficient;
    sym monomial;
} poly_term;
typedef struct poly {
    uint32_t count;
    poly_term terms[MAX_TERMS];
} poly;
/* These return false where a limit is passed or a coefficient overflows: the caller then leaves its node unfolded. */
bool poly_add_term(poly *sum, sym monomial, wide coefficient);
bool poly_add_sym(sym_pool *pool, poly *sum, sym a, wide scale);
bool poly_of_difference(sym_pool *pool, sym a, sym b, poly *out); /* a - b */
bool poly_to_sym(sym_pool *pool, poly *sum, sym *out);            /* sorts the terms */
void poly_sort(const sym_pool *pool, poly *sum);                  /* leading term first, zero terms dropped */
bool poly_multiply(sym_pool *pool, const poly *a, const poly *b, poly *out);
uint32_t monomial_factors(const sym_pool *pool, const sym *monomial, const sym **out_factors);
bool monomial_divide(sym_pool *pool, sym dividend, sym divisor, sym *out);
sym sym_sum(sym_pool *pool, const sym *args, uint32_t count);     /* integers */
sym sym_product(sym_pool *pool, const sym *args, uint32_t count); /* integers */
sym fold_floordiv(sym_pool *pool, sym a, sym b);                  /* integers */
sym fold_mod(sym_pool *pool, sym a, sym b);                       /* integers */

/* ---- ranges ---- */
typedef struct range {
    int64_t min, max; /* INT64_MIN, INT64_MAX: unbounded */
} range;
range range_of(const sym_pool *pool, sym a);
static inline bool range_excludes_zero(range r) { return r.min > 0 || r.max < 0; }
bool poly_is_nonnegative(sym_pool *pool, const poly *sum); /* true: proved for all values in the symbols' ranges */

#endif
