/* A caller's thread may round in another direction, flush subnormals, or trap: programs are read, compiled and run as in the
 * default floating-point environment, and the caller's is as it was afterwards. */
#include "network_fixture.h"

#include <fenv.h>

enum { COUNT = 20000 };

static float numbers[COUNT], first[COUNT];

/* exp(x * 1e-3) / 3 and a smallest number, so that every rounding shows. */
static void build(built_t *b, insitu_value *out_value) {
    insitu_value x = given(b, F32, SIZES(COUNT), numbers);
    must(b, insitu_network_add_binary_scalar(b->network, "mul", x, insitu_float(1e-3), false, &x, &b->diag));
    must(b, insitu_network_add_unary(b->network, "exp", x, &x, &b->diag));
    must(b, insitu_network_add_binary_scalar(b->network, "div", x, insitu_float(3), false, out_value, &b->diag));
}

static void compute(float *out) {
    built_t b;
    insitu_value value;
    insitu_engine *engine;
    insitu_context *context;
    insitu_tensor output, input = {.data = numbers, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = F32};
    input.shape = INTS(COUNT);
    open_network(&b);
    build(&b, &value);
    must(&b, insitu_network_mark_output(b.network, value, "result", &b.diag));
    must(&b, insitu_network_compile(b.network, NULL, &engine, &b.diag));
    must(&b, insitu_context_create(engine, &context, &b.diag));
    must(&b, insitu_context_set_input(context, 0, &input, &b.diag));
    must(&b, insitu_context_run(context, NULL, NULL, &b.diag));
    must(&b, insitu_context_output(context, 0, &output, &b.diag));
    memcpy(out, output.data, COUNT * sizeof(float));
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
    close_network(&b);
}

static void check(void) {
    float found[COUNT];
    compute(found);
    assert_memory_equal(found, first, sizeof(found));
}

static void directions_of_rounding_change_no_bit(void **state) {
    (void)state;
    static const int directions[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    for (size_t i = 0; i < sizeof(directions) / sizeof(*directions); i++) {
        assert_int_equal(fesetround(directions[i]), 0);
        float found[COUNT];
        compute(found);
        int after = fegetround();
        assert_int_equal(fesetround(FE_TONEAREST), 0);
        assert_int_equal(after, directions[i]);
        assert_memory_equal(found, first, sizeof(found));
    }
}

#if defined(__x86_64__)
static void subnormals_are_kept(void **state) {
    (void)state;
    enum { FLUSH = 0x8040 };
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | FLUSH);
    float found[COUNT];
    compute(found);
    unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    assert_int_equal(after & FLUSH, FLUSH);
    assert_memory_equal(found, first, sizeof(found));
}
#endif

static void a_caller_s_traps_are_not_sprung(void **state) {
    (void)state;
    const int traps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW;
    if (feenableexcept(traps) < 0) skip();
    check();
    int after = fedisableexcept(traps);
    assert_int_equal(after & traps, traps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_of_rounding_change_no_bit),
#if defined(__x86_64__)
        cmocka_unit_test(subnormals_are_kept),
#endif
        cmocka_unit_test(a_caller_s_traps_are_not_sprung),
    };
    for (int i = 0; i < COUNT; i++) numbers[i] = (float)(i % 2000 - 1000) * (i % 3 == 0 ? 103.0F : 0.37F);
    compute(first);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
