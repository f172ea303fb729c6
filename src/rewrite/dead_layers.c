/* Removes layers, constants and records that no output, next value or mutation needs. Inputs, states and
 * buffers stay: they are the program's face. Layers that end in a symbol stay too. */
#include "rewrite/rewrite.h"

static void mark(const network_t *network, bitset_t *live, tensor_id_t tensor) {
    if (tensor.index < network->tensor_count) bitset_add(live, tensor.index);
}

static bool is_live(const bitset_t *live, const layer_t *layer) {
    if (layer->result_count == 0) return true;
    for (uint32_t i = 0; i < layer->result_count; i++) {
        if (bitset_has(live, layer->results[i].index)) return true;
    }
    return false;
}

static void remove_layers(network_t *network, bitset_t *live) {
    uint32_t kept = network->order_count;
    for (uint32_t i = network->order_count; i-- > 0;) {
        const layer_t *layer = network_layer_of(network, network->order[i]);
        if (!is_live(live, layer)) continue;
        for (uint32_t j = 0; j < layer->operand_count; j++) mark(network, live, layer->operands[j]);
        network->order[--kept] = network->order[i];
    }
    network->order_count -= kept;
    for (uint32_t i = 0; i < network->order_count; i++) network->order[i] = network->order[kept + i];
}

static void remove_constants(network_t *network, const bitset_t *live) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < network->constant_count; i++) {
        if (!bitset_has(live, network->constants[i].tensor.index)) continue;
        network->constants[kept] = network->constants[i];
        network->tensors[network->constants[kept].tensor.index].index = kept;
        kept++;
    }
    network->constant_count = kept;
}

typedef void (*record_visit_fn)(uint32_t *numbers, uint32_t *record);

/* Visits every reference to a record. */
static void visit_records(network_t *network, uint32_t *numbers, record_visit_fn visit) {
    for (uint32_t i = 0; i < network->constant_count; i++) visit(numbers, &network->constants[i].record);
    for (uint32_t i = 0; i < network->state_count; i++) visit(numbers, &network->states[i].record);
    for (uint32_t i = 0; i < network->buffer_count; i++) visit(numbers, &network->buffers[i].record);
}

static void mark_record(uint32_t *numbers, uint32_t *record) {
    if (*record != NONE) numbers[*record] = 1;
}

static void renumber_record(uint32_t *numbers, uint32_t *record) {
    if (*record != NONE) *record = numbers[*record];
}

static insitu_status remove_records(network_t *network, arena_t *scratch) {
    uint32_t *numbers, kept = 0;
    TRY(arena_array(scratch, network->record_count, sizeof(uint32_t), &numbers));
    visit_records(network, numbers, mark_record);
    for (uint32_t i = 0; i < network->record_count; i++) {
        if (!numbers[i]) continue;
        network->records[kept] = network->records[i];
        numbers[i] = kept++;
    }
    network->record_count = kept;
    visit_records(network, numbers, renumber_record);
    return INSITU_OK;
}

static insitu_status remove_dead(network_t *network, arena_t *scratch) {
    bitset_t live;
    TRY(bitset_create(scratch, network->tensor_count, &live));
    for (uint32_t i = 0; i < network->state_count; i++) mark(network, &live, network->states[i].next);
    for (uint32_t i = 0; i < network->mutation_count; i++) mark(network, &live, network->mutations[i].next);
    for (uint32_t i = 0; i < network->output_count; i++) {
        if (network->outputs[i].kind == OUTPUT_TENSOR) mark(network, &live, network->outputs[i].tensor);
    }
    remove_layers(network, &live);
    remove_constants(network, &live);
    return remove_records(network, scratch);
}

insitu_status network_remove_dead(network_t *network, insitu_diag *diag) {
    arena_t scratch;
    arena_init(&scratch);
    insitu_status status = diag_complete(diag, remove_dead(network, &scratch));
    arena_release(&scratch);
    return status;
}
