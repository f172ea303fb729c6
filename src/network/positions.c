/* States that are indexed by position, such as the caches of attention: every write of the program to such a state replaces
 * rows of one axis, row p with what belongs to position p. Then a sequence is cut to n rows by giving the rest their initial
 * values.
 *
 * In: the state's value when the call begins and when it ends. The layers from the one to the other must be writes of rows,
 * views with the dimensions in another order, and parts at constant places. A position must be the number that the call is
 * given, or a number that only grows from call to call, plus 0, 1, 2 ...: one that is wrapped (by few bits, too), clamped, looked
 * up or shifted may be a slot that serves several positions. What is not known to be one is none. */
#include "network/network_int.h"

enum { NO_AXIS = -2, UNWRITTEN = -1, MAX_STEPS = 4096 };

typedef struct tracer {
    const network_t *network;
    uint32_t steps; /* bounds the walk */
} tracer_t;

static const layer_t *maker(tracer_t *tracer, tensor_id_t tensor) {
    const network_tensor_t *row = network_tensor_of(tracer->network, tensor);
    if (row->role != TENSOR_RESULT || ++tracer->steps > MAX_STEPS) return NULL;
    return network_layer_of(tracer->network, row->producer);
}

static sym_t size_in(const tracer_t *tracer, tensor_id_t tensor, uint32_t dim) {
    return network_tensor_of(tracer->network, tensor)->shape.sizes[dim];
}

static bool is_number(const tracer_t *tracer, sym_t value, int64_t expected) {
    int64_t number;
    return sym_constant(&tracer->network->symbols, value, &number) && number == expected;
}

/* ---- positions ---- */

static bool is_position(tracer_t *tracer, tensor_id_t tensor, sym_t extent);

static const layer_t *item_of(const tracer_t *tracer, uint32_t symbol) {
    const network_t *network = tracer->network;
    for (uint32_t i = 0; i < network->layer_count; i++)
        if (network->layers[i].kind == LAYER_ITEM &&
            sym_symbol_index(&network->symbols, layer_attr(&network->layers[i], ATTR_SYMBOL).value) == symbol)
            return &network->layers[i];
    return NULL;
}

/* A difference of lengths, such as all that there will be less what is new. */
static bool is_of_lengths(const tracer_t *tracer, sym_t value) {
    const sym_pool_t *pool = &tracer->network->symbols;
    if (sym_op_of(pool, value) != SYM_ADD) return false;
    for (uint32_t i = 0; i < sym_arg_count(pool, value); i++) {
        sym_t part = sym_arg(pool, value, i);
        if (sym_op_of(pool, part) == SYM_MUL && sym_arg_count(pool, part) == 2)
            part = is_number(tracer, sym_arg(pool, part, 0), -1) ? sym_arg(pool, part, 1) : part;
        uint32_t symbol = sym_symbol_index(pool, part);
        if (symbol == NONE || item_of(tracer, symbol)) return false;
    }
    return true;
}

/* A slice's start is clamped to what there is, which moves no row that is written. */
static bool is_position_number(tracer_t *tracer, sym_t value, sym_t extent) {
    const sym_pool_t *pool = &tracer->network->symbols;
    for (uint32_t i = 0; i < 2 && sym_arg_count(pool, value) == 2; i++) {
        sym_op_t op = sym_op_of(pool, value);
        sym_t first = sym_arg(pool, value, 0), second = sym_arg(pool, value, 1);
        bool swaps = op == SYM_MIN ? sym_same(second, extent) : is_number(tracer, second, 0);
        sym_t limit = swaps ? second : first, rest = swaps ? first : second;
        if (op != SYM_MIN && op != SYM_MAX) break;
        if (op == SYM_MIN ? !sym_same(limit, extent) : !is_number(tracer, limit, 0)) return false;
        value = rest;
    }
    uint32_t symbol = sym_symbol_index(pool, value);
    if (symbol == NONE) return is_of_lengths(tracer, value);
    const layer_t *item = item_of(tracer, symbol);
    return item ? is_position(tracer, item->operands[0], extent) : true;
}

/* 0, 1, 2 ... along some dimensions: what is added to a first position. */
static bool is_run(tracer_t *tracer, tensor_id_t tensor) {
    const affine_index_t form = network_affine_index(tracer->network, tensor);
    const network_tensor_t *row = network_tensor_of(tracer->network, tensor);
    if (form.is_unknown || form.base != 0) return false;
    for (uint32_t i = 0; i < row->shape.rank; i++)
        if (!is_number(tracer, row->shape.sizes[i], 1) && form.steps[i] != 0 && form.steps[i] != 1) return false;
    return true;
}

static bool is_sum(const layer_t *layer) {
    return layer->kind == LAYER_BINARY && layer->operand_count == 2 && layer_attr(layer, ATTR_OP).op == OP_ADD &&
           layer_attr(layer, ATTR_SCALAR).kind == ATTR_KIND_NONE;
}

/* What is computed in fewer bits wraps while there are rows: a ring of 256 or of 65536. */
static bool is_wide(const tracer_t *tracer, tensor_id_t tensor) {
    return dtype_size(network_tensor_of(tracer->network, tensor)->dtype) >= sizeof(int32_t);
}

static bool adds_less_than_nothing(const tracer_t *tracer, const layer_t *layer) {
    const attr_t scalar = layer_attr(layer, ATTR_SCALAR);
    int64_t number;
    return scalar.kind != ATTR_KIND_NONE &&
           (!sym_constant(&tracer->network->symbols, scalar.value, &number) || number < 0);
}

/* A count that the program keeps: each call adds to it, and does nothing else. */
static bool is_counter(tracer_t *tracer, uint32_t state) {
    tensor_id_t start = tracer->network->states[state].tensor, next = tracer->network->states[state].next;
    if (next.index == NONE || !is_wide(tracer, start)) return false;
    for (const layer_t *layer; (layer = maker(tracer, next));) {
        if (layer->kind == LAYER_RESHAPE || layer->kind == LAYER_COPY) {
            next = layer->operands[0];
            continue;
        }
        if (layer->kind != LAYER_BINARY || layer_attr(layer, ATTR_OP).op != OP_ADD) return false;
        if (adds_less_than_nothing(tracer, layer)) return false;
        for (uint32_t i = 0; i < layer->operand_count; i++)
            if (layer->operands[i].index == start.index) return true;
        return false;
    }
    return false;
}

static bool is_position(tracer_t *tracer, tensor_id_t tensor, sym_t extent) {
    const network_tensor_t *row = network_tensor_of(tracer->network, tensor);
    if (row->role == TENSOR_INPUT) return true;
    if (row->role == TENSOR_STATE) return is_counter(tracer, row->index);
    const layer_t *layer = maker(tracer, tensor);
    if (!layer || !dtype_is_integral(row->dtype)) return false;
    bool is_computed = layer->kind == LAYER_CAST || layer->kind == LAYER_FILL || layer->kind == LAYER_IOTA ||
                       layer->kind == LAYER_BINARY;
    if (is_computed && !is_wide(tracer, tensor)) return false;
    switch ((int)layer->kind) {
    case LAYER_RESHAPE:
    case LAYER_EXPAND:
    case LAYER_PERMUTE:
    case LAYER_CAST:
    case LAYER_COPY: return is_position(tracer, layer->operands[0], extent);
    case LAYER_SLICE:
        return network_tensor_of(tracer->network, layer->operands[0])->role == TENSOR_INPUT &&
               is_position(tracer, layer->operands[0], extent);
    case LAYER_FILL: return is_position_number(tracer, layer_attr(layer, ATTR_VALUE).value, extent);
    case LAYER_IOTA:
        return is_number(tracer, layer_attr(layer, ATTR_STEP).value, 1) &&
               is_position_number(tracer, layer_attr(layer, ATTR_START).value, extent);
    case LAYER_BINARY:
        if (!is_sum(layer)) return false;
        for (uint32_t i = 0; i < 2; i++)
            if (is_run(tracer, layer->operands[i]) && is_position(tracer, layer->operands[1 - i], extent)) return true;
        return false;
    default: return false;
    }
}

/* ---- writes ---- */

static int32_t joined(int32_t a, int32_t b) { return a == UNWRITTEN || a == b ? b : b == UNWRITTEN ? a : NO_AXIS; }

static int32_t axis_between(tracer_t *tracer, tensor_id_t start, tensor_id_t value);

static bool same_attr(const layer_t *a, const layer_t *b, attr_id_t id) {
    return sym_same(layer_attr(a, id).value, layer_attr(b, id).value);
}

/* Rows at positions; or, at a constant place, a part of which rows were written. */
static int32_t axis_of_slice(tracer_t *tracer, const layer_t *layer) {
    const network_t *network = tracer->network;
    int64_t dim = layer_attr_int(network, layer, ATTR_DIM), place;
    sym_t start = layer_attr(layer, ATTR_START).value, extent = size_in(tracer, layer->operands[0], (uint32_t)dim);
    if (!sym_constant(&network->symbols, start, &place))
        return layer_attr_int(network, layer, ATTR_STEP) == 1 && is_position_number(tracer, start, extent)
                   ? (int32_t)dim
                   : NO_AXIS;
    tensor_id_t part = layer->operands[1];
    for (const layer_t *view_node; (view_node = maker(tracer, part)); part = view_node->operands[0]) {
        if (view_node->kind == LAYER_SLICE) break;
        if (!kind_has(view_node->kind, TRAIT_UPDATE) && view_node->kind != LAYER_RESHAPE &&
            view_node->kind != LAYER_PERMUTE)
            return NO_AXIS;
    }
    const layer_t *view_node = maker(tracer, part);
    if (!view_node || !same_attr(view_node, layer, ATTR_DIM) || !same_attr(view_node, layer, ATTR_START) ||
        !same_attr(view_node, layer, ATTR_END) || !same_attr(view_node, layer, ATTR_STEP) ||
        view_node->operands[0].index != layer->operands[0].index)
        return NO_AXIS;
    int32_t axis = axis_between(tracer, part, layer->operands[1]);
    return axis == dim ? NO_AXIS : axis;
}

/* Rows of one dimension, or of one for each row of a batch. */
static int32_t axis_of_indices(tracer_t *tracer, const layer_t *layer) {
    const attr_t dims = layer_attr(layer, ATTR_DIMS);
    int64_t dim = 0;
    uint32_t count = dims.list.count;
    if (count < 1 || count > 2 || layer_attr_int(tracer->network, layer, ATTR_ACCUMULATE)) return NO_AXIS;
    if (!sym_constant(&tracer->network->symbols, dims.list.items[count - 1], &dim)) return NO_AXIS;
    if (count == 2 && (!is_number(tracer, dims.list.items[0], 0) || !is_run(tracer, layer->operands[2])))
        return NO_AXIS;
    tensor_id_t positions = layer->operands[layer->operand_count - 1];
    return is_position(tracer, positions, size_in(tracer, layer->operands[0], (uint32_t)dim)) ? (int32_t)dim : NO_AXIS;
}

/* The dimension of a reshape's result that is the operand's dimension: the same elements lie before it. */
static int32_t reshaped_axis(tracer_t *tracer, const layer_t *layer, int32_t axis) {
    const sym_pool_t *pool = &tracer->network->symbols;
    const shape_t *from = &network_tensor_of(tracer->network, layer->operands[0])->shape;
    const shape_t *to = &network_tensor_of(tracer->network, layer->results[0])->shape;
    int64_t before = 1, size, place = 1;
    for (int32_t i = 0; i < axis; i++) {
        if (!sym_constant(pool, from->sizes[i], &size)) return NO_AXIS;
        before *= size;
    }
    for (uint32_t i = 0; i < to->rank; i++) {
        if (place == before && sym_same(to->sizes[i], from->sizes[axis])) return (int32_t)i;
        if (!sym_constant(pool, to->sizes[i], &size)) return NO_AXIS;
        place *= size;
    }
    return NO_AXIS;
}

static int32_t permuted_axis(const tracer_t *tracer, const layer_t *layer, int32_t axis) {
    const attr_t axes = layer_attr(layer, ATTR_AXES);
    for (uint32_t i = 0; i < axes.list.count; i++)
        if (is_number(tracer, axes.list.items[i], axis)) return (int32_t)i;
    return NO_AXIS;
}

/* Of the writes that make value of start, as a dimension of value. */
static int32_t axis_between(tracer_t *tracer, tensor_id_t start, tensor_id_t value) {
    if (value.index == start.index) return UNWRITTEN;
    const layer_t *layer = maker(tracer, value);
    if (!layer || layer->operand_count < 1) return NO_AXIS;
    int32_t axis = axis_between(tracer, start, layer->operands[0]);
    if (axis == NO_AXIS) return NO_AXIS;
    switch ((int)layer->kind) {
    case LAYER_SLICE_UPDATE: return joined(axis, axis_of_slice(tracer, layer));
    case LAYER_INDEX_UPDATE: return joined(axis, axis_of_indices(tracer, layer));
    case LAYER_COPY: return axis;
    case LAYER_RESHAPE: return axis < 0 ? axis : reshaped_axis(tracer, layer, axis);
    case LAYER_PERMUTE: return axis < 0 ? axis : permuted_axis(tracer, layer, axis);
    default: return NO_AXIS;
    }
}

static bool is_same_view(const network_t *network, const network_state_t *a, const network_state_t *b) {
    const shape_t *shape = &network_tensor_of(network, a->tensor)->shape;
    if (!shape_same(shape, &network_tensor_of(network, b->tensor)->shape) || !sym_same(a->offset, b->offset))
        return false;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!sym_same(a->strides[i], b->strides[i])) return false;
    return true;
}

/* Of the states in one block of memory one may be written, and the others are names of it. */
uint32_t network_position_axis(const network_t *network, uint32_t state) {
    tracer_t tracer = {.network = network};
    const network_state_t *row = &network->states[state], *writer = NULL;
    for (uint32_t i = 0; i < network->state_count; i++) {
        const network_state_t *other = &network->states[i];
        if (i != state && (row->record == NONE || other->record != row->record)) continue;
        if (!is_same_view(network, row, other) || (writer && other->next.index != NONE)) return NONE;
        if (other->next.index != NONE) writer = other;
    }
    int32_t axis = writer ? axis_between(&tracer, writer->tensor, writer->next) : NO_AXIS;
    return axis < 0 ? NONE : (uint32_t)axis;
}
