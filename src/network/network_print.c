/* Network -> text, deterministic, in the order that network_parse reads: identity, symbols, records, inputs, states, constants,
 * buffers, assertions, regions, layers, next values, mutations, outputs. */
#include "network/network_int.h"

#include <inttypes.h>

static void print_lines(const network_t *network, text_t *out);

static void print_string(const char *string, text_t *out) {
    text_add(out, "\"", 1);
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\') {
            text_printf(out, "\\%c", *c);
        } else if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            text_printf(out, "\\x%02x", (unsigned char)*c);
        } else {
            text_add(out, c, 1);
        }
    }
    text_add(out, "\"", 1);
}

/* %name, or %"any text" */
static void print_tensor(const network_t *network, tensor_id_t tensor, text_t *out) {
    const char *name = network_tensor_of(network, tensor)->name;
    size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    text_add(out, "%", 1);
    if (plain && !name[plain]) {
        text_printf(out, "%s", name);
    } else {
        print_string(name, out);
    }
}

static void print_view(const network_t *network, tensor_id_t tensor, const sym_t *strides, sym_t offset, text_t *out) {
    const network_tensor_t *viewed = network_tensor_of(network, tensor);
    tensor_type_t type = {.dtype = viewed->dtype, .shape = viewed->shape, .offset = offset};
    for (uint32_t i = 0; i < viewed->shape.rank; i++) type.strides[i] = strides[i];
    print_tensor(network, tensor, out);
    text_printf(out, ": ");
    type_print(&network->symbols, &type, out);
}

static const char *sym_kind_name(sym_kind_t kind) {
    return kind == SYM_KIND_FLOAT ? "float" : kind == SYM_KIND_BOOL ? "bool" : "int";
}

static void print_symbols(const network_t *network, text_t *out) {
    for (uint32_t i = 0; i < network->symbols.symbol_count; i++) {
        const symbol_t *symbol = &network->symbols.symbols[i];
        text_printf(out, "symbol %s: %s", symbol->name, sym_kind_name(symbol->kind));
        if (symbol->kind == SYM_KIND_INT) {
            text_printf(out, " in ");
            if (symbol->min != INT64_MIN) text_printf(out, "%lld", (long long)symbol->min);
            text_printf(out, "..");
            if (symbol->max != INT64_MAX) text_printf(out, "%lld", (long long)symbol->max);
        }
        text_printf(out, "\n");
    }
}

static void print_records(const network_t *network, text_t *out) {
    for (uint32_t i = 0; i < network->record_count; i++) {
        const weight_record_t *record = &network->records[i];
        text_printf(out, "record ");
        print_string(record->name, out);
        text_printf(out, ": %s, %zu bytes\n", dtype_name(record->dtype), record->size);
    }
}

static void print_inputs(const network_t *network, text_t *out) {
    for (uint32_t i = 0; i < network->input_count; i++) {
        const network_input_t *input = &network->inputs[i];
        text_printf(out, "input ");
        print_string(input->name, out);
        text_printf(out, " = ");
        if (input->tensor.index != NONE) {
            print_view(network, input->tensor, input->strides, (sym_t){0}, out);
        } else if (input->is_none) {
            text_printf(out, "none");
        } else {
            text_printf(out, "%s %s ", input->is_constant ? "constant" : "number", dtype_name(input->dtype));
            sym_print(&network->symbols, input->value, out);
        }
        text_printf(out, "\n");
    }
}

static void print_record(uint32_t record, text_t *out) {
    if (record == NONE) {
        text_printf(out, " of zeros\n");
    } else {
        text_printf(out, " of record %u\n", record);
    }
}

static void print_stored(const network_t *network, text_t *out) {
    for (uint32_t i = 0; i < network->state_count; i++) {
        const network_state_t *state = &network->states[i];
        text_printf(out, "state ");
        print_string(state->name, out);
        text_printf(out, " = ");
        print_view(network, state->tensor, state->strides, state->offset, out);
        print_record(state->record, out);
    }
    for (uint32_t i = 0; i < network->constant_count; i++) {
        const network_constant_t *constant = &network->constants[i];
        text_printf(out, "constant ");
        print_view(network, constant->tensor, constant->strides, constant->offset, out);
        print_record(constant->record, out);
    }
    for (uint32_t i = 0; i < network->buffer_count; i++) {
        const network_buffer_t *buffer = &network->buffers[i];
        text_printf(out, "buffer ");
        print_string(buffer->name, out);
        text_printf(out, ": ");
        type_print(&network->symbols, &buffer->type, out);
        print_record(buffer->record, out);
    }
    for (uint32_t i = 0; i < network->assert_count; i++) {
        const sym_assert_t *row = &network->asserts[i];
        text_printf(out, "assert ");
        sym_print(&network->symbols, row->condition, out);
        text_printf(out, ", ");
        print_string(row->message, out);
        text_printf(out, ", ");
        print_string(row->source, out);
        text_printf(out, row->is_bounds ? ", bounds\n" : "\n");
    }
}

static void print_attr(const network_t *network, const attr_t *value, text_t *out) {
    if (value->kind == ATTR_KIND_SYM) {
        sym_print(&network->symbols, value->value, out);
    } else if (value->kind == ATTR_KIND_SYMS) {
        for (uint32_t i = 0; i < value->list.count; i++) {
            text_printf(out, i ? "," : "[");
            sym_print(&network->symbols, value->list.items[i], out);
        }
        text_printf(out, value->list.count ? "]" : "[]");
    } else {
        text_printf(out, "%s", value->kind == ATTR_KIND_OP ? op_name(value->op) : dtype_name(value->dtype));
    }
}

static void print_layer(const network_t *network, const layer_t *layer, text_t *out) {
    const layer_info_t *info = layer_info_of(layer->kind);
    for (uint32_t i = 0; i < layer->result_count; i++) {
        if (i) text_printf(out, ", ");
        print_tensor(network, layer->results[i], out);
        text_printf(out, ": ");
        tensor_print_type(network, network_tensor_of(network, layer->results[i]), out);
    }
    text_printf(out, "%s%s(", layer->result_count ? " = " : "", info->name);
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        if (i) text_printf(out, ", ");
        print_tensor(network, layer->operands[i], out);
    }
    text_printf(out, ")");
    const char *separator = " {";
    for (uint32_t i = 0; i < info->attr_count; i++) {
        if (layer->attrs[i].kind == ATTR_KIND_NONE) continue;
        text_printf(out, "%s%s=", separator, attr_name(info->attrs[i].id));
        print_attr(network, &layer->attrs[i], out);
        separator = ", ";
    }
    if (separator[0] == ',') text_printf(out, "}");
    const char *first = layer->result_count ? network_tensor_of(network, layer->results[0])->name : "";
    if (strcmp(layer->name, first) != 0) {
        text_printf(out, " @");
        print_string(layer->name, out);
    }
    if (layer->source[0]) text_printf(out, "  # %s", layer->source);
    text_printf(out, "\n");
}

/* region {
 *   the lines of its network
 * } */
static void print_regions(const network_t *network, text_t *out) {
    for (uint32_t i = 0; i < network->region_count; i++) {
        text_t inner;
        text_init(&inner);
        print_lines(network->regions[i], &inner);
        text_printf(out, "region {\n");
        for (const char *line = inner.data; line && *line;) {
            size_t size = strcspn(line, "\n") + 1;
            text_printf(out, "  ");
            text_add(out, line, size);
            line += size;
        }
        text_printf(out, "}\n");
        text_release(&inner);
    }
}

static void print_results(const network_t *network, text_t *out) {
    for (uint32_t i = 0; i < network->state_count; i++) {
        if (network->states[i].next.index == NONE) continue;
        text_printf(out, "next ");
        print_string(network->states[i].name, out);
        text_printf(out, " = ");
        print_tensor(network, network->states[i].next, out);
        text_printf(out, "\n");
    }
    for (uint32_t i = 0; i < network->mutation_count; i++) {
        text_printf(out, "mutation ");
        print_string(network->inputs[network->mutations[i].input].name, out);
        text_printf(out, " = ");
        print_tensor(network, network->mutations[i].next, out);
        text_printf(out, "\n");
    }
    for (uint32_t i = 0; i < network->output_count; i++) {
        const network_output_t *output = &network->outputs[i];
        text_printf(out, "output ");
        print_string(output->name, out);
        text_printf(out, " = ");
        if (output->kind == OUTPUT_TENSOR) {
            print_tensor(network, output->tensor, out);
        } else if (output->kind == OUTPUT_NUMBER) {
            text_printf(out, "number ");
            sym_print(&network->symbols, output->value, out);
        } else {
            text_printf(out, "none");
        }
        text_printf(out, "\n");
    }
}

static void print_lines(const network_t *network, text_t *out) {
    if (network->fingerprint) text_printf(out, "identity %016" PRIx64 "\n", network->fingerprint);
    print_symbols(network, out);
    print_records(network, out);
    print_inputs(network, out);
    print_stored(network, out);
    print_regions(network, out);
    for (uint32_t i = 0; i < network->order_count; i++) {
        print_layer(network, network_layer_of(network, network->order[i]), out);
    }
    print_results(network, out);
}

insitu_status network_print(const network_t *network, text_t *out, insitu_diag *diag) {
    text_printf(out, "network\n");
    print_lines(network, out);
    return text_status(out, diag);
}
