/* What a context was prepared for need not hold in the next call: how many threads OpenMP gives, the CPUs, the process, the
 * floating-point environment. Whatever changes in between, products and convolutions have all their elements, the same
 * ones, and the caller's settings are left as they were. CMakeLists.txt runs this with OpenMP's variables set, too. */
#include "network_fixture.h"

#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

enum { ROWS = 32, DEPTH = 128, COLUMNS = 128, BATCHES = 4, CHANNELS = 32, LENGTH = 128, SIDE = 12, OUTPUTS = 4 };
enum { KERNEL = 5, SQUARE = 3, LENGTH_OUT = LENGTH - KERNEL + 1, SIDE_OUT = SIDE - SQUARE + 1 };

/* ---- numbers: small integers, whose sums are exact in every order ---- */
static float x[ROWS * DEPTH], w[DEPTH * COLUMNS], repeated[BATCHES * DEPTH * COLUMNS], batches[BATCHES * ROWS * DEPTH],
    line[2 * CHANNELS * LENGTH];
static float image[2 * CHANNELS * SIDE * SIDE], line_weights[CHANNELS * CHANNELS * KERNEL];
static float image_weights[CHANNELS * CHANNELS * SQUARE * SQUARE];
static float product[ROWS * COLUMNS], batched[BATCHES * ROWS * COLUMNS], line_result[2 * CHANNELS * LENGTH_OUT];
static float image_result[2 * CHANNELS * SIDE_OUT * SIDE_OUT];

static void number(float *data, size_t count, int seed) {
    for (size_t i = 0; i < count; i++) data[i] = (float)((int)((i * 7 + (size_t)seed) % 11) - 5);
}

static void multiply(const float *a, const float *b, float *r) {
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double sum = 0;
            for (int k = 0; k < DEPTH; k++) sum += (double)a[i * DEPTH + k] * (double)b[k * COLUMNS + j];
            r[i * COLUMNS + j] = (float)sum;
        }
}

/* Of `height` lines of `width` numbers, with a kernel of kernel_height lines of kernel_width. */
static void convolve(const float *in, const float *weights, float *out, int height, int width, int kernel_height,
                     int kernel_width) {
    int rows = height - kernel_height + 1, columns = width - kernel_width + 1;
    for (int n = 0; n < 2 * CHANNELS; n++)
        for (int at = 0; at < rows * columns; at++) {
            double sum = 0;
            for (int c = 0; c < CHANNELS; c++)
                for (int k = 0; k < kernel_height * kernel_width; k++) {
                    int row = at / columns + k / kernel_width, column = at % columns + k % kernel_width;
                    sum += (double)in[((n / CHANNELS * CHANNELS + c) * height + row) * width + column] *
                           (double)weights[((n % CHANNELS) * CHANNELS + c) * kernel_height * kernel_width + k];
                }
            out[n * rows * columns + at] = (float)sum;
        }
}

#define NUMBER(array, seed) number(array, sizeof(array) / sizeof(float), seed)
static void make_numbers(void) {
    NUMBER(x, 1);
    NUMBER(w, 2);
    NUMBER(batches, 3);
    NUMBER(line, 4);
    NUMBER(image, 5);
    NUMBER(line_weights, 6);
    NUMBER(image_weights, 7);
    multiply(x, w, product);
    for (int i = 0; i < BATCHES; i++) {
        memcpy(repeated + i * DEPTH * COLUMNS, w, sizeof(w));
        multiply(batches + i * ROWS * DEPTH, w, batched + i * ROWS * COLUMNS);
    }
    convolve(line, line_weights, line_result, 1, LENGTH, 1, KERNEL);
    convolve(image, image_weights, image_result, SIDE, SIDE, SQUARE, SQUARE);
}

/* ---- the program: a product, one that is a state, products of a batch, convolutions of lines and of images ---- */
static insitu_engine *engine;

static insitu_value constant(built_t *b, const char *name, int32_t ndim, const int64_t *sizes, const float *data) {
    insitu_value value;
    must(b, insitu_network_add_constant(b->network, name, F32, ndim, sizes, data, bytes_of(F32, ndim, sizes), &value,
                                        &b->diag));
    return value;
}

static void make_engine(void) {
    built_t b;
    insitu_value values[OUTPUTS], state, none = {0};
    insitu_number sizes[] = {insitu_int(ROWS), insitu_int(COLUMNS)};
    open_network(&b);
    insitu_value a = given(&b, F32, SIZES(ROWS, DEPTH), x), many = given(&b, F32, SIZES(BATCHES, ROWS, DEPTH), batches);
    insitu_value lines = given(&b, F32, SIZES(2, CHANNELS, LENGTH), line);
    insitu_value images = given(&b, F32, SIZES(2, CHANNELS, SIDE, SIDE), image);
    insitu_value weights = constant(&b, "w", SIZES(DEPTH, COLUMNS), w);
    insitu_value shared_weights = constant(&b, "w8", SIZES(BATCHES, DEPTH, COLUMNS), repeated);
    insitu_value line_kernel = constant(&b, "line_weights", SIZES(CHANNELS, CHANNELS, KERNEL), line_weights);
    insitu_value kernel = constant(&b, "image_weights", SIZES(CHANNELS, CHANNELS, SQUARE, SQUARE), image_weights);
    must(&b, insitu_network_add_state(b.network, "kept", F32, 2, sizes, NULL, 0, &state, &b.diag));
    must(&b, insitu_network_add_matmul(b.network, a, weights, none, &values[0], &b.diag));
    must(&b, insitu_network_assign(b.network, state, values[0], &b.diag));
    must(&b, insitu_network_add_matmul(b.network, many, shared_weights, none, &values[1], &b.diag));
    must(&b, insitu_network_add_conv(b.network, lines, line_kernel, none, NULL, &values[2], &b.diag));
    must(&b, insitu_network_add_conv(b.network, images, kernel, none, NULL, &values[3], &b.diag));
    for (int i = 0; i < OUTPUTS; i++) {
        char name[8];
        snprintf(name, sizeof(name), "y%d", i);
        must(&b, insitu_network_mark_output(b.network, values[i], name, &b.diag));
    }
    must(&b, insitu_network_compile(b.network, NULL, &engine, &b.diag));
    close_network(&b);
}

/* ---- a call, and whether it is right ---- */
typedef struct caller {
    insitu_context *context;
    insitu_state *state;
} caller_t;

static caller_t make_caller(void) {
    caller_t made;
    insitu_tensor inputs[] = {
        {.data = x, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 2, .dtype = F32, .shape = INTS(ROWS, DEPTH)},
        {.data = batches,
         .device = {INSITU_DEVICE_CPU, 0},
         .ndim = 3,
         .dtype = F32,
         .shape = INTS(BATCHES, ROWS, DEPTH)},
        {.data = line, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 3, .dtype = F32, .shape = INTS(2, CHANNELS, LENGTH)},
        {.data = image,
         .device = {INSITU_DEVICE_CPU, 0},
         .ndim = 4,
         .dtype = F32,
         .shape = INTS(2, CHANNELS, SIDE, SIDE)},
    };
    if (insitu_context_create(engine, &made.context, NULL) || insitu_state_create(engine, &made.state, NULL)) abort();
    for (int32_t i = 0; i < OUTPUTS; i++)
        if (insitu_context_set_input(made.context, i, &inputs[i], NULL)) abort();
    return made;
}

static void end_caller(caller_t *ended) {
    insitu_context_destroy(ended->context);
    insitu_state_destroy(ended->state);
}

/* How many elements are wrong; -1 if the call failed. Called in threads and processes where nothing may be asserted. */
static int wrong_elements(caller_t *called) {
    static const float *const expected[] = {product, batched, line_result, image_result};
    static const size_t counts[] = {sizeof(product) / 4, sizeof(batched) / 4, sizeof(line_result) / 4,
                                    sizeof(image_result) / 4};
    int wrong = 0;
    for (int32_t i = 0; i < OUTPUTS; i++) { /* what the last call left proves nothing */
        insitu_tensor output;
        if (insitu_context_output(called->context, i, &output, NULL) == INSITU_OK)
            memset(output.data, 0xff, counts[i] * sizeof(float));
    }
    if (insitu_context_run(called->context, called->state, NULL, NULL)) return -1;
    for (int32_t i = 0; i < OUTPUTS; i++) {
        insitu_tensor output;
        if (insitu_context_output(called->context, i, &output, NULL)) return -1;
        const float *found = (const float *)((const char *)output.data + output.byte_offset);
        for (size_t k = 0; k < counts[i]; k++) wrong += !(found[k] == expected[i][k]);
    }
    static _Thread_local float kept[ROWS * COLUMNS];
    if (insitu_state_read(called->state, "kept", kept, sizeof(kept), NULL)) return -1;
    for (size_t k = 0; k < counts[0]; k++) wrong += !(kept[k] == product[k]);
    return wrong;
}

/* ---- what changes: each changes the calling thread's settings, or puts them back ---- */
static void nothing(bool on) { (void)on; }
static void dynamic(bool on) { omp_set_dynamic(on); }
static int threads_before, levels_before;
static void set_threads(bool on, int count) {
    if (on) threads_before = omp_get_max_threads();
    omp_set_num_threads(on ? count : threads_before);
}
static void one_thread(bool on) { set_threads(on, 1); }
static void seven_threads(bool on) { set_threads(on, 7); }
static void set_levels(bool on, int levels) {
    if (on) levels_before = omp_get_max_active_levels();
    omp_set_max_active_levels(on ? levels : levels_before);
}
static void no_levels(bool on) { set_levels(on, 0); }
static void nested_levels(bool on) { set_levels(on, 4); }
static void one_cpu(bool on) {
    static cpu_set_t before;
    cpu_set_t first;
    if (on) assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&first);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) == 0; cpu++)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &first);
    assert_int_equal(sched_setaffinity(0, sizeof(before), on ? &first : &before), 0);
}
static void rounded_up(bool on) { assert_int_equal(fesetround(on ? FE_UPWARD : FE_TONEAREST), 0); }
static void rounded_to_zero(bool on) { assert_int_equal(fesetround(on ? FE_TOWARDZERO : FE_TONEAREST), 0); }

typedef void (*change_t)(bool on);
static const change_t changes[] = {nothing, dynamic,       one_thread, seven_threads,  no_levels,
                                   one_cpu, nested_levels, rounded_up, rounded_to_zero};
enum { CHANGES = sizeof(changes) / sizeof(*changes) };

/* ---- tests ---- */

static void the_thread_s_settings_change(void **state) {
    (void)state;
    for (int first = 0; first < CHANGES; first++) {
        changes[first](true);
        caller_t called = make_caller(); /* prepared so, and called otherwise */
        changes[first](false);
        for (int i = 0; i < CHANGES; i++) {
            changes[i](true);
            int dynamic_before = omp_get_dynamic(), count = omp_get_max_threads(), rounding = fegetround();
            int wrong = wrong_elements(&called);
            assert_int_equal(omp_get_dynamic(), dynamic_before);
            assert_int_equal(omp_get_max_threads(), count);
            assert_int_equal(fegetround(), rounding);
            changes[i](false);
            if (wrong) fail_msg("prepared after change %d, called after change %d: %d are wrong", first, i, wrong);
        }
        end_caller(&called);
    }
}

/* A number of threads that was seen before is prepared for. */
static void settings_seen_before_make_nothing(void **state) {
    (void)state;
    caller_t called = make_caller();
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    int64_t made = 0;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < CHANGES; i++) {
            changes[i](true);
            assert_int_equal(wrong_elements(&called), 0);
            changes[i](false);
            assert_int_equal(insitu_context_stats(called.context, &stats, NULL), INSITU_OK);
            if (round) assert_int_equal(stats.bindings_made, made);
            made = round ? made : stats.bindings_made;
        }
    end_caller(&called);
}

/* Regions of the caller's, and regions in them. */
static void calls_from_regions_are_right(void **state) {
    (void)state;
    enum { CALLERS = 4 };
    caller_t called[CALLERS];
    int wrong[CALLERS] = {0};
    for (int i = 0; i < CALLERS; i++) {
        called[i] = make_caller();
        assert_int_equal(wrong_elements(&called[i]), 0);
    }
    for (int levels = 1; levels < 4; levels++) {
        int before = omp_get_max_active_levels();
        omp_set_max_active_levels(levels);
#pragma omp parallel for num_threads(2)
        for (int i = 0; i < CALLERS; i++) wrong[i] += abs(wrong_elements(&called[i]));
#pragma omp parallel num_threads(2)
        {
            int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
            if (omp_get_num_threads() == 2 || omp_get_thread_num() == 0) {
                int index = outer * 2 + omp_get_thread_num();
                wrong[index] += abs(wrong_elements(&called[index]));
            }
        }
#pragma omp parallel num_threads(1)
        wrong[0] += abs(wrong_elements(&called[0]));
        omp_set_max_active_levels(before);
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(wrong[i], 0);
        end_caller(&called[i]);
    }
}

/* Of several threads each has settings of its own. */
static void *call_often(void *argument) {
    caller_t *called = argument;
    intptr_t wrong = 0;
    for (int i = 0; i < 2 * CHANGES; i++) {
        changes[i % 4](true);
        wrong += abs(wrong_elements(called));
        omp_set_dynamic(0);
        omp_set_num_threads(2);
    }
    return (void *)wrong;
}

static void settings_are_each_thread_s_own(void **state) {
    (void)state;
    enum { CALLERS = 3 };
    caller_t called[CALLERS];
    pthread_t threads[CALLERS];
    void *wrong;
    for (int i = 0; i < CALLERS; i++) {
        called[i] = make_caller();
        assert_int_equal(wrong_elements(&called[i]), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &called[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
        end_caller(&called[i]);
    }
}

/* ---- fork ---- */

static void *call_once(void *argument) { return (void *)(intptr_t)wrong_elements(argument); }

/* The contexts of the parent, one made here, one called by another thread, and in a child of the child. */
static int call_in_child(caller_t *called, int depth) {
    alarm(200); /* a hang fails the test */
    for (int i = 0; i < CHANGES - 2; i++) {
        changes[i](true);
        if (wrong_elements(called)) return 1;
        changes[i](false);
    }
    caller_t own = make_caller();
    if (wrong_elements(&own)) return 2;
    pthread_t thread;
    void *wrong;
    if (pthread_create(&thread, NULL, call_once, &own) || pthread_join(thread, &wrong) || wrong) return 3;
    end_caller(&own);
    if (depth == 0) return 0;
    int status;
    pid_t child = fork();
    if (child == 0) _exit(call_in_child(called, depth - 1));
    return child < 0 || waitpid(child, &status, 0) != child || status ? 4 : 0;
}

static void *fork_and_call(void *argument) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(call_in_child(argument, 1));
    if (child < 0 || waitpid(child, &status, 0) != child) status = -1;
    return (void *)(intptr_t)status;
}

static void *call_and_fork(void *argument) { return wrong_elements(argument) ? argument : fork_and_call(argument); }

static void children_of_fork_call(void **state) {
    (void)state;
    pthread_t thread;
    void *status;
    caller_t called = make_caller(), of_thread = make_caller();
    assert_null(fork_and_call(&called)); /* before the parent has called */
    assert_int_equal(wrong_elements(&called), 0);
    assert_int_equal(wrong_elements(&of_thread), 0);
    assert_null(fork_and_call(&called));
    void *(*const routines[])(void *) = {fork_and_call,
                                         call_and_fork}; /* a thread without and with regions of its own */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, routines[i], &of_thread), 0);
        assert_int_equal(pthread_join(thread, &status), 0);
        assert_null(status);
    }
    assert_int_equal(wrong_elements(&called), 0); /* the parent goes on */
    end_caller(&called);
    end_caller(&of_thread);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_thread_s_settings_change), cmocka_unit_test(settings_seen_before_make_nothing),
        cmocka_unit_test(calls_from_regions_are_right), cmocka_unit_test(settings_are_each_thread_s_own),
        cmocka_unit_test(children_of_fork_call),
    };
    make_numbers();
    make_engine();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    insitu_engine_destroy(engine);
    return failed;
}
