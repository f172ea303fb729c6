/* The orders in which states' new values may be placed, by number. A value that is placed first takes what schedules it
 * likes; where that costs old values of another, the other order may cost less. Up to MAX_EXACT values have every order;
 * more of them have each in turn as the first. */
#include "planner/planner_int.h"

enum { MAX_EXACT = 5, MAX_FIRST = 16 };

static void rotate(state_target_t *finals, uint32_t count) { /* the last comes first */
    state_target_t last = finals[count - 1];
    for (uint32_t i = count - 1; i > 0; i--) finals[i] = finals[i - 1];
    finals[0] = last;
}

void order_finals(planner_t *planner) {
    uint32_t order = planner->options.order, count = planner->final_count;
    if (count <= MAX_EXACT) { /* the digits of a factorial number */
        for (uint32_t i = 0; i < count; i++) {
            rotate(planner->finals + i, order % (count - i) + 1);
            order /= count - i;
        }
    } else if (order > 0) {
        rotate(planner->finals, order + 1);
    }
}

uint32_t plan_order_count(const network_t *network, const plan_options_t *options) {
    uint32_t finals = network->mutation_count, orders = 1;
    if (options->no_inplace) return 1;
    for (uint32_t i = 0; i < network->state_count; i++) finals += network->states[i].next.index != NONE;
    for (uint32_t i = 2; i <= finals && i <= MAX_EXACT; i++) orders *= i;
    if (finals > MAX_EXACT) orders = finals < MAX_FIRST ? finals : MAX_FIRST;
    return orders;
}
