/* Evaluates layers whose operands are constants; their results become constants of records that the network owns.
 *   %w: f32[4] of a record;  %r: f32[4] = binary(%w) {op=add, scalar=1}   ->   constant %r: f32[4] of a new record
 * Sources and views of constants are kept as layers, which cost nothing, unless a layer that is evaluated reads them.
 * States and inputs are no constants; a layer with a symbol in an attribute or a size stays, and so do results over the
 * limit, results whose contents are undefined, and layers that would take long: a compilation ends soon whatever the
 * program asks for. Memory of a constant that only evaluated layers read is used for the next: a chain takes no more than
 * two of its values. */
#include "rewrite/rewrite.h"

enum { MAX_SPARE = 32, SPARE_LEAST = 4096 }; /* buffers that are kept for another value; smaller ones cost little */

typedef struct spare {
    uint8_t *data;
    size_t size;
} spare_t;

typedef struct folder {
    network_t *network;
    network_evaluate_fn run;
    void *user;
    const fold_limits_t *limits;
    double spent;      /* work of the layers that were evaluated */
    bitset_t lazy;     /* results of sources and views that could be evaluated */
    uint8_t **made;    /* of each tensor that was evaluated: its memory */
    uint32_t *readers; /* of each tensor: layers that are not evaluated, outputs and next values */
    spare_t spares[MAX_SPARE];
    uint32_t spare_count;
    insitu_diag *diag;
} folder_t;

static bool attr_is_constant(const network_t *network, const attr_t *value) {
    double number;
    if (value->kind == ATTR_KIND_SYM) return sym_constant_float(&network->symbols, value->value, &number);
    for (uint32_t i = 0; value->kind == ATTR_KIND_SYMS && i < value->list.count; i++) {
        if (!sym_constant_float(&network->symbols, value->list.items[i], &number)) return false;
    }
    return true;
}

/* Bytes of the tensor; false on overflow. */
static bool tensor_bytes(const network_t *network, const network_tensor_t *tensor, size_t *out_bytes) {
    size_t bytes = dtype_size(tensor->dtype);
    for (uint32_t i = 0; i < tensor->shape.rank; i++) {
        int64_t size = 0;
        if (!sym_constant(&network->symbols, tensor->shape.sizes[i], &size) || size < 0) return false;
        if (!checked_size_mul(bytes, (size_t)size, &bytes)) return false;
    }
    *out_bytes = bytes;
    return true;
}

static bool can_fold(const folder_t *folder, const layer_t *layer) {
    const network_t *network = folder->network;
    if (layer->kind == LAYER_EMPTY || layer->result_count != 1 || kind_has(layer->kind, TRAIT_REGIONS)) return false;
    const network_tensor_t *result = network_tensor_of(network, layer->results[0]);
    size_t bytes;
    if (!shape_constant(&network->symbols, &result->shape, NULL) || !tensor_bytes(network, result, &bytes))
        return false;
    double work = layer_cost(network, layer);
    if (bytes > folder->limits->bytes || work > folder->limits->work) return false;
    if (folder->spent + work > folder->limits->total) return false;
    for (uint32_t i = 0; i < layer_info_of(layer->kind)->attr_count; i++) {
        if (!attr_is_constant(network, &layer->attrs[i])) return false;
    }
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        if (network_tensor_of(network, layer->operands[i])->role == TENSOR_CONSTANT) continue;
        if (!bitset_has(&folder->lazy, layer->operands[i].index)) return false;
    }
    return true;
}

static void count_reader(folder_t *folder, tensor_id_t tensor) {
    if (tensor.index < folder->network->tensor_count) folder->readers[tensor.index]++;
}

static insitu_status count_readers(folder_t *folder, arena_t *scratch) {
    const network_t *network = folder->network;
    TRY(arena_array(scratch, network->tensor_count, sizeof *folder->readers, &folder->readers));
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = network_layer_of(network, network->order[i]);
        for (uint32_t j = 0; j < layer->operand_count; j++) count_reader(folder, layer->operands[j]);
    }
    for (uint32_t i = 0; i < network->state_count; i++) count_reader(folder, network->states[i].next);
    for (uint32_t i = 0; i < network->mutation_count; i++) count_reader(folder, network->mutations[i].next);
    for (uint32_t i = 0; i < network->output_count; i++)
        if (network->outputs[i].kind == OUTPUT_TENSOR) count_reader(folder, network->outputs[i].tensor);
    return INSITU_OK;
}

/* Memory for a value: a spare buffer of at most twice its size, or new. */
static insitu_status take_buffer(folder_t *folder, size_t bytes, uint8_t **out_data) {
    for (uint32_t i = 0; i < folder->spare_count; i++) {
        const spare_t found = folder->spares[i];
        if (found.size < bytes || found.size / 2 > bytes) continue;
        folder->spares[i] = folder->spares[--folder->spare_count];
        memset(found.data, 0, bytes);
        *out_data = found.data;
        return INSITU_OK;
    }
    return arena_array(&folder->network->arena, bytes, 1, out_data);
}

/* The layer has been evaluated: what it alone still read is not needed any more. */
static void release_operands(folder_t *folder, const layer_t *layer) {
    const network_t *network = folder->network;
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        const tensor_id_t operand = layer->operands[i];
        size_t bytes;
        if (--folder->readers[operand.index] > 0 || !folder->made[operand.index]) continue;
        if (!tensor_bytes(network, network_tensor_of(network, operand), &bytes) || bytes < SPARE_LEAST) continue;
        if (folder->spare_count == MAX_SPARE) return;
        folder->spares[folder->spare_count++] = (spare_t){folder->made[operand.index], bytes};
    }
}

/* The layer's result becomes a constant; the layer leaves the order later, being dead. */
static insitu_status evaluate(folder_t *folder, layer_id_t id) {
    network_t *network = folder->network;
    tensor_id_t result = network_layer_of(network, id)->results[0];
    size_t bytes;
    if (!tensor_bytes(network, network_tensor_of(network, result), &bytes)) return INSITU_NOMEM;
    folder->spent += layer_cost(network, network_layer_of(network, id));
    uint8_t *data = NULL;
    if (bytes) {
        TRY(take_buffer(folder, bytes, &data));
        TRY(folder->run(folder->user, network, id, data, bytes, folder->diag));
    }
    network_tensor_t *tensor = &network->tensors[result.index];
    network_constant_t *constant;
    TRY(network_add_constant(network, &constant));
    constant->tensor = result;
    constant->offset = sym_int(&network->symbols, 0);
    shape_dense_strides(&network->symbols, &tensor->shape, constant->strides);
    constant->record = NONE;
    if (bytes) {
        weight_record_t *record;
        TRY(network_add_record(network, &record));
        *record = (weight_record_t){.name = tensor->name, .data = data, .size = bytes, .dtype = tensor->dtype};
        constant->record = network->record_count - 1;
    }
    tensor->role = TENSOR_CONSTANT;
    tensor->producer = NO_LAYER;
    tensor->index = network->constant_count - 1;
    bitset_remove(&folder->lazy, result.index);
    folder->made[result.index] = data;
    release_operands(folder, network_layer_of(network, id));
    return INSITU_OK;
}

/* Evaluates the lazy layers below a tensor, operands first: a chain of views and its source, without recursion. */
static insitu_status evaluate_lazy(folder_t *folder, tensor_id_t tensor) {
    while (bitset_has(&folder->lazy, tensor.index)) {
        tensor_id_t deepest = tensor;
        for (;;) {
            const layer_t *layer =
                network_layer_of(folder->network, network_tensor_of(folder->network, deepest)->producer);
            if (layer->operand_count == 0 || !bitset_has(&folder->lazy, layer->operands[0].index)) break;
            deepest = layer->operands[0];
        }
        TRY(evaluate(folder, network_tensor_of(folder->network, deepest)->producer));
    }
    return INSITU_OK;
}

static insitu_status fold(folder_t *folder, arena_t *scratch) {
    network_t *network = folder->network;
    TRY(bitset_create(scratch, network->tensor_count, &folder->lazy));
    TRY(arena_array(scratch, network->tensor_count, sizeof *folder->made, &folder->made));
    TRY(count_readers(folder, scratch));
    for (uint32_t i = 0; i < network->order_count; i++) {
        layer_id_t id = network->order[i];
        const layer_t *layer = network_layer_of(network, id);
        if (!can_fold(folder, layer)) continue;
        if (kind_has(layer->kind, TRAIT_SOURCE | TRAIT_VIEW)) {
            bitset_add(&folder->lazy, layer->results[0].index);
            continue;
        }
        for (uint32_t j = 0; j < layer->operand_count; j++) TRY(evaluate_lazy(folder, layer->operands[j]));
        TRY(evaluate(folder, id));
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = network_layer_of(network, network->order[i]);
        bool folded =
            layer->result_count == 1 && network_tensor_of(network, layer->results[0])->role == TENSOR_CONSTANT;
        if (!folded) network->order[kept++] = network->order[i];
    }
    network->order_count = kept;
    return INSITU_OK;
}

insitu_status network_fold_constants(network_t *network, network_evaluate_fn run, void *user,
                                     const fold_limits_t *limits, insitu_diag *diag) {
    folder_t folder = {.network = network, .run = run, .user = user, .limits = limits, .diag = diag};
    arena_t scratch;
    arena_init(&scratch);
    insitu_status status = diag_complete(diag, fold(&folder, &scratch));
    arena_release(&scratch);
    return status == INSITU_OK ? network_remove_dead(network, diag) : status;
}
