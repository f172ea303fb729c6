/* Runs a schedule on memory, and the network plainly, and compares: final states, results, and the copied bytes that the
 * moves themselves tell. An element of memory is a word; a layer's result is a hash of what it read, so that any layer can
 * be run, and a wrong element anywhere shows. */
#include "oracle.h"
#include <string.h>

/* ---- plain evaluation ---- */

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t pair[] = {a, b};
    return hash_bytes(pair, sizeof pair, 7);
}

/* What a layer makes of an element: elementwise of that element of its operands, else of all. */
static uint64_t computed(const program_t *program, uint32_t compute, uint32_t result, uint32_t element,
                         const uint64_t *const *operands) {
    const layer_t *layer = &program->network->layers[program->computes[compute].layer];
    bool elementwise = program->computes[compute].elementwise;
    uint64_t sum = mix(compute * 4 + result, element);
    for (uint32_t k = 0; k < layer->operand_count; k++) {
        uint32_t count = program->tensors[layer->operands[k].index].count;
        for (uint32_t i = elementwise ? element : 0; i < (elementwise ? element + 1 : count); i++)
            sum = mix(sum, operands[k][i]);
    }
    return sum;
}

static uint64_t fixed(const program_t *program, uint32_t id) {
    return mix(program->values[id].tensor, program->values[id].element);
}

static void evaluate_compute(const program_t *program, uint32_t compute, uint64_t **values) {
    const layer_t *layer = &program->network->layers[program->computes[compute].layer];
    const uint64_t *operands[64];
    for (uint32_t k = 0; k < layer->operand_count && k < COUNT_OF(operands); k++)
        operands[k] = values[layer->operands[k].index];
    for (uint32_t r = 0; r < layer->result_count; r++)
        for (uint32_t i = 0; i < program->tensors[layer->results[r].index].count; i++)
            values[layer->results[r].index][i] = computed(program, compute, r, i, operands);
}

static uint64_t **evaluate(const program_t *program, arena_t *arena) {
    const network_t *network = program->network;
    uint64_t **values = oracle_array(arena, network->tensor_count, sizeof *values);
    uint32_t compute = 0;
    for (uint32_t t = 0; t < network->tensor_count; t++) {
        const elements_t *tensor = &program->tensors[t];
        values[t] = oracle_array(arena, tensor->count, sizeof(uint64_t));
        for (uint32_t i = 0; i < tensor->count; i++) values[t][i] = fixed(program, tensor->values[i]);
    }
    for (uint32_t l = 0; l < network->order_count; l++) {
        uint32_t index = network->order[l].index;
        const layer_t *layer = &network->layers[index];
        if (compute < program->compute_count && program->computes[compute].layer == index)
            evaluate_compute(program, compute++, values);
        for (uint32_t i = 0; program->origins[index] && i < program->tensors[layer->results[0].index].count; i++) {
            origin_t from = program->origins[index][i];
            values[layer->results[0].index][i] = values[layer->operands[from.operand].index][from.element];
        }
    }
    return values;
}

/* ---- the schedule ---- */

typedef struct memory {
    uint64_t *words[IN_KEPT + 1];
    uint32_t copied;
} memory_t;

static uint64_t *word(const memory_t *memory, location_t at) { return &memory->words[at.kind][at.index]; }

static void move(const program_t *program, memory_t *memory, const schedule_step_t *step) {
    uint32_t bytes =
        program->values[step->to.kind == IN_STATE ? program->cells[step->to.index].initial : step->to.index].bytes;
    bool aside = step->to.kind == IN_ASIDE && step->from.kind == IN_STATE;
    bool late = step->to.kind == IN_STATE && (step->from.kind == IN_RESULT || step->from.kind == IN_KEPT) &&
                !program->values[step->from.index].written;
    if (aside || late) memory->copied += bytes;
    *word(memory, step->to) = *word(memory, step->from);
}

/* Elementwise layers read an element, then store it, then go on; others must not read what they have stored. */
static void run(const program_t *program, memory_t *memory, const schedule_step_t *step, arena_t *arena) {
    const compute_t *compute = &program->computes[step->compute];
    const layer_t *layer = &program->network->layers[compute->layer];
    uint64_t *operands[64];
    uint32_t first = 0, results = 0;
    bool in_place = compute->updates && layer->result_count && step->results[0].kind == IN_STATE;
    for (uint32_t r = 0; r < layer->result_count; r++) results += program->tensors[layer->results[r].index].count;
    uint64_t *made = oracle_array(arena, results, sizeof *made);
    for (uint32_t k = 0; k < layer->operand_count && k < COUNT_OF(operands); k++) {
        uint32_t count = program->tensors[layer->operands[k].index].count;
        operands[k] = oracle_array(arena, count, sizeof(uint64_t));
        for (uint32_t i = 0; i < count; i++) operands[k][i] = *word(memory, step->operands[first + i]);
        for (uint32_t i = 0; i < results && !compute->elementwise; i++)
            if (step->results[i].kind == IN_STATE && !(in_place && k == 0))
                *word(memory, step->results[i]) = UINT64_MAX;
        first += count;
    }
    uint32_t at = 0;
    for (uint32_t r = 0; r < layer->result_count; r++)
        for (uint32_t i = 0; i < program->tensors[layer->results[r].index].count; i++, at++) {
            first = 0;
            for (uint32_t k = 0; k < layer->operand_count && compute->elementwise; k++) {
                operands[k][i] = *word(memory, step->operands[first + i]);
                first += program->tensors[layer->operands[k].index].count;
            }
            made[at] = computed(program, step->compute, r, i, (const uint64_t *const *)operands);
            if (compute->elementwise) *word(memory, step->results[at]) = made[at];
        }
    for (uint32_t i = 0; i < results; i++) *word(memory, step->results[i]) = made[i];
}

static bool ends_right(const program_t *program, const memory_t *memory, uint64_t **values, uint32_t start,
                       uint32_t next) {
    const elements_t *tensor = &program->tensors[start], *last = &program->tensors[next];
    for (uint32_t i = 0; i < tensor->count; i++)
        if (program->values[last->values[i]].kind != VALUE_UNDEFINED &&
            memory->words[IN_STATE][tensor->places[0].cells[i]] != values[next][i])
            return false;
    return true;
}

static const char *compare(const program_t *program, const memory_t *memory, uint64_t **values,
                           const schedule_t *schedule) {
    const network_t *network = program->network;
    for (uint32_t i = 0; i < network->state_count; i++)
        if (network->states[i].next.index != NONE &&
            !ends_right(program, memory, values, network->states[i].tensor.index, network->states[i].next.index))
            return "a state ends with another value";
    for (uint32_t i = 0; i < network->mutation_count; i++)
        if (!ends_right(program, memory, values, network->inputs[network->mutations[i].input].tensor.index,
                        network->mutations[i].next.index))
            return "an input ends with another value";
    uint32_t at = 0;
    for (uint32_t o = 0; o < network->output_count; o++) {
        if (network->outputs[o].kind != OUTPUT_TENSOR) continue;
        uint32_t tensor = network->outputs[o].tensor.index;
        for (uint32_t i = 0; i < program->tensors[tensor].count; i++, at++)
            if (program->values[program->tensors[tensor].values[i]].kind != VALUE_UNDEFINED &&
                *word(memory, schedule->outputs[at]) != values[tensor][i])
                return "a result has another value";
    }
    return NULL;
}

const char *replay(const program_t *program, const schedule_t *schedule, uint32_t cost, arena_t *arena) {
    memory_t memory = {.copied = 0};
    for (uint32_t i = 0; i <= IN_KEPT; i++)
        memory.words[i] =
            oracle_array(arena, i == IN_STATE ? program->cell_count : program->value_count, sizeof(uint64_t));
    for (uint32_t i = 0; i < program->cell_count; i++)
        memory.words[IN_STATE][i] = fixed(program, program->cells[i].initial);
    for (uint32_t i = 0; i < program->value_count; i++)
        if (program->values[i].kind == VALUE_FIXED || program->values[i].kind == VALUE_UNDEFINED)
            memory.words[IN_FIXED][i] = fixed(program, i);
    for (uint32_t i = 0; i < schedule->count; i++) {
        if (schedule->steps[i].runs)
            run(program, &memory, &schedule->steps[i], arena);
        else
            move(program, &memory, &schedule->steps[i]);
    }
    if (memory.copied != cost) return "its moves copy another number of bytes";
    return compare(program, &memory, evaluate(program, arena), schedule);
}
