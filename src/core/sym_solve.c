/* Which symbol a known size gives the value of, and that value: 2*h, 4*h - 1, h*h + s0 with s0 known. A size that grows, or
 * falls, with every step of the symbol has a value at most once, which is found by halving the symbol's range. And the
 * expression that stands for a symbol put in its place. */
#include "core/core_int.h"

typedef enum trend { FALLS = -1, STAYS = 0, GROWS = 1, WAVERS = 2 } trend;

static trend trend_of(const sym_pool *pool, sym a, uint32_t symbol);

static trend trend_of_sum(const sym_pool *pool, const sym_node *node, uint32_t symbol) {
    trend all = STAYS;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        trend next = trend_of(pool, node->args[i], symbol);
        if (next == STAYS) continue;
        if (next == WAVERS || (all != STAYS && all != next)) return WAVERS;
        all = next;
    }
    return all;
}

/* One factor moves, or several that grow and are not negative; those that stay are not 0. */
static trend trend_of_product(const sym_pool *pool, const sym_node *node, uint32_t symbol) {
    trend moves = STAYS;
    bool falls = false, all_positive = true;
    uint32_t moving = 0;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        trend next = trend_of(pool, node->args[i], symbol);
        range r = range_of(pool, node->args[i]);
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
    return falls ? (trend)-moves : moves;
}

static trend trend_of(const sym_pool *pool, sym a, uint32_t symbol) {
    const sym_node *node = node_of(pool, a);
    if (node->op == SYM_SYMBOL && (uint32_t)node->i == symbol) return GROWS;
    if (!sym_uses(pool, a, symbol)) return STAYS;
    if (node->kind != SYM_KIND_INT) return WAVERS;
    if (node->op == SYM_ADD) return trend_of_sum(pool, node, symbol);
    return node->op == SYM_MUL ? trend_of_product(pool, node, symbol) : WAVERS;
}

bool sym_gives(const sym_pool *pool, sym size, uint32_t symbol) {
    trend trend = trend_of(pool, size, symbol);
    return pool->symbols[symbol].kind == SYM_KIND_INT && (trend == GROWS || trend == FALLS);
}

uint32_t sym_unknown(const sym_pool *pool, sym size, const bool *known) {
    uint32_t found = NONE;
    for (uint32_t i = 0; i < pool->symbol_count; i++) {
        if (known[i] || !sym_uses(pool, size, i)) continue;
        if (found != NONE) return NONE;
        found = i;
    }
    return found != NONE && sym_gives(pool, size, found) ? found : NONE;
}

bool sym_solve(const sym_pool *pool, sym size, uint32_t symbol, int64_t target, sym_value *values, bool *known) {
    trend trend = trend_of(pool, size, symbol);
    wide low = pool->symbols[symbol].min, high = pool->symbols[symbol].max;
    known[symbol] = true;
    while (low <= high) {
        wide middle = low + (high - low) / 2;
        sym_value value;
        uint32_t missing;
        values[symbol] = (sym_value){.kind = SYM_KIND_INT, .i = (int64_t)middle};
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

sym sym_replace(sym_pool *pool, sym a, uint32_t symbol, sym by) {
    sym *args;
    if (!sym_uses(pool, a, symbol)) return a;
    if (node_of(pool, a)->op == SYM_SYMBOL) return by;
    uint32_t count = node_of(pool, a)->arg_count;
    if (arena_array(&pool->arena, count, sizeof(sym), &args) != INSITU_OK) {
        pool->failed = true;
        return a;
    }
    for (uint32_t i = 0; i < count; i++) args[i] = sym_replace(pool, sym_arg(pool, a, i), symbol, by);
    return sym_make(pool, sym_op_of(pool, a), args, count);
}

sym sym_move(sym_pool *to, const sym_pool *from, sym a, const sym *by) {
    const sym_node *node = node_of(from, a);
    if (node->op == SYM_SYMBOL) return by[node->i];
    if (node->op == SYM_CONST) return sym_of_value(to, sym_value_of(from, a));
    sym *args;
    if (arena_array(&to->arena, node->arg_count, sizeof(sym), &args) != INSITU_OK) {
        to->failed = true;
        return a;
    }
    for (uint32_t i = 0; i < node->arg_count; i++) args[i] = sym_move(to, from, node->args[i], by);
    return sym_make(to, (sym_op)node->op, args, node->arg_count);
}
