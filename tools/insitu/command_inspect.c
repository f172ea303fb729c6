/* insitu inspect: what a program's file holds, as saved; or what an engine takes, returns and keeps, and how it runs. */
#include "file_kind.h"
#include "paths.h"

#include <stdio.h>

static const option_t options[] = {
    {OPTION_JSON, "--json", NULL, "print one JSON object", ONCE},
    {OPTION_HASHES, "--hashes", NULL, "of a .pt2 program: also xxh64 of each stored tensor's elements", ONCE},
    {OPTION_VALUES, "--values", NULL, "of a .pt2 program, with --json: also each stored tensor's elements", ONCE},
    {OPTION_PLAN, "--plan", NULL, "compile a .pt2 program, and print what an engine file would show", ONCE},
    {OPTION_VERIFY, "--verify", NULL, "check the hash of each weight of an engine file first", ONCE},
    DEVICE_OPTION,
    HELP_OPTION,
};

static bool is_given(const arguments_t *arguments, option_id_t id) { return argument_value(arguments, id) != NULL; }

/* ---- programs ---- */

static int print_program(const arguments_t *arguments) {
    insitu_print_options print = {.struct_size = sizeof(print)};
    print.json = is_given(arguments, OPTION_JSON);
    print.hashes = is_given(arguments, OPTION_HASHES);
    print.values = is_given(arguments, OPTION_VALUES);
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_program *program = NULL;
    char *text = NULL;
    const char *path = readable_path(arguments->file);
    int code = path ? check_kind(arguments->file, path, EXPECT_PROGRAM) : FAILED;
    if (code != DONE) return code;
    insitu_status status = insitu_program_load(path, &program, &diag);
    if (status == INSITU_OK) status = insitu_program_print(program, &print, &text, &diag);
    if (status != INSITU_OK) code = report_failure(arguments->file, &diag);
    if (code == DONE) fputs(text, stdout);
    insitu_text_free(text);
    insitu_program_destroy(program);
    insitu_diag_release(&diag);
    return code;
}

/* ---- engines ---- */

static int print_texts(const insitu_engine *engine) {
    int code = print_engine_text(engine, "values");
    if (code == DONE) puts("plan");
    return code == DONE ? print_engine_text(engine, "plan") : code;
}

static int print_engine(const arguments_t *arguments) {
    insitu_load_options load_options = {.struct_size = sizeof(load_options)};
    load_options.verify_weights = is_given(arguments, OPTION_VERIFY);
    engine_source_t source = {0};
    insitu_compile_options compile_options;
    arguments_compile_options(arguments, &compile_options);
    int code = engine_source_open(arguments->file, &compile_options, &load_options, &source);
    if (code == DONE)
        code = is_given(arguments, OPTION_JSON) ? print_engine_text(source.engine, "json") : print_texts(source.engine);
    engine_source_close(&source);
    return code;
}

static int check_options(const command_t *command, const arguments_t *arguments, bool is_program, bool shows_program) {
    static const option_id_t of_programs[] = {OPTION_HASHES, OPTION_VALUES};
    if (is_given(arguments, OPTION_VERIFY) && is_program)
        return usage_error(command, "option '--verify' is for an engine file, and '%s' is a .pt2 program",
                           arguments->file);
    for (size_t i = 0; i < sizeof(of_programs) / sizeof(of_programs[0]); i++)
        if (is_given(arguments, of_programs[i]) && !shows_program)
            return usage_error(command, "option '%s' is for a .pt2 program, shown without '--plan'",
                               argument_value(arguments, of_programs[i]));
    if (is_given(arguments, OPTION_VALUES) && !is_given(arguments, OPTION_JSON))
        return usage_error(command, "option '--values' needs '--json'");
    return DONE;
}

int command_inspect(const command_t *command, int argc, char **argv) {
    arguments_t arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    const char *path = readable_path(arguments.file);
    bool is_program = path && is_program_file(path), shows_program = is_program && !is_given(&arguments, OPTION_PLAN);
    code = path ? check_options(command, &arguments, is_program, shows_program) : FAILED;
    if (code == DONE) code = shows_program ? print_program(&arguments) : print_engine(&arguments);
    if (code == DONE) code = finish_output();
    arguments_release(&arguments);
    return code;
}
