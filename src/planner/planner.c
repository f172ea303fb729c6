/* The planner's tables: storages, nodes, copies, decisions with undo. */
#include "planner/planner_int.h"

insitu_status planner_set(planner_t *planner, uint32_t *word, uint32_t value) {
    if (*word == value) return INSITU_OK;
    TRY(arena_grow(&planner->scratch, &planner->changes, &planner->change_capacity, planner->change_count + 1,
                   sizeof *planner->changes));
    planner->changes[planner->change_count++] = (plan_change_t){word, *word};
    *word = value;
    return INSITU_OK;
}

insitu_status planner_touch(planner_t *planner, uint32_t storage, touch_kind_t kind, uint32_t index, uint32_t operand) {
    storage_plan_t *lies = &planner->storages[storage];
    TRY(arena_grow(&planner->scratch, &planner->touches, &planner->touch_capacity, planner->touch_count + 1,
                   sizeof *planner->touches));
    planner->touches[planner->touch_count] = (touch_t){kind, index, operand, lies->touched};
    return planner_set(planner, &lies->touched, planner->touch_count++);
}

plan_mark_t planner_mark(const planner_t *planner) {
    return (plan_mark_t){order_position(&planner->order), planner->change_count, planner->touch_count};
}

void planner_undo(planner_t *planner, plan_mark_t mark) {
    order_undo(&planner->order, mark.order);
    planner->touch_count = mark.touch_count;
    while (planner->change_count > mark.change_count) {
        planner->change_count--;
        *planner->changes[planner->change_count].word = planner->changes[planner->change_count].old;
    }
}

bool planner_is_spent(planner_t *planner) {
    planner->is_cut |= planner->steps + planner->order.steps > planner->most_steps;
    return planner->is_cut;
}

insitu_status planner_add_storage(planner_t *planner, storage_kind_t kind, uint32_t index, sym_t bytes,
                                  uint32_t *out_storage) {
    plan_t *plan = planner->plan;
    uint32_t count = plan->storage_count;
    TRY(arena_grow(&plan->arena, &plan->storages, &planner->plan_storage_capacity, count + 1, sizeof *plan->storages));
    TRY(arena_grow(&planner->scratch, &planner->storages, &planner->storage_capacity, count + 1,
                   sizeof *planner->storages));
    plan->storages[count] = (plan_storage_t){.kind = kind, .index = index, .bytes = bytes, .last_step = NONE};
    planner->storages[count] = (storage_plan_t){.members = NONE, .roots = NONE, .touched = NONE, .checked = NONE};
    plan->storage_count++;
    *out_storage = count;
    return INSITU_OK;
}

insitu_status planner_add_node(planner_t *planner, node_kind_t kind, uint32_t index, uint32_t key, uint32_t *out_node) {
    TRY(order_add_node(&planner->order, out_node));
    planner->nodes[*out_node] = (plan_node_t){.kind = kind, .index = index, .key = key};
    return INSITU_OK;
}

uint32_t tensor_node(const planner_t *planner, tensor_id_t tensor) {
    if (planner->tensors[tensor.index].fixed) return NONE;
    return planner->layers[planner->network->tensors[tensor.index].producer.index].node;
}

/* A copy lies as its source does, which is all of a tensor: a view of that tensor is the same view of the copy. */
static bool view_copy(planner_t *planner, const planned_copy_t *copy, tensor_id_t tensor, tensor_type_t *out) {
    const tensor_plan_t *source = planner_tensor(planner, copy->source), *wanted = planner_tensor(planner, tensor);
    tensor_id_t root = source->root;
    tensor_type_t moved = source->type;
    moved.offset = copy->target.type.offset;
    if (root.index != wanted->root.index || !type_same_elements(&moved, &copy->target.type)) return false;
    if (!shape_same(&source->type.shape, &planner->network->tensors[root.index].shape)) return false;
    *out = wanted->type;
    out->offset = sym_add(planner->pool, sym_sub(planner->pool, wanted->type.offset, source->type.offset),
                          copy->target.type.offset);
    return true;
}

bool planner_aside(planner_t *planner, uint32_t index, tensor_id_t tensor, plan_operand_t *out) {
    const planned_copy_t *copy = planner->copies[index];
    const tensor_plan_t *source = planner_tensor(planner, copy->source), *wanted = planner_tensor(planner, tensor);
    const shape_t *shape = &planner->network->tensors[tensor.index].shape;
    tensor_type_t view;
    *out = copy->target;
    if (copy->source.index == tensor.index) return true;
    if (source->root.index != wanted->root.index || source->type.dtype != wanted->type.dtype) return false;
    if (layout_reshape(planner->pool, &source->type, shape, &view) && type_same_elements(&view, &wanted->type))
        return layout_reshape(planner->pool, &copy->target.type, shape, &out->type);
    return view_copy(planner, copy, tensor, &out->type);
}

bool planner_part(planner_t *planner, uint32_t index, uint32_t operand, const tensor_type_t *result,
                  tensor_type_t *out) {
    const layer_t *layer = planner_layer(planner, index);
    if (layer->kind != LAYER_CONCAT)
        return operand == 1 && layout_part(planner->pool, planner->network, layer, result, out);
    const uint32_t dim = (uint32_t)layer_attr_int(planner->network, layer, ATTR_DIM);
    *out = *result;
    out->shape = network_tensor_of(planner->network, layer->operands[operand])->shape;
    sym_t start = planner->layers[index].starts[operand];
    out->offset = sym_add(planner->pool, result->offset, sym_mul(planner->pool, start, result->strides[dim]));
    return true;
}

bool tensor_is_root(const planner_t *planner, tensor_id_t tensor) {
    return planner->tensors[tensor.index].root.index == tensor.index;
}

bool layer_is_copy(const planner_t *planner, uint32_t layer) {
    layer_kind_t kind = planner_layer(planner, layer)->kind;
    bool moves = kind_has(kind, TRAIT_VIEW) && kind != LAYER_BITCAST;
    return kind == LAYER_COPY || (moves && !planner->layers[layer].makes_view);
}

insitu_status order_after_symbols(planner_t *planner, sym_t expression, uint32_t node, bool *out_possible) {
    *out_possible = true;
    int64_t constant;
    if (!planner->has_items || sym_constant(planner->pool, expression, &constant)) return INSITU_OK;
    for (uint32_t i = 0; i < planner->pool->symbol_count && *out_possible; i++)
        if (planner->item_nodes[i] != NONE && planner->item_nodes[i] != node && sym_uses(planner->pool, expression, i))
            TRY(order_add(&planner->order, planner->item_nodes[i], node, out_possible));
    return INSITU_OK;
}

insitu_status order_after_layout(planner_t *planner, const tensor_type_t *type, uint32_t node, bool *out_possible) {
    TRY(order_after_symbols(planner, type->offset, node, out_possible));
    for (uint32_t i = 0; i < type->shape.rank && *out_possible; i++) {
        TRY(order_after_symbols(planner, type->shape.sizes[i], node, out_possible));
        if (*out_possible) TRY(order_after_symbols(planner, type->strides[i], node, out_possible));
    }
    return INSITU_OK;
}

static insitu_status order_copy(planner_t *planner, planned_copy_t *copy) {
    bool possible = true;
    const plan_node_t *maker = NULL;
    if (!planner_tensor(planner, copy->source)->fixed) {
        uint32_t node = tensor_node(planner, copy->source);
        maker = &planner->nodes[node];
        TRY(order_add(&planner->order, node, copy->node, &possible));
    }
    TRY(order_add(&planner->order, copy->node, planner->end, &possible));
    planner->nodes[copy->node].key = copy->purpose != COPY_SET_ASIDE ? planner->nodes[planner->end].key
                                     : maker                         ? maker->key
                                                                     : 0;
    return INSITU_OK;
}

static insitu_status new_copy(planner_t *planner, copy_purpose_t purpose, tensor_id_t source, uint32_t *out_copy) {
    for (uint32_t i = 0; i < planner->copy_count; i++) {
        const planned_copy_t *old = planner->copies[i];
        bool same = !old->active && old->purpose == purpose && old->source.index == source.index;
        if (same && (purpose == COPY_SET_ASIDE || purpose == COPY_WRITE_BACK)) {
            *out_copy = i;
            return INSITU_OK;
        }
    }
    TRY(arena_grow(&planner->scratch, &planner->copies, &planner->copy_capacity, planner->copy_count + 1,
                   sizeof *planner->copies));
    planned_copy_t *copy;
    TRY(arena_array(&planner->scratch, 1, sizeof *copy, &copy));
    tensor_plan_t *copied = planner_tensor(planner, source);
    *copy = (planned_copy_t){.purpose = purpose, .source = source, .spill = NONE, .copy_next = copied->copies};
    copied->copies = planner->copy_count;
    TRY(planner_add_node(planner, NODE_COPY, planner->copy_count, 0, &copy->node));
    *out_copy = planner->copy_count;
    planner->copies[planner->copy_count++] = copy;
    return INSITU_OK;
}

insitu_status planner_add_copy(planner_t *planner, copy_purpose_t purpose, tensor_id_t source,
                               const plan_operand_t *target, uint32_t final, uint32_t *out_copy) {
    TRY(new_copy(planner, purpose, source, out_copy));
    planned_copy_t *copy = planner->copies[*out_copy];
    copy->target = *target;
    if (!sym_constant(planner->pool, layout_bytes(planner->pool, &target->type), &copy->bytes)) copy->bytes = INT64_MAX;
    copy->final = final;
    TRY(planner_set(planner, &copy->active, true));
    const uint32_t read = planner_tensor(planner, source)->storage;
    TRY(planner_touch(planner, target->storage, TOUCH_COPY, *out_copy, 0));
    if (read != NONE && read != target->storage) TRY(planner_touch(planner, read, TOUCH_COPY, *out_copy, 0));
    return order_copy(planner, copy);
}

insitu_status planner_add_end_read(planner_t *planner, uint32_t tensor, uint32_t copy) {
    TRY(arena_grow(&planner->scratch, &planner->end_reads, &planner->end_read_capacity, planner->end_read_count + 1,
                   sizeof *planner->end_reads));
    end_read_t *read;
    TRY(arena_array(&planner->scratch, 1, sizeof *read, &read));
    *read = (end_read_t){.tensor = tensor, .copy = copy, .end_next = NONE};
    if (tensor != NONE) {
        read->end_next = planner->tensors[tensor].end_reads;
        planner->tensors[tensor].end_reads = planner->end_read_count;
    }
    planner->end_reads[planner->end_read_count++] = read;
    const uint32_t storage = tensor != NONE ? planner->tensors[tensor].storage : planner->copies[copy]->target.storage;
    if (storage != NONE) TRY(planner_touch(planner, storage, tensor != NONE ? TOUCH_READ : TOUCH_END, tensor, 0));
    return planner_set(planner, &read->active, true);
}

insitu_status node_describe(planner_t *planner, uint32_t node, const char **out_text) {
    const plan_node_t *n = &planner->nodes[node];
    const char *name = "a result", *source = "";
    if (n->kind == NODE_LAYER || n->kind == NODE_CHECK) {
        name = planner_layer(planner, n->index)->name;
        source = planner_layer(planner, n->index)->source;
    } else if (n->kind == NODE_COPY) {
        const planned_copy_t *copy = planner->copies[n->index];
        if (copy->final != NONE) name = planner->finals[copy->final].name;
        const char *what = copy->final != NONE ? "the write-back of " : "";
        return arena_printf(&planner->plan->arena, out_text, "%s%s", what, name);
    }
    if (*source == '\0') return arena_printf(&planner->plan->arena, out_text, "%s", name);
    return arena_printf(&planner->plan->arena, out_text, "%s (%s)", name, source);
}
