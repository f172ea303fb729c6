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

int64_t size_of(const network_t *network, tensor_id_t tensor, uint32_t dim) {
    int64_t size = 0;
    require(sym_constant(&network->symbols, network->tensors[tensor.index].shape.sizes[dim], &size));
    return size;
}

uint32_t rank_of(const network_t *network, tensor_id_t tensor) { return network->tensors[tensor.index].shape.rank; }

int64_t numel_of(const network_t *network, tensor_id_t tensor) {
    int64_t count = 1;
    for (uint32_t i = 0; i < rank_of(network, tensor); i++) count *= size_of(network, tensor, i);
    return count;
}

static sym_t number(network_t *network, int64_t value) { return sym_int(&network->symbols, value); }

static tensor_id_t pick(const network_t *network) { return (tensor_id_t){random_below(network->tensor_count)}; }

static tensor_id_t add(network_t *network, const layer_draft_t *draft, const tensor_id_t *operands, uint32_t count) {
    tensor_id_t results[MAX_RESULTS];
    char name[16];
    insitu_diag diag;
    insitu_diag_init(&diag);
    (void)snprintf(name, sizeof name, "t%u", network->layer_count);
    require(network_add_layer(network, draft, operands, count, name, "", results, &diag) == INSITU_OK);
    return results[0];
}

static shape_t random_shape(network_t *network) {
    static const int64_t sizes[] = {1, 2, 3, 4};
    shape_t shape = {.rank = random_below(4)};
    for (uint32_t i = 0; i < shape.rank; i++) shape.sizes[i] = number(network, sizes[random_below(4)]);
    return shape;
}

/* Of slice, or slice_update. */
static layer_draft_t random_slice(network_t *network, layer_kind_t kind, tensor_id_t x) {
    uint32_t dim = random_below(rank_of(network, x));
    int64_t size = size_of(network, x, dim);
    int64_t start = random_below((uint32_t)size), end = start + 1 + random_below((uint32_t)(size - start));
    return draft_slice(&network->symbols, kind, dim, number(network, start), number(network, end), 1 + random_below(2));
}

/* A tensor of the shape: one that is there, if one fits, else something made from what is there. */
static tensor_id_t of_shape(network_t *network, const shape_t *wanted) {
    for (uint32_t tries = 0; tries < 12; tries++) {
        tensor_id_t tensor = pick(network);
        if (shape_same(&network->tensors[tensor.index].shape, wanted)) return tensor;
        int64_t count = 1, size = 0;
        for (uint32_t i = 0; i < wanted->rank; i++)
            if (sym_constant(&network->symbols, wanted->sizes[i], &size)) count *= size;
        const layer_draft_t view = draft_sized(LAYER_RESHAPE, wanted);
        if (tries > 6 && numel_of(network, tensor) == count) return add(network, &view, &tensor, 1);
    }
    layer_draft_t fill = draft_sized(LAYER_FILL, wanted);
    draft_dtype(&fill, DTYPE_F32);
    draft_float(&network->symbols, &fill, ATTR_VALUE, (double)random_below(9));
    return add(network, &fill, NULL, 0);
}

static void add_view(network_t *network, tensor_id_t x) {
    const shape_t *from = &network->tensors[x.index].shape;
    sym_t list[MAX_RANK];
    layer_draft_t view;
    switch (random_below(4)) {
    case 0:
        for (uint32_t i = 0; i < from->rank; i++) list[i] = number(network, i);
        for (uint32_t i = from->rank; i > 1; i--) {
            uint32_t other = random_below(i);
            sym_t swap = list[i - 1];
            list[i - 1] = list[other];
            list[other] = swap;
        }
        view = draft_of(LAYER_PERMUTE);
        draft_list(&view, ATTR_AXES, list, from->rank);
        break;
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
        view = draft_of(LAYER_RESHAPE);
        draft_list(&view, ATTR_SIZES, list, rank);
        break;
    }
    case 2:
        if (from->rank == 0) return;
        view = random_slice(network, LAYER_SLICE, x);
        break;
    default:
        for (uint32_t i = 0; i < from->rank; i++) {
            bool repeats = size_of(network, x, i) == 1 && numel_of(network, x) <= RANDOM_MAX_ELEMENTS / 4;
            list[i] = repeats ? number(network, 1 + random_below(2)) : from->sizes[i];
        }
        view = draft_of(LAYER_EXPAND);
        draft_list(&view, ATTR_SIZES, list, from->rank);
    }
    add(network, &view, &x, 1);
}

static void add_update(network_t *network, tensor_id_t x) {
    if (rank_of(network, x) == 0) return;
    if (random_below(5) == 0) {
        shape_t part = network->tensors[x.index].shape;
        uint32_t dim = random_below(part.rank);
        part.sizes[dim] = number(network, 1 + random_below((uint32_t)size_of(network, x, dim)));
        tensor_id_t operands[] = {x, of_shape(network, &part)};
        layer_draft_t shift = draft_of(LAYER_SHIFT_UPDATE);
        draft_int(&network->symbols, &shift, ATTR_DIM, dim);
        if (random_below(2)) draft_flag(&network->symbols, &shift, ATTR_FRONT, true);
        add(network, &shift, operands, 2);
        return;
    }
    const layer_draft_t view = random_slice(network, LAYER_SLICE, x);
    layer_draft_t update = view;
    update.kind = LAYER_SLICE_UPDATE; /* of the same attributes */
    tensor_id_t slice = add(network, &view, &x, 1);
    shape_t part = network->tensors[slice.index].shape;
    tensor_id_t operands[] = {x, random_below(3) == 0 ? slice : of_shape(network, &part)};
    add(network, &update, operands, 2);
}

static void add_compute(network_t *network, tensor_id_t x) {
    shape_t shape = network->tensors[x.index].shape;
    tensor_id_t operands[3] = {x, x, x};
    layer_draft_t draft;
    switch (random_below(4)) {
    case 0:
        draft = draft_of(LAYER_UNARY);
        draft_op(&draft, OP_NEG);
        add(network, &draft, operands, 1);
        return;
    case 1:
        operands[1] = of_shape(network, &shape);
        draft = draft_of(LAYER_BINARY);
        draft_op(&draft, OP_ADD);
        add(network, &draft, operands, 2);
        return;
    case 2:
        draft = draft_of(LAYER_COPY);
        add(network, &draft, operands, 1);
        return;
    default:
        if (shape.rank == 0 || numel_of(network, x) > RANDOM_MAX_ELEMENTS / 4) return;
        operands[1] = of_shape(network, &shape);
        draft = draft_of(LAYER_CONCAT);
        draft_int(&network->symbols, &draft, ATTR_DIM, random_below(shape.rank));
        add(network, &draft, operands, 2);
    }
}

static tensor_id_t add_source(network_t *network, tensor_role_t role, uint32_t index, const shape_t *shape) {
    tensor_id_t tensor;
    char name[16];
    (void)snprintf(name, sizeof name, "%s%u", role == TENSOR_STATE ? "s" : "x", index);
    require(network_add_tensor(network, name, role, DTYPE_F32, shape, index, &tensor) == INSITU_OK);
    return tensor;
}

static void add_state(network_t *network, const shape_t *shape) {
    network_state_t *state;
    tensor_id_t tensor = add_source(network, TENSOR_STATE, network->state_count, shape);
    require(network_add_state(network, &state) == INSITU_OK);
    *state = (network_state_t){.name = network->tensors[tensor.index].name, .tensor = tensor, .record = NONE};
    shape_dense_strides(&network->symbols, shape, state->strides);
}

static void add_input(network_t *network, const shape_t *shape) {
    network_input_t *input;
    tensor_id_t tensor = add_source(network, TENSOR_INPUT, network->input_count, shape);
    require(network_add_input(network, &input) == INSITU_OK);
    *input = (network_input_t){.name = network->tensors[tensor.index].name, .tensor = tensor, .dtype = DTYPE_F32};
    shape_dense_strides(&network->symbols, shape, input->strides);
}

static void add_mutation(network_t *network, uint32_t input, tensor_id_t next) {
    network_mutation_t *mutation;
    require(network_add_mutation(network, &mutation) == INSITU_OK);
    *mutation = (network_mutation_t){input, next};
}

static void add_outputs(network_t *network, uint32_t count) {
    static const char *const names[] = {"output.0", "output.1", "output.2"};
    for (uint32_t i = 0; i < count; i++) {
        network_output_t *output;
        require(network_add_output(network, &output) == INSITU_OK);
        *output = (network_output_t){.name = names[i], .kind = OUTPUT_TENSOR, .tensor = pick(network)};
    }
}

network_t *random_network(uint64_t seed) {
    random_seed(seed);
    network_t *network;
    require(network_create(&network) == INSITU_OK);
    uint32_t states = 1 + random_below(3), inputs = 1 + random_below(2), layers = 2 + random_below(10);
    for (uint32_t i = 0; i < states + inputs; i++) {
        shape_t shape = random_shape(network);
        if (i < states)
            add_state(network, &shape);
        else
            add_input(network, &shape);
    }
    for (uint32_t i = 0; i < layers; i++) {
        uint32_t kind = random_below(7);
        tensor_id_t x = random_below(2) ? pick(network) : (tensor_id_t){random_below(states + inputs)};
        if (kind < 2)
            add_view(network, x);
        else if (kind < 5)
            add_update(network, random_below(2) ? x : (tensor_id_t){network->tensor_count - 1});
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
static tensor_id_t pick_shaped(const network_t *network, const shape_t *shape) {
    for (;;) {
        tensor_id_t a = pick(network), b = pick(network);
        if (b.index > a.index) a = b;
        if (shape_same(&network->tensors[a.index].shape, shape)) return a;
    }
}

static tensor_id_t slice_of(network_t *network, tensor_id_t x, int64_t start, int64_t end) {
    const layer_draft_t slice =
        draft_slice(&network->symbols, LAYER_SLICE, 0, number(network, start), number(network, end), 1);
    return add(network, &slice, &x, 1);
}

/* A part of x is replaced by one of y, or x is moved on by it, or both are joined. */
static void add_crossing(network_t *network, tensor_id_t x, tensor_id_t y) {
    int64_t size = size_of(network, x, 0), part = 1 + random_below((uint32_t)size - 1);
    int64_t from = random_below((uint32_t)(size - part + 1)), to = random_below((uint32_t)(size - part + 1));
    layer_draft_t draft;
    tensor_id_t operands[] = {x, y};
    switch (random_below(3)) {
    case 0:
        operands[1] = slice_of(network, y, from, from + part);
        draft = draft_of(LAYER_SHIFT_UPDATE);
        draft_int(&network->symbols, &draft, ATTR_DIM, 0);
        if (random_below(2)) draft_flag(&network->symbols, &draft, ATTR_FRONT, true);
        break;
    case 1:
        operands[0] = slice_of(network, y, size - part, size);
        operands[1] = slice_of(network, x, 0, size - part);
        draft = draft_of(LAYER_CONCAT);
        draft_int(&network->symbols, &draft, ATTR_DIM, 0);
        break;
    default:
        operands[1] = slice_of(network, y, from, from + part);
        draft =
            draft_slice(&network->symbols, LAYER_SLICE_UPDATE, 0, number(network, to), number(network, to + part), 1);
    }
    add(network, &draft, operands, 2);
}

/* y and the largest of x along dimension 0, everywhere: all of x is read for each element. */
static void add_spread(network_t *network, tensor_id_t x, tensor_id_t y) {
    const shape_t shape = network->tensors[x.index].shape;
    sym_t axis = number(network, 0);
    layer_draft_t reduce = draft_of(LAYER_REDUCE), spread = draft_sized(LAYER_EXPAND, &shape);
    draft_list(&reduce, ATTR_AXES, &axis, 1);
    draft_flag(&network->symbols, &reduce, ATTR_KEEPDIM, true);
    draft_op(&reduce, OP_AMAX);
    tensor_id_t row = add(network, &reduce, &x, 1);
    tensor_id_t operands[] = {y, add(network, &spread, &row, 1)};
    layer_draft_t sum = draft_of(LAYER_BINARY);
    draft_op(&sum, OP_ADD);
    add(network, &sum, operands, 2);
}

network_t *random_crossed_network(uint64_t seed) {
    random_seed(seed);
    network_t *network;
    require(network_create(&network) == INSITU_OK);
    shape_t shape = {.rank = 1 + random_below(2)};
    for (uint32_t i = 0; i < shape.rank; i++) shape.sizes[i] = number(network, 2 + random_below(3));
    uint32_t states = 1 + random_below(3), inputs = 1 + random_below(2), layers = 2 + random_below(6);
    for (uint32_t i = 0; i < states; i++) add_state(network, &shape);
    for (uint32_t i = 0; i < inputs; i++) add_input(network, &shape);
    for (uint32_t i = 0; i < layers; i++) {
        tensor_id_t x = pick_shaped(network, &shape), operands[] = {x, pick_shaped(network, &shape)};
        layer_draft_t sum = draft_of(LAYER_BINARY), negative = draft_of(LAYER_UNARY), copy = draft_of(LAYER_COPY);
        draft_op(&sum, OP_ADD);
        draft_op(&negative, OP_NEG);
        uint32_t kind = random_below(8);
        if (kind < 3)
            add_crossing(network, operands[0], operands[1]);
        else if (kind < 5)
            add(network, &sum, operands, 2);
        else if (kind == 5)
            add(network, &negative, operands, 1);
        else if (kind == 6)
            add_spread(network, x, operands[1]);
        else if (random_below(3) == 0)
            add(network, &copy, operands, 1);
    }
    for (uint32_t i = 0; i < states; i++) network->states[i].next = pick_shaped(network, &shape);
    for (uint32_t i = 0; i < inputs; i++)
        if (random_below(2)) add_mutation(network, i, pick_shaped(network, &shape));
    add_outputs(network, 1 + random_below(2));
    return network;
}
