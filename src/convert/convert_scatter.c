/* Writes by index, functional: index_put, put, index_copy, index_add, index_fill, scatter and its kin. */
#include "convert/convert_int.h"

#include <math.h>

typedef struct index_write { /* r = x with x[indices] = source, or += */
    const tensor_id_t *indices;
    const sym_t *dims;
    uint32_t count;
    bool accumulate, wrap;
} index_write_t;

/* Sizes of x[indices]: the dry run of an index layer. */
static insitu_status part_shape(converter_t *c, tensor_id_t x, const index_write_t *write, shape_t *out) {
    tensor_id_t operands[1 + MAX_RANK] = {x};
    for (uint32_t i = 0; i < write->count; i++) operands[1 + i] = write->indices[i];
    layer_draft_t index = draft_of(LAYER_INDEX);
    draft_list(&index, ATTR_DIMS, write->dims, write->count);
    draft_flag(c->pool, &index, ATTR_WRAP, write->wrap);
    inferred_t type;
    insitu_diag inner;
    insitu_diag_init(&inner);
    insitu_status status =
        network_infer(c->network, LAYER_INDEX, operands, 1 + write->count, index.attrs, &type, &inner);
    if (status != INSITU_OK) status = convert_fail(c, INSITU_FORMAT, "%s", inner.message);
    insitu_diag_release(&inner);
    *out = type.shape;
    return status;
}

/* source is in x's dtype and has the part's sizes. Complex numbers are written as their parts, 8-bit floats as bytes. */
static insitu_status emit_index_update(converter_t *c, tensor_id_t x, tensor_id_t source, const index_write_t *write,
                                       tensor_id_t *out) {
    tensor_id_t operands[2 + MAX_RANK] = {x, source};
    dtype_t type = dtype_of(c, x);
    bool is_complex = dtype_is_complex(type), is_byte = dtype_is_float(type) && dtype_size(type) == 1;
    for (uint32_t i = 0; i < 2 && is_complex; i++) TRY(emit_to_real_pairs(c, operands[i], &operands[i]));
    for (uint32_t i = 0; i < 2 && is_byte && !write->accumulate; i++) {
        TRY(emit_bitcast(c, operands[i], DTYPE_U8, &operands[i]));
    }
    for (uint32_t i = 0; i < write->count; i++) operands[2 + i] = write->indices[i];
    layer_draft_t update = draft_of(LAYER_INDEX_UPDATE);
    draft_flag(c->pool, &update, ATTR_ACCUMULATE, write->accumulate);
    draft_list(&update, ATTR_DIMS, write->dims, write->count);
    draft_flag(c->pool, &update, ATTR_WRAP, write->wrap);
    TRY(emit(c, &update, operands, 2 + write->count, out));
    return is_complex ? emit_from_real_pairs(c, *out, out) : emit_bitcast(c, *out, type, out);
}

insitu_status convert_index_put(converter_t *c) {
    tensor_id_t x, values, result;
    indexing_t at;
    bool accumulate;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "values", &values));
    TRY(take_flag(c, "accumulate", false, &accumulate));
    TRY(take_indexing(c, x, &at));
    TRY(emit_cast(c, values, dtype_of(c, x), &values));
    if (at.mask.index != NONE) return emit_put_masked(c, x, values, &at, accumulate);
    index_write_t write = {at.indices, at.dims, at.count, accumulate, true};
    shape_t part;
    TRY(part_shape(c, x, &write, &part));
    shape_t given = tensor_of(c, values)->shape;
    while (given.rank > part.rank && is_int_constant(c, given.sizes[0], 1)) {
        TRY(emit_squeeze(c, values, 0, &values));
        given = tensor_of(c, values)->shape;
    }
    TRY(emit_expand(c, values, &part, &values));
    TRY(emit_index_update(c, x, values, &write, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* put: x as one row, whose elements the index names. */
insitu_status convert_put(converter_t *c) {
    tensor_id_t x, row, index, source, result;
    bool accumulate;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "index", &index));
    TRY(take_tensor(c, "source", &source));
    TRY(take_flag(c, "accumulate", false, &accumulate));
    const shape_t whole = tensor_of(c, x)->shape, part = tensor_of(c, index)->shape;
    shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &whole)}};
    TRY(emit_reshape(c, x, &flat, &row));
    TRY(emit_cast(c, source, dtype_of(c, x), &source));
    TRY(emit_reshape(c, source, &part, &source));
    sym_t first = sym_int(c->pool, 0);
    index_write_t write = {&index, &first, 1, accumulate, true};
    TRY(emit_index_update(c, row, source, &write, &result));
    TRY(emit_reshape(c, result, &whole, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* One index vector along dim. x and index without dimensions get one; the result loses it again. */
typedef struct along {
    tensor_id_t x, index;
    uint32_t rank; /* of self as given */
    sym_t dim;
    shape_t part; /* sizes of what is written */
} along_t;

static insitu_status take_along(converter_t *c, along_t *out) {
    uint32_t dim;
    TRY(take_tensor(c, "self", &out->x));
    TRY(take_tensor(c, "index", &out->index));
    out->rank = rank_of(c, out->x);
    TRY(take_dim(c, "dim", 0, out->rank, &dim));
    out->dim = sym_int(c->pool, dim);
    TRY(emit_at_least_1d(c, out->x, &out->x));
    TRY(emit_at_least_1d(c, out->index, &out->index));
    if (rank_of(c, out->index) != 1) return convert_fail(c, INSITU_FORMAT, "the index must be a vector");
    out->part = tensor_of(c, out->x)->shape;
    out->part.sizes[dim] = size_of(c, out->index, 0);
    return INSITU_OK;
}

static insitu_status finish_along(converter_t *c, const along_t *at, tensor_id_t source, bool accumulate, bool wrap) {
    tensor_id_t result;
    index_write_t write = {&at->index, &at->dim, 1, accumulate, wrap};
    TRY(emit_cast(c, source, dtype_of(c, at->x), &source));
    TRY(emit_index_update(c, at->x, source, &write, &result));
    if (at->rank == 0) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* A source without the dimension that is written may stand for one element of it. */
static insitu_status take_source(converter_t *c, const along_t *at, tensor_id_t *out) {
    TRY(take_tensor(c, "source", out));
    if (rank_of(c, *out) == 0) TRY(emit_unsqueeze(c, *out, 0, out));
    if (rank_of(c, *out) != at->part.rank) {
        return convert_fail(c, INSITU_FORMAT, "a source of rank %u for one of %u", rank_of(c, *out), at->part.rank);
    }
    return INSITU_OK;
}

insitu_status convert_index_copy(converter_t *c) {
    along_t at;
    tensor_id_t source;
    TRY(take_along(c, &at));
    TRY(take_source(c, &at, &source));
    return finish_along(c, &at, source, false, false);
}

insitu_status convert_index_add(converter_t *c) {
    along_t at;
    tensor_id_t source;
    sym_t alpha;
    double factor;
    TRY(take_along(c, &at));
    TRY(take_source(c, &at, &source));
    TRY(take_sym_or(c, "alpha", sym_int(c->pool, 1), &alpha));
    if (!sym_constant_float(c->pool, alpha, &factor) || factor != 1) {
        TRY(emit_scalar(c, OP_MUL, source, alpha, false, &source));
    }
    return finish_along(c, &at, source, true, false);
}

insitu_status convert_index_fill(converter_t *c) {
    along_t at;
    operand_t value;
    tensor_id_t source;
    TRY(take_along(c, &at));
    TRY(take_operand(c, "value", &value));
    TRY(emit_operand(c, value, dtype_of(c, at.x), &at.part, &source));
    return finish_along(c, &at, source, false, true);
}

typedef struct scattering { /* all of at least one dimension */
    tensor_id_t x, index, source;
    uint32_t rank, dim; /* rank of self as given */
} scattering_t;

static insitu_status take_scattering(converter_t *c, scattering_t *out) {
    operand_t source;
    TRY(take_tensor(c, "self", &out->x));
    TRY(take_tensor(c, "index", &out->index));
    TRY(take_operand(c, has_arg(c, "source") ? "source" : has_arg(c, "src") ? "src" : "value", &source));
    out->rank = rank_of(c, out->x);
    TRY(take_dim(c, "dim", 0, out->rank, &out->dim));
    TRY(emit_at_least_1d(c, out->x, &out->x));
    TRY(emit_at_least_1d(c, out->index, &out->index));
    dtype_t type = dtype_of(c, out->x);
    if (source.is_number) {
        return emit_number(c, type, &tensor_of(c, out->index)->shape, source.number, &out->source);
    }
    TRY(emit_cast(c, source.tensor, type, &out->source));
    return emit_at_least_1d(c, out->source, &out->source);
}

static insitu_status emit_scatter(converter_t *c, const scattering_t *at, tensor_id_t x, tensor_id_t source,
                                  op_kind_t op, tensor_id_t *out) {
    tensor_id_t operands[3] = {x, source, at->index};
    layer_draft_t scatter = draft_of(LAYER_SCATTER_UPDATE);
    draft_int(c->pool, &scatter, ATTR_DIM, at->dim);
    draft_op(&scatter, op);
    return emit(c, &scatter, operands, 3, out);
}

static insitu_status finish_scatter(converter_t *c, const scattering_t *at, tensor_id_t result) {
    if (at->rank == 0) TRY(emit_squeeze(c, result, 0, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* scatter.src, .value, .reduce, .value_reduce, scatter_add; param: the operator where the node names none */
insitu_status convert_scatter(converter_t *c) {
    scattering_t at;
    tensor_id_t result;
    const char *name = take_string(c, "reduce");
    op_kind_t op = strcmp(name, "add") == 0        ? OP_UPDATE_ADD
                   : strcmp(name, "multiply") == 0 ? OP_UPDATE_MUL
                                                   : (op_kind_t)c->param;
    if (name[0] && op == OP_ASSIGN) return convert_unsupported(c, "reduce %s", name);
    TRY(take_scattering(c, &at));
    TRY(emit_scatter(c, &at, at.x, at.source, op, &result));
    return finish_scatter(c, &at, result);
}

/* What changes no number under the operator. */
static sym_t neutral_of(converter_t *c, op_kind_t op, dtype_t type) {
    if (op != OP_UPDATE_AMAX && op != OP_UPDATE_AMIN) return sym_int(c->pool, op == OP_UPDATE_MUL);
    bool lowest = op == OP_UPDATE_AMAX;
    if (dtype_is_float(type)) return sym_float(c->pool, lowest ? -INFINITY : INFINITY);
    if (type == DTYPE_BOOL) return sym_bool(c->pool, !lowest);
    bool is_signed = dtype_kind_of(type) == KIND_SIGNED;
    uint32_t bits = dtype_size(type) * 8 - (is_signed ? 1 : 0);
    int64_t highest = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    return sym_int(c->pool, lowest ? (is_signed ? -highest - 1 : 0) : highest);
}

/* A number at every place that the index names. */
static insitu_status scatter_number(converter_t *c, const scattering_t *at, tensor_id_t x, sym_t number, op_kind_t op,
                                    tensor_id_t *out) {
    tensor_id_t numbers;
    TRY(emit_number(c, dtype_of(c, x), &tensor_of(c, at->index)->shape, number, &numbers));
    return emit_scatter(c, at, x, numbers, op, out);
}

/* The sum by the number of its terms, of which self may be one. */
static insitu_status emit_mean(converter_t *c, const scattering_t *at, bool include_self, tensor_id_t sum,
                               tensor_id_t *out) {
    tensor_id_t counts;
    dtype_t type = dtype_of(c, sum);
    sym_t one = sym_int(c->pool, 1);
    TRY(emit_fill(c, type, &tensor_of(c, sum)->shape, sym_int(c->pool, include_self), &counts));
    TRY(scatter_number(c, at, counts, one, OP_UPDATE_ADD, &counts));
    if (!include_self) TRY(emit_scalar(c, OP_MAXIMUM, counts, one, false, &counts));
    return emit_binary(c, dtype_is_integral(type) ? OP_DIV_FLOOR : OP_DIV, sum, counts, out);
}

static insitu_status finish_reduce(converter_t *c, const scattering_t *at) {
    static const struct {
        const char *name;
        op_kind_t op;
    } ops[] = {{"sum", OP_UPDATE_ADD},
               {"mean", OP_UPDATE_ADD},
               {"prod", OP_UPDATE_MUL},
               {"amax", OP_UPDATE_AMAX},
               {"amin", OP_UPDATE_AMIN}};
    bool include_self;
    size_t row = 0;
    tensor_id_t result = at->x;
    const char *name = take_string(c, "reduce");
    TRY(take_flag(c, "include_self", true, &include_self));
    while (row < COUNT_OF(ops) && strcmp(ops[row].name, name) != 0) row++;
    if (row == COUNT_OF(ops)) return convert_unsupported(c, "reduce %s", name);
    op_kind_t op = ops[row].op;
    if (!include_self) {
        TRY(scatter_number(c, at, result, neutral_of(c, op, dtype_of(c, result)), OP_ASSIGN, &result));
    }
    TRY(emit_scatter(c, at, result, at->source, op, &result));
    if (strcmp(name, "mean") == 0) TRY(emit_mean(c, at, include_self, result, &result));
    return finish_scatter(c, at, result);
}

/* scatter_reduce */
insitu_status convert_scatter_reduce(converter_t *c) {
    scattering_t at;
    TRY(take_scattering(c, &at));
    return finish_reduce(c, &at);
}

/* index_reduce: the index names whole slices along dim */
insitu_status convert_index_reduce(converter_t *c) {
    scattering_t at;
    TRY(take_scattering(c, &at));
    shape_t whole = tensor_of(c, at.source)->shape;
    if (rank_of(c, at.index) != 1 || whole.rank != rank_of(c, at.x)) return convert_unsupported(c, "such an index");
    TRY(emit_along(c, at.index, whole.rank, at.dim, &at.index));
    TRY(emit_expand(c, at.index, &whole, &at.index));
    return finish_reduce(c, &at);
}
