/* What is known of the elements of an index tensor: element [i,j...] is base + i*steps[0] + j*steps[1] + ..., and an unknown
 * number that changes along some dimensions at most. Read off the layers that make it:
 *   iota {start=2, step=1}, reshaped to [1,s] and expanded to [b,s]   2 + j
 *   positions [b], reshaped to [b,1] and expanded, plus the above     2 + j + an unknown number that changes along i */
#include "network/network_int.h"

enum { MAX_DEPTH = 32 };

static bool form_of(const network_t *network, tensor_id_t tensor, int depth, affine_index_t *out);

/* Dimensions of size 1 have no second element. */
static void drop_ones(const shape_t *shape, affine_index_t *form) {
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (!sym_is_one(shape->sizes[i])) continue;
        form->steps[i] = 0;
        form->varies &= ~(1u << i);
    }
}

static void unknown_form(const shape_t *shape, affine_index_t *out) {
    *out = (affine_index_t){.varies = (1u << shape->rank) - 1, .is_unknown = true};
    drop_ones(shape, out);
}

/* A constant whose elements lie on a plane. */
static bool form_of_constant(const network_t *network, const network_tensor_t *tensor, affine_index_t *out) {
    const network_constant_t *constant = &network->constants[tensor->index];
    const weight_record_t *record = constant->record == NONE ? NULL : &network->records[constant->record];
    int64_t sizes[MAX_RANK], count = 1, offset, stride;
    if (!record || !record->data || !sym_constant(&network->symbols, constant->offset, &offset) || offset) return false;
    for (uint32_t i = tensor->shape.rank; i-- > 0;) {
        if (!sym_constant(&network->symbols, tensor->shape.sizes[i], &sizes[i]) || sizes[i] < 1) return false;
        bool is_dense = sym_constant(&network->symbols, constant->strides[i], &stride) && stride == count;
        if (sizes[i] > 1 && !is_dense) return false;
        if (!checked_mul(count, sizes[i], &count)) return false;
    }
    if ((size_t)count > record->size / dtype_size(tensor->dtype)) return false;
    out->base = network_index_at(record->data, tensor->dtype, 0);
    int64_t distance = count;
    for (uint32_t i = 0; i < tensor->shape.rank; i++) {
        distance /= sizes[i];
        if (sizes[i] > 1 &&
            !checked_sub(network_index_at(record->data, tensor->dtype, distance), out->base, &out->steps[i]))
            return false;
    }
    for (int64_t at = 0; at < count; at++) {
        int64_t expected = out->base, rest = at, part;
        for (uint32_t i = tensor->shape.rank; i-- > 0; rest /= sizes[i])
            if (!checked_mul(rest % sizes[i], out->steps[i], &part) || !checked_add(expected, part, &expected))
                return false;
        if (network_index_at(record->data, tensor->dtype, at) != expected) return false;
    }
    return true;
}

/* Dimensions of size 1 come and go. */
static bool form_of_reshape(const shape_t *from, const shape_t *to, affine_index_t *form) {
    affine_index_t found = {.base = form->base, .is_unknown = form->is_unknown};
    uint32_t at = 0;
    for (uint32_t i = 0; i < to->rank; i++) {
        if (sym_is_one(to->sizes[i])) continue;
        while (at < from->rank && sym_is_one(from->sizes[at])) at++;
        if (at == from->rank || !sym_same(from->sizes[at], to->sizes[i])) return false;
        found.steps[i] = form->steps[at];
        if ((form->varies >> at) & 1) found.varies |= 1u << i;
        at++;
    }
    while (at < from->rank && sym_is_one(from->sizes[at])) at++;
    *form = found;
    return at == from->rank;
}

static bool form_of_sum(const network_t *network, const layer_t *layer, int depth, affine_index_t *out) {
    affine_index_t other;
    attr_t scalar = layer_attr(layer, ATTR_SCALAR);
    if (layer_attr(layer, ATTR_OP).op != OP_ADD || !form_of(network, layer->operands[0], depth, out)) return false;
    if (layer->operand_count == 1) {
        int64_t number;
        if (sym_constant(&network->symbols, scalar.value, &number)) return checked_add(out->base, number, &out->base);
        out->is_unknown = true; /* the same number everywhere */
        return true;
    }
    if (scalar.kind != ATTR_KIND_NONE || !form_of(network, layer->operands[1], depth, &other)) return false;
    out->varies |= other.varies;
    out->is_unknown |= other.is_unknown;
    for (uint32_t i = 0; i < MAX_RANK; i++)
        if (!checked_add(out->steps[i], other.steps[i], &out->steps[i])) return false;
    return checked_add(out->base, other.base, &out->base);
}

static bool is_index_dtype(dtype_t type) { return type == DTYPE_I64 || type == DTYPE_I32; }

static bool form_of_layer(const network_t *network, const layer_t *layer, int depth, affine_index_t *out) {
    int64_t start, step;
    if (layer->kind == LAYER_IOTA) {
        if (!sym_constant(&network->symbols, layer_attr(layer, ATTR_START).value, &start) ||
            !sym_constant(&network->symbols, layer_attr(layer, ATTR_STEP).value, &step))
            return false;
        *out = (affine_index_t){.base = start, .steps = {step}};
        return true;
    }
    if (layer->kind == LAYER_BINARY) return form_of_sum(network, layer, depth, out);
    bool is_same = layer->kind == LAYER_EXPAND || layer->kind == LAYER_RESHAPE || layer->kind == LAYER_COPY;
    if (layer->kind == LAYER_CAST) { /* a narrower one may lose bits of a number that is not known */
        const network_tensor_t *x = network_tensor_of(network, layer->operands[0]);
        is_same = is_index_dtype(x->dtype) && layer_attr(layer, ATTR_DTYPE).dtype == DTYPE_I64;
    }
    if (!is_same || !form_of(network, layer->operands[0], depth, out)) return false;
    if (layer->kind != LAYER_RESHAPE) return true; /* what repeats has no steps */
    return form_of_reshape(&network_tensor_of(network, layer->operands[0])->shape,
                           &network_tensor_of(network, layer->results[0])->shape, out);
}

static bool form_of(const network_t *network, tensor_id_t id, int depth, affine_index_t *out) {
    const network_tensor_t *tensor = network_tensor_of(network, id);
    bool is_known = false;
    *out = (affine_index_t){0};
    if (depth >= MAX_DEPTH || !is_index_dtype(tensor->dtype)) return false;
    if (tensor->role == TENSOR_RESULT)
        is_known = form_of_layer(network, network_layer_of(network, tensor->producer), depth + 1, out);
    if (tensor->role == TENSOR_CONSTANT) is_known = form_of_constant(network, tensor, out);
    if (is_known)
        drop_ones(&tensor->shape, out);
    else
        unknown_form(&tensor->shape, out);
    return true;
}

affine_index_t network_affine_index(const network_t *network, tensor_id_t tensor) {
    affine_index_t form;
    if (!form_of(network, tensor, 0, &form)) unknown_form(&network_tensor_of(network, tensor)->shape, &form);
    return form;
}
