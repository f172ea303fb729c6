/* Expressions that have no value, whatever their symbols are: 5 // 0, n % 0, 1 << -1, a sum beyond 64 bits. */
#include "core/core_int.h"

static bool is_zero(const sym_pool_t *pool, sym_t a) {
    double value;
    range_t r = range_of(pool, a);
    if (sym_constant_float(pool, a, &value)) return value == 0;
    return sym_kind_of(pool, a) == SYM_KIND_INT && r.min == 0 && r.max == 0;
}

/* The sum of the least values is too large, or that of the greatest too small. */
static bool sum_overflows(const sym_pool_t *pool, const sym_node_t *node) {
    wide_t least = 0, most = 0;
    bool has_least = true, has_most = true;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        int64_t constant;
        bool is_constant = sym_constant(pool, node->args[i], &constant);
        range_t r = range_of(pool, node->args[i]);
        if (is_constant) r = (range_t){constant, constant}; /* no bound of an interval, whichever it is */
        has_least &= r.min != INT64_MIN || is_constant;
        has_most &= r.max != INT64_MAX || is_constant;
        least += r.min;
        most += r.max;
    }
    return (has_least && least > INT64_MAX) || (has_most && most < INT64_MIN);
}

static bool product_overflows(const sym_pool_t *pool, const sym_node_t *node) {
    wide_t least = 1;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        range_t r = range_of(pool, node->args[i]);
        if (r.min < 1) return false;
        least *= r.min;
        if (least > INT64_MAX) return true;
    }
    return false;
}

/* The arguments are constants, and no value was found for them. */
static bool constants_fail(const sym_pool_t *pool, sym_t a) {
    const sym_node_t *node = node_of(pool, a);
    sym_value_t value;
    uint32_t missing;
    if (node->arg_count == 0) return false;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (!is_const(pool, node->args[i])) return false;
    return !sym_evaluate(pool, a, NULL, NULL, &value, &missing);
}

static bool has_float(const sym_pool_t *pool, const sym_node_t *node) {
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (sym_kind_of(pool, node->args[i]) == SYM_KIND_FLOAT) return true;
    return false;
}

/* The operator itself fails for all values of its arguments. */
static bool always_fails(const sym_pool_t *pool, sym_t a) {
    const sym_node_t *node = node_of(pool, a);
    if (constants_fail(pool, a)) return true;
    switch ((int)node->op) {
    case SYM_FLOORDIV:
    case SYM_MOD:
    case SYM_TRUEDIV: return is_zero(pool, node->args[1]);
    case SYM_LSHIFT:
    case SYM_RSHIFT: return has_float(pool, node) || range_of(pool, node->args[1]).max < 0;
    case SYM_BITAND:
    case SYM_BITOR: return has_float(pool, node);
    case SYM_POW: return node->kind == SYM_KIND_INT && range_of(pool, node->args[1]).max < 0;
    case SYM_ADD: return node->kind == SYM_KIND_INT && sum_overflows(pool, node);
    case SYM_MUL: return node->kind == SYM_KIND_INT && product_overflows(pool, node);
    default: return false;
    }
}

bool sym_find_fault(const sym_pool_t *pool, sym_t a, sym_t *out_part) {
    const sym_node_t *node = node_of(pool, a);
    uint32_t certain = node->arg_count; /* arguments that are evaluated whatever the others are */
    sym_t other;
    *out_part = a;
    if (node->op == SYM_WHERE || node->op == SYM_AND || node->op == SYM_OR) certain = 1;
    for (uint32_t i = 0; i < certain; i++)
        if (sym_find_fault(pool, node->args[i], out_part)) return true;
    if (node->op == SYM_WHERE && sym_find_fault(pool, node->args[1], out_part) &&
        sym_find_fault(pool, node->args[2], &other))
        return true;
    *out_part = a;
    return always_fails(pool, a);
}
