/* insitu_network_add_kv_cache_update against a plain loop: every dtype, both layouts, both dtypes of indices, a position of
 * its own for each row of the batch; what it writes, seen from outside; and what it refuses. */
#include "unit_test.h"

#include <insitu/insitu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const insitu_dtype dtypes[] = {
    {INSITU_CODE_FLOAT, 16, 1},
    {INSITU_CODE_BFLOAT, 16, 1},
    {INSITU_CODE_FLOAT, 32, 1},
    {INSITU_CODE_FLOAT, 64, 1},
    {INSITU_CODE_FLOAT8_E4M3FN, 8, 1},
    {INSITU_CODE_FLOAT8_E5M2, 8, 1},
    {INSITU_CODE_FLOAT8_E4M3FNUZ, 8, 1},
    {INSITU_CODE_FLOAT8_E5M2FNUZ, 8, 1},
    {INSITU_CODE_FLOAT8_E8M0FNU, 8, 1},
    {INSITU_CODE_INT, 8, 1},
    {INSITU_CODE_INT, 16, 1},
    {INSITU_CODE_INT, 32, 1},
    {INSITU_CODE_INT, 64, 1},
    {INSITU_CODE_UINT, 8, 1},
    {INSITU_CODE_UINT, 16, 1},
    {INSITU_CODE_UINT, 32, 1},
    {INSITU_CODE_UINT, 64, 1},
    {INSITU_CODE_BOOL, 8, 1},
    {INSITU_CODE_COMPLEX, 32, 1},
    {INSITU_CODE_COMPLEX, 64, 1},
    {INSITU_CODE_COMPLEX, 128, 1},
};

/* ---- a network with one cache, which is an input ---- */

typedef struct problem {
    insitu_dtype type, index_type;
    insitu_cache_layout layout;
    int64_t batch, heads, capacity, rows, width;
    bool symbolic_rows; /* the update has any number of rows up to the capacity */
} problem_t;

typedef struct fixture {
    problem_t problem;
    insitu_engine *engine;
    insitu_context *context;
    insitu_diag diag;
    int64_t cache_sizes[4], update_sizes[4];
    size_t cache_bytes, update_bytes;
} fixture_t;

static void must(fixture_t *f, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), f->diag.message);
}

static size_t sizes_of(const problem_t *p, int64_t rows, int64_t sizes[4]) {
    const int64_t by_layout[2][4] = {{p->batch, p->heads, rows, p->width}, {p->batch, rows, p->heads, p->width}};
    memcpy(sizes, by_layout[p->layout], sizeof(by_layout[0]));
    return (size_t)(p->batch * p->heads * rows * p->width) * p->type.bits / 8;
}

static void build_network(fixture_t *f, insitu_network *network) {
    insitu_number cache_sizes[4], update_sizes[4], batch = insitu_int(f->problem.batch), rows;
    insitu_value cache, update, indices, result;
    for (int i = 0; i < 4; i++) {
        cache_sizes[i] = insitu_int(f->cache_sizes[i]);
        update_sizes[i] = insitu_int(f->update_sizes[i]);
    }
    if (f->problem.symbolic_rows) {
        must(f, insitu_network_add_symbol(network, "rows", 0, f->problem.capacity, &rows, &f->diag));
        update_sizes[f->problem.layout == INSITU_CACHE_BHSD ? 2 : 1] = rows;
    }
    must(f, insitu_network_add_input(network, "cache", f->problem.type, 4, cache_sizes, &cache, &f->diag));
    must(f, insitu_network_add_input(network, "update", f->problem.type, 4, update_sizes, &update, &f->diag));
    must(f, insitu_network_add_input(network, "at", f->problem.index_type, 1, &batch, &indices, &f->diag));
    must(f, insitu_network_add_kv_cache_update(network, cache, update, indices, f->problem.layout, &result, &f->diag));
    must(f, insitu_network_assign(network, cache, result, &f->diag));
    must(f, insitu_network_mark_output(network, result, "updated", &f->diag));
}

static void open_fixture(fixture_t *f, const problem_t *p) {
    insitu_network *network;
    insitu_compile_options options;
    *f = (fixture_t){.problem = *p};
    insitu_diag_init(&f->diag);
    insitu_compile_options_init(&options);
    options.strict = true;
    f->cache_bytes = sizes_of(p, p->capacity, f->cache_sizes);
    f->update_bytes = sizes_of(p, p->rows, f->update_sizes);
    must(f, insitu_network_create(&network, &f->diag));
    build_network(f, network);
    must(f, insitu_network_compile(network, &options, &f->engine, &f->diag));
    insitu_network_destroy(network);
    must(f, insitu_context_create(f->engine, &f->context, &f->diag));
}

static void close_fixture(fixture_t *f) {
    insitu_context_destroy(f->context);
    insitu_engine_destroy(f->engine);
    insitu_diag_release(&f->diag);
}

static void bind(fixture_t *f, int32_t index, void *data, insitu_dtype type, int32_t ndim, int64_t *sizes) {
    insitu_tensor tensor = {
        .data = data, .device = {INSITU_DEVICE_CPU, 0}, .ndim = ndim, .dtype = type, .shape = sizes};
    must(f, insitu_context_set_input(f->context, index, &tensor, &f->diag));
}

static insitu_status run(fixture_t *f, void *cache, void *update, const int64_t *positions) {
    int64_t wide[8];
    int32_t narrow[8];
    bool is_narrow = f->problem.index_type.bits == 32;
    for (int64_t i = 0; i < f->problem.batch; i++) {
        wide[i] = positions[i];
        narrow[i] = (int32_t)positions[i];
    }
    bind(f, 0, cache, f->problem.type, 4, f->cache_sizes);
    bind(f, 1, update, f->problem.type, 4, f->update_sizes);
    bind(f, 2, is_narrow ? (void *)narrow : (void *)wide, f->problem.index_type, 1, &f->problem.batch);
    return insitu_context_run(f->context, NULL, NULL, &f->diag);
}

/* r[i,:,positions[i]+t,:] = update[i,:,t,:] */
static void plain_update(const fixture_t *f, uint8_t *cache, const uint8_t *update, const int64_t *positions) {
    const problem_t *p = &f->problem;
    bool is_bshd = p->layout == INSITU_CACHE_BSHD;
    size_t row = (size_t)p->width * p->type.bits / 8;
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t t = 0; t < p->rows; t++) {
                int64_t at = positions[b] + t;
                int64_t to = is_bshd ? (b * p->capacity + at) * p->heads + h : (b * p->heads + h) * p->capacity + at;
                int64_t from = is_bshd ? (b * p->rows + t) * p->heads + h : (b * p->heads + h) * p->rows + t;
                memcpy(cache + (size_t)to * row, update + (size_t)from * row, row);
            }
}

static void fill_random(uint8_t *data, size_t size, bool is_bool, uint32_t *seed) {
    for (size_t i = 0; i < size; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        data[i] = is_bool ? (uint8_t)(*seed >> 31) : (uint8_t)(*seed >> 24);
    }
}

/* Several calls with positions of their own; the bytes are the loop's, and as many are written as the update has. */
static void compare(const problem_t *p, const int64_t (*positions)[3], size_t calls) {
    fixture_t f;
    uint32_t seed = 7;
    open_fixture(&f, p);
    uint8_t *cache = malloc(f.cache_bytes), *expected = malloc(f.cache_bytes), *update = malloc(f.update_bytes + 1);
    fill_random(cache, f.cache_bytes, p->type.code == INSITU_CODE_BOOL, &seed);
    memcpy(expected, cache, f.cache_bytes);
    for (size_t call = 0; call < calls; call++) {
        insitu_run_stats stats = {.struct_size = sizeof(stats)};
        fill_random(update, f.update_bytes, p->type.code == INSITU_CODE_BOOL, &seed);
        must(&f, run(&f, cache, update, positions[call]));
        plain_update(&f, expected, update, positions[call]);
        must(&f, insitu_context_stats(f.context, &stats, &f.diag));
        assert_memory_equal(cache, expected, f.cache_bytes);
        assert_int_equal(stats.state_bytes_written, f.update_bytes);
        assert_int_equal(stats.state_bytes_copied + stats.state_bytes_moved + stats.state_bytes_saved, 0);
    }
    insitu_alias alias = {.struct_size = sizeof(alias)};
    must(&f, insitu_engine_alias(f.engine, 0, &alias, &f.diag));
    assert_string_equal(alias.output, "updated");
    assert_string_equal(alias.input, "cache");
    assert_int_equal(alias.kind, INSITU_ALIAS_KV_CACHE_UPDATE);
    free(cache);
    free(expected);
    free(update);
    close_fixture(&f);
}

static void all_dtypes_layouts_and_indices(void **state) {
    (void)state;
    static const int64_t positions[][3] = {{0, 5, 2}, {7, 0, 6}, {1, 1, 1}};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++)
        for (int layout = 0; layout < 2; layout++)
            for (int wide = 0; wide < 2; wide++)
                for (int64_t rows = 1; rows <= 2; rows++) {
                    const problem_t p = {.type = dtypes[d],
                                         .index_type = wide ? INSITU_DTYPE_I64 : INSITU_DTYPE_I32,
                                         .layout = layout ? INSITU_CACHE_BSHD : INSITU_CACHE_BHSD,
                                         .batch = 3,
                                         .heads = 2,
                                         .capacity = 9,
                                         .rows = rows,
                                         .width = 5};
                    compare(&p, positions, COUNT_OF(positions));
                }
}

/* One row of the batch; one head; all rows of the cache; no row. */
static void edges(void **state) {
    (void)state;
    static const int64_t zero[][3] = {{0, 0, 0}};
    for (int layout = 0; layout < 2; layout++) {
        const problem_t base = {.type = INSITU_DTYPE_F32,
                                .index_type = INSITU_DTYPE_I64,
                                .layout = layout ? INSITU_CACHE_BSHD : INSITU_CACHE_BHSD,
                                .batch = 1,
                                .heads = 1,
                                .capacity = 4,
                                .rows = 4,
                                .width = 1};
        problem_t p = base;
        compare(&p, zero, 1);
        p.rows = 1;
        compare(&p, zero, 1);
        p.batch = 3;
        p.heads = 3;
        p.width = 33;
        compare(&p, zero, 1);
        p.rows = 4;
        compare(&p, zero, 1);
        p.symbolic_rows = true;
        compare(&p, zero, 1);
        p.rows = 0;
        compare(&p, zero, 1);
    }
}

/* A position too far, below 0, or so large that adding to it overflows: nothing is written, of no row. */
static void out_of_range_changes_nothing(void **state) {
    (void)state;
    static const int64_t bad[][2] = {{0, 7}, {0, 8}, {-1, 0}, {0, -8}, {0, INT32_MAX}, {INT32_MIN, 0}};
    static const int64_t huge[][2] = {{0, INT64_MAX}, {INT64_MIN, 0}, {0, INT64_C(1) << 32}};
    for (int wide = 0; wide < 2; wide++)
        for (int layout = 0; layout < 2; layout++) {
            const problem_t p = {.type = INSITU_DTYPE_I16,
                                 .index_type = wide ? INSITU_DTYPE_I64 : INSITU_DTYPE_I32,
                                 .layout = layout ? INSITU_CACHE_BSHD : INSITU_CACHE_BHSD,
                                 .batch = 2,
                                 .heads = 2,
                                 .capacity = 8,
                                 .rows = 2,
                                 .width = 3};
            fixture_t f;
            int16_t cache[2 * 2 * 8 * 3], before[2 * 2 * 8 * 3], update[2 * 2 * 2 * 3] = {1};
            open_fixture(&f, &p);
            for (size_t i = 0; i < COUNT_OF(cache); i++) cache[i] = (int16_t)i;
            memcpy(before, cache, sizeof(cache));
            for (size_t i = 0; i < COUNT_OF(bad) + (wide ? COUNT_OF(huge) : 0); i++) {
                const int64_t *positions = i < COUNT_OF(bad) ? bad[i] : huge[i - COUNT_OF(bad)];
                assert_int_equal(run(&f, cache, update, positions), INSITU_BOUNDS);
                assert_non_null(strstr(f.diag.message, "lies outside the extent 8"));
                assert_memory_equal(cache, before, sizeof(cache));
            }
            must(&f, run(&f, cache, update, (const int64_t[]){6, 0}));
            close_fixture(&f);
        }
}

/* Every page is read-only but those of the rows that are written. */
static void only_the_rows_are_touched(void **state) {
    (void)state;
    enum { PAGE = 4096, BATCH = 2, HEADS = 2, CAPACITY = 4 };
    const problem_t p = {.type = INSITU_DTYPE_F32,
                         .index_type = INSITU_DTYPE_I32,
                         .layout = INSITU_CACHE_BHSD,
                         .batch = BATCH,
                         .heads = HEADS,
                         .capacity = CAPACITY,
                         .rows = 1,
                         .width = PAGE / 4};
    const int64_t positions[] = {3, 1};
    fixture_t f;
    open_fixture(&f, &p);
    uint8_t *cache = mmap(NULL, f.cache_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *update = malloc(f.update_bytes);
    assert_true(cache != MAP_FAILED);
    memset(update, 9, f.update_bytes);
    assert_int_equal(mprotect(cache, f.cache_bytes, PROT_READ), 0);
    for (size_t b = 0; b < BATCH; b++)
        for (size_t h = 0; h < HEADS; h++) {
            size_t row = (b * HEADS + h) * CAPACITY + (size_t)positions[b];
            assert_int_equal(mprotect(cache + row * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
        }
    must(&f, run(&f, cache, update, positions));
    for (size_t row = 0; row < BATCH * HEADS * CAPACITY; row++) {
        bool is_written = (int64_t)(row % CAPACITY) == positions[row / (HEADS * CAPACITY)];
        assert_int_equal(cache[row * PAGE], is_written ? 9 : 0);
    }
    munmap(cache, f.cache_bytes);
    free(update);
    close_fixture(&f);
}

/* ---- which other writes have its kind ---- */

typedef struct built_write {
    insitu_network *network;
    insitu_diag diag;
} built_write_t;

static void ok(const built_write_t *b, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), b->diag.message);
}

typedef struct write {
    int64_t rows, step, start, batch_step; /* rows of the batch: 0, batch_step, ... */
    bool is_dim_alone, unknown_rows, wrap, accumulate, shifted;
    insitu_alias_kind kind;
} write_t;

/* A tensor of the index's sizes [2,rows] or [rows]: start + step*t, or what an input holds; or 0, batch_step, .. by batch. */
static insitu_value indices_of(built_write_t *b, const write_t *w, bool is_batch) {
    insitu_number flat[2] = {insitu_int(is_batch ? 2 : 1), insitu_int(is_batch ? 1 : w->rows)},
                  full[2] = {insitu_int(2), insitu_int(w->rows)};
    insitu_value line;
    insitu_number count = is_batch ? insitu_int(2) : insitu_int(w->rows);
    if (!is_batch && w->unknown_rows)
        ok(b, insitu_network_add_input(b->network, "at", INSITU_DTYPE_I64, 1, &count, &line, &b->diag));
    else
        ok(b, insitu_network_add_iota(b->network, INSITU_DTYPE_I64, count, insitu_int(is_batch ? 0 : w->start),
                                      insitu_int(is_batch ? w->batch_step : w->step), &line, &b->diag));
    if (!is_batch && w->shifted) { /* by a number that is only known in the call */
        insitu_number one = insitu_int(1);
        insitu_value by;
        ok(b, insitu_network_add_input(b->network, "by", INSITU_DTYPE_I64, 1, &one, &by, &b->diag));
        ok(b, insitu_network_add_expand(b->network, by, 1, &count, &by, &b->diag));
        ok(b, insitu_network_add_binary(b->network, "add", by, line, &line, &b->diag));
    }
    if (w->is_dim_alone) return line;
    ok(b, insitu_network_add_reshape(b->network, line, 2, flat, &line, &b->diag));
    ok(b, insitu_network_add_expand(b->network, line, 2, full, &line, &b->diag));
    return line;
}

static insitu_alias_kind kind_of(const write_t *w) {
    built_write_t b;
    insitu_engine *engine;
    insitu_value cache, source, indices[2], updated;
    const int32_t both[2] = {0, 1}, one[1] = {1};
    insitu_number sizes[4] = {insitu_int(2), insitu_int(16), insitu_int(3), insitu_int(4)}, part[4];
    memcpy(part, sizes, sizeof(part));
    part[1] = insitu_int(w->rows);
    insitu_diag_init(&b.diag);
    ok(&b, insitu_network_create(&b.network, &b.diag));
    ok(&b, insitu_network_add_input(b.network, "cache", INSITU_DTYPE_F32, 4, sizes, &cache, &b.diag));
    ok(&b, insitu_network_add_input(b.network, "source", INSITU_DTYPE_F32, 4, part, &source, &b.diag));
    if (!w->is_dim_alone) indices[0] = indices_of(&b, w, true);
    indices[!w->is_dim_alone] = indices_of(&b, w, false);
    ok(&b,
       insitu_network_add_index_update(b.network, cache, source, w->is_dim_alone ? 1 : 2, w->is_dim_alone ? one : both,
                                       indices, w->accumulate, w->wrap, &updated, &b.diag));
    ok(&b, insitu_network_assign(b.network, cache, updated, &b.diag));
    ok(&b, insitu_network_compile(b.network, NULL, &engine, &b.diag));
    insitu_alias alias = {.struct_size = sizeof(alias)};
    ok(&b, insitu_engine_alias(engine, 0, &alias, &b.diag));
    insitu_engine_destroy(engine);
    insitu_network_destroy(b.network);
    return alias.kind;
}

static void rows_that_follow_one_another(void **state) {
    (void)state;
    static const write_t writes[] = {
        {.rows = 3, .step = 1, .batch_step = 1, .shifted = true, .kind = INSITU_ALIAS_KV_CACHE_UPDATE},
        {.rows = 3, .step = 1, .is_dim_alone = true, .shifted = true, .kind = INSITU_ALIAS_KV_CACHE_UPDATE},
        {.rows = 1, .unknown_rows = true, .is_dim_alone = true, .wrap = true, .kind = INSITU_ALIAS_KV_CACHE_UPDATE},
        {.rows = 1, .unknown_rows = true, .batch_step = 1, .wrap = true, .kind = INSITU_ALIAS_KV_CACHE_UPDATE},
        {.rows = 3, .step = 2, .batch_step = 1, .shifted = true, .kind = INSITU_ALIAS_USER},
        {.rows = 3, .step = -1, .start = 2, .is_dim_alone = true, .shifted = true, .kind = INSITU_ALIAS_USER},
        {.rows = 3, .unknown_rows = true, .batch_step = 1, .kind = INSITU_ALIAS_USER},
        {.rows = 3, .unknown_rows = true, .is_dim_alone = true, .kind = INSITU_ALIAS_USER},
        {.rows = 3, .step = 1, .batch_step = 0, .shifted = true, .kind = INSITU_ALIAS_USER},
        {.rows = 3, .step = 1, .batch_step = 1, .shifted = true, .wrap = true, .kind = INSITU_ALIAS_USER},
        {.rows = 3, .step = 1, .batch_step = 1, .shifted = true, .accumulate = true, .kind = INSITU_ALIAS_USER},
    };
    for (size_t i = 0; i < COUNT_OF(writes); i++)
        if (kind_of(&writes[i]) != writes[i].kind) fail_msg("write %zu has the other kind", i);
}

/* Bytes of any dtype are replaced, but only numbers that the backend computes with are added up. */
static void sums_need_arithmetic(void **state) {
    (void)state;
    built_write_t b;
    insitu_engine *engine;
    insitu_context *context;
    insitu_value x, source, at, updated;
    const int32_t first = 0;
    const insitu_number two = insitu_int(2);
    int64_t size = 2, places[2] = {0, 1};
    double numbers[4] = {0};
    const insitu_dtype complex = INSITU_DTYPE(INSITU_CODE_COMPLEX, 64);
    insitu_tensor tensor = {
        .data = numbers, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = complex, .shape = &size};
    insitu_diag_init(&b.diag);
    ok(&b, insitu_network_create(&b.network, &b.diag));
    ok(&b, insitu_network_add_input(b.network, "x", complex, 1, &two, &x, &b.diag));
    ok(&b, insitu_network_add_input(b.network, "source", complex, 1, &two, &source, &b.diag));
    ok(&b, insitu_network_add_input(b.network, "at", INSITU_DTYPE_I64, 1, &two, &at, &b.diag));
    ok(&b, insitu_network_add_index_update(b.network, x, source, 1, &first, &at, true, false, &updated, &b.diag));
    ok(&b, insitu_network_assign(b.network, x, updated, &b.diag));
    ok(&b, insitu_network_compile(b.network, NULL, &engine, &b.diag));
    ok(&b, insitu_context_create(engine, &context, &b.diag));
    ok(&b, insitu_context_set_input(context, 0, &tensor, &b.diag));
    ok(&b, insitu_context_set_input(context, 1, &tensor, &b.diag));
    tensor.data = places;
    tensor.dtype = INSITU_DTYPE_I64;
    ok(&b, insitu_context_set_input(context, 2, &tensor, &b.diag));
    assert_int_equal(insitu_context_run(context, NULL, NULL, &b.diag), INSITU_UNSUPPORTED);
    assert_non_null(strstr(b.diag.message, "it does not compute with c64"));
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
    insitu_network_destroy(b.network);
    insitu_diag_release(&b.diag);
}

/* ---- what it refuses ---- */

static insitu_value input(insitu_network *network, const char *name, insitu_dtype type, int32_t ndim,
                          const int64_t *sizes) {
    insitu_number numbers[5];
    insitu_value value;
    for (int32_t i = 0; i < ndim; i++) numbers[i] = insitu_int(sizes[i]);
    assert_int_equal(insitu_network_add_input(network, name, type, ndim, numbers, &value, NULL), INSITU_OK);
    return value;
}

static void refusals(void **state) {
    (void)state;
    insitu_network *network;
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(insitu_network_create(&network, &diag), INSITU_OK);
    const insitu_dtype f32 = INSITU_DTYPE_F32, i64 = INSITU_DTYPE_I64;
    const insitu_value cache = input(network, "cache", f32, 4, (int64_t[]){2, 3, 8, 4}),
                       update = input(network, "update", f32, 4, (int64_t[]){2, 3, 1, 4}),
                       half = input(network, "half", INSITU_DTYPE_F16, 4, (int64_t[]){2, 3, 1, 4}),
                       wide = input(network, "wide", f32, 4, (int64_t[]){2, 3, 1, 5}),
                       heads = input(network, "heads", f32, 4, (int64_t[]){2, 4, 1, 4}),
                       batch = input(network, "batch", f32, 4, (int64_t[]){1, 3, 1, 4}),
                       many = input(network, "many", f32, 4, (int64_t[]){2, 3, 9, 4}),
                       flat = input(network, "flat", f32, 3, (int64_t[]){2, 3, 4}),
                       at = input(network, "at", i64, 1, (int64_t[]){2}),
                       at_three = input(network, "at_three", i64, 1, (int64_t[]){3}),
                       at_short = input(network, "at_short", INSITU_DTYPE_I16, 1, (int64_t[]){2}),
                       at_pair = input(network, "at_pair", i64, 2, (int64_t[]){2, 1}), none = insitu_no_value();
    const struct {
        insitu_value cache, update, at;
        insitu_cache_layout layout;
        insitu_status status;
        const char *words;
    } cases[] = {
        {none, update, at, INSITU_CACHE_BHSD, INSITU_ARG, "operand 0 is no tensor of the network"},
        {cache, none, at, INSITU_CACHE_BHSD, INSITU_ARG, "operand 1 is no tensor of the network"},
        {cache, update, {1000}, INSITU_CACHE_BHSD, INSITU_ARG, "operand 2 is no tensor of the network"},
        {cache, half, at, INSITU_CACHE_BHSD, INSITU_ARG, "cache and update must have one dtype"},
        {cache, wide, at, INSITU_CACHE_BHSD, INSITU_SHAPE, "may differ in the sequence's size alone"},
        {cache, heads, at, INSITU_CACHE_BHSD, INSITU_SHAPE, "may differ in the sequence's size alone"},
        {cache, batch, at, INSITU_CACHE_BHSD, INSITU_SHAPE, "may differ in the sequence's size alone"},
        {cache, update, at, INSITU_CACHE_BSHD, INSITU_SHAPE, "may differ in the sequence's size alone"},
        {cache, many, at, INSITU_CACHE_BHSD, INSITU_SHAPE, "f32[2,3,9,4], i64[2]): the update has more rows"},
        {cache, flat, at, INSITU_CACHE_BHSD, INSITU_SHAPE, "must have 4 dimensions"},
        {flat, update, at, INSITU_CACHE_BHSD, INSITU_SHAPE, "must have 4 dimensions"},
        {cache, update, at_pair, INSITU_CACHE_BHSD, INSITU_SHAPE, "and write_indices one"},
        {cache, update, at_three, INSITU_CACHE_BHSD, INSITU_SHAPE, "one position for each row of the batch"},
        {cache, update, at_short, INSITU_CACHE_BHSD, INSITU_ARG, "write_indices must be of i64 or i32"},
        {cache, update, at, (insitu_cache_layout)2, INSITU_ARG, "there is no layout 2"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        insitu_value result = {7};
        insitu_status status = insitu_network_add_kv_cache_update(network, cases[i].cache, cases[i].update, cases[i].at,
                                                                  cases[i].layout, &result, &diag);
        if (status != cases[i].status || !strstr(diag.message, cases[i].words))
            fail_msg("case %zu: %s: %s", i, insitu_status_name(status), diag.message);
        assert_int_equal(result.id, 0);
    }
    assert_int_equal(insitu_network_layer_count(network), 0);
    insitu_network_destroy(network);
    insitu_diag_release(&diag);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_dtypes_layouts_and_indices),
        cmocka_unit_test(edges),
        cmocka_unit_test(out_of_range_changes_nothing),
        cmocka_unit_test(only_the_rows_are_touched),
        cmocka_unit_test(rows_that_follow_one_another),
        cmocka_unit_test(sums_need_arithmetic),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
