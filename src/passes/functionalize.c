/* functionalize: in-place operators become updates of their base; mutations become outputs.
 *
 * In: a graph as exported, whose operators may write inputs, buffers, constants, intermediates and views of them; or a
 * decomposed one. Out: no operator writes (graph.functional); every graph input that was written has a RESULT_MUTATION
 * output, before the user outputs and in the order of the inputs; what reads a tensor after a write reads its newest
 * content. Views and copies are canonical (view_steps.c), a copy is the source cast and broadcast, so that both kinds of
 * program come out alike.
 *
 *     %1: f32[2,4]{8,1}+2 = aten.slice.Tensor(%b, dim=1, start=2, end=6)
 *     %2: f32[2,4]{8,1}+2 = aten.add_.Tensor(%1, %x)
 *     %3: f32[] = aten.sum.default(%b)
 *     ->
 *     %1: f32[2,4]{8,1}+2 = aten.slice.Tensor(%b, dim=1, start=2, end=6)
 *     %2: f32[2,4] = aten.add.Tensor(%1, %x)
 *     %slice_scatter: f32[2,8] = aten.slice_scatter.default(%b, %2, dim=1, start=2, end=6)
 *     %3: f32[] = aten.sum.default(%slice_scatter)            and a mutation output: %slice_scatter -> b
 *
 * Algorithm: one walk in program order with the alias sets of alias_sets.c. Inputs that name one stored tensor are one
 * base. A value keeps its name: the variant's result is the in-place operator's value, a re-derived view is a new value.
 *
 * What can't be functional (no variant, no inverse, overlapping inputs of which one is written, a subgraph that writes its
 * operand) becomes a refusal (refuse.c). Needs fill_defaults and inline_wrappers; keeps program order. Errors: FORMAT (a
 * graph saved as functional that writes). */
#include "passes/passes_int.h"

#include "archive/archive.h" /* numbers of memory formats */

/* ---- inputs ---- */

static insitu_status add_inputs(functionalizer_t *state) {
    const graph_t *graph = state->graph;
    TRY(arena_array(state->sets.scratch, graph->input_count, sizeof(uint32_t), &state->input_of_base));
    for (uint32_t i = 0; i < graph->input_count; i++) {
        value_id_t value = graph->inputs[i].value;
        if (value.index == NONE || graph_value_of(graph, value)->kind != VALUE_TENSOR) continue;
        uint32_t first = stored_first_name(graph, i);
        if (first != i) {
            state->sets.object_of[value.index] = value.index;
            state->sets.view_of[value.index] = alias_view_index(&state->sets, graph->inputs[first].value);
            continue;
        }
        state->input_of_base[state->base_inputs++] = i;
        TRY(alias_add_base(&state->sets, value, value));
    }
    return INSITU_OK;
}

/* ---- reading arguments ---- */

static bool is_tracked(const functionalizer_t *state, value_id_t value) {
    return value.index < state->sets.value_count && state->sets.object_of[value.index] != NONE;
}

typedef struct argument_reader {
    functionalizer_t *state;
    const graph_node_t *node;
    insitu_status status;
} argument_reader_t;

static void read_argument(void *user, value_id_t *value) {
    argument_reader_t *reader = user;
    alias_sets_t *sets = &reader->state->sets;
    if (reader->status != INSITU_OK || !is_tracked(reader->state, *value)) return;
    value_id_t newest;
    reader->status = alias_read(sets, alias_view_index(sets, *value), NO_VALUE, reader->node->source, &newest);
    if (reader->status == INSITU_OK) *value = newest;
}

insitu_status read_arguments(functionalizer_t *state, const graph_node_t *node) {
    argument_reader_t reader = {state, node, INSITU_OK};
    graph_node_t copy = *node;
    graph_visit_args(&copy, read_argument, &reader);
    return reader.status;
}

/* ---- results that are new tensors or views ---- */

static insitu_status name_object(functionalizer_t *state, value_id_t value, value_id_t object) {
    state->sets.object_of[value.index] = state->sets.object_of[object.index];
    state->changed = true;
    return INSITU_OK;
}

/* as_strided looks at the storage, whatever view it is called on: its parent is the base. */
static insitu_status rebase_strided(functionalizer_t *state, const graph_node_t *node, view_step_t *step,
                                    uint32_t *parent) {
    if (operator_facts_of(step->schema)->reads != READS_LAYOUT) return INSITU_OK;
    const view_t *from = &state->sets.views[*parent];
    uint32_t root = state->sets.bases[from->base].root, position = schema_arg_index(node->schema, "storage_offset");
    if (from->step.type.dtype != state->sets.views[root].step.type.dtype)
        return refuse(state->sets.diag, "looks at the storage of a tensor seen with another dtype");
    graph_arg_t *args;
    TRY(arena_copy(graph_arena(state->graph), step->args, step->arg_count * sizeof(graph_arg_t), &args));
    if (position != NONE && arg_is_none(&args[position])) args[position] = arg_sym(from->step.type.offset);
    step->args = args;
    *parent = root;
    return INSITU_OK;
}

static insitu_status make_view(functionalizer_t *state, const graph_node_t *node, alias_plan_t *plan,
                               value_id_t operand, value_id_t result) {
    alias_sets_t *sets = &state->sets;
    uint32_t view = alias_view_index(sets, operand);
    value_id_t content;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        TRY(rebase_strided(state, node, &plan->steps[i], &view));
        TRY(alias_add_view(sets, view, &plan->steps[i], node->source, &view));
    }
    sets->object_of[result.index] = result.index;
    sets->view_of[result.index] = view;
    TRY(alias_read(sets, view, result, node->source, &content));
    state->changed = state->changed || content.index != result.index;
    return INSITU_OK;
}

/* A contiguous clone of content, which has the given type. */
static insitu_status make_clone(functionalizer_t *state, const graph_node_t *node, tensor_type_t type,
                                value_id_t *content) {
    shape_dense_strides(state->graph->symbols, &type.shape, type.strides);
    type.offset = sym_int(state->graph->symbols, 0);
    emission_t clone = {.target = "aten.clone.default",
                        .type = &type,
                        .source = node->source,
                        .arg_count = 2,
                        .args = {{"self", arg_value(*content)},
                                 {"memory_format", {.kind = ARG_MEMORY_FORMAT, .number = MEMORY_FORMAT_CONTIGUOUS}}}};
    *content = NO_VALUE;
    return emit_node(state->graph, &clone, state->sets.diag, content);
}

static insitu_status make_copy(functionalizer_t *state, const graph_node_t *node, alias_plan_t *plan,
                               value_id_t operand, value_id_t result) {
    const tensor_type_t type = alias_view_of(&state->sets, operand)->step.type;
    value_id_t content;
    TRY(alias_read(&state->sets, alias_view_index(&state->sets, operand), NO_VALUE, node->source, &content));
    if (plan->clones_first) TRY(make_clone(state, node, type, &content));
    plan->copy.args[0].arg = arg_value(content);
    plan->copy.source = node->source;
    TRY(emit_node(state->graph, &plan->copy, state->sets.diag, &result));
    return alias_add_base(&state->sets, result, result);
}

/* copy(self, src): src in self's dtype and sizes, as a tensor of its own. */
static insitu_status make_functional_copy(functionalizer_t *state, const graph_node_t *node) {
    graph_t *graph = state->graph;
    const tensor_type_t type = graph_value_of(graph, node->results[0])->type;
    value_id_t content;
    TRY(read_arguments(state, node));
    conform_request_t request = {
        .value = node->args[1].value, .dtype = type.dtype, .sizes = &type.shape, .source = node->source};
    request.from = graph_value_of(graph, request.value)->type;
    TRY(emit_conformed(graph, &request, state->sets.diag, &content));
    state->changed = true;
    return alias_add_base(&state->sets, node->results[0], content);
}

static insitu_status keep_node(functionalizer_t *state, node_id_t id) {
    const graph_node_t node = *graph_node_of(state->graph, id);
    value_id_t operand;
    bool is_strided =
        facts_of(&node)->reads == READS_LAYOUT && view_operand(&node, 0, &operand) && is_tracked(state, operand);
    uint32_t view = is_strided ? alias_view_index(&state->sets, operand) : NONE;
    TRY(read_arguments(state, &node));
    if (is_strided) TRY(alias_with_layout(&state->sets, view, &node.args[0].value));
    TRY(graph_append(state->graph, id));
    for (uint32_t i = 0; i < node.result_count; i++)
        if (graph_value_of(state->graph, node.results[i])->kind == VALUE_TENSOR)
            TRY(alias_add_base(&state->sets, node.results[i], node.results[i]));
    return INSITU_OK;
}

typedef struct tied_operand {
    uint32_t base;
    dtype_t dtype;
} tied_operand_t;
typedef struct tied_operands {
    functionalizer_t *state;
    tied_operand_t *items;
    uint32_t count, capacity;
    insitu_status status;
} tied_operands_t;

static void add_tied(void *user, value_id_t *value) {
    tied_operands_t *list = user;
    if (!is_tracked(list->state, *value) || list->status != INSITU_OK) return;
    list->status = arena_grow(list->state->sets.scratch, &list->items, &list->capacity, (size_t)list->count + 1,
                              sizeof(tied_operand_t));
    if (list->status != INSITU_OK) return;
    const view_t *view = alias_view_of(&list->state->sets, *value);
    list->items[list->count++] = (tied_operand_t){view->base, view->step.type.dtype};
}

/* A node whose results may be views of what it reads; of another dtype only if its schema says so. */
static insitu_status keep_tied_node(functionalizer_t *state, node_id_t id) {
    graph_node_t node = *graph_node_of(state->graph, id);
    tied_operands_t operands = {.state = state};
    graph_visit_args(&node, add_tied, &operands);
    TRY(operands.status);
    TRY(keep_node(state, id));
    for (uint32_t i = 0; i < node.result_count; i++) {
        if (!is_tracked(state, node.results[i])) continue;
        const dtype_t type = graph_value_of(state->graph, node.results[i])->type.dtype;
        for (uint32_t j = 0; j < operands.count; j++) {
            if (operands.items[j].dtype != type && !node.schema->returns[0].alias) continue;
            TRY(alias_tie_bases(&state->sets, operands.items[j].base,
                                alias_view_of(&state->sets, node.results[i])->base));
        }
    }
    return INSITU_OK;
}

/* A node that writes nothing. */
static insitu_status place_node(functionalizer_t *state, node_id_t id) {
    const graph_node_t node = *graph_node_of(state->graph, id);
    value_id_t operand;
    if (target_is(&node, "aten.copy.default") && view_operand(&node, 0, &operand) && is_tracked(state, operand) &&
        node.args[1].kind == ARG_VALUE)
        return make_functional_copy(state, &node);
    for (uint32_t i = 0; i < node.result_count; i++) {
        alias_plan_t plan;
        if (graph_value_of(state->graph, node.results[i])->kind != VALUE_TENSOR) return keep_node(state, id);
        if (!view_operand(&node, i, &operand) || !is_tracked(state, operand))
            return alias_is_unknown(&node) ? keep_tied_node(state, id) : keep_node(state, id);
        const tensor_type_t operand_type = alias_view_of(&state->sets, operand)->step.type;
        TRY(view_plan(state->graph, &node, i, &operand_type, state->sets.diag, &plan));
        switch (plan.verdict) {
        case ALIAS_FRESH: return keep_node(state, id);
        case ALIAS_UNKNOWN: return keep_tied_node(state, id);
        case ALIAS_SELF: TRY(name_object(state, node.results[i], operand)); break;
        case ALIAS_VIEW: TRY(make_view(state, &node, &plan, operand, node.results[i])); break;
        case ALIAS_COPY: TRY(make_copy(state, &node, &plan, operand, node.results[i])); break;
        }
    }
    return node.result_count ? INSITU_OK : keep_node(state, id);
}

/* ---- writes ---- */

static insitu_status written_operand(const functionalizer_t *state, const graph_node_t *node, uint32_t position,
                                     value_id_t *out_value) {
    char text[NODE_TEXT_SIZE];
    *out_value = node->args[position].value;
    if (node->args[position].kind == ARG_VALUE && is_tracked(state, *out_value)) return INSITU_OK;
    FAIL(state->sets.diag, INSITU_FORMAT, "%s writes an argument that is no tensor",
         node_text(node, text, sizeof(text)));
}

/* Casts what was computed to the written tensor's dtype and puts it there. */
static insitu_status write_result(functionalizer_t *state, const graph_node_t *node, uint32_t view,
                                  value_id_t computed) {
    graph_t *graph = state->graph;
    const tensor_type_t written = state->sets.views[view].step.type;
    value_id_t content;
    conform_request_t request = {
        .value = computed, .dtype = written.dtype, .sizes = &written.shape, .source = node->source};
    request.from = graph_value_of(graph, computed)->type;
    TRY(emit_conformed(graph, &request, state->sets.diag, &content));
    state->changed = true;
    return alias_write(&state->sets, view, content, node);
}

/* The view becomes the number. */
static insitu_status write_number(functionalizer_t *state, const graph_node_t *node, uint32_t view,
                                  graph_arg_t number) {
    const tensor_type_t type = state->sets.views[view].step.type;
    value_id_t before, filled = NO_VALUE;
    TRY(alias_read(&state->sets, view, NO_VALUE, node->source, &before));
    emission_t fill = {.target = "aten.fill.Scalar",
                       .type = &type,
                       .source = node->source,
                       .arg_count = 2,
                       .args = {{"self", arg_value(before)}, {"value", number}}};
    TRY(emit_node(state->graph, &fill, state->sets.diag, &filled));
    return write_result(state, node, view, filled);
}

/* The view of the elements whose first two positions are equal. */
static insitu_status add_diagonal(functionalizer_t *state, const graph_node_t *node, uint32_t *view) {
    sym_pool_t *pool = state->graph->symbols;
    const tensor_type_t from = state->sets.views[*view].step.type;
    view_step_t step = {.schema = schema_find("aten.diagonal.default"), .arg_count = 4, .type = from};
    const uint32_t rest = from.shape.rank - 2;
    graph_arg_t *args;
    TRY(arena_array(graph_arena(state->graph), 4, sizeof(graph_arg_t), &args));
    for (uint32_t i = 1; i < 4; i++) args[i] = arg_sym(sym_int(pool, i == 3));
    step.args = args;
    step.type.shape.rank = rest + 1;
    for (uint32_t i = 0; i < rest; i++) {
        step.type.shape.sizes[i] = from.shape.sizes[i + 2];
        step.type.strides[i] = from.strides[i + 2];
    }
    step.type.shape.sizes[rest] = sym_min(pool, from.shape.sizes[0], from.shape.sizes[1]);
    step.type.strides[rest] = sym_add(pool, from.strides[0], from.strides[1]);
    return alias_add_view(&state->sets, *view, &step, node->source, view);
}

/* fill_diagonal_(self, number, wrap): wrap goes on below the last column of a high matrix. */
static insitu_status place_diagonal(functionalizer_t *state, const graph_node_t *node) {
    value_id_t self;
    TRY(written_operand(state, node, 0, &self));
    uint32_t view = alias_view_index(&state->sets, self);
    const shape_t sizes = state->sets.views[view].step.type.shape;
    if (sizes.rank < 2) return refuse(state->sets.diag, "fills the diagonal of a tensor of less than two dimensions");
    bool wraps = sizes.rank == 2 && arg_bool(state->graph, graph_arg_of(state->graph, node, "wrap"), false);
    if (wraps && sym_is_le(state->graph->symbols, sizes.sizes[0], sizes.sizes[1]) != TRUTH_TRUE)
        return refuse(state->sets.diag, "fills a diagonal that wraps");
    if (node->result_count) TRY(name_object(state, node->results[0], self));
    for (uint32_t i = 1; i < sizes.rank; i++) TRY(add_diagonal(state, node, &view));
    return write_number(state, node, view, node->args[1]);
}

static insitu_status place_copy(functionalizer_t *state, const graph_node_t *node) {
    alias_sets_t *sets = &state->sets;
    value_id_t self, source = NO_VALUE;
    TRY(written_operand(state, node, 0, &self));
    uint32_t view = alias_view_index(sets, self);
    if (node->args[1].kind == ARG_VALUE && node->args[1].value.index < sets->value_count) source = node->args[1].value;
    if (node->result_count) TRY(name_object(state, node->results[0], self));
    if (source.index != NONE && sets->object_of[source.index] != NONE && alias_view_index(sets, source) == view)
        return alias_write_same(sets, view, node);
    if (node->args[1].kind == ARG_SYM) return write_number(state, node, view, node->args[1]);
    TRY(written_operand(state, node, 1, &source)); /* refuses None and lists */
    TRY(alias_read(sets, alias_view_index(sets, source), NO_VALUE, node->source, &source));
    return write_result(state, node, view, source);
}

/* t_, squeeze_ ...: from here on the object is a view of what it was. */
static insitu_status place_metadata(functionalizer_t *state, const graph_node_t *node, const mutation_t *mutation) {
    alias_sets_t *sets = &state->sets;
    value_id_t self;
    char text[NODE_TEXT_SIZE];
    TRY(written_operand(state, node, 0, &self));
    if (node->result_count != 1)
        FAIL(sets->diag, INSITU_FORMAT, "%s has %u results where one is expected", node_text(node, text, sizeof(text)),
             node->result_count);
    uint32_t view = alias_view_index(sets, self);
    graph_node_t variant = *node;
    variant.target = mutation->variant->target;
    variant.schema = mutation->variant;
    if (variant.schema->arg_count != node->arg_count) return INSITU_INTERNAL;
    const tensor_type_t operand_type = sets->views[view].step.type;
    alias_plan_t plan;
    TRY(view_plan(state->graph, &variant, 0, &operand_type, sets->diag, &plan));
    if (plan.verdict == ALIAS_VIEW) {
        for (uint32_t i = 0; i < plan.step_count; i++) {
            TRY(rebase_strided(state, &variant, &plan.steps[i], &view));
            TRY(alias_add_view(sets, view, &plan.steps[i], node->source, &view));
        }
    }
    sets->view_of[sets->object_of[self.index]] = view;
    return name_object(state, node->results[0], self);
}

/* The variant's arguments from the node's. What a normalisation's variant takes has the same names. */
static insitu_status variant_arguments(functionalizer_t *state, const graph_node_t *node, const op_schema_t *variant,
                                       graph_arg_t **out_args) {
    TRY(arena_array(graph_arena(state->graph), variant->arg_count, sizeof(graph_arg_t), out_args));
    for (uint32_t i = 0; i < variant->arg_count; i++) (*out_args)[i] = variant_argument(node, &variant->args[i]);
    return INSITU_OK;
}

/* The results of the variant: the node's own values, whose types are those of new tensors, and new ones past them. */
static insitu_status variant_results(functionalizer_t *state, const graph_node_t *node, const mutation_t *mutation,
                                     const tensor_type_t *computed, value_id_t *results, uint32_t count) {
    graph_t *graph = state->graph;
    char stem[64];
    target_stem(mutation->variant->target, stem, sizeof(stem));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t written = NONE;
        for (uint32_t j = 0; j < mutation->written_count; j++)
            if (mutation->results[j] == i) written = j;
        bool is_own = i < node->result_count;
        results[i] = is_own ? node->results[i] : NO_VALUE;
        if (is_own && graph_value_of(graph, results[i])->kind != VALUE_TENSOR) continue;
        const tensor_type_t *type = &computed[written == NONE ? 0 : written];
        if (!is_own)
            TRY(graph_add_tensor(graph, stem, type, &results[i]));
        else if (written != NONE)
            graph_value_of(graph, results[i])->type = *type;
        else
            TRY(alias_add_base(&state->sets, results[i], results[i]));
    }
    return INSITU_OK;
}

/* What the variant computes for the written view: a tensor of its own, in the base's layout if it is the whole base. */
static tensor_type_t computed_type(functionalizer_t *state, const graph_node_t *node, const mutation_t *mutation,
                                   uint32_t view) {
    tensor_type_t type = state->sets.views[view].step.type;
    type.dtype = mutation_result_dtype(state->graph, node, mutation, type.dtype);
    if (state->sets.views[view].parent == NONE) return type;
    type.offset = sym_int(state->graph->symbols, 0);
    shape_dense_strides(state->graph->symbols, &type.shape, type.strides);
    return type;
}

static insitu_status check_resized(const functionalizer_t *state, const graph_node_t *node, const mutation_t *mutation,
                                   uint32_t i, uint32_t view) {
    if (mutation->results[i] >= node->result_count) return INSITU_OK;
    const graph_value_t *result = graph_value_of(state->graph, node->results[mutation->results[i]]);
    if (result->kind == VALUE_TENSOR && !shape_same(&result->type.shape, &state->sets.views[view].step.type.shape))
        return refuse(state->sets.diag, "changes the sizes of the tensor that it writes");
    return INSITU_OK;
}

static insitu_status place_variant(functionalizer_t *state, node_id_t id, const mutation_t *mutation) {
    graph_t *graph = state->graph;
    const graph_node_t node = *graph_node_of(graph, id);
    const op_schema_t *variant = mutation->variant;
    uint32_t views[COUNT_OF(mutation->written)];
    tensor_type_t computed[COUNT_OF(mutation->written)];
    value_id_t selves[COUNT_OF(mutation->written)], *results;
    for (uint32_t i = 0; i < mutation->written_count; i++) {
        TRY(written_operand(state, &node, mutation->written[i], &selves[i]));
        views[i] = alias_view_index(&state->sets, selves[i]);
        if (mutation->kind == MUTATION_VARIANT) TRY(check_resized(state, &node, mutation, i, views[i]));
    }
    TRY(read_arguments(state, &node));
    for (uint32_t i = 0; i < mutation->written_count; i++)
        computed[i] = computed_type(state, &node, mutation, views[i]);
    uint32_t count = variant->return_count > node.result_count ? variant->return_count : node.result_count;
    TRY(arena_array(state->sets.scratch, count, sizeof(value_id_t), &results));
    TRY(variant_results(state, &node, mutation, computed, results, count));
    graph_arg_t *args;
    TRY(variant_arguments(state, &node, variant, &args));
    node_id_t made;
    TRY(graph_add_node(graph, variant->target, results, count, node.source, &made));
    graph_node_of(graph, made)->args = args;
    TRY(fill_node(graph, made, state->sets.diag));
    TRY(graph_append(graph, made));
    for (uint32_t i = 0; i < mutation->written_count; i++) {
        bool is_named = mutation->kind == MUTATION_VARIANT && mutation->results[i] < node.result_count;
        if (is_named) TRY(name_object(state, node.results[mutation->results[i]], selves[i]));
        TRY(write_result(state, &node, views[i], results[mutation->results[i]]));
    }
    return INSITU_OK;
}

static insitu_status place_mutation(functionalizer_t *state, node_id_t id, const mutation_t *mutation) {
    const graph_node_t node = *graph_node_of(state->graph, id);
    char text[NODE_TEXT_SIZE];
    value_id_t self;
    if (state->graph->functional) { /* PyTorch itself leaves operators there whose schema doesn't say that they write */
        bool is_marked = node.schema && node.schema->writes;
        FAIL(state->sets.diag, is_marked ? INSITU_FORMAT : INSITU_UNSUPPORTED,
             "%s writes its argument in a program that was saved as functional", node_text(&node, text, sizeof(text)));
    }
    switch (mutation->kind) {
    case MUTATION_NONE: return place_node(state, id);
    case MUTATION_COPY: return place_copy(state, &node);
    case MUTATION_DIAGONAL: return place_diagonal(state, &node);
    case MUTATION_NOTHING:
        TRY(written_operand(state, &node, 0, &self));
        return node.result_count ? name_object(state, node.results[0], self) : INSITU_OK;
    case MUTATION_METADATA: return place_metadata(state, &node, mutation);
    case MUTATION_VARIANT:
    case MUTATION_HIDDEN: return place_variant(state, id, mutation);
    case MUTATION_REFUSED: return refuse(state->sets.diag, "%s", mutation->why);
    }
    return INSITU_INTERNAL;
}

/* ---- what is not handled ---- */

typedef struct operand_list {
    functionalizer_t *state;
    const graph_node_t *node;
    value_id_t *values;
    uint32_t count, capacity;
    insitu_status status;
} operand_list_t;

/* What the node would read, as far as that is known. */
static void add_operand(void *user, value_id_t *value) {
    operand_list_t *list = user;
    alias_sets_t *sets = &list->state->sets;
    value_id_t newest = *value;
    if (list->status != INSITU_OK) return;
    if (is_tracked(list->state, *value))
        list->status = alias_read(sets, alias_view_index(sets, *value), NO_VALUE, list->node->source, &newest);
    if (list->status == INSITU_OK)
        list->status =
            arena_grow(sets->scratch, &list->values, &list->capacity, (size_t)list->count + 1, sizeof(value_id_t));
    if (list->status == INSITU_OK) list->values[list->count++] = newest;
    if (list->status == INSITU_UNSUPPORTED) list->status = INSITU_OK;
}

/* A refusal takes the node's place: of results that have no content yet, tensors of their own stand in. */
static insitu_status place_refused(functionalizer_t *state, node_id_t id, const char *reason) {
    graph_node_t node = *graph_node_of(state->graph, id);
    operand_list_t operands = {.state = state, .node = &node};
    value_id_t *results;
    refusal_t refusal = {.node = &node};
    TRY(arena_string(state->sets.scratch, reason, strlen(reason), &refusal.reason));
    graph_visit_args(&node, add_operand, &operands);
    TRY(operands.status);
    TRY(arena_array(state->sets.scratch, node.result_count, sizeof(value_id_t), &results));
    for (uint32_t i = 0; i < node.result_count; i++) {
        const graph_value_t *value = graph_value_of(state->graph, node.results[i]);
        if (is_tracked(state, node.results[i])) continue;
        if (value->producer.index == id.index) results[refusal.result_count++] = node.results[i];
        if (value->kind == VALUE_TENSOR) TRY(alias_add_base(&state->sets, node.results[i], node.results[i]));
    }
    refusal.results = results;
    refusal.operands = operands.values;
    refusal.operand_count = operands.count;
    state->changed = true;
    return emit_refused(state->graph, &refusal);
}

static insitu_status place(functionalizer_t *state, node_id_t id) {
    const mutation_t mutation = mutation_of(state->graph, graph_node_of(state->graph, id));
    insitu_status status =
        mutation.kind == MUTATION_NONE ? place_node(state, id) : place_mutation(state, id, &mutation);
    return status == INSITU_UNSUPPORTED ? place_refused(state, id, state->sets.diag->message) : status;
}

/* Refusals are reasons, which become nodes; what else goes wrong is the caller's to know. */
static insitu_status walk(functionalizer_t *state, const node_id_t *order, uint32_t count, bool is_subgraph) {
    TRY(add_inputs(state));
    for (uint32_t i = 0; i < count; i++) TRY(place(state, order[i]));
    return finish_outputs(state, order, count, is_subgraph);
}

static insitu_status functionalize_graph(graph_t *graph, uint32_t depth, pass_context_t *context, bool *out_changed) {
    functionalizer_t state = {.graph = graph};
    node_id_t *order = graph->order;
    uint32_t count = graph->order_count;
    insitu_diag found;
    TRY(for_each_subgraph(graph, depth, context, functionalize_graph, out_changed));
    insitu_diag_init(&found);
    TRY(alias_sets_init(&state.sets, graph, context->scratch, &found));
    graph->order = NULL;
    graph->order_count = graph->order_capacity = 0;
    insitu_status status = walk(&state, order, count, depth > 0);
    if (diag_complete(&found, status) != INSITU_OK) diag_set(context->diag, status, "%s", found.message);
    insitu_diag_release(&found);
    TRY(status);
    *out_changed = *out_changed || state.changed || !graph->functional;
    graph->functional = true;
    return INSITU_OK;
}

insitu_status pass_functionalize(pass_context_t *context, bool *out_changed) {
    *out_changed = false;
    TRY(functionalize_graph(context->graph, 0, context, out_changed));
    return sym_pool_status(context->graph->symbols, context->diag);
}
