/* Values of expressions, with Python's meaning, in 64-bit integers and doubles. Allocates nothing; recursion is bounded
 * by the depth of nodes. */
#include "core/core_int.h"
#include <math.h>

double value_as_double(sym_value_t value) { return value.kind == SYM_KIND_FLOAT ? value.f : (double)value.i; }

static bool is_true(sym_value_t value) { return value.kind == SYM_KIND_FLOAT ? value.f != 0 : value.i != 0; }

static bool integer_power(int64_t base, int64_t exponent, int64_t *out) {
    int64_t result = 1;
    if (exponent < 0) return false;
    while (exponent > 0) {
        if ((exponent & 1) && !checked_mul(result, base, &result)) return false;
        exponent >>= 1;
        if (exponent > 0 && !checked_mul(base, base, &base)) return false;
    }
    *out = result;
    return true;
}

static bool shift_left(int64_t a, int64_t by, int64_t *out) {
    if (by < 0) return false;
    *out = 0;
    if (a == 0) return true;
    return by <= 62 && checked_mul(a, INT64_C(1) << by, out);
}

static bool integer_pair(sym_op_t op, int64_t a, int64_t b, int64_t *out) {
    bool divides = b != 0 && !(a == INT64_MIN && b == -1);
    switch ((int)op) {
    case SYM_ADD: return checked_add(a, b, out);
    case SYM_MUL: return checked_mul(a, b, out);
    case SYM_FLOORDIV: return divides && (*out = floor_div(a, b), true);
    case SYM_MOD: return b != 0 && (*out = b == -1 ? 0 : floor_mod(a, b), true);
    case SYM_POW: return integer_power(a, b, out);
    case SYM_MAX: *out = a > b ? a : b; return true;
    case SYM_MIN: *out = a < b ? a : b; return true;
    case SYM_LSHIFT: return shift_left(a, b, out);
    case SYM_RSHIFT: return b >= 0 && (*out = a >> (b > 63 ? 63 : b), true);
    case SYM_BITAND: *out = a & b; return true;
    case SYM_BITOR: *out = a | b; return true;
    default: return false;
    }
}

static double python_mod(double a, double b) {
    double r = fmod(a, b);
    if (r != 0) return (r < 0) != (b < 0) ? r + b : r;
    return copysign(0.0, b);
}

static double python_floordiv(double a, double b) {
    double quotient = (a - python_mod(a, b)) / b;
    if (quotient == 0) return copysign(0.0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static bool float_pair(sym_op_t op, double a, double b, double *out) {
    switch ((int)op) {
    case SYM_ADD: *out = a + b; return true;
    case SYM_MUL: *out = a * b; return true;
    case SYM_TRUEDIV: *out = a / b; return b != 0;
    case SYM_FLOORDIV: return b != 0 && (*out = python_floordiv(a, b), true);
    case SYM_MOD: return b != 0 && (*out = python_mod(a, b), true);
    case SYM_POW: *out = pow(a, b); return !(a == 0 && b < 0);
    case SYM_MAX: *out = b > a ? b : a; return true;
    case SYM_MIN: *out = b < a ? b : a; return true;
    default: return false;
    }
}

/* -1, 0, 1 as a is less than, equal to or greater than b, exactly; 2 where either is NaN. */
static int order_mixed(int64_t a, double b) {
    if (b != b) return 2;
    if (b >= 0x1p63) return -1;
    if (b < -0x1p63) return 1;
    int64_t whole = (int64_t)floor(b);
    if (a != whole) return a < whole ? -1 : 1;
    return (double)whole < b ? -1 : 0;
}

static int order_values(sym_value_t a, sym_value_t b) {
    if (a.kind != SYM_KIND_FLOAT && b.kind != SYM_KIND_FLOAT) return a.i < b.i ? -1 : a.i > b.i;
    if (a.kind != SYM_KIND_FLOAT) return order_mixed(a.i, b.f);
    if (a.f != a.f || b.f != b.f) return 2;
    if (b.kind == SYM_KIND_FLOAT) return a.f < b.f ? -1 : a.f > b.f;
    return -order_mixed(b.i, a.f);
}

static bool compare_pair(sym_op_t op, sym_value_t a, sym_value_t b) {
    int order = order_values(a, b);
    switch ((int)op) {
    case SYM_EQ: return order == 0;
    case SYM_NE: return order != 0;
    case SYM_LT: return order == -1;
    case SYM_LE: return order == -1 || order == 0;
    case SYM_GT: return order == 1;
    default: return order == 1 || order == 0;
    }
}

static uint32_t bits_of(uint64_t a) { return a ? 64 - (uint32_t)__builtin_clzll(a) : 0; }

/* The double nearest to a / b, as Python divides integers: doubles of a and b would be rounded first. */
static double divide_integers(int64_t a, int64_t b) {
    uint64_t over = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, under = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    uint32_t wanted = 56 + bits_of(under), has = bits_of(over), shift = wanted > has ? wanted - has : 0;
    unsigned __int128 scaled = (unsigned __int128)over << shift;
    uint64_t quotient =
        (uint64_t)(scaled / under) | (scaled % under != 0); /* 56 bits or more, what is lost as the last */
    double result = ldexp((double)quotient, -(int)shift);
    return (a < 0) != (b < 0) ? -result : result;
}

static double unary_float(sym_op_t op, double x) {
    switch ((int)op) {
    case SYM_SQRT: return sqrt(x);
    case SYM_EXP: return exp(x);
    case SYM_LOG: return log(x);
    case SYM_LOG2: return log2(x);
    case SYM_SIN: return sin(x);
    case SYM_COS: return cos(x);
    case SYM_TAN: return tan(x);
    case SYM_TANH: return tanh(x);
    case SYM_SINH: return sinh(x);
    case SYM_COSH: return cosh(x);
    case SYM_ASIN: return asin(x);
    case SYM_ACOS: return acos(x);
    case SYM_ATAN: return atan(x);
    case SYM_ASINH: return asinh(x);
    default: return x; /* TOFLOAT */
    }
}

static bool rounded(sym_op_t op, double x, int64_t *out) {
    double whole = op == SYM_TRUNC ? trunc(x) : op == SYM_CEIL ? ceil(x) : op == SYM_FLOOR ? floor(x) : nearbyint(x);
    if (!(whole >= -0x1p63 && whole < 0x1p63)) return false;
    *out = (int64_t)whole;
    return true;
}

static bool absolute(sym_value_t a, sym_value_t *out) {
    *out = a;
    if (a.kind == SYM_KIND_FLOAT)
        out->f = fabs(a.f);
    else if (a.i < 0 && !checked_sub(0, a.i, &out->i))
        return false;
    if (out->kind == SYM_KIND_BOOL) out->kind = SYM_KIND_INT;
    return true;
}

static sym_value_t to_kind(sym_value_t value, sym_kind_t kind) {
    if (kind == SYM_KIND_FLOAT) return (sym_value_t){.kind = kind, .f = value_as_double(value)};
    return (sym_value_t){.kind = kind, .i = kind == SYM_KIND_BOOL ? is_true(value) : value.i};
}

static bool apply_unary(sym_op_t op, sym_value_t a, sym_value_t *out) {
    if (op == SYM_NOT) {
        *out = (sym_value_t){.kind = SYM_KIND_BOOL, .i = !is_true(a)};
        return true;
    }
    if (op == SYM_ABS) return absolute(a, out);
    if (op >= SYM_TRUNC && op <= SYM_ROUND) {
        *out = (sym_value_t){.kind = SYM_KIND_INT, .i = a.i};
        return a.kind != SYM_KIND_FLOAT || rounded(op, a.f, &out->i);
    }
    *out = (sym_value_t){.kind = SYM_KIND_FLOAT, .f = unary_float(op, value_as_double(a))};
    return true;
}

static bool apply_pair(sym_op_t op, sym_kind_t kind, sym_value_t a, sym_value_t b, sym_value_t *out) {
    *out = (sym_value_t){.kind = kind};
    if (op == SYM_AND || op == SYM_OR) {
        out->i = op == SYM_AND ? is_true(a) && is_true(b) : is_true(a) || is_true(b);
        return true;
    }
    if (op >= SYM_EQ && op <= SYM_GE) {
        out->i = compare_pair(op, a, b);
        return true;
    }
    if (op == SYM_TRUEDIV && a.kind != SYM_KIND_FLOAT && b.kind != SYM_KIND_FLOAT && b.i != 0) {
        out->f = divide_integers(a.i, b.i);
        return true;
    }
    if (kind == SYM_KIND_FLOAT) return float_pair(op, value_as_double(a), value_as_double(b), &out->f);
    if (a.kind == SYM_KIND_FLOAT || b.kind == SYM_KIND_FLOAT) return false; /* shifts and bits of floats are none */
    return integer_pair(op, a.i, b.i, &out->i);
}

bool sym_apply(sym_op_t op, sym_kind_t kind, const sym_value_t *args, uint32_t count, sym_value_t *out) {
    if (op == SYM_WHERE) {
        *out = to_kind(is_true(args[0]) ? args[1] : args[2], kind);
        return true;
    }
    bool is_pair = op == SYM_ADD || op == SYM_MUL || op == SYM_FLOORDIV || op == SYM_MOD || op == SYM_POW ||
                   op == SYM_MAX || op == SYM_MIN || (op >= SYM_EQ && op <= SYM_OR) || op == SYM_TRUEDIV ||
                   (op >= SYM_LSHIFT && op <= SYM_BITOR);
    if (!is_pair) return apply_unary(op, args[0], out);
    *out = to_kind(args[0], op == SYM_AND || op == SYM_OR ? SYM_KIND_BOOL : args[0].kind);
    if (count == 1) *out = to_kind(args[0], kind);
    for (uint32_t i = 1; i < count; i++) {
        sym_value_t left = *out;
        if (!apply_pair(op, kind, left, args[i], out)) return false;
    }
    return true;
}

/* ---- evaluation ---- */

typedef struct evaluation {
    const sym_pool_t *pool;
    const sym_value_t *values;
    const bool *bound;
    uint32_t missing;
} evaluation_t;

static bool evaluate(evaluation_t *e, sym_t a, sym_value_t *out);

/* A sum or product of any number of integers: no overflow on the way if the whole fits. */
static bool evaluate_integers(evaluation_t *e, const sym_node_t *node, sym_value_t *out) {
    wide_t total = node->op == SYM_MUL;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        sym_value_t next;
        if (!evaluate(e, node->args[i], &next)) return false;
        if (node->op == SYM_ADD ? __builtin_add_overflow(total, (wide_t)next.i, &total)
                                : __builtin_mul_overflow(total, (wide_t)next.i, &total))
            return false;
    }
    *out = (sym_value_t){.kind = SYM_KIND_INT, .i = (int64_t)total};
    return total >= INT64_MIN && total <= INT64_MAX;
}

static bool evaluate_logical(evaluation_t *e, const sym_node_t *node, sym_value_t *out) {
    *out = (sym_value_t){.kind = SYM_KIND_BOOL, .i = node->op == SYM_AND};
    for (uint32_t i = 0; i < node->arg_count; i++) {
        sym_value_t next;
        if (!evaluate(e, node->args[i], &next)) return false;
        if (is_true(next) == (node->op == SYM_AND)) continue;
        out->i = node->op == SYM_OR;
        return true;
    }
    return true;
}

static bool evaluate_chain(evaluation_t *e, const sym_node_t *node, sym_value_t *out) {
    sym_value_t pair[3] = {0}; /* no operator of a chain reads a third; the compiler cannot know */
    if (!evaluate(e, node->args[0], &pair[0])) return false;
    if (node->arg_count == 1) return sym_apply((sym_op_t)node->op, (sym_kind_t)node->kind, pair, 1, out);
    for (uint32_t i = 1; i < node->arg_count; i++) {
        if (!evaluate(e, node->args[i], &pair[1]) ||
            !sym_apply((sym_op_t)node->op, (sym_kind_t)node->kind, pair, 2, out))
            return false;
        pair[0] = *out;
    }
    return true;
}

static bool evaluate(evaluation_t *e, sym_t a, sym_value_t *out) {
    const sym_node_t *node = node_of(e->pool, a);
    sym_value_t condition;
    if (node->op == SYM_CONST) {
        *out = sym_value_of(e->pool, a);
        return true;
    }
    if (node->op == SYM_SYMBOL) {
        if (!e->bound[node->i]) {
            e->missing = (uint32_t)node->i;
            return false;
        }
        *out = to_kind(e->values[node->i], (sym_kind_t)node->kind);
        return true;
    }
    if (node->op == SYM_WHERE) { /* only the side that is asked for: the other one may fail */
        if (!evaluate(e, node->args[0], &condition) || !evaluate(e, node->args[is_true(condition) ? 1 : 2], out))
            return false;
        *out = to_kind(*out, (sym_kind_t)node->kind);
        return true;
    }
    if (node->op == SYM_AND || node->op == SYM_OR) return evaluate_logical(e, node, out);
    bool sum_or_product = node->op == SYM_ADD || node->op == SYM_MUL;
    if (sum_or_product && node->kind == SYM_KIND_INT) return evaluate_integers(e, node, out);
    return evaluate_chain(e, node, out);
}

bool sym_evaluate(const sym_pool_t *pool, sym_t a, const sym_value_t *values, const bool *bound, sym_value_t *out,
                  uint32_t *out_missing) {
    evaluation_t e = {pool, values, bound, NONE};
    *out = (sym_value_t){.kind = sym_kind_of(pool, a)};
    bool done = evaluate(&e, a, out);
    *out_missing = e.missing;
    return done;
}
