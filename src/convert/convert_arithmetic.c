/* Operators of two operands, with PyTorch's promotion: dimensioned tensors beat 0-d tensors beat Python numbers within a
 * category. A number stays a number: the layer's scalar. */
#include "convert/convert_int.h"

/* PyTorch raises where an integer is divided by 0: a requirement, checked before the call writes, or its writes are taken
 * back. */
static insitu_status require_divisor(converter_t *c, op_kind_t op, operand_t divisor, dtype_t type) {
    sym_t zero = sym_int(c->pool, 0), condition;
    bool divides = op == OP_DIV_FLOOR || op == OP_DIV_TRUNC || op == OP_REMAINDER || op == OP_FMOD;
    if (!divides || !dtype_is_integral(type)) return INSITU_OK;
    if (divisor.is_number) {
        condition = sym_compare(c->pool, SYM_NE, divisor.number, zero);
    } else {
        TRY(emit_cast(c, divisor.tensor, type, &divisor.tensor));
        TRY(emit_scalar(c, OP_EQ, divisor.tensor, zero, false, &divisor.tensor));
        return require_none(c, divisor.tensor, "an integer is divided by 0");
    }
    if (sym_truth(c->pool, condition) == TRUTH_FALSE) return convert_unsupported(c, "an integer divided by 0");
    return network_require(c->network, condition, "an integer is divided by 0", c->node->source);
}

/* In f16 and bf16 PyTorch takes a second operand of one element as it is, in f32, for a product or a quotient, and rounds
 * the result once. (A number that is not cut after the division: ref_binary.c does so.) */
static bool takes_whole(const converter_t *c, op_kind_t op, operand_t a, operand_t b, dtype_t type) {
    bool cuts = op == OP_DIV_FLOOR || op == OP_DIV_TRUNC;
    if (wide_dtype(type) == type || a.is_number || !(cuts || op == OP_MUL || op == OP_DIV)) return false;
    if (b.is_number) return cuts;
    return is_int_constant(c, shape_numel(c->pool, &tensor_of(c, b.tensor)->shape), 1);
}

static insitu_status emit_uncut(converter_t *c, op_kind_t op, operand_t a, operand_t b, dtype_t type,
                                tensor_id_t *out) {
    TRY(emit_cast(c, a.tensor, type, &a.tensor));
    TRY(emit_operation(c, op, operand_of_tensor(c, a.tensor), b, wide_dtype(type), out));
    return emit_cast(c, *out, type, out);
}

static insitu_status convert_two(converter_t *c, op_kind_t op, operand_t a, operand_t b) {
    operand_t both[2] = {a, b};
    dtype_t type;
    tensor_id_t result;
    TRY(promote(c, both, 2, &type));
    if ((op == OP_DIV || op == OP_ATAN2) && dtype_is_integral(type)) type = DTYPE_F32;
    if (op_group_of(op) == OPS_COMPARE && (op == OP_LOGICAL_AND || op == OP_LOGICAL_OR || op == OP_LOGICAL_XOR)) {
        type = DTYPE_BOOL;
    }
    TRY(require_divisor(c, op, b, type));
    if (takes_whole(c, op, a, b, type)) {
        TRY(emit_uncut(c, op, a, b, type, &result));
    } else {
        TRY(emit_operation(c, op, a, b, type, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_binary(converter_t *c) {
    operand_t a, b;
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "other", &b));
    return convert_two(c, (op_kind_t)c->param, a, b);
}

/* True where PyTorch runs its scalar loop: its vector loops take 32 elements of f16 or bf16 at a time (with AVX-512). */
static bool is_short(const converter_t *c, const shape_t *shape, dtype_t type) {
    int64_t count;
    if (wide_dtype(type) == type) return false;
    return sym_constant(c->pool, shape_numel(c->pool, shape), &count) && count < 32;
}

/* emit_scaled_sum in f16 or bf16 where the factor is known in each call only: it is rounded then, as a tensor of the dtype. */
static insitu_status emit_rounded_sum(converter_t *c, operand_t a, operand_t b, sym_t factor, dtype_t type,
                                      const shape_t *shape, tensor_id_t *out) {
    dtype_t inner = !b.is_number && is_short(c, shape, type) ? type : wide_dtype(type);
    operand_t both[2] = {b, a};
    tensor_id_t number, wide[2];
    TRY(emit_number(c, type, &(shape_t){0}, factor, &number));
    TRY(emit_cast(c, number, inner, &number));
    for (int i = 0; i < 2; i++) {
        TRY(emit_operand(c, both[i], type, shape, &wide[i]));
        TRY(emit_cast(c, wide[i], inner, &wide[i]));
    }
    TRY(emit_binary(c, OP_MUL, wide[0], number, &wide[0]));
    TRY(emit_binary(c, OP_ADD, wide[1], wide[0], out));
    return emit_cast(c, *out, type, out);
}

/* a + factor b, of which the product is made first */
static insitu_status emit_scaled_then_added(converter_t *c, operand_t a, tensor_id_t b, sym_t factor, dtype_t type,
                                            tensor_id_t *out) {
    TRY(emit_cast(c, b, type, &b));
    TRY(emit_scalar(c, OP_MUL, b, factor, false, &b));
    return emit_operation(c, OP_ADD, a, operand_of_tensor(c, b), type, out);
}

/* a + factor b in the dtype, rounded once, as PyTorch's vector loops round; f16 and bf16 round the factor first. A few
 * elements of those go through its scalar loop, which rounds the product too. */
static insitu_status emit_scaled_sum(converter_t *c, operand_t a, operand_t b, sym_t factor, dtype_t type,
                                     tensor_id_t *out) {
    double known;
    bool constant = sym_constant_float(c->pool, factor, &known);
    if (constant && known == 1) return emit_operation(c, OP_ADD, a, b, type, out);
    if (constant && known == -1) return emit_operation(c, OP_SUB, a, b, type, out);
    tensor_id_t operands[2];
    shape_t shape = {0};
    if (dtype_is_complex(type) && !b.is_number) return emit_scaled_then_added(c, a, b.tensor, factor, type, out);
    if (constant && wide_dtype(type) != type) factor = sym_float(c->pool, dtype_round(type, known));
    if (!a.is_number) shape = tensor_of(c, a.tensor)->shape;
    if (!b.is_number) TRY(broadcast_shapes(c, &tensor_of(c, b.tensor)->shape, &shape, &shape));
    if (!constant && wide_dtype(type) != type) return emit_rounded_sum(c, a, b, factor, type, &shape, out);
    if (!b.is_number && is_short(c, &shape, type)) return emit_scaled_then_added(c, a, b.tensor, factor, type, out);
    TRY(emit_operand(c, a, type, &shape, &operands[0]));
    TRY(emit_operand(c, b, type, &shape, &operands[1]));
    layer_draft_t sum = draft_of(LAYER_BINARY);
    draft_op(&sum, OP_ADD);
    draft_sym(&sum, ATTR_SCALAR, plain_number(c, factor, type));
    return emit(c, &sum, operands, 2, out);
}

/* a + alpha b, or a - alpha b */
static insitu_status finish_scaled(converter_t *c, op_kind_t op, operand_t a, operand_t b) {
    operand_t both[2] = {a, b};
    dtype_t type;
    tensor_id_t result;
    sym_t alpha;
    TRY(promote(c, both, 2, &type));
    TRY(take_sym_or(c, "alpha", sym_int(c->pool, 1), &alpha));
    alpha = plain_number(c, alpha, DTYPE_I64);
    if (op == OP_SUB) alpha = sym_mul(c->pool, sym_int(c->pool, -1), alpha);
    TRY(emit_scaled_sum(c, a, b, alpha, type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* self + alpha other, self - alpha other */
insitu_status convert_add(converter_t *c) {
    operand_t a, b;
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "other", &b));
    return finish_scaled(c, (op_kind_t)c->param, a, b);
}

/* other - alpha self */
insitu_status convert_rsub(converter_t *c) {
    operand_t a, b;
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "other", &b));
    return finish_scaled(c, (op_kind_t)c->param, b, a);
}

insitu_status convert_div(converter_t *c) {
    operand_t a, b;
    const char *mode = take_string(c, "rounding_mode");
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "other", &b));
    op_kind_t op = strcmp(mode, "floor") == 0 ? OP_DIV_FLOOR : strcmp(mode, "trunc") == 0 ? OP_DIV_TRUNC : OP_DIV;
    return convert_two(c, op, a, b);
}

/* |a / gcd(a, b) b|, 0 where both are 0 */
insitu_status convert_lcm(converter_t *c) {
    operand_t both[2];
    tensor_id_t a, b, divisor, result;
    dtype_t type;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    TRY(emit_cast(c, both[0].tensor, type, &a));
    TRY(emit_cast(c, both[1].tensor, type, &b));
    TRY(emit_binary(c, OP_GCD, a, b, &divisor));
    TRY(emit_binary(c, OP_DIV_TRUNC, a, divisor, &result)); /* by 0: 0 */
    TRY(emit_binary(c, OP_MUL, result, b, &result));
    TRY(emit_unary(c, OP_ABS, result, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Of floats by a whole power the product is exact before it is rounded: no power of 2 overflows by itself. */
static insitu_status finish_ldexp(converter_t *c, operand_t a, tensor_id_t power) {
    enum { MOST = 2046 };
    tensor_id_t half, result;
    TRY(emit_cast(c, a.tensor, DTYPE_F64, &result));
    TRY(emit_cast(c, power, DTYPE_I32, &power)); /* as PyTorch hands it on */
    TRY(emit_cast(c, power, DTYPE_F64, &power));
    TRY(emit_scalar_float(c, OP_MAXIMUM, power, -MOST, false, &power));
    TRY(emit_scalar_float(c, OP_MINIMUM, power, MOST, false, &power));
    TRY(emit_scalar_float(c, OP_MUL, power, 0.5, false, &half));
    TRY(emit_unary(c, OP_TRUNC, half, &half));
    TRY(emit_binary(c, OP_SUB, power, half, &power));
    const tensor_id_t parts[2] = {half, power};
    for (uint32_t i = 0; i < 2; i++) {
        tensor_id_t factor;
        TRY(emit_scalar_float(c, OP_POW, parts[i], 2, true, &factor));
        TRY(emit_binary(c, OP_MUL, result, factor, &result));
    }
    return finish_wide(c, result, a.dtype);
}

/* self 2^other */
insitu_status convert_ldexp(converter_t *c) {
    operand_t a, b;
    tensor_id_t power;
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "other", &b));
    if (dtype_is_integral(b.dtype) && !dtype_is_integral(a.dtype)) return finish_ldexp(c, a, b.tensor);
    dtype_t type = dtype_is_integral(b.dtype) ? DTYPE_F32 : b.dtype;
    TRY(emit_cast(c, b.tensor, type, &b.tensor));
    TRY(emit_scalar_float(c, OP_POW, b.tensor, 2, true, &power));
    operand_t factor = operand_of_tensor(c, power);
    return convert_two(c, OP_MUL, a, factor);
}

insitu_status convert_pow(converter_t *c) {
    operand_t a, b;
    TRY(take_operand(c, "self", &a));
    TRY(take_operand(c, "exponent", &b));
    int64_t exponent;
    if (b.is_number && dtype_is_integral(a.dtype) && b.dtype == DTYPE_I64) {
        if (sym_constant(c->pool, b.number, &exponent) && exponent < 0)
            return convert_unsupported(c, "integers to a negative power");
        sym_t condition = sym_compare(c->pool, SYM_LE, sym_int(c->pool, 0), b.number);
        TRY(network_require(c->network, condition, "integers to a negative power", c->node->source));
    }
    return convert_two(c, OP_POW, a, b);
}

insitu_status convert_square(converter_t *c) {
    tensor_id_t x, result;
    TRY(take_tensor(c, "self", &x));
    if (dtype_of(c, x) == DTYPE_BOOL) TRY(emit_cast(c, x, DTYPE_I64, &x));
    TRY(emit_binary(c, OP_MUL, x, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* a + b d in the dtype: of f32 rounded once, through f64, which holds their product. */
static insitu_status emit_product_sum(converter_t *c, operand_t a, operand_t b, operand_t d, dtype_t type,
                                      tensor_id_t *out) {
    dtype_t exact = type == DTYPE_F32 ? DTYPE_F64 : type;
    operand_t *const operands[] = {&a, &b, &d};
    for (uint32_t i = 0; i < COUNT_OF(operands); i++) {
        if (operands[i]->is_number) continue;
        TRY(emit_cast(c, operands[i]->tensor, type, &operands[i]->tensor));
        TRY(emit_cast(c, operands[i]->tensor, exact, &operands[i]->tensor));
        *operands[i] = operand_of_tensor(c, operands[i]->tensor);
    }
    TRY(emit_operation(c, OP_MUL, b, d, exact, out));
    TRY(emit_operation(c, OP_ADD, a, operand_of_tensor(c, *out), exact, out));
    return emit_cast(c, *out, type, out);
}

/* self + value tensor1 tensor2, self + value tensor1 / tensor2 */
insitu_status convert_addc(converter_t *c) {
    operand_t operands[3];
    dtype_t type;
    tensor_id_t product;
    sym_t value;
    TRY(take_operand(c, "self", &operands[0]));
    TRY(take_operand(c, "tensor1", &operands[1]));
    TRY(take_operand(c, "tensor2", &operands[2]));
    TRY(promote(c, operands, 3, &type));
    dtype_t wide = wide_dtype(type);
    TRY(take_sym_or(c, "value", sym_int(c->pool, 1), &value));
    if (dtype_is_integral(type) && sym_kind_of(c->pool, value) == SYM_KIND_FLOAT) /* PyTorch cuts it */
        value = sym_make(c->pool, SYM_TRUNC, &value, 1);
    double factor;
    if (!sym_constant_float(c->pool, value, &factor) || factor != 1.0) {
        TRY(emit_operation(c, OP_MUL, operands[1], operand_of_number(c, value), wide, &product));
        operands[1] = operand_of_tensor(c, product);
    }
    if (c->param == OP_MUL) {
        TRY(emit_product_sum(c, operands[0], operands[1], operands[2], wide, &product));
        return finish_wide(c, product, type);
    }
    TRY(emit_operation(c, (op_kind_t)c->param, operands[1], operands[2], wide, &product));
    TRY(emit_operation(c, OP_ADD, operands[0], operand_of_tensor(c, product), wide, &product));
    return finish_wide(c, product, type);
}

insitu_status emit_lerp(converter_t *c, tensor_id_t self, tensor_id_t end, tensor_id_t span, tensor_id_t weight,
                        tensor_id_t *out) {
    tensor_id_t near, far, small;
    dtype_t type = dtype_of(c, self);
    operand_t gap = operand_of_tensor(c, span);
    TRY(emit_product_sum(c, operand_of_tensor(c, self), gap, operand_of_tensor(c, weight), type, &near));
    TRY(emit_scalar(c, OP_SUB, weight, sym_int(c->pool, 1), false, &far));
    TRY(emit_product_sum(c, operand_of_tensor(c, end), gap, operand_of_tensor(c, far), type, &far));
    TRY(emit_unary(c, OP_ABS, weight, &small));
    TRY(emit_scalar_float(c, OP_LT, small, 0.5, false, &small));
    return emit_where(c, small, near, far, out);
}

/* A constant as weight: self + weight (end - self) or end + (weight - 1) (end - self), whichever weight is smaller. */
insitu_status convert_lerp(converter_t *c) {
    tensor_id_t self, end, span, result;
    operand_t weight;
    double value;
    TRY(take_tensor(c, "self", &self));
    TRY(take_tensor(c, "end", &end));
    TRY(take_operand(c, "weight", &weight));
    if (dtype_of(c, self) != dtype_of(c, end)) return convert_unsupported(c, "operands of two dtypes");
    dtype_t type = dtype_of(c, self), wide = wide_dtype(type);
    TRY(emit_wide(c, self, &self));
    TRY(emit_wide(c, end, &end));
    TRY(emit_binary(c, OP_SUB, end, self, &span));
    bool known = weight.is_number && sym_constant_float(c->pool, weight.number, &value);
    if (!known) {
        shape_t none = {0};
        if (weight.is_number) TRY(emit_number(c, wide, &none, weight.number, &weight.tensor));
        TRY(emit_cast(c, weight.tensor, wide, &weight.tensor));
        TRY(emit_lerp(c, self, end, span, weight.tensor, &result));
        return finish_wide(c, result, type);
    }
    bool near = value < 0.5 && value > -0.5;
    if (!near) value = wide == DTYPE_F64 ? value - 1 : (double)((float)value - 1);
    TRY(emit_scaled_sum(c, operand_of_tensor(c, near ? self : end), operand_of_tensor(c, span),
                        sym_float(c->pool, value), wide, &result));
    return finish_wide(c, result, type);
}

/* float_power: in f64, or c128 */
insitu_status convert_float_power(converter_t *c) {
    operand_t operands[2];
    tensor_id_t result;
    TRY(take_operand(c, "self", &operands[0]));
    TRY(take_operand(c, "exponent", &operands[1]));
    bool is_complex = dtype_is_complex(operands[0].dtype) || dtype_is_complex(operands[1].dtype);
    TRY(emit_operation(c, OP_POW, operands[0], operands[1], is_complex ? DTYPE_C128 : DTYPE_F64, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* a == b, or |a - b| is finite and at most atol + |rtol b|; integers as f32 */
insitu_status convert_isclose(converter_t *c) {
    tensor_id_t a, b, close, gap, allowed, finite;
    double relative, absolute;
    bool equal_nan;
    TRY(take_tensor(c, "self", &a));
    TRY(take_tensor(c, "other", &b));
    TRY(take_float(c, "rtol", 1e-5, &relative));
    TRY(take_float(c, "atol", 1e-8, &absolute));
    TRY(take_flag(c, "equal_nan", false, &equal_nan));
    TRY(emit_binary(c, OP_EQ, a, b, &close));
    if (equal_nan && !dtype_is_integral(dtype_of(c, a))) {
        TRY(emit_unary(c, OP_ISNAN, a, &gap));
        TRY(emit_unary(c, OP_ISNAN, b, &allowed));
        TRY(emit_binary(c, OP_LOGICAL_AND, gap, allowed, &gap));
        TRY(emit_binary(c, OP_LOGICAL_OR, close, gap, &close));
    }
    if (relative != 0 || absolute != 0) {
        TRY(emit_float(c, a, &a));
        TRY(emit_float(c, b, &b));
        TRY(emit_scalar_float(c, OP_MUL, b, relative, false, &allowed));
        TRY(emit_unary(c, OP_ABS, allowed, &allowed));
        TRY(emit_scalar_float(c, OP_ADD, allowed, absolute, false, &allowed));
        TRY(emit_binary(c, OP_SUB, a, b, &gap));
        TRY(emit_unary(c, OP_ABS, gap, &gap));
        TRY(emit_unary(c, OP_ISFINITE, gap, &finite));
        TRY(emit_binary(c, OP_LE, gap, allowed, &gap));
        TRY(emit_binary(c, OP_LOGICAL_AND, gap, finite, &gap));
        TRY(emit_binary(c, OP_LOGICAL_OR, close, gap, &close));
    }
    set_only_result(c, close);
    return INSITU_OK;
}
