/* In-place operators and their functional twins.
 *
 *     aten.NAME_.OVERLOAD(self, ...)          the overload of NAME with the same arguments; its result is self's new
 *                                             content
 *     aten.NAME.OVERLOAD(..., out)            the overload of NAME with the same arguments but out
 *     aten.t_.default and the like            change which view the object is, by aten.t.default
 *     aten.fill_diagonal_.default             writes a number to a view of its argument
 *     aten.batch_norm.default in training     aten._native_batch_norm_legit_functional.default: writes its running
 *                                             statistics although its schema doesn't say so
 *
 * Which arguments are written is the schema's word, save for the last row. */
#include "passes/passes_int.h"

/* Statistics that a normalisation updates in training mode, unmarked in its schema or marked. */
static const struct {
    const char *target, *training, *twin; /* twin NULL: none is known */
} statistics[] = {
    {"aten.batch_norm.default", "training", "aten._native_batch_norm_legit_functional.default"},
    {"aten.native_batch_norm.default", "training", "aten._native_batch_norm_legit_functional.default"},
    {"aten._native_batch_norm_legit.default", "training", "aten._native_batch_norm_legit_functional.default"},
    {"aten.cudnn_batch_norm.default", "training", NULL},
    {"aten.miopen_batch_norm.default", "training", NULL},
    {"aten._batch_norm_impl_index.default", "training", NULL},
    {"aten._batch_norm_with_update.default", NULL, NULL},
    {"aten.instance_norm.default", "use_input_stats", NULL},
};

static const char *const metadata_stems[] = {"t_",        "transpose_", "squeeze_",   "unsqueeze_",
                                             "swapaxes_", "swapdims_",  "as_strided_"};
static const char *const nothing_stems[] = {"detach_", "requires_grad_", "lift_"};
static const char *const resizing_stems[] = {"resize_", "resize_as_", "_resize_output_", "set_", "set_data"};

/* Operators whose result's dtype comes from all their tensors; written back, it is cast. */
static const char *const promoting_stems[] = {
    "add_",         "add",         "sub_",          "sub",          "subtract_", "subtract",     "mul_",
    "mul",          "multiply_",   "multiply",      "div_",         "div",       "divide_",      "divide",
    "true_divide_", "true_divide", "floor_divide_", "floor_divide", "pow_",      "pow",          "remainder_",
    "remainder",    "fmod_",       "fmod",          "atan2_",       "atan2",     "arctan2_",     "arctan2",
    "addcmul_",     "addcmul",     "addcdiv_",      "addcdiv",      "clamp_",    "clamp",        "clamp_min_",
    "clamp_min",    "clamp_max_",  "clamp_max",     "clip_",        "clip",      "bitwise_and_", "bitwise_and",
    "bitwise_or_",  "bitwise_or",  "bitwise_xor_",  "bitwise_xor",  "__iand__",  "__ior__",      "__ixor__",
    "hypot_",       "hypot",       "copysign_",     "copysign",     "xlogy_",    "xlogy",        "gcd_",
    "gcd",          "lcm_",        "lcm",           "maximum",      "minimum",   "fmax",         "fmin",
    "nextafter_",   "nextafter",   "logaddexp",     "logaddexp2"};

/* Operators whose result is bool whatever they compare. */
static const char *const comparing_stems[] = {"eq_",           "eq",
                                              "ne_",           "ne",
                                              "lt_",           "lt",
                                              "le_",           "le",
                                              "gt_",           "gt",
                                              "ge_",           "ge",
                                              "equal_",        "not_equal_",
                                              "not_equal",     "less_",
                                              "less",          "less_equal_",
                                              "less_equal",    "greater_",
                                              "greater",       "greater_equal_",
                                              "greater_equal", "logical_and_",
                                              "logical_and",   "logical_or_",
                                              "logical_or",    "logical_xor_",
                                              "logical_xor",   "logical_not_",
                                              "logical_not",   "isnan",
                                              "isinf",         "isfinite"};

/* Operators that add up integers in i64, unless a dtype is given. */
static const char *const widening_stems[] = {"cumsum_", "cumprod_"};

static bool stem_in(const char *stem, const char *const *stems, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(stem, stems[i]) == 0) return true;
    return false;
}

/* The operator that the in-place one is named after, "aten.add." of "aten.add_.Tensor"; of an out= one its own name. */
static bool twin_prefix(const op_schema *schema, char *prefix, size_t size) {
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

static bool is_list(const schema_arg *arg) { return arg->flags & SCHEMA_LIST; }

/* The argument of schema that a twin's argument takes: that of its name, save that what an operator calls self in place
 * may be called input elsewhere (dropout). NONE: there is none of its type. */
static uint32_t argument_for(const op_schema *schema, const schema_arg *taken) {
    uint32_t position = schema_arg_index(schema, taken->name);
    if (position == NONE && strcmp(taken->name, "input") == 0) position = schema_arg_index(schema, "self");
    if (position == NONE) return NONE;
    const schema_arg *arg = &schema->args[position];
    return arg->type == taken->type && is_list(arg) == is_list(taken) ? position : NONE;
}

/* Whether twin takes the same arguments, but those that schema writes past the first, and gives what schema writes. */
static bool takes_the_same(const op_schema *schema, const op_schema *twin) {
    uint32_t given = 0, written = 0, taken = 0;
    for (uint32_t i = 0; i < schema->arg_count; i++) {
        bool is_written = schema->args[i].flags & SCHEMA_WRITES;
        written += is_written;
        given += !is_written || i == 0;
    }
    for (uint32_t i = 0; i < twin->arg_count; i++) {
        uint32_t position = argument_for(schema, &twin->args[i]);
        if (position == NONE || (position > 0 && (schema->args[position].flags & SCHEMA_WRITES))) return false;
        taken++;
    }
    for (uint32_t i = 0; i < written && i < twin->return_count; i++)
        if (twin->returns[i].type != SCHEMA_TENSOR || (twin->returns[i].flags & SCHEMA_LIST)) return false;
    return taken == given && twin->return_count >= written;
}

/* By the signature, among the overloads: pow_.Scalar(Tensor, Scalar) is pow.Tensor_Scalar, not pow.Scalar(Scalar,
 * Tensor). An overload of the same name goes first. */
const op_schema *functional_twin(const op_schema *schema) {
    char prefix[80], same[160];
    const char *overload = strrchr(schema->target, '.');
    if (schema->arg_count == 0 || !overload || !twin_prefix(schema, prefix, sizeof(prefix))) return NULL;
    snprintf(same, sizeof(same), "%s%s", prefix, overload + 1);
    const op_schema *twin = schema_find(same);
    if (twin && !twin->writes && takes_the_same(schema, twin)) return twin;
    const size_t length = strlen(prefix);
    for (uint32_t i = 0; (twin = schema_row(i)) != NULL; i++)
        if (!twin->writes && strncmp(twin->target, prefix, length) == 0 && takes_the_same(schema, twin)) return twin;
    return NULL;
}

graph_arg twin_argument(const graph_node *node, const schema_arg *taken) {
    uint32_t position = argument_for(node->schema, taken);
    return position == NONE ? (graph_arg){0} : node->args[position];
}

static mutation refused(const char *why) { return (mutation){.kind = MUTATION_REFUSED, .why = why}; }

static mutation statistics_of(const graph *graph, const graph_node *node, size_t row) {
    const graph_arg *mean = graph_arg_of(graph, node, "running_mean");
    const graph_arg *variance = graph_arg_of(graph, node, "running_var");
    bool is_training =
        !statistics[row].training || arg_bool(graph, graph_arg_of(graph, node, statistics[row].training), true);
    if (!is_training || arg_is_none(mean) || arg_is_none(variance)) return (mutation){.kind = MUTATION_NONE};
    const op_schema *twin = statistics[row].twin ? schema_find(statistics[row].twin) : NULL;
    if (!twin) return refused("updates its running statistics, which is not handled for this operator");
    return (mutation){
        .kind = MUTATION_HIDDEN,
        .twin = twin,
        .written_count = 2,
        .written = {schema_arg_index(node->schema, "running_mean"), schema_arg_index(node->schema, "running_var")},
        .results = {3, 4}};
}

static mutation twin_mutation(const graph_node *node, const op_schema *twin) {
    mutation found = {.kind = MUTATION_TWIN, .twin = twin};
    for (uint32_t i = 0; i < node->schema->arg_count; i++) {
        if (!(node->schema->args[i].flags & SCHEMA_WRITES)) continue;
        if (is_list(&node->schema->args[i])) return refused("writes a list of tensors");
        if (found.written_count == COUNT_OF(found.written)) return refused("writes many arguments");
        found.written[found.written_count] = i;
        found.results[found.written_count] = found.written_count;
        found.written_count++;
    }
    return twin ? found : refused("writes its argument and has no functional counterpart");
}

static bool resizes(const graph *graph, const graph_node *node) {
    if (node->arg_count == 0 || node->args[0].kind != ARG_VALUE || node->result_count != 1) return true;
    const tensor_type *before = &graph_value_of(graph, node->args[0].value)->type;
    const tensor_type *after = &graph_value_of(graph, node->results[0])->type;
    return !shape_same(&before->shape, &after->shape) || !type_same_layout(before, after);
}

mutation mutation_of(const graph *graph, const graph_node *node) {
    if (!node->schema) return (mutation){.kind = MUTATION_NONE};
    for (size_t i = 0; i < COUNT_OF(statistics); i++)
        if (target_is(node, statistics[i].target)) return statistics_of(graph, node, i);
    if (!node->schema->writes) return (mutation){.kind = MUTATION_NONE};
    if (target_is(node, "aten.copy_.default")) return (mutation){.kind = MUTATION_COPY};
    if (target_is(node, "aten.fill_diagonal_.default")) return (mutation){.kind = MUTATION_DIAGONAL};
    char stem[64];
    target_stem(node->target, stem, sizeof(stem));
    if (stem_in(stem, nothing_stems, COUNT_OF(nothing_stems))) return (mutation){.kind = MUTATION_NOTHING};
    if (stem_in(stem, resizing_stems, COUNT_OF(resizing_stems))) {
        bool is_plain = strncmp(stem, "resize_", 7) == 0 && !resizes(graph, node);
        return is_plain ? (mutation){.kind = MUTATION_NOTHING} : refused("gives its argument other memory or sizes");
    }
    const op_schema *twin = functional_twin(node->schema);
    if (stem_in(stem, metadata_stems, COUNT_OF(metadata_stems)))
        return twin ? (mutation){.kind = MUTATION_METADATA, .twin = twin} : refused("changes its argument's view");
    return twin_mutation(node, twin);
}

dtype mutation_result_dtype(const graph *graph, const graph_node *node, const mutation *mutation, dtype written) {
    char stem[64];
    target_stem(node->target, stem, sizeof(stem));
    if (stem_in(stem, comparing_stems, COUNT_OF(comparing_stems))) return DTYPE_BOOL;
    if (stem_in(stem, widening_stems, COUNT_OF(widening_stems)) && dtype_is_integral(written)) {
        const graph_arg *given = graph_arg_of(graph, node, "dtype");
        return given && given->kind == ARG_DTYPE ? given->dtype : DTYPE_I64;
    }
    if (mutation->kind != MUTATION_TWIN || !stem_in(stem, promoting_stems, COUNT_OF(promoting_stems))) return written;
    dtype types[8];
    operand_class classes[8];
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->arg_count && count < COUNT_OF(types); i++) {
        bool is_out = i > 0 && (node->schema->args[i].flags & SCHEMA_WRITES);
        if (is_out || node->args[i].kind != ARG_VALUE) continue;
        const graph_value *value = graph_value_of(graph, node->args[i].value);
        if (value->kind != VALUE_TENSOR) continue;
        types[count] = value->type.dtype;
        classes[count++] = value->type.shape.rank ? OPERAND_TENSOR : OPERAND_ZERO_DIM;
    }
    if (count == 0) return written;
    dtype result = dtype_result(types, classes, count);
    /* True division, powers and the like of integers are floats: only an out argument can hold them. */
    return dtype_is_float(written) && dtype_is_integral(result) ? written : result;
}
