/* A part of a tensor that is given a flip of another part of it, which it meets: where they meet, elements are exchanged in
 * place; the rest is taken from outside.
 *
 *   slice_update(%x, flip(slice(%x, 0 to 4)), 1 to 5)
 *       ->  %y = slice_update(%x, flip(slice(%x, 0 to 1)), 4 to 5),   slice_update(%y, flip(slice(%x, 1 to 4)), 1 to 4)
 *
 * All along one dimension that is flipped; element i of 1 to 5 is given element 4 - i, so 1 to 4, where both meet, is its own
 * flip. */
#include "rewrite/rewrite.h"

typedef struct meeting {
    uint32_t dim;
    int64_t from, to, count; /* %x's elements [from, from + count), flipped, are stored at [to, to + count) */
    tensor_id_t x;
    layer_t flip, update;
} meeting_t;

static bool is_flipped(const network_t *network, const layer_t *flip, int64_t dim) {
    attr_t dims = layer_attr(flip, ATTR_DIMS);
    int64_t flipped;
    for (uint32_t i = 0; i < dims.list.count; i++)
        if (sym_constant(&network->symbols, dims.list.items[i], &flipped) && flipped == dim) return true;
    return false;
}

/* Start and number of what a slice with step 1, or such an update, takes. */
static bool find_range(const network_t *network, const layer_t *layer, int64_t *out_start, int64_t *out_count) {
    int64_t end;
    if (layer_attr_int(network, layer, ATTR_STEP) != 1) return false;
    if (!sym_constant(&network->symbols, layer_attr(layer, ATTR_START).value, out_start)) return false;
    if (!sym_constant(&network->symbols, layer_attr(layer, ATTR_END).value, &end)) return false;
    *out_count = end - *out_start;
    return true;
}

static bool find_meeting(const network_t *network, const layer_t *update, meeting_t *out) {
    if (update->kind != LAYER_SLICE_UPDATE) return false;
    const layer_t *flip = network_producer_of(network, update->operands[1], LAYER_FLIP);
    const layer_t *slice = flip ? network_producer_of(network, flip->operands[0], LAYER_SLICE) : NULL;
    int64_t stored;
    if (!slice || slice->operands[0].index != update->operands[0].index) return false;
    const int64_t dim = layer_attr_int(network, update, ATTR_DIM);
    *out = (meeting_t){.dim = (uint32_t)dim, .x = update->operands[0], .flip = *flip, .update = *update};
    if (layer_attr_int(network, slice, ATTR_DIM) != dim || !is_flipped(network, flip, dim)) return false;
    if (!find_range(network, slice, &out->from, &out->count) || !find_range(network, update, &out->to, &stored))
        return false;
    const int64_t way = out->to - out->from;
    return stored == out->count && way != 0 && way < out->count && -way < out->count;
}

/* %x's elements [from, from + count), flipped. */
static insitu_status add_flip(network_t *network, const meeting_t *meeting, int64_t from, int64_t count,
                              tensor_id_t *out, insitu_diag *diag) {
    sym_pool_t *pool = &network->symbols;
    tensor_id_t part;
    TRY(network_add_slice(network, &meeting->update, meeting->x, meeting->dim, sym_int(pool, from),
                          sym_int(pool, from + count), 1, &part, diag));
    const layer_draft_t flip = draft_like(&meeting->flip);
    return network_add_layer(network, &flip, &part, 1, meeting->update.name, meeting->update.source, out, diag);
}

static insitu_status split(network_t *network, uint32_t position, const meeting_t *meeting, insitu_diag *diag) {
    sym_pool_t *pool = &network->symbols;
    const uint32_t first_added = network->order_count;
    const int64_t way = meeting->to - meeting->from, outside = way < 0 ? -way : way, inside = meeting->count - outside;
    const int64_t at = way > 0 ? meeting->to : meeting->from; /* where they meet */
    const int64_t from = way > 0 ? meeting->from : at + inside, to = way > 0 ? at + inside : meeting->to;
    tensor_id_t operands[2] = {meeting->x, NO_TENSOR}, rest;
    layer_draft_t update =
        draft_slice(pool, LAYER_SLICE_UPDATE, meeting->dim, sym_int(pool, to), sym_int(pool, to + outside), 1);
    TRY(add_flip(network, meeting, from, outside, &operands[1], diag));
    TRY(network_add_layer(network, &update, operands, 2, meeting->update.name, meeting->update.source, &rest, diag));
    network_layer_of(network, network_tensor_of(network, rest)->producer)->assembles = meeting->update.assembles;
    operands[0] = rest;
    TRY(add_flip(network, meeting, at, inside, &operands[1], diag));
    draft_int(pool, &update, ATTR_START, at);
    draft_int(pool, &update, ATTR_END, at + inside);
    TRY(network_redefine(network, network->order[position], &update, operands, 2, diag));
    network_move_added(network, first_added, position);
    return INSITU_OK;
}

insitu_status network_split_flips(network_t *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->order_count; i++) {
        meeting_t meeting;
        const uint32_t count = network->order_count;
        if (!find_meeting(network, network_layer_of(network, network->order[i]), &meeting)) continue;
        TRY(split(network, i, &meeting, diag));
        i += network->order_count - count;
    }
    return sym_pool_status(&network->symbols, diag);
}
