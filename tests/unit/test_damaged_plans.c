/* Engines whose plan was changed number by number behind a good hash: loading and running them gives a status, whatever
 * it is, and never touches memory that is not theirs (sanitizers watch). */
#include "item_plans.h"

#include "engine/format.h"
#include "rewrite/rewrite.h"
#include <insitu/context.h>

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct engine_file {
    uint8_t *data;
    size_t size, plan_begin, plan_end, header_size, digits_at;
} engine_file_t;

static engine_file_t make_file(plan_t *plan) {
    char path[64];
    insitu_engine *engine;
    file_map_t *map;
    engine_file_t file = {0};
    snprintf(path, sizeof(path), "/tmp/insitu_test_damaged_%ld", (long)getpid());
    assert_int_equal(engine_create(plan, device_cpu(), NULL, 0, &engine, NULL), INSITU_OK);
    assert_int_equal(insitu_engine_save(engine, path, NULL), INSITU_OK);
    insitu_engine_destroy(engine);
    assert_int_equal(file_map_open(path, &map, NULL), INSITU_OK);
    file.size = map->size;
    file.data = aligned_alloc(64, (map->size + 63) / 64 * 64);
    assert_non_null(file.data);
    memcpy(file.data, map->data, map->size);
    file_map_release(map);
    unlink(path);
    uint64_t length;
    memcpy(&length, file.data, sizeof(length));
    file.header_size = (size_t)length;
    json_t *root = json_loadb((const char *)file.data + 8, file.header_size, 0, NULL);
    json_t *offsets = json_object_get(json_object_get(root, PLAN_TENSOR), "data_offsets");
    file.plan_begin = 8 + file.header_size + (size_t)json_integer_value(json_array_get(offsets, 0));
    file.plan_end = 8 + file.header_size + (size_t)json_integer_value(json_array_get(offsets, 1));
    json_decref(root);
    assert_true(format_find_hash(file.data + 8, file.header_size, &file.digits_at));
    return file;
}

static void state_hash(engine_file_t *file) {
    uint64_t hash;
    char digits[HASH_DIGITS + 1];
    assert_int_equal(format_hash(file->data + 8, file->header_size, file->digits_at, file->data + file->plan_begin,
                                 file->plan_end - file->plan_begin, &hash),
                     INSITU_OK);
    snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)hash);
    memcpy(file->data + 8 + file->digits_at, digits, HASH_DIGITS);
}

/* Open sizes are the least that is allowed. */
static bool create_state(const insitu_engine *engine, insitu_state **out_state) {
    enum { SIZES = 8 };
    insitu_state_size sizes[SIZES];
    size_t count = 0;
    for (int32_t i = 0; i < insitu_engine_state_count(engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        assert_int_equal(insitu_engine_state(engine, i, &info, NULL), INSITU_OK);
        for (int32_t d = 0; d < info.ndim && count < SIZES; d++)
            if (info.sizes[d] < 0) sizes[count++] = (insitu_state_size){info.name, d, info.min_sizes[d]};
    }
    return insitu_state_create_sized(engine, sizes, count, out_state, NULL) == INSITU_OK;
}

/* Two calls that an open snapshot takes back, and what else looks at the plan's writes. */
static void run_twice(insitu_context *context, insitu_state *state) {
    int32_t snapshot;
    insitu_state_info info = {.struct_size = sizeof(info)};
    for (int call = 0; call < 2; call++) {
        assert_int_equal(insitu_state_snapshot(state, NULL, &snapshot, NULL), INSITU_OK);
        (void)!insitu_context_run(context, state, NULL, NULL);
    }
    for (int32_t i = 0; i < insitu_state_count(state); i++)
        assert_int_equal(insitu_state_describe(state, i, &info, NULL), INSITU_OK);
    (void)!insitu_state_truncate(state, NULL, 1, NULL, NULL);
    assert_int_equal(insitu_state_restore(state, 0, NULL, NULL), INSITU_OK);
    (void)!insitu_context_run(context, state, NULL, NULL);
}

/* Gives every input what its declaration asks for, in memory of just that size, and runs. */
static void run(const insitu_engine *engine) {
    insitu_context *context;
    insitu_state *state = NULL;
    enum { INPUTS = 8, LARGEST = 1 << 16 };
    void *memory[INPUTS] = {NULL};
    int32_t count = insitu_engine_input_count(engine);
    if (count > INPUTS || insitu_context_create(engine, &context, NULL) != INSITU_OK) return;
    bool is_ready = create_state(engine, &state);
    for (int32_t i = 0; i < count && is_ready; i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        int64_t sizes[MAX_RANK], bytes;
        assert_int_equal(insitu_engine_input(engine, i, &info, NULL), INSITU_OK);
        bytes = info.dtype.bits / 8;
        for (int32_t d = 0; d < info.ndim && is_ready; d++) {
            sizes[d] = info.sizes[d] >= 0 ? info.sizes[d] : info.min_sizes[d];
            is_ready = checked_mul(bytes, sizes[d], &bytes) && bytes <= LARGEST;
        }
        if (!is_ready) break;
        memory[i] = calloc(1, (size_t)bytes + 1);
        int64_t one = 1; /* a position, and a size */
        if (info.dtype.bits == 64 && bytes >= 8) memcpy(memory[i], &one, sizeof(one));
        insitu_tensor tensor = {.data = memory[i],
                                .device = {INSITU_DEVICE_CPU, 0},
                                .ndim = info.ndim,
                                .dtype = info.dtype,
                                .shape = sizes};
        is_ready = insitu_context_set_input(context, i, &tensor, NULL) == INSITU_OK;
    }
    if (is_ready) run_twice(context, state);
    insitu_context_destroy(context);
    insitu_state_destroy(state);
    for (int32_t i = 0; i < INPUTS; i++) free(memory[i]);
}

static bool load_and_run(engine_file_t *file) {
    insitu_engine *engine;
    state_hash(file);
    insitu_status status = insitu_engine_load_memory(file->data, file->size, NULL, &engine, NULL);
    assert_true(status == INSITU_OK || status == INSITU_FORMAT);
    if (status == INSITU_OK) run(engine);
    insitu_engine_destroy(engine);
    return status == INSITU_OK;
}

static void change_digits(plan_t *plan) {
    engine_file_t file = make_file(plan);
    size_t loaded = 0;
    assert_true(load_and_run(&file));
    for (size_t at = file.plan_begin; at < file.plan_end; at++) {
        uint8_t digit = file.data[at];
        if (digit < '0' || digit > '9') continue;
        for (uint8_t step = 1; step < 10; step = (uint8_t)(step + 4)) {
            file.data[at] = (uint8_t)('0' + (digit - '0' + step) % 10);
            loaded += load_and_run(&file);
        }
        file.data[at] = digit;
    }
    assert_true(loaded > 10);
    free(file.data);
}

static void changed_digits_never_crash(void **state) {
    (void)state;
    change_digits(make_small_plan());
}

static void nor_where_numbers_are_read_during_the_call(void **state) {
    (void)state;
    change_digits(make_item_position_plan(DTYPE_I64, true));
    change_digits(make_item_position_plan(DTYPE_I64, false));
    change_digits(make_item_size_plan());
    change_digits(make_deferred_check_plan());
}

/* A loop that updates a row of a state, in a branch. */
static void nor_where_regions_run(void **state) {
    (void)state;
    static const char source[] =
        "network\n"
        "input \"x\" = %x: f32[2]\n"
        "state \"s\" = %s: f32[3,2] of zeros\n"
        "region {\n"
        "  input \"s\" = %s: f32[3,2]\n"
        "  input \"x\" = %x: f32[2]\n"
        "  region {\n"
        "    input \"i\" = %i: i64[]\n"
        "    input \"s\" = %s: f32[3,2]\n"
        "    input \"x\" = %x: f32[2]\n"
        "    %go: bool[] = binary(%i) {op=lt, scalar=2}\n"
        "    output \"go\" = %go\n"
        "  }\n"
        "  region {\n"
        "    symbol u0: int in 0..2\n"
        "    input \"i\" = %i: i64[]\n"
        "    input \"s\" = %s: f32[3,2]\n"
        "    input \"x\" = %x: f32[2]\n"
        "    item(%i) {symbol=u0} @\"item\"\n"
        "    %row: f32[1,2] = reshape(%x) {sizes=[1,2]}\n"
        "    %at: i64[1] = reshape(%i) {sizes=[1]}\n"
        "    %t: f32[3,2] = index_update(%s, %row, %at) {accumulate=false, dims=[0], wrap=false}\n"
        "    %u: f32[3,2] = slice_update(%t, %row) {dim=0, end=u0 + 1, start=u0, step=1}\n"
        "    %j: i64[] = binary(%i) {op=add, scalar=1}\n"
        "    output \"i\" = %j\n"
        "    output \"s\" = %u\n"
        "  }\n"
        "  %zero: i64[] = fill() {dtype=i64, sizes=[], value=0}\n"
        "  %n: i64[], %t: f32[3,2] = loop(%zero, %s, %x) {regions=[0,1]}\n"
        "  output \"t\" = %t\n"
        "}\n"
        "region {\n"
        "  input \"s\" = %s: f32[3,2]\n"
        "  input \"x\" = %x: f32[2]\n"
        "  output \"t\" = %s\n"
        "}\n"
        "%sum: f32[] = reduce(%x) {axes=[0], keepdim=false, op=sum}\n"
        "%if: bool[] = binary(%sum) {op=eq, scalar=0}\n"
        "%t: f32[3,2] = cond(%if, %s, %x) {regions=[0,1]}\n"
        "next \"s\" = %t\n";
    network_t *network;
    plan_t *plan;
    insitu_diag diag;
    insitu_diag_init(&diag);
    plan_options_t options = {.no_inplace = false};
    if (network_parse(source, &network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (network_verify(network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (plan_build(network, &options, &plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    network_destroy(network);
    change_digits(plan);
}

static void nor_where_states_have_open_sizes(void **state) {
    (void)state;
    change_digits(make_open_size_plan());
}

int main(void) {
    setenv("INSITU_MAX_ROUNDS", "100", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_digits_never_crash), cmocka_unit_test(nor_where_states_have_open_sizes),
        cmocka_unit_test(nor_where_regions_run), cmocka_unit_test(nor_where_numbers_are_read_during_the_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
