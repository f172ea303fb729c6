/* Weights that are zeros, such as caches before the first call: how many there are is all that an engine file says. */
#include "network_fixture.h"

#include <sys/stat.h>

enum { ROWS = 8192, WIDTH = 64 };
static float zeros[ROWS * WIDTH], ones[ROWS * WIDTH], row[WIDTH], found[ROWS * WIDTH];

/* A cache that begins with such rows, of which each call writes one; what comes out is the cache plus a constant. */
static insitu_engine *make_engine(const float *initial, const float *added) {
    built_t b;
    insitu_engine *engine;
    insitu_value cache, next, constant, sum;
    insitu_number sizes[] = {insitu_int(ROWS), insitu_int(WIDTH)};
    int64_t position = 5;
    open_network(&b);
    insitu_value x = given(&b, F32, SIZES(1, WIDTH), row), p = given(&b, I64, SIZES(1), &position);
    must(&b, insitu_network_add_state(b.network, "cache", F32, 2, sizes, initial, sizeof(zeros), &cache, &b.diag));
    must(&b, insitu_network_add_constant(b.network, "added", F32, SIZES(ROWS, WIDTH), added, sizeof(zeros), &constant,
                                         &b.diag));
    must(&b, insitu_network_add_index_update(b.network, cache, x, DIMS(0), &p, false, false, &next, &b.diag));
    must(&b, insitu_network_assign(b.network, cache, next, &b.diag));
    must(&b, insitu_network_add_binary(b.network, "add", next, constant, &sum, &b.diag));
    must(&b, insitu_network_mark_output(b.network, sum, "sum", &b.diag));
    must(&b, insitu_network_compile(b.network, NULL, &engine, &b.diag));
    close_network(&b);
    return engine;
}

/* The engine again, from a file of fewer bytes than `most`. */
static insitu_engine *save_and_load(insitu_engine *engine, long most) {
    static const char path[] = "zero_weights.insitu";
    insitu_load_options options = {.struct_size = sizeof(options), .verify_weights = true};
    insitu_engine *loaded;
    struct stat info;
    assert_int_equal(insitu_engine_save(engine, path, NULL), INSITU_OK);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(insitu_engine_load(path, &options, &loaded, NULL), INSITU_OK);
    assert_int_equal(unlink(path), 0);
    if (info.st_size >= most) fail_msg("the file has %ld bytes", (long)info.st_size);
    insitu_engine_destroy(engine);
    return loaded;
}

static void check(insitu_engine *engine, float initial, float added) {
    int64_t position = 5, sizes[] = {1, WIDTH}, one = 1;
    insitu_context *context;
    insitu_state *state;
    insitu_tensor output, x = {.data = row, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 2, .dtype = F32, .shape = sizes};
    insitu_tensor p = {.data = &position, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = I64, .shape = &one};
    assert_int_equal(insitu_context_create(engine, &context, NULL), INSITU_OK);
    assert_int_equal(insitu_state_create(engine, &state, NULL), INSITU_OK);
    assert_int_equal(insitu_context_set_input(context, 0, &x, NULL), INSITU_OK);
    assert_int_equal(insitu_context_set_input(context, 1, &p, NULL), INSITU_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(insitu_context_run(context, state, NULL, NULL), INSITU_OK);
        assert_int_equal(insitu_context_output(context, 0, &output, NULL), INSITU_OK);
        const float *sum = output.data;
        for (int i = 0; i < ROWS * WIDTH; i++)
            if (sum[i] != (i / WIDTH == 5 ? 7 : initial) + added) fail_msg("element %d is %g", i, (double)sum[i]);
        assert_int_equal(insitu_state_truncate(state, NULL, 5, NULL, NULL), INSITU_OK);
        assert_int_equal(insitu_state_read(state, "cache", found, sizeof(found), NULL), INSITU_OK);
        for (int i = 0; i < ROWS * WIDTH; i++)
            if (found[i] != initial) fail_msg("element %d of the cache is %g", i, (double)found[i]);
    }
    insitu_state_destroy(state);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
}

static void zeros_take_no_bytes(void **state) {
    (void)state;
    const long one = (long)sizeof(zeros), little = 8192;
    check(save_and_load(make_engine(zeros, zeros), little), 0, 0);
    check(save_and_load(make_engine(zeros, ones), one + little), 0, 1);
    check(save_and_load(make_engine(ones, zeros), one + little), 1, 0);
    check(save_and_load(save_and_load(make_engine(zeros, ones), one + little), one + little), 0, 1);
    check(save_and_load(make_engine(ones, ones), 2 * one + little), 1, 1);
}

/* Bytes of the process's memory that take pages. */
static size_t resident(void) {
    size_t total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (fscanf(file, "%zu %zu", &total, &pages) != 2) pages = 0;
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

enum { LARGE = 64 << 20, SMALL = 16 << 20 }; /* SMALL: also what a sanitizer remembers of a large block */

static void expect_grown(size_t before, size_t lowest, size_t highest) {
    size_t now = resident(), grown = now > before ? now - before : 0;
    if (grown < lowest || grown > highest) fail_msg("%zu bytes more are resident", grown);
}

/* A cache of zeros, however the program says so, takes no pages until it is written; after a reset it takes none again. */
static void zero_states_touch_no_page(void **test) {
    (void)test;
    if (resident() == 0) skip();
    static uint8_t value[LARGE];
    const void *const initials[] = {NULL, value};
    for (size_t i = 0; i < 2; i++) {
        built_t b;
        insitu_engine *engine;
        insitu_state *state, *other;
        insitu_tensor tensor;
        insitu_value cache, next;
        insitu_number sizes[] = {insitu_int(LARGE)};
        memset(value, 0, sizeof(value));
        open_network(&b);
        must(&b, insitu_network_add_state(b.network, "cache", INSITU_DTYPE_U8, 1, sizes, initials[i],
                                          initials[i] ? LARGE : 0, &cache, &b.diag));
        must(&b, insitu_network_add_unary(b.network, "bitwise_not", cache, &next, &b.diag));
        must(&b, insitu_network_assign(b.network, cache, next, &b.diag));
        must(&b, insitu_network_compile(b.network, NULL, &engine, &b.diag));
        close_network(&b);
        engine = save_and_load(engine, 1 << 16);
        size_t before = resident();
        assert_int_equal(insitu_state_create(engine, &state, NULL), INSITU_OK);
        expect_grown(before, 0, SMALL);
        memset(value, 7, sizeof(value));
        assert_int_equal(insitu_state_write(state, "cache", value, LARGE, NULL), INSITU_OK);
        expect_grown(before, LARGE, LARGE + SMALL);
        assert_int_equal(insitu_state_reset(state, NULL, NULL), INSITU_OK);
        expect_grown(before, 0, SMALL);
        assert_int_equal(insitu_state_tensor(state, 0, &tensor, NULL), INSITU_OK);
        for (size_t k = 0; k < LARGE; k++)
            if (((const uint8_t *)tensor.data)[k]) fail_msg("byte %zu is not 0", k);
        assert_int_equal(insitu_state_fork(state, NULL, &other, NULL), INSITU_OK);
        insitu_state_destroy(other);
        insitu_state_destroy(state);
        insitu_engine_destroy(engine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(zeros_take_no_bytes),
                                       cmocka_unit_test(zero_states_touch_no_page)};
    for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
    for (int i = 0; i < WIDTH; i++) row[i] = 7;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
