/* Opening what a command works on: a .pt2 program, which is compiled, or an engine file. */
#include "file_kind.h"
#include "paths.h"

#include <stdio.h>
#include <string.h>

static insitu_status open_source(const char *path, const insitu_compile_options *options,
                                 const insitu_load_options *load_options, engine_source_t *source, insitu_diag *diag) {
    if (!is_program_file(path)) return insitu_engine_load(path, load_options, &source->engine, diag);
    insitu_status status = insitu_program_load(path, &source->program, diag);
    if (status != INSITU_OK) return status;
    return insitu_program_compile(source->program, options, &source->engine, diag);
}

int engine_source_open(const char *path, const insitu_compile_options *options, const insitu_load_options *load_options,
                       engine_source_t *out_source) {
    *out_source = (engine_source_t){0};
    const char *shown = path;
    path = readable_path(shown);
    if (!path) return FAILED;
    int code = check_kind(shown, path, EXPECT_PROGRAM_OR_ENGINE);
    if (code != DONE) return code;
    insitu_diag diag;
    insitu_diag_init(&diag);
    progress_begin(is_program_file(path) ? "compiling" : "loading", shown);
    insitu_status status = open_source(path, options, load_options, out_source, &diag);
    progress_end();
    if (status != INSITU_OK) code = report_failure(shown, &diag);
    insitu_diag_release(&diag);
    const char *device = code == DONE ? insitu_engine_device(out_source->engine) : NULL;
    if (device && options && options->device && !out_source->program && strcmp(options->device, device) != 0)
        code = report_error("'%s' is an engine for %s, not for '%s'", shown, device, options->device);
    return code;
}

void engine_source_close(engine_source_t *source) {
    insitu_engine_destroy(source->engine);
    insitu_program_destroy(source->program);
    *source = (engine_source_t){0};
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
