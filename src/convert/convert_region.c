/* Control flow: higher_order.cond and while_loop, whose subgraphs become regions (network/network_region.c).
 *
 *     %y: f32[4] = higher_order.cond(%p, graph {...}, graph {...}, [%x, 2*s77])
 *     %i: int(u1), %y: f32[4] = higher_order.while_loop(graph {...}, graph {...}, [s77, %x], [%n])
 *
 * A number that is the same expression inside is not handed over. Any other, such as one that a loop carries, travels as a
 * tensor of one element, which the region reads; so do numbers that a region gives. */
#include "convert/convert_int.h"

typedef struct control {
    const graph_t *graphs[2];
    const graph_arg_t *operands; /* of both */
    uint32_t operand_count, carried_count;
    tensor_id_t *tensors;  /* what is handed over for each operand; NO_TENSOR: nothing */
    network_t *regions[2]; /* once they are converted */
} control_t;

static dtype_t dtype_of_number(const converter_t *c, sym_t number) {
    sym_kind_t kind = sym_kind_of(c->pool, number);
    return kind == SYM_KIND_FLOAT ? DTYPE_F64 : kind == SYM_KIND_BOOL ? DTYPE_BOOL : DTYPE_I64;
}

static insitu_status emit_one(converter_t *c, sym_t number, tensor_id_t *out) {
    const shape_t one = {.rank = 0};
    return emit_number(c, dtype_of_number(c, number), &one, number, out);
}

/* ---- operands ---- */

/* The value that the operand has inside; NULL: a constant of the program. */
static const graph_value_t *subgraph_input(const graph_t *graph, uint32_t operand) {
    value_id_t value = graph->inputs[operand].value;
    return value.index == NONE ? NULL : graph_value_of(graph, value);
}

static insitu_status check_subgraph_input(converter_t *c, const control_t *control, uint32_t operand, bool is_tensor) {
    for (uint32_t i = 0; i < 2; i++) {
        const graph_value_t *inside = subgraph_input(control->graphs[i], operand);
        if (!inside || inside->kind == VALUE_NONE) continue;
        if ((inside->kind == VALUE_TENSOR) != is_tensor)
            return convert_fail(c, INSITU_FORMAT, "operand %u is a tensor outside a subgraph or inside, not both",
                                operand);
        uint32_t symbol = is_tensor ? NONE : sym_symbol_index(c->pool, inside->expr);
        if (operand < control->carried_count && !is_tensor && (symbol == NONE || c->read[symbol]))
            return convert_unsupported(c, "a carried number which has no symbol of its own");
    }
    return INSITU_OK;
}

/* The expression of the operand inside is the one outside. */
static bool is_same_number(const control_t *control, uint32_t operand, sym_t outside) {
    for (uint32_t i = 0; i < 2; i++) {
        const graph_value_t *inside = subgraph_input(control->graphs[i], operand);
        if (inside && inside->kind == VALUE_SYM && !sym_same(inside->expr, outside)) return false;
    }
    return operand >= control->carried_count;
}

static insitu_status hand_over(converter_t *c, control_t *control, uint32_t operand) {
    const graph_arg_t *arg = &control->operands[operand];
    bool is_value = arg->kind == ARG_VALUE && graph_value_of(c->graph, arg->value)->kind == VALUE_TENSOR;
    control->tensors[operand] = NO_TENSOR;
    if (!is_value && arg->kind != ARG_SYM) {
        if (operand < control->carried_count) return convert_unsupported(c, "a carried value that is no tensor");
        return INSITU_OK;
    }
    TRY(check_subgraph_input(c, control, operand, is_value));
    if (is_value) {
        control->tensors[operand] = c->tensors[arg->value.index];
        if (control->tensors[operand].index != NONE) return INSITU_OK;
        return convert_fail(c, INSITU_FORMAT, "operand %u has no value", operand);
    }
    if (is_same_number(control, operand, arg->sym)) return INSITU_OK;
    return emit_one(c, arg->sym, &control->tensors[operand]);
}

/* ---- inside ---- */

static insitu_status add_region_input(converter_t *c, const graph_input_t *input, tensor_id_t outside,
                                      const network_t *outer) {
    const network_tensor_t *tensor = network_tensor_of(outer, outside);
    const graph_value_t *value = input->value.index == NONE ? NULL : graph_value_of(c->graph, input->value);
    tensor_type_t type = {.dtype = tensor->dtype};
    network_input_t *row;
    if (value && value->kind == VALUE_TENSOR) type = value->type;
    TRY(network_add_input(c->network, &row));
    const uint32_t index = c->network->input_count - 1;
    TRY(arena_string(&c->network->arena, input->name, strlen(input->name), &row->name));
    for (uint32_t i = 0; i < type.shape.rank; i++) row->strides[i] = type.strides[i];
    TRY(network_check_bytes(c->network, input->name, type.dtype, &type.shape, c->diag));
    TRY(network_add_tensor(c->network, input->name, TENSOR_INPUT, type.dtype, &type.shape, index, &row->tensor));
    if (value && value->kind == VALUE_TENSOR) c->tensors[input->value.index] = row->tensor;
    return INSITU_OK;
}

/* Numbers that were handed over as tensors are read. */
static insitu_status read_numbers(converter_t *c, const control_t *control) {
    for (uint32_t i = 0, index = 0; i < control->operand_count; i++) {
        if (control->tensors[i].index == NONE) continue;
        const graph_value_t *inside = subgraph_input(c->graph, i);
        tensor_id_t given = c->network->inputs[index++].tensor;
        if (inside && inside->kind == VALUE_SYM) TRY(emit_item(c, given, inside->expr));
    }
    return INSITU_OK;
}

/* A tensor, or a number as one; NO_TENSOR: neither. */
static insitu_status take_output(converter_t *c, const graph_output_t *output, tensor_id_t *out) {
    *out = NO_TENSOR;
    if (output->kind != RESULT_USER) return convert_unsupported(c, "a subgraph that writes its operands");
    if (output->arg.kind == ARG_SYM) return emit_one(c, output->arg.sym, out);
    if (output->arg.kind != ARG_VALUE) return INSITU_OK;
    const graph_value_t *value = graph_value_of(c->graph, output->arg.value);
    if (value->kind == VALUE_SYM) return emit_one(c, value->expr, out);
    if (value->kind == VALUE_NONE) return INSITU_OK;
    *out = c->tensors[output->arg.value.index];
    if (out->index == NONE) return convert_unsupported(c, "a subgraph's result '%s' is not computed", value->name);
    return INSITU_OK;
}

static insitu_status add_region_outputs(converter_t *c) {
    for (uint32_t i = 0; i < c->graph->output_count; i++) {
        tensor_id_t tensor;
        network_output_t *row;
        TRY(take_output(c, &c->graph->outputs[i], &tensor));
        if (tensor.index == NONE) continue;
        TRY(network_add_output(c->network, &row));
        row->kind = OUTPUT_TENSOR;
        row->tensor = tensor;
        TRY(arena_printf(&c->network->arena, &row->name, "output.%u", c->network->output_count - 1));
    }
    return INSITU_OK;
}

typedef struct region_job {
    const control_t *control;
    const network_t *outer;
} region_job_t;

static insitu_status fill_region(converter_t *c, void *user) {
    const region_job_t *job = user;
    const control_t *control = job->control;
    const graph_node_t *node = c->node;
    for (uint32_t i = 0; i < control->operand_count; i++)
        if (control->tensors[i].index != NONE)
            TRY(add_region_input(c, &c->graph->inputs[i], control->tensors[i], job->outer));
    TRY(read_numbers(c, control));
    TRY(convert_nodes(c));
    c->node = node;
    return add_region_outputs(c);
}

/* ---- the layer ---- */

static insitu_status take_graph(converter_t *c, uint32_t index, const control_t *control, const graph_t **out) {
    const graph_node_t *node = c->node;
    if (index >= node->arg_count || node->args[index].kind != ARG_GRAPH)
        return convert_fail(c, INSITU_FORMAT, "argument %u is no subgraph", index);
    *out = node->args[index].graph;
    if ((*out)->input_count != control->operand_count)
        return convert_fail(c, INSITU_FORMAT, "a subgraph has %u inputs where %u operands are given",
                            (*out)->input_count, control->operand_count);
    return INSITU_OK;
}

/* A list argument's items, and the next one's behind them. */
static insitu_status take_operands(converter_t *c, uint32_t first, uint32_t lists, control_t *control) {
    const graph_node_t *node = c->node;
    graph_arg_t *all;
    uint32_t count = 0;
    for (uint32_t i = first; i < first + lists && i < node->arg_count; i++)
        if (node->args[i].kind == ARG_LIST) count += node->args[i].list.count;
    TRY(arena_array(&c->network->arena, count + 1, sizeof *all, &all));
    control->operands = all;
    for (uint32_t i = first; i < first + lists && i < node->arg_count; i++)
        for (uint32_t k = 0; node->args[i].kind == ARG_LIST && k < node->args[i].list.count; k++)
            all[control->operand_count++] = node->args[i].list.items[k];
    return arena_array(&c->network->arena, count + 1, sizeof *control->tensors, &control->tensors);
}

static insitu_status convert_regions(converter_t *c, control_t *control, uint32_t first_graph, layer_draft_t *draft) {
    sym_t *numbers; /* the draft points at them */
    TRY(arena_array(&c->network->arena, 2, sizeof *numbers, &numbers));
    for (uint32_t i = 0; i < 2; i++) TRY(take_graph(c, first_graph + i, control, &control->graphs[i]));
    for (uint32_t i = 0; i < control->operand_count; i++) TRY(hand_over(c, control, i));
    for (uint32_t i = 0; i < 2; i++) {
        region_job_t job = {control, c->network};
        numbers[i] = sym_int(c->pool, c->network->region_count);
        TRY(network_add_region(c->network, &control->regions[i]));
        TRY(convert_subgraph(c, control->graphs[i], control->regions[i], fill_region, &job));
    }
    draft_list(draft, ATTR_REGIONS, numbers, 2);
    return INSITU_OK;
}

/* Tensors become the node's results, numbers are read. */
static insitu_status set_results(converter_t *c, const tensor_id_t *tensors, uint32_t count) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < c->node->result_count; i++) {
        const graph_value_t *value = graph_value_of(c->graph, c->node->results[i]);
        if (value->kind == VALUE_NONE) continue;
        if (next == count) return convert_fail(c, INSITU_FORMAT, "its subgraphs give %u results", count);
        if (value->kind == VALUE_TENSOR)
            set_result(c, i, tensors[next++]);
        else
            TRY(emit_item(c, tensors[next++], value->expr));
    }
    return INSITU_OK;
}

static insitu_status emit_control(converter_t *c, const control_t *control, const layer_draft_t *draft,
                                  tensor_id_t condition) {
    tensor_id_t *operands, results[MAX_RESULTS];
    uint32_t count = 0;
    TRY(arena_array(&c->network->arena, control->operand_count + 1, sizeof *operands, &operands));
    if (condition.index != NONE) operands[count++] = condition;
    for (uint32_t i = 0; i < control->operand_count; i++)
        if (control->tensors[i].index != NONE) operands[count++] = control->tensors[i];
    TRY(emit(c, draft, operands, count, results));
    return set_results(c, results, layer_result_count(c->network, draft->kind, draft->attrs));
}

static insitu_status take_condition(converter_t *c, tensor_id_t *out) {
    const graph_arg_t *arg = c->node->arg_count ? &c->node->args[0] : NULL;
    *out = NO_TENSOR;
    if (arg && arg->kind == ARG_SYM) return emit_one(c, arg->sym, out);
    if (arg && arg->kind == ARG_VALUE) *out = c->tensors[arg->value.index];
    return out->index == NONE ? convert_fail(c, INSITU_FORMAT, "it has no condition") : INSITU_OK;
}

insitu_status convert_cond(converter_t *c) {
    control_t control = {.operand_count = 0};
    layer_draft_t draft = draft_of(LAYER_COND);
    tensor_id_t condition;
    TRY(take_condition(c, &condition));
    TRY(take_operands(c, 3, 1, &control));
    TRY(convert_regions(c, &control, 1, &draft));
    return emit_control(c, &control, &draft, condition);
}

insitu_status convert_while(converter_t *c) {
    control_t control = {.operand_count = 0};
    layer_draft_t draft = draft_of(LAYER_LOOP);
    TRY(take_operands(c, 2, 2, &control));
    if (c->node->arg_count > 2 && c->node->args[2].kind == ARG_LIST)
        control.carried_count = c->node->args[2].list.count;
    TRY(convert_regions(c, &control, 0, &draft));
    return emit_control(c, &control, &draft, NO_TENSOR);
}
