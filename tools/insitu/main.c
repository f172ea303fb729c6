/* The insitu command: finds the subcommand, and sends the library's log to stderr. */
#include "paths.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const command_t commands[] = {
    {"compile", "Compiles a program saved by torch.export to an engine file", "P.pt2 -o P.insitu [options]",
     command_compile},
    {"run", "Calls a program or an engine, once for each --input (--zeros, --random), on one state",
     "P.pt2|P.insitu --input A [--output B] [--input A [--output B]]... [options]", command_run},
    {"explain", "Prints the in-place report: what each call writes to each state tensor, and what is copied and why",
     "P.pt2|P.insitu [options]", command_explain},
    {"inspect",
     "Prints what a program's file holds: inputs, nodes, stored tensors; of an engine its plan: memory and steps",
     "P.pt2|P.insitu [options]", command_inspect},
    {"compare", "Runs a program, and names the first node whose value is not the one that PyTorch computed",
     "P.pt2 --reference R [--reference R]... [options]", command_compare},
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(FILE *out) {
    fputs("usage: insitu COMMAND ...\n\n"
          "Compiles PyTorch programs saved by torch.export (.pt2), and runs them with their state updated in place.\n\n"
          "commands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].summary);
    fputs("\n'insitu help COMMAND' tells a command's options, 'insitu --version' the version. A file '-' is the "
          "standard input or\n"
          "output; what follows '--' is a file whatever it is called.\n"
          "Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 the program is valid but not supported.\n",
          out);
}

static void print_log(void *user, int level, const char *text) {
    (void)user;
    (void)level;
    fputs(text, stderr);
}

static const command_t *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    suggestion_t suggestion;
    suggestion_begin(&suggestion, name, strlen(name));
    for (size_t i = 0; i < COMMAND_COUNT; i++) suggestion_try(&suggestion, commands[i].name);
    suggestion_try(&suggestion, "help");
    suggestion_try(&suggestion, "--help");
    suggestion_try(&suggestion, "--version");
    fprintf(stderr, "insitu: unknown command '%s'%s%s%s (insitu --help)\n", name,
            suggestion.best ? "; did you mean '" : "", suggestion.best ? suggestion.best : "",
            suggestion.best ? "'?" : "");
    return USAGE;
}

static bool is_any(const char *word, const char *a, const char *b) {
    return strcmp(word, a) == 0 || (b && strcmp(word, b) == 0);
}

/* insitu help [COMMAND] */
static int print_help_of(const char *name) {
    char *only_help[] = {"--help", NULL};
    const command_t *command = name ? find_command(name) : NULL;
    if (command) return command->run(command, 1, only_help);
    if (name && !is_any(name, "help", "--help")) return unknown_command(name);
    print_usage(stdout);
    return finish_output();
}

int main(int argc, char **argv) {
    if (standard_descriptors_reserve() != DONE) return USAGE;
    if (argc < 2) {
        print_usage(stderr);
        return USAGE;
    }
    if (is_any(argv[1], "--help", "-h") || is_any(argv[1], "help", NULL)) return print_help_of(argv[2]);
    if (is_any(argv[1], "--version", "-V")) {
        printf("insitu %s\n", insitu_version());
        return finish_output();
    }
    insitu_log_set(print_log, NULL);
    const command_t *command = find_command(argv[1]);
    return command ? command->run(command, argc - 2, argv + 2) : unknown_command(argv[1]);
}
