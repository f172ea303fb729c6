/* Reading a command line, and printing the help of its table of options. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option *find_option(const option *options, size_t count, const char *argument, size_t size) {
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == size && memcmp(options[i].name, argument, size) == 0) return &options[i];
    return NULL;
}

static void print_help(const command *command, const option *options, size_t count) {
    printf("usage: insitu %s %s\n\n%s.\n\noptions:\n", command->name, command->synopsis, command->summary);
    for (size_t i = 0; i < count; i++) {
        char left[64];
        snprintf(left, sizeof(left), "%s%s%s", options[i].name, options[i].value ? " " : "",
                 options[i].value ? options[i].value : "");
        printf("  %-18s  %s\n", left, options[i].help);
    }
}

typedef struct reader {
    const command *command;
    const option *options;
    size_t count;
    int argc, next;
    char **argv;
    arguments *arguments;
    int code;
} reader;

/* One option, its value included; true to go on. */
static bool read_option(reader *reader, const char *argument) {
    const char *equals = strchr(argument, '=');
    size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
    const option *option = find_option(reader->options, reader->count, argument, size);
    if (!option) {
        reader->code = usage_error(reader->command, "unknown option '%.*s'", (int)size, argument);
        return false;
    }
    given_option given = {option, NULL};
    if (!option->value && equals) {
        reader->code = usage_error(reader->command, "option '%s' takes no value", option->name);
        return false;
    }
    if (option->value) {
        if (!equals && reader->next >= reader->argc) {
            reader->code = usage_error(reader->command, "option '%s' needs a value", option->name);
            return false;
        }
        given.value = equals ? equals + 1 : reader->argv[reader->next++];
    }
    if (!option->repeats && argument_value(reader->arguments, option->id)) {
        reader->code = usage_error(reader->command, "option '%s' is given twice", option->name);
        return false;
    }
    if (option->id == OPTION_HELP) {
        print_help(reader->command, reader->options, reader->count);
        reader->code = finish_output();
        return false;
    }
    if (option->id == OPTION_DEVICE && strcmp(given.value, "cpu") != 0) {
        reader->code = usage_error(reader->command, "unknown device '%s': cpu is known", given.value);
        return false;
    }
    reader->arguments->options[reader->arguments->option_count++] = given;
    return true;
}

static bool read_argument(reader *reader) {
    const char *argument = reader->argv[reader->next++];
    if (argument[0] == '-' && argument[1]) return read_option(reader, argument);
    if (!reader->arguments->file) {
        reader->arguments->file = argument;
        return true;
    }
    reader->code = usage_error(reader->command, "one file is expected, '%s' is a second one", argument);
    return false;
}

bool arguments_read(const command *command, const option *options, size_t count, int argc, char **argv,
                    arguments *out_arguments, int *out_code) {
    *out_arguments = (arguments){.options = calloc((size_t)argc + 1, sizeof(given_option))};
    reader reader = {
        .command = command, .options = options, .count = count, .argc = argc, .argv = argv, .arguments = out_arguments};
    bool is_good = out_arguments->options != NULL;
    if (!is_good) reader.code = report_error("out of memory");
    while (is_good && reader.next < argc) is_good = read_argument(&reader);
    if (is_good && !out_arguments->file) {
        reader.code = usage_error(command, "a file is expected");
        is_good = false;
    }
    *out_code = reader.code;
    if (!is_good) arguments_release(out_arguments);
    return is_good;
}

void arguments_release(arguments *arguments) {
    free(arguments->options);
    arguments->options = NULL;
}

const char *argument_value(const arguments *arguments, option_id id) {
    for (size_t i = 0; i < arguments->option_count; i++) {
        const given_option *given = &arguments->options[i];
        if (given->option->id == id) return given->value ? given->value : given->option->name;
    }
    return NULL;
}

void arguments_compile_options(const arguments *arguments, insitu_compile_options *out_options) {
    insitu_compile_options_init(out_options);
    out_options->strict = argument_value(arguments, OPTION_STRICT) != NULL;
    out_options->no_inplace = argument_value(arguments, OPTION_NO_INPLACE) != NULL;
    out_options->keep_values = argument_value(arguments, OPTION_KEEP_VALUES) != NULL;
}
