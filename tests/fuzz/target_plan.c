/* The text of a plan: parsed and verified; printed and parsed again it is the same. */
#include "fuzz.h"
#include "plan_target.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    insitu_diag diag;
    plan_t *plan;
    insitu_diag_init(&diag);
    char *source = fuzz_text(data, size);
    fuzz_begin(size);
    if (fuzz_is_ok(plan_parse(source, &plan, &diag), &diag)) {
        fuzz_plan_text(plan, &diag);
        plan_destroy(plan);
    }
    free(source);
    insitu_diag_release(&diag);
    fuzz_end();
    return 0;
}
