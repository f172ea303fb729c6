/* A whole .pt2 file: opened, printed, compiled (the graph is printed, parsed and compared after each pass) and run. */
#include "fuzz.h"

#include <insitu/program.h>
#include <jansson.h>

static void print(const insitu_program *program, insitu_diag *diag) {
    const insitu_print_options for_people = {.struct_size = sizeof(for_people), .hashes = true};
    const insitu_print_options json = {.struct_size = sizeof(json), .json = true, .values = true};
    char *printed;
    if (fuzz_is_ok(insitu_program_print(program, &for_people, &printed, diag), diag)) insitu_text_free(printed);
    if (fuzz_is_ok(insitu_program_print(program, &json, &printed, diag), diag)) {
        json_t *parsed = json_loads(printed, JSON_ALLOW_NUL, NULL);
        fuzz_expect(parsed != NULL, "what was printed is no JSON: %s", printed);
        json_decref(parsed);
        insitu_text_free(printed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    insitu_diag diag;
    insitu_program *program;
    insitu_diag_init(&diag);
    fuzz_begin(size);
    if (fuzz_is_ok(insitu_program_load_memory(data, size, &program, &diag), &diag)) {
        insitu_engine *engine;
        print(program, &diag);
        if (fuzz_is_ok(insitu_program_compile(program, NULL, &engine, &diag), &diag)) {
            fuzz_run_engine(engine);
            insitu_engine_destroy(engine);
        }
        insitu_program_destroy(program);
    }
    insitu_diag_release(&diag);
    fuzz_end();
    return 0;
}
