/* Alias sets: which tensors share memory, and what each holds now.
 *
 * A base is memory of its own: an input, or the result of an operator that makes a new tensor. A view is a base, or a
 * step (slice, select, ...) from another view, so that the views of a base are a tree. A base has a version, which a
 * write raises; a view knows the value that it is at one version and is derived again, step by step from the base, when
 * it is read at a later one. A write goes up the tree: the step's inverse makes the parent's new content of the view's.
 *
 *        base %b_k (version 2 = %slice_scatter_1)
 *         +- slice dim=2 0:4 (version 0 = %slice_1: stale)
 *         +- select dim=0 1  (version 2 = %select_3)
 *
 * Of some operators it is not known whether their result is a view (einsum of one operand), or which part of its operand it
 * is. The result is a base of its own, tied to the operand's: a write to one spoils the other, which is refused when it
 * is used after that.
 *
 * A tensor object is what a Python variable holds; in-place operators return their argument, so two values may name one
 * object, and t_ changes which view an object is. */
#include "passes/passes_int.h"

insitu_status alias_sets_init(alias_sets_t *sets, graph_t *graph, arena_t *scratch, insitu_diag *diag) {
    *sets = (alias_sets_t){.graph = graph, .scratch = scratch, .diag = diag, .value_count = graph->value_count};
    TRY(arena_array(scratch, sets->value_count, sizeof(uint32_t), &sets->object_of));
    TRY(arena_array(scratch, sets->value_count, sizeof(uint32_t), &sets->view_of));
    for (uint32_t i = 0; i < sets->value_count; i++) sets->object_of[i] = sets->view_of[i] = NONE;
    return INSITU_OK;
}

static insitu_status add_view(alias_sets_t *sets, const view_t *added, uint32_t *out_index) {
    TRY(arena_grow(sets->scratch, &sets->views, &sets->view_capacity, (size_t)sets->view_count + 1, sizeof(view_t)));
    sets->views[sets->view_count] = *added;
    *out_index = sets->view_count++;
    return INSITU_OK;
}

insitu_status alias_add_base(alias_sets_t *sets, value_id_t value, value_id_t content) {
    TRY(arena_grow(sets->scratch, &sets->bases, &sets->base_capacity, (size_t)sets->base_count + 1,
                   sizeof(alias_base_t)));
    view_t root = {.base = sets->base_count,
                   .parent = NONE,
                   .first_child = NONE,
                   .next_sibling = NONE,
                   .step.type = graph_value_of(sets->graph, value)->type,
                   .value = content,
                   .source = ""};
    alias_base_t *base = &sets->bases[sets->base_count];
    *base = (alias_base_t){.value = value, .clobber = NONE};
    TRY(add_view(sets, &root, &base->root));
    sets->base_count++;
    sets->object_of[value.index] = value.index;
    sets->view_of[value.index] = base->root;
    return INSITU_OK;
}

/* ---- memory that may be shared ---- */

insitu_status alias_tie_bases(alias_sets_t *sets, uint32_t a, uint32_t b) {
    if (a == b) return INSITU_OK;
    TRY(arena_grow(sets->scratch, &sets->ties, &sets->tie_capacity, (size_t)sets->tie_count + 1, sizeof(alias_tie_t)));
    sets->ties[sets->tie_count++] = (alias_tie_t){a, b};
    return INSITU_OK;
}

/* What may share memory with a base that is written, itself or through others, is not known from here on. */
static insitu_status spoil_tied(alias_sets_t *sets, uint32_t written) {
    if (sets->tie_count == 0) return INSITU_OK;
    bitset_t reached;
    TRY(bitset_create(sets->scratch, sets->base_count, &reached));
    bitset_add(&reached, written);
    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t i = 0; i < sets->tie_count; i++) {
            const alias_tie_t *tie = &sets->ties[i];
            if (bitset_has(&reached, tie->a) == bitset_has(&reached, tie->b)) continue;
            uint32_t other = bitset_has(&reached, tie->a) ? tie->b : tie->a;
            bitset_add(&reached, other);
            sets->bases[other].clobber = written;
            grows = true;
        }
    }
    return INSITU_OK;
}

/* Said once: after that the base counts as known, so that one cause is not listed many times. */
static insitu_status check_known(alias_sets_t *sets, uint32_t index) {
    alias_base_t *base = &sets->bases[index];
    char text[NODE_TEXT_SIZE];
    if (base->clobber == NONE) return INSITU_OK;
    const alias_base_t *clobber = &sets->bases[base->clobber];
    base->clobber = NONE;
    return refuse(sets->diag, "uses '%.80s', which may share memory with '%.80s', which %s writes",
                  graph_value_of(sets->graph, base->value)->name, graph_value_of(sets->graph, clobber->value)->name,
                  node_text(&clobber->writer, text, sizeof(text)));
}

/* ---- views ---- */

static bool step_same(const view_step_t *a, const view_step_t *b) {
    if (a->schema != b->schema || a->arg_count != b->arg_count || a->type.dtype != b->type.dtype) return false;
    for (uint32_t i = 1; i < a->arg_count; i++)
        if (!arg_same(&a->args[i], &b->args[i])) return false;
    return true;
}

insitu_status alias_add_view(alias_sets_t *sets, uint32_t parent, const view_step_t *step, const char *source,
                             uint32_t *out_view) {
    for (uint32_t child = sets->views[parent].first_child; child != NONE; child = sets->views[child].next_sibling) {
        *out_view = child;
        if (step_same(&sets->views[child].step, step)) return INSITU_OK;
    }
    view_t added = {.base = sets->views[parent].base,
                    .parent = parent,
                    .first_child = NONE,
                    .next_sibling = sets->views[parent].first_child,
                    .step = *step,
                    .value = NO_VALUE,
                    .source = source};
    TRY(add_view(sets, &added, out_view));
    sets->views[parent].first_child = *out_view;
    return INSITU_OK;
}

static bool is_current(const alias_sets_t *sets, const view_t *view) {
    return view->value.index != NONE && (view->parent == NONE || view->version == sets->bases[view->base].version);
}

insitu_status alias_with_layout(alias_sets_t *sets, uint32_t index, value_id_t *value) {
    const view_t *parent = &sets->views[index];
    const tensor_type_t recorded = parent->step.type;
    if (type_same_layout(&graph_value_of(sets->graph, *value)->type, &recorded)) return INSITU_OK;
    emission_t clone = {.target = "aten.clone.default",
                        .type = &recorded,
                        .source = parent->source,
                        .arg_count = 1,
                        .args = {{"self", arg_value(*value)}}};
    *value = NO_VALUE;
    return emit_node(sets->graph, &clone, sets->diag, value);
}

/* Emits the step that derives a view from its parent's content. */
static insitu_status derive(alias_sets_t *sets, uint32_t index, value_id_t content, value_id_t wanted,
                            const char *source) {
    graph_t *graph = sets->graph;
    const view_step_t step = sets->views[index].step;
    char stem[64];
    target_stem(step.schema->target, stem, sizeof(stem));
    if (operator_facts_of(step.schema)->reads == READS_LAYOUT)
        TRY(alias_with_layout(sets, sets->views[index].parent, &content));
    if (wanted.index == NONE) TRY(graph_add_tensor(graph, stem, &step.type, &wanted));
    node_id_t node;
    TRY(graph_add_node(graph, step.schema->target, &wanted, 1, source, &node));
    graph_node_t *made = graph_node_of(graph, node);
    if (made->arg_count != step.arg_count) return INSITU_INTERNAL;
    TRY(arena_array(graph_arena(graph), step.arg_count, sizeof(graph_arg_t), &made->args));
    memcpy(made->args, step.args, step.arg_count * sizeof(graph_arg_t));
    made->args[0] = arg_value(content);
    TRY(fill_node(graph, node, sets->diag));
    TRY(graph_append(graph, node));
    sets->views[index].value = wanted;
    sets->views[index].version = sets->bases[sets->views[index].base].version;
    return INSITU_OK;
}

insitu_status alias_read(alias_sets_t *sets, uint32_t view, value_id_t wanted, const char *source,
                         value_id_t *out_value) {
    uint32_t *path = NULL, count = 0, capacity = 0, at = view;
    TRY(check_known(sets, sets->views[view].base));
    for (; !is_current(sets, &sets->views[at]); at = sets->views[at].parent) {
        TRY(arena_grow(sets->scratch, &path, &capacity, (size_t)count + 1, sizeof(uint32_t)));
        path[count++] = at;
    }
    while (count-- > 0) {
        const value_id_t content = sets->views[at].value;
        bool is_last = count == 0;
        TRY(derive(sets, path[count], content, is_last ? wanted : NO_VALUE,
                   is_last ? source : sets->views[path[count]].source));
        at = path[count];
    }
    *out_value = sets->views[view].value;
    return INSITU_OK;
}

insitu_status alias_write(alias_sets_t *sets, uint32_t view, value_id_t value, const graph_node_t *writer) {
    const uint32_t written = sets->views[view].base;
    TRY(check_known(sets, written));
    while (sets->views[view].parent != NONE) {
        uint32_t parent = sets->views[view].parent;
        const view_step_t step = sets->views[view].step;
        const tensor_type_t parent_type = sets->views[parent].step.type;
        value_id_t before = NO_VALUE;
        if (view_inverse_needs_parent(&step)) {
            TRY(alias_read(sets, parent, NO_VALUE, writer->source, &before));
            if (operator_facts_of(step.schema)->reads == READS_LAYOUT) TRY(alias_with_layout(sets, parent, &before));
        }
        inverse_request_t request = {
            .step = &step, .parent = &parent_type, .before = before, .value = value, .writer = writer};
        TRY(view_inverse(sets->graph, &request, sets->diag, &value));
        view = parent;
    }
    sets->views[view].value = value;
    sets->bases[written].version++;
    sets->bases[written].writer = *writer;
    return spoil_tied(sets, written);
}

insitu_status alias_write_same(alias_sets_t *sets, uint32_t view, const graph_node_t *writer) {
    alias_base_t *base = &sets->bases[sets->views[view].base];
    TRY(check_known(sets, sets->views[view].base));
    if (base->version++ == 0) base->writer = *writer;
    return INSITU_OK;
}
