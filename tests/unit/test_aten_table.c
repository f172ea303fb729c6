/* The table of converters: every row names an operator that exists, once, and that the functional graph may hold. */
#include "unit_test.h"

#include "graph/schema.h"

static const char *const targets[] = {
#define ATEN(target, convert, param) target,
#include "network/aten.def"
#undef ATEN
};

static void every_row_names_an_operator(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        if (!schema_find(targets[i])) fail_msg("there is no operator %s", targets[i]);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_names_an_operator),
        cmocka_unit_test(no_operator_has_two_rows),
        cmocka_unit_test(no_row_is_of_a_mutating_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
