/* merge_common: equal nodes are computed once.
 *
 * In: a functional graph. Out: no two nodes in order with the same operator and arguments and results of equal types;
 * the first one stays. Not merged: operators that draw random numbers or leave memory uninitialised, those that define a
 * symbol (item), higher-order and custom operators, and those without results; and a state's new value, which each
 * state computes in its own storage.
 *
 *     %1: f32[2] = aten.slice.Tensor(%0, dim=0, start=1, end=3)
 *     %2: f32[2] = aten.slice.Tensor(%0, dim=0, start=1, end=3)     ->     uses of %2 become uses of %1
 *
 * Algorithm: value numbering in program order through a hash table. Needs a functional graph; keeps program order. */
#include "passes/passes_int.h"

typedef struct merger {
    graph_t *graph;
    bitset_t states;   /* values of mutation outputs */
    uint32_t *buckets; /* node id + 1 by hash; 0: empty */
    uint32_t bucket_count;
} merger_t;

static uint64_t hash_arg(const graph_arg_t *arg, uint64_t seed, uint32_t depth) {
    seed = hash_bytes(&arg->kind, sizeof(arg->kind), seed);
    switch (arg->kind) {
    case ARG_ABSENT:
    case ARG_NONE: return seed;
    case ARG_VALUE: return hash_bytes(&arg->value.index, sizeof(uint32_t), seed);
    case ARG_SYM: return hash_bytes(&arg->sym.id, sizeof(uint32_t), seed);
    case ARG_COMPLEX: return hash_bytes(&arg->complex, sizeof(arg->complex), seed);
    case ARG_STRING:
    case ARG_DEVICE: return hash_bytes(arg->string, strlen(arg->string), seed);
    case ARG_DTYPE: return hash_bytes(&arg->dtype, sizeof(arg->dtype), seed);
    case ARG_LAYOUT:
    case ARG_MEMORY_FORMAT: return hash_bytes(&arg->number, sizeof(arg->number), seed);
    case ARG_LIST:
        for (uint32_t i = 0; i < arg->list.count && depth < MAX_NESTING; i++)
            seed = hash_arg(&arg->list.items[i], seed, depth + 1);
        return seed;
    case ARG_GRAPH: return seed;
    }
    return seed;
}

static uint64_t hash_node(const graph_node_t *node) {
    uint64_t hash = hash_bytes(node->target, strlen(node->target), node->arg_count);
    for (uint32_t i = 0; i < node->arg_count; i++) hash = hash_arg(&node->args[i], hash, 0);
    return hash;
}

static bool may_merge(const merger_t *merger, const graph_node_t *node) {
    const graph_t *graph = merger->graph;
    if (node_has_effect(graph, node) || !node->schema || node_is_random(graph, node)) return false;
    for (uint32_t i = 0; i < node->result_count; i++) {
        bool is_tensor = graph_value_of(graph, node->results[i])->kind == VALUE_TENSOR;
        if (!is_tensor || bitset_has(&merger->states, node->results[i].index)) return false;
    }
    return true;
}

static insitu_status find_states(merger_t *merger, arena_t *scratch) {
    const graph_t *graph = merger->graph;
    TRY(bitset_create(scratch, graph->value_count, &merger->states));
    for (uint32_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i].kind == RESULT_MUTATION && graph->outputs[i].arg.kind == ARG_VALUE)
            bitset_add(&merger->states, graph->outputs[i].arg.value.index);
    return INSITU_OK;
}

/* Copies may differ in their layout alone, which as_strided sees. */
static bool results_same(const graph_t *graph, const graph_node_t *a, const graph_node_t *b) {
    if (a->result_count != b->result_count) return false;
    bool is_copy = facts_of(a)->noop == NOOP_COPY;
    for (uint32_t i = 0; i < a->result_count; i++) {
        const tensor_type_t *x = &graph_value_of(graph, a->results[i])->type,
                            *y = &graph_value_of(graph, b->results[i])->type;
        if (x->dtype != y->dtype || !shape_same(&x->shape, &y->shape)) return false;
        if (is_copy && !type_same_layout(x, y)) return false;
    }
    return true;
}

static bool nodes_same(const graph_t *graph, const graph_node_t *a, const graph_node_t *b) {
    if (a->arg_count != b->arg_count || a->schema != b->schema || !results_same(graph, a, b)) return false;
    for (uint32_t i = 0; i < a->arg_count; i++)
        if (!arg_same(&a->args[i], &b->args[i])) return false;
    return true;
}

/* The node equal to id that came before it; NO_NODE: id is new, and known from now on. */
static node_id_t find_equal(merger_t *merger, node_id_t id) {
    const graph_node_t *node = graph_node_of(merger->graph, id);
    uint32_t at = (uint32_t)(hash_node(node) & (merger->bucket_count - 1));
    for (; merger->buckets[at] != 0; at = (at + 1) & (merger->bucket_count - 1)) {
        node_id_t known = {merger->buckets[at] - 1};
        if (nodes_same(merger->graph, graph_node_of(merger->graph, known), node)) return known;
    }
    merger->buckets[at] = id.index + 1;
    return NO_NODE;
}

static void follow(void *user, value_id_t *value) {
    const value_id_t *replacement = user;
    if (replacement[value->index].index != NONE) *value = replacement[value->index];
}

static insitu_status merge_in_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    merger_t merger = {.graph = graph, .bucket_count = 16};
    value_id_t *replacement;
    uint32_t kept = 0;
    TRY(for_each_subgraph(graph, depth, context, merge_in_graph, out_changed));
    TRY(find_states(&merger, context->scratch));
    while (merger.bucket_count < graph->order_count * 2) merger.bucket_count *= 2;
    TRY(arena_array(context->scratch, merger.bucket_count, sizeof(uint32_t), &merger.buckets));
    TRY(arena_array(context->scratch, graph->value_count, sizeof(value_id_t), &replacement));
    for (uint32_t i = 0; i < graph->value_count; i++) replacement[i] = NO_VALUE;
    for (uint32_t i = 0; i < graph->order_count; i++) {
        node_id_t id = graph->order[i];
        graph_node_t *node = graph_node_of(graph, id);
        graph_visit_args(node, follow, replacement);
        node_id_t equal = may_merge(&merger, node) ? find_equal(&merger, id) : NO_NODE;
        if (equal.index == NONE) {
            graph->order[kept++] = id;
            continue;
        }
        const graph_node_t *first = graph_node_of(graph, equal);
        for (uint32_t j = 0; j < node->result_count; j++) replacement[node->results[j].index] = first->results[j];
        *out_changed = true;
    }
    graph->order_count = kept;
    graph_replace_uses(graph, replacement);
    return INSITU_OK;
}

insitu_status pass_merge_common(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    return merge_in_graph(context->graph, 0, context, out_changed);
}
