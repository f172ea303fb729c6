/* unary, in any real dtype: tile by tile, one function an operator (unary_ops.def). */
#include "backend/cpu/cpu_int.h"

#include <math.h>

typedef void (*unary_fn)(const void *in, void *out, int64_t count);

static int64_t int_negate(int64_t x) { return (int64_t)(0 - (uint64_t)x); }

#define UNARY_FUNCTION(name, from, to, expression)                                                                     \
    static void name(const void *in, void *out, int64_t count) {                                                       \
        const from *source = in;                                                                                       \
        to *target = out;                                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            from x = source[i];                                                                                        \
            target[i] = (to)(expression);                                                                              \
        }                                                                                                              \
    }

#define T float
#define M(function) function##f
#define FLOAT(id, expression) UNARY_FUNCTION(f32_##id, T, T, expression)
#define FLOAT_TEST(id, expression) UNARY_FUNCTION(f32_##id, T, int64_t, expression)
#include "backend/cpu/ref/unary_ops.def"
#undef T
#undef M
#undef FLOAT
#undef FLOAT_TEST
#define T double
#define M(function) function
#define FLOAT(id, expression) UNARY_FUNCTION(f64_##id, T, T, expression)
#define FLOAT_TEST(id, expression) UNARY_FUNCTION(f64_##id, T, int64_t, expression)
#include "backend/cpu/ref/unary_ops.def"
#undef T
#undef M
#undef FLOAT
#undef FLOAT_TEST
#define INT(id, expression) UNARY_FUNCTION(i64_##id, int64_t, int64_t, expression)
#define INT_TEST(id, expression) UNARY_FUNCTION(i64_##id, int64_t, int64_t, expression)
#include "backend/cpu/ref/unary_ops.def"
#undef INT
#undef INT_TEST

static const unary_fn functions[][OP_COUNT] = {
#define FLOAT(id, expression) [COMPUTE_F32][OP_##id] = f32_##id, [COMPUTE_F64][OP_##id] = f64_##id,
#define FLOAT_TEST(id, expression) FLOAT(id, expression)
#include "backend/cpu/ref/unary_ops.def"
#undef FLOAT
#undef FLOAT_TEST
#define INT(id, expression) [COMPUTE_I64][OP_##id] = i64_##id,
#define INT_TEST(id, expression) INT(id, expression)
#include "backend/cpu/ref/unary_ops.def"
#undef INT
#undef INT_TEST
};

static bool is_test(op_kind_t op) {
    return op == OP_LOGICAL_NOT || op == OP_ISNAN || op == OP_ISINF || op == OP_ISFINITE;
}

bool ref_unary_can_run(const bound_step_t *step, reason_t *why) {
    op_kind_t op = attr_op(step);
    dtype_t from = step->operands[0].dtype, to = step->results[0].dtype;
    if (op >= OP_COUNT || !functions[compute_of(from)][op])
        return decline(why, "%s is not defined on %s", op < OP_COUNT ? op_name(op) : "?", dtype_name(from));
    if (!fits_i64(from, op, why)) return false;
    if (to != (is_test(op) ? DTYPE_BOOL : from)) return decline(why, "the result's dtype is %s", dtype_name(to));
    return require_result_sizes(step, 0, why);
}

void ref_unary(const kernel_call_t *call) {
    const bound_operand_t *from = &call->step->operands[0], *to = &call->step->results[0];
    op_kind_t op = attr_op(call->step);
    /* Bits of a bool: the one that counts. */
    if (op == OP_BITWISE_NOT && from->dtype == DTYPE_BOOL) op = OP_LOGICAL_NOT;
    compute_t kind = compute_of(from->dtype);
    unary_fn function = functions[kind][op];
    walk_t walk;
    walk_init(&walk, to->rank, to->sizes);
    walk_add_operand(&walk, call, to);
    walk_add_operand(&walk, call, from);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    tile_t in, out;
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t done = 0; done < walk.run; done += TILE) {
            int64_t count = walk.run - done < TILE ? walk.run - done : TILE;
            tile_load(from->dtype, walk.data[1] + done * walk.step[1], walk.step[1], count, &in);
            function(&in, &out, count);
            tile_store(to->dtype, walk.data[0] + done * walk.step[0], walk.step[0], count,
                       is_test(op) ? COMPUTE_I64 : kind, &out);
        }
    } while (walk_next(&walk));
}
