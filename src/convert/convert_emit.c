/* Adds layers to the network for the node in conversion. */
#include "convert/convert_int.h"

/* Complex numbers are stored and moved, and no kernel computes with them. */
static insitu_status check_complex(converter *c, const layer_draft *draft, const tensor_id *operands, uint32_t count) {
    if (kind_has(draft->kind, TRAIT_MOVE)) return INSITU_OK;
    for (uint32_t i = 0; i < count; i++) {
        dtype type = dtype_of(c, operands[i]);
        if (dtype_is_complex(type)) return convert_unsupported(c, "arithmetic in %s", dtype_name(type));
    }
    return INSITU_OK;
}

insitu_status emit(converter *c, const layer_draft *draft, const tensor_id *operands, uint32_t operand_count,
                   tensor_id *out_results) {
    tensor_id results[MAX_RESULTS] = {NO_TENSOR, NO_TENSOR}; /* out_results may be operands */
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

insitu_status emit_on(converter *c, const layer_draft *draft, tensor_id x, tensor_id *out) {
    return emit(c, draft, &x, 1, out);
}

insitu_status emit_cast(converter *c, tensor_id x, dtype type, tensor_id *out) {
    *out = x;
    if (dtype_of(c, x) == type) return INSITU_OK;
    if (dtype_is_complex(type) || dtype_is_complex(dtype_of(c, x))) return emit_complex_cast(c, x, type, out);
    layer_draft cast = draft_of(LAYER_CAST);
    draft_dtype(&cast, type);
    return emit_on(c, &cast, x, out);
}

insitu_status emit_reshape(converter *c, tensor_id x, const shape *shape, tensor_id *out) {
    *out = x;
    if (shape_same(&tensor_of(c, x)->shape, shape)) return INSITU_OK;
    layer_draft reshape = draft_of(LAYER_RESHAPE);
    draft_list(&reshape, ATTR_SIZES, shape->sizes, shape->rank);
    return emit_on(c, &reshape, x, out);
}

const layer *producer_of(const converter *c, tensor_id x) {
    const network_tensor *tensor = tensor_of(c, x);
    bool made = tensor->role == TENSOR_RESULT && tensor->producer.index != NONE;
    return made ? network_layer_of(c->network, tensor->producer) : NULL;
}

/* What x is a permutation of, if the axes put it back in order; else NO_TENSOR. */
static tensor_id permuted_back(const converter *c, tensor_id x, const uint32_t *axes) {
    const layer *layer = producer_of(c, x);
    if (!layer || layer->kind != LAYER_PERMUTE) return NO_TENSOR;
    attr before = layer_attr(layer, ATTR_AXES);
    for (uint32_t i = 0; i < before.list.count; i++) {
        int64_t axis;
        if (!sym_constant(c->pool, before.list.items[axes[i]], &axis) || axis != i) return NO_TENSOR;
    }
    return layer->operands[0];
}

insitu_status emit_permute(converter *c, tensor_id x, const uint32_t *axes, tensor_id *out) {
    sym items[MAX_RANK];
    uint32_t rank = rank_of(c, x);
    bool moves = false;
    for (uint32_t i = 0; i < rank; i++) {
        items[i] = sym_int(c->pool, axes[i]);
        moves = moves || axes[i] != i;
    }
    *out = moves ? permuted_back(c, x, axes) : x;
    if (out->index != NONE) return INSITU_OK;
    layer_draft permute = draft_of(LAYER_PERMUTE);
    draft_list(&permute, ATTR_AXES, items, rank);
    return emit_on(c, &permute, x, out);
}

insitu_status emit_swap(converter *c, tensor_id x, uint32_t dim1, uint32_t dim2, tensor_id *out) {
    uint32_t axes[MAX_RANK];
    for (uint32_t i = 0; i < MAX_RANK; i++) axes[i] = i;
    axes[dim1] = dim2;
    axes[dim2] = dim1;
    return emit_permute(c, x, axes, out);
}

insitu_status emit_expand(converter *c, tensor_id x, const shape *target, tensor_id *out) {
    const shape *from = &tensor_of(c, x)->shape;
    *out = x;
    if (shape_same(from, target)) return INSITU_OK;
    if (from->rank > target->rank) {
        return convert_fail(c, INSITU_FORMAT, "a tensor of rank %u does not broadcast to rank %u", from->rank,
                            target->rank);
    }
    shape lifted = {.rank = target->rank};
    uint32_t added = target->rank - from->rank;
    for (uint32_t i = 0; i < target->rank; i++) {
        lifted.sizes[i] = i < added ? sym_int(c->pool, 1) : from->sizes[i - added];
    }
    TRY(emit_reshape(c, x, &lifted, &x));
    *out = x;
    if (shape_same(&lifted, target)) return INSITU_OK;
    layer_draft expand = draft_of(LAYER_EXPAND);
    draft_list(&expand, ATTR_SIZES, target->sizes, target->rank);
    return emit_on(c, &expand, x, out);
}

insitu_status emit_slice(converter *c, tensor_id x, uint32_t dim, sym start, sym end, int64_t step, tensor_id *out) {
    *out = x;
    if (step == 1 && is_int_constant(c, start, 0) && sym_same(end, size_of(c, x, dim))) return INSITU_OK;
    layer_draft slice = draft_slice(c->pool, LAYER_SLICE, dim, start, end, step);
    return emit_on(c, &slice, x, out);
}

insitu_status emit_unsqueeze(converter *c, tensor_id x, uint32_t dim, tensor_id *out) {
    shape shape = tensor_of(c, x)->shape;
    if (shape.rank == MAX_RANK) return convert_unsupported(c, "rank over %d", MAX_RANK);
    for (uint32_t i = shape.rank++; i > dim; i--) shape.sizes[i] = shape.sizes[i - 1];
    shape.sizes[dim] = sym_int(c->pool, 1);
    return emit_reshape(c, x, &shape, out);
}

insitu_status emit_squeeze(converter *c, tensor_id x, uint32_t dim, tensor_id *out) {
    shape shape = tensor_of(c, x)->shape;
    shape.rank--;
    for (uint32_t i = dim; i < shape.rank; i++) shape.sizes[i] = shape.sizes[i + 1];
    return emit_reshape(c, x, &shape, out);
}

insitu_status emit_at_least_1d(converter *c, tensor_id x, tensor_id *out) {
    *out = x;
    return rank_of(c, x) ? INSITU_OK : emit_unsqueeze(c, x, 0, out);
}

insitu_status emit_copy(converter *c, tensor_id x, tensor_id *out) {
    layer_draft copy = draft_of(LAYER_COPY);
    return emit_on(c, &copy, x, out);
}

insitu_status emit_unary(converter *c, op_kind op, tensor_id x, tensor_id *out) {
    layer_draft unary = draft_of(LAYER_UNARY);
    draft_op(&unary, op);
    return emit_on(c, &unary, x, out);
}

insitu_status broadcast_shapes(converter *c, const shape *a, const shape *b, shape *out) {
    const shape *longer = a->rank >= b->rank ? a : b, *shorter = a->rank >= b->rank ? b : a;
    uint32_t added = longer->rank - shorter->rank;
    shape result = *longer;
    for (uint32_t i = 0; i < shorter->rank; i++) {
        sym *size = &result.sizes[added + i], other = shorter->sizes[i];
        int64_t constant;
        if (sym_same(*size, other) || is_int_constant(c, other, 1)) continue;
        if (is_int_constant(c, *size, 1)) {
            *size = other;
            continue;
        }
        if (sym_is_eq(c->pool, *size, other) == TRUTH_FALSE) {
            text sizes;
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

insitu_status emit_binary(converter *c, op_kind op, tensor_id a, tensor_id b, tensor_id *out) {
    shape shape;
    tensor_id operands[2];
    TRY(broadcast_shapes(c, &tensor_of(c, a)->shape, &tensor_of(c, b)->shape, &shape));
    TRY(emit_expand(c, a, &shape, &operands[0]));
    TRY(emit_expand(c, b, &shape, &operands[1]));
    layer_draft binary = draft_of(LAYER_BINARY);
    draft_op(&binary, op);
    return emit(c, &binary, operands, 2, out);
}

sym plain_number(converter *c, sym number, dtype type) {
    if (type == DTYPE_BOOL || sym_kind_of(c->pool, number) != SYM_KIND_BOOL) return number;
    sym choice[3] = {number, sym_int(c->pool, 1), sym_int(c->pool, 0)};
    return sym_make(c->pool, SYM_WHERE, choice, 3);
}

insitu_status emit_scalar(converter *c, op_kind op, tensor_id x, sym number, bool first, tensor_id *out) {
    layer_draft binary = draft_of(LAYER_BINARY);
    draft_op(&binary, op);
    draft_sym(&binary, ATTR_SCALAR, plain_number(c, number, dtype_of(c, x)));
    if (first) draft_flag(c->pool, &binary, ATTR_SCALAR_FIRST, true);
    return emit_on(c, &binary, x, out);
}

insitu_status emit_scalar_float(converter *c, op_kind op, tensor_id x, double number, bool first, tensor_id *out) {
    return emit_scalar(c, op, x, sym_float(c->pool, number), first, out);
}

insitu_status emit_operation(converter *c, op_kind op, operand a, operand b, dtype type, tensor_id *out) {
    tensor_id x, y;
    if (a.is_number && b.is_number) return convert_unsupported(c, "two numbers and no tensor");
    if (a.is_number || b.is_number) {
        TRY(emit_cast(c, a.is_number ? b.tensor : a.tensor, type, &x));
        return emit_scalar(c, op, x, a.is_number ? a.number : b.number, a.is_number, out);
    }
    TRY(emit_cast(c, a.tensor, type, &x));
    TRY(emit_cast(c, b.tensor, type, &y));
    return emit_binary(c, op, x, y, out);
}

insitu_status emit_where(converter *c, tensor_id condition, tensor_id a, tensor_id b, tensor_id *out) {
    shape shape;
    tensor_id operands[3];
    TRY(broadcast_shapes(c, &tensor_of(c, a)->shape, &tensor_of(c, b)->shape, &shape));
    TRY(broadcast_shapes(c, &tensor_of(c, condition)->shape, &shape, &shape));
    TRY(emit_expand(c, condition, &shape, &operands[0]));
    TRY(emit_expand(c, a, &shape, &operands[1]));
    TRY(emit_expand(c, b, &shape, &operands[2]));
    layer_draft where = draft_of(LAYER_WHERE);
    return emit(c, &where, operands, 3, out);
}

insitu_status emit_number_where(converter *c, tensor_id condition, sym number, tensor_id other, tensor_id *out) {
    tensor_id value;
    TRY(emit_number(c, dtype_of(c, other), &tensor_of(c, condition)->shape, number, &value));
    return emit_where(c, condition, value, other, out);
}

insitu_status emit_fill(converter *c, dtype type, const shape *shape, sym value, tensor_id *out) {
    if (dtype_is_complex(type)) return emit_complex_fill(c, type, shape, value, out);
    layer_draft fill = draft_of(LAYER_FILL);
    draft_dtype(&fill, type);
    draft_list(&fill, ATTR_SIZES, shape->sizes, shape->rank);
    draft_sym(&fill, ATTR_VALUE, plain_number(c, value, type));
    return emit(c, &fill, NULL, 0, out);
}

insitu_status emit_number(converter *c, dtype type, const shape *target, sym value, tensor_id *out) {
    shape one = {.rank = target->rank};
    for (uint32_t i = 0; i < one.rank; i++) one.sizes[i] = sym_int(c->pool, 1);
    TRY(emit_fill(c, type, &one, value, out));
    return emit_expand(c, *out, target, out);
}

insitu_status emit_operand(converter *c, operand operand, dtype type, const shape *shape, tensor_id *out) {
    if (operand.is_number) return emit_number(c, type, shape, operand.number, out);
    TRY(emit_cast(c, operand.tensor, type, out));
    return emit_expand(c, *out, shape, out);
}

insitu_status emit_iota(converter *c, dtype type, sym size, sym start, sym step, tensor_id *out) {
    layer_draft iota = draft_of(LAYER_IOTA);
    draft_dtype(&iota, type);
    draft_sym(&iota, ATTR_SIZE, size);
    draft_sym(&iota, ATTR_START, start);
    draft_sym(&iota, ATTR_STEP, step);
    return emit(c, &iota, NULL, 0, out);
}

insitu_status emit_concat(converter *c, const tensor_id *parts, uint32_t count, uint32_t dim, tensor_id *out) {
    if (count == 1) {
        *out = parts[0];
        return INSITU_OK;
    }
    layer_draft concat = draft_of(LAYER_CONCAT);
    draft_int(c->pool, &concat, ATTR_DIM, dim);
    return emit(c, &concat, parts, count, out);
}

insitu_status emit_reduce(converter *c, op_kind op, tensor_id x, uint32_t axes, bool keepdim, tensor_id *out) {
    sym items[MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < MAX_RANK; i++) {
        if ((axes >> i) & 1) items[count++] = sym_int(c->pool, i);
    }
    layer_draft reduce = draft_of(LAYER_REDUCE);
    draft_list(&reduce, ATTR_AXES, items, count);
    draft_flag(c->pool, &reduce, ATTR_KEEPDIM, keepdim);
    draft_op(&reduce, op);
    return emit_on(c, &reduce, x, out);
}

insitu_status emit_matmul(converter *c, tensor_id a, tensor_id b, tensor_id bias, tensor_id *out) {
    tensor_id operands[3] = {a, b, bias};
    layer_draft matmul = draft_of(LAYER_MATMUL);
    return emit(c, &matmul, operands, bias.index == NONE ? 2 : 3, out);
}

insitu_status emit_clamp(converter *c, tensor_id x, const sym *low, const sym *high, tensor_id *out) {
    *out = x;
    if (low) TRY(emit_scalar(c, OP_MAXIMUM, *out, *low, true, out));
    if (high) TRY(emit_scalar(c, OP_MINIMUM, *out, *high, true, out));
    return INSITU_OK;
}

insitu_status emit_float(converter *c, tensor_id x, tensor_id *out) {
    return emit_cast(c, x, dtype_is_integral(dtype_of(c, x)) ? DTYPE_F32 : dtype_of(c, x), out);
}

dtype wide_dtype(dtype type) { return type == DTYPE_F16 || type == DTYPE_BF16 ? DTYPE_F32 : type; }

insitu_status emit_wide(converter *c, tensor_id x, tensor_id *out) {
    return emit_cast(c, x, wide_dtype(dtype_of(c, x)), out);
}

insitu_status finish_wide(converter *c, tensor_id result, dtype type) {
    TRY(emit_cast(c, result, type, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

void set_result(converter *c, uint32_t index, tensor_id tensor) {
    if (index < c->node->result_count) c->tensors[c->node->results[index].index] = tensor;
}
