/* Which updates of an input are a key-value cache's: rows that follow one another on the sequence axis of a cache of four
 * constant sizes, (b,h,s,d) or (b,s,h,d), from one position or from one for each batch row. */
#include "network/network_int.h"

static bool is_sequence_axis(int64_t dim) { return dim == 1 || dim == 2; }

/* The one dimension along which the rows of a write follow one another, of those that are not `batch`'s; NONE: each has one
 * row. False if there are more, or the rows do not follow. */
static bool find_rows(const network_t *network, tensor_id_t positions, uint32_t batch, uint32_t *out_dim) {
    const shape_t *shape = &network_tensor_of(network, positions)->shape;
    const affine_index_t form = network_affine_index(network, positions);
    int64_t size;
    *out_dim = NONE;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (i == batch || (sym_constant(&network->symbols, shape->sizes[i], &size) && size == 1)) continue;
        if (*out_dim != NONE || form.steps[i] != 1 || ((form.varies >> i) & 1)) return false;
        *out_dim = i;
    }
    return true;
}

/* Rows of the batch: 0, 1, 2 ... along one dimension, as many as there are. *out_dim NONE: there is one. */
static bool find_batch(const network_t *network, tensor_id_t rows, int64_t batch, uint32_t *out_dim) {
    const shape_t *shape = &network_tensor_of(network, rows)->shape;
    const affine_index_t form = network_affine_index(network, rows);
    int64_t size;
    *out_dim = NONE;
    if (form.is_unknown || form.base != 0) return false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (form.steps[i] == 0) continue;
        bool is_all = sym_constant(&network->symbols, shape->sizes[i], &size) && size == batch;
        if (*out_dim != NONE || form.steps[i] != 1 || !is_all) return false;
        *out_dim = i;
    }
    return *out_dim != NONE || batch == 1;
}

/* Several rows may not wrap: the last and the first do not follow one another. */
static bool is_indexed_write(const network_t *network, const layer_t *layer, int64_t batch) {
    attr_t dims = layer_attr(layer, ATTR_DIMS);
    int64_t first, second;
    uint32_t batch_dim = NONE, row_dim;
    if (layer_attr_int(network, layer, ATTR_ACCUMULATE)) return false;
    if (!sym_constant(&network->symbols, dims.list.items[0], &first)) return false;
    bool is_on_sequence = dims.list.count == 1 && is_sequence_axis(first);
    if (dims.list.count == 2)
        is_on_sequence = first == 0 && sym_constant(&network->symbols, dims.list.items[1], &second) &&
                         is_sequence_axis(second) && find_batch(network, layer->operands[2], batch, &batch_dim);
    tensor_id_t positions = layer->operands[layer->operand_count - 1];
    if (!is_on_sequence || !find_rows(network, positions, batch_dim, &row_dim)) return false;
    return row_dim == NONE || !layer_attr_int(network, layer, ATTR_WRAP);
}

update_kind_t network_update_kind(const network_t *network, tensor_id_t start, tensor_id_t next) {
    const network_tensor_t *cache = network_tensor_of(network, start), *value = network_tensor_of(network, next);
    int64_t batch;
    if (cache->shape.rank != 4 || !shape_constant(&network->symbols, &network_tensor_of(network, start)->shape, NULL) ||
        value->role != TENSOR_RESULT)
        return UPDATE_USER;
    const layer_t *layer = network_layer_of(network, value->producer);
    if (layer->operand_count < 2 || layer->operands[0].index != start.index) return UPDATE_USER;
    (void)sym_constant(&network->symbols, cache->shape.sizes[0], &batch);
    bool is_rows = false;
    if (layer->kind == LAYER_SLICE_UPDATE)
        is_rows = is_sequence_axis(layer_attr_int(network, layer, ATTR_DIM)) &&
                  layer_attr_int(network, layer, ATTR_STEP) == 1;
    if (layer->kind == LAYER_INDEX_UPDATE) is_rows = is_indexed_write(network, layer, batch);
    return is_rows ? UPDATE_KV_CACHE : UPDATE_USER;
}
