/* scaled_dot_product_attention as one attention layer of rank 4. Queries (..., H, T, D) of rank 4 keep their dimensions;
 * of rank 3 the heads are one; of rank 2 the batch too; of more the leading ones are joined. */
#include "convert/convert_int.h"

#include <math.h>

/* To rank 4. lead: the dimensions before the last three, which are joined. */
static insitu_status to_rank_4(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    const shape_t *from = &tensor_of(c, x)->shape;
    sym_t one = sym_int(c->pool, 1);
    shape_t shape = {.rank = 4, .sizes = {one, one, from->sizes[from->rank - 2], from->sizes[from->rank - 1]}};
    if (from->rank == 3) shape.sizes[0] = from->sizes[0];
    if (from->rank >= 4) {
        for (uint32_t i = 0; i + 3 < from->rank; i++) {
            shape.sizes[0] = sym_mul(c->pool, shape.sizes[0], from->sizes[i]);
        }
        shape.sizes[1] = from->sizes[from->rank - 3];
    }
    return emit_reshape(c, x, &shape, out);
}

/* Leading dimensions of keys and values as the queries': those before the heads broadcast. */
static insitu_status match_batch(converter_t *c, tensor_id_t q, tensor_id_t x, tensor_id_t *out) {
    shape_t wanted = tensor_of(c, x)->shape;
    const shape_t *queries = &tensor_of(c, q)->shape;
    *out = x;
    if (wanted.rank != queries->rank) return convert_unsupported(c, "operands of different rank");
    uint32_t kept = wanted.rank == 3 ? 2 : 3;
    for (uint32_t i = 0; i + kept < wanted.rank; i++) {
        if (is_int_constant(c, wanted.sizes[i], 1)) wanted.sizes[i] = queries->sizes[i];
    }
    return emit_expand(c, x, &wanted, out);
}

static insitu_status take_mask(converter_t *c, tensor_id_t q, tensor_id_t k, tensor_id_t *out) {
    TRY(take_optional_tensor(c, "attn_mask", out));
    if (out->index == NONE) return INSITU_OK;
    dtype_t type = dtype_of(c, *out);
    if (type != DTYPE_BOOL) TRY(emit_cast(c, *out, dtype_of(c, q), out));
    shape_t wanted = tensor_of(c, q)->shape;
    wanted.sizes[wanted.rank - 1] = size_of(c, k, rank_of(c, k) - 2);
    TRY(emit_expand(c, *out, &wanted, out));
    return to_rank_4(c, *out, out);
}

static insitu_status take_scale(converter_t *c, tensor_id_t q, sym_t *out) {
    int64_t constant;
    sym_t size = size_of(c, q, rank_of(c, q) - 1);
    TRY(take_real(c, "scale", 1, out));
    if (has_arg(c, "scale")) return INSITU_OK;
    if (sym_constant(c->pool, size, &constant)) {
        if (constant < 1) return convert_unsupported(c, "a head size of 0");
        *out = sym_float(c->pool, 1 / sqrt((double)constant));
        return INSITU_OK;
    }
    sym_t parts[2] = {sym_float(c->pool, 1), sym_make(c->pool, SYM_SQRT, &size, 1)};
    *out = sym_make(c->pool, SYM_TRUEDIV, parts, 2);
    return INSITU_OK;
}

insitu_status convert_attention(converter_t *c) {
    tensor_id_t operands[4], result;
    double dropout;
    sym_t scale;
    bool causal;
    TRY(take_tensor(c, "query", &operands[0]));
    TRY(take_tensor(c, "key", &operands[1]));
    TRY(take_tensor(c, "value", &operands[2]));
    TRY(take_float(c, "dropout_p", 0, &dropout));
    TRY(take_flag(c, "is_causal", false, &causal));
    if (dropout != 0) return convert_unsupported(c, "with dropout");
    for (uint32_t i = 0; i < 3; i++) {
        if (rank_of(c, operands[i]) < 2) return convert_fail(c, INSITU_FORMAT, "an operand of rank below 2");
    }
    TRY(take_scale(c, operands[0], &scale));
    shape_t shape = tensor_of(c, operands[0])->shape;
    shape.sizes[shape.rank - 1] = size_of(c, operands[2], rank_of(c, operands[2]) - 1);
    TRY(match_batch(c, operands[0], operands[1], &operands[1]));
    TRY(match_batch(c, operands[0], operands[2], &operands[2]));
    TRY(take_mask(c, operands[0], operands[1], &operands[3]));
    for (uint32_t i = 0; i < 3; i++) TRY(to_rank_4(c, operands[i], &operands[i]));
    layer_draft_t attention = draft_of(LAYER_ATTENTION);
    draft_flag(c->pool, &attention, ATTR_CAUSAL, causal);
    draft_sym(&attention, ATTR_SCALE, scale);
    TRY(emit(c, &attention, operands, operands[3].index == NONE ? 3 : 4, &result));
    TRY(emit_reshape(c, result, &shape, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
