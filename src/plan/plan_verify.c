/* The plan verifier: every id, range and size, so that what follows needs no checks of its own. A plan read from a file
 * is untrusted: nothing in it is followed before it was checked here. Sizes that depend on symbols are checked against
 * their storages when the symbols are bound (plan_bind.c).
 *
 * Faults are collected; the first ten make the sentence. */
#include "plan/plan_checker.h"

#include <inttypes.h>

enum { FAULTS_SHOWN = 10 };

void fault(plan_checker_t *checker, const char *format, ...) {
    if (checker->fault_count++ >= FAULTS_SHOWN) return;
    text_t *faults = &checker->faults;
    text_printf(faults, "%s%s: ", checker->fault_count > 1 ? "; " : "", checker->where);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(faults, format, arguments);
    va_end(arguments);
}

void fault_at(plan_checker_t *checker, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(checker->where, sizeof(checker->where), format, arguments);
    va_end(arguments);
    if (length < 0) checker->where[0] = 0;
}

/* ---- expressions ---- */

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

static insitu_status find_size_ready(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    const sym_pool_t *pool = &plan->symbols;
    TRY(arena_array(&checker->scratch, pool->node_count, sizeof(uint32_t), &checker->size_ready));
    for (uint32_t id = 0; id < pool->node_count; id++) {
        uint32_t symbol = sym_symbol_index(pool, (sym_t){id}), ready = checker->facts.ready[id];
        if (symbol != NONE && plan->symbol_sources[symbol].source == SYMBOL_STEP &&
            !plan->symbol_sources[symbol].in_sizes)
            ready = NONE;
        for (uint32_t i = 0; i < sym_arg_count(pool, (sym_t){id}); i++) {
            uint32_t argument = sym_arg(pool, (sym_t){id}, i).id;
            if (argument < id) ready = later(ready, checker->size_ready[argument]);
        }
        checker->size_ready[id] = ready;
    }
    return INSITU_OK;
}

bool check_sym(plan_checker_t *checker, sym_t value, const char *what) {
    if (value.id >= checker->plan->symbols.node_count) {
        fault(checker, "%s is no expression of the plan", what);
        return false;
    }
    if (checker->facts.ready[value.id] == NONE) {
        fault(checker, "%s depends on a symbol that has no source", what);
        return false;
    }
    return true;
}

void check_known(plan_checker_t *checker, const uint32_t *ready, sym_t value, uint32_t limit, const char *what) {
    if (ready[value.id] > limit) fault(checker, "%s needs a value that is not known by then", what);
}

bool check_int(plan_checker_t *checker, sym_t value, int64_t lowest, const char *what) {
    if (!check_sym(checker, value, what)) return false;
    const sym_pool_t *pool = &checker->plan->symbols;
    if (sym_kind_of(pool, value) != SYM_KIND_INT) {
        fault(checker, "%s is not an integer", what);
        return false;
    }
    int64_t constant;
    if (sym_constant(pool, value, &constant) && constant < lowest) {
        fault(checker, "%s is %" PRId64, what, constant);
        return false;
    }
    return true;
}

/* ---- types and operands ---- */

bool check_type(plan_checker_t *checker, const tensor_type_t *type, const char *what) {
    if ((uint32_t)type->dtype >= DTYPE_COUNT || type->shape.rank > MAX_RANK) {
        fault(checker, "%s has an unknown dtype or a rank over %d", what, MAX_RANK);
        return false;
    }
    bool good = check_int(checker, type->offset, 0, what);
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        good = check_int(checker, type->shape.sizes[i], 0, what) && good;
        good = check_int(checker, type->strides[i], 0, what) && good;
    }
    return good;
}

/* The type's last byte, if its numbers are constants. False: they are not. Overflow gives SIZE_MAX. */
static bool constant_extent(const sym_pool_t *pool, const tensor_type_t *type, size_t *out_bytes) {
    int64_t sizes[MAX_RANK], strides[MAX_RANK], offset;
    if (!sym_constant(pool, type->offset, &offset)) return false;
    for (uint32_t i = 0; i < type->shape.rank; i++)
        if (!sym_constant(pool, type->shape.sizes[i], &sizes[i]) || !sym_constant(pool, type->strides[i], &strides[i]))
            return false;
    if (!extent_bytes(type->dtype, type->shape.rank, sizes, strides, offset, out_bytes)) *out_bytes = SIZE_MAX;
    return true;
}

/* The type's numbers are constants, its elements lie in size bytes, and a dense copy of them has a size too. */
static bool fits_in(const sym_pool_t *pool, const tensor_type_t *type, size_t size) {
    size_t extent, dense = dtype_size(type->dtype);
    if (!constant_extent(pool, type, &extent) || extent > size) return false;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        int64_t count;
        if (!sym_constant(pool, type->shape.sizes[i], &count)) return false;
        if (!checked_size_mul(dense, (size_t)count, &dense)) return false;
    }
    return dense <= INT64_MAX;
}

bool check_operand(plan_checker_t *checker, const plan_operand_t *operand, const char *what) {
    const plan_t *plan = checker->plan;
    if (operand->storage >= plan->storage_count) {
        fault(checker, "%s has no storage", what);
        return false;
    }
    if (!check_type(checker, &operand->type, what)) return false;
    int64_t bytes;
    size_t extent;
    sym_t storage_bytes = plan->storages[operand->storage].bytes;
    if (checker->storage_is_good[operand->storage] && sym_constant(&plan->symbols, storage_bytes, &bytes) &&
        constant_extent(&plan->symbols, &operand->type, &extent) && extent > (size_t)bytes) {
        fault(checker, "%s reaches beyond its storage of %" PRId64 " bytes", what, bytes);
        return false;
    }
    return true;
}

/* ---- the tables ---- */

static void check_counts(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    fault_at(checker, "plan");
    const uint32_t counts[] = {plan->weight_count, plan->storage_count, plan->step_count,    plan->input_count,
                               plan->output_count, plan->state_count,   plan->assert_count,  plan->state_storage_count,
                               plan->report_count, plan->buffer_count,  plan->segment_count, plan->restore_count};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (counts[i] > MAX_NODES) fault(checker, "a table has %u rows", counts[i]);
    if (plan->symbols.symbol_count && !plan->symbol_sources) fault(checker, "its symbols have no sources");
}

static dtype_t number_dtype(sym_kind_t kind) {
    if (kind == SYM_KIND_FLOAT) return DTYPE_F64;
    return kind == SYM_KIND_BOOL ? DTYPE_BOOL : DTYPE_I64;
}

static bool is_number_dtype(dtype_t type) { return type == DTYPE_I64 || type == DTYPE_F64 || type == DTYPE_BOOL; }

static void check_input_symbol(plan_checker_t *checker, uint32_t index) {
    const plan_t *plan = checker->plan;
    const plan_symbol_t *symbol = &plan->symbol_sources[index];
    sym_kind_t kind = plan->symbols.symbols[index].kind;
    if (symbol->input >= plan->input_count) {
        fault(checker, "it comes from an input that does not exist");
        return;
    }
    const plan_input_t *input = &plan->inputs[symbol->input];
    bool is_tensor = !input->is_scalar && !input->is_none;
    if (symbol->source == SYMBOL_INPUT_VALUE && (!input->is_scalar || number_dtype(kind) != input->type.dtype))
        fault(checker, "it is the value of an input that is not a number of its kind");
    if (symbol->source == SYMBOL_INPUT_SIZE && kind != SYM_KIND_INT) fault(checker, "it is a size, but no integer");
    if (symbol->source == SYMBOL_INPUT_SIZE &&
        (!is_tensor || symbol->dim >= input->type.shape.rank || symbol->dim >= MAX_RANK))
        fault(checker, "it is a size that its input does not have");
    else if (symbol->source == SYMBOL_INPUT_SIZE && kind == SYM_KIND_INT) {
        sym_t size = input->type.shape.sizes[symbol->dim];
        if (size.id >= plan->symbols.node_count || !sym_gives(&plan->symbols, size, index))
            fault(checker, "it is a size that does not give it");
    }
}

static void check_state_symbol(plan_checker_t *checker, uint32_t index) {
    const plan_t *plan = checker->plan;
    const plan_symbol_t *symbol = &plan->symbol_sources[index];
    const shape_t *shape = symbol->input < plan->state_count ? &plan->states[symbol->input].type.shape : NULL;
    bool is_size = shape && symbol->dim < shape->rank && symbol->dim < MAX_RANK &&
                   shape->sizes[symbol->dim].id < plan->symbols.node_count &&
                   sym_symbol_index(&plan->symbols, shape->sizes[symbol->dim]) == index;
    if (!is_size || plan->symbols.symbols[index].kind != SYM_KIND_INT)
        fault(checker, "it is a size that its state does not have");
}

static bool is_item_of(const plan_t *plan, const plan_step_t *step, uint32_t symbol) {
    uint32_t index = layer_attr_index(LAYER_ITEM, ATTR_SYMBOL);
    if (!step_is_item(step) || !step->attrs || step->attrs[index].kind != ATTR_KIND_SYM) return false;
    sym_t value = step->attrs[index].value;
    return value.id < plan->symbols.node_count && sym_symbol_index(&plan->symbols, value) == symbol;
}

static void check_symbols(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol_t *symbol = &plan->symbol_sources[i];
        symbol_row_t row = {plan->symbols.symbols[i], *symbol};
        fault_at(checker, "symbol '%s'", shown(row.symbol.name));
        check_fields(checker, &symbol_row_struct, &row);
        if (row.symbol.name && !sym_is_name(row.symbol.name)) fault(checker, "an expression's text could not name it");
        if (symbol->source == SYMBOL_INPUT_SIZE || symbol->source == SYMBOL_INPUT_VALUE)
            check_input_symbol(checker, i);
        else if (symbol->source == SYMBOL_STATE_SIZE)
            check_state_symbol(checker, i);
        else if (symbol->source == SYMBOL_STEP &&
                 (symbol->step >= plan->step_count || !is_item_of(plan, &plan->steps[symbol->step], i)))
            fault(checker, "it comes from a step that does not read it");
    }
}

/* The segments are all steps, in order, cut after item steps. */
static bool check_segments(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    uint32_t next = 0;
    bool good = plan->segment_count > 0;
    for (uint32_t i = 0; i < plan->segment_count; i++) {
        good = good && plan->segments[i].first_step == next && plan->segments[i].end_step >= next;
        good = good && (i == 0 || (next > 0 && next <= plan->step_count && step_is_item(&plan->steps[next - 1])));
        next = plan->segments[i].end_step;
    }
    fault_at(checker, "plan");
    if (!good || next != plan->step_count)
        fault(checker, "its segments are not its steps in order, cut after item steps");
    if (plan->first_write > plan->step_count) fault(checker, "its first write is step %u", plan->first_write);
    return checker->fault_count == 0;
}

/* A weight's storage has a constant size, which must not pass what there is. */
static bool check_weight_storage(plan_checker_t *checker, const plan_storage_t *storage) {
    const plan_t *plan = checker->plan;
    if (storage->index >= plan->weight_count) {
        fault(checker, "weight %u does not exist", storage->index);
        return false;
    }
    size_t available = plan->weights[storage->index].size;
    int64_t bytes;
    if (sym_constant(&plan->symbols, storage->bytes, &bytes) && (uint64_t)bytes <= available) return true;
    fault(checker, "its size is not a constant of at most the %zu bytes of its weight", available);
    return false;
}

/* A state's storage has the size of the state's block, or a constant one within it. */
static bool check_state_storage(plan_checker_t *checker, const plan_storage_t *storage) {
    const plan_t *plan = checker->plan;
    if (storage->index >= plan->state_storage_count) {
        fault(checker, "state %u does not exist", storage->index);
        return false;
    }
    sym_t available = plan->state_storages[storage->index].bytes;
    int64_t bytes, limit;
    if (sym_same(storage->bytes, available)) return true;
    if (sym_constant(&plan->symbols, storage->bytes, &bytes) && available.id < plan->symbols.node_count &&
        sym_constant(&plan->symbols, available, &limit) && bytes <= limit)
        return true;
    fault(checker, "its size is not that of its state's block, nor a constant within it");
    return false;
}

static bool check_storage(plan_checker_t *checker, uint32_t id) {
    const plan_t *plan = checker->plan;
    const plan_storage_t *storage = &plan->storages[id];
    fault_at(checker, "storage %u", id);
    switch (storage->kind) {
    case STORAGE_WEIGHT: return check_weight_storage(checker, storage);
    case STORAGE_STATE: return check_state_storage(checker, storage);
    case STORAGE_INPUT:
        check_known(checker, checker->size_ready, storage->bytes, 0, "its size");
        if (storage->index < plan->input_count && plan->inputs[storage->index].storage == id) return true;
        fault(checker, "its input does not exist, or has another storage");
        return false;
    case STORAGE_OUTPUT:
        if (storage->index < plan->output_count && plan->outputs[storage->index].kind == OUTPUT_TENSOR &&
            plan->outputs[storage->index].operand.storage == id)
            return true;
        fault(checker, "its output does not exist, or lies elsewhere");
        return false;
    case STORAGE_ARENA:
        if (storage->first_step <= storage->last_step && storage->last_step < plan->step_count) {
            const plan_segment_t *home = &plan->segments[plan_segment_of(plan, storage->first_step)];
            check_known(checker, checker->size_ready, storage->bytes, home->first_step, "its size");
            return true;
        }
        fault(checker, "it lives from step %u to step %u of %u", storage->first_step, storage->last_step,
              plan->step_count);
        return false;
    }
    fault(checker, "its kind is unknown");
    return false;
}

static insitu_status check_unique(plan_checker_t *checker, map_t *names, const char *name) {
    if (map_find(names, name) != NONE) fault(checker, "another one has the same name");
    return map_set(names, &checker->scratch, name, 0);
}

static insitu_status check_inputs(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    map_t names = {0};
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const plan_input_t *input = &plan->inputs[i];
        fault_at(checker, "input %u '%s'", i, shown(input->name));
        TRY(check_unique(checker, &names, input->name));
        if (input->is_none || input->is_scalar) {
            if (input->storage != NONE) fault(checker, "it is no tensor, but has a storage");
            if (input->is_written) fault(checker, "it is no tensor, but is written");
            if (input->is_scalar && !is_number_dtype(input->type.dtype)) fault(checker, "its dtype is not a number's");
            if (input->is_scalar) check_known(checker, checker->facts.ready, input->value, 0, "its value");
            continue;
        }
        int64_t offset;
        for (uint32_t d = 0; d < input->type.shape.rank; d++) {
            check_known(checker, checker->size_ready, input->type.shape.sizes[d], 0, "its type");
            check_known(checker, checker->size_ready, input->type.strides[d], 0, "its type");
        }
        if (!sym_constant(&plan->symbols, input->type.offset, &offset) || offset != 0)
            fault(checker, "its offset is not 0");
        if (input->storage == NONE) {
            if (input->is_written) fault(checker, "it is written, but has no storage");
        } else if (plan->storages[input->storage].kind != STORAGE_INPUT || plan->storages[input->storage].index != i) {
            fault(checker, "its storage is not an input's storage of its own");
        }
    }
    return INSITU_OK;
}

/* An output that is no input and no state is nobody else's. */
static void check_output_alias(plan_checker_t *checker, uint32_t index) {
    const plan_t *plan = checker->plan;
    const plan_output_t *output = &plan->outputs[index];
    const plan_storage_t *storage = &plan->storages[output->operand.storage];
    switch (output->alias) {
    case ALIAS_NONE:
        if (storage->kind == STORAGE_OUTPUT && storage->index == index) return;
        fault(checker, "it has no storage of its own");
        return;
    case ALIAS_INPUT:
        if (output->alias_index < plan->input_count && storage->kind == STORAGE_INPUT &&
            storage->index == output->alias_index)
            return;
        fault(checker, "it is said to be input %u, but lies elsewhere", output->alias_index);
        return;
    case ALIAS_STATE:
        if (output->alias_index < plan->state_count && storage->kind == STORAGE_STATE &&
            storage->index == plan->states[output->alias_index].state_storage)
            return;
        fault(checker, "it is said to be state %u, but lies elsewhere", output->alias_index);
        return;
    }
}

static insitu_status check_outputs(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    map_t names = {0};
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const plan_output_t *output = &plan->outputs[i];
        fault_at(checker, "output %u '%s'", i, shown(output->name));
        TRY(check_unique(checker, &names, output->name));
        switch (output->kind) {
        case OUTPUT_TENSOR:
            if (check_operand(checker, &output->operand, "its value")) check_output_alias(checker, i);
            break;
        case OUTPUT_NUMBER:
        case OUTPUT_NONE: break;
        }
    }
    return INSITU_OK;
}

/* Expressions of constants and sizes of states alone. */
static bool is_of_states(const plan_t *plan, sym_t value) {
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++)
        if (plan->symbol_sources[i].source != SYMBOL_STATE_SIZE && sym_uses(&plan->symbols, value, i)) return false;
    return true;
}

static void check_state_block(plan_checker_t *checker, const plan_state_storage_t *block) {
    const plan_t *plan = checker->plan;
    int64_t bytes;
    bool is_constant = sym_constant(&plan->symbols, block->bytes, &bytes);
    if (!is_constant && (block->initial != NONE || !is_of_states(plan, block->bytes)))
        fault(checker, "its size varies, but not with the sizes of states alone, or it has an initial value");
    if (is_constant && block->initial != NONE && plan->weights[block->initial].size < (uint64_t)bytes)
        fault(checker, "its initial value is too small");
}

/* The state lies in its block, as far as constants tell; what varies is checked when a state is created. */
static void check_state_type(plan_checker_t *checker, const tensor_type_t *type, sym_t block_bytes) {
    const plan_t *plan = checker->plan;
    int64_t bytes, offset;
    size_t extent;
    bool is_good = sym_constant(&plan->symbols, type->offset, &offset);
    if (is_good && sym_constant(&plan->symbols, block_bytes, &bytes) && constant_extent(&plan->symbols, type, &extent))
        is_good = fits_in(&plan->symbols, type, (size_t)bytes);
    for (uint32_t i = 0; i < type->shape.rank && is_good; i++)
        is_good = is_of_states(plan, type->shape.sizes[i]) && is_of_states(plan, type->strides[i]);
    if (!is_good) fault(checker, "its sizes are not constants, or sizes of states, within its storage");
}

/* names: of states and buffers, which a saved state holds side by side. */
static insitu_status check_states(plan_checker_t *checker, map_t *names) {
    const plan_t *plan = checker->plan;
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        fault_at(checker, "block %u", i);
        check_state_block(checker, &plan->state_storages[i]);
    }
    for (uint32_t i = 0; i < plan->state_count; i++) {
        const plan_state_t *state = &plan->states[i];
        fault_at(checker, "state %u '%s'", i, shown(state->name));
        TRY(check_unique(checker, names, state->name));
        check_state_type(checker, &state->type, plan->state_storages[state->state_storage].bytes);
    }
    return INSITU_OK;
}

static insitu_status check_buffers(plan_checker_t *checker, map_t *names) {
    const plan_t *plan = checker->plan;
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        const plan_buffer_t *buffer = &plan->buffers[i];
        fault_at(checker, "buffer %u '%s'", i, shown(buffer->name));
        TRY(check_unique(checker, names, buffer->name));
        if (!fits_in(&plan->symbols, &buffer->type, plan->weights[buffer->weight].size))
            fault(checker, "its sizes are not constants within its weight");
    }
    return INSITU_OK;
}

static insitu_status check_all(plan_checker_t *checker) {
    plan_t *plan = checker->plan;
    map_t saved_names = {0};
    check_counts(checker);
    if (checker->fault_count) return INSITU_OK;
    check_symbols(checker);
    if (!check_segments(checker)) return INSITU_OK;
    TRY(plan_find_facts(plan, &checker->scratch, &checker->facts));
    TRY(find_size_ready(checker));
    TRY(arena_array(&checker->scratch, plan->storage_count, sizeof(bool), &checker->storage_is_good));
    check_rows(checker);
    if (checker->fault_count) return INSITU_OK;
    for (uint32_t i = 0; i < plan->storage_count; i++) checker->storage_is_good[i] = check_storage(checker, i);
    TRY(check_states(checker, &saved_names));
    TRY(check_buffers(checker, &saved_names));
    TRY(check_inputs(checker));
    TRY(check_outputs(checker));
    TRY(check_steps(checker));
    fault_at(checker, "plan");
    if (!checker->fault_count && !plan_facts_same(&plan->facts, &checker->facts))
        fault(checker, "its facts are not those of its rows");
    return INSITU_OK;
}

insitu_status plan_verify(plan_t *plan, insitu_diag *diag) {
    plan_checker_t checker = {.plan = plan};
    arena_init(&checker.scratch);
    text_init(&checker.faults);
    insitu_status status = check_all(&checker);
    if (status == INSITU_OK) status = text_status(&checker.faults, diag);
    if (status == INSITU_OK && checker.fault_count > FAULTS_SHOWN)
        text_printf(&checker.faults, "; and %u more", checker.fault_count - FAULTS_SHOWN);
    if (status == INSITU_OK && checker.fault_count)
        status = diag_set(diag, INSITU_FORMAT, "the plan is not valid: %s",
                          checker.faults.data ? checker.faults.data : "out of memory");
    text_release(&checker.faults);
    arena_release(&checker.scratch);
    return status;
}
