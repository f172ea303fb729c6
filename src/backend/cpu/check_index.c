/* CHECK_INDEX: every element of an index operand lies in [0, extent), or in [-extent, extent) if it wraps. A failure is
 * kept by value, because the memory of the operand may be used again before the call ends. */
#include "backend/cpu/program.h"

static void record(call_state_t *state, uint32_t thread, uint32_t step, int64_t position, int64_t value) {
    check_failure_t *failure = &state->failures[thread];
    if (failure->step != NONE) return; /* an earlier step's */
    failure->step = step;
    failure->position = position;
    failure->value = value;
    unsigned lowest = atomic_load(&state->failed_step);
    while (step < lowest && !atomic_compare_exchange_weak(&state->failed_step, &lowest, step)) {
    }
}

void check_index(const kernel_call_t *call, uint32_t step, call_state_t *state) {
    const bound_operand_t *index = &call->step->operands[0];
    int64_t extent = call->step->extent, lowest = call->step->step->wrap ? -extent : 0, begin, end;
    walk_t walk;
    walk_init(&walk, index->rank, index->sizes);
    walk_add_operand(&walk, call, index);
    walk_merge(&walk);
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++) {
            int64_t value = element_int(index->dtype, walk.data[0] + i * walk.step[0]);
            if (value >= lowest && value < extent) continue;
            record(state, call->thread, step, walk.position + i, value);
            return;
        }
    } while (walk_next(&walk));
}

insitu_status check_report(const program_t *program, const call_state_t *state, insitu_diag *diag) {
    uint32_t failed = atomic_load(&state->failed_step);
    if (failed == NONE) return INSITU_OK;
    const check_failure_t *first = NULL;
    for (uint32_t i = 0; i < program->threads; i++) {
        const check_failure_t *failure = &state->failures[i];
        if (failure->step == failed && (!first || failure->position < first->position)) first = failure;
    }
    const bound_step_t *step = program->steps[failed].step;
    const char *source = step->step->source && step->step->source[0] ? step->step->source : "no source line";
    FAIL(diag, INSITU_BOUNDS, "index %lld of node '%s' (%s, %s) lies outside the extent %lld that it indexes",
         first ? (long long)first->value : 0LL, step->step->name ? step->step->name : "",
         layer_info_of(step->step->layer)->name, source, (long long)step->extent);
}
