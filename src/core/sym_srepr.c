/* Reads SymPy's constructor notation, as .pt2 files hold it: Add(Symbol('s77', integer=True), Integer(-9)).
 *
 * SymPy's integers divide to rationals (Mul(Rational(1, 2), Add(s, s*s))), so values are read as quotients of two
 * expressions; where a function or the whole needs one expression, the division is exact and becomes a floor division
 * (integers) or a true division (where a float is meant). */
#include "core/core_int.h"
#include <math.h>
#include <string.h>

enum { MAX_SREPR_ARGS = 32, SREPR_NAME = 64 }; /* longer sums and the like are folded as they are read */

typedef struct quotient {
    sym_t over, under;
} quotient_t;

typedef struct srepr {
    sym_pool_t *pool;
    const char *start, *cursor;
    uint32_t depth;
    insitu_diag *diag;
} srepr_t;

static insitu_status parse_value(srepr_t *s, quotient_t *out);

static insitu_status srepr_failed(srepr_t *s, const char *what) {
    FAIL(s->diag, INSITU_FORMAT, "expression '%.200s': %s at '%.40s'", s->start, what, s->cursor);
}

/* ---- quotients ---- */

static quotient_t whole(srepr_t *s, sym_t a) { return (quotient_t){a, sym_int(s->pool, 1)}; }
static bool is_whole(quotient_t q) { return q.under.id == 1; }

static sym_t as_integer(srepr_t *s, quotient_t q) {
    return is_whole(q) ? q.over : sym_floordiv(s->pool, q.over, q.under);
}

static sym_t as_number(srepr_t *s, quotient_t q) {
    return is_whole(q) ? q.over : sym_make(s->pool, SYM_TRUEDIV, (sym_t[]){q.over, q.under}, 2);
}

static bool is_float(srepr_t *s, quotient_t q) { return sym_kind_of(s->pool, q.over) == SYM_KIND_FLOAT; }

static quotient_t add_quotients(srepr_t *s, quotient_t a, quotient_t b) {
    if (is_float(s, a) || is_float(s, b)) return whole(s, sym_add(s->pool, as_number(s, a), as_number(s, b)));
    if (sym_same(a.under, b.under)) return (quotient_t){sym_add(s->pool, a.over, b.over), a.under};
    sym_t left = sym_mul(s->pool, a.over, b.under), right = sym_mul(s->pool, b.over, a.under);
    return (quotient_t){sym_add(s->pool, left, right), sym_mul(s->pool, a.under, b.under)};
}

static quotient_t multiply_quotients(srepr_t *s, quotient_t a, quotient_t b) {
    if (is_float(s, a) || is_float(s, b)) return whole(s, sym_mul(s->pool, as_number(s, a), as_number(s, b)));
    return (quotient_t){sym_mul(s->pool, a.over, b.over), sym_mul(s->pool, a.under, b.under)};
}

/* ---- tokens ---- */

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void skip(srepr_t *s) {
    while (*s->cursor == ' ') s->cursor++;
}

static bool take_char(srepr_t *s, char c) {
    skip(s);
    if (*s->cursor != c) return false;
    s->cursor++;
    return true;
}

static insitu_status expect(srepr_t *s, char c) {
    char what[] = "expected '?'";
    what[10] = c;
    return take_char(s, c) ? INSITU_OK : srepr_failed(s, what);
}

static insitu_status parse_word(srepr_t *s, char out[SREPR_NAME]) {
    size_t size = 0;
    skip(s);
    while (is_name_char(s->cursor[size])) size++;
    if (size == 0 || size >= SREPR_NAME) return srepr_failed(s, "expected a name");
    memcpy(out, s->cursor, size);
    out[size] = '\0';
    s->cursor += size;
    return INSITU_OK;
}

/* 'text' or "text" */
static insitu_status parse_quoted(srepr_t *s, char out[SREPR_NAME]) {
    skip(s);
    char quote = *s->cursor;
    if (quote != '\'' && quote != '"') return srepr_failed(s, "expected a string");
    const char *end = strchr(s->cursor + 1, quote);
    size_t size = end ? (size_t)(end - s->cursor - 1) : 0;
    if (!end || size >= SREPR_NAME) return srepr_failed(s, "a string without an end or too long");
    memcpy(out, s->cursor + 1, size);
    out[size] = '\0';
    s->cursor = end + 1;
    return INSITU_OK;
}

static insitu_status parse_integer(srepr_t *s, int64_t *out) {
    skip(s);
    bool negative = take_char(s, '-');
    sym_value_t value;
    if (!sym_parse_number(&s->cursor, &value) || value.kind != SYM_KIND_INT || (value.i == INT64_MIN && !negative))
        return srepr_failed(s, "expected a 64-bit integer");
    *out = negative && value.i != INT64_MIN ? -value.i : value.i;
    return INSITU_OK;
}

/* Keyword arguments up to the closing parenthesis, which say nothing that matters here. */
static insitu_status skip_keywords(srepr_t *s) {
    char word[SREPR_NAME];
    while (take_char(s, ',')) {
        TRY(parse_word(s, word));
        TRY(expect(s, '='));
        TRY(parse_word(s, word));
    }
    return expect(s, ')');
}

/* ---- literals ---- */

static insitu_status symbol_named(srepr_t *s, const char *name, quotient_t *out) {
    if (!sym_is_name(name)) return srepr_failed(s, "a symbol's name that is no name before");
    sym_kind_t kind = strncmp(name, "zf", 2) == 0 || strncmp(name, "zuf", 3) == 0 ? SYM_KIND_FLOAT : SYM_KIND_INT;
    uint32_t index = sym_add_symbol(s->pool, name, kind, INT64_MIN, INT64_MAX);
    *out = whole(s, sym_of_symbol(s->pool, index));
    return INSITU_OK;
}

static insitu_status parse_symbol(srepr_t *s, quotient_t *out) {
    char name[SREPR_NAME];
    TRY(parse_quoted(s, name));
    TRY(symbol_named(s, name, out));
    return skip_keywords(s);
}

static insitu_status parse_rational(srepr_t *s, quotient_t *out) {
    int64_t over, under;
    TRY(parse_integer(s, &over));
    TRY(expect(s, ','));
    TRY(parse_integer(s, &under));
    if (under <= 0) return srepr_failed(s, "a denominator that is not positive before");
    *out = (quotient_t){sym_int(s->pool, over), sym_int(s->pool, under)};
    return expect(s, ')');
}

/* Float('0.5', precision=53): at most 53 bits, so that the decimal digits give the double back. */
static insitu_status parse_float_call(srepr_t *s, quotient_t *out) {
    char digits[SREPR_NAME];
    sym_value_t value;
    TRY(parse_quoted(s, digits));
    bool negative = digits[0] == '-';
    const char *at = digits + (digits[0] == '-' || digits[0] == '+');
    if (strcmp(at, "inf") == 0)
        value = (sym_value_t){.kind = SYM_KIND_FLOAT, .f = (double)INFINITY};
    else if (strcmp(at, "nan") == 0)
        value = (sym_value_t){.kind = SYM_KIND_FLOAT, .f = (double)NAN};
    else if (!sym_parse_number(&at, &value) || *at)
        return srepr_failed(s, "a float out of range before");
    double number = value_as_double(value);
    *out = whole(s, sym_float(s->pool, negative ? -number : number));
    return skip_keywords(s);
}

/* ---- functions ---- */

typedef enum form {
    FORM_OP,       /* an operator of sym_ops.def, over integers unless a float is among them */
    FORM_FLOAT_OP, /* the same over numbers: quotients become true divisions */
    FORM_SYMBOL,
    FORM_INTEGER,
    FORM_RATIONAL,
    FORM_FLOAT,
    FORM_ADD,
    FORM_MUL,
    FORM_POW,
    FORM_FLOORDIV,
    FORM_CEILDIV,
    FORM_MODULAR,
    FORM_COMPARE,
    FORM_FLOOR,
    FORM_CEILING,
    FORM_TRUNC_FLOAT,
    FORM_ROUND_DECIMAL,
    FORM_FLOAT_POW,
    FORM_IDENTITY,
    FORM_PIECEWISE,
    FORM_DENSE
} form_t;

typedef struct function_row {
    const char *name;
    form_t form;
    sym_op_t op;
    uint32_t min_args, max_args;
} function_row_t;

/* Names that are not those of sym_ops.def, or that need more than its operator. */
static const function_row_t FUNCTIONS[] = {
    {"Symbol", FORM_SYMBOL, SYM_SYMBOL, 1, 1},
    {"Integer", FORM_INTEGER, SYM_CONST, 1, 1},
    {"Rational", FORM_RATIONAL, SYM_CONST, 2, 2},
    {"Float", FORM_FLOAT, SYM_CONST, 1, 1},
    {"Add", FORM_ADD, SYM_ADD, 0, MAX_SREPR_ARGS},
    {"Mul", FORM_MUL, SYM_MUL, 0, MAX_SREPR_ARGS},
    {"Pow", FORM_POW, SYM_POW, 2, 2},
    {"PowByNatural", FORM_OP, SYM_POW, 2, 2},
    {"FloatPow", FORM_FLOAT_POW, SYM_POW, 2, 2},
    {"FloorDiv", FORM_FLOORDIV, SYM_FLOORDIV, 2, 2},
    {"CleanDiv", FORM_FLOORDIV, SYM_FLOORDIV, 2, 2},
    {"CeilDiv", FORM_CEILDIV, SYM_FLOORDIV, 2, 2},
    {"Mod", FORM_OP, SYM_MOD, 2, 2},
    {"ModularIndexing", FORM_MODULAR, SYM_MOD, 3, 3},
    {"IntTrueDiv", FORM_FLOAT_OP, SYM_TRUEDIV, 2, 2},
    {"floor", FORM_FLOOR, SYM_FLOOR, 1, 1},
    {"ceiling", FORM_CEILING, SYM_CEIL, 1, 1},
    {"FloorToInt", FORM_FLOOR, SYM_FLOOR, 1, 1},
    {"CeilToInt", FORM_CEILING, SYM_CEIL, 1, 1},
    {"TruncToFloat", FORM_TRUNC_FLOAT, SYM_TRUNC, 1, 1},
    {"RoundDecimal", FORM_ROUND_DECIMAL, SYM_ROUND, 2, 2},
    {"Equality", FORM_COMPARE, SYM_EQ, 2, 2},
    {"Eq", FORM_COMPARE, SYM_EQ, 2, 2},
    {"Unequality", FORM_COMPARE, SYM_NE, 2, 2},
    {"Ne", FORM_COMPARE, SYM_NE, 2, 2},
    {"StrictLessThan", FORM_COMPARE, SYM_LT, 2, 2},
    {"Lt", FORM_COMPARE, SYM_LT, 2, 2},
    {"LessThan", FORM_COMPARE, SYM_LE, 2, 2},
    {"Le", FORM_COMPARE, SYM_LE, 2, 2},
    {"StrictGreaterThan", FORM_COMPARE, SYM_GT, 2, 2},
    {"Gt", FORM_COMPARE, SYM_GT, 2, 2},
    {"GreaterThan", FORM_COMPARE, SYM_GE, 2, 2},
    {"Ge", FORM_COMPARE, SYM_GE, 2, 2},
    {"ITE", FORM_OP, SYM_WHERE, 3, 3},
    {"Identity", FORM_IDENTITY, SYM_CONST, 1, 1},
    {"Piecewise", FORM_PIECEWISE, SYM_WHERE, 1, MAX_SREPR_ARGS},
    {"IsNonOverlappingAndDenseIndicator", FORM_DENSE, SYM_CONST, 0, MAX_SREPR_ARGS},
};

static const char *const CLASSES[] = {
#define SYM_OP(id, name, infix) name,
#include "core/sym_ops.def"
#undef SYM_OP
};

static bool find_function(const char *name, function_row_t *out) {
    for (size_t i = 0; i < COUNT_OF(FUNCTIONS); i++) {
        if (strcmp(FUNCTIONS[i].name, name) != 0) continue;
        *out = FUNCTIONS[i];
        return true;
    }
    for (uint32_t op = 0; op < SYM_OP_COUNT; op++) {
        if (!CLASSES[op] || strcmp(CLASSES[op], name) != 0) continue;
        bool any = op == SYM_MAX || op == SYM_MIN || op == SYM_AND || op == SYM_OR;
        bool pair = op == SYM_MOD || op == SYM_TRUEDIV || (op >= SYM_LSHIFT && op <= SYM_BITOR);
        uint32_t count = op == SYM_WHERE ? 3 : pair ? 2 : 1;
        bool integers = any || op == SYM_MOD || op == SYM_WHERE || op == SYM_NOT || (pair && op != SYM_TRUEDIV);
        *out = (function_row_t){name, integers ? FORM_OP : FORM_FLOAT_OP, (sym_op_t)op, any ? 1 : count,
                                any ? MAX_SREPR_ARGS : count};
        return true;
    }
    return false;
}

static quotient_t power(srepr_t *s, quotient_t base, quotient_t exponent) {
    int64_t by;
    sym_t args[2] = {as_number(s, base), as_number(s, exponent)};
    if (is_float(s, base) || !sym_constant(s->pool, args[1], &by) || by == INT64_MIN)
        return whole(s, sym_make(s->pool, SYM_POW, args, 2));
    args[1] = sym_int(s->pool, by < 0 ? -by : by);
    args[0] = base.over;
    sym_t over = sym_make(s->pool, SYM_POW, args, 2);
    args[0] = base.under;
    sym_t under = sym_make(s->pool, SYM_POW, args, 2);
    return by < 0 ? (quotient_t){under, over} : (quotient_t){over, under};
}

/* Compares a/b with c/d: multiplied out where the denominators are known to be positive. */
static sym_t compare(srepr_t *s, sym_op_t op, quotient_t a, quotient_t b) {
    bool floats = is_float(s, a) || is_float(s, b);
    if (!floats && range_of(s->pool, a.under).min > 0 && range_of(s->pool, b.under).min > 0)
        return sym_compare(s->pool, op, sym_mul(s->pool, a.over, b.under), sym_mul(s->pool, b.over, a.under));
    return sym_compare(s->pool, op, as_number(s, a), as_number(s, b));
}

static sym_t negated(srepr_t *s, sym_t a) { return sym_mul(s->pool, sym_int(s->pool, -1), a); }

static sym_t ceiling(srepr_t *s, sym_t a, sym_t b) { return negated(s, sym_floordiv(s->pool, negated(s, a), b)); }

static sym_t floor_division(srepr_t *s, quotient_t a, quotient_t b) {
    if (is_float(s, a) || is_float(s, b)) return sym_floordiv(s->pool, as_number(s, a), as_number(s, b));
    return sym_floordiv(s->pool, sym_mul(s->pool, a.over, b.under), sym_mul(s->pool, a.under, b.over));
}

/* 1 if tensors of these sizes and strides fill their memory without gaps or overlaps: numbers only. */
static insitu_status dense_indicator(srepr_t *s, const quotient_t *args, uint32_t count, quotient_t *out) {
    uint32_t rank = count / 2;
    int64_t sizes[MAX_RANK], strides[MAX_RANK], expected = 1;
    bool used[MAX_RANK] = {false}, dense = true;
    if (count % 2 != 0 || rank > MAX_RANK) return srepr_failed(s, "wrong number of arguments before");
    for (uint32_t i = 0; i < rank; i++)
        if (!sym_constant(s->pool, args[i].over, &sizes[i]) || !sym_constant(s->pool, args[rank + i].over, &strides[i]))
            FAIL(s->diag, INSITU_UNSUPPORTED, "expression '%.200s': a layout that depends on symbols", s->start);
    for (uint32_t round = 0; round < rank && dense; round++) { /* dimensions from the innermost out */
        uint32_t next = NONE;
        for (uint32_t i = 0; i < rank; i++) {
            if (used[i] || (sizes[i] < 2 && (used[i] = true))) continue;
            if (next == NONE || strides[i] < strides[next]) next = i;
        }
        if (next == NONE) break;
        used[next] = true;
        dense = strides[next] == expected && checked_mul(expected, sizes[next], &expected);
    }
    *out = whole(s, sym_int(s->pool, dense));
    return INSITU_OK;
}

static insitu_status apply_op(srepr_t *s, const function_row_t *row, const quotient_t *args, uint32_t count,
                              quotient_t *out) {
    sym_t values[MAX_SREPR_ARGS];
    bool numbers = row->form == FORM_FLOAT_OP;
    for (uint32_t i = 0; i < count; i++) numbers |= is_float(s, args[i]);
    for (uint32_t i = 0; i < count; i++) values[i] = numbers ? as_number(s, args[i]) : as_integer(s, args[i]);
    *out = whole(s, sym_make(s->pool, row->op, values, count));
    return INSITU_OK;
}

static insitu_status apply(srepr_t *s, const function_row_t *row, const quotient_t *args, uint32_t count,
                           quotient_t *out) {
    sym_pool_t *pool = s->pool;
    sym_t value;
    *out = count ? args[0] : whole(s, sym_int(pool, row->form == FORM_MUL));
    switch ((int)row->form) {
    case FORM_ADD:
        for (uint32_t i = 1; i < count; i++) *out = add_quotients(s, *out, args[i]);
        return INSITU_OK;
    case FORM_MUL:
        for (uint32_t i = 1; i < count; i++) *out = multiply_quotients(s, *out, args[i]);
        return INSITU_OK;
    case FORM_POW: *out = power(s, args[0], args[1]); return INSITU_OK;
    case FORM_IDENTITY: return INSITU_OK;
    case FORM_DENSE: return dense_indicator(s, args, count, out);
    case FORM_COMPARE: value = compare(s, row->op, args[0], args[1]); break;
    case FORM_FLOORDIV: value = floor_division(s, args[0], args[1]); break;
    case FORM_CEILDIV: value = ceiling(s, as_integer(s, args[0]), as_integer(s, args[1])); break;
    case FORM_MODULAR: value = sym_mod(pool, floor_division(s, args[0], args[1]), as_integer(s, args[2])); break;
    case FORM_FLOOR:
        value = is_float(s, args[0]) ? sym_make(pool, SYM_FLOOR, &args[0].over, 1) : as_integer(s, args[0]);
        break;
    case FORM_CEILING:
        value =
            is_float(s, args[0]) ? sym_make(pool, SYM_CEIL, &args[0].over, 1) : ceiling(s, args[0].over, args[0].under);
        break;
    case FORM_TRUNC_FLOAT:
        value = as_number(s, args[0]);
        value = sym_make(pool, SYM_TRUNC, &value, 1);
        value = sym_make(pool, SYM_TOFLOAT, &value, 1);
        break;
    case FORM_ROUND_DECIMAL: {
        int64_t digits;
        if (!sym_constant(pool, args[1].over, &digits) || digits != 0)
            FAIL(s->diag, INSITU_UNSUPPORTED, "expression '%.200s': rounding to decimal digits", s->start);
        value = as_number(s, args[0]);
        value = sym_make(pool, SYM_ROUND, &value, 1);
        value = sym_make(pool, SYM_TOFLOAT, &value, 1);
        break;
    }
    case FORM_FLOAT_POW: {
        sym_t pair[2] = {as_number(s, args[0]), as_number(s, args[1])};
        for (int i = 0; i < 2; i++) pair[i] = sym_make(pool, SYM_TOFLOAT, &pair[i], 1);
        value = sym_make(pool, SYM_POW, pair, 2);
        break;
    }
    default: return apply_op(s, row, args, count, out);
    }
    *out = whole(s, value);
    return INSITU_OK;
}

/* ExprCondPair(value, condition), ... up to the closing parenthesis; the first condition that holds decides. */
static insitu_status parse_piecewise(srepr_t *s, quotient_t *out) {
    quotient_t value, condition, rest;
    char word[SREPR_NAME];
    if (++s->depth > MAX_NESTING) return srepr_failed(s, "nested too deeply");
    TRY(parse_word(s, word));
    if (strcmp(word, "ExprCondPair") != 0) return srepr_failed(s, "expected ExprCondPair before");
    TRY(expect(s, '('));
    TRY(parse_value(s, &value));
    TRY(expect(s, ','));
    TRY(parse_value(s, &condition));
    TRY(expect(s, ')'));
    if (take_char(s, ',')) {
        TRY(parse_piecewise(s, &rest));
        bool floats = is_float(s, value) || is_float(s, rest);
        sym_t yes = floats ? as_number(s, value) : as_integer(s, value);
        sym_t no = floats ? as_number(s, rest) : as_integer(s, rest);
        *out = whole(s, sym_make(s->pool, SYM_WHERE, (sym_t[]){condition.over, yes, no}, 3));
    } else {
        if (sym_truth(s->pool, condition.over) != TRUTH_TRUE) return srepr_failed(s, "no last case before");
        TRY(expect(s, ')'));
        *out = value;
    }
    s->depth--;
    return INSITU_OK;
}

/* Arguments up to the closing parenthesis; "*[...]" around them is how long sums are written. */
static insitu_status parse_args(srepr_t *s, const function_row_t *row, quotient_t *out) {
    quotient_t args[MAX_SREPR_ARGS];
    uint32_t count = 0;
    bool starred = take_char(s, '*');
    if (starred) TRY(expect(s, '['));
    while (!take_char(s, starred ? ']' : ')')) {
        if (count > 0) TRY(expect(s, ','));
        if (count == MAX_SREPR_ARGS) {
            if (row->max_args < MAX_SREPR_ARGS || row->form == FORM_DENSE) return srepr_failed(s, "too many arguments");
            quotient_t folded;
            TRY(apply(s, row, args, count, &folded));
            args[0] = folded;
            count = 1;
        }
        TRY(parse_value(s, &args[count++]));
    }
    if (starred) TRY(expect(s, ')'));
    if (count < row->min_args || count > row->max_args) return srepr_failed(s, "wrong number of arguments before");
    return apply(s, row, args, count, out);
}

static insitu_status parse_name(srepr_t *s, quotient_t *out) {
    char word[SREPR_NAME];
    function_row_t row;
    int64_t number;
    TRY(parse_word(s, word));
    if (*s->cursor != '(') {
        if (strcmp(word, "true") == 0 || strcmp(word, "True") == 0)
            *out = whole(s, sym_bool(s->pool, true));
        else if (strcmp(word, "false") == 0 || strcmp(word, "False") == 0)
            *out = whole(s, sym_bool(s->pool, false));
        else if (strcmp(word, "oo") == 0)
            *out = whole(s, sym_float(s->pool, (double)INFINITY));
        else if (strcmp(word, "nan") == 0)
            *out = whole(s, sym_float(s->pool, (double)NAN));
        else if (strcmp(word, "int_oo") == 0)
            return srepr_failed(s, "an unbounded integer before");
        else
            return symbol_named(s, word, out);
        return INSITU_OK;
    }
    s->cursor++;
    if (!find_function(word, &row)) {
        FAIL(s->diag, INSITU_UNSUPPORTED, "expression '%.200s': the function '%s' is not known", s->start, word);
    }
    switch ((int)row.form) {
    case FORM_SYMBOL: return parse_symbol(s, out);
    case FORM_RATIONAL: return parse_rational(s, out);
    case FORM_FLOAT: return parse_float_call(s, out);
    case FORM_PIECEWISE: return parse_piecewise(s, out);
    case FORM_INTEGER:
        TRY(parse_integer(s, &number));
        *out = whole(s, sym_int(s->pool, number));
        return expect(s, ')');
    default: return parse_args(s, &row, out);
    }
}

static insitu_status parse_value(srepr_t *s, quotient_t *out) {
    skip(s);
    if (++s->depth > MAX_NESTING) return srepr_failed(s, "nested too deeply");
    const char *digits = s->cursor + (*s->cursor == '-');
    if (strncmp(s->cursor, "-oo", 3) == 0) {
        s->cursor += 3;
        *out = whole(s, sym_float(s->pool, -(double)INFINITY));
    } else if (*digits >= '0' && *digits <= '9') {
        int64_t number;
        TRY(parse_integer(s, &number));
        *out = whole(s, sym_int(s->pool, number));
    } else
        TRY(parse_name(s, out));
    s->depth--;
    return INSITU_OK;
}

insitu_status sym_parse_srepr(sym_pool_t *pool, const char *text, sym_t *out, insitu_diag *diag) {
    srepr_t s = {pool, text, text, 0, diag};
    quotient_t result;
    *out = (sym_t){0};
    TRY(parse_value(&s, &result));
    skip(&s);
    if (*s.cursor) return srepr_failed(&s, "expected the end");
    *out = as_integer(&s, result);
    if (pool->too_large) return srepr_failed(&s, "nested too deeply, too long, or with too large a number");
    return sym_pool_status(pool, diag);
}
