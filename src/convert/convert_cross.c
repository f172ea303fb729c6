/* The cross product of vectors of three elements: linalg_cross, cross. */
#include "convert/convert_int.h"

/* cross without a dim: the first dimension of size 3 */
static insitu_status take_vector_dim(converter_t *c, tensor_id_t x, uint32_t *out) {
    *out = 0;
    if (!c->param || has_arg(c, "dim")) return take_dim(c, "dim", -1, rank_of(c, x), out);
    while (*out < rank_of(c, x) && !is_int_constant(c, size_of(c, x, *out), 3)) (*out)++;
    return *out < rank_of(c, x) ? INSITU_OK : convert_unsupported(c, "no dimension is known to have 3 elements");
}

/* Of i, j and k the next two: a[j] b[k] - a[k] b[j]. Param 1: of cross */
insitu_status convert_cross(converter_t *c) {
    operand_t both[2];
    tensor_id_t turned[2][2], result;
    shape_t shape;
    dtype_t type;
    uint32_t dim;
    TRY(take_operand(c, "self", &both[0]));
    TRY(take_operand(c, "other", &both[1]));
    TRY(promote(c, both, 2, &type));
    TRY(take_vector_dim(c, both[0].tensor, &dim));
    TRY(broadcast_shapes(c, &tensor_of(c, both[0].tensor)->shape, &tensor_of(c, both[1].tensor)->shape, &shape));
    if (dim >= shape.rank) return convert_fail(c, INSITU_FORMAT, "a tensor without dimensions");
    for (uint32_t i = 0; i < 2; i++) {
        TRY(emit_operand(c, both[i], type, &shape, &both[i].tensor));
        TRY(emit_wide(c, both[i].tensor, &both[i].tensor));
        TRY(emit_roll(c, both[i].tensor, dim, sym_int(c->pool, -1), &turned[i][0]));
        TRY(emit_roll(c, both[i].tensor, dim, sym_int(c->pool, -2), &turned[i][1]));
    }
    TRY(emit_binary(c, OP_MUL, turned[0][0], turned[1][1], &turned[0][0]));
    TRY(emit_binary(c, OP_MUL, turned[0][1], turned[1][0], &turned[0][1]));
    TRY(emit_binary(c, OP_SUB, turned[0][0], turned[0][1], &result));
    return finish_wide(c, result, type);
}
