/* The pool of expressions: symbols, and nodes that are added once and found again by their contents. */
#include "core/core_int.h"
#include <string.h>

enum { FIRST_BUCKETS = 256 };

insitu_status sym_pool_init(sym_pool_t *pool) {
    memset(pool, 0, sizeof *pool);
    arena_init(&pool->arena);
    sym_t zero = sym_int(pool, 0), one = sym_int(pool, 1);
    if (pool->failed || zero.id != 0 || one.id != 1) {
        sym_pool_release(pool);
        return INSITU_NOMEM;
    }
    return INSITU_OK;
}

void sym_pool_release(sym_pool_t *pool) {
    arena_release(&pool->arena);
    memset(pool, 0, sizeof *pool);
}

static insitu_status clone_into(const sym_pool_t *source, sym_pool_t *pool) {
    pool->node_count = pool->node_capacity = source->node_count;
    pool->bucket_count = source->bucket_count;
    pool->symbol_count = pool->symbol_capacity = source->symbol_count;
    pool->failed = source->failed;
    pool->too_large = source->too_large;
    TRY(arena_copy(&pool->arena, source->nodes, sizeof(sym_node_t) * source->node_count, &pool->nodes));
    TRY(arena_copy(&pool->arena, source->buckets, sizeof(uint32_t) * source->bucket_count, &pool->buckets));
    TRY(arena_copy(&pool->arena, source->symbols, sizeof(symbol_t) * source->symbol_count, &pool->symbols));
    for (uint32_t i = 0; i < pool->node_count; i++) {
        sym_node_t *node = &pool->nodes[i];
        if (node->arg_count == 0) continue;
        TRY(arena_copy(&pool->arena, node->args, sizeof(sym_t) * node->arg_count, &node->args));
    }
    for (uint32_t i = 0; i < pool->symbol_count; i++) {
        const char *name = source->symbols[i].name;
        TRY(arena_string(&pool->arena, name, strlen(name), &pool->symbols[i].name));
    }
    return INSITU_OK;
}

insitu_status sym_pool_clone(const sym_pool_t *source, sym_pool_t *out_pool) {
    memset(out_pool, 0, sizeof *out_pool);
    arena_init(&out_pool->arena);
    insitu_status status = clone_into(source, out_pool);
    if (status != INSITU_OK) sym_pool_release(out_pool);
    return status;
}

void sym_pool_view(const sym_pool_t *source, sym_pool_t *out_view) {
    *out_view = *source;
    out_view->borrowed = true;
    arena_init(&out_view->arena);
}

/* Before the first addition to a view: tables of its own. Nodes' arguments and names stay shared. */
static bool own_tables(sym_pool_t *pool) {
    if (!pool->borrowed) return true;
    sym_node_t *nodes;
    uint32_t *buckets;
    symbol_t *symbols;
    if (arena_copy(&pool->arena, pool->nodes, sizeof(sym_node_t) * pool->node_count, &nodes) != INSITU_OK ||
        arena_copy(&pool->arena, pool->buckets, sizeof(uint32_t) * pool->bucket_count, &buckets) != INSITU_OK ||
        arena_copy(&pool->arena, pool->symbols, sizeof(symbol_t) * pool->symbol_count, &symbols) != INSITU_OK)
        return false;
    pool->nodes = nodes;
    pool->buckets = buckets;
    pool->symbols = symbols;
    pool->node_capacity = pool->node_count;
    pool->symbol_capacity = pool->symbol_count;
    pool->borrowed = false;
    return true;
}

insitu_status sym_pool_status(const sym_pool_t *pool, insitu_diag *diag) {
    if (pool->too_large)
        FAIL(diag, INSITU_UNSUPPORTED,
             "an expression over symbols nests deeper than %d, has more than %d parts or too large a number",
             MAX_NESTING, MAX_EXPRESSION);
    if (pool->failed) FAIL(diag, INSITU_NOMEM, "out of memory while building expressions over symbols");
    return INSITU_OK;
}

void sym_pool_clear_error(sym_pool_t *pool) {
    if (pool->too_large) pool->failed = pool->too_large = false;
}

/* ---- symbols ---- */

uint32_t sym_find_symbol(const sym_pool_t *pool, const char *name) {
    for (uint32_t i = 0; i < pool->symbol_count; i++)
        if (strcmp(pool->symbols[i].name, name) == 0) return i;
    return NONE;
}

uint32_t sym_add_symbol(sym_pool_t *pool, const char *name, sym_kind_t kind, int64_t min, int64_t max) {
    uint32_t index = sym_find_symbol(pool, name);
    if (index != NONE) {
        if (pool->borrowed) return index;
        symbol_t *found = &pool->symbols[index];
        if (min > found->min && min <= found->max) found->min = min;
        if (max < found->max && max >= found->min) found->max = max;
        return index;
    }
    const char *copy = NULL;
    if (pool->failed || !own_tables(pool) || arena_string(&pool->arena, name, strlen(name), &copy) != INSITU_OK ||
        arena_grow(&pool->arena, &pool->symbols, &pool->symbol_capacity, (size_t)pool->symbol_count + 1,
                   sizeof(symbol_t)) != INSITU_OK) {
        pool->failed = true;
        return NONE;
    }
    pool->symbols[pool->symbol_count] = (symbol_t){copy, kind, min, max};
    return pool->symbol_count++;
}

/* ---- interning ---- */

static uint32_t node_hash(const sym_node_t *node) {
    uint64_t seed = (uint64_t)node->op << 8 | node->kind;
    uint64_t hash = hash_bytes(node->args, sizeof(sym_t) * node->arg_count, seed);
    hash ^= (uint64_t)node->i * UINT64_C(0x9e3779b97f4a7c15); /* the bits of f too */
    return (uint32_t)(hash ^ hash >> 32);
}

static bool node_same(const sym_node_t *a, const sym_node_t *b) {
    return a->hash == b->hash && a->op == b->op && a->kind == b->kind && a->i == b->i && a->arg_count == b->arg_count &&
           (a->arg_count == 0 || memcmp(a->args, b->args, sizeof(sym_t) * a->arg_count) == 0);
}

static bool grow_buckets(sym_pool_t *pool) {
    uint32_t count = pool->bucket_count ? pool->bucket_count * 2 : FIRST_BUCKETS, *buckets = NULL;
    if (arena_array(&pool->arena, count, sizeof(uint32_t), &buckets) != INSITU_OK) return false;
    for (uint32_t i = 0; i < count; i++) buckets[i] = NONE;
    for (uint32_t id = 0; id < pool->node_count; id++) {
        uint32_t at = pool->nodes[id].hash & (count - 1);
        while (buckets[at] != NONE) at = (at + 1) & (count - 1);
        buckets[at] = id;
    }
    pool->buckets = buckets;
    pool->bucket_count = count;
    return true;
}

/* Depth and size of a node over its arguments; false if they pass the limits. */
static bool measure(const sym_pool_t *pool, sym_node_t *node) {
    uint32_t depth = 0;
    uint64_t size = 1;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const sym_node_t *arg = node_of(pool, node->args[i]);
        if (arg->depth > depth) depth = arg->depth;
        size += arg->size;
    }
    if (depth + 1 > MAX_NESTING || size > MAX_EXPRESSION) return false;
    node->depth = (uint16_t)(depth + 1);
    node->size = (uint32_t)size;
    return true;
}

static uint32_t find_node(const sym_pool_t *pool, const sym_node_t *node) {
    if (pool->bucket_count == 0) return NONE;
    uint32_t at = node->hash & (pool->bucket_count - 1);
    for (; pool->buckets[at] != NONE; at = (at + 1) & (pool->bucket_count - 1))
        if (node_same(&pool->nodes[pool->buckets[at]], node)) return pool->buckets[at];
    return NONE;
}

static sym_t add_node(sym_pool_t *pool, sym_node_t node) {
    if (pool->failed) return (sym_t){0};
    if (!measure(pool, &node)) {
        pool->failed = pool->too_large = true;
        return (sym_t){0};
    }
    node.hash = node_hash(&node);
    uint32_t at = find_node(pool, &node);
    if (at != NONE) return (sym_t){at};
    if (!own_tables(pool) || (2 * (uint64_t)pool->node_count >= pool->bucket_count && !grow_buckets(pool)) ||
        (node.arg_count &&
         arena_copy(&pool->arena, node.args, sizeof(sym_t) * node.arg_count, &node.args) != INSITU_OK) ||
        arena_grow(&pool->arena, &pool->nodes, &pool->node_capacity, (size_t)pool->node_count + 1, sizeof node) !=
            INSITU_OK) {
        pool->failed = true;
        return (sym_t){0};
    }
    at = node.hash & (pool->bucket_count - 1);
    while (pool->buckets[at] != NONE) at = (at + 1) & (pool->bucket_count - 1);
    pool->buckets[at] = pool->node_count;
    pool->nodes[pool->node_count] = node;
    return (sym_t){pool->node_count++};
}

sym_t sym_intern(sym_pool_t *pool, sym_op_t op, sym_kind_t kind, const sym_t *args, uint32_t count) {
    return add_node(pool, (sym_node_t){.args = args, .arg_count = count, .op = (uint8_t)op, .kind = (uint8_t)kind});
}

sym_t sym_of_symbol(sym_pool_t *pool, uint32_t index) {
    if (pool->failed || index >= pool->symbol_count) return (sym_t){0};
    return add_node(pool,
                    (sym_node_t){.op = SYM_SYMBOL, .kind = (uint8_t)pool->symbols[index].kind, .i = (int64_t)index});
}

sym_t sym_int(sym_pool_t *pool, int64_t value) {
    return add_node(pool, (sym_node_t){.op = SYM_CONST, .kind = SYM_KIND_INT, .i = value});
}

sym_t sym_float(sym_pool_t *pool, double value) {
    if (value != value) value = (double)__builtin_nanf(""); /* one NaN: one id */
    return add_node(pool, (sym_node_t){.op = SYM_CONST, .kind = SYM_KIND_FLOAT, .f = value});
}

sym_t sym_bool(sym_pool_t *pool, bool value) {
    return add_node(pool, (sym_node_t){.op = SYM_CONST, .kind = SYM_KIND_BOOL, .i = value});
}

sym_t sym_of_value(sym_pool_t *pool, sym_value_t value) {
    if (value.kind == SYM_KIND_FLOAT) return sym_float(pool, value.f);
    return value.kind == SYM_KIND_BOOL ? sym_bool(pool, value.i != 0) : sym_int(pool, value.i);
}

sym_value_t sym_value_of(const sym_pool_t *pool, sym_t constant) {
    const sym_node_t *node = node_of(pool, constant);
    if (node->kind == SYM_KIND_FLOAT) return (sym_value_t){.kind = SYM_KIND_FLOAT, .f = node->f};
    return (sym_value_t){.kind = (sym_kind_t)node->kind, .i = node->i};
}

/* ---- access ---- */

sym_kind_t sym_kind_of(const sym_pool_t *pool, sym_t a) { return (sym_kind_t)node_of(pool, a)->kind; }
sym_op_t sym_op_of(const sym_pool_t *pool, sym_t a) { return (sym_op_t)node_of(pool, a)->op; }
uint32_t sym_arg_count(const sym_pool_t *pool, sym_t a) { return node_of(pool, a)->arg_count; }
sym_t sym_arg(const sym_pool_t *pool, sym_t a, uint32_t index) { return node_of(pool, a)->args[index]; }

uint32_t sym_symbol_index(const sym_pool_t *pool, sym_t a) {
    const sym_node_t *node = node_of(pool, a);
    return node->op == SYM_SYMBOL ? (uint32_t)node->i : NONE;
}

bool sym_constant(const sym_pool_t *pool, sym_t a, int64_t *out) {
    const sym_node_t *node = node_of(pool, a);
    *out = 0;
    if (node->op != SYM_CONST || node->kind == SYM_KIND_FLOAT) return false;
    *out = node->i;
    return true;
}

bool sym_constant_float(const sym_pool_t *pool, sym_t a, double *out) {
    *out = 0;
    if (!is_const(pool, a)) return false;
    *out = value_as_double(sym_value_of(pool, a));
    return true;
}

bool sym_uses(const sym_pool_t *pool, sym_t a, uint32_t symbol_index) {
    const sym_node_t *node = node_of(pool, a);
    if (node->op == SYM_SYMBOL) return (uint32_t)node->i == symbol_index;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (sym_uses(pool, node->args[i], symbol_index)) return true;
    return false;
}

/* ---- order ---- */

static int order_constants(const sym_node_t *a, const sym_node_t *b) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->kind != SYM_KIND_FLOAT) return a->i < b->i ? -1 : a->i > b->i;
    if (a->f < b->f) return -1;
    if (a->f > b->f) return 1;
    return a->i < b->i ? -1 : a->i > b->i; /* zeros of two signs, NaN: by their bits */
}

int sym_order(const sym_pool_t *pool, sym_t a, sym_t b) {
    if (a.id == b.id) return 0;
    const sym_node_t *left = node_of(pool, a), *right = node_of(pool, b);
    if (left->op != right->op) return left->op < right->op ? -1 : 1;
    if (left->op == SYM_CONST) return order_constants(left, right);
    if (left->op == SYM_SYMBOL) return strcmp(pool->symbols[left->i].name, pool->symbols[right->i].name);
    if (left->arg_count != right->arg_count) return left->arg_count < right->arg_count ? -1 : 1;
    for (uint32_t i = 0; i < left->arg_count; i++) {
        int order = sym_order(pool, left->args[i], right->args[i]);
        if (order != 0) return order;
    }
    return left->kind < right->kind ? -1 : left->kind > right->kind;
}

void sym_sort(const sym_pool_t *pool, sym_t *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        sym_t item = items[i];
        uint32_t at = i;
        for (; at > 0 && sym_order(pool, items[at - 1], item) > 0; at--) items[at] = items[at - 1];
        items[at] = item;
    }
}
