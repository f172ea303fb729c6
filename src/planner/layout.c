/* Layouts: sizes, strides and offset of a tensor over a storage, forward and backward through view layers. Strides are
 * polynomials over symbols; a layout that can't be proved is refused, and the planner then copies. */
#include "planner/planner_int.h"

void layout_dense(sym_pool_t *pool, dtype_t type, const shape_t *shape, tensor_type_t *out) {
    *out = (tensor_type_t){.dtype = type, .shape = *shape};
    shape_dense_strides(pool, shape, out->strides);
    out->offset = sym_int(pool, 0);
}

sym_t layout_bytes(sym_pool_t *pool, const tensor_type_t *type) {
    return sym_mul(pool, shape_numel(pool, &type->shape), sym_int(pool, dtype_size(type->dtype)));
}

/* Splits the operand's dimensions into runs that are contiguous in memory and fills each run with new dimensions of the
 * same product. Sizes are compared as polynomials. */
bool layout_reshape(sym_pool_t *pool, const tensor_type_t *in, const shape_t *shape, tensor_type_t *out) {
    *out = (tensor_type_t){.dtype = in->dtype, .shape = *shape, .offset = in->offset};
    int64_t count;
    sym_t numel = shape_numel(pool, shape);
    if (sym_constant(pool, numel, &count) && count == 0) {
        shape_dense_strides(pool, shape, out->strides);
        return true;
    }
    if (in->shape.rank == 0) {
        for (uint32_t i = 0; i < shape->rank; i++) out->strides[i] = sym_int(pool, 1);
        return sym_is_one(numel);
    }
    uint32_t left = shape->rank; /* new dimensions not yet filled */
    sym_t one = sym_int(pool, 1), run = one, filled = one;
    sym_t base = in->strides[in->shape.rank - 1];
    for (uint32_t d = in->shape.rank; d-- > 0;) {
        run = sym_mul(pool, run, in->shape.sizes[d]);
        bool ends =
            d == 0 || (!sym_is_one(in->shape.sizes[d - 1]) && !sym_same(in->strides[d - 1], sym_mul(pool, run, base)));
        if (!ends) continue;
        while (left > 0 && (!sym_same(filled, run) || sym_is_one(shape->sizes[left - 1]))) {
            left--;
            out->strides[left] = sym_mul(pool, filled, base);
            filled = sym_mul(pool, filled, shape->sizes[left]);
        }
        if (!sym_same(filled, run)) return false;
        if (d > 0) base = in->strides[d - 1];
        run = filled = one;
    }
    return left == 0;
}

static sym_t layer_sym(const layer_t *layer, attr_id_t id) { return layer_attr(layer, id).value; }

static void view_slice(sym_pool_t *pool, const layer_t *layer, uint32_t dim, const tensor_type_t *in,
                       tensor_type_t *out) {
    *out = *in;
    out->offset = sym_add(pool, in->offset, sym_mul(pool, layer_sym(layer, ATTR_START), in->strides[dim]));
    out->strides[dim] = sym_mul(pool, in->strides[dim], layer_sym(layer, ATTR_STEP));
}

static void view_diagonal(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *in,
                          tensor_type_t *out) {
    uint32_t dim1 = (uint32_t)layer_attr_int(network, layer, ATTR_DIM1);
    uint32_t dim2 = (uint32_t)layer_attr_int(network, layer, ATTR_DIM2);
    int64_t shift = layer_attr_int(network, layer, ATTR_OFFSET);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < in->shape.rank; i++)
        if (i != dim1 && i != dim2) out->strides[rank++] = in->strides[i];
    out->strides[rank] = sym_add(pool, in->strides[dim1], in->strides[dim2]);
    sym_t step = shift >= 0 ? in->strides[dim2] : in->strides[dim1];
    out->offset = sym_add(pool, in->offset, sym_mul(pool, sym_int(pool, shift >= 0 ? shift : -shift), step));
}

/* Over the one dimension of in. */
static void view_strided(sym_pool_t *pool, const layer_t *layer, const tensor_type_t *in, tensor_type_t *out) {
    attr_t strides = layer_attr(layer, ATTR_STRIDES);
    out->offset = sym_add(pool, in->offset, sym_mul(pool, layer_sym(layer, ATTR_OFFSET), in->strides[0]));
    for (uint32_t i = 0; i < strides.list.count; i++)
        out->strides[i] = sym_mul(pool, strides.list.items[i], in->strides[0]);
}

/* The operand's strides in elements of another size; only where they are whole. */
static bool view_bits(sym_pool_t *pool, const tensor_type_t *in, dtype_t type, tensor_type_t *out) {
    uint32_t from = dtype_size(in->dtype), to = dtype_size(type), rank = in->shape.rank;
    out->dtype = type;
    for (uint32_t i = 0; i < rank; i++) out->strides[i] = in->strides[i];
    if (from == to) return true;
    if (!sym_same(in->strides[rank - 1], sym_int(pool, 1)) && !sym_is_one(in->shape.sizes[rank - 1])) return false;
    sym_t ratio = sym_int(pool, from > to ? from / to : to / from);
    for (uint32_t i = 0; i <= rank; i++) {
        sym_t *number = i == rank ? &out->offset : &out->strides[i];
        if (from < to && i + 1 != rank && !sym_same(sym_mod(pool, *number, ratio), sym_int(pool, 0))) return false;
        *number = from > to ? sym_mul(pool, *number, ratio) : sym_floordiv(pool, *number, ratio);
    }
    out->strides[rank - 1] = sym_int(pool, 1);
    return true;
}

bool layout_view(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *in,
                 tensor_type_t *out) {
    const network_tensor_t *result = network_tensor_of(network, layer->results[0]);
    tensor_type_t view = {.dtype = in->dtype, .offset = in->offset};
    switch ((int)layer->kind) {
    case LAYER_RESHAPE: return layout_reshape(pool, in, &result->shape, out);
    case LAYER_PERMUTE: {
        attr_t axes = layer_attr(layer, ATTR_AXES);
        for (uint32_t i = 0; i < axes.list.count; i++) {
            int64_t axis = 0;
            if (!sym_constant(pool, axes.list.items[i], &axis)) return false;
            view.strides[i] = in->strides[axis];
        }
        break;
    }
    case LAYER_SLICE: view_slice(pool, layer, (uint32_t)layer_attr_int(network, layer, ATTR_DIM), in, &view); break;
    case LAYER_EXPAND:
        for (uint32_t i = 0; i < in->shape.rank; i++) {
            bool repeats = sym_is_one(in->shape.sizes[i]) && !sym_is_one(result->shape.sizes[i]);
            view.strides[i] = repeats ? sym_int(pool, 0) : in->strides[i];
        }
        break;
    case LAYER_DIAGONAL: view_diagonal(pool, network, layer, in, &view); break;
    case LAYER_UNFOLD: {
        uint32_t dim = (uint32_t)layer_attr_int(network, layer, ATTR_DIM);
        for (uint32_t i = 0; i < in->shape.rank; i++) view.strides[i] = in->strides[i];
        view.strides[dim] = sym_mul(pool, in->strides[dim], layer_sym(layer, ATTR_STEP));
        view.strides[in->shape.rank] = in->strides[dim];
        break;
    }
    case LAYER_AS_STRIDED: view_strided(pool, layer, in, &view); break;
    case LAYER_BITCAST:
        if (!view_bits(pool, in, result->dtype, &view)) return false;
        break;
    default: return false;
    }
    view.shape = result->shape;
    *out = view;
    return true;
}

/* Of windows that adjoin and fill the dimension, which show every element once. */
static bool unview_unfold(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *out,
                          tensor_type_t *in) {
    uint32_t dim = (uint32_t)layer_attr_int(network, layer, ATTR_DIM), last = out->shape.rank - 1;
    int64_t size = layer_attr_int(network, layer, ATTR_SIZE);
    sym_t covered = sym_mul(pool, out->shape.sizes[dim], sym_int(pool, size));
    if (size != layer_attr_int(network, layer, ATTR_STEP) || !sym_same(covered, in->shape.sizes[dim])) return false;
    if (!sym_same(out->strides[dim], sym_mul(pool, out->strides[last], sym_int(pool, size)))) return false;
    in->strides[dim] = out->strides[last];
    return true;
}

bool layout_unview(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *out,
                   tensor_type_t *in) {
    const network_tensor_t *operand = network_tensor_of(network, layer->operands[0]);
    if (layer->kind == LAYER_RESHAPE) return layout_reshape(pool, out, &operand->shape, in);
    tensor_type_t whole = *out;
    whole.shape = operand->shape;
    if (layer->kind == LAYER_PERMUTE) {
        attr_t axes = layer_attr(layer, ATTR_AXES);
        for (uint32_t i = 0; i < axes.list.count; i++) {
            int64_t axis = 0;
            if (!sym_constant(pool, axes.list.items[i], &axis)) return false;
            whole.strides[axis] = out->strides[i];
        }
        *in = whole;
        return true;
    }
    if (layer->kind == LAYER_BITCAST && !view_bits(pool, out, operand->dtype, &whole)) return false;
    if (layer->kind == LAYER_UNFOLD && !unview_unfold(pool, network, layer, out, &whole)) return false;
    if (layer->kind == LAYER_BITCAST || layer->kind == LAYER_UNFOLD) {
        *in = whole;
        return true;
    }
    if ((layer->kind == LAYER_SLICE || layer->kind == LAYER_EXPAND) && shape_same(&operand->shape, &out->shape)) {
        *in = whole;
        return true;
    }
    return false;
}

bool layout_part(sym_pool_t *pool, const network_t *network, const layer_t *layer, const tensor_type_t *result,
                 tensor_type_t *out) {
    tensor_type_t part = {.dtype = result->dtype, .offset = result->offset};
    if (layer->kind == LAYER_SLICE_UPDATE)
        view_slice(pool, layer, (uint32_t)layer_attr_int(network, layer, ATTR_DIM), result, &part);
    if (layer->kind == LAYER_DIAGONAL_UPDATE) view_diagonal(pool, network, layer, result, &part);
    if (layer->kind == LAYER_AS_STRIDED_UPDATE) view_strided(pool, layer, result, &part);
    part.shape = network_tensor_of(network, layer->operands[1])->shape;
    *out = part;
    return kind_has(layer->kind, TRAIT_PART);
}

/* Sufficient: sorted by stride, each dimension steps over all that the smaller ones reach. */
bool layout_is_apart(const sym_pool_t *pool, const tensor_type_t *type) {
    int64_t sizes[MAX_RANK], strides[MAX_RANK], reach = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        int64_t size, stride;
        if (!sym_constant(pool, type->shape.sizes[i], &size) || !sym_constant(pool, type->strides[i], &stride))
            return false;
        if (size <= 1) continue;
        uint32_t at = count++;
        for (; at > 0 && strides[at - 1] > stride; at--) {
            sizes[at] = sizes[at - 1];
            strides[at] = strides[at - 1];
        }
        sizes[at] = size;
        strides[at] = stride;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strides[i] <= reach) return false;
        reach += (sizes[i] - 1) * strides[i];
    }
    return true;
}
