/* Choices and bounds: where, masked_fill, clamp. */
#include "convert/convert_int.h"

static insitu_status convert_choice(converter *c, tensor_id condition, operand a, operand b, dtype type) {
    tensor_id x, y, result;
    shape none = {0};
    TRY(emit_cast(c, condition, DTYPE_BOOL, &condition));
    TRY(emit_operand(c, a, type, a.is_number ? &none : &tensor_of(c, a.tensor)->shape, &x));
    TRY(emit_operand(c, b, type, b.is_number ? &none : &tensor_of(c, b.tensor)->shape, &y));
    TRY(emit_where(c, condition, x, y, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_where(converter *c) {
    tensor_id condition;
    operand both[2];
    dtype type;
    TRY(take_tensor(c, "condition", &condition));
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    return convert_choice(c, condition, both[0], both[1], type);
}

insitu_status convert_masked_fill(converter *c) {
    tensor_id mask;
    operand self, value;
    TRY(take_operand(c, "self", &self));
    TRY(take_tensor(c, "mask", &mask));
    TRY(take_operand(c, "value", &value));
    if (dtype_of(c, mask) != DTYPE_BOOL) return convert_unsupported(c, "a mask of %s", dtype_name(dtype_of(c, mask)));
    return convert_choice(c, mask, value, self, self.dtype);
}

/* The larger or smaller of x and a bound, x if they are equal zeros and the bound is a number. */
static insitu_status emit_bounded(converter *c, op_kind op, tensor_id x, operand bound, dtype type, tensor_id *out) {
    operand value = operand_of_tensor(c, x);
    if (bound.is_number) return emit_operation(c, op, bound, value, type, out);
    return emit_operation(c, op, value, bound, type, out);
}

/* min and max are numbers, tensors or None. */
insitu_status convert_clamp(converter *c) {
    static const char *const names[2] = {"min", "max"};
    static const op_kind ops[2] = {OP_MAXIMUM, OP_MINIMUM};
    operand operands[3];
    uint32_t count = 1;
    dtype type;
    TRY(take_operand(c, "self", &operands[0]));
    for (uint32_t i = 0; i < 2; i++) {
        if (has_arg(c, names[i])) TRY(take_operand(c, names[i], &operands[count++]));
    }
    TRY(promote(c, operands, count, &type));
    tensor_id result;
    TRY(emit_cast(c, operands[0].tensor, type, &result));
    for (uint32_t i = 0; i < 2; i++) {
        if (!has_arg(c, names[i])) continue;
        operand bound;
        TRY(take_operand(c, names[i], &bound));
        TRY(emit_bounded(c, ops[i], result, bound, type, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

/* One bound: clamp_min, clamp_max; param 0 or 1. */
insitu_status convert_clamp_one(converter *c) {
    operand both[2];
    dtype type;
    tensor_id result;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, c->param ? "max" : "min", &both[1]));
    TRY(promote(c, both, 2, &type));
    TRY(emit_bounded(c, c->param ? OP_MINIMUM : OP_MAXIMUM, both[0].tensor, both[1], type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
