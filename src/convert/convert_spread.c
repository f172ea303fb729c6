/* Tensors spread along the dimensions of others: meshgrid, broadcast_tensors, kron. */
#include "convert/convert_int.h"

/* meshgrid: vector i along dimension i; with indexing "xy" the first two change places */
insitu_status convert_meshgrid(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count;
    bool swaps = strcmp(take_string(c, "indexing"), "xy") == 0;
    TRY(take_tensors(c, "tensors", &parts, &count));
    if (count > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    shape_t whole = {.rank = count}, one = {.rank = count};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = swaps && count > 1 && i < 2 ? 1 - i : i;
        whole.sizes[dim] = shape_numel(c->pool, &tensor_of(c, parts[i])->shape);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim = swaps && count > 1 && i < 2 ? 1 - i : i;
        for (uint32_t j = 0; j < count; j++) one.sizes[j] = j == dim ? whole.sizes[j] : sym_int(c->pool, 1);
        TRY(emit_reshape(c, parts[i], &one, &result));
        TRY(emit_expand(c, result, &whole, &result));
        set_result(c, i, result);
    }
    return INSITU_OK;
}

insitu_status convert_broadcast_tensors(converter_t *c) {
    tensor_id_t *parts, result;
    uint32_t count;
    shape_t whole = {0};
    TRY(take_tensors(c, "tensors", &parts, &count));
    for (uint32_t i = 0; i < count; i++) TRY(broadcast_shapes(c, &whole, &tensor_of(c, parts[i])->shape, &whole));
    for (uint32_t i = 0; i < count; i++) {
        TRY(emit_expand(c, parts[i], &whole, &result));
        set_result(c, i, result);
    }
    return INSITU_OK;
}

/* Every element of self times the whole of other: sizes are multiplied. */
insitu_status convert_kron(converter_t *c) {
    operand_t both[2];
    dtype_t type;
    tensor_id_t result;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    tensor_id_t a = both[0].tensor, b = both[1].tensor;
    while (rank_of(c, a) < rank_of(c, b)) TRY(emit_unsqueeze(c, a, 0, &a));
    while (rank_of(c, b) < rank_of(c, a)) TRY(emit_unsqueeze(c, b, 0, &b));
    uint32_t rank = rank_of(c, a);
    if (2 * rank > MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    shape_t left = {.rank = 2 * rank}, right = {.rank = 2 * rank}, joined = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        const size_t pair = (size_t)2 * i;
        left.sizes[pair] = size_of(c, a, i);
        right.sizes[pair + 1] = size_of(c, b, i);
        left.sizes[pair + 1] = right.sizes[pair] = sym_int(c->pool, 1);
        joined.sizes[i] = sym_mul(c->pool, size_of(c, a, i), size_of(c, b, i));
    }
    TRY(emit_reshape(c, a, &left, &a));
    TRY(emit_reshape(c, b, &right, &b));
    TRY(emit_operation(c, OP_MUL, operand_of_tensor(c, a), operand_of_tensor(c, b), type, &result));
    TRY(emit_reshape(c, result, &joined, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
