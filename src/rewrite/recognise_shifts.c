/* Shifts of a state tensor, or of an input that the program mutates, become one overlapping move instead of a value built
 * elsewhere:
 *   slice(concat(%x, %s), its last size(x) elements)                              ->  shift_update(%x, %s)
 *   concat(slice(%x, from k), %s)          where %s has k elements                ->  shift_update(%x, %s)
 *   slice_update(concat(slice(%x, from k), %p), %s)       where %s replaces %p    ->  shift_update(%x, %s)
 *   slice_update(slice_update(%x, slice(%x, from k)), %s) where %s has the rest   ->  shift_update(%x, %s)
 * and their mirror images, in which %s enters at the front; all along one dimension, with the sizes proved. In the first
 * form %s may have more elements than %x, of which the last ones are taken. The layers in between stay for their other
 * readers, else they are dead. */
#include "rewrite/rewrite.h"

enum { MAX_LINKS = 16 };

static bool attr_is(network_t *network, const layer_t *layer, attr_id_t id, sym_t value) {
    return sym_is_eq(&network->symbols, layer_attr(layer, id).value, value) == TRUTH_TRUE;
}

static sym_t size_along(const network_t *network, tensor_id_t tensor, int64_t dim) {
    return network_tensor_of(network, tensor)->shape.sizes[dim];
}

/* Is x, through layers that compute element by element, made of the state that its value is given to? Then it may be computed
 * where the state lies, and moved there. */
static bool is_made_of(const network_t *network, tensor_id_t x, tensor_id_t state) {
    const network_tensor_t *kept = network_tensor_of(network, state);
    for (uint32_t links = 0; links < MAX_LINKS && x.index != state.index; links++) {
        const network_tensor_t *made = network_tensor_of(network, x);
        if (made->role != TENSOR_RESULT) return false;
        const layer_t *layer = network_layer_of(network, made->producer);
        bool computes = kind_has(layer->kind, TRAIT_ELEMENTWISE | TRAIT_UPDATE);
        tensor_id_t next = NO_TENSOR;
        for (uint32_t k = 0; computes && k < layer->operand_count && next.index == NONE; k++) {
            const network_tensor_t *operand = network_tensor_of(network, layer->operands[k]);
            if (layer->operands[k].index == state.index) return true;
            if (operand->role == TENSOR_RESULT && operand->dtype == kept->dtype &&
                shape_same(&operand->shape, &kept->shape))
                next = layer->operands[k];
        }
        if (next.index == NONE) return false;
        x = next;
    }
    return x.index == state.index;
}

/* Does the tensor's memory outlive the call? Elsewhere nothing is gained. */
static bool is_kept(const network_t *network, tensor_id_t tensor) {
    const network_tensor_t *kept = network_tensor_of(network, tensor);
    for (uint32_t i = 0; kept->role == TENSOR_INPUT && i < network->mutation_count; i++)
        if (network->mutations[i].input == kept->index) return true;
    return kept->role == TENSOR_STATE;
}

static bool same_size(network_t *network, tensor_id_t a, tensor_id_t b, int64_t dim) {
    return sym_is_eq(&network->symbols, size_along(network, a, dim), size_along(network, b, dim)) == TRUTH_TRUE;
}

typedef struct shift {
    int64_t dim;
    tensor_id_t operands[2]; /* x, s */
    bool front;
} shift_t;

static bool same_tensor(tensor_id_t a, tensor_id_t b) { return a.index == b.index; }

/* A step-1 slice or slice_update along the shift's dimension. */
static bool goes_along(const network_t *network, const layer_t *layer, int64_t dim) {
    return layer_attr_int(network, layer, ATTR_DIM) == dim && layer_attr_int(network, layer, ATTR_STEP) == 1;
}

/* Elements [0, size - left) if front, else [size - kept, size): is that what the slice or update takes? */
static bool takes(network_t *network, const layer_t *layer, sym_t size, sym_t count, bool from_start) {
    sym_t zero = sym_int(&network->symbols, 0), rest = sym_sub(&network->symbols, size, count);
    return attr_is(network, layer, ATTR_START, from_start ? zero : rest) &&
           attr_is(network, layer, ATTR_END, from_start ? count : size);
}

static const layer_t *two_parts(const network_t *network, tensor_id_t tensor, int64_t dim) {
    const layer_t *concat = network_producer_of(network, tensor, LAYER_CONCAT);
    bool fits = concat && concat->operand_count == 2 && layer_attr_int(network, concat, ATTR_DIM) == dim;
    return fits ? concat : NULL;
}

/* slice(concat(x, s)), slice(concat(s, x)) */
static bool is_tail(network_t *network, const layer_t *slice, bool front, shift_t *out) {
    if (slice->kind != LAYER_SLICE || layer_attr_int(network, slice, ATTR_STEP) != 1) return false;
    int64_t dim = layer_attr_int(network, slice, ATTR_DIM);
    const layer_t *concat = two_parts(network, slice->operands[0], dim);
    if (!concat) return false;
    *out = (shift_t){dim, {concat->operands[front], concat->operands[!front]}, front};
    sym_t kept = size_along(network, out->operands[0], dim);
    return takes(network, slice, size_along(network, slice->operands[0], dim), kept, front);
}

/* Is the part what stays of x when s enters? Copies in between do not matter. */
static bool is_moved(network_t *network, tensor_id_t part, tensor_id_t added, int64_t dim, bool front, shift_t *out) {
    const layer_t *copy = network_producer_of(network, part, LAYER_COPY);
    const layer_t *slice = network_producer_of(network, copy ? copy->operands[0] : part, LAYER_SLICE);
    if (!slice || !goes_along(network, slice, dim)) return false;
    *out = (shift_t){dim, {slice->operands[0], added}, front};
    sym_t size = size_along(network, slice->operands[0], dim);
    sym_t kept = sym_sub(&network->symbols, size, size_along(network, added, dim));
    return takes(network, slice, size, kept, front);
}

/* concat(slice(x, from k), s), concat(s, slice(x, to n - k)) */
static bool is_concat(network_t *network, const layer_t *concat, bool front, shift_t *out) {
    return concat->kind == LAYER_CONCAT && concat->operand_count == 2 &&
           is_moved(network, concat->operands[front], concat->operands[!front],
                    layer_attr_int(network, concat, ATTR_DIM), front, out);
}

/* slice_update(concat(slice(x, from k), p), s), where s replaces p; slice_update(slice_update(x, slice(x, from k)), s) */
static bool is_replaced(network_t *network, const layer_t *update, bool front, shift_t *out) {
    if (update->kind != LAYER_SLICE_UPDATE || layer_attr_int(network, update, ATTR_STEP) != 1) return false;
    int64_t dim = layer_attr_int(network, update, ATTR_DIM);
    tensor_id_t whole = update->operands[0], added = update->operands[1];
    sym_t size = size_along(network, whole, dim), count = size_along(network, added, dim);
    if (!takes(network, update, size, count, front)) return false;
    const layer_t *concat = two_parts(network, whole, dim);
    if (concat)
        return is_moved(network, concat->operands[front], added, dim, front, out) &&
               same_size(network, concat->operands[!front], added, dim);
    const layer_t *moved = network_producer_of(network, whole, LAYER_SLICE_UPDATE);
    if (!moved || !goes_along(network, moved, dim) || !is_moved(network, moved->operands[1], added, dim, front, out))
        return false;
    return same_tensor(moved->operands[0], out->operands[0]) &&
           takes(network, moved, size, sym_sub(&network->symbols, size, count), !front);
}

static int64_t added_elements(const network_t *network, const shift_t *shift) {
    int64_t count;
    return sym_constant(&network->symbols, size_along(network, shift->operands[1], shift->dim), &count) ? count
                                                                                                        : INT64_MAX;
}

/* Of what is kept, or, if a state is given, made of that. A roll enters from either side: the fewer elements go round, the
 * fewer are set aside. */
static bool find_shift(network_t *network, const layer_t *layer, tensor_id_t state, shift_t *out) {
    bool found = false;
    for (int front = 0; front < 2; front++) {
        shift_t shift;
        if (!is_tail(network, layer, front, &shift) && !is_concat(network, layer, front, &shift) &&
            !is_replaced(network, layer, front, &shift))
            continue;
        const tensor_id_t x = shift.operands[0];
        if (state.index == NONE ? !is_kept(network, x) : !is_made_of(network, x, state)) continue;
        if (!found || added_elements(network, &shift) < added_elements(network, out)) *out = shift;
        found = true;
    }
    return found;
}

static insitu_status replace(network_t *network, layer_id_t id, const shift_t *shift, insitu_diag *diag) {
    layer_draft_t update = draft_of(LAYER_SHIFT_UPDATE);
    draft_int(&network->symbols, &update, ATTR_DIM, shift->dim);
    if (shift->front) draft_flag(&network->symbols, &update, ATTR_FRONT, true);
    return network_redefine(network, id, &update, shift->operands, 2, diag);
}

/* The new value of a state. */
static insitu_status shift_result(network_t *network, tensor_id_t state, tensor_id_t next, insitu_diag *diag) {
    shift_t shift;
    const layer_t *copy = next.index == NONE ? NULL : network_producer_of(network, next, LAYER_COPY);
    if (copy) next = copy->operands[0];
    if (next.index == NONE || network_tensor_of(network, next)->role != TENSOR_RESULT) return INSITU_OK;
    const layer_id_t id = network_tensor_of(network, next)->producer;
    if (!find_shift(network, network_layer_of(network, id), state, &shift)) return INSITU_OK;
    return replace(network, id, &shift, diag);
}

insitu_status network_shift_results(network_t *network, insitu_diag *diag) {
    for (uint32_t i = 0; i < network->state_count; i++)
        TRY(shift_result(network, network->states[i].tensor, network->states[i].next, diag));
    for (uint32_t i = 0; i < network->mutation_count; i++)
        TRY(shift_result(network, network->inputs[network->mutations[i].input].tensor, network->mutations[i].next,
                         diag));
    return sym_pool_status(&network->symbols, diag);
}

insitu_status network_recognise_shifts(network_t *network, insitu_diag *diag) {
    for (uint32_t i = network->order_count;
         i-- > 0;) { /* the last first: it may replace what an earlier one shifts in */
        layer_id_t id = network->order[i];
        shift_t shift;
        if (find_shift(network, network_layer_of(network, id), NO_TENSOR, &shift))
            TRY(replace(network, id, &shift, diag));
    }
    return sym_pool_status(&network->symbols, diag);
}
