/* A warm call of a program without oneDNN products calls no malloc at all: not Insitu's, not a library's. The test
 * replaces malloc, which sanitizers replace too, so it is skipped under them. */
#include "small_plans.h"

#include "engine/engine.h"
#include <insitu/context.h>

enum { SKIPPED = 77 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

#ifdef IS_SANITIZED
int main(void) {
    puts("a sanitizer replaces malloc itself");
    return SKIPPED;
}
#else

static uint64_t calls;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *data, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
int posix_memalign(void **out_data, size_t alignment, size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *data, size_t size) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return __libc_realloc(data, size);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **out_data, size_t alignment, size_t size) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    *out_data = __libc_memalign(alignment, size);
    return *out_data ? 0 : 12;
}

static void warm_calls_never_reach_malloc(void **state) {
    (void)state;
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *memory;
    assert_int_equal(engine_create(make_small_plan(), device_cpu(), NULL, 0, &engine, NULL), INSITU_OK);
    assert_int_equal(insitu_context_create(engine, &context, NULL), INSITU_OK);
    assert_int_equal(insitu_state_create(engine, &memory, NULL), INSITU_OK);
    float x[6 * CACHE_WIDTH] = {0}, bias[CACHE_WIDTH] = {0};
    int64_t position = 0, sizes[4][2] = {{6, CACHE_WIDTH}, {1}, {1, CACHE_WIDTH}, {CACHE_WIDTH}};
    insitu_tensor inputs[] = {
        {.data = x, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 2, .dtype = INSITU_DTYPE_F32, .shape = sizes[0]},
        {.data = &position, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = INSITU_DTYPE_I64, .shape = sizes[1]},
        {.data = x, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 2, .dtype = INSITU_DTYPE_F32, .shape = sizes[2]},
        {.data = bias, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = INSITU_DTYPE_F32, .shape = sizes[3]},
    };
    uint64_t before = 0;
    bool is_good = true;
    for (int call = 0; call < 20; call++) {
        if (call == 4) before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
        position = call % CACHE_ROWS;
        insitu_tensor output;
        for (int32_t i = 0; i < 4; i++)
            is_good = is_good && insitu_context_set_input(context, i, &inputs[i], NULL) == INSITU_OK;
        is_good = is_good && insitu_context_run(context, memory, NULL, NULL) == INSITU_OK;
        is_good = is_good && insitu_context_output(context, 0, &output, NULL) == INSITU_OK;
    }
    uint64_t after = __atomic_load_n(&calls, __ATOMIC_RELAXED);
    assert_true(is_good);
    assert_true(before > 0);
    assert_int_equal(after - before, 0);
    insitu_context_destroy(context);
    insitu_state_destroy(memory);
    insitu_engine_destroy(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(warm_calls_never_reach_malloc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
