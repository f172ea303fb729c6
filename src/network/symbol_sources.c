/* Where the values of a network's symbols come from: the size of an input or a state that is the symbol itself, the size of
 * an input that gives it (2*h, s0 + h where s0 is known), an input that is a number, an item layer. One that is used must
 * have a source; a region's symbols are those of the network around it, or its own items give them. What an item reads while the network runs is no size of what goes in. */
#include "network/network_int.h"

typedef struct sources {
    const network_t *network;
    bool *known; /* by symbol */
    insitu_status fault;
} sources_t;

static void add_source(const sources_t *sources, sym_t value) {
    uint32_t symbol = sym_symbol_index(&sources->network->symbols, value);
    if (symbol != NONE) sources->known[symbol] = true;
}

/* Symbols that sizes of inputs give, once others are known. */
static void solve_sizes(const sources_t *sources) {
    const network_t *network = sources->network;
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < network->tensor_count; i++) {
            const network_tensor_t *tensor = &network->tensors[i];
            for (uint32_t dim = 0; tensor->role == TENSOR_INPUT && dim < tensor->shape.rank; dim++) {
                uint32_t symbol = sym_unknown(&network->symbols, tensor->shape.sizes[dim], sources->known);
                if (symbol == NONE) continue;
                sources->known[symbol] = found = true;
            }
        }
    }
}

static void find_items(const sources_t *sources) {
    const network_t *network = sources->network;
    for (uint32_t i = 0; i < network->layer_count; i++)
        if (network->layers[i].kind == LAYER_ITEM)
            add_source(sources, layer_attr(&network->layers[i], ATTR_SYMBOL).value);
}

static void find_sources(const sources_t *sources) {
    const network_t *network = sources->network;
    for (uint32_t i = 0; i < network->tensor_count; i++) {
        const network_tensor_t *tensor = &network->tensors[i];
        if (tensor->role != TENSOR_INPUT && tensor->role != TENSOR_STATE) continue;
        for (uint32_t dim = 0; dim < tensor->shape.rank; dim++) add_source(sources, tensor->shape.sizes[dim]);
    }
    for (uint32_t i = 0; i < network->input_count; i++)
        if (network->inputs[i].is_scalar) add_source(sources, network->inputs[i].value);
    solve_sizes(sources);
    find_items(sources);
}

bool network_reads_size(const network_t *network, sym_t size) {
    int64_t constant;
    if (sym_constant(&network->symbols, size, &constant)) return false;
    for (uint32_t i = 0; i < network->layer_count; i++) {
        if (network->layers[i].kind != LAYER_ITEM) continue;
        uint32_t symbol = sym_symbol_index(&network->symbols, layer_attr(&network->layers[i], ATTR_SYMBOL).value);
        if (symbol != NONE && sym_uses(&network->symbols, size, symbol)) return true;
    }
    return false;
}

/* what: who uses the expression. */
static insitu_status check_use(const sources_t *sources, sym_t value, const char *what, const char *name,
                               insitu_diag *diag) {
    const sym_pool_t *pool = &sources->network->symbols;
    for (uint32_t symbol = 0; symbol < pool->symbol_count; symbol++) {
        if (sources->known[symbol] || !sym_uses(pool, value, symbol)) continue;
        FAIL(diag, sources->fault,
             "%s '%s' uses the symbol '%s', which has no value: no size of an input or state is or gives it", what,
             name, pool->symbols[symbol].name);
    }
    return INSITU_OK;
}

static insitu_status check_layer(const sources_t *sources, const layer_t *layer, insitu_diag *diag) {
    for (uint32_t i = 0; i < layer_info_of(layer->kind)->attr_count; i++) {
        const attr_t *value = &layer->attrs[i];
        if (value->kind == ATTR_KIND_SYM) TRY(check_use(sources, value->value, "layer", layer->name, diag));
        for (uint32_t j = 0; value->kind == ATTR_KIND_SYMS && j < value->list.count; j++)
            TRY(check_use(sources, value->list.items[j], "layer", layer->name, diag));
    }
    return INSITU_OK;
}

static insitu_status check_uses(const sources_t *sources, insitu_diag *diag) {
    const network_t *network = sources->network;
    for (uint32_t i = 0; i < network->tensor_count; i++)
        for (uint32_t dim = 0; dim < network->tensors[i].shape.rank; dim++)
            TRY(check_use(sources, network->tensors[i].shape.sizes[dim], "tensor", network->tensors[i].name, diag));
    for (uint32_t i = 0; i < network->layer_count; i++) TRY(check_layer(sources, &network->layers[i], diag));
    for (uint32_t i = 0; i < network->assert_count; i++)
        TRY(check_use(sources, network->asserts[i].condition, "assertion", network->asserts[i].message, diag));
    for (uint32_t i = 0; i < network->output_count; i++)
        if (network->outputs[i].kind == OUTPUT_NUMBER)
            TRY(check_use(sources, network->outputs[i].value, "output", network->outputs[i].name, diag));
    return INSITU_OK;
}

/* What is known outside, and what the region reads, which must not be the same symbol. */
static insitu_status enter_region(const sources_t *sources, const sources_t *outer, arena_t *scratch,
                                  insitu_diag *diag) {
    const sym_pool_t *pool = &sources->network->symbols;
    bool *is_read;
    TRY(arena_array(scratch, pool->symbol_count + 1, sizeof(bool), &is_read));
    network_find_read(sources->network, is_read);
    for (uint32_t i = 0; i < pool->symbol_count; i++) {
        uint32_t same = sym_find_symbol(&outer->network->symbols, pool->symbols[i].name);
        sources->known[i] = same != NONE && outer->known[same];
        if (sources->known[i] && is_read[i])
            FAIL(diag, sources->fault, "a region reads the symbol '%s', which has a value outside of it",
                 pool->symbols[i].name);
    }
    find_items(sources);
    return INSITU_OK;
}

/* outer: of the network around it; NULL. */
static insitu_status check_network(const network_t *network, const sources_t *outer, insitu_status fault,
                                   arena_t *scratch, uint32_t depth, insitu_diag *diag) {
    sources_t sources = {.network = network, .fault = fault};
    if (depth > MAX_REGION_DEPTH) return INSITU_OK; /* the verifier says so */
    TRY(arena_array(scratch, network->symbols.symbol_count + 1, sizeof(bool), &sources.known));
    if (outer)
        TRY(enter_region(&sources, outer, scratch, diag));
    else
        find_sources(&sources);
    TRY(check_uses(&sources, diag));
    for (uint32_t i = 0; i < network->region_count; i++)
        TRY(check_network(network->regions[i], &sources, fault, scratch, depth + 1, diag));
    return INSITU_OK;
}

insitu_status network_check_symbols(const network_t *network, insitu_status fault, insitu_diag *diag) {
    arena_t scratch;
    arena_init(&scratch);
    insitu_status status = check_network(network, NULL, fault, &scratch, 0, diag);
    arena_release(&scratch);
    return status;
}
