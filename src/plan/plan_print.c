/* A plan as text, deterministic: its tables, then one step a line.
 *
 *     storage 3: state 0 "cache", 2048 bytes
 *     step 2 update: @3 f32[1,2,64,8] = index_update(@3 f32[1,2,64,8], @5 f32[1,2,1,8], @1 i64[1]) {dims=[2]}  # m.py:41 */
#include "plan/plan.h"

#include <inttypes.h>

static const char *storage_kind_name(storage_kind kind) {
    switch (kind) {
    case STORAGE_WEIGHT: return "weight";
    case STORAGE_STATE: return "state";
    case STORAGE_INPUT: return "input";
    case STORAGE_OUTPUT: return "output";
    case STORAGE_ARENA: return "arena";
    }
    return "?";
}

static const char *storage_label(const plan *plan, const plan_storage *storage) {
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

static void print_operand(const plan *plan, const plan_operand *operand, text *out) {
    text_printf(out, "@%u ", operand->storage);
    type_print(&plan->symbols, &operand->type, out);
}

static void print_operands(const plan *plan, const plan_operand *operands, uint32_t count, text *out) {
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_printf(out, ", ");
        print_operand(plan, &operands[i], out);
    }
}

static void print_attr(const plan *plan, const attr *attr, text *out) {
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

static void print_attrs(const plan *plan, const plan_step *step, text *out) {
    const layer_info *info = layer_info_of(step->layer);
    const char *before = " {";
    for (uint32_t i = 0; i < info->attr_count; i++) {
        if (step->attrs[i].kind == ATTR_KIND_NONE) continue;
        text_printf(out, "%s%s=", before, attr_name(info->attrs[i].id));
        print_attr(plan, &step->attrs[i], out);
        before = ", ";
    }
    if (before[0] == ',') text_printf(out, "}");
}

static void print_body(const plan *plan, const plan_step *step, text *out) {
    if (step->kind == STEP_CHECK_INDEX) {
        text_printf(out, "check_index(");
        print_operands(plan, step->operands, step->operand_count, out);
        text_printf(out, ") {extent=");
        sym_print(&plan->symbols, step->extent, out);
        text_printf(out, "%s}", step->wrap ? ", wrap" : "");
    } else if (step_is_control(step)) {
        text_printf(out, "%s(", layer_info_of(step->layer)->name);
        print_operands(plan, step->operands, step->operand_count, out);
        text_printf(out, ") {middle=%u, end=%u}", step->middle, step->end);
    } else {
        print_operands(plan, step->results, step->result_count, out);
        text_printf(out, step->result_count ? " = %s(" : "%s(", layer_info_of(step->layer)->name);
        print_operands(plan, step->operands, step->operand_count, out);
        text_printf(out, ")");
        print_attrs(plan, step, out);
    }
    text_printf(out, step->source[0] ? "  # %s\n" : "\n", step->source);
}

/* Steps, with a line between segments, and before the first write. */
static void print_steps(const plan *plan, text *out) {
    uint32_t segment = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        while (segment < plan->segment_count && plan->segments[segment].end_step <= i) segment++;
        if (segment && segment < plan->segment_count && plan->segments[segment].first_step == i)
            text_printf(out, "# segment %u: sizes that the steps so far have read\n", segment);
        if (i == plan->first_write) text_printf(out, "# first write to a state or an input\n");
        text_printf(out, "step %u %s: ", i, plan->steps[i].name);
        print_body(plan, &plan->steps[i], out);
    }
    for (uint32_t i = 0; i < plan->restore_count; i++) {
        const plan_restore *restore = &plan->restores[i];
        text_printf(out, "restore of step %u %s: ", restore->save_step, restore->step.name);
        print_body(plan, &restore->step, out);
    }
}

static void print_range(const symbol *symbol, text *out) {
    text_printf(out, " in [");
    if (symbol->min != INT64_MIN) text_printf(out, "%" PRId64, symbol->min);
    text_printf(out, ", ");
    if (symbol->max != INT64_MAX) text_printf(out, "%" PRId64, symbol->max);
    text_printf(out, "]");
}

static void print_symbols(const plan *plan, text *out) {
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol *source = &plan->symbol_sources[i];
        if (source->source == SYMBOL_UNUSED) continue;
        text_printf(out, "symbol %s", plan->symbols.symbols[i].name);
        if (plan->symbols.symbols[i].kind == SYM_KIND_INT) print_range(&plan->symbols.symbols[i], out);
        if (source->source == SYMBOL_INPUT_SIZE)
            text_printf(out, ": size %u of input '%s'\n", source->dim, plan->inputs[source->input].name);
        else if (source->source == SYMBOL_INPUT_VALUE)
            text_printf(out, ": value of input '%s'\n", plan->inputs[source->input].name);
        else if (source->source == SYMBOL_STATE_SIZE)
            text_printf(out, ": size %u of state '%s'\n", source->dim, plan->states[source->input].name);
        else
            text_printf(out, ": read by step %u%s\n", source->step, source->in_sizes ? ", in sizes" : "");
    }
}

static void print_inputs(const plan *plan, text *out) {
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const plan_input *input = &plan->inputs[i];
        text_printf(out, "input %u \"%s\": ", i, input->name);
        if (input->is_none) {
            text_printf(out, "none\n");
        } else if (input->is_scalar) {
            text_printf(out, "number %s ", dtype_name(input->type.dtype));
            sym_print(&plan->symbols, input->value, out);
            text_printf(out, "\n");
        } else {
            type_print(&plan->symbols, &input->type, out);
            if (input->storage != NONE) text_printf(out, " @%u", input->storage);
            text_printf(out, input->is_written ? ", written\n" : "\n");
        }
    }
}

static void print_outputs(const plan *plan, text *out) {
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const plan_output *output = &plan->outputs[i];
        text_printf(out, "output %u \"%s\": ", i, output->name);
        switch (output->kind) {
        case OUTPUT_NONE: text_printf(out, "none"); break;
        case OUTPUT_NUMBER: sym_print(&plan->symbols, output->value, out); break;
        case OUTPUT_TENSOR: print_operand(plan, &output->operand, out); break;
        }
        if (output->kind == OUTPUT_TENSOR && output->alias == ALIAS_INPUT)
            text_printf(out, " is input '%s'", plan->inputs[output->alias_index].name);
        if (output->kind == OUTPUT_TENSOR && output->alias == ALIAS_STATE)
            text_printf(out, " is state '%s'", plan->states[output->alias_index].name);
        text_printf(out, "\n");
    }
}

static void print_storages(const plan *plan, text *out) {
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage *storage = &plan->storages[i];
        text_printf(out, "storage %u: %s ", i, storage_kind_name(storage->kind));
        if (storage->kind == STORAGE_ARENA)
            text_printf(out, "steps %u to %u, ", storage->first_step, storage->last_step);
        else
            text_printf(out, "%u \"%s\", ", storage->index, storage_label(plan, storage));
        sym_print(&plan->symbols, storage->bytes, out);
        text_printf(out, " bytes\n");
    }
}

void plan_print(const plan *plan, text *out) {
    print_symbols(plan, out);
    print_inputs(plan, out);
    print_outputs(plan, out);
    for (uint32_t i = 0; i < plan->state_count; i++) {
        text_printf(out, "state %u \"%s\": ", i, plan->states[i].name);
        type_print(&plan->symbols, &plan->states[i].type, out);
        text_printf(out, "\n");
    }
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        text_printf(out, "buffer %u \"%s\": ", i, plan->buffers[i].name);
        type_print(&plan->symbols, &plan->buffers[i].type, out);
        text_printf(out, " of weight %u\n", plan->buffers[i].weight);
    }
    print_storages(plan, out);
    for (uint32_t i = 0; i < plan->assert_count; i++) {
        text_printf(out, "assert ");
        sym_print(&plan->symbols, plan->asserts[i].condition, out);
        text_printf(out, ": %s\n", plan->asserts[i].message);
    }
    print_steps(plan, out);
}
