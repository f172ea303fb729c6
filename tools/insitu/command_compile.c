/* insitu compile: a .pt2 program to an engine file. */
#include "options.h"

static const option options[] = {
    {OPTION_OUTPUT, "-o", "FILE", "the engine file to write", false},
    COMPILE_OPTIONS,
    DEVICE_OPTION,
    HELP_OPTION,
};

/* Each sentence of a failure names one file: the program before it, or the engine file in it. */
static int compile(const char *path, const insitu_compile_options *compile_options, const char *out_path) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_program *program = NULL;
    insitu_engine *engine = NULL;
    progress_begin("compiling", path);
    insitu_status status = insitu_program_load(path, &program, &diag);
    if (status == INSITU_OK) status = insitu_program_compile(program, compile_options, &engine, &diag);
    progress_end();
    int code = status == INSITU_OK ? DONE : report_failure(path, &diag);
    if (code == DONE && insitu_engine_save(engine, out_path, &diag) != INSITU_OK) code = report_failure(NULL, &diag);
    insitu_engine_destroy(engine);
    insitu_program_destroy(program);
    insitu_diag_release(&diag);
    return code;
}

static int check_files(const command *command, const char *path, const char *out_path) {
    if (!out_path) return usage_error(command, "option '-o' is missing");
    if (is_same_file(path, out_path)) return usage_error(command, "'-o %s' is the program itself", out_path);
    return DONE;
}

int command_compile(const command *command, int argc, char **argv) {
    arguments arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    insitu_compile_options compile_options;
    arguments_compile_options(&arguments, &compile_options);
    const char *out_path = argument_value(&arguments, OPTION_OUTPUT);
    code = check_files(command, arguments.file, out_path);
    if (code == DONE) code = compile(arguments.file, &compile_options, out_path);
    arguments_release(&arguments);
    return code;
}
