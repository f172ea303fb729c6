/* Shapes and tensor types: strides, comparison, broadcasting, and their text. */
#include "core/core.h"
#include <string.h>

sym_t shape_numel(sym_pool_t *pool, const shape_t *shape) {
    if (shape->rank == 0) return sym_int(pool, 1);
    return sym_make(pool, SYM_MUL, shape->sizes, shape->rank);
}

/* A size 0 counts as 1, so that an empty tensor's strides are those of PyTorch. */
void shape_dense_strides(sym_pool_t *pool, const shape_t *shape, sym_t *out_strides) {
    sym_t one = sym_int(pool, 1), stride = one;
    for (uint32_t i = shape->rank; i-- > 0;) {
        out_strides[i] = stride;
        if (i > 0) stride = sym_mul(pool, stride, sym_max(pool, one, shape->sizes[i]));
    }
}

void dense_strides(uint32_t rank, const int64_t *sizes, int64_t *out_strides) {
    int64_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        out_strides[i] = stride;
        if (sizes[i] > 1) stride *= sizes[i];
    }
}

bool shape_same(const shape_t *a, const shape_t *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (!sym_same(a->sizes[i], b->sizes[i])) return false;
    return true;
}

bool shape_fits(const sym_pool_t *pool, const shape_t *shape, dtype_t type) {
    int64_t bytes = dtype_size(type), least, most;
    for (uint32_t i = 0; i < shape->rank; i++) {
        sym_range(pool, shape->sizes[i], &least, &most);
        if (!checked_mul(bytes, least > 1 ? least : 1, &bytes)) return false;
    }
    return bytes <= MAX_TENSOR_BYTES;
}

bool shape_constant(const sym_pool_t *pool, const shape_t *shape, int64_t *out_sizes) {
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t size;
        if (!sym_constant(pool, shape->sizes[i], &size)) return false;
        if (out_sizes) out_sizes[i] = size;
    }
    return true;
}

static bool is_placed_alike(const tensor_type_t *a, const tensor_type_t *b) {
    return a->dtype == b->dtype && shape_same(&a->shape, &b->shape) && sym_same(a->offset, b->offset);
}

bool type_same(const tensor_type_t *a, const tensor_type_t *b) {
    if (!is_placed_alike(a, b)) return false;
    for (uint32_t i = 0; i < a->shape.rank; i++)
        if (!sym_same(a->strides[i], b->strides[i])) return false;
    return true;
}

bool type_same_elements(const tensor_type_t *a, const tensor_type_t *b) {
    if (!is_placed_alike(a, b)) return false;
    for (uint32_t i = 0; i < a->shape.rank; i++)
        if (!sym_is_one(a->shape.sizes[i]) && !sym_same(a->strides[i], b->strides[i])) return false;
    return true;
}

truth_t shape_equal(sym_pool_t *pool, const shape_t *a, const shape_t *b) {
    truth_t all = TRUTH_TRUE;
    if (a->rank != b->rank) return TRUTH_FALSE;
    for (uint32_t i = 0; i < a->rank; i++) {
        truth_t one = sym_is_eq(pool, a->sizes[i], b->sizes[i]);
        if (one == TRUTH_FALSE) return one;
        if (one == TRUTH_UNKNOWN) all = one;
    }
    return all;
}

bool type_is_dense(sym_pool_t *pool, const tensor_type_t *type) {
    sym_t strides[MAX_RANK];
    shape_dense_strides(pool, &type->shape, strides);
    for (uint32_t i = 0; i < type->shape.rank; i++)
        if (!sym_same(strides[i], type->strides[i]) && !sym_is_one(type->shape.sizes[i])) return false;
    return true;
}

static insitu_status broadcast_failed(sym_pool_t *pool, const shape_t *a, const shape_t *b, insitu_diag *diag) {
    text_t left, right;
    text_init(&left);
    text_init(&right);
    shape_print(pool, a, &left);
    shape_print(pool, b, &right);
    insitu_status status = text_status(&left, diag) == INSITU_OK ? text_status(&right, diag) : INSITU_NOMEM;
    if (status == INSITU_OK)
        status = diag_set(diag, INSITU_SHAPE, "shapes %s and %s do not broadcast", left.data, right.data);
    text_release(&left);
    text_release(&right);
    return status;
}

insitu_status shape_broadcast(sym_pool_t *pool, const shape_t *a, const shape_t *b, shape_t *out, insitu_diag *diag) {
    const shape_t *longer = a->rank >= b->rank ? a : b, *shorter = a->rank >= b->rank ? b : a;
    uint32_t offset = longer->rank - shorter->rank;
    shape_t result = *longer;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < shorter->rank; i++) {
        sym_t first = longer->sizes[offset + i], second = shorter->sizes[i];
        if (sym_is_one(second)) continue;
        if (sym_is_one(first))
            result.sizes[offset + i] = second;
        else if (sym_is_eq(pool, first, second) != TRUTH_TRUE)
            return broadcast_failed(pool, a, b, diag);
    }
    *out = result;
    return sym_pool_status(pool, diag);
}

/* ---- text ---- */

static void print_list(const sym_pool_t *pool, const sym_t *items, uint32_t count, const char *brackets, text_t *out) {
    text_add(out, brackets, 1);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) text_add(out, ",", 1);
        sym_print(pool, items[i], out);
    }
    text_add(out, brackets + 1, 1);
}

void shape_print(const sym_pool_t *pool, const shape_t *shape, text_t *out) {
    print_list(pool, shape->sizes, shape->rank, "[]", out);
}

static bool dense_by_numbers(const sym_pool_t *pool, const tensor_type_t *type, bool *out_dense) {
    int64_t size, stride, expected = 1;
    *out_dense = true;
    for (uint32_t i = type->shape.rank; i-- > 0;) {
        if (!sym_constant(pool, type->shape.sizes[i], &size) || !sym_constant(pool, type->strides[i], &stride))
            return false;
        *out_dense &= stride == expected;
        if (size > 1 && !checked_mul(expected, size, &expected)) return false;
    }
    return true;
}

/* True if the strides are exactly those of shape_dense_strides, dimensions of size 1 included. */
static bool has_dense_strides(const sym_pool_t *pool, const tensor_type_t *type) {
    bool dense;
    if (dense_by_numbers(pool, type, &dense)) return dense;
    sym_t strides[MAX_RANK];
    sym_pool_t view;
    sym_pool_view(pool, &view);
    shape_dense_strides(&view, &type->shape, strides);
    dense = !view.failed && memcmp(strides, type->strides, sizeof(sym_t) * type->shape.rank) == 0;
    sym_pool_release(&view);
    return dense;
}

void type_print(const sym_pool_t *pool, const tensor_type_t *type, text_t *out) {
    int64_t offset;
    text_printf(out, "%s", dtype_name(type->dtype));
    shape_print(pool, &type->shape, out);
    if (!has_dense_strides(pool, type)) print_list(pool, type->strides, type->shape.rank, "{}", out);
    bool is_constant = sym_constant(pool, type->offset, &offset);
    if (is_constant && offset == 0) return;
    bool atom = is_constant ? offset > 0 : sym_op_of(pool, type->offset) == SYM_SYMBOL;
    text_printf(out, atom ? "+" : "+(");
    sym_print(pool, type->offset, out);
    if (!atom) text_printf(out, ")");
}

/* Items between brackets[0] and brackets[1]. */
static insitu_status parse_list(sym_pool_t *pool, const char **cursor, const char *brackets, sym_t *items,
                                uint32_t *out_count, insitu_diag *diag) {
    const char *c = *cursor;
    *out_count = 0;
    if (*c != brackets[0]) FAIL(diag, INSITU_FORMAT, "expected '%c' at '%.40s'", brackets[0], c);
    c++;
    while (*c == ' ') c++;
    while (*c != brackets[1]) {
        if (*out_count == MAX_RANK) FAIL(diag, INSITU_FORMAT, "more than %d dimensions", MAX_RANK);
        TRY(sym_parse(pool, &c, &items[(*out_count)++], diag));
        while (*c == ' ') c++;
        if (*c == ',' && c[1] != brackets[1])
            c++;
        else if (*c != brackets[1])
            FAIL(diag, INSITU_FORMAT, "expected '%c' at '%.40s'", brackets[1], c);
    }
    *cursor = c + 1;
    return INSITU_OK;
}

insitu_status shape_parse(sym_pool_t *pool, const char **cursor, shape_t *out, insitu_diag *diag) {
    memset(out, 0, sizeof *out);
    return parse_list(pool, cursor, "[]", out->sizes, &out->rank, diag);
}

static insitu_status parse_dtype(const char **cursor, dtype_t *out, insitu_diag *diag) {
    char name[16];
    size_t size = 0;
    const char *c = *cursor;
    while ((c[size] >= 'a' && c[size] <= 'z') || (c[size] >= '0' && c[size] <= '9')) size++;
    if (size < sizeof name) {
        memcpy(name, c, size);
        name[size] = '\0';
        *cursor = c + size;
        if (dtype_parse(name, out)) return INSITU_OK;
    }
    FAIL(diag, INSITU_FORMAT, "expected an element type at '%.40s'", c);
}

static insitu_status parse_offset(sym_pool_t *pool, const char **cursor, sym_t *out, insitu_diag *diag) {
    const char *c = *cursor + 1;
    size_t size = 0;
    if (*c == '(') {
        c++;
        TRY(sym_parse(pool, &c, out, diag));
        if (*c != ')') FAIL(diag, INSITU_FORMAT, "expected ')' at '%.40s'", c);
        *cursor = c + 1;
        return INSITU_OK;
    }
    char word[64]; /* a number or a symbol alone: what follows is not part of the type */
    while ((c[size] >= 'a' && c[size] <= 'z') || (c[size] >= 'A' && c[size] <= 'Z') || c[size] == '_' ||
           (c[size] >= '0' && c[size] <= '9'))
        size++;
    if (size == 0 || size >= sizeof word) FAIL(diag, INSITU_FORMAT, "expected an offset at '%.40s'", c);
    memcpy(word, c, size);
    word[size] = '\0';
    const char *at = word;
    TRY(sym_parse(pool, &at, out, diag));
    if (*at) FAIL(diag, INSITU_FORMAT, "expected an offset at '%.40s'", c);
    *cursor = c + size;
    return INSITU_OK;
}

insitu_status type_parse(sym_pool_t *pool, const char **cursor, tensor_type_t *out, insitu_diag *diag) {
    memset(out, 0, sizeof *out);
    TRY(parse_dtype(cursor, &out->dtype, diag));
    TRY(shape_parse(pool, cursor, &out->shape, diag));
    out->offset = sym_int(pool, 0);
    shape_dense_strides(pool, &out->shape, out->strides);
    if (**cursor == '{') {
        uint32_t count;
        TRY(parse_list(pool, cursor, "{}", out->strides, &count, diag));
        if (count != out->shape.rank)
            FAIL(diag, INSITU_FORMAT, "%u strides of a type of rank %u", count, out->shape.rank);
    }
    if (**cursor == '+') TRY(parse_offset(pool, cursor, &out->offset, diag));
    return sym_pool_status(pool, diag);
}
