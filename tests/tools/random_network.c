#include "random_network.h"

#include <stdio.h>
#include <stdlib.h>

/* A generator that asks for what the network refuses is wrong itself. */
static void require(bool holds) {
    if (holds) return;
    (void)fprintf(stderr, "random_network: a layer that can't be\n");
    abort();
}

static uint64_t random_state;

void random_seed(uint64_t seed) { random_state = seed * 977 + 1; }

uint32_t random_below(uint32_t limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % limit;
}

/* ---- making a network ---- */

int64_t size_of(const network *network, tensor_id tensor, uint32_t dim) {
    int64_t size = 0;
    require(sym_constant(&network->symbols, network->tensors[tensor.index].shape.sizes[dim], &size));
    return size;
}

uint32_t rank_of(const network *network, tensor_id tensor) { return network->tensors[tensor.index].shape.rank; }

int64_t numel_of(const network *network, tensor_id tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < rank_of(network, tensor); i++) count *= size_of(network, tensor, i);
    return count;
}

static sym number(network *network, int64_t value) { return sym_int(&network->symbols, value); }

static tensor_id pick(const network *network) { return (tensor_id){random_below(network->tensor_count)}; }

static tensor_id add(network *network, layer_kind kind, const tensor_id *operands, uint32_t count, const attr *attrs) {
    tensor_id results[2];
    char name[16];
    insitu_diag diag;
    insitu_diag_init(&diag);
    (void)snprintf(name, sizeof name, "t%u", network->layer_count);
    require(network_add_layer(network, kind, operands, count, attrs, name, "", results, &diag) == INSITU_OK);
    return results[0];
}

static shape random_shape(network *network) {
    static const int64_t sizes[] = {1, 2, 3, 4};
    shape shape = {.rank = random_below(4)};
    for (uint32_t i = 0; i < shape.rank; i++) shape.sizes[i] = number(network, sizes[random_below(4)]);
    return shape;
}

/* dim, end, start, step of a random slice */
static void random_slice(network *network, tensor_id x, attr attrs[4]) {
    uint32_t dim = random_below(rank_of(network, x));
    int64_t size = size_of(network, x, dim);
    int64_t start = random_below((uint32_t)size), end = start + 1 + random_below((uint32_t)(size - start));
    attrs[0] = attr_of_sym(number(network, dim));
    attrs[1] = attr_of_sym(number(network, end));
    attrs[2] = attr_of_sym(number(network, start));
    attrs[3] = attr_of_sym(number(network, 1 + random_below(2)));
}

/* A tensor of the shape: one that is there, if one fits, else something made from what is there. */
static tensor_id of_shape(network *network, const shape *wanted) {
    for (uint32_t tries = 0; tries < 12; tries++) {
        tensor_id tensor = pick(network);
        if (shape_same(&network->tensors[tensor.index].shape, wanted)) return tensor;
        int64_t count = 1, size = 0;
        for (uint32_t i = 0; i < wanted->rank; i++)
            if (sym_constant(&network->symbols, wanted->sizes[i], &size)) count *= size;
        if (tries > 6 && numel_of(network, tensor) == count)
            return add(network, LAYER_RESHAPE, &tensor, 1,
                       &(attr){.kind = ATTR_KIND_SYMS, .list = {wanted->sizes, wanted->rank}});
    }
    attr attrs[] = {attr_of_dtype(DTYPE_F32), attr_of_list(wanted->sizes, wanted->rank),
                    attr_of_sym(sym_float(&network->symbols, (double)random_below(9)))};
    return add(network, LAYER_FILL, NULL, 0, attrs);
}

static void add_view(network *network, tensor_id x) {
    const shape *from = &network->tensors[x.index].shape;
    sym list[MAX_RANK];
    attr attrs[4];
    switch (random_below(4)) {
    case 0:
        for (uint32_t i = 0; i < from->rank; i++) list[i] = number(network, i);
        for (uint32_t i = from->rank; i > 1; i--) {
            uint32_t other = random_below(i);
            sym swap = list[i - 1];
            list[i - 1] = list[other];
            list[other] = swap;
        }
        attrs[0] = attr_of_list(list, from->rank);
        add(network, LAYER_PERMUTE, &x, 1, attrs);
        return;
    case 1: {
        uint32_t rank = 0;
        int64_t left = numel_of(network, x);
        while (rank < 3 && left > 1) {
            int64_t factor = left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : left;
            if (random_below(3) == 0) factor = left;
            list[rank++] = number(network, factor);
            left /= factor;
        }
        list[rank++] = number(network, left);
        attrs[0] = attr_of_list(list, rank);
        add(network, LAYER_RESHAPE, &x, 1, attrs);
        return;
    }
    case 2:
        if (from->rank == 0) return;
        random_slice(network, x, attrs);
        add(network, LAYER_SLICE, &x, 1, attrs);
        return;
    default:
        for (uint32_t i = 0; i < from->rank; i++) {
            bool repeats = size_of(network, x, i) == 1 && numel_of(network, x) <= RANDOM_MAX_ELEMENTS / 4;
            list[i] = repeats ? number(network, 1 + random_below(2)) : from->sizes[i];
        }
        attrs[0] = attr_of_list(list, from->rank);
        add(network, LAYER_EXPAND, &x, 1, attrs);
    }
}

static void add_update(network *network, tensor_id x) {
    attr attrs[4];
    if (rank_of(network, x) == 0) return;
    if (random_below(5) == 0) {
        shape part = network->tensors[x.index].shape;
        uint32_t dim = random_below(part.rank);
        part.sizes[dim] = number(network, 1 + random_below((uint32_t)size_of(network, x, dim)));
        tensor_id operands[] = {x, of_shape(network, &part)};
        attrs[0] = attr_of_sym(number(network, dim));
        attrs[1] = (attr){.kind = ATTR_KIND_NONE};
        if (random_below(2)) attrs[1] = attr_of_sym(sym_bool(&network->symbols, true));
        add(network, LAYER_SHIFT_UPDATE, operands, 2, attrs);
        return;
    }
    random_slice(network, x, attrs);
    tensor_id slice = add(network, LAYER_SLICE, &x, 1, attrs);
    shape part = network->tensors[slice.index].shape;
    tensor_id operands[] = {x, random_below(3) == 0 ? slice : of_shape(network, &part)};
    add(network, LAYER_SLICE_UPDATE, operands, 2, attrs);
}

static void add_compute(network *network, tensor_id x) {
    shape shape = network->tensors[x.index].shape;
    tensor_id operands[3] = {x, x, x};
    attr attrs[4];
    switch (random_below(4)) {
    case 0:
        attrs[0] = attr_of_op(OP_NEG);
        add(network, LAYER_UNARY, operands, 1, attrs);
        return;
    case 1:
        operands[1] = of_shape(network, &shape);
        attrs[0] = attr_of_op(OP_ADD);
        attrs[1] = attrs[2] = (attr){.kind = ATTR_KIND_NONE};
        add(network, LAYER_BINARY, operands, 2, attrs);
        return;
    case 2: add(network, LAYER_COPY, operands, 1, attrs); return;
    default:
        if (shape.rank == 0 || numel_of(network, x) > RANDOM_MAX_ELEMENTS / 4) return;
        operands[1] = of_shape(network, &shape);
        attrs[0] = attr_of_sym(number(network, random_below(shape.rank)));
        add(network, LAYER_CONCAT, operands, 2, attrs);
    }
}

static tensor_id add_source(network *network, tensor_role role, uint32_t index, const shape *shape) {
    tensor_id tensor;
    char name[16];
    (void)snprintf(name, sizeof name, "%s%u", role == TENSOR_STATE ? "s" : "x", index);
    require(network_add_tensor(network, name, role, DTYPE_F32, shape, index, &tensor) == INSITU_OK);
    return tensor;
}

static void add_state(network *network, const shape *shape) {
    network_state *state;
    tensor_id tensor = add_source(network, TENSOR_STATE, network->state_count, shape);
    require(network_add_state(network, &state) == INSITU_OK);
    *state = (network_state){.name = network->tensors[tensor.index].name, .tensor = tensor, .record = NONE};
    shape_dense_strides(&network->symbols, shape, state->strides);
}

static void add_input(network *network, const shape *shape) {
    network_input *input;
    tensor_id tensor = add_source(network, TENSOR_INPUT, network->input_count, shape);
    require(network_add_input(network, &input) == INSITU_OK);
    *input = (network_input){.name = network->tensors[tensor.index].name, .tensor = tensor, .dtype = DTYPE_F32};
    shape_dense_strides(&network->symbols, shape, input->strides);
}

static void add_mutation(network *network, uint32_t input, tensor_id next) {
    network_mutation *mutation;
    require(network_add_mutation(network, &mutation) == INSITU_OK);
    *mutation = (network_mutation){input, next};
}

static void add_outputs(network *network, uint32_t count) {
    static const char *const names[] = {"output.0", "output.1", "output.2"};
    for (uint32_t i = 0; i < count; i++) {
        network_output *output;
        require(network_add_output(network, &output) == INSITU_OK);
        *output = (network_output){.name = names[i], .kind = OUTPUT_TENSOR, .tensor = pick(network)};
    }
}

network *random_network(uint64_t seed) {
    random_seed(seed);
    network *network;
    require(network_create(&network) == INSITU_OK);
    uint32_t states = 1 + random_below(3), inputs = 1 + random_below(2), layers = 2 + random_below(10);
    for (uint32_t i = 0; i < states + inputs; i++) {
        shape shape = random_shape(network);
        if (i < states)
            add_state(network, &shape);
        else
            add_input(network, &shape);
    }
    for (uint32_t i = 0; i < layers; i++) {
        uint32_t kind = random_below(7);
        tensor_id x = random_below(2) ? pick(network) : (tensor_id){random_below(states + inputs)};
        if (kind < 2)
            add_view(network, x);
        else if (kind < 5)
            add_update(network, random_below(2) ? x : (tensor_id){network->tensor_count - 1});
        else
            add_compute(network, x);
    }
    for (uint32_t i = 0; i < states; i++) network->states[i].next = of_shape(network, &network->tensors[i].shape);
    for (uint32_t i = 0; i < inputs; i++)
        if (random_below(3) == 0)
            add_mutation(network, i, of_shape(network, &network->tensors[network->inputs[i].tensor.index].shape));
    add_outputs(network, 1 + random_below(3));
    return network;
}

/* ---- networks whose tensors cross ---- */

/* A tensor of that shape, a late one more often than an early one. */
static tensor_id pick_shaped(const network *network, const shape *shape) {
    for (;;) {
        tensor_id a = pick(network), b = pick(network);
        if (b.index > a.index) a = b;
        if (shape_same(&network->tensors[a.index].shape, shape)) return a;
    }
}

static tensor_id slice_of(network *network, tensor_id x, int64_t start, int64_t end) {
    attr attrs[] = {attr_of_sym(number(network, 0)), attr_of_sym(number(network, end)),
                    attr_of_sym(number(network, start)), attr_of_sym(number(network, 1))};
    return add(network, LAYER_SLICE, &x, 1, attrs);
}

/* A part of x is replaced by one of y, or x is moved on by it, or both are joined. */
static void add_crossing(network *network, tensor_id x, tensor_id y) {
    int64_t size = size_of(network, x, 0), part = 1 + random_below((uint32_t)size - 1);
    int64_t from = random_below((uint32_t)(size - part + 1)), to = random_below((uint32_t)(size - part + 1));
    attr attrs[4] = {attr_of_sym(number(network, 0)), {.kind = ATTR_KIND_NONE}};
    tensor_id operands[] = {x, y};
    switch (random_below(3)) {
    case 0:
        operands[1] = slice_of(network, y, from, from + part);
        if (random_below(2)) attrs[1] = attr_of_sym(sym_bool(&network->symbols, true));
        add(network, LAYER_SHIFT_UPDATE, operands, 2, attrs);
        return;
    case 1:
        operands[0] = slice_of(network, y, size - part, size);
        operands[1] = slice_of(network, x, 0, size - part);
        add(network, LAYER_CONCAT, operands, 2, attrs);
        return;
    default:
        operands[1] = slice_of(network, y, from, from + part);
        attrs[1] = attr_of_sym(number(network, to + part));
        attrs[2] = attr_of_sym(number(network, to));
        attrs[3] = attr_of_sym(number(network, 1));
        add(network, LAYER_SLICE_UPDATE, operands, 2, attrs);
    }
}

/* y and the largest of x along dimension 0, everywhere: all of x is read for each element. */
static void add_spread(network *network, tensor_id x, tensor_id y) {
    const shape shape = network->tensors[x.index].shape;
    sym axis = number(network, 0);
    attr reduce[] = {attr_of_list(&axis, 1),
                     {.kind = ATTR_KIND_NONE},
                     attr_of_sym(sym_bool(&network->symbols, true)),
                     attr_of_op(OP_AMAX)};
    tensor_id row = add(network, LAYER_REDUCE, &x, 1, reduce);
    attr sizes = attr_of_list(shape.sizes, shape.rank);
    tensor_id operands[] = {y, add(network, LAYER_EXPAND, &row, 1, &sizes)};
    attr none = {.kind = ATTR_KIND_NONE}, add_op[] = {attr_of_op(OP_ADD), none, none};
    add(network, LAYER_BINARY, operands, 2, add_op);
}

network *random_crossed_network(uint64_t seed) {
    random_seed(seed);
    network *network;
    require(network_create(&network) == INSITU_OK);
    shape shape = {.rank = 1 + random_below(2)};
    for (uint32_t i = 0; i < shape.rank; i++) shape.sizes[i] = number(network, 2 + random_below(3));
    uint32_t states = 1 + random_below(3), inputs = 1 + random_below(2), layers = 2 + random_below(6);
    for (uint32_t i = 0; i < states; i++) add_state(network, &shape);
    for (uint32_t i = 0; i < inputs; i++) add_input(network, &shape);
    for (uint32_t i = 0; i < layers; i++) {
        tensor_id x = pick_shaped(network, &shape), operands[] = {x, pick_shaped(network, &shape)};
        attr none = {.kind = ATTR_KIND_NONE}, add_op[] = {attr_of_op(OP_ADD), none, none}, neg = attr_of_op(OP_NEG);
        uint32_t kind = random_below(8);
        if (kind < 3)
            add_crossing(network, operands[0], operands[1]);
        else if (kind < 5)
            add(network, LAYER_BINARY, operands, 2, add_op);
        else if (kind == 5)
            add(network, LAYER_UNARY, operands, 1, &neg);
        else if (kind == 6)
            add_spread(network, x, operands[1]);
        else if (random_below(3) == 0)
            add(network, LAYER_COPY, operands, 1, NULL);
    }
    for (uint32_t i = 0; i < states; i++) network->states[i].next = pick_shaped(network, &shape);
    for (uint32_t i = 0; i < inputs; i++)
        if (random_below(2)) add_mutation(network, i, pick_shaped(network, &shape));
    add_outputs(network, 1 + random_below(2));
    return network;
}
