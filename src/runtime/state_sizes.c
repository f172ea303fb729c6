/* The sizes of a state: where the program leaves them open, whoever creates the state chooses them. All that follows,
 * strides and blocks of memory, is evaluated and checked here, once. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

static insitu_status choose(const insitu_state *state, bool *known, const insitu_state_size *chosen,
                            insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    int32_t index = chosen->name ? insitu_engine_find_state(state->engine, chosen->name) : -1;
    if (index < 0)
        FAIL(diag, INSITU_ARG, "the engine has no state '%s', of which a size was given",
             chosen->name ? chosen->name : "");
    const shape_t *shape = &plan->states[index].type.shape;
    if (chosen->dim < 0 || (uint32_t)chosen->dim >= shape->rank)
        FAIL(diag, INSITU_ARG, "state '%s' has %u dimensions, but a size of dimension %d was given", chosen->name,
             shape->rank, (int)chosen->dim);
    sym_t size = shape->sizes[chosen->dim];
    int64_t expected;
    uint32_t symbol = sym_symbol_index(&plan->symbols, size);
    bool is_constant = sym_constant(&plan->symbols, size, &expected);
    if (!is_constant && (symbol == NONE || plan->symbol_sources[symbol].source != SYMBOL_STATE_SIZE))
        FAIL(diag, INSITU_ARG, "dimension %d of state '%s' follows from others", (int)chosen->dim, chosen->name);
    if (!is_constant && !known[symbol]) {
        const symbol_t *range = &plan->symbols.symbols[symbol];
        if (chosen->size < 0 || chosen->size < range->min || chosen->size > range->max) {
            char allowed[RANGE_TEXT];
            print_range(range, allowed, sizeof(allowed));
            FAIL(diag, INSITU_SHAPE, "dimension %d of state '%s' can't be %" PRId64 ": %s is allowed", (int)chosen->dim,
                 chosen->name, chosen->size, allowed);
        }
        state->values[symbol] = (sym_value_t){.kind = SYM_KIND_INT, .i = chosen->size};
        known[symbol] = true;
    }
    if (!is_constant) expected = state->values[symbol].i;
    if (chosen->size == expected) return INSITU_OK;
    FAIL(diag, INSITU_SHAPE, "dimension %d of state '%s' is given as %" PRId64 " where it is %" PRId64,
         (int)chosen->dim, chosen->name, chosen->size, expected);
}

static insitu_status check_chosen(const insitu_state *state, const bool *known, insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol_t *source = &plan->symbol_sources[i];
        if (source->source != SYMBOL_STATE_SIZE || known[i]) continue;
        char range[RANGE_TEXT];
        print_range(&plan->symbols.symbols[i], range, sizeof(range));
        FAIL(diag, INSITU_ARG, "state '%s' needs a size for dimension %u, %s: insitu_state_create_sized chooses it",
             plan->states[source->input].name, source->dim, range);
    }
    return INSITU_OK;
}

static bool evaluate(const insitu_state *state, const bool *known, sym_t expression, int64_t *out_number) {
    sym_value_t value = {0};
    uint32_t missing;
    bool has_value = sym_evaluate(&state->engine->plan->symbols, expression, state->values, known, &value, &missing);
    *out_number = value.i;
    return has_value && value.i >= 0;
}

/* Sizes and strides, which must lie in the block. */
static insitu_status fill_tensor(insitu_state *state, const bool *known, uint32_t index, insitu_diag *diag) {
    const plan_state_t *declared = &state->engine->plan->states[index];
    insitu_tensor *tensor = &state->tensors[index];
    uint32_t rank = declared->type.shape.rank;
    int64_t offset;
    size_t extent, dense = dtype_size(declared->type.dtype);
    TRY(arena_array(&state->arena, rank, sizeof(int64_t), &tensor->shape));
    TRY(arena_array(&state->arena, rank, sizeof(int64_t), &tensor->strides));
    bool is_good = evaluate(state, known, declared->type.offset, &offset);
    for (uint32_t i = 0; i < rank && is_good; i++)
        is_good = evaluate(state, known, declared->type.shape.sizes[i], &tensor->shape[i]) &&
                  evaluate(state, known, declared->type.strides[i], &tensor->strides[i]) &&
                  checked_size_mul(dense, (size_t)tensor->shape[i], &dense) && dense <= INT64_MAX;
    if (!is_good || !extent_bytes(declared->type.dtype, rank, tensor->shape, tensor->strides, offset, &extent) ||
        extent > state->bytes[declared->state_storage])
        FAIL(diag, INSITU_SHAPE, "state '%s' would be too large, or lie outside its memory", declared->name);
    tensor->device = state->device->tensor_device;
    tensor->ndim = (int32_t)rank;
    tensor->dtype = dtype_public(declared->type.dtype);
    return INSITU_OK;
}

insitu_status state_fill_sizes(insitu_state *state, const insitu_state_size *sizes, size_t count,
                               const sym_value_t *values, insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    bool *known;
    TRY(arena_array(&state->arena, plan->symbols.symbol_count, sizeof(*known), &known));
    TRY(arena_array(&state->arena, plan->symbols.symbol_count, sizeof(*state->values), &state->values));
    for (uint32_t i = 0; values && i < plan->symbols.symbol_count; i++) {
        state->values[i] = values[i];
        known[i] = plan->symbol_sources[i].source == SYMBOL_STATE_SIZE;
    }
    for (size_t i = 0; i < count; i++) TRY(choose(state, known, &sizes[i], diag));
    TRY(check_chosen(state, known, diag));
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        int64_t bytes;
        if (!evaluate(state, known, plan->state_storages[i].bytes, &bytes))
            FAIL(diag, INSITU_SHAPE, "the state's memory would be too large");
        state->bytes[i] = (size_t)bytes;
    }
    for (uint32_t i = 0; i < plan->state_count; i++) TRY(fill_tensor(state, known, i, diag));
    return INSITU_OK;
}
