/* Which tensor is which: caller's caches that are written where they lie, results that are inputs or copies of them,
 * memory that several bindings share, and how all that can be asked. */
#include "alias_fixture.h"

#include "counting_allocator.h"
#include "saved_calls.h"
#include <sys/mman.h>
#include <unistd.h>

enum { HEADS = 2, LENGTH = 8, WIDTH = 4, CACHE = HEADS * LENGTH * WIDTH, LINE = HEADS * WIDTH };

/* Row 3 of each head is value, all else is 0. */
static void expect_written(const float *cache, float value) {
    for (int i = 0; i < CACHE; i++) assert_true(cache[i] == (i / WIDTH % LENGTH == 3 ? value : 0));
}

static const insitu_mutated_input cache_out = {.input = "cache", .output = "cache_out"};

/* ---- identity ---- */

static void written_where_it_lies(void **state) {
    (void)state;
    static const char *const forms[] = {"input_slice.train.pt2", "input_slice.aten.pt2"};
    for (size_t i = 0; i < 2; i++) {
        fixture_t f;
        open_fixture(&f, forms[i], NULL);
        float cache[CACHE] = {0}, line[LINE];
        fill(line, LINE, 7);
        set(&f, "cache", cache);
        set(&f, "row", line);
        run(&f);
        expect_written(cache, 7);
        assert_int_equal(stats_of(&f).state_bytes_written, sizeof(line));
        assert_int_equal(stats_of(&f).state_bytes_copied, 0);
        close_fixture(&f);
    }
}

static void nothing_is_allocated(void **state) {
    (void)state;
    fixture_t f;
    open_mutated(&f, "input_slice.train.pt2", &cache_out, 1);
    float cache[CACHE] = {0}, line[LINE] = {0};
    set(&f, "cache", cache);
    set(&f, "row", line);
    run(&f);
    allocation_count_t allocations = {0};
    count_allocations(&allocations);
    for (int i = 0; i < 1000; i++) assert_int_equal(try_run(&f), INSITU_OK);
    memory_set_hooks(NULL);
    assert_int_equal(allocations.calls, 0);
    assert_true(stats_of(&f).arena_bytes < (int64_t)sizeof(cache));
    close_fixture(&f);
}

/* Neither a context nor its first call, which prepares it, takes memory in proportion to a cache of 32 MiB. */
static void no_second_cache_is_made(void **state) {
    (void)state;
    enum { ROWS = 131072, COLUMNS = 32 };
    fixture_t f;
    const insitu_mutated_input row = {.input = "cache", .output = "cache_out"};
    insitu_compile_options options = new_options();
    options.mutated_inputs = &row;
    options.mutated_input_count = 1;
    must(&f, compile_fixture(&f, "cache_rows.train.pt2", &options));
    const size_t size = sizeof(float) * HEADS * ROWS * COLUMNS;
    float *memory = calloc(1, size), line[HEADS * COLUMNS] = {0};
    assert_non_null(memory);
    int64_t shape[4] = {1, HEADS, ROWS, COLUMNS}, position = ROWS - 1;
    insitu_tensor cache = tensor_of(memory, INSITU_DTYPE_F32, 4, shape);
    allocation_count_t allocations = {0};
    count_allocations(&allocations);
    must(&f, insitu_context_create(f.engine, &f.context, &f.diag));
    must(&f, try_set(&f, "cache", &cache));
    set(&f, "row", line);
    set(&f, "position", &position);
    for (int call = 0; call < 2; call++) run(&f);
    insitu_tensor out = output_of(&f, 0);
    assert_ptr_equal(data_of(&out), memory);
    insitu_context_destroy(f.context);
    f.context = NULL;
    memory_set_hooks(NULL);
    assert_int_equal(allocations.live, 0);
    assert_true(allocations.calls > 0 && allocations.largest < size / 64);
    close_fixture(&f);
    free(memory);
}

static void calls_see_each_others_writes(void **state) {
    (void)state;
    fixture_t f;
    open_mutated(&f, "input_slice.train.pt2", &cache_out, 1);
    static const float values[] = {1, 5, 0};
    float cache[CACHE] = {0}, line[LINE];
    for (size_t i = 0; i < 3; i++) {
        fill(line, LINE, values[i]);
        set(&f, "cache", cache);
        set(&f, "row", line);
        run(&f);
        insitu_tensor out = output_of(&f, 0);
        assert_ptr_equal(data_of(&out), cache);
        assert_true(number_of(&f, 1) == values[i] * (float)LINE);
    }
    close_fixture(&f);
}

static void two_caches_are_two_aliases(void **state) {
    (void)state;
    static const char *const forms[] = {"paired_caches.train.pt2", "paired_caches.aten.pt2"};
    for (size_t i = 0; i < 2; i++) {
        fixture_t f;
        open_fixture(&f, forms[i], NULL);
        assert_int_equal(insitu_engine_alias_count(f.engine), 2);
        assert_string_equal(alias_of(&f, 0).input, "keys");
        assert_string_equal(alias_of(&f, 0).output, "mutated.keys");
        assert_string_equal(alias_of(&f, 1).input, "values");
        assert_string_equal(alias_of(&f, 1).output, "mutated.values");
        float keys[CACHE] = {0}, values[CACHE] = {0}, key[LINE], value[LINE];
        fill(key, LINE, 2);
        fill(value, LINE, 3);
        set(&f, "keys", keys);
        set(&f, "values", values);
        set(&f, "key", key);
        set(&f, "value", value);
        run(&f);
        expect_written(keys, 2);
        expect_written(values, 3);
        close_fixture(&f);
    }
}

static void results_are_the_programs(void **state) {
    (void)state;
    static const struct {
        const char *file;
        int32_t outputs, written;
    } cases[] = {{"returned_twice.train.pt2", 6, 0},
                 {"input_slice.train.pt2", 1, 1},
                 {"paired_caches.aten.pt2", 1, 2},
                 {"input_caches.train.pt2", 3, 2}};
    for (size_t i = 0; i < 4; i++) {
        fixture_t f;
        open_fixture(&f, cases[i].file, NULL);
        assert_int_equal(insitu_engine_output_count(f.engine), cases[i].outputs);
        assert_int_equal(insitu_engine_alias_count(f.engine), cases[i].written);
        close_fixture(&f);
    }
}

static void named_outputs_are_the_inputs(void **state) {
    (void)state;
    const insitu_mutated_input rows[] = {{.input = "values", .output = "new_values"},
                                         {.input = "keys", .output_index = 1}};
    fixture_t f;
    open_mutated(&f, "paired_caches.train.pt2", rows, 2);
    float keys[CACHE] = {0}, values[CACHE] = {0}, line[LINE];
    fill(line, LINE, 1);
    set(&f, "keys", keys);
    set(&f, "values", values);
    set(&f, "key", line);
    set(&f, "value", line);
    run(&f);
    assert_int_equal(insitu_engine_output_count(f.engine), 3);
    assert_int_equal(insitu_engine_find_output(f.engine, "new_values"), 0);
    assert_int_equal(insitu_engine_find_output(f.engine, "mutated.keys"), 1);
    insitu_tensor first = output_of(&f, 0), second = output_of(&f, 1);
    assert_ptr_equal(data_of(&first), values);
    assert_ptr_equal(data_of(&second), keys);
    assert_true(number_of(&f, 2) == 3 * LINE);
    assert_int_equal(stats_of(&f).output_bytes_copied, 0);
    close_fixture(&f);
}

static void returned_inputs_are_copies(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "returned_twice.train.pt2", NULL);
    float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
    set(&f, "x", x);
    set(&f, "y", y);
    run(&f);
    insitu_tensor first = output_of(&f, 1), second = output_of(&f, 2);
    assert_memory_equal(data_of(&first), y, sizeof(y));
    assert_ptr_not_equal(data_of(&first), y);
    assert_ptr_not_equal(data_of(&first), data_of(&second));
    ((float *)data_of(&first))[0] = 9;
    y[1] = 9;
    assert_true(y[0] == 5 && ((float *)data_of(&first))[1] == 6 && ((float *)data_of(&second))[0] == 5);
    float kept[4]; /* the caller's, for the result of one call */
    int64_t four = 4;
    insitu_tensor target = tensor_of(kept, INSITU_DTYPE_F32, 1, &four);
    must(&f, insitu_context_set_output(f.context, 1, &target, &f.diag));
    run(&f);
    must(&f, insitu_context_set_output(f.context, 1, NULL, &f.diag));
    fill(y, 4, 1);
    run(&f);
    assert_true(kept[0] == 5 && kept[1] == 9 && kept[3] == 8);
    close_fixture(&f);
}

static void values_returned_twice_are_apart(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "returned_twice.train.pt2", NULL);
    float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
    set(&f, "x", x);
    set(&f, "y", y);
    run(&f);
    insitu_tensor first = output_of(&f, 3), second = output_of(&f, 4);
    assert_memory_equal(data_of(&first), data_of(&second), sizeof(x));
    ((float *)data_of(&first))[2] = 0;
    assert_true(((float *)data_of(&second))[2] == 21);
    close_fixture(&f);
}

static void without_mutation_nothing_is_aliased(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "returned_twice.train.pt2", NULL);
    assert_int_equal(insitu_engine_alias_count(f.engine), 0);
    float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, kept[4];
    int64_t four = 4;
    insitu_tensor target = tensor_of(kept, INSITU_DTYPE_F32, 1, &four);
    set(&f, "x", x);
    set(&f, "y", y);
    must(&f, insitu_context_set_output(f.context, 0, &target, &f.diag));
    run(&f);
    must(&f, insitu_context_set_output(f.context, 0, NULL, &f.diag));
    x[0] = 100;
    run(&f);
    assert_true(kept[0] == 6 && number_of(&f, 0) == 105);
    close_fixture(&f);
}

/* A written tensor is itself at every position, whole or in part; the unwritten one beside it is copied. */
static void written_inputs_are_themselves_everywhere(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "returned_cache.train.pt2", NULL);
    float cache[CACHE] = {0}, line[LINE];
    fill(line, LINE, 4);
    set(&f, "cache", cache);
    set(&f, "row", line);
    run(&f);
    insitu_tensor whole = output_of(&f, 0), part = output_of(&f, 1), again = output_of(&f, 2), other = output_of(&f, 3);
    assert_ptr_equal(data_of(&whole), cache);
    assert_ptr_equal(data_of(&part), cache + 3 * WIDTH);
    assert_ptr_equal(data_of(&again), cache);
    assert_ptr_not_equal(data_of(&other), line);
    assert_int_equal(insitu_engine_alias_count(f.engine), 1);
    assert_string_equal(alias_of(&f, 0).output, "output.0");
    assert_int_equal(alias_of(&f, 0).output_index, 0);
    assert_string_equal(insitu_engine_aliased_input(f.engine, "output.1"), "cache");
    assert_null(insitu_engine_aliased_input(f.engine, "output.3"));
    close_fixture(&f);
}

/* An output of the input's sizes is its new value only if it is so element for element. */
static void a_turned_view_is_not_the_new_value(void **state) {
    (void)state;
    static const char source[] = "network\n"
                                 "input \"x\" = %x: f32[2,2]\n"
                                 "%y: f32[2,2] = binary(%x, %x) {op=add}\n"
                                 "%t: f32[2,2] = permute(%y) {axes=[1,0]}\n"
                                 "output \"turned\" = %t\n"
                                 "output \"doubled\" = %y\n"
                                 "mutation \"x\" = %y\n";
    fixture_t f;
    open_text(&f, source);
    float x[4] = {1, 2, 3, 4}, expected[4] = {2, 4, 6, 8};
    set(&f, "x", x);
    run(&f);
    assert_memory_equal(x, expected, sizeof(x));
    insitu_tensor turned = output_of(&f, 0), doubled = output_of(&f, 1);
    assert_ptr_equal(data_of(&turned), x);
    assert_ptr_equal(data_of(&doubled), x);
    assert_true(turned.strides[0] == 1 && turned.strides[1] == 2 && doubled.strides[0] == 2);
    assert_int_equal(insitu_engine_alias_count(f.engine), 1);
    assert_string_equal(alias_of(&f, 0).output, "doubled");
    assert_int_equal(alias_of(&f, 0).output_index, 1);
    assert_string_equal(insitu_engine_aliased_input(f.engine, "turned"), "x");
    close_fixture(&f);
}

/* ---- memory that is shared ---- */

static void other_strides_are_refused(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "input_slice.train.pt2", NULL);
    float memory[2 * CACHE] = {0}, line[LINE];
    fill(line, LINE, 7);
    int64_t shape[4] = {1, HEADS, LENGTH, WIDTH}, transposed[4] = {CACHE, WIDTH, HEADS * WIDTH, 1},
            spread[4] = {2 * CACHE, 2 * LENGTH * WIDTH, 2 * WIDTH, 2};
    int64_t *strides[] = {transposed, spread};
    set(&f, "row", line);
    for (size_t i = 0; i < 2; i++) {
        insitu_tensor tensor = tensor_of(memory, INSITU_DTYPE_F32, 4, shape);
        tensor.strides = strides[i];
        must_fail(&f, try_set(&f, "cache", &tensor), INSITU_SHAPE,
                  "input 'cache' is written by the program, so its strides must be those");
        must_fail(&f, try_run(&f), INSITU_ARG, "input 'cache' is not bound");
        for (int k = 0; k < 2 * CACHE; k++) assert_true(memory[k] == 0);
    }
    close_fixture(&f);
}

/* Strides that follow from a size which the tensor itself brings are known when it is bound. */
static void other_strides_of_a_free_size_are_refused(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "cache_rows.train.pt2", NULL);
    enum { ROWS = 512, COLUMNS = 32 };
    float *memory = calloc(2 * ROWS * COLUMNS, sizeof(*memory));
    assert_non_null(memory);
    int64_t shape[4] = {1, HEADS, ROWS, COLUMNS}, dense[4] = {7, ROWS * COLUMNS, COLUMNS, 1},
            swapped[4] = {HEADS * ROWS * COLUMNS, COLUMNS, HEADS * COLUMNS, 1},
            gap[4] = {HEADS * ROWS * COLUMNS, ROWS * COLUMNS + 32, COLUMNS, 1};
    insitu_tensor tensor = tensor_of(memory, INSITU_DTYPE_F32, 4, shape);
    tensor.strides = swapped;
    must_fail(&f, try_set(&f, "cache", &tensor), INSITU_SHAPE, "stride 32 in dimension 1 where 16384 was expected");
    tensor.strides = gap;
    must_fail(&f, try_set(&f, "cache", &tensor), INSITU_SHAPE, "stride 16416 in dimension 1 where 16384 was expected");
    tensor.strides = dense; /* a dimension of size 1 steps nowhere */
    must(&f, try_set(&f, "cache", &tensor));
    free(memory);
    close_fixture(&f);
}

static void memory_beyond_the_last_address_is_refused(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "input_slice.train.pt2", NULL);
    float line[LINE];
    int64_t shape[4] = {1, HEADS, 1, WIDTH};
    insitu_tensor tensor = tensor_of(line, INSITU_DTYPE_F32, 4, shape);
    const uint64_t offsets[] = {UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - (uintptr_t)line,
                                UINT64_MAX - (uintptr_t)line - 15};
    for (size_t i = 0; i < 4; i++) {
        tensor.byte_offset = offsets[i];
        must_fail(&f, try_set(&f, "row", &tensor), INSITU_ARG, "would end beyond the last address");
    }
    close_fixture(&f);
}

static void one_tensor_as_two_written_inputs_is_refused(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "paired_caches.train.pt2", NULL);
    float memory[CACHE + WIDTH] = {0}, line[LINE];
    fill(line, LINE, 7);
    set(&f, "key", line);
    set(&f, "value", line);
    set(&f, "keys", memory);
    for (int shift = 0; shift <= WIDTH; shift += WIDTH) {
        set(&f, "values", memory + shift);
        must_fail(&f, try_run(&f), INSITU_ARG,
                  "input 'keys' shares memory with input 'values', and one of them is written");
        for (int k = 0; k < CACHE; k++) assert_true(memory[k] == 0);
    }
    close_fixture(&f);
}

static void a_part_of_the_cache_as_its_update_is_refused(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "input_slice.train.pt2", NULL);
    float cache[CACHE];
    for (int i = 0; i < CACHE; i++) cache[i] = (float)i;
    int64_t shape[4] = {1, HEADS, 1, WIDTH}, strides[4] = {CACHE, LENGTH * WIDTH, WIDTH, 1};
    insitu_tensor row = tensor_of(cache + 5 * WIDTH, INSITU_DTYPE_F32, 4, shape);
    row.strides = strides;
    set(&f, "cache", cache);
    must(&f, try_set(&f, "row", &row));
    must_fail(&f, try_run(&f), INSITU_ARG, "input 'cache' shares memory with input 'row'");
    for (int i = 0; i < CACHE; i++) assert_true(cache[i] == (float)i);
    close_fixture(&f);
}

/* The update's heads lie before and behind the cache: its bytes from first to last hold all of the cache. */
static void elements_that_never_meet_are_no_overlap(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "input_slice.train.pt2", NULL);
    float memory[WIDTH + CACHE + WIDTH] = {0}, *cache = memory + WIDTH;
    fill(memory, WIDTH, 6);
    fill(cache + CACHE, WIDTH, 6);
    int64_t shape[4] = {1, HEADS, 1, WIDTH}, strides[4] = {CACHE, WIDTH + CACHE, WIDTH, 1};
    insitu_tensor row = tensor_of(memory, INSITU_DTYPE_F32, 4, shape);
    row.strides = strides;
    set(&f, "cache", cache);
    must(&f, try_set(&f, "row", &row));
    run(&f);
    expect_written(cache, 6);
    close_fixture(&f);
}

/* ---- what can be asked ---- */

static void aliases_can_be_asked_by_output(void **state) {
    (void)state;
    fixture_t f;
    open_mutated(&f, "input_slice.train.pt2", &cache_out, 1);
    assert_string_equal(insitu_engine_aliased_input(f.engine, "cache_out"), "cache");
    assert_null(insitu_engine_aliased_input(f.engine, "output.0"));
    assert_null(insitu_engine_aliased_input(f.engine, "nothing"));
    assert_string_equal(insitu_alias_kind_name(alias_of(&f, 0).kind), "kv_cache_update");
    insitu_alias alias = {.struct_size = sizeof(alias)};
    must_fail(&f, insitu_engine_alias(f.engine, 1, &alias, &f.diag), INSITU_ARG,
              "alias 1 does not exist: the engine has 1");
    must_fail(&f, insitu_engine_alias(f.engine, -1, &alias, &f.diag), INSITU_ARG, "alias -1 does not exist");
    close_fixture(&f);
}

static insitu_alias_kind kind_in(const char *file, insitu_state_owner owner) {
    fixture_t f;
    insitu_compile_options options = new_options();
    options.state = owner;
    open_fixture(&f, file, &options);
    insitu_alias_kind kind = alias_of(&f, 0).kind;
    assert_true(prints(&f, "report", "in place"));
    close_fixture(&f);
    return kind;
}

static void kinds_are_what_was_written(void **state) {
    (void)state;
    assert_int_equal(kind_in("input_slice.train.pt2", INSITU_STATE_OWNED), INSITU_ALIAS_KV_CACHE_UPDATE);
    assert_int_equal(kind_in("input_slice.aten.pt2", INSITU_STATE_OWNED), INSITU_ALIAS_KV_CACHE_UPDATE);
    assert_int_equal(kind_in("cached_64.train.pt2", INSITU_STATE_CALLER),
                     INSITU_ALIAS_KV_CACHE_UPDATE);                                                /* one position */
    assert_int_equal(kind_in("position_cache.train.pt2", INSITU_STATE_CALLER), INSITU_ALIAS_USER); /* any positions */
    assert_int_equal(kind_in("input_caches.train.pt2", INSITU_STATE_OWNED), INSITU_ALIAS_USER); /* three dimensions */
    assert_int_equal(kind_in("any_capacity.train.pt2", INSITU_STATE_OWNED),
                     INSITU_ALIAS_USER); /* a length that varies */
}

/* A call copies what the report says. */
static void expect_copied(const char *file) {
    saved_calls_t calls;
    int64_t bytes = 0;
    insitu_run_stats stats = {.struct_size = sizeof(stats)};
    insitu_report_row row = {.struct_size = sizeof(row)};
    assert_true(saved_calls_open(&calls, file, NULL));
    for (int32_t i = 0; i < insitu_engine_report_count(calls.engine); i++) {
        saved_must(&calls, insitu_engine_report(calls.engine, i, &row, &calls.diag));
        bytes += row.bytes_copied;
    }
    saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
    saved_must(&calls, insitu_context_stats(calls.context, &stats, &calls.diag));
    assert_true(bytes > 0);
    assert_int_equal(stats.state_bytes_copied, bytes);
    saved_calls_close(&calls);
}

static void copies_say_why(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "swapped.train.pt2", NULL);
    insitu_report_row row = {.struct_size = sizeof(row)};
    int copied = 0;
    char reason[256] = "";
    for (int32_t i = 0; i < insitu_engine_report_count(f.engine); i++) {
        must(&f, insitu_engine_report(f.engine, i, &row, &f.diag));
        if (row.in_place) continue;
        copied++;
        snprintf(reason, sizeof(reason), "%s", row.reason);
        assert_true(strncmp(row.verdict, "COPIED ", 7) == 0 && row.bytes_copied > 0);
    }
    assert_true(copied > 0 && reason[0]);
    close_fixture(&f);
    expect_copied("swapped.train.pt2");
    insitu_compile_options options = new_options();
    options.strict = true;
    expect_refusal("swapped.train.pt2", &options, INSITU_UNSUPPORTED, reason);
}

static void a_clone_is_nobodys(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "returned_twice.train.pt2", NULL);
    float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, written[4] = {5, 2, 7, 8}, before[4];
    memcpy(before, y, sizeof(y));
    set(&f, "x", x);
    set(&f, "y", y);
    run(&f);
    insitu_tensor out = output_of(&f, 5);
    assert_memory_equal(data_of(&out), written, sizeof(written));
    assert_memory_equal(y, before, sizeof(y));
    assert_false(insitu_engine_input_is_written(f.engine, "y"));
    close_fixture(&f);
}

/* The cache ends where the process's memory does. */
static float *last_bytes(size_t size, void **out_map, size_t *out_size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *out_size = 2 * page;
    *out_map = mmap(NULL, *out_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(*out_map != MAP_FAILED);
    assert_int_equal(mprotect((char *)*out_map + page, page, PROT_NONE), 0);
    return (float *)(void *)((char *)*out_map + page - size);
}

static void slices_end_where_the_cache_does(void **state) {
    (void)state;
    fixture_t f;
    void *map;
    size_t size;
    float *cache = last_bytes(CACHE * sizeof(float), &map, &size), lines[2 * LINE];
    fill(lines, 2 * LINE, 5);
    open_fixture(&f, "past_end.train.pt2", NULL);
    set(&f, "cache", cache);
    set(&f, "rows", lines);
    run(&f);
    for (int i = 0; i < CACHE; i++) assert_true(cache[i] == (i / WIDTH % LENGTH >= 6 ? 5 : 0));
    assert_int_equal(stats_of(&f).state_bytes_written, sizeof(lines));
    close_fixture(&f);
    assert_int_equal(munmap(map, size), 0);
    insitu_compile_options options = new_options();
    options.bounds = INSITU_BOUNDS_STRICT;
    expect_refusal("past_end.train.pt2", &options, INSITU_BOUNDS, "a slice write lies outside of dimension 2");
}

static void lost_rows_are_an_error_if_asked(void **state) {
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        insitu_compile_options options = new_options();
        options.bounds = strict ? INSITU_BOUNDS_STRICT : INSITU_BOUNDS_EAGER;
        fixture_t f;
        open_fixture(&f, "past_end_late.train.pt2", &options);
        float cache[2 * 8 * 4] = {0}, row[2 * 4];
        int64_t at = 7;
        fill(row, 8, 3);
        set(&f, "cache", cache);
        set(&f, "row", row);
        set(&f, "at", &at);
        run(&f);
        assert_true(cache[7 * 4] == 3 && cache[8 * 4] == 0);
        at = 8;
        fill(row, 8, 4);
        if (strict)
            must_fail(&f, try_run(&f), INSITU_BOUNDS,
                      "lies outside of dimension 1, and its row would be lost (aliases.py:");
        else
            run(&f);
        assert_true(cache[7 * 4] == 3 && cache[8 * 4] == 0 && cache[15 * 4] == 3);
        close_fixture(&f);
    }
}

static void written_inputs_are_named(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "input_caches.aten.pt2", NULL);
    static const struct {
        const char *name;
        bool is_written;
    } cases[] = {{"x", false}, {"keys", true}, {"values", true}, {"position", false}, {"nothing", false}};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(insitu_engine_input_is_written(f.engine, cases[i].name), cases[i].is_written);
    for (int32_t i = 0; i < insitu_engine_alias_count(f.engine); i++)
        assert_true(insitu_engine_input_is_written(f.engine, alias_of(&f, i).input));
    assert_int_equal(insitu_engine_alias_count(f.engine), 2);
    close_fixture(&f);
}

static void other_memory_gets_the_bytes(void **state) {
    (void)state;
    fixture_t f;
    open_mutated(&f, "input_slice.train.pt2", &cache_out, 1);
    float cache[CACHE] = {0}, line[LINE], reflected[CACHE];
    int64_t shape[4] = {1, HEADS, LENGTH, WIDTH};
    fill(line, LINE, 2);
    insitu_tensor target = tensor_of(reflected, INSITU_DTYPE_F32, 4, shape);
    set(&f, "cache", cache);
    set(&f, "row", line);
    must(&f, insitu_context_set_output(f.context, 0, &target, &f.diag));
    run(&f);
    expect_written(cache, 2);
    assert_memory_equal(reflected, cache, sizeof(cache));
    assert_int_equal(stats_of(&f).output_bytes_copied, sizeof(cache));
    target.data = cache; /* the tensor that it is anyway */
    must(&f, insitu_context_set_output(f.context, 0, &target, &f.diag));
    run(&f);
    assert_int_equal(stats_of(&f).output_bytes_copied, 0);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ROW("row 1: a caller's cache is written where it lies, only the rows that change", written_where_it_lies),
        ROW("row 2: calls allocate nothing", nothing_is_allocated),
        ROW("row 2: nothing of the cache's size is ever allocated", no_second_cache_is_made),
        ROW("row 3: calls on one tensor see each other's writes, at one address", calls_see_each_others_writes),
        ROW("row 4: two caches are two aliases, each of its own input", two_caches_are_two_aliases),
        ROW("row 5: the results are the program's own; new values of inputs are not among them",
            results_are_the_programs),
        ROW("row 6: named in mutated_inputs, they come first, and each is the input's tensor itself",
            named_outputs_are_the_inputs),
        ROW("row 8: an input that is returned and not written is a copy", returned_inputs_are_copies),
        ROW("row 9: one value returned at two places is two tensors", values_returned_twice_are_apart),
        ROW("row 10: a program that writes nothing has no aliases, and results of its own memory",
            without_mutation_nothing_is_aliased),
        ROW("row 11: a cache of other strides than the program's is refused, and not written",
            other_strides_are_refused),
        cmocka_unit_test(other_strides_of_a_free_size_are_refused),
        cmocka_unit_test(memory_beyond_the_last_address_is_refused),
        ROW("row 12: one tensor, or overlapping ones, as two written inputs is refused with both names",
            one_tensor_as_two_written_inputs_is_refused),
        ROW("row 13: a part of the cache as its own update is refused with both names",
            a_part_of_the_cache_as_its_update_is_refused),
        cmocka_unit_test(elements_that_never_meet_are_no_overlap),
        cmocka_unit_test(written_inputs_are_themselves_everywhere),
        cmocka_unit_test(a_turned_view_is_not_the_new_value),
        ROW("row 14: the input of an output can be asked, and the kind; other names have none",
            aliases_can_be_asked_by_output),
        ROW("row 15: rows written to a 4-D cache of constant sizes are kv_cache_update, all else is user, and both are "
            "in place",
            kinds_are_what_was_written),
        ROW("row 16: a copy is reported with its bytes and its reason, and strict fails with that reason",
            copies_say_why),
        ROW("row 17: a write to a clone leaves the input alone", a_clone_is_nobodys),
        ROW("row 18: a slice ends where its tensor does, as in PyTorch; nothing behind it is touched",
            slices_end_where_the_cache_does),
        cmocka_unit_test(lost_rows_are_an_error_if_asked),
        ROW("row 50: the inputs that are written are those that have an alias", written_inputs_are_named),
        ROW("row 86: an aliased output bound to other memory gets the bytes too, and they are counted",
            other_memory_gets_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
