/* Choices by a condition: where, masked_fill. */
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
