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

void fuzz_plan_text(const plan_t *made, insitu_diag *diag) {
    text_t first, second;
    plan_t *again;
    text_init(&first);
    text_init(&second);
    plan_print(made, &first);
    plan_print_report(made, &second);
    text_release(&second);
    fuzz_expect(plan_parse(first.data, &again, diag) == INSITU_OK, "%s, in what was printed:\n%s", diag->message,
                first.data);
    plan_print(again, &second);
    fuzz_expect(strcmp(first.data, second.data) == 0, "printed\n%s\nthen\n%s", first.data, second.data);
    plan_destroy(again);
    text_release(&first);
    text_release(&second);
}

static void build(network_t *network, const plan_options_t *options, insitu_diag *diag) {
    plan_t *plan;
    if (!fuzz_is_ok(plan_build(network, options, &plan, diag), diag)) return;
    fuzz_expect(plan_verify(plan, diag) == INSITU_OK, "the plan is wrong: %s", diag->message);
    fuzz_plan_text(plan, diag);
    plan_destroy(plan);
}

void fuzz_plan(network_t *network, insitu_diag *diag) {
    if (!fuzz_is_ok(network_normalise(network, diag), diag)) return;
    fuzz_expect(network_verify(network, diag) == INSITU_OK, "the network is wrong: %s", diag->message);
    build(network, &(plan_options_t){0}, diag);
    build(network, &(plan_options_t){.no_inplace = true}, diag);
}
