/* Regions: networks inside a network, which a layer runs when it is their turn.
 *
 *     cond   regions [then, else]: each is given the operands behind the condition, and gives the results
 *     loop   regions [condition, body]: each is given all operands; the first gives one bool, the second the next values of
 *            the first operands, which are carried, in their order
 *
 * A region is functional: inputs that are tensors, outputs that are tensors, no states, no records. It has symbols of its
 * own, which its item layers read; every other one is the outer network's symbol of the same name. */
#include "network/network_int.h"

insitu_status network_add_region(network_t *network, network_t **out_region) {
    *out_region = NULL;
    TRY(arena_grow(&network->arena, &network->regions, &network->region_capacity, (size_t)network->region_count + 1,
                   sizeof(*network->regions)));
    TRY(network_create(out_region));
    network->regions[network->region_count++] = *out_region;
    return INSITU_OK;
}

network_t *network_region(const network_t *network, const attr_t *attrs, uint32_t which) {
    const attr_t *regions = &attrs[0]; /* the only attribute of layers that have any */
    int64_t index;
    if (regions->kind != ATTR_KIND_SYMS || which >= regions->list.count) return NULL;
    bool is_one = sym_constant(&network->symbols, regions->list.items[which], &index) && index >= 0 &&
                  index < (int64_t)network->region_count;
    return is_one ? network->regions[index] : NULL;
}

uint32_t layer_result_count(const network_t *network, layer_kind_t kind, const attr_t *attrs) {
    uint32_t fixed = layer_info_of(kind)->results;
    if (fixed != NONE) return fixed;
    const network_t *region = network_region(network, attrs, kind == LAYER_LOOP ? 1 : 0);
    return region ? region->output_count : 0;
}

void network_find_read(const network_t *network, bool *out_read) {
    for (uint32_t i = 0; i < network->order_count; i++) {
        const layer_t *layer = network_layer_of(network, network->order[i]);
        if (layer->kind != LAYER_ITEM) continue;
        uint32_t symbol = sym_symbol_index(&network->symbols, layer_attr(layer, ATTR_SYMBOL).value);
        if (symbol != NONE) out_read[symbol] = true;
    }
}

/* ---- expressions inside and outside ---- */

insitu_status region_symbols_find(const network_t *region, sym_pool_t *outer, arena_t *arena,
                                  region_symbols_t *out_symbols) {
    const sym_pool_t *inner = &region->symbols;
    *out_symbols = (region_symbols_t){.inner = inner, .outer = outer};
    TRY(arena_array(arena, inner->symbol_count + 1, sizeof(sym_t), &out_symbols->by));
    TRY(arena_array(arena, inner->symbol_count + 1, sizeof(bool), &out_symbols->is_inside));
    network_find_read(region, out_symbols->is_inside);
    for (uint32_t i = 0; i < inner->symbol_count; i++) {
        uint32_t same = out_symbols->is_inside[i] ? NONE : sym_find_symbol(outer, inner->symbols[i].name);
        out_symbols->is_inside[i] = same == NONE;
        if (same != NONE) out_symbols->by[i] = sym_of_symbol(outer, same);
    }
    return INSITU_OK;
}

bool region_sym_leave(const region_symbols_t *symbols, sym_t inside, sym_t *out) {
    for (uint32_t i = 0; i < symbols->inner->symbol_count; i++)
        if (symbols->is_inside[i] && sym_uses(symbols->inner, inside, i)) return false;
    *out = sym_move(symbols->outer, symbols->inner, inside, symbols->by);
    return true;
}

/* ---- inference ---- */

static insitu_status leave_shape(const infer_call_t *call, const region_symbols_t *symbols,
                                 const network_tensor_t *tensor, shape_t *out) {
    out->rank = tensor->shape.rank;
    for (uint32_t i = 0; i < out->rank; i++)
        if (!region_sym_leave(symbols, tensor->shape.sizes[i], &out->sizes[i]))
            return infer_fail(call, INSITU_UNSUPPORTED,
                              "size %u of '%s' depends on a number that a region reads from a tensor", i, tensor->name);
    return sym_pool_status(call->pool, call->diag);
}

/* The tensor, of a region, is of that type. */
static insitu_status check_type(const infer_call_t *call, const region_symbols_t *symbols,
                                const network_tensor_t *tensor, dtype_t type, const shape_t *expected) {
    shape_t found;
    if (tensor->dtype != type)
        return infer_fail(call, INSITU_ARG, "'%s' of a region is of dtype %s where %s was expected", tensor->name,
                          dtype_name(tensor->dtype), dtype_name(type));
    TRY(leave_shape(call, symbols, tensor, &found));
    return infer_same_shape(call, expected, &found, tensor->name);
}

/* Its inputs are the operands from first on; all that it gives are tensors. */
static insitu_status check_region(const infer_call_t *call, const network_t *region, const region_symbols_t *symbols,
                                  uint32_t first) {
    if (region->input_count != call->operand_count - first)
        return infer_fail(call, INSITU_ARG, "a region takes %u operands where %u are given", region->input_count,
                          call->operand_count - first);
    if (region->state_count || region->record_count || region->constant_count || region->buffer_count ||
        region->mutation_count)
        return infer_fail(call, INSITU_ARG, "a region has states, records or mutations of its own");
    for (uint32_t i = 0; i < region->output_count; i++)
        if (region->outputs[i].kind != OUTPUT_TENSOR || region->outputs[i].tensor.index >= region->tensor_count)
            return infer_fail(call, INSITU_ARG, "output %u of a region is no tensor", i);
    for (uint32_t i = 0; i < region->input_count; i++) {
        const network_tensor_t *operand = infer_operand(call, first + i);
        if (region->inputs[i].tensor.index >= region->tensor_count)
            return infer_fail(call, INSITU_ARG, "input %u of a region is no tensor", i);
        TRY(check_type(call, symbols, network_tensor_of(region, region->inputs[i].tensor), operand->dtype,
                       &operand->shape));
    }
    return INSITU_OK;
}

/* Both regions, with their symbols. */
static insitu_status find_regions(const infer_call_t *call, uint32_t first, arena_t *arena, network_t *regions[2],
                                  region_symbols_t symbols[2]) {
    for (uint32_t i = 0; i < 2; i++) {
        regions[i] = call->attrs[0].list.count == 2 ? network_region(call->network, call->attrs, i) : NULL;
        if (!regions[i]) return infer_fail(call, INSITU_ARG, "regions must be the numbers of two regions");
        if (regions[i]->output_count > MAX_RESULTS)
            return infer_fail(call, INSITU_UNSUPPORTED, "a region gives %u results where %d are allowed",
                              regions[i]->output_count, MAX_RESULTS);
        TRY(region_symbols_find(regions[i], call->pool, arena, &symbols[i]));
        TRY(check_region(call, regions[i], &symbols[i], first));
    }
    if (regions[0] == regions[1]) return infer_fail(call, INSITU_ARG, "its two regions are one");
    return INSITU_OK;
}

static const network_tensor_t *output_of(const network_t *region, uint32_t index) {
    return network_tensor_of(region, region->outputs[index].tensor);
}

static bool has_one_element(const infer_call_t *call, const shape_t *shape) {
    for (uint32_t i = 0; i < shape->rank; i++)
        if (sym_is_eq(call->pool, shape->sizes[i], sym_int(call->pool, 1)) != TRUTH_TRUE) return false;
    return true;
}

static insitu_status infer_cond_in(const infer_call_t *call, arena_t *arena) {
    network_t *regions[2];
    region_symbols_t symbols[2];
    const network_tensor_t *condition = infer_operand(call, 0);
    if (condition->dtype != DTYPE_BOOL || !has_one_element(call, &condition->shape))
        return infer_fail(call, INSITU_ARG, "the condition must be one bool");
    TRY(find_regions(call, 1, arena, regions, symbols));
    if (regions[0]->output_count != regions[1]->output_count)
        return infer_fail(call, INSITU_ARG, "one region gives %u results, the other %u", regions[0]->output_count,
                          regions[1]->output_count);
    for (uint32_t i = 0; i < regions[0]->output_count; i++) {
        inferred_t *result = &call->results[i];
        result->dtype = output_of(regions[0], i)->dtype;
        TRY(leave_shape(call, &symbols[0], output_of(regions[0], i), &result->shape));
        TRY(check_type(call, &symbols[1], output_of(regions[1], i), result->dtype, &result->shape));
    }
    return INSITU_OK;
}

static insitu_status infer_loop_in(const infer_call_t *call, arena_t *arena) {
    network_t *regions[2];
    region_symbols_t symbols[2];
    TRY(find_regions(call, 0, arena, regions, symbols));
    const network_tensor_t *condition = regions[0]->output_count == 1 ? output_of(regions[0], 0) : NULL;
    shape_t shape = {0};
    if (condition) TRY(leave_shape(call, &symbols[0], condition, &shape));
    if (!condition || condition->dtype != DTYPE_BOOL || !has_one_element(call, &shape))
        return infer_fail(call, INSITU_ARG, "the first region must give one bool");
    if (regions[1]->output_count > call->operand_count)
        return infer_fail(call, INSITU_ARG, "the second region gives %u values of %u operands",
                          regions[1]->output_count, call->operand_count);
    for (uint32_t i = 0; i < regions[1]->output_count; i++) {
        const network_tensor_t *carried = infer_operand(call, i);
        call->results[i] = (inferred_t){carried->dtype, carried->shape};
        TRY(check_type(call, &symbols[1], output_of(regions[1], i), carried->dtype, &carried->shape));
    }
    return INSITU_OK;
}

static insitu_status infer_in_scratch(const infer_call_t *call,
                                      insitu_status (*infer)(const infer_call_t *, arena_t *)) {
    arena_t arena;
    arena_init(&arena);
    insitu_status status = infer(call, &arena);
    arena_release(&arena);
    return status;
}

insitu_status infer_COND(const infer_call_t *call) { return infer_in_scratch(call, infer_cond_in); }
insitu_status infer_LOOP(const infer_call_t *call) { return infer_in_scratch(call, infer_loop_in); }
