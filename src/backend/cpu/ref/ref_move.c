/* Layers that make or move elements without arithmetic: fill, iota, empty, where, cast, copy. */
#include "backend/cpu/cpu_int.h"

size_t no_workspace(const bound_step_t *step) {
    (void)step;
    return 0;
}

/* ---- sources ---- */
bool ref_fill_can_run(const bound_step_t *step, reason_t *why) {
    return attr_of(step, ATTR_VALUE) ? true : decline(why, "it has no value");
}

static void walk_result(walk_t *walk, const kernel_call_t *call) {
    walk_init(walk, call->step->results[0].rank, call->step->results[0].sizes);
    walk_add_operand(walk, call, &call->step->results[0]);
}

void ref_fill(const kernel_call_t *call) {
    const bound_operand_t *to = &call->step->results[0];
    const bound_attr_t *value = attr_of(call->step, ATTR_VALUE);
    char element[16];
    if (value->value.kind == SYM_KIND_FLOAT)
        element_store_double(to->dtype, element, value->value.f);
    else
        element_store_int(to->dtype, element, value->value.i);
    walk_t walk;
    walk_result(&walk, call);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do element_copy(dtype_size(to->dtype), walk.data[0], walk.step[0], element, 0, walk.run);
    while (walk_next(&walk));
}

bool ref_iota_can_run(const bound_step_t *step, reason_t *why) {
    return step->results[0].rank == 1 ? true : decline(why, "the result is not 1-D");
}

void ref_iota(const kernel_call_t *call) {
    const bound_operand_t *to = &call->step->results[0];
    int64_t begin, end, stride = to->strides[0] * (int64_t)dtype_size(to->dtype);
    call_share(call, to->sizes[0], 64, &begin, &end);
    char *data = operand_data(call, to);
    double start = attr_real(call->step, ATTR_START, 0), step = attr_real(call->step, ATTR_STEP, 1);
    uint64_t start_int = (uint64_t)attr_int(call->step, ATTR_START, 0);
    uint64_t step_int = (uint64_t)attr_int(call->step, ATTR_STEP, 1);
    for (int64_t i = begin; i < end; i++) {
        if (dtype_is_float(to->dtype))
            element_store_double(to->dtype, data + i * stride, start + step * (double)i);
        else
            element_store_int(to->dtype, data + i * stride, (int64_t)(start_int + step_int * (uint64_t)i));
    }
}

bool ref_empty_can_run(const bound_step_t *step, reason_t *why) {
    (void)step, (void)why;
    return true;
}
void ref_empty(const kernel_call_t *call) { (void)call; }

/* ---- where ---- */
bool ref_where_can_run(const bound_step_t *step, reason_t *why) {
    if (step->operands[0].dtype != DTYPE_BOOL) return decline(why, "the condition is not bool");
    for (uint32_t i = 1; i < 3; i++)
        if (step->operands[i].dtype != step->results[0].dtype) return decline(why, "the operands' dtypes differ");
    return require_result_sizes(step, 0, why) && require_result_sizes(step, 1, why) &&
           require_result_sizes(step, 2, why);
}

void ref_where(const kernel_call_t *call) {
    walk_t walk;
    walk_result(&walk, call);
    for (uint32_t i = 0; i < 3; i++) walk_add_operand(&walk, call, &call->step->operands[i]);
    walk_merge(&walk);
    size_t size = dtype_size(call->step->results[0].dtype);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++) {
            uint32_t from = walk.data[1][i * walk.step[1]] ? 2 : 3;
            memmove(walk.data[0] + i * walk.step[0], walk.data[from] + i * walk.step[from], size);
        }
    } while (walk_next(&walk));
}

/* ---- cast, copy ---- */
bool ref_cast_can_run(const bound_step_t *step, reason_t *why) { return require_result_sizes(step, 0, why); }

/* Of u64 to a float: in one rounding, save f16 and bf16, which PyTorch rounds from f32. */
static void cast_large(dtype_t to, char *data, int64_t stride, int64_t count, const int64_t *from) {
    for (int64_t i = 0; i < count; i++, data += stride) {
        uint64_t value = (uint64_t)from[i];
        element_store_double(to, data, to == DTYPE_F64 ? (double)value : (double)(float)value);
    }
}

void ref_cast(const kernel_call_t *call) {
    const bound_operand_t *from = &call->step->operands[0], *to = &call->step->results[0];
    walk_t walk;
    walk_result(&walk, call);
    walk_add_operand(&walk, call, from);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    tile_t numbers;
    if (!walk_start(&walk, begin, end)) return;
    do {
        for (int64_t done = 0; done < walk.run; done += TILE) {
            int64_t count = walk.run - done < TILE ? walk.run - done : TILE;
            tile_load(from->dtype, walk.data[1] + done * walk.step[1], walk.step[1], count, &numbers);
            char *target = walk.data[0] + done * walk.step[0];
            if (from->dtype == DTYPE_U64 && !dtype_is_integral(to->dtype))
                cast_large(to->dtype, target, walk.step[0], count, numbers.i);
            else
                tile_store(to->dtype, target, walk.step[0], count, compute_of(from->dtype), &numbers);
        }
    } while (walk_next(&walk));
}

/* A copy may reshape: the same elements in row-major order, in other sizes. */
bool ref_copy_can_run(const bound_step_t *step, reason_t *why) {
    if (step->operands[0].dtype != step->results[0].dtype) return decline(why, "the dtypes differ");
    if (operand_numel(&step->operands[0]) == operand_numel(&step->results[0])) return true;
    return decline(why, "the numbers of elements differ");
}

static void copy_reshaped(const kernel_call_t *call) {
    const bound_operand_t *from = &call->step->operands[0];
    walk_t target, source;
    walk_result(&target, call);
    walk_init(&source, from->rank, from->sizes);
    walk_add_operand(&source, call, from);
    walk_merge(&target);
    walk_merge(&source);
    int64_t begin, end;
    call_share(call, walk_total(&target), 64, &begin, &end);
    if (!walk_start(&target, begin, end) || !walk_start(&source, begin, end)) return;
    int64_t target_done = 0, source_done = 0;
    for (int64_t position = begin; position < end;) {
        int64_t count = target.run - target_done;
        if (source.run - source_done < count) count = source.run - source_done;
        element_copy(dtype_size(from->dtype), target.data[0] + target_done * target.step[0], target.step[0],
                     source.data[0] + source_done * source.step[0], source.step[0], count);
        position += count, target_done += count, source_done += count;
        if (target_done == target.run) walk_next(&target), target_done = 0;
        if (source_done == source.run) walk_next(&source), source_done = 0;
    }
}

void ref_copy(const kernel_call_t *call) {
    const bound_operand_t *from = &call->step->operands[0], *to = &call->step->results[0];
    if (!operand_same_sizes(from, to)) {
        copy_reshaped(call);
        return;
    }
    walk_t walk;
    walk_result(&walk, call);
    walk_add_operand(&walk, call, from);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do element_copy(dtype_size(to->dtype), walk.data[0], walk.step[0], walk.data[1], walk.step[1], walk.run);
    while (walk_next(&walk));
}
