/* A plan as text, deterministic, that plan_parse reads back: the rows of its tables (plan_fields.def), one a line, with what
 * follows from them as comments.
 *
 *     storage 3: block, number 0, bytes 4096  # cache
 *     # first write to a state or an input
 *     step 2 "update": @3 f32[1,2,64,8] = index_update(@3 f32[1,2,64,8], @5 f32[1,2,1,8], @1 i64[1]) {dims=[2]}, state_written 64, source "m.py:41"
 *
 * A row is its table's word, its number, its title, and its fields with commas between; one that has the value that it mostly
 * has is left out. The first enum of a row stands without its name. */
#include "plan/plan_fields.h"

#include <inttypes.h>

/* ---- steps ---- */

static void print_operand(const plan_t *plan, const plan_operand_t *operand, text_t *out) {
    text_printf(out, "@%u ", operand->storage);
    type_print(&plan->symbols, &operand->type, out);
}

static void print_operands(const plan_t *plan, const plan_operand_t *operands, uint32_t count, text_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_printf(out, ", ");
        print_operand(plan, &operands[i], out);
    }
}

static void print_attr(const plan_t *plan, const attr_t *attr, text_t *out) {
    switch (attr->kind) {
    case ATTR_KIND_NONE: break;
    case ATTR_KIND_SYM: sym_print(&plan->symbols, attr->value, out); break;
    case ATTR_KIND_SYMS:
        text_printf(out, "[");
        for (uint32_t i = 0; i < attr->list.count; i++) {
            if (i) text_printf(out, ",");
            sym_print(&plan->symbols, attr->list.items[i], out);
        }
        text_printf(out, "]");
        break;
    case ATTR_KIND_DTYPE: text_printf(out, "%s", dtype_name(attr->dtype)); break;
    case ATTR_KIND_OP: text_printf(out, "%s", op_name(attr->op)); break;
    }
}

static void print_attrs(const plan_t *plan, const plan_step_t *step, text_t *out) {
    const layer_info_t *info = layer_info_of(step->layer);
    const char *before = " {";
    for (uint32_t i = 0; step->attrs && i < info->attr_count; i++) {
        if (step->attrs[i].kind == ATTR_KIND_NONE) continue;
        text_printf(out, "%s%s=", before, attr_name(info->attrs[i].id));
        print_attr(plan, &step->attrs[i], out);
        before = ", ";
    }
    if (before[0] == ',') text_printf(out, "}");
}

static void print_layer(const plan_t *plan, const plan_step_t *step, text_t *out) {
    print_operands(plan, step->results, step->result_count, out);
    text_printf(out, step->result_count ? " = %s(" : "%s(", layer_info_of(step->layer)->name);
    print_operands(plan, step->operands, step->operand_count, out);
    text_printf(out, ")");
    if (step->kind == STEP_LAYER) print_attrs(plan, step, out);
}

/* ---- rows ---- */

static void print_fields(const plan_t *plan, const plan_struct_t *fields, const void *row, text_t *out);

static void print_value(const plan_t *plan, const plan_field_t *field, const void *row, text_t *out) {
    const void *place = field_of(field, row);
    switch (field->kind) {
    case FIELD_TEXT: text_quoted(out, *(const char *const *)place); break;
    case FIELD_ENUM:
    case FIELD_OPTIONAL_ENUM: text_printf(out, "%s", field->names(field_number(field, row))); break;
    case FIELD_ID:
    case FIELD_OPTIONAL_ID:
    case FIELD_SMALL: text_printf(out, "%u", field_number(field, row)); break;
    case FIELD_NUMBER: text_printf(out, "%" PRId64, *(const int64_t *)place); break;
    case FIELD_SIZE: text_printf(out, "%zu", *(const size_t *)place); break;
    case FIELD_FLAG: break;
    case FIELD_SYM:
    case FIELD_COUNT: sym_print(&plan->symbols, *(const sym_t *)place, out); break;
    case FIELD_TYPE: type_print(&plan->symbols, place, out); break;
    case FIELD_OPERAND: print_operand(plan, place, out); break;
    case FIELD_LAYER: print_layer(plan, row, out); break;
    case FIELD_PART: print_fields(plan, field->part, place, out); break;
    }
}

static bool has_title(const plan_struct_t *fields) { return fields->fields[0].kind == FIELD_TEXT; }

/* "title": fields */
static void print_fields(const plan_t *plan, const plan_struct_t *fields, const void *row, text_t *out) {
    const plan_field_t *selector = struct_selector(fields);
    const char *before = ": ";
    if (has_title(fields)) print_value(plan, &fields->fields[0], row, out);
    for (uint32_t i = has_title(fields); i < fields->count; i++) {
        const plan_field_t *field = &fields->fields[i];
        if (!field_exists(fields, field, row) || field_is_left_out(field, row)) continue;
        text_printf(out, "%s", before);
        if (field != selector && field->kind != FIELD_LAYER)
            text_printf(out, field->kind == FIELD_FLAG ? "%s" : "%s ", field->name);
        print_value(plan, field, row, out);
        before = ", ";
    }
}

static void print_row(const plan_t *plan, const char *name, uint32_t index, const plan_struct_t *fields,
                      const void *row, text_t *out) {
    text_printf(out, has_title(fields) ? "%s %u " : "%s %u", name, index);
    print_fields(plan, fields, row, out);
}

/* ---- comments ---- */

static const char *storage_label(const plan_t *plan, const plan_storage_t *storage) {
    switch (storage->kind) {
    case STORAGE_WEIGHT: return plan->weights[storage->index].name;
    case STORAGE_STATE:
        for (uint32_t i = 0; i < plan->state_count; i++)
            if (plan->states[i].state_storage == storage->index) return plan->states[i].name;
        return "";
    case STORAGE_INPUT: return plan->inputs[storage->index].name;
    case STORAGE_OUTPUT: return plan->outputs[storage->index].name;
    case STORAGE_ARENA: return "";
    }
    return "";
}

/* What an open snapshot saves before the step. */
static void print_saves(const plan_t *plan, uint32_t step, text_t *out) {
    const char *before = "# an open snapshot saves what is replaced by step ";
    for (uint32_t i = 0; i < plan->facts.write_count; i++) {
        static const char *const undo[] = {[UNDO_WHOLE] = "",
                                           [UNDO_STORAGE] = " (all memory)",
                                           [UNDO_ROWS] = " (rows)",
                                           [UNDO_ELEMENTS] = " (elements)"};
        const plan_write_t *write = &plan->facts.writes[i];
        if (write->save != step) continue;
        text_printf(out, "%s%u%s", before, write->step, undo[write->undo]);
        before = ", ";
    }
    text_printf(out, "\n");
}

/* What happens before the step. */
static void print_stops(const plan_t *plan, uint32_t step, text_t *out) {
    for (uint32_t i = 0; i < plan->facts.stop_count; i++) {
        const plan_stop_t *stop = &plan->facts.stops[i];
        if (stop->step != step) continue;
        if (stop->kind == STOP_SEGMENT && step) text_printf(out, "# a segment begins: its sizes are known by now\n");
        if (stop->kind == STOP_CHECKED) text_printf(out, "# nothing can fail from here on\n");
        if (stop->kind == STOP_SAVE) print_saves(plan, step, out);
    }
    if (step == plan->first_write) text_printf(out, "# first write to a state or an input\n");
}

/* ---- the text ---- */

static void print_table(const plan_t *plan, const plan_table_t *table, text_t *out) {
    bool is_steps = table->rows == offsetof(struct plan, steps),
         is_storages = table->rows == offsetof(struct plan, storages);
    for (uint32_t i = 0; i < table_count(table, plan); i++) {
        if (is_steps) print_stops(plan, i, out);
        print_row(plan, table->row_name, i, table->row, table_row(table, plan, i), out);
        const char *label = is_storages ? storage_label(plan, &plan->storages[i]) : "";
        if (*label) text_printf(out, "  # %s", label);
        text_printf(out, "\n");
    }
}

void plan_print(const plan_t *plan, text_t *out) {
    text_printf(out, "plan: first_write %u", plan->first_write);
    if (plan->fingerprint) text_printf(out, ", program %016" PRIx64, plan->fingerprint);
    text_printf(out, "\n");
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        symbol_row_t row = {plan->symbols.symbols[i], plan->symbol_sources[i]};
        print_row(plan, "symbol", i, &symbol_row_struct, &row, out);
        text_printf(out, "\n");
    }
    for (size_t i = 0; i < PLAN_TABLES; i++) print_table(plan, &plan_tables[i], out);
}
