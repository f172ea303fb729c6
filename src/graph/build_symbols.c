/* A graph's symbols with their ranges, from the program's range_constraints: "s77 in [2, 8]", "8*s39 in [8, 24]".
 *
 * torch.export takes a size that is not 0 or 1 to be at least 2, and writes that as the range of its symbol. A size that the
 * program's author gave as an expression of a dimension (8*h, h >= 1) keeps the author's range under the expression's text:
 * where that one allows a symbol of 1 or 0, the symbol may be that, as PyTorch's own check of the program's inputs has it. */
#include "graph/build_int.h"

enum { SPECIALISED_MIN = 2 }; /* the least size that is not treated as a constant */

/* Does the range of an expression of this symbol alone allow the value? Text that can't be read allows nothing. */
static insitu_status expression_allows(const archive_range_t *range, const char *symbol, int64_t value,
                                       bool *out_allows) {
    sym_pool_t pool;
    sym_t expression;
    int64_t size;
    *out_allows = false;
    TRY(sym_pool_init(&pool));
    const char *text = range->expression;
    insitu_status status = sym_parse(&pool, &text, &expression, NULL);
    uint32_t index = status == INSITU_OK && !*text ? sym_find_symbol(&pool, symbol) : NONE;
    if (index != NONE && sym_gives(&pool, expression, index)) {
        sym_t at_value = sym_replace(&pool, expression, index, sym_int(&pool, value));
        *out_allows = !pool.failed && sym_constant(&pool, at_value, &size) && range->min <= size && size <= range->max;
    }
    sym_pool_release(&pool);
    return status == INSITU_NOMEM ? status : INSITU_OK;
}

static insitu_status find_least(const builder_t *builder, const archive_range_t *symbol, int64_t *out_min) {
    const archive_program_t *program = builder->program;
    *out_min = symbol->min;
    if (symbol->min != SPECIALISED_MIN) return INSITU_OK;
    for (uint32_t i = 0; i < program->range_count; i++) {
        const archive_range_t *range = &program->ranges[i];
        bool allows = !is_symbol_name(range->expression);
        for (int64_t value = SPECIALISED_MIN - 1; allows && value >= 0; value--) {
            TRY(expression_allows(range, symbol->expression, value, &allows));
            if (allows && value < *out_min) *out_min = value;
        }
    }
    return INSITU_OK;
}

insitu_status build_symbols(builder_t *builder, graph_t *graph) {
    const archive_program_t *program = builder->program;
    for (uint32_t i = 0; i < program->range_count; i++) {
        const archive_range_t *range = &program->ranges[i];
        int64_t min;
        if (!is_symbol_name(range->expression)) continue;
        bool is_float = strncmp(range->expression, "zf", 2) == 0 || strncmp(range->expression, "zuf", 3) == 0;
        if (range->min > range->max)
            FAIL(builder->diag, INSITU_FORMAT, "the range of symbol '%s' is empty", range->expression);
        TRY(find_least(builder, range, &min));
        if (is_float)
            sym_add_symbol(graph->symbols, range->expression, SYM_KIND_FLOAT, INT64_MIN, INT64_MAX);
        else
            sym_add_symbol(graph->symbols, range->expression, SYM_KIND_INT, min, range->max);
    }
    return sym_pool_status(graph->symbols, builder->diag);
}
