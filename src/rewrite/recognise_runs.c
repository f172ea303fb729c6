/* Index layers along one dimension whose positions are constants become slices, which cost no index tensor, no check and,
 * where they are moved within a state, no copy:
 *   index(%x, [2, 3, 4])                  ->  copy(slice(%x, 2 to 5))
 *   index(%x, [3, 4, 5, 0, 1, 2])         ->  concat(slice(%x, 3 to 6), slice(%x, 0 to 3))       a roll
 *   index_update(%x, %s, [1, 3, 5])       ->  slice_update(%x, %s, 1 to 6 by 2)
 * A run is a stretch of positions with one step; with more than MAX_RUNS of them, with a position out of range or with
 * accumulation, the layer stays. */
#include "rewrite/rewrite.h"

enum { MAX_RUNS = 4 };

typedef struct run {
    int64_t start, step, count;
} run_t;
typedef struct runs {
    run_t items[MAX_RUNS];
    uint32_t count;
} runs_t;

typedef struct positions { /* a vector of known integers */
    int64_t count;
    const uint8_t *data; /* of a constant; NULL: start + i step */
    dtype_t type;
    int64_t start, step;
} positions_t;

static int64_t position_at(const positions_t *positions, int64_t i) {
    if (!positions->data) return positions->start + i * positions->step;
    return network_index_at(positions->data, positions->type, i);
}

static bool add_position(runs_t *runs, int64_t position) {
    run_t *last = runs->count ? &runs->items[runs->count - 1] : NULL;
    if (last && last->count == 1 && position > last->start) {
        last->step = position - last->start;
        last->count = 2;
        return true;
    }
    if (last && last->count > 1 && position == last->start + last->step * last->count) {
        last->count++;
        return true;
    }
    if (runs->count == MAX_RUNS) return false;
    runs->items[runs->count++] = (run_t){position, 1, 1};
    return true;
}

static bool read_iota(const network_t *network, const layer_t *iota, positions_t *out) {
    sym_t size = layer_attr(iota, ATTR_SIZE).value, start = layer_attr(iota, ATTR_START).value;
    *out = (positions_t){.data = NULL};
    int64_t limit = INT32_MAX;
    return sym_constant(&network->symbols, size, &out->count) && sym_constant(&network->symbols, start, &out->start) &&
           sym_constant(&network->symbols, layer_attr(iota, ATTR_STEP).value, &out->step) && out->count > 0 &&
           out->count <= limit && out->step > -limit && out->step < limit && out->start > -limit && out->start < limit;
}

/* Of what lies behind copies of the same elements in other sizes. */
static bool read_positions(const network_t *network, tensor_id_t tensor, positions_t *out) {
    tensor = network_strip_reshapes(network, tensor);
    const dtype_t type = network_tensor_of(network, tensor)->dtype;
    *out = (positions_t){.type = type};
    if (type == DTYPE_I64 || type == DTYPE_I32) out->data = network_constant_elements(network, tensor, &out->count);
    if (out->data) return true;
    const layer_t *iota = network_producer_of(network, tensor, LAYER_IOTA);
    return iota && read_iota(network, iota, out);
}

/* The runs of a layer that indexes one dimension by a vector. */
static bool find_runs(const network_t *network, const layer_t *layer, uint32_t operand, uint32_t *out_dim,
                      runs_t *out) {
    attr_t dims = layer_attr(layer, ATTR_DIMS);
    int64_t dim, extent;
    positions_t positions;
    if (layer->operand_count != operand + 1 || dims.list.count != 1) return false;
    if (network_tensor_of(network, layer->operands[operand])->shape.rank != 1) return false;
    if (!read_positions(network, layer->operands[operand], &positions)) return false;
    if (!sym_constant(&network->symbols, dims.list.items[0], &dim)) return false;
    const shape_t *shape = &network_tensor_of(network, layer->operands[0])->shape;
    if (!sym_constant(&network->symbols, shape->sizes[dim], &extent)) return false;
    bool wrap = layer_attr_int(network, layer, ATTR_WRAP) != 0;
    *out_dim = (uint32_t)dim;
    out->count = 0;
    for (int64_t i = 0; i < positions.count; i++) {
        int64_t position = position_at(&positions, i);
        if (wrap && position < 0) position += extent;
        if (position < 0 || position >= extent || !add_position(out, position)) return false;
    }
    return true;
}

static int64_t end_of(const run_t *run) { return run->start + run->step * (run->count - 1) + 1; }

static insitu_status add_run_slice(network_t *network, const layer_t *like, tensor_id_t x, uint32_t dim,
                                   const run_t *run, tensor_id_t *out, insitu_diag *diag) {
    sym_pool_t *pool = &network->symbols;
    return network_add_slice(network, like, x, dim, sym_int(pool, run->start), sym_int(pool, end_of(run)), run->step,
                             out, diag);
}

static insitu_status read_runs(network_t *network, layer_id_t id, uint32_t dim, const runs_t *runs, insitu_diag *diag) {
    const layer_t like = *network_layer_of(network, id);
    tensor_id_t parts[MAX_RUNS];
    for (uint32_t i = 0; i < runs->count; i++)
        TRY(add_run_slice(network, &like, like.operands[0], dim, &runs->items[i], &parts[i], diag));
    layer_draft_t joined = draft_of(runs->count == 1 ? LAYER_COPY : LAYER_CONCAT);
    if (runs->count > 1) draft_int(&network->symbols, &joined, ATTR_DIM, dim);
    return network_redefine(network, id, &joined, parts, runs->count, diag);
}

static insitu_status write_runs(network_t *network, layer_id_t id, uint32_t dim, const runs_t *runs,
                                insitu_diag *diag) {
    const layer_t like = *network_layer_of(network, id);
    sym_pool_t *pool = &network->symbols;
    tensor_id_t operands[2] = {like.operands[0], NO_TENSOR};
    run_t source = {0, 1, 0};
    for (uint32_t i = 0; i < runs->count; i++) {
        const run_t *run = &runs->items[i];
        const layer_draft_t update = draft_slice(pool, LAYER_SLICE_UPDATE, dim, sym_int(pool, run->start),
                                                 sym_int(pool, end_of(run)), run->step);
        source.start += source.count;
        source.count = run->count;
        operands[1] = like.operands[1];
        if (runs->count > 1) TRY(add_run_slice(network, &like, like.operands[1], dim, &source, &operands[1], diag));
        if (i + 1 == runs->count) return network_redefine(network, id, &update, operands, 2, diag);
        tensor_id_t written;
        TRY(network_add_layer(network, &update, operands, 2, like.name, like.source, &written, diag));
        operands[0] = written;
    }
    return INSITU_OK;
}

insitu_status network_recognise_runs(network_t *network, insitu_diag *diag) {
    uint32_t count = network->order_count;
    for (uint32_t i = 0; i < count; i++) {
        layer_id_t id = network->order[i];
        const layer_t *layer = network_layer_of(network, id);
        uint32_t dim, first_added = network->order_count;
        runs_t runs;
        if (layer->kind == LAYER_INDEX && find_runs(network, layer, 1, &dim, &runs))
            TRY(read_runs(network, id, dim, &runs, diag));
        else if (layer->kind == LAYER_INDEX_UPDATE && layer_attr_int(network, layer, ATTR_ACCUMULATE) == 0 &&
                 find_runs(network, layer, 2, &dim, &runs))
            TRY(write_runs(network, id, dim, &runs, diag));
        network_move_added(network, first_added, i);
        i += network->order_count - first_added;
        count += network->order_count - first_added;
    }
    return sym_pool_status(&network->symbols, diag);
}
