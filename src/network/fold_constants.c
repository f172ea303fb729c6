/* Evaluates layers whose operands are constants; their results become constants of records that the network owns.
 *   %w: f32[4] of a record;  %r: f32[4] = binary(%w) {op=add, scalar=1}   ->   constant %r: f32[4] of a new record
 * Sources and views of constants are kept as layers, which cost nothing, unless a layer that is evaluated reads them.
 * States and inputs are no constants; a layer with a symbol in an attribute or a size stays, and so do results over the
 * limit, results whose contents are undefined, and layers that would take long: a compilation ends soon whatever the
 * program asks for. */
#include "network/network_int.h"

typedef struct folder {
    network *network;
    network_evaluate_fn run;
    void *user;
    const fold_limits *limits;
    double spent; /* work of the layers that were evaluated */
    bitset lazy;  /* results of sources and views that could be evaluated */
    insitu_diag *diag;
} folder;

static bool shape_is_constant(const network *network, const shape *shape) {
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t size;
        if (!sym_constant(&network->symbols, shape->sizes[i], &size)) return false;
    }
    return true;
}

static bool attr_is_constant(const network *network, const attr *value) {
    double number;
    if (value->kind == ATTR_KIND_SYM) return sym_constant_float(&network->symbols, value->value, &number);
    for (uint32_t i = 0; value->kind == ATTR_KIND_SYMS && i < value->list.count; i++) {
        if (!sym_constant_float(&network->symbols, value->list.items[i], &number)) return false;
    }
    return true;
}

/* Bytes of the tensor; false on overflow. */
static bool tensor_bytes(const network *network, const network_tensor *tensor, size_t *out_bytes) {
    size_t bytes = dtype_size(tensor->dtype);
    for (uint32_t i = 0; i < tensor->shape.rank; i++) {
        int64_t size = 0;
        if (!sym_constant(&network->symbols, tensor->shape.sizes[i], &size) || size < 0) return false;
        if (!checked_size_mul(bytes, (size_t)size, &bytes)) return false;
    }
    *out_bytes = bytes;
    return true;
}

static bool can_fold(const folder *folder, const layer *layer) {
    const network *network = folder->network;
    if (layer->kind == LAYER_EMPTY || layer->result_count != 1) return false;
    const network_tensor *result = network_tensor_of(network, layer->results[0]);
    size_t bytes;
    if (!shape_is_constant(network, &result->shape) || !tensor_bytes(network, result, &bytes)) return false;
    double work = layer_work(network, layer);
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

/* The layer's result becomes a constant; the layer leaves the order later, being dead. */
static insitu_status evaluate(folder *folder, layer_id id) {
    network *network = folder->network;
    tensor_id result = network_layer_of(network, id)->results[0];
    size_t bytes;
    if (!tensor_bytes(network, network_tensor_of(network, result), &bytes)) return INSITU_NOMEM;
    folder->spent += layer_work(network, network_layer_of(network, id));
    uint8_t *data = NULL;
    if (bytes) {
        TRY(arena_array(&network->arena, bytes, 1, &data));
        TRY(folder->run(folder->user, network, id, data, bytes, folder->diag));
    }
    network_tensor *tensor = &network->tensors[result.index];
    network_constant *constant;
    TRY(network_add_constant(network, &constant));
    constant->tensor = result;
    constant->offset = sym_int(&network->symbols, 0);
    shape_dense_strides(&network->symbols, &tensor->shape, constant->strides);
    constant->record = NONE;
    if (bytes) {
        weight_record *record;
        TRY(network_add_record(network, &record));
        *record = (weight_record){.name = tensor->name, .data = data, .size = bytes, .dtype = tensor->dtype};
        constant->record = network->record_count - 1;
    }
    tensor->role = TENSOR_CONSTANT;
    tensor->producer = NO_LAYER;
    tensor->index = network->constant_count - 1;
    bitset_remove(&folder->lazy, result.index);
    return INSITU_OK;
}

/* Evaluates the lazy layers below a tensor, operands first: a chain of views and its source, without recursion. */
static insitu_status evaluate_lazy(folder *folder, tensor_id tensor) {
    while (bitset_has(&folder->lazy, tensor.index)) {
        tensor_id deepest = tensor;
        for (;;) {
            const layer *layer =
                network_layer_of(folder->network, network_tensor_of(folder->network, deepest)->producer);
            if (layer->operand_count == 0 || !bitset_has(&folder->lazy, layer->operands[0].index)) break;
            deepest = layer->operands[0];
        }
        TRY(evaluate(folder, network_tensor_of(folder->network, deepest)->producer));
    }
    return INSITU_OK;
}

static insitu_status fold(folder *folder, arena *scratch) {
    network *network = folder->network;
    TRY(bitset_create(scratch, network->tensor_count, &folder->lazy));
    for (uint32_t i = 0; i < network->order_count; i++) {
        layer_id id = network->order[i];
        const layer *layer = network_layer_of(network, id);
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
        const layer *layer = network_layer_of(network, network->order[i]);
        bool folded =
            layer->result_count == 1 && network_tensor_of(network, layer->results[0])->role == TENSOR_CONSTANT;
        if (!folded) network->order[kept++] = network->order[i];
    }
    network->order_count = kept;
    return INSITU_OK;
}

insitu_status network_fold_constants(network *network, network_evaluate_fn run, void *user, const fold_limits *limits,
                                     insitu_diag *diag) {
    folder folder = {.network = network, .run = run, .user = user, .limits = limits, .diag = diag};
    arena scratch;
    arena_init(&scratch);
    insitu_status status = diag_complete(diag, fold(&folder, &scratch));
    arena_release(&scratch);
    return status == INSITU_OK ? network_remove_dead(network, diag) : status;
}
