/* insitu compare: runs a program with every tensor of it kept, and compares each with the value that PyTorch computed, in
 * the program's order. A reference file (scripts/record_values.py) holds one call: inputs in.NAME, values node.NAME. */
#include "file_kind.h"
#include "paths.h"
#include "session.h"
#include "tensor_difference.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option_t options[] = {
    {OPTION_REFERENCE, "--reference", "FILE", "safetensors file of one call's inputs and values; each one is a call",
     OFTEN},
    {OPTION_RTOL, "--rtol", "X", "relative tolerance of floats; by default one for each dtype", ONCE},
    {OPTION_ATOL, "--atol", "X", "absolute tolerance of floats; by default one for each dtype", ONCE},
    NO_INPLACE_OPTION,
    DEVICE_OPTION,
    HELP_OPTION,
};

static const char input_prefix[] = "in.", value_prefix[] = "node.";

typedef struct comparison {
    session_t session;
    json_t *nodes;             /* of the program, as printed */
    double relative, absolute; /* NaN: the dtype's own */
} comparison_t;

typedef struct reference {
    int number; /* of the call */
    const char *path;
    tensor_list_t tensors;     /* the file's */
    tensor_list_t inputs;      /* those that are inputs, without their prefix */
    size_t value_count, equal; /* values in the file, and how many were found equal */
} reference_t;

/* ---- the program's nodes ---- */

static int load_nodes(comparison_t *comparison, const char *path) {
    insitu_print_options print = {.struct_size = sizeof(print), .json = true};
    insitu_diag diag;
    insitu_diag_init(&diag);
    char *text = NULL;
    int code = DONE;
    if (insitu_program_print(comparison->session.source.program, &print, &text, &diag) != INSITU_OK)
        code = report_failure(path, &diag);
    json_t *program = text ? json_loads(text, 0, NULL) : NULL;
    comparison->nodes = json_incref(json_object_get(json_object_get(program, "graph"), "nodes"));
    if (code == DONE && !comparison->nodes) code = report_error("out of memory");
    json_decref(program);
    insitu_text_free(text);
    insitu_diag_release(&diag);
    return code;
}

static bool defines(const json_t *node, const char *value) {
    const json_t *outputs = json_object_get(node, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *output = json_array_get(outputs, i);
        const char *name = json_string_value(json_object_get(output, "tensor"));
        if (name && strcmp(name, value) == 0) return true;
        const json_t *names = json_object_get(output, "tensors");
        for (size_t k = 0; k < json_array_size(names); k++) {
            name = json_string_value(json_array_get(names, k));
            if (name && strcmp(name, value) == 0) return true;
        }
    }
    return false;
}

/* "%mul_1 = aten.mul.Tensor, model.py:41" */
static void print_node(const comparison_t *comparison, const char *value) {
    static const char prefix[] = "torch.ops.";
    for (size_t i = 0; i < json_array_size(comparison->nodes); i++) {
        const json_t *node = json_array_get(comparison->nodes, i);
        if (!defines(node, value)) continue;
        const char *target = json_string_value(json_object_get(node, "target"));
        const char *source = json_string_value(json_object_get(node, "source"));
        bool has_prefix = target && strncmp(target, prefix, sizeof(prefix) - 1) == 0;
        printf("%%%s = %s%s%s", value, target ? target + (has_prefix ? sizeof(prefix) - 1 : 0) : "?",
               source && source[0] ? ", " : "", source ? source : "");
        return;
    }
    printf("%%%s", value);
}

/* ---- one value ---- */

/* "2,0": the place of a row-major position. */
static void print_place(const insitu_tensor *tensor, int64_t position) {
    int64_t size = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) size *= tensor->shape[i];
    for (int32_t i = 0; i < tensor->ndim; i++) {
        size /= tensor->shape[i];
        printf(i ? ",%" PRId64 : "%" PRId64, position / size);
        position %= size;
    }
}

static void print_difference(const comparison_t *comparison, const reference_t *reference, const char *value,
                             const insitu_tensor *got, const insitu_tensor *wanted,
                             const tensor_difference_t *difference) {
    char got_type[128], wanted_type[128];
    tensor_type_text(got, got_type, sizeof(got_type));
    tensor_type_text(wanted, wanted_type, sizeof(wanted_type));
    printf("call %d: the first value that differs is ", reference->number);
    print_node(comparison, value);
    if (difference->is_other_type) {
        printf("\n  it is %s where %s was expected\n", got_type, wanted_type);
        return;
    }
    printf("\n  %s: %" PRId64 " of %" PRId64 " elements differ, by up to %.6g; the first at [", got_type,
           difference->count, difference->total, difference->largest);
    print_place(wanted, difference->first);
    printf("] is %.9g where %.9g was expected\n", difference->got, difference->wanted);
}

static int compare_output(const comparison_t *comparison, reference_t *reference, int32_t index, const char *name,
                          size_t *differing) {
    insitu_tensor got;
    const named_tensor_t *wanted = tensors_find(&reference->tensors, name);
    if (!wanted) return DONE;
    int code = session_output(&comparison->session, reference->number, index, &got);
    if (code != DONE) return code;
    tolerance_t tolerance = tolerance_of(wanted->tensor.dtype);
    if (!isnan(comparison->relative)) tolerance.relative = comparison->relative;
    if (!isnan(comparison->absolute)) tolerance.absolute = comparison->absolute;
    tensor_difference_t difference = tensor_compare(&got, &wanted->tensor, tolerance);
    if (!difference.count && !difference.is_other_type)
        reference->equal++;
    else if (!(*differing)++)
        print_difference(comparison, reference, name + sizeof(value_prefix) - 1, &got, &wanted->tensor, &difference);
    return DONE;
}

/* ---- one call ---- */

static bool begins(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static int add_input(const comparison_t *comparison, reference_t *reference, const char *name, insitu_tensor *tensor) {
    int code = session_lay_out(&comparison->session, name, tensor);
    return code == DONE ? tensors_add(&reference->inputs, name, tensor) : code;
}

/* Sorts the file's tensors; values must be nodes of the program. */
static int read_reference(const comparison_t *comparison, reference_t *reference) {
    int code = read_named_tensors(reference->path, &reference->tensors);
    for (size_t i = 0; code == DONE && i < reference->tensors.count; i++) {
        named_tensor_t *item = &reference->tensors.items[i];
        bool is_value = begins(item->name, value_prefix);
        reference->value_count += is_value;
        if (begins(item->name, input_prefix))
            code = add_input(comparison, reference, item->name + sizeof(input_prefix) - 1, &item->tensor);
        else if (!is_value)
            code = report_error("'%s' holds '%s', which is neither an input in.NAME nor a value node.NAME",
                                reference->path, item->name);
        else if (insitu_engine_find_output(comparison->session.source.engine, item->name) < 0)
            code = report_error("'%s' holds the value '%s', and no node of the program has that name", reference->path,
                                item->name + sizeof(value_prefix) - 1);
    }
    if (code == DONE && !reference->value_count)
        code = report_error("'%s' holds no values node.NAME to compare with", reference->path);
    return code;
}

static int compare_values(const comparison_t *comparison, reference_t *reference, size_t *out_differing) {
    const insitu_engine *engine = comparison->session.source.engine;
    int code = DONE;
    *out_differing = 0;
    for (int32_t i = 0; code == DONE && i < insitu_engine_output_count(engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        if (insitu_engine_output(engine, i, &info, NULL) != INSITU_OK || !begins(info.name, value_prefix)) continue;
        code = compare_output(comparison, reference, i, info.name, out_differing);
    }
    return code;
}

static int compare_call(const comparison_t *comparison, int number, const char *path) {
    reference_t reference = {.number = number, .path = path};
    size_t differing = 0;
    int code = read_reference(comparison, &reference);
    if (code == DONE) code = session_call(&comparison->session, number, path, &reference.inputs);
    if (code == DONE) code = compare_values(comparison, &reference, &differing);
    if (code == DONE) printf("call %d: %zu of %zu values are equal\n", number, reference.equal, reference.value_count);
    if (code == DONE && differing) code = FAILED;
    tensors_forget(&reference.inputs);
    tensors_release(&reference.tensors);
    return code;
}

/* ---- the command ---- */

/* NaN if the option was not given. */
static int read_tolerance(const command_t *command, const arguments_t *arguments, option_id_t id, double *out) {
    const char *text = argument_value(arguments, id);
    char *end = NULL;
    *out = (double)NAN;
    if (!text) return DONE;
    *out = strtod(text, &end);
    if (end != text && !*end && isfinite(*out) && *out >= 0) return DONE;
    return usage_error(command, "'%s' is no tolerance: a number that is not negative is expected", text);
}

static int check_arguments(const command_t *command, const arguments_t *arguments, comparison_t *comparison) {
    const char *path = readable_path(arguments->file);
    if (!path) return FAILED;
    if (file_kind_of(path) == KIND_ENGINE)
        return usage_error(command, "'%s' is an engine file; the .pt2 program that it was compiled from is expected",
                           arguments->file);
    if (!argument_value(arguments, OPTION_REFERENCE)) return usage_error(command, "option '--reference' is missing");
    int code = read_tolerance(command, arguments, OPTION_RTOL, &comparison->relative);
    if (code == DONE) code = read_tolerance(command, arguments, OPTION_ATOL, &comparison->absolute);
    return code == DONE ? check_kind(arguments->file, path, EXPECT_PROGRAM) : code;
}

/* Calls on one state, up to the first that differs. */
static int compare_calls(comparison_t *comparison, const arguments_t *arguments) {
    int number = 0;
    int code = load_nodes(comparison, arguments->file);
    for (size_t i = 0; code == DONE && i < arguments->option_count; i++)
        if (arguments->options[i].option->id == OPTION_REFERENCE)
            code = compare_call(comparison, number++, arguments->options[i].value);
    return code;
}

int command_compare(const command_t *command, int argc, char **argv) {
    arguments_t arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    comparison_t comparison = {0};
    insitu_compile_options compile_options;
    arguments_compile_options(&arguments, &compile_options);
    compile_options.keep_values = true;
    code = check_arguments(command, &arguments, &comparison);
    if (code == DONE) code = session_open(arguments.file, &compile_options, &(state_start_t){0}, &comparison.session);
    if (code == DONE) code = compare_calls(&comparison, &arguments);
    int output_code = finish_output();
    json_decref(comparison.nodes);
    session_close(&comparison.session);
    arguments_release(&arguments);
    return code == DONE ? output_code : code;
}
