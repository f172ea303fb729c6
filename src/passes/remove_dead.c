/* remove_dead: nodes whose results nobody uses disappear.
 *
 * In: a functional graph. Out: every node's result reaches an output, an assertion or a node with an effect; or the node
 * is what gives a symbol its value, and the symbol is used by something that stays (a size, a position, an assertion, an
 * output), or has a range, which reading it checks; or the node reads a number that is taken as known. Outputs, mutations among them, and assertions are never
 * removed.
 *
 *     %n: sym u0 = aten.item.default(%pos)           stays: %y's start is u0
 *     %t: f32[3] = aten.exp.default(%x)              goes
 *     %y: f32[1] = aten.slice.Tensor(%x, dim=0, start=u0, end=u0 + 1)
 *
 * Algorithm: one walk backwards; a symbol is defined by the first node whose result is or has it, which stands before
 * its uses. Needs a functional graph; keeps program order. */
#include "passes/passes_int.h"

typedef struct liveness {
    graph_t *graph;
    bitset_t values, symbols;
    uint32_t *definer; /* by symbol: position in the order of the node that defines it; NONE: an input does */
} liveness_t;

static void use_sym(liveness_t *live, sym_t expression) {
    for (uint32_t i = 0; i < live->symbols.bits; i++)
        if (!bitset_has(&live->symbols, i) && sym_uses(live->graph->symbols, expression, i))
            bitset_add(&live->symbols, i);
}

static void use_type(liveness_t *live, const tensor_type_t *type) {
    for (uint32_t i = 0; i < type->shape.rank; i++) use_sym(live, type->shape.sizes[i]);
}

static void use_graph(liveness_t *live, const graph_t *graph, uint32_t depth);

static void use_arg(liveness_t *live, const graph_arg_t *arg, bool is_outer, uint32_t depth) {
    if (arg->kind == ARG_VALUE && is_outer) bitset_add(&live->values, arg->value.index);
    if (arg->kind == ARG_SYM) use_sym(live, arg->sym);
    if (arg->kind == ARG_GRAPH && depth < MAX_NESTING) use_graph(live, arg->graph, depth + 1);
    if (arg->kind != ARG_LIST || depth >= MAX_NESTING) return;
    for (uint32_t i = 0; i < arg->list.count; i++) use_arg(live, &arg->list.items[i], is_outer, depth + 1);
}

/* A subgraph's values are its own; its symbols are ours. */
static void use_graph(liveness_t *live, const graph_t *graph, uint32_t depth) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const graph_value_t *value = &graph->values[i];
        if (value->kind == VALUE_TENSOR) use_type(live, &value->type);
        if (value->kind == VALUE_SYM) use_sym(live, value->expr);
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const graph_node_t *node = graph_node_of(graph, graph->order[i]);
        for (uint32_t j = 0; j < node->arg_count; j++) use_arg(live, &node->args[j], false, depth);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) use_arg(live, &graph->outputs[i].arg, false, depth);
}

static void define_in(liveness_t *live, sym_t expression, uint32_t position) {
    for (uint32_t i = 0; i < live->symbols.bits; i++)
        if (live->definer[i] == NONE && sym_uses(live->graph->symbols, expression, i)) live->definer[i] = position;
}

static void define_value(liveness_t *live, value_id_t id, uint32_t position) {
    const graph_value_t *value = graph_value_of(live->graph, id);
    if (value->kind == VALUE_SYM) define_in(live, value->expr, position);
    if (value->kind != VALUE_TENSOR) return;
    for (uint32_t i = 0; i < value->type.shape.rank; i++) define_in(live, value->type.shape.sizes[i], position);
}

/* Inputs are at position 0, the node at order[i] at i + 1. */
static void find_definers(liveness_t *live) {
    const graph_t *graph = live->graph;
    for (uint32_t i = 0; i < live->symbols.bits; i++) live->definer[i] = NONE;
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].value.index != NONE) define_value(live, graph->inputs[i].value, 0);
    for (uint32_t i = 0; i < graph->order_count; i++) {
        const graph_node_t *node = graph_node_of(graph, graph->order[i]);
        for (uint32_t j = 0; j < node->result_count; j++) define_value(live, node->results[j], i + 1);
    }
}

/* The node gives the symbol its value; *out_narrow: the program asserts a range of it (torch._check narrows it and leaves
 * nothing else). */
static bool defines(const liveness_t *live, sym_t expression, uint32_t position, bool *out_narrow) {
    uint32_t index = sym_symbol_index(live->graph->symbols, expression);
    if (index == NONE || index >= live->symbols.bits || live->definer[index] != position) return false;
    const symbol_t *symbol = &live->graph->symbols->symbols[index];
    *out_narrow = symbol->kind == SYM_KIND_INT && (symbol->min > INT64_MIN || symbol->max < INT64_MAX);
    return true;
}

/* The node reads a number that is checked: one with a range, or one that it gives no symbol, since it is known. */
static bool checks_number(const liveness_t *live, const graph_node_t *node, uint32_t position) {
    if (!node_reads_number(live->graph, node) || node->result_count == 0) return false;
    const graph_value_t *value = graph_value_of(live->graph, node->results[0]);
    bool is_narrow = false, is_defined = value->kind == VALUE_SYM && defines(live, value->expr, position, &is_narrow);
    for (uint32_t i = 0; !is_defined && value->kind == VALUE_TENSOR && i < value->type.shape.rank; i++)
        is_defined = defines(live, value->type.shape.sizes[i], position, &is_narrow);
    return !is_defined || is_narrow;
}

static bool defines_live_symbol(const liveness_t *live, uint32_t position) {
    for (uint32_t i = 0; i < live->symbols.bits; i++)
        if (live->definer[i] == position && bitset_has(&live->symbols, i)) return true;
    return false;
}

static bool is_live(const liveness_t *live, const graph_node_t *node, uint32_t position) {
    if (node_has_effect(live->graph, node)) return true;
    for (uint32_t i = 0; i < node->result_count; i++)
        if (bitset_has(&live->values, node->results[i].index)) return true;
    return defines_live_symbol(live, position) || checks_number(live, node, position);
}

static void use_node(liveness_t *live, const graph_node_t *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) use_arg(live, &node->args[i], true, 0);
    for (uint32_t i = 0; i < node->result_count; i++) {
        const graph_value_t *value = graph_value_of(live->graph, node->results[i]);
        if (value->kind == VALUE_TENSOR) use_type(live, &value->type);
    }
}

static insitu_status remove_in_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    liveness_t live = {.graph = graph};
    node_id_t *order;
    uint32_t kept = 0;
    TRY(for_each_subgraph(graph, depth, context, remove_in_graph, out_changed));
    TRY(bitset_create(context->scratch, graph->value_count, &live.values));
    TRY(bitset_create(context->scratch, graph->symbols->symbol_count, &live.symbols));
    TRY(arena_array(context->scratch, graph->symbols->symbol_count, sizeof(uint32_t), &live.definer));
    TRY(arena_array(context->scratch, graph->order_count, sizeof(node_id_t), &order));
    find_definers(&live);
    for (uint32_t i = 0; i < graph->output_count; i++) use_arg(&live, &graph->outputs[i].arg, true, 0);
    for (uint32_t i = 0; i < graph->assert_count; i++) use_sym(&live, graph->asserts[i].condition);
    for (uint32_t i = graph->order_count; i-- > 0;) {
        const graph_node_t *node = graph_node_of(graph, graph->order[i]);
        if (!is_live(&live, node, i + 1)) continue;
        use_node(&live, node);
        order[kept++] = graph->order[i];
    }
    *out_changed = *out_changed || kept != graph->order_count;
    graph->order_count = kept;
    for (uint32_t i = 0; i < kept; i++) graph->order[i] = order[kept - 1 - i];
    return INSITU_OK;
}

insitu_status pass_remove_dead(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    return remove_in_graph(context->graph, 0, context, out_changed);
}
