/* inline_wrappers: grad-mode and autocast regions are replaced by their bodies.
 *
 * In: nodes higher_order.wrap_with_set_grad_enabled and wrap_with_autocast, whose subgraphs may write their operands.
 * Out: none of them; the body's nodes stand in the outer graph, in place of the wrapper, with names made unique. The
 * body's inputs become the operands, the wrapper's results the body's outputs. Wrappers in wrappers and in other
 * subgraphs are inlined too. In an enabled autocast region the operands of operators are cast (autocast.c).
 *
 *     %y: f32[4] = higher_order.wrap_with_set_grad_enabled(false, graph {... %c = aten.cos.default(%x) ...}, %v)
 *     -> %c: f32[4] = aten.cos.default(%v), and %y becomes %c
 *
 * Needs nothing; keeps everything. */
#include "passes/passes_int.h"

/* What autocast holds where a wrapper stands that came out of another one, by node. */
typedef struct regions {
    autocast_t *autocasts;
    uint32_t count, capacity;
    arena_t *arena;
} regions_t;

typedef struct inliner {
    graph_t *outer;
    const graph_t *body;
    value_id_t *renamed; /* by the body's value: the outer graph's */
    insitu_diag *diag;
    const char *wrapper;
    autocast_t autocast; /* what holds in the body */
    regions_t *regions;
} inliner_t;

enum { GRAD_BODY = 1, AUTOCAST_BODY = 4 };
/* Where the body stands among a wrapper's arguments, NONE if node is no wrapper. */
static uint32_t body_position(const graph_node_t *node) {
    if (target_is(node, "higher_order.wrap_with_set_grad_enabled")) return GRAD_BODY;
    if (target_is(node, "higher_order.wrap_with_autocast")) return AUTOCAST_BODY;
    return NONE;
}

static insitu_status remember_autocast(regions_t *regions, node_id_t node, const autocast_t *held) {
    if (!held->enabled) return INSITU_OK;
    uint32_t before = regions->count;
    if (node.index >= before) {
        TRY(arena_grow(regions->arena, &regions->autocasts, &regions->capacity, (size_t)node.index + 1,
                       sizeof(autocast_t)));
        regions->count = node.index + 1;
        for (uint32_t i = before; i < regions->count; i++) regions->autocasts[i] = (autocast_t){0};
    }
    regions->autocasts[node.index] = *held;
    return INSITU_OK;
}

static autocast_t held_at(const regions_t *regions, node_id_t node) {
    return node.index < regions->count ? regions->autocasts[node.index] : (autocast_t){0};
}

static insitu_status copy_arg(const inliner_t *inliner, const graph_arg_t *from, uint32_t depth, graph_arg_t *out_arg) {
    *out_arg = *from;
    if (from->kind == ARG_VALUE) {
        out_arg->value = inliner->renamed[from->value.index];
        if (out_arg->value.index == NONE)
            FAIL(inliner->diag, INSITU_FORMAT, "%s uses a value of its body that is not defined there",
                 inliner->wrapper);
    }
    if (from->kind != ARG_LIST || depth == MAX_NESTING) return INSITU_OK;
    TRY(arena_array(graph_arena(inliner->outer), from->list.count, sizeof(graph_arg_t), &out_arg->list.items));
    for (uint32_t i = 0; i < from->list.count; i++)
        TRY(copy_arg(inliner, &from->list.items[i], depth + 1, &out_arg->list.items[i]));
    return INSITU_OK;
}

static insitu_status copy_value(const inliner_t *inliner, value_id_t value) {
    const graph_value_t *from = graph_value_of(inliner->body, value);
    value_id_t *renamed = &inliner->renamed[value.index];
    switch (from->kind) {
    case VALUE_TENSOR: return graph_add_tensor(inliner->outer, from->name, &from->type, renamed);
    case VALUE_SYM: return graph_add_sym(inliner->outer, from->name, from->expr, renamed);
    case VALUE_NONE: return graph_add_none(inliner->outer, from->name, renamed);
    }
    return INSITU_INTERNAL;
}

static insitu_status copy_node(const inliner_t *inliner, const graph_node_t *from) {
    value_id_t *results;
    TRY(arena_array(graph_arena(inliner->outer), from->result_count, sizeof(value_id_t), &results));
    for (uint32_t i = 0; i < from->result_count; i++) {
        TRY(copy_value(inliner, from->results[i]));
        results[i] = inliner->renamed[from->results[i].index];
    }
    node_id_t made;
    TRY(graph_add_node(inliner->outer, from->target, results, from->result_count, from->source, &made));
    graph_node_t *node = graph_node_of(inliner->outer, made);
    TRY(arena_array(graph_arena(inliner->outer), from->arg_count, sizeof(graph_arg_t), &node->args));
    node->arg_count = from->arg_count;
    node->arg_names = from->arg_names;
    for (uint32_t i = 0; i < from->arg_count; i++) TRY(copy_arg(inliner, &from->args[i], 0, &node->args[i]));
    if (body_position(node) != NONE)
        TRY(remember_autocast(inliner->regions, made, &inliner->autocast));
    else
        TRY(autocast_operands(inliner->outer, made, &inliner->autocast, inliner->diag));
    return graph_append(inliner->outer, made);
}

static insitu_status check_wrapper(const graph_node_t *node, uint32_t position, insitu_diag *diag) {
    char text[NODE_TEXT_SIZE];
    node_text(node, text, sizeof(text));
    if (node->arg_count <= position || node->args[position].kind != ARG_GRAPH)
        FAIL(diag, INSITU_FORMAT, "%s has no body where one is expected", text);
    const graph_t *body = node->args[position].graph;
    if (node->arg_count - position - 1 != body->input_count || node->result_count != body->output_count)
        FAIL(diag, INSITU_FORMAT, "%s passes %u operands to a body of %u inputs and takes %u results of its %u outputs",
             text, node->arg_count - position - 1, body->input_count, node->result_count, body->output_count);
    return INSITU_OK;
}

static insitu_status bind_inputs(const inliner_t *inliner, const graph_node_t *node, uint32_t position) {
    for (uint32_t i = 0; i < inliner->body->input_count; i++) {
        value_id_t input = inliner->body->inputs[i].value;
        const graph_arg_t *operand = &node->args[position + 1 + i];
        if (input.index == NONE || graph_value_of(inliner->body, input)->kind != VALUE_TENSOR) continue;
        if (operand->kind != ARG_VALUE)
            FAIL(inliner->diag, INSITU_FORMAT, "%s passes no tensor for input '%s' of its body", inliner->wrapper,
                 inliner->body->inputs[i].name);
        inliner->renamed[input.index] = operand->value;
    }
    return INSITU_OK;
}

/* Replaces the wrapper by its body. results[k]: what took the place of the k-th result, where that is a tensor. */
static insitu_status inline_node(graph_t *outer, node_id_t wrapper, regions_t *regions, insitu_diag *diag,
                                 value_id_t *results) {
    const graph_node_t node = *graph_node_of(outer, wrapper);
    uint32_t position = body_position(&node);
    char text[NODE_TEXT_SIZE];
    inliner_t inliner = {.outer = outer,
                         .body = node.args[position].graph,
                         .diag = diag,
                         .wrapper = node_text(&node, text, sizeof(text)),
                         .autocast = held_at(regions, wrapper),
                         .regions = regions};
    if (position == AUTOCAST_BODY) TRY(autocast_enter(outer, &node, diag, &inliner.autocast));
    TRY(arena_array(regions->arena, inliner.body->value_count, sizeof(value_id_t), &inliner.renamed));
    for (uint32_t i = 0; i < inliner.body->value_count; i++) inliner.renamed[i] = NO_VALUE;
    TRY(bind_inputs(&inliner, &node, position));
    for (uint32_t i = 0; i < inliner.body->order_count; i++)
        TRY(copy_node(&inliner, graph_node_of(inliner.body, inliner.body->order[i])));
    for (uint32_t i = 0; i < node.result_count; i++) {
        graph_arg_t output;
        TRY(copy_arg(&inliner, &inliner.body->outputs[i].arg, 0, &output));
        results[i] = output.kind == ARG_VALUE ? output.value : NO_VALUE;
        if (graph_value_of(outer, node.results[i])->kind == VALUE_TENSOR && output.kind != ARG_VALUE)
            FAIL(diag, INSITU_FORMAT, "result %u of %s is a tensor, and that output of its body is none", i, text);
    }
    return INSITU_OK;
}

typedef struct replaced {
    value_id_t from, to;
} replaced_t;

static insitu_status replace_results(graph_t *graph, arena_t *scratch, const replaced_t *pairs, uint32_t count) {
    value_id_t *replacement;
    TRY(arena_array(scratch, graph->value_count, sizeof(value_id_t), &replacement));
    for (uint32_t i = 0; i < graph->value_count; i++) replacement[i] = NO_VALUE;
    for (uint32_t i = 0; i < count; i++) replacement[pairs[i].from.index] = pairs[i].to;
    graph_replace_uses(graph, replacement);
    return INSITU_OK;
}

/* One level of wrappers: those that stood in the order before. */
static insitu_status inline_level(graph_t *graph, regions_t *regions, pass_context_t *context, bool *out_found) {
    node_id_t *order = graph->order;
    uint32_t count = graph->order_count, replaced_count = 0, replaced_capacity = 0;
    replaced_t *pairs = NULL;
    *out_found = false;
    for (uint32_t i = 0; i < count && !*out_found; i++)
        *out_found = body_position(graph_node_of(graph, order[i])) != NONE;
    if (!*out_found) return INSITU_OK;
    graph->order = NULL;
    graph->order_count = graph->order_capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        const graph_node_t node = *graph_node_of(graph, order[i]);
        uint32_t position = body_position(&node);
        if (position == NONE) {
            TRY(graph_append(graph, order[i]));
            continue;
        }
        TRY(check_wrapper(&node, position, context->diag));
        value_id_t *results;
        TRY(arena_array(context->scratch, node.result_count, sizeof(value_id_t), &results));
        TRY(inline_node(graph, order[i], regions, context->diag, results));
        TRY(arena_grow(context->scratch, &pairs, &replaced_capacity, (size_t)replaced_count + node.result_count,
                       sizeof(replaced_t)));
        for (uint32_t j = 0; j < node.result_count; j++)
            if (results[j].index != NONE) pairs[replaced_count++] = (replaced_t){node.results[j], results[j]};
    }
    return replace_results(graph, context->scratch, pairs, replaced_count);
}

static insitu_status inline_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    bool found = true;
    regions_t regions = {.arena = context->scratch};
    for (uint32_t level = 0; found; level++) {
        if (level == MAX_NESTING) FAIL(context->diag, INSITU_FORMAT, "regions are nested deeper than %d", MAX_NESTING);
        TRY(inline_level(graph, &regions, context, &found));
        *out_changed = *out_changed || found;
    }
    return for_each_subgraph(graph, depth, context, inline_graph, out_changed);
}

insitu_status pass_inline_wrappers(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    return inline_graph(context->graph, 0, context, out_changed);
}
