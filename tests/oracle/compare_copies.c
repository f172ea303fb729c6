/* Compares the copied bytes of the plan's report with the oracle's minimum, of the network as it is given or as the
 * compiler rewrites it before it plans (the smaller), and prints every program for which they differ.
 *
 *     compare_copies [options] seeds FIRST LAST       random networks FIRST to LAST - 1
 *     compare_copies [options] crossed FIRST LAST     the same of random_crossed_network
 *     compare_copies [options] FILE...                texts of networks (INSITU_DUMP=network); "-": standard input
 *     compare_copies [options] known FILE             networks with the minimum that the oracle must find; not the plan's
 *
 * --pieces: elementwise layers may read their operands in pieces. --nodes N: situations that a search may look at.
 * --symbol NAME=NUMBER: a size that is not constant. --except FILE: lines "NAME reason" of programs that may differ ("seeds
 * 7", "crossed 7" or the file). --at-most N: how many others may differ. --quiet: the last line alone. --schedules: print
 * the schedule also where both agree.
 * Exit status 1 if more programs differ, 2 if one can't be read. */
#include "compile/evaluate_layer.h"
#include "oracle.h"
#include "random_network.h"
#include <inttypes.h>

enum { MAX_SYMBOLS = 64 };

typedef struct options {
    bool pieces, quiet, schedules;
    uint32_t nodes, symbol_count, at_most;
    const char *symbols[MAX_SYMBOLS]; /* NAME=NUMBER */
    const char *exceptions;           /* the file's text */
} options_t;

typedef struct totals {
    uint32_t programs, agree, excepted, differ, refused, copying, nodes;
} totals_t;

/* ---- one program ---- */

typedef struct bindings {
    sym_value_t values[MAX_SYMBOLS];
    bool bound[MAX_SYMBOLS];
} bindings_t;

static void bind_symbols(const options_t *options, const sym_pool_t *pool, bindings_t *out) {
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < options->symbol_count; i++) {
        const char *equals = strchr(options->symbols[i], '=');
        for (uint32_t s = 0; equals && s < pool->symbol_count && s < MAX_SYMBOLS; s++) {
            size_t size = (size_t)(equals - options->symbols[i]);
            if (strlen(pool->symbols[s].name) != size || memcmp(pool->symbols[s].name, options->symbols[i], size) != 0)
                continue;
            out->values[s] = (sym_value_t){.kind = SYM_KIND_INT, .i = strtoll(equals + 1, NULL, 10)};
            out->bound[s] = true;
        }
    }
}

/* The report's copied bytes. */
static insitu_status planned_bytes(network_t *network, const options_t *options, int64_t *out_bytes, text_t *report,
                                   insitu_diag *diag) {
    plan_t *plan;
    bindings_t bindings;
    *out_bytes = 0;
    TRY(rewrite_and_plan(network, evaluate_layer, &(plan_options_t){0}, false, &plan, diag));
    bind_symbols(options, &plan->symbols, &bindings);
    for (uint32_t i = 0; i < plan->report_count; i++) {
        sym_value_t copied;
        uint32_t missing;
        if (sym_evaluate(&plan->symbols, plan->report[i].copied, bindings.values, bindings.bound, &copied, &missing))
            *out_bytes += copied.i;
    }
    plan_print_report(plan, report);
    plan_destroy(plan);
    return INSITU_OK;
}

static void search_pieces(const options_t *options, program_t *program, arena_t *arena, text_t *out) {
    search_result_t result;
    if (program->pieces) return;
    program->pieces = true;
    search(program, options->nodes, arena, &result);
    program->pieces = false;
    if (result.refusal)
        text_printf(out, "# in pieces: %s\n", result.refusal);
    else
        text_printf(out, "# in pieces: %u\n", result.cost);
}

static bool is_excepted(const options_t *options, const char *name) {
    size_t size = strlen(name);
    for (const char *line = options->exceptions; line && *line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, name, size) == 0 && line[size] == ' ') return true;
    }
    return false;
}

/* The network as it is given, or as the compiler's rewriting leaves it. */
typedef struct candidate {
    network_t *network;
    text_t source;
    program_t program;
    search_result_t best;
    const char *refusal, *fault;
} candidate_t;

typedef struct finding {
    candidate_t *best;
    const candidate_t *given, *rewritten;
    int64_t planned;
    text_t report;
} finding_t;

static insitu_status make_candidate(const options_t *options, candidate_t *out, arena_t *arena, insitu_diag *diag) {
    bindings_t bindings;
    TRY(network_remove_dead(out->network, diag));
    TRY(network_print(out->network, &out->source, diag));
    bind_symbols(options, &out->network->symbols, &bindings);
    out->program =
        (program_t){.symbol_values = bindings.values, .symbol_bound = bindings.bound, .pieces = options->pieces};
    if (out->network->symbols.symbol_count > MAX_SYMBOLS)
        out->refusal = "too many symbols";
    else if (!program_build(&out->program, out->network, arena))
        out->refusal = out->program.refusal;
    if (out->refusal) return INSITU_OK;
    search(&out->program, options->nodes, arena, &out->best);
    out->refusal = out->best.refusal;
    if (!out->refusal) out->fault = replay(&out->program, &out->best.schedule, out->best.cost, arena);
    return INSITU_OK;
}

static void print_finding(const options_t *options, const char *name, finding_t *finding, arena_t *arena) {
    program_t *program = &finding->best->program;
    text_t out;
    text_init(&out);
    text_printf(&out, "==== %s: the plan copies %" PRId64 ", the oracle %u%s\n%s", name, finding->planned,
                finding->best->best.cost, program->capped ? " (places capped)" : "", finding->given->source.data);
    if (strcmp(finding->given->source.data, finding->rewritten->source.data) != 0)
        text_printf(&out, "# rewritten%s\n%s", finding->best == finding->rewritten ? ": the schedule's" : "",
                    finding->rewritten->source.data);
    text_printf(&out, "# report\n%s", finding->report.data);
    search_pieces(options, program, arena, &out);
    text_printf(&out, "# schedule\n");
    schedule_print(program, &finding->best->best.schedule, &out);
    (void)printf("%s\n", out.data);
    text_release(&out);
}

static void count(const options_t *options, const char *name, finding_t *finding, totals_t *totals, arena_t *arena) {
    const candidate_t *best = finding->best;
    totals->programs++;
    if (best->refusal) {
        totals->refused++;
        if (!options->quiet) (void)printf("---- %s: not searched: %s\n", name, best->refusal);
        return;
    }
    if (best->best.nodes > totals->nodes) totals->nodes = best->best.nodes;
    totals->copying += best->best.cost > 0;
    if (best->fault) (void)printf("---- %s: the oracle's schedule is wrong: %s\n", name, best->fault);
    bool same = finding->planned == best->best.cost && !best->fault;
    bool excepted = !same && !best->fault && is_excepted(options, name);
    totals->agree += same;
    totals->excepted += excepted;
    totals->differ += !same && !excepted;
    if ((!options->quiet && !same) || options->schedules) print_finding(options, name, finding, arena);
}

static insitu_status compare(const options_t *options, const char *name, candidate_t *given, candidate_t *rewritten,
                             totals_t *totals, arena_t *arena, insitu_diag *diag) {
    finding_t finding = {.given = given, .rewritten = rewritten, .best = given};
    TRY(make_candidate(options, given, arena, diag));
    TRY(network_parse(given->source.data, &rewritten->network, diag));
    TRY(network_normalise(rewritten->network, diag));
    TRY(make_candidate(options, rewritten, arena, diag));
    bool better = given->refusal || rewritten->best.cost <= given->best.cost;
    if (!rewritten->refusal && (better || rewritten->fault)) finding.best = rewritten;
    text_init(&finding.report);
    insitu_status status = planned_bytes(rewritten->network, options, &finding.planned, &finding.report, diag);
    if (status == INSITU_OK) count(options, name, &finding, totals, arena);
    text_release(&finding.report);
    return status;
}

/* Takes the network over. */
static insitu_status check_program(const options_t *options, const char *name, network_t *network, totals_t *totals,
                                   insitu_diag *diag) {
    static candidate_t given, rewritten;
    arena_t arena;
    given = (candidate_t){.network = network};
    rewritten = (candidate_t){.network = NULL};
    text_init(&given.source);
    text_init(&rewritten.source);
    arena_init(&arena);
    insitu_status status = compare(options, name, &given, &rewritten, totals, &arena, diag);
    text_release(&given.source);
    text_release(&rewritten.source);
    network_destroy(given.network);
    network_destroy(rewritten.network);
    arena_release(&arena);
    return status;
}

/* ---- the command line ---- */

static char *read_all(const char *path) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t size = 0, capacity = 1 << 20;
    char *data = malloc(capacity);
    if (!file || !data) return NULL;
    for (size_t got; (got = fread(data + size, 1, capacity - size - 1, file)) > 0;) {
        size += got;
        if (size + 1 < capacity) continue;
        capacity *= 2;
        data = realloc(data, capacity);
        if (!data) abort();
    }
    data[size] = '\0';
    if (file != stdin) (void)fclose(file);
    return data;
}

static int check_file(const options_t *options, const char *path, totals_t *totals) {
    insitu_diag diag;
    network_t *network = NULL;
    char *source = read_all(path);
    insitu_diag_init(&diag);
    if (!source) {
        (void)fprintf(stderr, "%s can't be read\n", path);
        return 2;
    }
    insitu_status status = network_parse(source, &network, &diag);
    if (status == INSITU_OK) status = network_verify(network, &diag);
    if (status == INSITU_OK)
        status = check_program(options, path, network, totals, &diag);
    else
        network_destroy(network);
    free(source);
    if (status != INSITU_OK) (void)fprintf(stderr, "%s: %s\n", path, diag.message);
    return status == INSITU_OK ? 0 : 2;
}

static int check_seeds(const options_t *options, const char *kind, uint64_t first, uint64_t last, totals_t *totals) {
    bool crossed = strcmp(kind, "crossed") == 0;
    for (uint64_t seed = first; seed < last; seed++) {
        char name[32];
        insitu_diag diag;
        insitu_diag_init(&diag);
        network_t *network = crossed ? random_crossed_network(seed) : random_network(seed);
        (void)snprintf(name, sizeof name, "%s %" PRIu64, kind, seed);
        insitu_status status = check_program(options, name, network, totals, &diag);
        if (status == INSITU_OK) continue;
        (void)fprintf(stderr, "%s: %s\n", name, diag.message);
        return 2;
    }
    return 0;
}

/* Minima that are known: "# minimum BYTES: why" and a network. */
static int check_known(const options_t *options, char *source, totals_t *totals) {
    static candidate_t candidate;
    static const char divider[] = "\n# =====\n";
    for (char *end = source, *text = source; end; text = end + sizeof divider - 1) {
        insitu_diag diag;
        arena_t arena;
        char *line = strstr(text, "# minimum ");
        end = strstr(text, divider);
        if (end) *end = '\0';
        insitu_diag_init(&diag);
        arena_init(&arena);
        candidate.network = NULL;
        text_init(&candidate.source);
        candidate.refusal = candidate.fault = NULL;
        insitu_status status = line ? network_parse(text, &candidate.network, &diag) : INSITU_FORMAT;
        if (status == INSITU_OK) status = make_candidate(options, &candidate, &arena, &diag);
        bool same = status == INSITU_OK && !candidate.refusal && !candidate.fault &&
                    strtoul(line + strlen("# minimum "), NULL, 10) == candidate.best.cost;
        totals->programs++;
        totals->agree += same;
        totals->differ += !same;
        if (!same)
            (void)printf("%s%s%s%s: the oracle finds %u\n", text, status == INSITU_OK ? "" : diag.message,
                         candidate.refusal ? candidate.refusal : "", candidate.fault ? candidate.fault : "",
                         candidate.best.cost);
        text_release(&candidate.source);
        network_destroy(candidate.network);
        arena_release(&arena);
    }
    return 0;
}

static int parse_options(options_t *options, int count, char **arguments) {
    int at = 1;
    for (; at < count && strncmp(arguments[at], "--", 2) == 0; at++) {
        bool has_value = at + 1 < count;
        if (strcmp(arguments[at], "--pieces") == 0)
            options->pieces = true;
        else if (strcmp(arguments[at], "--quiet") == 0)
            options->quiet = true;
        else if (strcmp(arguments[at], "--schedules") == 0)
            options->schedules = true;
        else if (strcmp(arguments[at], "--nodes") == 0 && has_value)
            options->nodes = (uint32_t)strtoul(arguments[++at], NULL, 10);
        else if (strcmp(arguments[at], "--at-most") == 0 && has_value)
            options->at_most = (uint32_t)strtoul(arguments[++at], NULL, 10);
        else if (strcmp(arguments[at], "--symbol") == 0 && has_value && options->symbol_count < MAX_SYMBOLS)
            options->symbols[options->symbol_count++] = arguments[++at];
        else if (strcmp(arguments[at], "--except") == 0 && has_value)
            options->exceptions = read_all(arguments[++at]);
        else
            return count;
    }
    return at;
}

int main(int argument_count, char **arguments) {
    options_t options = {.nodes = DEFAULT_NODES};
    totals_t totals = {0};
    int status = 0, at = parse_options(&options, argument_count, arguments);
    if (at >= argument_count || options.nodes < 2) {
        (void)fprintf(stderr, "usage: compare_copies [options] seeds FIRST LAST | FILE...\n");
        return 2;
    }
    bool random = strcmp(arguments[at], "seeds") == 0 || strcmp(arguments[at], "crossed") == 0;
    if (random && at + 2 < argument_count)
        status = check_seeds(&options, arguments[at], strtoull(arguments[at + 1], NULL, 10),
                             strtoull(arguments[at + 2], NULL, 10), &totals);
    else if (strcmp(arguments[at], "known") == 0 && at + 1 < argument_count) {
        char *source = read_all(arguments[at + 1]);
        status = source ? check_known(&options, source, &totals) : 2;
        free(source);
    } else
        for (; at < argument_count; at++)
            if (check_file(&options, arguments[at], &totals) != 0) status = 2;
    (void)printf("%u programs: %u agree, %u excepted, %u differ, %u not searched; the minimum is above 0 in %u; the "
                 "largest search looked at %u situations\n",
                 totals.programs, totals.agree, totals.excepted, totals.differ, totals.refused, totals.copying,
                 totals.nodes);
    free((void *)(uintptr_t)options.exceptions);
    return status ? status : totals.differ > options.at_most;
}
