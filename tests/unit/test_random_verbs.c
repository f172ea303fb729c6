/* Random sequences of what a caller may do with states and contexts, on random networks and on some whose calls fail late,
 * against a model: the values of each state, and what a plain call on a state and a context of their own makes of them.
 * After each verb all states, and all memory of the caller, hold what the model says; a verb that fails changes nothing. */
#include "plan/device.h"
#include "random_network.h"
#include "time_box.h"
#include "unit_test.h"

#include <insitu/insitu.h>
#include <unistd.h>

enum { SEEDS = 100, VERBS = 60, STATES = 4, CONTEXTS = 2, MOST = 8, BYTES = 2048, SNAPSHOTS = 4 };

typedef union block { /* a tensor's dense elements */
    uint8_t bytes[BYTES];
    double alignment;
} block_t;

typedef struct slot { /* a state, and what it must hold */
    insitu_state *state;
    block_t values[MOST], saved[SNAPSHOTS][MOST];
    int32_t snapshots;
    block_t lent[MOST]; /* memory to bind */
    bool is_bound[MOST];
} slot_t;

typedef struct place { /* a context, and the caller's memory for it */
    insitu_context *context;
    block_t inputs[MOST], expected_inputs[MOST], outputs[MOST], expected_outputs[MOST];
    bool is_bound[MOST]; /* of the outputs */
} place_t;

typedef struct result { /* of a plain call */
    insitu_status status;
    block_t outputs[MOST], inputs[MOST], values[MOST];
} result_t;

typedef struct session {
    const char *name;
    insitu_engine *engine;
    int32_t input_count, output_count, state_count;
    insitu_value_info inputs[MOST], outputs[MOST], states[MOST];
    block_t initial[MOST];
    slot_t slots[STATES];
    place_t places[CONTEXTS];
    slot_t plain_slot;
    place_t plain_place;
    int calls, failed_calls;
    insitu_diag diag;
} session_t;

static void must_at(session_t *s, insitu_status status, int line) {
    if (status != INSITU_OK)
        fail_msg("%s, line %d: %s: %s", s->name, line, insitu_status_name(status), s->diag.message);
}
#define MUST(status) must_at(s, status, __LINE__)

static void expect_at(const session_t *s, bool is_good, const char *what, int line) {
    if (!is_good) fail_msg("%s, line %d: %s", s->name, line, what);
}
#define EXPECT(is_good, what) expect_at(s, is_good, what, __LINE__)

static size_t bytes_of(const insitu_value_info *info) {
    size_t bytes = info->dtype.bits / 8;
    for (int32_t i = 0; i < info->ndim; i++) bytes *= (size_t)info->sizes[i];
    return bytes;
}

static insitu_tensor tensor_at(const insitu_value_info *info, block_t *memory) {
    return (insitu_tensor){.data = memory->bytes,
                           .device = {INSITU_DEVICE_CPU, 0},
                           .ndim = info->ndim,
                           .dtype = info->dtype,
                           .shape = (int64_t *)(uintptr_t)info->sizes};
}

/* Small numbers; integers are positions that often lie outside. */
static void fill(const insitu_value_info *info, block_t *memory) {
    size_t count = bytes_of(info) / (info->dtype.bits / 8);
    for (size_t i = 0; i < count; i++) {
        float number = (float)random_below(9) - 4;
        int64_t position = (int64_t)random_below(4) - (random_below(8) == 0);
        if (info->dtype.code == INSITU_CODE_FLOAT) memcpy(memory->bytes + 4 * i, &number, sizeof(number));
        if (info->dtype.code == INSITU_CODE_INT) memcpy(memory->bytes + 8 * i, &position, sizeof(position));
    }
}

static void gather(const insitu_tensor *tensor, block_t *out) {
    int64_t dense[MAX_RANK];
    dtype_t type;
    assert_true(dtype_from_public(tensor->dtype, &type));
    dense_strides((uint32_t)tensor->ndim, tensor->shape, dense);
    strided_copy(type, (uint32_t)tensor->ndim, tensor->shape, out->bytes, dense,
                 (const uint8_t *)tensor->data + tensor->byte_offset, tensor->strides);
}

/* ---- opening ---- */

static void read_values(session_t *s, const insitu_state *state, block_t *values) {
    for (int32_t i = 0; i < s->state_count; i++)
        MUST(insitu_state_read(state, s->states[i].name, values[i].bytes, bytes_of(&s->states[i]), &s->diag));
}

static void open_slot(session_t *s, slot_t *slot) {
    MUST(insitu_state_create(s->engine, &slot->state, &s->diag));
    memcpy(slot->values, s->initial, sizeof(slot->values));
}

static void open_place(session_t *s, place_t *place) {
    MUST(insitu_context_create(s->engine, &place->context, &s->diag));
    for (int32_t i = 0; i < s->input_count; i++) {
        const insitu_tensor tensor = tensor_at(&s->inputs[i], &place->inputs[i]);
        fill(&s->inputs[i], &place->inputs[i]);
        place->expected_inputs[i] = place->inputs[i];
        MUST(insitu_context_set_input(place->context, i, &tensor, &s->diag));
    }
}

static void describe(session_t *s) {
    s->input_count = insitu_engine_input_count(s->engine);
    s->output_count = insitu_engine_output_count(s->engine);
    s->state_count = insitu_engine_state_count(s->engine);
    assert_true(s->input_count <= MOST && s->output_count <= MOST && s->state_count <= MOST);
    for (int32_t i = 0; i < MOST; i++)
        s->inputs[i].struct_size = s->outputs[i].struct_size = s->states[i].struct_size = sizeof(insitu_value_info);
    for (int32_t i = 0; i < s->input_count; i++) MUST(insitu_engine_input(s->engine, i, &s->inputs[i], &s->diag));
    for (int32_t i = 0; i < s->output_count; i++) MUST(insitu_engine_output(s->engine, i, &s->outputs[i], &s->diag));
    for (int32_t i = 0; i < s->state_count; i++) MUST(insitu_engine_state(s->engine, i, &s->states[i], &s->diag));
}

/* Some engines are saved and loaded. */
static void open_session(session_t *s, const char *name, const char *text, bool is_loaded) {
    insitu_network *network;
    memset(s, 0, sizeof(*s));
    s->name = name;
    insitu_diag_init(&s->diag);
    MUST(insitu_network_parse(text, &network, &s->diag));
    MUST(insitu_network_compile(network, NULL, &s->engine, &s->diag));
    insitu_network_destroy(network);
    if (is_loaded) {
        char path[64];
        snprintf(path, sizeof(path), "/tmp/insitu_verbs_%ld", (long)getpid());
        MUST(insitu_engine_save(s->engine, path, &s->diag));
        insitu_engine_destroy(s->engine);
        MUST(insitu_engine_load(path, NULL, &s->engine, &s->diag));
        unlink(path);
    }
    describe(s);
    open_slot(s, &s->plain_slot);
    read_values(s, s->plain_slot.state, s->initial);
    for (int i = 0; i < STATES; i++) open_slot(s, &s->slots[i]);
    open_place(s, &s->plain_place);
    for (int i = 0; i < CONTEXTS; i++) open_place(s, &s->places[i]);
}

static void close_session(session_t *s) {
    for (int i = 0; i < STATES; i++) insitu_state_destroy(s->slots[i].state);
    for (int i = 0; i < CONTEXTS; i++) insitu_context_destroy(s->places[i].context);
    insitu_state_destroy(s->plain_slot.state);
    insitu_context_destroy(s->plain_place.context);
    insitu_engine_destroy(s->engine);
    insitu_diag_release(&s->diag);
}

/* ---- the model ---- */

static void check(session_t *s) {
    static block_t values[MOST];
    for (int i = 0; i < STATES; i++) {
        const slot_t *slot = &s->slots[i];
        read_values(s, slot->state, values);
        for (int32_t k = 0; k < s->state_count; k++) {
            size_t bytes = bytes_of(&s->states[k]);
            EXPECT(memcmp(values[k].bytes, slot->values[k].bytes, bytes) == 0, "a state's values");
            EXPECT(!slot->is_bound[k] || memcmp(slot->lent[k].bytes, slot->values[k].bytes, bytes) == 0,
                   "the values in bound memory");
        }
    }
    for (int i = 0; i < CONTEXTS; i++) {
        const place_t *place = &s->places[i];
        EXPECT(memcmp(place->inputs, place->expected_inputs, sizeof(place->inputs)) == 0, "memory of inputs");
        EXPECT(memcmp(place->outputs, place->expected_outputs, sizeof(place->outputs)) == 0, "memory of outputs");
    }
}

static void call_plainly(session_t *s, const slot_t *slot, const place_t *place, result_t *out) {
    for (int32_t i = 0; i < s->state_count; i++)
        MUST(insitu_state_write(s->plain_slot.state, s->states[i].name, slot->values[i].bytes, bytes_of(&s->states[i]),
                                &s->diag));
    memcpy(s->plain_place.inputs, place->inputs, sizeof(place->inputs));
    out->status = insitu_context_run(s->plain_place.context, s->plain_slot.state, NULL, &s->diag);
    read_values(s, s->plain_slot.state, out->values);
    memcpy(out->inputs, s->plain_place.inputs, sizeof(out->inputs));
    for (int32_t i = 0; i < s->output_count && out->status == INSITU_OK; i++) {
        insitu_tensor tensor;
        MUST(insitu_context_output(s->plain_place.context, i, &tensor, &s->diag));
        gather(&tensor, &out->outputs[i]);
    }
}

/* ---- verbs ---- */

static void run(session_t *s, slot_t *slot, place_t *place) {
    static result_t expected;
    call_plainly(s, slot, place, &expected);
    insitu_status status = insitu_context_run(place->context, slot->state, NULL, &s->diag);
    EXPECT(status == expected.status, "another status than a plain call's");
    s->calls++;
    s->failed_calls += status != INSITU_OK;
    memcpy(slot->values, expected.values, sizeof(slot->values));
    memcpy(place->expected_inputs, expected.inputs, sizeof(place->expected_inputs));
    for (int32_t i = 0; i < s->output_count; i++) {
        insitu_tensor tensor;
        block_t got;
        size_t bytes = bytes_of(&s->outputs[i]);
        if (status != INSITU_OK) {
            place->expected_outputs[i] = place->outputs[i]; /* may hold anything now */
            continue;
        }
        MUST(insitu_context_output(place->context, i, &tensor, &s->diag));
        gather(&tensor, &got);
        EXPECT(memcmp(got.bytes, expected.outputs[i].bytes, bytes) == 0, "an output");
        EXPECT(!place->is_bound[i] || tensor.data == place->outputs[i].bytes, "an output is elsewhere");
        if (place->is_bound[i]) memcpy(place->expected_outputs[i].bytes, expected.outputs[i].bytes, bytes);
    }
}

static void new_inputs(session_t *s, place_t *place) {
    for (int32_t i = 0; i < s->input_count; i++) {
        fill(&s->inputs[i], &place->inputs[i]);
        place->expected_inputs[i] = place->inputs[i];
    }
}

static void bind_output(session_t *s, place_t *place) {
    if (s->output_count == 0) return;
    int32_t i = (int32_t)random_below((uint32_t)s->output_count);
    const insitu_tensor tensor = tensor_at(&s->outputs[i], &place->outputs[i]);
    place->is_bound[i] = random_below(2) == 0;
    MUST(insitu_context_set_output(place->context, i, place->is_bound[i] ? &tensor : NULL, &s->diag));
}

static void fork_over(session_t *s, const slot_t *from, slot_t *to) {
    if (from == to) return;
    insitu_state_destroy(to->state);
    MUST(insitu_state_fork(from->state, NULL, &to->state, &s->diag));
    memcpy(to->values, from->values, sizeof(to->values));
    memset(to->is_bound, 0, sizeof(to->is_bound));
    to->snapshots = 0;
}

static void snapshot(session_t *s, slot_t *slot) {
    int32_t number;
    if (slot->snapshots == SNAPSHOTS) return;
    MUST(insitu_state_snapshot(slot->state, NULL, &number, &s->diag));
    EXPECT(number == slot->snapshots, "a snapshot's number");
    memcpy(slot->saved[slot->snapshots++], slot->values, sizeof(slot->values));
}

static void close_snapshot(session_t *s, slot_t *slot, bool is_restored) {
    int32_t number = (int32_t)random_below((uint32_t)slot->snapshots + 2) - 1;
    bool is_open = number >= 0 && number < slot->snapshots;
    insitu_status status = is_restored ? insitu_state_restore(slot->state, number, NULL, &s->diag)
                                       : insitu_state_discard(slot->state, number, &s->diag);
    EXPECT(status == (is_open ? INSITU_OK : INSITU_ARG), "a snapshot's end");
    if (!is_open) return;
    slot->snapshots = number;
    if (is_restored) memcpy(slot->values, slot->saved[number], sizeof(slot->values));
}

static void save_and_load(session_t *s, const slot_t *from, slot_t *to) {
    char path[64];
    snprintf(path, sizeof(path), "/tmp/insitu_verbs_%ld", (long)getpid());
    MUST(insitu_state_save(from->state, path, &s->diag));
    bool is_cut = random_below(3) == 0;
    if (is_cut) assert_int_equal(truncate(path, (off_t)random_below(60)), 0);
    insitu_status status = insitu_state_load(to->state, path, &s->diag);
    EXPECT(is_cut ? status == INSITU_FORMAT : status == INSITU_OK, "a state's file");
    if (!is_cut) memcpy(to->values, from->values, sizeof(to->values));
    unlink(path);
}

static void write_one(session_t *s, slot_t *slot, int32_t i) {
    block_t given = slot->values[i];
    size_t bytes = bytes_of(&s->states[i]);
    fill(&s->states[i], &given);
    if (random_below(3) == 0) {
        EXPECT(insitu_state_write(slot->state, s->states[i].name, given.bytes, bytes + 1, &s->diag) == INSITU_SHAPE &&
                   insitu_state_write(slot->state, "absent", given.bytes, bytes, &s->diag) == INSITU_ARG,
               "a wrong write");
        return;
    }
    MUST(insitu_state_write(slot->state, s->states[i].name, given.bytes, bytes, &s->diag));
    slot->values[i] = given;
}

static void bind_state(session_t *s, slot_t *slot, int32_t i) {
    const insitu_tensor tensor = tensor_at(&s->states[i], &slot->lent[i]);
    bool is_kept = random_below(2) == 0, is_refused = slot->snapshots > 0;
    if (slot->is_bound[i] || bytes_of(&s->states[i]) == 0) return;
    fill(&s->states[i], &slot->lent[i]);
    block_t given = slot->lent[i];
    insitu_status status =
        insitu_state_bind(slot->state, s->states[i].name, &tensor,
                          is_kept ? INSITU_CONTENTS_OF_STATE : INSITU_CONTENTS_OF_MEMORY, NULL, &s->diag);
    EXPECT(status == (is_refused ? INSITU_ARG : INSITU_OK), "the binding of a state");
    if (is_refused) return;
    slot->is_bound[i] = true;
    if (!is_kept) slot->values[i] = given;
}

static void unbind_state(session_t *s, slot_t *slot, int32_t i) {
    bool is_refused = slot->snapshots > 0 && slot->is_bound[i];
    insitu_status status = insitu_state_unbind(slot->state, s->states[i].name, NULL, &s->diag);
    EXPECT(status == (is_refused ? INSITU_ARG : INSITU_OK), "the unbinding of a state");
    if (!is_refused) slot->is_bound[i] = false;
}

static void do_one(session_t *s) {
    slot_t *slot = &s->slots[random_below(STATES)], *other = &s->slots[random_below(STATES)];
    place_t *place = &s->places[random_below(CONTEXTS)];
    int32_t i = (int32_t)random_below((uint32_t)s->state_count);
    switch (random_below(16)) {
    case 0: new_inputs(s, place); break;
    case 1: bind_output(s, place); break;
    case 2: fork_over(s, slot, other); break;
    case 3:
    case 4: snapshot(s, slot); break;
    case 5: close_snapshot(s, slot, true); break;
    case 6: close_snapshot(s, slot, false); break;
    case 7:
        if (random_below(4) == 0) save_and_load(s, slot, other);
        break;
    case 8:
        MUST(insitu_state_reset(slot->state, NULL, &s->diag));
        memcpy(slot->values, s->initial, sizeof(slot->values));
        break;
    case 9: write_one(s, slot, i); break;
    case 10: bind_state(s, slot, i); break;
    case 11: unbind_state(s, slot, i); break;
    default: run(s, slot, place); break;
    }
    check(s);
}

/* ---- networks ---- */

/* Positions that a call checks before it writes; that it computes from a state which it has written; and that it reads,
 * item by item, after that. */
static const char *const failing[] = {
    "network\n"
    "input \"row\" = %row: f32[1,3]\n"
    "input \"position\" = %position: i64[1]\n"
    "state \"cache\" = %cache: f32[3,3] of zeros\n"
    "state \"sum\" = %sum: f32[3] of zeros\n"
    "%new: f32[3,3] = index_update(%cache, %row, %position) {accumulate=false, dims=[0], wrap=false}\n"
    "%total: f32[3] = reduce(%new) {axes=[0], keepdim=false, op=sum}\n"
    "output \"cache\" = %new\n"
    "output \"row\" = %row\n"
    "next \"cache\" = %new\n"
    "next \"sum\" = %total\n",
    "network\n"
    "input \"row\" = %row: f32[2,3]\n"
    "input \"steps\" = %steps: i64[2]\n"
    "state \"positions\" = %positions: i64[2] of zeros\n"
    "state \"old\" = %old: f32[4,3] of zeros\n"
    "state \"cache\" = %cache: f32[4,3] of zeros\n"
    "%next: i64[2] = binary(%positions, %steps) {op=add}\n"
    "%new: f32[4,3] = index_update(%cache, %row, %next) {accumulate=true, dims=[0], wrap=false}\n"
    "%twice: f32[2,3] = binary(%row, %row) {op=add}\n"
    "output \"new\" = %new\n"
    "output \"next\" = %next\n"
    "mutation \"row\" = %twice\n"
    "next \"positions\" = %next\n"
    "next \"old\" = %cache\n"
    "next \"cache\" = %new\n",
    "network\n"
    "symbol at: int in 0..2\n"
    "input \"row\" = %row: f32[1,3]\n"
    "input \"step\" = %step: i64[]\n"
    "state \"count\" = %count: i64[] of zeros\n"
    "state \"cache\" = %cache: f32[3,3] of zeros\n"
    "%next: i64[] = binary(%count, %step) {op=add}\n"
    "item(%next) {symbol=at}\n"
    "%new: f32[3,3] = slice_update(%cache, %row) {dim=0, end=at + 1, start=at, step=1}\n"
    "output \"next\" = %next\n"
    "output \"new\" = %new\n"
    "next \"count\" = %next\n"
    "next \"cache\" = %new\n",
};

static void play(session_t *s, const char *name, const char *text, uint64_t seed) {
    open_session(s, name, text, seed % 4 == 1);
    random_seed(seed);
    for (int verb = 0; verb < VERBS; verb++) do_one(s);
    close_session(s);
}

static void verbs_on_random_networks(void **state) {
    (void)state;
    static session_t s; /* large */
    time_box_t box = time_box_begin();
    for (uint64_t seed = 1; seed <= SEEDS && has_time(&box, SEEDS); seed++) {
        text_t printed;
        char name[32];
        network_t *made = seed % 3 ? random_network(seed) : random_crossed_network(seed);
        text_init(&printed);
        assert_int_equal(network_print(made, &printed, NULL), INSITU_OK);
        network_destroy(made);
        snprintf(name, sizeof(name), "seed %d", (int)seed);
        play(&s, name, printed.data, seed);
        text_release(&printed);
    }
}

static void verbs_between_calls_that_fail(void **state) {
    (void)state;
    static session_t s; /* large */
    for (size_t i = 0; i < COUNT_OF(failing); i++) {
        int calls = 0, failed_calls = 0;
        time_box_t box = time_box_begin();
        for (uint64_t seed = 1; seed <= SEEDS / 4 && has_time(&box, SEEDS / 4); seed++) {
            char name[32];
            snprintf(name, sizeof(name), "network %d, seed %d", (int)i, (int)seed);
            play(&s, name, failing[i], seed);
            calls += s.calls;
            failed_calls += s.failed_calls;
        }
        assert_true(failed_calls > 0 && failed_calls < calls);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_on_random_networks),
        cmocka_unit_test(verbs_between_calls_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
