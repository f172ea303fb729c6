/* The reference kernels against numbers that PyTorch gives. */
#include "steps.h"

#include <math.h>

static void unary_values(dtype_t type, op_kind_t op, int64_t count, const double *values, const double *expected) {
    steps_t steps;
    steps_init(&steps);
    bool test = op == OP_ISNAN || op == OP_ISINF || op == OP_ISFINITE || op == OP_LOGICAL_NOT;
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, type, 1, &count, values);
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, test ? DTYPE_BOOL : type, 1, &count);
    step_op(steps_add(&steps, LAYER_UNARY, &r, 1, &x, 1), op);
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, expected, count, 1e-6);
    steps_release(&steps);
}

static void test_unary(void **unused) {
    (void)unused;
    const double x[] = {-2.5, -0.5, 0, 1.5, NAN, INFINITY};
    for (int32_t i = 0; i < 2; i++) {
        dtype_t type = i ? DTYPE_F64 : DTYPE_F32;
        unary_values(type, OP_EXP, 6, x, VALUES(0.0820849986, 0.6065306597, 1, 4.4816890703, NAN, INFINITY));
        unary_values(type, OP_ERF, 6, x, VALUES(-0.9995930480, -0.5204998778, 0, 0.9661051465, NAN, 1));
        unary_values(type, OP_RSQRT, 6, x, VALUES(NAN, NAN, INFINITY, 0.8164965809, NAN, 0));
        unary_values(type, OP_SIGMOID, 6, x, VALUES(0.0758581800, 0.3775406688, 0.5, 0.8175744762, NAN, 1));
        unary_values(type, OP_FRAC, 6, x, VALUES(-0.5, -0.5, 0, 0.5, NAN, NAN));
        unary_values(type, OP_ROUND, 6, x, VALUES(-2, -0., 0, 2, NAN, INFINITY));
        unary_values(type, OP_SIGN, 6, x, VALUES(-1, -1, 0, 1, 0, 1));
        unary_values(type, OP_RELU, 6, x, VALUES(0, 0, 0, 1.5, NAN, INFINITY));
        unary_values(type, OP_SILU, 4, x, VALUES(-0.1896454500, -0.1887703344, 0, 1.2263617143));
        unary_values(type, OP_GELU, 4, x, VALUES(-0.0155241631, -0.1542687694, 0, 1.3997891981));
        unary_values(type, OP_GELU_TANH, 4, x, VALUES(-0.0150842647, -0.1542860047, 0, 1.3995715771));
        unary_values(type, OP_SOFTPLUS, 4, x, VALUES(0.0788897343, 0.4740769842, 0.6931471806, 1.7014132779));
        unary_values(type, OP_MISH, 4, x, VALUES(-0.1968161944, -0.2207437733, 0, 1.4033782482));
        unary_values(type, OP_HARDSWISH, 4, x, VALUES(-0.2083333333, -0.2083333333, 0, 1.125));
        unary_values(type, OP_ISNAN, 6, x, VALUES(0, 0, 0, 0, 1, 0));
        unary_values(type, OP_ISINF, 6, x, VALUES(0, 0, 0, 0, 0, 1));
        unary_values(type, OP_ISFINITE, 6, x, VALUES(1, 1, 1, 1, 0, 0));
        unary_values(type, OP_LOGICAL_NOT, 6, x, VALUES(0, 0, 1, 0, 0, 0));
    }
    unary_values(DTYPE_I64, OP_ABS, 3, VALUES(-3, 4, -0x1p63), VALUES(3, 4, -0x1p63));
    unary_values(DTYPE_I8, OP_NEG, 3, VALUES(-128, 127, 0), VALUES(-128, -127, 0));
    unary_values(DTYPE_U8, OP_BITWISE_NOT, 2, VALUES(0, 200), VALUES(255, 55));
    unary_values(DTYPE_BOOL, OP_BITWISE_NOT, 2, VALUES(0, 1), VALUES(1, 0));
    unary_values(DTYPE_BF16, OP_EXP, 1, VALUES(1), VALUES(2.71875));
}

static void binary_values(dtype_t type, op_kind_t op, int64_t count, const double *a, const double *b,
                          const double *expected) {
    steps_t steps;
    steps_init(&steps);
    dtype_t to = op_group_of(op) == OPS_COMPARE ? DTYPE_BOOL : type;
    bound_operand_t operands[2] = {steps_values(&steps, STORAGE_INPUT, type, 1, &count, a),
                                   steps_values(&steps, STORAGE_INPUT, type, 1, &count, b)};
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, to, 1, &count);
    step_op(steps_add(&steps, LAYER_BINARY, &r, 1, operands, 2), op);
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, expected, count, 1e-6);
    steps_release(&steps);
}

static void test_binary_ints(void **unused) {
    (void)unused;
    const double a[] = {7, -7, 7, -7, 0, -0x1p63, 5}, b[] = {2, 2, -2, -2, 5, -1, 0};
    binary_values(DTYPE_I64, OP_DIV_FLOOR, 7, a, b, VALUES(3, -4, -4, 3, 0, -0x1p63, 0));
    binary_values(DTYPE_I64, OP_DIV_TRUNC, 7, a, b, VALUES(3, -3, -3, 3, 0, -0x1p63, 0));
    binary_values(DTYPE_I64, OP_REMAINDER, 7, a, b, VALUES(1, 1, -1, -1, 0, 0, 0));
    binary_values(DTYPE_I64, OP_FMOD, 7, a, b, VALUES(1, -1, 1, -1, 0, 0, 0));
    binary_values(DTYPE_I64, OP_POW, 6, VALUES(2, 3, 0, 1, -1, -1), VALUES(-1, -2, -1, -5, -3, -4),
                  VALUES(0, 0, 0, 1, -1, 1));
    binary_values(DTYPE_I64, OP_POW, 3, VALUES(3, -2, 2), VALUES(4, 5, 64), VALUES(81, -32, 0));
    binary_values(DTYPE_I64, OP_SHIFT_LEFT, 3, VALUES(1, -1, 5), VALUES(64, -1, 63), VALUES(0, 0, -0x1p63));
    binary_values(DTYPE_I64, OP_SHIFT_RIGHT, 3, VALUES(-8, 8, 5), VALUES(64, -1, 63), VALUES(-1, 0, 0));
    binary_values(DTYPE_I32, OP_SHIFT_LEFT, 2, VALUES(1, 1), VALUES(31, 32), VALUES(-2147483648., 0));
    binary_values(DTYPE_I32, OP_MUL, 1, VALUES(2147483647), VALUES(2), VALUES(-2));
    binary_values(DTYPE_I8, OP_ADD, 1, VALUES(127), VALUES(1), VALUES(-128));
    binary_values(DTYPE_BOOL, OP_ADD, 4, VALUES(0, 0, 1, 1), VALUES(0, 1, 0, 1), VALUES(0, 1, 1, 1));
    binary_values(DTYPE_BOOL, OP_LOGICAL_XOR, 4, VALUES(0, 0, 1, 1), VALUES(0, 1, 0, 1), VALUES(0, 1, 1, 0));
    binary_values(DTYPE_I32, OP_LT, 3, VALUES(1, 2, 3), VALUES(2, 2, 2), VALUES(1, 0, 0));
}

static void test_binary_floats(void **unused) {
    (void)unused;
    const double a[] = {7, -7, NAN, INFINITY, 1, -0., 1}, b[] = {-2, 2, 1, 2, 0, 3, INFINITY};
    binary_values(DTYPE_F32, OP_DIV_FLOOR, 7, a, b, VALUES(-4, -4, NAN, NAN, INFINITY, -0., 0));
    binary_values(DTYPE_F64, OP_REMAINDER, 6, a, b, VALUES(-1, 1, NAN, NAN, NAN, -0.));
    binary_values(DTYPE_F32, OP_REMAINDER, 1, VALUES(-1), VALUES(INFINITY), VALUES(INFINITY));
    binary_values(DTYPE_F32, OP_DIV_FLOOR, 3, VALUES(5, -5, 1), VALUES(2, 2, 0.1), VALUES(2, -3, 9));
    binary_values(DTYPE_F32, OP_MAXIMUM, 3, VALUES(NAN, 1, 2), VALUES(1, NAN, 3), VALUES(NAN, NAN, 3));
    binary_values(DTYPE_F32, OP_MINIMUM, 3, VALUES(NAN, 1, 2), VALUES(1, NAN, 3), VALUES(NAN, NAN, 2));
    binary_values(DTYPE_F32, OP_FMAX, 2, VALUES(NAN, 1), VALUES(1, NAN), VALUES(1, 1));
    binary_values(DTYPE_F32, OP_POW, 3, VALUES(2, -2, -8), VALUES(-1, 3, 1. / 3), VALUES(0.5, -8, NAN));
    binary_values(DTYPE_F32, OP_NE, 2, VALUES(NAN, 1), VALUES(NAN, 1), VALUES(1, 0));
    binary_values(DTYPE_F16, OP_ADD, 1, VALUES(2048), VALUES(1), VALUES(2048));
}

static void test_binary_rounding(void **unused) {
    (void)unused;
    /* A quotient is rounded to f16 or bf16 before it is cut. */
    binary_values(DTYPE_BF16, OP_DIV_FLOOR, 2, VALUES(17.375, 18.875), VALUES(0.1, 0.1), VALUES(174, 189));
    binary_values(DTYPE_BF16, OP_DIV_TRUNC, 2, VALUES(3.703125, 7.40625), VALUES(0.1, 0.1), VALUES(37, 74));
    binary_values(DTYPE_F16, OP_DIV_FLOOR, 2, VALUES(77.3125, 78.8125), VALUES(0.1, 0.1), VALUES(772, 787));
    binary_values(DTYPE_F16, OP_DIV_TRUNC, 2, VALUES(17.390625, 21.09375), VALUES(0.1, 0.1), VALUES(174, 211));
    /* Of equal zeros. */
    binary_values(DTYPE_F32, OP_DIV, 2, VALUES(1, 1), VALUES(0, -0.), VALUES(INFINITY, -INFINITY));
    const op_kind_t ops[] = {OP_MAXIMUM, OP_MINIMUM, OP_FMAX, OP_FMIN};
    for (uint32_t i = 0; i < COUNT_OF(ops); i++) {
        steps_t steps;
        steps_init(&steps);
        bound_operand_t x[2] = {steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(1), VALUES(0)),
                                steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(1), VALUES(-0.))};
        bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 1, SIZES(1));
        step_op(steps_add(&steps, LAYER_BINARY, &r, 1, x, 2), ops[i]);
        steps_run_reference(&steps);
        assert_int_equal(signbit(steps_get(&steps, &r, 0)) != 0, i < 2);
        steps_release(&steps);
    }
}

static void scaled_sum(dtype_t type, double number, const double *a, const double *b, const double *expected) {
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x[2] = {steps_values(&steps, STORAGE_INPUT, type, 1, SIZES(4), a),
                            steps_values(&steps, STORAGE_INPUT, type, 1, SIZES(4), b)};
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, type, 1, SIZES(4));
    bound_step_t *step = steps_add(&steps, LAYER_BINARY, &r, 1, x, 2);
    step_op(step, OP_ADD);
    if (dtype_is_float(type))
        step_real(step, ATTR_SCALAR, number);
    else
        step_int(step, ATTR_SCALAR, (int64_t)number);
    reason_t why;
    for (uint32_t i = 0; i < kernel_row_count; i++)
        assert_true(kernel_is_reference(&kernel_rows[i]) || !kernel_accepts(&kernel_rows[i], step, &why));
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, expected, 4, 0);
    steps_release(&steps);
}

/* a + number b, rounded once: no product overflows. */
static void test_scaled_sum(void **unused) {
    (void)unused;
    scaled_sum(DTYPE_F32, 2, VALUES(1, (double)3.3e38F, (double)0.1F, (double)-0.2F),
               VALUES(3, (double)-3.3e38F, (double)0.3F, (double)0.7F),
               VALUES(7, (double)-3.3e38F, 0.7000000476837158, 1.1999999284744263));
    scaled_sum(DTYPE_BF16, -3, VALUES(1, 0, 0.1, -0.2), VALUES(3, 0, 0.3, 0.7), VALUES(-8, 0, -0.80078125, -2.296875));
    scaled_sum(DTYPE_I8, 3, VALUES(100, 1, 2, 3), VALUES(100, 1, 0, -1), VALUES(-112, 4, 2, 0));
}

/* An integer number is cut to the operand's width: 300 is 44 beside i8. */
static void test_binary_wrapped_number(void **unused) {
    (void)unused;
    const op_kind_t ops[] = {OP_LT, OP_REMAINDER, OP_DIV_FLOOR, OP_MAXIMUM};
    const double expected[][3] = {{1, 0, 1}, {7, 3, 37}, {0, 1, -1}, {44, 47, 44}};
    for (uint32_t i = 0; i < COUNT_OF(ops); i++) {
        steps_t steps;
        steps_init(&steps);
        bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_I8, 1, SIZES(3), VALUES(7, 47, -7));
        bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, i ? DTYPE_I8 : DTYPE_BOOL, 1, SIZES(3));
        bound_step_t *step = steps_add(&steps, LAYER_BINARY, &r, 1, &x, 1);
        step_op(step, ops[i]);
        step_int(step, ATTR_SCALAR, 300);
        steps_run_reference(&steps);
        steps_assert_values(&steps, &r, expected[i], 3, 0);
        steps_release(&steps);
    }
}

/* u64 is computed in i64, and by no operator that orders. */
static void test_u64(void **unused) {
    (void)unused;
    binary_values(DTYPE_U64, OP_MUL, 2, VALUES(0x1p63, 3), VALUES(3, 5), VALUES(0x1p63, 15));
    binary_values(DTYPE_U64, OP_EQ, 2, VALUES(0x1p63, 3), VALUES(0x1p63, 5), VALUES(1, 0));
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_tensor(&steps, STORAGE_INPUT, DTYPE_U64, 1, SIZES(2));
    bound_operand_t operands[2] = {x, x}, r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_BOOL, 1, SIZES(2));
    bound_step_t *step = steps_add(&steps, LAYER_BINARY, &r, 1, operands, 2);
    step_op(step, OP_LT);
    reason_t why;
    for (uint32_t i = 0; i < kernel_row_count; i++) assert_false(kernel_accepts(&kernel_rows[i], step, &why));
    steps_release(&steps);
}

static void test_binary_scalar_in_place(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_values(&steps, STORAGE_STATE, DTYPE_F32, 2, SIZES(2, 2), VALUES(1, 2, 3, 4));
    bound_step_t *step = steps_add(&steps, LAYER_BINARY, &x, 1, &x, 1);
    step_op(step, OP_SUB);
    step_int(step, ATTR_SCALAR, 10);
    step_int(step, ATTR_SCALAR_FIRST, 1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, x, 9, 8, 7, 6);
    /* bf16: 0.1 is rounded first for a sum, not for a product. */
    bound_operand_t half = steps_values(&steps, STORAGE_INPUT, DTYPE_BF16, 1, SIZES(1), VALUES(-0.0751953125));
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_BF16, 1, SIZES(1));
    step = steps_add(&steps, LAYER_BINARY, &r, 1, &half, 1);
    step_real(step, ATTR_SCALAR, 0.1);
    step_op(step, OP_ADD);
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, VALUES(0.02490234375), 1, 0);
    step_op(step, OP_MUL);
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, VALUES(-0.00750732421875), 1, 0);
    steps_release(&steps);
}

static void test_sources_and_moves(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I32, 1, SIZES(4));
    bound_step_t *step = steps_add(&steps, LAYER_IOTA, &r, 1, NULL, 0);
    step_int(step, ATTR_START, 5);
    step_int(step, ATTR_STEP, -2);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 5, 3, 1, -1);
    r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F16, 0, NULL);
    step_real(steps_add(&steps, LAYER_FILL, &r, 1, NULL, 0), ATTR_VALUE, 0.1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 0.0999755859375);
    /* A transposed operand, copied and reshaped. */
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 2, SIZES(2, 3), VALUES(0, 1, 2, 3, 4, 5));
    bound_operand_t t = x;
    t.sizes[0] = 3, t.sizes[1] = 2, t.strides[0] = 1, t.strides[1] = 3;
    r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 1, SIZES(6));
    steps_add(&steps, LAYER_COPY, &r, 1, &t, 1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 0, 3, 1, 4, 2, 5);
    bound_operand_t condition = steps_values(&steps, STORAGE_INPUT, DTYPE_BOOL, 1, SIZES(2), VALUES(1, 0));
    condition.rank = 2, condition.sizes[0] = 3, condition.sizes[1] = 2, condition.strides[0] = 0,
    condition.strides[1] = 1;
    bound_operand_t operands[] = {condition, t, t};
    operands[2].strides[0] = 0;
    r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 2, SIZES(3, 2));
    steps_add(&steps, LAYER_WHERE, &r, 1, operands, 3);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 0, 3, 1, 3, 2, 3);
    steps_release(&steps);
}

static void reduce_values(op_kind_t op, dtype_t to, uint32_t axis_count, const int64_t *axes, uint32_t rank,
                          const int64_t *sizes, int64_t count, const double *expected) {
    steps_t steps;
    steps_init(&steps);
    double values[24];
    for (int32_t i = 0; i < 24; i++) values[i] = i * 0.5 - 3;
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 3, SIZES(2, 3, 4), values);
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, to, rank, sizes);
    bound_step_t *step = steps_add(&steps, LAYER_REDUCE, &r, 1, &x, 1);
    step_op(step, op);
    step_int(step, ATTR_KEEPDIM, rank == 3);
    step_list(&steps, step, ATTR_AXES, axis_count, axes);
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, expected, count, 1e-6);
    steps_release(&steps);
}

static void test_reduce(void **unused) {
    (void)unused;
    reduce_values(OP_VAR, DTYPE_F32, 2, SIZES(0, 2), 1, SIZES(3), 3,
                  VALUES(10.6428571429, 10.6428571429, 10.6428571429));
    reduce_values(OP_MEAN, DTYPE_F32, 1, SIZES(1), 3, SIZES(2, 1, 4), 8, VALUES(-1, -0.5, 0, 0.5, 5, 5.5, 6, 6.5));
    reduce_values(OP_PROD, DTYPE_F32, 1, SIZES(2), 2, SIZES(2, 3), 6, VALUES(22.5, 0, 7.5, 189, 1072.5, 3570));
    reduce_values(OP_SUM, DTYPE_F32, 3, SIZES(0, 1, 2), 0, NULL, 1, VALUES(66));
    reduce_values(OP_AMIN, DTYPE_F32, 1, SIZES(0), 2, SIZES(3, 4), 12,
                  VALUES(-3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5));
    reduce_values(OP_ALL, DTYPE_BOOL, 1, SIZES(-1), 2, SIZES(2, 3), 6, VALUES(1, 0, 1, 1, 1, 1));
    reduce_values(OP_ARGMAX, DTYPE_I64, 2, SIZES(1, 2), 1, SIZES(2), 2, VALUES(11, 11));
}

static void test_reduce_corners(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(4), VALUES(1, NAN, 3, NAN));
    bound_operand_t r[] = {steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 0, NULL),
                           steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 0, NULL)};
    bound_step_t *step = steps_add(&steps, LAYER_REDUCE_INDEX, r, 2, &x, 1);
    step_op(step, OP_AMIN);
    step_int(step, ATTR_DIM, 0);
    step_int(step, ATTR_KEEPDIM, 0);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r[0], NAN);
    ASSERT_VALUES(&steps, r[1], 1);
    /* Short sums: (x0 + x4 + x5) + x1 + x2 + x3 in f32. */
    x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(6), VALUES(16777216, 1, 1, 1, 1, 2));
    step = steps_add(&steps, LAYER_REDUCE, r, 1, &x, 1);
    step_op(step, OP_SUM);
    step_int(step, ATTR_KEEPDIM, 0);
    step_list(&steps, step, ATTR_AXES, 1, SIZES(0));
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r[0], VALUES(16777220), 1, 0);
    bound_operand_t none = steps_tensor(&steps, STORAGE_INPUT, DTYPE_I32, 2, SIZES(2, 0));
    bound_operand_t sums = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 1, SIZES(2));
    step = steps_add(&steps, LAYER_REDUCE, &sums, 1, &none, 1);
    step_op(step, OP_SUM);
    step_int(step, ATTR_KEEPDIM, 0);
    step_list(&steps, step, ATTR_AXES, 1, SIZES(1));
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, sums, 0, 0);
    steps_release(&steps);
}

static void test_lines(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(2, 3), VALUES(0, 1, 2, 3, NAN, 5));
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 2, SIZES(2, 3));
    bound_step_t *step = steps_add(&steps, LAYER_SCAN, &r, 1, &x, 1);
    step_op(step, OP_CUMSUM);
    step_int(step, ATTR_DIM, 0);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 0, 1, 2, 3, NAN, 7);
    x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(3, 3),
                     VALUES(1, 2, 3, -INFINITY, -INFINITY, 0, -INFINITY, -INFINITY, -INFINITY));
    r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 2, SIZES(3, 3));
    step = steps_add(&steps, LAYER_SOFTMAX, &r, 1, &x, 1);
    step_int(step, ATTR_DIM, 1);
    step_int(step, ATTR_LOG, 0);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 0.0900305732, 0.2447284711, 0.6652409558, 0, 0, 1, NAN, NAN, NAN);
    x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(5), VALUES(1, NAN, 3, -INFINITY, 3));
    bound_operand_t sorted[] = {steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 1, SIZES(5)),
                                steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 1, SIZES(5))};
    step = steps_add(&steps, LAYER_SORT, sorted, 2, &x, 1);
    step_int(step, ATTR_DIM, 0);
    step_int(step, ATTR_DESCENDING, 1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, sorted[0], NAN, 3, 3, 1, -INFINITY);
    ASSERT_VALUES(&steps, sorted[1], 1, 2, 4, 0, 3);
    bound_operand_t top[] = {steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 1, SIZES(2)),
                             steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 1, SIZES(2))};
    step = steps_add(&steps, LAYER_TOPK, top, 2, &x, 1);
    step_int(step, ATTR_DIM, -1);
    step_int(step, ATTR_COUNT, 2);
    step_int(step, ATTR_DESCENDING, 0);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, top[0], -INFINITY, 1);
    ASSERT_VALUES(&steps, top[1], 3, 0);
    steps_release(&steps);
}

static void test_norms(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t operands[] = {
        steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(2, 4), VALUES(1, 2, 4, 8, -1, 0, 1, 3)),
        steps_values(&steps, STORAGE_WEIGHT, DTYPE_F32, 1, SIZES(4), VALUES(1, 2, 3, 4)),
        steps_values(&steps, STORAGE_WEIGHT, DTYPE_F32, 1, SIZES(4), VALUES(.5, 0, -.5, 1))};
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 2, SIZES(2, 4));
    bound_step_t *step = steps_add(&steps, LAYER_LAYER_NORM, &r, 1, operands, 3);
    step_int(step, ATTR_COUNT, 1);
    step_real(step, ATTR_EPS, 1e-5);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, -0.5257546, -1.3055060, -0.2202488, 7.3410277, -0.6832132, -1.0141828, 0.0070912,
                  7.0850965);
    step = steps_add(&steps, LAYER_RMS_NORM, &r, 1, operands, 2);
    step_int(step, ATTR_COUNT, 1);
    step_real(step, ATTR_EPS, 1e-6);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 0.2169305, 0.8677218, 2.6031655, 6.9417747, -0.6030226, 0, 1.8090677, 7.2362702);
    steps_release(&steps);
}

static void test_products(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    bound_operand_t a = steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 2, SIZES(2, 2), VALUES(1, 2, 3, 0x1p62));
    bound_operand_t b = steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 2, SIZES(2, 2), VALUES(1, 0, -1, 4));
    bound_operand_t operands[] = {a, b, steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 1, SIZES(2), VALUES(10, 0))};
    operands[0].strides[0] = 1, operands[0].strides[1] = 2; /* the transposed first */
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I64, 2, SIZES(2, 2));
    steps_add(&steps, LAYER_MATMUL, &r, 1, operands, 3);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 8, 12, 12 - 0x1p62, 0);
    /* GQA: two query heads read one key head; a row masked as a whole gives zeros. */
    bound_operand_t attention[] = {
        steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 4, SIZES(1, 2, 2, 2), VALUES(1, 0, 0, 1, 1, 1, 2, -1)),
        steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 4, SIZES(1, 1, 3, 2), VALUES(1, 2, 0, 1, -1, .5)),
        steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 4, SIZES(1, 1, 3, 1), VALUES(1, 2, 4)),
        steps_values(&steps, STORAGE_INPUT, DTYPE_BOOL, 4, SIZES(1, 2, 2, 3),
                     VALUES(1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0))};
    r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 4, SIZES(1, 2, 2, 1));
    for (int32_t i = 0; i < 3; i++) {
        bound_step_t *step = steps_add(&steps, LAYER_ATTENTION, &r, 1, attention, i == 2 ? 4 : 3);
        step_real(step, ATTR_SCALE, 0.5);
        step_int(step, ATTR_CAUSAL, i == 1);
        steps_run_reference(&steps);
        if (i == 0) ASSERT_VALUES(&steps, r, 1.8661672, 1.9734154, 1.5767841, 1.7744415);
        if (i == 1) ASSERT_VALUES(&steps, r, 1, 1.3775407, 1, 1.3775407);
        if (i == 2) ASSERT_VALUES(&steps, r, 1.8068243, 0, 1.4441416, 0);
    }
    steps_release(&steps);
}

static void conv_values(bool transposed, int64_t groups, uint32_t rank, const int64_t *padding, int64_t stride,
                        int64_t dilation, const bound_operand_t *operands, uint32_t operand_count, steps_t *steps,
                        const int64_t *sizes, const double *expected) {
    bound_operand_t r = steps_tensor(steps, STORAGE_OUTPUT, DTYPE_F32, rank + 2, sizes);
    bound_step_t *step = steps_add(steps, LAYER_CONV, &r, 1, operands, operand_count);
    step_int(step, ATTR_TRANSPOSED, transposed);
    step_int(step, ATTR_GROUPS, groups);
    step_list(steps, step, ATTR_PADDING, rank, padding);
    step_list(steps, step, ATTR_STRIDE, rank, SIZES(stride, stride));
    step_list(steps, step, ATTR_DILATION, rank, SIZES(dilation, dilation));
    steps_run_reference(steps);
    steps_assert_values(steps, &r, expected, operand_numel(&r), 1e-6);
}

static void test_conv(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    double count[18], small[12];
    for (int32_t i = 0; i < 18; i++) count[i] = i;
    bound_operand_t first[] = {
        steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 3, SIZES(1, 2, 8), count),
        steps_values(&steps, STORAGE_WEIGHT, DTYPE_F32, 3, SIZES(2, 1, 3), VALUES(1, 0, -1, .5, .5, .5)),
        steps_values(&steps, STORAGE_WEIGHT, DTYPE_F32, 1, SIZES(2), VALUES(1, -1))};
    conv_values(false, 2, 1, SIZES(1), 2, 2, first, 3, &steps, SIZES(1, 2, 3), VALUES(-2, -3, -3, 9, 15.5, 18.5));
    for (int32_t i = 0; i < 12; i++) small[i] = i - 5;
    bound_operand_t second[] = {steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 3, SIZES(1, 2, 4), count),
                                steps_values(&steps, STORAGE_WEIGHT, DTYPE_F32, 3, SIZES(2, 2, 3), small)};
    conv_values(true, 1, 1, SIZES(1), 2, 1, second, 2, &steps, SIZES(1, 2, 8),
                VALUES(8, 12, 6, 8, 4, 4, 2, 12, 20, 42, 24, 50, 28, 58, 32, 42));
    for (int32_t i = 0; i < 8; i++) small[i] = i - 3;
    bound_operand_t third[] = {steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 4, SIZES(1, 2, 3, 3), count),
                               steps_values(&steps, STORAGE_WEIGHT, DTYPE_F32, 4, SIZES(1, 2, 2, 2), small)};
    conv_values(false, 1, 2, SIZES(1, 0), 1, 1, third, 2, &steps, SIZES(1, 1, 4, 2),
                VALUES(67, 73, 112, 116, 124, 128, 15, 13));
    steps_release(&steps);
}

static void pool_values(op_kind_t op, int64_t kernel, int64_t padding, bool with_padding, int64_t count,
                        const double *values, const double *expected) {
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(1, count), values);
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 2, SIZES(1, 3));
    bound_step_t *step = steps_add(&steps, LAYER_POOL, &r, 1, &x, 1);
    step_op(step, op);
    step_int(step, ATTR_COUNT_PAD, with_padding);
    step_list(&steps, step, ATTR_KERNEL, 1, &kernel);
    step_list(&steps, step, ATTR_PADDING, 1, &padding);
    step_list(&steps, step, ATTR_STRIDE, 1, SIZES(2));
    step_list(&steps, step, ATTR_DILATION, 1, SIZES(1));
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, expected, 3, 1e-6);
    steps_release(&steps);
}

static void test_pool(void **unused) {
    (void)unused;
    const double x[] = {1, 5, 2, 4, 3};
    pool_values(OP_MAX_POOL, 2, 0, true, 5, x, VALUES(5, 4, 3));
    pool_values(OP_AVG_POOL, 3, 1, true, 5, x, VALUES(2, 3.6666667, 2.3333333));
    pool_values(OP_AVG_POOL, 3, 1, false, 5, x, VALUES(3, 3.6666667, 3.5));
    pool_values(OP_AVG_POOL, 3, 1, true, 4, x, VALUES(2, 3.6666667, 2));
}

static void pad_values(op_kind_t mode, int64_t before, int64_t after, int64_t count, const double *expected) {
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(4), VALUES(0, 1, 2, 3));
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 1, &count);
    bound_step_t *step = steps_add(&steps, LAYER_PAD, &r, 1, &x, 1);
    step_op(step, mode);
    step_list(&steps, step, ATTR_BEFORE, 1, &before);
    step_list(&steps, step, ATTR_AFTER, 1, &after);
    step_real(step, ATTR_VALUE, 9);
    steps_run_reference(&steps);
    steps_assert_values(&steps, &r, expected, count, 0);
    steps_release(&steps);
}

static void test_places(void **unused) {
    (void)unused;
    pad_values(OP_REFLECT_PAD, 2, 1, 7, VALUES(2, 1, 0, 1, 2, 3, 2));
    pad_values(OP_CIRCULAR_PAD, 2, 1, 7, VALUES(2, 3, 0, 1, 2, 3, 0));
    pad_values(OP_REPLICATE_PAD, 2, 1, 7, VALUES(0, 0, 0, 1, 2, 3, 3));
    pad_values(OP_CONSTANT_PAD, -1, 2, 5, VALUES(1, 2, 3, 9, 9));
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = steps_values(&steps, STORAGE_INPUT, DTYPE_I16, 2, SIZES(2, 3), VALUES(1, 2, 3, 4, 5, 6));
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_I16, 2, SIZES(2, 3));
    step_list(&steps, steps_add(&steps, LAYER_FLIP, &r, 1, &x, 1), ATTR_DIMS, 2, SIZES(0, -1));
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 6, 5, 4, 3, 2, 1);
    bound_step_t *step = steps_add(&steps, LAYER_TRIANGLE, &r, 1, &x, 1);
    step_op(step, OP_UPPER);
    step_int(step, ATTR_OFFSET, 1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 0, 2, 3, 0, 0, 6);
    steps_release(&steps);
}

static void test_index(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    double count[24];
    for (int32_t i = 0; i < 24; i++) count[i] = i;
    bound_operand_t operands[] = {steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 3, SIZES(2, 3, 4), count),
                                  steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 1, SIZES(2), VALUES(1, 0)),
                                  steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 1, SIZES(2), VALUES(3, -1)),
                                  steps_values(&steps, STORAGE_INPUT, DTYPE_I32, 2, SIZES(2, 1), VALUES(2, 0))};
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 2, SIZES(2, 3));
    bound_step_t *step = steps_add(&steps, LAYER_INDEX, &r, 1, operands, 3);
    step_list(&steps, step, ATTR_DIMS, 2, SIZES(0, 2));
    step_int(step, ATTR_WRAP, 1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 15, 19, 23, 3, 7, 11);
    r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 4, SIZES(2, 2, 1, 4));
    step = steps_add(&steps, LAYER_INDEX, &r, 1, (bound_operand_t[]){operands[0], operands[3]}, 2);
    step_list(&steps, step, ATTR_DIMS, 1, SIZES(1));
    step_int(step, ATTR_WRAP, 1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 8, 9, 10, 11, 0, 1, 2, 3, 20, 21, 22, 23, 12, 13, 14, 15);
    bound_operand_t gather[] = {steps_values(&steps, STORAGE_INPUT, DTYPE_U8, 2, SIZES(2, 3), count),
                                steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 2, SIZES(2, 2), VALUES(2, 0, 1, 1))};
    r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_U8, 2, SIZES(2, 2));
    step_int(steps_add(&steps, LAYER_GATHER, &r, 1, gather, 2), ATTR_DIM, 1);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, r, 2, 0, 4, 4);
    steps_release(&steps);
}

static void test_updates(void **unused) {
    (void)unused;
    steps_t steps;
    steps_init(&steps);
    const double zeros[12] = {0};
    bound_operand_t x = steps_values(&steps, STORAGE_STATE, DTYPE_F32, 3, SIZES(2, 3, 2), zeros);
    bound_operand_t source = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 3, SIZES(2, 3, 2),
                                          VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    bound_operand_t index = steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 1, SIZES(3), VALUES(1, -1, 1));
    for (int32_t accumulate = 0; accumulate < 2; accumulate++) {
        bound_step_t *step = steps_add(&steps, LAYER_INDEX_UPDATE, &x, 1, (bound_operand_t[]){x, source, index}, 3);
        step_list(&steps, step, ATTR_DIMS, 1, SIZES(1));
        step_int(step, ATTR_WRAP, 1);
        step_int(step, ATTR_ACCUMULATE, accumulate);
        steps_run_reference(&steps);
        if (!accumulate) ASSERT_VALUES(&steps, x, 0, 0, 5, 6, 3, 4, 0, 0, 11, 12, 9, 10);
    }
    ASSERT_VALUES(&steps, x, 0, 0, 11, 14, 6, 8, 0, 0, 29, 32, 18, 20);
    x = steps_values(&steps, STORAGE_STATE, DTYPE_F32, 2, SIZES(2, 3), zeros);
    source = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(2, 2), VALUES(1, 2, 3, 4));
    index = steps_values(&steps, STORAGE_INPUT, DTYPE_I64, 2, SIZES(2, 2), VALUES(0, 2, 1, 1));
    bound_step_t *step = steps_add(&steps, LAYER_SCATTER_UPDATE, &x, 1, (bound_operand_t[]){x, source, index}, 3);
    step_int(step, ATTR_DIM, 1);
    step_op(step, OP_ASSIGN);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, x, 1, 0, 2, 0, 4, 0);
    step_op(step, OP_UPDATE_ADD);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, x, 2, 0, 4, 0, 11, 0);
    bound_operand_t mask = steps_values(&steps, STORAGE_INPUT, DTYPE_BOOL, 2, SIZES(2, 3), VALUES(1, 1, 0, 0, 0, 1));
    source = steps_values(&steps, STORAGE_INPUT, DTYPE_F32, 2, SIZES(2, 3), VALUES(1, 2, 3, 4, 5, 6));
    steps_add(&steps, LAYER_MASK_UPDATE, &x, 1, (bound_operand_t[]){x, source, mask}, 3);
    steps_run_reference(&steps);
    ASSERT_VALUES(&steps, x, 1, 2, 4, 0, 11, 6);
    steps_release(&steps);
}

/* Along either dimension, with fewer, as many and more new elements than the tensor holds. */
static void test_shift(void **unused) {
    (void)unused;
    for (uint32_t dim = 0; dim < 2; dim++) {
        for (int64_t fresh = 0; fresh < 5; fresh++) {
            steps_t steps;
            steps_init(&steps);
            int64_t sizes[] = {3, 3};
            double old[9], fresh_values[15], expected[9];
            for (int32_t i = 0; i < 9; i++) old[i] = i;
            for (int32_t i = 0; i < 15; i++) fresh_values[i] = 100 + i;
            bound_operand_t x = steps_values(&steps, STORAGE_STATE, DTYPE_I32, 2, sizes, old);
            sizes[dim] = fresh;
            bound_operand_t source = steps_values(&steps, STORAGE_INPUT, DTYPE_I32, 2, sizes, fresh_values);
            for (int64_t i = 0; i < 3; i++) {
                for (int64_t k = 0; k < 3; k++) { /* line i along dim, element k of the last three of old and new */
                    int64_t at = k + fresh;
                    double value = dim ? (at < 3 ? old[3 * i + at] : fresh_values[fresh * i + at - 3])
                                       : (at < 3 ? old[3 * at + i] : fresh_values[3 * (at - 3) + i]);
                    expected[dim ? 3 * i + k : 3 * k + i] = value;
                }
            }
            bound_step_t *step = steps_add(&steps, LAYER_SHIFT_UPDATE, &x, 1, (bound_operand_t[]){x, source}, 2);
            step_int(step, ATTR_DIM, dim);
            steps_run_reference(&steps);
            steps_assert_values(&steps, &x, expected, 9, 0);
            steps_release(&steps);
        }
    }
}

/* Every layer kind that may reach a plan has a reference row, and it is the last of its layer. */
static void test_table(void **unused) {
    (void)unused;
    for (uint32_t kind = 0; kind < LAYER_KIND_COUNT; kind++) {
        const layer_info_t *info = layer_info_of((layer_kind_t)kind);
        bool absent = (info->traits & (TRAIT_VIEW | TRAIT_HOST | TRAIT_ASSEMBLE | TRAIT_PART | TRAIT_REGIONS)) &&
                      kind != LAYER_BITCAST;
        const kernel_row_t *last = NULL;
        for (uint32_t i = 0; i < kernel_row_count; i++)
            if (kernel_rows[i].layer == kind) last = &kernel_rows[i];
        if (absent != (last == NULL)) fail_msg("layer %s: kernel rows do not fit its traits", info->name);
        if (last && !kernel_is_reference(last)) fail_msg("layer %s: its last row is no reference", info->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_binary_ints),
        cmocka_unit_test(test_binary_floats),
        cmocka_unit_test(test_binary_rounding),
        cmocka_unit_test(test_scaled_sum),
        cmocka_unit_test(test_binary_wrapped_number),
        cmocka_unit_test(test_u64),
        cmocka_unit_test(test_binary_scalar_in_place),
        cmocka_unit_test(test_sources_and_moves),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_reduce_corners),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_conv),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
