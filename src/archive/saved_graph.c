/* A graph: value tables, placeholders, nodes in program order, results. Every value is defined once, before its use. */
#include "archive/archive_int.h"

/* ---- definitions ---- */

static insitu_status define(const archive_graph_t *graph, bitset_t *defined, uint32_t value, const json_cursor_t *at) {
    if (value == NONE) return INSITU_OK;
    if (bitset_has(defined, value))
        return json_fail(at, INSITU_FORMAT, "the value '%s' is defined twice", graph->values[value].name);
    bitset_add(defined, value);
    return INSITU_OK;
}

/* Marks the values that a placeholder or a node's result introduces. */
static insitu_status define_all(const archive_graph_t *graph, bitset_t *defined, const archive_argument_t *argument,
                                const json_cursor_t *at) {
    switch (argument->kind) {
    case ARGUMENT_TENSOR:
    case ARGUMENT_OBJECT: return define(graph, defined, argument->value, at);
    case ARGUMENT_INT:
    case ARGUMENT_FLOAT:
    case ARGUMENT_BOOL: return define(graph, defined, argument->number.value, at);
    case ARGUMENT_TENSORS:
        for (uint32_t i = 0; i < argument->count; i++) TRY(define(graph, defined, argument->values[i], at));
        return INSITU_OK;
    case ARGUMENT_NESTED_TENSORS:
        for (uint32_t i = 0; i < argument->count; i++)
            for (uint32_t j = 0; j < argument->items[i].count; j++)
                TRY(define(graph, defined, argument->items[i].values[j], at));
        return INSITU_OK;
    case ARGUMENT_NONE:
    case ARGUMENT_STRING:
    case ARGUMENT_COMPLEX: return INSITU_OK; /* constants */
    case ARGUMENT_INTS:
    case ARGUMENT_FLOATS:
    case ARGUMENT_BOOLS:
    case ARGUMENT_INT_LISTS:
    case ARGUMENT_FLOAT_LISTS:
    case ARGUMENT_STRINGS:
    case ARGUMENT_DTYPE:
    case ARGUMENT_MEMORY_FORMAT:
    case ARGUMENT_LAYOUT:
    case ARGUMENT_DEVICE:
    case ARGUMENT_GRAPH:
    case ARGUMENT_OPERATOR:
    case ARGUMENT_MAP: break;
    }
    return json_fail(at, INSITU_UNSUPPORTED, "a value of this form can't be defined by a graph's input or a node");
}

static insitu_status read_definitions(reader_t *reader, const archive_graph_t *graph, bitset_t *defined,
                                      const json_cursor_t *at, const archive_argument_t **out, uint32_t *out_count) {
    TRY(json_count(at, out_count));
    archive_argument_t *arguments;
    TRY(arena_array(reader->arena, *out_count, sizeof(*arguments), &arguments));
    for (uint32_t i = 0; i < *out_count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_argument(reader, graph, NULL, &item, &arguments[i]));
        TRY(define_all(graph, defined, &arguments[i], &item));
    }
    *out = arguments;
    return INSITU_OK;
}

/* ---- nodes ---- */

enum { KIND_KEYWORD = 2 }; /* of an argument, in the file */

static insitu_status read_named_argument(reader_t *reader, const archive_graph_t *graph, const bitset_t *defined,
                                         const json_cursor_t *at, archive_named_argument_t *out) {
    json_cursor_t member;
    TRY(json_member(at, "name", &member));
    TRY(reader_text(reader, &member, &out->name));
    int64_t kind = 0;
    if (json_optional(at, "kind", &member)) TRY(json_int(&member, &kind)); /* absent from the oldest files */
    out->is_keyword = kind == KIND_KEYWORD;
    TRY(json_member(at, "arg", &member));
    return read_argument(reader, graph, defined, &member, &out->argument);
}

/* Old files don't name nodes: the first result's name says as much. */
static const char *fallback_name(const archive_graph_t *graph, const archive_node_t *node) {
    if (!node->output_count) return "";
    const archive_argument_t *first = &node->outputs[0];
    if (first->kind == ARGUMENT_TENSOR) return graph->values[first->value].name;
    bool is_number = first->kind == ARGUMENT_INT || first->kind == ARGUMENT_FLOAT || first->kind == ARGUMENT_BOOL;
    if (is_number && first->number.value != NONE) return graph->values[first->number.value].name;
    return "";
}

static insitu_status read_node(reader_t *reader, const archive_graph_t *graph, bitset_t *defined,
                               const json_cursor_t *at, archive_node_t *node) {
    static const char prefix[] = "torch.ops.";
    json_cursor_t target, member, item;
    TRY(json_member(at, "target", &target));
    TRY(reader_text(reader, &target, &node->target));
    bool has_prefix = strncmp(node->target, prefix, sizeof(prefix) - 1) == 0;
    node->op = node->target + (has_prefix ? sizeof(prefix) - 1 : 0);

    TRY(json_member(at, "inputs", &member));
    TRY(json_count(&member, &node->input_count));
    archive_named_argument_t *inputs;
    TRY(arena_array(reader->arena, node->input_count, sizeof(*inputs), &inputs));
    for (uint32_t i = 0; i < node->input_count; i++) {
        json_item(&member, i, &item);
        TRY(read_named_argument(reader, graph, defined, &item, &inputs[i]));
    }
    node->inputs = inputs;

    TRY(json_member(at, "outputs", &member));
    TRY(read_definitions(reader, graph, defined, &member, &node->outputs, &node->output_count));
    if (json_optional(at, "is_hop_single_tensor_return", &member)) TRY(json_bool(&member, &node->single_tensor_return));
    node->name = fallback_name(graph, node);
    if (json_optional(at, "name", &member)) TRY(reader_text(reader, &member, &node->name));
    if (!node->op[0]) return json_fail(&target, INSITU_FORMAT, "the node '%s' names no operator", node->name);
    node->source = node->module = "";
    if (json_optional(at, "metadata", &member)) TRY(read_node_source(reader, &member, node));
    return INSITU_OK;
}

static insitu_status read_nodes(reader_t *reader, archive_graph_t *graph, bitset_t *defined, const json_cursor_t *at) {
    TRY(json_count(at, &graph->node_count));
    if (graph->node_count > MAX_NODES)
        return json_fail(at, INSITU_FORMAT, "%u nodes, more than %d", graph->node_count, MAX_NODES);
    archive_node_t *nodes;
    TRY(arena_array(reader->arena, graph->node_count, sizeof(*nodes), &nodes));
    for (uint32_t i = 0; i < graph->node_count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_node(reader, graph, defined, &item, &nodes[i]));
    }
    graph->nodes = nodes;
    return INSITU_OK;
}

static insitu_status read_outputs(reader_t *reader, archive_graph_t *graph, const bitset_t *defined,
                                  const json_cursor_t *at) {
    TRY(json_count(at, &graph->output_count));
    archive_argument_t *outputs;
    TRY(arena_array(reader->arena, graph->output_count, sizeof(*outputs), &outputs));
    for (uint32_t i = 0; i < graph->output_count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_argument(reader, graph, defined, &item, &outputs[i]));
    }
    graph->outputs = outputs;
    return INSITU_OK;
}

insitu_status read_graph(reader_t *reader, const json_cursor_t *at, const archive_graph_t **out) {
    *out = NULL;
    archive_graph_t *graph;
    bitset_t defined;
    json_cursor_t member;
    TRY(arena_array(reader->arena, 1, sizeof(*graph), &graph));
    TRY(read_value_tables(reader, at, graph));
    TRY(bitset_create(&reader->scratch, graph->value_count, &defined));
    TRY(json_member(at, "inputs", &member));
    TRY(read_definitions(reader, graph, &defined, &member, &graph->inputs, &graph->input_count));
    TRY(json_member(at, "nodes", &member));
    TRY(read_nodes(reader, graph, &defined, &member));
    TRY(json_member(at, "outputs", &member));
    TRY(read_outputs(reader, graph, &defined, &member));
    if (json_optional(at, "is_single_tensor_return", &member)) TRY(json_bool(&member, &graph->single_tensor_return));
    *out = graph;
    return INSITU_OK;
}
