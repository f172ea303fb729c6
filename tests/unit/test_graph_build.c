/* Graphs from records of a .pt2 file, made here by hand: arguments as the schema wants them, signature, guards. */
#include "unit_test.h"

#include "archive/archive.h"
#include "graph/graph.h"

#define INT(number)                                                                                                    \
    {                                                                                                                  \
        .value = {.kind = SYM_KIND_INT, .i = (number) }                                                                \
    }
#define EXPRESSION(text)                                                                                               \
    {                                                                                                                  \
        .expression = (text), .value = {.kind = SYM_KIND_INT }                                                         \
    }
#define LITERAL(number)                                                                                                \
    {                                                                                                                  \
        .value = NONE, .literal = {.kind = SYM_KIND_INT, .i = (number) }                                               \
    }
#define S77 "Symbol('s77', positive=True, integer=True)"

/* Values: x f32[s77,4] and y f32[2*s77] (user inputs), n (a symbolic user input), b f32[4] (a buffer), r (a result). */
enum { X, Y, N, B, R, TWICE, VALUE_COUNT };
static const archive_sym_t X_SIZES[] = {EXPRESSION(S77), INT(4)}, X_STRIDES[] = {INT(4), INT(1)};
static const archive_sym_t Y_SIZES[] = {EXPRESSION("Mul(Integer(2), " S77 ")")}, ONE[] = {INT(1)}, FOUR[] = {INT(4)};
static const archive_value_t VALUES[VALUE_COUNT] = {
    [X] = {"x", ARCHIVE_TENSOR,
           .tensor = {.dtype = DTYPE_F32, .device = {"cpu", -1}, .rank = 2, .sizes = X_SIZES, .strides = X_STRIDES}},
    [Y] = {"y", ARCHIVE_TENSOR,
           .tensor = {.dtype = DTYPE_F32, .device = {"cpu", -1}, .rank = 1, .sizes = Y_SIZES, .strides = ONE}},
    [N] = {"n", ARCHIVE_SYM, .sym = EXPRESSION("Symbol('s5', integer=True)")},
    [B] = {"b", ARCHIVE_TENSOR,
           .tensor = {.dtype = DTYPE_F32, .device = {"cpu", -1}, .rank = 1, .sizes = FOUR, .strides = ONE}},
    [R] = {"r", ARCHIVE_TENSOR,
           .tensor = {.dtype = DTYPE_F32, .device = {"cpu", -1}, .rank = 2, .sizes = X_SIZES, .strides = X_STRIDES}},
    [TWICE] = {"twice", ARCHIVE_SYM, .sym = EXPRESSION("Mul(Integer(2), " S77 ")")},
};
static const archive_argument_t INPUTS[] = {
    {.kind = ARGUMENT_TENSOR, .value = B},
    {.kind = ARGUMENT_TENSOR, .value = X},
    {.kind = ARGUMENT_TENSOR, .value = Y},
    {.kind = ARGUMENT_INT, .number = {.value = N, .literal = {.kind = SYM_KIND_INT}}},
    {.kind = ARGUMENT_INT, .number = LITERAL(3)},
};
static const archive_input_t SIGNATURE[] = {
    {.kind = ARCHIVE_INPUT_BUFFER, .name = "b", .fqn = "m.b", .value = B, .payload = 0, .is_persistent = true},
    {.kind = ARCHIVE_INPUT_USER, .name = "x", .value = X, .payload = NONE, .guard = "L['x']"},
    {.kind = ARCHIVE_INPUT_USER, .name = "y", .value = Y, .payload = NONE, .guard = "L['a'][1]"},
    {.kind = ARCHIVE_INPUT_USER, .name = "n", .value = N, .payload = NONE, .guard = "L['n']"},
    {.kind = ARCHIVE_INPUT_CONSTANT, .name = "k", .value = NONE, .payload = NONE, .guard = "L['batch'].k"},
};
static const uint32_t USER_INPUTS[] = {1, 2, 3, 4}, USER_OUTPUTS[] = {1};
static const archive_argument_t OUTPUTS[] = {{.kind = ARGUMENT_TENSOR, .value = B},
                                             {.kind = ARGUMENT_INT, .number = {.value = TWICE}}};
static const archive_output_t OUTPUT_SIGNATURE[] = {
    {.kind = OUTPUT_BUFFER_MUTATION, .target = "m.b", .target_input = 0},
    {.kind = OUTPUT_USER, .target_input = NONE},
};
static const uint8_t BYTES[64];
static const archive_storage_t STORAGE = {.record = "weights/weight_0", .data = BYTES, .size = sizeof(BYTES)};
static const int64_t B_SIZES[] = {4}, B_STRIDES[] = {2};
static const archive_payload_t PAYLOAD = {
    .fqn = "m.b", .dtype = DTYPE_F32, .rank = 1, .sizes = B_SIZES, .strides = B_STRIDES, .offset = 8, .storage = 0};
static const archive_range_t RANGES[] = {{"s77", 2, 1024}, {"2*s77", 4, 2048}, {"s5", 0, 9}};

typedef struct fixture {
    archive_program_t program;
    archive_graph_t graph;
} fixture_t;

static void fixture_init(fixture_t *fixture, const archive_node_t *nodes, uint32_t node_count) {
    fixture->graph = (archive_graph_t){.input_count = COUNT_OF(INPUTS),
                                       .inputs = INPUTS,
                                       .output_count = COUNT_OF(OUTPUTS),
                                       .outputs = OUTPUTS,
                                       .nodes = nodes,
                                       .node_count = node_count,
                                       .value_count = VALUE_COUNT,
                                       .values = VALUES};
    fixture->program = (archive_program_t){.graph = &fixture->graph,
                                           .inputs = SIGNATURE,
                                           .outputs = OUTPUT_SIGNATURE,
                                           .user_inputs = USER_INPUTS,
                                           .user_input_count = COUNT_OF(USER_INPUTS),
                                           .user_outputs = USER_OUTPUTS,
                                           .user_output_count = COUNT_OF(USER_OUTPUTS),
                                           .payloads = &PAYLOAD,
                                           .payload_count = 1,
                                           .storages = &STORAGE,
                                           .storage_count = 1,
                                           .ranges = RANGES,
                                           .range_count = COUNT_OF(RANGES)};
}

static void expect_build(const archive_program_t *program, insitu_status expected, const char *part) {
    graph_t *graph;
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_status status = graph_build(program, &graph, &diag);
    if (status != expected) fail_msg("%s: %s", insitu_status_name(status), diag.message);
    text_t out;
    text_init(&out);
    if (graph) assert_int_equal(graph_print(graph, &out, NULL), INSITU_OK);
    const char *actual = graph ? out.data : diag.message;
    if (!strstr(actual, part)) fail_msg("'%s' lacks '%s'", actual, part);
    text_release(&out);
    graph_destroy(graph);
    insitu_diag_release(&diag);
}

/* A minimum of 2 that is torch.export's own gives way to what the range of an expression allows. */
static void test_ranges_of_expressions(void **state) {
    (void)state;
    static const struct {
        archive_range_t ranges[3];
        const char *symbol;
    } cases[] = {
        {{{"s77", 2, 3}, {"8*s77", 8, 24}, {"s5", 0, 9}}, "symbol s77: int [1,3]\n"},
        {{{"s77", 2, 3}, {"4*s77 - 1", 3, 11}, {"s5", 0, 9}}, "symbol s77: int [1,3]\n"},
        {{{"s77", 2, 8}, {"s77 + 1", 1, 9}, {"s5", 0, 9}}, "symbol s77: int [0,8]\n"},
        {{{"s77", 2, 8}, {"2*s77", 4, 16}, {"s5", 0, 9}}, "symbol s77: int [2,8]\n"},
        {{{"s77", 3, 8}, {"2*s77", 2, 16}, {"s5", 0, 9}}, "symbol s77: int [3,8]\n"},
        {{{"s77", 2, 8}, {"s5*s77", 0, 72}, {"s5", 0, 9}}, "symbol s77: int [2,8]\n"},
        {{{"s77", 2, 8}, {"s77 +", 0, 72}, {"s5", 0, 9}}, "symbol s77: int [2,8]\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fixture_t fixture;
        fixture_init(&fixture, NULL, 0);
        fixture.program.ranges = cases[i].ranges;
        expect_build(&fixture.program, INSITU_OK, cases[i].symbol);
    }
}

static void test_signature(void **state) {
    (void)state;
    fixture_t fixture;
    fixture_init(&fixture, NULL, 0);
    expect_build(&fixture.program, INSITU_OK,
                 "graph functional {\n"
                 "  symbol s77: int [2,1024]\n"
                 "  symbol s5: int [0,9]\n"
                 "  record \"m.b\": f32 64 bytes\n"
                 "  weight \"m.b\": f32[4]{2}+8 record 0\n"
                 "  input %b: f32[4]{2}+8 buffer \"m.b\" persistent weight 0\n"
                 "  input %x: f32[s77,4] user 0\n"
                 "  input %y: f32[2*s77] user 1\n"
                 "  input %n: int(s5) user 2\n"
                 "  input k = 3 user 3\n"
                 "  output %b mutates %b\n"
                 "  output 2*s77 user 0\n"
                 "}\n");
    fixture.program.is_training = true;
    expect_build(&fixture.program, INSITU_OK, "graph {\n");
}

static void test_stored_type_must_agree(void **state) {
    (void)state;
    fixture_t fixture;
    fixture_init(&fixture, NULL, 0);
    archive_payload_t other = PAYLOAD;
    other.dtype = DTYPE_I32;
    fixture.program.payloads = &other;
    expect_build(&fixture.program, INSITU_FORMAT, "input 'b': its type is not that of the stored tensor 'm.b'");
}

static void expect_node(const archive_node_t *node, insitu_status expected, const char *part) {
    fixture_t fixture;
    fixture_init(&fixture, node, 1);
    expect_build(&fixture.program, expected, part);
}

static const archive_argument_t RESULT = {.kind = ARGUMENT_TENSOR, .value = R};

static archive_node_t node_of(const char *op, const archive_named_argument_t *inputs, uint32_t count) {
    return (archive_node_t){.target = op,
                            .op = op,
                            .name = "r",
                            .source = "m.py:3",
                            .module = "",
                            .input_count = count,
                            .output_count = 1,
                            .inputs = inputs,
                            .outputs = &RESULT};
}

static void test_arguments_fit_schema(void **state) {
    (void)state;
    const archive_number_t numbers[] = {{.value = TWICE, .literal = {.kind = SYM_KIND_INT}}, LITERAL(-1)};
    const uint32_t indices[] = {NONE, X};
    archive_named_argument_t view[] = {{"self", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                       {"size", {.kind = ARGUMENT_INTS, .count = 2, .numbers = numbers}, false}};
    archive_node_t node = node_of("aten.view.default", view, 2);
    expect_node(&node, INSITU_OK, "%r: f32[s77,4] = aten.view.default(%x, size=[2*s77, -1])  # m.py:3\n");

    archive_named_argument_t norm[] = {
        {"input", {.kind = ARGUMENT_TENSOR, .value = X}, false},
        {"normalized_shape", {.kind = ARGUMENT_INTS, .count = 1, .numbers = &numbers[1]}, false},
        {"eps", {.kind = ARGUMENT_INT, .number = LITERAL(1)}, false}};
    node = node_of("aten.layer_norm.default", norm, 3);
    expect_node(&node, INSITU_OK, "aten.layer_norm.default(%x, normalized_shape=[-1], eps=1.0)"); /* int to float */

    archive_named_argument_t conv[] = {{"input", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                       {"weight", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                       {"stride", {.kind = ARGUMENT_INT, .number = LITERAL(2)}, false}};
    node = node_of("aten.conv2d.default", conv, 3);
    expect_node(&node, INSITU_OK, "aten.conv2d.default(%x, %x, stride=[2, 2])"); /* one number for int[2] */

    archive_named_argument_t add[] = {{"self", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                      {"other", {.kind = ARGUMENT_INT, .number = LITERAL(5)}, false}};
    node = node_of("aten.add.Tensor", add, 2);
    expect_node(&node, INSITU_OK, "aten.add.Tensor(%x, other=5)"); /* a wrapped number stays what it is */

    archive_named_argument_t index[] = {{"self", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                        {"indices", {.kind = ARGUMENT_TENSORS, .count = 2, .values = indices}, false}};
    node = node_of("aten.index.Tensor", index, 2);
    expect_node(&node, INSITU_OK, "aten.index.Tensor(%x, indices=[none, %x])");

    archive_named_argument_t keep[] = {{"self", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                       {"dim", {.kind = ARGUMENT_INT, .number = LITERAL(0)}, false},
                                       {"keepdim", {.kind = ARGUMENT_INT, .number = LITERAL(1)}, false}};
    node = node_of("aten.argmax.default", keep, 3);
    expect_node(&node, INSITU_OK, "aten.argmax.default(%x, dim=0, keepdim=true)");
}

static void test_arguments_refused(void **state) {
    (void)state;
    archive_named_argument_t wrong[] = {{"self", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                        {"inplace", {.kind = ARGUMENT_BOOL, .number = LITERAL(1)}, false}};
    archive_node_t node = node_of("aten.relu.default", wrong, 2);
    expect_node(&node, INSITU_FORMAT, "node 'r': operator aten.relu.default has no argument 'inplace', at m.py:3");

    archive_named_argument_t twice[] = {{"self", {.kind = ARGUMENT_TENSOR, .value = X}, false},
                                        {"self", {.kind = ARGUMENT_TENSOR, .value = X}, false}};
    node = node_of("aten.relu.default", twice, 2);
    expect_node(&node, INSITU_FORMAT, "node 'r' (aten.relu.default) has argument 'self' twice");

    archive_named_argument_t text[] = {{"self", {.kind = ARGUMENT_STRING, .string = "x"}, false}};
    node = node_of("aten.relu.default", text, 1);
    expect_node(&node, INSITU_FORMAT, "argument 'self' does not fit the schema's Tensor");
    node = node_of("aten.relu.default", NULL, 0);
    expect_node(&node, INSITU_FORMAT, "argument 'self' is missing");

    archive_named_argument_t object[] = {{"self", {.kind = ARGUMENT_MAP}, false}};
    node = node_of("my.op.default", object, 1);
    expect_node(&node, INSITU_UNSUPPORTED, "node 'r' (my.op.default, m.py:3): argument 'self' is a dictionary");
}

static void test_unknown_operator_is_kept(void **state) {
    (void)state;
    const uint32_t values[] = {X, N};
    archive_named_argument_t args[] = {{"", {.kind = ARGUMENT_TENSORS, .count = 2, .values = values}, false},
                                       {"k", {.kind = ARGUMENT_DEVICE, .device = {"cuda", 1}}, false}};
    archive_node_t node = node_of("my.op.default", args, 2);
    expect_node(&node, INSITU_OK, "%r: f32[s77,4] = my.op.default([%x, s5], k=device(\"cuda:1\"))  # m.py:3");
}

static void test_guards(void **state) {
    (void)state;
    static const struct {
        const char *guard, *part; /* "": no assertion is left */
    } rows[] = {
        {"L['n'] <= L['x'].size()[0]", "assert s5 <= s77, "},
        {"L['a'][1].size()[0] == 2*L['x'].size()[0]", ""},
        {"(L['a'][1].size()[0] // 2) >= 2", ""},
        {"L['n'] >= 0 and L['n'] < 3 + -1*1", "assert s5 < 2, "},
        {"not L['n'] == L['batch'].k or L['n'] % 2 == 1", "or"},
        {"0 < L['n'] < 9", "and"},
        {"L['x'].stride()[0] == 4", ""},
        {"L['n'] != max(1, min(7, L['n'] - 1, 5))", "max(1, min("},
        {"L['flat_args'][2] <= L['flat_args'][0].size()[0]", "assert s5 <= s77, "},
        {"L['flat_args'][1].size()[0] == 2*L['x'].size()[0]", ""},
        {"(L['x'].size()[0] / L['n']) > 1.2", "assert 1.2 < s77 / s5, "},
        {"math.ceil(L['x'].size()[0] / 4) == 2", "assert ceil(s77 / 4) == 2, "},
        {"math.floor(0.5*L['n']) + math.trunc(1e-1*L['n']) + round(0.5 * L['n']) < 9", "trunc("},
        {"abs(L['x'].size()[0] + ((-1)*L['n'])) < 5", "assert abs(-s5 + s77) < 5, "},
        {"L['n'] ** 2 == 4 or -L['n'] ** 2 == -9", "s5*s5 == 4"},
        {"L['n'] & 3 == 1", "assert bitand("},
        {"L['n'] | 2 == 3", "assert bitor("},
        {"(L['n'] == 1) | (L['n'] == 3) & (L['x'].size()[0] > 4)", "or"},
        {"(L['n'] << 2) + (L['n'] >> 1) != 9", "s5 // 2"},
        {"not (L['n'] == 3 and L['x'].size()[0] == 7)", "assert not"},
        {"Eq(Mod(L['n'], 2), 0)", "assert s5 % 2 == 0, "},
        {"Le(FloorDiv(L['n'], 2), Max(1, ToFloat(L['n'])))", "s5 // 2"},
        {"CeilToInt(IntTrueDiv(L['n'], 2)) >= PythonMod(L['n'], 3)", "ceil("},
        {"(1 if L['n'] < 2 else L['x'].size()[0]) != 8", "where("},
        {"torch.sym_float(L['n']) < math.sqrt(L['x'].size()[0]*1.0)", "sqrt("},
        {"int(L['n'] == 2) + (L['n'] == 3) < 1", "where("},
        {"L['x'].storage_offset() == 0", ""},
        {"L['n'] < math.inf", "assert s5 < inf, "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture_t fixture;
        fixture_init(&fixture, NULL, 0);
        fixture.program.guards = &rows[i].guard;
        fixture.program.guard_count = 1;
        expect_build(&fixture.program, INSITU_OK, *rows[i].part ? rows[i].part : "symbol s5: int [0,9]\n  record");
        if (*rows[i].part) expect_build(&fixture.program, INSITU_OK, "assert ");
    }
}

static void test_guards_refused(void **state) {
    (void)state;
    static const char *const refused[] = {"L['z'] == 1",
                                          "L['x'].size()[2] == 1",
                                          "L['x'] == 1",
                                          "L['x'].size()[0] ^ 2 == 4",
                                          "L['x'].size()[-1] == 4",
                                          "unknown(L['n']) == 4",
                                          "abs(L['n'], 2) == 4",
                                          "abs() == 4",
                                          "L['n'] if L['n'] == 1",
                                          "L['n'] and L['n'] == 1",
                                          "L['flat_args'][9] == 1",
                                          "L['n'] is None",
                                          "L['n'] + 1",
                                          "(L['n'] == 1",
                                          "L['n' == 1",
                                          "",
                                          "L['n'] == 1 2",
                                          "L['batch'].k.size()[0] == 1"};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        fixture_t fixture;
        fixture_init(&fixture, NULL, 0);
        fixture.program.guards = &refused[i];
        fixture.program.guard_count = 1;
        expect_build(&fixture.program, INSITU_UNSUPPORTED, "guard");
    }
}

static void test_devices(void **state) {
    (void)state;
    archive_value_t values[VALUE_COUNT];
    memcpy(values, VALUES, sizeof(values));
    fixture_t fixture;
    fixture_init(&fixture, NULL, 0);
    fixture.graph.values = values;
    values[X].tensor.device = (archive_device_t){"cuda", 0};
    expect_build(&fixture.program, INSITU_OK, "graph functional on others {\n");
    values[Y].tensor.device = values[B].tensor.device = (archive_device_t){"cuda", 1};
    expect_build(&fixture.program, INSITU_OK, "graph functional on cuda {\n");
    values[X].tensor.device = values[Y].tensor.device = values[B].tensor.device = (archive_device_t){"mps", -1};
    expect_build(&fixture.program, INSITU_OK, "graph functional on others {\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_of_expressions),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_stored_type_must_agree),
        cmocka_unit_test(test_arguments_fit_schema),
        cmocka_unit_test(test_arguments_refused),
        cmocka_unit_test(test_unknown_operator_is_kept),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_guards_refused),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
