/* The text of a network: parsed, verified; printed and parsed again it is the same. Then it is planned. */
#include "fuzz.h"
#include "plan_target.h"

#include <string.h>

static void check_round_trip(const network_t *parsed, insitu_diag *diag) {
    text_t first, second;
    network_t *again;
    text_init(&first);
    text_init(&second);
    fuzz_expect(network_print(parsed, &first, diag) == INSITU_OK, "not printed: %s", diag->message);
    fuzz_expect(network_parse(first.data, &again, diag) == INSITU_OK, "%s, in what was printed:\n%s", diag->message,
                first.data);
    fuzz_expect(network_verify(again, diag) == INSITU_OK, "%s, in what was printed:\n%s", diag->message, first.data);
    fuzz_expect(network_print(again, &second, diag) == INSITU_OK, "not printed: %s", diag->message);
    fuzz_expect(strcmp(first.data, second.data) == 0, "printed\n%s\nthen\n%s", first.data, second.data);
    network_destroy(again);
    text_release(&first);
    text_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    insitu_diag diag;
    network_t *network;
    insitu_diag_init(&diag);
    char *source = fuzz_text(data, size);
    fuzz_begin(size);
    if (fuzz_is_ok(network_parse(source, &network, &diag), &diag)) {
        if (fuzz_is_ok(network_verify(network, &diag), &diag)) {
            check_round_trip(network, &diag);
            fuzz_plan(network, &diag);
        }
        network_destroy(network);
    }
    free(source);
    insitu_diag_release(&diag);
    fuzz_end();
    return 0;
}
