/* Inference of elementwise layers: unary, binary, where, cast, copy. */
#include "network/network_int.h"

/* What dtypes an operator takes, and what it gives. */
typedef enum op_domain {
    DOMAIN_ANY,
    DOMAIN_FLOAT,   /* floats and complex numbers */
    DOMAIN_INTEGER, /* integers and bool */
    DOMAIN_SHIFT,   /* integers */
    DOMAIN_BOOL,
    DOMAIN_NUMBER /* all but bool */
} op_domain_t;
typedef struct op_rule {
    op_kind_t op;
    op_domain_t domain;
    bool gives_bool;
} op_rule_t;

/* Operators that are not here take floats (UNARY) or anything (BINARY, COMPARE). */
static op_rule_t rule_of(op_kind_t op) {
    static const op_rule_t rules[] = {
        {OP_ABS, DOMAIN_NUMBER, false},         {OP_NEG, DOMAIN_NUMBER, false},
        {OP_SIGN, DOMAIN_ANY, false},           {OP_CEIL, DOMAIN_NUMBER, false},
        {OP_FLOOR, DOMAIN_NUMBER, false},       {OP_ROUND, DOMAIN_NUMBER, false},
        {OP_TRUNC, DOMAIN_NUMBER, false},       {OP_RELU, DOMAIN_NUMBER, false},
        {OP_LOGICAL_NOT, DOMAIN_ANY, true},     {OP_BITWISE_NOT, DOMAIN_INTEGER, false},
        {OP_ISNAN, DOMAIN_ANY, true},           {OP_ISINF, DOMAIN_ANY, true},
        {OP_ISFINITE, DOMAIN_ANY, true},        {OP_SUB, DOMAIN_NUMBER, false},
        {OP_DIV, DOMAIN_FLOAT, false},          {OP_DIV_FLOOR, DOMAIN_NUMBER, false},
        {OP_DIV_TRUNC, DOMAIN_NUMBER, false},   {OP_REMAINDER, DOMAIN_NUMBER, false},
        {OP_FMOD, DOMAIN_NUMBER, false},        {OP_POW, DOMAIN_NUMBER, false},
        {OP_ATAN2, DOMAIN_FLOAT, false},        {OP_BITWISE_AND, DOMAIN_INTEGER, false},
        {OP_BITWISE_OR, DOMAIN_INTEGER, false}, {OP_BITWISE_XOR, DOMAIN_INTEGER, false},
        {OP_SHIFT_LEFT, DOMAIN_SHIFT, false},   {OP_SHIFT_RIGHT, DOMAIN_SHIFT, false},
        {OP_LOGICAL_AND, DOMAIN_BOOL, true},    {OP_LOGICAL_OR, DOMAIN_BOOL, true},
        {OP_LOGICAL_XOR, DOMAIN_BOOL, true},    {OP_GCD, DOMAIN_SHIFT, false},
    };
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (rules[i].op == op) return rules[i];
    }
    op_group_t group = op_group_of(op);
    return (op_rule_t){op, group == OPS_UNARY ? DOMAIN_FLOAT : DOMAIN_ANY, group == OPS_COMPARE};
}

static bool domain_has(op_domain_t domain, dtype_t type) {
    if (domain == DOMAIN_FLOAT) return !dtype_is_integral(type);
    if (domain == DOMAIN_INTEGER) return dtype_is_integral(type);
    if (domain == DOMAIN_SHIFT) return dtype_is_integral(type) && type != DTYPE_BOOL;
    if (domain == DOMAIN_BOOL) return type == DTYPE_BOOL;
    if (domain == DOMAIN_NUMBER) return type != DTYPE_BOOL;
    return true;
}

static insitu_status infer_op(const infer_call_t *call, op_kind_t op) {
    op_rule_t rule = rule_of(op);
    dtype_t type = infer_operand(call, 0)->dtype;
    if (!domain_has(rule.domain, type)) {
        return infer_fail(call, INSITU_ARG, "op %s does not take %s", op_name(op), dtype_name(type));
    }
    infer_as_operand(call, 0);
    if (rule.gives_bool) call->results[0].dtype = DTYPE_BOOL;
    return INSITU_OK;
}

static insitu_status infer_operand_shapes(const infer_call_t *call) {
    for (uint32_t i = 1; i < call->operand_count; i++) {
        TRY(infer_same_shape(call, &infer_operand(call, 0)->shape, &infer_operand(call, i)->shape,
                             "size of an operand"));
    }
    return INSITU_OK;
}

insitu_status infer_UNARY(const infer_call_t *call) {
    op_kind_t op = infer_attr(call, ATTR_OP).op;
    TRY(infer_op(call, op));
    dtype_t type = call->results[0].dtype;
    if (op == OP_ABS && dtype_is_complex(type)) {
        call->results[0].dtype = type == DTYPE_C128 ? DTYPE_F64 : type == DTYPE_C64 ? DTYPE_F32 : DTYPE_F16;
    }
    return INSITU_OK;
}

insitu_status infer_BINARY(const infer_call_t *call) {
    attr_t scalar = infer_attr(call, ATTR_SCALAR);
    bool has_scalar = scalar.kind == ATTR_KIND_SYM, scales = infer_attr(call, ATTR_OP).op == OP_ADD;
    if (call->operand_count == 1 ? !has_scalar : has_scalar && !scales) {
        return infer_fail(call, INSITU_ARG, "two operands, or one and a scalar, were expected");
    }
    if (infer_attr(call, ATTR_SCALAR_FIRST).kind != ATTR_KIND_NONE) {
        bool first;
        TRY(infer_flag(call, ATTR_SCALAR_FIRST, &first));
    }
    if (has_scalar) {
        dtype_t type = infer_operand(call, 0)->dtype;
        if (sym_kind_of(call->pool, scalar.value) == SYM_KIND_FLOAT && dtype_is_integral(type)) {
            return infer_fail(call, INSITU_ARG, "a float scalar for %s", dtype_name(type));
        }
    }
    TRY(infer_same_dtypes(call, 0, call->operand_count));
    TRY(infer_operand_shapes(call));
    return infer_op(call, infer_attr(call, ATTR_OP).op);
}

insitu_status infer_WHERE(const infer_call_t *call) {
    if (infer_operand(call, 0)->dtype != DTYPE_BOOL) return infer_fail(call, INSITU_ARG, "the condition must be bool");
    TRY(infer_same_dtypes(call, 1, 3));
    TRY(infer_operand_shapes(call));
    infer_as_operand(call, 0);
    call->results[0].dtype = infer_operand(call, 1)->dtype;
    return INSITU_OK;
}

insitu_status infer_CAST(const infer_call_t *call) {
    infer_as_operand(call, 0);
    call->results[0].dtype = infer_attr(call, ATTR_DTYPE).dtype;
    return INSITU_OK;
}

insitu_status infer_COPY(const infer_call_t *call) {
    infer_as_operand(call, 0);
    return INSITU_OK;
}
