/* The table of facts about operators: what its rows say fits the operators' signatures. That a row names an operator, and
 * each one once, is the compiler's to check. */
#include "unit_test.h"
#include <stdio.h>

#include "graph/graph.h"
#include "graph/schema_ids.h"

static const bool converted[SCHEMA_COUNT] = {
#define CONVERT(function, parameter) true ||
#define OPERATOR(id, facts) [SCHEMA_##id] = facts false,
#include "graph/operators.def"
};

static bool has_converter(const op_schema_t *schema) { return schema && converted[schema_number(schema)]; }

static void identifiers_are_targets(void **state) {
    (void)state;
    static const char *const identifiers[SCHEMA_COUNT] = {
#define SCHEMA(id, ...) #id,
#include "graph/schemas.inc"
#include "graph/symbolic_schemas.inc"
#undef SCHEMA
    };
    for (uint32_t i = 0; i < SCHEMA_COUNT; i++) {
        const op_schema_t *schema = schema_row(i);
        char identifier[128];
        assert_true(snprintf(identifier, sizeof(identifier), "%s", schema->target) < (int)sizeof(identifier));
        for (char *at = identifier; (at = strchr(at, '.'));) *at = '_';
        assert_string_equal(identifiers[i], identifier);
        assert_int_equal(schema_number(schema), i);
    }
    assert_null(schema_row(SCHEMA_COUNT));
}

static void what_has_no_row_has_no_facts(void **state) {
    (void)state;
    const operator_facts_t *none = operator_facts_of(NULL);
    uint32_t listed = 0;
    for (uint32_t i = 0; i < SCHEMA_COUNT; i++) {
        const operator_facts_t *facts = operator_facts_of(schema_row(i));
        listed += facts->is_listed;
        if (!facts->is_listed) assert_memory_equal(facts, none, sizeof(*none));
    }
    assert_true(listed > 800);
}

static void no_converter_is_of_a_mutating_operator(void **state) {
    (void)state;
    for (uint32_t i = 0; i < SCHEMA_COUNT; i++)
        if (converted[i] && schema_row(i)->writes) fail_msg("%s writes an argument", schema_row(i)->target);
}

static bool has_arg(const op_schema_t *schema, const char *name) { return schema_arg_index(schema, name) != NONE; }

/* What the readers of the facts take for granted of an operator's signature. */
static void facts_fit_signatures(void **state) {
    (void)state;
    for (uint32_t i = 0; i < SCHEMA_COUNT; i++) {
        const op_schema_t *schema = schema_row(i), *other = operator_other(operator_facts_of(schema));
        const operator_facts_t *facts = operator_facts_of(schema);
        const char *target = schema->target;
        if (facts->write && facts->write != WRITE_STATISTICS && !schema->writes) fail_msg("%s writes nothing", target);
        if (facts->write == WRITE_STATISTICS &&
            (!has_arg(schema, "running_mean") || !has_arg(schema, "running_var") || (other && other->writes)))
            fail_msg("%s has no running statistics, or a variant that writes", target);
        if ((facts->result || facts->noop || facts->inverse) && schema->writes) fail_msg("%s writes", target);
        if (facts->noop == NOOP_SCATTER && (!other || schema->arg_count < 2 || !has_arg(schema, "src")))
            fail_msg("%s scatters no source", target);
        for (uint32_t k = 1; facts->noop == NOOP_SCATTER && k < other->arg_count; k++)
            if (!has_arg(schema, other->args[k].name)) fail_msg("%s takes no '%s'", target, other->args[k].name);
        if (facts->effect == EFFECT_DROPOUT && !has_arg(schema, "train")) fail_msg("%s has no 'train'", target);
        if (facts->reads == READS_MASK && !has_arg(schema, "indices")) fail_msg("%s has no 'indices'", target);
        if (facts->alias && facts->alias != RULE_UNKNOWN && schema->return_count == 0)
            fail_msg("%s gives nothing", target);
        if ((facts->cast_cpu || facts->cast_cuda) && schema->writes) fail_msg("%s writes, and autocast casts", target);
        if ((facts->number == NUMBER_BINARY || facts->number == NUMBER_SUB) && schema->arg_count != 2)
            fail_msg("%s takes no two numbers", target);
    }
}

static void canonical_views_are_marked(void **state) {
    (void)state;
    for (uint32_t i = 0; i < SCHEMA_COUNT; i++) {
        const op_schema_t *schema = schema_row(i);
        if (operator_facts_of(schema)->inverse && !(schema->return_count == 1 && schema->returns[0].alias))
            fail_msg("%s is undone, and is no view", schema->target);
    }
}

static void operators_of_a_name_follow_one_another(void **state) {
    (void)state;
    assert_string_equal(schema_row(schema_first("aten.add_."))->target, "aten.add_.Scalar");
    assert_string_equal(schema_row(schema_first("aten.add.Tensor"))->target, "aten.add.Tensor");
    assert_false(strncmp(schema_row(schema_first("zzz"))->target, "zzz", 3) == 0);
}

/* Operators that PyTorch has under several names. */
static void other_names_are_converted_too(void **state) {
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
            const op_schema_t *schema = schema_row(row);
            if (schema->writes || strncmp(schema->target, prefix, strlen(prefix)) != 0) continue;
            found = true;
            snprintf(target, sizeof(target), "aten.%s.%s", names[i].name, schema->target + strlen(prefix));
            if (has_converter(schema_find(target)) && !has_converter(schema))
                fail_msg("%s has no converter, %s has one", schema->target, target);
        }
        if (!found) fail_msg("there is no operator %s", names[i].other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_targets),
        cmocka_unit_test(what_has_no_row_has_no_facts),
        cmocka_unit_test(no_converter_is_of_a_mutating_operator),
        cmocka_unit_test(facts_fit_signatures),
        cmocka_unit_test(canonical_views_are_marked),
        cmocka_unit_test(operators_of_a_name_follow_one_another),
        cmocka_unit_test(other_names_are_converted_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
