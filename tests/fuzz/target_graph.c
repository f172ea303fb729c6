/* The text of a graph: parsed, verified; printed and parsed again it is the same. Then it goes the rest of the way to a
 * plan, as a program's graph does: what one room hands on, the next one's verifier takes. */
#include "convert/convert.h"
#include "fuzz.h"
#include "passes/passes.h"
#include "plan_target.h"

#include <string.h>

static void check_round_trip(const graph_t *parsed, insitu_diag *diag) {
    text_t first, second;
    graph_t *again;
    text_init(&first);
    text_init(&second);
    fuzz_expect(graph_print(parsed, &first, diag) == INSITU_OK, "not printed: %s", diag->message);
    fuzz_expect(graph_parse(first.data, &again, diag) == INSITU_OK, "%s, in what was printed:\n%s", diag->message,
                first.data);
    fuzz_expect(graph_verify(again, diag) == INSITU_OK, "%s, in what was printed:\n%s", diag->message, first.data);
    fuzz_expect(graph_print(again, &second, diag) == INSITU_OK, "not printed: %s", diag->message);
    fuzz_expect(strcmp(first.data, second.data) == 0, "printed\n%s\nthen\n%s", first.data, second.data);
    graph_destroy(again);
    text_release(&first);
    text_release(&second);
}

static void compile(graph_t *graph, insitu_diag *diag) {
    network_t *network;
    if (!fuzz_is_ok(passes_run(graph, diag), diag)) return;
    if (!fuzz_is_ok(network_convert(graph, false, &network, diag), diag)) return;
    fuzz_plan(network, diag);
    network_destroy(network);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    insitu_diag diag;
    graph_t *graph;
    insitu_diag_init(&diag);
    char *source = fuzz_text(data, size);
    fuzz_begin(size);
    if (fuzz_is_ok(graph_parse(source, &graph, &diag), &diag)) {
        if (fuzz_is_ok(graph_verify(graph, &diag), &diag)) {
            check_round_trip(graph, &diag);
            compile(graph, &diag);
        }
        graph_destroy(graph);
    }
    free(source);
    insitu_diag_release(&diag);
    fuzz_end();
    return 0;
}
