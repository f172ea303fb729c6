/* Expressions as infix text, printed and parsed: parse(print(x)) is x. Loosest first:
 *   or | and | not | == != < <= | << >> | + - | * // % / | unary - | number, symbol, true, name(a, b), (a) */
#include "core/core_int.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum level {
    LEVEL_ANY,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_SHIFT,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_UNARY,
    LEVEL_ATOM
} level_t;
enum { NUMBER_SIZE = 64, MAX_LEVELS = 4 * MAX_NESTING }; /* a node prints as an operator, a sign and parentheses */

static const char *const INFIX[] = {
#define SYM_OP(id, srepr, infix) infix,
#include "core/sym_ops.def"
#undef SYM_OP
};

static bool is_reserved_word(const char *name) {
    static const char *const words[] = {"and", "or", "not", "true", "false", "inf", "nan"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(name, words[i]) == 0) return true;
    return false;
}

/* ---- printing ---- */

static level_t level_of(sym_op_t op) {
    switch ((int)op) {
    case SYM_OR: return LEVEL_OR;
    case SYM_AND: return LEVEL_AND;
    case SYM_NOT: return LEVEL_NOT;
    case SYM_EQ:
    case SYM_NE:
    case SYM_LT:
    case SYM_LE:
    case SYM_GT:
    case SYM_GE: return LEVEL_COMPARE;
    case SYM_LSHIFT:
    case SYM_RSHIFT: return LEVEL_SHIFT;
    case SYM_ADD: return LEVEL_SUM;
    case SYM_MUL:
    case SYM_FLOORDIV:
    case SYM_MOD:
    case SYM_TRUEDIV: return LEVEL_PRODUCT;
    default: return LEVEL_ATOM;
    }
}

static void print_float(double value, text_t *out) {
    char digits[NUMBER_SIZE];
    if (isnan(value) || isinf(value)) {
        text_printf(out, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    bool whole = true;
    for (char *c = digits; *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (!plain) *c = '.'; /* whatever the locale's decimal point is */
        whole &= *c != '.' && *c != 'e';
    }
    text_printf(out, "%s%s", digits, whole ? ".0" : "");
}

static void print_constant(const sym_node_t *node, text_t *out) {
    if (node->kind == SYM_KIND_FLOAT)
        print_float(node->f, out);
    else if (node->kind == SYM_KIND_BOOL)
        text_printf(out, "%s", node->i ? "true" : "false");
    else
        text_printf(out, "%lld", (long long)node->i);
}

static void print_at(const sym_pool_t *pool, sym_t a, level_t least, text_t *out);

/* True if the node prints with a leading minus; then (with out) it is printed without it. */
static bool print_negated(const sym_pool_t *pool, sym_t a, text_t *out) {
    const sym_node_t *node = node_of(pool, a);
    const sym_node_t *first = node->op == SYM_MUL ? node_of(pool, node->args[0]) : node;
    if (first->op != SYM_CONST) return false;
    bool is_float = first->kind == SYM_KIND_FLOAT;
    if (is_float ? !signbit(first->f) || isnan(first->f) : first->i >= 0 || first->i == INT64_MIN) return false;
    if (!out) return true;
    bool unit = node->op == SYM_MUL && (is_float ? first->f == -1 : first->i == -1);
    if (unit && is_float) unit = sym_kind_of(pool, node->args[1]) == SYM_KIND_FLOAT; /* -s0 is an integer */
    if (unit && !is_float) unit = !is_op(pool, node->args[1], SYM_ADD); /* -(a + b) would be multiplied out */
    if (!unit && is_float) print_float(-first->f, out);
    if (!unit && !is_float) text_printf(out, "%lld", (long long)-first->i);
    for (uint32_t i = 1; i < node->arg_count; i++) {
        if (i > 1 || !unit) text_printf(out, "*");
        print_at(pool, node->args[i], LEVEL_UNARY, out);
    }
    return true;
}

static void print_sum(const sym_pool_t *pool, const sym_node_t *node, text_t *out) {
    print_at(pool, node->args[0], LEVEL_SUM, out);
    for (uint32_t i = 1; i < node->arg_count; i++) {
        bool negative = print_negated(pool, node->args[i], NULL);
        text_printf(out, negative ? " - " : " + ");
        if (negative)
            print_negated(pool, node->args[i], out);
        else
            print_at(pool, node->args[i], LEVEL_PRODUCT, out);
    }
}

static void print_product(const sym_pool_t *pool, sym_t a, text_t *out) {
    const sym_node_t *node = node_of(pool, a);
    if (print_negated(pool, a, NULL)) {
        text_printf(out, "-");
        print_negated(pool, a, out);
        return;
    }
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (i > 0) text_printf(out, "*");
        bool chain = i == 0 && is_op(pool, node->args[0], SYM_MUL);
        print_at(pool, node->args[i], chain ? LEVEL_PRODUCT : LEVEL_UNARY, out);
    }
}

static void print_operator(const sym_pool_t *pool, const sym_node_t *node, text_t *out) {
    level_t own = level_of((sym_op_t)node->op);
    level_t first = own == LEVEL_COMPARE ? LEVEL_SHIFT : own; /* comparisons don't chain */
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (i > 0) text_printf(out, " %s ", INFIX[node->op]);
        print_at(pool, node->args[i], i == 0 ? first : own + 1, out);
    }
}

static void print_call(const sym_pool_t *pool, const sym_node_t *node, text_t *out) {
    text_printf(out, "%s(", INFIX[node->op]);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (i > 0) text_printf(out, ", ");
        print_at(pool, node->args[i], LEVEL_ANY, out);
    }
    text_printf(out, ")");
}

static void print_at(const sym_pool_t *pool, sym_t a, level_t least, text_t *out) {
    const sym_node_t *node = node_of(pool, a);
    sym_op_t op = (sym_op_t)node->op;
    level_t own = level_of(op);
    bool single = (op == SYM_AND || op == SYM_OR) && node->arg_count == 1; /* the truth of a number */
    if (own == LEVEL_ATOM && op == SYM_CONST && print_negated(pool, a, NULL)) own = LEVEL_UNARY;
    bool parentheses = own < least;
    if (parentheses) text_printf(out, "(");
    if (op == SYM_CONST)
        print_constant(node, out);
    else if (op == SYM_SYMBOL)
        text_printf(out, "%s", pool->symbols[node->i].name);
    else if (op == SYM_ADD)
        print_sum(pool, node, out);
    else if (op == SYM_MUL)
        print_product(pool, a, out);
    else if (op == SYM_NOT) {
        text_printf(out, "not ");
        print_at(pool, node->args[0], LEVEL_NOT, out);
    } else if (own == LEVEL_ATOM)
        print_call(pool, node, out);
    else if (single) {
        print_at(pool, node->args[0], own + 1, out);
        text_printf(out, " %s %s", INFIX[op], op == SYM_AND ? "true" : "false");
    } else
        print_operator(pool, node, out);
    if (parentheses) text_printf(out, ")");
}

void sym_print(const sym_pool_t *pool, sym_t a, text_t *out) { print_at(pool, a, LEVEL_ANY, out); }

/* ---- parsing ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static const char *skip_spaces(const char *c) {
    while (*c == ' ') c++;
    return c;
}

static bool parse_float(const char *start, size_t size, double *out) {
    char digits[NUMBER_SIZE];
    const char *point = localeconv()->decimal_point;
    char *end = NULL;
    if (size >= sizeof digits || strlen(point) != 1) return false;
    for (size_t i = 0; i < size; i++) digits[i] = start[i] == '.' ? point[0] : start[i];
    digits[size] = '\0';
    *out = strtod(digits, &end);
    return *end == '\0';
}

bool sym_parse_number(const char **cursor, sym_value_t *out) {
    const char *c = *cursor;
    wide_t whole = 0;
    bool is_float = false;
    if (!is_digit(*c)) return false;
    for (; is_digit(*c); c++)
        if (whole <= INT64_MAX) whole = whole * 10 + (*c - '0');
    if (*c == '.') {
        is_float = true;
        for (c++; is_digit(*c); c++) {
        }
    }
    const char *exponent = *c == 'e' || *c == 'E' ? c + 1 + (c[1] == '+' || c[1] == '-') : NULL;
    if (exponent && is_digit(*exponent)) {
        is_float = true;
        for (c = exponent; is_digit(*c); c++) {
        }
    }
    if (is_float) {
        *out = (sym_value_t){.kind = SYM_KIND_FLOAT};
        if (!parse_float(*cursor, (size_t)(c - *cursor), &out->f)) return false;
    } else {
        if (whole > (wide_t)INT64_MAX + 1) return false;
        *out = (sym_value_t){.kind = SYM_KIND_INT, .i = whole > INT64_MAX ? INT64_MIN : (int64_t)whole};
    }
    *cursor = c;
    return true;
}

typedef struct parser {
    sym_pool_t *pool;
    const char *cursor;
    uint32_t depth;
    insitu_diag *diag;
} parser_t;

static insitu_status parse_level(parser_t *p, level_t least, sym_t *out);

static insitu_status parse_failed(parser_t *p, const char *what) {
    FAIL(p->diag, INSITU_FORMAT, "expression: %s at '%.40s'", what, p->cursor);
}

/* If the next token is the operator, moves past it. */
static bool take(parser_t *p, const char *token) {
    const char *c = skip_spaces(p->cursor);
    size_t size = strlen(token);
    if (strncmp(c, token, size) != 0) return false;
    if (is_letter(token[0]) && (is_letter(c[size]) || is_digit(c[size]))) return false;
    p->cursor = c + size;
    return true;
}

static insitu_status parse_signed_number(parser_t *p, bool negative, sym_t *out) {
    sym_value_t value;
    const char *start = p->cursor;
    if (!sym_parse_number(&p->cursor, &value)) return parse_failed(p, "a number out of range");
    if (value.kind == SYM_KIND_FLOAT)
        *out = sym_float(p->pool, negative ? -value.f : value.f);
    else if (value.i != INT64_MIN)
        *out = sym_int(p->pool, negative ? -value.i : value.i);
    else if (negative)
        *out = sym_int(p->pool, INT64_MIN);
    else {
        p->cursor = start;
        return parse_failed(p, "a number out of range");
    }
    return INSITU_OK;
}

static bool find_function(const char *name, sym_op_t *out) {
    for (uint32_t op = 0; op < SYM_OP_COUNT; op++) {
        if (!INFIX[op] || !is_letter(INFIX[op][0]) || level_of((sym_op_t)op) != LEVEL_ATOM) continue;
        if (strcmp(INFIX[op], name) != 0) continue;
        *out = (sym_op_t)op;
        return true;
    }
    return false;
}

bool sym_is_name(const char *name) {
    size_t size = 0;
    sym_op_t op;
    while (is_letter(name[size]) || is_digit(name[size])) size++;
    return size > 0 && size < NUMBER_SIZE && !name[size] && !is_digit(name[0]) && !is_reserved_word(name) &&
           !find_function(name, &op);
}

static bool takes_count(sym_op_t op, uint32_t count) {
    if (op == SYM_MAX || op == SYM_MIN) return count > 0;
    return count == (op == SYM_WHERE ? 3U : op == SYM_POW || op == SYM_BITAND || op == SYM_BITOR ? 2U : 1U);
}

static insitu_status parse_call(parser_t *p, const char *name, sym_t *out) {
    sym_t args[3];
    uint32_t count = 0;
    sym_op_t op;
    if (!find_function(name, &op)) return parse_failed(p, "unknown function before");
    do {
        if (count == COUNT_OF(args)) return parse_failed(p, "too many arguments");
        TRY(parse_level(p, LEVEL_ANY, &args[count++]));
        if (count < 2 || (op != SYM_MAX && op != SYM_MIN)) continue;
        args[0] = sym_make(p->pool, op, args, count);
        count = 1;
    } while (take(p, ","));
    if (!take(p, ")")) return parse_failed(p, "expected ')'");
    if (!takes_count(op, count)) return parse_failed(p, "wrong number of arguments before");
    *out = sym_make(p->pool, op, args, count);
    return INSITU_OK;
}

static insitu_status parse_name(parser_t *p, sym_t *out) {
    char name[NUMBER_SIZE];
    const char *start = p->cursor;
    size_t size = 0;
    while (is_letter(start[size]) || is_digit(start[size])) size++;
    if (size >= sizeof name) return parse_failed(p, "a name too long");
    memcpy(name, start, size);
    name[size] = '\0';
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        *out = sym_bool(p->pool, name[0] == 't');
    else if (strcmp(name, "inf") == 0)
        *out = sym_float(p->pool, (double)INFINITY);
    else if (strcmp(name, "nan") == 0)
        *out = sym_float(p->pool, (double)NAN);
    else if (is_reserved_word(name))
        return parse_failed(p, "expected a value");
    else if (start[size] == '(') {
        p->cursor = start + size + 1;
        return parse_call(p, name, out);
    } else if (!sym_is_name(name))
        return parse_failed(p, "expected the arguments of");
    else
        *out = sym_of_symbol(p->pool, sym_add_symbol(p->pool, name, SYM_KIND_INT, INT64_MIN, INT64_MAX));
    p->cursor = start + size;
    return INSITU_OK;
}

static insitu_status parse_atom(parser_t *p, sym_t *out) {
    p->cursor = skip_spaces(p->cursor);
    if (is_digit(*p->cursor)) return parse_signed_number(p, false, out);
    if (is_letter(*p->cursor)) return parse_name(p, out);
    if (!take(p, "(")) return parse_failed(p, "expected a value");
    TRY(parse_level(p, LEVEL_ANY, out));
    return take(p, ")") ? INSITU_OK : parse_failed(p, "expected ')'");
}

static insitu_status parse_prefix(parser_t *p, level_t least, sym_t *out) {
    sym_t operand;
    if (least <= LEVEL_NOT && take(p, "not")) {
        TRY(parse_level(p, LEVEL_NOT, &operand));
        *out = sym_make(p->pool, SYM_NOT, &operand, 1);
        return INSITU_OK;
    }
    if (!take(p, "-")) return parse_atom(p, out);
    if (is_digit(*p->cursor)) return parse_signed_number(p, true, out);
    TRY(parse_level(p, LEVEL_UNARY, &operand));
    *out = sym_mul(p->pool, sym_int(p->pool, -1), operand);
    return INSITU_OK;
}

typedef struct infix_operator {
    const char *token;
    sym_op_t op;
} infix_operator_t;

/* Longer tokens before their prefixes. */
static const infix_operator_t OPERATORS[] = {
    {"or", SYM_OR},     {"and", SYM_AND},     {"==", SYM_EQ}, {"!=", SYM_NE}, {"<<", SYM_LSHIFT},
    {">>", SYM_RSHIFT}, {"<=", SYM_LE},       {">=", SYM_GE}, {"<", SYM_LT},  {">", SYM_GT},
    {"+", SYM_ADD},     {"//", SYM_FLOORDIV}, {"*", SYM_MUL}, {"%", SYM_MOD}, {"/", SYM_TRUEDIV},
};

/* The operator that the text goes on with, if it binds at least as tightly; "-" is a sum, "->" is none. */
static bool take_operator(parser_t *p, level_t least, sym_op_t *out_op, bool *out_negate) {
    const char *next = skip_spaces(p->cursor);
    *out_negate = next[0] == '-' && next[1] != '>';
    *out_op = SYM_ADD;
    if (*out_negate) return least <= LEVEL_SUM && take(p, "-");
    for (size_t i = 0; i < COUNT_OF(OPERATORS); i++) {
        const char *before = p->cursor;
        if (!take(p, OPERATORS[i].token)) continue;
        *out_op = OPERATORS[i].op;
        if (level_of(*out_op) >= least) return true;
        p->cursor = before;
        return false;
    }
    return false;
}

/* The factors that follow a first "*", multiplied at once: what is too large to be multiplied out is read as printed. */
static insitu_status parse_factors(parser_t *p, sym_t *product) {
    enum { MAX_GATHERED = 80 };
    sym_t factors[MAX_GATHERED] = {*product};
    uint32_t count = 1;
    do {
        if (count == MAX_GATHERED) {
            factors[0] = sym_make(p->pool, SYM_MUL, factors, count);
            count = 1;
        }
        TRY(parse_level(p, LEVEL_UNARY, &factors[count++]));
    } while (take(p, "*"));
    *product = sym_make(p->pool, SYM_MUL, factors, count);
    return INSITU_OK;
}

static insitu_status parse_level(parser_t *p, level_t least, sym_t *out) {
    sym_op_t op;
    bool negate;
    if (++p->depth > MAX_LEVELS) FAIL(p->diag, INSITU_FORMAT, "expression: nested deeper than %d", MAX_NESTING);
    TRY(parse_prefix(p, least, out));
    while (take_operator(p, least, &op, &negate)) {
        sym_t right;
        if (op == SYM_MUL) {
            TRY(parse_factors(p, out));
            continue;
        }
        TRY(parse_level(p, level_of(op) + 1, &right));
        if (negate)
            *out = sym_sub(p->pool, *out, right);
        else
            *out = sym_make(p->pool, op, (sym_t[]){*out, right}, 2);
    }
    p->depth--;
    return INSITU_OK;
}

insitu_status sym_parse(sym_pool_t *pool, const char **cursor, sym_t *out, insitu_diag *diag) {
    parser_t p = {pool, *cursor, 0, diag};
    *out = (sym_t){0};
    TRY(parse_level(&p, LEVEL_ANY, out));
    *cursor = p.cursor;
    if (pool->too_large)
        FAIL(diag, INSITU_FORMAT, "expression: nested deeper than %d, too long, or with too large a number",
             MAX_NESTING);
    return sym_pool_status(pool, diag);
}
