/* Expressions, as infix text and as SymPy's constructors: printed and parsed again they are the same, and their values
 * lie in the ranges, and are the truths, that are claimed for all values of the symbols. */
#include "core/core.h"
#include "fuzz.h"
#include "plan_target.h"

#include <string.h>

enum { MAX_SYMBOLS = 64, TRIALS = 8 };

static void check_round_trip(sym_pool_t *pool, sym_t parsed, insitu_diag *diag) {
    text_t printed;
    text_init(&printed);
    sym_print(pool, parsed, &printed);
    fuzz_expect(text_status(&printed, diag) == INSITU_OK, "%s", "not printed");
    const char *cursor = printed.data;
    sym_t again;
    insitu_status status = sym_parse(pool, &cursor, &again, diag);
    if (status == INSITU_OK || !pool->failed) {
        fuzz_expect(status == INSITU_OK && *cursor == 0, "'%s', which was printed, is not parsed: %s", printed.data,
                    status == INSITU_OK ? cursor : diag->message);
        fuzz_expect(sym_same(parsed, again), "'%s', which was printed, is parsed as another expression", printed.data);
    }
    text_release(&printed);
}

static int64_t choose(const symbol_t *symbol, uint32_t trial) {
    static const int64_t choices[TRIALS] = {0, 1, 2, 3, -1, 64, INT64_MAX, INT64_MIN};
    if (choices[trial] < symbol->min) return symbol->min;
    return choices[trial] > symbol->max ? symbol->max : choices[trial];
}

static void check_values(sym_pool_t *pool, sym_t parsed) {
    if (pool->failed || pool->symbol_count > MAX_SYMBOLS) return;
    int64_t least, greatest;
    bool is_number = sym_kind_of(pool, parsed) != SYM_KIND_FLOAT;
    truth_t truth = sym_truth(pool, parsed);
    sym_range(pool, parsed, &least, &greatest);
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        sym_value_t values[MAX_SYMBOLS], value = {0};
        bool bound[MAX_SYMBOLS];
        uint32_t missing;
        for (uint32_t i = 0; i < pool->symbol_count; i++) {
            bound[i] = true;
            values[i] = (sym_value_t){.kind = pool->symbols[i].kind, .f = (double)trial - 2.5};
            if (values[i].kind == SYM_KIND_INT) values[i].i = choose(&pool->symbols[i], (trial + i) % TRIALS);
            if (values[i].kind == SYM_KIND_BOOL) values[i].i = (trial + i) % 2;
        }
        if (!sym_evaluate(pool, parsed, values, bound, &value, &missing)) continue;
        fuzz_expect(value.kind == sym_kind_of(pool, parsed), "a value of kind %d", value.kind);
        if (!is_number) continue;
        fuzz_expect(value.i >= least && value.i <= greatest, "%lld is not in [%lld,%lld]", (long long)value.i,
                    (long long)least, (long long)greatest);
        fuzz_expect(truth == TRUTH_UNKNOWN || (truth == TRUTH_TRUE) == (value.i != 0), "%lld has truth %d",
                    (long long)value.i, (int)truth);
    }
}

/* Symbols with ranges, of which expressions may make use; others are made as they are met. */
static void add_symbols(sym_pool_t *pool) {
    sym_add_symbol(pool, "s0", SYM_KIND_INT, 2, 64);
    sym_add_symbol(pool, "s77", SYM_KIND_INT, 0, INT64_MAX);
    sym_add_symbol(pool, "u0", SYM_KIND_INT, -5, 5);
    sym_add_symbol(pool, "zf0", SYM_KIND_FLOAT, 0, 0);
    sym_add_symbol(pool, "b0", SYM_KIND_BOOL, 0, 1);
}

static void parse(const char *source, bool is_srepr, insitu_diag *diag) {
    sym_pool_t pool;
    sym_t parsed;
    const char *cursor = source;
    fuzz_expect(sym_pool_init(&pool) == INSITU_OK, "no pool");
    add_symbols(&pool);
    insitu_status status =
        is_srepr ? sym_parse_srepr(&pool, source, &parsed, diag) : sym_parse(&pool, &cursor, &parsed, diag);
    if (status == INSITU_OK) status = sym_pool_status(&pool, diag);
    if (fuzz_is_ok(status, diag)) {
        check_round_trip(&pool, parsed, diag);
        check_values(&pool, parsed);
    }
    sym_pool_release(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    char *source = fuzz_text(data, size);
    fuzz_begin(size);
    parse(source, false, &diag);
    parse(source, true, &diag);
    free(source);
    insitu_diag_release(&diag);
    fuzz_end();
    return 0;
}
