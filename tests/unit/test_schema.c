/* The table of operator schemas: every row is well formed, and what rows say is what PyTorch's schemas say. */
#include "unit_test.h"

#include "graph/schema.h"
#include <string.h>

static void check_arg(const op_schema_t *schema, const schema_arg_t *arg) {
    if (!arg->name || !arg->name[0]) fail_msg("%s has an argument without a name", schema->target);
    bool is_list = (arg->flags & SCHEMA_LIST) != 0, has_alias = arg->alias >= 'a' && arg->alias <= 'z';
    if (arg->alias && !has_alias) fail_msg("%s: %s has the alias set '%c'", schema->target, arg->name, arg->alias);
    if ((arg->flags & SCHEMA_WRITES) && !has_alias)
        fail_msg("%s: %s is written without an alias set", schema->target, arg->name);
    if (arg->size && !is_list) fail_msg("%s: %s has a size and is no list", schema->target, arg->name);
    bool fits = true;
    switch ((default_kind_t)arg->default_kind) {
    case DEFAULT_NONE_GIVEN: break;
    case DEFAULT_NONE: fits = (arg->flags & SCHEMA_OPTIONAL) != 0; break;
    case DEFAULT_INT:
        fits = arg->type == SCHEMA_INT || arg->type == SCHEMA_SCALAR || arg->type == SCHEMA_FLOAT ||
               arg->type == SCHEMA_DTYPE;
        break;
    case DEFAULT_FLOAT: fits = arg->type == SCHEMA_FLOAT || arg->type == SCHEMA_SCALAR; break;
    case DEFAULT_BOOL: fits = arg->type == SCHEMA_BOOL || arg->type == SCHEMA_SCALAR; break;
    case DEFAULT_STRING: fits = arg->type == SCHEMA_STRING && arg->string; break;
    case DEFAULT_INTS: fits = is_list && (arg->ints || !arg->int_count); break;
    case DEFAULT_NUMBER:
        fits = arg->type == SCHEMA_DTYPE || arg->type == SCHEMA_MEMORY_FORMAT || arg->type == SCHEMA_LAYOUT;
        break;
    }
    if (!fits) fail_msg("%s: the default of %s is not of its type", schema->target, arg->name);
}

static void every_row_is_well_formed(void **state) {
    (void)state;
    uint32_t count = 0;
    for (const op_schema_t *schema; (schema = schema_row(count)); count++) {
        assert_ptr_equal(schema_find(schema->target), schema);
        bool writes = false;
        for (uint32_t i = 0; i < schema->arg_count; i++) {
            check_arg(schema, &schema->args[i]);
            assert_int_equal(schema_arg_index(schema, schema->args[i].name), i);
            writes |= (schema->args[i].flags & SCHEMA_WRITES) != 0;
            if (i && (schema->args[i - 1].flags & SCHEMA_KEYWORD) && !(schema->args[i].flags & SCHEMA_KEYWORD))
                fail_msg("%s: %s is positional after a keyword argument", schema->target, schema->args[i].name);
        }
        if (writes != schema->writes) fail_msg("%s says wrongly whether it writes", schema->target);
        for (uint32_t i = 0; i < schema->return_count; i++) {
            char alias = schema->returns[i].alias;
            bool found = !alias;
            for (uint32_t k = 0; k < schema->arg_count; k++) found |= schema->args[k].alias == alias;
            if (!found) fail_msg("%s: result %u aliases no argument", schema->target, i);
        }
    }
    assert_true(count > 3000);
}

static const schema_arg_t *arg_of(const char *target, const char *name) {
    const op_schema_t *schema = schema_find(target);
    if (!schema) fail_msg("%s is not in the table", target);
    uint32_t index = schema_arg_index(schema, name);
    if (index == NONE) fail_msg("%s has no argument %s", target, name);
    return &schema->args[index];
}

static void defaults_are_pytorchs(void **state) {
    (void)state;
    const schema_arg_t *arg = arg_of("aten.add.Tensor", "alpha");
    assert_int_equal(arg->type, SCHEMA_SCALAR);
    assert_int_equal(arg->flags, SCHEMA_KEYWORD);
    assert_int_equal(arg->default_kind, DEFAULT_INT);
    assert_int_equal(arg->i, 1);
    arg = arg_of("aten.conv2d.default", "stride");
    assert_int_equal(arg->flags, SCHEMA_LIST);
    assert_int_equal(arg->size, 2);
    assert_int_equal(arg->default_kind, DEFAULT_INTS);
    assert_int_equal(arg->int_count, 2);
    assert_int_equal(arg->ints[1], 1);
    arg = arg_of("aten.conv2d.padding", "padding");
    assert_int_equal(arg->default_kind, DEFAULT_STRING);
    assert_string_equal(arg->string, "valid");
    arg = arg_of("aten.max_pool2d.default", "stride");
    assert_int_equal(arg->default_kind, DEFAULT_INTS);
    assert_int_equal(arg->int_count, 0);
    arg = arg_of("aten.layer_norm.default", "eps");
    assert_int_equal(arg->default_kind, DEFAULT_FLOAT);
    assert_true(arg->f == 1e-5);
    arg = arg_of("aten.contiguous.default", "memory_format");
    assert_int_equal(arg->default_kind, DEFAULT_NUMBER);
    assert_int_equal(arg->i, 1);
    arg = arg_of("aten.scaled_dot_product_attention.default", "attn_mask");
    assert_int_equal(arg->default_kind, DEFAULT_NONE);
    assert_int_equal(arg->flags, SCHEMA_OPTIONAL);
    arg = arg_of("aten.index_put_.default", "indices");
    assert_int_equal(arg->flags, SCHEMA_LIST | SCHEMA_OPTIONAL_ITEMS);
    assert_int_equal(arg->default_kind, DEFAULT_NONE_GIVEN);
    arg = arg_of("aten.index_put_.default", "accumulate");
    assert_int_equal(arg->default_kind, DEFAULT_BOOL);
    assert_int_equal(arg->i, 0);
    arg = arg_of("aten.sum.dim_IntList", "dim");
    assert_int_equal(arg->flags, SCHEMA_LIST | SCHEMA_OPTIONAL);
    assert_int_equal(arg->size, 1);
}

static void aliasing_is_pytorchs(void **state) {
    (void)state;
    const op_schema_t *copy = schema_find("aten.copy_.default");
    assert_true(copy->writes);
    assert_int_equal(copy->args[0].flags, SCHEMA_WRITES);
    assert_int_equal(copy->args[0].alias, 'a');
    assert_int_equal(copy->returns[0].alias, 'a');
    assert_int_equal(copy->returns[0].flags, SCHEMA_WRITES);
    const op_schema_t *split = schema_find("aten.split.Tensor");
    assert_false(split->writes);
    assert_int_equal(split->args[0].alias, 'a');
    assert_int_equal(split->returns[0].flags, SCHEMA_LIST);
    assert_int_equal(split->returns[0].alias, 'a');
    const op_schema_t *out = schema_find("aten.add.out");
    assert_int_equal(arg_of("aten.add.out", "out")->flags, SCHEMA_WRITES | SCHEMA_KEYWORD);
    assert_true(out->writes);
    assert_int_equal(schema_find("aten.max.dim")->return_count, 2);
    assert_int_equal(schema_find("aten._assert_scalar.default")->return_count, 0);
    assert_false(schema_find("aten.batch_norm.default")->writes);
}

static void symbolic_operators_are_known(void **state) {
    (void)state;
    assert_int_equal(schema_find("_operator.mul")->arg_count, 2);
    assert_int_equal(schema_find("_operator.lt")->returns[0].type, SCHEMA_BOOL);
    assert_string_equal(schema_find("torch.sym_ite")->args[1].name, "t");
    assert_string_equal(schema_find("math.trunc")->args[0].name, "x");
    assert_null(schema_find("aten.add"));
    assert_null(schema_find(""));
    assert_null(schema_find("higher_order.cond"));
    assert_null(schema_find("zzz"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_well_formed),
        cmocka_unit_test(defaults_are_pytorchs),
        cmocka_unit_test(aliasing_is_pytorchs),
        cmocka_unit_test(symbolic_operators_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
