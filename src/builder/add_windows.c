/* Layers of the public builder that take a window: conv, pool. */
#include "builder/builder_int.h"

/* The caller's window, which may be an older and shorter struct. */
static insitu_window read_window(layer_build_t *build, const insitu_window *given) {
    insitu_window window = {.struct_size = sizeof(window)};
    if (!given || build->status != INSITU_OK) return window;
    if (given->struct_size <= sizeof(size_t) || given->struct_size > sizeof(window))
        build_fail(build, INSITU_ARG, "the window has struct_size %zu where at most %zu was expected",
                   given->struct_size, sizeof(window));
    else
        memcpy(&window, given, given->struct_size);
    return window;
}

/* Dimensions of operand 0 that a window moves over. */
static uint32_t window_rank(layer_build_t *build) {
    if (build->status != INSITU_OK) return 0;
    uint32_t rank = network_tensor_of(build->network->network, build->operands[0])->shape.rank;
    if (rank < 3) build_fail(build, INSITU_SHAPE, "operand 0 has rank %u where 3 at least was expected", rank);
    return rank < 3 ? 0 : rank - 2;
}

insitu_status insitu_network_add_conv(insitu_network *network, insitu_value x, insitu_value weight, insitu_value bias,
                                      const insitu_window *window, insitu_value *out_value, insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_CONV, __func__, out_value, NULL, diag);
    build_operand(&build, x);
    build_operand(&build, weight);
    build_optional(&build, bias);
    const insitu_window given = read_window(&build, window);
    uint32_t rank = window_rank(&build);
    if (given.kernel) build_fail(&build, INSITU_ARG, "the window has a kernel, and the weight gives its sizes");
    build_ints(&build, ATTR_STRIDE, rank, given.stride, 1);
    build_ints(&build, ATTR_PADDING, rank, given.padding, 0);
    build_ints(&build, ATTR_DILATION, rank, given.dilation, 1);
    build_ints(&build, ATTR_OUTPUT_PADDING, rank, given.output_padding, 0);
    build_int(&build, ATTR_GROUPS, given.groups ? given.groups : 1);
    build_flag(&build, ATTR_TRANSPOSED, given.transposed);
    return build_close(&build);
}

insitu_status insitu_network_add_pool(insitu_network *network, const char *op, insitu_value x,
                                      const insitu_window *window, insitu_value *out_value, insitu_diag *diag) {
    layer_build_t build;
    build_open(&build, network, LAYER_POOL, __func__, out_value, NULL, diag);
    build_op(&build, op);
    build_operand(&build, x);
    const insitu_window given = read_window(&build, window);
    uint32_t rank = window_rank(&build);
    if (!given.kernel) build_fail(&build, INSITU_ARG, "the window has no kernel");
    if (given.output_padding || given.groups || given.transposed)
        build_fail(&build, INSITU_ARG, "the window has what only conv has");
    build_ints(&build, ATTR_KERNEL, rank, given.kernel, 0);
    build_ints(&build, ATTR_STRIDE, rank, given.stride ? given.stride : given.kernel, 1);
    build_ints(&build, ATTR_PADDING, rank, given.padding, 0);
    build_ints(&build, ATTR_DILATION, rank, given.dilation, 1);
    build_flag(&build, ATTR_CEIL_MODE, given.ceil_mode);
    build_flag(&build, ATTR_COUNT_PAD, given.count_pad);
    if (given.divisor) build_int(&build, ATTR_DIVISOR, given.divisor);
    return build_close(&build);
}
