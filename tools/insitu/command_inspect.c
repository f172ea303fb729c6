/* insitu inspect: what an engine takes, returns and keeps, and how it runs. */
#include "options.h"

#include <stdio.h>

static const option options[] = {
    {OPTION_JSON, "--json", NULL, "print one JSON object", false},
    {OPTION_VERIFY, "--verify", NULL, "check the hash of each weight of an engine file first", false},
    DEVICE_OPTION,
    HELP_OPTION,
};

static int print_texts(const insitu_engine *engine) {
    int code = print_engine_text(engine, "values");
    if (code == DONE) puts("plan");
    return code == DONE ? print_engine_text(engine, "plan") : code;
}

int command_inspect(const command *command, int argc, char **argv) {
    arguments arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    insitu_load_options load_options = {.struct_size = sizeof(load_options)};
    load_options.verify_weights = argument_value(&arguments, OPTION_VERIFY) != NULL;
    engine_source source = {0};
    if (load_options.verify_weights && is_program_file(arguments.file))
        code =
            usage_error(command, "option '--verify' is for an engine file, and '%s' is a .pt2 program", arguments.file);
    else
        code = engine_source_open(arguments.file, NULL, &load_options, &source);
    if (code == DONE)
        code = argument_value(&arguments, OPTION_JSON) ? print_engine_text(source.engine, "json")
                                                       : print_texts(source.engine);
    if (code == DONE) code = finish_output();
    engine_source_close(&source);
    arguments_release(&arguments);
    return code;
}
