/* Shape and dtype inference: what every layer kind needs (attribute kinds, constants, comparisons of sizes, sentences),
 * and the table of the kinds' functions. Sizes that must agree are proved, disproved (SHAPE), or required when the
 * network runs. */
#include "network/network_int.h"

void tensor_print_type(const network_t *network, const network_tensor_t *tensor, text_t *out) {
    text_printf(out, "%s", dtype_name(tensor->dtype));
    shape_print(&network->symbols, &tensor->shape, out);
}

void layer_print_call(const network_t *network, layer_kind_t kind, const tensor_id_t *operands, uint32_t operand_count,
                      text_t *out) {
    text_printf(out, "%s(", layer_info_of(kind)->name);
    for (uint32_t i = 0; i < operand_count; i++) {
        if (i) text_printf(out, ", ");
        if (i == 8) {
            text_printf(out, "...");
            break;
        }
        tensor_print_type(network, network_tensor_of(network, operands[i]), out);
    }
    text_printf(out, ")");
}

insitu_status infer_fail(const infer_call_t *call, insitu_status code, const char *format, ...) {
    text_t sentence;
    text_init(&sentence);
    layer_print_call(call->network, call->kind, call->operands, call->operand_count, &sentence);
    text_printf(&sentence, ": ");
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&sentence, format, arguments);
    va_end(arguments);
    insitu_status status = text_status(&sentence, call->diag);
    if (status == INSITU_OK) status = diag_set(call->diag, code, "%s", sentence.data);
    text_release(&sentence);
    return status;
}

const network_tensor_t *infer_operand(const infer_call_t *call, uint32_t index) {
    return network_tensor_of(call->network, call->operands[index]);
}

attr_t infer_attr(const infer_call_t *call, attr_id_t id) {
    uint32_t index = layer_attr_index(call->kind, id);
    return index == NONE ? (attr_t){.kind = ATTR_KIND_NONE} : call->attrs[index];
}

insitu_status infer_int(const infer_call_t *call, attr_id_t id, int64_t min, int64_t max, int64_t *out) {
    *out = min;
    int64_t value;
    if (!sym_constant(call->pool, infer_attr(call, id).value, &value)) {
        return infer_fail(call, INSITU_ARG, "%s must be a constant integer", attr_name(id));
    }
    if (value < min || value > max) {
        return infer_fail(call, INSITU_ARG, "%s is %lld, outside [%lld, %lld]", attr_name(id), (long long)value,
                          (long long)min, (long long)max);
    }
    *out = value;
    return INSITU_OK;
}

insitu_status infer_dim(const infer_call_t *call, attr_id_t id, uint32_t *out) {
    *out = 0;
    int64_t rank = infer_operand(call, 0)->shape.rank, dim;
    if (rank == 0) return infer_fail(call, INSITU_SHAPE, "%s of a tensor without dimensions", attr_name(id));
    TRY(infer_int(call, id, 0, rank - 1, &dim));
    *out = (uint32_t)dim;
    return INSITU_OK;
}

insitu_status infer_flag(const infer_call_t *call, attr_id_t id, bool *out) {
    int64_t value;
    TRY(infer_int(call, id, 0, 1, &value));
    *out = value != 0;
    return INSITU_OK;
}

insitu_status infer_dims(const infer_call_t *call, attr_id_t id, uint32_t *out_set, uint32_t out_dims[MAX_RANK],
                         uint32_t *out_count) {
    *out_set = 0;
    *out_count = 0;
    attr_t dims = infer_attr(call, id);
    uint32_t rank = infer_operand(call, 0)->shape.rank;
    for (uint32_t i = 0; i < dims.list.count; i++) {
        int64_t dim;
        if (!sym_constant(call->pool, dims.list.items[i], &dim) || dim < 0 || dim >= rank || ((*out_set >> dim) & 1)) {
            return infer_fail(call, INSITU_ARG, "%s must be distinct dimensions in [0, %u)", attr_name(id), rank);
        }
        *out_set |= 1u << dim;
        out_dims[(*out_count)++] = (uint32_t)dim;
    }
    return INSITU_OK;
}

/* Fails for a number that has no value whatever the symbols are, such as 5 // 0. */
static insitu_status need_value(const infer_call_t *call, insitu_status code, sym_t number, const char *what) {
    sym_t part;
    if (!sym_find_fault(call->pool, number, &part)) return INSITU_OK;
    text_t printed;
    text_init(&printed);
    sym_print(call->pool, part, &printed);
    insitu_status status = text_status(&printed, call->diag);
    if (status == INSITU_OK) status = infer_fail(call, code, "%s: %s has no value", what, printed.data);
    text_release(&printed);
    return status;
}

/* A condition of two expressions that fails with "what: a op b"; if a is the least that b may be, "what: b is less than a". */
static insitu_status infer_condition(const infer_call_t *call, sym_op_t op, sym_t a, sym_t b, bool is_least,
                                     const char *what) {
    TRY(need_value(call, INSITU_SHAPE, a, what));
    TRY(need_value(call, INSITU_SHAPE, b, what));
    sym_t condition = sym_compare(call->pool, op, a, b);
    truth_t known = sym_truth(call->pool, condition);
    if (known == TRUTH_TRUE) return INSITU_OK;
    text_t sentence;
    text_init(&sentence);
    if (known == TRUTH_UNKNOWN) text_printf(&sentence, "%s: ", layer_info_of(call->kind)->name);
    text_printf(&sentence, "%s: ", what);
    sym_print(call->pool, is_least ? b : a, &sentence);
    text_printf(&sentence, op == SYM_EQ ? " is not equal to " : is_least ? " is less than " : " is more than ");
    sym_print(call->pool, is_least ? a : b, &sentence);
    insitu_status status = text_status(&sentence, call->diag);
    if (status == INSITU_OK) {
        status = known == TRUTH_FALSE ? infer_fail(call, INSITU_SHAPE, "%s", sentence.data)
                                      : network_require(call->network, condition, sentence.data, "");
    }
    text_release(&sentence);
    return status;
}

insitu_status infer_equal(const infer_call_t *call, sym_t a, sym_t b, const char *what) {
    return sym_same(a, b) ? INSITU_OK : infer_condition(call, SYM_EQ, a, b, false, what);
}

insitu_status infer_at_most(const infer_call_t *call, sym_t a, sym_t b, const char *what) {
    return sym_same(a, b) ? INSITU_OK : infer_condition(call, SYM_LE, a, b, false, what);
}

insitu_status infer_size(const infer_call_t *call, sym_t value, int64_t min, const char *what) {
    if (sym_kind_of(call->pool, value) != SYM_KIND_INT) {
        return infer_fail(call, INSITU_ARG, "%s must be an integer", what);
    }
    sym_t least = sym_int(call->pool, min);
    return sym_same(least, value) ? INSITU_OK : infer_condition(call, SYM_LE, least, value, true, what);
}

insitu_status infer_bytes(const infer_call_t *call, uint32_t result) {
    const inferred_t *type = &call->results[result];
    if (shape_fits(call->pool, &type->shape, type->dtype)) return INSITU_OK;
    text_t name;
    text_init(&name);
    layer_print_call(call->network, call->kind, call->operands, call->operand_count, &name);
    insitu_status status = text_status(&name, call->diag);
    if (status == INSITU_OK)
        status = network_check_bytes(call->network, name.data, type->dtype, &type->shape, call->diag);
    text_release(&name);
    return status;
}

insitu_status infer_same_shape(const infer_call_t *call, const shape_t *a, const shape_t *b, const char *what) {
    if (a->rank != b->rank) {
        return infer_fail(call, INSITU_SHAPE, "%s: rank %u where %u was expected", what, b->rank, a->rank);
    }
    for (uint32_t i = 0; i < a->rank; i++) TRY(infer_equal(call, b->sizes[i], a->sizes[i], what));
    return INSITU_OK;
}

insitu_status infer_same_dtypes(const infer_call_t *call, uint32_t first, uint32_t end) {
    for (uint32_t i = first + 1; i < end; i++) {
        if (infer_operand(call, i)->dtype == infer_operand(call, first)->dtype) continue;
        return infer_fail(call, INSITU_ARG, "operands %u and %u must have one dtype", first, i);
    }
    return INSITU_OK;
}

insitu_status infer_rank(const infer_call_t *call, uint32_t operand, uint32_t rank) {
    if (infer_operand(call, operand)->shape.rank == rank) return INSITU_OK;
    return infer_fail(call, INSITU_SHAPE, "operand %u must have rank %u", operand, rank);
}

void infer_as_operand(const infer_call_t *call, uint32_t result) {
    call->results[result].dtype = infer_operand(call, 0)->dtype;
    call->results[result].shape = infer_operand(call, 0)->shape;
}

static insitu_status check_attr(const infer_call_t *call, const attr_row_t *row, const attr_t *value) {
    if (value->kind == ATTR_KIND_NONE && row->optional) return INSITU_OK;
    if (value->kind != attr_kind_of(row->id)) {
        return infer_fail(call, INSITU_ARG, "attribute %s is missing or of another kind", attr_name(row->id));
    }
    if (value->kind == ATTR_KIND_SYMS && value->list.count > MAX_RANK) {
        return infer_fail(call, INSITU_UNSUPPORTED, "%s has %u items where %d are allowed", attr_name(row->id),
                          value->list.count, MAX_RANK);
    }
    for (uint32_t i = 0; value->kind == ATTR_KIND_SYMS && i < value->list.count; i++) {
        TRY(need_value(call, INSITU_ARG, value->list.items[i], attr_name(row->id)));
        if (sym_kind_of(call->pool, value->list.items[i]) == SYM_KIND_INT) continue;
        return infer_fail(call, INSITU_ARG, "%s must hold integers", attr_name(row->id));
    }
    if (value->kind == ATTR_KIND_SYM) TRY(need_value(call, INSITU_ARG, value->value, attr_name(row->id)));
    if (value->kind == ATTR_KIND_OP && !layer_takes_op(call->kind, value->op)) {
        return infer_fail(call, INSITU_ARG, "op %s does not belong to this layer", op_name(value->op));
    }
    return INSITU_OK;
}

static bool has_constant_sizes(const infer_call_t *call) {
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (!shape_constant(call->pool, &infer_operand(call, i)->shape, NULL)) return false;
    return true;
}

/* What the kind's function found: tensors that can be, of sizes that can be expressed. */
static insitu_status check_results(const infer_call_t *call) {
    const uint32_t count = layer_result_count(call->network, call->kind, call->attrs);
    for (uint32_t i = 0; i < count; i++) TRY(infer_bytes(call, i));
    if (!call->pool->too_large) return sym_pool_status(call->pool, call->diag);
    return infer_fail(call, has_constant_sizes(call) ? INSITU_SHAPE : INSITU_UNSUPPORTED,
                      "a size of it is too large a number, or too long an expression over symbols");
}

static infer_fn function_of(layer_kind_t kind) {
    static const infer_fn functions[LAYER_KIND_COUNT] = {
#define LAYER(id, ...) [LAYER_##id] = infer_##id,
#include "core/layers.def"
#undef LAYER
    };
    return functions[kind];
}

insitu_status network_infer(network_t *network, layer_kind_t kind, const tensor_id_t *operands, uint32_t operand_count,
                            const attr_t *attrs, inferred_t *out_results, insitu_diag *diag) {
    const layer_info_t *info = layer_info_of(kind);
    for (uint32_t i = 0; i < operand_count; i++) {
        if (operands[i].index >= network->tensor_count)
            FAIL(diag, INSITU_ARG, "%s: operand %u is absent", info->name, i);
    }
    infer_call_t call = {.network = network,
                         .pool = &network->symbols,
                         .kind = kind,
                         .operands = operands,
                         .operand_count = operand_count,
                         .attrs = attrs,
                         .results = out_results,
                         .diag = diag};
    const uint32_t fixed = info->results == NONE ? 0 : info->results;
    for (uint32_t i = 0; i < fixed; i++) out_results[i] = (inferred_t){.dtype = DTYPE_BOOL};
    if (info->max_operands == NONE && operand_count < info->min_operands)
        return infer_fail(&call, INSITU_ARG, "%u operands where at least %u were expected", operand_count,
                          info->min_operands);
    if (operand_count < info->min_operands || operand_count > info->max_operands) {
        return infer_fail(&call, INSITU_ARG, "%u operands where %u to %u were expected", operand_count,
                          info->min_operands, info->max_operands);
    }
    for (uint32_t i = 0; i < info->attr_count; i++) TRY(check_attr(&call, &info->attrs[i], &attrs[i]));
    TRY(function_of(kind)(&call));
    return check_results(&call);
}
