/* use_equalities: a symbol that an assertion equates with others is written by them everywhere.
 *
 *     %nonzero: i64[u0,1], %nonzero_1: i64[u1,1]
 *     aten._assert_scalar.default(u0 + u1 == 5)
 *     %cat: i64[u0 + u1], %add: f32[u0 + u1,2]      ->     %nonzero_1: i64[5 - u0,1], %cat: i64[5], %add: f32[5,2]
 *
 * Of the symbols of the equality that the program reads from tensors the one that is read last is replaced. The converter
 * then finds that what is read is to be 5 - u0, and checks it. The assertion itself would now hold, and is made one of the
 * range that the symbol had.
 *
 * Before functionalize, which compares sizes. Keeps everything else. */
#include "passes/passes_int.h"

typedef struct equality {
    graph_t *graph;
    bitset_t given; /* symbols that inputs give */
    uint32_t *read; /* each symbol: place in the order of the node whose result it is; NONE */
    uint32_t symbol;
    sym_t by;
} equality_t;

static void mark_given(equality_t *e, sym_t expression) {
    for (uint32_t i = 0; i < e->given.bits; i++)
        if (sym_uses(e->graph->symbols, expression, i)) bitset_add(&e->given, i);
}

static void mark_read(const equality_t *e, sym_t expression, uint32_t at) {
    uint32_t symbol = sym_symbol_index(e->graph->symbols, expression);
    if (symbol != NONE && e->read[symbol] == NONE && !bitset_has(&e->given, symbol)) e->read[symbol] = at;
}

static void find_symbols(equality_t *e) {
    const graph_t *graph = e->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i].value.index == NONE) continue;
        const graph_value_t *value = graph_value_of(graph, graph->inputs[i].value);
        if (value->kind == VALUE_SYM) mark_given(e, value->expr);
        for (uint32_t d = 0; value->kind == VALUE_TENSOR && d < value->type.shape.rank; d++)
            mark_given(e, value->type.shape.sizes[d]);
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const graph_node_t *node = graph_node_of(graph, graph->order[i]);
        if (!node_reads_number(graph, node)) continue;
        for (uint32_t r = 0; r < node->result_count; r++) {
            const graph_value_t *value = graph_value_of(graph, node->results[r]);
            if (value->kind == VALUE_SYM) mark_read(e, value->expr, i);
            for (uint32_t d = 0; value->kind == VALUE_TENSOR && d < value->type.shape.rank; d++)
                mark_read(e, value->type.shape.sizes[d], i);
        }
    }
}

/* symbol = *out where difference = 0, if the symbol stands in it with the factor 1 or -1. */
static bool solve(sym_pool_t *pool, sym_t difference, uint32_t symbol, sym_t *out) {
    sym_t unknown = sym_of_symbol(pool, symbol);
    sym_t rest = sym_replace(pool, difference, symbol, sym_int(pool, 0));
    sym_t factor = sym_sub(pool, sym_replace(pool, difference, symbol, sym_int(pool, 1)), rest);
    int64_t number;
    if (!sym_constant(pool, factor, &number) || (number != 1 && number != -1)) return false;
    if (!sym_same(sym_add(pool, sym_mul(pool, factor, unknown), rest), difference)) return false;
    *out = sym_mul(pool, sym_int(pool, -number), rest);
    return true;
}

/* The symbol that is read last, all others of the equality being known by then. */
static bool choose(equality_t *e, sym_t condition) {
    sym_pool_t *pool = e->graph->symbols;
    uint32_t last = NONE;
    if (sym_op_of(pool, condition) != SYM_EQ) return false;
    sym_t left = sym_arg(pool, condition, 0), right = sym_arg(pool, condition, 1);
    if (sym_kind_of(pool, left) != SYM_KIND_INT || sym_kind_of(pool, right) != SYM_KIND_INT) return false;
    sym_t difference = sym_sub(pool, left, right);
    for (uint32_t i = 0; i < pool->symbol_count; i++) {
        if (!sym_uses(pool, difference, i)) continue;
        bool given = bitset_has(&e->given, i);
        if (!given && e->read[i] == NONE) return false;
        if (!given && (last == NONE || e->read[i] > e->read[last])) last = i;
    }
    e->symbol = last;
    return last != NONE && solve(pool, difference, last, &e->by);
}

static sym_t replaced(const equality_t *e, sym_t expression) {
    return sym_replace(e->graph->symbols, expression, e->symbol, e->by);
}

static void replace_arg(const equality_t *e, graph_arg_t *arg);

static void replace_type(const equality_t *e, tensor_type_t *type) {
    type->offset = replaced(e, type->offset);
    for (uint32_t d = 0; d < type->shape.rank; d++) {
        type->shape.sizes[d] = replaced(e, type->shape.sizes[d]);
        type->strides[d] = replaced(e, type->strides[d]);
    }
}

static void replace_in(const equality_t *e, graph_t *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        graph_value_t *value = &graph->values[i];
        if (value->kind == VALUE_SYM) value->expr = replaced(e, value->expr);
        if (value->kind == VALUE_TENSOR) replace_type(e, &value->type);
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        graph_node_t *node = graph_node_of(graph, graph->order[i]);
        for (uint32_t k = 0; k < node->arg_count; k++) replace_arg(e, &node->args[k]);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) replace_arg(e, &graph->outputs[i].arg);
}

static void replace_arg(const equality_t *e, graph_arg_t *arg) {
    if (arg->kind == ARG_SYM) arg->sym = replaced(e, arg->sym);
    if (arg->kind == ARG_GRAPH) replace_in(e, arg->graph);
    for (uint32_t i = 0; arg->kind == ARG_LIST && i < arg->list.count; i++) replace_arg(e, &arg->list.items[i]);
}

static sym_t in_range(const equality_t *e) {
    sym_pool_t *pool = e->graph->symbols;
    const symbol_t symbol = pool->symbols[e->symbol];
    sym_t parts[2] = {sym_bool(pool, true), sym_bool(pool, true)};
    if (symbol.min != INT64_MIN) parts[0] = sym_compare(pool, SYM_LE, sym_int(pool, symbol.min), e->by);
    if (symbol.max != INT64_MAX) parts[1] = sym_compare(pool, SYM_LE, e->by, sym_int(pool, symbol.max));
    return sym_make(pool, SYM_AND, parts, 2);
}

insitu_status pass_use_equalities(pass_context_t *context, bool *out_changed) {
    graph_t *graph = context->graph;
    sym_pool_t *pool = graph->symbols;
    equality_t e = {.graph = graph};
    *out_changed = false;
    TRY(bitset_create(context->scratch, pool->symbol_count + 1, &e.given));
    TRY(arena_array(context->scratch, pool->symbol_count + 1, sizeof(uint32_t), &e.read));
    for (uint32_t i = 0; i <= pool->symbol_count; i++) e.read[i] = NONE;
    find_symbols(&e);
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const graph_node_t *node = graph_node_of(graph, graph->order[i]);
        if (facts_of(node)->number != NUMBER_ASSERT) continue;
        const graph_arg_t *condition = graph_arg_of(graph, node, "self");
        if (!condition || condition->kind != ARG_SYM || !choose(&e, condition->sym)) continue;
        replace_in(&e, graph);
        (void)graph_set_arg(graph, graph->order[i], "self", arg_sym(in_range(&e)));
        *out_changed = true;
    }
    return sym_pool_status(pool, context->diag);
}
