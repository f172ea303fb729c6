/* Arguments of nodes. */
#include "graph/graph_int.h"

insitu_status parse_value(parser_t *parser, value_id_t *out_value) {
    const char *name;
    *out_value = NO_VALUE;
    TRY(expect_char(parser, '%'));
    TRY(parse_name(parser, &name));
    out_value->index = map_find(&parser->graph->names, name);
    if (out_value->index == NONE) return parse_fault(parser, "'%%%s' is not defined", name);
    return INSITU_OK;
}

static insitu_status parse_list(parser_t *parser, graph_arg_t *out_arg) {
    uint32_t capacity = 0;
    *out_arg = (graph_arg_t){.kind = ARG_LIST};
    TRY(expect_char(parser, '['));
    if (++parser->depth >= MAX_NESTING) return parse_fault(parser, "lists are nested too deeply");
    while (!take_char(parser, ']')) {
        if (out_arg->list.count) TRY(expect_char(parser, ','));
        graph_arg_t item;
        TRY(parse_arg(parser, &item));
        TRY(arena_grow(graph_arena(parser->graph), &out_arg->list.items, &capacity, (size_t)out_arg->list.count + 1,
                       sizeof(graph_arg_t)));
        out_arg->list.items[out_arg->list.count++] = item;
    }
    parser->depth--;
    return INSITU_OK;
}

static insitu_status parse_subgraph(parser_t *parser, graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_GRAPH};
    if (++parser->depth >= MAX_NESTING) return parse_fault(parser, "graphs are nested too deeply");
    TRY(graph_create_subgraph(parser->graph, &out_arg->graph));
    graph_t *outer = parser->graph;
    TRY(parse_body(parser, out_arg->graph));
    parser->graph = outer;
    parser->depth--;
    return INSITU_OK;
}

/* The string, in the graph's arena. */
static insitu_status parse_kept_string(parser_t *parser, const char **out_string) {
    TRY(parse_string(parser, out_string));
    return arena_string(graph_arena(parser->graph), *out_string, strlen(*out_string), out_string);
}

static insitu_status parse_complex(parser_t *parser, graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_COMPLEX};
    TRY(expect_char(parser, '('));
    TRY(parse_double(parser, &out_arg->complex.re));
    TRY(expect_char(parser, ','));
    TRY(parse_double(parser, &out_arg->complex.im));
    return expect_char(parser, ')');
}

/* The word ahead if it is one of those with a meaning of their own; the rest are expressions. */
static insitu_status parse_word_arg(parser_t *parser, graph_arg_t *out_arg, bool *out_taken) {
    char word[64];
    size_t size = 0;
    while (is_name_char(parser->at[size]) && size < sizeof(word) - 1) {
        word[size] = parser->at[size];
        size++;
    }
    word[size] = 0;
    char next = parser->at[size];
    const char *before = parser->at;
    *out_taken = true;
    parser->at += size;
    dtype_t type;
    if (strcmp(word, "graph") == 0) {
        parser->at = before;
        return parse_subgraph(parser, out_arg);
    }
    if (next == '(') {
        if (strcmp(word, "complex") == 0) return parse_complex(parser, out_arg);
        if (strcmp(word, "device") == 0) {
            out_arg->kind = ARG_DEVICE;
            TRY(expect_char(parser, '('));
            TRY(parse_kept_string(parser, &out_arg->string));
            return expect_char(parser, ')');
        }
    } else if (strcmp(word, "none") == 0) {
        out_arg->kind = ARG_NONE;
        return INSITU_OK;
    } else if (dtype_parse(word, &type)) {
        *out_arg = (graph_arg_t){.kind = ARG_DTYPE, .dtype = type};
        return INSITU_OK;
    } else if (layout_number(word) >= 0) {
        *out_arg = (graph_arg_t){.kind = ARG_LAYOUT, .number = layout_number(word)};
        return INSITU_OK;
    } else if (memory_format_number(word) >= 0) {
        *out_arg = (graph_arg_t){.kind = ARG_MEMORY_FORMAT, .number = memory_format_number(word)};
        return INSITU_OK;
    }
    parser->at = before;
    *out_taken = false;
    return INSITU_OK;
}

insitu_status parse_arg(parser_t *parser, graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_ABSENT};
    skip_spaces(parser);
    switch (*parser->at) {
    case '%': out_arg->kind = ARG_VALUE; return parse_value(parser, &out_arg->value);
    case '"': out_arg->kind = ARG_STRING; return parse_kept_string(parser, &out_arg->string);
    case '[': return parse_list(parser, out_arg);
    default: break;
    }
    bool taken;
    TRY(parse_word_arg(parser, out_arg, &taken));
    if (taken) return INSITU_OK;
    out_arg->kind = ARG_SYM;
    return parse_expression(parser, &out_arg->sym);
}

/* "name=" ahead is taken; else nothing is, and the name is NULL. */
static insitu_status parse_arg_name(parser_t *parser, const char **out_name) {
    *out_name = NULL;
    skip_spaces(parser);
    if (*parser->at != '"' && !is_name_char(*parser->at)) return INSITU_OK;
    const char *before = parser->at;
    TRY(parse_name(parser, out_name));
    if (parser->at[0] == '=' && parser->at[1] != '=') {
        parser->at++;
        return INSITU_OK;
    }
    parser->at = before;
    *out_name = NULL;
    return INSITU_OK;
}

static insitu_status place_by_schema(parser_t *parser, graph_node_t *node, const char *name, uint32_t position,
                                     graph_arg_t arg) {
    if (name) position = schema_arg_index(node->schema, name);
    if (position >= node->arg_count) {
        return name ? parse_fault(parser, "%s has no argument '%s'", node->target, name)
                    : parse_fault(parser, "%s has only %u arguments", node->target, node->arg_count);
    }
    if (node->args[position].kind != ARG_ABSENT)
        return parse_fault(parser, "%s is given argument '%s' twice", node->target, node->schema->args[position].name);
    node->args[position] = arg;
    return INSITU_OK;
}

static insitu_status place_as_written(parser_t *parser, graph_node_t *node, uint32_t *capacity, const char *name,
                                      graph_arg_t arg) {
    arena_t *arena = graph_arena(parser->graph);
    uint32_t names_capacity = *capacity;
    TRY(arena_grow(arena, &node->arg_names, &names_capacity, (size_t)node->arg_count + 1, sizeof(char *)));
    TRY(arena_grow(arena, &node->args, capacity, (size_t)node->arg_count + 1, sizeof(graph_arg_t)));
    if (!name) name = "";
    TRY(arena_string(arena, name, strlen(name), &node->arg_names[node->arg_count]));
    node->args[node->arg_count++] = arg;
    return INSITU_OK;
}

insitu_status parse_args(parser_t *parser, graph_node_t *node) {
    uint32_t capacity = 0, position = 0;
    bool named = false;
    TRY(expect_char(parser, '('));
    while (!take_char(parser, ')')) {
        if (position) TRY(expect_char(parser, ','));
        const char *name;
        graph_arg_t arg;
        TRY(parse_arg_name(parser, &name));
        TRY(parse_arg(parser, &arg));
        if (node->schema) {
            if (!name && named) return parse_fault(parser, "a bare argument follows a named one");
            TRY(place_by_schema(parser, node, name, position, arg));
        } else
            TRY(place_as_written(parser, node, &capacity, name, arg));
        named = name != NULL;
        position++;
    }
    return INSITU_OK;
}
