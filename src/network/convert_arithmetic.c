/* Operators of two operands, with PyTorch's promotion: dimensioned tensors beat 0-d tensors beat Python numbers within a
 * category. A number stays a number: the layer's scalar. */
#include "network/convert_int.h"

/* True is given to the symbol if an element of the tensor is 0. */
static insitu_status emit_any_zero(converter *c, tensor_id x, sym *out) {
    char name[16];
    uint32_t number = c->pool->symbol_count;
    do {
        snprintf(name, sizeof(name), "u%u", number++);
    } while (sym_find_symbol(c->pool, name) != NONE);
    *out = sym_of_symbol(c->pool, sym_add_symbol(c->pool, name, SYM_KIND_INT, 0, 1));
    draft item = draft_of(LAYER_ITEM);
    uint32_t rank = rank_of(c, x);
    TRY(emit_scalar(c, OP_EQ, x, sym_int(c->pool, 0), false, &x));
    if (rank) TRY(emit_reduce(c, OP_ANY, x, (2u << (rank - 1)) - 1, false, &x));
    draft_attr(&item, ATTR_SYMBOL, attr_of_sym(*out));
    return emit(c, &item, &x, 1, NULL);
}

/* PyTorch raises where an integer is divided by 0: a requirement, checked before the call writes, or its writes are taken
 * back. */
static insitu_status require_divisor(converter *c, op_kind op, operand divisor, dtype type) {
    sym zero = sym_int(c->pool, 0), condition;
    bool divides = op == OP_DIV_FLOOR || op == OP_DIV_TRUNC || op == OP_REMAINDER || op == OP_FMOD;
    if (!divides || !dtype_is_integral(type)) return INSITU_OK;
    if (divisor.is_number) {
        condition = sym_compare(c->pool, SYM_NE, divisor.number, zero);
    } else {
        TRY(emit_cast(c, divisor.tensor, type, &divisor.tensor));
        TRY(emit_any_zero(c, divisor.tensor, &condition));
        condition = sym_compare(c->pool, SYM_EQ, condition, zero);
    }
    if (sym_truth(c->pool, condition) == TRUTH_FALSE) return convert_unsupported(c, "an integer divided by 0");
    return network_require(c->network, condition, "an integer is divided by 0", c->node->source);
}

static insitu_status convert_two(converter *c, op_kind op, operand a, operand b) {
    operand both[2] = {a, b};
    dtype type;
    tensor_id result;
    TRY(promote(c, both, 2, &type));
    if ((op == OP_DIV || op == OP_ATAN2) && dtype_is_integral(type)) type = DTYPE_F32;
    if (op_group_of(op) == OPS_COMPARE && (op == OP_LOGICAL_AND || op == OP_LOGICAL_OR || op == OP_LOGICAL_XOR)) {
        type = DTYPE_BOOL;
    }
    TRY(require_divisor(c, op, b, type));
    TRY(emit_operation(c, op, a, b, type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_binary(converter *c, int32_t param) {
    operand a, b;
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "other", &b));
    return convert_two(c, (op_kind)param, a, b);
}

/* operand * alpha in the dtype of the result, f16 and bf16 rounded: PyTorch's vector and scalar loops differ there, and
 * this is the scalar one. */
static insitu_status scale_operand(converter *c, dtype type, operand *operand) {
    sym alpha;
    TRY(take_sym_or(c, "alpha", sym_int(c->pool, 1), &alpha));
    double factor;
    bool known = sym_constant_float(c->pool, alpha, &factor);
    if (known && factor == 1.0) return INSITU_OK;
    if (known && wide_dtype(type) != type) alpha = sym_float(c->pool, dtype_round(type, factor));
    if (operand->is_number) {
        *operand = operand_of_number(c, sym_mul(c->pool, alpha, operand->number));
        return INSITU_OK;
    }
    tensor_id scaled;
    TRY(emit_cast(c, operand->tensor, type, &scaled));
    TRY(emit_scalar(c, OP_MUL, scaled, alpha, false, &scaled));
    *operand = operand_of_tensor(c, scaled);
    return INSITU_OK;
}

/* left + alpha right, left - alpha right */
static insitu_status add_scaled(converter *c, int32_t op, const char *left, const char *right) {
    operand both[2];
    dtype type;
    tensor_id result;
    TRY(take_operand(c, left, &both[0]));
    TRY(take_operand(c, right, &both[1]));
    TRY(promote(c, both, 2, &type));
    TRY(scale_operand(c, type, &both[1]));
    TRY(emit_operation(c, (op_kind)op, both[0], both[1], type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_add(converter *c, int32_t param) { return add_scaled(c, param, "self", "other"); }
insitu_status convert_rsub(converter *c, int32_t param) { return add_scaled(c, param, "other", "self"); }

insitu_status convert_div(converter *c, int32_t param) {
    (void)param;
    operand a, b;
    const char *mode = take_string(c, "rounding_mode");
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "other", &b));
    op_kind op = strcmp(mode, "floor") == 0 ? OP_DIV_FLOOR : strcmp(mode, "trunc") == 0 ? OP_DIV_TRUNC : OP_DIV;
    return convert_two(c, op, a, b);
}

insitu_status convert_pow(converter *c, int32_t param) {
    (void)param;
    operand a, b;
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "exponent", &b));
    int64_t exponent;
    if (b.is_number && dtype_is_integral(a.dtype) && sym_constant(c->pool, b.number, &exponent) && exponent < 0) {
        return convert_unsupported(c, "integers to a negative power");
    }
    return convert_two(c, OP_POW, a, b);
}

insitu_status convert_square(converter *c, int32_t param) {
    (void)param;
    tensor_id x, result;
    TRY(take_tensor(c, "self", &x));
    if (dtype_of(c, x) == DTYPE_BOOL) TRY(emit_cast(c, x, DTYPE_I64, &x));
    TRY(emit_binary(c, OP_MUL, x, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* self + value tensor1 tensor2, self + value tensor1 / tensor2 */
insitu_status convert_addc(converter *c, int32_t param) {
    operand operands[3];
    dtype type;
    tensor_id product;
    sym value;
    TRY(take_operand(c, "self", &operands[0]));
    TRY(take_operand(c, "tensor1", &operands[1]));
    TRY(take_operand(c, "tensor2", &operands[2]));
    TRY(promote(c, operands, 3, &type));
    dtype wide = wide_dtype(type);
    TRY(take_sym_or(c, "value", sym_int(c->pool, 1), &value));
    double factor;
    if (!sym_constant_float(c->pool, value, &factor) || factor != 1.0) {
        TRY(emit_operation(c, OP_MUL, operands[1], operand_of_number(c, value), wide, &product));
        operands[1] = operand_of_tensor(c, product);
    }
    TRY(emit_operation(c, (op_kind)param, operands[1], operands[2], wide, &product));
    TRY(emit_operation(c, OP_ADD, operands[0], operand_of_tensor(c, product), wide, &product));
    return finish_wide(c, product, type);
}

/* weight < 0.5: self + weight (end - self), else end - (end - self) (1 - weight) */
static insitu_status lerp_near(converter *c, tensor_id self, tensor_id span, operand weight, tensor_id *out) {
    TRY(emit_operation(c, OP_MUL, operand_of_tensor(c, span), weight, dtype_of(c, span), out));
    return emit_binary(c, OP_ADD, self, *out, out);
}

static insitu_status lerp_far(converter *c, tensor_id end, tensor_id span, operand weight, tensor_id *out) {
    dtype type = dtype_of(c, span);
    operand rest;
    if (weight.is_number) {
        sym one = sym_int(c->pool, 1), minus = sym_int(c->pool, -1);
        rest = operand_of_number(c, sym_add(c->pool, one, sym_mul(c->pool, minus, weight.number)));
    } else {
        TRY(emit_scalar(c, OP_SUB, weight.tensor, sym_int(c->pool, 1), true, out));
        rest = operand_of_tensor(c, *out);
    }
    TRY(emit_operation(c, OP_MUL, operand_of_tensor(c, span), rest, type, out));
    return emit_binary(c, OP_SUB, end, *out, out);
}

insitu_status convert_lerp(converter *c, int32_t param) {
    (void)param;
    tensor_id self, end, span, near, far, small, result;
    operand weight;
    TRY(take_tensor(c, "self", &self));
    TRY(take_tensor(c, "end", &end));
    TRY(take_operand(c, "weight", &weight));
    if (dtype_of(c, self) != dtype_of(c, end)) return convert_unsupported(c, "operands of two dtypes");
    dtype type = dtype_of(c, self);
    TRY(emit_wide(c, self, &self));
    TRY(emit_wide(c, end, &end));
    if (!weight.is_number) {
        TRY(emit_wide(c, weight.tensor, &weight.tensor));
        weight = operand_of_tensor(c, weight.tensor);
    }
    TRY(emit_binary(c, OP_SUB, end, self, &span));
    if (weight.is_number) {
        double value;
        if (!sym_constant_float(c->pool, weight.number, &value)) {
            return convert_unsupported(c, "argument 'weight' is not a constant");
        }
        if (value < 0.5 && value > -0.5) {
            TRY(lerp_near(c, self, span, weight, &result));
        } else {
            TRY(lerp_far(c, end, span, weight, &result));
        }
    } else {
        TRY(lerp_near(c, self, span, weight, &near));
        TRY(lerp_far(c, end, span, weight, &far));
        TRY(emit_unary(c, OP_ABS, weight.tensor, &small));
        TRY(emit_scalar_float(c, OP_LT, small, 0.5, false, &small));
        TRY(emit_where(c, small, near, far, &result));
    }
    return finish_wide(c, result, type);
}
