/* A choice by a mask that is true, or false, along a stretch of one dimension alone is an update of that part. PyTorch's
 * default decompositions write select_scatter so:
 *   where(expand([0, 0, 1, 0]), %a, %b)                     ->  slice_update(%b, slice(%a, 2 to 3))
 *   where(expand(iota(size) == n), %a, %b), 0 <= n < size   ->  slice_update(%b, slice(%a, n to n + 1))
 * The mask varies along one dimension; where it is false along a stretch, %a is updated with a part of %b. */
#include "rewrite/rewrite.h"

typedef struct stretch {
    uint32_t dim;
    sym_t start, end;
    bool value; /* of the mask, there; the other one elsewhere */
} stretch_t;

/* The dimension along which the mask varies, and a vector of its values there. */
static bool find_vector(const network_t *network, tensor_id_t mask, uint32_t *out_dim, tensor_id_t *out_vector) {
    const layer_t *expand = network_producer_of(network, mask, LAYER_EXPAND);
    if (expand) mask = expand->operands[0];
    const shape_t *shape = &network_tensor_of(network, mask)->shape;
    uint32_t varying = 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (sym_is_one(shape->sizes[i])) continue;
        *out_dim = i;
        varying++;
    }
    *out_vector = network_strip_reshapes(network, mask);
    return varying == 1;
}

/* Where the value lies, if that is one stretch and not everywhere. */
static bool find_value(const uint8_t *bools, int64_t count, bool value, int64_t *out_start, int64_t *out_end) {
    int64_t start = 0, end;
    while (start < count && (bools[start] != 0) != value) start++;
    for (end = start; end < count && (bools[end] != 0) == value;) end++;
    *out_start = start;
    *out_end = end;
    if (start == end || end - start == count) return false;
    while (end < count && (bools[end] != 0) != value) end++;
    return end == count;
}

static bool find_constant(network_t *network, tensor_id_t vector, stretch_t *out) {
    int64_t count, start, end;
    const uint8_t *bools = network_constant_elements(network, vector, &count);
    if (!bools) return false;
    out->value = find_value(bools, count, true, &start, &end);
    if (!out->value && !find_value(bools, count, false, &start, &end)) return false;
    out->start = sym_int(&network->symbols, start);
    out->end = sym_int(&network->symbols, end);
    return true;
}

/* iota == n, for an n that is a place of the dimension whatever the symbols are. */
static bool find_position(network_t *network, tensor_id_t vector, stretch_t *out) {
    sym_pool_t *pool = &network->symbols;
    const layer_t *equal = network_producer_of(network, vector, LAYER_BINARY);
    if (!equal || equal->operand_count != 1 || layer_attr(equal, ATTR_OP).op != OP_EQ) return false;
    const layer_t *iota = network_producer_of(network, network_strip_reshapes(network, equal->operands[0]), LAYER_IOTA);
    sym_t position = layer_attr(equal, ATTR_SCALAR).value, one = sym_int(pool, 1);
    int64_t start, step;
    if (!iota || sym_kind_of(pool, position) != SYM_KIND_INT) return false;
    if (!sym_constant(pool, layer_attr(iota, ATTR_START).value, &start) || start != 0) return false;
    if (!sym_constant(pool, layer_attr(iota, ATTR_STEP).value, &step) || step != 1) return false;
    *out = (stretch_t){.dim = out->dim, .start = position, .end = sym_add(pool, position, one), .value = true};
    return sym_is_le(pool, sym_int(pool, 0), position) == TRUTH_TRUE &&
           sym_is_le(pool, out->end, layer_attr(iota, ATTR_SIZE).value) == TRUTH_TRUE;
}

static bool find_stretch(network_t *network, const layer_t *where, stretch_t *out) {
    tensor_id_t vector;
    if (where->kind != LAYER_WHERE || !find_vector(network, where->operands[0], &out->dim, &vector)) return false;
    return find_constant(network, vector, out) || find_position(network, vector, out);
}

insitu_status network_recognise_masks(network_t *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_id_t id = network->order[i];
        const layer_t where = *network_layer_of(network, id);
        const uint32_t first_added = network->order_count;
        stretch_t stretch = {0};
        if (!find_stretch(network, &where, &stretch)) continue;
        tensor_id_t operands[2] = {where.operands[stretch.value ? 2 : 1], NO_TENSOR};
        const layer_draft_t update =
            draft_slice(&network->symbols, LAYER_SLICE_UPDATE, stretch.dim, stretch.start, stretch.end, 1);
        TRY(network_add_slice(network, &where, where.operands[stretch.value ? 1 : 2], stretch.dim, stretch.start,
                              stretch.end, 1, &operands[1], diag));
        TRY(network_redefine(network, id, &update, operands, 2, diag));
        network_move_added(network, first_added, i);
        i += network->order_count - first_added;
    }
    return sym_pool_status(&network->symbols, diag);
}
