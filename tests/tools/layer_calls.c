#include "layer_calls.h"

#include <string.h>

#define CALL(name, ...)                                                                                                \
    static insitu_status call_##name(insitu_network *n, const layer_arguments *g, layer_results *r, insitu_diag *d) {  \
        return insitu_network_add_##name(n, __VA_ARGS__, d);                                                           \
    }
#define X g->operands[0]
#define Y g->operands[1]
#define Z g->operands[2]
#define OUT &r->values[0]
#define OUTS &r->values[0], &r->values[1]
#define SIZES g->rank, g->first
#define DIMS g->dim_count, g->dims
#define LIST g->value_count, g->values

CALL(fill, g->dtype, SIZES, g->numbers[0], OUT)
CALL(iota, g->dtype, g->numbers[1], g->numbers[0], g->numbers[2], OUT)
CALL(empty, g->dtype, SIZES, OUT)
CALL(reshape, X, SIZES, OUT)
CALL(permute, X, DIMS, OUT)
CALL(slice, X, g->dim, g->numbers[0], g->numbers[1], g->integers[0], OUT)
CALL(expand, X, SIZES, OUT)
CALL(diagonal, X, g->integers[1], g->dim, g->dim2, OUT)
CALL(unfold, X, g->dim, g->integers[1], g->integers[0], OUT)
CALL(as_strided, X, SIZES, g->second, g->numbers[0], OUT)
CALL(bitcast, X, g->dtype, OUT)
CALL(unary, g->op, X, OUT)
CALL(binary, g->op, X, Y, OUT)
CALL(binary_scalar, g->op, X, g->numbers[0], g->flags[0], OUT)
CALL(scaled_sum, X, Y, g->numbers[0], OUT)
CALL(where, X, Y, Z, OUT)
CALL(cast, X, g->dtype, OUT)
CALL(copy, X, OUT)
CALL(reduce, g->op, X, DIMS, g->flags[0], g->real, OUT)
CALL(reduce_index, g->op, X, g->dim, g->flags[0], OUTS)
CALL(scan, g->op, X, g->dim, OUT)
CALL(softmax, X, g->dim, g->flags[0], OUT)
CALL(layer_norm, X, Y, Z, g->count, g->real, OUT)
CALL(rms_norm, X, Y, g->count, g->real, OUT)
CALL(sort, X, g->dim, g->flags[0], OUTS)
CALL(topk, X, g->numbers[1], g->dim, g->flags[0], OUTS)
CALL(matmul, X, Y, Z, OUT)
CALL(conv, X, Y, Z, g->window, OUT)
CALL(pool, g->op, X, g->window, OUT)
CALL(attention, X, Y, Z, g->operands[3], g->real, g->flags[0], OUT)
CALL(concat, LIST, g->dim, OUT)
CALL(pad, g->op, X, SIZES, g->second, g->numbers[0], OUT)
CALL(flip, X, DIMS, OUT)
CALL(triangle, g->op, X, g->integers[1], OUT)
CALL(gather, X, Y, g->dim, OUT)
CALL(slice_update, X, Y, g->dim, g->numbers[0], g->numbers[1], g->integers[0], OUT)
CALL(diagonal_update, X, Y, g->integers[1], g->dim, g->dim2, OUT)
CALL(as_strided_update, X, Y, SIZES, g->second, g->numbers[0], OUT)
CALL(scatter_update, g->op, X, Y, Z, g->dim, OUT)
CALL(shift_update, X, Y, g->dim, g->flags[0], OUT)
CALL(mask_update, X, Y, Z, OUT)
CALL(kv_cache_update, X, Y, Z, g->layout, OUT)

/* As many index tensors as dims: these functions have one count for both. */
CALL(index, X, DIMS, g->values, g->flags[0], OUT)
CALL(index_update, X, Y, DIMS, g->values, g->flags[1], g->flags[0], OUT)

static insitu_status call_item(insitu_network *n, const layer_arguments *g, layer_results *r, insitu_diag *d) {
    insitu_status status = insitu_network_add_item(n, X, g->name, g->min, g->max, &r->number, d);
    r->has_number = status == INSITU_OK;
    return status;
}

/* X: f32[4,4], L: f32[16], R: f32[4], I: i64[4,4], J: i64[4], B: bool[4,4], Q: f32[1,2,4,4], N: f32[1,2,8],
 * W: f32[2,2,3], C: f32[2], P: i64[1]. J: the index tensors of index and index_update */
const letter_type LETTER_TYPES[] = {
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

#define ROW(name, operands, op, uses) {#name, call_##name, operands, op, uses}
enum { SLICED = USES_DIM | USES_START | USES_END | USES_STEP, STRIDED = USES_SIZES | USES_AFTER | USES_START };
const layer_call LAYER_CALLS[] = {
    ROW(fill, "", NULL, USES_DTYPE | USES_SIZES | USES_START),
    ROW(iota, "", NULL, USES_DTYPE | USES_START | USES_END | USES_STEP),
    ROW(empty, "", NULL, USES_DTYPE | USES_SIZES),
    ROW(reshape, "X", NULL, USES_SIZES),
    ROW(permute, "X", NULL, USES_DIMS),
    ROW(slice, "X", NULL, SLICED),
    ROW(expand, "X", NULL, USES_SIZES),
    ROW(diagonal, "X", NULL, USES_DIM | USES_DIM2),
    ROW(unfold, "X", NULL, USES_DIM | USES_STEP),
    ROW(as_strided, "L", NULL, STRIDED),
    ROW(bitcast, "X", NULL, USES_DTYPE),
    ROW(unary, "X", "exp", USES_OP),
    ROW(binary, "XX", "add", USES_OP),
    ROW(binary_scalar, "X", "add", USES_OP | USES_START),
    ROW(scaled_sum, "XX", NULL, USES_START),
    ROW(where, "BXX", NULL, 0),
    ROW(cast, "X", NULL, USES_DTYPE),
    ROW(copy, "X", NULL, 0),
    ROW(reduce, "X", "sum", USES_OP | USES_DIMS),
    ROW(reduce_index, "X", "amax", USES_OP | USES_DIM),
    ROW(scan, "X", "cumsum", USES_OP | USES_DIM),
    ROW(softmax, "X", NULL, USES_DIM),
    ROW(layer_norm, "Xrr", NULL, USES_COUNT),
    ROW(rms_norm, "Xr", NULL, USES_COUNT),
    ROW(sort, "X", NULL, USES_DIM),
    ROW(topk, "X", NULL, USES_DIM | USES_END),
    ROW(matmul, "XXr", NULL, 0),
    ROW(conv, "NWc", NULL, USES_WINDOW),
    ROW(pool, "N", "max", USES_OP | USES_WINDOW),
    ROW(attention, "QQQq", NULL, 0),
    ROW(concat, "", NULL, USES_LIST | USES_DIM),
    ROW(pad, "X", "constant", USES_OP | USES_SIZES | USES_AFTER | USES_START),
    ROW(flip, "X", NULL, USES_DIMS),
    ROW(triangle, "X", "lower", USES_OP),
    ROW(index, "X", NULL, USES_DIMS | USES_LIST),
    ROW(gather, "XI", NULL, USES_DIM),
    ROW(slice_update, "XX", NULL, SLICED),
    ROW(diagonal_update, "XR", NULL, USES_DIM | USES_DIM2),
    ROW(as_strided_update, "LX", NULL, STRIDED),
    ROW(index_update, "XR", NULL, USES_DIMS | USES_LIST),
    ROW(scatter_update, "XXI", "add", USES_OP | USES_DIM),
    ROW(shift_update, "XX", NULL, USES_DIM),
    ROW(mask_update, "XXB", NULL, 0),
    ROW(kv_cache_update, "QQP", NULL, 0),
    ROW(item, "P", NULL, USES_NAME),
};
const size_t LAYER_CALL_COUNT = sizeof(LAYER_CALLS) / sizeof(LAYER_CALLS[0]);

static insitu_value input_of(char letter, const insitu_value *inputs) {
    char upper = letter >= 'a' ? (char)(letter - 'a' + 'A') : letter;
    for (size_t i = 0; i < LETTER_TYPE_COUNT; i++)
        if (LETTER_TYPES[i].letter == upper) return inputs[i];
    return insitu_no_value();
}

layer_arguments layer_call_good(const layer_call *row, const insitu_value *inputs) {
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
    layer_arguments good = {.op = row->op,
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
