/* The paths of a command line: files, pipes, and "-", the standard input or output. */
#ifndef PATHS_H
#define PATHS_H

#include "options.h"

enum { MEMORY_PATH_SIZE = 40 };

/* Before anything is opened: no file gets the number of a standard descriptor that is closed. */
int standard_descriptors_reserve(void);

bool is_standard(const char *path);
/* A path under which the library reads what the user has named: that itself, or, of a pipe or the standard input, of a copy
 * in memory, which is made once. NULL, having said why, if there is nothing to read. */
const char *readable_path(const char *shown);

/* Where to write what the user has named. */
typedef struct written_file {
    const char *path;
    int memory; /* what is to become the standard output; -1: none */
    char memory_path[MEMORY_PATH_SIZE];
} written_file_t;
int written_begin(const char *shown, written_file_t *out_file);
/* Sends what was written to the standard output, if that was named. Returns code, or that of a failure. */
int written_end(written_file_t *file, int code);

/* True if both paths stand for one file, by whatever names and links, whether it is there or would be made. */
bool is_same_file(const char *path, const char *other);
/* USAGE if what an option writes would overwrite what the command reads, or what another option writes. */
int check_written_files(const command_t *command, const arguments_t *arguments);

#endif
