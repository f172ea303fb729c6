/* Conversions between dtypes, and walks over strided operands. */
#include "steps.h"

#include <math.h>

static void cast_values(dtype_t from, dtype_t to, int64_t count, const double *values, const double *expected) {
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, from, 1, &count, values);
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, to, 1, &count);
    step_dtype(steps_add(&steps, LAYER_CAST, &r, 1, &x, 1), to);
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, expected, count, 0);
    steps_release(&steps);
}

static void test_casts(void **unused) {
    (void)unused;
    const double odd[] = {NAN, INFINITY, -INFINITY, 3e9, -3e9, 1e20, 300.7, -300.7};
    cast_values(DTYPE_F32, DTYPE_I32, 8, odd,
                VALUES(-2147483648., -2147483648., -2147483648., -2147483648., -2147483648., -2147483648., 300, -300));
    cast_values(DTYPE_F64, DTYPE_I64, 8, odd,
                VALUES(-0x1p63, -0x1p63, -0x1p63, 3000000000., -3000000000., -0x1p63, 300, -300));
    cast_values(DTYPE_F32, DTYPE_I8, 8, odd, VALUES(0, 0, 0, 0, 0, 0, 44, -44));
    cast_values(DTYPE_F32, DTYPE_I16, 8, odd, VALUES(0, 0, 0, 0, 0, 0, 300, -300));
    cast_values(DTYPE_F64, DTYPE_BOOL, 8, odd, VALUES(1, 1, 1, 1, 1, 1, 1, 1));
    cast_values(DTYPE_F32, DTYPE_U16, 8, odd, VALUES(0, 0, 0, 0, 0, 0, 300, 65236));
    cast_values(DTYPE_F64, DTYPE_U32, 8, odd,
                VALUES(2147483648., 0, 2147483648., 3000000000., 2147483648., 0, 300, 4294966996.));
    cast_values(DTYPE_F64, DTYPE_U64, 8, VALUES(NAN, INFINITY, -INFINITY, 0x1p63, 0x1.8p63, 1e20, 300.7, -2048),
                VALUES(0x1p63, 0, 0x1p63, 0x1p63, 0x1.8p63, 0, 300, 0x1p64 - 2048));
    cast_values(DTYPE_U64, DTYPE_F32, 2, VALUES(0x1.8p63, 16777217), VALUES(0x1.8p63, 16777216));
    cast_values(DTYPE_U64, DTYPE_I64, 2, VALUES(0x1p63, 5), VALUES(-0x1p63, 5));
    cast_values(DTYPE_F32, DTYPE_U8, 4, VALUES(300.7, -300.7, -0., NAN), VALUES(44, 212, 0, 0));
    cast_values(DTYPE_I64, DTYPE_F32, 2, VALUES(16777217, -9007199254740992.), VALUES(16777216, -9007199254740992.));
    cast_values(DTYPE_I64, DTYPE_I8, 3, VALUES(128, 255, -129), VALUES(-128, -1, 127));
    cast_values(DTYPE_BOOL, DTYPE_F16, 2, VALUES(1, 0), VALUES(1, 0));
    cast_values(DTYPE_F32, DTYPE_F16, 6, VALUES(65504, 65520, 1e-8, 5.96e-8, 1. / 3, 6e-5),
                VALUES(65504, INFINITY, 0, 5.960464477539063e-08, 0.333251953125, 6.002187728881836e-05));
    cast_values(DTYPE_F32, DTYPE_BF16, 4, VALUES(1.00390625, 1. / 3, 3.4e38, NAN),
                VALUES(1, 0.333984375, INFINITY, NAN));
}

static void test_casts_to_small_floats(void **unused) {
    (void)unused;
    const double odd[] = {464, 466, -1e30, INFINITY, NAN, 0.0009765625, 1.0625, 61441, 1e-9};
    cast_values(DTYPE_F32, DTYPE_E4M3FN, 9, odd, VALUES(448, 448, -448, 448, NAN, 0, 1, 448, 0));
    cast_values(DTYPE_F32, DTYPE_E5M2, 9, odd,
                VALUES(448, 448, -INFINITY, INFINITY, NAN, 0.0009765625, 1, INFINITY, 0));
    cast_values(DTYPE_F64, DTYPE_E4M3FNUZ, 4, VALUES(240, 250, -0., 0.0009765625), VALUES(240, NAN, 0, 0.0009765625));
    cast_values(DTYPE_I64, DTYPE_E5M2FNUZ, 2, VALUES(57344, -70000), VALUES(57344, NAN));
    cast_values(DTYPE_F16, DTYPE_E8M0, 4, VALUES(-3, 6, 1, INFINITY), VALUES(4, 8, 1, NAN));
    cast_values(DTYPE_E4M3FN, DTYPE_E5M2, 2, VALUES(1.125, -0.001953125), VALUES(1, -0.001953125));
}

static void test_small_floats_round_trip(void **unused) {
    (void)unused;
    const dtype_t types[] = {DTYPE_E4M3FN, DTYPE_E5M2, DTYPE_E4M3FNUZ, DTYPE_E5M2FNUZ, DTYPE_E8M0};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        for (uint32_t bits = 0; bits < 256; bits++) {
            float value = float8_to_float(types[i], (uint8_t)bits);
            if (!isnan(value)) assert_int_equal(float_to_float8(types[i], value), bits);
        }
    }
}

static void test_halves_round_trip(void **unused) {
    (void)unused;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits;
        if (!isnan(half_to_float(half))) assert_int_equal(float_to_half(half_to_float(half)), half);
        if (!isnan(bfloat_to_float(half))) assert_int_equal(float_to_bfloat(bfloat_to_float(half)), half);
    }
}

/* A walk from any start to any end visits the elements in row-major order, merged or not. */
static void test_walks(void **unused) {
    (void)unused;
    const int64_t sizes[] = {2, 3, 1, 4}, strides[][4] = {{12, 4, 4, 1}, {1, 8, 5, 2}, {0, 4, 0, 1}};
    char base[1];
    for (uint32_t layout = 0; layout < COUNT_OF(strides); layout++) {
        for (int64_t begin = 0; begin <= 24; begin++) {
            for (int64_t end = begin; end <= 24; end++) {
                walk_t walk;
                walk_init(&walk, 4, sizes);
                walk_add(&walk, base, strides[layout], 1);
                walk_merge(&walk);
                int64_t position = begin;
                bool more = walk_start(&walk, begin, end);
                for (; more; more = walk_next(&walk)) {
                    assert_int_equal(walk.position, position);
                    for (int64_t i = 0; i < walk.run; i++, position++) {
                        int64_t at = position / 12 * strides[layout][0] + position / 4 % 3 * strides[layout][1] +
                                     position % 4 * strides[layout][3];
                        assert_int_equal((uintptr_t)walk.data[0] + (uintptr_t)(i * walk.step[0]),
                                         (uintptr_t)base + (uintptr_t)at);
                    }
                }
                assert_int_equal(position, end);
            }
        }
    }
}

static void test_shares_cover_all(void **unused) {
    (void)unused;
    for (int64_t total = 0; total < 100; total++) {
        for (uint32_t threads = 1; threads < 6; threads++) {
            int64_t expected = 0;
            for (uint32_t thread = 0; thread < threads; thread++) {
                kernel_call_t call = {.thread = thread, .threads = threads};
                int64_t begin, end;
                call_share(&call, total, 16, &begin, &end);
                assert_int_equal(begin, expected);
                assert_true(end >= begin && (end % 16 == 0 || end == total));
                expected = end;
            }
            assert_int_equal(expected, total);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_casts),
                                       cmocka_unit_test(test_casts_to_small_floats),
                                       cmocka_unit_test(test_small_floats_round_trip),
                                       cmocka_unit_test(test_halves_round_trip),
                                       cmocka_unit_test(test_walks),
                                       cmocka_unit_test(test_shares_cover_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
