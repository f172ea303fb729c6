/* Builders of expressions: each returns the canonical node of what it is asked for. Constants are folded, integer sums
 * and products are polynomials (sym_poly.c), max and min lose the arguments that ranges decide, comparisons that ranges
 * decide become constants. Floats are never reassociated: their sums and products are chains of pairs, left to right. */
#include "core/core_int.h"
#include <assert.h>
#include <math.h>

enum { MAX_ARGS = 1024 }; /* of an operator that takes any number */

sym_kind_t sym_result_kind(const sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    bool any_float = false, all_bool = true;
    for (uint32_t i = op == SYM_WHERE ? 1 : 0; i < count; i++) {
        any_float |= sym_kind_of(pool, args[i]) == SYM_KIND_FLOAT;
        all_bool &= sym_kind_of(pool, args[i]) == SYM_KIND_BOOL;
    }
    if (op >= SYM_EQ && op <= SYM_NOT) return SYM_KIND_BOOL;
    if (op == SYM_TRUEDIV || op == SYM_TOFLOAT || op >= SYM_SQRT) return SYM_KIND_FLOAT;
    if (op >= SYM_TRUNC && op <= SYM_BITOR) return SYM_KIND_INT;
    if (op == SYM_WHERE && all_bool) return SYM_KIND_BOOL;
    return any_float ? SYM_KIND_FLOAT : SYM_KIND_INT;
}

static sym_t as_float(sym_pool_t *pool, sym_t a) {
    double value;
    if (sym_kind_of(pool, a) == SYM_KIND_FLOAT) return a;
    if (sym_constant_float(pool, a, &value)) return sym_float(pool, value);
    return sym_intern(pool, SYM_TOFLOAT, SYM_KIND_FLOAT, &a, 1);
}

static sym_t as_integer(sym_pool_t *pool, sym_t a) {
    int64_t value;
    return sym_kind_of(pool, a) == SYM_KIND_BOOL && sym_constant(pool, a, &value) ? sym_int(pool, value) : a;
}

static bool fold_constants(sym_pool_t *pool, sym_op_t op, sym_kind_t kind, const sym_t *args, uint32_t count,
                           sym_t *out) {
    sym_value_t values[3], result;
    if (count > COUNT_OF(values)) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_const(pool, args[i])) return false;
        values[i] = sym_value_of(pool, args[i]);
    }
    if (!sym_apply(op, kind, values, count, &result)) return false;
    *out = sym_of_value(pool, result);
    return true;
}

/* ---- floats ---- */

static bool is_minus_one(const sym_pool_t *pool, sym_t a) {
    double value;
    return sym_constant_float(pool, a, &value) && value == -1;
}

/* One sum, product or other pair of which at least one side is a float. */
static sym_t float_pair(sym_pool_t *pool, sym_op_t op, sym_t a, sym_t b) {
    sym_t args[2] = {is_const(pool, a) ? as_float(pool, a) : a, is_const(pool, b) ? as_float(pool, b) : b};
    sym_t result;
    double factor;
    if (fold_constants(pool, op, SYM_KIND_FLOAT, args, 2, &result)) return result;
    if (op == SYM_MUL && is_const(pool, args[1])) { /* the constant first: products commute exactly */
        sym_t constant = args[1];
        args[1] = args[0];
        args[0] = constant;
    }
    if (op == SYM_MUL && sym_constant_float(pool, args[0], &factor) && factor == 1 &&
        sym_kind_of(pool, args[1]) == SYM_KIND_FLOAT)
        return args[1];
    if (op == SYM_MUL && is_minus_one(pool, args[0]) && is_op(pool, args[1], SYM_MUL) &&
        sym_kind_of(pool, args[1]) == SYM_KIND_FLOAT && sym_constant_float(pool, sym_arg(pool, args[1], 0), &factor)) {
        if (factor == -1) return sym_arg(pool, args[1], 1);
        args[0] = sym_float(pool, -factor);
        args[1] = sym_arg(pool, args[1], 1);
    }
    return sym_intern(pool, op, SYM_KIND_FLOAT, args, 2);
}

static sym_t float_chain(sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    sym_t result = args[0];
    bool is_float = sym_kind_of(pool, result) == SYM_KIND_FLOAT;
    for (uint32_t i = 1; i < count; i++) {
        is_float |= sym_kind_of(pool, args[i]) == SYM_KIND_FLOAT;
        sym_t pair[2] = {result, args[i]};
        if (is_float)
            result = float_pair(pool, op, pair[0], pair[1]);
        else
            result = op == SYM_ADD ? sym_sum(pool, pair, 2) : sym_product(pool, pair, 2);
    }
    return result;
}

/* ---- powers, shifts ---- */

static sym_t make_power(sym_pool_t *pool, sym_kind_t kind, const sym_t *args) {
    enum { MAX_UNROLLED = 8 };
    int64_t exponent;
    sym_t factors[MAX_UNROLLED];
    bool small = sym_constant(pool, args[1], &exponent) && exponent >= 0 && exponent <= MAX_UNROLLED;
    if (kind != SYM_KIND_INT || !small) return sym_intern(pool, SYM_POW, kind, args, 2);
    if (exponent == 0) return (sym_t){1};
    for (int64_t i = 0; i < exponent; i++) factors[i] = args[0];
    return sym_product(pool, factors, (uint32_t)exponent);
}

static sym_t make_shift(sym_pool_t *pool, sym_op_t op, const sym_t *args) {
    int64_t by;
    bool is_float = sym_kind_of(pool, args[0]) == SYM_KIND_FLOAT; /* has no value, whatever it is shifted by */
    if (is_float || !sym_constant(pool, args[1], &by) || by < 0 || by > 62)
        return sym_intern(pool, op, SYM_KIND_INT, args, 2);
    sym_t factor = sym_int(pool, INT64_C(1) << by);
    return op == SYM_LSHIFT ? sym_mul(pool, args[0], factor) : sym_floordiv(pool, args[0], factor);
}

/* ---- max, min ---- */

/* Appends an argument, those of a nested max or min one by one. */
static void gather(const sym_pool_t *pool, sym_op_t op, sym_t a, sym_t *items, uint32_t *count) {
    bool nested = is_op(pool, a, op);
    uint32_t part_count = nested ? sym_arg_count(pool, a) : 1;
    for (uint32_t i = 0; i < part_count && *count < MAX_ARGS; i++) items[(*count)++] = nested ? sym_arg(pool, a, i) : a;
}

static uint32_t gathered_count(const sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) total += is_op(pool, args[i], op) ? sym_arg_count(pool, args[i]) : 1;
    return total;
}

static bool is_dominated(sym_pool_t *pool, sym_op_t op, sym_t a, sym_t by) {
    if (sym_same(a, by)) return true;
    return (op == SYM_MAX ? sym_is_le(pool, a, by) : sym_is_le(pool, by, a)) == TRUTH_TRUE;
}

static sym_t make_extremum(sym_pool_t *pool, sym_op_t op, sym_kind_t kind, const sym_t *args, uint32_t count) {
    sym_t items[MAX_ARGS], result;
    uint32_t item_count = 0, kept = 0;
    if (kind == SYM_KIND_FLOAT) {
        result = args[0];
        for (uint32_t i = 1; i < count; i++) result = float_pair(pool, op, result, args[i]);
        return result;
    }
    for (uint32_t i = 0; i < count; i++) gather(pool, op, args[i], items, &item_count);
    sym_sort(pool, items, item_count);
    for (uint32_t i = 0; i < item_count; i++) {
        bool dominated = false;
        for (uint32_t j = 0; j < kept && !dominated; j++) dominated = is_dominated(pool, op, items[i], items[j]);
        for (uint32_t j = i + 1; j < item_count && !dominated; j++)
            dominated = is_dominated(pool, op, items[i], items[j]) && !is_dominated(pool, op, items[j], items[i]);
        if (!dominated) items[kept++] = items[i];
    }
    return kept == 1 ? items[0] : sym_intern(pool, op, kind, items, kept);
}

/* ---- conditions ---- */

static sym_t make_compare(sym_pool_t *pool, sym_op_t op, sym_t a, sym_t b) {
    bool ints = sym_kind_of(pool, a) != SYM_KIND_FLOAT && sym_kind_of(pool, b) != SYM_KIND_FLOAT;
    if (op == SYM_GT || op == SYM_GE) return make_compare(pool, op == SYM_GT ? SYM_LT : SYM_LE, b, a);
    if (ints) {
        truth_t known = op == SYM_EQ || op == SYM_NE ? sym_is_eq(pool, a, b)
                        : op == SYM_LE               ? sym_is_le(pool, a, b)
                                                     : sym_is_le(pool, b, a);
        bool negated = op == SYM_NE || op == SYM_LT;
        if (known != TRUTH_UNKNOWN) return sym_bool(pool, (known == TRUTH_TRUE) != negated);
    }
    bool swap = (op == SYM_EQ || op == SYM_NE) && sym_order(pool, a, b) < 0; /* constants last: s0 == 3 */
    return sym_intern(pool, op, SYM_KIND_BOOL, swap ? (sym_t[]){b, a} : (sym_t[]){a, b}, 2);
}

static sym_t make_not(sym_pool_t *pool, sym_t a) {
    const sym_node_t *node = node_of(pool, a);
    sym_op_t op = (sym_op_t)node->op;
    const sym_t *args = node->args;
    if (op == SYM_NOT && sym_kind_of(pool, args[0]) == SYM_KIND_BOOL) return args[0];
    if (op == SYM_EQ || op == SYM_NE) return make_compare(pool, op == SYM_EQ ? SYM_NE : SYM_EQ, args[0], args[1]);
    bool ints = (op == SYM_LT || op == SYM_LE) && sym_kind_of(pool, args[0]) != SYM_KIND_FLOAT &&
                sym_kind_of(pool, args[1]) != SYM_KIND_FLOAT; /* with NaN neither of a < b and b <= a holds */
    if (ints) return make_compare(pool, op == SYM_LT ? SYM_LE : SYM_LT, args[1], args[0]);
    return sym_intern(pool, SYM_NOT, SYM_KIND_BOOL, &a, 1);
}

/* and, or: nested ones are flattened, the neutral constant is dropped, the other one decides. */
static sym_t make_logical(sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    sym_t items[MAX_ARGS];
    uint32_t item_count = 0, kept = 0;
    double constant;
    for (uint32_t i = 0; i < count; i++) gather(pool, op, args[i], items, &item_count);
    sym_sort(pool, items, item_count);
    for (uint32_t i = 0; i < item_count; i++) {
        if (sym_constant_float(pool, items[i], &constant)) {
            if ((constant != 0) != (op == SYM_AND)) return sym_bool(pool, op == SYM_OR);
        } else if (kept == 0 || !sym_same(items[kept - 1], items[i]))
            items[kept++] = items[i];
    }
    if (kept == 0) return sym_bool(pool, op == SYM_AND);
    if (kept == 1 && sym_kind_of(pool, items[0]) == SYM_KIND_BOOL) return items[0];
    return sym_intern(pool, op, SYM_KIND_BOOL, items, kept);
}

static sym_t make_where(sym_pool_t *pool, sym_kind_t kind, const sym_t *args) {
    truth_t known = sym_truth(pool, args[0]);
    sym_t yes = args[1], no = args[2];
    if (kind == SYM_KIND_FLOAT) {
        yes = as_float(pool, yes);
        no = as_float(pool, no);
    } else if (kind == SYM_KIND_INT) {
        yes = as_integer(pool, yes);
        no = as_integer(pool, no);
    }
    if (sym_same(yes, no) || known == TRUTH_TRUE) return yes;
    if (known == TRUTH_FALSE) return no;
    return sym_intern(pool, SYM_WHERE, kind, (sym_t[]){args[0], yes, no}, 3);
}

/* ---- the rest ---- */

static sym_t make_abs(sym_pool_t *pool, sym_t a, sym_kind_t kind) {
    range_t r = range_of(pool, a);
    if (kind == SYM_KIND_INT && r.min >= 0) return a;
    if (kind == SYM_KIND_INT && r.max <= 0) return sym_mul(pool, sym_int(pool, -1), a);
    return sym_intern(pool, SYM_ABS, kind, &a, 1);
}

/* A whole number that a double holds is what it was before it became one. */
static bool is_exact_integer(const sym_pool_t *pool, sym_t a) {
    range_t r = is_op(pool, a, SYM_TOFLOAT) ? range_of(pool, sym_arg(pool, a, 0)) : (range_t){INT64_MIN, INT64_MAX};
    const int64_t limit = INT64_C(1) << 53;
    return r.min >= -limit && r.max <= limit;
}

static sym_t make_plain(sym_pool_t *pool, sym_op_t op, sym_kind_t kind, const sym_t *args, uint32_t count) {
    if (op >= SYM_TRUNC && op <= SYM_ROUND && is_exact_integer(pool, args[0])) return sym_arg(pool, args[0], 0);
    if (op >= SYM_TRUNC && op <= SYM_ROUND && sym_kind_of(pool, args[0]) != SYM_KIND_FLOAT) return args[0];
    if (op == SYM_TOFLOAT) return as_float(pool, args[0]);
    return sym_intern(pool, op, kind, args, count);
}

static sym_t make_integers(sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    if (op == SYM_ADD) return sym_sum(pool, args, count);
    if (op == SYM_MUL) return sym_product(pool, args, count);
    return op == SYM_FLOORDIV ? fold_floordiv(pool, args[0], args[1]) : fold_mod(pool, args[0], args[1]);
}

static sym_t simplify(sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    sym_kind_t kind = sym_result_kind(pool, op, args, count);
    sym_t folded;
    bool any_number = op == SYM_ADD || op == SYM_MUL;
    if (!any_number && fold_constants(pool, op, kind, args, count, &folded)) return folded;
    if (op == SYM_ADD || op == SYM_MUL || op == SYM_FLOORDIV || op == SYM_MOD) {
        if (kind == SYM_KIND_INT) return make_integers(pool, op, args, count);
        return float_chain(pool, op, args, count);
    }
    if (op == SYM_MAX || op == SYM_MIN) return make_extremum(pool, op, kind, args, count);
    if (op == SYM_AND || op == SYM_OR) return make_logical(pool, op, args, count);
    if (op >= SYM_EQ && op <= SYM_GE) return make_compare(pool, op, args[0], args[1]);
    if (op == SYM_NOT) return make_not(pool, args[0]);
    if (op == SYM_WHERE) return make_where(pool, kind, args);
    if (op == SYM_POW) return make_power(pool, kind, args);
    if (op == SYM_LSHIFT || op == SYM_RSHIFT) return make_shift(pool, op, args);
    if (op == SYM_ABS) return make_abs(pool, args[0], kind);
    return make_plain(pool, op, kind, args, count);
}

sym_t sym_make(sym_pool_t *pool, sym_op_t op, const sym_t *args, uint32_t count) {
    assert(op != SYM_CONST && op != SYM_SYMBOL && count > 0);
    if (pool->failed) return (sym_t){0};
    if (gathered_count(pool, op, args, count) > MAX_ARGS) {
        pool->failed = pool->too_large = true;
        return (sym_t){0};
    }
    sym_t result = simplify(pool, op, args, count);
    return pool->failed ? (sym_t){0} : result;
}

sym_t sym_add(sym_pool_t *pool, sym_t a, sym_t b) { return sym_make(pool, SYM_ADD, (sym_t[]){a, b}, 2); }
sym_t sym_sub(sym_pool_t *pool, sym_t a, sym_t b) { return sym_add(pool, a, sym_mul(pool, sym_int(pool, -1), b)); }
sym_t sym_mul(sym_pool_t *pool, sym_t a, sym_t b) { return sym_make(pool, SYM_MUL, (sym_t[]){a, b}, 2); }
sym_t sym_floordiv(sym_pool_t *pool, sym_t a, sym_t b) { return sym_make(pool, SYM_FLOORDIV, (sym_t[]){a, b}, 2); }
sym_t sym_mod(sym_pool_t *pool, sym_t a, sym_t b) { return sym_make(pool, SYM_MOD, (sym_t[]){a, b}, 2); }
sym_t sym_min(sym_pool_t *pool, sym_t a, sym_t b) { return sym_make(pool, SYM_MIN, (sym_t[]){a, b}, 2); }
sym_t sym_max(sym_pool_t *pool, sym_t a, sym_t b) { return sym_make(pool, SYM_MAX, (sym_t[]){a, b}, 2); }
sym_t sym_compare(sym_pool_t *pool, sym_op_t op, sym_t a, sym_t b) { return sym_make(pool, op, (sym_t[]){a, b}, 2); }
