/* The tables that functionalize goes by. In-place operators and their functional twins: every operator of the table of schemas that writes its first argument
 * has a variant that takes what it is given, or is on a list of those that have none and are refused. Operators that write
 * a list are all refused. Views that no schema tells of. */
#include "unit_test.h"

#include "passes/passes_int.h"

static const char *const without_variant[] = {
    "aten._amp_update_scale_.default",
    "aten._fill_mem_eff_dropout_mask_.default",
    "aten._flash_attention_forward_no_dropout_inplace.default",
    "aten._sobol_engine_ff_.default",
    "aten._sobol_engine_initialize_state_.default",
    "aten._sobol_engine_scramble_.default",
    "aten.fill_diagonal_.default",
    "aten.normal_.default",
    "aten.record_stream.default",
    "aten.requires_grad_.default",
    "aten.retain_grad.default",
    "aten.rrelu_with_noise_.default",
    "aten.set_.source_Tensor_storage_offset",
    "aten.set_data.default",
    "prims.as_strided.default",
    "prims.copy_to.default",
    "prims.resize.default",
};

static bool is_listed(const char *target) {
    for (size_t i = 0; i < COUNT_OF(without_variant); i++)
        if (strcmp(target, without_variant[i]) == 0) return true;
    return false;
}

static bool is_in_place(const op_schema_t *schema) {
    return schema->arg_count > 0 && (schema->args[0].flags & (SCHEMA_WRITES | SCHEMA_LIST)) == SCHEMA_WRITES;
}

static void every_operator_is_decided(void **state) {
    (void)state;
    uint32_t found = 0;
    bool failed = false;
    for (uint32_t i = 0; schema_row(i); i++) {
        const op_schema_t *schema = schema_row(i);
        if (!is_in_place(schema)) continue;
        bool has_variant = functional_variant(schema) != NULL;
        if (has_variant == is_listed(schema->target)) {
            print_error("%s %s\n", schema->target, has_variant ? "has a variant and is listed" : "has no variant");
            failed = true;
        }
        found += has_variant;
    }
    assert_false(failed);
    assert_true(found > 150);
}

/* Every argument of a variant that has no default comes from an argument of its type. */
static void variants_take_what_is_given(void **state) {
    (void)state;
    for (uint32_t i = 0; schema_row(i); i++) {
        const op_schema_t *schema = schema_row(i);
        const op_schema_t *variant = schema->writes ? functional_variant(schema) : NULL;
        if (!variant) continue;
        assert_false(variant->writes);
        graph_arg_t args[32];
        graph_node_t node = {.target = schema->target, .schema = schema, .args = args, .arg_count = schema->arg_count};
        assert_true(schema->arg_count <= COUNT_OF(args));
        for (uint32_t j = 0; j < schema->arg_count; j++)
            args[j] = (graph_arg_t){.kind = ARG_DTYPE, .number = (int32_t)j};
        for (uint32_t j = 0; j < variant->arg_count; j++) {
            graph_arg_t given = variant_argument(&node, &variant->args[j]);
            if (given.kind != ARG_DTYPE)
                fail_msg("%s gives %s no '%s'", schema->target, variant->target, variant->args[j].name);
            if (schema->args[given.number].type != variant->args[j].type)
                fail_msg("%s gives %s '%s' of another type", schema->target, variant->target, variant->args[j].name);
        }
    }
}

static void variants_of_other_overloads(void **state) {
    (void)state;
    static const struct {
        const char *in_place, *variant;
    } rows[] = {
        {"aten.add_.Tensor", "aten.add.Tensor"},
        {"aten.pow_.Scalar", "aten.pow.Tensor_Scalar"},
        {"aten.pow_.Tensor", "aten.pow.Tensor_Tensor"},
        {"aten.float_power_.Scalar", "aten.float_power.Tensor_Scalar"},
        {"aten.float_power_.Tensor", "aten.float_power.Tensor_Tensor"},
        {"aten.floor_divide_.Tensor", "aten.floor_divide.default"},
        {"aten.floor_divide_.Scalar", "aten.floor_divide.Scalar"},
        {"aten.bitwise_left_shift_.Tensor_Scalar", "aten.bitwise_left_shift.Tensor_Scalar"},
        {"aten.xlogy_.Scalar_Other", "aten.xlogy.Scalar_Other"},
        {"aten.polygamma_.default", "aten.polygamma.default"},
        {"aten.dropout_.default", "aten.dropout.default"},
        {"aten.feature_alpha_dropout_.default", "aten.feature_alpha_dropout.default"},
        {"aten.subtract_.Tensor", "aten.subtract.Tensor"},
        {"aten.true_divide_.Scalar", "aten.true_divide.Scalar"},
        {"aten.__ilshift__.Tensor", "aten.__lshift__.Tensor"},
        {"aten.add.out", "aten.add.Tensor"},
        {"aten.sum.IntList_out", "aten.sum.dim_IntList"},
        {"aten.max.dim_max", "aten.max.dim"},
        {"aten.pow.Scalar_out", "aten.pow.Scalar"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const op_schema_t *schema = schema_find(rows[i].in_place);
        if (!schema) fail_msg("there is no operator %s", rows[i].in_place);
        const op_schema_t *variant = functional_variant(schema);
        if (!variant) fail_msg("%s has no variant", rows[i].in_place);
        assert_string_equal(variant->target, rows[i].variant);
    }
}

/* The rule UNKNOWN is for what no schema tells. */
static void unmarked_views_are_unmarked(void **state) {
    (void)state;
    uint32_t found = 0;
    for (uint32_t i = 0; schema_row(i); i++) {
        const op_schema_t *schema = schema_row(i);
        if (operator_facts_of(schema)->alias != RULE_UNKNOWN) continue;
        found++;
        assert_false(schema->writes);
        bool is_marked = true;
        for (uint32_t j = 0; j < schema->return_count; j++) is_marked = is_marked && schema->returns[j].alias;
        if (is_marked) fail_msg("the schema of %s tells what its results are", schema->target);
        graph_node_t node = {.target = schema->target, .schema = schema};
        assert_true(alias_is_unknown(&node));
    }
    assert_true(found > 20);
}

/* A result that aliases an operand is a view, by a rule or by its schema, or not known: never a tensor of its own. */
static void marked_views_are_views(void **state) {
    (void)state;
    for (uint32_t i = 0; schema_row(i); i++) {
        const op_schema_t *schema = schema_row(i);
        bool is_view = false;
        for (uint32_t j = 0; j < schema->return_count; j++)
            is_view = is_view || (schema->returns[j].alias && !(schema->returns[j].flags & SCHEMA_WRITES));
        if (schema->writes || !is_view) continue;
        graph_arg_t items[1] = {{.kind = ARG_VALUE}}, args[32] = {{0}};
        assert_true(schema->arg_count <= COUNT_OF(args));
        args[0] = schema->args[0].flags & SCHEMA_LIST ? (graph_arg_t){.kind = ARG_LIST, .list = {items, 1}} : items[0];
        graph_node_t node = {.target = schema->target, .schema = schema, .args = args, .arg_count = schema->arg_count};
        value_id_t operand;
        if (!view_operand(&node, 0, &operand) && !alias_is_unknown(&node))
            fail_msg("%s gives a view, and its operand is not found", schema->target);
        if (!alias_is_view(&node)) fail_msg("%s gives a view and counts as a tensor of its own", schema->target);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_decided),   cmocka_unit_test(variants_take_what_is_given),
        cmocka_unit_test(variants_of_other_overloads), cmocka_unit_test(unmarked_views_are_unmarked),
        cmocka_unit_test(marked_views_are_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
