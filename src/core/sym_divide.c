/* Floor division and modulus of polynomials, folded as far as it is exact:
 *   (4*s0 + s1 + 5) // 4 -> s0 + (s1 + 1) // 4 + 1      (4*s0 + s1 + 5) % 4 -> (s1 + 1) % 4
 *   (s0*s1 + s1) // s1   -> s0 + 1  where s1 can't be 0  2*s0 // 4           -> s0 // 2
 * A division whose divisor may be 0 is left as it is: its evaluation then fails, as in Python. */
#include "core/core_int.h"

/* quotient * divisor == dividend, by long division from the leading term; false if there is a remainder. */
static bool divide_exactly(sym_pool_t *pool, const poly_t *dividend, const poly_t *divisor, poly_t *out) {
    poly_t left = *dividend, step = {.count = 1}, part;
    const poly_term_t lead = divisor->terms[0];
    out->count = 0;
    for (uint32_t rounds = 0; left.count != 0; rounds++) {
        poly_term_t *next = &step.terms[0];
        if (rounds == MAX_DISTRIBUTED || left.terms[0].coefficient % lead.coefficient != 0 ||
            !monomial_divide(pool, left.terms[0].monomial, lead.monomial, &next->monomial))
            return false;
        next->coefficient = left.terms[0].coefficient / lead.coefficient;
        if (!poly_add_term(out, next->monomial, next->coefficient) || !poly_multiply(pool, &step, divisor, &part))
            return false;
        for (uint32_t i = 0; i < part.count; i++)
            if (!poly_add_term(&left, part.terms[i].monomial, -part.terms[i].coefficient)) return false;
        poly_sort(pool, &left);
    }
    return true;
}

static wide_t wide_floor_mod(wide_t a, wide_t b) {
    wide_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* dividend == quotient * divisor + rest, term by term, for a divisor of one term. Of a constant by a constant the rest
 * is the floor modulus; with reduce that of every coefficient is. */
static bool divide_terms(sym_pool_t *pool, const poly_t *dividend, poly_term_t divisor, bool reduce, poly_t *quotient,
                         poly_t *rest) {
    quotient->count = rest->count = 0;
    for (uint32_t i = 0; i < dividend->count; i++) {
        poly_term_t term = dividend->terms[i];
        sym_t monomial;
        wide_t left = wide_floor_mod(term.coefficient, divisor.coefficient);
        bool whole = divisor.monomial.id == 1 && (reduce || term.monomial.id == 1);
        if (!monomial_divide(pool, term.monomial, divisor.monomial, &monomial) || (left != 0 && !whole)) {
            if (!poly_add_term(rest, term.monomial, term.coefficient)) return false;
            continue;
        }
        if (!poly_add_term(quotient, monomial, (term.coefficient - left) / divisor.coefficient) ||
            (left != 0 && !poly_add_term(rest, term.monomial, left)))
            return false;
    }
    return true;
}

static wide_t wide_gcd(wide_t a, wide_t b) {
    while (b != 0) {
        wide_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* The greatest common divisor of divisor and the coefficients, of the constant too if asked. */
static wide_t common_divisor(const poly_t *sum, wide_t divisor, bool with_constant) {
    for (uint32_t i = 0; i < sum->count; i++)
        if (with_constant || sum->terms[i].monomial.id != 1) divisor = wide_gcd(divisor, sum->terms[i].coefficient);
    return divisor;
}

static void divide_coefficients(poly_t *sum, wide_t divisor) {
    for (uint32_t i = 0; i < sum->count; i++) {
        wide_t coefficient = sum->terms[i].coefficient;
        sum->terms[i].coefficient = (coefficient - wide_floor_mod(coefficient, divisor)) / divisor;
    }
}

static void negate(poly_t *sum) {
    for (uint32_t i = 0; i < sum->count; i++) sum->terms[i].coefficient = -sum->terms[i].coefficient;
}

static sym_t intern_pair(sym_pool_t *pool, sym_op_t op, sym_t a, sym_t b) {
    sym_t result = sym_intern(pool, op, SYM_KIND_INT, (sym_t[]){a, b}, 2);
    range_t r = range_of(pool, result);
    return r.min == r.max && range_excludes_zero(range_of(pool, b)) ? sym_int(pool, r.min) : result;
}

/* (x // m + c) // k == (x + c*m) // (m*k) for positive m and k. */
static bool merge_nested(sym_pool_t *pool, const poly_t *rest, int64_t divisor, sym_t *out) {
    int64_t inner, product, shift = 0;
    if (rest->count == 0 || rest->count > 2 || rest->terms[0].coefficient != 1) return false;
    sym_t atom = rest->terms[0].monomial;
    if (!is_op(pool, atom, SYM_FLOORDIV) || !sym_constant(pool, sym_arg(pool, atom, 1), &inner) || inner <= 0 ||
        !checked_mul(inner, divisor, &product))
        return false;
    if (rest->count == 2) {
        wide_t constant = rest->terms[1].coefficient;
        if (rest->terms[1].monomial.id != 1 || constant > INT64_MAX || constant < INT64_MIN ||
            !checked_mul((int64_t)constant, inner, &shift))
            return false;
    }
    sym_t shifted = sym_add(pool, sym_arg(pool, atom, 0), sym_int(pool, shift));
    *out = fold_floordiv(pool, shifted, sym_int(pool, product));
    return true;
}

/* What division by a constant leaves: reduced by common divisors and merged with a nested division. */
static sym_t divide_rest(sym_pool_t *pool, poly_t *rest, int64_t divisor) {
    wide_t common = common_divisor(rest, divisor, false);
    sym_t result, dividend;
    if (common > 1) {
        divide_coefficients(rest, common);
        divisor = (int64_t)(divisor / common);
    }
    poly_sort(pool, rest);
    if (merge_nested(pool, rest, divisor, &result)) return result;
    if (!poly_to_sym(pool, rest, &dividend)) pool->failed = pool->too_large = true;
    if (divisor == 1) return dividend;
    if (rest->count == 0) return (sym_t){0};
    return intern_pair(pool, SYM_FLOORDIV, dividend, sym_int(pool, divisor));
}

static bool is_between_zero_and(sym_pool_t *pool, const poly_t *value, const poly_t *limit) {
    poly_t gap = *limit;
    for (uint32_t i = 0; i < value->count; i++)
        if (!poly_add_term(&gap, value->terms[i].monomial, -value->terms[i].coefficient)) return false;
    if (!poly_add_term(&gap, (sym_t){1}, -1)) return false;
    poly_sort(pool, &gap);
    return poly_is_nonnegative(pool, value) && poly_is_nonnegative(pool, &gap);
}

/* A number that int64_t does not hold, which only text can make a divisor: such divisions stay as they are. */
static bool is_wide_number(const poly_t *divisor) {
    const poly_term_t *term = &divisor->terms[0];
    return divisor->count == 1 && term->monomial.id == 1 &&
           (term->coefficient > INT64_MAX || term->coefficient < INT64_MIN);
}

sym_t fold_floordiv(sym_pool_t *pool, sym_t a, sym_t b) {
    poly_t dividend, divisor, quotient, rest;
    int64_t constant;
    sym_t whole, part;
    dividend.count = divisor.count = 0;
    if (!range_excludes_zero(range_of(pool, b)) || !poly_add_sym(pool, &dividend, a, 1) ||
        !poly_add_sym(pool, &divisor, b, 1) || is_wide_number(&divisor))
        return intern_pair(pool, SYM_FLOORDIV, a, b);
    poly_sort(pool, &dividend);
    bool is_constant = sym_constant(pool, b, &constant);
    if (is_constant && constant < 0) { /* a // -k == -a // k */
        negate(&dividend);
        negate(&divisor);
        if (!checked_sub(0, constant, &constant)) return intern_pair(pool, SYM_FLOORDIV, a, b);
    }
    if (divide_exactly(pool, &dividend, &divisor, &quotient) && poly_to_sym(pool, &quotient, &whole)) return whole;
    if (divisor.count == 1 && divide_terms(pool, &dividend, divisor.terms[0], false, &quotient, &rest) &&
        (is_constant || quotient.count != 0) && poly_to_sym(pool, &quotient, &whole)) {
        if (is_constant) return sym_add(pool, whole, divide_rest(pool, &rest, constant));
        if (poly_to_sym(pool, &rest, &part)) return sym_add(pool, whole, fold_floordiv(pool, part, b));
    }
    if (is_between_zero_and(pool, &dividend, &divisor)) return (sym_t){0};
    return intern_pair(pool, SYM_FLOORDIV, a, b);
}

sym_t fold_mod(sym_pool_t *pool, sym_t a, sym_t b) {
    poly_t dividend, divisor, quotient, rest;
    int64_t constant;
    sym_t part;
    dividend.count = divisor.count = 0;
    if (!range_excludes_zero(range_of(pool, b)) || !poly_add_sym(pool, &dividend, a, 1) ||
        !poly_add_sym(pool, &divisor, b, 1) || is_wide_number(&divisor))
        return intern_pair(pool, SYM_MOD, a, b);
    poly_sort(pool, &dividend);
    bool is_constant = sym_constant(pool, b, &constant);
    if (is_constant && constant == INT64_MIN) return intern_pair(pool, SYM_MOD, a, b);
    if (is_constant && constant < 0) /* a % -k == -(-a % k) */
        return sym_mul(pool, sym_int(pool, -1),
                       fold_mod(pool, sym_mul(pool, sym_int(pool, -1), a), sym_int(pool, -constant)));
    if (divide_exactly(pool, &dividend, &divisor, &quotient)) return (sym_t){0};
    if (divisor.count == 1 && divide_terms(pool, &dividend, divisor.terms[0], is_constant, &quotient, &rest) &&
        quotient.count != 0)
        dividend = rest;
    poly_sort(pool, &dividend);
    if (dividend.count == 0) return (sym_t){0};
    wide_t common = is_constant ? common_divisor(&dividend, constant, true) : 1;
    if (common > 1) {
        divide_coefficients(&dividend, common);
        divide_coefficients(&divisor, common);
    }
    if (!poly_to_sym(pool, &dividend, &a) || !poly_to_sym(pool, &divisor, &b)) return intern_pair(pool, SYM_MOD, a, b);
    part = is_between_zero_and(pool, &dividend, &divisor) ? a : intern_pair(pool, SYM_MOD, a, b);
    return common > 1 ? sym_mul(pool, sym_int(pool, (int64_t)common), part) : part;
}
