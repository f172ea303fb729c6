/* network -> plan: the search for the plan that copies the fewest bytes of state.
 *
 * A candidate is a network, rewritten or not, and an order in which its states' new values are placed. The network as it is
 * comes first; where its plan copies state, the new value of that state is written as what its memory is given piece by
 * piece (network_rewrite_as_updates), and the passes that may help are tried. Each step is kept if it copies less. A plan that copies
 * nothing ends the search, so that most programs are planned once; and so does its budget, which all candidates share. */
#include "rewrite/rewrite.h"

/* A folded constant larger than this is computed by each call instead of being kept in the engine; so is one that would
 * keep the compilation waiting, at a few nanoseconds an element. */
static const fold_limits_t folding = {.bytes = 16 << 20, .work = 1 << 27, .total = 1 << 29};

enum { SEARCH_STEPS = 16 << 20, SEARCH_STEPS_A_LAYER = 32 << 10 }; /* about 10 nanoseconds each */
enum { TRIAL_STEPS_A_LAYER = 1 << 10 };                            /* what a rewriting costs beside its plan */

plan_search_t plan_search_for(const network_t *network) {
    return (plan_search_t){.most = SEARCH_STEPS + (uint64_t)SEARCH_STEPS_A_LAYER * network->order_count};
}

/* Of the steps that were left at `before`, may one more plan, which may cost as much as the last one did, be among the first
 * share / 2? */
static bool may_plan(plan_search_t *search, uint64_t before, uint64_t share) {
    uint64_t left = search->most > before ? search->most - before : 0;
    bool may = search->spent + search->last <= before + left / 2 * share;
    search->is_cut |= !may;
    return may;
}

/* The plan takes the place of the other if it copies less; the worse one is destroyed. NULL: none yet, or none. */
static bool keep_better(plan_t **best, plan_t *other) {
    bool is_better = other && (!*best || plan_copied_bytes(other) < plan_copied_bytes(*best));
    plan_destroy(is_better ? *best : other);
    if (is_better) *best = other;
    return is_better;
}

/* ---- orders ---- */

static insitu_status search_orders(network_t *network, const plan_options_t *options, plan_t **out_plan,
                                   insitu_diag *diag) {
    const uint64_t before = options->search->spent;
    plan_options_t in_order = *options;
    in_order.order = 0;
    TRY(plan_network(network, &in_order, out_plan, diag));
    const uint32_t orders = plan_order_count(network, options);
    /* Orders take half of what is left of the budget: rewritings the rest. */
    while (++in_order.order < orders && plan_copied_bytes(*out_plan) > 0 && may_plan(options->search, before, 1)) {
        plan_t *other;
        insitu_status status = plan_network(network, &in_order, &other, NULL);
        if (status == INSITU_NOMEM) {
            plan_destroy(*out_plan);
            *out_plan = NULL;
            return diag_set(diag, INSITU_NOMEM, "out of memory");
        }
        if (status == INSITU_OK) keep_better(out_plan, other); /* else an order that some value can't be placed in */
    }
    return INSITU_OK;
}

insitu_status plan_build(network_t *network, const plan_options_t *options, plan_t **out_plan, insitu_diag *diag) {
    plan_search_t own = plan_search_for(network);
    plan_options_t shared = *options;
    if (!shared.search) shared.search = &own;
    return search_orders(network, &shared, out_plan, diag);
}

/* ---- rewritings ---- */

typedef struct search {
    network_t *network;
    const plan_options_t *options;
    plan_t **best;
    insitu_diag *diag;
} search_t;
typedef struct rewriting { /* one that may save copies */
    /* *out_changed false: the network is as it was. NULL: the report's rows from first to end are assembled */
    insitu_status (*pass)(network_t *network, bool *out_changed, insitu_diag *diag);
    uint32_t first, end;
} rewriting_t;

/* The old and new value of the report's row: states that change in their order, then inputs. */
static bool find_final(const network_t *network, uint32_t row, tensor_id_t *out_start, tensor_id_t *out_next) {
    for (uint32_t i = 0; i < network->state_count; i++) {
        *out_start = network->states[i].tensor;
        *out_next = network->states[i].next;
        if (out_next->index != NONE && row-- == 0) return true;
    }
    for (uint32_t i = 0; i < network->input_count; i++)
        for (uint32_t m = 0; m < network->mutation_count; m++) {
            *out_start = network->inputs[i].tensor;
            *out_next = network->mutations[m].next;
            if (network->mutations[m].input == i && row-- == 0) return true;
        }
    return false;
}

/* What is copied for the rows from first to end is written piece by piece. */
static insitu_status assemble_rows(const search_t *search, uint32_t first, uint32_t end, bool *out_changed) {
    *out_changed = false;
    for (uint32_t row = first; row < end; row++) {
        tensor_id_t start, next;
        bool changed;
        if ((*search->best)->report[row].in_place || !find_final(search->network, row, &start, &next)) continue;
        TRY(network_rewrite_as_updates(search->network, start, next, &changed, search->diag));
        *out_changed |= changed;
    }
    return INSITU_OK;
}

/* What a rewriting leaves behind is cleaned up, and the network planned. */
static insitu_status plan_rewritten(const search_t *search, plan_t **out_plan) {
    TRY(network_sink_partial_views(search->network, search->diag));
    TRY(network_split_flips(search->network, search->diag));
    TRY(network_remove_dead(search->network, search->diag));
    insitu_status status = search_orders(search->network, search->options, out_plan, NULL);
    return status == INSITU_NOMEM ? status : INSITU_OK; /* what can't be planned saves nothing */
}

/* The plan is replaced, and the network stays rewritten, if that saves copies; else both are as before. */
static insitu_status try_rewriting(const search_t *search, const rewriting_t *rewriting) {
    network_snapshot_t before;
    bool changed;
    plan_t *other = NULL;
    TRY(network_save(search->network, &before));
    insitu_status status = rewriting->pass ? rewriting->pass(search->network, &changed, search->diag)
                                           : assemble_rows(search, rewriting->first, rewriting->end, &changed);
    if (status == INSITU_OK && changed) status = plan_rewritten(search, &other);
    if (!keep_better(search->best, other)) network_restore(search->network, &before);
    network_snapshot_release(&before);
    return status;
}

/* Is there enough of the budget left for another rewriting and its plan? */
static bool may_rewrite(const search_t *search) {
    search->options->search->spent += (uint64_t)TRIAL_STEPS_A_LAYER * search->network->order_count;
    return may_plan(search->options->search, 0, 2);
}

static uint32_t count_copied(const plan_t *plan) {
    uint32_t copied = 0;
    for (uint32_t row = 0; row < plan->report_count; row++) copied += !plan->report[row].in_place;
    return copied;
}

/* Row by row; where the budget does not reach for that, first all of them at once. */
static insitu_status search_rewritings(const search_t *search) {
    static const rewriting_t passes[] = {
        {.pass = network_reuse_copies}, {.pass = network_own_parts}, {.pass = network_sink_updates}};
    const plan_search_t *budget = search->options->search;
    const uint32_t copied = count_copied(*search->best), rows = (*search->best)->report_count;
    if (copied == 0) return INSITU_OK;
    bool reaches = budget->spent < budget->most && (budget->most - budget->spent) / (budget->last + 1) > copied;
    if (!reaches && may_rewrite(search)) TRY(try_rewriting(search, &(rewriting_t){.first = 0, .end = rows}));
    for (uint32_t row = 0; row < rows; row++) {
        if ((*search->best)->report[row].in_place) continue;
        if (!may_rewrite(search)) return INSITU_OK;
        TRY(try_rewriting(search, &(rewriting_t){.first = row, .end = row + 1}));
    }
    for (uint32_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
        if (!may_rewrite(search)) return INSITU_OK;
        TRY(try_rewriting(search, &passes[i]));
    }
    return INSITU_OK;
}

insitu_status rewrite_and_plan(network_t *network, network_evaluate_fn evaluate, const plan_options_t *options,
                               bool strict, plan_t **out_plan, insitu_diag *diag) {
    *out_plan = NULL;
    TRY(network_fold_constants(network, evaluate, NULL, &folding, diag));
    TRY(network_normalise(network, diag));
    plan_search_t budget = plan_search_for(network);
    const plan_options_t shared = {.no_inplace = options->no_inplace, .search = &budget};
    TRY(search_orders(network, &shared, out_plan, diag));
    const search_t search = {network, &shared, out_plan, diag};
    insitu_status status = options->no_inplace ? INSITU_OK : search_rewritings(&search);
    if (status == INSITU_OK && budget.is_cut) status = plan_note_cut(*out_plan);
    if (status == INSITU_OK && strict) status = plan_require_in_place(*out_plan, diag);
    if (status == INSITU_OK) return INSITU_OK;
    plan_destroy(*out_plan);
    *out_plan = NULL;
    return status;
}
