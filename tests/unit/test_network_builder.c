/* The public network builder but for its layers: what goes in and out, symbols, states, text, records, compile options, and
 * programs imported, printed and read back. Each error comes from the call that causes it, and leaves the network as it was. */
#include "counting_allocator.h"
#include "network_fixture.h"

#include <dirent.h>

#define DATA TEST_SOURCE_DIR "/data/"

static char *text_of(built_t *b, const insitu_network *network) {
    char *text;
    must(b, insitu_network_print(network, &text, &b->diag));
    return text;
}

/* ---- arguments ---- */

static void inputs_and_constants(void **state) {
    built_t *b = *state;
    insitu_network *n = b->network;
    insitu_value x, y, unset = {9};
    insitu_number two = insitu_int(2), minus = insitu_int(-2), half = insitu_float(0.5),
                  huge[2] = {insitu_int(INT64_MAX), two};
    const float bytes[2] = {1, 2};
    must(b, insitu_network_add_input(n, "x", F32, 1, &two, &x, &b->diag));
    REFUSED(insitu_network_add_input(n, "x", F32, 1, &two, &unset, &b->diag), INSITU_ARG,
            "tensor or input of that name");
    assert_int_equal(unset.id, 0);
    REFUSED(insitu_network_add_input(n, "", F32, 1, &two, &y, &b->diag), INSITU_ARG, "an input has an empty name");
    REFUSED(insitu_network_add_input(n, "y", F32, 13, &two, &y, &b->diag), INSITU_ARG, "input 'y' has 13 dimensions");
    REFUSED(insitu_network_add_input(n, "y", F32, -1, &two, &y, &b->diag), INSITU_ARG, "has -1 dimensions");
    REFUSED(insitu_network_add_input(n, "y", F32, 1, NULL, &y, &b->diag), INSITU_ARG, "and no sizes");
    REFUSED(insitu_network_add_input(n, "y", F32, 1, &minus, &y, &b->diag), INSITU_SHAPE, "size 0 is -2, below 0");
    REFUSED(insitu_network_add_input(n, "y", F32, 1, &half, &y, &b->diag), INSITU_ARG, "size 0 is no integer");
    REFUSED(insitu_network_add_input(n, "y", F32, 2, huge, &y, &b->diag), INSITU_SHAPE, "more bytes than the 2^56");
    REFUSED(insitu_network_add_input(n, "y", INSITU_DTYPE(99, 8), 1, &two, &y, &b->diag), INSITU_ARG,
            "no dtype of code 99");
    const int64_t size = 2;
    REFUSED(insitu_network_add_constant(n, "c", F32, 1, &size, bytes, 4, &y, &b->diag), INSITU_SHAPE,
            "constant 'c' has 8 bytes, and was given 4");
    REFUSED(insitu_network_add_constant(n, "x", F32, 1, &size, bytes, 8, &y, &b->diag), INSITU_ARG, "of that name");
    must(b, insitu_network_add_constant(n, "c", F32, 1, &size, bytes, 8, &y, &b->diag));
    REFUSED(insitu_network_add_state(n, "s", F32, 1, &two, bytes, 4, &y, &b->diag), INSITU_SHAPE,
            "state 's' has 8 bytes");

    insitu_network_value info = {.struct_size = sizeof(info)};
    must(b, insitu_network_describe(n, x, &info, &b->diag));
    assert_string_equal(info.name, "x");
    assert_true(info.is_input && !info.is_state && !info.is_constant && info.ndim == 1);
    assert_true(info.sizes[0].kind == INSITU_NUMBER_INT && info.sizes[0].of.integer == 2 && info.max_sizes[0] == 2);
    REFUSED(insitu_network_describe(n, insitu_no_value(), &info, &b->diag), INSITU_ARG, "value 0 is no tensor");
    assert_int_equal(insitu_network_find(n, "x").id, x.id);
    assert_int_equal(insitu_network_find(n, "y").id, 0);
}

/* Names are keys of the JSON in engine and state files. */
static void names_are_utf8(void **state) {
    built_t *b = *state;
    insitu_network *n = b->network, *read;
    insitu_value x, y;
    insitu_number two = insitu_int(2), number;
    static const char *const wrong[] = {"\xfc", "a\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf5\x80\x80\x80", "\xe2\x82"};
    must(b, insitu_network_add_input(n, "\xc3\xbc", F32, 1, &two, &x, &b->diag));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        REFUSED(insitu_network_add_input(n, wrong[i], F32, 1, &two, &y, &b->diag), INSITU_ARG, "that is not UTF-8");
        REFUSED(insitu_network_add_number(n, wrong[i], I64, 0, 1, &number, &b->diag), INSITU_ARG, "that is not UTF-8");
        REFUSED(insitu_network_add_state(n, wrong[i], F32, 1, &two, NULL, 0, &y, &b->diag), INSITU_ARG,
                "that is not UTF-8");
        REFUSED(insitu_network_mark_output(n, x, wrong[i], &b->diag), INSITU_ARG, "that is not UTF-8");
        REFUSED(insitu_network_add_assert(n, insitu_bool(true), wrong[i], &b->diag), INSITU_ARG, "is not UTF-8");
    }
    REFUSED(insitu_network_parse("network\ninput \"\xfc\" = %x: f32[2]\n", &read, &b->diag), INSITU_FORMAT, "of UTF-8");
    REFUSED(insitu_network_parse("network\ninput \"\\xfc\" = %x: f32[2]\n", &read, &b->diag), INSITU_FORMAT,
            "of UTF-8");
    REFUSED(insitu_network_parse("network\ninput \"a\\x00\" = %x: f32[2]\n", &read, &b->diag), INSITU_FORMAT, "zero");
    must(b, insitu_network_parse("network\ninput \"\\xc3\\xbc\" = %x: f32[2]\n", &read, &b->diag));
    insitu_network_destroy(read);
}

static void names_and_layers(void **state) {
    built_t *b = *state;
    insitu_network *n = b->network;
    insitu_value x = given(b, F32, SIZES(2), FLOATS(1, -2)), r, found;
    insitu_network_value info = {.struct_size = sizeof(info)};
    insitu_network_layer layer = {.struct_size = sizeof(layer)};
    must(b, insitu_network_add_unary(n, "neg", x, &r, &b->diag));
    must(b, insitu_network_describe(n, r, &info, &b->diag));
    assert_string_equal(info.name, "unary.1");
    must(b, insitu_network_set_name(n, r, "minus", &b->diag));
    assert_int_equal(insitu_network_find(n, "minus").id, r.id);
    assert_int_equal(insitu_network_find(n, "unary.1").id, 0);
    REFUSED(insitu_network_set_name(n, r, "x0", &b->diag), INSITU_ARG, "of that name");
    REFUSED(insitu_network_set_name(n, r, "", &b->diag), INSITU_ARG, "empty name");
    REFUSED(insitu_network_set_name(n, x, "other", &b->diag), INSITU_ARG, "'x0' is an input or a state");
    REFUSED(insitu_network_set_name(n, insitu_no_value(), "other", &b->diag), INSITU_ARG, "no tensor of the network");
    assert_int_equal(insitu_network_layer_count(n), 1);
    must(b, insitu_network_layer_at(n, 0, &layer, &b->diag));
    assert_string_equal(layer.kind, "unary");
    assert_true(layer.operand_count == 1 && layer.result_count == 1 && layer.results[0].id == r.id);
    must(b, insitu_network_operand(n, 0, 0, &found, &b->diag));
    assert_int_equal(found.id, x.id);
    REFUSED(insitu_network_operand(n, 0, 1, &found, &b->diag), INSITU_ARG, "operand 1 does not exist: there are 1");
    REFUSED(insitu_network_layer_at(n, 1, &layer, &b->diag), INSITU_ARG, "layer 1 does not exist: there are 1");
    expect(b, r, F32, SIZES(2), FLOATS(-1, 2));
}

static void symbols_and_numbers(void **state) {
    built_t *b = *state;
    insitu_network *n = b->network;
    insitu_number s, twice, unset = insitu_int(5);
    must(b, insitu_network_add_symbol(n, "s", 1, 8, &s, &b->diag));
    REFUSED(insitu_network_add_symbol(n, "s", 1, 8, &unset, &b->diag), INSITU_ARG, "a symbol 's' already");
    assert_int_equal(unset.of.integer, 0);
    REFUSED(insitu_network_add_symbol(n, "2s", 1, 8, &unset, &b->diag), INSITU_ARG, "'2s' is no name for a symbol");
    REFUSED(insitu_network_add_symbol(n, "not", 1, 8, &unset, &b->diag), INSITU_ARG, "'not' is no name");
    REFUSED(insitu_network_add_symbol(n, "t", 9, 8, &unset, &b->diag), INSITU_ARG, "empty range [9, 8]");
    REFUSED(insitu_network_add_symbol(n, "t", -1, 8, &unset, &b->diag), INSITU_ARG, "can't be -1");
    must(b, insitu_network_add_expression(n, "2*s + max(1, 1e0 // 1)", &twice, &b->diag));
    must(b, insitu_network_add_expression(n, "2*s", &twice, &b->diag));
    REFUSED(insitu_network_add_expression(n, "2*q", &unset, &b->diag), INSITU_ARG,
            "has a symbol 'q' that the network has not");
    REFUSED(insitu_network_add_expression(n, "2*", &unset, &b->diag), INSITU_FORMAT, "");
    REFUSED(insitu_network_add_expression(n, "s s", &unset, &b->diag), INSITU_FORMAT, "ends before 's'");
    must(b, insitu_network_add_symbol(n, "q", 0, -1, &unset, &b->diag)); /* it was not added by the failure */
    REFUSED(insitu_network_add_number(n, "s", I64, 0, 1, &unset, &b->diag), INSITU_ARG, "a symbol 's' already");
    REFUSED(insitu_network_add_number(n, "p", F32, 0, 1, &unset, &b->diag), INSITU_ARG, "can't be of f32");
    REFUSED(insitu_network_add_assert(n, twice, "why", &b->diag), INSITU_ARG, "must be true or false");
    REFUSED(insitu_network_add_assert(n, insitu_bool(false), "why", &b->diag), INSITU_ARG, "'why' never holds");

    insitu_value x, r;
    insitu_network_value info = {.struct_size = sizeof(info)};
    must(b, insitu_network_add_input(n, "x", F32, 1, &s, &x, &b->diag));
    must(b, insitu_network_add_concat(n, 2, (insitu_value[]){x, x}, 0, &r, &b->diag));
    must(b, insitu_network_describe(n, r, &info, &b->diag));
    assert_int_equal(info.sizes[0].kind, INSITU_NUMBER_EXPRESSION);
    assert_int_equal(info.sizes[0].of.integer, twice.of.integer); /* equal sizes are one expression */
    assert_true(info.min_sizes[0] == 2 && info.max_sizes[0] == 16);
}

/* ---- states: a counter, a cache written at a number of the caller's ---- */

static insitu_status call(built_t *b, insitu_context *context, insitu_state *state, float *x, int64_t size,
                          int64_t position) {
    insitu_tensor tensor = {.data = x, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = F32, .shape = &size},
                  number = {.data = &position, .device = {INSITU_DEVICE_CPU, 0}, .dtype = I64};
    must(b, insitu_context_set_input(context, 0, &tensor, &b->diag));
    must(b, insitu_context_set_input(context, 1, &number, &b->diag));
    return insitu_context_run(context, state, NULL, &b->diag);
}

/* x[s] and a number go in; state ring[8] = {7...}, ring[at:at+s] = x; x becomes 2x; 3*at comes out. */
static void build_ring(built_t *b) {
    insitu_network *n = b->network;
    insitu_number s, at, end, thrice, eight = insitu_int(8), condition;
    insitu_value x, ring, written, doubled;
    float initial[8];
    for (int i = 0; i < 8; i++) initial[i] = 7;
    must(b, insitu_network_add_symbol(n, "s", 1, 4, &s, &b->diag));
    must(b, insitu_network_add_input(n, "x", F32, 1, &s, &x, &b->diag));
    must(b, insitu_network_add_number(n, "at", I64, 0, 7, &at, &b->diag));
    must(b, insitu_network_add_state(n, "ring", F32, 1, &eight, initial, sizeof(initial), &ring, &b->diag));
    must(b, insitu_network_add_expression(n, "at + s", &end, &b->diag));
    must(b, insitu_network_add_expression(n, "3*at", &thrice, &b->diag));
    must(b, insitu_network_add_expression(n, "at % 2 == 0", &condition, &b->diag));
    must(b, insitu_network_add_assert(n, condition, "an even position", &b->diag));
    must(b, insitu_network_add_slice_update(n, ring, x, 0, at, end, 1, &written, &b->diag));
    must(b, insitu_network_add_binary_scalar(n, "mul", x, insitu_int(2), false, &doubled, &b->diag));
    must(b, insitu_network_assign(n, ring, written, &b->diag));
    must(b, insitu_network_assign(n, x, doubled, &b->diag));
    must(b, insitu_network_mark_output(n, written, "ring", &b->diag));
    must(b, insitu_network_mark_number(n, thrice, "thrice", &b->diag));
    REFUSED(insitu_network_mark_output(n, x, "ring", &b->diag), INSITU_ARG, "an output 'ring' already");
    REFUSED(insitu_network_mark_output(n, insitu_no_value(), "y", &b->diag), INSITU_ARG, "output 'y' is no tensor");
    REFUSED(insitu_network_mark_output(n, x, "", &b->diag), INSITU_ARG, "an output has an empty name");
    REFUSED(insitu_network_assign(n, written, ring, &b->diag), INSITU_ARG, "is neither an input nor a state");
    REFUSED(insitu_network_assign(n, ring, x, &b->diag), INSITU_SHAPE, "'ring' is f32[8] and can't become f32[s]");
    REFUSED(insitu_network_assign(n, insitu_no_value(), x, &b->diag), INSITU_ARG, "the target is no tensor");
    REFUSED(insitu_network_assign(n, ring, insitu_no_value(), &b->diag), INSITU_ARG, "the value is no tensor");
    insitu_value whole;
    must(b, insitu_network_add_cast(n, ring, I64, &whole, &b->diag));
    REFUSED(insitu_network_assign(n, ring, whole, &b->diag), INSITU_ARG, "'ring' is f32[8] and can't become i64[8]");
}

static void states_are_written_in_place(void **state) {
    built_t *b = *state;
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *kept;
    insitu_tensor ring, thrice;
    insitu_compile_options options;
    float x[2] = {1, 2};
    insitu_compile_options_init(&options);
    options.strict = true;
    build_ring(b);
    must(b, insitu_network_compile(b->network, &options, &engine, &b->diag));
    must(b, insitu_context_create(engine, &context, &b->diag));
    must(b, insitu_state_create(engine, &kept, &b->diag));
    must(b, call(b, context, kept, x, 2, 4));
    must(b, insitu_context_output(context, 0, &ring, &b->diag));
    must(b, insitu_context_output(context, 1, &thrice, &b->diag));
    assert_memory_equal(ring.data, FLOATS(7, 7, 7, 7, 1, 2, 7, 7), 32);
    assert_int_equal(*(int64_t *)thrice.data, 12);
    assert_memory_equal(x, FLOATS(2, 4), 8);
    assert_true(insitu_engine_input_is_written(engine, "x"));
    assert_int_equal(call(b, context, kept, x, 2, 3), INSITU_ASSERT);
    assert_non_null(strstr(b->diag.message, "an even position"));
    float four[4] = {0};
    assert_int_equal(call(b, context, kept, four, 4, 6), INSITU_BOUNDS); /* rows 6 to 10 of 8 */
    assert_non_null(strstr(b->diag.message, "at + s is more than 8"));
    assert_memory_equal(ring.data, FLOATS(7, 7, 7, 7, 1, 2, 7, 7), 32);
    assert_memory_equal(x, FLOATS(2, 4), 8);
    insitu_state_destroy(kept);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
}

/* Outputs that are parts of an input or of a state are handed out alike: data is the first element. */
static void views_are_handed_out_at_their_first_element(void **state) {
    built_t *b = *state;
    insitu_network *n = b->network;
    insitu_number sizes[2] = {insitu_int(3), insitu_int(2)};
    insitu_value whole[2], more, row;
    insitu_engine *engine;
    insitu_context *context;
    insitu_state *kept;
    insitu_tensor tensor, rows[2];
    float memory[9] = {0};
    int64_t shape[2] = {3, 2};
    must(b, insitu_network_add_input(n, "input", F32, 2, sizes, &whole[0], &b->diag));
    must(b, insitu_network_add_state(n, "state", F32, 2, sizes, NULL, 0, &whole[1], &b->diag));
    for (int i = 0; i < 2; i++) {
        must(b, insitu_network_add_binary_scalar(n, "add", whole[i], insitu_int(1), false, &more, &b->diag));
        must(b, insitu_network_assign(n, whole[i], more, &b->diag));
        must(b, insitu_network_add_slice(n, more, 0, insitu_int(1), insitu_int(2), 1, &row, &b->diag));
        must(b, insitu_network_mark_output(n, row, i ? "state row" : "input row", &b->diag));
    }
    must(b, insitu_network_compile(n, NULL, &engine, &b->diag));
    must(b, insitu_context_create(engine, &context, &b->diag));
    must(b, insitu_state_create(engine, &kept, &b->diag));
    for (size_t skipped = 0; skipped <= 12; skipped += 12) {
        insitu_tensor given = {.data = memory,
                               .device = {INSITU_DEVICE_CPU, 0},
                               .ndim = 2,
                               .dtype = F32,
                               .shape = shape,
                               .byte_offset = skipped};
        must(b, insitu_context_set_input(context, 0, &given, &b->diag));
        must(b, insitu_context_run(context, kept, NULL, &b->diag));
        for (int i = 0; i < 2; i++) must(b, insitu_context_output(context, i, &rows[i], &b->diag));
        must(b, insitu_state_tensor(kept, 0, &tensor, &b->diag));
        assert_true(rows[0].data == (void *)(memory + 2) && rows[0].byte_offset == skipped);
        assert_true(rows[1].data == (void *)((float *)tensor.data + 2) && rows[1].byte_offset == 0);
    }
    insitu_state_destroy(kept);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
}

/* Two states change places in one call; a state of any size is made as large as its creator wants. */
static void states_swap(void **state) {
    built_t *b = *state;
    insitu_network *n = b->network;
    insitu_number size, two = insitu_int(2), twice;
    insitu_value first, second, open, sum;
    must(b, insitu_network_add_state(n, "first", F32, 1, &two, FLOATS(1, 2), 8, &first, &b->diag));
    must(b, insitu_network_add_state(n, "second", F32, 1, &two, FLOATS(3, 4), 8, &second, &b->diag));
    must(b, insitu_network_assign(n, first, second, &b->diag));
    must(b, insitu_network_assign(n, second, first, &b->diag));
    must(b, insitu_network_add_symbol(n, "size", 0, 100, &size, &b->diag));
    must(b, insitu_network_add_expression(n, "2*size", &twice, &b->diag));
    REFUSED(insitu_network_add_state(n, "open", F32, 1, &twice, NULL, 0, &open, &b->diag), INSITU_SHAPE,
            "neither a number nor a symbol");
    REFUSED(insitu_network_add_state(n, "open", F32, 1, &size, FLOATS(1), 4, &open, &b->diag), INSITU_SHAPE,
            "that varies");
    must(b, insitu_network_add_state(n, "open", F32, 1, &size, NULL, 0, &open, &b->diag));
    must(b, insitu_network_add_binary_scalar(n, "add", open, insitu_int(1), false, &sum, &b->diag));
    must(b, insitu_network_assign(n, open, sum, &b->diag));

    insitu_engine *engine;
    insitu_context *context;
    insitu_state *kept;
    float bytes[3];
    must(b, insitu_network_compile(n, NULL, &engine, &b->diag));
    must(b, insitu_context_create(engine, &context, &b->diag));
    insitu_state_size chosen = {.name = "open", .size = 3};
    must(b, insitu_state_create_sized(engine, &chosen, 1, &kept, &b->diag));
    must(b, insitu_context_run(context, kept, NULL, &b->diag));
    must(b, insitu_state_read(kept, "first", bytes, 8, &b->diag));
    assert_memory_equal(bytes, FLOATS(3, 4), 8);
    must(b, insitu_state_read(kept, "second", bytes, 8, &b->diag));
    assert_memory_equal(bytes, FLOATS(1, 2), 8);
    must(b, insitu_state_read(kept, "open", bytes, 12, &b->diag));
    assert_memory_equal(bytes, FLOATS(1, 1, 1), 12);
    insitu_state_destroy(kept);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
}

/* ---- numbers in gaps ---- */

/* Numbers of each dtype, bound between the elements of a strided input that is only read; and upon one. */
static void numbers_may_lie_in_the_gaps_of_an_input(void **state) {
    built_t *b = *state;
    static const char *const names[] = {"whole", "half", "is_large"};
    const insitu_dtype types[] = {I64, INSITU_DTYPE_F64, BOOL};
    insitu_number number, made[3], four = insitu_int(4);
    insitu_value x;
    insitu_engine *engine;
    insitu_context *context;
    must(b, insitu_network_add_number(b->network, "n", I64, 0, -1, &number, &b->diag));
    must(b, insitu_network_add_input(b->network, "x", I64, 1, &four, &x, &b->diag));
    must(b, insitu_network_add_expression(b->network, "n", &made[0], &b->diag));
    must(b, insitu_network_add_expression(b->network, "n / 2", &made[1], &b->diag));
    must(b, insitu_network_add_expression(b->network, "n > 2", &made[2], &b->diag));
    for (int i = 0; i < 3; i++) must(b, insitu_network_mark_number(b->network, made[i], names[i], &b->diag));
    must(b, insitu_network_compile(b->network, NULL, &engine, &b->diag));
    must(b, insitu_context_create(engine, &context, &b->diag));
    int64_t memory[8] = {0}, n = 5, size = 4, stride = 2;
    const insitu_device cpu = {INSITU_DEVICE_CPU, 0};
    const insitu_tensor scalar = {.data = &n, .device = cpu, .dtype = I64};
    const insitu_tensor gaps = {
        .data = memory, .device = cpu, .ndim = 1, .dtype = I64, .shape = &size, .strides = &stride};
    must(b, insitu_context_set_input(context, 0, &scalar, &b->diag));
    must(b, insitu_context_set_input(context, 1, &gaps, &b->diag));
    for (int32_t i = 0; i < 3; i++) {
        insitu_tensor tensor = {.data = &memory[2 * i + 1], .device = cpu, .dtype = types[i]};
        must(b, insitu_context_set_output(context, i, &tensor, &b->diag));
    }
    must(b, insitu_context_run(context, NULL, NULL, &b->diag));
    double half;
    memcpy(&half, &memory[3], sizeof(half));
    assert_true(memory[1] == 5 && half == 2.5 && *(uint8_t *)&memory[5] == 1);
    for (int32_t i = 0; i < 3; i++) {
        insitu_tensor tensor = {.data = &memory[2 * i], .device = cpu, .dtype = types[i]};
        must(b, insitu_context_set_output(context, i, &tensor, &b->diag));
        REFUSED(insitu_context_run(context, NULL, NULL, &b->diag), INSITU_ARG, "input 'x' shares memory with output");
        must(b, insitu_context_set_output(context, i, NULL, &b->diag));
    }
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
}

/* ---- compilation ---- */

static void options_of_programs_are_refused(void **state) {
    built_t *b = *state;
    insitu_engine *engine;
    insitu_compile_options options;
    insitu_compile_options_init(&options);
    options.keep_values = true;
    build_ring(b);
    REFUSED(insitu_network_compile(b->network, &options, &engine, &b->diag), INSITU_ARG,
            "keep_values is for programs alone");
    assert_null(engine);
    options = (insitu_compile_options){.struct_size = sizeof(options), .cache_dir = "/nonexistent"};
    REFUSED(insitu_network_compile(b->network, &options, &engine, &b->diag), INSITU_ARG,
            "cache_dir is for programs alone");
    options = (insitu_compile_options){.struct_size = sizeof(options), .device = "dla"};
    REFUSED(insitu_network_compile(b->network, &options, &engine, &b->diag), INSITU_UNSUPPORTED, "dla");
    const insitu_mutated_input wrong = {.input = "y", .output = "ring"};
    options =
        (insitu_compile_options){.struct_size = sizeof(options), .mutated_inputs = &wrong, .mutated_input_count = 1};
    REFUSED(insitu_network_compile(b->network, &options, &engine, &b->diag), INSITU_ARG, "'y'");
    options = (insitu_compile_options){.struct_size = sizeof(options), .state = INSITU_STATE_CALLER};
    must(b, insitu_network_compile(b->network, &options, &engine, &b->diag));
    assert_int_equal(insitu_engine_state_count(engine), 0);
    assert_true(insitu_engine_find_input(engine, "buf_ring") == 2);
    insitu_engine_destroy(engine);
}

/* A symbol that nothing gives a value to. */
static void symbols_without_a_source_are_refused(void **state) {
    built_t *b = *state;
    insitu_number s;
    insitu_value r;
    insitu_engine *engine;
    must(b, insitu_network_add_symbol(b->network, "s", 0, 8, &s, &b->diag));
    must(b, insitu_network_add_fill(b->network, F32, 1, &s, insitu_int(1), &r, &b->diag));
    must(b, insitu_network_mark_output(b->network, r, "r", &b->diag));
    REFUSED(insitu_network_compile(b->network, NULL, &engine, &b->diag), INSITU_ARG,
            "tensor 'fill.0' uses the symbol 's', which has no value");
}

/* Compiling changes nothing: a second engine is the same, and the network may be added to. */
/* What no kernel computes is refused by the compiler, not by the first run of the engine. */
static void what_no_kernel_computes_is_refused(void **state) {
    built_t *b = *state;
    const insitu_dtype complex = INSITU_DTYPE(INSITU_CODE_COMPLEX, 64),
                       small = INSITU_DTYPE(INSITU_CODE_FLOAT8_E5M2, 8);
    insitu_number two = insitu_int(2);
    insitu_value x, y, pair, eighth, value;
    insitu_engine *engine;
    must(b, insitu_network_add_input(b->network, "x", complex, 1, &two, &x, &b->diag));
    must(b, insitu_network_add_input(b->network, "y", small, 1, &two, &y, &b->diag));
    must(b, insitu_network_add_flip(b->network, x, 1, (int32_t[]){0}, &pair, &b->diag));
    must(b, insitu_network_add_cast(b->network, y, F32, &eighth, &b->diag));
    must(b, insitu_network_mark_output(b->network, pair, "pair", &b->diag));
    must(b, insitu_network_mark_output(b->network, eighth, "eighth", &b->diag));
    must(b, insitu_network_compile(b->network, NULL, &engine, &b->diag));
    insitu_engine_destroy(engine);
    must(b, insitu_network_add_unary(b->network, "exp", x, &value, &b->diag));
    must(b, insitu_network_mark_output(b->network, value, "exp", &b->diag));
    must(b, insitu_network_add_unary(b->network, "exp", pair, &value, &b->diag));
    must(b, insitu_network_mark_output(b->network, value, "exp of pair", &b->diag));
    must(b, insitu_network_add_binary(b->network, "add", y, y, &value, &b->diag));
    must(b, insitu_network_mark_output(b->network, value, "sum", &b->diag));
    REFUSED(insitu_network_compile(b->network, NULL, &engine, &b->diag), INSITU_UNSUPPORTED,
            "no kernel computes unary exp of c64, among others");
    assert_null(engine);
    assert_int_equal(b->diag.row_count, 2);
    assert_string_equal(b->diag.rows[0].op, "unary exp of c64");
    assert_int_equal(b->diag.rows[0].count, 2);
    assert_string_equal(b->diag.rows[1].op, "binary add of f8e5m2");
}

static void a_network_is_compiled_twice(void **state) {
    built_t *b = *state;
    build_ring(b);
    char *before = text_of(b, b->network);
    char *texts[2];
    for (int i = 0; i < 2; i++) {
        insitu_engine *engine;
        must(b, insitu_network_compile(b->network, NULL, &engine, &b->diag));
        must(b, insitu_engine_print(engine, "json", &texts[i], &b->diag));
        insitu_engine_destroy(engine);
    }
    char *after = text_of(b, b->network);
    assert_string_equal(texts[0], texts[1]);
    assert_string_equal(before, after);
    insitu_text_free(before);
    insitu_text_free(after);
    insitu_text_free(texts[0]);
    insitu_text_free(texts[1]);
}

/* ---- memory ---- */

#define TRY_CALL(call)                                                                                                 \
    do {                                                                                                               \
        insitu_status called = (call);                                                                                 \
        if (called != INSITU_OK) return called;                                                                        \
    } while (0)

/* A cache that is state, printed, read back and compiled. */
static insitu_status make_all(insitu_network *n, insitu_network **out_read, char **out_text, insitu_engine **out_engine,
                              insitu_diag *diag) {
    const insitu_number sizes[4] = {insitu_int(1), insitu_int(2), insitu_int(4), insitu_int(2)};
    insitu_number rows[4] = {sizes[0], sizes[1], sizes[0], sizes[3]};
    const float initial[16] = {1};
    insitu_value cache, update, at, updated;
    TRY_CALL(insitu_network_add_symbol(n, "s", 1, 4, &rows[2], diag));
    TRY_CALL(insitu_network_add_state(n, "cache", F32, 4, sizes, initial, sizeof(initial), &cache, diag));
    TRY_CALL(insitu_network_add_input(n, "update", F32, 4, rows, &update, diag));
    TRY_CALL(insitu_network_add_input(n, "at", I64, 1, sizes, &at, diag));
    TRY_CALL(insitu_network_add_kv_cache_update(n, cache, update, at, INSITU_CACHE_BHSD, &updated, diag));
    TRY_CALL(insitu_network_set_name(n, updated, "updated", diag));
    TRY_CALL(insitu_network_assign(n, cache, updated, diag));
    TRY_CALL(insitu_network_mark_output(n, updated, "cache", diag));
    TRY_CALL(insitu_network_print(n, out_text, diag));
    TRY_CALL(insitu_network_parse(*out_text, out_read, diag));
    TRY_CALL(insitu_network_set_record(*out_read, 0, initial, sizeof(initial), diag));
    return insitu_network_compile(*out_read, NULL, out_engine, diag);
}

/* Whichever allocation fails, the call says so, and all memory is given back. */
static void every_allocation_may_fail(void **state) {
    built_t *b = *state;
    insitu_status status = INSITU_NOMEM;
    for (uint64_t fail_at = 1; status != INSITU_OK; fail_at += 1 + fail_at / 64) {
        allocation_count_t count = {.fail_at = fail_at};
        insitu_network *made = NULL, *read = NULL;
        insitu_engine *engine = NULL;
        char *text = NULL;
        count_allocations(&count);
        status = insitu_network_create(&made, &b->diag);
        if (status == INSITU_OK) status = make_all(made, &read, &text, &engine, &b->diag);
        if (status != INSITU_OK) {
            assert_int_equal(status, INSITU_NOMEM);
            assert_true(strlen(b->diag.message) > 8);
        }
        insitu_engine_destroy(engine);
        insitu_network_destroy(read);
        insitu_network_destroy(made);
        insitu_text_free(text);
        insitu_diag_release(&b->diag);
        memory_set_hooks(NULL);
        assert_int_equal(count.live, 0);
        assert_true(fail_at < 100000);
    }
}

/* ---- text ---- */

static void save_of(built_t *b, const insitu_network *network, const char *path) {
    insitu_engine *engine;
    must(b, insitu_network_compile(network, NULL, &engine, &b->diag));
    must(b, insitu_engine_save(engine, path, &b->diag));
    insitu_engine_destroy(engine);
}

static void same_files(const char *first, const char *second) {
    FILE *a = fopen(first, "rb"), *c = fopen(second, "rb");
    int x, y;
    assert_true(a && c);
    size_t at = 0;
    do {
        x = fgetc(a);
        y = fgetc(c);
        if (x != y) fail_msg("%s and %s differ at byte %zu", first, second, at);
        at++;
    } while (x != EOF);
    fclose(a);
    fclose(c);
}

/* Text, read back, with the records' bytes, is the network: same text, same engine file. */
static void round_trip(built_t *b, const insitu_network *network, const char *expected_engine) {
    char path[64];
    insitu_network *read;
    char *text = text_of(b, network), *again;
    must(b, insitu_network_parse(text, &read, &b->diag));
    again = text_of(b, read);
    assert_string_equal(text, again);
    assert_int_equal(insitu_network_record_count(network), insitu_network_record_count(read));
    for (int32_t i = 0; i < insitu_network_record_count(network); i++) {
        insitu_network_record record = {.struct_size = sizeof(record)}, empty = record;
        insitu_engine *engine;
        must(b, insitu_network_record_at(network, i, &record, &b->diag));
        must(b, insitu_network_record_at(read, i, &empty, &b->diag));
        assert_null(empty.data);
        assert_int_equal(empty.size, record.size);
        if (i == 0 && record.size)
            REFUSED(insitu_network_compile(read, NULL, &engine, &b->diag), INSITU_ARG, "has no bytes");
        if (record.data) must(b, insitu_network_set_record(read, i, record.data, record.size, &b->diag));
    }
    snprintf(path, sizeof(path), "/tmp/insitu_network_%d.read", (int)getpid());
    save_of(b, read, path);
    same_files(path, expected_engine);
    remove(path);
    insitu_network_destroy(read);
    insitu_text_free(text);
    insitu_text_free(again);
}

static void built_networks_read_back(void **state) {
    built_t *b = *state;
    char path[64];
    snprintf(path, sizeof(path), "/tmp/insitu_network_%d.built", (int)getpid());
    build_ring(b);
    save_of(b, b->network, path);
    round_trip(b, b->network, path);
    remove(path);
}

static void read_back(built_t *b, const char *file, const char *engine_path) {
    insitu_program *program;
    insitu_engine *engine;
    insitu_network *network;
    must(b, insitu_program_load(file, &program, &b->diag));
    must(b, insitu_program_compile(program, NULL, &engine, &b->diag));
    must(b, insitu_engine_save(engine, engine_path, &b->diag));
    insitu_engine_destroy(engine);
    must(b, insitu_network_import(program, NULL, &network, &b->diag));
    insitu_program_destroy(program); /* the network keeps the file mapped */
    round_trip(b, network, engine_path);
    insitu_network_destroy(network);
    remove(engine_path);
}

/* Every program of tests/data that can be compiled. */
static void imported_programs_read_back(void **state) {
    char path[64], file[512];
    int count = 0;
    DIR *folder = opendir(DATA);
    assert_non_null(folder);
    snprintf(path, sizeof(path), "/tmp/insitu_network_%d.program", (int)getpid());
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        size_t size = strlen(entry->d_name);
        if (size < 4 || strcmp(entry->d_name + size - 4, ".pt2") != 0 || strncmp(entry->d_name, "unsupported", 11) == 0)
            continue;
        snprintf(file, sizeof(file), DATA "%s", entry->d_name);
        read_back(*state, file, path);
        count++;
    }
    closedir(folder);
    assert_true(count >= 70);
}

/* An imported program is added to: an output more, and no longer the program. */
static void imported_programs_change(void **state) {
    built_t *b = *state;
    insitu_program *program;
    insitu_network *network;
    insitu_engine *engine;
    insitu_value sum;
    char *before, *after;
    must(b, insitu_program_load(DATA "delay.aten.pt2", &program, &b->diag));
    must(b, insitu_network_import(program, NULL, &network, &b->diag));
    insitu_program_destroy(program);
    before = text_of(b, network);
    assert_non_null(strstr(before, "\nidentity "));
    insitu_value x = {1};
    must(b, insitu_network_add_binary(network, "add", x, x, &sum, &b->diag));
    must(b, insitu_network_mark_output(network, sum, "sum", &b->diag));
    after = text_of(b, network);
    assert_null(strstr(after, "\nidentity "));
    must(b, insitu_network_compile(network, NULL, &engine, &b->diag));
    assert_true(insitu_engine_find_output(engine, "sum") >= 0);
    insitu_engine_destroy(engine);
    insitu_network_destroy(network);
    insitu_text_free(before);
    insitu_text_free(after);
}

/* The values of nodes, and writes that would lose rows, are the import's to keep and refuse. */
static void import_heeds_its_options(void **state) {
    built_t *b = *state;
    insitu_program *program;
    insitu_network *network;
    insitu_engine *direct, *imported;
    insitu_compile_options options;
    char *texts[2];
    insitu_compile_options_init(&options);
    options.keep_values = true;
    options.bounds = INSITU_BOUNDS_STRICT;
    must(b, insitu_program_load(DATA "buffer_slice.train.pt2", &program, &b->diag));
    must(b, insitu_program_compile(program, &options, &direct, &b->diag));
    must(b, insitu_network_import(program, &options, &network, &b->diag));
    must(b, insitu_network_compile(network, NULL, &imported, &b->diag));
    assert_true(insitu_engine_output_count(imported) > 2);
    must(b, insitu_engine_print(direct, "plan", &texts[0], &b->diag));
    must(b, insitu_engine_print(imported, "plan", &texts[1], &b->diag));
    assert_string_equal(texts[0], texts[1]);
    insitu_text_free(texts[0]);
    insitu_text_free(texts[1]);
    insitu_engine_destroy(direct);
    insitu_engine_destroy(imported);
    insitu_network_destroy(network);
    insitu_program_destroy(program);
    options.struct_size = 0;
    must(b, insitu_program_load(DATA "unsupported.train.pt2", &program, &b->diag));
    REFUSED(insitu_network_import(program, &options, &network, &b->diag), INSITU_ARG, "struct_size 0");
    REFUSED(insitu_network_import(program, NULL, &network, &b->diag), INSITU_UNSUPPORTED,
            "aten.linalg_matrix_exp.default");
    assert_null(network);
    assert_true(b->diag.row_count == 2);
    insitu_program_destroy(program);
}

static void bad_text_and_records(void **state) {
    built_t *b = *state;
    insitu_network *read;
    insitu_network_record record = {.struct_size = sizeof(record)};
    REFUSED(insitu_network_parse("graph", &read, &b->diag), INSITU_FORMAT, "network text, line 1");
    assert_null(read);
    REFUSED(insitu_network_parse("network\nidentity 12\n", &read, &b->diag), INSITU_FORMAT, "16 hexadecimal digits");
    REFUSED(insitu_network_parse("network\noutput \"y\" = %x\n", &read, &b->diag), INSITU_FORMAT, "%x is not defined");
    REFUSED(insitu_network_parse("network\nstate \"s\" = %s: f32[2] of zeros\nstate \"s\" = %t: f32[2] of zeros\n",
                                 &read, &b->diag),
            INSITU_FORMAT, "two states or buffers are named 's'");
    build_ring(b);
    REFUSED(insitu_network_record_at(b->network, 1, &record, &b->diag), INSITU_ARG,
            "record 1 does not exist: there are 1");
    REFUSED(insitu_network_set_record(b->network, -1, "", 0, &b->diag), INSITU_ARG, "record -1 does not exist");
    REFUSED(insitu_network_set_record(b->network, 0, "", 1, &b->diag), INSITU_SHAPE,
            "record 'ring' has 32 bytes, and was given 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(inputs_and_constants),
        CASE(names_are_utf8),
        CASE(names_and_layers),
        CASE(symbols_and_numbers),
        CASE(states_are_written_in_place),
        CASE(views_are_handed_out_at_their_first_element),
        CASE(states_swap),
        CASE(numbers_may_lie_in_the_gaps_of_an_input),
        CASE(options_of_programs_are_refused),
        CASE(symbols_without_a_source_are_refused),
        CASE(what_no_kernel_computes_is_refused),
        CASE(a_network_is_compiled_twice),
        CASE(built_networks_read_back),
        CASE(imported_programs_read_back),
        CASE(imported_programs_change),
        CASE(bad_text_and_records),
        CASE(import_heeds_its_options),
        CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
