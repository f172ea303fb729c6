/* Arguments of nodes, graphs and signatures: one reader a variant of the saved union, in one table. */
#include "archive/archive_int.h"

typedef struct argument_scope {
    reader_t *reader;
    const archive_graph_t *graph;
    const bitset_t *defined; /* NULL: every value of the graph may be named */
} argument_scope_t;

typedef insitu_status (*variant_reader_t)(const argument_scope_t *scope, const json_cursor_t *at,
                                          archive_argument_t *out);

/* ---- references ---- */

static insitu_status resolve(const argument_scope_t *scope, const json_cursor_t *at, uint32_t *out_value) {
    *out_value = NONE;
    const char *name;
    TRY(json_text(at, &name));
    uint32_t id = map_find(&scope->graph->value_ids, name);
    if (id == NONE) return json_fail(at, INSITU_FORMAT, "the value '%s' is in none of the graph's tables", name);
    if (scope->defined && !bitset_has(scope->defined, id))
        return json_fail(at, INSITU_FORMAT, "the value '%s' is used before it is defined", name);
    *out_value = id;
    return INSITU_OK;
}

insitu_status read_reference(const archive_graph_t *graph, const bitset_t *defined, const json_cursor_t *at,
                             uint32_t *out_value) {
    *out_value = NONE;
    json_cursor_t name;
    TRY(json_member(at, "name", &name));
    return resolve(&(argument_scope_t){.graph = graph, .defined = defined}, &name, out_value);
}

static insitu_status reference(const argument_scope_t *scope, const json_cursor_t *at, uint32_t *out_value) {
    return read_reference(scope->graph, scope->defined, at, out_value);
}

static insitu_status read_none(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    (void)scope, (void)at;
    out->kind = ARGUMENT_NONE;
    return INSITU_OK;
}

static insitu_status read_tensor(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_TENSOR;
    return reference(scope, at, &out->value);
}

/* {"as_tensor": {"name": ...}} or {"as_none": ...} */
static insitu_status optional_reference(const argument_scope_t *scope, const json_cursor_t *at, uint32_t *out_value) {
    *out_value = NONE;
    json_cursor_t content;
    TRY(json_union(at, &content));
    if (strcmp(content.key, "as_none") == 0) return INSITU_OK;
    if (strcmp(content.key, "as_tensor") != 0)
        return json_fail(at, INSITU_UNSUPPORTED, "an optional tensor of the unknown form '%s'", content.key);
    return reference(scope, &content, out_value);
}

static insitu_status read_optional_tensor(const argument_scope_t *scope, const json_cursor_t *at,
                                          archive_argument_t *out) {
    TRY(optional_reference(scope, at, &out->value));
    out->kind = out->value == NONE ? ARGUMENT_NONE : ARGUMENT_TENSOR;
    return INSITU_OK;
}

typedef insitu_status (*reference_reader_t)(const argument_scope_t *scope, const json_cursor_t *at,
                                            uint32_t *out_value);

static insitu_status read_references(const argument_scope_t *scope, const json_cursor_t *at,
                                     reference_reader_t read_item, archive_argument_t *out) {
    out->kind = ARGUMENT_TENSORS;
    TRY(json_count(at, &out->count));
    uint32_t *values;
    TRY(arena_array(scope->reader->arena, out->count, sizeof(*values), &values));
    for (uint32_t i = 0; i < out->count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_item(scope, &item, &values[i]));
    }
    out->values = values;
    return INSITU_OK;
}

static insitu_status read_tensors(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_references(scope, at, reference, out);
}
static insitu_status read_optional_tensors(const argument_scope_t *scope, const json_cursor_t *at,
                                           archive_argument_t *out) {
    return read_references(scope, at, optional_reference, out);
}

static insitu_status read_object(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    json_cursor_t class_fqn;
    out->kind = ARGUMENT_OBJECT;
    TRY(reference(scope, at, &out->value));
    TRY(json_member(at, "class_fqn", &class_fqn));
    return reader_text(scope->reader, &class_fqn, &out->string);
}

/* ---- numbers ---- */

static insitu_status number_literal(const json_cursor_t *at, sym_kind_t kind, archive_number_t *out) {
    *out = (archive_number_t){.value = NONE, .literal = {.kind = kind}};
    return read_literal(at, kind, &out->literal);
}

/* {"as_name": ...} or {"as_int": 3} */
static insitu_status number_symbolic(const argument_scope_t *scope, const json_cursor_t *at, sym_kind_t kind,
                                     archive_number_t *out) {
    *out = (archive_number_t){.value = NONE, .literal = {.kind = kind}};
    json_cursor_t content;
    TRY(json_union(at, &content));
    if (strcmp(content.key, literal_key(kind)) == 0) return number_literal(&content, kind, out);
    if (strcmp(content.key, "as_name") != 0)
        return json_fail(at, INSITU_UNSUPPORTED, "a symbolic argument of the unknown form '%s'", content.key);
    TRY(resolve(scope, &content, &out->value));
    if (scope->graph->values[out->value].kind != ARCHIVE_SYM)
        return json_fail(&content, INSITU_FORMAT, "the value '%s' is not a symbolic number",
                         scope->graph->values[out->value].name);
    return INSITU_OK;
}

static insitu_status read_numbers(const argument_scope_t *scope, const json_cursor_t *at, sym_kind_t kind,
                                  bool symbolic, archive_argument_t *out) {
    static const archive_argument_kind_t kinds[] = {ARGUMENT_INTS, ARGUMENT_FLOATS, ARGUMENT_BOOLS};
    out->kind = kinds[kind];
    TRY(json_count(at, &out->count));
    archive_number_t *numbers;
    TRY(arena_array(scope->reader->arena, out->count, sizeof(*numbers), &numbers));
    for (uint32_t i = 0; i < out->count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        if (symbolic)
            TRY(number_symbolic(scope, &item, kind, &numbers[i]));
        else
            TRY(number_literal(&item, kind, &numbers[i]));
    }
    out->numbers = numbers;
    return INSITU_OK;
}

static insitu_status read_int(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    (void)scope;
    out->kind = ARGUMENT_INT;
    return number_literal(at, SYM_KIND_INT, &out->number);
}
static insitu_status read_float(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    (void)scope;
    out->kind = ARGUMENT_FLOAT;
    return number_literal(at, SYM_KIND_FLOAT, &out->number);
}
static insitu_status read_bool(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    (void)scope;
    out->kind = ARGUMENT_BOOL;
    return number_literal(at, SYM_KIND_BOOL, &out->number);
}
static insitu_status read_sym_int(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_INT;
    return number_symbolic(scope, at, SYM_KIND_INT, &out->number);
}
static insitu_status read_sym_float(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_FLOAT;
    return number_symbolic(scope, at, SYM_KIND_FLOAT, &out->number);
}
static insitu_status read_sym_bool(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_BOOL;
    return number_symbolic(scope, at, SYM_KIND_BOOL, &out->number);
}
static insitu_status read_ints(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_numbers(scope, at, SYM_KIND_INT, false, out);
}
static insitu_status read_floats(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_numbers(scope, at, SYM_KIND_FLOAT, false, out);
}
static insitu_status read_bools(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_numbers(scope, at, SYM_KIND_BOOL, false, out);
}
static insitu_status read_sym_ints(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_numbers(scope, at, SYM_KIND_INT, true, out);
}
static insitu_status read_sym_floats(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_numbers(scope, at, SYM_KIND_FLOAT, true, out);
}
static insitu_status read_sym_bools(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_numbers(scope, at, SYM_KIND_BOOL, true, out);
}

static insitu_status read_complex(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    (void)scope;
    json_cursor_t part;
    out->kind = ARGUMENT_COMPLEX;
    TRY(json_member(at, "real", &part));
    TRY(json_float(&part, &out->complex.real));
    TRY(json_member(at, "imag", &part));
    return json_float(&part, &out->complex.imag);
}

/* ---- lists of lists ---- */

static insitu_status read_items(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_kind_t kind,
                                variant_reader_t read_item, archive_argument_t *out) {
    out->kind = kind;
    TRY(json_count(at, &out->count));
    archive_argument_t *items;
    TRY(arena_array(scope->reader->arena, out->count, sizeof(*items), &items));
    for (uint32_t i = 0; i < out->count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_item(scope, &item, &items[i]));
    }
    out->items = items;
    return INSITU_OK;
}

static insitu_status read_nested_tensors(const argument_scope_t *scope, const json_cursor_t *at,
                                         archive_argument_t *out) {
    return read_items(scope, at, ARGUMENT_NESTED_TENSORS, read_tensors, out);
}
static insitu_status read_int_lists(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_items(scope, at, ARGUMENT_INT_LISTS, read_ints, out);
}
static insitu_status read_float_lists(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    return read_items(scope, at, ARGUMENT_FLOAT_LISTS, read_floats, out);
}

static insitu_status read_map(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_MAP;
    TRY(json_members(at, &out->count));
    archive_argument_t *items;
    const char **keys;
    TRY(arena_array(scope->reader->arena, out->count, sizeof(*items), &items));
    TRY(arena_array(scope->reader->arena, out->count, sizeof(*keys), &keys));
    void *iterator = NULL;
    json_cursor_t member;
    for (uint32_t i = 0; json_next(at, &iterator, &member); i++) {
        TRY(reader_intern(scope->reader, member.key, &keys[i]));
        TRY(read_argument(scope->reader, scope->graph, scope->defined, &member, &items[i]));
    }
    out->strings = keys;
    out->items = items;
    return INSITU_OK;
}

/* ---- the rest ---- */

static insitu_status read_string(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_STRING;
    return reader_text(scope->reader, at, &out->string);
}
static insitu_status read_strings(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_STRINGS;
    return reader_texts(scope->reader, at, &out->strings, &out->count);
}
static insitu_status read_operator(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    out->kind = ARGUMENT_OPERATOR;
    return reader_text(scope->reader, at, &out->string);
}
static insitu_status read_scalar_type(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    (void)scope;
    out->kind = ARGUMENT_DTYPE;
    return read_dtype(at, &out->dtype);
}

static insitu_status read_enum(const json_cursor_t *at, const char *what, int64_t last, int64_t *out) {
    TRY(json_int(at, out));
    if (*out < 1 || *out > last)
        return json_fail(at, INSITU_UNSUPPORTED, "the %s number %lld is not known", what, (long long)*out);
    return INSITU_OK;
}
static insitu_status read_memory_format(const argument_scope_t *scope, const json_cursor_t *at,
                                        archive_argument_t *out) {
    (void)scope;
    int64_t number;
    out->kind = ARGUMENT_MEMORY_FORMAT;
    TRY(read_enum(at, "memory format", MEMORY_FORMAT_PRESERVE, &number));
    out->memory_format = (archive_memory_format_t)number;
    return INSITU_OK;
}
static insitu_status read_layout(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    (void)scope;
    int64_t number;
    out->kind = ARGUMENT_LAYOUT;
    TRY(read_enum(at, "layout", LAYOUT_STRIDED, &number));
    out->layout = (archive_layout_t)number;
    return INSITU_OK;
}
static insitu_status read_device_argument(const argument_scope_t *scope, const json_cursor_t *at,
                                          archive_argument_t *out) {
    out->kind = ARGUMENT_DEVICE;
    return read_device(scope->reader, at, &out->device);
}
static insitu_status read_subgraph(const argument_scope_t *scope, const json_cursor_t *at, archive_argument_t *out) {
    json_cursor_t member;
    out->kind = ARGUMENT_GRAPH;
    TRY(json_member(at, "name", &member));
    TRY(reader_text(scope->reader, &member, &out->string));
    TRY(json_member(at, "graph", &member));
    return read_graph(scope->reader, &member, &out->graph);
}

static const struct variant {
    const char *key;
    variant_reader_t read;
} variants[] = {
    {"as_tensor", read_tensor},
    {"as_int", read_int},
    {"as_ints", read_ints},
    {"as_none", read_none},
    {"as_float", read_float},
    {"as_bool", read_bool},
    {"as_tensors", read_tensors},
    {"as_optional_tensors", read_optional_tensors},
    {"as_optional_tensor", read_optional_tensor},
    {"as_sym_int", read_sym_int},
    {"as_sym_ints", read_sym_ints},
    {"as_sym_float", read_sym_float},
    {"as_sym_floats", read_sym_floats},
    {"as_sym_bool", read_sym_bool},
    {"as_sym_bools", read_sym_bools},
    {"as_string", read_string},
    {"as_strings", read_strings},
    {"as_floats", read_floats},
    {"as_bools", read_bools},
    {"as_scalar_type", read_scalar_type},
    {"as_device", read_device_argument},
    {"as_memory_format", read_memory_format},
    {"as_layout", read_layout},
    {"as_complex", read_complex},
    {"as_graph", read_subgraph},
    {"as_operator", read_operator},
    {"as_custom_obj", read_object},
    {"as_nested_tensors", read_nested_tensors},
    {"as_int_lists", read_int_lists},
    {"as_float_lists", read_float_lists},
    {"as_string_to_argument", read_map},
};

insitu_status read_argument(reader_t *reader, const archive_graph_t *graph, const bitset_t *defined,
                            const json_cursor_t *at, archive_argument_t *out) {
    memset(out, 0, sizeof(*out));
    const argument_scope_t scope = {.reader = reader, .graph = graph, .defined = defined};
    json_cursor_t content;
    TRY(json_union(at, &content));
    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        if (strcmp(content.key, variants[i].key) != 0) continue;
        TRY(reader_enter(reader, at));
        insitu_status status = variants[i].read(&scope, &content, out);
        reader_leave(reader);
        return status;
    }
    return json_fail(at, INSITU_UNSUPPORTED, "an argument of the unknown kind '%s'", content.key);
}
