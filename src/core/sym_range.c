/* What is known of an expression for all values in its symbols' ranges: an interval by interval arithmetic, and proofs
 * of a <= b by showing that the polynomial b - a can't be negative. INT64_MIN and INT64_MAX mean unbounded. The interval
 * of a float is that of integers around it. A value that can't be evaluated (overflow, division by zero) is not in any
 * interval. */
#include "core/core_int.h"

static const range_t UNBOUNDED = {INT64_MIN, INT64_MAX};

static bool is_infinite(int64_t a) { return a == INT64_MIN || a == INT64_MAX; }
static int64_t infinity(bool negative) { return negative ? INT64_MIN : INT64_MAX; }
static int64_t clamp(wide_t a) { return a > INT64_MAX ? INT64_MAX : a < INT64_MIN ? INT64_MIN : (int64_t)a; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static range_t join(range_t a, range_t b) { return (range_t){least(a.min, b.min), most(a.max, b.max)}; }

static range_t add_ranges(range_t a, range_t b) {
    bool no_min = a.min == INT64_MIN || b.min == INT64_MIN, no_max = a.max == INT64_MAX || b.max == INT64_MAX;
    return (range_t){no_min ? INT64_MIN : clamp((wide_t)a.min + b.min),
                     no_max ? INT64_MAX : clamp((wide_t)a.max + b.max)};
}

static int64_t multiply_bounds(int64_t a, int64_t b) {
    if (a == 0 || b == 0) return 0;
    return is_infinite(a) || is_infinite(b) ? infinity((a < 0) != (b < 0)) : clamp((wide_t)a * b);
}

static int64_t divide_bounds(int64_t a, int64_t b) {
    if (is_infinite(a)) return infinity((a < 0) != (b < 0));
    if (is_infinite(b)) return a != 0 && (a < 0) != (b < 0) ? -1 : 0;
    return floor_div(a, b);
}

/* The least and greatest of op over the corners. */
static range_t over_corners(range_t a, range_t b, int64_t (*op)(int64_t, int64_t)) {
    int64_t p = op(a.min, b.min), q = op(a.min, b.max), r = op(a.max, b.min), s = op(a.max, b.max);
    return (range_t){least(least(p, q), least(r, s)), most(most(p, q), most(r, s))};
}

/* A divisor is never 0. */
static range_t nonzero(range_t b) { return (range_t){b.min == 0 ? 1 : b.min, b.max == 0 ? -1 : b.max}; }

static range_t floordiv_ranges(range_t a, range_t b) {
    b = nonzero(b);
    if (b.min > b.max) return UNBOUNDED; /* 0 alone */
    if (range_excludes_zero(b)) return over_corners(a, b, divide_bounds);
    range_t below = over_corners(a, (range_t){b.min, -1}, divide_bounds);
    return join(below, over_corners(a, (range_t){1, b.max}, divide_bounds));
}

static range_t truediv_ranges(range_t a, range_t b) { /* a quotient lies between its floor and that plus one */
    range_t r = floordiv_ranges(a, b);
    return range_excludes_zero(b) ? add_ranges(r, (range_t){0, 1}) : UNBOUNDED;
}

static range_t mod_ranges(range_t a, range_t b) {
    if (b.min > 0 && a.min >= 0 && a.max < b.min) return a;
    range_t r = {b.min < 0 && b.min != INT64_MIN ? b.min + 1 : b.min,
                 b.max > 0 && b.max != INT64_MAX ? b.max - 1 : b.max};
    if (b.min >= 0) r.min = 0;
    if (b.max <= 0) r.max = 0;
    if (b.min >= 0 && a.min >= 0) r.max = least(r.max, a.max);
    return r;
}

static range_t abs_range(range_t a) {
    if (a.min >= 0) return a;
    int64_t low = a.min == INT64_MIN ? INT64_MAX : -a.min;
    if (a.max <= 0) return (range_t){a.max == INT64_MIN ? INT64_MAX : -a.max, low};
    return (range_t){0, most(low, a.max)};
}

static range_t constant_range(const sym_node_t *node) {
    if (node->kind != SYM_KIND_FLOAT) return (range_t){node->i, node->i};
    if (!(node->f > -0x1p53 && node->f < 0x1p53)) return UNBOUNDED;
    int64_t whole = (int64_t)node->f; /* towards zero */
    return (range_t){whole - ((double)whole > node->f), whole + ((double)whole < node->f)};
}

/* Doubles round integers beyond 2^53. */
static range_t float_range(range_t a) {
    const int64_t limit = INT64_C(1) << 53;
    return (range_t){a.min <= -limit ? INT64_MIN
                     : a.min > limit ? limit
                                     : a.min,
                     a.max >= limit   ? INT64_MAX
                     : a.max < -limit ? -limit
                                      : a.max};
}

static range_t power_range(range_t a, range_t b) {
    if (a.min < 0 || b.min < 0) return UNBOUNDED;
    return a.min >= 1 ? (range_t){1, INT64_MAX} : (range_t){0, INT64_MAX};
}

static range_t pair_range(const sym_node_t *node, range_t a, range_t b) {
    switch ((int)node->op) {
    case SYM_ADD: return add_ranges(a, b);
    case SYM_MUL: return over_corners(a, b, multiply_bounds);
    case SYM_FLOORDIV: return floordiv_ranges(a, b);
    case SYM_MOD: return mod_ranges(a, b);
    case SYM_TRUEDIV: return truediv_ranges(a, b);
    case SYM_MAX: return (range_t){most(a.min, b.min), most(a.max, b.max)};
    case SYM_MIN: return (range_t){least(a.min, b.min), least(a.max, b.max)};
    case SYM_POW: return node->kind == SYM_KIND_INT ? power_range(a, b) : UNBOUNDED;
    case SYM_BITAND: return a.min >= 0 && b.min >= 0 ? (range_t){0, least(a.max, b.max)} : UNBOUNDED;
    case SYM_BITOR: return a.min >= 0 && b.min >= 0 ? (range_t){most(a.min, b.min), INT64_MAX} : UNBOUNDED;
    case SYM_LSHIFT: return a.min >= 0 ? (range_t){a.min, INT64_MAX} : UNBOUNDED;
    case SYM_RSHIFT: return (range_t){a.min >= 0 ? 0 : a.min, a.max < 0 ? -1 : a.max};
    default: return UNBOUNDED;
    }
}

static range_t unary_range(const sym_node_t *node, range_t a) {
    switch ((int)node->op) {
    case SYM_ABS: return abs_range(a);
    case SYM_TOFLOAT:
    case SYM_TRUNC:
    case SYM_CEIL:
    case SYM_FLOOR:
    case SYM_ROUND: return a;
    case SYM_SIN:
    case SYM_COS:
    case SYM_TANH: return (range_t){-1, 1};
    case SYM_SQRT:
    case SYM_EXP: return (range_t){0, INT64_MAX};
    default: return UNBOUNDED;
    }
}

static range_t range_of_node(const sym_pool_t *pool, const sym_node_t *node) {
    bool is_float = node->kind == SYM_KIND_FLOAT;
    range_t result = UNBOUNDED;
    if (node->op == SYM_CONST) return constant_range(node);
    if (node->op == SYM_SYMBOL && node->kind == SYM_KIND_INT)
        return (range_t){pool->symbols[node->i].min, pool->symbols[node->i].max};
    if (node->kind == SYM_KIND_BOOL) return (range_t){0, 1};
    if (node->op == SYM_WHERE) return join(range_of(pool, node->args[1]), range_of(pool, node->args[2]));
    for (uint32_t i = 0; i < node->arg_count; i++) {
        range_t next = range_of(pool, node->args[i]);
        if (is_float) next = float_range(next);
        if (node->arg_count == 1)
            result = unary_range(node, next);
        else
            result = i == 0 ? next : pair_range(node, result, next);
    }
    return is_float ? float_range(result) : result;
}

/* No value is infinite: an interval that ends where it is taken for unbounded below, or begins where above, is wider. */
range_t range_of(const sym_pool_t *pool, sym_t a) {
    range_t result = range_of_node(pool, node_of(pool, a));
    if (result.max == INT64_MIN) result.max = INT64_MIN + 1;
    if (result.min == INT64_MAX) result.min = INT64_MAX - 1;
    return result;
}

void sym_range(const sym_pool_t *pool, sym_t a, int64_t *out_min, int64_t *out_max) {
    range_t r = range_of(pool, a);
    *out_min = r.min;
    *out_max = r.max;
}

/* ---- proofs ---- */

enum { MAX_PROOF_DEPTH = 4, MAX_PROOF_STEPS = 64, MAX_CASES = 4 };

typedef struct proof {
    sym_pool_t *pool;
    uint32_t steps; /* taken so far, so that a proof that branches ends soon */
} proof_t;

static bool is_nonnegative(proof_t *p, const poly_t *sum, uint32_t depth);

static range_t poly_range(const sym_pool_t *pool, const poly_t *sum) {
    range_t total = {0, 0};
    for (uint32_t i = 0; i < sum->count; i++) {
        int64_t coefficient = clamp(sum->terms[i].coefficient);
        range_t term = sum->terms[i].monomial.id == 1 ? (range_t){1, 1} : range_of(pool, sum->terms[i].monomial);
        total = add_ranges(total, over_corners((range_t){coefficient, coefficient}, term, multiply_bounds));
    }
    return total;
}

/* sum with term's monomial replaced by value, all multiplied by scale. */
static bool replace_term(sym_pool_t *pool, const poly_t *sum, uint32_t term, wide_t scale, sym_t value, wide_t factor,
                         poly_t *out) {
    out->count = 0;
    for (uint32_t i = 0; i < sum->count; i++) {
        wide_t coefficient;
        if (__builtin_mul_overflow(sum->terms[i].coefficient, i == term ? factor : scale, &coefficient)) return false;
        if (i == term ? !poly_add_sym(pool, out, value, coefficient)
                      : !poly_add_term(out, sum->terms[i].monomial, coefficient))
            return false;
    }
    poly_sort(pool, out);
    return true;
}

/* The term is a max, min or where: nonnegative if it is for every value that the term can take, or, where the term is
 * at least each argument, for any one. */
static bool nonnegative_by_cases(proof_t *p, const poly_t *sum, uint32_t term, uint32_t depth) {
    sym_pool_t *pool = p->pool;
    sym_t atom = sum->terms[term].monomial;
    sym_op_t op = sym_op_of(pool, atom);
    bool positive = sum->terms[term].coefficient > 0;
    bool one_suffices = (op == SYM_MAX && positive) || (op == SYM_MIN && !positive);
    uint32_t first = op == SYM_WHERE ? 1 : 0, count = sym_arg_count(pool, atom);
    if (count > MAX_CASES) return false;
    for (uint32_t i = first; i < count; i++) {
        poly_t replaced;
        bool holds = replace_term(pool, sum, term, 1, sym_arg(pool, atom, i), 1, &replaced) &&
                     is_nonnegative(p, &replaced, depth + 1);
        if (holds == one_suffices) return one_suffices;
    }
    return !one_suffices;
}

/* The term is c*(x // k), k a positive constant: x - k + 1 <= k*(x // k) <= x, with the sum multiplied by k. */
static bool nonnegative_by_division(proof_t *p, const poly_t *sum, uint32_t term, uint32_t depth) {
    sym_pool_t *pool = p->pool;
    sym_t atom = sum->terms[term].monomial;
    int64_t divisor;
    poly_t replaced;
    if (!sym_constant(pool, sym_arg(pool, atom, 1), &divisor) || divisor <= 0) return false;
    if (!replace_term(pool, sum, term, divisor, sym_arg(pool, atom, 0), 1, &replaced)) return false;
    wide_t coefficient = sum->terms[term].coefficient, lost;
    if (coefficient > 0 && (__builtin_mul_overflow(coefficient, (wide_t)1 - divisor, &lost) ||
                            !poly_add_term(&replaced, (sym_t){1}, lost)))
        return false;
    poly_sort(pool, &replaced);
    return is_nonnegative(p, &replaced, depth + 1);
}

/* The term is -c*(x % b), b positive: it is at least -c*(b - 1). */
static bool nonnegative_by_modulus(proof_t *p, const poly_t *sum, uint32_t term, uint32_t depth) {
    sym_pool_t *pool = p->pool;
    sym_t divisor = sym_arg(pool, sum->terms[term].monomial, 1);
    poly_t replaced;
    if (sum->terms[term].coefficient > 0 || range_of(pool, divisor).min <= 0 ||
        !replace_term(pool, sum, term, 1, divisor, 1, &replaced) ||
        !poly_add_term(&replaced, (sym_t){1}, -sum->terms[term].coefficient))
        return false;
    poly_sort(pool, &replaced);
    return is_nonnegative(p, &replaced, depth + 1);
}

/* A factor of every term that is not negative can be divided out: s0*s1 - s0 is s0*(s1 - 1). */
static bool nonnegative_by_factor(proof_t *p, const poly_t *sum, uint32_t depth) {
    sym_pool_t *pool = p->pool;
    const sym_t *factors;
    uint32_t count = monomial_factors(pool, &sum->terms[0].monomial, &factors);
    for (uint32_t f = 0; f < count; f++) {
        poly_t divided = *sum;
        bool divides = range_of(pool, factors[f]).min >= 0;
        for (uint32_t i = 0; i < sum->count && divides; i++)
            divides = monomial_divide(pool, sum->terms[i].monomial, factors[f], &divided.terms[i].monomial);
        if (!divides) continue;
        poly_sort(pool, &divided);
        return is_nonnegative(p, &divided, depth + 1);
    }
    return false;
}

static bool is_nonnegative(proof_t *p, const poly_t *sum, uint32_t depth) {
    sym_pool_t *pool = p->pool;
    if (p->steps++ >= MAX_PROOF_STEPS) return false;
    if (poly_range(pool, sum).min >= 0) return true;
    if (depth == MAX_PROOF_DEPTH || sum->count < 2) return false;
    if (nonnegative_by_factor(p, sum, depth)) return true;
    for (uint32_t i = 0; i < sum->count; i++) {
        sym_op_t op = sym_op_of(pool, sum->terms[i].monomial);
        bool cases = op == SYM_MAX || op == SYM_MIN || op == SYM_WHERE;
        if (sym_kind_of(pool, sum->terms[i].monomial) != SYM_KIND_INT) continue;
        if (cases) return nonnegative_by_cases(p, sum, i, depth);
        if (op == SYM_MOD && nonnegative_by_modulus(p, sum, i, depth)) return true;
        if (op == SYM_FLOORDIV && nonnegative_by_division(p, sum, i, depth)) return true;
    }
    return false;
}

bool poly_is_nonnegative(sym_pool_t *pool, const poly_t *sum) { return is_nonnegative(&(proof_t){pool, 0}, sum, 0); }

static bool is_proved_le(sym_pool_t *pool, sym_t a, sym_t b, int64_t gap) { /* a + gap <= b */
    poly_t difference;
    if (!poly_of_difference(pool, b, a, &difference) || !poly_add_term(&difference, (sym_t){1}, -(wide_t)gap))
        return false;
    poly_sort(pool, &difference);
    return poly_is_nonnegative(pool, &difference);
}

static bool are_integers(const sym_pool_t *pool, sym_t a, sym_t b) {
    return sym_kind_of(pool, a) != SYM_KIND_FLOAT && sym_kind_of(pool, b) != SYM_KIND_FLOAT;
}

truth_t sym_is_le(sym_pool_t *pool, sym_t a, sym_t b) {
    if (pool->failed || !are_integers(pool, a, b)) return TRUTH_UNKNOWN;
    if (sym_same(a, b) || is_proved_le(pool, a, b, 0)) return TRUTH_TRUE;
    return is_proved_le(pool, b, a, 1) ? TRUTH_FALSE : TRUTH_UNKNOWN;
}

truth_t sym_is_eq(sym_pool_t *pool, sym_t a, sym_t b) {
    if (pool->failed || !are_integers(pool, a, b)) return TRUTH_UNKNOWN;
    if (sym_same(a, b)) return TRUTH_TRUE;
    if (is_proved_le(pool, a, b, 1) || is_proved_le(pool, b, a, 1)) return TRUTH_FALSE;
    return is_proved_le(pool, a, b, 0) && is_proved_le(pool, b, a, 0) ? TRUTH_TRUE : TRUTH_UNKNOWN;
}

static truth_t negation(truth_t a) { return a == TRUTH_UNKNOWN ? a : a == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_TRUE; }

truth_t sym_truth(sym_pool_t *pool, sym_t condition) {
    if (pool->failed) return TRUTH_UNKNOWN;
    const sym_node_t *node = node_of(pool, condition);
    const sym_t *args = node->args;
    sym_op_t op = (sym_op_t)node->op;
    uint32_t count = node->arg_count;
    double value;
    if (sym_constant_float(pool, condition, &value)) return value != 0 ? TRUTH_TRUE : TRUTH_FALSE;
    if (op == SYM_LE) return sym_is_le(pool, args[0], args[1]);
    if (op == SYM_LT && are_integers(pool, args[0], args[1])) return negation(sym_is_le(pool, args[1], args[0]));
    if (op == SYM_EQ) return sym_is_eq(pool, args[0], args[1]);
    if (op == SYM_NE) return negation(sym_is_eq(pool, args[0], args[1]));
    if (op == SYM_NOT) return negation(sym_truth(pool, args[0]));
    if (op == SYM_AND || op == SYM_OR) {
        truth_t decides = op == SYM_AND ? TRUTH_FALSE : TRUTH_TRUE, all = negation(decides);
        for (uint32_t i = 0; i < count; i++) {
            truth_t part = sym_truth(pool, args[i]);
            if (part == decides) return part;
            if (part == TRUTH_UNKNOWN) all = part;
        }
        return all;
    }
    if (node->kind == SYM_KIND_INT) return range_excludes_zero(range_of(pool, condition)) ? TRUTH_TRUE : TRUTH_UNKNOWN;
    return TRUTH_UNKNOWN;
}
