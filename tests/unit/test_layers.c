/* The tables of layers, attributes and operators: names, order, traits, and the operands that hold indices. */
#include "unit_test.h"

#include "core/core.h"
#include <string.h>

static void test_layers(void **state) {
    (void)state;
    for (uint32_t i = 0; i < LAYER_KIND_COUNT; i++) {
        const layer_info_t *info = layer_info_of((layer_kind_t)i);
        layer_kind_t back;
        assert_true(layer_parse_kind(info->name, &back));
        assert_int_equal(back, i); /* names are unique */
        assert_true(info->min_operands <= info->max_operands);
        assert_int_equal((info->traits & TRAIT_SOURCE) != 0, info->max_operands == 0);
        assert_int_equal((info->traits & TRAIT_HOST) != 0, info->results == 0);
        if (info->traits & (TRAIT_VIEW | TRAIT_UPDATE | TRAIT_ELEMENTWISE)) {
            assert_true(info->min_operands >= 1);
            assert_int_equal(info->results, 1);
        }
        if (info->traits & TRAIT_UPDATE) assert_true(info->min_operands >= 2);
        if (info->traits & TRAIT_REPLACE) assert_int_equal(info->max_operands, 1);
        assert_false((info->traits & TRAIT_VIEW) && (info->traits & TRAIT_UPDATE));
        for (uint32_t j = 0; j < info->attr_count; j++) {
            attr_id_t id = info->attrs[j].id;
            assert_true(id < ATTR_ID_COUNT);
            assert_int_equal(layer_attr_index((layer_kind_t)i, id), j);
            if (j > 0 && strcmp(attr_name(info->attrs[j - 1].id), attr_name(id)) >= 0)
                fail_msg("attributes of %s are not sorted at %s", info->name, attr_name(id));
        }
    }
    layer_kind_t kind;
    assert_false(layer_parse_kind("nothing", &kind));
    assert_int_equal(layer_attr_index(LAYER_COPY, ATTR_DIM), NONE);
    assert_int_equal(layer_info_of(LAYER_COPY)->attr_count, 0);
}

static bool has_attr(const layer_info_t *info, attr_id_t id) {
    for (uint32_t i = 0; i < info->attr_count; i++)
        if (info->attrs[i].id == id) return true;
    return false;
}

/* Every column is filled in where its readers ask for it, and only there. */
static void test_columns(void **state) {
    (void)state;
    for (uint32_t i = 0; i < LAYER_KIND_COUNT; i++) {
        const layer_info_t *info = layer_info_of((layer_kind_t)i), *reader = layer_info_of(info->reader);
        const bool is_update = info->traits & TRAIT_UPDATE, is_indexed = info->traits & TRAIT_INDEXED,
                   is_part = info->traits & TRAIT_PART;
        const bool has_regions = info->traits & TRAIT_REGIONS;
        if (has_regions != (info->results == NONE)) fail_msg("%s: results", info->name);
        if (!has_regions && info->results > MAX_OWN_RESULTS) fail_msg("%s gives too much", info->name);
        if (info->attr_count > MAX_LAYER_ATTRS) fail_msg("%s is too wide", info->name);
        if (has_attr(info, ATTR_OP) != (info->op_groups != 0)) fail_msg("%s: ops", info->name);
        if (is_indexed != (info->first_position > 0)) fail_msg("%s: positions", info->name);
        if (is_indexed && info->first_position >= info->min_operands) fail_msg("%s: no positions", info->name);
        if (is_indexed && !has_attr(info, ATTR_DIM) && !has_attr(info, ATTR_DIMS)) fail_msg("%s: axes", info->name);
        if (info->has_reader != (is_part || (is_update && is_indexed))) fail_msg("%s: reader", info->name);
        if (is_part && !(reader->traits & TRAIT_VIEW)) fail_msg("%s is shown by no view", info->name);
        if (info->has_reader && !is_part && !reader->first_position) fail_msg("%s is read at no positions", info->name);
        for (uint32_t k = 0; info->has_reader && k < reader->attr_count; k++)
            if (!has_attr(info, reader->attrs[k].id)) fail_msg("%s lacks an attribute of its reader", info->name);
        if (info->counted && !is_update) fail_msg("%s counts what it writes", info->name);
        if (is_update && is_indexed && !info->counted) fail_msg("%s does not count what it writes", info->name);
        if ((info->traits & (TRAIT_VIEW | TRAIT_ASSEMBLE | TRAIT_PART)) && !(info->traits & TRAIT_MOVE))
            fail_msg("%s moves elements", info->name);
        if ((info->traits & (TRAIT_SUBSET | TRAIT_REPEAT)) && !(info->traits & TRAIT_VIEW))
            fail_msg("%s is no view", info->name);
        if ((info->traits & TRAIT_CARRY) && (info->traits & (TRAIT_VIEW | TRAIT_UPDATE)))
            fail_msg("%s carries its operands' elements as a view or an update", info->name);
    }
    assert_int_equal(MAX_OWN_RESULTS, 2);
    assert_int_equal(MAX_LAYER_ATTRS, layer_info_of(LAYER_POOL)->attr_count);
    assert_int_equal(MAX_LAYER_LISTS, 4); /* of conv and pool */
}

static void test_attributes(void **state) {
    (void)state;
    bool used[ATTR_ID_COUNT] = {false};
    for (uint32_t i = 0; i < LAYER_KIND_COUNT; i++)
        for (uint32_t j = 0; j < layer_info_of((layer_kind_t)i)->attr_count; j++)
            used[layer_info_of((layer_kind_t)i)->attrs[j].id] = true;
    for (uint32_t i = 0; i < ATTR_ID_COUNT; i++) {
        assert_true(used[i]);
        assert_int_not_equal(attr_kind_of((attr_id_t)i), ATTR_KIND_NONE);
        if (i > 0) assert_true(strcmp(attr_name((attr_id_t)(i - 1)), attr_name((attr_id_t)i)) < 0);
    }
}

static void test_ops(void **state) {
    (void)state;
    for (uint32_t i = 0; i < OP_COUNT; i++) {
        op_kind_t back;
        assert_true(op_parse(op_name((op_kind_t)i), op_group_of((op_kind_t)i), &back));
        assert_int_equal(back, i); /* names are unique in a group */
    }
    op_kind_t op;
    assert_true(op_parse("add", OPS_BINARY, &op) && op == OP_ADD);
    assert_true(op_parse("add", OPS_UPDATE, &op) && op == OP_UPDATE_ADD);
    assert_false(op_parse("add", OPS_UNARY, &op));
}

static void test_index_operands(void **state) {
    (void)state;
    sym_pool_t pool;
    assert_int_equal(sym_pool_init(&pool), INSITU_OK);
    const sym_t dims[] = {sym_int(&pool, 0), sym_int(&pool, 2)};
    attr_t attrs[3] = {{.kind = ATTR_KIND_NONE}};
    index_operand_t out[MAX_RANK];

    attrs[layer_attr_index(LAYER_INDEX, ATTR_DIMS)] = (attr_t){.kind = ATTR_KIND_SYMS, .list = {dims, 2}};
    attrs[layer_attr_index(LAYER_INDEX, ATTR_WRAP)] = (attr_t){.kind = ATTR_KIND_SYM, .value = sym_bool(&pool, true)};
    assert_int_equal(layer_index_operands(&pool, LAYER_INDEX, attrs, 3, out), 2);
    assert_true(out[0].operand == 1 && out[0].dim == 0 && out[0].wrap);
    assert_true(out[1].operand == 2 && out[1].dim == 2 && out[1].wrap);
    assert_int_equal(layer_index_operands(&pool, LAYER_INDEX, attrs, 2, out), 1); /* never more than there are */

    attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_DIMS)] = (attr_t){.kind = ATTR_KIND_SYMS, .list = {dims, 2}};
    attrs[layer_attr_index(LAYER_INDEX_UPDATE, ATTR_WRAP)] =
        (attr_t){.kind = ATTR_KIND_SYM, .value = sym_bool(&pool, false)};
    assert_int_equal(layer_index_operands(&pool, LAYER_INDEX_UPDATE, attrs, 4, out), 2);
    assert_true(out[0].operand == 2 && out[1].operand == 3 && out[1].dim == 2 && !out[1].wrap);

    attrs[layer_attr_index(LAYER_GATHER, ATTR_DIM)] = (attr_t){.kind = ATTR_KIND_SYM, .value = sym_int(&pool, 3)};
    assert_int_equal(layer_index_operands(&pool, LAYER_GATHER, attrs, 2, out), 1);
    assert_true(out[0].operand == 1 && out[0].dim == 3 && !out[0].wrap);
    attrs[layer_attr_index(LAYER_SCATTER_UPDATE, ATTR_DIM)] =
        (attr_t){.kind = ATTR_KIND_SYM, .value = sym_int(&pool, 1)};
    assert_int_equal(layer_index_operands(&pool, LAYER_SCATTER_UPDATE, attrs, 3, out), 1);
    assert_true(out[0].operand == 2 && out[0].dim == 1 && !out[0].wrap);
    assert_int_equal(layer_index_operands(&pool, LAYER_COPY, attrs, 1, out), 0);
    sym_pool_release(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers), cmocka_unit_test(test_columns),        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_ops),    cmocka_unit_test(test_index_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
