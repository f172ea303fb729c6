/* Assembly, indexing and updates of the public builder; item, which ends in a symbol. */
#include "builder/builder_int.h"

insitu_status insitu_network_add_concat(insitu_network *network, int32_t count, const insitu_value *parts, int32_t dim,
                                        insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_CONCAT, __func__, out_value, diag);
    build_operands(&build, count, parts, "parts");
    build_int(&build, ATTR_DIM, dim);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_pad(insitu_network *network, const char *op, insitu_value x, int32_t count,
                                     const insitu_number *before, const insitu_number *after, insitu_number value,
                                     insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_PAD, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_numbers(&build, ATTR_BEFORE, count, before);
    build_numbers(&build, ATTR_AFTER, count, after);
    if (op && strcmp(op, "constant") == 0) build_number(&build, ATTR_VALUE, value);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_flip(insitu_network *network, insitu_value x, int32_t count, const int32_t *dims,
                                      insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_FLIP, __func__, out_value, diag);
    build_operand(&build, x);
    build_dims(&build, ATTR_DIMS, count, dims);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_triangle(insitu_network *network, const char *op, insitu_value x, int64_t offset,
                                          insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_TRIANGLE, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_int(&build, ATTR_OFFSET, offset);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_index(insitu_network *network, insitu_value x, int32_t count, const int32_t *dims,
                                       const insitu_value *indices, bool wrap, insitu_value *out_value,
                                       insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_INDEX, __func__, out_value, diag);
    build_operand(&build, x);
    build_dims(&build, ATTR_DIMS, count, dims); /* which limits the count */
    build_operands(&build, count, indices, "indices");
    build_flag(&build, ATTR_WRAP, wrap);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_gather(insitu_network *network, insitu_value x, insitu_value index, int32_t dim,
                                        insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_GATHER, __func__, out_value, diag);
    build_operand(&build, x);
    build_operand(&build, index);
    build_int(&build, ATTR_DIM, dim);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_slice_update(insitu_network *network, insitu_value x, insitu_value src, int32_t dim,
                                              insitu_number start, insitu_number end, int64_t step,
                                              insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_SLICE_UPDATE, __func__, out_value, diag);
    build_operand(&build, x);
    build_operand(&build, src);
    build_int(&build, ATTR_DIM, dim);
    build_number(&build, ATTR_START, start);
    build_number(&build, ATTR_END, end);
    build_int(&build, ATTR_STEP, step);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_diagonal_update(insitu_network *network, insitu_value x, insitu_value src,
                                                 int64_t offset, int32_t dim1, int32_t dim2, insitu_value *out_value,
                                                 insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_DIAGONAL_UPDATE, __func__, out_value, diag);
    build_operand(&build, x);
    build_operand(&build, src);
    build_int(&build, ATTR_OFFSET, offset);
    build_int(&build, ATTR_DIM1, dim1);
    build_int(&build, ATTR_DIM2, dim2);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_as_strided_update(insitu_network *network, insitu_value x, insitu_value src,
                                                   int32_t ndim, const insitu_number *sizes,
                                                   const insitu_number *strides, insitu_number offset,
                                                   insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_AS_STRIDED_UPDATE, __func__, out_value, diag);
    build_operand(&build, x);
    build_operand(&build, src);
    build_numbers(&build, ATTR_SIZES, ndim, sizes);
    build_numbers(&build, ATTR_STRIDES, ndim, strides);
    build_number(&build, ATTR_OFFSET, offset);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_index_update(insitu_network *network, insitu_value x, insitu_value src, int32_t count,
                                              const int32_t *dims, const insitu_value *indices, bool accumulate,
                                              bool wrap, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_INDEX_UPDATE, __func__, out_value, diag);
    build_operand(&build, x);
    build_operand(&build, src);
    build_dims(&build, ATTR_DIMS, count, dims); /* which limits the count */
    build_operands(&build, count, indices, "indices");
    build_flag(&build, ATTR_ACCUMULATE, accumulate);
    build_flag(&build, ATTR_WRAP, wrap);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_scatter_update(insitu_network *network, const char *op, insitu_value x,
                                                insitu_value src, insitu_value index, int32_t dim,
                                                insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_SCATTER_UPDATE, __func__, out_value, diag);
    build_op(&build, op);
    build_operand(&build, x);
    build_operand(&build, src);
    build_operand(&build, index);
    build_int(&build, ATTR_DIM, dim);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_shift_update(insitu_network *network, insitu_value x, insitu_value src, int32_t dim,
                                              bool front, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_SHIFT_UPDATE, __func__, out_value, diag);
    build_operand(&build, x);
    build_operand(&build, src);
    build_int(&build, ATTR_DIM, dim);
    if (front) build_flag(&build, ATTR_FRONT, true);
    return build_close(&build, out_value, NULL);
}

insitu_status insitu_network_add_mask_update(insitu_network *network, insitu_value x, insitu_value src,
                                             insitu_value mask, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    layer_build build;
    build_open(&build, network, LAYER_MASK_UPDATE, __func__, out_value, diag);
    build_operand(&build, x);
    build_operand(&build, src);
    build_operand(&build, mask);
    return build_close(&build, out_value, NULL);
}

static sym_kind kind_of_element(dtype type) {
    if (type == DTYPE_BOOL) return SYM_KIND_BOOL;
    return dtype_is_integral(type) ? SYM_KIND_INT : SYM_KIND_FLOAT;
}

insitu_status insitu_network_add_item(insitu_network *network, insitu_value x, const char *name, int64_t min,
                                      int64_t max, insitu_number *out_number, insitu_diag *diag) {
    if (out_number) *out_number = insitu_int(0);
    layer_build build;
    build_open(&build, network, LAYER_ITEM, __func__, out_number, diag);
    build_operand(&build, x);
    sym symbol = {0};
    if (!name) build_fail(&build, INSITU_ARG, "its symbol has no name");
    if (build.status == INSITU_OK) {
        const network_tensor *read = network_tensor_of(network->network, build.operands[0]);
        int64_t count = 0;
        if (dtype_is_complex(read->dtype))
            build_fail(&build, INSITU_ARG, "a complex element is no number of a network");
        if (!sym_constant(&network->network->symbols, shape_numel(&network->network->symbols, &read->shape), &count) ||
            count != 1)
            build_fail(&build, INSITU_SHAPE, "'%.200s' must have one element", read->name);
        if (build.status == INSITU_OK)
            build.status = builder_symbol(network, name, kind_of_element(read->dtype), min, max, &symbol, diag);
        if (build.status == INSITU_OK) build_number(&build, ATTR_SYMBOL, number_of(symbol));
    }
    insitu_status status = build_close(&build, NULL, NULL);
    if (status == INSITU_OK) *out_number = number_of(symbol);
    return status;
}
