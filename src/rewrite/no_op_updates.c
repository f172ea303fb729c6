/* Updates that store what is there already become views:
 *     %s = slice(%x) {...};  %r = slice_update(%x, %s) {...}, of the same part   ->   %r = reshape(%x), to the same sizes
 * and likewise diagonal_update and as_strided_update; reshapes between the two change nothing. */
#include "rewrite/rewrite.h"

static bool same_attr(attr_t a, attr_t b) {
    if (a.kind != b.kind) return false;
    if (a.kind != ATTR_KIND_SYMS) return a.kind == ATTR_KIND_SYM && sym_same(a.value, b.value);
    bool is_same = a.list.count == b.list.count;
    for (uint32_t i = 0; is_same && i < a.list.count; i++) is_same = sym_same(a.list.items[i], b.list.items[i]);
    return is_same;
}

static bool is_idle(const network_t *network, const layer_t *update) {
    const layer_info_t *info = layer_info_of(update->kind);
    if (!kind_has(update->kind, TRAIT_PART)) return false;
    const layer_t *view =
        network_producer_of(network, network_strip_reshapes(network, update->operands[1]), info->reader);
    if (!view || view->operands[0].index != update->operands[0].index) return false;
    for (uint32_t i = 0; i < info->attr_count; i++)
        if (!same_attr(layer_attr(update, info->attrs[i].id), layer_attr(view, info->attrs[i].id))) return false;
    return true;
}

insitu_status network_view_no_op_updates(network_t *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *update = network_layer_of(network, network->order[i]);
        if (!is_idle(network, update)) continue;
        const tensor_id_t x = update->operands[0];
        const layer_draft_t view = draft_sized(LAYER_RESHAPE, &network_tensor_of(network, x)->shape);
        TRY(network_redefine(network, network->order[i], &view, &x, 1, diag));
    }
    return INSITU_OK;
}
