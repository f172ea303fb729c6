/* Operators of one operand, casts and copies. */
#include "convert/convert_int.h"

#include <math.h>

/* The operand, which PyTorch's primitives call a. */
static insitu_status take_source(converter_t *c, tensor_id_t *out) {
    return take_tensor(c, has_arg(c, "a") ? "a" : "self", out);
}

/* On floats as they are; integers become f32 first. */
insitu_status convert_unary_float(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_float(c, x, &x));
    TRY(emit_unary(c, (op_kind_t)c->param, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status finish_unary(converter_t *c, op_kind_t op) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    TRY(emit_unary(c, op, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* On any dtype. */
insitu_status convert_unary(converter_t *c) { return finish_unary(c, (op_kind_t)c->param); }

static insitu_status finish_rounding(converter_t *c, op_kind_t op) {
    tensor_id_t x;
    TRY(take_tensor(c, "self", &x));
    if (!dtype_is_integral(dtype_of(c, x))) TRY(emit_unary(c, op, x, &x));
    set_only_result(c, x);
    return INSITU_OK;
}

/* Rounding: integers stay as they are. */
insitu_status convert_rounding(converter_t *c) { return finish_rounding(c, (op_kind_t)c->param); }

/* round(x 10^decimals) / 10^decimals; for negative decimals the other way round */
insitu_status convert_round_decimals(converter_t *c) {
    tensor_id_t x, result;
    int64_t decimals;
    TRY(take_tensor(c, "self", &x));
    TRY(take_int(c, "decimals", 0, &decimals));
    dtype_t type = dtype_of(c, x);
    if (decimals == 0 || dtype_is_integral(type)) return finish_rounding(c, OP_ROUND);
    if (decimals < -300 || decimals > 300) return convert_unsupported(c, "%lld decimals", (long long)decimals);
    double power = pow(10, (double)(decimals < 0 ? -decimals : decimals));
    TRY(emit_wide(c, x, &x));
    TRY(emit_scalar_float(c, decimals < 0 ? OP_DIV : OP_MUL, x, power, false, &result));
    TRY(emit_unary(c, OP_ROUND, result, &result));
    TRY(emit_scalar_float(c, decimals < 0 ? OP_MUL : OP_DIV, result, power, false, &result));
    return finish_wide(c, result, type);
}

/* Results that are their operand: detach, alias, positive, and the like. */
insitu_status convert_same(converter_t *c) {
    tensor_id_t x;
    TRY(take_source(c, &x));
    set_only_result(c, x);
    return INSITU_OK;
}

insitu_status convert_clone(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_source(c, &x));
    TRY(emit_copy(c, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* A tensor that is dense already is itself. */
insitu_status convert_contiguous(converter_t *c) {
    const graph_arg_t *arg = take_arg(c, "self");
    if (arg->kind == ARG_VALUE && type_is_dense(c->pool, &graph_value_of(c->graph, arg->value)->type)) {
        return convert_same(c);
    }
    return convert_clone(c);
}

/* to.*, _to_copy: param 1 makes a copy where the dtype stays. */
insitu_status convert_to(converter_t *c) {
    tensor_id_t x, result;
    dtype_t type;
    TRY(take_source(c, &x));
    TRY(take_dtype(c, "dtype", dtype_of(c, x), &type));
    if (has_arg(c, "other")) {
        tensor_id_t other;
        TRY(take_tensor(c, "other", &other));
        type = dtype_of(c, other);
    }
    bool copy;
    TRY(take_flag(c, "copy", c->param != 0, &copy));
    TRY(emit_cast(c, x, type, &result));
    if (copy && type == dtype_of(c, x)) TRY(emit_copy(c, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* copy(self, src): src in self's dtype and sizes */
insitu_status convert_copy(converter_t *c) {
    tensor_id_t self, source;
    TRY(take_tensor(c, "self", &self));
    TRY(take_tensor(c, "src", &source));
    TRY(emit_cast(c, source, dtype_of(c, self), &source));
    TRY(emit_expand(c, source, &tensor_of(c, self)->shape, &source));
    set_only_result(c, source);
    return INSITU_OK;
}

/* dropout and its kin in evaluation: the input itself */
insitu_status convert_dropout(converter_t *c) {
    tensor_id_t x;
    bool train;
    double p;
    sym_t rate;
    TRY(take_tensor(c, "input", &x));
    TRY(take_real(c, "p", 0, &rate));
    TRY(take_flag(c, "train", true, &train));
    bool drops = !sym_constant_float(c->pool, rate, &p) || p != 0;
    if (train && drops) return convert_unsupported(c, "in training mode");
    set_only_result(c, x);
    return INSITU_OK;
}
