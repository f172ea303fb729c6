/* A value has the same bits wherever it is put: each layer with dense operands, and with operands and results whose
 * elements lie apart or in another order. */
#include "steps.h"

#include <math.h>

enum { DENSE, APART, TURNED, LAYOUTS, MOST = 1024 };

/* An operand in memory of that layout: elements two apart along the last dimension, or dimensions in reverse order. */
static bound_operand_t laid_out(steps_t *steps, storage_kind_t kind, dtype_t type, uint32_t rank, const int64_t *sizes,
                                int32_t layout) {
    int64_t count = 2;
    for (uint32_t i = 0; i < rank; i++) count *= sizes[i];
    bound_operand_t operand = steps_tensor(steps, kind, type, 1, &count);
    operand.rank = rank;
    int64_t stride = layout == APART ? 2 : 1;
    for (uint32_t k = 0; k < rank; k++) {
        uint32_t i = layout == TURNED ? k : rank - 1 - k;
        operand.sizes[i] = sizes[i];
        operand.strides[i] = stride;
        stride *= sizes[i];
    }
    return operand;
}

static char *element(steps_t *steps, const bound_operand_t *operand, int64_t position) {
    int64_t at = 0;
    for (uint32_t i = operand->rank; i-- > 0; position /= operand->sizes[i])
        at += position % operand->sizes[i] * operand->strides[i];
    return (char *)steps_data(steps, operand) + at * (int64_t)dtype_size(operand->dtype);
}

static bound_operand_t numbers(steps_t *steps, dtype_t type, uint32_t rank, const int64_t *sizes, int32_t layout) {
    bound_operand_t operand = laid_out(steps, STORAGE_INPUT, type, rank, sizes, layout);
    uint32_t seed = 7 + rank;
    for (int64_t i = 0; i < operand_numel(&operand); i++) {
        seed = seed * 1664525 + 1013904223;
        element_store_double(type, element(steps, &operand, i), (double)(seed >> 8) / (double)(1 << 22) - 2);
    }
    return operand;
}

typedef struct layout_case {
    layer_kind_t layer;
    op_kind_t op; /* OP_COUNT: none */
    dtype_t type;
    uint32_t operands;
    int64_t axes; /* of a reduction, as bits */
} layout_case_t;

static void set_attributes(steps_t *steps, bound_step_t *step, const layout_case_t *test) {
    int64_t axes[3];
    uint32_t count = 0;
    for (int64_t i = 0; i < 3; i++)
        if (test->axes >> i & 1) axes[count++] = i;
    const struct {
        attr_id_t id;
        int64_t value;
    } ints[] = {{ATTR_KEEPDIM, 1}, {ATTR_DIM, 2}, {ATTR_COUNT, 1},
                {ATTR_CAUSAL, 0},  {ATTR_LOG, 0}, {ATTR_CORRECTION, 1}};
    for (uint32_t i = 0; i < COUNT_OF(ints); i++)
        if (layer_attr_index(test->layer, ints[i].id) != NONE) step_int(step, ints[i].id, ints[i].value);
    if (test->op != OP_COUNT) step_op(step, test->op);
    if (count) step_list(steps, step, ATTR_AXES, count, axes);
    if (layer_attr_index(test->layer, ATTR_EPS) != NONE) step_real(step, ATTR_EPS, 1e-5);
    if (layer_attr_index(test->layer, ATTR_SCALE) != NONE) step_real(step, ATTR_SCALE, 0.3);
}

/* Sizes of operand i, and of the result (i 4). */
static uint32_t sizes_of(const layout_case_t *test, uint32_t i, int64_t out[4]) {
    static const int64_t products[][4] = {{2, 3, 37}, {2, 37, 21}, {21}, {0}, {2, 3, 21}};
    static const int64_t attention[][4] = {{1, 4, 3, 18}, {1, 2, 70, 18}, {1, 2, 70, 21}, {1, 4, 3, 70}, {1, 4, 3, 21}};
    static const int64_t rows[4] = {3, 5, 37, 0};
    bool weight = (test->layer == LAYER_LAYER_NORM || test->layer == LAYER_RMS_NORM) && (i == 1 || i == 2);
    memcpy(out,
           test->layer == LAYER_MATMUL      ? products[i]
           : test->layer == LAYER_ATTENTION ? attention[i]
                                            : rows,
           4 * sizeof(int64_t));
    if (weight) out[0] = 37;
    for (uint32_t k = 0; i == 4 && k < 3; k++)
        if (test->axes >> k & 1) out[k] = 1;
    if (test->layer == LAYER_ATTENTION) return 4;
    return weight || (test->layer == LAYER_MATMUL && i == 2) ? 1 : 3;
}

/* layouts[i] of operand i; layouts[4] of the result */
static int64_t run_case(const layout_case_t *test, const int32_t layouts[5], float out[MOST]) {
    steps_t steps;
    steps_init(&steps);
    bound_operand_t operands[4];
    int64_t sizes[4];
    for (uint32_t i = 0; i < test->operands; i++) {
        uint32_t rank = sizes_of(test, i, sizes);
        operands[i] = numbers(&steps, test->type, rank, sizes, layouts[i]);
    }
    uint32_t rank = sizes_of(test, 4, sizes);
    bound_operand_t r = laid_out(&steps, STORAGE_OUTPUT, test->type, rank, sizes, layouts[4]);
    bound_step_t *step = steps_add(&steps, test->layer, &r, 1, operands, test->operands);
    set_attributes(&steps, step, test);
    assert_int_equal(steps_prepare(&steps, 2, NULL), INSITU_OK);
    assert_int_equal(steps_run(&steps, NULL), INSITU_OK);
    steps_assert_guards(&steps);
    int64_t count = operand_numel(&r);
    assert_true(count <= MOST);
    for (int64_t i = 0; i < count; i++) out[i] = (float)element_double(test->type, element(&steps, &r, i));
    steps_release(&steps);
    return count;
}

static void check_case(const layout_case_t *test) {
    float expected[MOST], found[MOST];
    int32_t layouts[5] = {DENSE, DENSE, DENSE, DENSE, DENSE};
    int64_t count = run_case(test, layouts, expected);
    for (uint32_t i = 0; i < 5; i++) {
        if (i >= test->operands && i != 4) continue;
        if (test->layer == LAYER_MATMUL && i == 1) continue; /* a weight's layout decides how it is read */
        for (int32_t layout = APART; layout < LAYOUTS; layout++) {
            layouts[i] = layout;
            (void)run_case(test, layouts, found);
            for (int64_t k = 0; k < count; k++) {
                if (isnan(expected[k]) ? isnan(found[k]) : memcmp(&expected[k], &found[k], sizeof(float)) == 0)
                    continue;
                fail_msg("%s %s %s: operand %u in layout %d: element %lld is %.9g, not %.9g",
                         layer_info_of(test->layer)->name, test->op == OP_COUNT ? "" : op_name(test->op),
                         dtype_name(test->type), i, layout, (long long)k, (double)found[k], (double)expected[k]);
            }
            layouts[i] = DENSE;
        }
    }
}

static const dtype_t types[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16};

static void test_unary(void **unused) {
    (void)unused;
    for (uint32_t k = 0; k < COUNT_OF(types); k++) {
        for (uint32_t op = 0; op < OP_COUNT; op++) {
            layout_case_t test = {LAYER_UNARY, (op_kind_t)op, types[k], 1, 0};
            bool gives_bool = op == OP_LOGICAL_NOT || op == OP_ISNAN || op == OP_ISINF || op == OP_ISFINITE;
            if (op_group_of((op_kind_t)op) == OPS_UNARY && !gives_bool && op != OP_BITWISE_NOT) check_case(&test);
        }
    }
}

static void test_rows(void **unused) {
    (void)unused;
    for (uint32_t k = 0; k < COUNT_OF(types); k++) {
        check_case(&(layout_case_t){LAYER_SOFTMAX, OP_COUNT, types[k], 1, 0});
        check_case(&(layout_case_t){LAYER_LAYER_NORM, OP_COUNT, types[k], 3, 0});
        check_case(&(layout_case_t){LAYER_LAYER_NORM, OP_COUNT, types[k], 1, 0});
        check_case(&(layout_case_t){LAYER_RMS_NORM, OP_COUNT, types[k], 2, 0});
    }
}

static void test_reductions(void **unused) {
    (void)unused;
    static const op_kind_t ops[] = {OP_SUM, OP_MEAN, OP_PROD, OP_VAR, OP_AMAX};
    for (uint32_t k = 0; k < COUNT_OF(types); k++)
        for (uint32_t i = 0; i < COUNT_OF(ops); i++)
            for (int64_t axes = 1; axes < 8; axes++)
                check_case(&(layout_case_t){LAYER_REDUCE, ops[i], types[k], 1, axes});
}

static void test_products(void **unused) {
    (void)unused;
    for (uint32_t k = 0; k < COUNT_OF(types); k++) {
        check_case(&(layout_case_t){LAYER_MATMUL, OP_COUNT, types[k], 2, 0});
        check_case(&(layout_case_t){LAYER_MATMUL, OP_COUNT, types[k], 3, 0});
        check_case(&(layout_case_t){LAYER_ATTENTION, OP_COUNT, types[k], 3, 0});
        check_case(&(layout_case_t){LAYER_ATTENTION, OP_COUNT, types[k], 4, 0});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
