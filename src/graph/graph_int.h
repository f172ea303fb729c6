/* graph, inside: words and lexical rules that the printer, the parser and the builder share. */
#ifndef GRAPH_INT_H
#define GRAPH_INT_H

#include "graph/graph.h"

/* ---- words of the text form (keywords.c). Numbers are those of the .pt2 format ---- */
const char *layout_word(int32_t number);        /* NULL: no such layout */
const char *memory_format_word(int32_t number); /* NULL: no such format */
int32_t layout_number(const char *word);        /* -1: none */
int32_t memory_format_number(const char *word); /* -1: none */
/* A word with a meaning of its own where an argument is expected: an expression that begins with a symbol of that name
 * is written in parentheses there. */
bool is_argument_word(const char *word);
bool is_symbol_name(const char *name); /* [A-Za-z_][A-Za-z0-9_]* and not reserved */
bool is_bare_name(const char *name);   /* letters, digits, '_' and '.': needs no quotes */
static inline bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

const char *input_kind_word(graph_input_kind_t kind); /* "user", "parameter", "buffer", "constant" */

/* ---- schemas (schema_fit.c) ---- */
/* Whether an argument, or an item of a list, that is not None is what the schema says. */
bool arg_fits(const sym_pool_t *symbols, const schema_arg_t *wanted, const graph_arg_t *arg);

/* ---- parsing (parse.c; arguments in parse_args.c, the lexer in parse_lex.c) ---- */
typedef struct parser {
    const char *start; /* of the whole text */
    const char *at;
    graph_t *graph; /* being filled */
    arena_t *scratch;
    uint32_t depth;
    insitu_diag *diag;
} parser_t;
/* FORMAT with the line number. */
insitu_status parse_fault(const parser_t *parser, const char *format, ...) PRINTF_LIKE(2, 3);
void skip_spaces(parser_t *parser);                 /* not line ends */
void skip_blank(parser_t *parser);                  /* spaces, line ends, comment lines */
bool take_char(parser_t *parser, char c);           /* after spaces */
bool take_word(parser_t *parser, const char *word); /* a whole word, after spaces */
bool at_line_end(parser_t *parser);                 /* end of line, of text, or a comment */
MUST_CHECK insitu_status expect_char(parser_t *parser, char c);
MUST_CHECK insitu_status parse_name(parser_t *parser, const char **out_name);     /* bare or quoted; in scratch */
MUST_CHECK insitu_status parse_string(parser_t *parser, const char **out_string); /* quoted; in scratch */
MUST_CHECK insitu_status parse_integer(parser_t *parser, int64_t min, int64_t max, int64_t *out);
MUST_CHECK insitu_status parse_double(parser_t *parser, double *out);
MUST_CHECK insitu_status parse_type(parser_t *parser, tensor_type_t *out);
/* An expression over declared symbols. */
MUST_CHECK insitu_status parse_expression(parser_t *parser, sym_t *out);
MUST_CHECK insitu_status parse_value(parser_t *parser, value_id_t *out_value); /* %name of a value that is defined */
MUST_CHECK insitu_status parse_arg(parser_t *parser, graph_arg_t *out_arg);
MUST_CHECK insitu_status parse_args(parser_t *parser, graph_node_t *node); /* "(" ... ")" */
/* "{" ... "}" into graph. */
MUST_CHECK insitu_status parse_body(parser_t *parser, graph_t *graph);

#endif
