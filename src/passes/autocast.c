/* What an enabled autocast region does to the operators in it: it casts their tensors, each operator's by a rule
 * (graph/operators.def), as PyTorch does when the region runs. Only f64 tensors and those that are no floats are left alone.
 *
 *     in a region of bf16 on the CPU:
 *     %y: bf16[4] = aten.mv.default(%w, %x)
 *     %z: bf16[2,2] = aten.mm.default(%a, %b)   ->   %c = aten._to_copy.default(%a, dtype=bf16); ... aten.mm.default(%c, %d)
 *
 * A region says for which kind of device it is; it does nothing to a program on the other kind. Where programs hold the
 * casts already, there is nothing to cast. */
#include "passes/passes_int.h"

#include <ctype.h>

static cast_rule_t rule_of(const graph_t *graph, const graph_node_t *node) {
    const operator_facts_t *facts = facts_of(node);
    return (cast_rule_t)(graph->root->device == GRAPH_ON_CUDA ? facts->cast_cuda : facts->cast_cpu);
}

insitu_status autocast_enter(graph_t *graph, const graph_node_t *region, insitu_diag *diag, autocast_t *state) {
    const graph_arg_t *device = &region->args[0], *low = &region->args[1];
    char text[NODE_TEXT_SIZE];
    if (device->kind != ARG_STRING || (low->kind != ARG_DTYPE && low->kind != ARG_NONE))
        FAIL(diag, INSITU_FORMAT, "%s does not begin with a device and a dtype", node_text(region, text, sizeof(text)));
    bool enabled = arg_bool(graph, &region->args[2], true);
    if (enabled && graph->root->device == GRAPH_ON_OTHERS) {
        const refusal_t refusal = {.node = region,
                                   .reason =
                                       "enables autocast in a program whose tensors are on other devices than the "
                                       "CPU, or than one kind"};
        return emit_refused(graph, &refusal);
    }
    bool on_cuda = graph->root->device == GRAPH_ON_CUDA;
    if (strcmp(device->string, on_cuda ? "cuda" : "cpu") != 0) return INSITU_OK;
    state->low = low->kind == ARG_DTYPE ? low->dtype : on_cuda ? DTYPE_F16 : DTYPE_BF16;
    /* On the CPU PyTorch warns of another dtype and turns autocast off. */
    state->enabled = enabled && (on_cuda || state->low == DTYPE_F16 || state->low == DTYPE_BF16);
    return INSITU_OK;
}

/* ---- operands ---- */

typedef struct caster {
    graph_t *graph;
    const char *source;
    dtype_t low, target;
    uint32_t other; /* WIDEST: tensors that are neither; WITHIN: tensors that would be cast */
    insitu_diag *diag;
} caster_t;

/* True if autocast looks at the argument: a float that is not f64. */
static bool is_eligible(const graph_t *graph, const graph_arg_t *arg, dtype_t *out_dtype) {
    if (arg->kind != ARG_VALUE) return false;
    const graph_value_t *value = graph_value_of(graph, arg->value);
    *out_dtype = value->type.dtype;
    return value->kind == VALUE_TENSOR && dtype_is_float(*out_dtype) && *out_dtype != DTYPE_F64;
}

static insitu_status cast(caster_t *caster, graph_arg_t *arg) {
    dtype_t type;
    if (!is_eligible(caster->graph, arg, &type) || type == caster->target) return INSITU_OK;
    const tensor_type_t from = graph_value_of(caster->graph, arg->value)->type;
    conform_request_t request = {
        .value = arg->value, .from = from, .dtype = caster->target, .sizes = &from.shape, .source = caster->source};
    return emit_conformed(caster->graph, &request, caster->diag, &arg->value);
}

static insitu_status widen(caster_t *caster, graph_arg_t *arg) {
    dtype_t type;
    if (!is_eligible(caster->graph, arg, &type)) return INSITU_OK;
    if (type == DTYPE_F32) caster->target = DTYPE_F32;
    if (type != DTYPE_F32 && type != caster->low && caster->target != DTYPE_F32) caster->other++;
    return INSITU_OK;
}

static insitu_status count_other(caster_t *caster, graph_arg_t *arg) {
    dtype_t type;
    if (is_eligible(caster->graph, arg, &type) && type != caster->target) caster->other++;
    return INSITU_OK;
}

typedef insitu_status (*operand_fn)(caster_t *caster, graph_arg_t *arg);

static insitu_status for_operands(caster_t *caster, graph_arg_t *args, uint32_t count, operand_fn work) {
    for (uint32_t i = 0; i < count; i++) {
        TRY(work(caster, &args[i]));
        for (uint32_t j = 0; args[i].kind == ARG_LIST && j < args[i].list.count; j++)
            TRY(work(caster, &args[i].list.items[j]));
    }
    return INSITU_OK;
}

static insitu_status refuse_node(caster_t *caster, node_id_t node, const char *reason) {
    const graph_node_t copy = *graph_node_of(caster->graph, node);
    const refusal_t refusal = {.node = &copy, .reason = reason};
    return emit_refused(caster->graph, &refusal);
}

/* ---- rules ---- */

static insitu_status cast_widest(caster_t *caster, node_id_t node, graph_arg_t *args, uint32_t count) {
    caster->target = caster->low;
    TRY(for_operands(caster, args, count, widen));
    if (caster->other) return refuse_node(caster, node, "is given floats of a dtype that autocast can't promote");
    return for_operands(caster, args, count, cast);
}

static insitu_status check_within(caster_t *caster, node_id_t node, graph_arg_t *args, uint32_t count) {
    TRY(for_operands(caster, args, count, count_other));
    if (!caster->other) return INSITU_OK;
    return refuse_node(caster, node, "is made of operators of which an autocast region casts some");
}

/* pad is made of operators for one to three dimensions, of which reflection's third isn't cast. */
static bool pads_in_f32(const graph_t *graph, const graph_node_t *node) {
    const graph_arg_t *mode = graph_arg_of(graph, node, "mode"), *pad = graph_arg_of(graph, node, "pad");
    if (!mode || mode->kind != ARG_STRING || !pad || pad->kind != ARG_LIST) return false;
    return strcmp(mode->string, "replicate") == 0 || (strcmp(mode->string, "reflect") == 0 && pad->list.count <= 4);
}

/* The letters of a part of an einsum's equation, as bits. */
static uint64_t letters_of(const char *from, const char *end) {
    uint64_t letters = 0;
    for (; from < end; from++)
        if (isalpha((unsigned char)*from)) letters |= UINT64_C(1) << (*from & 63);
    return letters;
}

static bool has_two_operands(const char *equation) {
    const char *comma = strchr(equation, ',');
    return comma && !strchr(comma + 1, ',');
}

/* True if an equation of two operands sums no letter that only one of them has: such sums come before the product, where
 * they are not cast. An equation without "->" is not looked into. */
static bool is_one_product(const char *equation) {
    const char *comma = strchr(equation, ','), *arrow = strstr(equation, "->");
    if (!arrow || comma > arrow) return false;
    uint64_t a = letters_of(equation, comma), b = letters_of(comma, arrow);
    return ((a ^ b) & ~letters_of(arrow, arrow + strlen(arrow))) == 0;
}

/* Two operands are multiplied element by element, in their own dtype, or by a batched product, in the region's: the
 * recorded result tells. */
static insitu_status cast_einsum(caster_t *caster, node_id_t id, graph_arg_t *args, uint32_t count) {
    const graph_node_t *node = graph_node_of(caster->graph, id);
    const graph_arg_t *equation = graph_arg_of(caster->graph, node, "equation");
    graph_arg_t result = arg_value(node->results[0]);
    dtype_t recorded;
    if (!equation || equation->kind != ARG_STRING || !has_two_operands(equation->string))
        return check_within(caster, id, args, count);
    if (!is_eligible(caster->graph, &result, &recorded) || recorded != caster->low) return INSITU_OK;
    if (!is_one_product(equation->string)) return check_within(caster, id, args, count);
    return for_operands(caster, args, count, cast);
}

insitu_status autocast_operands(graph_t *graph, node_id_t id, const autocast_t *state, insitu_diag *diag) {
    if (!state->enabled) return INSITU_OK;
    const graph_node_t *node = graph_node_of(graph, id);
    graph_arg_t *args = node->args; /* stays where it is while casts are made; the node doesn't */
    uint32_t count = node->arg_count;
    caster_t caster = {.graph = graph, .source = node->source, .low = state->low, .target = DTYPE_F32, .diag = diag};
    switch (rule_of(graph, node)) {
    case CAST_NONE: return INSITU_OK;
    case CAST_LOW: caster.target = state->low; return for_operands(&caster, args, count, cast);
    case CAST_F32: return for_operands(&caster, args, count, cast);
    case CAST_F32_DTYPE:
        if (!arg_is_none(graph_arg_of(graph, node, "dtype"))) return INSITU_OK;
        return for_operands(&caster, args, count, cast);
    case CAST_WIDEST: return cast_widest(&caster, id, args, count);
    case CAST_WITHIN_LOW: caster.target = state->low; return check_within(&caster, id, args, count);
    case CAST_F32_PAD: return pads_in_f32(graph, node) ? for_operands(&caster, args, count, cast) : INSITU_OK;
    case CAST_EINSUM: caster.target = state->low; return cast_einsum(&caster, id, args, count);
    case CAST_WITHIN_F32: return check_within(&caster, id, args, count);
    }
    return INSITU_INTERNAL;
}
