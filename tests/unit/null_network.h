/* The functions of network.h and layers.h, for test_null_arguments.c: each called without what it needs. */
#ifndef NULL_NETWORK_H
#define NULL_NETWORK_H

#include "null_walk.h"

#define NEEDS(name, ...) refused(w, "insitu_network_add_" #name, insitu_network_add_##name(__VA_ARGS__))

static void walk_views(walk *w) {
    insitu_value v = {1};
    insitu_number n = insitu_int(1);
    int32_t dim = 0;
    const insitu_dtype f32 = INSITU_DTYPE_F32;
    NEEDS(fill, NULL, f32, 1, &n, n, &v, &w->diag);
    NEEDS(fill, w->network, f32, 1, &n, n, NULL, &w->diag);
    NEEDS(iota, NULL, f32, n, n, n, &v, &w->diag);
    NEEDS(iota, w->network, f32, n, n, n, NULL, &w->diag);
    NEEDS(empty, NULL, f32, 1, &n, &v, &w->diag);
    NEEDS(empty, w->network, f32, 1, &n, NULL, &w->diag);
    NEEDS(reshape, NULL, v, 1, &n, &v, &w->diag);
    NEEDS(reshape, w->network, v, 1, &n, NULL, &w->diag);
    NEEDS(permute, NULL, v, 1, &dim, &v, &w->diag);
    NEEDS(permute, w->network, v, 1, &dim, NULL, &w->diag);
    NEEDS(slice, NULL, v, 1, n, n, 1, &v, &w->diag);
    NEEDS(slice, w->network, v, 1, n, n, 1, NULL, &w->diag);
    NEEDS(expand, NULL, v, 1, &n, &v, &w->diag);
    NEEDS(expand, w->network, v, 1, &n, NULL, &w->diag);
    NEEDS(diagonal, NULL, v, 1, 1, 1, &v, &w->diag);
    NEEDS(diagonal, w->network, v, 1, 1, 1, NULL, &w->diag);
    NEEDS(unfold, NULL, v, 1, 1, 1, &v, &w->diag);
    NEEDS(unfold, w->network, v, 1, 1, 1, NULL, &w->diag);
    NEEDS(as_strided, NULL, v, 1, &n, &n, n, &v, &w->diag);
    NEEDS(as_strided, w->network, v, 1, &n, &n, n, NULL, &w->diag);
    NEEDS(bitcast, NULL, v, f32, &v, &w->diag);
    NEEDS(bitcast, w->network, v, f32, NULL, &w->diag);
}

static void walk_compute(walk *w) {
    insitu_value v = {1}, u = {1};
    insitu_number n = insitu_int(1);
    int32_t dim = 0;
    const insitu_dtype f32 = INSITU_DTYPE_F32;
    NEEDS(unary, NULL, "add", v, &v, &w->diag);
    NEEDS(unary, w->network, "add", v, NULL, &w->diag);
    NEEDS(binary, NULL, "add", v, v, &v, &w->diag);
    NEEDS(binary, w->network, "add", v, v, NULL, &w->diag);
    NEEDS(binary_scalar, NULL, "add", v, n, false, &v, &w->diag);
    NEEDS(binary_scalar, w->network, "add", v, n, false, NULL, &w->diag);
    NEEDS(scaled_sum, NULL, v, v, n, &v, &w->diag);
    NEEDS(scaled_sum, w->network, v, v, n, NULL, &w->diag);
    NEEDS(where, NULL, v, v, v, &v, &w->diag);
    NEEDS(where, w->network, v, v, v, NULL, &w->diag);
    NEEDS(cast, NULL, v, f32, &v, &w->diag);
    NEEDS(cast, w->network, v, f32, NULL, &w->diag);
    NEEDS(copy, NULL, v, &v, &w->diag);
    NEEDS(copy, w->network, v, NULL, &w->diag);
    NEEDS(reduce, NULL, "add", v, 1, &dim, false, 0, &v, &w->diag);
    NEEDS(reduce, w->network, "add", v, 1, &dim, false, 0, NULL, &w->diag);
    NEEDS(reduce_index, NULL, "add", v, 1, false, &v, &u, &w->diag);
    NEEDS(reduce_index, w->network, "add", v, 1, false, NULL, NULL, &w->diag);
    NEEDS(scan, NULL, "add", v, 1, &v, &w->diag);
    NEEDS(scan, w->network, "add", v, 1, NULL, &w->diag);
    NEEDS(softmax, NULL, v, 1, false, &v, &w->diag);
    NEEDS(softmax, w->network, v, 1, false, NULL, &w->diag);
    NEEDS(layer_norm, NULL, v, v, v, 1, 0, &v, &w->diag);
    NEEDS(layer_norm, w->network, v, v, v, 1, 0, NULL, &w->diag);
    NEEDS(rms_norm, NULL, v, v, 1, 0, &v, &w->diag);
    NEEDS(rms_norm, w->network, v, v, 1, 0, NULL, &w->diag);
    NEEDS(sort, NULL, v, 1, false, &v, &u, &w->diag);
    NEEDS(sort, w->network, v, 1, false, NULL, NULL, &w->diag);
    NEEDS(topk, NULL, v, n, 1, false, &v, &u, &w->diag);
    NEEDS(topk, w->network, v, n, 1, false, NULL, NULL, &w->diag);
}

static void walk_movement(walk *w) {
    insitu_value v = {1};
    insitu_number n = insitu_int(1);
    int32_t dim = 0;
    NEEDS(matmul, NULL, v, v, v, &v, &w->diag);
    NEEDS(matmul, w->network, v, v, v, NULL, &w->diag);
    NEEDS(conv, NULL, v, v, v, NULL, &v, &w->diag);
    NEEDS(conv, w->network, v, v, v, NULL, NULL, &w->diag);
    NEEDS(pool, NULL, "add", v, NULL, &v, &w->diag);
    NEEDS(pool, w->network, "add", v, NULL, NULL, &w->diag);
    NEEDS(attention, NULL, v, v, v, v, 0, false, &v, &w->diag);
    NEEDS(attention, w->network, v, v, v, v, 0, false, NULL, &w->diag);
    NEEDS(concat, NULL, 1, &v, 1, &v, &w->diag);
    NEEDS(concat, w->network, 1, &v, 1, NULL, &w->diag);
    NEEDS(pad, NULL, "add", v, 1, &n, &n, n, &v, &w->diag);
    NEEDS(pad, w->network, "add", v, 1, &n, &n, n, NULL, &w->diag);
    NEEDS(flip, NULL, v, 1, &dim, &v, &w->diag);
    NEEDS(flip, w->network, v, 1, &dim, NULL, &w->diag);
    NEEDS(triangle, NULL, "add", v, 1, &v, &w->diag);
    NEEDS(triangle, w->network, "add", v, 1, NULL, &w->diag);
    NEEDS(index, NULL, v, 1, &dim, &v, false, &v, &w->diag);
    NEEDS(index, w->network, v, 1, &dim, &v, false, NULL, &w->diag);
    NEEDS(gather, NULL, v, v, 1, &v, &w->diag);
    NEEDS(gather, w->network, v, v, 1, NULL, &w->diag);
    NEEDS(slice_update, NULL, v, v, 1, n, n, 1, &v, &w->diag);
    NEEDS(slice_update, w->network, v, v, 1, n, n, 1, NULL, &w->diag);
    NEEDS(diagonal_update, NULL, v, v, 1, 1, 1, &v, &w->diag);
    NEEDS(diagonal_update, w->network, v, v, 1, 1, 1, NULL, &w->diag);
    NEEDS(as_strided_update, NULL, v, v, 1, &n, &n, n, &v, &w->diag);
    NEEDS(as_strided_update, w->network, v, v, 1, &n, &n, n, NULL, &w->diag);
    NEEDS(index_update, NULL, v, v, 1, &dim, &v, false, false, &v, &w->diag);
    NEEDS(index_update, w->network, v, v, 1, &dim, &v, false, false, NULL, &w->diag);
    NEEDS(scatter_update, NULL, "add", v, v, v, 1, &v, &w->diag);
    NEEDS(scatter_update, w->network, "add", v, v, v, 1, NULL, &w->diag);
    NEEDS(shift_update, NULL, v, v, 1, false, &v, &w->diag);
    NEEDS(shift_update, w->network, v, v, 1, false, NULL, &w->diag);
    NEEDS(mask_update, NULL, v, v, v, &v, &w->diag);
    NEEDS(mask_update, w->network, v, v, v, NULL, &w->diag);
    NEEDS(kv_cache_update, NULL, v, v, v, INSITU_CACHE_BHSD, &v, &w->diag);
    NEEDS(kv_cache_update, w->network, v, v, v, INSITU_CACHE_BHSD, NULL, &w->diag);
    NEEDS(item, NULL, v, "x", 1, 1, &n, &w->diag);
    NEEDS(item, w->network, v, "x", 1, 1, NULL, &w->diag);
}

static void walk_network_inputs(walk *w) {
    insitu_network *network = w->network;
    insitu_value v = {1};
    insitu_number n = insitu_int(1);
    int64_t size = 1;
    const insitu_dtype f32 = INSITU_DTYPE_F32;
    float bytes[1] = {0};
    refused(w, "insitu_network_create", insitu_network_create(NULL, &w->diag));
    refused(w, "insitu_network_import", insitu_network_import(NULL, NULL, &network, &w->diag));
    assert_null(network);
    refused(w, "insitu_network_import", insitu_network_import(w->program, NULL, NULL, &w->diag));
    insitu_network_destroy(NULL);
    saw(w, "insitu_network_destroy");
    NEEDS(symbol, NULL, "s", 0, 1, &n, &w->diag);
    NEEDS(symbol, w->network, NULL, 0, 1, &n, &w->diag);
    NEEDS(symbol, w->network, "s", 0, 1, NULL, &w->diag);
    NEEDS(expression, NULL, "1", &n, &w->diag);
    NEEDS(expression, w->network, NULL, &n, &w->diag);
    NEEDS(expression, w->network, "1", NULL, &w->diag);
    NEEDS(assert, NULL, n, "", &w->diag);
    NEEDS(assert, w->network, n, NULL, &w->diag);
    NEEDS(input, NULL, "x", f32, 1, &n, &v, &w->diag);
    NEEDS(input, w->network, NULL, f32, 1, &n, &v, &w->diag);
    NEEDS(input, w->network, "x", f32, 1, &n, NULL, &w->diag);
    NEEDS(number, NULL, "x", INSITU_DTYPE_I64, 0, 1, &n, &w->diag);
    NEEDS(number, w->network, NULL, INSITU_DTYPE_I64, 0, 1, &n, &w->diag);
    NEEDS(number, w->network, "x", INSITU_DTYPE_I64, 0, 1, NULL, &w->diag);
    NEEDS(state, NULL, "x", f32, 1, &n, NULL, 0, &v, &w->diag);
    NEEDS(state, w->network, NULL, f32, 1, &n, NULL, 0, &v, &w->diag);
    NEEDS(state, w->network, "x", f32, 1, &n, NULL, 4, &v, &w->diag);
    NEEDS(state, w->network, "x", f32, 1, &n, NULL, 0, NULL, &w->diag);
    NEEDS(constant, NULL, "x", f32, 1, &size, bytes, 4, &v, &w->diag);
    NEEDS(constant, w->network, NULL, f32, 1, &size, bytes, 4, &v, &w->diag);
    NEEDS(constant, w->network, "x", f32, 1, &size, NULL, 4, &v, &w->diag);
    NEEDS(constant, w->network, "x", f32, 1, &size, bytes, 4, NULL, &w->diag);
}

static void walk_network(walk *w) {
    insitu_network *network = w->network;
    insitu_engine *engine = w->engine;
    insitu_value v = {1};
    insitu_number n = insitu_int(1);
    insitu_network_value info = {.struct_size = sizeof(info)};
    insitu_network_layer layer = {.struct_size = sizeof(layer)};
    insitu_network_record record = {.struct_size = sizeof(record)};
    char *text = (char *)w;
    float bytes[1] = {0};
    refused(w, "insitu_network_assign", insitu_network_assign(NULL, v, v, &w->diag));
    refused(w, "insitu_network_mark_output", insitu_network_mark_output(NULL, v, "x", &w->diag));
    refused(w, "insitu_network_mark_output", insitu_network_mark_output(w->network, v, NULL, &w->diag));
    refused(w, "insitu_network_mark_number", insitu_network_mark_number(NULL, n, "x", &w->diag));
    refused(w, "insitu_network_mark_number", insitu_network_mark_number(w->network, n, NULL, &w->diag));
    refused(w, "insitu_network_set_name", insitu_network_set_name(NULL, v, "x", &w->diag));
    refused(w, "insitu_network_set_name", insitu_network_set_name(w->network, v, NULL, &w->diag));
    refused(w, "insitu_network_describe", insitu_network_describe(NULL, v, &info, &w->diag));
    refused(w, "insitu_network_describe", insitu_network_describe(w->network, v, NULL, &w->diag));
    refused(w, "insitu_network_layer_at", insitu_network_layer_at(NULL, 0, &layer, &w->diag));
    refused(w, "insitu_network_layer_at", insitu_network_layer_at(w->network, 0, NULL, &w->diag));
    refused(w, "insitu_network_operand", insitu_network_operand(NULL, 0, 0, &v, &w->diag));
    refused(w, "insitu_network_operand", insitu_network_operand(w->network, 0, 0, NULL, &w->diag));
    refused(w, "insitu_network_record_at", insitu_network_record_at(NULL, 0, &record, &w->diag));
    refused(w, "insitu_network_record_at", insitu_network_record_at(w->network, 0, NULL, &w->diag));
    refused(w, "insitu_network_set_record", insitu_network_set_record(NULL, 0, bytes, 4, &w->diag));
    refused(w, "insitu_network_set_record", insitu_network_set_record(w->network, 0, NULL, 4, &w->diag));
    refused(w, "insitu_network_print", insitu_network_print(NULL, &text, &w->diag));
    assert_null(text);
    refused(w, "insitu_network_print", insitu_network_print(w->network, NULL, &w->diag));
    refused(w, "insitu_network_parse", insitu_network_parse(NULL, &network, &w->diag));
    refused(w, "insitu_network_parse", insitu_network_parse("network", NULL, &w->diag));
    refused(w, "insitu_network_compile", insitu_network_compile(NULL, NULL, &engine, &w->diag));
    assert_null(engine);
    refused(w, "insitu_network_compile", insitu_network_compile(w->network, NULL, NULL, &w->diag));
    answered(w, "insitu_network_find", insitu_network_find(NULL, "x").id == 0);
    answered(w, "insitu_network_find", insitu_network_find(w->network, NULL).id == 0);
    answered(w, "insitu_network_layer_count", insitu_network_layer_count(NULL) == 0);
    answered(w, "insitu_network_record_count", insitu_network_record_count(NULL) == 0);
    walk_network_inputs(w);
    walk_views(w);
    walk_compute(w);
    walk_movement(w);
}

#undef NEEDS

#endif
