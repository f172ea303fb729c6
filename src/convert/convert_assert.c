/* Assertions: on numbers they are checked when the symbols are bound, on types here and now. */
#include "convert/convert_int.h"

insitu_status convert_assert_scalar(converter_t *c) {
    sym_t condition;
    TRY(take_sym(c, "self", &condition));
    if (sym_kind_of(c->pool, condition) != SYM_KIND_BOOL) {
        condition = sym_compare(c->pool, SYM_NE, condition, sym_int(c->pool, 0));
    }
    const char *message = take_string(c, "assert_msg");
    return network_require(c->network, condition, message[0] ? message : "an assertion of the program",
                           c->node->source);
}

insitu_status emit_read(converter_t *c, tensor_id_t x, int64_t min, int64_t max, sym_t *out) {
    char name[16];
    uint32_t number = c->pool->symbol_count;
    do {
        snprintf(name, sizeof(name), "u%u", number++);
    } while (sym_find_symbol(c->pool, name) != NONE);
    *out = sym_of_symbol(c->pool, sym_add_symbol(c->pool, name, SYM_KIND_INT, min, max));
    layer_draft_t item = draft_of(LAYER_ITEM);
    draft_sym(&item, ATTR_SYMBOL, *out);
    return emit(c, &item, &x, 1, NULL);
}

insitu_status require_none(converter_t *c, tensor_id_t bools, const char *message) {
    uint32_t rank = rank_of(c, bools);
    sym_t any;
    if (rank) TRY(emit_reduce(c, OP_ANY, bools, (2u << (rank - 1)) - 1, false, &bools));
    TRY(emit_read(c, bools, 0, 1, &any));
    sym_t condition = sym_compare(c->pool, SYM_EQ, any, sym_int(c->pool, 0));
    return network_require(c->network, condition, message, c->node->source);
}

/* _assert_async, _functional_assert_async: the one element is not 0 */
insitu_status convert_assert_async(converter_t *c) {
    tensor_id_t x;
    shape_t none = {0};
    sym_t holds;
    const char *message = take_string(c, "assert_msg");
    TRY(take_tensor(c, "self", &x));
    TRY(emit_reshape(c, x, &none, &x));
    TRY(emit_cast(c, x, DTYPE_BOOL, &x));
    TRY(emit_read(c, x, 0, 1, &holds));
    sym_t condition = sym_compare(c->pool, SYM_EQ, holds, sym_int(c->pool, 1));
    return network_require(c->network, condition, message[0] ? message : "an assertion on a tensor", c->node->source);
}

/* sym_constrain_range(size, min, max) */
insitu_status convert_constrain_range(converter_t *c) {
    sym_t size, bound;
    TRY(take_sym(c, "size", &size));
    if (has_arg(c, "min")) {
        TRY(take_sym(c, "min", &bound));
        TRY(network_require(c->network, sym_compare(c->pool, SYM_LE, bound, size), "a number below its range",
                            c->node->source));
    }
    if (!has_arg(c, "max")) return INSITU_OK;
    TRY(take_sym(c, "max", &bound));
    return network_require(c->network, sym_compare(c->pool, SYM_LE, size, bound), "a number above its range",
                           c->node->source);
}

insitu_status convert_assert_metadata(converter_t *c) {
    tensor_id_t x;
    dtype_t type;
    shape_t sizes = {0};
    TRY(take_tensor(c, "a", &x));
    TRY(take_dtype(c, "dtype", dtype_of(c, x), &type));
    if (type != dtype_of(c, x)) {
        return convert_fail(c, INSITU_FORMAT, "the program asserts %s of a tensor of %s", dtype_name(type),
                            dtype_name(dtype_of(c, x)));
    }
    if (!has_arg(c, "size")) return INSITU_OK;
    TRY(take_syms(c, "size", sizes.sizes, &sizes.rank));
    if (shape_equal(c->pool, &sizes, &tensor_of(c, x)->shape) == TRUTH_FALSE) {
        return convert_fail(c, INSITU_FORMAT, "the program asserts other sizes than the tensor has");
    }
    for (uint32_t i = 0; i < sizes.rank; i++) {
        TRY(network_require(c->network, sym_compare(c->pool, SYM_EQ, sizes.sizes[i], size_of(c, x, i)),
                            "a size that the program asserts", c->node->source));
    }
    return INSITU_OK;
}
