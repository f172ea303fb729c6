/* Bounds: clamp and its kin. */
#include "convert/convert_int.h"

/* The larger or smaller of x and a bound, x if they are equal zeros and the bound is a number. */
static insitu_status emit_bounded(converter_t *c, op_kind_t op, tensor_id_t x, operand_t bound, dtype_t type,
                                  tensor_id_t *out) {
    operand_t value = operand_of_tensor(c, x);
    if (bound.is_number) return emit_operation(c, op, bound, value, type, out);
    return emit_operation(c, op, value, bound, type, out);
}

/* min and max are numbers, tensors or None. */
insitu_status convert_clamp(converter_t *c) {
    static const char *const names[2] = {"min", "max"};
    static const op_kind_t ops[2] = {OP_MAXIMUM, OP_MINIMUM};
    operand_t operands[3];
    uint32_t count = 1;
    dtype_t type;
    TRY(take_operand(c, "self", &operands[0]));
    for (uint32_t i = 0; i < 2; i++) {
        if (has_arg(c, names[i])) TRY(take_operand(c, names[i], &operands[count++]));
    }
    TRY(promote(c, operands, count, &type));
    tensor_id_t result;
    TRY(emit_cast(c, operands[0].tensor, type, &result));
    for (uint32_t i = 0; i < 2; i++) {
        if (!has_arg(c, names[i])) continue;
        operand_t bound;
        TRY(take_operand(c, names[i], &bound));
        TRY(emit_bounded(c, ops[i], result, bound, type, &result));
    }
    set_only_result(c, result);
    return INSITU_OK;
}

/* One bound: clamp_min, clamp_max; param 0 or 1. */
insitu_status convert_clamp_one(converter_t *c) {
    operand_t both[2];
    dtype_t type;
    tensor_id_t result;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, c->param ? "max" : "min", &both[1]));
    TRY(promote(c, both, 2, &type));
    TRY(emit_bounded(c, c->param ? OP_MINIMUM : OP_MAXIMUM, both[0].tensor, both[1], type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
