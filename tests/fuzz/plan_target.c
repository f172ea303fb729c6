#include "plan_target.h"
#include "fuzz.h"

#include <string.h>

char *fuzz_text(const uint8_t *data, size_t size) {
    char *copy = malloc(size + 1);
    fuzz_expect(copy != NULL, "no memory for the text");
    if (size) memcpy(copy, data, size);
    copy[size] = 0;
    return copy;
}

static void build(network *network, const plan_options *options, insitu_diag *diag) {
    plan *plan;
    text printed;
    if (!fuzz_is_ok(plan_build(network, options, &plan, diag), diag)) return;
    fuzz_expect(plan_verify(plan, diag) == INSITU_OK, "the plan is wrong: %s", diag->message);
    text_init(&printed);
    plan_print(plan, &printed);
    plan_print_report(plan, &printed);
    text_release(&printed);
    plan_destroy(plan);
}

void fuzz_plan(network *network, insitu_diag *diag) {
    if (!fuzz_is_ok(network_normalise(network, diag), diag)) return;
    fuzz_expect(network_verify(network, diag) == INSITU_OK, "the network is wrong: %s", diag->message);
    build(network, &(plan_options){0}, diag);
    build(network, &(plan_options){.no_inplace = true}, diag);
}
