#include "layer_calls.h"

#include <string.h>

#define CALL(name, ...)                                                                                                \
    static insitu_status call_##name(insitu_network *n, const layer_arguments_t *g, layer_results_t *r,                \
                                     insitu_diag *d) {                                                                 \
        return insitu_network_add_##name(n, __VA_ARGS__, d);                                                           \
    }
#include "layer_calls.inc"

static insitu_status call_item(insitu_network *n, const layer_arguments_t *g, layer_results_t *r, insitu_diag *d) {
    insitu_status status = insitu_network_add_item(n, g->operands[0], g->name, g->min, g->max, &r->number, d);
    r->has_number = status == INSITU_OK;
    return status;
}

/* X: f32[4,4], L: f32[16], R: f32[4], I: i64[4,4], J: i64[4], B: bool[4,4], Q: f32[1,2,4,4], N: f32[1,2,8],
 * W: f32[2,2,3], C: f32[2], P: i64[1]. J: the index tensors of index and index_update */
const letter_type_t LETTER_TYPES[] = {
    {'X', {INSITU_CODE_FLOAT, 32, 1}, 2, {4, 4}},
    {'L', {INSITU_CODE_FLOAT, 32, 1}, 1, {16}},
    {'R', {INSITU_CODE_FLOAT, 32, 1}, 1, {4}},
    {'I', {INSITU_CODE_INT, 64, 1}, 2, {4, 4}},
    {'J', {INSITU_CODE_INT, 64, 1}, 1, {4}},
    {'B', {INSITU_CODE_BOOL, 8, 1}, 2, {4, 4}},
    {'Q', {INSITU_CODE_FLOAT, 32, 1}, 4, {1, 2, 4, 4}},
    {'N', {INSITU_CODE_FLOAT, 32, 1}, 3, {1, 2, 8}},
    {'W', {INSITU_CODE_FLOAT, 32, 1}, 3, {2, 2, 3}},
    {'C', {INSITU_CODE_FLOAT, 32, 1}, 1, {2}},
    {'P', {INSITU_CODE_INT, 64, 1}, 1, {1}},
};
const size_t LETTER_TYPE_COUNT = sizeof(LETTER_TYPES) / sizeof(LETTER_TYPES[0]);

#define ROW(name, operands, op) {#name, call_##name, operands, op, USES_OF_##name}
enum { USES_OF_item = USES_NAME };
const layer_call_t LAYER_CALLS[] = {
    ROW(fill, "", NULL),
    ROW(iota, "", NULL),
    ROW(empty, "", NULL),
    ROW(reshape, "X", NULL),
    ROW(permute, "X", NULL),
    ROW(slice, "X", NULL),
    ROW(expand, "X", NULL),
    ROW(diagonal, "X", NULL),
    ROW(unfold, "X", NULL),
    ROW(as_strided, "L", NULL),
    ROW(bitcast, "X", NULL),
    ROW(unary, "X", "exp"),
    ROW(binary, "XX", "add"),
    ROW(binary_scalar, "X", "add"),
    ROW(scaled_sum, "XX", NULL),
    ROW(where, "BXX", NULL),
    ROW(cast, "X", NULL),
    ROW(copy, "X", NULL),
    ROW(reduce, "X", "sum"),
    ROW(reduce_index, "X", "amax"),
    ROW(scan, "X", "cumsum"),
    ROW(softmax, "X", NULL),
    ROW(layer_norm, "Xrr", NULL),
    ROW(rms_norm, "Xr", NULL),
    ROW(sort, "X", NULL),
    ROW(topk, "X", NULL),
    ROW(matmul, "XXr", NULL),
    ROW(conv, "NWc", NULL),
    ROW(pool, "N", "max"),
    ROW(attention, "QQQq", NULL),
    ROW(concat, "", NULL),
    ROW(pad, "X", "constant"),
    ROW(flip, "X", NULL),
    ROW(triangle, "X", "lower"),
    ROW(index, "X", NULL),
    ROW(gather, "XI", NULL),
    ROW(slice_update, "XX", NULL),
    ROW(diagonal_update, "XR", NULL),
    ROW(as_strided_update, "LX", NULL),
    ROW(index_update, "XR", NULL),
    ROW(scatter_update, "XXI", "add"),
    ROW(shift_update, "XX", NULL),
    ROW(mask_update, "XXB", NULL),
    ROW(kv_cache_update, "QQP", NULL),
    ROW(item, "P", NULL),
};
const size_t LAYER_CALL_COUNT = sizeof(LAYER_CALLS) / sizeof(LAYER_CALLS[0]);

static insitu_value input_of(char letter, const insitu_value *inputs) {
    char upper = letter >= 'a' ? (char)(letter - 'a' + 'A') : letter;
    for (size_t i = 0; i < LETTER_TYPE_COUNT; i++)
        if (LETTER_TYPES[i].letter == upper) return inputs[i];
    return insitu_no_value();
}

layer_arguments_t layer_call_good(const layer_call_t *row, const insitu_value *inputs) {
    static insitu_number fours[2], strides[2], zeros[2];
    static const int32_t dims[2] = {0, 1};
    static insitu_value values[2];
    static const int64_t kernel[1] = {2};
    static insitu_window conv_window, pool_window;
    bool is_indexed = strncmp(row->name, "index", 5) == 0, is_pool = strcmp(row->name, "pool") == 0;
    fours[0] = fours[1] = insitu_int(4);
    strides[0] = insitu_int(4), strides[1] = insitu_int(1);
    zeros[0] = zeros[1] = insitu_int(0);
    values[0] = values[1] = input_of(is_indexed ? 'J' : 'X', inputs);
    conv_window.struct_size = pool_window.struct_size = sizeof(insitu_window);
    pool_window.kernel = kernel;
    layer_arguments_t good = {.op = row->op,
                              .name = "u0",
                              .dtype = {INSITU_CODE_FLOAT, 32, 1},
                              .value_count = 2,
                              .values = values,
                              .rank = 2,
                              .first = fours,
                              .second = strides,
                              .dim_count = 2,
                              .dims = dims,
                              .dim2 = 1,
                              .count = 1,
                              .numbers = {insitu_int(0), insitu_int(4), insitu_int(1)},
                              .integers = {1, 0},
                              .max = -1,
                              .window = is_pool ? &pool_window : &conv_window};
    if (strcmp(row->name, "pad") == 0) good.first = good.second = zeros;
    for (size_t i = 0; row->operands[i]; i++) good.operands[i] = input_of(row->operands[i], inputs);
    return good;
}
