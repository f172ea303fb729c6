/* remove_noops: copies, casts and views that change nothing are replaced by their operand.
 *
 * In: a functional graph. Out: no clone, alias, detach or _to_copy to the same dtype; no view, expand, slice, permute,
 * transpose or squeeze with the operand's own sizes and order; no reshapes that lead back to where they began; no
 * slice_scatter of a whole tensor, and no scatter that puts a view of a tensor back where it was.
 *
 *     %1: f32[4] = aten.clone.default(%0)
 *     %2: f32[4] = aten.add.Tensor(%1, %1)     ->     %2: f32[4] = aten.add.Tensor(%0, %0)
 *
 * Values have no memory, so that a copy is its operand, save in two places. A user output that is a copy of an input or
 * of a state's new value (or a view of such a copy) must not be that tensor itself: the copy stays. A copy in another
 * layout that as_strided looks at stays too.
 *
 * Needs a functional graph; keeps program order. */
#include "passes/passes_int.h"

typedef struct noops {
    graph_t *graph;
    bitset_t escapes; /* values that a user output is, or is a view of */
    bitset_t states;  /* inputs, and values that mutation outputs give to them */
    bitset_t strided; /* operands of as_strided */
} noops_t;

static bool is_copy(const graph_node_t *node) { return facts_of(node)->noop == NOOP_COPY; }

static bool is_alias(const graph_node_t *node) { return facts_of(node)->noop == NOOP_ALIAS; }

/* Operators whose result looks at its first argument. */
static bool is_view(const graph_node_t *node) {
    if (!node->schema || node->result_count != 1 || node->schema->return_count != 1 || !node->schema->arg_count)
        return false;
    const schema_return_t *result = &node->schema->returns[0];
    return result->alias && !(result->flags & SCHEMA_WRITES) && node->schema->args[0].alias == result->alias;
}

static bool is_strided(const graph_node_t *node) { return facts_of(node)->reads == READS_LAYOUT; }

static void mark(void *user, value_id_t *value) { bitset_add(user, value->index); }

static insitu_status find_uses(noops_t *state, arena_t *scratch) {
    graph_t *graph = state->graph;
    TRY(bitset_create(scratch, graph->value_count, &state->escapes));
    TRY(bitset_create(scratch, graph->value_count, &state->states));
    TRY(bitset_create(scratch, graph->value_count, &state->strided));
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (graph->inputs[i].value.index != NONE) bitset_add(&state->states, graph->inputs[i].value.index);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const graph_output_t *output = &graph->outputs[i];
        if (output->arg.kind != ARG_VALUE) continue;
        bitset_add(output->kind == RESULT_USER ? &state->escapes : &state->states, output->arg.value.index);
    }
    for (uint32_t i = graph->order_count; i-- > 0;) {
        graph_node_t *node = graph_node_of(graph, graph->order[i]);
        value_id_t operand;
        if (is_strided(node)) graph_visit_args(node, mark, &state->strided);
        bool looks = node->result_count == 1 && (is_view(node) || is_copy(node) || is_alias(node));
        if (looks && bitset_has(&state->escapes, node->results[0].index) && view_operand(node, 0, &operand))
            bitset_add(&state->escapes, operand.index);
    }
    return INSITU_OK;
}

/* Whether value is an input or a state's new value, or looks at one. */
static bool is_of_state(const noops_t *state, value_id_t value) {
    for (uint32_t i = 0; i < state->graph->node_count + 1; i++) {
        if (bitset_has(&state->states, value.index)) return true;
        node_id_t producer = graph_value_of(state->graph, value)->producer;
        if (producer.index == NONE) return true;
        const graph_node_t *node = graph_node_of(state->graph, producer);
        bool looks = node->result_count == 1 && (is_view(node) || is_alias(node) || is_copy(node));
        if (!looks || !view_operand(node, 0, &value)) return false;
    }
    return false;
}

/* Whether as_strided looks at the result and would find another layout in the operand's place. */
static bool layout_matters(const noops_t *state, const graph_node_t *node, value_id_t operand) {
    const tensor_type_t *from = &graph_value_of(state->graph, operand)->type;
    const tensor_type_t *to = &graph_value_of(state->graph, node->results[0])->type;
    return bitset_has(&state->strided, node->results[0].index) && !type_same_layout(from, to);
}

static bool copy_changes_nothing(const noops_t *state, const graph_node_t *node, value_id_t operand) {
    const tensor_type_t *from = &graph_value_of(state->graph, operand)->type;
    const tensor_type_t *to = &graph_value_of(state->graph, node->results[0])->type;
    if (from->dtype != to->dtype) return false;
    return !bitset_has(&state->escapes, node->results[0].index) || !is_of_state(state, operand);
}

static bool permutes_nothing(const graph_t *graph, const graph_node_t *node) {
    const graph_arg_t *dims = graph_arg_of(graph, node, "dims");
    uint32_t rank = graph_value_of(graph, node->results[0])->type.shape.rank, wrapped;
    if (!dims || dims->kind != ARG_LIST || dims->list.count != rank) return false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim;
        if (!arg_constant(graph, &dims->list.items[i], &dim) || !wrap_dim(dim, rank, &wrapped) || wrapped != i)
            return false;
    }
    return true;
}

static bool transposes_nothing(const graph_t *graph, const graph_node_t *node) {
    int64_t dim0, dim1;
    uint32_t rank = graph_value_of(graph, node->results[0])->type.shape.rank, a, b;
    return arg_constant(graph, graph_arg_of(graph, node, "dim0"), &dim0) &&
           arg_constant(graph, graph_arg_of(graph, node, "dim1"), &dim1) && wrap_dim(dim0, rank, &a) &&
           wrap_dim(dim1, rank, &b) && a == b;
}

static bool view_changes_nothing(const graph_t *graph, const graph_node_t *node, value_id_t operand) {
    const tensor_type_t *from = &graph_value_of(graph, operand)->type;
    const tensor_type_t *to = &graph_value_of(graph, node->results[0])->type;
    if (from->dtype != to->dtype || !shape_same(&from->shape, &to->shape)) return false;
    switch (facts_of(node)->noop) {
    case NOOP_SAME_SIZES:
    case NOOP_RESHAPE: return true;
    case NOOP_PERMUTE: return permutes_nothing(graph, node);
    case NOOP_TRANSPOSE: return transposes_nothing(graph, node);
    case NOOP_T: return to->shape.rank < 2;
    default: return false;
    }
}

/* Keeps the elements' row-major order. */
static bool is_reshape(const graph_node_t *node) { return facts_of(node)->noop == NOOP_RESHAPE; }

/* A value with the node's sizes from which reshapes alone lead to the node, or NO_VALUE. */
static value_id_t reshaped_back(const graph_t *graph, const graph_node_t *node) {
    const tensor_type_t *type = &graph_value_of(graph, node->results[0])->type;
    value_id_t operand;
    while (is_reshape(node) && node->result_count == 1 && view_operand(node, 0, &operand)) {
        const graph_value_t *value = graph_value_of(graph, operand);
        if (value->type.dtype != type->dtype) break;
        if (shape_same(&value->type.shape, &type->shape)) return operand;
        if (value->producer.index == NONE) break;
        node = graph_node_of(graph, value->producer);
    }
    return NO_VALUE;
}

/* Whether source is the view of operand that the scatter writes: the same operator with the same arguments. */
static bool scatters_back(const graph_t *graph, const graph_node_t *node, const op_schema_t *view, value_id_t operand,
                          value_id_t source) {
    node_id_t producer = graph_value_of(graph, source)->producer;
    if (producer.index == NONE) return false;
    const graph_node_t *view_node = graph_node_of(graph, producer);
    if (view_node->schema != view || view_node->args[0].kind != ARG_VALUE ||
        view_node->args[0].value.index != operand.index)
        return false;
    for (uint32_t i = 1; i < view_node->arg_count; i++) {
        const graph_arg_t *same = graph_arg_of(graph, node, view_node->schema->args[i].name);
        if (!same || !arg_same(same, &view_node->args[i])) return false;
    }
    return true;
}

static bool is_number(const graph_t *graph, const graph_arg_t *arg, int64_t expected) {
    int64_t number;
    return arg && arg->kind == ARG_SYM && sym_constant(graph->symbols, arg->sym, &number) && number == expected;
}
static bool is_missing(const graph_arg_t *arg) { return !arg || arg->kind == ARG_NONE || arg->kind == ARG_ABSENT; }

/* The slice is from the first row to the last: one that asks for more must be seen to do so (strict bounds). */
static bool asks_for_all(const graph_t *graph, const graph_node_t *scatter, const shape_t *whole) {
    const graph_arg_t *start = graph_arg_of(graph, scatter, "start"), *end = graph_arg_of(graph, scatter, "end");
    if (!is_missing(start) && !is_number(graph, start, 0)) return false;
    if (is_missing(end) || is_number(graph, end, INT64_MAX)) return true;
    for (uint32_t i = 0; i < whole->rank; i++)
        if (is_number(graph, graph_arg_of(graph, scatter, "dim"), i) ||
            is_number(graph, graph_arg_of(graph, scatter, "dim"), (int64_t)i - whole->rank))
            return end->kind == ARG_SYM && sym_same(end->sym, whole->sizes[i]);
    return false;
}

/* The scattered tensor itself, if its own part is put back; the source, if a slice's is all of it. */
static value_id_t replacement_of_scatter(const graph_t *graph, const graph_node_t *node, value_id_t operand) {
    const op_schema_t *view = operator_other(facts_of(node));
    const value_id_t source = node->args[1].value;
    const tensor_type_t *whole = &graph_value_of(graph, operand)->type, *part = &graph_value_of(graph, source)->type;
    if (scatters_back(graph, node, view, operand, source)) return operand;
    bool is_slice =
        operator_facts_of(view)->noop == NOOP_SAME_SIZES; /* which with the operand's sizes shows all of it */
    if (is_slice && whole->dtype == part->dtype && shape_same(&whole->shape, &part->shape) &&
        asks_for_all(graph, node, &whole->shape))
        return source;
    return NO_VALUE;
}

/* What a node is replaced by, or NO_VALUE. */
static value_id_t replacement_of(const noops_t *state, const graph_node_t *node) {
    const graph_t *graph = state->graph;
    value_id_t operand;
    if (node->result_count != 1 || !view_operand(node, 0, &operand)) return NO_VALUE;
    if (graph_value_of(graph, node->results[0])->kind != VALUE_TENSOR) return NO_VALUE;
    if (is_alias(node)) return operand;
    if (is_copy(node)) return copy_changes_nothing(state, node, operand) ? operand : NO_VALUE;
    if (view_changes_nothing(graph, node, operand)) return operand;
    if (is_reshape(node)) return reshaped_back(graph, node);
    if (facts_of(node)->noop != NOOP_SCATTER || node->args[1].kind != ARG_VALUE) return NO_VALUE;
    return replacement_of_scatter(graph, node, operand);
}

static void follow(void *user, value_id_t *value) {
    const value_id_t *replacement = user;
    if (replacement[value->index].index != NONE) *value = replacement[value->index];
}

static insitu_status remove_in_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    noops_t state = {.graph = graph};
    value_id_t *replacement;
    uint32_t kept = 0;
    TRY(for_each_subgraph(graph, depth, context, remove_in_graph, out_changed));
    TRY(find_uses(&state, context->scratch));
    TRY(arena_array(context->scratch, graph->value_count, sizeof(value_id_t), &replacement));
    for (uint32_t i = 0; i < graph->value_count; i++) replacement[i] = NO_VALUE;
    for (uint32_t i = 0; i < graph->order_count; i++) {
        graph_node_t *node = graph_node_of(graph, graph->order[i]);
        graph_visit_args(node, follow, replacement);
        value_id_t operand = replacement_of(&state, node);
        if (operand.index == NONE || layout_matters(&state, node, operand)) {
            graph->order[kept++] = graph->order[i];
            continue;
        }
        replacement[node->results[0].index] = operand;
        *out_changed = true;
    }
    graph->order_count = kept;
    graph_replace_uses(graph, replacement);
    return INSITU_OK;
}

insitu_status pass_remove_noops(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    return remove_in_graph(context->graph, 0, context, out_changed);
}
