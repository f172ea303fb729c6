/* Layers that may work in their operand's place (TRAIT_REPLACE): every row of theirs gives there the bits that it gives
 * elsewhere; dense and strided places of ranks 1 to 4, sizes from 0 on, any dimension, on one to four threads. */
#include "steps.h"

enum { CASES = 6000 };

static uint32_t seed = 5;
static uint32_t below(uint32_t limit) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

static op_kind_t op_for(layer_kind_t kind) {
    static const op_kind_t scans[] = {OP_CUMSUM, OP_CUMPROD, OP_CUMMAX, OP_CUMMIN};
    if (kind == LAYER_SCAN) return scans[below(COUNT_OF(scans))];
    return below(2) ? OP_LOWER : OP_UPPER;
}

static void add_attrs(steps_t *steps, bound_step_t *step, layer_kind_t kind, uint32_t rank) {
    uint32_t dim = below(rank);
    if (layer_attr_index(kind, ATTR_DIM) != NONE) step_int(step, ATTR_DIM, dim);
    if (layer_attr_index(kind, ATTR_OP) != NONE) step_op(step, op_for(kind));
    if (layer_attr_index(kind, ATTR_LOG) != NONE) step_int(step, ATTR_LOG, below(2));
    if (layer_attr_index(kind, ATTR_DESCENDING) != NONE) step_int(step, ATTR_DESCENDING, below(2));
    if (layer_attr_index(kind, ATTR_OFFSET) != NONE) step_int(step, ATTR_OFFSET, (int64_t)below(5) - 2);
    if (layer_attr_index(kind, ATTR_DIMS) != NONE)
        step_list(steps, step, ATTR_DIMS, rank > 1 ? 1 + below(2) : 1, SIZES(dim, (dim + 1) % rank));
}

/* The same numbers twice: once the result lies elsewhere, once in the operand's place. */
static void one_case(const kernel_row_t *row, dtype_t type, uint32_t threads) {
    const uint32_t least = row->layer == LAYER_TRIANGLE ? 2 : 1, rank = least + below(5 - least), state = seed;
    const uint32_t results = layer_info_of(row->layer)->results, way = below(2);
    int64_t sizes[4], kept;
    for (uint32_t i = 0; i < rank; i++) sizes[i] = below(12) ? 1 + below(i + 1 == rank ? 40 : 6) : 0;
    double *numbers[2] = {NULL, NULL};
    for (uint32_t in_place = 0; in_place < 2; in_place++) {
        steps_t steps;
        steps_init(&steps);
        seed = state + 77;
        bound_operand_t x = steps_tensor(&steps, STORAGE_STATE, type, rank, sizes), result[2];
        for (int64_t i = 0, count = operand_numel(&x); i < count; i++) {
            char *at = (char *)steps_data(&steps, &x) + i * (int64_t)dtype_size(type);
            if (dtype_is_float(type))
                element_store_double(type, at, (double)below(64) / 16 - 2);
            else
                element_store_int(type, at, below(3));
        }
        for (uint32_t i = 0; way && i + 1 < rank; i++) { /* another order of dimensions */
            int64_t size = x.sizes[i], stride = x.strides[i];
            x.sizes[i] = x.sizes[rank - 1], x.strides[i] = x.strides[rank - 1];
            x.sizes[rank - 1] = size, x.strides[rank - 1] = stride;
        }
        result[0] = in_place ? x : steps_tensor(&steps, STORAGE_ARENA, type, rank, x.sizes);
        result[1] = steps_tensor(&steps, STORAGE_ARENA, DTYPE_I64, rank, x.sizes);
        bound_step_t *step = steps_add(&steps, row->layer, result, results, &x, 1);
        add_attrs(&steps, step, row->layer, rank);
        reason_t why;
        kept = kernel_accepts(row, step, &why) ? operand_numel(&x) : 0;
        if (kept) assert_true(step_run_row(&steps, step, row, threads));
        steps_assert_guards(&steps);
        numbers[in_place] = memory_alloc((size_t)(kept * results + 1) * sizeof(double));
        assert_non_null(numbers[in_place]);
        for (int64_t i = 0; i < kept * results; i++)
            numbers[in_place][i] = steps_get(&steps, &result[i / kept], i % kept);
        steps_release(&steps);
    }
    assert_memory_equal(numbers[0], numbers[1], (size_t)(kept * results) * sizeof(double));
    memory_free(numbers[0]);
    memory_free(numbers[1]);
}

static void test_own_place(void **unused) {
    (void)unused;
    static const dtype_t types[] = {DTYPE_F32, DTYPE_I64, DTYPE_BF16, DTYPE_F64, DTYPE_U8, DTYPE_BOOL};
    for (uint32_t i = 0; i < kernel_row_count; i++) {
        const kernel_row_t *row = &kernel_rows[i];
        if (!kind_has(row->layer, TRAIT_REPLACE) || !isa_present(row->isa)) continue;
        for (uint32_t n = 0; n < CASES / 10; n++) one_case(row, types[n % COUNT_OF(types)], 1 + n / 6 % 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_own_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
