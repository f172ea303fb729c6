/* Losses with a margin: what is below 0 after it costs nothing. */
#include "convert/convert_int.h"

/* Integers become f32 where the margin, a float, is added. */
static insitu_status emit_marginal(converter_t *c, tensor_id_t *x, dtype_t *type) {
    if (dtype_is_integral(*type)) *type = DTYPE_F32;
    return emit_float(c, *x, x);
}

static insitu_status emit_cost(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    sym_t zero = sym_int(c->pool, 0);
    return emit_clamp(c, x, &zero, NULL, out);
}

/* 0 where the comparison of the target with the label holds, else x */
static insitu_status emit_free_where(converter_t *c, op_kind_t comparison, tensor_id_t target, int64_t label,
                                     tensor_id_t x, tensor_id_t *out) {
    tensor_id_t is_free;
    TRY(emit_scalar(c, comparison, target, sym_int(c->pool, label), false, &is_free));
    return emit_number_where(c, is_free, sym_float(c->pool, 0), x, out);
}

/* self where the target is 1, max(0, margin - self) where it is -1, both added elsewhere */
insitu_status convert_hinge_embedding_loss(converter_t *c) {
    static const char *const names[2] = {"self", "target"};
    tensor_id_t both[2], cost, kept;
    dtype_t type;
    sym_t margin;
    TRY(take_loss_operands(c, names, 2, both, &type));
    TRY(take_real(c, "margin", 1, &margin));
    TRY(emit_marginal(c, &both[0], &type));
    TRY(emit_scalar(c, OP_SUB, both[0], margin, true, &cost));
    TRY(emit_cost(c, cost, &cost));
    TRY(emit_free_where(c, OP_EQ, both[1], 1, cost, &cost));
    TRY(emit_free_where(c, OP_EQ, both[1], -1, both[0], &kept));
    TRY(emit_binary(c, OP_ADD, cost, kept, &cost));
    return finish_loss(c, cost, type);
}

/* max(0, margin - target (input1 - input2)) */
insitu_status convert_margin_ranking_loss(converter_t *c) {
    static const char *const names[3] = {"input1", "input2", "target"};
    tensor_id_t all[3], cost;
    dtype_t type;
    sym_t margin;
    TRY(take_loss_operands(c, names, 3, all, &type));
    TRY(take_real(c, "margin", 0, &margin));
    TRY(emit_binary(c, OP_SUB, all[0], all[1], &cost));
    TRY(emit_unary(c, OP_NEG, all[2], &all[2]));
    TRY(emit_binary(c, OP_MUL, all[2], cost, &cost));
    TRY(emit_marginal(c, &cost, &type));
    TRY(emit_scalar(c, OP_ADD, cost, margin, false, &cost));
    TRY(emit_cost(c, cost, &cost));
    return finish_loss(c, cost, type);
}

static insitu_status emit_row_product(converter_t *c, tensor_id_t a, tensor_id_t b, double more, tensor_id_t *out) {
    TRY(emit_binary(c, OP_MUL, a, b, out));
    TRY(emit_reduce(c, OP_SUM, *out, 1u << (rank_of(c, *out) - 1), false, out));
    return more > 0 ? emit_scalar_float(c, OP_ADD, *out, more, false, out) : INSITU_OK;
}

/* a b / sqrt((a a + 1e-12) (b b + 1e-12)) over the last dimension */
static insitu_status emit_cosine(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    tensor_id_t first, second;
    TRY(emit_row_product(c, a, a, 1e-12, &first));
    TRY(emit_row_product(c, b, b, 1e-12, &second));
    TRY(emit_binary(c, OP_MUL, first, second, &first));
    TRY(emit_unary(c, OP_SQRT, first, &first));
    TRY(emit_row_product(c, a, b, 0, out));
    return emit_binary(c, OP_DIV, *out, first, out);
}

/* Of the cosine s of the rows: 1 - s where the target is 1, max(0, s - margin) where it is -1, 0 elsewhere */
insitu_status convert_cosine_embedding_loss(converter_t *c) {
    static const char *const names[2] = {"input1", "input2"};
    tensor_id_t both[2], target, cosine, near, far;
    dtype_t type;
    sym_t margin;
    TRY(take_loss_operands(c, names, 2, both, &type));
    TRY(take_tensor(c, "target", &target));
    TRY(take_real(c, "margin", 0, &margin));
    if (rank_of(c, both[0]) == 0 || rank_of(c, both[1]) == 0)
        return convert_fail(c, INSITU_FORMAT, "a tensor without dimensions");
    for (uint32_t i = 0; i < 2; i++) TRY(emit_marginal(c, &both[i], &type));
    TRY(emit_cosine(c, both[0], both[1], &cosine));
    TRY(emit_scalar_float(c, OP_SUB, cosine, 1, true, &near));
    TRY(emit_scalar(c, OP_SUB, cosine, margin, false, &far));
    TRY(emit_cost(c, far, &far));
    TRY(emit_free_where(c, OP_NE, target, 1, near, &near));
    TRY(emit_free_where(c, OP_NE, target, -1, far, &far));
    TRY(emit_binary(c, OP_ADD, near, far, &near));
    return finish_loss(c, near, type);
}

/* max(0, margin + |anchor - positive| - |anchor - negative|); swap: the nearer of anchor and positive to negative */
insitu_status convert_triplet_margin_loss(converter_t *c) {
    static const char *const names[3] = {"anchor", "positive", "negative"};
    tensor_id_t all[3], near, far, other;
    dtype_t type;
    double order;
    sym_t margin, eps;
    bool swap;
    TRY(take_loss_operands(c, names, 3, all, &type));
    TRY(take_float(c, "p", 2, &order));
    TRY(take_real(c, "eps", 1e-6, &eps));
    TRY(take_real(c, "margin", 1, &margin));
    TRY(take_flag(c, "swap", false, &swap));
    TRY(emit_row_distance(c, all[0], all[1], order, eps, false, &near));
    TRY(emit_row_distance(c, all[0], all[2], order, eps, false, &far));
    if (swap) {
        TRY(emit_row_distance(c, all[1], all[2], order, eps, false, &other));
        TRY(emit_binary(c, OP_MINIMUM, far, other, &far));
    }
    TRY(emit_marginal(c, &near, &type));
    TRY(emit_scalar(c, OP_ADD, near, margin, false, &near));
    TRY(emit_binary(c, OP_SUB, near, far, &near));
    TRY(emit_cost(c, near, &near));
    return finish_loss(c, near, type);
}
