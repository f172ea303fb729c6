/* value -> boxes. Each query asks for a box of a tensor's elements; a layer that moves elements passes it on to its
 * operands, cut where it meets several of them:
 *     %r = slice_update(%x, %s) {dim=0, 2 to 4}     rows 0 to 6 of %r: rows 0 to 2 and 4 to 6 of %x, rows 0 to 2 of %s
 * A query that no such layer answers is a box of that tensor. */
#include "rewrite/strided_boxes.h"
#include <string.h>

enum { MAX_QUERIES = 512, MAX_PERIOD = 8 };

typedef struct finder {
    const network_t *network;
    box_t stack[MAX_QUERIES]; /* queries: boxes whose source is not yet followed */
    uint32_t count;
    box_list_t *found;
    bool failed;
} finder_t;

bool box_sizes(const network_t *network, tensor_id_t tensor, int64_t *out_sizes, int64_t *out_elements) {
    const shape_t *shape = &network_tensor_of(network, tensor)->shape;
    *out_elements = 1;
    if (!shape_constant(&network->symbols, shape, out_sizes)) return false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (out_sizes[i] < 0 || !checked_mul(*out_elements, out_sizes[i], out_elements)) return false;
    }
    return *out_elements <= INT32_MAX;
}

int64_t box_elements(const box_t *box) {
    int64_t count = 1;
    for (uint32_t j = 0; j < box->loops; j++) count *= box->counts[j];
    return count;
}

void box_origin(const network_t *network, const box_t *box, int64_t *out_offset, int64_t *out_from) {
    int64_t sizes[MAX_RANK], strides[MAX_RANK], elements;
    *out_offset = 0;
    for (uint32_t j = 0; j < box->loops; j++) out_from[j] = 0;
    if (!box_sizes(network, box->source, sizes, &elements)) return;
    dense_strides(box->rank, sizes, strides);
    for (uint32_t k = 0; k < box->rank; k++) {
        *out_offset += box->base[k] * strides[k];
        for (uint32_t j = 0; j < box->loops; j++) out_from[j] += box->steps[k][j] * strides[k];
    }
}

static void push(finder_t *finder, const box_t *query) {
    if (box_elements(query) == 0) return;
    if (finder->count == MAX_QUERIES)
        finder->failed = true;
    else
        finder->stack[finder->count++] = *query;
}

static void push_for(finder_t *finder, box_t query, tensor_id_t operand) {
    query.source = operand;
    query.rank = network_tensor_of(finder->network, operand)->shape.rank;
    push(finder, &query);
}

/* ---- cutting ---- */

/* i[loop] in first, first + period, ... : count values. */
static box_t restrict_loop(const box_t *query, uint32_t loop, int64_t first, int64_t count, int64_t period) {
    box_t cut = *query;
    cut.to_offset += query->to[loop] * first;
    cut.to[loop] *= period;
    for (uint32_t k = 0; k < query->rank; k++) {
        cut.base[k] += query->steps[k][loop] * first;
        cut.steps[k][loop] *= period;
    }
    cut.counts[loop] = count;
    return cut;
}

/* The one loop that an index depends on; NONE: it is fixed. False: several do. */
static bool only_loop(const box_t *query, uint32_t dim, uint32_t *out_loop) {
    *out_loop = NONE;
    for (uint32_t j = 0; j < query->loops; j++) {
        if (query->steps[dim][j] == 0 || query->counts[j] == 1) continue;
        if (*out_loop != NONE || query->steps[dim][j] < 0) return false;
        *out_loop = j;
    }
    return true;
}

static int64_t clip(int64_t value, int64_t high) { return value < 0 ? 0 : value > high ? high : value; }

typedef struct cut { /* of a query: what lies in [low, high) along a dimension, and the rest */
    box_t inside, before, after;
} cut_t;

static bool cut_range(const box_t *query, uint32_t dim, int64_t low, int64_t high, cut_t *out) {
    uint32_t loop;
    if (!only_loop(query, dim, &loop)) return false;
    *out = (cut_t){*query, *query, *query};
    if (loop == NONE) {
        bool inside = query->base[dim] >= low && query->base[dim] < high;
        if (query->loops == 0) { /* a single element: it needs a loop to be absent from */
            box_t *const all[] = {&out->inside, &out->before, &out->after};
            for (uint32_t i = 0; i < COUNT_OF(all); i++) {
                all[i]->loops = 1, all[i]->to[0] = 0, all[i]->counts[0] = 1;
                for (uint32_t k = 0; k < MAX_RANK; k++) all[i]->steps[k][0] = 0;
            }
        }
        out->after.counts[0] = 0;
        if (inside)
            out->before.counts[0] = 0;
        else
            out->inside.counts[0] = 0;
        return true;
    }
    int64_t step = query->steps[dim][loop], base = query->base[dim], count = query->counts[loop];
    int64_t first = clip((low - base + step - 1) / step, count), last = clip((high - base + step - 1) / step, count);
    if (low <= base) first = 0;
    if (high <= base) last = 0;
    if (last < first) last = first;
    out->before = restrict_loop(query, loop, 0, first, 1);
    out->inside = restrict_loop(query, loop, first, last - first, 1);
    out->after = restrict_loop(query, loop, last, count - last, 1);
    return true;
}

/* Of a query that lies in a slice with a step: the elements that the slice takes go to the source, the others to x. */
static bool cut_lattice(finder_t *finder, const box_t *query, uint32_t dim, int64_t start, int64_t step, tensor_id_t x,
                        tensor_id_t source, bool stores) {
    uint32_t loop;
    if (!only_loop(query, dim, &loop)) return false;
    int64_t each = loop == NONE ? 0 : query->steps[dim][loop], period = each == 0 ? 1 : step / gcd(each, step);
    if (period > MAX_PERIOD) return false;
    for (int64_t r = 0; r < period; r++) {
        box_t part = *query;
        if (loop != NONE) {
            int64_t count = query->counts[loop] > r ? (query->counts[loop] - r + period - 1) / period : 0;
            part = restrict_loop(query, loop, r, count, period);
        }
        bool taken = (part.base[dim] - start) % step == 0;
        if (taken) {
            part.base[dim] = (part.base[dim] - start) / step;
            for (uint32_t j = 0; j < part.loops; j++) part.steps[dim][j] /= step;
        }
        part.is_stored |= taken && stores;
        push_for(finder, part, taken ? source : x);
    }
    return true;
}

/* ---- layers ---- */

static bool map_concat(finder_t *finder, const layer_t *layer, const box_t *query) {
    uint32_t dim = (uint32_t)layer_attr_int(finder->network, layer, ATTR_DIM);
    int64_t low = 0, sizes[MAX_RANK], elements;
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        cut_t cut;
        (void)box_sizes(finder->network, layer->operands[i], sizes, &elements);
        if (!cut_range(query, dim, low, low + sizes[dim], &cut)) return false;
        cut.inside.base[dim] -= low;
        push_for(finder, cut.inside, layer->operands[i]);
        low += sizes[dim];
    }
    return true;
}

static bool attr_constant(const finder_t *finder, const layer_t *layer, attr_id_t id, int64_t *out) {
    attr_t value = layer_attr(layer, id);
    return value.kind == ATTR_KIND_SYM && sym_constant(&finder->network->symbols, value.value, out);
}

static bool map_slice_update(finder_t *finder, const layer_t *layer, const box_t *query) {
    int64_t dim, start, end, step;
    cut_t cut;
    if (!attr_constant(finder, layer, ATTR_DIM, &dim) || !attr_constant(finder, layer, ATTR_START, &start) ||
        !attr_constant(finder, layer, ATTR_END, &end) || !attr_constant(finder, layer, ATTR_STEP, &step))
        return false;
    if (!cut_range(query, (uint32_t)dim, start, end, &cut)) return false;
    push_for(finder, cut.before, layer->operands[0]);
    push_for(finder, cut.after, layer->operands[0]);
    return box_elements(&cut.inside) == 0 || cut_lattice(finder, &cut.inside, (uint32_t)dim, start, step,
                                                         layer->operands[0], layer->operands[1], !layer->assembles);
}

static bool map_shift_update(finder_t *finder, const layer_t *layer, const box_t *query) {
    int64_t dim, x[MAX_RANK], s[MAX_RANK], elements;
    cut_t cut;
    if (!attr_constant(finder, layer, ATTR_DIM, &dim)) return false;
    (void)box_sizes(finder->network, layer->operands[0], x, &elements);
    (void)box_sizes(finder->network, layer->operands[1], s, &elements);
    bool front = layer_attr_int(finder->network, layer, ATTR_FRONT) != 0;
    int64_t fresh = s[dim] < x[dim] ? s[dim] : x[dim], kept = x[dim] - fresh;
    if (!cut_range(query, (uint32_t)dim, front ? 0 : kept, front ? fresh : x[dim], &cut)) return false;
    if (!front) cut.inside.base[dim] += s[dim] - fresh - kept;
    cut.before.base[dim] += front ? -fresh : fresh;
    cut.after.base[dim] += front ? -fresh : fresh;
    cut.inside.is_stored = true;
    push_for(finder, cut.inside, layer->operands[1]);
    push_for(finder, cut.before, layer->operands[0]);
    push_for(finder, cut.after, layer->operands[0]);
    return true;
}

static void copy_dim(box_t *to, uint32_t dim, const box_t *from, uint32_t from_dim) {
    to->base[dim] = from->base[from_dim];
    for (uint32_t j = 0; j < from->loops; j++) to->steps[dim][j] = from->steps[from_dim][j];
}

static bool map_permute(finder_t *finder, const layer_t *layer, const box_t *query) {
    attr_t axes = layer_attr(layer, ATTR_AXES);
    box_t asked = *query;
    for (uint32_t i = 0; i < axes.list.count; i++) {
        int64_t axis;
        if (!sym_constant(&finder->network->symbols, axes.list.items[i], &axis)) return false;
        copy_dim(&asked, (uint32_t)axis, query, i);
    }
    push_for(finder, asked, layer->operands[0]);
    return true;
}

static bool map_slice(finder_t *finder, const layer_t *layer, const box_t *query) {
    int64_t dim, start, step;
    if (!attr_constant(finder, layer, ATTR_DIM, &dim) || !attr_constant(finder, layer, ATTR_START, &start) ||
        !attr_constant(finder, layer, ATTR_STEP, &step))
        return false;
    box_t asked = *query;
    asked.base[dim] = start + step * query->base[dim];
    for (uint32_t j = 0; j < query->loops; j++) asked.steps[dim][j] *= step;
    push_for(finder, asked, layer->operands[0]);
    return true;
}

static bool map_expand(finder_t *finder, const layer_t *layer, const box_t *query) {
    int64_t sizes[MAX_RANK], elements;
    (void)box_sizes(finder->network, layer->operands[0], sizes, &elements);
    box_t asked = *query;
    for (uint32_t k = 0; k < query->rank; k++) {
        if (sizes[k] != 1) continue;
        asked.base[k] = 0;
        for (uint32_t j = 0; j < query->loops; j++) asked.steps[k][j] = 0;
    }
    push_for(finder, asked, layer->operands[0]);
    return true;
}

/* Sums the steps and the first index of one dimension of the query into one of the operand. */
static void add_dim(box_t *to, uint32_t dim, const box_t *from, uint32_t from_dim, int64_t times) {
    to->base[dim] += times * from->base[from_dim];
    for (uint32_t j = 0; j < from->loops; j++) to->steps[dim][j] += times * from->steps[from_dim][j];
}

static void clear_dim(box_t *box, uint32_t dim, int64_t base) {
    box->base[dim] = base;
    for (uint32_t j = 0; j < MAX_LOOPS; j++) box->steps[dim][j] = 0;
}

/* The last dimension runs along two of the operand's. */
static bool map_diagonal(finder_t *finder, const layer_t *layer, const box_t *query) {
    uint32_t dim1 = (uint32_t)layer_attr_int(finder->network, layer, ATTR_DIM1);
    uint32_t dim2 = (uint32_t)layer_attr_int(finder->network, layer, ATTR_DIM2), rest = 0;
    int64_t shift = layer_attr_int(finder->network, layer, ATTR_OFFSET);
    box_t asked = *query;
    for (uint32_t k = 0; k < query->rank + 1; k++) {
        if (k == dim1 || k == dim2) {
            clear_dim(&asked, k, k == dim2 ? (shift > 0 ? shift : 0) : (shift < 0 ? -shift : 0));
            add_dim(&asked, k, query, query->rank - 1, 1);
        } else {
            copy_dim(&asked, k, query, rest++);
        }
    }
    push_for(finder, asked, layer->operands[0]);
    return true;
}

/* The last dimension runs inside each window. */
static bool map_unfold(finder_t *finder, const layer_t *layer, const box_t *query) {
    uint32_t dim = (uint32_t)layer_attr_int(finder->network, layer, ATTR_DIM), last = query->rank - 1;
    box_t asked = *query;
    clear_dim(&asked, dim, 0);
    add_dim(&asked, dim, query, dim, layer_attr_int(finder->network, layer, ATTR_STEP));
    add_dim(&asked, dim, query, last, 1);
    push_for(finder, asked, layer->operands[0]);
    return true;
}

/* ---- reshape: the row-major position, taken apart into the operand's dimensions ---- */

/* A loop that runs over a whole dimension and on becomes two. */
static bool split_loop(box_t *query, int64_t *linear, uint32_t loop, int64_t inner) {
    if (query->loops == MAX_LOOPS || query->counts[loop] % inner != 0) return false;
    uint32_t added = query->loops++;
    query->counts[added] = inner;
    query->to[added] = query->to[loop];
    linear[added] = linear[loop];
    query->counts[loop] /= inner;
    query->to[loop] *= inner;
    linear[loop] *= inner;
    return true;
}

/* Two loops that count on as one become one. */
static void join_loops(box_t *query, int64_t *linear) {
    for (uint32_t a = 0; a < query->loops; a++)
        for (uint32_t b = 0; b < query->loops; b++) {
            if (a == b || linear[a] != linear[b] * query->counts[b] || query->to[a] != query->to[b] * query->counts[b])
                continue;
            query->counts[b] *= query->counts[a];
            query->loops--;
            linear[a] = linear[query->loops];
            query->counts[a] = query->counts[query->loops];
            query->to[a] = query->to[query->loops];
            a = UINT32_MAX; /* from the start */
            break;
        }
}

/* Gives every loop the dimension in which it counts; base holds the digits of the first element. */
static bool assign_loops(box_t *query, int64_t *linear, const int64_t *sizes, const int64_t *strides, uint32_t rank) {
    int64_t reach[MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) reach[k] = query->base[k];
    for (uint32_t k = 0; k < rank; k++)
        for (uint32_t j = 0; j < MAX_LOOPS; j++) query->steps[k][j] = 0;
    for (uint32_t j = 0; j < query->loops; j++) {
        if (linear[j] == 0 || query->counts[j] <= 1) continue;
        uint32_t k = 0;
        while (k < rank && (sizes[k] == 1 || linear[j] % strides[k] != 0)) k++;
        if (k == rank) return false;
        int64_t step = linear[j] / strides[k], last = step * (query->counts[j] - 1);
        if (step < 0) return false;
        /* The outermost dimension that the step divides into may be passed over by the step itself. */
        if (reach[k] + last >= sizes[k]) {
            bool whole = sizes[k] % step == 0 && reach[k] < step;
            if (!whole || !split_loop(query, linear, j, sizes[k] / step)) return false;
            j--; /* both are assigned in turn */
            continue;
        }
        query->steps[k][j] = step;
        reach[k] += last;
    }
    return true;
}

static bool map_reshape(finder_t *finder, const layer_t *layer, const box_t *query) {
    int64_t sizes[MAX_RANK], strides[MAX_RANK], elements, offset, linear[MAX_LOOPS] = {0};
    tensor_id_t operand = layer->operands[0];
    (void)box_sizes(finder->network, operand, sizes, &elements);
    uint32_t rank = network_tensor_of(finder->network, operand)->shape.rank;
    box_t asked = *query;
    box_origin(finder->network, query, &offset, linear);
    dense_strides(rank, sizes, strides);
    for (uint32_t k = 0; k < rank; k++) asked.base[k] = offset / strides[k] % sizes[k];
    join_loops(&asked, linear);
    if (!assign_loops(&asked, linear, sizes, strides, rank)) return false;
    push_for(finder, asked, operand);
    return true;
}

/* Where elements lie in a tensor is counted in its sizes. */
static bool operands_constant(const network_t *network, const layer_t *layer) {
    int64_t sizes[MAX_RANK], elements;
    for (uint32_t i = 0; i < layer->operand_count; i++)
        if (!box_sizes(network, layer->operands[i], sizes, &elements)) return false;
    return true;
}

/* False: the layer computes, or does not move elements in a way that is followed. */
static bool map_query(finder_t *finder, const box_t *query) {
    const network_tensor_t *tensor = network_tensor_of(finder->network, query->source);
    if (tensor->role != TENSOR_RESULT) return false;
    const layer_t *layer = network_layer_of(finder->network, tensor->producer);
    if (!operands_constant(finder->network, layer)) return false;
    switch ((int)layer->kind) {
    case LAYER_COPY: push_for(finder, *query, layer->operands[0]); return true;
    case LAYER_RESHAPE: return map_reshape(finder, layer, query);
    case LAYER_PERMUTE: return map_permute(finder, layer, query);
    case LAYER_SLICE: return map_slice(finder, layer, query);
    case LAYER_EXPAND: return map_expand(finder, layer, query);
    case LAYER_DIAGONAL: return map_diagonal(finder, layer, query);
    case LAYER_UNFOLD: return map_unfold(finder, layer, query);
    case LAYER_CONCAT: return map_concat(finder, layer, query);
    case LAYER_SLICE_UPDATE: return map_slice_update(finder, layer, query);
    case LAYER_SHIFT_UPDATE: return map_shift_update(finder, layer, query);
    default: return false;
    }
}

static void keep(finder_t *finder, const box_t *query) {
    box_list_t *found = finder->found;
    if (found->count == MAX_BOXES) {
        finder->failed = true;
        return;
    }
    found->items[found->count++] = *query;
}

/* ---- merging ---- */

/* b continues a along one loop; all else is the same. */
static bool continues(const box_t *a, const box_t *b, uint32_t loop) {
    if (b->to_offset != a->to_offset + a->to[loop] * a->counts[loop]) return false;
    for (uint32_t k = 0; k < a->rank; k++)
        if (b->base[k] != a->base[k] + a->steps[k][loop] * a->counts[loop]) return false;
    return true;
}

static bool merge(box_t *a, const box_t *b) {
    if (a->source.index != b->source.index || a->loops != b->loops || a->is_stored != b->is_stored) return false;
    uint32_t differs = NONE;
    for (uint32_t j = 0; j < a->loops; j++) {
        if (a->to[j] != b->to[j]) return false;
        for (uint32_t k = 0; k < a->rank; k++)
            if (a->steps[k][j] != b->steps[k][j]) return false;
        if (a->counts[j] == b->counts[j]) continue;
        if (differs != NONE) return false;
        differs = j;
    }
    for (uint32_t j = differs == NONE ? 0 : differs; j < (differs == NONE ? a->loops : differs + 1); j++) {
        bool after = continues(a, b, j);
        if (!after && !continues(b, a, j)) continue;
        if (!after) {
            a->to_offset = b->to_offset;
            memcpy(a->base, b->base, sizeof a->base);
        }
        a->counts[j] += b->counts[j];
        return true;
    }
    return false;
}

static void merge_all(box_list_t *list) {
    for (uint32_t i = 0; i < list->count; i++)
        for (uint32_t k = i + 1; k < list->count; k++)
            if (merge(&list->items[i], &list->items[k])) {
                list->items[k] = list->items[--list->count];
                i = UINT32_MAX; /* from the start */
                break;
            }
}

static void drop_single_loops(box_t *box) {
    uint32_t kept = 0;
    for (uint32_t j = 0; j < box->loops; j++) {
        if (box->counts[j] == 1) continue;
        box->counts[kept] = box->counts[j];
        box->to[kept] = box->to[j];
        for (uint32_t k = 0; k < box->rank; k++) box->steps[k][kept] = box->steps[k][j];
        kept++;
    }
    box->loops = kept;
}

bool boxes_find(const network_t *network, tensor_id_t value, box_list_t *out) {
    int64_t sizes[MAX_RANK], elements;
    out->count = 0;
    if (!box_sizes(network, value, sizes, &elements)) return false;
    finder_t *finder = memory_alloc(sizeof *finder);
    if (!finder) return false;
    *finder = (finder_t){.network = network, .found = out};
    box_t whole = {.source = value, .rank = network_tensor_of(network, value)->shape.rank, .loops = 0};
    whole.loops = whole.rank;
    dense_strides(whole.rank, sizes, whole.to);
    for (uint32_t k = 0; k < whole.rank; k++) {
        whole.counts[k] = sizes[k];
        whole.steps[k][k] = 1;
    }
    push(finder, &whole);
    while (finder->count > 0 && !finder->failed) {
        box_t query = finder->stack[--finder->count];
        uint32_t count = finder->count;
        if (map_query(finder, &query)) continue;
        finder->count = count; /* what was passed on before it failed */
        keep(finder, &query);
    }
    bool done = !finder->failed;
    merge_all(out);
    for (uint32_t i = 0; i < out->count; i++) drop_single_loops(&out->items[i]);
    memory_free(finder);
    return done;
}
