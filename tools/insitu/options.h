/* Command line options: a table a command, and what a command line gave. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "tool.h"

#include <stdint.h>

typedef enum option_id {
    OPTION_ATOL,
    OPTION_BOUNDS,
    OPTION_CACHE,
    OPTION_HELP,
    OPTION_DEVICE,
    OPTION_HASHES,
    OPTION_INPUT,
    OPTION_JSON,
    OPTION_KEEP_VALUES,
    OPTION_LOAD_STATE,
    OPTION_MUTATED_INPUT,
    OPTION_NO_INPLACE,
    OPTION_OUTPUT,
    OPTION_PLAN,
    OPTION_RANDOM,
    OPTION_REFERENCE,
    OPTION_RTOL,
    OPTION_SAVE_STATE,
    OPTION_SIZE,
    OPTION_STATE,
    OPTION_STATE_SIZE,
    OPTION_STATS,
    OPTION_STRICT,
    OPTION_VALUES,
    OPTION_VERIFY,
    OPTION_ZEROS
} option_id_t;

typedef enum option_form {
    ONCE,
    OFTEN,     /* may be given several times */
    OFTEN_BARE /* and its value may be left out: it is given as --name=value alone */
} option_form_t;

typedef struct option {
    option_id_t id;
    const char *name;  /* "--device" */
    const char *value; /* what its value is called in the help; NULL: it takes none */
    const char *help;
    option_form_t form;
} option_t;

/* Rows that several commands have. */
#define DEVICE_OPTION {OPTION_DEVICE, "--device", "D", "where to run: cpu, the default", ONCE}
#define HELP_OPTION {OPTION_HELP, "--help", NULL, "print this text; -h serves too", ONCE}
#define NO_INPLACE_OPTION                                                                                              \
    {OPTION_NO_INPLACE, "--no-inplace", NULL, "build every new state elsewhere and copy it back, to compare with", ONCE}
#define COMPILE_OPTIONS                                                                                                \
    {OPTION_STRICT, "--strict", NULL, "refuse a program of whose state any byte would be copied", ONCE},               \
        NO_INPLACE_OPTION,                                                                                             \
        {OPTION_MUTATED_INPUT, "--mutated-input", "IN=OUT",                                                            \
         "output OUT is the new value of input IN (names or indices)", OFTEN},                                         \
        {OPTION_STATE, "--state", "OWNER", "of mutated buffers: owned (default), caller or frozen", ONCE},             \
        {OPTION_CACHE, "--cache", "DIR", "take the engine from this folder if it was compiled before", ONCE},          \
        {OPTION_BOUNDS, "--bounds", "MODE", "eager (default): rows written past the end are lost; strict: an error",   \
         ONCE},                                                                                                        \
    {                                                                                                                  \
        OPTION_KEEP_VALUES, "--keep-values", NULL, "every tensor of the program is an output too, as node.NAME", ONCE  \
    }

typedef struct given_option {
    const option_t *option;
    const char *value; /* NULL if it takes none, or was left out */
} given_option_t;

typedef struct given_size {
    const char *name;
    int64_t size;
} given_size_t;

typedef struct arguments {
    const char *file; /* the one positional argument */
    given_option_t *options;
    size_t option_count;
    insitu_mutated_input *mutated_inputs;
    size_t mutated_input_count;
    insitu_state_size *state_sizes;
    size_t state_size_count;
    given_size_t *sizes;
    size_t size_count;
    uint64_t seed; /* of the last --random */
} arguments_t;

/* Reads a command line of one file and options, in any order; "--name=value" serves too, and "--" ends
 * the options. Returns true if the command has
 * to do its work; else *out_code is the exit code: the help was printed, or a usage error. */
bool arguments_read(const command_t *command, const option_t *options, size_t count, int argc, char **argv,
                    arguments_t *out_arguments, int *out_code);
void arguments_release(arguments_t *arguments);
/* The option's value, or its name if it takes none; NULL if it was not given. */
const char *argument_value(const arguments_t *arguments, option_id_t id);
/* The compile options among them; they point into arguments. */
void arguments_compile_options(const arguments_t *arguments, insitu_compile_options *out_options);

#endif
