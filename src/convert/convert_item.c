/* A tensor's one element as a number of the program: an item layer gives the node's symbol its value.
 *
 *     %item: int(u0) = aten.item.default(%x)     ->   item(%x) {symbol=u0}
 *     %item: int(5 - u0)                         ->   item(%x) {symbol=read0}, assert read0 == 5 - u0
 *     %item: int(3*u1), u1 not known             ->   item(%x // 3) {symbol=u1}, and as before for 3*u1 */
#include "convert/convert_int.h"

#include <stdio.h>

static insitu_status add_item(converter_t *c, tensor_id_t x, uint32_t symbol) {
    layer_draft_t item = draft_of(LAYER_ITEM);
    draft_sym(&item, ATTR_SYMBOL, sym_of_symbol(c->pool, symbol));
    return network_add_layer(c->network, &item, &x, 1, c->node->name, c->node->source, NULL, c->diag);
}

/* A symbol that the program hasn't. */
static uint32_t new_symbol(converter_t *c, sym_kind_t kind) {
    char name[32];
    for (uint32_t i = 0;; i++) {
        (void)snprintf(name, sizeof(name), "read%u", i);
        if (sym_find_symbol(c->pool, name) == NONE) return sym_add_symbol(c->pool, name, kind, INT64_MIN, INT64_MAX);
    }
}

static insitu_status expect_number(converter_t *c, tensor_id_t x, sym_t number) {
    sym_kind_t kind = sym_kind_of(c->pool, number);
    uint32_t symbol = new_symbol(c, kind == SYM_KIND_FLOAT ? SYM_KIND_FLOAT : SYM_KIND_INT);
    if (symbol == NONE) return sym_pool_status(c->pool, c->diag);
    TRY(add_item(c, x, symbol));
    sym_t one = sym_int(c->pool, 1), zero = sym_int(c->pool, 0), expected = number;
    if (kind == SYM_KIND_BOOL) expected = sym_make(c->pool, SYM_WHERE, (sym_t[]){number, one, zero}, 3);
    const char *message;
    text_t printed;
    text_init(&printed);
    sym_print(c->pool, number, &printed);
    insitu_status status = text_status(&printed, c->diag);
    if (status == INSITU_OK)
        status =
            arena_printf(&c->scratch, &message, "the number that '%s' finds is not %s", c->node->name, printed.data);
    text_release(&printed);
    TRY(status);
    sym_t condition = sym_compare(c->pool, SYM_EQ, sym_of_symbol(c->pool, symbol), expected);
    return network_require(c->network, condition, message, c->node->source);
}

/* number = factor*symbol + rest, with numbers for both: the symbol is (x - rest) // factor. */
static insitu_status read_factor(converter_t *c, tensor_id_t x, sym_t number, uint32_t symbol) {
    int64_t known;
    sym_t rest = sym_replace(c->pool, number, symbol, sym_int(c->pool, 0));
    sym_t factor = sym_sub(c->pool, sym_replace(c->pool, number, symbol, sym_int(c->pool, 1)), rest);
    sym_t again = sym_add(c->pool, sym_mul(c->pool, factor, sym_of_symbol(c->pool, symbol)), rest);
    if (!sym_same(again, number) || !sym_constant(c->pool, factor, &known) || !sym_constant(c->pool, rest, &known))
        return convert_unsupported(c, "a number that is read and taken to be an expression");
    TRY(emit_cast(c, x, DTYPE_I64, &x));
    TRY(emit_scalar(c, OP_SUB, x, rest, false, &x));
    TRY(emit_scalar(c, OP_DIV_FLOOR, x, factor, false, &x));
    c->read[symbol] = true;
    return add_item(c, x, symbol);
}

insitu_status emit_item(converter_t *c, tensor_id_t x, sym_t number) {
    uint32_t symbol = sym_symbol_index(c->pool, number), unknown = NONE, count = 0;
    for (uint32_t i = 0; i < c->graph->symbols->symbol_count; i++) {
        if (c->read[i] || !sym_uses(c->pool, number, i)) continue;
        unknown = i;
        count++;
    }
    if (symbol != NONE && symbol == unknown) {
        c->read[symbol] = true;
        return add_item(c, x, symbol);
    }
    if (count > 1) return convert_unsupported(c, "a number that is read and taken to be an expression");
    if (count == 1) TRY(read_factor(c, x, number, unknown));
    return expect_number(c, x, number);
}

/* What a bool's element is recorded as: u0 where the result is "u0 == 1". */
static sym_t number_of(const converter_t *c, sym_t result) {
    int64_t one;
    bool is_equality = sym_op_of(c->pool, result) == SYM_EQ && sym_constant(c->pool, sym_arg(c->pool, result, 1), &one);
    if (!is_equality || one != 1) return result;
    sym_t left = sym_arg(c->pool, result, 0);
    uint32_t symbol = sym_symbol_index(c->pool, left);
    return symbol == NONE || c->read[symbol] ? result : left;
}

insitu_status convert_item(converter_t *c) {
    tensor_id_t x;
    TRY(take_tensor(c, "self", &x));
    const graph_value_t *result = c->node->result_count == 1 ? graph_value_of(c->graph, c->node->results[0]) : NULL;
    if (!result || result->kind != VALUE_SYM) return convert_fail(c, INSITU_FORMAT, "its result is not a number");
    return emit_item(c, x, number_of(c, result->expr));
}
