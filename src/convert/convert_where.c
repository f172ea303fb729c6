/* Choices by a condition: where, masked_fill. */
#include "convert/convert_int.h"

static insitu_status convert_choice(converter_t *c, tensor_id_t condition, operand_t a, operand_t b, dtype_t type) {
    tensor_id_t x, y, result;
    shape_t none = {0};
    TRY(emit_cast(c, condition, DTYPE_BOOL, &condition));
    TRY(emit_operand(c, a, type, a.is_number ? &none : &tensor_of(c, a.tensor)->shape, &x));
    TRY(emit_operand(c, b, type, b.is_number ? &none : &tensor_of(c, b.tensor)->shape, &y));
    TRY(emit_where(c, condition, x, y, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

insitu_status convert_where(converter_t *c) {
    tensor_id_t condition;
    operand_t both[2];
    dtype_t type;
    TRY(take_tensor(c, "condition", &condition));
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    return convert_choice(c, condition, both[0], both[1], type);
}

insitu_status convert_masked_fill(converter_t *c) {
    tensor_id_t mask;
    operand_t self, value;
    TRY(take_operand(c, "self", &self));
    TRY(take_tensor(c, "mask", &mask));
    TRY(take_operand(c, "value", &value));
    if (dtype_of(c, mask) != DTYPE_BOOL) return convert_unsupported(c, "a mask of %s", dtype_name(dtype_of(c, mask)));
    return convert_choice(c, mask, value, self, self.dtype);
}
