/* plan_build: the plan of fewest copied bytes over the orders in which states' new values may be placed.
 *
 * A value that is placed first takes what schedules it likes; where that costs old values of another, the other order may
 * cost less. Up to MAX_EXACT values are tried in every order; more of them with each in turn as the first. A plan that
 * copies nothing ends the search, so that most programs are planned once; and so does its budget. */
#include "plan/plan_int.h"

enum { MAX_EXACT = 5, MAX_FIRST = 16 };
enum { SEARCH_STEPS = 16 << 20, SEARCH_STEPS_A_LAYER = 32 << 10 }; /* about 10 nanoseconds each */

plan_search plan_search_for(const network *network) {
    return (plan_search){.most = SEARCH_STEPS + (uint64_t)SEARCH_STEPS_A_LAYER * network->order_count};
}

static void rotate(final_value *finals, uint32_t count) { /* the last comes first */
    final_value last = finals[count - 1];
    for (uint32_t i = count - 1; i > 0; i--) finals[i] = finals[i - 1];
    finals[0] = last;
}

void order_finals(planner *planner) {
    uint32_t order = planner->final_order, count = planner->final_count;
    if (count <= MAX_EXACT) { /* the digits of a factorial number */
        for (uint32_t i = 0; i < count; i++) {
            rotate(planner->finals + i, order % (count - i) + 1);
            order /= count - i;
        }
    } else if (order > 0) {
        rotate(planner->finals, order + 1);
    }
}

static uint32_t count_orders(const network *network) {
    uint32_t finals = network->mutation_count, orders = 1;
    for (uint32_t i = 0; i < network->state_count; i++) finals += network->states[i].next.index != NONE;
    for (uint32_t i = 2; i <= finals && i <= MAX_EXACT; i++) orders *= i;
    if (finals > MAX_EXACT) orders = finals < MAX_FIRST ? finals : MAX_FIRST;
    return orders;
}

int64_t plan_copied_bytes(const plan *plan) {
    int64_t sum = 0, bytes;
    for (uint32_t i = 0; i < plan->report_count; i++)
        if (!sym_constant(&plan->symbols, plan->report[i].copied, &bytes) || !checked_add(sum, bytes, &sum))
            return INT64_MAX;
    return sum;
}

/* Another plan may cost as much as the last one did. Orders take half of what is left of the budget: rewritings the rest. */
static bool may_try(plan_search *search, uint64_t before) {
    uint64_t left = search->most > before ? search->most - before : 0;
    bool may = search->spent + search->last <= before + left / 2;
    search->is_cut |= !may;
    return may;
}

/* The plan takes the place of the other if it copies less; the worse one is destroyed. */
static void keep_better(plan **kept, plan *other) {
    plan *worse = other;
    if (plan_copied_bytes(other) < plan_copied_bytes(*kept)) {
        worse = *kept;
        *kept = other;
    }
    plan_destroy(worse);
}

insitu_status plan_build(network *network, const plan_options *options, plan **out_plan, insitu_diag *diag) {
    plan_search own = plan_search_for(network);
    plan_options shared = *options;
    if (!shared.search) shared.search = &own;
    const uint64_t before = shared.search->spent;
    TRY(plan_in_order(network, &shared, 0, out_plan, diag));
    uint32_t orders = options->no_inplace ? 1 : count_orders(network);
    for (uint32_t i = 1; i < orders && plan_copied_bytes(*out_plan) > 0 && may_try(shared.search, before); i++) {
        plan *other;
        insitu_status status = plan_in_order(network, &shared, i, &other, NULL);
        if (status == INSITU_NOMEM) {
            plan_destroy(*out_plan);
            *out_plan = NULL;
            return diag_set(diag, INSITU_NOMEM, "out of memory");
        }
        if (status == INSITU_OK) keep_better(out_plan, other); /* else an order that some value can't be placed in */
    }
    return INSITU_OK;
}
