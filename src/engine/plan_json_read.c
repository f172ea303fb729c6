/* A plan from JSON, untrusted. Here every row must have the form that plan_json.c writes, every name be known and every
 * expression be built from earlier ones; whether ids and sizes fit together is plan_verify's question. */
#include "engine/format.h"

#include <inttypes.h>
#include <jansson.h>

typedef struct plan_reader {
    plan *plan;
    json_t *root;
    weight_source *sources;
    sym *nodes;
    uint32_t node_count;
    const char *table; /* being read, and its row */
    uint32_t row;
    insitu_diag *diag;
} plan_reader;

static insitu_status bad(const plan_reader *reader, const char *what) {
    FAIL(reader->diag, INSITU_FORMAT, "the engine's plan is not valid: row %u of %s: %s", reader->row, reader->table,
         what);
}

/* ---- values ---- */

static insitu_status read_text(const plan_reader *reader, const json_t *row, const char *key, const char **out_text) {
    *out_text = NULL;
    const json_t *value = json_object_get(row, key);
    if (!json_is_string(value)) return bad(reader, key);
    return arena_string(&reader->plan->arena, json_string_value(value), json_string_length(value), out_text);
}

/* lowest <= value <= highest */
static insitu_status read_number(const plan_reader *reader, const json_t *value, int64_t lowest, int64_t highest,
                                 const char *what, int64_t *out_number) {
    *out_number = 0;
    if (!json_is_integer(value)) return bad(reader, what);
    *out_number = json_integer_value(value);
    if (*out_number < lowest || *out_number > highest) return bad(reader, what);
    return INSITU_OK;
}

static insitu_status read_id(const plan_reader *reader, const json_t *value, const char *what, uint32_t *out_id) {
    int64_t number;
    TRY(read_number(reader, value, -1, INT32_MAX, what, &number));
    *out_id = number < 0 ? NONE : (uint32_t)number;
    return INSITU_OK;
}

static insitu_status read_size(const plan_reader *reader, const json_t *value, const char *what, size_t *out_size) {
    int64_t number;
    TRY(read_number(reader, value, 0, INT64_MAX, what, &number));
    *out_size = (size_t)number;
    return INSITU_OK;
}

static bool read_flag(const json_t *row, const char *key) { return json_is_true(json_object_get(row, key)); }

static insitu_status read_sym(const plan_reader *reader, const json_t *value, const char *what, sym *out_sym) {
    int64_t number;
    TRY(read_number(reader, value, 0, (int64_t)reader->node_count - 1, what, &number));
    *out_sym = reader->nodes[number];
    return INSITU_OK;
}

static insitu_status read_sym_of(const plan_reader *reader, const json_t *row, const char *key, sym *out_sym) {
    return read_sym(reader, json_object_get(row, key), key, out_sym);
}

/* The number of an enum's name. */
static insitu_status read_enum(const plan_reader *reader, const json_t *value, const char *(*name_of)(uint32_t),
                               const char *what, uint32_t *out_number) {
    *out_number = 0;
    const char *given = json_string_value(value);
    for (uint32_t i = 0; given && name_of(i); i++) {
        if (!name_of(i)[0] || strcmp(name_of(i), given) != 0) continue;
        *out_number = i;
        return INSITU_OK;
    }
    return bad(reader, what);
}

static insitu_status read_dtype(const plan_reader *reader, const json_t *value, dtype *out_dtype) {
    if (!json_is_string(value) || !dtype_parse(json_string_value(value), out_dtype)) return bad(reader, "dtype");
    return INSITU_OK;
}

static insitu_status read_type(const plan_reader *reader, const json_t *value, tensor_type *out_type) {
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

static insitu_status read_operand(const plan_reader *reader, const json_t *value, plan_operand *out_operand) {
    if (json_array_size(value) != 2) return bad(reader, "operand");
    TRY(read_id(reader, json_array_get(value, 0), "storage", &out_operand->storage));
    return read_type(reader, json_array_get(value, 1), &out_operand->type);
}

static insitu_status read_operands(const plan_reader *reader, const json_t *row, const char *key,
                                   const plan_operand **out_operands, uint32_t *out_count) {
    const json_t *list = json_object_get(row, key);
    if (!json_is_array(list) || json_array_size(list) > MAX_NODES) return bad(reader, key);
    plan_operand *operands;
    uint32_t count = (uint32_t)json_array_size(list);
    TRY(arena_array(&reader->plan->arena, count, sizeof(*operands), &operands));
    for (uint32_t i = 0; i < count; i++) TRY(read_operand(reader, json_array_get(list, i), &operands[i]));
    *out_operands = operands;
    *out_count = count;
    return INSITU_OK;
}

/* ---- tables ---- */

/* Starts a table: its rows, and zeroed memory for them. */
static insitu_status start_table(plan_reader *reader, const char *key, size_t row_size, const json_t **out_rows,
                                 void *out_memory, uint32_t *out_count) {
    const json_t *rows = json_object_get(reader->root, key);
    reader->table = key;
    reader->row = 0;
    if (!json_is_array(rows) || json_array_size(rows) > MAX_NODES) return bad(reader, "no such table, or too long");
    *out_rows = rows;
    TRY(arena_array(&reader->plan->arena, json_array_size(rows), row_size, out_memory));
    *out_count = (uint32_t)json_array_size(rows);
    return INSITU_OK;
}

static insitu_status read_symbols(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    uint32_t count;
    TRY(start_table(reader, "symbols", sizeof(plan_symbol), &rows, &plan->symbol_sources, &count));
    for (uint32_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name;
        uint32_t kind, source;
        int64_t lowest, highest;
        reader->row = i;
        TRY(read_text(reader, row, "name", &name));
        TRY(read_enum(reader, json_object_get(row, "kind"), format_symbol_kind, "kind", &kind));
        TRY(read_enum(reader, json_object_get(row, "source"), format_symbol_source, "source", &source));
        TRY(read_number(reader, json_object_get(row, "min"), INT64_MIN, INT64_MAX, "min", &lowest));
        TRY(read_number(reader, json_object_get(row, "max"), lowest, INT64_MAX, "max", &highest));
        plan_symbol *symbol = &plan->symbol_sources[i];
        symbol->source = source;
        if (source == SYMBOL_STEP) {
            TRY(read_id(reader, json_object_get(row, "step"), "step", &symbol->step));
            symbol->in_sizes = read_flag(row, "in_sizes");
        } else if (source != SYMBOL_UNUSED) {
            const char *key = source == SYMBOL_STATE_SIZE ? "state" : "input";
            TRY(read_id(reader, json_object_get(row, key), key, &symbol->input));
        }
        if (source == SYMBOL_INPUT_SIZE || source == SYMBOL_STATE_SIZE)
            TRY(read_id(reader, json_object_get(row, "dim"), "dim", &symbol->dim));
        uint32_t index = sym_add_symbol(&plan->symbols, name, (sym_kind)kind, lowest, highest);
        TRY(sym_pool_status(&plan->symbols, reader->diag));
        if (index != i) return bad(reader, "a symbol twice");
    }
    return INSITU_OK;
}

static insitu_status read_constant(const plan_reader *reader, const json_t *row, sym_kind kind, sym *out_sym) {
    sym_pool *pool = &reader->plan->symbols;
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
static uint32_t argument_count(sym_op op) {
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

static insitu_status read_operator(const plan_reader *reader, const json_t *row, arena *scratch, sym *out_sym) {
    uint32_t op, count = (uint32_t)(json_array_size(row) - 1);
    sym *args;
    TRY(read_enum(reader, json_array_get(row, 0), format_sym_op, "operator", &op));
    uint32_t expected = argument_count((sym_op)op);
    if (count == 0 || (expected && count != expected)) return bad(reader, "number of arguments");
    TRY(arena_array(scratch, count, sizeof(*args), &args));
    for (uint32_t i = 0; i < count; i++) TRY(read_sym(reader, json_array_get(row, i + 1), "argument", &args[i]));
    *out_sym = sym_make(&reader->plan->symbols, (sym_op)op, args, count);
    return INSITU_OK;
}

static insitu_status read_node(const plan_reader *reader, const json_t *row, arena *scratch, sym *out_sym) {
    const char *head = json_string_value(json_array_get(row, 0));
    if (!head) return bad(reader, "expression");
    for (uint32_t kind = 0; format_symbol_kind(kind); kind++)
        if (json_array_size(row) == 2 && json_is_string(json_array_get(row, 0)) &&
            strcmp(head, format_symbol_kind(kind)) == 0 &&
            (kind != SYM_KIND_FLOAT || json_is_string(json_array_get(row, 1))))
            return read_constant(reader, row, (sym_kind)kind, out_sym);
    if (strcmp(head, "symbol") != 0) return read_operator(reader, row, scratch, out_sym);
    int64_t index;
    TRY(read_number(reader, json_array_get(row, 1), 0, (int64_t)reader->plan->symbols.symbol_count - 1, "symbol",
                    &index));
    *out_sym = sym_of_symbol(&reader->plan->symbols, (uint32_t)index);
    return INSITU_OK;
}

static insitu_status read_nodes(plan_reader *reader, arena *scratch) {
    const json_t *rows;
    uint32_t count;
    TRY(start_table(reader, "nodes", sizeof(sym), &rows, &reader->nodes, &count));
    for (uint32_t i = 0; i < count; i++) {
        reader->row = i;
        TRY(read_node(reader, json_array_get(rows, i), scratch, &reader->nodes[i]));
        TRY(sym_pool_status(&reader->plan->symbols, reader->diag));
        reader->node_count = i + 1;
    }
    return INSITU_OK;
}

/* 16 hexadecimal digits under the key. */
static insitu_status read_hash(const plan_reader *reader, const json_t *row, const char *key, uint64_t *out_hash) {
    const char *digits;
    TRY(read_text(reader, row, key, &digits));
    if (strspn(digits, "0123456789abcdef") != HASH_DIGITS || digits[HASH_DIGITS]) return bad(reader, key);
    *out_hash = strtoull(digits, NULL, 16);
    return INSITU_OK;
}

static insitu_status read_weights(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "weights", sizeof(weight_source), &rows, &reader->sources, &plan->weight_count));
    TRY(start_table(reader, "weights", sizeof(weight_record), &rows, &plan->weights, &plan->weight_count));
    for (uint32_t i = 0; i < plan->weight_count; i++) {
        const json_t *row = json_array_get(rows, i);
        reader->row = i;
        TRY(read_text(reader, row, "name", &plan->weights[i].name));
        TRY(read_dtype(reader, json_object_get(row, "dtype"), &plan->weights[i].dtype));
        TRY(read_size(reader, json_object_get(row, "bytes"), "bytes", &plan->weights[i].size));
        if (read_flag(row, "zeros")) continue;
        TRY(read_text(reader, row, "tensor", &reader->sources[i].tensor));
        TRY(read_hash(reader, row, "hash", &reader->sources[i].hash));
    }
    return INSITU_OK;
}

static insitu_status read_inputs(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "inputs", sizeof(plan_input), &rows, &plan->inputs, &plan->input_count));
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const json_t *row = json_array_get(rows, i);
        plan_input *input = &plan->inputs[i];
        uint32_t update;
        reader->row = i;
        TRY(read_text(reader, row, "name", &input->name));
        input->storage = NONE;
        input->is_none = read_flag(row, "none");
        input->is_scalar = json_object_get(row, "number") != NULL;
        if (input->is_none) continue;
        if (input->is_scalar) {
            TRY(read_dtype(reader, json_object_get(row, "number"), &input->type.dtype));
            TRY(read_sym_of(reader, row, "value", &input->value));
            input->is_constant = read_flag(row, "constant");
            continue;
        }
        TRY(read_type(reader, json_object_get(row, "type"), &input->type));
        TRY(read_id(reader, json_object_get(row, "storage"), "storage", &input->storage));
        input->is_written = json_object_get(row, "written") != NULL;
        if (!input->is_written) continue;
        TRY(read_enum(reader, json_object_get(row, "written"), format_update_kind, "written", &update));
        input->update = (update_kind)update;
    }
    return INSITU_OK;
}

static insitu_status read_outputs(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "outputs", sizeof(plan_output), &rows, &plan->outputs, &plan->output_count));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const json_t *row = json_array_get(rows, i);
        plan_output *output = &plan->outputs[i];
        uint32_t kind, alias;
        reader->row = i;
        TRY(read_text(reader, row, "name", &output->name));
        TRY(read_enum(reader, json_object_get(row, "kind"), format_output_kind, "kind", &kind));
        output->kind = (output_kind)kind;
        if (output->kind == OUTPUT_NUMBER) TRY(read_sym_of(reader, row, "value", &output->value));
        if (output->kind != OUTPUT_TENSOR) continue;
        TRY(read_operand(reader, json_object_get(row, "value"), &output->operand));
        TRY(read_enum(reader, json_object_get(row, "alias"), format_alias_kind, "alias", &alias));
        TRY(read_id(reader, json_object_get(row, "index"), "index", &output->alias_index));
        output->alias = alias;
    }
    return INSITU_OK;
}

static insitu_status read_states(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "state_storages", sizeof(plan_state_storage), &rows, &plan->state_storages,
                    &plan->state_storage_count));
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        const json_t *row = json_array_get(rows, i);
        reader->row = i;
        TRY(read_sym(reader, json_array_get(row, 0), "bytes", &plan->state_storages[i].bytes));
        TRY(read_id(reader, json_array_get(row, 1), "initial", &plan->state_storages[i].initial));
    }
    TRY(start_table(reader, "states", sizeof(plan_state), &rows, &plan->states, &plan->state_count));
    for (uint32_t i = 0; i < plan->state_count; i++) {
        const json_t *row = json_array_get(rows, i);
        reader->row = i;
        TRY(read_text(reader, row, "name", &plan->states[i].name));
        TRY(read_id(reader, json_object_get(row, "storage"), "storage", &plan->states[i].state_storage));
        TRY(read_type(reader, json_object_get(row, "type"), &plan->states[i].type));
        uint32_t axis = NONE;
        if (json_object_get(row, "positions"))
            TRY(read_id(reader, json_object_get(row, "positions"), "positions", &axis));
        if (axis != NONE && axis >= plan->states[i].type.shape.rank) return bad(reader, "positions");
        plan->states[i].rows = axis + 1; /* 0 of NONE */
    }
    return INSITU_OK;
}

static insitu_status read_buffers(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "buffers", sizeof(plan_buffer), &rows, &plan->buffers, &plan->buffer_count));
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        const json_t *row = json_array_get(rows, i);
        reader->row = i;
        TRY(read_text(reader, row, "name", &plan->buffers[i].name));
        TRY(read_id(reader, json_object_get(row, "weight"), "weight", &plan->buffers[i].weight));
        TRY(read_type(reader, json_object_get(row, "type"), &plan->buffers[i].type));
    }
    return INSITU_OK;
}

static insitu_status read_asserts(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "asserts", sizeof(sym_assert), &rows, &plan->asserts, &plan->assert_count));
    for (uint32_t i = 0; i < plan->assert_count; i++) {
        const json_t *row = json_array_get(rows, i);
        reader->row = i;
        TRY(read_text(reader, row, "message", &plan->asserts[i].message));
        TRY(read_text(reader, row, "source", &plan->asserts[i].source));
        TRY(read_sym_of(reader, row, "condition", &plan->asserts[i].condition));
        plan->asserts[i].is_bounds = read_flag(row, "bounds");
    }
    return INSITU_OK;
}

static insitu_status read_report(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "report", sizeof(report_row), &rows, &plan->report, &plan->report_count));
    for (uint32_t i = 0; i < plan->report_count; i++) {
        const json_t *row = json_array_get(rows, i);
        report_row *report = &plan->report[i];
        reader->row = i;
        TRY(read_text(reader, row, "name", &report->name));
        TRY(read_type(reader, json_object_get(row, "type"), &report->type));
        TRY(read_text(reader, row, "update", &report->update));
        TRY(read_sym_of(reader, row, "written", &report->written));
        TRY(read_sym_of(reader, row, "moved", &report->moved));
        TRY(read_sym_of(reader, row, "copied", &report->copied));
        TRY(read_sym_of(reader, row, "saved", &report->saved));
        TRY(read_text(reader, row, "source", &report->source));
        TRY(read_text(reader, row, "reason", &report->reason));
        TRY(read_text(reader, row, "advice", &report->advice));
        report->in_place = read_flag(row, "in_place");
    }
    return INSITU_OK;
}

static insitu_status read_storages(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "storages", sizeof(plan_storage), &rows, &plan->storages, &plan->storage_count));
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const json_t *row = json_array_get(rows, i);
        plan_storage *storage = &plan->storages[i];
        uint32_t kind;
        reader->row = i;
        TRY(read_enum(reader, json_object_get(row, "kind"), format_storage_kind, "kind", &kind));
        storage->kind = (storage_kind)kind;
        if (storage->kind == STORAGE_ARENA) {
            TRY(read_id(reader, json_object_get(row, "first"), "first", &storage->first_step));
            TRY(read_id(reader, json_object_get(row, "last"), "last", &storage->last_step));
        } else {
            TRY(read_id(reader, json_object_get(row, "index"), "index", &storage->index));
        }
        TRY(read_sym_of(reader, row, "bytes", &storage->bytes));
    }
    return INSITU_OK;
}

/* ---- steps ---- */

static const char *group_member(op_group group, const json_t *value) {
    const char *name = json_string_value(json_array_get(value, 0));
    return name && strcmp(name, format_op_group(group)) == 0 ? json_string_value(json_array_get(value, 1)) : NULL;
}

static insitu_status read_attr(const plan_reader *reader, const json_t *value, attr_id id, attr *out_attr) {
    const char *name = attr_name(id);
    out_attr->kind = attr_kind_of(id);
    switch (out_attr->kind) {
    case ATTR_KIND_NONE: return bad(reader, name);
    case ATTR_KIND_SYM: return read_sym(reader, value, name, &out_attr->value);
    case ATTR_KIND_DTYPE: return read_dtype(reader, value, &out_attr->dtype);
    case ATTR_KIND_OP:
        for (uint32_t group = 0; format_op_group(group); group++) {
            const char *op = group_member((op_group)group, value);
            if (op && op_parse(op, (op_group)group, &out_attr->op)) return INSITU_OK;
        }
        return bad(reader, name);
    case ATTR_KIND_SYMS: break;
    }
    if (!json_is_array(value) || json_array_size(value) > MAX_NODES) return bad(reader, name);
    uint32_t count = (uint32_t)json_array_size(value);
    sym *items;
    TRY(arena_array(&reader->plan->arena, count, sizeof(*items), &items));
    for (uint32_t i = 0; i < count; i++) TRY(read_sym(reader, json_array_get(value, i), name, &items[i]));
    out_attr->list.items = items;
    out_attr->list.count = count;
    return INSITU_OK;
}

static insitu_status read_attrs(const plan_reader *reader, const json_t *row, plan_step *step) {
    const json_t *object = json_object_get(row, "attrs");
    const layer_info *info = layer_info_of(step->layer);
    attr *attrs;
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

static insitu_status read_step(const plan_reader *reader, const json_t *row, plan_step *step) {
    uint32_t kind;
    TRY(read_enum(reader, json_object_get(row, "kind"), format_step_kind, "kind", &kind));
    step->kind = (step_kind)kind;
    const char *layer = json_string_value(json_object_get(row, "layer"));
    if (!layer || !layer_parse_kind(layer, &step->layer)) return bad(reader, "layer");
    TRY(read_text(reader, row, "name", &step->name));
    TRY(read_text(reader, row, "source", &step->source));
    TRY(read_operands(reader, row, "results", &step->results, &step->result_count));
    TRY(read_operands(reader, row, "operands", &step->operands, &step->operand_count));
    if (step->kind == STEP_CHECK_INDEX) {
        TRY(read_sym_of(reader, row, "extent", &step->extent));
        step->wrap = read_flag(row, "wrap");
    } else if (step_is_control(step)) {
        TRY(read_id(reader, json_object_get(row, "middle"), "middle", &step->middle));
        TRY(read_id(reader, json_object_get(row, "end"), "end", &step->end));
    } else {
        TRY(read_attrs(reader, row, step));
    }
    TRY(read_sym_of(reader, row, "state_written", &step->state_written));
    TRY(read_sym_of(reader, row, "state_moved", &step->state_moved));
    TRY(read_sym_of(reader, row, "state_copied", &step->state_copied));
    TRY(read_sym_of(reader, row, "state_saved", &step->state_saved));
    TRY(read_sym_of(reader, row, "weight_read", &step->weight_read));
    return read_sym_of(reader, row, "output_copied", &step->output_copied);
}

static insitu_status read_steps(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "steps", sizeof(plan_step), &rows, &plan->steps, &plan->step_count));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        reader->row = i;
        TRY(read_step(reader, json_array_get(rows, i), &plan->steps[i]));
    }
    return read_id(reader, json_object_get(reader->root, "first_write"), "first_write", &plan->first_write);
}

static insitu_status read_segments(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "segments", sizeof(plan_segment), &rows, &plan->segments, &plan->segment_count));
    for (uint32_t i = 0; i < plan->segment_count; i++) {
        const json_t *row = json_array_get(rows, i);
        reader->row = i;
        TRY(read_id(reader, json_array_get(row, 0), "first step", &plan->segments[i].first_step));
        TRY(read_id(reader, json_array_get(row, 1), "end", &plan->segments[i].end_step));
    }
    return INSITU_OK;
}

static insitu_status read_restores(plan_reader *reader) {
    plan *plan = reader->plan;
    const json_t *rows;
    TRY(start_table(reader, "restores", sizeof(plan_restore), &rows, &plan->restores, &plan->restore_count));
    for (uint32_t i = 0; i < plan->restore_count; i++) {
        const json_t *row = json_array_get(rows, i);
        reader->row = i;
        TRY(read_id(reader, json_object_get(row, "save"), "save", &plan->restores[i].save_step));
        TRY(read_step(reader, row, &plan->restores[i].step));
    }
    return INSITU_OK;
}

static insitu_status read_tables(plan_reader *reader, arena *scratch) {
    TRY(read_symbols(reader));
    TRY(read_nodes(reader, scratch));
    TRY(read_hash(reader, reader->root, "program", &reader->plan->identity));
    TRY(read_weights(reader));
    TRY(read_inputs(reader));
    TRY(read_outputs(reader));
    TRY(read_states(reader));
    TRY(read_buffers(reader));
    TRY(read_asserts(reader));
    TRY(read_report(reader));
    TRY(read_storages(reader));
    TRY(read_steps(reader));
    TRY(read_segments(reader));
    return read_restores(reader);
}

insitu_status plan_read_json(const char *json, size_t size, plan **out_plan, weight_source **out_sources,
                             insitu_diag *diag) {
    *out_plan = NULL;
    *out_sources = NULL;
    json_error_t error;
    plan_reader reader = {.table = "plan", .diag = diag};
    reader.root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(reader.root)) {
        json_decref(reader.root);
        FAIL(diag, INSITU_FORMAT, "the engine's plan is no JSON object (%s)", error.text);
    }
    arena scratch;
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
