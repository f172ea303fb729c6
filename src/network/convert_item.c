/* A tensor's one element as a number of the program: an item layer gives the node's symbol its value. */
#include "network/convert_int.h"

/* The symbol that the node's result is made of: the result itself, or u0 of "u0 == 1" (a bool). */
static uint32_t find_symbol(const converter *c, sym result) {
    uint32_t symbol = sym_symbol_index(c->pool, result);
    for (uint32_t i = 0; symbol == NONE && i < sym_arg_count(c->pool, result); i++)
        symbol = sym_symbol_index(c->pool, sym_arg(c->pool, result, i));
    return symbol;
}

insitu_status convert_item(converter *c, int32_t param) {
    (void)param;
    tensor_id x;
    TRY(take_tensor(c, "self", &x));
    const graph_value *result = c->node->result_count == 1 ? graph_value_of(c->graph, c->node->results[0]) : NULL;
    if (!result || result->kind != VALUE_SYM) return convert_fail(c, INSITU_FORMAT, "its result is not a number");
    int64_t known;
    double real;
    if (sym_constant(c->pool, result->expr, &known) || sym_constant_float(c->pool, result->expr, &real))
        return convert_fail(c, INSITU_UNSUPPORTED, "its result was specialised to a constant");
    uint32_t symbol = find_symbol(c, result->expr);
    if (symbol == NONE) return convert_fail(c, INSITU_FORMAT, "its result is no symbol");
    attr attrs[] = {attr_of_sym(sym_of_symbol(c->pool, symbol))};
    return network_add_layer(c->network, LAYER_ITEM, &x, 1, attrs, c->node->name, c->node->source, NULL, c->diag);
}
