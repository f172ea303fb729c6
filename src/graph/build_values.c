/* Values of a saved graph: recorded types and symbolic numbers. */
#include "graph/build_int.h"

/* Most expressions occur many times: each text is read once. */
static insitu_status read_expression(builder_t *builder, sym_pool_t *symbols, const char *expression, sym_t *out) {
    out->id = map_find(&builder->expressions, expression);
    if (out->id != NONE) return INSITU_OK;
    TRY(sym_parse_srepr(symbols, expression, out, builder->diag));
    return map_set(&builder->expressions, &builder->scratch, expression, out->id);
}

insitu_status build_sym(builder_t *builder, sym_pool_t *symbols, const archive_sym_t *saved, sym_t *out) {
    if (!saved->expression) {
        switch (saved->value.kind) {
        case SYM_KIND_INT: *out = sym_int(symbols, saved->value.i); break;
        case SYM_KIND_FLOAT: *out = sym_float(symbols, saved->value.f); break;
        case SYM_KIND_BOOL: *out = sym_bool(symbols, saved->value.i != 0); break;
        }
        return INSITU_OK;
    }
    TRY(read_expression(builder, symbols, saved->expression, out));
    sym_kind_t kind = sym_kind_of(symbols, *out);
    if (kind == saved->value.kind) return INSITU_OK;
    if (kind == SYM_KIND_INT && saved->value.kind == SYM_KIND_FLOAT) {
        *out = sym_make(symbols, SYM_TOFLOAT, out, 1);
        return INSITU_OK;
    }
    static const char *const kinds[] = {"an int", "a float", "a bool"};
    FAIL(builder->diag, INSITU_FORMAT, "the expression %.200s stands for %s and is %s", saved->expression,
         kinds[saved->value.kind], kinds[kind]);
}

insitu_status build_type(builder_t *builder, sym_pool_t *symbols, const char *name, const archive_tensor_meta_t *saved,
                         tensor_type_t *out) {
    *out = (tensor_type_t){.dtype = saved->dtype, .shape.rank = saved->rank};
    if (saved->rank > MAX_RANK)
        FAIL(builder->diag, INSITU_UNSUPPORTED, "the tensor '%s' has rank %u; at most %d is handled", name, saved->rank,
             MAX_RANK);
    for (uint32_t i = 0; i < saved->rank; i++) {
        TRY(build_sym(builder, symbols, &saved->sizes[i], &out->shape.sizes[i]));
        TRY(build_sym(builder, symbols, &saved->strides[i], &out->strides[i]));
    }
    return build_sym(builder, symbols, &saved->offset, &out->offset);
}

insitu_status scope_open(builder_t *builder, const archive_graph_t *saved, graph_t *graph, uint32_t depth,
                         scope_t *out_scope) {
    *out_scope = (scope_t){.builder = builder, .saved = saved, .graph = graph, .depth = depth};
    TRY(arena_array(&builder->scratch, saved->value_count, sizeof(value_id_t), &out_scope->values));
    TRY(arena_array(&builder->scratch, saved->value_count, sizeof(sym_t), &out_scope->numbers));
    for (uint32_t i = 0; i < saved->value_count; i++) {
        out_scope->values[i] = NO_VALUE;
        if (saved->values[i].kind != ARCHIVE_SYM) continue;
        TRY(build_sym(builder, graph->symbols, &saved->values[i].sym, &out_scope->numbers[i]));
    }
    return INSITU_OK;
}

/* The first tensor decides; another kind of device makes it OTHERS. */
static void note_device(builder_t *builder, graph_t *root, const char *type) {
    graph_device_t device = strcmp(type, "cpu") == 0    ? GRAPH_ON_CPU
                            : strcmp(type, "cuda") == 0 ? GRAPH_ON_CUDA
                                                        : GRAPH_ON_OTHERS;
    root->device = builder->has_device && root->device != device ? GRAPH_ON_OTHERS : device;
    builder->has_device = true;
}

insitu_status define_value(scope_t *scope, uint32_t saved, value_id_t *out_value) {
    builder_t *builder = scope->builder;
    const archive_value_t *value = &scope->saved->values[saved];
    *out_value = NO_VALUE;
    switch (value->kind) {
    case ARCHIVE_TENSOR: {
        tensor_type_t type;
        TRY(build_type(builder, scope->graph->symbols, value->name, &value->tensor, &type));
        note_device(builder, scope->graph->root, value->tensor.device.type);
        TRY(graph_add_tensor(scope->graph, value->name, &type, out_value));
        break;
    }
    case ARCHIVE_SYM: TRY(graph_add_sym(scope->graph, value->name, scope->numbers[saved], out_value)); break;
    case ARCHIVE_OBJECT:
        FAIL(builder->diag, INSITU_UNSUPPORTED, "the value '%s' is a custom object of class '%s'", value->name,
             value->class_fqn);
    }
    scope->values[saved] = *out_value;
    return INSITU_OK;
}
