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
    graph *graph;
    insitu_diag *diag;
    bitset bound; /* symbols that the inputs' sizes and numbers bind: their ranges are checked before a call */
} resolver;

/* ---- recomputing ---- */

static bool number_arg(const graph *graph, const graph_node *node, const char *name, sym *out) {
    const graph_arg *arg = graph_arg_of(graph, node, name);
    if (!arg || arg->kind != ARG_SYM) return false;
    *out = arg->sym;
    return true;
}

static const tensor_type *tensor_arg(const graph *graph, const graph_node *node) {
    if (!node->arg_count || node->args[0].kind != ARG_VALUE) return NULL;
    const graph_value *value = graph_value_of(graph, node->args[0].value);
    return value->kind == VALUE_TENSOR ? &value->type : NULL;
}

static const struct {
    const char *target;
    sym_op on_numbers, on_bools;
} binary_operators[] = {
    {"_operator.add", SYM_ADD, SYM_ADD},
    {"_operator.mul", SYM_MUL, SYM_MUL},
    {"_operator.floordiv", SYM_FLOORDIV, SYM_FLOORDIV},
    {"_operator.mod", SYM_MOD, SYM_MOD},
    {"_operator.pow", SYM_POW, SYM_POW},
    {"_operator.truediv", SYM_TRUEDIV, SYM_TRUEDIV},
    {"_operator.lshift", SYM_LSHIFT, SYM_LSHIFT},
    {"_operator.rshift", SYM_RSHIFT, SYM_RSHIFT},
    {"_operator.and_", SYM_BITAND, SYM_AND},
    {"_operator.or_", SYM_BITOR, SYM_OR},
    {"torch.sym_max", SYM_MAX, SYM_MAX},
    {"torch.sym_min", SYM_MIN, SYM_MIN},
    {"_operator.eq", SYM_EQ, SYM_EQ},
    {"_operator.ne", SYM_NE, SYM_NE},
    {"_operator.lt", SYM_LT, SYM_LT},
    {"_operator.le", SYM_LE, SYM_LE},
    {"_operator.gt", SYM_GT, SYM_GT},
    {"_operator.ge", SYM_GE, SYM_GE},
};

typedef enum computed_kind {
    COMPUTED_FOREIGN, /* not such a node */
    COMPUTED_UNKNOWN, /* such a node, of which the recorded result is taken */
    COMPUTED_KNOWN
} computed_kind;

static computed_kind compute_binary(const graph *graph, const graph_node *node, sym *out) {
    sym args[2];
    for (size_t i = 0; i < COUNT_OF(binary_operators); i++) {
        if (!target_is(node, binary_operators[i].target)) continue;
        if (!number_arg(graph, node, "a", &args[0]) || !number_arg(graph, node, "b", &args[1])) return COMPUTED_UNKNOWN;
        sym_kind a = sym_kind_of(graph->symbols, args[0]), b = sym_kind_of(graph->symbols, args[1]);
        bool is_bool = a == SYM_KIND_BOOL && b == SYM_KIND_BOOL;
        if (a != b) return COMPUTED_UNKNOWN;
        sym_op op = is_bool ? binary_operators[i].on_bools : binary_operators[i].on_numbers;
        *out = sym_make(graph->symbols, op, args, 2);
        return COMPUTED_KNOWN;
    }
    if (!target_is(node, "_operator.sub")) return COMPUTED_FOREIGN;
    if (!number_arg(graph, node, "a", &args[0]) || !number_arg(graph, node, "b", &args[1])) return COMPUTED_UNKNOWN;
    if (sym_kind_of(graph->symbols, args[0]) != sym_kind_of(graph->symbols, args[1])) return COMPUTED_UNKNOWN;
    *out = sym_sub(graph->symbols, args[0], args[1]);
    return COMPUTED_KNOWN;
}

static computed_kind compute_unary(const graph *graph, const graph_node *node, sym *out) {
    sym_pool *pool = graph->symbols;
    sym a;
    static const char *const targets[] = {"_operator.neg", "_operator.pos",   "torch.sym_int", "torch.sym_float",
                                          "torch.sym_not", "torch._sym_sqrt", "math.trunc",    "torch.sym_ite"};
    bool is_known = false;
    for (size_t i = 0; i < COUNT_OF(targets); i++) is_known = is_known || target_is(node, targets[i]);
    if (!is_known) return COMPUTED_FOREIGN;
    if (!number_arg(graph, node, "a", &a) && !number_arg(graph, node, "x", &a)) return COMPUTED_UNKNOWN;
    bool is_int = sym_kind_of(pool, a) == SYM_KIND_INT;
    *out = a;
    if (target_is(node, "_operator.neg") && is_int)
        *out = sym_sub(pool, sym_int(pool, 0), a);
    else if (target_is(node, "torch.sym_float") && is_int)
        *out = sym_make(pool, SYM_TOFLOAT, &a, 1);
    else if (target_is(node, "torch.sym_not") && sym_kind_of(pool, a) == SYM_KIND_BOOL)
        *out = sym_make(pool, SYM_NOT, &a, 1);
    else if ((target_is(node, "_operator.pos") || target_is(node, "torch.sym_int") || target_is(node, "math.trunc")) &&
             is_int)
        *out = a;
    else
        return COMPUTED_UNKNOWN;
    return COMPUTED_KNOWN;
}

static computed_kind compute_size(const graph *graph, const graph_node *node, sym *out) {
    const tensor_type *type = tensor_arg(graph, node);
    bool is_size = target_is(node, "aten.sym_size.int"), is_stride = target_is(node, "aten.sym_stride.int");
    if (target_is(node, "aten.sym_storage_offset.default")) return COMPUTED_UNKNOWN;
    if (target_is(node, "aten.sym_numel.default") && type) {
        *out = shape_numel(graph->symbols, &type->shape);
        return COMPUTED_KNOWN;
    }
    if (!is_size && !is_stride) return COMPUTED_FOREIGN;
    int64_t number;
    uint32_t dim;
    bool fits = type && type->shape.rank && arg_constant(graph, graph_arg_of(graph, node, "dim"), &number) &&
                wrap_dim(number, type->shape.rank, &dim);
    if (!fits || is_stride) return COMPUTED_UNKNOWN; /* strides of values are not kept */
    *out = type->shape.sizes[dim];
    return COMPUTED_KNOWN;
}

static bool contradicts(sym_pool *pool, sym recorded, sym computed) {
    if (sym_same(recorded, computed) || sym_kind_of(pool, recorded) != sym_kind_of(pool, computed)) return false;
    double a, b;
    if (sym_kind_of(pool, recorded) == SYM_KIND_INT) return sym_is_eq(pool, recorded, computed) == TRUTH_FALSE;
    return sym_constant_float(pool, recorded, &a) && sym_constant_float(pool, computed, &b) && a != b && a == a;
}

static insitu_status resolve_number(const resolver *resolver, const graph_node *node, bool *out_drop) {
    const graph *graph = resolver->graph;
    sym computed = {0};
    computed_kind kind = compute_size(graph, node, &computed);
    if (kind == COMPUTED_FOREIGN) kind = compute_binary(graph, node, &computed);
    if (kind == COMPUTED_FOREIGN) kind = compute_unary(graph, node, &computed);
    *out_drop = kind != COMPUTED_FOREIGN;
    if (kind != COMPUTED_KNOWN || node->result_count != 1) return INSITU_OK;
    const graph_value *result = graph_value_of(graph, node->results[0]);
    if (result->kind != VALUE_SYM || !contradicts(graph->symbols, result->expr, computed)) return INSITU_OK;
    text recorded_text, computed_text;
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

static bool is_bound(const resolver *resolver, sym expression) {
    for (uint32_t i = 0; i < resolver->graph->symbols->symbol_count; i++)
        if (sym_uses(resolver->graph->symbols, expression, i) &&
            (i >= resolver->bound.bits || !bitset_has(&resolver->bound, i)))
            return false;
    return true;
}

static truth decide(const resolver *resolver, sym condition) {
    sym_pool *pool = resolver->graph->symbols;
    double number;
    if (sym_constant_float(pool, condition, &number)) return number != 0 ? TRUTH_TRUE : TRUTH_FALSE;
    if (sym_kind_of(pool, condition) != SYM_KIND_BOOL || !is_bound(resolver, condition)) return TRUTH_UNKNOWN;
    return sym_truth(pool, condition);
}

static insitu_status resolve_assertion(const resolver *resolver, const graph_node *node, bool *out_drop) {
    const graph_arg *condition = graph_arg_of(resolver->graph, node, "self");
    const graph_arg *message = graph_arg_of(resolver->graph, node, "assert_msg");
    char name[NODE_TEXT_SIZE];
    *out_drop = false;
    if (!condition || condition->kind != ARG_SYM) return INSITU_OK;
    truth holds = decide(resolver, condition->sym);
    *out_drop = holds == TRUTH_TRUE;
    if (holds != TRUTH_FALSE) return INSITU_OK;
    FAIL(resolver->diag, INSITU_ASSERT, "%s never holds: %.500s", node_text(node, name, sizeof(name)),
         message && message->kind == ARG_STRING ? message->string : "no message");
}

static insitu_status resolve_range(const resolver *resolver, const graph_node *node) {
    sym_pool *pool = resolver->graph->symbols;
    const graph_arg *size = graph_arg_of(resolver->graph, node, "size");
    int64_t low = INT64_MIN, high = INT64_MAX, number;
    char name[NODE_TEXT_SIZE];
    bool is_size = !target_is(node, "aten.sym_constrain_range.default");
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
    const symbol *known = &pool->symbols[index];
    if (low > known->max || high < known->min || low > high)
        FAIL(resolver->diag, INSITU_FORMAT, "%s gives '%s' a range that contradicts the program's own",
             node_text(node, name, sizeof(name)), known->name);
    sym_add_symbol(pool, known->name, known->kind, low, high);
    return INSITU_OK;
}

/* Compares what the assertion says with the recorded type. Strides are those of the eager tensor, which values no longer
 * have. */
static insitu_status resolve_metadata(const resolver *resolver, const graph_node *node) {
    const graph *graph = resolver->graph;
    const tensor_type *type = tensor_arg(graph, node);
    const graph_arg *expected = graph_arg_of(graph, node, "dtype"), *sizes = graph_arg_of(graph, node, "size");
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

static insitu_status resolve_node(const resolver *resolver, const graph_node *node, bool *out_drop) {
    *out_drop = true;
    if (target_is(node, "aten._assert_scalar.default")) return resolve_assertion(resolver, node, out_drop);
    if (target_is(node, "aten._assert_tensor_metadata.default")) return resolve_metadata(resolver, node);
    if (target_is(node, "aten.sym_constrain_range.default") ||
        target_is(node, "aten.sym_constrain_range_for_size.default"))
        return resolve_range(resolver, node);
    return resolve_number(resolver, node, out_drop);
}

/* ---- the walk ---- */

static void bind_symbols(resolver *resolver, sym expression) {
    for (uint32_t i = 0; i < resolver->bound.bits; i++)
        if (sym_uses(resolver->graph->symbols, expression, i)) bitset_add(&resolver->bound, i);
}

static void bind_inputs(resolver *resolver) {
    const graph *root = resolver->graph->root;
    for (uint32_t i = 0; i < root->input_count; i++) {
        if (root->inputs[i].value.index == NONE) continue;
        const graph_value *value = graph_value_of(root, root->inputs[i].value);
        if (value->kind == VALUE_SYM) bind_symbols(resolver, value->expr);
        if (value->kind != VALUE_TENSOR) continue;
        for (uint32_t j = 0; j < value->type.shape.rank; j++) bind_symbols(resolver, value->type.shape.sizes[j]);
    }
}

static insitu_status resolve_graph(graph *graph, uint32_t depth, pass_context *context, bool *out_changed) {
    resolver resolver = {.graph = graph, .diag = context->diag};
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

insitu_status pass_resolve_symbols(pass_context *context, bool *out_changed) {
    *out_changed = false;
    TRY(resolve_graph(context->graph, 0, context, out_changed));
    return sym_pool_status(context->graph->symbols, context->diag);
}
