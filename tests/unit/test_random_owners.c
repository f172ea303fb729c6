/* Random networks whose states are the engine's, the caller's or nobody's: all three compute the same. And outputs that
 * the caller names as inputs' new values are those inputs, whatever else has the same value. */
#include "random_network.h"
#include "time_box.h"
#include "unit_test.h"

#include <insitu/insitu.h>

enum { SEEDS = 150, CALLS = 3, MOST = 16, ELEMENTS = 4096 };

typedef struct numbers {
    float at[ELEMENTS];
    int64_t sizes[MAX_RANK];
    size_t count;
} numbers_t;

/* A network compiled in one way, and what lies in its inputs, outputs and states. */
typedef struct subject {
    insitu_network *network;
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *state;
    insitu_diag diag;
    uint64_t seed;
    numbers_t inputs[MOST], outputs[MOST];
    const void *addresses[MOST]; /* of the outputs */
} subject_t;

static void must(const subject_t *s, insitu_status status) {
    if (status != INSITU_OK)
        fail_msg("seed %llu: %s: %s", (unsigned long long)s->seed, insitu_status_name(status), s->diag.message);
}

static insitu_value_info info_of(subject_t *s, int32_t index, bool is_output) {
    insitu_value_info info = {.struct_size = sizeof(info)};
    must(s, is_output ? insitu_engine_output(s->engine, index, &info, &s->diag)
                      : insitu_engine_input(s->engine, index, &info, &s->diag));
    return info;
}

static void parse_random(subject_t *s, uint64_t seed, bool is_crossed) {
    text_t printed;
    memset(s, 0, sizeof(*s));
    insitu_diag_init(&s->diag);
    s->seed = seed;
    network_t *made = is_crossed ? random_crossed_network(seed) : random_network(seed);
    text_init(&printed);
    assert_int_equal(network_print(made, &printed, &s->diag), INSITU_OK);
    must(s, insitu_network_parse(printed.data, &s->network, &s->diag));
    text_release(&printed);
    network_destroy(made);
}

static void compile(subject_t *s, insitu_state_owner owner, const insitu_mutated_input *mutated, int32_t count) {
    insitu_compile_options options;
    insitu_compile_options_init(&options);
    options.state = owner;
    options.mutated_inputs = mutated;
    options.mutated_input_count = count;
    must(s, insitu_network_compile(s->network, &options, &s->engine, &s->diag));
    must(s, insitu_context_create(s->engine, &s->context, &s->diag));
    must(s, insitu_state_create(s->engine, &s->state, &s->diag));
    assert_true(insitu_engine_input_count(s->engine) <= MOST && insitu_engine_output_count(s->engine) <= MOST);
}

static void drop_engine(subject_t *s) {
    insitu_context_destroy(s->context);
    insitu_state_destroy(s->state);
    insitu_engine_destroy(s->engine);
    s->context = NULL;
    s->state = NULL;
    s->engine = NULL;
}

static void close_subject(subject_t *s) {
    drop_engine(s);
    insitu_network_destroy(s->network);
    insitu_diag_release(&s->diag);
}

/* Dense memory for an input; its numbers stay unless it is one of the first `fresh`. */
static void bind_input(subject_t *s, int32_t index, int32_t fresh, int call) {
    insitu_value_info info = info_of(s, index, false);
    numbers_t *input = &s->inputs[index];
    input->count = 1;
    for (int32_t i = 0; i < info.ndim; i++) input->count *= (size_t)info.sizes[i];
    assert_true(input->count <= ELEMENTS);
    memcpy(input->sizes, info.sizes, (size_t)info.ndim * sizeof(int64_t));
    for (size_t i = 0; i < input->count && index < fresh; i++)
        input->at[i] = (float)((i * 7 + (size_t)index * 5 + (size_t)call * 3) % 11) - 5;
    const insitu_tensor tensor = {.data = input->at,
                                  .device = {INSITU_DEVICE_CPU, 0},
                                  .ndim = info.ndim,
                                  .dtype = info.dtype,
                                  .shape = input->sizes};
    must(s, insitu_context_set_input(s->context, index, &tensor, &s->diag));
}

static void gather(const insitu_tensor *tensor, numbers_t *out) {
    int64_t at[MAX_RANK] = {0};
    out->count = 0;
    for (int32_t i = 0; i < tensor->ndim; i++)
        if (tensor->shape[i] == 0) return;
    for (;;) {
        const float *element = (const float *)(const void *)((const char *)tensor->data + tensor->byte_offset);
        for (int32_t i = 0; i < tensor->ndim; i++) element += at[i] * tensor->strides[i];
        assert_true(out->count < ELEMENTS);
        out->at[out->count++] = *element;
        int32_t dim = tensor->ndim;
        while (dim > 0 && ++at[dim - 1] == tensor->shape[dim - 1]) at[--dim] = 0;
        if (dim == 0) return;
    }
}

static void call(subject_t *s, int32_t fresh, int number) {
    for (int32_t i = 0; i < insitu_engine_input_count(s->engine); i++) bind_input(s, i, fresh, number);
    must(s, insitu_context_run(s->context, s->state, NULL, &s->diag));
    for (int32_t i = 0; i < insitu_engine_output_count(s->engine); i++) {
        insitu_tensor tensor;
        must(s, insitu_context_output(s->context, i, &tensor, &s->diag));
        gather(&tensor, &s->outputs[i]);
        s->addresses[i] = (const char *)tensor.data + tensor.byte_offset;
    }
}

static void expect_same(const subject_t *s, const char *what, int32_t index, const numbers_t *a, const numbers_t *b) {
    if (a->count == b->count && memcmp(a->at, b->at, a->count * sizeof(float)) == 0) return;
    fail_msg("seed %llu: %s %d differs", (unsigned long long)s->seed, what, (int)index);
}

static void expect_same_call(const subject_t *a, const subject_t *b, int32_t input_count) {
    for (int32_t i = 0; i < insitu_engine_output_count(a->engine); i++)
        expect_same(a, "output", i, &a->outputs[i], &b->outputs[i]);
    for (int32_t i = 0; i < input_count; i++) expect_same(a, "input", i, &a->inputs[i], &b->inputs[i]);
}

/* ---- owners ---- */

static void expect_states_in_inputs(subject_t *owned, const subject_t *lent) {
    for (int32_t i = 0; i < insitu_state_count(owned->state); i++) {
        char name[128];
        insitu_tensor tensor;
        numbers_t kept;
        insitu_value_info info = {.struct_size = sizeof(info)};
        must(owned, insitu_engine_state(owned->engine, i, &info, &owned->diag));
        snprintf(name, sizeof(name), "buf_%s", info.name);
        int32_t input = insitu_engine_find_input(lent->engine, name);
        if (input < 0) continue; /* it is never written */
        must(owned, insitu_state_tensor(owned->state, i, &tensor, &owned->diag));
        gather(&tensor, &kept);
        expect_same(owned, "state", i, &kept, &lent->inputs[input]);
    }
}

static void compare_owners(uint64_t seed, bool is_crossed) {
    static subject_t owned, lent, frozen; /* large */
    subject_t *const all[] = {&owned, &lent, &frozen};
    for (int i = 0; i < 3; i++) {
        parse_random(all[i], seed, is_crossed);
        compile(all[i], (insitu_state_owner)i, NULL, 0);
    }
    int32_t inputs = insitu_engine_input_count(owned.engine);
    assert_int_equal(insitu_engine_state_count(lent.engine) + insitu_engine_state_count(frozen.engine), 0);
    for (int number = 0; number < CALLS; number++) {
        call(&owned, inputs, number);
        call(&lent, inputs, number);
        expect_same_call(&owned, &lent, inputs);
        expect_states_in_inputs(&owned, &lent);
    }
    for (int number = 0; number < CALLS; number++) {
        must(&owned, insitu_state_reset(owned.state, NULL, &owned.diag));
        call(&owned, inputs, number);
        call(&frozen, inputs, number);
        expect_same_call(&owned, &frozen, inputs);
    }
    for (int i = 0; i < 3; i++) close_subject(all[i]);
}

static void owners_compute_the_same(void **state) {
    (void)state;
    time_box_t box = time_box_begin();
    for (uint64_t seed = 1; seed <= SEEDS && has_time(&box, SEEDS); seed++) {
        compare_owners(seed, false);
        compare_owners(seed, true);
    }
}

/* ---- outputs that are inputs ---- */

/* One row for each input that is written and not returned, whose new value becomes an output. */
static int32_t name_all(subject_t *s, insitu_mutated_input *rows, char names[][32]) {
    int32_t count = 0;
    for (int32_t i = 0; i < insitu_engine_alias_count(s->engine); i++) {
        insitu_alias alias = {.struct_size = sizeof(alias)};
        must(s, insitu_engine_alias(s->engine, i, &alias, &s->diag));
        if (alias.output_index >= 0) continue;
        snprintf(names[count], sizeof(names[count]), "new.%d", (int)count);
        rows[count] = (insitu_mutated_input){.input_index = alias.input_index, .output = names[count]};
        count++;
    }
    return count;
}

static int check_named(uint64_t seed, bool is_crossed) {
    static subject_t s; /* large */
    insitu_mutated_input rows[MOST];
    char names[MOST][32];
    parse_random(&s, seed, is_crossed);
    compile(&s, INSITU_STATE_OWNED, NULL, 0);
    int32_t count = name_all(&s, rows, names);
    drop_engine(&s);
    compile(&s, INSITU_STATE_OWNED, rows, count);
    call(&s, insitu_engine_input_count(s.engine), 0);
    for (int32_t i = 0; i < count; i++) {
        const char *input = insitu_engine_aliased_input(s.engine, names[i]);
        int32_t output = insitu_engine_find_output(s.engine, names[i]);
        if (!input || insitu_engine_find_input(s.engine, input) != rows[i].input_index)
            fail_msg("seed %llu: output '%s' is '%s'", (unsigned long long)seed, names[i], input ? input : "no input");
        assert_true(output >= 0);
        expect_same(&s, "named output", output, &s.outputs[output], &s.inputs[rows[i].input_index]);
        assert_ptr_equal(s.addresses[output], s.inputs[rows[i].input_index].at);
    }
    close_subject(&s);
    return count;
}

static void named_outputs_are_their_inputs(void **state) {
    (void)state;
    int named = 0;
    time_box_t box = time_box_begin();
    for (uint64_t seed = 1; seed <= SEEDS && has_time(&box, SEEDS); seed++)
        named += check_named(seed, false) + check_named(seed, true);
    assert_true(named > (int)box.done / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_compute_the_same),
        cmocka_unit_test(named_outputs_are_their_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
