/* resolve_symbols: nodes on sizes and numbers become expressions; decided assertions disappear.
 *
 * In: sym_size, sym_numel, sym_stride, _operator.* and torch.sym_* nodes, whose recorded results are expressions and
 * whose uses already are those expressions. Each is computed again and compared: a definite difference is FORMAT. Then
 * the node goes. sym_constrain_range narrows its symbol's range and goes. _assert_tensor_metadata is compared with the
 * recorded type and goes. _assert_scalar goes if its condition holds for every input that the checks of the inputs'
 * sizes let through, is ASSERT if it never does, and else stays for the plan. item and _local_scalar_dense stay: they
 * define symbols.
 *
 *     %s: sym 2*s0 = aten.sym_size.int(%x, dim=0)
 *     aten._assert_scalar.default(s0 >= 1, assert_msg="...")     ->     nothing
 *
 * Needs a functional graph; keeps everything else. Errors: FORMAT, ASSERT, with the node. */
#include "passes/passes_int.h"

typedef struct resolver {
    graph_t *graph;
    insitu_diag *diag;
    bitset_t bound; /* symbols that the inputs' sizes and numbers bind: their ranges are checked before a call */
} resolver_t;

/* ---- recomputing ---- */

static bool number_arg(const graph_t *graph, const graph_node_t *node, const char *name, sym_t *out) {
    const graph_arg_t *arg = graph_arg_of(graph, node, name);
    if (!arg || arg->kind != ARG_SYM) return false;
    *out = arg->sym;
    return true;
}

static const tensor_type_t *tensor_arg(const graph_t *graph, const graph_node_t *node) {
    if (!node->arg_count || node->args[0].kind != ARG_VALUE) return NULL;
    const graph_value_t *value = graph_value_of(graph, node->args[0].value);
    return value->kind == VALUE_TENSOR ? &value->type : NULL;
}

typedef enum computed_kind {
    COMPUTED_FOREIGN, /* not such a node */
    COMPUTED_UNKNOWN, /* such a node, of which the recorded result is taken */
    COMPUTED_KNOWN
} computed_kind_t;

static computed_kind_t compute_binary(const graph_t *graph, const graph_node_t *node, sym_t *out) {
    const operator_facts_t *facts = facts_of(node);
    sym_t args[2];
    if (!number_arg(graph, node, "a", &args[0]) || !number_arg(graph, node, "b", &args[1])) return COMPUTED_UNKNOWN;
    sym_kind_t a = sym_kind_of(graph->symbols, args[0]), b = sym_kind_of(graph->symbols, args[1]);
    if (a != b) return COMPUTED_UNKNOWN;
    if (facts->number == NUMBER_SUB)
        *out = sym_sub(graph->symbols, args[0], args[1]);
    else
        *out = sym_make(graph->symbols, (sym_op_t)(a == SYM_KIND_BOOL ? facts->op_bools : facts->op_numbers), args, 2);
    return COMPUTED_KNOWN;
}

static computed_kind_t compute_unary(const graph_t *graph, const graph_node_t *node, sym_t *out) {
    sym_pool_t *pool = graph->symbols;
    const number_kind_t number = (number_kind_t)facts_of(node)->number;
    sym_t a;
    if (!number_arg(graph, node, "a", &a) && !number_arg(graph, node, "x", &a)) return COMPUTED_UNKNOWN;
    const sym_kind_t kind = sym_kind_of(pool, a);
    if (kind != (number == NUMBER_NOT ? SYM_KIND_BOOL : SYM_KIND_INT)) return COMPUTED_UNKNOWN;
    *out = a;
    if (number == NUMBER_NEG) *out = sym_sub(pool, sym_int(pool, 0), a);
    if (number == NUMBER_FLOAT) *out = sym_make(pool, SYM_TOFLOAT, &a, 1);
    if (number == NUMBER_NOT) *out = sym_make(pool, SYM_NOT, &a, 1);
    return COMPUTED_KNOWN;
}

static computed_kind_t compute_size(const graph_t *graph, const graph_node_t *node, sym_t *out) {
    const tensor_type_t *type = tensor_arg(graph, node);
    int64_t number;
    uint32_t dim;
    if (!type || !type->shape.rank || !arg_constant(graph, graph_arg_of(graph, node, "dim"), &number) ||
        !wrap_dim(number, type->shape.rank, &dim))
        return COMPUTED_UNKNOWN;
    *out = type->shape.sizes[dim];
    return COMPUTED_KNOWN;
}

static computed_kind_t compute(const graph_t *graph, const graph_node_t *node, sym_t *out) {
    const tensor_type_t *type;
    switch (facts_of(node)->number) {
    case NUMBER_BINARY:
    case NUMBER_SUB: return compute_binary(graph, node, out);
    case NUMBER_NEG:
    case NUMBER_SAME:
    case NUMBER_FLOAT:
    case NUMBER_NOT: return compute_unary(graph, node, out);
    case NUMBER_SIZE: return compute_size(graph, node, out);
    case NUMBER_NUMEL:
        type = tensor_arg(graph, node);
        if (!type) return COMPUTED_FOREIGN;
        *out = shape_numel(graph->symbols, &type->shape);
        return COMPUTED_KNOWN;
    case NUMBER_RECORDED: return COMPUTED_UNKNOWN;
    default: return COMPUTED_FOREIGN;
    }
}

static bool contradicts(sym_pool_t *pool, sym_t recorded, sym_t computed) {
    if (sym_same(recorded, computed) || sym_kind_of(pool, recorded) != sym_kind_of(pool, computed)) return false;
    double a, b;
    if (sym_kind_of(pool, recorded) == SYM_KIND_INT) return sym_is_eq(pool, recorded, computed) == TRUTH_FALSE;
    return sym_constant_float(pool, recorded, &a) && sym_constant_float(pool, computed, &b) && a != b && a == a;
}

static insitu_status resolve_number(const resolver_t *resolver, const graph_node_t *node, bool *out_drop) {
    const graph_t *graph = resolver->graph;
    sym_t computed = {0};
    computed_kind_t kind = compute(graph, node, &computed);
    *out_drop = kind != COMPUTED_FOREIGN;
    if (kind != COMPUTED_KNOWN || node->result_count != 1) return INSITU_OK;
    const graph_value_t *result = graph_value_of(graph, node->results[0]);
    if (result->kind != VALUE_SYM || !contradicts(graph->symbols, result->expr, computed)) return INSITU_OK;
    text_t recorded_text, computed_text;
    char name[NODE_TEXT_SIZE];
    text_init(&recorded_text);
    text_init(&computed_text);
    sym_print(graph->symbols, result->expr, &recorded_text);
    sym_print(graph->symbols, computed, &computed_text);
    insitu_status status = diag_set(resolver->diag, INSITU_FORMAT, "%s is recorded as %.200s and computes %.200s",
                                    node_text(node, name, sizeof(name)), recorded_text.data ? recorded_text.data : "?",
                                    computed_text.data ? computed_text.data : "?");
    text_release(&recorded_text);
    text_release(&computed_text);
    return status;
}

/* ---- assertions ---- */

static bool is_bound(const resolver_t *resolver, sym_t expression) {
    for (uint32_t i = 0; i < resolver->graph->symbols->symbol_count; i++)
        if (sym_uses(resolver->graph->symbols, expression, i) &&
            (i >= resolver->bound.bits || !bitset_has(&resolver->bound, i)))
            return false;
    return true;
}

static truth_t decide(const resolver_t *resolver, sym_t condition) {
    sym_pool_t *pool = resolver->graph->symbols;
    double number;
    if (sym_constant_float(pool, condition, &number)) return number != 0 ? TRUTH_TRUE : TRUTH_FALSE;
    if (sym_kind_of(pool, condition) != SYM_KIND_BOOL || !is_bound(resolver, condition)) return TRUTH_UNKNOWN;
    return sym_truth(pool, condition);
}

static insitu_status resolve_assertion(const resolver_t *resolver, const graph_node_t *node, bool *out_drop) {
    const graph_arg_t *condition = graph_arg_of(resolver->graph, node, "self");
    const graph_arg_t *message = graph_arg_of(resolver->graph, node, "assert_msg");
    char name[NODE_TEXT_SIZE];
    *out_drop = false;
    if (!condition || condition->kind != ARG_SYM) return INSITU_OK;
    truth_t holds = decide(resolver, condition->sym);
    *out_drop = holds == TRUTH_TRUE;
    if (holds != TRUTH_FALSE) return INSITU_OK;
    FAIL(resolver->diag, INSITU_ASSERT, "%s never holds: %.500s", node_text(node, name, sizeof(name)),
         message && message->kind == ARG_STRING ? message->string : "no message");
}

static insitu_status resolve_range(const resolver_t *resolver, const graph_node_t *node) {
    sym_pool_t *pool = resolver->graph->symbols;
    const graph_arg_t *size = graph_arg_of(resolver->graph, node, "size");
    int64_t low = INT64_MIN, high = INT64_MAX, number;
    char name[NODE_TEXT_SIZE];
    bool is_size = facts_of(node)->number == NUMBER_SIZE_RANGE;
    if (!arg_constant(resolver->graph, graph_arg_of(resolver->graph, node, "min"), &low) && is_size) low = 0;
    arg_constant(resolver->graph, graph_arg_of(resolver->graph, node, "max"), &high);
    if (!size || size->kind != ARG_SYM) return INSITU_OK;
    if (sym_constant(pool, size->sym, &number)) {
        if (number >= low && number <= high) return INSITU_OK;
        FAIL(resolver->diag, INSITU_ASSERT, "%s never holds: %lld is not in its range",
             node_text(node, name, sizeof(name)), (long long)number);
    }
    uint32_t index = sym_symbol_index(pool, size->sym);
    if (index == NONE) return INSITU_OK;
    const symbol_t *known = &pool->symbols[index];
    if (low > known->max || high < known->min || low > high)
        FAIL(resolver->diag, INSITU_FORMAT, "%s gives '%s' a range that contradicts the program's own",
             node_text(node, name, sizeof(name)), known->name);
    sym_add_symbol(pool, known->name, known->kind, low, high);
    return INSITU_OK;
}

/* Compares what the assertion says with the recorded type. Strides are those of the eager tensor, which values no longer
 * have. */
static insitu_status resolve_metadata(const resolver_t *resolver, const graph_node_t *node) {
    const graph_t *graph = resolver->graph;
    const tensor_type_t *type = tensor_arg(graph, node);
    const graph_arg_t *expected = graph_arg_of(graph, node, "dtype"), *sizes = graph_arg_of(graph, node, "size");
    char name[NODE_TEXT_SIZE];
    if (!type) return INSITU_OK;
    if (expected && expected->kind == ARG_DTYPE && expected->dtype != type->dtype)
        FAIL(resolver->diag, INSITU_FORMAT, "%s expects '%s' to be %s, and it is recorded as %s",
             node_text(node, name, sizeof(name)), graph_value_of(graph, node->args[0].value)->name,
             dtype_name(expected->dtype), dtype_name(type->dtype));
    if (!sizes || sizes->kind != ARG_LIST) return INSITU_OK;
    bool differs = sizes->list.count != type->shape.rank;
    for (uint32_t i = 0; i < sizes->list.count && !differs; i++)
        differs = sizes->list.items[i].kind == ARG_SYM &&
                  sym_is_eq(graph->symbols, sizes->list.items[i].sym, type->shape.sizes[i]) == TRUTH_FALSE;
    if (differs)
        FAIL(resolver->diag, INSITU_FORMAT, "%s expects other sizes of '%s' than are recorded",
             node_text(node, name, sizeof(name)), graph_value_of(graph, node->args[0].value)->name);
    return INSITU_OK;
}

static insitu_status resolve_node(const resolver_t *resolver, const graph_node_t *node, bool *out_drop) {
    *out_drop = true;
    switch (facts_of(node)->number) {
    case NUMBER_ASSERT: return resolve_assertion(resolver, node, out_drop);
    case NUMBER_METADATA: return resolve_metadata(resolver, node);
    case NUMBER_RANGE:
    case NUMBER_SIZE_RANGE: return resolve_range(resolver, node);
    default: return resolve_number(resolver, node, out_drop);
    }
}

/* ---- the walk ---- */

static void bind_symbols(resolver_t *resolver, sym_t expression) {
    for (uint32_t i = 0; i < resolver->bound.bits; i++)
        if (sym_uses(resolver->graph->symbols, expression, i)) bitset_add(&resolver->bound, i);
}

static void bind_inputs(resolver_t *resolver) {
    const graph_t *root = resolver->graph->root;
    for (uint32_t i = 0; i < root->input_count; i++) {
        if (root->inputs[i].value.index == NONE) continue;
        const graph_value_t *value = graph_value_of(root, root->inputs[i].value);
        if (value->kind == VALUE_SYM) bind_symbols(resolver, value->expr);
        if (value->kind != VALUE_TENSOR) continue;
        for (uint32_t j = 0; j < value->type.shape.rank; j++) bind_symbols(resolver, value->type.shape.sizes[j]);
    }
}

static insitu_status resolve_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    resolver_t resolver = {.graph = graph, .diag = context->diag};
    uint32_t kept = 0;
    TRY(bitset_create(context->scratch, graph->symbols->symbol_count, &resolver.bound));
    bind_inputs(&resolver);
    TRY(for_each_subgraph(graph, depth, context, resolve_graph, out_changed));
    for (uint32_t i = 0; i < graph->order_count; i++) {
        bool drop;
        TRY(resolve_node(&resolver, graph_node_of(graph, graph->order[i]), &drop));
        *out_changed = *out_changed || drop;
        if (!drop) graph->order[kept++] = graph->order[i];
    }
    graph->order_count = kept;
    return INSITU_OK;
}

insitu_status pass_resolve_symbols(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    TRY(resolve_graph(context->graph, 0, context, out_changed));
    return sym_pool_status(context->graph->symbols, context->diag);
}
