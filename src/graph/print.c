/* A graph as text. Deterministic; graph_parse reads it back.
 *
 *     graph functional {
 *       symbol s77: int [2,1024]
 *       assert s77 <= 64, "Ne(...)"
 *       record "cache": f32 64 bytes
 *       weight "cache": f32[1,4,4] record 0
 *       input %b_cache: f32[1,4,4] buffer "cache" persistent weight 0
 *       input %x: f32[s77,4]{8,1} user 0
 *       input flag = true user 1
 *       %slice_1: f32[1,1,4] = aten.slice.Tensor(%b_cache, dim=1, start=3, end=4)  # model.py:41
 *       %a: f32[2], %n: int(2*s77), %u: none = higher_order.cond(%c, graph {
 *         input %x: f32[2] user 0
 *         output %x user 0
 *       }, [%x]) @cond
 *       output %slice_1 mutates %b_cache
 *       output %slice_1 user 0
 *     }
 *
 * body      := "graph" ["functional"] ["on" ("cuda" | "others")] "{" line* "}"; symbols, asserts, records, weights, inputs, nodes, outputs
 * symbol    := "symbol" NAME ":" ("int" "[" INT|"-oo" "," INT|"oo" "]" | "float" | "bool")
 * assert    := "assert" EXPR "," STRING
 * record    := "record" STRING ":" DTYPE INT "bytes"
 * weight    := "weight" STRING ":" TYPE ["record" INT]
 * input     := "input" (RESULT | NAME "=" ARG) ("user" INT | ("parameter" | "buffer" | "constant") STRING ["persistent"]
 *              ["weight" INT]) ["as" STRING]                           "as": the placeholder, where the value's name differs
 * RESULT    := "%" NAME ":" (TYPE | ("int" | "float" | "bool") "(" EXPR ")" | "none")
 * node      := [RESULT ("," RESULT)* "="] NAME "(" [ARGS] ")" ["@" NAME] ["#" source]
 *              "@": the node's name, where it is not the first result's (without results: the target)
 * ARGS      := items [NAME "="] ARG: the leading tensors of a schema's arguments bare, the others by name, absent ones
 *              left out; without a schema as saved
 * ARG       := "%" NAME | "none" | EXPR | STRING | DTYPE | LAYOUT | MEMORY_FORMAT | "device" "(" STRING ")"
 *              | "complex" "(" NUMBER "," NUMBER ")" | "[" ARG, ... "]" | body
 *              an EXPR that begins with a symbol named like one of these words is in parentheses: "(u8 + 1)"
 * output    := "output" ARG ("user" INT ["as" STRING] | "mutates" ("%" NAME | INT))
 * NAME is bare (letters, digits, '_', '.') or a STRING. TYPE is type_print's, EXPR sym_print's. A "#" begins a comment;
 * after a node it is the node's source. Nodes that are not in the order are not printed. */
#include "graph/graph_int.h"

typedef struct printer {
    const graph_t *graph;
    text_t *out;
    uint32_t depth;
} printer_t;

static void print_body(const graph_t *graph, text_t *out, uint32_t depth);

static void print_name(text_t *out, const char *name) {
    if (is_bare_name(name))
        text_printf(out, "%s", name);
    else
        text_quoted(out, name);
}

static void print_value(const printer_t *printer, value_id_t value) {
    text_add(printer->out, "%", 1);
    if (value.index < printer->graph->value_count)
        print_name(printer->out, printer->graph->values[value.index].name);
    else
        text_printf(printer->out, "\"no value %u\"", value.index);
}

static void print_sym(const printer_t *printer, sym_t expr) { sym_print(printer->graph->symbols, expr, printer->out); }

/* In parentheses where it would begin with a word that stands for another argument: a symbol may be named u8. */
static void print_sym_arg(const printer_t *printer, sym_t expr) {
    text_t *out = printer->out;
    const size_t start = out->size;
    char word[32];
    size_t size = 0;
    print_sym(printer, expr);
    while (size < sizeof(word) - 1 && start + size < out->size && is_name_char(out->data[start + size])) {
        word[size] = out->data[start + size];
        size++;
    }
    word[size] = '\0';
    if (!is_argument_word(word)) return;
    const size_t length = out->size - start;
    text_add(out, "()", 2);
    if (out->size != start + length + 2) return; /* out of memory: text_status tells */
    memmove(out->data + start + 1, out->data + start, length);
    out->data[start] = '(';
    out->data[start + length + 1] = ')';
}

static void print_arg(const printer_t *printer, const graph_arg_t *arg, uint32_t nesting);

static void print_list(const printer_t *printer, const graph_arg_t *arg, uint32_t nesting) {
    text_t *out = printer->out;
    if (nesting == MAX_NESTING) {
        text_printf(out, "[...]");
        return;
    }
    text_add(out, "[", 1);
    for (uint32_t i = 0; i < arg->list.count; i++) {
        if (i) text_add(out, ", ", 2);
        print_arg(printer, &arg->list.items[i], nesting + 1);
    }
    text_add(out, "]", 1);
}

static void print_word(text_t *out, const char *word, int32_t number) {
    if (word)
        text_printf(out, "%s", word);
    else
        text_printf(out, "unknown(%d)", number);
}

static void print_arg(const printer_t *printer, const graph_arg_t *arg, uint32_t nesting) {
    text_t *out = printer->out;
    switch (arg->kind) {
    case ARG_ABSENT: text_printf(out, "absent"); break;
    case ARG_NONE: text_printf(out, "none"); break;
    case ARG_VALUE: print_value(printer, arg->value); break;
    case ARG_SYM: print_sym_arg(printer, arg->sym); break;
    case ARG_COMPLEX:
        text_printf(out, "complex(");
        text_double(out, arg->complex.re);
        text_add(out, ", ", 2);
        text_double(out, arg->complex.im);
        text_add(out, ")", 1);
        break;
    case ARG_STRING: text_quoted(out, arg->string); break;
    case ARG_DTYPE: text_printf(out, "%s", dtype_name(arg->dtype)); break;
    case ARG_LAYOUT: print_word(out, layout_word(arg->number), arg->number); break;
    case ARG_MEMORY_FORMAT: print_word(out, memory_format_word(arg->number), arg->number); break;
    case ARG_DEVICE:
        text_printf(out, "device(");
        text_quoted(out, arg->string);
        text_add(out, ")", 1);
        break;
    case ARG_LIST: print_list(printer, arg, nesting); break;
    case ARG_GRAPH: print_body(arg->graph, out, printer->depth + 1); break;
    }
}

static void print_args(const printer_t *printer, const graph_node_t *node) {
    bool bare = node->schema != NULL, first = true;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const graph_arg_t *arg = &node->args[i];
        const char *name = node->schema ? node->schema->args[i].name : node->arg_names ? node->arg_names[i] : "";
        if (arg->kind != ARG_VALUE) bare = false;
        if (arg->kind == ARG_ABSENT) continue;
        if (!first) text_add(printer->out, ", ", 2);
        first = false;
        if (!bare && *name) {
            print_name(printer->out, name);
            text_add(printer->out, "=", 1);
        }
        print_arg(printer, arg, 0);
    }
}

static void print_result(const printer_t *printer, value_id_t id) {
    static const char *const kinds[] = {"int", "float", "bool"};
    text_t *out = printer->out;
    print_value(printer, id);
    if (id.index >= printer->graph->value_count) return;
    const graph_value_t *value = graph_value_of(printer->graph, id);
    text_add(out, ": ", 2);
    switch (value->kind) {
    case VALUE_TENSOR: type_print(printer->graph->symbols, &value->type, out); break;
    case VALUE_SYM:
        text_printf(out, "%s(", kinds[sym_kind_of(printer->graph->symbols, value->expr)]);
        print_sym(printer, value->expr);
        text_add(out, ")", 1);
        break;
    case VALUE_NONE: text_printf(out, "none"); break;
    }
}

/* A source is written as it is unless that would not read back. */
static void print_source(text_t *out, const char *source) {
    bool plain = source[0] != '"' && source[0] != ' ' && source[strlen(source) - 1] != ' ';
    for (const char *c = source; *c; c++)
        if ((unsigned char)*c < 0x20) plain = false;
    text_printf(out, "  # ");
    if (plain)
        text_printf(out, "%s", source);
    else
        text_quoted(out, source);
}

static void print_node(const printer_t *printer, const graph_node_t *node) {
    text_t *out = printer->out;
    for (uint32_t i = 0; i < node->result_count; i++) {
        if (i) text_add(out, ", ", 2);
        print_result(printer, node->results[i]);
    }
    if (node->result_count) text_printf(out, " = ");
    print_name(out, node->target);
    text_add(out, "(", 1);
    print_args(printer, node);
    text_add(out, ")", 1);
    const char *usual = node->target;
    if (node->result_count && node->results[0].index < printer->graph->value_count)
        usual = graph_value_of(printer->graph, node->results[0])->name;
    if (strcmp(usual, node->name) != 0) {
        text_printf(out, " @");
        print_name(out, node->name);
    }
    if (*node->source) print_source(out, node->source);
}

static void print_input(const printer_t *printer, const graph_input_t *input) {
    text_t *out = printer->out;
    const char *usual = input->name;
    text_printf(out, "input ");
    if (input->value.index == NONE) {
        print_name(out, input->name);
        text_printf(out, " = ");
        print_arg(printer, &input->constant, 0);
    } else {
        print_result(printer, input->value);
        if (input->value.index < printer->graph->value_count)
            usual = graph_value_of(printer->graph, input->value)->name;
    }
    text_printf(out, " %s ", input_kind_word(input->kind));
    if (input->kind == INPUT_USER) {
        text_printf(out, "%d", input->user_index);
    } else {
        text_quoted(out, input->fqn);
        if (input->persistent) text_printf(out, " persistent");
        if (input->weight != NONE) text_printf(out, " weight %u", input->weight);
    }
    if (strcmp(usual, input->name) == 0) return;
    text_printf(out, " as ");
    text_quoted(out, input->name);
}

static void print_output(const printer_t *printer, const graph_output_t *output) {
    const graph_t *graph = printer->graph;
    text_printf(printer->out, "output ");
    print_arg(printer, &output->arg, 0);
    if (output->kind == RESULT_USER) {
        text_printf(printer->out, " user %d", output->user_index);
        if (output->name) {
            text_printf(printer->out, " as ");
            text_quoted(printer->out, output->name);
        }
        return;
    }
    text_printf(printer->out, " mutates ");
    if (output->target < graph->input_count && graph->inputs[output->target].value.index < graph->value_count)
        print_value(printer, graph->inputs[output->target].value);
    else
        text_printf(printer->out, "%u", output->target);
}

static void print_bound(text_t *out, int64_t bound, int64_t open, const char *word) {
    if (bound == open)
        text_printf(out, "%s", word);
    else
        text_printf(out, "%lld", (long long)bound);
}

static void print_symbol(text_t *out, const symbol_t *symbol) {
    static const char *const kinds[] = {"int", "float", "bool"};
    text_printf(out, "symbol ");
    print_name(out, symbol->name);
    text_printf(out, ": %s", kinds[symbol->kind]);
    if (symbol->kind != SYM_KIND_INT) return;
    text_printf(out, " [");
    print_bound(out, symbol->min, INT64_MIN, "-oo");
    text_add(out, ",", 1);
    print_bound(out, symbol->max, INT64_MAX, "oo");
    text_add(out, "]", 1);
}

static void begin_line(const printer_t *printer) {
    text_printf(printer->out, "\n%*s", (int)(2 * printer->depth + 2), "");
}

/* What only the outermost graph has. */
static void print_storage(const printer_t *printer) {
    const graph_t *graph = printer->graph;
    text_t *out = printer->out;
    for (uint32_t i = 0; printer->depth == 0 && i < graph->symbols->symbol_count; i++) {
        begin_line(printer);
        print_symbol(out, &graph->symbols->symbols[i]);
    }
    for (uint32_t i = 0; i < graph->assert_count; i++) {
        begin_line(printer);
        text_printf(out, "assert ");
        print_sym(printer, graph->asserts[i].condition);
        text_add(out, ", ", 2);
        text_quoted(out, graph->asserts[i].message);
    }
    for (uint32_t i = 0; i < graph->record_count; i++) {
        begin_line(printer);
        text_printf(out, "record ");
        text_quoted(out, graph->records[i].name);
        text_printf(out, ": %s %zu bytes", dtype_name(graph->records[i].dtype), graph->records[i].size);
    }
    for (uint32_t i = 0; i < graph->weight_count; i++) {
        begin_line(printer);
        text_printf(out, "weight ");
        text_quoted(out, graph->weights[i].name);
        text_add(out, ": ", 2);
        type_print(graph->symbols, &graph->weights[i].type, out);
        if (graph->weights[i].record != NONE) text_printf(out, " record %u", graph->weights[i].record);
    }
}

static void print_body(const graph_t *graph, text_t *out, uint32_t depth) {
    printer_t printer = {.graph = graph, .out = out, .depth = depth};
    if (depth == MAX_NESTING) {
        text_printf(out, "graph { ... }");
        return;
    }
    static const char *const devices[] = {"", " on cuda", " on others"};
    text_printf(out, "graph%s%s {", graph->functional ? " functional" : "", devices[graph->device]);
    print_storage(&printer);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        begin_line(&printer);
        print_input(&printer, &graph->inputs[i]);
    }
    for (uint32_t i = 0; i < graph->order_count; i++) {
        begin_line(&printer);
        print_node(&printer, graph_node_of(graph, graph->order[i]));
    }
    for (uint32_t i = 0; i < graph->output_count; i++) {
        begin_line(&printer);
        print_output(&printer, &graph->outputs[i]);
    }
    text_printf(out, "\n%*s}", (int)(2 * depth), "");
}

insitu_status graph_print(const graph_t *graph, text_t *out, insitu_diag *diag) {
    print_body(graph, out, 0);
    text_add(out, "\n", 1);
    return text_status(out, diag);
}
