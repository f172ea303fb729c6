/* Layers to be added. What passes over a network change: a layer's definition, under the name of its result; and where added layers stand. What
 * they ask of tensors. And a network as it was before, for what is tried. */
#include "network/network_edit.h"
#include <assert.h>
#include <string.h>

layer_draft_t draft_of(layer_kind_t kind) { return (layer_draft_t){.kind = kind}; }

layer_draft_t draft_like(const layer_t *layer) {
    layer_draft_t draft = draft_of(layer->kind);
    for (uint32_t i = 0; i < layer_info_of(layer->kind)->attr_count; i++) draft.attrs[i] = layer->attrs[i];
    return draft;
}

layer_draft_t draft_sized(layer_kind_t kind, const shape_t *sizes) {
    layer_draft_t draft = draft_of(kind);
    draft_list(&draft, ATTR_SIZES, sizes->sizes, sizes->rank);
    return draft;
}

layer_draft_t draft_slice(sym_pool_t *pool, layer_kind_t kind, uint32_t dim, sym_t start, sym_t end, int64_t step) {
    layer_draft_t draft = draft_of(kind);
    draft_int(pool, &draft, ATTR_DIM, dim);
    draft_sym(&draft, ATTR_START, start);
    draft_sym(&draft, ATTR_END, end);
    draft_int(pool, &draft, ATTR_STEP, step);
    return draft;
}

void draft_attr(layer_draft_t *draft, attr_id_t id, attr_t value) {
    uint32_t index = layer_attr_index(draft->kind, id);
    assert(index != NONE); /* the kind's row of attrs.def has it */
    draft->attrs[index] = value;
}

void draft_sym(layer_draft_t *draft, attr_id_t id, sym_t value) { draft_attr(draft, id, attr_of_sym(value)); }

void draft_list(layer_draft_t *draft, attr_id_t id, const sym_t *items, uint32_t count) {
    draft_attr(draft, id, attr_of_list(items, count));
}

void draft_op(layer_draft_t *draft, op_kind_t op) { draft_attr(draft, ATTR_OP, attr_of_op(op)); }

void draft_dtype(layer_draft_t *draft, dtype_t type) { draft_attr(draft, ATTR_DTYPE, attr_of_dtype(type)); }

void draft_int(sym_pool_t *pool, layer_draft_t *draft, attr_id_t id, int64_t value) {
    draft_sym(draft, id, sym_int(pool, value));
}

void draft_flag(sym_pool_t *pool, layer_draft_t *draft, attr_id_t id, bool value) {
    draft_sym(draft, id, sym_bool(pool, value));
}

void draft_float(sym_pool_t *pool, layer_draft_t *draft, attr_id_t id, double value) {
    draft_sym(draft, id, sym_float(pool, value));
}

insitu_status network_redefine(network_t *network, layer_id_t id, const layer_draft_t *draft,
                               const tensor_id_t *operands, uint32_t operand_count, insitu_diag *diag) {
    inferred_t types[MAX_RESULTS];
    TRY(network_infer(network, draft->kind, operands, operand_count, draft->attrs, types, diag));
    layer_t *layer = network_layer_of(network, id);
    network->tensors[layer->results[0].index].shape = types[0].shape;
    layer->kind = draft->kind;
    layer->operand_count = operand_count;
    TRY(arena_copy(&network->arena, operands, operand_count * sizeof *operands, &layer->operands));
    return network_copy_attrs(network, draft, &layer->attrs);
}

void network_move_added(network_t *network, uint32_t first_added, uint32_t position) {
    uint32_t added = network->order_count - first_added;
    for (uint32_t i = 0; i < added; i++) { /* a rotation by one for each, which keeps their order */
        layer_id_t id = network->order[first_added + i];
        for (uint32_t at = first_added + i; at > position + i; at--) network->order[at] = network->order[at - 1];
        network->order[position + i] = id;
    }
}

insitu_status network_add_slice(network_t *network, const layer_t *like, tensor_id_t x, uint32_t dim, sym_t start,
                                sym_t end, int64_t step, tensor_id_t *out, insitu_diag *diag) {
    const layer_draft_t slice = draft_slice(&network->symbols, LAYER_SLICE, dim, start, end, step);
    return network_add_layer(network, &slice, &x, 1, like->name, like->source, out, diag);
}

const layer_t *network_producer_of(const network_t *network, tensor_id_t tensor, layer_kind_t kind) {
    const network_tensor_t *made = network_tensor_of(network, tensor);
    if (made->role != TENSOR_RESULT) return NULL;
    const layer_t *maker = network_layer_of(network, made->producer);
    return maker->kind == kind ? maker : NULL;
}

tensor_id_t network_strip_reshapes(const network_t *network, tensor_id_t tensor) {
    const layer_t *reshape;
    while ((reshape = network_producer_of(network, tensor, LAYER_RESHAPE))) tensor = reshape->operands[0];
    return tensor;
}

const uint8_t *network_constant_elements(const network_t *network, tensor_id_t tensor, int64_t *out_count) {
    const network_tensor_t *shown = network_tensor_of(network, tensor);
    if (shown->role != TENSOR_CONSTANT) return NULL;
    const network_constant_t *constant = &network->constants[shown->index];
    int64_t count = 1, offset;
    for (uint32_t i = shown->shape.rank; i-- > 0;) {
        int64_t size, stride;
        if (!sym_constant(&network->symbols, shown->shape.sizes[i], &size) || size < 1) return NULL;
        if (!sym_constant(&network->symbols, constant->strides[i], &stride) || (size > 1 && stride != count))
            return NULL;
        if (!checked_mul(count, size, &count)) return NULL;
    }
    if (constant->record == NONE || !sym_constant(&network->symbols, constant->offset, &offset) || offset < 0)
        return NULL;
    const weight_record_t *record = &network->records[constant->record];
    const uint64_t held = record->size / dtype_size(shown->dtype);
    if (!record->data || (uint64_t)offset > held || (uint64_t)count > held - (uint64_t)offset) return NULL;
    *out_count = count;
    return record->data + (size_t)offset * dtype_size(shown->dtype);
}

/* ---- undo ---- */

/* Every array that passes change, and what it holds by now. */
#define ARRAYS(X)                                                                                                      \
    X(tensors, tensor_count)                                                                                           \
    X(layers, layer_count)                                                                                             \
    X(order, order_count)                                                                                              \
    X(states, state_count)                                                                                             \
    X(constants, constant_count)                                                                                       \
    X(buffers, buffer_count)                                                                                           \
    X(mutations, mutation_count)                                                                                       \
    X(outputs, output_count)                                                                                           \
    X(records, record_count)

insitu_status network_save(const network_t *network, network_snapshot_t *out) {
    arena_init(&out->arena);
    out->network = *network;
    insitu_status status = INSITU_OK;
#define SAVE(array, count)                                                                                             \
    if (status == INSITU_OK && network->count)                                                                         \
        status = arena_copy(&out->arena, network->array, network->count * sizeof *network->array,                      \
                            (void *)&out->network.array);
    ARRAYS(SAVE)
#undef SAVE
    if (status != INSITU_OK) arena_release(&out->arena);
    return status;
}

void network_restore(network_t *network, const network_snapshot_t *snapshot) {
#define RESTORE(array, count)                                                                                          \
    network->count = snapshot->network.count;                                                                          \
    if (network->count) memcpy(network->array, snapshot->network.array, network->count * sizeof *network->array);
    ARRAYS(RESTORE)
#undef RESTORE
}

void network_snapshot_release(network_snapshot_t *snapshot) { arena_release(&snapshot->arena); }
