/* insitu run: calls a program once for each --input, on one state, and writes what each call returns. */
#include "options.h"
#include "safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option options[] = {
    {OPTION_INPUT, "--input", "FILE", "safetensors file of one call's inputs by name; each one starts a call", true},
    {OPTION_OUTPUT, "--output", "FILE", "where to write what the call of the --input before it returns", true},
    {OPTION_LOAD_STATE, "--load-state", "FILE", "start from a saved state", false},
    {OPTION_SAVE_STATE, "--save-state", "FILE", "write all buffers as of the last call that succeeded", false},
    {OPTION_STATS, "--stats", NULL, "print one JSON object a call: seconds, and bytes read, written and copied", false},
    COMPILE_OPTIONS,
    DEVICE_OPTION,
    HELP_OPTION,
};

typedef struct session {
    engine_source source;
    insitu_state *state;
    insitu_context *context;
    bool prints_stats;
} session;

typedef struct call {
    int number;
    const char *input_path, *output_path; /* output_path NULL: nothing is written */
} call;

static int call_failure(const call *call, const insitu_diag *diag) {
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "call %d", call->number);
    return report_failure(prefix, diag);
}

/* ---- inputs ---- */

static bool is_none(const insitu_value_info *info) { return info->dtype.bits == 0; }

static int check_names(const session *session, const call *call, const tensor_list *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        int32_t index = insitu_engine_find_input(session->source.engine, inputs->items[i].name);
        if (index < 0 || insitu_engine_input(session->source.engine, index, &info, NULL) != INSITU_OK || is_none(&info))
            return report_error("call %d: '%s' holds a tensor '%s', and the program has no input of that name",
                                call->number, call->input_path, inputs->items[i].name);
    }
    return DONE;
}

static int bind_inputs(const session *session, const call *call, const tensor_list *inputs, insitu_diag *diag) {
    const insitu_engine *engine = session->source.engine;
    for (int32_t i = 0; i < insitu_engine_input_count(engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        if (insitu_engine_input(engine, i, &info, diag) != INSITU_OK) return call_failure(call, diag);
        if (is_none(&info)) continue;
        const named_tensor *given = tensors_find(inputs, info.name);
        if (!given)
            return report_error("call %d: '%s' holds no tensor for input '%s'", call->number, call->input_path,
                                info.name);
        if (insitu_context_set_input(session->context, i, &given->tensor, diag) != INSITU_OK)
            return call_failure(call, diag);
    }
    return DONE;
}

/* ---- outputs ---- */

static int collect_outputs(const session *session, const call *call, tensor_list *results, insitu_diag *diag) {
    for (int32_t i = 0; i < insitu_engine_output_count(session->source.engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        insitu_tensor tensor;
        if (insitu_engine_output(session->source.engine, i, &info, diag) != INSITU_OK) return call_failure(call, diag);
        if (is_none(&info)) continue;
        if (insitu_context_output(session->context, i, &tensor, diag) != INSITU_OK) return call_failure(call, diag);
        int code = tensors_add(results, info.name, &tensor);
        if (code != DONE) return code;
    }
    return DONE;
}

static int collect_mutated(const session *session, const tensor_list *inputs, tensor_list *results) {
    for (size_t i = 0; i < inputs->count; i++) {
        const char *name = inputs->items[i].name;
        if (!insitu_engine_input_is_written(session->source.engine, name)) continue;
        size_t size = strlen("mutated.") + strlen(name) + 1;
        char *key = malloc(size);
        if (!key) return report_error("out of memory");
        snprintf(key, size, "mutated.%s", name);
        int code = tensors_add(results, key, &inputs->items[i].tensor);
        free(key);
        if (code != DONE) return code;
    }
    return DONE;
}

static int write_results(const session *session, const call *call, const tensor_list *inputs, insitu_diag *diag) {
    if (!call->output_path) return DONE;
    tensor_list results = {0};
    int code = collect_outputs(session, call, &results, diag);
    if (code == DONE) code = collect_mutated(session, inputs, &results);
    if (code == DONE) code = safetensors_write(call->output_path, &results);
    tensors_forget(&results);
    return code;
}

static int print_stats(const session *session, const call *call, insitu_diag *diag) {
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    if (!session->prints_stats) return DONE;
    if (insitu_context_stats(session->context, &stats, diag) != INSITU_OK) return call_failure(call, diag);
    printf("{\"call\":%d,\"seconds\":%.9f,\"weight_bytes_read\":%" PRId64 ",\"state_bytes_written\":%" PRId64
           ",\"state_bytes_moved\":%" PRId64 ",\"state_bytes_copied\":%" PRId64 ",\"state_bytes_saved\":%" PRId64
           ",\"output_bytes_copied\":%" PRId64 ",\"arena_bytes\":%" PRId64 "}\n",
           call->number, stats.seconds, stats.weight_bytes_read, stats.state_bytes_written, stats.state_bytes_moved,
           stats.state_bytes_copied, stats.state_bytes_saved, stats.output_bytes_copied, stats.arena_bytes);
    return DONE;
}

/* ---- calls ---- */

/* Makes the call and writes its results; the inputs must outlive both, as an output may be an input's memory. */
static int make_call(const session *session, const call *call) {
    tensor_list inputs;
    insitu_diag diag;
    insitu_diag_init(&diag);
    int code = safetensors_read(call->input_path, &inputs);
    if (code == DONE) code = check_names(session, call, &inputs);
    if (code == DONE) code = bind_inputs(session, call, &inputs, &diag);
    if (code == DONE && insitu_context_run(session->context, session->state, NULL, &diag) != INSITU_OK)
        code = call_failure(call, &diag);
    if (code == DONE) code = write_results(session, call, &inputs, &diag);
    if (code == DONE) code = print_stats(session, call, &diag);
    tensors_release(&inputs);
    insitu_diag_release(&diag);
    return code;
}

/* Makes the calls in order, up to the first that fails. */
static int make_calls(const session *session, const arguments *arguments) {
    call call = {.number = -1};
    for (size_t i = 0; i < arguments->option_count; i++) {
        const given_option *given = &arguments->options[i];
        if (given->option->id != OPTION_INPUT) continue;
        call.number++;
        call.input_path = given->value;
        call.output_path = NULL;
        for (size_t next = i + 1; next < arguments->option_count; next++) {
            if (arguments->options[next].option->id == OPTION_INPUT) break;
            if (arguments->options[next].option->id == OPTION_OUTPUT) call.output_path = arguments->options[next].value;
        }
        int code = make_call(session, &call);
        if (code != DONE) return code;
    }
    return DONE;
}

static int check_pairs(const command *command, const arguments *arguments) {
    size_t inputs = 0;
    bool may_have_output = false;
    for (size_t i = 0; i < arguments->option_count; i++) {
        const given_option *given = &arguments->options[i];
        if (given->option->id == OPTION_INPUT) {
            inputs++;
            may_have_output = true;
        }
        if (given->option->id != OPTION_OUTPUT) continue;
        if (!may_have_output)
            return usage_error(command, "'--output %s' has no --input of its own before it", given->value);
        may_have_output = false;
    }
    return inputs ? DONE : usage_error(command, "option '--input' is missing");
}

/* ---- the session ---- */

static int open_state(session *session, const char *load_path, insitu_diag *diag) {
    if (insitu_state_create(session->source.engine, &session->state, diag) != INSITU_OK ||
        insitu_context_create(session->source.engine, &session->context, diag) != INSITU_OK)
        return report_failure(NULL, diag);
    if (load_path && insitu_state_load(session->state, load_path, diag) != INSITU_OK)
        return report_failure(load_path, diag);
    return DONE;
}

static int run_session(session *session, const arguments *arguments) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    const char *save_path = argument_value(arguments, OPTION_SAVE_STATE);
    int code = open_state(session, argument_value(arguments, OPTION_LOAD_STATE), &diag);
    if (code == DONE) {
        code = make_calls(session, arguments);
        if (save_path) {
            int save_code = saved_state_write(save_path, session->source.engine, session->state);
            code = code == DONE ? save_code : code;
        }
    }
    insitu_diag_release(&diag);
    return code;
}

int command_run(const command *command, int argc, char **argv) {
    arguments arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    insitu_compile_options compile_options;
    session session = {.prints_stats = argument_value(&arguments, OPTION_STATS) != NULL};
    code = check_pairs(command, &arguments);
    arguments_compile_options(&arguments, &compile_options);
    if (code == DONE && (compile_options.strict || compile_options.no_inplace) && !is_program_file(arguments.file))
        code = usage_error(command, "option '%s' is for a .pt2 program, and '%s' is not one",
                           compile_options.strict ? "--strict" : "--no-inplace", arguments.file);
    if (code == DONE) code = engine_source_open(arguments.file, &compile_options, NULL, &session.source);
    if (code == DONE) code = run_session(&session, &arguments);
    int output_code = finish_output();
    insitu_context_destroy(session.context);
    insitu_state_destroy(session.state);
    engine_source_close(&session.source);
    arguments_release(&arguments);
    return code == DONE ? output_code : code;
}
