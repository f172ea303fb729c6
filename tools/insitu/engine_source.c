/* Opening what a command works on: a .pt2 program, which is compiled, or an engine file. */
#include "tool.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool is_program_file(const char *path) {
    char first[4] = {0};
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(first, 1, sizeof(first), file) : 0;
    if (file) fclose(file);
    if (size == sizeof(first) && memcmp(first, "PK\3\4", sizeof(first)) == 0) return true;
    size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".pt2") == 0;
}

bool is_same_file(const char *path, const char *other) {
    struct stat first, second;
    if (strcmp(path, other) == 0) return true;
    if (stat(path, &first) != 0 || stat(other, &second) != 0) return false;
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static insitu_status open_source(const char *path, const insitu_compile_options *options,
                                 const insitu_load_options *load_options, engine_source *source, insitu_diag *diag) {
    if (!is_program_file(path)) return insitu_engine_load(path, load_options, &source->engine, diag);
    insitu_status status = insitu_program_load(path, &source->program, diag);
    if (status != INSITU_OK) return status;
    return insitu_program_compile(source->program, options, &source->engine, diag);
}

int engine_source_open(const char *path, const insitu_compile_options *options, const insitu_load_options *load_options,
                       engine_source *out_source) {
    *out_source = (engine_source){0};
    if (options && options->device && strcmp(options->device, "cpu") != 0 && !is_program_file(path))
        return report_error("'%s' is an engine for cpu, not for '%s'", path, options->device);
    insitu_diag diag;
    insitu_diag_init(&diag);
    int code = DONE;
    progress_begin(is_program_file(path) ? "compiling" : "loading", path);
    insitu_status status = open_source(path, options, load_options, out_source, &diag);
    progress_end();
    if (status != INSITU_OK) code = report_failure(path, &diag);
    insitu_diag_release(&diag);
    return code;
}

void engine_source_close(engine_source *source) {
    insitu_engine_destroy(source->engine);
    insitu_program_destroy(source->program);
    *source = (engine_source){0};
}

int print_engine_text(const insitu_engine *engine, const char *what) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    char *text = NULL;
    int code = DONE;
    if (insitu_engine_print(engine, what, &text, &diag) == INSITU_OK)
        fputs(text, stdout);
    else
        code = report_failure(NULL, &diag);
    insitu_text_free(text);
    insitu_diag_release(&diag);
    return code;
}
