/* Layers whose result elements are operand elements at computed places: pad, flip, triangle. They go by lines: where a line of the
 * result comes from is found once, and its elements follow at one step. */
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

/* A part of a line of the result along its last dimension. */
typedef struct line {
    int64_t at[MAX_RANK]; /* of its first element; a number is at 0 of a line of one */
    int64_t count;
    char *to;
} line_t;

/* The next one before the position end; what it holds is passed. */
static bool next_line(const bound_operand_t *r, char *data, int64_t *position, int64_t end, line_t *out) {
    if (*position >= end) return false;
    int64_t rest = 1;
    out->at[0] = 0;
    out->to = place(r, data, *position, out->at);
    if (r->rank) rest = r->sizes[r->rank - 1] - out->at[r->rank - 1];
    out->count = rest < end - *position ? rest : end - *position;
    *position += out->count;
    return true;
}

static int64_t last_step(const bound_operand_t *operand) {
    return operand->rank ? operand->strides[operand->rank - 1] * (int64_t)dtype_size(operand->dtype) : 0;
}

static void copy_elements(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                          uint32_t size) {
    if (to_step == size && from_step == size) {
        memmove(to, from, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++, to += to_step, from += from_step) {
        switch (size) {
        case 4: memcpy(to, from, 4); break;
        case 2: memcpy(to, from, 2); break;
        default: memcpy(to, from, size);
        }
    }
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

typedef struct padding {
    op_kind_t mode;
    int64_t before[MAX_RANK];
    char value[16];
} padding_t;

static void read_padding(const bound_step_t *step, padding_t *out) {
    const bound_operand_t *r = &step->results[0];
    const bound_attr_t *fill = attr_of(step, ATTR_VALUE);
    *out = (padding_t){.mode = attr_op(step)};
    for (uint32_t i = 0; i < r->rank; i++) out->before[i] = attr_item(step, ATTR_BEFORE, i, 0);
    if (fill && fill->value.kind == SYM_KIND_FLOAT) element_store_double(r->dtype, out->value, fill->value.f);
    if (fill && fill->value.kind != SYM_KIND_FLOAT) element_store_int(r->dtype, out->value, fill->value.i);
}

/* What comes before and behind x's own elements in the last dimension is found one by one. from: of the line's place 0. */
static void pad_line(const padding_t *padding, const bound_operand_t *x, const char *from, const line_t *line,
                     int64_t to_step) {
    const uint32_t last = x->rank - 1, size = dtype_size(x->dtype);
    int64_t step = last_step(x), index = line->at[last] - padding->before[last], end = index + line->count;
    char *to = line->to;
    while (index < end) {
        int64_t source = pad_source(padding->mode, index, x->sizes[last]), count = 1;
        if (index >= 0 && index < x->sizes[last]) count = (end < x->sizes[last] ? end : x->sizes[last]) - index;
        copy_elements(to, to_step, source < 0 ? padding->value : from + source * step, step, count, size);
        to += count * to_step;
        index += count;
    }
}

void ref_pad(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *x = &step->operands[0], *r = &step->results[0];
    const char *data = operand_data(call, x);
    const uint32_t size = dtype_size(r->dtype);
    padding_t padding;
    line_t line;
    int64_t position, end;
    read_padding(step, &padding);
    call_share(call, operand_numel(r), 64, &position, &end);
    while (next_line(r, operand_data(call, r), &position, end, &line)) {
        bool inside = true;
        const char *from = data;
        for (uint32_t i = 0; i + 1 < x->rank; i++) {
            int64_t source = pad_source(padding.mode, line.at[i] - padding.before[i], x->sizes[i]);
            inside &= source >= 0;
            from += source * x->strides[i] * (int64_t)size;
        }
        if (x->rank == 0 || !inside)
            copy_elements(line.to, last_step(r), inside ? data : padding.value, 0, line.count, size);
        else
            pad_line(&padding, x, from, &line, last_step(r));
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
    int64_t position, end, first[MAX_RANK] = {0};
    line_t line;
    call_share(call, operand_numel(r), 64, &position, &end);
    if (operand_data(call, x) == operand_data(call, r)) {
        flip_in_place(call, r, position, end);
        return;
    }
    mirror(call->step, x, first);
    bool turns = x->rank && x->sizes[x->rank - 1] > 1 && first[x->rank - 1] > 0; /* the last dimension */
    while (next_line(r, operand_data(call, r), &position, end, &line)) {
        mirror(call->step, x, line.at);
        copy_elements(line.to, last_step(r), locate(x, operand_data(call, x), line.at),
                      turns ? -last_step(x) : last_step(x), line.count, dtype_size(r->dtype));
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
    const bool lower = attr_op(call->step) == OP_LOWER;
    const int64_t offset = attr_int(call->step, ATTR_OFFSET, 0), step = last_step(r), x_step = last_step(x);
    const uint32_t size = dtype_size(r->dtype), last = r->rank - 1;
    const char zero[16] = {0};
    int64_t position, end;
    line_t line;
    call_share(call, operand_numel(r), 64, &position, &end);
    while (next_line(r, operand_data(call, r), &position, end, &line)) {
        int64_t cut =
            line.at[last - 1] + offset + (lower ? 1 : 0) - line.at[last]; /* elements before the diagonal's end */
        cut = cut < 0 ? 0 : cut > line.count ? line.count : cut;
        const char *from = locate(x, operand_data(call, x), line.at);
        int64_t kept = lower ? 0 : cut, cleared = lower ? cut : 0;
        copy_elements(line.to + kept * step, step, from + kept * x_step, x_step, lower ? cut : line.count - cut, size);
        copy_elements(line.to + cleared * step, step, zero, 0, lower ? line.count - cut : cut, size);
    }
}
