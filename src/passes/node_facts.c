/* Facts about nodes and arguments that several passes ask for. */
#include "passes/passes_int.h"

bool target_is(const graph_node_t *node, const char *target) { return strcmp(node->target, target) == 0; }

void target_stem(const char *target, char *buffer, size_t size) {
    const char *start = strchr(target, '.');
    start = start ? start + 1 : target;
    size_t length = strcspn(start, ".");
    if (length >= size) length = size - 1;
    memcpy(buffer, start, length);
    buffer[length] = '\0';
}

const char *node_text(const graph_node_t *node, char *buffer, size_t size) {
    const char *comma = node->source[0] ? ", " : "";
    if (strcmp(node->name, node->target) != 0)
        snprintf(buffer, size, "%.80s (%.80s%s%.80s)", node->name, node->target, comma, node->source);
    else
        snprintf(buffer, size, "%.80s%s%.80s%s", node->target, comma[0] ? " (" : "", node->source, comma[0] ? ")" : "");
    return buffer;
}

static bool list_same(const graph_arg_t *a, const graph_arg_t *b, uint32_t depth);

static bool arg_same_at(const graph_arg_t *a, const graph_arg_t *b, uint32_t depth) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ARG_ABSENT:
    case ARG_NONE: return true;
    case ARG_VALUE: return a->value.index == b->value.index;
    case ARG_SYM: return sym_same(a->sym, b->sym);
    case ARG_COMPLEX: return memcmp(&a->complex, &b->complex, sizeof(a->complex)) == 0;
    case ARG_STRING:
    case ARG_DEVICE: return strcmp(a->string, b->string) == 0;
    case ARG_DTYPE: return a->dtype == b->dtype;
    case ARG_LAYOUT:
    case ARG_MEMORY_FORMAT: return a->number == b->number;
    case ARG_LIST: return list_same(a, b, depth + 1);
    case ARG_GRAPH: return a->graph == b->graph;
    }
    return false;
}

static bool list_same(const graph_arg_t *a, const graph_arg_t *b, uint32_t depth) {
    if (a->list.count != b->list.count || depth > MAX_NESTING) return false;
    for (uint32_t i = 0; i < a->list.count; i++)
        if (!arg_same_at(&a->list.items[i], &b->list.items[i], depth)) return false;
    return true;
}

bool arg_same(const graph_arg_t *a, const graph_arg_t *b) { return arg_same_at(a, b, 0); }

bool arg_is_none(const graph_arg_t *arg) { return !arg || arg->kind == ARG_ABSENT || arg->kind == ARG_NONE; }

bool arg_constant(const graph_t *graph, const graph_arg_t *arg, int64_t *out) {
    return arg && arg->kind == ARG_SYM && sym_constant(graph->symbols, arg->sym, out);
}

bool arg_bool(const graph_t *graph, const graph_arg_t *arg, bool fallback) {
    int64_t number;
    return arg_constant(graph, arg, &number) ? number != 0 : fallback;
}

bool type_same_layout(const tensor_type_t *a, const tensor_type_t *b) {
    if (a->shape.rank != b->shape.rank || !sym_same(a->offset, b->offset)) return false;
    for (uint32_t i = 0; i < a->shape.rank; i++)
        if (!sym_same(a->strides[i], b->strides[i])) return false;
    return true;
}

bool node_is_random(const graph_t *graph, const graph_node_t *node) {
    const effect_kind_t effect = (effect_kind_t)facts_of(node)->effect;
    if (effect == EFFECT_RANDOM) return true;
    if (effect == EFFECT_DROPOUT) return arg_bool(graph, graph_arg_of(graph, node, "train"), true);
    const graph_arg_t *probability = graph_arg_of(graph, node, "dropout_p");
    double p = 0;
    if (!probability || probability->kind != ARG_SYM) return false;
    return !sym_constant_float(graph->symbols, probability->sym, &p) || p > 0;
}

bool node_has_effect(const graph_t *graph, const graph_node_t *node) {
    (void)graph;
    if (!node->schema) return strncmp(node->target, "higher_order.", 13) != 0 || node->result_count == 0;
    return node->result_count == 0 || node->schema->writes || node->schema->return_count == 0;
}

static bool has_mask(const graph_t *graph, const graph_arg_t *arg) {
    if (arg->kind == ARG_VALUE) {
        const graph_value_t *value = graph_value_of(graph, arg->value);
        return value->kind == VALUE_TENSOR && value->type.dtype == DTYPE_BOOL;
    }
    for (uint32_t i = 0; arg->kind == ARG_LIST && i < arg->list.count; i++)
        if (has_mask(graph, &arg->list.items[i])) return true;
    return false;
}

bool node_reads_number(const graph_t *graph, const graph_node_t *node) {
    const reads_kind_t reads = (reads_kind_t)facts_of(node)->reads;
    const graph_arg_t *indices = reads == READS_MASK ? graph_arg_of(graph, node, "indices") : NULL;
    return reads == READS_NUMBER || (indices && has_mask(graph, indices));
}

insitu_status for_each_subgraph(graph_t *graph, uint32_t depth, pass_context_t *context, subgraph_fn work,
                                bool *out_changed) {
    if (depth >= MAX_NESTING) FAIL(context->diag, INSITU_FORMAT, "subgraphs are nested deeper than %d", MAX_NESTING);
    for (uint32_t i = 0; i < graph->order_count; i++) {
        graph_node_t node = *graph_node_of(graph, graph->order[i]);
        for (uint32_t j = 0; j < node.arg_count; j++)
            if (node.args[j].kind == ARG_GRAPH) TRY(work(node.args[j].graph, depth + 1, context, out_changed));
    }
    return INSITU_OK;
}
