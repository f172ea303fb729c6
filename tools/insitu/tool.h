/* The command line: what its files share. Each subcommand takes the arguments after its name and returns an exit code. */
#ifndef TOOL_H
#define TOOL_H

#include <insitu/insitu.h>

#include <stdbool.h>
#include <stddef.h>

enum exit_code { DONE = 0, FAILED = 1, USAGE = 2, UNSUPPORTED = 3 };

typedef struct command {
    const char *name;
    const char *summary;  /* one line of the program's help */
    const char *synopsis; /* the arguments, for the command's help */
    int (*run)(const struct command *command, int argc, char **argv);
} command_t;

int command_compare(const command_t *command, int argc, char **argv);
int command_compile(const command_t *command, int argc, char **argv);
int command_explain(const command_t *command, int argc, char **argv);
int command_inspect(const command_t *command, int argc, char **argv);
int command_run(const command_t *command, int argc, char **argv);

/* ---- failures: one sentence on stderr ---- */

/* The diagnostic's sentence, its rows below; returns the exit code for its status. prefix (NULL: none), such as the file
 * that it is about, comes first, unless the sentence names it. */
int report_failure(const char *prefix, const insitu_diag *diag);
int report_error(const char *format, ...) __attribute__((format(printf, 1, 2)));                          /* FAILED */
int usage_error(const command_t *command, const char *format, ...) __attribute__((format(printf, 2, 3))); /* USAGE */
/* Writes out what is buffered for stdout: DONE, or FAILED with a sentence. */
int finish_output(void);

/* ---- suggestions ---- */

typedef struct suggestion {
    const char *word; /* the wrong one */
    size_t size;
    const char *best; /* NULL: none is near */
    int distance;
} suggestion_t;
void suggestion_begin(suggestion_t *suggestion, const char *word, size_t size);
/* Keeps the known word if it is nearer than those before it. */
void suggestion_try(suggestion_t *suggestion, const char *known);

/* ---- progress ---- */

/* Between the two, a terminal on stderr shows what is being done and for how many seconds; nothing in the first one. */
void progress_begin(const char *doing, const char *path);
void progress_end(void);

/* ---- programs and engines ---- */

typedef struct engine_source {
    insitu_program *program; /* NULL: the engine was loaded from an engine file */
    insitu_engine *engine;
} engine_source_t;
/* Compiles a program, or loads an engine; options and load_options are for one of them each. Returns an exit code; what
 * was opened is closed by engine_source_close in any case. */
int engine_source_open(const char *path, const insitu_compile_options *options, const insitu_load_options *load_options,
                       engine_source_t *out_source);
void engine_source_close(engine_source_t *source);
/* Prints one of the texts of insitu_engine_print on stdout. */
int print_engine_text(const insitu_engine *engine, const char *what);

#endif
