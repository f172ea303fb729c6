/* Bytes under another dtype, and complex numbers as pairs of floats: they are stored, moved and seen as their parts, (..., n) of
 * c64 as (..., n, 2) of f32. (convert_complex.c computes with them.) */
#include "convert/convert_int.h"

dtype_t part_of(dtype_t type) { return type == DTYPE_C128 ? DTYPE_F64 : type == DTYPE_C64 ? DTYPE_F32 : DTYPE_F16; }

/* c32, c64, c128; DTYPE_COUNT if the parts can't be of that dtype. */
static dtype_t whole_of(dtype_t part) {
    return part == DTYPE_F64 ? DTYPE_C128 : part == DTYPE_F32 ? DTYPE_C64 : part == DTYPE_F16 ? DTYPE_C32 : DTYPE_COUNT;
}

insitu_status emit_bitcast(converter_t *c, tensor_id_t x, dtype_t type, tensor_id_t *out) {
    *out = x;
    if (dtype_of(c, x) == type) return INSITU_OK;
    layer_draft_t bitcast = draft_of(LAYER_BITCAST);
    draft_dtype(&bitcast, type);
    return emit_on(c, &bitcast, x, out);
}

/* The pairs that x was made of; NO_TENSOR if it wasn't. */
static tensor_id_t pairs_behind(const converter_t *c, tensor_id_t x) {
    const layer_t *reshape = producer_of(c, x), *bitcast = NULL;
    if (reshape && reshape->kind == LAYER_RESHAPE) bitcast = producer_of(c, reshape->operands[0]);
    if (!bitcast || bitcast->kind != LAYER_BITCAST) return NO_TENSOR;
    tensor_id_t pairs = bitcast->operands[0];
    shape_t shape = tensor_of(c, x)->shape;
    if (dtype_of(c, pairs) != part_of(dtype_of(c, x)) || shape.rank == MAX_RANK) return NO_TENSOR;
    shape.sizes[shape.rank++] = sym_int(c->pool, 2);
    return shape_same(&tensor_of(c, pairs)->shape, &shape) ? pairs : NO_TENSOR;
}

insitu_status emit_to_real_pairs(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    *out = pairs_behind(c, x);
    if (out->index != NONE) return INSITU_OK;
    TRY(emit_unsqueeze(c, x, rank_of(c, x), out));
    return emit_bitcast(c, *out, part_of(dtype_of(c, x)), out);
}

insitu_status emit_from_real_pairs(converter_t *c, tensor_id_t pairs, tensor_id_t *out) {
    dtype_t type = whole_of(dtype_of(c, pairs));
    uint32_t rank = rank_of(c, pairs);
    if (type == DTYPE_COUNT) return convert_unsupported(c, "complex numbers of %s", dtype_name(dtype_of(c, pairs)));
    if (rank == 0 || !is_int_constant(c, size_of(c, pairs, rank - 1), 2)) {
        return convert_fail(c, INSITU_FORMAT, "the last dimension must hold two parts");
    }
    TRY(emit_bitcast(c, pairs, type, out));
    return emit_squeeze(c, *out, rank - 1, out);
}

/* One part along the last dimension of (..., n, 2). */
static insitu_status emit_part(converter_t *c, tensor_id_t pairs, int64_t index, tensor_id_t *out) {
    sym_t start = sym_int(c->pool, index), end = sym_int(c->pool, index + 1);
    return emit_slice(c, pairs, rank_of(c, pairs) - 1, start, end, 1, out);
}

insitu_status emit_to_parts(converter_t *c, tensor_id_t x, tensor_id_t out[2]) {
    tensor_id_t pairs;
    TRY(emit_to_real_pairs(c, x, &pairs));
    const layer_t *concat = producer_of(c, pairs);
    bool are_apart = concat && concat->kind == LAYER_CONCAT && concat->operand_count == 2 &&
                     is_int_constant(c, layer_attr(concat, ATTR_DIM).value, rank_of(c, x));
    for (uint32_t i = 0; i < 2; i++) {
        tensor_id_t part = are_apart ? concat->operands[i] : NO_TENSOR;
        if (!are_apart) TRY(emit_part(c, pairs, i, &part));
        TRY(emit_squeeze(c, part, rank_of(c, x), &out[i]));
    }
    return INSITU_OK;
}

insitu_status emit_from_parts(converter_t *c, const tensor_id_t parts[2], tensor_id_t *out) {
    shape_t shape;
    tensor_id_t both[2];
    TRY(broadcast_shapes(c, &tensor_of(c, parts[0])->shape, &tensor_of(c, parts[1])->shape, &shape));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_expand(c, parts[i], &shape, &both[i]));
        TRY(emit_unsqueeze(c, both[i], shape.rank, &both[i]));
    }
    TRY(emit_concat(c, both, 2, shape.rank, out));
    return emit_from_real_pairs(c, *out, out);
}

insitu_status emit_complex_fill(converter_t *c, dtype_t type, const shape_t *shape, sym_t value, tensor_id_t *out) {
    shape_t pairs = *shape;
    tensor_id_t parts[2];
    sym_t zero = sym_int(c->pool, 0);
    if (shape->rank == MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    bool is_zero = is_int_constant(c, value, 0);
    pairs.sizes[pairs.rank++] = sym_int(c->pool, is_zero ? 2 : 1);
    TRY(emit_fill(c, part_of(type), &pairs, value, &parts[0]));
    if (!is_zero) {
        TRY(emit_fill(c, part_of(type), &pairs, zero, &parts[1]));
        TRY(emit_concat(c, parts, 2, shape->rank, &parts[0]));
    }
    return emit_from_real_pairs(c, parts[0], out);
}

/* To bool: whether it is not 0; to other numbers: the real part. */
static insitu_status emit_cast_to_real(converter_t *c, tensor_id_t x, dtype_t type, tensor_id_t *out) {
    tensor_id_t parts[2];
    TRY(emit_to_parts(c, x, parts));
    TRY(emit_cast(c, parts[0], type, out));
    if (type != DTYPE_BOOL) return INSITU_OK;
    TRY(emit_cast(c, parts[1], type, &parts[1]));
    return emit_binary(c, OP_LOGICAL_OR, *out, parts[1], out);
}

insitu_status emit_complex_cast(converter_t *c, tensor_id_t x, dtype_t type, tensor_id_t *out) {
    tensor_id_t parts[2];
    if (!dtype_is_complex(type)) return emit_cast_to_real(c, x, type, out);
    if (dtype_is_complex(dtype_of(c, x))) {
        TRY(emit_to_real_pairs(c, x, out));
        TRY(emit_cast(c, *out, part_of(type), out));
        return emit_from_real_pairs(c, *out, out);
    }
    TRY(emit_cast(c, x, part_of(type), &parts[0]));
    TRY(emit_number(c, part_of(type), &tensor_of(c, x)->shape, sym_int(c->pool, 0), &parts[1]));
    return emit_from_parts(c, parts, out);
}

/* view.dtype */
insitu_status convert_view_dtype(converter_t *c) {
    tensor_id_t x, result;
    dtype_t type;
    TRY(take_tensor(c, "self", &x));
    TRY(take_dtype(c, "dtype", dtype_of(c, x), &type));
    TRY(emit_bitcast(c, x, type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_view_as_real(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    if (!dtype_is_complex(dtype_of(c, x))) return convert_fail(c, INSITU_FORMAT, "of a tensor that is not complex");
    TRY(emit_to_real_pairs(c, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_view_as_complex(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_from_real_pairs(c, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* complex(real, imag) */
insitu_status convert_complex(converter_t *c) {
    tensor_id_t parts[2], result;
    TRY(take_tensor(c, "real", &parts[0]));
    TRY(take_tensor(c, "imag", &parts[1]));
    TRY(emit_from_parts(c, parts, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* real and imag: param 0 or 1; a real tensor is its own real part. */
insitu_status convert_component(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    if (!dtype_is_complex(dtype_of(c, x))) {
        if (c->param) return convert_fail(c, INSITU_FORMAT, "of a tensor that is not complex");
        set_only_result(c, x);
        return INSITU_OK;
    }
    TRY(emit_to_real_pairs(c, x, &result)); /* a view of x, which may be written through */
    TRY(emit_part(c, result, c->param, &result));
    TRY(emit_squeeze(c, result, rank_of(c, x), &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status emit_conjugate(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    tensor_id_t parts[2];
    *out = x;
    if (!dtype_is_complex(dtype_of(c, x))) return INSITU_OK;
    TRY(emit_to_parts(c, x, parts));
    TRY(emit_unary(c, OP_NEG, parts[1], &parts[1]));
    return emit_from_parts(c, parts, out);
}

/* conj and its kin */
insitu_status convert_conjugate(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_conjugate(c, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
