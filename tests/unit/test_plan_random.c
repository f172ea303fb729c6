/* Random networks of views, updates and state, planned and run, against a plain evaluation of the same network in which
 * every tensor has memory of its own. Three calls each, in place and with every update copied. */
#include "unit_test.h"

#include "plan/device.h"
#include "random_network.h"
#include "rewrite/rewrite.h"
#include "time_box.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 64, CALLS = 3, PROGRAMS = 3000 };

/* ---- plain evaluation ---- */

typedef struct value {
    float data[4 * RANDOM_MAX_ELEMENTS];
} value_t;

/* The row-major index of the element of x that the result's element at `at` is. */
static int64_t viewed_index(const network_t *network, const layer_t *layer, const int64_t *at, int64_t flat) {
    tensor_id_t x = layer->operands[0];
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

static void unflatten(const network_t *network, tensor_id_t tensor, int64_t flat, int64_t *at) {
    for (uint32_t i = rank_of(network, tensor); i-- > 0;) {
        at[i] = flat % size_of(network, tensor, i);
        flat /= size_of(network, tensor, i);
    }
}

static int64_t flatten(const network_t *network, tensor_id_t tensor, const int64_t *at) {
    int64_t index = 0;
    for (uint32_t i = 0; i < rank_of(network, tensor); i++) index = index * size_of(network, tensor, i) + at[i];
    return index;
}

static void evaluate_update(const network_t *network, const layer_t *layer, value_t *values) {
    tensor_id_t x = layer->operands[0], source = layer->operands[1], result = layer->results[0];
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

static void evaluate(const network_t *network, const layer_t *layer, value_t *values) {
    tensor_id_t result = layer->results[0];
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
        case LAYER_REDUCE: /* amax over dimension 0, which stays */
            *out = x[i];
            for (int64_t k = 1; k < size_of(network, layer->operands[0], 0); k++)
                if (x[k * count + i] > *out) *out = x[k * count + i];
            break;
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
    plan_t *plan;
    arena_t arena;
    bound_plan_t bound;
    void *prepared;
    void *workspace;
    void **bases;
    char *arena_memory;
    float *states[8], *inputs[8], *outputs[8];
} running_t;

static float *block(size_t bytes) {
    float *data = aligned_alloc(64, (bytes / 64 + 1) * 64);
    assert_non_null(data);
    memset(data, 0, (bytes / 64 + 1) * 64);
    return data;
}

static void start(running_t *run, network_t *network, bool no_inplace) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    plan_options_t options = {.no_inplace = no_inplace};
    *run = (running_t){0};
    arena_init(&run->arena);
    size_t arena_bytes = 0, workspace = 0;
    if (plan_build(network, &options, &run->plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (plan_bind(run->plan, 0, NULL, NULL, NULL, &run->arena, &run->bound, &diag) != INSITU_OK ||
        plan_lay_out(&run->bound, 0, NULL, 0, &run->arena, &arena_bytes, &diag) != INSITU_OK)
        fail_msg("%s", diag.message);
    const device_t *cpu = device_cpu();
    if (cpu->prepare(cpu, &run->bound, cpu->threads(cpu, 2), &run->arena, &run->prepared, &workspace, &diag) !=
        INSITU_OK)
        fail_msg("%s", diag.message);
    run->workspace = block(workspace);
    run->arena_memory = (char *)block(arena_bytes);
    memset(run->arena_memory, 0xff, arena_bytes);
    run->bases = calloc(run->plan->storage_count + 1, sizeof *run->bases);
    for (uint32_t i = 0; i < run->plan->state_storage_count; i++) {
        int64_t bytes = 0;
        assert_true(sym_constant(&run->plan->symbols, run->plan->state_storages[i].bytes, &bytes));
        run->states[i] = block((size_t)bytes);
    }
    for (uint32_t i = 0; i < run->plan->storage_count; i++) {
        const plan_storage_t *storage = &run->plan->storages[i];
        size_t bytes = run->bound.storage_bytes[i];
        if (storage->kind == STORAGE_STATE) run->bases[i] = run->states[storage->index];
        if (storage->kind == STORAGE_INPUT) run->bases[i] = run->inputs[storage->index] = block(bytes);
        if (storage->kind == STORAGE_OUTPUT) run->bases[i] = run->outputs[storage->index] = block(bytes);
        if (storage->kind == STORAGE_ARENA) run->bases[i] = run->arena_memory + run->bound.arena_offsets[i];
    }
}

static void stop(running_t *run) {
    device_cpu()->release(device_cpu(), run->prepared);
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

static float element_at(const running_t *run, const plan_operand_t *operand, int64_t flat) {
    const tensor_type_t *type = &operand->type;
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

static void fail_with(const network_t *network, const running_t *run, uint64_t seed, const char *what) {
    text_t text;
    text_init(&text);
    assert_int_equal(network_print(network, &text, NULL), INSITU_OK);
    plan_print(run->plan, &text);
    (void)fprintf(stderr, "%s", text.data);
    fail_msg("program %llu: %s differs", (unsigned long long)seed, what);
}

/* What the state holds when the call ends. */
static tensor_id_t end_of(const network_state_t *state) {
    return state->next.index == NONE ? state->tensor : state->next;
}

static void check_call(network_t *network, running_t *run, value_t *values, uint64_t seed) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    for (uint32_t i = 0; i < network->input_count; i++)
        if (run->inputs[i])
            memcpy(run->inputs[i], values[network->inputs[i].tensor.index].data,
                   (size_t)numel_of(network, network->inputs[i].tensor) * sizeof(float));
    device_call_t call = {.bases = run->bases, .workspace = run->workspace, .end = run->plan->step_count};
    if (device_cpu()->run(device_cpu(), NULL, run->prepared, &call, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    for (uint32_t i = 0; i < network->state_count; i++) {
        const value_t *next = &values[end_of(&network->states[i]).index];
        if (memcmp(run->states[i], next->data, (size_t)numel_of(network, network->states[i].tensor) * sizeof(float)))
            fail_with(network, run, seed, network->states[i].name);
    }
    for (uint32_t i = 0; i < network->mutation_count; i++) {
        const network_mutation_t *mutation = &network->mutations[i];
        if (memcmp(run->inputs[mutation->input], values[mutation->next.index].data,
                   (size_t)numel_of(network, mutation->next) * sizeof(float)))
            fail_with(network, run, seed, network->inputs[mutation->input].name);
    }
    for (uint32_t i = 0; i < network->output_count; i++)
        for (int64_t e = 0; e < numel_of(network, network->outputs[i].tensor); e++)
            if (element_at(run, &run->plan->outputs[i].operand, e) != values[network->outputs[i].tensor.index].data[e])
                fail_with(network, run, seed, network->outputs[i].name);
}

static void assemble_all(network_t *network) {
    bool changed;
    for (uint32_t i = 0; i < network->state_count; i++) {
        const network_state_t *state = &network->states[i];
        if (state->next.index == NONE) continue;
        assert_int_equal(network_rewrite_as_updates(network, state->tensor, state->next, &changed, NULL), INSITU_OK);
    }
    for (uint32_t i = 0; i < network->mutation_count; i++) {
        const network_mutation_t *mutation = &network->mutations[i];
        tensor_id_t start = network->inputs[mutation->input].tensor;
        assert_int_equal(network_rewrite_as_updates(network, start, mutation->next, &changed, NULL), INSITU_OK);
    }
    assert_int_equal(network_reuse_copies(network, &changed, NULL), INSITU_OK);
}

static void sink_all(network_t *network) {
    bool changed;
    assert_int_equal(network_sink_updates(network, &changed, NULL), INSITU_OK);
}

/* The network as the compiler rewrites it before it plans, and then on trial, where states are copied. */
static network_t *rewrite(const network_t *given, void (*on_trial)(network_t *network)) {
    text_t text;
    network_t *network;
    text_init(&text);
    assert_int_equal(network_print(given, &text, NULL), INSITU_OK);
    assert_int_equal(network_parse(text.data, &network, NULL), INSITU_OK);
    text_release(&text);
    assert_int_equal(network_normalise(network, NULL), INSITU_OK);
    if (!on_trial) return network;
    on_trial(network);
    assert_int_equal(network_sink_partial_views(network, NULL), INSITU_OK);
    assert_int_equal(network_remove_dead(network, NULL), INSITU_OK);
    assert_int_equal(network_verify(network, NULL), INSITU_OK);
    return network;
}

static void check_program(network_t *network, uint64_t seed) {
    enum { WAYS = 5 };
    assert_true(network->tensor_count <= MAX_TENSORS);
    value_t *values = calloc(network->tensor_count, sizeof *values);
    running_t runs[WAYS];
    assert_int_equal(network_remove_dead(network, NULL), INSITU_OK);
    network_t *ways[WAYS] = {network, network, rewrite(network, NULL), rewrite(network, assemble_all),
                             rewrite(network, sink_all)};
    for (uint32_t way = 0; way < WAYS; way++) start(&runs[way], ways[way], way == 1);
    for (uint32_t call = 0; call < CALLS; call++) {
        value_t states[4];
        for (uint32_t i = 0; i < network->input_count; i++)
            for (int64_t e = 0; e < numel_of(network, network->inputs[i].tensor); e++)
                values[network->inputs[i].tensor.index].data[e] = (float)(random_below(100));
        for (uint32_t i = 0; i < network->order_count; i++)
            evaluate(network, network_layer_of(network, network->order[i]), values);
        for (uint32_t way = 0; way < WAYS; way++) check_call(network, &runs[way], values, seed);
        for (uint32_t i = 0; i < network->state_count; i++) states[i] = values[end_of(&network->states[i]).index];
        for (uint32_t i = 0; i < network->state_count; i++) values[network->states[i].tensor.index] = states[i];
    }
    for (uint32_t way = 0; way < WAYS; way++) stop(&runs[way]);
    for (uint32_t way = 1; way < WAYS; way++) network_destroy(ways[way] == network ? NULL : ways[way]);
    free(values);
    network_destroy(network);
}

static void check_programs(network_t *(*make)(uint64_t seed)) {
    const char *one = getenv("TEST_SEED");
    uint64_t first = one ? strtoull(one, NULL, 10) : 0, end = one ? first + 1 : PROGRAMS;
    time_box_t box = time_box_begin();
    for (uint64_t seed = first; seed < end && has_time(&box, PROGRAMS); seed++) check_program(make(seed), seed);
}

static void planned_programs_compute_what_the_network_says(void **state) {
    (void)state;
    check_programs(random_network);
}

static network_t *with_kept_states(network_t *network, uint64_t seed) {
    for (uint32_t i = 0; i < network->state_count; i++)
        if (i == 0 || (seed >> i & 1)) network->states[i].next = NO_TENSOR;
    return network;
}
static network_t *random_keeping_network(uint64_t seed) { return with_kept_states(random_network(seed), seed); }
static network_t *crossed_keeping_network(uint64_t seed) {
    return with_kept_states(random_crossed_network(seed), seed);
}

static void states_that_are_given_no_value_keep_theirs(void **state) {
    (void)state;
    check_programs(random_keeping_network);
    check_programs(crossed_keeping_network);
}

static void planned_programs_whose_tensors_cross_do(void **state) {
    (void)state;
    check_programs(random_crossed_network);
    check_program(random_crossed_network(48728), 48728); /* a row is stored over before a move reads it */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planned_programs_compute_what_the_network_says),
                                       cmocka_unit_test(planned_programs_whose_tensors_cross_do),
                                       cmocka_unit_test(states_that_are_given_no_value_keep_theirs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
