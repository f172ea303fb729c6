/* A whole .pt2 file: opened, compiled (the graph is printed, parsed and compared after each pass) and run. */
#include "fuzz.h"

#include <insitu/program.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    insitu_diag diag;
    insitu_program *program;
    insitu_diag_init(&diag);
    fuzz_begin(size);
    if (fuzz_is_ok(insitu_program_load_memory(data, size, &program, &diag), &diag)) {
        insitu_engine *engine;
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
