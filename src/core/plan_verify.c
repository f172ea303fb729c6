/* The plan verifier: every id, range and size, so that what follows needs no checks of its own. A plan read from a file
 * is untrusted: nothing in it is followed before it was checked here. Sizes that depend on symbols are checked against
 * their storages when the symbols are bound (plan_bind.c).
 *
 * Faults are collected; the first ten make the sentence. */
#include "core/backend.h"

#include <inttypes.h>

enum { FAULTS_SHOWN = 10 };

typedef struct plan_checker {
    plan *plan;
    arena scratch;
    text faults;
    uint32_t fault_count;
    char where[192];       /* what is being checked */
    bitset unbound;        /* expressions over symbols without a source */
    bool *storage_is_good; /* of each storage: its own row has no fault */
    bool written_before;   /* a step so far writes a state or an input */
} plan_checker;

static void fault(plan_checker *checker, const char *format, ...) PRINTF_LIKE(2, 3);

static void fault(plan_checker *checker, const char *format, ...) {
    if (checker->fault_count++ >= FAULTS_SHOWN) return;
    text *faults = &checker->faults;
    text_printf(faults, "%s%s: ", checker->fault_count > 1 ? "; " : "", checker->where);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(faults, format, arguments);
    va_end(arguments);
}

static void at(plan_checker *checker, const char *format, ...) PRINTF_LIKE(2, 3);

/* What the faults that follow are about. */
static void at(plan_checker *checker, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(checker->where, sizeof(checker->where), format, arguments);
    va_end(arguments);
    if (length < 0) checker->where[0] = 0;
}

static const char *shown(const char *name) { return name ? name : "?"; }

/* ---- expressions ---- */

/* Marks the nodes whose value is unknown when a call begins: those over symbols without a source. */
static insitu_status mark_unbound(plan_checker *checker) {
    const sym_pool *pool = &checker->plan->symbols;
    TRY(bitset_create(&checker->scratch, pool->node_count, &checker->unbound));
    for (uint32_t id = 0; id < pool->node_count; id++) {
        sym node = {id};
        uint32_t symbol = sym_symbol_index(pool, node);
        bool is_unbound = symbol != NONE && checker->plan->symbol_sources[symbol].source == SYMBOL_UNUSED;
        for (uint32_t i = 0; i < sym_arg_count(pool, node); i++) {
            sym argument = sym_arg(pool, node, i);
            is_unbound = is_unbound || argument.id >= id || bitset_has(&checker->unbound, argument.id);
        }
        if (is_unbound) bitset_add(&checker->unbound, id);
    }
    return INSITU_OK;
}

static bool check_sym(plan_checker *checker, sym value, const char *what) {
    if (value.id >= checker->plan->symbols.node_count) {
        fault(checker, "%s is no expression of the plan", what);
        return false;
    }
    if (bitset_has(&checker->unbound, value.id)) {
        fault(checker, "%s depends on a symbol that has no source", what);
        return false;
    }
    return true;
}

/* An integer expression; a constant one is at least lowest. */
static bool check_int(plan_checker *checker, sym value, int64_t lowest, const char *what) {
    if (!check_sym(checker, value, what)) return false;
    const sym_pool *pool = &checker->plan->symbols;
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

static bool check_type(plan_checker *checker, const tensor_type *type, const char *what) {
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
static bool constant_extent(const sym_pool *pool, const tensor_type *type, size_t *out_bytes) {
    int64_t sizes[MAX_RANK], strides[MAX_RANK], offset;
    if (!sym_constant(pool, type->offset, &offset)) return false;
    for (uint32_t i = 0; i < type->shape.rank; i++)
        if (!sym_constant(pool, type->shape.sizes[i], &sizes[i]) || !sym_constant(pool, type->strides[i], &strides[i]))
            return false;
    if (!extent_bytes(type->dtype, type->shape.rank, sizes, strides, offset, out_bytes)) *out_bytes = SIZE_MAX;
    return true;
}

/* The type's numbers are constants, its elements lie in size bytes, and a dense copy of them has a size too. */
static bool fits_in(const sym_pool *pool, const tensor_type *type, size_t size) {
    size_t extent, dense = dtype_size(type->dtype);
    if (!constant_extent(pool, type, &extent) || extent > size) return false;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        int64_t count;
        if (!sym_constant(pool, type->shape.sizes[i], &count)) return false;
        if (!checked_size_mul(dense, (size_t)count, &dense)) return false;
    }
    return dense <= INT64_MAX;
}

static bool check_operand(plan_checker *checker, const plan_operand *operand, const char *what) {
    const plan *plan = checker->plan;
    if (operand->storage >= plan->storage_count) {
        fault(checker, "%s has no storage", what);
        return false;
    }
    if (!check_type(checker, &operand->type, what)) return false;
    int64_t bytes;
    size_t extent;
    sym storage_bytes = plan->storages[operand->storage].bytes;
    if (checker->storage_is_good[operand->storage] && sym_constant(&plan->symbols, storage_bytes, &bytes) &&
        constant_extent(&plan->symbols, &operand->type, &extent) && extent > (size_t)bytes) {
        fault(checker, "%s reaches beyond its storage of %" PRId64 " bytes", what, bytes);
        return false;
    }
    return true;
}

/* ---- the tables ---- */

static void check_counts(plan_checker *checker) {
    const plan *plan = checker->plan;
    at(checker, "plan");
    const uint32_t counts[] = {plan->weight_count, plan->storage_count, plan->step_count,   plan->input_count,
                               plan->output_count, plan->state_count,   plan->assert_count, plan->state_storage_count,
                               plan->report_count, plan->buffer_count};
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (counts[i] > MAX_NODES) fault(checker, "a table has %u rows", counts[i]);
    if (plan->symbols.symbol_count && !plan->symbol_sources) fault(checker, "its symbols have no sources");
}

static dtype number_dtype(sym_kind kind) {
    if (kind == SYM_KIND_FLOAT) return DTYPE_F64;
    return kind == SYM_KIND_BOOL ? DTYPE_BOOL : DTYPE_I64;
}

static bool is_number_dtype(dtype type) { return type == DTYPE_I64 || type == DTYPE_F64 || type == DTYPE_BOOL; }

static void check_symbols(plan_checker *checker) {
    const plan *plan = checker->plan;
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++) {
        const plan_symbol *symbol = &plan->symbol_sources[i];
        at(checker, "symbol '%s'", shown(plan->symbols.symbols[i].name));
        if (symbol->source == SYMBOL_UNUSED) continue;
        if (symbol->source != SYMBOL_INPUT_SIZE && symbol->source != SYMBOL_INPUT_VALUE) {
            fault(checker, "its source is unknown");
        } else if (symbol->input >= plan->input_count) {
            fault(checker, "it comes from an input that does not exist");
        } else {
            const plan_input *input = &plan->inputs[symbol->input];
            bool is_tensor = !input->is_scalar && !input->is_none;
            if (symbol->source == SYMBOL_INPUT_VALUE &&
                (!input->is_scalar || number_dtype(plan->symbols.symbols[i].kind) != input->type.dtype))
                fault(checker, "it is the value of an input that is not a number of its kind");
            if (symbol->source == SYMBOL_INPUT_SIZE && plan->symbols.symbols[i].kind != SYM_KIND_INT)
                fault(checker, "it is a size, but no integer");
            if (symbol->source == SYMBOL_INPUT_SIZE &&
                (!is_tensor || symbol->dim >= input->type.shape.rank || symbol->dim >= MAX_RANK))
                fault(checker, "it is a size that its input does not have");
        }
    }
}

static void check_weights(plan_checker *checker) {
    const plan *plan = checker->plan;
    for (uint32_t i = 0; i < plan->weight_count; i++) {
        at(checker, "weight %u", i);
        if (!plan->weights[i].name) fault(checker, "it has no name");
        if ((uint32_t)plan->weights[i].dtype >= DTYPE_COUNT) fault(checker, "its dtype is unknown");
        if (plan->weights[i].size > INT64_MAX) fault(checker, "it is too large");
    }
}

/* A storage whose memory exists before the call has a constant size, which must not pass what there is. */
static bool check_fixed_storage(plan_checker *checker, const plan_storage *storage, uint32_t count, const char *what) {
    const plan *plan = checker->plan;
    if (storage->index >= count) {
        fault(checker, "%s %u does not exist", what, storage->index);
        return false;
    }
    size_t available = storage->kind == STORAGE_WEIGHT ? plan->weights[storage->index].size
                                                       : plan->state_storages[storage->index].bytes;
    int64_t bytes;
    if (!sym_constant(&plan->symbols, storage->bytes, &bytes) || (uint64_t)bytes > available) {
        fault(checker, "its size is not a constant of at most the %zu bytes of its %s", available, what);
        return false;
    }
    return true;
}

static bool check_storage(plan_checker *checker, uint32_t id) {
    const plan *plan = checker->plan;
    const plan_storage *storage = &plan->storages[id];
    at(checker, "storage %u", id);
    if (!check_int(checker, storage->bytes, 0, "its size")) return false;
    switch (storage->kind) {
    case STORAGE_WEIGHT: return check_fixed_storage(checker, storage, plan->weight_count, "weight");
    case STORAGE_STATE: return check_fixed_storage(checker, storage, plan->state_storage_count, "state");
    case STORAGE_INPUT:
        if (storage->index < plan->input_count && plan->inputs[storage->index].storage == id) return true;
        fault(checker, "its input does not exist, or has another storage");
        return false;
    case STORAGE_OUTPUT:
        if (storage->index < plan->output_count && plan->outputs[storage->index].kind == OUTPUT_TENSOR) return true;
        fault(checker, "its output does not exist, or is no tensor");
        return false;
    case STORAGE_ARENA:
        if (storage->first_step <= storage->last_step && storage->last_step < plan->step_count) return true;
        fault(checker, "it lives from step %u to step %u of %u", storage->first_step, storage->last_step,
              plan->step_count);
        return false;
    }
    fault(checker, "its kind is unknown");
    return false;
}

static insitu_status check_unique(plan_checker *checker, map *names, const char *name) {
    if (!name) {
        fault(checker, "it has no name");
        return INSITU_OK;
    }
    if (map_find(names, name) != NONE) fault(checker, "another one has the same name");
    return map_set(names, &checker->scratch, name, 0);
}

static insitu_status check_inputs(plan_checker *checker) {
    const plan *plan = checker->plan;
    map names = {0};
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const plan_input *input = &plan->inputs[i];
        at(checker, "input %u '%s'", i, shown(input->name));
        TRY(check_unique(checker, &names, input->name));
        if (input->is_none || input->is_scalar) {
            if (input->storage != NONE) fault(checker, "it is no tensor, but has a storage");
            if (input->is_written) fault(checker, "it is no tensor, but is written");
            if (input->is_scalar && !is_number_dtype(input->type.dtype)) fault(checker, "its dtype is not a number's");
            if (input->is_scalar) check_sym(checker, input->value, "its value");
            continue;
        }
        int64_t offset;
        if (!check_type(checker, &input->type, "its type")) continue;
        if (!sym_constant(&plan->symbols, input->type.offset, &offset) || offset != 0)
            fault(checker, "its offset is not 0");
        if (input->storage == NONE) {
            if (input->is_written) fault(checker, "it is written, but has no storage");
        } else if (input->storage >= plan->storage_count || plan->storages[input->storage].kind != STORAGE_INPUT ||
                   plan->storages[input->storage].index != i) {
            fault(checker, "its storage is not an input's storage of its own");
        }
    }
    return INSITU_OK;
}

static void check_output_alias(plan_checker *checker, const plan_output *output) {
    const plan *plan = checker->plan;
    const plan_storage *storage = &plan->storages[output->operand.storage];
    switch (output->alias) {
    case ALIAS_NONE: return;
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
    fault(checker, "its alias kind is unknown");
}

static insitu_status check_outputs(plan_checker *checker) {
    const plan *plan = checker->plan;
    map names = {0};
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const plan_output *output = &plan->outputs[i];
        at(checker, "output %u '%s'", i, shown(output->name));
        TRY(check_unique(checker, &names, output->name));
        switch (output->kind) {
        case OUTPUT_TENSOR:
            if (check_operand(checker, &output->operand, "its value")) check_output_alias(checker, output);
            break;
        case OUTPUT_NUMBER: check_sym(checker, output->value, "its value"); break;
        case OUTPUT_NONE: break;
        default: fault(checker, "its kind is unknown");
        }
    }
    return INSITU_OK;
}

/* names: of states and buffers, which a saved state holds side by side. */
static insitu_status check_states(plan_checker *checker, map *names) {
    const plan *plan = checker->plan;
    for (uint32_t i = 0; i < plan->state_storage_count; i++) {
        const plan_state_storage *storage = &plan->state_storages[i];
        at(checker, "state storage %u", i);
        if (storage->bytes > INT64_MAX) fault(checker, "it is too large");
        if (storage->initial != NONE &&
            (storage->initial >= plan->weight_count || plan->weights[storage->initial].size < storage->bytes))
            fault(checker, "its initial value does not exist, or is too small");
    }
    for (uint32_t i = 0; i < plan->state_count; i++) {
        const plan_state *state = &plan->states[i];
        at(checker, "state %u '%s'", i, shown(state->name));
        TRY(check_unique(checker, names, state->name));
        if (state->state_storage >= plan->state_storage_count)
            fault(checker, "it has no storage");
        else if (check_type(checker, &state->type, "its type") &&
                 !fits_in(&plan->symbols, &state->type, plan->state_storages[state->state_storage].bytes))
            fault(checker, "its sizes are not constants within its storage");
    }
    return INSITU_OK;
}

static insitu_status check_buffers(plan_checker *checker, map *names) {
    const plan *plan = checker->plan;
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        const plan_buffer *buffer = &plan->buffers[i];
        at(checker, "buffer %u '%s'", i, shown(buffer->name));
        TRY(check_unique(checker, names, buffer->name));
        if (buffer->weight >= plan->weight_count)
            fault(checker, "its weight does not exist");
        else if (check_type(checker, &buffer->type, "its type") &&
                 !fits_in(&plan->symbols, &buffer->type, plan->weights[buffer->weight].size))
            fault(checker, "its sizes are not constants within its weight");
    }
    return INSITU_OK;
}

static void check_asserts_and_report(plan_checker *checker) {
    const plan *plan = checker->plan;
    for (uint32_t i = 0; i < plan->assert_count; i++) {
        at(checker, "assertion %u", i);
        if (!plan->asserts[i].message || !plan->asserts[i].source) fault(checker, "it has no message or source");
        check_sym(checker, plan->asserts[i].condition, "its condition");
    }
    for (uint32_t i = 0; i < plan->report_count; i++) {
        const report_row *row = &plan->report[i];
        at(checker, "report row %u", i);
        if (!row->name || !row->update || !row->reason) fault(checker, "a text of it is missing");
        check_type(checker, &row->type, "its type");
        check_int(checker, row->written, 0, "its written bytes");
        check_int(checker, row->moved, 0, "its moved bytes");
        check_int(checker, row->copied, 0, "its copied bytes");
    }
}

/* ---- steps ---- */

static void check_attr(plan_checker *checker, const attr_row *row, const attr *attr) {
    const char *name = attr_name(row->id);
    if (attr->kind == ATTR_KIND_NONE) {
        if (!row->optional) fault(checker, "attribute %s is missing", name);
        return;
    }
    if (attr->kind != attr_kind_of(row->id)) {
        fault(checker, "attribute %s is of the wrong kind", name);
        return;
    }
    switch (attr->kind) {
    case ATTR_KIND_NONE: break;
    case ATTR_KIND_SYM: check_sym(checker, attr->value, name); break;
    case ATTR_KIND_SYMS:
        if (attr->list.count > MAX_NODES) fault(checker, "attribute %s is too long", name);
        for (uint32_t i = 0; i < attr->list.count && i <= MAX_NODES; i++)
            check_int(checker, attr->list.items[i], INT64_MIN, name);
        break;
    case ATTR_KIND_DTYPE:
        if ((uint32_t)attr->dtype >= DTYPE_COUNT) fault(checker, "attribute %s is unknown", name);
        break;
    case ATTR_KIND_OP:
        if ((uint32_t)attr->op >= OP_COUNT) fault(checker, "attribute %s is unknown", name);
        break;
    }
}

static bool same_place(const plan_operand *a, const plan_operand *b) {
    if (a->storage != b->storage || a->type.dtype != b->type.dtype || !shape_same(&a->type.shape, &b->type.shape) ||
        !sym_same(a->type.offset, b->type.offset))
        return false;
    for (uint32_t i = 0; i < a->type.shape.rank; i++)
        if (!sym_same(a->type.strides[i], b->type.strides[i])) return false;
    return true;
}

static void check_layer_step(plan_checker *checker, const plan_step *step) {
    const layer_info *info = layer_info_of(step->layer);
    if (step->operand_count < info->min_operands ||
        (info->max_operands != NONE && step->operand_count > info->max_operands))
        fault(checker, "%s does not take %u operands", info->name, step->operand_count);
    if (step->result_count != info->results)
        fault(checker, "%s does not give %u results", info->name, step->result_count);
    if (info->attr_count && !step->attrs) {
        fault(checker, "its attributes are missing");
        return;
    }
    for (uint32_t i = 0; i < info->attr_count; i++) check_attr(checker, &info->attrs[i], &step->attrs[i]);
    if ((info->traits & TRAIT_UPDATE) && step->result_count && step->operand_count &&
        !same_place(&step->results[0], &step->operands[0]))
        fault(checker, "%s does not update its operand in place", info->name);
}

static void check_index_step(plan_checker *checker, const plan_step *step) {
    if (step->operand_count != 1 || step->result_count != 0)
        fault(checker, "an index check takes one operand");
    else if ((uint32_t)step->operands[0].type.dtype < DTYPE_COUNT &&
             dtype_kind_of(step->operands[0].type.dtype) != KIND_SIGNED &&
             dtype_kind_of(step->operands[0].type.dtype) != KIND_UNSIGNED)
        fault(checker, "an index check takes integers");
    check_int(checker, step->extent, 0, "its extent");
    if (checker->written_before) fault(checker, "an index check follows the first write to a state or an input");
}

/* An operand's storage is alive in this step, and a result's may be written. */
static void check_use(plan_checker *checker, uint32_t step, const plan_operand *operand, bool is_result) {
    const plan *plan = checker->plan;
    if (operand->storage >= plan->storage_count || !checker->storage_is_good[operand->storage]) return;
    const plan_storage *storage = &plan->storages[operand->storage];
    if (storage->kind == STORAGE_ARENA && (step < storage->first_step || step > storage->last_step))
        fault(checker, "it uses storage %u, which does not live then", operand->storage);
    if (!is_result) return;
    if (storage->kind == STORAGE_WEIGHT) fault(checker, "it writes a weight");
    if (storage->kind == STORAGE_INPUT && !plan->inputs[storage->index].is_written)
        fault(checker, "it writes an input that is not declared written");
    if (storage->kind != STORAGE_STATE && storage->kind != STORAGE_INPUT) return;
    if (step < plan->first_write) fault(checker, "it writes a state or an input before the plan's first write");
    checker->written_before = true;
}

static void check_step(plan_checker *checker, uint32_t index) {
    const plan_step *step = &checker->plan->steps[index];
    at(checker, "step %u '%s'", index, shown(step->name));
    if (!step->name || !step->source) fault(checker, "it has no name or source");
    if ((uint32_t)step->layer >= LAYER_KIND_COUNT || step->operand_count > MAX_NODES ||
        step->result_count > MAX_NODES) {
        fault(checker, "its layer is unknown, or it has too many operands");
        return;
    }
    for (uint32_t i = 0; i < step->operand_count; i++) check_operand(checker, &step->operands[i], "an operand");
    for (uint32_t i = 0; i < step->result_count; i++) check_operand(checker, &step->results[i], "a result");
    if (step->kind == STEP_LAYER)
        check_layer_step(checker, step);
    else if (step->kind == STEP_CHECK_INDEX)
        check_index_step(checker, step);
    else
        fault(checker, "its kind is unknown");
    for (uint32_t i = 0; i < step->operand_count; i++) check_use(checker, index, &step->operands[i], false);
    for (uint32_t i = 0; i < step->result_count; i++) check_use(checker, index, &step->results[i], true);
    check_int(checker, step->state_written, 0, "its written bytes");
    check_int(checker, step->state_moved, 0, "its moved bytes");
    check_int(checker, step->state_copied, 0, "its copied bytes");
    check_int(checker, step->weight_read, 0, "its read bytes");
    check_int(checker, step->output_copied, 0, "its copied output bytes");
}

static insitu_status check_all(plan_checker *checker) {
    plan *plan = checker->plan;
    map saved_names = {0};
    check_counts(checker);
    if (checker->fault_count) return INSITU_OK;
    check_symbols(checker);
    TRY(mark_unbound(checker));
    TRY(arena_array(&checker->scratch, plan->storage_count, sizeof(bool), &checker->storage_is_good));
    check_weights(checker);
    for (uint32_t i = 0; i < plan->storage_count; i++) checker->storage_is_good[i] = check_storage(checker, i);
    TRY(check_states(checker, &saved_names));
    TRY(check_buffers(checker, &saved_names));
    TRY(check_inputs(checker));
    TRY(check_outputs(checker));
    check_asserts_and_report(checker);
    at(checker, "plan");
    if (plan->first_write > plan->step_count) fault(checker, "its first write is step %u", plan->first_write);
    for (uint32_t i = 0; i < plan->step_count; i++) check_step(checker, i);
    return INSITU_OK;
}

insitu_status plan_verify(plan *plan, insitu_diag *diag) {
    plan_checker checker = {.plan = plan};
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
