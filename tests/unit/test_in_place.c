/* In-place claims checked from outside, on saved programs through the public interface: which pages a call may touch, how
 * many bytes it says it wrote, and that it allocates nothing once a shape has been seen. */
#include "unit_test.h"

#include "counting_allocator.h"

#include <insitu/insitu.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA TEST_SOURCE_DIR "/data/"

enum { PAGE_BYTES = 4096 };

/* ---- malloc, counted: not under sanitizers, which bring their own ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_MALLOC 0
#endif
#endif
#ifndef COUNTS_MALLOC
#define COUNTS_MALLOC 1
#endif

static uint64_t malloc_calls;

#if COUNTS_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *data, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void count_call(void) { __atomic_add_fetch(&malloc_calls, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) {
    count_call();
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    count_call();
    return __libc_calloc(count, size);
}
void *realloc(void *data, size_t size) {
    count_call();
    return __libc_realloc(data, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    count_call();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
    count_call();
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : 12; /* ENOMEM */
}
#endif

/* ---- a program that is ready to run ---- */

typedef struct fixture {
    insitu_program *program;
    insitu_engine *engine;
    insitu_state *state;
    insitu_context *context;
    insitu_diag diag;
} fixture_t;

static void must(fixture_t *fixture, insitu_status status) {
    if (status != INSITU_OK) fail_msg("%s: %s", insitu_status_name(status), fixture->diag.message);
}

static void open_fixture(fixture_t *fixture, const char *path, bool no_inplace) {
    *fixture = (fixture_t){0};
    insitu_diag_init(&fixture->diag);
    insitu_compile_options options;
    insitu_compile_options_init(&options);
    options.no_inplace = no_inplace;
    must(fixture, insitu_program_load(path, &fixture->program, &fixture->diag));
    must(fixture, insitu_program_compile(fixture->program, &options, &fixture->engine, &fixture->diag));
    must(fixture, insitu_state_create(fixture->engine, &fixture->state, &fixture->diag));
    must(fixture, insitu_context_create(fixture->engine, &fixture->context, &fixture->diag));
}

static void close_fixture(fixture_t *fixture) {
    insitu_context_destroy(fixture->context);
    insitu_state_destroy(fixture->state);
    insitu_engine_destroy(fixture->engine);
    insitu_program_destroy(fixture->program);
    insitu_diag_release(&fixture->diag);
}

typedef struct input {
    const char *name;
    void *data;
    insitu_dtype dtype;
    int32_t ndim;
    int64_t *shape;
} input_t;

static insitu_status run(fixture_t *fixture, const input_t *inputs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int32_t index = insitu_engine_find_input(fixture->engine, inputs[i].name);
        insitu_tensor tensor = {.data = inputs[i].data,
                                .device = {INSITU_DEVICE_CPU, 0},
                                .ndim = inputs[i].ndim,
                                .dtype = inputs[i].dtype,
                                .shape = inputs[i].shape};
        insitu_status status = insitu_context_set_input(fixture->context, index, &tensor, &fixture->diag);
        if (status != INSITU_OK) return status;
    }
    return insitu_context_run(fixture->context, fixture->state, NULL, &fixture->diag);
}

static insitu_run_stats stats_of(fixture_t *fixture) {
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    must(fixture, insitu_context_stats(fixture->context, &stats, &fixture->diag));
    return stats;
}

/* ---- pages ---- */

enum { HEADS = 2, ROWS = 4, ROW_FLOATS = PAGE_BYTES / 4 };

/* Makes all of the cache [1, HEADS, ROWS, ROW_FLOATS] read-only but row `row` of each head. */
static void protect(char *cache, int64_t row) {
    assert_int_equal((uintptr_t)cache % PAGE_BYTES, 0);
    assert_int_equal(mprotect(cache, (size_t)HEADS * ROWS * PAGE_BYTES, PROT_READ), 0);
    for (size_t head = 0; head < HEADS; head++) {
        char *page = cache + (head * ROWS + (size_t)row) * PAGE_BYTES;
        assert_int_equal(mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
    }
}

static insitu_status write_row(fixture_t *fixture, int64_t row, float value) {
    static float update[HEADS * ROW_FLOATS];
    for (size_t i = 0; i < HEADS * ROW_FLOATS; i++) update[i] = value;
    int64_t update_shape[4] = {1, HEADS, 1, ROW_FLOATS}, one = 1;
    const input_t inputs[] = {{"row", update, INSITU_DTYPE_F32, 4, update_shape},
                              {"position", &row, INSITU_DTYPE_I64, 1, &one}};
    return run(fixture, inputs, 2);
}

static char *cache_of(fixture_t *fixture) {
    insitu_tensor tensor;
    must(fixture, insitu_state_tensor(fixture->state, 0, &tensor, &fixture->diag));
    return (char *)tensor.data + tensor.byte_offset;
}

/* The check below can fail: a program that copies its cache dies of it. Comes first: the child must be able to start
 * threads, and can't where this process has. */
static void test_copy_touches_pages(void **state) {
    (void)state;
    fixture_t fixture;
    open_fixture(&fixture, DATA "page_rows.train.pt2", true);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        fclose(stderr);           /* a sanitizer's report is expected */
        signal(SIGSEGV, SIG_DFL); /* not cmocka's handler, which goes on with the next test */
        protect(cache_of(&fixture), 1);
        _exit(write_row(&fixture, 1, 1) == INSITU_OK ? 0 : 3);
    }
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_false(WIFEXITED(result) && (WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 3));
    if (WIFSIGNALED(result)) assert_int_not_equal(WTERMSIG(result), SIGALRM);
    close_fixture(&fixture);
}

static void test_only_written_rows_are_touched(void **state) {
    (void)state;
    fixture_t fixture;
    open_fixture(&fixture, DATA "page_rows.train.pt2", false);
    char *cache = cache_of(&fixture);
    for (int64_t row = 0; row < ROWS; row++) {
        protect(cache, row);
        must(&fixture, write_row(&fixture, row, (float)row + 1));
        assert_int_equal(stats_of(&fixture).state_bytes_written, HEADS * PAGE_BYTES);
        assert_int_equal(stats_of(&fixture).state_bytes_copied, 0);
    }
    /* A position past the end is found before anything is written. */
    assert_int_equal(mprotect(cache, (size_t)HEADS * ROWS * PAGE_BYTES, PROT_READ), 0);
    assert_int_equal(write_row(&fixture, ROWS, 9), INSITU_BOUNDS);
    assert_int_equal(write_row(&fixture, -1, 9), INSITU_BOUNDS);
    for (size_t i = 0; i < (size_t)HEADS * ROWS; i++) {
        float value;
        memcpy(&value, cache + i * PAGE_BYTES, sizeof(value));
        assert_true(value == (float)(i % ROWS) + 1);
    }
    assert_int_equal(mprotect(cache, (size_t)HEADS * ROWS * PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
    close_fixture(&fixture);
}

/* ---- counters ---- */

static int64_t bytes_written_at(const char *path, int64_t position) {
    enum { QUERY_HEADS = 2, HEAD = 2 };
    fixture_t fixture;
    open_fixture(&fixture, path, false);
    float query[QUERY_HEADS * HEAD] = {0}, key[HEAD] = {1, 2}, value[HEAD] = {3, 4};
    int64_t query_shape[4] = {1, QUERY_HEADS, 1, HEAD}, row_shape[4] = {1, 1, 1, HEAD}, one = 1;
    const input_t inputs[] = {{"query", query, INSITU_DTYPE_F32, 4, query_shape},
                              {"key", key, INSITU_DTYPE_F32, 4, row_shape},
                              {"value", value, INSITU_DTYPE_F32, 4, row_shape},
                              {"position", &position, INSITU_DTYPE_I64, 1, &one}};
    must(&fixture, run(&fixture, inputs, 4));
    insitu_run_stats stats = stats_of(&fixture);
    assert_int_equal(stats.state_bytes_copied, 0);
    assert_int_equal(stats.state_bytes_moved, 0);
    assert_int_equal(stats.output_bytes_copied, 0);
    close_fixture(&fixture);
    return stats.state_bytes_written;
}

static void test_bytes_written_do_not_depend_on_capacity(void **state) {
    (void)state;
    enum { BATCH = 1, KV_HEADS = 1, HEAD = 2, CACHES = 2 };
    int64_t expected = BATCH * KV_HEADS * HEAD * CACHES * (int64_t)sizeof(float);
    assert_int_equal(bytes_written_at(DATA "cached_64.train.pt2", 63), expected);
    assert_int_equal(bytes_written_at(DATA "cached_64.aten.pt2", 0), expected);
    assert_int_equal(bytes_written_at(DATA "cached_512.aten.pt2", 511), expected);
}

/* ---- allocations ---- */

static void decode_tokens(fixture_t *fixture, int64_t count, int64_t first_position) {
    int64_t tokens[8], positions[8], token_shape[2] = {1, count};
    assert_in_range(count, 1, 8);
    for (int64_t i = 0; i < count; i++) {
        tokens[i] = 7 * i + first_position;
        positions[i] = first_position + i;
    }
    const input_t inputs[] = {{"tokens", tokens, INSITU_DTYPE_I64, 2, token_shape},
                              {"positions", positions, INSITU_DTYPE_I64, 1, &token_shape[1]}};
    must(fixture, run(fixture, inputs, 2));
    insitu_tensor logits;
    must(fixture, insitu_context_output(fixture->context, 0, &logits, &fixture->diag));
    assert_int_equal(logits.shape[1], count);
}

/* Calls with each of the counts of tokens, twice: the second time nothing may be allocated. */
static void check_steady(const char *path, const int64_t *counts, size_t count) {
    allocation_count_t allocations = {0};
    count_allocations(&allocations);
    fixture_t fixture;
    open_fixture(&fixture, path, false);
    uint64_t before = 0, malloc_before = 0;
    for (int round = 0; round < 3; round++) {
        if (round == 1) {
            before = allocations.calls;
            malloc_before = malloc_calls;
        }
        for (size_t i = 0; i < count; i++) decode_tokens(&fixture, counts[i], 10 * round);
    }
    uint64_t after = allocations.calls, malloc_after = malloc_calls;
    close_fixture(&fixture);
    memory_set_hooks(NULL);
    assert_int_equal(after, before);
    assert_int_equal(malloc_after, malloc_before);
    assert_true(before > 0);
    if (COUNTS_MALLOC) assert_true(malloc_before > 0);
    assert_int_equal(allocations.live, 0);
}

static void test_steady_state_allocates_nothing(void **state) {
    (void)state;
    check_steady(DATA "decoder.train.pt2", (const int64_t[]){1}, 1);
    check_steady(DATA "decoder.aten.pt2", (const int64_t[]){1}, 1);
    check_steady(DATA "decoder_dynamic.train.pt2", (const int64_t[]){1, 5, 1, 3, 5}, 5);
}

int main(void) {
    if (sysconf(_SC_PAGESIZE) != PAGE_BYTES) {
        puts("pages here do not have 4096 bytes");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_touches_pages),
        cmocka_unit_test(test_only_written_rows_are_touched),
        cmocka_unit_test(test_bytes_written_do_not_depend_on_capacity),
        cmocka_unit_test(test_steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
