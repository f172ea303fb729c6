/* insitu compile: a .pt2 program to an engine file. */
#include "options.h"

static const option options[] = {
    {OPTION_OUTPUT, "-o", "FILE", "the engine file to write", false},
    COMPILE_OPTIONS,
    DEVICE_OPTION,
    HELP_OPTION,
};

static insitu_status compile(const char *path, const insitu_compile_options *compile_options, const char *out_path,
                             insitu_diag *diag) {
    insitu_program *program = NULL;
    insitu_engine *engine = NULL;
    insitu_status status = insitu_program_load(path, &program, diag);
    if (status == INSITU_OK) status = insitu_program_compile(program, compile_options, &engine, diag);
    if (status == INSITU_OK) status = insitu_engine_save(engine, out_path, diag);
    insitu_engine_destroy(engine);
    insitu_program_destroy(program);
    return status;
}

int command_compile(const command *command, int argc, char **argv) {
    arguments arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    insitu_compile_options compile_options;
    arguments_compile_options(&arguments, &compile_options);
    const char *out_path = argument_value(&arguments, OPTION_OUTPUT);
    if (!out_path) {
        code = usage_error(command, "option '-o' is missing");
    } else {
        insitu_diag diag;
        insitu_diag_init(&diag);
        if (compile(arguments.file, &compile_options, out_path, &diag) != INSITU_OK)
            code = report_failure(arguments.file, &diag);
        insitu_diag_release(&diag);
    }
    arguments_release(&arguments);
    return code;
}
