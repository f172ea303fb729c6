/* Shapes and tensor types: strides, comparison, broadcasting, text. */
#include "unit_test.h"

#include "core/core.h"
#include <string.h>

static int setup(void **state) {
    static sym_pool_t pool;
    assert_int_equal(sym_pool_init(&pool), INSITU_OK);
    sym_add_symbol(&pool, "s0", SYM_KIND_INT, 2, 100);
    sym_add_symbol(&pool, "u0", SYM_KIND_INT, 0, 100);
    *state = &pool;
    return 0;
}

static int teardown(void **state) {
    sym_pool_release(*state);
    return 0;
}

static tensor_type_t parse_type(sym_pool_t *pool, const char *source) {
    insitu_diag diag = {.struct_size = sizeof diag};
    const char *cursor = source;
    tensor_type_t type;
    if (type_parse(pool, &cursor, &type, &diag) != INSITU_OK) fail_msg("%s: %s", source, diag.message);
    if (*cursor) fail_msg("%s: stopped at '%s'", source, cursor);
    return type;
}

static shape_t parse_shape(sym_pool_t *pool, const char *source) {
    insitu_diag diag = {.struct_size = sizeof diag};
    const char *cursor = source;
    shape_t result;
    if (shape_parse(pool, &cursor, &result, &diag) != INSITU_OK) fail_msg("%s: %s", source, diag.message);
    assert_string_equal(cursor, "");
    return result;
}

static void prints(sym_pool_t *pool, const char *source, const char *expected) {
    text_t out;
    text_init(&out);
    tensor_type_t type = parse_type(pool, source);
    type_print(pool, &type, &out);
    assert_string_equal(out.data, expected);
    tensor_type_t again = parse_type(pool, out.data);
    assert_memory_equal(&again, &type, sizeof type);
    text_release(&out);
}

static void test_types(void **state) {
    sym_pool_t *pool = *state;
    prints(pool, "f32[]", "f32[]");
    prints(pool, "f32[3,2]", "f32[3,2]");
    prints(pool, "f32[3,2]{2,1}", "f32[3,2]");
    prints(pool, "f32[3, 2]{1, 3}+1", "f32[3,2]{1,3}+1");
    prints(pool, "f32[4]+(4*-1)", "f32[4]+(-4)"); /* no such tensor exists, which the verifiers say */
    prints(pool, "f32[4]+(2 - 2)", "f32[4]");
    prints(pool, "f32[1,2]{7,1}", "f32[1,2]{7,1}"); /* printed exactly, size 1 or not */
    prints(pool, "bf16[2,0,3]{3,3,1}", "bf16[2,0,3]");
    prints(pool, "bf16[2,0,3]{0,3,1}", "bf16[2,0,3]{0,3,1}");
    prints(pool, "i64[1,s0 + 1,u0]", "i64[1,s0 + 1,u0]");
    prints(pool, "i64[4,u0,8]{8*max(1, u0),8,1}", "i64[4,u0,8]");
    prints(pool, "i64[4,u0,8]{8*u0,8,1}", "i64[4,u0,8]{8*u0,8,1}");
    prints(pool, "i64[4,s0,8]{8*s0,8,1}", "i64[4,s0,8]");
    prints(pool, "f8e4m3fn[4]+u0", "f8e4m3fn[4]+u0");
    prints(pool, "bool[4]+(4*s0 + 4)", "bool[4]+(4*s0 + 4)");
}

static void test_printing_adds_nothing(void **state) {
    sym_pool_t *pool = *state;
    tensor_type_t type = parse_type(pool, "i64[4,u0,8]{3,2,1}+(u0 + 7)");
    uint32_t nodes = pool->node_count, symbols = pool->symbol_count;
    type.shape.sizes[2] = sym_of_symbol(pool, 0);
    nodes = pool->node_count;
    text_t out;
    text_init(&out);
    type_print(pool, &type, &out);
    assert_string_equal(out.data, "i64[4,u0,s0]{3,2,1}+(u0 + 7)");
    assert_int_equal(pool->node_count, nodes);
    assert_int_equal(pool->symbol_count, symbols);
    text_release(&out);
}

static void test_bad_text(void **state) {
    sym_pool_t *pool = *state;
    static const char *const rows[] = {
        "",         "f32",         "f33[2]",   "f32[",    "f32[2",     "f32[2,]",  "f32[,2]",
        "f32[2]{1", "f32[2]{1,1}", "f32[2]{}", "f32[2]+", "f32[2]+(1", "f32[2 3]", "f32[1,1,1,1,1,1,1,1,1,1,1,1,1]",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *cursor = rows[i];
        tensor_type_t type;
        if (type_parse(pool, &cursor, &type, NULL) != INSITU_FORMAT) fail_msg("accepted: %s", rows[i]);
    }
}

static void test_strides(void **state) {
    sym_pool_t *pool = *state;
    tensor_type_t type = parse_type(pool, "f32[2,1,3]{3,77,1}");
    assert_true(type_is_dense(pool, &type));
    type = parse_type(pool, "f32[2,1,3]{4,3,1}");
    assert_false(type_is_dense(pool, &type));
    type = parse_type(pool, "f32[s0,4]{4,1}");
    assert_true(type_is_dense(pool, &type));
    shape_t shape = parse_shape(pool, "[s0 + 1,4]");
    assert_int_equal(shape_numel(pool, &shape).id, sym_mul(pool, sym_int(pool, 4), shape.sizes[0]).id);
    shape = parse_shape(pool, "[]");
    assert_int_equal(shape_numel(pool, &shape).id, 1);
}

static void test_comparison(void **state) {
    sym_pool_t *pool = *state;
    static const struct {
        const char *a, *b;
        truth_t equal;
    } rows[] = {
        {"[2,s0]", "[2,s0]", TRUTH_TRUE}, {"[2]", "[2,1]", TRUTH_FALSE},    {"[u0]", "[3]", TRUTH_UNKNOWN},
        {"[u0]", "[101]", TRUTH_FALSE},   {"[u0,2]", "[3,3]", TRUTH_FALSE}, {"[2*s0 - s0]", "[s0]", TRUTH_TRUE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        shape_t a = parse_shape(pool, rows[i].a), b = parse_shape(pool, rows[i].b);
        assert_int_equal(shape_equal(pool, &a, &b), rows[i].equal);
        assert_int_equal(shape_same(&a, &b), rows[i].equal == TRUTH_TRUE);
    }
}

static void test_types_alike(void **state) {
    static const struct {
        const char *a, *b;
        bool same, same_elements;
    } rows[] = {
        {"f32[3,2]", "f32[3,2]", true, true},
        {"f32[3,2]", "f32[3,2]{2,1}", true, true},
        {"f32[3,2]", "f16[3,2]", false, false},
        {"f32[3,2]", "f32[3,2]+1", false, false},
        {"f32[3,2]", "f32[3,2]{1,3}", false, false},
        {"f32[1,2]", "f32[1,2]{7,1}", false, true}, /* strides of one element are never taken */
        {"f32[s0,1]", "f32[s0,1]{1,5}", false, true},
        {"f32[s0,2]", "f32[u0,2]", false, false},
        {"f32[0,2]", "f32[0,2]{9,1}", false, false},
        {"f32[2]", "f32[2,1]", false, false},
        {"f32[]", "f32[]", true, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const tensor_type_t a = parse_type(*state, rows[i].a), b = parse_type(*state, rows[i].b);
        if (type_same(&a, &b) != rows[i].same || type_same(&b, &a) != rows[i].same)
            fail_msg("%s and %s: same", rows[i].a, rows[i].b);
        if (type_same_elements(&a, &b) != rows[i].same_elements) fail_msg("%s and %s: elements", rows[i].a, rows[i].b);
    }
}

static void test_constant_sizes(void **state) {
    int64_t sizes[MAX_RANK] = {0};
    const shape_t known = parse_shape(*state, "[3,0,5]"), none = parse_shape(*state, "[]"),
                  open = parse_shape(*state, "[3,s0]");
    assert_true(shape_constant(*state, &known, sizes) && sizes[0] == 3 && sizes[1] == 0 && sizes[2] == 5);
    assert_true(shape_constant(*state, &none, NULL));
    assert_false(shape_constant(*state, &open, sizes));
    int64_t strides[3];
    dense_strides(3, sizes, strides);
    assert_true(strides[2] == 1 && strides[1] == 5 && strides[0] == 5);
}

static void test_broadcast(void **state) {
    sym_pool_t *pool = *state;
    static const struct {
        const char *a, *b, *result; /* NULL: refused */
    } rows[] = {
        {"[4,1]", "[3]", "[4,3]"},       {"[]", "[2,3]", "[2,3]"}, {"[1]", "[0]", "[0]"},
        {"[s0,1]", "[1,u0]", "[s0,u0]"}, {"[u0]", "[1]", "[u0]"},  {"[u0]", "[u0]", "[u0]"},
        {"[u0]", "[s0]", NULL},          {"[2]", "[3]", NULL},     {"[2,3]", "[3,2]", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        insitu_diag diag = {.struct_size = sizeof diag};
        shape_t a = parse_shape(pool, rows[i].a), b = parse_shape(pool, rows[i].b), out;
        insitu_status status = shape_broadcast(pool, &a, &b, &out, &diag);
        assert_int_equal(status, rows[i].result ? INSITU_OK : INSITU_SHAPE);
        if (rows[i].result) {
            shape_t expected = parse_shape(pool, rows[i].result);
            assert_true(shape_same(&out, &expected));
        } else
            assert_true(strstr(diag.message, rows[i].a) && strstr(diag.message, rows[i].b));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_types, setup, teardown),
        cmocka_unit_test_setup_teardown(test_printing_adds_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_comparison, setup, teardown),
        cmocka_unit_test_setup_teardown(test_types_alike, setup, teardown),
        cmocka_unit_test_setup_teardown(test_constant_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broadcast, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
