/* A plan as JSON text. Only the expressions that the plan uses are written, numbered as they are met, each after its
 * arguments: equal plans give equal text, in whatever order their expressions were built.
 *
 * The body is printed twice: once to find which expressions it uses, once for good. */
#include "engine/engine.h"
#include "engine/format.h"

#include <inttypes.h>

typedef struct plan_writer {
    const plan *plan;
    text *out;
    const char *const *tensor_names;
    const uint64_t *hashes;
    uint32_t *numbers; /* of each pool node in the file; NONE: not met yet */
    uint32_t *nodes;   /* by number */
    uint32_t *stack;
    uint32_t node_count;
    bool is_marking;
} plan_writer;

/* The argument that has no number yet; the expression itself if all have. */
static uint32_t next_to_number(const plan_writer *writer, uint32_t id) {
    const sym_pool *pool = &writer->plan->symbols;
    for (uint32_t i = 0; i < sym_arg_count(pool, (sym){id}); i++) {
        uint32_t argument = sym_arg(pool, (sym){id}, i).id;
        if (writer->numbers[argument] == NONE) return argument;
    }
    return id;
}

/* The stack holds a path of arguments: at most as many as there are nodes. */
static void number_sym(plan_writer *writer, sym value) {
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

static void print_sym(plan_writer *writer, sym value) {
    if (writer->is_marking)
        number_sym(writer, value);
    else
        text_add_number(writer->out, writer->numbers[value.id]);
}

static void print_syms(plan_writer *writer, const sym *items, uint32_t count) {
    text_printf(writer->out, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_printf(writer->out, ",");
        print_sym(writer, items[i]);
    }
    text_printf(writer->out, "]");
}

/* NONE is -1 in the file. */
static void print_id(plan_writer *writer, uint32_t id) {
    text_printf(writer->out, "%" PRId64, id == NONE ? (int64_t)-1 : (int64_t)id);
}

static void print_key(plan_writer *writer, const char *key) { text_printf(writer->out, ",\"%s\":", key); }

static void print_text(plan_writer *writer, const char *key, const char *value) {
    print_key(writer, key);
    json_print_string(writer->out, value);
}

static void print_expression(plan_writer *writer, const char *key, sym value) {
    print_key(writer, key);
    print_sym(writer, value);
}

static void print_flag(plan_writer *writer, const char *key, bool value) {
    if (value) text_printf(writer->out, ",\"%s\":true", key);
}

/* ["f32",[sizes],[strides],offset] */
static void print_type(plan_writer *writer, const tensor_type *type) {
    text_printf(writer->out, "[\"%s\",", dtype_name(type->dtype));
    print_syms(writer, type->shape.sizes, type->shape.rank);
    text_printf(writer->out, ",");
    print_syms(writer, type->strides, type->shape.rank);
    text_printf(writer->out, ",");
    print_sym(writer, type->offset);
    text_printf(writer->out, "]");
}

/* [storage,type] */
static void print_operand(plan_writer *writer, const plan_operand *operand) {
    text_printf(writer->out, "[%u,", operand->storage);
    print_type(writer, &operand->type);
    text_printf(writer->out, "]");
}

static void print_operands(plan_writer *writer, const char *key, const plan_operand *operands, uint32_t count) {
    print_key(writer, key);
    text_printf(writer->out, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_printf(writer->out, ",");
        print_operand(writer, &operands[i]);
    }
    text_printf(writer->out, "]");
}

/* Starts row i of a table whose first entry is a text. */
static void start_row(plan_writer *writer, uint32_t i, const char *key, const char *value) {
    text_printf(writer->out, "%s{\"%s\":", i ? ",\n" : "\n", key);
    json_print_string(writer->out, value);
}

static void print_weights(plan_writer *writer) {
    for (uint32_t i = 0; i < writer->plan->weight_count; i++) {
        const weight_record *weight = &writer->plan->weights[i];
        start_row(writer, i, "name", weight->name);
        const char *tensor = writer->tensor_names ? writer->tensor_names[i] : NULL;
        if (tensor) print_text(writer, "tensor", tensor);
        print_flag(writer, "zeros", writer->tensor_names && !tensor);
        print_text(writer, "dtype", dtype_name(weight->dtype));
        text_printf(writer->out, ",\"bytes\":%zu", weight->size);
        if (tensor) text_printf(writer->out, ",\"hash\":\"%016" PRIx64 "\"", writer->hashes[i]);
        text_printf(writer->out, "}");
    }
}

static void print_storages(plan_writer *writer) {
    for (uint32_t i = 0; i < writer->plan->storage_count; i++) {
        const plan_storage *storage = &writer->plan->storages[i];
        start_row(writer, i, "kind", format_storage_kind(storage->kind));
        if (storage->kind == STORAGE_ARENA)
            text_printf(writer->out, ",\"first\":%u,\"last\":%u", storage->first_step, storage->last_step);
        else
            text_printf(writer->out, ",\"index\":%u", storage->index);
        print_expression(writer, "bytes", storage->bytes);
        text_printf(writer->out, "}");
    }
}

static void print_attr(plan_writer *writer, const attr *attr) {
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

static void print_attrs(plan_writer *writer, const plan_step *step) {
    const layer_info *info = layer_info_of(step->layer);
    const char *before = "";
    print_key(writer, "attrs");
    text_printf(writer->out, "{");
    for (uint32_t i = 0; i < info->attr_count; i++) {
        if (step->attrs[i].kind == ATTR_KIND_NONE) continue;
        text_printf(writer->out, "%s\"%s\":", before, attr_name(info->attrs[i].id));
        print_attr(writer, &step->attrs[i]);
        before = ",";
    }
    text_printf(writer->out, "}");
}

/* What a row of a step has, from its layer on. */
static void print_step(plan_writer *writer, const plan_step *step) {
    print_text(writer, "layer", layer_info_of(step->layer)->name);
    print_text(writer, "name", step->name);
    print_text(writer, "source", step->source);
    print_operands(writer, "results", step->results, step->result_count);
    print_operands(writer, "operands", step->operands, step->operand_count);
    if (step->kind == STEP_CHECK_INDEX) {
        print_expression(writer, "extent", step->extent);
        print_flag(writer, "wrap", step->wrap);
    } else if (step_is_control(step)) {
        text_printf(writer->out, ",\"middle\":%u,\"end\":%u", step->middle, step->end);
    } else {
        print_attrs(writer, step);
    }
    print_expression(writer, "state_written", step->state_written);
    print_expression(writer, "state_moved", step->state_moved);
    print_expression(writer, "state_copied", step->state_copied);
    print_expression(writer, "state_saved", step->state_saved);
    print_expression(writer, "weight_read", step->weight_read);
    print_expression(writer, "output_copied", step->output_copied);
    text_printf(writer->out, "}");
}

static void print_steps(plan_writer *writer) {
    const plan *plan = writer->plan;
    text_printf(writer->out, "],\"first_write\":%u,\"steps\":[", plan->first_write);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        start_row(writer, i, "kind", format_step_kind(plan->steps[i].kind));
        print_step(writer, &plan->steps[i]);
    }
    text_printf(writer->out, "],\"segments\":[");
    for (uint32_t i = 0; i < plan->segment_count; i++)
        text_printf(writer->out, "%s[%u,%u]", i ? "," : "", plan->segments[i].first_step, plan->segments[i].end_step);
    text_printf(writer->out, "],\"restores\":[");
    for (uint32_t i = 0; i < plan->restore_count; i++) {
        start_row(writer, i, "kind", format_step_kind(plan->restores[i].step.kind));
        text_printf(writer->out, ",\"save\":%u", plan->restores[i].save_step);
        print_step(writer, &plan->restores[i].step);
    }
    text_printf(writer->out, "]}\n");
}

static void print_inputs(plan_writer *writer) {
    for (uint32_t i = 0; i < writer->plan->input_count; i++) {
        const plan_input *input = &writer->plan->inputs[i];
        start_row(writer, i, "name", input->name);
        if (input->is_none) {
            print_flag(writer, "none", true);
        } else if (input->is_scalar) {
            print_text(writer, "number", dtype_name(input->type.dtype));
            print_expression(writer, "value", input->value);
            print_flag(writer, "constant", input->is_constant);
        } else {
            print_key(writer, "type");
            print_type(writer, &input->type);
            print_key(writer, "storage");
            print_id(writer, input->storage);
            if (input->is_written) print_text(writer, "written", format_update_kind(input->update));
        }
        text_printf(writer->out, "}");
    }
}

static void print_outputs(plan_writer *writer) {
    for (uint32_t i = 0; i < writer->plan->output_count; i++) {
        const plan_output *output = &writer->plan->outputs[i];
        start_row(writer, i, "name", output->name);
        print_text(writer, "kind", format_output_kind(output->kind));
        if (output->kind == OUTPUT_NUMBER) print_expression(writer, "value", output->value);
        if (output->kind == OUTPUT_TENSOR) {
            print_key(writer, "value");
            print_operand(writer, &output->operand);
            print_text(writer, "alias", format_alias_kind(output->alias));
            text_printf(writer->out, ",\"index\":%u", output->alias == ALIAS_NONE ? 0 : output->alias_index);
        }
        text_printf(writer->out, "}");
    }
}

static void print_states(plan_writer *writer) {
    const plan *plan = writer->plan;
    text_printf(writer->out, "],\"state_storages\":[");
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        text_printf(writer->out, i ? ",[" : "[");
        print_sym(writer, plan->state_storages[i].bytes);
        text_printf(writer->out, ",");
        print_id(writer, plan->state_storages[i].initial);
        text_printf(writer->out, "]");
    }
    text_printf(writer->out, "],\"states\":[");
    for (uint32_t i = 0; i < plan->state_count; i++) {
        start_row(writer, i, "name", plan->states[i].name);
        text_printf(writer->out, ",\"storage\":%u", plan->states[i].state_storage);
        print_key(writer, "type");
        print_type(writer, &plan->states[i].type);
        if (plan->states[i].rows) text_printf(writer->out, ",\"positions\":%u", plan->states[i].rows - 1);
        text_printf(writer->out, "}");
    }
}

static void print_buffers(plan_writer *writer) {
    text_printf(writer->out, "],\"buffers\":[");
    for (uint32_t i = 0; i < writer->plan->buffer_count; i++) {
        const plan_buffer *buffer = &writer->plan->buffers[i];
        start_row(writer, i, "name", buffer->name);
        text_printf(writer->out, ",\"weight\":%u", buffer->weight);
        print_key(writer, "type");
        print_type(writer, &buffer->type);
        text_printf(writer->out, "}");
    }
}

static void print_asserts_and_report(plan_writer *writer) {
    const plan *plan = writer->plan;
    text_printf(writer->out, "],\"asserts\":[");
    for (uint32_t i = 0; i < plan->assert_count; i++) {
        start_row(writer, i, "message", plan->asserts[i].message);
        print_text(writer, "source", plan->asserts[i].source);
        print_expression(writer, "condition", plan->asserts[i].condition);
        print_flag(writer, "bounds", plan->asserts[i].is_bounds);
        text_printf(writer->out, "}");
    }
    text_printf(writer->out, "],\"report\":[");
    for (uint32_t i = 0; i < plan->report_count; i++) {
        const report_row *row = &plan->report[i];
        start_row(writer, i, "name", row->name);
        print_key(writer, "type");
        print_type(writer, &row->type);
        print_text(writer, "update", row->update);
        print_expression(writer, "written", row->written);
        print_expression(writer, "moved", row->moved);
        print_expression(writer, "copied", row->copied);
        print_expression(writer, "saved", row->saved);
        print_flag(writer, "in_place", row->in_place);
        print_text(writer, "source", row->source);
        print_text(writer, "reason", row->reason);
        print_text(writer, "advice", row->advice);
        text_printf(writer->out, "}");
    }
}

static void print_body(plan_writer *writer) {
    text_printf(writer->out, ",\"program\":\"%016" PRIx64 "\",\"weights\":[", writer->plan->identity);
    print_weights(writer);
    text_printf(writer->out, "],\"inputs\":[");
    print_inputs(writer);
    text_printf(writer->out, "],\"outputs\":[");
    print_outputs(writer);
    print_states(writer);
    print_buffers(writer);
    print_asserts_and_report(writer);
    text_printf(writer->out, "],\"storages\":[");
    print_storages(writer);
    print_steps(writer);
}

/* ---- symbols and expressions ---- */

static void print_symbols(plan_writer *writer) {
    const plan *plan = writer->plan;
    text_printf(writer->out, "{\"symbols\":[");
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const symbol *symbol = &plan->symbols.symbols[i];
        const plan_symbol *source = &plan->symbol_sources[i];
        start_row(writer, i, "name", symbol->name);
        print_text(writer, "kind", format_symbol_kind(symbol->kind));
        text_printf(writer->out, ",\"min\":%" PRId64 ",\"max\":%" PRId64, symbol->min, symbol->max);
        print_text(writer, "source", format_symbol_source(source->source));
        switch (source->source) {
        case SYMBOL_UNUSED: break;
        case SYMBOL_INPUT_SIZE: text_printf(writer->out, ",\"input\":%u,\"dim\":%u", source->input, source->dim); break;
        case SYMBOL_INPUT_VALUE: text_printf(writer->out, ",\"input\":%u", source->input); break;
        case SYMBOL_STATE_SIZE: text_printf(writer->out, ",\"state\":%u,\"dim\":%u", source->input, source->dim); break;
        case SYMBOL_STEP:
            text_printf(writer->out, ",\"step\":%u", source->step);
            print_flag(writer, "in_sizes", source->in_sizes);
            break;
        }
        text_printf(writer->out, "}");
    }
}

static void print_constant(plan_writer *writer, sym node) {
    const sym_pool *pool = &writer->plan->symbols;
    int64_t integer = 0;
    double real = 0;
    uint64_t bits;
    switch (sym_kind_of(pool, node)) {
    case SYM_KIND_INT:
    case SYM_KIND_BOOL:
        (void)sym_constant(pool, node, &integer);
        text_printf(writer->out, "[\"%s\",%" PRId64 "]", format_symbol_kind(sym_kind_of(pool, node)), integer);
        break;
    case SYM_KIND_FLOAT: /* its bits: no rounding, no locale */
        (void)sym_constant_float(pool, node, &real);
        memcpy(&bits, &real, sizeof(bits));
        text_printf(writer->out, "[\"float\",\"%016" PRIx64 "\"]", bits);
        break;
    }
}

static void print_node(plan_writer *writer, sym node) {
    const sym_pool *pool = &writer->plan->symbols;
    sym_op op = sym_op_of(pool, node);
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

static void print_nodes(plan_writer *writer) {
    text_printf(writer->out, "],\"nodes\":[");
    for (uint32_t i = 0; i < writer->node_count; i++) {
        if (i) text_printf(writer->out, ",");
        print_node(writer, (sym){writer->nodes[i]});
    }
    text_printf(writer->out, "]");
}

static insitu_status print_plan(plan_writer *writer, arena *scratch) {
    uint32_t node_count = writer->plan->symbols.node_count;
    TRY(arena_array(scratch, node_count, sizeof(uint32_t), &writer->numbers));
    TRY(arena_array(scratch, node_count, sizeof(uint32_t), &writer->nodes));
    TRY(arena_array(scratch, node_count, sizeof(uint32_t), &writer->stack));
    for (uint32_t i = 0; i < node_count; i++) writer->numbers[i] = NONE;
    text *out = writer->out, dropped;
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

void plan_print_json(const plan *plan, const char *const *tensor_names, const uint64_t *hashes, text *out) {
    plan_writer writer = {.plan = plan, .out = out, .tensor_names = tensor_names, .hashes = hashes};
    arena scratch;
    arena_init(&scratch);
    if (print_plan(&writer, &scratch) != INSITU_OK) out->failed = true;
    arena_release(&scratch);
}
