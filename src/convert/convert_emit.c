/* Adds layers to the network for the node in conversion. */
#include "convert/convert_int.h"

/* Complex numbers are stored and moved; no kernel computes with them, but with their parts (convert_complex.c). */
static insitu_status check_complex(converter_t *c, const layer_draft_t *draft, const tensor_id_t *operands,
                                   uint32_t count) {
    if (kind_has(draft->kind, TRAIT_MOVE)) return INSITU_OK;
    for (uint32_t i = 0; i < count; i++) {
        dtype_t type = dtype_of(c, operands[i]);
        if (dtype_is_complex(type)) return convert_unsupported(c, "arithmetic in %s", dtype_name(type));
    }
    return INSITU_OK;
}

insitu_status emit(converter_t *c, const layer_draft_t *draft, const tensor_id_t *operands, uint32_t operand_count,
                   tensor_id_t *out_results) {
    tensor_id_t results[MAX_RESULTS] = {NO_TENSOR, NO_TENSOR}; /* out_results may be operands */
    TRY(check_complex(c, draft, operands, operand_count));
    insitu_diag inner;
    insitu_diag_init(&inner);
    insitu_status status =
        network_add_layer(c->network, draft, operands, operand_count, c->node->name, c->node->source, results, &inner);
    for (uint32_t i = 0; i < layer_result_count(c->network, draft->kind, draft->attrs); i++)
        out_results[i] = results[i];
    if (status == INSITU_ARG) {
        status = convert_unsupported(c, "%.240s", inner.message);
    } else if (status != INSITU_OK) {
        status = convert_fail(c, status == INSITU_SHAPE ? INSITU_FORMAT : status, "%s", inner.message);
    }
    insitu_diag_release(&inner);
    return status;
}

insitu_status emit_on(converter_t *c, const layer_draft_t *draft, tensor_id_t x, tensor_id_t *out) {
    return emit(c, draft, &x, 1, out);
}

insitu_status emit_cast(converter_t *c, tensor_id_t x, dtype_t type, tensor_id_t *out) {
    *out = x;
    if (dtype_of(c, x) == type) return INSITU_OK;
    if (dtype_is_complex(type) || dtype_is_complex(dtype_of(c, x))) return emit_complex_cast(c, x, type, out);
    layer_draft_t cast = draft_of(LAYER_CAST);
    draft_dtype(&cast, type);
    return emit_on(c, &cast, x, out);
}

insitu_status emit_reshape(converter_t *c, tensor_id_t x, const shape_t *shape, tensor_id_t *out) {
    *out = x;
    if (shape_same(&tensor_of(c, x)->shape, shape)) return INSITU_OK;
    layer_draft_t reshape = draft_of(LAYER_RESHAPE);
    draft_list(&reshape, ATTR_SIZES, shape->sizes, shape->rank);
    return emit_on(c, &reshape, x, out);
}

const layer_t *producer_of(const converter_t *c, tensor_id_t x) {
    const network_tensor_t *tensor = tensor_of(c, x);
    bool made = tensor->role == TENSOR_RESULT && tensor->producer.index != NONE;
    return made ? network_layer_of(c->network, tensor->producer) : NULL;
}

/* What x is a permutation of, if the axes put it back in order; else NO_TENSOR. */
static tensor_id_t permuted_back(const converter_t *c, tensor_id_t x, const uint32_t *axes) {
    const layer_t *layer = producer_of(c, x);
    if (!layer || layer->kind != LAYER_PERMUTE) return NO_TENSOR;
    attr_t before = layer_attr(layer, ATTR_AXES);
    for (uint32_t i = 0; i < before.list.count; i++) {
        int64_t axis;
        if (!sym_constant(c->pool, before.list.items[axes[i]], &axis) || axis != i) return NO_TENSOR;
    }
    return layer->operands[0];
}

insitu_status emit_permute(converter_t *c, tensor_id_t x, const uint32_t *axes, tensor_id_t *out) {
    sym_t items[MAX_RANK];
    uint32_t rank = rank_of(c, x);
    bool moves = false;
    for (uint32_t i = 0; i < rank; i++) {
        items[i] = sym_int(c->pool, axes[i]);
        moves = moves || axes[i] != i;
    }
    *out = moves ? permuted_back(c, x, axes) : x;
    if (out->index != NONE) return INSITU_OK;
    layer_draft_t permute = draft_of(LAYER_PERMUTE);
    draft_list(&permute, ATTR_AXES, items, rank);
    return emit_on(c, &permute, x, out);
}

insitu_status emit_swap(converter_t *c, tensor_id_t x, uint32_t dim1, uint32_t dim2, tensor_id_t *out) {
    uint32_t axes[MAX_RANK];
    for (uint32_t i = 0; i < MAX_RANK; i++) axes[i] = i;
    axes[dim1] = dim2;
    axes[dim2] = dim1;
    return emit_permute(c, x, axes, out);
}

insitu_status emit_expand(converter_t *c, tensor_id_t x, const shape_t *target, tensor_id_t *out) {
    const shape_t *from = &tensor_of(c, x)->shape;
    *out = x;
    if (shape_same(from, target)) return INSITU_OK;
    if (from->rank > target->rank) {
        return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u does not broadcast to rank %u", from->rank,
                            target->rank);
    }
    shape_t lifted = {.rank = target->rank};
    uint32_t added = target->rank - from->rank;
    for (uint32_t i = 0; i < target->rank; i++) {
        lifted.sizes[i] = i < added ? sym_int(c->pool, 1) : from->sizes[i - added];
    }
    TRY(emit_reshape(c, x, &lifted, &x));
    *out = x;
    if (shape_same(&lifted, target)) return INSITU_OK;
    layer_draft_t expand = draft_of(LAYER_EXPAND);
    draft_list(&expand, ATTR_SIZES, target->sizes, target->rank);
    return emit_on(c, &expand, x, out);
}

insitu_status emit_slice(converter_t *c, tensor_id_t x, uint32_t dim, sym_t start, sym_t end, int64_t step,
                         tensor_id_t *out) {
    *out = x;
    if (step == 1 && is_int_constant(c, start, 0) && sym_same(end, size_of(c, x, dim))) return INSITU_OK;
    layer_draft_t slice = draft_slice(c->pool, LAYER_SLICE, dim, start, end, step);
    return emit_on(c, &slice, x, out);
}

insitu_status emit_unsqueeze(converter_t *c, tensor_id_t x, uint32_t dim, tensor_id_t *out) {
    shape_t shape = tensor_of(c, x)->shape;
    if (shape.rank == MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    for (uint32_t i = shape.rank++; i > dim; i--) shape.sizes[i] = shape.sizes[i - 1];
    shape.sizes[dim] = sym_int(c->pool, 1);
    return emit_reshape(c, x, &shape, out);
}

insitu_status emit_squeeze(converter_t *c, tensor_id_t x, uint32_t dim, tensor_id_t *out) {
    shape_t shape = tensor_of(c, x)->shape;
    shape.rank--;
    for (uint32_t i = dim; i < shape.rank; i++) shape.sizes[i] = shape.sizes[i + 1];
    return emit_reshape(c, x, &shape, out);
}

insitu_status emit_at_least_1d(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    *out = x;
    return rank_of(c, x) ? INSITU_OK : emit_unsqueeze(c, x, 0, out);
}

insitu_status emit_copy(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    layer_draft_t copy = draft_of(LAYER_COPY);
    return emit_on(c, &copy, x, out);
}

insitu_status emit_unary(converter_t *c, op_kind_t op, tensor_id_t x, tensor_id_t *out) {
    if (dtype_is_complex(dtype_of(c, x))) return emit_complex_unary(c, op, x, out);
    layer_draft_t unary = draft_of(LAYER_UNARY);
    draft_op(&unary, op);
    return emit_on(c, &unary, x, out);
}

insitu_status broadcast_shapes(converter_t *c, const shape_t *a, const shape_t *b, shape_t *out) {
    const shape_t *longer = a->rank >= b->rank ? a : b, *shorter = a->rank >= b->rank ? b : a;
    uint32_t added = longer->rank - shorter->rank;
    shape_t result = *longer;
    for (uint32_t i = 0; i < shorter->rank; i++) {
        sym_t *size = &result.sizes[added + i], other = shorter->sizes[i];
        int64_t constant;
        if (sym_same(*size, other) || is_int_constant(c, other, 1)) continue;
        if (is_int_constant(c, *size, 1)) {
            *size = other;
            continue;
        }
        if (sym_is_eq(c->pool, *size, other) == TRUTH_FALSE) {
            text_t sizes;
            text_init(&sizes);
            shape_print(c->pool, a, &sizes);
            text_printf(&sizes, " and ");
            shape_print(c->pool, b, &sizes);
            insitu_status status = text_status(&sizes, c->diag);
            if (status == INSITU_OK) {
                status = convert_fail(c, INSITU_FORMAT, "sizes %s do not broadcast", sizes.data);
            }
            text_release(&sizes);
            return status;
        }
        if (sym_constant(c->pool, other, &constant)) *size = other;
    }
    *out = result;
    return INSITU_OK;
}

insitu_status emit_binary(converter_t *c, op_kind_t op, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    shape_t shape;
    tensor_id_t operands[2];
    if (dtype_is_complex(dtype_of(c, a))) return emit_complex_binary(c, op, a, b, out);
    TRY(broadcast_shapes(c, &tensor_of(c, a)->shape, &tensor_of(c, b)->shape, &shape));
    TRY(emit_expand(c, a, &shape, &operands[0]));
    TRY(emit_expand(c, b, &shape, &operands[1]));
    layer_draft_t binary = draft_of(LAYER_BINARY);
    draft_op(&binary, op);
    return emit(c, &binary, operands, 2, out);
}

sym_t plain_number(converter_t *c, sym_t number, dtype_t type) {
    if (type == DTYPE_BOOL || sym_kind_of(c->pool, number) != SYM_KIND_BOOL) return number;
    sym_t choice[3] = {number, sym_int(c->pool, 1), sym_int(c->pool, 0)};
    return sym_make(c->pool, SYM_WHERE, choice, 3);
}

insitu_status emit_scalar(converter_t *c, op_kind_t op, tensor_id_t x, sym_t number, bool first, tensor_id_t *out) {
    if (dtype_is_complex(dtype_of(c, x))) return emit_complex_scalar(c, op, x, number, first, out);
    layer_draft_t binary = draft_of(LAYER_BINARY);
    draft_op(&binary, op);
    draft_sym(&binary, ATTR_SCALAR, plain_number(c, number, dtype_of(c, x)));
    if (first) draft_flag(c->pool, &binary, ATTR_SCALAR_FIRST, true);
    return emit_on(c, &binary, x, out);
}

insitu_status emit_scalar_float(converter_t *c, op_kind_t op, tensor_id_t x, double number, bool first,
                                tensor_id_t *out) {
    return emit_scalar(c, op, x, sym_float(c->pool, number), first, out);
}

insitu_status emit_operation(converter_t *c, op_kind_t op, operand_t a, operand_t b, dtype_t type, tensor_id_t *out) {
    tensor_id_t x, y;
    if (a.is_number && b.is_number) return convert_unsupported(c, "two numbers and no tensor");
    if (a.is_number || b.is_number) {
        TRY(emit_cast(c, a.is_number ? b.tensor : a.tensor, type, &x));
        return emit_scalar(c, op, x, a.is_number ? a.number : b.number, a.is_number, out);
    }
    TRY(emit_cast(c, a.tensor, type, &x));
    TRY(emit_cast(c, b.tensor, type, &y));
    return emit_binary(c, op, x, y, out);
}

insitu_status emit_where(converter_t *c, tensor_id_t condition, tensor_id_t a, tensor_id_t b, tensor_id_t *out) {
    shape_t shape;
    tensor_id_t operands[3];
    TRY(broadcast_shapes(c, &tensor_of(c, a)->shape, &tensor_of(c, b)->shape, &shape));
    TRY(broadcast_shapes(c, &tensor_of(c, condition)->shape, &shape, &shape));
    TRY(emit_expand(c, condition, &shape, &operands[0]));
    TRY(emit_expand(c, a, &shape, &operands[1]));
    TRY(emit_expand(c, b, &shape, &operands[2]));
    layer_draft_t where = draft_of(LAYER_WHERE);
    return emit(c, &where, operands, 3, out);
}

insitu_status emit_number_where(converter_t *c, tensor_id_t condition, sym_t number, tensor_id_t other,
                                tensor_id_t *out) {
    tensor_id_t value;
    TRY(emit_number(c, dtype_of(c, other), &tensor_of(c, condition)->shape, number, &value));
    return emit_where(c, condition, value, other, out);
}

insitu_status emit_fill(converter_t *c, dtype_t type, const shape_t *shape, sym_t value, tensor_id_t *out) {
    if (dtype_is_complex(type)) return emit_complex_fill(c, type, shape, value, out);
    layer_draft_t fill = draft_of(LAYER_FILL);
    draft_dtype(&fill, type);
    draft_list(&fill, ATTR_SIZES, shape->sizes, shape->rank);
    draft_sym(&fill, ATTR_VALUE, plain_number(c, value, type));
    return emit(c, &fill, NULL, 0, out);
}

insitu_status emit_along(converter_t *c, tensor_id_t vector, uint32_t rank, uint32_t dim, tensor_id_t *out) {
    shape_t shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++) shape.sizes[i] = sym_int(c->pool, 1);
    shape.sizes[dim] = shape_numel(c->pool, &tensor_of(c, vector)->shape);
    return emit_reshape(c, vector, &shape, out);
}

insitu_status emit_number(converter_t *c, dtype_t type, const shape_t *target, sym_t value, tensor_id_t *out) {
    shape_t one = {.rank = target->rank};
    for (uint32_t i = 0; i < one.rank; i++) one.sizes[i] = sym_int(c->pool, 1);
    TRY(emit_fill(c, type, &one, value, out));
    return emit_expand(c, *out, target, out);
}

insitu_status emit_operand(converter_t *c, operand_t operand, dtype_t type, const shape_t *shape, tensor_id_t *out) {
    if (operand.is_number) return emit_number(c, type, shape, operand.number, out);
    TRY(emit_cast(c, operand.tensor, type, out));
    return emit_expand(c, *out, shape, out);
}

insitu_status emit_iota(converter_t *c, dtype_t type, sym_t size, sym_t start, sym_t step, tensor_id_t *out) {
    layer_draft_t iota = draft_of(LAYER_IOTA);
    draft_dtype(&iota, type);
    draft_sym(&iota, ATTR_SIZE, size);
    draft_sym(&iota, ATTR_START, start);
    draft_sym(&iota, ATTR_STEP, step);
    return emit(c, &iota, NULL, 0, out);
}

insitu_status emit_concat(converter_t *c, const tensor_id_t *parts, uint32_t count, uint32_t dim, tensor_id_t *out) {
    if (count == 1) {
        *out = parts[0];
        return INSITU_OK;
    }
    layer_draft_t concat = draft_of(LAYER_CONCAT);
    draft_int(c->pool, &concat, ATTR_DIM, dim);
    return emit(c, &concat, parts, count, out);
}

insitu_status emit_reduce(converter_t *c, op_kind_t op, tensor_id_t x, uint32_t axes, bool keepdim, tensor_id_t *out) {
    sym_t items[MAX_RANK];
    uint32_t count = 0;
    if (dtype_is_complex(dtype_of(c, x))) return emit_complex_reduce(c, op, x, axes, keepdim, out);
    for (uint32_t i = 0; i < MAX_RANK; i++) {
        if ((axes >> i) & 1) items[count++] = sym_int(c->pool, i);
    }
    layer_draft_t reduce = draft_of(LAYER_REDUCE);
    draft_list(&reduce, ATTR_AXES, items, count);
    draft_flag(c->pool, &reduce, ATTR_KEEPDIM, keepdim);
    draft_op(&reduce, op);
    return emit_on(c, &reduce, x, out);
}

insitu_status emit_matmul(converter_t *c, tensor_id_t a, tensor_id_t b, tensor_id_t bias, tensor_id_t *out) {
    tensor_id_t operands[3] = {a, b, bias};
    if (dtype_is_complex(dtype_of(c, a))) return emit_complex_matmul(c, a, b, bias, out);
    layer_draft_t matmul = draft_of(LAYER_MATMUL);
    return emit(c, &matmul, operands, bias.index == NONE ? 2 : 3, out);
}

insitu_status emit_clamp(converter_t *c, tensor_id_t x, const sym_t *low, const sym_t *high, tensor_id_t *out) {
    *out = x;
    if (low) TRY(emit_scalar(c, OP_MAXIMUM, *out, *low, true, out));
    if (high) TRY(emit_scalar(c, OP_MINIMUM, *out, *high, true, out));
    return INSITU_OK;
}

insitu_status emit_float(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    return emit_cast(c, x, dtype_is_integral(dtype_of(c, x)) ? DTYPE_F32 : dtype_of(c, x), out);
}

dtype_t wide_dtype(dtype_t type) {
    if (type == DTYPE_C32) return DTYPE_C64;
    return type == DTYPE_F16 || type == DTYPE_BF16 ? DTYPE_F32 : type;
}

insitu_status emit_wide(converter_t *c, tensor_id_t x, tensor_id_t *out) {
    return emit_cast(c, x, wide_dtype(dtype_of(c, x)), out);
}

insitu_status finish_wide(converter_t *c, tensor_id_t result, dtype_t type) {
    TRY(emit_cast(c, result, type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

void set_result(converter_t *c, uint32_t index, tensor_id_t tensor) {
    if (index < c->node->result_count) c->tensors[c->node->results[index].index] = tensor;
}
