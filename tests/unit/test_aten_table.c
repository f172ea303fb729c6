/* The table of converters: every row names an operator that exists, once, and that the functional graph may hold. */
#include "unit_test.h"
#include <stdio.h>

#include "graph/schema.h"

static const char *const targets[] = {
#define ATEN(target, convert, param) target,
#include "convert/aten.def"
#undef ATEN
};

static void every_row_names_an_operator(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        bool is_control = strncmp(targets[i], "higher_order.", 13) == 0; /* has subgraphs, and no schema */
        if (!is_control && !schema_find(targets[i])) fail_msg("there is no operator %s", targets[i]);
    }
}

static void no_operator_has_two_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(targets[i], targets[j]) == 0) fail_msg("%s has two rows", targets[i]);
        }
    }
}

static void no_row_is_of_a_mutating_operator(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        const op_schema *schema = schema_find(targets[i]);
        if (schema && schema->writes) fail_msg("%s writes an argument", targets[i]);
    }
}

static bool has_row(const char *target) {
    for (size_t i = 0; i < COUNT_OF(targets); i++)
        if (strcmp(targets[i], target) == 0) return true;
    return false;
}

/* Operators that PyTorch has under several names. */
static void other_names_have_rows_too(void **state) {
    (void)state;
    static const struct {
        const char *other, *name;
    } names[] = {
        {"subtract", "sub"},
        {"multiply", "mul"},
        {"divide", "div"},
        {"true_divide", "div"},
        {"arctan2", "atan2"},
        {"not_equal", "ne"},
        {"less", "lt"},
        {"less_equal", "le"},
        {"greater", "gt"},
        {"greater_equal", "ge"},
        {"clip", "clamp"},
        {"absolute", "abs"},
        {"negative", "neg"},
        {"arcsin", "asin"},
        {"arccos", "acos"},
        {"arctan", "atan"},
        {"arcsinh", "asinh"},
        {"arccosh", "acosh"},
        {"arctanh", "atanh"},
        {"special_exp2", "exp2"},
        {"special_expm1", "expm1"},
        {"special_log1p", "log1p"},
        {"special_erf", "erf"},
        {"special_erfc", "erfc"},
        {"special_expit", "sigmoid"},
        {"fix", "trunc"},
        {"concat", "cat"},
        {"concatenate", "cat"},
        {"swapaxes", "swapdims"},
        {"moveaxis", "movedim"},
        {"ger", "outer"},
        {"linalg_matmul", "matmul"},
        {"special_softmax", "_softmax"},
        {"special_log_softmax", "_log_softmax"},
        {"special_logsumexp", "logsumexp"},
        {"row_stack", "vstack"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char prefix[64], target[128];
        snprintf(prefix, sizeof(prefix), "aten.%s.", names[i].other);
        bool found = false;
        for (uint32_t row = 0; schema_row(row); row++) {
            const op_schema *schema = schema_row(row);
            if (schema->writes || strncmp(schema->target, prefix, strlen(prefix)) != 0) continue;
            found = true;
            snprintf(target, sizeof(target), "aten.%s.%s", names[i].name, schema->target + strlen(prefix));
            if (has_row(target) && !has_row(schema->target)) fail_msg("%s has no row, %s has", schema->target, target);
        }
        if (!found) fail_msg("there is no operator %s", names[i].other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_names_an_operator),
        cmocka_unit_test(no_operator_has_two_rows),
        cmocka_unit_test(no_row_is_of_a_mutating_operator),
        cmocka_unit_test(other_names_have_rows_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
