/* A program as one JSON object; docs/program-json.md lists the keys. Everything is as saved: expressions are SymPy's
 * constructor notation, names those of the file. A line holds an input, a value, a node or a stored tensor. */
#include "archive/archive_int.h"

#include <inttypes.h>

typedef struct printer {
    const archive_graph_t *graph;
    text_t *out;
} printer_t;

static void print_graph(const archive_graph_t *graph, text_t *out);

static void print_key(text_t *out, const char *key) {
    json_print_string(out, key);
    text_add(out, ":", 1);
}

static void print_member(text_t *out, const char *key, const char *string) {
    print_key(out, key);
    json_print_string(out, string);
}

static const char *truth_text(bool truth) { return truth ? "true" : "false"; }

static void print_strings(text_t *out, const char *const *strings, uint32_t count) {
    text_add(out, "[", 1);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_add(out, ",", 1);
        json_print_string(out, strings[i]);
    }
    text_add(out, "]", 1);
}

/* ---- values ---- */

static void print_number(text_t *out, const sym_value_t *value) {
    switch (value->kind) {
    case SYM_KIND_INT: text_printf(out, "%" PRId64, value->i); break;
    case SYM_KIND_FLOAT: json_print_double(out, value->f, 17); break;
    case SYM_KIND_BOOL: text_printf(out, "%s", truth_text(value->i != 0)); break;
    }
}

static void print_sym(text_t *out, const archive_sym_t *sym) {
    if (!sym->expression) {
        print_number(out, &sym->value);
        return;
    }
    text_add(out, "{", 1);
    print_member(out, "expression", sym->expression);
    text_printf(out, ",\"hint\":");
    if (sym->has_hint)
        print_number(out, &sym->value);
    else
        text_printf(out, "null");
    text_add(out, "}", 1);
}

static void print_syms(text_t *out, const char *key, const archive_sym_t *syms, uint32_t count) {
    text_printf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_add(out, ",", 1);
        print_sym(out, &syms[i]);
    }
    text_add(out, "]", 1);
}

static void print_device(text_t *out, const archive_device_t *device) {
    text_t name;
    text_init(&name);
    text_printf(&name, device->index < 0 ? "%s" : "%s:%d", device->type, (int)device->index);
    out->failed |= name.failed;
    json_print_string(out, name.data ? name.data : "");
    text_release(&name);
}

static void print_tensor_meta(text_t *out, const archive_tensor_meta_t *meta) {
    text_printf(out, "{\"dtype\":\"%s\"", dtype_name(meta->dtype));
    print_syms(out, "sizes", meta->sizes, meta->rank);
    print_syms(out, "strides", meta->strides, meta->rank);
    text_printf(out, ",\"offset\":");
    print_sym(out, &meta->offset);
    text_printf(out, ",\"device\":");
    print_device(out, &meta->device);
    text_printf(out, ",\"requires_grad\":%s}", truth_text(meta->requires_grad));
}

static void print_value(text_t *out, const archive_value_t *value) {
    static const char *const kinds[] = {"int", "float", "bool"};
    print_key(out, value->name);
    switch (value->kind) {
    case ARCHIVE_TENSOR:
        text_printf(out, "{\"tensor\":");
        print_tensor_meta(out, &value->tensor);
        break;
    case ARCHIVE_SYM:
        text_printf(out, "{\"%s\":", kinds[value->sym.value.kind]);
        print_sym(out, &value->sym);
        break;
    case ARCHIVE_OBJECT:
        text_printf(out, "{\"object\":");
        json_print_string(out, value->class_fqn);
        break;
    }
    text_add(out, "}", 1);
}

/* ---- arguments ---- */

static void print_argument(const printer_t *printer, const archive_argument_t *argument);

static void print_name(const printer_t *printer, uint32_t value) {
    if (value == NONE)
        text_printf(printer->out, "null");
    else
        json_print_string(printer->out, printer->graph->values[value].name);
}

static void print_operand(const printer_t *printer, const archive_number_t *number) {
    if (number->value == NONE) {
        print_number(printer->out, &number->literal);
        return;
    }
    text_printf(printer->out, "{\"value\":");
    print_name(printer, number->value);
    text_add(printer->out, "}", 1);
}

/* The items of a list, without the union's key. */
static void print_items(const printer_t *printer, const archive_argument_t *argument) {
    text_t *out = printer->out;
    text_add(out, "[", 1);
    for (uint32_t i = 0; i < argument->count; i++) {
        if (i) text_add(out, ",", 1);
        if (argument->kind == ARGUMENT_TENSORS)
            print_name(printer, argument->values[i]);
        else if (argument->kind == ARGUMENT_INTS || argument->kind == ARGUMENT_FLOATS ||
                 argument->kind == ARGUMENT_BOOLS)
            print_operand(printer, &argument->numbers[i]);
        else
            print_items(printer, &argument->items[i]);
    }
    text_add(out, "]", 1);
}

static void print_object(const printer_t *printer, const archive_argument_t *argument) {
    text_printf(printer->out, "{\"value\":");
    print_name(printer, argument->value);
    text_add(printer->out, ",", 1);
    print_member(printer->out, "class", argument->string);
    text_add(printer->out, "}", 1);
}

static void print_subgraph(const printer_t *printer, const archive_argument_t *argument) {
    text_add(printer->out, "{", 1);
    print_member(printer->out, "name", argument->string);
    text_printf(printer->out, ",\"graph\":");
    print_graph(argument->graph, printer->out);
    text_add(printer->out, "}", 1);
}

static void print_map(const printer_t *printer, const archive_argument_t *argument) {
    text_add(printer->out, "{", 1);
    for (uint32_t i = 0; i < argument->count; i++) {
        if (i) text_add(printer->out, ",", 1);
        print_key(printer->out, argument->strings[i]);
        print_argument(printer, &argument->items[i]);
    }
    text_add(printer->out, "}", 1);
}

static const char *argument_key(archive_argument_kind_t kind) {
    static const char *const keys[] = {
        [ARGUMENT_NONE] = "none",
        [ARGUMENT_TENSOR] = "tensor",
        [ARGUMENT_TENSORS] = "tensors",
        [ARGUMENT_NESTED_TENSORS] = "nested_tensors",
        [ARGUMENT_INT] = "int",
        [ARGUMENT_FLOAT] = "float",
        [ARGUMENT_BOOL] = "bool",
        [ARGUMENT_COMPLEX] = "complex",
        [ARGUMENT_INTS] = "ints",
        [ARGUMENT_FLOATS] = "floats",
        [ARGUMENT_BOOLS] = "bools",
        [ARGUMENT_INT_LISTS] = "int_lists",
        [ARGUMENT_FLOAT_LISTS] = "float_lists",
        [ARGUMENT_STRING] = "string",
        [ARGUMENT_STRINGS] = "strings",
        [ARGUMENT_DTYPE] = "dtype",
        [ARGUMENT_MEMORY_FORMAT] = "memory_format",
        [ARGUMENT_LAYOUT] = "layout",
        [ARGUMENT_DEVICE] = "device",
        [ARGUMENT_GRAPH] = "graph",
        [ARGUMENT_OBJECT] = "object",
        [ARGUMENT_OPERATOR] = "operator",
        [ARGUMENT_MAP] = "map",
    };
    return keys[kind];
}

static void print_content(const printer_t *printer, const archive_argument_t *argument) {
    text_t *out = printer->out;
    switch (argument->kind) {
    case ARGUMENT_NONE: text_printf(out, "null"); break;
    case ARGUMENT_TENSOR: print_name(printer, argument->value); break;
    case ARGUMENT_INT:
    case ARGUMENT_FLOAT:
    case ARGUMENT_BOOL: print_operand(printer, &argument->number); break;
    case ARGUMENT_COMPLEX:
        text_add(out, "[", 1);
        json_print_double(out, argument->complex.real, 17);
        text_add(out, ",", 1);
        json_print_double(out, argument->complex.imag, 17);
        text_add(out, "]", 1);
        break;
    case ARGUMENT_TENSORS:
    case ARGUMENT_NESTED_TENSORS:
    case ARGUMENT_INTS:
    case ARGUMENT_FLOATS:
    case ARGUMENT_BOOLS:
    case ARGUMENT_INT_LISTS:
    case ARGUMENT_FLOAT_LISTS: print_items(printer, argument); break;
    case ARGUMENT_STRING:
    case ARGUMENT_OPERATOR: json_print_string(out, argument->string); break;
    case ARGUMENT_STRINGS: print_strings(out, argument->strings, argument->count); break;
    case ARGUMENT_DTYPE: json_print_string(out, dtype_name(argument->dtype)); break;
    case ARGUMENT_MEMORY_FORMAT: json_print_string(out, archive_memory_format_name(argument->memory_format)); break;
    case ARGUMENT_LAYOUT: json_print_string(out, archive_layout_name(argument->layout)); break;
    case ARGUMENT_DEVICE: print_device(out, &argument->device); break;
    case ARGUMENT_GRAPH: print_subgraph(printer, argument); break;
    case ARGUMENT_OBJECT: print_object(printer, argument); break;
    case ARGUMENT_MAP: print_map(printer, argument); break;
    }
}

/* A union of one member: {"tensor": "x"}, {"ints": [1, {"value": "sym_size"}]}. */
static void print_argument(const printer_t *printer, const archive_argument_t *argument) {
    text_add(printer->out, "{", 1);
    print_key(printer->out, argument_key(argument->kind));
    print_content(printer, argument);
    text_add(printer->out, "}", 1);
}

static void print_arguments(const printer_t *printer, const char *key, const archive_argument_t *arguments,
                            uint32_t count) {
    print_key(printer->out, key);
    text_add(printer->out, "[", 1);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_add(printer->out, ",", 1);
        print_argument(printer, &arguments[i]);
    }
    text_add(printer->out, "]", 1);
}

/* ---- graphs ---- */

static void print_node(const printer_t *printer, const archive_node_t *node) {
    text_t *out = printer->out;
    text_add(out, "{", 1);
    print_member(out, "name", node->name);
    text_add(out, ",", 1);
    print_member(out, "target", node->target);
    text_printf(out, ",\"inputs\":[");
    for (uint32_t i = 0; i < node->input_count; i++) {
        text_printf(out, i ? ",{" : "{");
        print_member(out, "name", node->inputs[i].name);
        text_printf(out, ",\"keyword\":%s,\"argument\":", truth_text(node->inputs[i].is_keyword));
        print_argument(printer, &node->inputs[i].argument);
        text_add(out, "}", 1);
    }
    text_printf(out, "],");
    print_arguments(printer, "outputs", node->outputs, node->output_count);
    if (node->single_tensor_return) text_printf(out, ",\"single_tensor_return\":true");
    text_add(out, ",", 1);
    print_member(out, "source", node->source);
    text_add(out, ",", 1);
    print_member(out, "module", node->module);
    text_add(out, "}", 1);
}

static void print_graph(const archive_graph_t *graph, text_t *out) {
    printer_t printer = {.graph = graph, .out = out};
    text_add(out, "{", 1);
    print_arguments(&printer, "inputs", graph->inputs, graph->input_count);
    text_printf(out, ",\n\"values\":{");
    for (uint32_t i = 0; i < graph->value_count; i++) {
        text_printf(out, i ? ",\n" : "\n");
        print_value(out, &graph->values[i]);
    }
    text_printf(out, "},\n\"nodes\":[");
    for (uint32_t i = 0; i < graph->node_count; i++) {
        text_printf(out, i ? ",\n" : "\n");
        print_node(&printer, &graph->nodes[i]);
    }
    text_printf(out, "],\n");
    print_arguments(&printer, "outputs", graph->outputs, graph->output_count);
    text_printf(out, ",\"single_tensor_return\":%s}", truth_text(graph->single_tensor_return));
}

/* ---- around the graph ---- */

static void print_facts(text_t *out, const char *key, const archive_fact_t *facts, uint32_t count) {
    print_key(out, key);
    text_add(out, "{", 1);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_add(out, ",", 1);
        print_member(out, facts[i].name, facts[i].text);
    }
    text_printf(out, "},\n");
}

static void print_record(text_t *out, const archive_record_t *record) {
    text_add(out, "{", 1);
    print_member(out, "name", record->name);
    text_printf(out, ",\"position\":%zu,\"size\":%zu,\"crc32\":\"%08" PRIx32 "\"}", record->position, record->size,
                record->crc);
}

static void print_file(const archive_program_t *program, text_t *out) {
    const archive_about_t *about = program->about;
    text_printf(out, "\"file_size\":%zu,\"container\":\"%s\",", program->map->size, about->container);
    print_member(out, "root", about->root);
    text_printf(out, ",\"zip64\":%s,\n\"records\":[", truth_text(about->has_zip64));
    for (uint32_t i = 0; i < about->record_count; i++) {
        text_printf(out, i ? ",\n" : "\n");
        print_record(out, &about->records[i]);
    }
    text_printf(out, "],\n");
    print_facts(out, "versions", about->versions, about->version_count);
    print_member(out, "torch_version", program->torch_version);
    text_printf(out, ",\"schema_version\":[%" PRId64 ",%" PRId64 "],\"verifiers\":", program->schema_major,
                program->schema_minor);
    print_strings(out, about->verifiers, about->verifier_count);
    text_add(out, ",", 1);
    print_facts(out, "opset_version", about->opsets, about->opset_count);
}

static void print_bound(text_t *out, int64_t bound, int64_t unbounded) {
    if (bound == unbounded)
        text_printf(out, "null");
    else
        text_printf(out, "%" PRId64, bound);
}

static void print_ranges(const archive_program_t *program, text_t *out) {
    text_printf(out, "\"ranges\":{");
    for (uint32_t i = 0; i < program->range_count; i++) {
        const archive_range_t *range = &program->ranges[i];
        if (i) text_add(out, ",", 1);
        print_key(out, range->expression);
        text_add(out, "[", 1);
        print_bound(out, range->min, INT64_MIN);
        text_add(out, ",", 1);
        print_bound(out, range->max, INT64_MAX);
        text_add(out, "]", 1);
    }
    text_printf(out, "},\n\"guards\":");
    print_strings(out, program->guards, program->guard_count);
    text_printf(out, ",\n");
}

static void print_signature(const archive_program_t *program, text_t *out) {
    const archive_graph_t *graph = program->graph;
    printer_t printer = {.graph = graph, .out = out};
    text_printf(out, "\"inputs\":[");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const archive_input_t *input = &program->inputs[i];
        text_printf(out, i ? ",\n{" : "\n{");
        print_member(out, "kind", archive_input_kind_name(input->kind));
        text_add(out, ",", 1);
        print_member(out, "name", input->name);
        if (input->fqn) {
            text_add(out, ",", 1);
            print_member(out, "fqn", input->fqn);
        }
        if (input->kind == ARCHIVE_INPUT_BUFFER)
            text_printf(out, ",\"persistent\":%s", truth_text(input->is_persistent));
        text_printf(out, ",\"argument\":");
        print_argument(&printer, &graph->inputs[i]);
        text_add(out, "}", 1);
    }
    text_printf(out, "],\n\"outputs\":[");
    for (uint32_t i = 0; i < graph->output_count; i++) {
        text_printf(out, i ? ",\n{" : "\n{");
        print_member(out, "kind", archive_output_kind_name(program->outputs[i].kind));
        if (program->outputs[i].target) {
            text_add(out, ",", 1);
            print_member(out, "target", program->outputs[i].target);
        }
        text_printf(out, ",\"argument\":");
        print_argument(&printer, &graph->outputs[i]);
        text_add(out, "}", 1);
    }
    text_printf(out, "],\n");
}

/* The specs are JSON already, and were parsed when the file was opened. */
static void print_call(const archive_program_t *program, text_t *out) {
    const archive_about_t *about = program->about;
    text_printf(out, "\"in_spec\":%s,\n\"out_spec\":%s,\n\"forward_arg_names\":", program->in_spec, program->out_spec);
    if (program->forward_arg_names)
        print_strings(out, program->forward_arg_names, program->forward_arg_name_count);
    else
        text_printf(out, "null");
    text_printf(out, ",\n\"modules\":[");
    for (uint32_t i = 0; i < about->module_count; i++) {
        text_printf(out, i ? ",{" : "{");
        print_member(out, "fqn", about->modules[i]);
        text_printf(out, ",\"signature\":%s}", truth_text(about->module_signatures[i]));
    }
    text_printf(out, "],\n\"metadata\":");
    print_strings(out, about->metadata, about->metadata_count);
    text_printf(out, ",\n");
}

/* ---- stored tensors ---- */

static void print_dims(text_t *out, const char *key, const int64_t *dims, uint32_t count) {
    text_printf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) text_printf(out, i ? ",%" PRId64 : "%" PRId64, dims[i]);
    text_add(out, "]", 1);
}

static insitu_status print_readable(const stored_tensor_t *tensor, const archive_print_options_t *options,
                                    text_t *out) {
    const archive_payload_t *payload = tensor->payload;
    uint64_t hash;
    text_printf(out, ",\"dtype\":\"%s\"", dtype_name(payload->dtype));
    print_dims(out, "sizes", payload->sizes, payload->rank);
    print_dims(out, "strides", payload->strides, payload->rank);
    text_printf(out, ",\"offset\":%" PRId64 ",\"parameter\":%s", payload->offset, truth_text(payload->is_param));
    if (tensor->storage) {
        text_printf(out, ",\"record\":");
        json_print_string(out, tensor->storage->record);
        text_printf(out, ",\"record_position\":%zu,\"record_size\":%zu", tensor->storage->position,
                    tensor->storage->size);
    }
    if (options->hashes) {
        TRY(stored_tensor_hash(tensor, &hash));
        text_printf(out, ",\"xxh64\":\"%016" PRIx64 "\"", hash);
    }
    if (options->values) {
        text_printf(out, ",\"values\":");
        stored_tensor_print(tensor, out);
    }
    return INSITU_OK;
}

static insitu_status print_stored(const archive_program_t *program, bool constants,
                                  const archive_print_options_t *options, text_t *out) {
    bool first = true;
    text_printf(out, constants ? "\"constants\":[" : "\"weights\":[");
    for (uint32_t i = 0; i < stored_tensor_count(program); i++) {
        const stored_tensor_t tensor = stored_tensor_of(program, i);
        if (tensor.payload->is_constant != constants) continue;
        text_printf(out, first ? "\n{" : ",\n{");
        first = false;
        print_member(out, "name", tensor.payload->fqn);
        if (tensor.problem) {
            text_add(out, ",", 1);
            print_member(out, "problem", tensor.problem);
        } else {
            TRY(print_readable(&tensor, options, out));
        }
        text_add(out, "}", 1);
    }
    text_printf(out, "],\n");
    return INSITU_OK;
}

insitu_status print_program_json(const archive_program_t *program, const archive_print_options_t *options,
                                 text_t *out) {
    const archive_about_t *about = program->about;
    text_add(out, "{", 1);
    print_file(program, out);
    print_ranges(program, out);
    print_signature(program, out);
    print_call(program, out);
    text_printf(out, "\"graph\":");
    print_graph(program->graph, out);
    text_printf(out, ",\n");
    TRY(print_stored(program, false, options, out));
    TRY(print_stored(program, true, options, out));
    text_printf(out, "\"example_inputs\":");
    if (about->example_inputs == NONE)
        text_printf(out, "null");
    else
        print_record(out, &about->records[about->example_inputs]);
    text_printf(out, "}\n");
    return INSITU_OK;
}
