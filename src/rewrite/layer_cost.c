/* How many elements a layer reads, computes with and writes, at most: what bounds constant folding. A view's or a
 * lookup's first operand isn't read whole; a product, a pool and a sort go through elements many times. */
#include "rewrite/rewrite.h"

#include <math.h>

/* Elements of the tensor, whose sizes are constants: infinity where one is not. */
static double elements(const network_t *network, tensor_id_t tensor) {
    const shape_t *shape = &network_tensor_of(network, tensor)->shape;
    double count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t size;
        if (!sym_constant(&network->symbols, shape->sizes[i], &size)) return HUGE_VAL;
        count *= (double)size;
    }
    return count;
}

static double size_of(const network_t *network, tensor_id_t tensor, uint32_t dimension) {
    int64_t size;
    const shape_t *shape = &network_tensor_of(network, tensor)->shape;
    return sym_constant(&network->symbols, shape->sizes[dimension], &size) ? (double)size : HUGE_VAL;
}

static double kernel_elements(const network_t *network, const layer_t *layer) {
    attr_t kernel = layer_attr(layer, ATTR_KERNEL);
    double count = 1;
    for (uint32_t i = 0; i < kernel.list.count; i++) {
        int64_t size;
        if (!sym_constant(&network->symbols, kernel.list.items[i], &size)) return HUGE_VAL;
        count *= (double)size;
    }
    return count;
}

/* What each element of the result takes. */
static double depth(const network_t *network, const layer_t *layer) {
    const tensor_id_t *operands = layer->operands;
    switch ((int)layer->kind) {
    case LAYER_MATMUL: return size_of(network, operands[1], network_tensor_of(network, operands[1])->shape.rank - 2);
    case LAYER_CONV: {
        double outputs = size_of(network, operands[1], layer_attr_int(network, layer, ATTR_TRANSPOSED) ? 1 : 0);
        return outputs > 0 ? elements(network, operands[1]) / outputs : 1;
    }
    case LAYER_ATTENTION: /* for each key a product of q's width, one of v's and an exponential */
        return size_of(network, operands[1], 2) * 2 * size_of(network, operands[0], 3);
    case LAYER_POOL: return kernel_elements(network, layer);
    case LAYER_SORT:
    case LAYER_TOPK: return 64;
    default: return 1;
    }
}

double layer_cost(const network_t *network, const layer_t *layer) {
    double work = 0;
    uint32_t traits = layer_info_of(layer->kind)->traits;
    for (uint32_t i = 0; i < layer->result_count; i++)
        work += elements(network, layer->results[i]) * depth(network, layer);
    bool part = traits & TRAIT_VIEW || (traits & TRAIT_INDEXED && !(traits & TRAIT_UPDATE));
    for (uint32_t i = part ? 1 : 0; i < layer->operand_count; i++) work += elements(network, layer->operands[i]);
    return work;
}
