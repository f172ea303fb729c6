/* An elementwise layer of an updated state is an update of that layer's result:
 *     %t = slice_update(%h, %s), %y = mul(%t, %x)   ->   %y = slice_update(mul(%h, %x), mul(%s, the same part of %x))
 * Then %h is read where it lies, and need not be copied for the sake of %t. Reshapes between the two are undone first. For
 * trials: it computes the replaced elements twice. Of floats alone, since integers have operands that must not be computed
 * with (a divisor 0). */
#include "rewrite/rewrite.h"

enum { MAX_SUNK = 64, MAX_OPERANDS = 3 };

typedef struct sinker {
    network_t *network;
    insitu_diag *diag;
    layer_t like;   /* the elementwise layer, as it was */
    layer_t update; /* that makes one of its operands, through reshapes */
    shape_t shape;  /* the update's */
} sinker_t;

/* The update of a state or an input that the tensor is; NULL. */
static const layer_t *find_update(const network_t *network, tensor_id_t tensor) {
    const layer_t *update = network_producer_of(network, network_strip_reshapes(network, tensor), LAYER_SLICE_UPDATE);
    if (!update) return NULL;
    tensor_role_t role = network_tensor_of(network, network_strip_reshapes(network, update->operands[0]))->role;
    return role == TENSOR_STATE || role == TENSOR_INPUT ? update : NULL;
}

static bool is_safe(const network_t *network, tensor_id_t tensor) {
    dtype_t type = network_tensor_of(network, tensor)->dtype;
    return dtype_is_float(type) || type == DTYPE_BOOL;
}

static bool can_sink(const network_t *network, const layer_t *layer) {
    bool can = kind_has(layer->kind, TRAIT_ELEMENTWISE) && layer->result_count == 1 && layer->operand_count > 0 &&
               layer->operand_count <= MAX_OPERANDS;
    for (uint32_t i = 0; can && i < layer->operand_count; i++) can = is_safe(network, layer->operands[i]);
    return can;
}

static insitu_status reshape(sinker_t *sinker, tensor_id_t *tensor) {
    if (shape_same(&network_tensor_of(sinker->network, *tensor)->shape, &sinker->shape)) return INSITU_OK;
    const layer_draft_t view = draft_sized(LAYER_RESHAPE, &sinker->shape);
    const tensor_id_t operand = *tensor;
    return network_add_layer(sinker->network, &view, &operand, 1, sinker->like.name, sinker->like.source, tensor,
                             sinker->diag);
}

static insitu_status slice(sinker_t *sinker, tensor_id_t *tensor) {
    const layer_t *update = &sinker->update;
    uint32_t dim = (uint32_t)layer_attr_int(sinker->network, update, ATTR_DIM);
    return network_add_slice(sinker->network, &sinker->like, *tensor, dim, layer_attr(update, ATTR_START).value,
                             layer_attr(update, ATTR_END).value, layer_attr_int(sinker->network, update, ATTR_STEP),
                             tensor, sinker->diag);
}

/* The elementwise layer of what was there before the update (operand 0), or of what the update stores (1). */
static insitu_status compute(sinker_t *sinker, uint32_t operand, tensor_id_t *out) {
    const layer_t *like = &sinker->like;
    tensor_id_t operands[MAX_OPERANDS];
    for (uint32_t i = 0; i < like->operand_count; i++) {
        operands[i] = network_strip_reshapes(sinker->network, like->operands[i]);
        if (operands[i].index == sinker->update.results[0].index) {
            operands[i] = sinker->update.operands[operand];
            continue;
        }
        operands[i] = like->operands[i];
        TRY(reshape(sinker, &operands[i]));
        if (operand == 1) TRY(slice(sinker, &operands[i]));
    }
    const layer_draft_t same = draft_like(like);
    return network_add_layer(sinker->network, &same, operands, like->operand_count, like->name, like->source, out,
                             sinker->diag);
}

static insitu_status sink(network_t *network, uint32_t position, const layer_t *update, insitu_diag *diag) {
    const layer_id_t id = network->order[position];
    sinker_t sinker = {network, diag, *network_layer_of(network, id), *update,
                       network_tensor_of(network, update->results[0])->shape};
    const shape_t result = network_tensor_of(network, sinker.like.results[0])->shape;
    uint32_t first_added = network->order_count;
    const layer_draft_t stored = draft_like(&sinker.update);
    tensor_id_t parts[2], whole;
    TRY(compute(&sinker, 0, &parts[0]));
    TRY(compute(&sinker, 1, &parts[1]));
    if (shape_same(&result, &sinker.shape)) {
        TRY(network_redefine(network, id, &stored, parts, 2, diag));
    } else {
        const layer_draft_t view = draft_sized(LAYER_RESHAPE, &result);
        TRY(network_add_layer(network, &stored, parts, 2, sinker.like.name, sinker.like.source, &whole, diag));
        TRY(network_redefine(network, id, &view, &whole, 1, diag));
    }
    network_move_added(network, first_added, position);
    return INSITU_OK;
}

insitu_status network_sink_updates(network_t *network, bool *out_changed, insitu_diag *diag) {
    uint32_t sunk = 0;
    for (uint32_t i = 0; i < network->order_count && sunk < MAX_SUNK; i++) {
        const layer_t *layer = network_layer_of(network, network->order[i]), *update = NULL;
        if (!can_sink(network, layer)) continue;
        for (uint32_t k = 0; k < layer->operand_count && !update; k++)
            update = find_update(network, layer->operands[k]);
        if (!update) continue;
        uint32_t before = network->order_count;
        TRY(sink(network, i, update, diag));
        i += network->order_count - before;
        sunk++;
    }
    *out_changed = sunk > 0;
    return sym_pool_status(&network->symbols, diag);
}
