/* Factories: full, zeros, ones, empty and their forms, fill, arange, linspace, one_hot. */
#include "convert/convert_int.h"

#include <math.h>

static dtype_t default_dtype(const converter_t *c, sym_t value) {
    sym_kind_t kind = sym_kind_of(c->pool, value);
    return kind == SYM_KIND_FLOAT ? DTYPE_F32 : kind == SYM_KIND_BOOL ? DTYPE_BOOL : DTYPE_I64;
}

static insitu_status take_sizes(converter_t *c, shape_t *out) {
    *out = (shape_t){0};
    return take_syms(c, "size", out->sizes, &out->rank);
}

static insitu_status finish_fill(converter_t *c, dtype_t type, const shape_t *shape, sym_t value) {
    tensor_id_t result;
    TRY(emit_fill(c, type, shape, value, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* new_...: the dtype of self, else the given one. */
static insitu_status take_new_dtype(converter_t *c, dtype_t type, dtype_t *out) {
    if (has_arg(c, "self")) {
        tensor_id_t like;
        TRY(take_tensor(c, "self", &like));
        type = dtype_of(c, like);
    }
    return take_dtype(c, "dtype", type, out);
}

/* full, new_full */
insitu_status convert_full(converter_t *c) {
    shape_t shape;
    sym_t value;
    dtype_t type;
    TRY(take_sizes(c, &shape));
    TRY(take_sym(c, "fill_value", &value));
    TRY(take_new_dtype(c, default_dtype(c, value), &type));
    return finish_fill(c, type, &shape, value);
}

/* zeros, ones, new_zeros, new_ones */
insitu_status convert_filled(converter_t *c) {
    shape_t shape;
    dtype_t type;
    TRY(take_sizes(c, &shape));
    TRY(take_new_dtype(c, DTYPE_F32, &type));
    return finish_fill(c, type, &shape, sym_int(c->pool, c->param));
}

/* zeros_like, ones_like, zero */
insitu_status convert_filled_like(converter_t *c) {
    tensor_id_t like;
    dtype_t type;
    TRY(take_tensor(c, "self", &like));
    TRY(take_dtype(c, "dtype", dtype_of(c, like), &type));
    return finish_fill(c, type, &tensor_of(c, like)->shape, sym_int(c->pool, c->param));
}

/* full_like, fill: a number, or a tensor of one element */
insitu_status convert_fill_like(converter_t *c) {
    tensor_id_t like, result;
    operand_t value;
    dtype_t type;
    TRY(take_tensor(c, "self", &like));
    TRY(take_operand(c, has_arg(c, "fill_value") ? "fill_value" : "value", &value));
    TRY(take_dtype(c, "dtype", dtype_of(c, like), &type));
    if (value.is_number) return finish_fill(c, type, &tensor_of(c, like)->shape, value.number);
    TRY(emit_operand(c, value, type, &tensor_of(c, like)->shape, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

static insitu_status finish_empty(converter_t *c, dtype_t type, const shape_t *shape) {
    tensor_id_t result;
    layer_draft_t empty = draft_of(LAYER_EMPTY);
    draft_dtype(&empty, type);
    draft_list(&empty, ATTR_SIZES, shape->sizes, shape->rank);
    TRY(emit(c, &empty, NULL, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* empty, new_empty, empty_strided, empty_permuted: layouts are the compiler's */
insitu_status convert_empty(converter_t *c) {
    shape_t shape;
    dtype_t type = DTYPE_F32;
    if (has_arg(c, "self")) {
        tensor_id_t like;
        TRY(take_tensor(c, "self", &like));
        type = dtype_of(c, like);
    }
    TRY(take_sizes(c, &shape));
    TRY(take_dtype(c, "dtype", type, &type));
    return finish_empty(c, type, &shape);
}

insitu_status convert_empty_like(converter_t *c) {
    tensor_id_t like;
    dtype_t type;
    TRY(take_tensor(c, "self", &like));
    TRY(take_dtype(c, "dtype", dtype_of(c, like), &type));
    return finish_empty(c, type, &tensor_of(c, like)->shape);
}

insitu_status convert_scalar_tensor(converter_t *c) {
    shape_t none = {0};
    sym_t value;
    dtype_t type;
    TRY(take_sym(c, "s", &value));
    TRY(take_dtype(c, "dtype", DTYPE_F32, &type));
    return finish_fill(c, type, &none, value);
}

/* ceil((end - start) / step), for integers exactly */
static insitu_status arange_size(converter_t *c, sym_t start, sym_t end, sym_t step, sym_t *out) {
    sym_pool_t *pool = c->pool;
    int64_t stride;
    double size;
    if (sym_kind_of(pool, start) == SYM_KIND_INT && sym_kind_of(pool, end) == SYM_KIND_INT &&
        sym_constant(pool, step, &stride) && sym_kind_of(pool, step) == SYM_KIND_INT) {
        if (stride == 0) return convert_fail(c, INSITU_FORMAT, "step is 0");
        sym_t span = sym_floordiv(pool, sym_sub(pool, start, end), step);
        *out = sym_max(pool, sym_int(pool, 0), sym_sub(pool, sym_int(pool, 0), span));
        return INSITU_OK;
    }
    sym_t quotient = sym_make(pool, SYM_TRUEDIV, (sym_t[]){sym_sub(pool, end, start), step}, 2);
    if (sym_constant_float(pool, quotient, &size) && !(size > -1 && size < 1e15))
        return convert_fail(c, INSITU_FORMAT, "the bounds fit no step");
    *out = sym_make(pool, SYM_CEIL, &quotient, 1);
    return INSITU_OK;
}

/* Integers count from the whole part of start by that of step; that of end too is meant for int64 alone. */
insitu_status convert_arange(converter_t *c) {
    sym_t bounds[3], size, zero = sym_int(c->pool, 0);
    tensor_id_t result;
    dtype_t type;
    bool floats = false;
    TRY(take_sym_or(c, "start", zero, &bounds[0]));
    TRY(take_sym(c, "end", &bounds[1]));
    TRY(take_sym_or(c, "step", sym_int(c->pool, 1), &bounds[2]));
    for (uint32_t i = 0; i < 3; i++) floats = floats || sym_kind_of(c->pool, bounds[i]) == SYM_KIND_FLOAT;
    TRY(take_dtype(c, "dtype", floats ? DTYPE_F32 : DTYPE_I64, &type));
    if (type != DTYPE_I64) TRY(arange_size(c, bounds[0], bounds[1], bounds[2], &size));
    for (uint32_t i = 0; i < 3 && dtype_is_integral(type); i++) bounds[i] = sym_make(c->pool, SYM_TRUNC, &bounds[i], 1);
    if (type == DTYPE_I64) TRY(arange_size(c, bounds[0], bounds[1], bounds[2], &size));
    TRY(emit_iota(c, type, size, bounds[0], bounds[2], &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* True if a number between the bounds is whole, so that last bits decide what it is cut to. */
static bool falls_on_whole(double start, double end, int64_t steps) {
    int64_t span = (int64_t)fabs(end - start), gaps = steps - 1;
    if (gaps < 1 || span % gaps == 0) return false;
    while (gaps) {
        int64_t rest = span % gaps;
        span = gaps;
        gaps = rest;
    }
    return span > 1; /* what divides both */
}

/* Between bounds that are known when the program runs. The first half counts up from start, the second down from end. */
static insitu_status emit_linspace(converter_t *c, dtype_t type, sym_t start, sym_t end, int64_t steps,
                                   tensor_id_t *out) {
    tensor_id_t low, high, step, parts[2];
    shape_t none = {0};
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    int64_t half = steps / 2;
    if (dtype_is_integral(type)) return convert_unsupported(c, "whole numbers between bounds that are not constant");
    TRY(emit_number(c, type, &none, start, &low));
    TRY(emit_number(c, type, &none, steps == 1 ? start : end, &high));
    TRY(emit_binary(c, OP_SUB, high, low, &step));
    TRY(emit_scalar_float(c, OP_DIV, step, (double)(steps > 1 ? steps - 1 : 1), false, &step));
    TRY(emit_iota(c, type, sym_int(c->pool, half), zero, one, &parts[0]));
    TRY(emit_binary(c, OP_MUL, parts[0], step, &parts[0]));
    TRY(emit_binary(c, OP_ADD, parts[0], low, &parts[0]));
    TRY(emit_iota(c, type, sym_int(c->pool, steps - half), sym_int(c->pool, steps - half - 1), sym_int(c->pool, -1),
                  &parts[1]));
    TRY(emit_binary(c, OP_MUL, parts[1], step, &parts[1]));
    TRY(emit_binary(c, OP_SUB, high, parts[1], &parts[1]));
    return emit_concat(c, parts, 2, 0, out);
}

/* The first half counts up from start, the second down from end. */
insitu_status convert_linspace(converter_t *c) {
    double start, end;
    int64_t steps;
    dtype_t type;
    tensor_id_t parts[2];
    sym_t bounds[2];
    TRY(take_real(c, "start", 0, &bounds[0]));
    TRY(take_real(c, "end", 0, &bounds[1]));
    TRY(take_int(c, "steps", 0, &steps));
    TRY(take_dtype(c, "dtype", DTYPE_F32, &type));
    if (steps < 0) return convert_fail(c, INSITU_FORMAT, "%lld steps", (long long)steps);
    if (!sym_constant_float(c->pool, bounds[0], &start) || !sym_constant_float(c->pool, bounds[1], &end)) {
        TRY(emit_linspace(c, type, bounds[0], bounds[1], steps, &parts[0]));
        set_only_result(c, parts[0]);
        return INSITU_OK;
    }
    dtype_t wanted = type;
    if (!dtype_is_float(type)) { /* of whole bounds, cut to whole numbers at the end */
        type = DTYPE_F64;
        start = trunc(start);
        end = trunc(end);
        if (!(fabs(end - start) < 0x1p53) || falls_on_whole(start, end, steps)) {
            return convert_unsupported(c, "whole numbers whose last bits decide");
        }
    }
    sym_t zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    if (steps <= 1) {
        TRY(emit_iota(c, type, sym_int(c->pool, steps), sym_float(c->pool, start), one, &parts[0]));
        return finish_wide(c, parts[0], wanted);
    }
    double step = type == DTYPE_F64 ? (end - start) / (double)(steps - 1)
                                    : (double)(((float)end - (float)start) / (float)(steps - 1));
    int64_t half = steps / 2;
    TRY(emit_iota(c, type, sym_int(c->pool, half), zero, one, &parts[0]));
    TRY(emit_scalar_float(c, OP_MUL, parts[0], step, false, &parts[0]));
    TRY(emit_scalar_float(c, OP_ADD, parts[0], start, false, &parts[0]));
    TRY(emit_iota(c, type, sym_int(c->pool, steps - half), sym_int(c->pool, steps - half - 1), sym_int(c->pool, -1),
                  &parts[1]));
    TRY(emit_scalar_float(c, OP_MUL, parts[1], step, false, &parts[1]));
    TRY(emit_scalar_float(c, OP_SUB, parts[1], end, true, &parts[1]));
    TRY(emit_concat(c, parts, 2, 0, &parts[0]));
    return finish_wide(c, parts[0], wanted);
}

/* 1 at the class of each element; the number of classes is given */
insitu_status convert_one_hot(converter_t *c) {
    tensor_id_t x, wrong, classes, result;
    sym_t count, zero = sym_int(c->pool, 0);
    TRY(take_tensor(c, "self", &x));
    TRY(take_sym_or(c, "num_classes", sym_int(c->pool, -1), &count));
    if (dtype_of(c, x) != DTYPE_I64) return convert_unsupported(c, "classes of %s", dtype_name(dtype_of(c, x)));
    if (sym_truth(c->pool, sym_compare(c->pool, SYM_LE, zero, count)) == TRUTH_FALSE)
        return convert_unsupported(c, "as many classes as the elements need");
    TRY(emit_scalar(c, OP_LT, x, zero, false, &wrong));
    TRY(require_none(c, wrong, "one_hot: Class values must be non-negative."));
    TRY(emit_scalar(c, OP_GE, x, count, false, &wrong));
    TRY(require_none(c, wrong, "one_hot: Class values must be smaller than num_classes."));
    TRY(emit_iota(c, DTYPE_I64, count, zero, sym_int(c->pool, 1), &classes));
    TRY(emit_unsqueeze(c, x, rank_of(c, x), &x));
    TRY(emit_binary(c, OP_EQ, x, classes, &result));
    return finish_wide(c, result, DTYPE_I64);
}
