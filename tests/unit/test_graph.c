/* The graph's builder, edits, clone, text in both directions, and the verifier's faults. */
#include "unit_test.h"

#include "graph/graph.h"

static graph_t *parsed(const char *source) {
    graph_t *graph;
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_status status = graph_parse(source, &graph, &diag);
    if (status != INSITU_OK) fail_msg("%s", diag.message);
    insitu_diag_release(&diag);
    return graph;
}

static char *printed(const graph_t *graph) { /* freed by memory_free */
    text_t out;
    text_init(&out);
    assert_int_equal(graph_print(graph, &out, NULL), INSITU_OK);
    return out.data;
}

static void expect_text(const graph_t *graph, const char *expected) {
    char *actual = printed(graph);
    assert_string_equal(actual, expected);
    memory_free(actual);
}

static void expect_contains(const insitu_diag *diag, const char *part) {
    if (!strstr(diag->message, part)) fail_msg("'%s' lacks '%s'", diag->message, part);
}

static const char *const ROUND_TRIPS[] = {
    "graph {\n}\n",
    /* all that a graph has */
    "graph functional {\n"
    "  symbol s77: int [2,1024]\n"
    "  symbol u0: int [-oo,oo]\n"
    "  symbol zuf0: float\n"
    "  assert s77 <= u0, \"a \\\"guard\\\"\\n does not hold\"\n"
    "  record \"lin.weight\": f32 32 bytes\n"
    "  weight \"lin.weight\": f32[2,3] record 0\n"
    "  weight \"lin.bias\": f32[2]+6 record 0\n"
    "  weight \"empty\": i64[0]\n"
    "  input %p_w: f32[2,3] parameter \"lin.weight\" weight 0\n"
    "  input %b: f32[2]+6 buffer \"lin.bias\" persistent weight 1\n"
    "  input %c_0: i64[0] constant \"empty\" weight 2 as \"c\"\n"
    "  input %x: f32[s77,3]{1,s77} user 0\n"
    "  input %n: int(u0) user 2\n"
    "  input flag = true user 1\n"
    "  input \"a name\" = none user 3\n"
    "  %linear: f32[s77,2] = aten.linear.default(%x, %p_w, %b)  # model.py:41\n"
    "  %mul: int(2*s77) = _operator.mul(a=2, b=s77)\n"
    "  %view: f32[2*s77] = aten.view.default(%linear, size=[2*s77])\n"
    "  output %b mutates %b\n"
    "  output %view user 1\n"
    "  output 2*s77 user 0\n"
    "  output none user 2\n"
    "  output \"text\" user 3\n"
    "}\n",
    /* kinds of arguments; names that need quotes; node names */
    "graph {\n"
    "  input %x: f32[3] user 0\n"
    "  input %\"a b\": f32[3]{-1}+2 user 1\n"
    "  %y: f32[3], %none_0: none = my.op.default(%x, k=none, %\"a b\", [1, [2.5, -3]], [], \"q\\\"\\\\\\x01\", "
    "\"odd name\"=f32) @op_1  # a \"file\".py:3\n"
    "  %z: c64[3] = other.op(complex(1.5, -inf), complex(nan, -0.0), device(\"cuda:0\"), strided, channels_last, "
    "[none, %y])  # \" odd \\n\"\n"
    "  %w: f32[1] = aten.arange.start_step(start=9223372036854775807, end=-9223372036854775808, step=1)\n"
    "  %v: f32[1] = aten.full.default(size=[1], fill_value=-inf, dtype=f32, layout=strided, device=device(\"cpu\"))\n"
    "  %u: f32[1] = aten.full.default(size=[1], fill_value=nan)\n"
    "  %t: f32[1] = aten.full.default(size=[1], fill_value=1e-05)\n"
    "  %s: f32[1] = aten.full.default(size=[1], fill_value=2.0)\n"
    "  aten._assert_scalar.default(self=true, assert_msg=\"fails\") @_assert_scalar\n"
    "  output complex(1.0, 2.0) user 0\n"
    "}\n",
    /* a tensor after an absent argument is named; lists of tensors */
    "graph {\n"
    "  input %t: f32[4] user 0\n"
    "  input %i: i64[1] user 1\n"
    "  input %v: f32[1] user 2\n"
    "  %clamp: f32[4] = aten.clamp.Tensor(%t, max=%v)\n"
    "  %put: f32[4] = aten.index_put.default(%t, indices=[none, %i], values=%v)\n"
    "  %a: f32[2], %b: f32[2]+2 = aten.split.Tensor(%t, split_size=2) @split\n"
    "}\n",
    /* subgraphs */
    "graph {\n"
    "  symbol s0: int [0,oo]\n"
    "  input %p: bool[] user 0\n"
    "  input %x: f32[s0] user 1\n"
    "  %y: f32[s0] = higher_order.cond(%p, graph {\n"
    "    input %x: f32[s0] user 0\n"
    "    %y: f32[s0] = higher_order.cond(%x, graph {\n"
    "    }, [])\n"
    "    output %y user 0\n"
    "  }, graph {\n"
    "    input %n: int(s0) user 0\n"
    "    output s0 user 0\n"
    "  }, [%x, s0]) @cond  # f.py:1\n"
    "  output %y user 0\n"
    "}\n",
    /* symbols named like words that stand for arguments */
    "graph {\n"
    "  symbol u8: int [0,oo]\n"
    "  symbol u16: int [0,oo]\n"
    "  symbol i64: float\n"
    "  symbol graph: int [0,oo]\n"
    "  symbol none: int [0,oo]\n"
    "  symbol strided: bool\n"
    "  symbol complex: int [0,oo]\n"
    "  symbol device: int [0,oo]\n"
    "  assert u8 <= 4, \"u8\"\n"
    "  input %x: u8[u8,2*u16]+u8 user 0\n"
    "  input %n: int(u8) user 1\n"
    "  input s = (u8) user 2\n"
    "  %y: u8[u16 + u8] = aten.full.default(size=[(u16 + u8)], fill_value=(i64), dtype=u8)\n"
    "  my.op.default((u8), u8, [(u16), 2*u16, max(u16, u8)], k=(graph), l=(none), (strided), complex, device, -u8) "
    "@my\n"
    "  output (u8) user 0\n"
    "}\n",
};

static void test_round_trips(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ROUND_TRIPS); i++) {
        graph_t *graph = parsed(ROUND_TRIPS[i]);
        expect_text(graph, ROUND_TRIPS[i]);
        graph_destroy(graph);
    }
}

static void test_free_form(void **state) {
    (void)state;
    graph_t *graph = parsed("# a comment\n\n graph functional {   # another\n\n"
                            "\tinput %x : f32[ 2 , 3 ]  user 0\n# more\n"
                            "   %y:f32[6]=aten.view.default( %x , [ 6 ] )#a.py:1  \n output %y user 0\n } # end\n");
    expect_text(graph, "graph functional {\n  input %x: f32[2,3] user 0\n"
                       "  %y: f32[6] = aten.view.default(%x, size=[6])  # a.py:1\n  output %y user 0\n}\n");
    graph_destroy(graph);
}

static void test_parse_faults(void **state) {
    (void)state;
    static const struct {
        const char *source, *part;
    } rows[] = {
        {"", "line 1: 'graph' expected"},
        {"graph {\n", "no closing brace"},
        {"graph {\n} x", "after the graph's closing brace"},
        {"graph {\n  input %x: f32[s0] user 0\n}", "line 2: 's0' is not declared"},
        {"graph {\n symbol true: int [0,1]\n}", "can't be the name of a symbol"},
        {"graph {\n symbol s: int [0,1]\n symbol s: int [0,1]\n}", "line 3: symbol 's' is declared twice"},
        {"graph {\n symbol s: int [2,1]\n}", "range of symbol 's' is empty"},
        {"graph {\n input %x: f32[1] user 0\n input %x: f32[1] user 1\n}", "'%x' is defined twice"},
        {"graph {\n input %x: f99[1] user 0\n}", "line 2"},
        {"graph {\n input %x: f32[1] owner 0\n}", "user, parameter, buffer or constant expected"},
        {"graph {\n input %x: int(1.5) user 0\n}", "the expression of '%x' is no int"},
        {"graph {\n %y: f32[1] = aten.relu.default(%x)\n}", "'%x' is not defined"},
        {"graph {\n aten.relu.default(1, 2)\n}", "has only 1 arguments"},
        {"graph {\n aten.relu.default(other=1)\n}", "aten.relu.default has no argument 'other'"},
        {"graph {\n aten.relu.default(1, self=1)\n}", "given argument 'self' twice"},
        {"graph {\n aten.add.Tensor(self=1, 2)\n}", "a bare argument follows a named one"},
        {"graph {\n a.b(\"x\n}", "no closing quote"},
        {"graph {\n a.b(\"\\q\")\n}", "unknown escape"},
        {"graph {\n a.b(\"\\x00\")\n}", "unknown escape"},
        {"graph {\n a.b(1) 2\n}", "after the end of the line's statement"},
        {"graph {\n output 1 mutates 99999999999999999999\n}", "too large"},
        {"graph {\n input %x: f32[1] user 0\n %y: f32[1] = a.b(%x)\n output %x mutates %y\n}", "'%y' is not an input"},
        {"graph {\n a.b(graph {\n symbol s: int [0,1]\n })\n}", "line 3"},
        {"graph {\n record \"r\": f32 -1 bytes\n}", "is not in 0 to"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        graph_t *graph;
        insitu_diag diag;
        insitu_diag_init(&diag);
        assert_int_equal(graph_parse(rows[i].source, &graph, &diag), INSITU_FORMAT);
        assert_null(graph);
        expect_contains(&diag, rows[i].part);
        insitu_diag_release(&diag);
    }
}

/* before, many times over, between "graph {" and "}" */
static void expect_too_deep(const char *before, size_t count, const char *part) {
    text_t source;
    graph_t *graph;
    insitu_diag diag;
    text_init(&source);
    text_printf(&source, "graph {\n");
    for (size_t i = 0; i < count; i++) text_printf(&source, "%s", before);
    insitu_diag_init(&diag);
    assert_int_equal(graph_parse(source.data, &graph, &diag), INSITU_FORMAT);
    expect_contains(&diag, part);
    insitu_diag_release(&diag);
    text_release(&source);
}

static void test_nesting_is_bounded(void **state) {
    (void)state;
    expect_too_deep("a.b(graph {\n", 100000, "graphs are nested too deeply");
    expect_too_deep(
        "a.b([[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        1, "lists are nested too deeply");
}

/* ---- builder and edits ---- */

static tensor_type_t vector(graph_t *graph, int64_t size) {
    tensor_type_t type = {.dtype = DTYPE_F32, .shape = {.rank = 1, .sizes = {sym_int(graph->symbols, size)}}};
    type.strides[0] = sym_int(graph->symbols, 1);
    type.offset = sym_int(graph->symbols, 0);
    return type;
}

static void test_builder(void **state) {
    (void)state;
    graph_t *graph;
    value_id_t x, y, y2, number;
    node_id_t node;
    char name[] = "y";
    assert_int_equal(graph_create(&graph), INSITU_OK);
    tensor_type_t type = vector(graph, 4);
    assert_int_equal(graph_add_tensor(graph, "x", &type, &x), INSITU_OK);
    assert_int_equal(graph_add_tensor(graph, name, &type, &y), INSITU_OK);
    assert_int_equal(graph_add_tensor(graph, name, &type, &y2), INSITU_OK);
    name[0] = '?'; /* names are copies */
    assert_string_equal(graph_value_of(graph, y)->name, "y");
    assert_string_equal(graph_value_of(graph, y2)->name, "y_1");
    assert_int_equal(graph_add_sym(graph, "y_1", sym_int(graph->symbols, 3), &number), INSITU_OK);
    assert_string_equal(graph_value_of(graph, number)->name, "y_1_1");
    assert_int_equal(map_find(&graph->names, "y_1"), y2.index);

    assert_int_equal(graph_add_node(graph, "aten.add.Tensor", &y, 1, "m.py:1", &node), INSITU_OK);
    assert_int_equal(graph->order_count, 0);
    assert_int_equal(graph_value_of(graph, y)->producer.index, node.index);
    assert_true(graph_set_arg(graph, node, "self", arg_value(x)));
    assert_true(graph_set_arg(graph, node, "other", arg_value(x)));
    assert_false(graph_set_arg(graph, node, "no such", arg_value(x)));
    const graph_node_t *added = graph_node_of(graph, node);
    assert_string_equal(added->name, "y");
    assert_int_equal(graph_arg_of(graph, added, "other")->value.index, x.index);
    assert_int_equal(graph_arg_of(graph, added, "alpha")->kind, ARG_ABSENT);
    assert_null(graph_arg_of(graph, added, "no such"));
    assert_int_equal(graph_append(graph, node), INSITU_OK);
    graph_output_t output = {.kind = RESULT_USER, .arg = arg_value(y), .target = NONE, .user_index = 0};
    assert_int_equal(graph_add_output(graph, &output), INSITU_OK);
    expect_text(graph, "graph {\n  %y: f32[4] = aten.add.Tensor(%x, %x)  # m.py:1\n  output %y user 0\n}\n");
    graph_destroy(graph);
}

static void count_value(void *user, value_id_t *value) { ((uint32_t *)user)[value->index]++; }

static void test_uses(void **state) {
    (void)state;
    graph_t *graph = parsed("graph {\n  input %a: f32[1] user 0\n  input %b: f32[1] user 1\n  input %c: f32[1] user 2\n"
                            "  %d: f32[2] = aten.cat.default(tensors=[%a, %b, %a])\n  output %a user 0\n}\n");
    uint32_t counts[4] = {0};
    graph_visit_args(&graph->nodes[0], count_value, counts);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 0);
    value_id_t replacement[4] = {{1}, {2}, NO_VALUE, NO_VALUE}; /* a -> b -> c */
    graph_replace_uses(graph, replacement);
    expect_text(graph, "graph {\n  input %a: f32[1] user 0\n  input %b: f32[1] user 1\n  input %c: f32[1] user 2\n"
                       "  %d: f32[2] = aten.cat.default(tensors=[%c, %c, %c])\n  output %c user 0\n}\n");
    graph_destroy(graph);
}

/* ---- verifier ---- */

static void test_verify_accepts(void **state) {
    (void)state;
    graph_t *graph = parsed(ROUND_TRIPS[1]);
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (graph_verify(graph, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    insitu_diag_release(&diag);
    graph_destroy(graph);
}

static void expect_fault(const graph_t *graph, const char *part) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(graph_verify(graph, &diag), INSITU_FORMAT);
    expect_contains(&diag, part);
    insitu_diag_release(&diag);
}

static void test_verify_faults_of_text(void **state) {
    (void)state;
    static const struct {
        const char *body, *part;
    } rows[] = {
        {"input %x: f32[1] user 0\n input %y: f32[1] user 0", "input 'y': its position 0 is taken"},
        {"input %x: f32[1] user 1", "input 'x': it has no position"},
        {"input %x: f32[-1] user 0", "value 'x': a size is negative"},
        {"input %x: f32[1]+(-4) user 0", "value 'x': its offset is negative"},
        {"input %x: f32[2]{-1} user 0", "value 'x': a stride is negative"},
        {"symbol s0: int [1,9]\n input %x: f32[s0,2]{-s0,1} user 0", "value 'x': a stride is negative"},
        {"symbol s0: int [1,9]\n input %x: f32[-s0] user 0", "value 'x': a size is negative"},
        {"input %x: f32[1] buffer \"x\"", "input 'x': it has no weight"},
        {"record \"r\": f32 8 bytes\n weight \"a\": f32[1] record 0\n weight \"b\": f32[1]+1 record 0\n"
         " input %x: f32[1] buffer \"c\" weight 0\n input %y: f32[1]+1 constant \"c\" weight 1",
         "input 'y': another input is 'c' too"},
        {"weight \"x\": f32[1] record 0", "weight 'x': it has no record"},
        {"record \"x\": f32 4 bytes\n weight \"x\": f32[2] record 0", "it needs 8 bytes, and its record has 4"},
        {"symbol s: int [0,1]\n weight \"x\": f32[s]", "are not constants"},
        {"record \"x\": f32 8 bytes\n weight \"x\": f32[2] record 0\n input %x: f32[1] buffer \"x\" weight 0",
         "its type is not that of weight 'x'"},
        {"record \"x\": f32 8 bytes\n weight \"x\": f32[2] record 0\n input %x: int(1) buffer \"x\" weight 0",
         "a stored input is no tensor"},
        {"symbol s: int [0,5]\n assert s + 1, \"m\"", "the condition is not a bool"},
        {"%x: f32[1] = aten.relu.default(%x)", "node 'x' (aten.relu.default): argument '%x' is not defined yet"},
        {"%x: f32[1] = aten.relu.default()", "argument 'self' is missing"},
        {"%x: f32[1] = aten.relu.default(\"a\")", "argument 'self' does not fit the schema's Tensor"},
        {"%x: f32[1] = aten.view.default(1.0, size=[1.5])", "argument 'size' does not fit the schema's int[]"},
        {"%x: f32[1] = aten.view.default(1.0, size=1)", "argument 'size' is no list"},
        {"%x: f32[1] = aten.view.default(1.0, size=none)", "argument 'size' is no list"},
        {"%x: f32[1], %y: f32[1] = aten.relu.default(1.0)  # a.py:7", "(aten.relu.default, a.py:7): it has 2 results"},
        {"input %n: int(1) user 0\n a.b(%n)", "argument '%n' is no tensor"},
        {"output [1] user 0", "output 0: it is neither"},
        {"output 1 user 5", "output 0: it has no position"},
        {"input %x: f32[1] user 0\n output 1 mutates %x", "a mutation's value is no tensor"},
        {"input %x: f32[1] user 0\n output %x mutates %x\n output %x mutates %x", "input 'x' is mutated twice"},
        {"input %x: f32[1] user 0\n output %x mutates 7", "it mutates no input"},
        {"input %x: f32[1] user 0\n input n = 1 user 1\n output %x mutates 1",
         "input 'n' that it mutates is no tensor"},
        {"a.b(graph {\n %y: f32[1] = aten.relu.default(%y)\n })", "node 'y' (aten.relu.default): argument '%y' is not"},
        {"a.b(graph functional {\n })", "unlike the graph around it"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        text_t source;
        text_init(&source);
        text_printf(&source, "graph {\n %s\n}\n", rows[i].body);
        graph_t *graph = parsed(source.data);
        expect_fault(graph, rows[i].part);
        graph_destroy(graph);
        text_release(&source);
    }
}

static void test_verify_functional(void **state) {
    (void)state;
    const char *source = "graph functional {\n input %x: f32[1] user 0\n %y: f32[1] = aten.add_.Tensor(%x, 1)\n}\n";
    graph_t *graph = parsed(source);
    expect_fault(graph, "it writes, in a functional graph");
    graph->functional = false;
    assert_int_equal(graph_verify(graph, NULL), INSITU_OK);
    graph_destroy(graph);
}

static void test_verify_faults_of_structure(void **state) {
    (void)state;
    graph_t *graph = parsed("graph {\n input %x: f32[1] user 0\n %y: f32[1] = aten.relu.default(%x)\n"
                            " %z: f32[1] = aten.relu.default(%y)\n output %z user 0\n}\n");
    assert_int_equal(graph_verify(graph, NULL), INSITU_OK);

    node_id_t first = graph->order[0];
    graph->order[0] = graph->order[1];
    expect_fault(graph, "it is in the order twice");
    graph->order[0] = (node_id_t){99};
    expect_fault(graph, "node 99 does not exist");
    graph->order[0] = first;

    graph->nodes[1].args[0].value.index = 99;
    expect_fault(graph, "argument is no value");
    graph->nodes[1].args[0] = (graph_arg_t){.kind = ARG_SYM, .sym = {9999}};
    expect_fault(graph, "argument 'self' is no expression");
    graph->nodes[1].args[0] = arg_value(graph->nodes[0].results[0]);

    graph->values[2].result = 1;
    expect_fault(graph, "result '%z' names another producer");
    graph->values[2].result = 0;

    graph->nodes[1].results[0] = graph->nodes[0].results[0];
    expect_fault(graph, "result '%y' is defined already");
    graph->nodes[1].results[0].index = 2;

    graph->values[2].name = "other";
    expect_fault(graph, "value 'other': its name is not its own");
    graph->values[2].name = "z";

    graph->inputs[0].value.index = 1;
    expect_fault(graph, "a node produces it");
    graph->inputs[0].value.index = 0;
    assert_int_equal(graph_verify(graph, NULL), INSITU_OK);
    graph_destroy(graph);
}

static void test_verify_counts_all_faults(void **state) {
    (void)state;
    text_t source;
    text_init(&source);
    text_printf(&source, "graph {\n");
    for (int i = 0; i < 25; i++) text_printf(&source, "  %%v%d: f32[1] = aten.relu.default()\n", i);
    text_printf(&source, "}\n");
    graph_t *graph = parsed(source.data);
    expect_fault(graph, "the graph has 25 faults: node 'v0'");
    expect_fault(graph, "node 'v9'");
    graph_destroy(graph);
    text_release(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_free_form),
        cmocka_unit_test(test_parse_faults),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_builder),
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_verify_accepts),
        cmocka_unit_test(test_verify_faults_of_text),
        cmocka_unit_test(test_verify_functional),
        cmocka_unit_test(test_verify_faults_of_structure),
        cmocka_unit_test(test_verify_counts_all_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
