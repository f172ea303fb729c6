/* In-place operators and their functional variants.
 *
 *     aten.NAME_.OVERLOAD(self, ...)          the overload of NAME with the same arguments; its result is self's new
 *                                             content
 *     aten.NAME.OVERLOAD(..., out)            the overload of NAME with the same arguments but out
 *     aten.t_.default and the like            change which view the object is, by aten.t.default
 *     aten.fill_diagonal_.default             writes a number to a view of its argument
 *     aten.batch_norm.default in training     aten._native_batch_norm_legit_functional.default: writes its running
 *                                             statistics although its schema doesn't say so
 *
 * Which arguments are written is the schema's word, save for the last row; which operators do otherwise than the first two
 * is a fact of graph/operators.def. */
#include "passes/passes_int.h"

/* The operator that the in-place one is named after, "aten.add." of "aten.add_.Tensor"; of an out= one its own name. */
static bool variant_prefix(const op_schema_t *schema, char *prefix, size_t size) {
    char stem[64];
    target_stem(schema->target, stem, sizeof(stem));
    size_t length = strlen(stem);
    if (!(schema->args[0].flags & SCHEMA_WRITES))
        snprintf(prefix, size, "aten.%s.", stem);
    else if (strncmp(stem, "__i", 3) == 0)
        snprintf(prefix, size, "aten.__%s.", stem + 3);
    else if (length > 1 && stem[length - 1] == '_')
        snprintf(prefix, size, "aten.%.*s.", (int)(length - 1), stem);
    else
        return false;
    return true;
}

static bool is_list(const schema_arg_t *arg) { return arg->flags & SCHEMA_LIST; }

/* The argument of schema that a variant's argument takes: that of its name, save that what an operator calls self in place
 * may be called input elsewhere (dropout). NONE: there is none of its type. */
static uint32_t argument_for(const op_schema_t *schema, const schema_arg_t *taken) {
    uint32_t position = schema_arg_index(schema, taken->name);
    if (position == NONE && strcmp(taken->name, "input") == 0) position = schema_arg_index(schema, "self");
    if (position == NONE) return NONE;
    const schema_arg_t *arg = &schema->args[position];
    return arg->type == taken->type && is_list(arg) == is_list(taken) ? position : NONE;
}

/* Whether variant takes the same arguments, but those that schema writes past the first, and gives what schema writes. */
static bool takes_the_same(const op_schema_t *schema, const op_schema_t *variant) {
    uint32_t given = 0, written = 0, taken = 0;
    for (uint32_t i = 0; i < schema->arg_count; i++) {
        bool is_written = schema->args[i].flags & SCHEMA_WRITES;
        written += is_written;
        given += !is_written || i == 0;
    }
    for (uint32_t i = 0; i < variant->arg_count; i++) {
        uint32_t position = argument_for(schema, &variant->args[i]);
        if (position == NONE || (position > 0 && (schema->args[position].flags & SCHEMA_WRITES))) return false;
        taken++;
    }
    for (uint32_t i = 0; i < written && i < variant->return_count; i++)
        if (variant->returns[i].type != SCHEMA_TENSOR || (variant->returns[i].flags & SCHEMA_LIST)) return false;
    return taken == given && variant->return_count >= written;
}

/* By the signature, among the overloads: pow_.Scalar(Tensor, Scalar) is pow.Tensor_Scalar, not pow.Scalar(Scalar,
 * Tensor). An overload of the same name goes first. */
const op_schema_t *functional_variant(const op_schema_t *schema) {
    char prefix[80], same[160];
    const char *overload = strrchr(schema->target, '.');
    if (schema->arg_count == 0 || !overload || !variant_prefix(schema, prefix, sizeof(prefix))) return NULL;
    snprintf(same, sizeof(same), "%s%s", prefix, overload + 1);
    const op_schema_t *variant = schema_find(same);
    if (variant && !variant->writes && takes_the_same(schema, variant)) return variant;
    const size_t length = strlen(prefix);
    for (uint32_t i = schema_first(prefix); (variant = schema_row(i)) && strncmp(variant->target, prefix, length) == 0;
         i++)
        if (!variant->writes && takes_the_same(schema, variant)) return variant;
    return NULL;
}

graph_arg_t variant_argument(const graph_node_t *node, const schema_arg_t *taken) {
    uint32_t position = argument_for(node->schema, taken);
    return position == NONE ? (graph_arg_t){0} : node->args[position];
}

static mutation_t refused(const char *why) { return (mutation_t){.kind = MUTATION_REFUSED, .why = why}; }

/* The variant's results 3 and 4 are the new statistics. An operator whose schema says that it writes them is taken to do so
 * in inference too, where they stay what they are. */
static mutation_t statistics_of(const graph_t *graph, const graph_node_t *node) {
    const graph_arg_t *mean = graph_arg_of(graph, node, "running_mean");
    const graph_arg_t *variance = graph_arg_of(graph, node, "running_var");
    const graph_arg_t *training = graph_arg_of(graph, node, "training");
    if (!training) training = graph_arg_of(graph, node, "use_input_stats");
    bool is_training = !training || arg_bool(graph, training, true);
    bool writes = node->schema->writes || (is_training && !arg_is_none(mean) && !arg_is_none(variance));
    if (!writes) return (mutation_t){.kind = MUTATION_NONE};
    const op_schema_t *variant = operator_other(facts_of(node));
    if (!variant) return refused("updates its running statistics, which is not handled for this operator");
    return (mutation_t){
        .kind = MUTATION_HIDDEN,
        .variant = variant,
        .written_count = 2,
        .written = {schema_arg_index(node->schema, "running_mean"), schema_arg_index(node->schema, "running_var")},
        .results = {3, 4}};
}

static mutation_t variant_mutation(const graph_node_t *node, const op_schema_t *variant) {
    mutation_t found = {.kind = MUTATION_VARIANT, .variant = variant};
    for (uint32_t i = 0; i < node->schema->arg_count; i++) {
        if (!(node->schema->args[i].flags & SCHEMA_WRITES)) continue;
        if (is_list(&node->schema->args[i])) return refused("writes a list of tensors");
        if (found.written_count == COUNT_OF(found.written)) return refused("writes many arguments");
        found.written[found.written_count] = i;
        found.results[found.written_count] = found.written_count;
        found.written_count++;
    }
    return variant ? found : refused("writes its argument and has no functional counterpart");
}

static bool resizes(const graph_t *graph, const graph_node_t *node) {
    if (node->arg_count == 0 || node->args[0].kind != ARG_VALUE || node->result_count != 1) return true;
    const tensor_type_t *before = &graph_value_of(graph, node->args[0].value)->type;
    const tensor_type_t *after = &graph_value_of(graph, node->results[0])->type;
    return !shape_same(&before->shape, &after->shape) || !type_same_layout(before, after);
}

mutation_t mutation_of(const graph_t *graph, const graph_node_t *node) {
    const write_kind_t write = (write_kind_t)facts_of(node)->write;
    if (write == WRITE_STATISTICS) return statistics_of(graph, node);
    if (!node->schema || !node->schema->writes) return (mutation_t){.kind = MUTATION_NONE};
    const op_schema_t *variant = functional_variant(node->schema);
    switch (write) {
    case WRITE_COPY: return (mutation_t){.kind = MUTATION_COPY};
    case WRITE_DIAGONAL: return (mutation_t){.kind = MUTATION_DIAGONAL};
    case WRITE_NOTHING: return (mutation_t){.kind = MUTATION_NOTHING};
    case WRITE_RESIZED:
        if (!resizes(graph, node)) return (mutation_t){.kind = MUTATION_NOTHING};
        return refused("gives its argument other memory or sizes");
    case WRITE_MEMORY: return refused("gives its argument other memory or sizes");
    case WRITE_VIEW:
        return variant ? (mutation_t){.kind = MUTATION_METADATA, .variant = variant}
                       : refused("changes its argument's view");
    case WRITE_STATISTICS:
    case WRITE_BY_SCHEMA: break;
    }
    return variant_mutation(node, variant);
}

dtype_t mutation_result_dtype(const graph_t *graph, const graph_node_t *node, const mutation_t *mutation,
                              dtype_t written) {
    const bool is_in_place = node->schema->args[0].flags & SCHEMA_WRITES;
    switch ((result_rule_t)operator_facts_of(mutation->variant)->result) {
    case RESULT_BOOL: return DTYPE_BOOL;
    case RESULT_WIDENED: {
        if (!is_in_place || !dtype_is_integral(written)) return written; /* an out argument decides itself */
        const graph_arg_t *given = graph_arg_of(graph, node, "dtype");
        return given && given->kind == ARG_DTYPE ? given->dtype : DTYPE_I64;
    }
    case RESULT_BY_WRITTEN: return written;
    case RESULT_PROMOTED: break;
    }
    dtype_t types[8];
    operand_class_t classes[8];
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->arg_count && count < COUNT_OF(types); i++) {
        bool is_out = i > 0 && (node->schema->args[i].flags & SCHEMA_WRITES);
        if (is_out || node->args[i].kind != ARG_VALUE) continue;
        const graph_value_t *value = graph_value_of(graph, node->args[i].value);
        if (value->kind != VALUE_TENSOR) continue;
        types[count] = value->type.dtype;
        classes[count++] = value->type.shape.rank ? OPERAND_TENSOR : OPERAND_ZERO_DIM;
    }
    if (count == 0) return written;
    dtype_t result = dtype_result(types, classes, count);
    /* True division, powers and the like of integers are floats: only an out argument can hold them. */
    return dtype_is_float(written) && dtype_is_integral(result) ? written : result;
}
