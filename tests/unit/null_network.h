/* The functions of network.h and layers.h, for test_null_arguments.c: each called without what it needs. */
#ifndef NULL_NETWORK_H
#define NULL_NETWORK_H

#include "null_walk.h"

#define NEEDS(name, ...) refused(w, "insitu_network_add_" #name, insitu_network_add_##name(__VA_ARGS__))

static void walk_layers(walk_t *w) {
    insitu_value v = {1}, u = {1};
    insitu_number n = insitu_int(1);
    int32_t dim = 0;
    const insitu_dtype f32 = INSITU_DTYPE_F32;
#include "null_layers.inc"
}

static void walk_network_inputs(walk_t *w) {
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

static void walk_network(walk_t *w) {
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
    walk_layers(w);
}

#undef NEEDS

#endif
