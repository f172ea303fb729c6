/* Making nodes: one with a tensor result and named arguments, the arguments that passes often need, and the cast and
 * broadcast that make a value fit another tensor. */
#include "passes/passes_int.h"

graph_arg_t arg_of_int(graph_t *graph, int64_t number) { return arg_sym(sym_int(graph->symbols, number)); }

graph_arg_t arg_of_dtype(dtype_t type) { return (graph_arg_t){.kind = ARG_DTYPE, .dtype = type}; }

insitu_status arg_of_sizes(graph_t *graph, const shape_t *shape, graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_LIST, .list.count = shape->rank};
    TRY(arena_array(graph_arena(graph), shape->rank, sizeof(graph_arg_t), &out_arg->list.items));
    for (uint32_t i = 0; i < shape->rank; i++) out_arg->list.items[i] = arg_sym(shape->sizes[i]);
    return INSITU_OK;
}

insitu_status arg_of_numbers(graph_t *graph, const int64_t *numbers, uint32_t count, graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_LIST, .list.count = count};
    TRY(arena_array(graph_arena(graph), count, sizeof(graph_arg_t), &out_arg->list.items));
    for (uint32_t i = 0; i < count; i++) out_arg->list.items[i] = arg_of_int(graph, numbers[i]);
    return INSITU_OK;
}

insitu_status emit_node(graph_t *graph, const emission_t *emission, insitu_diag *diag, value_id_t *value) {
    if (value->index == NONE) {
        char stem[64];
        target_stem(emission->target, stem, sizeof(stem));
        TRY(graph_add_tensor(graph, stem, emission->type, value));
    }
    node_id_t node;
    TRY(graph_add_node(graph, emission->target, value, 1, emission->source, &node));
    for (uint32_t i = 0; i < emission->arg_count; i++)
        if (!graph_set_arg(graph, node, emission->args[i].name, emission->args[i].arg))
            FAIL(diag, INSITU_INTERNAL, "%s has no argument '%s'", emission->target, emission->args[i].name);
    TRY(fill_node(graph, node, diag));
    return graph_append(graph, node);
}

/* The type of a tensor broadcast to sizes: repeated dimensions have stride 0. */
static tensor_type_t broadcast_type(graph_t *graph, const tensor_type_t *from, const shape_t *sizes) {
    tensor_type_t type = {.dtype = from->dtype, .shape = *sizes, .offset = from->offset};
    uint32_t added = sizes->rank - from->shape.rank;
    for (uint32_t i = 0; i < sizes->rank; i++) {
        bool kept = i >= added && sym_same(from->shape.sizes[i - added], sizes->sizes[i]);
        type.strides[i] = kept ? from->strides[i - added] : sym_int(graph->symbols, 0);
    }
    return type;
}

static insitu_status check_broadcast(graph_t *graph, const conform_request_t *request, const shape_t *from,
                                     insitu_diag *diag) {
    shape_t broadcast;
    insitu_status status = shape_broadcast(graph->symbols, from, request->sizes, &broadcast, NULL);
    if (status == INSITU_OK && shape_equal(graph->symbols, &broadcast, request->sizes) != TRUTH_FALSE) return INSITU_OK;
    if (status == INSITU_NOMEM) return status;
    text_t sizes;
    text_init(&sizes);
    shape_print(graph->symbols, from, &sizes);
    text_printf(&sizes, " does not broadcast to the sizes ");
    shape_print(graph->symbols, request->sizes, &sizes);
    status = diag_set(diag, INSITU_SHAPE, "'%.200s'%s%.200s of sizes %.400s of the tensor that it is written to",
                      graph_value_of(graph, request->value)->name, request->source[0] ? " at " : "", request->source,
                      sizes.data ? sizes.data : "?");
    text_release(&sizes);
    return status;
}

insitu_status emit_conformed(graph_t *graph, const conform_request_t *request, insitu_diag *diag,
                             value_id_t *out_value) {
    tensor_type_t type = request->from;
    const shape_t *sizes = request->sizes;
    *out_value = request->value;
    if (type.dtype != request->dtype) {
        type.dtype = request->dtype;
        type.offset = sym_int(graph->symbols, 0);
        shape_dense_strides(graph->symbols, &type.shape, type.strides);
        emission_t cast = {.target = "aten._to_copy.default",
                           .type = &type,
                           .source = request->source,
                           .arg_count = 2,
                           .args = {{"self", arg_value(*out_value)}, {"dtype", arg_of_dtype(request->dtype)}}};
        *out_value = NO_VALUE;
        TRY(emit_node(graph, &cast, diag, out_value));
    }
    if (shape_same(&type.shape, sizes) || shape_equal(graph->symbols, &type.shape, sizes) == TRUTH_TRUE)
        return INSITU_OK;
    TRY(check_broadcast(graph, request, &type.shape, diag));
    type = broadcast_type(graph, &type, sizes);
    emission_t expand = {.target = "aten.expand.default",
                         .type = &type,
                         .source = request->source,
                         .arg_count = 2,
                         .args = {{"self", arg_value(*out_value)}, {"size", {0}}}};
    TRY(arg_of_sizes(graph, sizes, &expand.args[1].arg));
    *out_value = NO_VALUE;
    return emit_node(graph, &expand, diag, out_value);
}
