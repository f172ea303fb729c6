/* Whatever can be known when a layer is added is refused there: each function of insitu/layers.h with each of its arguments
 * made wrong in turn. The sentence names the layer, and the network stays as it was. */
#include "network_fixture.h"

#include "core/core.h"
#include "layer_calls.h"

typedef struct bench {
    built_t *b;
    insitu_value inputs[16];
    char *before; /* the network's text */
} bench_t;

static void add_inputs(bench_t *bench) {
    for (size_t i = 0; i < LETTER_TYPE_COUNT; i++) {
        const letter_type_t *type = &LETTER_TYPES[i];
        insitu_number sizes[4];
        char name[2] = {type->letter, '\0'};
        for (int32_t d = 0; d < type->rank; d++) sizes[d] = insitu_int(type->sizes[d]);
        must(bench->b, insitu_network_add_input(bench->b->network, name, type->dtype, type->rank, sizes,
                                                &bench->inputs[i], &bench->b->diag));
    }
    must(bench->b, insitu_network_print(bench->b->network, &bench->before, &bench->b->diag));
}

static void expect_unchanged(bench_t *bench, const char *what) {
    char *after;
    must(bench->b, insitu_network_print(bench->b->network, &after, &bench->b->diag));
    if (strcmp(bench->before, after) != 0) fail_msg("%s changed the network to\n%s", what, after);
    insitu_text_free(after);
}

/* The call fails, and says so of its layer. */
static void refused(bench_t *bench, const layer_call_t *row, const layer_arguments_t *given, const char *what) {
    layer_results_t results = {{{7}, {7}}, {0}, false};
    insitu_diag *diag = &bench->b->diag;
    insitu_status status = row->call(bench->b->network, given, &results, diag);
    bool is_named = strstr(diag->message, row->name) != NULL;
    /* kv_cache_update is made of other layers, scaled_sum and binary_scalar are binary ones */
    if (strncmp(row->name, "binary", 6) == 0 || strcmp(row->name, "scaled_sum") == 0)
        is_named = strstr(diag->message, "binary") != NULL || strstr(diag->message, row->name) != NULL;
    if (status != INSITU_ARG && status != INSITU_SHAPE)
        fail_msg("%s, %s: %s '%s'", row->name, what, insitu_status_name(status),
                 status == INSITU_OK ? "" : diag->message);
    if (!is_named) fail_msg("%s, %s: '%s' does not name the layer", row->name, what, diag->message);
    if (strstr(diag->message, "nests deeper")) fail_msg("%s, %s: '%s'", row->name, what, diag->message);
    if (!row->uses || !(row->uses & USES_NAME)) assert_int_equal(results.values[0].id, 0);
    expect_unchanged(bench, what);
}

#define WRONG(what, change)                                                                                            \
    do {                                                                                                               \
        layer_arguments_t bad = good;                                                                                  \
        change;                                                                                                        \
        refused(bench, row, &bad, what);                                                                               \
    } while (0)

static void wrong_operands(bench_t *bench, const layer_call_t *row) {
    const layer_arguments_t good = layer_call_good(row, bench->inputs);
    for (size_t i = 0; row->operands[i]; i++) {
        bool is_optional = row->operands[i] >= 'a';
        if (!is_optional) WRONG("an operand that is none", bad.operands[i].id = 0);
        WRONG("an operand of another network", bad.operands[i].id = 1000);
        WRONG("an operand of another network", bad.operands[i].id = UINT32_MAX);
    }
    if (!(row->uses & USES_LIST)) return;
    insitu_value some[16] = {good.values[0], {1000}};
    WRONG("no list of operands", bad.values = NULL);
    WRONG("a count below 0", bad.value_count = bad.dim_count = -1);
    WRONG("no operands", bad.value_count = bad.dim_count = 0);
    WRONG("a listed operand of another network", bad.values = some);
    some[1].id = 0;
    WRONG("a listed operand that is none", bad.values = some);
}

static void wrong_words(bench_t *bench, const layer_call_t *row) {
    const layer_arguments_t good = layer_call_good(row, bench->inputs);
    static const insitu_dtype dtypes[] = {
        {INSITU_CODE_FLOAT, 24, 1}, {INSITU_CODE_INT, 32, 4}, {250, 8, 1}, {INSITU_CODE_FLOAT, 0, 1}, {0, 0, 0}};
    if (row->uses & USES_OP) {
        WRONG("no op", bad.op = NULL);
        WRONG("an empty op", bad.op = "");
        WRONG("an unknown op", bad.op = "twice");
        WRONG("the op of another layer", bad.op = strcmp(good.op, "max") == 0 ? "constant" : "max_pool");
    }
    for (size_t i = 0; row->uses & USES_DTYPE && i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        WRONG("an unknown dtype", bad.dtype = dtypes[i]);
}

static void wrong_dims(bench_t *bench, const layer_call_t *row) {
    const layer_arguments_t good = layer_call_good(row, bench->inputs);
    static const int32_t outside[] = {-1, 4, INT32_MIN, INT32_MAX};
    static const int32_t twice[16] = {0, 0}, high[16] = {0, 2}, low[16] = {-1, 0};
    for (size_t i = 0; i < 4; i++) {
        if (row->uses & USES_DIM) WRONG("a dim outside", bad.dim = outside[i]);
        if (row->uses & USES_DIM2) WRONG("a second dim outside", bad.dim2 = outside[i]);
        if (row->uses & USES_COUNT) WRONG("a count outside", bad.count = outside[i]);
    }
    if (row->uses & USES_COUNT) WRONG("a count of 0", bad.count = 0);
    if (row->uses & USES_DIM2) WRONG("one dim twice", bad.dim2 = bad.dim);
    if (!(row->uses & USES_DIMS)) return;
    WRONG("no dims", bad.dims = NULL);
    WRONG("dims twice", bad.dims = twice);
    WRONG("a dim above", bad.dims = high);
    WRONG("a dim below", bad.dims = low);
    WRONG("a count below 0", bad.dim_count = -1);
    WRONG("a count above", bad.dim_count = 13);
    WRONG("a large count", bad.dim_count = INT32_MAX);
}

/* Numbers that are no sizes, as item number at of a list of two. */
static void wrong_sizes(bench_t *bench, const layer_call_t *row, bool is_second) {
    const layer_arguments_t good = layer_call_good(row, bench->inputs);
    insitu_number wrong[] = {insitu_int(-1),
                             insitu_int(INT64_MIN),
                             insitu_int(INT64_MAX),
                             insitu_float(4),
                             insitu_bool(true),
                             {.kind = INSITU_NUMBER_EXPRESSION, .of = {.integer = 1 << 20}},
                             {.kind = INSITU_NUMBER_EXPRESSION, .of = {.integer = -1}},
                             {.kind = INSITU_NUMBER_EXPRESSION, .of = {.integer = INT64_MAX}},
                             {.kind = (insitu_number_kind)9}};
    WRONG("no sizes", *(is_second ? &bad.second : &bad.first) = NULL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        for (size_t at = 0; at < 2; at++) {
            insitu_number sizes[2] = {(is_second ? good.second : good.first)[0],
                                      (is_second ? good.second : good.first)[1]};
            sizes[at] = wrong[i];
            WRONG("a wrong size", *(is_second ? &bad.second : &bad.first) = sizes);
        }
    WRONG("a rank below 0", bad.rank = -1);
    WRONG("a rank above", bad.rank = 13);
    WRONG("a large rank", bad.rank = INT32_MAX);
}

static void wrong_numbers(bench_t *bench, const layer_call_t *row) {
    const layer_arguments_t good = layer_call_good(row, bench->inputs);
    static const unsigned uses[3] = {USES_START, USES_END, USES_STEP};
    for (size_t i = 0; i < 3; i++) {
        if (!(row->uses & uses[i])) continue;
        if (i == 2 && strcmp(row->name, "iota") != 0) {
            WRONG("a step of 0", bad.integers[0] = 0);
            WRONG("a step below 0", bad.integers[0] = -1);
            WRONG("the least step", bad.integers[0] = INT64_MIN);
            continue;
        }
        WRONG("an expression of another network",
              bad.numbers[i] = ((insitu_number){.kind = INSITU_NUMBER_EXPRESSION, .of = {.integer = 1 << 20}}));
        WRONG("a number of no kind", bad.numbers[i] = ((insitu_number){.kind = (insitu_number_kind)-3}));
    }
}

static void wrong_windows(bench_t *bench, const layer_call_t *row) {
    const layer_arguments_t good = layer_call_good(row, bench->inputs);
    static const int64_t zero[1] = {0}, below[1] = {-1}, large[1] = {INT64_MAX}, more[1] = {9};
    insitu_window window = *good.window;
#define WINDOW(what, change)                                                                                           \
    do {                                                                                                               \
        window = *good.window;                                                                                         \
        change;                                                                                                        \
        WRONG(what, bad.window = &window);                                                                             \
    } while (0)
    bool is_pool = strcmp(row->name, "pool") == 0;
    WINDOW("a window without size", window.struct_size = 0);
    WINDOW("a window of a later version", window.struct_size = 1000);
    WINDOW("a stride of 0", window.stride = zero);
    WINDOW("a large stride", window.stride = large);
    WINDOW("padding below 0", window.padding = below);
    WINDOW("large padding", window.padding = large);
    WINDOW("a dilation of 0", window.dilation = zero);
    WINDOW("a large dilation", window.dilation = large);
    WINDOW("a dilation that goes beyond", window.dilation = more);
    WINDOW("groups below 0", window.groups = -1);
    if (is_pool) WINDOW("no kernel", window.kernel = NULL);
    if (is_pool) WINDOW("a kernel of 0", window.kernel = zero);
    if (is_pool) WINDOW("a kernel beyond the size", window.kernel = more);
    if (is_pool) WRONG("no window", bad.window = NULL);
    if (!is_pool) WINDOW("a kernel", window.kernel = more);
    if (!is_pool) WINDOW("groups that don't divide", window.groups = 3);
    if (!is_pool) WINDOW("output padding below 0", window.output_padding = below);
#undef WINDOW
}

static void wrong_names(bench_t *bench, const layer_call_t *row) {
    const layer_arguments_t good = layer_call_good(row, bench->inputs);
    static const char *const names[] = {"", "2n", "n m", "max", "true", "a.b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        layer_results_t results;
        layer_arguments_t bad = good;
        bad.name = names[i];
        assert_int_equal(row->call(bench->b->network, &bad, &results, &bench->b->diag), INSITU_ARG);
        expect_unchanged(bench, names[i]);
    }
    WRONG("no name", bad.name = NULL);
    layer_results_t results;
    layer_arguments_t bad = good;
    bad.min = 2, bad.max = 1;
    assert_int_equal(row->call(bench->b->network, &bad, &results, &bench->b->diag), INSITU_ARG);
    expect_unchanged(bench, "an empty range");
}

static void every_layer(void **state) {
    bench_t bench = {.b = *state};
    add_inputs(&bench);
    for (size_t i = 0; i < LAYER_CALL_COUNT; i++) {
        const layer_call_t *row = &LAYER_CALLS[i];
        wrong_operands(&bench, row);
        wrong_words(&bench, row);
        wrong_dims(&bench, row);
        if (row->uses & USES_SIZES) wrong_sizes(&bench, row, false);
        if (row->uses & USES_AFTER) wrong_sizes(&bench, row, true);
        wrong_numbers(&bench, row);
        if (row->uses & USES_WINDOW) wrong_windows(&bench, row);
        if (row->uses & USES_NAME) wrong_names(&bench, row);
    }
    insitu_text_free(bench.before);
    for (size_t i = 0; i < LAYER_CALL_COUNT; i++) { /* after all that, every layer can be added */
        layer_arguments_t good = layer_call_good(&LAYER_CALLS[i], bench.inputs);
        layer_results_t results = {{{0}, {0}}, {0}, false};
        must(bench.b, LAYER_CALLS[i].call(bench.b->network, &good, &results, &bench.b->diag));
        if (!results.values[0].id) continue;
        char name[64];
        snprintf(name, sizeof(name), "%s out", LAYER_CALLS[i].name);
        must(bench.b, insitu_network_mark_output(bench.b->network, results.values[0], name, &bench.b->diag));
    }
    insitu_engine *engine;
    must(bench.b, insitu_network_compile(bench.b->network, NULL, &engine, &bench.b->diag));
    insitu_engine_destroy(engine);
}

/* No row of the table of layers is without a call. */
static void table_is_whole(void **state) {
    (void)state;
    static const char *const kinds[] = {
#define LAYER(id, name, min_operands, max_operands, results, traits, ...) ((traits) & TRAIT_REGIONS) ? NULL : name,
#include "core/layers.def"
#undef LAYER
    };
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        if (!kinds[k]) continue; /* regions come of text, and of programs */
        bool is_there = false;
        for (size_t i = 0; i < LAYER_CALL_COUNT; i++) is_there |= strcmp(LAYER_CALLS[i].name, kinds[k]) == 0;
        if (!is_there) fail_msg("layer_calls.c has no row for %s", kinds[k]);
    }
}

/* ---- enormous sizes ---- */

#define BAD(name, expected, words, ...)                                                                                \
    REFUSED(insitu_network_add_##name(b->network, __VA_ARGS__, &r, &b->diag), expected, words)
#define N(number) insitu_int(number)
#define P(power) insitu_int(INT64_C(1) << (power))
#define TOO_LARGE "more bytes than the 2^56 of the largest tensor"

static insitu_value input(built_t *b, const char *name, insitu_dtype type, int32_t ndim, const insitu_number *sizes) {
    insitu_value value;
    must(b, insitu_network_add_input(b->network, name, type, ndim, sizes, &value, &b->diag));
    return value;
}

static void enormous_sources(void **state) {
    built_t *b = *state;
    insitu_value r;
    const insitu_number most = N(INT64_MAX);
    BAD(fill, INSITU_SHAPE, "fill(): f32[4611686018427387904,8] has " TOO_LARGE, F32, NUMBERS(P(62), N(8)), N(0));
    BAD(fill, INSITU_SHAPE, "fill(): i64[9223372036854775807] has " TOO_LARGE, I64, NUMBERS(most), N(0));
    BAD(fill, INSITU_SHAPE, "fill(): bool[0,9223372036854775807,9223372036854775807] has " TOO_LARGE, BOOL,
        NUMBERS(N(0), most, most), N(0));
    BAD(fill, INSITU_SHAPE, TOO_LARGE, F32, NUMBERS(P(55)), N(0));
    BAD(empty, INSITU_SHAPE, "empty(): f32[2147483648,2147483648] has " TOO_LARGE, F32, NUMBERS(P(31), P(31)));
    BAD(empty, INSITU_SHAPE, TOO_LARGE, F32, 12,
        ((insitu_number[]){P(62), P(62), P(62), P(62), P(62), P(62), P(62), P(62), P(62), P(62), P(62), P(62)}));
    BAD(iota, INSITU_SHAPE, "iota(): i64[9223372036854775807] has " TOO_LARGE, I64, most, N(0), N(1));
    BAD(iota, INSITU_ARG, "iota(): element 3 of i64[4], 9223372036854775800 + 3*5, is beyond 64 bits", I64, N(4),
        N(INT64_MAX - 7), N(5));
    BAD(iota, INSITU_ARG, "beyond 64 bits", I64, N(3), N(0), N(INT64_MIN));
    BAD(iota, INSITU_ARG, "beyond 64 bits", INSITU_DTYPE_I32, P(40), N(0), N(INT64_MAX));
    assert_int_equal(insitu_network_layer_count(b->network), 0);
    must(b, insitu_network_add_iota(b->network, I64, N(3), N(INT64_MAX - 2), N(1), &r, &b->diag));
    expect(b, r, I64, SIZES(3), INTS(INT64_MAX - 2, INT64_MAX - 1, INT64_MAX));
}

static void enormous_results(void **state) {
    built_t *b = *state;
    insitu_value r;
    insitu_value x = input(b, "x", F32, NUMBERS(N(2), N(3))), wide = input(b, "wide", F32, NUMBERS(P(50), N(1)));
    insitu_value row = input(b, "row", F32, NUMBERS(N(1), P(50))), line = input(b, "line", F32, NUMBERS(P(53)));
    insitu_value bytes = input(b, "bytes", BOOL, NUMBERS(P(55), N(1)));
    const insitu_number most[2] = {N(INT64_MAX), N(0)}, zero[2] = {N(0), N(0)}, large[2] = {P(60), N(0)};
    BAD(pad, INSITU_SHAPE, "pad(f32[2,3]): f32[9223372036854775807 + 2,3] has " TOO_LARGE, "constant", x, 2, most, zero,
        N(0));
    BAD(pad, INSITU_SHAPE, TOO_LARGE, "constant", x, 2, most, most, N(0));
    BAD(pad, INSITU_SHAPE, TOO_LARGE, "replicate", x, 2, zero, large, N(0));
    BAD(reshape, INSITU_SHAPE, "reshape(f32[2,3]): f32[4611686018427387904,8] has " TOO_LARGE, x, NUMBERS(P(62), N(8)));
    BAD(expand, INSITU_SHAPE, "expand(f32[1125899906842624,1]): f32[1125899906842624,1125899906842624] has " TOO_LARGE,
        wide, NUMBERS(P(50), P(50)));
    BAD(matmul, INSITU_SHAPE, "f32[1125899906842624,1125899906842624] has " TOO_LARGE, wide, row, insitu_no_value());
    BAD(cast, INSITU_SHAPE, "cast(bool[36028797018963968,1]): f32[36028797018963968,1] has " TOO_LARGE, bytes, F32);
    BAD(concat, INSITU_SHAPE, TOO_LARGE, 3, ((insitu_value[]){line, line, line}), 0);
    BAD(unfold, INSITU_SHAPE, TOO_LARGE, line, 0, INT64_C(1) << 40, 1);
    BAD(as_strided, INSITU_SHAPE, "as_strided(f32[9007199254740992]): a size of it is too large", line, NUMBERS(P(53)),
        most, N(0));
    BAD(reduce_index, INSITU_ARG, "op must be amax or amin", "sum", x, 0, false, &r);
    assert_int_equal(insitu_network_layer_count(b->network), 0);
}

static void enormous_tensors(void **state) {
    built_t *b = *state;
    insitu_value r;
    insitu_number n;
    BAD(input, INSITU_SHAPE, "input 'x': f32[4611686018427387904,8] has " TOO_LARGE, "x", F32, NUMBERS(P(62), N(8)));
    BAD(state, INSITU_SHAPE, "state 'x': bool[9223372036854775807] has " TOO_LARGE, "x", BOOL, NUMBERS(N(INT64_MAX)),
        NULL, 0);
    BAD(constant, INSITU_SHAPE, "constant 'x': f64[36028797018963968] has " TOO_LARGE, "x", INSITU_DTYPE_F64,
        SIZES(INT64_C(1) << 55), "", 0);
    /* sizes that vary, but are known to be large */
    must(b, insitu_network_add_symbol(b->network, "n", INT64_C(1) << 40, INT64_C(1) << 50, &n, &b->diag));
    BAD(input, INSITU_SHAPE, "input 'x': f32[n,n] has " TOO_LARGE, "x", F32, NUMBERS(n, n));
    BAD(fill, INSITU_SHAPE, "fill(): f32[n,n] has " TOO_LARGE, F32, NUMBERS(n, n), N(0));
    BAD(fill, INSITU_SHAPE, "fill(): f32[n,65536] has " TOO_LARGE, F32, NUMBERS(n, P(16)), N(0));
    must(b, insitu_network_add_input(b->network, "x", F32, NUMBERS(n), &r, &b->diag));
    must(b, insitu_network_add_fill(b->network, F32, NUMBERS(n), N(0), &r, &b->diag));
    insitu_network *parsed;
    REFUSED(insitu_network_parse("network\ninput \"x\" = %x: f32[4611686018427387904,8]\noutput \"y\" = %x\n", &parsed,
                                 &b->diag),
            INSITU_SHAPE, TOO_LARGE);
}

/* What is too large is refused before any layer that a call is made of is added. */
static void kv_cache_is_whole(void **state) {
    built_t *b = *state;
    insitu_number n;
    insitu_value r;
    must(b, insitu_network_add_symbol(b->network, "n", 1, -1, &n, &b->diag));
    insitu_value cache = input(b, "cache", F32, NUMBERS(n, N(2), N(8), N(4)));
    insitu_value rows = input(b, "rows", F32, NUMBERS(N(2), N(2), N(1), N(4)));
    insitu_value indices = input(b, "indices", I64, NUMBERS(N(3)));
    insitu_value bits = input(b, "bits", BOOL, NUMBERS(P(30), N(0), P(25), N(1)));
    insitu_value many = input(b, "many", I64, NUMBERS(P(30)));
    BAD(kv_cache_update, INSITU_SHAPE, "kv_cache_update(f32[n,2,8,4], f32[2,2,1,4], i64[3])", cache, rows, indices,
        INSITU_CACHE_BHSD);
    BAD(kv_cache_update, INSITU_SHAPE, "has " TOO_LARGE, bits, bits, many, INSITU_CACHE_BHSD);
    BAD(kv_cache_update, INSITU_ARG, "there is no layout 7", cache, rows, indices, (insitu_cache_layout)7);
    assert_int_equal(insitu_network_layer_count(b->network), 0);
}

/* ---- expressions and symbols ---- */

static void expressions(void **state) {
    built_t *b = *state;
    insitu_number n, r;
    must(b, insitu_network_add_symbol(b->network, "n", 0, 8, &n, &b->diag));
#define NO_VALUE(text, part) BAD(expression, INSITU_ARG, "the expression '" text "' has no value: " part, text)
    NO_VALUE("5//0", "5 // 0");
    NO_VALUE("1/0", "1 / 0");
    NO_VALUE("5 % 0", "5 % 0");
    NO_VALUE("1.5 / 0", "1.5 / 0");
    NO_VALUE("5.0 // 0", "5.0 // 0.0");
    NO_VALUE("n // 0", "n // 0");
    NO_VALUE("n % 0", "n % 0");
    NO_VALUE("n / 0", "n / 0");
    NO_VALUE("1 + n // 0", "n // 0");
    NO_VALUE("n + 7 % 0", "7 % 0");
    NO_VALUE("where(n < 4, 5 // 0, 1 // 0)", "5 // 0");
    NO_VALUE("9223372036854775807+1", "9223372036854775807 + 1");
    NO_VALUE("9223372036854775807*2", "9223372036854775807 + 9223372036854775807");
    NO_VALUE("-9223372036854775808 - 1", "-9223372036854775808 - 1");
    NO_VALUE("-9223372036854775808 // -1", "9223372036854775807 + 1");
    NO_VALUE("abs(-9223372036854775808)", "9223372036854775807 + 1");
    NO_VALUE("1 << -1", "1 << -1");
    NO_VALUE("1 << 63", "1 << 63");
    NO_VALUE("n << -1", "n << -1");
    NO_VALUE("n >> -2", "n >> -2");
    NO_VALUE("pow(2, -1)", "pow(2, -1)");
    NO_VALUE("pow(n, -1)", "pow(n, -1)");
    NO_VALUE("pow(0.0, -1)", "pow(0.0, -1)");
    NO_VALUE("pow(3, 40)", "pow(3, 40)");
    NO_VALUE("trunc(inf)", "trunc(inf)");
    NO_VALUE("floor(1e300)", "floor(");
    NO_VALUE("1.5 << 2", "1.5 << 2");
    NO_VALUE("n + 9223372036854775807 + 1", "");
    NO_VALUE("n // (n - n)", "n // 0");
    BAD(expression, INSITU_FORMAT, "a number out of range", "9223372036854775808");
    BAD(expression, INSITU_FORMAT, "too large a number", "9223372036854775807*9223372036854775807*n");
    BAD(expression, INSITU_FORMAT, "expression", "");
    BAD(expression, INSITU_FORMAT, "expression", "max()");
    BAD(expression, INSITU_FORMAT, "too many arguments", "pow(n, 1, 2, 3)");
    BAD(expression, INSITU_ARG, "'m'", "n + m");
    static const char *const fine[] = {"n // 2",
                                       "5 // 3",
                                       "n % 4 == 0",
                                       "1.0 / 3",
                                       "-9223372036854775808",
                                       "pow(n, 2)",
                                       "pow(2, 62)",
                                       "1 << 62",
                                       "n << 2",
                                       "n // (n - 4)",
                                       "pow(2, 0.5)",
                                       "max(n - 4, 0)",
                                       "float(n) / 2",
                                       "where(n < 4, 5 // 0, 1)"};
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        must(b, insitu_network_add_expression(b->network, fine[i], &r, &b->diag));
}

static void faults_in_text(void **state) {
    built_t *b = *state;
    insitu_network *parsed;
    static const char *const lines[] = {"%r: f32[5 // 0] = fill() {dtype=f32, sizes=[5 // 0], value=0}",
                                        "%r: f32[4] = binary(%x) {op=add, scalar=5 // 0}",
                                        "%r: f32[1,2,1,1] = attention(%q, %k, %k) {causal=false, scale=1.0}"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "network\ninput \"x\" = %%x: f32[4]\ninput \"q\" = %%q: f32[1,2,1,1]\n"
                 "input \"k\" = %%k: f32[1,0,1,1]\n%s\n",
                 lines[i]);
        insitu_status status = insitu_network_parse(text, &parsed, &b->diag);
        if (status == INSITU_OK || !strstr(b->diag.message, "has no value"))
            fail_msg("%s: %s '%s'", lines[i], insitu_status_name(status), b->diag.message);
    }
}

/* Names of imported states and buffers, which may not be those of their tensors. */
static void taken_names(void **state) {
    built_t *b = *state;
    static const char text[] = "network\nrecord \"w\": f32, 4 bytes\nstate \"kept\" = %k: f32[1] of zeros\n"
                               "buffer \"w.b\": f32[1] of record 0\n";
    insitu_network *parsed;
    insitu_value v;
    insitu_number one = N(1);
    must(b, insitu_network_parse(text, &parsed, &b->diag));
    REFUSED(insitu_network_add_state(parsed, "kept", F32, 1, &one, NULL, 0, &v, &b->diag), INSITU_ARG, "'kept'");
    REFUSED(insitu_network_add_state(parsed, "w.b", F32, 1, &one, NULL, 0, &v, &b->diag), INSITU_ARG, "'w.b'");
    REFUSED(insitu_network_add_state(parsed, "k", F32, 1, &one, NULL, 0, &v, &b->diag), INSITU_ARG, "'k'");
    must(b, insitu_network_add_state(parsed, "free", F32, 1, &one, NULL, 0, &v, &b->diag));
    must(b, insitu_network_add_fill(parsed, F32, 1, &one, N(0), &v, &b->diag));
    must(b, insitu_network_set_name(parsed, v, "first", &b->diag));
    must(b, insitu_network_set_name(parsed, v, "second", &b->diag));
    must(b, insitu_network_add_state(parsed, "first", F32, 1, &one, NULL, 0, &v, &b->diag)); /* free again */
    assert_int_equal(insitu_network_find(parsed, "first").id, v.id);
    insitu_network_destroy(parsed);
}

/* What a layer reads is known too late to be the size of what goes in. */
static void read_sizes(void **state) {
    built_t *b = *state;
    insitu_number u, more;
    insitu_value r, v, x = input(b, "x", I64, NUMBERS(N(1)));
    must(b, insitu_network_add_item(b->network, x, "u", 0, 8, &u, &b->diag));
    must(b, insitu_network_add_expression(b->network, "u + 1", &more, &b->diag));
    BAD(input, INSITU_ARG, "input 'y': size 1 is a number that the network reads from a tensor", "y", F32,
        NUMBERS(N(2), u));
    REFUSED(insitu_network_add_input(b->network, "y", F32, NUMBERS(more), &v, &b->diag), INSITU_ARG, "reads");
    REFUSED(insitu_network_add_state(b->network, "y", F32, NUMBERS(u), NULL, 0, &v, &b->diag), INSITU_ARG, "reads");
    must(b, insitu_network_add_fill(b->network, F32, NUMBERS(u), N(0), &v, &b->diag));
    insitu_network *parsed;
    REFUSED(insitu_network_parse("network\nsymbol u: int in 0..8\ninput \"x\" = %x: i64[1]\n"
                                 "input \"y\" = %y: f32[u]\nitem(%x) {symbol=u}\noutput \"z\" = %y\n",
                                 &parsed, &b->diag),
            INSITU_FORMAT, "size 0 of %y is a number that the network reads from a tensor");
}

static void negative_ranges(void **state) {
    built_t *b = *state;
    insitu_number n, less, r;
    insitu_value v;
    must(b, insitu_network_add_symbol(b->network, "n", 0, 8, &n, &b->diag));
    must(b, insitu_network_add_expression(b->network, "n - 9", &less, &b->diag));
    REFUSED(insitu_network_add_input(b->network, "x", F32, NUMBERS(N(2), less), &v, &b->diag), INSITU_SHAPE,
            "input 'x': size 1 is n - 9, below 0");
    REFUSED(insitu_network_add_fill(b->network, F32, NUMBERS(less), N(0), &v, &b->diag), INSITU_SHAPE, "fill()");
    BAD(symbol, INSITU_ARG, "'m' has the empty range [5, 4]", "m", 5, 4);
    BAD(symbol, INSITU_ARG, "'m' is a size", "m", -1, 4);
    BAD(symbol, INSITU_ARG, "'m' has the empty range [0, -2]", "m", 0, -2);
}

static void symbol_names(void **state) {
    built_t *b = *state;
    insitu_number r;
    insitu_value x = input(b, "x", I64, NUMBERS(N(1)));
    static const char *const words[] = {"max",   "min", "where", "pow", "float", "trunc", "abs",  "bitand", "sqrt",
                                        "asinh", "and", "or",    "not", "inf",   "nan",   "true", "exp",    "round",
                                        "log2",  "sin", "",      "n.m", "2n",    "n m",   "%n"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        BAD(symbol, INSITU_ARG, "is no name for a symbol", words[i], 0, -1);
        BAD(item, INSITU_ARG, "is no name for a symbol", x, words[i], 0, -1);
        if (words[i][0]) BAD(number, INSITU_ARG, "is no name for a symbol", words[i], I64, 0, -1);
    }
    static const char *const fine[] = {"maximum", "Max", "f32", "i64", "e", "number", "none", "int", "n_1", "_"};
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
        must(b, insitu_network_add_number(b->network, fine[i], I64, 0, -1, &r, &b->diag));
        must(b, insitu_network_add_fill(b->network, F32, 1, &r, N(0), &x, &b->diag));
        must(b, insitu_network_add_binary_scalar(b->network, "add", x, r, false, &x, &b->diag));
    }
    char *text;
    insitu_network *again;
    must(b, insitu_network_print(b->network, &text, &b->diag));
    must(b, insitu_network_parse(text, &again, &b->diag));
    insitu_network_destroy(again);
    insitu_text_free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {CASE(every_layer),      cmocka_unit_test(table_is_whole),
                                       CASE(enormous_sources), CASE(enormous_results),
                                       CASE(enormous_tensors), CASE(kv_cache_is_whole),
                                       CASE(expressions),      CASE(negative_ranges),
                                       CASE(faults_in_text),   CASE(taken_names),
                                       CASE(read_sizes),       CASE(symbol_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
