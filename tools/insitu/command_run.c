/* insitu run: calls a program once for each --input, on one state, and writes what each call returns. */
#include "file_kind.h"
#include "made_inputs.h"
#include "paths.h"
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option_t options[] = {
    {OPTION_INPUT, "--input", "FILE", "safetensors file of one call's inputs by name; each one starts a call", OFTEN},
    {OPTION_ZEROS, "--zeros", NULL, "start a call whose inputs are all zeros", OFTEN},
    {OPTION_RANDOM, "--random", "SEED", "start a call with random inputs: floats from -1 to 1, all else 0 or 1",
     OFTEN_BARE},
    {OPTION_SIZE, "--size", "NAME=N", "of inputs that are made: an open size, which is else the least one", OFTEN},
    {OPTION_OUTPUT, "--output", "FILE", "where to write what the call before it returns", OFTEN},
    {OPTION_LOAD_STATE, "--load-state", "FILE", "start from a saved state", ONCE},
    {OPTION_STATE_SIZE, "--state-size", "STATE.DIM=N", "size of a dimension that a network's state leaves open", OFTEN},
    {OPTION_SAVE_STATE, "--save-state", "FILE", "write all buffers as of the last call that succeeded", ONCE},
    {OPTION_STATS, "--stats", NULL, "print one JSON object a call: seconds, and bytes read, written and copied", ONCE},
    COMPILE_OPTIONS,
    DEVICE_OPTION,
    HELP_OPTION,
};

typedef struct call {
    int number;
    const char *input_path;  /* where the inputs are from: a file, or "--zeros" */
    made_inputs_t *made;     /* NULL: they are read from the file */
    const char *output_path; /* NULL: nothing is written */
    bool prints_stats;
} call_t;

/* ---- outputs ---- */

static int collect_outputs(const session_t *session, const call_t *call, tensor_list_t *results, insitu_diag *diag) {
    for (int32_t i = 0; i < insitu_engine_output_count(session->source.engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        insitu_tensor tensor;
        if (insitu_engine_output(session->source.engine, i, &info, diag) != INSITU_OK)
            return call_failure(call->number, diag);
        if (is_none(&info)) continue;
        int code = session_output(session, call->number, i, &tensor);
        if (code == DONE) code = tensors_add(results, info.name, &tensor);
        if (code != DONE) return code;
    }
    return DONE;
}

static int collect_mutated(const session_t *session, const tensor_list_t *inputs, tensor_list_t *results) {
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

static int write_results(const session_t *session, const call_t *call, const tensor_list_t *inputs, insitu_diag *diag) {
    if (!call->output_path) return DONE;
    tensor_list_t results = {0};
    int code = collect_outputs(session, call, &results, diag);
    if (code == DONE) code = collect_mutated(session, inputs, &results);
    if (code == DONE) code = tensors_write(call->output_path, &results);
    tensors_forget(&results);
    return code;
}

static int print_stats(const session_t *session, const call_t *call, insitu_diag *diag) {
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    if (!call->prints_stats) return DONE;
    if (insitu_context_stats(session->context, &stats, diag) != INSITU_OK) return call_failure(call->number, diag);
    printf("{\"call\":%d,\"seconds\":%.9f,\"weight_bytes_read\":%" PRId64 ",\"state_bytes_written\":%" PRId64
           ",\"state_bytes_moved\":%" PRId64 ",\"state_bytes_copied\":%" PRId64 ",\"state_bytes_saved\":%" PRId64
           ",\"output_bytes_copied\":%" PRId64 ",\"arena_bytes\":%" PRId64 ",\"bindings_made\":%" PRId64
           ",\"bindings_dropped\":%" PRId64 "}\n",
           call->number, stats.seconds, stats.weight_bytes_read, stats.state_bytes_written, stats.state_bytes_moved,
           stats.state_bytes_copied, stats.state_bytes_saved, stats.output_bytes_copied, stats.arena_bytes,
           stats.bindings_made, stats.bindings_dropped);
    return DONE;
}

/* ---- calls ---- */

/* Makes the call and writes its results; the inputs must outlive both, as an output may be an input's memory. */
static int make_call(const session_t *session, const call_t *call) {
    tensor_list_t inputs;
    insitu_diag diag;
    insitu_diag_init(&diag);
    int code = call->made ? make_inputs(call->made, session->source.engine, &inputs)
                          : read_named_tensors(call->input_path, &inputs);
    for (size_t i = 0; code == DONE && i < inputs.count; i++)
        code = session_lay_out(session, inputs.items[i].name, &inputs.items[i].tensor);
    if (code == DONE) code = session_call(session, call->number, call->input_path, &inputs);
    if (code == DONE) code = write_results(session, call, &inputs, &diag);
    if (code == DONE) code = print_stats(session, call, &diag);
    tensors_release(&inputs);
    insitu_diag_release(&diag);
    return code;
}

static bool starts_call(option_id_t id) { return id == OPTION_INPUT || id == OPTION_ZEROS || id == OPTION_RANDOM; }

/* The output that belongs to the call that the option at index starts; NULL. */
static const char *output_of(const arguments_t *arguments, size_t index) {
    for (size_t i = index + 1; i < arguments->option_count; i++) {
        const given_option_t *given = &arguments->options[i];
        if (starts_call(given->option->id)) break;
        if (given->option->id == OPTION_OUTPUT) return given->value;
    }
    return NULL;
}

/* Makes the calls in order, up to the first that fails. */
static int make_calls(const session_t *session, const arguments_t *arguments) {
    call_t call = {.number = -1, .prints_stats = argument_value(arguments, OPTION_STATS) != NULL};
    made_inputs_t made = {
        .random_state = arguments->seed, .sizes = arguments->sizes, .size_count = arguments->size_count};
    for (size_t i = 0; i < arguments->option_count; i++) {
        const given_option_t *given = &arguments->options[i];
        if (!starts_call(given->option->id)) continue;
        bool is_file = given->option->id == OPTION_INPUT;
        call.number++;
        call.input_path = is_file ? given->value : given->option->name;
        call.made = is_file ? NULL : &made;
        call.output_path = output_of(arguments, i);
        made.is_random = given->option->id == OPTION_RANDOM;
        int code = make_call(session, &call);
        if (code != DONE) return code;
    }
    return DONE;
}

static int check_calls(const command_t *command, const arguments_t *arguments) {
    size_t calls = 0, made = 0;
    bool may_have_output = false;
    for (size_t i = 0; i < arguments->option_count; i++) {
        const given_option_t *given = &arguments->options[i];
        if (starts_call(given->option->id)) {
            calls++;
            made += given->option->id != OPTION_INPUT;
            may_have_output = true;
        }
        if (given->option->id != OPTION_OUTPUT) continue;
        if (!may_have_output)
            return usage_error(command, "'--output %s' has no --input, --zeros or --random of its own before it",
                               given->value);
        may_have_output = false;
    }
    if (arguments->size_count && !made) return usage_error(command, "option '--size' needs '--zeros' or '--random'");
    return calls ? DONE : usage_error(command, "option '--input' is missing (or '--zeros', or '--random')");
}

/* ---- the command ---- */

/* Every buffer of the module: the states as they are now, and the buffers that the program does not write. */
static int save_state(const insitu_state *state, const char *path) {
    insitu_diag diag;
    written_file_t file;
    insitu_diag_init(&diag);
    int code = written_begin(path, &file);
    if (code == DONE && insitu_state_save_all(state, file.path, &diag) != INSITU_OK) code = report_failure(NULL, &diag);
    insitu_diag_release(&diag);
    return written_end(&file, code);
}

static int run_session(const session_t *session, const arguments_t *arguments) {
    const char *save_path = argument_value(arguments, OPTION_SAVE_STATE);
    int code = make_calls(session, arguments);
    if (!save_path) return code;
    int save_code = save_state(session->state, save_path);
    return code == DONE ? save_code : code;
}

static int check_file(const command_t *command, const arguments_t *arguments) {
    static const option_id_t of_programs[] = {OPTION_STRICT,        OPTION_NO_INPLACE, OPTION_KEEP_VALUES,
                                              OPTION_MUTATED_INPUT, OPTION_STATE,      OPTION_BOUNDS,
                                              OPTION_CACHE};
    const char *path = readable_path(arguments->file);
    if (!path) return FAILED;
    for (size_t i = 0; i < sizeof(of_programs) / sizeof(of_programs[0]); i++) {
        const char *name = argument_value(arguments, of_programs[i]);
        if (name && !is_program_file(path))
            return usage_error(command, "option '%s' is for a .pt2 program, and '%s' is not one", name,
                               arguments->file);
    }
    return DONE;
}

int command_run(const command_t *command, int argc, char **argv) {
    arguments_t arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    insitu_compile_options compile_options;
    session_t session = {0};
    code = check_calls(command, &arguments);
    arguments_compile_options(&arguments, &compile_options);
    if (code == DONE) code = check_written_files(command, &arguments);
    if (code == DONE) code = check_file(command, &arguments);
    const state_start_t start = {.load_path = argument_value(&arguments, OPTION_LOAD_STATE),
                                 .sizes = arguments.state_sizes,
                                 .size_count = arguments.state_size_count};
    if (code == DONE) code = session_open(arguments.file, &compile_options, &start, &session);
    if (code == DONE) code = run_session(&session, &arguments);
    int output_code = finish_output();
    session_close(&session);
    arguments_release(&arguments);
    return code == DONE ? output_code : code;
}
