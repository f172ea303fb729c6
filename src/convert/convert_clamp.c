/* Bounds: clamp and its kin. */
#include "convert/convert_int.h"

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
