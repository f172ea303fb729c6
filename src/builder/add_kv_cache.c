/* Rows of a key-value cache, one run of them for each row of the batch, as an indexed update:
 *   cache (B,H,M,D), update (B,H,S,D), write_indices (B)
 *   rows      (B,S): b at [b,t]
 *   positions (B,S): write_indices[b] + t at [b,t]
 *   index_update(cache, update as (B,S,H,D), rows, positions) {dims=[0,2]}
 * Layout bshd indexes dims [0,1], whose source has the update's own order. An index that is out of range stays so when t is
 * added: the first row's is the index itself. */
#include "builder/builder_int.h"

typedef struct kv_update {
    insitu_network *network;
    insitu_diag *diag;
    insitu_value cache, update, indices;
    insitu_number batch, rows;
    insitu_dtype index_type;
    bool is_bshd;
} kv_update_t;

static insitu_status kv_fail(const kv_update_t *kv, insitu_status code, const char *why) {
    const network_t *network = kv->network->network;
    const insitu_value operands[] = {kv->cache, kv->update, kv->indices};
    text_t sentence;
    text_init(&sentence);
    for (size_t i = 0; i < COUNT_OF(operands); i++) {
        text_printf(&sentence, i ? ", " : "kv_cache_update(");
        tensor_print_type(network, network_tensor_of(network, builder_tensor(kv->network, operands[i])), &sentence);
    }
    text_printf(&sentence, "): %s", why);
    insitu_status status = text_status(&sentence, kv->diag);
    if (status == INSITU_OK) status = diag_set(kv->diag, code, "%s", sentence.data);
    text_release(&sentence);
    return status;
}

static bool is_other(sym_pool_t *pool, sym_t a, sym_t b) {
    return sym_truth(pool, sym_compare(pool, SYM_EQ, a, b)) == TRUTH_FALSE;
}

static insitu_status check_operands(const kv_update_t *kv) {
    const network_t *network = kv->network->network;
    const insitu_value operands[] = {kv->cache, kv->update, kv->indices};
    for (size_t i = 0; i < COUNT_OF(operands); i++)
        if (builder_tensor(kv->network, operands[i]).index == NONE)
            FAIL(kv->diag, INSITU_ARG, "kv_cache_update: operand %zu is no tensor of the network", i);
    const network_tensor_t *cache = network_tensor_of(network, builder_tensor(kv->network, kv->cache)),
                           *update = network_tensor_of(network, builder_tensor(kv->network, kv->update)),
                           *indices = network_tensor_of(network, builder_tensor(kv->network, kv->indices));
    if (cache->shape.rank != 4 || update->shape.rank != 4 || indices->shape.rank != 1)
        return kv_fail(kv, INSITU_SHAPE, "cache and update must have 4 dimensions, and write_indices one");
    if (cache->dtype != update->dtype) return kv_fail(kv, INSITU_ARG, "cache and update must have one dtype");
    if (indices->dtype != DTYPE_I64 && indices->dtype != DTYPE_I32)
        return kv_fail(kv, INSITU_ARG, "write_indices must be of i64 or i32");
    uint32_t sequence = kv->is_bshd ? 1 : 2;
    sym_pool_t *pool = &kv->network->network->symbols;
    for (uint32_t i = 0; i < 4; i++)
        if (i != sequence && is_other(pool, cache->shape.sizes[i], update->shape.sizes[i]))
            return kv_fail(kv, INSITU_SHAPE, "cache and update may differ in the sequence's size alone");
    if (sym_is_le(pool, update->shape.sizes[sequence], cache->shape.sizes[sequence]) == TRUTH_FALSE)
        return kv_fail(kv, INSITU_SHAPE, "the update has more rows than the cache");
    if (is_other(pool, indices->shape.sizes[0], cache->shape.sizes[0]) ||
        is_other(pool, indices->shape.sizes[0], update->shape.sizes[0]))
        return kv_fail(kv, INSITU_SHAPE, "write_indices must have one position for each row of the batch");
    return INSITU_OK;
}

/* (N) along one of two dimensions, repeated along the other. */
static insitu_status spread(const kv_update_t *kv, insitu_value line, bool is_first, insitu_value *out) {
    const insitu_number one = insitu_int(1);
    const insitu_number flat[2] = {is_first ? kv->batch : one, is_first ? one : kv->rows},
                        full[2] = {kv->batch, kv->rows};
    TRY(insitu_network_add_reshape(kv->network, line, 2, flat, out, kv->diag));
    return insitu_network_add_expand(kv->network, *out, 2, full, out, kv->diag);
}

static insitu_status add_indices(const kv_update_t *kv, insitu_value out_indices[2]) {
    const insitu_number zero = insitu_int(0), one = insitu_int(1);
    insitu_value start, step;
    TRY(insitu_network_add_iota(kv->network, kv->index_type, kv->batch, zero, one, &out_indices[0], kv->diag));
    TRY(spread(kv, out_indices[0], true, &out_indices[0]));
    TRY(insitu_network_add_iota(kv->network, kv->index_type, kv->rows, zero, one, &step, kv->diag));
    TRY(spread(kv, step, false, &step));
    TRY(spread(kv, kv->indices, true, &start));
    return insitu_network_add_binary(kv->network, "add", start, step, &out_indices[1], kv->diag);
}

static insitu_status add_update(const kv_update_t *kv, insitu_value *out_value) {
    static const int32_t dims[2][2] = {{0, 2}, {0, 1}}, rows_first[4] = {0, 2, 1, 3};
    insitu_value indices[2], source = kv->update;
    TRY(add_indices(kv, indices));
    if (!kv->is_bshd) TRY(insitu_network_add_permute(kv->network, source, 4, rows_first, &source, kv->diag));
    return insitu_network_add_index_update(kv->network, kv->cache, source, 2, dims[kv->is_bshd], indices, false, false,
                                           out_value, kv->diag);
}

/* The sizes that the indices are made of. */
static insitu_status read_sizes(kv_update_t *kv) {
    insitu_network_value update = {.struct_size = sizeof(update)}, indices = {.struct_size = sizeof(indices)};
    TRY(insitu_network_describe(kv->network, kv->update, &update, kv->diag));
    TRY(insitu_network_describe(kv->network, kv->indices, &indices, kv->diag));
    kv->batch = update.sizes[0];
    kv->rows = update.sizes[kv->is_bshd ? 1 : 2];
    kv->index_type = indices.dtype;
    return INSITU_OK;
}

/* Its layers, or none of them. */
static insitu_status add_whole(const kv_update_t *kv, insitu_value *out_value) {
    network_t *network = kv->network->network;
    const network_mark_t before = network_mark_end(network);
    kv_update_t part = *kv;
    insitu_diag why = {.struct_size = sizeof(why)};
    part.diag = &why;
    insitu_status status = add_update(&part, out_value);
    if (status != INSITU_OK) {
        network_undo(network, before);
        *out_value = insitu_no_value();
        status = kv_fail(kv, status, why.message);
    }
    insitu_diag_release(&why);
    return status;
}

insitu_status insitu_network_add_kv_cache_update(insitu_network *network, insitu_value cache, insitu_value update,
                                                 insitu_value write_indices, insitu_cache_layout layout,
                                                 insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    if (!network || !out_value)
        FAIL(diag, INSITU_ARG, "insitu_network_add_kv_cache_update needs a network and a place for what it gives out");
    if (layout != INSITU_CACHE_BHSD && layout != INSITU_CACHE_BSHD)
        FAIL(diag, INSITU_ARG, "kv_cache_update: there is no layout %d", (int)layout);
    kv_update_t kv = {.network = network,
                      .diag = diag,
                      .cache = cache,
                      .update = update,
                      .indices = write_indices,
                      .is_bshd = layout == INSITU_CACHE_BSHD};
    insitu_status status = check_operands(&kv);
    if (status == INSITU_OK) status = read_sizes(&kv);
    if (status == INSITU_OK) status = add_whole(&kv, out_value);
    sym_pool_clear_error(&network->network->symbols);
    return diag_complete(diag, status);
}
