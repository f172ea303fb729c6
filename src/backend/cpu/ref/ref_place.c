/* Layers whose result elements are operand elements at computed places: pad, flip, triangle. */
#include "backend/cpu/cpu_int.h"

/* For the result element at a position: its coordinates and its address. */
static char *place(const bound_operand_t *operand, char *data, int64_t position, int64_t *at) {
    for (uint32_t i = operand->rank; i-- > 0;) {
        at[i] = position % operand->sizes[i];
        position /= operand->sizes[i];
        data += at[i] * operand->strides[i] * (int64_t)dtype_size(operand->dtype);
    }
    return data;
}

static const char *locate(const bound_operand_t *operand, const char *data, const int64_t *at) {
    for (uint32_t i = 0; i < operand->rank; i++)
        data += at[i] * operand->strides[i] * (int64_t)dtype_size(operand->dtype);
    return data;
}

/* ---- pad ---- */
bool ref_pad_can_run(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *x = &step->operands[0], *r = &step->results[0];
    op_kind_t mode = attr_op(step);
    if (x->dtype != r->dtype || x->rank != r->rank) return decline(why, "the result's dtype or rank differs");
    if (attr_count(step, ATTR_BEFORE) != x->rank || attr_count(step, ATTR_AFTER) != x->rank)
        return decline(why, "it does not pad each dimension");
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t before = attr_item(step, ATTR_BEFORE, i, 0), after = attr_item(step, ATTR_AFTER, i, 0), sum;
        if (!checked_add(before, after, &sum) || !checked_add(sum, x->sizes[i], &sum) || sum != r->sizes[i])
            return decline(why, "the sizes do not fit the padding");
        if (r->sizes[i] > 0 && x->sizes[i] == 0 && mode != OP_CONSTANT_PAD)
            return decline(why, "nothing can be repeated");
        if (mode == OP_REFLECT_PAD && (before >= x->sizes[i] || after >= x->sizes[i]) && (before > 0 || after > 0))
            return decline(why, "a reflection is larger than the tensor");
        if (mode == OP_CIRCULAR_PAD && (before > x->sizes[i] || after > x->sizes[i]))
            return decline(why, "it wraps more than once");
    }
    return true;
}

/* Where element index of a padded dimension comes from; -1: the padding's value. */
static int64_t pad_source(op_kind_t mode, int64_t index, int64_t size) {
    if (index >= 0 && index < size) return index;
    switch ((int)mode) {
    case OP_REFLECT_PAD: return index < 0 ? -index : 2 * (size - 1) - index;
    case OP_REPLICATE_PAD: return index < 0 ? 0 : size - 1;
    case OP_CIRCULAR_PAD: return index < 0 ? index + size : index - size;
    default: return -1;
    }
}

void ref_pad(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *x = &step->operands[0], *r = &step->results[0];
    uint32_t size = dtype_size(r->dtype);
    char value[16] = {0};
    const bound_attr_t *fill = attr_of(step, ATTR_VALUE);
    if (fill && fill->value.kind == SYM_KIND_FLOAT) element_store_double(r->dtype, value, fill->value.f);
    if (fill && fill->value.kind != SYM_KIND_FLOAT) element_store_int(r->dtype, value, fill->value.i);
    int64_t begin, end;
    call_share(call, operand_numel(r), 64, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        int64_t at[MAX_RANK];
        char *to = place(r, operand_data(call, r), position, at);
        bool inside = true;
        for (uint32_t i = 0; i < x->rank; i++) {
            at[i] = pad_source(attr_op(step), at[i] - attr_item(step, ATTR_BEFORE, i, 0), x->sizes[i]);
            inside &= at[i] >= 0;
        }
        memcpy(to, inside ? locate(x, operand_data(call, x), at) : value, size);
    }
}

/* ---- flip ---- */
bool ref_flip_can_run(const bound_step_t *step, reason_t *why) {
    if (step->operands[0].dtype != step->results[0].dtype) return decline(why, "the dtypes differ");
    return require_result_sizes(step, 0, why);
}

static void mirror(const bound_step_t *step, const bound_operand_t *x, int64_t *at) {
    for (uint32_t i = 0; i < attr_count(step, ATTR_DIMS); i++) {
        int64_t dim = attr_item(step, ATTR_DIMS, i, 0);
        if (dim < 0) dim += x->rank;
        if (dim >= 0 && dim < x->rank) at[dim] = x->sizes[dim] - 1 - at[dim];
    }
}

/* In the operand's own place: whoever has the first of two elements exchanges them. */
static void flip_in_place(const kernel_call_t *call, const bound_operand_t *r, int64_t begin, int64_t end) {
    const size_t size = dtype_size(r->dtype);
    char *data = operand_data(call, r), hand[16];
    for (int64_t position = begin; position < end; position++) {
        int64_t at[MAX_RANK], other = 0;
        char *first = place(r, data, position, at);
        mirror(call->step, r, at);
        for (uint32_t i = 0; i < r->rank; i++) other = other * r->sizes[i] + at[i];
        if (other <= position) continue;
        char *second = place(r, data, other, at);
        memcpy(hand, first, size);
        memcpy(first, second, size);
        memcpy(second, hand, size);
    }
}

void ref_flip(const kernel_call_t *call) {
    const bound_operand_t *x = &call->step->operands[0], *r = &call->step->results[0];
    int64_t begin, end;
    call_share(call, operand_numel(r), 64, &begin, &end);
    if (operand_data(call, x) == operand_data(call, r)) {
        flip_in_place(call, r, begin, end);
        return;
    }
    for (int64_t position = begin; position < end; position++) {
        int64_t at[MAX_RANK];
        char *to = place(r, operand_data(call, r), position, at);
        mirror(call->step, x, at);
        memcpy(to, locate(x, operand_data(call, x), at), dtype_size(r->dtype));
    }
}

/* ---- triangle ---- */
bool ref_triangle_can_run(const bound_step_t *step, reason_t *why) {
    if (step->operands[0].dtype != step->results[0].dtype) return decline(why, "the dtypes differ");
    if (step->operands[0].rank < 2) return decline(why, "it has no last two dimensions");
    return require_result_sizes(step, 0, why);
}

void ref_triangle(const kernel_call_t *call) {
    const bound_operand_t *x = &call->step->operands[0], *r = &call->step->results[0];
    bool lower = attr_op(call->step) == OP_LOWER;
    int64_t offset = attr_int(call->step, ATTR_OFFSET, 0), begin, end;
    uint32_t size = dtype_size(r->dtype);
    call_share(call, operand_numel(r), 64, &begin, &end);
    for (int64_t position = begin; position < end; position++) {
        int64_t at[MAX_RANK];
        char *to = place(r, operand_data(call, r), position, at);
        int64_t diagonal = at[r->rank - 1] - at[r->rank - 2];
        if (lower ? diagonal <= offset : diagonal >= offset)
            memmove(to, locate(x, operand_data(call, x), at), size);
        else
            memset(to, 0, size);
    }
}
