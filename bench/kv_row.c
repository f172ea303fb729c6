/* What it costs to write one row into a cache, whatever the cache's length.
 *
 *     kv_row tests/data/cache_rows.train.pt2
 *
 * The program writes a row f32[1,2,1,32] at a position of a caller's cache f32[1,2,length,32], for lengths from 512 to
 * 131072, the positions following one another as in decoding. Printed is, for each length, the bytes that a call has
 * written and the time of a call (the shortest of several runs, each the mean of many calls); at last the ratio of the
 * longest to the shortest time. Exits with 1 if bytes or times are not flat: more than 1.3 between the times. */
#include <insitu/insitu.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADS = 2, WIDTH = 32, SHORTEST = 512, LONGEST = 131072, RUNS = 15, CALLS = 4000 };

static const double largest_ratio = 1.3;

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

typedef struct result {
    double seconds; /* of a call */
    int64_t bytes_written;
} result;

static result measure(insitu_context *context, const insitu_engine *engine, int64_t length, insitu_diag *diag) {
    float row[HEADS * WIDTH] = {1, 2, 3};
    int64_t position = 0, one = 1, row_sizes[] = {1, HEADS, 1, WIDTH}, cache_sizes[] = {1, HEADS, length, WIDTH};
    size_t bytes = sizeof(float) * HEADS * WIDTH * (size_t)length;
    float *cache = aligned_alloc(4096, bytes);
    if (!cache) exit(2);
    memset(cache, 0, bytes); /* each page is there */
    bind(context, engine, "row", row, INSITU_DTYPE_F32, 4, row_sizes, diag);
    bind(context, engine, "cache", cache, INSITU_DTYPE_F32, 4, cache_sizes, diag);
    bind(context, engine, "position", &position, INSITU_DTYPE_I64, 1, &one, diag);
    result result = {.seconds = 1e9};
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (int call = 0; call < CALLS; call++) {
            position = (position + 1) % length;
            must(insitu_context_run(context, NULL, NULL, diag), diag);
        }
        double seconds = (now() - start) / CALLS;
        if (seconds < result.seconds) result.seconds = seconds;
    }
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    must(insitu_context_stats(context, &stats, diag), diag);
    result.bytes_written = stats.state_bytes_written;
    free(cache);
    return result;
}

static int measure_all(const insitu_engine *engine, insitu_diag *diag) {
    insitu_context *context;
    double shortest = 1e9, longest = 0;
    int64_t first_bytes = -1;
    bool is_flat = true;
    must(insitu_context_create(engine, &context, diag), diag);
    printf("%8s %14s %12s\n", "rows", "bytes written", "ns a call");
    for (int64_t length = SHORTEST; length <= LONGEST; length *= 2) {
        result result = measure(context, engine, length, diag);
        printf("%8" PRId64 " %14" PRId64 " %12.0f\n", length, result.bytes_written, result.seconds * 1e9);
        if (first_bytes < 0) first_bytes = result.bytes_written;
        is_flat = is_flat && result.bytes_written == first_bytes;
        if (result.seconds < shortest) shortest = result.seconds;
        if (result.seconds > longest) longest = result.seconds;
    }
    insitu_context_destroy(context);
    printf("longest to shortest: %.2f\n", longest / shortest);
    return is_flat && longest <= largest_ratio * shortest ? 0 : 1;
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
