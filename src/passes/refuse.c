/* Refusals: what a pass can't handle becomes a node that says so, and the pass goes on, so that network_convert lists all
 * that is not supported at once.
 *
 *     %r: f32[6] = aten.resize_.default(%x, size=[6])  # m.py:3
 *     -> %r: f32[6] = insitu.refused("aten.resize_.default", "gives its argument other memory or sizes", %x)  # m.py:3
 *
 * The operands stay, so that what computes them is looked at too. */
#include "passes/passes_int.h"

#include <stdarg.h>

insitu_status refuse(insitu_diag *diag, const char *format, ...) {
    char reason[400];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    FAIL(diag, INSITU_UNSUPPORTED, "%s", length < 0 ? "is not handled" : reason);
}

static insitu_status string_arg(graph_t *graph, const char *string, graph_arg_t *out_arg) {
    out_arg->kind = ARG_STRING;
    return arena_string(graph_arena(graph), string, strlen(string), &out_arg->string);
}

insitu_status emit_refused(graph_t *graph, const refusal_t *refusal) {
    const graph_node_t node = *refusal->node; /* nodes move where others are made */
    node_id_t made;
    TRY(graph_add_node(graph, REFUSED_TARGET, refusal->results, refusal->result_count, node.source, &made));
    graph_node_t *refused = graph_node_of(graph, made);
    refused->arg_count = 2 + refusal->operand_count;
    TRY(arena_array(graph_arena(graph), refused->arg_count, sizeof(graph_arg_t), &refused->args));
    TRY(arena_array(graph_arena(graph), refused->arg_count, sizeof(char *), &refused->arg_names));
    for (uint32_t i = 0; i < refused->arg_count; i++) refused->arg_names[i] = "";
    TRY(string_arg(graph, node.target, &refused->args[0]));
    TRY(string_arg(graph, refusal->reason, &refused->args[1]));
    for (uint32_t i = 0; i < refusal->operand_count; i++) refused->args[2 + i] = arg_value(refusal->operands[i]);
    refused->name = node.name;
    return graph_append(graph, made);
}
