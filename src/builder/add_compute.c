/* Elementwise layers, reductions and layers over rows of the public builder. */
#include "builder/builder_int.h"

insitu_status insitu_network_add_unary(insitu_network *network, const char *op, insitu_value x, insitu_value *out_value,
                                       insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_UNARY, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, x);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_binary(insitu_network *network, const char *op, insitu_value a, insitu_value b,
                                        insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_BINARY, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, a);
    build_operand(&build, b);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_binary_scalar(insitu_network *network, const char *op, insitu_value x,
                                               insitu_number scalar, bool scalar_first, insitu_value *out_value,
                                               insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_BINARY, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_number(&build, ATTR_SCALAR, scalar);
    build_flag(&build, ATTR_SCALAR_FIRST, scalar_first);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_scaled_sum(insitu_network *network, insitu_value a, insitu_value b,
                                            insitu_number scale, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_BINARY, __func__, out_value, diag);
    build_op(&build, "add");
    build_operand(&build, a);
    build_operand(&build, b);
    build_number(&build, ATTR_SCALAR, scale);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_where(insitu_network *network, insitu_value condition, insitu_value a, insitu_value b,
                                       insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_WHERE, __func__, out_value, diag);
    build_operand(&build, condition);
    build_operand(&build, a);
    build_operand(&build, b);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_cast(insitu_network *network, insitu_value x, insitu_dtype dtype,
                                      insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_CAST, __func__, out_value, diag);
    build_operand(&build, x);
    build_dtype(&build, dtype);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_copy(insitu_network *network, insitu_value x, insitu_value *out_value,
                                      insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_COPY, __func__, out_value, diag);
    build_operand(&build, x);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_reduce(insitu_network *network, const char *op, insitu_value x, int32_t count,
                                        const int32_t *axes, bool keepdim, double correction, insitu_value *out_value,
                                        insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_REDUCE, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_dims(&build, ATTR_AXES, count, axes);
    build_flag(&build, ATTR_KEEPDIM, keepdim);
    if (op && strcmp(op, "var") == 0) build_float(&build, ATTR_CORRECTION, correction);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_reduce_index(insitu_network *network, const char *op, insitu_value x, int32_t dim,
                                              bool keepdim, insitu_value *out_values, insitu_value *out_indices,
                                              insitu_diag *diag) {
    if (out_values) *out_values = insitu_no_value();
    if (out_indices) *out_indices = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_REDUCE_INDEX, __func__, out_indices ? out_values : NULL, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_int(&build, ATTR_DIM, dim);
    build_flag(&build, ATTR_KEEPDIM, keepdim);
    return build_close(&build, out_values, out_indices);
}

insitu_status insitu_network_add_scan(insitu_network *network, const char *op, insitu_value x, int32_t dim,
                                      insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_SCAN, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_int(&build, ATTR_DIM, dim);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_softmax(insitu_network *network, insitu_value x, int32_t dim, bool log,
                                         insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_SOFTMAX, __func__, out_value, diag);
    build_operand(&build, x);
    build_int(&build, ATTR_DIM, dim);
    build_flag(&build, ATTR_LOG, log);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_layer_norm(insitu_network *network, insitu_value x, insitu_value weight,
                                            insitu_value bias, int32_t count, double eps, insitu_value *out_value,
                                            insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_LAYER_NORM, __func__, out_value, diag);
    build_operand(&build, x);
    build_optional(&build, weight);
    if (bias.id && !weight.id) build_fail(&build, INSITU_ARG, "a bias without a weight");
    build_optional(&build, bias);
    build_int(&build, ATTR_COUNT, count);
    build_float(&build, ATTR_EPS, eps);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_rms_norm(insitu_network *network, insitu_value x, insitu_value weight, int32_t count,
                                          double eps, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_RMS_NORM, __func__, out_value, diag);
    build_operand(&build, x);
    build_optional(&build, weight);
    build_int(&build, ATTR_COUNT, count);
    build_float(&build, ATTR_EPS, eps);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_sort(insitu_network *network, insitu_value x, int32_t dim, bool descending,
                                      insitu_value *out_values, insitu_value *out_indices, insitu_diag *diag) {
    if (out_values) *out_values = insitu_no_value();
    if (out_indices) *out_indices = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_SORT, __func__, out_indices ? out_values : NULL, diag);
    build_operand(&build, x);
    build_int(&build, ATTR_DIM, dim);
    build_flag(&build, ATTR_DESCENDING, descending);
    return build_close(&build, out_values, out_indices);
}

insitu_status insitu_network_add_topk(insitu_network *network, insitu_value x, insitu_number count, int32_t dim,
                                      bool descending, insitu_value *out_values, insitu_value *out_indices,
                                      insitu_diag *diag) {
    if (out_values) *out_values = insitu_no_value();
    if (out_indices) *out_indices = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_TOPK, __func__, out_indices ? out_values : NULL, diag);
    build_operand(&build, x);
    build_number(&build, ATTR_COUNT, count);
    build_int(&build, ATTR_DIM, dim);
    build_flag(&build, ATTR_DESCENDING, descending);
    return build_close(&build, out_values, out_indices);
}
