/* Functions of the public builder that check an argument, or leave one out, beyond what its place in the layer asks; and those
 * that are another way to a layer. What only puts its arguments in their places is written by
 * scripts/make_layer_functions.py. */
#include "builder/builder_int.h"

#include "builder/add_layers.inc"

/* A float is no value for a dtype of integers. */
static void check_number(layer_build_t *build, const char *what, insitu_number number) {
    if (build->status != INSITU_OK ||
        !dtype_is_integral(build->draft.attrs[layer_attr_index(build->draft.kind, ATTR_DTYPE)].dtype))
        return;
    bool is_float = number.kind == INSITU_NUMBER_FLOAT;
    if (number.kind == INSITU_NUMBER_EXPRESSION)
        is_float =
            sym_kind_of(&build->network->network->symbols, (sym_t){(uint32_t)number.of.integer}) == SYM_KIND_FLOAT;
    if (is_float) build_fail(build, INSITU_ARG, "%s is a float, and the dtype has integers", what);
}

insitu_status insitu_network_add_fill(insitu_network *network, insitu_dtype dtype, int32_t ndim,
                                      const insitu_number *sizes, insitu_number value, insitu_value *out_value,
                                      insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_FILL, __func__, out_value, NULL, diag);
    build_dtype(&build, dtype);
    build_numbers(&build, ATTR_SIZES, ndim, sizes);
    build_number(&build, ATTR_VALUE, value);
    check_number(&build, "value", value);
    return build_close(&build);
}

insitu_status insitu_network_add_iota(insitu_network *network, insitu_dtype dtype, insitu_number size,
                                      insitu_number start, insitu_number step, insitu_value *out_value,
                                      insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_IOTA, __func__, out_value, NULL, diag);
    build_dtype(&build, dtype);
    build_number(&build, ATTR_SIZE, size);
    build_number(&build, ATTR_START, start);
    build_number(&build, ATTR_STEP, step);
    check_number(&build, "start", start);
    check_number(&build, "step", step);
    return build_close(&build);
}

/* The layer takes one operand too, with a scalar: that is binary_scalar. */
insitu_status insitu_network_add_binary(insitu_network *network, const char *op, insitu_value a, insitu_value b,
                                        insitu_value *out_value, insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_BINARY, __func__, out_value, NULL, diag);
    build_op(&build, op);
    build_operand(&build, a);
    build_operand(&build, b);
    return build_close(&build);
}

insitu_status insitu_network_add_binary_scalar(insitu_network *network, const char *op, insitu_value x,
                                               insitu_number scalar, bool scalar_first, insitu_value *out_value,
                                               insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_BINARY, __func__, out_value, NULL, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_number(&build, ATTR_SCALAR, scalar);
    build_flag(&build, ATTR_SCALAR_FIRST, scalar_first);
    return build_close(&build);
}

insitu_status insitu_network_add_scaled_sum(insitu_network *network, insitu_value a, insitu_value b,
                                            insitu_number scale, insitu_value *out_value, insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_BINARY, __func__, out_value, NULL, diag);
    build_op(&build, "add");
    build_operand(&build, a);
    build_operand(&build, b);
    build_number(&build, ATTR_SCALAR, scale);
    return build_close(&build);
}

insitu_status insitu_network_add_reduce(insitu_network *network, const char *op, insitu_value x, int32_t count,
                                        const int32_t *axes, bool keepdim, double correction, insitu_value *out_value,
                                        insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_REDUCE, __func__, out_value, NULL, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_dims(&build, ATTR_AXES, count, axes);
    build_flag(&build, ATTR_KEEPDIM, keepdim);
    if (op && strcmp(op, "var") == 0) build_float(&build, ATTR_CORRECTION, correction);
    return build_close(&build);
}

insitu_status insitu_network_add_layer_norm(insitu_network *network, insitu_value x, insitu_value weight,
                                            insitu_value bias, int32_t count, double eps, insitu_value *out_value,
                                            insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_LAYER_NORM, __func__, out_value, NULL, diag);
    build_operand(&build, x);
    build_optional(&build, weight);
    if (bias.id && !weight.id) build_fail(&build, INSITU_ARG, "a bias without a weight");
    build_optional(&build, bias);
    build_int(&build, ATTR_COUNT, count);
    build_float(&build, ATTR_EPS, eps);
    return build_close(&build);
}

insitu_status insitu_network_add_pad(insitu_network *network, const char *op, insitu_value x, int32_t count,
                                     const insitu_number *before, const insitu_number *after, insitu_number value,
                                     insitu_value *out_value, insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_PAD, __func__, out_value, NULL, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_numbers(&build, ATTR_BEFORE, count, before);
    build_numbers(&build, ATTR_AFTER, count, after);
    if (op && strcmp(op, "constant") == 0) build_number(&build, ATTR_VALUE, value);
    return build_close(&build);
}
