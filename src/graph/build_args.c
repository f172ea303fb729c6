/* Arguments: from the form that the writer chose, which follows the Python value, to the one that the schema wants. */
#include "graph/build_int.h"

static insitu_status fault(const scope_t *scope, const arg_place_t *place, insitu_status code, const char *what) {
    insitu_diag *diag = scope->builder->diag;
    if (!place->node) FAIL(diag, code, "an output of the graph %s", what);
    FAIL(diag, code, "node '%s' (%s%s%s): argument '%s' %s", place->node->name, place->node->op,
         *place->node->source ? ", " : "", place->node->source, place->name, what);
}

/* ---- as saved ---- */

static insitu_status reference(const scope_t *scope, const arg_place_t *place, uint32_t saved, graph_arg_t *out_arg) {
    if (saved == NONE) {
        *out_arg = (graph_arg_t){.kind = ARG_NONE};
        return INSITU_OK;
    }
    switch (scope->saved->values[saved].kind) {
    case ARCHIVE_TENSOR: *out_arg = arg_value(scope->values[saved]); return INSITU_OK;
    case ARCHIVE_SYM: *out_arg = arg_sym(scope->numbers[saved]); return INSITU_OK;
    case ARCHIVE_OBJECT: break;
    }
    return fault(scope, place, INSITU_UNSUPPORTED, "is a custom object");
}

static graph_arg_t number(const scope_t *scope, const archive_number_t *saved) {
    sym_pool_t *symbols = scope->graph->symbols;
    if (saved->value != NONE) return arg_sym(scope->numbers[saved->value]);
    switch (saved->literal.kind) {
    case SYM_KIND_FLOAT: return arg_sym(sym_float(symbols, saved->literal.f));
    case SYM_KIND_BOOL: return arg_sym(sym_bool(symbols, saved->literal.i != 0));
    case SYM_KIND_INT: break;
    }
    return arg_sym(sym_int(symbols, saved->literal.i));
}

static insitu_status kept(const scope_t *scope, const char *string, const char **out_string) {
    return arena_string(graph_arena(scope->graph), string, strlen(string), out_string);
}

static insitu_status device(const scope_t *scope, const archive_device_t *saved, graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_DEVICE};
    if (saved->index < 0) return kept(scope, saved->type, &out_arg->string);
    return arena_printf(graph_arena(scope->graph), &out_arg->string, "%s:%d", saved->type, saved->index);
}

static insitu_status list_item(scope_t *scope, const arg_place_t *place, const archive_argument_t *saved,
                               uint32_t index, graph_arg_t *out_arg) {
    switch ((int)saved->kind) {
    case ARGUMENT_TENSORS: return reference(scope, place, saved->values[index], out_arg);
    case ARGUMENT_STRINGS:
        *out_arg = (graph_arg_t){.kind = ARG_STRING};
        return kept(scope, saved->strings[index], &out_arg->string);
    case ARGUMENT_NESTED_TENSORS:
    case ARGUMENT_INT_LISTS:
    case ARGUMENT_FLOAT_LISTS: return build_arg(scope, place, &saved->items[index], out_arg);
    default: *out_arg = number(scope, &saved->numbers[index]); return INSITU_OK;
    }
}

static insitu_status list(scope_t *scope, const arg_place_t *place, const archive_argument_t *saved,
                          graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_LIST, .list.count = saved->count};
    TRY(arena_array(graph_arena(scope->graph), saved->count, sizeof(graph_arg_t), &out_arg->list.items));
    for (uint32_t i = 0; i < saved->count; i++) TRY(list_item(scope, place, saved, i, &out_arg->list.items[i]));
    return INSITU_OK;
}

insitu_status build_arg(scope_t *scope, const arg_place_t *place, const archive_argument_t *saved,
                        graph_arg_t *out_arg) {
    *out_arg = (graph_arg_t){.kind = ARG_NONE};
    switch (saved->kind) {
    case ARGUMENT_NONE: return INSITU_OK;
    case ARGUMENT_TENSOR: return reference(scope, place, saved->value, out_arg);
    case ARGUMENT_INT:
    case ARGUMENT_FLOAT:
    case ARGUMENT_BOOL: *out_arg = number(scope, &saved->number); return INSITU_OK;
    case ARGUMENT_COMPLEX:
        *out_arg = (graph_arg_t){.kind = ARG_COMPLEX, .complex = {saved->complex.real, saved->complex.imag}};
        return INSITU_OK;
    case ARGUMENT_TENSORS:
    case ARGUMENT_NESTED_TENSORS:
    case ARGUMENT_INTS:
    case ARGUMENT_FLOATS:
    case ARGUMENT_BOOLS:
    case ARGUMENT_INT_LISTS:
    case ARGUMENT_FLOAT_LISTS:
    case ARGUMENT_STRINGS: return list(scope, place, saved, out_arg);
    case ARGUMENT_STRING:
    case ARGUMENT_OPERATOR: out_arg->kind = ARG_STRING; return kept(scope, saved->string, &out_arg->string);
    case ARGUMENT_DTYPE: *out_arg = (graph_arg_t){.kind = ARG_DTYPE, .dtype = saved->dtype}; return INSITU_OK;
    case ARGUMENT_MEMORY_FORMAT:
        *out_arg = (graph_arg_t){.kind = ARG_MEMORY_FORMAT, .number = (int32_t)saved->memory_format};
        return INSITU_OK;
    case ARGUMENT_LAYOUT:
        *out_arg = (graph_arg_t){.kind = ARG_LAYOUT, .number = (int32_t)saved->layout};
        return INSITU_OK;
    case ARGUMENT_DEVICE: return device(scope, &saved->device, out_arg);
    case ARGUMENT_GRAPH:
        out_arg->kind = ARG_GRAPH;
        return build_subgraph(scope, saved->string, saved->graph, &out_arg->graph);
    case ARGUMENT_OBJECT: return fault(scope, place, INSITU_UNSUPPORTED, "is a custom object");
    case ARGUMENT_MAP: return fault(scope, place, INSITU_UNSUPPORTED, "is a dictionary");
    }
    return fault(scope, place, INSITU_INTERNAL, "has an unknown kind");
}

/* ---- as the schema wants ---- */

static insitu_status mismatch(const scope_t *scope, const arg_place_t *place, const schema_arg_t *wanted) {
    const char *what;
    TRY(arena_printf(&scope->builder->scratch, &what, "does not fit the schema's %s%s",
                     schema_type_name((schema_type_t)wanted->type), wanted->flags & SCHEMA_LIST ? "[]" : ""));
    return fault(scope, place, INSITU_FORMAT, what);
}

/* Python counts a bool as an int, and passes an int where a float is wanted. */
static void fit_number(sym_pool_t *symbols, schema_type_t type, sym_t *expr) {
    int64_t constant;
    sym_kind_t kind = sym_kind_of(symbols, *expr);
    if (kind == SYM_KIND_FLOAT) return;
    if (type == SCHEMA_BOOL && kind == SYM_KIND_INT) *expr = sym_compare(symbols, SYM_NE, *expr, sym_int(symbols, 0));
    if (type != SCHEMA_INT && type != SCHEMA_FLOAT) return;
    if (kind == SYM_KIND_BOOL)
        *expr = sym_make(symbols, SYM_WHERE, (sym_t[]){*expr, sym_int(symbols, 1), sym_int(symbols, 0)}, 3);
    if (type != SCHEMA_FLOAT) return;
    if (sym_constant(symbols, *expr, &constant))
        *expr = sym_float(symbols, (double)constant);
    else
        *expr = sym_make(symbols, SYM_TOFLOAT, expr, 1);
}

static insitu_status fit_item(const scope_t *scope, const arg_place_t *place, const schema_arg_t *wanted,
                              uint32_t none_flag, graph_arg_t *arg) {
    schema_type_t type = (schema_type_t)wanted->type;
    if (arg->kind == ARG_NONE && wanted->flags & none_flag) return INSITU_OK;
    if (arg->kind == ARG_SYM) fit_number(scope->graph->symbols, type, &arg->sym);
    return arg_fits(scope->graph->symbols, wanted, arg) ? INSITU_OK : mismatch(scope, place, wanted);
}

insitu_status fit_arg(scope_t *scope, const arg_place_t *place, const schema_arg_t *wanted, graph_arg_t *arg) {
    if (!(wanted->flags & SCHEMA_LIST)) return fit_item(scope, place, wanted, SCHEMA_OPTIONAL, arg);
    if (arg->kind == ARG_NONE && wanted->flags & SCHEMA_OPTIONAL) return INSITU_OK;
    if (arg->kind != ARG_LIST && wanted->size) { /* one number stands for as many */
        graph_arg_t item = *arg;
        *arg = (graph_arg_t){.kind = ARG_LIST, .list.count = wanted->size};
        TRY(arena_array(graph_arena(scope->graph), wanted->size, sizeof(graph_arg_t), &arg->list.items));
        for (uint32_t i = 0; i < wanted->size; i++) arg->list.items[i] = item;
    }
    if (arg->kind != ARG_LIST) return mismatch(scope, place, wanted);
    for (uint32_t i = 0; i < arg->list.count; i++)
        TRY(fit_item(scope, place, wanted, SCHEMA_OPTIONAL_ITEMS, &arg->list.items[i]));
    return INSITU_OK;
}
