/* Copies within one storage that need no copy of what they store over: shifts, one line with two strides, and permutations
 * of the same elements (the backend's copy knows these three). */
#include "planner/planner_int.h"

enum { MAX_PERMUTED = 1 << 24 }; /* elements; larger permutations are set aside */

/* Same strides; dimensions sorted by them do not reach into one another, whatever the symbols are. */
static bool is_shift(sym_pool_t *pool, const tensor_type_t *from, const tensor_type_t *to) {
    uint32_t sorted[MAX_RANK], count = 0;
    int64_t strides[MAX_RANK];
    for (uint32_t i = 0; i < to->shape.rank; i++) {
        if (sym_is_one(to->shape.sizes[i])) continue;
        if (!sym_same(from->strides[i], to->strides[i]) || !sym_constant(pool, to->strides[i], &strides[i]))
            return false;
        uint32_t at = count++;
        for (; at > 0 && strides[sorted[at - 1]] > strides[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = i;
    }
    sym_t reach = sym_int(pool, 1), one = reach; /* one past what the smaller dimensions reach */
    for (uint32_t i = 0; i < count; i++) {
        sym_t stride = sym_int(pool, strides[sorted[i]]);
        if (sym_is_le(pool, reach, stride) != TRUTH_TRUE) return false;
        sym_t last = sym_sub(pool, to->shape.sizes[sorted[i]], one);
        reach = sym_add(pool, reach, sym_mul(pool, last, stride));
    }
    return true;
}

typedef struct constant_layout { /* without dimensions of one element */
    uint32_t rank;
    int64_t sizes[MAX_RANK], strides[MAX_RANK], offset, elements;
} constant_layout_t;

static bool constant_of(const sym_pool_t *pool, const tensor_type_t *type, constant_layout_t *out) {
    *out = (constant_layout_t){.elements = 1};
    if (!sym_constant(pool, type->offset, &out->offset)) return false;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        int64_t size, stride;
        if (!sym_constant(pool, type->shape.sizes[i], &size) || !sym_constant(pool, type->strides[i], &stride))
            return false;
        if (size == 1) continue;
        if (size < 1 || stride < 1 || !checked_mul(out->elements, size, &out->elements)) return false;
        out->sizes[out->rank] = size;
        out->strides[out->rank++] = stride;
    }
    return true;
}

/* One dimension, in which no element moves up, or none moves down. */
static bool is_line(const constant_layout_t *from, const constant_layout_t *to) {
    if (to->rank != 1 || from->rank != 1) return false;
    int64_t last = to->sizes[0] - 1;
    int64_t first_way = to->offset - from->offset, last_way = first_way + last * (to->strides[0] - from->strides[0]);
    return (first_way <= 0 && last_way <= 0) || (first_way >= 0 && last_way >= 0);
}

/* Adjoining elements, each once, in any order of dimensions. */
static bool is_dense(const constant_layout_t *layout) {
    int64_t reach = 1;
    for (uint32_t found = 0; found < layout->rank; found++) {
        uint32_t i = 0;
        while (i < layout->rank && layout->strides[i] != reach) i++;
        if (i == layout->rank) return false;
        reach *= layout->sizes[i];
    }
    return true;
}

static bool is_permutation(const constant_layout_t *from, const constant_layout_t *to) {
    return from->offset == to->offset && to->elements <= MAX_PERMUTED && is_dense(from) && is_dense(to);
}

bool layout_moves(sym_pool_t *pool, const tensor_type_t *from, const tensor_type_t *to) {
    constant_layout_t a, b;
    if (from->dtype != to->dtype || !shape_same(&from->shape, &to->shape)) return false;
    if (is_shift(pool, from, to)) return true;
    if (!constant_of(pool, from, &a) || !constant_of(pool, to, &b)) return false;
    return is_line(&a, &b) || is_permutation(&a, &b);
}

/* The position in to's elements of what is given to a position: its index, taken apart by to and put together by from. */
static int64_t source_of(const constant_layout_t *from, const constant_layout_t *to, int64_t position) {
    int64_t source = 0, rest = position;
    for (int64_t limit = INT64_MAX;;) {
        uint32_t next = to->rank;
        for (uint32_t i = 0; i < to->rank; i++)
            if (to->strides[i] < limit && (next == to->rank || to->strides[i] > to->strides[next])) next = i;
        if (next == to->rank) return source;
        limit = to->strides[next];
        source += rest / limit * from->strides[next];
        rest %= limit;
    }
}

insitu_status layout_held_bytes(planner_t *planner, const tensor_type_t *from, const tensor_type_t *to,
                                int64_t *out_bytes) {
    constant_layout_t a, b;
    *out_bytes = 0;
    if (!shape_same(&from->shape, &to->shape) || is_shift(planner->pool, from, to)) return INSITU_OK;
    if (!constant_of(planner->pool, from, &a) || !constant_of(planner->pool, to, &b)) return INSITU_OK;
    if (is_line(&a, &b) || !is_permutation(&a, &b)) return INSITU_OK;
    bitset_t done;
    TRY(bitset_create(&planner->scratch, (uint32_t)b.elements, &done));
    for (int64_t first = 0; first < b.elements; first++) {
        if (bitset_has(&done, (uint32_t)first)) continue;
        uint32_t length = 0;
        for (int64_t at = first; !bitset_has(&done, (uint32_t)at); at = source_of(&a, &b, at), length++)
            bitset_add(&done, (uint32_t)at);
        if (length > 1) *out_bytes += dtype_size(to->dtype);
    }
    return INSITU_OK;
}
