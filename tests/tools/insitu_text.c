/* Reads the text of a graph or network from standard input, does what the command line says, and writes text: the tool
 * behind the golden tests.
 *
 *     insitu_text COMMAND [NAME]        a fault is printed as "error STATUS: sentence", with exit status 1 */
#include "convert/convert.h"
#include "network/network.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"
#include <insitu/network.h>
#include <stdio.h>
#include <string.h>

typedef insitu_status (*command_fn)(const char *source, const char *name, text_t *out, insitu_diag *diag);

/* ---- graphs ---- */

static insitu_status print_and_destroy(graph_t *graph, insitu_status status, text_t *out, insitu_diag *diag) {
    if (status == INSITU_OK) status = graph_verify(graph, diag);
    if (status == INSITU_OK) status = graph_print(graph, out, diag);
    graph_destroy(graph);
    return status;
}

static insitu_status run_graph_print(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    (void)name;
    graph_t *graph;
    TRY(graph_parse(source, &graph, diag));
    return print_and_destroy(graph, INSITU_OK, out, diag);
}

static insitu_status run_graph_pass(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    graph_t *graph;
    TRY(graph_parse(source, &graph, diag));
    insitu_status status = graph_verify(graph, diag);
    if (status == INSITU_OK) status = passes_run_one(graph, name, diag);
    return print_and_destroy(graph, status, out, diag);
}

static insitu_status run_graph_passes(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    (void)name;
    graph_t *graph;
    TRY(graph_parse(source, &graph, diag));
    return print_and_destroy(graph, passes_run(graph, diag), out, diag);
}

/* ---- networks ---- */

static insitu_status print_network(network_t *network, insitu_status status, text_t *out, insitu_diag *diag) {
    if (status == INSITU_OK) status = network_verify(network, diag);
    if (status == INSITU_OK) status = network_print(network, out, diag);
    network_destroy(network);
    return status;
}

static insitu_status run_convert(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    graph_t *graph;
    network_t *network = NULL;
    TRY(graph_parse(source, &graph, diag));
    insitu_status status = passes_run(graph, diag);
    if (status == INSITU_OK) status = network_convert(graph, strcmp(name, "strict") == 0, &network, diag);
    graph_destroy(graph);
    return status == INSITU_OK ? print_network(network, status, out, diag) : status;
}

static insitu_status run_network_print(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    (void)name;
    network_t *network;
    TRY(network_parse(source, &network, diag));
    return print_network(network, INSITU_OK, out, diag);
}

typedef struct network_pass {
    const char *name;
    insitu_status (*run)(network_t *network, insitu_diag *diag);
} network_pass_t;
static insitu_status sink_updates(network_t *network, insitu_diag *diag) {
    bool changed;
    return network_sink_updates(network, &changed, diag);
}
static insitu_status own_parts(network_t *network, insitu_diag *diag) {
    bool changed;
    return network_own_parts(network, &changed, diag);
}
static const network_pass_t network_passes[] = {
    {"recognise_runs", network_recognise_runs},
    {"recognise_masks", network_recognise_masks},
    {"sink_partial_views", network_sink_partial_views},
    {"recognise_shifts", network_recognise_shifts},
    {"sink_updates", sink_updates},
    {"own_parts", own_parts},
    {"slice_expands", network_slice_expands},
    {"split_flips", network_split_flips},
    {"shift_results", network_shift_results},
    {"view_no_op_updates", network_view_no_op_updates},
    {"remove_dead", network_remove_dead},
};

static insitu_status run_network_pass(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    network_t *network;
    const network_pass_t *pass = NULL;
    for (size_t i = 0; i < COUNT_OF(network_passes); i++)
        if (strcmp(network_passes[i].name, name) == 0) pass = &network_passes[i];
    if (!pass) FAIL(diag, INSITU_ARG, "there is no network pass '%s'", name);
    TRY(network_parse(source, &network, diag));
    insitu_status status = network_verify(network, diag);
    if (status == INSITU_OK) status = pass->run(network, diag);
    return print_network(network, status, out, diag);
}

/* ---- plans ---- */

static insitu_status make_plan(const char *source, const char *name, plan_t **out_plan, insitu_diag *diag) {
    plan_options_t options = {.no_inplace = strcmp(name, "no_inplace") == 0};
    network_t *network;
    *out_plan = NULL;
    TRY(network_parse(source, &network, diag));
    insitu_status status = network_verify(network, diag);
    if (status == INSITU_OK) status = plan_build(network, &options, out_plan, diag);
    if (status == INSITU_OK && strcmp(name, "strict") == 0) status = plan_require_in_place(*out_plan, diag);
    network_destroy(network);
    if (status == INSITU_OK) status = plan_verify(*out_plan, diag);
    return status;
}

static insitu_status run_plan_print(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    plan_t *plan;
    (void)name;
    TRY(plan_parse(source, &plan, diag));
    plan_print(plan, out);
    plan_destroy(plan);
    return INSITU_OK;
}

/* The text of a plan reads back as the same. */
static insitu_status check_text(const char *printed, insitu_diag *diag) {
    text_t again;
    text_init(&again);
    insitu_status status = run_plan_print(printed, "", &again, diag);
    if (status == INSITU_OK) status = text_status(&again, diag);
    if (status == INSITU_OK && strcmp(again.data, printed) != 0)
        status = diag_set(diag, INSITU_INTERNAL, "the plan reads back as another one:\n%s", again.data);
    text_release(&again);
    return status;
}

static insitu_status run_plan(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    plan_t *plan;
    insitu_status status = make_plan(source, name, &plan, diag);
    if (status == INSITU_OK) plan_print(plan, out);
    if (status == INSITU_OK) status = text_status(out, diag);
    if (status == INSITU_OK) status = check_text(out->data, diag);
    plan_destroy(plan);
    return status;
}

static insitu_status run_report(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    plan_t *plan;
    insitu_status status = make_plan(source, name, &plan, diag);
    if (status == INSITU_OK) plan_print_report(plan, out);
    plan_destroy(plan);
    return status;
}

static insitu_status run_network_save(const char *source, const char *name, text_t *out, insitu_diag *diag) {
    insitu_network *network;
    insitu_engine *engine = NULL;
    (void)out;
    TRY(insitu_network_parse(source, &network, diag));
    insitu_status status = insitu_network_compile(network, NULL, &engine, diag);
    if (status == INSITU_OK) status = insitu_engine_save(engine, name, diag);
    insitu_engine_destroy(engine);
    insitu_network_destroy(network);
    return status;
}

/* ---- the command line ---- */

typedef struct command {
    const char *name;
    command_fn run;
    const char *help;
} command_t;
static const command_t commands[] = {
    {"graph-print", run_graph_print, "graph: parsed, verified, printed"},
    {"graph-pass", run_graph_pass, "graph: one pass of passes.def, by name"},
    {"graph-passes", run_graph_passes, "graph: the whole pipeline of passes"},
    {"convert", run_convert, "graph: the pipeline, then converted to a network; name 'strict' for strict bounds"},
    {"network-print", run_network_print, "network: parsed, verified, printed"},
    {"network-pass", run_network_pass, "network: one pass, by name"},
    {"plan-print", run_plan_print, "plan: parsed, verified, printed"},
    {"plan", run_plan,
     "network: its plan, whose text must read back as the same; name 'strict' or 'no_inplace' for these options"},
    {"network-save", run_network_save, "network: compiled, and saved as the engine file of that name"},
    {"report", run_report, "network: the in-place report of its plan; names as for plan"},
};

static insitu_status read_input(text_t *out, insitu_diag *diag) {
    char buffer[4096];
    size_t size;
    text_add(out, "", 0);
    while ((size = fread(buffer, 1, sizeof buffer, stdin)) > 0) text_add(out, buffer, size);
    return text_status(out, diag);
}

static int usage(void) {
    fprintf(stderr, "usage: insitu_text COMMAND [NAME] < text\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++) fprintf(stderr, "  %-14s %s\n", commands[i].name, commands[i].help);
    return 2;
}

int main(int argc, char **argv) {
    const command_t *chosen = NULL;
    for (size_t i = 0; argc >= 2 && i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, argv[1]) == 0) chosen = &commands[i];
    if (!chosen || argc > 3) return usage();
    insitu_diag diag;
    text_t source, out;
    insitu_diag_init(&diag);
    text_init(&source);
    text_init(&out);
    insitu_status status = read_input(&source, &diag);
    if (status == INSITU_OK) status = chosen->run(source.data, argc == 3 ? argv[2] : "", &out, &diag);
    if (status == INSITU_OK) status = text_status(&out, &diag);
    if (status == INSITU_OK)
        fputs(out.data ? out.data : "", stdout);
    else
        printf("error %s: %s\n", insitu_status_name(status), diag.message);
    for (size_t i = 0; status != INSITU_OK && i < diag.row_count; i++)
        printf("  %s x%u at %s\n", diag.rows[i].op, diag.rows[i].count, diag.rows[i].source);
    text_release(&out);
    text_release(&source);
    insitu_diag_release(&diag);
    return status == INSITU_OK ? 0 : 1;
}
