/* guards_code: Python conditions over the inputs, all of which must hold, as assertions over symbols.
 *
 *     L['x'].size()[0] <= (L['y'].size()[0] // 2)      ->   assert s77 <= s17 // 2
 *
 * Read: and, or, not, chained comparisons, + - * // %, max, min, integers, sizes and strides of tensor inputs, and the
 * numbers among the inputs. What holds already, because both sides are the same expression or by the symbols' ranges, is
 * dropped. Anything else is refused, as it can't be checked. */
#include "graph/build_int.h"

typedef struct guard_reader {
    builder *builder;
    graph *graph;
    const char *text; /* the whole guard */
    const char *at;
    uint32_t depth;
} guard_reader;

static insitu_status read_or(guard_reader *reader, sym *out);

static insitu_status refuse(const guard_reader *reader) {
    FAIL(reader->builder->diag, INSITU_UNSUPPORTED,
         "the program's guard \"%s\" can't be checked: it is not understood at '%s'", reader->text, reader->at);
}

static void skip(guard_reader *reader) {
    while (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t') reader->at++;
}

static bool take(guard_reader *reader, const char *token) {
    skip(reader);
    size_t size = strlen(token);
    if (strncmp(reader->at, token, size) != 0) return false;
    if (is_name_char(token[size - 1]) && is_name_char(reader->at[size])) return false;
    reader->at += size;
    return true;
}

static insitu_status expect(guard_reader *reader, const char *token) {
    return take(reader, token) ? INSITU_OK : refuse(reader);
}

static insitu_status read_integer(guard_reader *reader, int64_t *out) {
    const char *first = reader->at;
    *out = 0;
    for (; *reader->at >= '0' && *reader->at <= '9'; reader->at++)
        if (!checked_mul(*out, 10, out) || !checked_add(*out, *reader->at - '0', out)) return refuse(reader);
    return reader->at == first || is_name_char(*reader->at) ? refuse(reader) : INSITU_OK;
}

/* The end of [...] at at, which holds a quoted key or a number. NULL: not that. */
static const char *end_of_key(const char *at) {
    at++;
    if (*at == '\'' || *at == '"') {
        char quote = *at++;
        while (*at && *at != quote) at++;
        if (!*at) return NULL;
        at++;
    } else {
        while (*at >= '0' && *at <= '9') at++;
    }
    return *at == ']' ? at + 1 : NULL;
}

/* The end of ['a'][0].mask: keys, and attributes that are not called. NULL: not that. */
static const char *end_of_path(const char *at) {
    while (at && *at == '[') {
        at = end_of_key(at);
        while (at && *at == '.') {
            const char *end = at + 1;
            while (is_name_char(*end) && *end != '.') end++;
            if (*end == '(' || end == at + 1) return at;
            at = end;
        }
    }
    return at;
}

static insitu_status number_of_input(guard_reader *reader, const graph_input *input, sym *out) {
    if (input->value.index == NONE && input->constant.kind == ARG_SYM) {
        *out = input->constant.sym;
        return INSITU_OK;
    }
    if (input->value.index == NONE || graph_value_of(reader->graph, input->value)->kind != VALUE_SYM)
        return refuse(reader);
    *out = graph_value_of(reader->graph, input->value)->expr;
    return INSITU_OK;
}

static insitu_status read_input(guard_reader *reader, sym *out) {
    const archive_program *program = reader->builder->program;
    const char *first = reader->at, *end = end_of_path(reader->at + 1);
    uint32_t index = end ? archive_find_guard_input(program, first, (size_t)(end - first)) : NONE;
    if (index == NONE) return refuse(reader);
    const graph_input *input = &reader->graph->inputs[index];
    reader->at = end;
    bool is_size = take(reader, ".size()["), is_stride = !is_size && take(reader, ".stride()[");
    if (!is_size && !is_stride) return number_of_input(reader, input, out);
    int64_t dim;
    TRY(read_integer(reader, &dim));
    TRY(expect(reader, "]"));
    if (input->value.index == NONE) return refuse(reader);
    const graph_value *value = graph_value_of(reader->graph, input->value);
    if (value->kind != VALUE_TENSOR || dim >= (int64_t)value->type.shape.rank) return refuse(reader);
    *out = is_size ? value->type.shape.sizes[dim] : value->type.strides[dim];
    return INSITU_OK;
}

static insitu_status read_function(guard_reader *reader, sym_op op, sym *out) {
    TRY(read_or(reader, out));
    while (take(reader, ",")) {
        sym items[2] = {*out};
        TRY(read_or(reader, &items[1]));
        *out = sym_make(reader->graph->symbols, op, items, 2);
    }
    return expect(reader, ")");
}

static insitu_status read_atom(guard_reader *reader, sym *out) {
    sym_pool *symbols = reader->graph->symbols;
    int64_t number;
    if (take(reader, "max(")) return read_function(reader, SYM_MAX, out);
    if (take(reader, "min(")) return read_function(reader, SYM_MIN, out);
    if (take(reader, "(")) {
        TRY(read_or(reader, out));
        return expect(reader, ")");
    }
    if (take(reader, "True") || take(reader, "False")) {
        *out = sym_bool(symbols, reader->at[-2] == 'u');
        return INSITU_OK;
    }
    if (reader->at[0] == 'L' && reader->at[1] == '[') return read_input(reader, out);
    TRY(read_integer(reader, &number));
    *out = sym_int(symbols, number);
    return INSITU_OK;
}

static insitu_status read_unary(guard_reader *reader, sym *out) {
    bool negative = false;
    while (take(reader, "-")) negative = !negative;
    TRY(read_atom(reader, out));
    if (negative) *out = sym_sub(reader->graph->symbols, sym_int(reader->graph->symbols, 0), *out);
    return INSITU_OK;
}

static insitu_status read_product(guard_reader *reader, sym *out) {
    sym_pool *symbols = reader->graph->symbols;
    sym next;
    TRY(read_unary(reader, out));
    for (;;) {
        if (take(reader, "//")) {
            TRY(read_unary(reader, &next));
            *out = sym_floordiv(symbols, *out, next);
        } else if (take(reader, "%")) {
            TRY(read_unary(reader, &next));
            *out = sym_mod(symbols, *out, next);
        } else if (take(reader, "*")) {
            TRY(read_unary(reader, &next));
            *out = sym_mul(symbols, *out, next);
        } else
            return INSITU_OK;
    }
}

static insitu_status read_sum(guard_reader *reader, sym *out) {
    sym next;
    TRY(read_product(reader, out));
    for (;;) {
        bool add = take(reader, "+");
        if (!add && !take(reader, "-")) return INSITU_OK;
        TRY(read_product(reader, &next));
        *out = add ? sym_add(reader->graph->symbols, *out, next) : sym_sub(reader->graph->symbols, *out, next);
    }
}

static bool take_comparison(guard_reader *reader, sym_op *out) {
    static const struct {
        const char *token;
        sym_op op;
    } rows[] = {{"==", SYM_EQ}, {"!=", SYM_NE}, {"<=", SYM_LE}, {">=", SYM_GE}, {"<", SYM_LT}, {">", SYM_GT}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!take(reader, rows[i].token)) continue;
        *out = rows[i].op;
        return true;
    }
    return false;
}

/* a < b < c means a < b and b < c. */
static insitu_status read_comparison(guard_reader *reader, sym *out) {
    sym_pool *symbols = reader->graph->symbols;
    sym left, right;
    sym_op op;
    TRY(read_sum(reader, out));
    left = *out;
    for (bool first = true; take_comparison(reader, &op); first = false) {
        TRY(read_sum(reader, &right));
        sym holds = sym_compare(symbols, op, left, right);
        *out = first ? holds : sym_make(symbols, SYM_AND, (sym[]){*out, holds}, 2);
        left = right;
    }
    return INSITU_OK;
}

static insitu_status expect_bool(guard_reader *reader, sym item) {
    return sym_kind_of(reader->graph->symbols, item) == SYM_KIND_BOOL ? INSITU_OK : refuse(reader);
}

static insitu_status read_not(guard_reader *reader, sym *out) {
    bool negative = false;
    while (take(reader, "not")) negative = !negative;
    TRY(read_comparison(reader, out));
    if (!negative) return INSITU_OK;
    TRY(expect_bool(reader, *out));
    *out = sym_make(reader->graph->symbols, SYM_NOT, out, 1);
    return INSITU_OK;
}

static insitu_status read_and(guard_reader *reader, sym *out) {
    TRY(read_not(reader, out));
    while (take(reader, "and")) {
        sym items[2] = {*out};
        TRY(read_not(reader, &items[1]));
        TRY(expect_bool(reader, items[0]));
        TRY(expect_bool(reader, items[1]));
        *out = sym_make(reader->graph->symbols, SYM_AND, items, 2);
    }
    return INSITU_OK;
}

static insitu_status read_or(guard_reader *reader, sym *out) {
    if (++reader->depth >= MAX_NESTING) return refuse(reader);
    TRY(read_and(reader, out));
    while (take(reader, "or")) {
        sym items[2] = {*out};
        TRY(read_and(reader, &items[1]));
        TRY(expect_bool(reader, items[0]));
        TRY(expect_bool(reader, items[1]));
        *out = sym_make(reader->graph->symbols, SYM_OR, items, 2);
    }
    reader->depth--;
    return INSITU_OK;
}

insitu_status build_guards(builder *builder, graph *graph) {
    const archive_program *program = builder->program;
    TRY(arena_array(&graph->arena, program->guard_count, sizeof(graph_assert), &graph->asserts));
    for (uint32_t i = 0; i < program->guard_count; i++) {
        guard_reader reader = {.builder = builder, .graph = graph, .text = program->guards[i]};
        reader.at = reader.text;
        sym condition;
        TRY(read_or(&reader, &condition));
        skip(&reader);
        if (*reader.at) return refuse(&reader);
        TRY(expect_bool(&reader, condition));
        if (sym_truth(graph->symbols, condition) == TRUTH_TRUE) continue;
        graph_assert *item = &graph->asserts[graph->assert_count++];
        item->condition = condition;
        TRY(arena_printf(&graph->arena, &item->message, "the program's guard %s does not hold", reader.text));
    }
    return INSITU_OK;
}
