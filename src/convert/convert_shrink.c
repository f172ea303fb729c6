/* Numbers near 0 become 0: hardshrink, softshrink. */
#include "convert/convert_int.h"

/* -lambda <= x <= lambda ? 0 : x */
insitu_status convert_hardshrink(converter_t *c) {
    tensor_id_t x, low, high, result;
    sym_t bound;
    TRY(take_tensor(c, "self", &x));
    TRY(take_real(c, has_arg(c, "lambd") ? "lambd" : "lambda", 0.5, &bound));
    TRY(emit_scalar(c, OP_GE, x, negative_of(c, bound), false, &low));
    TRY(emit_scalar(c, OP_LE, x, bound, false, &high));
    TRY(emit_binary(c, OP_LOGICAL_AND, low, high, &low));
    TRY(emit_number_where(c, low, sym_float(c->pool, 0), x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* x > lambda ? x - lambda : x < -lambda ? x + lambda : x 0 */
insitu_status convert_softshrink(converter_t *c) {
    tensor_id_t x, above, below, lowered, raised, result;
    sym_t bound;
    TRY(take_tensor(c, "self", &x));
    dtype_t type = dtype_of(c, x);
    TRY(take_real(c, has_arg(c, "lambd") ? "lambd" : "lambda", 0.5, &bound));
    TRY(emit_wide(c, x, &x));
    TRY(emit_scalar(c, OP_GT, x, bound, false, &above));
    TRY(emit_scalar(c, OP_LT, x, negative_of(c, bound), false, &below));
    TRY(emit_scalar(c, OP_SUB, x, bound, false, &lowered));
    TRY(emit_scalar(c, OP_ADD, x, bound, false, &raised));
    TRY(emit_binary(c, OP_SUB, x, x, &result)); /* 0, or NaN */
    TRY(emit_where(c, below, raised, result, &result));
    TRY(emit_where(c, above, lowered, result, &result));
    return finish_wide(c, result, type);
}
