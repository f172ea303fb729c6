/* The outputs of a graph that becomes functional: mutations first, in the order of the inputs, then what the program
 * returns; and what can't be, found when the walk is over: a written tensor that shares its storage with another input,
 * an input that ends as a view of itself, a subgraph that writes its operand. */
#include "passes/passes_int.h"

#include <stdarg.h>

/* ---- stored tensors ---- */

static const graph_weight_t *weight_of(const graph_t *graph, const graph_input_t *input) {
    return input->weight == NONE ? NULL : &graph->weights[input->weight];
}

static bool same_stored(const graph_weight_t *a, const graph_weight_t *b) {
    return a && b && a->record != NONE && a->record == b->record && type_same(&a->type, &b->type);
}

uint32_t stored_first_name(const graph_t *graph, uint32_t index) {
    const graph_weight_t *weight = weight_of(graph, &graph->inputs[index]);
    for (uint32_t i = 0; i < index; i++)
        if (graph->inputs[i].value.index != NONE && same_stored(weight_of(graph, &graph->inputs[i]), weight)) return i;
    return index;
}

/* A refusal that no single node stands for is that of the one that writes. operand: what it writes, or NO_VALUE. */
static insitu_status refuse_writer(functionalizer_t *state, const graph_node_t *writer, value_id_t operand,
                                   const char *format, ...) PRINTF_LIKE(4, 5);

static insitu_status refuse_writer(functionalizer_t *state, const graph_node_t *writer, value_id_t operand,
                                   const char *format, ...) {
    char reason[400];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    state->changed = true;
    const refusal_t refusal = {.node = writer,
                               .reason = length < 0 ? "" : reason,
                               .operands = &operand,
                               .operand_count = operand.index == NONE ? 0 : 1};
    return emit_refused(state->graph, &refusal);
}

/* The input that is another view of the same elements as a written one, or NONE. */
static uint32_t overlapping_input(const graph_t *graph, uint32_t written) {
    const graph_weight_t *weight = weight_of(graph, &graph->inputs[written]);
    for (uint32_t i = 0; i < graph->input_count && weight && weight->record != NONE; i++) {
        const graph_weight_t *other = weight_of(graph, &graph->inputs[i]);
        if (i == written || !other || other->record != weight->record || same_stored(other, weight)) continue;
        if (types_meet(graph->symbols, &weight->type, &other->type)) return i;
    }
    return NONE;
}

/* Adds the output unless its target overlaps another input. */
static insitu_status add_mutation(functionalizer_t *state, const graph_output_t *output, const graph_node_t *writer) {
    const graph_t *graph = state->graph;
    const uint32_t other = overlapping_input(graph, output->target);
    if (other == NONE) return graph_add_output(state->graph, output);
    return refuse_writer(state, writer, output->arg.kind == ARG_VALUE ? output->arg.value : NO_VALUE,
                         "writes '%.100s', which shares its storage with '%.100s', another view",
                         graph->inputs[output->target].fqn, graph->inputs[other].fqn);
}

/* ---- inputs that end as something else than they began ---- */

/* The last of the nodes that changes which view the input's object is. */
static const graph_node_t *node_that_turns(const functionalizer_t *state, const node_id_t *order, uint32_t count,
                                           value_id_t input) {
    while (count-- > 0) {
        const graph_node_t *node = graph_node_of(state->graph, order[count]);
        if (mutation_of(state->graph, node).kind != MUTATION_METADATA || node->args[0].kind != ARG_VALUE) continue;
        if (state->sets.object_of[node->args[0].value.index] == state->sets.object_of[input.index]) return node;
    }
    return NULL;
}

static insitu_status check_inputs(functionalizer_t *state, const node_id_t *order, uint32_t count) {
    const graph_t *graph = state->graph;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        value_id_t value = graph->inputs[i].value;
        if (value.index == NONE || state->sets.object_of[value.index] == NONE) continue;
        if (alias_view_of(&state->sets, value)->parent == NONE) continue;
        const graph_node_t *node = node_that_turns(state, order, count, value);
        if (!node) return INSITU_INTERNAL;
        TRY(refuse_writer(state, node, NO_VALUE, "turns the input '%.200s' into a view of itself",
                          graph->inputs[i].name));
    }
    return INSITU_OK;
}

/* A write to a tensor may have changed another, which leaves the program. */
static insitu_status check_spoiled(functionalizer_t *state, uint32_t index) {
    const graph_t *graph = state->graph;
    alias_base_t *base = &state->sets.bases[index];
    if (base->clobber == NONE) return INSITU_OK;
    const alias_base_t *clobber = &state->sets.bases[base->clobber];
    base->clobber = NONE;
    return refuse_writer(state, &clobber->writer, NO_VALUE, "writes '%.100s', which may share memory with '%.100s'",
                         graph_value_of(graph, clobber->value)->name, graph_value_of(graph, base->value)->name);
}

static insitu_status check_all_spoiled(functionalizer_t *state, const graph_output_t *outputs, uint32_t count) {
    for (uint32_t i = 0; i < state->base_inputs; i++) TRY(check_spoiled(state, i));
    for (uint32_t i = 0; i < count; i++) {
        if (outputs[i].arg.kind != ARG_VALUE || outputs[i].arg.value.index >= state->sets.value_count) continue;
        if (state->sets.object_of[outputs[i].arg.value.index] == NONE) continue;
        TRY(check_spoiled(state, alias_view_of(&state->sets, outputs[i].arg.value)->base));
    }
    return INSITU_OK;
}

/* ---- the list of outputs ---- */

/* What computes an output, or something that can be named in its place. */
static const graph_node_t *node_of_output(const graph_t *graph, const graph_output_t *output, graph_node_t *unnamed) {
    *unnamed = (graph_node_t){.target = "output", .name = "output", .source = ""};
    if (output->arg.kind != ARG_VALUE) return unnamed;
    node_id_t producer = graph_value_of(graph, output->arg.value)->producer;
    return producer.index == NONE ? unnamed : graph_node_of(graph, producer);
}

/* Mutations of a decomposed program keep their order and name the first of several names of one stored tensor. */
static insitu_status keep_mutations(functionalizer_t *state, const graph_output_t *outputs, uint32_t count) {
    graph_t *graph = state->graph;
    for (uint32_t i = 0; i < count; i++) {
        graph_output_t output = outputs[i];
        if (output.kind != RESULT_MUTATION) continue;
        output.target = stored_first_name(graph, output.target);
        state->changed = state->changed || output.target != outputs[i].target;
        bool is_known = false;
        graph_node_t unnamed;
        const graph_node_t *node = node_of_output(graph, &output, &unnamed);
        for (uint32_t j = 0; j < graph->output_count && !is_known; j++) {
            is_known = graph->outputs[j].target == output.target;
            if (is_known && !arg_same(&graph->outputs[j].arg, &output.arg))
                TRY(refuse_writer(state, node, NO_VALUE, "gives '%.200s' a second new value, under another name",
                                  graph->inputs[output.target].name));
        }
        if (is_known) continue;
        TRY(add_mutation(state, &output, node));
    }
    return INSITU_OK;
}

static insitu_status add_mutations(functionalizer_t *state, bool is_subgraph) {
    graph_t *graph = state->graph;
    for (uint32_t i = 0; i < state->base_inputs; i++) {
        const alias_base_t *base = &state->sets.bases[i];
        uint32_t input = state->input_of_base[i];
        if (base->version == 0) continue;
        const value_id_t content = state->sets.views[base->root].value;
        if (is_subgraph) {
            TRY(refuse_writer(state, &base->writer, content, "writes the operand '%.200s' of a control-flow operator",
                              graph->inputs[input].name));
            continue;
        }
        graph_output_t output = {.kind = RESULT_MUTATION, .arg = arg_value(content), .target = input, .user_index = -1};
        TRY(add_mutation(state, &output, &base->writer));
    }
    return INSITU_OK;
}

insitu_status finish_outputs(functionalizer_t *state, const node_id_t *order, uint32_t order_count, bool is_subgraph) {
    graph_t *graph = state->graph;
    graph_output_t *outputs = graph->outputs;
    uint32_t count = graph->output_count;
    TRY(check_inputs(state, order, order_count));
    TRY(check_all_spoiled(state, outputs, count));
    for (uint32_t i = 0; i < count; i++) {
        graph_node_t as_node = {.args = &outputs[i].arg, .arg_count = 1, .source = "", .name = ""};
        TRY(read_arguments(state, &as_node));
    }
    graph->outputs = NULL;
    graph->output_count = graph->output_capacity = 0;
    TRY(keep_mutations(state, outputs, count));
    TRY(add_mutations(state, is_subgraph));
    for (uint32_t i = 0; i < count; i++)
        if (outputs[i].kind == RESULT_USER) TRY(graph_add_output(graph, &outputs[i]));
    return INSITU_OK;
}
