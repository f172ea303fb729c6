/* Sizes that data decide: nonzero, masked_select, x[mask].
 *
 *     %r: f32[u0] = aten.index.Tensor(%x, [%mask])   ->
 *     %count: i64[] = reduce(cast(%flat mask)) {op=sum};  item(%count) {symbol=u0}
 *     %order: i64[12] = the second result of sort(%flat mask) {descending=true};  %at: i64[u0] = slice(%order) {end=u0}
 *     %r: f32[u0] = index(%flat x, %at)
 *
 * The order is stable, so the places of what is true come first, as they lie. A program that looks twice at one mask uses
 * one symbol; the places are computed once. A number that the program takes as known is checked (convert_item.c). */
#include "convert/convert_int.h"

static insitu_status emit_count(converter_t *c, tensor_id_t flat, sym_t number) {
    tensor_id_t count;
    TRY(emit_cast(c, flat, DTYPE_I64, &count));
    TRY(emit_reduce(c, OP_SUM, count, 1, false, &count));
    return emit_item(c, count, number);
}

/* The places in row-major order of what isn't zero in x: i64[size dim of the node's result]. */
static insitu_status emit_places(converter_t *c, tensor_id_t x, uint32_t dim, tensor_id_t *out) {
    tensor_id_t flat, sorted[MAX_RESULTS];
    const graph_value_t *result = graph_value_of(c->graph, c->node->results[0]);
    if (result->kind != VALUE_TENSOR || dim >= result->type.shape.rank)
        return convert_fail(c, INSITU_FORMAT, "its result has not the rank that it gives");
    sym_t number = result->type.shape.sizes[dim];
    uint32_t symbol = sym_symbol_index(c->pool, number);
    counted_mask_t *counted = symbol == NONE ? NULL : &c->counted[symbol];
    if (counted && counted->places.index != NONE && counted->mask.index == x.index) {
        *out = counted->places;
        return INSITU_OK;
    }
    shape_t line = {.rank = 1, .sizes = {shape_numel(c->pool, &tensor_of(c, x)->shape)}};
    TRY(emit_cast(c, x, DTYPE_BOOL, &flat));
    TRY(emit_reshape(c, flat, &line, &flat));
    TRY(emit_count(c, flat, number));
    TRY(emit_sort(c, flat, 0, true, sorted));
    TRY(emit_slice(c, sorted[1], 0, sym_int(c->pool, 0), number, 1, out));
    if (counted && counted->places.index == NONE) *counted = (counted_mask_t){.mask = x, .places = *out};
    return INSITU_OK;
}

insitu_status emit_masked(converter_t *c, tensor_id_t x, tensor_id_t mask, uint32_t dim, tensor_id_t *out) {
    const shape_t from = tensor_of(c, x)->shape, masked = tensor_of(c, mask)->shape;
    if (masked.rank == 0) return convert_unsupported(c, "a mask without dimensions");
    if (dim + masked.rank > from.rank)
        return convert_fail(c, INSITU_FORMAT, "more dimensions in the mask than in self");
    for (uint32_t i = 0; i < masked.rank; i++)
        if (!sym_same(from.sizes[dim + i], masked.sizes[i]))
            return convert_unsupported(c, "a mask whose sizes are not those of self");
    shape_t shape = {.rank = from.rank - masked.rank + 1};
    for (uint32_t i = 0; i < dim; i++) shape.sizes[i] = from.sizes[i];
    shape.sizes[dim] = shape_numel(c->pool, &masked);
    for (uint32_t i = dim + 1; i < shape.rank; i++) shape.sizes[i] = from.sizes[i + masked.rank - 1];
    tensor_id_t places;
    TRY(emit_places(c, mask, dim, &places));
    TRY(emit_reshape(c, x, &shape, &x));
    return emit_index_dim(c, x, places, dim, out);
}

/* A row of positions for each element; param 1: the columns, a result each */
insitu_status convert_nonzero(converter_t *c) {
    tensor_id_t x, places, columns[MAX_RANK], result;
    TRY(take_tensor(c, schema_arg_index(c->node->schema, "self") == NONE ? "condition" : "self", &x));
    const shape_t shape = tensor_of(c, x)->shape;
    if (shape.rank == 0) return convert_unsupported(c, "a tensor without dimensions");
    TRY(emit_places(c, x, 0, &places));
    sym_t inner = sym_int(c->pool, 1);
    for (uint32_t i = shape.rank; i-- > 0;) {
        columns[i] = places;
        if (!is_int_constant(c, inner, 1)) TRY(emit_scalar(c, OP_DIV_FLOOR, columns[i], inner, false, &columns[i]));
        if (i > 0) TRY(emit_scalar(c, OP_REMAINDER, columns[i], shape.sizes[i], false, &columns[i]));
        inner = sym_mul(c->pool, inner, shape.sizes[i]);
    }
    if (c->param && c->node->result_count != shape.rank) return convert_fail(c, INSITU_FORMAT, "a result a dimension");
    for (uint32_t i = 0; c->param && i < shape.rank; i++) set_result(c, i, columns[i]);
    if (c->param) return INSITU_OK;
    for (uint32_t i = 0; i < shape.rank; i++) TRY(emit_unsqueeze(c, columns[i], 1, &columns[i]));
    TRY(emit_concat(c, columns, shape.rank, 1, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_masked_select(converter_t *c) {
    tensor_id_t x, mask, result;
    shape_t common;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "mask", &mask));
    TRY(broadcast_shapes(c, &tensor_of(c, x)->shape, &tensor_of(c, mask)->shape, &common));
    if (common.rank == 0) common = (shape_t){.rank = 1, .sizes = {sym_int(c->pool, 1)}};
    TRY(emit_expand(c, x, &common, &x));
    TRY(emit_expand(c, mask, &common, &mask));
    TRY(emit_masked(c, x, mask, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
