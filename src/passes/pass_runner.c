/* Runs passes in the order of passes.def. After each: the graph is verified, printed if INSITU_DUMP_PASS names the pass
 * (or "all"), and under INSITU_CHECK=roundtrip printed, parsed and printed again, which must give the same text. */
#include "passes/passes_int.h"

static const struct {
    const char *name;
    pass_fn run;
    bool needs_functional, is_optional;
} passes[] = {
#define PASS(name, needs_functional, optional, help) {#name, pass_##name, needs_functional, optional},
#include "passes/passes.def"
#undef PASS
};

static insitu_status dump(const graph_t *graph, const char *name, insitu_diag *diag) {
    const char *wanted = switch_value(SWITCH_DUMP_PASS);
    if (!wanted || (strcmp(wanted, name) != 0 && strcmp(wanted, "all") != 0)) return INSITU_OK;
    text_t printed;
    text_init(&printed);
    insitu_status status = graph_print(graph, &printed, diag);
    if (status == INSITU_OK) log_printf(2, "after %s:\n%s", name, printed.data ? printed.data : "");
    text_release(&printed);
    return status;
}

static insitu_status check_texts(const graph_t *graph, const char *name, text_t *first, text_t *second,
                                 insitu_diag *diag) {
    graph_t *parsed = NULL;
    TRY(graph_print(graph, first, diag));
    TRY(graph_parse(first->data ? first->data : "", &parsed, diag));
    insitu_status status = graph_print(parsed, second, diag);
    graph_destroy(parsed);
    TRY(status);
    if (first->size != second->size || memcmp(first->data, second->data, first->size) != 0)
        FAIL(diag, INSITU_INTERNAL, "the graph after %s reads back as another graph", name);
    return INSITU_OK;
}

static insitu_status check_roundtrip(const graph_t *graph, const char *name, insitu_diag *diag) {
    const char *wanted = switch_value(SWITCH_CHECK);
    if (!wanted || strcmp(wanted, "roundtrip") != 0) return INSITU_OK;
    text_t first, second;
    text_init(&first);
    text_init(&second);
    insitu_status status = check_texts(graph, name, &first, &second, diag);
    text_release(&first);
    text_release(&second);
    return status;
}

/* A fault here is ours, if the graph was sound before: the sentence says after which pass. */
static insitu_status verify_after(const graph_t *graph, const char *name, insitu_diag *diag) {
    insitu_diag found;
    insitu_diag_init(&found);
    insitu_status status = graph_verify(graph, &found);
    if (status != INSITU_OK) diag_set(diag, status, "after %s: %s", name, found.message);
    insitu_diag_release(&found);
    return status;
}

static insitu_status run_pass(graph_t *graph, size_t index, insitu_diag *diag) {
    arena_t scratch;
    bool changed;
    if (passes[index].needs_functional && !graph->functional)
        FAIL(diag, INSITU_ARG, "pass %s needs a functional graph: functionalize comes first", passes[index].name);
    arena_init(&scratch);
    pass_context_t context = {.graph = graph, .scratch = &scratch, .diag = diag};
    insitu_status status = passes[index].run(&context, &changed);
    arena_release(&scratch);
    TRY(status);
    TRY(dump(graph, passes[index].name, diag));
    TRY(verify_after(graph, passes[index].name, diag));
    return check_roundtrip(graph, passes[index].name, diag);
}

/* A name that no pass has would be waited for in vain. */
static void check_wanted(void) {
    const char *wanted = switch_value(SWITCH_DUMP_PASS);
    if (!wanted || !wanted[0] || strcmp(wanted, "all") == 0) return;
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        if (strcmp(passes[i].name, wanted) == 0) return;
    text_t names;
    text_init(&names);
    for (size_t i = 0; i < COUNT_OF(passes); i++) text_printf(&names, ",%s", passes[i].name);
    log_printf(1, "INSITU_DUMP_PASS: '%s' is not known; the values are all%s", wanted, names.data ? names.data : "");
    text_release(&names);
}

insitu_status passes_run(graph_t *graph, insitu_diag *diag) {
    check_wanted();
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        if (!passes[i].is_optional) TRY(run_pass(graph, i, diag));
    return INSITU_OK;
}

insitu_status passes_run_one(graph_t *graph, const char *name, insitu_diag *diag) {
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        if (strcmp(passes[i].name, name) == 0) return run_pass(graph, i, diag);
    FAIL(diag, INSITU_ARG, "there is no pass '%s'", name);
}
