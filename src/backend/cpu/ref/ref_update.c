/* Update layers, in place: results[0] is operand 0's memory and only the changed elements are written. */
#include "backend/cpu/cpu_int.h"
#include "backend/cpu/ref/ref_index.h"

#include <math.h>

static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrap_multiply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

#define COMBINE(name, type, add, multiply, unordered)                                                                  \
    static void name(op_kind_t op, type *to, const type *from, int64_t count) {                                        \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            type a = to[i], b = from[i];                                                                               \
            switch ((int)op) {                                                                                         \
            case OP_UPDATE_ADD: to[i] = (add); break;                                                                  \
            case OP_UPDATE_MUL: to[i] = (multiply); break;                                                             \
            case OP_UPDATE_AMAX: to[i] = (unordered) || a > b ? a : b; break;                                          \
            case OP_UPDATE_AMIN: to[i] = (unordered) || a < b ? a : b; break;                                          \
            default: to[i] = b;                                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }
COMBINE(combine_f32, float, a + b, (a)*b, a != a)
COMBINE(combine_f64, double, a + b, (a)*b, a != a)
COMBINE(combine_i64, int64_t, wrap_add(a, b), wrap_multiply(a, b), false)

/* to = op(to, from), element by element. */
static void update_run(dtype_t type, op_kind_t op, char *to, int64_t to_stride, const char *from, int64_t from_stride,
                       int64_t count) {
    if (op == OP_ASSIGN) {
        element_copy(dtype_size(type), to, to_stride, from, from_stride, count);
        return;
    }
    compute_t kind = compute_of(type);
    for (int64_t done = 0; done < count; done += TILE) {
        tile_t old, fresh;
        int64_t part = count - done < TILE ? count - done : TILE;
        tile_load(type, to + done * to_stride, to_stride, part, &old);
        tile_load(type, from + done * from_stride, from_stride, part, &fresh);
        if (kind == COMPUTE_F32) combine_f32(op, old.f, fresh.f, part);
        if (kind == COMPUTE_F64) combine_f64(op, old.d, fresh.d, part);
        if (kind == COMPUTE_I64) combine_i64(op, old.i, fresh.i, part);
        tile_store(type, to + done * to_stride, to_stride, part, kind, &old);
    }
}

/* Elements of any dtype are replaced; new ones are combined with old ones where the reference computes with them. */
static bool can_combine(dtype_t type, reason_t *why) {
    return (CLASS_WIDE >> type) & 1 ? true : decline(why, "it does not compute with %s", dtype_name(type));
}

/* True if the result is operand 0: same memory, sizes and strides. */
static bool is_in_place(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *x = &step->operands[0], *r = &step->results[0];
    if (x->storage != r->storage || x->offset != r->offset || x->dtype != r->dtype || !operand_same_sizes(x, r))
        return decline(why, "the result is not operand 0's memory");
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->sizes[i] > 1 && x->strides[i] != r->strides[i])
            return decline(why, "the result is not operand 0's memory");
    return true;
}

/* ---- index_update: every thread takes a share of the elements beside the indexed dimensions and walks all positions
 * in order, so that of duplicate indices the last wins. ---- */
bool ref_index_update_can_run(const bound_step_t *step, reason_t *why) {
    index_layout_t layout;
    if (step->operands[1].dtype != step->operands[0].dtype) return decline(why, "the dtypes differ");
    if (attr_int(step, ATTR_ACCUMULATE, 0) && !can_combine(step->operands[0].dtype, why)) return false;
    return is_in_place(step, why) && index_layout_read(step, &step->operands[0], &step->operands[1], 2, &layout, why);
}

void ref_index_update(const kernel_call_t *call) {
    const bound_operand_t *x = &call->step->results[0], *source = &call->step->operands[1];
    index_layout_t layout;
    reason_t why;
    walk_t rest;
    if (!index_layout_read(call->step, x, source, 2, &layout, &why)) return;
    op_kind_t op = attr_int(call->step, ATTR_ACCUMULATE, 0) ? OP_UPDATE_ADD : OP_ASSIGN;
    index_rest_walk(&layout, (int64_t)dtype_size(x->dtype), &rest);
    int64_t positions = operand_numel(layout.indices), begin, end;
    call_share(call, walk_total(&rest), 16, &begin, &end);
    if (begin >= end) return;
    for (int64_t position = 0; position < positions; position++) {
        index_pair_t pair;
        walk_t walk = rest;
        if (!index_place(call, &layout, x, source, position, &pair)) return;
        walk.data[0] = pair.x;
        walk.data[1] = pair.gathered;
        if (!walk_start(&walk, begin, end)) return;
        do update_run(x->dtype, op, walk.data[0], walk.step[0], walk.data[1], walk.step[1], walk.run);
        while (walk_next(&walk));
    }
}

/* ---- scatter_update: a share of the lines along dim; a line is walked in order. ---- */
bool ref_scatter_update_can_run(const bound_step_t *step, reason_t *why) {
    op_kind_t op = attr_op(step);
    if (op >= OP_COUNT || op_group_of(op) != OPS_UPDATE) return decline(why, "the operator is not an update");
    if (op != OP_ASSIGN && !can_combine(step->operands[0].dtype, why)) return false;
    if (!fits_i64(step->operands[0].dtype, op, why)) return false;
    return is_in_place(step, why) && lines_of_index_fit(step, &step->operands[2], &step->operands[1], why);
}

void ref_scatter_update(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *x = &step->results[0], *source = &step->operands[1], *index = &step->operands[2];
    int64_t dim = attr_dim(step, ATTR_DIM), extent = x->rank ? x->sizes[dim] : 1;
    int64_t count = index->rank ? index->sizes[dim] : 1, size = (int64_t)dtype_size(x->dtype), steps[3] = {0, 0, 0};
    walk_t walk;
    walk_init(&walk, index->rank, index->sizes);
    if (walk.rank) {
        walk.sizes[dim] = 1;
        steps[0] = x->strides[dim] * size;
        steps[1] = source->strides[dim] * size;
        steps[2] = index->strides[dim] * (int64_t)dtype_size(index->dtype);
    }
    walk_add_operand(&walk, call, x);
    walk_add_operand(&walk, call, source);
    walk_add_operand(&walk, call, index);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 16, &begin, &end);
    if (extent == 0 || !walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++) {
            for (int64_t k = 0; k < count; k++) {
                const char *at = walk.data[2] + i * walk.step[2] + k * steps[2];
                int64_t place = index_inside(element_int(index->dtype, at), extent, false);
                update_run(x->dtype, attr_op(step), walk.data[0] + i * walk.step[0] + place * steps[0], 0,
                           walk.data[1] + i * walk.step[1] + k * steps[1], 0, 1);
            }
        }
    } while (walk_next(&walk));
}

/* ---- shift_update: the old elements move to the front and the source's last ones follow; with the attribute front they
 * move to the back and the source's first ones precede them. ---- */
bool ref_shift_update_can_run(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *x = &step->operands[0], *source = &step->operands[1];
    int64_t dim = attr_dim(step, ATTR_DIM);
    if (dim < 0 || x->rank == 0) return decline(why, "the dimension is out of range");
    if (source->dtype != x->dtype || source->rank != x->rank) return decline(why, "the source does not fit");
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != dim && source->sizes[i] != x->sizes[i]) return decline(why, "the source's sizes do not fit");
    return is_in_place(step, why);
}

typedef struct shift { /* along the shifted dimension: elements and bytes */
    int64_t kept, fresh, skipped;
    int64_t size, step, source_step;
    bool front;
} shift_t;

/* Lines of run elements side by side, each moved by fresh elements. The order never overwrites what is still to move. */
static void move_lines(const shift_t *shift, char *to, int64_t run_step, int64_t run) {
    int64_t from = shift->front ? 0 : shift->fresh, into = shift->front ? shift->fresh : 0;
    if (shift->kept == 0 || shift->fresh == 0) return;
    if (shift->step == shift->size) { /* lines are dense: one move each */
        for (int64_t i = 0; i < run; i++) {
            char *line = to + i * run_step;
            memmove(line + into * shift->size, line + from * shift->size, (size_t)(shift->kept * shift->size));
        }
        return;
    }
    for (int64_t i = 0; i < shift->kept; i++) {
        int64_t k = shift->front ? shift->kept - 1 - i : i;
        element_copy((uint32_t)shift->size, to + (into + k) * shift->step, run_step, to + (from + k) * shift->step,
                     run_step, run);
    }
}

void ref_shift_update(const kernel_call_t *call) {
    const bound_operand_t *x = &call->step->results[0], *source = &call->step->operands[1];
    int64_t dim = attr_dim(call->step, ATTR_DIM), size = (int64_t)dtype_size(x->dtype);
    int64_t length = x->sizes[dim], fresh = source->sizes[dim] < length ? source->sizes[dim] : length;
    shift_t shift = {.kept = length - fresh,
                     .fresh = fresh,
                     .size = size,
                     .step = x->strides[dim] * size,
                     .source_step = source->strides[dim] * size,
                     .front = attr_int(call->step, ATTR_FRONT, 0) != 0};
    shift.skipped = shift.front ? 0 : source->sizes[dim] - fresh;
    walk_t walk;
    walk_init(&walk, x->rank, x->sizes);
    walk.sizes[dim] = 1;
    walk_add_operand(&walk, call, x);
    walk_add_operand(&walk, call, source);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 16, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        char *to = walk.data[0] + (shift.front ? 0 : shift.kept * shift.step);
        const char *from = walk.data[1] + shift.skipped * shift.source_step;
        move_lines(&shift, walk.data[0], walk.step[0], walk.run);
        for (int64_t k = 0; k < fresh; k++)
            element_copy((uint32_t)size, to + k * shift.step, walk.step[0], from + k * shift.source_step, walk.step[1],
                         walk.run);
    } while (walk_next(&walk));
}

/* ---- mask_update ---- */
bool ref_mask_update_can_run(const bound_step_t *step, reason_t *why) {
    if (step->operands[2].dtype != DTYPE_BOOL) return decline(why, "the mask is not bool");
    if (step->operands[1].dtype != step->operands[0].dtype) return decline(why, "the dtypes differ");
    return is_in_place(step, why) && require_result_sizes(step, 1, why) && require_result_sizes(step, 2, why);
}

void ref_mask_update(const kernel_call_t *call) {
    const bound_operand_t *x = &call->step->results[0];
    walk_t walk;
    walk_init(&walk, x->rank, x->sizes);
    walk_add_operand(&walk, call, x);
    walk_add_operand(&walk, call, &call->step->operands[1]);
    walk_add_operand(&walk, call, &call->step->operands[2]);
    walk_merge(&walk);
    size_t size = dtype_size(x->dtype);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++)
            if (walk.data[2][i * walk.step[2]])
                memmove(walk.data[0] + i * walk.step[0], walk.data[1] + i * walk.step[1], size);
    } while (walk_next(&walk));
}
