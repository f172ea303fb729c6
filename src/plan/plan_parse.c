/* Text -> plan: the lines of plan_print, in that order; "#" begins a comment, and blank lines don't matter. The facts are
 * derived anew, and the whole is verified. Weights have no bytes. */
#include "plan/plan_fields.h"

typedef struct parser {
    plan_t *plan;
    const char *at; /* next character */
    uint32_t line, source_capacity, capacities[PLAN_TABLES];
    insitu_diag *diag;
} parser_t;

static insitu_status expected(const parser_t *p, const char *what) {
    FAIL(p->diag, INSITU_FORMAT, "plan text, line %u: %s was expected at '%.*s'", p->line, what,
         (int)strcspn(p->at, "\n"), p->at);
}

/* ---- words ---- */

static void skip_blanks(parser_t *p) { p->at += strspn(p->at, " \t\r"); }

static size_t word_size(const char *at) {
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static bool take(parser_t *p, const char *mark) {
    skip_blanks(p);
    size_t size = strlen(mark);
    if (strncmp(p->at, mark, size) != 0) return false;
    p->at += size;
    return true;
}

static insitu_status need(parser_t *p, const char *mark) { return take(p, mark) ? INSITU_OK : expected(p, mark); }

/* The whole word. */
static bool take_word(parser_t *p, const char *word) {
    skip_blanks(p);
    size_t size = strlen(word);
    if (word_size(p->at) != size || memcmp(p->at, word, size) != 0) return false;
    p->at += size;
    return true;
}

/* A word of at most MAX_NAME characters. */
static insitu_status parse_word(parser_t *p, const char *what, char *out_word) {
    skip_blanks(p);
    size_t size = word_size(p->at);
    out_word[0] = 0;
    if (size == 0 || size > MAX_NAME) return expected(p, what);
    memcpy(out_word, p->at, size);
    out_word[size] = 0;
    p->at += size;
    return INSITU_OK;
}

static insitu_status parse_number(parser_t *p, int64_t lowest, int64_t highest, int64_t *out) {
    sym_value_t value;
    *out = 0;
    bool is_negative = take(p, "-");
    skip_blanks(p);
    if (!sym_parse_number(&p->at, &value) || value.kind != SYM_KIND_INT) return expected(p, "an integer");
    *out = is_negative && value.i != INT64_MIN ? -value.i : value.i;
    return *out >= lowest && *out <= highest ? INSITU_OK : expected(p, "a number in its range before this");
}

static insitu_status parse_id(parser_t *p, uint32_t *out) {
    int64_t number;
    TRY(parse_number(p, 0, NONE, &number));
    *out = (uint32_t)number;
    return INSITU_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static insitu_status parse_hex(parser_t *p, int digits, uint64_t *out) {
    *out = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        int digit = hex_digit(*p->at);
        if (digit < 0) return expected(p, "a hexadecimal digit");
        *out = *out << 4 | (uint64_t)digit;
    }
    return INSITU_OK;
}

/* After a backslash, as text_quoted writes it. */
static insitu_status parse_escape(parser_t *p, char *out) {
    uint64_t byte;
    char c = *p->at++;
    *out = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    if (c == '"' || c == '\\' || c == 'n' || c == 't') return INSITU_OK;
    if (c != 'x') return expected(p, "an escape before this");
    TRY(parse_hex(p, 2, &byte));
    *out = (char)byte;
    return byte ? INSITU_OK : expected(p, "a byte that is not 0 before this");
}

static insitu_status parse_text(parser_t *p, const char **out_text) {
    char *copy;
    size_t size = 0;
    *out_text = "";
    TRY(need(p, "\""));
    TRY(arena_array(&p->plan->arena, strcspn(p->at, "\n") + 1, 1, &copy));
    while (*p->at != '"') {
        if (!*p->at || *p->at == '\n') return expected(p, "the end of a string");
        copy[size++] = *p->at++;
        if (copy[size - 1] == '\\') TRY(parse_escape(p, &copy[size - 1]));
    }
    p->at++;
    *out_text = copy;
    return INSITU_OK;
}

/* ---- expressions and types ---- */

/* Parsing one makes symbols of words that it doesn't know. */
static insitu_status check_symbols(const parser_t *p, uint32_t count) {
    const sym_pool_t *pool = &p->plan->symbols;
    TRY(sym_pool_status(pool, p->diag));
    if (pool->symbol_count == count) return INSITU_OK;
    FAIL(p->diag, INSITU_FORMAT, "plan text, line %u: symbol '%s' is not declared", p->line, pool->symbols[count].name);
}

static insitu_status parse_sym(parser_t *p, sym_t *out) {
    uint32_t count = p->plan->symbols.symbol_count;
    skip_blanks(p);
    TRY(sym_parse(&p->plan->symbols, &p->at, out, p->diag));
    return check_symbols(p, count);
}

static insitu_status parse_type(parser_t *p, tensor_type_t *out) {
    uint32_t count = p->plan->symbols.symbol_count;
    skip_blanks(p);
    TRY(type_parse(&p->plan->symbols, &p->at, out, p->diag));
    return check_symbols(p, count);
}

static insitu_status parse_operand(parser_t *p, plan_operand_t *out) {
    TRY(need(p, "@"));
    TRY(parse_id(p, &out->storage));
    return parse_type(p, &out->type);
}

/* Until something that is no operand. */
static insitu_status parse_operands(parser_t *p, const plan_operand_t **out_operands, uint32_t *out_count) {
    plan_operand_t *operands = NULL;
    uint32_t capacity = 0, count = 0;
    skip_blanks(p);
    if (*p->at == '@') do {
            TRY(arena_grow(&p->plan->arena, &operands, &capacity, (size_t)count + 1, sizeof(*operands)));
            operands[count] = (plan_operand_t){0};
            TRY(parse_operand(p, &operands[count++]));
        } while (take(p, ","));
    *out_operands = operands;
    *out_count = count;
    return INSITU_OK;
}

/* ---- steps ---- */

static insitu_status parse_list(parser_t *p, attr_t *out) {
    sym_t *items = NULL;
    uint32_t capacity = 0, count = 0;
    TRY(need(p, "["));
    if (!take(p, "]")) {
        do {
            TRY(arena_grow(&p->plan->arena, &items, &capacity, (size_t)count + 1, sizeof(*items)));
            TRY(parse_sym(p, &items[count++]));
        } while (take(p, ","));
        TRY(need(p, "]"));
    }
    out->list.items = items;
    out->list.count = count;
    return INSITU_OK;
}

static insitu_status parse_attr(parser_t *p, layer_kind_t layer, attr_id_t id, attr_t *out) {
    char word[MAX_NAME + 1];
    out->kind = attr_kind_of(id);
    switch (out->kind) {
    case ATTR_KIND_NONE: break;
    case ATTR_KIND_SYM: return parse_sym(p, &out->value);
    case ATTR_KIND_SYMS: return parse_list(p, out);
    case ATTR_KIND_DTYPE:
        TRY(parse_word(p, "a dtype", word));
        return dtype_parse(word, &out->dtype) ? INSITU_OK : expected(p, "a dtype before this");
    case ATTR_KIND_OP:
        TRY(parse_word(p, "an operator", word));
        return layer_parse_op(layer, word, &out->op) ? INSITU_OK : expected(p, "an operator of the layer before this");
    }
    return expected(p, "an attribute");
}

static insitu_status parse_attrs(parser_t *p, plan_step_t *step) {
    const layer_info_t *info = layer_info_of(step->layer);
    attr_t *attrs;
    TRY(arena_array(&p->plan->arena, info->attr_count, sizeof(*attrs), &attrs));
    step->attrs = attrs;
    if (!take(p, "{")) return INSITU_OK;
    do {
        uint32_t i = 0;
        while (i < info->attr_count && !take_word(p, attr_name(info->attrs[i].id))) i++;
        if (i == info->attr_count) return expected(p, "an attribute of the layer");
        TRY(need(p, "="));
        TRY(parse_attr(p, step->layer, info->attrs[i].id, &attrs[i]));
    } while (take(p, ","));
    return need(p, "}");
}

static insitu_status parse_layer(parser_t *p, plan_step_t *step) {
    char word[MAX_NAME + 1];
    TRY(parse_operands(p, &step->results, &step->result_count));
    if (step->result_count) TRY(need(p, "="));
    TRY(parse_word(p, "a layer", word));
    if (!layer_parse_kind(word, &step->layer)) return expected(p, "a layer before this");
    TRY(need(p, "("));
    TRY(parse_operands(p, &step->operands, &step->operand_count));
    TRY(need(p, ")"));
    return step->kind == STEP_LAYER ? parse_attrs(p, step) : INSITU_OK;
}

/* ---- rows ---- */

static insitu_status parse_fields(parser_t *p, const plan_struct_t *fields, void *row);

static insitu_status parse_value(parser_t *p, const plan_field_t *field, void *row) {
    void *place = (char *)row + field->offset;
    int64_t number;
    switch (field->kind) {
    case FIELD_TEXT: return parse_text(p, place);
    case FIELD_ENUM:
    case FIELD_OPTIONAL_ENUM: {
        skip_blanks(p);
        size_t size = word_size(p->at);
        uint32_t found = name_find(field->names, p->at, size);
        if (found == NONE) return expected(p, field->name);
        p->at += size;
        *(uint32_t *)place = found;
        return INSITU_OK;
    }
    case FIELD_ID:
    case FIELD_OPTIONAL_ID:
    case FIELD_SMALL: return parse_id(p, place);
    case FIELD_NUMBER: return parse_number(p, INT64_MIN, INT64_MAX, place);
    case FIELD_SIZE:
        TRY(parse_number(p, 0, INT64_MAX, &number));
        *(size_t *)place = (size_t)number;
        return INSITU_OK;
    case FIELD_FLAG: *(bool *)place = true; return INSITU_OK;
    case FIELD_SYM:
    case FIELD_COUNT: return parse_sym(p, place);
    case FIELD_TYPE: return parse_type(p, place);
    case FIELD_OPERAND: return parse_operand(p, place);
    case FIELD_LAYER: return parse_layer(p, row);
    case FIELD_PART: return parse_fields(p, field->part, place);
    }
    return expected(p, field->name);
}

/* What comes next is this field: its name, or for the selector one of its values, and for a layer anything. */
static bool field_is_next(parser_t *p, const plan_field_t *field, const plan_field_t *selector) {
    if (field->kind == FIELD_LAYER) return true;
    skip_blanks(p);
    return field == selector ? name_find(field->names, p->at, word_size(p->at)) != NONE : take_word(p, field->name);
}

/* "title": fields. A field that is not there has the value that is left out. */
static insitu_status parse_fields(parser_t *p, const plan_struct_t *fields, void *row) {
    const plan_field_t *selector = struct_selector(fields);
    uint32_t first = fields->fields[0].kind == FIELD_TEXT;
    if (first) TRY(parse_value(p, &fields->fields[0], row));
    for (uint32_t i = first; i < fields->count; i++) (void)field_leave_out(&fields->fields[i], row);
    bool more = take(p, ":");
    for (uint32_t i = first; i < fields->count; i++) {
        const plan_field_t *field = &fields->fields[i];
        if (!field_exists(fields, field, row)) continue;
        if (more && field_is_next(p, field, selector)) {
            TRY(parse_value(p, field, row));
            more = take(p, ",");
        } else if (!field_leave_out(field, row)) {
            return expected(p, field->name);
        }
    }
    return more ? expected(p, "a field of the row") : INSITU_OK;
}

static insitu_status parse_index(parser_t *p, uint32_t count) {
    uint32_t index;
    TRY(parse_id(p, &index));
    return index == count && count < MAX_NODES ? INSITU_OK : expected(p, "the row's number before this");
}

static insitu_status parse_symbol(parser_t *p) {
    plan_t *plan = p->plan;
    uint32_t count = plan->symbols.symbol_count;
    symbol_row_t row = {0};
    TRY(parse_index(p, count));
    TRY(parse_fields(p, &symbol_row_struct, &row));
    if (!sym_is_name(row.symbol.name) || sym_find_symbol(&plan->symbols, row.symbol.name) != NONE)
        return expected(p, "the new name of a symbol before this");
    if (row.symbol.min > row.symbol.max) return expected(p, "a min that is no more than max before this");
    TRY(arena_grow(&plan->arena, &plan->symbol_sources, &p->source_capacity, (size_t)count + 1, sizeof(plan_symbol_t)));
    plan->symbol_sources[count] = row.source;
    (void)sym_add_symbol(&plan->symbols, row.symbol.name, row.symbol.kind, row.symbol.min, row.symbol.max);
    return sym_pool_status(&plan->symbols, p->diag);
}

static insitu_status parse_row(parser_t *p, uint32_t table_index) {
    const plan_table_t *table = &plan_tables[table_index];
    uint32_t *count = (uint32_t *)(void *)((char *)p->plan + table->count);
    void **rows = (void **)(void *)((char *)p->plan + table->rows);
    TRY(parse_index(p, *count));
    TRY(arena_grow(&p->plan->arena, rows, &p->capacities[table_index], (size_t)*count + 1, table->row->size));
    void *row = (char *)*rows + *count * table->row->size;
    memset(row, 0, table->row->size);
    ++*count;
    return parse_fields(p, table->row, row);
}

/* ---- lines ---- */

static insitu_status parse_head(parser_t *p) {
    TRY(need(p, "plan"));
    TRY(need(p, ":"));
    TRY(need(p, "first_write"));
    TRY(parse_id(p, &p->plan->first_write));
    if (!take(p, ",")) return INSITU_OK;
    enum { DIGITS = 16 };
    TRY(need(p, "program"));
    skip_blanks(p);
    return parse_hex(p, DIGITS, &p->plan->fingerprint);
}

static insitu_status parse_line(parser_t *p) {
    if (take_word(p, "symbol")) return parse_symbol(p);
    for (uint32_t i = 0; i < PLAN_TABLES; i++)
        if (take_word(p, plan_tables[i].row_name)) return parse_row(p, i);
    return expected(p, "a row of the plan");
}

static insitu_status parse_lines(parser_t *p) {
    bool has_begun = false;
    for (p->line = 1; *p->at; p->line++) {
        skip_blanks(p);
        if (*p->at && *p->at != '\n' && *p->at != '#') {
            TRY(has_begun ? parse_line(p) : parse_head(p));
            has_begun = true;
        }
        skip_blanks(p);
        if (*p->at == '#') p->at += strcspn(p->at, "\n");
        if (*p->at == '\n')
            p->at++;
        else if (*p->at)
            return expected(p, "the end of the line");
    }
    return has_begun ? INSITU_OK : expected(p, "plan");
}

insitu_status plan_parse(const char *source, plan_t **out_plan, insitu_diag *diag) {
    *out_plan = NULL;
    plan_t *parsed;
    TRY(plan_create(&parsed));
    parser_t p = {.plan = parsed, .at = source, .line = 1, .diag = diag};
    insitu_status status = parse_lines(&p);
    if (status == INSITU_OK) status = plan_derive(parsed);
    if (status == INSITU_OK) status = plan_verify(parsed, diag);
    if (status == INSITU_OK)
        *out_plan = parsed;
    else
        plan_destroy(parsed);
    return status == INSITU_NOMEM ? diag_set(diag, INSITU_NOMEM, "out of memory") : status;
}
