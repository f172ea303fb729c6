/* network -> plan. The network is rewritten as far as that always helps, and planned. Where the plan copies state, the new
 * value of that state is written as what its memory is given piece by piece (network_assemble), and that plan is taken if
 * it copies less. */
#include "compile/compile_int.h"
#include "plan/plan.h"

/* A folded constant larger than this is computed by each call instead of being kept in the engine; so is one that would
 * keep the compilation waiting, at a few nanoseconds an element. */
static const fold_limits folding = {.bytes = 16 << 20, .work = 1 << 27, .total = 1 << 29};

enum { TRIAL_STEPS_A_LAYER = 1 << 10 }; /* of the search's budget: what a rewriting costs beside its plan */

/* The old and new value of the report's row: states that change in their order, then inputs. */
static bool find_final(const network *network, uint32_t row, tensor_id *out_start, tensor_id *out_next) {
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

typedef struct trial { /* a rewriting that may save copies */
    network *network;
    const plan_options *options;
    plan **plan;
    insitu_diag *diag;
} trial;

/* The plan is replaced, and the network stays rewritten, if that saves copies; else both are as before. */
static insitu_status conclude(const trial *trial, const network_snapshot *before, insitu_status status, bool changed) {
    plan *better = NULL;
    if (status == INSITU_OK && changed) status = network_compute_parts(trial->network, trial->diag);
    if (status == INSITU_OK && changed) status = network_split_flips(trial->network, trial->diag);
    if (status == INSITU_OK && changed) status = network_remove_dead(trial->network, trial->diag);
    if (status == INSITU_OK && changed) {
        status = plan_build(trial->network, trial->options, &better, NULL);
        if (status != INSITU_NOMEM) status = INSITU_OK; /* what can't be planned saves nothing */
    }
    if (better && plan_copied_bytes(better) < plan_copied_bytes(*trial->plan)) {
        plan_destroy(*trial->plan);
        *trial->plan = better;
    } else {
        plan_destroy(better);
        network_restore(trial->network, before);
    }
    return status;
}

/* Is there enough of the budget left for another plan? */
static bool may_try(const trial *trial) {
    plan_search *search = trial->options->search;
    search->spent += (uint64_t)TRIAL_STEPS_A_LAYER * trial->network->order_count;
    bool may = search->spent + search->last <= search->most;
    search->is_cut |= !may;
    return may;
}

/* What is copied for the rows from first to end is written piece by piece. */
static insitu_status assemble_rows(const trial *trial, uint32_t first, uint32_t end, bool *out_changed) {
    *out_changed = false;
    for (uint32_t row = first; row < end; row++) {
        tensor_id start, next;
        bool changed;
        if ((*trial->plan)->report[row].in_place || !find_final(trial->network, row, &start, &next)) continue;
        TRY(network_assemble(trial->network, start, next, &changed, trial->diag));
        *out_changed |= changed;
    }
    return INSITU_OK;
}

static insitu_status try_pieces(const trial *trial, uint32_t first, uint32_t end) {
    network_snapshot before;
    bool changed;
    TRY(network_save(trial->network, &before));
    insitu_status status = assemble_rows(trial, first, end, &changed);
    status = conclude(trial, &before, status, changed);
    network_snapshot_release(&before);
    return status;
}

static insitu_status read_copies(network *network, bool *out_changed, insitu_diag *diag) {
    (void)diag;
    return network_read_copies(network, out_changed);
}

static insitu_status try_pass(const trial *trial, insitu_status (*pass)(network *, bool *, insitu_diag *)) {
    network_snapshot before;
    bool changed;
    TRY(network_save(trial->network, &before));
    insitu_status status = pass(trial->network, &changed, trial->diag);
    status = conclude(trial, &before, status, changed);
    network_snapshot_release(&before);
    return status;
}

static uint32_t count_copied(const plan *plan) {
    uint32_t copied = 0;
    for (uint32_t row = 0; row < plan->report_count; row++) copied += !plan->report[row].in_place;
    return copied;
}

/* Row by row; where the budget does not reach for that, first all of them at once. */
static insitu_status save_copies(const trial *trial) {
    const plan_search *search = trial->options->search;
    const uint32_t copied = count_copied(*trial->plan), rows = (*trial->plan)->report_count;
    if (copied == 0) return INSITU_OK;
    bool reaches = search->spent < search->most && (search->most - search->spent) / (search->last + 1) > copied;
    if (!reaches && may_try(trial)) TRY(try_pieces(trial, 0, rows));
    for (uint32_t row = 0; row < rows; row++) {
        if ((*trial->plan)->report[row].in_place) continue;
        if (!may_try(trial)) return INSITU_OK;
        TRY(try_pieces(trial, row, row + 1));
    }
    insitu_status (*const passes[])(struct network *, bool *, insitu_diag *) = {read_copies, network_own_parts,
                                                                                network_sink_updates};
    for (uint32_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
        if (!may_try(trial)) return INSITU_OK;
        TRY(try_pass(trial, passes[i]));
    }
    return INSITU_OK;
}

insitu_status compile_plan(network *network, const plan_options *options, bool strict, plan **out_plan,
                           insitu_diag *diag) {
    *out_plan = NULL;
    TRY(network_fold_constants(network, evaluate_layer, NULL, &folding, diag));
    TRY(network_normalise(network, diag));
    plan_search search = plan_search_for(network);
    const plan_options shared = {.no_inplace = options->no_inplace, .search = &search};
    TRY(plan_build(network, &shared, out_plan, diag));
    const trial trial = {network, &shared, out_plan, diag};
    insitu_status status = options->no_inplace ? INSITU_OK : save_copies(&trial);
    if (status == INSITU_OK && search.is_cut) status = plan_note_cut(*out_plan);
    if (status == INSITU_OK && strict) status = plan_require_in_place(*out_plan, diag);
    if (status == INSITU_OK) return INSITU_OK;
    plan_destroy(*out_plan);
    *out_plan = NULL;
    return status;
}
