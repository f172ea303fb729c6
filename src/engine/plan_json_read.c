/* A plan from JSON, untrusted. Here every row must have the form that plan_json.c writes, every name be known and every
 * expression be built from earlier ones; whether ids and sizes fit together is plan_verify's question. */
#include "engine/format.h"
#include "plan/plan_fields.h"

#include <inttypes.h>
#include <jansson.h>

typedef struct plan_reader {
    plan_t *plan;
    json_t *root;
    weight_source_t *sources;
    sym_t *nodes;
    uint32_t node_count;
    const char *table; /* being read, and its row */
    uint32_t row;
    insitu_diag *diag;
} plan_reader_t;

static insitu_status bad(const plan_reader_t *reader, const char *what) {
    FAIL(reader->diag, INSITU_FORMAT, "the engine's plan is not valid: row %u of %s: %s", reader->row, reader->table,
         what);
}

/* ---- values ---- */

static insitu_status read_text(const plan_reader_t *reader, const json_t *value, const char *what,
                               const char **out_text) {
    *out_text = NULL;
    if (!json_is_string(value)) return bad(reader, what);
    return arena_string(&reader->plan->arena, json_string_value(value), json_string_length(value), out_text);
}

/* lowest <= value <= highest */
static insitu_status read_number(const plan_reader_t *reader, const json_t *value, int64_t lowest, int64_t highest,
                                 const char *what, int64_t *out_number) {
    *out_number = 0;
    if (!json_is_integer(value)) return bad(reader, what);
    *out_number = json_integer_value(value);
    if (*out_number < lowest || *out_number > highest) return bad(reader, what);
    return INSITU_OK;
}

static insitu_status read_id(const plan_reader_t *reader, const json_t *value, const char *what, uint32_t *out_id) {
    int64_t number;
    TRY(read_number(reader, value, -1, INT32_MAX, what, &number));
    *out_id = number < 0 ? NONE : (uint32_t)number;
    return INSITU_OK;
}

static insitu_status read_sym(const plan_reader_t *reader, const json_t *value, const char *what, sym_t *out_sym) {
    int64_t number;
    TRY(read_number(reader, value, 0, (int64_t)reader->node_count - 1, what, &number));
    *out_sym = reader->nodes[number];
    return INSITU_OK;
}

/* The number of an enum's name. */
static insitu_status read_enum(const plan_reader_t *reader, const json_t *value, names_fn names, const char *what,
                               uint32_t *out_number) {
    const char *given = json_string_value(value);
    *out_number = given && given[0] ? name_find(names, given, strlen(given)) : NONE;
    return *out_number == NONE ? bad(reader, what) : INSITU_OK;
}

static insitu_status read_dtype(const plan_reader_t *reader, const json_t *value, dtype_t *out_dtype) {
    if (!json_is_string(value) || !dtype_parse(json_string_value(value), out_dtype)) return bad(reader, "dtype");
    return INSITU_OK;
}

static insitu_status read_type(const plan_reader_t *reader, const json_t *value, tensor_type_t *out_type) {
    const json_t *sizes = json_array_get(value, 1), *strides = json_array_get(value, 2);
    size_t rank = json_array_size(sizes);
    if (json_array_size(value) != 4 || !json_is_array(sizes) || !json_is_array(strides) || rank > MAX_RANK ||
        json_array_size(strides) != rank)
        return bad(reader, "type");
    TRY(read_dtype(reader, json_array_get(value, 0), &out_type->dtype));
    out_type->shape.rank = (uint32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        TRY(read_sym(reader, json_array_get(sizes, i), "size", &out_type->shape.sizes[i]));
        TRY(read_sym(reader, json_array_get(strides, i), "stride", &out_type->strides[i]));
    }
    return read_sym(reader, json_array_get(value, 3), "offset", &out_type->offset);
}

static insitu_status read_operand(const plan_reader_t *reader, const json_t *value, plan_operand_t *out_operand) {
    if (json_array_size(value) != 2) return bad(reader, "operand");
    TRY(read_id(reader, json_array_get(value, 0), "storage", &out_operand->storage));
    return read_type(reader, json_array_get(value, 1), &out_operand->type);
}

static insitu_status read_operands(const plan_reader_t *reader, const json_t *row, const char *key,
                                   const plan_operand_t **out_operands, uint32_t *out_count) {
    const json_t *list = json_object_get(row, key);
    if (!json_is_array(list) || json_array_size(list) > MAX_NODES) return bad(reader, key);
    plan_operand_t *operands;
    uint32_t count = (uint32_t)json_array_size(list);
    TRY(arena_array(&reader->plan->arena, count, sizeof(*operands), &operands));
    for (uint32_t i = 0; i < count; i++) TRY(read_operand(reader, json_array_get(list, i), &operands[i]));
    *out_operands = operands;
    *out_count = count;
    return INSITU_OK;
}

/* ---- rows (plan_fields.def) ---- */

static const char *group_member(op_group_t group, const json_t *value) {
    const char *name = json_string_value(json_array_get(value, 0));
    return name && strcmp(name, format_op_group(group)) == 0 ? json_string_value(json_array_get(value, 1)) : NULL;
}

static insitu_status read_attr(const plan_reader_t *reader, const json_t *value, attr_id_t id, attr_t *out_attr) {
    const char *name = attr_name(id);
    out_attr->kind = attr_kind_of(id);
    switch (out_attr->kind) {
    case ATTR_KIND_NONE: return bad(reader, name);
    case ATTR_KIND_SYM: return read_sym(reader, value, name, &out_attr->value);
    case ATTR_KIND_DTYPE: return read_dtype(reader, value, &out_attr->dtype);
    case ATTR_KIND_OP:
        for (uint32_t group = 0; format_op_group(group); group++) {
            const char *op = group_member((op_group_t)group, value);
            if (op && op_parse(op, (op_group_t)group, &out_attr->op)) return INSITU_OK;
        }
        return bad(reader, name);
    case ATTR_KIND_SYMS: break;
    }
    if (!json_is_array(value) || json_array_size(value) > MAX_NODES) return bad(reader, name);
    uint32_t count = (uint32_t)json_array_size(value);
    sym_t *items;
    TRY(arena_array(&reader->plan->arena, count, sizeof(*items), &items));
    for (uint32_t i = 0; i < count; i++) TRY(read_sym(reader, json_array_get(value, i), name, &items[i]));
    out_attr->list.items = items;
    out_attr->list.count = count;
    return INSITU_OK;
}

static insitu_status read_attrs(const plan_reader_t *reader, const json_t *row, plan_step_t *step) {
    const json_t *object = json_object_get(row, "attrs");
    const layer_info_t *info = layer_info_of(step->layer);
    attr_t *attrs;
    size_t found = 0;
    if (!json_is_object(object)) return bad(reader, "attrs");
    TRY(arena_array(&reader->plan->arena, info->attr_count, sizeof(*attrs), &attrs));
    for (uint32_t i = 0; i < info->attr_count; i++) {
        const json_t *value = json_object_get(object, attr_name(info->attrs[i].id));
        if (!value) continue;
        found++;
        TRY(read_attr(reader, value, info->attrs[i].id, &attrs[i]));
    }
    if (found != json_object_size(object)) return bad(reader, "an attribute that its layer does not have");
    step->attrs = attrs;
    return INSITU_OK;
}

static insitu_status read_layer(const plan_reader_t *reader, const json_t *row, plan_step_t *step) {
    const char *layer = json_string_value(json_object_get(row, "layer"));
    if (!layer || !layer_parse_kind(layer, &step->layer)) return bad(reader, "layer");
    TRY(read_operands(reader, row, "results", &step->results, &step->result_count));
    TRY(read_operands(reader, row, "operands", &step->operands, &step->operand_count));
    return step->kind == STEP_LAYER ? read_attrs(reader, row, step) : INSITU_OK;
}

/* Keys of the row that hold the field. */
static uint32_t key_count(const plan_field_t *field, const void *row) {
    if (field->kind != FIELD_LAYER) return 1;
    return ((const plan_step_t *)row)->kind == STEP_LAYER ? 4 : 3; /* with attrs, or without */
}

static insitu_status read_fields(const plan_reader_t *reader, const plan_struct_t *fields, const json_t *json,
                                 uint32_t other_keys, void *row);

static insitu_status read_value(const plan_reader_t *reader, const plan_field_t *field, const json_t *json, void *row) {
    const json_t *value = json_object_get(json, field->name);
    const char *what = field->name;
    void *place = (char *)row + field->offset;
    int64_t number;
    switch (field->kind) {
    case FIELD_TEXT: return read_text(reader, value, what, place);
    case FIELD_ENUM:
    case FIELD_OPTIONAL_ENUM: return read_enum(reader, value, field->names, what, place);
    case FIELD_ID:
    case FIELD_OPTIONAL_ID:
    case FIELD_SMALL: return read_id(reader, value, what, place);
    case FIELD_NUMBER: return read_number(reader, value, INT64_MIN, INT64_MAX, what, place);
    case FIELD_SIZE:
        TRY(read_number(reader, value, 0, INT64_MAX, what, &number));
        *(size_t *)place = (size_t)number;
        return INSITU_OK;
    case FIELD_FLAG:
        if (!json_is_boolean(value)) return bad(reader, what);
        *(bool *)place = json_is_true(value);
        return INSITU_OK;
    case FIELD_SYM:
    case FIELD_COUNT: return read_sym(reader, value, what, place);
    case FIELD_TYPE: return read_type(reader, value, place);
    case FIELD_OPERAND: return read_operand(reader, value, place);
    case FIELD_LAYER: return read_layer(reader, json, row);
    case FIELD_PART: return read_fields(reader, field->part, value, 0, place);
    }
    return bad(reader, what);
}

/* Each field that exists is there or may be left out, and nothing else is there but so many other keys. */
static insitu_status read_fields(const plan_reader_t *reader, const plan_struct_t *fields, const json_t *json,
                                 uint32_t other_keys, void *row) {
    size_t found = other_keys;
    if (!json_is_object(json)) return bad(reader, "it is no object");
    for (uint32_t i = 0; i < fields->count; i++) {
        const plan_field_t *field = &fields->fields[i];
        bool exists = field_exists(fields, field, row), is_there = exists && json_object_get(json, field->name);
        if (is_there) {
            found += key_count(field, row);
            TRY(read_value(reader, field, json, row));
        } else if (!field_leave_out(field, row) && exists) {
            return bad(reader, field->name);
        }
    }
    return found == json_object_size(json) ? INSITU_OK : bad(reader, "a field that such a row does not have");
}

/* ---- tables ---- */

/* Starts a table: its rows, and zeroed memory for them. */
static insitu_status start_table(plan_reader_t *reader, const char *key, size_t row_size, const json_t **out_rows,
                                 void *out_memory, uint32_t *out_count) {
    *out_count = 0;
    const json_t *rows = json_object_get(reader->root, key);
    reader->table = key;
    reader->row = 0;
    if (!json_is_array(rows) || json_array_size(rows) > MAX_NODES) return bad(reader, "no such table, or too long");
    *out_rows = rows;
    TRY(arena_array(&reader->plan->arena, json_array_size(rows), row_size, out_memory));
    *out_count = (uint32_t)json_array_size(rows);
    return INSITU_OK;
}

static insitu_status read_symbols(plan_reader_t *reader) {
    plan_t *plan = reader->plan;
    const json_t *rows;
    uint32_t count;
    TRY(start_table(reader, "symbols", sizeof(plan_symbol_t), &rows, &plan->symbol_sources, &count));
    for (uint32_t i = 0; i < count; i++) {
        symbol_row_t row = {0};
        reader->row = i;
        TRY(read_fields(reader, &symbol_row_struct, json_array_get(rows, i), 0, &row));
        if (row.symbol.min > row.symbol.max) return bad(reader, "max");
        plan->symbol_sources[i] = row.source;
        const symbol_t *symbol = &row.symbol;
        uint32_t index = sym_add_symbol(&plan->symbols, symbol->name, symbol->kind, symbol->min, symbol->max);
        TRY(sym_pool_status(&plan->symbols, reader->diag));
        if (index != i) return bad(reader, "a symbol twice");
    }
    return INSITU_OK;
}

static insitu_status read_constant(const plan_reader_t *reader, const json_t *row, sym_kind_t kind, sym_t *out_sym) {
    sym_pool_t *pool = &reader->plan->symbols;
    const json_t *value = json_array_get(row, 1);
    if (json_array_size(row) != 2) return bad(reader, "constant");
    if (kind != SYM_KIND_FLOAT) {
        int64_t number;
        TRY(read_number(reader, value, kind == SYM_KIND_BOOL ? 0 : INT64_MIN, kind == SYM_KIND_BOOL ? 1 : INT64_MAX,
                        "constant", &number));
        *out_sym = kind == SYM_KIND_BOOL ? sym_bool(pool, number != 0) : sym_int(pool, number);
        return INSITU_OK;
    }
    const char *digits = json_string_value(value);
    if (!digits || strspn(digits, "0123456789abcdef") != HASH_DIGITS || digits[HASH_DIGITS])
        return bad(reader, "constant");
    uint64_t bits = strtoull(digits, NULL, 16);
    double real;
    memcpy(&real, &bits, sizeof(real));
    *out_sym = sym_float(pool, real);
    return INSITU_OK;
}

/* 0: any number from 1 on */
static uint32_t argument_count(sym_op_t op) {
    switch ((int)op) {
    case SYM_ADD:
    case SYM_MUL:
    case SYM_MAX:
    case SYM_MIN:
    case SYM_AND:
    case SYM_OR: return 0;
    case SYM_FLOORDIV:
    case SYM_MOD:
    case SYM_POW:
    case SYM_EQ:
    case SYM_NE:
    case SYM_LT:
    case SYM_LE:
    case SYM_GT:
    case SYM_GE:
    case SYM_TRUEDIV:
    case SYM_LSHIFT:
    case SYM_RSHIFT:
    case SYM_BITAND:
    case SYM_BITOR: return 2;
    case SYM_WHERE: return 3;
    default: return 1;
    }
}

static insitu_status read_operator(const plan_reader_t *reader, const json_t *row, arena_t *scratch, sym_t *out_sym) {
    uint32_t op, count = (uint32_t)(json_array_size(row) - 1);
    sym_t *args;
    TRY(read_enum(reader, json_array_get(row, 0), format_sym_op, "operator", &op));
    uint32_t expected = argument_count((sym_op_t)op);
    if (count == 0 || (expected && count != expected)) return bad(reader, "number of arguments");
    TRY(arena_array(scratch, count, sizeof(*args), &args));
    for (uint32_t i = 0; i < count; i++) TRY(read_sym(reader, json_array_get(row, i + 1), "argument", &args[i]));
    *out_sym = sym_make(&reader->plan->symbols, (sym_op_t)op, args, count);
    return INSITU_OK;
}

static insitu_status read_node(const plan_reader_t *reader, const json_t *row, arena_t *scratch, sym_t *out_sym) {
    const char *head = json_string_value(json_array_get(row, 0));
    if (!head) return bad(reader, "expression");
    for (uint32_t kind = 0; sym_kind_name(kind); kind++)
        if (json_array_size(row) == 2 && json_is_string(json_array_get(row, 0)) &&
            strcmp(head, sym_kind_name(kind)) == 0 &&
            (kind != SYM_KIND_FLOAT || json_is_string(json_array_get(row, 1))))
            return read_constant(reader, row, (sym_kind_t)kind, out_sym);
    if (strcmp(head, "symbol") != 0) return read_operator(reader, row, scratch, out_sym);
    int64_t index;
    TRY(read_number(reader, json_array_get(row, 1), 0, (int64_t)reader->plan->symbols.symbol_count - 1, "symbol",
                    &index));
    *out_sym = sym_of_symbol(&reader->plan->symbols, (uint32_t)index);
    return INSITU_OK;
}

static insitu_status read_nodes(plan_reader_t *reader, arena_t *scratch) {
    const json_t *rows;
    uint32_t count;
    TRY(start_table(reader, "nodes", sizeof(sym_t), &rows, &reader->nodes, &count));
    for (uint32_t i = 0; i < count; i++) {
        reader->row = i;
        TRY(read_node(reader, json_array_get(rows, i), scratch, &reader->nodes[i]));
        TRY(sym_pool_status(&reader->plan->symbols, reader->diag));
        reader->node_count = i + 1;
    }
    return INSITU_OK;
}

/* 16 hexadecimal digits under the key. */
static insitu_status read_hash(const plan_reader_t *reader, const json_t *row, const char *key, uint64_t *out_hash) {
    const char *digits;
    TRY(read_text(reader, json_object_get(row, key), key, &digits));
    if (strspn(digits, "0123456789abcdef") != HASH_DIGITS || digits[HASH_DIGITS]) return bad(reader, key);
    *out_hash = strtoull(digits, NULL, 16);
    return INSITU_OK;
}

/* Beside its fields a weight has the place of its bytes. */
static insitu_status read_weight_source(plan_reader_t *reader, const json_t *row, weight_source_t *source,
                                        uint32_t *out_keys) {
    const json_t *zeros = json_object_get(row, "zeros");
    *out_keys = 1;
    if (zeros) return json_is_true(zeros) ? INSITU_OK : bad(reader, "zeros");
    *out_keys = 2;
    TRY(read_text(reader, json_object_get(row, "tensor"), "tensor", &source->tensor));
    return read_hash(reader, row, "hash", &source->hash);
}

static insitu_status read_table(plan_reader_t *reader, const plan_table_t *table) {
    plan_t *plan = reader->plan;
    const json_t *rows;
    void *memory = NULL;
    uint32_t count, source_count;
    bool has_sources = table->rows == offsetof(struct plan, weights);
    if (has_sources)
        TRY(start_table(reader, table->name, sizeof(weight_source_t), &rows, &reader->sources, &source_count));
    TRY(start_table(reader, table->name, table->row->size, &rows, &memory, &count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other_keys = 0;
        reader->row = i;
        if (has_sources) TRY(read_weight_source(reader, json_array_get(rows, i), &reader->sources[i], &other_keys));
        TRY(read_fields(reader, table->row, json_array_get(rows, i), other_keys,
                        (char *)memory + i * table->row->size));
    }
    memcpy((char *)plan + table->rows, &memory, sizeof(memory));
    memcpy((char *)plan + table->count, &count, sizeof(count));
    return INSITU_OK;
}

static insitu_status read_tables(plan_reader_t *reader, arena_t *scratch) {
    plan_t *plan = reader->plan;
    TRY(read_symbols(reader));
    TRY(read_nodes(reader, scratch));
    reader->table = "plan";
    TRY(read_hash(reader, reader->root, "program", &plan->fingerprint));
    TRY(read_id(reader, json_object_get(reader->root, "first_write"), "first_write", &plan->first_write));
    for (size_t i = 0; i < PLAN_TABLES; i++) TRY(read_table(reader, &plan_tables[i]));
    return plan_derive(plan);
}

insitu_status plan_read_json(const char *json, size_t size, plan_t **out_plan, weight_source_t **out_sources,
                             insitu_diag *diag) {
    *out_plan = NULL;
    *out_sources = NULL;
    json_error_t error;
    plan_reader_t reader = {.table = "plan", .diag = diag};
    reader.root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(reader.root)) {
        json_decref(reader.root);
        FAIL(diag, INSITU_FORMAT, "the engine's plan is no JSON object (%s)", error.text);
    }
    arena_t scratch;
    arena_init(&scratch);
    insitu_status status = plan_create(&reader.plan);
    if (status == INSITU_OK) status = read_tables(&reader, &scratch);
    arena_release(&scratch);
    json_decref(reader.root);
    if (status != INSITU_OK) {
        plan_destroy(reader.plan);
        return status;
    }
    *out_plan = reader.plan;
    *out_sources = reader.sources;
    return INSITU_OK;
}
