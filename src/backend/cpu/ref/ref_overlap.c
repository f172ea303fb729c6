/* Copies within one storage between two places of the same strides that may overlap: a shift of rows, columns or both.
 *
 * With the dimensions in descending order of their strides, and no two elements in one place, addresses rise in row-major
 * order. Moving towards lower addresses then goes upwards, and towards higher ones downwards: an element is stored over
 * only after it was read. Threads share the outer dimensions whose steps are longer than the way that elements move. */
#include "backend/cpu/cpu_int.h"

#include <string.h>

typedef struct nest { /* dimensions in bytes, the largest stride first */
    int64_t sizes[MAX_RANK], strides[MAX_RANK];
    uint32_t rank, shared; /* shared: the outer ones that threads divide */
} nest;

static void nest_add(nest *nest, int64_t size, int64_t stride) {
    uint32_t at = nest->rank++;
    for (; at > 0 && nest->strides[at - 1] < stride; at--) {
        nest->sizes[at] = nest->sizes[at - 1];
        nest->strides[at] = nest->strides[at - 1];
    }
    nest->sizes[at] = size;
    nest->strides[at] = stride;
}

/* Dimensions that lie together become one. */
static void nest_merge(nest *nest) {
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

static bool nest_of(const bound_operand *operand, nest *out) {
    int64_t size = (int64_t)dtype_size(operand->dtype), reach = 0;
    *out = (nest){.rank = 0};
    for (uint32_t i = 0; i < operand->rank; i++)
        if (operand->sizes[i] > 1) nest_add(out, operand->sizes[i], operand->strides[i] * size);
    for (uint32_t i = out->rank; i-- > 0;) {
        if (out->strides[i] < reach + size) return false;
        reach += (out->sizes[i] - 1) * out->strides[i];
    }
    return true;
}

/* Asks nothing of the offsets, which may change from call to call. */
bool ref_overlap_can_run(const bound_step *step, reason *why) {
    const bound_operand *from = &step->operands[0], *to = &step->results[0];
    nest ignored;
    if (from->storage != to->storage) return decline(why, "the places lie in two storages");
    if (from->dtype != to->dtype || !operand_same_sizes(from, to)) return decline(why, "the sizes differ");
    for (uint32_t i = 0; i < to->rank; i++)
        if (to->sizes[i] > 1 && to->strides[i] != from->strides[i]) return decline(why, "the strides differ");
    return nest_of(to, &ignored) || decline(why, "elements do not lie one after another");
}

/* Bytes from the first to the last of the dimensions from number first on. */
static int64_t extent_of(const nest *nest, uint32_t first, int64_t size) {
    int64_t extent = size;
    for (uint32_t i = first; i < nest->rank; i++) extent += (nest->sizes[i] - 1) * nest->strides[i];
    return extent;
}

static int64_t count_of(const nest *nest, uint32_t first, uint32_t last) {
    int64_t count = 1;
    for (uint32_t i = first; i < last; i++) count *= nest->sizes[i];
    return count;
}

/* The address of an element, counted in row-major order over the dimensions [first, last). */
static int64_t address_of(const nest *nest, uint32_t first, uint32_t last, int64_t position) {
    int64_t address = 0;
    for (uint32_t i = last; i-- > first; position /= nest->sizes[i])
        address += position % nest->sizes[i] * nest->strides[i];
    return address;
}

/* Rows of the inner dimensions, each of which is one move if its elements adjoin. */
static void move_rows(const nest *nest, char *to, const char *from, int64_t size, bool upwards) {
    bool dense = nest->rank > nest->shared && nest->strides[nest->rank - 1] == size;
    uint32_t row = dense ? nest->rank - 1 : nest->rank;
    size_t bytes = (size_t)(dense ? size * nest->sizes[row] : size);
    int64_t count = count_of(nest, nest->shared, row);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = address_of(nest, nest->shared, row, upwards ? i : count - 1 - i);
        memmove(to + at, from + at, bytes);
    }
}

void ref_overlap(const kernel_call *call) {
    const bound_operand *operand = &call->step->results[0];
    char *to = operand_data(call, operand);
    const char *from = operand_data(call, &call->step->operands[0]);
    int64_t size = (int64_t)dtype_size(operand->dtype), way = to - from, begin, end;
    nest nest;
    if (way == 0 || operand_numel(operand) == 0 || !nest_of(operand, &nest)) return;
    nest_merge(&nest);
    for (int64_t reach = way < 0 ? -way : way; nest.shared < nest.rank; nest.shared++)
        if (nest.strides[nest.shared] < extent_of(&nest, nest.shared + 1, size) + reach) break;
    call_share(call, count_of(&nest, 0, nest.shared), 1, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t at = address_of(&nest, 0, nest.shared, i);
        move_rows(&nest, to + at, from + at, size, way < 0);
    }
}
