/* Copies within one storage between two places that may overlap, in an order in which an element is stored over only after
 * it was read.
 *
 * Same strides (a shift of rows, columns or both): with the dimensions in descending order of their strides, and no two elements in one place, addresses rise in row-major
 * order. Moving towards lower addresses then goes upwards, and towards higher ones downwards. Threads share
 * the outer dimensions whose steps are longer than the way that elements move.
 *
 * One dimension with two strides: upwards if no element moves up, else downwards.
 *
 * The same elements in another order (a transposition): along the cycles of the permutation, one element in hand, with a
 * bit for each element that is done. */
#include "backend/cpu/cpu_int.h"

#include <string.h>

typedef struct nest { /* dimensions in bytes, the largest stride first */
    int64_t sizes[MAX_RANK], strides[MAX_RANK];
    uint32_t rank, shared; /* shared: the outer ones that threads divide */
} nest_t;

static void nest_add(nest_t *nest, int64_t size, int64_t stride) {
    uint32_t at = nest->rank++;
    for (; at > 0 && nest->strides[at - 1] < stride; at--) {
        nest->sizes[at] = nest->sizes[at - 1];
        nest->strides[at] = nest->strides[at - 1];
    }
    nest->sizes[at] = size;
    nest->strides[at] = stride;
}

/* Dimensions that lie together become one. */
static void nest_merge(nest_t *nest) {
    uint32_t kept = 0;
    for (uint32_t i = 1; i < nest->rank; i++) {
        if (nest->strides[kept] == nest->strides[i] * nest->sizes[i]) {
            nest->sizes[kept] *= nest->sizes[i];
            nest->strides[kept] = nest->strides[i];
        } else {
            kept++;
            nest->sizes[kept] = nest->sizes[i];
            nest->strides[kept] = nest->strides[i];
        }
    }
    nest->rank = nest->rank ? kept + 1 : 0;
}

static bool nest_of(const bound_operand_t *operand, nest_t *out) {
    int64_t size = (int64_t)dtype_size(operand->dtype), reach = 0;
    *out = (nest_t){.rank = 0};
    for (uint32_t i = 0; i < operand->rank; i++)
        if (operand->sizes[i] > 1) nest_add(out, operand->sizes[i], operand->strides[i] * size);
    for (uint32_t i = out->rank; i-- > 0;) {
        if (out->strides[i] < reach + size) return false;
        reach += (out->sizes[i] - 1) * out->strides[i];
    }
    return true;
}

static bool same_strides(const bound_operand_t *from, const bound_operand_t *to) {
    for (uint32_t i = 0; i < to->rank; i++)
        if (to->sizes[i] > 1 && to->strides[i] != from->strides[i]) return false;
    return true;
}

/* Do both run over the same elements, each once, and adjoining ones? */
static bool is_permutation(const bound_operand_t *from, const bound_operand_t *to) {
    nest_t a, b;
    if (from->moves || to->moves || from->offset != to->offset || !nest_of(from, &a) || !nest_of(to, &b)) return false;
    nest_merge(&a);
    nest_merge(&b);
    return a.rank == 1 && b.rank == 1 && a.sizes[0] == b.sizes[0] && a.strides[0] == b.strides[0] &&
           a.strides[0] == (int64_t)dtype_size(to->dtype);
}

static uint32_t count_dimensions(const bound_operand_t *operand) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < operand->rank; i++) count += operand->sizes[i] > 1;
    return count;
}

/* Of a shift, and of one dimension, the offsets may change from call to call. */
bool ref_overlap_can_run(const bound_step_t *step, reason_t *why) {
    const bound_operand_t *from = &step->operands[0], *to = &step->results[0];
    nest_t ignored;
    if (from->storage != to->storage) return decline(why, "the places lie in two storages");
    if (from->dtype != to->dtype || !operand_same_sizes(from, to)) return decline(why, "the sizes differ");
    if (!nest_of(to, &ignored) || !nest_of(from, &ignored))
        return decline(why, "elements do not lie one after another");
    return same_strides(from, to) || count_dimensions(to) == 1 || is_permutation(from, to) ||
           decline(why, "the strides differ");
}

size_t ref_overlap_workspace(const bound_step_t *step) {
    if (same_strides(&step->operands[0], &step->results[0]) || count_dimensions(&step->results[0]) == 1) return 0;
    return (size_t)operand_numel(&step->results[0]) / 8 + 1;
}

/* Bytes from the first to the last of the dimensions from number first on. */
static int64_t extent_of(const nest_t *nest, uint32_t first, int64_t size) {
    int64_t extent = size;
    for (uint32_t i = first; i < nest->rank; i++) extent += (nest->sizes[i] - 1) * nest->strides[i];
    return extent;
}

static int64_t count_of(const nest_t *nest, uint32_t first, uint32_t last) {
    int64_t count = 1;
    for (uint32_t i = first; i < last; i++) count *= nest->sizes[i];
    return count;
}

/* The address of an element, counted in row-major order over the dimensions [first, last). */
static int64_t address_of(const nest_t *nest, uint32_t first, uint32_t last, int64_t position) {
    int64_t address = 0;
    for (uint32_t i = last; i-- > first; position /= nest->sizes[i])
        address += position % nest->sizes[i] * nest->strides[i];
    return address;
}

/* Rows of the inner dimensions, each of which is one move if its elements adjoin. */
static void move_rows(const nest_t *nest, char *to, const char *from, int64_t size, bool upwards) {
    bool dense = nest->rank > nest->shared && nest->strides[nest->rank - 1] == size;
    uint32_t row = dense ? nest->rank - 1 : nest->rank;
    size_t bytes = (size_t)(dense ? size * nest->sizes[row] : size);
    int64_t count = count_of(nest, nest->shared, row);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = address_of(nest, nest->shared, row, upwards ? i : count - 1 - i);
        memmove(to + at, from + at, bytes);
    }
}

static void run_shift(const kernel_call_t *call, nest_t *nest, char *to, const char *from) {
    int64_t size = (int64_t)dtype_size(call->step->results[0].dtype), way = to - from, begin, end;
    if (way == 0) return;
    nest_merge(nest);
    for (int64_t reach = way < 0 ? -way : way; nest->shared < nest->rank; nest->shared++)
        if (nest->strides[nest->shared] < extent_of(nest, nest->shared + 1, size) + reach) break;
    call_share(call, count_of(nest, 0, nest->shared), 1, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t at = address_of(nest, 0, nest->shared, i);
        move_rows(nest, to + at, from + at, size, way < 0);
    }
}

static void run_line(const kernel_call_t *call, const nest_t *to_nest, const nest_t *from_nest, char *to,
                     const char *from) {
    size_t size = dtype_size(call->step->results[0].dtype);
    int64_t count = to_nest->sizes[0], last = count - 1;
    bool upwards = to <= from && to + last * to_nest->strides[0] <= from + last * from_nest->strides[0];
    for (int64_t i = 0; i < count && call->thread == 0; i++) {
        int64_t at = upwards ? i : last - i;
        memmove(to + at * to_nest->strides[0], from + at * from_nest->strides[0], size);
    }
}

/* Both places over the target's dimensions, its largest stride first; strides in elements. */
typedef struct permutation {
    uint32_t rank;
    int64_t to[MAX_RANK], from[MAX_RANK];
} permutation_t;

static permutation_t permutation_of(const bound_operand_t *from, const bound_operand_t *to) {
    permutation_t out = {.rank = 0};
    for (uint32_t i = 0; i < to->rank; i++) {
        if (to->sizes[i] == 1) continue;
        uint32_t at = out.rank++;
        for (; at > 0 && out.to[at - 1] < to->strides[i]; at--) {
            out.to[at] = out.to[at - 1];
            out.from[at] = out.from[at - 1];
        }
        out.to[at] = to->strides[i];
        out.from[at] = from->strides[i];
    }
    return out;
}

/* The position of the element that a position is given. */
static int64_t source_of(const permutation_t *permutation, int64_t position) {
    int64_t source = 0;
    for (uint32_t i = 0; i < permutation->rank; i++) {
        source += position / permutation->to[i] * permutation->from[i];
        position %= permutation->to[i];
    }
    return source;
}

static void run_cycles(const kernel_call_t *call, char *data) {
    const bound_operand_t *to = &call->step->results[0];
    const permutation_t permutation = permutation_of(&call->step->operands[0], to);
    int64_t count = operand_numel(to), size = (int64_t)dtype_size(to->dtype);
    unsigned char *done = (unsigned char *)call->workspace, hand[16];
    if (call->thread != 0) return;
    memset(done, 0, (size_t)count / 8 + 1);
    for (int64_t first = 0; first < count; first++) {
        if (done[first / 8] >> (first % 8) & 1) continue;
        memcpy(hand, data + first * size, (size_t)size);
        for (int64_t at = first;;) {
            int64_t source = source_of(&permutation, at);
            done[at / 8] |= (unsigned char)(1 << (at % 8));
            memcpy(data + at * size, source == first ? (const char *)hand : data + source * size, (size_t)size);
            if (source == first) break;
            at = source;
        }
    }
}

void ref_overlap(const kernel_call_t *call) {
    const bound_operand_t *from = &call->step->operands[0], *to = &call->step->results[0];
    nest_t source, target;
    if (operand_numel(to) == 0 || !nest_of(from, &source) || !nest_of(to, &target)) return;
    if (same_strides(from, to))
        run_shift(call, &target, operand_data(call, to), operand_data(call, from));
    else if (target.rank == 1)
        run_line(call, &target, &source, operand_data(call, to), operand_data(call, from));
    else
        run_cycles(call, operand_data(call, to));
}
