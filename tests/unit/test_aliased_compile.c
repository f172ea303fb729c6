/* What is asked of a compilation and refused by it, and what an engine file keeps of aliased inputs and outputs. */
#include "alias_fixture.h"
#include "convert/convert.h"

#include "counting_allocator.h"

#include "engine/engine.h"
#include "graph/graph.h"
#include "network/network.h"
#include "passes/passes.h"
#include "rewrite/rewrite.h"
#include <dirent.h>
#include <unistd.h>

enum { HEADS = 2, LENGTH = 8, WIDTH = 4, CACHE = HEADS * LENGTH * WIDTH, LINE = HEADS * WIDTH };

/* ---- mutated_inputs ---- */

static void wrong_pairs_are_refused(void **state) {
    (void)state;
    static const char pure[] = "returned_twice.train.pt2", slice[] = "input_slice.train.pt2";
    REFUSE(pure, INSITU_ARG, "there is no input 'z', which output 'output.0' was to be", BY_NAME("z", "output.0"));
    REFUSE(pure, INSITU_ARG, "there is no input 2, which output 0 was to be: the program has 2: 'x', ",
           {.input_index = 2});
    REFUSE(pure, INSITU_ARG, "there is no input -1", {.input_index = -1});
    REFUSE(pure, INSITU_ARG, "input 'x' can't be output 'sum': the program has no such output", BY_NAME("x", "sum"));
    REFUSE(pure, INSITU_ARG, "input 'x' can't be output 6: the program has no such output",
           {.input = "x", .output_index = 6});
    REFUSE(pure, INSITU_ARG, "can't be output -1", {.input = "x", .output_index = -1});
    REFUSE(pure, INSITU_ARG, "input 'x' can't be output 'output.3': the input is named twice", BY_NAME("x", "output.0"),
           BY_NAME("x", "output.3"));
    REFUSE(pure, INSITU_ARG, "input 'y' can't be output 'output.0': it is another input's new value already",
           BY_NAME("x", "output.0"), BY_NAME("y", "output.0"));
    REFUSE(slice, INSITU_SHAPE, "input 'row' can't be output 'output.0': it is f32[] and the input is f32[1,2,1,4]",
           BY_NAME("row", "output.0"));
    REFUSE("ring_counter.train.pt2", INSITU_ARG, "it is i64[1] and the input is f32[2,1,4]", BY_NAME("x", "output.1"));
    REFUSE(slice, INSITU_ARG, "the program gives the input another new value", BY_NAME("cache", "output.0"));
    REFUSE(slice, INSITU_ARG, "input 'cache' can't be output 'output.7': the program has no output of this name",
           BY_NAME("cache", "output.7"));
    REFUSE(slice, INSITU_ARG, "the name is another input's", BY_NAME("cache", "mutated.row"));
    REFUSE(slice, INSITU_ARG, "the name is empty", BY_NAME("cache", ""));
    REFUSE(slice, INSITU_ARG, "the name is not UTF-8", BY_NAME("cache", "\xfc"));
    REFUSE("numbers.train.pt2", INSITU_ARG, "input 'scale' can't be output 'output.0': the input is no tensor",
           BY_NAME("scale", "output.0"));
    REFUSE("results.train.pt2", INSITU_ARG, "the output is no tensor", BY_NAME("x", "output.7"));
    REFUSE("paired_caches.train.pt2", INSITU_ARG,
           "input 'values' can't be output 'new': it is another input's new value", BY_NAME("keys", "new"),
           BY_NAME("values", "new"));
    insitu_compile_options options = new_options();
    options.mutated_input_count = 1;
    expect_refusal(slice, &options, INSITU_ARG, "mutated_inputs has 1 rows and no place");
    options = new_options();
    options.state = (insitu_state_owner)3;
    expect_refusal(slice, &options, INSITU_ARG, "3 is no owner of states");
    options = new_options();
    options.bounds = (insitu_bounds)2;
    expect_refusal(slice, &options, INSITU_ARG, "bounds can't be 2");
}

/* x + y is written into x, by names or by indices. */
static void unwritten_inputs_take_outputs(void **state) {
    (void)state;
    static const insitu_mutated_input rows[] = {BY_NAME("x", "output.0"), {.input_index = 0, .output_index = 0}};
    for (size_t i = 0; i < 2; i++) {
        fixture_t f;
        open_mutated(&f, "returned_twice.train.pt2", &rows[i], 1);
        float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, expected[4] = {21, 42, 63, 84};
        set(&f, "x", x);
        set(&f, "y", y);
        run(&f);
        run(&f);
        assert_memory_equal(x, expected, sizeof(expected));
        insitu_tensor sum = output_of(&f, 0), product = output_of(&f, 3);
        assert_ptr_equal(data_of(&sum), x);
        assert_true(((float *)data_of(&product))[0] == 110); /* of x as it was when the call began */
        assert_int_equal(insitu_engine_output_count(f.engine), 6);
        assert_string_equal(alias_of(&f, 0).output, "output.0");
        close_fixture(&f);
    }
}

static void declared_outputs_stay_where_they_are(void **state) {
    (void)state;
    static const insitu_mutated_input rows[] = {BY_NAME("keys", "output.1"), {.input = "values", .output_index = 2}};
    fixture_t f;
    open_mutated(&f, "input_caches.train.pt2", rows, 2);
    assert_int_equal(insitu_engine_output_count(f.engine), 3);
    assert_string_equal(insitu_engine_aliased_input(f.engine, "output.1"), "keys");
    assert_string_equal(insitu_engine_aliased_input(f.engine, "output.2"), "values");
    close_fixture(&f);
}

/* An output may be called as the new value of an input would be. */
static void names_of_new_values_are_free(void **state) {
    (void)state;
    fixture_t f;
    open_text(&f, "network\n"
                  "input \"x\" = %x: f32[2]\n"
                  "%y: f32[2] = binary(%x, %x) {op=add}\n"
                  "%z: f32[2] = binary(%y, %y) {op=add}\n"
                  "output \"mutated.x\" = %z\n"
                  "mutation \"x\" = %y\n");
    assert_int_equal(insitu_engine_alias_count(f.engine), 1);
    assert_string_equal(alias_of(&f, 0).output, "mutated.x_1");
    assert_string_equal(insitu_engine_aliased_input(f.engine, "mutated.x_1"), "x");
    assert_null(insitu_engine_aliased_input(f.engine, "mutated.x"));
    close_fixture(&f);
}

static void targets_without_aliases_refuse(void **state) {
    (void)state;
    insitu_compile_options options = new_options();
    options.device = "dla";
    static const char words[] = "device 'dla' can't let an input and an output share memory, so ";
    expect_refusal("input_slice.train.pt2", &options, INSITU_UNSUPPORTED, words);
    expect_refusal("buffer_slice.train.pt2", &options, INSITU_UNSUPPORTED, words);
    expect_refusal("returned_twice.train.pt2", &options, INSITU_UNSUPPORTED, "does not compile for device 'dla'");
    const insitu_mutated_input row = BY_NAME("x", "output.0");
    options.mutated_inputs = &row;
    options.mutated_input_count = 1;
    expect_refusal("returned_twice.train.pt2", &options, INSITU_UNSUPPORTED, "so 'x' can't be written in place there");
    options.device = "cuda:1";
    expect_refusal("returned_twice.train.pt2", &options, INSITU_UNSUPPORTED, "does not compile for device 'cuda'");
    static const char *const unknown[] = {"abacus", "", "cpu:1", "cpu:", "cuda:", "cuda:x", "CPU", "cpus"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        char sentence[64];
        snprintf(sentence, sizeof(sentence), "unknown device '%s': cpu is known", unknown[i]);
        options.device = unknown[i];
        expect_refusal("returned_twice.train.pt2", &options, INSITU_ARG, sentence);
    }
}

/* ---- what a compilation makes ---- */

static void any_capacity_is_in_place(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "any_capacity.train.pt2", NULL);
    insitu_report_row row = {.struct_size = sizeof(row)};
    must(&f, insitu_engine_report(f.engine, 0, &row, &f.diag));
    assert_true(row.in_place);
    assert_int_equal(row.bytes_written, sizeof(float) * LINE);
    for (int64_t length = 2; length <= 32; length += 15) {
        float cache[2 * 32 * 4] = {0}, line[LINE];
        int64_t shape[4] = {1, 2, length, 4};
        insitu_tensor tensor = tensor_of(cache, INSITU_DTYPE_F32, 4, shape);
        fill(line, LINE, 1);
        set(&f, "row", line);
        must(&f, try_set(&f, "cache", &tensor));
        run(&f);
        for (int64_t i = 0; i < 2 * length * 4; i++) assert_true(cache[i] == (i / 4 % length == 1 ? 1 : 0));
        assert_int_equal(stats_of(&f).state_bytes_written, sizeof(line));
    }
    close_fixture(&f);
}

static insitu_status build(const char *source, plan_t **out_plan, insitu_diag *diag) {
    graph_t *graph = NULL;
    network_t *network = NULL;
    *out_plan = NULL;
    insitu_status status = graph_parse(source, &graph, diag);
    if (status == INSITU_OK) status = passes_run(graph, diag);
    if (status == INSITU_OK) status = network_convert(graph, false, &network, diag);
    if (status == INSITU_OK) status = plan_build(network, &(plan_options_t){0}, out_plan, diag);
    network_destroy(network);
    graph_destroy(graph);
    return status;
}

/* The plan's text, or the sentence of the failure. */
static insitu_status plan_of(const char *source, text_t *out) {
    insitu_diag diag = {.struct_size = sizeof(diag)};
    plan_t *plan;
    insitu_status status = build(source, &plan, &diag);
    text_init(out);
    if (status == INSITU_OK)
        plan_print(plan, out);
    else
        text_printf(out, "%s", diag.message);
    plan_destroy(plan);
    insitu_diag_release(&diag);
    return status;
}

static update_kind_t kind_of(const char *sizes, const char *indices, const char *row, const char *value) {
    char source[1024];
    plan_t *plan;
    insitu_diag diag = {.struct_size = sizeof(diag)};
    snprintf(source, sizeof(source),
             "graph functional {\n  input %%cache: %s user 0\n  input %%row: %s user 1\n  input %%at: i64[2] user 2\n"
             "  input %%one: i64[1] user 3\n  %%count: i64[2] = aten.arange.default(2, dtype=i64)\n"
             "  %%other: i64[2] = aten.arange.start(1, 3, dtype=i64)\n"
             "  %%put: %s = %s(%%cache, %s)\n  output %%put mutates %%cache\n}\n",
             sizes, row, sizes, value, indices);
    if (build(source, &plan, &diag) != INSITU_OK) fail_msg("%s\n%s", diag.message, source);
    update_kind_t kind = plan->inputs[0].update;
    plan_destroy(plan);
    return kind;
}

static void caches_are_known_by_their_rows(void **state) {
    (void)state;
    static const char put[] = "aten.index_put.default", copy[] = "aten.index_copy.default", bhsd[] = "f32[2,3,8,4]";
    const struct {
        const char *sizes, *indices, *row, *target;
        update_kind_t expected;
    } cases[] = {
        {bhsd, "indices=[%count,none,%at], values=%row", "f32[2,3,4]", put,
         UPDATE_KV_CACHE}, /* a position a batch row */
        {"f32[2,8,3,4]", "indices=[%count,%at], values=%row", "f32[2,3,4]", put, UPDATE_KV_CACHE}, /* bshd */
        {bhsd, "dim=2, index=%one, source=%row", "f32[2,3,1,4]", copy, UPDATE_KV_CACHE},
        {bhsd, "%row, dim=2, start=3, end=5", "f32[2,3,2,4]", "aten.slice_scatter.default", UPDATE_KV_CACHE},
        {bhsd, "%row, dim=1, index=1", "f32[2,8,4]", "aten.select_scatter.default", UPDATE_KV_CACHE},
        {bhsd, "indices=[%other,none,%at], values=%row", "f32[2,3,4]", put, UPDATE_USER}, /* other batch rows */
        {bhsd, "indices=[%count,none,%at], values=%row, accumulate=true", "f32[2,3,4]", put, UPDATE_USER},
        {bhsd, "dim=2, index=%at, source=%row", "f32[2,3,2,4]", copy, UPDATE_USER}, /* any two rows */
        {bhsd, "dim=3, index=%one, source=%row", "f32[2,3,8,1]", copy, UPDATE_USER},
        {bhsd, "%row, dim=2, start=0, end=8, step=2", "f32[2,3,4,4]", "aten.slice_scatter.default", UPDATE_USER},
        {"f32[3,8,4]", "dim=1, index=%one, source=%row", "f32[3,1,4]", copy, UPDATE_USER},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (kind_of(cases[i].sizes, cases[i].indices, cases[i].row, cases[i].target) != cases[i].expected)
            fail_msg("case %zu has another kind", i);
}

static void expect_plan(const char *source, insitu_status expected, const char *words) {
    text_t out;
    insitu_status status = plan_of(source, &out);
    if (status != expected || !strstr(out.data, words)) fail_msg("%s: %s", insitu_status_name(status), out.data);
    text_release(&out);
}

static void sources_of_other_shapes_are_refused(void **state) {
    (void)state;
    static const char *const sources[] = {"f32[1,5]", "f32[5]", "f32[2,1]", "f32[1,1]{1,7}"};
    static const char *const words[] = {"sizes [1,5] for a part of sizes [2,5]", "sizes [5] for a part of sizes [2,5]",
                                        "sizes [2,1] for a part of sizes [2,5]",
                                        "sizes [1,1] for a part of sizes [2,5]"};
    for (size_t i = 0; i < 4; i++) {
        char source[512];
        snprintf(source, sizeof(source),
                 "graph functional {\n  input %%x: f32[4,5] user 0\n  input %%s: %s user 1\n"
                 "  %%w: f32[4,5] = aten.slice_scatter.default(%%x, %%s, dim=0, start=0, end=2)  # model.py:9\n"
                 "  output %%w mutates %%x\n}\n",
                 sources[i]);
        expect_plan(source, INSITU_SHAPE, words[i]);
    }
}

static void selects_outside_are_refused(void **state) {
    (void)state;
    for (int index = -6; index <= 5; index += 11) {
        char source[512], words[64];
        snprintf(source, sizeof(source),
                 "graph functional {\n  input %%x: f32[5,2] user 0\n"
                 "  %%row: f32[2] = aten.select.int(%%x, dim=0, index=%d)  # model.py:9\n  output %%row user 0\n}\n",
                 index);
        snprintf(words, sizeof(words), "index %d lies outside dimension 0 of size 5", index);
        expect_plan(source, INSITU_BOUNDS, words);
    }
}

static void static_writes_are_one_copy(void **state) {
    (void)state;
    static const char *const constant[] = {"input_slice.train.pt2", "input_slice.aten.pt2"}, *const computed[] = {
                                                                                                 "cached_64.train.pt2",
                                                                                                 "cached_64.aten.pt2"};
    for (size_t i = 0; i < 2; i++) {
        fixture_t f;
        open_fixture(&f, constant[i], NULL);
        assert_true(prints(&f, "plan", "= copy(") && !prints(&f, "plan", "index_update(") &&
                    !prints(&f, "plan", "scatter_update("));
        assert_false(prints(&f, "plan", "step 2 "));
        close_fixture(&f);
        open_fixture(&f, computed[i], NULL);
        assert_true(prints(&f, "report", "index_update dim 2") && !prints(&f, "plan", "scatter_update("));
        close_fixture(&f);
    }
}

static void programs_are_compiled_whole(void **state) {
    (void)state;
    fixture_t f;
    must_fail(&f, compile_fixture(&f, "unsupported.train.pt2", NULL), INSITU_UNSUPPORTED,
              "2 operators of the program are not");
    assert_int_equal(f.diag.row_count, 2);
    close_fixture(&f);
}

/* A tensor that is written by halves is made where it lies: two steps, one a half; a whole write is its source. */
static void parts_are_made_in_their_place(void **state) {
    (void)state;
    text_t out;
    assert_int_equal(plan_of("graph functional {\n  input %x: f32[4,8] user 0\n  input %z: f32[4,8] user 1\n"
                             "  input %none: f32[4,0] user 2\n"
                             "  %low: f32[4,4]{8,1} = aten.slice.Tensor(%x, dim=1, start=0, end=4)\n"
                             "  %high: f32[4,4]{8,1}+4 = aten.slice.Tensor(%x, dim=1, start=4, end=8)\n"
                             "  %neg: f32[4,4] = aten.neg.default(%high)\n"
                             "  %exp: f32[4,4] = aten.exp.default(%low)\n"
                             "  %fresh: f32[4,8] = aten.empty_like.default(%z)\n"
                             "  %first: f32[4,8] = aten.slice_scatter.default(%fresh, %neg, dim=1, start=0, end=4)\n"
                             "  %both: f32[4,8] = aten.slice_scatter.default(%first, %exp, dim=1, start=4, end=8)\n"
                             "  %whole: f32[4,8] = aten.slice_scatter.default(%z, %both, dim=0)\n"
                             "  %same: f32[4,8] = aten.slice_scatter.default(%whole, %none, dim=1, start=3, end=3)\n"
                             "  output %same user 0\n}\n",
                             &out),
                     INSITU_OK);
    assert_non_null(strstr(out.data, "step 1 \"exp\": @1 f32[4,4]{8,1}+4 = unary("));
    assert_null(strstr(out.data, "step 2 "));
    text_release(&out);
}

static void written_bytes_do_not_grow(void **state) {
    (void)state;
    static const char *const files[] = {"cached_64.aten.pt2", "cached_512.aten.pt2"};
    for (size_t i = 0; i < 2; i++) {
        fixture_t f;
        open_fixture(&f, files[i], NULL);
        float query[4] = {1, 2, 3, 4}, key[2] = {1, 2}, value[2] = {3, 4};
        int64_t position = 60;
        set(&f, "query", query);
        set(&f, "key", key);
        set(&f, "value", value);
        set(&f, "position", &position);
        run(&f);
        assert_int_equal(stats_of(&f).state_bytes_written, sizeof(key) + sizeof(value));
        assert_int_equal(stats_of(&f).state_bytes_copied, 0);
        close_fixture(&f);
    }
    enum { MOST = 131072, COLUMNS = 32 };
    fixture_t f;
    float *memory = calloc((size_t)HEADS * MOST * COLUMNS, sizeof(float)), row[HEADS * COLUMNS] = {0};
    assert_non_null(memory);
    open_fixture(&f, "cache_rows.train.pt2", NULL);
    set(&f, "row", row);
    for (int64_t length = 512; length <= MOST; length *= 2) {
        int64_t shape[4] = {1, HEADS, length, COLUMNS}, position = length - 1;
        insitu_tensor cache = tensor_of(memory, INSITU_DTYPE_F32, 4, shape);
        must(&f, try_set(&f, "cache", &cache));
        set(&f, "position", &position);
        run(&f);
        insitu_run_stats stats = stats_of(&f);
        assert_int_equal(stats.state_bytes_written, sizeof(row));
        assert_int_equal(stats.state_bytes_copied + stats.state_bytes_moved + stats.state_bytes_saved, 0);
    }
    close_fixture(&f);
    free(memory);
}

/* Every allocation of a compilation with all options fails once. */
static void compilations_survive_want_of_memory(void **state) {
    (void)state;
    char folder[] = "/tmp/insitu_cache_XXXXXX";
    assert_non_null(mkdtemp(folder));
    fixture_t f;
    insitu_compile_options options = new_options();
    const insitu_mutated_input row = BY_NAME("buf_keys", "keys");
    options.mutated_inputs = &row;
    options.mutated_input_count = 1;
    options.state = INSITU_STATE_CALLER;
    options.bounds = INSITU_BOUNDS_STRICT;
    must(&f, compile_fixture(&f, "two_caches.train.pt2", &options));
    options.cache_dir = folder;
    for (uint64_t n = 1;; n++) {
        insitu_engine *engine;
        allocation_count_t allocations = {.fail_at = n};
        count_allocations(&allocations);
        insitu_status status = insitu_program_compile(f.program, &options, &engine, &f.diag);
        assert_true(status == INSITU_OK || (status == INSITU_NOMEM && !engine && f.diag.message[0]));
        insitu_engine_destroy(engine);
        insitu_diag_release(&f.diag);
        memory_set_hooks(NULL);
        assert_int_equal(allocations.live, 0);
        if (allocations.calls < n) break;
        assert_true(n < 100000);
    }
    close_fixture(&f);
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') assert_int_equal(remove(path), 0);
    }
    closedir(directory);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- what a file keeps ---- */

static const char *saved_path; /* of the process that is run again */

static void aliases_are_as_they_were_saved(void **state) {
    (void)state;
    fixture_t f;
    open_saved(&f, saved_path);
    assert_int_equal(insitu_engine_alias_count(f.engine), 1);
    assert_string_equal(alias_of(&f, 0).output, "odd@name%with\\marks");
    assert_string_equal(alias_of(&f, 0).input, "cache");
    assert_int_equal(alias_of(&f, 0).kind, INSITU_ALIAS_KV_CACHE_UPDATE);
    assert_int_equal(alias_of(&f, 0).output_index, 0);
    static const float values[] = {1, 5, 0};
    float cache[CACHE] = {0}, line[LINE];
    set(&f, "cache", cache);
    set(&f, "row", line);
    for (size_t i = 0; i < 3; i++) {
        fill(line, LINE, values[i]);
        run(&f);
        insitu_tensor out = output_of(&f, 0);
        assert_ptr_equal(data_of(&out), cache);
        assert_true(number_of(&f, 1) == values[i] * (float)LINE);
    }
    close_fixture(&f);
}

static void saved_engines_keep_aliases(void **state) {
    (void)state;
    char path[] = "/tmp/insitu_test_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    fixture_t f;
    const insitu_mutated_input row = BY_NAME("cache", "odd@name%with\\marks");
    open_mutated(&f, "input_slice.train.pt2", &row, 1);
    must(&f, insitu_engine_save(f.engine, path, &f.diag));
    close_fixture(&f);
    run_again_with(path);
    remove(path);
}

static void programs_without_aliases_say_nothing(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "returned_twice.train.pt2", NULL);
    assert_true(prints(&f, "json", "\"aliases\":[]"));
    assert_true(prints(&f, "json", "\"any\",\"0\",\"\",\"\",\"\"]"));
    char path[] = "/tmp/insitu_test_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    must(&f, insitu_engine_save(f.engine, path, &f.diag));
    fixture_t loaded;
    open_saved(&loaded, path);
    remove(path);
    assert_int_equal(insitu_engine_alias_count(loaded.engine), 0);
    float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
    set(&f, "x", x);
    set(&f, "y", y);
    set(&loaded, "x", x);
    set(&loaded, "y", y);
    run(&f);
    run(&loaded);
    for (int32_t i = 0; i < 6; i++) {
        insitu_tensor one = output_of(&f, i), other = output_of(&loaded, i);
        assert_memory_equal(data_of(&one), data_of(&other), sizeof(x));
    }
    close_fixture(&loaded);
    close_fixture(&f);
}

static void texts_show_aliases(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f, "paired_caches.train.pt2", NULL);
    assert_true(prints(&f, "values", "  mutated.keys is input 'keys', kv_cache_update, not returned\n"));
    assert_true(
        prints(&f, "json",
               "{\"output\":\"mutated.values\",\"input\":\"values\",\"kind\":\"kv_cache_update\",\"returned\":false}"));
    assert_true(prints(&f, "json", "\"mutated.keys@keys@kv_cache_update%mutated.values@values@kv_cache_update\"]"));
    close_fixture(&f);
}

int main(int argc, char **argv) {
    const struct CMUnitTest again[] = {cmocka_unit_test(aliases_are_as_they_were_saved)};
    saved_path = argc > 1 ? argv[1] : NULL;
    if (saved_path) return cmocka_run_group_tests(again, NULL, NULL);
    const struct CMUnitTest tests[] = {
        ROW("row 52: an engine that another process loads has its aliases, names with delimiters too, and addresses",
            saved_engines_keep_aliases),
        ROW("row 63: a program without aliases has an empty map, and is the same else, saved and loaded too",
            programs_without_aliases_say_nothing),
        ROW("row 64: the texts of an engine show its aliases and its record", texts_show_aliases),
        ROW("row 70: pairs of input and output that can't be are refused, each with both names",
            wrong_pairs_are_refused),
        cmocka_unit_test(unwritten_inputs_take_outputs),
        cmocka_unit_test(declared_outputs_stay_where_they_are),
        cmocka_unit_test(names_of_new_values_are_free),
        cmocka_unit_test(compilations_survive_want_of_memory),
        ROW("row 71: a device that can't alias refuses what would be written in place, by name",
            targets_without_aliases_refuse),
        cmocka_unit_test(caches_are_known_by_their_rows),
        ROW("row 72: a cache of any length is written in place, the same bytes for each", any_capacity_is_in_place),
        ROW("row 73: a source of another rank or size than its part is refused with both shapes",
            sources_of_other_shapes_are_refused),
        ROW("row 74: a position outside of a constant size is refused by the compiler", selects_outside_are_refused),
        ROW("row 75: a write at a constant place is one copy, one at a computed place one update: nothing is scattered",
            static_writes_are_one_copy),
        ROW("row 76: a program is one engine: what is not supported is listed, nothing is left to another runtime",
            programs_are_compiled_whole),
        ROW("row 77: a tensor that is written by halves is made in its place; whole and empty writes cost nothing",
            parts_are_made_in_their_place),
        ROW("row 78: one row is the same bytes written in caches of 512 to 131,072 rows", written_bytes_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
