/* Checks a network: order of definition, arity, inference again, rows of inputs, states and constants, types of next
 * values and mutations; its regions likewise, each of which one layer runs. All faults are counted, the first few named. */
#include "network/network_int.h"

typedef struct checker {
    network_t *network;
    text_t faults;
    uint32_t count;
    arena_t scratch;
    bitset_t defined, ordered, run; /* run: the regions of layers so far */
} checker_t;

static void fault(checker_t *c, const char *format, ...) PRINTF_LIKE(2, 3);
static void fault(checker_t *c, const char *format, ...) {
    if (c->count++ >= 10) return;
    if (c->count > 1) text_printf(&c->faults, "; ");
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&c->faults, format, arguments);
    va_end(arguments);
}

static insitu_status check_inner(checker_t *c, network_t *region, uint32_t depth);

static bool exists(const checker_t *c, tensor_id_t tensor) { return tensor.index < c->network->tensor_count; }

static bool is_defined(const checker_t *c, tensor_id_t tensor) {
    return exists(c, tensor) && bitset_has(&c->defined, tensor.index);
}

/* A row owns its tensor: role and index point back. */
static void check_owner(checker_t *c, tensor_id_t tensor, tensor_role_t role, uint32_t index, const char *what) {
    if (!exists(c, tensor)) {
        fault(c, "%s %u has no tensor", what, index);
        return;
    }
    const network_tensor_t *owned = network_tensor_of(c->network, tensor);
    if (owned->role != role || owned->index != index) fault(c, "%s %u does not own %%%s", what, index, owned->name);
    bitset_add(&c->defined, tensor.index);
}

static void check_record(checker_t *c, uint32_t record, const char *what, uint32_t index) {
    if (record != NONE && record >= c->network->record_count) fault(c, "%s %u has no record", what, index);
}

static void check_constant_sizes(checker_t *c, tensor_id_t tensor) {
    if (!exists(c, tensor)) return;
    const network_tensor_t *checked = network_tensor_of(c->network, tensor);
    for (uint32_t i = 0; i < checked->shape.rank; i++) {
        int64_t size;
        if (!sym_constant(&c->network->symbols, checked->shape.sizes[i], &size) || size < 0) {
            fault(c, "%%%s must have constant sizes", checked->name);
        }
    }
}

/* Nothing is stored backwards, or before the beginning of its memory. offset NULL: it begins there. */
static void check_layout(checker_t *c, tensor_id_t tensor, const sym_t *strides, const sym_t *offset) {
    if (!exists(c, tensor)) return;
    const network_tensor_t *checked = network_tensor_of(c->network, tensor);
    int64_t least, most = 0;
    for (uint32_t i = 0; i < checked->shape.rank && most >= 0; i++)
        sym_range(&c->network->symbols, strides[i], &least, &most);
    if (most >= 0 && offset) sym_range(&c->network->symbols, *offset, &least, &most);
    if (most < 0) fault(c, "%%%s has a negative stride or offset", checked->name);
}

/* Sizes that vary are symbols, which whoever creates a state chooses; there is no initial value then. */
static void check_state_sizes(checker_t *c, const network_state_t *state) {
    if (!exists(c, state->tensor)) return;
    const network_tensor_t *checked = network_tensor_of(c->network, state->tensor);
    for (uint32_t i = 0; i < checked->shape.rank; i++) {
        int64_t size;
        bool is_constant = sym_constant(&c->network->symbols, checked->shape.sizes[i], &size);
        bool is_symbol = sym_symbol_index(&c->network->symbols, checked->shape.sizes[i]) != NONE;
        if (is_constant ? size < 0 : !is_symbol || state->record != NONE)
            fault(c, "state '%s' must have constant sizes, or symbols and no initial value", state->name);
    }
}

/* Sizes of what goes in are known before any layer has run. */
static void check_given_sizes(checker_t *c, tensor_id_t tensor) {
    if (!exists(c, tensor)) return;
    const network_tensor_t *checked = network_tensor_of(c->network, tensor);
    for (uint32_t i = 0; i < checked->shape.rank; i++)
        if (network_reads_size(c->network, checked->shape.sizes[i]))
            fault(c, "size %u of %%%s is a number that the network reads from a tensor", i, checked->name);
}

/* Names of what outlives a call are unique. */
static void check_saved_name(checker_t *c, map_t *names, const char *name) {
    if (map_find(names, name) != NONE) fault(c, "two states or buffers are named '%s'", name);
    if (map_set(names, &c->scratch, name, 0) != INSITU_OK) fault(c, "out of memory");
}

static void check_buffer(checker_t *c, const network_buffer_t *buffer) {
    const tensor_type_t *type = &buffer->type;
    const sym_pool_t *pool = &c->network->symbols;
    int64_t number, elements = 1;
    bool is_constant = sym_constant(pool, type->offset, &number) && number >= 0;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        is_constant = is_constant && sym_constant(pool, type->strides[i], &number) && number >= 0;
        is_constant = is_constant && sym_constant(pool, type->shape.sizes[i], &number) && number >= 0;
        if (is_constant && number == 0) elements = 0;
    }
    if (!is_constant) fault(c, "buffer '%s' must have constant sizes and strides", buffer->name);
    if (buffer->record == NONE && elements) fault(c, "buffer '%s' has elements and no record", buffer->name);
}

static void check_rows(checker_t *c) {
    const network_t *network = c->network;
    map_t names = {0};
    for (uint32_t i = 0; i < network->input_count; i++) {
        const network_input_t *input = &network->inputs[i];
        bool is_tensor = input->tensor.index != NONE;
        if (is_tensor + input->is_scalar + input->is_none != 1) fault(c, "input '%s' must be one thing", input->name);
        if (is_tensor) check_owner(c, input->tensor, TENSOR_INPUT, i, "input");
        if (is_tensor) check_given_sizes(c, input->tensor);
        if (is_tensor) check_layout(c, input->tensor, input->strides, NULL);
        if (input->is_scalar && input->dtype != DTYPE_I64 && input->dtype != DTYPE_F64 && input->dtype != DTYPE_BOOL) {
            fault(c, "input '%s' is a number of dtype %s", input->name, dtype_name(input->dtype));
        }
    }
    for (uint32_t i = 0; i < network->state_count; i++) {
        check_owner(c, network->states[i].tensor, TENSOR_STATE, i, "state");
        check_state_sizes(c, &network->states[i]);
        check_given_sizes(c, network->states[i].tensor);
        check_layout(c, network->states[i].tensor, network->states[i].strides, &network->states[i].offset);
        check_record(c, network->states[i].record, "state", i);
        check_saved_name(c, &names, network->states[i].name);
    }
    for (uint32_t i = 0; i < network->constant_count; i++) {
        check_owner(c, network->constants[i].tensor, TENSOR_CONSTANT, i, "constant");
        check_constant_sizes(c, network->constants[i].tensor);
        check_layout(c, network->constants[i].tensor, network->constants[i].strides, &network->constants[i].offset);
        check_record(c, network->constants[i].record, "constant", i);
    }
    for (uint32_t i = 0; i < network->buffer_count; i++) {
        check_record(c, network->buffers[i].record, "buffer", i);
        check_saved_name(c, &names, network->buffers[i].name);
        check_buffer(c, &network->buffers[i]);
    }
    for (uint32_t i = 0; i < network->assert_count; i++) {
        if (sym_kind_of(&network->symbols, network->asserts[i].condition) != SYM_KIND_BOOL) {
            fault(c, "assertion %u is not a condition", i);
        }
    }
}

static void check_types(checker_t *c, const layer_t *layer) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    inferred_t types[MAX_RESULTS];
    if (network_infer(c->network, layer->kind, layer->operands, layer->operand_count, layer->attrs, types, &diag) !=
        INSITU_OK) {
        fault(c, "%s: %s", layer->name, diag.message);
        insitu_diag_release(&diag);
        return;
    }
    for (uint32_t i = 0; i < layer->result_count; i++) {
        const network_tensor_t *result = network_tensor_of(c->network, layer->results[i]);
        if (result->dtype != types[i].dtype || !shape_same(&result->shape, &types[i].shape)) {
            fault(c, "%%%s does not have the type that inference finds", result->name);
        }
    }
}

/* A region that a layer runs is no other's. */
static void check_layer_regions(checker_t *c, const layer_t *layer) {
    const attr_t *regions = &layer->attrs[0];
    for (uint32_t i = 0; regions->kind == ATTR_KIND_SYMS && i < regions->list.count; i++) {
        int64_t index;
        if (!sym_constant(&c->network->symbols, regions->list.items[i], &index) || index < 0 ||
            index >= (int64_t)c->network->region_count)
            continue; /* inference says so */
        if (bitset_has(&c->run, (uint32_t)index)) fault(c, "%s: region %u is run twice", layer->name, (uint32_t)index);
        bitset_add(&c->run, (uint32_t)index);
    }
}

static void check_layer(checker_t *c, layer_id_t id) {
    if (id.index >= c->network->layer_count || bitset_has(&c->ordered, id.index)) {
        fault(c, "layer %u is absent or ordered twice", id.index);
        return;
    }
    bitset_add(&c->ordered, id.index);
    const layer_t *layer = network_layer_of(c->network, id);
    bool sound = layer->result_count == layer_result_count(c->network, layer->kind, layer->attrs);
    if (!sound) fault(c, "%s has %u results", layer->name, layer->result_count);
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        if (is_defined(c, layer->operands[i])) continue;
        fault(c, "%s: operand %u is not defined before", layer->name, i);
        sound = false;
    }
    for (uint32_t i = 0; i < layer->result_count; i++) {
        if (!exists(c, layer->results[i])) {
            fault(c, "%s: result %u is absent", layer->name, i);
            sound = false;
            continue;
        }
        const network_tensor_t *result = network_tensor_of(c->network, layer->results[i]);
        if (result->role != TENSOR_RESULT || result->producer.index != id.index || result->index != i) {
            fault(c, "%s does not own %%%s", layer->name, result->name);
        }
        bitset_add(&c->defined, layer->results[i].index);
    }
    if (kind_has(layer->kind, TRAIT_REGIONS)) check_layer_regions(c, layer);
    if (sound) check_types(c, layer);
}

static void check_next(checker_t *c, tensor_id_t tensor, tensor_id_t next, const char *name) {
    if (!is_defined(c, next)) {
        fault(c, "the next value of '%s' is not defined", name);
        return;
    }
    if (!exists(c, tensor)) return;
    const network_tensor_t *old = network_tensor_of(c->network, tensor), *new = network_tensor_of(c->network, next);
    if (old->dtype != new->dtype || shape_equal(&c->network->symbols, &old->shape, &new->shape) != TRUTH_TRUE) {
        fault(c, "the next value of '%s' has another type", name);
    }
}

static void check_ends(checker_t *c) {
    const network_t *network = c->network;
    for (uint32_t i = 0; i < network->state_count; i++) {
        const network_state_t *state = &network->states[i];
        if (state->next.index != NONE) check_next(c, state->tensor, state->next, state->name);
    }
    for (uint32_t i = 0; i < network->mutation_count; i++) {
        uint32_t input = network->mutations[i].input;
        if (input >= network->input_count || network->inputs[input].tensor.index == NONE) {
            fault(c, "mutation %u is of no tensor input", i);
            continue;
        }
        check_next(c, network->inputs[input].tensor, network->mutations[i].next, network->inputs[input].name);
        for (uint32_t j = 0; j < i; j++) {
            if (network->mutations[j].input == input) fault(c, "input %u is mutated twice", input);
        }
    }
    for (uint32_t i = 0; i < network->output_count; i++) {
        const network_output_t *output = &network->outputs[i];
        if (output->kind == OUTPUT_TENSOR && !is_defined(c, output->tensor)) {
            fault(c, "output '%s' is not defined", output->name);
        }
    }
}

/* A region's symbols are the network's of the same name, of which it knows no more than the network does, or its own. */
static insitu_status check_region_symbols(checker_t *c, const network_t *region) {
    const sym_pool_t *outer = &c->network->symbols;
    bool *read_outside, *read_inside;
    TRY(arena_array(&c->scratch, outer->symbol_count + 1, sizeof(bool), &read_outside));
    TRY(arena_array(&c->scratch, region->symbols.symbol_count + 1, sizeof(bool), &read_inside));
    network_find_read(c->network, read_outside);
    network_find_read(region, read_inside);
    for (uint32_t i = 0; i < region->symbols.symbol_count; i++) {
        const symbol_t *inside = &region->symbols.symbols[i];
        uint32_t same = sym_find_symbol(outer, inside->name);
        if (same == NONE) continue;
        const symbol_t *outside = &outer->symbols[same];
        if (inside->kind != outside->kind || inside->min > outside->min || inside->max < outside->max)
            fault(c, "a region has another kind, or a smaller range, for symbol '%s'", inside->name);
        if (read_inside[i] && read_outside[same])
            fault(c, "symbol '%s' is read in a region and outside of it", inside->name);
    }
    return INSITU_OK;
}

static insitu_status check_regions(checker_t *c, uint32_t depth) {
    if (c->network->region_count && depth == MAX_REGION_DEPTH) {
        fault(c, "its regions are nested deeper than %d", MAX_REGION_DEPTH);
        return INSITU_OK;
    }
    for (uint32_t i = 0; i < c->network->region_count; i++) {
        TRY(check_region_symbols(c, c->network->regions[i]));
        TRY(check_inner(c, c->network->regions[i], depth + 1));
    }
    return INSITU_OK;
}

static insitu_status check_network(checker_t *c, uint32_t depth) {
    TRY(check_regions(c, depth));
    TRY(bitset_create(&c->scratch, c->network->region_count, &c->run));
    TRY(bitset_create(&c->scratch, c->network->tensor_count, &c->defined));
    TRY(bitset_create(&c->scratch, c->network->layer_count, &c->ordered));
    check_rows(c);
    for (uint32_t i = 0; i < c->network->order_count; i++) check_layer(c, c->network->order[i]);
    check_ends(c);
    return INSITU_OK;
}

/* Faults of a region are the network's. */
static insitu_status check_inner(checker_t *c, network_t *region, uint32_t depth) {
    checker_t inner = {.network = region, .faults = c->faults, .count = c->count};
    arena_init(&inner.scratch);
    insitu_status status = check_network(&inner, depth);
    arena_release(&inner.scratch);
    c->faults = inner.faults;
    c->count = inner.count;
    return status == INSITU_OK ? sym_pool_status(&region->symbols, NULL) : status;
}

insitu_status network_verify(network_t *network, insitu_diag *diag) {
    checker_t c = {.network = network};
    arena_init(&c.scratch);
    text_init(&c.faults);
    insitu_status status = check_network(&c, 0);
    if (status == INSITU_OK) status = text_status(&c.faults, diag);
    if (status == INSITU_OK) status = sym_pool_status(&network->symbols, diag);
    if (status == INSITU_OK && c.count) {
        status = diag_set(diag, INSITU_FORMAT, "the network has %u faults: %s", c.count, c.faults.data);
    }
    text_release(&c.faults);
    arena_release(&c.scratch);
    return status;
}
