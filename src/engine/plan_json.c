/* A plan as JSON text. Only the expressions that the plan uses are written, numbered as they are met, each after its
 * arguments: equal plans give equal text, in whatever order their expressions were built.
 *
 * The body is printed twice: once to find which expressions it uses, once for good. */
#include "engine/engine.h"
#include "engine/format.h"
#include "plan/plan_fields.h"

#include <inttypes.h>

typedef struct plan_writer {
    const plan_t *plan;
    text_t *out;
    const char *const *tensor_names;
    const uint64_t *hashes;
    uint32_t *numbers; /* of each pool node in the file; NONE: not met yet */
    uint32_t *nodes;   /* by number */
    uint32_t *stack;
    uint32_t node_count;
    bool is_marking;
} plan_writer_t;

/* The argument that has no number yet; the expression itself if all have. */
static uint32_t next_to_number(const plan_writer_t *writer, uint32_t id) {
    const sym_pool_t *pool = &writer->plan->symbols;
    for (uint32_t i = 0; i < sym_arg_count(pool, (sym_t){id}); i++) {
        uint32_t argument = sym_arg(pool, (sym_t){id}, i).id;
        if (writer->numbers[argument] == NONE) return argument;
    }
    return id;
}

/* The stack holds a path of arguments: at most as many as there are nodes. */
static void number_sym(plan_writer_t *writer, sym_t value) {
    uint32_t depth = 0;
    if (writer->numbers[value.id] == NONE) writer->stack[depth++] = value.id;
    while (depth) {
        uint32_t id = writer->stack[depth - 1], next = next_to_number(writer, id);
        if (next != id) {
            writer->stack[depth++] = next;
            continue;
        }
        writer->numbers[id] = writer->node_count;
        writer->nodes[writer->node_count++] = id;
        depth--;
    }
}

static void print_sym(plan_writer_t *writer, sym_t value) {
    if (writer->is_marking)
        number_sym(writer, value);
    else
        text_add_number(writer->out, writer->numbers[value.id]);
}

static void print_syms(plan_writer_t *writer, const sym_t *items, uint32_t count) {
    text_printf(writer->out, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_printf(writer->out, ",");
        print_sym(writer, items[i]);
    }
    text_printf(writer->out, "]");
}

/* ["f32",[sizes],[strides],offset] */
static void print_type(plan_writer_t *writer, const tensor_type_t *type) {
    text_printf(writer->out, "[\"%s\",", dtype_name(type->dtype));
    print_syms(writer, type->shape.sizes, type->shape.rank);
    text_printf(writer->out, ",");
    print_syms(writer, type->strides, type->shape.rank);
    text_printf(writer->out, ",");
    print_sym(writer, type->offset);
    text_printf(writer->out, "]");
}

/* [storage,type] */
static void print_operand(plan_writer_t *writer, const plan_operand_t *operand) {
    text_printf(writer->out, "[%u,", operand->storage);
    print_type(writer, &operand->type);
    text_printf(writer->out, "]");
}

static void print_operands(plan_writer_t *writer, const char *key, const plan_operand_t *operands, uint32_t count) {
    text_printf(writer->out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_printf(writer->out, ",");
        print_operand(writer, &operands[i]);
    }
    text_printf(writer->out, "]");
}

static void print_attr(plan_writer_t *writer, const attr_t *attr) {
    switch (attr->kind) {
    case ATTR_KIND_NONE: break;
    case ATTR_KIND_SYM: print_sym(writer, attr->value); break;
    case ATTR_KIND_SYMS: print_syms(writer, attr->list.items, attr->list.count); break;
    case ATTR_KIND_DTYPE: text_printf(writer->out, "\"%s\"", dtype_name(attr->dtype)); break;
    case ATTR_KIND_OP:
        text_printf(writer->out, "[\"%s\",\"%s\"]", format_op_group(op_group_of(attr->op)), op_name(attr->op));
        break;
    }
}

static void print_attrs(plan_writer_t *writer, const plan_step_t *step) {
    const layer_info_t *info = layer_info_of(step->layer);
    const char *before = "";
    text_printf(writer->out, ",\"attrs\":{");
    for (uint32_t i = 0; i < info->attr_count; i++) {
        if (step->attrs[i].kind == ATTR_KIND_NONE) continue;
        text_printf(writer->out, "%s\"%s\":", before, attr_name(info->attrs[i].id));
        print_attr(writer, &step->attrs[i]);
        before = ",";
    }
    text_printf(writer->out, "}");
}

static void print_layer(plan_writer_t *writer, const plan_step_t *step) {
    text_printf(writer->out, "\"%s\"", layer_info_of(step->layer)->name);
    print_operands(writer, "results", step->results, step->result_count);
    print_operands(writer, "operands", step->operands, step->operand_count);
    if (step->kind == STEP_LAYER) print_attrs(writer, step);
}

/* ---- rows (plan_fields.def) ---- */

static void print_fields(plan_writer_t *writer, const plan_struct_t *fields, const void *row);

/* An id that is NONE is -1. */
static void print_value(plan_writer_t *writer, const plan_field_t *field, const void *row) {
    const void *place = field_of(field, row);
    switch (field->kind) {
    case FIELD_TEXT: json_print_string(writer->out, *(const char *const *)place); break;
    case FIELD_ENUM:
    case FIELD_OPTIONAL_ENUM: text_printf(writer->out, "\"%s\"", field->names(field_number(field, row))); break;
    case FIELD_ID:
    case FIELD_OPTIONAL_ID:
    case FIELD_SMALL:
        text_printf(writer->out, "%" PRId64,
                    field_number(field, row) == NONE ? (int64_t)-1 : (int64_t)field_number(field, row));
        break;
    case FIELD_NUMBER: text_printf(writer->out, "%" PRId64, *(const int64_t *)place); break;
    case FIELD_SIZE: text_printf(writer->out, "%zu", *(const size_t *)place); break;
    case FIELD_FLAG: text_printf(writer->out, "%s", *(const bool *)place ? "true" : "false"); break;
    case FIELD_SYM:
    case FIELD_COUNT: print_sym(writer, *(const sym_t *)place); break;
    case FIELD_TYPE: print_type(writer, place); break;
    case FIELD_OPERAND: print_operand(writer, place); break;
    case FIELD_LAYER: print_layer(writer, row); break;
    case FIELD_PART:
        text_printf(writer->out, "{");
        print_fields(writer, field->part, place);
        text_printf(writer->out, "}");
        break;
    }
}

static void print_fields(plan_writer_t *writer, const plan_struct_t *fields, const void *row) {
    const char *before = "";
    for (uint32_t i = 0; i < fields->count; i++) {
        const plan_field_t *field = &fields->fields[i];
        if (!field_exists(fields, field, row) || field_is_left_out(field, row)) continue;
        text_printf(writer->out, "%s\"%s\":", before, field->name);
        print_value(writer, field, row);
        before = ",";
    }
}

/* Where a weight's bytes are is told beside its fields. */
static void print_weight_source(plan_writer_t *writer, uint32_t weight) {
    const char *tensor = writer->tensor_names ? writer->tensor_names[weight] : NULL;
    if (writer->tensor_names && !tensor) text_printf(writer->out, ",\"zeros\":true");
    if (!tensor) return;
    text_printf(writer->out, ",\"tensor\":");
    json_print_string(writer->out, tensor);
    text_printf(writer->out, ",\"hash\":\"%016" PRIx64 "\"", writer->hashes[weight]);
}

static void print_body(plan_writer_t *writer) {
    const plan_t *plan = writer->plan;
    text_printf(writer->out, ",\"program\":\"%016" PRIx64 "\",\"first_write\":%u", plan->fingerprint,
                plan->first_write);
    for (size_t t = 0; t < PLAN_TABLES; t++) {
        const plan_table_t *table = &plan_tables[t];
        text_printf(writer->out, ",\"%s\":[", table->name);
        for (uint32_t i = 0; i < table_count(table, plan); i++) {
            text_printf(writer->out, i ? ",\n{" : "\n{");
            print_fields(writer, table->row, table_row(table, plan, i));
            if (table->rows == offsetof(struct plan, weights)) print_weight_source(writer, i);
            text_printf(writer->out, "}");
        }
        text_printf(writer->out, "]");
    }
    text_printf(writer->out, "}\n");
}

/* ---- symbols and expressions ---- */

static void print_symbols(plan_writer_t *writer) {
    const plan_t *plan = writer->plan;
    text_printf(writer->out, "{\"symbols\":[");
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        symbol_row_t row = {plan->symbols.symbols[i], plan->symbol_sources[i]};
        text_printf(writer->out, i ? ",\n{" : "\n{");
        print_fields(writer, &symbol_row_struct, &row);
        text_printf(writer->out, "}");
    }
}

static void print_constant(plan_writer_t *writer, sym_t node) {
    const sym_pool_t *pool = &writer->plan->symbols;
    int64_t integer = 0;
    double real = 0;
    uint64_t bits;
    switch (sym_kind_of(pool, node)) {
    case SYM_KIND_INT:
    case SYM_KIND_BOOL:
        (void)sym_constant(pool, node, &integer);
        text_printf(writer->out, "[\"%s\",%" PRId64 "]", sym_kind_name(sym_kind_of(pool, node)), integer);
        break;
    case SYM_KIND_FLOAT: /* its bits: no rounding, no locale */
        (void)sym_constant_float(pool, node, &real);
        memcpy(&bits, &real, sizeof(bits));
        text_printf(writer->out, "[\"float\",\"%016" PRIx64 "\"]", bits);
        break;
    }
}

static void print_node(plan_writer_t *writer, sym_t node) {
    const sym_pool_t *pool = &writer->plan->symbols;
    sym_op_t op = sym_op_of(pool, node);
    if (op == SYM_CONST) {
        print_constant(writer, node);
        return;
    }
    if (op == SYM_SYMBOL) {
        text_printf(writer->out, "[\"symbol\",%u]", sym_symbol_index(pool, node));
        return;
    }
    text_printf(writer->out, "[\"%s\"", format_sym_op(op));
    for (uint32_t i = 0; i < sym_arg_count(pool, node); i++)
        text_printf(writer->out, ",%u", writer->numbers[sym_arg(pool, node, i).id]);
    text_printf(writer->out, "]");
}

static void print_nodes(plan_writer_t *writer) {
    text_printf(writer->out, "],\"nodes\":[");
    for (uint32_t i = 0; i < writer->node_count; i++) {
        if (i) text_printf(writer->out, ",");
        print_node(writer, (sym_t){writer->nodes[i]});
    }
    text_printf(writer->out, "]");
}

static insitu_status print_plan(plan_writer_t *writer, arena_t *scratch) {
    uint32_t node_count = writer->plan->symbols.node_count;
    TRY(arena_array(scratch, node_count, sizeof(uint32_t), &writer->numbers));
    TRY(arena_array(scratch, node_count, sizeof(uint32_t), &writer->nodes));
    TRY(arena_array(scratch, node_count, sizeof(uint32_t), &writer->stack));
    for (uint32_t i = 0; i < node_count; i++) writer->numbers[i] = NONE;
    text_t *out = writer->out, dropped;
    text_init(&dropped);
    writer->out = &dropped;
    writer->is_marking = true;
    print_body(writer);
    text_release(&dropped);
    writer->out = out;
    writer->is_marking = false;
    print_symbols(writer);
    print_nodes(writer);
    print_body(writer);
    return INSITU_OK;
}

void plan_print_json(const plan_t *plan, const char *const *tensor_names, const uint64_t *hashes, text_t *out) {
    plan_writer_t writer = {.plan = plan, .out = out, .tensor_names = tensor_names, .hashes = hashes};
    arena_t scratch;
    arena_init(&scratch);
    if (print_plan(&writer, &scratch) != INSITU_OK) out->failed = true;
    arena_release(&scratch);
}
