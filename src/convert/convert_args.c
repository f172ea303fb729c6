/* Arguments of the node in conversion. What the schema promises but the node breaks is FORMAT; what needs a constant and
 * has an expression is UNSUPPORTED. */
#include "convert/convert_int.h"

insitu_status convert_fail(converter_t *c, insitu_status code, const char *format, ...) {
    text_t sentence;
    text_init(&sentence);
    text_printf(&sentence, "%s '%s'", c->node->target, c->node->name);
    if (c->node->source[0]) text_printf(&sentence, " (%s)", c->node->source);
    text_printf(&sentence, ": ");
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&sentence, format, arguments);
    va_end(arguments);
    insitu_status status = text_status(&sentence, c->diag);
    if (status == INSITU_OK) status = diag_set(c->diag, code, "%s", sentence.data);
    text_release(&sentence);
    return status;
}

insitu_status convert_unsupported(converter_t *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->reason, sizeof(c->reason), format, arguments);
    va_end(arguments);
    return convert_fail(c, INSITU_UNSUPPORTED, "%s", c->reason);
}

const graph_arg_t *take_arg(const converter_t *c, const char *name) {
    static const graph_arg_t none = {.kind = ARG_NONE};
    const graph_arg_t *arg = c->node->schema ? graph_arg_of(c->graph, c->node, name) : NULL;
    return !arg || arg->kind == ARG_ABSENT ? &none : arg;
}

bool has_arg(const converter_t *c, const char *name) { return take_arg(c, name)->kind != ARG_NONE; }

static insitu_status wrong_kind(converter_t *c, const char *name, const char *expected) {
    return convert_fail(c, INSITU_FORMAT, "argument '%s' must be %s", name, expected);
}

static insitu_status tensor_of_arg(converter_t *c, const graph_arg_t *arg, const char *name, tensor_id_t *out) {
    *out = NO_TENSOR;
    if (arg->kind != ARG_VALUE) return wrong_kind(c, name, "a tensor");
    const graph_value_t *value = graph_value_of(c->graph, arg->value);
    if (value->kind == VALUE_NONE) return INSITU_OK;
    if (value->kind != VALUE_TENSOR) return wrong_kind(c, name, "a tensor");
    *out = c->tensors[arg->value.index];
    if (out->index != NONE) return INSITU_OK;
    if (value->producer.index == NONE) return convert_unsupported(c, "'%s' has no value", value->name);
    return convert_unsupported(c, "reads result %u of %s", value->result,
                               graph_node_of(c->graph, value->producer)->target);
}

insitu_status take_optional_tensor(converter_t *c, const char *name, tensor_id_t *out) {
    const graph_arg_t *arg = take_arg(c, name);
    *out = NO_TENSOR;
    return arg->kind == ARG_NONE ? INSITU_OK : tensor_of_arg(c, arg, name, out);
}

insitu_status take_tensor(converter_t *c, const char *name, tensor_id_t *out) {
    TRY(take_optional_tensor(c, name, out));
    return out->index == NONE ? wrong_kind(c, name, "a tensor") : INSITU_OK;
}

insitu_status take_tensors(converter_t *c, const char *name, tensor_id_t **out, uint32_t *out_count) {
    const graph_arg_t *arg = take_arg(c, name);
    *out = NULL;
    *out_count = 0;
    if (arg->kind != ARG_LIST) return wrong_kind(c, name, "a list of tensors");
    TRY(arena_array(&c->scratch, arg->list.count, sizeof(tensor_id_t), out));
    for (uint32_t i = 0; i < arg->list.count; i++) {
        (*out)[i] = NO_TENSOR;
        if (arg->list.items[i].kind != ARG_NONE) TRY(tensor_of_arg(c, &arg->list.items[i], name, &(*out)[i]));
    }
    *out_count = arg->list.count;
    return INSITU_OK;
}

insitu_status take_sym(converter_t *c, const char *name, sym_t *out) {
    const graph_arg_t *arg = take_arg(c, name);
    *out = sym_int(c->pool, 0);
    if (arg->kind == ARG_VALUE) return convert_unsupported(c, "argument '%s' is a tensor", name);
    if (arg->kind == ARG_COMPLEX) return convert_unsupported(c, "argument '%s' is a complex number", name);
    if (arg->kind != ARG_SYM) return wrong_kind(c, name, "a number");
    *out = arg->sym;
    return INSITU_OK;
}

insitu_status take_sym_or(converter_t *c, const char *name, sym_t fallback, sym_t *out) {
    *out = fallback;
    return has_arg(c, name) ? take_sym(c, name, out) : INSITU_OK;
}

insitu_status take_int(converter_t *c, const char *name, int64_t fallback, int64_t *out) {
    *out = fallback;
    if (!has_arg(c, name)) return INSITU_OK;
    sym_t value;
    TRY(take_sym(c, name, &value));
    if (sym_constant(c->pool, value, out)) return INSITU_OK;
    return convert_unsupported(c, "argument '%s' is not a constant", name);
}

insitu_status take_float(converter_t *c, const char *name, double fallback, double *out) {
    *out = fallback;
    if (!has_arg(c, name)) return INSITU_OK;
    sym_t value;
    TRY(take_sym(c, name, &value));
    if (sym_constant_float(c->pool, value, out)) return INSITU_OK;
    return convert_unsupported(c, "argument '%s' is not a constant", name);
}

insitu_status take_real(converter_t *c, const char *name, double fallback, sym_t *out) {
    double known;
    TRY(take_sym_or(c, name, sym_float(c->pool, fallback), out));
    if (sym_constant_float(c->pool, *out, &known)) *out = sym_float(c->pool, known);
    return INSITU_OK;
}

insitu_status take_flag(converter_t *c, const char *name, bool fallback, bool *out) {
    int64_t value;
    TRY(take_int(c, name, fallback, &value));
    *out = value != 0;
    return INSITU_OK;
}

insitu_status take_dtype(converter_t *c, const char *name, dtype_t fallback, dtype_t *out) {
    const graph_arg_t *arg = take_arg(c, name);
    *out = fallback;
    if (arg->kind == ARG_NONE) return INSITU_OK;
    if (arg->kind != ARG_DTYPE) return wrong_kind(c, name, "a dtype");
    *out = arg->dtype;
    return INSITU_OK;
}

insitu_status take_syms(converter_t *c, const char *name, sym_t out[MAX_RANK], uint32_t *out_count) {
    const graph_arg_t *arg = take_arg(c, name);
    *out_count = 0;
    if (arg->kind == ARG_NONE) return INSITU_OK;
    if (arg->kind == ARG_SYM) {
        out[(*out_count)++] = arg->sym;
        return INSITU_OK;
    }
    if (arg->kind != ARG_LIST) return wrong_kind(c, name, "a list of numbers");
    if (arg->list.count > MAX_RANK) return convert_unsupported(c, "argument '%s' has over %d items", name, MAX_RANK);
    for (uint32_t i = 0; i < arg->list.count; i++) {
        if (arg->list.items[i].kind != ARG_SYM) return wrong_kind(c, name, "a list of numbers");
        out[(*out_count)++] = arg->list.items[i].sym;
    }
    return INSITU_OK;
}

insitu_status take_ints(converter_t *c, const char *name, int64_t out[MAX_RANK], uint32_t *out_count) {
    sym_t items[MAX_RANK];
    TRY(take_syms(c, name, items, out_count));
    for (uint32_t i = 0; i < *out_count; i++) {
        if (!sym_constant(c->pool, items[i], &out[i])) {
            return convert_unsupported(c, "argument '%s' is not constant", name);
        }
    }
    return INSITU_OK;
}

const char *take_string(const converter_t *c, const char *name) {
    const graph_arg_t *arg = take_arg(c, name);
    return arg->kind == ARG_STRING ? arg->string : "";
}

insitu_status normal_dim(converter_t *c, int64_t dim, uint32_t rank, uint32_t *out) {
    int64_t count = rank ? (int64_t)rank : 1;
    *out = 0;
    if (dim < -count || dim >= count) {
        return convert_fail(c, INSITU_FORMAT, "dimension %lld of a tensor of rank %u", (long long)dim, rank);
    }
    *out = (uint32_t)(dim < 0 ? dim + count : dim);
    return INSITU_OK;
}

insitu_status take_dim(converter_t *c, const char *name, int64_t fallback, uint32_t rank, uint32_t *out) {
    int64_t dim;
    TRY(take_int(c, name, fallback, &dim));
    return normal_dim(c, dim, rank, out);
}

insitu_status take_dims(converter_t *c, const char *name, uint32_t rank, uint32_t *out_set) {
    int64_t dims[MAX_RANK];
    uint32_t count;
    *out_set = 0;
    TRY(take_ints(c, name, dims, &count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dim;
        TRY(normal_dim(c, dims[i], rank, &dim));
        if (rank) *out_set |= 1u << dim;
    }
    if (count == 0) *out_set = (1u << rank) - 1;
    return INSITU_OK;
}

operand_t operand_of_tensor(const converter_t *c, tensor_id_t tensor) {
    return (operand_t){.tensor = tensor,
                       .dtype = dtype_of(c, tensor),
                       .class = rank_of(c, tensor) ? OPERAND_TENSOR : OPERAND_ZERO_DIM};
}

operand_t operand_of_number(const converter_t *c, sym_t number) {
    sym_kind_t kind = sym_kind_of(c->pool, number);
    return (operand_t){.is_number = true,
                       .tensor = NO_TENSOR,
                       .number = number,
                       .dtype = kind == SYM_KIND_FLOAT  ? DTYPE_F64
                                : kind == SYM_KIND_BOOL ? DTYPE_BOOL
                                                        : DTYPE_I64,
                       .class = OPERAND_NUMBER};
}

insitu_status take_operand(converter_t *c, const char *name, operand_t *out) {
    *out = (operand_t){.tensor = NO_TENSOR};
    if (take_arg(c, name)->kind == ARG_VALUE) {
        tensor_id_t tensor;
        TRY(take_tensor(c, name, &tensor));
        *out = operand_of_tensor(c, tensor);
        return INSITU_OK;
    }
    const graph_arg_t *arg = take_arg(c, name);
    if (arg->kind == ARG_COMPLEX) {
        *out = (operand_t){.dtype = DTYPE_C128, .class = OPERAND_NUMBER};
        return emit_complex_number(c, arg->complex.re, arg->complex.im, &out->tensor);
    }
    sym_t number;
    TRY(take_sym(c, name, &number));
    *out = operand_of_number(c, number);
    return INSITU_OK;
}

insitu_status promote(converter_t *c, const operand_t *operands, uint32_t count, dtype_t *out) {
    dtype_t types[3];
    operand_class_t classes[3];
    for (uint32_t i = 0; i < count; i++) {
        types[i] = operands[i].dtype;
        classes[i] = operands[i].class;
    }
    *out = dtype_result(types, classes, count);
    if (*out < DTYPE_COUNT) return INSITU_OK;
    *out = DTYPE_F32;
    return convert_unsupported(c, "%s with %s", dtype_name(types[0]), dtype_name(types[1]));
}
