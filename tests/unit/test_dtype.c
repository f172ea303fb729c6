/* Element types: the table, and promotion as PyTorch 2.13 answers it (the tables are its answers). */
#include "unit_test.h"

#include <math.h>

#include "core/core.h"
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 16 };

/* Names of a row in turn; "none" reads as DTYPE_COUNT. */
static dtype_t next_name(const char **row) {
    char name[NAME_SIZE];
    int used = 0;
    dtype_t type = DTYPE_COUNT;
    assert_int_equal(sscanf(*row, "%15s%n", name, &used), 1);
    *row += used;
    if (strcmp(name, "none") != 0) assert_true(dtype_parse(name, &type));
    return type;
}

static void test_table(void **state) {
    (void)state;
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        dtype_t type = (dtype_t)i, back;
        insitu_dtype public_type = dtype_public(type);
        assert_true(dtype_parse(dtype_name(type), &back) && back == type);
        assert_true(dtype_from_public(public_type, &back) && back == type);
        assert_int_equal(public_type.bits, 8 * dtype_size(type));
        assert_int_equal(public_type.lanes, 1);
        if (dtype_safetensors(type))
            assert_true(dtype_from_safetensors(dtype_safetensors(type), &back) && back == type);
    }
    dtype_t type;
    assert_true(dtype_from_pt2(7, &type) && type == DTYPE_F32);
    assert_true(dtype_from_pt2(13, &type) && type == DTYPE_BF16);
    assert_false(dtype_from_pt2(0, &type));
    assert_false(dtype_from_pt2(-1, &type));
    assert_false(dtype_parse("float", &type));
    assert_false(dtype_parse("none", &type));
    assert_false(dtype_from_public((insitu_dtype){INSITU_CODE_FLOAT, 32, 2}, &type));
    assert_false(dtype_from_safetensors("F33", &type));
    assert_true(dtype_is_integral(DTYPE_BOOL) && dtype_is_integral(DTYPE_U64) && !dtype_is_integral(DTYPE_F16));
    assert_true(dtype_is_float(DTYPE_E8M0) && dtype_is_complex(DTYPE_C32));
}

static void test_promote(void **state) {
    (void)state;
    static const char *const rows[DTYPE_COUNT] = {
        "bool u8 i8 i16 i32 i64 none none none f16 bf16 f32 f64 c32 c64 c128 none none none none none",
        "u8 u8 i16 i16 i32 i64 none none none f16 bf16 f32 f64 c32 c64 c128 none none none none none",
        "i8 i16 i8 i16 i32 i64 none none none f16 bf16 f32 f64 c32 c64 c128 none none none none none",
        "i16 i16 i16 i16 i32 i64 none none none f16 bf16 f32 f64 c32 c64 c128 none none none none none",
        "i32 i32 i32 i32 i32 i64 none none none f16 bf16 f32 f64 c32 c64 c128 none none none none none",
        "i64 i64 i64 i64 i64 i64 none none none f16 bf16 f32 f64 c32 c64 c128 none none none none none",
        "none none none none none none u16 none none f16 bf16 f32 f64 none none none none none none none none",
        "none none none none none none none u32 none f16 bf16 f32 f64 none none none none none none none none",
        "none none none none none none none none u64 f16 bf16 f32 f64 none none none none none none none none",
        "f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f32 f32 f64 c32 c64 c128 none none none none none",
        "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64 c64 c64 c128 none none none none none",
        "f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64 c64 c64 c128 none none none none none",
        "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128 c128 none none none none none",
        "c32 c32 c32 c32 c32 c32 none none none c32 c64 c64 c128 c32 c64 c128 none none none none none",
        "c64 c64 c64 c64 c64 c64 none none none c64 c64 c64 c128 c64 c64 c128 none none none none none",
        "c128 c128 c128 c128 c128 c128 none none none c128 c128 c128 c128 c128 c128 c128 none none none none none",
        "none none none none none none none none none none none none none none none none f8e4m3fn none none none none",
        "none none none none none none none none none none none none none none none none none f8e5m2 none none none",
        "none none none none none none none none none none none none none none none none none none f8e4m3fnuz none "
        "none",
        "none none none none none none none none none none none none none none none none none none none f8e5m2fnuz "
        "none",
        "none none none none none none none none none none none none none none none none none none none none f8e8m0",
    };
    for (uint32_t a = 0; a < DTYPE_COUNT; a++) {
        const char *row = rows[a];
        for (uint32_t b = 0; b < DTYPE_COUNT; b++) {
            dtype_t expected = next_name(&row), got = dtype_promote((dtype_t)a, (dtype_t)b);
            if (got != expected)
                fail_msg("%s with %s: %s", dtype_name((dtype_t)a), dtype_name((dtype_t)b), dtype_name(got));
        }
    }
}

/* Results of each dtype bool to c128 in turn with one other operand. */
static void expect_results(operand_class_t first, dtype_t other, operand_class_t second, const char *row) {
    for (uint32_t i = 0; i <= DTYPE_C128; i++) {
        dtype_t types[2] = {(dtype_t)i, other}, expected = next_name(&row);
        operand_class_t classes[2] = {first, second}, reversed[2] = {second, first};
        dtype_t swapped[2] = {other, (dtype_t)i};
        if (dtype_result(types, classes, 2) != expected)
            fail_msg("%s (%d) with %s (%d): %s", dtype_name(types[0]), first, dtype_name(other), second,
                     dtype_name(dtype_result(types, classes, 2)));
        assert_int_equal(dtype_result(swapped, reversed, 2), expected);
    }
}

static void test_result(void **state) {
    (void)state;
    static const struct {
        dtype_t number;
        const char *row;
    } numbers[] = {
        {DTYPE_BOOL, "bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c32 c64 c128"},
        {DTYPE_I64, "i64 u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c32 c64 c128"},
        {DTYPE_F64, "f32 f32 f32 f32 f32 f32 f32 f32 f32 f16 bf16 f32 f64 c32 c64 c128"},
        {DTYPE_C128, "c64 c64 c64 c64 c64 c64 c64 c64 c64 c32 c64 c64 c128 c32 c64 c128"},
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        expect_results(OPERAND_TENSOR, numbers[i].number, OPERAND_NUMBER, numbers[i].row);
        expect_results(OPERAND_ZERO_DIM, numbers[i].number, OPERAND_NUMBER, numbers[i].row);
    }
    static const struct {
        dtype_t zero_dim;
        const char *row;
    } zero_dims[] = {
        {DTYPE_U16, "none u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c32 c64 c128"},
        {DTYPE_I64, "i64 u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c32 c64 c128"},
        {DTYPE_F64, "f64 f64 f64 f64 f64 f64 f64 f64 f64 f16 bf16 f32 f64 c32 c64 c128"},
        {DTYPE_C128, "c128 c128 c128 c128 c128 c128 c128 c128 c128 c32 c64 c64 c128 c32 c64 c128"},
    };
    for (size_t i = 0; i < COUNT_OF(zero_dims); i++)
        expect_results(OPERAND_TENSOR, zero_dims[i].zero_dim, OPERAND_ZERO_DIM, zero_dims[i].row);
}

static void test_result_of_three(void **state) {
    (void)state;
    static const operand_class_t classes[] = {OPERAND_ZERO_DIM, OPERAND_TENSOR, OPERAND_NUMBER};
    assert_int_equal(dtype_result((dtype_t[]){DTYPE_F64, DTYPE_F16, DTYPE_F64}, classes, 3), DTYPE_F16);
    assert_int_equal(dtype_result((dtype_t[]){DTYPE_F16, DTYPE_I32, DTYPE_F64}, classes, 3), DTYPE_F16);
    assert_int_equal(dtype_result((dtype_t[]){DTYPE_I8, DTYPE_BOOL, DTYPE_I64}, classes, 3), DTYPE_I8);
    assert_int_equal(dtype_result((dtype_t[]){DTYPE_I8}, (operand_class_t[]){OPERAND_NUMBER}, 1), DTYPE_I8);
}

static void numbers_round_to_the_nearest_float(void **state) {
    (void)state;
    static const struct {
        dtype_t type;
        double value, expected;
    } rows[] = {
        {DTYPE_BF16, 0.1, 0.10009765625},
        {DTYPE_F16, 0.1, 0.0999755859375},
        {DTYPE_F32, 0.1, 0.1f},
        {DTYPE_F64, 0.1, 0.1},
        {DTYPE_F16, 65519, 65504},
        {DTYPE_F16, 65520, INFINITY},
        {DTYPE_F16, -70000, -INFINITY},
        {DTYPE_BF16, 257, 256},
        {DTYPE_BF16, 259, 260},
        {DTYPE_F16, 3e-8, 5.9604644775390625e-08},
        {DTYPE_F16, 2e-8, 0},
        {DTYPE_BF16, 1e39, INFINITY},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double rounded = dtype_round(rows[i].type, rows[i].value);
        if (rounded != rows[i].expected)
            fail_msg("%s(%.17g) = %.17g", dtype_name(rows[i].type), rows[i].value, rounded);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_round_to_the_nearest_float),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_promote),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_result_of_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
