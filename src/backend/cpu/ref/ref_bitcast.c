/* bitcast where it can't be a view: bytes move unchanged from elements of one size to elements of another. Both sides
 * are walked in units of the smaller size; the larger one has a further dimension, inside its elements. */
#include "backend/cpu/cpu_int.h"

static bool is_wide(const bound_operand_t *a, const bound_operand_t *b) {
    return dtype_size(a->dtype) >= dtype_size(b->dtype);
}

bool ref_bitcast_can_run(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *from = &step->operands[0], *to = &step->results[0];
    const bound_operand_t *wide = is_wide(to, from) ? to : from, *narrow = wide == to ? from : to;
    int64_t ratio = dtype_size(wide->dtype) / dtype_size(narrow->dtype);
    uint32_t last = wide->rank - 1;
    bool fits = from->rank == to->rank && (ratio == 1 || wide->rank > 0) && wide->rank < MAX_RANK;
    for (uint32_t i = 0; fits && i < wide->rank; i++) {
        int64_t size = wide->sizes[i];
        if (i == last && !checked_mul(size, ratio, &size)) return decline(why, "a size is too large");
        fits = size == narrow->sizes[i];
    }
    return fits ? true : decline(why, "the sizes do not fit the dtypes");
}

/* Strides of a side over the wide side's sizes and the units inside an element. */
static void add_side(walk_t *walk, const kernel_call_t *call, const bound_operand_t *side, int64_t ratio,
                     int64_t unit) {
    int64_t strides[MAX_RANK], in_units = dtype_size(side->dtype) / unit;
    for (uint32_t i = 0; i < side->rank; i++) strides[i] = side->strides[i] * in_units;
    strides[side->rank] = 1;
    if (in_units != ratio && side->rank > 0) { /* the narrow side */
        strides[side->rank] = side->strides[side->rank - 1];
        strides[side->rank - 1] *= ratio;
    }
    walk_add(walk, operand_data(call, side), strides, unit);
}

void ref_bitcast(const kernel_call_t *call) {
    const bound_operand_t *from = &call->step->operands[0], *to = &call->step->results[0];
    const bound_operand_t *wide = is_wide(to, from) ? to : from, *narrow = wide == to ? from : to;
    int64_t unit = dtype_size(narrow->dtype), ratio = dtype_size(wide->dtype) / unit;
    int64_t sizes[MAX_RANK];
    for (uint32_t i = 0; i < wide->rank; i++) sizes[i] = wide->sizes[i];
    sizes[wide->rank] = ratio;
    walk_t walk;
    walk_init(&walk, wide->rank + 1, sizes);
    add_side(&walk, call, to, ratio, unit);
    add_side(&walk, call, from, ratio, unit);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do element_copy((uint32_t)unit, walk.data[0], walk.step[0], walk.data[1], walk.step[1], walk.run);
    while (walk_next(&walk));
}
