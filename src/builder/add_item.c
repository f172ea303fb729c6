/* item of the public builder: a layer that ends in a symbol. */
#include "builder/builder_int.h"

static sym_kind_t kind_of_element(dtype_t type) {
    if (type == DTYPE_BOOL) return SYM_KIND_BOOL;
    return dtype_is_integral(type) ? SYM_KIND_INT : SYM_KIND_FLOAT;
}

insitu_status insitu_network_add_item(insitu_network *network, insitu_value x, const char *name, int64_t min,
                                      int64_t max, insitu_number *out_number, insitu_diag *diag) {
    if (out_number) *out_number = insitu_int(0);
    layer_build_t build;
    build_open(&build, network, LAYER_ITEM, __func__, NULL, NULL, diag);
    if (!out_number) build_needs_place(&build);
    build_operand(&build, x);
    sym_t symbol = {0};
    if (!name) build_fail(&build, INSITU_ARG, "its symbol has no name");
    if (build.status == INSITU_OK) {
        const network_tensor_t *read = network_tensor_of(network->network, build.operands[0]);
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
    insitu_status status = build_close(&build);
    if (status == INSITU_OK) *out_number = number_of(symbol);
    return status;
}
