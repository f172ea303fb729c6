/* Counts that decide sizes: bincount, repeat_interleave by a tensor.
 *
 *     %r: i64[u0] = aten.bincount.default(%x, minlength=4)   ->
 *     %n: i64[] = reduce(concat(%x, fill 3)) {op=amax} + 1;  item(%n) {symbol=u0}
 *     %r: i64[u0] = scatter_update(fill 0, fill 1, %x) {op=add} */
#include "convert/convert_int.h"

/* Whether something gives the symbol its value already: a size of an input or a state, or an item. */
static bool is_defined(const converter_t *c, uint32_t symbol) {
    const network_t *network = c->network;
    for (uint32_t i = 0; i < network->tensor_count; i++) {
        const network_tensor_t *tensor = &network->tensors[i];
        if (tensor->role != TENSOR_INPUT && tensor->role != TENSOR_STATE) continue;
        for (uint32_t dim = 0; dim < tensor->shape.rank; dim++)
            if (sym_uses(c->pool, tensor->shape.sizes[dim], symbol)) return true;
    }
    for (uint32_t i = 0; i < network->input_count; i++)
        if (network->inputs[i].is_scalar && sym_uses(c->pool, network->inputs[i].value, symbol)) return true;
    for (uint32_t i = 0; i < network->layer_count; i++) {
        const layer_t *layer = &network->layers[i];
        if (layer->kind == LAYER_ITEM && sym_uses(c->pool, layer_attr(layer, ATTR_SYMBOL).value, symbol)) return true;
    }
    return false;
}

/* The node's result has count (i64[]) as its size in a dimension: the recorded symbol gets its value, or the recorded size
 * must be that number. */
static insitu_status define_size(converter_t *c, tensor_id_t count, uint32_t dim, sym_t *out_size) {
    const graph_value_t *result = graph_value_of(c->graph, c->node->results[0]);
    if (result->kind != VALUE_TENSOR || dim >= result->type.shape.rank)
        return convert_fail(c, INSITU_FORMAT, "its result has not the rank that it gives");
    *out_size = result->type.shape.sizes[dim];
    uint32_t symbol = sym_symbol_index(c->pool, *out_size);
    if (symbol == NONE || is_defined(c, symbol)) {
        TRY(emit_scalar(c, OP_NE, count, *out_size, false, &count));
        return require_none(c, count, "a number of elements that the program takes as known");
    }
    layer_draft_t item = draft_of(LAYER_ITEM);
    draft_sym(&item, ATTR_SYMBOL, *out_size);
    return emit(c, &item, &count, 1, NULL);
}

/* sums[index] += values, from zeros */
static insitu_status emit_sums(converter_t *c, sym_t size, tensor_id_t index, tensor_id_t values, tensor_id_t *out) {
    shape_t line = {.rank = 1, .sizes = {size}};
    tensor_id_t zeros;
    TRY(emit_fill(c, dtype_of(c, values), &line, sym_int(c->pool, 0), &zeros));
    tensor_id_t operands[3] = {zeros, values, index};
    layer_draft_t scatter = draft_of(LAYER_SCATTER_UPDATE);
    draft_int(c->pool, &scatter, ATTR_DIM, 0);
    draft_op(&scatter, OP_UPDATE_ADD);
    return emit(c, &scatter, operands, 3, out);
}

/* How often each number from 0 to the greatest occurs, or the sum of its weights. */
insitu_status convert_bincount(converter_t *c) {
    tensor_id_t x, weights, parts[2], count, wrong, result;
    sym_t least, size, one = sym_int(c->pool, 1);
    shape_t line = {.rank = 1, .sizes = {one}};
    TRY(take_tensor(c, "self", &x));
    TRY(take_optional_tensor(c, "weights", &weights));
    TRY(take_sym_or(c, "minlength", sym_int(c->pool, 0), &least));
    if (rank_of(c, x) != 1) return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u", rank_of(c, x));
    TRY(emit_cast(c, x, DTYPE_I64, &x));
    TRY(emit_scalar(c, OP_LT, x, sym_int(c->pool, 0), false, &wrong));
    TRY(require_none(c, wrong, "bincount only supports 1-d non-negative integral inputs."));
    parts[0] = x;
    TRY(emit_fill(c, DTYPE_I64, &line, sym_sub(c->pool, least, one), &parts[1]));
    TRY(emit_concat(c, parts, 2, 0, &count));
    TRY(emit_reduce(c, OP_AMAX, count, 1, false, &count));
    TRY(emit_scalar(c, OP_ADD, count, one, false, &count));
    TRY(define_size(c, count, 0, &size));
    if (weights.index == NONE) {
        TRY(emit_number(c, DTYPE_I64, &tensor_of(c, x)->shape, one, &weights));
    } else if (dtype_of(c, weights) != DTYPE_F32) {
        TRY(emit_cast(c, weights, DTYPE_F64, &weights));
    }
    TRY(emit_sums(c, size, x, weights, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Each position as often as its number says, in order: how many runs have ended at or before a place. */
static insitu_status emit_repeated(converter_t *c, tensor_id_t repeats, sym_t size, tensor_id_t *out) {
    tensor_id_t ends, ones;
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    layer_draft_t scan = draft_of(LAYER_SCAN);
    draft_int(c->pool, &scan, ATTR_DIM, 0);
    draft_op(&scan, OP_CUMSUM);
    TRY(emit_on(c, &scan, repeats, &ends));
    TRY(emit_number(c, DTYPE_I64, &tensor_of(c, ends)->shape, one, &ones));
    TRY(emit_sums(c, sym_add(c->pool, size, one), ends, ones, out)); /* the last run ends behind the last place */
    TRY(emit_on(c, &scan, *out, out));
    return emit_slice(c, *out, 0, zero, size, 1, out);
}

/* The repeats as a vector of i64, none of them negative, and their sum. */
static insitu_status take_repeats(converter_t *c, tensor_id_t *out_repeats, tensor_id_t *out_total) {
    tensor_id_t wrong;
    TRY(take_tensor(c, "repeats", out_repeats));
    TRY(emit_at_least_1d(c, *out_repeats, out_repeats));
    if (rank_of(c, *out_repeats) != 1) return convert_fail(c, INSITU_FORMAT, "repeats are no vector");
    TRY(emit_cast(c, *out_repeats, DTYPE_I64, out_repeats));
    TRY(emit_scalar(c, OP_LT, *out_repeats, sym_int(c->pool, 0), false, &wrong));
    TRY(require_none(c, wrong, "repeats can not be negative"));
    return emit_reduce(c, OP_SUM, *out_repeats, 1, false, out_total);
}

/* repeat_interleave.Tensor: the positions */
insitu_status convert_repeated_positions(converter_t *c) {
    tensor_id_t repeats, total, result;
    sym_t size;
    TRY(take_repeats(c, &repeats, &total));
    TRY(define_size(c, total, 0, &size));
    TRY(emit_repeated(c, repeats, size, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* repeat_interleave.self_Tensor: of all elements, or along a dimension */
insitu_status convert_repeat_by_tensor(converter_t *c) {
    tensor_id_t x, repeats, total, places, result;
    uint32_t dim = 0;
    sym_t size;
    TRY(take_tensor(c, "self", &x));
    TRY(take_repeats(c, &repeats, &total));
    if (has_arg(c, "dim")) {
        TRY(take_dim(c, "dim", 0, rank_of(c, x), &dim));
        TRY(emit_at_least_1d(c, x, &x));
    } else {
        shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
        TRY(emit_reshape(c, x, &flat, &x));
    }
    shape_t line = {.rank = 1, .sizes = {size_of(c, x, dim)}};
    if (!sym_same(size_of(c, repeats, 0), line.sizes[0])) {
        TRY(emit_expand(c, repeats, &line, &repeats));
        TRY(emit_reduce(c, OP_SUM, repeats, 1, false, &total));
    }
    TRY(define_size(c, total, dim, &size));
    TRY(emit_repeated(c, repeats, size, &places));
    TRY(emit_index_dim(c, x, places, dim, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
