/* Text -> network: the lines of network_print in any order that defines tensors before their use; "#" begins a comment,
 * and after a layer the source that it came from. Types of results are written and must be what inference finds. */
#include "network/network_int.h"

typedef struct parser {
    network_t *network;
    const char *at;       /* next character of the line's end at most */
    uint32_t line, depth; /* depth: of regions */
    insitu_diag *diag;
} parser_t;

static insitu_status expected(const parser_t *p, const char *what) {
    FAIL(p->diag, INSITU_FORMAT, "network text, line %u: %s was expected at '%.*s'", p->line, what,
         (int)strcspn(p->at, "\n"), p->at);
}

static void skip_blanks(parser_t *p) { p->at += strspn(p->at, " \t\r"); }

static bool take(parser_t *p, const char *word) {
    skip_blanks(p);
    size_t size = strlen(word);
    if (strncmp(p->at, word, size) != 0) return false;
    p->at += size;
    return true;
}

static insitu_status need(parser_t *p, const char *word) {
    if (!take(p, word)) return expected(p, word);
    return INSITU_OK;
}

static const char plain_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

/* The longest run of name characters, copied. */
static insitu_status parse_word(parser_t *p, const char **out_word) {
    skip_blanks(p);
    size_t size = strspn(p->at, plain_characters);
    *out_word = "";
    if (size == 0 || size > MAX_NAME) return expected(p, "a name");
    TRY(arena_string(&p->network->arena, p->at, size, out_word));
    p->at += size;
    return INSITU_OK;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

static insitu_status parse_string(parser_t *p, const char **out_string) {
    *out_string = "";
    TRY(need(p, "\""));
    size_t limit = strcspn(p->at, "\n"), size = 0;
    char *copy;
    TRY(arena_array(&p->network->arena, limit + 1, 1, &copy));
    while (*p->at != '"') {
        if (*p->at == '\\' && p->at[1] == 'x' && hex_digit(p->at[2]) >= 0 && hex_digit(p->at[3]) >= 0) {
            copy[size++] = (char)(hex_digit(p->at[2]) * 16 + hex_digit(p->at[3]));
            p->at += 4;
        } else if (*p->at == '\\' && (p->at[1] == '"' || p->at[1] == '\\')) {
            copy[size++] = p->at[1];
            p->at += 2;
        } else if (*p->at == '\\' || *p->at == '\n' || !*p->at) {
            return expected(p, "the end of a string");
        } else {
            copy[size++] = *p->at++;
        }
    }
    if (strlen(copy) != size || !is_utf8(copy)) return expected(p, "a string of UTF-8 without a zero before this");
    p->at++;
    *out_string = copy;
    return INSITU_OK;
}

static insitu_status parse_name(parser_t *p, const char **out_name) {
    TRY(need(p, "%"));
    return *p->at == '"' ? parse_string(p, out_name) : parse_word(p, out_name);
}

static insitu_status parse_tensor(parser_t *p, tensor_id_t *out_tensor) {
    const char *name;
    *out_tensor = NO_TENSOR;
    TRY(parse_name(p, &name));
    uint32_t index = map_find(&p->network->names, name);
    if (index == NONE) FAIL(p->diag, INSITU_FORMAT, "network text, line %u: %%%s is not defined", p->line, name);
    *out_tensor = (tensor_id_t){index};
    return INSITU_OK;
}

static insitu_status parse_number(parser_t *p, int64_t *out) {
    skip_blanks(p);
    char *end;
    *out = strtoll(p->at, &end, 10);
    if (end == p->at) return expected(p, "an integer");
    p->at = end;
    return INSITU_OK;
}

static insitu_status parse_sym(parser_t *p, sym_t *out) {
    skip_blanks(p);
    return sym_parse(&p->network->symbols, &p->at, out, p->diag);
}

static insitu_status parse_dtype(parser_t *p, dtype_t *out) {
    const char *word;
    TRY(parse_word(p, &word));
    if (!dtype_parse(word, out)) return expected(p, "a dtype");
    return INSITU_OK;
}

/* symbol s77: int in 2..1024 */
static insitu_status parse_symbol(parser_t *p) {
    const char *name, *kind;
    int64_t min = INT64_MIN, max = INT64_MAX;
    TRY(parse_word(p, &name));
    TRY(need(p, ":"));
    TRY(parse_word(p, &kind));
    sym_kind_t number = strcmp(kind, "float") == 0  ? SYM_KIND_FLOAT
                        : strcmp(kind, "bool") == 0 ? SYM_KIND_BOOL
                                                    : SYM_KIND_INT;
    if (take(p, "in")) {
        if (!take(p, "..")) {
            TRY(parse_number(p, &min));
            TRY(need(p, ".."));
        }
        skip_blanks(p);
        if (*p->at && *p->at != '\n') TRY(parse_number(p, &max));
    }
    if (sym_find_symbol(&p->network->symbols, name) != NONE) /* what was simplified knows another range */
        FAIL(p->diag, INSITU_FORMAT, "network text, line %u: symbol '%s' is declared twice, or after its use", p->line,
             name);
    sym_add_symbol(&p->network->symbols, name, number, min, max);
    return sym_pool_status(&p->network->symbols, p->diag);
}

/* identity 00c0ffee00c0ffee */
static insitu_status parse_fingerprint(parser_t *p) {
    enum { DIGITS = 16 };
    uint64_t fingerprint = 0;
    skip_blanks(p);
    for (int i = 0; i < DIGITS; i++) {
        int digit = hex_digit(*p->at);
        if (digit < 0) return expected(p, "16 hexadecimal digits");
        fingerprint = fingerprint << 4 | (uint64_t)digit;
        p->at++;
    }
    p->network->fingerprint = fingerprint;
    return INSITU_OK;
}

/* record "w": f32, 64 bytes */
static insitu_status parse_record(parser_t *p) {
    weight_record_t *record;
    int64_t size;
    TRY(network_add_record(p->network, &record));
    TRY(parse_string(p, &record->name));
    TRY(need(p, ":"));
    TRY(parse_dtype(p, &record->dtype));
    TRY(need(p, ","));
    TRY(parse_number(p, &size));
    if (size < 0) return expected(p, "a size");
    record->size = (size_t)size;
    return need(p, "bytes");
}

/* %x: f32[2,3]{3,1}+0 */
static insitu_status parse_view(parser_t *p, tensor_role_t role, uint32_t index, tensor_id_t *out_tensor,
                                sym_t *out_strides, sym_t *out_offset) {
    const char *name;
    tensor_type_t type;
    TRY(parse_name(p, &name));
    if (map_find(&p->network->names, name) != NONE) return expected(p, "a new name");
    TRY(need(p, ":"));
    skip_blanks(p);
    TRY(type_parse(&p->network->symbols, &p->at, &type, p->diag));
    TRY(network_check_bytes(p->network, name, type.dtype, &type.shape, p->diag));
    TRY(network_add_tensor(p->network, name, role, type.dtype, &type.shape, index, out_tensor));
    for (uint32_t i = 0; i < type.shape.rank; i++) out_strides[i] = type.strides[i];
    *out_offset = type.offset;
    return INSITU_OK;
}

static insitu_status parse_input(parser_t *p) {
    network_input_t *input;
    sym_t offset;
    TRY(network_add_input(p->network, &input));
    TRY(parse_string(p, &input->name));
    TRY(need(p, "="));
    if (take(p, "none")) {
        input->is_none = true;
        return INSITU_OK;
    }
    input->is_constant = take(p, "constant");
    input->is_scalar = input->is_constant || take(p, "number");
    if (input->is_scalar) {
        TRY(parse_dtype(p, &input->dtype));
        return parse_sym(p, &input->value);
    }
    return parse_view(p, TENSOR_INPUT, p->network->input_count - 1, &input->tensor, input->strides, &offset);
}

static insitu_status parse_of_record(parser_t *p, uint32_t *out_record) {
    int64_t record;
    *out_record = NONE;
    TRY(need(p, "of"));
    if (take(p, "zeros")) return INSITU_OK;
    TRY(need(p, "record"));
    TRY(parse_number(p, &record));
    if (record < 0 || record >= p->network->record_count) return expected(p, "the number of a record");
    *out_record = (uint32_t)record;
    return INSITU_OK;
}

static insitu_status parse_state(parser_t *p) {
    network_state_t *state;
    TRY(network_add_state(p->network, &state));
    TRY(parse_string(p, &state->name));
    TRY(need(p, "="));
    TRY(parse_view(p, TENSOR_STATE, p->network->state_count - 1, &state->tensor, state->strides, &state->offset));
    return parse_of_record(p, &state->record);
}

static insitu_status parse_constant(parser_t *p) {
    network_constant_t *constant;
    TRY(network_add_constant(p->network, &constant));
    TRY(parse_view(p, TENSOR_CONSTANT, p->network->constant_count - 1, &constant->tensor, constant->strides,
                   &constant->offset));
    return parse_of_record(p, &constant->record);
}

/* buffer "scale": f32[4]{2}+1 of record 0 */
static insitu_status parse_buffer(parser_t *p) {
    network_buffer_t *buffer;
    TRY(network_add_buffer(p->network, &buffer));
    TRY(parse_string(p, &buffer->name));
    TRY(need(p, ":"));
    skip_blanks(p);
    TRY(type_parse(&p->network->symbols, &p->at, &buffer->type, p->diag));
    return parse_of_record(p, &buffer->record);
}

static insitu_status parse_assert(parser_t *p) {
    sym_assert_t *row;
    TRY(network_add_assert(p->network, &row));
    TRY(parse_sym(p, &row->condition));
    TRY(need(p, ","));
    TRY(parse_string(p, &row->message));
    TRY(need(p, ","));
    TRY(parse_string(p, &row->source));
    row->is_bounds = take(p, ",");
    return row->is_bounds ? need(p, "bounds") : INSITU_OK;
}

static insitu_status parse_next(parser_t *p) {
    const char *name;
    TRY(parse_string(p, &name));
    TRY(need(p, "="));
    for (uint32_t i = 0; i < p->network->state_count; i++) {
        if (strcmp(p->network->states[i].name, name) == 0) return parse_tensor(p, &p->network->states[i].next);
    }
    return expected(p, "a state's name");
}

static insitu_status parse_mutation(parser_t *p) {
    const char *name;
    network_mutation_t *mutation;
    TRY(parse_string(p, &name));
    TRY(need(p, "="));
    TRY(network_add_mutation(p->network, &mutation));
    for (uint32_t i = 0; i < p->network->input_count; i++) {
        if (strcmp(p->network->inputs[i].name, name) != 0) continue;
        mutation->input = i;
        return parse_tensor(p, &mutation->next);
    }
    return expected(p, "an input's name");
}

static insitu_status parse_output(parser_t *p) {
    network_output_t *output;
    TRY(network_add_output(p->network, &output));
    TRY(parse_string(p, &output->name));
    TRY(need(p, "="));
    if (take(p, "none")) return INSITU_OK;
    if (take(p, "number")) {
        output->kind = OUTPUT_NUMBER;
        return parse_sym(p, &output->value);
    }
    output->kind = OUTPUT_TENSOR;
    return parse_tensor(p, &output->tensor);
}

static insitu_status parse_attr(parser_t *p, layer_kind_t kind, attr_id_t id, attr_t *out) {
    out->kind = attr_kind_of(id);
    if (out->kind == ATTR_KIND_SYM) return parse_sym(p, &out->value);
    if (out->kind == ATTR_KIND_DTYPE) return parse_dtype(p, &out->dtype);
    if (out->kind == ATTR_KIND_OP) {
        const char *word;
        TRY(parse_word(p, &word));
        if (!layer_parse_op(kind, word, &out->op)) return expected(p, "an op of the layer");
        return INSITU_OK;
    }
    sym_t *items;
    TRY(arena_array(&p->network->arena, MAX_RANK, sizeof(sym_t), &items));
    out->list.items = items;
    out->list.count = 0;
    TRY(need(p, "["));
    if (take(p, "]")) return INSITU_OK;
    do {
        if (out->list.count == MAX_RANK) return expected(p, "fewer items");
        TRY(parse_sym(p, &items[out->list.count++]));
    } while (take(p, ","));
    return need(p, "]");
}

static insitu_status parse_attrs(parser_t *p, layer_kind_t kind, attr_t *attrs) {
    const layer_info_t *info = layer_info_of(kind);
    for (uint32_t i = 0; i < info->attr_count; i++) attrs[i] = (attr_t){.kind = ATTR_KIND_NONE};
    if (!take(p, "{")) return INSITU_OK;
    do {
        const char *word;
        TRY(parse_word(p, &word));
        uint32_t index = 0;
        while (index < info->attr_count && strcmp(attr_name(info->attrs[index].id), word) != 0) index++;
        if (index == info->attr_count) return expected(p, "an attribute of the layer");
        TRY(need(p, "="));
        TRY(parse_attr(p, kind, info->attrs[index].id, &attrs[index]));
    } while (take(p, ","));
    return need(p, "}");
}

/* "%a: f32[2], %b: i64[2] =" before a layer */
static insitu_status parse_results(parser_t *p, const char *names[MAX_RESULTS], inferred_t types[MAX_RESULTS],
                                   uint32_t *out_count) {
    *out_count = 0;
    skip_blanks(p);
    if (*p->at != '%') return INSITU_OK;
    do {
        tensor_type_t type;
        if (*out_count == MAX_RESULTS) return expected(p, "fewer results");
        TRY(parse_name(p, &names[*out_count]));
        if (map_find(&p->network->names, names[*out_count]) != NONE) return expected(p, "a new name");
        TRY(need(p, ":"));
        skip_blanks(p);
        TRY(type_parse(&p->network->symbols, &p->at, &type, p->diag));
        types[(*out_count)++] = (inferred_t){type.dtype, type.shape};
    } while (take(p, ","));
    return need(p, "=");
}

static insitu_status parse_operands(parser_t *p, tensor_id_t **out_operands, uint32_t *out_count) {
    uint32_t capacity = 0;
    *out_operands = NULL;
    *out_count = 0;
    TRY(need(p, "("));
    if (take(p, ")")) return INSITU_OK;
    do {
        TRY(arena_grow(&p->network->arena, out_operands, &capacity, (size_t)*out_count + 1, sizeof(tensor_id_t)));
        TRY(parse_tensor(p, &(*out_operands)[(*out_count)++]));
    } while (take(p, ","));
    return need(p, ")");
}

static insitu_status parse_layer(parser_t *p) {
    const char *names[MAX_RESULTS] = {""}, *kind_name, *layer_name = "";
    inferred_t types[MAX_RESULTS];
    tensor_id_t *operands, results[MAX_RESULTS];
    uint32_t operand_count, result_count;
    layer_kind_t kind;
    TRY(parse_results(p, names, types, &result_count));
    TRY(parse_word(p, &kind_name));
    if (!layer_parse_kind(kind_name, &kind)) return expected(p, "a layer kind");
    TRY(parse_operands(p, &operands, &operand_count));
    layer_draft_t draft = draft_of(kind);
    TRY(parse_attrs(p, kind, draft.attrs));
    if (take(p, "@")) TRY(parse_string(p, &layer_name));
    const char *source = "";
    if (take(p, "#")) {
        skip_blanks(p);
        size_t size = strcspn(p->at, "\r\n");
        TRY(arena_string(&p->network->arena, p->at, size, &source));
        p->at += size;
    }
    if (result_count != layer_result_count(p->network, kind, draft.attrs))
        return expected(p, "as many results as the layer has");
    TRY(network_add_layer(p->network, &draft, operands, operand_count, names[0], source, results, p->diag));
    layer_t *added = network_layer_of(p->network, (layer_id_t){p->network->layer_count - 1});
    if (layer_name[0] || !result_count) added->name = layer_name;
    for (uint32_t i = 0; i < result_count; i++) {
        TRY(network_swap_name(p->network, results[i], names[i]));
        const network_tensor_t *result = network_tensor_of(p->network, results[i]);
        if (result->dtype != types[i].dtype || !shape_same(&result->shape, &types[i].shape)) {
            FAIL(p->diag, INSITU_FORMAT, "network text, line %u: %%%s does not have the type that its layer gives",
                 p->line, names[i]);
        }
    }
    return INSITU_OK;
}

static insitu_status parse_line(parser_t *p);

/* The end of a line, and its comment. */
static insitu_status finish_line(parser_t *p) {
    skip_blanks(p);
    if (*p->at == '#') p->at += strcspn(p->at, "\n");
    if (*p->at && *p->at != '\n') return expected(p, "the end of the line");
    if (*p->at) p->at++;
    p->line++;
    return INSITU_OK;
}

static bool is_blank(parser_t *p) {
    skip_blanks(p);
    return !*p->at || *p->at == '\n' || *p->at == '#';
}

/* region {
 *   lines of its network
 * } */
static insitu_status parse_region(parser_t *p) {
    network_t *outer = p->network;
    bool is_closed = false;
    TRY(need(p, "{"));
    if (p->depth == MAX_REGION_DEPTH) return expected(p, "less nesting");
    TRY(network_add_region(outer, &p->network));
    p->depth++;
    TRY(finish_line(p));
    while (*p->at && !is_closed) {
        is_closed = take(p, "}");
        if (!is_closed && !is_blank(p)) TRY(parse_line(p));
        if (!is_closed) TRY(finish_line(p));
    }
    if (!is_closed) return expected(p, "}");
    p->network = outer;
    p->depth--;
    return INSITU_OK;
}

static insitu_status parse_line(parser_t *p) {
    static const struct {
        const char *word;
        insitu_status (*parse)(parser_t *p);
    } lines[] = {
        {"symbol ", parse_symbol},        {"record ", parse_record},
        {"input ", parse_input},          {"state ", parse_state},
        {"constant ", parse_constant},    {"buffer ", parse_buffer},
        {"assert ", parse_assert},        {"next ", parse_next},
        {"mutation ", parse_mutation},    {"output ", parse_output},
        {"identity ", parse_fingerprint}, {"region ", parse_region},
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (take(p, lines[i].word)) return lines[i].parse(p);
    }
    return parse_layer(p);
}

static insitu_status parse_lines(parser_t *p) {
    bool begun = false;
    while (*p->at) {
        if (!is_blank(p)) {
            TRY(begun ? parse_line(p) : need(p, "network"));
            begun = true;
        }
        TRY(finish_line(p));
    }
    if (!begun) return expected(p, "network");
    return INSITU_OK;
}

insitu_status network_parse(const char *source, network_t **out_network, insitu_diag *diag) {
    *out_network = NULL;
    network_t *parsed;
    TRY(network_create(&parsed));
    parser_t p = {.network = parsed, .at = source, .line = 1, .diag = diag};
    insitu_status status = parse_lines(&p);
    if (status != INSITU_OK) {
        network_destroy(parsed);
        return status;
    }
    *out_network = parsed;
    return INSITU_OK;
}
