/* Do two strided views of one storage share a byte?
 *
 * With constant sizes, strides and offsets this is exact: is there a point of a bounded integer box at which a linear
 * form is zero? Views of one tensor have the same strides, so that a dimension of the one and a dimension of the other
 * with equal strides become one variable (their difference); a search from the largest stride down with interval and
 * divisibility cuts then visits a handful of points. A search that takes too long answers yes. Of views with symbols the
 * dimensions that both have, and that step over all else, are left out: those with a dynamic batch are then constant. Where
 * symbols remain, only the intervals of addresses are compared. */
#include "planner/planner_int.h"

enum { SEARCH_BUDGET = 20000, MAX_TERMS = 2 * MAX_RANK + 2 };

typedef struct term { /* coefficient * x, low <= x <= high */
    int64_t coefficient, low, high;
} term_t;

typedef struct form {
    term_t terms[MAX_TERMS];
    int64_t min_rest[MAX_TERMS + 1], max_rest[MAX_TERMS + 1], gcd_rest[MAX_TERMS + 1];
    uint32_t count;
    uint32_t budget;
} form_t;

static bool add_term(form_t *form, int64_t stride, int64_t low, int64_t high) {
    if (stride == 0 || (low == 0 && high == 0)) return true;
    for (uint32_t i = 0; i < form->count; i++) {
        if (form->terms[i].coefficient != stride) continue;
        form->terms[i].low += low;
        form->terms[i].high += high;
        return true;
    }
    if (form->count == MAX_TERMS) return false;
    form->terms[form->count++] = (term_t){stride, low, high};
    return true;
}

static void sort_terms(form_t *form) { /* largest coefficient first */
    for (uint32_t i = 1; i < form->count; i++)
        for (uint32_t j = i; j > 0 && form->terms[j].coefficient > form->terms[j - 1].coefficient; j--) {
            term_t swap = form->terms[j];
            form->terms[j] = form->terms[j - 1];
            form->terms[j - 1] = swap;
        }
}

/* Is value + the terms from number i on zero anywhere? i <= MAX_TERMS bounds the recursion. */
static bool has_zero(form_t *form, uint32_t i, int64_t value) {
    if (form->budget == 0) return true;
    form->budget--;
    if (i == form->count) return value == 0;
    if (value + form->min_rest[i] > 0 || value + form->max_rest[i] < 0) return false;
    if (value % form->gcd_rest[i] != 0) return false;
    const term_t *t = &form->terms[i];
    /* -value - max_rest <= coefficient * x <= -value - min_rest */
    int64_t low = -floor_div(value + form->max_rest[i + 1], t->coefficient);
    int64_t high = floor_div(-value - form->min_rest[i + 1], t->coefficient);
    if (low < t->low) low = t->low;
    if (high > t->high) high = t->high;
    for (int64_t x = low; x <= high; x++)
        if (has_zero(form, i + 1, value + t->coefficient * x)) return true;
    return false;
}

enum { MAX_EXTENT_BITS = 56 }; /* addresses beyond this are left to the caller's caution */

/* Adds a view's terms in bytes, negated for the second view. False if something is not a (moderate) constant. */
static bool add_view(const sym_pool_t *pool, form_t *form, const tensor_type_t *type, bool negative, int64_t *base,
                     bool *out_empty) {
    int64_t size = dtype_size(type->dtype), offset;
    if (!sym_constant(pool, type->offset, &offset) || offset < 0 || offset >> (MAX_EXTENT_BITS - 5)) return false;
    *base += negative ? -offset * size : offset * size;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        int64_t count, stride;
        if (!sym_constant(pool, type->shape.sizes[i], &count) || !sym_constant(pool, type->strides[i], &stride))
            return false;
        if (count == 0) *out_empty = true;
        if (count <= 1) continue;
        int64_t extent;
        if (stride < 0 || !checked_mul(count - 1, stride * size, &extent) || extent >> MAX_EXTENT_BITS) return false;
        if (!add_term(form, stride * size, negative ? 1 - count : 0, negative ? 0 : count - 1)) return false;
    }
    return add_term(form, 1, negative ? 1 - size : 0, negative ? 0 : size - 1); /* the bytes of an element */
}

/* One past the last element's address, in bytes. */
static sym_t end_of(sym_pool_t *pool, const tensor_type_t *type) {
    sym_t last = type->offset, one = sym_int(pool, 1);
    for (uint32_t i = 0; i < type->shape.rank; i++)
        last = sym_add(pool, last, sym_mul(pool, sym_sub(pool, type->shape.sizes[i], one), type->strides[i]));
    return sym_mul(pool, sym_add(pool, last, one), sym_int(pool, dtype_size(type->dtype)));
}

static sym_t start_of(sym_pool_t *pool, const tensor_type_t *type) {
    return sym_mul(pool, type->offset, sym_int(pool, dtype_size(type->dtype)));
}

static void same_unit(const tensor_type_t *a, const tensor_type_t *b, form_t *form) {
    /* Two dense views of one element size meet element by element: their bytes need no variable. */
    if (dtype_size(a->dtype) != dtype_size(b->dtype)) return;
    int64_t size = dtype_size(a->dtype);
    for (uint32_t i = 0; i < form->count; i++)
        if (form->terms[i].coefficient % size != 0 && form->terms[i].coefficient != 1) return;
    for (uint32_t i = 0; i < form->count; i++)
        if (form->terms[i].coefficient == 1) {
            if (size == 1) return; /* the variable also stands for elements */
            form->terms[i] = form->terms[--form->count];
            return;
        }
}

region_span_t span_of(const sym_pool_t *pool, const tensor_type_t *type) {
    region_span_t span = {0, INT64_MAX};
    int64_t size = dtype_size(type->dtype), last;
    if (!sym_constant(pool, type->offset, &last) || last < 0) return span;
    int64_t first = last;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        int64_t count, stride, reach;
        if (!sym_constant(pool, type->shape.sizes[i], &count) || !sym_constant(pool, type->strides[i], &stride) ||
            stride < 0)
            return span;
        if (count == 0) return (region_span_t){0, 0};
        if (!checked_mul(count - 1, stride, &reach) || !checked_add(last, reach, &last)) return span;
    }
    region_span_t bytes;
    bool fits =
        checked_add(last, 1, &last) && checked_mul(first, size, &bytes.begin) && checked_mul(last, size, &bytes.end);
    return fits ? bytes : span;
}

/* ---- dimensions that both views have ---- */

static tensor_type_t without(const tensor_type_t *type, uint32_t dim) {
    tensor_type_t rest = *type;
    rest.shape.rank--;
    for (uint32_t i = dim; i < rest.shape.rank; i++) {
        rest.shape.sizes[i] = type->shape.sizes[i + 1];
        rest.strides[i] = type->strides[i + 1];
    }
    return rest;
}

/* All elements of both lie within one step of that many elements. */
static bool fits_step(sym_pool_t *pool, const tensor_type_t *a, const tensor_type_t *b, sym_t stride) {
    int64_t step, size = dtype_size(a->dtype);
    region_span_t one = span_of(pool, a), other = span_of(pool, b);
    if (one.end == INT64_MAX || other.end == INT64_MAX || !sym_constant(pool, stride, &step)) {
        sym_t bytes = sym_mul(pool, stride, sym_int(pool, size));
        const tensor_type_t *both[] = {a, b};
        for (uint32_t i = 0; i < 4; i++) {
            sym_t reach = sym_sub(pool, end_of(pool, both[i / 2]), start_of(pool, both[i % 2]));
            if (sym_is_le(pool, reach, bytes) != TRUTH_TRUE) return false;
        }
        return true;
    }
    int64_t begin = one.begin < other.begin ? one.begin : other.begin, end = one.end > other.end ? one.end : other.end;
    return checked_mul(step, size, &step) && end - begin <= step;
}

static bool is_constant(const sym_pool_t *pool, const tensor_type_t *type, uint32_t dim) {
    int64_t ignored;
    return sym_constant(pool, type->shape.sizes[dim], &ignored) && sym_constant(pool, type->strides[dim], &ignored);
}

/* Drops a dimension with symbols in which elements of the one meet elements of the other at equal indices alone. */
static bool drop_common(sym_pool_t *pool, tensor_type_t *a, tensor_type_t *b) {
    for (uint32_t i = 0; i < a->shape.rank; i++) {
        if (is_constant(pool, a, i)) continue;
        for (uint32_t k = 0; k < b->shape.rank; k++) {
            if (!sym_same(a->shape.sizes[i], b->shape.sizes[k]) || !sym_same(a->strides[i], b->strides[k])) continue;
            tensor_type_t rest_a = without(a, i), rest_b = without(b, k);
            if (!fits_step(pool, &rest_a, &rest_b, a->strides[i])) continue;
            *a = rest_a;
            *b = rest_b;
            return true;
        }
    }
    return false;
}

/* Exact, save where the search takes too long. False in *out_known: something is no constant. */
static bool constants_overlap(sym_pool_t *pool, const tensor_type_t *a, const tensor_type_t *b, bool *out_known) {
    form_t form = {.budget = SEARCH_BUDGET};
    int64_t base = 0;
    bool empty = false;
    *out_known = add_view(pool, &form, a, false, &base, &empty) && add_view(pool, &form, b, true, &base, &empty);
    if (empty) *out_known = true;
    if (!*out_known || empty) return false;
    same_unit(a, b, &form);
    sort_terms(&form);
    for (uint32_t i = form.count; i-- > 0;) {
        const term_t *t = &form.terms[i];
        form.min_rest[i] = form.min_rest[i + 1] + t->coefficient * t->low;
        form.max_rest[i] = form.max_rest[i + 1] + t->coefficient * t->high;
        form.gcd_rest[i] = gcd(t->coefficient, form.gcd_rest[i + 1]);
    }
    return has_zero(&form, 0, base);
}

bool region_overlaps(sym_pool_t *pool, const tensor_type_t *a, const tensor_type_t *b) {
    bool known, overlaps = constants_overlap(pool, a, b, &known);
    if (known) return overlaps;
    tensor_type_t rest_a = *a, rest_b = *b;
    bool dropped = false;
    while (dtype_size(a->dtype) == dtype_size(b->dtype) && drop_common(pool, &rest_a, &rest_b)) dropped = true;
    if (dropped) overlaps = constants_overlap(pool, &rest_a, &rest_b, &known);
    if (known) return overlaps;
    return sym_is_le(pool, end_of(pool, &rest_a), start_of(pool, &rest_b)) != TRUTH_TRUE &&
           sym_is_le(pool, end_of(pool, &rest_b), start_of(pool, &rest_a)) != TRUTH_TRUE;
}
