/* Sources and views of the public builder: fill, iota, empty; reshape, permute, slice, expand, diagonal, unfold, as_strided,
 * bitcast. */
#include "builder/builder_int.h"

/* A float is no value for a dtype of integers. */
static void check_number(layer_build *build, const char *what, insitu_number number) {
    if (build->status != INSITU_OK ||
        !dtype_is_integral(build->draft.attrs[layer_attr_index(build->draft.kind, ATTR_DTYPE)].dtype))
        return;
    bool is_float = number.kind == INSITU_NUMBER_FLOAT;
    if (number.kind == INSITU_NUMBER_EXPRESSION)
        is_float = sym_kind_of(&build->network->network->symbols, (sym){(uint32_t)number.of.integer}) == SYM_KIND_FLOAT;
    if (is_float) build_fail(build, INSITU_ARG, "%s is a float, and the dtype has integers", what);
}

insitu_status insitu_network_add_fill(insitu_network *network, insitu_dtype dtype, int32_t ndim,
                                      const insitu_number *sizes, insitu_number value, insitu_value *out_value,
                                      insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_FILL, __func__, out_value, diag);
    build_dtype(&build, dtype);
    build_numbers(&build, ATTR_SIZES, ndim, sizes);
    build_number(&build, ATTR_VALUE, value);
    check_number(&build, "value", value);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_iota(insitu_network *network, insitu_dtype dtype, insitu_number size,
                                      insitu_number start, insitu_number step, insitu_value *out_value,
                                      insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_IOTA, __func__, out_value, diag);
    build_dtype(&build, dtype);
    build_number(&build, ATTR_SIZE, size);
    build_number(&build, ATTR_START, start);
    build_number(&build, ATTR_STEP, step);
    check_number(&build, "start", start);
    check_number(&build, "step", step);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_empty(insitu_network *network, insitu_dtype dtype, int32_t ndim,
                                       const insitu_number *sizes, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_EMPTY, __func__, out_value, diag);
    build_dtype(&build, dtype);
    build_numbers(&build, ATTR_SIZES, ndim, sizes);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_reshape(insitu_network *network, insitu_value x, int32_t ndim,
                                         const insitu_number *sizes, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_RESHAPE, __func__, out_value, diag);
    build_operand(&build, x);
    build_numbers(&build, ATTR_SIZES, ndim, sizes);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_permute(insitu_network *network, insitu_value x, int32_t count, const int32_t *axes,
                                         insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_PERMUTE, __func__, out_value, diag);
    build_operand(&build, x);
    build_dims(&build, ATTR_AXES, count, axes);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_slice(insitu_network *network, insitu_value x, int32_t dim, insitu_number start,
                                       insitu_number end, int64_t step, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_SLICE, __func__, out_value, diag);
    build_operand(&build, x);
    build_int(&build, ATTR_DIM, dim);
    build_number(&build, ATTR_START, start);
    build_number(&build, ATTR_END, end);
    build_int(&build, ATTR_STEP, step);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_expand(insitu_network *network, insitu_value x, int32_t ndim,
                                        const insitu_number *sizes, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_EXPAND, __func__, out_value, diag);
    build_operand(&build, x);
    build_numbers(&build, ATTR_SIZES, ndim, sizes);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_diagonal(insitu_network *network, insitu_value x, int64_t offset, int32_t dim1,
                                          int32_t dim2, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_DIAGONAL, __func__, out_value, diag);
    build_operand(&build, x);
    build_int(&build, ATTR_OFFSET, offset);
    build_int(&build, ATTR_DIM1, dim1);
    build_int(&build, ATTR_DIM2, dim2);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_unfold(insitu_network *network, insitu_value x, int32_t dim, int64_t size,
                                        int64_t step, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_UNFOLD, __func__, out_value, diag);
    build_operand(&build, x);
    build_int(&build, ATTR_DIM, dim);
    build_int(&build, ATTR_SIZE, size);
    build_int(&build, ATTR_STEP, step);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_as_strided(insitu_network *network, insitu_value x, int32_t ndim,
                                            const insitu_number *sizes, const insitu_number *strides,
                                            insitu_number offset, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_AS_STRIDED, __func__, out_value, diag);
    build_operand(&build, x);
    build_numbers(&build, ATTR_SIZES, ndim, sizes);
    build_numbers(&build, ATTR_STRIDES, ndim, strides);
    build_number(&build, ATTR_OFFSET, offset);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_bitcast(insitu_network *network, insitu_value x, insitu_dtype dtype,
                                         insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_BITCAST, __func__, out_value, diag);
    build_operand(&build, x);
    build_dtype(&build, dtype);
    return build_close(&build, out_value, NULL);
}
