/* The graph verifier: structure, names, types, order of definition, and arguments against schemas. A functional graph has
 * no node that writes. Ids are followed only after they were checked, so that a graph from any text is safe to verify.
 * Faults are collected; the first ten make the sentence. */
#include "graph/graph_int.h"

#include <inttypes.h>

enum { FAULTS_SHOWN = 10 };

typedef struct checker {
    const graph_t *graph;
    arena_t *scratch;
    text_t *faults;
    uint32_t *fault_count;
    const graph_node_t *node; /* being checked; NULL: part */
    const char *part;         /* "input 'x'" */
    bitset_t defined;         /* values that inputs and earlier nodes define */
    uint32_t depth;
} checker_t;

static void fault(const checker_t *checker, const char *format, ...) PRINTF_LIKE(2, 3);

static void fault(const checker_t *checker, const char *format, ...) {
    if ((*checker->fault_count)++ >= FAULTS_SHOWN) return;
    const graph_node_t *node = checker->node;
    text_printf(checker->faults, "%s", *checker->fault_count > 1 ? "; " : "");
    if (node)
        text_printf(checker->faults, "node '%s' (%s%s%s): ", node->name, node->target, *node->source ? ", " : "",
                    node->source);
    else
        text_printf(checker->faults, "%s: ", checker->part);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(checker->faults, format, arguments);
    va_end(arguments);
}

static insitu_status at_part(checker_t *checker, const char *what, const char *name) {
    checker->node = NULL;
    return arena_printf(checker->scratch, &checker->part, "%s '%s'", what, name);
}

/* ---- expressions and types ---- */

static bool check_sym(const checker_t *checker, sym_t expr, sym_kind_t kind, const char *what) {
    static const char *const kinds[] = {"an int", "a float", "a bool"};
    if (expr.id >= checker->graph->symbols->node_count) {
        fault(checker, "%s is no expression", what);
        return false;
    }
    if (sym_kind_of(checker->graph->symbols, expr) == kind) return true;
    fault(checker, "%s is not %s", what, kinds[kind]);
    return false;
}

/* An integer that may be 0 or more. */
static bool check_count(const checker_t *checker, sym_t expr, const char *what) {
    int64_t least, most;
    if (!check_sym(checker, expr, SYM_KIND_INT, what)) return false;
    sym_range(checker->graph->symbols, expr, &least, &most);
    if (most < 0) fault(checker, "%s is negative", what);
    return most >= 0;
}

static bool check_type(const checker_t *checker, const tensor_type_t *type) {
    if (type->dtype >= DTYPE_COUNT || type->shape.rank > MAX_RANK) {
        fault(checker, "its type has no such dtype or rank");
        return false;
    }
    bool good = check_count(checker, type->offset, "its offset");
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        good = check_count(checker, type->shape.sizes[i], "a size") && good;
        good = check_count(checker, type->strides[i], "a stride") && good;
    }
    return good;
}

static void check_value(const checker_t *checker, const graph_value_t *value) {
    switch (value->kind) {
    case VALUE_TENSOR: check_type(checker, &value->type); return;
    case VALUE_SYM:
        if (value->expr.id >= checker->graph->symbols->node_count) fault(checker, "its value is no expression");
        return;
    case VALUE_NONE: return;
    }
    fault(checker, "it has no such kind");
}

static insitu_status check_values(checker_t *checker) {
    const graph_t *graph = checker->graph;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const graph_value_t *value = &graph->values[i];
        TRY(at_part(checker, "value", value->name));
        if (map_find(&graph->names, value->name) != i) fault(checker, "its name is not its own");
        check_value(checker, value);
    }
    return INSITU_OK;
}

/* ---- symbols, weights, asserts: what only the outermost graph has ---- */

static insitu_status check_symbols(checker_t *checker) {
    const sym_pool_t *symbols = checker->graph->symbols;
    for (uint32_t i = 0; i < symbols->symbol_count; i++) {
        TRY(at_part(checker, "symbol", symbols->symbols[i].name));
        if (!is_symbol_name(symbols->symbols[i].name)) fault(checker, "it has a name that expressions can't use");
        if (symbols->symbols[i].min > symbols->symbols[i].max) fault(checker, "its range is empty");
    }
    for (uint32_t i = 0; i < checker->graph->assert_count; i++) {
        TRY(at_part(checker, "assertion", checker->graph->asserts[i].message));
        check_sym(checker, checker->graph->asserts[i].condition, SYM_KIND_BOOL, "the condition");
    }
    return INSITU_OK;
}

/* The number of elements from the storage's start to the last one of the tensor. False: not constant, or too large. */
static bool extent_of(const sym_pool_t *symbols, const tensor_type_t *type, int64_t *out) {
    bool empty = false;
    int64_t size, stride, reach;
    if (!sym_constant(symbols, type->offset, out) || *out < 0 || !checked_add(*out, 1, out)) return false;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        if (!sym_constant(symbols, type->shape.sizes[i], &size) || !sym_constant(symbols, type->strides[i], &stride))
            return false;
        if (size == 0) empty = true;
        if (size <= 1) continue;
        if (stride < 0 || !checked_mul(size - 1, stride, &reach) || !checked_add(*out, reach, out)) return false;
    }
    if (empty) *out = 0;
    return true;
}

static insitu_status check_weights(checker_t *checker) {
    const graph_t *graph = checker->graph;
    for (uint32_t i = 0; i < graph->weight_count; i++) {
        const graph_weight_t *weight = &graph->weights[i];
        int64_t extent, bytes;
        TRY(at_part(checker, "weight", weight->name));
        if (!check_type(checker, &weight->type)) continue;
        if (!extent_of(graph->symbols, &weight->type, &extent) ||
            !checked_mul(extent, (int64_t)dtype_size(weight->type.dtype), &bytes))
            fault(checker, "its sizes, strides and offset are not constants that describe memory");
        else if (weight->record == NONE ? extent != 0 : weight->record >= graph->record_count)
            fault(checker, "it has no record");
        else if (weight->record != NONE && (uint64_t)bytes > graph->records[weight->record].size)
            fault(checker, "it needs %" PRId64 " bytes, and its record has %zu", bytes,
                  graph->records[weight->record].size);
    }
    for (uint32_t i = 0; i < graph->record_count; i++) {
        TRY(at_part(checker, "record", graph->records[i].name));
        if (graph->records[i].dtype >= DTYPE_COUNT) fault(checker, "it has no such dtype");
    }
    return INSITU_OK;
}

/* ---- inputs ---- */

static void check_stored(const checker_t *checker, const graph_input_t *input, const graph_value_t *value) {
    if (checker->graph->root != checker->graph) fault(checker, "a subgraph has a stored input");
    if (!value || value->kind != VALUE_TENSOR) {
        fault(checker, "a stored input is no tensor");
        return;
    }
    if (input->weight >= checker->graph->weight_count) {
        fault(checker, "it has no weight");
        return;
    }
    const tensor_type_t *stored = &checker->graph->weights[input->weight].type;
    bool same = stored->dtype == value->type.dtype && shape_same(&stored->shape, &value->type.shape) &&
                sym_same(stored->offset, value->type.offset);
    for (uint32_t i = 0; same && i < stored->shape.rank; i++)
        same = sym_same(stored->strides[i], value->type.strides[i]);
    if (!same) fault(checker, "its type is not that of weight '%s'", checker->graph->weights[input->weight].name);
}

static void check_user_index(const checker_t *checker, const bitset_t *seen, int32_t user_index) {
    if (user_index < 0 || (uint32_t)user_index >= seen->bits)
        fault(checker, "it has no position among the user's");
    else if (bitset_has(seen, (uint32_t)user_index))
        fault(checker, "its position %d is taken", user_index);
    else
        bitset_add((bitset_t *)(uintptr_t)seen, (uint32_t)user_index);
}

/* What may outlive a call is known by its name in the module. */
static insitu_status check_stored_name(const checker_t *checker, map_t *names, const graph_input_t *input) {
    if (input->kind != INPUT_BUFFER && input->kind != INPUT_CONSTANT) return INSITU_OK;
    if (map_find(names, input->fqn) != NONE) fault(checker, "another input is '%s' too", input->fqn);
    return map_set(names, checker->scratch, input->fqn, 0);
}

static insitu_status check_inputs(checker_t *checker) {
    const graph_t *graph = checker->graph;
    map_t names = {0};
    bitset_t seen;
    TRY(bitset_create(checker->scratch, graph->input_count, &seen));
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const graph_input_t *input = &graph->inputs[i];
        const graph_value_t *value = NULL;
        TRY(at_part(checker, "input", input->name));
        if (input->value.index < graph->value_count) {
            value = graph_value_of(graph, input->value);
            if (value->producer.index != NONE) fault(checker, "a node produces it");
            if (bitset_has(&checker->defined, input->value.index)) fault(checker, "another input is the same value");
            bitset_add(&checker->defined, input->value.index);
        } else if (input->value.index != NONE)
            fault(checker, "it is no value");
        else if (input->constant.kind == ARG_ABSENT)
            fault(checker, "it is neither a value nor a constant");
        if (input->kind != INPUT_USER)
            check_stored(checker, input, value);
        else
            check_user_index(checker, &seen, input->user_index);
        if (input->kind != INPUT_USER && input->user_index != -1) fault(checker, "a stored input is a user's too");
        TRY(check_stored_name(checker, &names, input));
    }
    return INSITU_OK;
}

/* ---- nodes ---- */

static insitu_status check_graph(checker_t *outer, const graph_t *graph);

static void check_use(const checker_t *checker, value_id_t value, const char *what) {
    const graph_t *graph = checker->graph;
    if (value.index >= graph->value_count)
        fault(checker, "%s is no value", what);
    else if (!bitset_has(&checker->defined, value.index))
        fault(checker, "%s '%%%s' is not defined yet", what, graph->values[value.index].name);
    else if (graph->values[value.index].kind != VALUE_TENSOR)
        fault(checker, "%s '%%%s' is no tensor", what, graph->values[value.index].name);
}

static insitu_status check_arg(checker_t *checker, const graph_arg_t *arg, const char *name, uint32_t depth) {
    if (depth >= MAX_NESTING) {
        fault(checker, "argument '%s' is nested too deeply", name);
        return INSITU_OK;
    }
    switch (arg->kind) {
    case ARG_VALUE: check_use(checker, arg->value, "argument"); return INSITU_OK;
    case ARG_SYM:
        if (arg->sym.id >= checker->graph->symbols->node_count) fault(checker, "argument '%s' is no expression", name);
        return INSITU_OK;
    case ARG_STRING:
    case ARG_DEVICE:
        if (!arg->string) fault(checker, "argument '%s' has no string", name);
        return INSITU_OK;
    case ARG_DTYPE:
        if (arg->dtype >= DTYPE_COUNT) fault(checker, "argument '%s' is no dtype", name);
        return INSITU_OK;
    case ARG_LAYOUT:
        if (!layout_word(arg->number)) fault(checker, "argument '%s' is no layout", name);
        return INSITU_OK;
    case ARG_MEMORY_FORMAT:
        if (!memory_format_word(arg->number)) fault(checker, "argument '%s' is no memory format", name);
        return INSITU_OK;
    case ARG_LIST:
        for (uint32_t i = 0; i < arg->list.count; i++) {
            if (arg->list.items[i].kind == ARG_ABSENT) fault(checker, "an item of '%s' is absent", name);
            TRY(check_arg(checker, &arg->list.items[i], name, depth + 1));
        }
        return INSITU_OK;
    case ARG_GRAPH:
        if (arg->graph->root != checker->graph->root || arg->graph == checker->graph->root)
            fault(checker, "argument '%s' is no subgraph of this graph", name);
        else
            return check_graph(checker, arg->graph);
        return INSITU_OK;
    case ARG_ABSENT:
    case ARG_NONE:
    case ARG_COMPLEX: return INSITU_OK;
    }
    fault(checker, "argument '%s' has no such kind", name);
    return INSITU_OK;
}

static void check_schema_item(const checker_t *checker, const schema_arg_t *wanted, const graph_arg_t *arg,
                              uint32_t none_flag) {
    if (arg->kind == ARG_NONE ? wanted->flags & none_flag : arg_fits(checker->graph->symbols, wanted, arg)) return;
    fault(checker, "argument '%s' does not fit the schema's %s%s", wanted->name,
          schema_type_name((schema_type_t)wanted->type), wanted->flags & SCHEMA_LIST ? "[]" : "");
}

static void check_schema_arg(const checker_t *checker, const schema_arg_t *wanted, const graph_arg_t *arg) {
    if (arg->kind == ARG_ABSENT) {
        if (wanted->default_kind == DEFAULT_NONE_GIVEN) fault(checker, "argument '%s' is missing", wanted->name);
    } else if (!(wanted->flags & SCHEMA_LIST))
        check_schema_item(checker, wanted, arg, SCHEMA_OPTIONAL);
    else if (arg->kind == ARG_LIST)
        for (uint32_t i = 0; i < arg->list.count; i++)
            check_schema_item(checker, wanted, &arg->list.items[i], SCHEMA_OPTIONAL_ITEMS);
    else if (arg->kind != ARG_NONE || !(wanted->flags & SCHEMA_OPTIONAL))
        fault(checker, "argument '%s' is no list", wanted->name);
}

static insitu_status check_args(checker_t *checker, const graph_node_t *node) {
    if (node->schema && node->arg_count != node->schema->arg_count) {
        fault(checker, "it has %u arguments, and its schema %u", node->arg_count, node->schema->arg_count);
        return INSITU_OK;
    }
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const char *name = node->schema ? node->schema->args[i].name : node->arg_names ? node->arg_names[i] : "";
        TRY(check_arg(checker, &node->args[i], name, 0));
        checker->node = node; /* a subgraph's check has moved on */
        if (node->schema)
            check_schema_arg(checker, &node->schema->args[i], &node->args[i]);
        else if (node->args[i].kind == ARG_ABSENT)
            fault(checker, "argument %u is absent", i);
    }
    return INSITU_OK;
}

static void check_results(checker_t *checker, node_id_t id, const graph_node_t *node) {
    const graph_t *graph = checker->graph;
    bool any_number = !node->schema; /* lists of results are flattened */
    for (uint32_t i = 0; node->schema && i < node->schema->return_count; i++)
        if (node->schema->returns[i].flags & SCHEMA_LIST) any_number = true;
    if (!any_number && node->result_count != node->schema->return_count)
        fault(checker, "it has %u results, and its schema %u", node->result_count, node->schema->return_count);
    for (uint32_t i = 0; i < node->result_count; i++) {
        uint32_t index = node->results[i].index;
        if (index >= graph->value_count) {
            fault(checker, "result %u is no value", i);
            continue;
        }
        const graph_value_t *value = &graph->values[index];
        if (bitset_has(&checker->defined, index)) fault(checker, "result '%%%s' is defined already", value->name);
        if (value->producer.index != id.index || value->result != i)
            fault(checker, "result '%%%s' names another producer", value->name);
        bitset_add(&checker->defined, index);
    }
}

static insitu_status check_nodes(checker_t *checker) {
    const graph_t *graph = checker->graph;
    bitset_t seen;
    TRY(bitset_create(checker->scratch, graph->node_count, &seen));
    for (uint32_t i = 0; i < graph->order_count; i++) {
        node_id_t id = graph->order[i];
        checker->node = NULL;
        checker->part = "the order of nodes";
        if (id.index >= graph->node_count) {
            fault(checker, "node %u does not exist", id.index);
            continue;
        }
        const graph_node_t *node = checker->node = graph_node_of(graph, id);
        if (bitset_has(&seen, id.index)) fault(checker, "it is in the order twice");
        bitset_add(&seen, id.index);
        TRY(check_args(checker, node));
        if (graph->functional && node->schema && node->schema->writes)
            fault(checker, "it writes, in a functional graph");
        check_results(checker, id, node);
    }
    return INSITU_OK;
}

/* ---- outputs ---- */

static void check_mutation(const checker_t *checker, const graph_output_t *output, bitset_t *mutated) {
    const graph_t *graph = checker->graph;
    if (output->target >= graph->input_count) {
        fault(checker, "it mutates no input");
        return;
    }
    const graph_input_t *input = &graph->inputs[output->target];
    if (bitset_has(mutated, output->target)) fault(checker, "input '%s' is mutated twice", input->name);
    bitset_add(mutated, output->target);
    if (input->value.index >= graph->value_count || graph_value_of(graph, input->value)->kind != VALUE_TENSOR)
        fault(checker, "input '%s' that it mutates is no tensor", input->name);
    if (output->arg.kind != ARG_VALUE) fault(checker, "a mutation's value is no tensor");
}

static insitu_status check_outputs(checker_t *checker) {
    const graph_t *graph = checker->graph;
    bitset_t seen, mutated;
    TRY(bitset_create(checker->scratch, graph->output_count, &seen));
    TRY(bitset_create(checker->scratch, graph->input_count, &mutated));
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const graph_output_t *output = &graph->outputs[i];
        checker->node = NULL;
        TRY(arena_printf(checker->scratch, &checker->part, "output %u", i));
        TRY(check_arg(checker, &output->arg, "value", 0));
        if (output->kind == RESULT_USER)
            check_user_index(checker, &seen, output->user_index);
        else
            check_mutation(checker, output, &mutated);
        switch ((int)output->arg.kind) {
        case ARG_VALUE:
        case ARG_SYM:
        case ARG_COMPLEX:
        case ARG_NONE:
        case ARG_STRING: break;
        default: fault(checker, "it is neither a tensor, nor a number, a string or None");
        }
    }
    return INSITU_OK;
}

static insitu_status check_graph(checker_t *outer, const graph_t *graph) {
    checker_t checker = *outer;
    checker.graph = graph;
    checker.node = NULL;
    checker.part = "subgraph";
    if (++checker.depth >= MAX_NESTING) {
        fault(&checker, "graphs are nested too deeply");
        return INSITU_OK;
    }
    if (graph->root != graph && graph->functional != outer->graph->functional)
        fault(&checker, "it is functional or not, unlike the graph around it");
    TRY(bitset_create(checker.scratch, graph->value_count, &checker.defined));
    TRY(check_values(&checker));
    TRY(check_inputs(&checker));
    TRY(check_nodes(&checker));
    return check_outputs(&checker);
}

static insitu_status check_all(checker_t *checker) {
    TRY(check_symbols(checker));
    TRY(check_weights(checker));
    return check_graph(checker, checker->graph);
}

insitu_status graph_verify(const graph_t *graph, insitu_diag *diag) {
    arena_t scratch;
    text_t faults;
    uint32_t fault_count = 0;
    arena_init(&scratch);
    text_init(&faults);
    checker_t checker = {.graph = graph, .scratch = &scratch, .faults = &faults, .fault_count = &fault_count};
    insitu_status status = check_all(&checker);
    if (status == INSITU_OK) status = text_status(&faults, diag);
    if (status == INSITU_OK && fault_count)
        status = diag_set(diag, INSITU_FORMAT, "the graph has %u fault%s: %s", fault_count, fault_count > 1 ? "s" : "",
                          faults.data);
    text_release(&faults);
    arena_release(&scratch);
    return status;
}
