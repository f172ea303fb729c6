/* Lexical parts of the graph parser: spaces, words, names, strings, numbers, expressions, and faults with their line. */
#include "graph/graph_int.h"

insitu_status parse_fault(const parser_t *parser, const char *format, ...) {
    uint32_t line = 1;
    for (const char *c = parser->start; c < parser->at; c++)
        if (*c == '\n') line++;
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return diag_set(parser->diag, INSITU_FORMAT, "line %u: %s", line, length < 0 ? "bad text" : sentence);
}

/* Puts the line before a sentence that core's parsers wrote. */
static insitu_status located(const parser_t *parser, insitu_status status, const insitu_diag *inner) {
    return status == INSITU_FORMAT ? parse_fault(parser, "%s", inner->message)
                                   : diag_set(parser->diag, status, "%s", inner->message);
}

void skip_spaces(parser_t *parser) {
    while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\r') parser->at++;
}

void skip_blank(parser_t *parser) {
    for (;;) {
        skip_spaces(parser);
        if (*parser->at == '#')
            while (*parser->at && *parser->at != '\n') parser->at++;
        if (*parser->at != '\n') return;
        parser->at++;
    }
}

bool take_char(parser_t *parser, char c) {
    skip_spaces(parser);
    if (*parser->at != c) return false;
    parser->at++;
    return true;
}

bool take_word(parser_t *parser, const char *word) {
    skip_spaces(parser);
    size_t size = strlen(word);
    if (strncmp(parser->at, word, size) != 0 || is_name_char(parser->at[size])) return false;
    parser->at += size;
    return true;
}

bool at_line_end(parser_t *parser) {
    skip_spaces(parser);
    return !*parser->at || *parser->at == '\n' || *parser->at == '#';
}

insitu_status expect_char(parser_t *parser, char c) {
    if (take_char(parser, c)) return INSITU_OK;
    return parse_fault(parser, "'%c' expected at '%.20s'", c, parser->at);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* The character after a backslash, or -1. */
static int unescape(parser_t *parser) {
    switch (*parser->at++) {
    case 'n': return '\n';
    case 't': return '\t';
    case '"': return '"';
    case '\\': return '\\';
    case 'x': {
        int high = hex_digit(parser->at[0]);
        int low = high < 0 ? -1 : hex_digit(parser->at[1]);
        if (low < 0) return -1;
        parser->at += 2;
        return high * 16 + low;
    }
    default: return -1;
    }
}

insitu_status parse_string(parser_t *parser, const char **out_string) {
    *out_string = NULL;
    TRY(expect_char(parser, '"'));
    size_t size = 0;
    while (parser->at[size] && parser->at[size] != '\n' && parser->at[size] != '"')
        size += parser->at[size] == '\\' && parser->at[size + 1] ? 2 : 1;
    char *string;
    TRY(arena_array(parser->scratch, size + 1, 1, &string));
    size_t used = 0;
    while (*parser->at != '"') {
        int c = (unsigned char)*parser->at;
        if (!c || c == '\n') return parse_fault(parser, "a string has no closing quote");
        parser->at++;
        if (c == '\\') c = unescape(parser);
        if (c <= 0) return parse_fault(parser, "a string has an unknown escape");
        string[used++] = (char)c;
    }
    parser->at++;
    *out_string = string;
    return INSITU_OK;
}

insitu_status parse_name(parser_t *parser, const char **out_name) {
    *out_name = NULL;
    skip_spaces(parser);
    if (*parser->at == '"') return parse_string(parser, out_name);
    size_t size = 0;
    while (is_name_char(parser->at[size])) size++;
    if (!size) return parse_fault(parser, "a name expected at '%.20s'", parser->at);
    TRY(arena_string(parser->scratch, parser->at, size, out_name));
    parser->at += size;
    return INSITU_OK;
}

insitu_status parse_integer(parser_t *parser, int64_t min, int64_t max, int64_t *out) {
    *out = 0;
    bool negative = take_char(parser, '-');
    skip_spaces(parser);
    const char *first = parser->at;
    int64_t value = 0;
    for (; *parser->at >= '0' && *parser->at <= '9'; parser->at++) {
        int64_t digit = *parser->at - '0';
        if (!checked_mul(value, 10, &value) || !checked_sub(value, digit, &value))
            return parse_fault(parser, "an integer is too large");
    }
    if (parser->at == first) return parse_fault(parser, "an integer expected at '%.20s'", parser->at);
    if (!negative && !checked_sub(0, value, &value)) return parse_fault(parser, "an integer is too large");
    if (value < min || value > max)
        return parse_fault(parser, "%lld is not in %lld to %lld", (long long)value, (long long)min, (long long)max);
    *out = value;
    return INSITU_OK;
}

/* After one of core's parsers, which add symbols that they don't know: a graph declares all of its symbols, known ones. */
static insitu_status end_core_parser(parser_t *parser, insitu_status status, uint32_t known, insitu_diag *inner) {
    if (status != INSITU_OK) return located(parser, status, inner);
    const sym_pool_t *symbols = parser->graph->symbols;
    if (symbols->symbol_count == known) return INSITU_OK;
    return parse_fault(parser, "'%s' is not declared as a symbol", symbols->symbols[known].name);
}

insitu_status parse_expression(parser_t *parser, sym_t *out) {
    insitu_diag inner;
    insitu_diag_init(&inner);
    skip_spaces(parser);
    uint32_t known = parser->graph->symbols->symbol_count;
    insitu_status status = sym_parse(parser->graph->symbols, &parser->at, out, &inner);
    return end_core_parser(parser, status, known, &inner);
}

insitu_status parse_type(parser_t *parser, tensor_type_t *out) {
    insitu_diag inner;
    insitu_diag_init(&inner);
    skip_spaces(parser);
    uint32_t known = parser->graph->symbols->symbol_count;
    insitu_status status = type_parse(parser->graph->symbols, &parser->at, out, &inner);
    return end_core_parser(parser, status, known, &inner);
}

insitu_status parse_double(parser_t *parser, double *out) {
    sym_t number;
    *out = 0;
    TRY(parse_expression(parser, &number));
    if (sym_constant_float(parser->graph->symbols, number, out)) return INSITU_OK;
    return parse_fault(parser, "a number expected");
}
