/* Whether two strided tensors have a byte in common, though their ranges of bytes overlap: K and V interleaved in one
 * buffer do not, a cache and a slice of it do.
 *
 * A tensor is brought to runs of adjoining bytes that repeat with a few strides. Where the runs stay apart modulo the
 * greatest common divisor of all strides, they never meet. Otherwise the tensor of the larger range is taken apart along
 * its largest stride, of which only what reaches the other's range is looked at. After a bounded number of looks the
 * answer is that they may meet. */
#include "core/core.h"

enum { MOST_LOOKS = 1 << 16 };

typedef struct runs {
    uint64_t start;
    uint32_t rank;
    uint64_t sizes[MAX_RANK], strides[MAX_RANK]; /* in bytes, by falling stride */
    uint64_t
        extents[MAX_RANK + 1]; /* bytes from the first to the last, of the dimensions from here on; last: a run's */
} runs_t;

static runs_t runs_of(const element_set_t *set) {
    runs_t runs = {.start = set->start};
    for (uint32_t i = 0; i < set->rank; i++) {
        uint64_t stride = (uint64_t)set->strides[i] * set->item, size = (uint64_t)set->sizes[i];
        uint32_t at = runs.rank;
        if (size == 1 || stride == 0) continue;
        for (; at > 0 && runs.strides[at - 1] < stride; at--) {
            runs.sizes[at] = runs.sizes[at - 1];
            runs.strides[at] = runs.strides[at - 1];
        }
        runs.sizes[at] = size;
        runs.strides[at] = stride;
        runs.rank++;
    }
    uint64_t run = set->item;
    while (runs.rank && runs.strides[runs.rank - 1] <= run) { /* adjoining, or overlapping as windows do */
        runs.rank--;
        run += (runs.sizes[runs.rank] - 1) * runs.strides[runs.rank];
    }
    runs.extents[runs.rank] = run;
    for (uint32_t i = runs.rank; i-- > 0;)
        runs.extents[i] = runs.extents[i + 1] + (runs.sizes[i] - 1) * runs.strides[i];
    return runs;
}

static uint64_t divisor_of(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool are_apart_modulo(const runs_t *a, const runs_t *b) {
    uint64_t divisor = 0;
    for (uint32_t i = 0; i < a->rank; i++) divisor = divisor_of(divisor, a->strides[i]);
    for (uint32_t i = 0; i < b->rank; i++) divisor = divisor_of(divisor, b->strides[i]);
    if (divisor == 0) return false;
    uint64_t first = a->start % divisor, second = b->start % divisor;
    uint64_t distance = second >= first ? second - first : second + divisor - first;
    uint64_t room = divisor - distance; /* from the second's run to the first's next one */
    return distance >= a->extents[a->rank] && room >= b->extents[b->rank];
}

/* From dimension i of a at address first, and dimension k of b at address second. */
static bool meet_from(const runs_t *a, uint32_t i, uint64_t first, const runs_t *b, uint32_t k, uint64_t second,
                      uint32_t *looks) {
    if (first >= second + b->extents[k] || second >= first + a->extents[i]) return false;
    if (i == a->rank && k == b->rank) return true;
    if (*looks == 0) return true;
    --*looks;
    if (i == a->rank || (k < b->rank && b->extents[k] > a->extents[i]))
        return meet_from(b, k, second, a, i, first, looks);
    uint64_t stride = a->strides[i], inner = a->extents[i + 1];
    uint64_t from = second >= first + inner ? (second - first - inner) / stride + 1 : 0;
    for (uint64_t index = from; index < a->sizes[i] && first + index * stride < second + b->extents[k]; index++)
        if (meet_from(a, i + 1, first + index * stride, b, k, second, looks)) return true;
    return false;
}

static bool is_empty(const element_set_t *set) {
    for (uint32_t i = 0; i < set->rank; i++)
        if (set->sizes[i] == 0) return true;
    return false;
}

bool elements_meet(const element_set_t *a, const element_set_t *b) {
    if (is_empty(a) || is_empty(b)) return false;
    runs_t first = runs_of(a), second = runs_of(b);
    uint32_t looks = MOST_LOOKS;
    return !are_apart_modulo(&first, &second) && meet_from(&first, 0, first.start, &second, 0, second.start, &looks);
}

/* Its bytes as numbers from the storage's start. False: something is not constant. */
static bool set_of_type(const sym_pool_t *pool, const tensor_type_t *type, int64_t *sizes, int64_t *strides,
                        element_set_t *out) {
    int64_t offset;
    size_t item = dtype_size(type->dtype);
    if (!sym_constant(pool, type->offset, &offset)) return false;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        if (!sym_constant(pool, type->shape.sizes[i], &sizes[i])) return false;
        if (!sym_constant(pool, type->strides[i], &strides[i]) || strides[i] < 0) return false;
    }
    *out = (element_set_t){(uint64_t)offset * item, type->shape.rank, sizes, strides, item};
    return true;
}

bool types_meet(const sym_pool_t *pool, const tensor_type_t *a, const tensor_type_t *b) {
    int64_t sizes[2][MAX_RANK], strides[2][MAX_RANK];
    element_set_t first, second;
    if (!set_of_type(pool, a, sizes[0], strides[0], &first) || !set_of_type(pool, b, sizes[1], strides[1], &second))
        return true;
    return elements_meet(&first, &second);
}
