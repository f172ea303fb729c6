/* Which symbol a known size gives the value of, and that value: 2*h, 4*h - 1, h*h + s0 with s0 known. A size that grows, or
 * falls, with every step of the symbol has a value at most once, which is found by halving the symbol's range. And the
 * expression that stands for a symbol put in its place. */
#include "core/core_int.h"

typedef enum trend { FALLS = -1, STAYS = 0, GROWS = 1, WAVERS = 2 } trend_t;

static trend_t trend_of(const sym_pool_t *pool, sym_t a, uint32_t symbol);

static trend_t trend_of_sum(const sym_pool_t *pool, const sym_node_t *node, uint32_t symbol) {
    trend_t all = STAYS;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        trend_t next = trend_of(pool, node->args[i], symbol);
        if (next == STAYS) continue;
        if (next == WAVERS || (all != STAYS && all != next)) return WAVERS;
        all = next;
    }
    return all;
}

/* One factor moves, or several that grow and are not negative; those that stay are not 0. */
static trend_t trend_of_product(const sym_pool_t *pool, const sym_node_t *node, uint32_t symbol) {
    trend_t moves = STAYS;
    bool falls = false, all_positive = true;
    uint32_t moving = 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        trend_t next = trend_of(pool, node->args[i], symbol);
        range_t r = range_of(pool, node->args[i]);
        if (next == WAVERS || (next == STAYS && !range_excludes_zero(r))) return WAVERS;
        if (next == STAYS) {
            falls ^= r.max < 0;
            continue;
        }
        all_positive = all_positive && next == GROWS && r.min >= 0;
        moves = next;
        moving++;
    }
    if (moving > 1 && !all_positive) return WAVERS;
    return falls ? (trend_t)-moves : moves;
}

static trend_t trend_of(const sym_pool_t *pool, sym_t a, uint32_t symbol) {
    const sym_node_t *node = node_of(pool, a);
    if (node->op == SYM_SYMBOL && (uint32_t)node->i == symbol) return GROWS;
    if (!sym_uses(pool, a, symbol)) return STAYS;
    if (node->kind != SYM_KIND_INT) return WAVERS;
    if (node->op == SYM_ADD) return trend_of_sum(pool, node, symbol);
    return node->op == SYM_MUL ? trend_of_product(pool, node, symbol) : WAVERS;
}

bool sym_gives(const sym_pool_t *pool, sym_t size, uint32_t symbol) {
    trend_t trend = trend_of(pool, size, symbol);
    return pool->symbols[symbol].kind == SYM_KIND_INT && (trend == GROWS || trend == FALLS);
}

uint32_t sym_unknown(const sym_pool_t *pool, sym_t size, const bool *known) {
    uint32_t found = NONE;
    for (uint32_t i = 0; i < pool->symbol_count; i++) {
        if (known[i] || !sym_uses(pool, size, i)) continue;
        if (found != NONE) return NONE;
        found = i;
    }
    return found != NONE && sym_gives(pool, size, found) ? found : NONE;
}

bool sym_solve(const sym_pool_t *pool, sym_t size, uint32_t symbol, int64_t target, sym_value_t *values, bool *known) {
    trend_t trend = trend_of(pool, size, symbol);
    wide_t low = pool->symbols[symbol].min, high = pool->symbols[symbol].max;
    known[symbol] = true;
    while (low <= high) {
        wide_t middle = low + (high - low) / 2;
        sym_value_t value;
        uint32_t missing;
        values[symbol] = (sym_value_t){.kind = SYM_KIND_INT, .i = (int64_t)middle};
        bool has_value = sym_evaluate(pool, size, values, known, &value, &missing);
        if (!has_value && missing != NONE) break;
        if (has_value && value.i == target) return true;
        bool too_great = has_value ? (value.i > target) == (trend == GROWS) : middle > 0; /* an overflow: nearer to 0 */
        if (too_great)
            high = middle - 1;
        else
            low = middle + 1;
    }
    known[symbol] = false;
    return false;
}

sym_t sym_replace(sym_pool_t *pool, sym_t a, uint32_t symbol, sym_t by) {
    sym_t *args;
    if (!sym_uses(pool, a, symbol)) return a;
    if (node_of(pool, a)->op == SYM_SYMBOL) return by;
    uint32_t count = node_of(pool, a)->arg_count;
    if (arena_array(&pool->arena, count, sizeof(sym_t), &args) != INSITU_OK) {
        pool->failed = true;
        return a;
    }
    for (uint32_t i = 0; i < count; i++) args[i] = sym_replace(pool, sym_arg(pool, a, i), symbol, by);
    return sym_make(pool, sym_op_of(pool, a), args, count);
}

sym_t sym_move(sym_pool_t *to, const sym_pool_t *from, sym_t a, const sym_t *by) {
    const sym_node_t *node = node_of(from, a);
    if (node->op == SYM_SYMBOL) return by[node->i];
    if (node->op == SYM_CONST) return sym_of_value(to, sym_value_of(from, a));
    sym_t *args;
    if (arena_array(&to->arena, node->arg_count, sizeof(sym_t), &args) != INSITU_OK) {
        to->failed = true;
        return a;
    }
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = sym_move(to, from, node->args[i], by);
    return sym_make(to, (sym_op_t)node->op, args, node->arg_count);
}
