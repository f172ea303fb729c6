/* The pipeline of passes: both kinds of exported program come out alike, and faults of use, of programs and of memory are
 * statuses. What each pass does is tested by its golden file. */
#include "unit_test.h"

#include "counting_allocator.h"
#include "passes/passes.h"

static graph_t *parsed(const char *source) {
    graph_t *graph;
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_status status = graph_parse(source, &graph, &diag);
    if (status != INSITU_OK) fail_msg("%s", diag.message);
    insitu_diag_release(&diag);
    return graph;
}

/* The text with values renamed in order of appearance, so that two graphs of equal structure are equal. */
static void rename_values(const char *source, text_t *out) {
    char names[64][32];
    uint32_t count = 0;
    text_init(out);
    while (*source) {
        size_t plain = strcspn(source, "%");
        text_add(out, source, plain);
        source += plain;
        if (!*source) break;
        size_t size = 1 + strspn(source + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
        uint32_t i = 0;
        assert_true(size < sizeof names[0]);
        while (i < count && (strlen(names[i]) != size || memcmp(names[i], source, size) != 0)) i++;
        if (i == count) {
            assert_true(count < COUNT_OF(names));
            memcpy(names[count], source, size);
            names[count++][size] = '\0';
        }
        text_printf(out, "%%%u", i);
        source += size;
    }
}

static void run_all(const char *source, text_t *out) {
    graph_t *graph = parsed(source);
    text_t printed;
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (passes_run(graph, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    assert_true(graph->functional);
    text_init(&printed);
    assert_int_equal(graph_print(graph, &printed, NULL), INSITU_OK);
    rename_values(printed.data, out);
    text_release(&printed);
    graph_destroy(graph);
    insitu_diag_release(&diag);
}

/* One program as exported and as run_decompositions({}) gives it. */
static const struct {
    const char *exported, *decomposed;
} PAIRS[] = {
    /* a slice of a cache is written, the cache is read */
    {"graph {\n"
     "  input %cache: f32[2,4,16,8] user 0\n"
     "  input %update: f32[2,4,1,8] user 1\n"
     "  %s: f32[2,4,1,8]{512,128,8,1}+24 = aten.slice.Tensor(%cache, dim=2, start=3, end=4)\n"
     "  %copy_: f32[2,4,1,8]{512,128,8,1}+24 = aten.copy_.default(%s, %update)\n"
     "  %sum_1: f32[] = aten.sum.default(%cache)\n"
     "  output %sum_1 user 0\n"
     "}\n",
     "graph functional {\n"
     "  input %cache: f32[2,4,16,8] user 0\n"
     "  input %update: f32[2,4,1,8] user 1\n"
     "  %s: f32[2,4,1,8]{512,128,8,1}+24 = aten.slice.Tensor(%cache, dim=2, start=3, end=4)\n"
     "  %copy: f32[2,4,1,8] = aten.copy.default(%s, %update)\n"
     "  %r: f32[2,4,16,8] = aten.slice_scatter.default(%cache, %copy, dim=2, start=3, end=4)\n"
     "  %sum_1: f32[] = aten.sum.default(%r)\n"
     "  output %r mutates %cache\n"
     "  output %sum_1 user 0\n"
     "}\n"},
    /* x[1:] += 1, which saves a copy onto itself, through a reshape that aliases */
    {"graph {\n"
     "  input %x: f32[2,3] user 0\n"
     "  %reshape: f32[6] = aten.reshape.default(%x, shape=[-1])\n"
     "  %a: f32[5]+1 = aten.slice.Tensor(%reshape, dim=0, start=1, end=6)\n"
     "  %add_: f32[5]+1 = aten.add_.Tensor(%a, other=1)\n"
     "  %b: f32[5]+1 = aten.slice.Tensor(%reshape, dim=0, start=1, end=6)\n"
     "  %copy_: f32[5]+1 = aten.copy_.default(%b, %add_)\n"
     "  output %x user 0\n"
     "}\n",
     "graph functional {\n"
     "  input %x: f32[2,3] user 0\n"
     "  %view: f32[6] = aten.view.default(%x, size=[-1])\n"
     "  %a: f32[5]+1 = aten.slice.Tensor(%view, dim=0, start=1, end=6)\n"
     "  %add: f32[5] = aten.add.Tensor(%a, other=1)\n"
     "  %view_1: f32[6] = aten.view.default(%x, size=[-1])\n"
     "  %s: f32[6] = aten.slice_scatter.default(%view_1, %add, dim=0, start=1, end=6)\n"
     "  %view_2: f32[2,3] = aten.view.default(%s, size=[2,3])\n"
     "  %view_3: f32[6] = aten.view.default(%view_2, size=[-1])\n"
     "  %b: f32[5]+1 = aten.slice.Tensor(%view_3, dim=0, start=1, end=6)\n"
     "  %view_4: f32[6] = aten.view.default(%view_2, size=[-1])\n"
     "  %c: f32[5]+1 = aten.slice.Tensor(%view_4, dim=0, start=1, end=6)\n"
     "  %copy: f32[5] = aten.copy.default(%c, %b)\n"
     "  %view_5: f32[6] = aten.view.default(%view_2, size=[-1])\n"
     "  %s_1: f32[6] = aten.slice_scatter.default(%view_5, %copy, dim=0, start=1, end=6)\n"
     "  %view_6: f32[2,3] = aten.view.default(%s_1, size=[2,3])\n"
     "  output %view_6 mutates %x\n"
     "  output %view_6 user 0\n"
     "}\n"},
    /* a shift: the buffer is replaced by the tail of a concatenation */
    {"graph {\n"
     "  record \"h\": f32 64 bytes\n"
     "  weight \"h\": f32[1,16] record 0\n"
     "  input %h: f32[1,16] buffer \"h\" persistent weight 0\n"
     "  input %x: f32[1,4] user 0\n"
     "  %cat: f32[1,20] = aten.cat.default(tensors=[%h,%x], dim=1)\n"
     "  %tail: f32[1,16]{20,1}+4 = aten.slice.Tensor(%cat, dim=1, start=-16, end=9223372036854775807)\n"
     "  %copy_: f32[1,16] = aten.copy_.default(%h, %tail)\n"
     "}\n",
     "graph functional {\n"
     "  record \"h\": f32 64 bytes\n"
     "  weight \"h\": f32[1,16] record 0\n"
     "  input %h: f32[1,16] buffer \"h\" persistent weight 0\n"
     "  input %x: f32[1,4] user 0\n"
     "  %cat: f32[1,20] = aten.cat.default(tensors=[%h,%x], dim=1)\n"
     "  %tail: f32[1,16]{20,1}+4 = aten.slice.Tensor(%cat, dim=1, start=-16, end=9223372036854775807)\n"
     "  output %tail mutates %h\n"
     "}\n"},
};

static void both_forms_come_out_alike(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(PAIRS); i++) {
        text_t exported, decomposed;
        run_all(PAIRS[i].exported, &exported);
        run_all(PAIRS[i].decomposed, &decomposed);
        assert_string_equal(exported.data, decomposed.data);
        text_release(&exported);
        text_release(&decomposed);
    }
}

/* A second run changes nothing. */
static void passes_are_idempotent(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(PAIRS); i++) {
        text_t once, twice;
        run_all(PAIRS[i].exported, &once);
        graph_t *graph = parsed(PAIRS[i].exported);
        assert_int_equal(passes_run(graph, NULL), INSITU_OK);
        assert_int_equal(passes_run(graph, NULL), INSITU_OK);
        text_t printed;
        text_init(&printed);
        assert_int_equal(graph_print(graph, &printed, NULL), INSITU_OK);
        rename_values(printed.data, &twice);
        assert_string_equal(once.data, twice.data);
        text_release(&printed);
        text_release(&once);
        text_release(&twice);
        graph_destroy(graph);
    }
}

static void wrong_use_is_named(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    graph_t *graph = parsed("graph {\n}\n");
    assert_int_equal(passes_run_one(graph, "no_such_pass", &diag), INSITU_ARG);
    assert_non_null(strstr(diag.message, "no_such_pass"));
    assert_int_equal(passes_run_one(graph, "remove_dead", &diag), INSITU_ARG);
    assert_non_null(strstr(diag.message, "functionalize"));
    assert_int_equal(passes_run_one(graph, "functionalize", &diag), INSITU_OK);
    assert_int_equal(passes_run_one(graph, "remove_dead", &diag), INSITU_OK);
    graph_destroy(graph);
    insitu_diag_release(&diag);
}

/* A deep chain of views and many writes: no recursion, and each write goes through the whole chain. */
static void long_chains_are_walked(void **state) {
    (void)state;
    enum { DEPTH = 300, WRITES = 20 };
    text_t source;
    text_init(&source);
    text_printf(&source, "graph {\n  input %%x: f32[4] user 0\n  %%v0: f32[4] = aten.detach.default(%%x)\n");
    for (uint32_t i = 1; i <= DEPTH; i++)
        text_printf(&source, "  %%v%u: f32[%s] = aten.view.default(%%v%u, size=[%s])\n", i, i % 2 ? "2,2" : "4", i - 1,
                    i % 2 ? "2,2" : "4");
    for (uint32_t i = 0; i < WRITES; i++)
        text_printf(&source, "  %%w%u: f32[4] = aten.add_.Tensor(%%v%u, other=1)\n", i, DEPTH);
    text_printf(&source, "  output %%w0 user 0\n}\n");
    graph_t *graph = parsed(source.data);
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (passes_run(graph, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    assert_int_equal(graph->order_count, WRITES); /* the views lead back: additions alone are left */
    assert_int_equal(graph->outputs[0].kind, RESULT_MUTATION);
    assert_int_equal(graph->outputs[0].arg.value.index, graph->outputs[1].arg.value.index);
    insitu_diag_release(&diag);
    graph_destroy(graph);
    text_release(&source);
}

/* Whichever allocation fails, the status is NOMEM; sanitizer builds see that nothing leaks. */
/* Refusals of every kind, an unknown view, and views of a list. */
static const char REFUSED[] = "graph {\n"
                              "  input %x: f32[2,2] user 0\n"
                              "  input %y: f32[1,2] user 1\n"
                              "  %e: f32[2,2]{1,2} = aten.einsum.default(equation=\"ij->ji\", tensors=[%x])\n"
                              "  %a: f32[2,2]{1,2} = aten.add_.Tensor(%e, other=1)  # m.py:1\n"
                              "  %s: f32[] = aten.sum.default(%x)\n"
                              "  %b: f32[2,2]{0,1}, %b1: f32[2,2] = aten.broadcast_tensors.default([%y, %x]) @b\n"
                              "  %m: f32[2,2]{0,1} = aten.mul_.Tensor(%b, other=2)\n"
                              "  %r: f32[1] = aten.resize_.default(%y, size=[1])\n"
                              "  %t: f32[2,1] = aten.t_.default(%y)\n"
                              "  output %s user 0\n"
                              "  output %r user 1\n"
                              "}\n";

static void run_out_of_memory(const char *source) {
    insitu_status status = INSITU_NOMEM;
    for (uint64_t fail_at = 1; status != INSITU_OK; fail_at++) {
        graph_t *graph = parsed(source);
        allocation_count_t count = {.fail_at = fail_at};
        count_allocations(&count);
        status = passes_run(graph, NULL);
        assert_true(status == INSITU_OK || status == INSITU_NOMEM);
        memory_set_hooks(NULL);
        graph_destroy(graph);
        assert_true(fail_at < 10000);
    }
}

static void memory_may_run_out(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(PAIRS); i++) run_out_of_memory(PAIRS[i].exported);
    run_out_of_memory(REFUSED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_come_out_alike), cmocka_unit_test(passes_are_idempotent),
        cmocka_unit_test(wrong_use_is_named),        cmocka_unit_test(long_chains_are_walked),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
