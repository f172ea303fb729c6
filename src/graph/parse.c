/* Text into a graph: the inverse of print.c, which has the grammar. Structure is checked by graph_verify, not here. */
#include "graph/graph_int.h"

static insitu_status keep(parser_t *parser, const char **string) {
    return arena_string(graph_arena(parser->graph), *string, strlen(*string), string);
}

/* One more item of an array that is counted apart from its capacity. */
static insitu_status add_item(parser_t *parser, void *items_pointer, uint32_t count, uint32_t *capacity, size_t size) {
    return arena_grow(graph_arena(parser->graph), items_pointer, capacity, (size_t)count + 1, size);
}

typedef struct capacities {
    uint32_t asserts, records, weights, inputs;
} capacities_t;

static insitu_status parse_bound(parser_t *parser, int64_t open, const char *word, int64_t *out) {
    skip_spaces(parser);
    size_t size = strlen(word);
    *out = open;
    if (strncmp(parser->at, word, size) != 0) return parse_integer(parser, INT64_MIN, INT64_MAX, out);
    parser->at += size;
    return INSITU_OK;
}

static insitu_status parse_symbol(parser_t *parser) {
    const char *name;
    sym_pool_t *symbols = parser->graph->symbols;
    int64_t min = INT64_MIN, max = INT64_MAX;
    sym_kind_t kind = SYM_KIND_INT;
    TRY(parse_name(parser, &name));
    if (!is_symbol_name(name)) return parse_fault(parser, "'%s' can't be the name of a symbol", name);
    if (sym_find_symbol(symbols, name) != NONE) return parse_fault(parser, "symbol '%s' is declared twice", name);
    TRY(expect_char(parser, ':'));
    if (take_word(parser, "float"))
        kind = SYM_KIND_FLOAT;
    else if (take_word(parser, "bool"))
        kind = SYM_KIND_BOOL;
    else if (!take_word(parser, "int"))
        return parse_fault(parser, "int, float or bool expected");
    if (kind == SYM_KIND_INT) {
        TRY(expect_char(parser, '['));
        TRY(parse_bound(parser, INT64_MIN, "-oo", &min));
        TRY(expect_char(parser, ','));
        TRY(parse_bound(parser, INT64_MAX, "oo", &max));
        TRY(expect_char(parser, ']'));
        if (min > max) return parse_fault(parser, "the range of symbol '%s' is empty", name);
    }
    sym_add_symbol(symbols, name, kind, min, max);
    return sym_pool_status(symbols, parser->diag);
}

static insitu_status parse_assert(parser_t *parser, capacities_t *capacities) {
    graph_t *graph = parser->graph;
    graph_assert_t item;
    TRY(parse_expression(parser, &item.condition));
    TRY(expect_char(parser, ','));
    TRY(parse_string(parser, &item.message));
    TRY(keep(parser, &item.message));
    TRY(add_item(parser, &graph->asserts, graph->assert_count, &capacities->asserts, sizeof(item)));
    graph->asserts[graph->assert_count++] = item;
    return INSITU_OK;
}

static insitu_status parse_record(parser_t *parser, capacities_t *capacities) {
    graph_t *graph = parser->graph;
    weight_record_t item = {0};
    const char *type;
    int64_t size;
    TRY(parse_string(parser, &item.name));
    TRY(keep(parser, &item.name));
    TRY(expect_char(parser, ':'));
    TRY(parse_name(parser, &type));
    if (!dtype_parse(type, &item.dtype)) return parse_fault(parser, "'%s' is not a dtype", type);
    TRY(parse_integer(parser, 0, INT64_MAX, &size));
    item.size = (size_t)size;
    if (!take_word(parser, "bytes")) return parse_fault(parser, "'bytes' expected");
    TRY(add_item(parser, &graph->records, graph->record_count, &capacities->records, sizeof(item)));
    graph->records[graph->record_count++] = item;
    return INSITU_OK;
}

static insitu_status parse_weight(parser_t *parser, capacities_t *capacities) {
    graph_t *graph = parser->graph;
    graph_weight_t item = {.record = NONE};
    int64_t record = NONE;
    TRY(parse_string(parser, &item.name));
    TRY(keep(parser, &item.name));
    TRY(expect_char(parser, ':'));
    TRY(parse_type(parser, &item.type));
    if (take_word(parser, "record")) TRY(parse_integer(parser, 0, NONE - 1, &record));
    item.record = (uint32_t)record;
    TRY(add_item(parser, &graph->weights, graph->weight_count, &capacities->weights, sizeof(item)));
    graph->weights[graph->weight_count++] = item;
    return INSITU_OK;
}

/* "%name: type" */
static insitu_status parse_result(parser_t *parser, value_id_t *out_value) {
    static const char *const kinds[] = {"int", "float", "bool"};
    graph_t *graph = parser->graph;
    const char *name;
    *out_value = NO_VALUE;
    TRY(expect_char(parser, '%'));
    TRY(parse_name(parser, &name));
    if (map_find(&graph->names, name) != NONE) return parse_fault(parser, "'%%%s' is defined twice", name);
    TRY(expect_char(parser, ':'));
    if (take_word(parser, "none")) return graph_add_none(graph, name, out_value);
    for (uint32_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        skip_spaces(parser);
        size_t size = strlen(kinds[kind]);
        if (strncmp(parser->at, kinds[kind], size) != 0 || parser->at[size] != '(') continue;
        sym_t expr;
        parser->at += size + 1;
        TRY(parse_expression(parser, &expr));
        TRY(expect_char(parser, ')'));
        if (sym_kind_of(graph->symbols, expr) != (sym_kind_t)kind)
            return parse_fault(parser, "the expression of '%%%s' is no %s", name, kinds[kind]);
        return graph_add_sym(graph, name, expr, out_value);
    }
    tensor_type_t type;
    TRY(parse_type(parser, &type));
    return graph_add_tensor(graph, name, &type, out_value);
}

static insitu_status parse_weight_input(parser_t *parser, graph_input_t *input) {
    int64_t weight = NONE;
    TRY(parse_string(parser, &input->fqn));
    TRY(keep(parser, &input->fqn));
    input->persistent = take_word(parser, "persistent");
    if (take_word(parser, "weight")) TRY(parse_integer(parser, 0, NONE - 1, &weight));
    input->weight = (uint32_t)weight;
    return INSITU_OK;
}

static insitu_status parse_input(parser_t *parser, capacities_t *capacities) {
    graph_t *graph = parser->graph;
    graph_input_t input = {.value = NO_VALUE, .fqn = "", .weight = NONE, .user_index = -1};
    skip_spaces(parser);
    if (*parser->at == '%') {
        TRY(parse_result(parser, &input.value));
        input.name = graph_value_of(graph, input.value)->name;
    } else {
        TRY(parse_name(parser, &input.name));
        TRY(keep(parser, &input.name));
        TRY(expect_char(parser, '='));
        TRY(parse_arg(parser, &input.constant));
    }
    if (take_word(parser, "user")) {
        int64_t position;
        TRY(parse_integer(parser, -1, INT32_MAX, &position));
        input.user_index = (int32_t)position;
    } else {
        if (take_word(parser, "parameter"))
            input.kind = INPUT_PARAMETER;
        else if (take_word(parser, "buffer"))
            input.kind = INPUT_BUFFER;
        else if (take_word(parser, "constant"))
            input.kind = INPUT_CONSTANT;
        else
            return parse_fault(parser, "user, parameter, buffer or constant expected");
        TRY(parse_weight_input(parser, &input));
    }
    if (take_word(parser, "as")) {
        TRY(parse_string(parser, &input.name));
        TRY(keep(parser, &input.name));
    }
    TRY(add_item(parser, &graph->inputs, graph->input_count, &capacities->inputs, sizeof(input)));
    graph->inputs[graph->input_count++] = input;
    return INSITU_OK;
}

static insitu_status parse_output(parser_t *parser) {
    graph_t *graph = parser->graph;
    graph_output_t output = {.kind = RESULT_USER, .target = NONE, .user_index = -1};
    int64_t number;
    TRY(parse_arg(parser, &output.arg));
    if (take_word(parser, "user")) {
        TRY(parse_integer(parser, -1, INT32_MAX, &number));
        output.user_index = (int32_t)number;
        if (take_word(parser, "as")) {
            TRY(parse_string(parser, &output.name));
            TRY(keep(parser, &output.name));
        }
        return graph_add_output(graph, &output);
    }
    if (!take_word(parser, "mutates")) return parse_fault(parser, "user or mutates expected");
    output.kind = RESULT_MUTATION;
    skip_spaces(parser);
    if (*parser->at != '%') {
        TRY(parse_integer(parser, 0, NONE - 1, &number));
        output.target = (uint32_t)number;
        return graph_add_output(graph, &output);
    }
    value_id_t target;
    TRY(parse_value(parser, &target));
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].value.index == target.index) output.target = i;
    if (output.target == NONE)
        return parse_fault(parser, "'%%%s' is not an input", graph_value_of(graph, target)->name);
    return graph_add_output(graph, &output);
}

/* What follows "#" on a node's line. */
static insitu_status parse_source(parser_t *parser, const char **out_source) {
    *out_source = "";
    if (!take_char(parser, '#')) return INSITU_OK;
    skip_spaces(parser);
    if (*parser->at == '"') {
        TRY(parse_string(parser, out_source));
    } else {
        size_t size = 0;
        while (parser->at[size] && parser->at[size] != '\n') size++;
        const char *text = parser->at;
        parser->at += size;
        while (size && (text[size - 1] == ' ' || text[size - 1] == '\r')) size--;
        TRY(arena_string(parser->scratch, text, size, out_source));
    }
    return keep(parser, out_source);
}

static insitu_status parse_node(parser_t *parser) {
    graph_t *graph = parser->graph;
    value_id_t *results = NULL;
    uint32_t count = 0, capacity = 0;
    skip_spaces(parser);
    if (*parser->at == '%') {
        do {
            TRY(arena_grow(parser->scratch, &results, &capacity, (size_t)count + 1, sizeof(value_id_t)));
            TRY(parse_result(parser, &results[count++]));
        } while (take_char(parser, ','));
        TRY(expect_char(parser, '='));
    }
    const char *target;
    node_id_t id;
    TRY(parse_name(parser, &target));
    TRY(graph_add_node(graph, target, results, count, "", &id));
    TRY(parse_args(parser, graph_node_of(graph, id)));
    graph_node_t *node = graph_node_of(graph, id);
    if (take_char(parser, '@')) {
        TRY(parse_name(parser, &node->name));
        TRY(keep(parser, &node->name));
    }
    TRY(parse_source(parser, &node->source));
    return graph_append(graph, id);
}

static insitu_status parse_line(parser_t *parser, capacities_t *capacities, bool outermost) {
    const char *before = parser->at;
    bool known = true;
    insitu_status status = INSITU_OK;
    if (outermost && take_word(parser, "symbol"))
        status = parse_symbol(parser);
    else if (outermost && take_word(parser, "assert"))
        status = parse_assert(parser, capacities);
    else if (outermost && take_word(parser, "record"))
        status = parse_record(parser, capacities);
    else if (outermost && take_word(parser, "weight"))
        status = parse_weight(parser, capacities);
    else if (take_word(parser, "input"))
        status = parse_input(parser, capacities);
    else if (take_word(parser, "output"))
        status = parse_output(parser);
    else
        known = false;
    if (status != INSITU_OK) return status;
    if (!known) {
        parser->at = before;
        TRY(parse_node(parser));
    }
    if (!at_line_end(parser)) return parse_fault(parser, "'%.20s' after the end of the line's statement", parser->at);
    return INSITU_OK;
}

insitu_status parse_body(parser_t *parser, graph_t *graph) {
    capacities_t capacities = {0};
    bool outermost = graph->root == graph;
    if (!take_word(parser, "graph")) return parse_fault(parser, "'graph' expected at '%.20s'", parser->at);
    graph->functional = take_word(parser, "functional");
    if (outermost && take_word(parser, "on"))
        graph->device = take_word(parser, "cuda") ? GRAPH_ON_CUDA : GRAPH_ON_OTHERS;
    if (graph->device == GRAPH_ON_OTHERS && !take_word(parser, "others"))
        return parse_fault(parser, "'cuda' or 'others' expected at '%.20s'", parser->at);
    TRY(expect_char(parser, '{'));
    parser->graph = graph;
    for (skip_blank(parser); *parser->at != '}'; skip_blank(parser)) {
        if (!*parser->at) return parse_fault(parser, "a graph has no closing brace");
        TRY(parse_line(parser, &capacities, outermost));
    }
    parser->at++;
    return INSITU_OK;
}

static insitu_status parse_all(parser_t *parser, graph_t *graph) {
    skip_blank(parser);
    TRY(parse_body(parser, graph));
    skip_blank(parser);
    if (*parser->at) return parse_fault(parser, "'%.20s' after the graph's closing brace", parser->at);
    return sym_pool_status(graph->symbols, parser->diag);
}

insitu_status graph_parse(const char *source, graph_t **out_graph, insitu_diag *diag) {
    graph_t *graph;
    arena_t scratch;
    *out_graph = NULL;
    TRY(graph_create(&graph));
    arena_init(&scratch);
    parser_t parser = {.start = source, .at = source, .graph = graph, .scratch = &scratch, .diag = diag};
    insitu_status status = parse_all(&parser, graph);
    arena_release(&scratch);
    if (status != INSITU_OK) {
        graph_destroy(graph);
        return diag_complete(diag, status);
    }
    *out_graph = graph;
    return INSITU_OK;
}
