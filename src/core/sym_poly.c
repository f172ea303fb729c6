/* Integer polynomials over expression nodes. Sums and products of integers are kept as sums of products, like terms
 * collected, in an order by structure, so that equal polynomials are one node: (s0 + 1)*4 is 4*s0 + 4.
 *
 *   MUL [coefficient] factor...   coefficient first, if it is not 1; factors sorted, repeated for powers
 *   ADD term... [constant]        higher degree first, then by factors; no zero terms
 *
 * A coefficient that overflows becomes several terms (9223372036854775807 + 1), so that nothing wraps; evaluation then
 * reports it. One that would need too many of them fails the pool. */
#include "core/core_int.h"
#include <string.h>

enum { MAX_CHUNKS = 4 }; /* terms that one coefficient wider than int64_t may become */

uint32_t monomial_factors(const sym_pool_t *pool, const sym_t *monomial, const sym_t **out_factors) {
    const sym_node_t *node = node_of(pool, *monomial);
    *out_factors = node->op == SYM_MUL ? node->args : monomial;
    return monomial->id == 1 ? 0 : node->op == SYM_MUL ? node->arg_count : 1;
}

static sym_t make_monomial(sym_pool_t *pool, const sym_t *factors, uint32_t count) {
    if (count == 0) return (sym_t){1};
    return count == 1 ? factors[0] : sym_intern(pool, SYM_MUL, SYM_KIND_INT, factors, count);
}

/* Merges two sorted lists of factors. */
static bool monomial_multiply(sym_pool_t *pool, sym_t a, sym_t b, sym_t *out) {
    const sym_t *left, *right;
    uint32_t left_count = monomial_factors(pool, &a, &left), right_count = monomial_factors(pool, &b, &right);
    sym_t merged[MAX_FACTORS];
    uint32_t count = left_count + right_count;
    if (count > MAX_FACTORS) return false;
    for (uint32_t i = 0, j = 0; i + j < count;) {
        bool take_left = j == right_count || (i < left_count && sym_order(pool, left[i], right[j]) <= 0);
        merged[i + j] = take_left ? left[i] : right[j];
        *(take_left ? &i : &j) += 1;
    }
    *out = make_monomial(pool, merged, count);
    return true;
}

bool monomial_divide(sym_pool_t *pool, sym_t dividend, sym_t divisor, sym_t *out) {
    const sym_t *over, *under;
    uint32_t over_count = monomial_factors(pool, &dividend, &over);
    uint32_t under_count = monomial_factors(pool, &divisor, &under);
    sym_t left[MAX_FACTORS];
    uint32_t count = 0, used = 0;
    if (over_count > MAX_FACTORS) return false;
    for (uint32_t i = 0; i < over_count; i++) {
        if (used < under_count && sym_same(over[i], under[used]))
            used++;
        else
            left[count++] = over[i];
    }
    if (used < under_count) return false;
    *out = make_monomial(pool, left, count);
    return true;
}

/* ---- terms ---- */

bool poly_add_term(poly_t *sum, sym_t monomial, wide_t coefficient) {
    for (uint32_t i = 0; i < sum->count; i++) {
        if (!sym_same(sum->terms[i].monomial, monomial)) continue;
        return !__builtin_add_overflow(sum->terms[i].coefficient, coefficient, &sum->terms[i].coefficient);
    }
    if (sum->count == MAX_TERMS) return false;
    sum->terms[sum->count++] = (poly_term_t){coefficient, monomial};
    return true;
}

/* Splits a node that is no ADD into coefficient and monomial. */
static poly_term_t term_of(sym_pool_t *pool, sym_t a) {
    int64_t constant;
    const sym_node_t *node = node_of(pool, a);
    if (sym_constant(pool, a, &constant)) return (poly_term_t){constant, {1}};
    if (node->op != SYM_MUL || node->kind == SYM_KIND_FLOAT) return (poly_term_t){1, a};
    wide_t coefficient = 1;
    uint32_t constants = 0;
    for (; constants < node->arg_count && sym_constant(pool, node->args[constants], &constant); constants++)
        if (__builtin_mul_overflow(coefficient, (wide_t)constant, &coefficient)) return (poly_term_t){1, a};
    if (constants == 0) return (poly_term_t){1, a};
    return (poly_term_t){coefficient, make_monomial(pool, node->args + constants, node->arg_count - constants)};
}

bool poly_add_sym(sym_pool_t *pool, poly_t *sum, sym_t a, wide_t scale) {
    bool is_sum = is_op(pool, a, SYM_ADD) && sym_kind_of(pool, a) != SYM_KIND_FLOAT;
    const sym_t *args = is_sum ? node_of(pool, a)->args : &a;
    uint32_t count = is_sum ? node_of(pool, a)->arg_count : 1;
    for (uint32_t i = 0; i < count; i++) {
        poly_term_t term = term_of(pool, args[i]);
        if (__builtin_mul_overflow(term.coefficient, scale, &term.coefficient) ||
            !poly_add_term(sum, term.monomial, term.coefficient))
            return false;
    }
    return true;
}

bool poly_of_difference(sym_pool_t *pool, sym_t a, sym_t b, poly_t *out) {
    out->count = 0;
    if (!poly_add_sym(pool, out, a, 1) || !poly_add_sym(pool, out, b, -1)) return false;
    poly_sort(pool, out);
    return true;
}

static int order_monomials(const sym_pool_t *pool, sym_t a, sym_t b) {
    const sym_t *left, *right;
    uint32_t left_count = monomial_factors(pool, &a, &left), right_count = monomial_factors(pool, &b, &right);
    if (left_count != right_count) return left_count > right_count ? -1 : 1;
    for (uint32_t i = 0; i < left_count; i++) {
        int order = sym_order(pool, left[i], right[i]);
        if (order != 0) return order;
    }
    return 0;
}

void poly_sort(const sym_pool_t *pool, poly_t *sum) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < sum->count; i++) {
        poly_term_t term = sum->terms[i];
        if (term.coefficient == 0) continue;
        uint32_t at = count++;
        for (; at > 0 && order_monomials(pool, sum->terms[at - 1].monomial, term.monomial) > 0; at--)
            sum->terms[at] = sum->terms[at - 1];
        sum->terms[at] = term;
    }
    sum->count = count;
}

static sym_t make_term(sym_pool_t *pool, sym_t monomial, int64_t coefficient) {
    sym_t args[MAX_FACTORS + 1] = {sym_int(pool, coefficient)};
    if (monomial.id == 1) return args[0];
    if (coefficient == 1) return monomial;
    const sym_t *factors;
    uint32_t count = monomial_factors(pool, &monomial, &factors);
    bool fits = count <= MAX_FACTORS && !is_const(pool, factors[0]);
    if (!fits) return sym_product(pool, (sym_t[]){args[0], monomial}, 2);
    memcpy(args + 1, factors, sizeof(sym_t) * count);
    return sym_intern(pool, SYM_MUL, SYM_KIND_INT, args, count + 1);
}

bool poly_to_sym(sym_pool_t *pool, poly_t *sum, sym_t *out) {
    sym_t args[MAX_TERMS + MAX_CHUNKS];
    uint32_t count = 0;
    poly_sort(pool, sum);
    for (uint32_t i = 0; i < sum->count; i++) {
        wide_t left = sum->terms[i].coefficient;
        for (uint32_t chunk = 0; left != 0; chunk++) {
            int64_t part = left > INT64_MAX ? INT64_MAX : left < INT64_MIN ? INT64_MIN : (int64_t)left;
            if (chunk == MAX_CHUNKS) {
                pool->failed = pool->too_large = true; /* what else it might become depends on how it came about */
                return false;
            }
            if (count == MAX_TERMS + MAX_CHUNKS) return false;
            args[count++] = make_term(pool, sum->terms[i].monomial, part);
            left -= part;
        }
    }
    if (count == 0)
        *out = sym_int(pool, 0);
    else
        *out = count == 1 ? args[0] : sym_intern(pool, SYM_ADD, SYM_KIND_INT, args, count);
    return true;
}

bool poly_multiply(sym_pool_t *pool, const poly_t *a, const poly_t *b, poly_t *out) {
    out->count = 0;
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++) {
            wide_t coefficient;
            sym_t monomial;
            if (__builtin_mul_overflow(a->terms[i].coefficient, b->terms[j].coefficient, &coefficient) ||
                !monomial_multiply(pool, a->terms[i].monomial, b->terms[j].monomial, &monomial) ||
                !poly_add_term(out, monomial, coefficient))
                return false;
        }
    poly_sort(pool, out);
    return true;
}

/* ---- sums and products ---- */

/* A copy that the node's arguments are sorted in, where limits forbid more. */
static sym_t intern_sorted(sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    sym_t *sorted = NULL;
    if (arena_copy(&pool->arena, args, sizeof(sym_t) * count, &sorted) != INSITU_OK) {
        pool->failed = true;
        return (sym_t){0};
    }
    sym_sort(pool, sorted, count);
    return sym_intern(pool, op, SYM_KIND_INT, sorted, count);
}

sym_t sym_sum(sym_pool_t *pool, const sym_t *args, uint32_t count) {
    poly_t sum = {.count = 0};
    sym_t result;
    for (uint32_t i = 0; i < count; i++)
        if (!poly_add_sym(pool, &sum, args[i], 1)) return intern_sorted(pool, SYM_ADD, args, count);
    return poly_to_sym(pool, &sum, &result) ? result : intern_sorted(pool, SYM_ADD, args, count);
}

typedef struct product {
    sym_t factors[MAX_FACTORS];
    uint32_t count;
    int64_t constants[MAX_CHUNKS]; /* no two of which can be multiplied without overflow */
    uint32_t constant_count;
} product_t;

static bool product_add_constant(product_t *p, int64_t constant) {
    if (constant == 1) return true;
    for (uint32_t i = 0; i < p->constant_count; i++) {
        int64_t folded;
        if (!checked_mul(p->constants[i], constant, &folded)) continue;
        p->constants[i] = folded;
        return true;
    }
    if (p->constant_count == MAX_CHUNKS) return false;
    p->constants[p->constant_count++] = constant;
    return true;
}

static bool product_add(sym_pool_t *pool, product_t *p, sym_t a) {
    int64_t constant;
    if (sym_constant(pool, a, &constant)) return product_add_constant(p, constant);
    if (p->count == MAX_FACTORS) return false;
    p->factors[p->count++] = a;
    return true;
}

static bool product_flatten(sym_pool_t *pool, product_t *p, const sym_t *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const sym_node_t *node = node_of(pool, args[i]);
        bool nested = node->op == SYM_MUL && node->kind != SYM_KIND_FLOAT;
        uint32_t part_count = nested ? node->arg_count : 1;
        const sym_t *parts = nested ? node->args : &args[i];
        for (uint32_t j = 0; j < part_count; j++)
            if (!product_add(pool, p, parts[j])) return false;
    }
    return true;
}

/* Multiplies the sums among the factors out; false if the result would be large. */
static bool product_distribute(sym_pool_t *pool, const product_t *p, sym_t *out) {
    poly_t total = {.count = 1, .terms = {{1, {1}}}};
    for (uint32_t i = 0; i < p->constant_count; i++)
        if (__builtin_mul_overflow(total.terms[0].coefficient, (wide_t)p->constants[i], &total.terms[0].coefficient))
            return false;
    for (uint32_t i = 0; i < p->count; i++) {
        poly_t factor = {.count = 0}, next;
        if (!poly_add_sym(pool, &factor, p->factors[i], 1) || factor.count * total.count > MAX_DISTRIBUTED ||
            !poly_multiply(pool, &total, &factor, &next))
            return false;
        total = next;
    }
    return poly_to_sym(pool, &total, out);
}

sym_t sym_product(sym_pool_t *pool, const sym_t *args, uint32_t count) {
    product_t p = {.count = 0, .constant_count = 0};
    sym_t result, parts[MAX_CHUNKS + MAX_FACTORS];
    if (!product_flatten(pool, &p, args, count)) {
        pool->failed = pool->too_large = true;
        return (sym_t){0};
    }
    for (uint32_t i = 0; i < p.constant_count; i++)
        if (p.constants[i] == 0) return sym_int(pool, 0);
    sym_sort(pool, p.factors, p.count); /* whether the sums are multiplied out must not depend on the order given */
    if (product_distribute(pool, &p, &result)) return result;
    uint32_t part_count = 0;
    for (uint32_t i = 0; i < p.constant_count; i++)
        if (p.constants[i] != 1) parts[part_count++] = sym_int(pool, p.constants[i]);
    memcpy(parts + part_count, p.factors, sizeof(sym_t) * p.count);
    part_count += p.count;
    return part_count == 1 ? parts[0] : sym_intern(pool, SYM_MUL, SYM_KIND_INT, parts, part_count);
}
