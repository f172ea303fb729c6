/* Guards are Python conditions, as torch's printer of shape guards writes them, and mean here what they mean there:
 *
 *     L['x'].size()[0] <= (L['y'].size()[0] // 2)      ->   s77 <= s17 // 2
 *     math.ceil(L['x'].size()[0] / 4) == 2             ->   ceil(s77 / 4) == 2
 *
 * Read: if-else, or, and, not, chained comparisons, the operators of integers and floats, the functions below under their
 * names in Python, in torch and in SymPy, numbers, and of inputs the sizes, strides, storage offsets and values. / divides
 * as floats even where both sides are integers. */
#include "graph/guard_text.h"

static bool read_any(guard_text_t *text, sym_t *out);

static sym_pool_t *pool_of(const guard_text_t *text) { return text->graph->symbols; }

static void skip(guard_text_t *text) {
    while (*text->at == ' ' || *text->at == '\n' || *text->at == '\t') text->at++;
}

static bool take(guard_text_t *text, const char *token) {
    skip(text);
    size_t size = strlen(token);
    if (strncmp(text->at, token, size) != 0) return false;
    if (is_name_char(token[size - 1]) && is_name_char(text->at[size])) return false;
    text->at += size;
    return true;
}

/* ---- kinds ---- */

static bool is_bool(const guard_text_t *text, sym_t item) { return sym_kind_of(pool_of(text), item) == SYM_KIND_BOOL; }

/* True counts as 1. */
static sym_t as_number(const guard_text_t *text, sym_t item) {
    sym_pool_t *pool = pool_of(text);
    return is_bool(text, item) ? sym_make(pool, SYM_WHERE, (sym_t[]){item, sym_int(pool, 1), sym_int(pool, 0)}, 3)
                               : item;
}

static sym_t as_condition(const guard_text_t *text, sym_t item) {
    sym_pool_t *pool = pool_of(text);
    return is_bool(text, item) ? item : sym_compare(pool, SYM_NE, item, sym_int(pool, 0));
}

/* ---- inputs ---- */

static bool number_of_input(const guard_text_t *text, const graph_input_t *input, sym_t *out) {
    if (input->value.index == NONE && input->constant.kind == ARG_SYM) {
        *out = input->constant.sym;
        return true;
    }
    if (input->value.index == NONE || graph_value_of(text->graph, input->value)->kind != VALUE_SYM) return false;
    *out = graph_value_of(text->graph, input->value)->expr;
    return true;
}

static bool read_dim(guard_text_t *text, uint32_t rank, uint32_t *out_dim) {
    sym_value_t number;
    skip(text);
    if (!sym_parse_number(&text->at, &number) || number.kind != SYM_KIND_INT) return false;
    *out_dim = (uint32_t)number.i;
    return number.i >= 0 && number.i < (int64_t)rank && take(text, "]");
}

static bool read_input(guard_text_t *text, sym_t *out) {
    uint32_t index, dim;
    const char *end = guard_path(text->program, text->at, &index);
    if (!end || index == NONE) return false;
    const graph_input_t *input = &text->graph->inputs[index];
    const graph_value_t *value = input->value.index == NONE ? NULL : graph_value_of(text->graph, input->value);
    if (value && value->kind != VALUE_TENSOR) value = NULL;
    uint32_t rank = value ? value->type.shape.rank : 0;
    const char *first = text->at;
    text->at = end;
    if (take(text, ".size()[")) {
        if (!value || !read_dim(text, rank, &dim)) return false;
        *out = value->type.shape.sizes[dim];
    } else if (take(text, ".stride()[")) {
        if (!value || !read_dim(text, rank, &dim)) return false;
        *out = value->type.strides[dim];
    } else if (take(text, ".storage_offset()")) {
        if (!value) return false;
        *out = value->type.offset;
    } else if (!number_of_input(text, input, out)) {
        text->at = first;
        return false;
    }
    return true;
}

/* ---- functions ---- */

enum { MAX_CALL_ARGS = 32, ANY_COUNT = 0 };

/* Functions that are no operator of expressions by themselves. */
enum { CALL_NUMBER = SYM_OP_COUNT, CALL_CONDITION, CALL_SUB };

static const struct {
    const char *name;
    int op;
    uint32_t count;
} CALLS[] = {
    {"max", SYM_MAX, ANY_COUNT},
    {"Max", SYM_MAX, ANY_COUNT},
    {"torch.sym_max", SYM_MAX, ANY_COUNT},
    {"min", SYM_MIN, ANY_COUNT},
    {"Min", SYM_MIN, ANY_COUNT},
    {"torch.sym_min", SYM_MIN, ANY_COUNT},
    {"And", SYM_AND, ANY_COUNT},
    {"Or", SYM_OR, ANY_COUNT},
    {"abs", SYM_ABS, 1},
    {"Abs", SYM_ABS, 1},
    {"round", SYM_ROUND, 1},
    {"RoundToInt", SYM_ROUND, 1},
    {"math.ceil", SYM_CEIL, 1},
    {"CeilToInt", SYM_CEIL, 1},
    {"ceiling", SYM_CEIL, 1},
    {"math.floor", SYM_FLOOR, 1},
    {"FloorToInt", SYM_FLOOR, 1},
    {"floor", SYM_FLOOR, 1},
    {"math.trunc", SYM_TRUNC, 1},
    {"TruncToInt", SYM_TRUNC, 1},
    {"int", SYM_TRUNC, 1},
    {"torch.sym_int", SYM_TRUNC, 1},
    {"float", SYM_TOFLOAT, 1},
    {"torch.sym_float", SYM_TOFLOAT, 1},
    {"ToFloat", SYM_TOFLOAT, 1},
    {"Identity", CALL_NUMBER, 1},
    {"cast_symbool_to_symint_guardless", CALL_NUMBER, 1},
    {"bool", CALL_CONDITION, 1},
    {"Not", SYM_NOT, 1},
    {"torch.sym_not", SYM_NOT, 1},
    {"Where", SYM_WHERE, 3},
    {"torch.sym_ite", SYM_WHERE, 3},
    {"FloorDiv", SYM_FLOORDIV, 2},
    {"CleanDiv", SYM_FLOORDIV, 2},
    {"Mod", SYM_MOD, 2},
    {"PythonMod", SYM_MOD, 2},
    {"IntTrueDiv", SYM_TRUEDIV, 2},
    {"FloatTrueDiv", SYM_TRUEDIV, 2},
    {"PowByNatural", SYM_POW, 2},
    {"FloatPow", SYM_POW, 2},
    {"LShift", SYM_LSHIFT, 2},
    {"RShift", SYM_RSHIFT, 2},
    {"Eq", SYM_EQ, 2},
    {"Ne", SYM_NE, 2},
    {"Lt", SYM_LT, 2},
    {"Le", SYM_LE, 2},
    {"Gt", SYM_GT, 2},
    {"Ge", SYM_GE, 2},
    {"math.sqrt", SYM_SQRT, 1},
    {"torch._sym_sqrt", SYM_SQRT, 1},
    {"math.exp", SYM_EXP, 1},
    {"math.log", SYM_LOG, 1},
    {"math.log2", SYM_LOG2, 1},
    {"math.sin", SYM_SIN, 1},
    {"math.cos", SYM_COS, 1},
    {"math.tan", SYM_TAN, 1},
    {"math.tanh", SYM_TANH, 1},
    {"math.sinh", SYM_SINH, 1},
    {"math.cosh", SYM_COSH, 1},
    {"math.asin", SYM_ASIN, 1},
    {"math.acos", SYM_ACOS, 1},
    {"math.atan", SYM_ATAN, 1},
    {"math.asinh", SYM_ASINH, 1},
    {"OpaqueUnaryFn_exp", SYM_EXP, 1},
    {"OpaqueUnaryFn_log", SYM_LOG, 1},
    {"OpaqueUnaryFn_asinh", SYM_ASINH, 1},
};

/* Python's max and min keep the type of the argument that they choose; the value is the same either way. */
static sym_t call(const guard_text_t *text, int op, sym_t *args, uint32_t count) {
    bool logical = op == SYM_AND || op == SYM_OR || op == SYM_NOT || op == CALL_CONDITION;
    for (uint32_t i = 0; i < count; i++)
        args[i] = logical || (op == SYM_WHERE && i == 0) ? as_condition(text, args[i]) : as_number(text, args[i]);
    if (op >= SYM_OP_COUNT) return args[0];
    return sym_make(pool_of(text), (sym_op_t)op, args, count);
}

static bool read_call(guard_text_t *text, sym_t *out) {
    sym_t args[MAX_CALL_ARGS];
    uint32_t count = 0;
    const char *first = text->at, *end = first;
    while (is_name_char(*end)) end++;
    for (size_t i = 0; i < COUNT_OF(CALLS); i++) {
        size_t size = strlen(CALLS[i].name);
        if (*end != '(' || (size_t)(end - first) != size || strncmp(first, CALLS[i].name, size) != 0) continue;
        text->at = end + 1;
        do {
            if (count == MAX_CALL_ARGS || !read_any(text, &args[count++])) return false;
        } while (take(text, ","));
        if (CALLS[i].count != ANY_COUNT && count != CALLS[i].count) return false;
        if (!take(text, ")")) return false;
        *out = call(text, CALLS[i].op, args, count);
        return true;
    }
    return false;
}

/* ---- operators ---- */

static bool read_atom(guard_text_t *text, sym_t *out) {
    sym_pool_t *pool = pool_of(text);
    sym_value_t number;
    if (take(text, "(")) return read_any(text, out) && take(text, ")");
    if (take(text, "True") || take(text, "False")) {
        *out = sym_bool(pool, text->at[-2] == 'u');
        return true;
    }
    if (take(text, "math.inf")) {
        *out = sym_float(pool, (double)__builtin_inff());
        return true;
    }
    if (text->at[0] == 'L' && text->at[1] == '[') return read_input(text, out);
    const char *first = text->at;
    if (sym_parse_number(&text->at, &number) && !is_name_char(*text->at) &&
        (number.kind == SYM_KIND_FLOAT || number.i >= 0)) {
        *out = number.kind == SYM_KIND_FLOAT ? sym_float(pool, number.f) : sym_int(pool, number.i);
        return true;
    }
    text->at = first;
    return read_call(text, out);
}

static bool read_unary(guard_text_t *text, sym_t *out);

/* a ** b: the exponent may have a sign; a sign before the base is applied to the power. */
static bool read_power(guard_text_t *text, sym_t *out) {
    sym_t args[2];
    if (!read_atom(text, out)) return false;
    if (!take(text, "**")) return true;
    args[0] = *out;
    if (!read_unary(text, &args[1])) return false;
    *out = call(text, SYM_POW, args, 2);
    return true;
}

static bool read_unary(guard_text_t *text, sym_t *out) {
    if (++text->depth >= MAX_NESTING) return false;
    bool negative = take(text, "-");
    bool signed_again = negative || take(text, "+");
    if (!(signed_again ? read_unary(text, out) : read_power(text, out))) return false;
    text->depth--;
    if (negative) *out = sym_mul(pool_of(text), sym_int(pool_of(text), -1), as_number(text, *out));
    return true;
}

/* The operators of two sides, from those that bind least on; a token comes before the ones that it begins with. */
enum { LEVELS = 5 };
static const struct {
    int level;
    const char *token;
    int op;
} OPERATORS[] = {
    {0, "|", SYM_BITOR}, {1, "&", SYM_BITAND},    {2, "<<", SYM_LSHIFT}, {2, ">>", SYM_RSHIFT}, {3, "+", SYM_ADD},
    {3, "-", CALL_SUB},  {4, "//", SYM_FLOORDIV}, {4, "/", SYM_TRUEDIV}, {4, "%", SYM_MOD},     {4, "*", SYM_MUL},
};

static bool take_operator(guard_text_t *text, int level, int *out) {
    for (size_t i = 0; i < COUNT_OF(OPERATORS); i++) {
        if (OPERATORS[i].level != level || !take(text, OPERATORS[i].token)) continue;
        *out = OPERATORS[i].op;
        return true;
    }
    return false;
}

static sym_t apply(const guard_text_t *text, int op, sym_t left, sym_t right) {
    if (op == SYM_BITAND && is_bool(text, left) && is_bool(text, right)) op = SYM_AND;
    if (op == SYM_BITOR && is_bool(text, left) && is_bool(text, right)) op = SYM_OR;
    if (op == CALL_SUB) return sym_sub(pool_of(text), as_number(text, left), as_number(text, right));
    return call(text, op, (sym_t[]){left, right}, 2);
}

static bool read_level(guard_text_t *text, int level, sym_t *out) {
    if (level == LEVELS) return read_unary(text, out);
    int op;
    sym_t next;
    if (!read_level(text, level + 1, out)) return false;
    while (take_operator(text, level, &op)) {
        if (!read_level(text, level + 1, &next)) return false;
        *out = apply(text, op, *out, next);
    }
    return true;
}

static bool take_comparison(guard_text_t *text, sym_op_t *out) {
    static const struct {
        const char *token;
        sym_op_t op;
    } rows[] = {{"==", SYM_EQ}, {"!=", SYM_NE}, {"<=", SYM_LE}, {">=", SYM_GE}, {"<", SYM_LT}, {">", SYM_GT}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!take(text, rows[i].token)) continue;
        *out = rows[i].op;
        return true;
    }
    return false;
}

/* a < b < c means a < b and b < c. */
static bool read_comparison(guard_text_t *text, sym_t *out) {
    sym_t right;
    sym_op_t op;
    if (!read_level(text, 0, out)) return false;
    sym_t left = *out;
    for (bool first = true; take_comparison(text, &op); first = false) {
        if (!read_level(text, 0, &right)) return false;
        sym_t holds = sym_compare(pool_of(text), op, as_number(text, left), as_number(text, right));
        *out = first ? holds : apply(text, SYM_BITAND, *out, holds);
        left = right;
    }
    return true;
}

static bool read_not(guard_text_t *text, sym_t *out) {
    bool any = false, negative = false;
    for (; take(text, "not"); any = true) negative = !negative;
    if (!read_comparison(text, out)) return false;
    if (any) *out = as_condition(text, *out);
    if (negative) *out = call(text, SYM_NOT, out, 1);
    return true;
}

/* What and, or give where a side is a number is that number: such are not read. */
static bool join(const guard_text_t *text, sym_op_t op, sym_t *out, sym_t next) {
    if (!is_bool(text, *out) || !is_bool(text, next)) return false;
    *out = sym_make(pool_of(text), op, (sym_t[]){*out, next}, 2);
    return true;
}

static bool read_and(guard_text_t *text, sym_t *out) {
    sym_t next;
    if (!read_not(text, out)) return false;
    while (take(text, "and"))
        if (!read_not(text, &next) || !join(text, SYM_AND, out, next)) return false;
    return true;
}

static bool read_or(guard_text_t *text, sym_t *out) {
    sym_t next;
    if (!read_and(text, out)) return false;
    while (take(text, "or"))
        if (!read_and(text, &next) || !join(text, SYM_OR, out, next)) return false;
    return true;
}

static bool read_any(guard_text_t *text, sym_t *out) {
    sym_t condition, otherwise;
    if (++text->depth >= MAX_NESTING || !read_or(text, out)) return false;
    if (take(text, "if")) {
        if (!read_or(text, &condition) || !take(text, "else") || !read_any(text, &otherwise)) return false;
        sym_t args[3] = {as_condition(text, condition), *out, otherwise};
        if (is_bool(text, *out) != is_bool(text, otherwise)) return false;
        *out = sym_make(pool_of(text), SYM_WHERE, args, 3);
    }
    text->depth--;
    return true;
}

bool guard_parse(guard_text_t *text, sym_t *out) {
    if (!read_any(text, out)) return false;
    skip(text);
    return !*text->at && is_bool(text, *out);
}
