/* Where in states a tensor may be made: places are followed from final values back to what they are made of, and from the
 * operands of updates to their results, until no new one is found. */
#include "oracle.h"
#include <string.h>

bool elements_are_strided(const elements_t *tensor, const uint32_t *cells) {
    int64_t strides[MAX_RANK], step = 1;
    for (uint32_t d = tensor->rank; d-- > 0; step *= tensor->sizes[d])
        strides[d] = tensor->sizes[d] > 1 && tensor->count ? (int64_t)cells[step] - cells[0] : 0;
    for (uint32_t i = 0; i < tensor->count; i++) {
        int64_t at = cells[0], flat = i;
        for (uint32_t d = tensor->rank; d-- > 0; flat /= tensor->sizes[d]) at += flat % tensor->sizes[d] * strides[d];
        if (at != cells[i]) return false;
    }
    return true;
}

typedef struct finder {
    program_t *program;
    bool *once; /* scratch: cells */
    bool grew;
} finder_t;

static void classify(finder_t *finder, const elements_t *tensor, place_t *place) {
    place->whole = true;
    memset(finder->once, 0, finder->program->cell_count + 1);
    for (uint32_t i = 0; i < tensor->count && place->whole; i++) {
        place->whole = place->cells[i] != NONE && !finder->once[place->cells[i]];
        if (place->whole) finder->once[place->cells[i]] = true;
    }
    place->strided = place->whole && elements_are_strided(tensor, place->cells);
}

static void add_place(finder_t *finder, uint32_t index, const uint32_t *cells) {
    program_t *program = finder->program;
    elements_t *tensor = &program->tensors[index];
    uint32_t lying = 0;
    for (uint32_t i = 0; i < tensor->count; i++) {
        if (cells[i] == NONE) continue;
        const value_t *there = &program->values[program->cells[cells[i]].initial];
        if (there->bytes != tensor->bytes) return;
        lying++;
    }
    for (uint32_t p = 0; p < tensor->place_count; p++)
        if (memcmp(tensor->places[p].cells, cells, tensor->count * sizeof *cells) == 0) return;
    if (lying == 0) return;
    if (tensor->place_count == MAX_PLACES) {
        program->capped = true;
        return;
    }
    place_t *place = &tensor->places[tensor->place_count++];
    place->cells = oracle_array(program->arena, tensor->count, sizeof *cells);
    memcpy(place->cells, cells, tensor->count * sizeof *cells);
    classify(finder, tensor, place);
    finder->grew = true;
}

/* The operand's elements where those of the result lie that are they. Where several are one element: the first, the last. */
static void follow_down(finder_t *finder, const layer_t *layer, const origin_t *origins, uint32_t operand,
                        const uint32_t *cells) {
    program_t *program = finder->program;
    const elements_t *result = &program->tensors[layer->results[0].index];
    uint32_t tensor = layer->operands[operand].index;
    uint32_t *below = oracle_array(program->arena, program->tensors[tensor].count, sizeof *below);
    for (uint32_t last = 0; last < 2; last++) {
        memset(below, 0xff, program->tensors[tensor].count * sizeof *below);
        for (uint32_t i = 0; i < result->count; i++) {
            if (origins[i].operand != operand) continue;
            uint32_t *at = &below[origins[i].element];
            if (*at == NONE || (last && cells[i] != NONE)) *at = cells[i];
        }
        add_place(finder, tensor, below);
    }
}

static void follow_movement(finder_t *finder, const layer_t *layer, const origin_t *origins) {
    program_t *program = finder->program;
    elements_t *result = &program->tensors[layer->results[0].index];
    bool update = layer_info_of(layer->kind)->traits & TRAIT_UPDATE;
    for (uint32_t p = 0; p < result->place_count; p++) {
        for (uint32_t k = 0; k < layer->operand_count; k++)
            follow_down(finder, layer, origins, k, result->places[p].cells);
        if (update) add_place(finder, layer->operands[0].index, result->places[p].cells);
    }
    if (layer->kind == LAYER_CONCAT) return;
    const elements_t *x = &program->tensors[layer->operands[0].index];
    uint32_t *above = oracle_array(program->arena, result->count, sizeof *above);
    for (uint32_t p = 0; p < x->place_count; p++) {
        for (uint32_t i = 0; i < result->count; i++) above[i] = x->places[p].cells[update ? i : origins[i].element];
        add_place(finder, layer->results[0].index, above);
    }
}

static void follow_compute(finder_t *finder, const compute_t *compute) {
    program_t *program = finder->program;
    const layer_t *layer = &program->network->layers[compute->layer];
    if (layer->result_count == 0) return;
    elements_t *result = &program->tensors[layer->results[0].index];
    for (uint32_t p = 0; p < result->place_count; p++) {
        if (!result->places[p].strided) continue;
        for (uint32_t k = 0; k < layer->operand_count && (compute->replaces || (compute->updates && k == 0)); k++)
            if (program->tensors[layer->operands[k].index].count == result->count)
                add_place(finder, layer->operands[k].index, result->places[p].cells);
    }
    const elements_t *x = &program->tensors[layer->operands[0].index];
    for (uint32_t p = 0; p < x->place_count && compute->updates; p++)
        add_place(finder, layer->results[0].index, x->places[p].cells);
}

static void begin_at_ends(finder_t *finder) {
    const network_t *network = finder->program->network;
    for (uint32_t i = 0; i < network->state_count; i++)
        if (network->states[i].next.index != NONE)
            add_place(finder, network->states[i].next.index,
                      finder->program->tensors[network->states[i].tensor.index].places[0].cells);
    for (uint32_t i = 0; i < network->mutation_count; i++) {
        uint32_t input = network->inputs[network->mutations[i].input].tensor.index;
        add_place(finder, network->mutations[i].next.index, finder->program->tensors[input].places[0].cells);
    }
}

bool program_find_places(program_t *program) {
    const network_t *network = program->network;
    finder_t finder = {program, oracle_array(program->arena, program->cell_count, sizeof(bool)), true};
    for (uint32_t i = 0; i < network->tensor_count; i++)
        if (program->tensors[i].place_count) classify(&finder, &program->tensors[i], &program->tensors[i].places[0]);
    begin_at_ends(&finder);
    while (finder.grew) {
        finder.grew = false;
        for (uint32_t i = network->order_count; i-- > 0;) {
            uint32_t index = network->order[i].index;
            if (program->origins[index]) follow_movement(&finder, &network->layers[index], program->origins[index]);
        }
        for (uint32_t i = program->compute_count; i-- > 0;) follow_compute(&finder, &program->computes[i]);
    }
    return true;
}
