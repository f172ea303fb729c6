/* The compile driver: a .pt2 file -> program -> graph -> network -> plan -> engine; and networks by themselves. */
#include "archive/archive.h"
#include "builder/builder.h"
#include "compile/compile_int.h"
#include "convert/convert.h"
#include "engine/engine.h"
#include "passes/passes.h"

#include <insitu/network.h>
#include <insitu/program.h>

struct insitu_program {
    archive_program_t *archive;
};

static insitu_status open_program(file_map_t *map, insitu_program **out_program, insitu_diag *diag) {
    insitu_program *program = memory_alloc(sizeof(*program));
    if (!program) return INSITU_NOMEM;
    float_mode_t mode;
    float_mode_enter(&mode);
    insitu_status status = archive_open(map, &program->archive, diag);
    float_mode_leave(&mode);
    if (status != INSITU_OK) {
        memory_free(program);
        return status;
    }
    *out_program = program;
    return INSITU_OK;
}

insitu_status insitu_program_load(const char *pt2_path, insitu_program **out_program, insitu_diag *diag) {
    if (out_program) *out_program = NULL;
    if (!pt2_path || !out_program) FAIL(diag, INSITU_ARG, "insitu_program_load needs a path and out_program");
    file_map_t *map;
    TRY(file_map_open(pt2_path, &map, diag));
    insitu_status status = open_program(map, out_program, diag);
    file_map_release(map);
    return diag_complete(diag, status);
}

insitu_status insitu_program_load_memory(const void *data, size_t size, insitu_program **out_program,
                                         insitu_diag *diag) {
    if (out_program) *out_program = NULL;
    if (!data || !out_program) FAIL(diag, INSITU_ARG, "insitu_program_load_memory needs data and out_program");
    file_map_t *map;
    TRY(file_map_wrap(data, size, &map, diag));
    insitu_status status = open_program(map, out_program, diag);
    file_map_release(map);
    return diag_complete(diag, status);
}

void insitu_program_destroy(insitu_program *program) {
    if (!program) return;
    archive_destroy(program->archive);
    memory_free(program);
}

/* The caller's options, whose struct may be an older and shorter one. */
static insitu_status copy_options(void *target, const void *source, size_t given, size_t size, const char *what,
                                  insitu_diag *diag) {
    if (given <= sizeof(size_t) || given > size)
        FAIL(diag, INSITU_ARG, "%s have struct_size %zu where at most %zu was expected", what, given, size);
    memcpy(target, source, given);
    return INSITU_OK;
}

void insitu_compile_options_init(insitu_compile_options *options) {
    if (options) *options = (insitu_compile_options){.struct_size = sizeof(*options)};
}

insitu_status insitu_program_print(const insitu_program *program, const insitu_print_options *options, char **out_text,
                                   insitu_diag *diag) {
    if (out_text) *out_text = NULL;
    if (!program || !out_text) FAIL(diag, INSITU_ARG, "insitu_program_print needs a program and out_text");
    insitu_print_options given = {0};
    if (options) TRY(copy_options(&given, options, options->struct_size, sizeof(given), "print options", diag));
    if (given.values && !given.json) FAIL(diag, INSITU_ARG, "the elements of stored tensors are printed as JSON alone");
    const archive_print_options_t print = {.json = given.json, .hashes = given.hashes, .values = given.values};
    text_t out;
    text_init(&out);
    insitu_status status = archive_print(program->archive, &print, &out, diag);
    if (status != INSITU_OK) {
        text_release(&out);
        return status;
    }
    *out_text = out.data;
    return INSITU_OK;
}

/* ---- dumps ---- */

static bool is_dumped(const char *form) { return list_has(switch_value(SWITCH_DUMP), form, strlen(form)); }

static insitu_status dump_text(const char *title, text_t *text, insitu_status status) {
    if (status == INSITU_OK && text->data) log_printf(2, "# %s\n%s", title, text->data);
    text_release(text);
    return status;
}

static insitu_status dump_graph(const graph_t *graph, const char *title, insitu_diag *diag) {
    if (!is_dumped("graph")) return INSITU_OK;
    text_t text;
    text_init(&text);
    return dump_text(title, &text, graph_print(graph, &text, diag));
}

static insitu_status dump_network(const network_t *network, insitu_diag *diag) {
    if (!is_dumped("network")) return INSITU_OK;
    text_t text;
    text_init(&text);
    return dump_text("network", &text, network_print(network, &text, diag));
}

static insitu_status dump_plan(const plan_t *plan) {
    if (!is_dumped("plan")) return INSITU_OK;
    text_t text;
    text_init(&text);
    plan_print(plan, &text);
    return dump_text("plan", &text, INSITU_OK);
}

/* ---- stages ---- */

static insitu_status make_network(const archive_program_t *archive, const insitu_compile_options *options,
                                  network_t **out_network, insitu_diag *diag) {
    graph_t *graph;
    uint64_t fingerprint;
    *out_network = NULL;
    TRY(graph_build(archive, &graph, diag));
    insitu_status status = dump_graph(graph, "graph", diag);
    if (status == INSITU_OK) status = fingerprint_program(graph, &fingerprint, diag);
    if (status == INSITU_OK && options->keep_values) status = passes_run_one(graph, "keep_values", diag);
    if (status == INSITU_OK) status = passes_run(graph, diag);
    if (status == INSITU_OK) status = dump_graph(graph, "graph after passes", diag);
    if (status == INSITU_OK)
        status = network_convert(graph, options->bounds == INSITU_BOUNDS_STRICT, out_network, diag);
    if (status == INSITU_OK) (*out_network)->fingerprint = fingerprint;
    graph_destroy(graph);
    return status;
}

/* The first input or state that the program writes; NULL. */
static const char *first_written(const network_t *network) {
    if (network->mutation_count) return network->inputs[network->mutations[0].input].name;
    for (uint32_t i = 0; i < network->state_count; i++)
        if (network->states[i].next.index != NONE) return network->states[i].name;
    return NULL;
}

/* What the caller asked of inputs, outputs, states and the device. */
static insitu_status apply_io_options(network_t *network, const insitu_compile_options *options,
                                      const device_t **out_device, insitu_diag *diag) {
    if (options->state == INSITU_STATE_CALLER) TRY(network_lift_states(network, diag));
    if (options->state == INSITU_STATE_FROZEN) TRY(network_freeze_states(network, diag));
    TRY(network_alias_outputs(network, options->mutated_inputs, (uint32_t)options->mutated_input_count, diag));
    return target_open(options->device, first_written(network), out_device, diag);
}

/* What `insitu explain` says of copies, to the log. */
static void log_copies(const plan_t *plan) {
    if (!switch_on(SWITCH_WHY)) return;
    for (uint32_t i = 0; i < plan->report_count; i++) {
        if (plan->report[i].in_place) continue;
        text_t verdict;
        text_init(&verdict);
        plan_print_verdict(plan, &plan->report[i], &verdict);
        if (verdict.data) log_printf(2, "state '%s': %s", plan->report[i].name, verdict.data);
        text_release(&verdict);
    }
}

static insitu_status make_plan(network_t *network, const insitu_compile_options *options, const device_t **out_device,
                               plan_t **out_plan, insitu_diag *diag) {
    *out_plan = NULL;
    TRY(apply_io_options(network, options, out_device, diag));
    plan_options_t plan_options = {.no_inplace = options->no_inplace || switch_on(SWITCH_NO_INPLACE)};
    TRY(rewrite_and_plan(network, evaluate_layer, &plan_options, options->strict, out_plan, diag));
    plan_find_zero_states(*out_plan);
    insitu_status status = dump_network(network, diag);
    if (status == INSITU_OK) status = network_verify(network, diag);
    if (status == INSITU_OK) status = network_check_symbols(network, INSITU_UNSUPPORTED, diag);
    if (status == INSITU_OK) status = dump_plan(*out_plan);
    if (status == INSITU_OK) status = plan_verify(*out_plan, diag);
    if (status == INSITU_OK) status = check_kernels(*out_device, *out_plan, diag);
    if (status == INSITU_OK) log_copies(*out_plan);
    if (status != INSITU_OK) plan_destroy(*out_plan);
    return status;
}

static insitu_status check_options(const insitu_compile_options *options, insitu_diag *diag) {
    int32_t index;
    if (options->state < INSITU_STATE_OWNED || options->state > INSITU_STATE_FROZEN)
        FAIL(diag, INSITU_ARG, "compile options: %d is no owner of states", (int)options->state);
    if (options->bounds < INSITU_BOUNDS_EAGER || options->bounds > INSITU_BOUNDS_STRICT)
        FAIL(diag, INSITU_ARG, "compile options: bounds can't be %d", (int)options->bounds);
    if (options->mutated_input_count < 0 || (options->mutated_input_count && !options->mutated_inputs))
        FAIL(diag, INSITU_ARG, "compile options: mutated_inputs has %d rows and %s", (int)options->mutated_input_count,
             options->mutated_inputs ? "a place" : "no place");
    if (options->device && !device_entry_find(options->device, &index)) return device_unknown(options->device, diag);
    return INSITU_OK;
}

/* Takes the network over. */
static insitu_status make_engine(network_t *network, const insitu_compile_options *options, file_map_t *map,
                                 insitu_engine **out_engine, insitu_diag *diag) {
    plan_t *plan;
    const device_t *device;
    insitu_status status = make_plan(network, options, &device, &plan, diag);
    if (status == INSITU_OK) plan->fingerprint = network->fingerprint;
    /* Folded constants lie in the network's memory until the engine has copied them. */
    if (status == INSITU_OK) status = engine_create(plan, device, &map, map ? 1 : 0, out_engine, diag);
    network_destroy(network);
    return status;
}

static insitu_status compile(const archive_program_t *archive, const insitu_compile_options *options,
                             insitu_engine **out_engine, insitu_diag *diag) {
    network_t *network;
    TRY(make_network(archive, options, &network, diag));
    return make_engine(network, options, archive->map, out_engine, diag);
}

static insitu_status read_options(const insitu_compile_options *options, insitu_compile_options *out,
                                  insitu_diag *diag) {
    insitu_compile_options_init(out);
    if (options) TRY(copy_options(out, options, options->struct_size, sizeof(*out), "compile options", diag));
    return check_options(out, diag);
}

static insitu_status compile_cached(const archive_program_t *archive, const insitu_compile_options *options,
                                    insitu_engine **out_engine, insitu_diag *diag) {
    cache_entry_t entry;
    TRY(cache_open(&entry, archive->map, options, diag));
    bool is_watched = switch_value(SWITCH_DUMP) || switch_value(SWITCH_DUMP_PASS);
    insitu_status status = is_watched ? INSITU_OK : cache_look_up(&entry, out_engine);
    if (status == INSITU_OK && !*out_engine) {
        status = compile(archive, options, out_engine, diag);
        if (status == INSITU_OK) cache_store(&entry, *out_engine);
    }
    cache_close(&entry);
    return status;
}

insitu_status insitu_program_compile(const insitu_program *program, const insitu_compile_options *options,
                                     insitu_engine **out_engine, insitu_diag *diag) {
    if (out_engine) *out_engine = NULL;
    if (!program || !out_engine) FAIL(diag, INSITU_ARG, "insitu_program_compile needs a program and out_engine");
    insitu_compile_options known;
    TRY(read_options(options, &known, diag));
    float_mode_t mode;
    float_mode_enter(&mode);
    insitu_status status = known.cache_dir ? compile_cached(program->archive, &known, out_engine, diag)
                                           : compile(program->archive, &known, out_engine, diag);
    float_mode_leave(&mode);
    return diag_complete(diag, status);
}

insitu_status insitu_network_import(const insitu_program *program, const insitu_compile_options *options,
                                    insitu_network **out_network, insitu_diag *diag) {
    if (out_network) *out_network = NULL;
    if (!program || !out_network) FAIL(diag, INSITU_ARG, "insitu_network_import needs a program and out_network");
    insitu_compile_options known;
    network_t *network;
    TRY(read_options(options, &known, diag));
    float_mode_t mode;
    float_mode_enter(&mode);
    insitu_status status = make_network(program->archive, &known, &network, diag);
    float_mode_leave(&mode);
    if (status == INSITU_OK) status = builder_wrap(network, program->archive->map, out_network);
    return diag_complete(diag, status);
}

/* ---- networks ---- */

static insitu_status check_network(const insitu_network *network, const insitu_compile_options *options,
                                   insitu_diag *diag) {
    if (options->keep_values || options->cache_dir)
        FAIL(diag, INSITU_ARG, "compile options: %s is for programs alone, not for networks",
             options->keep_values ? "keep_values" : "cache_dir");
    for (uint32_t i = 0; i < network->network->record_count; i++) {
        const weight_record_t *record = &network->network->records[i];
        if (!record->data && record->size)
            FAIL(diag, INSITU_ARG, "record %u of the network, '%s', has no bytes: insitu_network_set_record gives them",
                 i, record->name);
    }
    return network->network->fingerprint ? INSITU_OK : network_check_symbols(network->network, INSITU_ARG, diag);
}

/* Compilation changes a network, so a copy is compiled. */
static insitu_status compile_copy(const insitu_network *network, const insitu_compile_options *options,
                                  insitu_engine **out_engine, insitu_diag *diag) {
    network_t *copy;
    TRY(check_network(network, options, diag));
    TRY(network_copy(network->network, &copy, diag));
    insitu_status status = copy->fingerprint ? INSITU_OK : fingerprint_network(copy, &copy->fingerprint, diag);
    if (status == INSITU_OK) return make_engine(copy, options, network->map, out_engine, diag);
    network_destroy(copy);
    return status;
}

insitu_status insitu_network_compile(const insitu_network *network, const insitu_compile_options *options,
                                     insitu_engine **out_engine, insitu_diag *diag) {
    if (out_engine) *out_engine = NULL;
    if (!network || !out_engine) FAIL(diag, INSITU_ARG, "insitu_network_compile needs a network and out_engine");
    insitu_compile_options known;
    TRY(read_options(options, &known, diag));
    float_mode_t mode;
    float_mode_enter(&mode);
    insitu_status status = compile_copy(network, &known, out_engine, diag);
    float_mode_leave(&mode);
    return diag_complete(diag, status);
}
