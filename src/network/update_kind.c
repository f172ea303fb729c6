/* Which updates of an input are a key-value cache's: rows that follow one another on the sequence axis of a cache of four
 * constant sizes, (b,h,s,d) or (b,s,h,d), from one position or from one for each batch row. */
#include "network/network_int.h"

static bool has_constant_sizes(const network *network, tensor_id tensor) {
    const shape *shape = &network_tensor_of(network, tensor)->shape;
    int64_t size;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!sym_constant(&network->symbols, shape->sizes[i], &size)) return false;
    return true;
}

static int64_t count_elements(const network *network, tensor_id tensor) {
    const shape *shape = &network_tensor_of(network, tensor)->shape;
    int64_t count = 1, size;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!sym_constant(&network->symbols, shape->sizes[i], &size) || !checked_mul(count, size, &count)) return -1;
    return count;
}

static bool is_sequence_axis(int64_t dim) { return dim == 1 || dim == 2; }

/* 0, 1, 2 ...: a layer that makes them, or a constant that has been computed. */
static bool is_counted(const network *network, tensor_id tensor) {
    const network_tensor *numbers = network_tensor_of(network, tensor);
    while (numbers->role == TENSOR_RESULT) {
        const layer *layer = network_layer_of(network, numbers->producer);
        if (layer->kind == LAYER_IOTA)
            return layer_attr_int(network, layer, ATTR_START) == 0 && layer_attr_int(network, layer, ATTR_STEP) == 1;
        if (layer->kind != LAYER_RESHAPE && layer->kind != LAYER_CAST) return false;
        numbers = network_tensor_of(network, layer->operands[0]);
    }
    if (numbers->role != TENSOR_CONSTANT) return false;
    const network_constant *constant = &network->constants[numbers->index];
    int64_t count = count_elements(network, tensor);
    size_t size = dtype_size(numbers->dtype);
    if (constant->record == NONE || count < 0 || (size != sizeof(int32_t) && size != sizeof(int64_t))) return false;
    const weight_record *record = &network->records[constant->record];
    if (!record->data || record->size != (size_t)count * size) return false;
    for (int64_t i = 0; i < count; i++) {
        int32_t narrow = (int32_t)i;
        const void *expected = size == sizeof(narrow) ? (const void *)&narrow : &i;
        if (memcmp(record->data + (size_t)i * size, expected, size) != 0) return false;
    }
    return true;
}

static bool is_indexed_write(const network *network, const layer *layer, int64_t batch) {
    attr dims = layer_attr(layer, ATTR_DIMS);
    int64_t first, second;
    if (layer_attr_int(network, layer, ATTR_ACCUMULATE)) return false;
    if (!sym_constant(&network->symbols, dims.list.items[0], &first)) return false;
    if (dims.list.count == 1) return is_sequence_axis(first) && count_elements(network, layer->operands[2]) == 1;
    return dims.list.count == 2 && first == 0 && sym_constant(&network->symbols, dims.list.items[1], &second) &&
           is_sequence_axis(second) && count_elements(network, layer->operands[3]) == batch &&
           is_counted(network, layer->operands[2]);
}

update_kind network_update_kind(const network *network, tensor_id start, tensor_id next) {
    const network_tensor *cache = network_tensor_of(network, start), *value = network_tensor_of(network, next);
    int64_t batch;
    if (cache->shape.rank != 4 || !has_constant_sizes(network, start) || value->role != TENSOR_RESULT)
        return UPDATE_USER;
    const layer *layer = network_layer_of(network, value->producer);
    if (layer->operand_count < 2 || layer->operands[0].index != start.index) return UPDATE_USER;
    (void)sym_constant(&network->symbols, cache->shape.sizes[0], &batch);
    bool is_rows = false;
    if (layer->kind == LAYER_SLICE_UPDATE)
        is_rows = is_sequence_axis(layer_attr_int(network, layer, ATTR_DIM)) &&
                  layer_attr_int(network, layer, ATTR_STEP) == 1;
    if (layer->kind == LAYER_INDEX_UPDATE) is_rows = is_indexed_write(network, layer, batch);
    return is_rows ? UPDATE_KV_CACHE : UPDATE_USER;
}
