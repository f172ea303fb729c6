/* Areas below a line through points: trapezoid, cumulative_trapezoid. */
#include "convert/convert_int.h"

/* The distances of x's neighbours, to be multiplied with the sums of y's; x is a vector, or has y's rank. */
static insitu_status emit_distances(converter_t *c, tensor_id_t x, uint32_t rank, uint32_t dim, dtype_t type,
                                    tensor_id_t *out) {
    TRY(emit_cast(c, x, type, &x));
    if (rank_of(c, x) == 1) TRY(emit_along(c, x, rank, dim, &x));
    if (rank_of(c, x) != rank) return convert_unsupported(c, "x of rank %u, y of rank %u", rank_of(c, x), rank);
    return emit_of_neighbours(c, OP_SUB, x, dim, out);
}

/* Half the sum of (y[i + 1] + y[i]) (x[i + 1] - x[i]), or dx for the distances; param 1: the running sums */
insitu_status convert_trapezoid(converter_t *c) {
    operand_t both[2];
    tensor_id_t sums, distances;
    dtype_t type;
    uint32_t dim;
    bool has_x = has_arg(c, "x");
    sym_t dx;
    TRY(take_operand(c, "y", &both[0]));
    if (has_x) TRY(take_operand(c, "x", &both[1]));
    TRY(promote(c, both, has_x ? 2 : 1, &type));
    uint32_t rank = rank_of(c, both[0].tensor);
    TRY(take_dim(c, "dim", -1, rank, &dim));
    if (rank == 0) return convert_fail(c, INSITU_FORMAT, "a tensor without dimensions");
    TRY(emit_cast(c, both[0].tensor, wide_dtype(type), &sums));
    TRY(emit_of_neighbours(c, OP_ADD, sums, dim, &sums));
    if (has_x) {
        TRY(emit_distances(c, both[1].tensor, rank, dim, wide_dtype(type), &distances));
        TRY(emit_binary(c, OP_MUL, sums, distances, &sums));
    } else {
        TRY(take_real(c, "dx", 1, &dx));
        TRY(emit_float(c, sums, &sums)); /* dx is a float */
        TRY(emit_scalar(c, OP_MUL, sums, dx, false, &sums));
    }
    if (dtype_is_integral(dtype_of(c, sums))) TRY(emit_cast(c, sums, DTYPE_I64, &sums));
    if (c->param) {
        layer_draft_t scan = draft_of(LAYER_SCAN);
        draft_int(c->pool, &scan, ATTR_DIM, dim);
        draft_op(&scan, OP_CUMSUM);
        TRY(emit_on(c, &scan, sums, &sums));
    } else {
        TRY(emit_reduce(c, OP_SUM, sums, 1u << dim, false, &sums));
    }
    TRY(emit_float(c, sums, &sums));
    TRY(emit_scalar_float(c, OP_DIV, sums, 2, false, &sums));
    return finish_wide(c, sums, dtype_is_integral(type) ? DTYPE_F32 : type);
}
