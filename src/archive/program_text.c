/* A program as text for people: what the file is, its inputs and outputs, its nodes one a line, its stored tensors. Types
 * are written as in docs/ir.md, arguments after * were given by keyword. */
#include "archive/archive_int.h"

#include <inttypes.h>

typedef struct printer {
    const archive_graph_t *graph;
    sym_pool_t *pool; /* for expressions */
    text_t *out;
    uint32_t indent;
} printer_t;

static void print_graph(const printer_t *printer);

static void begin_line(const printer_t *printer) { text_printf(printer->out, "%*s", (int)(2 * printer->indent), ""); }

/* ---- values ---- */

static void print_name(const printer_t *printer, uint32_t value) {
    if (value == NONE) {
        text_printf(printer->out, "none");
        return;
    }
    text_add(printer->out, "%", 1);
    print_plain(printer->out, printer->graph->values[value].name);
}

/* "%x: f32[2]" */
static void print_definition(const printer_t *printer, uint32_t id) {
    static const char *const kinds[] = {"int(", "float(", "bool("};
    text_t *out = printer->out;
    print_name(printer, id);
    if (id == NONE) return;
    const archive_value_t *value = &printer->graph->values[id];
    text_add(out, ": ", 2);
    switch (value->kind) {
    case ARCHIVE_TENSOR: print_tensor_text(printer->pool, &value->tensor, out); break;
    case ARCHIVE_SYM:
        text_printf(out, "%s", kinds[value->sym.value.kind]);
        print_sym_text(printer->pool, &value->sym, out);
        text_add(out, ")", 1);
        if (!value->sym.has_hint) break;
        text_printf(out, " as of ");
        print_number_text(&value->sym.value, out);
        break;
    case ARCHIVE_OBJECT:
        text_printf(out, "object of ");
        print_plain(out, value->class_fqn);
        break;
    }
}

/* ---- arguments ---- */

static void print_argument(const printer_t *printer, const archive_argument_t *argument);

static void print_operand(const printer_t *printer, const archive_number_t *number) {
    if (number->value == NONE)
        print_number_text(&number->literal, printer->out);
    else
        print_name(printer, number->value);
}

static void print_list(const printer_t *printer, const archive_argument_t *argument) {
    text_t *out = printer->out;
    text_add(out, "[", 1);
    for (uint32_t i = 0; i < argument->count; i++) {
        if (i) text_add(out, ", ", 2);
        if (argument->kind == ARGUMENT_TENSORS)
            print_name(printer, argument->values[i]);
        else if (argument->kind == ARGUMENT_STRINGS)
            text_quoted(out, argument->strings[i]);
        else if (argument->kind == ARGUMENT_INTS || argument->kind == ARGUMENT_FLOATS ||
                 argument->kind == ARGUMENT_BOOLS)
            print_operand(printer, &argument->numbers[i]);
        else
            print_list(printer, &argument->items[i]);
    }
    text_add(out, "]", 1);
}

static void print_map(const printer_t *printer, const archive_argument_t *argument) {
    text_add(printer->out, "{", 1);
    for (uint32_t i = 0; i < argument->count; i++) {
        if (i) text_add(printer->out, ", ", 2);
        text_quoted(printer->out, argument->strings[i]);
        text_add(printer->out, ": ", 2);
        print_argument(printer, &argument->items[i]);
    }
    text_add(printer->out, "}", 1);
}

static void print_argument(const printer_t *printer, const archive_argument_t *argument) {
    text_t *out = printer->out;
    switch (argument->kind) {
    case ARGUMENT_NONE: text_printf(out, "none"); break;
    case ARGUMENT_TENSOR:
    case ARGUMENT_OBJECT: print_name(printer, argument->value); break;
    case ARGUMENT_INT:
    case ARGUMENT_FLOAT:
    case ARGUMENT_BOOL: print_operand(printer, &argument->number); break;
    case ARGUMENT_COMPLEX:
        text_printf(out, "complex(");
        text_double(out, argument->complex.real);
        text_add(out, ", ", 2);
        text_double(out, argument->complex.imag);
        text_add(out, ")", 1);
        break;
    case ARGUMENT_TENSORS:
    case ARGUMENT_NESTED_TENSORS:
    case ARGUMENT_INTS:
    case ARGUMENT_FLOATS:
    case ARGUMENT_BOOLS:
    case ARGUMENT_INT_LISTS:
    case ARGUMENT_FLOAT_LISTS:
    case ARGUMENT_STRINGS: print_list(printer, argument); break;
    case ARGUMENT_STRING: text_quoted(out, argument->string); break;
    case ARGUMENT_DTYPE: text_printf(out, "%s", dtype_name(argument->dtype)); break;
    case ARGUMENT_MEMORY_FORMAT: text_printf(out, "%s", archive_memory_format_name(argument->memory_format)); break;
    case ARGUMENT_LAYOUT: text_printf(out, "%s", archive_layout_name(argument->layout)); break;
    case ARGUMENT_DEVICE:
        text_printf(out, "device(");
        print_plain(out, argument->device.type);
        text_printf(out, argument->device.index < 0 ? ")" : ":%d)", (int)argument->device.index);
        break;
    case ARGUMENT_GRAPH:
        text_printf(out, "graph ");
        print_plain(out, argument->string);
        break;
    case ARGUMENT_OPERATOR:
        text_printf(out, "operator ");
        print_plain(out, argument->string);
        break;
    case ARGUMENT_MAP: print_map(printer, argument); break;
    }
}

/* ---- graphs ---- */

/* What an input or a node defines, or the constant that stands in its place. */
static void print_definitions(const printer_t *printer, const archive_argument_t *argument) {
    bool is_number =
        argument->kind == ARGUMENT_INT || argument->kind == ARGUMENT_FLOAT || argument->kind == ARGUMENT_BOOL;
    if (argument->kind == ARGUMENT_TENSOR || argument->kind == ARGUMENT_OBJECT) {
        print_definition(printer, argument->value);
    } else if (is_number && argument->number.value != NONE) {
        print_definition(printer, argument->number.value);
    } else if (argument->kind == ARGUMENT_TENSORS) {
        text_add(printer->out, "[", 1);
        for (uint32_t i = 0; i < argument->count; i++) {
            if (i) text_add(printer->out, ", ", 2);
            print_definition(printer, argument->values[i]);
        }
        text_add(printer->out, "]", 1);
    } else {
        print_argument(printer, argument);
    }
}

static void print_inputs(const printer_t *printer, const archive_node_t *node) {
    text_t *out = printer->out;
    bool in_keywords = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const archive_named_argument_t *input = &node->inputs[i];
        if (i) text_add(out, ", ", 2);
        if (input->is_keyword && !in_keywords) text_add(out, "*, ", 3);
        in_keywords |= input->is_keyword;
        if (input->name[0]) {
            print_plain(out, input->name);
            text_add(out, "=", 1);
        }
        print_argument(printer, &input->argument);
    }
}

static void print_subgraph(const printer_t *outer, const archive_argument_t *argument) {
    printer_t inner = *outer;
    inner.graph = argument->graph;
    inner.indent = outer->indent + 2;
    begin_line(outer);
    text_printf(outer->out, "  graph ");
    print_plain(outer->out, argument->string);
    text_printf(outer->out, argument->graph->single_tensor_return ? ", returns one tensor\n" : "\n");
    begin_line(&inner);
    text_printf(inner.out, "inputs");
    for (uint32_t i = 0; i < inner.graph->input_count; i++) {
        text_printf(inner.out, i ? ", " : " ");
        print_definitions(&inner, &inner.graph->inputs[i]);
    }
    text_printf(inner.out, "\n");
    print_graph(&inner);
    begin_line(&inner);
    text_printf(inner.out, "outputs");
    for (uint32_t i = 0; i < inner.graph->output_count; i++) {
        text_printf(inner.out, i ? ", " : " ");
        print_argument(&inner, &inner.graph->outputs[i]);
    }
    text_printf(inner.out, "\n");
}

static void print_node(const printer_t *printer, const archive_node_t *node, uint32_t number) {
    text_t *out = printer->out;
    begin_line(printer);
    text_printf(out, "%u ", number);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (i) text_add(out, ", ", 2);
        print_definitions(printer, &node->outputs[i]);
    }
    text_printf(out, node->output_count ? " = " : "");
    print_plain(out, node->op);
    text_add(out, "(", 1);
    print_inputs(printer, node);
    text_add(out, ")", 1);
    if (node->single_tensor_return) text_printf(out, ", returns one tensor");
    if (node->source[0]) {
        text_printf(out, "  # ");
        print_plain(out, node->source);
    }
    text_add(out, "\n", 1);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i].argument.kind == ARGUMENT_GRAPH) print_subgraph(printer, &node->inputs[i].argument);
}

static void print_graph(const printer_t *printer) {
    for (uint32_t i = 0; i < printer->graph->node_count; i++) print_node(printer, &printer->graph->nodes[i], i);
}

/* ---- around the graph ---- */

static void print_names(text_t *out, const char *title, const char *const *names, uint32_t count) {
    if (!count) return;
    text_printf(out, "%s", title);
    for (uint32_t i = 0; i < count; i++) {
        text_printf(out, i ? ", " : " ");
        print_plain(out, names[i]);
    }
    text_add(out, "\n", 1);
}

static void print_facts(text_t *out, const char *title, const archive_fact_t *facts, uint32_t count) {
    if (!count) return;
    text_printf(out, "%s", title);
    for (uint32_t i = 0; i < count; i++) {
        text_printf(out, i ? ", " : " ");
        print_plain(out, facts[i].name);
        text_add(out, " ", 1);
        print_plain(out, facts[i].text);
    }
    text_add(out, "\n", 1);
}

static void print_file(const archive_program_t *program, text_t *out) {
    const archive_about_t *about = program->about;
    text_printf(out, "file of %zu bytes, %s container, root ", program->map->size, about->container);
    text_quoted(out, about->root);
    text_printf(out, ", %u records%s\n", about->record_count, about->has_zip64 ? ", zip64" : "");
    print_facts(out, "records", about->versions, about->version_count);
    text_printf(out, "written by torch ");
    print_plain(out, program->torch_version[0] ? program->torch_version : "of unknown version");
    text_printf(out, ", schema %" PRId64 ".%" PRId64 "\n", program->schema_major, program->schema_minor);
    print_names(out, "verifiers", about->verifiers, about->verifier_count);
    print_facts(out, "opset", about->opsets, about->opset_count);
    for (uint32_t i = 0; i < about->record_count; i++) {
        const archive_record_t *record = &about->records[i];
        if (!strstr(record->name, "/extra/") && strncmp(record->name, "extra_files/", 12) != 0) continue;
        text_printf(out, "extra file ");
        text_quoted(out, record->name);
        text_printf(out, ", %zu bytes\n", record->size);
    }
}

static void print_conditions(const archive_program_t *program, text_t *out) {
    if (program->range_count) text_printf(out, "ranges\n");
    for (uint32_t i = 0; i < program->range_count; i++) {
        const archive_range_t *range = &program->ranges[i];
        text_printf(out, "  ");
        print_plain(out, range->expression);
        if (range->min != INT64_MIN) text_printf(out, " from %" PRId64, range->min);
        if (range->max != INT64_MAX) text_printf(out, " to %" PRId64, range->max);
        text_add(out, "\n", 1);
    }
    if (program->guard_count) text_printf(out, "guards\n");
    for (uint32_t i = 0; i < program->guard_count; i++) {
        text_printf(out, "  ");
        print_plain(out, program->guards[i]);
        text_add(out, "\n", 1);
    }
}

static void print_signature(const printer_t *printer, const archive_program_t *program) {
    text_t *out = printer->out;
    text_printf(out, "inputs\n");
    for (uint32_t i = 0; i < program->graph->input_count; i++) {
        const archive_input_t *input = &program->inputs[i];
        text_printf(out, "  %u ", i);
        if (input->value == NONE) {
            print_plain(out, input->name[0] ? input->name : "unnamed");
            text_printf(out, " = ");
        }
        print_definitions(printer, &program->graph->inputs[i]);
        text_printf(out, ", %s", archive_input_kind_name(input->kind));
        if (input->fqn) {
            text_add(out, " ", 1);
            text_quoted(out, input->fqn);
        }
        if (input->kind == ARCHIVE_INPUT_BUFFER && !input->is_persistent) text_printf(out, ", not persistent");
        text_add(out, "\n", 1);
    }
    text_printf(out, "outputs\n");
    for (uint32_t i = 0; i < program->graph->output_count; i++) {
        const archive_output_t *output = &program->outputs[i];
        text_printf(out, "  %u ", i);
        print_definitions(printer, &program->graph->outputs[i]);
        text_printf(out, ", %s", archive_output_kind_name(output->kind));
        if (output->target) {
            text_printf(out, " of ");
            text_quoted(out, output->target);
        }
        text_add(out, "\n", 1);
    }
}

static void print_call(const archive_program_t *program, text_t *out) {
    const archive_about_t *about = program->about;
    text_printf(out, "in_spec ");
    print_spec_text(program->in_spec, out);
    text_printf(out, "\nout_spec ");
    print_spec_text(program->out_spec, out);
    text_add(out, "\n", 1);
    print_names(out, "forward arguments", program->forward_arg_names, program->forward_arg_name_count);
    if (about->module_count) text_printf(out, "modules called");
    for (uint32_t i = 0; i < about->module_count; i++) {
        text_printf(out, i ? ", " : " ");
        print_plain(out, about->modules[i]);
        if (about->module_signatures[i]) text_printf(out, " with its signature");
    }
    if (about->module_count) text_add(out, "\n", 1);
    print_names(out, "metadata", about->metadata, about->metadata_count);
}

/* ---- stored tensors ---- */

static insitu_status print_stored_tensor(const printer_t *printer, const stored_tensor_t *tensor, bool with_hash) {
    text_t *out = printer->out;
    uint64_t hash;
    text_printf(out, "  ");
    print_plain(out, tensor->payload->fqn);
    text_add(out, ": ", 2);
    if (tensor->problem) {
        text_printf(out, "not read: ");
        print_plain(out, tensor->problem);
        text_add(out, "\n", 1);
        return INSITU_OK;
    }
    print_payload_text(printer->pool, tensor->payload, out);
    if (tensor->payload->is_param) text_printf(out, ", parameter");
    if (tensor->storage) {
        text_printf(out, ", record ");
        text_quoted(out, tensor->storage->record);
        text_printf(out, " at %zu, %zu bytes", tensor->storage->position, tensor->storage->size);
    }
    if (with_hash) {
        TRY(stored_tensor_hash(tensor, &hash));
        text_printf(out, ", xxh64 %016" PRIx64, hash);
    }
    text_add(out, "\n", 1);
    return INSITU_OK;
}

static insitu_status print_stored(const printer_t *printer, const archive_program_t *program, bool constants,
                                  bool with_hashes) {
    uint32_t count = stored_tensor_count(program), found = 0;
    for (uint32_t i = 0; i < count; i++) found += stored_tensor_of(program, i).payload->is_constant == constants;
    text_printf(printer->out, "%s, %u\n", constants ? "constants" : "weights", found);
    for (uint32_t i = 0; i < count; i++) {
        const stored_tensor_t tensor = stored_tensor_of(program, i);
        if (tensor.payload->is_constant == constants) TRY(print_stored_tensor(printer, &tensor, with_hashes));
    }
    return INSITU_OK;
}

static insitu_status print_all(const printer_t *printer, const archive_program_t *program, bool with_hashes) {
    text_t *out = printer->out;
    print_file(program, out);
    print_conditions(program, out);
    print_signature(printer, program);
    print_call(program, out);
    text_printf(out, "graph, %u nodes\n", program->graph->node_count);
    print_graph(printer);
    TRY(print_stored(printer, program, false, with_hashes));
    TRY(print_stored(printer, program, true, with_hashes));
    if (program->about->example_inputs == NONE) return INSITU_OK;
    const archive_record_t *record = &program->about->records[program->about->example_inputs];
    text_printf(out, "example inputs in ");
    text_quoted(out, record->name);
    text_printf(out, " at %zu, %zu bytes\n", record->position, record->size);
    return INSITU_OK;
}

insitu_status print_program_text(const archive_program_t *program, const archive_print_options_t *options,
                                 text_t *out) {
    sym_pool_t pool;
    TRY(program_pool_init(&pool, program));
    printer_t printer = {.graph = program->graph, .pool = &pool, .out = out, .indent = 1};
    insitu_status status = print_all(&printer, program, options->hashes);
    sym_pool_release(&pool);
    return status;
}
