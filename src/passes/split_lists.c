/* split_lists: operators on lists of tensors become one operator for each item.
 *
 * In: nodes aten._foreach_NAME.OVERLOAD and their in-place forms. Out: for each item the overload of aten.NAME, or of the
 * operator that PyTorch computes it by, whose arguments have the types of the items; arguments that are no lists go to
 * each. One that has no such overload stays, and is refused later.
 *
 *     aten._foreach_add_.List([%a, %b], [%x, %y], alpha=2)
 *     -> aten.add_.Tensor(%a, %x, alpha=2)
 *        aten.add_.Tensor(%b, %y, alpha=2)
 *
 * Needs fill_defaults; keeps program order and everything else. Errors: FORMAT (lists of different lengths). */
#include "passes/passes_int.h"

static const char prefix[] = "aten._foreach_";

/* What is computed by an operator of another name. */
static const struct {
    const char *of_lists, *of_items;
} renamed[] = {{"maximum", "clamp_min"},
               {"maximum_", "clamp_min_"},
               {"minimum", "clamp_max"},
               {"minimum_", "clamp_max_"},
               {"norm", "linalg_vector_norm"}};

static bool is_list(const schema_arg_t *arg) { return arg->flags & SCHEMA_LIST; }

/* The argument of the operator on lists that an item's operator takes at a position: that of its name, else the one at
 * this position. NONE: none of its type. */
static uint32_t argument_for(const op_schema_t *lists, const op_schema_t *items, uint32_t position) {
    const schema_arg_t *taken = &items->args[position];
    uint32_t found = schema_arg_index(lists, taken->name);
    if (found == NONE && position < lists->arg_count && schema_arg_index(items, lists->args[position].name) == NONE)
        found = position;
    if (found == NONE || is_list(taken) || lists->args[found].type != taken->type) return NONE;
    return found;
}

/* Whether the operator takes an item of each list, and every other argument. */
static bool takes_items(const op_schema_t *lists, const op_schema_t *items) {
    uint32_t taken = 0;
    if (items->writes != lists->writes) return false;
    for (uint32_t i = 0; i < items->arg_count; i++) {
        bool is_given = argument_for(lists, items, i) != NONE;
        if (!is_given && items->args[i].default_kind == DEFAULT_NONE_GIVEN) return false;
        taken += is_given;
    }
    return taken == lists->arg_count && items->return_count == 1;
}

/* The operator for an item; NULL: the node is none on lists, or there is none. */
static const op_schema_t *item_operator(const graph_node_t *node) {
    char stem[64], name[80];
    if (!node->schema || strncmp(node->target, prefix, sizeof(prefix) - 1) != 0) return NULL;
    target_stem(node->target, stem, sizeof(stem));
    const char *wanted = stem + strlen("_foreach_");
    for (size_t i = 0; i < COUNT_OF(renamed); i++)
        if (strcmp(wanted, renamed[i].of_lists) == 0) wanted = renamed[i].of_items;
    int length = snprintf(name, sizeof(name), "aten.%s.", wanted);
    const op_schema_t *items;
    for (uint32_t i = 0; (items = schema_row(i)) != NULL; i++)
        if (strncmp(items->target, name, (size_t)length) == 0 && takes_items(node->schema, items)) return items;
    return NULL;
}

static insitu_status count_items(const graph_node_t *node, insitu_diag *diag, uint32_t *out_count) {
    char text[NODE_TEXT_SIZE];
    *out_count = NONE;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (!is_list(&node->schema->args[i]) || node->args[i].kind != ARG_LIST) continue;
        uint32_t count = node->args[i].list.count;
        if (*out_count != NONE && *out_count != count)
            FAIL(diag, INSITU_FORMAT, "%s has lists of %u and %u items", node_text(node, text, sizeof(text)),
                 *out_count, count);
        *out_count = count;
    }
    bool fits = *out_count != NONE && (node->result_count == 0 || node->result_count == *out_count);
    if (!fits)
        FAIL(diag, INSITU_FORMAT, "%s has %u results and another number of items", node_text(node, text, sizeof(text)),
             node->result_count);
    return INSITU_OK;
}

/* An operator in place has results where that on lists has none: the tensors that it writes. */
static insitu_status item_result(graph_t *graph, const graph_node_t *node, const op_schema_t *items, uint32_t index,
                                 insitu_diag *diag, value_id_t *out_value) {
    char stem[64], text[NODE_TEXT_SIZE];
    if (node->result_count) {
        *out_value = node->results[index];
        return INSITU_OK;
    }
    const graph_arg_t *self = node->args[0].kind == ARG_LIST ? &node->args[0].list.items[index] : &node->args[0];
    if (self->kind != ARG_VALUE)
        FAIL(diag, INSITU_FORMAT, "%s writes an argument that is no tensor", node_text(node, text, sizeof(text)));
    target_stem(items->target, stem, sizeof(stem));
    const tensor_type_t type = graph_value_of(graph, self->value)->type;
    return graph_add_tensor(graph, stem, &type, out_value);
}

static insitu_status add_item(graph_t *graph, const graph_node_t *node, const op_schema_t *items, uint32_t index,
                              insitu_diag *diag) {
    node_id_t made;
    value_id_t result;
    TRY(item_result(graph, node, items, index, diag, &result));
    TRY(graph_add_node(graph, items->target, &result, 1, node->source, &made));
    for (uint32_t i = 0; i < items->arg_count; i++) {
        uint32_t from = argument_for(node->schema, items, i);
        if (from == NONE) continue;
        const graph_arg_t *given = &node->args[from];
        graph_node_of(graph, made)->args[i] = is_list(&node->schema->args[from]) ? given->list.items[index] : *given;
    }
    TRY(fill_node(graph, made, diag));
    return graph_append(graph, made);
}

static insitu_status split_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    node_id_t *order = graph->order;
    uint32_t count = graph->order_count;
    TRY(for_each_subgraph(graph, depth, context, split_graph, out_changed));
    graph->order = NULL;
    graph->order_count = graph->order_capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        const graph_node_t node = *graph_node_of(graph, order[i]);
        const op_schema_t *items = item_operator(&node);
        uint32_t item_count = 0;
        if (!items) {
            TRY(graph_append(graph, order[i]));
            continue;
        }
        TRY(count_items(&node, context->diag, &item_count));
        for (uint32_t k = 0; k < item_count; k++) TRY(add_item(graph, &node, items, k, context->diag));
        *out_changed = true;
    }
    return INSITU_OK;
}

insitu_status pass_split_lists(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    return split_graph(context->graph, 0, context, out_changed);
}
