/* Reading a command line, and printing the help of its table of options. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option_t *find_option(const option_t *options, size_t count, const char *argument, size_t size) {
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == size && memcmp(options[i].name, argument, size) == 0) return &options[i];
    return NULL;
}

static void print_help(const command_t *command, const option_t *options, size_t count) {
    printf("usage: insitu %s %s\n\n%s.\n\noptions:\n", command->name, command->synopsis, command->summary);
    for (size_t i = 0; i < count; i++) {
        char left[64];
        const char *value = options[i].value ? options[i].value : "";
        snprintf(left, sizeof(left),
                 options[i].form == OFTEN_BARE ? "%s[=%s]"
                 : *value                      ? "%s %s"
                                               : "%s%s",
                 options[i].name, value);
        printf("  %-22s  %s\n", left, options[i].help);
    }
}

/* ---- values ---- */

/* A word's place in a list; -1. */
static int place_of(const char *word, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return -1;
}

static const char *const owners[] = {
    [INSITU_STATE_OWNED] = "owned", [INSITU_STATE_CALLER] = "caller", [INSITU_STATE_FROZEN] = "frozen"};
static const char *const bounds[] = {[INSITU_BOUNDS_EAGER] = "eager", [INSITU_BOUNDS_STRICT] = "strict"};

/* "cuda:1" is cuda; what follows the colon is the library's to read. */
static bool is_device(const char *value) {
    size_t size = strcspn(value, ":");
    const char *name;
    for (int32_t i = 0; (name = insitu_device_name(i)); i++)
        if (strlen(name) == size && memcmp(name, value, size) == 0) return true;
    return false;
}

/* Digits are an index, all else is a name. */
static int32_t read_index(const char *word) {
    size_t size = strlen(word);
    return size < 10 && strspn(word, "0123456789") == size ? (int32_t)strtol(word, NULL, 10) : -1;
}

/* IN=OUT: the equals sign ends the name IN. */
static bool read_pair(const char *value, insitu_mutated_input *out_pair) {
    char *equals = strchr(value, '=');
    if (!equals || equals == value || !equals[1]) return false;
    *equals = 0;
    int32_t input = read_index(value), output = read_index(equals + 1);
    *out_pair = (insitu_mutated_input){.input = input < 0 ? value : NULL,
                                       .input_index = input < 0 ? 0 : input,
                                       .output = output < 0 ? equals + 1 : NULL,
                                       .output_index = output < 0 ? 0 : output};
    return true;
}

/* STATE.DIM=N; the state's name may have dots and equals signs. */
static bool read_size(const char *value, insitu_state_size *out_size) {
    char *equals = strrchr(value, '=');
    if (!equals || !equals[1]) return false;
    *equals = 0;
    char *dot = strrchr(value, '.');
    if (!dot || dot == value || !dot[1]) return false;
    *dot = 0;
    *out_size = (insitu_state_size){.name = value, .dim = read_index(dot + 1), .size = read_index(equals + 1)};
    return out_size->dim >= 0 && out_size->size >= 0;
}

/* NAME=N, where the name is an expression, which may have equals signs. */
static bool read_open_size(const char *value, given_size_t *out_size) {
    char *equals = strrchr(value, '=');
    if (!equals || equals == value) return false;
    *equals = 0;
    *out_size = (given_size_t){value, read_index(equals + 1)};
    return out_size->size >= 0;
}

static bool read_seed(const char *value, uint64_t *out_seed) {
    size_t size = value ? strlen(value) : 0;
    *out_seed = size ? strtoull(value, NULL, 10) : 0;
    return !value || (size && size < 20 && strspn(value, "0123456789") == size);
}

/* ---- reading ---- */

typedef struct reader {
    const command_t *command;
    const option_t *options;
    size_t count;
    int argc, next;
    char **argv;
    bool options_ended; /* by "--" */
    arguments_t *arguments;
    int code;
} reader_t;

/* True to go on. */
static bool check_value(reader_t *reader, const given_option_t *given) {
    arguments_t *arguments = reader->arguments;
    const char *value = given->value;
    switch ((int)given->option->id) {
    case OPTION_DEVICE:
        if (is_device(value)) return true;
        reader->code = usage_error(reader->command, "unknown device '%s': cpu is known", value);
        return false;
    case OPTION_STATE:
        if (place_of(value, owners, 3) >= 0) return true;
        reader->code = usage_error(reader->command, "'--state %s': owned, caller or frozen is expected", value);
        return false;
    case OPTION_BOUNDS:
        if (place_of(value, bounds, 2) >= 0) return true;
        reader->code = usage_error(reader->command, "'--bounds %s': eager or strict is expected", value);
        return false;
    case OPTION_MUTATED_INPUT:
        if (read_pair(value, &arguments->mutated_inputs[arguments->mutated_input_count++])) return true;
        reader->code = usage_error(reader->command, "'--mutated-input %s': IN=OUT is expected", value);
        return false;
    case OPTION_STATE_SIZE:
        if (read_size(value, &arguments->state_sizes[arguments->state_size_count++])) return true;
        reader->code = usage_error(reader->command, "option '--state-size': STATE.DIM=N is expected");
        return false;
    case OPTION_SIZE:
        if (read_open_size(value, &arguments->sizes[arguments->size_count++])) return true;
        reader->code = usage_error(reader->command, "option '--size': NAME=N is expected");
        return false;
    case OPTION_RANDOM:
        if (read_seed(value, &arguments->seed)) return true;
        reader->code = usage_error(reader->command, "'--random=%s': a seed of at most 19 digits is expected", value);
        return false;
    default: return true;
    }
}

static void unknown_option(reader_t *reader, const char *name, size_t size) {
    suggestion_t suggestion;
    suggestion_begin(&suggestion, name, size);
    for (size_t i = 0; i < reader->count; i++) suggestion_try(&suggestion, reader->options[i].name);
    reader->code = usage_error(reader->command, "unknown option '%.*s'%s%s%s", (int)size, name,
                               suggestion.best ? "; did you mean '" : "", suggestion.best ? suggestion.best : "",
                               suggestion.best ? "'?" : "");
}

/* What follows the option's name; false, having said why, if it has no value where it needs one. */
static bool take_value(reader_t *reader, const option_t *option, const char *equals, given_option_t *given) {
    if (!option->value && equals) {
        reader->code = usage_error(reader->command, "option '%s' takes no value", option->name);
        return false;
    }
    if (equals || !option->value || option->form == OFTEN_BARE) {
        given->value = equals ? equals + 1 : NULL;
        return true;
    }
    if (reader->next >= reader->argc) {
        reader->code = usage_error(reader->command, "option '%s' needs a value", option->name);
        return false;
    }
    given->value = reader->argv[reader->next++];
    return true;
}

/* One option, its value included; true to go on. */
static bool read_option(reader_t *reader, const char *argument) {
    const char *equals = strchr(argument, '=');
    size_t size = equals ? (size_t)(equals - argument) : strlen(argument);
    if (strcmp(argument, "-h") == 0) argument = "--help", size = strlen(argument);
    const option_t *option = find_option(reader->options, reader->count, argument, size);
    if (!option) {
        unknown_option(reader, argument, size);
        return false;
    }
    given_option_t given = {option, NULL};
    if (!take_value(reader, option, equals, &given)) return false;
    if (option->form == ONCE && argument_value(reader->arguments, option->id)) {
        reader->code = usage_error(reader->command, "option '%s' is given twice", option->name);
        return false;
    }
    if (option->id == OPTION_HELP) {
        print_help(reader->command, reader->options, reader->count);
        reader->code = finish_output();
        return false;
    }
    reader->arguments->options[reader->arguments->option_count++] = given;
    return check_value(reader, &given);
}

static bool read_argument(reader_t *reader) {
    const char *argument = reader->argv[reader->next++];
    if (!reader->options_ended && strcmp(argument, "--") == 0) return reader->options_ended = true;
    if (!reader->options_ended && argument[0] == '-' && argument[1]) return read_option(reader, argument);
    if (!reader->arguments->file) {
        reader->arguments->file = argument;
        return true;
    }
    reader->code = usage_error(reader->command, "one file is expected, '%s' is a second one", argument);
    return false;
}

bool arguments_read(const command_t *command, const option_t *options, size_t count, int argc, char **argv,
                    arguments_t *out_arguments, int *out_code) {
    *out_arguments = (arguments_t){.options = calloc((size_t)argc + 1, sizeof(given_option_t)),
                                   .mutated_inputs = calloc((size_t)argc + 1, sizeof(insitu_mutated_input)),
                                   .state_sizes = calloc((size_t)argc + 1, sizeof(insitu_state_size)),
                                   .sizes = calloc((size_t)argc + 1, sizeof(given_size_t))};
    reader_t reader = {
        .command = command, .options = options, .count = count, .argc = argc, .argv = argv, .arguments = out_arguments};
    bool is_good =
        out_arguments->options && out_arguments->mutated_inputs && out_arguments->state_sizes && out_arguments->sizes;
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

void arguments_release(arguments_t *arguments) {
    free(arguments->options);
    free(arguments->mutated_inputs);
    free(arguments->state_sizes);
    free(arguments->sizes);
    arguments->sizes = NULL;
    arguments->options = NULL;
    arguments->mutated_inputs = NULL;
    arguments->state_sizes = NULL;
}

const char *argument_value(const arguments_t *arguments, option_id_t id) {
    for (size_t i = 0; i < arguments->option_count; i++) {
        const given_option_t *given = &arguments->options[i];
        if (given->option->id == id) return given->value ? given->value : given->option->name;
    }
    return NULL;
}

void arguments_compile_options(const arguments_t *arguments, insitu_compile_options *out_options) {
    insitu_compile_options_init(out_options);
    out_options->strict = argument_value(arguments, OPTION_STRICT) != NULL;
    out_options->no_inplace = argument_value(arguments, OPTION_NO_INPLACE) != NULL;
    out_options->keep_values = argument_value(arguments, OPTION_KEEP_VALUES) != NULL;
    out_options->mutated_inputs = arguments->mutated_inputs;
    out_options->mutated_input_count = (int32_t)arguments->mutated_input_count;
    out_options->cache_dir = argument_value(arguments, OPTION_CACHE);
    out_options->device = argument_value(arguments, OPTION_DEVICE);
    const char *owner = argument_value(arguments, OPTION_STATE), *mode = argument_value(arguments, OPTION_BOUNDS);
    if (owner) out_options->state = (insitu_state_owner)place_of(owner, owners, 3);
    if (mode) out_options->bounds = (insitu_bounds)place_of(mode, bounds, 2);
}
