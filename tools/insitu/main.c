/* The insitu command: finds the subcommand, and sends the library's log to stderr. */
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const command commands[] = {
    {"compile", "Compiles a program saved by torch.export to an engine file", "P.pt2 -o P.insitu [options]",
     command_compile},
    {"run", "Calls a program or an engine, once for each --input, on one state",
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
    fputs("\n'insitu COMMAND --help' tells a command's options, 'insitu --version' the version.\n"
          "Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 the program is valid but not supported.\n",
          out);
}

static void print_log(void *user, int level, const char *text) {
    (void)user;
    (void)level;
    fputs(text, stderr);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return USAGE;
    }
    if (strcmp(argv[1], "--help") == 0) {
        print_usage(stdout);
        return finish_output();
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("insitu %s\n", insitu_version());
        return finish_output();
    }
    insitu_log_set(print_log, NULL);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(&commands[i], argc - 2, argv + 2);
    fprintf(stderr, "insitu: unknown command '%s' (insitu --help)\n", argv[1]);
    return USAGE;
}
