/* A functional graph becomes a network: inputs, states and constants first, then each node in order through its row of
 * graph/operators.def, then outputs and mutations. Unsupported operators are collected, so that all are listed at once; what a node
 * records of its results is compared with what inference finds. */
#include "convert/convert_int.h"
#include "graph/schema_ids.h"
#include "passes/passes.h" /* REFUSED_TARGET */

enum { MAX_RECASTS = 8 }; /* operands of a node whose cast was dropped */

/* Of each operator of the table of schemas; convert NULL: it is not supported. */
typedef struct conversion {
    bool is_listed; /* has a row of operators.def, with a converter or without */
    convert_fn convert;
    int32_t param;
} conversion_t;
/* clang-format off */
static const conversion_t conversions[SCHEMA_COUNT] = {
#define CONVERT(function, parameter) .convert = function, .param = parameter,
#define OPERATOR(id, facts) [SCHEMA_##id] = {.is_listed = true, facts},
#include "graph/operators.def"
};
/* clang-format on */

/* Operators that take subgraphs, and so have no schema. */
static const struct {
    const char *target;
    conversion_t conversion;
} control_operators[] = {{"higher_order.cond", {true, convert_cond, 0}},
                         {"higher_order.while_loop", {true, convert_while, 0}}};

typedef struct refusal { /* an operator that is not supported, or not with such arguments */
    const char *target, *reason;
    const char *name, *source; /* of the first such node */
    uint32_t count;
} refusal_t;
typedef struct refusals {
    arena_t arena;
    refusal_t *rows;
    uint32_t count, capacity;
} refusals_t;

static insitu_status refuse(refusals_t *refusals, const graph_node_t *node, const char *target, const char *reason) {
    for (uint32_t i = 0; i < refusals->count; i++) {
        refusal_t *row = &refusals->rows[i];
        if (strcmp(row->target, target) != 0 || strcmp(row->reason, reason) != 0) continue;
        row->count++;
        return INSITU_OK;
    }
    TRY(arena_grow(&refusals->arena, &refusals->rows, &refusals->capacity, (size_t)refusals->count + 1,
                   sizeof(refusal_t)));
    refusal_t *row = &refusals->rows[refusals->count++];
    *row = (refusal_t){.target = target, .name = node->name, .source = node->source, .count = 1};
    return arena_string(&refusals->arena, reason, strlen(reason), &row->reason);
}

/* "... not supported: aten.foo.default 'foo' (model.py:7), aten.bar.default (3 times, first 'bar' at model.py:41, reason)" */
static insitu_status report_refusals(const refusals_t *refusals, insitu_diag *diag) {
    if (refusals->count == 0) return INSITU_OK;
    text_t sentence;
    text_init(&sentence);
    if (refusals->count == 1) {
        text_printf(&sentence, "an operator of the program is not supported: ");
    } else {
        text_printf(&sentence, "%u operators of the program are not supported: ", refusals->count);
    }
    for (uint32_t i = 0; i < refusals->count && i < 8; i++) {
        const refusal_t *row = &refusals->rows[i];
        text_printf(&sentence, "%s%s", i ? ", " : "", row->target);
        const char *separator = " (";
        if (row->count > 1) {
            text_printf(&sentence, " (%u times, first '%s'%s%s", row->count, row->name, row->source[0] ? " at " : "",
                        row->source);
            separator = ", ";
        } else {
            text_printf(&sentence, " '%s'", row->name);
            if (row->source[0]) text_printf(&sentence, " (%s", row->source);
            if (row->source[0]) separator = ", ";
        }
        if (row->reason[0]) {
            text_printf(&sentence, "%s%s", separator, row->reason);
            separator = ", ";
        }
        if (separator[0] == ',') text_printf(&sentence, ")");
    }
    if (refusals->count > 8) text_printf(&sentence, " and %u more", refusals->count - 8);
    insitu_status status = text_status(&sentence, diag);
    if (status == INSITU_OK) status = diag_set(diag, INSITU_UNSUPPORTED, "%s", sentence.data);
    text_release(&sentence);
    for (uint32_t i = 0; i < refusals->count; i++) {
        diag_add_row(diag, refusals->rows[i].target, refusals->rows[i].count, refusals->rows[i].source);
    }
    return status;
}

/* Nodes that give numbers alone: their values are expressions already. */
static bool is_symbolic(const converter_t *c, const graph_node_t *node) {
    static const char *const prefixes[] = {"_operator.", "torch.sym_", "math.", "aten.sym_"};
    for (uint32_t i = 0; i < node->result_count; i++) {
        if (graph_value_of(c->graph, node->results[i])->kind != VALUE_SYM) return false;
    }
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        if (strncmp(node->target, prefixes[i], strlen(prefixes[i])) == 0) return true;
    }
    return false;
}

/* Of a node that is refused: results of the recorded types, so that later nodes are looked at too. */
static insitu_status placeholder_results(converter_t *c) {
    for (uint32_t i = 0; i < c->node->result_count; i++) {
        value_id_t id = c->node->results[i];
        const graph_value_t *value = graph_value_of(c->graph, id);
        if (value->kind != VALUE_TENSOR || c->tensors[id.index].index != NONE) continue;
        TRY(network_add_tensor(c->network, value->name, TENSOR_RESULT, value->type.dtype, &value->type.shape, i,
                               &c->tensors[id.index]));
    }
    return INSITU_OK;
}

static bool is_of_type(const converter_t *c, tensor_id_t tensor, const graph_value_t *value) {
    const network_tensor_t *found = tensor_of(c, tensor);
    return found->dtype == value->type.dtype && shape_equal(c->pool, &value->type.shape, &found->shape) != TRUTH_FALSE;
}

/* A provable difference between the recorded type of a result and its inferred one. */
static insitu_status check_result(converter_t *c, const graph_value_t *value, tensor_id_t tensor) {
    const network_tensor_t *found = tensor_of(c, tensor);
    if (is_of_type(c, tensor, value)) return INSITU_OK;
    text_t types;
    text_init(&types);
    text_printf(&types, "%s", dtype_name(value->type.dtype));
    shape_print(c->pool, &value->type.shape, &types);
    text_printf(&types, ", but the operator gives ");
    tensor_print_type(c->network, found, &types);
    insitu_status status = text_status(&types, c->diag);
    if (status == INSITU_OK) {
        status = convert_fail(c, INSITU_FORMAT, "the program records %%%s as %s", value->name, types.data);
    }
    text_release(&types);
    return status;
}

static bool has_other_type(const converter_t *c) {
    for (uint32_t i = 0; i < c->node->result_count; i++) {
        const graph_value_t *value = graph_value_of(c->graph, c->node->results[i]);
        tensor_id_t tensor = c->tensors[c->node->results[i].index];
        if (value->kind == VALUE_TENSOR && tensor.index != NONE && !is_of_type(c, tensor, value)) return true;
    }
    return false;
}

/* The tensor whose new value this is; NULL: none's. */
static const graph_value_t *stored_in(const converter_t *c, value_id_t value) {
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        const graph_output_t *output = &c->graph->outputs[i];
        if (output->kind != RESULT_MUTATION || output->arg.kind != ARG_VALUE) continue;
        value_id_t target = c->graph->inputs[output->target].value;
        if (output->arg.value.index == value.index && target.index != NONE) return graph_value_of(c->graph, target);
    }
    return NULL;
}

typedef struct recast { /* operands of the type that they have as a tensor's new value */
    converter_t *c;
    value_id_t values[MAX_RECASTS];
    tensor_id_t before[MAX_RECASTS];
    uint32_t count;
    insitu_status status;
} recast_t;

static void recast_operand(void *user, value_id_t *value) {
    recast_t *recast = user;
    converter_t *c = recast->c;
    tensor_id_t tensor = c->tensors[value->index];
    if (recast->status != INSITU_OK || tensor.index == NONE || recast->count == MAX_RECASTS) return;
    const graph_value_t *stored = stored_in(c, *value);
    if (!stored || is_of_type(c, tensor, stored)) return;
    recast->values[recast->count] = *value;
    recast->before[recast->count++] = tensor;
    recast->status = emit_cast(c, tensor, stored->type.dtype, &tensor);
    if (recast->status == INSITU_OK)
        recast->status = emit_expand(c, tensor, &stored->type.shape, &c->tensors[value->index]);
}

/* A decomposition drops the cast and the broadcast of a copy that gives a tensor its new value: what reads that tensor later
 * reads the source, and records a result of the tensor's type, or needs an operand of it. If the operands as they are don't
 * give what is recorded, they are cast and broadcast as the copy did. */
static insitu_status convert_by_row(converter_t *c, const conversion_t *row) {
    c->param = row->param;
    insitu_status status = row->convert(c);
    if (status == INSITU_NOMEM || (status == INSITU_OK && !has_other_type(c))) return status;
    recast_t recast = {.c = c};
    graph_node_t node = *c->node;
    graph_visit_args(&node, recast_operand, &recast);
    if (recast.status == INSITU_OK && recast.count) status = row->convert(c);
    for (uint32_t i = recast.count; i-- > 0;) c->tensors[recast.values[i].index] = recast.before[i];
    return recast.status == INSITU_OK ? status : recast.status;
}

/* Results take their values' names; what has such a name before is a helper of another node. */
static insitu_status finish_node(converter_t *c, uint32_t first_tensor) {
    for (uint32_t i = 0; i < c->node->result_count; i++) {
        const graph_value_t *value = graph_value_of(c->graph, c->node->results[i]);
        tensor_id_t tensor = c->tensors[c->node->results[i].index];
        if (value->kind != VALUE_TENSOR || tensor.index == NONE) continue;
        TRY(check_result(c, value, tensor));
        if (tensor.index >= first_tensor) TRY(network_swap_name(c->network, tensor, value->name));
    }
    return INSITU_OK;
}

/* What a pass refused: "aten.op", "why", operands. */
static insitu_status convert_refused(converter_t *c, refusals_t *refusals) {
    if (c->node->arg_count < 2 || c->node->args[0].kind != ARG_STRING || c->node->args[1].kind != ARG_STRING)
        return convert_fail(c, INSITU_FORMAT, "a refusal has an operator and a reason");
    TRY(refuse(refusals, c->node, c->node->args[0].string, c->node->args[1].string));
    return placeholder_results(c);
}

/* NULL: it has no row. */
static const conversion_t *conversion_of(const graph_node_t *node) {
    if (node->schema) return &conversions[schema_number(node->schema)];
    for (size_t i = 0; i < COUNT_OF(control_operators); i++)
        if (strcmp(node->target, control_operators[i].target) == 0) return &control_operators[i].conversion;
    return NULL;
}

static insitu_status convert_node(converter_t *c, refusals_t *refusals) {
    if (strcmp(c->node->target, REFUSED_TARGET) == 0) return convert_refused(c, refusals);
    if (is_symbolic(c, c->node)) return INSITU_OK;
    const conversion_t *row = conversion_of(c->node);
    uint32_t first_tensor = c->network->tensor_count;
    c->reason[0] = 0;
    insitu_status status = INSITU_UNSUPPORTED;
    if (row && row->convert) status = convert_by_row(c, row);
    if (status == INSITU_OK) status = finish_node(c, first_tensor);
    if (status == INSITU_OK || status == INSITU_NOMEM) return status;
    if (status == INSITU_UNSUPPORTED) {
        TRY(refuse(refusals, c->node, c->node->target, c->reason));
    } else if (refusals->count == 0) {
        return status;
    }
    return placeholder_results(c);
}

insitu_status convert_nodes(converter_t *c) {
    for (uint32_t i = 0; i < c->graph->order_count; i++) {
        c->node = graph_node_of(c->graph, c->graph->order[i]);
        TRY(convert_node(c, c->refusals));
        arena_release(&c->scratch);
    }
    return INSITU_OK;
}

static void mark_symbols(converter_t *c, sym_t expression) {
    for (uint32_t i = 0; i < c->pool->symbol_count; i++) c->read[i] |= sym_uses(c->pool, expression, i);
}

/* The symbols of the inputs. */
static void mark_given(converter_t *c) {
    for (uint32_t i = 0; i < c->graph->input_count; i++) {
        if (c->graph->inputs[i].value.index == NONE) continue;
        const graph_value_t *value = graph_value_of(c->graph, c->graph->inputs[i].value);
        if (value->kind == VALUE_SYM) mark_symbols(c, value->expr);
        for (uint32_t d = 0; value->kind == VALUE_TENSOR && d < value->type.shape.rank; d++)
            mark_symbols(c, value->type.shape.sizes[d]);
    }
}

/* Tables of the graph's values and symbols. */
static insitu_status begin_graph(converter_t *c) {
    refusals_t *refusals = c->refusals;
    TRY(arena_array(&refusals->arena, c->graph->value_count, sizeof(tensor_id_t), &c->tensors));
    for (uint32_t i = 0; i < c->graph->value_count; i++) c->tensors[i] = NO_TENSOR;
    TRY(arena_array(&refusals->arena, c->pool->symbol_count, sizeof(counted_mask_t), &c->counted));
    for (uint32_t i = 0; i < c->pool->symbol_count; i++) c->counted[i] = (counted_mask_t){NO_TENSOR, NO_TENSOR};
    TRY(arena_array(&refusals->arena, c->pool->symbol_count, sizeof(bool), &c->read));
    c->symbol_count = c->pool->symbol_count;
    TRY(arena_array(&refusals->arena, c->graph->input_count, sizeof(uint32_t), &c->inputs));
    return arena_array(&refusals->arena, c->graph->input_count, sizeof(uint32_t), &c->states);
}

static insitu_status convert_graph(converter_t *c) {
    TRY(begin_graph(c));
    mark_given(c);
    TRY(convert_inputs(c));
    TRY(convert_nodes(c));
    TRY(report_refusals(c->refusals, c->diag));
    TRY(convert_outputs(c));
    return sym_pool_status(c->pool, c->diag);
}

insitu_status convert_subgraph(converter_t *outer, const graph_t *graph, network_t *region, region_fn body,
                               void *user) {
    converter_t c = {.graph = graph,
                     .network = region,
                     .pool = &region->symbols,
                     .node = outer->node,
                     .refusals = outer->refusals,
                     .strict_bounds = outer->strict_bounds,
                     .diag = outer->diag};
    sym_pool_release(&region->symbols);
    TRY(sym_pool_clone(outer->pool, &region->symbols));
    TRY(begin_graph(&c));
    memcpy(c.read, outer->read, outer->symbol_count * sizeof *c.read);
    arena_init(&c.scratch);
    insitu_status status = body(&c, user);
    arena_release(&c.scratch);
    return status == INSITU_OK ? sym_pool_status(c.pool, c.diag) : status;
}

insitu_status network_convert(const graph_t *graph, bool strict_bounds, network_t **out_network, insitu_diag *diag) {
    *out_network = NULL;
    network_t *converted;
    TRY(network_create(&converted));
    sym_pool_release(&converted->symbols);
    converter_t c = {.graph = graph,
                     .network = converted,
                     .pool = &converted->symbols,
                     .strict_bounds = strict_bounds,
                     .diag = diag};
    refusals_t refusals = {0};
    arena_init(&refusals.arena);
    arena_init(&c.scratch);
    c.refusals = &refusals;
    insitu_status status = sym_pool_clone(graph->symbols, &converted->symbols);
    if (status == INSITU_OK) status = convert_graph(&c);
    arena_release(&refusals.arena);
    arena_release(&c.scratch);
    if (status != INSITU_OK) {
        network_destroy(converted);
        return diag_complete(diag, status);
    }
    *out_network = converted;
    return INSITU_OK;
}
