/* Random networks of views, updates and state, planned and run, against a plain evaluation of the same network in which
 * every tensor has memory of its own. Three calls each, in place and with every update copied. */
#include "unit_test.h"

#include "core/backend.h"
#include "plan/plan.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 256, MAX_TENSORS = 64, CALLS = 3, PROGRAMS = 3000 };

static uint64_t random_state;
static uint32_t random_below(uint32_t limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % limit;
}

/* ---- making a network ---- */

static int64_t size_of(const network *network, tensor_id tensor, uint32_t dim) {
    int64_t size = 0;
    assert_true(sym_constant(&network->symbols, network->tensors[tensor.index].shape.sizes[dim], &size));
    return size;
}

static uint32_t rank_of(const network *network, tensor_id tensor) { return network->tensors[tensor.index].shape.rank; }

static int64_t numel_of(const network *network, tensor_id tensor) {
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
    if (network_add_layer(network, kind, operands, count, attrs, name, "", results, &diag) != INSITU_OK)
        fail_msg("%s", diag.message);
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
            bool repeats = size_of(network, x, i) == 1 && numel_of(network, x) <= MAX_ELEMENTS / 4;
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
        if (shape.rank == 0 || numel_of(network, x) > MAX_ELEMENTS / 4) return;
        operands[1] = of_shape(network, &shape);
        attrs[0] = attr_of_sym(number(network, random_below(shape.rank)));
        add(network, LAYER_CONCAT, operands, 2, attrs);
    }
}

static tensor_id add_source(network *network, tensor_role role, uint32_t index) {
    shape shape = random_shape(network);
    tensor_id tensor;
    char name[16];
    (void)snprintf(name, sizeof name, "%s%u", role == TENSOR_STATE ? "s" : "x", index);
    assert_int_equal(network_add_tensor(network, name, role, DTYPE_F32, &shape, index, &tensor), INSITU_OK);
    return tensor;
}

static network *random_network(void) {
    network *network;
    assert_int_equal(network_create(&network), INSITU_OK);
    uint32_t states = 1 + random_below(3), inputs = 1 + random_below(2), layers = 2 + random_below(10);
    for (uint32_t i = 0; i < states; i++) {
        network_state *state;
        tensor_id tensor = add_source(network, TENSOR_STATE, i);
        assert_int_equal(network_add_state(network, &state), INSITU_OK);
        *state = (network_state){.name = network->tensors[tensor.index].name, .tensor = tensor, .record = NONE};
        shape_dense_strides(&network->symbols, &network->tensors[tensor.index].shape, state->strides);
    }
    for (uint32_t i = 0; i < inputs; i++) {
        network_input *input;
        tensor_id tensor = add_source(network, TENSOR_INPUT, i);
        assert_int_equal(network_add_input(network, &input), INSITU_OK);
        *input = (network_input){.name = network->tensors[tensor.index].name, .tensor = tensor, .dtype = DTYPE_F32};
        shape_dense_strides(&network->symbols, &network->tensors[tensor.index].shape, input->strides);
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
    for (uint32_t i = 0; i < inputs; i++) {
        network_mutation *mutation;
        if (random_below(3) != 0) continue;
        tensor_id next = of_shape(network, &network->tensors[network->inputs[i].tensor.index].shape);
        assert_int_equal(network_add_mutation(network, &mutation), INSITU_OK);
        *mutation = (network_mutation){i, next};
    }
    for (uint32_t i = 0, outputs = 1 + random_below(3); i < outputs; i++) {
        network_output *output;
        assert_int_equal(network_add_output(network, &output), INSITU_OK);
        *output = (network_output){.name = i == 0   ? "output.0"
                                           : i == 1 ? "output.1"
                                                    : "output.2",
                                   .kind = OUTPUT_TENSOR,
                                   .tensor = pick(network)};
    }
    return network;
}

/* ---- plain evaluation ---- */

typedef struct value {
    float data[4 * MAX_ELEMENTS];
} value;

/* The row-major index of the element of x that the result's element at `at` is. */
static int64_t viewed_index(const network *network, const layer *layer, const int64_t *at, int64_t flat) {
    tensor_id x = layer->operands[0];
    if (layer->kind == LAYER_RESHAPE) return flat;
    int64_t from[MAX_RANK] = {0}, index = 0;
    for (uint32_t i = 0; i < rank_of(network, x); i++) from[i] = at[i];
    if (layer->kind == LAYER_PERMUTE)
        for (uint32_t i = 0; i < rank_of(network, x); i++) {
            int64_t axis = 0;
            assert_true(sym_constant(&network->symbols, layer_attr(layer, ATTR_AXES).list.items[i], &axis));
            from[axis] = at[i];
        }
    if (layer->kind == LAYER_SLICE) {
        int64_t dim = layer_attr_int(network, layer, ATTR_DIM);
        from[dim] = layer_attr_int(network, layer, ATTR_START) + at[dim] * layer_attr_int(network, layer, ATTR_STEP);
    }
    for (uint32_t i = 0; i < rank_of(network, x); i++)
        index =
            index * size_of(network, x, i) + (layer->kind == LAYER_EXPAND && size_of(network, x, i) == 1 ? 0 : from[i]);
    return index;
}

static void unflatten(const network *network, tensor_id tensor, int64_t flat, int64_t *at) {
    for (uint32_t i = rank_of(network, tensor); i-- > 0;) {
        at[i] = flat % size_of(network, tensor, i);
        flat /= size_of(network, tensor, i);
    }
}

static int64_t flatten(const network *network, tensor_id tensor, const int64_t *at) {
    int64_t index = 0;
    for (uint32_t i = 0; i < rank_of(network, tensor); i++) index = index * size_of(network, tensor, i) + at[i];
    return index;
}

static void evaluate_update(const network *network, const layer *layer, value *values) {
    tensor_id x = layer->operands[0], source = layer->operands[1], result = layer->results[0];
    int64_t at[MAX_RANK], dim = layer_attr_int(network, layer, ATTR_DIM), kept = size_of(network, x, (uint32_t)dim);
    bool shift = layer->kind == LAYER_SHIFT_UPDATE;
    int64_t start = shift ? 0 : layer_attr_int(network, layer, ATTR_START);
    int64_t step = shift ? 1 : layer_attr_int(network, layer, ATTR_STEP);
    int64_t added = size_of(network, source, (uint32_t)dim);
    bool front = shift && layer_attr(layer, ATTR_FRONT).kind == ATTR_KIND_SYM;
    for (int64_t i = 0; i < numel_of(network, x); i++) {
        unflatten(network, x, i, at);
        if (shift && front)
            at[dim] = at[dim] >= added ? at[dim] - added : at[dim];
        else if (shift)
            at[dim] = at[dim] + added < kept ? at[dim] + added : at[dim];
        values[result.index].data[i] = values[x.index].data[flatten(network, x, at)];
    }
    for (int64_t i = 0; i < numel_of(network, source); i++) {
        unflatten(network, source, i, at);
        at[dim] = front ? at[dim] : shift ? kept - added + at[dim] : start + at[dim] * step;
        values[result.index].data[flatten(network, x, at)] = values[source.index].data[i];
    }
}

static void evaluate(const network *network, const layer *layer, value *values) {
    tensor_id result = layer->results[0];
    int64_t at[MAX_RANK], count = numel_of(network, result);
    if (layer->kind == LAYER_SLICE_UPDATE || layer->kind == LAYER_SHIFT_UPDATE) {
        evaluate_update(network, layer, values);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float *out = &values[result.index].data[i];
        unflatten(network, result, i, at);
        const float *x = layer->operand_count ? values[layer->operands[0].index].data : NULL;
        switch ((int)layer->kind) {
        case LAYER_FILL: {
            double fill = 0;
            assert_true(sym_constant_float(&network->symbols, layer_attr(layer, ATTR_VALUE).value, &fill));
            *out = (float)fill;
            break;
        }
        case LAYER_UNARY: *out = -x[i]; break;
        case LAYER_BINARY: *out = x[i] + values[layer->operands[1].index].data[i]; break;
        case LAYER_COPY: *out = x[i]; break;
        case LAYER_CONCAT: {
            int64_t dim = layer_attr_int(network, layer, ATTR_DIM);
            int64_t first = size_of(network, layer->operands[0], (uint32_t)dim);
            uint32_t part = at[dim] >= first;
            at[dim] -= part ? first : 0;
            *out = values[layer->operands[part].index].data[flatten(network, layer->operands[part], at)];
            break;
        }
        default: *out = x[viewed_index(network, layer, at, i)];
        }
    }
}

/* ---- running the plan ---- */

typedef struct running {
    plan *plan;
    arena arena;
    bound_plan bound;
    void *prepared;
    void *workspace;
    void **bases;
    char *arena_memory;
    float *states[8], *inputs[8], *outputs[8];
} running;

static float *block(size_t bytes) {
    float *data = aligned_alloc(64, (bytes / 64 + 1) * 64);
    assert_non_null(data);
    memset(data, 0, (bytes / 64 + 1) * 64);
    return data;
}

static void start(running *run, network *network, bool no_inplace) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    plan_options options = {.no_inplace = no_inplace};
    *run = (running){0};
    arena_init(&run->arena);
    size_t arena_bytes = 0, workspace = 0;
    if (plan_build(network, &options, &run->plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (plan_bind(run->plan, 0, NULL, NULL, NULL, &run->arena, &run->bound, &arena_bytes, &diag) != INSITU_OK)
        fail_msg("%s", diag.message);
    if (backend_cpu()->prepare(&run->bound, &run->arena, &run->prepared, &workspace, &diag) != INSITU_OK)
        fail_msg("%s", diag.message);
    run->workspace = block(workspace);
    run->arena_memory = (char *)block(arena_bytes);
    memset(run->arena_memory, 0xff, arena_bytes);
    run->bases = calloc(run->plan->storage_count + 1, sizeof *run->bases);
    for (uint32_t i = 0; i < run->plan->state_storage_count; i++)
        run->states[i] = block(run->plan->state_storages[i].bytes);
    for (uint32_t i = 0; i < run->plan->storage_count; i++) {
        const plan_storage *storage = &run->plan->storages[i];
        size_t bytes = run->bound.storage_bytes[i];
        if (storage->kind == STORAGE_STATE) run->bases[i] = run->states[storage->index];
        if (storage->kind == STORAGE_INPUT) run->bases[i] = run->inputs[storage->index] = block(bytes);
        if (storage->kind == STORAGE_OUTPUT) run->bases[i] = run->outputs[storage->index] = block(bytes);
        if (storage->kind == STORAGE_ARENA) run->bases[i] = run->arena_memory + run->bound.arena_offsets[i];
    }
}

static void stop(running *run) {
    if (backend_cpu()->release) backend_cpu()->release(run->prepared);
    for (uint32_t i = 0; i < 8; i++) {
        free(run->states[i]);
        free(run->inputs[i]);
        free(run->outputs[i]);
    }
    free(run->workspace);
    free(run->arena_memory);
    free(run->bases);
    arena_release(&run->arena);
    plan_destroy(run->plan);
}

static float element_at(const running *run, const plan_operand *operand, int64_t flat) {
    const tensor_type *type = &operand->type;
    int64_t offset = 0, size = 0, stride = 0;
    assert_true(sym_constant(&run->plan->symbols, type->offset, &offset));
    for (uint32_t i = type->shape.rank; i-- > 0;) {
        assert_true(sym_constant(&run->plan->symbols, type->shape.sizes[i], &size));
        assert_true(sym_constant(&run->plan->symbols, type->strides[i], &stride));
        offset += flat % size * stride;
        flat /= size;
    }
    return ((const float *)run->bases[operand->storage])[offset];
}

static void fail_with(const network *network, const running *run, uint64_t seed, const char *what) {
    text text;
    text_init(&text);
    assert_int_equal(network_print(network, &text, NULL), INSITU_OK);
    plan_print(run->plan, &text);
    (void)fprintf(stderr, "%s", text.data);
    fail_msg("program %llu: %s differs", (unsigned long long)seed, what);
}

static void check_call(network *network, running *run, value *values, uint64_t seed) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    for (uint32_t i = 0; i < network->input_count; i++)
        if (run->inputs[i])
            memcpy(run->inputs[i], values[network->inputs[i].tensor.index].data,
                   (size_t)numel_of(network, network->inputs[i].tensor) * sizeof(float));
    backend_call call = {.bases = run->bases, .workspace = run->workspace, .end = run->plan->step_count};
    if (backend_cpu()->run(run->prepared, &call, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    for (uint32_t i = 0; i < network->state_count; i++) {
        const value *next = &values[network->states[i].next.index];
        if (memcmp(run->states[i], next->data, (size_t)numel_of(network, network->states[i].tensor) * sizeof(float)))
            fail_with(network, run, seed, network->states[i].name);
    }
    for (uint32_t i = 0; i < network->mutation_count; i++) {
        const network_mutation *mutation = &network->mutations[i];
        if (memcmp(run->inputs[mutation->input], values[mutation->next.index].data,
                   (size_t)numel_of(network, mutation->next) * sizeof(float)))
            fail_with(network, run, seed, network->inputs[mutation->input].name);
    }
    for (uint32_t i = 0; i < network->output_count; i++)
        for (int64_t e = 0; e < numel_of(network, network->outputs[i].tensor); e++)
            if (element_at(run, &run->plan->outputs[i].operand, e) != values[network->outputs[i].tensor.index].data[e])
                fail_with(network, run, seed, network->outputs[i].name);
}

static void check_program(uint64_t seed) {
    random_state = seed * 977 + 1;
    network *network = random_network();
    assert_true(network->tensor_count <= MAX_TENSORS);
    value *values = calloc(network->tensor_count, sizeof *values);
    running in_place, copied;
    assert_int_equal(network_remove_dead(network, NULL), INSITU_OK);
    start(&in_place, network, false);
    start(&copied, network, true);
    for (uint32_t call = 0; call < CALLS; call++) {
        value states[4];
        for (uint32_t i = 0; i < network->input_count; i++)
            for (int64_t e = 0; e < numel_of(network, network->inputs[i].tensor); e++)
                values[network->inputs[i].tensor.index].data[e] = (float)(random_below(100));
        for (uint32_t i = 0; i < network->order_count; i++)
            evaluate(network, network_layer_of(network, network->order[i]), values);
        check_call(network, &in_place, values, seed);
        check_call(network, &copied, values, seed);
        for (uint32_t i = 0; i < network->state_count; i++) states[i] = values[network->states[i].next.index];
        for (uint32_t i = 0; i < network->state_count; i++) values[network->states[i].tensor.index] = states[i];
    }
    stop(&in_place);
    stop(&copied);
    free(values);
    network_destroy(network);
}

static void planned_programs_compute_what_the_network_says(void **state) {
    (void)state;
    const char *one = getenv("TEST_SEED");
    if (one) check_program(strtoull(one, NULL, 10));
    for (uint64_t seed = 0; !one && seed < PROGRAMS; seed++) check_program(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planned_programs_compute_what_the_network_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
