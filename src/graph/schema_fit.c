/* Which arguments a schema's types take. */
#include "graph/graph_int.h"

static bool number_fits(const sym_pool_t *symbols, schema_type_t type, sym_t expr) {
    if (expr.id >= symbols->node_count) return false;
    sym_kind_t kind = sym_kind_of(symbols, expr);
    switch ((int)type) {
    case SCHEMA_INT: return kind == SYM_KIND_INT;
    case SCHEMA_FLOAT: return kind == SYM_KIND_FLOAT;
    case SCHEMA_BOOL: return kind == SYM_KIND_BOOL;
    default: return type == SCHEMA_SCALAR || type == SCHEMA_TENSOR; /* a number for a tensor is a wrapped scalar */
    }
}

bool arg_fits(const sym_pool_t *symbols, const schema_arg_t *wanted, const graph_arg_t *arg) {
    schema_type_t type = (schema_type_t)wanted->type;
    switch (arg->kind) {
    case ARG_VALUE: return type == SCHEMA_TENSOR;
    case ARG_SYM: return number_fits(symbols, type, arg->sym);
    case ARG_COMPLEX: return type == SCHEMA_SCALAR || type == SCHEMA_TENSOR;
    case ARG_STRING: return type == SCHEMA_STRING;
    case ARG_DTYPE: return type == SCHEMA_DTYPE;
    case ARG_LAYOUT: return type == SCHEMA_LAYOUT;
    case ARG_MEMORY_FORMAT: return type == SCHEMA_MEMORY_FORMAT;
    case ARG_DEVICE: return type == SCHEMA_DEVICE;
    case ARG_ABSENT:
    case ARG_NONE:
    case ARG_LIST:
    case ARG_GRAPH: break;
    }
    return false;
}
