/* insitu compile: a .pt2 program to an engine file. */
#include "file_kind.h"
#include "paths.h"

static const option_t options[] = {
    {OPTION_OUTPUT, "-o", "FILE", "the engine file to write", ONCE},
    COMPILE_OPTIONS,
    DEVICE_OPTION,
    HELP_OPTION,
};

static int save(const insitu_engine *engine, const char *out_path) {
    insitu_diag diag;
    written_file_t file;
    insitu_diag_init(&diag);
    int code = written_begin(out_path, &file);
    if (code == DONE && insitu_engine_save(engine, file.path, &diag) != INSITU_OK) code = report_failure(NULL, &diag);
    insitu_diag_release(&diag);
    return written_end(&file, code);
}

/* Each sentence of a failure names one file: the program before it, or the engine file in it. */
static int compile(const char *path, const insitu_compile_options *compile_options, const char *out_path) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_program *program = NULL;
    insitu_engine *engine = NULL;
    const char *readable = readable_path(path);
    int code = readable ? check_kind(path, readable, EXPECT_PROGRAM) : FAILED;
    if (code != DONE) return code;
    progress_begin("compiling", path);
    insitu_status status = insitu_program_load(readable, &program, &diag);
    if (status == INSITU_OK) status = insitu_program_compile(program, compile_options, &engine, &diag);
    progress_end();
    if (status != INSITU_OK) code = report_failure(path, &diag);
    if (code == DONE) code = save(engine, out_path);
    insitu_engine_destroy(engine);
    insitu_program_destroy(program);
    insitu_diag_release(&diag);
    return code;
}

int command_compile(const command_t *command, int argc, char **argv) {
    arguments_t arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    insitu_compile_options compile_options;
    arguments_compile_options(&arguments, &compile_options);
    const char *out_path = argument_value(&arguments, OPTION_OUTPUT);
    code = out_path ? check_written_files(command, &arguments) : usage_error(command, "option '-o' is missing");
    if (code == DONE) code = compile(arguments.file, &compile_options, out_path);
    arguments_release(&arguments);
    return code;
}
