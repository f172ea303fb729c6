/* What a state is given should be computed where it stays. A part, or a repetition, of a larger value can't be: the value
 * is made elsewhere and the part copied. Where each element is computed from elements at its own place, the part is
 * computed by itself instead, of the same parts of the operands; and a part of a concat is a concat of parts:
 *   %y = relu(%x), next "h" = slice(%y, 6 to 8)         ->  next "h" = relu(slice(%x, 6 to 8))
 *   %c = concat(%k, %new), next "k" = slice(%c, 3 to 8) ->  next "k" = concat(slice(%k, 3 to 5), %new)
 *   %y = cast(%x), next "h" = expand(%y)                ->  next "h" = cast(expand(%x))
 *   %y = fill(0), next "h" = slice(%y, 6 to 8)          ->  next "h" = fill(0) of two elements
 *   %y = flip(%x), next "h" = slice(%y, 6 to 8)         ->  next "h" = flip(slice(%x, 0 to 2)), %x of 8 rows
 *   %y = triangle(%x), next "h" = slice(%y, 6 to 8)     ->  next "h" = triangle(slice(%x, 6 to 8)), its diagonal moved by 6
 * A fill that others read as well is made once more for the state. So in final values and in what is assembled into them; the value stays for its other readers, else it is dead. */
#include "rewrite/rewrite.h"

enum { MAX_VIEWS = 8, MAX_ROUNDS = 8 };

typedef struct view_chain { /* of the base: views[0], then views[1] ..., of which the last alone is partial */
    tensor_id_t base;
    layer_id_t views[MAX_VIEWS];
    uint32_t count;
} view_chain_t;

typedef struct rewriter {
    network_t *network;
    uint32_t position; /* in the order: of the layer that is redefined */
    bool changed;
    insitu_diag *diag;
} rewriter_t;

/* Shows some elements not at all, or several times. */
static bool is_partial(layer_kind_t kind) {
    return kind_has(kind, TRAIT_SUBSET | TRAIT_REPEAT) &&
           kind != LAYER_AS_STRIDED; /* which may show them in any order */
}

/* The views from what computes the value up to this one; copies in between do not matter. */
static bool find_chain(const network_t *network, layer_id_t partial, view_chain_t *out) {
    layer_id_t found[MAX_VIEWS] = {partial};
    out->count = 1;
    out->base = network_layer_of(network, partial)->operands[0];
    for (;;) {
        const network_tensor_t *made = network_tensor_of(network, out->base);
        if (made->role != TENSOR_RESULT) return false;
        const layer_t *layer = network_layer_of(network, made->producer);
        bool view = layer->kind == LAYER_RESHAPE || layer->kind == LAYER_PERMUTE;
        if (!view && layer->kind != LAYER_COPY) break;
        if (view && out->count == MAX_VIEWS) return false;
        if (view) found[out->count++] = made->producer;
        out->base = layer->operands[0];
    }
    for (uint32_t i = 0; i < out->count; i++) out->views[i] = found[out->count - 1 - i];
    return true;
}

/* The views over another tensor. */
static insitu_status apply_views(rewriter_t *rewriter, const view_chain_t *chain, tensor_id_t *tensor) {
    for (uint32_t i = 0; i < chain->count; i++) {
        const layer_t view = *network_layer_of(rewriter->network, chain->views[i]);
        tensor_id_t operand = *tensor;
        const layer_draft_t like = draft_like(&view);
        TRY(network_add_layer(rewriter->network, &like, &operand, 1, view.name, view.source, tensor, rewriter->diag));
    }
    return INSITU_OK;
}

/* The layers added since then come before the partial view, which becomes the last of them. */
static insitu_status redefine(rewriter_t *rewriter, const view_chain_t *chain, const layer_draft_t *draft,
                              const tensor_id_t *operands, uint32_t operand_count, uint32_t first_added) {
    network_t *network = rewriter->network;
    layer_id_t partial = chain->views[chain->count - 1];
    TRY(network_redefine(network, partial, draft, operands, operand_count, rewriter->diag));
    uint32_t added = network->order_count - first_added;
    network_move_added(network, first_added, rewriter->position);
    rewriter->position += added;
    rewriter->changed = true;
    return INSITU_OK;
}

static insitu_status push_to_operands(rewriter_t *rewriter, const view_chain_t *chain) {
    network_t *network = rewriter->network;
    const layer_t maker = *network_layer_of(network, network_tensor_of(network, chain->base)->producer);
    uint32_t first_added = network->order_count;
    tensor_id_t operands[3];
    for (uint32_t i = 0; i < maker.operand_count; i++) {
        operands[i] = maker.operands[i];
        TRY(apply_views(rewriter, chain, &operands[i]));
    }
    const layer_draft_t like = draft_like(&maker);
    return redefine(rewriter, chain, &like, operands, maker.operand_count, first_added);
}

static insitu_status fill_part(rewriter_t *rewriter, const view_chain_t *chain) {
    network_t *network = rewriter->network;
    const layer_t *fill = network_layer_of(network, network_tensor_of(network, chain->base)->producer);
    const layer_t *partial = network_layer_of(network, chain->views[chain->count - 1]);
    const shape_t shape = network_tensor_of(network, partial->results[0])->shape;
    layer_draft_t part = draft_like(fill);
    draft_list(&part, ATTR_SIZES, shape.sizes, shape.rank);
    return redefine(rewriter, chain, &part, NULL, 0, network->order_count);
}

/* ---- a slice of what works along lines, of a flip, of a triangle ---- */

/* The layer of the same slice of its operand, which starts and ends there. */
static insitu_status push_slice(rewriter_t *rewriter, const view_chain_t *chain, sym_t start, sym_t end,
                                const layer_draft_t *draft) {
    network_t *network = rewriter->network;
    const layer_t maker = *network_layer_of(network, network_tensor_of(network, chain->base)->producer);
    const layer_t slice = *network_layer_of(network, chain->views[0]);
    const uint32_t dim = (uint32_t)layer_attr_int(network, &slice, ATTR_DIM), first_added = network->order_count;
    tensor_id_t part;
    TRY(network_add_slice(network, &slice, maker.operands[0], dim, start, end,
                          layer_attr_int(network, &slice, ATTR_STEP), &part, rewriter->diag));
    return redefine(rewriter, chain, draft, &part, 1, first_added);
}

static bool is_flipped(const network_t *network, const layer_t *flip, uint32_t dim) {
    attr_t dims = layer_attr(flip, ATTR_DIMS);
    int64_t flipped;
    for (uint32_t i = 0; i < dims.list.count; i++)
        if (sym_constant(&network->symbols, dims.list.items[i], &flipped) && flipped == dim) return true;
    return false;
}

static insitu_status push_to_flip(rewriter_t *rewriter, const view_chain_t *chain, const layer_t *flip, sym_t start,
                                  sym_t end) {
    network_t *network = rewriter->network;
    sym_pool_t *pool = &network->symbols;
    const layer_t *slice = network_layer_of(network, chain->views[0]);
    const uint32_t dim = (uint32_t)layer_attr_int(network, slice, ATTR_DIM);
    const sym_t size = network_tensor_of(network, chain->base)->shape.sizes[dim];
    const layer_draft_t like = draft_like(flip);
    if (!is_flipped(network, flip, dim)) return push_slice(rewriter, chain, start, end, &like);
    if (layer_attr_int(network, slice, ATTR_STEP) != 1) return INSITU_OK;
    return push_slice(rewriter, chain, sym_sub(pool, size, end), sym_sub(pool, size, start), &like);
}

/* Rows that begin lower have their diagonal further right, columns that begin further right further left. */
static insitu_status push_to_triangle(rewriter_t *rewriter, const view_chain_t *chain, const layer_t *triangle,
                                      sym_t start, sym_t end) {
    network_t *network = rewriter->network;
    sym_pool_t *pool = &network->symbols;
    const layer_t *slice = network_layer_of(network, chain->views[0]);
    const uint32_t dim = (uint32_t)layer_attr_int(network, slice, ATTR_DIM);
    const uint32_t rank = network_tensor_of(network, chain->base)->shape.rank;
    layer_draft_t like = draft_like(triangle);
    const sym_t offset = layer_attr(triangle, ATTR_OFFSET).value;
    int64_t first;
    if (dim + 2 < rank) return push_slice(rewriter, chain, start, end, &like);
    if (layer_attr_int(network, slice, ATTR_STEP) != 1 || !sym_constant(pool, start, &first)) return INSITU_OK;
    draft_sym(&like, ATTR_OFFSET, dim + 2 == rank ? sym_add(pool, offset, start) : sym_sub(pool, offset, start));
    return push_slice(rewriter, chain, start, end, &like);
}

/* *out_done false: it is none of these. */
static insitu_status push_to_lines(rewriter_t *rewriter, const view_chain_t *chain, const layer_t *maker,
                                   bool *out_done) {
    const layer_t *slice = network_layer_of(rewriter->network, chain->views[0]);
    *out_done = chain->count == 1 && slice->kind == LAYER_SLICE;
    if (!*out_done) return INSITU_OK;
    const sym_t start = layer_attr(slice, ATTR_START).value, end = layer_attr(slice, ATTR_END).value;
    if (maker->kind == LAYER_FLIP) return push_to_flip(rewriter, chain, maker, start, end);
    if (maker->kind == LAYER_TRIANGLE) return push_to_triangle(rewriter, chain, maker, start, end);
    *out_done = maker->kind == LAYER_SCAN || maker->kind == LAYER_SOFTMAX;
    const int64_t dim = layer_attr_int(rewriter->network, slice, ATTR_DIM);
    if (!*out_done || layer_attr_int(rewriter->network, maker, ATTR_DIM) == dim) return INSITU_OK;
    const layer_draft_t like = draft_like(maker);
    return push_slice(rewriter, chain, start, end, &like);
}

/* ---- a slice of a concat ---- */

typedef struct part_range { /* of one operand; start == end: nothing of it */
    sym_t start, end;
} part_range_t;

/* Where the slice [start, end) meets the operand that begins at low and has size elements; false if that is not known. */
static bool meet(sym_pool_t *pool, sym_t low, sym_t size, sym_t start, sym_t end, part_range_t *out) {
    sym_t high = sym_add(pool, low, size), zero = sym_int(pool, 0);
    *out = (part_range_t){zero, zero};
    if (sym_is_le(pool, high, start) == TRUTH_TRUE || sym_is_le(pool, end, low) == TRUTH_TRUE) return true;
    bool from_first = sym_is_le(pool, start, low) == TRUTH_TRUE, to_last = sym_is_le(pool, high, end) == TRUTH_TRUE;
    if (!from_first && sym_is_le(pool, low, start) != TRUTH_TRUE) return false;
    if (!to_last && sym_is_le(pool, end, high) != TRUTH_TRUE) return false;
    out->start = from_first ? zero : sym_sub(pool, start, low);
    out->end = to_last ? size : sym_sub(pool, end, low);
    return true;
}

/* A slice of a slice along one dimension is one slice. */
static insitu_status add_slice(rewriter_t *rewriter, const layer_t *like, tensor_id_t x, uint32_t dim,
                               part_range_t range, tensor_id_t *out) {
    network_t *network = rewriter->network;
    sym_pool_t *pool = &network->symbols;
    const layer_t *inner = network_producer_of(network, x, LAYER_SLICE);
    if (inner && layer_attr_int(network, inner, ATTR_DIM) == dim && layer_attr_int(network, inner, ATTR_STEP) == 1) {
        sym_t start = layer_attr(inner, ATTR_START).value;
        range = (part_range_t){sym_add(pool, start, range.start), sym_add(pool, start, range.end)};
        x = inner->operands[0];
    }
    return network_add_slice(network, like, x, dim, range.start, range.end, 1, out, rewriter->diag);
}

static insitu_status push_to_parts(rewriter_t *rewriter, const view_chain_t *chain) {
    network_t *network = rewriter->network;
    sym_pool_t *pool = &network->symbols;
    const layer_t concat = *network_layer_of(network, network_tensor_of(network, chain->base)->producer);
    const layer_t slice = *network_layer_of(network, chain->views[0]);
    uint32_t dim = (uint32_t)layer_attr_int(network, &concat, ATTR_DIM), kept = 0, first_added = network->order_count;
    sym_t start = layer_attr(&slice, ATTR_START).value, end = layer_attr(&slice, ATTR_END).value,
          low = sym_int(pool, 0);
    part_range_t *ranges;
    tensor_id_t *parts;
    TRY(arena_array(&network->arena, concat.operand_count, sizeof *ranges, &ranges));
    TRY(arena_array(&network->arena, concat.operand_count, sizeof *parts, &parts));
    for (uint32_t i = 0; i < concat.operand_count; i++) {
        sym_t size = network_tensor_of(network, concat.operands[i])->shape.sizes[dim];
        if (!meet(pool, low, size, start, end, &ranges[i])) return INSITU_OK;
        low = sym_add(pool, low, size);
    }
    for (uint32_t i = 0; i < concat.operand_count; i++) {
        sym_t size = network_tensor_of(network, concat.operands[i])->shape.sizes[dim];
        if (sym_same(ranges[i].start, ranges[i].end)) continue;
        parts[kept] = concat.operands[i];
        if (!sym_same(sym_sub(pool, ranges[i].end, ranges[i].start), size))
            TRY(add_slice(rewriter, &slice, concat.operands[i], dim, ranges[i], &parts[kept]));
        kept++;
    }
    if (kept == 0) return INSITU_OK;
    const layer_draft_t joined = kept == 1 ? draft_of(LAYER_COPY) : draft_like(&concat);
    return redefine(rewriter, chain, &joined, parts, kept, first_added);
}

/* A slice with step 1 along the dimension that the parts are joined along. */
static bool cuts_parts(const network_t *network, const layer_t *concat, const layer_t *view) {
    return view->kind == LAYER_SLICE && layer_attr_int(network, view, ATTR_STEP) == 1 &&
           layer_attr_int(network, view, ATTR_DIM) == layer_attr_int(network, concat, ATTR_DIM);
}

/* ---- the whole ---- */

static insitu_status rewrite(rewriter_t *rewriter) {
    network_t *network = rewriter->network;
    view_chain_t chain;
    if (!find_chain(network, network->order[rewriter->position], &chain)) return INSITU_OK;
    const layer_t *maker = network_layer_of(network, network_tensor_of(network, chain.base)->producer);
    if (kind_has(maker->kind, TRAIT_ELEMENTWISE)) return push_to_operands(rewriter, &chain);
    if (maker->kind == LAYER_FILL) return fill_part(rewriter, &chain);
    bool done;
    TRY(push_to_lines(rewriter, &chain, maker, &done));
    if (done) return INSITU_OK;
    if (chain.count == 1 && maker->kind == LAYER_CONCAT &&
        cuts_parts(network, maker, network_layer_of(network, chain.views[0])))
        return push_to_parts(rewriter, &chain);
    return INSITU_OK;
}

static void mark(const network_t *network, bitset_t *assembled, tensor_id_t tensor) {
    const network_tensor_t *made = network_tensor_of(network, tensor);
    if (made->role == TENSOR_RESULT) bitset_add(assembled, made->producer.index);
}

/* Which of a layer's operands lie in its result's memory if all goes well. */
static bool enters(layer_kind_t kind, uint32_t operand) {
    if (kind == LAYER_CONCAT) return true;
    if (operand == 0) return kind == LAYER_COPY || kind_has(kind, TRAIT_UPDATE | TRAIT_VIEW);
    return operand == 1 && kind_has(kind, TRAIT_PART);
}

/* Layers in whose results a state's new value is assembled. */
static void find_assembled(const network_t *network, bitset_t *assembled) {
    for (uint32_t i = 0; i < network->state_count; i++)
        if (network->states[i].next.index != NONE) mark(network, assembled, network->states[i].next);
    for (uint32_t i = 0; i < network->mutation_count; i++) mark(network, assembled, network->mutations[i].next);
    for (uint32_t i = network->order_count; i-- > 0;) {
        const layer_t *layer = network_layer_of(network, network->order[i]);
        if (!bitset_has(assembled, network->order[i].index)) continue;
        for (uint32_t k = 0; k < layer->operand_count; k++)
            if (enters(layer->kind, k)) mark(network, assembled, layer->operands[k]);
    }
}

static uint32_t count_uses(const network_t *network, tensor_id_t tensor) {
    uint32_t uses = 0;
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = network_layer_of(network, network->order[i]);
        for (uint32_t k = 0; k < layer->operand_count; k++) uses += layer->operands[k].index == tensor.index;
    }
    for (uint32_t i = 0; i < network->state_count; i++) uses += network->states[i].next.index == tensor.index;
    for (uint32_t i = 0; i < network->mutation_count; i++) uses += network->mutations[i].next.index == tensor.index;
    return uses;
}

/* The value is returned as the state, where it is a result too. */
static insitu_status own_fill(network_t *network, tensor_id_t *next, insitu_diag *diag) {
    tensor_id_t own, old = *next;
    if (old.index == NONE || !network_producer_of(network, old, LAYER_FILL) || count_uses(network, old) < 2)
        return INSITU_OK;
    const layer_t like = *network_producer_of(network, old, LAYER_FILL);
    const layer_draft_t fill = draft_like(&like);
    TRY(network_add_layer(network, &fill, NULL, 0, like.name, like.source, &own, diag));
    for (uint32_t i = 0; i < network->output_count; i++)
        if (network->outputs[i].kind == OUTPUT_TENSOR && network->outputs[i].tensor.index == old.index)
            network->outputs[i].tensor = own;
    *next = own;
    return INSITU_OK;
}

static insitu_status own_fills(network_t *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->state_count; i++) TRY(own_fill(network, &network->states[i].next, diag));
    for (uint32_t i = 0; i < network->mutation_count; i++) TRY(own_fill(network, &network->mutations[i].next, diag));
    return INSITU_OK;
}

static insitu_status rewrite_all(rewriter_t *rewriter, arena_t *scratch) {
    network_t *network = rewriter->network;
    bitset_t assembled;
    uint32_t layers = network->layer_count;
    TRY(bitset_create(scratch, layers + 1, &assembled));
    find_assembled(network, &assembled);
    for (rewriter->position = 0; rewriter->position < network->order_count; rewriter->position++) {
        layer_id_t id = network->order[rewriter->position];
        bool known = id.index < layers && bitset_has(&assembled, id.index);
        if (known && is_partial(network_layer_of(network, id)->kind)) TRY(rewrite(rewriter));
    }
    return INSITU_OK;
}

insitu_status network_sink_partial_views(network_t *network, insitu_diag *diag) {
    rewriter_t rewriter = {.network = network, .diag = diag, .changed = true};
    TRY(own_fills(network, diag));
    for (uint32_t round = 0; round < MAX_ROUNDS && rewriter.changed; round++) {
        arena_t scratch;
        rewriter.changed = false;
        arena_init(&scratch);
        insitu_status status = rewrite_all(&rewriter, &scratch);
        arena_release(&scratch);
        if (status != INSITU_OK) return status;
    }
    return sym_pool_status(&network->symbols, diag);
}
