/* A state's new value, written as what its memory is given box by box:
 *     %c = concat(slice(%h, 4 to 6), slice(%h, 2 to 4), slice(%h, 0 to 2)), next "h" = %c
 * becomes slice_update(slice_update(%h, slice(%h, 4 to 6) at 0), slice(%h, 0 to 2) at 4): what stays in its place is not
 * mentioned, what comes from elsewhere is stored directly. Boxes that read what others overwrite come first where that is
 * possible; what was stored already is read where it now lies; in a cycle, the boxes that are cheapest to set aside come
 * last. */
#include "rewrite/strided_boxes.h"
#include <string.h>

enum {
    MAX_WALKED = 1 << 20, /* elements of a value; of larger ones, the first and last of a box are compared */
    MAX_EXACT_PIECES = 6  /* all orders of so many are tried */
};

typedef struct assembler {
    network_t *network;
    tensor_id_t start; /* the state's old value */
    layer_id_t last;   /* the layer that makes the new one, and is redefined */
    int64_t sizes[MAX_RANK], strides[MAX_RANK], elements;
    uint32_t rank;
    box_list_t boxes;
    bitset_t written; /* scratch */
    bool is_stored;   /* the box at hand: by an update of the program's */
    insitu_diag *diag;
} assembler_t;

/* ---- which boxes, and in which order ---- */

static bool stays(const assembler_t *assembler, const box_t *box) {
    int64_t offset, from[MAX_LOOPS];
    if (box->source.index != assembler->start.index) return false;
    box_origin(assembler->network, box, &offset, from);
    bool same = offset == box->to_offset;
    for (uint32_t j = 0; j < box->loops; j++) same = same && from[j] == box->to[j];
    return same;
}

typedef struct walker { /* the elements of a box, in the value (to) or in the source */
    const box_t *box;
    int64_t index[MAX_LOOPS], steps[MAX_LOOPS], at;
} walker_t;

static int64_t last_of(const walker_t *walker) {
    int64_t last = walker->at;
    for (uint32_t j = 0; j < walker->box->loops; j++) last += walker->steps[j] * (walker->box->counts[j] - 1);
    return last;
}

static bool walker_next(walker_t *walker) {
    for (uint32_t j = walker->box->loops; j-- > 0;) {
        walker->at += walker->steps[j];
        if (++walker->index[j] < walker->box->counts[j]) return true;
        walker->at -= walker->steps[j] * walker->box->counts[j];
        walker->index[j] = 0;
    }
    return false;
}

/* Elements of the old value that the reader needs and the writer overwrites. */
static bool overwrites(assembler_t *assembler, const box_t *writer, const box_t *reader) {
    if (reader->source.index != assembler->start.index) return false;
    walker_t to = {.box = writer, .at = writer->to_offset}, from = {.box = reader};
    for (uint32_t j = 0; j < writer->loops; j++) to.steps[j] = writer->to[j];
    box_origin(assembler->network, reader, &from.at, from.steps);
    if (from.at > last_of(&to) || to.at > last_of(&from)) return false;
    if (assembler->elements > MAX_WALKED) return true;
    bitset_t *written = &assembler->written;
    memset(written->words, 0, ((size_t)written->bits + 63) / 64 * sizeof *written->words);
    do bitset_add(written, (uint32_t)to.at);
    while (walker_next(&to));
    do
        if (bitset_has(written, (uint32_t)from.at)) return true;
    while (walker_next(&from));
    return false;
}

typedef struct kept_at { /* where elements of the old value lie in what is stored: by the loops of their box */
    int64_t offset, strides[MAX_LOOPS];
} kept_at_t;

/* The loop of the stored box that goes through the source as loop j of the other does, in steps that are *out_times as
 * small; NONE. */
static uint32_t find_loop(const box_t *stored, const box_t *box, uint32_t j, uint32_t taken, int64_t *out_times) {
    for (uint32_t m = 0; m < stored->loops; m++) {
        int64_t times = 0;
        bool fits = !(taken >> m & 1);
        for (uint32_t k = 0; fits && k < box->rank; k++) {
            int64_t step = box->steps[k][j], unit = stored->steps[k][m];
            if (unit != 0 && times == 0) times = step / unit;
            fits = unit == 0 ? step == 0 : step == times * unit && times > 0;
        }
        *out_times = times;
        if (fits && times > 0) return m;
    }
    return NONE;
}

/* The value of the stored box's loop m where the other begins: from a dimension that no other loop goes through. */
static int64_t find_start(const box_t *stored, const box_t *box, uint32_t m) {
    for (uint32_t k = 0; k < box->rank; k++) {
        bool alone = stored->steps[k][m] != 0;
        for (uint32_t j = 0; j < stored->loops; j++) alone = alone && (j == m || stored->steps[k][j] == 0);
        if (alone) return (box->base[k] - stored->base[k]) / stored->steps[k][m];
    }
    return 0;
}

/* Are the elements of the box among those that the other stored? */
static bool is_stored(const box_t *stored, const box_t *box, kept_at_t *out) {
    int64_t starts[MAX_LOOPS], last[MAX_LOOPS];
    uint32_t taken = 0;
    if (stored->source.index != box->source.index) return false;
    out->offset = stored->to_offset;
    for (uint32_t m = 0; m < stored->loops; m++) {
        starts[m] = last[m] = find_start(stored, box, m);
        out->offset += stored->to[m] * starts[m];
    }
    for (uint32_t k = 0; k < box->rank; k++) {
        int64_t at = stored->base[k];
        for (uint32_t m = 0; m < stored->loops; m++) at += stored->steps[k][m] * starts[m];
        if (at != box->base[k]) return false;
    }
    for (uint32_t j = 0; j < box->loops; j++) {
        int64_t times;
        uint32_t m = find_loop(stored, box, j, taken, &times);
        if (m == NONE) return false;
        taken |= UINT32_C(1) << m;
        out->strides[j] = stored->to[m] * times;
        last[m] += times * (box->counts[j] - 1);
    }
    for (uint32_t m = 0; m < stored->loops; m++)
        if (starts[m] < 0 || last[m] >= stored->counts[m]) return false;
    return true;
}

/* Has a box before number end stored the elements? */
static bool find_stored(const box_list_t *list, uint32_t end, const box_t *box, kept_at_t *out) {
    for (uint32_t i = 0; i < end; i++)
        if (is_stored(&list->items[i], box, out)) return true;
    return false;
}

typedef struct sorter { /* how boxes depend on one another; a set of boxes is a word of bits */
    assembler_t *assembler;
    uint32_t count;
    uint32_t overwrites[MAX_BOXES]; /* by box: the others whose source it stores over */
    uint32_t stores[MAX_BOXES];     /* those whose elements are among its own: they can be read where it stored them */
    uint32_t order[MAX_BOXES], best[MAX_BOXES];
    int64_t cost, best_cost; /* elements that are set aside */
} sorter_t;

static void relate(sorter_t *sorter) {
    const box_t *boxes = sorter->assembler->boxes.items;
    kept_at_t ignored;
    for (uint32_t i = 0; i < sorter->count; i++)
        for (uint32_t k = 0; k < sorter->count; k++) {
            if (is_stored(&boxes[i], &boxes[k], &ignored)) sorter->stores[i] |= UINT32_C(1) << k;
            if (i != k && overwrites(sorter->assembler, &boxes[i], &boxes[k]))
                sorter->overwrites[i] |= UINT32_C(1) << k;
        }
}

/* What storing the box makes others set aside: those not done, not set aside yet, and stored nowhere. */
static uint32_t lost_by(const sorter_t *sorter, uint32_t box, uint32_t done, uint32_t safe) {
    return sorter->overwrites[box] & ~done & ~safe & ~sorter->stores[box];
}

static int64_t elements_of(const sorter_t *sorter, uint32_t set) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < sorter->count; i++)
        if (set >> i & 1) sum += box_elements(&sorter->assembler->boxes.items[i]);
    return sum;
}

/* All orders; depth is at most MAX_EXACT_PIECES. */
static void search(sorter_t *sorter, uint32_t depth, uint32_t done, uint32_t safe) {
    if (sorter->cost >= sorter->best_cost) return;
    if (depth == sorter->count) {
        sorter->best_cost = sorter->cost;
        memcpy(sorter->best, sorter->order, sizeof sorter->best);
        return;
    }
    for (uint32_t i = 0; i < sorter->count; i++) {
        if (done >> i & 1) continue;
        uint32_t lost = lost_by(sorter, i, done | UINT32_C(1) << i, safe);
        int64_t cost = elements_of(sorter, lost);
        sorter->order[depth] = i;
        sorter->cost += cost;
        search(sorter, depth + 1, done | UINT32_C(1) << i, safe | lost | sorter->stores[i]);
        sorter->cost -= cost;
    }
}

/* The cheapest next box, again and again. */
static void choose(sorter_t *sorter) {
    uint32_t done = 0, safe = 0;
    for (uint32_t depth = 0; depth < sorter->count; depth++) {
        uint32_t best = NONE;
        int64_t best_cost = INT64_MAX;
        for (uint32_t i = 0; i < sorter->count; i++) {
            if (done >> i & 1) continue;
            int64_t cost = elements_of(sorter, lost_by(sorter, i, done | UINT32_C(1) << i, safe));
            if (cost >= best_cost) continue;
            best = i;
            best_cost = cost;
        }
        sorter->best[depth] = best;
        done |= UINT32_C(1) << best;
        safe |= lost_by(sorter, best, done, safe) | sorter->stores[best];
    }
}

static insitu_status sort_boxes(assembler_t *assembler, arena_t *scratch) {
    box_list_t *list = &assembler->boxes;
    sorter_t sorter = {.assembler = assembler, .count = list->count, .best_cost = INT64_MAX};
    box_t *sorted;
    TRY(arena_array(scratch, list->count, sizeof *sorted, &sorted));
    relate(&sorter);
    if (list->count <= MAX_EXACT_PIECES)
        search(&sorter, 0, 0, 0);
    else
        choose(&sorter);
    for (uint32_t i = 0; i < list->count; i++) sorted[i] = list->items[sorter.best[i]];
    memcpy(list->items, sorted, list->count * sizeof *sorted);
    return INSITU_OK;
}

/* ---- layers ---- */

static insitu_status add(assembler_t *assembler, const layer_draft_t *draft, const tensor_id_t *operands,
                         uint32_t count, tensor_id_t *out) {
    const layer_t like = *network_layer_of(assembler->network, assembler->last);
    TRY(network_add_layer(assembler->network, draft, operands, count, like.name, like.source, out, assembler->diag));
    layer_id_t added = network_tensor_of(assembler->network, *out)->producer;
    network_layer_of(assembler->network, added)->assembles = !assembler->is_stored;
    return INSITU_OK;
}

static sym_t constant(assembler_t *assembler, int64_t value) { return sym_int(&assembler->network->symbols, value); }

static insitu_status add_sized(assembler_t *assembler, layer_kind_t kind, uint32_t rank, const int64_t *sizes,
                               tensor_id_t *tensor) {
    shape_t shape = {.rank = rank};
    tensor_id_t operand = *tensor;
    for (uint32_t i = 0; i < rank; i++) shape.sizes[i] = constant(assembler, sizes[i]);
    if (shape_same(&network_tensor_of(assembler->network, operand)->shape, &shape)) return INSITU_OK;
    const layer_draft_t view = draft_sized(kind, &shape);
    return add(assembler, &view, &operand, 1, tensor);
}

/* Does every loop count in one dimension, and every dimension by one loop? out_loop: of each dimension; NONE: it is fixed. */
static bool is_sliced(const box_t *box, uint32_t *out_loop) {
    uint32_t dims[MAX_LOOPS] = {0};
    for (uint32_t k = 0; k < box->rank; k++) {
        out_loop[k] = NONE;
        for (uint32_t j = 0; j < box->loops; j++) {
            if (box->steps[k][j] == 0) continue;
            if (out_loop[k] != NONE || dims[j]++) return false;
            out_loop[k] = j;
        }
    }
    return true;
}

/* The source's elements as a tensor with a dimension for each loop: slices, then a permutation and repetitions. */
static insitu_status add_sliced(assembler_t *assembler, const box_t *box, const uint32_t *loop_of, tensor_id_t *out) {
    network_t *network = assembler->network;
    int64_t sizes[MAX_RANK], elements, kept[MAX_RANK], repeated[MAX_RANK];
    uint32_t order[MAX_RANK], count = 0;
    sym_t axes[MAX_RANK];
    bool sorted = true, repeats = false;
    const layer_t like = *network_layer_of(network, assembler->last);
    *out = box->source;
    (void)box_sizes(network, box->source, sizes, &elements);
    for (uint32_t k = 0; k < box->rank; k++) {
        int64_t step = loop_of[k] == NONE ? 1 : box->steps[k][loop_of[k]];
        int64_t last = box->base[k] + (loop_of[k] == NONE ? 0 : step * (box->counts[loop_of[k]] - 1));
        tensor_id_t x = *out;
        if (loop_of[k] != NONE) order[count] = loop_of[k], kept[count++] = box->counts[loop_of[k]];
        if (box->base[k] == 0 && last + 1 == sizes[k] && step == 1) continue;
        TRY(network_add_slice(network, &like, x, k, constant(assembler, box->base[k]), constant(assembler, last + 1),
                              step, out, assembler->diag));
    }
    TRY(add_sized(assembler, LAYER_RESHAPE, count, kept, out));
    uint32_t placed = 0; /* the loops in their order, those that repeat left out */
    for (uint32_t j = 0; j < box->loops; j++) {
        uint32_t at = 0;
        while (at < count && order[at] != j) at++;
        repeated[j] = at < count ? box->counts[j] : 1;
        repeats |= at == count;
        if (at == count) continue;
        sorted &= at == placed;
        axes[placed++] = constant(assembler, at);
    }
    layer_draft_t permute = draft_of(LAYER_PERMUTE);
    draft_list(&permute, ATTR_AXES, axes, count);
    tensor_id_t x = *out;
    if (!sorted) TRY(add(assembler, &permute, &x, 1, out));
    if (!repeats) return INSITU_OK;
    TRY(add_sized(assembler, LAYER_RESHAPE, box->loops, repeated, out));
    return add_sized(assembler, LAYER_EXPAND, box->loops, box->counts, out);
}

static insitu_status add_strided(assembler_t *assembler, layer_kind_t kind, const tensor_id_t *operands, uint32_t count,
                                 const box_t *box, int64_t offset, const int64_t *strides, tensor_id_t *out) {
    sym_t sizes[MAX_LOOPS], steps[MAX_LOOPS];
    for (uint32_t j = 0; j < box->loops; j++) {
        sizes[j] = constant(assembler, box->counts[j]);
        steps[j] = constant(assembler, strides[j]);
    }
    layer_draft_t strided = draft_of(kind);
    draft_sym(&strided, ATTR_OFFSET, constant(assembler, offset));
    draft_list(&strided, ATTR_SIZES, sizes, box->loops);
    draft_list(&strided, ATTR_STRIDES, steps, box->loops);
    return add(assembler, &strided, operands, count, out);
}

static insitu_status add_source(assembler_t *assembler, const box_t *box, tensor_id_t *out) {
    uint32_t loop_of[MAX_RANK];
    int64_t sizes[MAX_RANK], elements, offset, from[MAX_LOOPS];
    if (is_sliced(box, loop_of)) return add_sliced(assembler, box, loop_of, out);
    (void)box_sizes(assembler->network, box->source, sizes, &elements);
    tensor_id_t flat = box->source;
    TRY(add_sized(assembler, LAYER_RESHAPE, 1, &elements, &flat));
    box_origin(assembler->network, box, &offset, from);
    return add_strided(assembler, LAYER_AS_STRIDED, &flat, 1, box, offset, from, out);
}

/* Is the box a slice of the value along one dimension? */
static bool is_slice(const assembler_t *assembler, const box_t *box, uint32_t *out_dim, int64_t *out_step) {
    uint32_t loop = 0;
    int64_t rest = box->to_offset;
    *out_dim = NONE;
    for (uint32_t k = 0; k < assembler->rank; k++) {
        int64_t size = assembler->sizes[k], stride = assembler->strides[k];
        bool takes = loop < box->loops && box->to[loop] % stride == 0 && size > 1;
        bool whole = size == 1 || (takes && box->to[loop] == stride && box->counts[loop] == size);
        if (whole) {
            loop += size > 1;
            continue;
        }
        if (*out_dim != NONE) return false;
        *out_dim = k;
        *out_step = 1;
        /* One position of the dimension is no loop. */
        int64_t inner = stride * size;
        bool counts = takes && box->to[loop] * (box->counts[loop] - 1) < inner;
        if (counts) *out_step = box->to[loop++] / stride;
        rest -= box->to_offset / stride * stride;
    }
    return *out_dim != NONE && loop == box->loops && rest == 0;
}

static insitu_status add_slice_update(assembler_t *assembler, const box_t *box, uint32_t dim, int64_t step,
                                      tensor_id_t source, tensor_id_t *value) {
    int64_t sizes[MAX_RANK], start = box->to_offset / assembler->strides[dim], others = 1;
    for (uint32_t k = 0; k < assembler->rank; k++) {
        sizes[k] = assembler->sizes[k];
        if (k != dim) others *= sizes[k];
    }
    sizes[dim] = box_elements(box) / others;
    TRY(add_sized(assembler, LAYER_RESHAPE, assembler->rank, sizes, &source));
    tensor_id_t operands[] = {*value, source};
    const sym_t end = constant(assembler, start + step * (sizes[dim] - 1) + 1);
    const layer_draft_t update =
        draft_slice(&assembler->network->symbols, LAYER_SLICE_UPDATE, dim, constant(assembler, start), end, step);
    return add(assembler, &update, operands, 2, value);
}

/* What a box stored before, over strides of its place; 0 repeats. */
static insitu_status add_stored(assembler_t *assembler, const box_t *counts, int64_t offset, const int64_t *strides,
                                tensor_id_t value, tensor_id_t *out) {
    TRY(add_sized(assembler, LAYER_RESHAPE, 1, &assembler->elements, &value));
    return add_strided(assembler, LAYER_AS_STRIDED, &value, 1, counts, offset, strides, out);
}

static insitu_status store(assembler_t *assembler, const box_t *box, tensor_id_t source, tensor_id_t *value) {
    uint32_t dim;
    int64_t step;
    if (is_slice(assembler, box, &dim, &step)) {
        TRY(add_sized(assembler, LAYER_RESHAPE, assembler->rank, assembler->sizes, value));
        return add_slice_update(assembler, box, dim, step, source, value);
    }
    TRY(add_sized(assembler, LAYER_RESHAPE, 1, &assembler->elements, value));
    tensor_id_t operands[] = {*value, source};
    return add_strided(assembler, LAYER_AS_STRIDED_UPDATE, operands, 2, box, box->to_offset, box->to, value);
}

/* Is the loop's count without effect on the source? */
static bool repeats(const box_t *box, uint32_t loop) {
    bool fixed = true;
    for (uint32_t k = 0; k < box->rank; k++) fixed = fixed && box->steps[k][loop] == 0;
    return fixed && box->counts[loop] > 1;
}

/* What the state holds several times: stored at its first place, and from there at the others. */
static insitu_status store_repeated(assembler_t *assembler, const box_t *box, tensor_id_t *value) {
    box_t part = *box;
    tensor_id_t source;
    for (uint32_t j = 0; j < box->loops; j++)
        if (repeats(box, j)) part.counts[j] = 1;
    TRY(add_source(assembler, &part, &source));
    TRY(store(assembler, &part, source, value));
    for (uint32_t j = 0; j < box->loops; j++) {
        if (!repeats(box, j)) continue;
        int64_t strides[MAX_LOOPS];
        for (uint32_t i = 0; i < box->loops; i++) strides[i] = i == j ? 0 : part.to[i];
        box_t rest = part;
        rest.counts[j] = box->counts[j] - 1;
        rest.to_offset += box->to[j];
        TRY(add_stored(assembler, &rest, part.to_offset, strides, *value, &source));
        TRY(store(assembler, &rest, source, value));
        part.counts[j] = box->counts[j];
    }
    return INSITU_OK;
}

/* Does the box give all of the value, in its order? */
static bool is_whole(const assembler_t *assembler, const box_t *box) {
    bool dense = box_elements(box) == assembler->elements && assembler->boxes.count == 1;
    int64_t stride = 1;
    for (uint32_t j = box->loops; j-- > 0; stride *= box->counts[j]) dense = dense && box->to[j] == stride;
    return dense;
}

static insitu_status add_box(assembler_t *assembler, uint32_t index, tensor_id_t *value) {
    const box_t *box = &assembler->boxes.items[index];
    assembler->is_stored = box->is_stored;
    kept_at_t kept;
    tensor_id_t source;
    uint32_t repeated = 0;
    bool own = box->source.index == assembler->start.index;
    for (uint32_t j = 0; j < box->loops; j++) repeated += repeats(box, j);
    if (repeated) return store_repeated(assembler, box, value);
    if (own && find_stored(&assembler->boxes, index, box, &kept))
        TRY(add_stored(assembler, box, kept.offset, kept.strides, *value, &source));
    else
        TRY(add_source(assembler, box, &source));
    if (own || !is_whole(assembler, box)) return store(assembler, box, source, value);
    *value = source;
    return INSITU_OK;
}

/* ---- the whole ---- */

static insitu_status assemble(assembler_t *assembler) {
    network_t *network = assembler->network;
    uint32_t position = 0, first_added = network->order_count;
    tensor_id_t value = assembler->start;
    while (network->order[position].index != assembler->last.index) position++;
    for (uint32_t i = 0; i < assembler->boxes.count; i++) TRY(add_box(assembler, i, &value));
    shape_t sizes = {.rank = assembler->rank};
    for (uint32_t k = 0; k < assembler->rank; k++) sizes.sizes[k] = constant(assembler, assembler->sizes[k]);
    const layer_draft_t whole = draft_sized(LAYER_RESHAPE, &sizes);
    TRY(network_redefine(network, assembler->last, &whole, &value, 1, assembler->diag));
    network_move_added(network, first_added, position);
    return sym_pool_status(&network->symbols, assembler->diag);
}

insitu_status network_rewrite_as_updates(network_t *network, tensor_id_t start, tensor_id_t next, bool *out_changed,
                                         insitu_diag *diag) {
    *out_changed = false;
    const network_tensor_t *made = network_tensor_of(network, next);
    if (made->role != TENSOR_RESULT) return INSITU_OK;
    assembler_t *assembler = memory_alloc(sizeof *assembler);
    if (!assembler) return INSITU_NOMEM;
    *assembler = (assembler_t){.network = network, .start = start, .last = made->producer, .diag = diag};
    arena_t scratch;
    arena_init(&scratch);
    insitu_status status = INSITU_OK;
    box_list_t *boxes = &assembler->boxes;
    bool known = box_sizes(network, next, assembler->sizes, &assembler->elements) && assembler->elements > 0 &&
                 boxes_find(network, next, boxes);
    /* A box of the value itself: what makes it is not followed. */
    for (uint32_t i = 0; i < boxes->count; i++) known &= boxes->items[i].source.index != next.index;
    if (known) {
        assembler->rank = made->shape.rank;
        int64_t stride = 1;
        for (uint32_t k = assembler->rank; k-- > 0; stride *= assembler->sizes[k]) assembler->strides[k] = stride;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < boxes->count; i++)
            if (!stays(assembler, &boxes->items[i])) boxes->items[kept++] = boxes->items[i];
        boxes->count = kept;
        int64_t walked = assembler->elements <= MAX_WALKED ? assembler->elements : 1;
        status = bitset_create(&scratch, (uint32_t)walked, &assembler->written);
        if (status == INSITU_OK) status = sort_boxes(assembler, &scratch);
        if (status == INSITU_OK) status = assemble(assembler);
        *out_changed = status == INSITU_OK;
    }
    arena_release(&scratch);
    memory_free(assembler);
    return status;
}
