/* Every row of kernels.def that is no reference against the reference: random and extreme values, tails, strided
 * operands, guard bytes; the same bits on one, two and three threads; within the tolerance of the table. */
#include "steps.h"

#include <math.h>

static bool visited[256]; /* rows that some case ran */

static uint32_t seed = 7;
static float random_float(void) {
    seed = seed * 1664525 + 1013904223;
    return (float)(seed >> 8) / (float)(1 << 23) - 1;
}

typedef enum filling { RANDOM, EXTREME } filling_t;
static bound_operand_t filled(steps_t *steps, storage_kind_t kind, uint32_t rank, const int64_t *sizes,
                              filling_t filling) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e-40F, -1e-40F, 0, -0.F, 88.9F, -104, 3e38F, -3e38F, 1e-30F};
    bound_operand_t operand = steps_tensor(steps, kind, DTYPE_F32, rank, sizes);
    float *data = steps_data(steps, &operand);
    for (int64_t i = 0; i < operand_numel(&operand); i++) {
        data[i] = 2 * random_float();
        if (filling == EXTREME && seed >> 20 & 1) data[i] = odd[(seed >> 10) % COUNT_OF(odd)];
    }
    return operand;
}

static void swap_dimensions(bound_operand_t *operand, uint32_t a, uint32_t b) {
    int64_t size = operand->sizes[a], stride = operand->strides[a];
    operand->sizes[a] = operand->sizes[b], operand->strides[a] = operand->strides[b];
    operand->sizes[b] = size, operand->strides[b] = stride;
}

/* Differences are measured against the largest finite magnitude of the reference's result. */
static void compare(const kernel_row_t *row, const float *expected, const float *found, int64_t count) {
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(expected[i]) && fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);
    for (int64_t i = 0; i < count; i++) {
        if (isnan(expected[i]) ? isnan(found[i]) : expected[i] == found[i]) continue;
        if (row->tolerance == 0 || !(fabs((double)found[i] - (double)expected[i]) <= row->tolerance * largest))
            fail_msg("%s %s (%s): element %lld is %.9g, not %.9g", layer_info_of(row->layer)->name, row->name,
                     isa_name(row->isa), (long long)i, (double)found[i], (double)expected[i]);
    }
}

/* Runs the last step by each row that takes it. */
static void check_rows(steps_t *steps) {
    const bound_step_t *step = &steps->bound_steps[steps->bound.step_count - 1];
    const bound_operand_t *result = &step->results[0];
    size_t bytes = steps->storage_bytes[result->storage];
    char *memory = steps->bases[result->storage];
    char *expected = memory_alloc(bytes), *first = memory_alloc(bytes);
    assert_true(expected && first);
    memset(memory, 0xa5, bytes);
    assert_true(step_run_row(steps, step, step_reference(step), 1));
    memcpy(expected, memory, bytes);
    for (uint32_t i = 0; i < kernel_row_count; i++) {
        const kernel_row_t *row = &kernel_rows[i];
        reason_t why;
        if (kernel_is_reference(row) || !kernel_accepts(row, step, &why)) continue;
        bool own = row->maker->make == NULL; /* a library's bits may depend on the number of threads */
        bool taken = true;
        for (uint32_t threads = 1; threads <= 3 && taken; threads++) {
            memset(memory, 0xa5, bytes);
            taken = step_run_row(steps, step, row, threads);
            steps_assert_guards(steps);
            if (threads == 1) memcpy(first, memory, bytes);
            if (own) assert_memory_equal(first, memory, bytes);
        }
        if (!taken) continue;
        visited[i] = true;
        compare(row, (const float *)(const void *)expected, (const float *)(const void *)memory,
                (int64_t)(bytes / sizeof(float)));
    }
    memory_free(expected);
    memory_free(first);
}

static const int64_t lengths[] = {0, 1, 3, 15, 16, 17, 33, 64, 129};

/* A result with a gap between its rows. */
static bound_operand_t gapped(steps_t *steps, int64_t rows, int64_t columns) {
    bound_operand_t operand = steps_tensor(steps, STORAGE_OUTPUT, DTYPE_F32, 2, SIZES(rows, columns + 3));
    operand.sizes[1] = columns;
    return operand;
}

static void test_unary(void **unused) {
    (void)unused;
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        if (op_group_of((op_kind_t)op) != OPS_UNARY || op == OP_LOGICAL_NOT || op == OP_BITWISE_NOT || op == OP_ISNAN ||
            op == OP_ISINF || op == OP_ISFINITE)
            continue;
        for (uint32_t i = 0; i < 2 * COUNT_OF(lengths); i++) {
            steps_t steps;
            steps_init(&steps);
            int64_t sizes[] = {3, lengths[i / 2]};
            bound_operand_t x = filled(&steps, STORAGE_INPUT, 2, sizes, i % 2 ? EXTREME : RANDOM);
            bound_operand_t r = gapped(&steps, sizes[0], sizes[1]);
            step_op(steps_add(&steps, LAYER_UNARY, &r, 1, &x, 1), (op_kind_t)op);
            check_rows(&steps);
            steps_release(&steps);
        }
    }
}

/* The vector functions over their whole range, element by element: a relative bound. */
static void test_unary_accuracy(void **unused) {
    (void)unused;
    static const op_kind_t ops[] = {OP_EXP, OP_TANH, OP_SIGMOID, OP_SILU, OP_RSQRT};
    enum { COUNT = 20001 };
    for (uint32_t k = 0; k < COUNT_OF(ops); k++) {
        steps_t steps;
        steps_init(&steps);
        bound_operand_t x = steps_tensor(&steps, STORAGE_INPUT, DTYPE_F32, 1, SIZES(COUNT));
        bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 1, SIZES(COUNT));
        float *from = steps_data(&steps, &x), *to = steps_data(&steps, &r);
        for (int32_t i = 0; i < COUNT; i++) from[i] = (float)(i - COUNT / 2) * (174.F / (float)COUNT);
        step_op(steps_add(&steps, LAYER_UNARY, &r, 1, &x, 1), ops[k]);
        float *expected = memory_alloc(COUNT * sizeof(float));
        assert_non_null(expected);
        steps_run_reference(&steps);
        memcpy(expected, to, COUNT * sizeof(float));
        for (uint32_t i = 0; i < kernel_row_count; i++) {
            reason_t why;
            if (kernel_is_reference(&kernel_rows[i]) || !kernel_accepts(&kernel_rows[i], steps.bound_steps, &why))
                continue;
            assert_true(step_run_row(&steps, steps.bound_steps, &kernel_rows[i], 1));
            for (int32_t n = 0; n < COUNT; n++) {
                if (isnan(expected[n]) ? isnan(to[n]) : expected[n] == to[n]) continue;
                if (!(fabs((double)to[n] - (double)expected[n]) <= 4e-7 * fabs((double)expected[n]) + 1e-37))
                    fail_msg("%s(%.9g) is %.9g, not %.9g (%s)", op_name(ops[k]), (double)from[n], (double)to[n],
                             (double)expected[n], isa_name(kernel_rows[i].isa));
            }
        }
        memory_free(expected);
        steps_release(&steps);
    }
}

static void binary_case(op_kind_t op, int64_t columns, filling_t filling, uint32_t form) {
    steps_t steps;
    steps_init(&steps);
    int64_t sizes[] = {3, columns};
    bound_operand_t operands[] = {filled(&steps, STORAGE_INPUT, 2, sizes, filling),
                                  filled(&steps, STORAGE_INPUT, 2, sizes, filling)};
    if (form == 1) operands[1].strides[0] = 0; /* one row for all */
    if (form == 2) operands[0].strides[1] = 0; /* one column for all */
    bound_operand_t r = gapped(&steps, sizes[0], sizes[1]);
    bound_step_t *step = steps_add(&steps, LAYER_BINARY, &r, 1, operands, form < 3 ? 2 : 1);
    step_op(step, op);
    if (form >= 3) step_real(step, ATTR_SCALAR, op == OP_POW ? 2 : 0.7);
    if (form >= 3) step_int(step, ATTR_SCALAR_FIRST, form == 4);
    check_rows(&steps);
    steps_release(&steps);
}

static void test_binary(void **unused) {
    (void)unused;
    static const op_kind_t ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAXIMUM, OP_MINIMUM, OP_POW};
    for (uint32_t op = 0; op < COUNT_OF(ops); op++)
        for (uint32_t i = 0; i < COUNT_OF(lengths); i++)
            for (uint32_t form = 0; form < 5; form++) {
                binary_case(ops[op], lengths[i], RANDOM, form);
                binary_case(ops[op], lengths[i], EXTREME, form);
            }
}

static void test_where(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < COUNT_OF(lengths); i++) {
        steps_t steps;
        steps_init(&steps);
        int64_t sizes[] = {3, lengths[i]};
        bound_operand_t operands[] = {steps_tensor(&steps, STORAGE_INPUT, DTYPE_BOOL, 2, sizes),
                                      filled(&steps, STORAGE_INPUT, 2, sizes, EXTREME),
                                      filled(&steps, STORAGE_INPUT, 2, sizes, RANDOM)};
        char *condition = steps_data(&steps, &operands[0]);
        for (int64_t k = 0; k < 3 * lengths[i]; k++) condition[k] = random_float() > 0;
        operands[2].strides[0] = operands[2].strides[1] = 0;
        bound_operand_t r = gapped(&steps, sizes[0], sizes[1]);
        steps_add(&steps, LAYER_WHERE, &r, 1, operands, 3);
        check_rows(&steps);
        steps_release(&steps);
    }
}

static void test_rows_of_numbers(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < 2 * COUNT_OF(lengths); i++) {
        int64_t sizes[] = {4, lengths[i / 2]};
        filling_t filling = i % 2 ? EXTREME : RANDOM;
        steps_t steps;
        steps_init(&steps);
        bound_operand_t operands[] = {filled(&steps, STORAGE_INPUT, 2, sizes, filling),
                                      filled(&steps, STORAGE_WEIGHT, 1, sizes + 1, RANDOM),
                                      filled(&steps, STORAGE_WEIGHT, 1, sizes + 1, RANDOM)};
        bound_operand_t r = gapped(&steps, sizes[0], sizes[1]);
        bound_step_t *step = steps_add(&steps, LAYER_SOFTMAX, &r, 1, operands, 1);
        step_int(step, ATTR_DIM, -1);
        step_int(step, ATTR_LOG, 0);
        check_rows(&steps);
        /* Squares of extreme values overflow in f32, as they do in PyTorch, and not in the reference. */
        for (uint32_t count = 1; count <= 2 && filling == RANDOM; count++) {
            step = steps_add(&steps, LAYER_RMS_NORM, &r, 1, operands, count);
            step_int(step, ATTR_COUNT, 1);
            step_real(step, ATTR_EPS, 1e-5);
            check_rows(&steps);
        }
        for (uint32_t count = 1; count <= 3 && filling == RANDOM; count++) {
            step = steps_add(&steps, LAYER_LAYER_NORM, &r, 1, operands, count);
            step_int(step, ATTR_COUNT, 1);
            step_real(step, ATTR_EPS, 1e-5);
            check_rows(&steps);
        }
        steps_release(&steps);
    }
}

static void matmul_case(int64_t m, int64_t n, int64_t k, uint32_t form) {
    steps_t steps;
    steps_init(&steps);
    int64_t batch = form & 4 ? 2 : 1;
    bool columns = form & 1, turned = form & 8;
    bound_operand_t operands[] = {
        filled(&steps, STORAGE_INPUT, 3, turned ? SIZES(batch, k, m) : SIZES(batch, m, k), RANDOM),
        filled(&steps, STORAGE_WEIGHT, 3, columns ? SIZES(batch, n, k) : SIZES(batch, k, n), RANDOM),
        filled(&steps, STORAGE_WEIGHT, 1, &n, RANDOM)};
    if (turned) swap_dimensions(&operands[0], 1, 2);
    if (columns) swap_dimensions(&operands[1], 1, 2);
    if (batch == 2) operands[1].strides[0] = 0;
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 3, SIZES(batch, m, n + 1));
    r.sizes[2] = n;
    steps_add(&steps, LAYER_MATMUL, &r, 1, operands, form & 2 ? 3 : 2);
    check_rows(&steps);
    steps_release(&steps);
}

static void test_matmul(void **unused) {
    (void)unused;
    static const int64_t rows[] = {0, 1, 2, 5, 16, 17, 100}, columns[] = {0, 1, 6, 16, 65, 131};
    static const int64_t depths[] = {0, 1, 7, 16, 33, 300};
    uint32_t form = 0;
    for (uint32_t m = 0; m < COUNT_OF(rows); m++)
        for (uint32_t n = 0; n < COUNT_OF(columns); n++)
            for (uint32_t k = 0; k < COUNT_OF(depths); k++)
                for (uint32_t i = 0; i < 4; i++) {
                    matmul_case(rows[m], columns[n], depths[k], form % 16);
                    form += 5;
                }
}

static void conv_case(uint32_t spatial, int64_t groups, int64_t stride, int64_t dilation, bool transposed) {
    steps_t steps;
    steps_init(&steps);
    int64_t in = 4, out = 6, length = 9, kernel = 3, padding = 1, taps = dilation * (kernel - 1) + 1;
    int64_t result =
        transposed ? (length - 1) * stride - 2 * padding + taps : (length + 2 * padding - taps) / stride + 1;
    int64_t x[5] = {2, in}, w[5] = {transposed ? in : out, (transposed ? out : in) / groups}, r[5] = {2, out};
    for (uint32_t i = 2; i < spatial + 2; i++) x[i] = length, w[i] = kernel, r[i] = result;
    bound_operand_t operands[] = {filled(&steps, STORAGE_INPUT, spatial + 2, x, RANDOM),
                                  filled(&steps, STORAGE_WEIGHT, spatial + 2, w, RANDOM),
                                  filled(&steps, STORAGE_WEIGHT, 1, &out, RANDOM)};
    bound_operand_t to = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, spatial + 2, r);
    bound_step_t *step = steps_add(&steps, LAYER_CONV, &to, 1, operands, stride == 1 ? 2 : 3);
    step_int(step, ATTR_TRANSPOSED, transposed);
    step_int(step, ATTR_GROUPS, groups);
    step_list(&steps, step, ATTR_PADDING, spatial, SIZES(padding, padding, padding));
    step_list(&steps, step, ATTR_STRIDE, spatial, SIZES(stride, stride, stride));
    step_list(&steps, step, ATTR_DILATION, spatial, SIZES(dilation, dilation, dilation));
    check_rows(&steps);
    steps_release(&steps);
}

static void test_conv(void **unused) {
    (void)unused;
    for (uint32_t spatial = 1; spatial <= 2; spatial++)
        for (int64_t groups = 1; groups <= 2; groups++)
            for (int64_t stride = 1; stride <= 2; stride++)
                for (int64_t dilation = 1; dilation <= 2; dilation++) {
                    conv_case(spatial, groups, stride, dilation, false);
                    conv_case(spatial, groups, stride, dilation, true);
                }
}

static bound_operand_t random_mask(steps_t *steps, dtype_t type, const int64_t *sizes) {
    bound_operand_t mask = steps_tensor(steps, STORAGE_INPUT, type, 4, sizes);
    char *data = steps_data(steps, &mask);
    for (int64_t i = 0; i < operand_numel(&mask); i++) {
        bool kept = i < sizes[3] ? false : random_float() > -0.5F; /* the first row is masked as a whole */
        float added = kept ? random_float() : -INFINITY;
        if (type == DTYPE_BOOL)
            data[i] = kept;
        else
            memcpy(data + i * 4, &added, sizeof(added));
    }
    return mask;
}

static void attention_case(int64_t group, int64_t rows, int64_t keys, int64_t depth, uint32_t form) {
    steps_t steps;
    steps_init(&steps);
    int64_t heads = 2 * group;
    bound_operand_t operands[4] = {filled(&steps, STORAGE_INPUT, 4, SIZES(2, rows, heads, depth), RANDOM),
                                   filled(&steps, STORAGE_STATE, 4, SIZES(2, 2, keys + 3, depth), RANDOM),
                                   filled(&steps, STORAGE_STATE, 4, SIZES(2, 2, keys + 3, depth + 2), RANDOM)};
    swap_dimensions(&operands[0], 1, 2); /* as projections give it: (B,T,H,D) */
    operands[1].sizes[2] = operands[2].sizes[2] = keys;
    if (form == 1) operands[3] = random_mask(&steps, DTYPE_BOOL, SIZES(2, heads, rows, keys));
    if (form == 2) operands[3] = random_mask(&steps, DTYPE_F32, SIZES(2, heads, rows, keys));
    bound_operand_t r = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 4, SIZES(2, rows, heads, depth + 2));
    swap_dimensions(&r, 1, 2);
    bound_step_t *step = steps_add(&steps, LAYER_ATTENTION, &r, 1, operands, form == 1 || form == 2 ? 4 : 3);
    step_real(step, ATTR_SCALE, 0.3);
    step_int(step, ATTR_CAUSAL, form == 3);
    check_rows(&steps);
    steps_release(&steps);
}

static void test_attention(void **unused) {
    (void)unused;
    static const int64_t keys[] = {0, 1, 63, 64, 65, 130}, depths[] = {1, 8, 20, 64};
    for (uint32_t s = 0; s < COUNT_OF(keys); s++)
        for (uint32_t d = 0; d < COUNT_OF(depths); d++)
            for (uint32_t form = 0; form < 4; form++) {
                attention_case(1, 3, keys[s], depths[d], form);
                attention_case(4, 1, keys[s], depths[d], form);
            }
}

/* False if the library of the row isn't installed: it declines any product. */
static bool has_library(const kernel_row_t *row) {
    steps_t steps;
    steps_init(&steps);
    bound_operand_t x = filled(&steps, STORAGE_INPUT, 3, SIZES(1, 4, 4), RANDOM);
    bound_operand_t to = steps_tensor(&steps, STORAGE_OUTPUT, DTYPE_F32, 3, SIZES(1, 4, 4));
    const bound_step_t *step = steps_add(&steps, LAYER_MATMUL, &to, 1, (bound_operand_t[]){x, x}, 2);
    bool present = false;
    for (uint32_t i = 0; i < kernel_row_count; i++)
        if (kernel_rows[i].layer == LAYER_MATMUL && strcmp(kernel_rows[i].name, row->name) == 0)
            present |= step_run_row(&steps, step, &kernel_rows[i], 1);
    steps_release(&steps);
    return present;
}

static void test_every_row_was_visited(void **unused) {
    (void)unused;
    assert_true(kernel_row_count <= COUNT_OF(visited));
    for (uint32_t i = 0; i < kernel_row_count; i++) {
        const kernel_row_t *row = &kernel_rows[i];
        if (row->maker->make && !has_library(row)) continue;
        if (!kernel_is_reference(row) && isa_present(row->isa) && !visited[i])
            fail_msg("no case ran the row %s %s (%s)", layer_info_of(row->layer)->name, row->name, isa_name(row->isa));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_unary_accuracy),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_rows_of_numbers),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_conv),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_every_row_was_visited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
