/* Weights that are zeros, such as caches before the first call: how many there are is all that an engine file says. */
#include "network_fixture.h"

#include <sys/stat.h>

enum { ROWS = 8192, WIDTH = 64 };
static float zeros[ROWS * WIDTH], ones[ROWS * WIDTH], row[WIDTH], found[ROWS * WIDTH];

/* A cache that begins with such rows, of which each call writes one; what comes out is the cache plus a constant. */
static insitu_engine *make_engine(const float *initial, const float *added) {
    built b;
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(zeros_take_no_bytes)};
    for (int i = 0; i < ROWS * WIDTH; i++) ones[i] = 1;
    for (int i = 0; i < WIDTH; i++) row[i] = 7;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
