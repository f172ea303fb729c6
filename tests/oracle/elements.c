/* A network -> its elements: values, cells, what moves where. */
#include "oracle.h"
#include <stdlib.h>

void *oracle_array(arena_t *arena, size_t count, size_t size) {
    void *data = NULL;
    if (arena_array(arena, count + 1, size, &data) != INSITU_OK) abort();
    return data;
}

bool program_number(program_t *program, sym_t expression, int64_t *out) {
    sym_value_t number = {.kind = SYM_KIND_INT};
    uint32_t missing = NONE;
    bool known = sym_evaluate(&program->network->symbols, expression, program->symbol_values, program->symbol_bound,
                              &number, &missing);
    *out = number.i;
    if (known) return true;
    program->refusal = "a size or position is not a constant";
    if (missing != NONE && arena_printf(program->arena, &program->refusal, "%s is not known (--symbol)",
                                        program->network->symbols.symbols[missing].name) != INSITU_OK)
        abort();
    return false;
}

static uint32_t add_value(program_t *program, value_t made) {
    if (program->value_count >= MAX_ELEMENTS) {
        program->refusal = "too many elements";
        return 0;
    }
    if (arena_grow(program->arena, &program->values, &program->value_capacity, program->value_count + 1,
                   sizeof *program->values) != INSITU_OK)
        abort();
    program->values[program->value_count] = made;
    return program->value_count++;
}

static bool measure(program_t *program, uint32_t index) {
    const network_tensor_t *tensor = &program->network->tensors[index];
    elements_t *elements = &program->tensors[index];
    int64_t count = 1;
    elements->rank = tensor->shape.rank;
    elements->bytes = dtype_size(tensor->dtype);
    for (uint32_t i = 0; i < elements->rank; i++) {
        if (!program_number(program, tensor->shape.sizes[i], &elements->sizes[i])) return false;
        if (!checked_mul(count, elements->sizes[i], &count) || count > MAX_ELEMENTS) {
            program->refusal = "too many elements";
            return false;
        }
    }
    elements->count = (uint32_t)count;
    elements->values = oracle_array(program->arena, elements->count, sizeof *elements->values);
    return true;
}

/* ---- cells ---- */

/* The cells of a strided tensor of a storage that begins at base. */
static uint32_t *strided_cells(program_t *program, uint32_t tensor, const sym_t *strides, sym_t offset, uint32_t base,
                               uint32_t *end) {
    const elements_t *elements = &program->tensors[tensor];
    int64_t stride[MAX_RANK], first;
    uint32_t *cells = oracle_array(program->arena, elements->count, sizeof *cells);
    if (!program_number(program, offset, &first)) return cells;
    for (uint32_t d = 0; d < elements->rank; d++)
        if (!program_number(program, strides[d], &stride[d])) return cells;
    for (uint32_t i = 0; i < elements->count; i++) {
        int64_t at = first, flat = i;
        for (uint32_t d = elements->rank; d-- > 0; flat /= elements->sizes[d])
            at += flat % elements->sizes[d] * stride[d];
        if (at < 0 || at >= MAX_CELLS - base) {
            program->refusal = "state tensors are too large";
            return cells;
        }
        cells[i] = base + (uint32_t)at;
        if (cells[i] >= *end) *end = cells[i] + 1;
    }
    return cells;
}

/* Values of a tensor that lies in cells when the call begins; new cells get new values. */
static void begin_cells(program_t *program, uint32_t tensor, const uint32_t *cells, uint32_t storage, uint32_t end) {
    elements_t *elements = &program->tensors[tensor];
    for (; program->cell_count < end; program->cell_count++)
        program->cells[program->cell_count] = (cell_t){storage, NONE, NONE};
    for (uint32_t i = 0; i < elements->count; i++) {
        cell_t *cell = &program->cells[cells[i]];
        if (cell->initial == NONE)
            cell->initial = cell->last = add_value(
                program, (value_t){.kind = VALUE_OLD, .bytes = elements->bytes, .tensor = tensor, .element = i});
        elements->values[i] = cell->initial;
        if (program->values[cell->initial].bytes != elements->bytes)
            program->refusal = "a state is read as elements of two sizes";
    }
    elements->places[0] = (place_t){.cells = (uint32_t *)cells};
    elements->place_count = 1;
}

static bool begin_states(program_t *program) {
    const network_t *network = program->network;
    uint32_t *bases = oracle_array(program->arena, network->state_count, sizeof *bases);
    for (uint32_t i = 0; i < network->state_count && !program->refusal; i++) {
        const network_state_t *state = &network->states[i];
        uint32_t same = 0;
        while (same < i && (state->record == NONE || network->states[same].record != state->record)) same++;
        bases[i] = same < i ? bases[same] : program->cell_count;
        if (same < i && program->cells[bases[i]].storage != program->storage_count - 1) {
            program->refusal = "states that share a record are not neighbours";
            return false;
        }
        uint32_t storage = same < i ? program->storage_count - 1 : program->storage_count++;
        uint32_t end = program->cell_count;
        uint32_t *cells = strided_cells(program, state->tensor.index, state->strides, state->offset, bases[i], &end);
        if (program->refusal) return false;
        program->storage_names[storage] = state->name;
        begin_cells(program, state->tensor.index, cells, storage, end);
    }
    for (uint32_t i = 0; i < network->mutation_count && !program->refusal; i++) {
        const network_input_t *input = &network->inputs[network->mutations[i].input];
        uint32_t end = program->cell_count, base = end;
        uint32_t *cells = strided_cells(program, input->tensor.index, input->strides, (sym_t){0}, base, &end);
        if (program->refusal) return false;
        program->storage_names[program->storage_count] = input->name;
        begin_cells(program, input->tensor.index, cells, program->storage_count++, end);
    }
    return program->refusal == NULL;
}

static void end_tensor(program_t *program, uint32_t start, uint32_t next) {
    const elements_t *from = &program->tensors[start], *to = &program->tensors[next];
    if (start == next) return;
    if (from->count != to->count) program->refusal = "a final value has another size than its tensor";
    for (uint32_t i = 0; i < from->count && !program->refusal; i++)
        program->cells[from->places[0].cells[i]].last = to->values[i];
}

/* Cells that no tensor shows hold nothing. */
static void end_states(program_t *program) {
    const network_t *network = program->network;
    for (uint32_t i = 0; i < network->state_count; i++)
        if (network->states[i].next.index != NONE)
            end_tensor(program, network->states[i].tensor.index, network->states[i].next.index);
    for (uint32_t i = 0; i < network->mutation_count; i++)
        end_tensor(program, network->inputs[network->mutations[i].input].tensor.index,
                   network->mutations[i].next.index);
    uint32_t nothing = add_value(program, (value_t){.kind = VALUE_UNDEFINED, .tensor = NONE});
    for (uint32_t i = 0; i < program->cell_count; i++)
        if (program->cells[i].initial == NONE) program->cells[i].initial = program->cells[i].last = nothing;
}

/* ---- values ---- */

static void begin_fixed(program_t *program, uint32_t tensor, value_kind_t kind) {
    elements_t *elements = &program->tensors[tensor];
    for (uint32_t i = 0; i < elements->count && !program->refusal; i++)
        elements->values[i] =
            add_value(program, (value_t){.kind = kind, .bytes = elements->bytes, .tensor = tensor, .element = i});
}

static void add_results(program_t *program, const layer_t *layer, uint32_t compute) {
    for (uint32_t r = 0; r < layer->result_count; r++) {
        elements_t *elements = &program->tensors[layer->results[r].index];
        for (uint32_t i = 0; i < elements->count && !program->refusal; i++)
            elements->values[i] = add_value(program, (value_t){.kind = VALUE_COMPUTED,
                                                               .bytes = elements->bytes,
                                                               .tensor = layer->results[r].index,
                                                               .element = i,
                                                               .compute = compute,
                                                               .result = r});
    }
}

static bool add_layer(program_t *program, uint32_t index) {
    const layer_t *layer = &program->network->layers[index];
    uint32_t traits = layer_info_of(layer->kind)->traits;
    if (!movement_of(program, index, &program->origins[index])) return false;
    if (program->origins[index]) {
        elements_t *result = &program->tensors[layer->results[0].index];
        for (uint32_t i = 0; i < result->count; i++) {
            origin_t from = program->origins[index][i];
            result->values[i] = program->tensors[layer->operands[from.operand].index].values[from.element];
        }
        return true;
    }
    if (layer->kind == LAYER_FILL || layer->kind == LAYER_IOTA || layer->kind == LAYER_EMPTY) {
        begin_fixed(program, layer->results[0].index, layer->kind == LAYER_EMPTY ? VALUE_UNDEFINED : VALUE_FIXED);
        return program->refusal == NULL;
    }
    if (program->compute_count == MAX_COMPUTES) program->refusal = "too many layers that compute";
    if (layer->result_count > 2) program->refusal = "a layer has more than two results";
    if (program->refusal) return false;
    bool elementwise = (traits & TRAIT_ELEMENTWISE) || layer->kind == LAYER_MASK_UPDATE;
    add_results(program, layer, program->compute_count);
    program->computes[program->compute_count++] =
        (compute_t){.layer = index,
                    .elementwise = elementwise,
                    .updates = (traits & TRAIT_UPDATE) && layer->kind != LAYER_MASK_UPDATE,
                    .replaces = elementwise || (traits & TRAIT_REPLACE)};
    return program->refusal == NULL;
}

/* ---- what the program itself stores outside states ---- */

static uint32_t root_of(const program_t *program, uint32_t tensor) {
    for (;;) {
        const network_tensor_t *row = &program->network->tensors[tensor];
        if (row->role != TENSOR_RESULT) return tensor;
        const layer_t *layer = &program->network->layers[row->producer.index];
        if (!(layer_info_of(layer->kind)->traits & TRAIT_VIEW)) return tensor;
        tensor = layer->operands[0].index;
    }
}

bool program_output_is_state(const program_t *program, uint32_t output) {
    const network_t *network = program->network;
    uint32_t root = root_of(program, network->outputs[output].tensor.index);
    const elements_t *tensor = &program->tensors[network->outputs[output].tensor.index];
    bool found = false;
    for (uint32_t i = 0; i < network->state_count && !found; i++)
        found = network->states[i].next.index != NONE && root_of(program, network->states[i].next.index) == root;
    for (uint32_t i = 0; i < network->mutation_count && !found; i++)
        found = root_of(program, network->mutations[i].next.index) == root;
    for (uint32_t i = 0; i < tensor->count && found; i++) {
        uint32_t at = 0;
        while (at < program->cell_count && program->cells[at].last != tensor->values[i]) at++;
        found = at < program->cell_count;
    }
    return found;
}

static void keep_tensor(program_t *program, uint32_t tensor) {
    const elements_t *elements = &program->tensors[tensor];
    for (uint32_t i = 0; i < elements->count; i++) program->values[elements->values[i]].kept = true;
}

/* Does a reshape need elements in another order than its operand's memory has them in? */
static bool reorders(const program_t *program, uint32_t index) {
    const layer_t *layer = &program->network->layers[index];
    if (layer->kind != LAYER_RESHAPE) return false;
    const elements_t *result = &program->tensors[layer->results[0].index];
    uint32_t *at = oracle_array(program->arena, result->count, sizeof *at);
    for (uint32_t i = 0; i < result->count; i++) {
        uint32_t element = i, tensor = layer->operands[0].index;
        while (program->network->tensors[tensor].role == TENSOR_RESULT) {
            uint32_t producer = program->network->tensors[tensor].producer.index;
            const layer_t *view = &program->network->layers[producer];
            if (!(layer_info_of(view->kind)->traits & TRAIT_VIEW) || !program->origins[producer]) break;
            element = program->origins[producer][element].element;
            tensor = view->operands[0].index;
        }
        at[i] = element;
    }
    return !elements_are_strided(result, at);
}

/* The movement below a tensor that something reads: what its copies, concats and updates of tensors of its own store. */
static void keep_below(program_t *program, uint32_t tensor, const bool *chain, bool *seen) {
    const network_tensor_t *row = &program->network->tensors[tensor];
    if (seen[tensor] || row->role != TENSOR_RESULT || !program->origins[row->producer.index]) return;
    seen[tensor] = true;
    uint32_t index = row->producer.index;
    const layer_t *layer = &program->network->layers[index];
    for (uint32_t i = 0; i < layer->operand_count; i++) keep_below(program, layer->operands[i].index, chain, seen);
    bool stores = layer->kind == LAYER_COPY || layer->kind == LAYER_CONCAT || reorders(program, index);
    if (layer_info_of(layer->kind)->traits & TRAIT_UPDATE) {
        const elements_t *result = &program->tensors[tensor];
        stores = true;
        for (uint32_t i = 0; i < result->count && chain[index]; i++) {
            const value_t *old = &program->values[result->values[i]];
            if (program->origins[index][i].operand == 0 && old->kind == VALUE_OLD && !old->kept) stores = false;
        }
    }
    if (stores) keep_tensor(program, tensor);
}

/* What a tensor was before views, copies and updates. */
static uint32_t beginning_of(const network_t *network, uint32_t tensor) {
    for (;;) {
        const network_tensor_t *row = &network->tensors[tensor];
        if (row->role != TENSOR_RESULT) return tensor;
        const layer_t *layer = &network->layers[row->producer.index];
        uint32_t traits = layer_info_of(layer->kind)->traits;
        if (!(traits & (TRAIT_UPDATE | TRAIT_VIEW)) && layer->kind != LAYER_COPY) return tensor;
        tensor = layer->operands[0].index;
    }
}

/* Is it the state's old value, or what a layer that computes nothing makes of that? */
static bool is_own(const program_t *program, const value_t *value, uint32_t state) {
    if (value->kind == VALUE_OLD) return value->tensor == state;
    if (value->kind != VALUE_COMPUTED || value->result != 0) return false;
    const layer_t *layer = &program->network->layers[program->computes[value->compute].layer];
    bool rearranges = layer->kind == LAYER_FLIP || layer->kind == LAYER_TRIANGLE || layer->kind == LAYER_PAD ||
                      layer->kind == LAYER_SORT || layer->kind == LAYER_TOPK || layer->kind == LAYER_INDEX ||
                      layer->kind == LAYER_GATHER;
    const elements_t *x = &program->tensors[layer->operands[0].index];
    for (uint32_t i = 0; rearranges && i < x->count; i++)
        if (is_own(program, &program->values[x->values[i]], state)) return true;
    return false;
}

/* What updates in the chain store, and what the program makes for that. */
static void find_written(program_t *program, const bool *chain, bool *seen) {
    for (uint32_t i = 0; i < program->network->order_count; i++) {
        uint32_t index = program->network->order[i].index;
        const layer_t *layer = &program->network->layers[index];
        if (!chain[index] || !(layer_info_of(layer->kind)->traits & TRAIT_UPDATE)) continue;
        const elements_t *source = &program->tensors[layer->operands[1].index];
        const uint32_t state = beginning_of(program->network, layer->results[0].index);
        for (uint32_t k = 0; k < source->count; k++) {
            value_t *stored = &program->values[source->values[k]];
            stored->written |= !is_own(program, stored, state);
        }
        keep_below(program, layer->operands[1].index, chain, seen);
    }
}

/* The layers that move what becomes a final value: an update among them works in a state, or copies it. */
static void find_chain(const program_t *program, uint32_t tensor, bool *chain) {
    const network_tensor_t *row = &program->network->tensors[tensor];
    if (row->role != TENSOR_RESULT || !program->origins[row->producer.index] || chain[row->producer.index]) return;
    const layer_t *layer = &program->network->layers[row->producer.index];
    chain[row->producer.index] = true;
    for (uint32_t k = 0; k < (layer->kind == LAYER_SHIFT_UPDATE ? 1 : layer->operand_count); k++)
        find_chain(program, layer->operands[k].index, chain);
}

/* Updates of the state that its final value is computed from, in whatever way: the program's writes of that state. Shifts are
 * what it computes. */
static void find_updates(const program_t *program, uint32_t state, uint32_t tensor, bool *seen, bool *chain) {
    const network_tensor_t *row = &program->network->tensors[tensor];
    if (tensor == NONE || row->role != TENSOR_RESULT || seen[row->producer.index]) return;
    seen[row->producer.index] = true;
    const layer_t *layer = &program->network->layers[row->producer.index];
    bool is_update = (layer_info_of(layer->kind)->traits & TRAIT_UPDATE) && layer->kind != LAYER_SHIFT_UPDATE;
    if (is_update && beginning_of(program->network, tensor) == state) chain[row->producer.index] = true;
    for (uint32_t k = 0; k < layer->operand_count; k++)
        find_updates(program, state, layer->operands[k].index, seen, chain);
}

static void find_chains(program_t *program, uint32_t state, uint32_t next, bool *chain) {
    if (next == NONE) return;
    find_chain(program, next, chain);
    find_updates(program, state, next, oracle_array(program->arena, program->network->layer_count, sizeof(bool)),
                 chain);
}

static void find_kept(program_t *program) {
    const network_t *network = program->network;
    bool *seen = oracle_array(program->arena, network->tensor_count, sizeof *seen);
    bool *chain = oracle_array(program->arena, network->layer_count, sizeof *chain);
    for (uint32_t i = 0; i < network->state_count; i++)
        find_chains(program, network->states[i].tensor.index, network->states[i].next.index, chain);
    for (uint32_t i = 0; i < network->mutation_count; i++)
        find_chains(program, network->inputs[network->mutations[i].input].tensor.index,
                    network->mutations[i].next.index, chain);
    find_written(program, chain, seen);
    for (uint32_t i = 0; i < program->compute_count; i++) {
        const layer_t *layer = &network->layers[program->computes[i].layer];
        if (program->computes[i].dead) continue;
        for (uint32_t k = 0; k < layer->operand_count; k++) keep_below(program, layer->operands[k].index, chain, seen);
    }
    for (uint32_t i = 0; i < network->output_count; i++) {
        if (network->outputs[i].kind != OUTPUT_TENSOR || program_output_is_state(program, i)) continue;
        keep_tensor(program, network->outputs[i].tensor.index);
        keep_below(program, network->outputs[i].tensor.index, chain, seen);
    }
}

static void mark_live(const program_t *program, const elements_t *tensor, bool *live) {
    for (uint32_t i = 0; i < tensor->count; i++) {
        const value_t *value = &program->values[tensor->values[i]];
        if (value->kind == VALUE_COMPUTED) live[value->compute] = true;
    }
}

static void find_dead(program_t *program) {
    const network_t *network = program->network;
    bool live[MAX_COMPUTES] = {false};
    for (uint32_t i = 0; i < program->cell_count; i++) {
        const value_t *last = &program->values[program->cells[i].last];
        if (last->kind == VALUE_COMPUTED) live[last->compute] = true;
    }
    for (uint32_t i = 0; i < network->output_count; i++)
        if (network->outputs[i].kind == OUTPUT_TENSOR)
            mark_live(program, &program->tensors[network->outputs[i].tensor.index], live);
    for (uint32_t c = program->compute_count; c-- > 0;) {
        const layer_t *layer = &network->layers[program->computes[c].layer];
        program->computes[c].dead = !live[c] && layer->result_count > 0;
        for (uint32_t k = 0; k < layer->operand_count && !program->computes[c].dead; k++)
            mark_live(program, &program->tensors[layer->operands[k].index], live);
    }
}

static bool is_mutated(const network_t *network, uint32_t input) {
    for (uint32_t i = 0; i < network->mutation_count; i++)
        if (network->mutations[i].input == input) return true;
    return false;
}

static void begin_sources(program_t *program) {
    const network_t *network = program->network;
    for (uint32_t i = 0; i < network->tensor_count && !program->refusal; i++) {
        const network_tensor_t *tensor = &network->tensors[i];
        if (tensor->role == TENSOR_CONSTANT || (tensor->role == TENSOR_INPUT && !is_mutated(network, tensor->index)))
            begin_fixed(program, i, VALUE_FIXED);
    }
}

bool program_build(program_t *program, const network_t *network, arena_t *arena) {
    program->network = network;
    program->arena = arena;
    program->tensors = oracle_array(arena, network->tensor_count, sizeof *program->tensors);
    program->origins = oracle_array(arena, network->layer_count, sizeof(origin_t *));
    program->storage_names = oracle_array(arena, network->state_count + network->mutation_count, sizeof(char *));
    for (uint32_t i = 0; i < network->tensor_count; i++)
        if (!measure(program, i)) return false;
    if (!begin_states(program)) return false;
    begin_sources(program);
    for (uint32_t i = 0; i < network->order_count && !program->refusal; i++)
        if (!add_layer(program, network->order[i].index)) return false;
    end_states(program);
    if (program->refusal) return false;
    find_dead(program);
    find_kept(program);
    return program_find_places(program);
}
