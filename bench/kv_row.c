/* What it costs to write one row into a cache, whatever the cache's length.
 *
 *     kv_row tests/data/cache_rows.train.pt2
 *
 * The program writes a row f32[1,2,1,32] at a position of a caller's cache f32[1,2,length,32], for lengths from 512 to
 * 131072, the positions following one another as in decoding. Printed is, for each length, the bytes that a call has
 * written and the time of a call: the shortest of many short runs, which the lengths take in turn, so that whatever else
 * the machine does meets all of them. At last the ratio of the longest to the shortest time, which should be at most 1.3.
 * Exits with 1 if the lengths have written different numbers of bytes. */
#include <insitu/insitu.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADS = 2, WIDTH = 32, SHORTEST = 512, LONGEST = 131072, LENGTHS = 9, RUNS = 300, CALLS = 500 };

static void must(insitu_status status, const insitu_diag *diag) {
    if (status == INSITU_OK) return;
    fprintf(stderr, "kv_row: %s: %s\n", insitu_status_name(status), diag->message);
    exit(2);
}

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void bind(insitu_context *context, const insitu_engine *engine, const char *name, void *data, insitu_dtype dtype,
                 int32_t ndim, int64_t *sizes, insitu_diag *diag) {
    insitu_tensor tensor = {
        .data = data, .device = {INSITU_DEVICE_CPU, 0}, .ndim = ndim, .dtype = dtype, .shape = sizes};
    must(insitu_context_set_input(context, insitu_engine_find_input(engine, name), &tensor, diag), diag);
}

typedef struct cache {
    int64_t length, position;
    float *data;
    double seconds; /* of a call, the shortest */
    int64_t bytes_written;
} cache_t;

static cache_t make_cache(int64_t length) {
    size_t bytes = sizeof(float) * HEADS * WIDTH * (size_t)length;
    cache_t cache = {.length = length, .data = aligned_alloc(4096, bytes), .seconds = 1e9};
    if (!cache.data) exit(2);
    memset(cache.data, 0, bytes); /* each page is there */
    return cache;
}

static void measure(insitu_context *context, const insitu_engine *engine, cache_t *cache, insitu_diag *diag) {
    float row[HEADS * WIDTH] = {1, 2, 3};
    int64_t one = 1, row_sizes[] = {1, HEADS, 1, WIDTH}, cache_sizes[] = {1, HEADS, cache->length, WIDTH};
    bind(context, engine, "row", row, INSITU_DTYPE_F32, 4, row_sizes, diag);
    bind(context, engine, "cache", cache->data, INSITU_DTYPE_F32, 4, cache_sizes, diag);
    bind(context, engine, "position", &cache->position, INSITU_DTYPE_I64, 1, &one, diag);
    must(insitu_context_run(context, NULL, NULL, diag), diag);
    double start = now();
    for (int call = 0; call < CALLS; call++) {
        cache->position = (cache->position + 1) % cache->length;
        must(insitu_context_run(context, NULL, NULL, diag), diag);
    }
    double seconds = (now() - start) / (double)CALLS;
    if (seconds < cache->seconds) cache->seconds = seconds;
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    must(insitu_context_stats(context, &stats, diag), diag);
    cache->bytes_written = stats.state_bytes_written;
}

static int report(const cache_t *caches, int count) {
    double shortest = 1e9, longest = 0;
    bool is_flat = true;
    printf("%8s %14s %12s\n", "rows", "bytes written", "ns a call");
    for (int i = 0; i < count; i++) {
        printf("%8" PRId64 " %14" PRId64 " %12.0f\n", caches[i].length, caches[i].bytes_written,
               caches[i].seconds * 1e9);
        is_flat = is_flat && caches[i].bytes_written == caches[0].bytes_written;
        if (caches[i].seconds < shortest) shortest = caches[i].seconds;
        if (caches[i].seconds > longest) longest = caches[i].seconds;
    }
    printf("longest to shortest: %.2f\n", longest / shortest);
    return is_flat ? 0 : 1;
}

static int measure_all(const insitu_engine *engine, insitu_diag *diag) {
    insitu_context *context;
    cache_t caches[LENGTHS];
    int count = 0;
    must(insitu_context_create(engine, &context, diag), diag);
    for (int64_t length = SHORTEST; length <= LONGEST; length *= 2) caches[count++] = make_cache(length);
    for (int run = 0; run < RUNS; run++)
        for (int i = 0; i < count; i++) measure(context, engine, &caches[i], diag);
    int code = report(caches, count);
    for (int i = 0; i < count; i++) free(caches[i].data);
    insitu_context_destroy(context);
    return code;
}

int main(int argc, char **argv) {
    insitu_program *program;
    insitu_engine *engine;
    insitu_compile_options options;
    insitu_diag diag;
    if (argc != 2) {
        fprintf(stderr, "usage: kv_row tests/data/cache_rows.train.pt2\n");
        return 2;
    }
    insitu_diag_init(&diag);
    insitu_compile_options_init(&options);
    options.strict = true;
    must(insitu_program_load(argv[1], &program, &diag), &diag);
    must(insitu_program_compile(program, &options, &engine, &diag), &diag);
    insitu_program_destroy(program);
    int code = measure_all(engine, &diag);
    insitu_engine_destroy(engine);
    insitu_diag_release(&diag);
    return code;
}
