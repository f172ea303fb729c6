/* Each add function of insitu/layers.h: a network with that layer computes what the header says, and each way in which its
 * arguments can be wrong is refused with its sentence, leaving the network as it was. */
#include "network_fixture.h"

#include "core/core.h"

#define ADD(name, ...) must(b, insitu_network_add_##name(b->network, __VA_ARGS__, &r, &b->diag))
#define BAD(name, expected, words, ...)                                                                                \
    REFUSED(insitu_network_add_##name(b->network, __VA_ARGS__, &r, &b->diag), expected, words)
#define N(number) insitu_int(number)
#define NOTHING insitu_no_value()

/* 0, 1, 2 ... */
static float counted[24];
static insitu_value counted_input(built_t *b, int32_t ndim, const int64_t *sizes) {
    for (int i = 0; i < 24; i++) counted[i] = (float)i;
    return given(b, F32, ndim, sizes, counted);
}

static void sources(void **state) {
    built_t *b = *state;
    insitu_value r;
    ADD(fill, F32, NUMBERS(N(2), N(2)), insitu_float(1.5));
    expect(b, r, F32, SIZES(2, 2), FLOATS(1.5f, 1.5f, 1.5f, 1.5f));
    ADD(fill, BOOL, NUMBERS(N(2)), insitu_bool(true));
    expect(b, r, BOOL, SIZES(2), BOOLS(1, 1));
    ADD(iota, I64, N(3), N(5), N(-2));
    expect(b, r, I64, SIZES(3), INTS(5, 3, 1));
    ADD(empty, F32, NUMBERS(N(2), N(0)));
    expect(b, r, F32, SIZES(2, 0), FLOATS(0));
    insitu_number many[14];
    for (int i = 0; i < 14; i++) many[i] = N(1);
    BAD(fill, INSITU_ARG, "value is a float", I64, NUMBERS(N(2)), insitu_float(0.5));
    BAD(fill, INSITU_SHAPE, "fill(): size: -1 is less than 0", F32, NUMBERS(N(-1)), N(0));
    BAD(fill, INSITU_ARG, "sizes has 14 items where 0 to 12 are allowed", F32, 14, many, N(0));
    BAD(fill, INSITU_ARG, "no dtype of code 2, 24 bits", ((insitu_dtype){INSITU_CODE_FLOAT, 24, 1}), NUMBERS(N(1)),
        N(0));
    BAD(fill, INSITU_ARG, "insitu_network_add_fill needs sizes", F32, 1, NULL, N(0));
    BAD(iota, INSITU_ARG, "start is a float", I64, N(3), insitu_float(0.5), N(1));
    BAD(iota, INSITU_ARG, "step is a float", I64, N(3), N(0), insitu_float(0.5));
    BAD(iota, INSITU_ARG, "dtype must be a real number's", BOOL, N(3), N(0), N(1));
    BAD(empty, INSITU_ARG, "must hold integers", F32, NUMBERS(insitu_float(2)));
    BAD(empty, INSITU_ARG, "expression of another network", F32,
        NUMBERS({.kind = INSITU_NUMBER_EXPRESSION, .of = {.integer = 1000}}));
    BAD(empty, INSITU_ARG, "unknown kind 9", F32, NUMBERS({.kind = (insitu_number_kind)9}));
}

static void views(void **state) {
    built_t *b = *state;
    insitu_value r;
    ADD(reshape, counted_input(b, SIZES(2, 3)), NUMBERS(N(3), N(2)));
    expect(b, r, F32, SIZES(3, 2), FLOATS(0, 1, 2, 3, 4, 5));
    ADD(permute, counted_input(b, SIZES(2, 3)), DIMS(1, 0));
    ADD(copy, r);
    expect(b, r, F32, SIZES(3, 2), FLOATS(0, 3, 1, 4, 2, 5));
    ADD(slice, counted_input(b, SIZES(6)), 0, N(1), N(6), 2);
    ADD(copy, r);
    expect(b, r, F32, SIZES(3), FLOATS(1, 3, 5));
    ADD(expand, counted_input(b, SIZES(2, 1)), NUMBERS(N(2), N(2)));
    ADD(copy, r);
    expect(b, r, F32, SIZES(2, 2), FLOATS(0, 0, 1, 1));
    ADD(diagonal, counted_input(b, SIZES(2, 3)), 1, 0, 1);
    ADD(copy, r);
    expect(b, r, F32, SIZES(2), FLOATS(1, 5));
    ADD(unfold, counted_input(b, SIZES(4)), 0, 2, 1);
    ADD(copy, r);
    expect(b, r, F32, SIZES(3, 2), FLOATS(0, 1, 1, 2, 2, 3));
    insitu_number strides[2] = {N(1), N(2)};
    ADD(as_strided, counted_input(b, SIZES(6)), NUMBERS(N(2), N(2)), strides, N(1));
    ADD(copy, r);
    expect(b, r, F32, SIZES(2, 2), FLOATS(1, 3, 2, 4));
    ADD(bitcast, given(b, F32, SIZES(1), FLOATS(1)), INSITU_DTYPE_I32);
    expect(b, r, INSITU_DTYPE_I32, SIZES(1), (int32_t[]){0x3f800000});

    insitu_value x = counted_input(b, SIZES(2, 3));
    BAD(reshape, INSITU_SHAPE, "reshape(f32[2,3]): number of elements: 8 is not equal to 6", x, NUMBERS(N(4), N(2)));
    BAD(reshape, INSITU_ARG, "operand 0 is no tensor", NOTHING, NUMBERS(N(6)));
    BAD(reshape, INSITU_SHAPE, "more bytes than the 2^56", x, NUMBERS(N(INT64_C(1) << 62), N(8)));
    BAD(permute, INSITU_ARG, "axes must be distinct dimensions", x, DIMS(0, 0));
    BAD(permute, INSITU_ARG, "axes must name every dimension once", x, DIMS(0));
    BAD(permute, INSITU_ARG, "permute needs axes", x, 2, NULL);
    BAD(slice, INSITU_ARG, "dim is 2, outside [0, 1]", x, 2, N(0), N(1), 1);
    BAD(slice, INSITU_SHAPE, "end: 4 is more than 3", x, 1, N(0), N(4), 1);
    BAD(slice, INSITU_SHAPE, "start: 2 is more than 1", x, 1, N(2), N(1), 1);
    BAD(slice, INSITU_ARG, "step is 0", x, 1, N(0), N(1), 0);
    BAD(expand, INSITU_SHAPE, "1 sizes where 2 were expected", x, NUMBERS(N(3)));
    BAD(expand, INSITU_SHAPE, "size: 2 is not equal to 4", x, NUMBERS(N(4), N(3)));
    BAD(diagonal, INSITU_ARG, "dim1 and dim2 must differ", x, 0, 1, 1);
    BAD(unfold, INSITU_SHAPE, "size: 4 is more than 3", x, 1, 4, 1);
    BAD(unfold, INSITU_ARG, "step is 0", x, 1, 1, 0);
    BAD(as_strided, INSITU_SHAPE, "operand 0 must have rank 1", x, NUMBERS(N(2)), strides, N(0));
    BAD(bitcast, INSITU_SHAPE, "rest of the last size", x, INSITU_DTYPE_I64);
    assert_int_equal(insitu_network_layer_count(b->network), 0);
}

static void elementwise(void **state) {
    built_t *b = *state;
    insitu_value r;
    ADD(unary, "relu", given(b, F32, SIZES(2), FLOATS(-1, 2)));
    expect(b, r, F32, SIZES(2), FLOATS(0, 2));
    ADD(unary, "isnan", given(b, F32, SIZES(2), FLOATS(NAN, 2)));
    expect(b, r, BOOL, SIZES(2), BOOLS(1, 0));
    insitu_value a = given(b, F32, SIZES(2), FLOATS(3, 5)), c = given(b, F32, SIZES(2), FLOATS(2, 8));
    ADD(binary, "sub", a, c);
    expect(b, r, F32, SIZES(2), FLOATS(1, -3));
    a = given(b, F32, SIZES(2), FLOATS(3, 5)), c = given(b, F32, SIZES(2), FLOATS(2, 8));
    ADD(binary, "lt", a, c);
    expect(b, r, BOOL, SIZES(2), BOOLS(0, 1));
    ADD(binary_scalar, "sub", given(b, F32, SIZES(2), FLOATS(3, 5)), insitu_float(0.5), true);
    expect(b, r, F32, SIZES(2), FLOATS(-2.5f, -4.5f));
    a = given(b, F32, SIZES(2), FLOATS(3, 5)), c = given(b, F32, SIZES(2), FLOATS(2, 8));
    ADD(scaled_sum, a, c, N(10));
    expect(b, r, F32, SIZES(2), FLOATS(23, 85));
    insitu_value mask = given(b, BOOL, SIZES(2), BOOLS(1, 0));
    a = given(b, F32, SIZES(2), FLOATS(3, 5)), c = given(b, F32, SIZES(2), FLOATS(2, 8));
    ADD(where, mask, a, c);
    expect(b, r, F32, SIZES(2), FLOATS(3, 8));
    ADD(cast, given(b, F32, SIZES(2), FLOATS(3.7f, -5.2f)), I64);
    expect(b, r, I64, SIZES(2), INTS(3, -5));
    ADD(copy, given(b, I64, SIZES(2), INTS(4, 6)));
    expect(b, r, I64, SIZES(2), INTS(4, 6));

    a = given(b, F32, SIZES(2), FLOATS(3, 5)), c = given(b, F32, SIZES(3), FLOATS(2, 8, 9));
    insitu_value whole = given(b, I64, SIZES(2), INTS(4, 6));
    BAD(unary, INSITU_ARG, "unary: there is no op 'twice' of this layer", "twice", a);
    BAD(unary, INSITU_ARG, "op exp does not take i64", "exp", whole);
    BAD(unary, INSITU_ARG, "insitu_network_add_unary needs an op", NULL, a);
    BAD(binary, INSITU_SHAPE, "binary(f32[2], f32[3]): size of an operand: 3 is not equal to 2", "add", a, c);
    BAD(binary, INSITU_ARG, "operands 0 and 1 must have one dtype", "add", a, whole);
    BAD(binary, INSITU_ARG, "op div does not take i64", "div", whole, whole);
    BAD(binary, INSITU_ARG, "operand 1 is no tensor", "add", a, NOTHING);
    BAD(binary_scalar, INSITU_ARG, "a float scalar for i64", "add", whole, insitu_float(1), false);
    BAD(scaled_sum, INSITU_ARG, "must have one dtype", a, whole, N(1));
    BAD(where, INSITU_ARG, "the condition must be bool", a, a, a);
    BAD(cast, INSITU_ARG, "there is no dtype", a, ((insitu_dtype){INSITU_CODE_INT, 32, 4}));
    BAD(copy, INSITU_ARG, "operand 0 is no tensor", ((insitu_value){99}));
}

static void reductions(void **state) {
    built_t *b = *state;
    insitu_value r, at;
    ADD(reduce, "sum", counted_input(b, SIZES(2, 3)), DIMS(1), false, 0);
    expect(b, r, F32, SIZES(2), FLOATS(3, 12));
    ADD(reduce, "var", counted_input(b, SIZES(2, 3)), DIMS(1), true, 1);
    expect(b, r, F32, SIZES(2, 1), FLOATS(1, 1));
    must(b, insitu_network_add_reduce_index(b->network, "amax", counted_input(b, SIZES(2, 3)), 1, false, &r, &at,
                                            &b->diag));
    expect(b, at, I64, SIZES(2), INTS(2, 2));
    ADD(scan, "cumsum", counted_input(b, SIZES(4)), 0);
    expect(b, r, F32, SIZES(4), FLOATS(0, 1, 3, 6));
    ADD(softmax, given(b, F32, SIZES(2), FLOATS(0, 0)), 0, false);
    expect(b, r, F32, SIZES(2), FLOATS(0.5f, 0.5f));
    ADD(softmax, given(b, F32, SIZES(2), FLOATS(0, 0)), 0, true);
    expect(b, r, F32, SIZES(2), FLOATS(-0.6931472f, -0.6931472f));
    insitu_value x = given(b, F32, SIZES(1, 2), FLOATS(1, 3)), w = given(b, F32, SIZES(2), FLOATS(2, 4)),
                 bias = given(b, F32, SIZES(2), FLOATS(10, 20));
    ADD(layer_norm, x, w, bias, 1, 0);
    expect(b, r, F32, SIZES(1, 2), FLOATS(8, 24));
    ADD(layer_norm, given(b, F32, SIZES(1, 2), FLOATS(1, 3)), NOTHING, NOTHING, 1, 0);
    expect(b, r, F32, SIZES(1, 2), FLOATS(-1, 1));
    x = given(b, F32, SIZES(1, 2), FLOATS(1, 7)), w = given(b, F32, SIZES(2), FLOATS(5, 10));
    ADD(rms_norm, x, w, 1, 0);
    expect(b, r, F32, SIZES(1, 2), FLOATS(1, 14));
    must(b, insitu_network_add_sort(b->network, given(b, F32, SIZES(3), FLOATS(2, 9, 4)), 0, true, &r, &at, &b->diag));
    expect(b, r, F32, SIZES(3), FLOATS(9, 4, 2));
    must(b, insitu_network_add_topk(b->network, given(b, F32, SIZES(3), FLOATS(2, 9, 4)), N(2), 0, true, &r, &at,
                                    &b->diag));
    expect(b, at, I64, SIZES(2), INTS(1, 2));

    x = counted_input(b, SIZES(2, 3)), w = given(b, F32, SIZES(2), FLOATS(5, 10));
    insitu_value whole = given(b, I64, SIZES(2), INTS(4, 6));
    BAD(reduce, INSITU_ARG, "axes must be distinct dimensions", "sum", x, DIMS(2), false, 0);
    BAD(reduce, INSITU_ARG, "no op 'median'", "median", x, DIMS(0), false, 0);
    BAD(reduce, INSITU_ARG, "operand 0 must be of floats", "mean", whole, DIMS(0), false, 0);
    BAD(reduce, INSITU_ARG, "op argmax reduces one axis", "argmax", x, DIMS(0, 1), false, 0);
    REFUSED(insitu_network_add_reduce_index(b->network, "sum", x, 0, false, &r, &at, &b->diag), INSITU_ARG,
            "op must be amax or amin");
    REFUSED(insitu_network_add_reduce_index(b->network, "amax", x, 0, false, &r, NULL, &b->diag), INSITU_ARG,
            "needs a network and a place");
    BAD(scan, INSITU_ARG, "dim is 2", "cumsum", x, 2);
    BAD(softmax, INSITU_ARG, "operand 0 must be of floats", whole, 0, false);
    BAD(layer_norm, INSITU_ARG, "a bias without a weight", x, NOTHING, w, 1, 0);
    BAD(layer_norm, INSITU_SHAPE, "size of a weight: 2 is not equal to 3", x, w, NOTHING, 1, 0);
    BAD(rms_norm, INSITU_ARG, "count is 3, outside [1, 2]", x, NOTHING, 3, 0);
    REFUSED(insitu_network_add_sort(b->network, x, -1, true, &r, &at, &b->diag), INSITU_ARG, "dim is -1");
    REFUSED(insitu_network_add_topk(b->network, x, N(4), 1, true, &r, &at, &b->diag), INSITU_SHAPE,
            "count: 4 is more than 3");
}

static void products(void **state) {
    built_t *b = *state;
    insitu_value r;
    insitu_value x = given(b, F32, SIZES(1, 2), FLOATS(1, 2)), w = given(b, F32, SIZES(2, 2), FLOATS(1, 2, 3, 4)),
                 bias = given(b, F32, SIZES(2), FLOATS(10, 20));
    ADD(matmul, x, w, bias);
    expect(b, r, F32, SIZES(1, 2), FLOATS(17, 30));
    x = given(b, F32, SIZES(1, 1, 4), FLOATS(1, 2, 3, 4)), w = given(b, F32, SIZES(1, 1, 2), FLOATS(1, 10));
    const int64_t two[] = {2}, one[] = {1};
    insitu_window window = {.struct_size = sizeof(window), .stride = two};
    ADD(conv, x, w, NOTHING, &window);
    expect(b, r, F32, SIZES(1, 1, 2), FLOATS(21, 43));
    x = given(b, F32, SIZES(1, 1, 2), FLOATS(1, 2)), w = given(b, F32, SIZES(1, 1, 2), FLOATS(1, 10));
    window.transposed = true;
    ADD(conv, x, w, NOTHING, &window);
    expect(b, r, F32, SIZES(1, 1, 4), FLOATS(1, 10, 2, 20));
    x = given(b, F32, SIZES(1, 1, 4), FLOATS(1, 2, 3, 4)), w = given(b, F32, SIZES(1, 1, 2), FLOATS(1, 10));
    ADD(conv, x, w, NOTHING, NULL);
    expect(b, r, F32, SIZES(1, 1, 3), FLOATS(21, 32, 43));
    window = (insitu_window){.struct_size = sizeof(window), .kernel = two};
    ADD(pool, "avg", given(b, F32, SIZES(1, 1, 4), FLOATS(1, 2, 3, 4)), &window);
    expect(b, r, F32, SIZES(1, 1, 2), FLOATS(1.5f, 3.5f));
    window.stride = one;
    ADD(pool, "max", given(b, F32, SIZES(1, 1, 3), FLOATS(1, 5, 3)), &window);
    expect(b, r, F32, SIZES(1, 1, 2), FLOATS(5, 5));
    insitu_value q = given(b, F32, SIZES(1, 1, 1, 1), FLOATS(1)), k = given(b, F32, SIZES(1, 1, 2, 1), FLOATS(0, 0)),
                 v = given(b, F32, SIZES(1, 1, 2, 1), FLOATS(3, 5)),
                 mask = given(b, BOOL, SIZES(1, 1, 1, 2), BOOLS(0, 1));
    ADD(attention, q, k, v, mask, 1, false);
    expect(b, r, F32, SIZES(1, 1, 1, 1), FLOATS(5));

    x = given(b, F32, SIZES(1, 1, 4), FLOATS(1, 2, 3, 4)), w = given(b, F32, SIZES(1, 2, 2), FLOATS(1, 10, 1, 1));
    v = given(b, F32, SIZES(2, 3), FLOATS(0, 0, 0, 0, 0, 0)), q = given(b, F32, SIZES(1, 1, 1, 1), FLOATS(1));
    window = (insitu_window){.struct_size = sizeof(window), .kernel = two};
    BAD(matmul, INSITU_SHAPE, "inner size: 2 is not equal to 3", v, v, NOTHING);
    BAD(conv, INSITU_SHAPE, "input channels: 2 is not equal to 1", x, w, NOTHING, NULL);
    BAD(conv, INSITU_SHAPE, "operand 0 has rank 2 where 3 at least was expected", v, w, NOTHING, NULL);
    BAD(conv, INSITU_ARG, "the window has a kernel", x, w, NOTHING, &window);
    BAD(pool, INSITU_ARG, "the window has no kernel", "max", x, NULL);
    BAD(pool, INSITU_ARG, "no op 'median'", "median", x, &window);
    window.struct_size = 0;
    BAD(pool, INSITU_ARG, "the window has struct_size 0", "max", x, &window);
    window = (insitu_window){.struct_size = sizeof(window), .kernel = two, .groups = 2};
    BAD(pool, INSITU_ARG, "what only conv has", "max", x, &window);
    BAD(attention, INSITU_SHAPE, "operand 1 must have rank 4", q, x, q, NOTHING, 1, false);
}

static void movement(void **state) {
    built_t *b = *state;
    insitu_value r;
    insitu_value parts[2] = {given(b, F32, SIZES(1), FLOATS(1)), given(b, F32, SIZES(2), FLOATS(2, 3))};
    ADD(concat, 2, parts, 0);
    expect(b, r, F32, SIZES(3), FLOATS(1, 2, 3));
    insitu_number one = N(1), none = N(0);
    ADD(pad, "constant", given(b, F32, SIZES(2), FLOATS(2, 3)), 1, &one, &none, N(9));
    expect(b, r, F32, SIZES(3), FLOATS(9, 2, 3));
    ADD(pad, "reflect", given(b, F32, SIZES(2), FLOATS(2, 3)), 1, &one, &none, N(0));
    expect(b, r, F32, SIZES(3), FLOATS(3, 2, 3));
    ADD(flip, given(b, F32, SIZES(2), FLOATS(2, 3)), DIMS(0));
    expect(b, r, F32, SIZES(2), FLOATS(3, 2));
    ADD(triangle, "lower", given(b, F32, SIZES(2, 2), FLOATS(1, 2, 3, 4)), 0);
    expect(b, r, F32, SIZES(2, 2), FLOATS(1, 0, 3, 4));
    insitu_value x = given(b, F32, SIZES(3), FLOATS(5, 6, 7)), at = given(b, I64, SIZES(2), INTS(-1, 0));
    int32_t first = 0;
    ADD(index, x, 1, &first, &at, true);
    expect(b, r, F32, SIZES(2), FLOATS(7, 5));
    x = given(b, F32, SIZES(3), FLOATS(5, 6, 7)), at = given(b, I64, SIZES(2), INTS(2, 0));
    ADD(gather, x, at, 0);
    expect(b, r, F32, SIZES(2), FLOATS(7, 5));

    x = given(b, F32, SIZES(3), FLOATS(5, 6, 7)), at = given(b, I64, SIZES(2), INTS(2, 0));
    insitu_value mixed[2] = {x, at}, half = given(b, INSITU_DTYPE_I16, SIZES(1), (int16_t[]){0});
    BAD(concat, INSITU_ARG, "concat needs parts", 2, NULL, 0);
    BAD(concat, INSITU_ARG, "concat(): 0 operands where at least 1", 0, NULL, 0);
    BAD(concat, INSITU_ARG, "concat: -1 parts", -1, mixed, 0);
    BAD(concat, INSITU_ARG, "must have one dtype", 2, mixed, 0);
    BAD(pad, INSITU_ARG, "before and after must have 1 items", "constant", x, 0, NULL, NULL, N(0));
    BAD(pad, INSITU_SHAPE, "before: -1 is less than 0", "constant", x, 1, (insitu_number[]){N(-1)}, &none, N(0));
    BAD(pad, INSITU_SHAPE, "before: 3 is more than 2", "reflect", x, 1, (insitu_number[]){N(3)}, &none, N(0));
    BAD(pad, INSITU_ARG, "op lower is no way of padding", "lower", x, 1, &one, &none, N(0));
    BAD(flip, INSITU_ARG, "dims must be distinct dimensions", x, DIMS(1));
    BAD(triangle, INSITU_SHAPE, "rank 2 or more was expected", "upper", x, 0);
    BAD(triangle, INSITU_ARG, "op must be lower or upper", "max", x, 0);
    BAD(index, INSITU_ARG, "operand 1 must be of i64 or i32", x, 1, &first, &half, false);
    BAD(index, INSITU_ARG, "1 operands where at least 2 were expected", x, 0, NULL, NULL, false);
    BAD(gather, INSITU_ARG, "dim is 1, outside [0, 0]", x, at, 1);
}

static void updates(void **state) {
    built_t *b = *state;
    insitu_value r;
    int32_t first = 0;
#define X4 given(b, F32, SIZES(4), FLOATS(1, 2, 3, 4))
    insitu_value x = X4, src = given(b, F32, SIZES(2), FLOATS(8, 9)), at;
    ADD(slice_update, x, src, 0, N(1), N(4), 2);
    expect(b, r, F32, SIZES(4), FLOATS(1, 8, 3, 9));
    x = given(b, F32, SIZES(2, 2), FLOATS(1, 2, 3, 4)), src = given(b, F32, SIZES(2), FLOATS(8, 9));
    ADD(diagonal_update, x, src, 0, 0, 1);
    expect(b, r, F32, SIZES(2, 2), FLOATS(8, 2, 3, 9));
    insitu_number stride = N(3);
    x = X4, src = given(b, F32, SIZES(2), FLOATS(8, 9));
    ADD(as_strided_update, x, src, NUMBERS(N(2)), &stride, N(0));
    expect(b, r, F32, SIZES(4), FLOATS(8, 2, 3, 9));
    x = X4, src = given(b, F32, SIZES(2), FLOATS(8, 9)), at = given(b, I64, SIZES(2), INTS(2, 0));
    ADD(index_update, x, src, 1, &first, &at, false, false);
    expect(b, r, F32, SIZES(4), FLOATS(9, 2, 8, 4));
    x = X4, src = given(b, F32, SIZES(2), FLOATS(8, 9)), at = given(b, I64, SIZES(2), INTS(2, 2));
    ADD(index_update, x, src, 1, &first, &at, true, false);
    expect(b, r, F32, SIZES(4), FLOATS(1, 2, 20, 4));
    x = X4, src = given(b, F32, SIZES(2), FLOATS(8, 9)), at = given(b, I64, SIZES(2), INTS(2, 0));
    ADD(scatter_update, "mul", x, src, at, 0);
    expect(b, r, F32, SIZES(4), FLOATS(9, 2, 24, 4));
    x = X4, src = given(b, F32, SIZES(1), FLOATS(8));
    ADD(shift_update, x, src, 0, false);
    expect(b, r, F32, SIZES(4), FLOATS(2, 3, 4, 8));
    x = X4, src = given(b, F32, SIZES(1), FLOATS(8));
    ADD(shift_update, x, src, 0, true);
    expect(b, r, F32, SIZES(4), FLOATS(8, 1, 2, 3));
    x = X4, src = given(b, F32, SIZES(4), FLOATS(5, 6, 7, 8)), at = given(b, BOOL, SIZES(4), BOOLS(0, 1, 0, 1));
    ADD(mask_update, x, src, at);
    expect(b, r, F32, SIZES(4), FLOATS(1, 6, 3, 8));

    x = X4, src = given(b, F32, SIZES(2), FLOATS(8, 9)), at = given(b, I64, SIZES(3), INTS(2, 0, 1));
    insitu_value pairs = given(b, F32, SIZES(2, 2), FLOATS(1, 2, 3, 4));
    BAD(slice_update, INSITU_SHAPE, "size of the source: 2 is not equal to 3", x, src, 0, N(0), N(3), 1);
    BAD(slice_update, INSITU_ARG, "must have one dtype", x, at, 0, N(0), N(3), 1);
    BAD(diagonal_update, INSITU_SHAPE, "size of the source: 2 is not equal to 1", pairs, src, 1, 0, 1);
    BAD(as_strided_update, INSITU_SHAPE, "extent: 5 is more than 4", x, src, NUMBERS(N(2)), &stride, N(1));
    BAD(index_update, INSITU_SHAPE, "size of the source: 2 is not equal to 3", x, src, 1, &first, &at, false, false);
    BAD(scatter_update, INSITU_SHAPE, "size of the index: 3 is more than 2", "assign", x, src, at, 0);
    BAD(scatter_update, INSITU_ARG, "no op 'sub'", "sub", x, src, at, 0);
    BAD(shift_update, INSITU_SHAPE, "operand 1 must have rank 1", x, pairs, 0, false);
    BAD(mask_update, INSITU_ARG, "the mask must be bool", x, x, x);
}

/* A number read from a tensor is used as a position and as a size. */
static void items(void **state) {
    built_t *b = *state;
    insitu_value r, x = given(b, F32, SIZES(4), FLOATS(1, 2, 3, 4)), at = given(b, I64, SIZES(1), INTS(2));
    insitu_number n, after;
    must(b, insitu_network_add_item(b->network, at, "n", 0, 3, &n, &b->diag));
    must(b, insitu_network_add_expression(b->network, "n + 1", &after, &b->diag));
    ADD(slice, x, 0, n, after, 1);
    ADD(copy, r);
    expect(b, r, F32, SIZES(1), FLOATS(3));

    x = given(b, F32, SIZES(4), FLOATS(1, 2, 3, 4)), at = given(b, I64, SIZES(1), INTS(2));
    insitu_value pair = given(b, INSITU_DTYPE(INSITU_CODE_COMPLEX, 64), SIZES(1), FLOATS(1, 2));
    REFUSED(insitu_network_add_item(b->network, x, "n", 0, 3, &n, &b->diag), INSITU_SHAPE,
            "'x0' must have one element");
    REFUSED(insitu_network_add_item(b->network, pair, "n", 0, 3, &n, &b->diag), INSITU_ARG, "a complex element");
    REFUSED(insitu_network_add_item(b->network, at, "true", 0, 3, &n, &b->diag), INSITU_ARG,
            "'true' is no name for a symbol");
    REFUSED(insitu_network_add_item(b->network, at, "n", 4, 3, &n, &b->diag), INSITU_ARG, "empty range [4, 3]");
    must(b, insitu_network_add_item(b->network, at, "n", 0, 3, &n, &b->diag));
    REFUSED(insitu_network_add_item(b->network, at, "n", 0, 3, &n, &b->diag), INSITU_ARG, "a symbol 'n' already");
}

static void part_of(built_t *b, insitu_context *context, int64_t at, int64_t count) {
    float x[12];
    int64_t sizes[] = {12, 1}, numbers[] = {at, count};
    insitu_tensor part, tensor = {.data = x, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 1, .dtype = F32, .shape = sizes};
    for (int i = 0; i < 12; i++) x[i] = (float)i;
    must(b, insitu_context_set_input(context, 0, &tensor, &b->diag));
    tensor.dtype = I64;
    tensor.shape = sizes + 1;
    for (int32_t i = 0; i < 2; i++) {
        tensor.data = &numbers[i];
        must(b, insitu_context_set_input(context, i + 1, &tensor, &b->diag));
    }
    must(b, insitu_context_run(context, NULL, NULL, &b->diag));
    must(b, insitu_context_output(context, 0, &part, &b->diag));
    assert_int_equal(part.shape[0], count);
    for (int64_t i = 0; i < count; i++) assert_true(((float *)part.data)[i] == 2 * (float)(at + i));
}

/* A position that was read before a size, which cuts the plan, is used behind the cut: sizes that were seen before come with
 * the positions of this call. */
static void positions_before_sizes(void **state) {
    static const char text[] = "network\n"
                               "symbol at: int in 0..7\n"
                               "symbol count: int in 0..4\n"
                               "input \"x\" = %x: f32[12]\n"
                               "input \"first\" = %first: i64[1]\n"
                               "input \"size\" = %size: i64[1]\n"
                               "item(%first) {symbol=at}\n"
                               "item(%size) {symbol=count}\n"
                               "%part: f32[count] = slice(%x) {dim=0, end=at + count, start=at, step=1}\n"
                               "%twice: f32[count] = binary(%part, %part) {op=add}\n"
                               "output \"twice\" = %twice\n";
    built_t *b = *state;
    insitu_network *network;
    insitu_engine *engine;
    insitu_context *context;
    must(b, insitu_network_parse(text, &network, &b->diag));
    must(b, insitu_network_compile(network, NULL, &engine, &b->diag));
    must(b, insitu_context_create(engine, &context, &b->diag));
    part_of(b, context, 1, 2);
    part_of(b, context, 5, 2);
    part_of(b, context, 5, 3);
    part_of(b, context, 7, 2);
    part_of(b, context, 0, 0);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
    insitu_network_destroy(network);
}

/* Every row of layers.def has its function in the header. */
static void every_layer_has_a_function(void **state) {
    (void)state;
    static const char *const names[] = {
#define LAYER(id, name, min_operands, max_operands, results, traits, ...) ((traits) & TRAIT_REGIONS) ? NULL : name,
#include "core/layers.def"
#undef LAYER
    };
    file_map_t *map;
    assert_int_equal(file_map_open(TEST_SOURCE_DIR "/../include/insitu/layers.h", &map, NULL), INSITU_OK);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!names[i]) continue; /* regions come of text, and of programs */
        char call[64];
        snprintf(call, sizeof(call), " insitu_network_add_%s(", names[i]);
        if (!memmem(map->data, map->size, call, strlen(call))) fail_msg("layers.h has no%s...)", call);
    }
    file_map_release(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(sources),
        CASE(views),
        CASE(elementwise),
        CASE(reductions),
        CASE(products),
        CASE(movement),
        CASE(updates),
        CASE(items),
        CASE(positions_before_sizes),
        cmocka_unit_test(every_layer_has_a_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
